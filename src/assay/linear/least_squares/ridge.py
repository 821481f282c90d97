"""Ridge regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.linear.least_squares.certificates import duality_gap, orthogonality, uniqueness
from assay.linear.least_squares.engine import Array, FitEvidence
from assay.linear.least_squares.ridge_path import RidgePath, ridge_candidates, ridge_path
from assay.linear.predictor import LinearModel
from assay.models.selection import Selection, select_parameter
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers import Solution
from assay.suitability import Suitability

PENALTY = parameters.real(at_least=0) | parameters.array(
    "an array of non-negative numbers, one per target",
    lambda values: values.ndim == 1 and bool(np.all(values >= 0)),
)


class Ridge(LinearModel):
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
    rank_, condition_number_ : int, float
        Of the penalised problem.
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

    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, select={})
    _domains: ClassVar[Mapping[str, Domain]] = {
        **LinearModel._domains,
        "alpha": PENALTY,
        "penalty_strength": parameters.nothing | PENALTY,
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
        self._store(fit, data, vector=vector)
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
        elif not np.isnan(solution.condition):
            certificates.append(uniqueness(solution, coef.shape[0]))
        return Certificates(certificates)

    def _certify_rows(self, data: Rows) -> Certificates:
        evidence = self._evidence(data)
        coef, _ = self._columns()
        alpha = np.broadcast_to(np.asarray(self.alpha_, dtype=np.float64), (coef.shape[1],))
        solution = Solution(coef, self.rank_, np.nan)
        if alpha.min() == 0:
            solution = self._geometry(data)._replace(coef=coef)
        return self._certificates(evidence, coef, alpha, solution)

    def path(self, X: Any, y: Any = None, alphas: Any = None, sample_weight: Any = None) -> RidgePath:
        """Coefficients, degrees of freedom and leave-one-out error for many penalties from one decomposition.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`; needs no earlier fit.
        alphas : array-like of positive numbers, optional
            Penalties on the scale of the sum; 100 values spread over the spectrum of X by default.

        Returns
        -------
        path : RidgePath
        """
        return ridge_path(self._path_rows(X, y, sample_weight), alphas, fit_intercept=self.fit_intercept)

    def _path_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Rows to walk along a path, which leaves this model as it is."""
        probe = type(self)(**self.get_params())
        return probe._open_rows(X, y, sample_weight, with_target=True)

    def select(
        self,
        X: Any,
        y: Any = None,
        *,
        rule: str = "min",
        alphas: Any = None,
        cv: Any = 5,
        sample_weight: Any = None,
        random_state: Any = None,
        noise_std: float | None = None,
        coef_norm: float | None = None,
    ) -> Selection:
        """Choose the penalty by validation, by an information criterion or by theory, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`, in memory; needs no earlier fit.
        rule : {"min", "one_se", "oracle", "aic", "bic"}, default="min"
            Least validation loss; the strongest penalty within one paired standard error of it; the penalty
            λ* = σ √(tr Σ)/(‖θ*‖ √n) that minimises a bound on the expected risk, as α = nλ* (the curve is
            shown beside it); n log(RSS/n) + c·df with df the trace of the smoother and c = 2 or log n.
        alphas : array-like of positive numbers, optional
            The grid on the scale of the sum over all rows; folds use the same λ = α/n.
        cv : int, "split" or splitter, default=5
            Number of folds, one split that holds out a quarter, or a scikit-learn splitter.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Shuffles the rows before they are cut into folds; None cuts them in their order.
        noise_std, coef_norm : float, optional
            σ and ‖θ*‖ for the oracle; by default those of the model with the least validation loss.

        Returns
        -------
        selection : Selection
        """
        probe = type(self)(**self.get_params())

        def refit(alpha: float) -> Ridge:
            given = {**self.get_params(), "alpha": alpha, "penalty_strength": None}
            return type(self)(**given).fit(X, y, sample_weight=sample_weight)

        return select_parameter(
            self,
            X,
            y,
            ridge_candidates(probe, refit, noise_std, coef_norm),
            rule=rule,
            values=alphas,
            cv=cv,
            sample_weight=sample_weight,
            random_state=random_state,
        )

    def _single_alpha(self) -> float:
        if np.ndim(self.alpha_):
            raise ValueError("One smoother matrix needs one penalty; alpha_ has one per target.")
        return float(self.alpha_)
