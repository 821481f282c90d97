"""Data and oracles of the tests of k-means."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs


def _plain_lloyd(X, centers, *, weight=None, max_iter=300):
    """Lloyd's iteration as it is written, in float64; returns centres, labels, inertia of every half-step."""
    X, centers = np.asarray(X, dtype=float), np.asarray(centers, dtype=float).copy()
    weight = np.ones(len(X)) if weight is None else np.asarray(weight, dtype=float)
    labels, trace = None, []
    for _ in range(max_iter + 1):
        squares = ((X[:, np.newaxis] - centers) ** 2).sum(axis=2)
        new = squares.argmin(axis=1)
        trace.append(weight @ squares[np.arange(len(X)), new])
        if labels is not None and np.array_equal(new, labels):
            break
        labels = new
        for k in range(len(centers)):
            if weight[labels == k].sum() > 0:
                centers[k] = np.average(X[labels == k], axis=0, weights=weight[labels == k])
        trace.append(weight @ ((X - centers[labels]) ** 2).sum(axis=1))
    return centers, labels, np.array(trace)


@pytest.fixture(scope="session")
def iris():
    return load_iris().data


@pytest.fixture(scope="session")
def blobs():
    return make_blobs(2000, 5, centers=12, cluster_std=2.5, random_state=1)[0]


@pytest.fixture(scope="session")
def noise():
    return np.random.default_rng(2).normal(size=(3000, 8))


@pytest.fixture(scope="session")
def plain_lloyd():
    return _plain_lloyd
