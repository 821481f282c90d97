"""Rows on a cluster: Dask arrays and dataframes, one task per partition, on whatever scheduler is active."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dask.array as da
import numpy as np
from dask.base import compute, get_scheduler, persist
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from assay.rows._blocks import Block, Combine, Rows, Step, add, block_rows
from assay.rows._columns import (
    all_weights_zero,
    check_target,
    check_values,
    check_weights,
    feature_columns,
    is_name,
    not_numbers,
    refuse_names,
)
from assay.rows._threads import alone

FAN_IN = 8
"""Partial results combined by one task of the tree."""

PATIENCE = 2.0
"""Seconds between two looks at whether the workers have anything to do."""


@dataclass(frozen=True)
class Layout:
    """How a partition becomes arrays; the names are those of a dataframe's columns."""

    dtype: np.dtype
    features: list[Any] | None = None
    target: str | list[str] | None = None
    weight: str | None = None


@dataclass(frozen=True)
class Part:
    """A partition: features (or the frame that holds everything), target, weights; arrays or Delayed."""

    X: Any
    y: Any
    weight: Any
    start: int
    n_rows: int


@dataclass(frozen=True)
class DaskWalk:
    """What every task of a walk shares: one object of the graph, however many tasks there are."""

    layout: Layout
    check: bool
    missing: bool
    infinite: bool
    step: Step
    state: tuple[Any, ...]


class DaskRows(Rows):
    """Partitions of a Dask collection.

    A task converts its partition, walks it in the cache-sized blocks of a table in memory and combines them;
    the partial results of the tasks are combined by a tree, in the order of the rows. A task is a pure
    function of its partition, so Dask recomputes what a lost worker held. A walk computes the collection
    again unless it was persisted.
    """

    local = False

    def __init__(
        self, parts: list[Part], layout: Layout, n_features: int, n_targets: int, weighted: bool
    ) -> None:
        self.shape = (sum(part.n_rows for part in parts), n_features)
        self.dtype = layout.dtype
        self.n_targets, self.has_weight = n_targets, weighted
        if layout.features is not None and all(isinstance(name, str) for name in layout.features):
            self.feature_names = np.array(layout.features, dtype=object)
        if 0 in self.shape:
            raise ValueError(
                f"X must have at least one row and one column. It has shape {self.shape} instead."
            )
        self._parts, self._layout = parts, layout
        self._checked = self._missing = self._infinite = False

    def trust_values(self) -> None:
        """See `Rows.trust_values`."""
        self._checked = not self.has_weight

    def allow_missing(self, *, infinite: bool = False) -> None:
        """See `Rows.allow_missing`."""
        self._missing, self._infinite = True, infinite

    def _task(self, function: Any, walk: Delayed, part: Part, *arguments: Any) -> Delayed:
        return delayed(alone)(function, walk, part.X, part.y, part.weight, part.start, *arguments)

    def _walk(self, step: Step, state: tuple[Any, ...]) -> Delayed:
        return delayed(
            DaskWalk(self._layout, not self._checked, self._missing, self._infinite, step, state),
            traverse=False,
        )

    def reduce(
        self, step: Step, *state: Any, combine: Combine | None = None, rowwise: Sequence[NDArray] = ()
    ) -> Any:
        """See `Rows.reduce`."""
        if rowwise:
            raise ValueError(
                "Arrays with one entry per row cannot follow a walk on a cluster; use map instead."
            )
        walk, combination = self._walk(step, state), delayed(combine or add, traverse=False)
        layer = [self._task(_reduce, walk, part, combination) for part in self._parts if part.n_rows]
        while len(layer) > 1:
            groups = (layer[first : first + FAN_IN] for first in range(0, len(layer), FAN_IN))
            layer = [delayed(functools.reduce)(combination, group) for group in groups]
        some_weight: Any = True
        if self.has_weight and not self._checked:
            some_weight = delayed(any)([self._task(_any_weight, walk, part) for part in self._parts])
        total, counted = compute(layer[0], some_weight)
        if not counted:
            raise all_weights_zero()
        self._checked = True
        return total

    def map(self, step: Step, *state: Any, dtype: Any, width: int | None = None) -> da.Array:
        """See `Rows.map`: a Dask array with the partitions of the source, computed when it is asked for."""
        walk, columns = self._walk(step, state), () if width is None else (width,)
        meta = np.empty((0,) * (1 + len(columns)), dtype=dtype)
        pieces = []
        for part in self._parts:
            piece = self._task(_map, walk, part, meta.dtype, columns)
            pieces.append(da.from_delayed(piece, (part.n_rows, *columns), dtype, meta=meta))
        return da.concatenate(pieces)

    def keep(self, step: Step, *state: Any) -> list[Delayed]:
        """See `Rows.keep`."""
        walk = self._walk(step, state)
        return list(persist(*(self._task(_on_partition, walk, part) for part in self._parts if part.n_rows)))

    def head(self, n_rows: int, step: Step, *state: Any) -> Any:
        """See `Rows.head`; only the first partitions are computed."""
        walk = self._walk(step, state)
        pieces = [
            self._task(_first, walk, part, n_rows - part.start)
            for part in self._parts
            if part.n_rows and part.start < n_rows
        ]
        (result,) = compute(delayed(_on_one_block)(walk, pieces))
        return result

    def take(self, indices: NDArray) -> NDArray:
        """See `Rows.take`; only the partitions of these rows are computed, only these rows travel."""
        indices, walk, pieces = np.asarray(indices, dtype=np.intp), self._walk(add, ()), []
        for part in self._parts:
            first, last = np.searchsorted(indices, [part.start, part.start + part.n_rows])
            if first < last:
                pieces.append(self._task(_take, walk, part, indices[first:last] - part.start))
        return np.concatenate([np.empty((0, self.shape[1]), dtype=self.dtype), *compute(*pieces)])


def cluster_client() -> Any | None:
    """The client of the cluster that tasks run on; None where they run in this process or its children."""
    client = getattr(get_scheduler(), "__self__", None)  # other schedulers are plain functions
    return client if hasattr(client, "who_has") else None


def computed_unless_stuck(task: Delayed) -> Any:
    """The result of a task some of whose parts ask for certain workers; None where it would never be made.

    If every worker is lost while a task waits for one of them, Dask keeps it waiting for that one even after
    others have come, although it allows others. So a task is given up that is not done while no worker has
    anything to do: nothing of it runs on when it is asked for again.
    """
    client = cluster_client()
    if client is None:
        return compute(task)[0]
    future, n_idle = client.compute(task), 0
    while n_idle < 2:  # tasks are handed out and taken back in between
        try:
            importlib.import_module("distributed").wait([future], timeout=PATIENCE)
        except TimeoutError:
            is_idle = bool(client.nthreads()) and not any(client.processing().values())
            n_idle = n_idle + 1 if is_idle else 0
        else:
            return future.result()
    future.cancel()
    return None


def open_dask(X: Any, y: Any, sample_weight: Any, *, features: NDArray | None = None) -> DaskRows:
    """Open a Dask array or dataframe; see `assay.rows.rows`."""
    if isinstance(X, da.Array):
        refuse_names("a Dask array", y=y, sample_weight=sample_weight)
        return _open_array(X, y, sample_weight)
    if hasattr(X, "map_partitions") and getattr(X, "ndim", None) == 2:
        return _open_frame(X, y, sample_weight, features)
    raise ValueError(
        f"X must be a Dask array or dataframe, rows × features. Got a Dask {type(X).__name__} instead."
    )


def _open_array(X: da.Array, y: Any, sample_weight: Any) -> DaskRows:
    if X.ndim != 2:
        raise ValueError(f"X must be two-dimensional, rows × features. It has shape {X.shape} instead.")
    if X.dtype.kind not in "biuf":
        raise ValueError(f"X must hold real numbers. It holds the dtype {X.dtype} instead.")
    X = _with_lengths(X).rechunk({1: -1})
    layout = Layout(np.dtype(np.float32 if X.dtype == np.float32 else np.float64))
    parts = X.to_delayed().ravel().tolist()
    return _join(parts, X.chunks[0], layout, X.shape[1], y, sample_weight)


def _open_frame(X: Any, y: Any, sample_weight: Any, features: NDArray | None) -> DaskRows:
    target = y if is_name(y) else None
    weight = sample_weight if isinstance(sample_weight, str) else None
    names = [target] if isinstance(target, str) else list(target or ())
    columns = feature_columns(list(X.columns), names, weight, features, "the dataframe")
    if not columns:
        raise ValueError("The dataframe has no column left for the features.")
    used = list(dict.fromkeys([*columns, *names, *([weight] if weight else [])]))
    for name in used:
        kind = X.dtypes[name]
        if getattr(kind, "kind", "O") not in "biuf" or str(kind) == "category":
            raise not_numbers(name, "the dataframe", kind)
    single = all(getattr(X.dtypes[name], "numpy_dtype", X.dtypes[name]) == np.float32 for name in columns)
    wanted = target if target is None or isinstance(target, str) else names
    layout = Layout(np.dtype(np.float32 if single else np.float64), columns, wanted, weight)
    (lengths,) = compute(X[used[:1]].map_partitions(len))
    lengths = tuple(int(length) for length in lengths)
    return _join(X[used].to_delayed(), lengths, layout, len(columns), y, sample_weight)


def _join(
    partitions: list[Delayed],
    lengths: tuple[int, ...],
    layout: Layout,
    n_features: int,
    y: Any,
    sample_weight: Any,
) -> DaskRows:
    """Cut target and weights, where they are not columns of a frame, along the partitions."""
    n_samples = sum(lengths)
    targets, n_targets = [None] * len(lengths), 0
    if layout.target is not None:
        n_targets = 1 if isinstance(layout.target, str) else len(layout.target)
    elif y is not None:
        if not _is_dask(y):
            y = check_target(y, n_samples, layout.dtype)
        n_targets, targets = 1 if y.ndim == 1 else y.shape[1], _along(y, lengths, "y")
    weights = [None] * len(lengths)
    if layout.weight is None and sample_weight is not None:
        if not _is_dask(sample_weight):
            sample_weight = check_weights(sample_weight, n_samples, layout.dtype)
        elif sample_weight.ndim != 1:
            raise ValueError(
                f"sample_weight must be one-dimensional, one entry per row. It has {sample_weight.ndim}."
            )
        weights = _along(sample_weight, lengths, "sample_weight")
    starts = [int(stop) - length for stop, length in zip(np.cumsum(lengths), lengths, strict=True)]
    parts = [Part(*of) for of in zip(partitions, targets, weights, starts, lengths, strict=True)]
    return DaskRows(parts, layout, n_features, n_targets, sample_weight is not None)


def _is_dask(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "dask"


def _along(values: Any, lengths: tuple[int, ...], what: str) -> list[Any]:
    """The partitions of a vector or matrix, cut like those of X."""
    stops = np.cumsum(lengths)
    if not _is_dask(values):
        return [values[stop - length : stop] for stop, length in zip(stops, lengths, strict=True)]
    kind = getattr(values, "dtype", None)
    if kind is not None and getattr(kind, "kind", "O") not in "biuf":
        raise ValueError(f"{what} must hold numbers, one per row. It holds the dtype {kind} instead.")
    array = values if isinstance(values, da.Array) else values.to_dask_array(lengths=True)
    array = _with_lengths(array)
    if array.shape[0] != stops[-1]:
        raise ValueError(f"X has {stops[-1]} rows but {what} has {array.shape[0]}; they must be as many.")
    return array.rechunk((lengths, *((-1,) * (array.ndim - 1)))).to_delayed().ravel().tolist()


def _with_lengths(array: da.Array) -> da.Array:
    """The same array with known chunk lengths; those that are not known are computed."""
    if np.isnan(array.shape).any():
        array = array.copy()  # the lengths are written into the object, and this one is the caller's
        array.compute_chunk_sizes()
    return array


# What the tasks do, on any worker.


def _arrays(walk: DaskWalk, X: Any, y: Any, weight: Any, start: int) -> Block:
    layout = walk.layout
    if layout.features is not None:
        named = ((layout.features, X), (layout.target, y), (layout.weight, weight))
        X, y, weight = (
            values if columns is None else X[columns].to_numpy(dtype=layout.dtype, na_value=np.nan)
            for columns, values in named
        )
    X, y, weight = (
        None if values is None else np.ascontiguousarray(values, dtype=layout.dtype)
        for values in (X, y, weight)
    )
    if walk.check:
        check_values(X, y, weight, start, missing=walk.missing, infinite=walk.infinite)
    return Block(X, y, weight, start)


def _blocks(whole: Block) -> Iterator[Block]:
    n_rows, step = whole.X.shape[0], block_rows(whole.X.shape[1], whole.X.dtype.itemsize)
    for start in range(0, n_rows, step):
        yield whole.cut(start, start + step)


def _reduce(walk: DaskWalk, X: Any, y: Any, weight: Any, start: int, combine: Combine) -> Any:
    blocks = _blocks(_arrays(walk, X, y, weight, start))
    return functools.reduce(combine, (walk.step(block, *walk.state) for block in blocks))


def _map(
    walk: DaskWalk, X: Any, y: Any, weight: Any, start: int, dtype: np.dtype, columns: tuple[int, ...]
) -> NDArray:
    whole = _arrays(walk, X, y, weight, start)
    result = np.empty((whole.X.shape[0], *columns), dtype=dtype)
    for block in _blocks(whole):
        first = block.start - start
        result[first : first + block.X.shape[0]] = walk.step(block, *walk.state)
    return result


def _on_partition(walk: DaskWalk, X: Any, y: Any, weight: Any, start: int) -> Any:
    return walk.step(_arrays(walk, X, y, weight, start), *walk.state)


def _any_weight(walk: DaskWalk, X: Any, y: Any, weight: Any, start: int) -> bool:
    return bool(np.any(weight if walk.layout.weight is None else X[walk.layout.weight]))


def _first(walk: DaskWalk, X: Any, y: Any, weight: Any, start: int, n_rows: int) -> Block:
    return _arrays(walk, X, y, weight, start).cut(0, n_rows)


def _on_one_block(walk: DaskWalk, pieces: list[Block]) -> Any:
    X, y, weight = (
        None if values[0] is None else np.concatenate(values)
        for values in zip(*(piece[:3] for piece in pieces), strict=True)
    )
    return alone(walk.step, Block(X, y, weight, 0), *walk.state)


def _take(walk: DaskWalk, X: Any, y: Any, weight: Any, start: int, indices: NDArray) -> NDArray:
    return _arrays(walk, X, None, None, start).X[indices]
