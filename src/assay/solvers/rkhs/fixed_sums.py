"""Machines that are told a share of their rows: the dual whose coefficients of either sign have a given sum.

    min over (h, p, m)   ½‖h‖² + Σ u_i max(0, y_i − h(x_i) − p) + Σ l_i max(0, h(x_i) + m − y_i) + P p − M m,
    max over ν           Σ ν_i y_i − ½ νᵀKν,        −l ≤ ν ≤ u, Σν⁺ = P, Σν⁻ = M.

Rows above y − p pull up until their pull is P, rows below y − m pull down until theirs is M. With P = M the
levels are p = b + ε and m = b − ε: ε-regression whose tube is free, and classification with the margin −ε.
With M = 0 the level −p is the one that rows are inside of. At one and the same ν the gap is a sum over rows,
as that of `assay.solvers.rkhs.problem`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from assay.kernels import Kernel
from assay.losses import Absolute
from assay.solvers.rkhs.box import WHOLE, BoxOptions, WorkingSets, solve_box, whole
from assay.solvers.rkhs.dual import BoxDual, Standing, middle_of
from assay.solvers.rkhs.kernel_rows import GramLines
from assay.solvers.rkhs.problem import PERFECT, Array, RKHSProblem
from assay.solvers.rkhs.side_loops import side_steps

MOST_TURNS = 20

SLIGHT = 1e-3
"""Share of the losses at a constant below which what counts as rounding does not matter."""


class FixedSums(NamedTuple):
    """A dual whose Σν⁺ and Σν⁻ are given: targets y, bounds u and l, and the two sums."""

    target: Array
    upper: Array
    lower: Array
    sums: tuple[float, float]

    @property
    def fit_intercept(self) -> bool:
        """Always: the levels are not penalised."""
        return True

    def take(self, rows: NDArray[np.intp]) -> FixedSums:
        """The same on some of the rows."""
        return self._replace(target=self.target[rows], upper=self.upper[rows], lower=self.lower[rows])

    @property
    def two_sided(self) -> bool:
        """Whether a row may pull either way: the tube of a regression, whose ε is at least 0."""
        return bool(np.any((self.upper > 0) & (self.lower > 0)))


class SumsSolution(NamedTuple):
    """Result of `solve_fixed_sums`: ν, the levels p and m, and how it ended.

    `products` are K ν⁺ and K ν⁻ in double precision, `trace` the dual value after each round.
    """

    coef: Array
    levels: tuple[float, float]
    products: Array
    n_iter: int
    converged: bool
    trace: list[float]


class SumsGap(NamedTuple):
    """Primal and dual value of a machine of given sums, by a feasible point of its dual.

    `scale` is the objective, with or without its levels, whichever is smaller.
    """

    primal: float
    dual: float
    scale: float

    @property
    def relative(self) -> float:
        """The gap over its scale."""
        return max(self.primal - self.dual, 0.0) / self.scale if self.scale > 0 else 0.0


class SidedDual(BoxDual):
    """A point of the dual with given sums, which steps improve in place."""

    problem: FixedSums  # type: ignore[assignment]
    epsilon = 0.0

    def __init__(self, problem: FixedSums, nu: Array, gradient: Array) -> None:
        self.problem, self.nu, self.gradient = problem, nu, gradient
        self.bounds = np.stack([problem.upper, problem.lower])
        self.rises, self.falls = np.empty((2, len(nu)))
        self.floor = 0.0

    @property
    def has_corner(self) -> bool:
        """Each sign has a sum of its own."""
        return True

    def climb(
        self, gram: GramLines, diagonal: Array, limits: tuple[float, int], rule: int, draws: Any
    ) -> int:
        """Steps of pairs of one side."""
        return int(side_steps(gram.form[0], diagonal, self.bounds, self.nu, self.gradient, limits)[0])

    def constraints(self, rows: NDArray[np.intp]) -> Array:
        """A column for each side that has rows."""
        sides = np.column_stack([self.nu[rows] > 0, self.nu[rows] < 0]).astype(np.float64)
        return sides[:, sides.any(axis=0)]

    def slopes(self) -> tuple[Array, Array]:
        """Slopes of rows that may rise and fall on either side, −inf and inf for others: shapes (2, n)."""
        g, nu, (upper, lower) = self.gradient, self.nu, self.bounds
        rises = np.where([(nu >= 0) & (nu < upper), nu < 0], g, -np.inf)
        falls = np.where([nu > 0, (nu <= 0) & (nu > -lower)], g, np.inf)
        return rises, falls

    def levels(self) -> tuple[float, float]:
        """The levels p and m: the mean slope of the free rows of a side, else a middle."""
        rises, falls = self.slopes()
        inside = self.free
        found = []
        for side, members in enumerate((inside & (self.nu > 0), inside & (self.nu < 0))):
            low, high = float(rises[side].max()), float(falls[side].min())
            level = middle_of(low, high)
            if members.any():
                level = float(np.clip(self.gradient[members].mean(), min(low, high), max(low, high)))
            found.append(level)
        return self._of_sides(found[0], found[1])

    def _of_sides(self, p: float, m: float) -> tuple[float, float]:
        """A side without a sum has the level of the other."""
        P, M = self.problem.sums
        return (p if P > 0 else m), (m if M > 0 else p)

    @property
    def inverted(self) -> bool:
        """Whether the tube is less than empty: more weight is asked for than pulls at ε = 0."""
        p, m = self.levels()
        return self.problem.two_sided and p < m

    def standing(self) -> Standing:
        """Look at every row."""
        rises, falls = self.slopes()
        high, low = rises.max(axis=1), falls.min(axis=1)
        p, m = self._of_sides(*(middle_of(top, end) for top, end in zip(high, low, strict=True)))
        level = np.array([[p], [m]])
        np.max(rises - level, axis=0, out=self.rises)
        np.min(falls - level, axis=0, out=self.falls)
        gap = sums_gap(self.problem, self.nu, (p, m), self.gradient)
        scale = max(gap.scale, self.floor)
        return Standing(float(np.max(high - low)), p, (gap.primal - gap.dual) / scale if scale > 0 else 0.0)

    def balance(self) -> None:
        """Take the rounding of either sum out of its free row of the most room."""
        for sign, total in zip((1.0, -1.0), self.problem.sums, strict=True):
            members = sign * self.nu > 0
            if members.any():
                excess = float((sign * self.nu)[members].sum()) - total
                bound = self.bounds[0 if sign > 0 else 1]
                room = np.where(members, np.minimum(sign * self.nu, bound - sign * self.nu), -np.inf)
                widest = int(np.argmax(room))
                if room[widest] > 2 * abs(excess):
                    self.nu[widest] -= sign * excess


def sums_gap(problem: FixedSums, coef: Array, levels: tuple[float, float], gradient: Array) -> SumsGap:
    """Primal value at (h, p, m) and dual value at ν, which has the sums; `gradient` is y − Kν.

    Of a tube that is less than empty (p < m) only the side counts that a row pulls to.
    """
    (p, m), (P, M), y = levels, problem.sums, problem.target
    upper, lower = problem.upper, problem.lower
    if p < m and problem.two_sided:
        upper, lower = np.where(coef < 0, 0.0, upper), np.where(coef > 0, 0.0, lower)
    squared_norm = float(coef @ (y - gradient))
    loss = float(upper @ np.maximum(gradient - p, 0.0) + lower @ np.maximum(m - gradient, 0.0))
    machine = 0.5 * squared_norm + loss
    primal = machine + P * p - M * m
    # The machine of the levels that come out is held to the same gap, relative to its own objective.
    scale = min(abs(primal), machine)
    return SumsGap(primal, float(coef @ y) - 0.5 * squared_norm, scale)


def solve_fixed_sums(
    problem: FixedSums, kernel: Kernel, X: Any, options: BoxOptions, *, gram: Any = None
) -> SumsSolution:
    """Maximise the dual of a machine of given sums, which the bounds can reach.

    Parameters
    ----------
    problem : FixedSums
    kernel : Kernel
        With everything filled in that depends on the table.
    X : array or CSR matrix of shape (n_samples, n_features)
    options : BoxOptions
    gram : array of shape (n_samples, n_samples), optional
        The Gram matrix in double precision, where the caller has it.
    """
    double = X.astype(np.float64)
    if gram is None and len(problem.target) <= WHOLE:
        gram = kernel.gram(double)
    nu, reached = filled(problem)
    diagonal = kernel.diagonal(double) if gram is None else gram.diagonal()
    floor = PERFECT * float(np.max(diagonal)) * sum(problem.sums) ** 2 / 2
    # Rows that pull either way can share less: less than the tube of width 0 may take. Where the targets are
    # within what rounding leaves of such sums, that tube is the likely one, and its ν far smaller.
    close = problem.two_sided and floor > SLIGHT * _largest_loss(problem)
    if close or not reached:
        plain = _without_tube(problem, kernel, X, options, gram, 0.0 * nu if close else nu)
        if np.abs(plain.coef).sum() <= sum(problem.sums):
            return plain
        nu = plain.coef * (sum(problem.sums) / np.abs(plain.coef).sum())
    n_iter, trace = 0, list[float]()
    for _ in range(MOST_TURNS):
        values = gram @ nu if gram is not None else kernel.apply(double, double, nu)
        dual = SidedDual(problem, nu, problem.target - values)
        dual.floor = floor
        if gram is not None:
            made, converged, values, products = whole(dual, GramLines(gram), options)
        else:
            made, converged, values, products = WorkingSets(dual, kernel, double, options).run()
        n_iter, trace = n_iter + made, [*trace, *values]
        solution = SumsSolution(dual.nu, dual.levels(), products, n_iter, converged, trace)
        if not dual.inverted or not converged:
            return solution
        plain = _without_tube(problem, kernel, X, options, gram, dual.nu)
        plain = plain._replace(n_iter=n_iter + plain.n_iter, trace=[*trace, *plain.trace])
        if np.abs(plain.coef).sum() <= sum(problem.sums) or plain.trace[-1] <= trace[-1]:
            return plain
        nu, n_iter, trace = _between(dual.nu, plain.coef, sum(problem.sums)), plain.n_iter, plain.trace
    return solution._replace(converged=False)


def _largest_loss(problem: FixedSums) -> float:
    """The losses of the constant in the middle of the targets, in a tube of width 0."""
    y = problem.target
    away = y - 0.5 * (float(y.min()) + float(y.max()))
    return float(problem.upper @ np.maximum(away, 0.0) + problem.lower @ np.maximum(-away, 0.0))


def filled(problem: FixedSums) -> tuple[Array, bool]:
    """Coefficients with the sums, at their bounds from the outermost targets inwards; whether they fit."""
    left = np.zeros(len(problem.target))
    order = np.argsort(-problem.target, kind="stable")
    for sign, bound, total in zip((1.0, -1.0), (problem.upper, problem.lower), problem.sums, strict=True):
        places = order if sign > 0 else order[::-1]
        room = np.where(left[places] != 0, 0.0, bound[places])
        before = np.concatenate([[0.0], np.cumsum(room)[:-1]])
        left[places] += sign * np.clip(total - before, 0.0, room)
    short = np.array(problem.sums) - [np.maximum(left, 0).sum(), np.maximum(-left, 0).sum()]
    return left, bool(np.all(short <= 1e-12 * np.maximum(problem.sums, 1.0)))


def _without_tube(
    problem: FixedSums, kernel: Kernel, X: Any, options: BoxOptions, gram: Any, start: Array
) -> SumsSolution:
    """The machine of ε = 0, where the sums do not bind: absolute errors, the bounds their cost."""
    machine: RKHSProblem[Any] = RKHSProblem(Absolute(), problem.target, problem.upper, True)
    excess = start.sum()
    solved = solve_box(machine, kernel, X, options, gram=gram, start=start if abs(excess) < 1e-9 else None)
    levels = solved.intercept, solved.intercept
    return SumsSolution(solved.coef, levels, solved.products, solved.n_iter, solved.converged, solved.trace)


def _between(inside: Array, outside: Array, total: float) -> Array:
    """The point with Σ|ν| = total between one of as much and one of more, farthest from the first."""

    def excess(share: float) -> float:
        return float(np.abs(inside + share * (outside - inside)).sum()) - total

    # Σ|ν| is convex along the way, and falls at first: the way back to the total is the farther root.
    low = min(np.linspace(0, 1, 65)[:-1], key=excess)
    share = brentq(excess, low, 1.0) if excess(low) < 0 else 0.0
    return inside + share * (outside - inside)
