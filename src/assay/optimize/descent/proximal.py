"""Smooth plus simple: proximal gradient and proximal Newton steps; the lasso one coordinate at a time."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.certificates import Certificates, at_most
from assay.loops import compiled
from assay.optimize.descent.iteration import DescentRun, DescentState, States, follow, never_rises, read_start
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.trace import Trace
from assay.parameters import boolean, one_of, real, refusal, require
from assay.penalties import ConvexSet
from assay.solvers.least_squares.direct import Array


class Composite(NamedTuple):
    """Result of a proximal method on f + Ω.

    `residual` is the norm of an element of ∇f + ∂Ω at the point; the trace holds f + Ω, that residual and the
    steps. `gap_bound` is what strong convexity makes of the residual, ∞ without.
    """

    point: Array
    value: float
    residual: float
    gap_bound: float
    n_iter: int
    converged: bool
    trace: Trace
    certificates: Certificates


class Simple:
    """A penalty, or a convex set as the function that is 0 inside and ∞ outside, on one vector."""

    def __init__(self, owner: str, penalty: Any) -> None:
        self.penalty = penalty
        self.is_set = isinstance(penalty, ConvexSet)
        if not self.is_set and not (hasattr(penalty, "proximal") and hasattr(penalty, "value")):
            raise refusal(owner, "penalty", "a penalty with a proximal map, or a ConvexSet", penalty)

    def value(self, x: Array) -> float:
        """Ω(x); a set is only ever asked about points that were projected on it."""
        return 0.0 if self.is_set else float(np.sum(self.penalty.value(x)))

    def proximal(self, x: Array, step: float) -> Array:
        """argmin_v ½‖v − x‖² + step · Ω(v)."""
        moved = self.penalty.project(x) if self.is_set else self.penalty.proximal(x, step)
        return np.asarray(moved, dtype=float)

    def state(self, objective: Smooth, x: Array, scale: float, step: float) -> DescentState:
        """The point with f + Ω and its residual."""
        residual = self.residual(x, objective.gradient(x), scale)
        return DescentState(x, self.total(objective, x), residual, step)

    def total(self, objective: Smooth, x: Array) -> float:
        """The sum f + Ω."""
        return float(objective.value(x)) + self.value(x)

    def residual(self, x: Array, gradient: Array, scale: float) -> float:
        """Distance from −∇f to ∂Ω(x); for a set, the gradient mapping of the step 1/scale."""
        if hasattr(self.penalty, "subgradient_distance"):
            return float(np.linalg.norm(self.penalty.subgradient_distance(x, -gradient)))
        return scale * float(np.linalg.norm(x - self.proximal(x - gradient / scale, 1 / scale)))


def proximal_gradient(
    objective: Smooth,
    penalty: Any,
    start: Any,
    *,
    step: float | str = "1/L",
    accelerated: bool = True,
    monotone: bool = False,
    restart: bool = False,
    tol: float = 1e-8,
    max_iter: int = 1000,
    keep_points: bool = False,
) -> Composite:
    """Minimise f + Ω by xₜ₊₁ = prox_{γΩ}(zₜ − γ∇f(zₜ)), zₜ being xₜ (ISTA) or a point ahead of it (FISTA).

    With γ = 1/L the gap is at most L‖x₀ − x*‖²/(2t) (`convex_rate`), and 2L‖x₀ − x*‖²/(t + 1)² when
    accelerated (`accelerated_rate`).

    Parameters
    ----------
    objective : Smooth
        f.
    penalty : Penalty or ConvexSet
        Ω, by its proximal map or its projection.
    start : array-like of shape (d,)
        x₀.
    step : float or {"1/L", "backtracking"}, default="1/L"
        γ; backtracking halves it until f is below its quadratic model.
    accelerated : bool, default=True
        Whether momentum carries the point ahead.
    monotone : bool, default=False
        Whether a momentum step that raises the objective is dropped for a plain one.
    restart : bool, default=False
        Whether momentum that points uphill is forgotten.
    tol : float, default=1e-8
        Stops when the distance from zero to ∇f + ∂Ω is at most tol.
    max_iter : int, default=1000
    keep_points : bool, default=False
        Whether the trace keeps the points.

    Examples
    --------
    >>> from assay.penalties import L1
    >>> from assay.optimize import proximal_gradient, quadratic
    >>> result = proximal_gradient(quadratic([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5]), L1(1.0), [0.0, 0.0])
    >>> result.point, result.certificates.holds
    (array([2., 0.]), True)

    References
    ----------
    Wei §1.2.1; Beck & Teboulle (2009); O'Donoghue & Candès (2015).
    """
    owner = "proximal_gradient"
    simple, point = Simple(owner, penalty), read_start(owner, start, tol=tol, max_iter=max_iter)
    require(owner, boolean, accelerated=accelerated, monotone=monotone, restart=restart)
    first, searched = _step(owner, objective, step)
    momentum = _Momentum(accelerated, monotone, restart)
    states = _forward_backward_steps(objective, simple, point, first, searched, momentum)
    run = follow(states, tol=tol, max_iter=max_iter, keep_points=keep_points)
    last = float(run.trace.step_sizes[-1]) if run.n_iter else first
    return _result(objective, simple, run, last, tol, falls=monotone or not accelerated)


class _Momentum(NamedTuple):
    """Whether a point is carried ahead, and what makes the momentum start again."""

    accelerated: bool
    monotone: bool
    restart: bool


def _forward_backward_steps(
    objective: Smooth, simple: Simple, point: Array, size: float, searched: bool, momentum: _Momentum
) -> States:
    state = simple.state(objective, point, 1 / size, np.nan)
    ahead, weight = point, 1.0
    while True:
        yield state
        moved, size = _forward_backward(objective, simple, ahead, size, searched)
        if momentum.restart and (ahead - moved) @ (moved - point) > 0:
            weight = 1.0
        following = simple.state(objective, moved, 1 / size, size)
        if momentum.accelerated and momentum.monotone and following.value > state.value:
            moved, size = _forward_backward(objective, simple, point, size, searched)
            following, weight = simple.state(objective, moved, 1 / size, size), 1.0
        next_weight = (1 + (1 + 4 * weight**2) ** 0.5) / 2 if momentum.accelerated else 1.0
        ahead = moved + (weight - 1) / next_weight * (moved - point)
        point, weight, state = moved, next_weight, following


def proximal_newton(
    objective: Smooth,
    penalty: Any,
    start: Any,
    *,
    tol: float = 1e-8,
    max_iter: int = 100,
    keep_points: bool = False,
) -> Composite:
    """Minimise f + Ω by steps to the minimiser of the quadratic model of f plus Ω, damped until they descend.

    Each model is minimised by `proximal_gradient`, the more exactly the nearer the end. Needs a Hessian.

    References
    ----------
    Lee, Sun & Saunders (2014).
    """
    owner = "proximal_newton"
    if objective.hessian is None:
        raise refusal(owner, "objective", "one with a hessian", None)
    simple, point = Simple(owner, penalty), read_start(owner, start, tol=tol, max_iter=max_iter)
    run = follow(_model_steps(objective, simple, point), tol=tol, max_iter=max_iter, keep_points=keep_points)
    size = 1 / _largest_curvature(objective.hessian(run.point))
    return _result(objective, simple, run, size, tol, falls=True)


def _model_steps(objective: Smooth, simple: Simple, point: Array) -> States:
    """Steps to the minimiser of the model, halved until they give a quarter of what its slope promises."""
    assert objective.hessian is not None
    size = np.nan
    while True:
        gradient, hessian = objective.gradient(point), np.asarray(objective.hessian(point), dtype=float)
        scale = _largest_curvature(hessian)
        state = simple.state(objective, point, scale, size)
        yield state
        # A little curvature keeps a singular model bounded; it fades with the residual.
        hessian = hessian + min(1e-3 * scale, state.residual) * np.eye(len(point))
        target = _model_minimiser(simple, hessian, gradient, point, scale, 0.1 * min(state.residual, 1.0))
        direction = target - point
        promised = gradient @ direction + simple.value(target) - simple.value(point)
        size, room = 1.0, 1e-14 * max(1.0, abs(state.value))
        while simple.total(objective, point + size * direction) > state.value + 0.25 * size * promised + room:
            size /= 2
            if size <= 1e-12:
                return
        point = point + size * direction


def _largest_curvature(hessian: Array) -> float:
    return max(float(np.linalg.eigvalsh(hessian)[-1]), 1e-300)


def _model_minimiser(
    simple: Simple, hessian: Array, gradient: Array, point: Array, scale: float, tol: float
) -> Array:
    model = Smooth(
        lambda x: float((x - point) @ (gradient + hessian @ (x - point) / 2)),
        lambda x: gradient + hessian @ (x - point),
        smoothness=1.01 * scale + float(np.diagonal(hessian).max()) * 1e-3,
    )
    enough = min(0.1, tol**0.5) * tol
    return proximal_gradient(model, simple.penalty, point, restart=True, tol=enough, max_iter=5000).point


def _forward_backward(
    objective: Smooth, simple: Simple, point: Array, size: float, search: bool
) -> tuple[Array, float]:
    gradient = objective.gradient(point)
    height = float(objective.value(point)) if search else 0.0
    while True:
        moved = simple.proximal(point - size * gradient, size)
        if not search:
            return moved, size
        change = moved - point
        model = height + gradient @ change + change @ change / (2 * size)
        if objective.value(moved) <= model + 1e-13 * max(1.0, abs(height)) or size < 1e-18:
            return moved, size
        size /= 2


def _result(
    objective: Smooth, simple: Simple, run: DescentRun, size: float, tol: float, *, falls: bool
) -> Composite:
    residual = simple.residual(run.point, objective.gradient(run.point), 1 / size)
    what = "distance of −∇f from ∂Ω" if not simple.is_set else "length of the gradient mapping"
    claim, convex = "Zero is in ∇f + ∂Ω, so the point is a minimiser.", ("f and Ω are convex",)
    zero = at_most(claim, what, residual, tol, "Beck and Teboulle (2009)", assumptions=convex)
    proofs = Certificates([zero, never_rises(run.trace, units=1e3)] if falls else [zero])
    modulus = objective.strong_convexity or 0.0
    bound = residual**2 / (2 * modulus) if modulus and not simple.is_set else np.inf
    return Composite(run.point, run.value, residual, bound, run.n_iter, residual <= tol, run.trace, proofs)


def _step(owner: str, objective: Smooth, step: Any) -> tuple[float, bool]:
    known = objective.smoothness
    if step == "backtracking":
        return (4 / known if known else 1.0), True
    if step == "1/L":
        if not known:
            raise refusal(owner, "step", "a number or 'backtracking' for an f without smoothness", step)
        return 1 / known, False
    if not real(above=0).contains(step):
        words = f"a finite number above 0 or {one_of('1/L', 'backtracking').words}"
        raise refusal(owner, "step", words, step)
    return float(step), False


class CoordinateDescent(NamedTuple):
    """Result of `coordinate_descent`.

    Attributes
    ----------
    coef : array of shape (d,)
    history : array of shape (n_iter + 1,)
        Objective at the start and after each cycle; never rises.
    n_iter : int
    converged : bool
        Whether the last cycle changed no coefficient by more than the tolerance.
    """

    coef: Array
    history: Array
    n_iter: int
    converged: bool

    @property
    def active(self) -> NDArray:
        """Indices of the non-zero coefficients."""
        return np.flatnonzero(self.coef)


@compiled
def lasso_cycle(columns, squares, coef, residual, threshold):  # type: ignore[no-untyped-def]
    """Set each coefficient in turn to sign(v_j)(|v_j| − threshold)₊/‖X_j‖²; returns the largest change."""
    largest = 0.0
    for j in range(coef.size):
        if squares[j] == 0.0:
            continue
        inner = squares[j] * coef[j]
        for i in range(residual.size):
            inner += columns[j, i] * residual[i]
        size = abs(inner) - threshold
        new = 0.0 if size <= 0.0 else (size if inner > 0.0 else -size) / squares[j]
        change = new - coef[j]
        if change != 0.0:
            coef[j] = new
            largest = max(largest, abs(change))
            for i in range(residual.size):
                residual[i] -= change * columns[j, i]
    return largest


def coordinate_descent(
    X: ArrayLike, y: ArrayLike, penalty_strength: float, *, tol: float = 1e-10, max_iter: int = 10_000
) -> CoordinateDescent:
    """Minimise ‖y − Xβ‖² + λ‖β‖₁ one coordinate at a time.

    With v_j = X_jᵀ(y − Σ_{i≠j} β_i X_i) the minimiser in β_j is sign(v_j)(|v_j| − λ/2)₊/‖X_j‖²: zero exactly
    when |v_j| ≤ λ/2. Cycles until none changes by more than `tol`. `sparse_path` is the fast way.

    Parameters
    ----------
    X : array-like of shape (n, d)
    y : array-like of shape (n,)
    penalty_strength : float
        λ, beside the sum of squares.
    tol, max_iter
        Largest change of a coefficient at which to stop, and most cycles.

    Examples
    --------
    >>> from assay.optimize import coordinate_descent
    >>> coordinate_descent([[1.0, 0.0], [0.0, 2.0]], [3.0, 1.0], 2.0).coef
    array([2.  , 0.25])

    References
    ----------
    Douc & Le Corff §6.3.2.
    """
    table, target = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.float64)
    columns = np.ascontiguousarray(table.T)
    squares = np.einsum("ji,ji->j", columns, columns)
    coef, residual = np.zeros(columns.shape[0]), target.copy()
    history = [float(residual @ residual)]
    n_iter, converged = 0, False
    while n_iter < max_iter and not converged:
        change = lasso_cycle(columns, squares, coef, residual, penalty_strength / 2)
        history.append(float(residual @ residual + penalty_strength * np.abs(coef).sum()))
        n_iter, converged = n_iter + 1, bool(change <= tol)
    return CoordinateDescent(coef, np.array(history), n_iter, converged)
