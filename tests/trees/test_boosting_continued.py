"""Boosted trees that go on where they ended, are judged by scorers, and tell what their columns are worth."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss, mean_pinball_loss, roc_auc_score

from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 5))
    return X, X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(600)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"subsample": 0.6, "max_features": 0.5},
        {"early_stopping": True},
        {"early_stopping": True, "scoring": "roc_auc"},
        {"early_stopping": True, "scoring": "accuracy", "validation_fraction": None},
    ],
)
def test_a_warm_start_ends_where_one_long_fit_does(rows, options):
    X, y = rows[0], (rows[1] > 0).astype(int)
    long = HistGradientBoostingClassifier(max_iter=20, random_state=0, **options).fit(X, y)
    model = HistGradientBoostingClassifier(max_iter=8, random_state=0, warm_start=True, **options).fit(X, y)
    first = model.trees_
    assert model.n_iter_ == 8
    model.set_params(max_iter=20, random_state=5).fit(X, y)  # the seed is that of the first fit
    assert model.trees_ == long.trees_
    assert np.array_equal(model.trees_.value[: len(first.value)], first.value)
    assert np.array_equal(model.train_score_, long.train_score_)
    assert np.array_equal(model.validation_score_, long.validation_score_)
    again = model.fit(X, y).trees_  # nothing is left to do
    assert again == long.trees_


def test_a_warm_start_goes_on_in_every_output(rows):
    X, y = rows
    options = {"loss": "quantile", "quantile": [0.1, 0.9], "random_state": 0}
    long = HistGradientBoostingRegressor(max_iter=9, **options).fit(X, y)
    model = HistGradientBoostingRegressor(max_iter=4, warm_start=True, **options).fit(X, y)
    assert model.set_params(max_iter=9).fit(X, y).trees_ == long.trees_
    labels = np.digitize(y, [-1, 1])
    long = HistGradientBoostingClassifier(max_iter=6).fit(X, labels)
    model = HistGradientBoostingClassifier(max_iter=2, warm_start=True).fit(X, labels)
    assert model.set_params(max_iter=6).fit(X, labels).trees_ == long.trees_


def test_a_warm_start_on_other_rows_is_refused(rows):
    X, y = rows
    model = HistGradientBoostingRegressor(max_iter=3, warm_start=True).fit(X, y)
    with pytest.raises(ValueError, match="at least the 3 rounds"):
        model.set_params(max_iter=2).fit(X, y)
    model.set_params(max_iter=5)
    with pytest.raises(ValueError, match="with the rows of the last fit"):
        model.fit(2 * X, y)
    with pytest.raises(ValueError, match="with the target of the last fit"):
        model.fit(X, 2 * y + 1)


def test_scorers_judge_the_rows_that_the_fit_holds_out(rows):
    X, y = rows[0], (rows[1] > 0).astype(int)
    options = {"max_iter": 5, "early_stopping": True, "random_state": 0, "validation_fraction": 0.3}
    names = {"roc_auc": roc_auc_score, "neg_log_loss": lambda y, p: -log_loss(y, p)}
    for name, measure in names.items():
        model = HistGradientBoostingClassifier(scoring=name, **options).fit(X, y)
        held = np.sort(np.random.default_rng(model.seed_).permutation(600)[:180])
        assert model.n_held_out_ == 180
        staged = [measure(y[held], chances[:, 1]) for chances in model.staged_predict_proba(X[held])]
        assert model.validation_score_ == pytest.approx(staged, rel=1e-12)


def test_scorers_take_weights_and_rows_given_to_the_fit(rows):
    X, y = rows
    weight = np.tile([0.0, 1.0, 2.5], 200)
    model = HistGradientBoostingRegressor(
        max_iter=4, early_stopping=True, scoring="neg_mean_absolute_error", validation_fraction=None
    ).fit(X[:300], y[:300], X_val=X[300:], y_val=y[300:], sample_weight_val=weight[300:])
    staged = [
        -2 * mean_pinball_loss(y[300:], p, sample_weight=weight[300:]) for p in model.staged_predict(X[300:])
    ]
    assert model.validation_score_ == pytest.approx(staged, rel=1e-12)


def test_scorers_take_frames(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcde"))
    frame["kind"] = pd.Categorical(np.where(y > 0, "up", "down"))
    model = HistGradientBoostingRegressor(
        max_iter=4, early_stopping=True, scoring="r2", random_state=0, warm_start=True
    ).fit(frame, y)
    assert np.all(np.diff(model.validation_score_) > 0)


# What columns are worth.


@pytest.fixture(scope="module")
def noisy():
    """Two columns that say something, noise of many values, noise of two."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((1500, 4))
    X[:, 3] = rng.integers(0, 2, 1500)
    return X, (X[:, 0] + X[:, 1] + rng.standard_normal(1500) > 0).astype(int)


def test_impurity_importance_is_the_share_in_the_gains(noisy):
    model = HistGradientBoostingClassifier(max_iter=12).fit(*noisy)
    result = model.importance()
    assert result.importances == pytest.approx(model.feature_importances_, rel=1e-12)
    assert result.each.shape == (12, 4)
    assert result.standard_errors == pytest.approx(result.each.std(axis=0, ddof=1) / np.sqrt(12))
    assert "impurity importance" in str(result)


@pytest.mark.parametrize(
    "options", [{"subsample": 0.6}, {"early_stopping": True, "validation_fraction": 0.4, "max_iter": 15}]
)
def test_the_unbiased_importance_does_not_favour_columns_of_many_values(noisy, options):
    X, y = noisy
    model = HistGradientBoostingClassifier(random_state=0, **{"max_iter": 15, **options}).fit(X, y)
    impurity, fair = model.importance(), model.importance("unbiased", X, y)
    assert impurity.importances[2] > 3 * impurity.importances[3] > 0
    assert np.all(fair.importances[:2] > 3 * fair.standard_errors[:2])
    assert fair.importances[2] < 3 * fair.standard_errors[2]
    assert fair.importances[3] < 0.1 * fair.importances[:2].min()  # errors over trees know one sample of rows


def test_the_unbiased_importance_of_the_first_tree_by_hand(noisy):
    """On the held-out rows: Σ over splits of S_L q_L + S_R q_R − S q, q the mean step of those rows."""
    X, y = noisy
    model = HistGradientBoostingClassifier(
        max_iter=1, max_leaf_nodes=2, early_stopping=True, validation_fraction=0.4, random_state=0
    ).fit(X, y)
    order = np.random.default_rng(model.seed_).permutation(1500)
    held, train = order[:600], order[600:]
    share = y[train].mean()
    left = X[:, model.trees_.feature[0]] <= model.trees_.threshold[0]
    slope, expected = y - share, 0.0
    for side, sign in ((left, 1), (~left, 1), (np.ones(1500, bool), -1)):
        step = slope[held][side[held]].mean() / (share * (1 - share))
        expected += sign * slope[train][side[train]].sum() * step
    each = model.importance("unbiased", X, y).each
    assert each[0, model.trees_.feature[0]] == pytest.approx(expected / 900, rel=1e-6)
    assert np.count_nonzero(each) == 1


def test_permutation_importance_is_the_rise_of_the_loss(noisy):
    X, y = noisy
    model = HistGradientBoostingClassifier(max_iter=10).fit(X, y)
    result = model.importance("permutation", X, y, random_state=3)
    random = np.random.default_rng(3)
    base = log_loss(y, model.predict_proba(X))
    for j in np.unique(model.trees_.feature[model.trees_.feature >= 0]):
        shuffled = X.copy()
        shuffled[:, j] = random.permutation(X[:, j])
        rise = log_loss(y, model.predict_proba(shuffled)) - base
        assert result.importances[j] == pytest.approx(rise, rel=1e-9, abs=1e-12)
    new = model.importance("permutation", X[:700] + 0.01, y[:700], random_state=3)  # rows that are new
    assert np.all(new.importances[:2] > 10 * np.abs(new.importances[2:]))


def test_importance_says_what_it_lacks(noisy):
    X, y = noisy
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="not grown on"):
        model.importance("unbiased", X, y)
    with pytest.raises(ValueError, match="needs X and y"):
        model.importance("permutation")
    with pytest.raises(ValueError, match="'kind'"):
        model.importance("gain")
    model.set_params(subsample=0.5).fit(X, y)
    with pytest.raises(ValueError, match="data of the fit"):
        model.importance("unbiased", X[:100], y[:100])


def test_the_unbiased_importance_adds_up_what_all_trees_gain(noisy):
    one, two = (
        HistGradientBoostingClassifier(max_iter=rounds, subsample=0.6, random_state=0)
        .fit(*noisy)
        .importance("unbiased", *noisy)
        for rounds in (1, 2)
    )
    assert two.importances == pytest.approx(one.each[0] + two.each[1] / 2)
