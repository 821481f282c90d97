"""The dual problem, climbed by projected gradient ascent, and one that never reaches its primal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from assay.certificates import Certificates, at_most
from assay.optimize.descent.objective import Smooth
from assay.optimize.programs.dual_value import SOURCE, dual_value
from assay.optimize.programs.program import ConvexProgram
from assay.parameters import integer, real, refusal
from assay.solvers.least_squares.direct import Array


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
    >>> found = solve_dual(nearest)
    >>> found.equality_multipliers.round(6), round(found.value, 6), found.minimiser.round(6)
    (array([-1.]), 1.0, array([1., 1.]))

    References
    ----------
    Rudi & Şimşekli §3.1.1.
    """
    if not real(above=0).contains(tol):
        raise refusal("solve_dual", "tol", "a finite number above 0", tol)
    if not integer(at_least=1).contains(max_iter):
        raise refusal("solve_dual", "max_iter", "an int at least 1", max_iter)
    m, k = len(program.inequalities), len(program.equalities)
    point = np.concatenate([np.ones(m), np.zeros(k)])  # inside the cone, where D is more often finite
    found = dual_value(program, point[:m], point[m:])
    if found.minimiser is None:
        raise refusal(
            "solve_dual", "program", "one whose Lagrangian has a minimiser at μ = 1, ν = 0", program
        )
    value, x, step, values = found.value, found.minimiser, 1.0, [found.value]
    for _ in range(max_iter):
        slope = np.concatenate(program.constraint_values(x))
        if np.linalg.norm(_project(point + slope, m) - point) <= tol:
            break
        while step > 1e-18:
            moved = _project(point + step * slope, m)
            found = dual_value(program, moved[:m], moved[m:], start=x)
            change = moved - point
            if found.minimiser is not None and found.value >= value + slope @ change - change @ change / (
                2 * step
            ) - 1e-14 * max(1.0, abs(value)):
                break
            step /= 2
        else:
            break
        point, value, step = moved, found.value, 2 * step
        x = x if found.minimiser is None else found.minimiser
        values.append(value)
    residual = float(
        np.linalg.norm(_project(point + np.concatenate(program.constraint_values(x)), m) - point)
    )
    proof = at_most(
        "No projected step of ascent is left, so the multipliers maximise the dual.",
        "length of the projected gradient of the dual",
        residual,
        tol,
        source=SOURCE,
        assumptions=("f and g are convex, h affine", "the Lagrangian has one minimiser"),
    )
    return DualSolution(
        point[:m],
        point[m:],
        value,
        x,
        len(values) - 1,
        residual <= tol,
        np.array(values),
        Certificates([proof]),
    )


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
    return ConvexProgram(
        falling, [Smooth(ratio, slope, curvature, minimum=0.0)], start=[1.0, 1.0], dual=lambda mu, nu: 0.0
    )


def _project(point: Array, m: int) -> Array:
    return np.concatenate([np.maximum(point[:m], 0.0), point[m:]])
