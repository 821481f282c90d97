"""Agglomerative clustering."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, at_most
from assay.cluster.hierarchy.base import HierarchicalClusterer, greatest_distance
from assay.cluster.hierarchy.certificates import (
    leaves_certificate,
    linkage_bounds,
    linkage_certificates,
    means_certificate,
)
from assay.cluster.hierarchy.evidence import TreeEvidence
from assay.cluster.hierarchy.linkage import CENTRED, LINKAGES, link
from assay.distances import distance_matrix, metric_domain
from assay.models import convergence
from assay.parameters import Domain
from assay.rows import Block, MemoryRows, Rows
from assay.suitability import Suitability

EUCLIDEAN = ("euclidean", "l2")
LEAST_TOTAL = 1e-300  # of a cluster without rows, which only damaged labels have


class AgglomerativeClustering(HierarchicalClusterer):
    """Nested clusters, from single rows to one, by joining the two closest again and again.

    Finds the tree in which each join is of the two clusters A, B of least linkage D(A, B), and cuts it:

        single    min d(x, y)              complete  max d(x, y)         average  mean d(x, y), x ∈ A, y ∈ B
        weighted  D(A₁ ∪ A₂, B) = ½ D(A₁, B) + ½ D(A₂, B)
        centroid  ‖m_A − m_B‖, means       median    the same with midpoints of the parts in place of means
        ward      I(A ∪ B) − I(A) − I(B) = |A||B| / (|A| + |B|) ‖m_A − m_B‖²,     I(C) = Σ_{x ∈ C} ‖x − m_C‖²

    by rounds that join all pairs of mutually nearest clusters, then a nearest-neighbour chain (complete,
    average, weighted), a chain or a search over centres in O(n) memory (Ward; centroid, median), or the
    minimum spanning tree (single, in O(n) memory). All pairs are compared, in O(n²) time but for single.

    Assumes: columns on comparable scales; the linkage decides which shapes are found: round groups (Ward,
    complete, average) or chains (single). There is no model of the rows.

    `predict` gives a row the cluster of the nearest centre ("ward", "centroid", "median") or leaf (others),
    the first of ties. The nearest leaf gives rows of the fit the label they have; the nearest centre can be
    another's. Copies of a row are one leaf.

    Certificates: heights never fall (but for centroid and median, which can have inversions), heights are the
    linkage recomputed from the data, no two clusters were closer than those joined, the labels are the cut of
    the tree, and Ward's costs add up to the inertia. `certify` checks every join, and bounds what any
    partition into as many clusters can reach (Ward, complete, single).

    Parameters
    ----------
    n_clusters : int or None, default=2
        Number of clusters. Exactly one of the three stopping rules is set, the others are None.
    linkage : {"ward", "single", "complete", "average", "weighted", "centroid", "median"}, default="ward"
        How far apart two clusters are.
    metric : str or callable, default="euclidean"
        Dissimilarity d of two rows, "precomputed" when `X` is their matrix; "ward", "centroid" and "median"
        are about Euclidean distances.
    distance_threshold : float or None, default=None
        Joins are made up to this height (of `distances_`), itself included.
    scaled_threshold : float or None, default=None
        The same as a multiple of the greatest dissimilarity of two rows; not for linkages between centres.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, the heaviest cluster first. Rows of weight 0 have the label that `predict` gives.
    n_clusters_ : int
        Number of clusters.
    children_ : array of shape (n_leaves_ − 1, 2)
        The two nodes of each join; nodes below n_leaves_ are leaves, node n_leaves_ + t is made by join t.
    distances_ : array of shape (n_leaves_ − 1,)
        Heights of the joins. For Ward √(2D), as in SciPy and scikit-learn; `join_costs_` has D itself.
    join_costs_ : array of shape (n_leaves_ − 1,)
        Ward only: the increase D of the inertia by each join.
    inertia_curve_ : array of shape (n_leaves_,)
        Ward only: inertia of the partition into 1, 2, …, n_leaves_ clusters.
    cluster_centers_ : array of shape (n_clusters_, n_features)
        Linkages between centres only: means of the clusters.
    distance_threshold_ : float or None
        The height that the tree was cut at, where a threshold was given.
    tree_ : MergeTree
        The tree: cuts, partitions of all levels, cophenetic distances.
    linkage_matrix_ : array of shape (n_leaves_ − 1, 4)
        The joins in SciPy's layout, with `distances_` as heights.
    leaf_order_ : array of shape (n_leaves_,)
        The leaves from left to right in the dendrogram.
    n_leaves_ : int
        Number of rows of positive weight.
    leaf_rows_, leaf_weights_ : arrays of shape (n_leaves_,)
        Row and weight of each leaf.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import AgglomerativeClustering
    >>> X = np.array([[0.0], [1.0], [5.0], [6.5], [7.0]])
    >>> model = AgglomerativeClustering(2, linkage="average").fit(X)
    >>> model.labels_, model.distances_
    (array([1, 1, 0, 0, 0], dtype=int32), array([0.5       , 1.        , 1.75      , 5.66666667]))
    >>> model.cut(height=1.0)
    array([0, 0, 2, 1, 1], dtype=int32)
    >>> model.predict([[2.0], [4.0]]), model.certificates_.holds
    (array([1, 0], dtype=int32), True)

    References
    ----------
    Sangnier §2.3; Wei §10.2.2; Douc & Le Corff §8.7. Müllner (2011), modern hierarchical algorithms.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_clusters": parameters.integer(at_least=1) | parameters.nothing,
        "linkage": parameters.one_of(*LINKAGES),
        "metric": metric_domain(),
        "distance_threshold": parameters.real(at_least=0.0) | parameters.nothing,
        "scaled_threshold": parameters.real(above=0.0) | parameters.nothing,
    }
    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, max_rows=10_000, max_pairs=2 * 10**11)

    cluster_centers_: NDArray

    def __init__(
        self,
        n_clusters: int | None = 2,
        *,
        linkage: str = "ward",
        metric: Any = "euclidean",
        distance_threshold: float | None = None,
        scaled_threshold: float | None = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.linkage = linkage
        self.metric = metric
        self.distance_threshold = distance_threshold
        self.scaled_threshold = scaled_threshold

    @property
    def join_costs_(self) -> NDArray:
        """Increase of the inertia by each join (Ward)."""
        self._require_ward("join_costs_")
        return 0.5 * self.distances_.astype(np.float64) ** 2

    @property
    def inertia_curve_(self) -> NDArray:
        """Inertia of the partition into 1, 2, …, n_leaves_ clusters (Ward)."""
        self._require_ward("inertia_curve_")
        return np.concatenate([np.cumsum(self.join_costs_)[::-1], [0.0]])

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X, sample_weight)
        self._check_rules()
        leaves, weights, places = self._leaves(data)
        self._check_number_of_leaves(self.n_clusters, len(weights))
        self._keep(leaves, weights, places)
        tree = link(leaves, weights, self.linkage, self.metric)
        heights = np.sqrt(2.0 * tree.height) if self.linkage == "ward" else tree.height
        self._keep_tree(tree.children, heights, data.dtype)
        self.distance_threshold_ = self._threshold(leaves)
        self._warn_of_equal_rows()
        self._label(data, self.n_clusters, self.distance_threshold_)
        if self.linkage in CENTRED:
            self.cluster_centers_ = _means(leaves, weights, self.labels_[places], self.n_clusters_)
        absent = self.labels_ < 0
        if absent.any():  # rows of weight 0
            self.labels_[absent] = self._predicted(MemoryRows(data.X[absent]))
        self.certificates_ = linkage_certificates(self._evidence(leaves, weights, thorough=False))

    def _predicted(self, data: Rows) -> Any:
        if self.linkage not in CENTRED:
            return super()._predicted(data)
        return data.map(_nearest_center, self.cluster_centers_, dtype=np.int32)

    def _certify(self, data: MemoryRows) -> list[Certificate]:
        leaves, weights, places = self._leaves(data)
        if not np.array_equal(places, self.leaf_rows_):
            raise ValueError("certify takes the rows and weights of the fit; other rows have weight 0 here.")
        evidence = self._evidence(leaves, weights, thorough=True)
        proof = [*linkage_certificates(evidence), *linkage_bounds(evidence)]
        kept = None if self._is_precomputed else leaves
        proof.append(leaves_certificate(self, kept, weights, places))
        if self.linkage in CENTRED:
            labels = self.labels_[places].clip(0, self.n_clusters_ - 1)
            means = _means(leaves, weights, labels, self.n_clusters_)
            proof.append(means_certificate(self.cluster_centers_, means, leaves))
        absent = np.setdiff1d(np.arange(len(self.labels_)), places)
        if absent.size:
            claim = "Rows of weight 0 have the labels that predict gives."
            n_wrong = np.count_nonzero(self._predicted(MemoryRows(data.X[absent])) != self.labels_[absent])
            proof.append(at_most(claim, "rows of weight 0 labelled otherwise", n_wrong, 0.0))
        return proof

    def _evidence(self, leaves: NDArray, weights: NDArray, *, thorough: bool) -> TreeEvidence:
        return self._tree_evidence(leaves, weights, self.linkage, self.distance_threshold_, thorough)

    def _check_rules(self) -> None:
        rules = ("n_clusters", "distance_threshold", "scaled_threshold")
        given = [f"{name}={getattr(self, name)!r}" for name in rules if getattr(self, name) is not None]
        if len(given) != 1:
            raise parameters.ParameterError(
                "Exactly one of 'n_clusters', 'distance_threshold' and 'scaled_threshold' of "
                f"{type(self).__name__} must be set, the others None. "
                f"Got {', '.join(given) or 'none'} instead."
            )
        if self.linkage not in CENTRED:
            return
        if not (isinstance(self.metric, str) and self.metric in EUCLIDEAN):
            must_be = f"'euclidean' with linkage={self.linkage!r}, which is about means of rows"
            raise self._refuse("metric", must_be)
        if self.scaled_threshold is not None:
            must_be = f"None with linkage={self.linkage!r}: set distance_threshold"
            raise self._refuse("scaled_threshold", must_be)

    def _threshold(self, leaves: NDArray) -> float | None:
        if self.scaled_threshold is not None:
            scaled = self.scaled_threshold * greatest_distance(leaves.astype(np.float64), self.metric)
            return min(scaled, float(np.finfo(np.float64).max))
        return None if self.distance_threshold is None else float(self.distance_threshold)

    def _warn_of_equal_rows(self) -> None:
        n_clusters = self.n_clusters or 1
        if n_clusters > 1 and not self.distances_[self.n_leaves_ - n_clusters] > 0.0:
            n_distinct = 1 + int(np.count_nonzero(self.distances_))
            convergence.warn(
                f"AgglomerativeClustering was asked for {self.n_clusters} clusters of {n_distinct} distinct "
                "rows: equal rows are in different clusters. Take fewer clusters."
            )

    def _require_ward(self, name: str) -> None:
        if self.linkage != "ward":
            raise AttributeError(f"{name} is about linkage='ward'; this model has linkage={self.linkage!r}.")


def _means(X: NDArray, weights: NDArray, labels: NDArray, n_clusters: int) -> NDArray:
    """Weighted means of the clusters, summed about the mean of all rows."""
    shift = X.mean(axis=0, dtype=np.float64)
    sums = np.zeros((n_clusters, X.shape[1]))
    np.add.at(sums, labels, (X - shift) * weights[:, np.newaxis])
    total = np.maximum(np.bincount(labels, weights=weights, minlength=n_clusters), LEAST_TOTAL)
    return (sums / total[:, np.newaxis] + shift).astype(X.dtype)


def _nearest_center(block: Block, centers: NDArray) -> NDArray:
    return distance_matrix(block.X, centers.astype(block.X.dtype, copy=False)).argmin(axis=1)
