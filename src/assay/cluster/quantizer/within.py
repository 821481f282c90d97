"""The within-cluster loss of any dissimilarity, and dissimilarities of rows of mixed types."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay import parameters
from assay.rows import check_weights


def within_dissimilarity(labels: ArrayLike, D: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
    """W = ½ Σ_k (1/n_k) Σ_{i,j ∈ C_k} D(x_i, x_j)², for any matrix of dissimilarities D.

    With Euclidean distances it is the k-means criterion, the inertia about the means: it needs no means, so
    that any dissimilarity has one. Rows of label −1 are in no cluster and count for nothing.

    Parameters
    ----------
    labels : array of shape (n_samples,)
        Cluster of each row.
    D : array of shape (n_samples, n_samples)
        The dissimilarities (not squared).
    sample_weight : array of shape (n_samples,), optional
        A weight of 2 means that the row counts twice.

    Examples
    --------
    >>> from assay.cluster import within_dissimilarity
    >>> within_dissimilarity([0, 0, 1], [[0.0, 2.0, 5.0], [2.0, 0.0, 3.0], [5.0, 3.0, 0.0]])
    2.0

    References
    ----------
    Wei §10.1.
    """
    clusters = np.asarray(labels)
    matrix = np.asarray(D, dtype=np.float64)
    n_rows = len(clusters)
    if clusters.ndim != 1 or matrix.shape != (n_rows, n_rows):
        raise ValueError(
            "The 'D' parameter of within_dissimilarity must be a square matrix, one row and one column per "
            f"label. Got shapes {matrix.shape} and {clusters.shape} instead."
        )
    if not np.isfinite(matrix).all() or matrix.min(initial=0.0) < 0.0:
        raise ValueError(
            "The 'D' parameter of within_dissimilarity must hold dissimilarities: finite numbers at least 0. "
            f"Got {matrix.min():g} as the least instead."
        )
    given = check_weights(sample_weight, n_rows, np.float64)
    weight = np.ones(n_rows) if given is None else given
    total = 0.0
    for label in np.unique(clusters[clusters != -1]):
        members = np.flatnonzero((clusters == label) & (weight > 0.0))
        if members.size:
            w = weight[members]
            total += 0.5 * float(w @ matrix[np.ix_(members, members)] ** 2 @ w) / float(w.sum())
    return total


def mixed_dissimilarity(
    X: Any, weights: ArrayLike | None = None, kinds: Sequence[str] | None = None
) -> NDArray:
    """D(x, z) = Σ_l w_l d_l(x_l, z_l): a weighted sum of the dissimilarities of the variables.

    A numeric variable has |x − z| over its range, an ordinal one the difference of ranks over their range, a
    categorical one 1{x ≠ z}; each is between 0 and 1 (Gower). A constant variable has 0 everywhere.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_features)
        The rows, of any types.
    weights : array of shape (n_features,), optional
        The w_l, at least 0; one over the number of variables by default.
    kinds : sequence of {"numeric", "ordinal", "categorical"}, optional
        What each variable is; those that hold numbers are numeric, others categorical by default.

    Returns
    -------
    D : array of shape (n_samples, n_samples)

    Examples
    --------
    >>> from assay.cluster import mixed_dissimilarity
    >>> mixed_dissimilarity([[0.0, "red"], [10.0, "red"], [5.0, "blue"]])
    array([[0.  , 0.5 , 0.75],
           [0.5 , 0.  , 0.75],
           [0.75, 0.75, 0.  ]])

    References
    ----------
    Wei §10.1. Gower (1971).
    """
    columns = _columns(X)
    names = [_guess(column) for column in columns] if kinds is None else list(kinds)
    if len(names) != len(columns) or any(name not in _DISSIMILARITIES for name in names):
        words = f"{len(columns)} of {', '.join(map(repr, _DISSIMILARITIES))}, one for each variable"
        raise parameters.refusal("mixed_dissimilarity", "kinds", words, kinds)
    scale = np.full(len(columns), 1.0 / len(columns)) if weights is None else np.asarray(weights, dtype=float)
    if scale.shape != (len(columns),) or not np.isfinite(scale).all() or scale.min() < 0.0:
        words = f"{len(columns)} finite numbers at least 0, one for each variable"
        raise parameters.refusal("mixed_dissimilarity", "weights", words, weights)
    total = np.zeros((len(columns[0]), len(columns[0])))
    for column, name, factor in zip(columns, names, scale, strict=True):
        total += factor * _DISSIMILARITIES[name](column)
    return total


def _columns(X: Any) -> list[NDArray]:
    """The variables of a table, each with its own type."""
    if hasattr(X, "columns"):
        table = [np.asarray(X[name]) for name in X.columns]
    else:
        array = np.asarray(X, dtype=object)
        if array.ndim != 2:
            words = f"It has {array.ndim} dimensions instead."
            raise ValueError(f"X must be two-dimensional, rows × variables. {words}")
        table = list(array.T)
    if not table or not len(table[0]):
        raise ValueError("X must have at least one row and one variable.")
    return table


def _guess(column: NDArray) -> str:
    numbers = (int, float, np.number)
    plain = all(isinstance(value, numbers) and not isinstance(value, bool) for value in column)
    return "numeric" if plain else "categorical"


def _numeric(column: NDArray) -> NDArray:
    try:
        values = column.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError("A numeric variable of mixed_dissimilarity must hold numbers.") from None
    if not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity; drop or fill those rows first.")
    reach = np.ptp(values)
    return np.abs(values[:, np.newaxis] - values) / (reach if reach > 0.0 else 1.0)


def _ordinal(column: NDArray) -> NDArray:
    return _numeric(np.unique(column, return_inverse=True)[1])


def _categorical(column: NDArray) -> NDArray:
    _, codes = np.unique(column.astype(str), return_inverse=True)
    return (codes[:, np.newaxis] != codes).astype(np.float64)


_DISSIMILARITIES: dict[str, Callable[[NDArray], NDArray]] = {
    "numeric": _numeric,
    "ordinal": _ordinal,
    "categorical": _categorical,
}
