"""Spectral clustering: the graph of nearest neighbours cut by its eigenvectors, to the same NormCut."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse

from assay.graphs import nearest_neighbors_graph, norm_cut
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

N_CLUSTERS, N_NEIGHBORS = 8, 10


def blobs(n_samples: int, n_features: int) -> np.ndarray:
    rng = np.random.default_rng(1)
    centers = rng.uniform(-10, 10, size=(N_CLUSTERS, n_features))
    spread = 1.5 if n_features == 2 else 3.0
    chosen = centers[rng.integers(0, N_CLUSTERS, size=n_samples)]
    return chosen + spread * rng.standard_normal((n_samples, n_features))


def cut(labels: np.ndarray, X: np.ndarray) -> float:
    """NormCut in one graph, the same for all."""
    return norm_cut(nearest_neighbors_graph(X, N_NEIGHBORS), labels).value


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
@pytest.mark.parametrize("n_features", [2, 10])
def test_neighbours(contest: Contest, n_features: int, library: str) -> None:
    X = blobs(rows(5_000), n_features)
    options = {"affinity": "nearest_neighbors", "random_state": 0}
    if library == "assay":
        kind = peer("assay.cluster", "SpectralClustering")
        options["n_neighbors"] = N_NEIGHBORS
    else:
        kind = peer("sklearn.cluster", "SpectralClustering")
        options["n_neighbors"] = N_NEIGHBORS + 1  # the row itself is counted there

    def fit():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a graph in several parts: both say so
            return kind(N_CLUSTERS, **options).fit(X)

    contest.run(
        f"SpectralClustering, {N_NEIGHBORS} neighbours",
        f"n={len(X):.0e} d={n_features} k={N_CLUSTERS}",
        library,
        fit,
        lambda model: cut(model.labels_, X),
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_given_graph(contest: Contest, library: str) -> None:
    """The eigenvectors and the rounding alone, on one and the same graph."""
    X = blobs(rows(5_000), 3)
    W = sparse.csr_matrix(nearest_neighbors_graph(X, N_NEIGHBORS))
    module = "assay.cluster" if library == "assay" else "sklearn.cluster"
    kind = peer(module, "SpectralClustering")
    contest.run(
        "SpectralClustering, given graph",
        f"n={len(X):.0e} k={N_CLUSTERS}",
        library,
        lambda: kind(N_CLUSTERS, affinity="precomputed", random_state=0).fit(W),
        lambda model: norm_cut(W, model.labels_).value,
    )


@pytest.mark.parametrize("n_features", [2, 10])
def test_many_rows(contest: Contest, n_features: int) -> None:
    """Memory is part of the result: 50,000 rows below 4 GiB."""
    X = blobs(rows(50_000), n_features)
    kind = peer("assay.cluster", "SpectralClustering")
    contest.run(
        f"SpectralClustering, {N_NEIGHBORS} neighbours",
        f"n={len(X):.0e} d={n_features} k={N_CLUSTERS}",
        "assay",
        lambda: kind(N_CLUSTERS, n_neighbors=N_NEIGHBORS, random_state=0).fit(X),
        lambda model: model.norm_cut_,
        rounds=1,
    )
