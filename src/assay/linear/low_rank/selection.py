"""Every rank of a reduced-rank regression, and the choice of one by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay import parameters
from assay.linear.least_squares.engine import Array, CentredTriangle
from assay.linear.low_rank.solver import LowRankProblem, by_proximal_gradient, by_rank, by_splitting
from assay.models.path import PenaltyPath
from assay.models.selection import Candidates, FoldTable, Selection, select_parameter, squared_row_loss

POSITIVE = parameters.array(
    "a list of positive numbers",
    lambda values: values.ndim == 1 and values.size > 0 and bool(np.all(values > 0)),
)


@dataclass(frozen=True, eq=False)
class RankPath(PenaltyPath):
    """Reduced-rank fits from simple to rich.

    Attributes
    ----------
    alphas : array of shape (k,) or None
        Penalties, decreasing; None for method="rank".
    coef : array of shape (k, n_targets, n_features)
    intercept : array of shape (k, n_targets)
    ranks : array of int of shape (k,)
        Rank of each matrix: 1, 2, … for method="rank".
    training_error : array of shape (k,)
        Σ s ‖Γ^½ (y − ŷ)‖²/Σ s.
    n_selected : array of int of shape (k,)
        Rows (of the axis) that are not zero.
    """

    ranks: NDArray[np.int64]
    training_error: Array
    n_selected: NDArray[np.int64]


def rank_path(
    problem: LowRankProblem, known: CentredTriangle, method: str, alphas: Any, tol: float, max_iter: int
) -> RankPath:
    """All ranks by one decomposition, or all penalties one after the other with warm starts."""
    coefs: list[Array] = []
    grid: Array | None = None
    if method == "rank":
        coefs = [by_rank(problem, k + 1).coef for k in range(min(problem.X.shape[1], problem.Y.shape[1]))]
    else:
        grid = alpha_grid(problem) if alphas is None else _checked(alphas)
        solver = by_proximal_gradient if method == "nuclear" else by_splitting
        start: Array | None = None
        for alpha in grid:
            start = solver(
                problem._replace(alpha=float(alpha)),
                tol=tol,
                max_iter=max_iter,
                start=start,
                report=lambda coef: False,
            ).coef
            coefs.append(start)
    stacked = np.stack(coefs)
    return RankPath(
        grid,
        stacked.transpose(0, 2, 1),
        known.mean_y - np.einsum("d,kdt->kt", known.mean_x, stacked),
        np.array([np.linalg.matrix_rank(coef) for coef in coefs]),
        np.array([np.sum(problem.residual(coef) ** 2) for coef in coefs]) / known.weight,
        np.array([np.count_nonzero(np.any(problem.rows(coef) != 0, axis=1)) for coef in coefs]),
    )


def alpha_grid(problem: LowRankProblem, n_alphas: int = 20) -> Array:
    """Penalties from the critical one, where B vanishes, down to a hundredth of it."""
    critical = float(np.linalg.norm(problem.pull(problem.Y @ problem.root), 2)) or 1.0
    return critical * np.geomspace(1.0, 1e-2, n_alphas)


def _checked(alphas: Any) -> Array:
    parameters.check("ReducedRankRegression.path", {"alphas": alphas}, {"alphas": POSITIVE})
    return np.sort(np.asarray(alphas, dtype=np.float64))[::-1]


def select_rank(model: Any, X: Any, y: Any, *, cv: Any, alphas: Any, rule: str) -> Selection:
    """Choose the rank, or the penalty, by one path per fold."""
    name = "rank" if model.method == "rank" else "alpha"

    def grid(table: FoldTable) -> NDArray:
        path = model.path(table.X, table.y)
        return np.arange(1, len(path.ranks) + 1) if path.alphas is None else path.alphas

    def predictor(table: FoldTable, values: NDArray, share: float) -> Any:
        path = model.path(table.X, table.y, alphas=None if name == "rank" else values)
        return path.predict

    def refit(value: Any) -> Any:
        return clone(model).set_params(**{name: value}).fit(X, y)

    candidates = Candidates(grid, predictor, squared_row_loss, refit, parameter=name)
    return select_parameter(
        model, X, y, candidates, rule=rule, values=None if name == "rank" else alphas, cv=cv
    )
