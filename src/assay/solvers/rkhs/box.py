"""Losses with corners: the dual is a quadratic programme in a box, solved by sequential minimal optimisation.

A small problem is one compiled call on its Gram matrix. A large one goes in rounds: a working set of the rows that
violate the optimality conditions most, half of it new in each round, is solved on its own small Gram matrix, and the
gradient of all rows follows by the kernel rows of those that moved.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import SidedLoss
from assay.solvers.rkhs.kernel_rows import KernelRows
from assay.solvers.rkhs.loops import gap_sums, pair_steps, single_steps, slopes
from assay.solvers.rkhs.problem import PERFECT, Array, RKHSProblem, RKHSSolution, box, sides_of

WHOLE = 1000
"""Rows up to which the whole Gram matrix is the working set."""

WORKING_SET = 512


class BoxState(NamedTuple):
    """A dual point and its gradient y − Kν, both changed in place."""

    nu: Array
    gradient: Array
    bounds: Array


NO_DRAWS = np.zeros((1, 2), dtype=np.int64)


class BoxDual:
    """The dual of a problem with a sided loss, at a point that steps improve."""

    def __init__(self, problem: RKHSProblem[SidedLoss], start: Array | None = None) -> None:
        self.problem = problem
        self.bounds = np.stack(box(problem))
        self.epsilon = float(problem.loss.row_form.epsilon)
        n = len(problem.target)
        self.nu = np.zeros(n) if start is None else start.copy()
        self.gradient = problem.target.copy()
        self.rises, self.falls = np.empty(n), np.empty(n)
        self.floor = PERFECT * problem.loss_at_zero

    def look(self) -> tuple[float, float]:
        """Slopes of every row; the largest violation and the middle of what the intercept may be."""
        high, low = slopes(self.gradient, self.nu, *self.bounds, self.epsilon, self.rises, self.falls)
        if not self.problem.fit_intercept:
            return max(high, -low, 0.0), 0.0
        return high - low, 0.5 * (high + low)

    def relative_gap(self, intercept: float) -> float:
        """Duality gap over the objective."""
        sums = gap_sums(self.gradient, self.nu, *self.bounds, self.problem.target, self.epsilon, intercept)
        gap, loss, norm = sums
        scale = max(loss + 0.5 * norm, self.floor)
        return gap / scale if scale > 0 else 0.0

    def dual_value(self) -> float:
        """Σ(y ν − ε|ν|) − ½ νᵀKν."""
        nu = self.nu
        return float(0.5 * nu @ (self.problem.target + self.gradient) - self.epsilon * np.abs(nu).sum())

    def interval(self) -> tuple[float, float, float]:
        """The intercepts that are as good, and the one to take: the mean over free rows, else the middle."""
        if not self.problem.fit_intercept:
            return 0.0, 0.0, 0.0
        self.look()
        low, high = float(self.rises.max()), float(self.falls.min())
        free = (self.nu != 0) & (self.nu < self.bounds[0]) & (self.nu > -self.bounds[1])
        if not free.any():
            return low, high, 0.5 * (low + high)
        at = self.gradient[free] - self.epsilon * np.sign(self.nu[free])
        middle = float(np.clip(at.mean(), min(low, high), max(low, high)))
        return middle, middle, middle


def solve_box(
    problem: RKHSProblem[SidedLoss],
    kernel: Kernel,
    X: Any,
    *,
    tol: float,
    max_iter: int,
    cache_bytes: float = 1e9,
    gram: NDArray | None = None,
) -> RKHSSolution:
    dual = BoxDual(problem)
    n = len(problem.target)
    if gram is None and n <= WHOLE:
        gram = kernel.gram(X.astype(np.float64))
    if gram is not None:
        n_iter, converged = whole(dual, gram, tol, max_iter)
        products = gram @ sides_of(dual.nu)
    else:
        n_iter, converged, products = by_working_sets(dual, kernel, X, tol, max_iter, cache_bytes)
    low, high, intercept = dual.interval()
    return RKHSSolution(dual.nu, intercept, (low, high), products, n_iter, converged, [])


def whole(dual: BoxDual, gram: NDArray, tol: float, max_iter: int) -> tuple[int, bool]:
    """Steps on the whole Gram matrix, their tolerance tightened until the gap is small enough."""
    diagonal, n_iter = gram.diagonal().astype(np.float64), 0
    allowed = 1e-2 * float(np.abs(dual.gradient).max(initial=0.0))
    smallest = 1e-14 * allowed
    while True:
        made, violation = steps(
            dual, gram, diagonal, dual.bounds, dual.nu, dual.gradient, allowed, max_iter - n_iter
        )
        n_iter += made
        _, middle = dual.look()
        gap = dual.relative_gap(middle)
        if gap <= tol:
            return n_iter, True
        if n_iter >= max_iter or allowed <= smallest:
            return n_iter, False
        allowed *= float(np.clip(0.5 * tol / gap, 1e-3, 0.3))


def steps(dual, gram, diagonal, bounds, nu, gradient, tol, max_iter):
    if dual.problem.fit_intercept:
        return pair_steps(gram, diagonal, bounds, dual.epsilon, nu, gradient, tol, max_iter, 0, NO_DRAWS)
    return single_steps(gram, diagonal, bounds, dual.epsilon, nu, gradient, tol, max_iter)


def by_working_sets(dual, kernel, X, tol, max_iter, cache_bytes):
    n = len(dual.nu)
    n_kept = max(int(cache_bytes // (4 * n)), 2 * WORKING_SET)
    rows = KernelRows(kernel, X, n_kept=n_kept)
    diagonal = kernel.diagonal(X).astype(np.float64)
    members = np.empty(0, dtype=np.intp)
    n_iter = rounds = 0
    fresh = True
    import time

    T = dict(select=0.0, kern=0.0, inner=0.0, upd=0.0, gap=0.0, refresh=0.0)
    while True:
        t0 = time.perf_counter()
        violation, middle = dual.look()
        gap = dual.relative_gap(middle)
        T["gap"] += time.perf_counter() - t0
        if gap <= tol or n_iter >= max_iter:
            if not fresh:
                t0 = time.perf_counter()
                products = exact_products(kernel, X, dual.nu)
                dual.gradient[:] = dual.problem.target - (products[:, 0] - products[:, 1])
                fresh = True
                T["refresh"] += time.perf_counter() - t0
                continue
            break
        t0 = time.perf_counter()
        members = choose(dual, members, rounds)
        T["select"] += time.perf_counter() - t0
        t0 = time.perf_counter()
        slots = rows.slots(members)
        T["kern"] += time.perf_counter() - t0
        t0 = time.perf_counter()
        small = rows.kept[slots][:, members] if False else rows.kept[np.ix_(slots, members)]
        nu, gradient = dual.nu[members], dual.gradient[members]
        before = nu.copy()
        made, left = steps(
            dual,
            small,
            diagonal[members],
            np.ascontiguousarray(dual.bounds[:, members]),
            nu,
            gradient,
            0.1 * violation,
            min(max_iter - n_iter, 100 * len(members)),
        )
        T["inner"] += time.perf_counter() - t0
        t0 = time.perf_counter()
        n_iter += made
        rounds += 1
        moved = np.flatnonzero(nu != before)
        dual.nu[members] = nu
        rows.subtract(slots[moved], nu[moved] - before[moved], dual.gradient)
        T["upd"] += time.perf_counter() - t0
        fresh = False
    print(rounds, n_iter, rows.n_computed, {k: round(v, 3) for k, v in T.items()})
    return n_iter, gap <= tol, products


def choose(dual, members, rounds):
    n = len(dual.nu)
    q = min(WORKING_SET, n)
    keep = members[len(members) // 2 :]
    rises, falls = dual.rises, dual.falls
    if not dual.problem.fit_intercept:
        score = np.maximum(rises, -falls)
        score[keep] = -np.inf
        new = np.argpartition(-score, q - len(keep) - 1)[: q - len(keep)]
        return np.concatenate([keep, new])
    rises[keep], falls[keep] = -np.inf, np.inf
    m = (q - len(keep)) // 2
    up = np.argpartition(-rises, m)[:m]
    falls[up] = np.inf
    down = np.argpartition(falls, q - len(keep) - m)[: q - len(keep) - m]
    return np.concatenate([keep, up, down])


def exact_products(kernel: Kernel, X: Any, coef: Array) -> Array:
    """K ν⁺ and K ν⁻ in double precision, from the kernel itself."""
    support = np.flatnonzero(coef)
    double = X.astype(np.float64)
    return kernel.apply(double, double[support], sides_of(coef)[support])
