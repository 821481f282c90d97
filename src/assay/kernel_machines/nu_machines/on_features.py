"""Machines that are told a share of their rows, on features of their kernel.

At a level, a margin ρ or half a width ε, the machine is one of a given cost, and the sum of its |ν| follows
the level: it rises with ρ and falls with ε. The sum asked for is met at one level, where it may jump, as more
rows may be at their corner than there are features: the machine is then between those on either side. With
the ends of a bracket of width δ for them their combination is optimal to δ times what their sums are off.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate
from assay.kernel_machines.approximation.machines import FitProblem, OnFeatures
from assay.kernel_machines.nu_machines.share import ROUNDED, described, share_claims
from assay.losses import EpsilonInsensitive, SidedLoss
from assay.rows import Block, Rows
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import MachineGap, MachineProblem, SidedEvidence
from assay.solvers.piecewise.machine import JudgedMachine, Machine, judge
from assay.solvers.rkhs.problem import Array

EXACT = 1e-11
"""Share of a sum that rounding makes."""

MOST_LEVELS = 80
SMALLEST_LEVEL = 1e-9

NEAR = 1e-6
"""Distance of a level from what its rows say, relative to the range of levels, that the search leaves."""


class AtLevel(NamedTuple):
    """A machine at a level, in the unit of the level; `mass` is the sum of |ν|."""

    level: float
    machine: Machine
    mass: float

    @classmethod
    def of(cls, level: float, machine: Machine, unit: float) -> AtLevel:
        """From a machine in another unit."""
        assert machine.dual is not None
        nu = unit * machine.dual
        found = machine._replace(coef=unit * machine.coef, intercept=unit * machine.intercept, dual=nu)
        return cls(level, found, float(np.abs(nu).sum()))

    def between(self, other: AtLevel, share: float) -> AtLevel:
        """The combination with so much of the other."""
        one, two = self.machine, other.machine
        assert one.dual is not None
        assert two.dual is not None
        machine = one._replace(
            coef=one.coef + share * (two.coef - one.coef),
            intercept=one.intercept + share * (two.intercept - one.intercept),
            dual=one.dual + share * (two.dual - one.dual),
            n_iter=one.n_iter + two.n_iter,
            converged=one.converged and two.converged,
        )
        mass = self.mass + share * (other.mass - self.mass)
        return AtLevel(self.level + share * (other.level - self.level), machine, mass)


def level_of_sum(
    solve: Callable[[float], AtLevel], less: AtLevel, more: AtLevel, total: float, *, allowed: float
) -> AtLevel:
    """The machine whose sum of |ν| is `total`, between one of less and one of more.

    Ends where the bracket proves the combination of its ends to a gap of `allowed`.
    """
    steps, halve, width = less.machine.n_iter + more.machine.n_iter, False, abs(more.level - less.level)
    for _ in range(MOST_LEVELS):
        share = (total - less.mass) / (more.mass - less.mass) if more.mass > less.mass else 0.5
        off = max(abs(less.mass - total), abs(more.mass - total))
        if min(total - less.mass, more.mass - total) <= EXACT * total or (
            abs(more.level - less.level) * off <= allowed
        ):
            break
        # Secants, and a half of the bracket wherever the last one has left more than that.
        middle = solve(
            less.level + (0.5 if halve else min(max(share, 0.02), 0.98)) * (more.level - less.level)
        )
        steps += middle.machine.n_iter
        if middle.mass < total:
            less = middle
        else:
            more = middle
        halve, width = abs(more.level - less.level) > 0.5 * width, abs(more.level - less.level)
    found = less.between(more, float(np.clip(share, 0.0, 1.0)))
    return found._replace(machine=found.machine._replace(n_iter=steps))


class SumsOfRows(NamedTuple):
    """Sums over rows: their weight, that of errors and of support vectors; the largest ‖φ‖² and |target|."""

    weight: float
    errors: float
    carried: float
    reach: float
    largest: float

    @staticmethod
    def merge(first: SumsOfRows, second: SumsOfRows) -> SumsOfRows:
        """Of two blocks together."""
        return SumsOfRows(
            first.weight + second.weight,
            first.errors + second.errors,
            first.carried + second.carried,
            max(first.reach, second.reach),
            max(first.largest, second.largest),
        )


def sums_of_rows(
    block: Block,
    machine: MachineLoss[SidedLoss],
    coef: Array,
    intercept: float,
    allowed: float,
    dual: NDArray | None = None,
) -> SumsOfRows:
    """The sums of one block; a loss of up to `allowed` is no error."""
    target, weight = machine.read(block)
    score = np.asarray(block.X @ coef, dtype=np.float64) + intercept
    beyond = machine.loss.value(target, score) > allowed
    carried = 0.0 if dual is None else float(weight @ (dual != 0))
    there = weight > 0
    squares = np.einsum("ij,ij->i", block.X, block.X, dtype=np.float64)[there]
    largest = float(np.abs(target[there]).max(initial=0.0))
    return SumsOfRows(
        float(weight.sum()), float(weight @ beyond), carried, float(squares.max(initial=0.0)), largest
    )


class ToldOnFeatures(NamedTuple):
    """A machine on features that was told a share; see `Told`."""

    judged: JudgedMachine
    coef: Array
    intercept: float
    rows: SumsOfRows
    sums: tuple[float, float]
    level: float = -1.0
    regression: bool = False

    @property
    def evidence(self) -> SidedEvidence:
        """Of the machine."""
        return self.judged.evidence

    @property
    def gap(self) -> MachineGap:
        """Of the machine at its cost."""
        return self.judged.gap

    @property
    def outside(self) -> float:
        """Of the machine."""
        return self.judged.outside

    @property
    def residual(self) -> float:
        """Of the machine."""
        return self.judged.residual

    @property
    def total(self) -> float:
        """What Σ|ν| must be, or may be at most in a tube of width 0."""
        return sum(self.sums)

    @property
    def misfit(self) -> float:
        """How much of ν must go, or come, for the sums to be met; without a tube less may do."""
        masses, wanted = self.judged.evidence.mass, np.array(self.sums)
        if not self.has_tube:
            wanted = np.minimum(wanted, masses.min())
        return float(np.abs(masses - wanted).sum())

    @property
    def has_tube(self) -> bool:
        """Whether what the share decides is not a tube of width 0."""
        return not self.regression or self.level > 0

    @property
    def relative_gap(self) -> float:
        """Duality gap over the objective; see `Told.relative_gap`."""
        evidence, moved = self.judged.evidence, self.misfit
        pull = evidence.pulls.sum(axis=0)
        primal = self.judged.gap.objective + self.level * self.total
        dual = -0.5 * (float(np.linalg.norm(pull)) + np.sqrt(self.rows.reach) * moved) ** 2
        if self.regression:  # Σ ν y from Σ ν r and the values
            at = float(evidence.slack.sum() + self.level * evidence.mass.sum() + self.coef @ pull)
            dual += at + self.intercept * float(evidence.mass @ [1.0, -1.0]) - self.rows.largest * moved
        return max(primal - dual, 0.0) / (abs(primal) or 1.0)

    def shares(self, tol: float) -> tuple[float, float]:
        """Shares of errors and of support vectors."""
        return self.rows.errors / self.rows.weight, self.rows.carried / self.rows.weight


class SharesOnFeatures(OnFeatures):
    """Gives machines that are told a share a fit on features of their kernel."""

    nu: float

    def _judged_on_features(self, mapped: Rows) -> Sequence[Any]:
        """The machines beside what they were told."""
        judged, told = super()._judged_on_features(mapped), []
        duals: Any = self._feature_duals()
        points = zip(self._feature_problems(), *self._feature_points(), duals, strict=True)
        for (problem, coef, intercept, dual), item in zip(points, judged, strict=True):
            at: Any = problem.machine, coef, float(intercept)
            rows = mapped.reduce(sums_of_rows, *at, 0.0, combine=SumsOfRows.merge, rowwise=(dual,))
            allowed = float(max(2 * np.sqrt(rows.reach * self.tol * item.gap.scale), 1e-6))
            beyond = mapped.reduce(sums_of_rows, *at, allowed, combine=SumsOfRows.merge)
            rows = rows._replace(errors=beyond.errors)
            told.append(self._told_on_features(ToldOnFeatures(item, coef, intercept, rows, (0.0, 0.0))))
        return told

    def _told_on_features(self, told: ToldOnFeatures) -> ToldOnFeatures:
        """With the sums that the share asks for: those of two classes by default."""
        half = self.nu * told.rows.weight / 2
        return told._replace(sums=(half, half))

    def _feature_numbers(self, judged: Sequence[Any]) -> dict[str, NDArray]:
        return {**super()._feature_numbers(judged), **described(judged, self.tol)}

    def _feature_claims(self, judged: Sequence[Any]) -> list[Certificate]:
        single = self.feature_coef_.dtype == np.float32
        how: Any = {"single": single, "source": self._source, "rounded": ROUNDED}
        return [*super()._feature_claims(judged), *share_claims(judged, self.nu, self.tol, **how)]


def margin_of_share(
    mapped: Rows, fit: FitProblem, problem: MachineProblem, share: float, tol: float
) -> AtLevel | None:
    """The machine of the margin ρ whose sum of |ν| is a share of the weight, in the unit of `SVC`.

    `problem` is that of the cost 1; None where no margin above 0 has so small a sum.
    """
    machine, nothing = problem.machine, np.zeros(mapped.shape[1])
    rows = mapped.reduce(sums_of_rows, machine, nothing, 0.0, 0.0, combine=SumsOfRows.merge)
    # From some margin on all rows are beyond it, and no more is to be had: the least one is taken.
    total = share * rows.weight * (1 - 4 * EXACT)

    def solve(level: float) -> AtLevel:
        costly = problem._replace(machine=machine._replace(factor=machine.factor / level))
        return AtLevel.of(level, fit(costly), level)

    # No value exceeds κ² Σα: at such a margin all rows are beyond it.
    start = max(rows.reach, 1e-300) * total
    less = more = solve(start)
    while more.mass < total:
        if more.level > start / SMALLEST_LEVEL:
            break
        less, more = more, solve(10 * more.level)
    while less.mass > total:
        if less.level < start * SMALLEST_LEVEL:
            return None
        more, less = less, solve(less.level / 10)
    scale = float(less.machine.coef @ less.machine.coef) or start
    found = level_of_sum(solve, less, more, total, allowed=0.01 * min(tol, 1e-6) * scale)
    rho = found.level
    return AtLevel.of(rho, found.machine, 1 / rho)


def tube_of_share(
    mapped: Rows, fit: FitProblem, problem: MachineProblem, share: float, tol: float
) -> AtLevel:
    """The machine of the tube whose sum of |ν| is a share of the costs, or of the tube of width 0.

    `problem` is that of a tube of width 0.
    """
    machine, nothing = problem.machine, np.zeros(mapped.shape[1])
    rows = mapped.reduce(sums_of_rows, machine, nothing, 0.0, 0.0, combine=SumsOfRows.merge)
    total = share * rows.weight

    def solve(level: float) -> AtLevel:
        tube = machine._replace(loss=EpsilonInsensitive(level))
        return AtLevel.of(level, fit(problem._replace(machine=tube)), 1.0)

    closed = solve(0.0)
    if closed.mass <= total * (1 + EXACT):
        return closed
    low, high = mapped.reduce(target_range, machine, combine=_wider)
    at, off = (low + high) / 2, (high - low) / 2
    flat = Machine(nothing, at, np.zeros(mapped.shape[0]), 0, True, [])
    (measured,) = judge(
        mapped, [problem], closed.machine.coef[None], np.array([closed.machine.intercept]), None
    )
    # No tube brings the objective of the share below that share of the one without.
    allowed = 0.01 * min(tol, 1e-6) * share * measured.gap.objective
    found = level_of_sum(solve, AtLevel(off, flat, 0.0), closed, total, allowed=allowed)
    # Rows on the edge of the tube tell its width to the last digit.
    coef, level, dual, *_ = found.machine
    assert dual is not None
    at_edge: NDArray = mapped.reduce(edge_sums, machine, coef, level, rowwise=(dual,))
    edge = float(at_edge[0] / at_edge[1]) if at_edge[1] > 0 else found.level
    return found._replace(level=edge) if abs(edge - found.level) <= NEAR * off else found


def edge_sums(
    block: Block, machine: MachineLoss[SidedLoss], coef: Array, intercept: float, dual: NDArray
) -> NDArray:
    """Sum of |residual| over the rows of a block whose ν is inside its box, and their number."""
    target, weight = machine.read(block)
    size, apart = np.abs(dual), np.abs(target - np.asarray(block.X @ coef, dtype=np.float64) - intercept)
    inside = (size > ROUNDED * weight) & (size < (1 - ROUNDED) * weight)
    return np.array([apart[inside].sum(), float(inside.sum())])


def target_range(block: Block, machine: MachineLoss[SidedLoss]) -> tuple[float, float]:
    """Least and largest target of the rows with a weight."""
    target, weight = machine.read(block)
    target = target[weight > 0]
    return float(target.min(initial=np.inf)), float(target.max(initial=-np.inf))


def _wider(one: tuple[float, float], two: tuple[float, float]) -> tuple[float, float]:
    return min(one[0], two[0]), max(one[1], two[1])


def largest_share(mapped: Rows, machine: MachineLoss[SidedLoss]) -> float:
    """Twice the share of the smaller of two classes."""
    sides: NDArray = mapped.reduce(side_weights, machine)
    return float(2 * sides.min() / sides.sum())


def side_weights(block: Block, machine: MachineLoss[SidedLoss]) -> NDArray:
    """Weight of the rows of either class."""
    target, weight = machine.read(block)
    return np.array([weight @ (target > 0), weight @ (target < 0)])
