"""Losses with corners: the dual is a quadratic programme in a box, solved by sequential minimal optimisation.

A small problem is one compiled call on its Gram matrix. A large one goes in rounds: a working set of the rows
that violate the optimality conditions most, half of it new in each round, is solved on its own small Gram
matrix, and the gradient of all rows follows by the kernel rows of those that moved. Rows that stay at their
bounds are left out meanwhile; before the end the gradient of all rows is made afresh in double precision, and
looked at again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import SidedLoss
from assay.solvers.rkhs.at_once.free_rows import LARGEST, MANY, cost_of_free, maximise_over_free
from assay.solvers.rkhs.at_once.interior import interior_point
from assay.solvers.rkhs.dual import BoxDual
from assay.solvers.rkhs.kernel_rows import GramLines, KernelRows
from assay.solvers.rkhs.loops import (
    MAX_VIOLATING_PAIR,
    RANDOM,
    SECOND_ORDER,
    single_steps,
)
from assay.solvers.rkhs.problem import Array, RKHSProblem, RKHSSolution, sides_of

WHOLE = 1000
"""Rows up to which the whole Gram matrix is the working set."""

POLISHED = 300
"""Free rows up to which a small problem ends with all of them solved for at once."""

POLISH = 2 * 10**4
"""Values of the gradient that a round of steps goes over, above which solving for free rows costs less."""

EXACT = 1e-4
"""Share of the tolerance below which the gap after such a solve is rounding."""

WORKING_SET = 1024
CLOSE, VERY_CLOSE = 2e-2, 1e-2
"""Relative gap from which free rows are solved for at once, few and many: others join them before it."""

SAFE = 0.8
"""Share of the tolerance that rounds in single precision reach, so that one look in double confirms it."""

RULES = {"second_order": SECOND_ORDER, "max_violating_pair": MAX_VIOLATING_PAIR, "random": RANDOM}
MOST_ROUNDS, MOST_LOOKS = 200, 10

LAST_ROUNDS = 100
"""Rounds after a walk through the inside of the box: what is not near by then is held by rounding."""

NO_DRAWS = np.zeros((1, 2), dtype=np.int64)
N_DRAWS = 2**16

CROSSED = 5000
"""Rows up to which pairs that creep give way to a walk through the inside of the box."""

STEPS_PER_ROW = 2000
"""Steps per row after which pairs of many rows end: a hundred times what machines that converge take."""


class BoxOptions(NamedTuple):
    """How to solve: relative gap to reach, most steps, memory for kernel rows, choice of pairs.

    `draws` gives pairs of whole numbers for the rule "random"; `report` is told the dual value after each
    round, and true from it asks to stop. `polished` solves for the free rows of a small problem at last:
    the coefficients are then those of the optimum to rounding, not to the root of the gap.
    """

    tol: float = 1e-6
    max_iter: int = 10**8
    cache_bytes: float = 1e9
    rule: str = "second_order"
    draws: Callable[[int], NDArray[np.int64]] | None = None
    report: Callable[[float], bool] = lambda value: False
    polished: bool = True


def solve_box(
    problem: RKHSProblem[SidedLoss],
    kernel: Kernel,
    X: Any,
    options: BoxOptions,
    *,
    gram: NDArray | GramLines | None = None,
    start: Array | None = None,
) -> RKHSSolution:
    """Maximise the dual of a machine whose loss has corners.

    Parameters
    ----------
    problem : RKHSProblem
    kernel : Kernel
        With everything filled in that depends on the table.
    X : array or CSR matrix of shape (n_samples, n_features)
    options : BoxOptions
    gram : array of shape (n_samples, n_samples) or GramLines, optional
        The Gram matrix in double precision, where the caller has it.
    start : array of shape (n_samples,), optional
        A feasible dual point to begin at.
    """
    n = len(problem.target)
    if gram is None and (n <= WHOLE or options.rule != "second_order"):
        gram = kernel.gram(X.astype(np.float64))
    if gram is not None:
        lines = gram if isinstance(gram, GramLines) else GramLines(gram)
        dual = BoxDual(problem, *started(problem, start, lines.product))
        n_iter, converged, trace, products = whole(dual, lines, options)
    else:
        double = X.astype(np.float64)
        dual = BoxDual(problem, *started(problem, start, lambda nu: kernel.apply(double, double, nu)))
        n_iter, converged, trace, products = WorkingSets(dual, kernel, double, options).run()
    low, high, intercept = dual.intercepts()
    return RKHSSolution(dual.nu, intercept, (low, high), products, n_iter, converged, trace)


def started(
    problem: RKHSProblem[SidedLoss], start: Array | None, product: Callable[[Array], Array]
) -> tuple[Array | None, Array | None]:
    """A dual point to begin at and its gradient."""
    return (None, None) if start is None else (start.copy(), problem.target - product(start))


def whole(dual: BoxDual, gram: GramLines, options: BoxOptions) -> tuple[int, bool, list[float], Array]:
    """Steps on the whole Gram matrix until the gap of a gradient that was made afresh is small enough.

    Each step rounds the gradient that it brings up to date: after a million of them it may be off by more
    than the tolerance.
    """
    n_iter, trace = 0, list[float]()
    for _ in range(MOST_LOOKS):
        made, done, values = tightened(dual, gram, options._replace(max_iter=options.max_iter - n_iter))
        n_iter, trace = n_iter + made, [*trace, *values]
        dual.balance()
        products = np.column_stack([gram.product(side) for side in sides_of(dual.nu).T])
        np.subtract(dual.problem.target, products[:, 0] - products[:, 1], out=dual.gradient)
        converged = dual.standing().gap <= max(options.tol, dual.rounding)
        if converged or not done or n_iter >= options.max_iter:
            break
    return n_iter, converged, trace, products


def tightened(dual: BoxDual, gram: GramLines, options: BoxOptions) -> tuple[int, bool, list[float]]:
    """Steps on the whole Gram matrix, their tolerance tightened until the gap is small enough."""
    diagonal, n_iter, trace = gram.diagonal().astype(np.float64), 0, [dual.value]
    allowed = 1e-2 * float(np.abs(dual.gradient).max(initial=0.0))
    smallest = 1e-12 * allowed
    patience, tries = 30 * len(dual.nu) + 1000, MOST_ROUNDS
    early = options.polished and options.rule == "second_order"
    while tries > 0:
        tries -= 1
        most = min(options.max_iter - n_iter, patience)
        made = steps(dual, gram, diagonal, (allowed, most), options)
        n_iter += made
        trace.append(dual.value)
        gap = dual.standing().gap
        solved = early and made < most and made * len(dual.nu) > POLISH
        if solved:
            gap = polish(dual, gram, POLISHED, gap)
        stopped = options.report(trace[-1])
        # Where the solve was exact the free rows are the right ones, and it was the last.
        enough = EXACT * options.tol if solved else options.tol
        if gap <= enough or stopped or n_iter >= options.max_iter or allowed <= smallest:
            break
        if made == patience and options.rule == "second_order":
            gap = polish(dual, gram, LARGEST, gap)  # pairs creep: the rows that they creep along go at once
            due = 3 * n_iter > len(dual.nu) ** 2 and tries > LAST_ROUNDS
            if due and len(dual.nu) <= CROSSED and isinstance(dual.problem, RKHSProblem):
                tries, gap = LAST_ROUNDS, cross(dual, gram, gap)
                if gap <= options.tol:
                    break
        elif made < most or options.rule == "random":
            allowed *= float(np.clip(0.5 * options.tol / gap, 1e-3, 0.3)) if made < most else 1.0
    if gap > options.tol or (options.polished and not solved):
        gap = polish(dual, gram, POLISHED, gap)
    return n_iter, gap <= options.tol, trace


def polish(dual: BoxDual, gram: GramLines, most: int, gap: float) -> float:
    """Solve for the free rows at once, if they are at most so many and that lowers the gap; the gap then."""
    free = np.flatnonzero(dual.free)
    if not 0 < len(free) <= most or gap <= 0:  # an exact point would only be rounded
        return gap
    before, slopes = dual.nu.copy(), dual.gradient.copy()
    if not maximise_over_free(dual, free, gram.part(free)):
        return gap
    np.subtract(dual.problem.target, gram.product(dual.nu), out=dual.gradient)
    after = dual.standing().gap
    if after <= gap:
        return after
    dual.nu[:], dual.gradient[:] = before, slopes
    return gap


def cross(dual: BoxDual, gram: GramLines, gap: float) -> float:
    """Go through the inside of the box to the maximum, if that lowers the gap; the gap then."""
    problem, (upper, lower), before, slopes = dual.problem, dual.bounds, dual.nu.copy(), dual.gradient.copy()
    sides, free = (upper, lower, dual.epsilon), bool(problem.fit_intercept)
    there = interior_point(np.asarray(gram), problem.target, *sides, balanced=free)
    if there is None:
        return gap
    dual.nu[:] = there
    dual.balance()
    np.subtract(problem.target, gram.product(dual.nu), out=dual.gradient)
    after = polish(dual, gram, LARGEST, dual.standing().gap)
    if after < gap:
        return after
    dual.nu[:], dual.gradient[:] = before, slopes
    return gap


def steps(
    dual: BoxDual, gram: GramLines, diagonal: Array, limits: tuple[float, int], options: BoxOptions
) -> int:
    """Steps on a Gram matrix that is the whole of a dual; how many were made."""
    if not dual.problem.fit_intercept:
        point = dual.nu, dual.gradient
        return int(single_steps(gram.form, diagonal, dual.bounds, dual.epsilon, *point, limits)[0])
    rule, draws = RULES[options.rule], NO_DRAWS
    tol, most = limits
    if rule == RANDOM:
        assert options.draws is not None
        draws = options.draws(N_DRAWS)
        most = min(most, N_DRAWS)
    return dual.climb(gram, diagonal, (tol, most), rule, draws)


class Pace:
    """How fast rounds close the gap: its logarithm per cost, as last measured."""

    def __init__(self, tol: float) -> None:
        self.tol, self.cost = tol, 0.0
        self._mark: tuple[float, float] | None = None
        self._pace: float | None = None

    def begin(self, gap: float) -> None:
        """Measure from here on: the rounds after a solve are another stretch."""
        self._mark = (gap, self.cost)

    def is_slow(self, gap: float, price: float) -> bool:
        """Whether rounds would cost more than the price to bring the gap to the tolerance.

        False as long as no stretch of a quarter of the price was measured; the answer is of the last stretch
        after the gap has been measured anew.
        """
        if self._mark is None:
            self.begin(gap)
        assert self._mark is not None
        before, since = self._mark
        if self.cost - since >= price / 4:
            self._pace = max(float(np.log(before / max(gap, 1e-300))), 0.0) / (self.cost - since)
            self.begin(gap)
        elif gap <= before or self._pace is None:
            return False  # on its way; a gap that is larger than at the mark is one that rounding hid
        return float(np.log(gap / self.tol)) > self._pace * price


class WorkingSets:
    """Rounds of working sets on all rows, or on those that may still move.

    What a round and a solve for all free rows cost is counted, not timed, so that the result does not depend
    on the machine: the free rows are solved for at once where rounds, at their pace, would cost more.
    """

    def __init__(self, dual: BoxDual, kernel: Kernel, X: NDArray, options: BoxOptions) -> None:
        self.dual, self.kernel, self.X, self.options = dual, kernel, X, options
        self.diagonal = kernel.diagonal(X).astype(np.float64)
        n_kept = max(int(options.cache_bytes // (4 * X.shape[0])), 2 * WORKING_SET)
        self.rows = KernelRows(kernel, X, n_kept=n_kept)
        self.n_iter, self.trace = 0, [dual.value]
        self.pace = Pace(options.tol)
        # Of rows that are too many to cross for, what so many steps leave is left.
        n = len(dual.nu)
        fits = n <= CROSSED and 16.0 * n * n <= options.cache_bytes
        self.crosses = fits and isinstance(dual.problem, RKHSProblem)
        self.max_iter = min(options.max_iter, STEPS_PER_ROW * n)

    def run(self) -> tuple[int, bool, list[float], Array]:
        """Rounds until the gap of all rows, measured in double precision, is small enough."""
        tol = self.options.tol
        while True:
            ended = self._rounds()
            self.dual.balance()
            products = exact_products(self.kernel, self.X, self.dual.nu)
            self.dual.gradient[:] = self.dual.problem.target - (products[:, 0] - products[:, 1])
            gap = self.dual.standing().gap
            if gap <= tol or ended:
                return self.n_iter, gap <= tol, self.trace, products

    def _rounds(self) -> bool:
        """Rounds until the gap as the gradient knows it is small; true when the limit of steps ends them."""
        dual, options, n = self.dual, self.options, len(self.dual.nu)
        members = np.empty(0, dtype=np.intp)
        while True:
            violation, _, gap = dual.standing()
            if gap <= SAFE * options.tol:
                return False
            if self.n_iter >= self.max_iter or options.report(self.trace[-1]):
                return True
            if self.crosses and 3 * self.n_iter > n * n:
                self.crosses = False
                cross(dual, GramLines(self.kernel.gram(self.X)), gap)
                return False
            n_free = int(dual.free.sum())
            close = CLOSE if n_free <= LARGEST else VERY_CLOSE
            can = gap < close and 0 < n_free <= MANY
            if can and self.pace.is_slow(gap, cost_of_free(n_free) + n * n_free):
                self._solve_free()
                self.pace.begin(dual.standing().gap)
                continue
            members = chosen_members(dual, members)
            self.pace.cost += self._round(members, 0.1 * violation)

    def _solve_free(self) -> None:
        """Solve for the free rows at once, and let the gradient follow by their kernel rows."""
        dual, before = self.dual, self.dual.nu.copy()
        free = np.flatnonzero(dual.free)
        X = self.X[free] if len(free) <= LARGEST else self.rows.X[free]
        maximise_over_free(dual, free, self.kernel.gram(X))
        moved = np.flatnonzero(dual.nu != before)
        for start in range(0, len(moved), WORKING_SET):
            part = moved[start : start + WORKING_SET]
            self.rows.subtract(self.rows.slots(part, ~dual.free), dual.nu[part] - before[part], dual.gradient)
        self.trace.append(dual.value)

    def _round(self, members: NDArray[np.intp], tol: float) -> float:
        """Solve one working set and let the gradient of all rows follow; what it cost, in values read."""
        dual, rows, before = self.dual, self.rows, self.rows.n_computed
        small = dual.part(members)
        old = small.nu.copy()
        most = min(self.max_iter - self.n_iter, 100 * len(members))
        made = steps(small, GramLines(rows.gram(members)), self.diagonal[members], (tol, most), self.options)
        self.n_iter += made
        moved = np.flatnonzero(small.nu != old)
        dual.nu[members] = small.nu
        if len(moved):  # the kernel rows of the others are not needed
            slots = rows.slots(members[moved], ~dual.free)
            rows.subtract(slots, small.nu[moved] - old[moved], dual.gradient)
        self.trace.append(dual.value)
        computed, m = rows.n_computed - before, len(members)
        return (3.0 * computed + len(moved)) * len(dual.nu) + 7.0 * made * m + 8.0 * m * m


def chosen_members(dual: BoxDual, members: NDArray[np.intp]) -> NDArray[np.intp]:
    """The later half of the last working set, and the rows that rise and fall the most for the rest."""
    keep = members[len(members) // 2 :]
    n_new = WORKING_SET - len(keep)
    rises, falls = dual.rises, dual.falls
    if not dual.problem.fit_intercept:
        worst = np.maximum(rises, -falls)
        worst[keep] = -np.inf
        return np.concatenate([keep, largest(worst, n_new)])
    rises[keep], falls[keep] = -np.inf, np.inf
    up = largest(rises, n_new // 2)
    falls[up] = np.inf
    return np.concatenate([keep, up, largest(-falls, n_new - n_new // 2)])


def largest(values: Array, count: int) -> NDArray[np.intp]:
    """Places of the largest values, in the order of the rows; none that is −inf, a row that may not move."""
    places = np.sort(np.argpartition(-values, count)[:count])
    return places[values[places] > -np.inf]


def exact_products(kernel: Kernel, X: NDArray, coef: Array) -> Array:
    """K ν⁺ and K ν⁻ in double precision, from the kernel itself."""
    support = np.flatnonzero(coef)
    return kernel.apply(X, X[support], sides_of(coef)[support])
