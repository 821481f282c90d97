"""Whether other coefficients give the same machine: kernels at the margin that are linearly dependent.

h is unique, its coefficients ν need not be. Those of another solution differ from ν by a d on rows at a
corner of their loss alone, with Σ d_i k(x_i, ·) = 0, with Σ d = 0 for an intercept, and with the sign that
the box and the corner leave open. Where the kernels of these rows, restricted to Σ d = 0, are
linearly independent, there is no such d.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, optimize

from assay.kernel_machines.support_vectors.machine import MachineData, Standing
from assay.kernels import Kernel
from assay.solvers.rkhs.problem import Array, box

LARGEST = 2000
"""Rows at a corner up to which it is always decided."""

TRIED = 300
"""Of more rows, those whose combinations are tried for the others."""

FAR = 1e3
"""How far pivots that were not chosen are above rounding where kernels are surely independent."""

AT_CORNER = 1e-6
"""Distance of a residual from a corner, over the largest target, that is rounding."""

LAST_DIGITS = 1e-9
"""Share of the largest target, over `AT_CORNER`, that its last digits are."""

ROUNDING = 1e-8
"""Distance of a coefficient from 0 or its bounds, over the width of its box, that is rounding."""


def has_unique_coefficients(kernel: Kernel, data: MachineData, standing: Standing) -> bool | None:
    """Whether the coefficients are the only ones; None where too many rows are at corners to tell."""
    problem = data.problem
    if not problem.loss.cornered or not len(problem.target):
        return True
    epsilon, (upper, lower) = problem.loss.row_form.epsilon, box(problem)
    room = ROUNDING * (upper + lower)
    nu = np.where(np.abs(standing.coef) <= room, 0.0, standing.coef)
    nu = np.where(nu >= upper - room, upper, np.where(nu <= room - lower, -lower, nu))
    rise = standing.slope - np.where(nu >= 0, epsilon, -epsilon)
    fall = standing.slope + np.where(nu <= 0, epsilon, -epsilon)
    low, high = float(problem.target.min()), float(problem.target.max())
    largest = max(abs(low), abs(high))
    # An intercept moves with the targets: how far they are from one another counts, and their last digits.
    apart = max(0.5 * (high - low), LAST_DIGITS * largest) if problem.fit_intercept else largest
    near = max(AT_CORNER * apart, float(standing.violations.max(initial=0.0)))
    may_rise = (nu < upper) & (np.abs(rise) <= near)
    may_fall = (nu > -lower) & (np.abs(fall) <= near)
    places = np.flatnonzero(may_rise | may_fall)
    if len(places) < 2:
        return not len(places) or problem.fit_intercept or standing.reach > 0
    if len(places) > LARGEST:
        either = np.flatnonzero(may_rise & may_fall)
        return False if are_dependent(kernel, data, either, balanced=problem.fit_intercept) else None
    if data.gram is not None:
        gram = data.gram.part(places)
    else:
        gram = kernel.gram(data.X[places].astype(np.float64))
    directions = dependences(gram, balanced=problem.fit_intercept)
    return not directions.shape[1] or not _some_direction(directions, may_rise[places], may_fall[places])


def are_dependent(kernel: Kernel, data: MachineData, places: NDArray[np.intp], *, balanced: bool) -> bool:
    """Whether the kernels of many rows are surely linearly dependent, with Σd = 0 if `balanced`.

    They are where those of some hundreds of them span the others, as with a kernel of few features.
    """
    if len(places) <= TRIED + 1:
        return False
    tried = places[np.linspace(0, len(places) - 1, TRIED).astype(np.intp)]
    if data.gram is not None:
        whole, rows = data.gram.form[2], data.gram.form[3]
        cross, diagonal = whole[np.ix_(rows[tried], rows[places])], data.gram.diagonal()[places]
    else:
        X = data.X.astype(np.float64)
        cross, diagonal = kernel.cross(X[tried], X[places]), kernel.diagonal(X[places])
    scale = float(diagonal.max())
    cross, diagonal = (cross + scale, diagonal + scale) if balanced else (cross, diagonal)
    inner = cross[:, np.searchsorted(places, tried)]
    tol = 10 * len(places) * float(np.finfo(np.float64).eps) * float(diagonal.max())
    factor, pivots, rank, _ = linalg.lapack.dpstrf(inner, tol=tol, lower=1)
    if rank == TRIED:
        return False
    first = np.tril(factor[:rank, :rank])
    spanned = linalg.solve_triangular(first, cross[pivots[:rank] - 1], lower=True)
    left = diagonal - np.einsum("ij,ij->j", spanned, spanned)
    return bool(left.max() <= 100 * tol)


def dependences(gram: Array, *, balanced: bool) -> Array:
    """A basis of the d with dᵀKd = 0, and Σd = 0 if `balanced`, as columns, by a pivoted Cholesky factor."""
    n = len(gram)
    scale = float(gram.diagonal().max())
    matrix = gram + scale if balanced else gram.copy()  # K + κ²11ᵀ has the d with dᵀKd = 0 and Σd = 0
    tol = 10 * n * float(np.finfo(np.float64).eps) * float(matrix.diagonal().max())
    # Without pivots it is several times faster, and mostly all of them are far from 0.
    factor, order = linalg.lapack.dpotrf(matrix.T, lower=0, clean=0)
    if order == 0 and float(factor.diagonal().min()) ** 2 > FAR * tol:
        return np.zeros((n, 0))
    factor, pivots, rank, _ = linalg.lapack.dpstrf(matrix, tol=tol, lower=1)
    result = np.zeros((n, n - rank))
    if rank < n:
        first, rest = np.tril(factor[:rank, :rank]), factor[rank:, :rank]
        order = pivots - 1
        result[order[:rank]] = -linalg.solve_triangular(first, rest.T, lower=True, trans="T")
        result[order[rank:]] = np.eye(n - rank)
    return result


def _some_direction(basis: Array, may_rise: NDArray[np.bool_], may_fall: NDArray[np.bool_]) -> bool:
    """Whether some combination of the columns has the signs that rows leave open."""
    one_way = may_rise != may_fall
    signed = np.where(may_rise, 1.0, -1.0)[one_way, None] * basis[one_way]
    if not len(signed) or np.linalg.matrix_rank(signed) < basis.shape[1]:
        return True
    # The largest sum of signed entries, none of them below 0, is 0 where only d = 0 has the signs.
    best = optimize.linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    return bool(best.fun is None or best.fun < -1e-7)
