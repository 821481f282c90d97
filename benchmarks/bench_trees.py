"""Trees: one exact tree against scikit-learn's, large and small."""

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
