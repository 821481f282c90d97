"""What the methods of descent share: the iteration, states in and a trace out, and the sizes of its steps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import optimize

from assay.certificates import Certificate, at_most
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.trace import Trace
from assay.parameters import integer, real, refusal, require, vector
from assay.solvers.least_squares.direct import Array

BLOWN_UP = 1e8
"""A residual so many times its first size, above the first value, will not come back."""


class DescentState(NamedTuple):
    """A point of a method, the value and the residual there, and the step that led to it.

    The residual goes to zero at a solution: a gradient norm, a gap. A method stops by it, or by `left` where
    it has another measure of what is left to do.
    """

    point: Array
    value: float
    residual: float
    step: float = np.nan
    left: float | None = None


States: TypeAlias = Iterator[DescentState]


class DescentRun(NamedTuple):
    """Where a method arrived and what it saw."""

    point: Array
    value: float
    residual: float
    n_iter: int
    converged: bool
    diverged: bool
    trace: Trace
    left: float


def follow(
    states: States, *, tol: float, max_iter: int, keep_points: bool = False, watched: bool = False
) -> DescentRun:
    """Take states until what is left is at most `tol`, the steps are used up, or the method stops by itself.

    A `watched` method is also stopped when its values rise past recovery.
    """
    values, residuals, steps, points = list[float](), list[float](), list[float](), list[Array]()
    diverged = False
    with np.errstate(over="ignore", invalid="ignore"):
        for state in states:
            if values:
                steps.append(state.step)
            values.append(state.value)
            residuals.append(state.residual)
            if keep_points:
                points.append(state.point)
            left = state.residual if state.left is None else state.left
            risen = values[-1] > values[0] and residuals[-1] > BLOWN_UP * max(residuals[0], 1e-12)
            diverged = watched and (risen or not (np.isfinite(values[-1]) and np.isfinite(residuals[-1])))
            if not left > tol or len(steps) >= max_iter or diverged:
                break
    kept = np.array(points) if keep_points else None
    trace = Trace(np.array(values), np.array(residuals), np.array(steps), kept)
    return DescentRun(state.point, values[-1], residuals[-1], len(steps), left <= tol, diverged, trace, left)


def seen(objective: Smooth, point: Array) -> tuple[float, Array, float]:
    """Value, gradient and gradient norm at a point."""
    gradient = objective.gradient(point)
    return float(objective.value(point)), gradient, float(np.linalg.norm(gradient))


Averaged: TypeAlias = "tuple[Array, Array, Array | None]"


def averaged_steps(advance: Callable[..., Array], start: Array, n_iter: int, keep_points: bool) -> Averaged:
    """Last point, average of x₁ … xₙ and, when kept, x₀ … xₙ of so many steps xₜ = advance(xₜ₋₁, t)."""
    point, total, kept = start, np.zeros_like(start), [start]
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, n_iter + 1):
            point = advance(point, t)
            total += point
            if keep_points:
                kept.append(point)
        return point, total / n_iter, np.array(kept) if keep_points else None


def read_start(owner: str, start: Any, *, tol: float = 0.0, **counts: int) -> Array:
    """The start as a vector; refuses a negative tolerance and counts below one."""
    require(owner, vector(), start=start)
    require(owner, real(at_least=0), tol=tol)
    require(owner, integer(at_least=1), **counts)
    return np.array(start, dtype=float)


def stationary(objective: Smooth, point: Array, tol: float) -> Certificate:
    """Fermat's rule: a point of a convex objective is a minimiser if and only if its gradient is zero."""
    claim, assumed = "The gradient is zero, so the point is a minimiser.", ("f is convex and differentiable",)
    norm = np.linalg.norm(objective.gradient(point))
    return at_most(claim, "gradient norm", norm, tol, "Sangnier 1.4.5", assumptions=assumed)


def never_rises(trace: Trace, *, units: float = 1e2) -> Certificate:
    """That no step raised the objective by more than so many units in the last place."""
    rise = float(np.max(np.diff(trace.values), initial=0.0))
    room = units * float(np.finfo(float).eps) * float(np.abs(trace.values[[0, -1]]).max())
    return at_most("The objective never rises.", "largest rise", rise, 0.0, tolerance=room)


# Step sizes: fixed by a theorem, given by a search along the direction, or falling with time.

StepRule: TypeAlias = "Callable[[int], float]"
"""Step size of iteration t = 1, 2, …"""

Search: TypeAlias = "Callable[[int, Array, float, Array, Array], float]"
"""Step size from the iteration, the point, its value, its gradient and the direction to subtract."""

POSITIVE = real(above=0)
NAMED_STEPS = ("1/L", "2/(alpha+L)", "exact", "backtracking")


def constant_step(size: float) -> StepRule:
    """The same step at every iteration."""
    require("constant_step", POSITIVE, size=size)
    return lambda t: size


def inverse_step(size: float, delay: float = 0.0) -> StepRule:
    """c/(t + t₀): the steps sum to infinity and their squares do not, so noise is averaged out."""
    require("inverse_step", POSITIVE, size=size)
    require("inverse_step", real(at_least=0), delay=delay)
    return lambda t: size / (t + delay)


def root_step(size: float) -> StepRule:
    """c/√t."""
    require("root_step", POSITIVE, size=size)
    return lambda t: size / t**0.5


def averaging_step(distance: float, deviation: float, n_iter: int, smoothness: float) -> StepRule:
    """‖x₀ − x*‖/(σ√(2n)), the constant step of averaged stochastic descent over a known horizon n.

    Its theorem needs the step to be at most 1/L; a shorter horizon is refused with the one that is enough.
    """
    require("averaging_step", POSITIVE, distance=distance, deviation=deviation, smoothness=smoothness)
    enough = int(np.ceil(smoothness**2 * distance**2 / (2 * deviation**2)))
    if n_iter < max(enough, 1):
        raise refusal("averaging_step", "n_iter", f"at least {max(enough, 1)}, so that ηL ≤ 1", n_iter)
    return constant_step(distance / (deviation * (2 * n_iter) ** 0.5))


def step_rule(owner: str, step: float | StepRule) -> StepRule:
    """Read a step that is a number or a function of the iteration."""
    if callable(step):
        return step
    if not POSITIVE.contains(step):
        raise refusal(owner, "step", "a finite number above 0 or a function of t = 1, 2, …", step)
    size = float(step)
    return lambda t: size


def exact_step(objective: Smooth, point: Array, direction: Array, guess: float = 1.0) -> float:
    """A minimiser w of f(x − w d): a root of the slope, between a step that descends and one that rises.

    When the slope is still negative after sixty doublings the last step is returned: f is then unbounded
    along the direction, or flat at infinity.
    """

    def slope(size: float) -> float:
        return -float(objective.gradient(point - size * direction) @ direction)

    if slope(0.0) >= 0:
        return 0.0
    far = guess
    for _ in range(60):
        if slope(far) >= 0:
            return float(optimize.brentq(slope, 0.0, far, xtol=1e-14 * far, rtol=8.9e-16))
        far *= 2
    return far


def backtracking_step(
    objective: Smooth, point: Array, value: float, gradient: Array, direction: Array, guess: float
) -> float:
    """The first of guess, guess/2, … that gives half of the decrease its slope promises (Armijo)."""
    slope = float(gradient @ direction)
    room = 4 * float(np.finfo(float).eps) * abs(value)
    size = guess
    for _ in range(100):
        if objective.value(point - size * direction) <= value - size * slope / 2 + room:
            return size
        size /= 2
    return 0.0


def search(owner: str, objective: Smooth, step: Any) -> Search:
    """Read the `step` parameter of a descent: a number, a named rule or a function of the iteration."""
    last = 1 / objective.smoothness if objective.smoothness else 1.0

    def backtracking(t: int, point: Array, value: float, gradient: Array, direction: Array) -> float:
        # The next guess is twice the last step taken.
        nonlocal last
        size = backtracking_step(objective, point, value, gradient, direction, 2 * last)
        last = size or last
        return size

    if callable(step):
        return lambda t, *seen: float(step(t))
    if not isinstance(step, str) or step not in NAMED_STEPS:
        if not real(above=0).contains(step):
            words = "a finite number above 0, a callable or one of " + ", ".join(map(repr, NAMED_STEPS))
            raise refusal(owner, "step", words, step)
        return lambda *seen: float(step)
    if step == "exact":
        return lambda t, point, value, gradient, direction: exact_step(objective, point, direction, last)
    if step == "backtracking":
        return backtracking
    L, alpha = objective.smoothness, objective.strong_convexity
    if not L or (step == "2/(alpha+L)" and not alpha):
        missing = "smoothness" if not L else "strong_convexity"
        words = f"a number, 'exact' or 'backtracking' when the objective has no '{missing}'"
        raise refusal(owner, "step", words, step)
    size = 1 / L if step == "1/L" else 2 / (L + (alpha or 0.0))
    return lambda *seen: size
