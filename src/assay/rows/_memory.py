"""Rows in memory, what all walks in this process share, and rows that pass through a function on the way."""

from __future__ import annotations

import functools
import itertools
from abc import abstractmethod
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.rows._blocks import Block, Combine, Matrix, Rows, Step, add, block_rows
from assay.rows._threads import ordered_map


class LocalRows(Rows):
    """Rows handed out in units, each of which becomes one or more blocks on a thread of the pool.

    A unit is what it costs to fetch at once (a few megabytes of a file), a block what fits in the cache. Both
    are functions of the table alone and partial results are combined one after the other in the order of the
    blocks, so a result depends neither on the number of threads nor on where the table lives.
    """

    @abstractmethod
    def _units(self) -> Generator[Any, None, None]:
        """Give the units in order; runs on the thread that called the walk."""

    @abstractmethod
    def _blocks(self, unit: Any) -> Iterator[Block]:
        """Give the blocks of a unit in order; runs on a thread of the pool."""

    def _window(self) -> int | None:
        """How many units may be out at a time; see `ordered_map`."""
        return None

    def _finished(self) -> None:
        """Called when a walk has seen every row."""

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""

        def of_unit(unit: Any) -> list[Any]:
            results = []
            for block in self._blocks(unit):
                part = slice(block.start, block.start + block.X.shape[0])
                results.append(step(block, *state, *(values[part] for values in rowwise)))
            return results

        with (
            closing(self._units()) as units,
            closing(ordered_map(of_unit, units, window=self._window())) as parts,
        ):
            total = functools.reduce(combine or add, itertools.chain.from_iterable(parts))
        self._finished()
        return total

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> NDArray:
        """See `Rows.map`."""
        n_samples = self.shape[0]
        result = np.empty(n_samples if width is None else (n_samples, width), dtype=dtype)
        self.reduce(_write, step, state, combine=_nothing, rowwise=(result,))
        return result


def _write(block: Block, step: Step, state: tuple[Any, ...], result: NDArray) -> None:
    result[...] = step(block, *state)


def _nothing(left: None, right: None) -> None:
    return None


class MemoryRows(LocalRows):
    """Validated arrays in memory. Blocks are views: nothing is copied.

    The features are read-only, as those of a memory map are: one compiled loop serves both.
    """

    def __init__(self, X: Matrix, y: NDArray | None = None, weight: NDArray | None = None) -> None:
        self.is_sparse = sparse.issparse(X)
        if not self.is_sparse and X.flags.writeable:
            X = X.view()
            X.flags.writeable = False
        self.X, self.y, self.weight = X, y, weight
        self.shape = X.shape
        self.dtype = X.dtype
        self.n_targets = 0 if y is None else 1 if y.ndim == 1 else y.shape[1]
        self.has_weight = weight is not None
        self._step = block_rows(X.shape[1], X.dtype.itemsize)

    def cut(self, n_rows: int) -> MemoryRows:
        """The same rows, walked in blocks of at most `n_rows` of them."""
        finer = MemoryRows(self.X, self.y, self.weight)
        finer._step = min(self._step, n_rows)
        return finer

    def _units(self) -> Generator[int, None, None]:
        yield from range(0, self.shape[0], self._step)

    def _blocks(self, unit: int) -> Iterator[Block]:
        yield self._block(unit, min(unit + self._step, self.shape[0]))

    def _block(self, start: int, stop: int) -> Block:
        part = Block(None if self.is_sparse else self.X, self.y, self.weight, 0).cut(start, stop)
        return part._replace(X=_rows_of_csr(self.X, start, stop)) if self.is_sparse else part

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`; one block is a direct call."""
        if self.shape[0] <= self._step:
            return step(Block(self.X, self.y, self.weight, 0), *state, *rowwise)
        return super().reduce(step, *state, combine=combine, rowwise=rowwise)

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`."""
        return step(self._block(0, min(n_rows, self.shape[0])), *state)

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        taken = self.X[indices]
        return taken.toarray() if self.is_sparse else np.ascontiguousarray(taken)


def _rows_of_csr(X: Matrix, start: int, stop: int) -> Matrix:
    """A slice of rows that shares the values and column indices of `X`."""
    begin, end = X.indptr[start], X.indptr[stop]
    # Attributes, not the constructor: that one copies a slice shorter than half of its base.
    part = type(X)((stop - start, X.shape[1]), dtype=X.dtype)
    part.data, part.indices = X.data[begin:end], X.indices[begin:end]
    part.indptr = X.indptr[start : stop + 1] - begin
    return part


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
        rows_at_once = None if width is None else block_rows(width, 8)
        self.shape, self.is_sparse, self.feature_names = data.shape, data.is_sparse, data.feature_names
        if width is not None:
            if isinstance(data, MemoryRows):
                data = data.cut(block_rows(width, 8))
            self.shape, self.is_sparse, self.feature_names = (data.shape[0], width), False, None
        self._data, self._through = data, Through(transform, extra, rows_at_once)
        self.dtype, self.n_targets = data.dtype, data.n_targets
        self.local = data.local if local is None else local
        self.has_weight = data.has_weight if has_weight is None else has_weight

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""
        how = (self._through, step, state, combine or add)
        return self._data.reduce(_reduce_pieces, *how, combine=combine, rowwise=rowwise)

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> Any:
        """See `Rows.map`."""
        return self._data.map(_map_pieces, self._through, step, state, dtype=dtype, width=width)

    def keep(self, step: Step, *state: Any) -> list[Any]:
        """See `Rows.keep`."""
        return self._data.keep(_on_mapped, self._through, step, state)

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`."""
        return self._data.head(n_rows, _on_mapped, self._through, step, state)

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`."""
        return self._through.mapped(Block(self._data.take(indices), None, None, 0)).X

    def trust_values(self) -> None:
        """See `Rows.trust_values`."""
        self._data.trust_values()

    def allow_missing(self, *, infinite: bool = False) -> None:
        """See `Rows.allow_missing`."""
        self._data.allow_missing(infinite=infinite)


class Through(NamedTuple):
    """What blocks pass through, and how many rows of them at once."""

    transform: Callable[..., Block]
    extra: tuple[Any, ...]
    n_rows: int | None

    def mapped(self, block: Block) -> Block:
        """The block transformed, as a whole."""
        return self.transform(block, *self.extra)

    def pieces(self, block: Block) -> Iterator[tuple[Block, slice]]:
        """The block in pieces of at most `n_rows` rows, each transformed, with its place in the block."""
        total = block.X.shape[0]
        n_rows = total if self.n_rows is None else self.n_rows
        for start in range(0, total, n_rows):
            piece = block.cut(start, start + n_rows) if n_rows < total else block
            yield self.mapped(piece), slice(start, start + n_rows)


def _reduce_pieces(
    block: Block, through: Through, step: Step, state: tuple[Any, ...], combine: Combine, *rowwise: NDArray
) -> Any:
    pieces = through.pieces(block)
    parts = (step(piece, *state, *(values[part] for values in rowwise)) for piece, part in pieces)
    return functools.reduce(combine, parts)


def _map_pieces(block: Block, through: Through, step: Step, state: tuple[Any, ...]) -> NDArray:
    parts = [step(piece, *state) for piece, _ in through.pieces(block)]
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _on_mapped(block: Block, through: Through, step: Step, state: tuple[Any, ...]) -> Any:
    return step(through.mapped(block), *state)


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
            f"The label {labels[unknown].tolist()[0]!r} is not among the classes of the fit; they are "
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


def class_weights(block: Block, dtype: Any = None) -> dict[Any, float]:
    """Total weight of each label of one block, the labels in this precision."""
    assert block.y is not None
    labels = block.y if block.y.ndim == 1 else block.y[:, 0]
    labels = labels if dtype is None else labels.astype(dtype)
    present, places = np.unique(labels, return_inverse=True)
    weights = np.bincount(places, block.weight, minlength=len(present))
    return dict(zip(present.tolist(), weights.tolist(), strict=True))


def merge_weights(left: dict[Any, float], right: dict[Any, float]) -> dict[Any, float]:
    """Add the weights of the same label."""
    return {label: left.get(label, 0.0) + right.get(label, 0.0) for label in {**left, **right}}
