"""Penalised likelihood fits along a grid of strengths, and the choice of one of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.linear.sparse.path import penalty_grid
from assay.models.path import PenaltyPath
from assay.models.selection import (
    Candidates,
    FoldTable,
    PathFit,
    checked_alphas,
)
from assay.parameters import refusal
from assay.solvers import Measured, RowRisk, row_duality_gap

Array = NDArray[np.float64]
LEAST_L1 = 1e-3
"""The share of an l1 norm that a squared norm is taken for, to begin its grid."""


@dataclass(frozen=True, eq=False)
class LikelihoodPath(PenaltyPath):
    """Penalised fits along a grid of strengths.

    Attributes
    ----------
    alphas : array of shape (n_strengths,)
        λ, on the scale of the mean, decreasing; also as `penalty_strengths`.
    coef : array of shape (n_strengths, n_scores, n_features)
    intercept : array of shape (n_strengths, n_scores)
    C : array of shape (n_strengths,)
        1/(λ n).
    risk : array of shape (n_strengths,)
        Mean loss, without the penalty.
    dual_gap : array of shape (n_strengths,)
        Duality gap relative to the risk without features; NaN where the loss has no dual.
    degrees_of_freedom : array of shape (n_strengths,)
        Non-zero coefficients with an l1 norm, tr H(H + λ)⁻¹ with a squared norm alone; with the intercepts.
    n_iter, converged : arrays of shape (n_strengths,)
    """

    C: Array
    risk: Array
    dual_gap: Array
    degrees_of_freedom: Array
    n_iter: NDArray
    converged: NDArray

    @property
    def penalty_strengths(self) -> Array:
        """λ, on the scale of the mean."""
        return np.asarray(self.alphas)

    def scores(self, X: Any) -> Array:
        """Scores of every model, shape (n_samples, n_strengths, n_scores)."""
        return self.predict(X)


FOLD_TOL = 1e-6
"""Tolerance of the fits of folds, which are compared by losses that differ by far more."""

Solve = Callable[[RowRisk, Array, Array | None], tuple[Array, Measured, int, bool]]


def likelihood_path(
    risk: RowRisk,
    null: Array,
    solve: Solve,
    strengths: Any,
    *,
    l1_ratio: float,
    n_strengths: int,
    eps: float,
    owner: str,
    evidence: bool = True,
) -> LikelihoodPath:
    """Fit at every strength of a grid, each from the solution of the one before.

    `solve(risk, l1, start)` gives a point, its measure, the iterations, and whether they ended by `tol`.
    Without `evidence`, duality gaps and degrees of freedom are NaN: they cost as much as the fits of a fold.
    """
    d = risk.data.shape[1]
    first = risk.with_alpha(np.zeros(d)).measure(null)
    grid = strength_grid(
        first, strengths, d, l1_ratio=l1_ratio, n_strengths=n_strengths, eps=eps, owner=owner
    )
    rows: list[tuple[Any, ...]] = []
    point: Array | None = None
    for strength in grid:
        here = risk.with_alpha(np.full(d, strength * (1 - l1_ratio)))
        l1 = np.full(d, strength * l1_ratio)
        point, found, n_iter, converged = solve(here, l1, point)
        gap = freedom = np.nan
        if evidence and here.loss.n_groups > 0:
            split = found.split or here.measure(point, split=True).split
            gap = row_duality_gap(here, point, found, split, l1=l1 if l1_ratio > 0 else None) / first.risk
        coef, intercept = here.split_point(point)
        if evidence:
            freedom = _degrees_of_freedom(here, point, coef, l1_ratio)
        rows.append((coef.T, intercept, found.risk, gap, freedom, n_iter, converged))
    coef, intercept, *rest = (np.array(column) for column in zip(*rows, strict=True))
    return LikelihoodPath(grid, coef, intercept, 1 / (grid * risk.weight), *rest)


def strength_grid(
    first: Measured, strengths: Any, d: int, *, l1_ratio: float, n_strengths: int, eps: float, owner: str
) -> Array:
    """Given strengths, or a grid down from the one beyond which the model `first` without features is best.

    A squared norm alone never leaves it exactly: its grid begins as if it were a little l1, and is longer.
    """
    if strengths is not None:
        return checked_alphas(strengths, owner)
    if not isinstance(n_strengths, (int, np.integer)) or n_strengths < 1:
        raise refusal(owner, "n_strengths", "an int at least 1", n_strengths)
    if not 0 < eps < 1:
        raise refusal(owner, "eps", "between 0 and 1", eps)
    steepest = float(np.abs(first.gradient[:d]).max(initial=0.0)) / max(l1_ratio, LEAST_L1)
    return penalty_grid(steepest, n_strengths, eps * (LEAST_L1 if l1_ratio < LEAST_L1 else 1.0), owner)


def _degrees_of_freedom(risk: RowRisk, point: Array, coef: Array, l1_ratio: float) -> float:
    if l1_ratio > 0:
        return float(np.count_nonzero(coef) + risk.fit_intercept * (coef.shape[1] - risk.loss.symmetric))
    hessian = risk.measure(point, hessian=True).hessian
    assert hessian is not None
    ridge = np.tile(risk.ridge[:, 0], risk.shape[1])
    kept = float(np.trace(np.linalg.solve(hessian, hessian - np.diag(ridge))))
    return kept - float(risk.loss.symmetric and risk.fit_intercept)


def likelihood_family(
    path: Callable[..., LikelihoodPath],
    row_loss: Callable[[NDArray, Array], Array],
    refit: Callable[[float], Any],
    parameter: str,
) -> Candidates:
    """What `select_parameter` asks of a likelihood: paths, losses of rows, twice the mean loss, and df.

    `path(table, strengths, evidence=...)` fits to a table.
    """

    def predictor(table: FoldTable, strengths: Array, share: float) -> Callable[[Any], Array]:
        return path(table, strengths, evidence=False).scores

    def fitted(table: FoldTable, strengths: Array) -> PathFit:
        found = path(table, strengths)
        return PathFit(2 * found.risk, found.degrees_of_freedom)

    return Candidates(
        lambda table: path(table, None, evidence=False).penalty_strengths,
        predictor,
        row_loss,
        refit,
        fitted,
        noise_std=1.0,
        parameter=parameter,
    )
