"""Permutation importance: what a prediction loses when a column no longer belongs to its row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.randomness import RandomState, generator

Array = NDArray[np.float64]
Predict = Callable[[NDArray], Any]
RowLoss = Callable[[NDArray, Any], NDArray]

PREDICTED_AT_ONCE = 1 << 22
"""Numbers in the largest matrix that is handed to a model in one piece, unless its rows are few and wide."""

WIDE_ROWS, WIDE_NUMBERS = 160, 1 << 24
"""So many rows at least are handed over, of so many numbers at most: whatever walks its own rows at every
call, as neighbours and kernels do, reads these from memory each time."""


class PermutationImportance(NamedTuple):
    """What `permutation_importance` measured.

    Attributes
    ----------
    increases : array of shape (n_columns, n_rows)
        By how much the loss of each row grows when a column is shuffled, on average over the repeats.
    """

    increases: Array

    @property
    def mean(self) -> Array:
        """Mean over the rows, one number per column."""
        return self.increases.mean(axis=1)

    @property
    def standard_error(self) -> Array:
        """Standard error of the mean over rows, for the model as it is; NaN for one row."""
        n_rows = self.increases.shape[1]
        if n_rows < 2:
            return np.full(len(self.increases), np.nan)
        return self.increases.std(axis=1, ddof=1) / np.sqrt(n_rows)


def numbers_at_once(n_features: int) -> int:
    """Numbers in the largest matrix of so many features that is handed to a model in one piece.

    Examples
    --------
    >>> numbers_at_once(20) // 20, numbers_at_once(50_000) // 50_000, numbers_at_once(1 << 20) >> 20
    (209715, 160, 16)
    """
    return max(PREDICTED_AT_ONCE, min(WIDE_ROWS * n_features, WIDE_NUMBERS))


def squared_error(y: NDArray, predictions: Any) -> Array:
    """Squared error of each row."""
    return np.square(np.asarray(y, dtype=np.float64) - np.asarray(predictions, dtype=np.float64))


def permutation_importance(
    predict: Predict,
    X: NDArray,
    y: NDArray,
    loss: RowLoss = squared_error,
    *,
    groups: Sequence[NDArray | Sequence[int]] | None = None,
    n_repeats: int = 5,
    random_state: RandomState = None,
) -> PermutationImportance:
    """Mean growth of the loss when a column, or a group of columns, is taken from other rows.

        I_j = (1/n) Σ_i [ℓ(y_i, f(x_i with x_j of row π(i))) − ℓ(y_i, f(x_i))].

    Each π is a random cycle, so that no row keeps its own value: without the rows that a plain permutation
    leaves in place, the mean is unbiased for a value drawn from the other rows. For the squared error of a
    linear law with independent columns it is 2 β_j² Var(x_j); for a column that the model does not use it
    is 0. On rows that the fit has not seen it tells what the column is worth, not what was memorised.

    Parameters
    ----------
    predict : callable
        Gives predictions or probabilities of rows.
    X : array of shape (n_rows, n_features)
    y : array of shape (n_rows,)
    loss : callable, default=squared_error
        ``loss(y, predict(X))`` gives the loss of each row.
    groups : sequence of index arrays, optional
        Features that make one column each, such as the marks of a category; each feature by default.
    n_repeats : int, default=5
    random_state : int, Generator, SeedSequence, RandomState or None

    Returns
    -------
    importance : PermutationImportance

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(0).normal(size=(400, 3))
    >>> found = permutation_importance(lambda X: X[:, 0], X, X[:, 0], random_state=0)
    >>> found.mean.round().tolist()
    [2.0, 0.0, 0.0]
    """
    n_rows, n_features = X.shape
    if n_rows < 2:
        raise ValueError(f"Permutation importance needs two rows or more. Got {n_rows} instead.")
    if n_repeats < 1:
        raise ValueError(f"The 'n_repeats' parameter must be at least 1. Got {n_repeats} instead.")
    rng, before = generator(random_state), loss(y, predict(X))
    alone = np.arange(n_features)[:, None]
    columns = [np.asarray(inside, dtype=np.intp) for inside in (alone if groups is None else groups)]
    sources = [_cycle(n_rows, rng) for _ in range(min(n_repeats, n_rows - 1))]
    # Columns and repeats are predicted together, as many as fit into one piece: a call costs more than a row.
    tasks = [(place, source) for place in range(len(columns)) for source in sources]
    at_once = max(1, numbers_at_once(n_features) // max(1, X.size))
    increases = np.zeros((len(columns), n_rows))
    # Copies of the rows, made once: a wide table is copied more slowly than a model reads it.
    copies = np.tile(X, (min(at_once, len(tasks)), 1)).reshape(-1, *X.shape)
    for start in range(0, len(tasks), at_once):
        chosen = tasks[start : start + at_once]
        moved = copies[: len(chosen)]
        for rows, (place, source) in zip(moved, chosen, strict=True):
            rows[:, columns[place]] = X[source[:, None], columns[place]]
        after = loss(np.concatenate([y] * len(chosen)), predict(moved.reshape(-1, n_features)))
        np.add.at(increases, [place for place, _ in chosen], after.reshape(len(chosen), n_rows) - before)
        for rows, (place, _) in zip(moved, chosen, strict=True):
            rows[:, columns[place]] = X[:, columns[place]]
    return PermutationImportance(increases / len(sources))


def _cycle(n_rows: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """A permutation of one cycle: each row gets the next one of a random order."""
    order = rng.permutation(n_rows)
    source = np.empty(n_rows, dtype=np.intp)
    source[order] = np.roll(order, -1)
    return source
