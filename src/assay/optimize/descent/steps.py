"""Step sizes: fixed by a theorem, given by a search along the direction, or falling with time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
from scipy import optimize

from assay.optimize.descent.objective import Smooth
from assay.parameters import real, refusal, require
from assay.solvers.least_squares.direct import Array

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
