"""Losses and penalties: derivatives, conjugates, proximal maps, against numerical computations."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize

from assay.losses import Squared
from assay.penalties import SquaredNorm


def test_squared_loss_derivatives_are_those_of_finite_differences(rng):
    y, f = rng.standard_normal((2, 9))
    loss, h = Squared(), 1e-5
    slope = (loss.value(y, f + h) - loss.value(y, f - h)) / (2 * h)
    assert_allclose(loss.gradient(y, f), slope, atol=1e-9)
    assert_allclose(loss.curvature(y, f), 1)
    assert loss.smoothness == loss.strong_convexity == 1


def test_squared_loss_conjugate_is_the_supremum(rng):
    loss = Squared()
    for y, u in rng.standard_normal((5, 2)):
        best = optimize.minimize_scalar(lambda f, y=y, u=u: loss.value(y, f) - u * f)
        assert loss.conjugate(y, u) == pytest.approx(-best.fun)


def test_squared_norm_proximal_map_and_conjugate(rng):
    penalty, w = SquaredNorm(1.7), rng.standard_normal((3, 1))
    found = optimize.minimize(
        lambda v: np.sum((v - w[:, 0]) ** 2) / 2 + 0.4 * penalty.value(v[:, None])[0], np.zeros(3), tol=1e-12
    )
    assert_allclose(penalty.proximal(w, 0.4)[:, 0], found.x, atol=1e-6)
    u = rng.standard_normal((3, 1))
    best = optimize.minimize(lambda v: penalty.value(v[:, None])[0] - v @ u[:, 0], np.zeros(3), tol=1e-12)
    assert penalty.conjugate(u)[0] == pytest.approx(-best.fun)


def test_fenchel_young_gap_vanishes_only_at_the_gradient(rng):
    penalty = SquaredNorm(np.array([0.5, 2.0]))
    w, u = rng.standard_normal((2, 4, 2))
    direct = penalty.value(w) + penalty.conjugate(u) - np.sum(w * u, axis=0)
    assert_allclose(penalty.fenchel_young_gap(w, u), direct)
    assert np.all(penalty.fenchel_young_gap(w, u) > 0)
    assert_allclose(penalty.fenchel_young_gap(w, penalty.gradient(w)), 0)
