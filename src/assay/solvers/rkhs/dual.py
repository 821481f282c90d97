"""A point of the box-constrained dual: its gradient, the slopes of its rows, its gap and its intercept."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.losses import SidedLoss
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.loops import dual_value, gap_sums, pair_steps, slopes
from assay.solvers.rkhs.problem import PERFECT, Array, RKHSProblem, box


class Standing(NamedTuple):
    """Where a dual point stands: the largest violation, the middle of the intercepts, the relative gap."""

    violation: float
    intercept: float
    gap: float


def middle_of(low: float, high: float) -> float:
    """The middle of an interval, its end where it has one only: rows of one class pull one way."""
    if np.isfinite(low) and np.isfinite(high):
        return 0.5 * (low + high)
    return low if np.isfinite(low) else high if np.isfinite(high) else 0.0


class BoxDual:
    """The dual of a problem with a sided loss, at a point that steps improve in place.

    `gradient` is y − Kν; `rises` and `falls` are the slopes of every row as of the last `standing`.
    """

    def __init__(
        self, problem: RKHSProblem[SidedLoss], nu: Array | None = None, gradient: Array | None = None
    ) -> None:
        self.problem, self.bounds = problem, np.stack(box(problem))
        self.epsilon = float(problem.loss.row_form.epsilon)
        n = len(problem.target)
        self.nu = np.zeros(n) if nu is None else nu
        self.gradient = problem.target.copy() if gradient is None else gradient
        self.rises, self.falls = np.empty(n), np.empty(n)
        _, loss_at_zero, _ = self._sums(problem.target, np.zeros(n), 0.0)
        self._floor = PERFECT * loss_at_zero

    def _sums(self, gradient: Array, nu: Array, intercept: float) -> tuple[float, float, float]:
        """Σ of the gaps of the rows, Σ of their losses and ‖h‖² where y − Kν is the gradient."""
        upper, lower = self.bounds
        return gap_sums(gradient, nu, upper, lower, self.problem.target, self.epsilon, intercept)

    def part(self, rows: NDArray[np.intp]) -> Self:
        """The dual on some of the rows, the others held where they are."""
        return type(self)(self.problem.take(rows), self.nu[rows], self.gradient[rows])

    def climb(
        self, gram: GramLines, diagonal: Array, limits: tuple[float, int], rule: int, draws: Any
    ) -> int:
        """Steps of pairs to a tolerance, at most so many; how many were made."""
        point = self.nu, self.gradient
        return int(pair_steps(gram.form, diagonal, self.bounds, self.epsilon, *point, limits, rule, draws)[0])

    def constraints(self, rows: NDArray[np.intp]) -> Array:
        """What sums of ν are fixed: a column of ones on the rows of each."""
        return np.ones((len(rows), int(self.problem.fit_intercept)))

    @property
    def has_corner(self) -> bool:
        """Whether the slope of a row jumps at ν = 0, between its bounds."""
        return self.epsilon > 0

    def standing(self) -> Standing:
        """Look at every row."""
        upper, lower = self.bounds
        high, low = slopes(self.gradient, self.nu, upper, lower, self.epsilon, self.rises, self.falls)
        violation, middle = max(high, -low, 0.0), 0.0
        if self.problem.fit_intercept:
            violation, middle = high - low, middle_of(high, low)
        gap, loss, norm = self._sums(self.gradient, self.nu, middle)
        scale = max(loss + 0.5 * norm, self._floor)
        return Standing(violation, middle, gap / scale if scale > 0 else 0.0)

    @property
    def rounding(self) -> float:
        """The relative gap that the last digits of the targets make, in rows between their bounds."""
        steep, norm = self.bounds.sum(axis=0), float(self.nu @ (self.problem.target - self.gradient))
        last = 4.0 * float(np.spacing(np.abs(self.problem.target).max(initial=0.0)))
        return last * float(steep @ self.free) / norm if norm > 0 else 0.0

    @property
    def value(self) -> float:
        """Σ(y ν − ε|ν|) − ½ νᵀKν."""
        return float(dual_value(self.gradient, self.nu, self.problem.target, self.epsilon))

    @property
    def free(self) -> NDArray[np.bool_]:
        """Rows whose ν is inside its box; 0 is a corner of ε|ν| and so not inside."""
        inside = (self.nu < self.bounds[0]) & (self.nu > -self.bounds[1])
        return inside & (self.nu != 0) if self.has_corner else inside

    def intercepts(self) -> tuple[float, float, float]:
        """The least and largest intercept that are as good, and the one to take.

        Free rows determine it, and their mean is taken; without any, it is the middle of the interval.
        """
        if not self.problem.fit_intercept:
            return 0.0, 0.0, 0.0
        _, middle, _ = self.standing()
        low, high, free = float(self.rises.max()), float(self.falls.min()), self.free
        if free.any():
            at = self.gradient[free] - self.epsilon * np.sign(self.nu[free])
            middle = min(max(float(at.mean()), min(low, high)), max(low, high))
        return min(low, middle), max(high, middle), middle

    def balance(self) -> None:
        """Take the rounding of Σν = 0 out of the free row of the most room."""
        excess = float(self.nu.sum())
        if self.problem.fit_intercept and excess != 0.0:
            room = np.minimum(self.bounds[0] - self.nu, self.nu + self.bounds[1])
            if self.epsilon > 0:
                room = np.minimum(room, np.abs(self.nu))
            widest = int(np.argmax(room))
            if room[widest] > 2 * abs(excess):
                self.nu[widest] -= excess
