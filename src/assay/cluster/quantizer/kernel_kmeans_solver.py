"""Clusters in the feature space of a Gram matrix: means, distances, seeds, and Lloyd's step."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_least, at_most
from assay.cluster.quantizer import base
from assay.cluster.quantizer.base import Step, seed_rows
from assay.kernels import Kernel, Precomputed, asymmetry
from assay.rows import ordered_map

PIECE = 256  # rows of the Gram matrix that a thread takes at a time: a constant, for the same bits


class Means(NamedTuple):
    """Means of clusters, μ_k = Σ_i coef[i, k] φ(x_i).

    `products` are ⟨φ(x_i), μ_k⟩, `norms` ‖μ_k‖², infinite for clusters without rows, to which no row is near.
    """

    coef: NDArray
    weights: NDArray
    products: NDArray
    norms: NDArray


class FeatureSpace:
    """The images of rows, known by their inner products, with weights."""

    def __init__(self, gram: NDArray, weight: NDArray | None) -> None:
        self.gram = gram
        self.weight = np.ones(len(gram)) if weight is None else weight.astype(np.float64)
        self.diagonal = gram.diagonal().astype(np.float64)

    def means(self, labels: NDArray, n_clusters: int) -> Means:
        """Means of the clusters of these labels."""
        coef = np.zeros((len(labels), n_clusters))
        coef[np.arange(len(labels)), labels] = self.weight
        weights = coef.sum(axis=0)
        coef /= np.where(weights > 0.0, weights, 1.0)
        products = self._times(coef)
        norms = np.einsum("ik,ik->k", coef, products)
        norms[weights == 0.0] = np.inf
        return Means(coef, weights, products, norms)

    def _times(self, coef: NDArray) -> NDArray:
        factor, starts = coef.astype(self.gram.dtype), range(0, len(self.gram), PIECE)
        walk: Any = map if len(starts) <= 2 else ordered_map
        parts = walk(lambda start: self.gram[start : start + PIECE] @ factor, starts)
        return np.concatenate(list(parts)).astype(np.float64)

    def distances(self, means: Means) -> NDArray:
        """Squared distances ‖φ(x_i) − μ_k‖²; rounding may leave small ones negative."""
        return self.diagonal[:, np.newaxis] - 2.0 * means.products + means.norms

    def cost(self, labels: NDArray, means: Means) -> float:
        """Σ_i w_i ‖φ(x_i) − μ_{z_i}‖², without cancellation between rows."""
        own = self.distances(means)[np.arange(len(labels)), labels]
        return max(float(self.weight @ np.maximum(own, 0.0)), 0.0)

    def step(self, labels: NDArray, n_clusters: int) -> Step:
        """Assign every row to the nearest mean; ties go to the lowest index, clusters keep their numbers."""
        means = self.means(labels, n_clusters)
        distances = self.distances(means)
        places = np.arange(len(labels))
        nearest = distances.argmin(axis=1)
        own, least = distances[places, labels], distances[places, nearest]
        cost = float(self.weight @ np.maximum(own, 0.0))
        moved = (nearest != labels) & (least < own - self._rounding())
        gain = float(self.weight @ np.where(moved, own - least, 0.0))
        successor = np.where(moved, nearest, labels)
        absent = self.weight == 0.0
        successor[absent] = nearest[absent]
        scale = cost if cost > 0.0 else 1.0
        return Step(cost, successor if gain == 0.0 else labels, successor, gain / scale)

    def _rounding(self) -> float:
        """What two distances may differ by without meaning it."""
        return 8.0 * float(np.finfo(self.gram.dtype).eps) * float(np.abs(self.diagonal).max())

    def nearest_rows(self, chosen: NDArray) -> NDArray:
        """Which of some rows each row is nearest to."""
        squares = self.diagonal[chosen] - 2.0 * self.gram[:, chosen].astype(np.float64)
        return squares.argmin(axis=1)


def seeds(space: FeatureSpace, n_clusters: int, random: np.random.Generator, *, greedy: bool) -> NDArray:
    """Rows to start from: greedy k-means++ in the feature space, or distinct rows drawn ∝ their weights."""
    uniforms = random.random((n_clusters, 2 + int(np.log(n_clusters)) if greedy else 1))
    order = np.argsort(space._times(space.weight[:, np.newaxis])[:, 0], kind="stable")
    options: Any = {"greedy": greedy, "least": space._rounding()}
    return seed_rows(partial(_squares, space), space.weight, uniforms, order, **options)


def _squares(space: FeatureSpace, chosen: NDArray) -> NDArray:
    """Squared distances of some rows to all, at least 0."""
    products = space.gram[chosen].astype(np.float64)
    return np.maximum(space.diagonal[chosen, np.newaxis] - 2.0 * products + space.diagonal, 0.0)


def gram_of(kernel: Kernel, X: Any) -> NDArray:
    """The Gram matrix of rows, or one sentence why these numbers are none."""
    with np.errstate(over="ignore", invalid="ignore"):
        gram = _given_gram(X) if isinstance(kernel, Precomputed) else kernel.gram(X)
        total = float(gram.sum(dtype=np.float64))
    if not np.isfinite(total):
        raise ValueError(
            "The kernel of KernelKMeans overflows on these rows or is not a number: scale the columns "
            "(StandardScaler) or give a smaller 'gamma'."
        )
    if not kernel.positive_definite:
        _require_inner_products(gram)
    return gram


def _given_gram(X: Any) -> NDArray:
    given: NDArray = X if isinstance(X, np.ndarray) else X.toarray()
    if given.shape[0] != given.shape[1]:
        raise ValueError(f"A precomputed kernel must be a square matrix. Got shape {given.shape} instead.")
    apart, size = asymmetry(given), float(np.abs(given).max(initial=0.0))
    if apart > float(np.sqrt(np.finfo(given.dtype).eps)) * size:
        raise ValueError(
            f"The precomputed kernel is not symmetric: k(x, z) and k(z, x) differ by up to {apart:.3g}; "
            "symmetrise it ((K + Kᵀ)/2) or check how it was computed."
        )
    return np.ascontiguousarray(given)


def _require_inner_products(gram: NDArray) -> None:
    """Refuse what cannot be inner products: K_ii < 0, or K_ij² > K_ii K_jj (Cauchy–Schwarz)."""
    diagonal = gram.diagonal().astype(np.float64)
    room = float(np.sqrt(np.finfo(gram.dtype).eps)) * float(np.abs(diagonal).max(initial=0.0))
    lengths = np.sqrt(np.maximum(diagonal, 0.0))
    excess = max(
        float((np.abs(gram[start : start + PIECE]) - np.outer(lengths[start : start + PIECE], lengths)).max())
        for start in range(0, len(gram), PIECE)
    )
    if diagonal.min() < -room or excess > room:
        raise ValueError(
            "The kernel is not positive semi-definite: inner products have K_ii ≥ 0 and K_ij² ≤ K_ii K_jj, "
            "these numbers do not; use a positive semi-definite kernel, or add a multiple of the identity."
        )


# What kernel k-means proves about itself, from the Gram matrix and the fitted attributes.


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
    largest = max(float(np.abs(space.diagonal).max()), 1e-300)
    length = np.abs(norms[filled] - means.norms[filled]).max() / largest
    return [
        base.monotone_certificate(trace, cost, rounding=rounding, scale=scale),
        base.cost_certificate(inertia, cost, rounding=rounding, scale=scale),
        base.assignment_certificate(float(excess.max()) / largest, rounding=16.0 * eps),
        at_most(
            "The means that predictions use are those of the labels.",
            "error of the means",
            max(apart, length),
            rounding,
            source="Wei §10.2",
        ),
    ]


def gram_certificates(space: FeatureSpace, labels: NDArray, n_clusters: int) -> list[Certificate]:
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
        at_least(
            f"No labels with {n_clusters} clusters cost less than {least if meant else 0.0:.6g}{within}.",
            "cost",
            cost,
            least if meant else 0.0,
            source="Zha, He, Ding, Simon & Gu (2001); Dhillon, Guan & Kulis (2004)",
            trivial=0.0,
            tolerance=64.0 * eps * total,
            informative=True,
        ),
        at_least(
            "The Gram matrix is positive semi-definite: its entries are inner products.",
            "smallest eigenvalue",
            float(spectrum[-1]) / max(float(np.abs(spectrum).max()), 1e-300),
            -10.0 * len(spectrum) * eps,
            source="Wei §6.1",
        ),
    ]
