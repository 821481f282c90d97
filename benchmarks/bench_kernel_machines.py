"""Kernel ridge: all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.kernel_machines", "scikit-learn": "sklearn.kernel_ridge"}


@pytest.mark.parametrize("library", LIBRARIES)
def test_gaussian(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((rows(5000), 20))
    y = np.sin(X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.standard_normal(len(X))
    kind = peer(LIBRARIES[library], "KernelRidge")
    contest.run(
        "KernelRidge, rbf",
        f"n={len(X)} d=20",
        library,
        lambda: kind(alpha=0.1, kernel="rbf").fit(X, y),
        lambda model: float(np.mean((y - model.predict(X)) ** 2)),
        rounds=5,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_iris(contest: Contest, small, library: str) -> None:
    X, y = small
    kind = peer(LIBRARIES[library], "KernelRidge")
    contest.run(
        "KernelRidge, rbf",
        "iris",
        library,
        lambda: kind(kernel="rbf").fit(X, y),
        lambda model: float(np.mean((y - model.predict(X)) ** 2)),
        rounds=100,
        iterations=3,
    )
