"""Bins: which values of a column share a code where it has many, and the rows that this is learnt from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.rows import ordered_map
from assay.trees.growing.columns import MAX_BINS, SMALL_TABLE, Columns, level_codes

SAMPLE_ROWS = 200_000
"""Rows that the bins of larger tables are made from."""

COARSEST = 64
"""Bins that a column of as many values has at least, however few its rows."""

WIDEST = 2.5
"""Shares of half of the weight, two of which fill a bin, that one gap between values counts for at most."""


def bin_columns(
    X: NDArray,
    weight: NDArray | None,
    categorical: NDArray[np.bool_],
    max_bins: int = MAX_BINS,
    least: float = 0.0,
    rows: NDArray | None = None,
    *,
    spread: bool = False,
) -> Columns:
    """At most `max_bins` codes per column: one per value where there are few, else bins of like weight.

    Neighbouring values share a bin until it has the weight `least`, or one part in `COARSEST` of the column
    if that is less: every cut between single rows is one more way to fit their noise. With `rows`, whose
    weights are given then, of these rows alone. With `spread`, of like weight and width (`spread_weights`).
    """
    lows, highs, shares = [], [], []

    def bins_of(j: int) -> tuple[NDArray, NDArray, NDArray]:
        values, weights = distinct_values(X[:, j] if rows is None else X[rows, j], weight)
        if categorical[j]:
            return values, values, level_codes(weights, max_bins)
        first = _bin_starts(spread_weights(values, weights) if spread else weights, max_bins, least)
        ends = values[np.append(first[1:], len(values)) - 1] if len(values) else values
        return values[first], ends, np.arange(len(first))

    columns = range(X.shape[1])
    for low, high, share in map(bins_of, columns) if X.size <= SMALL_TABLE else ordered_map(bins_of, columns):
        lows.append(low)
        highs.append(high)
        shares.append(share)
    counts = [len(part) for part in lows]
    return Columns(
        np.concatenate(lows),
        np.concatenate(highs),
        np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
        categorical,
        np.concatenate(shares).astype(np.int64),
    )


def distinct_values(column: NDArray, weight: NDArray | None) -> tuple[NDArray, NDArray]:
    """The values of a column in increasing order, without NaN, and the weight of each."""
    values = np.asarray(column, dtype=np.float64) + 0.0  # −0 and 0 are one value
    if weight is not None:
        order = np.argsort(values, kind="stable")
        values, weight = values[order], weight[order]
    else:
        values.sort()
    n_known = int(np.searchsorted(values, np.nan))  # NaN come last
    values = values[:n_known]
    is_first = np.ones(n_known, dtype=np.bool_)
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    starts = np.flatnonzero(is_first)
    if weight is None:  # no array more than needed: what a thread has once taken stays taken
        counts = np.full(len(starts), float(n_known))
        counts[:-1] = starts[1:]
        counts -= starts
        return values[starts], counts
    sums = np.add.reduceat(weight[:n_known], starts) if n_known else np.empty(0)
    keep = sums > 0  # rows of no weight say nothing
    return values[starts][keep], np.asarray(sums[keep], dtype=np.float64)


def spread_weights(values: NDArray, weights: NDArray) -> NDArray[np.float64]:
    """Weights by which bins are narrow where values are many, and also not too wide where they are few.

    Rounding to the middle of bins has the least squared error where as many lie in a unit of length as the
    cube root of the density: a value weighs g^⅔ then, g the gap before it. Half of the weight is given so; no
    gap counts for more than a bin and a bit: a far value gets one, and the others keep theirs.
    """
    gaps = np.diff(0.5 * values, prepend=0.5 * values[:1]) ** (2 / 3)  # the widest is a number, too
    while len(gaps) > MAX_BINS and gaps.max() > 1.01 * (most := WIDEST * gaps.sum() / MAX_BINS):
        gaps = np.minimum(gaps, most)
    return np.asarray(weights / weights.sum() + gaps / (gaps.sum() or 1.0))


def sampled_rows(n_rows: int) -> NDArray[np.int64] | None:
    """Numbers of the rows that bins are made from; None: all of them."""
    if n_rows <= SAMPLE_ROWS:
        return None
    return np.sort(np.random.default_rng(n_rows).choice(n_rows, SAMPLE_ROWS, replace=False, shuffle=False))


def _bin_starts(weights: NDArray, max_bins: int, least: float) -> NDArray[np.int64]:
    """Places of the values that begin a bin: bins of like weight, heavy values alone in theirs."""
    starts = np.empty(len(weights), dtype=np.int64)
    starts = starts[: join_values(weights, min(least, weights.sum() / COARSEST), starts)]
    if len(starts) <= max_bins:
        return starts
    chosen = np.empty(max_bins, dtype=np.int64)
    return starts[chosen[: fill_bins(np.add.reduceat(weights, starts).astype(np.float64), chosen)]]


@compiled
def join_values(weights, least, starts):  # type: ignore[no-untyped-def]
    """Begin a bin at each value after which the bin before has the least weight; gives their number."""
    count, inside = 0, least
    for v in range(weights.shape[0]):
        if inside >= least:
            starts[count] = v
            count += 1
            inside = 0.0
        inside += weights[v]
    return count - 1 if count > 1 and inside < least else count


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
