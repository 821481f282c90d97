"""The rows of a loss with corners: their state inside the box, the duality gap, and the exact last step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.losses import SidedLoss
from assay.rows import Block, Rows
from assay.solvers.least_squares.direct import Array
from assay.solvers.piecewise.frame import Frame, MachineLoss, design, pulled, scores, sides
from assay.solvers.piecewise.gap import ROUNDING

LARGEST_FACE = 2000
"""Unknowns up to which the last step solves for the rows in the corners exactly."""

LARGEST_VERTEX = 200
"""Unknowns up to which a minimum that is not the only one is moved to a vertex."""


class State(NamedTuple):
    """Numbers kept for each row (n, m): bounds, offsets, positions, moves, second-order terms."""

    upper: Array
    lower: Array
    residual: Array
    nu: Array
    p: Array
    q: Array
    d_nu: Array
    d_p: Array
    d_q: Array
    c_p: Array
    c_q: Array


def begin_rows(
    block: Block, machine: MachineLoss[SidedLoss], upper: Array, lower: Array, residual: Array
) -> tuple[float, float]:
    """Write the bounds and the targets of one block; total slopes and slopes times target."""
    target, up, low = sides(block, machine)
    epsilon = machine.loss.row_form.epsilon
    if upper.shape[1] == 1:
        upper[:, 0], lower[:, 0], residual[:, 0] = up, low, target
    else:
        upper[:, 0], lower[:, 1] = up, low
        residual[:, 0], residual[:, 1] = target - epsilon, target + epsilon
    return float((up + low).sum()), float((up + low) @ target)


def pull_step(block: Block, frame: Frame, nu: Array) -> Array:
    """Aᵀν of one block."""
    return pulled(block, frame, nu.sum(axis=1))


def slacks(state: State) -> tuple[Array, Array, Array, Array]:
    """The slacks u − ν and l + ν, β and 1/(p/(u − ν) + q/(l + ν)); rows that weigh nothing do not move."""
    beta = state.upper + state.lower
    dead = beta == 0
    above = np.where(dead, 1.0, state.upper - state.nu)
    under = np.where(dead, 1.0, state.lower + state.nu)
    inverse = np.where(dead, 0.0, 1 / (state.p / above + state.q / under))
    return above, under, beta, inverse


def objective_of(states: list[State], penalty: Array, point: Array) -> float:
    """The penalised risk at a point, from the states of the blocks."""
    total = float(penalty @ point**2) / 2
    for state in states:
        total += float(np.sum(_value(state)))
    return total


def _value(state: State) -> Array:
    return state.upper * np.maximum(state.residual, 0) + state.lower * np.maximum(-state.residual, 0)


def gap_of(states: list[State], penalty: Array, point: Array, pull: Array) -> float:
    """Σ (ℓ(r) − νr), no term of which is negative, and what Pθ − Aᵀν adds."""
    total = sum(float(np.sum(_value(state) - state.nu * state.residual)) for state in states)
    for edges in states[1:]:
        pull = pull + edges.nu[:, 0]
    left, mass = penalty * point - pull, sum(float(np.abs(state.nu).sum()) for state in states)
    # As in `gap.infeasibility`, a remainder that is rounding counts by its product with θ.
    held = (penalty > 0) & (np.abs(left) > ROUNDING * mass)
    total += float(np.sum(left[held] ** 2 / penalty[held])) / 2
    return total + abs(float(left[~held] @ point[~held]))


def onto_face(
    data: Rows, frame: Frame, states: list[State], penalty: Array, point: Array, unit: float
) -> tuple[Array, Array]:
    """Solve for the rows in the corners exactly, when that closes the gap further.

    Rows strictly inside their box have residual zero, the others are at a bound: a linear system in θ and the
    inside ν. `unit` is the size of residuals, to compare them with slacks.
    """
    nu = states[0].nu
    room = 1e-13 * objective_of(states, penalty, point)
    before = gap_of(states, penalty, point, data.reduce(pull_step, frame, rowwise=(nu,)))
    places = [_places(state, unit) for state in states]
    solved = _solve_face(data, frame, states, penalty, point, places)
    if solved is None:
        return point, nu
    there, moved = solved
    inside = all(
        bool(np.all((state.nu <= state.upper * (1 + 1e-9)) & (state.nu >= -state.lower * (1 + 1e-9))))
        for state in moved
    )
    after = gap_of(moved, penalty, there, data.reduce(pull_step, frame, rowwise=(moved[0].nu,)))
    if inside and abs(after) <= before + room:
        point, nu, states = there, np.clip(moved[0].nu, -states[0].lower, states[0].upper), moved
    elif objective_of(moved, penalty, there) <= objective_of(states, penalty, point) + room:
        # More rows at zero than tell ν: the point is exact even so.
        point, states = there, [new._replace(nu=old.nu) for new, old in zip(moved, states, strict=True)]
    if not penalty.any():
        point = onto_vertex(data, frame, states, point, unit)
    return point, nu


def _places(state: State, unit: float) -> NDArray:
    """1 for rows at their upper bound, −1 at their lower, 0 in the corner, by the lesser of r and slack."""
    beta = state.upper + state.lower
    scale = np.where(beta > 0, beta, 1.0)
    above, under = (state.upper - state.nu) / scale, (state.lower + state.nu) / scale
    corner = (state.p / unit < above) & (state.q / unit < under) & (beta > 0)
    return np.where(corner, 0, np.where(state.residual > 0, 1, -1))


def _solve_face(
    data: Rows, frame: Frame, states: list[State], penalty: Array, point: Array, places: list[NDArray]
) -> tuple[Array, list[State]] | None:
    """θ and states for which the rows are where `places` says; None when there are too many in corners."""
    nu = [
        np.where(place > 0, state.upper, np.where(place < 0, -state.lower, 0.0))
        for state, place in zip(states, places, strict=True)
    ]
    rows, k = states[0], len(point)
    which = np.flatnonzero((places[0] == 0).any(axis=1))
    edge = np.flatnonzero(places[1][:, 0] == 0) if len(states) > 1 else np.empty(0, dtype=np.intp)
    size, n_rows = k + len(which) + len(edge), len(which)
    if size > LARGEST_FACE:
        return None
    corner = np.zeros((n_rows + len(edge), k))
    corner[:n_rows] = _rows_of(data, frame, which)
    corner[n_rows + np.arange(len(edge)), edge] = 1.0
    column = (places[0][which] == 0).argmax(axis=1)
    system, right = np.zeros((size, size)), np.zeros(size)
    system[:k, :k] = np.diag(penalty)
    system[:k, k:], system[k:, :k] = -corner.T, corner
    right[:k] = data.reduce(pull_step, frame, rowwise=(nu[0],))
    right[:k] += nu[1][:, 0] if len(states) > 1 else 0.0
    right[k : k + n_rows] = rows.residual[which, column] + corner[:n_rows] @ point
    solution = _solve_scaled(system, right)
    if solution is None:
        return None
    nu[0][which, column] = solution[k : k + n_rows]
    if len(states) > 1:
        nu[1][edge, 0] = solution[k + n_rows :]
        solution[edge] = 0.0
    return solution[:k], _at(data, frame, states, nu, solution[:k] - point)


def _rows_of(data: Rows, frame: Frame, which: NDArray) -> Array:
    """The rows of these numbers in the coordinates of the frame."""
    if not len(which):
        return np.empty((0, len(frame.shift) + frame.intercept))
    rows = design(Block(data.take(which), None, None, 0), frame)
    rows[:, : len(frame.scale)] /= frame.scale
    return rows


def _solve_scaled(system: Array, right: Array) -> Array | None:
    """Least-norm solution of a small square system whose rows and columns are of any size."""
    size = np.sqrt(np.maximum(np.abs(system).max(axis=1), np.abs(system).max(axis=0)))
    size = np.where(size > 0, size, 1.0)
    try:
        scaled, *_ = linalg.lstsq(system / np.outer(size, size), right / size, cond=1e-13)
    except linalg.LinAlgError:
        return None
    return scaled / size if np.isfinite(scaled).all() else None


def _at(data: Rows, frame: Frame, states: list[State], nu: list[Array], move: Array) -> list[State]:
    """Copies of the states with other ν, and residuals after θ has moved."""
    shifted = states[0].residual.copy()
    data.reduce(residual_step, frame, move, rowwise=(shifted,))
    moved = [states[0]._replace(residual=shifted, nu=nu[0])]
    if len(states) > 1:
        moved.append(states[1]._replace(residual=states[1].residual - move[:, None], nu=nu[1]))
    return moved


def residual_step(block: Block, frame: Frame, move: Array, residual: Array) -> float:
    """Residuals of one block after θ has moved."""
    residual -= scores(block, frame, move)[:, None]
    return 0.0


def onto_vertex(data: Rows, frame: Frame, states: list[State], point: Array, unit: float) -> Array:
    """A vertex of the minima of a risk that is linear in pieces: as many rows at zero as tell θ.

    A direction in which no row at zero moves has slope zero at a minimum, up to the next row that comes to
    zero: a step to there is free. Rows and coefficients at zero stay there.
    """
    k, none = len(point), np.zeros(len(point))
    if k > LARGEST_VERTEX:
        return point
    (now, *_), here = _at(data, frame, states, [state.nu for state in states], none), point.copy()
    residual, alive = now.residual[:, 0], (now.upper + now.lower)[:, 0] > 0
    edges = (states[1].upper[:, 0] > 0) if len(states) > 1 else np.zeros(k, dtype=bool)
    tight, zero = alive & (np.abs(residual) <= 1e-9 * unit), edges & (here == 0)
    for _ in range(k):
        rows = np.vstack([_rows_of(data, frame, np.flatnonzero(tight)[: 4 * k]), np.eye(k)[zero]])
        _, values, vectors = np.linalg.svd(rows) if len(rows) else (None, np.empty(0), np.eye(k))
        rank = int(np.count_nonzero(values > 1e-9 * values.max(initial=0.0)))
        for direction in vectors[rank:]:
            move = np.zeros_like(residual)
            data.reduce(residual_step, frame, -direction, rowwise=(move[:, None],))
            lengths = np.full(len(move) + k, np.inf)
            rates = np.append(move, direction)
            free = np.append(alive & ~tight, edges & ~zero) & (np.abs(rates) > 1e-9)
            np.divide(np.append(residual, -here), rates, out=lengths, where=free)
            place = int(np.argmin(np.abs(lengths)))
            if free[place]:
                break
        else:  # a vertex, but for directions in which no row moves at all
            break
        here, residual = here + lengths[place] * direction, residual - lengths[place] * move
        if place < len(move):
            tight[place] = True
        else:
            zero[place - len(move)] = True
        here[zero] = 0.0
    moved = _at(data, frame, states, [state.nu for state in states], here - point)
    before, after = objective_of(states, none, point), objective_of(moved, none, here)
    return here if after <= before * (1 + 1e-12) else point
