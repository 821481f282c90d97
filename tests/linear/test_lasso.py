"""Lasso and elastic net: three scales, certificates, path, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning, DataConversionWarning

from assay.datasets import SparseLinear, diabetes
from assay.linear import ElasticNet, Lasso, LinearRegression, Ridge
from assay.optimize import coordinate_descent
from assay.penalties import Quadratic, kkt_residuals


@pytest.fixture
def wide():
    return SparseLinear(150, 5, rho=0.5, signal_to_noise=5, random_state=0).sample(60, random_state=1)


@pytest.mark.spec("rudi/M1.15", "douc/M6.6")
def test_the_three_scales_are_one_problem(wide):
    X, y = wide
    n = len(y)
    by_alpha = Lasso(0.2, tol=1e-11, fit_intercept=False).fit(X, y)
    by_mean = Lasso(penalty_strength=0.4, tol=1e-11, fit_intercept=False).fit(X, y)
    by_sum = Lasso(total_penalty_strength=0.4 * n, tol=1e-11, fit_intercept=False).fit(X, y)
    plain = coordinate_descent(X, y, 0.4 * n, tol=1e-12)  # ‖y − Xw‖² + λ‖w‖₁
    for model in (by_alpha, by_mean, by_sum):
        assert_allclose(model.coef_, plain.coef, atol=1e-5)
        assert model.alpha_ == pytest.approx(0.2)
        assert model.penalty_strength_ == pytest.approx(0.4)
        assert model.total_penalty_strength_ == pytest.approx(0.4 * n)


@pytest.mark.spec("rudi/M1.15")
@pytest.mark.parametrize(
    "make", [np.ascontiguousarray, np.asfortranarray, sparse.csr_array, sparse.csc_array]
)
def test_coefficients_are_those_of_scikit_learn(wide, make):
    X, y = wide
    weight = np.linspace(0, 2, len(y))
    ours = Lasso(0.2, tol=1e-11).fit(make(X), y, sample_weight=weight)
    theirs = linear_model.Lasso(0.2, tol=1e-12, random_state=0).fit(X, y, sample_weight=weight)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-5)
    assert ours.intercept_ == pytest.approx(theirs.intercept_, abs=1e-5)
    assert ours.certificates_.holds
    assert ours.certify(make(X), y, sample_weight=weight).holds
    assert_allclose(ours.sparse_coef_.toarray()[0], ours.coef_)


@pytest.mark.spec("rudi/M1.15", "douc/T6.9")
def test_the_gap_bounds_the_distance_to_the_minimum_and_damage_is_seen(wide):
    X, y = wide
    null = np.var(y) / 2

    def objective(model):
        return np.mean((y - model.predict(X)) ** 2) / 2 + 0.2 * np.abs(model.coef_).sum()

    best = objective(Lasso(0.2, tol=1e-12).fit(X, y))
    for tol in (1e-2, 1e-4, 1e-6):
        model = Lasso(0.2, tol=tol).fit(X, y)
        assert 0 <= model.dual_gap_ <= tol
        assert objective(model) - best <= model.dual_gap_ * null + 1e-12
    for size in (1e-3, 1e-1):
        damaged = Lasso(0.2).fit(X, y)
        damaged.coef_ = damaged.coef_ + size * np.cos(np.arange(X.shape[1]))
        gap = damaged.certify(X, y).named("relative duality gap")
        assert not gap.holds
        assert objective(damaged) - best <= gap.value * null
    moved = Lasso(0.2).fit(X, y)
    moved.intercept_ = moved.intercept_ + 0.5
    assert not moved.certify(X, y).holds


@pytest.mark.spec("rudi/T3.3", "douc/T6.9")
def test_conditions_of_optimality_with_multipliers_certify_the_lasso(rng):
    """min (1/2n)‖y − X(p − m)‖² + α Σ(p + m) over p, m ≥ 0: the lasso with explicit multipliers."""
    X = rng.standard_normal((40, 6))
    y = X[:, 0] - X[:, 1] + rng.standard_normal(40)
    model = Lasso(0.1, tol=1e-13, fit_intercept=False).fit(X, y)
    table = np.hstack([X, -X])
    point = np.concatenate([np.maximum(model.coef_, 0), np.maximum(-model.coef_, 0)])
    program = Quadratic(table.T @ table / 40, 0.1 - table.T @ y / 40)
    signs = [Quadratic(None, -row) for row in np.eye(12)]  # −v_j ≤ 0
    multipliers = np.maximum(program.gradient(point), 0)
    found = kkt_residuals(program, point, inequalities=signs, multipliers=multipliers)
    assert found.largest < 1e-6
    perturbed = point + 0.01
    worse = kkt_residuals(
        program, perturbed, inequalities=signs, multipliers=np.maximum(program.gradient(perturbed), 0)
    )
    assert worse.largest > 1e-4
    assert model.certificates_.named("KKT residual").value < 1e-6


def test_past_the_critical_strength_everything_is_zero_and_the_certificate_says_so(wide):
    X, y = wide
    critical = np.abs((X - X.mean(axis=0)).T @ (y - y.mean())).max() / len(y)
    zero = Lasso(1.0001 * critical).fit(X, y)
    assert not zero.coef_.any()
    assert zero.intercept_ == pytest.approx(y.mean())
    found = zero.certificates_.named("critical strength")
    assert found.holds
    assert found.value == pytest.approx(critical)
    assert np.count_nonzero(Lasso(0.999 * critical, tol=1e-9).fit(X, y).coef_) == 1
    zero.alpha_ = critical / 2
    assert not zero.certify(X, y).holds


def test_without_a_penalty_it_is_least_squares(rng):
    X, y = rng.standard_normal((40, 5)), rng.standard_normal(40)
    plain = LinearRegression().fit(X, y)
    for model in (Lasso(0), ElasticNet(0), Lasso(penalty_strength=0)):
        fitted = model.fit(X, y)
        assert_allclose(fitted.coef_, plain.coef_)
        assert fitted.certificates_.holds
        assert fitted.certify(X, y).holds
        fitted.coef_ = fitted.coef_ + 0.1
        assert not fitted.certify(X, y).holds
    with pytest.raises(ValueError, match="above 0 with positive=True"):
        Lasso(0, positive=True).fit(X, y)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 0.9])
def test_elastic_net_lies_between_ridge_and_lasso(wide, ratio):
    X, y = wide
    ours = ElasticNet(0.2, l1_ratio=ratio, tol=1e-10).fit(X, y)
    assert ours.certificates_.holds
    assert ours.certify(X, y).holds
    if ratio == 0:
        assert_allclose(ours.coef_, Ridge(0.2 * len(y)).fit(X, y).coef_, atol=1e-5)
    else:
        theirs = linear_model.ElasticNet(0.2, l1_ratio=ratio, tol=1e-12, max_iter=100_000, random_state=0)
        assert_allclose(ours.coef_, theirs.fit(X, y).coef_, atol=1e-4)


@pytest.mark.parametrize("positive", [False, True])
def test_weights_of_features_reach_the_certificates(wide, positive):
    X, y = wide
    weights = np.ones(150)
    weights[:3] = (0.5 if positive else 0.0), np.inf, 4.0
    model = Lasso(0.1, feature_weights=weights, positive=positive).fit(X, y)
    assert model.coef_[1] == 0
    assert not positive or model.coef_.min() >= 0
    assert model.certificates_.holds
    assert model.certify(X, y).holds
    model.coef_[1] = 0.1
    assert not model.certify(X, y).holds


def test_history_never_rises_and_ends_at_the_objective(wide):
    X, y = wide
    for table in (X, sparse.csr_array(X)):
        model = Lasso(0.1, history=True).fit(table, y)
        assert model.history_.size == model.n_iter_
        assert np.all(np.diff(model.history_) <= 1e-12)
        value = np.mean((y - model.predict(X)) ** 2) / 2 + 0.1 * np.abs(model.coef_).sum()
        assert model.history_[-1] == pytest.approx(value)


def test_path_is_the_sequence_of_fits(wide):
    X, y = wide
    path = Lasso(tol=1e-10).path(X, y, n_alphas=8, eps=0.05)
    assert path.alphas[0] / path.alphas[-1] == pytest.approx(20)
    assert_allclose(path.penalty_strengths, 2 * path.alphas)
    assert path.n_nonzero[0] == 0
    assert np.all(path.dual_gap <= 1e-10)
    assert path.converged.all()
    predicted = path.predict(X)
    for index, alpha in enumerate(path.alphas):
        model = Lasso(alpha, tol=1e-10).fit(X, y)
        assert_allclose(path.coef[index], model.coef_, atol=1e-4)
        assert path.training_error[index] == pytest.approx(np.mean((y - predicted[:, index]) ** 2))
    given = Lasso(tol=1e-10).path(X, y, path.alphas[::-1])
    assert_allclose(given.coef, path.coef, atol=1e-4)


@pytest.mark.parametrize("bad", [{"alphas": [0.0]}, {"alphas": "all"}, {"n_alphas": 0}, {"eps": 2.0}])
def test_bad_grids_are_refused(wide, bad):
    with pytest.raises(ValueError, match=r"parameter of Lasso\.path must be"):
        Lasso().path(*wide, **bad)


def test_a_ridge_has_no_critical_strength_to_begin_a_grid_with(wide):
    with pytest.raises(ValueError, match="given when nothing of the penalty is an l1 norm"):
        ElasticNet(l1_ratio=0).path(*wide)


def test_running_out_of_cycles_warns_and_the_certificate_fails(wide):
    with pytest.warns(ConvergenceWarning, match="Increase max_iter"):
        model = Lasso(0.001, max_iter=2).fit(*wide)
    assert not model.converged_
    assert not model.certificates_.holds


def test_a_column_vector_is_taken_as_a_vector_and_two_targets_are_refused(wide):
    X, y = wide
    with pytest.warns(DataConversionWarning, match="column-vector"):
        model = Lasso(0.1).fit(X, y[:, None])
    assert model.predict(X).shape == y.shape
    with pytest.raises(ValueError, match="Got 2 columns"):
        Lasso().fit(X, np.column_stack([y, y]))


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"alpha": -1}, "'alpha' parameter of Lasso must be a finite number at least 0"),
        ({"feature_weights": [1.0, 2.0]}, "array of 150 numbers"),
        ({"feature_weights": [-1.0] * 150}, "'feature_weights' parameter of Lasso must be"),
        ({"feature_weights": [0.0] * 150, "positive": True}, "above 0 with positive=True"),
        ({"tol": 0}, "'tol' parameter"),
    ],
)
def test_bad_parameters_are_refused(wide, bad, words):
    with pytest.raises(ValueError, match=words):
        Lasso(**bad).fit(*wide)


@pytest.mark.parametrize("bad", ["nan", "empty", "lengths", "no weight"])
def test_bad_tables_are_refused(wide, bad):
    X, y = (array.copy() for array in wide)
    weight = None
    if bad == "nan":
        X[0, 0] = np.nan
    elif bad == "empty":
        X, y = X[:0], y[:0]
    elif bad == "lengths":
        y = y[:-1]
    else:
        weight = np.zeros(len(y))
    with pytest.raises(ValueError):
        Lasso().fit(X, y, sample_weight=weight)


def test_wide_tables_outside_memory_are_refused_in_one_sentence(wide, tmp_path, monkeypatch):
    X, y = wide
    np.save(tmp_path / "rows.npy", X)
    monkeypatch.setattr("assay.linear.sparse.base.LARGEST_GRAM", 100)
    with pytest.raises(ValueError, match="150 columns outside memory is too wide for Lasso") as refusal:
        Lasso().fit(str(tmp_path / "rows.npy"), y)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_scales_do_not_matter(scale):
    X, y = diabetes(return_X_y=True)
    model = Lasso(0.1, tol=1e-9).fit(X, y)
    scaled = Lasso(0.1 * scale, tol=1e-9).fit(X * scale, y)
    assert scaled.certificates_.holds
    assert_allclose(scaled.coef_ * scale, model.coef_, rtol=1e-4, atol=1e-3)
    shifted = Lasso(0.1, tol=1e-9).fit(X + 1e4, y + 1e6)
    assert shifted.certificates_.holds
    assert shifted.certify(X + 1e4, y + 1e6).holds
    assert_allclose(shifted.coef_, model.coef_, rtol=1e-3, atol=1e-2)


def test_one_row_and_duplicated_columns(rng):
    X = rng.standard_normal((30, 3))
    twice = np.hstack([X, X])
    y = X[:, 0] + 0.1 * rng.standard_normal(30)
    model = Lasso(0.05, tol=1e-9).fit(twice, y)
    single = Lasso(0.05, tol=1e-9).fit(X, y)
    assert model.certificates_.holds
    assert_allclose(model.coef_[:3] + model.coef_[3:], single.coef_, atol=1e-4)
    one = Lasso(0.05).fit(X[:1], y[:1])
    assert not one.coef_.any()
    assert one.intercept_ == pytest.approx(y[0])


@pytest.mark.parametrize("as_given", [np.asarray, sparse.csr_array])
def test_the_choice_of_an_elastic_net_does_not_depend_on_the_unit_of_the_target(as_given):
    """A squared norm has a unit of its own: the grid must come down to where it shrinks nothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 8))
    y = X @ np.linspace(0.5, 2.0, 8) + 0.3 * rng.normal(size=300)
    for unit in (1.0, 1e5):
        chosen = ElasticNet(l1_ratio=0.5).select(as_given(X[:200]), unit * y[:200])
        assert chosen.model.score(as_given(X[200:]), unit * y[200:]) > 0.97
    assert chosen.values.min() < 1e-2
