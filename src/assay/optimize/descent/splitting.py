"""The alternating direction method of multipliers: two simple functions under a linear constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from assay.certificates import Certificates, at_most
from assay.optimize.descent.iteration import read_start
from assay.optimize.descent.newton import newton
from assay.optimize.descent.objective import Smooth
from assay.parameters import Domain, boolean, matrix, nothing, real, refusal, require, vector
from assay.penalties import ConvexSet
from assay.solvers.least_squares.direct import Array

Update: TypeAlias = "Callable[[Array, float], Array]"
"""(v, ρ) ↦ argmin_x f(x) + (ρ/2)‖Ax − v‖²."""

BELOW_TWO = Domain("a number above 0 and below 2", lambda value: real(above=0).contains(value) and value < 2)
SOURCE = "Boyd and others (2011)"


class Splitting(NamedTuple):
    """Result of `admm`: both points, the multipliers of Ax + Bz = c, and the residuals of every iteration."""

    point: Array
    other: Array
    multipliers: Array
    penalty: float
    n_iter: int
    converged: bool
    primal_residuals: Array
    dual_residuals: Array
    certificates: Certificates


def admm(
    first: Any,
    second: Any,
    start: Any,
    *,
    constraint: tuple[Any, Any, Any] = (None, None, None),
    penalty: float = 1.0,
    relaxation: float = 1.0,
    adaptive: bool = False,
    tol: float = 1e-8,
    max_iter: int = 10_000,
) -> Splitting:
    """Minimise f(x) + g(z) subject to Ax + Bz = c, by turns in x, in z and in the multipliers.

    Parameters
    ----------
    first, second : Smooth, Penalty, ConvexSet or callable
        f and g. A Smooth needs a Hessian; penalties and sets need a multiple of the identity as matrix; a
        callable (v, ρ) ↦ argmin f(x) + (ρ/2)‖Ax − v‖² serves any.
    start : array-like
        z₀.
    constraint : tuple (A, B, c) of array-likes or None
        None stands for the identity, for minus the identity and for zero, so that x = z by default.
    penalty, relaxation : float, default=1.0
        ρ > 0, and a number between 0 and 2 of which 1.5 to 1.8 is often faster.
    adaptive : bool, default=False
        Whether ρ is doubled or halved, in the first half of the iterations, when residuals are 10 : 1.
    tol : float, default=1e-8
        Stops when both residuals are at most tol · (√dimension + the size of what they compare).
    max_iter : int, default=10000

    Examples
    --------
    >>> from assay.penalties import L1
    >>> from assay.optimize import admm, quadratic
    >>> result = admm(quadratic([[1.0, 0.0], [0.0, 1.0]], [3.0, 0.5]), L1(1.0), [0.0, 0.0])
    >>> result.other.round(6), result.certificates.holds
    (array([2., 0.]), True)

    References
    ----------
    Boyd, Parikh, Chu, Peleato & Eckstein (2011), §3.
    """
    require("admm", real(above=0), penalty=penalty, tol=tol)
    require("admm", boolean, adaptive=adaptive)
    require("admm", BELOW_TWO, relaxation=relaxation)
    z, left, right, offset = _read(start, *constraint, max_iter)
    update_x, update_z = _update("first", first, left), _update("second", second, right)
    rho, scaled = float(penalty), np.zeros(len(offset))
    residuals: list[tuple[float, float]] = []
    image, converged = right @ z, False
    # Invariant: `scaled` is the multipliers over ρ, what Ax + Bz = c has been missed by so far.
    while len(residuals) < max_iter and not converged:
        x = np.asarray(update_x(offset - image - scaled, rho), dtype=float)
        # Over-relaxation mixes the new Ax with the value that the last z asks for.
        mixed = relaxation * (left @ x) + (1 - relaxation) * (offset - image)
        z = np.asarray(update_z(offset - mixed - scaled, rho), dtype=float)
        before, image = image, right @ z
        scaled = scaled + mixed + image - offset
        primal, dual = _norm(left @ x + image - offset), _norm(rho * (left.T @ (image - before)))
        residuals.append((primal, dual))
        size, slope = max(map(_norm, (left @ x, image, offset))), _norm(rho * (left.T @ scaled))
        converged = primal <= tol * (len(offset) ** 0.5 + size) and dual <= tol * (len(x) ** 0.5 + slope)
        if adaptive and not converged and len(residuals) < max_iter // 2:
            factor = 2.0 if primal > 10 * dual else 0.5 if dual > 10 * primal else 1.0
            rho, scaled = rho * factor, scaled / factor
    proofs = admm_certificates(first, second, x, z, rho * scaled, left, right, offset, tol)
    primals, duals = np.array(residuals).T
    return Splitting(x, z, rho * scaled, rho, len(residuals), converged, primals, duals, proofs)


def _norm(values: Array) -> float:
    return float(np.linalg.norm(values))


def admm_certificates(
    first: Any, second: Any, x: Array, z: Array, multipliers: Array, A: Any, B: Any, c: Any, tol: float
) -> Certificates:
    """Feasibility, and stationarity of both points where the functions can tell their subdifferential."""
    left, right, offset = np.asarray(A, dtype=float), np.asarray(B, dtype=float), np.asarray(c, dtype=float)
    size = 1 + max(_norm(left @ x), _norm(right @ z))
    room = 100 * tol * len(offset) ** 0.5
    gap = _norm(left @ x + right @ z - offset)
    claim = "The points satisfy Ax + Bz = c."
    proofs = [at_most(claim, "primal residual", gap, room * size, source=SOURCE)]
    for name, function, point, linear in (("x", first, x, left), ("z", second, z, right)):
        slope = linear.T @ multipliers
        distance = _stationarity(function, point, slope)
        if distance is not None:
            claim, limit = f"No change of {name} lowers the Lagrangian.", room * (1 + _norm(slope))
            convex = ("f and g are convex",)
            what = f"stationarity in {name}"
            proofs.append(at_most(claim, what, distance, limit, SOURCE, assumptions=convex))
    return Certificates(proofs)


def _stationarity(function: Any, point: Array, slope: Array) -> float | None:
    """Distance from zero to ∂f(x) + Aᵀy."""
    if isinstance(function, Smooth):
        return _norm(function.gradient(point) + slope)
    if isinstance(function, ConvexSet):
        return _norm(point - function.project(point - slope))
    if hasattr(function, "subgradient_distance"):
        return _norm(function.subgradient_distance(point, -slope))
    return None


def _update(name: str, function: Any, linear: Array) -> Update:
    if isinstance(function, Smooth):
        return _newton_update(name, function, linear)
    if isinstance(function, ConvexSet) or hasattr(function, "proximal"):
        sign = float(linear[0, 0])
        if linear.shape[0] != linear.shape[1] or not np.array_equal(linear, sign * np.eye(len(linear))):
            words = "a Smooth or a callable, unless its matrix is a multiple of the identity"
            raise refusal("admm", name, words, function)
        if isinstance(function, ConvexSet):
            return lambda v, rho: function.project(v / sign)
        return lambda v, rho: function.proximal(v / sign, 1 / (rho * sign**2))
    if not callable(function):
        raise refusal("admm", name, "a Smooth, a penalty, a ConvexSet or a callable", function)
    update: Update = function
    return update


def _newton_update(name: str, function: Smooth, linear: Array) -> Update:
    if function.hessian is None:
        raise refusal("admm", name, "a Smooth with a hessian, or a callable", function)
    curvature = function.hessian
    gram = linear.T @ linear
    last = np.zeros(linear.shape[1])

    def update(v: Array, rho: float) -> Array:
        nonlocal last
        model = Smooth(
            lambda x: float(function.value(x)) + rho / 2 * float(np.sum((linear @ x - v) ** 2)),
            lambda x: function.gradient(x) + rho * (linear.T @ (linear @ x - v)),
            lambda x: curvature(x) + rho * gram,
        )
        last = newton(model, last, tol=1e-20, max_iter=50).point
        return last

    return update


def _read(start: Any, A: Any, B: Any, c: Any, max_iter: int) -> tuple[Array, Array, Array, Array]:
    z = read_start("admm", start, max_iter=max_iter)
    require("admm", nothing | matrix, A=A, B=B)
    right = -np.eye(len(z)) if B is None else np.asarray(B, dtype=float)
    left = np.eye(len(right)) if A is None else np.asarray(A, dtype=float)
    if right.shape[1] != len(z) or len(left) != len(right):
        raise refusal("admm", "B", f"a matrix of {len(left)} rows and {len(z)} columns", right.shape)
    require("admm", nothing | vector(len(right)), c=c)
    return z, left, right, np.zeros(len(right)) if c is None else np.asarray(c, dtype=float)
