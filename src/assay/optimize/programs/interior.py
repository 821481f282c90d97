"""An interior-point method for smooth convex constraints: Newton steps along the central path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import linalg

from assay.optimize.descent.objective import Smooth
from assay.parameters import refusal
from assay.penalties import Quadratic
from assay.solvers.least_squares.direct import Array

Enough: TypeAlias = "Callable[[Array], bool]"

GROWTH = 20.0
"""Factor between two barrier weights."""

FARTHEST = 1e12
"""A point with a larger coordinate is on its way to infinity."""


class InteriorSolution(NamedTuple):
    """Result of `interior_point`."""

    point: Array
    multipliers: Array
    equality_multipliers: Array
    n_iter: int
    converged: bool


def interior_point(
    objective: Smooth,
    inequalities: Sequence[Smooth],
    matrix: Array,
    start: Array,
    *,
    tol: float,
    max_iter: int,
    enough: Enough = lambda x: False,
) -> InteriorSolution:
    """Minimise t f − Σ log(−gᵢ) on Ax = b by Newton's method for rising t; the multipliers are −1/(t gᵢ).

    The start is strictly inside the inequalities and on Ax = b. At the minimiser for a weight t the point and
    its multipliers are feasible and m/t apart, so the path ends when m/t ≤ tol max(1, |f|), or as soon as a
    point is `enough`. `max_iter` bounds the Newton steps for one weight.
    """
    if any(f.hessian is None for f in (objective, *inequalities)):
        raise refusal("interior_point", "objective", "a function with a hessian, as the constraints", None)
    x, m = np.array(start, dtype=float), len(inequalities)
    weight = m / max(1.0, abs(float(objective.value(x)))) if m else 1.0
    # Steps in the null space of A keep Ax = b to the last digit, and a repeated equality does no harm.
    free = linalg.null_space(matrix) if len(matrix) else np.eye(len(x))
    n_iter = 0
    while True:
        barrier = _Barrier(objective, inequalities, weight)
        x, steps, centred = _centre(barrier, free, x, max_iter, enough)
        n_iter += steps
        mu, nu = _multipliers(barrier, matrix, x)
        finished = m <= weight * tol * max(1.0, abs(float(objective.value(x))))
        if enough(x) or finished or not centred:
            return InteriorSolution(x, mu, nu, n_iter, bool(enough(x)) or centred)
        weight *= GROWTH


def equality_quadratic(objective: Quadratic, A: Any, b: Any) -> tuple[Array, Array]:
    """Minimise ½xᵀPx + aᵀx subject to Ax = b by its linear system: Px + a + Aᵀν = 0, Ax = b.

    References
    ----------
    Rudi & Şimşekli §3.1.4.
    """
    matrix, target = np.atleast_2d(np.asarray(A, dtype=float)), np.atleast_1d(np.asarray(b, dtype=float))
    d, m = len(objective.linear), len(target)
    if matrix.shape != (m, d):
        raise refusal("equality_quadratic", "A", f"a matrix of shape {(m, d)}", matrix.shape)
    curved = np.zeros((d, d)) if objective.matrix is None else objective.matrix
    system = np.block([[curved, matrix.T], [matrix, np.zeros((m, m))]])
    side = np.concatenate([-objective.linear, target])
    solution = np.linalg.lstsq(system, side, rcond=None)[0]
    if np.linalg.norm(system @ solution - side) > 1e-8 * max(1.0, float(np.linalg.norm(side))):
        raise refusal("equality_quadratic", "objective", "bounded below on a non-empty set Ax = b", objective)
    return solution[:d], solution[d:]


class _Barrier(NamedTuple):
    """t f − Σ log(−gᵢ), infinite outside the inequalities."""

    objective: Smooth
    inequalities: Sequence[Smooth]
    weight: float

    def constraints(self, x: Array) -> Array:
        return np.array([float(f.value(x)) for f in self.inequalities])

    def value(self, x: Array) -> float:
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            values, height = self.constraints(x), float(self.objective.value(x))
        if not np.all(values < 0) or not np.isfinite(height):
            return np.inf
        return self.weight * height - float(np.sum(np.log(-values)))

    def derivatives(self, x: Array) -> tuple[Array, Array]:
        assert self.objective.hessian is not None
        gradient = self.weight * np.asarray(self.objective.gradient(x), dtype=float)
        curvature = self.weight * np.asarray(self.objective.hessian(x), dtype=float)
        for f in self.inequalities:
            assert f.hessian is not None
            inverse, slope = -1 / float(f.value(x)), np.asarray(f.gradient(x), dtype=float)
            gradient = gradient + inverse * slope
            curvature = curvature + inverse * f.hessian(x) + np.outer(inverse * slope, inverse * slope)
        return gradient, curvature


def _centre(barrier: _Barrier, free: Array, x: Array, most: int, enough: Enough) -> tuple[Array, int, bool]:
    """The minimiser of the barrier, the Newton steps taken, and whether it was reached."""
    if free.shape[1] == 0:
        return x, 0, True
    height = barrier.value(x)
    for iteration in range(most):
        gradient, curvature = barrier.derivatives(x)
        reduced = free.T @ curvature @ free
        # A direction in which neither the objective nor a barrier bends is given a little curvature.
        little = 1e-13 * max(float(np.abs(np.diagonal(reduced)).max()), 1e-300)
        reduced = reduced + little * np.eye(len(reduced))
        direction = -free @ np.linalg.lstsq(reduced, free.T @ gradient, rcond=None)[0]
        # A problem without a minimum sends the step to infinity, where every digit is lost.
        longest = 10 * (1 + float(np.linalg.norm(x)))
        direction = direction * min(1.0, longest / max(float(np.linalg.norm(direction)), 1e-300))
        decrement = -float(gradient @ direction)
        if decrement / 2 <= 1e-9 or enough(x):  # the last step squares what is left
            last = np.isfinite(barrier.value(x + direction)) and not enough(x)
            return x + direction if last else x, iteration + 1, True
        room = 1e-14 * max(abs(height), abs(barrier.weight * float(barrier.objective.value(x))))
        share = 1.0
        while barrier.value(x + share * direction) > height - 0.1 * share * decrement + room:
            share /= 2
            if share <= 1e-16:  # what is left to gain is below the rounding of the barrier
                return x, iteration, decrement <= 1e-4
        x = x + share * direction
        height = barrier.value(x)
        if float(np.abs(x).max()) > FARTHEST:
            return x, iteration, False
    return x, most, False


def _multipliers(barrier: _Barrier, matrix: Array, x: Array) -> tuple[Array, Array]:
    """The μ of the tight inequalities and the ν that bring the gradient of the Lagrangian nearest to zero.

    A g of 1e-10 has lost most of its digits, and −1/(t g) with it; the gradients have not.
    """
    mu, slope = -1 / (barrier.weight * barrier.constraints(x)), barrier.objective.gradient(x)
    jacobian = np.array([f.gradient(x) for f in barrier.inequalities]).reshape(len(mu), len(x))
    tight = mu > 1e-6 * np.max(mu, initial=0.0)
    for free in (tight, np.zeros(len(mu), dtype=bool)):
        system = np.vstack([jacobian[free], matrix]).T
        side = -(slope + jacobian[~free].T @ mu[~free])
        solution = np.linalg.lstsq(system, side, rcond=None)[0] if system.size else np.zeros(0)
        refined, nu = mu.copy(), solution[int(free.sum()) :]
        refined[free] = solution[: int(free.sum())]
        if np.all(np.abs(refined - mu) <= 1e-2 * mu):
            break
    return refined, nu
