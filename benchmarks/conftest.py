"""Fixtures of the benchmarks."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from benchmarks.contest import Contest

SCALE = float(os.environ.get("ASSAY_BENCH_SCALE", "1"))
"""Fraction of the full number of rows, for a quick look."""


def rows(full: int) -> int:
    """Number of rows at the chosen scale."""
    return max(1000, int(full * SCALE))


@pytest.fixture
def contest(benchmark: Any) -> Contest:
    return Contest(benchmark)


@pytest.fixture(scope="session")
def tall() -> tuple[np.ndarray, np.ndarray]:
    """A million rows of a hundred columns with a linear target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows(1_000_000), 100))
    y = X @ rng.standard_normal(100) + 3 + rng.standard_normal(len(X))
    return X, y


@pytest.fixture(scope="session")
def small() -> tuple[np.ndarray, np.ndarray]:
    """Iris, with its species as a number."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X, y.astype(float)
