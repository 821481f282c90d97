"""Least squares on columns that determine their coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.linear.least_squares.certificates import LARGEST_CONDITION, orthogonality
from assay.linear.least_squares.engine import (
    Array,
    CentredTriangle,
    FitEvidence,
    centred_triangle,
    evidence_of_triangle,
)
from assay.linear.predictor import LinearModel
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers import minimum_norm

TIE = 1e-7
"""Lengths that differ by less than this share are taken as equal."""


class ColumnDroppingRegression(LinearModel):
    """Least squares that leaves out columns until the rest are independent.

    Minimises over (w, b), w zero on the dropped columns,

        (1/n) Σ_i s_i (y_i − x_iᵀw − b)²,

    by one QR walk over the rows and a rank-revealing choice of columns on its triangle. A column is dropped
    when the kept ones explain it up to `tol` of its norm, so that the fitted values are those of least
    squares on all columns; of its many solutions this is one that uses few columns.

    Assumes: a mean of y that is linear in the columns; coefficients speak of the kept columns alone, which
    stand in for those that were dropped.

    Certificates: normal-equation residual on all columns, distance of the dropped columns from the span of
    the kept ones, condition number of the kept ones.

    Parameters
    ----------
    keep : {"pivot", "first"}, default="pivot"
        Which of dependent columns stay: those that pivoting chooses, for the best conditioning, or those
        that come first in the table.
    tol : float, default=1e-9
        Share of its norm that a column must have outside the span of the others to be kept.
    fit_intercept : bool, default=True
        Whether b is fitted, and constant columns are dropped; otherwise it is 0.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
        Zero on the dropped columns.
    intercept_ : float or array of shape (n_targets,)
    kept_, dropped_ : arrays of int
        Columns that stay and columns that go, in the order of the table.
    combinations_ : array of shape (n_dropped, n_kept)
        The dropped columns (less their means) as combinations of the kept ones.
    rank_ : int
        Number of kept columns.
    condition_number_ : float
        Of the kept columns with unit norm.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        1, True, and the normal-equation residual.

    Examples
    --------
    >>> from assay.linear import ColumnDroppingRegression
    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0], [2.0, 1.0, 3.0]]
    >>> model = ColumnDroppingRegression(keep="first", fit_intercept=False).fit(X, [1.0, 2.0, 3.0, 4.0])
    >>> model.kept_, model.combinations_.round(6), model.coef_.round(6) + 0.0
    (array([0, 1]), array([[1., 1.]]), array([1., 2., 0.]))

    References
    ----------
    Rudi & Şimşekli §1.5.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "keep": parameters.one_of("pivot", "first"),
        "tol": parameters.real(above=0),
        "fit_intercept": parameters.boolean,
    }
    _checks_finite: ClassVar[bool] = False
    keep: str
    kept_: NDArray[np.int64]
    dropped_: NDArray[np.int64]

    def __init__(self, keep: str = "pivot", *, tol: float = 1e-9, fit_intercept: bool = True) -> None:
        self.keep = keep
        self.tol = tol
        self.fit_intercept = fit_intercept

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        watch = self._watch_fit(X, y, n_runs=1, max_iter=1)
        with watch.run("qr"):
            known = centred_triangle(data, fit_intercept=self.fit_intercept)
            self.kept_ = independent_columns(known.x, self.tol, first=self.keep == "first")
        watch.finish()
        self.dropped_ = np.setdiff1d(np.arange(data.shape[1]), self.kept_)
        among = explain(known, self.kept_, self.dropped_)
        coef = np.zeros((data.shape[1], data.n_targets))
        coef[self.kept_] = minimum_norm(known.x[:, self.kept_], known.y).coef
        self._set_coefficients(coef, known.intercept(coef), data)
        self.combinations_, self.condition_number_ = among.combinations, among.condition
        self.rank_, self.n_iter_, self.converged_ = len(self.kept_), 1, True
        self.certificates_ = self._certificates(evidence_of_triangle(known, *self._columns()), among)
        self.optimality_ = self.certificates_[0].value

    def _certificates(self, evidence: FitEvidence, among: Among) -> Certificates:
        coef, _ = self._columns()
        name, source = "largest relative distance of a dropped column", "Rudi & Şimşekli §1.5.1"
        explained = "Every dropped column is a combination of the kept ones (and the constant)."
        independent = (
            "The kept columns are independent: their coefficients are unique, to at least four digits."
        )
        condition = among.condition, LARGEST_CONDITION
        return Certificates(
            [
                orthogonality(evidence, coef, np.zeros(coef.shape[1]), self.coef_.dtype),
                at_most(explained, name, among.distance, self.tol, source=source),
                at_most(independent, "condition number of the kept columns", *condition, source=source),
            ]
        )

    def _certify_rows(self, data: Rows) -> Certificates:
        known = centred_triangle(data, fit_intercept=self.fit_intercept)
        among = explain(known, self.kept_, self.dropped_, self.combinations_)
        return self._certificates(self._evidence(data), among)


def independent_columns(table: Array, tol: float, *, first: bool) -> NDArray[np.int64]:
    """Columns none of which lies within `tol` of its norm in the span of those kept before, increasing.

    Each step keeps the column with the largest part outside the span, or the first with any; of columns
    that are equal up to rounding, the first, so that rounding does not choose.
    """
    norms = np.linalg.norm(table, axis=0)
    unit = table / np.where(norms > 0, norms, 1.0)
    rest, basis = unit.copy(), np.zeros((table.shape[0], 0))
    kept: list[int] = []
    while len(kept) < min(table.shape):
        length = np.linalg.norm(rest, axis=0)
        length[kept] = 0.0
        enough = tol if first else max(tol, (1 - TIE) * float(length.max()))
        candidates = np.flatnonzero((length >= enough) & (length > tol))
        if not candidates.size:
            break
        j = int(candidates[0])
        direction = rest[:, j] - basis @ (basis.T @ rest[:, j])  # once more takes away what rounding left
        basis = np.column_stack([basis, direction / np.linalg.norm(direction)])
        rest -= np.outer(basis[:, -1], basis[:, -1] @ rest)
        kept.append(j)
    return np.sort(np.array(kept, dtype=np.int64))


class Among(NamedTuple):
    """Dropped columns among kept ones: weights, largest relative distance, condition of the kept ones."""

    combinations: Array
    distance: float
    condition: float


def explain(
    known: CentredTriangle,
    kept: NDArray[np.int64],
    dropped: NDArray[np.int64],
    combinations: Array | None = None,
) -> Among:
    """How far the dropped columns are from given combinations of the kept ones, or from the best ones."""
    table, target = known.x[:, kept], known.x[:, dropped]
    condition = 1.0
    if len(kept):
        norms = np.linalg.norm(table, axis=0)
        values = np.linalg.svd(table / np.where(norms > 0, norms, 1.0), compute_uv=False)
        condition = float(values[0] / values[-1]) if values[-1] > 0 else np.inf
    if combinations is None:
        combinations = minimum_norm(table, target).coef.T if len(kept) else np.zeros((len(dropped), 0))
    size = np.linalg.norm(target, axis=0)
    gap = np.linalg.norm(target - table @ combinations.T, axis=0)
    share = np.divide(gap, size, out=np.zeros_like(gap), where=size > 0)
    return Among(combinations, float(share.max(initial=0.0)), condition)
