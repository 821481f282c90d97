"""Divisive clustering (DIANA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.cluster.hierarchy import divisive_loops as loops
from assay.cluster.hierarchy.base import INSTEAD, HierarchicalClusterer
from assay.cluster.hierarchy.certificates import (
    chosen_joins,
    cut_of_tree,
    cut_up_to_threshold,
    fall_of_heights,
    rounding_of,
)
from assay.cluster.hierarchy.evidence import Evidence
from assay.cluster.hierarchy.rounds import Linkage, Merges
from assay.distances import distance_matrix, metric_domain
from assay.parameters import Domain

# What a tree of splits proves about itself.


SOURCE = "Wei §10.2.2; Kaufman & Rousseeuw (1990)"


def divisive_certificates(evidence: Evidence) -> Certificates:
    """Certificates of a tree: of a sample of splits, or of all that can be afforded."""
    heights = evidence.tree.heights.astype(np.float64)
    top = float(np.abs(heights).max(initial=0.0)) or 1.0
    items = [fall_of_heights(heights, top)]
    if heights.size:
        splits = chosen_joins(evidence)
        some = "each cluster" if splits.size == heights.size else f"{splits.size} clusters of {heights.size}"
        items += [
            at_most(
                f"The height of {some} is its diameter, recomputed from the data.",
                "largest error of a diameter",
                _diameter_error(evidence, heights, splits, top),
                10.0 * rounding_of(evidence),
                source=SOURCE,
            ),
            at_most(
                "No row that stayed is nearer, on average, to those that left.",
                "largest gain of a further move",
                _largest_gain(evidence, splits) / top,
                10.0 * rounding_of(evidence),
                source=SOURCE,
            ),
        ]
    items.append(cut_of_tree(evidence.tree, evidence.labels, evidence.n_clusters))
    if evidence.threshold is not None:
        items.append(cut_up_to_threshold(evidence))
    return Certificates(items)


def _diameter_error(evidence: Evidence, heights: NDArray, splits: NDArray, top: float) -> float:
    """A diameter is the greatest of those of the two parts and the dissimilarities between them."""
    of_node = np.concatenate([np.zeros(evidence.tree.n_leaves), heights])
    parts = of_node[evidence.tree.children[splits]].max(axis=1)
    expected = np.maximum(evidence.heights(splits), parts)
    error = np.abs(heights[splits] - expected) / np.maximum(expected, 1e-6 * top)
    return float(error.max(initial=0.0))


def _largest_gain(evidence: Evidence, splits: NDArray) -> float:
    """The greatest gain of a row in the part that stayed: that of the two parts where it is less."""
    largest = 0.0
    for split in splits:
        sides = [evidence.tree.spans.members(node) for node in evidence.tree.children[split]]
        between = evidence.block(*sides)
        gains = [
            _gain(evidence, sides[0], between.mean(axis=1)),
            _gain(evidence, sides[1], between.mean(axis=0)),
        ]
        largest = max(largest, min(gains))
    return largest


def _gain(evidence: Evidence, members: NDArray, to_others: NDArray) -> float:
    if len(members) == 1:  # the last row stays whatever it gains
        return 0.0
    within = evidence.block(members, members)
    return float((within.sum(axis=1) / (len(members) - 1) - to_others).max())


class DivisiveClustering(HierarchicalClusterer):
    """Nested clusters, from one to single rows, by splitting the widest again and again (DIANA).

    Finds the tree in which each split is of the cluster of greatest diameter max d(x, y): the row farthest on
    average from the others leaves, then, one after the other, the row x that gains most,

        mean_{y stays, y ≠ x} d(x, y) − mean_{y left} d(x, y),

    until none gains. Sums of dissimilarities are kept from split to split; all pairs are stored, and the time
    is between O(n²) for even splits and O(n³) when rows leave one by one.

    Assumes: columns on comparable scales, and that the widest cluster is the one to split. There is no model
    of the rows.

    Certificates: heights never fall, each height is the diameter of the cluster recomputed from the data, no
    row that stayed is nearer to those that left, and the labels are the cut of the tree.

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters; None when `distance_threshold` is set.
    metric : str or callable, default="euclidean"
        Dissimilarity d of two rows, "precomputed" when `X` is their matrix.
    distance_threshold : float or None, default=None
        Clusters are split down to this diameter.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, the largest cluster first.
    n_clusters_ : int
        Number of clusters.
    children_ : array of shape (n_leaves_ − 1, 2)
        The two parts of each split, splits numbered from the last to the first: a node below n_leaves_ is a
        row, node n_leaves_ + t is the whole that split t divides.
    distances_ : array of shape (n_leaves_ − 1,)
        Diameters of the clusters that were split, from the least to the greatest.
    tree_ : MergeTree
        The tree: cuts, partitions of all levels, cophenetic distances.
    linkage_matrix_ : array of shape (n_leaves_ − 1, 4)
        The tree in SciPy's layout.
    leaf_order_ : array of shape (n_leaves_,)
        The rows from left to right in the dendrogram.
    n_leaves_ : int
        Number of rows.
    leaf_rows_, leaf_weights_ : arrays of shape (n_leaves_,)
        Row and weight of each leaf: all rows, once each.
    divisive_coefficient_ : float
        Mean over the rows of 1 − (diameter of the last cluster split that the row was in, over that of all):
        near 1 when there is clear structure.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import DivisiveClustering
    >>> X = np.array([[0.0], [1.0], [5.0], [6.5], [7.0]])
    >>> model = DivisiveClustering(2).fit(X)
    >>> model.labels_, model.distances_
    (array([1, 1, 0, 0, 0], dtype=int32), array([0.5, 1. , 2. , 7. ]))
    >>> model.certificates_.holds
    True

    References
    ----------
    Wei §10.2.2. Kaufman & Rousseeuw (1990), Finding Groups in Data, chapter 6.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": parameters.integer(at_least=1) | parameters.nothing,
        "metric": metric_domain(),
        "distance_threshold": parameters.real(at_least=0.0) | parameters.nothing,
    }

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        metric: Any = "euclidean",
        distance_threshold: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.metric = metric
        self.distance_threshold = distance_threshold

    def fit(self, X: Any, y: Any = None) -> DivisiveClustering:
        """Split the rows and cut the tree.

        Parameters
        ----------
        X : array or frame in memory
            The rows; with metric="precomputed", the square matrix of their dissimilarities.
        y : None
            Ignored.

        Returns
        -------
        self : DivisiveClustering
        """
        data = self._open_pairs(X, instead=INSTEAD.replace(" with its cluster_weights_ as sample_weight", ""))
        if (self.n_clusters is None) == (self.distance_threshold is None):
            raise parameters.ParameterError(
                "Exactly one of 'n_clusters' and 'distance_threshold' of DivisiveClustering must be set, the "
                f"other None. Got n_clusters={self.n_clusters!r}, "
                f"distance_threshold={self.distance_threshold!r} instead."
            )
        leaves, weights, places = self._leaves(data)
        self._check_number_of_leaves(self.n_clusters, len(weights))
        self._keep(leaves, weights, places)
        tree = split(self._matrix(leaves))
        self.children_, self.distances_ = tree.children, tree.height.astype(data.dtype, copy=False)
        n_clusters = self.n_clusters
        if self.distance_threshold is not None:
            n_clusters = self.tree_.n_clusters_at(self.distances_.dtype.type(self.distance_threshold))
        assert n_clusters is not None
        self._label(data, n_clusters)
        self.divisive_coefficient_ = self._coefficient()
        self.certificates_ = divisive_certificates(self._evidence(leaves, weights, thorough=False))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit, on all splits where that is feasible.

        Parameters
        ----------
        X
            The data that the model was fitted on.
        y, sample_weight : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the data alone.
        """
        data = self._open_rows_of_fit(X)
        leaves, weights, _ = self._leaves(data)
        return divisive_certificates(self._evidence(leaves, weights, thorough=True))

    def _matrix(self, leaves: NDArray) -> NDArray:
        if self._is_precomputed:
            return np.ascontiguousarray(leaves, dtype=np.float64)
        return distance_matrix(leaves.astype(np.float64, copy=False), metric=self.metric)

    def _evidence(self, leaves: NDArray, weights: NDArray, *, thorough: bool) -> Evidence:
        return Evidence(
            tree=self.tree_,
            leaves=leaves,
            weights=weights,
            linkage="complete",
            dissimilarities=self._dissimilarities,
            labels=self.labels_,
            n_clusters=self.n_clusters_,
            threshold=None if self.distance_threshold is None else float(self.distance_threshold),
            thorough=thorough,
        )

    def _coefficient(self) -> float:
        n = self.n_leaves_
        if n == 1 or not self.distances_[-1] > 0.0:
            return 0.0
        last = self.distances_[self.tree_.parents[:n] - n].astype(np.float64)
        return float(np.mean(1.0 - last / float(self.distances_[-1])))


def split(D: NDArray) -> Linkage:
    """The tree of splits of a matrix of dissimilarities, as joins from the last split to the first."""
    n = len(D)
    if n == 1:
        return Linkage(np.empty((0, 2), dtype=np.int64), np.empty(0))
    start, stop, lower, upper = (np.empty(n - 1, np.int64) for _ in range(4))
    height = np.empty(n - 1)
    loops.divide(D, np.arange(n), start, stop, height, lower, upper)
    merges = Merges(n)
    # A part is split after its whole: taken backwards, every node is made before it is used.
    left, right = (np.where(side < 0, -1 - side, 2 * n - 2 - side)[::-1] for side in (lower, upper))
    merges.add(left, right, height[::-1])
    return merges.sorted()
