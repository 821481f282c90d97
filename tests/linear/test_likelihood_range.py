"""Tables and targets at the ends of the floats: an answer that is right, or a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.exceptions import ConvergenceWarning

from assay.linear import GeneralizedLinear, LogisticRegression

MODELS = [
    LogisticRegression(),
    LogisticRegression(C=np.inf),
    LogisticRegression(l1_ratio=1.0),
    LogisticRegression(solver="quasi_newton"),
    LogisticRegression(solver="gradient_descent", max_iter=20),
    GeneralizedLinear(),
    GeneralizedLinear("poisson"),
    GeneralizedLinear("gamma", alpha=0.5),
    GeneralizedLinear("binomial", link="probit"),
    GeneralizedLinear(solver="quasi_newton"),
]


def table(model, n=60):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) + 0.3
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    return X, y + (getattr(model, "family", "") == "gamma")


def one_value(X, value):
    X = X.copy()
    X[30, 1] = value
    return X


EXTREMES = {
    "1e155": lambda X: X * 1e155,
    "1e300": lambda X: X * 1e300,
    "one 1e160": lambda X: one_value(X, 1e160),
    "one 1.7e308": lambda X: one_value(X, 1.7e308),
    "one column of 1e200": lambda X: X * [1.0, 1e200, 1.0],
    "one column of 1e-200": lambda X: X * [1.0, 1e-200, 1.0],
}


@pytest.mark.parametrize("model", MODELS, ids=repr)
@pytest.mark.parametrize("name", EXTREMES)
def test_extreme_tables_are_answered_or_refused_in_one_sentence(model, name):
    X, y = table(model)
    X = EXTREMES[name](X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # any other warning is an error
        try:
            fitted = model.fit(X, y)
        except ValueError as refusal:
            assert type(refusal) is ValueError
            assert "Input X is too" in str(refusal)
            return
    for attribute, value in vars(fitted).items():
        if attribute.endswith("_") and attribute not in ("certificates_", "C_") and value is not None:
            numbers = np.asarray(value)
            assert numbers.dtype.kind != "f" or np.isfinite(numbers).all(), attribute


@pytest.mark.parametrize("unit", [1e-100, 1e-20, 1e20, 1e30, 1e100])
@pytest.mark.parametrize(
    "model", [LogisticRegression(C=np.inf), GeneralizedLinear(), GeneralizedLinear("poisson")]
)
def test_the_unit_of_the_columns_does_not_matter(model, unit):
    X, y = table(model)
    plain = np.ravel(model.fit(X, y).coef_)
    scaled = model.fit(X * unit, y)
    assert_allclose(np.ravel(scaled.coef_) * unit, plain, rtol=1e-6)
    scaled.certify(X * unit, y).require()


@pytest.mark.parametrize("family", ["gaussian", "gamma", "inverse_gaussian", "quasi_poisson"])
@pytest.mark.parametrize("size", [1e160, 1e305])
def test_targets_beyond_the_floats_are_answered_or_refused(family, size):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)), rng.gamma(2.0, size=60) * size
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            model = GeneralizedLinear(family).fit(X, y)
        except ValueError as refusal:
            assert "divide y by its scale" in str(refusal)
            return
    for value in (model.coef_, model.dispersion_, model.deviance_, model.null_deviance_):
        assert np.isfinite(value).all()


def test_one_class_of_shares_has_finite_numbers():
    X, _ = table(GeneralizedLinear())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GeneralizedLinear("binomial").fit(X, np.ones(60))
    assert (model.null_deviance_, model.null_log_likelihood_) == (0.0, 0.0)


def test_a_warning_says_how_many_steps_there_were_and_why_they_ended():
    X, y = table(LogisticRegression())
    for model in (LogisticRegression(max_iter=2), GeneralizedLinear("poisson", max_iter=2)):
        with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations .* Increase max_iter"):
            model.fit(X, y)
    stalled = LogisticRegression().fit(X, y)
    stalled.converged_, stalled.n_iter_ = False, 7
    with pytest.warns(ConvergenceWarning, match="after 7 iterations of newton.* rounding") as caught:
        stalled._warn_unless_converged("")
    assert "max_iter" not in str(caught[0].message)


def test_penalties_beyond_the_floats_are_refused():
    X, y = table(LogisticRegression())
    with pytest.raises(ValueError, match="The 'C' parameter of LogisticRegression must be a number above 0"):
        LogisticRegression(C=10**400).fit(X, y)
