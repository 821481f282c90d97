"""Two interleaved half circles with a known Bayes rule."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets._arcs import Arc, arc_log_density
from assay.datasets._classification_law import PLANE_NODES, ClassificationLaw, default_classes
from assay.datasets._requirements import Array, Labels, number_at_least, probabilities

# Class −1 is the upper moon, class +1 the lower one, as in scikit-learn's make_moons.
_MOONS = (Arc((0.0, 0.0), 1.0, 0.0, np.pi), Arc((1.0, 0.5), 1.0, np.pi, 2.0 * np.pi))
_LOWEST, _HIGHEST = np.array([-1.0, -0.5]), np.array([2.0, 1.0])
_REACH = 7.0


@dataclass(frozen=True, eq=False, init=False)
class TwoMoons(ClassificationLaw):
    """Two interleaved half circles with Gaussian noise.

        X | Y = −1  =  (cos T, sin T) + σZ,
        X | Y = +1  =  (1 − cos T, ½ − sin T) + σZ,        T ~ U(0, π),  Z ~ N(0, I₂).

    The density of a class is the integral along its curve p(x) = (1/π) ∫₀^π φ_σ(x − c(t)) dt, computed by
    quadrature; so posterior, Bayes rule and Bayes risk are known.

    Parameters
    ----------
    noise_std : float, default=0.2
        Standard deviation σ of the noise, greater than 0.
    priors : array-like of shape (2,), default=None
        Probabilities of the classes −1 and +1; None for one half each.

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> law = TwoMoons(noise_std=0.3)
    >>> X, y = law.sample(100, random_state=0)
    >>> law.bayes_rule([[0.0, 1.0], [1.0, -0.5]])
    array([-1,  1])
    >>> round(law.bayes_risk().value, 3)
    0.085
    """

    classes: Labels = field(init=False, repr=False)
    noise_std: float

    def __init__(self, noise_std: float = 0.2, priors: ArrayLike | None = None) -> None:
        self._set(
            n_features=2,
            noise_std=number_at_least(self._name, "noise_std", noise_std, 0, strictly=True),
            priors=probabilities(self._name, "priors", priors, 2),
            classes=default_classes(2),
        )

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row a point and one column a class."""
        X = self._rows(X)
        densities = [arc_log_density(X, moon, self.noise_std) for moon in _MOONS]
        return np.column_stack(densities) + np.log(self.priors)

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        angles = rng.uniform(0.0, np.pi, len(components))
        X = self.noise_std * rng.standard_normal((len(components), 2))
        for k, moon in enumerate(_MOONS):
            rows = components == k
            X[rows] += moon.points(moon.start + angles[rows])
        return X

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]]:
        """One grid over the plane, as far as the density reaches."""
        low, high = _LOWEST - _REACH * self.noise_std, _HIGHEST + _REACH * self.noise_std
        first, second = (np.linspace(low[j], high[j], PLANE_NODES // coarser + 1) for j in range(2))
        points = np.column_stack([grid.ravel() for grid in np.meshgrid(first, second, indexing="ij")])
        cell = (first[1] - first[0]) * (second[1] - second[0])
        log_joint = self.log_joint(points)
        yield log_joint, cell * np.exp(log_joint).sum(axis=1)
