"""Which function squared and absolute errors are least for, under noise that is not symmetric."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from assay.theory import mean_against_median, median_identity

NOISES = ("exponential", "lognormal", "pareto")


@pytest.fixture(scope="module")
def shown():
    return {
        (noise, center): mean_against_median(noise, center=center, n_draws=20_000, random_state=0)
        for noise in NOISES
        for center in ("mean", "median")
    }


@pytest.mark.spec("sangnier/T-1.5.1-a")
def test_squared_errors_are_least_for_the_mean(shown):
    for noise in ("exponential", "lognormal"):  # with a variance that 20,000 draws show
        result = shown[noise, "mean"]
        t = result.shifts
        # E(Y − g − th)² − E(Y − g)² = t² E h²: 1 for the constant, 1/2 for the cosine.
        for place, size in enumerate((1.0, 0.5)):
            room = 5 * result.squared_error[place] + 1e-12
            assert np.all(np.abs(result.squared[place] - t**2 * size) <= room)
        assert np.all(result.squared >= -5 * result.squared_error)
        assert abs(result.best_squared) <= 0.05
    # Noise of median zero moves the best constant to its mean.
    moved = shown["exponential", "median"]
    assert_allclose(moved.best_squared, 1 - np.log(2), atol=0.05)
    assert moved.squared[0].min() < -5 * moved.squared_error[0][moved.squared[0].argmin()]


@pytest.mark.spec("sangnier/T-1.5.1-a", "sangnier/T-1.5.2-a")
def test_absolute_errors_are_least_for_the_median(shown):
    for noise in NOISES:  # heavy tails too: the difference of absolute errors is bounded
        result = shown[noise, "median"]
        assert np.all(result.absolute >= -5 * result.absolute_error)
        assert abs(result.best_absolute) <= 0.05
        # Noise of mean zero: the best constant is its median, and g itself is worse for sure.
        other = shown[noise, "mean"]
        assert other.median < -0.2
        assert_allclose(other.best_absolute, other.median, atol=0.051)
        least = other.absolute[0].argmin()
        assert other.absolute[0][least] < -5 * other.absolute_error[0][least]
    # E|ε − t| − E|ε| in closed form, for the exponential law with median zero (ε = E − log 2).
    result = shown["exponential", "median"]
    a = result.shifts + np.log(2)
    exact = np.where(a > 0, a + 2 * np.exp(-np.maximum(a, 0)) - 1, 1 - a) - np.log(2)
    assert np.all(np.abs(result.absolute[0] - exact) <= 5 * result.absolute_error[0] + 1e-12)


@pytest.mark.spec("sangnier/E-1.13", "sangnier/T-1.5.2-a")
def test_the_identity_behind_the_median_holds_on_draws(shown):
    assert max(result.identity_error for result in shown.values()) < 1e-11
    rng = np.random.default_rng(1)
    y, f, g = rng.exponential(size=10_000), rng.normal(size=10_000), rng.normal(size=10_000)
    y[:100] = g[:100]  # ties
    y[100:200] = f[100:200]
    sides = median_identity(y, f, g)
    assert_allclose(np.abs(y - f) - np.abs(y - g), sides.product - sides.rest, atol=1e-12)
    assert sides.product.min() >= 0.0
    # With g the median of y, the rest has mean zero whatever f is.
    y = stats.expon().rvs(size=10_000, random_state=rng)
    rest = median_identity(y, 3 * f, np.full(10_000, np.log(2))).rest
    assert abs(rest.mean()) < 5 * rest.std() / 100


def test_any_law_of_scipy_is_taken_and_others_refused():
    result = mean_against_median(stats.gamma(2.0), n_draws=500, random_state=0)
    assert_allclose(result.mean, 0.0, atol=1e-12)
    with pytest.raises(ValueError, match="'noise' parameter of mean_against_median must be"):
        mean_against_median("skewed")
    with pytest.raises(ValueError, match="'center' parameter"):
        mean_against_median(center="mode")
