"""Ridge regression, and its whole regularisation path from one decomposition."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement
from assay.linear.least_squares.certificates import duality_gap, orthogonality, stored_columns, uniqueness
from assay.linear.least_squares.engine import Array, FitEvidence, centred_triangle
from assay.linear.predictor import LinearModel
from assay.models.path import HasPenaltyPath, PenaltyPath
from assay.models.selection import FoldTable, checked_alphas, squared_row_loss
from assay.parameters import Domain
from assay.rows import Block, Rows
from assay.solvers import Solution, augmented_rows, minimum_norm
from assay.suitability import Suitability

PENALTY = parameters.real(at_least=0) | parameters.array(
    "an array of non-negative numbers, one per target",
    lambda values: values.ndim == 1 and bool(np.all(values >= 0)),
)

MEAN_PENALTY = parameters.real(at_least=0, squared=True) | parameters.array(
    "an array of such numbers, one per target",
    lambda values: values.ndim == 1 and bool(np.all((values >= 0) & (values <= parameters.LARGEST))),
)
"""On the scale of the mean: times the number of rows it must still be a number."""

SAME_PENALTY = "The stored penalties are those that the parameters ask for."


@dataclass(frozen=True, eq=False)
class RidgePath(PenaltyPath):
    """Ridge solutions along a grid of penalties.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Penalties on the scale of the sum, increasing.
    coef : array of shape (n_alphas, n_targets, n_features)
    intercept : array of shape (n_alphas, n_targets)
    penalty_strengths : array of shape (n_alphas,)
        The penalties divided by n.
    effective_degrees_of_freedom : array of shape (n_alphas,)
        Σ_j λ_j/(λ_j + α), plus 1 for the intercept.
    training_error : array of shape (n_alphas,)
        Mean squared residual, averaged over targets.
    leave_one_out_error : array of shape (n_alphas,)
        Mean squared error of predicting each row from the others.
    generalized_cross_validation : array of shape (n_alphas,)
        Training error / (1 − df/n)².
    spectrum : array
        Eigenvalues λ_j of XᵀX, decreasing; those beyond the number of rows, which are 0, are left out.
    """

    penalty_strengths: Array
    effective_degrees_of_freedom: Array
    training_error: Array
    leave_one_out_error: Array
    generalized_cross_validation: Array
    spectrum: Array

    @property
    def best_alpha(self) -> float:
        """The penalty with the smallest leave-one-out error."""
        return float(self.alphas[np.argmin(self.leave_one_out_error)])


Solutions = tuple[PenaltyPath, Array, Array, Array, float]


def ridge_solutions(data: Rows, alphas: Any, *, fit_intercept: bool) -> Solutions:
    """Solutions along increasing penalties, and the λ and Vᵀ of X = U diag(√λ) Vᵀ, the means, and Σ s.

    X is decomposed once, from its QR triangle; every penalty is then a matter of its spectrum.
    """
    d = data.shape[1]
    known = centred_triangle(data, fit_intercept=fit_intercept)
    u, values, vt = np.linalg.svd(known.x, full_matrices=False)
    spectrum = values**2
    grid = increasing_penalties(alphas, float(spectrum[0]) if spectrum.size else 0.0)
    rotated = u.T @ known.y  # (d, t): Uᵀy
    shrink = values / (spectrum + grid[:, None])  # (a, d)
    # (a, t, d): one matrix product for all penalties and targets
    coef = (shrink[:, None, :] * rotated.T).reshape(-1, len(values)) @ vt
    coef = coef.reshape(grid.size, -1, d)
    path = PenaltyPath(grid, coef, known.mean_y - coef @ known.mean_x)
    return path, spectrum, vt, np.concatenate([known.mean_x, known.mean_y]), known.weight


SQUARED_ABOVE = 1e-7
"""Least penalty, as a share of the largest eigenvalue, from which on products of rows are exact enough."""


def solutions_along(data: Rows, alphas: Any, *, fit_intercept: bool) -> PenaltyPath:
    """The solutions alone: of a wide table w = Xᵀ(XXᵀ + αI)⁻¹y, a fraction of the work of decomposing it."""
    n, d = data.shape
    if n > d:
        return ridge_solutions(data, alphas, fit_intercept=fit_intercept)[0]
    known = centred_triangle(data, fit_intercept=fit_intercept)
    spectrum, u = np.linalg.eigh(known.x @ known.x.T)
    top = max(float(spectrum[-1]), 0.0)
    grid = increasing_penalties(alphas, top)
    if not grid[0] >= SQUARED_ABOVE * top > 0:
        return ridge_solutions(data, alphas, fit_intercept=fit_intercept)[0]
    dual = (u.T @ known.y).T / (np.maximum(spectrum, 0.0) + grid[:, None])[:, None, :]  # (a, t, n)
    coef = (dual.reshape(-1, n) @ u.T @ known.x).reshape(grid.size, -1, d)
    return PenaltyPath(grid, coef, known.mean_y - coef @ known.mean_x)


def increasing_penalties(alphas: Any, top: float) -> Array:
    """Penalties on the sum: by default 100 from a millionth to a thousand times the largest eigenvalue."""
    if alphas is None:
        alphas = np.geomspace(1e-6 * (top or 1.0), 1e3 * (top or 1.0), 100)
    return np.asarray(checked_alphas(alphas, "Ridge.path")[::-1].copy())


def ridge_path(data: Rows, alphas: Any, *, fit_intercept: bool) -> RidgePath:
    """The solutions, then one walk for all leave-one-out errors."""
    path, spectrum, vt, mean, weight = ridge_solutions(data, alphas, fit_intercept=fit_intercept)
    grid, size = path.alphas, weight * data.n_targets
    inverse = 1 / (spectrum + grid[:, None])
    squares = data.reduce(leave_one_out_step, mean, path.coef, vt, inverse, fit_intercept / weight)
    training, left_out = (total / size for total in squares)
    df = np.sum(spectrum * inverse, axis=1) + fit_intercept
    with np.errstate(divide="ignore"):
        gcv = training / np.maximum(1 - df / weight, 0.0) ** 2
    scores = df, training, left_out, gcv
    return RidgePath(grid, path.coef, path.intercept, grid / weight, *scores, spectrum)


def leave_one_out_step(
    block: Block, mean: Array, coef: Array, vt: Array, inverse: Array, level: float
) -> tuple[Array, Array]:
    """Squared residuals and leave-one-out residuals r_i/(1 − h_i) of one block, for every penalty."""
    rows = augmented_rows(block, mean, ones=True)
    d = vt.shape[1]
    X, y, root = rows[:, :d], rows[:, d:-1], rows[:, -1]
    squares = (X @ vt.T) ** 2
    kept = np.maximum(1 - squares @ inverse.T - level * (root**2)[:, None], np.finfo(float).eps)
    residual_ss, left_out_ss = np.empty(len(inverse)), np.empty(len(inverse))
    for index, weights in enumerate(coef):
        residual = y - X @ weights.T
        residual_ss[index] = np.sum(residual**2)
        left_out_ss[index] = np.sum((residual / kept[:, index : index + 1]) ** 2)
    return residual_ss, left_out_ss


class Ridge(HasPenaltyPath, LinearModel):
    """Least squares with a squared-norm penalty.

    Minimises over (w, b)

        Σ_i s_i (y_i − x_iᵀw − b)² + α ‖w‖²,        b not penalised,

    which is n times (1/n) Σ s (y − xᵀw − b)² + λ‖w‖² with α = nλ (n = Σ s): give `alpha` or
    `penalty_strength` (λ). One walk over the rows (moments) and a Cholesky solve of size n_features; the dual
    form w = Xᵀ(XXᵀ + αI)⁻¹y of size n_samples when there are more columns than rows.

    Assumes: a mean of y that is linear in columns of comparable scales, with coefficients that are small
    rather than few. The minimum is exact whatever the rows are.

    Certificates: normal-equation residual, duality gap; with α = 0, uniqueness or least norm as in
    `LinearRegression`.

    Parameters
    ----------
    alpha : float or array of shape (n_targets,), default=1.0
        Penalty on the scale of the sum of squares, as in scikit-learn.
    penalty_strength : float or array of shape (n_targets,), optional
        λ, the penalty on the scale of the mean of squares; takes the place of `alpha` when given.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    solver : {"auto", "cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient"}, default="auto"
        As in `LinearRegression`; "cholesky" and "qr" are primal forms.
    tol : float, default=1e-10
        Gradient norm, relative to the gradient at zero, at which the iterative solvers stop.
    max_iter : int, default=10000
        Most iterations of the iterative solvers.
    history : bool, default=False
        Whether gradient descent keeps the objective on the scale of the mean, of every iteration, in
        `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    alpha_, penalty_strength_ : float or array of shape (n_targets,)
        The penalty on both scales.
    dual_gap_ : float
        Relative duality gap, never negative (0 for α = 0).
    rank_, condition_number_ : int, float or None
        Of the penalised problem: σ_max/σ_min of X above √α I, its (centred) columns of unit norm, the worst
        target; None where an iterating solver or "dual" did not find it.
    scatter_ : array of shape (n_features, n_features) or None
        XᵀX of the (centred, weighted) table; None if it was never formed.
    total_weight_ : float
        n, the number of rows counted with their weights.
    solver_ : str
        What "auto" chose.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the relative normal-equation residual.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import Ridge
    >>> X, y = diabetes(return_X_y=True)
    >>> model = Ridge(penalty_strength=0.001).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> round(float(model.alpha_), 3), round(model.penalty_strength_, 6)
    (0.442, 0.001)
    >>> path = model.path(X, y, alphas=[0.01, 0.1, 1.0, 10.0])
    >>> path.effective_degrees_of_freedom.round(2)
    array([10.25,  8.64,  4.94,  1.83])

    References
    ----------
    Rudi & Şimşekli §1.5.2; Wei §6.2.1; Peyré, ridge; Douc & Le Corff §6.3.1.
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, max_side=2000, select={})
    _rules = ("min", "one_se", "oracle", "aic", "bic")
    _theory = ("noise_std", "coef_norm")
    _domains: ClassVar[Mapping[str, Domain]] = {
        **LinearModel._domains,
        "alpha": PENALTY,
        "penalty_strength": parameters.nothing | MEAN_PENALTY,
    }

    def __init__(
        self,
        alpha: Any = 1.0,
        *,
        penalty_strength: Any = None,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 10_000,
        history: bool = False,
    ) -> None:
        self.alpha = alpha
        self.penalty_strength = penalty_strength
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        alpha = self._penalties(data)
        if self.solver == "dual" and alpha.min() == 0:
            raise self._refuse("alpha", "above 0 with solver='dual'")
        vector = self._targets(data)
        fit = self._solve(X, y, data, alpha, vector=vector)
        self._store(fit, data)
        scalar = np.ndim(self.alpha if self.penalty_strength is None else self.penalty_strength) == 0
        self.alpha_ = float(alpha[0]) if scalar else alpha
        self.penalty_strength_ = self.alpha_ / fit.evidence.weight
        self.certificates_ = self._certificates(fit.evidence, fit.coef, alpha, fit.solution)
        self.optimality_ = self.certificates_[0].value
        self.dual_gap_ = self.certificates_[1].value if alpha.min() > 0 else 0.0

    def _penalties(self, data: Rows) -> NDArray:
        """The penalty of each target on the scale of the sum."""
        name = "alpha" if self.penalty_strength is None else "penalty_strength"
        given = np.asarray(getattr(self, name), dtype=np.float64)
        if given.ndim == 1 and given.shape[0] != data.n_targets:
            raise self._refuse(name, f"a number or an array of {data.n_targets} numbers, one per target")
        scale = 1.0 if self.penalty_strength is None else data.total_weight
        return np.broadcast_to(given * scale, (data.n_targets,)).copy()

    def _certificates(
        self, evidence: FitEvidence, coef: Array, alpha: NDArray, solution: Solution
    ) -> Certificates:
        dtype = self.coef_.dtype
        certificates = [orthogonality(evidence, coef, alpha, dtype)]
        if alpha.min() > 0:
            certificates.append(duality_gap(evidence, coef, alpha, dtype))
        elif solution.condition is not None or solution.row_space is not None:
            certificates.append(uniqueness(solution, coef.shape[0], dtype))
        return Certificates(certificates)

    def _certify_rows(self, data: Rows) -> Certificates:
        evidence, known = self._evidence(data), self._known(data)
        coef, _ = self._columns()
        alpha = np.broadcast_to(np.asarray(self.alpha_, dtype=np.float64), (coef.shape[1],))
        solution = Solution(coef, self.rank_, None)
        if alpha.min() == 0 and known is not None:
            solution = minimum_norm(known.x, known.y)._replace(coef=coef)
        certificates = [*self._certificates(evidence, coef, alpha, solution), self._penalty_certificate(data)]
        if known is not None:
            certificates.append(stored_columns(self, known, squared=data.is_sparse))
        return Certificates(certificates)

    def _penalty_certificate(self, data: Rows) -> Certificate:
        """The stored penalties, on the sum and on the mean, are those that were asked for."""
        given = self._penalties(data)
        stored = (
            np.broadcast_to(self.alpha_, given.shape),
            np.broadcast_to(self.penalty_strength_, given.shape),
        )
        pairs = {"alpha_": (stored[0], given), "penalty_strength_": (stored[1], given / data.total_weight)}
        return agreement(SAME_PENALTY, pairs, "Rudi & Şimşekli §1.5.2")

    def _path(self, X: Any, y: Any, alphas: Any, sample_weight: Any) -> RidgePath:
        data = self._open_training(X, y, sample_weight)
        return ridge_path(data, alphas, fit_intercept=self.fit_intercept)

    def _solutions(self, table: FoldTable, alphas: Array | None) -> PenaltyPath:
        data = self._with()._open_training(table.X, table.y, table.weight)
        return solutions_along(data, alphas, fit_intercept=self.fit_intercept)

    def _values(self, table: FoldTable, alphas: Any) -> NDArray:
        if alphas is None:
            return self._solutions(table, None).alphas[::-1].copy()
        return super()._values(table, alphas)

    def _along(self, table: FoldTable, grid: Array, share: float) -> Callable[[Any], Array]:
        path = self._solutions(table, grid * share)
        return lambda X: path.predict(X)[:, ::-1]  # penalties decreasing

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        return squared_row_loss(y, predictions) / predictions.shape[2]

    def _errors_and_df(self, table: FoldTable, grid: Array) -> tuple[Array, Array]:
        path = self.path(table.X, table.y, grid, table.weight)
        return path.training_error[::-1], path.effective_degrees_of_freedom[::-1]

    def _oracle(
        self, table: FoldTable, best: float, noise_std: float | None = None, coef_norm: float | None = None
    ) -> float:
        """The penalty n λ* of the class; what is not given is that of the best model so far."""
        n = table.total_weight
        path = self.path(table.X, table.y, [best], table.weight)
        freedom = float(path.effective_degrees_of_freedom[0])
        if noise_std is None:
            noise_std = float(np.sqrt(path.training_error[0] * n / max(n - freedom, 1.0)))
        if coef_norm is None:
            coef_norm = float(np.sqrt(np.mean(np.sum(path.coef[0] ** 2, axis=1))))
        if coef_norm == 0 or noise_std == 0:
            return best
        return noise_std * float(np.sqrt(path.spectrum.sum())) / coef_norm

    def _single_alpha(self) -> float:
        if np.ndim(self.alpha_):
            raise ValueError("One smoother matrix needs one penalty; alpha_ has one per target.")
        return float(self.alpha_)
