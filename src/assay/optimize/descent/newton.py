"""Second-order steps and the top of a spectrum."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.certificates import Certificates, Details, at_most
from assay.optimize.descent.iteration import DescentState, States, follow, read_start, seen, stationary
from assay.optimize.descent.objective import Smooth
from assay.optimize.descent.trace import Trace
from assay.parameters import refusal
from assay.randomness import RandomState, generator
from assay.solvers.least_squares.direct import Array
from assay.solvers.smooth.newton import newton_direction


class Newton(NamedTuple):
    """Result of `newton`."""

    point: Array
    value: float
    gradient_norm: float
    decrement: float
    n_iter: int
    converged: bool
    trace: Trace
    certificates: Certificates


class Eigenpair(NamedTuple):
    """Result of `power_iteration`."""

    value: float
    vector: Array
    residual: float
    n_iter: int
    converged: bool
    certificates: Certificates


def newton(
    objective: Smooth, start: Any, *, tol: float = 1e-12, max_iter: int = 100, keep_points: bool = False
) -> Newton:
    """Minimise a convex objective by damped Newton steps, stopping on the Newton decrement.

    The decrement is λ² = ∇fᵀH⁻¹∇f; λ²/2 is what the quadratic model still promises to gain, in the unit of f
    and in any coordinates. Stops when λ²/2 ≤ tol. A step is halved until it gives a quarter of the
    decrease its slope promises. A singular Hessian is shifted by a trace of its size.

    Examples
    --------
    >>> from assay.optimize import newton, quadratic
    >>> result = newton(quadratic([[2.0, 0.0], [0.0, 8.0]], [2.0, 8.0]), [30.0, -7.0])
    >>> result.point, result.n_iter
    (array([1., 1.]), 1)
    """
    if objective.hessian is None:
        raise refusal("newton", "objective", "one with a hessian", None)
    first = read_start("newton", start, tol=tol, max_iter=max_iter)
    run = follow(_damped(objective, first), tol=tol, max_iter=max_iter, keep_points=keep_points)
    # H is the curvature at the answer: ‖∇f‖² ≤ λ_max(H) λ², whatever the size of the problem.
    curvature = float(np.linalg.eigvalsh(objective.hessian(run.point))[-1])
    proof = stationary(objective, run.point, float(np.sqrt(2 * tol * max(curvature, 0.0))))
    return Newton(*run[:3], 2 * run.left, run.n_iter, run.converged, run.trace, Certificates([proof]))


def _damped(objective: Smooth, point: Array) -> States:
    """Newton's points; what is left is half of the decrement."""
    assert objective.hessian is not None
    size = np.nan
    while True:
        value, gradient, norm = seen(objective, point)
        hessian = objective.hessian(point)
        # A trace of curvature where the diagonal has none: along a slope the step is then a long one.
        least = 1e-12 * max(float(np.abs(hessian).max()), 1e-30)
        curved = hessian + np.diag(np.where(np.diagonal(hessian) < least, least, 0.0))
        direction, promised = newton_direction(curved, gradient)
        yield DescentState(point, value, norm, size, promised)
        size, room = 1.0, 4 * float(np.finfo(float).eps) * abs(value)
        while objective.value(point + size * direction) > value - size * promised / 2 + room:
            size /= 2
            if size < 1e-20:
                return
        point = point + size * direction


def rayleigh_quotient(A: Any, x: Any) -> float:
    """xᵀAx/xᵀx, at most the largest eigenvalue of a symmetric A."""
    matrix, vector = np.asarray(A, dtype=float), np.asarray(x, dtype=float)
    return float(vector @ (matrix @ vector) / (vector @ vector))


def power_iteration(
    A: Any,
    start: Any = None,
    *,
    shift: float | None = None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    random_state: RandomState = None,
) -> Eigenpair:
    """Largest eigenvalue λ₁ of a symmetric matrix and a unit vector where xᵀAx reaches it.

    Iterates x ← (A + sI)x/‖(A + sI)x‖ until ‖Ax − ρx‖ ≤ tol ‖A‖₁, ρ = xᵀAx. By default s makes every
    eigenvalue non-negative (Gershgorin's discs), so that the largest one wins and not the largest in size;
    `shift=0` is faster on a matrix known to be positive semi-definite. The residual certifies that some
    eigenvalue is within it of ρ, whatever the start; that it is the largest needs a start that is not
    orthogonal to its vectors, as a random one is not.
    """
    matrix = np.asarray(A, dtype=float)
    square = matrix.ndim == 2 and matrix.shape[0] == matrix.shape[1] > 0
    if not square or not np.allclose(matrix, matrix.T, rtol=1e-10, atol=1e-12 * np.abs(matrix).max()):
        raise refusal("power_iteration", "A", "a symmetric matrix", A)
    if start is None:
        start = generator(random_state).standard_normal(len(matrix))
    x = read_start("power_iteration", start, tol=tol, max_iter=max_iter)
    if not np.any(x):
        raise refusal("power_iteration", "start", "a vector other than zero", start)
    x = x / np.linalg.norm(x)
    if shift is None:
        diagonal = np.diag(matrix)
        shift = max(0.0, -float(np.min(diagonal - (np.abs(matrix).sum(axis=1) - np.abs(diagonal)))))
    scale = float(np.abs(matrix).sum(axis=0).max())
    iteration = 0
    while True:
        image = matrix @ x
        value = float(x @ image)
        residual = float(np.linalg.norm(image - value * x))
        if residual <= tol * scale or iteration == max_iter:
            break
        moved = image + shift * x
        x = moved / np.linalg.norm(moved)
        iteration += 1
    claim = "An eigenvalue lies within the residual of the Rayleigh quotient."
    off = np.linalg.norm(matrix @ x - rayleigh_quotient(matrix, x) * x)
    details = Details(assumptions=("A is symmetric",), tolerance=8 * float(np.finfo(float).eps) * scale)
    proof = at_most(claim, "‖Ax − ρx‖", off, tol * scale, "Wei 1.2.4", **details)
    return Eigenpair(value, x, residual, iteration, residual <= tol * scale, Certificates([proof]))
