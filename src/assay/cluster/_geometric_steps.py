"""Steps towards the geometric medians of clusters: Newton, Weiszfeld, Vardi and Zhang, and rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster._quantizer_base import dense64, weights_of
from assay.cluster._quantizer_centers import Distance
from assay.cluster._quantizer_engine import Step
from assay.rows import Block, Rows

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


def stationarity(found: Pulls) -> tuple[float, float]:
    """Largest norm of a smallest subgradient over the weight of its cluster, and the gap it proves.

    The cost of a cluster is convex in its centre, so that f(c) − f(c*) ≤ ‖g‖ ‖c − c*‖; a minimiser lies in
    the convex hull of the rows, hence within the reach.
    """
    norms = np.maximum(np.sqrt((found.pull**2).sum(axis=1)) - found.at_centre, 0.0)
    weights = np.maximum(found.weights, np.finfo(np.float64).tiny)
    return float((norms / weights).max()), float(norms @ found.reach)


class GeometricSteps:
    """The alternation of `KGeometricMedian`: called on centres, gives a `Step`.

    A bold step (Newton's, or onto the nearest row) is taken back when the cost did not fall: the safe one
    (Weiszfeld's, which never raises it) is remembered until the cost of the bold one is known.
    """

    def __init__(self, data: Rows, distance: Distance) -> None:
        self._data, self._distance = data, distance
        self._safe: NDArray | None = None
        self._cost = np.inf

    def __call__(self, centers: NDArray) -> Step:
        """Measure the centres, or the safe ones if these are worse; propose the next."""
        found = pulls(self._data, centers, self._distance)
        if self._safe is not None and found.cost > self._cost:
            centers = self._safe
            found = pulls(self._data, centers, self._distance)
        bold, self._safe = _propose(centers, found)
        self._cost = found.cost
        return Step(found.cost, centers, bold, stationarity(found)[0])


def _propose(centers: NDArray, found: Pulls) -> tuple[NDArray, NDArray]:
    """Bold and safe next centres."""
    bold, safe = centers.copy(), centers.copy()
    for k in range(len(centers)):
        force = float(np.sqrt(found.pull[k] @ found.pull[k]))
        held = found.at_centre[k]
        if found.stiffness[k] == 0.0 or force <= held:
            continue
        weiszfeld = found.pull[k] / found.stiffness[k]
        safe[k] += (1.0 - held / force) * weiszfeld
        bold[k] = safe[k]
        if held > 0.0:
            continue
        if _nearest_row_is_best(centers[k], found, k):
            bold[k] = found.near_row[k]
        elif len(found.curvature):
            bold[k] = centers[k] + _newton(found, k, weiszfeld)
    return bold, safe


def _nearest_row_is_best(center: NDArray, found: Pulls, k: int) -> bool:
    """Whether the row nearest to a centre would outweigh the pull of all others, to first order around it."""
    step, weight = found.near_row[k] - center, found.near_weight[k]
    own = weight / found.near_distance[k]
    pull = found.pull[k] - own * step - (found.stiffness[k] - own) * step
    if len(found.curvature):
        # The curvature of the nearest row itself is along the step.
        pull = pull + found.curvature[k] @ step - own * step
    return bool(pull @ pull <= weight**2)


def _newton(found: Pulls, k: int, weiszfeld: NDArray) -> NDArray:
    """Newton's step, no longer than the reach of the cluster; Weiszfeld's where there is none."""
    size = len(weiszfeld)
    hessian = found.stiffness[k] * (1.0 + 1e-10) * np.eye(size) - found.curvature[k]
    try:
        step = np.linalg.solve(hessian, found.pull[k])
    except np.linalg.LinAlgError:
        return weiszfeld
    length = float(np.sqrt(step @ step))
    if not np.isfinite(length) or step @ found.pull[k] <= 0.0:
        return weiszfeld
    return step * min(1.0, found.reach[k] / length)


def _pull_block(block: Block, centers: NDArray, distance: Distance, labels: NDArray | None = None) -> Pulls:
    rows, weight = dense64(block.X), weights_of(block)
    own = distance(block, centers).argmin(axis=1) if labels is None else labels
    n_clusters, n_features = centers.shape
    newton = n_features <= MAX_NEWTON_FEATURES
    found = Pulls(
        0.0,
        np.bincount(own, weight, minlength=n_clusters),
        np.zeros_like(centers),
        np.zeros(n_clusters),
        np.zeros(n_clusters),
        np.zeros((n_clusters, n_features, n_features) if newton else (0, 0, 0)),
        np.zeros(n_clusters),
        np.full(n_clusters, np.inf),
        centers.copy(),
        np.zeros(n_clusters),
    )
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
        found.reach[k] = lengths.max()
        away = lengths > coincident[k]
        found.at_centre[k] = w[~away].sum()
        apart, w, lengths = apart[away], w[away], lengths[away]
        if not lengths.size:
            continue
        ratios = w / lengths
        units = apart / lengths[:, np.newaxis]
        found.pull[k] = w @ units
        found.stiffness[k] = ratios.sum()
        if newton:
            found.curvature[k] = units.T @ (units * ratios[:, np.newaxis])
        nearest = int(lengths.argmin())
        copies = (apart == apart[nearest]).all(axis=1)
        found.near_distance[k], found.near_weight[k] = lengths[nearest], w[copies].sum()
        found.near_row[k] = rows[members[np.flatnonzero(away)[nearest]]]
    return found._replace(cost=cost)


def _join(left: Pulls, right: Pulls) -> Pulls:
    nearer = left.near_distance <= right.near_distance
    same = (left.near_row == right.near_row).all(axis=1) & (left.near_distance == right.near_distance)
    near_weight = np.where(nearer, left.near_weight, right.near_weight)
    near_weight[same] = (left.near_weight + right.near_weight)[same]
    return Pulls(
        left.cost + right.cost,
        left.weights + right.weights,
        left.pull + right.pull,
        left.at_centre + right.at_centre,
        left.stiffness + right.stiffness,
        left.curvature + right.curvature,
        np.maximum(left.reach, right.reach),
        np.minimum(left.near_distance, right.near_distance),
        np.where(nearer[:, np.newaxis], left.near_row, right.near_row),
        near_weight,
    )
