"""Initial medoids: BUILD, k-medoids++, random rows.

Draws look up uniform numbers in the cumulative weights of the rows, ordered by what they cost as the only
medoid: a row of weight 3 and three copies of it are drawn alike, wherever they stand.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from assay.cluster import _medoids_loops as loops
from assay.cluster._medoids_search import over_pieces, single_costs
from assay.cluster._quantizer_base import draw_rows


def build(distances: NDArray, weight: NDArray, n_clusters: int, random: np.random.Generator) -> NDArray:
    """BUILD of PAM: the best single medoid, then always the row that lowers the cost most.

    What a row would gain only falls as medoids are added: gains of earlier rounds are upper bounds, and few
    candidates have to be measured again.
    """
    medoids = np.empty(n_clusters, dtype=np.int64)
    medoids[0] = np.argmin(single_costs(distances, weight))
    first = distances[medoids[0]].copy()
    bounds = np.empty(len(distances))
    fresh = np.zeros(len(distances), dtype=np.bool_)
    for k in range(1, n_clusters):
        if k == 1:
            over_pieces(
                lambda start, stop: loops.gains(distances, weight, first, start, stop, bounds), len(distances)
            )
        bounds[medoids[:k]] = -np.inf
        medoids[k] = loops.lazy_gain(distances, weight, first, bounds, fresh)
        np.minimum(first, distances[medoids[k]], out=first)
    return medoids


def plus_plus(distances: NDArray, weight: NDArray, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Greedy k-medoids++: of 2 + ⌊ln K⌋ rows drawn ∝ w · d(x, medoids), the one of least cost left."""
    present = np.ones(len(distances)) if weight.size == 0 else weight.astype(np.float64)
    order = np.argsort(single_costs(distances, weight), kind="stable")
    uniforms = random.random((n_clusters, 2 + int(np.log(n_clusters))))
    medoids = np.empty(n_clusters, dtype=np.int64)
    medoids[0] = draw_rows(present, uniforms[0, :1], order)[0]
    first = distances[medoids[0]].copy()
    for k in range(1, n_clusters):
        masses = present * first
        if not masses.sum() > 0.0:
            return _complete(medoids, k, present)
        drawn = draw_rows(masses, uniforms[k], order)
        left = np.minimum(first, distances[drawn])
        potentials = left @ present
        # Candidates that differ by rounding only are equal, and the first is taken.
        chosen = int(np.argmax(potentials <= potentials.min() * (1.0 + 1e-9)))
        medoids[k], first = drawn[chosen], left[chosen]
    return medoids


def random_rows(distances: NDArray, weight: NDArray, n_clusters: int, random: np.random.Generator) -> NDArray:
    """Rows drawn ∝ their weights without replacement, and without copies of those drawn."""
    present = np.ones(len(distances)) if weight.size == 0 else weight.astype(np.float64)
    order = np.argsort(single_costs(distances, weight), kind="stable")
    remaining, medoids = present.copy(), np.empty(n_clusters, dtype=np.int64)
    for k, uniform in enumerate(random.random(n_clusters)):
        if not remaining.sum() > 0.0:
            return _complete(medoids, k, present)
        medoids[k] = draw_rows(remaining, np.array([uniform]), order)[0]
        remaining[distances[medoids[k]] == 0.0] = 0.0
    return medoids


INITS: dict[str, Callable[[NDArray, NDArray, int, np.random.Generator], NDArray]] = {
    "build": build,
    "k-medoids++": plus_plus,
    "random": random_rows,
}


def _complete(medoids: NDArray, n_drawn: int, present: NDArray) -> NDArray:
    """Fill up with rows not taken yet where every distinct row is a medoid already."""
    others = np.setdiff1d(np.flatnonzero(present > 0.0), medoids[:n_drawn])
    medoids[n_drawn:] = others[: len(medoids) - n_drawn]
    return medoids
