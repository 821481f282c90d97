"""DBSCAN one row at a time, as it is written in the course: for animations and for reading."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_array

from assay import parameters
from assay.distances import Metric, NeighborSearch, check_dissimilarity


class DBSCANStep(NamedTuple):
    """One visit of `dbscan_steps`.

    Attributes
    ----------
    row : int
        The row visited.
    neighbors : array of int
        Rows within eps of it, itself included.
    kind : {"seed", "core", "border", "noise"}
        A core row that begins a cluster, a core row that a cluster grows by, a row that a cluster ends at, or
        a row of no cluster so far: a later cluster may still claim it.
    label : int
        Its label now.
    labels : array of int32 of shape (n_samples,)
        Labels of all rows after the visit.
    """

    row: int
    neighbors: NDArray
    kind: str
    label: int
    labels: NDArray


def dbscan_steps(
    X: Any, eps: float, min_samples: int = 5, *, metric: Metric = "euclidean"
) -> Iterator[DBSCANStep]:
    """Visit the rows one by one and grow each cluster by a queue; the last labels are those of `DBSCAN`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features), or (n_samples, n_samples) with metric="precomputed"
    eps : float
        Radius of a neighbourhood.
    min_samples : int, default=5
        Rows within eps, itself included, that make a row core.
    metric : str or function, default="euclidean"

    Returns
    -------
    steps : iterator of DBSCANStep
        One for each visit. A row first met as noise is visited again when a cluster claims it.

    Examples
    --------
    >>> from assay.cluster import dbscan_steps
    >>> for step in dbscan_steps([[0.0], [1.0], [2.0], [9.0]], eps=1.0, min_samples=3):
    ...     print(step.row, step.kind, step.labels)
    0 noise [-1 -1 -1 -1]
    1 seed [ 0  0  0 -1]
    0 border [ 0  0  0 -1]
    2 border [ 0  0  0 -1]
    3 noise [ 0  0  0 -1]

    References
    ----------
    Sangnier §2.4, Algorithm 14.
    """
    for name, value, domain in (
        ("eps", eps, parameters.real(above=0.0)),
        ("min_samples", min_samples, parameters.integer(at_least=1)),
    ):
        if not domain.contains(value):
            raise parameters.refusal("dbscan_steps", name, domain.words, value)
    X = check_array(X, dtype=[np.float64, np.float32])
    return _visits(_lists(X, eps, metric), min_samples)


def _lists(X: NDArray, eps: float, metric: Metric) -> list[NDArray]:
    if isinstance(metric, str) and metric == "precomputed":
        return [np.flatnonzero(row <= eps) for row in check_dissimilarity(X, "dbscan_steps")]
    near = NeighborSearch(X.astype(np.float64), metric=metric).within(eps)
    return np.split(near.indices, near.indptr[1:-1])


def _visits(neighbors: list[NDArray], min_samples: int) -> Iterator[DBSCANStep]:
    labels = np.full(len(neighbors), -1, dtype=np.int32)
    n_clusters = 0
    visited = np.zeros(len(neighbors), dtype=np.bool_)
    # A separate mark of the rows visited: those that are not core keep the label −1, and are not taken again.
    for first in range(len(neighbors)):
        if visited[first]:
            continue
        visited[first] = True
        if neighbors[first].size < min_samples:
            yield DBSCANStep(first, neighbors[first], "noise", -1, labels.copy())
            continue
        label, n_clusters = n_clusters, n_clusters + 1
        labels[first] = label
        queue = deque(_claim(neighbors[first], labels, label))
        yield DBSCANStep(first, neighbors[first], "seed", label, labels.copy())
        while queue:
            row = queue.popleft()
            visited[row] = True
            is_core = neighbors[row].size >= min_samples
            if is_core:
                queue.extend(_claim(neighbors[row], labels, label))
            yield DBSCANStep(row, neighbors[row], "core" if is_core else "border", label, labels.copy())


def _claim(rows: NDArray, labels: NDArray, label: int) -> list[int]:
    """Give the rows that have no label this one, and return them."""
    claimed = rows[labels[rows] < 0]
    labels[claimed] = label
    return [int(row) for row in claimed]
