"""Robust covariances, deviance tests and their size, and what certifies the numbers behind them."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import stats

from assay.linear import GeneralizedLinear, LinearRegression, LogisticRegression
from assay.theory import coverage
from damage import damages

DISPERSED = ("gaussian", "gamma", "inverse_gaussian", "quasi_poisson", "tweedie")


def grouped(rng, n_groups=60, trials=30, overdispersed=False):
    X = rng.normal(size=(n_groups, 2))
    chance = 1 / (1 + np.exp(-(0.3 + X @ [0.8, -0.5])))
    if overdispersed:
        chance = rng.beta(20 * chance, 20 * (1 - chance))
    return X, rng.binomial(trials, chance)


def as_trials(X, successes, trials):
    rows = np.repeat(np.arange(len(X)), trials)
    return X[rows], np.concatenate([np.arange(trials) < k for k in successes]).astype(float)


@pytest.mark.parametrize("covariance", ["HC0", "HC1"])
@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_robust_errors_of_grouped_trials_are_those_of_the_trials(rng, covariance, link):
    X, successes = grouped(rng)
    shares, weight = successes / 30, np.full(60, 30.0)
    few = GeneralizedLinear("binomial", link=link).fit(X, shares, sample_weight=weight)
    table, labels = as_trials(X, successes, 30)
    many = GeneralizedLinear("binomial", link=link).fit(table, labels)
    ours = few.inference(X, shares, weight, covariance=covariance)
    theirs = many.inference(table, labels, covariance=covariance)
    assert_allclose(ours.covariance, theirs.covariance, rtol=1e-6, atol=1e-12)
    if link == "logit":
        peer = sm.Logit(labels, sm.add_constant(table)).fit(disp=False, tol=1e-12, cov_type=covariance)
        assert_allclose(
            theirs.bse, peer.bse * (1 if covariance == "HC0" else np.sqrt(1800 / 1797)), rtol=1e-3
        )


def test_robust_errors_of_shares_with_offsets_are_those_of_the_trials(rng):
    X, successes = grouped(rng)
    offset, weight = rng.normal(size=60), np.full(60, 30.0)
    few = GeneralizedLinear("binomial").fit(X, successes / 30, weight, offset=offset)
    table, labels = as_trials(X, successes, 30)
    long = np.repeat(offset, 30)
    many = GeneralizedLinear("binomial").fit(table, labels, offset=long)
    ours = few.inference(X, successes / 30, weight, covariance="HC0", offset=offset)
    theirs = many.inference(table, labels, covariance="HC0", offset=long)
    assert_allclose(ours.bse, theirs.bse, rtol=1e-6)


def test_robust_intervals_of_grouped_trials_cover():
    rng = np.random.default_rng(5)
    covered = []
    for _ in range(60):
        X, successes = grouped(rng)
        weight = np.full(60, 30.0)
        model = GeneralizedLinear("binomial").fit(X, successes / 30, weight)
        low, high = model.inference(X, successes / 30, weight, covariance="HC0").conf_int(0.95)[1]
        covered.append(low <= 0.8 <= high)
    assert coverage(np.array(covered)).agrees(0.95)


def test_weights_of_a_logistic_regression_are_repetitions_in_robust_errors(rng):
    X, successes = grouped(rng, trials=5)
    table, labels = as_trials(X, successes, 5)
    weight = rng.integers(1, 4, size=len(labels))
    model = LogisticRegression(C=np.inf).fit(table, labels, sample_weight=weight)
    again = LogisticRegression(C=np.inf).fit(table.repeat(weight, axis=0), labels.repeat(weight))
    ours = model.inference(table, labels, weight, covariance="HC1")
    theirs = again.inference(table.repeat(weight, axis=0), labels.repeat(weight), covariance="HC1")
    assert_allclose(ours.bse, theirs.bse, rtol=1e-8)
    assert "s² g" not in LogisticRegression.inference.__doc__


def compound(rng, n, mean):
    """Sums of Poisson numbers of Gamma amounts, 0 with a chance of e⁻³."""
    counts = rng.poisson(3.0, size=n)
    return np.where(counts > 0, rng.gamma(2.0 * np.maximum(counts, 1), mean / 6), 0.0)


def drawn(family, rng, n, d, mean=2.0):
    X = rng.normal(size=(n, d))
    draw = {
        "gaussian": lambda: mean + rng.normal(size=n),
        "gamma": lambda: rng.gamma(3.0, mean / 3, size=n),
        "inverse_gaussian": lambda: rng.wald(mean, 60.0, size=n),
        "quasi_poisson": lambda: 2.0 * rng.poisson(2 * mean, size=n),
        "tweedie": lambda: compound(rng, n, mean),
    }
    return X, draw[family]()


@pytest.mark.parametrize("family", DISPERSED)
def test_deviance_tests_are_fisher_tests_with_the_dispersion_of_the_larger_model(family):
    X, y = drawn(family, np.random.default_rng(2), 60, 4)
    large, small = GeneralizedLinear(family).fit(X, y), GeneralizedLinear(family).fit(X[:, :1], y)
    found = large.inference().likelihood_ratio_test(small.inference())
    statistic = (small.deviance_ - large.deviance_) / large.dispersion_
    assert (found.df, found.df_denom) == (3, 55)
    assert_allclose(found.statistic, statistic, rtol=1e-9)
    assert_allclose(found.pvalue, stats.f.sf(statistic / 3, 3, 55), rtol=1e-7)
    overall = large.inference().overall_test
    statistic = (large.null_deviance_ - large.deviance_) / large.dispersion_
    assert_allclose(overall.pvalue, stats.f.sf(statistic / 4, 4, 55), rtol=1e-7)
    with pytest.raises(ValueError, match="same rows"):
        large.inference().likelihood_ratio_test(GeneralizedLinear(family).fit(X[:50, :1], y[:50]).inference())


def test_gaussian_deviance_tests_are_those_of_least_squares():
    X, y = drawn("gaussian", np.random.default_rng(3), 15, 5)
    found = GeneralizedLinear().fit(X, y).inference()
    theirs = sm.OLS(y, sm.add_constant(X)).fit()
    assert_allclose(found.overall_test.pvalue, theirs.f_pvalue, rtol=1e-8)
    small = GeneralizedLinear().fit(X[:, :2], y).inference()
    f, pvalue, df = theirs.compare_f_test(sm.OLS(y, sm.add_constant(X[:, :2])).fit())
    ratio = found.likelihood_ratio_test(small)
    assert_allclose([ratio.statistic / ratio.df, ratio.pvalue, ratio.df], [f, pvalue, df], rtol=1e-8)


def rejections(family, repeats, *, n=30, d=3, seed=0):
    """Shares of samples without an effect in which the two tests reject at 5 %."""
    rng, rejected = np.random.default_rng(seed), np.zeros((repeats, 2), dtype=bool)
    for i in range(repeats):
        X, y = drawn(family, rng, n, d)
        large = GeneralizedLinear(family).fit(X, y).inference()
        small = GeneralizedLinear(family).fit(X[:, :1], y).inference()
        rejected[i] = large.overall_test.pvalue < 0.05, large.likelihood_ratio_test(small).pvalue < 0.05
    return rejected


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("family", DISPERSED)
def test_deviance_tests_have_their_size(family):
    options = {"n": 15, "d": 5} if family == "gaussian" else {}
    share = rejections(family, 1500, **options).mean(axis=0)
    room = (
        0.0 if family == "gaussian" else 0.015
    )  # exact for Gaussian targets, else in the limit of many rows
    assert np.all(np.abs(share - 0.05) <= room + 3.5 * np.sqrt(0.05 * 0.95 / 1500))


@pytest.mark.parametrize("family", ["quasi_poisson", "tweedie"])
def test_a_law_without_a_likelihood_says_none_and_still_has_tests(family):
    X, y = drawn(family, np.random.default_rng(4), 60, 2)
    model = GeneralizedLinear(family).fit(X, y)
    assert model.log_likelihood_ is model.null_log_likelihood_ is model.dual_gap_ is None
    found = model.inference()
    assert found.llf is found.aic is found.bic is found.pseudo_rsquared is None
    assert 0 < found.overall_test.pvalue < 1
    assert "deviance" in found.summary()
    assert "AIC" not in found.summary()
    model.certify(X, y).require()


def test_rows_that_leave_no_freedom_have_no_dispersion():
    X, y = drawn("gamma", np.random.default_rng(5), 4, 3)
    model = GeneralizedLinear("gamma").fit(X, y)
    assert model.dispersion_ is model.log_likelihood_ is None
    model.certify(X, y).require()
    for ask in (model.inference, lambda: model.predict_interval(X)):
        with pytest.raises(ValueError, match="more rows than parameters"):
            ask()


def test_a_perfect_fit_is_told_from_a_constant_with_certainty():
    X = np.arange(10.0)[:, None]
    found = GeneralizedLinear().fit(X, 2 * X[:, 0]).inference()
    assert found.overall_test.pvalue < 1e-12


def test_the_null_likelihood_beside_an_offset_is_that_of_the_best_constant(rng):
    X, successes = grouped(rng, trials=1)
    offset = rng.normal(size=60)
    model = LogisticRegression(C=np.inf).fit(X, successes, offset=offset)
    theirs = sm.GLM(successes, sm.add_constant(X), family=sm.families.Binomial(), offset=offset).fit(
        tol=1e-12
    )
    assert_allclose(-2 * model.null_log_likelihood_, theirs.null_deviance, rtol=1e-8)
    model.certify(X, successes, offset=offset).require()


CERTIFIED = ["information_", "center_", "total_weight_", "deviance_", "null_deviance_"]


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("family", ["gaussian", "gamma", "poisson", "tweedie"])
def test_what_inference_reads_is_certified_in_any_units_and_precision(family, scale, dtype):
    rng = np.random.default_rng(6)
    X, y = drawn("quasi_poisson" if family == "poisson" else family, rng, 200, 3)
    X, y = ((X + 1) * scale).astype(dtype), y.astype(dtype)
    model = GeneralizedLinear(family).fit(X, y)
    model.certify(X, y).require()
    seen = {name for name, changed in damages(model) if not changed.certify(X, y).holds}
    wanted = {*CERTIFIED, *(["dispersion_"] if model.dispersion_ != 1 else ["log_likelihood_"])}
    assert wanted <= seen


@pytest.mark.parametrize("options", [{"C": np.inf}, {"C": 0.5}, {"C": np.inf, "class_weight": "balanced"}])
def test_what_a_logistic_regression_reports_is_certified(rng, options):
    X, successes = grouped(rng, n_groups=150, trials=1)
    model = LogisticRegression(**options).fit(X, successes)
    model.certify(X, successes).require()
    for name in ("information_", "center_", "total_weight_", "log_likelihood_", "null_log_likelihood_", "C_"):
        changed = LogisticRegression(**options).fit(X, successes)
        if np.all(np.isfinite(getattr(changed, name))):
            setattr(changed, name, getattr(changed, name) * 1.01)
            assert not changed.certify(X, successes).holds, name


def test_nearly_collinear_columns_raise_no_false_alarm():
    for seed in range(3):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 3))
        X[:, 2] = X[:, 0] + 1e-6 * rng.normal(size=80)
        y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.5)).astype(float)
        GeneralizedLinear("poisson").fit(X, y).certify(X, y).require()
        GeneralizedLinear().fit(X, y).certify(X, y).require()
        LogisticRegression().fit(X, y > 1).certify(X, y > 1).require()


@pytest.mark.parametrize("kind", ["known", "estimated"])
def test_the_edge_of_a_confidence_region_is_where_the_test_rejects(rng, kind):
    """χ² where the dispersion is known, F where it is estimated; the test has its p-value by SciPy's law."""
    X = rng.normal(size=(80, 3))
    score = 0.4 + X @ [1.0, -0.5, 0.0]
    y = rng.poisson(np.exp(score)).astype(float)
    found = GeneralizedLinear("poisson" if kind == "known" else "quasi_poisson").fit(X, y).inference()
    L = np.array([[0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 1.0, -1.0]])
    region = found.confidence_region(L, level=0.9)
    for direction in rng.normal(size=(5, 2)):
        edge = region.center + region.radius * np.linalg.cholesky(region.shape) @ (
            direction / np.linalg.norm(direction)
        )
        test = found.wald_test(L, edge)
        assert test.pvalue == pytest.approx(0.1, rel=1e-8)
        law = stats.chi2(2).sf(test.statistic) if kind == "known" else stats.f(2, 76).sf(test.statistic / 2)
        assert test.pvalue == pytest.approx(law, rel=1e-10)
        inner, outer = region.center + np.outer([0.999, 1.001], edge - region.center)
        assert region.contains(inner)
        assert not region.contains(outer)


def test_other_centres_are_no_false_alarm(rng):
    """The information may be about any centre: the rows in another order lead to another one."""
    X = rng.normal(size=(2000, 3)) + np.linspace(0, 5, 2000)[:, None]
    y = rng.poisson(np.exp(0.1 * X[:, 0])).astype(float)
    model = GeneralizedLinear("poisson").fit(X, y)
    model.certify(X[::-1], y[::-1]).require()


def test_the_bound_of_the_training_error_is_no_evidence(rng):
    X, successes = grouped(rng, n_groups=150, trials=1)
    model = LogisticRegression().fit(X, successes)
    bound = model.certificates_.named("training error")
    assert bound.informative
    assert bound.verdict == "bound"
    assert len(model.certificates_.decisive) == len(model.certificates_) - 1
    assert_allclose(LinearRegression().fit(X, successes).predict(X).mean(), successes.mean())
