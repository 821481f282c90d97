"""Sparse least squares from second moments alone: every column is in the working set."""

from __future__ import annotations

import numpy as np

from assay.penalties.coordinates import ElasticNetForm, scaled
from assay.solvers.least_squares.moments import TableMoments
from assay.solvers.sparse.design import Array
from assay.solvers.sparse.loops import distance_to_stationarity, quadratic_gap
from assay.solvers.sparse.subproblem import Profile, solve_gram
from assay.solvers.sparse.working_set import (
    INNER_SHARE,
    ROUNDED_OFF,
    PathSolver,
    Solved,
    SolvedPath,
    Stop,
    predicted,
    scores_at_unit,
)


class MomentPath(PathSolver):
    """A path of strengths on the moments of a table; see `WorkingSetPath`."""

    def __init__(self, stats: TableMoments, unit: Profile, stop: Stop) -> None:
        super().__init__(stop)
        self.stats, self.unit = stats, unit
        self.convex = isinstance(unit, ElasticNetForm)
        self.gram = np.ascontiguousarray(stats.xx / stats.weight)
        self.linear = stats.xy[:, 0] / stats.weight
        self.square = float(stats.yy[0] / stats.weight)
        self.free = np.flatnonzero((unit.slope == 0) & (unit.curvature == 0))
        self.kept = np.flatnonzero(np.isfinite(unit.slope))
        self._inverse = np.linalg.pinv(self.gram[np.ix_(self.free, self.free)], hermitian=True)
        scale = self.square / 2 if self.convex else float(np.max(np.abs(self.linear), initial=0.0))
        self.goal = stop.tol * scale
        if self.kept.size < unit.slope.size:
            self.gram[:, ~np.isfinite(unit.slope)] = 0.0
            self.gram[~np.isfinite(unit.slope)] = 0.0

    def critical_strength(self) -> float:
        """The smallest strength at which every penalised coefficient is zero."""
        step = self._inverse @ self.linear[self.free]
        corr = self.linear - step @ self.gram[self.free]
        return float(np.max(scores_at_unit(corr, self.unit), initial=0.0))

    def run(self, strengths: Array, start: Array | None = None) -> SolvedPath:
        """Solve every strength, in the order given."""
        coef = np.zeros(self.linear.size) if start is None else start.astype(np.float64)
        before: Array | None = None
        solved: list[Solved] = []
        corr = self.linear
        for index, strength in enumerate(strengths):
            warm = coef.copy()
            if before is not None and strengths[index - 1] != strengths[index - 2]:
                step = (strength - strengths[index - 1]) / (strengths[index - 1] - strengths[index - 2])
                warm = predicted(coef, before, step) if self.convex else warm
            before, coef = (coef if index else None), warm
            item, corr = self._solve(float(strength), coef)
            solved.append(item)
        return SolvedPath(solved, corr, self.trace)

    def _solve(self, strength: float, coef: Array) -> tuple[Solved, Array]:
        profile = scaled(self.unit, strength)
        target, used, stop = INNER_SHARE * self.goal, 0, False
        while True:
            trace = self._room(used)
            spent, _ = solve_gram(
                self.gram, self.linear, self.square, coef, profile, target, self.max_iter - used, trace
            )
            used += spent
            self._record(trace, spent)
            gap, loss, corr = self._measure(coef, profile)
            if self.watch is not None:
                stop = self.watch(coef, self._intercept(coef))
            if gap <= self.goal or used >= self.max_iter or stop:
                break
            target = 0.1 * min(target, gap)
            if target < ROUNDED_OFF * self.goal:
                break
        which = np.flatnonzero(coef)
        level = self._intercept(coef)
        return Solved(which, coef[which], level, gap, loss, max(used, 1), bool(gap <= self.goal)), corr

    def _intercept(self, coef: Array) -> float:
        return float(self.stats.mean_y[0] - self.stats.mean_x @ coef)

    def _measure(self, coef: Array, profile: Profile) -> tuple[float, float, Array]:
        """Gap (or distance to stationarity), mean loss and correlations, afresh from the moments."""
        support = np.flatnonzero(coef)
        corr = self.linear - coef[support] @ self.gram[support]
        cross = self.square - float(self.linear @ coef)
        residual = max(cross - float(coef @ corr), 0.0)
        if not self.convex:
            return float(distance_to_stationarity(coef, corr, profile)), residual / 2, corr
        step = self._inverse @ corr[self.free]
        taken = float(step @ corr[self.free])
        seen = corr - step @ self.gram[self.free]
        seen[self.free] = 0.0
        cross -= float(step @ self.linear[self.free])
        gap, _ = quadratic_gap(cross, max(residual - taken, 0.0), coef, seen, profile)
        return float(gap) + max(taken, 0.0) / 2, residual / 2, corr
