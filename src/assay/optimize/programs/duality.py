"""The dual of a convex problem: its values as lower bounds, Slater's condition, and a primal-dual solver."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np

from assay.certificates import Certificate, Certificates, at_least, at_most
from assay.optimize.descent.newton import newton
from assay.optimize.descent.objective import Smooth
from assay.optimize.programs.dual import SOURCE, proved_bound
from assay.optimize.programs.interior import interior_point
from assay.optimize.programs.program import ConvexProgram
from assay.parameters import integer, real, refusal, require
from assay.penalties import KKTResiduals
from assay.solvers.least_squares.direct import Array


class Slater(NamedTuple):
    """Result of `slater_point`: the point deepest inside the inequalities, or the proof that there is none.

    `depth` is max_i gᵢ at `point`; below zero, Slater's condition holds. Otherwise the convex `multipliers`
    prove that no point goes below `lower_bound` ≥ 0 (up to the tolerance).
    """

    holds: bool
    point: Array
    depth: float
    lower_bound: float
    multipliers: Array
    equality_multipliers: Array
    certificates: Certificates


class ProgramSolution(NamedTuple):
    """Result of `solve_program`."""

    status: Literal["optimal", "infeasible", "unbounded", "not strictly feasible", "not converged"]
    point: Array
    multipliers: Array
    equality_multipliers: Array
    value: float
    dual_value: float
    gap: float
    residuals: KKTResiduals
    n_iter: int
    certificates: Certificates


def slater_point(program: ConvexProgram, *, tol: float = 1e-8, max_iter: int = 100) -> Slater:
    """Look for x with h(x) = 0 and g(x) < 0 by minimising max_i gᵢ.

    References
    ----------
    Rudi & Şimşekli §3.1.3; Sangnier §1.4.5, theorem 38; Wei §1.2.2.
    """
    require("slater_point", real(above=0), tol=tol)
    require("slater_point", integer(at_least=1), max_iter=max_iter)
    matrix, target = program.equality_system()
    start = program.start + np.linalg.lstsq(matrix, target - matrix @ program.start, rcond=None)[0]
    missing = float(np.max(np.abs(matrix @ start - target), initial=0.0))
    if missing > 1e-9 * max(1.0, float(np.abs(target).max(initial=0.0))):
        nu = target - matrix @ start  # orthogonal to the rows' range: Aᵀν = 0 and νᵀb > 0
        claim = "The equalities contradict each other."
        proof = at_least(claim, "νᵀb with Aᵀν = 0", nu @ target, 1e-12, source=SOURCE)
        none = np.zeros(len(program.inequalities))
        return Slater(False, start, np.inf, np.inf, none, nu, Certificates([proof]))
    if not program.inequalities:
        proofs = Certificates([_inside(-np.inf)])
        return Slater(True, start, -np.inf, -np.inf, np.empty(0), np.zeros(len(target)), proofs)
    lifted, last = [_lift(g) for g in program.inequalities], np.eye(len(start) + 1)[-1]
    height = Smooth(lambda x: float(x[-1]), lambda x: last, lambda x: np.zeros((len(x), len(x))))
    top = float(np.max(program.constraint_values(start)[0]))
    begin = np.append(start, top + max(1.0, abs(top)))
    wide = np.column_stack([matrix, np.zeros(len(target))])
    options: Any = {"tol": tol, "max_iter": max_iter, "enough": lambda x: bool(x[-1] < -0.1)}
    deepest, mu, nu, *_ = interior_point(height, lifted, wide, begin, **options)
    point = deepest[:-1] + np.linalg.lstsq(matrix, target - matrix @ deepest[:-1], rcond=None)[0]
    depth = float(np.max(program.constraint_values(point)[0]))
    if depth < -tol:
        return Slater(True, point, depth, -np.inf, mu, nu, Certificates([_inside(depth)]))
    return _no_strict_point(program, point, depth, mu, nu, tol)


def solve_program(program: ConvexProgram, *, tol: float = 1e-8, max_iter: int = 100) -> ProgramSolution:
    """Solve a convex program by a primal-dual interior-point method, from a point of Slater's.

    The four residuals of the optimality conditions and, where the dual can be evaluated, the gap are computed
    from the answer alone. `tol` bounds them relative to the size of the objective and its gradient.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.penalties import Quadratic
    >>> from assay.optimize import ConvexProgram, solve_program
    >>> disk = Quadratic(2 * np.eye(2), [0.0, 0.0], -1.0)
    >>> nearest = ConvexProgram(Quadratic(2 * np.eye(2), [-4.0, 0.0], 4.0), [disk], start=[0.0, 0.0])
    >>> solution = solve_program(nearest)
    >>> solution.point.round(6), solution.multipliers.round(6), solution.certificates.holds
    (array([1., 0.]), array([1.]), True)

    References
    ----------
    Rudi & Şimşekli §3.1.4; Boyd & Vandenberghe (2004), §11.7.
    """
    if not program.convex:
        raise refusal("solve_program", "program", "convex", program.convex)
    slater = slater_point(program, tol=tol, max_iter=max_iter)
    none = np.zeros(len(program.inequalities)), np.zeros(len(program.equalities))
    if not slater.holds:
        empty = slater.lower_bound > tol
        status: Any = "infeasible" if empty else "not strictly feasible"
        value = np.inf if empty else float(program.objective.value(slater.point))
        residuals, proofs = program.kkt_residuals(slater.point, *none), slater.certificates
        return ProgramSolution(status, slater.point, *none, value, -np.inf, np.inf, residuals, 0, proofs)
    functions, matrix = (program.objective, program.inequalities), program.equality_system()[0]
    path = interior_point(*functions, matrix, slater.point, tol=tol, max_iter=max_iter)
    x, mu, nu, n_iter, converged = path
    value, bound = float(program.objective.value(x)), proved_bound(program, mu, nu, x)
    residuals = program.kkt_residuals(x, mu, nu)
    proofs = program_certificates(program, x, mu, nu, tol)
    status = "optimal" if converged and proofs.holds else "not converged"
    if status != "optimal" and value < -1e8 * (1 + abs(float(program.objective.value(slater.point)))):
        status, bound = "unbounded", -np.inf
        room = 1e-6 * max(1.0, float(np.abs(x).max()))
        feasible, bottomless = "Every constraint is satisfied.", "The objective has fallen below any scale."
        inside = at_most(feasible, "primal residual", program.violation(x), room, SOURCE)
        proofs = Certificates([inside, at_most(bottomless, "objective", value, -1e8, SOURCE)])
    return ProgramSolution(status, x, mu, nu, value, bound, value - bound, residuals, n_iter, proofs)


def program_certificates(
    program: ConvexProgram, x: Any, multipliers: Any = (), equality_multipliers: Any = (), tol: float = 1e-8
) -> Certificates:
    """The four conditions, and the gap where the dual is finite, as certificates of any triple (x, μ, ν)."""
    mu, nu = program.read_multipliers(multipliers, equality_multipliers, signed=True)
    point = np.asarray(x, dtype=float)
    residuals = program.kkt_residuals(point, mu, nu)
    slope = float(np.linalg.norm(program.objective.gradient(point)))
    value = float(program.objective.value(point))
    terms = zip([*mu, *nu], [*program.inequalities, *program.equalities], strict=True)
    slope += sum(abs(w) * float(np.linalg.norm(f.gradient(point))) for w, f in terms)
    room = 100 * tol
    claims = {
        "stationarity": ("The gradient of the Lagrangian is zero.", max(1.0, slope)),
        "primal": ("Every constraint is satisfied.", max(1.0, float(np.abs(point).max()))),
        "dual": ("No multiplier of an inequality is negative.", 1.0),
        "complementarity": ("A positive multiplier has a tight constraint.", max(1.0, abs(value))),
    }
    convex = ("f and g are convex, h affine",)
    proofs = [
        at_most(claim, f"{name} residual", getattr(residuals, name), room * size, SOURCE, assumptions=convex)
        for name, (claim, size) in claims.items()
    ]
    bound = proved_bound(program, np.maximum(mu, 0.0), nu, point)
    if np.isfinite(bound):
        claim, assumed = "The objective is within the gap of its minimum.", (*convex, "the point is feasible")
        room *= max(1.0, abs(value))
        proofs.append(at_most(claim, "duality gap", value - bound, room, SOURCE, assumptions=assumed))
    return Certificates(proofs)


def _no_strict_point(
    program: ConvexProgram, point: Array, depth: float, mu: Array, nu: Array, tol: float
) -> Slater:
    share = mu / max(float(mu.sum()), 1e-300)
    scaled = nu / max(float(mu.sum()), 1e-300)
    flat = Smooth(lambda x: 0.0, lambda x: np.zeros_like(x), lambda x: np.zeros((len(x), len(x))), 0.0, 0.0)
    mixture = ConvexProgram(flat, program.inequalities, program.equalities, start=point)
    inner = mixture.at_multipliers(share, scaled)
    # Convexity: no point within r of this one goes below the mixture minus r times its slope.
    reach = 1 + float(np.linalg.norm(point))
    candidates = [point, newton(inner, program.start, tol=1e-16).point]
    slopes = [float(np.linalg.norm(inner.gradient(x))) for x in candidates]
    bound = max(float(inner.value(x)) - reach * slope for x, slope in zip(candidates, slopes, strict=True))
    least = [g.minimum for g in program.inequalities]
    if not scaled.any() and all(value is not None for value in least):
        bound = max(bound, sum(w * float(value or 0.0) for w, value in zip(share, least, strict=True)))
    nowhere = "A convex combination of the constraints is nowhere clearly negative"
    claim, what = f"{nowhere}, so they are not all negative.", "lower bound of max g near the point"
    assumed = ("g is convex, h affine", f"points within {reach:.3g} of the one reached")
    proof = at_least(claim, what, bound, -100 * tol, SOURCE, assumptions=assumed)
    return Slater(False, point, depth, bound, share, scaled, Certificates([proof]))


def _inside(depth: float) -> Certificate:
    claim = "A point satisfies every inequality strictly, so strong duality holds."
    source, assumed = "Rudi & Şimşekli 3.1.3; Sangnier 1.4.5, theorem 38", ("f and g are convex, h affine",)
    return at_most(claim, "largest constraint at the point", depth, -1e-12, source, assumptions=assumed)


def _lift(g: Smooth) -> Smooth:
    """g(x) − t as a function of (x, t)."""
    if g.hessian is None:
        raise refusal("slater_point", "program", "of constraints with hessians", None)
    curvature = g.hessian
    return Smooth(
        lambda x: float(g.value(x[:-1]) - x[-1]),
        lambda x: np.append(g.gradient(x[:-1]), -1.0),
        lambda x: np.pad(curvature(x[:-1]), (0, 1)),
    )
