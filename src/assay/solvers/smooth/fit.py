"""Minimise a smooth penalised risk in a linear score: the way with the fewest walks over the rows."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NamedTuple

import numpy as np
from scipy import linalg

from assay.rows import Block, MemoryRows, one_blas_thread
from assay.solvers.in_memory import copied
from assay.solvers.least_squares.moments import require_finite
from assay.solvers.requirements import requires
from assay.solvers.smooth.newton import EPSILON, NewtonStep, inverse_scale, newton_step, row_newton
from assay.solvers.smooth.quasi_newton import quasi_newton
from assay.solvers.smooth.row_risk import RowMeasure, RowRisk
from assay.solvers.smooth.row_sums import Array, Split, shifted_columns
from assay.solvers.smooth.wide import NarrowRisk, narrowed

LARGEST_HESSIAN = 1024
"""Parameters up to which "auto" takes Newton steps."""

MANY_COLUMNS = 256
"""Columns in memory from which on "auto" forms one Hessian for all steps of a single score, not one each."""

LARGEST_FACTOR = 4096
"""Columns up to which a d × d matrix guides the quasi-Newton steps; beyond, its diagonal does."""

MANY_ROWS = 8192
"""Rows in memory from which "auto" walks with the gradient only."""

PATIENCE = 25
"""Newton steps after which "auto" goes on by quasi-Newton steps: a row far out makes each step short."""

SAMPLE_SHARE, ROWS_PER_COLUMN = 0.06, 20

COARSE = 1e-2
"""Decrement at which a part of the rows has told what it knows of the minimum."""

FEW_PARAMETERS = 256
"""Parameters up to which a Hessian of few rows costs less than the many walks without it."""

Report = Callable[[Array], bool]
Inverse = Callable[[Array], Array]


class SmoothFit(NamedTuple):
    """A minimiser of a `RowRisk`.

    Attributes
    ----------
    point : array of shape (p, k)
    measured : RowMeasure
        At the point; with the Hessian where the solver formed it.
    split : Split or None
        Slopes by groups of rows, of some point on the way.
    decrement : float
        √(gᵀH⁻¹g), with an approximation of H where there is none; the duality gap of `proximal_rows`.
    n_iter : int
    converged : bool
    values : list of float
        Objective of every accepted point.
    rank : int
        Of the Hessian; the number of parameters where it was not formed.
    solver : str
    """

    point: Array
    measured: RowMeasure
    split: Split | None
    decrement: float
    n_iter: int
    converged: bool
    values: list[float]
    rank: int
    solver: str


def silent(point: Array) -> bool:
    """Nobody wants to be told of the points on the way."""
    return False


def fit_smooth(
    risk: RowRisk,
    start: Array,
    *,
    solver: str = "auto",
    tol: float,
    max_iter: int,
    report: Report = silent,
) -> SmoothFit:
    """Minimise a `RowRisk` from a start.

    Parameters
    ----------
    risk : RowRisk
    start : array of shape (p, k)
    solver : {"auto", "newton", "quasi_newton", "gradient_descent"}
        "newton" walks with the Hessian; "quasi_newton" walks with the gradient only, guided by the Hessian of
        a part of the rows. "auto" takes the second for many parameters, or many rows in memory; where there
        are more columns than rows in memory, it works on the span of the rows.
        "gradient_descent" is the plain method, for its trace.
    tol : float
        Bound of the decrement √(gᵀH⁻¹g), the distance to the minimum in the norm of the Hessian; not below
        what the precision of the table can tell.
    max_iter : int
    report : callable
        Told the point after each iteration; true asks to stop.
    """
    requires("fit_smooth", risk.loss, smooth=True)
    tol = max(tol, 10 * risk.rounding)
    p, k = risk.shape
    if solver == "auto" and (narrow := narrowed(risk)) is not None:
        return _fit_narrow(risk, narrow, start, tol=tol, max_iter=max_iter, report=report)
    if solver == "auto":
        in_memory = isinstance(risk.data, MemoryRows)
        long = k == 1 and risk.data.shape[0] >= max(MANY_ROWS, 4 * ROWS_PER_COLUMN * p)
        wide = k == 1 and p > MANY_COLUMNS
        guided = p * k > LARGEST_HESSIAN or ((long or wide) and in_memory)
        if not guided and in_memory and max_iter > PATIENCE:
            return _with_patience(risk, start, tol=tol, max_iter=max_iter, report=report)
        solver = "quasi_newton" if guided else "newton"
    steps = {"gradient_descent": descent_steps, "newton": newton_steps, "quasi_newton": guided_steps}[solver]
    with calm_blas(risk):
        return steps(risk, start, tol=tol, max_iter=max_iter, report=report)


def _with_patience(risk: RowRisk, start: Array, *, tol: float, max_iter: int, report: Report) -> SmoothFit:
    """Newton steps, and quasi-Newton steps from where they are if they are too many."""
    with calm_blas(risk):
        first = newton_steps(risk, start, tol=tol, max_iter=PATIENCE, report=report)
        if first.converged or first.n_iter < PATIENCE:
            return first
        limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter - PATIENCE, "report": report}
        rest = guided_steps(risk, first.point, **limits)
    return rest._replace(n_iter=first.n_iter + rest.n_iter, values=[*first.values, *rest.values])


def _fit_narrow(
    risk: RowRisk, narrow: NarrowRisk, start: Array, *, tol: float, max_iter: int, report: Report
) -> SmoothFit:
    """The fit on the span of the rows, measured on the columns themselves."""

    def told(point: Array) -> bool:
        return report(narrow.widen(point))

    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter}
    limits["solver"] = "quasi_newton" if narrow.risk.alpha.size * risk.shape[1] > FEW_PARAMETERS else "auto"
    limits["report"] = silent if report is silent else told
    fit = fit_smooth(narrow.risk, narrow.narrow(start), **limits)
    point = narrow.widen(fit.point)
    measured = risk.measure(point, split=True)
    return fit._replace(point=point, measured=measured, split=measured.split, rank=point.size)


def calm_blas(risk: RowRisk) -> AbstractContextManager[None]:
    """One BLAS thread for matrices so small that waking others costs more than they do."""
    return one_blas_thread() if risk.shape[0] * risk.shape[1] <= LARGEST_HESSIAN else nullcontext()


def newton_steps(
    risk: RowRisk, start: Array, *, tol: float, max_iter: int, report: Report = lambda point: False
) -> SmoothFit:
    """Damped Newton steps, a walk each: the Hessian comes with the value that the line search asks for."""
    split, step = bool(risk.alpha.all()), NewtonStep(start, np.inf, start.size)

    def direction_of(hessian: Array, gradient: Array) -> tuple[Array, float]:
        nonlocal step
        step = risk_step(risk, hessian, gradient)
        return step.direction, step.decrement**2 / 2

    steps = row_newton(
        lambda point: risk.measure(point, hessian=True, split=split),  # type: ignore[arg-type, return-value]
        None,
        start,
        tol=0.0,
        max_iter=max_iter,
        report=report,
        direction_of=direction_of,
        rounding=risk.rounding,
        gain=tol**2 / 2,
        finish=False,
    )
    last: RowMeasure = steps.last
    done = reached(risk, step.decrement, tol, last.value)
    ends = step.decrement, steps.n_iter, done, steps.values, step.rank
    return SmoothFit(steps.point, last, last.split, *ends, "newton")


def reached(risk: RowRisk, decrement: float, tol: float, value: float) -> bool:
    """Whether a decrement is within the tolerance, or promises less than the rounding of the value."""
    return decrement <= tol or decrement**2 <= 32 * risk.rounding * abs(value)


def risk_step(risk: RowRisk, hessian: Array, gradient: Array) -> NewtonStep:
    """The Newton step of a risk; columns that are constant up to the rounding of their shift stay alone."""
    p, k = risk.shape
    noise, level = column_noise(risk, hessian)
    step = newton_step(hessian, gradient.T.reshape(-1), noise, level=level)
    return step._replace(direction=step.direction.reshape(k, p).T)


def column_noise(risk: RowRisk, hessian: Array) -> tuple[Array, Array]:
    """Rounding of the shift of each column, and the curvature of a column of ones, for each score.

    Columns are only shifted beside an intercept, whose own curvature it is: so the units of the columns, of
    one or of all of them, do not matter.
    """
    p, k = risk.shape
    noise = np.append(8 * EPSILON * np.abs(risk.center), np.zeros(int(risk.fit_intercept)))
    return np.tile(noise, k), np.repeat(np.maximum(np.diagonal(hessian)[p - 1 :: p], 0.0), p)


def descent_steps(
    risk: RowRisk, start: Array, *, tol: float, max_iter: int, report: Report = lambda point: False
) -> SmoothFit:
    """Gradient descent with the step 1/L, L doubled until the descent lemma holds.

    Stops when the gradient norm is at most `tol` times its norm at the start.
    """
    point = start
    here = risk.measure(point, split=True)
    with np.errstate(over="ignore"):
        first = size = float(np.linalg.norm(here.gradient))
    require_finite(np.array([first]), risk.data)
    lipschitz, values, n_iter = 0.05, [here.value], 0
    while size > tol * first and n_iter < max_iter:
        trial = point - here.gradient / lipschitz
        there = risk.measure(trial, split=True)
        room = 8 * risk.rounding * abs(here.value)
        if not there.value <= here.value - size**2 / (2 * lipschitz) + room:
            if lipschitz > 1e300:
                break
            lipschitz *= 2
            continue
        point, here = trial, there
        size = float(np.linalg.norm(here.gradient))
        values.append(here.value)
        n_iter += 1
        if report(point):
            break
    done = size <= tol * first
    return SmoothFit(point, here, here.split, size, n_iter, done, values, point.size, "gradient_descent")


def guided_steps(
    risk: RowRisk, start: Array, *, tol: float, max_iter: int, report: Report = lambda point: False
) -> SmoothFit:
    """Quasi-Newton steps over all rows, started and guided by what a part of them says."""
    sample = sampled(risk)
    point, inverse = guide(risk, sample, start, max_iter=max_iter)
    first = risk.measure(point)
    split = repairing_slopes(risk, sample, point)
    last = first

    def evaluate(point: Array) -> tuple[float, Array]:
        nonlocal last
        last = risk.measure(point)
        return last.value, last.gradient

    known = first.value, first.gradient
    limits: dict[str, Any] = {"tol": tol, "max_iter": max_iter, "rounding": risk.rounding}
    steps = quasi_newton(evaluate, point, inverse, first=known, report=report, **limits)
    if steps.value != last.value:  # the last walk was of a step not taken
        last = risk.measure(steps.point)
    point = steps.point
    if risk.loss.symmetric:  # the common shift of the scores, which no value depends on
        point[risk.free] -= point[risk.free].mean(axis=1, keepdims=True)
    done = reached(risk, steps.decrement, tol, steps.value)
    ends = steps.decrement, steps.n_iter, done, steps.values, point.size
    return SmoothFit(point, last, split, *ends, "quasi_newton")


def repairing_slopes(risk: RowRisk, sample: RowRisk, point: Array) -> Split | None:
    """Slopes by groups of rows, for the duality gap of a penalised risk.

    Those of a part of the rows will do, with slope 0 for the others, where slope 0 costs nothing.
    """
    if not risk.alpha.all() or risk.loss.n_groups == 0:
        return None
    if risk.loss.reaches_zero and risk.data.has_weight == sample.data.has_weight:
        split = sample.measure(point, split=True).split
        if split is not None and np.all(np.abs(split.total).max(axis=1) > 0):
            return split
    return risk.measure(point, split=True).split


def guide(risk: RowRisk, sample: RowRisk, start: Array, *, max_iter: int) -> tuple[Array, Inverse]:
    """A start, and an approximate inverse Hessian, from a part of the rows.

    One score: Newton steps on the part, and its Hessian. Several: the Hessian of each score is taken as its
    mean curvature times the Gram matrix of the part. Rows elsewhere than in memory are those that come first,
    which guide but, being perhaps of one kind, do not move the start.
    """
    p, k = risk.shape
    in_memory = isinstance(risk.data, MemoryRows)
    if k == 1 and p <= LARGEST_FACTOR:
        if in_memory and sample.data.shape[0] < risk.data.shape[0]:
            first = newton_steps(sample, start, tol=COARSE, max_iter=max_iter)
            return first.point, inverse_of(risk, first.measured.hessian)
        return start, inverse_of(risk, sample.measure(start, hessian=True).hessian)
    geometry = columns_geometry(sample)
    inverse = product_inverse(risk, geometry, sample.mean_curvature(start))
    if in_memory:
        start = quasi_newton(sample.gradient, start, inverse, tol=COARSE, max_iter=50).point
        inverse = product_inverse(risk, geometry, sample.mean_curvature(start))
    return start, inverse


def sampled(risk: RowRisk) -> RowRisk:
    """The same risk on rows taken at equal distances, or on the first ones of a source out of memory."""
    data = risk.data
    n, p = data.shape[0], risk.shape[0]
    count = min(n, max(int(SAMPLE_SHARE * n), ROWS_PER_COLUMN * min(p, LARGEST_FACTOR), 2000))
    if isinstance(data, MemoryRows):
        every = max(1, n // count)
        X = data.X[::every] if data.is_sparse else np.ascontiguousarray(data.X[::every])
        y, weight = data.y, data.weight
        part = MemoryRows(X, None if y is None else y[::every], None if weight is None else weight[::every])
    else:
        part = MemoryRows(*data.head(count, copied))
    if part.weight is not None and not part.weight.any():
        part = MemoryRows(part.X, part.y)
    names = "fit_intercept", "has_offset", "class_weight"
    same: dict[str, Any] = {name: getattr(risk, name) for name in names}
    return RowRisk(part, risk.loss, risk.alpha, center=risk.inner, **same)


def columns_geometry(sample: RowRisk) -> tuple[Array, Array | None]:
    """Eigenvalues and eigenvectors of the mean of a aᵀ over the rows; its diagonal for very many columns."""
    n, p = sample.data.shape[0], sample.shape[0]
    if p > LARGEST_FACTOR:
        return sample.data.reduce(mean_squares, sample.center, sample.fit_intercept) / n, None
    return np.linalg.eigh(sample.data.reduce(plain_gram, sample.center, sample.fit_intercept) / n)


def plain_gram(block: Block, center: Array, fit_intercept: bool) -> Array:
    """Σ a aᵀ over the rows a = [x − center, 1] of one block."""
    columns = shifted_columns(block, center, fit_intercept)
    return np.asarray(columns.T @ columns)


def mean_squares(block: Block, center: Array, fit_intercept: bool) -> Array:
    """Σ a² of each column of one block; a sparse block is not shifted."""
    if block.is_sparse:
        squares = np.asarray(block.X.multiply(block.X).sum(axis=0), dtype=np.float64).ravel()
        return np.append(squares, np.full(int(fit_intercept), float(block.X.shape[0])))
    columns = shifted_columns(block, center, fit_intercept)
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


def product_inverse(risk: RowRisk, geometry: tuple[Array, Array | None], curvature: Array) -> Inverse:
    """The inverse of c_j V diag(λ) Vᵀ + ridge for each score j of mean curvature c_j."""
    values, vectors = geometry
    spectrum = np.maximum(values, values.max(initial=0.0) * 1e-9)[:, None] * curvature
    level = risk.ridge if vectors is None else np.full((1, 1), float(risk.alpha.mean()))
    scale = 1 / np.maximum(spectrum + level, np.finfo(float).tiny)
    if vectors is None:
        return lambda gradient: gradient * scale
    return lambda gradient: vectors @ ((vectors.T @ gradient) * scale)


def inverse_of(risk: RowRisk, hessian: Array | None) -> Inverse:
    """Solve with a positive definite matrix, whose diagonal is raised a little if it is singular."""
    assert hessian is not None
    scale = inverse_scale(hessian, *column_noise(risk, hessian))[:, None]
    scaled = hessian * scale * scale.T
    scaled[np.diag_indices_from(scaled)] = 1.0
    lift = 0.0
    while True:
        try:
            factor = linalg.cho_factor(scaled + lift * np.eye(len(scaled)), check_finite=False)
            break
        except linalg.LinAlgError:
            lift = max(10 * lift, 1e-10)
    return lambda gradient: linalg.cho_solve(factor, gradient * scale, check_finite=False) * scale
