"""The end of a long run: all rows strictly inside their box are solved for at once.

Where the kernel is nearly flat, pairs creep towards the maximum. Over the free rows alone the dual is a
quadratic function, maximised by one Cholesky factorisation; bounds that its maximiser would cross are kept by
multipliers, whose signs say which of them to let go.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.rows import one_blas_thread
from assay.solvers.rkhs.at_once.many_free import conjugate_step, times
from assay.solvers.rkhs.dual import BoxDual
from assay.solvers.rkhs.problem import Array

LARGEST = 3000
"""Free rows up to which their Gram matrix is factorised."""

MANY = 11_500
"""Free rows up to which it is held in single precision (530 MB), for conjugate gradients."""

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
        Their Gram matrix; one triangle and the diagonal are overwritten.
    """
    if not len(free):
        return False
    nu, epsilon = dual.nu[free], dual.epsilon
    upper, lower = dual.bounds[:, free]
    if dual.has_corner:  # it ends the box of either side at 0
        upper, lower = np.where(nu > 0, upper, 0.0), np.where(nu > 0, 0.0, lower)
    pull = dual.gradient[free] - epsilon * np.sign(nu)
    up, down, constraints = upper - nu, -lower - nu, dual.constraints(free)
    if len(free) > LARGEST:
        with one_blas_thread():  # threads of BLAS would spin beside those of the products
            change = conjugate_step(gram, pull, up, down, constraints)
        product = times(gram, change)
    else:
        diagonal = gram.diagonal().copy()
        found = box_step(gram, pull, up, down, constraints)
        if found is None:
            return False
        change = found
        # The other triangle is as it was; the diagonal is put right.
        product = linalg.blas.dsymv(1.0, gram.T, change) + (diagonal - gram.diagonal()) * change
    gain = float(change @ pull - 0.5 * change @ product)
    if not gain > 0:
        return False
    moved = nu + change
    dual.nu[free] = np.where(change >= upper - nu, upper, np.where(change <= -lower - nu, -lower, moved))
    return True


def cost_of_free(n_free: int) -> float:
    """What solving for so many rows at once costs, in numbers of single precision read from memory."""
    return n_free**3 / 42 + 6.0 * n_free**2 if n_free <= LARGEST else 120.0 * n_free**2


def box_step(gram: Array, pull: Array, up: Array, down: Array, constraints: Array) -> Array | None:
    """The change δ between `down` and `up` that maximises pullᵀδ − ½ δᵀKδ, with Aᵀδ = 0 for `constraints` A.

    Rows at their bounds are pinned by multipliers μ, pull − Kδ − b = μ there, and one whose μ points inwards
    is let go. Where the pinned rows do not settle, the last step is shortened until it stays inside. Half of
    `gram` becomes its Cholesky factor.
    """
    n = len(pull)
    ridge = 1e-13 * float(gram.diagonal().max()) * n
    gram.flat[:: n + 1] += ridge
    # In the place of the matrix, whose transpose is itself in the order of LAPACK.
    factor, failed = linalg.lapack.dpotrf(gram.T, lower=True, overwrite_a=True, clean=False)
    if failed:
        return None

    def solved_for(right: Array) -> Array:
        return np.asarray(linalg.lapack.dpotrs(factor, right, lower=True)[0])

    both = solved_for(np.column_stack([pull, constraints]))
    plain, level = both[:, 0], both[:, 1:]
    system = level, constraints
    pinned, values = np.empty(0, dtype=np.intp), np.empty(0)
    columns: dict[int, Array] = {}
    change, multipliers = _pinned_step(plain, system, pinned, values, np.empty((n, 0)))
    if np.all((change <= up) & (change >= down)):
        return change
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
        if len(pinned) > n // 2 or np.any(constraints[pinned].sum(axis=0) >= constraints.sum(axis=0)):
            break
        new = [row for row in pinned.tolist() if row not in columns]
        if new:
            units = np.zeros((n, len(new)))
            units[new, np.arange(len(new))] = 1.0
            columns.update(zip(new, solved_for(units).T, strict=True))
        W = np.column_stack([columns[row] for row in pinned.tolist()]) if len(pinned) else np.empty((n, 0))
        change, multipliers = _pinned_step(plain, system, pinned, values, W)
    change, _ = _pinned_step(plain, system, pinned[:0], values[:0], np.empty((n, 0)))
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(change > 0, up / change, np.where(change < 0, down / change, np.inf))
    return np.asarray(min(1.0, float(shares.min())) * change)


def _pinned_step(
    plain: Array, constrained: tuple[Array, Array], pinned: NDArray[np.intp], values: Array, W: Array
) -> tuple[Array, Array]:
    """δ = K⁻¹(pull − Ab − μ) with δ = values on the pinned rows, and μ there; W are the columns of K⁻¹.

    `constrained` are K⁻¹A and A.
    """
    level, constraints = constrained
    m, q = len(pinned), level.shape[1]
    system, right = np.zeros((m + q, m + q)), np.empty(m + q)
    system[:m, :m] = W[pinned]
    system[:m, m:] = level[pinned]
    system[m:, :m] = system[:m, m:].T
    system[m:, m:] = constraints.T @ level
    right[:m], right[m:] = plain[pinned] - values, constraints.T @ plain
    if not m + q:
        return plain, right
    _, _, solution, singular = linalg.lapack.dgesv(system, right)
    if singular:  # to rounding: one of the solutions serves
        solution = linalg.lstsq(system, right)[0]
    multipliers, levels = solution[:m], solution[m:]
    return plain - level @ levels - W @ multipliers, multipliers
