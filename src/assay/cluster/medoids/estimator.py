"""k-medoids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import Watch
from assay.certificates import Certificate, at_most
from assay.cluster.base import RESTARTS, ROW_INDICES, generators
from assay.cluster.medoids.certificates import medoid_certificates, optimality_certificates
from assay.cluster.medoids.solver import INITS, Pairs, alternate_medoids, nearness, swap_medoids
from assay.cluster.quantizer.base import Alternation, RepresenterModel
from assay.distances import Metric, check_dissimilarity, check_sums, distance_matrix, metric_domain
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import Domain, ParameterError
from assay.randomness import RandomState
from assay.rows import Block, MemoryRows, Rows
from assay.suitability import Suitability

NO_WEIGHT = np.empty(0)


class MedoidModel(PairwiseClusterer, RepresenterModel):
    """Base of k-medoids: a subclass has the parameters of `KMedoids`, or fixes some as class attributes."""

    _accepts_sparse = False
    _instead = "fit KMeans, or k-medoids on a sample of them"
    metric: Any
    method: str

    def _plan(self, data: Rows) -> tuple[int, int]:
        draws = isinstance(self.init, str) and self.init != "build"
        return (self.n_init if draws else 1), self.max_iter

    def _require_scale(self, data: Rows) -> None:
        if isinstance(data, MemoryRows):
            check_sums(data, self.metric, data.dtype)

    def _prepare(self, data: MemoryRows) -> Pairs:
        if self._is_precomputed:
            distances = check_dissimilarity(data.X, type(self).__name__)
        else:
            distances = distance_matrix(data.X, metric=self.metric)
            if callable(self.metric):
                distances = check_dissimilarity(distances, type(self).__name__)
        weight = NO_WEIGHT if data.weight is None else data.weight
        return np.ascontiguousarray(distances), weight

    def _starts(self, pairs: Pairs, n_runs: int) -> Iterator[NDArray]:
        if isinstance(self.init, str):
            for random in generators(self.random_state, n_runs):
                yield INITS[self.init](*pairs, self.n_clusters, random)
            return
        medoids = self._given_rows(len(pairs[0]))
        if pairs[1].size and not pairs[1][medoids].all():
            raise ParameterError(
                f"The 'init' parameter of {type(self).__name__} must give rows of positive weight. Got "
                f"{self.init!r} instead."
            )
        yield medoids

    def _run(self, pairs: Pairs, start: NDArray, watch: Watch) -> Alternation:
        options: Any = {"max_iter": self.max_iter, "watch": watch, "report": _attributes}
        if self.method == "alternate":
            return alternate_medoids(pairs, start, **options)
        return swap_medoids(pairs, start, eager=self.method == "fasterpam", **options)

    def _represent(self, data: MemoryRows, pairs: Pairs, best: Alternation) -> None:
        self.medoid_indices_ = best.representers
        if not self._is_precomputed:
            self.cluster_centers_ = data.take(best.representers)
        self.labels_ = nearness(pairs[0], best.representers).nearest
        self.inertia_ = best.trace[-1]

    def _proof(self, data: MemoryRows, pairs: Pairs, measured: Any) -> list[Certificate]:
        medoids = self.medoid_indices_
        if medoids.min() < 0 or medoids.max() >= data.shape[0]:
            raise ValueError(
                f"The medoid_indices_ of {type(self).__name__} must be rows, from 0 to {data.shape[0] - 1}. "
                f"Got {medoids.min()} to {medoids.max()} instead; fit again."
            )
        proof = medoid_certificates(
            *pairs, self.medoid_indices_, self.labels_, trace=self.inertia_trace_, inertia=self.inertia_
        )
        if not self._is_precomputed:
            proof.append(
                at_most(
                    "The centres are rows of the sample.",
                    "distance of the centres from their rows",
                    np.abs(self.cluster_centers_ - data.take(self.medoid_indices_)).max(),
                    0.0,
                    source="Sangnier §2.2.2",
                )
            )
        return proof

    def _bounds(self, data: MemoryRows, pairs: Pairs) -> list[Certificate]:
        return optimality_certificates(*pairs, self.medoid_indices_, swapped=self.method != "alternate")

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        if self._is_precomputed:
            return _labels_by_columns, self.medoid_indices_
        return _labels_by_distance, self.cluster_centers_, self.metric

    def _predicted(self, data: Any) -> Any:
        return data.map(*self._rule(data), dtype=np.int32)

    def quantize(self, X: Any) -> Any:
        """The medoid of each row's cluster, q(x): an array of shape (n_samples, n_features), lazy for Dask.

        With metric="precomputed" there are no rows to give: take `medoid_indices_[predict(X)]`.
        """
        data = self._open_new_rows(X)
        if self._is_precomputed:
            raise ValueError(
                f"{type(self).__name__} with metric='precomputed' has no rows to give; take "
                "medoid_indices_[predict(X)] instead of quantize."
            )
        return self._quantized(data)


class KMedoids(MedoidModel):
    """Partition of rows around rows of the sample, for any dissimilarity.

    Minimises over medoids m_1, …, m_K among the rows

        D(m) = Σ_i w_i min_k d(x_i, x_{m_k}),        w_i = 1 without `sample_weight`,

    by swaps of one medoid for another row as long as they lower D (FasterPAM: every improving swap is made at
    once, O(n²) a pass), or by alternating assignments and best medoids. The result is a local optimum.

    The fit needs all pairs of rows: n_samples² numbers in memory. Predictions are made block by block.

    Assumes: that the dissimilarity says how unlike two rows are; it need not be a distance. The number of
    clusters is given.

    `predict` gives a row the place of the nearest medoid, the lowest in case of ties.

    Certificates: the cost never rises, is that of the labels, and every row is at its nearest medoid;
    `certify` adds that no swap lowers the cost, that no row is a better medoid of its cluster, and a lower
    bound on the cost of any medoids (a feasible dual point), hence how far this fit is from the best.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids K, at most the number of rows.
    metric : str or callable, default="euclidean"
        Name of a dissimilarity of `assay.distances`, a function of two rows, or "precomputed": then X is the
        symmetric matrix of dissimilarities. The course's k-medoids is "sqeuclidean".
    method : {"fasterpam", "pam", "alternate"}, default="fasterpam"
        "pam" makes the best swap of each pass. "alternate" takes as medoid of a cluster the best of *all*
        rows, then assigns anew; it is faster and ends in worse optima.
    init : {"build", "k-medoids++", "random"} or array of shape (n_clusters,), default="build"
        Initial medoids. "build" takes the best single medoid, then always the row that lowers the cost most,
        and draws nothing; "k-medoids++" draws 2 + ⌊ln K⌋ rows ∝ their dissimilarity to those before and keeps
        the best; "random" draws distinct rows. An array gives the indices of rows.
    max_iter : int, default=300
        Most passes over the rows of a restart.
    n_init : int, default=1
        Restarts, for the two kinds of `init` that draw.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial medoids come from.

    Attributes
    ----------
    medoid_indices_ : array of shape (n_clusters,)
        The rows m_k.
    cluster_centers_ : array of shape (n_clusters, n_features)
        The rows themselves; not there with metric="precomputed".
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row. Rows of weight 0 have one too.
    inertia_ : float
        D at the medoids.
    n_iter_ : int
        Passes over the rows of the best restart.
    converged_ : bool
        Whether no swap (no better medoid for "alternate") was left.
    optimality_ : float
        0 at the end; else the share of the rows not tried since the last swap, or the relative decrease that
        the next alternation would bring.
    restart_inertias_, inertia_trace_, certificates_, n_features_in_, feature_names_in_
        As in `KMeans`, with this cost in place of the inertia.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KMedoids
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]])
    >>> model = KMedoids(n_clusters=2).fit(X)
    >>> model.cluster_centers_[model.predict([[0.0, 0.0], [12.0, 3.0]])]
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> model.inertia_, model.certify(X).named("cost").bound
    (8.0, 8.0)

    References
    ----------
    Sangnier §2.2.1–2.2.2.
    Kaufman & Rousseeuw (1987), PAM. Schubert & Rousseeuw (2021), FasterPAM. Cornuéjols, Fisher & Nemhauser
    (1977), the Lagrangian bound.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "metric": metric_domain(),
        "method": parameters.one_of("fasterpam", "pam", "alternate"),
        "init": parameters.one_of(*INITS) | ROW_INDICES,
    }
    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, max_rows=5000)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        metric: Metric = "euclidean",
        method: str = "fasterpam",
        init: Any = "build",
        max_iter: int = 300,
        n_init: int = 1,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.metric = metric
        self.method = method


def _attributes(medoids: NDArray, n_iter: int, inertia: float) -> dict[str, Any]:
    return {"medoid_indices_": medoids.copy(), "n_iter_": n_iter, "inertia_": inertia}


def _labels_by_distance(block: Block, centers: NDArray, metric: Metric) -> NDArray:
    X = np.asarray(block.X, dtype=centers.dtype)
    return distance_matrix(X, centers, metric=metric).argmin(axis=1).astype(np.int32)


def _labels_by_columns(block: Block, medoids: NDArray) -> NDArray:
    return block.X[:, medoids].argmin(axis=1).astype(np.int32)


class KMedian(MedoidModel):
    """Partition of rows around rows of the sample, by Euclidean distance.

    Minimises over medoids m_1, …, m_K among the rows

        D(m) = Σ_i w_i min_k ‖x_i − x_{m_k}‖,        w_i = 1 without `sample_weight`,

    by swaps of one row for another (FasterPAM), or by the alternation of the course: it is `KMedoids` with
    the Euclidean distance. Distances are not squared, so that far rows pull less than in k-means.
    `KGeometricMedian` and `KCoordinateMedian` let the centres be any points.

    The fit needs all pairs of rows: n_samples² numbers in memory. Predictions are made block by block.

    Assumes: columns on comparable scales and round groups, some rows of which may lie far away; the number of
    clusters is given.

    Certificates: those of `KMedoids`; `certify` adds a lower bound on the cost of any medoids.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of medoids K, at most the number of rows.
    method : {"fasterpam", "alternate"}, default="fasterpam"
        Swaps, or assignments and best medoids of the clusters in turn.
    init : {"build", "k-medoids++", "random"} or array of shape (n_clusters,), default="build"
        Initial medoids, as in `KMedoids`.
    max_iter : int, default=300
        Most passes over the rows of a restart.
    n_init : int, default=1
        Restarts, for the two kinds of `init` that draw.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial medoids come from.

    Attributes
    ----------
    medoid_indices_, cluster_centers_, labels_, inertia_, n_iter_, converged_, optimality_
        As in `KMedoids`.
    restart_inertias_, inertia_trace_, certificates_, n_features_in_, feature_names_in_
        As in `KMedoids`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KMedian
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [90.0]])
    >>> KMedian(n_clusters=2).fit(X).labels_
    array([0, 0, 0, 0, 0, 1], dtype=int32)
    >>> KMedian(n_clusters=3).fit(X).certificates_.holds
    True

    References
    ----------
    Sangnier §2.2.1–2.2.2 (k-median, centres in the sample).
    """

    metric = "euclidean"

    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "method": parameters.one_of("fasterpam", "alternate"),
        "init": parameters.one_of(*INITS) | ROW_INDICES,
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        method: str = "fasterpam",
        init: Any = "build",
        max_iter: int = 300,
        n_init: int = 1,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.method = method
