"""How a prediction moves with one column: partial dependence, and accumulated local effects.

Partial dependence gives every row the same value of the column, whether or not such a row can be: where
columns go together it asks the model about rows that there are not. Accumulated local effects (Apley and Zhu
2020) move each row a little, between the two ends of the bin it is in, and add up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.importance import numbers_at_once

Array = NDArray[np.float64]
Predict = Callable[[NDArray], Any]

Question = Generator[NDArray, Array, Array]
"""Yields rows to ask a model about, is sent what it says of them, and returns a curve in the end."""


def asked_together(predict: Predict, questions: Sequence[Question]) -> list[Array]:
    """The curves of several questions, whose rows are predicted together: a call costs more than a row."""
    curves: list[Any] = [None] * len(questions)
    # Answers that a question goes on with, None to begin; rows that it has yielded. Those of a question whose
    # turn has not come are not made yet: of a wide table they fill the memory.
    waiting: deque[tuple[int, Array | None]] = deque((place, None) for place in range(len(questions)))
    pieces, places, n_numbers = list[NDArray](), list[int](), 0

    def predicted() -> None:
        said = np.asarray(predict(np.concatenate(pieces)), dtype=np.float64)
        ends = np.cumsum([len(table) for table in pieces])[:-1]
        waiting.extend(zip(places, np.split(said, ends), strict=True))
        pieces.clear()
        places.clear()

    while waiting or pieces:
        if not waiting:
            predicted()
            n_numbers = 0
        place, answers = waiting.popleft()
        try:
            table = next(questions[place]) if answers is None else questions[place].send(answers)
        except StopIteration as end:
            curves[place] = end.value
            continue
        if pieces and n_numbers + table.size > numbers_at_once(table.shape[1]):
            predicted()
            n_numbers = 0
        pieces.append(table)
        places.append(place)
        n_numbers += table.size
    return curves


def partial_dependence(
    predict: Predict, X: NDArray, group: NDArray | Sequence[int], values: NDArray
) -> Array:
    """Mean prediction over the rows when all have the same value of a column.

        PD(v) = (1/n) Σ_i f(x_i with x_j = v).

    Parameters
    ----------
    predict : callable
        Gives one number per row, or several.
    X : array of shape (n_rows, n_features)
    group : sequence of int
        The features that make the column: one, or the marks of a category.
    values : array of shape (n_values, len(group))
        The values, as features; of shape (n_values,) for a single feature.

    Returns
    -------
    curve : array of shape (n_values,) or (n_values, n_outputs)

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 2.0], [3.0, 4.0]])
    >>> partial_dependence(lambda X: X[:, 0] * X[:, 1], X, [0], np.array([0.0, 1.0])).tolist()
    [0.0, 3.0]
    """
    return asked_together(predict, [dependence_question(X, group, values)])[0]


def dependence_question(X: NDArray, group: NDArray | Sequence[int], values: NDArray) -> Question:
    """The question of `partial_dependence`, to be asked together with others."""
    inside = np.asarray(group, dtype=np.intp)
    settings = np.asarray(values, dtype=np.float64).reshape(len(values), inside.size)
    at_once = max(1, numbers_at_once(X.shape[1]) // max(1, X.size))
    means = []
    for start in range(0, len(settings), at_once):
        chosen = settings[start : start + at_once]
        moved = np.tile(X, (len(chosen), 1))
        moved[:, inside] = np.repeat(chosen, len(X), axis=0)
        said = yield moved
        means.append(said.reshape(len(chosen), len(X), *said.shape[1:]).mean(axis=1))
    return np.concatenate(means)


def quantile_edges(values: NDArray, n_bins: int = 20) -> Array:
    """Ends of bins with about equally many values each, all different; missing values do not count.

    Examples
    --------
    >>> import numpy as np
    >>> quantile_edges(np.arange(101), 4).tolist()
    [0.0, 25.0, 50.0, 75.0, 100.0]
    """
    numbers = np.asarray(values, dtype=np.float64)
    numbers = numbers[np.isfinite(numbers)]
    if numbers.size == 0:
        return np.empty(0)
    places = np.linspace(0.0, 1.0, n_bins + 1)
    return np.unique(np.quantile(numbers, places, method="inverted_cdf"))


def bins_of(values: NDArray, edges: NDArray) -> NDArray[np.intp]:
    """Bin of each value, (edge_k, edge_{k+1}]; the outermost bins hold what is beyond; −1 for NaN.

    Examples
    --------
    >>> import numpy as np
    >>> bins_of(np.array([0.0, 1.0, 1.5, 9.0, np.nan]), np.array([0.0, 1.0, 2.0])).tolist()
    [0, 0, 1, 1, -1]
    """
    numbers = np.asarray(values, dtype=np.float64)
    places = np.clip(np.searchsorted(edges, numbers, side="left") - 1, 0, len(edges) - 2)
    return np.where(np.isnan(numbers), -1, places).astype(np.intp)


def accumulated_local_effects(
    predict: Predict, X: NDArray, group: NDArray | Sequence[int], bins: NDArray, edges: NDArray
) -> Array:
    """Sum of the mean steps of the prediction across bins, centred at 0 over the rows.

        ALE(edge_k) = Σ_{b < k} mean over rows in b of [f(x_i at the upper end of b) − f(x_i at the lower)]
                      − const.

    Each row is only asked about at the two ends of its own bin: near where it is. An empty bin asks the rows
    of the nearest one that is not. For f = Σ_j g_j(x_j) it is g_j up to a constant, however the columns are
    correlated.

    Parameters
    ----------
    predict : callable
        Gives one number per row, or several.
    X : array of shape (n_rows, n_features)
    group : sequence of int
        The features that make the column.
    bins : array of shape (n_rows,)
        Bin of each row, from `bins_of`; rows with −1 are left out.
    edges : array of shape (n_bins + 1, len(group))
        The ends of the bins, as features; of shape (n_bins + 1,) for a single feature.

    Returns
    -------
    curve : array of shape (n_bins + 1,) or (n_bins + 1, n_outputs)
        At the ends of the bins.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.arange(101.0)
    >>> X, edges = np.column_stack([x, x]), quantile_edges(x, 4)
    >>> curve = accumulated_local_effects(lambda X: 2 * X[:, 0], X, [0], bins_of(x, edges), edges)
    >>> np.diff(curve).tolist()
    [50.0, 50.0, 50.0, 50.0]
    """
    return asked_together(predict, [local_question(X, group, bins, edges)])[0]


def local_question(X: NDArray, group: NDArray | Sequence[int], bins: NDArray, edges: NDArray) -> Question:
    """The question of `accumulated_local_effects`, to be asked together with others."""
    inside = np.asarray(group, dtype=np.intp)
    ends = np.asarray(edges, dtype=np.float64).reshape(len(edges), inside.size)
    n_bins, known = len(ends) - 1, bins >= 0
    rows, where = X[known], bins[known]
    if n_bins < 1 or not len(rows):
        raise ValueError("Accumulated local effects need two different values and a row that has one.")
    counts = np.bincount(where, minlength=n_bins)
    there = np.flatnonzero(counts)
    for empty in np.flatnonzero(counts == 0):
        lent = np.flatnonzero(where == there[np.argmin(np.abs(there - empty))])
        rows, where = np.concatenate([rows, rows[lent]]), np.append(where, np.full(len(lent), empty))
    moved = np.tile(rows, (2, 1))
    moved[:, inside] = np.concatenate([ends[where], ends[where + 1]])
    said = yield moved
    steps = (said[len(rows) :] - said[: len(rows)]).reshape(len(rows), -1)
    sums = np.zeros((n_bins, steps.shape[1]))
    np.add.at(sums, where, steps)
    means = sums / np.bincount(where, minlength=n_bins)[:, None]
    curve = np.vstack([np.zeros(steps.shape[1]), np.cumsum(means, axis=0)])
    curve -= counts @ (curve[:-1] + curve[1:]) / (2 * counts.sum())
    return curve.reshape(n_bins + 1, *said.shape[1:])
