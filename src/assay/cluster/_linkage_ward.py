"""Ward's distance between two clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def ward_distance(
    A: ArrayLike, B: ArrayLike, *, weight_a: ArrayLike | None = None, weight_b: ArrayLike | None = None
) -> float:
    """Increase of the within sum of squares when two clusters are joined.

    D(A, B) = I(A ∪ B) − I(A) − I(B) = |A||B| / (|A| + |B|) ‖m_A − m_B‖², I(C) the inertia of C about its mean
    m_C. SciPy's and scikit-learn's Ward height of that join is √(2 D).

    Parameters
    ----------
    A, B : arrays of shape (n_rows, n_features)
        The rows of the two clusters.
    weight_a, weight_b : arrays of shape (n_rows,), optional
        Weights of the rows; a weight of 2 means the row stands there twice.

    Examples
    --------
    >>> from assay.cluster import ward_distance
    >>> ward_distance([[0.0], [2.0]], [[4.0]])
    6.0

    References
    ----------
    Sangnier §2.3.1; Douc & Le Corff §8.7.
    """
    rows = [_matrix(A, "A"), _matrix(B, "B")]
    if rows[0].shape[1] != rows[1].shape[1]:
        raise ValueError(
            "ward_distance takes rows with as many features. "
            f"Got {rows[0].shape[1]} and {rows[1].shape[1]} instead."
        )
    weights = [_weights(weight_a, rows[0], "weight_a"), _weights(weight_b, rows[1], "weight_b")]
    shift = rows[0][0]
    means = [np.average(part - shift, axis=0, weights=w) for part, w in zip(rows, weights, strict=True)]
    a, b = weights[0].sum(), weights[1].sum()
    return float(a * b / (a + b) * ((means[0] - means[1]) ** 2).sum())


def _matrix(values: ArrayLike, name: str) -> NDArray:
    matrix = np.asarray(values, dtype=float)
    if matrix.ndim != 2 or matrix.shape[0] == 0 or not np.isfinite(matrix).all():
        raise ValueError(
            f"The {name!r} parameter of ward_distance must be a matrix of finite numbers, rows × features."
        )
    return matrix


def _weights(values: ArrayLike | None, rows: NDArray, name: str) -> NDArray:
    if values is None:
        return np.ones(len(rows))
    weights = np.asarray(values, dtype=float)
    if weights.shape != rows.shape[:1] or not (weights >= 0.0).all() or not 0.0 < weights.sum() < np.inf:
        raise ValueError(
            f"The {name!r} parameter of ward_distance must hold one number at least 0 a row, not all 0."
        )
    return weights
