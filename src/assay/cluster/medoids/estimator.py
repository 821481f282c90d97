"""k-medoids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.callback import with_callbacks

from assay import parameters
from assay.base import Watch
from assay.certificates import Certificate, Certificates, at_most
from assay.cluster.medoids.certificates import medoid_certificates, optimality_certificates
from assay.cluster.medoids.search import INITS, Found, alternate_medoids, nearness, swap_medoids
from assay.cluster.quantizer.engine import RepresenterModel, generators
from assay.distances import Metric, check_dissimilarity, distance_matrix, metric_domain
from assay.models.clusterer import PairwiseClusterer
from assay.parameters import Domain, ParameterError
from assay.randomness import RandomState
from assay.rows import Block, MemoryRows
from assay.suitability import Suitability

METHODS = ("fasterpam", "pam", "alternate")
NO_WEIGHT = np.empty(0)


class MedoidModel(PairwiseClusterer, RepresenterModel):
    """Base of k-medoids: a subclass has the parameters of `KMedoids`, or fixes some as class attributes."""

    _accepts_sparse = False
    metric: Any
    method: str
    init: Any
    n_init: int
    random_state: RandomState

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the medoids.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            The rows, in memory; the square matrix of their dissimilarities with metric="precomputed".
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,), optional
            Weights; a weight of 2 means the row stands there twice, 0 that it is absent.

        Returns
        -------
        self : object
        """
        data = self._open_pairs(X, sample_weight, instead="fit KMeans, or k-medoids on a sample of them")
        self._require_rows(data)
        distances = self._distances(data)
        weight = NO_WEIGHT if data.weight is None else data.weight
        draws = isinstance(self.init, str) and self.init != "build"
        n_runs = self.n_init if draws else 1
        watch = self._watch_fit(X, n_runs=n_runs, max_iter=self.max_iter)
        best = self._best_run(
            self._starts(distances, weight, n_runs),
            lambda start: self._run(distances, weight, start, watch),
            watch,
            n_runs=n_runs,
        )
        self._conclude(data, distances, weight, best)
        watch.finish()
        return self

    def _starts(self, distances: NDArray, weight: NDArray, n_runs: int) -> Iterator[NDArray]:
        if not isinstance(self.init, str):
            yield self._given_medoids(weight, len(distances))
            return
        for random in generators(self.random_state, n_runs):
            yield INITS[self.init](distances, weight, self.n_clusters, random)

    def _given_medoids(self, weight: NDArray, n_rows: int) -> NDArray:
        given = np.asarray(self.init, dtype=np.float64)
        wrong = given.shape != (self.n_clusters,) or len(np.unique(given)) < len(given)
        if wrong or (given != np.floor(given)).any() or given.min() < 0 or given.max() >= n_rows:
            raise ParameterError(
                f"The 'init' parameter of {type(self).__name__} must give n_clusters={self.n_clusters} "
                f"different indices of rows, from 0 to {n_rows - 1}. Got {self.init!r} instead."
            )
        medoids = given.astype(np.int64)
        if weight.size and not weight[medoids].all():
            raise ParameterError(
                f"The 'init' parameter of {type(self).__name__} must give rows of positive weight. Got "
                f"{self.init!r} instead."
            )
        return medoids

    def _run(self, distances: NDArray, weight: NDArray, start: NDArray, watch: Watch) -> Found:
        if self.method == "alternate":
            return alternate_medoids(
                distances, weight, start, max_iter=self.max_iter, watch=watch, report=_attributes
            )
        return swap_medoids(
            distances,
            weight,
            start,
            eager=self.method == "fasterpam",
            max_iter=self.max_iter,
            watch=watch,
            report=_attributes,
        )

    def _distances(self, data: MemoryRows) -> NDArray:
        """The matrix of dissimilarities, C-ordered."""
        name = type(self).__name__
        if self._is_precomputed:
            return np.ascontiguousarray(check_dissimilarity(data.X, name))
        distances = distance_matrix(data.X, metric=self.metric)
        if callable(self.metric):
            distances = check_dissimilarity(distances, name)
        return np.ascontiguousarray(distances)

    def _conclude(self, data: MemoryRows, distances: NDArray, weight: NDArray, best: Found) -> None:
        self.medoid_indices_ = best.medoids
        if not self._is_precomputed:
            self.cluster_centers_ = data.take(best.medoids)
        self.labels_ = nearness(distances, best.medoids).nearest
        self.n_iter_, self.converged_, self.optimality_ = best.n_iter, best.converged, best.optimality
        self.inertia_ = best.trace[-1]
        self.certificates_ = Certificates(self._cheap_certificates(data, distances, weight))
        filled = self.labels_ if weight.size == 0 else self.labels_[weight > 0.0]
        self._warn(len(np.unique(filled)), "Raise max_iter.")

    def _cheap_certificates(self, data: MemoryRows, distances: NDArray, weight: NDArray) -> list[Certificate]:
        found = medoid_certificates(
            distances,
            weight,
            self.medoid_indices_,
            self.labels_,
            trace=self.inertia_trace_,
            inertia=self.inertia_,
        )
        if not self._is_precomputed:
            apart = np.abs(self.cluster_centers_ - data.take(self.medoid_indices_)).max()
            found.append(
                at_most(
                    "The centres are rows of the sample.",
                    "distance of the centres from their rows",
                    apart,
                    0.0,
                    source="Sangnier §2.2.2",
                )
            )
        return found

    def predict(self, X: Any) -> Any:
        """Place of the nearest medoid of each row, the lowest in case of ties.

        Parameters
        ----------
        X : array, frame, path, memory map, Arrow dataset or Dask collection
            New rows; their dissimilarities to the rows of the fit with metric="precomputed".

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            Lazy for Dask input.
        """
        data = self._open_new_rows(X)
        if self._is_precomputed:
            return data.map(_labels_by_columns, self.medoid_indices_, dtype=np.int32)
        return data.map(_labels_by_distance, self.cluster_centers_, self.metric, dtype=np.int32)

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
        centers = self.cluster_centers_
        return data.map(
            _medoids_by_distance, centers, self.metric, dtype=centers.dtype, width=centers.shape[1]
        )

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh, with a bound on the cost of any medoids of the sample.

        Parameters
        ----------
        X, sample_weight
            The data that the model was fitted on.
        y : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the data alone; costs a hundred walks over the matrix.
        """
        data = self._open_rows_of_fit(X, sample_weight)
        distances = self._distances(data)
        weight = NO_WEIGHT if data.weight is None else data.weight
        return Certificates(
            [
                *self._cheap_certificates(data, distances, weight),
                *optimality_certificates(
                    distances, weight, self.medoid_indices_, swapped=self.method != "alternate"
                ),
            ]
        )


class KMedoids(MedoidModel):
    """Partition of rows around rows of the sample, for any dissimilarity.

    Minimises over medoids m_1, …, m_K among the rows

        D(m) = Σ_i w_i min_k d(x_i, x_{m_k}),        w_i = 1 without `sample_weight`,

    by swaps of one medoid for another row as long as they lower D (FasterPAM: every improving swap is made at
    once, O(n²) a pass), or by alternating assignments and best medoids. The result is a local optimum.

    The fit needs all pairs of rows: n_samples² numbers in memory. Predictions are made block by block.

    Assumes: that the dissimilarity says how unlike two rows are; it need not be a distance. The number of
    clusters is given.

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
        "pam" makes one swap a pass, the best one. "alternate" takes as medoid of a cluster the best of *all*
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
    restart_inertias_ : array of shape (n_init,)
        Cost that each restart reached.
    inertia_trace_ : array
        Cost of the best restart after every swap or alternation.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

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
        "n_clusters": parameters.integer(at_least=1),
        "metric": metric_domain(),
        "method": parameters.one_of(*METHODS),
        "init": parameters.one_of(*INITS) | parameters.array("an array of n_clusters indices of rows"),
        "max_iter": parameters.integer(at_least=1),
        "n_init": parameters.integer(at_least=1),
        "random_state": parameters.random_state,
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
        self.n_clusters = n_clusters
        self.metric = metric
        self.method = method
        self.init = init
        self.max_iter = max_iter
        self.n_init = n_init
        self.random_state = random_state


def _attributes(medoids: NDArray, n_iter: int, inertia: float) -> dict[str, Any]:
    return {"medoid_indices_": medoids.copy(), "n_iter_": n_iter, "inertia_": inertia}


def _nearest(block: Block, centers: NDArray, metric: Metric) -> NDArray:
    return distance_matrix(np.asarray(block.X, dtype=centers.dtype), centers, metric=metric).argmin(axis=1)


def _labels_by_distance(block: Block, centers: NDArray, metric: Metric) -> NDArray:
    return _nearest(block, centers, metric).astype(np.int32)


def _medoids_by_distance(block: Block, centers: NDArray, metric: Metric) -> NDArray:
    return centers[_nearest(block, centers, metric)]


def _labels_by_columns(block: Block, medoids: NDArray) -> NDArray:
    return block.X[:, medoids].argmin(axis=1).astype(np.int32)
