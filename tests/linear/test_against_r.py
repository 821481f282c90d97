"""Linear models against reference numbers made with R.

The tables, the script that made the numbers and the numbers lie in tests/reference; R is not needed here.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.linear import (
    ElasticNet,
    GeneralizedLinear,
    HuberRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    QuantileRegressor,
    Ridge,
)

REFERENCE = Path(__file__).parents[1] / "reference"
INF = float("inf")


def numbers(name):
    return json.loads((REFERENCE / f"{name}.json").read_text(encoding="utf-8"))


def table(name):
    """Columns by name, as R read them."""
    with (REFERENCE / f"{name}.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    return {
        key: np.array([row[key] for row in rows])
        if key == "y" and name == "classes"
        else np.array([float(row[key]) for row in rows])
        for key in rows[0]
    }


def matrix(columns, names=("x0", "x1", "x2")):
    return np.column_stack([columns[name] for name in names])


@pytest.fixture(scope="module")
def patients():
    columns = table("patients")
    return matrix(columns, [name for name in columns if name != "y"]), columns["y"]


@pytest.fixture(scope="module")
def tumours():
    columns = table("tumours")
    return matrix(columns), columns["y"].astype(int)


@pytest.fixture(scope="module")
def responses():
    columns = table("responses")
    return matrix(columns), columns


@pytest.fixture(scope="module")
def classes():
    columns = table("classes")
    return matrix(columns, ("x0", "x1")), columns["y"]


@pytest.fixture(scope="module")
def lm():
    return numbers("lm")


@pytest.fixture(scope="module")
def glm():
    return numbers("glm")


@pytest.fixture(scope="module")
def likelihood():
    return numbers("likelihood")


@pytest.fixture(scope="module")
def glmnet():
    return numbers("glmnet")


def test_every_reference_says_what_made_it():
    for name in ("lm", "glm", "likelihood", "glmnet", "multinom", "robust"):
        assert {"R"} < set(numbers(name)["made_with"])


# ---- lm


def test_lm_coefficients_errors_and_tests(patients, lm):
    found = LinearRegression().fit(*patients).inference()
    assert_allclose(found.params, lm["coef"], rtol=1e-9)
    assert_allclose(found.bse, lm["se"], rtol=1e-9)
    assert_allclose(found.tvalues, lm["t"], rtol=1e-9)
    assert_allclose(found.pvalues, lm["p"], rtol=1e-7)
    assert_allclose(found.conf_int(0.9), lm["interval"], rtol=1e-8)
    assert_allclose(np.sqrt(found.noise_variance), lm["sigma"], rtol=1e-10)


def test_lm_quality_of_fit(patients, lm):
    found = LinearRegression().fit(*patients).inference()
    assert_allclose(found.rsquared, lm["r_squared"], rtol=1e-10)
    assert_allclose(found.rsquared_adj, lm["adjusted_r_squared"], rtol=1e-10)
    assert_allclose([found.fvalue, found.df_model, found.df_resid], lm["f"], rtol=1e-10)
    assert_allclose(found.llf, lm["log_likelihood"], rtol=1e-12)
    # R counts the noise variance as a parameter.
    assert_allclose(found.aic + 2, lm["aic"], rtol=1e-12)
    assert_allclose(found.bic + np.log(found.nobs), lm["bic"], rtol=1e-12)


def test_lm_influence_of_the_rows(patients, lm):
    X, y = patients
    found = LinearRegression().fit(X, y).influence(X, y)
    assert_allclose(found.leverage, lm["leverage"], rtol=1e-9)
    assert_allclose(found.cooks_distance, lm["cooks_distance"], rtol=1e-7, atol=1e-14)
    assert_allclose(found.resid_studentized_internal, lm["internal"], rtol=1e-8, atol=1e-10)
    assert_allclose(found.resid_studentized_external, lm["external"], rtol=1e-8, atol=1e-10)
    assert_allclose(found.dffits, lm["dffits"], rtol=1e-8, atol=1e-10)


def test_lm_intervals_of_predictions(patients, lm):
    X, y = patients
    model = LinearRegression().fit(X, y)
    new = X[:10] + 0.5
    for kind, name in (("prediction", "prediction"), ("mean", "confidence")):
        center, low, high = np.array(lm[name]).T
        assert_allclose(model.predict(new), center, rtol=1e-10)
        ends = model.predict_interval(new, coverage=0.95, kind=kind)
        assert_allclose(ends, np.column_stack([low, high]), rtol=1e-8)


def test_lm_ridge_penalises_columns_of_unit_variance(patients, lm):
    X, y = patients
    scale = X.std(axis=0)
    model = Ridge(alpha=7.0).fit(X / scale, y)
    assert_allclose([model.intercept_, *model.coef_ / scale], lm["lm_ridge"], rtol=1e-8)


# ---- glm


def check(model, reference, *, rtol=1e-7, extra=0):
    """Coefficients, errors, deviances and, where the dispersion is R's, the likelihood."""
    found = model.inference()
    assert_allclose(found.params, reference["coef"], rtol=rtol, atol=1e-9)
    assert_allclose(found.bse, reference["se"], rtol=rtol)
    assert_allclose(model.deviance_, reference["deviance"], rtol=1e-10)
    assert_allclose(model.null_deviance_, reference["null_deviance"], rtol=1e-10)
    assert_allclose(found.dispersion, reference["dispersion"], rtol=1e-8)
    if extra is not None:
        assert_allclose(found.llf, reference["log_likelihood"], rtol=1e-10)
        assert_allclose(found.aic + 2 * extra, reference["aic"], rtol=1e-10)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog", "cauchit"])
def test_glm_binomial(tumours, glm, link):
    X, y = tumours
    model = GeneralizedLinear("binomial", link=link).fit(X, y)
    # R stops its scoring when the deviance stands still, which leaves less to the errors.
    check(model, glm[link], rtol=1e-6)
    for kind in ("deviance", "pearson"):
        residuals = model.residuals(X[:10], y[:10], kind)
        assert_allclose(residuals, glm[link][f"{kind}_residuals"], rtol=1e-6)


def test_glm_logit_is_logistic_regression(tumours, glm):
    model = LogisticRegression(C=INF).fit(*tumours)
    found = model.inference()
    assert_allclose(found.params, glm["logit"]["coef"], rtol=1e-8)
    assert_allclose(found.bse, glm["logit"]["se"], rtol=1e-6)
    assert_allclose(-2 * model.log_likelihood_, glm["logit"]["deviance"], rtol=1e-11)
    assert_allclose(-2 * model.null_log_likelihood_, glm["logit"]["null_deviance"], rtol=1e-11)
    assert_allclose(found.aic, glm["logit"]["aic"], rtol=1e-11)


def test_glm_binomial_of_several_trials(responses, glm):
    X, columns = responses
    share = columns["successes"] / columns["trials"]
    model = GeneralizedLinear("binomial").fit(X, share, sample_weight=columns["trials"])
    # The likelihood of R has the binomial coefficients of the trials, that of repeated rows has not.
    check(model, glm["trials"], extra=None)


def test_glm_poisson_with_an_offset(responses, glm):
    X, columns = responses
    model = GeneralizedLinear("poisson").fit(X, columns["count"], offset=np.log(columns["exposure"]))
    twin = GeneralizedLinear("poisson").fit(X, columns["count"], exposure=columns["exposure"])
    reference = glm["poisson_offset"]
    found = model.inference()
    assert_allclose(found.params, reference["coef"], rtol=1e-9)
    assert_allclose(twin.coef_, reference["coef"][1:], rtol=1e-9)
    assert_allclose(found.bse, reference["se"], rtol=1e-8)
    assert_allclose(model.deviance_, reference["deviance"], rtol=1e-10)
    assert_allclose(model.null_deviance_, reference["null_deviance"], rtol=1e-10)
    assert_allclose([found.llf, found.aic], [reference["log_likelihood"], reference["aic"]], rtol=1e-11)


def test_glm_quasi_poisson(responses, glm):
    X, columns = responses
    check(GeneralizedLinear("quasi_poisson").fit(X, columns["dispersed"]), glm["quasi_poisson"], extra=None)


def test_glm_negative_binomial_of_given_theta(responses, glm):
    X, columns = responses
    model = GeneralizedLinear("negative_binomial", overdispersion=1 / 2.5, link="log")
    check(model.fit(X, columns["dispersed"]), glm["negative_binomial"])


@pytest.mark.parametrize("family", ["gamma", "inverse_gaussian"])
def test_glm_of_positive_amounts(responses, glm, family):
    X, columns = responses
    model = GeneralizedLinear(family, link="log").fit(X, columns["amount"])
    # R puts the dispersion deviance/n into the likelihood of these families; the errors use Pearson's. Its
    # scoring ends when the deviance stands still, at slopes ten times ours for the inverse Gaussian family.
    check(model, glm[f"{family}_log"], rtol=1e-6, extra=None)


def test_glm_gaussian(patients, glm):
    check(GeneralizedLinear("gaussian").fit(*patients), glm["gaussian"], extra=1)


# ---- sandwich, anova, and means that round to 1


@pytest.mark.parametrize("link", ["logit", "probit"])
def test_sandwich_errors_of_several_trials(responses, likelihood, link):
    """R had a row for each trial, ours has the shares of them and their number."""
    X, columns = responses
    trials, reference = columns["trials"], likelihood[f"robust_{link}"]
    share = columns["successes"] / trials
    model = GeneralizedLinear("binomial", link=link).fit(X, share, sample_weight=trials)
    for kind in ("HC0", "HC1"):
        found = model.inference(X, share, trials, covariance=kind)
        assert_allclose(found.params, reference["coef"], rtol=1e-7)
        assert_allclose(found.bse, reference[kind], rtol=1e-6)


@pytest.mark.parametrize("family", ["gaussian", "gamma", "inverse_gaussian", "quasi_poisson"])
def test_anova_of_laws_with_a_dispersion(patients, responses, likelihood, family):
    """R divides by the dispersion of the larger model, and so do we."""
    if family == "gaussian":
        (X, y), some = patients, [2, 3]
    else:
        X, columns = responses
        y, some = columns["dispersed" if family == "quasi_poisson" else "amount"], [0]
    link = "identity" if family == "gaussian" else "log"
    large = GeneralizedLinear(family, link=link).fit(X, y).inference()
    small = GeneralizedLinear(family, link=link).fit(X[:, some], y).inference()
    for name, found in (("some", large.likelihood_ratio_test(small)), ("none", large.overall_test)):
        reference = likelihood[family][name]
        assert [found.df, found.df_denom] == [reference["df"], reference["df_residual"]]
        assert_allclose(found.statistic / found.df, reference["f"], rtol=1e-8)
        assert_allclose(found.pvalue, reference["p"], rtol=1e-6)


@pytest.mark.parametrize("link", ["cloglog", "probit", "cauchit", "logit"])
def test_glm_where_a_mean_rounds_to_one(likelihood, link):
    X, share, trials = (
        np.array([[0.0], [1.0], [2.0], [6.0]]),
        np.array([5, 13, 22, 25]) / 25,
        np.full(4, 25.0),
    )
    model = GeneralizedLinear("binomial", link=link).fit(X, share, sample_weight=trials)
    reference = likelihood[f"far_{link}"]
    assert_allclose([model.intercept_, *model.coef_], reference["coef"], rtol=1e-6)
    assert_allclose(model.deviance_, reference["deviance"], rtol=1e-9)


# ---- glmnet


def rows(reference):
    """Pairs of λ and the coefficients there, the intercept first."""
    return zip(reference["lambda"], np.array(reference["coef"]), strict=True)


def test_glmnet_lasso(patients, glmnet):
    for strength, coef in rows(glmnet["lasso"]):
        model = Lasso(alpha=strength, tol=1e-14).fit(*patients)
        assert_allclose([model.intercept_, *model.coef_], coef, rtol=1e-7)
        np.testing.assert_array_equal(model.coef_ == 0, coef[1:] == 0)


def test_glmnet_elastic_net(patients, glmnet):
    X, y = patients
    unit = (y - y.mean()) / y.std()
    for strength, coef in rows(glmnet["elastic_net"]):
        model = ElasticNet(alpha=strength, l1_ratio=0.5, tol=1e-14).fit(X, unit)
        assert_allclose([model.intercept_, *model.coef_], coef, rtol=1e-7, atol=1e-9)
        np.testing.assert_array_equal(model.coef_ == 0, coef[1:] == 0)


@pytest.mark.parametrize(("name", "ratio"), [("logistic_lasso", 1.0), ("logistic_elastic_net", 0.3)])
def test_glmnet_logistic(tumours, glmnet, name, ratio):
    X, y = tumours
    design = np.column_stack([np.ones(len(y)), X])
    for strength, coef in rows(glmnet[name]):
        model = LogisticRegression(penalty_strength=strength, l1_ratio=ratio, tol=1e-10).fit(X, y)
        found = np.array([*model.intercept_, *model.coef_[0]])
        # A relative gap of 1e-10 is a distance of its root in the coefficients.
        assert_allclose(found, coef, rtol=2e-5, atol=1e-6)
        np.testing.assert_array_equal(found == 0, coef == 0)
        ours, theirs = (
            np.mean(np.logaddexp(0, -(2 * y - 1) * (design @ point)))
            + strength * (ratio * np.abs(point[1:]).sum() + (1 - ratio) / 2 * point[1:] @ point[1:])
            for point in (found, coef)
        )
        assert_allclose(ours, theirs, rtol=1e-10)


def test_glmnet_multinomial_lasso(classes, glmnet):
    reference = glmnet["multinomial_lasso"]
    for place, strength in enumerate(reference["lambda"]):
        model = LogisticRegression(penalty_strength=strength, l1_ratio=1.0, tol=1e-10).fit(*classes)
        coef = np.array([reference["coef"][label][place] for label in model.classes_])
        # Intercepts are known up to a common shift; so would be coefficients, but for the penalty.
        assert_allclose(model.intercept_ - model.intercept_.mean(), coef[:, 0] - coef[:, 0].mean(), atol=1e-7)
        assert_allclose(model.coef_, coef[:, 1:], atol=1e-7)


def test_glmnet_poisson_ridge(responses, glmnet):
    X, columns = responses
    for strength, coef in rows(glmnet["poisson_ridge"]):
        model = GeneralizedLinear("poisson", alpha=strength)
        model.fit(X, columns["count"], offset=np.log(columns["exposure"]))
        assert_allclose([model.intercept_, *model.coef_], coef, rtol=1e-8)


# ---- multinom, rq, rlm


def test_multinom_with_a_reference_class(classes):
    reference = numbers("multinom")
    model = LogisticRegression(C=INF, reference_class=reference["classes"][0]).fit(*classes)
    found = model.inference()
    assert list(model.classes_) == reference["classes"]
    assert_allclose(found.params.reshape(2, 3), reference["coef"], rtol=1e-5)
    assert_allclose(found.bse.reshape(2, 3), reference["se"], rtol=1e-5)
    assert_allclose(-2 * model.log_likelihood_, reference["deviance"], rtol=1e-11)
    assert_allclose(found.aic, reference["aic"], rtol=1e-11)
    assert_allclose(model.predict_proba(classes[0][:10]), reference["probabilities"], rtol=1e-5)


@pytest.mark.parametrize("name", ["quarter", "median", "ninth"])
def test_rq_quantiles(patients, name):
    X, y = patients
    reference = numbers("robust")[name]
    model = QuantileRegressor(reference["quantile"], tol=1e-12).fit(X, y)
    assert_allclose([model.intercept_, *model.coef_], reference["coef"], rtol=1e-8)
    residual = y - model.predict(X)
    pinball = np.sum(residual * (reference["quantile"] - (residual < 0)))
    assert_allclose(pinball, reference["objective"], rtol=1e-11)


@pytest.mark.parametrize("name", ["penalised_median", "penalised_ninth"])
def test_rq_quantiles_with_a_penalty(patients, name):
    X, y = patients
    reference = numbers("robust")[name]
    quantile, coef = reference["quantile"], np.array(reference["coef"])
    coef[np.abs(coef) < 1e-12] = 0.0  # R ends inside the region, next to the vertex
    model = QuantileRegressor(quantile, alpha=reference["lambda"] / (2 * len(y)), tol=1e-12).fit(X, y)
    assert_allclose([model.intercept_, *model.coef_], coef, rtol=1e-8)
    np.testing.assert_array_equal(model.coef_ == 0, coef[1:] == 0)


def test_rlm_huber_at_its_scale(patients):
    reference = numbers("robust")["huber"]
    model = HuberRegressor(epsilon=reference["k"], alpha=0.0, scale=reference["scale"]).fit(*patients)
    assert_allclose([model.intercept_, *model.coef_], reference["coef"], rtol=1e-7)
