"""The dual function of a convex program, with a proved lower bound of its value, and the duality gap."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificates, at_most
from assay.optimize.descent.newton import newton
from assay.optimize.descent.objective import Smooth
from assay.optimize.programs.program import ConvexProgram
from assay.parameters import real, refusal
from assay.solvers.least_squares.direct import Array

SOURCE = "Rudi & Şimşekli 3.1; Sangnier 1.4.5"


class DualValue(NamedTuple):
    """inf_x L(x, μ, ν): `value` as found, and a `lower_bound` of it that is proved.

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
    minimiser lies within r = `radius` of the point found.

    References
    ----------
    Rudi & Şimşekli §3.1.1; Sangnier §1.4.5.
    """
    mu, nu = program.read_multipliers(multipliers, equality_multipliers)
    if radius is not None and not real(at_least=0).contains(radius):
        raise refusal("dual_value", "radius", "None or a finite number at least 0", radius)
    if program.dual is not None:
        value = float(program.dual(mu, nu))
        return DualValue(value, value, None, _below(program, value))
    if not program.convex:
        raise refusal(
            "dual_value", "program", "convex, or one with a closed form of its dual", program.convex
        )
    inner = program.at_multipliers(mu, nu)
    point = program.start if start is None else np.asarray(start, dtype=float)
    if inner.hessian is None:
        raise refusal("dual_value", "program", "of functions with hessians, or with a closed form", None)
    if inner.smoothness == 0.0:
        flat = float(np.linalg.norm(inner.gradient(point))) <= 1e-12 * (1 + sum(mu) + float(np.abs(nu).sum()))
        value = float(inner.value(point)) if flat else -np.inf
        return DualValue(value, value, point if flat else None, _below(program, value))
    found = newton(inner, point, tol=1e-14, max_iter=200)
    gradient = found.gradient_norm
    if not found.converged or _keeps_falling(inner, found.point):
        return DualValue(-np.inf, -np.inf, None, _below(program, -np.inf))
    slack = np.inf
    if inner.strong_convexity:
        slack = gradient**2 / (2 * inner.strong_convexity)
    if radius is not None:
        slack = min(slack, gradient * radius)
    bound = found.value - slack
    return DualValue(found.value, bound, found.point, _below(program, bound))


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
    return (
        program.primal_value(x)
        - dual_value(program, multipliers, equality_multipliers, radius=radius).lower_bound
    )


def proved_bound(program: ConvexProgram, mu: Array, nu: Array, near: Array) -> float:
    """The proved lower bound of the dual, −∞ where there is none."""
    try:
        found = dual_value(program, mu, nu, start=near)
    except ValueError:
        return -np.inf
    return found.lower_bound if np.isfinite(found.lower_bound) else -np.inf


def _below(program: ConvexProgram, bound: float) -> Certificates:
    """Weak duality seen at the start, when that is feasible."""
    value = program.primal_value(program.start)
    return Certificates(
        [
            at_most(
                "The value of the dual is below the objective at a feasible point.",
                "value of the dual",
                bound,
                value,
                source=SOURCE,
                tolerance=1e-9 * max(1.0, abs(value)) if np.isfinite(value) else 0.0,
            )
        ]
    )


def _keeps_falling(inner: Smooth, point: Array) -> bool:
    """Whether the decrement is only small because the slope fades far away: going on lowers the value."""
    length = float(np.linalg.norm(point))
    far = point * (1 + 1e3) if length > 1e6 else point
    return bool(length > 1e6 and inner.value(far) < inner.value(point))
