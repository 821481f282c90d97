"""Clusterings by restarts of one alternation: assign the rows, then represent the clusters."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay import parameters
from assay.base import Watch
from assay.certificates import Certificate, Certificates, at_most
from assay.cluster.base import (
    CENTERS,
    RESTARTS,
    CentralClusterer,
    account_certificate,
    generators,
    watched,
)
from assay.cluster.kmeans import seeding as _init
from assay.distances import Metric, distance_matrix
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, Rows

LEAST_OPTIMALITY = 2e-15
"""No step tells an optimality below this from 0."""

ROUNDING = 1e-11


class Step(NamedTuple):
    """One assignment to `representers`: its cost, the best next ones, and what they gain (0 at the end)."""

    cost: float
    representers: Any
    successor: Any
    optimality: float


class Alternation(NamedTuple):
    """Result of `alternate`: `trace` holds the cost after every assignment."""

    representers: Any
    trace: list[float]
    n_iter: int
    converged: bool
    optimality: float


def alternate(
    step: Callable[[Any], Step],
    start: Any,
    *,
    tol: float,
    max_iter: int,
    watch: Watch,
    report: Callable[[Any, int, float], dict[str, Any]],
) -> Alternation:
    """Alternate assignments and representers until the representers are optimal for their clusters.

    If neither half-step raises the cost, the trace never rises (Sangnier Prop. 56). Stops at an optimality
    of at most `tol`, up to rounding.
    """
    tol = max(tol, LEAST_OPTIMALITY)
    last, n_iter, stopped = step(start), 0, False
    trace = [last.cost]
    while last.optimality > tol and n_iter < max_iter and not stopped:
        last = step(last.successor)
        trace.append(last.cost)
        n_iter += 1
        current = last.representers
        stopped = watch.iteration(lambda: report(current, n_iter, trace[-1]))  # noqa: B023
    return Alternation(last.representers, trace, max(n_iter, 1), last.optimality <= tol, last.optimality)


class RepresenterModel(CentralClusterer):
    """Base of clusterings by restarts of an iteration over representers.

    `_prepare` makes the problem of the data, `_starts` gives the starts and `_run` iterates from one;
    `_represent` sets labels and representers, `_measure` measures them, `_settle` sets what was measured;
    `_proof` proves it, and `_bounds` adds what only `certify` has time for.
    """

    tol: float = 0.0

    @staticmethod
    def _report(centers: NDArray, n_iter: int, cost: float) -> dict[str, Any]:
        return {"cluster_centers_": centers, "n_iter_": n_iter, "inertia_": cost}

    def _prepare(self, data: Any) -> Any:
        return data

    @abstractmethod
    def _starts(self, problem: Any, n_runs: int) -> Iterator[Any]:
        """What to start from, for each restart."""

    @abstractmethod
    def _step(self, problem: Any) -> Callable[[Any], Step]:
        """One alternation, from representers."""

    def _run(self, problem: Any, start: Any, watch: Watch) -> Any:
        options: Any = {"tol": self.tol, "max_iter": self.max_iter, "watch": watch, "report": self._report}
        return alternate(self._step(problem), start, **options)

    def _find(self, data: Any, watch: Watch, n_runs: int) -> None:
        problem = self._prepare(data)
        starts = self._starts(problem, n_runs)
        best: Any = self._best_run(watched(lambda start: self._run(problem, start, watch), starts, watch))
        self.n_iter_, self.converged_, self.optimality_ = best.n_iter, best.converged, best.optimality
        self._represent(data, problem, best)
        measured = self._measure(data, problem)
        self._settle(data, measured)
        self.certificates_ = Certificates(self._proof(data, problem, measured))
        self._warn_of_empty_clusters(
            self._number_filled(data, measured),
            "there are no more distinct rows, or the start was poor. Take fewer clusters.",
        )
        if not self.converged_ and self.n_iter_ >= self.max_iter:
            convergence.warn(
                f"{type(self).__name__} did not converge in max_iter={self.max_iter} iterations "
                f"(optimality {self.optimality_:.2g}). Raise max_iter."
            )

    def _certify(self, data: Any) -> list[Certificate]:
        problem = self._prepare(data)
        measured = self._measure(data, problem)
        proof = self._proof(data, problem, measured)
        return [*proof, self._account(data, measured), *self._bounds(data, problem)]

    def _account(self, data: Any, measured: Any) -> Certificate:
        """The best restart, the end of the trace and the weights of the clusters are those of the fit."""
        stored = getattr(self, "cluster_weights_", None)
        weights = stored, None if stored is None else self._weights_measured(data, measured)
        trace, cost = self.inertia_trace_, self._cost_reached
        scale = max(float(trace[0]), cost, self._cost_scale(data))
        rtol = 1e-8 if data.dtype == np.float64 else 2e-5
        return account_certificate(self.restart_inertias_, trace, cost, weights, scale=scale, rtol=rtol)

    @property
    def _cost_reached(self) -> float:
        """The cost that restarts and traces tell."""
        return self.inertia_

    def _cost_scale(self, data: Any) -> float:
        """What rounding of the cost is relative to, where that is not the cost."""
        return 0.0

    def _weights_measured(self, data: Any, measured: Any) -> NDArray:
        weight = Block(data.X, None, data.weight, 0).weights
        return np.bincount(self.labels_, weight, minlength=self.n_clusters)

    @abstractmethod
    def _represent(self, data: Any, problem: Any, best: Any) -> None:
        """Set labels and representers of the best restart."""

    def _measure(self, data: Any, problem: Any) -> Any:
        return None

    def _settle(self, data: Any, measured: Any) -> None:
        """Set the attributes that are measured at the end."""

    def _number_filled(self, data: Any, measured: Any) -> int:
        present = slice(None) if data.weight is None else data.weight > 0.0
        return len(np.unique(self.labels_[present]))

    @abstractmethod
    def _proof(self, data: Any, problem: Any, measured: Any) -> list[Certificate]:
        """Certificates from the fitted attributes."""

    def _bounds(self, data: Any, problem: Any) -> list[Certificate]:
        """Certificates that only `certify` has time for."""
        return []


def draw_rows(masses: NDArray, uniforms: NDArray, order: NDArray) -> NDArray:
    """Rows at which the cumulative mass, in an order by what rows are, passes uniform shares of its total."""
    return np.asarray(order[_init.positions(np.cumsum(masses[order]), uniforms)])


def seed_rows(
    apart: Callable[[NDArray], NDArray],
    weight: NDArray,
    uniforms: NDArray,
    order: NDArray,
    *,
    greedy: bool = True,
    least: float = 0.0,
) -> NDArray:
    """Rows drawn one by one ∝ w · d(x, those before), of several draws for one the best.

    `apart` gives the dissimilarities of some rows to all. Rows within `least` of those drawn are copies of
    them, taken in the end where no other row is left. Not greedy: drawn ∝ w among the others.
    """
    chosen = np.empty(len(uniforms), dtype=np.int64)
    chosen[0] = draw_rows(weight, uniforms[0, :1], order)[0]
    closest = apart(chosen[:1])[0]
    for k in range(1, len(chosen)):
        masses = weight * (closest if greedy else 1.0) * (closest > least)
        if not masses.sum() > 0.0:
            others = np.setdiff1d(np.flatnonzero(weight > 0.0), chosen[:k])
            chosen[k:] = others[: len(chosen) - k]
            break
        drawn = draw_rows(masses, uniforms[k], order)
        left = np.minimum(closest, apart(drawn))
        potentials = left @ weight
        # Candidates that differ by rounding only are equal, and the first is taken.
        best = int(np.argmax(potentials <= potentials.min() * (1.0 + 1e-9)))
        chosen[k], closest = drawn[best], left[best]
    return chosen


def dense64(X: Any) -> NDArray:
    """The rows of a block as a dense array of doubles."""
    return np.asarray(X if isinstance(X, np.ndarray) else X.toarray(), dtype=np.float64)


def monotone_certificate(trace: Any, cost: float, *, rounding: float, scale: float = 0.0) -> Certificate:
    """The cost never rises along the trace, and to the final measurement."""
    trace = np.asarray(trace, dtype=np.float64)
    rises = np.diff([*trace, cost], prepend=trace[0])
    scale = max(scale, cost, float(np.finfo(np.float64).tiny))
    return at_most(
        "The cost never rises, from one step to the next and to the final measurement.",
        "largest rise of the cost",
        float(max(rises.max(), 0.0)) / scale,
        rounding,
        source="Sangnier Prop. 56",
    )


def cost_certificate(claimed: float, measured: float, *, rounding: float, scale: float = 0.0) -> Certificate:
    """The cost that the fit claims is the one its labels and representers have."""
    scale = max(scale, abs(measured), float(np.finfo(np.float64).tiny))
    return at_most(
        "The cost is that of the labels and the representers, summed afresh.",
        "error of the cost",
        abs(claimed - measured) / scale,
        rounding,
        source="Sangnier §2.2.1",
    )


def assignment_certificate(excess: float, *, rounding: float) -> Certificate:
    """No row is nearer to another representer than to that of its cluster."""
    return at_most(
        "Every row belongs to its nearest representer.",
        "assignment excess",
        excess,
        rounding,
        source="Sangnier Prop. 55",
    )


Distance = Callable[[Block, NDArray], NDArray]
"""Dissimilarities of the rows of a block to centres, of shape (n_rows, n_clusters), in doubles."""

INITS: dict[str, Any] = {"k-means++": _init.greedy_plus_plus, "random": _init.random_rows}

CENTER_DOMAINS: dict[str, Domain] = {**RESTARTS, "init": parameters.one_of(*INITS) | CENTERS}


class PartitionCost(NamedTuple):
    """A partition measured in one walk: cost, what nearest centres would save, weights of the clusters."""

    cost: float
    excess: float
    weights: NDArray


class CenterModel(RepresenterModel):
    """Base of clusterings around points, of rows in memory, on disk or on a cluster.

    A subclass says in `_metric` or `_distance` how far rows are from centres, in `_step` what one alternation
    is, and in `_stationarity` how to prove that the centres are the best of their clusters.
    """

    tol: float = ROUNDING
    _metric: ClassVar[str] = "euclidean"

    @property
    def _distance(self) -> Distance:
        return partial(metric_distances, metric=self._metric)

    def _rule(self, data: Rows) -> tuple[Any, ...]:
        return _labels, self._distance, self.cluster_centers_

    def _stationarity(self, data: Rows, labels: NDArray | None) -> list[Certificate]:
        """Certificates of the fitted centres, from a walk of their own."""
        return []

    def _weights_measured(self, data: Rows, measured: PartitionCost) -> NDArray:
        return measured.weights

    def _starts(self, data: Rows, n_runs: int) -> Iterator[NDArray]:
        if not isinstance(self.init, str):
            yield self._given_centers(self.init, (self.n_clusters, data.shape[1]), np.float64)
            return
        first = generator(self.random_state)
        pool = self._pool(data, first)
        for random in generators(first, n_runs):
            yield INITS[self.init](pool, self.n_clusters, random).astype(np.float64)

    def _pool(self, data: Rows, random: np.random.Generator) -> Any:
        """The rows that initial centres are drawn from."""
        return _init.open_pool(data, random)

    def _represent(self, data: Rows, problem: Any, best: Alternation) -> None:
        self.cluster_centers_ = best.representers.astype(data.dtype)
        self.labels_ = data.map(*self._rule(data), dtype=np.int32)

    def _measure(self, data: Rows, problem: Any) -> PartitionCost:
        return self._cost_of(data, self._labels_of_fit(data))

    def _cost_of(self, data: Rows, labels: NDArray | None) -> PartitionCost:
        rowwise = () if labels is None else (labels,)
        return data.reduce(_measure_block, self._distance, self.cluster_centers_, rowwise=rowwise)

    def _settle(self, data: Rows, measured: PartitionCost) -> None:
        self.inertia_, self.cluster_weights_ = measured.cost, measured.weights

    def _number_filled(self, data: Rows, measured: PartitionCost) -> int:
        return int(np.count_nonzero(measured.weights))

    def _proof(self, data: Rows, problem: Any, measured: PartitionCost) -> list[Certificate]:
        scale = self._cost_scale(data)
        # Centres are stored in the dtype of the rows: that much the last step may cost.
        rounding = ROUNDING if data.dtype == np.float64 else 1e-5
        least = max(measured.cost - measured.excess, scale, float(np.finfo(np.float64).tiny))
        return [
            monotone_certificate(self.inertia_trace_, measured.cost, rounding=rounding, scale=scale),
            cost_certificate(self.inertia_, measured.cost, rounding=ROUNDING, scale=scale),
            assignment_certificate(measured.excess / least, rounding=ROUNDING),
            *self._stationarity(data, self._labels_of_fit(data)),
        ]

    def quantize(self, X: Any) -> Any:
        """The centre of each row's cluster, q(x), of shape (n_samples, n_features); lazy for Dask input."""
        return self._quantized(self._open_new_rows(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the cost of rows about the centres."""
        return -float(self._cost_of(self._open_new_rows(X, None, sample_weight), None).cost)


def metric_distances(block: Block, centers: NDArray, metric: Metric) -> NDArray:
    """Dissimilarities of rows to centres by a metric, in doubles."""
    return distance_matrix(dense64(block.X), centers.astype(np.float64), metric=metric)


def one_hot(labels: NDArray, weight: NDArray, n_clusters: int) -> Any:
    """The matrix of shape (n_clusters, n_rows) that sums weighted rows by cluster."""
    n_rows = len(labels)
    return sparse.csc_array((weight, labels, np.arange(n_rows + 1)), shape=(n_clusters, n_rows))


def _labels(block: Block, distance: Distance, centers: NDArray) -> NDArray:
    distances = distance(block, centers)
    labels = distances.argmin(axis=1).astype(np.int32)
    labels[np.isinf(distances[:, 0])] = -1
    return labels


def _measure_block(
    block: Block, distance: Distance, centers: NDArray, labels: NDArray | None = None
) -> PartitionCost:
    distances, weight = distance(block, centers), block.weights
    nearest = distances.argmin(axis=1)
    absent = np.isinf(distances[:, 0])
    if absent.any():
        weight[absent], distances[absent] = 0.0, 0.0
    own = nearest if labels is None else np.maximum(labels, 0)
    places = np.arange(len(own))
    costs, least = distances[places, own], distances[places, nearest]
    weights = np.bincount(own, weight, minlength=len(centers))
    return PartitionCost(float(weight @ costs), float(weight @ (costs - least)), weights)
