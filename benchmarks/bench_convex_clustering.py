"""Convex clustering to a proven gap, and biclusterings beside scikit-learn's spectral ones.

No installed library solves convex clustering: the peer is alternating direction with a factorised Laplacian
in NumPy and SciPy, the textbook method, run to the same relative gap.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu
from sklearn.datasets import make_biclusters, make_blobs, make_checkerboard

from assay.cluster import ConvexClustering
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.cluster", "scikit-learn": "sklearn.cluster"}
TOL = 1e-4


@pytest.fixture(scope="session")
def points() -> np.ndarray:
    return make_blobs(rows(5_000), n_features=10, centers=20, cluster_std=1.5, random_state=0)[0]


def splitting(points: np.ndarray, edges: np.ndarray, radii: np.ndarray, max_iter: int = 20_000) -> float:
    """Alternating direction: a Laplacian solve and a projection, until the relative gap is at most TOL."""
    n_nodes, n_edges = len(points), len(edges)
    centred, radii = points - points.mean(axis=0), radii[:, np.newaxis]
    incidence = sparse.csr_array(
        (np.repeat([1.0, -1.0], n_edges), (np.tile(np.arange(n_edges), 2), edges.T.ravel())),
        shape=(n_edges, n_nodes),
    )
    solve = splu((sparse.eye_array(n_nodes) + incidence.T @ incidence).tocsc()).solve
    dual = np.zeros((n_edges, points.shape[1]))
    split = incidence @ centred
    for iteration in range(max_iter):
        centroids = solve(centred + incidence.T @ (split - dual))
        moved = incidence @ centroids + dual
        sizes = np.linalg.norm(moved, axis=1, keepdims=True)
        dual = moved * np.minimum(1.0, radii / np.maximum(sizes, 1e-300))
        split = moved - dual
        if iteration % 20 == 0:
            # At these centroids the gap is the slack of the edges alone.
            forces = incidence.T @ dual
            apart = incidence @ (centred - forces)
            penalty = float(np.sum(radii * np.linalg.norm(apart, axis=1, keepdims=True)))
            primal = float(np.sum(forces**2)) / 2 + penalty
            if penalty - np.sum(dual * apart) <= TOL * primal:
                break
    return primal


@pytest.fixture(scope="session")
def graph(points) -> ConvexClustering:
    """A model stopped at once, for its graph; its penalty is half of the largest useful one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ConvexClustering(max_iter=1).fit(points)


@pytest.mark.parametrize("library", ["assay", "NumPy/SciPy ADMM"])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_convex_clustering(contest: Contest, points, graph, share: float, library: str) -> None:
    penalty = share * 2 * graph.penalty_
    runs = {
        "assay": lambda: ConvexClustering(penalty, tol=TOL).fit(points).objective_,
        "NumPy/SciPy ADMM": lambda: splitting(points, graph.edges_, penalty * graph.edge_weights_),
    }
    contest.run(
        f"ConvexClustering, {share:g} of the largest penalty",
        f"n={len(points):.0e} d=10, 10 neighbours",
        library,
        runs[library],
        float,
        rounds=2,
    )


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_closed_form_and_norms(contest: Contest, points, norm: str) -> None:
    weights = "uniform" if norm == "l1" else "gaussian_knn"
    contest.run(
        f"ConvexClustering, {norm}, {weights}",
        f"n={len(points):.0e} d=10",
        "assay",
        lambda: ConvexClustering(norm=norm, weights=weights, tol=TOL).fit(points),
        lambda model: float(model.objective_),
        rounds=2,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_spectral_coclustering(contest: Contest, library: str) -> None:
    X, *truth = make_biclusters((2000, 1000), 8, noise=2.0, minval=5, maxval=10, random_state=0)
    X, score = np.abs(X), peer("sklearn.metrics", "consensus_score")
    kind = peer(LIBRARIES[library], "SpectralCoclustering")
    contest.run(
        "SpectralCoclustering (quality: agreement with the truth)",
        "2000×1000, 8 biclusters",
        library,
        lambda: kind(8, n_init=10, random_state=0).fit(X),
        lambda model: float(score(model.biclusters_, tuple(truth))),
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("method", ["bistochastic", "log"])
def test_spectral_biclustering(contest: Contest, method: str, library: str) -> None:
    X, *truth = make_checkerboard((1000, 600), (5, 4), noise=5.0, minval=10, maxval=60, random_state=0)
    X, score = np.abs(X), peer("sklearn.metrics", "consensus_score")
    kind = peer(LIBRARIES[library], "SpectralBiclustering")
    contest.run(
        f"SpectralBiclustering, {method} (quality: agreement with the truth)",
        "1000×600, 5×4 biclusters",
        library,
        lambda: kind((5, 4), method=method, n_init=10, random_state=0).fit(X),
        lambda model: float(score(model.biclusters_, tuple(truth))),
    )
