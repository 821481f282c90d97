"""Selection of a penalty: curves, rules, oracles, and their comparison."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model
from sklearn.model_selection import KFold

from assay.datasets import LinearGaussian, SparseLinear, diabetes
from assay.display import SelectionDisplay
from assay.linear import ElasticNet, GroupLasso, Lasso, Ridge, SparseRegressor
from assay.models.selection import FoldTable, curve_as_far_as_needed, folds


@pytest.fixture(scope="module")
def table():
    return diabetes(return_X_y=True)


@pytest.mark.spec("rudi/M1.16")
def test_the_cross_validated_curve_is_that_of_scikit_learn(table):
    X, y = table
    ours = Lasso(tol=1e-8).select(X, y, cv=5)
    theirs = linear_model.LassoCV(alphas=ours.alphas, cv=5, tol=1e-9, max_iter=100_000, random_state=0)
    theirs.fit(X, y)
    sizes = [len(test) for _, test in KFold(5).split(X)]
    assert_allclose(ours.curve, np.average(theirs.mse_path_, axis=1, weights=sizes), rtol=1e-4)
    assert_allclose(ours.fold_scores, theirs.mse_path_.T, rtol=1e-3)
    assert ours.alpha == theirs.alpha_ == ours.model.alpha_
    assert ours.index == np.argmin(ours.curve)
    assert_allclose(ours.standard_error, ours.fold_scores.std(axis=0, ddof=1) / np.sqrt(5))


@pytest.mark.spec("rudi/M1.16")
def test_ridge_keeps_the_strength_of_the_mean_from_fold_to_fold(table):
    X, y = table
    ours = Ridge().select(X, y, alphas=[0.01, 0.1, 1.0], cv=3)
    errors = np.zeros(3)
    for train, test in KFold(3).split(X):
        for index, alpha in enumerate(ours.alphas):
            model = linear_model.Ridge(alpha * len(train) / len(y)).fit(X[train], y[train])
            errors[index] += np.sum((y[test] - model.predict(X[test])) ** 2) / len(y)
    assert_allclose(ours.curve, errors)
    assert ours.model.alpha_ == ours.alpha == ours.best_alpha


@pytest.mark.spec("rudi/M1.16")
def test_oracle_split_and_cross_validation_choose_penalties_of_like_risk(rng):
    """The oracle of the ridge bound beside validation: all three do better than no penalty to speak of."""
    d, n, noise = 40, 60, 1.0
    theta = rng.standard_normal(d) / np.sqrt(d)
    law = LinearGaussian(theta, noise_std=noise, covariance=np.eye(d))
    X, y = law.sample(n, random_state=0)
    model = Ridge(fit_intercept=False)
    given = model.select(X, y, rule="oracle", noise_std=noise, coef_norm=np.linalg.norm(theta))
    expected = noise * np.sqrt(np.trace(X.T @ X / n)) / (np.linalg.norm(theta) * np.sqrt(n))
    assert given.alpha == pytest.approx(n * expected)
    assert given.model.penalty_strength_ == pytest.approx(expected)
    plugged = model.select(X, y, rule="oracle")
    assert given.alpha / 3 < plugged.alpha < 3 * given.alpha
    held_out = model.select(X, y, cv="split", random_state=0)
    folded = model.select(X, y, cv=10, random_state=0)

    def risk(fitted):
        return np.sum((fitted.coef_ - theta) ** 2)

    loose = risk(Ridge(1e-8, fit_intercept=False).fit(X, y))
    for chosen in (given, plugged, held_out, folded):
        assert risk(chosen.model) < 0.5 * loose
        assert chosen.curve.shape == chosen.alphas.shape
    assert held_out.fold_scores.shape[0] == 1
    assert np.all(held_out.standard_error > 0)


@pytest.mark.spec("rudi/M1.16")
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_what_the_ridge_oracle_plugs_in_is_that_of_the_best_model(table, fit_intercept):
    """λ* = σ √tr(Σ̂) / (‖θ‖ √n) with σ² = RSS/(n − tr H) and ‖θ‖ of the penalty with the least error."""
    X, y = table
    n = len(y)
    chosen = Ridge(fit_intercept=fit_intercept).select(X, y, rule="oracle")
    best = linear_model.Ridge(chosen.best_alpha, fit_intercept=fit_intercept, tol=1e-12).fit(X, y)
    centred = X - fit_intercept * X.mean(axis=0)
    hat = centred @ np.linalg.solve(centred.T @ centred + chosen.best_alpha * np.eye(X.shape[1]), centred.T)
    noise = np.sqrt(np.sum((y - best.predict(X)) ** 2) / (n - np.trace(hat) - fit_intercept))
    strength = noise * np.sqrt(np.trace(centred.T @ centred) / n) / (np.linalg.norm(best.coef_) * np.sqrt(n))
    assert chosen.alpha == pytest.approx(n * strength, rel=1e-8)
    assert chosen.model.penalty_strength_ == pytest.approx(strength, rel=1e-8)


@pytest.mark.spec("rudi/M1.16")
def test_what_the_lasso_oracle_plugs_in_is_the_noise_of_its_own_fit(rng):
    """The scaled lasso: α = σ √(2 log d / n) max‖x_j‖/√n with σ² = ‖y − Xw(α)‖²/n."""
    X, y = SparseLinear(200, 5, signal_to_noise=5, random_state=0).sample(300, random_state=1)
    chosen = Lasso(tol=1e-10).select(X, y, rule="oracle", cv="split")
    at_choice = linear_model.Lasso(chosen.alpha, tol=1e-10, max_iter=100_000, random_state=0).fit(X, y)
    noise = np.sqrt(np.mean((y - at_choice.predict(X)) ** 2))
    scale = np.sqrt(((X - X.mean(axis=0)) ** 2).mean(axis=0)).max()
    assert chosen.alpha == pytest.approx(noise * scale * np.sqrt(2 * np.log(200) / 300), rel=1e-5)


@pytest.mark.spec("rudi/M1.16")
def test_the_universal_penalty_of_the_lasso_exceeds_the_noise(rng):
    law = SparseLinear(200, 5, signal_to_noise=5, random_state=0)
    X, y = law.sample(300, random_state=1)
    chosen = Lasso().select(X, y, rule="oracle", noise_std=law.noise_std, cv="split")
    centred = X - X.mean(axis=0)
    scale = np.sqrt((centred**2).mean(axis=0)).max()
    assert chosen.alpha == pytest.approx(law.noise_std * scale * np.sqrt(2 * np.log(200) / 300))
    noise = law.noise_std * rng.standard_normal((300, 1000))
    exceeded = np.mean(np.abs(centred.T @ noise).max(axis=0) / 300 > chosen.alpha)
    limit = 1 / np.sqrt(np.pi * np.log(200))  # P(max of d standard normals beyond √(2 log d)) is at most this
    assert exceeded <= limit + 3 * np.sqrt(limit / 1000)
    assert set(law.support) <= set(np.flatnonzero(chosen.model.coef_))
    assert np.count_nonzero(chosen.model.coef_) <= 10
    estimated = Lasso().select(X, y, rule="oracle", cv="split")
    assert estimated.alpha == pytest.approx(chosen.alpha, rel=0.35)
    assert estimated.best_alpha < estimated.alpha  # validation selects for prediction, theory for the support


def test_one_standard_error_goes_up_to_a_stronger_penalty(table):
    X, y = table
    least = Lasso().select(X, y)
    cautious = Lasso().select(X, y, rule="one_se")
    assert cautious.alpha > least.alpha
    assert cautious.index == cautious.one_se_index == least.one_se_index
    difference = least.fold_scores - least.fold_scores[:, [least.index]]
    paired = difference.std(axis=0, ddof=1) / np.sqrt(5)
    assert_allclose(least.paired_error, paired)
    excess = least.curve - least.curve[least.index]
    between = slice(cautious.index, least.index)
    assert np.all(excess[between] <= paired[between])
    assert cautious.index == 0 or excess[cautious.index - 1] > paired[cautious.index - 1]


@pytest.mark.parametrize(("rule", "price"), [("aic", 2.0), ("bic", np.log(442))])
def test_information_criteria_count_degrees_of_freedom(table, rule, price):
    X, y = table
    alphas = [2.0, 0.5, 0.1]
    chosen = Lasso(tol=1e-9).select(X, y, rule=rule, alphas=alphas)
    for alpha, value in zip(chosen.alphas, chosen.curve, strict=True):
        model = linear_model.Lasso(alpha, tol=1e-10, random_state=0).fit(X, y)
        error = np.mean((y - model.predict(X)) ** 2)
        expected = 442 * np.log(error) + price * (np.count_nonzero(model.coef_) + 1)
        assert value == pytest.approx(expected, rel=1e-6)
    known = Lasso().select(X, y, rule=rule, alphas=alphas, noise_std=54.0)
    assert known.alpha in alphas
    smooth = Ridge().select(X, y, rule=rule, alphas=alphas)
    path = Ridge().path(X, y, alphas)
    expected = 442 * np.log(path.training_error) + price * path.effective_degrees_of_freedom
    assert_allclose(smooth.curve, expected[::-1])


def test_degrees_of_freedom_of_the_elastic_net_are_a_trace(table):
    X, y = table
    chosen = ElasticNet(l1_ratio=0.5, tol=1e-9).select(X, y, rule="aic", alphas=[0.05])
    support = np.flatnonzero(chosen.model.coef_)
    columns = (X - X.mean(axis=0))[:, support]
    inside = np.linalg.inv(columns.T @ columns + 442 * 0.025 * np.eye(len(support)))
    freedom = np.trace(columns @ inside @ columns.T) + 1
    error = np.mean((y - chosen.model.predict(X)) ** 2)
    assert chosen.curve[0] == pytest.approx(442 * np.log(error) + 2 * freedom, rel=1e-6)


@pytest.mark.parametrize(
    "model", [GroupLasso(), SparseRegressor(), SparseRegressor(penalty="scad")], ids=repr
)
def test_every_sparse_model_selects(table, model):
    X, y = table
    X = X * np.sqrt(len(y))  # columns of variance one
    chosen = model.select(X, y, cv=KFold(3, shuffle=True, random_state=0), alphas=np.geomspace(40, 0.4, 12))
    assert chosen.alphas[0] > chosen.alpha
    assert chosen.model.certificates_.holds
    assert chosen.fold_scores.shape == (3, 12)


def test_weights_count_in_training_and_in_validation(table):
    X, y = table
    weight = np.ones(len(y))
    weight[::7] = 0.0
    keep = weight > 0
    folds = KFold(4)
    pairs = [(np.flatnonzero(keep)[a], np.flatnonzero(keep)[b]) for a, b in folds.split(X[keep])]

    class Given:
        def split(self, X, y):
            return pairs

    weighted = Lasso(tol=1e-9).select(X, y, sample_weight=weight, cv=Given(), alphas=[1.0, 0.1])
    dropped = Lasso(tol=1e-9).select(X[keep], y[keep], cv=folds, alphas=[1.0, 0.1])
    assert_allclose(weighted.curve, dropped.curve, rtol=1e-6)
    assert_allclose(weighted.model.coef_, dropped.model.coef_, rtol=1e-3, atol=1e-2)


def test_seeds_shuffle_and_are_reproducible(table):
    X, y = table
    first, again, other = (Lasso().select(X, y, random_state=seed, alphas=[1.0, 0.1]) for seed in (0, 0, 1))
    assert np.array_equal(first.curve, again.curve)
    assert not np.array_equal(first.curve, other.curve)


@pytest.mark.parametrize(
    "bad", [{"rule": "best"}, {"cv": 1}, {"cv": "many"}, {"cv": 1000}, {"alphas": [-1.0]}, {"noise_std": 0.0}]
)
def test_bad_choices_are_refused(table, bad):
    with pytest.raises(ValueError, match=r"parameter of Lasso\.select must be"):
        Lasso().select(*table, **bad)


def test_rows_outside_memory_and_wrong_lengths_are_refused(table, tmp_path):
    X, y = table
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="draws folds from rows in memory"):
        Lasso().select(str(tmp_path / "rows.npy"), y)
    with pytest.raises(ValueError, match="must be as many"):
        Lasso().select(X, y[:-1])


def test_pictures_show_the_curve_and_the_choice(table):
    X, y = table
    ax = Lasso(0.1).fit(X, y).plot(X, y, kind="selection", rule="one_se")
    assert ax.get_ylabel() == "validation loss"
    assert "one_se" in ax.get_title()
    chosen = Lasso().select(X, y, rule="bic")
    ax.clear()
    SelectionDisplay.from_selection(chosen, ax=ax)
    assert ax.get_ylabel() == "BIC"
    assert_allclose(ax.lines[0].get_ydata(), chosen.curve)
    ax = Lasso(0.1).fit(X, y).plot(X, y, kind="path", alphas=[1.0, 0.5, 0.1])
    path = Lasso().path(X, y, [1.0, 0.5, 0.1])
    strongest = np.argmax(np.abs(path.coef).max(axis=0))
    assert_allclose(ax.lines[0].get_ydata(), path.coef[:, strongest])
    with pytest.raises(ValueError, match="must be one of 'path', 'selection'"):
        Lasso(0.1).fit(X, y).plot(X, y, kind="pie")


@pytest.mark.parametrize("noise", [3.0, 0.0])
@pytest.mark.parametrize("model", [Lasso(), ElasticNet(l1_ratio=0.5)], ids=lambda model: type(model).__name__)
def test_the_rich_half_of_a_grid_is_tried_only_where_the_loss_still_falls(model, noise, rng, monkeypatch):
    X = rng.normal(size=(80, 60))
    y = X[:, :5].sum(axis=1) + noise * rng.normal(size=80)
    whole = model.select(X, y, random_state=0)
    assert len(whole.values) == 100
    monkeypatch.setattr("assay.linear.sparse.base.LARGE_SIDE", 60)
    quick = model.select(X, y, random_state=0)
    assert len(quick.values) == (50 if noise else 100)
    assert_allclose(quick.curve, whole.curve[: len(quick.curve)], rtol=1e-3)
    assert quick.best == whole.best
    given = model.select(X, y, alphas=whole.values, random_state=0)
    assert len(given.values) == 100


@pytest.mark.parametrize(
    ("least", "tried"), [(30, [50]), (48, [50, 60]), (65, [50, 60, 80]), (99, [50, 60, 80, 100])]
)
def test_values_past_the_least_loss_are_tried_a_few_at_a_time(least, tried, rng):
    """Where the least loss is near the end of the first half, the costly end of the grid is not tried."""
    lengths = []

    class Model:
        def _along(self, train, values, share):
            lengths.append(len(values))
            return lambda X: np.abs(values - least)[None, :] + 0.1 * rng.normal(size=(len(X), len(values)))

        def _validation_loss(self, y, predictions):
            return predictions

    table = FoldTable(rng.normal(size=(40, 2)), rng.normal(size=40), None)
    curve = curve_as_far_as_needed(
        Model(), table, np.arange(100.0), folds("select", "split", table, 0), None, n_first=50
    )
    assert lengths == tried
    assert abs(int(np.argmin(curve.mean)) - least) <= 1
    assert len(curve.mean) == tried[-1]


def test_the_grid_of_a_concave_penalty_ends_where_very_many_columns_matter(rng, monkeypatch):
    """Cycles over them are long and many; a sparse law keeps its whole grid."""
    monkeypatch.setattr("assay.linear.sparse.sparse_regressor.MOST_COLUMNS", 20)
    X = rng.normal(size=(120, 60))
    dense, sparse = X @ rng.normal(size=60), 5 * X[:, 0] - 3 * X[:, 1]
    noise = 0.1 * rng.normal(size=120)
    ends = [SparseRegressor().select(X, mean + noise, cv=3).alphas for mean in (dense, sparse)]
    assert len(ends[0]) < 50
    assert len(ends[1]) == 100
    counts = [np.count_nonzero(Lasso(alpha).fit(X, dense + noise).coef_) for alpha in ends[0]]
    assert all(count <= 20 for count in counts[:-5])
    assert counts[-1] > 20
    asked = (
        SparseRegressor().select(X, dense + noise, alphas=ends[1], cv=3).alphas
    )  # a grid that is given is kept
    assert len(asked) == 100
