"""Neighbours of rows: the k nearest, and all within a radius."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.distances._matrix import distance_matrix
from assay.distances._metrics import Metric


class Nearest(NamedTuple):
    """The nearest rows of each query, sorted by distance, then by index: arrays of shape (n_queries, k)."""

    distances: NDArray
    indices: NDArray


class Neighborhoods(NamedTuple):
    """All rows within a radius of each query q: `indices[indptr[q]:indptr[q + 1]]`, by increasing index."""

    indptr: NDArray
    indices: NDArray
    distances: NDArray


class NeighborSearch:
    """Finds neighbours among given rows.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    metric : str or function
    method : {"auto", "kd_tree", "ball_tree", "brute"}
    """

    def __init__(self, X: NDArray, *, metric: Metric = "euclidean", method: str = "auto") -> None:
        self.X, self.metric, self.method = X, metric, method

    def nearest(self, n_neighbors: int, queries: NDArray | None = None) -> Nearest:
        """The nearest rows of each query; without queries, of each row, itself left out."""
        distances = distance_matrix(self.X if queries is None else queries, self.X, metric=self.metric)
        if queries is None:
            np.fill_diagonal(distances, np.inf)
        indices = np.argsort(distances, axis=1, kind="stable")[:, :n_neighbors]
        return Nearest(np.take_along_axis(distances, indices, axis=1), indices)

    def within(self, radius: float, queries: NDArray | None = None) -> Neighborhoods:
        """All rows at a distance of at most `radius`; without queries, of each row, itself included."""
        distances = distance_matrix(self.X if queries is None else queries, self.X, metric=self.metric)
        near = distances <= radius
        indptr = np.concatenate([[0], np.cumsum(near.sum(axis=1))])
        return Neighborhoods(indptr, np.nonzero(near)[1], distances[near])

    def count_within(
        self, radius: float, queries: NDArray | None = None, *, weight: NDArray | None = None
    ) -> NDArray:
        """Number, or weight, of the rows within the radius."""
        distances = distance_matrix(self.X if queries is None else queries, self.X, metric=self.metric)
        return (distances <= radius) @ (np.ones(len(self.X)) if weight is None else weight)
