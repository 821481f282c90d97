"""From values to codes: each column becomes small whole numbers once, and a split of codes a threshold again.

Codes keep the order of the values. A column of few distinct values has one code for each; one of many shares
them among bins of about equal weight, unless every value must keep a code of its own (exact trees). A level
of a category is its own code, the rare ones sharing the last where there are too many. Missing values have
the code one past the last.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled

MAX_BINS = 255
"""Codes of a column of bytes, besides that of missing values."""


@dataclass(frozen=True, eq=False)
class Columns:
    """How the values of each column become codes.

    Attributes
    ----------
    low, high : float64 arrays
        Smallest and largest value seen of every code, one column after the other. In columns of categories
        the levels themselves, in increasing order.
    offsets : int64 array of shape (n_columns + 1,)
        Where each column begins among them.
    categorical : bool array of shape (n_columns,)
    shared : int64 array
        Of categories, level by level: the code of the level. Rare levels share the last code. Ordered columns
        count 0, 1, ….
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]
    offsets: NDArray[np.int64]
    categorical: NDArray[np.bool_]
    shared: NDArray[np.int64]

    def __eq__(self, other: object) -> bool:
        names = [field.name for field in fields(self)]
        return isinstance(other, Columns) and all(
            np.array_equal(getattr(self, name), getattr(other, name)) for name in names
        )

    __hash__ = None  # type: ignore[assignment]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.categorical)

    @cached_property
    def n_codes(self) -> NDArray[np.int32]:
        """Codes of each column, that of missing values not counted."""
        counts = np.diff(self.offsets).astype(np.int32)
        for j in np.flatnonzero(self.categorical):
            part = self.shared[self.offsets[j] : self.offsets[j + 1]]
            counts[j] = part.max(initial=-1) + 1
        return counts

    @cached_property
    def cuts(self) -> NDArray[np.float64]:
        """For every code the largest value that has it: the middle between it and the next."""
        cuts = midpoints(self.high[:-1], self.low[1:]) if len(self.high) else np.empty(0)
        return np.append(cuts, np.inf)

    def thresholds(self, column: NDArray, cut: NDArray, after: NDArray) -> NDArray[np.float64]:
        """The value that divides rows of codes up to `cut` from those of `after` on, the next in the node.

        As near the middle of the gap between the two as the codes of all rows allow.
        """
        begin, last = self.offsets[column], self.offsets[column + 1] - 1
        left, right = begin + cut, begin + np.maximum(after, cut)
        middle = midpoints(self.high[left], self.low[right])
        middle = np.clip(middle, self.cuts[left], np.where(right > left, self.cuts[right - 1], np.inf))
        return np.where((after <= cut) | (left >= last), np.inf, middle)

    def encode(self, X: NDArray, *, by_column: bool) -> NDArray[np.uint8]:
        """Codes of a block of rows, as bytes.

        Parameters
        ----------
        X : array of shape (n_rows, n_columns)
        by_column : bool
            Whether the result has one row per column, which trees of few columns per node walk, or one row
            per row, which histograms of all columns walk.
        """
        shape = X.shape[::-1] if by_column else X.shape
        codes = np.empty(shape, dtype=np.uint8)
        encode_block(X, self.cuts, self.low, self.shared, self.offsets, self.n_codes, self.categorical,
                     codes.T if by_column else codes)  # fmt: skip
        return codes

    def of_categories(self) -> Columns:
        """The columns of categories alone; the others keep their places and lose their values."""
        kept = np.repeat(self.categorical, np.diff(self.offsets))
        counts = np.where(self.categorical, np.diff(self.offsets), 0)
        offsets = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
        return Columns(self.low[kept], self.high[kept], offsets, self.categorical, self.shared[kept])

    def levels_as_codes(self, X: NDArray) -> NDArray:
        """The rows with levels of categories replaced by their codes, NaN where unknown."""
        if not self.categorical.any():
            return X
        X = np.array(X, dtype=np.float64)
        for j in np.flatnonzero(self.categorical):
            part = slice(self.offsets[j], self.offsets[j + 1])
            levels = self.low[part]
            places = np.minimum(np.searchsorted(levels, X[:, j]), max(len(levels) - 1, 0))
            known = levels[places] == X[:, j] if len(levels) else np.zeros(len(X), dtype=bool)
            X[:, j] = np.where(known, self.shared[part][places] if len(levels) else 0, np.nan)
        return X


def midpoints(low: NDArray, high: NDArray) -> NDArray[np.float64]:
    """Numbers m with low ≤ m < high, in the middle where floats have one."""
    with np.errstate(invalid="ignore", over="ignore"):
        middle = 0.5 * low + 0.5 * high
    return np.where(np.isfinite(middle) & (middle < high), middle, low)


def sort_columns(
    X: NDArray, categorical: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.uint64], Columns]:
    """Every distinct value a code of its own, and the rows of each column in the order of their codes.

    Returns
    -------
    pairs : uint64 array of shape (n_columns, n_rows)
        code · 2³² + row.
    columns : Columns
    """
    n_rows, n_columns = X.shape
    categorical = np.zeros(n_columns, dtype=np.bool_) if categorical is None else categorical
    pairs = np.empty((n_columns, n_rows), dtype=np.uint64)
    values = np.empty((n_columns, n_rows))
    counts = np.empty(n_columns, dtype=np.int64)
    transposed = np.ascontiguousarray(X.T, dtype=np.float64)
    rank_columns(transposed, np.argsort(transposed, axis=1), pairs, values, counts)
    offsets = np.concatenate([[0], np.cumsum(counts)])
    parts = [values[j, : counts[j]] for j in range(n_columns)]
    low = np.concatenate(parts) if parts else np.empty(0)
    shared = np.concatenate([np.arange(count) for count in counts])
    for j in np.flatnonzero(categorical & (counts >= MAX_BINS)):
        codes = share_levels(pairs[j], int(counts[j]))
        shared[offsets[j] : offsets[j + 1]] = codes
    return pairs, Columns(low, low, offsets, categorical, shared)


def share_levels(pairs: NDArray[np.uint64], n_levels: int) -> NDArray[np.int64]:
    """Let the rare levels of a sorted column share a code; the column is sorted anew."""
    places = (pairs >> np.uint64(32)).astype(np.int64)
    shared = _level_codes(np.bincount(places, minlength=n_levels)[:n_levels], MAX_BINS)
    codes = np.append(shared, shared.max() + 1)[places]
    rows = pairs & np.uint64(0xFFFFFFFF)
    pairs[:] = np.sort((codes.astype(np.uint64) << np.uint64(32)) | rows)
    return shared


@compiled
def rank_columns(X, order, pairs, values, counts):  # type: ignore[no-untyped-def]
    """Dense ranks of sorted columns, NaN last with the rank past the others."""
    for j in range(X.shape[0]):
        count, last = 0, np.nan
        for p in range(X.shape[1]):
            i = order[j, p]
            value = X[j, i] + 0.0  # −0 and 0 are one value
            if value == value and (count == 0 or value != last):
                values[j, count] = value
                last = value
                count += 1
            code = count - 1 if value == value else count
            pairs[j, p] = (np.uint64(code) << np.uint64(32)) | np.uint64(i)
        counts[j] = count


def bin_columns(
    X: NDArray, weight: NDArray | None, categorical: NDArray[np.bool_], max_bins: int = MAX_BINS
) -> Columns:
    """At most `max_bins` codes per column: one per value where there are few, else bins of like weight."""
    lows, highs, shares = [], [], []
    for j in range(X.shape[1]):
        column = np.asarray(X[:, j], dtype=np.float64) + 0.0
        known = column == column
        values, places = np.unique(column[known], return_inverse=True)
        weights = np.bincount(places, None if weight is None else weight[known], minlength=len(values))
        if categorical[j]:
            lows.append(values)
            highs.append(values)
            shares.append(_level_codes(weights, max_bins))
            continue
        first = _bin_starts(weights, max_bins)
        lows.append(values[first])
        highs.append(values[np.append(first[1:], len(values)) - 1] if len(values) else values)
        shares.append(np.arange(len(first)))
    counts = [len(part) for part in lows]
    return Columns(
        np.concatenate(lows),
        np.concatenate(highs),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        categorical,
        np.concatenate(shares).astype(np.int64),
    )


def _level_codes(weights: NDArray, max_bins: int) -> NDArray[np.int64]:
    """A code per level; where there are too many, the heaviest keep their own and the others share one."""
    if len(weights) < max_bins:
        return np.arange(len(weights))
    heavy = np.zeros(len(weights), dtype=bool)
    heavy[np.argsort(-weights, kind="stable")[: max_bins - 2]] = True
    return np.where(heavy, np.cumsum(heavy) - 1, max_bins - 2)


def _bin_starts(weights: NDArray, max_bins: int) -> NDArray[np.int64]:
    """Places of the values that begin a bin: bins of like weight, heavy values alone in theirs."""
    if len(weights) <= max_bins:
        return np.arange(len(weights))
    starts = np.empty(max_bins, dtype=np.int64)
    return starts[: fill_bins(weights.astype(np.float64), starts)]


@compiled
def fill_bins(weights, starts):  # type: ignore[no-untyped-def]
    """Fill bins one after the other up to an equal share of what is left; gives their number.

    A value heavier than the share closes the bin before it and takes one alone.
    """
    rest, left, count, inside = weights.sum(), starts.shape[0], 0, 0.0
    for v in range(weights.shape[0]):
        share = rest / left
        full = inside > 0.0 and (inside + 0.5 * weights[v] > share) and left > 1
        if count == 0 or full or (inside > 0.0 and weights[v] >= share and left > 1):
            if count > 0:
                rest -= inside
                left -= 1
            starts[count] = v
            count += 1
            inside = 0.0
        inside += weights[v]
    return count


@compiled
def encode_block(X, cuts, levels, shared, offsets, n_codes, categorical, codes):  # type: ignore[no-untyped-def]
    """Codes of a block: the first code whose cut is not below the value, or the place of a level."""
    for i in range(X.shape[0]):
        for j in range(X.shape[1]):
            value = np.float64(X[i, j])
            begin, count = offsets[j], offsets[j + 1] - offsets[j]
            if value != value or count == 0:
                codes[i, j] = n_codes[j]
                continue
            base = begin
            ends = levels if categorical[j] else cuts
            size = count
            while size > 1:  # a search without branches to foresee
                half = size >> 1
                base += half if ends[base + half - 1] < value else 0
                size -= half
            if categorical[j]:
                codes[i, j] = shared[base] if levels[base] == value else n_codes[j]
            else:
                codes[i, j] = base - begin


__all__ = ["MAX_BINS", "Columns", "bin_columns", "midpoints", "sort_columns"]
