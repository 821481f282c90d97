"""Selection of a parameter: a curve over its values, a rule, and the model refitted at the choice.

One result for every model, and one implementation of folds, means, standard errors and rules for those with a
path (`assay.models.path`).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import is_classifier
from sklearn.utils import check_array

from assay.parameters import refusal
from assay.randomness import generator
from assay.rows import check_weights, is_external, ordered_map, split_columns

if TYPE_CHECKING:
    import pandas

Array = NDArray[np.float64]

HELD_OUT = 4
"""A split holds out one row in so many."""

LINES = 20
"""Longest curve that the representation of a selection shows."""


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """A value of a parameter chosen by a rule, with the curve it was chosen on.

    Attributes
    ----------
    parameter : str
        Name of the parameter that was varied; names joined by commas for several at once.
    values : array or list of shape (n_values,)
        What was tried: penalties decreasing, ranks and numbers of clusters increasing; for several
        parameters at once a dict for each combination.
    criterion : str
        Name of what was measured.
    curve : array of shape (n_values,)
        The criterion at each value; NaN where it is not defined, such as a silhouette of one cluster.
    standard_error : array of shape (n_values,) or None
        Of the mean validation loss over folds (over rows for a split); zeros for information criteria; s' of
        the gap statistic; None where the criterion has none.
    index : int
        Place of the chosen value; of the nearest one for the oracle.
    rule : str
        How the choice was read off the curve.
    best : object
        The chosen value.
    model : estimator
        Fitted to all rows at the chosen value.
    paired_error : array of shape (n_values,) or None
        Standard error of the difference to the least loss, fold by fold (row by row for a split).
    fold_scores : array of shape (n_folds, n_values) or None
        Validation loss of every fold; empty for information criteria.
    one_se_index : int or None
        Place of the simplest model, going from the best one, whose loss exceeds the least by at most one
        paired standard error.
    ambiguous : bool
        Whether the curve leaves the choice in doubt, where the criterion says so.
    reason : str
        Why this value, or why the choice is in doubt.
    candidates : dict
        What kindred rules choose on the same curve.
    table : dict of arrays
        All that was measured, one entry per value; `to_frame` makes a frame of it.
    details : object
        What the criterion alone knows: an `Elbow`, `GapStatistic`, `PenaltyHull`, `ClusterStability`,
        `Eigengap`, or for "elbow_decrease" the decrease that counts as small.
    models : list of estimators
        The estimator fitted to all rows at each value, where the criterion needs them all.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import Ridge
    >>> Ridge().select(*diabetes(return_X_y=True), alphas=[0.1, 1.0, 10.0])
    Selection(alpha=0.1 by min of validation loss)
             alpha     validation loss     s.e.
              10.0                4861      226
               1.0             3324.27      103
               0.1             3003.46     53.5  ←
    """

    parameter: str
    values: Any
    criterion: str
    curve: Array
    standard_error: Array | None
    index: int
    rule: str
    best: Any
    model: Any
    paired_error: Array | None = None
    fold_scores: Array | None = None
    one_se_index: int | None = None
    ambiguous: bool = False
    reason: str = ""
    candidates: Mapping[str, Any] = field(default_factory=dict)
    table: Mapping[str, NDArray] = field(default_factory=dict)
    details: Any = None
    models: Sequence[Any] = ()

    @property
    def alphas(self) -> Array:
        """The values, of a penalty."""
        return np.asarray(self.values)

    @property
    def alpha(self) -> float:
        """The chosen value, of a penalty."""
        return float(self.best)

    @property
    def best_alpha(self) -> float:
        """The penalty of the least point of the curve, whatever the rule chose."""
        return float(self.values[np.argmin(self.curve)])

    @property
    def k(self) -> int:
        """Number of clusters at the chosen value."""
        counts = self.parameter.rpartition("__")[2] in ("n_clusters", "n_components")
        return int(self.best if counts else self.table["clusters_found"][self.index])

    def to_frame(self) -> pandas.DataFrame:
        """What was measured as a pandas frame, one line per value."""
        import pandas as pd

        if self.table:
            return pd.DataFrame(dict(self.table))
        several = isinstance(self.best, dict)
        frame = pd.DataFrame(list(self.values)) if several else pd.DataFrame({self.parameter: self.values})
        error = {} if self.standard_error is None else {"standard_error": self.standard_error}
        return frame.assign(**{self.criterion: self.curve}, **error)

    def plot(self, *, kind: str | None = None, ax: Any = None) -> Any:
        """Draw the curve and the choice; see `assay.display.plot_selection`."""
        return importlib.import_module("assay.display").plot_selection(self, kind=kind, ax=ax)

    def __repr__(self) -> str:
        by = self.criterion if self.rule == self.criterion else f"{self.rule} of {self.criterion}"
        why = (", ambiguous" if self.ambiguous else "") + (f": {self.reason}" if self.reason else "")
        lines = [f"{type(self).__name__}({self.parameter}={self.best} by {by}{why})"]
        if len(self.values) > LINES:
            return lines[0]
        error = self.standard_error
        lines.append(f"  {self.parameter:>12}  {self.criterion:>18}" + ("" if error is None else "     s.e."))
        for place, (value, score) in enumerate(zip(self.values, self.curve, strict=True)):
            cells = f"  {value!s:>12}  {score:>18.6g}" + ("" if error is None else f"  {error[place]:>7.3g}")
            lines.append(cells + ("  ←" if place == self.index else ""))
        return "\n".join(lines)


class FoldTable(NamedTuple):
    """Rows in memory, with their weights (None for ones)."""

    X: Any
    y: NDArray
    weight: NDArray | None

    def take(self, indices: NDArray) -> FoldTable:
        """Some of the rows."""
        weight = None if self.weight is None else self.weight[indices]
        return FoldTable(self.X[indices], self.y[indices], weight)

    @property
    def total_weight(self) -> float:
        """Σ s."""
        return float(len(self.y)) if self.weight is None else float(self.weight.sum())


class Criterion(NamedTuple):
    """What a choice makes least in place of the loss of the model.

    Attributes
    ----------
    name : str
        In words.
    loss : callable
        ``loss(y, predictions, probabilities, rows)`` of some rows: their targets, what a model says of them
        (probabilities are None where it has none, else of shape (n_rows, n_classes)), and their places in the
        table; NaN where they do not tell.
    """

    name: str
    loss: Callable[[NDArray, NDArray, NDArray | None, NDArray], float]

    def at(self, rows: NDArray) -> Criterion:
        """The same for a sample of the rows, which is told places in the sample."""
        return Criterion(self.name, lambda y, said, odds, places: self.loss(y, said, odds, rows[places]))


class Said(NamedTuple):
    """What every model of a path says of some rows; classes are told by their places."""

    predictions: NDArray  # (n_rows, n_values)
    probabilities: NDArray | None = None  # (n_rows, n_values, n_classes)


class ValidationCurve(NamedTuple):
    """Validation losses along the grid."""

    mean: Array
    standard_error: Array
    paired_error: Array
    folds: Array


def open_table(owner: str, X: Any, y: Any, sample_weight: Any, *, code: Any = None) -> FoldTable:
    """Rows to draw folds from, which must be in memory; classes are coded."""
    if is_external(X):
        raise ValueError(
            f"{owner} draws folds from rows in memory, and every fold needs them in memory: read the table "
            "first, or a sample of it."
        )
    X, y, sample_weight = split_columns(X, y, sample_weight)
    matrix = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    y = y if code is None else code(np.asarray(y), None)[0]
    target = check_array(y, ensure_2d=False, dtype=matrix.dtype)
    if len(target) != matrix.shape[0]:
        raise ValueError(f"X has {matrix.shape[0]} rows but y has {len(target)}; they must be as many.")
    return FoldTable(matrix, target, check_weights(sample_weight, matrix.shape[0], matrix.dtype))


def folds(owner: str, cv: Any, table: FoldTable, random_state: Any) -> list[tuple[NDArray, NDArray]]:
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


def folds_at(cv: Any, rows: NDArray) -> Any:
    """The same folds for a sample of the rows: a splitter that knows each row by itself has `at`."""
    return cv.at(rows) if hasattr(cv, "at") else cv


def validation_curve(
    model: Any,
    table: FoldTable,
    values: NDArray,
    pairs: list[tuple[NDArray, NDArray]],
    criterion: Criterion | None = None,
) -> ValidationCurve:
    """One path per fold, on threads; losses are weighted within folds, folds by their validation weight.

    With a criterion each fold has its number for each value, whatever the loss of the model.
    """
    whole = table.total_weight
    if criterion is not None:

        def judged(pair: tuple[NDArray, NDArray]) -> Array:
            train, test = (table.take(indices) for indices in pair)
            said = model._said(model._along(train, values, train.total_weight / whole)(test.X))
            return criterion_losses(criterion, model, test.y, said, pair[1])

        scores = np.stack(list(ordered_map(judged, pairs)))
        return over_folds(scores, np.array([float(len(test)) for _, test in pairs]), criterion.name)

    def one(pair: tuple[NDArray, NDArray]) -> tuple[Array, Array]:
        train, test = (table.take(indices) for indices in pair)
        predict = model._along(train, values, train.total_weight / whole)
        loss = model._validation_loss(test.y, predict(test.X))
        weight = np.ones(len(test.y)) if test.weight is None else test.weight.astype(np.float64)
        return loss, weight

    results = list(ordered_map(one, pairs))
    scores = np.stack([weight @ loss / weight.sum() for loss, weight in results])
    if len(results) == 1:
        loss, weight = results[0]
        share = weight / weight.sum()
        deviations = loss - scores[0]
        paired = deviations - deviations[:, [int(np.argmin(scores[0]))]]
        root = np.sqrt(np.sum(share**2))
        error, paired_error = (np.sqrt(share @ spread**2) * root for spread in (deviations, paired))
        return ValidationCurve(scores[0], error, paired_error, scores)
    return over_folds(scores, np.array([weight.sum() for _, weight in results]))


def over_folds(scores: Array, mass: Array, name: str = "The loss") -> ValidationCurve:
    """Means over the folds, each by its mass; folds that tell nothing are left out.

    One fold has no error: the zeros stand for what is not known.
    """
    telling = np.isfinite(scores).all(axis=1)
    if not telling.any():
        raise ValueError(f"{name} cannot be measured on any fold of the rows to learn from")
    kept, share = scores[telling], mass[telling] / mass[telling].sum()
    mean = share @ kept
    if len(kept) == 1:
        return ValidationCurve(mean, np.zeros_like(mean), np.zeros_like(mean), kept)
    paired = kept - kept[:, [int(np.argmin(mean))]]
    error, paired_error = (s.std(axis=0, ddof=1) / np.sqrt(len(kept)) for s in (kept, paired))
    return ValidationCurve(mean, error, paired_error, kept)


def criterion_losses(criterion: Criterion, model: Any, y: NDArray, said: Said, rows: NDArray) -> Array:
    """The criterion for each value of a grid; classes are named as in the table."""
    names = getattr(model, "classes_", None) if is_classifier(model) else None
    losses = np.empty(said.predictions.shape[1])
    truth = y if names is None else names[y.astype(np.intp)]
    for place in range(len(losses)):
        column = said.predictions[:, place]
        predictions = column if names is None else names[column.astype(np.intp)]
        chances = None if said.probabilities is None else said.probabilities[:, place]
        losses[place] = criterion.loss(truth, predictions, chances, rows)
    return losses


def information(
    rule: str, error: Array, df: Array, weight: float, noise_std: float | None
) -> ValidationCurve:
    """Give n log(RSS/n) + c·df, or RSS/σ² + c·df with a known σ; c = 2 for AIC, log n for BIC."""
    floor, nothing = np.finfo(np.float64).tiny, np.zeros(len(error))
    fit = np.log(np.maximum(error, floor)) if noise_std is None else error / noise_std**2
    criterion = weight * fit + (2.0 if rule == "aic" else np.log(weight)) * df
    return ValidationCurve(criterion, nothing, nothing, np.empty((0, len(error))))


def one_standard_error(curve: ValidationCurve) -> int:
    """From the best value up (towards simpler models) while the excess is within its paired error."""
    best = int(np.argmin(curve.mean))
    index = best
    while index > 0 and curve.mean[index - 1] - curve.mean[best] <= curve.paired_error[index - 1]:
        index -= 1
    return index


def curve_as_far_as_needed(
    model: Any,
    table: FoldTable,
    values: NDArray,
    pairs: list[tuple[NDArray, NDArray]],
    criterion: Criterion | None,
    *,
    n_first: int,
) -> ValidationCurve:
    """The curve of the first values where it has risen for good at their end, else that of more, or of all.

    Risen for good: by two paired errors above its least, which lies five values back at least. The values
    after a least that lies near the end are added few at a time: they may cost more than all before them.
    """
    n_values, more = n_first, max(1, n_first // 5)
    while True:
        curve = validation_curve(model, table, values[:n_values], pairs, criterion)
        best, last = int(np.argmin(curve.mean)), n_values - 1
        rises = last - best >= 5 and curve.mean[last] - curve.mean[best] > 2 * curve.paired_error[last]
        if rises or n_values >= values.size:
            return curve
        n_values, more = min(n_values + more, values.size), 2 * more


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
    """(y − f)² for each row and each model, summed over the targets where there are several.

    Predictions have shape (n_rows, n_values), with several targets (n_rows, n_values, n_targets).
    """
    if predictions.ndim == 3:
        return np.sum((y.reshape(len(y), 1, -1) - predictions) ** 2, axis=2)
    return (y.reshape(-1, 1) - predictions) ** 2
