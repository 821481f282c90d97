"""What an OPTICS fit proves about itself, from the distances of single rows to all others."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, at_most
from assay.cluster.density.base import (
    BLOCK_PAIRS,
    ROUNDING,
    core_discrepancy,
    discrepancy,
    distances_from,
    part_measured,
)
from assay.distances import Metric

SOURCE = "Ankerst, Breunig, Kriegel & Sander (1999), definitions 4 and 5"


class MeasuredPlot(NamedTuple):
    """What a fit says: the plot, its clusters, and the parameters that it was made with."""

    labels: NDArray
    ordering: NDArray
    reachability: NDArray
    core_distances: NDArray
    predecessor: NDArray
    cluster_reach: NDArray
    min_samples: int
    max_eps: float
    least_size: int


def optics_certificates(plot: MeasuredPlot, X: NDArray, metric: Metric, measured: NDArray) -> Certificates:
    """Certificates of a fit, measured on some rows."""
    n_rows = plot.labels.size
    place = np.full(n_rows, -1)
    place[plot.ordering] = np.arange(n_rows)
    core = reach = 0.0
    step = max(1, BLOCK_PAIRS // n_rows)
    for start in range(0, measured.size, step):
        rows = measured[start : start + step]
        distances = distances_from(rows, X, metric)
        core = max(
            core, core_discrepancy(distances, plot.core_distances[rows], plot.min_samples, plot.max_eps)
        )
        reach = max(reach, _reach_discrepancy(plot, rows, distances, place))
    reached = plot.predecessor >= 0
    late = np.count_nonzero(place[plot.predecessor[reached]] >= place[reached]) + np.count_nonzero(place < 0)
    assumptions = part_measured(measured.size, n_rows)
    claim = "Core distances are those to the min_samples-th row, itself counted."
    bound = _rounding(X)
    proof = [at_most(claim, "discrepancy of core distances", core, bound, SOURCE, assumptions=assumptions)]
    claim = "Reachabilities are the least that the rows before offer, and predecessors offer them."
    bound = _rounding(X)
    proof.append(
        at_most(claim, "discrepancy of reachabilities", reach, bound, SOURCE, assumptions=assumptions)
    )
    claim = "The order holds every row once, after the row that reaches it."
    proof.append(at_most(claim, "rows out of order", late, 0.0, SOURCE))
    claim = "Every cluster is a run of the order, of the least size or more, apart from noise."
    proof.append(at_most(claim, "broken clusters", _broken(plot), 0.0, SOURCE))
    return Certificates(proof)


def _rounding(X: NDArray) -> float:
    return ROUNDING if X.dtype == np.float64 else 1e-4


def _reach_discrepancy(plot: MeasuredPlot, rows: NDArray, distances: NDArray, place: NDArray) -> float:
    before = place < place[rows][:, np.newaxis]
    room = 1.0 + ROUNDING  # a pair at max_eps may fall on either side
    offers = np.where(
        before & (distances <= plot.max_eps * room), np.maximum(distances, plot.core_distances), np.inf
    )
    true = offers.min(axis=1)
    claimed = plot.reachability[rows]
    in_doubt = np.isclose(distances, plot.max_eps, rtol=ROUNDING, atol=0.0).any(axis=1)
    worst = discrepancy(np.where(in_doubt, claimed, true), claimed)
    reached = np.flatnonzero(plot.predecessor[rows] >= 0)
    offered = offers[reached, plot.predecessor[rows[reached]]]
    return max(worst, discrepancy(offered, claimed[reached]))


def _broken(plot: MeasuredPlot) -> int:
    """Clusters that are no run of the order, or too small; noise never lies within a run."""
    along = plot.labels[plot.ordering]
    n_clusters = plot.cluster_reach.size
    sizes = np.bincount(along[along >= 0], minlength=n_clusters)
    if sizes.size != n_clusters or (sizes == 0).any():
        return int(max(sizes.size, n_clusters))
    first, last = np.full(n_clusters, along.size), np.full(n_clusters, -1)
    places = np.flatnonzero(along >= 0)
    np.minimum.at(first, along[places], places)
    np.maximum.at(last, along[places], places)
    return int(np.count_nonzero((last - first + 1 != sizes) | (sizes < plot.least_size)))
