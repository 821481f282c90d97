"""The iteration that the methods of descent share: states in, a trace and a verdict out."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from assay.certificates import Certificate, at_most
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.trace import Trace
from assay.parameters import integer, real, require, vector
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
    states: Iterator[DescentState],
    *,
    tol: float,
    max_iter: int,
    keep_points: bool = False,
    watched: bool = False,
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
