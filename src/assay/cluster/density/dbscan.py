"""DBSCAN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.cluster.density import choice
from assay.cluster.density import dbscan_solver as solver
from assay.cluster.density.base import distances_from, rows_to_measure
from assay.cluster.density.dbscan_certificates import TIE, Claim, dbscan_certificates
from assay.distances import Metric, NeighborSearch, check_metric, metric_domain
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import Domain
from assay.rows import Block, MemoryRows

# Not offered as an option to the walk of the checks: scikit-learn's check of weights shuffles the rows and
# compares the numbers of clusters, which go by the rows. tests/cluster/test_dbscan.py runs the other checks.
AUTO = Domain("'auto'", lambda value: isinstance(value, str) and value == "auto")


class DBSCAN(PairwiseClusterer):
    """Clusters as dense regions of any shape, with noise between them.

    Finds the connected components of core rows: those with a weight of at least `min_samples` within a
    distance eps, their own included. Core rows within eps of each other share a cluster; a row within eps of
    a core row that is not core itself is on the border of its cluster; all others are noise.

    Euclidean rows are put in the cells of a tree of boxes: neighbours are counted until there are enough,
    and cells are joined until they are connected, in memory O(n). Other metrics go by lists of neighbours.
    No draw and no order of rows matters but for borders between clusters, which `ambiguous_borders_` lists.

    Assumes: columns on comparable scales, and one density, set by eps and `min_samples`, that separates all
    clusters from the noise.

    `predict` gives a row the cluster of the nearest core row if that is within eps, else −1. A row of
    weight 2 counts twice, one of weight 0 is never core.

    Certificates: exactly the core rows have enough neighbours, clusters are the connected components of core
    rows, borders are within eps of their cluster and noise is not; by another search than that of the fit. A
    large fit measures evenly spaced rows, `certify` all of them.

    Parameters
    ----------
    eps : float or "auto", default=0.5
        Radius of a neighbourhood. "auto" takes the elbow of the k-distance curve, as `suggest_eps` does, and
        warns where clusters have very different densities.
    min_samples : int or "auto", default=5
        Weight within eps, its own included, that makes a row core. "auto" is twice the number of features.
    metric : str or function, default="euclidean"
        Distance of rows; with "precomputed", `X` is the square matrix of dissimilarities.

    Attributes
    ----------
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row, numbered by their lowest core rows; −1 is noise. A border row has the lowest
        label within its reach. Rows of weight 0 are labelled too, and are never core.
    core_sample_indices_ : array of int of shape (n_core,)
        The core rows.
    components_ : array of shape (n_core, n_features)
        Their values; with metric="precomputed" their dissimilarities.
    point_types_ : array of int8 of shape (n_samples,)
        2 for core, 1 for border, 0 for noise.
    ambiguous_borders_ : array of int
        Border rows within eps of two clusters or more: only their labels depend on the order of the rows.
    n_clusters_ : int
        Number of clusters.
    label_weights_ : array of shape (n_clusters_ + 1,)
        Number of rows, or weight, of each cluster, and of noise at the end: `label_weights_[label]`.
    eps_, min_samples_ : float, int
        The values used.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import DBSCAN
    >>> X = np.array([[1.0, 2.0], [2.0, 2.0], [2.0, 3.0], [8.0, 7.0], [8.0, 8.0], [25.0, 80.0]])
    >>> model = DBSCAN(eps=3.0, min_samples=2).fit(X)
    >>> model.labels_
    array([ 0,  0,  0,  1,  1, -1], dtype=int32)
    >>> model.predict([[2.0, 4.0], [50.0, 50.0]])
    array([ 0, -1], dtype=int32)
    >>> model.certificates_.holds
    True

    References
    ----------
    Sangnier §2.4, Algorithm 14, corrected as docs/errata.md says. Ester, Kriegel, Sander & Xu (1996).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "eps": parameters.real(above=0.0) | AUTO,
        "min_samples": parameters.integer(at_least=1) | AUTO,
        "metric": metric_domain(),
    }
    _accepts_sparse: ClassVar[bool] = False
    _instead = "take KMeans, which walks them"

    def __init__(
        self, eps: float | str = 0.5, *, min_samples: int | str = 5, metric: Metric = "euclidean"
    ) -> None:
        self.eps = eps
        self.min_samples = min_samples
        self.metric = metric

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X, sample_weight)
        rows = self._pairs_or_rows(data)
        self._choose(rows, data.weight)
        self._keep(self._solve(rows, data.weight), rows, data.weight)
        self.certificates_ = self._measured(data, rows, rows_to_measure(len(rows), least=4), 0.0)

    def _predicted(self, data: Any) -> Any:
        labels = self.labels_[self.core_sample_indices_]
        nearest: Any = None
        if self._is_precomputed:
            nearest = partial(_nearest_given, core=self.core_sample_indices_)
        elif labels.size:
            nearest = partial(_nearest_searched, search=NeighborSearch(self.components_, metric=self.metric))
        return data.map(_labels_of, nearest, labels, self.eps_, dtype=np.int32)

    def _certify(self, data: MemoryRows) -> Certificates:
        rows = data.take(np.arange(data.shape[0]))
        kept = float(np.abs(rows[self.core_sample_indices_] - self.components_).max(initial=0.0))
        return self._measured(data, rows, np.arange(len(rows)), kept, search=not self._is_precomputed)

    def _choose(self, rows: NDArray, weight: NDArray | None) -> None:
        if self.min_samples == "auto":
            if self._is_precomputed:
                raise self._refuse("min_samples", "an int with metric='precomputed'")
            self.min_samples_ = choice.suggest_min_samples(rows.shape[1])
        else:
            self.min_samples_ = int(self.min_samples)
        if self.eps != "auto":
            self.eps_ = float(self.eps)
            return
        if len(rows) < 2:
            raise self._refuse("eps", "a number where there is only 1 sample")
        if not self._is_precomputed:
            check_metric(self.metric)
        distances = choice.k_distances(rows, max(self.min_samples_, 2), self.metric, weight)
        elbow, n_features = choice.find_elbow(distances, weight), choice.dimension(rows, self.metric)
        choice.warn_of_densities(elbow, len(rows), self.min_samples_, n_features, stacklevel=3)
        self.eps_ = elbow.eps

    def _solve(self, rows: NDArray, weight: NDArray | None) -> solver.DensityPartition:
        enough = float(self.min_samples_)
        metric = self.metric if self._is_precomputed else check_metric(self.metric)
        if isinstance(metric, str) and metric in ("euclidean", "sqeuclidean"):
            limit = self.eps_ if metric == "sqeuclidean" else self.eps_**2
            return solver.dbscan_by_cells(rows, limit, enough, weight)
        if self._is_precomputed:
            neighbors = solver.neighbors_by_distances(rows.__getitem__, len(rows), self.eps_)
        else:
            neighbors = solver.neighbors_by_search(rows, self.eps_, metric)
        return solver.dbscan_by_lists(len(rows), neighbors, enough, weight)

    def _keep(self, result: solver.DensityPartition, rows: NDArray, weight: NDArray | None) -> None:
        self.labels_, self.n_clusters_ = result.labels, int(result.n_clusters)
        self.core_sample_indices_ = np.flatnonzero(result.core)
        self.components_ = rows[self.core_sample_indices_]
        self.point_types_ = (result.labels >= 0).astype(np.int8) + result.core
        self.ambiguous_borders_ = np.flatnonzero(result.ambiguous)
        counts = np.bincount(result.labels + 1, weights=weight, minlength=self.n_clusters_ + 1)
        self.label_weights_ = np.append(counts[1:], counts[0]).astype(np.float64)

    def _measured(
        self, data: MemoryRows, rows: NDArray, measured: NDArray, kept: float, *, search: bool = False
    ) -> Certificates:
        """Certificates by a search, or by distances to all rows, which no tree has a part in."""
        n_rows, reach = len(rows), self.eps_ * (1.0 + TIE)
        core = np.zeros(n_rows, dtype=np.bool_)
        core[self.core_sample_indices_] = True
        mass = np.ones(n_rows) if data.weight is None else data.weight.astype(np.float64)
        claim = Claim(self.labels_, core, mass, float(self.min_samples_), self.eps_, self.n_clusters_)
        if search:
            neighbors = solver.neighbors_by_search(rows.astype(np.float64, copy=False), reach, self.metric)
        else:
            distances: Any = rows.__getitem__
            if not self._is_precomputed:
                distances = partial(distances_from, X=rows, metric=self.metric)
            neighbors = solver.neighbors_by_distances(distances, n_rows, reach)
        return dbscan_certificates(claim, neighbors, measured, self.label_weights_, kept)


def _labels_of(block: Block, nearest: Any, labels: NDArray, eps: float) -> NDArray:
    if not labels.size:
        return np.full(block.X.shape[0], -1, dtype=np.int32)
    distances, indices = nearest(np.asarray(block.X))
    return np.where(distances <= eps, labels[indices], -1).astype(np.int32)


def _nearest_given(rows: NDArray, core: NDArray) -> tuple[NDArray, NDArray]:
    to_core = rows[:, core]
    indices = to_core.argmin(axis=1)
    return to_core[np.arange(len(rows)), indices], indices


def _nearest_searched(rows: NDArray, search: NeighborSearch) -> tuple[NDArray, NDArray]:
    near = search.nearest(1, rows.astype(search.X.dtype, copy=False))
    return near.distances[:, 0], near.indices[:, 0]
