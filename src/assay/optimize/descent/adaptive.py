"""Steps that adapt to each coordinate: AdaGrad, AdaDelta, RMSprop and Adam as pure state machines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.optimize.descent.iteration import StepRule, averaged_steps, read_start, step_rule
from assay.optimize.descent.objective import Smooth
from assay.parameters import real, refusal, require
from assay.solvers.least_squares.direct import Array


class Method(NamedTuple):
    """An `init` that makes the state of a point and an `update` from gradient and state to move and state.

    The move is added to the point. Neither changes its arguments.
    """

    init: Callable[[Array], Any]
    update: Callable[[Array, Any], tuple[Array, Any]]


class SquaresState(NamedTuple):
    """State of AdaGrad (sum of squared gradients) and of RMSprop (their running mean)."""

    n_updates: int
    squares: Array


class AdaDeltaState(NamedTuple):
    """Running means of squared gradients and of squared moves."""

    squares: Array
    moves: Array


class AdamState(NamedTuple):
    """Number of updates, running means of the gradient and of its square."""

    n_updates: int
    first: Array
    second: Array


class Adaptive(NamedTuple):
    """Result of `adaptive_descent`."""

    point: Array
    average: Array
    n_iter: int
    state: Any
    points: Array | None = None


def plain(step: float | StepRule = 0.01) -> Method:
    """The move −γₜg of gradient descent, to compare the others with."""
    size = step_rule("plain", step)
    return Method(lambda point: 0, lambda gradient, count: (-size(count + 1) * gradient, count + 1))


def adagrad(step: float | StepRule = 0.01, eps: float = 1e-8) -> Method:
    """−η g/√(Σ g² + ε), the sum over all gradients so far and the current one (Duchi et al., 2011).

    Large first gradients freeze it: the sum never forgets.
    """
    return _scaled_by_squares("adagrad", step, eps, 1.0, 1.0)


def rmsprop(step: float | StepRule = 1e-3, rho: float = 0.9, eps: float = 1e-8) -> Method:
    """−η g/√(v + ε), with v ← ρv + (1 − ρ)g² (Hinton)."""
    _check("rmsprop", eps=eps, rho=rho)
    return _scaled_by_squares("rmsprop", step, eps, rho, 1 - rho)


def _scaled_by_squares(owner: str, step: float | StepRule, eps: float, kept: float, added: float) -> Method:
    """−η g/√(v + ε), with v ← kept · v + added · g²."""
    size = step_rule(owner, step)
    _check(owner, eps=eps)

    def update(gradient: Array, state: SquaresState) -> tuple[Array, SquaresState]:
        after = SquaresState(state.n_updates + 1, kept * state.squares + added * gradient**2)
        return -size(after.n_updates) * gradient / np.sqrt(after.squares + eps), after

    return Method(lambda point: SquaresState(0, np.zeros_like(point)), update)


def adadelta(rho: float = 0.95, eps: float = 1e-6) -> Method:
    """−g √(E[Δ²] + ε)/√(E[g²] + ε): the step has the unit of the point and needs no η (Zeiler, 2012)."""
    _check("adadelta", eps=eps, rho=rho)

    def update(gradient: Array, state: AdaDeltaState) -> tuple[Array, AdaDeltaState]:
        squares = rho * state.squares + (1 - rho) * gradient**2
        move = -np.sqrt(state.moves + eps) / np.sqrt(squares + eps) * gradient
        return move, AdaDeltaState(squares, rho * state.moves + (1 - rho) * move**2)

    return Method(lambda point: AdaDeltaState(np.zeros_like(point), np.zeros_like(point)), update)


def adam(
    step: float | StepRule = 1e-3, beta1: float = 0.9, beta2: float = 0.999, eps: float = 1e-8
) -> Method:
    """−η m̂/(√v̂ + ε), running means of g and g² divided by 1 − βᵗ (Kingma and Ba, 2014).

    It may fail to converge on a convex problem: see `adam_counterexample`.
    """
    size = step_rule("adam", step)
    _check("adam", eps=eps, beta1=beta1, beta2=beta2)

    def update(gradient: Array, state: AdamState) -> tuple[Array, AdamState]:
        t = state.n_updates + 1
        first = beta1 * state.first + (1 - beta1) * gradient
        second = beta2 * state.second + (1 - beta2) * gradient**2
        mean, scale = first / (1 - beta1**t), np.sqrt(second / (1 - beta2**t))
        return -size(t) * mean / (scale + eps), AdamState(t, first, second)

    return Method(lambda point: AdamState(0, np.zeros_like(point), np.zeros_like(point)), update)


def adaptive_descent(
    method: Method,
    gradient: Smooth | Callable[[Array, int], Array],
    start: Any,
    *,
    n_iter: int,
    project: Callable[[Array], Array] | None = None,
    keep_points: bool = False,
) -> Adaptive:
    """Run a method for `n_iter` updates.

    Parameters
    ----------
    method : Method
        `adagrad()`, `adadelta()`, `rmsprop()`, `adam()` or `plain()`.
    gradient : Smooth or callable
        An objective, or a function of the point and of t = 1, 2, … (a stream, a batch, an online problem).
    start : array-like
        First point.
    n_iter : int
        Number of updates.
    project : callable, optional
        Applied after each update.
    keep_points : bool, default=False
        Whether to keep the points, the start first.
    """
    point = read_start("adaptive_descent", start, n_iter=n_iter)
    state = method.init(point)

    def advance(x: Array, t: int) -> Array:
        nonlocal state
        slope = gradient.gradient(x) if isinstance(gradient, Smooth) else gradient(x, t)
        move, state = method.update(slope, state)
        return x + move if project is None else project(x + move)

    last, mean, points = averaged_steps(advance, point, n_iter, keep_points)
    return Adaptive(last, mean, n_iter, state, points)


class OnlineProblem(NamedTuple):
    """A sequence of convex losses on a set, with the point that is best for their sum."""

    gradient: Callable[[Array, int], Array]
    project: Callable[[Array], Array]
    start: Array
    minimiser: Array
    method: Method
    """The method that fails on it."""
    rivals: tuple[Method, ...]
    """Methods that do not."""


def adam_counterexample(large: float = 3.0) -> OnlineProblem:
    """Linear losses on [−1, 1] that send Adam to the worst point (Reddi, Kale and Kumar, 2018).

    The slope is C every third time and −1 otherwise, so −1 is best when C > 2. Adam divides the rare large
    slope by its own size and forgets it before the next: it goes to +1. AdaGrad and plain descent do not.
    """
    require("adam_counterexample", real(above=2), large=large)

    def falling(t: int) -> float:
        return 0.5 / t**0.5

    def slope(point: Array, t: int) -> Array:
        return np.array([large if t % 3 == 1 else -1.0])

    fails, rivals = adam(falling, beta1=0.0, beta2=1 / (1 + large**2)), (adagrad(0.5), plain(falling))
    return OnlineProblem(slope, lambda x: np.clip(x, -1.0, 1.0), np.zeros(1), -np.ones(1), fails, rivals)


def _check(owner: str, *, eps: float, **shares: float) -> None:
    require(owner, real(above=0), eps=eps)
    for name, share in shares.items():
        if not real(at_least=0).contains(share) or share >= 1:
            raise refusal(owner, name, "a finite number at least 0 and below 1", share)
