"""The (sparse) group lasso along a path: block coordinate descent on working sets of groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.penalties import GroupL2, SparseGroup
from assay.solvers.least_squares.moments import TableMoments
from assay.solvers.sparse.design import Array, Design
from assay.solvers.sparse.loops import DEPTH, copy_point, extrapolated, quadratic_value
from assay.solvers.sparse.subproblem import GramSubproblem
from assay.solvers.sparse.working_set import PathSolver, Solved, SolvedPath, Stop

# Block coordinate descent for the (sparse) group lasso on a Gram matrix: the hot loops.


FEWEST_GROUPS = 16
INNER_STEPS = 4
"""Proximal steps on a block before the next one."""


class Blocks(NamedTuple):
    """Groups of neighbouring coefficients, and their penalty entry ‖w‖₁ + Σ_g radius_g ‖w_g‖.

    `starts` are where the groups begin and the end of the last; `smoothness` the largest eigenvalue of the
    Gram matrix of each, of which 0 leaves a group out.
    """

    starts: Any
    smoothness: Any
    entry: float
    radius: Any


@compiled
def group_value(coef, blocks):  # type: ignore[no-untyped-def]
    """Penalty of the coefficients."""
    starts, entry, group = blocks.starts, blocks.entry, blocks.radius
    total = 0.0
    for g in range(group.size):
        square, size = 0.0, 0.0
        for j in range(starts[g], starts[g + 1]):
            square += coef[j] * coef[j]
            size += abs(coef[j])
        if square > 0.0:
            total += entry * size + group[g] * np.sqrt(square)
    return total


@compiled
def group_epoch(gram, coef, corr, blocks, old):  # type: ignore[no-untyped-def]
    """One cycle of proximal steps over the blocks; returns the largest change times its smoothness."""
    starts, smoothness, entry, group = blocks.starts, blocks.smoothness, blocks.entry, blocks.radius
    m, largest = coef.size, 0.0
    for g in range(group.size):
        first, last, bound = starts[g], starts[g + 1], smoothness[g]
        if bound <= 0.0:
            continue
        for step in range(INNER_STEPS):
            square = 0.0
            for j in range(first, last):
                old[j] = coef[j]
                value = coef[j] + corr[j] / bound
                size = abs(value) - entry / bound
                coef[j] = 0.0 if size <= 0.0 else (size if value > 0 else -size)
                square += coef[j] * coef[j]
            norm = np.sqrt(square)
            factor = max(1.0 - group[g] / (bound * norm), 0.0) if norm > 0.0 else 0.0
            moved = 0.0
            for j in range(first, last):
                coef[j] *= factor
                change = coef[j] - old[j]
                if change != 0.0:
                    moved += change * change
                    for k in range(m):
                        corr[k] -= change * gram[j, k]
            moved = bound * np.sqrt(moved)
            if step == 0:
                largest = max(largest, moved)
            if last - first == 1 or moved <= 0.1 * largest:
                break
    return largest


@compiled
def group_descent(gram, linear, square, coef, corr, blocks, target, max_epochs, trace):  # type: ignore[no-untyped-def]
    """Cycles with extrapolation until no block moves by more than the target; `coef`, `corr` in place."""
    m = coef.size
    past, past_corr = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m))
    weights, trial, trial_corr, old = np.empty(DEPTH), np.empty(m), np.empty(m), np.empty(m)
    stored = 0
    for epoch in range(max_epochs):
        moved = group_epoch(gram, coef, corr, blocks, old)
        copy_point(coef, corr, past[stored], past_corr[stored])
        stored += 1
        if stored == DEPTH + 1:
            stored = 0
            if extrapolated(past, past_corr, weights, trial, trial_corr):
                now = group_value(coef, blocks) + quadratic_value(coef, linear, corr)
                then = group_value(trial, blocks) + quadratic_value(trial, linear, trial_corr)
                if then < now:
                    copy_point(trial, trial_corr, coef, corr)
        if epoch < trace.size:
            value = 0.5 * square + quadratic_value(coef, linear, corr)
            trace[epoch] = value + group_value(coef, blocks)
        if moved <= target:
            return epoch + 1
    return max_epochs


class GroupForm(NamedTuple):
    """A penalty on groups at strength 1: l1_ratio ‖w‖₁ + (1 − l1_ratio) Σ_g ω_g ‖w_g‖."""

    groups: Any
    weights: Array
    l1_ratio: float

    def penalty(self, strength: float) -> SparseGroup:
        """The penalty at a strength."""
        return SparseGroup(strength, self.groups.labels, self.l1_ratio, self.weights)

    @property
    def slope(self) -> Array:
        """A slope per feature; only its size is asked for."""
        return np.ones(self.groups.labels.size)

    def members(self, group: int) -> NDArray:
        """Features of a group."""
        start = self.groups.starts[group]
        return self.groups.order[start : start + self.groups.sizes[group]]


def group_form(penalty: SparseGroup | GroupL2) -> GroupForm:
    """The form of a penalty on groups."""
    return GroupForm(penalty._partition, penalty.weights, float(getattr(penalty, "l1_ratio", 0.0)))


class _WholeTable:
    """The working set of a table known by its moments: all columns, always."""

    def __init__(self, stats: TableMoments, profile: GroupForm) -> None:
        self.which = profile.groups.order
        self.gram = np.ascontiguousarray(stats.xx[np.ix_(self.which, self.which)] / stats.weight)
        self._linear = stats.xy[:, 0] / stats.weight
        self._square = float(stats.yy[0] / stats.weight)
        self._stats = stats

    def check(self, coef: Array) -> tuple[Array, float]:
        """Correlations of all columns and ‖r‖², from the moments."""
        full = np.zeros(coef.size)
        full[self.which] = coef
        corr = self._linear - self._stats.xx @ full / self._stats.weight
        return corr, max(self._square - float(full @ (self._linear + corr)), 0.0)

    def intercept(self, coef: Array) -> float:
        """The intercept of coefficients."""
        return float(self._stats.mean_y[0] - self._stats.mean_x[self.which] @ coef)


class _WorkingSet(GramSubproblem):
    """Columns of the groups that have entered."""

    def check(self, coef: Array) -> tuple[Array, float]:
        """Correlations of all columns and ‖r‖², from the rows."""
        residual = self.point(coef).residual
        return self.design.correlations(residual[None])[0], float(residual @ residual)


class GroupPath(PathSolver):
    """A path of strengths of a penalty on groups; see `WorkingSetPath`."""

    def __init__(self, source: TableMoments | Design, profile: GroupForm, stop: Stop) -> None:
        super().__init__(stop)
        self.profile = profile
        self.entered: list[int] = []
        self.smoothness: list[float] = []
        self.set: Any
        if isinstance(source, Design):
            self.linear, self.square = source.linear, source.square
            self.set = _WorkingSet(source, np.empty(0, dtype=np.intp))
        else:
            self.linear, self.square = source.xy[:, 0] / source.weight, float(source.yy[0] / source.weight)
            self.set = _WholeTable(source, profile)
            self._enter(np.arange(profile.weights.size), columns=False)
        self.goal = stop.tol * self.square / 2

    def critical_strength(self) -> float:
        """The smallest strength at which every coefficient is zero."""
        return float(self.profile.penalty(1.0).critical_strength(self.linear))

    def _enter(self, new: NDArray, *, columns: bool = True) -> None:
        place = self.profile.groups.sizes[self.entered].sum() if self.entered else 0
        if columns:
            self.set.grow(np.concatenate([self.profile.members(int(g)) for g in new]))
        for g in new:
            size = int(self.profile.groups.sizes[g])
            block = self.set.gram[place : place + size, place : place + size]
            self.smoothness.append(float(np.linalg.eigvalsh(block)[-1]) * (1 + 1e-12))
            self.entered.append(int(g))
            place += size

    def run(self, strengths: Array, start: Array | None = None) -> SolvedPath:
        """Solve every strength, in the order given."""
        solved: list[Solved] = []
        full = np.zeros(self.linear.size) if start is None else start.astype(np.float64)
        corr = self.linear
        if start is not None:
            self._admit(full, corr, 0.0)
        for strength in strengths:
            item, corr = self._solve(float(strength), full, corr)
            full = np.zeros(self.linear.size)
            full[item.which] = item.coef
            solved.append(item)
        return SolvedPath(solved, corr, self.trace)

    def _admit(self, full: Array, corr: Array, strength: float) -> bool:
        """Let in groups with coefficients or in violation, the worst first; whether there was one."""
        if isinstance(self.set, _WholeTable):
            return False
        groups, ratio = self.profile.groups, self.profile.l1_ratio
        left = np.sign(corr) * np.maximum(np.abs(corr) - strength * ratio, 0.0)
        radius = strength * (1 - ratio) * np.where(np.isinf(self.profile.weights), 0.0, self.profile.weights)
        excess = np.where(np.isinf(self.profile.weights), -np.inf, groups.norms(left) - radius)
        held = groups.norms(full) > 0
        excess[held] = np.inf
        excess[self.entered] = -np.inf
        limit = max(FEWEST_GROUPS, len(self.entered), int(held.sum()))
        new = np.argsort(-excess, kind="stable")[:limit]
        new = np.sort(new[excess[new] > 1e-12 * max(strength, 1e-300)])
        if new.size:
            self._enter(new)
        return bool(new.size)

    def _solve(self, strength: float, full: Array, corr: Array) -> tuple[Solved, Array]:
        penalty = self.profile.penalty(strength)
        entry, used, stop = strength * self.profile.l1_ratio, 0, False
        target = 1e-3 * strength
        while True:
            self._admit(full, corr, strength)
            which = self.set.which
            coef = full[which]
            sizes = self.profile.groups.sizes[self.entered]
            radius = strength * (1 - self.profile.l1_ratio) * self.profile.weights[self.entered]
            bounds = np.where(np.isinf(self.profile.weights[self.entered]), 0.0, self.smoothness)
            trace, spent = self._room(used), 1
            if which.size:
                support, linear = np.flatnonzero(coef), self.linear[which]
                gram = np.ascontiguousarray(self.set.gram)
                inner, left = linear - coef[support] @ gram[support], self.max_iter - used
                starts = np.concatenate([[0], np.cumsum(sizes)])
                blocks = Blocks(starts, bounds, entry, np.where(np.isinf(radius), 0.0, radius))
                spent = group_descent(gram, linear, self.square, coef, inner, blocks, target, left, trace)
            elif self.history:
                trace[0] = self.square / 2
            used += int(spent)
            self._record(trace, int(spent))
            full = np.zeros(self.linear.size)
            full[which] = coef
            corr, residual = self.set.check(coef)
            # ½(1 − κ)²‖r‖² + Ω(w) + Ω*(κg) − κ wᵀg, with κ the largest multiple ≤ 1 that is feasible.
            reach = float(penalty.dual_norm(corr))
            share = 1.0 if reach <= strength else strength / reach
            gap = (1 - share) ** 2 * residual / 2 + float(penalty.fenchel_young_gap(full, share * corr))
            level = self.set.intercept(coef)
            if self.watch is not None:
                stop = self.watch(full, level)
            if gap <= self.goal or used >= self.max_iter or stop or target < 1e-15 * strength:
                break
            target *= 0.1
        support = np.flatnonzero(full)
        ends = gap, residual / 2, max(used, 1), bool(gap <= self.goal)
        return Solved(support, full[support], level, *ends), corr
