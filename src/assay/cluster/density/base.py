"""What density clusterers share: labels of new rows by reachability, and measurements of some rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, agreement
from assay.distances import Metric, distance_matrix
from assay.models.clusterer import PairwiseClusterer, UnweightedFit
from assay.rows import Block, MemoryRows

SAMPLE_PAIRS = 2**18
BLOCK_PAIRS = 2**22
ROUNDING = 1e-7


class ReachRule(NamedTuple):
    """What predictions need of a fit: `rows` are None where dissimilarities are given; with `n_core` the
    distance of a new row to its n_core-th row counts too.
    """  # noqa: D205

    rows: NDArray | None
    core_distances: NDArray
    labels: NDArray
    cluster_reach: NDArray
    metric: Metric
    n_core: int = 0


def labels_by_reach(block: Block, fitted: ReachRule) -> NDArray:
    """Label of the row p with the least max(c_p, d(p, x)), if its cluster takes rows at that distance."""
    X = np.asarray(block.X)
    result = np.full(len(X), -1, dtype=np.int32)
    if not fitted.cluster_reach.size:
        return result
    step = max(1, BLOCK_PAIRS // fitted.labels.size)
    for start in range(0, len(X), step):
        part = X[start : start + step].astype(np.float64, copy=False)
        distances = part
        if fitted.rows is not None:
            exact = fitted.rows.astype(np.float64, copy=False)
            distances = distance_matrix(part, exact, metric=fitted.metric)
        reach = np.maximum(distances, fitted.core_distances)
        nearest = reach.argmin(axis=1)
        height = reach[np.arange(len(part)), nearest]
        if fitted.n_core > 0:
            own = np.partition(distances, fitted.n_core - 1, axis=1)[:, fitted.n_core - 1]
            height = np.maximum(height, own)
        labels = fitted.labels[nearest]
        # Rounding must not part a row from the cluster whose reach it made.
        taken = (labels >= 0) & (height <= fitted.cluster_reach[np.maximum(labels, 0)] * (1.0 + 1e-12))
        result[start : start + step] = np.where(taken, labels, -1)
    return result


def rows_to_measure(n_rows: int, *, most_pairs: int = SAMPLE_PAIRS, least: int = 8) -> NDArray:
    """All rows, or as many evenly spaced ones as make that many pairs with all."""
    n_measured = min(n_rows, max(most_pairs // max(n_rows, 1), least))
    return np.unique(np.linspace(0, n_rows - 1, n_measured).astype(np.int64))


def distances_from(rows: NDArray, X: NDArray, metric: Metric) -> NDArray:
    """Distances of some rows to all, in float64, and 0 to themselves."""
    if isinstance(metric, str) and metric == "precomputed":
        return X[rows].astype(np.float64)
    exact = X.astype(np.float64, copy=False)
    distances = distance_matrix(exact[rows], exact, metric=metric)
    distances[np.arange(rows.size), rows] = 0.0
    return distances


def walk_distances(measured: NDArray, X: NDArray, metric: Metric) -> Iterator[tuple[NDArray, NDArray]]:
    """The measured rows, block by block, with their distances to all."""
    step = max(1, BLOCK_PAIRS // len(X))
    for start in range(0, measured.size, step):
        rows = measured[start : start + step]
        yield rows, distances_from(rows, X, metric)


def core_discrepancy(distances: NDArray, claimed: NDArray, min_samples: int, max_eps: float) -> float:
    """How far core distances are from the `min_samples`-th least distance."""
    true = np.partition(distances, min_samples - 1, axis=1)[:, min_samples - 1]
    true = np.where(true <= max_eps, true, np.inf)
    near_limit = np.isclose(np.where(np.isinf(true), max_eps, true), max_eps, rtol=ROUNDING, atol=0.0)
    return discrepancy(np.where(near_limit, claimed, true), claimed)


def discrepancy(true: NDArray, claimed: NDArray) -> float:
    """The greatest relative difference; 0 where both are infinite."""
    both = np.isinf(true)
    if (np.isinf(true) != np.isinf(claimed)).any() or np.isnan(claimed).any():
        return float(np.inf)
    gap = np.abs(true[~both] - claimed[~both])
    scale = np.maximum(np.abs(true[~both]), np.abs(claimed[~both]))
    return float((gap / np.where(scale > 0.0, scale, 1.0)).max(initial=0.0))


def part_measured(n_measured: int, n_rows: int) -> tuple[str, ...]:
    """The assumption of a certificate that looked at some of the rows."""
    words = f"measured on {n_measured} of {n_rows} rows, evenly spaced; certify measures more"
    return () if n_measured == n_rows else (words,)


class ReachClusterer(UnweightedFit, PairwiseClusterer):
    """Base of clusterers by the distances at which rows reach each other: a cluster has a reach.

    `predict` gives a row the cluster of the row of least reachability to it, if that is within the reach.
    """

    _accepts_sparse = False
    _instead = "take KMeans, which walks them"
    core_distances_: NDArray
    cluster_reach_: NDArray
    X_fit_: NDArray | None

    def _conclude(self, rows: NDArray) -> None:
        """Keep the rows for predictions, and certify some of them."""
        self.X_fit_ = None if self._is_precomputed else rows
        self.certificates_ = self._measured(rows, rows_to_measure(len(rows)), whole=False)

    def _predicted(self, data: Any) -> Any:
        reach = self.core_distances_, self.labels_, self.cluster_reach_
        rule = ReachRule(self.X_fit_, *reach, self.metric, self._n_beside)
        return data.map(labels_by_reach, rule, dtype=np.int32)

    @property
    def _n_beside(self) -> int:
        """Rows beside a new one that its own core distance reaches; 0 where that does not count."""
        return 0

    def _certify(self, data: MemoryRows) -> Certificates:
        rows = data.take(np.arange(data.shape[0]))
        proof = self._measured(rows, rows_to_measure(len(rows), most_pairs=2**26), whole=True)
        kept = {"X_fit_": (self.X_fit_, None if self._is_precomputed else rows)}
        return Certificates([*proof, agreement("The rows kept for predictions are these.", kept, rtol=0.0)])

    def _measured(self, rows: NDArray, measured: NDArray, *, whole: bool) -> Certificates:
        """Certificates measured on some rows; `whole` where there is time."""
        raise NotImplementedError
