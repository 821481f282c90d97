"""Clusterings around centres that are points, for rows in memory, on disk or on a cluster."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.callback import with_callbacks

from assay import parameters
from assay.certificates import Certificate, Certificates
from assay.cluster.kmeans import seeding as _init
from assay.cluster.quantizer.engine import (
    Alternation,
    RepresenterModel,
    Step,
    alternate,
    assignment_certificate,
    cost_certificate,
    generators,
    monotone_certificate,
    weights_of,
)
from assay.parameters import Domain, ParameterError
from assay.randomness import RandomState, generator
from assay.rows import Block, Rows

ROUNDING = 1e-11

Distance = Callable[[Block, NDArray], NDArray]
"""Dissimilarities of the rows of a block to centres, of shape (n_rows, n_clusters), in doubles."""

INITS: dict[str, Any] = {"k-means++": _init.greedy_plus_plus, "random": _init.random_rows}

CENTER_DOMAINS: dict[str, Domain] = {
    "n_clusters": parameters.integer(at_least=1),
    "init": parameters.one_of(*INITS)
    | parameters.array("an array of finite numbers of shape (n_clusters, n_features)"),
    "n_init": parameters.integer(at_least=1),
    "max_iter": parameters.integer(at_least=1),
    "random_state": parameters.random_state,
}


class Measured(NamedTuple):
    """A partition measured in one walk: cost, what nearest centres would save, weights of the clusters."""

    cost: float
    excess: float
    weights: NDArray


class CenterModel(RepresenterModel):
    """Base of clusterings around points.

    A subclass says in `_distance` how far rows are from centres, in `_step` what one alternation is, and in
    `_stationarity` how to prove that the centres are the best of their clusters.
    """

    init: Any
    n_init: int
    tol: float = ROUNDING
    random_state: RandomState
    cluster_centers_: NDArray

    _distance: Distance

    @abstractmethod
    def _step(self, data: Rows) -> Callable[[NDArray], Step]:
        """One alternation on these rows, from centres in doubles."""

    @abstractmethod
    def _stationarity(self, data: Rows, labels: NDArray | None) -> list[Certificate]:
        """Certificates of the fitted centres, from a walk of their own."""

    def _cost_scale(self, data: Rows) -> float:
        """What rounding of the cost is relative to, where that is not the cost."""
        return 0.0

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Find the clusters.

        Parameters
        ----------
        X : array, frame, path, memory map, Arrow dataset or table, Dask array or dataframe
            The rows.
        y : None
            Ignored.
        sample_weight : array of shape (n_samples,) or column name, optional
            Weights; a weight of 2 means the row stands there twice, 0 that it is absent.

        Returns
        -------
        self : object
        """
        data = self._open_rows(X, None, sample_weight)
        self._require_rows(data)
        n_runs = self.n_init if isinstance(self.init, str) else 1
        watch = self._watch_fit(X, n_runs=n_runs, max_iter=self.max_iter)
        best = self._best_run(
            self._starts(data, n_runs),
            lambda start: alternate(
                self._step(data),
                start,
                tol=self.tol,
                max_iter=self.max_iter,
                watch=watch,
                report=_attributes,
            ),
            watch,
            n_runs=n_runs,
        )
        self._conclude(data, best)
        watch.finish()
        return self

    def _starts(self, data: Rows, n_runs: int) -> Iterator[NDArray]:
        if not isinstance(self.init, str):
            yield self._given_centers((self.n_clusters, data.shape[1]))
            return
        first = generator(self.random_state)
        pool = self._pool(data, first)
        for random in generators(first, n_runs):
            yield INITS[self.init](pool, self.n_clusters, random).astype(np.float64)

    def _pool(self, data: Rows, random: np.random.Generator) -> Any:
        """The rows that initial centres are drawn from."""
        return _init.open_pool(data, random)

    def _given_centers(self, shape: tuple[int, int]) -> NDArray:
        centers = np.array(self.init, dtype=np.float64)
        if centers.shape != shape:
            raise ParameterError(
                f"The 'init' parameter of {type(self).__name__} must give centres of shape (n_clusters, "
                f"n_features) = {shape}. Got shape {centers.shape} instead."
            )
        return centers

    def _conclude(self, data: Rows, best: Alternation) -> None:
        self.cluster_centers_ = best.representers.astype(data.dtype)
        self.n_iter_, self.converged_, self.optimality_ = best.n_iter, best.converged, best.optimality
        self.labels_ = data.map(_labels, type(self)._distance, self.cluster_centers_, dtype=np.int32)
        labels = self.labels_ if data.local else None
        measured = self._measure(data, labels)
        self._settle(data, measured)
        self.certificates_ = self._certificates(data, labels, measured)
        self._warn(int(np.count_nonzero(measured.weights)), "Raise max_iter.")

    def _settle(self, data: Rows, measured: Measured) -> None:
        """Set the attributes that are measured at the end."""
        self.inertia_, self.cluster_weights_ = measured.cost, measured.weights

    def _measure(self, data: Rows, labels: NDArray | None) -> Measured:
        return data.reduce(
            _measure_block,
            type(self)._distance,
            self.cluster_centers_,
            rowwise=() if labels is None else (labels,),
        )

    def _certificates(self, data: Rows, labels: NDArray | None, measured: Measured) -> Certificates:
        scale = self._cost_scale(data)
        # Centres are stored in the dtype of the rows: that much the last step may cost.
        rounding = ROUNDING if data.dtype == np.float64 else 1e-5
        least = max(measured.cost - measured.excess, scale, float(np.finfo(np.float64).tiny))
        return Certificates(
            [
                monotone_certificate(self.inertia_trace_, measured.cost, rounding=rounding, scale=scale),
                cost_certificate(self.inertia_, measured.cost, rounding=ROUNDING, scale=scale),
                assignment_certificate(measured.excess / least, rounding=ROUNDING),
                *self._stationarity(data, labels),
            ]
        )

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure every certificate afresh on the data of the fit.

        Parameters
        ----------
        X, sample_weight
            The data that the model was fitted on.
        y : None
            Ignored.

        Returns
        -------
        certificates : Certificates
            From the fitted attributes and the data alone.
        """
        data = self._open_new_rows(X, None, sample_weight)
        labels = None
        if data.local:
            self._require_rows_of_fit(data.shape[0])
            labels = np.array(self.labels_, dtype=np.int32)
        found = self._certificates(data, labels, self._measure(data, labels))
        return Certificates([*found, *self._bounds(data)])

    def _bounds(self, data: Rows) -> list[Certificate]:
        """Certificates that only `certify` has time for."""
        return []

    def predict(self, X: Any) -> Any:
        """Index of the nearest centre of each row, the lowest in case of ties.

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            Lazy for Dask input.
        """
        data = self._open_new_rows(X)
        return data.map(_labels, type(self)._distance, self.cluster_centers_, dtype=np.int32)

    def quantize(self, X: Any) -> Any:
        """The centre of each row's cluster, q(x), of shape (n_samples, n_features); lazy for Dask input."""
        data = self._open_new_rows(X)
        centers = self.cluster_centers_
        return data.map(
            _centers_of, type(self)._distance, centers, dtype=centers.dtype, width=centers.shape[1]
        )

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of rows about the centres."""
        data = self._open_new_rows(X, None, sample_weight)
        return -float(self._measure(data, None).cost)


def one_hot(labels: NDArray, weight: NDArray, n_clusters: int) -> Any:
    """The matrix of shape (n_clusters, n_rows) that sums weighted rows by cluster."""
    n_rows = len(labels)
    return sparse.csc_array((weight, labels, np.arange(n_rows + 1)), shape=(n_clusters, n_rows))


def _attributes(centers: NDArray, n_iter: int, cost: float) -> dict[str, Any]:
    return {"cluster_centers_": centers, "n_iter_": n_iter, "inertia_": cost}


def _labels(block: Block, distance: Distance, centers: NDArray) -> NDArray:
    distances = distance(block, centers)
    labels = distances.argmin(axis=1).astype(np.int32)
    labels[np.isinf(distances[:, 0])] = -1
    return labels


def _centers_of(block: Block, distance: Distance, centers: NDArray) -> NDArray:
    return centers[distance(block, centers).argmin(axis=1)]


def _measure_block(
    block: Block, distance: Distance, centers: NDArray, labels: NDArray | None = None
) -> Measured:
    distances, weight = distance(block, centers), weights_of(block)
    nearest = distances.argmin(axis=1)
    absent = np.isinf(distances[:, 0])
    if absent.any():
        weight[absent], distances[absent] = 0.0, 0.0
    own = nearest if labels is None else np.maximum(labels, 0)
    places = np.arange(len(own))
    costs, least = distances[places, own], distances[places, nearest]
    return Measured(
        float(weight @ costs),
        float(weight @ (costs - least)),
        np.bincount(own, weight, minlength=len(centers)),
    )
