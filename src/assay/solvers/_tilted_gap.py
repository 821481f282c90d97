"""What certifies a machine with a two-sided loss: sums over its rows, and the duality gap."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows, add
from assay.solvers._least_squares import Array
from assay.solvers._tilted import Tilt, losses, sides, slopes

PERFECT = 1e-6
"""Share of the loss at zero below which an objective is rounding: gaps are relative to no less."""


class Evidence(NamedTuple):
    """Sums over the rows that the certificates of a tilted loss are computed from.

    Parts of ν above and below zero are kept apart, `[above, below]`, because either may be scaled down to
    make Σν vanish. `slack` are Σ ν(r ∓ ε), `squares` Σ ν²/(4 s slope), `mass` Σ|ν|, `pulls` Σ ν x,
    `signs` the weights of rows with r above, at and below zero, `total` and `wrong` the slopes of all rows
    and of those with tf ≤ 0.
    """

    loss: float
    loss_at_zero: float
    slack: Array
    squares: Array
    mass: Array
    pulls: Array
    signs: Array
    n_support: Array
    wrong: float
    total: float
    weight: float

    @property
    def sizes(self) -> Array:
        """Sizes of the two parts of Xᵀν, the unit of what is left when they cancel."""
        return np.abs(self.pulls).sum(axis=0)


def gather_tilted(
    data: Rows, tilt: Tilt, coef: Array, intercept: float, dual: NDArray | None = None
) -> tuple[Evidence, float]:
    """Evidence at coefficients and a dual point (the slopes themselves when None), and its box violation."""
    rowwise = () if dual is None else (dual,)
    found, outside = data.reduce(evidence_step, tilt, coef, intercept, combine=_add, rowwise=rowwise)
    return found, float(outside)


def _add(left: tuple[Evidence, float], right: tuple[Evidence, float]) -> tuple[Evidence, float]:
    return add(left[0], right[0]), max(left[1], right[1])


def evidence_step(
    block: Block, tilt: Tilt, coef: Array, intercept: float, dual: NDArray | None = None
) -> tuple[Evidence, float]:
    """Evidence of one block; `outside` is the largest violation of the box, relative to its width."""
    target, upper, lower = sides(block, tilt)
    residual = target - np.asarray(block.X @ coef, dtype=np.float64) - intercept
    outside, width = 0.0, upper + lower
    if dual is None:
        nu = slopes(residual, upper, lower, tilt)
    else:
        nu = dual.astype(np.float64)
        if not tilt.squared:
            beyond = np.maximum(np.maximum(nu - upper, -lower - nu), 0)
            outside = float(np.max(beyond / np.where(width > 0, width, 1.0), initial=0.0))
            nu = np.clip(nu, -lower, upper)
    parts = np.stack([np.maximum(nu, 0), np.maximum(-nu, 0)])
    gains = np.array([parts[0] @ (residual - tilt.epsilon), parts[1] @ (-residual - tilt.epsilon)])
    squares = np.zeros(2)
    if tilt.squared:
        for k, slope in enumerate((upper, lower)):
            squares[k] = np.sum(parts[k] ** 2 / np.where(slope > 0, 4 * slope, 1.0))
    pulls = np.asarray(block.X.T @ parts.T, dtype=np.float64).T * [[1.0], [-1.0]]
    weight = np.ones(len(nu)) if block.weight is None else block.weight.astype(np.float64)
    digits = 1e-9 if block.X.dtype == np.float64 else 1e-5
    noise = digits * (2 * np.abs(target) + np.abs(residual) + abs(intercept))
    near = np.abs(residual) <= noise
    signs = np.array([weight[mask].sum() for mask in (~near & (residual > 0), near, ~near & (residual < 0))])
    error = target * (target - residual) <= 0
    found = Evidence(
        float(losses(residual, upper, lower, tilt).sum()),
        float(losses(target, upper, lower, tilt).sum()),
        gains,
        squares,
        parts.sum(axis=1),
        pulls,
        signs,
        np.array([np.count_nonzero(nu > 0), np.count_nonzero(nu < 0)]),
        float(np.sum((upper + lower) * error)),
        float((upper + lower).sum()),
        float(weight.sum()),
    )
    return found, outside


class Gap(NamedTuple):
    """Objective and its distance from a lower bound, by a feasible dual point."""

    objective: float
    gap: float
    scale: float

    @property
    def relative(self) -> float:
        """The gap over the objective, or over what rounding leaves of its value at zero, if larger."""
        return self.gap / self.scale if self.scale > 0 else 0.0


def tilted_gap(
    evidence: Evidence, coef: Array, intercept: float, *, fit_intercept: bool, intercept_penalty: float
) -> Gap:
    """Duality gap of ½‖w‖² + ½ρb² + Σℓ: the dual is Σ(ν target − ℓ*(ν)) − ½‖Xᵀν‖² − (Σν)²/(2ρ).

    With a free intercept (ρ = 0) the dual point must have Σν = 0: the heavier of its sides is scaled down.
    """
    share = np.ones(2)
    up, down = evidence.mass
    free = fit_intercept and intercept_penalty == 0
    if free and max(up, down) > 0:
        share = np.array([min(1.0, down / up) if up > 0 else 1.0, min(1.0, up / down) if down > 0 else 1.0])
    pull = share @ evidence.pulls
    gap = evidence.loss - share @ evidence.slack + share**2 @ evidence.squares
    gap += np.sum((coef - pull) ** 2) / 2
    objective = evidence.loss + coef @ coef / 2
    if fit_intercept and intercept_penalty > 0:
        balance = share @ (evidence.mass * [1.0, -1.0])
        gap += (intercept_penalty * intercept - balance) ** 2 / (2 * intercept_penalty)
        objective += intercept_penalty * intercept**2 / 2
    floor = PERFECT * evidence.loss_at_zero
    return Gap(float(objective), max(float(gap), 0.0), max(float(objective), float(floor)))
