"""Regressions on features: against least squares on the whole table of features, and on hard input."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy.interpolate import make_lsq_spline
from sklearn import linear_model
from sklearn.preprocessing import PolynomialFeatures, SplineTransformer

import assay
from assay.linear import (
    DictionaryRegression,
    FourierMap,
    LinearRegression,
    PolynomialRegression,
    Ridge,
    SplineMap,
    SplineRegression,
)
from assay.rows import block_rows


@pytest.fixture
def table(rng):
    X = rng.uniform(-1, 1, (200, 2))
    return X, np.sin(3 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(200)


@pytest.mark.spec("rudi/M1.7")
@pytest.mark.parametrize("basis", ["monomial", "legendre", "chebyshev"])
def test_polynomial_regression_is_least_squares_on_the_powers(table, basis):
    X, y = table
    weight = np.linspace(0, 2, 200)
    ours = PolynomialRegression(4, basis=basis).fit(X, y, sample_weight=weight)
    powers = PolynomialFeatures(4, include_bias=False).fit_transform(X)
    theirs = linear_model.LinearRegression().fit(powers, y, sample_weight=weight)
    assert_allclose(ours.predict(X), theirs.predict(powers), atol=1e-9)
    if basis == "monomial":
        assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert ours.certify(X, y, sample_weight=weight).holds


@pytest.mark.spec("rudi/M1.8")
@pytest.mark.parametrize("degree", [1, 3])
def test_spline_regression_is_scipys_least_squares_spline(table, degree):
    order = np.argsort(table[0][:, 0])
    x, y = table[0][order, 0], table[1][order]
    model = SplineRegression(7, degree).fit(x[:, None], y)
    theirs = make_lsq_spline(x, y, model.map_.knots_, degree)
    assert_allclose(model.predict(x[:, None]), theirs(x), atol=1e-9)
    without = SplineRegression(7, degree, fit_intercept=False).fit(x[:, None], y)
    assert_allclose(without.coef_, theirs.c, atol=1e-8)


@pytest.mark.spec("rudi/M1.8")
@pytest.mark.parametrize("knots", ["uniform", "quantile"])
def test_additive_splines_fit_what_scikit_learns_splines_fit(table, knots):
    X, y = table
    splines = SplineTransformer(6, 3, knots=knots, include_bias=False).fit(X)
    theirs = linear_model.LinearRegression().fit(splines.transform(X), y)
    ours = SplineRegression(6, 3, knots=knots).fit(X, y)
    assert_allclose(ours.predict(X), theirs.predict(splines.transform(X)), atol=1e-9)


@pytest.mark.spec("rudi/M1.9")
@pytest.mark.parametrize(
    "dictionary", ["fourier", "histogram", "spline", "wavelet", "polynomial", [np.cos, np.sin], SplineMap(6)]
)
@pytest.mark.parametrize("alpha", [0.0, 0.5])
def test_any_dictionary_is_a_linear_model_on_its_features(table, dictionary, alpha):
    X, y = table
    model = DictionaryRegression(dictionary, alpha=alpha).fit(X, y)
    features = model.features(X)
    plain = Ridge(alpha).fit(features, y)
    assert_allclose(model.predict(X), plain.predict(features), atol=1e-9)
    assert_allclose(model.coef_, plain.coef_, atol=1e-7)
    assert model.certificates_.holds
    assert len(model.get_feature_names_out()) == features.shape[1]


def test_a_map_given_as_dictionary_is_left_as_it_was(table):
    given = FourierMap(3)
    model = DictionaryRegression(given).fit(*table)
    assert not hasattr(given, "period_")
    assert model.map_.n_frequencies == 3


def test_inference_on_features_is_statsmodels(table):
    X, y = table
    model = PolynomialRegression(2).fit(X, y)
    powers = sm.add_constant(PolynomialFeatures(2, include_bias=False).fit_transform(X))
    theirs = sm.OLS(y, powers).fit()
    found = model.inference()
    assert found.names == ("intercept", "x0", "x1", "x0^2", "x0 x1", "x1^2")
    assert_allclose(found.params, theirs.params)
    assert_allclose(found.bse, theirs.bse)
    assert_allclose(found.pvalues, theirs.pvalues, atol=1e-12)
    robust = model.inference(X, y, covariance="HC3")
    assert_allclose(robust.bse, theirs.get_robustcov_results("HC3").bse)
    new = X[:5] / 2
    interval = model.predict_interval(new, coverage=0.95)
    design = sm.add_constant(PolynomialFeatures(2, include_bias=False).fit_transform(new), has_constant="add")
    frame = theirs.get_prediction(design).summary_frame(0.05)
    assert_allclose(interval, frame[["obs_ci_lower", "obs_ci_upper"]].to_numpy())
    influence = theirs.get_influence()
    assert_allclose(model.influence(X, y).cooks_distance, influence.cooks_distance[0])
    assert_allclose(model.leverage(X), influence.hat_matrix_diag)
    assert_allclose(model.covariance(), theirs.cov_params()[1:, 1:])


def test_a_penalty_refuses_inference_and_counts_its_degrees_of_freedom(table):
    X, y = table
    model = SplineRegression(6, alpha=2.0).fit(X, y)
    for ask in (
        model.inference,
        model.covariance,
        lambda: model.predict_interval(X),
        lambda: model.influence(X, y),
    ):
        with pytest.raises(ValueError, match="'alpha' parameter of SplineRegression must be 0"):
            ask()
    free = 200 - model.leverage(X).sum()
    assert model.noise_variance_ == pytest.approx(np.sum(model.residuals(X, y) ** 2) / free)
    assert [certificate.quantity for certificate in model.certificates_] == [
        "normal-equation residual",
        "relative duality gap",
    ]


def test_a_long_table_is_expanded_in_blocks_no_larger_than_those_of_its_width(rng):
    X = rng.random((30_000, 1))
    seen = []

    def powers(block):
        seen.append(len(block))
        return np.power.outer(block[:, 0], np.arange(1, 120))

    y = X[:, 0]
    model = DictionaryRegression([powers], alpha=1e-3).fit(X, y)
    assert max(seen) <= block_rows(119, 8) < 3000
    assert np.abs(model.predict(X) - y).max() < 1e-2
    assert model.certify(X, y).holds


def test_a_high_degree_keeps_its_digits_in_an_orthogonal_basis():
    x = np.linspace(2000, 2020, 300)[:, None]
    y = np.cos(x[:, 0])
    smooth = PolynomialRegression(20, basis="chebyshev").fit(x, y)
    assert np.abs(smooth.predict(x) - y).max() < 1e-3
    assert smooth.certificates_.holds
    assert smooth.condition_number_ < 1e4
    rough = PolynomialRegression(20).fit(x, y)
    assert rough.rank_ < 20  # the powers of 2010 ± 10 are one direction up to rounding, and it says so
    assert "rank" in rough.certificates_[-1].claim


def test_cyclic_columns_may_be_named(rng):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"temperature": rng.normal(10, 8, 500), "hour": rng.integers(0, 24, 500) + 0.0})
    y = 0.02 * (frame["temperature"] - 15) ** 2 + np.sin(frame["hour"] * 2 * np.pi / 24)
    model = SplineRegression(9, cyclic=["hour"], period=24.0).fit(frame, y)
    assert model.score(frame, y) > 0.999
    midnight = frame.head(2).assign(hour=[0.0, 24.0], temperature=10.0)
    assert np.diff(model.predict(midnight))[0] == pytest.approx(0, abs=1e-9)
    assert model.get_feature_names_out()[-1] == "hour_sp6"


def test_models_on_several_targets_are_the_models_of_each(table, rng):
    X, y = table
    Y = np.column_stack([y, rng.standard_normal(200)])
    both = SplineRegression(5).fit(X, Y)
    for k in range(2):
        assert_allclose(both.predict(X)[:, k], SplineRegression(5).fit(X, Y[:, k]).predict(X), atol=1e-10)
    assert both.inference().params.shape == (13, 2)


def test_parquet_gives_the_result_of_memory(table, tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = table
    pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_parquet(tmp_path / "t.parquet")
    streamed = SplineRegression(6, knots="quantile", cyclic=["b"]).fit(str(tmp_path / "t.parquet"), "y")
    memory = SplineRegression(6, knots="quantile", cyclic=[1]).fit(X, y)
    assert_allclose(streamed.coef_, memory.coef_, atol=1e-9)
    assert_allclose(streamed.predict(str(tmp_path / "t.parquet")), memory.predict(X), atol=1e-9)


def test_a_model_on_functions_says_that_it_cannot_be_saved(table, tmp_path):
    model = DictionaryRegression([lambda X: X]).fit(*table)
    with pytest.raises(ValueError, match=r"cannot be saved|could not be loaded"):
        assay.save(model, tmp_path / "model.skops")


@pytest.mark.parametrize("kind", [PolynomialRegression, SplineRegression, DictionaryRegression])
def test_bad_rows_are_refused_or_survived(kind, table):
    X, y = table
    bad = X.copy()
    bad[0, 0] = np.nan
    for data in ((bad, y), (X, np.where(np.arange(200) == 3, np.inf, y))):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            kind().fit(*data)
    with pytest.raises(ValueError, match="0 sample"):
        kind().fit(X[:0], y[:0])
    with pytest.raises(ValueError, match=r"inconsistent|as many"):
        kind().fit(X, y[:-1])
    with pytest.raises(ValueError, match="weight"):
        kind().fit(X, y, sample_weight=np.zeros(200))
    with pytest.raises(ValueError, match=r"could not convert|numeric|numbers"):
        kind().fit(np.array([["a", "b"]] * 4), y[:4])
    one = kind().fit(X[:1], y[:1])
    assert one.predict(X[:1])[0] == pytest.approx(y[0])
    constant = kind().fit(np.ones((20, 2)), y[:20])
    assert_allclose(constant.predict(np.ones((3, 2))), y[:20].mean())
    doubled = kind().fit(np.vstack([X, X]), np.concatenate([y, y]))
    assert_allclose(doubled.predict(X), kind().fit(X, y).predict(X), atol=1e-8)
    scaled = kind().fit(X * 1e8, y)
    assert_allclose(scaled.predict(X * 1e8), kind().fit(X, y).predict(X), atol=1e-6)


def test_zero_weight_rows_do_not_move_the_knots(table):
    X, y = table
    far, weight = np.vstack([X, [[50.0, 50.0]]]), np.append(np.ones(200), 0.0)
    model = SplineRegression(5).fit(far, np.append(y, 1e3), sample_weight=weight)
    assert_allclose(model.map_.knots_, SplineRegression(5).fit(X, y).map_.knots_)
    assert model.certify(far, np.append(y, 1e3), sample_weight=weight).holds


def test_refusals_speak_for_the_model(table):
    with pytest.raises(ValueError, match="The 'cyclic' parameter of SplineRegression must be"):
        SplineRegression(cyclic=[7]).fit(*table)
    with pytest.raises(ValueError, match="The 'degree' parameter of PolynomialRegression must be smaller"):
        PolynomialRegression(500).fit(*table)


@pytest.mark.spec("peyre/M12")
@pytest.mark.parametrize(
    "model", [LinearRegression(), Ridge(1.0), SplineRegression(4), PolynomialRegression(1)]
)
def test_the_intercept_is_the_coefficient_of_an_appended_constant(model, table):
    X, y = table
    y = y + 100.0
    fitted = model.fit(X, y)
    features = fitted.features(X) if hasattr(fitted, "features") else X
    alpha = getattr(fitted, "alpha_", 0.0)
    ones = np.column_stack([features, np.ones(len(X))])
    penalty = alpha * np.diag(np.append(np.ones(features.shape[1]), 0.0))  # the constant is not penalised
    expected = np.linalg.solve(ones.T @ ones + penalty, ones.T @ y)
    assert_allclose(np.append(fitted.coef_, fitted.intercept_), expected, atol=1e-7)
    through_zero = type(model)(fit_intercept=False).fit(X, y)
    assert through_zero.intercept_ == 0
    without_splines = not isinstance(model, SplineRegression)  # all B-splines together hold the constant
    if without_splines:
        assert np.mean((through_zero.predict(X) - y) ** 2) > 100 * np.mean((fitted.predict(X) - y) ** 2)
