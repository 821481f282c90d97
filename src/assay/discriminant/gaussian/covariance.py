"""Covariances of classes: their whitening, and their shrinkage towards a sphere."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import Block, Rows

Array = NDArray[np.float64]

EPSILON = float(np.finfo(np.float64).eps)


class Factored(NamedTuple):
    """A covariance and what is read off its eigenvalues, directions without variance left out.

    Attributes
    ----------
    covariance : array of shape (d, d)
    whitening : array of shape (d, r)
        W with WᵀΣW = I; WWᵀ = Σ⁻¹ where Σ has full rank.
    unwhitening : array of shape (d, r)
        V with VVᵀ = Σ and VᵀW = I.
    log_determinant : float
        log |Σ|, over the r directions that are kept.
    condition : float
        Largest over smallest eigenvalue kept, of columns of unit variance.
    """

    covariance: Array
    whitening: Array
    unwhitening: Array
    log_determinant: float
    condition: float

    @property
    def rank(self) -> int:
        """Number r of directions kept."""
        return int(self.whitening.shape[1])

    def solve(self, values: Array) -> Array:
        """Σ⁺ times some columns."""
        return np.asarray(self.whitening @ (self.whitening.T @ values))


def factored(covariance: Array, tol: float) -> Factored:
    """Decompose a covariance in the units of its columns.

    Parameters
    ----------
    covariance : array of shape (d, d)
    tol : float
        Standard deviation, of columns of unit variance, at or below which a direction is left out.
    """
    scale = np.sqrt(np.diagonal(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    values, vectors = np.linalg.eigh(covariance / scale / scale[:, None])
    kept = values > max(tol**2, len(scale) * EPSILON * max(float(values[-1]), 0.0))
    values, vectors = values[kept][::-1], vectors[:, kept][:, ::-1]
    roots = np.sqrt(values)
    whitening, unwhitening = vectors / roots / scale[:, None], vectors * roots * scale[:, None]
    if len(values) == len(scale):
        log_determinant = float(np.log(values).sum() + 2 * np.log(scale).sum())
    else:
        log_determinant = float(np.linalg.slogdet(unwhitening.T @ unwhitening)[1])
    condition = float(values[0] / values[-1]) if len(values) else np.inf
    return Factored(covariance, whitening, unwhitening, log_determinant, condition)


# Shrinkage: (1 − γ) C + γ (tr C / d) I.


def shrunk(covariance: Array, intensity: float) -> Array:
    """A covariance pulled towards the sphere of the same trace."""
    d = len(covariance)
    result = (1 - intensity) * covariance
    result[np.diag_indices(d)] += intensity * float(np.trace(covariance)) / d
    return np.asarray(result)


def oas_intensity(covariance: Array, n: float) -> float:
    """Chen, Wiesel, Eldar & Hero's γ, which assumes Gaussian rows."""
    d = len(covariance)
    mean_square, level = float(np.mean(covariance**2)), float(np.trace(covariance)) / d
    excess = (n + 1) * (mean_square - level**2 / d)
    return 1.0 if excess <= 0 else min(1.0, (mean_square + level**2) / excess)


def ledoit_wolf_intensity(covariance: Array, fourth: float, n: float) -> float:
    """Ledoit and Wolf's γ, from `fourth` = (1/n) Σ s ‖x − μ‖⁴.

    The mean squared error of the entries of the covariance, over its squared distance from the sphere.
    """
    d = len(covariance)
    squares, level = float(np.sum(covariance**2)), float(np.trace(covariance)) / d
    distance = (squares - d * level**2) / d
    noise = min((fourth - squares) / (d * n), distance)
    return 0.0 if noise <= 0 else noise / distance


def shrunk_in_units(covariance: Array, rule: str, fourth: float, n: float) -> Array:
    """A covariance shrunk by a rule after its columns are given unit variance; their units come back."""
    scale = np.sqrt(np.diagonal(covariance))
    scale = np.where(scale > 0, scale, 1.0)
    unit = covariance / scale / scale[:, None]
    intensity = oas_intensity(unit, n) if rule == "oas" else ledoit_wolf_intensity(unit, fourth, n)
    return np.asarray(shrunk(unit, intensity) * scale * scale[:, None])


def fourth_powers(data: Rows, means: Array, variances: Array) -> Array:
    """Σ s ‖z‖⁴ of each class, z the rows about the mean of their class in units of its deviations."""
    inverse = 1 / np.sqrt(np.where(variances > 0, variances, 1.0))
    return np.asarray(data.reduce(fourth_powers_block, means, inverse))


def fourth_powers_block(block: Block, means: Array, inverse: Array) -> Array:
    """Σ s ‖z‖⁴ of the classes in one block."""
    assert block.y is not None
    codes = block.y.astype(np.intp)
    rows = (block.dense - means[codes]) * inverse[codes]
    squares = np.einsum("ij,ij->i", rows, rows) ** 2
    return np.asarray(np.bincount(codes, block.weights * squares, minlength=len(means)), dtype=np.float64)
