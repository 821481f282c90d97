"""Density clustering: DBSCAN to the same core rows and clusters, OPTICS and HDBSCAN to the same orders."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.cluster", "scikit-learn": "sklearn.cluster"}
RADIUS = {3: 0.2, 10: 1.3}


def blobs_in_noise(n_samples: int, n_features: int) -> np.ndarray:
    """Fifty Gaussian blobs of standard deviation ½ in [−10, 10]^d, and 5 % of uniform noise."""
    rng = np.random.default_rng(0)
    centers = rng.uniform(-10, 10, size=(50, n_features))
    n_blobs = int(0.95 * n_samples)
    inside = centers[rng.integers(0, 50, n_blobs)] + 0.5 * rng.standard_normal((n_blobs, n_features))
    noise = rng.uniform(-10, 10, size=(n_samples - n_blobs, n_features))
    return np.vstack([inside, noise])[rng.permutation(n_samples)]


def n_core(model) -> float:
    return float(len(model.core_sample_indices_))


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("n_features", [3, 10])
def test_dbscan(contest: Contest, n_features: int, library: str) -> None:
    X = blobs_in_noise(rows(200_000), n_features)
    kind, eps = peer(LIBRARIES[library], "DBSCAN"), RADIUS[n_features]
    threads = {} if library == "assay" else {"n_jobs": 2}
    contest.run(
        "DBSCAN (quality: core rows)",
        f"n={len(X):.0e} d={n_features} eps={eps} m=10",
        library,
        lambda: kind(eps=eps, min_samples=10, **threads).fit(X),
        n_core,
        rounds=3 if library == "assay" or n_features == 3 else 1,
    )


@pytest.mark.parametrize("n_features", [3, 10])
def test_dbscan_of_the_dbscan_package(contest: Contest, n_features: int) -> None:
    dbscan = peer("dbscan", "DBSCAN")
    X = blobs_in_noise(rows(200_000), n_features)
    eps = RADIUS[n_features]

    def fit():
        labels, is_core = dbscan(X, eps=eps, min_samples=10)
        return SimpleNamespace(labels_=labels, core_sample_indices_=np.flatnonzero(is_core))

    contest.run(
        "DBSCAN (quality: core rows)", f"n={len(X):.0e} d={n_features} eps={eps} m=10", "dbscan", fit, n_core
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_dbscan_on_iris(contest: Contest, small, library: str) -> None:
    X, _ = small
    kind = peer(LIBRARIES[library], "DBSCAN")
    contest.run(
        "DBSCAN (quality: core rows)",
        "iris",
        library,
        lambda: kind().fit(X),
        n_core,
        rounds=100,
        iterations=3,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_optics(contest: Contest, library: str) -> None:
    X = blobs_in_noise(rows(10_000), 3)
    kind = peer(LIBRARIES[library], "OPTICS")
    contest.run(
        "OPTICS (quality: sum of reachabilities)",
        f"n={len(X):.0e} d=3 m=10",
        library,
        lambda: kind(min_samples=10).fit(X),
        lambda model: float(model.reachability_[np.isfinite(model.reachability_)].sum()),
        rounds=1,
    )


@pytest.mark.parametrize("library", [*LIBRARIES, "hdbscan"])
def test_hdbscan(contest: Contest, library: str) -> None:
    X = blobs_in_noise(rows(50_000), 3)
    kind = peer(LIBRARIES.get(library, library), "HDBSCAN")
    options = {"scikit-learn": {"copy": True, "n_jobs": 2}, "hdbscan": {"core_dist_n_jobs": 2}}
    contest.run(
        "HDBSCAN (quality: rows in clusters)",
        f"n={len(X):.0e} d=3 size=25",
        library,
        lambda: kind(min_cluster_size=25, **options.get(library, {})).fit(X),
        lambda model: float(np.count_nonzero(model.labels_ >= 0)),
        rounds=3 if library == "assay" else 1,
    )
