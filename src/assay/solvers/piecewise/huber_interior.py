"""Interior point for Huber regression with its scale, for scales near zero.

Minimises ½θᵀPθ + Σ s (σ + σ H(r/σ)), r = y − Aθ. Its dual is Σ νy − ½(Aᵀν)ᵀP⁻¹(Aᵀν) over |ν| ≤ u = 2εs inside
the ball Σ ν²/(4s) ≤ Σ s, of which σ is the multiplier: the optimality conditions are Pθ = Aᵀν,
r = p − q + σν/(2s), p ⟂ u − ν, q ⟂ u + ν and σ ⟂ t, the room left in the ball. Newton steps on them need one
matrix of the size of (θ, σ) each. A given σ is a constant, and there is no ball.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, design, gram, pulled, row_targets, scores

LIFT = 1e-13
"""Curvature that is added to every coordinate of the scaled matrix: columns may repeat each other."""


class HuberPoint(NamedTuple):
    """θ and σ, and for each row ν, p, q and the residual; or how they change."""

    theta: Array
    sigma: float
    nu: Array
    p: Array
    q: Array
    residual: Array

    def after(self, move: HuberPoint, step: float) -> HuberPoint:
        """The point after a step along a move."""
        theta, sigma = self.theta + step * move.theta, self.sigma + step * move.sigma
        nu, p, q = self.nu + step * move.nu, self.p + step * move.p, self.q + step * move.q
        return HuberPoint(theta, sigma, nu, p, q, self.residual + step * move.residual)


class HuberDual(NamedTuple):
    """Result of `huber_interior`; `gap` is relative to the objective."""

    point: Array
    scale: float
    dual: Array
    n_iter: int
    gap: float
    values: list[float]


class Sides(NamedTuple):
    """What does not change: weights (1 for rows that weigh nothing), bounds u, which rows count, P."""

    weight: Array
    bound: Array
    alive: Array
    penalty: Array
    epsilon: float

    @property
    def total(self) -> float:
        """Σ s."""
        return float(self.weight @ self.alive)

    def room(self, nu: Array) -> float:
        """t, what Σ ν²/(4s) leaves of Σ s."""
        return self.total - float(np.sum(self.alive * nu**2 / (4 * self.weight)))

    def objective(self, theta: Array, sigma: float, residual: Array) -> float:
        """The objective; its limit at σ = 0."""
        size = np.abs(residual)
        near = size <= self.epsilon * sigma
        charge = 2 * self.epsilon * size - self.epsilon**2 * sigma
        if sigma > 0:
            charge = np.where(near, size * (size / sigma), charge)
        return float((self.alive * self.weight) @ (sigma + charge) + self.penalty @ theta**2 / 2)

    def gap(self, at: HuberPoint, pull: Array, *, free: bool) -> float:
        """Objective less dual objective at the point; Aᵀν where there is no penalty counts in full."""
        primal = self.objective(at.theta, at.sigma, at.residual) - float(self.penalty @ at.theta**2) / 2
        total = primal - float((self.alive * at.nu) @ at.residual)
        if not free:
            total -= at.sigma * self.room(at.nu)
        left, held = self.penalty * at.theta - pull, self.penalty > 0
        total += float(np.sum(left[held] ** 2 / self.penalty[held])) / 2
        return abs(total) + abs(float(left[~held] @ at.theta[~held]))


def begin_step(block: Block, frame: Frame, theta: Array, weight: Array, residual: Array) -> float:
    """Write weights and residuals of one block."""
    weight[:] = block.weights
    residual[:] = row_targets(block) - scores(block, frame, theta)
    return 0.0


def gram_step(block: Block, frame: Frame, inverse: Array, columns: Array) -> tuple[Array, Array]:
    """AᵀWA of one block, and Aᵀ of each column."""
    return gram(design(block, frame, np.sqrt(inverse)), frame), pull_step(block, frame, columns)


def pull_step(block: Block, frame: Frame, columns: Array) -> Array:
    """Aᵀ of each column of one block."""
    return np.stack([pulled(block, frame, column) for column in columns.T])


def score_step(block: Block, frame: Frame, direction: Array, out: Array) -> float:
    """Write Aθ of one block."""
    out[:] = scores(block, frame, direction)
    return 0.0


def huber_interior(
    data: Rows,
    frame: Frame,
    penalty: Array,
    start: Array,
    sigma: float,
    *,
    epsilon: float,
    free: bool,
    tol: float,
    max_iter: int,
    report: Callable[[Array, float], bool] = lambda point, scale: False,
) -> HuberDual:
    """Minimise over θ and, with `free`, σ, until the gap is `tol` times the objective or stops to fall.

    The rows are in this process (`local`). `penalty` is the diagonal of P. The start needs to be of the right
    size only; `report` is told θ and σ after each step, and true asks to stop.
    """
    weight, residual = np.zeros((2, data.shape[0]))
    data.reduce(begin_step, frame, start, rowwise=(weight, residual))
    alive = weight > 0
    weight = np.where(alive, weight, 1.0)
    sides = Sides(weight, 2 * epsilon * weight, alive.astype(np.float64), penalty, epsilon)
    p = np.maximum(residual, 0) + sigma
    at = HuberPoint(start, sigma, np.zeros_like(p), p, p - residual, residual)
    pull, values, best, iteration = np.zeros_like(start), [sides.objective(start, sigma, residual)], np.inf, 0
    kept, waited = at, 0
    # Every iterate is strictly inside: p, q, σ, t > 0 and |ν| < u, so that all of them may be divided by.
    while iteration < max_iter and waited < 4:
        iteration += 1
        move, after = _newton(data, frame, sides, at, free=free)
        length = _longest(sides, at, move, free=free)
        at = at.after(move, length)
        pull = pull + length * (after - pull)
        values.append(sides.objective(at.theta, at.sigma, at.residual))
        unit = max(values[-1], np.finfo(float).tiny)
        gap = sides.gap(at, pull, free=free) / unit
        if not gap < np.inf:
            break
        waited = 0 if gap < 0.9 * best or gap > 1e-6 else waited + 1
        if gap < best:
            kept, best = at, gap
        if report(at.theta, at.sigma) or gap <= tol or length < 1e-10:
            break
    return HuberDual(kept.theta, kept.sigma, kept.nu * sides.alive, iteration, best, values)


def _newton(
    data: Rows, frame: Frame, sides: Sides, at: HuberPoint, *, free: bool
) -> tuple[HuberPoint, Array]:
    """Predictor and corrector (Mehrotra): how a full step changes the point, and Aᵀν after it."""
    above, under, bend = sides.bound - at.nu, sides.bound + at.nu, at.nu / (2 * sides.weight)
    inverse = sides.alive / (at.p / above + at.q / under + at.sigma / (2 * sides.weight))
    room, k = sides.room(at.nu), len(at.theta)
    matrix = np.zeros((k + free, k + free))
    columns = np.column_stack([inverse * bend, at.nu * sides.alive])
    matrix[:k, :k], (border, pull) = data.reduce(gram_step, frame, rowwise=(inverse, columns))
    matrix[np.arange(k), np.arange(k)] += sides.penalty
    if free:
        matrix[k, :k] = matrix[:k, k] = border
        matrix[k, k] = room / at.sigma + float((inverse * bend) @ bend)
    solve = _factor(matrix)
    beta, missing = 2 * sides.bound, at.residual - at.p + at.q - at.sigma * bend * sides.alive

    def change(mu: float, guess: HuberPoint | None) -> HuberPoint:
        # The products of first moves that the linear equations leave out are those of the predictor.
        d_nu, d_p, d_q, d_sigma = (guess.nu, guess.p, guess.q, guess.sigma) if guess else (0.0,) * 4
        push = (mu * beta + d_p * d_nu) / above - at.p
        drag = (mu * beta - d_q * d_nu) / under - at.q
        wanted = missing - push + drag - d_sigma * d_nu / (2 * sides.weight)
        right = np.zeros(k + free)
        right[:k] = data.reduce(pull_step, frame, rowwise=((inverse * wanted)[:, None],))[0]
        right[:k] += pull - sides.penalty * at.theta
        if free:
            curved = float(np.sum(sides.alive * d_nu**2 / (4 * sides.weight)))
            d_room = -float(np.sum(sides.alive * bend * d_nu))
            target = (mu * sides.total - d_sigma * d_room) / at.sigma - room
            right[k] = target + curved + float((inverse * bend) @ wanted)
        step = solve(right)
        along = np.zeros_like(at.nu)
        data.reduce(score_step, frame, step[:k], rowwise=(along,))
        sigma = float(step[k]) if free else 0.0
        nu = inverse * (wanted - along - bend * sigma)
        p, q = sides.alive * (push + at.p / above * nu), sides.alive * (drag - at.q / under * nu)
        return HuberPoint(step[:k], sigma, nu, p, q, -along)

    affine = change(0.0, None)
    length = _longest(sides, at, affine, free=free)
    now, then = (_products(sides, at, affine, step, free=free) for step in (0.0, length))
    mass = 2 * float(beta @ sides.alive) + free * sides.total
    move = change(now / mass * min(then / now, 1.0) ** 3 if now > 0 else 0.0, affine)
    after = sides.penalty * (at.theta + move.theta)
    return move, after


def _products(sides: Sides, at: HuberPoint, move: HuberPoint, step: float, *, free: bool) -> float:
    """Σ p(u − ν) + q(u + ν), and σt, after a step."""
    there = at.after(move, step)
    total = float(sides.alive @ (there.p * (sides.bound - there.nu) + there.q * (sides.bound + there.nu)))
    return total + there.sigma * max(sides.room(there.nu), 0.0) if free else total


def _longest(sides: Sides, at: HuberPoint, move: HuberPoint, *, free: bool) -> float:
    """The longest step that keeps the point strictly inside, at most 1."""
    rates = (
        move.nu / (sides.bound - at.nu), -move.nu / (sides.bound + at.nu), -move.p / at.p, -move.q / at.q
    )  # fmt: skip
    fastest = max(float(rate.max(initial=0.0)) for rate in rates)
    if free:
        square = float(np.sum(sides.alive * move.nu**2 / (4 * sides.weight)))
        slope = float(np.sum(sides.alive * at.nu * move.nu / (4 * sides.weight)))
        room = sides.room(at.nu)
        # The root of square·a² + 2·slope·a = room, in the form that does not cancel.
        root = np.sqrt(slope**2 + square * room)
        fastest = max(fastest, -move.sigma / at.sigma, (slope + root) / room)
    return min(1.0, 0.9995 / fastest) if fastest > 0 else 1.0


def _factor(matrix: Array) -> Callable[[Array], Array]:
    """Solve with a matrix scaled to ones on its diagonal and lifted a little."""
    diagonal = np.diagonal(matrix)
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    scaled = matrix / np.outer(root, root)
    scaled[np.diag_indices_from(scaled)] += LIFT * len(scaled)
    factor, failure = linalg.lapack.dpotrf(scaled)
    if failure:
        return lambda right: np.full_like(right, np.nan)
    return lambda right: linalg.cho_solve((factor, False), right / root, check_finite=False) / root
