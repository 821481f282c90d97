"""Fit of a logistic regression: which solver, what proof, and the refusal of a fit that does not exist."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.certificates import Certificate, Certificates, at_most
from assay.linear.likelihood.overlap import constant_chances, require_overlap
from assay.losses import CrossEntropy, Logistic, Loss, Multinomial, ReferenceMultinomial
from assay.penalties import ElasticNet
from assay.rows import MemoryRows
from assay.solvers import (
    RowMeasure,
    RowRisk,
    SmoothFit,
    SparseSolutions,
    Split,
    calm_blas,
    fit_smooth,
    proximal_rows,
    risk_step,
    row_duality_gap,
    sparse_path,
)

Array = NDArray[np.float64]
SMALLEST_GAP = 1e-10
LARGEST_INFORMATION = 4096
"""Parameters up to which an unpenalised fit ends with its Hessian."""


class LogisticFit(NamedTuple):
    """A fit, and proofs of overlap where there is no penalty."""

    fit: SmoothFit
    overlap: Sequence[Certificate] = ()


def loss_of_classes(n_classes: int, reference: int | None) -> Loss:
    """The loss of two classes, or of more."""
    if n_classes == 2:
        return CrossEntropy(shares=False)
    return Multinomial(n_classes) if reference is None else ReferenceMultinomial(n_classes, reference)


def null_scores(weights: Array, risk: RowRisk) -> Array:
    """The point of the best constant scores: log-odds of the classes."""
    start = np.zeros(risk.shape)
    if risk.fit_intercept:
        level = risk.loss.constant_minimiser(np.arange(len(weights)), weights)
        start[-1] = level - level.mean() if risk.loss.symmetric else level
    return start


def fit_logistic(
    risk: RowRisk,
    *,
    l1: Array,
    null: Array,
    start: Array | None = None,
    solver: str,
    tol: float,
    max_iter: int,
    report: Callable[[Array], bool] = lambda point: False,
) -> LogisticFit:
    """Minimise risk + Σ l1 |w|; refuse an unpenalised fit of classes that a hyperplane separates.

    `null` is the point of the best constant scores, where the steps start unless a `start` is given. With the
    fit come the proofs that it exists, where there is no penalty.
    """
    first = risk.measure(null).risk if risk.has_offset else _constant_risk(risk, null)
    start = null if start is None else start
    if l1.any():
        gap = max(tol**2 / 2, SMALLEST_GAP)
        return LogisticFit(_fit_sparse(risk, l1, start, gap, first, max_iter, report))
    length = tol if solver == "gradient_descent" else tol * np.sqrt(max(first, np.finfo(float).tiny))
    fit = fit_smooth(risk, start, solver=solver, tol=length, max_iter=max_iter, report=report)
    if risk.alpha.all():
        return LogisticFit(fit)
    if fit.measured.hessian is None and risk.shape[0] * risk.shape[1] <= LARGEST_INFORMATION:
        fit = fit._replace(measured=risk.measure(fit.point, hessian=True))
    with calm_blas(risk):
        return LogisticFit(fit, require_overlap(risk, fit.measured, null))


def _constant_risk(risk: RowRisk, start: Array) -> float:
    """Mean loss of the constant scores of a start, without a walk: the entropy of the classes."""
    return float(special.entr(constant_chances(risk, start)).sum())


def _fit_sparse(
    risk: RowRisk,
    l1: Array,
    start: Array,
    tol: float,
    first: float,
    max_iter: int,
    report: Callable[[Array], bool],
) -> SmoothFit:
    data = risk.data
    if risk.shape[1] == 1 and isinstance(data, MemoryRows) and not risk.has_offset:
        strength = float(l1[0] + risk.alpha[0])
        solved = by_coordinates(
            risk,
            data,
            np.array([strength]),
            float(l1[0] / strength),
            start=start,
            tol=tol,
            max_iter=max_iter,
        )
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


def logistic_certificates(
    risk: RowRisk,
    point: Array,
    measured: RowMeasure,
    split: Split | None,
    l1: Array,
    null_risk: float,
    *,
    overlap: Sequence[Certificate] = (),
) -> Certificates:
    """Optimality, the majorant of the training error, and overlap where there is no penalty."""
    single = risk.data.dtype == np.float32
    scale = max(null_risk, np.finfo(float).tiny)
    if np.all(risk.alpha + l1 > 0):
        first = at_most(
            "The objective is this close to its minimum.",
            "relative duality gap",
            row_duality_gap(risk, point, measured, split, l1=l1 if l1.any() else None) / scale,
            1e-4 if single else 1e-7,
            source="Rudi & Şimşekli §3.1.2; Sangnier §1.4.5",
        )
    else:
        first = stationarity(risk, measured, single)
    return Certificates([first, majorant(measured), *overlap])


def stationarity(risk: RowRisk, measured: RowMeasure, single: bool) -> Certificate:
    """How far the score equations are from holding, in standard errors of an estimate from these rows."""
    if measured.hessian is not None:
        value = risk_step(risk, measured.hessian, measured.gradient).decrement * np.sqrt(risk.weight)
        quantity = "distance to the maximum in standard errors"
    else:
        value, quantity = float(np.abs(measured.gradient).max()) * np.sqrt(risk.weight), "score norm"
    return at_most(
        "The score vanishes: the likelihood is at its maximum.",
        quantity,
        value,
        0.05 if single else 1e-4,
        source="Wei §7.3.3; Douc & Le Corff §8.6",
    )


def majorant(measured: RowMeasure) -> Certificate:
    """The 0-1 loss is below the logistic loss in base 2, row by row and so on average."""
    return at_most(
        "The training error is at most the logistic loss in base 2.",
        "training error",
        measured.mistakes,
        measured.risk / np.log(2),
        source="Sangnier §1.2.1; Rudi & Şimşekli §2.1.2",
    )
