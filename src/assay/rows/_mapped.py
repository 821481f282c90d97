"""Rows that pass through a function on their way to each step: transformed blocks, coded labels."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.rows._blocks import Block, Combine, Rows, Step, add, block_rows
from assay.rows._memory import MemoryRows


class MappedRows(Rows):
    """Another table, each block of which is replaced by `transform(block, *extra)`.

    Parameters
    ----------
    data : Rows
    transform : callable
        A pure, importable function from a block to a block of the same rows. Blocks that `take` fetches have
        neither target nor weights.
    *extra : object
        Handed to every call.
    width : int, optional
        Number of features of the new blocks, which are then dense; that of `data` by default. Blocks are cut
        so that a wider one is no larger than a block of a table of that width.
    has_weight : bool, optional
        Whether the new blocks have weights; as `data` by default.
    local : bool, optional
        False keeps callers from holding an array per row; as `data` by default.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.rows import MappedRows, rows
    >>> def doubled(block):
    ...     return block._replace(X=2 * block.X)
    >>> MappedRows(rows(np.ones((10, 3))), doubled).reduce(lambda block: block.X.sum(axis=0))
    array([20., 20., 20.])
    """

    def __init__(
        self,
        data: Rows,
        transform: Callable[..., Block],
        *extra: Any,
        width: int | None = None,
        has_weight: bool | None = None,
        local: bool | None = None,
    ) -> None:
        self._rows_at_once: int | None = None
        self.shape, self.is_sparse, self.feature_names = data.shape, data.is_sparse, data.feature_names
        if width is not None:
            self._rows_at_once = block_rows(width, 8)
            if isinstance(data, MemoryRows):
                data = data.cut(self._rows_at_once)
            self.shape, self.is_sparse, self.feature_names = (data.shape[0], width), False, None
        self._data, self._through = data, (transform, extra, self._rows_at_once)
        self.dtype, self.n_targets = data.dtype, data.n_targets
        self.local = data.local if local is None else local
        self.has_weight = data.has_weight if has_weight is None else has_weight

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""
        how = (*self._through, step, state, combine or add)
        return self._data.reduce(_reduce_pieces, *how, combine=combine, rowwise=rowwise)

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> Any:
        """See `Rows.map`."""
        return self._data.map(_map_pieces, *self._through, step, state, dtype=dtype, width=width)

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`."""
        return self._data.head(n_rows, _on_mapped, *self._through[:2], step, state)

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        transform, extra, _ = self._through
        return transform(Block(self._data.take(indices), None, None, 0), *extra).X

    def trust_values(self) -> None:
        """See `Rows.trust_values`."""
        self._data.trust_values()


def _pieces(
    block: Block, transform: Callable[..., Block], extra: tuple[Any, ...], n_rows: int | None
) -> Iterator[tuple[Block, slice]]:
    """The block in pieces of at most `n_rows` rows, each transformed, with its place in the block."""
    total = block.X.shape[0]
    n_rows = total if n_rows is None else n_rows
    for start in range(0, total, n_rows):
        piece = block.cut(start, start + n_rows) if n_rows < total else block
        yield transform(piece, *extra), slice(start, start + n_rows)


def _reduce_pieces(
    block: Block,
    transform: Callable[..., Block],
    extra: tuple[Any, ...],
    n_rows: int | None,
    step: Step,
    state: tuple[Any, ...],
    combine: Combine,
    *rowwise: NDArray,
) -> Any:
    pieces = _pieces(block, transform, extra, n_rows)
    parts = (step(piece, *state, *(values[part] for values in rowwise)) for piece, part in pieces)
    return functools.reduce(combine, parts)


def _map_pieces(
    block: Block,
    transform: Callable[..., Block],
    extra: tuple[Any, ...],
    n_rows: int | None,
    step: Step,
    state: tuple[Any, ...],
) -> NDArray:
    parts = [step(piece, *state) for piece, _ in _pieces(block, transform, extra, n_rows)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _on_mapped(
    block: Block, transform: Callable[..., Block], extra: tuple[Any, ...], step: Step, state: tuple[Any, ...]
) -> Any:
    return step(transform(block, *extra), *state)


def coded_rows(data: Rows, classes: NDArray) -> Rows:
    """A table with the (first column of the) target replaced by its place among the classes."""
    return MappedRows(data, coded, classes)


def code(labels: NDArray, classes: NDArray, weight: NDArray | None = None) -> NDArray:
    """Place of each label in a sorted list of classes; rows that weigh nothing may have any label."""
    places = np.minimum(np.searchsorted(classes, labels), len(classes) - 1)
    unknown = classes[places] != labels
    if weight is not None:
        unknown &= weight > 0
    if unknown.any():
        raise ValueError(
            f"The label {labels[np.argmax(unknown)]!r} is not among the classes of the fit; they are "
            f"{', '.join(repr(label) for label in classes[:10].tolist())}."
        )
    return places


def coded(block: Block, classes: NDArray) -> Block:
    """A block with its labels replaced by their places."""
    y = block.y
    if y is None:
        return block
    places = code(y if y.ndim == 1 else y[:, 0], classes, block.weight).astype(y.dtype)
    return block._replace(y=places if y.ndim == 1 else np.column_stack([places, y[:, 1:]]))


def class_weights(block: Block) -> dict[Any, float]:
    """Total weight of each label of one block, of those that weigh something."""
    assert block.y is not None
    labels = block.y if block.y.ndim == 1 else block.y[:, 0]
    present, places = np.unique(labels, return_inverse=True)
    weights = np.bincount(places, block.weight, minlength=len(present))
    return {
        label: weight for label, weight in zip(present.tolist(), weights.tolist(), strict=True) if weight > 0
    }


def merge_weights(left: dict[Any, float], right: dict[Any, float]) -> dict[Any, float]:
    """Add the weights of the same label."""
    return {label: left.get(label, 0.0) + right.get(label, 0.0) for label in {**left, **right}}
