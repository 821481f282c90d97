"""Gaussian components: densities, draws, quadrature and the closed form of the Bayes risk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from assay.datasets._classification_law import LINE_NODES, PLANE_NODES, ClassificationLaw
from assay.datasets._requirements import Array, Labels

# The Gaussian mass farther than this many standard deviations is below 1e-15.
_REACH = 8.0


@dataclass(frozen=True, eq=False, init=False)
class GaussianComponents(ClassificationLaw):
    """A law P(Y = k) = π_k, X | Y = k ~ N(μ_k, C_k)."""

    means: Array = field(init=False, repr=False)
    covariances: Array
    _factors: Array = field(init=False, repr=False)

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row a point and one column a class."""
        X = self._rows(X)
        columns = []
        for prior, mean, factor in zip(self.priors, self.means, self._factors, strict=True):
            whitened = solve_triangular(factor, (X - mean).T, lower=True)
            log_normaliser = np.log(np.diag(factor)).sum() + 0.5 * self.n_features * np.log(2.0 * np.pi)
            columns.append(np.log(prior) - log_normaliser - 0.5 * np.sum(whitened**2, axis=0))
        return np.column_stack(columns)

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        X = rng.standard_normal((len(components), self.n_features))
        for k, (mean, factor) in enumerate(zip(self.means, self._factors, strict=True)):
            rows = components == k
            X[rows] = mean + X[rows] @ factor.T
        return X

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]] | None:
        """One grid per class, in the coordinates where its covariance is the identity."""
        if self.n_features > 2:
            return None
        n_nodes = (LINE_NODES if self.n_features == 1 else PLANE_NODES) // coarser
        axis = np.linspace(-_REACH, _REACH, n_nodes + 1)
        grids = np.meshgrid(*[axis] * self.n_features, indexing="ij")
        whitened = np.column_stack([grid.ravel() for grid in grids])
        weights = np.exp(-0.5 * np.sum(whitened**2, axis=1))
        weights /= weights.sum()
        return (
            (self.log_joint(mean + whitened @ factor.T), prior * weights)
            for prior, mean, factor in zip(self.priors, self.means, self._factors, strict=True)
        )

    def _closed_form_bayes_risk(self) -> float | None:
        """Two classes of equal covariance, at Mahalanobis distance δ.

        The log-odds are N(±δ²/2 + c, δ²) with c = log(π₁/π₀), hence
        π₀ Φ(−δ/2 + c/δ) + π₁ Φ(−δ/2 − c/δ).
        """
        if len(self.priors) != 2 or not np.array_equal(self.covariances[0], self.covariances[1]):
            return None
        step = solve_triangular(self._factors[0], self.means[1] - self.means[0], lower=True)
        distance = float(np.linalg.norm(step))
        if distance == 0.0:
            return float(self.priors.min())
        shift = float(np.log(self.priors[1] / self.priors[0])) / distance
        errors = ndtr(np.array([-distance / 2.0 + shift, -distance / 2.0 - shift]))
        return float(self.priors @ errors)
