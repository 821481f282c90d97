"""Neighbours, spanning trees and matrices of distances: the same answers, in how much time and memory."""

from __future__ import annotations

import numpy as np
import pytest

from assay.distances import (
    NeighborSearch,
    condensed_distances,
    distance_matrix,
    euclidean_spanning_tree,
)
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer


def normal(n_rows: int, n_features: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_rows, n_features))


def blobs(n_rows: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    centers = rng.uniform(-10, 10, size=(20, 3))
    return centers[rng.integers(0, 20, size=n_rows)] + rng.standard_normal((n_rows, 3))


BUILD = {
    "assay": lambda X: NeighborSearch(X, method="kd_tree"),
    "SciPy": lambda X: peer("scipy.spatial", "cKDTree")(X),
    "sklearnex": lambda X: peer("sklearnex.neighbors", "NearestNeighbors")(algorithm="kd_tree").fit(X),
}

NEAREST = {
    "assay": lambda built, queries, k: built.nearest(k, queries)[0],
    "SciPy": lambda built, queries, k: built.query(queries, k, workers=2)[0],
    "sklearnex": lambda built, queries, k: built.kneighbors(queries, n_neighbors=k)[0],
}


@pytest.mark.parametrize("library", BUILD)
def test_build_of_a_tree(contest: Contest, library: str) -> None:
    X = normal(rows(1_000_000), 5)
    contest.run(
        "KD-tree build", f"n={len(X):.0e} d=5", library, lambda: BUILD[library](X), lambda built: len(X)
    )


@pytest.mark.parametrize("library", BUILD)
@pytest.mark.parametrize("n_features", [2, 5])
def test_nearest_by_a_tree(contest: Contest, library: str, n_features: int) -> None:
    X, queries = normal(rows(1_000_000), n_features), normal(rows(100_000), n_features, seed=1)
    built = BUILD[library](X)
    contest.run(
        "10 nearest by KD-tree",
        f"{len(queries):.0e} queries of {len(X):.0e} rows, d={n_features}",
        library,
        lambda: NEAREST[library](built, queries, 10),
        lambda distances: float(distances.sum()),
    )


BRUTE = {
    "assay": lambda X: NeighborSearch(X, method="brute"),
    "sklearnex": lambda X: peer("sklearnex.neighbors", "NearestNeighbors")(algorithm="brute").fit(X),
    "scikit-learn": lambda X: peer("sklearn.neighbors", "NearestNeighbors")(algorithm="brute").fit(X),
}


@pytest.mark.parametrize("library", BRUTE)
def test_nearest_by_brute_force(contest: Contest, library: str) -> None:
    X, queries = normal(rows(100_000), 32), normal(rows(10_000), 32, seed=1)
    built = BRUTE[library](X)
    nearest = NEAREST["assay" if library == "assay" else "sklearnex"]
    contest.run(
        "10 nearest by brute force",
        f"{len(queries):.0e} queries of {len(X):.0e} rows, d=32",
        library,
        lambda: nearest(built, queries, 10),
        lambda distances: float(distances.sum()),
    )


@pytest.mark.parametrize("library", ["assay", "SciPy"])
def test_rows_within_a_radius(contest: Contest, library: str) -> None:
    X = blobs(rows(200_000))
    built = BUILD[library](X)

    def count():
        if library == "assay":
            return built.count_within(0.2)
        return built.query_ball_point(X, 0.2, workers=2, return_length=True)

    contest.run("rows within 0.2", f"n={len(X):.0e} d=3", library, count, lambda counts: float(counts.sum()))


def single_linkage(X: np.ndarray) -> np.ndarray:
    return peer("fastcluster", "linkage_vector")(X, method="single")[:, 2]


@pytest.mark.parametrize("library", ["assay", "fastcluster"])
def test_spanning_tree(contest: Contest, library: str) -> None:
    X = normal(rows(100_000), 3)
    contest.run(
        "Euclidean spanning tree",
        f"n={len(X):.0e} d=3",
        library,
        (lambda: euclidean_spanning_tree(X).length) if library == "assay" else (lambda: single_linkage(X)),
        lambda length: float(length.sum()),
        rounds=3 if library == "assay" else 1,
    )


MATRICES = {
    "assay": distance_matrix,
    "scikit-learn": lambda X, metric: peer("sklearn.metrics", "pairwise_distances")(
        X, metric=metric, n_jobs=2
    ),
    "SciPy": lambda X, metric: peer("scipy.spatial.distance", "cdist")(
        X, X, metric.replace("manhattan", "cityblock")
    ),
}


@pytest.mark.parametrize("library", MATRICES)
@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_matrix(contest: Contest, library: str, metric: str) -> None:
    X = normal(rows(10_000), 10)
    contest.run(
        f"{metric} matrix",
        f"n={len(X):.0e} d=10",
        library,
        lambda: MATRICES[library](X, metric=metric),
        lambda matrix: float(matrix[0].sum()),
    )


@pytest.mark.parametrize("library", ["assay", "SciPy"])
def test_condensed(contest: Contest, library: str) -> None:
    X = normal(rows(10_000), 10)
    contest.run(
        "condensed Euclidean distances",
        f"n={len(X):.0e} d=10",
        library,
        (lambda: condensed_distances(X))
        if library == "assay"
        else (lambda: peer("scipy.spatial.distance", "pdist")(X)),
        lambda distances: float(distances[:1_000].sum()),
    )
