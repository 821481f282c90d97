"""Lasso and elastic net along a path: working sets, batched checks, gap-safe screening, warm starts.

Each strength is solved on a working set of columns. Several strengths in a row are then checked on all
columns by one walk over the table (a matrix product in place of as many matrix-vector products). The columns
that violate a condition enter the working set and the strengths that failed are solved again.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.penalties.coordinates import ElasticNetForm, restricted, scaled
from assay.solvers.sparse.design import Array, Design, SparseDesign
from assay.solvers.sparse.loops import distance_to_stationarity
from assay.solvers.sparse.subproblem import Point, Profile, Subproblem

LARGEST_BATCH = 8
FEWEST_NEWCOMERS = 100
CAUTION = 0.1
LONGEST_TRACE = 2**20
"""Cycles whose objectives are kept."""

INNER_SHARE = 0.3
"""Share of the tolerance that the working set may use up."""

ROUNDED_OFF = 1e-6
"""Share of the tolerance below which a better solution on the working set no longer helps: rounding rules."""

Watch = Callable[[Array, float], bool]


class Solved(NamedTuple):
    """One strength: support, coefficients there, intercept, absolute gap, mean loss, epochs, success."""

    which: NDArray
    coef: Array
    intercept: float
    gap: float
    loss: float
    n_iter: int
    converged: bool


class SolvedPath(NamedTuple):
    """A path: the strengths in order, the correlations at the last one, the objective after each epoch."""

    solved: list[Solved]
    corr: Array
    trace: Array


class Stop(NamedTuple):
    """When to stop, and who is told on the way.

    `tol` is the gap over the objective of the model without features, `max_iter` the most cycles, both of a
    strength; `history` keeps the objective after every cycle; `watch` is told coefficients and intercept
    after each round, and true asks to stop.
    """

    tol: float
    max_iter: int
    history: bool = False
    watch: Watch | None = None


class PathSolver(ABC):
    """What the solvers of a path share: the rule to stop, and the objective after each cycle."""

    goal: float

    def __init__(self, stop: Stop) -> None:
        self.max_iter, self.history, self.watch = stop.max_iter, stop.history, stop.watch
        self._pieces: list[Array] = []

    @property
    def trace(self) -> Array:
        """The objective after each cycle, of all strengths."""
        return np.concatenate(self._pieces) if self._pieces else np.empty(0)

    def _room(self, used: int) -> Array:
        """Where the loops write the objective of the cycles that are left, as many as are worth keeping."""
        return np.empty(min(self.max_iter - used, LONGEST_TRACE) if self.history else 0)

    def _record(self, trace: Array, spent: int) -> None:
        if self.history:
            self._pieces.append(trace[:spent])

    @abstractmethod
    def critical_strength(self) -> float:
        """The smallest strength at which every penalised coefficient is zero."""

    @abstractmethod
    def run(self, strengths: Array, start: Array | None = None) -> SolvedPath:
        """Solve every strength, in the order given."""


def scores_at_unit(corr: Array, unit: Profile) -> Array:
    """Correlation of each column over its slope at strength 1; columns that cannot enter score −∞."""
    pull = corr if unit.positive else np.abs(corr)
    scores = np.full(pull.size, -np.inf)
    np.divide(pull, unit.slope, out=scores, where=(unit.slope > 0) & np.isfinite(unit.slope))
    scores[(unit.slope == 0) & (unit.curvature > 0)] = np.inf
    return scores


def predicted(coef: Array, before: Array, step: float) -> Array:
    """Go on along the line of two solutions, as far as signs allow; zeros stay."""
    moving = (coef != 0) & (before != 0)
    moved = coef + step * (coef - before)
    return np.where(moving, np.where(moved * coef > 0, moved, 0.0), coef)


class _State:
    """What a strength carries between rounds."""

    def __init__(self, strength: float, unit: Profile, target: float) -> None:
        self.strength, self.profile, self.target = strength, scaled(unit, strength), target
        self.coef, self.n_iter = np.empty(0), 0
        self.gap, self.loss = np.inf, np.nan
        self.done = self.converged = False
        self.alive: NDArray | None = None


class WorkingSetPath(PathSolver):
    """A path of strengths on one table, on a working set of columns that grows along it."""

    def __init__(self, design: Design, subproblem: Subproblem, unit: Profile, stop: Stop) -> None:
        super().__init__(stop)
        self.design, self.subproblem, self.unit = design, subproblem, unit
        self.convex = isinstance(unit, ElasticNetForm)
        steepest = float(np.max(np.abs(design.linear), initial=0.0))
        self.goal = stop.tol * (subproblem.null if self.convex else steepest)
        self._squares: Array | None = None
        self.stopped = False

    def run(self, strengths: Array, start: Array | None = None) -> SolvedPath:
        """Solve every strength, in the order given (decreasing is fast)."""
        if start is not None:
            support = np.flatnonzero(start)
            self.subproblem.grow(support[~self.subproblem.inside[support]])
        warm = self._warm(start)
        corr, previous = self._first_correlations(warm), np.inf
        solved: list[Solved] = []
        earlier: _State | None = None
        latest: _State | None = None
        position = 0
        while position < len(strengths):
            ahead = self._admit(strengths[position:], corr, previous).tolist()
            batch = [_State(strength, self.unit, INNER_SHARE * self.goal) for strength in ahead]
            for state in batch:
                state.coef = self._padded(self._predicted(state, latest, earlier, warm))
                earlier, latest = latest, state
                self._improve(state)
            corr = self._settle(batch, corr)
            solved.extend(self._finished(state) for state in batch)
            position, previous = position + len(batch), batch[-1].strength
        return SolvedPath(solved, corr, self.trace)

    def _warm(self, start: Array | None) -> Array:
        if start is None:
            return np.zeros(self.subproblem.which.size)
        return np.array(start[self.subproblem.which], dtype=np.float64)

    def _first_correlations(self, warm: Array) -> Array:
        """Correlations at the start; with unpenalised columns, at the fit of those alone."""
        n_free = self.subproblem.free.size
        if n_free and not warm.any():
            profile = restricted(self.unit, self.subproblem.which)
            profile.slope[n_free:], profile.curvature[n_free:] = np.inf, 0.0
            self.subproblem.solve(warm, profile, INNER_SHARE * self.goal, self.max_iter, np.empty(0))
        if not warm.any():
            return self.design.linear.copy()
        return self.design.correlations(self.subproblem.point(warm).residual[None])[0]

    def critical_strength(self) -> float:
        """The smallest strength at which every penalised coefficient is zero."""
        scores = scores_at_unit(self._first_correlations(self._warm(None)), self.unit)
        return float(np.max(scores, initial=0.0))

    @property
    def _limit(self) -> int:
        return max(FEWEST_NEWCOMERS, self.subproblem.which.size)

    def _newcomers(self, scores: Array, threshold: float) -> NDArray:
        limit = self._limit
        new = np.flatnonzero((scores > threshold) & ~self.subproblem.inside)
        if new.size > limit:
            new = np.sort(new[np.argpartition(-scores[new], limit)[:limit]])
        return new

    def _admit(self, ahead: Array, corr: Array, previous: float) -> Array:
        """Choose the next strengths to solve together and let in what the sequential strong rule names.

        Correlations move by at most the change of the strength under the strong rule; most move by less, and
        those that are missed are found by the check.
        """
        scores = scores_at_unit(corr, self.unit)
        previous = min(previous, float(np.max(scores[np.isfinite(scores)], initial=0.0)))
        size = 1 if isinstance(self.design, SparseDesign) else min(LARGEST_BATCH, len(ahead))
        thresholds, few = ahead[:size] - CAUTION * (previous - ahead[:size]), max(32, self._limit // 8)
        outside = scores[~self.subproblem.inside]
        while size > 1 and np.count_nonzero(outside > thresholds[size - 1]) > few:
            size -= 1
        new = self._newcomers(scores, thresholds[size - 1])
        if new.size:
            self.subproblem.grow(new)
        return ahead[:size]

    def _padded(self, coef: Array) -> Array:
        return np.pad(coef, (0, self.subproblem.which.size - coef.size))

    def _predicted(self, state: _State, latest: _State | None, earlier: _State | None, warm: Array) -> Array:
        """Solutions are piecewise linear in the strength: go on along the line of the last two."""
        if latest is None:
            return warm
        # A repair lets columns in and pads only the strengths that it solves again: either may be shorter.
        coef = self._padded(latest.coef)
        if earlier is None or earlier.strength == latest.strength or not self.convex:
            return coef
        step = (state.strength - latest.strength) / (latest.strength - earlier.strength)
        return predicted(coef, self._padded(earlier.coef), step)

    def _improve(self, state: _State) -> None:
        """Solve a strength on the working set."""
        state.coef = self._padded(state.coef)
        left, trace = self.max_iter - state.n_iter, self._room(state.n_iter)
        profile = restricted(state.profile, self.subproblem.which)
        used, _ = self.subproblem.solve(state.coef, profile, state.target, left, trace)
        state.n_iter += used
        self._record(trace, used)
        if self.watch is not None and not self.stopped:
            self.stopped = self.watch(self._full(state), self.subproblem.intercept(state.coef))

    def _full(self, state: _State) -> Array:
        full = np.zeros(self.design.shape[1])
        full[self.subproblem.which[: state.coef.size]] = state.coef
        return full

    def _settle(self, batch: list[_State], stale: Array) -> Array:
        """Check the batch on all columns, and repair until every strength is proved or out of epochs."""
        pending, last = list(batch), stale
        while pending:
            points = [self.subproblem.point(state.coef) for state in pending]
            alive = self._alive(pending)
            corrs = self.design.correlations(np.stack([point.residual for point in points]), alive)
            entering = [
                self._judge(state, point, corr, alive)
                for state, point, corr in zip(pending, points, corrs, strict=True)
            ]
            if pending[-1] is batch[-1]:
                if alive is None:
                    last = corrs[-1]
                else:
                    last[alive] = corrs[-1]
            pending = [state for state in pending if not state.done]
            new = np.unique(np.concatenate(entering))
            if new.size:
                self.subproblem.grow(new)
            for state in pending:
                self._improve(state)
        return last

    def _judge(self, state: _State, point: Point, corr: Array, alive: NDArray | None) -> NDArray:
        """Measure a strength on the columns; returns those that should enter the working set for it."""
        profile, full = state.profile, self._full(state)
        if alive is not None:
            profile, full = restricted(profile, alive), full[alive]
        state.loss = point.loss
        if self.convex:
            state.gap, scale = self.subproblem.gap(point, full, corr, profile)
            if alive is None and state.gap > self.goal and corr.size > 4 * self.subproblem.which.size:
                state.alive = self._survivors(state, scale * corr)
        else:
            state.gap = float(distance_to_stationarity(full, corr, profile))
        state.converged = state.gap <= self.goal
        spent = state.n_iter >= self.max_iter or self.stopped
        if alive is not None and state.converged and not spent:
            state.alive = None  # the proof is completed by a look at all columns
            return np.empty(0, dtype=np.intp)
        state.done = state.converged or spent
        if state.done:
            return np.empty(0, dtype=np.intp)
        scores = np.full(self.design.shape[1], -np.inf)
        unit = self.unit if alive is None else restricted(self.unit, alive)
        scores[slice(None) if alive is None else alive] = scores_at_unit(corr, unit)
        new = self._newcomers(scores, state.strength)
        if not new.size:
            state.target = 0.1 * min(state.target, state.gap)
            state.done = state.target < ROUNDED_OFF * self.goal
        return new

    def _survivors(self, state: _State, dual: Array) -> NDArray:
        """Columns that the gap does not prove inactive: |x_jᵀu| + ‖x_j‖ √(2 gap) ≥ a_j (gap-safe sphere)."""
        if self._squares is None:
            self._squares = np.sqrt(np.maximum(self.design.squares(), 0.0))
        reach = np.abs(dual) + self._squares * np.sqrt(2 * state.gap / self.subproblem.strong_concavity)
        return np.flatnonzero((reach >= state.profile.slope) | self.subproblem.inside)

    def _alive(self, pending: list[_State]) -> NDArray | None:
        """Columns that any pending strength still needs; None for all of them."""
        if any(state.alive is None for state in pending):
            return None
        union = np.unique(np.concatenate([state.alive for state in pending if state.alive is not None]))
        return union if union.size < self.design.shape[1] // 4 else None

    def _finished(self, state: _State) -> Solved:
        support = np.flatnonzero(state.coef)
        which, coef = self.subproblem.which[support], state.coef[support]
        ends = state.gap, state.loss, max(state.n_iter, 1), state.converged
        return Solved(which, coef, self.subproblem.intercept(state.coef), *ends)
