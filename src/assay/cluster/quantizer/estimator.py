"""Clustering around representers of any kind, for any dissimilarity."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, at_most
from assay.cluster.base import CENTERS, RESTARTS, generators
from assay.cluster.medoids.solver import cluster_costs
from assay.cluster.quantizer.base import ROUNDING, CenterModel, Distance, Step, metric_distances, seed_rows
from assay.distances import Metric, check_sums, distance_matrix, metric_domain
from assay.parameters import Domain
from assay.randomness import RandomState
from assay.rows import Block, MemoryRows

TOLERANCE = 1e-13

Representer = Callable[[NDArray, NDArray], Any]
"""From the rows of a cluster and their weights to the point that represents them."""


class CentroidClustering(CenterModel):
    """Partition of rows around representers, for any dissimilarity and any representer.

    Minimises over clusters C_1, …, C_K the distortion

        D = Σ_k Σ_{i ∈ C_k} w_i d(x_i, μ(C_k)),        μ(C) ∈ argmin_μ Σ_{i ∈ C} w_i d(x_i, μ),

    by alternating the assignment of rows to the nearest representer and the representers of the clusters:
    whatever d is, neither half-step raises D. A representer that would is not taken, so that an approximate
    solver does no harm. k-means is d = "sqeuclidean" with the mean; `KMeans`, `KMedoids`, `KMedian`,
    `KGeometricMedian`, `KCoordinateMedian` and `SphericalKMeans` are faster forms of special cases.

    The fit is in memory; with representer="medoid" it needs all pairs of rows.

    Assumes: that d says how unlike a row and a representer are; the number of clusters is given. There is no
    model of the rows.

    Certificates: the distortion never rises, is that of the labels and representers, and every row is at its
    nearest representer; `certify` adds that no row of a cluster would represent it better.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    metric : str or callable, default="sqeuclidean"
        The dissimilarity d: a name of `assay.distances` or a function of two rows.
    representer : "medoid" or callable, default="medoid"
        The solver of μ(C): the best of all rows of the sample, or a function called as
        `representer(rows, weights)` that gives a point.
    init : "k-means++" or array of shape (n_clusters, n_features), default="k-means++"
        Initial representers: rows drawn one by one ∝ w · d(x, those drawn before), or given.
    n_init : int, default=1
        Restarts, where `init` draws.
    max_iter : int, default=300
        Most iterations of a restart.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial representers come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The representers.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row.
    inertia_ : float
        The distortion D.
    converged_ : bool
        Whether no representer could be bettered any more.
    optimality_ : float
        Share by which the next representers would lower D.
    n_iter_, restart_inertias_, inertia_trace_, cluster_weights_, certificates_
        As in `KMeans`, with this cost in place of the inertia.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import CentroidClustering
    >>> X = np.array([[0.0], [1.0], [5.0], [20.0], [22.0], [30.0]])
    >>> def median(rows, weights):
    ...     return np.median(rows, axis=0)
    >>> model = CentroidClustering(2, metric="cityblock", representer=median, init=[[0.0], [30.0]]).fit(X)
    >>> model.quantize([[2.0], [28.0]])
    array([[ 1.],
           [22.]])
    >>> model.inertia_, model.distortion(X)
    (15.0, 15.0)

    References
    ----------
    Sangnier §2.2.1, Remark 2.2.1.
    """

    _accepts_sparse = False
    _instead = "fit KMeans, KGeometricMedian or KCoordinateMedian"
    tol = TOLERANCE

    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "metric": metric_domain(precomputed=False),
        "representer": parameters.one_of("medoid") | parameters.function,
        "init": parameters.one_of("k-means++") | CENTERS,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Metric = "sqeuclidean",
        representer: Any = "medoid",
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.metric = metric
        self.representer = representer

    @property
    def _distance(self) -> Distance:
        return partial(metric_distances, metric=self.metric)

    def _require_scale(self, data: Any) -> None:
        check_sums(data, self.metric, data.dtype)

    def _apart(self, X: NDArray, centers: NDArray) -> NDArray:
        """Dissimilarities of rows and representers; one sentence where they are none."""
        distances = distance_matrix(X, centers, metric=self.metric)
        if callable(self.metric) and not (np.isfinite(distances).all() and (distances >= 0.0).all()):
            raise ValueError(
                "The 'metric' of CentroidClustering must give finite dissimilarities at least 0. Got "
                f"{distances.min():g} instead."
            )
        return distances

    def _starts(self, data: Any, n_runs: int) -> Iterator[NDArray]:
        if not isinstance(self.init, str):
            yield self._given_centers(self.init, (self.n_clusters, data.shape[1]), data.dtype)
            return
        X, order = data.X, np.lexsort(data.X.T)
        for random in generators(self.random_state, n_runs):
            uniforms = random.random((self.n_clusters, 1))
            yield X[seed_rows(lambda rows: self._apart(X, X[rows]).T, _weights(data), uniforms, order)]

    def _step(self, data: Any) -> Callable[[NDArray], Step]:
        X, weight = data.X, _weights(data)
        everyone = self._apart(X, X) if not callable(self.representer) else np.empty((0, 0), dtype=X.dtype)

        def step(centers: NDArray) -> Step:
            apart = self._apart(X, centers).astype(np.float64)
            labels = apart.argmin(axis=1).astype(np.int32)
            own = weight * apart[np.arange(len(X)), labels]
            current = np.bincount(labels, own, minlength=len(centers))
            successor, reached = centers.copy(), current.copy()
            for k, point, cost in self._candidates(X, weight, labels, everyone):
                if cost < (1.0 - TOLERANCE) * current[k]:
                    successor[k], reached[k] = point, cost
            cost = float(current.sum())
            gain = float((current - reached).sum())
            return Step(cost, centers, successor, gain / cost if cost > 0.0 else 0.0)

        return step

    def _candidates(
        self, X: NDArray, weight: NDArray, labels: NDArray, everyone: NDArray
    ) -> Iterator[tuple[int, NDArray, float]]:
        """Each cluster with rows, the point proposed to represent it, and what that would cost."""
        present = np.unique(labels[weight > 0.0])
        if not callable(self.representer):
            sums = cluster_costs(everyone, weight, labels, self.n_clusters)
            for k in present:
                chosen = int(sums[k].argmin())
                yield int(k), X[chosen], float(sums[k, chosen])
            return
        for k in present:
            members = (labels == k) & (weight > 0.0)
            point = np.asarray(self.representer(X[members], weight[members]), dtype=X.dtype)
            if point.shape != X.shape[1:] or not np.isfinite(point).all():
                raise ValueError(
                    f"The 'representer' of CentroidClustering must give {X.shape[1]} finite numbers. Got an "
                    f"array of shape {point.shape} instead."
                )
            yield int(k), point, float(weight[members] @ self._apart(X[members], point[np.newaxis])[:, 0])

    def distortion(self, X: Any, sample_weight: Any = None) -> float:
        """Σ_i w_i d(x_i, q(x_i)) of rows, which may be others than those of the fit."""
        return -self.score(X, sample_weight=sample_weight)

    def _bounds(self, data: Any, problem: Any) -> list[Certificate]:
        weight = _weights(data)
        gain = cost = 0.0
        for k in np.unique(self.labels_[weight > 0.0]):
            members = (self.labels_ == k) & (weight > 0.0)
            part, w = data.X[members], weight[members]
            own = float(w @ self._apart(part, self.cluster_centers_[k : k + 1])[:, 0])
            cost += own
            gain += max(own - float((w @ self._apart(part, part)).min()), 0.0)
        return [
            at_most(
                "No row of a cluster would represent it better than its representer.",
                "gain of the best rows",
                gain / cost if cost > 0.0 else 0.0,
                ROUNDING if data.dtype == np.float64 else 1e-5,
                source="Sangnier §2.2.1",
                assumptions=("the representer minimises the sum of dissimilarities",),
            )
        ]


def _weights(data: MemoryRows) -> NDArray:
    return Block(data.X, None, data.weight, 0).weights
