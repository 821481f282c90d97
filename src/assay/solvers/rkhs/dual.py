"""A point of the box-constrained dual: its gradient, the slopes of its rows, its gap and its intercept."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import SidedLoss
from assay.solvers.rkhs.loops import gap_sums, slopes
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
        self._floor = PERFECT * problem.loss_at_zero

    def standing(self) -> Standing:
        """Look at every row."""
        upper, lower = self.bounds
        high, low = slopes(self.gradient, self.nu, upper, lower, self.epsilon, self.rises, self.falls)
        violation, middle = max(high, -low, 0.0), 0.0
        if self.problem.fit_intercept:
            violation, middle = high - low, middle_of(high, low)
        target = self.problem.target
        gap, loss, norm = gap_sums(self.gradient, self.nu, upper, lower, target, self.epsilon, middle)
        scale = max(loss + 0.5 * norm, self._floor)
        return Standing(violation, middle, gap / scale if scale > 0 else 0.0)

    @property
    def value(self) -> float:
        """Σ(y ν − ε|ν|) − ½ νᵀKν."""
        nu = self.nu
        return float(0.5 * nu @ (self.problem.target + self.gradient) - self.epsilon * np.abs(nu).sum())

    @property
    def free(self) -> NDArray[np.bool_]:
        """Rows whose ν is inside its box; 0 is a corner of ε|ν| and so not inside."""
        inside = (self.nu < self.bounds[0]) & (self.nu > -self.bounds[1])
        return inside & (self.nu != 0) if self.epsilon > 0 else inside

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
            middle = float(np.clip(at.mean(), min(low, high), max(low, high)))
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
