"""Convex clustering with unit weights and q = 1: each coordinate in closed form, by sorting."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression

from assay.cluster.convex.fusion import Gap


def sorted_centroids(rows: NDArray, mass: NDArray, penalty: float) -> NDArray:
    """Minimiser of ½ Σ s_i ‖x_i − μ_i‖² + λ Σ_{i<j} s_i s_j ‖μ_i − μ_j‖₁, in O(n log n) a coordinate.

    The centroids of a coordinate keep the order of its values, and where the order is kept the penalty is
    linear: sorted values move by λ times the weight above minus the weight below, and an isotonic regression
    pools those that would pass one another.
    """
    centroids = np.empty_like(rows)
    for column, values in enumerate(rows.T):
        order = np.argsort(values, kind="stable")
        moved = values[order] - penalty * _weight_below_less_above(mass[order])
        centroids[order, column] = isotonic_regression(moved, weights=mass[order]).x
    return centroids


def sorted_gap(rows: NDArray, mass: NDArray, penalty: float, centroids: NDArray) -> Gap:
    """Duality gap at any centroids, in O(n log n) a coordinate.

    A force g on the rows is a sum of feasible forces of pairs exactly when it sums to 0 and
    Σ_A g ≤ λ s(A) s(Aᶜ) for the sets A of largest g/s; the forces s (x − μ) are scaled down until it does.
    """
    primal = gap = 0.0
    total = mass.sum()
    for values, points in zip(rows.T, centroids.T, strict=True):
        order = np.argsort(points, kind="stable")
        terms = mass[order] * _weight_below_less_above(mass[order])
        penalised = penalty * float(terms @ (points[order] - points.mean()))
        pull = values - points
        pull = pull - mass @ pull / total
        order = np.argsort(-pull, kind="stable")
        sums, weights = np.cumsum(mass[order] * pull[order])[:-1], np.cumsum(mass[order])[:-1]
        room = penalty * weights * (total - weights)
        over = float(np.max(sums / np.maximum(room, 1e-300), initial=1.0))
        pull = pull / over
        primal += 0.5 * float(mass @ (values - points) ** 2) + penalised
        gap += max(penalised - float((mass * pull) @ (points - points.mean())), 0.0)
        gap += 0.5 * float(mass @ (points - values + pull) ** 2)
    return Gap(primal, gap)


def sorted_penalty_max(rows: NDArray, mass: NDArray) -> float:
    """Least penalty that fuses all rows: from it on, no set of the largest values can pull away.

    It is the largest Σ_A s (x − x̄) / (s(A) s(Aᶜ)) over features and over sets A of the largest values.
    """
    largest, total = 0.0, mass.sum()
    for values in rows.T:
        order = np.argsort(-values, kind="stable")
        centred = values[order] - mass @ values / total
        sums, weights = np.cumsum(mass[order] * centred)[:-1], np.cumsum(mass[order])[:-1]
        largest = max(largest, float(np.max(sums / (weights * (total - weights)), initial=0.0)))
    return largest


def equal_rows(centroids: NDArray) -> NDArray:
    """Number of the group of exactly equal rows that each row belongs to."""
    labels: NDArray = np.unique(centroids, axis=0, return_inverse=True)[1]
    return labels.ravel().astype(np.int64)


def _weight_below_less_above(mass: NDArray) -> NDArray:
    upto = np.cumsum(mass)
    result: NDArray = (upto - mass) - (upto[-1] - upto)
    return result
