"""What clusterers around centres share: the frame of a fit, restarts, warnings, centres of new rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.metrics.pairwise import euclidean_distances

from assay import parameters
from assay.base import IterativeModel, Watch
from assay.certificates import Certificate, agreement
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import Centers, count_distinct, inspect, inspect_block, placed
from assay.distances import check_sums
from assay.models import convergence
from assay.models.clusterer import Clusterer
from assay.parameters import Domain, ParameterError
from assay.randomness import RandomState, generator, spawn_each
from assay.rows import Block, MemoryRows, Rows

CENTERS = parameters.array("an array of finite numbers of shape (n_clusters, n_features)")
ROW_INDICES = parameters.array("an array of n_clusters indices of rows")
RESTARTS: dict[str, Domain] = {
    "n_clusters": parameters.integer(at_least=1),
    "n_init": parameters.integer(at_least=1),
    "max_iter": parameters.integer(at_least=1),
    "random_state": parameters.random_state,
}
"""Domains of the parameters that all clusterers of this kind share; that of `init` is their own."""


class CentralClusterer(Clusterer, IterativeModel):
    """Base of clusterings of least cost Σ_i w_i d(x_i, centre of its cluster); a subclass fits in `_find`."""

    cluster_centers_: NDArray
    inertia_: float
    inertia_trace_: NDArray
    restart_inertias_: NDArray

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: Any = 1,
        max_iter: int = 300,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, X: Any, sample_weight: Any) -> None:
        data = self._open_fit(X, sample_weight)
        self._require_rows(data)
        self._require_scale(data)
        n_runs, n_steps = self._plan(data)
        watch = self._watch_fit(X, n_runs=n_runs, max_iter=n_steps)
        self._find(data, watch, n_runs)
        if not np.isfinite(self.inertia_):  # of rows outside memory, which were not looked at before
            raise ValueError("The squared distances of X overflow. Divide X by a constant first.")
        watch.finish()

    def _require_scale(self, data: Rows) -> None:
        """Refuse rows whose squared distances overflow or vanish; those outside memory are found later."""
        if isinstance(data, MemoryRows):
            check_sums(data)

    def _open_rows_of_fit(self, X: Any, sample_weight: Any = None) -> Any:
        data = super()._open_rows_of_fit(X, sample_weight)
        self._require_scale(data)
        self._labels_of_fit(data)
        return data

    def _plan(self, data: Rows) -> tuple[int, int]:
        """Number of runs, and of iterations of each at most."""
        return (self.n_init if isinstance(self.init, str) else 1), self.max_iter

    def _find(self, data: Any, watch: Watch, n_runs: int) -> None:
        raise NotImplementedError

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        """The function that labels a block of rows, and what it is handed besides."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Cluster of each row: that of the nearest centre, the lowest in case of ties, or as the class says.

        Returns
        -------
        labels : array of int32 of shape (n_samples,)
            Lazy for Dask input.
        """
        data = self._open_new_rows(X)
        return data.map(*self._rule(data), dtype=np.int32)

    def _quantized(self, data: Rows) -> Any:
        """The centre of each row."""
        centers = self.cluster_centers_
        return data.map(_centers_of, centers, *self._rule(data), dtype=centers.dtype, width=centers.shape[1])

    def _best_run(self, runs: Iterable[Any]) -> Any:
        """The best of the restarts; what each of them reached is kept."""
        best, costs = best_of(runs)
        self.restart_inertias_, self.inertia_trace_ = costs, np.array(best.trace)
        return best

    def _labels_of_fit(self, data: Rows) -> NDArray | None:
        """The labels of local rows, checked, for compiled loops trust them; None on a cluster."""
        if not data.local:
            return None
        labels = np.array(self.labels_, dtype=np.int32)
        if labels.min() < -1 or labels.max() >= self.n_clusters:
            raise ValueError(
                f"The labels_ of {type(self).__name__} must be from 0 to {self.n_clusters - 1}. Got "
                f"{labels.min()} to {labels.max()} instead; fit again."
            )
        return labels

    def _require_rows(self, data: Rows) -> None:
        """Refuse more clusters than rows; fewer distinct rows than clusters are said after the fit."""
        n_rows = data.shape[0]
        if data.has_weight and n_rows >= self.n_clusters:
            n_rows = int(data.reduce(_count_present))
        if n_rows < self.n_clusters:
            shown = "1 sample" if data.shape[0] == 1 else str(count_distinct(data, self.n_clusters))
            raise self._refuse("n_clusters", f"at most the number of distinct rows ({shown})")

    def _given_centers(self, given: Any, shape: tuple[int, int], dtype: Any) -> NDArray:
        centers = np.array(given, dtype=dtype)
        if centers.shape != shape or not np.isfinite(centers).all():
            got = f"shape {centers.shape}" if centers.shape != shape else "NaN or infinity"
            raise ParameterError(
                f"The 'init' parameter of {type(self).__name__} must give finite centres of shape "
                f"(n_clusters, n_features) = {shape}. Got {got} instead."
            )
        return centers

    def _given_rows(self, n_rows: int) -> NDArray:
        """Different rows, one for each cluster, that `init` lists."""
        given = np.asarray(self.init, dtype=np.float64)
        wrong = given.shape != (self.n_clusters,) or len(np.unique(given)) < len(given)
        if wrong or (given != np.floor(given)).any() or given.min() < 0 or given.max() >= n_rows:
            counted = f"n_clusters={self.n_clusters} different indices of rows, from 0 to {n_rows - 1}"
            raise self._refuse("init", f"an array of {counted}")
        return given.astype(np.int64)

    def _warn_of_empty_clusters(
        self, n_filled: int, why: str = "there are no more distinct rows. Take fewer clusters."
    ) -> None:
        if n_filled < self.n_clusters:
            convergence.warn(
                f"Only {n_filled} of the {self.n_clusters} clusters of {type(self).__name__} have rows: {why}"
            )


class CenterClusterer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, CentralClusterer):
    """Base of clusterers that give a row to a centre; a subclass sets `cluster_centers_`."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def quantize(self, X: Any) -> Any:
        """The centre that stands for each row: q(x) = c_k, k = predict(x).

        Returns
        -------
        quantized : array of shape (n_samples, n_features)
            In the dtype of the centres; lazy for Dask input.
        """
        return self._quantized(self._open_new_rows(X))

    def transform(self, X: Any) -> Any:
        """Distances of each row to the centres.

        Returns
        -------
        distances : array of shape (n_samples, n_clusters)
            In the dtype of the rows; lazy for Dask input.
        """
        data = self._open_new_rows(X)
        centers = self.cluster_centers_
        return data.map(_distances_of, centers, dtype=data.dtype, width=len(centers))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of rows about their centres."""
        data = self._open_new_rows(X, None, sample_weight)
        return -inspect(data, self._placed(data)).inertia

    def _placed(self, data: Rows) -> Centers:
        """The fitted centres about their mean, or about 0 for sparse rows."""
        return placed(data, self.cluster_centers_)

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        return labels_of, self._placed(data)

    @property
    def _is_given(self) -> bool:
        return not isinstance(self.init, str) and not callable(self.init)

    def _number_of_runs(self, auto: int) -> int:
        """Restarts; `auto` is the number for initial centres that vary much, where none is given."""
        if self._is_given:
            return 1
        varies = self.init == "random" or callable(self.init)
        return (auto if varies else 1) if self.n_init == "auto" else int(self.n_init)

    def _starts(
        self, pool: _init.Pool, n_clusters: int, randoms: Iterable[np.random.Generator]
    ) -> Iterator[NDArray]:
        """Initial centres, given or from the rows of a pool, one for each generator."""
        for random in randoms:
            if isinstance(self.init, str):
                yield _init.INITS[self.init](pool, n_clusters, random)
                continue
            given = self.init
            if callable(given):
                state = np.random.RandomState(random.bit_generator)
                given = given(pool.data.X, n_clusters, random_state=state)
            yield self._given_centers(given, (n_clusters, pool.data.shape[1]), pool.data.dtype)

    def _local_labels(self, data: Rows) -> NDArray | None:
        """Room for the labels of local rows; None on a cluster."""
        return np.full(data.shape[0], -1, dtype=np.int32) if data.local else None


def account_certificate(
    restarts: NDArray, trace: NDArray, cost: float, weights: tuple[Any, Any], *, scale: float, rtol: float
) -> Certificate:
    """What a fit reports of its way is where it ended: the best restart, the end of the trace, the weights.

    `weights` of the clusters are stored and measured ones, or None twice; costs are compared beside a scale.
    """
    ends = {"restart_inertias_": np.min(restarts, initial=np.inf), "inertia_trace_": trace[-1]}
    pairs: dict[str, tuple[Any, Any]] = {name: ([end, scale], [cost, scale]) for name, end in ends.items()}
    claim = "The best restart and the end of the trace have the cost of the fit, clusters the weight of rows."
    return agreement(claim, {**pairs, "cluster_weights_": weights}, "Sangnier Prop. 56", rtol=rtol)


def watched(run: Callable[[Any], Any], starts: Iterable[Any], watch: Watch) -> Iterator[Any]:
    """Run from every start, each told to the watch, until a callback asks to stop after one."""
    for start in starts:
        with watch.run():
            result = run(start)
        yield result
        if watch.stopped:
            return


def best_of(runs: Iterable[Any]) -> tuple[Any, NDArray]:
    """The first of the runs whose `trace` ends at the least cost, but for rounding, and the cost of each."""
    best, costs = None, []
    for result in runs:
        costs.append(result.trace[-1])
        if best is None or costs[-1] < (1.0 - 1e-9) * best.trace[-1]:
            best = result
    return best, np.array(costs)


def generators(random_state: RandomState, n_runs: int) -> Iterator[np.random.Generator]:
    """One generator for each restart, made when it is its turn: there may be very many."""
    first = generator(random_state)
    yield from [first] if n_runs == 1 else spawn_each(first, n_runs)


def _count_present(block: Block) -> int:
    return int(np.count_nonzero(block.weights))


def _centers_of(block: Block, centers: NDArray, label: Callable[..., NDArray], *state: Any) -> NDArray:
    return centers[np.maximum(label(block, *state), 0)]


def labels_of(block: Block, centers: Centers) -> NDArray:
    """Nearest centres of the rows of a block."""
    labels = np.full(block.X.shape[0], -1, dtype=np.int32)
    inspect_block(block, centers, labels)
    return labels


def _distances_of(block: Block, centers: NDArray) -> NDArray:
    if isinstance(block.X, np.ndarray):
        return cdist(block.X, centers)
    return euclidean_distances(block.X, centers)
