"""The compiled terms of losses: equal to formulas written with SciPy, by every way to ask for them."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import special

from assay.losses import (
    CrossEntropy,
    Exponential,
    Gamma,
    Logistic,
    NegativeBinomial,
    Poisson,
    Savage,
    Tweedie,
    row_form,
)
from losses.catalogue import EVERY, name, targets

COMPILED = [loss for loss in EVERY if loss.row_form is not None]


def logistic(u, y, scale):
    return (
        scale * np.logaddexp(0, -u),
        -scale * y * special.expit(-u),
        scale * special.expit(u) * special.expit(-u),
    )


def formulas(loss, y, f):
    """Value, slope and curvature in NumPy and SciPy; None for the losses that are tested elsewhere."""
    p, u = special.expit(f), y * f
    if isinstance(loss, Logistic):
        return logistic(u, y, 1 / np.log(2) if loss.base == 2 else 1.0)
    if isinstance(loss, CrossEntropy):
        return y * np.logaddexp(0, -f) + (1 - y) * np.logaddexp(0, f), p - y, p * (1 - p)
    if isinstance(loss, Exponential):
        return np.exp(-u), -y * np.exp(-u), np.exp(-u)
    if isinstance(loss, Savage):
        q = special.expit(-u)
        return q**2, -2 * y * q**2 * (1 - q), 2 * q**2 * (1 - q) * (2 - 3 * q)
    if isinstance(loss, Poisson) or loss == Tweedie(1.0):
        return np.exp(f) - y * f, np.exp(f) - y, np.exp(f)
    if isinstance(loss, Gamma) or loss == Tweedie(2.0):
        return y * np.exp(-f) + f, 1 - y * np.exp(-f), y * np.exp(-f)
    if isinstance(loss, NegativeBinomial):
        size, odds = 1 / loss.dispersion, loss.dispersion * np.exp(f)
        share = odds / (1 + odds)
        value = (y + size) * np.log1p(odds) - y * np.log(odds)
        return value, (y + size) * share - y, (y + size) * share * (1 - share)
    if isinstance(loss, Tweedie):
        a, b = 2 - loss.power, 1 - loss.power
        first, second = np.exp(a * f), y * np.exp(b * f)
        return first / a - second / b, first - second, a * first - b * second
    return None


@pytest.mark.parametrize("loss", COMPILED, ids=name)
def test_compiled_terms_are_those_of_the_formulas(loss, rng):
    y, f = targets(loss, rng, 300), rng.normal(scale=4.0, size=300)
    expected = formulas(loss, y, f)
    terms = loss.terms(y, f.copy())
    arrays = loss.value(y, f), loss.gradient(y, f), loss.curvature(y, f)
    for number, (term, array) in enumerate(zip(terms, arrays, strict=True)):
        assert_allclose(term, array, rtol=1e-13, atol=1e-14)
        if expected is not None:
            assert_allclose(term, expected[number], rtol=1e-11, atol=1e-13)


@pytest.mark.parametrize("loss", COMPILED, ids=name)
def test_arrays_broadcast_and_keep_their_precision(loss, rng):
    y, f = targets(loss, rng, 4)[:, None], rng.standard_normal((2, 1, 3)).astype(np.float32)
    whole = np.broadcast_arrays(y, f)
    for method in (loss.value, loss.gradient, loss.curvature):
        result = method(y.astype(np.float32), f)
        assert result.shape == (2, 4, 3)
        assert result.dtype == np.float32
        assert_allclose(result, method(*whole), rtol=1e-4, atol=1e-5)
        assert np.ndim(method(1, 0.5)) == 0
        assert method(1, f).dtype == np.float32


def test_small_losses_keep_their_digits():
    f = np.array([10.0, 20.0, 40.0, 300.0])
    assert_allclose(Logistic().value(1, f), np.log1p(np.exp(-f)), rtol=1e-12)
    assert_allclose(CrossEntropy().value(1, f), np.log1p(np.exp(-f)), rtol=1e-12)


@pytest.mark.parametrize("shape", [(1,), (1, 1), (3,), (2, 3)])
def test_a_loop_is_given_arrays_of_its_own(monkeypatch, shape):
    """One label for all scores: Numba asks whether arrays may be written to, and NumPy warns of views."""
    fill, seen = row_form.fill_row_terms, []

    def asked(form, *arrays):
        seen.extend(array.flags.writeable for array in arrays)
        fill(form, *arrays)

    monkeypatch.setattr(row_form, "fill_row_terms", asked)
    scores = np.linspace(-1.0, 1.0, int(np.prod(shape))).reshape(shape)
    value = row_form.row_terms_of_arrays(Logistic().row_form, 1.0, scores)[0]
    assert_allclose(value, np.logaddexp(0, -scores))
    assert seen == [True] * 4
