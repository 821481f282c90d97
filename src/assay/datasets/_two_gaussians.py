"""Two Gaussian classes whose overlap is governed by one number."""

from __future__ import annotations

import numpy as np

from assay.datasets._gaussian_classes import GaussianClasses
from assay.datasets._requirements import integer_between, number_at_least


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
