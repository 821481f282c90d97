"""What one far point does to a rule made of moments, and to logistic regression."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from assay.optimize import logistic_objective, newton
from assay.parameters import real, refusal

Array = NDArray[np.float64]


class Sensitivity(NamedTuple):
    """Two linear rules for two classes as one added point moves away.

    Attributes
    ----------
    distances : array of shape (k,)
    moment_angle, logistic_angle : arrays of shape (k,)
        Angle in degrees between the direction of the rule with the point and without it.
    moment_error, logistic_error : arrays of shape (k,)
        Share of the other points that the rule with the point puts on the wrong side.
    logistic_weight : array of shape (k,)
        p(1 − p) of the added point, what it weighs in the logistic likelihood's curvature.
    """

    distances: Array
    moment_angle: Array
    logistic_angle: Array
    moment_error: Array
    logistic_error: Array
    logistic_weight: Array


def outlier_sensitivity(
    X: ArrayLike, y: ArrayLike, direction: ArrayLike, distances: ArrayLike, *, label: int = 1
) -> Sensitivity:
    """Add one point of a class at growing distances along a direction, and fit two rules each time.

    The first is the linear discriminant Σ̂⁻¹(μ̂₁ − μ̂₀) with pooled covariance, made of first and second
    moments, in which a point weighs the more the farther it is; the second is logistic regression, in which
    a point on its right side weighs p(1 − p), which vanishes with the distance.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
        Labels 0 and 1 that no hyperplane separates.
    direction : array-like of shape (d,)
        From the mean of all points.
    distances : array-like of non-negative numbers
    label : {0, 1}, default=1
        Class of the added point.

    References
    ----------
    Sangnier §1.2, on the choice between discriminant analysis and logistic regression.
    """
    table, labels = np.asarray(X, dtype=float), np.asarray(y)
    owner = "outlier_sensitivity"
    if table.ndim != 2 or labels.shape != table.shape[:1] or set(np.unique(labels)) != {0, 1}:
        raise refusal(owner, "y", "labels 0 and 1, one a row of a matrix X", labels.tolist())
    toward = np.asarray(direction, dtype=float)
    if toward.shape != table.shape[1:] or not np.linalg.norm(toward) > 0:
        raise refusal(owner, "direction", f"{table.shape[1]} numbers, not all zero", direction)
    grid = np.atleast_1d(np.asarray(distances, dtype=float))
    if not all(real(at_least=0).contains(float(value)) for value in grid):
        raise refusal(owner, "distances", "numbers at least 0", distances)
    if label not in (0, 1):
        raise refusal(owner, "label", "0 or 1", label)
    toward = toward / np.linalg.norm(toward)
    plain = _discriminant(table, labels), _logistic(table, labels)
    result = np.empty((5, grid.size))
    for index, distance in enumerate(grid):
        point = table.mean(axis=0) + distance * toward
        more, classes = np.vstack([table, point]), np.append(labels, label)
        for which, fit in enumerate((_discriminant, _logistic)):
            rule = fit(more, classes)
            result[which, index] = _angle(rule[:-1], plain[which][:-1])
            wrong = (table @ rule[:-1] + rule[-1] > 0) != (labels == 1)
            result[2 + which, index] = wrong.mean()
        chance = expit(point @ rule[:-1] + rule[-1])
        result[4, index] = chance * (1 - chance)
    return Sensitivity(grid, *result)


def _discriminant(X: Array, y: NDArray) -> Array:
    """Slope and intercept of the linear discriminant with pooled covariance."""
    zero, one = X[y == 0], X[y == 1]
    means = zero.mean(axis=0), one.mean(axis=0)
    scatter = sum((part - mean).T @ (part - mean) for part, mean in zip((zero, one), means, strict=True))
    slope = np.linalg.solve(scatter / len(X), means[1] - means[0])
    return np.append(slope, np.log(len(one) / len(zero)) - slope @ (means[0] + means[1]) / 2)


def _logistic(X: Array, y: NDArray) -> Array:
    """Slope and intercept of logistic regression."""
    table = np.column_stack([X, np.ones(len(X))])
    return newton(logistic_objective(table, y), np.zeros(table.shape[1]), tol=1e-12).point


def _angle(first: Array, second: Array) -> float:
    cosine = first @ second / (np.linalg.norm(first) * np.linalg.norm(second))
    return float(np.degrees(np.arccos(np.clip(cosine, -1.0, 1.0))))
