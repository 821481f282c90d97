"""Divisive clustering (DIANA)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, agreement, at_most
from assay.cluster.hierarchy.base import INSTEAD, HierarchicalClusterer
from assay.cluster.hierarchy.certificates import (
    chosen_joins,
    cut_certificates,
    fall_of_heights,
    leaves_certificate,
    rounding_of,
)
from assay.cluster.hierarchy.evidence import TreeEvidence
from assay.cluster.hierarchy.rounds import Linkage, Merges
from assay.distances import distance_matrix, metric_domain
from assay.loops import compiled, read_only
from assay.models.clusterer import UnweightedFit
from assay.parameters import Domain
from assay.rows import MemoryRows

SOURCE = "Wei §10.2.2; Kaufman & Rousseeuw (1990)"


def divisive_certificates(evidence: TreeEvidence) -> Certificates:
    """Certificates of a tree: of a sample of splits, or of all that can be afforded."""
    heights = evidence.tree.heights.astype(np.float64)
    top = float(np.abs(heights).max(initial=0.0)) or 1.0
    items = [fall_of_heights(heights, top)]
    if heights.size:
        splits = chosen_joins(evidence)
        some = "each cluster" if splits.size == heights.size else f"{splits.size} clusters of {heights.size}"
        claim = f"The height of {some} is its diameter, recomputed from the data."
        value = _diameter_error(evidence, heights, splits, top)
        bound = 10.0 * rounding_of(evidence)
        items.append(at_most(claim, "largest error of a diameter", value, bound, SOURCE))
        claim = "No row that stayed is nearer, on average, to those that left."
        value = _largest_gain(evidence, splits) / top
        items.append(at_most(claim, "largest gain of a further move", value, bound, SOURCE))
    return Certificates([*items, *cut_certificates(evidence)])


def _diameter_error(evidence: TreeEvidence, heights: NDArray, splits: NDArray, top: float) -> float:
    """A diameter is the greatest of those of the two parts and the dissimilarities between them."""
    of_node = np.concatenate([np.zeros(evidence.tree.n_leaves), heights])
    parts = of_node[evidence.tree.children[splits]].max(axis=1)
    expected = np.maximum(evidence.heights(splits), parts)
    error = np.abs(heights[splits] - expected) / np.maximum(expected, 1e-6 * top)
    return float(error.max(initial=0.0))


def _largest_gain(evidence: TreeEvidence, splits: NDArray) -> float:
    """The greatest gain of a row in the part that stayed: that of the two parts where it is less."""
    largest = 0.0
    for split in splits:
        sides = [evidence.tree.spans.members(node) for node in evidence.tree.children[split]]
        between = evidence.block(*sides)
        gains = (_gain(evidence, side, between.mean(axis=1 - i)) for i, side in enumerate(sides))
        largest = max(largest, min(gains))
    return largest


def _gain(evidence: TreeEvidence, members: NDArray, to_others: NDArray) -> float:
    if len(members) == 1:  # the last row stays whatever it gains
        return 0.0
    within = evidence.block(members, members)
    return float((within.sum(axis=1) / (len(members) - 1) - to_others).max())


class DivisiveClustering(UnweightedFit, HierarchicalClusterer):
    """Nested clusters, from one to single rows, by splitting the widest again and again (DIANA).

    Finds the tree in which each split is of the cluster of greatest diameter max d(x, y): the row farthest on
    average from the others leaves, then, one after the other, the row x that gains most,

        mean_{y stays, y ≠ x} d(x, y) − mean_{y left} d(x, y),

    until none gains. Sums of dissimilarities are kept from split to split; all pairs are stored, and the time
    is between O(n²) for even splits and O(n³) when rows leave one by one.

    Assumes: columns on comparable scales, and that the widest cluster is the one to split. There is no model
    of the rows.

    `predict` gives a row the cluster of the nearest leaf, the first of ties.

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

    _instead = INSTEAD.replace(" with its cluster_weights_ as sample_weight", "")
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

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X)
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
        self._keep_tree(tree.children, tree.height, data.dtype)
        self._label(data, self.n_clusters, self.distance_threshold)
        self.divisive_coefficient_ = self._coefficient()
        self.certificates_ = divisive_certificates(self._evidence(leaves, weights, thorough=False))

    def _certify(self, data: MemoryRows) -> Certificates:
        leaves, weights, places = self._leaves(data)
        claim = "The divisive coefficient is that of the heights of the tree."
        pairs = {"divisive_coefficient_": (self.divisive_coefficient_, self._coefficient())}
        proof = [leaves_certificate(self, None if self._is_precomputed else leaves, weights, places)]
        proof.append(agreement(claim, pairs, SOURCE))
        # What is no row cannot be looked up in the measurements that follow.
        if not proof[0].holds:
            return Certificates(proof)
        return Certificates([*divisive_certificates(self._evidence(leaves, weights, thorough=True)), *proof])

    def _matrix(self, leaves: NDArray) -> NDArray:
        if self._is_precomputed:
            return np.ascontiguousarray(leaves, dtype=np.float64)
        return distance_matrix(leaves.astype(np.float64, copy=False), metric=self.metric)

    def _evidence(self, leaves: NDArray, weights: NDArray, *, thorough: bool) -> TreeEvidence:
        threshold = None if self.distance_threshold is None else float(self.distance_threshold)
        return self._tree_evidence(leaves, weights, "complete", threshold, thorough)

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
    divide(read_only(D), np.arange(n), start, stop, height, lower, upper)
    merges = Merges(n)
    # A part is split after its whole: taken backwards, every node is made before it is used.
    left, right = (np.where(side < 0, -1 - side, 2 * n - 2 - side)[::-1] for side in (lower, upper))
    merges.add(left, right, height[::-1])
    return merges.sorted()


ROUNDING = 1e-12
"""Sums are kept by differences: a row moves when it gains more than this share of the diameter."""


@compiled
def diameter(D, members):  # type: ignore[no-untyped-def]
    """The greatest dissimilarity within a cluster, and the two that are so far apart."""
    high, first, second = 0.0, members[0], members[0]
    for p in range(members.shape[0]):
        row = D[members[p]]
        for q in range(p):
            if row[members[q]] > high:
                high, first, second = row[members[q]], members[p], members[q]
    return high, first, second


@compiled
def splinter(D, members, sums, new_sums, moved, room):  # type: ignore[no-untyped-def]
    """Move rows that are nearer, on average, to those that have left than to those that stay.

    The first to leave is the one farthest, on average, from the others. `sums` becomes those over the rows
    that stay, `new_sums` those over the rows that left. Returns how many left.
    """
    n = members.shape[0]
    leaving = 0
    for p in range(n):
        moved[p], new_sums[members[p]] = False, 0.0
        if sums[members[p]] > sums[members[leaving]]:
            leaving = p
    n_moved = 0
    while leaving >= 0:
        moved[leaving] = True
        n_moved += 1
        row = D[members[leaving]]
        best, next_leaving = room, -1
        n_others = n - n_moved - 1
        for p in range(n):
            i = members[p]
            sums[i] -= row[i]
            new_sums[i] += row[i]
            if not moved[p] and n_others > 0:
                gain = sums[i] / n_others - new_sums[i] / n_moved
                if gain > best:
                    best, next_leaving = gain, p
        leaving = next_leaving
    return n_moved


@compiled
def part(members, moved, scratch):  # type: ignore[no-untyped-def]
    """Put the rows that stay before those that left, both in their order; returns how many stay."""
    n_stay, n_left = 0, 0
    for p in range(members.shape[0]):
        if moved[p]:
            scratch[n_left] = members[p]
            n_left += 1
        else:
            members[n_stay] = members[p]
            n_stay += 1
    for p in range(n_left):
        members[n_stay + p] = scratch[p]
    return n_stay


@compiled
def divide(D, order, start, stop, height, lower, upper):  # type: ignore[no-untyped-def]
    """Split clusters until only single rows are left.

    Split s is of the rows order[start[s]:stop[s]], of that diameter; `lower[s]` and `upper[s]` are the splits
    of its two parts, or −1 − i for a part that is the single row i. Parts are split after their whole.
    """
    n = order.shape[0]
    sums, new_sums = np.zeros(n), np.zeros(n)
    moved, scratch = np.zeros(n, np.bool_), np.empty(n, np.int64)
    far = np.zeros((n, 2), np.int64)
    for i in range(n):
        for j in range(n):
            sums[i] += D[i, j]
    start[0], stop[0], n_splits = 0, n, 1
    height[0], far[0, 0], far[0, 1] = diameter(D, order)
    for s in range(n - 1):
        members = order[start[s] : stop[s]]
        if height[s] > 0.0:
            splinter(D, members, sums, new_sums, moved, ROUNDING * height[s])
            n_stay = part(members, moved, scratch)
            for p in range(n_stay, members.shape[0]):
                sums[members[p]] = new_sums[members[p]]
        else:
            n_stay = members.shape[0] - 1  # equal rows: one leaves after the other
        for side in range(2):
            child = members[:n_stay] if side == 0 else members[n_stay:]
            name = -1 - child[0]
            if child.shape[0] > 1:
                name = n_splits
                start[name] = start[s] if side == 0 else start[s] + n_stay
                stop[name] = start[name] + child.shape[0]
                n_far = 0
                for p in range(child.shape[0]):
                    n_far += child[p] == far[s, 0] or child[p] == far[s, 1]
                height[name], far[name, 0], far[name, 1] = height[s], far[s, 0], far[s, 1]
                if n_far < 2 and height[s] > 0.0:
                    height[name], far[name, 0], far[name, 1] = diameter(D, child)
                n_splits += 1
            if side == 0:
                lower[s] = name
            else:
                upper[s] = name
