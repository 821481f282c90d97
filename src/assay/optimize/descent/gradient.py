"""First-order descent: plain, projected and averaged, accelerated, along inexact directions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificates, at_least, at_most
from assay.optimize.descent import iteration
from assay.optimize.descent.iteration import DescentState, States, StepRule, follow, read_start, search, seen
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.trace import Trace
from assay.parameters import real, refusal
from assay.solvers.least_squares.direct import Array

Direction = Callable[[Array], Array]
Project = Callable[[Array], Array]


class Descent(NamedTuple):
    """Where a descent arrived, what it saw, and whether it may be believed."""

    point: Array
    value: float
    gradient_norm: float
    n_iter: int
    converged: bool
    diverged: bool
    trace: Trace
    certificates: Certificates


class Projected(NamedTuple):
    """Result of `projected_gradient`; `point` is the average of the points when asked for, else the last."""

    point: Array
    value: float
    last: Array
    average: Array
    n_iter: int
    trace: Trace
    certificates: Certificates


def gradient_descent(
    objective: Smooth,
    start: Any,
    *,
    step: float | str | StepRule = "1/L",
    tol: float = 1e-8,
    max_iter: int = 1000,
    keep_points: bool = False,
) -> Descent:
    """Minimise by xₜ₊₁ = xₜ − γₜ∇f(xₜ).

    Parameters
    ----------
    objective : Smooth
        The function, with the constants that the named steps need.
    start : array-like
        x₀.
    step : float, callable or {"1/L", "2/(alpha+L)", "exact", "backtracking"}, default="1/L"
        A constant; a function of the iteration number t = 1, 2, …; a constant of the theory; a minimiser of f
        along the gradient; or the first of a halving sequence with half of the promised decrease.
    tol : float, default=1e-8
        Stops when ‖∇f‖ ≤ tol.
    max_iter : int, default=1000
        Stops after so many steps.
    keep_points : bool, default=False
        Whether the trace keeps the points, as bounds on distances need.

    Returns
    -------
    Descent
        With `diverged` true when the values rose past recovery, as steps above 2/L make them.

    Examples
    --------
    >>> from assay.optimize import gradient_descent, quadratic
    >>> result = gradient_descent(quadratic([[2.0, 0.0], [0.0, 8.0]], [2.0, 8.0]), [0.0, 0.0])
    >>> result.point.round(6), result.certificates.holds
    (array([1., 1.]), True)
    """
    point = read_start("gradient_descent", start, tol=tol, max_iter=max_iter)
    states = _steps(objective, point, search("gradient_descent", objective, step), lambda gradient: gradient)
    run = follow(states, tol=tol, max_iter=max_iter, keep_points=keep_points, watched=True)
    return _result(objective, run, tol, monotone=True)


def inexact_descent(
    objective: Smooth,
    direction: Direction,
    start: Any,
    *,
    quality: float | None = None,
    step: float | str | StepRule = "1/L",
    tol: float = 1e-8,
    max_iter: int = 1000,
    keep_points: bool = False,
) -> Descent:
    """Minimise by xₜ₊₁ = xₜ − γ P(∇f(xₜ)), for any P close enough to the identity.

    `direction` is P: a projection on a few coordinates, a rounding, a regression tree fitted to the
    gradient. With ‖y − P(y)‖² ≤ (1 − g)‖y‖² and γ ≤ 1/L every step descends, and `inexact_rate` bounds the
    gap; the certificates measure g along the run and compare it with the `quality` promised.
    """
    if quality is not None and not real(above=0, at_most=1).contains(quality):
        raise refusal("inexact_descent", "quality", "None or a number above 0 and at most 1", quality)
    point = read_start("inexact_descent", start, tol=tol, max_iter=max_iter)
    worst = [1.0]

    def measured(gradient: Array) -> Array:
        chosen = np.asarray(direction(gradient), dtype=float)
        squared = float(gradient @ gradient)
        if squared > 0:
            worst[0] = min(worst[0], 1 - float(np.sum((gradient - chosen) ** 2)) / squared)
        return chosen

    states = _steps(objective, point, search("inexact_descent", objective, step), measured)
    run = follow(states, tol=tol, max_iter=max_iter, keep_points=keep_points, watched=True)
    result = _result(objective, run, tol, monotone=True)
    claim = "Every direction is as close to the gradient as promised."
    what = "smallest 1 − ‖∇f − P(∇f)‖²/‖∇f‖²"
    promise = at_least(claim, what, worst[0], quality or 0.0, "Sangnier, exercise 1.8", tolerance=1e-12)
    return result._replace(certificates=Certificates([*result.certificates, promise]))


def accelerated_gradient(
    objective: Smooth,
    start: Any,
    *,
    step: float | str | StepRule = "1/L",
    restart: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    keep_points: bool = False,
) -> Descent:
    """Minimise by Nesterov's method: a gradient step from a point carried along by momentum.

    The values need not fall at every step. With `restart` the momentum is dropped whenever it points
    uphill, which gives a linear rate on strongly convex objectives without knowing the modulus.
    """
    first = read_start("accelerated_gradient", start, tol=tol, max_iter=max_iter)
    size_of = search("accelerated_gradient", objective, step)

    def states() -> States:
        point = ahead = first
        weight = 1.0
        value, _, norm = seen(objective, point)
        yield DescentState(point, value, norm)
        for t in count(1):
            slope = objective.gradient(ahead)
            height = objective.value(ahead) if step == "backtracking" else np.nan  # the others do not look
            size = size_of(t, ahead, height, slope, slope)
            moved = ahead - size * slope
            if restart and slope @ (moved - point) > 0:
                weight = 1.0
            following = (1 + (1 + 4 * weight**2) ** 0.5) / 2
            ahead = moved + (weight - 1) / following * (moved - point)
            point, weight = moved, following
            value, _, norm = seen(objective, point)
            yield DescentState(point, value, norm, size)

    run = follow(states(), tol=tol, max_iter=max_iter, keep_points=keep_points, watched=True)
    return _result(objective, run, tol, monotone=False)


def projected_gradient(
    objective: Smooth,
    project: Project,
    start: Any,
    *,
    step: float | StepRule,
    n_iter: int,
    average: bool = True,
    keep_points: bool = False,
) -> Projected:
    """Minimise over a convex set by xₖ₊₁ = Π(xₖ − η∇f(xₖ)), answering with the average of x₁ … xₙ.

    The theorem of the average (`projected_rate`) needs a horizon n known in advance, a bound G on the
    gradients over the set and x₁ = `start` in the set; `projected_plan` gives η and n for an accuracy. A
    start outside is used as it is, and the certificate of feasibility then fails. With `average=False` the
    answer is the last point, the usual choice for a smooth objective with the step 1/L.
    """
    first = read_start("projected_gradient", start, n_iter=n_iter)
    size_of = search("projected_gradient", objective, step)
    total = np.zeros_like(first)

    def states() -> States:
        point, size = first, np.nan
        for t in count(1):
            value, gradient, norm = seen(objective, point)
            total[:] += point
            yield DescentState(point, value, norm, size)
            size = size_of(t, point, value, gradient, gradient)
            point = np.asarray(project(point - size * gradient), dtype=float)

    run = follow(states(), tol=-np.inf, max_iter=n_iter - 1, keep_points=keep_points)
    mean = total / n_iter
    answer = mean if average else run.point
    away = max(float(np.linalg.norm(x - np.asarray(project(x), dtype=float))) for x in (first, answer))
    claim, room = "The start and the answer lie in the set.", 1e-9 * max(1.0, float(np.linalg.norm(answer)))
    feasible = at_most(claim, "distance from the set", away, room, "Douc 5.3")
    value = float(objective.value(answer))
    return Projected(answer, value, run.point, mean, n_iter, run.trace, Certificates([feasible]))


def _steps(objective: Smooth, point: Array, size_of: iteration.Search, direction: Direction) -> States:
    value, gradient, norm = seen(objective, point)
    yield DescentState(point, value, norm)
    for t in count(1):
        along = direction(gradient)
        size = size_of(t, point, value, gradient, along)
        point = point - size * along
        value, gradient, norm = seen(objective, point)
        yield DescentState(point, value, norm, size)
        if size == 0.0:  # the search sees no descent: nothing will change any more
            return


def _result(objective: Smooth, run: iteration.DescentRun, tol: float, *, monotone: bool) -> Descent:
    with np.errstate(invalid="ignore", over="ignore"):
        proofs = [iteration.stationary(objective, run.point, tol)]
        if monotone:
            proofs.append(iteration.never_rises(run.trace))
    return Descent(*run[:7], Certificates(proofs))
