"""Neighbours beside their peers: the same votes and distances, in how much time and memory."""

from __future__ import annotations

import numpy as np
import pytest

from assay.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors
from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {
    "assay": "assay.neighbors",
    "sklearnex": "sklearnex.neighbors",
    "scikit-learn": "sklearn.neighbors",
}


def normal(n_rows: int, n_features: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((n_rows, n_features))


def classes(X: np.ndarray) -> np.ndarray:
    noise = np.random.default_rng(2).standard_normal(len(X))
    return (X[:, 0] + X[:, 1] ** 2 + noise > 1).astype(int)


@pytest.mark.parametrize("library", LIBRARIES)
def test_nearest_by_brute_force(contest: Contest, library: str) -> None:
    X, queries = normal(rows(100_000), 32), normal(rows(10_000), 32, seed=1)
    kind = NearestNeighbors if library == "assay" else peer(LIBRARIES[library], "NearestNeighbors")
    model = kind(n_neighbors=10, algorithm="brute").fit(X)
    contest.run(
        "10 nearest, brute force",
        f"{len(queries):.0e} queries of {len(X):.0e} rows, d=32",
        library,
        lambda: model.kneighbors(queries)[0],
        lambda distances: float(distances.sum()),
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_votes_by_a_tree(contest: Contest, library: str) -> None:
    X, queries = normal(rows(1_000_000), 5), normal(rows(100_000), 5, seed=1)
    kind = KNeighborsClassifier if library == "assay" else peer(LIBRARIES[library], "KNeighborsClassifier")
    y, truth = classes(X), classes(queries)
    model = kind(n_neighbors=10, algorithm="kd_tree").fit(X, y)
    contest.run(
        "classes by 10 nearest, tree",
        f"{len(queries):.0e} queries of {len(X):.0e} rows, d=5",
        library,
        lambda: model.predict(queries),
        lambda labels: float(np.mean(labels == truth)),
    )


@pytest.mark.parametrize("what", ["one search", "errors of 1 to 100"])
def test_leave_one_out_errors_of_every_number(contest: Contest, what: str) -> None:
    X = normal(rows(100_000), 5)
    model = KNeighborsClassifier(100).fit(X, classes(X))

    def errors() -> float:
        if what == "one search":
            return float(model.kneighbors(n_neighbors=100)[0][0, 0] >= 0)
        return float(model.score_path(max_neighbors=100).error.min())

    contest.run("leave-one-out, k = 1 to 100", f"n={len(X):.0e} d=5", f"assay, {what}", errors, float)


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_small_fit_and_prediction(contest: Contest, library: str) -> None:
    X, y = normal(150, 4), normal(150, 1)[:, 0]
    kind = KNeighborsRegressor if library == "assay" else peer(LIBRARIES[library], "KNeighborsRegressor")

    def hundred() -> float:
        return float(sum(kind(5).fit(X, y).predict(X).sum() for _ in range(100)))

    contest.run("100 small fits and predictions", "n=150 d=4", library, hundred, float)
