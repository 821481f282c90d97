"""k-means on batches of rows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.base import Watch
from assay.certificates import Certificate
from assay.cluster.base import CENTERS, RESTARTS, CenterClusterer, generators
from assay.cluster.kmeans import seeding as _init
from assay.cluster.kmeans.centers import inspect, longest_row, mean_variance, place, placed
from assay.cluster.kmeans.certificates import (
    eigenvalue_certificate,
    measure,
    minibatch_certificates,
    weights_certificate,
)
from assay.cluster.kmeans.minibatch.solver import Draws, Steps, StoppingRule, averaged, minibatch_steps
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import RandomState, generator, spawn
from assay.rows import MemoryRows, Rows

MAX_BATCH_OF_FEW = 2**16
"""Rows of a batch at most where there are fewer rows than that: they are drawn with replacement."""


class MiniBatchKMeans(CenterClusterer):
    """k-means by steps on batches of rows: a near-optimal partition long before Lloyd's iteration ends.

    Minimises over centres c_1, …, c_K the inertia

        J(c) = Σ_i w_i min_k ‖x_i − c_k‖²,        w_i = 1 without `sample_weight`,

    by stochastic steps: the rows of a batch, drawn with probability ∝ w_i, go to their nearest centres, and
    c_k ← c_k + N_k⁻¹ Σ (x − c_k) over those it is given, N_k all rows it was given so far. One last walk
    measures labels and inertia on all rows.

    Assumes: columns on comparable scales and round groups of similar spread, as for `KMeans`; the number of
    clusters is given.

    Certificates: every row is at its nearest centre, total = within + between at the claimed inertia, and an
    exact update of the centres would lower the inertia by at most 1 %. `certify` adds a lower bound on the
    inertia of every partition.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    init : {"greedy-k-means++", "k-means++", "farthest", "random"}, array of shape (n_clusters, n_features) \
or callable, default="greedy-k-means++"
        Initial centres, from all rows or from a draw of three batches (at least 3 K rows); see `KMeans`.
    max_iter : int, default=100
        Largest number of passes: as many batches as make up `max_iter` times the rows.
    batch_size : int, default=1024
        Rows of a batch, drawn with replacement; at most as many as there are, or 65536 if that is more.
    tol : float, default=0.0
        Converged when the smoothed squared movement of the centres in a step is at most `tol` times the mean
        variance of the features; 0 leaves the decision to `max_no_improvement`.
    max_no_improvement : int or None, default=10
        Converged when the smoothed inertia of the batches has had no new minimum for so many steps.
    n_init : "auto" or int, default="auto"
        Number of starts; the best of them on the rows they were drawn from is taken. "auto" is 3 for "random"
        and callables, else 1.
    reassignment_ratio : float, default=0.01
        A centre that is given fewer rows than this share of the busiest one's starts afresh at a far row.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where initial centres and batches come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    center_weights_ : array of shape (n_clusters,)
        Rows, or weight, averaged in each centre.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row; a lazy Dask array for Dask input. After `partial_fit`, those of its rows.
    inertia_ : float
        J at the centres, measured after the steps. After `partial_fit`, that of its rows.
    n_steps_, n_iter_ : int
        Batches seen, and passes they make up.
    converged_ : bool
        Whether a stopping rule was met.
    optimality_ : float
        Share of the inertia that an exact update of the centres would save.
    batch_inertias_ : array of shape (n_steps,)
        Mean squared distance of each batch to the centres it met.
    cluster_weights_, anova_, certificates_, n_features_in_, feature_names_in_
        As in `KMeans`.

    Examples
    --------
    >>> from assay.cluster import MiniBatchKMeans
    >>> from assay.datasets import Blobs
    >>> X, _ = Blobs(centers=[[0.0, 0.0], [9.0, 0.0], [0.0, 9.0]]).sample(3000, random_state=0)
    >>> model = MiniBatchKMeans(3, random_state=0).fit(X)
    >>> model.cluster_weights_.sum(), model.certificates_.holds
    (np.float64(3000.0), True)

    References
    ----------
    Sangnier §2.2; Peyré, clustering (k-means by stochastic gradient).
    Bottou & Bengio (1995), convergence of k-means. Sculley (2010), web-scale k-means.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        **RESTARTS,
        "init": parameters.one_of(*_init.INITS) | CENTERS | parameters.function,
        "batch_size": parameters.integer(at_least=1),
        "tol": parameters.real(at_least=0.0),
        "max_no_improvement": parameters.integer(at_least=1) | parameters.nothing,
        "n_init": parameters.one_of("auto") | parameters.integer(at_least=1),
        "reassignment_ratio": parameters.real(at_least=0.0, at_most=1.0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "greedy-k-means++",
        max_iter: int = 100,
        batch_size: int = 1024,
        tol: float = 0.0,
        max_no_improvement: int | None = 10,
        n_init: int | str = "auto",
        reassignment_ratio: float = 0.01,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.batch_size = batch_size
        self.tol = tol
        self.max_no_improvement = max_no_improvement
        self.reassignment_ratio = reassignment_ratio

    def _plan(self, data: Rows) -> tuple[int, int]:
        return 1, self.max_iter * math.ceil(data.shape[0] / self._batch_rows(data))

    def _batch_rows(self, data: Rows) -> int:
        """Rows of a batch, no more than memory can hold."""
        return min(self.batch_size, max(data.shape[0], MAX_BATCH_OF_FEW))

    def _find(self, data: Rows, watch: Watch, n_runs: int) -> None:
        starting, drawing, restarting = spawn(self.random_state, 3)
        draws = Draws(data, drawing)
        start, shift, variance = self._best_start(self._pool(data, draws, starting), starting)
        _, max_steps = self._plan(data)
        smoothing = min(1.0, max(2.0 * self.max_iter / max_steps, 1.0 / 200.0))  # over 200 batches at most
        options = self.max_no_improvement, self.reassignment_ratio
        rule = StoppingRule(max_steps, smoothing, self.tol * variance, *options)
        first = place(start.astype(np.float64), shift, longest_row(data))
        with watch.run():
            batches = draws.batches(self._batch_rows(data))
            result = minibatch_steps(batches, first, rule, random=restarting, watch=watch)
        self._conclude(data, result)

    def partial_fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> MiniBatchKMeans:
        """Take one step on one batch: all rows of X. The first call draws the initial centres from it.

        Parameters
        ----------
        X, sample_weight
            The batch, in any form that `fit` takes. No centre starts afresh here.
        y : None
            Ignored.

        Returns
        -------
        self : MiniBatchKMeans
        """
        if hasattr(self, "cluster_centers_"):
            self._check_parameters()
            data = self._open_new_rows(X, None, sample_weight)
            self._require_scale(data)
        else:
            data = self._open_rows(X, None, sample_weight)
            self._require_rows(data)
            self._require_scale(data)
            starting = generator(self.random_state)
            self.cluster_centers_ = self._best_start(_init.open_pool(data, starting), starting)[0]
            self.center_weights_ = np.zeros(self.n_clusters)
            self.n_steps_, self.batch_inertias_ = 0, np.empty(0)
        before = self._placed(data)
        batch = inspect(data, before)
        points, counts = averaged(before.points, self.center_weights_, batch.sums, batch.counts)
        self.cluster_centers_ = (points + before.shift).astype(data.dtype)
        self.center_weights_ = counts
        self.n_steps_ += 1
        self.batch_inertias_ = np.append(self.batch_inertias_, batch.inertia / batch.counts.sum())
        self._measure(data)
        self.n_iter_, self.converged_ = self.n_steps_, False
        return self

    def _certify(self, data: Rows) -> list[Certificate]:
        centers = self._placed(data)
        measured = measure(inspect(data, centers, self._labels_of_fit(data)), centers)
        proof = minibatch_certificates(measured, centers, inertia=self.inertia_)
        weights = weights_certificate(self.cluster_weights_, measured.weights)
        return [*proof, weights, *eigenvalue_certificate(data, measured, centers)]

    def _pool(self, data: Rows, draws: Draws, random: np.random.Generator) -> _init.Pool:
        """Rows to draw the start from: all of them, or a draw of three batches."""
        n_drawn = 3 * max(self._batch_rows(data), self.n_clusters)
        if data.shape[0] > n_drawn:
            data = MemoryRows(draws.batch(n_drawn))
        return _init.open_pool(data, random)

    def _best_start(self, pool: _init.Pool, random: np.random.Generator) -> tuple[NDArray, NDArray, float]:
        """The start of least inertia on the rows of the pool, their mean (0 for CSR), and mean variance."""
        data = pool.data
        shape = self.n_clusters, data.shape[1]
        best, best_start, variance = np.inf, np.empty(shape), 0.0
        for start in self._starts(pool, self.n_clusters, generators(random, self._number_of_runs(auto=3))):
            centers = placed(data, start)
            partition = inspect(data, centers)
            if partition.inertia < best:
                best, best_start = partition.inertia, start
                variance = mean_variance(partition.scatter, partition.sums, partition.counts)
        return best_start, centers.shift, variance

    def _measure(self, data: Rows) -> None:
        """Set what one walk over the rows tells about the centres."""
        centers = self._placed(data)
        labels = self._local_labels(data)
        measured = measure(inspect(data, centers, labels), centers)
        self.labels_ = data.map(*self._rule(data), dtype=np.int32) if labels is None else labels
        self.inertia_ = measured.inertia
        self.cluster_weights_, self.anova_ = measured.weights, measured.anova
        self.certificates_ = minibatch_certificates(measured, centers, inertia=measured.inertia)
        self.optimality_ = self.certificates_.named("saving of an exact update").value

    def _conclude(self, data: Rows, result: Steps) -> None:
        self.cluster_centers_ = result.centers.astype(data.dtype)
        self.center_weights_, self.batch_inertias_ = result.counts, np.array(result.trace)
        self.n_steps_, self.converged_ = result.n_steps, result.converged
        self.n_iter_ = math.ceil(result.n_steps * self._batch_rows(data) / data.shape[0])
        self._measure(data)
        self._warn_of_empty_clusters(
            int(np.count_nonzero(self.cluster_weights_)),
            "the other centres are nearest to none. Take fewer clusters, other initial centres, or a "
            "larger reassignment_ratio.",
        )
        rule = self.tol > 0.0 or self.max_no_improvement is not None
        if rule and not self.converged_ and self.n_iter_ >= self.max_iter:
            convergence.warn(
                f"MiniBatchKMeans did not converge in max_iter={self.max_iter} passes: its batches still "
                "improve. Raise max_iter or tol, or lower max_no_improvement."
            )
