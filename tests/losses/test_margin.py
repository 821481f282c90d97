"""Margin losses: population minimisers, calibration, majorants."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from assay.losses import (
    CumulativeResponse,
    Exponential,
    Hinge,
    Logistic,
    Probit,
    Savage,
    SquaredHinge,
    ZeroOne,
)
from losses.catalogue import MARGIN

ETA = np.linspace(0.03, 0.97, 13)


@pytest.mark.spec("sangnier/M-1.2.1-f")
@pytest.mark.parametrize("loss", MARGIN, ids=repr)
def test_the_population_minimiser_minimises(loss):
    for eta in ETA[ETA != 0.5]:
        found = optimize.minimize_scalar(
            lambda u, eta=eta: float(loss.conditional_risk(eta, np.array(u))),
            bounds=(-9, 9),
            method="bounded",
            options={"xatol": 1e-10},
        )
        assert float(loss.minimiser(np.array(eta))) == pytest.approx(found.x, abs=1e-4)
        assert float(loss.minimal_risk(np.array(eta))) == pytest.approx(found.fun, abs=1e-7)
    assert float(loss.minimiser(np.array(0.5))) == 0
    assert_allclose(loss.minimal_risk(ETA), loss.conditional_risk(ETA, loss.minimiser(ETA)), atol=1e-12)


@pytest.mark.parametrize("loss", MARGIN, ids=repr)
def test_minimisers_at_certain_labels_are_documented_limits(loss):
    ends = loss.minimiser(np.array([0.0, 1.0]))
    bounded = isinstance(loss, (Hinge, SquaredHinge))
    assert_allclose(ends, [-1, 1] if bounded else [-np.inf, np.inf])
    assert_allclose(loss.minimal_risk(np.array([0.0, 1.0])), 0, atol=1e-15)


def test_ties_of_the_hinge_and_of_the_zero_one_loss():
    flat = Hinge().conditional_risk(0.5, np.linspace(-1, 1, 21))
    assert_allclose(flat, Hinge().minimal_risk(np.array(0.5)))
    for eta in (0.2, 0.9):
        best = ZeroOne().conditional_risk(eta, ZeroOne().minimiser(np.array(eta)))
        assert best == pytest.approx(float(ZeroOne().minimal_risk(np.array(eta))))
    assert ZeroOne().is_calibrated()


def test_a_score_of_zero_is_an_error_the_first_class_or_the_second():
    y, score = np.array([-1.0, 1.0, -1.0, 1.0]), np.array([0.0, 0.0, 0.2, 0.2])
    assert_allclose(ZeroOne().value(y, score), [1, 1, 1, 0])
    assert_allclose(ZeroOne(ties="negative").value(y, score), [0, 1, 1, 0])
    assert_allclose(ZeroOne(ties="positive").value(y, score), [1, 0, 1, 0])


@pytest.mark.spec("sangnier/X23-3")
def test_calibration_of_convex_losses_and_of_savage():
    for loss in MARGIN:
        assert loss.is_calibrated(), loss
        if loss.convex:
            assert float(loss.margin_derivative(np.array(0.0))) < 0
    assert not Savage().convex
    # The minimiser of the squared hinge is 2η − 1, that of Savage is log(η/(1 − η)).
    assert_allclose(SquaredHinge().minimiser(ETA), 2 * ETA - 1)
    assert_allclose(Savage().minimiser(ETA), np.log(ETA / (1 - ETA)))


class _Perceptron(Hinge):
    __slots__ = ()

    def margin_value(self, margin):
        return np.maximum(-margin, 0)


class _Backwards(Exponential):
    __slots__ = ()

    def margin_value(self, margin):
        return np.exp(margin)


class _Contrary(Savage):
    __slots__ = ()

    def minimiser(self, eta):
        return -eta


def test_the_calibration_check_can_fail():
    assert not _Perceptron().is_calibrated()
    assert not _Backwards().is_calibrated()
    assert not _Contrary().is_calibrated()


@pytest.mark.spec("peyre/M13", "rudi/T2.7")
def test_which_losses_majorise_the_zero_one_loss():
    u = np.linspace(-5, 5, 2001)
    error = ZeroOne().margin_value(u)
    for loss in [*MARGIN, ZeroOne()]:
        assert loss.majorises_zero_one == bool(np.all(loss.margin_value(u) >= error)), loss
    assert np.all(Hinge().margin_value(u) >= error)
    assert np.all(Logistic().margin_value(u) / np.log(2) >= error)


def test_probit_is_the_normal_cumulative_response(rng):
    y, f = rng.choice([-1.0, 1.0], 100), rng.normal(scale=4.0, size=100)
    loss, margin = CumulativeResponse("normal"), Probit()
    for method in ("value", "gradient", "curvature"):
        assert_allclose(getattr(loss, method)(y, f), getattr(margin, method)(y, f))
    assert_allclose(margin.value(y, f), -stats.norm.logcdf(y * f))
    assert_allclose(margin.conjugate(y, -y * 2.5), loss.conjugate(y, -y * 2.5))
