"""Least squares with the coefficients in a subspace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from assay import parameters
from assay.certificates import Certificates, agreement, at_most
from assay.linear.least_squares.certificates import FLOAT32, LARGEST_CONDITION, target_scale
from assay.linear.least_squares.engine import (
    Array,
    CentredTriangle,
    FitEvidence,
    centred_triangle,
    evidence_of_triangle,
)
from assay.linear.predictor import LinearModel, weighted_rows
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers import minimum_norm

MATRIX = parameters.nothing | parameters.array(
    "a matrix of finite numbers", lambda values: values.ndim == 2 and values.size > 0
)


SOURCE = "Rudi & Şimşekli §1.5.1"
SATISFIED = "The coefficients satisfy the constraint."
STATIONARY = "The gradient of the empirical risk vanishes along the subspace."
INJECTIVE = "X is injective on the subspace: the coefficients are unique, to at least four digits."


class ConstrainedRegression(LinearModel):
    """Least squares with coefficients in a subspace, or under linear equations.

    Minimises over (θ, b)

        (1/n) Σ_i s_i (y_i − x_iᵀθ − b)²        subject to θ ∈ V = span(basis), or Aθ = c,

    as least squares for a in θ = θ₀ + Ba, B an orthonormal basis of V (of ker A) and θ₀ = A⁺c, from one QR
    walk over the rows. V identifies the coefficients when X is injective on V; without any constraint it is
    V = ker(X)^⊥, for which θ is the least-squares solution X⁺y of least norm.

    Assumes: a mean of y that is linear in the columns, with coefficients that satisfy the constraint.

    Certificates: distance of θ from the constraint, gradient along V, condition number of X on V.

    Parameters
    ----------
    basis : array of shape (n_features, k), optional
        Columns that span V.
    constraint_matrix : array of shape (m, n_features), optional
        A; takes the place of `basis`.
    constraint_value : array of shape (m,), optional
        c; zero by default.
    fit_intercept : bool, default=True
        Whether b is fitted, which no constraint touches; otherwise it is 0.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    basis_ : array of shape (n_features, k)
        B, orthonormal.
    offset_ : array of shape (n_features,)
        θ₀, orthogonal to B.
    rank_ : int
        k, the dimension of V.
    restricts_ : bool
        Whether XV is smaller than the image of X, so that the fit is worse than least squares could be;
        False when the constraint does nothing but choose one of many solutions.
    condition_number_ : float
        Of XB with columns of unit norm.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        1, True, and the relative gradient along V.

    Examples
    --------
    >>> from assay.linear import ConstrainedRegression
    >>> X = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 2.0], [2.0, 1.0, 3.0]]
    >>> y = [1.0, 2.0, 3.0, 4.0]
    >>> tied = ConstrainedRegression(constraint_matrix=[[1.0, 1.0, 0.0]], fit_intercept=False).fit(X, y)
    >>> tied.coef_.round(6) + 0.0, tied.restricts_
    (array([-0.5,  0.5,  1.5]), False)

    References
    ----------
    Rudi & Şimşekli §1.5.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "basis": MATRIX,
        "constraint_matrix": MATRIX,
        "constraint_value": parameters.nothing
        | parameters.array("a vector of finite numbers", lambda values: values.ndim == 1),
        "fit_intercept": parameters.boolean,
    }
    _checks_finite: ClassVar[bool] = False

    def __init__(
        self,
        basis: Any = None,
        *,
        constraint_matrix: Any = None,
        constraint_value: Any = None,
        fit_intercept: bool = True,
    ) -> None:
        self.basis = basis
        self.constraint_matrix = constraint_matrix
        self.constraint_value = constraint_value
        self.fit_intercept = fit_intercept

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        watch = self._watch_fit(X, y, n_runs=1, max_iter=1)
        with watch.run("qr"):
            known = centred_triangle(data, fit_intercept=self.fit_intercept)
            basis, offset = self._subspace(known)
            solution = solve_in_subspace(known, basis, offset)
        watch.finish()
        if solution.rank < basis.shape[1]:
            raise self._not_injective(basis @ solution.lost)
        self._set_coefficients(solution.coef, known.intercept(solution.coef), data)
        self.basis_, self.offset_ = basis, offset
        self.rank_, self.condition_number_ = solution.rank, solution.condition
        self.restricts_ = solution.rank < minimum_norm(known.x, known.y).rank
        self.n_iter_, self.converged_ = 1, True
        self.certificates_ = self._certificates(
            evidence_of_triangle(known, *self._columns()), solution.condition
        )
        self.optimality_ = self.certificates_[1].value

    def _subspace(self, known: CentredTriangle) -> tuple[Array, Array]:
        """Orthonormal basis B of V and the offset θ₀, from the parameters or from the table."""
        d = known.x.shape[1]
        if self.basis is not None and self.constraint_matrix is not None:
            raise self._refuse("basis", "None when 'constraint_matrix' is given")
        if self.constraint_value is not None and self.constraint_matrix is None:
            raise self._refuse("constraint_value", "None unless 'constraint_matrix' is given")
        if self.basis is not None:
            given = np.asarray(self.basis, dtype=np.float64)
            if given.shape[0] != d:
                raise self._refuse("basis", f"a matrix of {d} rows, one per column of X")
            return linalg.orth(given / _norms(given, 0)), np.zeros(d)
        if self.constraint_matrix is None:
            space = minimum_norm(known.x, known.y).row_space
            return (np.eye(d) if space is None else space), np.zeros(d)
        matrix = np.asarray(self.constraint_matrix, dtype=np.float64)
        m = matrix.shape[0]
        if matrix.shape[1] != d:
            raise self._refuse("constraint_matrix", f"a matrix of {d} columns, one per column of X")
        value = np.zeros(m) if self.constraint_value is None else np.asarray(self.constraint_value, float)
        if len(value) != m:
            raise self._refuse("constraint_value", f"{m} numbers, one per row of 'constraint_matrix'")
        scale = _norms(matrix, 1)
        matrix, value = matrix / scale, value / scale[:, 0]
        offset = np.linalg.pinv(matrix) @ value
        if np.linalg.norm(matrix @ offset - value) > 1e-9 * max(1.0, float(np.linalg.norm(value))):
            raise self._refuse("constraint_value", "reachable: no θ satisfies these equations")
        if d - m > known.x.shape[0]:  # V has more dimensions than there are rows: no need to form them all
            raise self._not_injective(unseen_direction(np.linalg.qr(np.vstack([matrix, known.x]).T)[0]))
        return linalg.null_space(matrix), offset

    def _not_injective(self, direction: Array) -> ValueError:
        """The refusal that names a direction of V that the rows do not see."""
        direction = direction / direction[np.argmax(np.abs(direction))]
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(len(direction))])
        largest = [j for j in np.argsort(-np.abs(direction), kind="stable")[:4] if abs(direction[j]) > 1e-6]
        words = " ".join(f"{direction[j]:+.3g}·{names[j]}" for j in largest)
        more = " …" if np.count_nonzero(np.abs(direction) > 1e-6) > 4 else ""
        which = "basis" if self.basis is not None else "constraint_matrix"
        return parameters.refusal(
            type(self).__name__,
            which,
            f"such that X is injective on the subspace; X sends its direction {words}{more} to zero "
            "(drop that direction or use Ridge)",
            np.asarray(getattr(self, which), dtype=float).tolist(),  # on one line
        )

    def _certificates(self, evidence: FitEvidence, condition: float) -> Certificates:
        """The certificates, from sums over the rows at the coefficients of the model."""
        coef, _ = self._columns()
        rounding = 1e-4 if self.coef_.dtype == FLOAT32 else 1e-8
        outside = coef - self.offset_[:, None]
        outside = outside - self.basis_ @ (self.basis_.T @ outside)
        size = float(np.linalg.norm(coef)) + float(np.linalg.norm(self.offset_))
        scale = target_scale(evidence, self.coef_.dtype) + evidence.column_norms @ np.abs(self.offset_)
        length = np.abs(self.basis_).T @ evidence.column_norms
        pull = np.abs(self.basis_.T @ evidence.cross)
        bound = np.multiply.outer(length, scale)
        along = np.divide(pull, bound, out=np.zeros_like(pull), where=bound > 0)
        level_scale = np.sqrt(evidence.weight) * scale
        level = np.divide(
            np.abs(evidence.residual_sum), level_scale, out=np.zeros_like(scale), where=level_scale > 0
        )
        distance = float(np.linalg.norm(outside)) / size if size > 0 else 0.0
        slope = max(along.max(initial=0.0), level.max(initial=0.0))
        return Certificates(
            at_most(claim, name, value, bound, source=SOURCE)
            for claim, name, value, bound in (
                (SATISFIED, "relative distance from the constraint", distance, rounding),
                (STATIONARY, "relative gradient along the subspace", slope, rounding),
                (INJECTIVE, "condition number on the subspace", condition, LARGEST_CONDITION),
            )
        )

    def _certify_rows(self, data: Rows) -> Certificates:
        known = centred_triangle(data, fit_intercept=self.fit_intercept)
        solution = solve_in_subspace(known, self.basis_, self.offset_)
        condition = solution.condition if solution.rank == self.basis_.shape[1] else np.inf
        basis, offset = self._subspace(known)
        k = self.basis_.shape[1]
        pairs = {
            "BᵀB": (self.basis_.T @ self.basis_, np.eye(k)),
            "dimension of V": (k, basis.shape[1]),
            "offset_": (self.offset_, offset),
        }
        same = agreement("B is an orthonormal basis and θ₀ the offset of the constraint.", pairs, SOURCE)
        return Certificates([*self._certificates(self._evidence(data), condition), same])

    def _smoothing_basis(self, X: Any, sample_weight: Any) -> tuple[Array, Array]:
        """Orthonormal columns of the image XV (and of the intercept): the fit projects y − Xθ₀ on it."""
        data: Rows = self._open_new_rows(X, sample_weight=sample_weight)
        table = data.reduce(weighted_rows, combine=lambda above, below: np.vstack([above, below]))
        columns = table[:, :-1] @ self.basis_
        columns = np.column_stack([table[:, -1], columns]) if self.fit_intercept else columns
        u = linalg.orth(columns / _norms(columns, 0))
        return u, np.ones(u.shape[1])


class InSubspace(NamedTuple):
    """Result of `solve_in_subspace`; `lost` is a direction a with XBa = 0, when there is one."""

    coef: Array
    rank: int
    condition: float
    lost: Array


def solve_in_subspace(known: CentredTriangle, basis: Array, offset: Array) -> InSubspace:
    """Least squares for a in θ = θ₀ + Ba, from the triangle of the table."""
    k = basis.shape[1]
    if k == 0:
        return InSubspace(np.repeat(offset[:, None], known.y.shape[1], axis=1), 0, 1.0, np.zeros(0))
    table = known.x @ basis
    solution = minimum_norm(table, known.y - (known.x @ offset)[:, None])
    lost = np.zeros(k)
    if solution.rank < k:
        assert solution.row_space is not None
        lost = unseen_direction(solution.row_space)
    condition = np.inf if solution.condition is None else solution.condition
    return InSubspace(offset[:, None] + basis @ solution.coef, solution.rank, condition, lost)


def unseen_direction(seen: Array) -> Array:
    """The unit vector that orthonormal columns see least, less what they see of it."""
    j = int(np.argmin(np.sum(seen**2, axis=1)))
    direction = -seen @ seen[j]
    direction[j] += 1.0
    return np.asarray(direction)


def _norms(matrix: NDArray, axis: int) -> Array:
    """Norms of columns (axis 0) or rows (axis 1), 1 where they vanish."""
    norms = np.linalg.norm(matrix, axis=axis, keepdims=True)
    return np.where(norms > 0, norms, 1.0)
