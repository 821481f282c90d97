"""k-medians in the Euclidean norm: every centre is the geometric median of its cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, at_most
from assay.cluster.quantizer.base import CENTER_DOMAINS, CenterModel, Distance, PartitionCost, Step, dense64
from assay.parameters import Domain
from assay.randomness import RandomState
from assay.rows import Block, Rows, add

# Steps towards the geometric medians of clusters: Newton, Weiszfeld, Vardi and Zhang, and rows.


MAX_NEWTON_FEATURES = 64
"""In more dimensions Weiszfeld's step is nearly Newton's: unit vectors are nearly orthogonal."""


class Pulls(NamedTuple):
    """What the rows of every cluster do to its centre.

    `pull` is Σ w (x − c)/‖x − c‖ over the rows away from the centre, `at_centre` the weight of those at it,
    `stiffness` Σ w/‖x − c‖, `curvature` Σ w (x − c)(x − c)ᵀ/‖x − c‖³ (of size 0 in many dimensions), `reach`
    the largest distance. The row nearest to the centre, without being there, is `near_row` at `near_distance`
    with `near_weight`.
    """

    cost: float
    weights: NDArray
    pull: NDArray
    at_centre: NDArray
    stiffness: NDArray
    curvature: NDArray
    reach: NDArray
    near_distance: NDArray
    near_row: NDArray
    near_weight: NDArray


def pulls(data: Rows, centers: NDArray, distance: Distance, labels: NDArray | None = None) -> Pulls:
    """Measure the pulls of the rows of each centre, the nearest rows if there are no labels, in one walk."""
    rowwise = () if labels is None else (labels,)
    return data.reduce(_pull_block, centers, distance, combine=_join, rowwise=rowwise)


def stationarity(at: Pulls) -> tuple[float, float]:
    """Largest norm of a smallest subgradient over the weight of its cluster, and the gap it proves.

    The cost of a cluster is convex in its centre, so that f(c) − f(c*) ≤ ‖g‖ ‖c − c*‖; a minimiser lies in
    the convex hull of the rows, hence within the reach.
    """
    norms = np.maximum(np.sqrt((at.pull**2).sum(axis=1)) - at.at_centre, 0.0)
    weights = np.maximum(at.weights, np.finfo(np.float64).tiny)
    return float((norms / weights).max()), float(norms @ at.reach)


class GeometricSteps:
    """The alternation of `KGeometricMedian`: called on centres, gives a `Step`.

    A bold step (Newton's, or onto the nearest row) after which the cost did not fall is replaced by the safe
    one (Weiszfeld's, which never raises it).
    """

    def __init__(self, data: Rows, distance: Distance) -> None:
        self._data, self._distance = data, distance
        self._safe: NDArray | None = None
        self._cost = np.inf

    def __call__(self, centers: NDArray) -> Step:
        """Measure the centres, or the safe ones if these are worse; propose the next."""
        at = pulls(self._data, centers, self._distance)
        if self._safe is not None and at.cost > self._cost:
            centers = self._safe
            at = pulls(self._data, centers, self._distance)
        bold, self._safe = _propose(centers, at)
        self._cost = at.cost
        return Step(at.cost, centers, bold, stationarity(at)[0])


def _propose(centers: NDArray, at: Pulls) -> tuple[NDArray, NDArray]:
    """Bold and safe next centres."""
    bold, safe = centers.copy(), centers.copy()
    for k in range(len(centers)):
        force, held = float(np.sqrt(at.pull[k] @ at.pull[k])), at.at_centre[k]
        if at.stiffness[k] == 0.0 or force <= held:
            continue
        weiszfeld = at.pull[k] / at.stiffness[k]
        safe[k] += (1.0 - held / force) * weiszfeld
        bold[k] = safe[k]
        if held > 0.0:
            continue
        if _nearest_row_is_best(centers[k], at, k):
            bold[k] = at.near_row[k]
        elif len(at.curvature):
            bold[k] = centers[k] + _newton(at, k, weiszfeld)
    return bold, safe


def _nearest_row_is_best(center: NDArray, at: Pulls, k: int) -> bool:
    """Whether the row nearest to a centre would outweigh the pull of all others, to first order around it."""
    step, weight = at.near_row[k] - center, at.near_weight[k]
    own = weight / at.near_distance[k]
    pull = at.pull[k] - own * step - (at.stiffness[k] - own) * step
    if len(at.curvature):
        # The curvature of the nearest row itself is along the step.
        pull = pull + at.curvature[k] @ step - own * step
    return bool(pull @ pull <= weight**2)


def _newton(at: Pulls, k: int, weiszfeld: NDArray) -> NDArray:
    """Newton's step, no longer than the reach of the cluster; Weiszfeld's where there is none."""
    size = len(weiszfeld)
    hessian = at.stiffness[k] * (1.0 + 1e-10) * np.eye(size) - at.curvature[k]
    try:
        step = np.linalg.solve(hessian, at.pull[k])
    except np.linalg.LinAlgError:
        return weiszfeld
    length = float(np.sqrt(step @ step))
    falls = np.isfinite(length) and step @ at.pull[k] > 0.0
    return step * min(1.0, at.reach[k] / length) if falls else weiszfeld


def _pull_block(block: Block, centers: NDArray, distance: Distance, labels: NDArray | None = None) -> Pulls:
    rows, weight = dense64(block.X), block.weights
    own = distance(block, centers).argmin(axis=1) if labels is None else labels
    n_clusters, n_features = centers.shape
    newton, nothing = n_features <= MAX_NEWTON_FEATURES, np.zeros((4, n_clusters))
    weights, curved = np.bincount(own, weight, minlength=n_clusters), (n_clusters, n_features, n_features)
    curvature, nowhere = np.zeros(curved if newton else (0, 0, 0)), np.full(n_clusters, np.inf)
    forces = np.zeros_like(centers), nothing[0], nothing[1], curvature, nothing[2]
    at = Pulls(0.0, weights, *forces, nowhere, centers.copy(), nothing[3])
    cost = 0.0
    # A centre this close to a row is that row, but for rounding.
    coincident = 4.0 * np.finfo(np.float64).eps * np.abs(centers).max(axis=1)
    for k in range(n_clusters):
        members = np.flatnonzero((own == k) & (weight > 0.0))
        if not members.size:
            continue
        apart, w = rows[members] - centers[k], weight[members]
        lengths = np.sqrt(np.einsum("ij,ij->i", apart, apart))
        cost += float(w @ lengths)
        at.reach[k] = lengths.max()
        away = lengths > coincident[k]
        at.at_centre[k] = w[~away].sum()
        apart, w, lengths = apart[away], w[away], lengths[away]
        if not lengths.size:
            continue
        ratios = w / lengths
        units = apart / lengths[:, np.newaxis]
        at.pull[k] = w @ units
        at.stiffness[k] = ratios.sum()
        if newton:
            at.curvature[k] = units.T @ (units * ratios[:, np.newaxis])
        nearest = int(lengths.argmin())
        copies = (apart == apart[nearest]).all(axis=1)
        at.near_distance[k], at.near_weight[k] = lengths[nearest], w[copies].sum()
        at.near_row[k] = rows[members[np.flatnonzero(away)[nearest]]]
    return at._replace(cost=cost)


def _join(left: Pulls, right: Pulls) -> Pulls:
    nearer = left.near_distance <= right.near_distance
    same = (left.near_row == right.near_row).all(axis=1) & (left.near_distance == right.near_distance)
    near_weight = np.where(nearer, left.near_weight, right.near_weight)
    near_weight[same] = (left.near_weight + right.near_weight)[same]
    return add(left, right)._replace(
        reach=np.maximum(left.reach, right.reach),
        near_distance=np.minimum(left.near_distance, right.near_distance),
        near_row=np.where(nearer[:, np.newaxis], left.near_row, right.near_row),
        near_weight=near_weight,
    )


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
    optimality_ : float
        Largest norm of a smallest subgradient over the weight of its cluster: compares with `tol`.
    n_iter_, converged_, restart_inertias_, inertia_trace_, cluster_weights_, certificates_, n_features_in_
        As in `KMeans`, with this cost in place of the inertia.
    feature_names_in_
        As in `KMeans`, with this cost in place of the inertia.

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
        super().__init__(n_clusters, init=init, n_init=n_init, max_iter=max_iter, random_state=random_state)
        self.tol = tol

    def _step(self, data: Rows) -> Callable[[NDArray], Step]:
        return GeometricSteps(data, self._distance)

    def _settle(self, data: Rows, measured: PartitionCost) -> None:
        super()._settle(data, measured)
        self.dual_gap_ = self._gap(data, None)[1]

    def _gap(self, data: Rows, labels: NDArray | None) -> tuple[float, float, float]:
        """Largest relative subgradient, relative gap, and what the rounding of the centres adds to both."""
        centers = self.cluster_centers_.astype(np.float64)
        at = pulls(data, centers, self._distance, labels)
        largest, gap = stationarity(at)
        weights = np.maximum(at.weights, np.finfo(np.float64).tiny)
        error = 4.0 * float(np.finfo(data.dtype).eps) * float(np.abs(centers).max()) * len(centers[0]) ** 0.5
        rounding = min(error * float((at.stiffness / weights).max()), 1.0)
        return largest, gap / at.cost if at.cost > 0.0 else 0.0, rounding

    def _stationarity(self, data: Rows, labels: NDArray | None) -> list[Certificate]:
        largest, gap, rounding = self._gap(data, labels)
        return [
            at_most(
                "Zero is a subgradient at every centre: it is the geometric median of its cluster.",
                "largest subgradient",
                largest,
                self.tol + rounding,
                source="Vardi & Zhang (2000)",
            ),
            at_most(
                f"No other centres of these clusters cost less than {1.0 - gap:.6g} times as much.",
                "relative gap of the centres",
                gap,
                max(100.0 * (self.tol + rounding), 1e-9),
                source="convexity: f(c) − f(c*) ≤ ‖g‖ ‖c − c*‖",
                assumptions=("a geometric median lies in the convex hull of its rows",),
            ),
        ]
