"""What hierarchical clusterers share: a tree, its cuts, and the labels of new rows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay.cluster.hierarchy.evidence import TreeEvidence
from assay.cluster.hierarchy.tree import MergeTree
from assay.distances import Metric, NeighborSearch, check_range, distance_matrix
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import refusal
from assay.rows import Block, MemoryRows, Rows, block_rows, ordered_map

INSTEAD = (
    "group the rows with KMeans into many clusters and fit its cluster_centers_ with its cluster_weights_ as "
    "sample_weight"
)


class HierarchicalClusterer(PairwiseClusterer):
    """Base of clusterers that make a tree of nested partitions and cut it.

    Fitted attributes: `children_`, `distances_`, `leaf_rows_`, `leaf_weights_`, `n_clusters_`, `labels_`.
    """

    _accepts_sparse = False
    _instead = INSTEAD
    children_: NDArray
    distances_: NDArray
    leaf_rows_: NDArray
    leaf_weights_: NDArray
    n_clusters_: int
    _rows: NDArray | None

    @property
    def n_leaves_(self) -> int:
        """Number of leaves of the tree: the rows of positive weight."""
        return len(self.leaf_rows_)

    @property
    def tree_(self) -> MergeTree:
        """The tree of joins."""
        return MergeTree(self.children_, self.distances_, self.leaf_weights_)

    @property
    def linkage_matrix_(self) -> NDArray:
        """The joins in SciPy's layout: two nodes, height (`distances_`), number of leaves."""
        return self.tree_.linkage_matrix

    @property
    def leaf_order_(self) -> NDArray:
        """The leaves from left to right in the dendrogram."""
        return self.tree_.spans.order

    def cut(self, n_clusters: int | None = None, *, height: float | None = None) -> NDArray:
        """Labels of the leaves at another level of the tree.

        Parameters
        ----------
        n_clusters : int, optional
            Number of clusters.
        height : float, optional
            Or the height to cut at: joins are made in order up to the first above it.

        Returns
        -------
        labels : array of int32 of shape (n_leaves_,)
            Heaviest cluster first.
        """
        check_is_fitted(self)
        tree, owner = self.tree_, f"{type(self).__name__}.cut"
        if (n_clusters is None) == (height is None):
            raise ValueError(
                f"{owner} takes one of 'n_clusters' and 'height'. "
                f"Got n_clusters={n_clusters!r}, height={height!r} instead."
            )
        if height is not None:
            if not isinstance(height, Real) or isinstance(height, bool) or np.isnan(float(height)):
                raise refusal(owner, "height", "a number", height)
            return tree.cut(tree.n_clusters_at(float(height)))
        whole = isinstance(n_clusters, Integral) and not isinstance(n_clusters, bool)
        if not whole or not 1 <= int(n_clusters or 0) <= tree.n_leaves:
            must_be = f"an int from 1 to the number of leaves ({tree.n_leaves})"
            raise refusal(owner, "n_clusters", must_be, n_clusters)
        return tree.cut(int(n_clusters or 0))

    def partitions(self) -> Iterator[NDArray]:
        """Labels of the leaves at every level, from one cluster per leaf to one: each nests in the next."""
        check_is_fitted(self)
        return self.tree_.partitions()

    def cophenetic_correlation(self, X: Any, sample_weight: Any = None) -> float:
        """Correlation, over pairs of rows, of their dissimilarity and the height at which they are joined.

        Parameters
        ----------
        X, sample_weight
            The data that the model was fitted on.
        """
        data = self._open_rows_of_fit(X, sample_weight)
        leaves, weights, _ = self._leaves(data)
        return cophenetic_correlation(self.tree_, partial(self._dissimilarities, leaves), weights)

    def _predicted(self, data: Rows) -> Any:
        """Labels of rows that are not leaves."""
        labels = self.labels_[self.leaf_rows_]
        if self._rows is None:
            return data.map(_labels_by_columns, self.leaf_rows_, labels, dtype=np.int32)
        search = NeighborSearch(self._rows, metric=self.metric)
        return data.map(_labels_by_leaves, search, labels, dtype=np.int32)

    def _leaves(self, data: MemoryRows) -> tuple[NDArray, NDArray, NDArray]:
        """Rows of positive weight (or their dissimilarities), their weights, and their places."""
        X, weight = self._pairs_or_rows(data), data.weight
        if weight is None:
            return X, np.ones(X.shape[0]), np.arange(X.shape[0])
        places = np.flatnonzero(weight)
        X = X[np.ix_(places, places)] if self._is_precomputed else X[places]
        weights = weight[places].astype(np.float64)
        check_range(X, self.metric, weights=weights)
        return X, weights, places

    def _dissimilarities(self, leaves: NDArray, rows: Any, columns: Any = slice(None)) -> NDArray:
        """Dissimilarities between some leaves and some others, in float64."""
        if self._is_precomputed:
            return leaves[rows][:, columns].astype(np.float64, copy=False)
        A, B = leaves[rows].astype(np.float64, copy=False), leaves[columns].astype(np.float64, copy=False)
        return distance_matrix(A, B, metric=self.metric)

    def _tree_evidence(
        self, leaves: NDArray, weights: NDArray, linkage: str, threshold: float | None, thorough: bool
    ) -> TreeEvidence:
        labels = self.labels_[self.leaf_rows_]
        facts = self._dissimilarities, labels, self.n_clusters_, threshold, thorough
        return TreeEvidence(self.tree_, leaves, weights, linkage, *facts)

    def _keep(self, leaves: NDArray, weights: NDArray, places: NDArray) -> None:
        self.leaf_weights_, self.leaf_rows_ = weights, places
        self._rows = None if self._is_precomputed else np.array(leaves)

    def _keep_tree(self, children: NDArray, heights: NDArray, dtype: Any) -> None:
        with np.errstate(over="ignore"):
            self.children_, self.distances_ = children, heights.astype(dtype, copy=False)
        if not np.isfinite(self.distances_).all():
            raise ValueError(
                f"The heights of the tree overflow in {dtype}. "
                "Divide the rows, or their weights, by one number."
            )

    def _label(self, data: MemoryRows, n_clusters: int | None, threshold: float | None) -> None:
        """Cut the tree into clusters, or at a threshold; rows that are no leaves have no label yet."""
        if n_clusters is None:
            n_clusters = self.tree_.n_clusters_at(self.distances_.dtype.type(threshold))
        self.n_clusters_ = n_clusters
        self.labels_ = np.full(data.shape[0], -1, dtype=np.int32)
        self.labels_[self.leaf_rows_] = self.tree_.cut(n_clusters)

    def _check_number_of_leaves(self, n_clusters: int | None, n_leaves: int) -> None:
        if n_clusters is not None and n_clusters > n_leaves:
            shown = "1 sample" if n_leaves == 1 else str(n_leaves)
            raise self._refuse("n_clusters", f"at most the number of rows ({shown})")


def cophenetic_correlation(tree: MergeTree, dissimilarities: Any, weights: NDArray) -> float:
    """Correlation of dissimilarities with cophenetic distances over pairs of rows, block by block."""
    n = tree.n_leaves
    if n < 2:
        return float("nan")
    shift = np.array([tree.heights.mean(), tree.heights.mean()])

    def sums(start: int) -> NDArray:
        rows = np.arange(start, min(start + step, n))
        d = dissimilarities(rows) - shift[0]
        u = tree.cophenetic_rows(rows) - shift[1]
        own = np.arange(len(rows)), rows
        d[own], u[own] = 0.0, 0.0
        w = weights[rows]
        return np.array([w @ (first @ weights) for first in (d, u, d * d, u * u, d * u)])

    step = block_rows(n, 32)
    d, u, dd, uu, du = np.sum(list(ordered_map(sums, range(0, n, step))), axis=0)
    # Copies of one row are pairs too: at dissimilarity 0, joined at 0.
    copies = float((weights * np.maximum(weights - 1.0, 0.0)).sum())
    total = float(weights.sum()) ** 2 - float((weights**2).sum()) + copies
    d, u = d - copies * shift[0], u - copies * shift[1]
    dd, uu, du = dd + copies * shift[0] ** 2, uu + copies * shift[1] ** 2, du + copies * shift[0] * shift[1]
    spread = (dd - d * d / total) * (uu - u * u / total)
    return float((du - d * u / total) / np.sqrt(spread)) if spread > 0.0 else float("nan")


def greatest_distance(X: NDArray, metric: Metric) -> float:
    """The greatest dissimilarity of two rows, block by block."""
    if isinstance(metric, str) and metric == "precomputed":
        return float(X.max())
    step = block_rows(X.shape[0], 8)

    def greatest(start: int) -> float:
        return float(distance_matrix(X[start : start + step], X[start:], metric=metric).max())

    return max(ordered_map(greatest, range(0, X.shape[0], step)))


def _labels_by_leaves(block: Block, search: NeighborSearch, labels: NDArray) -> NDArray:
    return labels[search.nearest(1, block.X).indices[:, 0]]


def _labels_by_columns(block: Block, places: NDArray, labels: NDArray) -> NDArray:
    return labels[block.X[:, places].argmin(axis=1)]
