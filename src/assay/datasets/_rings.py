"""Concentric circles with a known Bayes rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets._arcs import ring_log_density
from assay.datasets._classification_law import LINE_NODES, ClassificationLaw, default_classes
from assay.datasets._requirements import (
    Array,
    Labels,
    finite_array,
    number_at_least,
    probabilities,
    refuse,
)

_REACH = 9.0


@dataclass(frozen=True, eq=False, init=False)
class Rings(ClassificationLaw):
    """Concentric circles with Gaussian noise.

        X | Y = k  =  r_k (cos T, sin T) + σZ,        T ~ U(0, 2π),  Z ~ N(0, I₂).

    The integral of the noise along the circle is a Bessel function, which gives the density

        p_k(x) = (2πσ²)⁻¹ exp(−(‖x‖² + r_k²)/(2σ²)) I₀(‖x‖ r_k/σ²)

    and with it posterior, Bayes rule and Bayes risk.

    Parameters
    ----------
    radii : array-like of shape (n_classes,), default=(1.0, 2.0)
        The radii r_k, at least two, greater than 0.
    noise_std : float, default=0.2
        Standard deviation σ of the noise, greater than 0.
    priors : array-like of shape (n_classes,), default=None
        Probabilities of the circles; None for equal ones.

    Examples
    --------
    >>> from assay.datasets import Rings
    >>> law = Rings()
    >>> X, y = law.sample(100, random_state=0)
    >>> law.bayes_rule([[1.0, 0.0], [0.0, 2.0]])
    array([-1,  1])
    >>> round(law.bayes_risk().value, 4)
    0.0064
    """

    classes: Labels = field(init=False, repr=False)
    radii: Array
    noise_std: float

    def __init__(
        self, radii: ArrayLike = (1.0, 2.0), noise_std: float = 0.2, priors: ArrayLike | None = None
    ) -> None:
        name = self._name
        circles = finite_array(name, "radii", radii, 1)
        if circles.size < 2 or np.any(circles <= 0.0):
            refuse(name, "radii", "at least two numbers greater than 0", circles)
        self._set(
            n_features=2,
            radii=circles,
            noise_std=number_at_least(name, "noise_std", noise_std, 0, strictly=True),
            priors=probabilities(name, "priors", priors, circles.size),
            classes=default_classes(circles.size),
        )

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row a point and one column a class."""
        X = self._rows(X)
        densities = [ring_log_density(X, radius, self.noise_std) for radius in self.radii]
        return np.column_stack(densities) + np.log(self.priors)

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        angles = rng.uniform(0.0, 2.0 * np.pi, len(components))
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        noise = self.noise_std * rng.standard_normal((len(components), 2))
        X: Array = self.radii[components, np.newaxis] * circle + noise
        return X

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]]:
        """Along one ray, each node with its circle of length 2πr: the law is invariant by rotation."""
        farthest = self.radii.max() + _REACH * self.noise_std
        distances = np.linspace(0.0, farthest, LINE_NODES // coarser + 1)
        log_joint = self.log_joint(np.column_stack([distances, np.zeros_like(distances)]))
        yield log_joint, 2.0 * np.pi * distances[1] * distances * np.exp(log_joint).sum(axis=1)
