"""Ordinary least squares."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates
from assay.linear.least_squares.certificates import orthogonality, pythagoras, uniqueness
from assay.linear.least_squares.engine import Array, FitEvidence
from assay.linear.least_squares.results import LeastSquaresResults, shaped
from assay.rows import Rows
from assay.solvers import Solution
from assay.suitability import Suitability


class LinearRegression(LeastSquaresResults):
    """Ordinary least squares.

    Minimises over (w, b)

        (1/n) Σ_i s_i (y_i − x_iᵀw − b)²,

    by one walk over the rows for their second moments and a Cholesky solve of size n_features. When the
    columns are so collinear that squaring would cost digits, a second walk makes a QR factorisation by
    blocks; where X does not determine w, the solution of least norm is returned and the certificate says so.

    Assumes: a mean of y that is linear in the columns; for standard errors and intervals, independent errors
    of equal variance (robust ones do without the latter). The minimum is exact whatever the rows are.

    Certificates: normal-equation residual, Pythagoras' identity, condition number (or least norm).

    After the fit, `inference()` gives standard errors, tests and intervals of the coefficients (robust ones
    too), `predict_interval(X)` intervals of predictions, `influence(X, y)` what each row weighs.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    solver : {"auto", "cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient"}, default="auto"
        What reads the rows. "auto" is "cholesky" where that is safe, else "qr"; "dual" works on the rows when
        there are more columns than rows; "conjugate_gradient" never forms a matrix of size n_features;
        "gradient_descent" takes constant steps 1/L from zero.
    tol : float, default=1e-10
        Gradient norm, relative to the gradient at zero, at which the two iterations stop.
    max_iter : int, default=10000
        Most iterations of the two.
    history : bool, default=False
        Whether gradient descent keeps the empirical risk of every iteration in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_targets, n_features)
    intercept_ : float or array of shape (n_targets,)
    rank_ : int
        Number of directions that X determines.
    condition_number_ : float
        Of X with (centred) columns of unit norm.
    empirical_risk_ : float or array of shape (n_targets,)
        (1/n) Σ s (y − ŷ)², also the maximum-likelihood estimate of the noise variance.
    noise_variance_ : float or array of shape (n_targets,)
        ‖y − ŷ‖²/(n − p), unbiased under homoscedastic noise, p counting the intercept; NaN if n ≤ p.
    log_likelihood_ : float or array of shape (n_targets,)
        Gaussian log-likelihood at the maximum.
    target_variance_ : float or array of shape (n_targets,)
        (1/n) Σ s (y − ȳ)²; (1/n) Σ s y² without an intercept.
    total_weight_ : float
        Number of rows, counted with their weights.
    scatter_ : array of shape (n_features, n_features) or None
        XᵀX of the (centred, weighted) table; None if it was never formed.
    triangle_ : array of shape (n_features, n_features) or None
        R with RᵀR = scatter_, found without squaring; None unless `solver_` is "qr".
    feature_means_ : array of shape (n_features,)
        Weighted means of the columns; zeros without an intercept.
    solver_ : str
        What "auto" chose.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the relative normal-equation residual.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import LinearRegression
    >>> X, y = diabetes(return_X_y=True)
    >>> model = LinearRegression().fit(X, y)
    >>> model.certificates_.holds
    True
    >>> round(model.score(X, y), 4)
    0.5177

    References
    ----------
    Rudi & Şimşekli §1.3–1.4; Douc & Le Corff §6.2.1; Peyré, least squares.
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=1)

    def __init__(
        self,
        *,
        fit_intercept: bool = True,
        solver: str = "auto",
        tol: float = 1e-10,
        max_iter: int = 10_000,
        history: bool = False,
    ) -> None:
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        vector = self._targets(data)
        fit = self._solve(X, y, data, np.zeros(data.n_targets), vector=vector)
        self._store(fit, data, vector=vector)
        self.feature_means_, self.triangle_ = fit.mean_x, fit.triangle
        self._store_likelihood(fit.evidence, fit.solution.rank, vector=self.coef_.ndim == 1)
        self.certificates_ = self._certificates(fit.evidence, fit.coef, fit.solution)
        self.optimality_ = self.certificates_[0].value

    def _store_likelihood(self, evidence: FitEvidence, rank: int, *, vector: bool) -> None:
        n = evidence.weight
        free = n - rank - self.fit_intercept
        risk = evidence.residual_ss / n
        with np.errstate(divide="ignore"):
            likelihood = -n / 2 * (np.log(2 * np.pi * risk) + 1)
        unbiased = evidence.residual_ss / free if free > 0 else np.full_like(risk, np.nan)
        self.empirical_risk_ = shaped(risk, vector)
        self.noise_variance_ = shaped(unbiased, vector)
        self.log_likelihood_ = shaped(likelihood, vector)
        self.target_variance_ = shaped(evidence.target_ss / n, vector)

    def _certificates(self, evidence: FitEvidence, coef: Array, solution: Solution) -> Certificates:
        dtype = self.coef_.dtype
        certificates = [
            orthogonality(evidence, coef, np.zeros(coef.shape[1]), dtype),
            pythagoras(evidence, coef, dtype),
        ]
        if not np.isnan(solution.condition):
            certificates.append(uniqueness(solution, coef.shape[0]))
        return Certificates(certificates)

    def _certify_rows(self, data: Rows) -> Certificates:
        evidence = self._evidence(data)
        coef, _ = self._columns()
        return self._certificates(evidence, coef, self._geometry(data)._replace(coef=coef))

    def covariance(self) -> NDArray:
        """Estimated covariance σ̂²(XᵀX)⁻¹ of the coefficients (of each target: σ̂² factors in the last axis).

        Returns
        -------
        covariance : array of shape (n_features, n_features) or (n_features, n_features, n_targets)
        """
        if self.scatter_ is None:
            raise ValueError("The 'solver' of this fit formed no XᵀX; fit with solver='cholesky' or 'qr'.")
        return np.multiply.outer(np.linalg.pinv(self.scatter_, hermitian=True), self.noise_variance_)

    def gradient(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray:
        """Gradient −(2/n) Xᵀ(y − ŷ) of the empirical risk at the coefficients, (centred) by one walk."""
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        evidence = self._evidence(data)
        return (-2 / evidence.weight * evidence.cross).T.reshape(self.coef_.shape)

    def hessian(self) -> NDArray:
        """Hessian (2/n) XᵀX of the empirical risk in w (b profiled out)."""
        if self.scatter_ is None:
            raise ValueError("The 'solver' of this fit formed no XᵀX; fit with solver='cholesky' or 'qr'.")
        return 2 / self.total_weight_ * self.scatter_
