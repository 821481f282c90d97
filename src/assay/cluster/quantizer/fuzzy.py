"""Fuzzy c-means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, at_most
from assay.cluster.kmeans.centers import means_of
from assay.cluster.quantizer import base
from assay.cluster.quantizer.base import ROUNDING, CenterModel, PartitionCost, Step, metric_distances
from assay.parameters import Domain
from assay.randomness import RandomState
from assay.rows import Block, Rows

Moments = tuple[float, NDArray, NDArray]
"""Objective, and sums of u^m and u^m (x − shift) of every cluster."""


class FuzzyCMeans(CenterModel):
    """Clusters that rows belong to by degrees.

    Minimises over centres c_1, …, c_K and memberships u_ik ≥ 0 with Σ_k u_ik = 1

        J(u, c) = Σ_i w_i Σ_k u_ik^m ‖x_i − c_k‖²,        m > 1 the fuzzifier,

    by alternating the best memberships, u_ik ∝ ‖x_i − c_k‖^(−2/(m−1)), and the best centres, the means of the
    rows weighted by u_ik^m. J is not convex: the result is a local optimum, the best of `n_init`. As m → 1 it
    is k-means; for large m all memberships approach 1/K.

    Assumes: columns on comparable scales and round groups; the number of clusters and the fuzzifier are
    given.

    Certificates: J never rises, is that of the centres, and the centres are their weighted means.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    fuzzifier : float, default=2.0
        The exponent m, above 1.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Initial centres: drawn by greedy k-means++, distinct rows, or given.
    n_init : int, default=1
        Restarts, where `init` draws.
    max_iter : int, default=300
        Most iterations of a restart.
    tol : float, default=1e-8
        Converged when new centres would lower J by at most this share.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial centres come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of the largest membership: of the nearest centre. Lazy for Dask input.
    objective_ : float
        J at the centres, with the best memberships.
    inertia_ : float
        Σ_i w_i min_k ‖x_i − c_k‖², the k-means criterion of the same centres.
    optimality_ : float
        Share by which new centres would lower J: compares with `tol`.
    cluster_weights_ : array of shape (n_clusters,)
        Number of rows, or weight, of each cluster of `labels_`.
    n_iter_, converged_, restart_inertias_, inertia_trace_, certificates_, n_features_in_, feature_names_in_
        As in `KMeans`, with this cost in place of the inertia.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import FuzzyCMeans
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [8.0], [9.0], [10.0]])
    >>> model = FuzzyCMeans(n_clusters=2, init=[[0.0], [10.0]]).fit(X)
    >>> model.memberships([[1.0], [5.0], [9.0]]).round(2)
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])

    References
    ----------
    Sangnier §2.2 (the alternation). Dunn (1973); Bezdek (1981), fuzzy c-means.
    """

    _accepts_sparse = False
    _metric = "sqeuclidean"

    _domains: ClassVar[Mapping[str, Domain]] = {
        **base.CENTER_DOMAINS,
        "fuzzifier": parameters.real(above=1.0),
        "tol": parameters.real(at_least=0.0),
    }

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        fuzzifier: float = 2.0,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-8,
        random_state: RandomState = None,
    ) -> None:
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.fuzzifier = fuzzifier
        self.tol = tol

    def memberships(self, X: Any) -> Any:
        """Degrees to which rows belong to the clusters: they are at least 0 and sum to 1.

        Returns
        -------
        memberships : array of shape (n_samples, n_clusters)
            In the dtype of the rows; lazy for Dask input.
        """
        data = self._open_new_rows(X)
        state = self.cluster_centers_, float(self.fuzzifier)
        return data.map(_membership_block, *state, dtype=data.dtype, width=len(state[0]))

    def _step(self, data: Rows) -> Callable[[NDArray], Step]:
        return lambda centers: _moved(centers, self._moments(data, centers))

    def _moments(self, data: Rows, centers: NDArray) -> Moments:
        return data.reduce(_moment_block, centers.astype(np.float64), float(self.fuzzifier))

    def _settle(self, data: Rows, measured: PartitionCost) -> None:
        super()._settle(data, measured)
        self.objective_ = self._moments(data, self.cluster_centers_)[0]

    @property
    def _cost_reached(self) -> float:
        return self.objective_

    def _proof(self, data: Rows, problem: Any, measured: PartitionCost) -> list[Certificate]:
        proof = super()._proof(data, problem, measured)
        centers = self.cluster_centers_.astype(np.float64)
        moments = objective, weights, _ = self._moments(data, centers)
        rounding = ROUNDING if data.dtype == np.float64 else 1e-5
        shift = float(np.finfo(data.dtype).eps) ** 2 * float((centers**2).sum(axis=1).max())
        shift *= float(weights.sum()) / objective if objective > 0.0 else 0.0
        return [
            base.monotone_certificate(self.inertia_trace_, objective, rounding=rounding),
            *proof[1:],
            at_most(
                "The objective is that of the centres with their best memberships, summed afresh.",
                "error of the objective",
                abs(self.objective_ - objective) / (objective or 1.0),
                ROUNDING,
                source="Bezdek (1981)",
            ),
            at_most(
                "Every centre is the mean of the rows weighted by their memberships.",
                "gain of the next centres",
                _moved(centers, moments).optimality,
                self.tol + 4.0 * shift,
                source="Bezdek (1981)",
            ),
        ]


def _moved(centers: NDArray, moments: Moments) -> Step:
    """Centres at their weighted means; J falls by Σ_k (Σ_i w_i u_ik^m) ‖c_k − mean_k‖²."""
    objective, weights, sums = moments
    steps = means_of(sums, weights, np.zeros_like(centers))
    gain = float(weights @ (steps**2).sum(axis=1))
    return Step(objective, centers, centers + steps, gain / objective if objective > 0.0 else 0.0)


def memberships(squares: NDArray, fuzzifier: float) -> NDArray:
    """Best memberships for squared distances; rows at centres belong to those alone, in equal parts."""
    least = squares.min(axis=1, keepdims=True)
    ratios = np.zeros_like(squares)
    np.divide(least, squares, out=ratios, where=squares > 0.0)
    ratios[(squares == 0.0) & (least == 0.0)] = 1.0
    powers = ratios ** (1.0 / (fuzzifier - 1.0))
    return powers / powers.sum(axis=1, keepdims=True)


def _membership_block(block: Block, centers: NDArray, fuzzifier: float) -> NDArray:
    return memberships(metric_distances(block, centers, "sqeuclidean"), fuzzifier)


def _moment_block(block: Block, centers: NDArray, fuzzifier: float) -> Moments:
    rows, squares = base.dense64(block.X), metric_distances(block, centers, "sqeuclidean")
    powers = memberships(squares, fuzzifier) ** fuzzifier * block.weights[:, np.newaxis]
    weights = powers.sum(axis=0)
    # Relative to one of the centres: coordinates far from 0 would cost digits.
    origin = centers[0]
    sums = powers.T @ (rows - origin) - weights[:, np.newaxis] * (centers - origin)
    return float((powers * squares).sum()), weights, sums
