"""Risks of more columns than rows, on the few directions that the rows span.

With one squared norm on all columns, the minimiser of (1/W) Σ s ℓ(y, x·w + b) + ½ λ‖w‖² is a combination of
the rows: a part of w orthogonal to all of them adds to the norm and to no score. In an orthonormal basis V of
their span, of dimension r ≤ n, it is the same problem with the rows Z = XV: the same values, gradients and
gaps, at r columns in place of d. V comes from the n × n side, XXᵀ.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.rows import MemoryRows
from assay.solvers.smooth.row_risk import RowRisk
from assay.solvers.smooth.row_sums import Array

LEAST_COLUMNS = 200
"""Columns below which a problem is small anyway."""


class NarrowRisk(NamedTuple):
    """A risk on the span of its rows, and the basis that leads back."""

    risk: RowRisk
    basis: Array  # (d, r), orthonormal columns

    def widen(self, point: Array) -> Array:
        """A point of the narrow risk as one of the whole."""
        r = self.basis.shape[1]
        return np.vstack([self.basis @ point[:r], point[r:]])

    def narrow(self, point: Array) -> Array:
        """The part of a point in the span, as a point of the narrow risk."""
        d = self.basis.shape[0]
        return np.vstack([self.basis.T @ point[:d], point[d:]])


def narrowed(risk: RowRisk) -> NarrowRisk | None:
    """The risk on the span of its rows; None where that is not the same problem, or is no smaller one.

    Rows must be dense and in memory, fewer than the columns, which must be penalised alike. What the rows
    span is kept in the risk, for others that differ in the penalty alone.
    """
    data, strength = risk.data, risk.alpha[:1]
    n, d = data.shape
    if not isinstance(data, MemoryRows) or data.is_sparse or not (n < d and d >= LEAST_COLUMNS):
        return None
    if not (strength > 0).all() or np.any(risk.alpha != strength):
        return None
    if risk.span is None:
        risk.span = span_of(data, risk.inner)
    basis, coordinates = risk.span
    names = "fit_intercept", "has_offset", "weight", "class_weight"
    same: dict[str, Any] = {name: getattr(risk, name) for name in names}
    rows, r = MemoryRows(coordinates, data.y, data.weight), basis.shape[1]
    narrow = RowRisk(rows, risk.loss, np.full(r, strength[0]), center=np.zeros(r), **same)
    narrow.rounding = risk.rounding
    return NarrowRisk(narrow, basis)


def span_of(data: MemoryRows, center: Array) -> tuple[Array, Array]:
    """An orthonormal basis of the rows less a centre, of shape (d, r), and the rows in it."""
    X = np.asarray(data.X, dtype=np.float64) - center
    scale = max(float(np.abs(X).max(initial=0.0)), np.finfo(float).tiny)
    X /= scale
    values, vectors = np.linalg.eigh(X @ X.T)
    kept = values > values[-1] * len(values) * np.finfo(float).eps
    # The Gram matrix gives the span up to half of the digits of its smallest directions: QR gives the rest.
    basis = np.linalg.qr(X.T @ (vectors[:, kept] / np.sqrt(values[kept])))[0]
    return basis, X @ basis * scale
