"""OPTICS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, agreement, at_most
from assay.cluster.density import base
from assay.cluster.density.choice import find_elbow, k_distances
from assay.cluster.density.optics_solver import Plot, cut, dents, grow, innermost
from assay.distances import Metric, metric_domain
from assay.parameters import Domain

COUNT_OR_SHARE = parameters.integer(at_least=2) | Domain(
    "a float above 0 and at most 1",
    lambda value: isinstance(value, float) and parameters.real(above=0.0, at_most=1.0).contains(value),
)


SOURCE = "Ankerst, Breunig, Kriegel & Sander (1999), definitions 4 and 5"


class OPTICS(base.ReachClusterer):
    """Rows in the order of their density: the clusterings of DBSCAN for every eps in one plot.

    Finds an order of the rows: next comes the row x that a row p before it reaches most closely, its
    reachability being

        r(x) = min_p max(c_p, d(p, x)),        c_p the distance of p to its `min_samples`-th row, itself one.

    Clusters are dents of the plot of reachabilities along the order: between steep flanks ("xi"), or below
    one height ("dbscan"). The order grows like a spanning tree, with O(n²) distances and O(n) memory; ties
    go to the lowest row.

    `predict` gives a row the cluster of the row that reaches it most closely, if that is within its
    `cluster_reach_`, else −1.

    Assumes: columns on comparable scales, and clusters that are denser than what lies around them.

    Certificates: core distances and reachabilities are those of the definition, every row comes after the one
    that reaches it, every cluster is a run of the order. A large fit measures evenly spaced rows, `certify`
    more of them.

    Parameters
    ----------
    min_samples : int or float, default=5
        Rows that make a row core, itself included: from 2 to the number of rows, or a share of them up to 1.
    max_eps : float, default=inf
        Rows farther apart than this do not reach each other.
    metric : str or function, default="euclidean"
        Distance of rows; with "precomputed", `X` is the square matrix of dissimilarities.
    cluster_method : {"xi", "dbscan"}, default="xi"
        How clusters are read off the plot.
    eps : float or None, default=None
        Height of the cut of "dbscan"; by default `max_eps` if finite, else the elbow of the curve of core
        distances, as `suggest_eps` finds it.
    xi : float, default=0.05
        Least relative change of height that is steep, below 1.
    min_cluster_size : int, float or None, default=None
        Least number, or share, of rows of a cluster of "xi"; `min_samples` by default.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, numbered along the order ("dbscan") or from inner to outer ("xi"); −1 is noise.
    ordering_ : array of int of shape (n_samples,)
        The rows in their order.
    reachability_ : array of shape (n_samples,)
        Reachability of each row; infinite where nothing reaches it. `reachability_[ordering_]` is the plot.
    core_distances_ : array of shape (n_samples,)
        Distances from which on each row is core; infinite beyond `max_eps`.
    predecessor_ : array of int of shape (n_samples,)
        The row that reaches each row most closely, or −1.
    eps_ : float
        Height of the cut of "dbscan"; `max_eps` with "xi".
    min_samples_, min_cluster_size_ : int
        The numbers of rows used.
    cluster_hierarchy_ : array of int of shape (n_spans, 2)
        With "xi", first and last place in the order of all nested clusters, inner ones first.
    n_clusters_ : int
        Number of clusters.
    cluster_reach_ : array of shape (n_clusters_,)
        Reachability up to which each cluster takes new rows: the greatest in it, or the height of the cut.
    X_fit_ : array of shape (n_samples, n_features) or None
        The rows, for predictions; None with metric="precomputed".
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import OPTICS
    >>> X = np.array([[1.0, 2.0], [2.0, 5.0], [3.0, 6.0], [8.0, 7.0], [8.0, 8.0], [7.0, 3.0]])
    >>> model = OPTICS(min_samples=2).fit(X)
    >>> model.labels_
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    >>> model.predict([[8.0, 7.5]])
    array([1], dtype=int32)
    >>> model.certificates_.holds
    True

    References
    ----------
    Sangnier §2.4 (DBSCAN). Ankerst, Breunig, Kriegel & Sander (1999). Schubert & Gertz (2018).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "min_samples": COUNT_OR_SHARE,
        "max_eps": parameters.real(above=0.0)
        | Domain("inf", lambda value: isinstance(value, float) and value == np.inf),
        "metric": metric_domain(),
        "cluster_method": parameters.one_of("xi", "dbscan"),
        "eps": parameters.real(above=0.0) | parameters.nothing,
        "xi": Domain(
            "a number above 0 and below 1",
            lambda value: parameters.real(above=0.0).contains(value) and value < 1.0,
        ),
        "min_cluster_size": COUNT_OR_SHARE | parameters.nothing,
    }

    def __init__(
        self,
        *,
        min_samples: float = 5,
        max_eps: float = np.inf,
        metric: Metric = "euclidean",
        cluster_method: str = "xi",
        eps: float | None = None,
        xi: float = 0.05,
        min_cluster_size: float | None = None,
    ) -> None:
        self.min_samples = min_samples
        self.max_eps = max_eps
        self.metric = metric
        self.cluster_method = cluster_method
        self.eps = eps
        self.xi = xi
        self.min_cluster_size = min_cluster_size

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X)
        rows = self._pairs_or_rows(data)
        self.min_samples_ = _count(self.min_samples, len(rows))
        least = self.min_samples if self.min_cluster_size is None else self.min_cluster_size
        self.min_cluster_size_ = _count(least, len(rows))
        if len(rows) < self.min_samples_:
            shown = "1 sample" if len(rows) == 1 else str(len(rows))
            raise self._refuse("min_samples", f"from 2 to the number of rows ({shown})")
        if self.eps is not None and self.eps > self.max_eps:
            raise self._refuse("eps", f"at most max_eps ({self.max_eps:g})")
        exact = rows.astype(np.float64, copy=False)
        core = k_distances(exact, self.min_samples_, self.metric, None)
        self.core_distances_ = np.where(core <= self.max_eps, core, np.inf)
        grown = grow(exact, self.core_distances_, metric=self.metric, max_eps=self.max_eps)
        self.ordering_, self.reachability_, self.predecessor_ = grown
        self.eps_ = self._height_of_cut()
        self.labels_, self.cluster_hierarchy_, self.cluster_reach_ = self._read_clusters()
        self.n_clusters_ = self.cluster_reach_.size
        self._conclude(rows)

    def _read_clusters(self) -> tuple[NDArray, NDArray, NDArray]:
        """Labels, hierarchy and reach of the clusters, read off the plot."""
        plot = self.reachability_[self.ordering_]
        if self.cluster_method == "dbscan":
            labels = cut(self.ordering_, self.reachability_, self.core_distances_, self.eps_)
            n_clusters = int(labels.max(initial=-1)) + 1
            return labels, np.empty((0, 2), dtype=np.int64), np.full(n_clusters, self.eps_)
        bars = Plot(self.ordering_, np.append(plot, np.inf), self.predecessor_[self.ordering_])
        hierarchy = dents(bars, self.xi, self.min_samples_, self.min_cluster_size_)
        labels = innermost(self.ordering_, hierarchy)
        reach = np.zeros(int(labels.max(initial=-1)) + 1)
        along = labels[self.ordering_]
        inner = np.flatnonzero((along[1:] >= 0) & (along[1:] == along[:-1])) + 1
        np.maximum.at(reach, along[inner], plot[inner])
        return labels, hierarchy, reach

    def _height_of_cut(self) -> float:
        if self.eps is not None:
            return float(self.eps)
        if self.cluster_method == "xi" or np.isfinite(self.max_eps) or not self.core_distances_.any():
            return float(self.max_eps)
        return find_elbow(self.core_distances_, None).eps

    def _measured(self, rows: NDArray, measured: NDArray, *, whole: bool) -> Certificates:
        n_rows, bound = len(rows), base.ROUNDING if rows.dtype == np.float64 else 1e-4
        place = np.full(n_rows, -1)
        place[self.ordering_] = np.arange(n_rows)
        core = reach = 0.0
        for some, distances in base.walk_distances(measured, rows, self.metric):
            claimed = self.core_distances_[some]
            core = max(core, base.core_discrepancy(distances, claimed, self.min_samples_, self.max_eps))
            reach = max(reach, self._reach_discrepancy(some, distances, place))
        reached = self.predecessor_ >= 0
        late = np.count_nonzero(place[self.predecessor_[reached]] >= place[reached])
        sampled = base.part_measured(measured.size, n_rows)
        claim = "Core distances are those to the min_samples-th row, itself counted."
        proof = [at_most(claim, "discrepancy of core distances", core, bound, SOURCE, assumptions=sampled)]
        claim = "Reachabilities are the least that the rows before offer, and predecessors offer them."
        proof.append(
            at_most(claim, "discrepancy of reachabilities", reach, bound, SOURCE, assumptions=sampled)
        )
        claim = "The order holds every row once, after the row that reaches it."
        proof.append(at_most(claim, "rows out of order", late + np.count_nonzero(place < 0), 0.0, SOURCE))
        claim = "Every cluster is a run of the order, of the least size or more, apart from noise."
        proof.append(at_most(claim, "broken clusters", self._broken(), 0.0, SOURCE))
        if whole and all(item.holds for item in proof):  # else the plot is not one to read clusters from
            labels, hierarchy, reaches = self._read_clusters()
            claim = "Clusters, their spans, the height of the cut and their reaches are those of the plot."
            pairs: dict[str, tuple[Any, Any]] = {"labels_": (self.labels_, labels)}
            pairs["cluster_hierarchy_"] = self.cluster_hierarchy_, hierarchy
            pairs["eps_"], pairs["cluster_reach_"] = (
                (self.eps_, self._height_of_cut()),
                (self.cluster_reach_, reaches),
            )
            proof.append(agreement(claim, pairs, SOURCE, rtol=1e-9))
        return Certificates(proof)

    def _reach_discrepancy(self, rows: NDArray, distances: NDArray, place: NDArray) -> float:
        # A pair at max_eps may fall on either side.
        offered = (place < place[rows][:, np.newaxis]) & (distances <= self.max_eps * (1.0 + base.ROUNDING))
        offers = np.where(offered, np.maximum(distances, self.core_distances_), np.inf)
        claimed = self.reachability_[rows]
        in_doubt = np.isclose(distances, self.max_eps, rtol=base.ROUNDING, atol=0.0).any(axis=1)
        worst = base.discrepancy(np.where(in_doubt, claimed, offers.min(axis=1)), claimed)
        reached = np.flatnonzero(self.predecessor_[rows] >= 0)
        of_predecessors = offers[reached, self.predecessor_[rows[reached]]]
        return max(worst, base.discrepancy(of_predecessors, claimed[reached]))

    def _broken(self) -> int:
        """Clusters that are no run of the order, or too small; noise never lies within a run."""
        along, n_clusters = self.labels_[self.ordering_], self.cluster_reach_.size
        sizes = np.bincount(along[along >= 0].clip(max=n_clusters), minlength=n_clusters)
        if sizes.size != n_clusters or (sizes == 0).any():
            return int(max(sizes.size, n_clusters))
        first, last = np.full(n_clusters, along.size), np.full(n_clusters, -1)
        places = np.flatnonzero(along >= 0)
        np.minimum.at(first, along[places], places)
        np.maximum.at(last, along[places], places)
        least = self.min_cluster_size_ if self.cluster_method == "xi" else 1
        return int(np.count_nonzero((last - first + 1 != sizes) | (sizes < least)))


def _count(number: float, n_rows: int) -> int:
    """A number of rows, given as such or as a share."""
    return max(2, int(number if number > 1 else number * n_rows))
