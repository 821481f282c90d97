"""Least squares and ridge: tall tables."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.contest import Contest, peer

LIBRARIES = {
    "assay": "assay.linear",
    "sklearnex": "sklearnex.linear_model",
    "scikit-learn": "sklearn.linear_model",
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_tall(contest: Contest, tall, name: str, library: str) -> None:
    X, y = tall
    kind = peer(LIBRARIES[library], name)
    contest.run(
        name,
        f"n={len(X):.0e} d={X.shape[1]}",
        library,
        lambda: kind().fit(X, y),
        lambda model: float(np.mean((y - model.predict(X)) ** 2)),
        rounds=2 if library == "scikit-learn" else 5,
    )


def test_tall_statsmodels(contest: Contest, tall) -> None:
    api = pytest.importorskip("statsmodels.api", reason="statsmodels is not installed")
    X, y = tall
    contest.run(
        "LinearRegression",
        f"n={len(X):.0e} d={X.shape[1]}",
        "statsmodels",
        lambda: api.OLS(y, api.add_constant(X)).fit(),
        lambda model: float(np.mean(model.resid**2)),
        rounds=1,
    )


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", ["LinearRegression", "Ridge"])
def test_iris(contest: Contest, small, name: str, library: str) -> None:
    X, y = small
    kind = peer(LIBRARIES[library], name)
    contest.run(
        name,
        "iris",
        library,
        lambda: kind().fit(X, y),
        lambda model: float(np.mean((y - model.predict(X)) ** 2)),
        rounds=200,
        iterations=5,
    )
