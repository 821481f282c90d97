"""Smooth losses: damped Newton steps in the Hilbert space of a kernel, until the duality gap is small."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import Loss
from assay.solvers.requirements import requires
from assay.solvers.rkhs.class_step import class_step
from assay.solvers.rkhs.curved import (
    CG_EXACT,
    CG_STEPS,
    CG_TOL,
    PATIENCE,
    Array,
    Curvature,
    Factor,
    GramOperator,
    LandmarkFactor,
    Step,
    factor_of,
    newton_step,
)
from assay.solvers.rkhs.problem import PERFECT, RKHSProblem, RKHSSolution, measure, sides_of

ROUNDING = 2.0**-50
MOST_FLAT = 2
"""Steps along which rounding hides the descent that are taken all the same."""

TRIALS, FLAT = 100, 0.1
RISE = 1e-6
"""Relative rise of the objective along a step that hides no descent: what rounding leaves of large costs."""
CLASS_PATIENCE, CLASS_MEMORY = 60, 2.0**31
"""Steps of conjugate gradients, and bytes of one matrix per class, up to which classes share a factor."""

SHORT, MOST_SHORT = 0.1, 3
"""The first few steps cut below `SHORT` are each followed by one on the quadratic that majorises the loss."""


class RiskTerms(NamedTuple):
    """Loss of each row times its cost, its slopes in the scores, and its second derivatives."""

    loss: float
    slope: Array
    curvature: Curvature


class ScoreRisk(Protocol):
    """What the Newton iteration needs of a risk: functions of an array of scores, one row each."""

    fit_intercept: bool

    def terms(self, scores: Array) -> RiskTerms:
        """Terms at the scores, which are not overwritten."""

    def slope(self, scores: Array) -> Array:
        """Derivatives of Σ c ℓ in the scores."""

    def majoriser(self) -> Curvature | None:
        """Second derivatives that are nowhere exceeded, None where there are none."""

    def feasible(self, coef: Array, slope: Array) -> Array:
        """Coefficients that the dual allows, near the given ones."""

    def row_gap(self, coef: Array, scores: Array) -> float:
        """Σ c ℓ + c ℓ* + ν f, which is the duality gap where the sums of the coefficients are zero."""


class State(NamedTuple):
    """Coefficients, K times them, intercepts (one column or entry per score)."""

    coef: Array
    values: Array
    intercept: Array

    @property
    def scores(self) -> Array:
        """K ν + b."""
        return self.values + self.intercept

    def moved(self, step: Step, length: float) -> State:
        """Along a step."""
        return State(
            self.coef + length * step.coef,
            self.values + length * step.values,
            self.intercept + length * step.intercept,
        )


class Descent(NamedTuple):
    """Result of `descend`."""

    state: State
    n_iter: int
    trace: list[float]
    """Dual value before each step."""


def descend(
    operator: GramOperator, risk: ScoreRisk, state: State, *, tol: float, max_iter: int, floor: float
) -> Descent:
    """Newton steps until the sum of the Fenchel–Young terms is `tol` times the objective, or all stalls.

    `floor` is the smallest objective that the gap is relative to.
    """
    solver, short, polished, n_short, n_flat = StepSolver(operator), False, False, 0, 0
    trace: list[float] = []
    for n_iter in range(max_iter + 1):
        scores = state.scores
        terms = risk.terms(scores)
        primal = 0.5 * float(np.vdot(state.coef, state.values)) + terms.loss
        coef, allowed = risk.feasible(state.coef, terms.slope), tol * max(abs(primal), floor)
        gap = risk.row_gap(coef, scores)
        if gap <= allowed and coef is not state.coef:
            change = coef - state.coef
            gap += 0.5 * float(np.vdot(change, operator @ change))
        trace.append(primal - gap)
        # One step more than asked for: its error is the square of what is left, and costs no new factor.
        if gap <= allowed and (polished or n_iter in (0, max_iter)):
            state = state._replace(coef=coef)
            break
        polished = gap <= allowed
        if n_iter == max_iter:
            break
        bound = risk.majoriser() if short or not terms.curvature.weight.any() else None
        sums = terms.slope.sum(axis=0) if risk.fit_intercept else None
        system = bound or terms.curvature, -(terms.slope + state.coef), sums
        step = solver.step(*system)
        length = line_search(risk, state, step, terms)
        if length == 0.0 and solver.sharpen():  # an error of the step, for all that is known
            step = solver.step(*system)
            length = line_search(risk, state, step, terms)
        if length == 0.0:
            # Where the function is as good as rounding tells, its coefficients may not be.
            n_flat += 1
            if polished or n_flat > MOST_FLAT or rises(risk, state.moved(step, 1.0), primal):
                break
            length = 1.0
        n_short += length < SHORT
        if length < SHORT:  # errors of a step along which the risk bends much
            solver.tol = CG_EXACT
        short = length < SHORT and bound is None and n_short <= MOST_SHORT
        state = state.moved(step, length)
    return Descent(state, n_iter, trace)


class StepSolver:
    """Newton's system, with a factor that is kept from step to step while it serves."""

    def __init__(self, operator: GramOperator) -> None:
        self.operator, self.by_class, self.tol = operator, False, CG_TOL
        self.factor: Factor | LandmarkFactor | None = None

    def sharpen(self) -> bool:
        """Ask for exact steps with a factor of their own; whether they were not that already."""
        sharper = self.tol > CG_EXACT and not self.by_class
        if sharper:
            self.tol, self.factor = CG_EXACT, None
        return sharper

    def step(self, curvature: Curvature, residual: Array, slope_sums: Array | None) -> Step:
        """See `newton_step`."""
        if self.by_class:
            return class_step(self.operator, curvature, residual, slope_sums)
        asked = self.operator, curvature
        if self.factor is not None:
            step = newton_step(*asked, self.factor, residual, slope_sums, patience=PATIENCE, tol=self.tol)
            if step is not None:
                return step
        self.factor = factor_of(self.operator, curvature.weight)
        classes, gram = curvature.probabilities, self.operator.gram
        direct = classes is not None and gram is not None and gram.nbytes * classes.shape[1] <= CLASS_MEMORY
        patience = CLASS_PATIENCE if direct else CG_STEPS
        made = newton_step(*asked, self.factor, residual, slope_sums, patience=patience, tol=self.tol)
        if made is None:
            # One weight per row says too little of several classes once costs are large.
            self.by_class = True
            return class_step(self.operator, curvature, residual, slope_sums)
        return made


def rises(risk: ScoreRisk, state: State, primal: float) -> bool:
    """Whether the objective of a state is above another by more than both may round to."""
    value = 0.5 * float(np.vdot(state.coef, state.values)) + risk.terms(state.scores).loss
    return not value <= primal + RISE * abs(primal)


def line_search(risk: ScoreRisk, state: State, step: Step, terms: RiskTerms) -> float:
    """A length at which the slope along a step is a tenth of what it was; 0 where it does not descend.

    The objective is convex along the step: its slope rises, and a root of it is closed in by secants and
    halvings.
    """
    change, scores = step.values + step.intercept, state.scores
    linear, square = float(np.vdot(state.coef, step.values)), float(np.vdot(step.coef, step.values))

    def slope_at(length: float) -> float:
        slope = linear + length * square + float(np.vdot(risk.slope(scores + length * change), change))
        return slope if slope == slope else math.inf

    first = linear + float(np.vdot(terms.slope, change))
    terms_of_first = np.vdot(np.abs(state.coef), np.abs(step.values)) + np.vdot(
        np.abs(terms.slope), np.abs(change)
    )
    # Newton's direction descends: a slope that is not below zero by more than its sum may round to is none,
    # and to follow one would lead as far as lengths are tried.
    if not first < -ROUNDING * float(terms_of_first):
        return 0.0
    low, high, low_slope, high_slope, length = 0.0, math.inf, first, math.inf, 1.0
    for _ in range(TRIALS):
        slope = slope_at(length)
        if abs(slope) <= FLAT * abs(first):
            return length
        if slope < 0:
            low, low_slope = length, slope
        else:
            high, high_slope = length, slope
        if math.isinf(high):
            length *= 2.0
        else:
            root = (
                (low * high_slope - high * low_slope) / (high_slope - low_slope)
                if high_slope < math.inf
                else low
            )
            edge = 0.1 * (high - low)
            length = min(max(root, low + edge), high - edge)
    return low


class LossRisk:
    """The risk of a loss of one score."""

    def __init__(self, problem: RKHSProblem[Loss]) -> None:
        self.problem, self.fit_intercept = problem, problem.fit_intercept

    def terms(self, scores: Array) -> RiskTerms:
        """See `ScoreRisk`."""
        loss, y, cost, _ = self.problem
        value, slope, curvature = loss.terms(y, scores[:, 0].copy())
        weight = cost * np.maximum(curvature, 0.0)
        return RiskTerms(float(cost @ value), (cost * slope)[:, None], Curvature(weight, cost, None))

    def slope(self, scores: Array) -> Array:
        """See `ScoreRisk`."""
        loss, y, cost, _ = self.problem
        with np.errstate(over="ignore"):
            return (cost * loss.gradient(y, scores[:, 0]))[:, None]

    def majoriser(self) -> Curvature | None:
        """See `ScoreRisk`."""
        bound, cost = self.problem.loss.smoothness, self.problem.cost
        return Curvature(bound * cost, cost, None) if math.isfinite(bound) else None

    def feasible(self, coef: Array, slope: Array) -> Array:
        """Minus the slope, which the dual always allows, in rows where it does not allow the coefficient."""
        loss, y, cost, _ = self.problem
        outside = ~np.isfinite(loss.conjugate(y, -coef[:, 0] / cost))
        # A slope at its bound, times its cost and divided by it, may round to beyond the bound.
        return np.where(outside[:, None], -slope * (1.0 - ROUNDING), coef) if outside.any() else coef

    def row_gap(self, coef: Array, scores: Array) -> float:
        """See `ScoreRisk`."""
        loss, y, cost, _ = self.problem
        f, nu = scores[:, 0], coef[:, 0]
        rows = cost * (loss.value(y, f) + loss.conjugate(y, -nu / cost)) + nu * f
        return float(np.maximum(rows, 0.0).sum())


def solve_newton(
    problem: RKHSProblem[Loss],
    kernel: Kernel,
    X: Any,
    *,
    tol: float,
    max_iter: int,
    gram: NDArray | None = None,
    start: RKHSSolution | None = None,
    memory: float | None = None,
) -> RKHSSolution:
    """Minimise ½‖h‖² + Σ c ℓ(y, h(x) + b) for a convex loss without corners.

    Parameters
    ----------
    problem : RKHSProblem
    kernel, X : Kernel and rows
        What the Gram matrix is made of; not read when `gram` is given.
    tol : float
        Duality gap, relative to the objective, at which the iteration ends.
    max_iter : int
        Most Newton steps.
    gram : array of shape (n, n), optional
        The Gram matrix, when it is there already; it is not changed.
    start : RKHSSolution, optional
        Solution of a neighbouring problem on the same rows.
    memory : float, optional
        Bytes of a Gram matrix beyond which products with it are made tile by tile; 2 GiB by default.

    Returns
    -------
    solution : RKHSSolution
        The dual value before each step is its `trace`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian
    >>> from assay.losses import Logistic
    >>> from assay.solvers.rkhs.newton import solve_newton
    >>> from assay.solvers.rkhs.problem import RKHSProblem, measure
    >>> X, y = np.linspace(-1, 1, 9)[:, None], np.repeat([-1.0, 1.0], [5, 4])
    >>> problem = RKHSProblem(Logistic(), y, np.ones(9), True)
    >>> solution = solve_newton(problem, Gaussian(), X, tol=1e-10, max_iter=50)
    >>> bool(measure(problem, solution.coef, solution.intercept, solution.products).relative <= 1e-10)
    True
    """
    requires("solve_newton", problem.loss, smooth=True, convex=True, scores=1)
    operator, risk = GramOperator(kernel, X, gram, memory=memory), LossRisk(problem)
    state = _start(problem, start)
    floor = PERFECT * problem.loss_at_zero
    n_iter, allowed = 0, tol
    trace: list[float] = []
    while True:
        if state.coef.any():
            state = state._replace(values=operator @ state.coef)
        done = descend(operator, risk, state, tol=allowed, max_iter=max_iter - n_iter, floor=floor)
        state, n_iter, trace = done.state, n_iter + done.n_iter, trace + done.trace
        slope = risk.terms(state.scores).slope
        coef, intercept = risk.feasible(state.coef, slope)[:, 0], float(state.intercept[0])
        products = operator @ sides_of(coef)
        relative = measure(problem, coef, intercept, products).relative
        # What making the point feasible costs is not in the sum that the steps stop on.
        if relative <= tol or done.n_iter == 0 or n_iter >= max_iter or allowed < 1e-6 * tol:
            return RKHSSolution(
                coef, intercept, (intercept, intercept), products, n_iter, relative <= tol, trace
            )
        allowed *= 0.01


def _start(problem: RKHSProblem[Loss], start: RKHSSolution | None) -> State:
    if start is not None:
        return State(start.coef[:, None], start.coef[:, None], np.array([start.intercept]))
    level = problem.loss.constant_minimiser(problem.target, problem.cost) if problem.fit_intercept else 0.0
    nothing = np.zeros((len(problem.target), 1))
    return State(nothing, nothing, np.array([level if np.isfinite(level) else 0.0]))
