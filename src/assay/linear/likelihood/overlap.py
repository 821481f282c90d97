"""Whether an unpenalised fit of classes exists: a proof that they overlap, or what separates them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay.certificates import Certificate, at_most
from assay.rows import Block, MemoryRows
from assay.solvers import RowMeasure, RowRisk, Separability, risk_step, row_weights, separability

Array = NDArray[np.float64]
LARGEST_CORRECTION = 0.5
FLAT = 1e-6
"""Share of the curvature of a constant score below which a likelihood is taken to run away."""

SOURCE = "Sangnier §1.2.2, remark 1.2.6"


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
            return [_certificate(largest)], None
    data = risk.source
    if not isinstance(data, MemoryRows):
        return [], None
    assert data.y is not None
    y = data.y if data.y.ndim == 1 else data.y[:, 0]
    answer = separability(data.X, y, fit_intercept=risk.fit_intercept, sample_weight=data.weight)
    if answer.status != "overlapping":
        return [_separated(answer)], answer
    return list(answer.certificates), answer


def _certificate(largest: float) -> Certificate:
    return at_most(
        "No hyperplane separates the classes: the slopes, corrected to balance, stay positive.",
        "largest relative correction",
        largest,
        LARGEST_CORRECTION,
        source=SOURCE,
    )


def _separated(answer: Separability) -> Certificate:
    return at_most(
        "No hyperplane separates the classes: the likelihood has a maximum.",
        "rows strictly on their side of a hyperplane that leaves none on the wrong one",
        answer.n_strict,
        0.0,
        source=SOURCE,
    )


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
