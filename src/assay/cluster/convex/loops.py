"""Hot loops of convex clustering: accelerated projected gradient on the dual, edge by edge."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner

TWO, ONE, INFINITY = 0, 1, 2
"""Codes of the norm q of the differences of centroids."""


class FusionEdges(NamedTuple):
    """Rows with their masses, and the edges (pairs of rows) that draw them together, with their penalties."""

    rows: NDArray
    mass: NDArray
    edges: NDArray
    radii: NDArray


@inner
def norm_of(values, code):  # type: ignore[no-untyped-def]
    """The norm q of a vector."""
    total = 0.0
    if code == TWO:
        for value in values:
            total += value * value
        return np.sqrt(total)
    if code == ONE:
        for value in values:
            total += abs(value)
        return total
    for value in values:
        total = max(total, abs(value))
    return total


@inner
def dual_norm_of(values, code):  # type: ignore[no-untyped-def]
    """The norm dual to q: 2 to 2, the largest entry to q = 1, the sum to q = ∞."""
    if code == TWO:
        return norm_of(values, TWO)
    return norm_of(values, INFINITY if code == ONE else ONE)


@compiled
def project_on_ball(values, radius, code):  # type: ignore[no-untyped-def]
    """Move a vector, in place, to the nearest point of the ball of the norm dual to q."""
    size = dual_norm_of(values, code)
    if size <= radius:
        return
    if code == TWO or radius <= 0.0:
        factor = max(radius, 0.0) / size
        for j in range(values.size):
            values[j] *= factor
    elif code == ONE:
        for j in range(values.size):
            values[j] = min(max(values[j], -radius), radius)
    else:
        # Michelot's iteration: the threshold over the entries still above it, until none leaves.
        threshold, count = (size - radius) / values.size, values.size
        while True:
            total, kept = 0.0, 0
            for value in values:
                if abs(value) > threshold:
                    total += abs(value)
                    kept += 1
            if kept == 0:
                break
            threshold = (total - radius) / kept
            if kept == count:
                break
            count = kept
        for j in range(values.size):
            shrunk = max(abs(values[j]) - threshold, 0.0)
            values[j] = shrunk if values[j] > 0.0 else -shrunk


@compiled
def gather(edges, dual, forces):  # type: ignore[no-untyped-def]
    """Net force on every node: Σ of the dual vectors of its edges, with the sign of its end."""
    for node in range(len(forces)):
        for j in range(forces.shape[1]):
            forces[node, j] = 0.0
    for edge in range(len(edges)):
        first, second = edges[edge, 0], edges[edge, 1]
        for j in range(dual.shape[1]):
            forces[first, j] += dual[edge, j]
            forces[second, j] -= dual[edge, j]


@compiled
def ascend(problem, steps, dual, ahead, centroids, momentum, n_steps, code):  # type: ignore[no-untyped-def]
    """Accelerated projected-gradient steps on the dual, restarted when the momentum points downhill.

    `dual` and `ahead` (the extrapolated point) are updated in place, `centroids` is room to work in; returns
    the momentum reached. `problem` is a `FusionEdges`.
    """
    rows, mass, edges, radii = problem
    n_features = rows.shape[1]
    new = np.empty(n_features)
    for _ in range(n_steps):
        gather(edges, ahead, centroids)
        for node in range(len(rows)):
            for j in range(n_features):
                centroids[node, j] = rows[node, j] - centroids[node, j] / mass[node]
        following = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum * momentum))
        push = (momentum - 1.0) / following
        descent = 0.0
        for edge in range(len(edges)):
            first, second = edges[edge, 0], edges[edge, 1]
            step, radius = steps[edge], radii[edge]
            square = 0.0
            for j in range(n_features):
                value = ahead[edge, j] + step * (centroids[first, j] - centroids[second, j])
                new[j] = value
                square += value * value
            # For q = 2 the projection is one factor, taken in the pass that stores the result.
            factor = 1.0
            if code != TWO:
                project_on_ball(new, radius, code)
            elif square > radius * radius:
                factor = radius / np.sqrt(square)
            part = 0.0
            for j in range(n_features):
                value = factor * new[j]
                change = value - dual[edge, j]
                part += (ahead[edge, j] - value) * change
                ahead[edge, j] = value + push * change
                dual[edge, j] = value
            descent += part / step
        if descent > 0.0:
            following = 1.0
            for edge in range(len(edges)):
                for j in range(n_features):
                    ahead[edge, j] = dual[edge, j]
        momentum = following
    return momentum


@compiled
def edge_terms(centroids, edges, radii, dual, code):  # type: ignore[no-untyped-def]
    """Σ r‖μ_a − μ_b‖ and Σ (r‖μ_a − μ_b‖ − ν·(μ_a − μ_b)), whose terms are never negative for feasible ν."""
    n_features = centroids.shape[1]
    difference = np.empty(n_features)
    penalty, slack = 0.0, 0.0
    for edge in range(len(edges)):
        first, second = edges[edge, 0], edges[edge, 1]
        inner = 0.0
        for j in range(n_features):
            difference[j] = centroids[first, j] - centroids[second, j]
            inner += dual[edge, j] * difference[j]
        size = radii[edge] * norm_of(difference, code)
        penalty += size
        slack += max(size - inner, 0.0)
    return penalty, slack


@compiled
def inside_balls(radii, dual, room, code, inside):  # type: ignore[no-untyped-def]
    """Mark the edges whose dual vector is strictly inside its ball: the ends are fused."""
    for edge in range(len(radii)):
        inside[edge] = dual_norm_of(dual[edge], code) < radii[edge] * (1.0 - room)


@compiled
def make_feasible(radii, dual, code):  # type: ignore[no-untyped-def]
    """Project every dual vector onto its ball, in place."""
    for edge in range(len(radii)):
        project_on_ball(dual[edge], radii[edge], code)
