"""The dual function of a convex program, with a proved lower bound of its value; the dual problem."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificates, at_most
from assay.optimize.descent.iteration import DescentState, States, follow
from assay.optimize.descent.newton import newton
from assay.optimize.descent.objective import Smooth
from assay.optimize.programs.program import ConvexProgram
from assay.parameters import integer, nothing, real, refusal, require
from assay.solvers.least_squares.direct import Array

SOURCE = "Rudi & Şimşekli 3.1; Sangnier 1.4.5"


class DualValue(NamedTuple):
    """inf_x L(x, μ, ν): `value` as computed, and a `lower_bound` of it that is proved.

    The bound is −∞ where nothing proves one: an unbounded Lagrangian, or a descent without a modulus of
    strong convexity or a `radius` to turn its last gradient into a bound.
    """

    value: float
    lower_bound: float
    minimiser: Array | None
    certificates: Certificates


def dual_value(
    program: ConvexProgram,
    multipliers: Any = (),
    equality_multipliers: Any = (),
    *,
    radius: float | None = None,
    start: Any = None,
) -> DualValue:
    """D(μ, ν) = inf_x L(x, μ, ν), a lower bound of the objective at every feasible point (weak duality).

    The closed form of the program is used where it has one. Otherwise L is minimised by Newton's method and
    its last gradient g gives the bound L − ‖g‖²/(2α) from a modulus α, or L − r‖g‖ from a promise that a
    minimiser lies within r = `radius` of the point reached.

    References
    ----------
    Rudi & Şimşekli §3.1.1; Sangnier §1.4.5.
    """
    mu, nu = program.read_multipliers(multipliers, equality_multipliers)
    require("dual_value", nothing | real(at_least=0), radius=radius)
    if program.dual is not None:
        value = float(program.dual(mu, nu))
        return DualValue(value, value, None, _below(program, value))
    if not program.convex:
        words = "convex, or one with a closed form of its dual"
        raise refusal("dual_value", "program", words, program.convex)
    inner = program.at_multipliers(mu, nu)
    point = program.start if start is None else np.asarray(start, dtype=float)
    if inner.hessian is None:
        raise refusal("dual_value", "program", "of functions with hessians, or with a closed form", None)
    if inner.smoothness == 0.0:
        flat = float(np.linalg.norm(inner.gradient(point))) <= 1e-12 * (1 + sum(mu) + float(np.abs(nu).sum()))
        value = float(inner.value(point)) if flat else -np.inf
        return DualValue(value, value, point if flat else None, _below(program, value))
    lowest = newton(inner, point, tol=1e-14, max_iter=200)
    # Far away a decrement may be small only because the slope fades: going on then lowers the value.
    fading = float(np.linalg.norm(lowest.point)) > 1e6 and inner.value(lowest.point * 1001) < lowest.value
    if not lowest.converged or fading:
        return DualValue(-np.inf, -np.inf, None, _below(program, -np.inf))
    slack = lowest.gradient_norm**2 / (2 * inner.strong_convexity) if inner.strong_convexity else np.inf
    if radius is not None:
        slack = min(slack, lowest.gradient_norm * radius)
    bound = lowest.value - slack
    return DualValue(lowest.value, bound, lowest.point, _below(program, bound))


def duality_gap(
    program: ConvexProgram,
    x: Any,
    multipliers: Any = (),
    equality_multipliers: Any = (),
    *,
    radius: float | None = None,
) -> float:
    """f(x) − D(μ, ν), from the proved bound of D: how far a feasible x can be from the minimum.

    ∞ for a point that is not feasible, and where nothing bounds the dual (see `dual_value` for `radius`).

    References
    ----------
    Rudi & Şimşekli §3.1.2.
    """
    dual = dual_value(program, multipliers, equality_multipliers, radius=radius)
    return program.primal_value(x) - dual.lower_bound


def proved_bound(program: ConvexProgram, mu: Array, nu: Array, near: Array) -> float:
    """The proved lower bound of the dual, −∞ where there is none."""
    try:
        bound = dual_value(program, mu, nu, start=near).lower_bound
    except ValueError:
        return -np.inf
    return bound if np.isfinite(bound) else -np.inf


def _below(program: ConvexProgram, bound: float) -> Certificates:
    """Weak duality seen at the start, when that is feasible."""
    value = program.primal_value(program.start)
    room = 1e-9 * max(1.0, abs(value)) if np.isfinite(value) else 0.0
    claim = "The value of the dual is below the objective at a feasible point."
    return Certificates([at_most(claim, "value of the dual", bound, value, source=SOURCE, tolerance=room)])


class DualSolution(NamedTuple):
    """Result of `solve_dual`; `minimiser` is the x at which the last Lagrangian is least."""

    multipliers: Array
    equality_multipliers: Array
    value: float
    minimiser: Array
    n_iter: int
    converged: bool
    values: Array
    certificates: Certificates


def solve_dual(program: ConvexProgram, *, tol: float = 1e-7, max_iter: int = 1000) -> DualSolution:
    """Maximise D(μ, ν) over μ ≥ 0 by projected gradient ascent with backtracking.

    D is concave and its gradient is (g(x), h(x)) at the minimiser x of L(·, μ, ν), where that is unique.
    Stops when a projected step of unit length would move the multipliers by at most `tol`; then x violates no
    constraint by more than that, and complementarity holds to the same measure.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Quadratic
    >>> from assay.optimize import ConvexProgram, solve_dual
    >>> nearest = ConvexProgram(Quadratic(np.eye(2), [0.0, 0.0]), [], [Quadratic(None, [1.0, 1.0], -2.0)],
    ...                         start=[0.0, 0.0])
    >>> dual = solve_dual(nearest)
    >>> dual.equality_multipliers.round(6), round(dual.value, 6), dual.minimiser.round(6)
    (array([-1.]), 1.0, array([1., 1.]))

    References
    ----------
    Rudi & Şimşekli §3.1.1.
    """
    require("solve_dual", real(above=0), tol=tol)
    require("solve_dual", integer(at_least=1), max_iter=max_iter)
    m, k = len(program.inequalities), len(program.equalities)
    point = np.concatenate([np.ones(m), np.zeros(k)])  # inside the cone, where D is more often finite
    first = dual_value(program, point[:m], point[m:])
    if first.minimiser is None:
        words = "one whose Lagrangian has a minimiser at μ = 1, ν = 0"
        raise refusal("solve_dual", "program", words, program)
    x = first.minimiser

    def states() -> States:
        nonlocal point, x
        value, step = first.value, 1.0
        while True:
            slope = np.concatenate(program.constraint_values(x))
            yield DescentState(point, value, float(np.linalg.norm(_project(point + slope, m) - point)), step)
            # D lies above its quadratic model for steps that are short enough.
            while step > 1e-18:
                moved = _project(point + step * slope, m)
                tried, change = dual_value(program, moved[:m], moved[m:], start=x), moved - point
                promised = slope @ change - change @ change / (2 * step) - 1e-14 * max(1.0, abs(value))
                if tried.minimiser is not None and tried.value >= value + promised:
                    break
                step /= 2
            else:
                return
            point, value, step = moved, tried.value, 2 * step
            x = x if tried.minimiser is None else tried.minimiser

    run = follow(states(), tol=tol, max_iter=max_iter)
    left = np.linalg.norm(_project(point + np.concatenate(program.constraint_values(x)), m) - point)
    claim = "No projected step of ascent is left, so the multipliers maximise the dual."
    assumed = ("f and g are convex, h affine", "the Lagrangian has one minimiser")
    what = "length of the projected gradient of the dual"
    proof = at_most(claim, what, left, tol, SOURCE, assumptions=assumed)
    values, proofs = run.trace.values, Certificates([proof])
    return DualSolution(point[:m], point[m:], run.value, x, run.n_iter, run.converged, values, proofs)


def duality_counterexample() -> ConvexProgram:
    """A convex problem without strong duality: min e^{−x} subject to x²/y ≤ 0 on y > 0.

    Only x = 0 is feasible, so p* = 1; but inf_x,y e^{−x} + μx²/y = 0 for every μ ≥ 0 (let x and y/x² go to
    infinity), so d* = 0. There is no point with x²/y < 0: Slater's condition fails.

    References
    ----------
    Rudi & Şimşekli §3.1.3; Boyd & Vandenberghe (2004), exercise 5.21.
    """

    def ratio(z: Array) -> float:
        return float(z[0] ** 2 / z[1]) if z[1] > 0 else np.inf

    def slope(z: Array) -> Array:
        return np.array([2 * z[0] / z[1], -(z[0] ** 2) / z[1] ** 2])

    def curvature(z: Array) -> Array:
        x, y = z
        return np.array([[2 / y, -2 * x / y**2], [-2 * x / y**2, 2 * x**2 / y**3]])

    falling = Smooth(
        lambda z: float(np.exp(-z[0])) if z[1] > 0 else np.inf,
        lambda z: np.array([-np.exp(-z[0]), 0.0]),
        lambda z: np.diag([np.exp(-z[0]), 0.0]),
    )
    constraint = Smooth(ratio, slope, curvature, minimum=0.0)
    return ConvexProgram(falling, [constraint], start=[1.0, 1.0], dual=lambda mu, nu: 0.0)


def _project(point: Array, m: int) -> Array:
    return np.concatenate([np.maximum(point[:m], 0.0), point[m:]])
