"""One door to the solvers of a risk in the Hilbert space of a kernel: the shape of the loss chooses."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.losses import Loss, SidedLoss
from assay.solvers.requirements import requires
from assay.solvers.rkhs.box import BoxOptions, solve_box
from assay.solvers.rkhs.newton import LossRisk, solve_newton
from assay.solvers.rkhs.problem import Array, RKHSProblem, RKHSSolution, within_box

ROUNDING = 2.0**-50


def solve_rkhs(
    problem: RKHSProblem[Loss],
    kernel: Kernel,
    X: Any,
    *,
    tol: float,
    max_iter: int,
    gram: NDArray | None = None,
    start: tuple[RKHSSolution, float] | None = None,
) -> RKHSSolution:
    """Minimise ½‖h‖² + Σ c ℓ(y, h(x) + b): corners in the box of the dual, others by Newton steps.

    `start` is the solution of the same problem at other costs, and the factor from those costs to these.
    `max_iter` counts Newton steps, ten thousand times as many steps on pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.kernels import Gaussian
    >>> from assay.losses import Absolute
    >>> from assay.solvers.rkhs.problem import RKHSProblem
    >>> from assay.solvers.rkhs.solve import solve_rkhs
    >>> X = np.linspace(-1, 1, 9)[:, None]
    >>> problem = RKHSProblem(Absolute(), np.sign(X[:, 0]), np.ones(9), True)
    >>> solve_rkhs(problem, Gaussian(), X, tol=1e-8, max_iter=100).converged
    True
    """
    loss = problem.loss
    requires("solve_rkhs", loss, convex=True, scores=1)
    if loss.cornered:
        sided = cast("RKHSProblem[SidedLoss]", problem)
        options = BoxOptions(tol=tol, max_iter=10_000 * max_iter)
        # A multiple of a dual point of other costs is one of these, in its box and balanced.
        first = None if start is None else start[0].coef * start[1]
        return solve_box(sided, kernel, X, options, gram=gram, start=first)
    begin = None if start is None else start[0]
    return solve_newton(problem, kernel, X, tol=tol, max_iter=max_iter, gram=gram, start=begin)


def allowed(problem: RKHSProblem[Loss], coef: Array, scores: Array) -> Array:
    """The coefficients, those that the dual does not allow replaced by what it does."""
    if isinstance(problem.loss, SidedLoss) and problem.loss.cornered:
        # A coefficient at its bound, divided by its cost, may round to beyond it.
        return within_box(cast("RKHSProblem[SidedLoss]", problem), coef) * (1.0 - ROUNDING)
    slope = problem.cost * problem.loss.gradient(problem.target, scores)
    return np.asarray(LossRisk(problem).feasible(coef[:, None], slope[:, None])[:, 0])
