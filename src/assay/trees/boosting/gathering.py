"""From rows, wherever they live, to codes in memory: a byte per value, a pass for bins, one for codes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, MemoryRows, Rows
from assay.trees.growing.columns import Columns, bin_columns, sampled_rows

LEAST_ROWS, BINS_OF_A_LEAF = 3, 6
"""Rows of a bin at least, unless a leaf of the least size would then have fewer than so many bins."""


class CodedRows(NamedTuple):
    """Rows of a fit: codes, target, and weights that are above 0 (None where all are 1)."""

    codes: NDArray[np.uint8]
    target: NDArray[np.float64]
    weight: NDArray[np.float64] | None

    def take(self, rows: NDArray) -> CodedRows:
        """Some of the rows."""
        return CodedRows(
            self.codes[rows], self.target[rows], None if self.weight is None else self.weight[rows]
        )


def make_columns(
    data: Rows, weight: NDArray | None, categorical: NDArray[np.bool_], max_bins: int, min_leaf: int
) -> Columns:
    """Bins of each column, from all rows or from those that their numbers choose."""
    chosen = sampled_rows(data.shape[0])
    if isinstance(data, MemoryRows):
        X = data.X if chosen is None else data.X[chosen]
    else:
        X = data.take(np.arange(data.shape[0]) if chosen is None else chosen)
    if weight is not None and chosen is not None:
        weight = weight[chosen]
    return bin_columns(X, weight, categorical, max_bins, min(LEAST_ROWS, min_leaf // BINS_OF_A_LEAF))


def target_of(data: Rows) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Target and weights of all rows, in memory."""
    if isinstance(data, MemoryRows):
        assert data.y is not None
        weight = None if data.weight is None else data.weight.astype(np.float64)
        return data.y.astype(np.float64), weight
    target = np.asarray(data.map(_targets, dtype=np.float64))
    return target, np.asarray(data.map(_weights, dtype=np.float64)) if data.has_weight else None


def code_rows(
    data: Rows, target: NDArray[np.float64], weight: NDArray[np.float64] | None, columns: Columns
) -> CodedRows:
    """Codes of the rows that weigh something."""
    if isinstance(data, MemoryRows):
        codes = columns.encode(np.ascontiguousarray(data.X), by_column=False)
    else:
        codes = np.asarray(data.map(_codes, columns, dtype=np.uint8, width=data.shape[1]))
    coded = CodedRows(np.ascontiguousarray(codes), target, weight)
    if weight is None:
        return coded
    there = weight > 0
    if not there.all():
        coded = coded.take(np.flatnonzero(there))
    return coded._replace(weight=None) if np.all(weight[there] == 1.0) else coded


def _codes(block: Block, columns: Columns) -> NDArray[np.uint8]:
    codes = np.empty(block.X.shape, dtype=np.uint8)
    columns.encode_into(np.ascontiguousarray(block.X), codes)
    return codes


def _targets(block: Block) -> Any:
    return block.y


def _weights(block: Block) -> Any:
    return block.weight
