"""Ordinary least squares."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificates
from assay.linear.least_squares.certificates import (
    gaussian_log_likelihood,
    noise_digits,
    orthogonality,
    pythagoras,
    stored_columns,
    stored_residuals,
    uniqueness,
)
from assay.linear.least_squares.engine import Array, FitEvidence, fit_linear
from assay.linear.least_squares.inference import Inference, check_covariance, shaped
from assay.linear.least_squares.influence import (
    ColumnGeometry,
    Influence,
    check_targets,
    check_weight,
    influence_of,
    interval_step,
    inverse_root,
    not_independent,
    robust_covariance,
)
from assay.linear.predictor import LinearModel
from assay.models.inference import check_level, parameter_names
from assay.rows import Rows
from assay.solvers import Solution, minimum_norm
from assay.suitability import Suitability


class LinearRegression(LinearModel):
    """Ordinary least squares.

    Minimises over (w, b)

        (1/n) Σ_i s_i (y_i − x_iᵀw − b)²,

    by one walk over the rows for their second moments and a Cholesky solve of size n_features. When the
    columns are so collinear that squaring would cost digits, a second walk makes a QR factorisation by
    blocks; where X does not determine w, the solution of least norm is returned and the certificate says so.

    Assumes: a mean of y that is linear in the columns; for standard errors and intervals, independent errors
    of equal variance (robust ones do without the latter). The minimum is exact whatever the rows are.

    Certificates: normal-equation residual, Pythagoras' identity, condition number (or least norm); `certify`
    adds what the fit stored of the columns and of the residuals, which inference reads.

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
    condition_number_ : float or None
        σ_max/σ_min of X with (centred) columns of unit norm, in the directions that X determines; of X as it
        is where it has more columns than rows. None where "conjugate_gradient" or "gradient_descent" did not
        find it, and where X determines no direction.
    empirical_risk_ : float or array of shape (n_targets,)
        (1/n) Σ s (y − ŷ)², also the maximum-likelihood estimate of the noise variance.
    noise_variance_ : float or array of shape (n_targets,), or None
        ‖y − ŷ‖²/(n − p), unbiased under homoscedastic noise, p counting the intercept; None if n ≤ p:
        no degrees of freedom are left to see the noise.
    log_likelihood_ : float or array of shape (n_targets,), or None
        Gaussian log-likelihood at the maximum; None if n ≤ p or no residual is left: there is no maximum.
    target_variance_ : float or array of shape (n_targets,)
        (1/n) Σ s (y − ȳ)²; (1/n) Σ s y² without an intercept.
    total_weight_ : float
        Number of rows, counted with their weights.
    scatter_ : array of shape (n_features, n_features) or None
        XᵀX of the (centred, weighted) table; None if it was never formed.
    triangle_ : array of shape (n_features, n_features) or None
        R with RᵀR = scatter_, found without squaring, of fewer rows where X has fewer; None unless `solver_`
        is "qr".
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
    noise_variance_: Any
    target_variance_: Any
    feature_means_: Array
    triangle_: Array | None

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
        self._fit_columns(X, y, data)

    def _fit_columns(self, X: Any, y: Any, data: Rows) -> FitEvidence:
        vector = self._targets(data)
        fit = self._solve(X, y, data, np.zeros(data.n_targets), vector=vector)
        self._store(fit, data)
        self.feature_means_, self.triangle_ = fit.mean_x, fit.triangle
        self._store_likelihood(fit.evidence, vector=vector)
        self.certificates_ = self._certificates(fit.evidence, fit.coef, fit.solution)
        self.optimality_ = self.certificates_[0].value
        return fit.evidence

    def _store_likelihood(self, evidence: FitEvidence, *, vector: bool) -> None:
        n, free = evidence.weight, self._residual_freedom()
        risk = evidence.residual_ss / n
        self.empirical_risk_ = shaped(risk, vector)
        self.noise_variance_ = None if free is None else shaped(evidence.residual_ss / free, vector)
        bounded = free is not None and risk.min() > 0
        self.log_likelihood_ = shaped(gaussian_log_likelihood(risk, n), vector) if bounded else None
        self.target_variance_ = shaped(evidence.target_ss / n, vector)

    def _residual_freedom(self) -> float | None:
        """Degrees of freedom that the fit leaves to the residual; None where there are none."""
        free = self.total_weight_ - self.rank_ - self.fit_intercept
        return free if free > 0 else None

    def _certificates(self, evidence: FitEvidence, coef: Array, solution: Solution) -> Certificates:
        dtype = self.coef_.dtype
        certificates = [
            orthogonality(evidence, coef, np.zeros(coef.shape[1]), dtype),
            pythagoras(evidence, coef, dtype),
        ]
        if solution.condition is not None or solution.row_space is not None:
            certificates.append(uniqueness(solution, coef.shape[0], dtype))
        return Certificates(certificates)

    def _certify_rows(self, data: Rows) -> Certificates:
        evidence, known = self._evidence(data), self._known(data)
        coef, _ = self._columns()
        solution = Solution(coef, self.rank_, None)
        free, dtype = self._residual_freedom(), self.coef_.dtype
        certificates = [stored_residuals(self, evidence, coef, free, dtype)]
        if known is not None:
            solution = minimum_norm(known.x, known.y)._replace(coef=coef)
            certificates.append(stored_columns(self, known, squared=data.is_sparse))
        return Certificates([*self._certificates(evidence, coef, solution), *certificates])

    def covariance(self) -> NDArray:
        """Estimated covariance σ̂²(XᵀX)⁻¹ of the coefficients (of each target: σ̂² factors in the last axis).

        Returns
        -------
        covariance : array of shape (n_features, n_features) or (n_features, n_features, n_targets)
        """
        scatter = self._formed_scatter()
        if self.noise_variance_ is None:
            self._degrees_of_freedom()
        return np.multiply.outer(np.linalg.pinv(scatter, hermitian=True), self.noise_variance_)

    def gradient(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray:
        """Gradient −(2/n) Xᵀ(y − ŷ) of the empirical risk at the coefficients, (centred) by one walk."""
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        evidence = self._evidence(data)
        return (-2 / evidence.weight * evidence.cross).T.reshape(self.coef_.shape)

    def hessian(self) -> NDArray:
        """Hessian (2/n) XᵀX of the empirical risk in w (b profiled out)."""
        return 2 / self.total_weight_ * self._formed_scatter()

    def _formed_scatter(self) -> Array:
        if self.scatter_ is None:
            raise ValueError("The 'solver' of this fit formed no XᵀX; fit with solver='cholesky' or 'qr'.")
        return self.scatter_

    def inference(
        self, X: Any = None, y: Any = None, sample_weight: Any = None, *, covariance: str = "classical"
    ) -> Inference:
        """Standard errors, tests and intervals of the coefficients.

        Without data it reads what the fit stored, in time n_features³ and wherever the rows were; with data
        the noise variance is measured on the rows themselves, by one walk, at the coefficients of the model.
        Its `certificates` tell whether the noise variance is more than rounding: after a nearly perfect fit
        only the rows can tell it. `sample_weight` means repetition: n = Σ s.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit, wherever it lives; needed by robust covariances only.
        covariance : {"classical", "HC0", "HC1", "HC2", "HC3"}, default="classical"
            "classical" is σ̂²(XᵀX)⁻¹ for noise of one variance. The others let every row have its own, taken
            as r² (HC0), r² n/(n − p) (HC1), r²/(1 − h) (HC2), r²/(1 − h)² (HC3, the most cautious).

        Returns
        -------
        inference : Inference

        Examples
        --------
        >>> from assay.datasets import diabetes
        >>> from assay.linear import LinearRegression
        >>> X, y = diabetes(return_X_y=True)
        >>> model = LinearRegression().fit(X, y)
        >>> model.inference().bse[:3].round(1)
        array([ 2.6, 59.7, 61.2])
        >>> model.inference(X, y, covariance="HC3").bse[:3].round(1)
        array([ 2.6, 58.2, 59.6])
        """
        check_is_fitted(self)
        check_covariance(covariance, given=X is not None)
        data = None if X is None else self._open_fitted_rows(X, y, sample_weight)
        design = self._design(data)
        df_resid = self._degrees_of_freedom()
        coef, intercept = self._columns()
        noise, robust = np.atleast_1d(self.noise_variance_), None
        total_ss = np.atleast_1d(self.target_variance_) * design.weight
        if data is not None and covariance == "classical":
            evidence = self._evidence(data)
            check_weight(evidence.weight, design)
            noise = evidence.residual_ss / df_resid
        elif data is not None:
            robust, residual_ss = robust_covariance(data, design, coef, intercept, covariance)
            noise = residual_ss / df_resid
        squared = data is None and self.solver_ in ("cholesky", "gradient_descent")
        vector = self.coef_.ndim == 1
        params = np.vstack([intercept, coef]) if self.fit_intercept else coef
        basis = design.basis()
        return Inference(
            params=params[:, 0] if vector else params,
            names=self._parameter_names(),
            normalized_cov_params=basis @ basis.T,
            noise_variance=shaped(noise, vector),
            nobs=design.weight,
            total_ss=shaped(total_ss, vector),
            has_intercept=self.fit_intercept,
            covariance_type=covariance,
            robust_covariance=robust[:, :, 0] if vector and robust is not None else robust,
            certificates=Certificates([noise_digits(total_ss, noise * df_resid, squared=squared)]),
        )

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, kind: str = "prediction", noise_std: float | None = None
    ) -> Any:
        """Interval of the target, or of its mean, at each row.

        ŷ ± t σ̂ √(1 + xᵀ(XᵀX)⁻¹x) covers a new target at x with probability `coverage`, and the same without
        the 1 covers its mean, under independent Gaussian noise of one variance; t is the quantile of
        Student's law with n − p degrees of freedom.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        coverage : float, default=0.9
            Probability, for each row by itself.
        kind : {"prediction", "mean"}, default="prediction"
        noise_std : float, optional
            σ where it is known; takes the place of σ̂, with the Gaussian quantile.

        Returns
        -------
        interval : array of shape (n_samples, 2) or (n_samples, 2, n_targets)
            Lower and upper end; a lazy Dask array for Dask input.

        Examples
        --------
        >>> from assay.linear import LinearRegression
        >>> model = LinearRegression().fit([[0.0], [1.0], [2.0], [3.0]], [0.0, 1.5, 1.5, 3.0])
        >>> model.predict_interval([[1.5]], coverage=0.95).round(3)
        array([[-0.782,  3.782]])
        """
        check_is_fitted(self)
        owner = "LinearRegression.predict_interval"
        check_level(owner, "coverage", coverage)
        parameters.require(owner, parameters.one_of("prediction", "mean"), kind=kind)
        data = self._open_new_rows(X)
        design = self._design()
        coef, intercept = self._columns()
        t = coef.shape[1]
        if noise_std is None:
            quantile = special.stdtrit(self._degrees_of_freedom(), (1 + coverage) / 2)
            half = quantile * np.sqrt(np.atleast_1d(self.noise_variance_))
        else:
            parameters.require(owner, parameters.real(at_least=0), noise_std=noise_std)
            half = np.full(t, special.ndtri((1 + coverage) / 2) * noise_std)
        noise = 1.0 if kind == "prediction" else 0.0
        dtype = self.coef_.dtype
        ends = data.map(interval_step, coef, intercept, design, half, noise, dtype=dtype, width=2 * t)
        return ends if self.coef_.ndim == 1 else ends.reshape(ends.shape[0], 2, t)

    def influence(self, X: Any, y: Any = None) -> Influence:
        """Leverage, studentized residuals, Cook's distance and DFFITS of the rows of the fit.

        Parameters
        ----------
        X, y
            The data of the fit; its weights are known from the fit.

        Returns
        -------
        influence : Influence

        Examples
        --------
        >>> from assay.datasets import diabetes
        >>> from assay.linear import LinearRegression
        >>> X, y = diabetes(return_X_y=True)
        >>> influence = LinearRegression().fit(X, y).influence(X, y)
        >>> int(influence.cooks_distance.argmax()), round(float(influence.leverage.sum()), 6)
        (382, 11.0)
        """
        data = self._open_fitted_rows(X, y, None)
        design = self._design()
        self._degrees_of_freedom()
        noise = np.atleast_1d(self.noise_variance_)
        return influence_of(data, *self._columns(), design, noise, vector=self.coef_.ndim == 1)

    def _open_fitted_rows(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Open data with a target for every column of coefficients."""
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        check_targets(data, 1 if self.coef_.ndim == 1 else self.coef_.shape[0])
        return data

    def _design(self, data: Rows | None = None) -> ColumnGeometry:
        """What the fit knows of the columns; found again from the rows where it kept no XᵀX."""
        scatter, triangle, mean, rank = self.scatter_, self.triangle_, self.feature_means_, self.rank_
        d, weight = self.n_features_in_, self.total_weight_
        if scatter is None and data is not None and weight > d:
            rule: Any = {"solver": "cholesky", "tol": self.tol, "max_iter": self.max_iter}
            again = fit_linear(data, np.zeros(data.n_targets), fit_intercept=self.fit_intercept, **rule)
            scatter, triangle, mean, rank = again.scatter, again.triangle, again.mean_x, again.solution.rank
        scatter = self._formed_scatter() if rank == d and scatter is None else scatter
        root = inverse_root(scatter, triangle) if rank == d and scatter is not None else None
        if root is None:
            raise not_independent(weight, rank, d, d + self.fit_intercept)
        return ColumnGeometry(weight, mean, root, self.fit_intercept)

    def _degrees_of_freedom(self) -> float:
        """Degrees of freedom n − p of the residual, which inference needs above 0."""
        p = self.n_features_in_ + self.fit_intercept
        if self.total_weight_ <= p:
            raise ValueError(
                f"Inference needs more rows than parameters and X has {self.total_weight_:g} rows for {p} "
                "parameters; add rows, drop columns or use Ridge."
            )
        return self.total_weight_ - p

    def _parameter_names(self) -> tuple[str, ...]:
        return parameter_names(self)
