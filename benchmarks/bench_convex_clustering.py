"""Convex clustering to a proven gap, and biclusterings beside scikit-learn's spectral ones.

No installed library solves convex clustering: the peer is alternating direction with a factorised Laplacian
in NumPy and SciPy, the textbook method, run to the same relative gap.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import splu
from sklearn.datasets import make_biclusters, make_blobs, make_checkerboard

from assay.cluster import ConvexClustering
from assay.cluster.convex.fusion import FusionProblem, duality_gap
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.cluster", "scikit-learn": "sklearn.cluster"}
TOL = 1e-4


@pytest.fixture(scope="session")
def points() -> np.ndarray:
    return make_blobs(rows(5_000), n_features=10, centers=20, cluster_std=1.5, random_state=0)[0]


def splitting(problem: FusionProblem, tol: float, max_iter: int = 20_000) -> float:
    """Alternating direction: a Laplacian solve and a projection, until the relative gap is at most tol."""
    n_nodes, edges, radii = len(problem.rows), problem.edges, problem.radii[:, np.newaxis]
    ends = np.arange(len(edges))
    incidence = sparse.csr_array(
        (np.repeat([1.0, -1.0], len(edges)), (np.tile(ends, 2), edges.T.ravel())), shape=(len(edges), n_nodes)
    )
    solve = splu((sparse.eye_array(n_nodes) + incidence.T @ incidence).tocsc()).solve
    dual = np.zeros((len(edges), problem.rows.shape[1]))
    split = incidence @ problem.rows
    for iteration in range(max_iter):
        centroids = solve(problem.rows + incidence.T @ (split - dual))
        moved = incidence @ centroids + dual
        sizes = np.linalg.norm(moved, axis=1, keepdims=True)
        dual = moved * np.minimum(1.0, radii / np.maximum(sizes, 1e-300))
        split = moved - dual
        if iteration % 20 == 0:
            gap = duality_gap(problem, problem.rows - incidence.T @ dual, dual)
            if gap.relative <= tol:
                break
    return gap.primal


@pytest.mark.parametrize("library", ["assay", "NumPy/SciPy ADMM"])
@pytest.mark.parametrize("share", [0.02, 0.2])
def test_convex_clustering(contest: Contest, points, share: float, library: str) -> None:
    model = ConvexClustering(tol=TOL)
    problem = model._problem(model._open_fit(points, None))
    penalty = share * problem.penalty_max(bridges=False)
    fitted = problem.at(penalty)
    runs = {
        "assay": lambda: ConvexClustering(penalty, tol=TOL).fit(points).objective_,
        "NumPy/SciPy ADMM": lambda: splitting(fitted, TOL),
    }
    contest.run(
        f"ConvexClustering n={len(points):.0e} d=10, 10 neighbours, {share:g} of the largest penalty",
        library,
        runs[library],
        float,
        rounds=2,
    )


@pytest.mark.parametrize("norm", ["l2", "l1", "linf"])
def test_closed_form_and_norms(contest: Contest, points, norm: str) -> None:
    weights = "uniform" if norm == "l1" else "gaussian_knn"
    contest.run(
        f"ConvexClustering n={len(points):.0e} d=10, {norm}, {weights}",
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
        "SpectralCoclustering 2000 × 1000, 8 biclusters (quality: agreement with the truth)",
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
        f"SpectralBiclustering 1000 × 600, 5 × 4, {method} (quality: agreement with the truth)",
        library,
        lambda: kind((5, 4), method=method, n_init=10, random_state=0).fit(X),
        lambda model: float(score(model.biclusters_, tuple(truth))),
    )
