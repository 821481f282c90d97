"""Tables that the tests of trees share."""

from __future__ import annotations

import numpy as np
import pytest

from assay.datasets import diabetes, iris


@pytest.fixture(scope="package")
def flowers():
    return iris(return_X_y=True)


@pytest.fixture(scope="package")
def patients():
    return diabetes(return_X_y=True)


@pytest.fixture(scope="package")
def with_gaps(patients):
    """Numbers with missing values, a column of five levels and weights, some of them 0."""
    X, y = patients
    random = np.random.default_rng(0)
    X = X.copy()
    X[::7, 2] = np.nan
    X[::5, 8] = np.nan
    X[:, 1] = random.integers(0, 5, len(X))
    y = y + 40 * np.isin(X[:, 1], (1, 4))
    weight = random.integers(0, 4, len(X)).astype(float)
    return X, y, weight
