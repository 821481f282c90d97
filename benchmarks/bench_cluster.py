"""k-means: from one initialisation to the same inertia."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.cluster", "sklearnex": "sklearnex.cluster", "scikit-learn": "sklearn.cluster"}


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
        f"KMeans n={len(X):.0e} d=20 k=50, 20 iterations, {table}, {dtype}",
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
        f"KMeans n={len(X):.0e} d=20 k=50, 20 iterations, {table}, float32",
        "faiss",
        fit,
        lambda model: float(model.index.search(X, 1)[0].sum()),
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_iris(contest: Contest, small, library: str) -> None:
    X, _ = small
    kind = peer(LIBRARIES[library], "KMeans")
    contest.run(
        "KMeans k=3 on iris",
        library,
        lambda: kind(3, random_state=0).fit(X),
        lambda model: float(model.inertia_),
        rounds=100,
        iterations=3,
    )
