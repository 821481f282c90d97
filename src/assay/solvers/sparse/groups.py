"""The (sparse) group lasso along a path: block coordinate descent on working sets of groups."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.penalties import SparseGroup
from assay.penalties._groups import Partition, group_weights, partition
from assay.solvers.least_squares.moments import TableMoments
from assay.solvers.sparse.design import Array, Design
from assay.solvers.sparse.loops import DEPTH, extrapolation
from assay.solvers.sparse.subproblem import GramSubproblem
from assay.solvers.sparse.working_set import Solved, Walked, Watch

# Block coordinate descent for the (sparse) group lasso on a Gram matrix: the hot loops.


INNER_STEPS = 4
"""Proximal steps on a block before the next one."""


@compiled
def group_value(coef, starts, entry, group):  # type: ignore[no-untyped-def]
    """Penalty entry ‖w‖₁ + Σ_g group_g ‖w_g‖."""
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
def group_epoch(gram, coef, corr, starts, smoothness, entry, group, old):  # type: ignore[no-untyped-def]
    """One cycle of proximal steps over the blocks; returns the largest change times its smoothness."""
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
def group_descent(  # type: ignore[no-untyped-def]
    gram, linear, square, coef, corr, starts, smoothness, entry, group, target, max_epochs, trace
):
    """Cycles with extrapolation until no block moves by more than the target; `coef`, `corr` in place."""
    m = coef.size
    past, past_corr = np.empty((DEPTH + 1, m)), np.empty((DEPTH + 1, m))
    weights, trial, trial_corr, old = np.empty(DEPTH), np.empty(m), np.empty(m), np.empty(m)
    stored = 0
    for epoch in range(max_epochs):
        moved = group_epoch(gram, coef, corr, starts, smoothness, entry, group, old)
        past[stored], past_corr[stored] = coef, corr
        stored += 1
        if stored == DEPTH + 1:
            stored = 0
            if extrapolation(past, weights):
                trial[:] = 0.0
                trial_corr[:] = 0.0
                for a in range(DEPTH):
                    for j in range(m):
                        trial[j] += weights[a] * past[a + 1, j]
                        trial_corr[j] += weights[a] * past_corr[a + 1, j]
                now = -0.5 * np.sum(coef * (linear + corr)) + group_value(coef, starts, entry, group)
                then = -0.5 * np.sum(trial * (linear + trial_corr))
                then += group_value(trial, starts, entry, group)
                if then < now:
                    coef[:] = trial
                    corr[:] = trial_corr
        if epoch < trace.size:
            value = 0.5 * square - 0.5 * np.sum(coef * (linear + corr))
            trace[epoch] = value + group_value(coef, starts, entry, group)
        if moved <= target:
            return epoch + 1
    return max_epochs


FEWEST_GROUPS = 16


class GroupProfile(NamedTuple):
    """The penalty at strength 1: l1_ratio ‖w‖₁ + (1 − l1_ratio) Σ_g ω_g ‖w_g‖."""

    groups: Partition
    labels: NDArray
    weights: Array
    l1_ratio: float

    def penalty(self, strength: float) -> SparseGroup:
        """The penalty at a strength."""
        return SparseGroup(strength, self.labels, self.l1_ratio, self.weights)

    @property
    def slope(self) -> Array:
        """A slope a feature; only its size is asked for."""
        return np.ones(self.labels.size)

    def members(self, group: int) -> NDArray:
        """Features of a group."""
        start = self.groups.starts[group]
        return self.groups.order[start : start + self.groups.sizes[group]]


def group_profile(owner: str, labels: Any, weights: Any, l1_ratio: float) -> GroupProfile:
    """Read groups and their weights (√size by default)."""
    found = partition(owner, labels)
    return GroupProfile(found, found.labels, group_weights(owner, weights, found), l1_ratio)


class _WholeTable:
    """The working set of a table known by its moments: all columns, always."""

    def __init__(self, stats: TableMoments, profile: GroupProfile) -> None:
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

    @property
    def gram(self) -> Array:
        """The Gram matrix of the working set."""
        return self._gram[: self.which.size, : self.which.size]

    def check(self, coef: Array) -> tuple[Array, float]:
        """Correlations of all columns and ‖r‖², from the rows."""
        residual = self.point(coef).residual
        return self.design.correlations(residual[None])[0], float(residual @ residual)


class GroupWalk:
    """The walk down a path of strengths; see `PathWalk`."""

    def __init__(
        self,
        source: TableMoments | Design,
        profile: GroupProfile,
        *,
        tol: float,
        max_iter: int,
        history: bool = False,
        watch: Watch | None = None,
    ) -> None:
        self.profile = profile
        self.max_iter, self.history, self.watch = max_iter, history, watch
        self.trace: list[Array] = []
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
        self.goal = tol * self.square / 2

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

    def run(self, strengths: Array, start: Array | None = None) -> Walked:
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
        return Walked(solved, corr, np.concatenate(self.trace) if self.trace else np.empty(0))

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
            trace = np.empty(self.max_iter - used if self.history else 0)
            spent = 1
            if which.size:
                support = np.flatnonzero(coef)
                inner = self.linear[which] - coef[support] @ self.set.gram[support]
                starts = np.concatenate([[0], np.cumsum(sizes)])
                spent = group_descent(
                    self.set.gram, self.linear[which], self.square, coef, inner, starts, bounds, entry,
                    np.where(np.isinf(radius), 0.0, radius), target, self.max_iter - used, trace,
                )  # fmt: skip
            elif self.history:
                trace[0] = self.square / 2
            used += int(spent)
            if self.history:
                self.trace.append(trace[:spent])
            full = np.zeros(self.linear.size)
            full[which] = coef
            corr, residual = self.set.check(coef)
            gap = group_gap(penalty, full, corr, residual)
            level = self.set.intercept(coef)
            if self.watch is not None:
                stop = self.watch(full, level)
            if gap <= self.goal or used >= self.max_iter or stop or target < 1e-15 * strength:
                break
            target *= 0.1
        support = np.flatnonzero(full)
        found = (level, gap, residual / 2, max(used, 1), bool(gap <= self.goal))
        return Solved(support, full[support], *found), corr


def group_gap(penalty: SparseGroup, coef: Array, corr: Array, residual: float) -> float:
    """½(1 − κ)²‖r‖² + Ω(w) + Ω*(κg) − κ wᵀg, with κ the largest multiple ≤ 1 that is feasible."""
    reach = float(penalty.dual_norm(corr))
    scale = 1.0 if reach <= penalty.strength else penalty.strength / reach
    return (1 - scale) ** 2 * residual / 2 + float(penalty.fenchel_young_gap(coef, scale * corr))
