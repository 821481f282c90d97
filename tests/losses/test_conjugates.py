"""Conjugates against numerical suprema, the Fenchel–Young inequality, and constants that minimise a sum."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize

from assay.losses import (
    Absolute,
    CumulativeResponse,
    EpsilonInsensitive,
    Gamma,
    Hinge,
    Huber,
    Logistic,
    Poisson,
    Quantile,
    Savage,
    SquaredEpsilonInsensitive,
    Tweedie,
    ZeroOne,
)
from assay.parameters import ParameterError
from losses.catalogue import CONVEX, CUSTOM, EVERY, POSITIVE, name, targets


@pytest.mark.parametrize("loss", CONVEX, ids=name)
def test_conjugate_is_the_supremum(loss, rng):
    y, f = targets(loss, rng, 6), rng.normal(scale=1.5, size=6)
    slopes = 0.9 * loss.gradient(y, f)
    for one, slope in zip(y, slopes, strict=True):
        best = optimize.minimize_scalar(
            lambda f, one=one, slope=slope: float(loss.value(np.array(one), np.array(f)) - slope * f),
            bounds=(-60, 60),
            method="bounded",
            options={"xatol": 1e-9},
        )
        found = float(loss.conjugate(np.array(one), np.array(slope)))
        assert found == pytest.approx(-best.fun, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("loss", [loss for loss in CONVEX if loss not in CUSTOM], ids=name)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_fenchel_young_inequality_with_equality_at_the_gradient(loss, data):
    y = targets(loss, np.random.default_rng(data.draw(st.integers(0, 50))), 4)
    f, slope = np.array(data.draw(st.floats(-8, 8))), np.array(data.draw(st.floats(-3, 3)))
    gap = loss.value(y, f) + loss.conjugate(y, slope) - slope * f
    assert np.all(gap >= -1e-8)
    tight = loss.gradient(y, f)
    gap = loss.value(y, f) + loss.conjugate(y, tight) - tight * f
    assert_allclose(gap, 0, atol=1e-8 * (1 + np.abs(tight).max()) * (1 + abs(f)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("loss", [loss for loss in CONVEX if loss not in CUSTOM], ids=name)
def test_the_gradient_is_in_the_domain_of_the_conjugate_at_extreme_predictions(loss, dtype, rng):
    """A dual point made of gradients is feasible, also where the gradient rounds to the border."""
    y = targets(loss, rng, 12).astype(dtype)[:, None]
    f = np.array([-1e4, -700, -80, -37, -20, 20, 37, 80, 700, 1e4], dtype=dtype)
    y, f = (np.ascontiguousarray(part) for part in np.broadcast_arrays(y, f))
    value, slope = loss.value(y, f), loss.gradient(y, f)
    fits = np.isfinite(value) & np.isfinite(slope)
    y, f, value, slope = y[fits], f[fits], value[fits], slope[fits]
    gap = value + loss.conjugate(y, slope) - slope * f
    size = 1 + np.abs(value) + np.abs(slope * f)
    assert np.max(np.abs(gap) / size) <= (1e-8 if dtype == np.float64 else 1e-4)


def test_conjugates_are_infinite_outside_their_domain():
    one = np.array([1.0])
    assert np.isinf(Logistic().conjugate(one, np.array([0.1]))[0])
    assert np.isinf(Logistic().conjugate(one, np.array([-1.1]))[0])
    assert Logistic(base=2).conjugate(one, np.array([-1.1]))[0] < 0
    assert np.isinf(Hinge().conjugate(-one, np.array([-0.1]))[0])
    assert np.isinf(Poisson().conjugate(one, np.array([-1.1]))[0])
    assert np.isinf(Gamma().conjugate(one, np.array([1.1]))[0])
    assert np.isinf(Tweedie(1.5).conjugate(np.zeros(1), np.array([-0.1]))[0])
    assert_allclose(Tweedie(1.5).conjugate(np.zeros(1), np.array([0.0])), 0)
    for law in ("logistic", "normal", "gumbel_l"):
        loss = CumulativeResponse(law)
        assert np.isinf(loss.conjugate(one, np.array([0.1]))[0])
        assert_allclose(loss.conjugate(one, np.array([0.0])), 0, atol=1e-12)
    assert np.isinf(CumulativeResponse("logistic").conjugate(one, np.array([-1.1]))[0])
    for bounded in (Savage(), ZeroOne()):
        assert_allclose(bounded.conjugate(one, np.zeros(1)), 0)
        assert np.isinf(bounded.conjugate(one, np.array([-0.01]))[0])


def test_the_numerical_conjugate_is_the_closed_form_of_the_logistic_loss(rng):
    y, slope = rng.choice([-1.0, 1.0], 50), rng.uniform(-1.2, 1.2, 50)
    expected = Logistic().conjugate(y, slope)
    assert_allclose(CumulativeResponse("logistic").conjugate(y, slope), expected, atol=1e-9)


def test_losses_that_are_not_convex_refuse_a_numerical_conjugate():
    with pytest.raises(ParameterError, match=r"^The 'power' parameter of Tweedie must be at least 1 and at"):
        Tweedie(3.0).conjugate(np.ones(1), np.ones(1))
    with pytest.raises(ParameterError, match=r"'distribution' parameter of CumulativeResponse must be log-"):
        CumulativeResponse("cauchy").conjugate(np.ones(1), np.ones(1))


@pytest.mark.spec("sangnier/M-1.2.1-f")
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("loss", [loss for loss in EVERY if loss not in CUSTOM], ids=name)
def test_the_constant_minimiser_has_the_smallest_sum(loss, weighted, rng):
    y = targets(loss, rng, 31)
    y[:2] = [1.0, -1.0] if y.min() == -1 else y[:2]
    weight = rng.uniform(0.2, 2.0, 31) if weighted else np.ones(31)
    best = loss.constant_minimiser(y, weight if weighted else None)

    def total(c):
        return float(weight @ loss.value(y, np.full(31, c)))

    grid = np.linspace(-4, 4, 2001)
    smallest = optimize.minimize_scalar(total, bounds=(best - 2, best + 2), method="bounded").fun
    smallest = min(smallest, min(total(c) for c in grid[::4]))
    assert total(best) <= smallest + 1e-9 * abs(smallest)


def test_constant_minimisers_of_few_rows():
    y = np.array([0.0, 10.0])
    assert Absolute().constant_minimiser(y) == 5
    assert Quantile(0.25).constant_minimiser(y) == 0
    assert Huber(1.0).constant_minimiser(y) == 5
    assert EpsilonInsensitive(1.0).constant_minimiser(y) == 5
    for loss in (Absolute(), Huber(1.0), EpsilonInsensitive(0.5), SquaredEpsilonInsensitive(0.5)):
        assert loss.constant_minimiser(np.array([3.0])) == pytest.approx(3)
        assert loss.constant_minimiser(np.full(4, 3.0)) == pytest.approx(3)
    assert Absolute().constant_minimiser(y, np.array([1.0, 0.0])) == 0
    assert Logistic().constant_minimiser(np.ones(3)) == np.inf
    assert Poisson().constant_minimiser(np.zeros(3)) == -np.inf
    assert POSITIVE[0].constant_minimiser(np.full(3, np.e)) == pytest.approx(1)
