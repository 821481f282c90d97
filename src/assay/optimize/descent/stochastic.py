"""Stochastic gradient descent: on the rows of a table or on a stream, last point and average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.losses import Logistic, Loss, Squared
from assay.optimize.descent.iteration import StepRule, averaged_steps, read_start, step_rule
from assay.optimize.descent.objective import Smooth, quadratic, signs
from assay.parameters import integer, real, require
from assay.penalties import SquaredNorm
from assay.randomness import RandomState, generator
from assay.solvers.least_squares.direct import Array

RowGradients: TypeAlias = "Callable[[Array, NDArray[Any]], Array]"
"""Gradients at a point of the terms of some rows, one line for each row number."""


class Stochastic(NamedTuple):
    """Result of stochastic descent; `point` is the average of x₁ … xₙ when asked for, else the last."""

    point: Array
    last: Array
    average: Array
    n_iter: int
    diverged: bool
    step_sizes: Array
    points: Array | None = None


def stochastic_descent(
    noisy_gradient: Callable[[Array, np.random.Generator], Array],
    start: Any,
    *,
    step: float | StepRule,
    n_iter: int,
    average: bool = True,
    keep_points: bool = False,
    random_state: RandomState = None,
) -> Stochastic:
    """Minimise by xₜ = xₜ₋₁ − γₜ vₜ, where vₜ is an unbiased estimate of the gradient drawn from a stream.

    A constant step stalls at a distance set by the noise (`stochastic_rate`), or converges on average when
    the horizon fixes it (`averaging_step`); `inverse_step` and `root_step` fall with time.
    """
    point = read_start("stochastic_descent", start, n_iter=n_iter)
    rule, rng = step_rule("stochastic_descent", step), generator(random_state)
    sizes = np.array([rule(t) for t in range(1, n_iter + 1)])

    def advance(x: Array, t: int) -> Array:
        return x - sizes[t - 1] * noisy_gradient(x, rng)

    last, mean, points = averaged_steps(advance, point, n_iter, keep_points)
    diverged = not bool(np.isfinite(last).all())
    return Stochastic(mean if average else last, last, mean, n_iter, diverged, sizes, points)


def stochastic_gradient(
    gradient_of_rows: RowGradients,
    n_rows: int,
    start: Any,
    *,
    step: float | StepRule,
    n_iter: int,
    batch_size: int = 1,
    average: bool = True,
    keep_points: bool = False,
    random_state: RandomState = None,
) -> Stochastic:
    """Stochastic descent on the mean over the rows of a table, `batch_size` rows drawn at each step.

    Parameters
    ----------
    gradient_of_rows : callable
        Takes a point and an array of row numbers; gives the gradients of the terms of these rows, one line
        each. `least_squares_rows` and `logistic_rows` make it from a table.
    n_rows : int
        Number of rows; each step draws from them uniformly, with replacement.
    start : array-like
        x₀.
    step : float or callable
        A constant, or a rule: `constant_step`, `inverse_step`, `root_step`, `averaging_step`.
    n_iter : int
        Number of steps.
    batch_size : int, default=1
        Rows averaged at each step; the variance of the gradient is divided by it.
    average : bool, default=True
        Whether the answer is the average of the points or the last of them; both are returned.
    keep_points : bool, default=False
        Whether to keep x₀ … xₙ.
    random_state : None, int, Generator, SeedSequence or RandomState
        Where the row numbers come from.
    """
    require("stochastic_gradient", integer(at_least=1), n_rows=n_rows, batch_size=batch_size)

    def draw(point: Array, rng: np.random.Generator) -> Array:
        return np.asarray(gradient_of_rows(point, rng.integers(n_rows, size=batch_size)).mean(axis=0))

    options: Any = {"average": average, "keep_points": keep_points, "random_state": random_state}
    return stochastic_descent(draw, start, step=step, n_iter=n_iter, **options)


def least_squares_rows(X: Any, y: Any, alpha: float = 0.0) -> RowGradients:
    """Row gradients 2x(xᵀw − y) + 2αw, whose mean is the gradient of `least_squares_objective`."""
    return _rows(Squared(halved=False), X, np.asarray(y, dtype=float), alpha)


def logistic_rows(X: Any, y: Any, alpha: float = 0.0) -> RowGradients:
    """Row gradients −s σ(−s xᵀw) x + 2αw, whose mean is the gradient of `logistic_objective`."""
    return _rows(Logistic(), X, signs("logistic_rows", np.asarray(y)), alpha)


def _rows(loss: Loss, X: Any, target: Array, alpha: float) -> RowGradients:
    rows, penalty = np.asarray(X, dtype=float), SquaredNorm(2 * alpha)

    def gradient(w: Array, chosen: NDArray[Any]) -> Array:
        some = rows[chosen]
        return some * loss.gradient(target[chosen], some @ w)[:, None] + penalty.gradient(w)

    return gradient


def gradient_noise(gradient_of_rows: RowGradients, n_rows: int, points: Any, *, batch_size: int = 1) -> Array:
    """σ²(x) = E‖v − ∇f(x)‖² at each point, by going through all rows; its maximum over a trace is σ*².

    On an unbounded set the noise of least squares has no bound: the theorems are about the points visited.
    """
    noise = []
    for point in np.atleast_2d(np.asarray(points, dtype=float)):
        gradients = gradient_of_rows(point, np.arange(n_rows))
        noise.append(float(np.sum((gradients - gradients.mean(axis=0)) ** 2) / n_rows / batch_size))
    return np.array(noise)


def unbiased_step(
    objective: Smooth, gradient_of_rows: RowGradients, n_rows: int, point: Any, step: float
) -> Certificate:
    """Whether the mean of the stochastic step over all rows is the step of gradient descent."""
    x = np.asarray(point, dtype=float)
    steps = x - step * gradient_of_rows(x, np.arange(n_rows))
    exact = x - step * objective.gradient(x)
    away = np.linalg.norm(steps.mean(axis=0) - exact)
    room = 1e-10 * max(1e-300, float(np.linalg.norm(x - steps)))
    claim = "The stochastic step is unbiased: its mean over the rows is the step of gradient descent."
    what, assumed = "distance of the mean step from the gradient step", ("rows are drawn uniformly",)
    return at_most(claim, what, away, room, "Rudi 3.2.3", assumptions=assumed)


class NoisyMean(NamedTuple):
    """Result of `constant_step_floor`: a problem on which a constant step is known to stall."""

    objective: Smooth
    gradient_of_rows: RowGradients
    n_rows: int
    start: Array
    variance: float
    floor: Callable[[float], float]
    """Limit of E‖xₙ − x*‖² for a constant step."""


def constant_step_floor(spread: float = 1.0, start: float = 5.0) -> NoisyMean:
    """The mean of two rows ±s, by stochastic descent: with a constant step γ, E x² → γs²/(2 − γ).

    The squared distance never goes to zero, however many steps are taken; with γₜ = 1/t the point is the
    mean of the draws, and does.
    """
    require("constant_step_floor", real(above=0), spread=spread)
    ends = np.array([-spread, spread])

    def gradients(point: Array, rows: NDArray[Any]) -> Array:
        return point - ends[rows][:, None]

    objective, begin, variance = quadratic([[1.0]], [0.0]), np.array([float(start)]), spread**2
    return NoisyMean(objective, gradients, 2, begin, variance, lambda step: step * variance / (2 - step))
