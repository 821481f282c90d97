"""k-means and its kin: from one initialisation to the same inertia, in memory and on disk."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.cluster", "sklearnex": "sklearnex.cluster", "scikit-learn": "sklearn.cluster"}
WITHOUT_SKLEARNEX = {name: LIBRARIES[name] for name in ("assay", "scikit-learn")}


def blobs(n_samples: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng(1)
    centers = 10 * rng.uniform(-1, 1, size=(50, 20))
    return centers[rng.integers(0, 50, size=n_samples)] + spread * rng.standard_normal((n_samples, 20))


@pytest.fixture(scope="session")
def tables() -> dict[str, np.ndarray]:
    n = rows(1_000_000)
    return {"blobs": blobs(n, 3.0), "noise": np.random.default_rng(2).standard_normal((n, 20))}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("table", ["blobs", "noise"])
def test_twenty_iterations(contest: Contest, tables, table: str, dtype: str, library: str) -> None:
    X = tables[table].astype(dtype)
    init = X[np.random.default_rng(3).choice(len(X), 50, replace=False)]
    kind = peer(LIBRARIES[library], "KMeans")

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # twenty iterations are not convergence, and all say so
            return kind(50, init=init, n_init=1, max_iter=20, tol=0).fit(X)

    contest.run(
        f"KMeans, 20 iterations, {dtype}",
        f"{table} n={len(X):.0e} d=20 k=50",
        library,
        fit,
        lambda model: float(model.inertia_),
    )


@pytest.mark.parametrize("table", ["blobs", "noise"])
def test_twenty_iterations_of_faiss(contest: Contest, tables, table: str) -> None:
    faiss = pytest.importorskip("faiss", reason="faiss is not installed")
    X = tables[table].astype("float32")
    init = X[np.random.default_rng(3).choice(len(X), 50, replace=False)]

    def fit():
        model = faiss.Kmeans(20, 50, niter=20, max_points_per_centroid=len(X), seed=0)
        model.train(X, init_centroids=init)
        return model

    contest.run(
        "KMeans, 20 iterations, float32",
        f"{table} n={len(X):.0e} d=20 k=50",
        "faiss",
        fit,
        lambda model: float(model.index.search(X, 1)[0].sum()),
    )


@pytest.mark.parametrize("library", WITHOUT_SKLEARNEX)
@pytest.mark.parametrize("table", ["blobs", "noise"])
def test_a_thousand_clusters(contest: Contest, table: str, library: str) -> None:
    rng, n = np.random.default_rng(0), rows(200_000)
    X = rng.standard_normal((n, 64))
    if table == "blobs":
        X = rng.uniform(-5, 5, (1000, 64))[rng.integers(0, 1000, n)] + 2 * X
    kind, init = peer(LIBRARIES[library], "KMeans"), X[:1000].copy()
    contest.run(
        "KMeans to convergence",
        f"{table} n={n:.0e} d=64 k=1000",
        library,
        lambda: kind(1000, init=init, n_init=1).fit(X),
        lambda model: float(model.inertia_),
        rounds=1,
    )


@pytest.mark.parametrize("library", WITHOUT_SKLEARNEX)
@pytest.mark.parametrize("table", ["blobs", "noise"])
def test_ten_restarts(contest: Contest, tables, table: str, library: str) -> None:
    X = tables[table][: rows(100_000)]
    kind = peer(LIBRARIES[library], "KMeans")
    # What scikit-learn calls k-means++ is its greedy form.
    init = "greedy-k-means++" if library == "assay" else "k-means++"

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # noise may need more than 300 iterations
            return kind(50, init=init, n_init=10, random_state=0).fit(X)

    contest.run(
        "KMeans, 10 restarts of greedy k-means++",
        f"{table} n={len(X):.0e} d=20 k=50",
        library,
        fit,
        lambda model: float(model.inertia_),
        rounds=1,
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("shape", [(2000, 5, 8), (20_000, 100, 100)])
def test_middling_tables(contest: Contest, shape: tuple[int, int, int], library: str) -> None:
    n, n_features, n_clusters = shape
    X = np.random.default_rng(0).standard_normal((n, n_features))
    kind, init = peer(LIBRARIES[library], "KMeans"), X[:n_clusters].copy()
    contest.run(
        "KMeans",
        f"n={n} d={n_features} k={n_clusters}",
        library,
        lambda: kind(n_clusters, init=init, n_init=1).fit(X),
        lambda model: float(model.inertia_),
        rounds=10,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_iris(contest: Contest, small, library: str) -> None:
    X, _ = small
    kind = peer(LIBRARIES[library], "KMeans")
    contest.run(
        "KMeans",
        "iris, k=3",
        library,
        lambda: kind(3, random_state=0).fit(X),
        lambda model: float(model.inertia_),
        rounds=100,
        iterations=3,
    )


@pytest.mark.parametrize("library", WITHOUT_SKLEARNEX)
@pytest.mark.parametrize("name", ["MiniBatchKMeans", "BisectingKMeans"])
@pytest.mark.parametrize("table", ["blobs", "noise"])
def test_batches_and_bisection(contest: Contest, tables, table: str, name: str, library: str) -> None:
    X, kind = tables[table], peer(LIBRARIES[library], name)
    contest.run(
        name,
        f"{table} n={len(X):.0e} d=20 k=50",
        library,
        lambda: kind(50, random_state=0).fit(X),
        lambda model: float(model.inertia_),
    )


@pytest.fixture(scope="module")
def parquet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Ten files of a million rows and twenty columns."""
    pa = pytest.importorskip("pyarrow")
    writer = pytest.importorskip("pyarrow.parquet")
    path = tmp_path_factory.mktemp("parquet")
    rng = np.random.default_rng(5)
    centers = 10 * rng.uniform(-1, 1, size=(12, 20))
    for index in range(10):
        X = centers[rng.integers(0, 12, rows(1_000_000))] + 3 * rng.standard_normal((rows(1_000_000), 20))
        table = pa.table({f"x{j}": X[:, j] for j in range(20)})
        writer.write_table(table, path / f"part{index}.parquet")
        del X, table
    yield path
    for file in path.iterdir():
        file.unlink()


@pytest.mark.parametrize("name", ["KMeans", "MiniBatchKMeans", "BisectingKMeans"])
def test_rows_on_disk(contest: Contest, parquet: Path, name: str) -> None:
    kind = peer("assay.cluster", name)
    contest.run(
        name,
        f"Parquet n={10 * rows(1_000_000):.0e} d=20 k=12",
        "assay",
        lambda: kind(12, random_state=0).fit(str(parquet)),
        lambda model: float(model.inertia_),
        rounds=1,
    )
