"""Hierarchical clustering: the same tree, by the sum of its heights, in less time and memory."""

from __future__ import annotations

import numpy as np
import pytest

from assay.cluster import AgglomerativeClustering
from benchmarks.conftest import rows
from benchmarks.contest import Contest


def table(n_samples: int, n_features: int) -> np.ndarray:
    return np.random.default_rng(4).standard_normal((n_samples, n_features))


def by_assay(X: np.ndarray, linkage: str):
    return lambda: AgglomerativeClustering(10, linkage=linkage).fit(X).distances_


def by_fastcluster(X: np.ndarray, linkage: str):
    fastcluster = pytest.importorskip("fastcluster", reason="fastcluster is not installed")
    if linkage == "single":  # without the matrix of all pairs
        return lambda: fastcluster.linkage_vector(X, "single")[:, 2]
    return lambda: fastcluster.linkage(X, linkage)[:, 2]


def by_scipy(X: np.ndarray, linkage: str):
    from scipy.cluster import hierarchy

    return lambda: hierarchy.linkage(X, linkage)[:, 2]


def by_scikit_learn(X: np.ndarray, linkage: str):
    from sklearn.cluster import AgglomerativeClustering as Peer

    return lambda: Peer(10, linkage=linkage, compute_distances=True).fit(X).distances_


LIBRARIES = {
    "assay": by_assay,
    "fastcluster": by_fastcluster,
    "SciPy": by_scipy,
    "scikit-learn": by_scikit_learn,
}


def total_height(heights: np.ndarray) -> float:
    return float(np.sum(heights))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("linkage", ["average", "complete", "ward"])
def test_all_pairs(contest: Contest, linkage: str, library: str) -> None:
    X = table(rows(10_000), 10)
    contest.run(
        f"{linkage} linkage", f"n={len(X)} d=10", library, LIBRARIES[library](X, linkage), total_height
    )


@pytest.mark.parametrize("library", ["assay", "fastcluster"])
def test_single(contest: Contest, library: str) -> None:
    X = table(rows(100_000), 3)
    contest.run(
        "single linkage",
        f"n={len(X):.0e} d=3",
        library,
        LIBRARIES[library](X, "single"),
        total_height,
        rounds=3 if library == "assay" else 1,
    )


@pytest.mark.parametrize("library", ["assay", "fastcluster", "SciPy"])
@pytest.mark.parametrize("linkage", ["centroid", "median", "weighted"])
def test_other_linkages(contest: Contest, linkage: str, library: str) -> None:
    X = table(rows(5000), 10)
    contest.run(
        f"{linkage} linkage", f"n={len(X)} d=10", library, LIBRARIES[library](X, linkage), total_height
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("linkage", ["ward", "average"])
def test_iris(contest: Contest, small, linkage: str, library: str) -> None:
    X, _ = small
    contest.run(
        f"{linkage} linkage",
        "iris",
        library,
        LIBRARIES[library](X, linkage),
        total_height,
        rounds=100,
        iterations=3,
    )
