"""Cells of a grid that rows fall into: counts, means and squares of those that are occupied, in one walk."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.density.loops import count_line
from assay.rows import Block

Array = NDArray[np.float64]


class Cells(NamedTuple):
    """Occupied cells, sorted: their places, the weight in each, and the weighted sums of its rows."""

    places: NDArray[np.int64]
    mass: Array
    sums: Array
    squares: Array


def gather(places: NDArray[np.int64], mass: Array, sums: Array, squares: Array) -> Cells:
    """Add what falls into the same cell, in order."""
    if places.shape[1] == 1:
        unique, inverse = np.unique(places[:, 0], return_inverse=True)
        unique = unique[:, np.newaxis]
    else:
        unique, inverse = np.unique(places, axis=0, return_inverse=True)
    inverse, n_cells = inverse.ravel(), len(unique)

    def total(values: Array) -> Array:
        return np.bincount(inverse, values, n_cells).astype(np.float64)

    if sums.shape[1] == 0:
        return Cells(unique, total(mass), np.empty((n_cells, 0)), np.empty((n_cells, 0)))
    by_column = [np.stack([total(column) for column in table.T], axis=1) for table in (sums, squares)]
    return Cells(unique, total(mass), *by_column)


def in_cells(rows: Array, origin: Any, width: Any) -> Array:
    """Numbers in units of cells from an origin: what is counted and what is looked up is in the cell ⌊·⌋.

    The one home of this quotient: written in another way it may round to the other side of a border.
    """
    return np.asarray((rows - origin) / width)


def cells_of_block(block: Block, origin: Array, width: Array, limit: NDArray | None, moments: bool) -> Cells:
    """The cells of the rows of a block; rows of weight zero are in none.

    With a `limit` (cells of each column) a row on the upper border is in the last cell. Sums are about the
    origin, in cells, which keeps their digits.
    """
    weight = block.weights
    rows, weight = np.asarray(block.X, dtype=np.float64)[weight > 0], weight[weight > 0]
    scaled = in_cells(rows, origin, width)
    places = np.floor(scaled).astype(np.int64)
    if limit is not None:
        places = np.minimum(places, limit - 1)
    if not moments:
        nothing = np.empty((len(rows), 0))
        return gather(places, weight, nothing, nothing)
    inside = scaled - places
    return gather(places, weight, weight[:, np.newaxis] * inside, weight[:, np.newaxis] * inside * inside)


def line_masses(block: Block, low: float, size: float, tried: NDArray[np.int64]) -> Array:
    """Weight in each cell of a line cut into m equal ones, one m after the other; ends take what is beyond.

    The place of `in_cells` rises with x, so that sorted numbers need one search per border, by the very place
    that each number has, whatever the number of cuts.
    """
    x = np.asarray(block.X, dtype=np.float64)[:, 0]
    if len(tried) == 1:
        masses = np.zeros(int(tried[0]))
        weight = np.empty(0) if block.weight is None else block.weights
        count_line(x, weight, low, size / len(masses), masses)
        return masses
    if block.weight is None:
        x, mass = np.sort(x), np.arange(len(x) + 1, dtype=np.float64)
    else:
        there = block.weights > 0
        x, weight = x[there], block.weights[there]
        order = np.argsort(x, kind="stable")
        x, mass = x[order], np.concatenate([[0.0], np.cumsum(weight[order])])
    borders = np.concatenate([np.arange(1, m + 1) for m in tried])
    width, is_last = np.repeat(size / tried, tried), np.repeat(tried, tried) == borders
    # Halving, from where rounding leaves no doubt: x[first − 1] is below the border, x[last] is not.
    at, doubt = low + borders * width, 1e-14 * (abs(low) + size)
    first, last = np.searchsorted(x, at - doubt), np.searchsorted(x, at + doubt, side="right")
    while np.any(first < last):
        middle = np.minimum((first + last) // 2, len(x) - 1)
        is_below = np.floor(in_cells(x[middle], low, width)) < borders
        is_open = first < last
        first = np.where(is_open & is_below, middle + 1, first)
        last = np.where(is_open & ~is_below, middle, last)
    reached = mass[np.where(is_last, len(x), first)]
    return np.diff(reached, prepend=0.0) + np.where(borders == 1, np.append(0.0, reached[:-1]), 0.0)


def join_cells(left: Cells, right: Cells) -> Cells:
    """The cells of two blocks."""
    return gather(*(np.concatenate(pair) for pair in zip(left, right, strict=True)))


class Extent(NamedTuple):
    """Least and largest value of each column, weight, and weighted moments about a row."""

    low: Array
    high: Array
    weight: float
    sums: Array
    squares: Array


def extent_of_block(block: Block, center: Array) -> Extent:
    """The extent of the rows of a block that have a weight."""
    weight = block.weights
    rows, weight = np.asarray(block.X, dtype=np.float64)[weight > 0], weight[weight > 0]
    if len(rows) == 0:
        d = block.X.shape[1]
        return Extent(np.full(d, np.inf), np.full(d, -np.inf), 0.0, np.zeros(d), np.zeros(d))
    with np.errstate(over="ignore", invalid="ignore"):  # of numbers that `check_spread` then refuses
        moved = rows - center
        moments = weight @ moved, weight @ (moved * moved)
    return Extent(rows.min(axis=0), rows.max(axis=0), float(weight.sum()), *moments)


def range_of_block(block: Block) -> Extent:
    """The extent without its moments, which are zero."""
    rows = block.X if block.weight is None else block.X[block.weight > 0]
    rows, zeros = np.asarray(rows, dtype=np.float64), np.zeros(block.X.shape[1])
    weight = float(len(rows)) if block.weight is None else float(block.weights.sum())
    if len(rows) == 0:
        return Extent(zeros + np.inf, zeros - np.inf, 0.0, zeros, zeros)
    return Extent(rows.min(axis=0), rows.max(axis=0), weight, zeros, zeros)


def join_extents(left: Extent, right: Extent) -> Extent:
    """The extent of two blocks."""
    low, high = np.minimum(left.low, right.low), np.maximum(left.high, right.high)
    return Extent(low, high, left.weight + right.weight, left.sums + right.sums, left.squares + right.squares)


def first_row(block: Block) -> Array:
    """The first row of a block, about which moments keep their digits."""
    return np.asarray(block.X, dtype=np.float64)[0].copy()


def places_among(cells: NDArray[np.int64], asked: NDArray[np.int64]) -> NDArray[np.int64]:
    """The place of each asked cell among sorted cells, −1 where it is none of them."""
    if cells.shape[1] == 1:
        found = np.minimum(np.searchsorted(cells[:, 0], asked[:, 0]), len(cells) - 1)
        return np.where(cells[found, 0] == asked[:, 0], found, -1)
    unique, inverse = np.unique(np.concatenate([cells, asked]), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    place = np.full(len(unique), -1, dtype=np.int64)
    place[inverse[: len(cells)]] = np.arange(len(cells))
    return place[inverse[len(cells) :]]
