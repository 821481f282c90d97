"""Interior point for losses with corners: quantile regression, hinge and ε-insensitive machines.

Minimises ½θᵀPθ + Σ_j λ_j|θ_j| + Σ_i [u_i (r_i)₊ + l_i (r_i)₋], r = c − Aθ. With r = p − q and ν between −l
and u the optimality conditions are Pθ = Aᵀν, p ⟂ u − ν and q ⟂ l + ν. Newton steps on them with the right
sides μβ_i (β = u + l, so that a weight is a repetition) need one matrix P + AᵀWA of the size of θ each, and
two cheap walks: Mehrotra's predictor and corrector. |θ_j| is one more row, the unit vector e_j with slopes
λ_j; an ε-insensitive row is two rows with offsets ∓ε and the same a_i.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy import linalg

from assay.losses import SidedLoss
from assay.parameters import refusal
from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.face import State, begin_rows, gap_of, objective_of, onto_face, pull_step, slacks
from assay.solvers.piecewise.frame import Frame, MachineLoss, design, gram, pulled, require_spread, scores
from assay.solvers.piecewise.gap import PERFECT

EPSILON = float(np.finfo(float).eps)
SINGULAR = 1e-12
"""Eigenvalues below this share of the largest are taken for zero."""


class Interior(NamedTuple):
    """Result of `interior_point`: θ, one ν per row, and how the iteration ended."""

    point: Array
    dual: Array
    n_iter: int
    converged: bool
    gaps: list[float]


def interior_point(
    data: Rows,
    machine: MachineLoss[SidedLoss],
    frame: Frame,
    penalty: Array,
    l1: Array | None = None,
    *,
    tol: float,
    max_iter: int,
    report: Callable[[Array], bool] = lambda point: False,
) -> Interior:
    """Minimise a sided loss with corners, a diagonal quadratic and an l1 penalty, to a relative gap of `tol`.

    The rows are in this process (`local`): a few numbers are kept for each. `penalty` is the diagonal of P
    and `l1` has the λ_j, in the coordinates of the frame. `report` is told θ; true asks to stop.
    """
    if not isinstance(machine.loss, SidedLoss) or not machine.loss.cornered:
        raise refusal("interior_point", "loss", "a sided loss with corners", machine.loss)
    states, point, spread = _start(data, machine, frame, penalty, l1)
    require_spread(max(spread, 1.0))
    mass = float(np.sum(states[0].upper + states[0].lower))
    if objective_of(states, penalty, point) <= 8 * EPSILON * np.abs(point).max(initial=0.0) * mass:
        # The constant of the start already costs nothing.
        return Interior(point, np.zeros(data.shape[0]), 1, True, [0.0])
    require_spread(spread)
    pull = data.reduce(pull_step, frame, rowwise=(states[0].nu,))
    started = max(objective_of(states, penalty, point), 1e-300)
    gaps: list[float] = []
    converged, iteration = False, 0
    # Every iterate is strictly inside: p, q > 0 and −l < ν < u, so that all slacks may be divided by.
    while iteration < max_iter:
        iteration += 1
        direction, after = _newton(data, frame, states, penalty, point, pull)
        # Slacks that rounded to 0 end it where it is: the last point is as good as the numbers are.
        if direction is None or not _finite(direction, states):
            break
        primal, dual = (_largest_step(states, which) for which in ("primal", "dual"))
        if penalty.any():
            primal = dual = min(primal, dual)
        _advance(states, primal, dual)
        point = point + primal * direction
        pull = pull + dual * (after - pull)
        objective = objective_of(states, penalty, point)
        gap = gap_of(states, penalty, point, pull) / max(objective, PERFECT * started)
        stalled = len(gaps) > 5 and gap > 0.9 * min(gaps[-5:]) and gap < 1e-6
        gaps.append(gap)
        converged = gap <= tol
        if report(point) or converged or stalled or max(primal, dual) < 1e-12:
            break
    point, nu = onto_face(data, frame, states, penalty, point, spread)
    return Interior(point, nu.sum(axis=1), iteration, converged, gaps)


def _start(
    data: Rows, machine: MachineLoss[SidedLoss], frame: Frame, penalty: Array, l1: Array | None
) -> tuple[list[State], Array, float]:
    """The states of the rows and of the l1 penalty, θ, and the size of residuals."""
    m, point = 1 if machine.loss.row_form.epsilon == 0 else 2, np.zeros(len(penalty))
    l1 = np.zeros(len(penalty)) if l1 is None else l1
    rows = State(*(np.zeros((data.shape[0], m)) for _ in State._fields))
    weight, total = data.reduce(begin_rows, machine, rowwise=(rows.upper, rows.lower, rows.residual))
    if frame.intercept:
        point[-1] = total / weight if weight > 0 else 0.0
        rows.residual[:] -= point[-1]
    mass = max(float((rows.upper + rows.lower).sum()), 1e-300)
    spread = float(np.sum((rows.upper + rows.lower) * np.abs(rows.residual))) / mass
    if spread == 0 and frame.intercept and penalty[-1] > 0:
        # One target for all rows, as when they are of one class: its constant costs by the penalty alone.
        rows.residual[:] += point[-1]
        spread, point[-1] = abs(point[-1]), 0.0
    if spread == 0:
        return [rows], point, spread
    _begin(rows, spread)
    if not np.any(l1 > 0):
        return [rows], point, spread
    edges = State(*(np.zeros((len(l1), 1)) for _ in State._fields))
    edges.upper[:, 0] = edges.lower[:, 0] = l1
    _begin(edges, spread)
    return [rows, edges], point, spread


def _begin(state: State, spread: float) -> None:
    """A point inside: ν = 0 where that is inside the box, its middle elsewhere."""
    inside = (state.upper > 0) & (state.lower > 0)
    state.nu[:] = np.where(inside, 0.0, (state.upper - state.lower) / 2)
    state.p[:] = np.maximum(state.residual, 0) + spread
    state.q[:] = state.p - state.residual


def normal_step(block: Block, frame: Frame, *arrays: Array) -> tuple[Array, Array]:
    """AᵀWA and Aᵀ(ν + W r) of one block."""
    state = State(*arrays)
    *_, inverse = slacks(state)
    right = pulled(block, frame, (state.nu + inverse * state.residual).sum(axis=1))
    return gram(design(block, frame, np.sqrt(inverse.sum(axis=1))), frame), right


def predict_step(block: Block, frame: Frame, direction: Array, *arrays: Array) -> tuple[Array, Array]:
    """The corrector's right sides: of μ and of the second-order terms of the predictor."""
    state = State(*arrays)
    per_mu, second = _predict(state, scores(block, frame, direction)[:, None])
    return pulled(block, frame, per_mu), pulled(block, frame, second)


def _predict(state: State, move: Array) -> tuple[Array, Array]:
    """Write the affine moves and their products; right sides per row."""
    above, under, beta, inverse = slacks(state)
    state.d_nu[:] = inverse * (state.residual - move)
    dead = beta == 0
    state.d_p[:] = np.where(dead, 0.0, -state.p + state.p / above * state.d_nu)
    state.d_q[:] = np.where(dead, 0.0, -state.q - state.q / under * state.d_nu)
    state.c_p[:] = -state.d_p * state.d_nu
    state.c_q[:] = state.d_q * state.d_nu
    per_mu = inverse * beta * (1 / under - 1 / above)
    second = inverse * (state.c_p / above - state.c_q / under)
    return per_mu.sum(axis=1), second.sum(axis=1)


def correct_step(block: Block, frame: Frame, direction: Array, mu: float, *arrays: Array) -> float:
    """Write the corrected moves of the rows of one block."""
    _correct(State(*arrays), scores(block, frame, direction)[:, None], mu)
    return 0.0


def _correct(state: State, move: Array, mu: float) -> None:
    above, under, beta, inverse = slacks(state)
    right = state.residual - mu * beta * (1 / above - 1 / under) + state.c_p / above - state.c_q / under
    d_nu = inverse * (right - move)
    dead = beta == 0
    state.d_nu[:] = d_nu
    state.d_p[:] = np.where(dead, 0.0, (mu * beta - state.c_p) / above - state.p + state.p / above * d_nu)
    # p − q = r moves with the rows, so that one of the two follows from the other without drift.
    state.d_q[:] = np.where(dead, 0.0, (mu * beta - state.c_q) / under - state.q - state.q / under * d_nu)


def _newton(
    data: Rows, frame: Frame, states: list[State], penalty: Array, point: Array, pull: Array
) -> tuple[Array | None, Array]:
    """Predictor and corrector: the direction of θ and Aᵀν after a full step; moves are left in the states."""
    rows = states[0]
    matrix, right = data.reduce(normal_step, frame, rowwise=rows)
    for edges in states[1:]:
        *_, inverse = slacks(edges)
        matrix[np.diag_indices_from(matrix)] += inverse[:, 0]
        right += edges.nu[:, 0] + inverse[:, 0] * edges.residual[:, 0]
    matrix[np.diag_indices_from(matrix)] += penalty
    solve = _factor(matrix)
    if solve is None or not np.isfinite(right).all():
        return None, pull
    affine = solve(right - penalty * point)
    per_mu, second = data.reduce(predict_step, frame, affine, rowwise=rows)
    for edges in states[1:]:
        extra = _predict(edges, affine[:, None])
        per_mu, second = per_mu + extra[0], second + extra[1]
    step = min(_largest_step(states, "primal"), _largest_step(states, "dual"))
    now, then = _complementarity(states, 0.0), _complementarity(states, step)
    mass = 2 * sum(float((state.upper + state.lower).sum()) for state in states)
    mu = now / mass * (then / now) ** 3 if now > 0 else 0.0
    direction = solve(right + mu * per_mu + second - penalty * point)
    data.reduce(correct_step, frame, direction, mu, rowwise=rows)
    for edges in states[1:]:
        _correct(edges, direction[:, None], mu)
    after = penalty * (point + direction)
    for edges in states[1:]:
        after = after - edges.nu[:, 0] - edges.d_nu[:, 0]
    return direction, after


def _finite(direction: Array, states: list[State]) -> bool:
    """Whether the direction and the moves of the rows are numbers."""
    moves = [direction, *(move for state in states for move in (state.d_nu, state.d_p, state.d_q))]
    return all(bool(np.isfinite(move).all()) for move in moves)


def _factor(matrix: Array) -> Callable[[Array], Array] | None:
    """Solve with a matrix scaled to ones on its diagonal; by least norm when it is singular."""
    if not np.isfinite(matrix).all():
        return None
    diagonal = np.diagonal(matrix).copy()
    root = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    factor = linalg.lapack.dpotrf(matrix / np.outer(root, root))
    if factor[1] == 0 and np.diagonal(factor[0]).min() > SINGULAR**0.5:
        return lambda right: linalg.cho_solve((factor[0], False), right / root, check_finite=False) / root
    values, vectors = np.linalg.eigh(matrix)
    kept = values > SINGULAR * values[-1]
    basis, inverse = vectors[:, kept], 1 / values[kept]
    return lambda right: basis @ (inverse * (basis.T @ right))


def _largest_step(states: list[State], which: str) -> float:
    """Longest step that keeps the rows strictly inside, at most 1."""
    fastest = 0.0
    for state in states:
        above, under, *_ = slacks(state)
        if which == "primal":
            rates = (-state.d_p / state.p, -state.d_q / state.q)
        else:
            rates = (state.d_nu / above, -state.d_nu / under)
        fastest = max(fastest, *(float(rate.max(initial=0.0)) for rate in rates))
    return min(1.0, 0.9995 / fastest) if fastest > 0 else 1.0


def _complementarity(states: list[State], step: float) -> float:
    """Σ p(u − ν) + q(l + ν) after a step along the moves."""
    total = 0.0
    for state in states:
        nu = state.nu + step * state.d_nu
        alive = (state.upper + state.lower) > 0
        total += float(np.sum((state.p + step * state.d_p) * (state.upper - nu), where=alive))
        total += float(np.sum((state.q + step * state.d_q) * (state.lower + nu), where=alive))
    return total


def _advance(states: list[State], primal: float, dual: float) -> None:
    for state in states:
        state.nu[:] += dual * state.d_nu
        state.p[:] += primal * state.d_p
        state.q[:] += primal * state.d_q
        alive = (state.upper + state.lower) > 0
        state.residual[:] = np.where(alive, state.p - state.q, state.residual)
