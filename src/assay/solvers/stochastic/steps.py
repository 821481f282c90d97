"""Steps of stochastic gradient descent: rules by name, and the curvature that they are measured in."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.losses import Loss
from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, MachineLoss, design, gram, scores
from assay.solvers.stochastic import loops

ADAPTIVE = ("adagrad", "rmsprop", "adadelta", "adam")
LEARNING_RATES = ("auto", "invscaling", "root", "optimal", "constant", *ADAPTIVE)

PILOT_ROWS = 4096
"""Rows from which the curvature is estimated."""

FLATTEST = 1e-4
"""Share of the largest curvature below which the curvature at a point is not trusted."""


class Rule(NamedTuple):
    """Steps: the number of the rule in the loops, η, the power of t, λ of "optimal", the unit of a slope."""

    code: int
    eta: float
    power: float = 0.0
    decay: float = 0.0
    unit: float = 1.0


def has_corners(loss: Loss, spread: float) -> bool:
    """Whether the slope turns within much less than the spread of the target, as Huber's for a small δ.

    Slopes at one point are then a poor dual point, and their mean over the descent is kept.
    """
    return loss.smoothness > loss.lipschitz / spread


def base_step(
    data: Rows,
    frame: Frame,
    machine: MachineLoss[Loss],
    spread: float,
    batch_size: int,
    point: Array | None = None,
) -> float:
    """1/L of the risk of a batch: its largest second moment times the curvature of the loss.

    The curvature is the largest there is or, given a point, that of the rows at this point. The slope of a
    loss with corners turns by at most its Lipschitz constant over the spread of the target.
    """
    loss = machine.loss

    def largest(*state: object) -> float:
        moments = data.head(PILOT_ROWS, pilot_moments, frame, *state)
        return float(np.linalg.eigvalsh(moments)[-1] + np.trace(moments) / batch_size)

    bound = min(loss.smoothness, loss.lipschitz / spread) * largest()
    if point is not None and not has_corners(loss, spread):
        bound = min(bound, max(largest(machine, point), FLATTEST * bound))
    return 1 / bound if bound > 0 else 1.0


def pilot_moments(
    block: Block, frame: Frame, machine: MachineLoss[Loss] | None = None, point: Array | None = None
) -> Array:
    """Second moments of the first rows in the coordinates of the frame.

    Given a loss, those of its curvature at a point.
    """
    weight = block.weights if block.weight is None or block.weight.any() else np.ones(block.X.shape[0])
    bend = weight
    if machine is not None and point is not None:
        assert block.y is not None
        bend = weight * machine.loss.curvature(machine.target(block.y), scores(block, frame, point))
    return gram(design(block, frame, np.sqrt(bend)), frame) / weight.sum()


def make_rule(
    rate: str, loss: Loss, step: float, spread: float, decay: float, eta0: float, *, noisy: bool = True
) -> Rule:
    """A rule by the name of its steps; those of "auto" fall where gradients are `noisy` or jump at corners.

    `step` is 1/L. Steps that adapt to coordinates are in units of the `spread` of the target, and their
    slopes in units of the slope that a row has at first.
    """
    falls = noisy or has_corners(loss, spread)
    unit = min(loss.lipschitz, spread * min(loss.smoothness, loss.lipschitz / spread))
    rules = {
        "constant": Rule(loops.FALLING, step / 2),
        "optimal": Rule(loops.OPTIMAL, step, decay=decay),
        "auto": Rule(loops.FALLING, step, 0.5 if falls else 0.0),
        "invscaling": Rule(loops.FALLING, step, 0.25),
        "root": Rule(loops.FALLING, step, 0.5),
        "adagrad": Rule(loops.ADAGRAD, 0.5 * spread, unit=unit),
        "rmsprop": Rule(loops.RMSPROP, 0.3 * spread, 0.5, unit=unit),
        "adadelta": Rule(loops.ADADELTA, spread, unit=unit),
        "adam": Rule(loops.ADAM, 0.3 * spread, 0.5, unit=unit),
    }
    rule = rules[rate]
    return rule._replace(eta=eta0 * rule.eta)
