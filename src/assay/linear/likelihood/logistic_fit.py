"""Fit of a logistic regression: which solver, what proof, and the refusal of a fit that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from assay.certificates import Certificate, at_most
from assay.linear.likelihood.base import LikelihoodPath
from assay.linear.predictor import affine
from assay.losses import CrossEntropy, Logistic, Loss, Multinomial, ReferenceMultinomial
from assay.penalties import ElasticNet
from assay.rows import Block, MemoryRows
from assay.solvers import (
    RowMeasure,
    RowRisk,
    Separability,
    SmoothFit,
    SparseSolutions,
    calm_blas,
    fit_smooth,
    proximal_rows,
    risk_step,
    row_weights,
    separability,
    silent,
    sparse_path,
)
from assay.solvers.least_squares.moments import require_finite

Array = NDArray[np.float64]
SMALLEST_GAP = 1e-10
LARGEST_CORRECTION = 0.5
FLAT = 1e-6
"""Share of the curvature of a constant score below which a likelihood is taken to run away."""

OVERLAP = "Sangnier §1.2.2, remark 1.2.6"

ABSENT = 1e-12
"""Share of a class that weighs nothing, whose best share of 0 has infinite log-odds."""

LARGEST_INFORMATION = 4096
"""Parameters up to which an unpenalised fit ends with its Hessian."""


Report = Callable[[Array], bool]


class LogisticFit(NamedTuple):
    """A fit, the mean loss of constant scores, and proofs of overlap where there is no penalty."""

    fit: SmoothFit
    first: float
    overlap: Sequence[Certificate] = ()


def loss_of_classes(n_classes: int, reference: int | None) -> Loss:
    """The loss of two classes, or of more."""
    if n_classes == 2:
        return CrossEntropy(shares=False)
    return Multinomial(n_classes) if reference is None else ReferenceMultinomial(n_classes, reference)


def null_scores(weights: Array, risk: RowRisk) -> Array:
    """The point of the best constant scores: log-odds of the classes.

    Those of a class that weighs nothing are −∞: it is given the share `ABSENT`, which the fit does not move.
    """
    start = np.zeros(risk.shape)
    if risk.fit_intercept:
        weights = np.maximum(weights, ABSENT * weights.sum())
        level = risk.loss.constant_minimiser(np.arange(len(weights)), weights)
        start[-1] = level - level.mean() if risk.loss.symmetric else level
    return start


def null_risk(risk: RowRisk, null: Array) -> float:
    """Mean loss of the best constant scores, beside the offsets where there are some.

    Without offsets it is the entropy of the classes at the point `null`, and needs no walk.
    """
    if not risk.has_offset:
        chances = constant_chances(risk, null)
        shares = chances if risk.fit_intercept else np.full(len(chances), 1 / len(chances))
        return float(special.entr(shares).sum())
    plain, point = risk.with_alpha(np.zeros_like(risk.alpha)), null.copy()
    for _ in range(100 if risk.fit_intercept else 0):
        here = plain.measure(point, hessian=True)
        assert here.hessian is not None
        change = float(here.gradient[-1, 0] / max(here.hessian[-1, -1], np.finfo(float).tiny))
        if not abs(change) > 1e-12 * (1 + abs(float(point[-1, 0]))):
            break
        point[-1] -= np.clip(change, -1.0, 1.0)
    return plain.measure(point).risk


def fit_logistic(
    risk: RowRisk,
    *,
    l1: Array,
    null: Array,
    start: Array | None = None,
    solver: str,
    tol: float,
    max_iter: int,
    report: Report = silent,
) -> LogisticFit:
    """Minimise risk + Σ l1 |w|; refuse an unpenalised fit of classes that a hyperplane separates.

    `null` is the point of the best constant scores, where the steps start unless a `start` is given. With the
    fit come the proofs that it exists, where there is no penalty.
    """
    first = null_risk(risk, null)
    start = null if start is None else start
    if l1.any():
        gap = max(tol**2 / 2, SMALLEST_GAP)
        return LogisticFit(_fit_sparse(risk, l1, start, gap, first, max_iter, report), first)
    length = tol if solver == "gradient_descent" else tol * np.sqrt(max(first, np.finfo(float).tiny))
    fit = fit_smooth(risk, start, solver=solver, tol=length, max_iter=max_iter, report=report)
    if (
        risk.alpha.all() or constant_chances(risk, null).max() > 1 - len(null[-1]) * 2 * ABSENT
    ):  # one class alone weighs
        return LogisticFit(fit, first)
    if fit.measured.hessian is None and risk.shape[0] * risk.shape[1] <= LARGEST_INFORMATION:
        fit = fit._replace(measured=risk.measure(fit.point, hessian=True))
    with calm_blas(risk):
        return LogisticFit(fit, first, require_overlap(risk, fit.measured, null))


def _fit_sparse(
    risk: RowRisk, l1: Array, start: Array, tol: float, first: float, max_iter: int, report: Report
) -> SmoothFit:
    data = risk.data
    if risk.shape[1] == 1 and isinstance(data, MemoryRows) and not risk.has_offset:
        strength = float(l1[0] + risk.alpha[0])
        grid, ratio = np.array([strength]), float(l1[0] / strength)
        solved = by_coordinates(risk, data, grid, ratio, start=start, tol=tol, max_iter=max_iter)
        point = risk.join_point(dense(solved.coef).T, np.asarray(solved.intercept))
        measured = risk.measure(point, split=True)
        report(point)
        n_iter, converged = int(solved.n_iter[0]), bool(solved.converged[0])
        ends = float(solved.relative_gap[0]), n_iter, converged, [measured.value], point.size
        return SmoothFit(point, measured, measured.split, *ends, "coordinate_descent")
    return proximal_rows(risk, start, l1, tol=tol * first, max_iter=max_iter, report=report)


def dense(coef: Any) -> Array:
    """Coefficients of a path as an array."""
    return np.asarray(coef.toarray() if hasattr(coef, "toarray") else coef, dtype=np.float64)


def by_coordinates(
    risk: RowRisk,
    data: MemoryRows,
    strengths: Array,
    l1_ratio: float,
    *,
    start: Array | None = None,
    tol: float,
    max_iter: int,
) -> SparseSolutions:
    """Two classes in memory with an l1 penalty: coordinate descent on working sets, down the strengths."""
    assert data.y is not None
    weight = data.weight
    if risk.class_weight is not None:
        factors = risk.class_weight[data.y.astype(np.intp)].astype(data.dtype)
        weight = factors if weight is None else weight * factors
    with np.errstate(over="ignore"):
        require_finite(np.array([_largest(data.X) ** 2 * len(data.y)]), data)
    return sparse_path(
        data.X,
        2 * data.y - 1,
        weight,
        strengths,
        loss=Logistic(),
        penalty=ElasticNet(1.0, l1_ratio),
        fit_intercept=risk.fit_intercept,
        tol=tol,
        max_iter=max_iter,
        start=None if start is None else risk.split_point(start)[0][:, 0],
    )


def _largest(X: Any) -> np.float64:
    """Largest absolute value of a table."""
    values = X.data if hasattr(X, "indptr") else X
    return np.float64(max(values.max(initial=0.0), -values.min(initial=0.0)))


def coordinate_path(
    risk: RowRisk, data: MemoryRows, grid: Array, l1_ratio: float, tol: float, max_iter: int
) -> LikelihoodPath:
    """All strengths by coordinate descent, each from the one before."""
    path = by_coordinates(risk, data, grid, l1_ratio, tol=max(tol**2 / 2, SMALLEST_GAP), max_iter=max_iter)
    coef, level = dense(path.coef), np.asarray(path.intercept)
    freedom = np.count_nonzero(coef, axis=1) + float(risk.fit_intercept)
    rest = path.loss, path.relative_gap, freedom, path.n_iter, path.converged
    return LikelihoodPath(grid, coef[:, None, :], level[:, None], 1 / (grid * risk.weight), *rest)


def probabilities(block: Block, coef: NDArray, intercept: NDArray) -> NDArray:
    """Probability of each class for the rows of one block."""
    scores = affine(block, coef, intercept)
    if scores.shape[1] == 1:
        positive = special.expit(scores[:, 0])
        return np.column_stack([special.expit(-scores[:, 0]), positive])
    return special.softmax(scores, axis=1)


# Whether an unpenalised fit of classes exists: a proof that they overlap, or what separates them.


def require_overlap(risk: RowRisk, measured: RowMeasure, null: Array) -> list[Certificate]:
    """Prove that the unpenalised fit exists, or refuse it and say along which direction it runs away."""
    proofs, answer = overlap_proofs(risk, measured, null)
    if answer is not None and answer.status != "overlapping":
        raise ValueError(refusal_of(answer, "a finite C"))
    if not proofs and measured.hessian is not None and kept_curvature(risk, measured, null) < FLAT:
        raise ValueError(
            "The likelihood runs away along some direction: the classes are (nearly) separated by a "
            "hyperplane and an unpenalised fit does not exist; use a finite C."
        )
    return proofs


def overlap_proofs(
    risk: RowRisk, measured: RowMeasure, null: Array
) -> tuple[list[Certificate], Separability | None]:
    """Certificates of overlap from the slopes of a fit, or else from the rows in memory.

    The slopes of a fit are positive weights λ of the margins z = y(x, 1) with Σ λ z = −W g. They balance
    exactly after the correction λ(1 − zᵀv), (Σ λ zzᵀ)v = Σ λ z, and stay positive while |zᵀv| < 1; then no
    hyperplane separates. As Σ λ zzᵀ is at least W times the Hessian H, |zᵀv| is at most √(zᵀH⁻¹z) times the
    Newton decrement, and zᵀH⁻¹z at most 1/share of its value at constant scores of chances p, which a
    leverage of at most 1 bounds by (1/p + 1/p') W/s.
    """
    if measured.hessian is not None and not risk.has_offset:
        largest = _largest_correction(risk, measured, null)
        if largest <= LARGEST_CORRECTION:
            claim = "No hyperplane separates the classes: the slopes, corrected to balance, stay positive."
            name = "largest relative correction"
            return [at_most(claim, name, largest, LARGEST_CORRECTION, source=OVERLAP)], None
    data = risk.source
    if not isinstance(data, MemoryRows):
        return [], None
    assert data.y is not None
    y = data.y if data.y.ndim == 1 else data.y[:, 0]
    answer = separability(data.X, y, fit_intercept=risk.fit_intercept, sample_weight=data.weight)
    if answer.status != "overlapping":
        claim = "No hyperplane separates the classes: the likelihood has a maximum."
        name = "rows strictly on their side of a hyperplane that leaves none on the wrong one"
        return [at_most(claim, name, answer.n_strict, 0.0, source=OVERLAP)], answer
    return list(answer.certificates), answer


def _largest_correction(risk: RowRisk, measured: RowMeasure, null: Array) -> float:
    share = kept_curvature(risk, measured, null)
    if not share > 0:
        return np.inf
    least = np.sort(constant_chances(risk, null))[:2]
    lightest = 1.0
    if risk.data.has_weight or risk.class_weight is not None:
        lightest = float(risk.source.reduce(smallest_weight, risk.class_weight, combine=min))
    assert measured.hessian is not None
    decrement = risk_step(risk, measured.hessian, measured.gradient).decrement
    return float(decrement * np.sqrt(np.sum(1 / least) * risk.weight / (lightest * share)))


def smallest_weight(block: Block, class_weight: Array | None) -> float:
    """Least weight above 0 of one block."""
    weight = row_weights(block, class_weight)
    assert weight is not None
    return float(np.min(weight[weight > 0], initial=np.inf))


def constant_chances(risk: RowRisk, null: Array) -> Array:
    """Probabilities of the classes at constant scores, of which their losses are minus the logarithms."""
    level = null[-1] if risk.fit_intercept else np.zeros(risk.shape[1])
    n_classes = risk.loss.n_groups
    if risk.shape[1] == 1:
        return np.exp(-risk.loss.value(np.arange(2.0), level))
    return np.exp(-risk.loss.value(np.arange(n_classes), np.tile(level, (n_classes, 1))))


def kept_curvature(risk: RowRisk, measured: RowMeasure, null: Array) -> float:
    """Smallest ratio of the curvature of the fit to that at constant scores, over the directions."""
    assert measured.hessian is not None
    first = risk.measure(null, hessian=True).hessian
    assert first is not None
    scale = np.sqrt(np.maximum(np.diagonal(first), np.finfo(float).tiny))
    first, fitted = first / scale[:, None] / scale, measured.hessian / scale[:, None] / scale
    values, vectors = np.linalg.eigh(first)
    kept = values > len(values) * 1e-12 * values[-1]
    basis = vectors[:, kept] / np.sqrt(values[kept])
    return float(linalg.eigvalsh(basis.T @ fitted @ basis)[0])


def refusal_of(answer: Separability, remedy: str) -> str:
    """The sentence that names the direction and the way out."""
    direction = np.atleast_2d(np.asarray(answer.direction))
    place = int(np.argmax(np.abs(direction).max(axis=1)))
    shown = np.array2string(direction[place], precision=3, threshold=6)
    level = np.atleast_1d(np.asarray(answer.intercept, dtype=float))[place]
    how = "separates" if answer.status == "separable" else "separates all but the rows that lie on it of"
    return (
        f"A hyperplane {how} the classes, so that the likelihood rises for ever along w = {shown}, "
        f"b = {level:.3g} and an unpenalised fit does not exist; use {remedy}."
    )
