"""What a tree is grown with: rules, what is known of the columns, and memory."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.trees.growing.nodes import WORDS


class Limits(NamedTuple):
    """When a tree stops growing, and what it looks at.

    Weights are in units of the statistics. A node is divided if it is less deep than `max_depth`, weighs at
    least `min_split` and gains more than `min_gain`; each side weighs at least `min_leaf`. `max_leaves` of 0
    means no limit; else the node that gains most is divided first. `n_tried` columns are drawn per node, all
    if there are no more; 0 is all in a drawn order, so that among cuts of equal gain the draw decides, not
    the place of the column. With `random_cuts` one cut of a column is tried, at a value drawn between its
    smallest and largest in the node; else all are.
    """

    max_depth: int
    min_split: int
    min_leaf: int
    min_gain: float
    max_leaves: int
    n_tried: int
    seed: int
    random_cuts: bool


class ColumnRules(NamedTuple):
    """What is known of each column.

    Attributes
    ----------
    categorical : bool array of shape (n_columns,)
    signs : int8 array of shape (n_columns,)
        1 (−1) where predictions must not fall (rise) as the column rises.
    groups : bool array of shape (n_groups, n_columns)
        Columns that may follow one another on a path; none: all may.
    values : float64 array
        For random cuts: the value of every code, one column after the other.
    offsets : int64 array of shape (n_columns + 1,)
        Where each column begins among the values.
    """

    categorical: NDArray[np.bool_]
    signs: NDArray[np.int8]
    groups: NDArray[np.bool_]
    values: NDArray[np.float64]
    offsets: NDArray[np.int64]


class Space(NamedTuple):
    """Memory that growing overwrites.

    Attributes
    ----------
    tally : int64 array of shape (n_codes, n_sums)
        Sums of the rows of each code of a column that occurs in a node.
    histogram : int64 array of shape (257, n_sums)
        Zeros between two tallies.
    ordered : int64 array of shape (257, n_sums)
        The tally of levels in another order.
    codes : int64 array of shape (n_codes,)
        The codes of the tally.
    order, means : arrays of shape (257,)
        Levels by their mean.
    keys : uint64 array of shape (n_rows + 1,)
        Rows that go right, while a node is divided.
    columns : int64 array of shape (n_columns,)
    sums : int64 array of shape (2, n_sums)
        Of the node and of its missing values.
    work : float64 array of shape (4, n_sums)
    bits : uint32 array of shape (2, 8)
    unit : float64 array of shape (n_sums,)
        What one unit of each sum is worth in the node.
    open_nodes, paths : int64 and uint64 arrays of shape (n_nodes,)
        Nodes that can be divided, and what the draws of each node depend on.
    """

    tally: NDArray[np.int64]
    histogram: NDArray[np.int64]
    ordered: NDArray[np.int64]
    codes: NDArray[np.int64]
    order: NDArray[np.int64]
    means: NDArray[np.float64]
    keys: NDArray[np.uint64]
    columns: NDArray[np.int64]
    sums: NDArray[np.int64]
    work: NDArray[np.float64]
    bits: NDArray[np.uint32]
    unit: NDArray[np.float64]
    open_nodes: NDArray[np.int64]
    paths: NDArray[np.uint64]


def make_space(
    n_rows: int, n_columns: int, n_sums: int, most_codes: int, unit: NDArray, capacity: int = 0
) -> Space:
    """Memory for trees of so many rows, columns, sums, codes and nodes."""
    size = max(min(n_rows, most_codes), 0) + 1
    size = max(size, 257) if most_codes < 256 else size
    return Space(
        np.empty((size, n_sums), dtype=np.int64),
        np.zeros((257, n_sums), dtype=np.int64),
        np.empty((min(size, 257), n_sums), dtype=np.int64),
        np.empty(size, dtype=np.int64),
        np.empty(257, dtype=np.int64),
        np.empty(257),
        np.empty(n_rows + 1, dtype=np.uint64),
        np.empty(n_columns, dtype=np.int64),
        np.empty((2, n_sums), dtype=np.int64),
        np.empty((4, n_sums)),
        np.zeros((2, WORDS), dtype=np.uint32),
        np.asarray(unit, dtype=np.float64).copy(),
        np.empty(capacity, dtype=np.int64),
        np.empty(capacity, dtype=np.uint64),
    )
