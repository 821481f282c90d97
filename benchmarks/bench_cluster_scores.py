"""Scores of partitions: silhouettes, and the indices that walk the rows, to the same number."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

SILHOUETTE = {
    "assay": ("assay.cluster", "silhouette"),
    "scikit-learn": ("sklearn.metrics", "silhouette_samples"),
}
INDICES = {
    "Calinski–Harabasz": {
        "assay": ("assay.cluster", "calinski_harabasz"),
        "scikit-learn": ("sklearn.metrics", "calinski_harabasz_score"),
    },
    "Davies–Bouldin": {
        "assay": ("assay.cluster", "davies_bouldin"),
        "scikit-learn": ("sklearn.metrics", "davies_bouldin_score"),
    },
}


def labelled(n_samples: int, n_features: int, n_clusters: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    labels = rng.integers(0, n_clusters, size=n_samples)
    centers = 4 * rng.standard_normal((n_clusters, n_features))
    return centers[labels] + 2 * rng.standard_normal((n_samples, n_features)), labels


@pytest.mark.parametrize("library", SILHOUETTE)
@pytest.mark.parametrize(("n_features", "n_clusters"), [(10, 10), (2, 10), (50, 10), (10, 200)])
def test_silhouette(contest: Contest, n_features: int, n_clusters: int, library: str) -> None:
    X, labels = labelled(rows(20_000), n_features, n_clusters)
    score = peer(*SILHOUETTE[library])
    contest.run(
        "silhouette",
        f"n={len(X)} d={n_features} k={n_clusters}",
        library,
        lambda: score(X, labels),
        lambda scores: float(scores.mean() if isinstance(scores, np.ndarray) else scores.mean),
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
@pytest.mark.parametrize("index", INDICES)
def test_index(contest: Contest, index: str, library: str) -> None:
    X, labels = labelled(rows(1_000_000), 20, 50)
    score = peer(*INDICES[index][library])
    contest.run(index, f"n={len(X):.0e} d=20 k=50", library, lambda: score(X, labels), float)


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_silhouette_of_iris(contest: Contest, small, library: str) -> None:
    X, species = small
    labels = species.astype(int)
    score = peer(*SILHOUETTE[library])
    contest.run(
        "silhouette",
        "iris",
        library,
        lambda: score(X, labels),
        lambda scores: float(scores.mean() if isinstance(scores, np.ndarray) else scores.mean),
        rounds=100,
        iterations=3,
    )
