"""Gaussian laws of classes, with one covariance for all or one for each: whitened distances and draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.generative import ClassLaws

Array = NDArray[np.float64]

LOG_TWO_PI = float(np.log(2 * np.pi))
LARGEST_SINGLE = 1e30


@dataclass(frozen=True, eq=False)
class SharedGaussian(ClassLaws):
    """X | Y = k ~ N(μ_k, Σ) on the subspace where Σ has variance.

    Attributes
    ----------
    means : array of shape (K, d)
    center : array of shape (d,)
        A point amid the means, subtracted before anything is squared.
    whitening : array of shape (d, r)
        W with Σ⁺ = W Wᵀ and WᵀΣW = I.
    unwhitening : array of shape (d, r)
        V with V Vᵀ = Σ.
    log_determinant : float
        Σ log λ_j over the r positive eigenvalues of Σ.
    """

    means: Array
    center: Array
    whitening: Array
    unwhitening: Array
    log_determinant: float
    log_odds: ClassVar[Literal["affine", "quadratic", "other"]] = "affine"

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K."""
        return len(self.means)

    def log_density(self, X: NDArray) -> NDArray:
        """−½‖Wᵀ(x − μ_k)‖² − ½ log|Σ| − (r/2) log 2π."""
        dtype, X = X.dtype, in_range(X, self.whitening)
        whitening = self.whitening.astype(X.dtype)
        rows = (X - self.center.astype(X.dtype)) @ whitening
        centers = ((self.means - self.center) @ self.whitening).astype(X.dtype)
        constant = self.log_determinant + self.whitening.shape[1] * LOG_TWO_PI
        squares = squared_distances(rows, centers)
        return np.asarray(-0.5 * (squares + X.dtype.type(constant)), dtype=dtype)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """μ_k + V z with z standard Gaussian."""
        noise = rng.standard_normal((len(codes), self.unwhitening.shape[1]))
        return np.asarray(self.means[codes] + noise @ self.unwhitening.T)


@dataclass(frozen=True, eq=False)
class OwnGaussian(ClassLaws):
    """X | Y = k ~ N(μ_k, Σ_k), each given by a whitening of its own.

    Attributes
    ----------
    means : array of shape (K, d)
    whitenings, unwhitenings : sequences of K arrays of shape (d, r_k)
        W_k and V_k with Σ_k⁺ = W_k W_kᵀ and Σ_k = V_k V_kᵀ.
    log_determinants : array of shape (K,)
    """

    means: Array
    whitenings: Sequence[Array]
    unwhitenings: Sequence[Array]
    log_determinants: Array
    log_odds: ClassVar[Literal["affine", "quadratic", "other"]] = "quadratic"

    @property
    def n_classes(self) -> int:  # type: ignore[override]
        """K."""
        return len(self.means)

    def log_density(self, X: NDArray) -> NDArray:
        """−½‖W_kᵀ(x − μ_k)‖² − ½ log|Σ_k| − (r_k/2) log 2π; 0 for a row too far away for its type."""
        values = np.empty((len(X), len(self.means)), dtype=X.dtype)
        for k, (mean, whitening) in enumerate(zip(self.means, self.whitenings, strict=True)):
            table = in_range(X, whitening)
            constant = self.log_determinants[k] + whitening.shape[1] * LOG_TWO_PI
            with np.errstate(over="ignore", invalid="ignore"):
                rows = (table - mean.astype(table.dtype)) @ whitening.astype(table.dtype)
                values[:, k] = -0.5 * (np.einsum("ij,ij->i", rows, rows) + X.dtype.type(constant))
        values[~np.isfinite(values)] = -np.inf
        values[np.isneginf(values).all(axis=1)] = 0.0
        return values

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """μ_k + V_k z with z standard Gaussian."""
        X = self.means[codes]
        for k, root in enumerate(self.unwhitenings):
            rows = codes == k
            X[rows] += rng.standard_normal((int(rows.sum()), root.shape[1])) @ root.T
        return X


def in_range(X: NDArray, whitening: Array) -> NDArray:
    """The rows, in double precision where inverse deviations are beyond the range of their own."""
    return X if np.abs(whitening).max(initial=0.0) < LARGEST_SINGLE else X.astype(np.float64, copy=False)


def squared_distances(rows: NDArray, centers: NDArray) -> NDArray:
    """‖row − centre‖² for all pairs, by one product; never negative.

    Both are whitened and near the origin, so that squares lose nothing beside their differences.
    """
    squares = rows @ (-2 * centers.T)
    squares += np.einsum("ij,ij->i", rows, rows)[:, None]
    squares += np.einsum("ij,ij->i", centers, centers)
    return np.maximum(squares, 0.0, out=squares)
