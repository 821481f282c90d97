"""Sparse linear models along a path of penalties: one entry for every table and both losses."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.losses import Logistic, Loss, Squared
from assay.penalties import L1, GroupL2, SparseGroup
from assay.penalties.coordinates import CoordinateForm, ElasticNetForm, coordinate_form, scaled
from assay.rows import MemoryRows
from assay.solvers.least_squares.moments import TableMoments, moments
from assay.solvers.rounding import gap_rounding
from assay.solvers.sparse.design import Array, DenseDesign, Design, SparseDesign
from assay.solvers.sparse.groups import GroupForm, GroupPath, group_form
from assay.solvers.sparse.logistic import LogisticSubproblem
from assay.solvers.sparse.loops import distance_to_stationarity, quadratic_gap
from assay.solvers.sparse.subproblem import (
    ColumnSubproblem,
    GramSubproblem,
    Profile,
    Subproblem,
    WorkingSetTooLargeError,
    solve_gram,
)
from assay.solvers.sparse.working_set import (
    INNER_SHARE,
    ROUNDED_OFF,
    PathSolver,
    Solved,
    SolvedPath,
    Stop,
    Watch,
    WorkingSetPath,
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
            table, left = (self.gram, self.linear, self.square), self.max_iter - used
            spent, _ = solve_gram(*table, coef, profile, target, left, trace)
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


SQUARED = Squared()

COLUMNS_A_WALK = 25
"""A Gram matrix of so many columns costs about as much as one walk over the table."""

LARGEST_DENSE_RESULT = 2**24
"""Coefficients of a path beyond which they are returned as a CSR array."""


class SparseSolutions(NamedTuple):
    """Solutions along a path of strengths.

    Attributes
    ----------
    coef : array or CSR array of shape (n_strengths, d)
    intercept : array of shape (n_strengths,)
    dual_gap, relative_gap : arrays of shape (n_strengths,)
        Duality gap, and the same over the objective of the model without features. For MCP and SCAD, which
        have no dual, the distance to stationarity over the largest correlation with the target.
    n_iter : array of shape (n_strengths,)
        Cycles of coordinate descent, or Newton steps.
    converged : boolean array of shape (n_strengths,)
    loss : array of shape (n_strengths,)
        Mean loss.
    correlation : array of shape (d,)
        Correlation of each (centred) column with the residual at the last strength.
    history : array
        Objective after each cycle, if asked for.
    """

    coef: Any
    intercept: Array
    dual_gap: Array
    relative_gap: Array
    n_iter: NDArray
    converged: NDArray
    loss: Array
    correlation: Array
    history: Array


class SparseProblem:
    """A table, a loss and a penalty, whose strength is left open.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or TableMoments
        Moments (of many more rows than columns) serve the squared loss.
    y : array of shape (n,) or None
        Real targets, or labels −1 and +1 for the logistic loss.
    weight : array of shape (n,) or None
    penalty : L1, ElasticNet, PositiveElasticNet, MCP, SCAD, GroupL2 or SparseGroup
        The penalty at strength 1.
    loss : Squared or Logistic
    center : bool
        Whether an intercept is fitted.
    n_strengths : int
        About how many strengths will be asked for: many make it worth while to form XᵀX of a tall table.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        weight: NDArray | None,
        penalty: Any,
        *,
        loss: Loss = SQUARED,
        center: bool = True,
        n_strengths: int = 1,
    ) -> None:
        if not isinstance(loss, Squared | Logistic):
            raise TypeError(f"Sparse paths need the squared or the logistic loss. Got {loss!r} instead.")
        self._is_squared = isinstance(loss, Squared)
        self._source = (X, y, weight, center)
        self._stats = X if hasattr(X, "xx") else None
        n, d = (np.inf, X.xx.shape[0]) if self._stats is not None else X.shape
        self.unit = _form(penalty, d)
        tall = n >= 2 * d and d <= COLUMNS_A_WALK * (4 + n_strengths / 3)
        if self._is_squared and self._stats is None and tall:
            data = X.tocsr() if hasattr(X, "tocsr") else X
            self._stats = moments(MemoryRows(data, y, weight), center=center)
        self._design: Design | None = None

    def reshaped(self, penalty: Any) -> SparseProblem:
        """The same table under another penalty."""
        other = copy(self)
        other.unit = _form(penalty, self.unit.slope.size)
        return other

    def _solver(self, stop: Stop) -> PathSolver:
        if isinstance(self.unit, GroupForm):
            source = self._opened() if self._stats is None else self._stats
            return GroupPath(source, self.unit, stop)
        if self._stats is not None:
            return MomentPath(self._stats, self.unit, stop)
        design = self._opened()
        return WorkingSetPath(design, self._subproblem(design), self.unit, stop)

    def _opened(self) -> Design:
        if self._design is None:
            X, y, weight, center = self._source
            target = y if self._is_squared else (np.asarray(y) > 0).astype(np.float64)
            kind = SparseDesign if sparse.issparse(X) else DenseDesign
            self._design = kind(X, target, weight, center=center)
        return self._design

    def _subproblem(self, design: Design) -> Subproblem:
        assert not isinstance(self.unit, GroupForm)
        free = np.flatnonzero((self.unit.slope == 0) & (self.unit.curvature == 0))
        if not self._is_squared:
            return LogisticSubproblem(design, free)
        if isinstance(design, SparseDesign) and isinstance(self.unit, ElasticNetForm):
            return ColumnSubproblem(design, free)
        return GramSubproblem(design, free)

    @property
    def target_square(self) -> float:
        """Mean square of the target, about its mean with an intercept."""
        if self._stats is not None:
            return float(self._stats.yy[0] / self._stats.weight)
        return self._opened().square

    @property
    def linear(self) -> Array:
        """Correlation of each column with the target (with its probability under the logistic loss)."""
        if self._stats is not None:
            return self._stats.xy[:, 0] / self._stats.weight
        return self._opened().linear

    def norms(self, which: NDArray) -> Array:
        """Root mean squares of the listed columns, about their means with an intercept."""
        if self._stats is not None:
            return np.sqrt(np.maximum(np.diagonal(self._stats.xx)[which] / self._stats.weight, 0.0))
        design = self._opened()
        if isinstance(design, SparseDesign):
            return np.sqrt(design.column_squares[which])
        return np.linalg.norm(design.columns(which), axis=1)

    def critical_strength(self) -> float:
        """The smallest strength at which every penalised coefficient is zero (∞ without an l1 part)."""
        return self._solver(Stop(tol=1e-12, max_iter=1000)).critical_strength()

    def solve(
        self,
        strengths: NDArray,
        *,
        tol: float,
        max_iter: int,
        start: Any = None,
        history: bool = False,
        watch: Watch | None = None,
    ) -> SparseSolutions:
        """Solutions at the strengths, each until its gap is at most tol times the null objective."""
        stop = Stop(tol, max_iter, history, watch)
        first = None if start is None else np.asarray(start, dtype=np.float64)
        grid = np.asarray(strengths, dtype=np.float64)
        solver = self._solver(stop)
        try:
            path = solver.run(grid, first)
        except WorkingSetTooLargeError:
            X, y, weight, center = self._source
            if not self._is_squared or not isinstance(self.unit, ElasticNetForm):
                message = "The working set has grown past 8192 columns; use a stronger penalty."
                raise ValueError(message) from None
            self._source, self._design = (sparse.csc_array(X), y, weight, center), None
            solver = self._solver(stop)
            path = solver.run(grid, first)
        reached = _solutions(path, self.unit.slope.size, solver.goal / tol)
        done = reached.converged | self._is_rounding(grid, path.solved, reached, tol)
        return reached._replace(converged=done)

    def _is_rounding(
        self, grid: NDArray, solved: list[Solved], reached: SparseSolutions, tol: float
    ) -> NDArray:
        """Which strengths rounding alone keeps from their tolerance: no further cycle would help there."""
        rounded = np.zeros(grid.size, dtype=bool)
        if not self._is_squared or not isinstance(self.unit, ElasticNetForm | GroupForm):
            return rounded
        null, eps = self.target_square, float(np.finfo(np.float64).eps)
        for place in np.flatnonzero(~reached.converged):
            norms, coef = self.norms(solved[place].which), np.abs(solved[place].coef)
            size, column = float(norms @ coef) + np.sqrt(null), float(norms.max(initial=0.0))
            room = gap_rounding(column, size, float(grid[place]), null, eps)
            rounded[place] = reached.relative_gap[place] <= tol + room
        return rounded


def _form(penalty: Any, n_features: int) -> CoordinateForm | GroupForm:
    if isinstance(penalty, GroupL2 | SparseGroup):
        return group_form(penalty)
    return coordinate_form(penalty, n_features)


def _solutions(path: SolvedPath, d: int, scale: float) -> SparseSolutions:
    solved = path.solved
    gap = np.array([item.gap for item in solved])
    if len(solved) * d > LARGEST_DENSE_RESULT:
        indptr = np.concatenate([[0], np.cumsum([item.which.size for item in solved])])
        values = np.concatenate([item.coef for item in solved])
        places = np.concatenate([item.which for item in solved])
        coef: Any = sparse.csr_array((values, places, indptr), shape=(len(solved), d))
        coef.sort_indices()
    else:
        coef = np.zeros((len(solved), d))
        for row, item in zip(coef, solved, strict=True):
            row[item.which] = item.coef
    relative = np.divide(gap, scale, out=np.zeros_like(gap), where=gap > 0) if scale > 0 else gap * 0.0
    names = "intercept", "n_iter", "converged", "loss"
    level, n_iter, done, loss = (np.array([getattr(item, name) for item in solved]) for name in names)
    return SparseSolutions(coef, level, gap, relative, n_iter, done, loss, path.corr, path.trace)


def sparse_path(
    X: Any,
    y: NDArray,
    weight: NDArray | None,
    strengths: NDArray,
    *,
    loss: Loss = SQUARED,
    penalty: Any = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    start: NDArray | None = None,
) -> SparseSolutions:
    """Minimise (1/W) Σ s ℓ(y, x·w + b) + α Ω(w) for a list of strengths α.

    Coordinate descent on working sets with warm starts from one strength to the next; the logistic loss by
    proximal Newton steps. Stops when the duality gap is at most `tol` times the objective without features.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    y : array of shape (n,)
        Targets; labels −1 and +1 for the logistic loss.
    weight : array of shape (n,) or None
        s; W is its sum.
    strengths : array of positive numbers
        α, best in decreasing order.
    loss : Squared or Logistic, default=Squared()
        ½(y − f)² or log(1 + e^{−yf}).
    penalty : L1, ElasticNet, MCP, SCAD, GroupL2 or SparseGroup, optional
        Ω, at strength 1; the l1 norm by default.
    fit_intercept : bool
        Whether b, which is not penalised, is fitted.
    tol, max_iter
        Relative gap at which a strength is done, and most cycles (or Newton steps) for it.
    start : array of shape (d,), optional
        Coefficients to begin with.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.solvers import sparse_path
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> sparse_path(X, X @ [2.0, 0.1], None, [0.5, 0.1], tol=1e-12).coef
    array([[1. , 0. ],
           [1.8, 0. ]])
    """
    unit = L1(1.0) if penalty is None else penalty
    problem = SparseProblem(X, y, weight, unit, loss=loss, center=fit_intercept, n_strengths=len(strengths))
    return problem.solve(strengths, tol=tol, max_iter=max_iter, start=start)
