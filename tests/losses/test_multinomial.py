"""Softmax losses: the stable logarithm, derivatives, both parametrisations, two classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import optimize, special

from assay.losses import Logistic, Multinomial, ReferenceMultinomial, logsumexp, softmax


def differences(function, f, h=1e-6):
    """Central differences along the last axis of f, last."""
    steps = h * np.eye(f.shape[-1])
    return np.stack([(function(f + step) - function(f - step)) / (2 * h) for step in steps], axis=-1)


@pytest.mark.spec("peyre/M17")
def test_logsumexp_and_softmax_are_stable_and_shift(rng):
    S = rng.standard_normal((5, 4))
    assert_allclose(logsumexp(S), np.log(np.exp(S).sum(axis=1)))
    assert_allclose(softmax(S, axis=0), np.exp(S) / np.exp(S).sum(axis=0))
    shift = rng.normal(scale=100.0, size=(5, 1))
    assert_allclose(logsumexp(S + shift), logsumexp(S) + shift[:, 0])
    assert_allclose(softmax(S + shift), softmax(S))
    wild = 1e4 * rng.choice([-1.0, 1.0], (50, 6)) + rng.standard_normal((50, 6))
    assert_allclose(logsumexp(wild, axis=1), special.logsumexp(wild, axis=1))
    assert_allclose(softmax(wild, axis=1), special.softmax(wild, axis=1))
    assert_allclose(softmax(wild).sum(axis=1), 1)
    assert logsumexp(np.array([-np.inf, -np.inf])) == -np.inf


@pytest.mark.spec("peyre/T9")
def test_the_gradient_of_logsumexp_is_softmax(rng):
    S = rng.normal(scale=3.0, size=(6, 4))
    assert_allclose(differences(logsumexp, S), softmax(S), atol=1e-8)


@pytest.mark.parametrize("loss", [Multinomial(), ReferenceMultinomial()], ids=repr)
@pytest.mark.parametrize("shares", [False, True])
def test_derivatives(loss, shares, rng):
    k = 3 if isinstance(loss, Multinomial) else 4
    f = rng.standard_normal((7, 3))
    y = rng.dirichlet(np.ones(k), 7) if shares else rng.integers(0, k, 7)
    assert_allclose(loss.gradient(y, f), differences(lambda g: loss.value(y, g), f), atol=1e-8)
    matrices = loss.curvature(y, f)
    assert_allclose(matrices, differences(lambda g: loss.gradient(y, g), f), atol=1e-8)
    v = rng.standard_normal((7, 3))
    assert_allclose(loss.curvature_product(y, f, v), np.einsum("nij,nj->ni", matrices, v))


def test_labels_are_one_hot_rows(rng):
    y, f = rng.integers(0, 3, 8), rng.standard_normal((8, 3))
    one_hot = np.eye(3)[y]
    assert_allclose(Multinomial().value(y, f), Multinomial().value(one_hot, f))
    assert_allclose(Multinomial().value(y, f), -np.log(softmax(f)[np.arange(8), y]))


def test_the_reference_form_is_the_full_form_of_differences(rng):
    y, f = rng.integers(0, 4, 8), rng.standard_normal((8, 4))
    reduced = f[:, :-1] - f[:, -1:]
    assert_allclose(ReferenceMultinomial().value(y, reduced), Multinomial().value(y, f))
    assert_allclose(ReferenceMultinomial().gradient(y, reduced), Multinomial().gradient(y, f)[:, :-1])


@pytest.mark.spec("peyre/T10")
def test_two_classes_are_the_binary_logistic_loss(rng):
    X, W = rng.standard_normal((20, 3)), rng.standard_normal((3, 2))
    y = rng.integers(0, 2, 20)
    binary = Logistic().value(2 * y - 1, X @ (W[:, 1] - W[:, 0]))
    assert_allclose(Multinomial().value(y, X @ W), binary)
    assert_allclose(softmax(X @ W)[:, 1], special.expit(X @ (W[:, 1] - W[:, 0])))
    difference = (X @ (W[:, 0] - W[:, 1]))[:, None]
    assert_allclose(ReferenceMultinomial().value(y, difference), binary)
    slope = Logistic().gradient(1 - 2 * y, difference[:, 0])
    assert_allclose(ReferenceMultinomial().gradient(y, difference)[:, 0], slope)


@pytest.mark.parametrize("loss", [Multinomial(), ReferenceMultinomial()], ids=repr)
def test_constants_bound_and_are_sharp(loss, rng):
    y, f = rng.integers(0, 3, 4000), rng.normal(scale=6.0, size=(4000, 3))
    f[0], y[0], f[1] = [-40, 40, 0], 0, [30, 30, -30]
    slopes = np.linalg.norm(loss.gradient(y, f), axis=1)
    assert 0.99 * loss.lipschitz <= slopes.max() <= loss.lipschitz * (1 + 1e-12)
    tops = np.linalg.eigvalsh(loss.curvature(y, f))
    assert 0.99 * loss.smoothness <= tops.max() <= loss.smoothness * (1 + 1e-12)
    assert tops.min() >= -1e-12


@pytest.mark.parametrize("loss", [Multinomial(), ReferenceMultinomial()], ids=repr)
def test_conjugates_are_suprema_and_infinite_outside(loss, rng):
    f, y = rng.standard_normal((4, 3)), np.array([0, 1, 2, 0])
    slope = loss.gradient(y, f)
    for row in range(4):
        target = y[row : row + 1]
        best = optimize.minimize(
            lambda g, row=row, target=target: loss.value(target, g[None])[0] - slope[row] @ g, np.zeros(3)
        )
        assert loss.conjugate(target, slope[row : row + 1])[0] == pytest.approx(-best.fun, abs=1e-7)
    assert np.isinf(loss.conjugate(np.array([0]), np.array([[0.5, 0.2, 0.1]]))[0])
    single = f.astype(np.float32)
    assert np.all(np.isfinite(loss.conjugate(y, loss.gradient(y, single))))


@given(st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3), st.integers(0, 2))
@settings(max_examples=30, deadline=None)
def test_fenchel_young_equality_at_the_gradient(scores, label):
    f, y = np.array([scores]), np.array([label])
    for loss in (Multinomial(), ReferenceMultinomial()):
        slope = loss.gradient(y, f)
        gap = loss.value(y, f) + loss.conjugate(y, slope) - np.sum(slope * f, axis=1)
        assert_allclose(gap, 0, atol=1e-9 * (1 + np.abs(f).max()))


def test_single_precision_and_extremes():
    y, f = np.array([0, 1]), np.array([[1e4, -1e4, 0], [1e4, -1e4, 0]], dtype=np.float32)
    for loss in (Multinomial(), ReferenceMultinomial()):
        for method in ("value", "gradient", "curvature"):
            result = getattr(loss, method)(y, f)
            assert result.dtype == np.float32
            assert np.all(np.isfinite(result))
    assert_allclose(Multinomial().value(y, f), [0, 2e4])


def test_the_constant_minimiser_has_the_class_shares():
    y, weight = np.array([0, 1, 1, 2]), np.array([1.0, 1.0, 1.0, 3.0])
    assert_allclose(softmax(Multinomial().constant_minimiser(y)), [0.25, 0.5, 0.25])
    assert_allclose(softmax(Multinomial().constant_minimiser(y, weight)), [1 / 6, 1 / 3, 1 / 2])
    assert_allclose(ReferenceMultinomial().constant_minimiser(y), np.log([1, 2]))
    assert Multinomial().constant_minimiser(np.array([0, 2]))[1] == -np.inf
    for loss, c in ((Multinomial(), 3), (ReferenceMultinomial(), 2)):
        best = np.broadcast_to(loss.constant_minimiser(y, weight), (4, c))
        assert_allclose(weight @ loss.gradient(y, best), 0, atol=1e-12)
