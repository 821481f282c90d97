"""Trees: one exact tree and forests of full trees, large and small."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

SINGLE = {"assay": "assay.trees", "scikit-learn": "sklearn.tree"}


@pytest.mark.parametrize("library", SINGLE)
def test_exact_tree_of_classes(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows(100_000), 20))
    score = X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    y = (score > 0).astype(int)
    kind = peer(SINGLE[library], "DecisionTreeClassifier")
    contest.run(
        "DecisionTreeClassifier, exact",
        f"n={len(X)} d=20",
        library,
        lambda: kind(random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(X) != y)),
        rounds=3,
    )


@pytest.mark.parametrize("library", SINGLE)
def test_exact_tree_of_numbers(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows(100_000), 20))
    y = X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    kind = peer(SINGLE[library], "DecisionTreeRegressor")
    contest.run(
        "DecisionTreeRegressor, exact",
        f"n={len(X)} d=20",
        library,
        lambda: kind(random_state=0, min_samples_leaf=5).fit(X, y),
        lambda model: float(np.mean((model.predict(X) - y) ** 2)),
        rounds=3,
    )


@pytest.mark.parametrize("library", SINGLE)
def test_iris(contest: Contest, small, library: str) -> None:
    X, y = small
    kind = peer(SINGLE[library], "DecisionTreeClassifier")
    contest.run(
        "DecisionTreeClassifier",
        "iris",
        library,
        lambda: kind(random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(X) != y)),
        rounds=100,
        iterations=3,
    )


FORESTS = {
    "assay": "assay.trees",
    "scikit-learn": "sklearn.ensemble",
    "sklearnex": "sklearnex.ensemble",
}


def forest_rows(n_rows: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows of two classes with an interaction and noise: those of the fit and 20,000 others."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows + 20_000, 20))
    score = X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    y = (score > 0).astype(int)
    return X[:n_rows], y[:n_rows], X[n_rows:], y[n_rows:]


@pytest.mark.parametrize("library", FORESTS)
def test_forest_of_classes(contest: Contest, library: str) -> None:
    X, y, others, truth = forest_rows(rows(100_000))
    kind = peer(FORESTS[library], "RandomForestClassifier")
    contest.run(
        "RandomForestClassifier, 100 full trees",
        f"n={len(X)} d=20",
        library,
        lambda: kind(100, n_jobs=2, random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(others) != truth)),
        rounds=2,
    )


@pytest.mark.parametrize("library", FORESTS)
def test_forest_of_numbers(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(1)
    X = rng.standard_normal((rows(50_000), 20))
    y = X[:, :5].sum(axis=1) + X[:, 0] * X[:, 1] + rng.standard_normal(len(X))
    half = len(X) // 2
    kind = peer(FORESTS[library], "RandomForestRegressor")
    contest.run(
        "RandomForestRegressor, 30 trees",
        f"n={half} d=20",
        library,
        lambda: kind(30, max_features=7, n_jobs=2, random_state=0).fit(X[:half], y[:half]),
        lambda model: float(np.mean((model.predict(X[half:]) - y[half:]) ** 2)),
        rounds=2,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_extra_trees(contest: Contest, library: str) -> None:
    X, y, others, truth = forest_rows(rows(100_000))
    kind = peer(FORESTS[library], "ExtraTreesClassifier")
    contest.run(
        "ExtraTreesClassifier, 20 full trees",
        f"n={len(X)} d=20",
        library,
        lambda: kind(20, n_jobs=2, random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(others) != truth)),
        rounds=2,
    )


@pytest.mark.parametrize("library", ["assay", "scikit-learn"])
def test_small_forest(contest: Contest, small, library: str) -> None:
    X, y = small
    kind = peer(FORESTS[library], "RandomForestClassifier")
    contest.run(
        "RandomForestClassifier, 100 trees",
        "iris",
        library,
        lambda: kind(100, random_state=0).fit(X, y),
        lambda model: float(np.mean(model.predict(X) != y)),
        rounds=20,
    )


@pytest.mark.parametrize("library", FORESTS)
def test_prediction(contest: Contest, library: str) -> None:
    X, y, *_ = forest_rows(20_000)
    new = np.random.default_rng(2).standard_normal((rows(1_000_000), 20))
    model = peer(FORESTS[library], "RandomForestRegressor")(
        100, max_leaf_nodes=31, n_jobs=2, random_state=0
    ).fit(X, y)
    contest.run(
        "RandomForestRegressor.predict, 100 trees of 31 leaves",
        f"n={len(new)} d=20",
        library,
        lambda: model.predict(new),
        lambda said: float(np.mean((said - (new[:, :5].sum(axis=1) + new[:, 0] * new[:, 1] > 0)) ** 2)),
        rounds=2,
    )
