"""Sparse linear models along a path of penalties: one entry for every table and both losses."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows import MemoryRows
from assay.solvers.least_squares.moments import moments
from assay.solvers.sparse.design import Array, DenseDesign, Design, SparseDesign
from assay.solvers.sparse.groups import GroupProfile, GroupWalk
from assay.solvers.sparse.logistic import LogisticSubproblem
from assay.solvers.sparse.loops import ELASTIC_NET
from assay.solvers.sparse.moments import MomentWalk
from assay.solvers.sparse.subproblem import (
    ColumnSubproblem,
    GramSubproblem,
    Profile,
    Subproblem,
    WorkingSetTooLargeError,
)
from assay.solvers.sparse.working_set import PathWalk, Solved, Walked, Watch

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
    """A table, a loss and the shape of a penalty; the strength is left open.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or TableMoments
        TableMoments (of many more rows than columns) serve the squared loss.
    y : array of shape (n,) or None
        Real targets, or labels −1 and +1 for the logistic loss.
    weight : array of shape (n,) or None
    unit : Profile or GroupProfile
        The penalty at strength 1.
    loss : {"squared", "logistic"}
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
        unit: Profile | GroupProfile,
        *,
        loss: str = "squared",
        center: bool = True,
        n_strengths: int = 1,
    ) -> None:
        self.unit, self.loss = unit, loss
        self._source = (X, y, weight, center)
        self._stats = X if hasattr(X, "xx") else None
        n, d = (np.inf, 0) if self._stats is not None else X.shape
        if (
            loss == "squared"
            and self._stats is None
            and n >= 2 * d
            and d <= COLUMNS_A_WALK * (4 + n_strengths / 3)
        ):
            data = X.tocsr() if hasattr(X, "tocsr") else X
            self._stats = moments(MemoryRows(data, y, weight), center=center)
        self._design: Design | None = None

    def reshaped(self, unit: Profile) -> SparseProblem:
        """The same table under another penalty."""
        other = copy(self)
        other.unit = unit
        return other

    def _walk(self, *, tol: float, max_iter: int, history: bool, watch: Watch | None) -> Any:
        options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "history": history, "watch": watch}
        if isinstance(self.unit, GroupProfile):
            source = self._opened() if self._stats is None else self._stats
            return GroupWalk(source, self.unit, **options)
        if self._stats is not None:
            return MomentWalk(self._stats, self.unit, **options)
        design = self._opened()
        return PathWalk(design, self._subproblem(design), self.unit, **options)

    def _opened(self) -> Design:
        if self._design is None:
            X, y, weight, center = self._source
            target = (np.asarray(y) > 0).astype(np.float64) if self.loss == "logistic" else y
            kind = SparseDesign if sparse.issparse(X) else DenseDesign
            self._design = kind(X, target, weight, center=center)
        return self._design

    def _subproblem(self, design: Design) -> Subproblem:
        assert isinstance(self.unit, Profile)
        free = np.flatnonzero((self.unit.slope == 0) & (self.unit.curvature == 0))
        if self.loss == "logistic":
            return LogisticSubproblem(design, free)
        if isinstance(design, SparseDesign) and self.unit.kind == ELASTIC_NET:
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
        return float(self._walk(tol=1e-12, max_iter=1000, history=False, watch=None).critical_strength())

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
        options: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "history": history, "watch": watch}
        first = None if start is None else np.asarray(start, dtype=np.float64)
        grid = np.asarray(strengths, dtype=np.float64)
        walk = self._walk(**options)
        try:
            walked = walk.run(grid, first)
        except WorkingSetTooLargeError:
            X, y, weight, center = self._source
            if self.loss != "squared" or getattr(self.unit, "kind", None) != ELASTIC_NET:
                raise ValueError(
                    "The working set has grown past 8192 columns; use a stronger penalty."
                ) from None
            self._source = (sparse.csc_array(X), y, weight, center)
            self._design = None
            walk = self._walk(**options)
            walked = walk.run(grid, first)
        return _solutions(walked, self.unit.slope.size, walk.goal / tol)


def _solutions(walked: Walked, d: int, scale: float) -> SparseSolutions:
    solved: list[Solved] = walked.solved
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
    return SparseSolutions(
        coef,
        np.array([item.intercept for item in solved]),
        gap,
        np.divide(gap, scale, out=np.zeros_like(gap), where=gap > 0) if scale > 0 else gap * 0.0,
        np.array([item.n_iter for item in solved]),
        np.array([item.converged for item in solved]),
        np.array([item.loss for item in solved]),
        walked.corr,
        walked.trace,
    )


def elastic_net_profile(
    n_features: int, l1_ratio: float, feature_weights: NDArray | None = None, *, positive: bool = False
) -> Profile:
    """The penalty l1_ratio ‖w‖₁ + (1 − l1_ratio)/2 ‖w‖², entries weighted; ∞ excludes a feature."""
    weights = np.ones(n_features) if feature_weights is None else np.asarray(feature_weights, np.float64)
    excluded = np.isinf(weights)
    finite = np.where(excluded, 0.0, weights)
    return Profile(np.where(excluded, np.inf, l1_ratio * finite), (1 - l1_ratio) * finite, positive)


def sparse_path(
    X: Any,
    y: NDArray,
    weight: NDArray | None,
    strengths: NDArray,
    *,
    loss: str = "squared",
    l1_ratio: float = 1.0,
    feature_weights: NDArray | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 10_000,
    start: NDArray | None = None,
    positive: bool = False,
) -> SparseSolutions:
    """Minimise (1/W) Σ s ℓ(y, x·w + b) + α (ρ‖w‖₁ + (1 − ρ)/2 ‖w‖²) for a list of strengths α.

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
    loss : {"squared", "logistic"}
        ½(y − f)² or log(1 + e^{−yf}).
    l1_ratio : float
        ρ.
    feature_weights : array of shape (d,), optional
        Factor of the penalty of each feature; 0 leaves it free, ∞ excludes it.
    fit_intercept : bool
        Whether b, which is not penalised, is fitted.
    tol, max_iter
        Relative gap at which a strength is done, and most cycles (or Newton steps) for it.
    start : array of shape (d,), optional
        Coefficients to begin with.
    positive : bool
        Whether coefficients must not be negative.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.solvers import sparse_path
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> sparse_path(X, X @ [2.0, 0.1], None, [0.5, 0.1], tol=1e-12).coef
    array([[1. , 0. ],
           [1.8, 0. ]])
    """
    unit = elastic_net_profile(X.shape[1], l1_ratio, feature_weights, positive=positive)
    problem = SparseProblem(X, y, weight, unit, loss=loss, center=fit_intercept, n_strengths=len(strengths))
    return problem.solve(strengths, tol=tol, max_iter=max_iter, start=start)
