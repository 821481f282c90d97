"""Circles that no line separates, lifted by a kernel to where a plane does."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel, Polynomial, RKHSFunction
from assay.parameters import integer, real, refusal, require
from assay.randomness import RandomState, generator
from assay.solvers import separability
from assay.theory.least_squares import Array


class Lift(NamedTuple):
    """Result of `lift`.

    Attributes
    ----------
    X : array of shape (n, d)
        The rows.
    y : array of shape (n,)
        Their labels.
    kernel : Kernel
    features : array of shape (n, D)
        φ(x_i), with ⟨φ(x), φ(z)⟩ = k(x, z).
    before, after : "separable", "quasi-separable" or "overlapping"
        What hyperplanes do to the rows and to their features.
    weights : array of shape (D,) or None
        w of a plane ⟨w, φ(x)⟩ + b that separates the features.
    intercept : float
        b.
    margins : array of shape (n,)
        y_i (⟨w, φ(x_i)⟩ + b)/‖w‖, the distances to the plane; all positive where it separates.
    """

    X: Array
    y: NDArray
    kernel: Kernel
    features: Array
    before: str
    after: str
    weights: Array | None
    intercept: float
    margins: Array

    @property
    def function(self) -> RKHSFunction:
        """The function x ↦ ⟨w, φ(x)⟩ of the RKHS, written with the kernel and the rows alone."""
        if self.weights is None:
            raise ValueError("No plane separates the features: there is no function to write.")
        alpha = np.linalg.lstsq(self.features.T, self.weights, rcond=1e-12)[0]
        return RKHSFunction(alpha, self.X, self.kernel)


def lift(X: Any, y: Any, kernel: Kernel | None = None) -> Lift:
    """Whether a hyperplane separates two classes of rows, and whether one separates their features.

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
        Labels of two kinds; the larger one is positive.
    kernel : Kernel with a finite feature map, optional
        (xᵀz)² by default: (x₁², x₂², √2 x₁x₂) for two columns, where circles around the origin are planes.

    Examples
    --------
    >>> from assay.theory import circles, lift
    >>> result = lift(*circles(40, random_state=0))
    >>> result.before, result.after, result.features.shape
    ('overlapping', 'separable', (80, 3))

    References
    ----------
    Rudi & Şimşekli §4.2, figure 4.1; Sangnier §1.4.2, Example 1.4.2.
    """
    table, labels = np.asarray(X, dtype=float), np.asarray(y)
    kernel = Polynomial(2, gamma=1.0, coef0=0.0) if kernel is None else kernel
    kinds = np.unique(labels)
    if table.ndim != 2 or labels.shape != (table.shape[0],) or kinds.size != 2:
        raise refusal("lift", "y", "labels of two kinds, one per row of X", y)
    features = np.asarray(kernel.feature_map(table))
    before, after = separability(table, labels), separability(features, labels)
    weights, intercept, margins = None, 0.0, np.zeros(labels.size)
    if after.status == "separable" and after.direction is not None:
        weights, intercept = np.ravel(after.direction), float(np.ravel(after.intercept)[0])
        signs = np.where(labels == kinds[1], 1.0, -1.0)
        margins = signs * (features @ weights + intercept) / float(np.linalg.norm(weights))
    return Lift(table, labels, kernel, features, before.status, after.status, weights, intercept, margins)


def circles(
    n_samples: int = 100,
    *,
    radii: tuple[float, float] = (0.5, 1.0),
    noise: float = 0.05,
    random_state: RandomState = None,
) -> tuple[Array, NDArray[np.int64]]:
    """Rows on two circles around the origin, labelled 0 (the first radius) and 1.

    Parameters
    ----------
    n_samples : int, default=100
        Rows on each circle.
    radii : (float, float), default=(0.5, 1.0)
    noise : float at least 0, default=0.05
        The radii vary uniformly by at most this much: circles whose radii differ by more than twice it are
        separable by their squared norm.
    random_state : None, int, Generator, SeedSequence or RandomState

    Returns
    -------
    X : array of shape (2 n_samples, 2)
    y : array of shape (2 n_samples,)

    Examples
    --------
    >>> from assay.theory import circles
    >>> X, y = circles(50, random_state=0)
    >>> X.shape, y.mean()
    ((100, 2), np.float64(0.5))
    """
    require("circles", integer(at_least=1), n_samples=n_samples)
    require("circles", real(at_least=0.0), noise=noise)
    if len(radii) != 2 or not all(map(real(above=0.0).contains, radii)):
        raise refusal("circles", "radii", "two numbers above 0", radii)
    rng = generator(random_state)
    angles = rng.uniform(0.0, 2.0 * np.pi, 2 * n_samples)
    sizes = np.repeat(radii, n_samples) + noise * rng.uniform(-1.0, 1.0, 2 * n_samples)
    return sizes[:, None] * np.column_stack([np.cos(angles), np.sin(angles)]), np.repeat([0, 1], n_samples)
