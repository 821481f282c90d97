"""Gaussian classes and clusters: densities, draws, quadrature and the closed form of the Bayes risk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from assay.datasets import requirements as checked
from assay.datasets.laws import LINE_NODES, PLANE_NODES, ClassificationLaw, default_classes
from assay.datasets.requirements import Array, Labels, of_shape, refuse
from assay.randomness import RandomState, generator

# The Gaussian mass farther than this many standard deviations is below 1e-15.
_REACH = 8.0


@dataclass(frozen=True, eq=False, init=False)
class GaussianComponents(ClassificationLaw):
    """A law P(Y = k) = π_k, X | Y = k ~ N(μ_k, C_k)."""

    means: Array = field(init=False, repr=False)
    covariances: Array
    _factors: Array = field(init=False, repr=False)

    def log_joint(self, X: ArrayLike) -> Array:
        """Give log π_k + log p_k(x), one row per point and one column per class."""
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
        return float(self.priors @ two_class_errors(float(np.linalg.norm(step)), self.priors))


def two_class_errors(separation: float, priors: Array) -> Array:
    """P(wrong | Y = k) of the Bayes rule of two Gaussian classes of one covariance.

    Φ(−δ/2 + c/δ) and Φ(−δ/2 − c/δ) with c = log(π₁/π₀); at distance 0, or where a class never occurs, the
    rule always gives the more probable class.

    Parameters
    ----------
    separation : float
        Mahalanobis distance δ of the means.
    priors : array of shape (2,)

    References
    ----------
    Douc & Le Corff §8.4.
    """
    if separation == 0.0 or not np.all(priors > 0):
        return np.array([1.0, 0.0]) if priors[1] > priors[0] else np.array([0.0, 1.0])
    shift = float(np.log(priors[1] / priors[0])) / separation
    return np.asarray(ndtr(np.array([-separation / 2.0 + shift, -separation / 2.0 - shift])))


@dataclass(frozen=True, eq=False, init=False)
class GaussianClasses(GaussianComponents):
    """Classes with Gaussian features.

        P(Y = k) = π_k,        X | Y = k ~ N(μ_k, C_k).

    With equal covariances the Bayes rule is linear, otherwise quadratic. The Bayes risk of two classes of
    equal covariance is the closed form π₀ Φ(−δ/2 + c/δ) + π₁ Φ(−δ/2 − c/δ), where δ is the Mahalanobis
    distance of the means and c = log(π₁/π₀); otherwise it is a quadrature in dimension 1 or 2 and Monte
    Carlo above.

    Parameters
    ----------
    means : array-like of shape (n_classes, n_features)
        The means μ_k, at least two.
    covariances : array-like of shape (n_features, n_features) or (n_classes, n_features, n_features), \
default=None
        One covariance shared by the classes or one for each; None for the identity.
    priors : array-like of shape (n_classes,), default=None
        The probabilities π_k, positive with sum 1; None for equal ones.
    classes : array-like of shape (n_classes,), default=None
        Labels of the classes; None for −1, +1 when there are two and 0, …, n_classes − 1 otherwise.

    Examples
    --------
    >>> from assay.datasets import GaussianClasses
    >>> law = GaussianClasses([[-1.0, 0.0], [1.0, 0.0]])
    >>> law.bayes_rule([[2.0, 1.0], [-2.0, 1.0], [0.0, 0.0]])
    array([ 1, -1, -1])
    >>> round(law.bayes_risk().value, 4)        # Φ(−1)
    0.1587
    >>> law.bayes_risk().exact
    True
    """

    means: Array

    def __init__(
        self,
        means: ArrayLike,
        covariances: ArrayLike | None = None,
        priors: ArrayLike | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        name = self._name
        centers = checked.finite_array(name, "means", means, 2)
        n_classes, n_features = centers.shape
        if n_classes < 2:
            refuse(name, "means", "at least two rows, one per class", f"{n_classes} row")
        covariances = np.eye(n_features) if covariances is None else covariances
        stack = checked.covariance_stack(name, "covariances", covariances, n_classes, n_features)
        labels = default_classes(n_classes) if classes is None else np.array(classes)
        if labels.shape != (n_classes,) or len(np.unique(labels)) != n_classes:
            refuse(name, "classes", f"{n_classes} different labels", labels)
        labels.flags.writeable = False
        shares = checked.probabilities(name, "priors", priors, n_classes)
        self._set(n_features=n_features, means=centers, priors=shares, classes=labels)
        self._set(covariances=stack, _factors=np.linalg.cholesky(stack))


def two_gaussians_law(n_features: int = 2, omega: float = 2.0) -> GaussianClasses:
    """Two Gaussian classes −1 and +1 of unit covariance, their means at distance ω.

        X | Y = ±1 ~ N(±(ω/2) u, I),        u = (1, …, 1)/√p,

    so that the log-odds are exactly ω uᵀx, the best hyperplane has ‖w‖ = ω, and the Bayes risk is Φ(−ω/2)
    whatever the number p of features: a small ω mixes the classes, ω = 6 nearly parts them.

    Parameters
    ----------
    n_features : int, default=2
        p.
    omega : float, default=2.0
        The offset ω of the means, above 0.

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> X, y = two_gaussians_law(omega=3.0).sample(100, random_state=0)
    >>> round(two_gaussians_law(5, 2.0).bayes_risk().value, 4)        # Φ(−1)
    0.1587

    References
    ----------
    Peyré, two-class logistic classification.
    """
    n_features = checked.integer_between("two_gaussians_law", "n_features", n_features, 1)
    omega = checked.number_at_least("two_gaussians_law", "omega", omega, 0, strictly=True)
    half = np.full(n_features, omega / (2 * np.sqrt(n_features)))
    return GaussianClasses([-half, half])


@dataclass(frozen=True, eq=False, init=False)
class Blobs(GaussianComponents):
    """Gaussian clusters.

        P(Y = k) = w_k,        X | Y = k ~ N(c_k, C_k),        C_k = s_k² I unless given.

    Y is the true cluster, 0, …, n_clusters − 1. The Bayes risk is the share of rows that the best
    assignment, knowing the law, gives to a wrong cluster.

    Parameters
    ----------
    n_clusters : int, default=None
        Number of clusters; None for 3, or for the number of `centers`.
    n_features : int, default=None
        Number of features; None for 2, or for that of `centers`.
    centers : array-like of shape (n_clusters, n_features), default=None
        The centres c_k; None draws them uniformly in the cube `center_box`.
    cluster_std : float or array-like of shape (n_clusters,), default=None
        Standard deviation s_k of round clusters; None for 1. Not with `covariances`.
    covariances : array-like of shape (n_features, n_features) or (n_clusters, n_features, n_features), \
default=None
        Covariances C_k of elongated clusters, one shared or one for each.
    weights : array-like of shape (n_clusters,), default=None
        The probabilities w_k, positive with sum 1; None for equal ones.
    center_box : tuple of two floats, default=(-10.0, 10.0)
        Ends of the side of the cube in which centres are drawn.
    random_state : None, int, Generator, SeedSequence or RandomState, default=None
        Where the centres come from when they are drawn.

    Examples
    --------
    >>> from assay.datasets import Blobs
    >>> law = Blobs(centers=[[0.0, 0.0], [6.0, 0.0]], covariances=[[1.0, 0.8], [0.8, 1.0]])
    >>> X, y = law.sample(200, random_state=0)
    >>> float((law.bayes_rule(X) == y).mean())
    1.0
    >>> Blobs(4, 3, random_state=0).true_centers.shape
    (4, 3)
    """

    classes: Labels = field(init=False, repr=False)
    priors: Array = field(init=False, repr=False)
    centers: Array
    weights: Array

    def __init__(
        self,
        n_clusters: int | None = None,
        n_features: int | None = None,
        *,
        centers: ArrayLike | None = None,
        cluster_std: ArrayLike | None = None,
        covariances: ArrayLike | None = None,
        weights: ArrayLike | None = None,
        center_box: tuple[float, float] = (-10.0, 10.0),
        random_state: RandomState = None,
    ) -> None:
        name = self._name
        if centers is None:
            asked = (("n_clusters", n_clusters, 3), ("n_features", n_features, 2))
            sizes = ((key, usual if size is None else size) for key, size, usual in asked)
            shape = [checked.integer_between(name, *size, 1) for size in sizes]
            low, high = of_shape(name, "center_box", center_box, (2,))
            if low >= high:
                refuse(name, "center_box", "two increasing numbers", center_box)
            points = checked.read_only(generator(random_state).uniform(low, high, shape))
        else:
            points = checked.finite_array(name, "centers", centers, 2)
            for axis, (label, count) in enumerate([("n_clusters", n_clusters), ("n_features", n_features)]):
                if count not in (None, points.shape[axis]):
                    refuse(name, label, f"that of 'centers' ({points.shape[axis]})", count)
        if covariances is not None and cluster_std is not None:
            refuse(name, "cluster_std", "None when 'covariances' is given", cluster_std)
        if covariances is None:
            covariances = _round_covariances(name, 1.0 if cluster_std is None else cluster_std, *points.shape)
        stack = checked.covariance_stack(name, "covariances", covariances, *points.shape)
        shares = checked.probabilities(name, "weights", weights, len(points))
        self._set(n_features=points.shape[1], means=points, centers=points, classes=np.arange(len(points)))
        self._set(priors=shares, weights=shares, covariances=stack, _factors=np.linalg.cholesky(stack))

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centers)

    @property
    def true_centers(self) -> Array:
        """The centres c_k, one per row."""
        return self.centers


def _round_covariances(owner: str, cluster_std: ArrayLike, n_clusters: int, n_features: int) -> Array:
    if np.ndim(cluster_std) == 0:
        checked.number_at_least(owner, "cluster_std", cluster_std, 0, strictly=True)
        cluster_std = np.full(n_clusters, cluster_std)
    deviations = of_shape(owner, "cluster_std", cluster_std, (n_clusters,))
    if np.any(deviations <= 0.0):
        refuse(owner, "cluster_std", "greater than 0", deviations)
    stack: Array = deviations[:, np.newaxis, np.newaxis] ** 2 * np.eye(n_features)
    return stack
