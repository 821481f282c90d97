"""Fit of a generalised linear model: start, solver, deviance and proof."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.families import Family, LinkedFamily
from assay.linear.likelihood.logistic_fit import refusal_of
from assay.linear.predictor import affine
from assay.rows import Block, MemoryRows, Rows
from assay.solvers import (
    RowMeasure,
    RowRisk,
    SmoothFit,
    fit_smooth,
    risk_step,
    separability,
    silent,
)

Array = NDArray[np.float64]
FEW_STEPS = 8
"""Steps that a fit with a maximum seldom exceeds, and one that runs away always does."""


class TargetSums(NamedTuple):
    """Sums over rows of what needs the targets only.

    `null_deviance` is that of a constant score, `saturated` the log-likelihood of means equal to the targets,
    `smallest` the infimum of the loss of the fit.
    """

    null_deviance: float
    saturated: float
    smallest: float


def over_targets(data: Rows, step: Callable[..., Any], *state: Any) -> Any:
    """A walk that looks at the targets only: in memory they are one block, however wide the table."""
    if isinstance(data, MemoryRows):
        return step(Block(data.X, data.y, data.weight, 0), *state)
    return data.reduce(step, *state)


def target_summary(block: Block, family: Family, owner: str) -> tuple[float, float]:
    """Σ s and Σ s y of one block; refuses a target that the family cannot give."""
    assert block.y is not None
    y = block.y if block.y.ndim == 1 else block.y[:, 0]
    counted = y if block.weight is None else y[block.weight > 0]
    if not family.accepts(counted):
        known = counted[np.isfinite(counted)]
        if known.size == counted.size:
            worst = next(value for value in counted.tolist() if not family.accepts(np.array([value])))
            raise ValueError(f"The target y of {owner} must be {family.target}. Got {worst!r} instead.")
        raise ValueError("Input y contains NaN or infinity; drop or fill those rows first.")
    weight = block.weights.astype(np.float64)
    with np.errstate(over="ignore"):
        return float(weight.sum()), float(weight @ y)


OUT_OF_RANGE = "The deviance of these targets y leaves the range of floats; divide y by its scale first."


def fit_generalized(
    risk: RowRisk,
    law: LinkedFamily,
    mean: float,
    *,
    start: Array | None = None,
    solver: str,
    tol: float,
    max_iter: int,
    report: Callable[[Array], bool] = silent,
) -> SmoothFit:
    """Minimise half the mean deviance with its penalty, from the constant score of the mean target."""
    if not np.isfinite(mean):
        raise ValueError(OUT_OF_RANGE)
    start = first_point(risk, law, mean) if start is None else start
    low, high = law.family.low, law.family.high
    unsure = law.link.standard is None or law.link.low > -np.inf
    leaves = {"identity": low > -np.inf, "log": high < np.inf}.get(law.link.standard or "", unsure)
    if leaves and not np.isfinite(risk.measure(start).value):
        raise ValueError(
            f"No constant score has a mean of family={law.family.name!r} with link={law.link.name!r} and "
            "these offsets; use another link."
        )
    fit = fit_smooth(risk, start, solver=solver, tol=tol, max_iter=max_iter, report=report)
    if not np.isfinite(fit.measured.value):
        raise ValueError(OUT_OF_RANGE)
    if fit.measured.hessian is None and not risk.alpha.any() and risk.shape[0] <= 4096:
        measured = risk.measure(fit.point, hessian=True)
        assert measured.hessian is not None
        rank = risk_step(risk, measured.hessian, measured.gradient).rank
        fit = fit._replace(measured=measured, rank=rank)
    if law.family.name == "binomial" and not risk.alpha.any():
        refuse_separated(risk, fit, mean)
    return fit


def refuse_separated(risk: RowRisk, fit: SmoothFit, mean: float) -> None:
    """Refuse an unpenalised fit of labels that a hyperplane separates; shares between 0 and 1 are never."""
    data = risk.source
    if not isinstance(data, MemoryRows) or not 0 < mean < 1 or fit.n_iter <= FEW_STEPS:
        return
    assert data.y is not None
    y = data.y if data.y.ndim == 1 else data.y[:, 0]
    if np.all((y == 0) | (y == 1)):
        answer = separability(data.X, y, fit_intercept=risk.fit_intercept, sample_weight=data.weight)
        if answer.status != "overlapping":
            raise ValueError(refusal_of(answer, "alpha above 0"))


def first_point(risk: RowRisk, law: LinkedFamily, mean: float) -> Array:
    """Constant score of the mean target; without an intercept, 0 or the nearest score that has a mean."""
    start = np.zeros(risk.shape)
    if risk.fit_intercept:
        inside = law.family.first_mean(mean)
        if law.family.low == 0.0 and inside <= 0.0:
            inside = 1e-8
        start[-1, 0] = float(law.link.score(np.array([inside]))[0])
    return start


class Likelihoods(NamedTuple):
    """Dispersion, deviances and log-likelihoods of a fit and of a constant score; None where there is none.

    `saturated` is the log-likelihood of means equal to the targets, at the dispersion `scale` of the others.
    """

    dispersion: float | None
    deviance: float
    null_deviance: float
    log_likelihood: float | None
    null_log_likelihood: float | None
    saturated: float
    scale: float


def likelihoods(
    risk: RowRisk, law: LinkedFamily, point: Array, measured: RowMeasure, mean: float, free: float
) -> Likelihoods:
    """Measure them at a point, of which `free` = n − p degrees of freedom are left for the dispersion.

    log-likelihood = that of means equal to the targets − deviance/(2φ).
    """
    dispersion: float | None = 1.0
    scale = 1.0
    if law.family.dispersed:
        pearson = pearson_statistic(risk, law, point)
        dispersion = pearson / free if free > 0 else None
        scale = dispersion or 0.0
        if law.family.name == "gaussian":  # the likelihood has a maximum in φ too
            scale = 2 * measured.risk
    usable = bool(scale > 0 and np.isfinite(scale))
    sums = target_sums(risk, law, mean, scale if usable else 1.0)
    fitted, null = deviance(risk, measured, sums), sums.null_deviance
    if not np.isfinite([dispersion or 0.0, fitted, null]).all():
        raise ValueError(OUT_OF_RANGE)
    values: tuple[float | None, float | None] = None, None
    if usable and law.family.has_likelihood and np.isfinite(sums.saturated):
        values = sums.saturated - fitted / (2 * scale), sums.saturated - null / (2 * scale)
    return Likelihoods(dispersion, fitted, null, *values, sums.saturated, scale)


def pearson_statistic(risk: RowRisk, law: LinkedFamily, point: Array) -> float:
    """Σ s (y − μ)²/V(μ) at a point, by one walk."""
    coef, intercept = risk.walk_point(point)
    return float(risk.data.reduce(pearson_step, coef[:, 0], float(intercept[0]), law, risk.has_offset))


def deviance(risk: RowRisk, measured: RowMeasure, sums: TargetSums) -> float:
    """Σ s d at a point, from its mean loss, which compiled losses give up to a sum over the targets."""
    return max(2 * (risk.weight * measured.risk - sums.smallest), 0.0)


def target_sums(risk: RowRisk, law: LinkedFamily, mean: float, dispersion: float) -> TargetSums:
    """Sums that need the targets only, and the offsets for the deviance of a constant."""
    level = np.nan
    if risk.has_offset or not risk.fit_intercept:
        level = constant_score(risk, law, mean) if risk.fit_intercept else 0.0
    state = (law, mean, level, risk.has_offset, dispersion)
    return TargetSums(*over_targets(risk.source, target_step, *state))


def constant_score(risk: RowRisk, law: LinkedFamily, mean: float) -> float:
    """The best constant score beside given offsets, by Fisher's scoring."""
    level = float(first_point(risk, law, mean)[-1, 0])
    for _ in range(100):
        slope, curvature = over_targets(risk.source, constant_step, level, law)
        if not curvature > 0:
            break
        change = slope / curvature
        level -= change
        if abs(change) <= 1e-12 * (1 + abs(level)):
            break
    return level


def target_step(
    block: Block, law: LinkedFamily, mean: float, level: float, has_offset: bool, dispersion: float
) -> tuple[float, float, float]:
    """`TargetSums` of one block; a constant mean where `level` is NaN, else the mean of a constant score."""
    assert block.y is not None
    y = block.y.astype(np.float64)
    weight = None if block.weight is None else block.weight.astype(np.float64)
    offset = y[:, 1] if has_offset else None
    y = y[:, 0] if has_offset else y
    if offset is None:
        y, weight = distinct(y, weight)
    family = law.family
    with np.errstate(all="ignore"):
        constant = (
            np.full(y.shape, mean)
            if np.isnan(level)
            else law.mean(np.full(y.shape, level) + (0.0 if offset is None else offset))
        )
        terms = (
            family.unit_deviance(y, constant),
            family.log_likelihood(y, y, dispersion),
            law.compiled.smallest(y),
        )
    if weight is None:
        return tuple(float(np.sum(term)) for term in terms)  # type: ignore[return-value]
    return tuple(float(weight[weight > 0] @ term[weight > 0]) for term in terms)  # type: ignore[return-value]


def distinct(y: Array, weight: Array | None) -> tuple[Array, Array | None]:
    """Small counts by their values and frequencies; other targets as they are."""
    if y.size and y.min() >= 0 and y.max() < 4096 and np.array_equal(y, np.floor(y)):
        counts = np.bincount(y.astype(np.intp), weight)
        return np.arange(len(counts), dtype=np.float64), counts.astype(np.float64)
    return y, weight


def constant_step(block: Block, level: float, law: LinkedFamily) -> tuple[float, float]:
    """Sums of slopes and curvatures at a constant score with the offsets of the block."""
    assert block.y is not None
    weight = block.weights
    _, slope, curvature = law.score_terms(
        block.y[:, 0].astype(np.float64), level + block.y[:, 1].astype(np.float64)
    )
    return float(weight @ slope), float(weight @ curvature)


def pearson_step(block: Block, coef: Array, intercept: float, law: LinkedFamily, has_offset: bool) -> float:
    """Σ s (y − μ)²/V(μ) of one block."""
    assert block.y is not None
    scores = np.asarray(block.X @ coef.astype(block.X.dtype), dtype=np.float64) + intercept
    y = block.y.astype(np.float64)
    if has_offset:
        scores, y = scores + y[:, 1], y[:, 0]
    with np.errstate(all="ignore"):
        mean = law.mean(scores)
        term = np.square(y - mean) / law.family.variance(mean)
    if block.weight is None:
        return float(term.sum())
    counted = block.weight > 0
    return float(block.weight[counted].astype(np.float64) @ term[counted])


def mean_rows(block: Block, coef: NDArray, intercept: NDArray, law: LinkedFamily) -> NDArray:
    """Mean of the target for the rows of one block."""
    with np.errstate(all="ignore"):
        return law.mean(affine(block, coef, intercept))
