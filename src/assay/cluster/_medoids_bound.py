"""A lower bound on the cost of any medoids: Lagrange multipliers for "every row has one medoid"."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster import _medoids_loops as loops
from assay.cluster._medoids_search import nearness, over_pieces


class CostBound(NamedTuple):
    """`value` is at most the cost of any medoids; `multipliers` λ prove it."""

    value: float
    multipliers: NDArray
    n_steps: int


def dual_value(distances: NDArray, weight: NDArray, multipliers: NDArray, n_clusters: int) -> float:
    """Σ_i λ_i + the sum of the n_clusters smallest ρ_j, with ρ_j = Σ_i min(w_i d_ij − λ_i, 0).

    At most the cost of any medoids S, whatever λ: Σ_i w_i min_{j∈S} d_ij − λ_i ≥ Σ_i Σ_{j∈S} min(·, 0).
    """
    reduced = _reduced_costs(distances, weight, multipliers)
    return float(multipliers.sum() + np.sort(reduced)[:n_clusters].sum())


def cost_bound(
    distances: NDArray, weight: NDArray, medoids: NDArray, *, n_steps: int, tol: float
) -> CostBound:
    """The best bound of some subgradient steps from the multipliers of given medoids.

    The bound is concave in λ; a row served by c of the chosen n_clusters candidates has slope 1 − c. Steps
    have Polyak's length for the cost of the medoids, shortened when they stop to pay.

    Parameters
    ----------
    distances, weight, medoids
        As in `swap_medoids`.
    n_steps : int
        Most steps, each a walk over the matrix.
    tol : float
        Stop when the bound is within this share of the cost.
    """
    n_clusters = len(medoids)
    state = nearness(distances, medoids)
    cost = float(loops.weighted_cost(weight, state.first))
    scale = np.ones(len(distances)) if weight.size == 0 else weight.astype(np.float64)
    near = state.first.astype(np.float64)
    beyond = state.second.astype(np.float64) if n_clusters > 1 else near
    multipliers = scale * (near + 0.5 * (beyond - near))
    best, best_multipliers = -np.inf, multipliers
    length, n_without, done = 1.0, 0, 0
    for _ in range(n_steps):
        done += 1
        reduced = _reduced_costs(distances, weight, multipliers)
        chosen = np.argpartition(reduced, n_clusters - 1)[:n_clusters]
        value = float(multipliers.sum() + reduced[chosen].sum())
        n_without += 1
        if value > best:
            best, best_multipliers, n_without = value, multipliers, 0
        if cost - best <= tol * cost:
            break
        if n_without >= 4:
            length, n_without, multipliers = 0.6 * length, 0, best_multipliers
            reduced = _reduced_costs(distances, weight, multipliers)
            chosen = np.argpartition(reduced, n_clusters - 1)[:n_clusters]
            value = best
        served = (scale * distances[chosen].astype(np.float64) < multipliers).sum(axis=0)
        slope = 1.0 - served
        slope[scale == 0.0] = 0.0
        norm = float(slope @ slope)
        if norm == 0.0:
            break
        multipliers = np.maximum(multipliers + length * (cost - value) / norm * slope, 0.0)
    return CostBound(max(best, 0.0), best_multipliers, done)


def _reduced_costs(distances: NDArray, weight: NDArray, multipliers: NDArray) -> NDArray:
    reduced = np.empty(len(distances))
    over_pieces(
        lambda start, stop: loops.reduced_costs(distances, weight, multipliers, start, stop, reduced),
        len(distances),
    )
    return reduced
