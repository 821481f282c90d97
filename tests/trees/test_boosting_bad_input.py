"""Bad and hard input: boosted trees answer with the right numbers, or refuse in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from assay.losses import Hinge
from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor

MODELS = [
    HistGradientBoostingRegressor(max_iter=40, min_samples_leaf=2),
    HistGradientBoostingClassifier(max_iter=40, min_samples_leaf=2),
]
both = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)


def sentence(call):
    """What a refused call says, in one line that ends."""
    with pytest.raises((ValueError, TypeError)) as refusal:
        call()
    text = str(refusal.value)
    assert "\n" not in text
    assert text.rstrip().endswith(".")
    return text


@pytest.fixture(scope="module")
def steps():
    """Two columns, a target that the first decides."""
    X = np.random.default_rng(0).normal(size=(120, 2))
    return X, (X[:, 0] > 0.2).astype(float)


@both
def test_columns_without_a_value_or_of_one_value_are_never_cut(model, steps):
    X, y = steps
    table = np.column_stack([X, np.full(len(X), np.nan), np.full(len(X), 3.0)])
    fitted = model.fit(table, y)
    assert set(fitted.trees_.feature.tolist()) <= {-1, 0, 1}
    assert fitted.score(table, y) > 0.95
    assert fitted.certify(table, y).holds


@both
def test_values_missing_only_after_the_fit_go_with_most_rows(model, steps):
    X, y = steps
    trees = model.fit(X, y).trees_
    for place in range(trees.n_trees):
        nodes = trees.tree(place)
        weight, left, right = trees.weight[nodes], trees.children_left[nodes], trees.children_right[nodes]
        inner = trees.feature[nodes] >= 0
        heavier = weight[left[inner]] >= weight[right[inner]]
        assert np.array_equal(trees.missing_go_to_left[nodes][inner], heavier)
    assert np.isfinite(model.predict(np.full((3, 2), np.nan))).all()


@both
def test_unseen_levels_are_told_and_go_with_missing_ones(model):
    pd = pytest.importorskip("pandas")
    random = np.random.default_rng(0)
    colour = random.choice(["red", "green", "blue"], 90)
    frame = pd.DataFrame({"colour": pd.Categorical(colour), "x": random.normal(size=90)})
    fitted = model.fit(frame, (colour == "red").astype(float))
    with pytest.warns(UserWarning, match="'violet'"):
        said = fitted.predict(pd.DataFrame({"colour": ["violet"], "x": [0.0]}))
    assert said == fitted.predict(pd.DataFrame({"colour": [None], "x": [0.0]}))


def test_a_constant_target_is_told_as_it_is(steps):
    X, _ = steps
    y = np.full(len(X), 1.0 / 3.0)
    fitted = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    assert (fitted.trees_.feature == -1).all()
    assert fitted.predict(X) == pytest.approx(y, rel=1e-15)
    assert fitted.certify(X, y).holds


def test_one_class_is_refused_and_a_class_of_one_row_is_not(steps):
    X, _ = steps
    model = HistGradientBoostingClassifier(max_iter=5, min_samples_leaf=1)
    X = X.copy()
    X[7, 1] = 1e3
    assert "class" in sentence(lambda: model.fit(X, np.zeros(len(X))))
    alone = np.arange(len(X)) == 7
    fitted = model.fit(X, alone)
    assert fitted.certify(X, alone).holds
    assert fitted.predict_proba(X[7:8])[0, 1] >= fitted.predict_proba(X[8:9])[0, 1]
    three = np.where(alone, 2, X[:, 0] > 0)
    assert model.fit(X, three).certify(X, three).holds


@both
def test_rows_of_weight_zero_are_not_there(model, steps):
    X, y = steps
    weight = (np.arange(len(X)) % 3 > 0).astype(float)
    hidden = np.where(weight > 0, y, 1.0 - y)
    weighted = model.fit(X, hidden, weight).trees_
    assert model.fit(X[weight > 0], y[weight > 0]).trees_ == weighted
    assert "weight" in sentence(lambda: model.fit(X, y, np.zeros(len(X))))


@both
def test_huge_and_tiny_weights_are_proved(model, steps):
    X, y = steps
    for factor in (1e-30, 1e30):
        weight = factor * np.random.default_rng(1).integers(1, 4, len(X))
        model = model.__class__(max_iter=5, min_samples_leaf=1, l2_regularization=0.0).fit(X, y, weight)
        assert np.isfinite(model.predict(X)).all()
        assert model.certify(X, y, weight).holds
    weight = np.where(np.arange(len(X)) == 3, 1e12, 1.0)
    assert model.fit(X, y, weight).certify(X, y, weight).holds


@both
def test_infinite_values_and_large_scales_are_binned(model, steps):
    X, y = steps
    far = 1e8 * X + 1e10
    assert model.fit(far, y).score(far, y) > 0.95
    far[3, 1], far[4, 1] = np.inf, -np.inf
    fitted = model.fit(far, y)
    assert fitted.score(far, y) > 0.95
    assert fitted.certify(far, y).holds
    assert np.array_equal(fitted.predict(far), fitted.predict(np.nan_to_num(far)))


@both
def test_ties_everywhere_are_fitted_as_their_means(model):
    X = np.repeat(np.arange(4.0), 30)[:, np.newaxis]
    y = (np.arange(120) % 30 < 6 * X[:, 0] + 3).astype(float)
    fitted = model.__class__(max_iter=200, min_samples_leaf=1).fit(X, y)
    said = fitted.predict_proba(X)[:, 1] if hasattr(fitted, "classes_") else fitted.predict(X)
    means = np.array([y[X[:, 0] == value].mean() for value in X[:, 0]])
    assert said == pytest.approx(means, abs=1e-3)


@both
def test_more_levels_than_bins_share_a_code(model):
    random = np.random.default_rng(0)
    X = random.integers(0, 600, (3000, 1)).astype(float)
    y = (X[:, 0] % 2).astype(float)
    fitted = model.__class__(max_iter=5, categorical_features=[0], min_samples_leaf=1).fit(X, y)
    assert fitted.columns_.n_codes[0] <= 255
    assert fitted.score(X, y) > (0.3 if not hasattr(fitted, "classes_") else 0.6)
    assert fitted.certify(X, y).holds


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"monotonic_cst": [1]}, "monotonic_cst"),
        ({"monotonic_cst": [1, 2]}, "monotonic_cst"),
        ({"monotonic_cst": [1, 0], "categorical_features": [0]}, "categories"),
        ({"interaction_cst": [[0, 5]]}, "interaction_cst"),
        ({"max_depth": 0}, "max_depth"),
        ({"min_samples_leaf": 0}, "min_samples_leaf"),
        ({"validation_fraction": 1.5}, "validation_fraction"),
        ({"categorical_features": [7]}, "categorical_features"),
        ({"max_bins": 256}, "max_bins"),
    ],
    ids=str,
)
@both
def test_settings_that_cannot_be_met_are_one_sentence(model, settings, words, steps):
    assert words in sentence(lambda: model.__class__(**settings).fit(*steps))


def test_leaves_of_a_loss_that_no_search_minimises_are_refused(steps):
    X, y = steps
    model = HistGradientBoostingClassifier(Hinge(), line_search="leaf")
    assert "'newton' for Hinge()" in sentence(lambda: model.fit(X, y))
    assert model.set_params(line_search="newton", max_iter=5).fit(X, y).certify(X, y).holds


@pytest.mark.parametrize(("worth", "asked"), [(0.1, 2), (1 / 3, 2), (1 / 3, 4), (0.7, 7)])
def test_a_leaf_minimum_is_met_by_as_many_rows_as_weigh_it(worth, asked):
    rows = round(asked / worth)
    X, weight = np.arange(100.0)[:, np.newaxis], np.full(100, worth)
    y = (X[:, 0] < rows).astype(float)
    model = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=asked)
    assert model.fit(X, y, weight).trees_.threshold[0] == rows - 0.5
    assert model.certify(X, y, weight).holds


def test_negative_counts_are_refused(steps):
    X, y = steps
    for loss in ("poisson", "gamma"):
        assert "-1" in sentence(lambda loss=loss: HistGradientBoostingRegressor(loss).fit(X, y - 1.0))


@both
def test_a_leaf_minimum_above_the_rows_is_the_best_constant(model, steps):
    X, y = steps
    fitted = model.__class__(min_samples_leaf=len(y) + 1, max_iter=3).fit(X, y)
    assert (fitted.trees_.feature == -1).all()
    said = fitted.predict_proba(X)[:, 1] if hasattr(fitted, "classes_") else fitted.predict(X)
    assert said == pytest.approx(np.full(len(y), y.mean()), abs=1e-9)
