"""Naive Bayes: one walk over the rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest, peer

LIBRARIES = {"assay": "assay.discriminant", "scikit-learn": "sklearn.naive_bayes"}


def run(contest: Contest, name: str, data: str, library: str, X: Any, y: Any, **options: Any) -> None:
    kind = peer(LIBRARIES[library], name)
    part = slice(0, 2000)
    contest.run(
        name,
        data,
        library,
        lambda: kind().fit(X, y),
        lambda model: float(model.score(X[part], y[part])),
        **options,
    )


@pytest.mark.parametrize("library", LIBRARIES)
def test_gaussian(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(5)
    y = rng.integers(0, 10, rows(1_000_000))
    X = rng.standard_normal((len(y), 100)) + 0.2 * rng.standard_normal((10, 100))[y]
    run(contest, "GaussianNB", f"n={len(y)} d=100, 10 classes", library, X, y, rounds=3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_categorical(contest: Contest, library: str) -> None:
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, rows(1_000_000))
    X = (rng.integers(0, 12, (len(y), 20)) + y[:, None]) % 15
    run(contest, "CategoricalNB", f"n={len(y)}, 20 columns", library, X, y, rounds=3)


@pytest.mark.parametrize("library", LIBRARIES)
def test_iris(contest: Contest, small, library: str) -> None:
    X, y = small
    labels = (y > np.median(y)).astype(int)
    run(contest, "GaussianNB", "iris", library, X, labels, rounds=100, iterations=3)
