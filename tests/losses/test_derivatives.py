"""Every loss: derivatives against finite differences, constants against grids, behaviour at the extremes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import special

from assay.losses import (
    Absolute,
    CrossEntropy,
    CumulativeResponse,
    EpsilonInsensitive,
    Exponential,
    Hinge,
    Logistic,
    Squared,
    ZeroOne,
)
from losses.catalogue import BENT, CONVEX, CUSTOM, EVERY, MARGIN, RESPONSE, name, targets


@pytest.mark.spec("sangnier/M-1.2.1-f", "peyre/M13")
@pytest.mark.parametrize("loss", EVERY, ids=name)
def test_gradients_and_curvatures_are_those_of_finite_differences(loss, rng):
    # Random points miss the kinks, which are finitely many for each target.
    y, f, h = targets(loss, rng, 200), rng.normal(scale=2.0, size=200), 1e-6
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    assert_allclose(loss.gradient(y, f), slope, rtol=1e-6, atol=1e-7)
    bend = (loss.gradient(y, f + h) - loss.gradient(y, f - h)) / (2 * h)
    assert_allclose(loss.curvature(y, f), bend, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", EVERY, ids=name)
def test_gradients_are_subgradients_of_convex_losses_at_kinks_too(loss, rng):
    y = targets(loss, rng, 50)[:, None]
    f = np.concatenate([y - 0.3, y, y + 0.3, 1 / y if np.all(y) else y], axis=1)
    g = np.linspace(-4, 4, 33)[:, None, None]
    below = loss.value(y, f) + loss.gradient(y, f) * (g - f) <= loss.value(y, g) + 1e-9
    assert bool(np.all(below)) or not loss.convex


@pytest.mark.spec("sangnier/M-1.2.1-f")
@pytest.mark.parametrize("loss", [loss for loss in EVERY if loss not in CUSTOM], ids=name)
def test_constants_bound_the_derivatives_and_are_sharp(loss, rng):
    """Finite constants are reached on a wide grid up to 1 %; infinite ones are exceeded at some row."""
    y = targets(loss, rng, 6)
    if isinstance(loss, CrossEntropy):
        y = np.round(y)
    elif loss not in MARGIN + RESPONSE:
        y = np.concatenate([y, 1e6 * np.abs(y), 1e-30 * np.abs(y)])
    y = y[:, None]
    f = np.concatenate([np.linspace(-60, 60, 4001), [-1e6, 1e6]])
    slopes = np.abs(loss.gradient(y, f))
    if np.isfinite(loss.lipschitz):
        assert slopes.max() <= loss.lipschitz * (1 + 1e-12)
        assert slopes.max() >= 0.99 * loss.lipschitz
    else:
        assert slopes.max() > 1e4
    bends = loss.curvature(y, f)
    if np.isfinite(loss.smoothness):
        assert np.abs(bends).max() <= loss.smoothness * (1 + 1e-9)
        assert np.abs(bends).max() >= 0.99 * loss.smoothness
    else:
        fine = np.linspace(-20, 20, 40_001)
        assert np.max(np.abs(np.diff(loss.gradient(y[::3], fine), axis=1)) / 1e-3) > 400
    finite = bends[np.isfinite(bends)]
    if loss.convex:
        assert finite.min() >= loss.strong_convexity
        assert finite.min() <= loss.strong_convexity + 1e-3
    else:
        assert finite.min() < -1e-3
        assert loss.strong_convexity == 0


@pytest.mark.spec("rudi/M2.2")
@pytest.mark.parametrize("loss", [loss for loss in EVERY if loss not in CUSTOM], ids=name)
def test_no_warning_and_no_nan_at_extreme_predictions(loss, rng):
    y, f = targets(loss, rng, 20)[:, None], np.array([-1e4, -800.0, 800.0, 1e4])
    for result in (loss.value(y, f), loss.gradient(y, f), loss.curvature(y, f)):
        assert not np.any(np.isnan(result))
    assert np.all(loss.value(y, f) > -np.inf)


def test_extreme_values_are_right_where_they_fit_in_a_float():
    y, f = np.array([1.0, -1.0]), np.array([-1e4, 1e4])
    assert_allclose(Logistic().value(y, f), 1e4)
    assert_allclose(Logistic().value(y, -f), 0, atol=1e-300)
    assert_allclose(Exponential().value(y, -f), 0)
    assert np.all(np.isinf(Exponential().value(y, f)))
    for law in ("normal", "logistic", "cauchy", "gumbel_l", "gumbel_r"):
        loss = CumulativeResponse(law)
        assert np.all(np.isfinite(loss.value(y, -f))), law
        assert_allclose(loss.value(y, -f), 0, atol=1e-4)
    assert_allclose(CumulativeResponse("normal").curvature(y, f), 1, rtol=1e-7)
    assert_allclose(CumulativeResponse("gumbel_l").value(1.0, np.array([-1e4])), 1e4)
    assert_allclose(CumulativeResponse("cauchy").value(1.0, np.array([-1e4])), np.log(np.pi * 1e4))


@pytest.mark.parametrize("loss", [loss for loss in EVERY if loss not in CUSTOM], ids=name)
def test_single_precision_stays_single(loss, rng):
    y, f = targets(loss, rng, 9), rng.standard_normal(9)
    single = y.astype(np.float32), f.astype(np.float32)
    for method in ("value", "gradient", "curvature"):
        result = getattr(loss, method)(*single)
        assert result.dtype == np.float32
        assert_allclose(result, getattr(loss, method)(y, f), rtol=1e-3, atol=1e-4)
    if loss.convex:
        assert loss.conjugate(single[0], loss.gradient(*single)).dtype == np.float32


@pytest.mark.spec("rudi/T2.1")
def test_derivatives_of_the_logistic_loss_of_labels_zero_and_one(rng):
    y, f, h = rng.integers(0, 2, 100).astype(float), rng.normal(scale=3.0, size=100), 1e-5
    loss = CrossEntropy()
    assert_allclose(loss.gradient(y, f), special.expit(f) - y)
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    assert_allclose(slope, special.expit(f) - y, atol=1e-9)
    bend = (loss.value(y, f + h) - 2 * loss.value(y, f) + loss.value(y, f - h)) / h**2
    assert_allclose(bend, special.expit(f) * special.expit(-f), atol=1e-4)
    assert_allclose(loss.curvature(y, f), special.expit(f) * special.expit(-f))
    assert np.all(loss.curvature(y, f) > 0)
    assert_allclose(loss.value(y, f), Logistic().value(2 * y - 1, f))


@pytest.mark.spec("rudi/M2.2")
def test_the_four_losses_of_the_formulas(rng):
    y, f = rng.choice([-1.0, 1.0], 50), np.append(rng.normal(size=49), 0.0)
    assert_allclose(Squared(halved=False).value(y, f), (y - f) ** 2)
    assert_allclose(Hinge().value(y, f), np.maximum(0, 1 - y * f))
    zero_one = (y == 1).astype(float)
    expected = zero_one * np.log(1 + np.exp(-f)) + (1 - zero_one) * np.log(1 + np.exp(f))
    assert_allclose(CrossEntropy().value(zero_one, f), expected)
    wrong = zero_one != (f >= 0)
    assert_allclose(ZeroOne(ties="positive").value(y, f), wrong)
    assert np.all(ZeroOne().value(y, f) >= wrong)
    with pytest.raises(NotImplementedError, match="for evaluation"):
        ZeroOne().gradient(y, f)
    with pytest.raises(NotImplementedError, match="for evaluation"):
        ZeroOne().curvature(y, f)


@pytest.mark.spec("sangnier/M-1.2.1-f")
def test_the_catalogue_has_the_values_of_its_formulas(rng):
    u, y, f = rng.standard_normal((3, 40))
    assert_allclose(ZeroOne().margin_value(u), u <= 0)
    assert_allclose(Exponential().margin_value(u), np.exp(-u))
    assert_allclose(Logistic().margin_value(u), np.log(1 + np.exp(-u)))
    assert_allclose(Logistic(base=2).margin_value(u), np.log2(1 + np.exp(-u)))
    assert_allclose(Hinge().margin_value(u), np.maximum(0, 1 - u))
    assert_allclose(Squared().value(y, f), (y - f) ** 2 / 2)
    assert_allclose(Squared(halved=False).value(y, f), (y - f) ** 2)
    assert_allclose(Absolute().value(y, f), np.abs(y - f))
    assert_allclose(EpsilonInsensitive(0.4).value(y, f), np.maximum(0, np.abs(y - f) - 0.4))


@pytest.mark.parametrize("loss", CONVEX, ids=name)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_convex_losses_lie_below_their_chords(loss, data):
    f, g = (data.draw(st.floats(-20, 20)) for _ in range(2))
    share = data.draw(st.floats(0, 1))
    y = targets(loss, np.random.default_rng(data.draw(st.integers(0, 50))), 4)
    between = loss.value(y, np.array(share * f + (1 - share) * g))
    chord = share * loss.value(y, np.array(f)) + (1 - share) * loss.value(y, np.array(g))
    assert np.all(between <= chord + 1e-9 * (1 + np.abs(chord)))


def test_flags_tell_which_losses_are_not_convex():
    named = [loss for loss in EVERY if not loss.convex]
    assert {type(loss).__name__ for loss in named} == {"Savage", "CumulativeResponse", "Tweedie"}
    assert [loss for loss in named if loss in BENT] == BENT
    assert CUSTOM[0].convex
    assert not CUSTOM[1].convex
