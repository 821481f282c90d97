"""From rows, wherever they live, to codes of a byte per value: one walk for bins and targets, one for codes.

Codes of rows on disk are kept in memory, or in a file without a name where there are many; those of a cluster
stay with their partitions (`cluster`).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import rows
from assay.rows import Block, MappedRows, MemoryRows, Rows, coded_rows
from assay.trees.boosting.table import LocalTable
from assay.trees.growing.bins import bin_columns, sampled_rows
from assay.trees.growing.columns import Columns

LEAST_ROWS, BINS_OF_A_LEAF = 3, 6
"""Rows of a bin at least, unless a leaf of the least size would then have fewer than so many bins."""

IN_MEMORY_CODES = 2**30
"""Bytes of codes up to which they are kept in memory."""

MOST_CODES = 2**32
"""Bytes of codes up to which those of a cluster are brought into this process, where proofs ask for them."""

AT_ONCE = 2**16
"""Rows that are moved, or whose labels are looked up, at once."""


class CodedRows(NamedTuple):
    """Rows of a fit: codes, target, and weights that are above 0 (None where all are 1).

    `owned` says that targets and weights are not the caller's, and can be written to as the codes can.
    """

    codes: NDArray[np.uint8]
    target: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    owned: bool = False

    def take(self, places: NDArray) -> CodedRows:
        """Some of the rows, copied."""
        weight = None if self.weight is None else self.weight[places]
        return CodedRows(self.codes[places], self.target[places], weight, True)

    def divide(self, held: NDArray[np.bool_]) -> tuple[CodedRows, CodedRows]:
        """The other rows, in the memory of these, and the held ones."""
        outside = self.take(held)  # before the others are moved
        return self.squeezed(~held), outside

    def squeezed(self, kept: NDArray[np.bool_]) -> CodedRows:
        """The kept rows, moved up in the memory of all."""
        codes, (target, weight) = _move_up(self.codes, kept), self[1:3]
        if self.owned:
            return CodedRows(
                codes, _move_up(target, kept), None if weight is None else _move_up(weight, kept), True
            )
        return CodedRows(codes, target[kept], None if weight is None else weight[kept], True)

    def table(self, baseline: NDArray[np.float64], n_codes: NDArray[np.int32]) -> LocalTable:
        """The rows as boosting takes them."""
        return LocalTable(self.codes, self.target, self.weight, baseline, n_codes)


def _move_up(values: NDArray, kept: NDArray[np.bool_]) -> NDArray:
    count = 0
    for start in range(0, len(values), AT_ONCE):
        part = values[start : start + AT_ONCE][kept[start : start + AT_ONCE]]
        values[count : count + len(part)] = part
        count += len(part)
    return values[:count]


@dataclass
class SurveyedRows:
    """Rows outside memory after a first walk: targets, weights, and the rows that bins are made from."""

    data: Rows
    target: NDArray[np.float64]
    weight: NDArray[np.float64] | None
    sample: NDArray


Opened = MemoryRows | SurveyedRows
"""Rows of a fit whose targets are in memory."""


def survey(data: Rows | SurveyedRows) -> Opened:
    """Walk rows outside memory for the first time; see `SurveyedRows`."""
    if isinstance(data, (MemoryRows, SurveyedRows)):
        return data
    n_rows, chosen = data.shape[0], sampled_rows(data.shape[0])
    if data.local:
        sample = np.empty((n_rows if chosen is None else len(chosen), data.shape[1]), dtype=data.dtype)
        target, weight = np.empty(n_rows), np.empty(n_rows if data.has_weight else 0)
        data.reduce(_write_seen, chosen, (sample, target, weight), combine=_nothing)
    else:
        parts = data.reduce(_seen, chosen, combine=rows.add)
        sample, target, weight = (np.concatenate(values) for values in parts)
    return SurveyedRows(data, target, weight if data.has_weight else None, sample)


def _write_seen(block: Block, chosen: NDArray | None, into: tuple[NDArray, NDArray, NDArray]) -> None:
    """The same, written where it belongs: many small arrays would leave holes in memory."""
    (X,), (target,), (weight,) = _seen(block, chosen)
    first = block.start if chosen is None else int(np.searchsorted(chosen, block.start))
    for values, piece, place in zip(
        into, (X, target, weight), (first, block.start, block.start), strict=True
    ):
        if len(values):
            values[place : place + len(piece)] = piece


def _seen(block: Block, chosen: NDArray | None) -> tuple[list[NDArray], list[NDArray], list[NDArray]]:
    """Rows of the block that bins are made from, its target and weights, in lists that are joined."""
    assert block.y is not None
    n_rows, X = block.X.shape[0], block.X
    if chosen is not None:
        first, last = np.searchsorted(chosen, [block.start, block.start + n_rows])
        X = X[chosen[first:last] - block.start]
    target = block.y if block.y.ndim == 1 else block.y[:, 0]
    weight = np.empty(0) if block.weight is None else block.weight
    return [X], [target.astype(np.float64)], [weight.astype(np.float64)]


def survey_classes(data: Rows) -> tuple[SurveyedRows, NDArray, NDArray]:
    """The same for labels, which become places among the classes; the classes and the weight of each."""
    seen = survey(data)
    assert isinstance(seen, SurveyedRows)
    rows.check_finite(seen.target, "y")
    parts = [slice(start, start + AT_ONCE) for start in range(0, len(seen.target), AT_ONCE)]
    classes = np.unique(np.concatenate([np.unique(seen.target[part]) for part in parts]))
    weights = np.zeros(len(classes))
    for part in parts:  # one row after the other, as labels in memory are weighed
        places = rows.code(seen.target[part], classes)
        np.add.at(weights, places, 1.0 if seen.weight is None else seen.weight[part])
        seen.target[part] = places
    return replace(seen, data=coded_rows(data, classes)), classes, weights


def with_classes(data: Opened, margin: bool, factors: NDArray[np.float64] | None) -> Opened:
    """The same rows; on a cluster, with the targets and weights of the fit in place of those of the table.

    Places of classes become −1 and 1 for a loss of the margin, and weights are multiplied by class.
    """
    if isinstance(data, MemoryRows) or data.data.local:
        return data
    return replace(data, data=MappedRows(data.data, _of_classes, margin, factors))


def _of_classes(block: Block, margin: bool, factors: NDArray[np.float64] | None) -> Block:
    if block.y is None:
        return block
    places = (block.y if block.y.ndim == 1 else block.y[:, 0]).astype(np.float64)
    weight = block.weight
    if factors is not None:
        own = factors[places.astype(np.intp)]
        weight = own if weight is None else weight.astype(np.float64) * own
    return block._replace(y=2 * places - 1 if margin else places, weight=weight)


def again(data: Opened) -> Opened:
    """The same rows for another fit, which drops the sample of a survey once its bins are made."""
    return data if isinstance(data, MemoryRows) else replace(data)


def kept_aside(data: Opened, model: Any) -> Opened:
    """The same rows; on a cluster, with weights of 0 for those that a model keeps aside."""
    rows_aside = vars(model).get("calibration_rows_")
    if rows_aside is None or isinstance(data, MemoryRows) or data.data.local:
        return data
    return replace(data, data=MappedRows(data.data, _without, rows_aside))


def _without(block: Block, rows_aside: NDArray[np.int64]) -> Block:
    n_rows = block.X.shape[0]
    weight = np.ones(n_rows) if block.weight is None else block.weight.astype(np.float64)
    first, last = np.searchsorted(rows_aside, [block.start, block.start + n_rows])
    weight[rows_aside[first:last] - block.start] = 0.0
    return block._replace(weight=weight)


def make_columns(
    data: Opened, weight: NDArray | None, categorical: NDArray[np.bool_], max_bins: int, min_leaf: int
) -> Columns:
    """Bins of each column, from all rows or from those that their numbers choose."""
    least = min(LEAST_ROWS, min_leaf // BINS_OF_A_LEAF)
    if isinstance(data, SurveyedRows):
        chosen = sampled_rows(data.data.shape[0])
        weight = weight if weight is None or chosen is None else weight[chosen]
        return bin_columns(data.sample, weight, categorical, max_bins, least)
    chosen = sampled_rows(data.shape[0])
    weight = weight if weight is None or chosen is None else weight[chosen]
    return bin_columns(data.X, weight, categorical, max_bins, least, chosen)


def target_of(data: Opened) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Target and weights of all rows, in memory."""
    if isinstance(data, SurveyedRows):
        return data.target, data.weight
    assert data.y is not None
    weight = None if data.weight is None else data.weight.astype(np.float64, copy=False)
    return data.y.astype(np.float64, copy=False), weight


def train_rows(
    data: Opened, target: NDArray[np.float64], weight: NDArray[np.float64] | None, columns: Columns
) -> Any:
    """Codes of the rows that weigh something, where boosting takes them: here, or on the cluster."""
    if isinstance(data, MemoryRows) or data.data.local:
        return code_rows(data, target, weight, columns)
    from assay.trees.boosting.distributed.table import keep_rows  # needs Dask

    return keep_rows(data, target, weight, columns)


def code_rows(
    data: Opened, target: NDArray[np.float64], weight: NDArray[np.float64] | None, columns: Columns
) -> CodedRows:
    """Codes of the rows that weigh something, in this process; what a survey gathered is written to."""
    if isinstance(data, SurveyedRows):
        data.sample = data.sample[:0].copy()  # the bins are made
    if isinstance(data, MemoryRows):
        codes = columns.encode(np.ascontiguousarray(data.X), by_column=False)
    elif data.data.local:
        codes = room_for_codes(data.data.shape)
        data.data.reduce(_write_codes, columns, combine=_nothing, rowwise=(codes,))
    else:
        _require_few(data.data.shape)
        codes = np.asarray(data.data.map(_codes, columns, dtype=np.uint8, width=data.data.shape[1]))
    coded = CodedRows(codes, target, weight, owned=isinstance(data, SurveyedRows))
    if weight is None:
        return coded
    there = weight > 0
    if not there.all():
        coded = coded._replace(owned=False).squeezed(there)  # the weights of all are asked for later
    assert coded.weight is not None
    return coded._replace(weight=None) if np.all(coded.weight == 1.0) else coded


def room_for_codes(shape: tuple[int, int]) -> NDArray[np.uint8]:
    """An array of bytes, of a temporary file if it is large: its pages can then leave memory."""
    if shape[0] * shape[1] <= IN_MEMORY_CODES:
        return np.empty(shape, dtype=np.uint8)
    with tempfile.TemporaryFile(prefix="assay-codes-") as file:  # the map keeps it until it is dropped
        return np.asarray(np.memmap(file, dtype=np.uint8, shape=shape))


def _require_few(shape: tuple[int, int]) -> None:
    """Refuse to bring the codes of a large table from a cluster into this process."""
    if shape[0] * shape[1] > MOST_CODES:
        raise ValueError(
            "Proofs and importances of boosted trees need the codes of all rows, one byte per value, in this "
            f"process, up to {MOST_CODES // 2**30} GiB; got {shape[0]} rows of {shape[1]} columns: give a "
            "Parquet file or a sample of the rows."
        )


def _write_codes(block: Block, columns: Columns, codes: NDArray[np.uint8]) -> None:
    columns.encode_into(np.ascontiguousarray(block.X), codes)


def _nothing(left: None, right: None) -> None:
    return None


def _codes(block: Block, columns: Columns) -> NDArray[np.uint8]:
    codes = np.empty(block.X.shape, dtype=np.uint8)
    columns.encode_into(np.ascontiguousarray(block.X), codes)
    return codes


__all__ = ["CodedRows", "Opened", "SurveyedRows", "code_rows", "make_columns", "survey", "target_of"]
