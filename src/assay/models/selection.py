"""Selection of a penalty: a curve over a grid, a rule, and the model refitted at the choice.

One implementation for every model with a path: what differs between models is told by a `Family`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array

from assay.parameters import refusal
from assay.randomness import generator
from assay.rows import check_weights, is_external, ordered_map, split_columns

Array = NDArray[np.float64]

RULES = ("min", "one_se", "oracle", "aic", "bic")
HELD_OUT = 4
"""A split holds out one row in so many."""


class Table(NamedTuple):
    """Rows in memory, with their weights (None for ones)."""

    X: Any
    y: NDArray
    weight: NDArray | None

    def take(self, indices: NDArray) -> Table:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[indices]
        return Table(self.X[indices], self.y[indices], weight)

    @property
    def total_weight(self) -> float:
        """Σ s."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())


class Fitted(NamedTuple):
    """What an information criterion needs of every model of a path."""

    training_error: Array
    degrees_of_freedom: Array


class Family(NamedTuple):
    """How one kind of model is selected.

    Attributes
    ----------
    grid : callable
        Table → default penalties, decreasing.
    predictor : callable
        (training table, penalties, share of the whole weight) → function from rows to predictions of every
        model of the path, of shape (n_rows, n_alphas).
    row_loss : callable
        (y, predictions) → loss of each row under each model.
    fitted : callable
        (table, penalties) → `Fitted`.
    oracle : callable
        (table, best penalty of the curve) → penalty of the theory.
    """

    grid: Callable[[Table], Array]
    predictor: Callable[[Table, Array, float], Callable[[Any], Array]]
    row_loss: Callable[[NDArray, Array], Array]
    fitted: Callable[[Table, Array], Fitted]
    oracle: Callable[[Table, float], float]


@dataclass(frozen=True)
class Selection:
    """A penalty chosen by a rule, with the curve it was chosen on.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        The grid, decreasing, in the parametrisation of the model's `alpha`.
    criterion : array of shape (n_alphas,)
        Mean validation loss, or the information criterion.
    criterion_name : str
    standard_error : array of shape (n_alphas,)
        Of the mean validation loss over folds (over rows for a split); zeros for information criteria.
    paired_error : array of shape (n_alphas,)
        Standard error of the difference to the best penalty, fold by fold (row by row for a split).
    fold_scores : array of shape (n_folds, n_alphas)
        Validation loss of every fold; empty for information criteria.
    index : int
        Place of the chosen penalty in the grid; of the nearest one for the oracle.
    one_se_index : int
        Place of the strongest penalty, going up from the best one, whose loss exceeds the least by at most
        one paired standard error.
    alpha : float
        The chosen penalty.
    rule : str
    model : estimator
        Refitted on all rows at the chosen penalty.
    """

    alphas: Array
    criterion: Array
    criterion_name: str
    standard_error: Array
    paired_error: Array
    fold_scores: Array
    index: int
    one_se_index: int
    alpha: float
    rule: str
    model: Any

    @property
    def best_alpha(self) -> float:
        """The penalty with the least criterion, whatever the rule chose."""
        return float(self.alphas[np.argmin(self.criterion)])


class Curve(NamedTuple):
    """Validation losses along the grid."""

    mean: Array
    standard_error: Array
    paired_error: Array
    folds: Array


def open_table(owner: str, X: Any, y: Any, sample_weight: Any) -> Table:
    """Rows to draw folds from; they must be in memory."""
    if is_external(X):
        raise ValueError(f"{owner} draws folds from rows in memory; read the table first, or a sample of it.")
    X, y, sample_weight = split_columns(X, y, sample_weight)
    matrix = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    target = check_array(y, ensure_2d=False, dtype=matrix.dtype)
    if len(target) != matrix.shape[0]:
        raise ValueError(f"X has {matrix.shape[0]} rows but y has {len(target)}; they must be as many.")
    return Table(matrix, target, check_weights(sample_weight, matrix.shape[0], matrix.dtype))


def folds(owner: str, cv: Any, table: Table, random_state: Any) -> list[tuple[NDArray, NDArray]]:
    """Training and validation rows: k folds, one split, or those of a scikit-learn splitter."""
    n = len(table.y)
    if hasattr(cv, "split") and not isinstance(cv, str):
        return [(np.asarray(train), np.asarray(test)) for train, test in cv.split(table.X, table.y)]
    order = np.arange(n) if random_state is None else generator(random_state).permutation(n)
    if isinstance(cv, str) and cv == "split" and n >= 2:
        cut = n - max(1, n // HELD_OUT)
        return [(np.sort(order[:cut]), np.sort(order[cut:]))]
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool) and 2 <= cv <= n:
        parts = np.array_split(order, cv)
        return [
            (np.sort(np.concatenate([*parts[:k], *parts[k + 1 :]])), np.sort(parts[k])) for k in range(cv)
        ]
    must_be = f"an int between 2 and the number of rows ({n}), 'split' or a splitter"
    raise refusal(owner, "cv", must_be, cv)


def validation_curve(
    table: Table, alphas: Array, pairs: list[tuple[NDArray, NDArray]], family: Family
) -> Curve:
    """One path a fold, on threads; losses are weighted within folds, folds by their validation weight."""
    whole = table.total_weight

    def one(pair: tuple[NDArray, NDArray]) -> tuple[Array, Array]:
        train, test = (table.take(indices) for indices in pair)
        predict = family.predictor(train, alphas, train.total_weight / whole)
        loss = family.row_loss(test.y, predict(test.X))
        weight = np.ones(len(test.y)) if test.weight is None else test.weight.astype(np.float64)
        return loss, weight

    results = list(ordered_map(one, pairs))
    scores = np.stack([weight @ loss / weight.sum() for loss, weight in results])
    if len(results) == 1:
        loss, weight = results[0]
        share = weight / weight.sum()
        deviations = loss - scores[0]
        best = int(np.argmin(scores[0]))
        paired = deviations - deviations[:, [best]]
        root = np.sqrt(np.sum(share**2))
        return Curve(
            scores[0], np.sqrt(share @ deviations**2) * root, np.sqrt(share @ paired**2) * root, scores
        )
    mass = np.array([weight.sum() for _, weight in results])
    mean = mass @ scores / mass.sum()
    best = int(np.argmin(mean))
    count = len(results)
    error = scores.std(axis=0, ddof=1) / np.sqrt(count)
    paired = (scores - scores[:, [best]]).std(axis=0, ddof=1) / np.sqrt(count)
    return Curve(mean, error, paired, scores)


def information(rule: str, fitted: Fitted, weight: float, noise_std: float | None) -> Array:
    """Give n log(RSS/n) + c·df, or RSS/σ² + c·df with a known σ; c = 2 for AIC, log n for BIC."""
    price = 2.0 if rule == "aic" else np.log(weight)
    if noise_std is not None:
        return weight * fitted.training_error / noise_std**2 + price * fitted.degrees_of_freedom
    floor = np.finfo(np.float64).tiny
    return weight * np.log(np.maximum(fitted.training_error, floor)) + price * fitted.degrees_of_freedom


def one_standard_error(curve: Curve) -> int:
    """From the best penalty up (towards stronger ones) while the excess is within its paired error."""
    best = int(np.argmin(curve.mean))
    index = best
    while index > 0 and curve.mean[index - 1] - curve.mean[best] <= curve.paired_error[index - 1]:
        index -= 1
    return index


def select_penalty(
    model: Any,
    X: Any,
    y: Any,
    family: Family,
    *,
    rule: str,
    alphas: Any,
    cv: Any,
    sample_weight: Any,
    random_state: Any,
    noise_std: float | None,
    refit: Callable[[float], Any],
) -> Selection:
    """Choose a penalty for `model` and refit it; see `Selection`."""
    owner = f"{type(model).__name__}.select"
    if rule not in RULES:
        raise refusal(owner, "rule", f"one of {', '.join(map(repr, RULES))}", rule)
    if noise_std is not None and not noise_std > 0:
        raise refusal(owner, "noise_std", "above 0", noise_std)
    model._check_parameters()
    table = open_table(owner, X, y, sample_weight)
    grid = family.grid(table) if alphas is None else np.unique(checked_alphas(alphas, owner))[::-1].copy()
    if rule in ("aic", "bic"):
        criterion = information(rule, family.fitted(table, grid), table.total_weight, noise_std)
        nothing = np.zeros(grid.size)
        curve, name = Curve(criterion, nothing, nothing, np.empty((0, grid.size))), rule.upper()
    else:
        curve = validation_curve(table, grid, folds(owner, cv, table, random_state), family)
        name = "validation loss"
    best, one_se = int(np.argmin(curve.mean)), one_standard_error(curve)
    index = one_se if rule == "one_se" else best
    alpha = float(grid[index])
    if rule == "oracle":
        alpha = family.oracle(table, alpha)
        index = int(np.argmin(np.abs(np.log(grid) - np.log(alpha))))
    return Selection(
        grid, curve.mean, name, curve.standard_error, curve.paired_error, curve.folds, index, one_se, alpha,
        rule, refit(alpha),
    )  # fmt: skip


def checked_alphas(alphas: Any, owner: str) -> Array:
    """Given penalties as a decreasing array."""
    try:
        grid = np.sort(np.asarray(alphas, dtype=np.float64))[::-1]
    except (TypeError, ValueError):
        raise refusal(owner, "alphas", "a list of positive numbers", alphas) from None
    if grid.ndim != 1 or grid.size == 0 or not np.all(np.isfinite(grid)) or grid[-1] <= 0:
        raise refusal(owner, "alphas", "a list of positive numbers", alphas)
    return np.ascontiguousarray(grid)


def squared_row_loss(y: NDArray, predictions: Array) -> Array:
    """(y − f)² for each row and each model."""
    return (y.reshape(-1, 1) - predictions) ** 2
