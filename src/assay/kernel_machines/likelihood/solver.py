"""Fits of kernel logistic regression under its three penalties, and how far each is from its minimum.

Scores are K A + b with one column for two classes, one per class for more. With C the cost of a row,

    "rkhs"   ½ tr(AᵀKA) + Σ c ℓ,        A is its own dual point;
    "l2"     ½ ‖A‖² + Σ c ℓ,            which is the first problem with K² in the place of K, and A = K N;
    "l1"     ‖A‖₁ + Σ c ℓ,              coordinate descent on the columns of K.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.kernels import Kernel
from assay.losses import Logistic
from assay.solvers import sparse_path
from assay.solvers.piecewise.gap import balanced
from assay.solvers.rkhs.newton import solve_newton
from assay.solvers.rkhs.problem import PERFECT, RKHSProblem, sides_of
from assay.solvers.rkhs.softmax import (
    LEVELS,
    SoftmaxProblem,
    SoftmaxSolution,
    allowed_coefficients,
    solve_softmax,
)

Array = NDArray[np.float64]
LOSS = Logistic()
SMALLEST_GAP = 1e-14
COSTLY, STRIDE, NEAR = 1e4, 30.0, 1e-3
"""Cost from which a fit that failed is tried from smaller ones, their ratio, and the gap that they need."""

SETTLED = 1e-12
"""Share of the cost of a row below which its slope is rounding: violations are relative to no less."""


class ClassProblem(NamedTuple):
    """What is minimised on rows with a weight: their classes, the cost of each, the penalty.

    `repeats` are the weights, of which the penalty "l2" must know: a row that is there s times has s centres,
    which share its coefficient α, and the squares of which sum to α²/s.
    """

    classes: NDArray[np.intp]
    cost: Array
    n_classes: int
    fit_intercept: bool
    penalty: str
    repeats: Array | float = 1.0

    @property
    def spread(self) -> Any:
        """The weights as a column."""
        return self.repeats[:, None] if isinstance(self.repeats, np.ndarray) else self.repeats

    @property
    def two(self) -> RKHSProblem[Logistic]:
        """The problem of two classes."""
        return RKHSProblem(LOSS, 2.0 * self.classes.astype(np.float64) - 1.0, self.cost, self.fit_intercept)

    @property
    def several(self) -> SoftmaxProblem:
        """The problem of one score per class."""
        return SoftmaxProblem(self.classes, self.cost, self.n_classes, self.fit_intercept)

    @property
    def is_binary(self) -> bool:
        """Whether there is one score."""
        return self.n_classes == 2

    @property
    def loss_at_zero(self) -> float:
        """The objective of the function 0."""
        return float(self.cost.sum() * np.log(self.n_classes))


class LogisticFit(NamedTuple):
    """Coefficients A of shape (n, n_scores), intercepts, and how the solver ended."""

    coef: Array
    intercept: Array
    n_iter: int
    converged: bool
    trace: list[float]
    inner: Any
    """What the solver gave, to start a neighbouring problem from."""


def fit_classes(
    problem: ClassProblem,
    kernel: Kernel,
    X: Any,
    gram: NDArray | None,
    *,
    tol: float,
    max_iter: int,
    start: Any = None,
) -> LogisticFit:
    """Minimise the penalised risk of a table of classes; `gram` may be None for the penalty "rkhs" alone.

    A class without a row has no best intercept, as its loss falls for ever: it gets the coefficients 0 and an
    intercept that leaves it e^{−50} of the probability of the others.
    """
    present = np.unique(problem.classes)
    if len(present) == 1 and problem.fit_intercept:
        level = np.where(np.arange(problem.n_classes) == present[0], LEVELS, 0.0)
        level = level[1:] - level[:1] if problem.is_binary else level - level.mean()
        return LogisticFit(np.zeros((len(problem.cost), len(level))), level, 1, True, [], None)
    if problem.penalty == "l1":
        assert gram is not None
        return _by_coordinates(problem, gram, tol, max_iter, start)
    matrix = gram
    if problem.penalty == "l2":
        assert gram is not None
        matrix = (gram * problem.repeats) @ gram
        # The dual point of a stored fit is read from its slopes, which K² makes coarser than the solver's
        # own.
        tol = max(1e-4 * tol, SMALLEST_GAP)
    options: dict[str, Any] = {"max_iter": max_iter, "gram": matrix}
    absent = problem.fit_intercept and len(present) < problem.n_classes

    def solve(cost: Array, tol: float, start: Any) -> Any:
        here = problem._replace(cost=cost)
        if problem.is_binary:
            return solve_newton(here.two, kernel, X, tol=tol, start=start, **options)
        several = here.several
        if absent:
            places = np.searchsorted(present, problem.classes)
            several = SoftmaxProblem(places, cost, len(present), True)
        return solve_softmax(several, kernel, X, tol=tol, start=start, **options)

    inner: Any = solve(problem.cost, tol, start)
    if not inner.converged and float(problem.cost.max()) > COSTLY:
        # From nothing, or from far away, steps at a huge cost lead astray: come from smaller ones.
        start, n_stages = None, int(np.ceil(np.log(float(problem.cost.max())) / np.log(STRIDE)))
        for stage in range(n_stages, -1, -1):
            start = solve(problem.cost / STRIDE**stage, tol if stage == 0 else NEAR, start)
        inner = start if start.converged else inner
    if problem.is_binary:
        coef, intercept = inner.coef[:, None], np.array([inner.intercept])
    elif absent:
        coef, intercept = _with_absent(inner, present, problem.n_classes)
    else:
        coef, intercept = inner.coef, inner.intercept
    if problem.penalty == "l2":
        assert gram is not None
        coef = problem.spread * (gram @ coef)
    return LogisticFit(coef, intercept, max(inner.n_iter, 1), inner.converged, inner.trace, inner)


def _with_absent(solution: SoftmaxSolution, present: NDArray, n_classes: int) -> tuple[Array, Array]:
    """Coefficients and intercepts of all classes, from those of the classes that have rows."""
    lowest = float(special.logsumexp(solution.product + solution.intercept, axis=1).min())
    coef, intercept = np.zeros((len(solution.coef), n_classes)), np.full(n_classes, lowest - LEVELS)
    coef[:, present], intercept[present] = solution.coef, solution.intercept
    return coef, intercept - intercept.mean()


def _by_coordinates(
    problem: ClassProblem, gram: NDArray, tol: float, max_iter: int, start: Any
) -> LogisticFit:
    total = float(problem.cost.sum())
    path = sparse_path(
        gram,
        problem.two.target,
        problem.cost,
        np.array([1.0 / total]),
        loss=LOSS,
        fit_intercept=problem.fit_intercept,
        tol=tol,
        max_iter=max_iter,
        start=start,
    )
    coef = np.asarray(path.coef if isinstance(path.coef, np.ndarray) else path.coef.toarray())[0]
    level = float(np.asarray(path.intercept)[0]) if problem.fit_intercept else 0.0
    n_iter = max(int(np.asarray(path.n_iter)[0]), 1)
    return LogisticFit(
        coef[:, None], np.array([level]), n_iter, bool(np.asarray(path.converged)[0]), [], coef
    )


class Evidence(NamedTuple):
    """What certifies a fit: the objective in its two terms, a lower bound, the optimality conditions."""

    penalty: float
    loss: float
    dual: float
    violation: float
    """Largest violation of the optimality conditions, relative to the size of what they balance."""
    imbalance: float
    """Sums of the slopes over their size, which an intercept makes zero."""
    squared_norms: Array
    scale: float

    @property
    def primal(self) -> float:
        """Penalty and loss together."""
        return self.penalty + self.loss

    @property
    def relative_gap(self) -> float:
        """Distance of the objective from the lower bound, relative to the objective."""
        return max(self.primal - self.dual, 0.0) / self.scale if self.scale > 0 else 0.0


def gather(problem: ClassProblem, coef: Array, intercept: Array, product: Any) -> Evidence:
    """Measure a fit from its coefficients and products with the Gram matrix."""
    values = product(coef)
    slope, loss = _slopes(problem, values + intercept)
    squares = np.einsum("ij,ij->j", coef, values).clip(min=0.0)
    dual_point = _dual_point(problem, coef if problem.penalty == "rkhs" else -slope, slope)
    at, settled = product(dual_point), SETTLED * _size(problem.cost)
    if problem.penalty == "rkhs":
        penalty, dual_penalty = 0.5 * float(squares.sum()), 0.5 * max(float(np.vdot(dual_point, at)), 0.0)
        violation = float(np.abs(coef + slope).max()) / max(_size(slope), settled)
    elif problem.penalty == "l2":
        penalty = 0.5 * float(np.vdot(coef, coef / problem.spread))
        dual_penalty = 0.5 * float(np.vdot(at, problem.spread * at))
        pull = problem.spread * product(-slope)
        violation = float(np.abs(coef - pull).max()) / max(
            _size(pull), settled * _size(product(np.sign(slope)))
        )
    else:
        penalty, dual_penalty = float(np.abs(coef).sum()), 0.0
        pull = product(-slope)
        inside = np.maximum(np.abs(pull) - 1.0, 0.0)
        violation = float(np.where(coef == 0, inside, np.abs(pull - np.sign(coef))).max())
        dual_point = dual_point * min(1.0, 1.0 / _size(at))
    dual = -dual_penalty - _conjugates(problem, dual_point)
    sums = np.abs(slope.sum(axis=0)).max() if problem.fit_intercept else 0.0
    scale = max(abs(penalty + loss), PERFECT * problem.loss_at_zero)
    imbalance = float(sums) / max(_size(np.abs(slope).sum(axis=0)), SETTLED * float(problem.cost.sum()))
    return Evidence(penalty, loss, dual, violation, imbalance, squares, scale)


def _size(values: Array) -> float:
    return max(float(np.abs(values).max(initial=0.0)), 1e-300)


def _slopes(problem: ClassProblem, scores: Array) -> tuple[Array, float]:
    """Derivatives of Σ c ℓ in the scores, and its value."""
    cost = problem.cost
    if problem.is_binary:
        value, slope, _ = LOSS.terms(problem.two.target, scores[:, 0].copy())
        return (cost * slope)[:, None], float(cost @ value)
    terms = problem.several.loss.terms(problem.classes, scores.copy())
    return cost[:, None] * terms.slope, float(cost @ terms.value)


def _dual_point(problem: ClassProblem, coef: Array, slope: Array) -> Array:
    """The nearest point that the dual allows: each row in its domain, sums zero where intercepts are free."""
    if not problem.is_binary:
        return allowed_coefficients(problem.several, coef)
    target, cost = problem.two.target, problem.cost
    nu = target * np.clip(target * coef[:, 0], 0.0, cost)
    if problem.fit_intercept:
        sides = sides_of(nu)
        nu = sides @ (balanced(sides.sum(axis=0)) * np.array([1.0, -1.0]))
    return nu[:, None]


def _conjugates(problem: ClassProblem, dual_point: Array) -> float:
    cost = problem.cost
    if problem.is_binary:
        return float(cost @ LOSS.conjugate(problem.two.target, -dual_point[:, 0] / cost))
    return float(cost @ problem.several.loss.conjugate(problem.classes, -dual_point / cost[:, None]))
