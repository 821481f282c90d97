"""Certificates of linear models at extreme scales: no alarm from rounding, and a per cent of damage seen."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from assay.kernel_machines import KernelRidge
from assay.linear import (
    ColumnDroppingRegression,
    ConstrainedRegression,
    DictionaryRegression,
    ElasticNet,
    FourierMap,
    GroupLasso,
    HistogramMap,
    Lasso,
    LinearRegression,
    MultivariateRegression,
    PolynomialMap,
    PolynomialRegression,
    ReducedRankRegression,
    Ridge,
    SparseRegressor,
    SplineMap,
    SplineRegression,
)
from damage import damages, holds

MODELS = [
    LinearRegression(),
    LinearRegression(fit_intercept=False),
    LinearRegression(solver="qr"),
    Ridge(),
    Ridge(solver="qr"),
    Ridge(solver="dual"),
    Ridge(solver="conjugate_gradient"),
    MultivariateRegression(),
    ColumnDroppingRegression(),
    ConstrainedRegression(),
    SplineRegression(),
    ReducedRankRegression(),
    Lasso(0.1),
    ElasticNet(0.1),
    GroupLasso(0.1),
    SparseRegressor(0.1),
    KernelRidge(),
]

SCALES = {"plain": (1.0, 1.0), "X large": (1e12, 1.0), "X small": (1e-12, 1.0), "y large": (1.0, 1e12)}
SCALES["y small"] = (1.0, 1e-12)


def table(seed, *, apart=None, n=60):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4))
    y = X @ [1.0, -2.0, 0.0, 0.5] + rng.standard_normal(n)
    if apart is not None:
        X[:, 1] = X[:, 0] + apart * rng.standard_normal(n)
    return X, y


def suited(model, y, X):
    several = isinstance(model, (MultivariateRegression, ReducedRankRegression))
    return np.column_stack([y, y[::-1], y + X[:, 0] * np.ptp(y)]) if several else y


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("model", MODELS, ids=repr)
def test_units_raise_no_alarm(model, scale):
    of_x, of_y = SCALES[scale]
    for seed in range(3):
        X, y = table(seed)
        X, y = X * of_x, suited(model, y * of_y, X)
        fitted = model.fit(X, y)
        fitted.certificates_.require()
        fitted.certify(X, y).require()


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 1e-9])
@pytest.mark.parametrize("model", MODELS[:3], ids=repr)
def test_nearly_collinear_columns_raise_no_alarm(model, apart):
    for seed in range(30):
        X, y = table(seed, apart=apart)
        fitted = model.fit(X, y)
        fitted.certificates_.require()
        fitted.certify(X, y).require()


@pytest.mark.parametrize("apart", [1e-5, 1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("options", [{}, {"rank": 2}, {"weighting": "residual"}, {"weighting": "canonical"}])
def test_nearly_collinear_columns_raise_no_alarm_of_a_low_rank(options, apart):
    for seed in range(60):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((100, 4))
        X[:, 3] = X[:, 0] + apart * rng.standard_normal(100)
        Y = X[:, :3] @ rng.standard_normal((3, 3)) + 0.3 * rng.standard_normal((100, 3))
        model = ReducedRankRegression(**options).fit(X, Y)
        model.certificates_.require()
        model.certify(X, Y).require()
        model.coef_ *= 1.01
        assert not model.certify(X, Y).holds


@pytest.mark.parametrize("case", ["X large", "collinear", "far"])
@pytest.mark.parametrize("model", [LinearRegression(), Ridge(), MultivariateRegression()], ids=repr)
def test_a_per_cent_is_seen_where_rounding_is_large(model, case):
    X, y = table(0, apart=1e-7 if case == "collinear" else None)
    X = X * 1e12 if case == "X large" else X + 1e6 if case == "far" else X
    y = suited(model, y, X)
    good = model.fit(X, y)
    assert holds(good, X, y)
    reports = {"condition_number_", "optimality_", "dual_gap_"}
    unseen = {name for name, damaged in damages(good) if holds(damaged, X, y)}
    assert unseen <= reports


def test_a_shifted_triangle_shifts_standard_errors_and_is_seen():
    X, y = table(0, apart=1e-7)
    model = LinearRegression().fit(X, y)
    errors = model.inference().bse
    model.triangle_[1, 1] *= 1.01  # 1e-9 of the largest entry
    assert np.abs(model.inference().bse / errors - 1).max() > 5e-3
    assert not model.certify(X, y).holds


def test_the_map_of_a_regression_is_certified():
    X, y = table(0)
    for model, name in ((SplineRegression(), "knots_"), (DictionaryRegression(), "period_")):
        fitted = model.fit(X, y)
        assert fitted.certify(X, y).holds
        setattr(fitted.map_, name, getattr(fitted.map_, name) * 1.01)
        assert not fitted.certify(X, y).holds


@pytest.mark.parametrize("solver", ["gradient_descent", "conjugate_gradient"])
def test_an_iteration_does_not_know_the_condition_number(solver):
    X, y = table(0)
    assert LinearRegression(solver=solver).fit(X, y).condition_number_ is None


def test_no_degrees_of_freedom_leave_no_noise_variance_and_no_inference():
    X, y = table(0)
    for model in (LinearRegression(), MultivariateRegression(), PolynomialRegression()):
        few = model.fit(X[:5], y[:5])
        assert few.noise_variance_ is None
        assert few.log_likelihood_ is None
        assert few.certify(X[:5], y[:5]).holds
        for refused in (few.inference, few.covariance, lambda few=few: few.predict_interval(X)):
            with pytest.raises(ValueError, match=r"^(Inference needs|The 'solver')[^.]*\.$"):
                refused()
    assert LinearRegression().fit(X, np.ones(60)).log_likelihood_ is None


@pytest.mark.parametrize("kind", [LinearRegression, ElasticNet, SparseRegressor])
def test_coefficients_beyond_float32_are_refused(kind):
    X, y = table(0)
    model = kind() if kind is LinearRegression else kind(alpha=0.0 if kind is ElasticNet else 1e-12)
    with pytest.raises(ValueError, match="overflow float32: columns of X are too small beside y"):
        model.fit((X * 1e-30).astype(np.float32), (y * 1e10).astype(np.float32))


EXTREMES = [1e155, 1e200, 1e300, 1e-155, 1e-200, 1e-300]


@pytest.mark.parametrize("model", [*MODELS[:11], KernelRidge(kernel="rbf")], ids=repr)
def test_values_whose_squares_overflow_are_fitted_or_refused_in_one_sentence(model):
    X, y = table(0)
    one = np.where(np.arange(X.size).reshape(X.shape) == 5, 1.0, 0.0)
    for size in EXTREMES:
        for data, target in ((X * size, y), (X, y * size), (X * size, y * size), (X + size * one, y)):
            target = suited(model, target, data / np.abs(data).max())
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    fitted = model.fit(data, target)
                except ValueError as error:
                    assert "scale" in str(error)
                    assert "\n" not in str(error)
                    continue
                assert np.isfinite(fitted.predict(data)).all()
                assert fitted.certificates_.holds


BILLION = 10**9


@pytest.mark.parametrize(
    ("model", "name"),
    [
        (FourierMap(BILLION), "n_frequencies"),
        (HistogramMap(BILLION), "n_bins"),
        (HistogramMap(BILLION, edges="quantile"), "n_bins"),
        (SplineMap(BILLION), "n_knots"),
        (SplineMap(degree=BILLION), "degree"),
        (PolynomialMap(BILLION), "degree"),
        (SplineRegression(BILLION), "n_knots"),
        (DictionaryRegression(size=BILLION), "size"),
        (DictionaryRegression("histogram", size=BILLION), "size"),
        (DictionaryRegression("polynomial", size=BILLION), "size"),
    ],
)
def test_a_billion_features_are_refused_before_they_are_made(model, name):
    X, y = table(0)
    with pytest.raises(ValueError, match=f"The '{name}' parameter of {type(model).__name__} must be smaller"):
        model.fit(X, y)


def test_a_degree_beyond_the_number_of_columns_adds_no_interaction():
    X, _ = table(0)
    assert PolynomialMap(BILLION, interaction_only=True).fit(X).n_features_out_ == 15


@pytest.mark.parametrize(
    "model",
    [
        LinearRegression(),
        Ridge(),
        ColumnDroppingRegression(),
        ConstrainedRegression(),
        MultivariateRegression(),
        DictionaryRegression(),
    ],
    ids=repr,
)
def test_far_more_columns_than_rows_are_fitted_and_certified_on_the_rows(model):
    """What is decomposed has as many rows as the table: 20 × 2000 is a matter of moments."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2000))
    y = X[:, 0] + rng.standard_normal(20)
    fitted = model.fit(X, y)
    fitted.certify(X, y).require()
    if not isinstance(model, Ridge):
        assert_allclose(fitted.predict(X), y, atol=1e-8)
    if isinstance(model, (LinearRegression, ConstrainedRegression)) and not hasattr(model, "map_"):
        centred = X - X.mean(axis=0)
        assert_allclose(np.ravel(fitted.coef_), np.linalg.pinv(centred) @ (y - y.mean()), atol=1e-9)


def test_a_constraint_on_many_columns_is_refused_with_a_direction():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 2000))
    model = ConstrainedRegression(constraint_matrix=np.ones((1, 2000)))
    with pytest.raises(ValueError, match=r"X sends its direction .* to zero"):
        model.fit(X, X[:, 0])


def test_warnings_say_what_helps():
    X, y = table(0)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after max_iter=3 iterations of gradient_descent.*Increase"
    ):
        LinearRegression(solver="gradient_descent", max_iter=3).fit(X, y)
    with pytest.warns(ConvergenceWarning, match="Raise tol: 1e-18 is below the rounding"):
        LinearRegression(solver="gradient_descent", tol=1e-18, max_iter=200).fit(X, y)


def test_an_elastic_net_of_little_curvature_is_certified():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 30))
    y = X[:, 0] - X[:, 1] + 0.3 * rng.standard_normal(60)
    model = ElasticNet(2e6).fit(1e8 * X, y)
    assert model.converged_
    assert model.certificates_.holds


def test_small_kernels_keep_their_fitted_values():
    X, y = table(0)
    model = KernelRidge().fit(1e-12 * X, y)
    gram = 1e-24 * X @ X.T
    assert_allclose(model.fitted_values_, gram @ y, rtol=1e-10)
    assert_allclose(model.rkhs_norm_, np.sqrt(y @ gram @ y), rtol=1e-10)
