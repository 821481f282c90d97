"""Hot loops of naive Bayes, on float64 blocks in C order; NaN is a missing value and adds nothing."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from assay.kernel_sums.bins import shared_place
from assay.loops import compiled

Array = NDArray[np.float64]


@compiled
def add_moments(
    rows: Array,
    codes: NDArray[np.intp],
    weights: Array,
    shift: Array,
    counts: Array,
    sums: Array,
    squares: Array,
) -> None:
    """Add Σ s, Σ s (x − p_k) and Σ s (x − p_k)² of each class and column, shifted by p_k.

    Rows without a missing value, whose sum is a number, are counted by their class alone.
    """
    n_columns = rows.shape[1]
    whole = np.zeros(counts.shape[0])
    for i in range(rows.shape[0]):
        k, weight, total = codes[i], weights[i], 0.0
        for j in range(n_columns):
            total += rows[i, j]
        if total == total:
            whole[k] += weight
            for j in range(n_columns):
                value = rows[i, j] - shift[k, j]
                share = weight * value
                sums[k, j] += share
                squares[k, j] += share * value
            continue
        for j in range(n_columns):
            value = rows[i, j] - shift[k, j]
            there = value == value
            share = weight if there else 0.0
            value = value if there else 0.0
            counts[k, j] += share
            sums[k, j] += share * value
            squares[k, j] += share * value * value
    for k in range(counts.shape[0]):
        for j in range(n_columns):
            counts[k, j] += whole[k]


@compiled
def gaussian_log_density(
    rows: Array, means: Array, half_precisions: Array, constants: Array, out: Array
) -> None:
    """Write Σ_j c_kj − h_kj (x_j − μ_kj)² over the columns that are not missing."""
    n_columns = rows.shape[1]
    for i in range(rows.shape[0]):
        for k in range(means.shape[0]):
            total = 0.0
            for j in range(n_columns):
                value = rows[i, j] - means[k, j]
                term = constants[k, j] - half_precisions[k, j] * value * value
                total += term if value == value else 0.0
            out[i, k] = total


@compiled
def widen_ranges(rows: Array, low: Array, high: Array) -> None:
    """Lower and raise the ends of the columns to their values."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            low[j] = value if value < low[j] else low[j]
            high[j] = value if value > high[j] else high[j]


@compiled
def count_bins(rows: Array, codes: NDArray[np.intp], weights: Array, edges: Array, counts: Array) -> None:
    """Add the weight of each row to the counts (K, d, B) of its bins; the outermost take what is beyond.

    The width tells the bin but for rounding, and the edges settle it: the last that is at most the value.
    """
    last = counts.shape[2] - 1
    inverse = (last + 1) / (edges[:, last + 1] - edges[:, 0])
    for i in range(rows.shape[0]):
        k, weight = codes[i], weights[i]
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value == value:
                place, bin_ = (value - edges[j, 0]) * inverse[j], 0
                if place >= last:
                    bin_ = last
                elif place > 0.0:
                    bin_ = int(place)
                while bin_ < last and value >= edges[j, bin_ + 1]:
                    bin_ += 1
                while bin_ > 0 and value < edges[j, bin_]:
                    bin_ -= 1
                counts[k, j, bin_] += weight


@compiled
def share_to_nodes(rows: Array, codes: NDArray[np.intp], weights: Array, nodes: Array, counts: Array) -> None:
    """Share the weight of each row between the nodes beside it in each column, counts of shape (K, d, G)."""
    last = nodes.shape[1] - 2
    inverse = (last + 1) / (nodes[:, last + 1] - nodes[:, 0])
    for i in range(rows.shape[0]):
        k, weight = codes[i], weights[i]
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value == value:
                lower, share = shared_place(value, nodes[j, 0], inverse[j], last)
                counts[k, j, lower] += weight * (1.0 - share)
                counts[k, j, lower + 1] += weight * share


@compiled
def raise_to_highest(rows: Array, highest: Array) -> None:
    """Raise each entry to the largest value of its column."""
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            highest[j] = value if value > highest[j] else highest[j]


@compiled
def count_levels(
    rows: Array,
    codes: NDArray[np.intp],
    weights: Array,
    starts: NDArray[np.int64],
    n_classes: int,
    whole: bool,
    counts: Array,
) -> int:
    """Add the weight of each row to the counts of its levels; −1, or the column of a value that is no level.

    Numbers that are not whole are no levels either, or are cut. The counts of level l of column j
    in class k are at starts[j] + l·K + k.
    """
    for i in range(rows.shape[0]):
        k, weight = codes[i], weights[i]
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value == value:
                level = int(value)
                if (whole and level != value) or value < 0:
                    return j
                counts[starts[j] + level * n_classes + k] += weight
    return -1


@compiled
def level_log_density(
    rows: Array, starts: NDArray[np.int64], sizes: NDArray[np.int64], table: Array, out: Array
) -> None:
    """Write Σ_j log p_kj(x_j) over the columns that are not missing.

    The logarithms of column j begin at table[starts[j]], one row per level and one more for levels unseen.
    """
    out[:] = 0.0
    for i in range(rows.shape[0]):
        for j in range(rows.shape[1]):
            value = rows[i, j]
            if value == value:
                level = sizes[j] if value >= sizes[j] or value < 0 else int(value)
                for k in range(out.shape[1]):
                    out[i, k] += table[starts[j] + level, k]
