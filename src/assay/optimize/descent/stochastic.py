"""Stochastic gradient descent: on the rows of a table or on a stream, last point and average."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from assay.certificates import Certificate, at_most
from assay.optimize.descent.objective import Smooth, quadratic
from assay.optimize.descent.steps import StepRule
from assay.parameters import array, integer, real, refusal
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
    owner = "stochastic_descent"
    if not array("", lambda values: values.ndim == 1 and values.size > 0).contains(start):
        raise refusal(owner, "start", "a vector of finite numbers", start)
    if not integer(at_least=1).contains(n_iter):
        raise refusal(owner, "n_iter", "an int at least 1", n_iter)
    if not callable(step) and not real(above=0).contains(step):
        raise refusal(owner, "step", "a finite number above 0 or a function of t = 1, 2, …", step)
    times = range(1, n_iter + 1)
    sizes = np.array([step(t) for t in times]) if callable(step) else np.full(n_iter, float(step))
    rng = generator(random_state)
    point = np.array(start, dtype=float)
    total = np.zeros_like(point)
    points = np.empty((n_iter + 1, len(point))) if keep_points else None
    if points is not None:
        points[0] = point
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(n_iter):
            point = point - sizes[t] * noisy_gradient(point, rng)
            total += point
            if points is not None:
                points[t + 1] = point
        mean = total / n_iter
    diverged = not bool(np.isfinite(point).all())
    return Stochastic(mean if average else point, point, mean, n_iter, diverged, sizes, points)


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
    for name, value in (("n_rows", n_rows), ("batch_size", batch_size)):
        if not integer(at_least=1).contains(value):
            raise refusal("stochastic_gradient", name, "an int at least 1", value)

    def draw(point: Array, rng: np.random.Generator) -> Array:
        return np.asarray(gradient_of_rows(point, rng.integers(n_rows, size=batch_size)).mean(axis=0))

    return stochastic_descent(
        draw,
        start,
        step=step,
        n_iter=n_iter,
        average=average,
        keep_points=keep_points,
        random_state=random_state,
    )


def least_squares_rows(X: Any, y: Any, alpha: float = 0.0) -> RowGradients:
    """Row gradients 2x(xᵀw − y) + 2αw, whose mean is the gradient of `least_squares_objective`."""
    rows, target = np.asarray(X, dtype=float), np.asarray(y, dtype=float)

    def gradient(w: Array, chosen: NDArray[Any]) -> Array:
        some = rows[chosen]
        return 2 * some * (some @ w - target[chosen])[:, None] + 2 * alpha * w

    return gradient


def logistic_rows(X: Any, y: Any, alpha: float = 0.0) -> RowGradients:
    """Row gradients −s σ(−s xᵀw) x + 2αw, whose mean is the gradient of `logistic_objective`."""
    rows, target = np.asarray(X, dtype=float), np.asarray(y)
    signed = rows * np.where(target == target.max(), 1.0, -1.0)[:, None]

    def gradient(w: Array, chosen: NDArray[Any]) -> Array:
        some = signed[chosen]
        return -some * expit(-(some @ w))[:, None] + 2 * alpha * w

    return gradient


def gradient_noise(gradient_of_rows: RowGradients, n_rows: int, points: Any, *, batch_size: int = 1) -> Array:
    """σ²(x) = E‖v − ∇f(x)‖² at each point, by going through all rows; its maximum over a trace is σ*².

    On an unbounded set the noise of least squares has no bound: the theorems are about the points visited.
    """
    everything = np.arange(n_rows)
    noise = []
    for point in np.atleast_2d(np.asarray(points, dtype=float)):
        gradients = gradient_of_rows(point, everything)
        noise.append(float(np.sum((gradients - gradients.mean(axis=0)) ** 2) / n_rows / batch_size))
    return np.array(noise)


def unbiased_step(
    objective: Smooth, gradient_of_rows: RowGradients, n_rows: int, point: Any, step: float
) -> Certificate:
    """Whether the mean of the stochastic step over all rows is the step of gradient descent."""
    x = np.asarray(point, dtype=float)
    steps = x - step * gradient_of_rows(x, np.arange(n_rows))
    exact = x - step * objective.gradient(x)
    return at_most(
        "The stochastic step is unbiased: its mean over the rows is the step of gradient descent.",
        "distance of the mean step from the gradient step",
        np.linalg.norm(steps.mean(axis=0) - exact),
        1e-10 * max(1e-300, float(np.linalg.norm(step * gradient_of_rows(x, np.arange(n_rows))))),
        source="Rudi 3.2.3",
        assumptions=("rows are drawn uniformly",),
    )


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
    """The mean of two rows ±s, found by stochastic descent: with a constant step γ, E x² → γs²/(2 − γ).

    The squared distance never goes to zero, however many steps are taken; with γₜ = 1/t the point is the
    mean of the draws, and does.
    """
    if not real(above=0).contains(spread):
        raise refusal("constant_step_floor", "spread", "a finite number above 0", spread)
    ends = np.array([-spread, spread])
    return NoisyMean(
        quadratic([[1.0]], [0.0]),
        lambda point, rows: point - ends[rows][:, None],
        2,
        np.array([float(start)]),
        spread**2,
        lambda step: step * spread**2 / (2 - step),
    )
