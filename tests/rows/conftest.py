"""One table, and the same table in every place it can live."""

from __future__ import annotations

from typing import NamedTuple

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest

from assay.rows import _stream

N_ROWS, N_FEATURES = 20_011, 40
NAMES = [f"x{index}" for index in range(N_FEATURES)]


class Table(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray


@pytest.fixture(scope="session")
def table() -> Table:
    rng = np.random.default_rng(7)
    X = rng.normal(size=(N_ROWS, N_FEATURES))
    return Table(X, X[:, 0] - 2 * X[:, 1] + rng.normal(size=N_ROWS), rng.integers(0, 4, N_ROWS).astype(float))


@pytest.fixture(scope="session")
def frame(table: Table) -> pd.DataFrame:
    return pd.DataFrame(table.X, columns=NAMES).assign(y=table.y, w=table.weight)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, frame: pd.DataFrame) -> str:
    """Three files, with row groups that divide neither the files nor the blocks."""
    path = tmp_path_factory.mktemp("rows")
    for index, (start, stop) in enumerate([(0, 9_000), (9_000, 9_001), (9_001, N_ROWS)]):
        part = pa.Table.from_pandas(frame.iloc[start:stop], preserve_index=False)
        pq.write_table(part, path / f"part{index}.parquet", row_group_size=3_333)
    return str(path)


@pytest.fixture(scope="session")
def array_file(tmp_path_factory: pytest.TempPathFactory, table: Table) -> str:
    path = tmp_path_factory.mktemp("arrays") / "rows.npy"
    np.save(path, table.X)
    return str(path)


@pytest.fixture
def small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read in units of one block, so that a small table is many of them."""
    monkeypatch.setattr(_stream, "UNIT_BYTES", 2**21)


@pytest.fixture
def source(request, table, frame, folder, array_file, tmp_path, small_units):
    """The arguments of `rows` for one way to keep the table."""
    X, y, weight = table
    place = request.param
    if place == "array":
        return X, y, weight
    if place == "fortran":
        return np.asfortranarray(X), y, weight
    if place == "sparse":
        from scipy import sparse

        return sparse.csr_array(X), y, weight
    if place == "pandas":
        return frame, "y", "w"
    if place == "polars":
        return pl.from_pandas(frame), "y", "w"
    if place == "memmap":
        return np.load(array_file, mmap_mode="r"), y, weight
    if place == "npy":
        return array_file, y, weight
    if place == "npy_fortran":
        np.save(tmp_path / "f.npy", np.asfortranarray(X))
        return tmp_path / "f.npy", y, weight
    if place == "file":
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), tmp_path / "one.parquet")
        return str(tmp_path / "one.parquet"), "y", "w"
    if place == "folder":
        return folder, "y", "w"
    if place == "pattern":
        return f"{folder}/part*.parquet", "y", "w"
    if place == "dataset":
        return pads.dataset(folder), "y", "w"
    if place == "filtered":
        return pads.dataset(folder).filter(pads.field("w") >= 0), "y", "w"
    if place == "arrow":
        return pa.Table.from_pandas(frame, preserve_index=False), "y", "w"
    if place == "dask_array":
        return da.from_array(X, chunks=(3_000, -1)), da.from_array(y, chunks=4_000), weight
    if place == "dask_narrow":
        return da.from_array(X, chunks=(5_000, 11)), y, da.from_array(weight, chunks=1_234)
    if place == "dask_unknown":
        whole = da.from_array(X, chunks=(7_000, -1))
        return whole[whole[:, 0] > -np.inf], y, weight
    partitions = dd.from_pandas(frame, npartitions=5)
    if place == "dask_empty":
        partitions = dd.concat([partitions[partitions["x0"] > np.inf], partitions])
    return partitions, "y", "w"
