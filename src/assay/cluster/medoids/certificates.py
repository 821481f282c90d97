"""What k-medoids prove about themselves, from the matrix of dissimilarities and the fitted attributes."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_least, at_most
from assay.cluster.medoids import loops
from assay.cluster.medoids.solver import cluster_costs, nearness, over_pieces
from assay.cluster.quantizer.base import assignment_certificate, cost_certificate, monotone_certificate

# A lower bound on the cost of any medoids: Lagrange multipliers for "every row has one medoid".


class CostBound(NamedTuple):
    """`value` is at most the cost of any medoids; `multipliers` λ prove it."""

    value: float
    multipliers: NDArray


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
    have Polyak's length for the cost of the medoids, shortened when they stop to pay; they end where the
    bound is within `tol`, as a share, of the cost.
    """
    n_clusters = len(medoids)
    state = nearness(distances, medoids)
    cost = float(loops.weighted_cost(weight, state.first))
    scale = np.ones(len(distances)) if weight.size == 0 else weight.astype(np.float64)
    near = state.first.astype(np.float64)
    beyond = state.second.astype(np.float64) if n_clusters > 1 else near
    multipliers = scale * (near + 0.5 * (beyond - near))
    best, best_multipliers = -np.inf, multipliers
    length, n_without = 1.0, 0
    for _ in range(n_steps):
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
        slope = np.where(scale == 0.0, 0.0, 1.0 - served)
        norm = float(slope @ slope)
        if norm == 0.0:
            break
        multipliers = np.maximum(multipliers + length * (cost - value) / norm * slope, 0.0)
    return CostBound(max(best, 0.0), best_multipliers)


def _reduced_costs(distances: NDArray, weight: NDArray, multipliers: NDArray) -> NDArray:
    return over_pieces(partial(loops.reduced_costs, distances, weight, multipliers), len(distances))


ROUNDING = 1e-11
BOUND_STEPS, BOUND_TOLERANCE = 100, 1e-6


def medoid_certificates(
    distances: NDArray, weight: NDArray, medoids: NDArray, labels: NDArray, *, trace: Any, inertia: float
) -> list[Certificate]:
    """Monotone trace, cost and assignment: from n_clusters rows of the matrix."""
    own, nearest = distances[medoids[labels], np.arange(len(labels))], distances[medoids].min(axis=0)
    cost, least = (float(loops.weighted_cost(weight, part.astype(np.float64))) for part in (own, nearest))
    excess = (cost - least) / least if least > 0.0 else float(cost > 0.0)
    return [
        monotone_certificate(trace, cost, rounding=ROUNDING),
        cost_certificate(inertia, cost, rounding=ROUNDING),
        assignment_certificate(excess, rounding=ROUNDING),
    ]


def optimality_certificates(
    distances: NDArray, weight: NDArray, medoids: NDArray, *, swapped: bool
) -> list[Certificate]:
    """Best medoid of every cluster, no improving swap if `swapped`, and a bound on any cost."""
    state = nearness(distances, medoids)
    cost = float(loops.weighted_cost(weight, state.first))
    scale = cost if cost > 0.0 else 1.0
    sums = cluster_costs(distances, weight, state.nearest, len(medoids))
    gain = float((sums[np.arange(len(medoids)), medoids] - sums.min(axis=1)).sum())
    proof = [
        at_most(
            "No row of the sample represents a cluster better than its medoid.",
            "gain of the best medoids",
            gain / scale,
            ROUNDING,
            source="Sangnier §2.2.2",
        )
    ]
    if swapped and len(medoids) > 1:
        proof.append(
            at_most(
                "No swap of one medoid for another row lowers the cost.",
                "gain of the best swap",
                max(-best_change(distances, weight, medoids), 0.0) / scale,
                ROUNDING,
                source="Schubert & Rousseeuw (2021)",
            )
        )
    bound = cost_bound(distances, weight, medoids, n_steps=BOUND_STEPS, tol=BOUND_TOLERANCE)
    within = f"; this one is within {cost / bound.value - 1.0:.2g} of the best" if bound.value > 0.0 else ""
    proof.append(
        at_least(
            f"No {len(medoids)} medoids of this sample cost less than {bound.value:.6g}{within}.",
            "cost",
            cost,
            bound.value,
            source="Lagrangian dual of the k-median problem: Cornuéjols, Fisher & Nemhauser (1977)",
            trivial=0.0,
            tolerance=ROUNDING * scale,
            informative=True,
        )
    )
    return proof


def best_change(distances: NDArray, weight: NDArray, medoids: NDArray) -> float:
    """Change of the cost by the best of all swaps, negative where one lowers it."""
    state, losses = tuple(nearness(distances, medoids)), np.empty(len(medoids))
    loops.removal_losses(weight, state, losses)

    def work(start: int, stop: int, least: NDArray) -> None:
        swap = loops.best_swap(distances, weight, state, losses, medoids, (start, stop), np.inf, False)
        least[start:stop] = swap[2]

    return float(over_pieces(work, len(distances)).min())
