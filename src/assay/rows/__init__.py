"""Rows: one way to walk data that is in memory, on disk or on a cluster."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from assay.rows._blocks import Block, Matrix, Rows, add, block_rows
from assay.rows._columns import (
    beside,
    check_finite,
    check_weights,
    fit_weights,
    is_name,
    out_of_range,
    real_numbers,
    split_columns,
)
from assay.rows._memory import MappedRows, MemoryRows, class_weights, code, coded_rows, merge_weights
from assay.rows._threads import alone, n_threads, one_blas_thread, ordered_map, threads

__all__ = [
    "Block",
    "MappedRows",
    "Matrix",
    "MemoryRows",
    "Rows",
    "add",
    "alone",
    "beside",
    "block_rows",
    "check_finite",
    "check_weights",
    "class_weights",
    "code",
    "coded_rows",
    "fit_weights",
    "is_external",
    "is_name",
    "merge_weights",
    "n_threads",
    "one_blas_thread",
    "open_external",
    "open_labels",
    "ordered_map",
    "out_of_range",
    "real_numbers",
    "rows",
    "split_columns",
    "threads",
]

IN_MEMORY_BYTES = 2**26
"""Memory maps up to this size (64 MiB) are treated like arrays."""


def is_external(X: Any) -> bool:
    """Whether the rows live outside memory: a path, a memory map, an Arrow table or dataset, Dask, `Rows`."""
    if isinstance(X, (str, os.PathLike, Rows)):
        return True
    if isinstance(X, np.memmap):
        return X.nbytes > IN_MEMORY_BYTES
    return type(X).__module__.partition(".")[0] in ("pyarrow", "dask")


def rows(X: Any, y: Any = None, sample_weight: Any = None, *, features: NDArray | None = None) -> Rows:
    """Open a table of rows for walking.

    Parameters
    ----------
    X : array, CSR matrix, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
        The features. A path names a `.npy` file, a Parquet file, a folder of them or a pattern such as
        "rows/*.parquet".
    y : array, column name or list of them, optional
        The target. With named columns, the features are the other columns.
    sample_weight : array or column name, optional
        Non-negative weights; a weight of 2 means that the row counts twice.
    features : array of str, optional
        Columns to read as features, in this order; all that are not target or weight by default.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.rows import rows
    >>> rows(np.ones((10, 3))).reduce(lambda block: block.X.sum(axis=0))
    array([10., 10., 10.])
    """
    if is_external(X):
        return open_external(X, y, sample_weight, features=features)
    X, y, sample_weight = split_columns(X, y, sample_weight, features)
    names = list(getattr(X, "columns", ()))
    matrix = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    target = None if y is None else check_array(y, ensure_2d=False, dtype=matrix.dtype)
    if target is not None and target.shape[0] != matrix.shape[0]:
        raise ValueError(f"X has {matrix.shape[0]} rows but y has {target.shape[0]}; they must be as many.")
    data = MemoryRows(matrix, target, check_weights(sample_weight, matrix.shape[0], matrix.dtype))
    if names and all(isinstance(name, str) for name in names):
        data.feature_names = np.array(names, dtype=object)
    return data


def open_external(X: Any, y: Any, sample_weight: Any, *, features: NDArray | None = None) -> Rows:
    """Open rows that live outside memory; rows that are open already come with their target and weights."""
    if isinstance(X, Rows):
        if y is not None or sample_weight is not None:
            raise ValueError("Rows that are open hold their target and weights: hand neither beside them.")
        return X
    if type(X).__module__.partition(".")[0] == "dask":
        from assay.rows._dask import open_dask

        return open_dask(X, y, sample_weight, features=features)
    from assay.rows._stream import open_stream

    return open_stream(X, y, sample_weight, features=features)


def open_labels(X: Any, y: Any, sample_weight: Any, data: Rows) -> Rows:
    """Labels and weights of rows outside memory, so that a walk over them reads no other column.

    Parameters
    ----------
    X, y, sample_weight
        As they were given to `open_external`, the labels by the name of their column or as a Dask array.
    data : Rows
        What `open_external` made of them; returned where the labels cannot be read alone.
    """
    name = y if isinstance(y, str) else y[0] if is_name(y) else None
    if name is not None:
        labels = open_external(X, name, sample_weight, features=np.array([name], dtype=object))
    elif getattr(y, "ndim", None) == 1 and hasattr(y, "chunks"):
        labels = open_external(y[:, None], y, sample_weight)
    else:
        return data
    labels.allow_missing(infinite=True)  # of the labels as features; as a target they are checked
    return labels
