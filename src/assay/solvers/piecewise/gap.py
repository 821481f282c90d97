"""What certifies a machine with a sided loss: sums over its rows, and the duality gap."""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.losses import Absolute, Huber, SidedLoss, mistaken
from assay.rows import Block, Rows, add
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import MachineLoss, row_targets

PERFECT, PERFECT_SINGLE = 1e-6, 1e-3
"""Share of the loss at zero below which an objective is rounding: gaps are relative to no less."""

ROUNDING = 1e-12
"""Size of what is left of a sum, relative to its terms, that is taken for rounding."""

NEGLIGIBLE = 1e-6
"""Share of the objective, or of the slopes that there could be, that no certificate measures."""


class SidedEvidence(NamedTuple):
    """Sums over the rows that the certificates of a sided loss are computed from.

    Parts of ν, the slope of each row in its residual, above and below zero are kept apart, `[above, below]`,
    because either may be scaled down to make Σν vanish. `slack` are Σ ν(r ∓ ε), `squares` the quadratic part
    of the conjugate, `mass` Σ|ν|, `pulls` Σ ν x, `reach` its size at slopes that are the sides, `signs` the
    weights of rows with r above, at and below zero, `total` and `wrong` the sides of all rows and of those
    that f gives to the wrong class; `floor` is what of the loss at zero is rounding: gaps are relative to no
    less.

    Coefficients are stored in the precision of the rows, which moves each score and so each ν. `loss_slip`,
    `mass_slip` and `pull_slip` say how far the loss, Σν and Σ ν x of a minimum may be moved by that.
    """

    loss: float
    loss_at_zero: float
    floor: float
    slack: Array
    squares: Array
    mass: Array
    pulls: Array
    reach: Array
    signs: Array
    n_support: Array
    wrong: float
    total: float
    weight: float
    loss_slip: float
    mass_slip: float
    pull_slip: Array

    @property
    def sizes(self) -> Array:
        """Sizes of the two parts of Xᵀν, the unit of what is left when they cancel.

        No less than a share of what they could be: rows that hardly pull need not cancel.
        """
        return np.maximum(np.abs(self.pulls).sum(axis=0), NEGLIGIBLE * self.reach)

    @property
    def imbalance(self) -> float:
        """|Σν| over Σ|ν|."""
        mass = float(self.mass.sum())
        return abs(float(self.mass[0] - self.mass[1])) / mass if mass > 0 else 0.0


Bounded: TypeAlias = "tuple[SidedEvidence, float]"
"""Evidence, and the largest violation of the box of ν, relative to its width."""


def gather_sided(
    data: Rows, machine: MachineLoss[SidedLoss], coef: Array, intercept: float, dual: NDArray | None = None
) -> Bounded:
    """Evidence at coefficients and a dual point (the slopes themselves when None), and its box violation."""
    rowwise = () if dual is None else (dual,)
    return data.reduce(evidence_step, machine, coef, intercept, combine=_combine, rowwise=rowwise)


def _combine(left: Bounded, right: Bounded) -> Bounded:
    return add(left[0], right[0]), max(left[1], right[1])


def evidence_step(
    block: Block, machine: MachineLoss[SidedLoss], coef: Array, intercept: float, dual: NDArray | None = None
) -> Bounded:
    """Evidence of one block, and the largest violation of the box, relative to its width."""
    loss, (target, weight) = machine.loss, machine.read(block)
    digits = 1e-9 if block.X.dtype == np.float64 else 1e-5
    score = np.asarray(block.X @ np.asarray(coef, dtype=np.float64)) + intercept
    residual, count = target - score, block.weights
    value, slope, _ = loss.terms(target, score.copy())
    side = weight * np.stack(loss.sides(target))
    width, nu, outside = side.sum(axis=0), -weight * slope, 0.0
    if dual is not None:
        nu = dual.astype(np.float64)
        if loss.cornered:
            beyond = np.maximum(nu - side[0], -side[1] - nu) / np.where(width > 0, width, 1.0)
            outside = max(float(beyond.max(initial=0.0)), 0.0)
            nu = np.clip(nu, -side[1], side[0])
    size = np.stack([np.maximum(nu, 0), np.maximum(-nu, 0)])
    sizes, eps = abs(block.X), float(np.finfo(block.X.dtype).eps)
    reach = np.asarray(sizes @ np.abs(coef), dtype=np.float64) + abs(intercept)
    loss_slip, nu_slip = slips((loss, target, weight), residual, nu, reach, eps)
    at_zero = float(weight @ loss.value(target, np.zeros(())))
    noise = digits * (2 * np.abs(target) + np.abs(residual) + abs(intercept) + 1e-3 * np.abs(target).mean())
    evidence = SidedEvidence(
        float(weight @ value),
        at_zero,
        at_zero * (PERFECT if block.X.dtype == np.float64 else PERFECT_SINGLE),
        np.einsum("ij,ij->i", size, np.stack([residual, -residual]) - loss.row_form.epsilon),
        loss.conjugate_square(size, side).sum(axis=1),
        size.sum(axis=1),
        np.asarray(block.X.T @ (size * [[1.0], [-1.0]]).T, dtype=np.float64).T,
        np.asarray(sizes.T @ width, dtype=np.float64),
        np.array([count @ (residual > noise), count @ (abs(residual) <= noise), count @ (residual < -noise)]),
        np.count_nonzero(size, axis=1),
        float(width @ mistaken(target, score)),
        float(width.sum()),
        float(count.sum()),
        loss_slip,
        float(nu_slip.sum()),
        np.asarray(sizes.T @ nu_slip, dtype=np.float64),
    )
    return evidence, outside


def slips(
    machine: tuple[SidedLoss, Array, Array], residual: Array, nu: Array, reach: Array, eps: float
) -> tuple[float, Array]:
    """How far numbers rounded to `eps` move the least loss, and the slope ν of each row.

    A score moves by `eps` of its `reach`, the sizes of its terms. At a minimum the first order cancels: what
    is left is quadratic. With corners ν is kept, and rounded itself, and what costs is the rows that the move
    may take across a corner.
    """
    (loss, target, weight), slip = machine, eps * reach
    if loss.cornered:
        crossing = np.abs(np.abs(residual) - loss.row_form.epsilon) <= slip
        width = weight * np.sum(loss.sides(target), axis=0)
        return float(width[crossing] @ slip[crossing]), eps * np.abs(nu)
    bend = weight * loss.terms(target, target - residual - np.copysign(slip, residual)).curvature
    return float(bend @ slip**2) / 2, bend * slip


def largest_ratio(left: Array, sizes: Array) -> float:
    """The largest of |left| over sizes; 0 where both vanish."""
    return float(np.divide(np.abs(left), sizes, out=np.zeros_like(left), where=sizes > 0).max(initial=0.0))


def balanced(mass: Array) -> Array:
    """Shares of the two sides of ν that make them weigh the same: the heavier one is scaled down.

    The sides are the last axis.
    """
    least, most = mass.min(axis=-1, keepdims=True), mass.max(axis=-1, keepdims=True)
    return np.where(most > 0, np.minimum(1.0, least / np.where(mass > 0, mass, 1.0)), 1.0)


class MachineGap(NamedTuple):
    """Objective and its distance from a lower bound, by a feasible dual point.

    `slip` is how far the rounding of stored coefficients alone may take the objective from its minimum.
    """

    objective: float
    gap: float
    scale: float
    slip: float = 0.0

    @property
    def relative(self) -> float:
        """The gap over the objective, or over what rounding leaves of its value at zero, if larger."""
        return self.gap / self.scale if self.scale > 0 else 0.0

    @property
    def room(self) -> float:
        """The relative gap that rounding explains."""
        return self.slip / self.scale if self.scale > 0 else 0.0


class MachineProblem(NamedTuple):
    """What a machine minimises: ½‖w‖² + ½ρb² + Σ s ℓ(y, w·x + b), where ρ = 0 leaves b free."""

    machine: MachineLoss[SidedLoss]
    fit_intercept: bool
    intercept_penalty: float

    def gap(self, evidence: SidedEvidence, coef: Array, intercept: float) -> MachineGap:
        """Duality gap: the dual is Σ(ν target − ℓ*(ν)) − ½‖Xᵀν‖² − (Σν)²/(2ρ).

        With a free intercept the dual point must have Σν = 0: the heavier of its sides is scaled down.
        """
        rho = self.intercept_penalty
        share = balanced(evidence.mass) if self.fit_intercept and rho == 0 else np.ones(2)
        pull = share @ evidence.pulls
        gap = evidence.loss - share @ evidence.slack + share**2 @ evidence.squares
        slip = evidence.pull_slip
        if abs(evidence.mass[0] - evidence.mass[1]) <= evidence.mass_slip:  # then so is what scaling moves
            slip = slip + (1 - share) @ np.abs(evidence.pulls)
        gap += infeasibility(coef, coef - pull, np.abs(coef) + evidence.sizes, slip)
        objective = evidence.loss + coef @ coef / 2
        if self.fit_intercept and rho > 0:
            balance = share @ (evidence.mass * [1.0, -1.0])
            gap += (rho * intercept - balance) ** 2 / (2 * rho)
            objective += rho * intercept**2 / 2
        scale = max(float(objective), evidence.floor)
        return MachineGap(float(objective), max(float(gap), 0.0), scale, evidence.loss_slip)

    def residual(self, evidence: SidedEvidence, coef: Array, intercept: float) -> float:
        """How far w is from Xᵀν and ρb from Σν, relative to the sizes of what cancels.

        What changes the objective by less than rounding does not count, however small what cancels is; nor
        does what the rounding of stored numbers explains.
        """
        rho, total = self.intercept_penalty, evidence.total
        scale = self.gap(evidence, coef, intercept).scale
        sizes = np.abs(coef) + evidence.sizes + NEGLIGIBLE**0.5 * np.sqrt(2 * scale)
        left = np.maximum(np.abs(coef - evidence.pulls.sum(axis=0)) - evidence.pull_slip, 0.0)
        residual = largest_ratio(left, sizes)
        if not self.fit_intercept:
            return residual
        steepest = total if self.machine.loss.cornered else np.sqrt(total) * np.sqrt(scale)
        mass = evidence.mass.sum() + rho * abs(intercept) + NEGLIGIBLE * steepest
        level = max(abs(rho * intercept - evidence.mass @ [1.0, -1.0]) - evidence.mass_slip, 0.0)
        return max(residual, level / mass if mass > 0 else 0.0)


def infeasibility(coef: Array, left: Array, sizes: Array, slip: Array) -> float:
    """½‖w − Xᵀν‖², what an infeasible dual point costs.

    A coordinate that is no more than the rounding of its sum counts by its product with w: the dual point is
    feasible for columns that differ from these by rounding. One within the `slip` of ν costs nothing: a ν
    that differs from this one by the rounding of the coefficients is feasible.
    """
    rounding = np.abs(left) <= ROUNDING * sizes
    cost = np.where(rounding, np.minimum(np.abs(coef * left), left**2 / 2), left**2 / 2)
    return float(np.sum(cost, where=np.abs(left) > slip))


# Huber regression with its scale charges a row s (σ + σ H(r/σ)), where H is twice Huber's loss.


def huber_step(
    block: Block, loss: Huber, coef: Array, intercept: float, sigma: float, dual: NDArray | None = None
) -> SidedEvidence:
    """Evidence of one block at ν = s H'(r/σ), or a ν handed in; `squares` are Σ ν²/(4s).

    At σ = 0 the loss is its limit 2ε Σ s|r|, and ν is 0 where none is handed in.
    """
    if dual is None and sigma == 0:
        dual = np.zeros(block.X.shape[0])
    if dual is not None:
        corner, _ = evidence_step(block, MachineLoss(Absolute(), 2 * loss.delta), coef, intercept, dual)
        weight, limit = block.weights, 2 * loss.delta * block.weights
        nu = np.clip(dual.astype(np.float64), -limit, limit)
        square = np.divide(nu**2, 4 * weight, out=np.zeros_like(nu), where=weight > 0)
        corner = corner._replace(squares=np.array([square[nu > 0].sum(), square[nu < 0].sum()]))
        if sigma == 0:
            return corner
        value = huber_step(block, loss, coef, intercept, sigma)
        return corner._replace(loss=value.loss, loss_at_zero=value.loss_at_zero, floor=value.floor)
    scaled = block._replace(y=row_targets(block) / sigma)
    unit, _ = evidence_step(scaled, MachineLoss(loss), coef / sigma, intercept / sigma)
    at_zero = sigma * (unit.weight + 2 * unit.loss_at_zero)
    return unit._replace(
        loss=sigma * (unit.weight + 2 * unit.loss),
        loss_at_zero=at_zero,
        floor=at_zero * (PERFECT if block.X.dtype == np.float64 else PERFECT_SINGLE),
        slack=2 * sigma * unit.slack,
        squares=2 * unit.squares,
        mass=2 * unit.mass,
        pulls=2 * unit.pulls,
        loss_slip=2 * sigma * unit.loss_slip,
        mass_slip=2 * unit.mass_slip,
        pull_slip=2 * unit.pull_slip,
    )


def huber_gap(
    evidence: SidedEvidence, coef: Array, sigma: float, *, alpha: float, fit_intercept: bool, fixed: bool
) -> MachineGap:
    """Objective and duality gap at a feasible dual point.

    Dual: Σ ν y − ‖Xᵀν‖²/(4α) over |ν| ≤ 2εs, Σν = 0 with an intercept, and Σ ν²/(4s) ≤ Σ s for a fitted σ, or
    less σ Σ ν²/(4s) and plus σ Σ s for a given one. The heavier side of ν is scaled down to balance them,
    then both for the last constraint. Without penalty the gap is that of a dual point with Xᵀν = 0.
    """
    share = balanced(evidence.mass) if fit_intercept and evidence.mass.min() > 0 else np.ones(2)
    size = float(share**2 @ evidence.squares)
    if not fixed and size > evidence.weight:
        share = share * np.sqrt(evidence.weight / size)
    gap = evidence.loss - float(share @ evidence.slack)
    if fixed:
        gap += sigma * float(share**2 @ evidence.squares) - sigma * evidence.weight
    pull = share @ evidence.pulls
    objective = evidence.loss + alpha * float(coef @ coef)
    left = float(np.sum((2 * alpha * coef - pull) ** 2))
    gap += left / (4 * alpha) if alpha > 0 else abs(float(coef @ pull))
    return MachineGap(objective, max(gap, 0.0), max(objective, evidence.floor))
