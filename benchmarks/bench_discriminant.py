"""Discriminant analysis: one walk over the moments of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.discriminant", "scikit-learn": "sklearn.discriminant_analysis"}
SOLVERS = ("svd", "lsqr")


@pytest.fixture(scope="module")
def gaussian_classes() -> tuple[Any, Any]:
    """Ten Gaussian classes of a hundred correlated columns."""
    rng = np.random.default_rng(0)
    n, d, k = rows(1_000_000), 100, 10
    y = rng.integers(0, k, n)
    X = rng.standard_normal((n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    X += rng.normal(scale=0.3, size=(k, d))[y]
    return X, y


def accuracy(X: Any, y: Any) -> Any:
    """Share of the first rows that a model gets right."""
    return lambda model: float(np.mean(model.predict(X[:20_000]) == y[:20_000]))


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("library", LIBRARIES)
def test_linear(contest: Contest, gaussian_classes, library: str, solver: str) -> None:
    X, y = gaussian_classes
    kind = peer(LIBRARIES[library], "LinearDiscriminantAnalysis")
    contest.run(
        f"LinearDiscriminantAnalysis, {solver}",
        f"n={len(X)} d=100, 10 classes",
        library,
        lambda: kind(solver=solver).fit(X, y),
        accuracy(X, y),
        rounds=3,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_quadratic(contest: Contest, gaussian_classes, library: str) -> None:
    X, y = gaussian_classes
    kind = peer(LIBRARIES[library], "QuadraticDiscriminantAnalysis")
    contest.run(
        "QuadraticDiscriminantAnalysis",
        f"n={len(X)} d=100, 10 classes",
        library,
        lambda: kind().fit(X, y),
        accuracy(X, y),
        rounds=3,
    )


@pytest.mark.parametrize("name", ["LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_small(contest: Contest, library: str, name: str) -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    kind = peer(LIBRARIES[library], name)
    contest.run(name, "iris", library, lambda: kind().fit(X, y), accuracy(X, y), rounds=100, iterations=3)
