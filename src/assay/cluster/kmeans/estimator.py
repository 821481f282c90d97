"""k-means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import Watch
from assay.certificates import Certificate, Certificates
from assay.cluster.base import (
    CENTERS,
    RESTARTS,
    CenterClusterer,
    account_certificate,
    generators,
    watched,
)
from assay.cluster.kmeans import certificates
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import inspect
from assay.cluster.kmeans.certificates import KMeansMeasurement, measure
from assay.cluster.kmeans.single_moves import polish, single_move_certificate
from assay.cluster.kmeans.solver import Lloyd, is_small, lloyd
from assay.models import convergence
from assay.parameters import Domain, ParameterError
from assay.randomness import RandomState, generator
from assay.rows import MemoryRows, Rows, n_threads, ordered_map
from assay.suitability import Suitability


@dataclass(frozen=True, slots=True)
class KMeansHistory:
    """Every step of the best restart.

    Parameters
    ----------
    inertia : array of shape (2 · n_updates + 1,)
        Inertia after each half-step: assignment, update, assignment, …
    centers : array of shape (n_updates + 1, n_clusters, n_features)
        Centres that each assignment was made to.
    labels : array of shape (n_updates + 1, n_samples) or None
        Labels after each assignment; None for rows on a cluster.
    """

    inertia: NDArray
    centers: NDArray
    labels: NDArray | None


class KMeans(CenterClusterer):
    """Partition of rows into clusters around their means.

    Minimises over centres c_1, …, c_K the inertia

        J(c) = Σ_i w_i min_k ‖x_i − c_k‖²,        w_i = 1 without `sample_weight`,

    by Lloyd's iteration: rows go to the nearest centre (ties to the lowest index), centres to the mean of
    their rows. Distance bounds pass over the rows whose label cannot have changed; labels are those of the
    plain iteration, decided in float64. J is not convex: the result is a local optimum, the best of `n_init`.
    algorithm="hartigan-wong" goes on with moves of single rows, which both clusters follow with their means,
    as long as one lowers J: it ends in an optimum of Lloyd's iteration too, never a worse one than it began.

    Assumes: columns on comparable scales and round groups of similar spread; the number of clusters is given.
    There is no model of the rows.

    Certificates: the inertia never rises, every row is at its nearest centre, every centre is the mean of its
    cluster, and total = within + between. `certify` adds a lower bound on the inertia of every partition, and
    that no move of a single row lowers J, for algorithm="hartigan-wong".

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows. With fewer distinct rows than clusters, each makes a
        cluster, the other clusters stay empty, and a `ConvergenceWarning` says so.
    init : {"greedy-k-means++", "k-means++", "farthest", "random"}, array of shape (n_clusters, n_features) \
or callable, default="greedy-k-means++"
        Initial centres. "k-means++" draws rows one by one with probability proportional to the squared
        distance to those drawn before; its greedy form draws 2 + ⌊ln K⌋ rows each time and keeps the one that
        lowers the inertia most (compared on at most 2¹⁶ rows); "farthest" takes a random row, then always
        the farthest; "random" draws distinct rows. A callable is called as
        `init(X, n_clusters, random_state=...)`. Rows on disk or on a cluster are drawn from all rows if there
        are at most 2¹⁸, else from a uniform sample of 2¹⁸.
    n_init : "auto" or int, default="auto"
        Number of restarts; "auto" is 10 for "random" and callables, else 1. Given centres have one run.
    max_iter : int, default=300
        Largest number of iterations of a restart.
    tol : float, default=1e-4
        Converged when the squared movement of the centres, summed, is at most `tol` times the mean variance
        of the features, or when no row changes its cluster.
    empty_clusters : {"reseed", "keep", "error"}, default="reseed"
        What becomes of a cluster that loses its last row: the row farthest from its centre makes a new one,
        the centre stays where it is, or an error is raised.
    algorithm : {"lloyd", "elkan", "hartigan-wong"}, default="lloyd"
        "lloyd" and "elkan" are the same iteration, with distance bounds either way. "hartigan-wong" polishes
        what it reaches by moves of single rows, for rows in memory: each pass over the rows is an iteration
        and costs as much as one without bounds.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial centres come from.
    history : bool, default=False
        Whether to keep every step in `history_`.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row; a lazy Dask array for Dask input. Rows of weight 0 have one too.
    inertia_ : float
        J at the centres, measured after the iteration.
    n_iter_ : int
        Iterations of the best restart.
    converged_ : bool
        Whether the best restart met the stopping rule.
    optimality_ : float
        Squared distance of the centres from the means of their clusters, summed, over the mean variance of
        the features: compares with `tol`.
    restart_inertias_ : array of shape (n_init,)
        Inertia that each restart reached.
    inertia_trace_ : array
        Inertia of the best restart after every half-step.
    cluster_weights_ : array of shape (n_clusters,)
        Number of rows, or weight, of each cluster.
    anova_ : Anova
        Within, between and total sums of squares; `explained` share; `pairwise` form of the criterion.
    history_ : KMeansHistory
        With `history=True`.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KMeans
    >>> X = np.array([[1.0, 2.0], [1.0, 4.0], [1.0, 0.0], [10.0, 2.0], [10.0, 4.0], [10.0, 0.0]])
    >>> model = KMeans(n_clusters=2, random_state=0).fit(X)
    >>> model.cluster_centers_[model.predict([[0.0, 0.0], [12.0, 3.0]])]
    array([[ 1.,  2.],
           [10.,  2.]])
    >>> model.inertia_, model.certificates_.holds
    (16.0, True)

    References
    ----------
    Sangnier §2.2; Rudi & Şimşekli §7.1; Wei §10; Peyré, clustering; Douc & Le Corff §8.7.
    Arthur & Vassilvitskii (2007), k-means++. Hamerly (2010), distance bounds. Hartigan & Wong (1979),
    moves of single rows.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "init": parameters.one_of(*_init.INITS) | CENTERS | parameters.function,
        "n_init": parameters.one_of("auto") | parameters.integer(at_least=1),
        "tol": parameters.real(at_least=0.0),
        "empty_clusters": parameters.one_of("reseed", "keep", "error"),
        "algorithm": parameters.one_of("lloyd", "elkan", "hartigan-wong"),
        "history": parameters.boolean,
    }
    _suits: ClassVar[Suitability | None] = Suitability(complexity=1, settings={"n_init": 10})

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "greedy-k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        empty_clusters: str = "reseed",
        algorithm: str = "lloyd",
        random_state: RandomState = None,
        history: bool = False,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.tol = tol
        self.empty_clusters = empty_clusters
        self.algorithm = algorithm
        self.history = history

    def _find(self, data: Rows, watch: Watch, n_runs: int) -> None:
        best = self._best_run(self._runs(data, n_runs, watch))
        self._conclude(data, best)
        self.restart_inertias_[np.argmax(self.restart_inertias_ == best.trace[-1])] = self.inertia_

    def _certify(self, data: Rows) -> list[Certificate]:
        centers = self._placed(data)
        labels = self._labels_of_fit(data)
        measured = measure(inspect(data, centers, labels), centers)
        proof = list(self._proof(measured, self.inertia_))
        if self.algorithm == "hartigan-wong" and self.converged_ and labels is not None:
            claims = self.cluster_centers_, measured.weights, labels, measured.inertia
            proof.append(single_move_certificate(data, *claims))
        weights, scale = (self.cluster_weights_, measured.weights), measured.anova.total
        rtol = 1e-8 * measured.scatter_ratio + measured.movement_rounding
        trace = self.restart_inertias_, self.inertia_trace_
        proof.append(account_certificate(*trace, measured.inertia, weights, scale=scale, rtol=rtol))
        return [*proof, *certificates.eigenvalue_certificate(data, measured, centers)]

    def _proof(self, measured: KMeansMeasurement, inertia: float) -> Certificates:
        trace = self.inertia_trace_.tolist()
        options: Any = {"tol": self.tol, "n_features": self.n_features_in_}
        return certificates.kmeans_certificates(measured, trace=trace, inertia=inertia, **options)

    def _plan(self, data: Rows) -> tuple[int, int]:
        if self._is_given and self.n_init not in ("auto", 1):
            message = f"KMeans has one run from given centres: n_init={self.n_init} is not used."
            convergence.warn(message, RuntimeWarning)
        if self.algorithm == "hartigan-wong" and not isinstance(data, MemoryRows):
            raise ParameterError(
                "KMeans with algorithm='hartigan-wong' moves single rows, which must be in memory; take "
                "algorithm='lloyd' for rows on disk or on a cluster."
            )
        return self._number_of_runs(auto=10), self.max_iter

    def _runs(self, data: Rows, n_init: int, watch: Watch) -> Iterator[Lloyd]:
        """The restarts in turn, or side by side where each is long enough and nobody watches.

        A restart that has a thread to itself waits for no other at the end of every walk.
        """
        run: Any = partial(self._run, data, watch)
        if self._is_given:
            start = self._given_centers(self.init, (self.n_clusters, data.shape[1]), data.dtype)
            yield from watched(run, [start], watch)
            return
        first = generator(self.random_state)
        pool, randoms = _init.open_pool(data, first), generators(first, n_init)
        aside = isinstance(data, MemoryRows) and not is_small(data, self.n_clusters) and watch.is_idle
        if n_init > 1 and aside and not callable(self.init):
            draw = _init.INITS[self.init]
            yield from ordered_map(
                lambda random: run(draw(pool, self.n_clusters, random)), randoms, window=n_threads()
            )
        else:
            yield from watched(run, self._starts(pool, self.n_clusters, randoms), watch)

    def _run(self, data: Rows, watch: Watch, start: NDArray) -> Lloyd:
        options: Any = {"watch": watch, "max_iter": self.max_iter, "keep_steps": self.history}
        result = lloyd(data, start, tol=self.tol, empty_clusters=self.empty_clusters, **options)
        if self.algorithm != "hartigan-wong" or not result.converged:  # a callback may have stopped it
            return result
        assert isinstance(data, MemoryRows)
        return polish(data, result, keep_empty=self.empty_clusters == "keep", **options)

    def _conclude(self, data: Rows, result: Lloyd) -> None:
        """Set the fitted attributes from a measurement of the best restart."""
        self.cluster_centers_ = result.centers
        centers = self._placed(data)
        measured = measure(inspect(data, centers, result.labels), centers)
        self.inertia_ = measured.inertia
        if result.settled:
            # The sums of the iteration were kept by differences; these were added up afresh.
            self.cluster_centers_ = measured.means.astype(data.dtype)
            self.inertia_ = measured.anova.within
        labels = result.labels
        self.labels_ = data.map(*self._rule(data), dtype=np.int32) if labels is None else labels
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        self.optimality_ = measured.movement
        self.cluster_weights_, self.anova_ = measured.weights, measured.anova
        self.certificates_ = self._proof(measured, measured.inertia)
        if self.history:
            places, steps = zip(*result.steps, strict=True)
            each = None if labels is None else np.array(steps)
            self.history_ = KMeansHistory(self.inertia_trace_, np.array(places), each)
        if self.empty_clusters != "keep":
            self._warn_of_empty_clusters(int(np.count_nonzero(self.cluster_weights_)))
        if not self.converged_ and self.n_iter_ == self.max_iter:
            why = (
                f"the centres still move by {self.optimality_:.2g} (tol={self.tol:g}). Raise max_iter or tol."
            )
            if self.algorithm == "hartigan-wong":
                why = "single rows still move. Raise max_iter, or take algorithm='lloyd'."
            convergence.warn(f"KMeans did not converge in max_iter={self.max_iter} iterations: {why}")


def assign_until_settled(data: Rows, start: NDArray, *, tol: float, max_iter: int) -> NDArray:
    """Labels that the iteration of `KMeans` reaches from given centres, without anything else of a fit."""
    watch = Watch(None, None, None, n_runs=1, max_iter=max_iter)
    labels = lloyd(data, start, watch=watch, tol=tol, max_iter=max_iter).labels
    assert labels is not None
    return labels
