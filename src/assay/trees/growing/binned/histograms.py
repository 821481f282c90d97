"""Histograms of a node on row-major codes, and the division of its rows: what one shard of a table does.

A *shard* is a range of rows with their codes, their statistics and a list of its rows in which those of a
node are consecutive. Sums are integers, so that the histograms of shards add up to that of the table in any
order and whatever the shards are: ranges for threads, partitions of a cluster.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from assay.loops import lean, lean_inner, part

AHEAD = 24
"""Rows of a node that are fetched ahead: they are far apart in memory."""

PACKED_ROWS = 65536
"""Rows whose curvatures, below 2³¹ each, and whose number fit into 64 bits together, 47 and 17."""

TILE_BYTES = 2**18
"""Size of the part of a histogram that is filled at once, so that it stays in the second cache."""

COPIED = 2**23
"""Codes of a shard up to which a second copy, by column, is kept: dividing rows then reads less memory.

A fit of a large table would be a twelfth faster with it, and take a third more memory.
"""

FEW = 4
"""Rows per bin of a column below which rows are added one sum at a time."""

NEAR = 2**20
"""Rows of a shard up to which a column of codes stays in the second cache."""

NO_SIDES = np.zeros(256, dtype=np.uint8)

SHIFT = np.int64(47)
ONE = np.int64(1) << SHIFT
LOW_PART = ONE - np.int64(1)


class Shard(NamedTuple):
    """A range of rows.

    Attributes
    ----------
    codes : uint8 array of shape (n_rows, n_columns)
    statistics : int32 array of shape (n_rows, 2) or (n_rows, 3)
        Negative slope, curvature and, where it is not 1, weight of each row, in units.
    rows : int32 array of shape (n_rows,)
        The rows of the tree; those of a node are consecutive.
    buffer : int32 array of shape (n_rows,)
        Overwritten.
    bounds : int64 array of shape (capacity, 2)
        Where the rows of each node begin and end.
    packed : int64 array of shape (n_tile_bins, 2)
        Overwritten.
    flat : uint8 array of shape (n_rows * n_columns,)
        The codes again, column after column if `by_column`, else row after row: what rows are divided by.
    by_column : bool
    whole : bool
        Whether weights are whole numbers, and slope and curvature those of a row of weight 1: a row of weight
        k then counts as k rows to the last bit.
    ranges : int64 array of shape (capacity, 3)
        Smallest and largest slope and largest curvature of each node, in units: all of them where it is
        too narrow or too little curved, else of its first rows.
    narrow, curved : int
        Nodes whose slopes are closer together than so many units, or whose curvatures have fewer, are
        counted in finer units.
    """

    codes: NDArray[np.uint8]
    statistics: NDArray[np.int32]
    rows: NDArray[np.int32]
    buffer: NDArray[np.int32]
    bounds: NDArray[np.int64]
    packed: NDArray[np.int64]
    flat: NDArray[np.uint8]
    by_column: bool
    whole: bool
    ranges: NDArray[np.int64]
    narrow: int
    curved: int


def make_shard(
    codes: NDArray[np.uint8],
    statistics: NDArray[np.int32],
    stride: int,
    capacity: int,
    *,
    whole: bool = False,
    starts: NDArray[np.int64] | None = None,
    flat: NDArray[np.uint8] | None = None,
) -> Shard:
    """A shard of all rows, in order, with room for so many nodes; with `starts`, several in a row."""
    n_rows, n_columns = codes.shape
    starts = np.array([0, n_rows]) if starts is None else starts
    n_shards, tile = len(starts) - 1, min(n_columns, tile_columns(stride))
    by_column = codes.size <= COPIED * n_shards
    rows, copies = np.empty(n_rows, dtype=np.int32), by_column and flat is None
    if flat is None:
        flat = np.empty(codes.size, dtype=np.uint8) if by_column else codes.ravel()
    for start, stop in pairwise(starts):
        rows[start:stop] = np.arange(stop - start)
        if copies:
            own = flat[start * n_columns : stop * n_columns].reshape(n_columns, stop - start)
            own[:] = codes[start:stop].T
    return Shard(
        codes,
        statistics,
        rows,
        np.empty(n_rows, dtype=np.int32),
        np.zeros((n_shards * capacity, 2), dtype=np.int64),
        np.empty((n_shards * tile * stride, 2), dtype=np.int64),
        flat,
        by_column,
        whole,
        np.zeros((n_shards * capacity, 3), dtype=np.int64),
        0,
        0,
    )


@part
def share_of(shard, start, stop, place, n_shards):  # type: ignore[no-untyped-def]
    """One of several shards in a row: the rows from `start` to `stop`, which count from 0 on."""
    d, capacity, tile = (
        shard.codes.shape[1],
        shard.bounds.shape[0] // n_shards,
        shard.packed.shape[0] // n_shards,
    )
    return Shard(
        shard.codes[start:stop],
        shard.statistics[start:stop],
        shard.rows[start:stop],
        shard.buffer[start:stop],
        shard.bounds[place * capacity : (place + 1) * capacity],
        shard.packed[place * tile : (place + 1) * tile],
        shard.flat[start * d : stop * d],
        shard.by_column,
        shard.whole,
        shard.ranges[place * capacity : (place + 1) * capacity],
        shard.narrow,
        shard.curved,
    )


def tile_columns(stride: int) -> int:
    """Columns of a tile."""
    return max(1, TILE_BYTES // (16 * stride))


def _prefetch(context, array, place):  # type: ignore[no-untyped-def]
    """Ask the processor for the cache line of a place of a contiguous array; changes nothing."""

    def generate(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values = target.make_array(signature.args[0])(target, builder, arguments[0])
        byte, word = ir.IntType(8).as_pointer(), ir.IntType(32)
        pointer = builder.bitcast(builder.gep(values.data, [arguments[1]]), byte)
        kind = ir.FunctionType(ir.VoidType(), [byte, word, word, word])
        fetch = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(fetch, [pointer, word(0), word(3), word(1)])  # to read, keep in all caches, data
        return target.get_dummy_value()

    return types.void(array, types.int64), generate


prefetch: Any = intrinsic(_prefetch)


def _add_pair(context, array, place, first, second):  # type: ignore[no-untyped-def]
    """Add two numbers to a row of a contiguous array of pairs in one instruction."""

    def generate(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        values = target.make_array(signature.args[0])(target, builder, arguments[0])
        word, pair = ir.IntType(64), ir.VectorType(ir.IntType(64), 2)
        begin = builder.gep(values.data, [builder.shl(arguments[1], word(1))])
        pointer = builder.bitcast(begin, pair.as_pointer())
        both = ir.Constant(pair, ir.Undefined)
        for lane in range(2):
            both = builder.insert_element(both, arguments[2 + lane], ir.IntType(32)(lane))
        builder.store(builder.add(builder.load(pointer, align=8), both), pointer, align=8)
        return target.get_dummy_value()

    return types.void(array, types.int64, types.int64, types.int64), generate


add_pair: Any = intrinsic(_add_pair)


def fill_histogram(shard: Shard, node: int, stride: int, sums: NDArray[np.int64]) -> None:
    """Add the rows of a node to a histogram of weight, slope and curvature."""
    divide_on_shard(shard, -1, 0, 0, NO_SIDES, stride, node, sums, -1, sums)


@lean
def divide_on_shard(shard, node, first, column, sides, stride, small, sums, other, more):  # type: ignore[no-untyped-def]
    """See `divide_shard`, for those who are not compiled themselves."""
    divide_shard(shard, node, first, column, sides, stride, small, sums, other, more)


@lean_inner
def divide_shard(shard, node, first, column, sides, stride, small, sums, other, more):  # type: ignore[no-untyped-def]
    """Divide the rows of a node; add those of the children to be summed up (−1: none) to histograms.

    Parameters
    ----------
    node, first : int
        The node (−1: nothing is divided), and the first of its two children, which follow one another.
    column : int
    sides : uint8 array of shape (256,)
        1 for every code of the column that goes left.
    small, other : int
        Children whose histograms are `sums` and `more`.
    """
    codes, statistics, rows, bounds = shard.codes, shard.statistics, shard.rows, shard.bounds
    if node >= 0:
        start, last, n_rows = bounds[node, 0], bounds[node, 1], codes.shape[0]
        step = np.int64(1) if shard.by_column else np.int64(codes.shape[1])
        begin = column * n_rows if shard.by_column else column
        near = shard.by_column and n_rows <= NEAR
        middle = start + divide_rows(rows[start:last], shard.buffer, shard.flat, begin, step, sides, near)
        bounds[first, 0], bounds[first, 1] = start, middle
        bounds[first + 1, 0], bounds[first + 1, 1] = middle, last
        for child in range(first, first + 2):
            some = rows[bounds[child, 0] : bounds[child, 1]]
            measure_range(statistics, some, shard.narrow, shard.curved, shard.ranges[child])
    for turn in range(2):
        child, histogram = (other, more) if turn else (small, sums)
        some = rows[bounds[child, 0] : bounds[child, 1]] if child >= 0 else rows[:0]
        # To add up and unpack a packed histogram of few rows would take longer.
        few, width = some.shape[0] < FEW * stride, shard.packed.shape[0] // stride
        for begin in range(0, codes.shape[1], width):
            end = min(begin + width, codes.shape[1])
            if statistics.shape[1] == 3:
                add_weighted(codes, statistics, some, shard.whole, begin, end, stride, histogram)
            elif few:
                add_few(codes, statistics, some, begin, end, stride, histogram)
            else:
                add_packed(codes, statistics, some, begin, end, stride, shard.packed, histogram)


@part
def add_packed(codes, statistics, rows, first, last, stride, packed, sums):  # type: ignore[no-untyped-def]
    """Histogram of rows of weight 1, a packed one at a time: the number of rows above the curvature."""
    d, count = codes.shape[1], (last - first) * stride
    for start in range(0, rows.shape[0], PACKED_ROWS):
        end = min(start + PACKED_ROWS, rows.shape[0])
        for place in range(count):
            packed[place, 0] = 0
            packed[place, 1] = 0
        for p in range(start, end - 3, 4):  # four rows at a time: fewer instructions per sum
            for q in range(p + AHEAD, p + AHEAD + 4):
                later = np.int64(rows[min(q, end - 1)])
                prefetch(codes, later * d + first)
                prefetch(codes, later * d + last - 1)
                prefetch(statistics, later * 2)
            a, b, c, e = (
                np.int64(rows[p]),
                np.int64(rows[p + 1]),
                np.int64(rows[p + 2]),
                np.int64(rows[p + 3]),
            )
            slope_a, curvature_a = np.int64(statistics[a, 0]), np.int64(statistics[a, 1]) + ONE
            slope_b, curvature_b = np.int64(statistics[b, 0]), np.int64(statistics[b, 1]) + ONE
            slope_c, curvature_c = np.int64(statistics[c, 0]), np.int64(statistics[c, 1]) + ONE
            slope_e, curvature_e = np.int64(statistics[e, 0]), np.int64(statistics[e, 1]) + ONE
            base = np.int64(0)
            for j in range(first, last):
                add_pair(packed, base + np.int64(codes[a, j]), slope_a, curvature_a)
                add_pair(packed, base + np.int64(codes[b, j]), slope_b, curvature_b)
                add_pair(packed, base + np.int64(codes[c, j]), slope_c, curvature_c)
                add_pair(packed, base + np.int64(codes[e, j]), slope_e, curvature_e)
                base += stride
        for p in range(start + (end - start) // 4 * 4, end):
            a = np.int64(rows[p])
            slope_a, curvature_a = np.int64(statistics[a, 0]), np.int64(statistics[a, 1]) + ONE
            base = np.int64(0)
            for j in range(first, last):
                add_pair(packed, base + np.int64(codes[a, j]), slope_a, curvature_a)
                base += stride
        for place in range(count):
            sums[first * stride + place, 0] += packed[place, 1] >> SHIFT
            sums[first * stride + place, 1] += packed[place, 0]
            sums[first * stride + place, 2] += packed[place, 1] & LOW_PART


@part
def add_few(codes, statistics, rows, first, last, stride, sums):  # type: ignore[no-untyped-def]
    """Histogram of few rows of weight 1."""
    step = np.uint64(stride)
    for p in range(rows.shape[0]):
        i = np.int64(rows[p])
        slope, curvature = np.int64(statistics[i, 0]), np.int64(statistics[i, 1])
        base = np.uint64(first * stride)
        for j in range(first, last):
            b = base + np.uint64(codes[i, j])
            sums[b, 0] += 1
            sums[b, 1] += slope
            sums[b, 2] += curvature
            base += step


@part
def add_weighted(codes, statistics, rows, whole, first, last, stride, sums):  # type: ignore[no-untyped-def]
    """Histogram of rows that have weights."""
    d, end = codes.shape[1], rows.shape[0]
    step = np.uint64(stride)
    for p in range(end):
        later = np.int64(rows[min(p + AHEAD, end - 1)])
        prefetch(codes, later * d + first)
        prefetch(codes, later * d + last - 1)
        prefetch(statistics, later * 3)
        i = np.int64(rows[p])
        weight = np.int64(statistics[i, 2])
        times = weight if whole else np.int64(1)
        slope, curvature = times * np.int64(statistics[i, 0]), times * np.int64(statistics[i, 1])
        base = np.uint64(first * stride)
        for j in range(first, last):
            b = base + np.uint64(codes[i, j])
            sums[b, 0] += weight
            sums[b, 1] += slope
            sums[b, 2] += curvature
            base += step


@lean_inner
def take_out(shard, node, stride, sums):  # type: ignore[no-untyped-def]
    """Subtract the rows of a node from a histogram."""
    codes, statistics, weighted = shard.codes, shard.statistics, shard.statistics.shape[1] == 3
    for p in range(shard.bounds[node, 0], shard.bounds[node, 1]):
        i = np.int64(shard.rows[p])
        weight = np.int64(statistics[i, 2]) if weighted else np.int64(1)
        times = weight if shard.whole else np.int64(1)
        slope, curvature = times * np.int64(statistics[i, 0]), times * np.int64(statistics[i, 1])
        base = np.uint64(0)
        for j in range(codes.shape[1]):
            b = base + np.uint64(codes[i, j])
            sums[b, 0] -= weight
            sums[b, 1] -= slope
            sums[b, 2] -= curvature
            base += np.uint64(stride)


@part
def divide_rows(rows, buffer, flat, begin, step, sides, near):  # type: ignore[no-untyped-def]
    """Divide rows stably; gives how many go left. With `near` the codes are in the second cache."""
    end, front, back = rows.shape[0], np.int64(0), np.int64(0)
    if near:
        for p in range(end):
            i = rows[p]
            left = np.int64(sides[flat[begin + np.int64(i)]])
            rows[front] = i
            buffer[back] = i
            front += left
            back += 1 - left
    else:
        for p in range(end):
            prefetch(flat, begin + np.int64(rows[min(p + AHEAD, end - 1)]) * step)
            i = rows[p]
            left = np.int64(sides[flat[begin + np.int64(i) * step]])
            rows[front] = i
            buffer[back] = i
            front += left
            back += 1 - left
    for p in range(back):
        rows[front + p] = buffer[p]
    return front


@part
def measure_range(statistics, rows, narrow, curved, out):  # type: ignore[no-untyped-def]
    """Write the range of the statistics of a node; ends as soon as it is wide and curved enough."""
    low, high, bend = np.int64(2**31), np.int64(-(2**31)), np.int64(0)
    for p in range(rows.shape[0]):
        slope = np.int64(statistics[rows[p], 0])
        low, high, bend = min(low, slope), max(high, slope), max(bend, np.int64(statistics[rows[p], 1]))
        if high - low >= narrow and bend >= curved:
            break
    out[0], out[1], out[2] = low, high, bend


def sum_rows(shard: Shard, node: int, sums: NDArray[np.int64]) -> None:
    """Add up weight, slope and curvature of the rows of a node."""
    start, end = shard.bounds[node]
    own = shard.statistics[shard.rows[start:end]].astype(np.int64)
    weight = own[:, 2] if own.shape[1] == 3 else np.ones(len(own), dtype=np.int64)
    times = weight if shard.whole else 1
    sums += [weight.sum(), (times * own[:, 0]).sum(), (times * own[:, 1]).sum()]
