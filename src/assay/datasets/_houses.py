"""House prices: a law with the shape of a well-known table."""

from __future__ import annotations

import numpy as np

from assay.datasets._linear_gaussian import LinearGaussian

HOUSE_FEATURES = (
    "crime",
    "large_lots",
    "industry",
    "river",
    "nitric_oxides",
    "rooms",
    "old_houses",
    "distance_to_work",
    "highways",
    "tax",
    "pupils_per_teacher",
    "noise",
    "poverty",
)
"""Names of the columns of `house_prices_law`."""

# How much each feature follows "centre of the city", "wealth" and "traffic".
_LOADINGS = np.array(
    [
        [0.5, -0.4, 0.5],
        [-0.7, 0.2, -0.1],
        [0.7, -0.3, 0.3],
        [0.1, 0.1, 0.0],
        [0.8, -0.2, 0.3],
        [-0.1, 0.8, 0.0],
        [0.8, -0.2, 0.1],
        [-0.9, 0.1, -0.1],
        [0.4, -0.2, 0.8],
        [0.4, -0.3, 0.8],
        [0.1, -0.4, 0.3],
        [0.4, -0.1, 0.5],
        [0.3, -0.8, 0.2],
    ]
)
_COEF = np.array([-0.9, 1.1, 0.1, 0.7, -2.0, 2.7, 0.0, -3.1, 2.6, -2.1, -2.0, -0.8, -3.7])


def house_prices_law() -> LinearGaussian:
    """A stand-in for the table of Boston house prices: 13 correlated features, price in thousands.

    The original table has a variable that was made to measure people by their origin, and was withdrawn from
    common libraries; it is not shipped here. This law has its shape: `sample(506)` gives 13 columns of unit
    variance that follow three hidden factors, and prices around 22.5 with about three quarters of their
    variance explained. A file of one's own goes the way of any table: `assay compare houses.csv`.

    Examples
    --------
    >>> from assay.datasets import house_prices_law
    >>> X, y = house_prices_law().sample(506, random_state=0)
    >>> X.shape, bool(20 < y.mean() < 25)
    ((506, 13), True)

    References
    ----------
    Peyré, linear models, numerical tour on house prices.
    """
    shared = _LOADINGS @ _LOADINGS.T
    own = np.maximum(1.05 - np.diagonal(shared), 0.05)
    covariance = shared + np.diag(own)
    scale = np.sqrt(np.diagonal(covariance))
    covariance = covariance / np.outer(scale, scale)
    return LinearGaussian(_COEF, intercept=22.5, noise_std=4.7, covariance=covariance)
