"""From rows, wherever they live, to codes of a byte per value: one walk for bins and targets, one for codes.

Codes of rows on disk are kept in memory, or in a file without a name where there are many; those of a cluster
stay with their partitions (`cluster`).
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import rows
from assay.rows import Block, MemoryRows, Rows, coded_rows
from assay.trees.boosting.table import LocalTable
from assay.trees.growing.columns import Columns, bin_columns, sampled_rows

IN_MEMORY_CODES = 2**30
"""Bytes of codes up to which they are kept in memory."""

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
        weight = None if self.weight is None else self.weight[held]
        return self.squeezed(~held), CodedRows(self.codes[held], self.target[held], weight, True)

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


@dataclass(frozen=True)
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
    parts = data.reduce(_seen, sampled_rows(data.shape[0]), combine=rows.add)
    sample, target, weight = (np.concatenate(values) for values in parts)
    return SurveyedRows(data, target, weight if data.has_weight else None, sample)


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


def make_columns(
    data: Opened, weight: NDArray | None, categorical: NDArray[np.bool_], max_bins: int
) -> Columns:
    """Bins of each column, from all rows or from those that their numbers choose."""
    if isinstance(data, SurveyedRows):
        chosen = sampled_rows(data.data.shape[0])
        weight = weight if weight is None or chosen is None else weight[chosen]
        return bin_columns(data.sample, weight, categorical, max_bins)
    chosen = sampled_rows(data.shape[0])
    weight = weight if weight is None or chosen is None else weight[chosen]
    return bin_columns(data.X, weight, categorical, max_bins, chosen)


def target_of(data: Opened) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """Target and weights of all rows, in memory."""
    if isinstance(data, SurveyedRows):
        return data.target, data.weight
    assert data.y is not None
    weight = None if data.weight is None else data.weight.astype(np.float64, copy=False)
    return data.y.astype(np.float64, copy=False), weight


def code_rows(
    data: Opened, target: NDArray[np.float64], weight: NDArray[np.float64] | None, columns: Columns
) -> CodedRows:
    """Codes of the rows that weigh something, in this process; what a survey gathered is written to."""
    if isinstance(data, MemoryRows):
        codes = columns.encode(np.ascontiguousarray(data.X), by_column=False)
    else:
        codes = room_for_codes(data.data.shape)
        if data.data.local:
            data.data.reduce(_write_codes, columns, combine=_nothing, rowwise=(codes,))
        else:
            codes[:] = np.asarray(data.data.map(_codes, columns, dtype=np.uint8, width=codes.shape[1]))
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


def _write_codes(block: Block, columns: Columns, codes: NDArray[np.uint8]) -> None:
    columns.encode_into(np.ascontiguousarray(block.X), codes)


def _nothing(left: None, right: None) -> None:
    return None


def _codes(block: Block, columns: Columns) -> NDArray[np.uint8]:
    codes = np.empty(block.X.shape, dtype=np.uint8)
    columns.encode_into(np.ascontiguousarray(block.X), codes)
    return codes


__all__ = ["CodedRows", "Opened", "SurveyedRows", "code_rows", "make_columns", "survey", "target_of"]
