"""Gaussian noise around curves of the plane: half moons and concentric circles, with their Bayes rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist
from scipy.special import i0e

from assay.datasets.laws import LINE_NODES, PLANE_NODES, ClassificationLaw, default_classes
from assay.datasets.requirements import Array, Labels, finite_array, number_at_least, probabilities, refuse

_BLOCK = 4096
_NODES_PER_PANEL = 12


class Arc(NamedTuple):
    """The curve t ↦ (center + radius (cos t, sin t)), start ≤ t ≤ stop, run at constant speed."""

    center: tuple[float, float]
    radius: float
    start: float
    stop: float

    def points(self, angles: Array) -> Array:
        """Give the points of the curve at these angles."""
        circle = self.radius * np.column_stack([np.cos(angles), np.sin(angles)])
        return np.asarray(self.center) + circle


def arc_log_density(X: Array, arc: Arc, noise_std: float) -> Array:
    """Log-density of c(T) + σZ, with T uniform on the arc and Z ~ N(0, I₂).

    p(x) = (1/(b − a)) ∫_a^b φ_σ(x − c(t)) dt by Gauss–Legendre on panels no longer than 3σ, on which the
    integrand is a smooth bump: the relative error is below 1e-8 at less than ten σ from the curve.
    """
    angles, weights = _panels(arc, noise_std)
    curve = arc.points(angles)
    log_normaliser = np.log(2.0 * np.pi * noise_std**2)
    density = np.empty(len(X))
    for first in range(0, len(X), _BLOCK):
        exponents = cdist(X[first : first + _BLOCK], curve, "sqeuclidean")
        exponents /= -2.0 * noise_std**2
        largest = exponents.max(axis=1)
        exponents -= largest[:, np.newaxis]
        # Terms below e⁻¹⁰⁰ weigh nothing; as subnormal numbers they would be slow.
        np.maximum(exponents, -100.0, out=exponents)
        mass = np.exp(exponents, out=exponents) @ weights
        density[first : first + _BLOCK] = largest + np.log(mass) - log_normaliser
    return density


def _panels(arc: Arc, noise_std: float) -> tuple[Array, Array]:
    """Nodes and weights of the uniform law on the arc's angles."""
    length = arc.radius * (arc.stop - arc.start)
    n_panels = max(4, int(np.ceil(length / (3.0 * noise_std))))
    nodes, weights = np.polynomial.legendre.leggauss(_NODES_PER_PANEL)
    edges = np.linspace(arc.start, arc.stop, n_panels + 1)
    half_width = (edges[1] - edges[0]) / 2.0
    middles = (edges[:-1] + edges[1:]) / 2.0
    angles = (middles[:, np.newaxis] + half_width * nodes).ravel()
    return angles, np.tile(weights, n_panels) / (2.0 * n_panels)


# Class −1 is the upper moon, class +1 the lower one, as in scikit-learn's make_moons.
_MOONS = (Arc((0.0, 0.0), 1.0, 0.0, np.pi), Arc((1.0, 0.5), 1.0, np.pi, 2.0 * np.pi))
_LOWEST, _HIGHEST = np.array([-1.0, -0.5]), np.array([2.0, 1.0])
_MOON_REACH = 7.0


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
        deviation = number_at_least(self._name, "noise_std", noise_std, 0, strictly=True)
        shares = probabilities(self._name, "priors", priors, 2)
        self._set(n_features=2, noise_std=deviation, priors=shares, classes=default_classes(2))

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row per point and one column per class."""
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
        low, high = _LOWEST - _MOON_REACH * self.noise_std, _HIGHEST + _MOON_REACH * self.noise_std
        first, second = (np.linspace(low[j], high[j], PLANE_NODES // coarser + 1) for j in range(2))
        points = np.column_stack([grid.ravel() for grid in np.meshgrid(first, second, indexing="ij")])
        cell = (first[1] - first[0]) * (second[1] - second[0])
        log_joint = self.log_joint(points)
        yield log_joint, cell * np.exp(log_joint).sum(axis=1)


_RING_REACH = 9.0


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
        deviation = number_at_least(name, "noise_std", noise_std, 0, strictly=True)
        shares, classes = probabilities(name, "priors", priors, circles.size), default_classes(circles.size)
        self._set(n_features=2, radii=circles, noise_std=deviation, priors=shares, classes=classes)

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row per point and one column per class."""
        X = self._rows(X)
        distance, variance = np.hypot(X[:, 0], X[:, 1])[:, np.newaxis], self.noise_std**2
        bump = 0.5 * (distance - self.radii) ** 2 / variance
        bessel = np.log(i0e(distance * self.radii / variance))
        return np.asarray(bessel - bump - np.log(2.0 * np.pi * variance) + np.log(self.priors))

    def _draw(self, components: Labels, rng: np.random.Generator) -> Array:
        angles = rng.uniform(0.0, 2.0 * np.pi, len(components))
        circle = np.column_stack([np.cos(angles), np.sin(angles)])
        noise = self.noise_std * rng.standard_normal((len(components), 2))
        return np.asarray(self.radii[components, np.newaxis] * circle + noise)

    def _quadrature(self, coarser: int) -> Iterator[tuple[Array, Array]]:
        """Along one ray, each node with its circle of length 2πr: the law is invariant by rotation."""
        farthest = self.radii.max() + _RING_REACH * self.noise_std
        distances = np.linspace(0.0, farthest, LINE_NODES // coarser + 1)
        log_joint = self.log_joint(np.column_stack([distances, np.zeros_like(distances)]))
        yield log_joint, 2.0 * np.pi * distances[1] * distances * np.exp(log_joint).sum(axis=1)
