"""Certificates of quadratic discriminant analysis, from fresh moments, the rows and the fitted attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, agreement, at_most
from assay.discriminant.gaussian.moments import ClassMoments
from assay.discriminant.linear.certificates import LARGEST_CONDITION, in_units, rounding
from assay.discriminant.quadratic.solver import QuadraticSolution
from assay.rows import Block, Rows

Array = NDArray[np.float64]

SOURCE = "Sangnier §1.1.2; Wei §7.3; Douc & Le Corff §3.2, §8.4"
TINY = 1e-200


def stored(model: Any, solution: QuadraticSolution) -> Certificate:
    """Means, covariances and what is read off them against fresh ones, in units of the columns."""
    spread = np.sqrt(np.maximum(np.diagonal(solution.covariances, axis1=1, axis2=2).max(axis=0), 0.0))
    scale = np.where(spread > 0, spread, np.abs(solution.means).max(axis=0, initial=0.0))
    scale = np.where(scale > 0, scale, 1.0)
    size = np.maximum(1.0, np.abs(solution.means / scale).max())
    # Orthonormal columns R and numbers s with R diag(s) Rᵀ = Σ are its eigenvectors and eigenvalues.
    rotations, basis = np.asarray(model.rotations_), solution.basis
    turned = rotations.transpose(0, 2, 1)
    spans = (rotations * model.scalings_[:, None, :]) @ turned
    again = basis @ (basis.T @ solution.covariances @ basis) @ basis.T
    gram = turned @ rotations
    pairs = {
        "means_": in_units(model.means_, solution.means, scale * size),
        "covariance_": in_units(model.covariance_, solution.covariances, scale, scale[:, None]),
        "rotations_": (gram, np.broadcast_to(np.eye(gram.shape[1]), gram.shape)),
        "scalings_": (spans, again),
    }
    claim = "Means and covariances of the classes are those of the rows."
    return agreement(claim, pairs, SOURCE, rtol=1e-6)


def principal_axes(covariances: Array, basis: Array) -> tuple[Array, Array]:
    """Rotations (K, d, r) and variances (K, r), decreasing, of the classes along their principal axes."""
    inside = basis.T @ covariances @ basis
    # Of size 1 and without numbers next to none, on which LAPACK may not converge.
    size = np.abs(inside).max(axis=(1, 2), keepdims=True)
    inside = inside / np.where(size > 0, size, 1.0)
    values, vectors = np.linalg.eigh(np.where(np.abs(inside) < TINY, 0.0, inside))
    return np.asarray(basis @ vectors[:, :, ::-1]), np.asarray(values[:, ::-1] * size[:, :, 0])


def likelihood_gradient(moments: ClassMoments, model: Any, own_priors: bool) -> Certificate:
    """The gradient of the log-likelihood in (π_k, μ_k, Σ_k) per row of the class, in units of the class."""
    used = moments.weight > 0
    whitenings, weight = np.asarray(model.whitenings_)[used], moments.weight[used]
    off = ((moments.means - model.means_)[used][:, None, :] @ whitenings)[:, 0]
    spread = whitenings.transpose(0, 2, 1) @ moments.scatters[used] @ whitenings / weight[:, None, None]
    spread += off[:, :, None] * off[:, None, :] - np.eye(off.shape[1])
    worst = max(float(np.abs(off).max(initial=0.0)), 0.5 * float(np.abs(spread).max(initial=0.0)))
    if own_priors:
        worst = max(worst, float(np.abs(moments.weight / moments.total_weight - model.priors_).max()))
    claim = "The gradient of the log-likelihood in priors, means and covariances vanishes."
    return at_most(claim, "gradient per row", worst, 1e-6, SOURCE)


def structure(model: Any, condition: float) -> list[Certificate]:
    """W_kᵀΣ_kW_k = I, the determinants, and the condition of the covariances."""
    whitenings = np.asarray(model.whitenings_)
    turned = whitenings.transpose(0, 2, 1)
    gram = turned @ model.covariance_ @ whitenings - np.eye(whitenings.shape[2])
    logs = _log_determinants(whitenings, np.asarray(model.covariance_))
    off = np.abs(np.asarray(model.log_determinants_) - logs) / np.maximum(1.0, np.abs(logs))
    defect = max(float(np.abs(gram).max(initial=0.0)), float(off.max()))
    return [
        at_most("The whitening of each class is that of its covariance.", "whitening", defect, 1e-6, SOURCE),
        at_most(
            "The covariances are well conditioned: log-odds are certain to four digits.",
            "condition number",
            condition,
            LARGEST_CONDITION,
            SOURCE,
        ),
    ]


def _log_determinants(whitenings: Array, covariances: Array) -> Array:
    """log|Σ_k| over the directions kept, from W_k alone: Σ_k on their span is (W_k⁺)ᵀ W_k⁺."""
    if whitenings.shape[1] > whitenings.shape[2]:
        return np.asarray(-2 * np.log(np.linalg.svd(whitenings, compute_uv=False)).sum(axis=1))
    # In units of the columns, which may be of very different sizes.
    units = np.sqrt(np.diagonal(covariances, axis1=1, axis2=2))
    units = np.where(units > 0, units, 1.0)
    inside = np.linalg.slogdet(whitenings * units[:, :, None])[1]
    return np.asarray(2 * (np.log(units).sum(axis=1) - inside))


def forms_agree(data: Rows, model: Any) -> Certificate:
    """½xᵀQx + ⟨w, x⟩ + b against the difference of log-joints, on every row and for every other class."""
    origin = np.asarray(model.means_).mean(axis=0)
    units = model._units()
    forms = [model._quadric_about(origin, units, 0, k)[:3] for k in range(1, len(model.classes_))]
    state = model._laws(), model._log_priors(), forms, origin, units
    worst = data.reduce(forms_block, *state, combine=max)
    claim = "The quadric (Q, w, b) between the first class and each other is the difference of log-joints."
    return at_most(claim, "largest difference, relative", worst, 10 * rounding(data.dtype), SOURCE)


def forms_block(block: Block, laws: Any, logs: Array, forms: list[Any], origin: Array, units: Array) -> float:
    """Largest relative difference of the two forms in one block."""
    X = block.dense.astype(np.float64)
    joint = laws.log_density(X) + logs
    rows, worst = (X - origin) / units, 0.0
    for k, (matrix, normal, offset) in enumerate(forms, start=1):
        if not np.isfinite(offset):
            continue
        square, line = 0.5 * np.einsum("ij,ij->i", rows @ matrix, rows), rows @ normal
        size = 1 + np.abs(joint[:, 0]) + np.abs(joint[:, k]) + np.abs(rows) @ np.abs(normal)
        off = np.abs(square + line + offset - (joint[:, k] - joint[:, 0])) / size
        worst = max(worst, float(off.max(initial=0.0)))
    return worst
