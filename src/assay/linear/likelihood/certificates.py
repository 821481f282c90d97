"""What proves a likelihood fit: optimality, and that the numbers behind inference are those of the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.solvers import RowMeasure, RowRisk, Split, risk_step, row_duality_gap

Array = NDArray[np.float64]
FINEST, COARSEST = 1e-7, 5e-3
"""Least and largest relative deviation that stored numbers may have: even the largest sees one per cent."""


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
    # The 0-1 loss is below the logistic loss in base 2, row by row and so on average: a theorem for any fit.
    claim = "The training error is at most the logistic loss in base 2."
    source = "Sangnier §1.2.1; Rudi & Şimşekli §2.1.2"
    surrogate = measured.risk / np.log(2)
    majorant = at_most(claim, "training error", measured.mistakes, surrogate, source=source, informative=True)
    return Certificates([first, majorant, *overlap])


def generalized_certificates(
    risk: RowRisk, point: Array, measured: RowMeasure, split: Split | None
) -> Certificates:
    """The duality gap where every feature is penalised and the loss has a dual; else the score equations."""
    single = risk.data.dtype == np.float32
    if risk.alpha.all() and risk.loss.n_groups > 0:
        scale = max(abs(measured.value), np.finfo(float).tiny)
        gap = at_most(
            "The objective is this close to its minimum.",
            "relative duality gap",
            row_duality_gap(risk, point, measured, split) / scale,
            1e-4 if single else 1e-7,
            source="Rudi & Şimşekli §3.1.2",
        )
        return Certificates([gap])
    return Certificates([stationarity(risk, measured, single)])


def finite_or_none(value: float) -> float | None:
    """A number; None for an infinite one, which says nothing but that a certificate failed."""
    return value if np.isfinite(value) else None


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


def stored_numbers(
    risk: RowRisk,
    point: Array,
    measured: RowMeasure,
    information: tuple[Array | None, Array],
    numbers: Mapping[str, tuple[Any, Any, float]],
) -> Certificate:
    """The certificate that what inference reads is what the rows give again.

    Parameters
    ----------
    risk, point, measured
        The problem on its rows, the fitted point, and what a walk says of it.
    information : tuple of two arrays
        `information_` and `center_` of the fit.
    numbers : mapping
        Name → stored number, recomputed number, and a size below which deviations are rounding.
    """
    room = score_rounding(risk, point, measured)
    rtol = float(np.clip(room, FINEST, COARSEST))
    pairs: dict[str, tuple[Any, Any]] = {}
    if information[0] is not None and measured.hessian is not None:
        pairs["information_"] = scaled_information(risk, information[0], information[1], measured.hessian)
    for name, (stored, fresh, size) in numbers.items():
        pair = stored, fresh
        if stored is not None and fresh is not None:
            pair = np.append(stored, size), np.append(fresh, size)
        pairs[name] = pair
    claim = "The numbers that inference reads are those that the rows give again."
    return agreement(claim, pairs, "Wei §7.3.3", rtol=rtol)


def score_rounding(risk: RowRisk, point: Array, measured: RowMeasure) -> float:
    """How far scores may move when coefficients are stored in the precision of the table."""
    coef, intercept = risk.split_point(point)
    spread = np.zeros(len(coef))
    if measured.hessian is not None:
        p, k = risk.shape
        diagonal = np.diagonal(measured.hessian).reshape(k, p).mean(axis=0)
        level = diagonal[-1] if risk.fit_intercept else 1.0
        spread = np.sqrt(np.maximum(diagonal[: len(coef)], 0) / max(level, np.finfo(float).tiny))
    reach = (np.abs(risk.center) + spread) @ np.abs(coef) + np.abs(intercept)
    return float(64 * risk.rounding * (1 + reach.max(initial=0.0)))


def scaled_information(risk: RowRisk, stored: Array, center: Array, fresh: Array) -> tuple[Array, Array]:
    """Stored and fresh information about the stored centre, in units that make the fresh diagonal one.

    A row [x − c, 1] is T [x − c', 1] with c − c' in the last column of T: the information about c is T I Tᵀ
    of that about c'. It is about any centre that the stored numbers agree with, not one of ours.
    """
    p, k = risk.shape
    if risk.fit_intercept and center.shape == risk.center.shape and not np.array_equal(center, risk.center):
        turn = np.eye(p)
        turn[:-1, -1] = risk.center - center
        turns = np.kron(np.eye(k), turn)
        fresh = turns @ fresh @ turns.T
    with np.errstate(all="ignore"):
        diagonal = np.diagonal(fresh)
        scale = np.where(diagonal > 0, 1 / np.sqrt(diagonal), 1.0)
    if stored.shape != fresh.shape:
        return stored, fresh
    return stored * scale[:, None] * scale, fresh * scale[:, None] * scale
