"""Kernel features with a linear machine on them, beside scikit-learn's pair, in memory and from Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

FEATURES = {"assay": "assay.kernel_machines", "scikit-learn": "sklearn.kernel_approximation"}
MACHINES = {"assay": "assay.linear", "scikit-learn": "sklearn.svm"}
N_LANDMARKS = 500
N_ROWS = 200_000
N_ON_DISK = 1_000_000
COLUMNS = [f"x{index}" for index in range(20)]


def labelled(n_rows: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Rows whose classes no plane separates."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n_rows, 20))
    score = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2 - 0.5
    return X, (score + 0.3 * rng.standard_normal(n_rows) > 0).astype(np.float64)


@pytest.mark.parametrize("library", FEATURES)
def test_nystroem_and_linear_machine(contest: Contest, library: str) -> None:
    """The same rows are the landmarks of both, so that both minimise one objective, that of liblinear."""
    X, y = labelled(rows(N_ROWS))
    features, machine = peer(FEATURES[library], "Nystroem"), peer(MACHINES[library], "LinearSVC")
    options = {"intercept_scaling": 1.0, "tol": 1e-6} if library == "assay" else {"dual": "auto"}

    def fit() -> tuple[Any, Any]:
        fitted = features(n_components=N_LANDMARKS, random_state=0).fit(X[:N_LANDMARKS])
        return fitted, machine(**options).fit(fitted.transform(X), y)

    def objective(model: tuple[Any, Any]) -> float:
        coef, intercept = model[1].coef_[0], float(model[1].intercept_[0])
        scores = np.where(y > 0, 1, -1) * (model[0].transform(X) @ coef + intercept)
        return float((coef @ coef + intercept**2) / 2 + np.sum(np.maximum(0, 1 - scores) ** 2))

    data = f"n={len(X):.0e} d=20 m={N_LANDMARKS}"
    contest.run("Nystroem + LinearSVC", data, library, fit, objective, rounds=1)


@pytest.mark.parametrize("library", FEATURES)
def test_nystroem_alone(contest: Contest, library: str) -> None:
    X, _ = labelled(rows(N_ROWS // 4))
    kind = peer(FEATURES[library], "Nystroem")
    contest.run(
        "Nystroem, features",
        f"n={len(X):.0e} d=20 m={N_LANDMARKS}",
        library,
        lambda: kind(n_components=N_LANDMARKS, random_state=0).fit_transform(X),
        lambda table: float(1.0 - np.mean((table**2).sum(axis=1))),
    )


@pytest.mark.parametrize("library", FEATURES)
def test_random_fourier_features(contest: Contest, library: str) -> None:
    X, _ = labelled(rows(N_ROWS // 2))
    name = "RandomFourierFeatures" if library == "assay" else "RBFSampler"
    kind = peer(FEATURES[library], name)
    contest.run(
        "RandomFourierFeatures",
        f"n={len(X):.0e} d=20 D={N_LANDMARKS}",
        library,
        lambda: kind(gamma=0.05, n_components=N_LANDMARKS, random_state=0).fit_transform(X),
        lambda table: float(np.mean(table**2) * table.shape[1]),
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A million rows of 20 columns and a label, written block by block."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path, total = tmp_path_factory.mktemp("features") / "rows.parquet", rows(N_ON_DISK)
    schema = pa.schema([(name, pa.float64()) for name in [*COLUMNS, "y"]])
    with parquet.ParquetWriter(path, schema) as writer:
        for index, start in enumerate(range(0, total, 100_000)):
            X, y = labelled(min(100_000, total - start), seed=index + 2)
            writer.write_table(pa.table({**dict(zip(COLUMNS, X.T, strict=True)), "y": y}, schema=schema))
    yield path
    path.unlink()


def test_from_parquet(contest: Contest, file: Path) -> None:
    """The features of a block are made anew in every walk: 4 GB of them are never in memory."""
    features, machine = peer("assay.kernel_machines", "Nystroem"), peer("assay.linear", "LinearSVC")

    def fit() -> tuple[Any, Any]:
        fitted = features(n_components=N_LANDMARKS, random_state=0).fit(str(file), "y")
        return fitted, machine(tol=1e-6).fit(fitted.features(str(file), "y"))

    def quality(model: tuple[Any, Any]) -> float:
        X, y = labelled(20_000, seed=1)
        table = dict(zip(COLUMNS, X.T, strict=True))
        frame = peer("pandas", "DataFrame")(table)
        return float(np.mean(model[1].predict(model[0].transform(frame)) == y))

    data = f"Parquet n={rows(N_ON_DISK):.0e} d=20 m={N_LANDMARKS}"
    contest.run("Nystroem + LinearSVC", data, "assay", fit, quality, rounds=1)
