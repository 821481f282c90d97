"""First-order descent: plain, projected and averaged, accelerated, along inexact directions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificate, Certificates, at_least, at_most
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.steps import StepRule, search
from assay.optimize.descent.trace import Trace
from assay.parameters import array, integer, real, refusal
from assay.solvers.least_squares.direct import Array

Direction = Callable[[Array], Array]
Project = Callable[[Array], Array]

BLOWN_UP = 1e8
"""A gradient so many times its first norm, above the first value, will not come back."""


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


class Recorder:
    """Collects a trace while a method runs."""

    def __init__(self, objective: Smooth, keep_points: bool) -> None:
        self.objective = objective
        self.values: list[float] = []
        self.norms: list[float] = []
        self.steps: list[float] = []
        self.points: list[Array] | None = [] if keep_points else None

    def see(self, point: Array) -> tuple[float, Array]:
        """Value and gradient at a point, put on record."""
        with np.errstate(over="ignore", invalid="ignore"):
            value, gradient = float(self.objective.value(point)), self.objective.gradient(point)
            norm = float(np.linalg.norm(gradient))
        self.values.append(value)
        self.norms.append(norm)
        if self.points is not None:
            self.points.append(point)
        return value, gradient

    @property
    def blown_up(self) -> bool:
        """Whether the last point is not finite, or far above the first in value and gradient."""
        value, norm = self.values[-1], self.norms[-1]
        if not (np.isfinite(value) and np.isfinite(norm)):
            return True
        return value > self.values[0] and norm > BLOWN_UP * max(self.norms[0], 1e-12)

    def trace(self) -> Trace:
        """The record as arrays."""
        return Trace(
            np.array(self.values),
            np.array(self.norms),
            np.array(self.steps),
            None if self.points is None else np.array(self.points),
        )


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
    >>> found = gradient_descent(quadratic([[2.0, 0.0], [0.0, 8.0]], [2.0, 8.0]), [0.0, 0.0])
    >>> found.point.round(6), found.certificates.holds
    (array([1., 1.]), True)
    """
    return _descend("gradient_descent", objective, start, None, step, tol, max_iter, keep_points)


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
    seen = [1.0]

    def measured(gradient: Array) -> Array:
        chosen = np.asarray(direction(gradient), dtype=float)
        squared = float(gradient @ gradient)
        if squared > 0:
            seen[0] = min(seen[0], 1 - float(np.sum((gradient - chosen) ** 2)) / squared)
        return chosen

    found = _descend("inexact_descent", objective, start, measured, step, tol, max_iter, keep_points)
    promise = at_least(
        "Every direction is as close to the gradient as promised.",
        "smallest 1 − ‖∇f − P(∇f)‖²/‖∇f‖²",
        seen[0],
        0.0 if quality is None else quality,
        source="Sangnier, exercise 1.8",
        tolerance=1e-12,
    )
    return found._replace(certificates=Certificates([*found.certificates, promise]))


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
    point = _common("accelerated_gradient", start, tol, max_iter)
    size_of = search("accelerated_gradient", objective, step)
    record = Recorder(objective, keep_points)
    ahead, weight = point, 1.0
    value, _ = record.see(point)
    while record.norms[-1] > tol and len(record.steps) < max_iter and not record.blown_up:
        slope = objective.gradient(ahead)
        height = objective.value(ahead) if step == "backtracking" else np.nan  # the other rules do not look
        size = size_of(len(record.steps) + 1, ahead, height, slope, slope)
        moved = ahead - size * slope
        if restart and slope @ (moved - point) > 0:
            weight = 1.0
        following = (1 + (1 + 4 * weight**2) ** 0.5) / 2
        ahead = moved + (weight - 1) / following * (moved - point)
        point, weight = moved, following
        record.steps.append(size)
        value, _ = record.see(point)
    return _result(record, point, value, tol, monotone=False)


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
    point = _common("projected_gradient", start, 0.0, n_iter)
    size_of = search("projected_gradient", objective, step)
    record = Recorder(objective, keep_points)
    outside = _distance(project, point)
    total = np.zeros_like(point)
    for k in range(n_iter):
        value, gradient = record.see(point)
        total += point
        if k + 1 < n_iter:
            size = size_of(k + 1, point, value, gradient, gradient)
            record.steps.append(size)
            point = np.asarray(project(point - size * gradient), dtype=float)
    mean = total / n_iter
    answer = mean if average else point
    feasible = at_most(
        "The start and the answer lie in the set.",
        "distance from the set",
        max(outside, _distance(project, answer)),
        1e-9 * max(1.0, float(np.linalg.norm(answer))),
        source="Douc 5.3",
    )
    value = float(objective.value(answer))
    return Projected(answer, value, point, mean, n_iter, record.trace(), Certificates([feasible]))


def _descend(
    owner: str,
    objective: Smooth,
    start: Any,
    direction: Direction | None,
    step: float | str | StepRule,
    tol: float,
    max_iter: int,
    keep_points: bool,
) -> Descent:
    point = _common(owner, start, tol, max_iter)
    size_of = search(owner, objective, step)
    record = Recorder(objective, keep_points)
    value, gradient = record.see(point)
    while record.norms[-1] > tol and len(record.steps) < max_iter and not record.blown_up:
        along = gradient if direction is None else direction(gradient)
        size = size_of(len(record.steps) + 1, point, value, gradient, along)
        point = point - size * along
        record.steps.append(size)
        value, gradient = record.see(point)
        if size == 0.0:  # the search found no descent: nothing will change any more
            break
    return _result(record, point, value, tol, monotone=True)


def _result(record: Recorder, point: Array, value: float, tol: float, *, monotone: bool) -> Descent:
    trace = record.trace()
    norm = float(trace.gradient_norms[-1])
    with np.errstate(invalid="ignore", over="ignore"):
        proofs = [stationary(record.objective, point, tol)]
        if monotone:
            rise = float(np.max(np.diff(trace.values), initial=0.0))
            room = 1e2 * float(np.finfo(float).eps) * float(np.abs(trace.values[[0, -1]]).max())
            claim = "The objective never rises."
            proofs.append(at_most(claim, "largest rise", rise, 0.0, tolerance=room))
    return Descent(
        point, value, norm, len(trace.step_sizes), norm <= tol, record.blown_up, trace, Certificates(proofs)
    )


def stationary(objective: Smooth, point: Array, tol: float) -> Certificate:
    """Fermat's rule: a point of a convex objective is a minimiser if and only if its gradient is zero."""
    return at_most(
        "The gradient is zero, so the point is a minimiser.",
        "gradient norm",
        np.linalg.norm(objective.gradient(point)),
        tol,
        source="Sangnier 1.4.5",
        assumptions=("f is convex and differentiable",),
    )


def _distance(project: Project, point: Array) -> float:
    return float(np.linalg.norm(point - np.asarray(project(point), dtype=float)))


def _common(owner: str, start: Any, tol: float, max_iter: int) -> Array:
    if not array("", lambda values: values.ndim == 1 and values.size > 0).contains(start):
        raise refusal(owner, "start", "a vector of finite numbers", start)
    if not real(at_least=0).contains(tol):
        raise refusal(owner, "tol", "a finite number at least 0", tol)
    if not integer(at_least=1).contains(max_iter):
        name = "n_iter" if owner == "projected_gradient" else "max_iter"
        raise refusal(owner, name, "an int at least 1", max_iter)
    return np.array(start, dtype=float)
