"""k-medians in the Euclidean norm: every centre is the geometric median of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate
from assay.cluster._geometric_steps import GeometricSteps, pulls, stationarity
from assay.cluster._quantizer_base import dense64
from assay.cluster._quantizer_centers import CENTER_DOMAINS, CenterModel, Measured
from assay.cluster._quantizer_engine import Step
from assay.distances import distance_matrix
from assay.parameters import Domain
from assay.randomness import RandomState
from assay.rows import Block, Rows


def euclidean_distances(block: Block, centers: NDArray) -> NDArray:
    """Euclidean distances."""
    return distance_matrix(dense64(block.X), centers.astype(np.float64), metric="euclidean")


class KGeometricMedian(CenterModel):
    """Partition of rows around geometric medians.

    Minimises over centres c_1, …, c_K, which may be any points,

        J(c) = Σ_i w_i min_k ‖x_i − c_k‖,        w_i = 1 without `sample_weight`,

    by alternating the assignment of rows to the nearest centre and a step towards the geometric median of
    every cluster: Newton's where it lowers the cost, else Weiszfeld's with Vardi and Zhang's correction at
    rows. Half of a cluster may lie far away without moving its centre far. The result is a local optimum, the
    best of `n_init`.

    Assumes: columns on comparable scales and round groups, some rows of which may lie far away; the number of
    clusters is given.

    Certificates: the cost never rises, is that of the centres, every row is at its nearest centre, and 0 is a
    subgradient at every centre up to `tol`; hence how much the best centres of these clusters could save.

    Parameters
    ----------
    n_clusters : int, default=8
        Number of clusters K, at most the number of rows.
    init : {"k-means++", "random"} or array of shape (n_clusters, n_features), default="k-means++"
        Initial centres: drawn by greedy k-means++, distinct rows, or given.
    n_init : int, default=1
        Restarts, where `init` draws.
    max_iter : int, default=300
        Most iterations of a restart.
    tol : float, default=1e-6
        Converged when the smallest subgradient at every centre is at most this share of the weight of the
        cluster.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the initial centres come from.

    Attributes
    ----------
    cluster_centers_ : array of shape (n_clusters, n_features)
        The centres.
    labels_ : array of int32 of shape (n_samples,)
        Cluster of each row; lazy for Dask input.
    inertia_ : float
        J at the centres.
    dual_gap_ : float
        At most what other centres of the same clusters would save, relative to J.
    n_iter_ : int
        Iterations of the best restart.
    converged_ : bool
        Whether the best restart met the stopping rule.
    optimality_ : float
        Largest norm of a smallest subgradient over the weight of its cluster: compares with `tol`.
    restart_inertias_ : array of shape (n_init,)
        Cost that each restart reached.
    inertia_trace_ : array
        Cost of the best restart after every iteration.
    cluster_weights_ : array of shape (n_clusters,)
        Number of rows, or weight, of each cluster.
    certificates_ : Certificates
        What the fit proves about itself.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import KGeometricMedian
    >>> square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    >>> X = np.vstack([square, square + 50.0])
    >>> KGeometricMedian(n_clusters=2, random_state=0).fit(X).quantize([[3.0, 3.0], [60.0, 40.0]]).round(6)
    array([[ 1.,  1.],
           [51., 51.]])

    References
    ----------
    Sangnier §2.2.1 (centres for any dissimilarity). Weiszfeld (1937); Vardi & Zhang (2000), the geometric
    median.
    """

    _accepts_sparse = False
    _distance = staticmethod(euclidean_distances)

    _domains: ClassVar[Mapping[str, Domain]] = {**CENTER_DOMAINS, "tol": parameters.real(at_least=0.0)}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        init: Any = "k-means++",
        n_init: int = 1,
        max_iter: int = 300,
        tol: float = 1e-6,
        random_state: RandomState = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    def _step(self, data: Rows) -> Callable[[NDArray], Step]:
        return GeometricSteps(data, euclidean_distances)

    def _settle(self, data: Rows, measured: Measured) -> None:
        super()._settle(data, measured)
        self.dual_gap_ = self._gap(data, None)[1]

    def _gap(self, data: Rows, labels: NDArray | None) -> tuple[float, float, float]:
        """Largest relative subgradient, relative gap, and what the rounding of the centres adds to both."""
        centers = self.cluster_centers_.astype(np.float64)
        found = pulls(data, centers, euclidean_distances, labels)
        largest, gap = stationarity(found)
        weights = np.maximum(found.weights, np.finfo(np.float64).tiny)
        error = 4.0 * float(np.finfo(data.dtype).eps) * float(np.abs(centers).max()) * len(centers[0]) ** 0.5
        rounding = min(error * float((found.stiffness / weights).max()), 1.0)
        return largest, gap / found.cost if found.cost > 0.0 else 0.0, rounding

    def _stationarity(self, data: Rows, labels: NDArray | None) -> list[Certificate]:
        largest, gap, rounding = self._gap(data, labels)
        return [
            Certificate(
                "Zero is a subgradient at every centre: it is the geometric median of its cluster.",
                "largest subgradient",
                value=largest,
                relation="<=",
                bound=self.tol + rounding,
                source="Vardi & Zhang (2000)",
            ),
            Certificate(
                f"No other centres of these clusters cost less than {1.0 - gap:.6g} times as much.",
                "relative gap of the centres",
                value=gap,
                relation="<=",
                bound=max(100.0 * (self.tol + rounding), 1e-9),
                assumptions=("a geometric median lies in the convex hull of its rows",),
                source="convexity: f(c) − f(c*) ≤ ‖g‖ ‖c − c*‖",
            ),
        ]
