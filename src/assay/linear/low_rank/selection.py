"""Every rank of a reduced-rank regression, and the choice of one by cross-validation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import check_cv

from assay import parameters
from assay.linear.least_squares.centred_triangle import CentredTriangle
from assay.linear.least_squares.engine import Array
from assay.linear.low_rank.solver import Problem, by_proximal_gradient, by_rank, by_splitting
from assay.rows import is_external

POSITIVE = parameters.array(
    "a list of positive numbers",
    lambda values: values.ndim == 1 and values.size > 0 and bool(np.all(values > 0)),
)


@dataclass(frozen=True, eq=False)
class RankPath:
    """Reduced-rank fits from simple to rich.

    Attributes
    ----------
    alphas : array of shape (k,) or None
        Penalties, decreasing; None for method="rank".
    ranks : array of int of shape (k,)
        Rank of each matrix: 1, 2, … for method="rank".
    coef : array of shape (k, n_targets, n_features)
    intercept : array of shape (k, n_targets)
    training_error : array of shape (k,)
        Σ s ‖Γ^½ (y − ŷ)‖²/Σ s.
    n_selected : array of int of shape (k,)
        Rows (of the axis) that are not zero.
    """

    alphas: Array | None
    ranks: NDArray[np.int64]
    coef: Array
    intercept: Array
    training_error: Array
    n_selected: NDArray[np.int64]


def rank_path(
    problem: Problem, known: CentredTriangle, method: str, alphas: Any, tol: float, max_iter: int
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
        np.array([np.linalg.matrix_rank(coef) for coef in coefs]),
        stacked.transpose(0, 2, 1),
        known.mean_y - np.einsum("d,kdt->kt", known.mean_x, stacked),
        np.array([np.sum(problem.residual(coef) ** 2) for coef in coefs]) / known.weight,
        np.array([np.count_nonzero(np.any(problem.rows(coef) != 0, axis=1)) for coef in coefs]),
    )


def alpha_grid(problem: Problem, n_alphas: int = 20) -> Array:
    """Penalties from the critical one, where B vanishes, down to a hundredth of it."""
    critical = float(np.linalg.norm(problem.pull(problem.Y @ problem.root), 2)) or 1.0
    return critical * np.geomspace(1.0, 1e-2, n_alphas)


def _checked(alphas: Any) -> Array:
    parameters.check("ReducedRankRegression.path", {"alphas": alphas}, {"alphas": POSITIVE})
    return np.sort(np.asarray(alphas, dtype=np.float64))[::-1]


@dataclass(frozen=True, eq=False)
class RankSelection:
    """Cross-validated error of reduced-rank fits.

    Attributes
    ----------
    values : array of shape (k,)
        Ranks 1, 2, …, or penalties (decreasing), from simple to rich.
    mean_error, standard_error : arrays of shape (k,)
        Squared error a row on the held-out folds, summed over responses: mean over folds and its standard
        error.
    index : int
        The choice.
    rule : str
    model : ReducedRankRegression
        Fitted to all rows at the choice.
    """

    values: Array
    mean_error: Array
    standard_error: Array
    index: int
    rule: str
    model: Any

    @property
    def best(self) -> Any:
        """The rank or penalty that was chosen."""
        return self.values[self.index]


def select_rank(model: Any, X: Any, y: Any, *, cv: Any, alphas: Any, rule: str) -> RankSelection:
    """One path a fold, and a refit at the choice."""
    owner = "ReducedRankRegression.select"
    parameters.check(owner, {"rule": rule}, {"rule": parameters.one_of("min", "one_se")})
    if is_external(X):
        raise ValueError(
            f"{owner} cuts the rows into folds and needs them in memory; give it a sample of them."
        )
    given = X, y
    X, y = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=float), np.asarray(y, dtype=float)
    Y = y.reshape(len(y), -1)
    if model.method != "rank" and alphas is None:
        alphas = model.path(X, y).alphas
    errors = []
    for train, test in check_cv(cv).split(X):
        path = model.path(X[train], y[train], alphas=alphas)
        predicted = X[test] @ path.coef.transpose(0, 2, 1) + path.intercept[:, None]
        errors.append(np.mean(np.sum((Y[test] - predicted) ** 2, axis=2), axis=1))
    table = np.array(errors)
    mean = table.mean(axis=0)
    spread = table.std(axis=0, ddof=1) / np.sqrt(len(table))
    best = int(np.argmin(mean))
    # The grid goes from simple to rich: the first within one standard error is the simplest.
    index = best if rule == "min" else int(np.argmax(mean <= mean[best] + spread[best]))
    name, values = "alpha", path.alphas
    if values is None:
        name, values = "rank", np.arange(1, len(mean) + 1)
    chosen = clone(model).set_params(**{name: values[index].item()}).fit(*given)
    return RankSelection(values, mean, spread, index, rule, chosen)
