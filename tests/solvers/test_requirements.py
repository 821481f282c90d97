"""Solvers say what they need of a loss and refuse the rest in one sentence."""

from __future__ import annotations

import numpy as np
import pytest

from assay.families import Gamma, LinkedFamily, link
from assay.losses import Absolute, CrossEntropy, Hinge, Loss, Multinomial, Poisson, Quantile
from assay.parameters import ParameterError
from assay.rows import MemoryRows
from assay.solvers import RowRisk, fit_smooth, proximal_rows, requires


def risk(loss: Loss) -> RowRisk:
    data = MemoryRows(np.eye(4), np.array([0.0, 1.0, 1.0, 0.0]))
    return RowRisk(data, loss, np.full(4, 0.1), fit_intercept=True)


@pytest.mark.parametrize("loss", [Hinge(), Absolute(), Quantile(0.3)], ids=repr)
def test_steps_along_derivatives_refuse_losses_with_corners(loss):
    with pytest.raises(ParameterError, match=r"'loss' parameter of fit_smooth must be .* without corners"):
        fit_smooth(risk(loss), np.zeros((5, 1)), tol=1e-8, max_iter=5)
    with pytest.raises(ParameterError, match=r"proximal_rows must be a loss without corners\. Got"):
        proximal_rows(risk(loss), np.zeros((5, 1)), np.full(4, 0.1), tol=1e-8, max_iter=5)


def test_a_duality_gap_refuses_losses_without_a_dual_problem():
    loss = LinkedFamily(Gamma(), link("log"))
    with pytest.raises(ParameterError, match=r"proximal_rows must be a loss with a dual problem"):
        proximal_rows(risk(loss), np.zeros((5, 1)), np.full(4, 0.1), tol=1e-8, max_iter=5)


def test_what_fits_passes_and_every_lack_is_named():
    requires("a", CrossEntropy(), smooth=True, convex=True, scores=1)
    requires("b", Multinomial(3), smooth=True, scores=3)
    requires("c", Poisson())
    with pytest.raises(ParameterError, match=r"without corners and of 3 scores per row. Got Hinge"):
        requires("d", Hinge(), smooth=True, scores=3)
