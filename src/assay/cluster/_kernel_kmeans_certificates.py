"""What kernel k-means proves about itself, from the Gram matrix and the fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate
from assay.cluster._kernel_kmeans_steps import FeatureSpace
from assay.cluster._quantizer_base import assignment_certificate, cost_certificate, monotone_certificate

MAX_ROWS_OF_SPECTRUM = 4096


def kernel_kmeans_certificates(
    space: FeatureSpace, labels: NDArray, *, trace: Any, inertia: float, coef: NDArray, norms: NDArray
) -> list[Certificate]:
    """Monotone trace, cost by the pairwise form, assignment, and the means that predictions use."""
    n_clusters = coef.shape[1]
    means = space.means(labels, n_clusters)
    filled = means.weights > 0.0
    scale = max(float(space.weight @ np.abs(space.diagonal)), float(np.finfo(np.float64).tiny))
    eps = float(np.finfo(space.gram.dtype).eps)
    rounding = 64.0 * eps + 1e-13
    # Σ_i w_i K_ii − Σ_k n_k ‖μ_k‖²: another way to the cost than distances to the means.
    cost = float(space.weight @ space.diagonal - means.weights[filled] @ means.norms[filled])
    distances = space.distances(means)
    own = distances[np.arange(len(labels)), labels]
    excess = np.where(space.weight > 0.0, own - distances.min(axis=1), 0.0)
    apart = np.abs(coef.astype(np.float64) - means.coef).max() if coef.size else 0.0
    length = np.abs(norms[filled] - means.norms[filled]).max() / max(
        float(np.abs(space.diagonal).max()), 1e-300
    )
    return [
        monotone_certificate(trace, cost, rounding=rounding, scale=scale),
        cost_certificate(inertia, cost, rounding=rounding, scale=scale),
        assignment_certificate(
            float(excess.max()) / max(float(np.abs(space.diagonal).max()), 1e-300), rounding=16.0 * eps
        ),
        Certificate(
            "The means that predictions use are those of the labels.",
            "error of the means",
            value=float(max(apart, length)),
            relation="<=",
            bound=rounding,
            source="Wei §10.2",
        ),
    ]


def spectral_certificates(space: FeatureSpace, labels: NDArray, n_clusters: int) -> list[Certificate]:
    """Compare the cost with the least that any labels could have, and prove that these are inner products.

    With S = √W K √W, the cost of labels is tr S − tr(YᵀSY) for an orthonormal Y with n_clusters columns:
    at least the sum of the eigenvalues of S beyond the n_clusters largest. None for more than 4096 rows.
    """
    if len(space.gram) > MAX_ROWS_OF_SPECTRUM:
        return []
    root = np.sqrt(space.weight)
    spectrum = np.linalg.eigvalsh(space.gram.astype(np.float64) * root * root[:, np.newaxis])[::-1]
    total = max(float(spectrum.sum()), float(np.finfo(np.float64).tiny))
    least = max(float(spectrum[n_clusters:].sum()), 0.0)
    cost = space.cost(labels, space.means(labels, n_clusters))
    meant = least > 1e-12 * total
    within = f"; this one is within a factor {cost / least:.3g} of the best" if meant else ""
    eps = float(np.finfo(space.gram.dtype).eps)
    return [
        Certificate(
            f"No labels with {n_clusters} clusters cost less than {least if meant else 0.0:.6g}{within}.",
            "cost",
            value=cost,
            relation=">=",
            bound=least if meant else 0.0,
            source="Zha, He, Ding, Simon & Gu (2001); Dhillon, Guan & Kulis (2004)",
            trivial=0.0,
            tolerance=64.0 * eps * total,
        ),
        Certificate(
            "The Gram matrix is positive semi-definite: its entries are inner products.",
            "smallest eigenvalue",
            value=float(spectrum[-1]) / max(float(np.abs(spectrum).max()), 1e-300),
            relation=">=",
            bound=-10.0 * len(spectrum) * eps,
            source="Wei §6.1",
        ),
    ]
