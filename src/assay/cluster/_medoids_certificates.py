"""What k-medoids prove about themselves, from the matrix of dissimilarities and the fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate
from assay.cluster import _medoids_loops as loops
from assay.cluster._medoids_bound import cost_bound
from assay.cluster._medoids_search import cluster_costs, nearness, over_pieces
from assay.cluster._quantizer_base import assignment_certificate, cost_certificate, monotone_certificate

ROUNDING = 1e-11
BOUND_STEPS, BOUND_TOLERANCE = 100, 1e-6


def medoid_certificates(
    distances: NDArray, weight: NDArray, medoids: NDArray, labels: NDArray, *, trace: Any, inertia: float
) -> list[Certificate]:
    """Monotone trace, cost and assignment: from n_clusters rows of the matrix."""
    columns = np.arange(len(labels))
    own = distances[medoids[labels], columns].astype(np.float64)
    nearest = distances[medoids].min(axis=0).astype(np.float64)
    cost = float(loops.weighted_cost(weight, own))
    least = float(loops.weighted_cost(weight, nearest))
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
    found = [
        Certificate(
            "No row of the sample represents a cluster better than its medoid.",
            "gain of the best medoids",
            value=gain / scale,
            relation="<=",
            bound=ROUNDING,
            source="Sangnier §2.2.2",
        )
    ]
    if swapped and len(medoids) > 1:
        found.append(
            Certificate(
                "No swap of one medoid for another row lowers the cost.",
                "gain of the best swap",
                value=max(-best_change(distances, weight, medoids), 0.0) / scale,
                relation="<=",
                bound=ROUNDING,
                source="Schubert & Rousseeuw (2021)",
            )
        )
    bound = cost_bound(distances, weight, medoids, n_steps=BOUND_STEPS, tol=BOUND_TOLERANCE)
    within = f"; this one is within {cost / bound.value - 1.0:.2g} of the best" if bound.value > 0.0 else ""
    found.append(
        Certificate(
            f"No {len(medoids)} medoids of this sample cost less than {bound.value:.6g}{within}.",
            "cost",
            value=cost,
            relation=">=",
            bound=bound.value,
            source="Lagrangian dual of the k-median problem: Cornuéjols, Fisher & Nemhauser (1977)",
            trivial=0.0,
            tolerance=ROUNDING * scale,
        )
    )
    return found


def best_change(distances: NDArray, weight: NDArray, medoids: NDArray) -> float:
    """Change of the cost by the best of all swaps, negative where one lowers it."""
    state = nearness(distances, medoids)
    losses = np.empty(len(medoids))
    loops.removal_losses(weight, state.nearest, state.first, state.second, losses)
    least = np.full(len(distances), np.inf)

    def work(start: int, stop: int) -> None:
        least[start] = loops.best_swap(
            distances,
            weight,
            state.nearest,
            state.first,
            state.second,
            losses,
            medoids,
            start,
            stop,
            np.inf,
            False,
        )[2]

    over_pieces(work, len(distances))
    return float(least.min())
