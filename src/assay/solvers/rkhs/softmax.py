"""Several classes: the softmax loss of one score per class in the Hilbert space of a kernel, and its gap.

With N one column of coefficients per class, the problem and its dual are

    min over (h, b)   ½ Σ_k ‖h_k‖² + Σ c_i [log Σ_k e^{f_k(x_i)} − f_{y_i}(x_i)],        f_k = h_k + b_k,
    max over N        −½ tr(NᵀKN) − Σ c_i Σ_k p_ik log p_ik,        p_i = e_{y_i} − N_i/c_i a law,

where each column of N sums to zero with intercepts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import Multinomial
from assay.solvers.rkhs.curved import Array, Curvature, GramOperator
from assay.solvers.rkhs.newton import RiskTerms, State, descend
from assay.solvers.rkhs.problem import PERFECT, RKHSGap

LEVELS = 50.0
"""Largest size of the logarithm of a share that the iteration starts from."""


class SoftmaxProblem(NamedTuple):
    """Classes of the rows (0, 1, …), what each row costs, above 0, and how many classes there are."""

    classes: NDArray[np.intp]
    cost: Array
    n_classes: int
    fit_intercept: bool

    @property
    def loss(self) -> Multinomial:
        """The loss of a row."""
        return Multinomial(self.n_classes)

    @property
    def shares(self) -> Array:
        """One column per class, 1 for that of the row."""
        return np.eye(self.n_classes)[self.classes]

    @property
    def loss_at_zero(self) -> float:
        """The objective of the function 0."""
        return float(self.cost.sum() * np.log(self.n_classes))


class SoftmaxSolution(NamedTuple):
    """Result of `solve_softmax`: one column or entry per class; the intercepts sum to zero."""

    coef: Array
    intercept: Array
    product: Array
    """K times the coefficients."""
    n_iter: int
    converged: bool
    trace: list[float]


def measure_softmax(problem: SoftmaxProblem, coef: Array, intercept: Array, product: Array) -> RKHSGap:
    """Primal value at (N, b), dual value at N; a point that the dual does not allow has the gap inf."""
    loss, cost = problem.loss, problem.cost
    scores = product + intercept
    squared_norm = max(float(np.vdot(coef, product)), 0.0)
    row_loss = cost * loss.value(problem.classes, scores)
    row_dual = cost * loss.conjugate(problem.classes, -coef / cost[:, None])
    row_gaps = np.maximum(row_loss + row_dual + np.sum(coef * scores, axis=1), 0.0)
    primal, gap = 0.5 * squared_norm + float(row_loss.sum()), float(row_gaps.sum())
    if problem.fit_intercept:
        # With balanced columns the sums below are rounding; what is not balanced pays for the intercepts it
        # shifts.
        sums = coef.sum(axis=0)
        gap += float(np.abs(sums) @ np.abs(intercept) - sums @ intercept)
    scale = max(abs(primal), PERFECT * problem.loss_at_zero)
    return RKHSGap(primal, gap, squared_norm, row_loss, row_gaps, scale)


def allowed_coefficients(problem: SoftmaxProblem, coef: Array) -> Array:
    """The coefficients of laws on the classes near the given ones, columns balanced with intercepts.

    Shares below zero are cut off and rows made to sum to one; then all rows are mixed with one law, as
    little as makes the columns right.
    """
    shares, cost = problem.shares, problem.cost
    p, want = np.maximum(shares - coef / cost[:, None], 0.0), cost @ shares
    if problem.fit_intercept:
        p[:, want == 0] = 0.0  # a class without rows has no share of any
    p /= p.sum(axis=1, keepdims=True)
    if problem.fit_intercept:
        have = cost @ p
        with np.errstate(divide="ignore", invalid="ignore"):
            mix = float(np.max(np.where(have > want, 1.0 - want / have, 0.0), initial=0.0))
        law = np.maximum(want - (1.0 - mix) * have, 0.0)
        if mix > 0.0 and law.sum() > 0.0:
            p = (1.0 - mix) * p + mix * law / law.sum()
    return cost[:, None] * (shares - p)


class SoftmaxRisk:
    """The risk of the softmax loss; see `ScoreRisk`."""

    def __init__(self, problem: SoftmaxProblem) -> None:
        self.problem, self.fit_intercept = problem, problem.fit_intercept

    def terms(self, scores: Array) -> RiskTerms:
        """See `ScoreRisk`."""
        classes, cost, n_classes, _ = self.problem
        value, slope, p = self.problem.loss.terms(classes, scores.copy())
        weight = cost * (p * (1.0 - p)).sum(axis=1) / (n_classes - 1)
        return RiskTerms(float(cost @ value), cost[:, None] * slope, Curvature(weight, cost, p))

    def slope(self, scores: Array) -> Array:
        """See `ScoreRisk`."""
        return self.problem.cost[:, None] * self.problem.loss.terms(self.problem.classes, scores.copy()).slope

    def majoriser(self) -> Curvature | None:
        """The curvature at equal probabilities, which damped steps need no more than."""
        classes, cost, n_classes, _ = self.problem
        uniform = np.full((len(classes), n_classes), 1.0 / n_classes)
        return Curvature(cost / n_classes, cost * n_classes / 2, uniform)

    def feasible(self, coef: Array, slope: Array) -> Array:
        """See `allowed_coefficients`."""
        return allowed_coefficients(self.problem, coef)

    def row_gap(self, coef: Array, scores: Array) -> float:
        """See `ScoreRisk`."""
        problem = self.problem
        conjugate = problem.loss.conjugate(problem.classes, -coef / problem.cost[:, None])
        rows = problem.cost * (problem.loss.value(problem.classes, scores) + conjugate)
        return float(np.maximum(rows + np.sum(coef * scores, axis=1), 0.0).sum())


def solve_softmax(
    problem: SoftmaxProblem,
    kernel: Kernel,
    X: Any,
    *,
    tol: float,
    max_iter: int,
    gram: NDArray | None = None,
    start: SoftmaxSolution | None = None,
    memory: float | None = None,
) -> SoftmaxSolution:
    """Minimise ½ Σ_k ‖h_k‖² + Σ c ℓ(y, h(x) + b) for the softmax loss.

    The parameters are those of `assay.solvers.rkhs.newton.solve_newton`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian
    >>> from assay.solvers.rkhs.softmax import SoftmaxProblem, measure_softmax, solve_softmax
    >>> X, y = np.linspace(-1, 1, 9)[:, None], np.repeat([0, 1, 2], 3)
    >>> problem = SoftmaxProblem(y, np.ones(9), 3, True)
    >>> solution = solve_softmax(problem, Gaussian(), X, tol=1e-10, max_iter=50)
    >>> bool(measure_softmax(problem, *solution[:3]).relative <= 1e-10)
    True
    """
    operator, risk = GramOperator(kernel, X, gram, memory=memory), SoftmaxRisk(problem)
    state = _start(problem, start)
    floor, n_iter, allowed = PERFECT * problem.loss_at_zero, 0, tol
    trace: list[float] = []
    while True:
        if state.coef.any():
            state = state._replace(values=operator @ state.coef)
        done = descend(operator, risk, state, tol=allowed, max_iter=max_iter - n_iter, floor=floor)
        state, n_iter, trace = done.state, n_iter + done.n_iter, trace + done.trace
        coef = allowed_coefficients(problem, state.coef)
        intercept, product = state.intercept - state.intercept.mean(), operator @ coef
        relative = measure_softmax(problem, coef, intercept, product).relative
        if relative <= tol or done.n_iter == 0 or n_iter >= max_iter or allowed < 1e-6 * tol:
            return SoftmaxSolution(coef, intercept, product, n_iter, relative <= tol, trace)
        allowed *= 0.01


def _start(problem: SoftmaxProblem, start: SoftmaxSolution | None) -> State:
    if start is not None:
        return State(start.coef, start.coef, start.intercept)
    nothing, level = np.zeros((len(problem.classes), problem.n_classes)), np.zeros(problem.n_classes)
    if problem.fit_intercept:
        level = np.clip(np.log(np.maximum(problem.cost @ problem.shares, 1e-300)), -LEVELS, LEVELS)
    return State(nothing, nothing, level - level.mean())
