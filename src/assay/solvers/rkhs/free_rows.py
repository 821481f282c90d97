"""The end of a long run: all rows strictly inside their box are solved for at once.

Where the kernel is nearly flat, pairs creep towards the maximum. Over the free rows alone the dual is a
quadratic function, maximised by one Cholesky factorisation; bounds that its maximiser would cross are kept by
multipliers, whose signs say which of them to let go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.solvers.rkhs.dual import BoxDual
from assay.solvers.rkhs.problem import Array

LARGEST = 6000
"""Free rows up to which their Gram matrix is factorised."""

N_SETS = 30


def maximise_over_free(dual: BoxDual, free: NDArray[np.intp], gram: Array) -> bool:
    """Move the free rows to the maximum of the dual in their box; false where that was not possible.

    The gradient is not updated: the caller makes it afresh.

    Parameters
    ----------
    dual : BoxDual
    free : array of shape (n_free,)
        Places of the free rows.
    gram : array of shape (n_free, n_free)
        Their Gram matrix.
    """
    nu, epsilon = dual.nu[free], dual.epsilon
    upper, lower = dual.bounds[:, free]
    if epsilon > 0:  # a corner at 0 ends the box of either side
        upper, lower = np.where(nu > 0, upper, 0.0), np.where(nu > 0, 0.0, lower)
    pull = dual.gradient[free] - epsilon * np.sign(nu)
    change = box_step(gram, pull, upper - nu, -lower - nu, dual.problem.fit_intercept)
    if change is None:
        return False
    gain = float(change @ pull - 0.5 * change @ (gram @ change))
    if not gain > 0:
        return False
    moved = nu + change
    dual.nu[free] = np.where(change >= upper - nu, upper, np.where(change <= -lower - nu, -lower, moved))
    return True


def box_step(gram: Array, pull: Array, up: Array, down: Array, balanced: bool) -> Array | None:
    """The change δ between `down` and `up` that maximises pullᵀδ − ½ δᵀKδ, with Σδ = 0 if `balanced`.

    Rows at their bounds are pinned by multipliers μ, pull − Kδ − b = μ there, and one whose μ points inwards
    is let go. Where the pinned rows do not settle, the last step is shortened until it stays inside.
    """
    n = len(pull)
    ridge = 1e-13 * float(gram.diagonal().max()) * n
    system = gram.copy()
    system.flat[:: n + 1] += ridge
    try:
        factor = linalg.cho_factor(system, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:
        return None
    ones = np.ones(n)
    plain, level = linalg.cho_solve(factor, np.column_stack([pull, ones]), check_finite=False).T
    pinned, values = np.empty(0, dtype=np.intp), np.empty(0)
    columns: dict[int, Array] = {}
    change, multipliers = _pinned_step(plain, level, pinned, values, np.empty((n, 0)), balanced)
    for _ in range(N_SETS):
        outside = np.flatnonzero((change > up) | (change < down))
        outside = np.setdiff1d(outside, pinned)
        at_top = values == up[pinned]
        kept = np.where(at_top, multipliers >= 0, multipliers <= 0)
        if len(outside) == 0 and kept.all():
            return np.clip(change, down, up)
        bounds = np.where(change[outside] > up[outside], up[outside], down[outside])
        pinned = np.concatenate([pinned[kept], outside])
        values = np.concatenate([values[kept], bounds])
        if len(pinned) > n // 2:
            break
        new = [row for row in pinned.tolist() if row not in columns]
        if new:
            units = np.zeros((n, len(new)))
            units[new, np.arange(len(new))] = 1.0
            columns.update(zip(new, linalg.cho_solve(factor, units, check_finite=False).T, strict=True))
        W = np.column_stack([columns[row] for row in pinned.tolist()]) if len(pinned) else np.empty((n, 0))
        change, multipliers = _pinned_step(plain, level, pinned, values, W, balanced)
    change, _ = _pinned_step(plain, level, pinned[:0], values[:0], np.empty((n, 0)), balanced)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(change > 0, up / change, np.where(change < 0, down / change, np.inf))
    return np.asarray(min(1.0, float(shares.min())) * change)


def _pinned_step(
    plain: Array, level: Array, pinned: NDArray[np.intp], values: Array, W: Array, balanced: bool
) -> tuple[Array, Array]:
    """δ = K⁻¹(pull − b1 − μ) with δ = values on the pinned rows, and μ there; W are the columns of K⁻¹."""
    m = len(pinned)
    system, right = np.zeros((m + 1, m + 1)), np.empty(m + 1)
    system[:m, :m] = W[pinned]
    system[:m, m] = system[m, :m] = level[pinned]
    system[m, m] = level.sum()
    right[:m], right[m] = plain[pinned] - values, plain.sum()
    if not balanced:
        system[m, :], system[:m, m], right[m] = 0.0, 0.0, 0.0
        system[m, m] = 1.0
    solution = linalg.solve(system, right, assume_a="sym", check_finite=False)
    multipliers, intercept = solution[:m], solution[m]
    return plain - intercept * level - W @ multipliers, multipliers
