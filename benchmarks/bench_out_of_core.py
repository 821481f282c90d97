"""Fits on Parquet files: least squares against reading alone, boosting against a library that loads them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

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


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Five files of a million rows of ten Gaussian classes in a hundred columns."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("classes")
    rng = np.random.default_rng(7)
    means = 0.3 * rng.standard_normal((10, 100))
    for index in range(5):
        y = rng.integers(0, 10, rows(1_000_000))
        X = rng.standard_normal((len(y), 100)) + means[y]
        table = pa.table({**{name: X[:, j] for j, name in enumerate(COLUMNS)}, "y": y})
        parquet.write_table(table, path / f"part{index}.parquet")
        del X, y, table
    yield path
    for file in path.iterdir():
        file.unlink()


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "GaussianNB"])
@pytest.mark.parametrize("library", ["assay", "pyarrow, reading only"])
def test_classes(contest: Contest, classes: Path, library: str, name: str) -> None:
    """Labels are read alone first; then each row is read once."""
    dataset = pytest.importorskip("pyarrow.dataset")

    def fit() -> Any:
        if library == "assay":
            return peer("assay.discriminant", name)().fit(str(classes), "y")
        return sum(batch.num_rows for batch in dataset.dataset(classes).to_batches())

    def quality(result: Any) -> float:
        return float(result.class_count_.sum()) if library == "assay" else float(result)

    data = f"Parquet n={5 * rows(1_000_000):.0e} d=100, 10 classes"
    contest.run(name, data, library, fit, quality, rounds=2)


NARROW = [f"x{index}" for index in range(20)]
N_NARROW = 10_000_000
AT_ONCE = 250_000
HELD_OUT = 50_000


def labelled(rng: np.random.Generator, n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    X = rng.standard_normal((n_rows, len(NARROW)))
    score = X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(n_rows)
    return X, (score > 0).astype(np.float64)


@pytest.fixture(scope="module")
def narrow(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file of ten million rows of 20 columns and a label, written block by block."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("narrow") / "rows.parquet"
    rng, total = np.random.default_rng(6), rows(N_NARROW)
    schema = pa.schema([(name, pa.float64()) for name in [*NARROW, "y"]])
    with parquet.ParquetWriter(path, schema) as writer:
        for start in range(0, total, AT_ONCE):
            X, y = labelled(rng, min(AT_ONCE, total - start))
            writer.write_table(pa.table({**dict(zip(NARROW, X.T, strict=True)), "y": y}, schema=schema))
    yield path
    path.unlink()


def held_out_loss(model: Any) -> float:
    X, y = labelled(np.random.default_rng(7), HELD_OUT)
    chances = np.clip(model.predict_proba(X), 1e-15, 1.0)
    return float(-np.mean(np.log(chances[np.arange(len(y)), y.astype(int)])))


@pytest.mark.parametrize("library", ["assay", "lightgbm, loaded"])
def test_boosting(contest: Contest, narrow: Path, library: str) -> None:
    """50 rounds of 31 leaves; the other library is given the table as an array, read for it."""

    def fit() -> Any:
        if library == "assay":
            boosting = peer("assay.trees", "HistGradientBoostingClassifier")(
                max_iter=50, early_stopping=False
            )
            return boosting.fit(str(narrow), "y")
        table = peer("pyarrow.parquet", "read_table")(narrow)
        X = np.column_stack([table.column(name).to_numpy() for name in NARROW])
        y = table.column("y").to_numpy()
        del table
        settings: dict[str, Any] = {"n_estimators": 50, "num_leaves": 31, "n_jobs": 2, "verbose": -1}
        return peer("lightgbm", "LGBMClassifier")(**settings).fit(X, y)

    data = f"Parquet n={rows(N_NARROW):.0e} d=20"
    contest.run("HistGradientBoosting", data, library, fit, held_out_loss, rounds=1)
