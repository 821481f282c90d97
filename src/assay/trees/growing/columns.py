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
from assay.rows import block_rows, ordered_map

MAX_BINS = 255
"""Codes of a column of bytes, besides that of missing values."""

SMALL_TABLE = 2**15
"""Values up to which one thread is enough."""

SORTED_AT_ONCE = 2**18
"""Values whose columns are sorted at once: the copies of more would take memory."""

ROWS_AT_ONCE = 256
"""Rows that are coded column by column: they stay in the first cache meanwhile."""


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
        codes = np.empty(X.shape[::-1] if by_column else X.shape, dtype=np.uint8)
        step = len(X) if X.size <= SMALL_TABLE else block_rows(X.shape[1], X.dtype.itemsize)

        def code(start: int) -> None:
            part = slice(start, start + step)
            block = np.empty(X[part].shape, dtype=np.uint8) if by_column else codes[part]
            self.encode_into(X[part], block)
            if by_column:
                codes[:, part] = block.T

        starts = range(0, len(X), max(step, 1))
        for _ in map(code, starts) if len(starts) == 1 else ordered_map(code, starts):
            pass
        return codes

    def encode_into(self, X: NDArray, codes: NDArray[np.uint8]) -> None:
        """Write the codes of a block of rows into an array of its shape, on this thread."""
        for j in range(self.n_columns):
            if self.categorical[j]:
                part = slice(self.offsets[j], self.offsets[j + 1])
                encode_levels(X[:, j], self.low[part], self.shared[part], self.n_codes[j], codes[:, j])
        ordered = self._ordered
        for start in range(0, len(X) if len(ordered) else 0, ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            encode_block(X[rows], ordered, self._search_table, self.n_codes, codes[rows])

    @cached_property
    def _ordered(self) -> NDArray[np.intp]:
        return np.flatnonzero(~self.categorical)

    @cached_property
    def _search_table(self) -> NDArray[np.float64]:
        """The cuts between the codes of each column, filled up with inf to a power of two less one."""
        table = np.full((self.n_columns, MAX_BINS), np.inf)
        for j in self._ordered:
            begin, last = self.offsets[j], max(self.offsets[j + 1] - 1, self.offsets[j])  # no value, no cut
            table[j, : last - begin] = self.cuts[begin:last]
        return table

    @cached_property
    def _usual(self) -> NDArray[np.bool_]:
        """The categories whose levels are 0, 1, 2, … and their own codes, which are looked at all at once."""
        counts, usual = np.diff(self.offsets), self.categorical.copy()
        codes = np.arange(len(self.low)) - np.repeat(self.offsets[:-1], counts)
        usual[np.repeat(np.arange(len(counts)), counts)[(self.low != codes) | (self.shared != codes)]] = False
        return usual

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
        X, usual = np.array(X, dtype=np.float64), self._usual
        given = X[:, usual]
        known = (given >= 0) & (given < np.diff(self.offsets)[usual]) & (given == np.floor(given))
        X[:, usual] = np.where(known, given, np.nan)
        for j in np.flatnonzero(self.categorical & ~usual):
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
    pairs, counts = np.empty((n_columns, n_rows), dtype=np.uint64), np.empty(n_columns, dtype=np.int64)
    parts, step = [np.empty(0)], max(1, SORTED_AT_ONCE // max(n_rows, 1))
    for first in range(0, n_columns, step):
        some = slice(first, min(first + step, n_columns))
        transposed = np.ascontiguousarray(X[:, some].T, dtype=np.float64)
        values, order = np.empty(transposed.shape), np.argsort(transposed, axis=1)
        rank_columns(transposed, order, pairs[some], values, counts[some])
        parts += [own[:count].copy() for own, count in zip(values, counts[some], strict=True)]
    offsets, low = np.concatenate([[0], np.cumsum(counts)]), np.concatenate(parts)
    shared = np.concatenate([np.arange(count) for count in counts])
    for j in np.flatnonzero(categorical & (counts >= MAX_BINS)):
        codes = share_levels(pairs[j], int(counts[j]))
        shared[offsets[j] : offsets[j + 1]] = codes
    return pairs, Columns(low, low, offsets, categorical, shared)


def share_levels(pairs: NDArray[np.uint64], n_levels: int) -> NDArray[np.int64]:
    """Let the rare levels of a sorted column share a code; the column is sorted anew."""
    places = (pairs >> np.uint64(32)).astype(np.int64)
    shared = level_codes(np.bincount(places, minlength=n_levels)[:n_levels], MAX_BINS)
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


def level_codes(weights: NDArray, max_bins: int) -> NDArray[np.int64]:
    """A code per level; where there are too many, the heaviest keep their own and the others share one."""
    if len(weights) < max_bins:
        return np.arange(len(weights))
    heavy = np.zeros(len(weights), dtype=bool)
    heavy[np.argsort(-weights, kind="stable")[: max_bins - 2]] = True
    return np.where(heavy, np.cumsum(heavy) - 1, max_bins - 2)


@compiled
def encode_block(X, columns, table, n_codes, codes):  # type: ignore[no-untyped-def]
    """Codes of few rows, column by column: how many cuts of the column are below the value."""
    for j in columns:
        absent = n_codes[j]
        for i in range(X.shape[0]):
            value = np.float64(X[i, j])
            # Eight steps without a branch: the cuts before `base` are below the value.
            base = np.int64(0)
            base += 128 * np.int64(table[j, base + 127] < value)
            base += 64 * np.int64(table[j, base + 63] < value)
            base += 32 * np.int64(table[j, base + 31] < value)
            base += 16 * np.int64(table[j, base + 15] < value)
            base += 8 * np.int64(table[j, base + 7] < value)
            base += 4 * np.int64(table[j, base + 3] < value)
            base += 2 * np.int64(table[j, base + 1] < value)
            base += np.int64(table[j, base] < value)
            codes[i, j] = base if value == value and absent > 0 else absent


@compiled
def encode_levels(values, levels, shared, absent, codes):  # type: ignore[no-untyped-def]
    """Codes of a column of categories, the missing one where a level is not known."""
    for i in range(values.shape[0]):
        value = np.float64(values[i])
        base, size = 0, levels.shape[0]
        while size > 1:
            half = size >> 1
            base += half * np.int64(levels[base + half - 1] < value)
            size -= half
        known = levels.shape[0] > 0 and levels[base] == value
        codes[i] = shared[base] if known else absent
