"""Least squares on a folder of Parquet files, against reading the same files and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest

COLUMNS = [f"x{index}" for index in range(100)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Five files of a million rows and a hundred columns, row groups as pyarrow makes them."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("parquet")
    rng = np.random.default_rng(5)
    coef = rng.standard_normal(100)
    for index in range(5):
        X = rng.standard_normal((rows(1_000_000), 100))
        y = X @ coef + rng.standard_normal(len(X))
        table = pa.table({**{name: X[:, j] for j, name in enumerate(COLUMNS)}, "y": y})
        parquet.write_table(table, path / f"part{index}.parquet")
        del X, y, table
    yield path
    for file in path.iterdir():
        file.unlink()


def test_assay(contest: Contest, folder: Path) -> None:
    from assay.linear import LinearRegression

    contest.run(
        "LinearRegression",
        f"Parquet n={5 * rows(1_000_000):.0e} d=100",
        "assay",
        lambda: LinearRegression().fit(str(folder), "y"),
        lambda model: model.empirical_risk_,
        rounds=2,
    )


def test_reading_alone(contest: Contest, folder: Path) -> None:
    dataset = pytest.importorskip("pyarrow.dataset")

    def read() -> int:
        return sum(batch.num_rows for batch in dataset.dataset(folder).to_batches())

    contest.run(
        "LinearRegression",
        f"Parquet n={5 * rows(1_000_000):.0e} d=100",
        "pyarrow, reading only",
        read,
        float,
        rounds=2,
    )
