"""Gaussian classes: the law behind linear and quadratic discriminant analysis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from assay.datasets._classification_law import default_classes
from assay.datasets._gaussian_components import GaussianComponents
from assay.datasets._requirements import (
    Array,
    covariance_stack,
    finite_array,
    integer_between,
    number_at_least,
    probabilities,
    refuse,
)


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
        centers = finite_array(name, "means", means, 2)
        n_classes, n_features = centers.shape
        if n_classes < 2:
            refuse(name, "means", "at least two rows, one a class", f"{n_classes} row")
        stack = covariance_stack(
            name,
            "covariances",
            np.eye(n_features) if covariances is None else covariances,
            n_classes,
            n_features,
        )
        labels = default_classes(n_classes) if classes is None else np.array(classes)
        if labels.shape != (n_classes,) or len(np.unique(labels)) != n_classes:
            refuse(name, "classes", f"{n_classes} different labels", labels)
        labels.flags.writeable = False
        self._set(
            n_features=n_features,
            means=centers,
            covariances=stack,
            priors=probabilities(name, "priors", priors, n_classes),
            classes=labels,
            _factors=np.linalg.cholesky(stack),
        )


# Two Gaussian classes whose overlap is governed by one number.


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
    n_features = integer_between("two_gaussians_law", "n_features", n_features, 1)
    omega = number_at_least("two_gaussians_law", "omega", omega, 0, strictly=True)
    half = np.full(n_features, omega / (2 * np.sqrt(n_features)))
    return GaussianClasses([-half, half])
