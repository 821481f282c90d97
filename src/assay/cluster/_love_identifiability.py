"""When the loadings of a structured factor model are determined by the covariance."""

from __future__ import annotations

from typing import Any

import numpy as np

from assay.certificates import Certificate, Certificates

SOURCE = "Wei §10.3.3; Bing, Bunea, Ning & Wegkamp (2020)"


def check_identifiability(loadings: Any, *, tol: float = 1e-10) -> Certificates:
    """Certificates that X = A Z + E determines A, up to signed permutation of the factors.

    Parameters
    ----------
    loadings : array of shape (n_variables, n_factors)
        A.
    tol : float, default=1e-10
        How far a loading may be from ±1 or 0 in a pure row.

    Returns
    -------
    certificates : Certificates
        Row sums Σ_a |A_ja| of at most 1, and two or more pure variables (one entry ±1, the others 0) for
        every factor. Both together are sufficient.

    Examples
    --------
    >>> from assay.cluster import check_identifiability
    >>> check_identifiability([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [0.5, -0.5]]).holds
    True
    >>> check_identifiability([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.5, -0.5]]).holds
    False
    """
    matrix = np.asarray(loadings, dtype=np.float64)
    if matrix.ndim != 2 or not matrix.size or not np.isfinite(matrix).all():
        raise ValueError(
            "The 'loadings' parameter of check_identifiability must be a finite matrix with a row for each "
            f"variable and a column for each factor. Got shape {matrix.shape} instead."
        )
    sizes = np.abs(matrix)
    largest = sizes.max(axis=1)
    pure = (np.abs(largest - 1.0) <= tol) & (sizes.sum(axis=1) - largest <= tol)
    counts = np.bincount(sizes[pure].argmax(axis=1), minlength=matrix.shape[1]) if pure.any() else np.zeros(1)
    assumptions = ("the covariance of the factors is positive definite", "errors are uncorrelated")
    return Certificates(
        [
            Certificate(
                "No variable loads by more than 1 in all.",
                "largest sum of absolute loadings",
                value=float(sizes.sum(axis=1).max()),
                relation="<=",
                bound=1.0,
                tolerance=max(tol, 1e-12),
                assumptions=assumptions,
                source=SOURCE,
            ),
            Certificate(
                "Every factor has at least two pure variables.",
                "fewest pure variables of a factor",
                value=float(counts.min()),
                relation=">=",
                bound=2.0,
                assumptions=assumptions,
                source=SOURCE,
            ),
        ]
    )
