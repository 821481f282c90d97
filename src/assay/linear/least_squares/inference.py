"""What a least-squares fit says about the true coefficients: standard errors, tests, regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import special

from assay import parameters
from assay.certificates import Certificates
from assay.linear.least_squares.engine import Array
from assay.models.inference import ParameterInference, WaldTest, check_level, hypothesis, quadratic_form

COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3")


def check_covariance(covariance: str, *, given: bool) -> None:
    """Refuse covariances that are unknown, or that need the rows when none are given."""
    parameters.require("LinearRegression.inference", parameters.one_of(*COVARIANCES), covariance=covariance)
    if covariance != "classical" and not given:
        raise ValueError(
            f"The covariance {covariance!r} is made of residuals: give the data of the fit, "
            f"inference(X, y, covariance={covariance!r})."
        )


ASSUMPTIONS = {
    "classical": (
        "y = Xβ + ε with X fixed and of full column rank",
        "the errors ε are independent, Gaussian, of mean 0 and of one variance σ²",
    ),
    "robust": (
        "y = Xβ + ε with X of full column rank",
        "the errors ε are independent, of mean 0, each of its own variance",
        "many rows: the laws hold in the limit",
    ),
}


@dataclass(frozen=True, eq=False, repr=False)
class Inference(ParameterInference):
    """Inference from a least-squares fit; made by `LinearRegression.inference`.

    Names are those of statsmodels. The first parameter is the intercept, if there is one. After a fit to a
    matrix of targets every quantity has one more axis, the last, with an entry per target, and `target(k)`
    gives the inference of one of them. Numbers are float64 whatever the precision of the table.

    Attributes
    ----------
    params : array of shape (p,) or (p, n_targets)
        Coefficients of the fit, the intercept first.
    names : tuple of str
        "intercept", then the names of the features ("x0", "x1", … where they have none).
    normalized_cov_params : array of shape (p, p)
        (XᵀX)⁻¹, rows counted with their weights.
    noise_variance : float or array of shape (n_targets,)
        σ̂² = Σ s (y − ŷ)²/(n − p).
    nobs : float
        n = Σ s: a weight of 2 means that the row counts twice.
    total_ss : float or array of shape (n_targets,)
        Σ s (y − ȳ)²; Σ s y² without an intercept.
    has_intercept : bool
    covariance_type : {"classical", "HC0", "HC1", "HC2", "HC3"}
    robust_covariance : array of shape (p, p) or (p, p, n_targets), or None
        None for "classical".
    certificates : Certificates
        Whether the noise variance, on which all else rests, is more than rounding.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import LinearRegression
    >>> X, y = diabetes(return_X_y=True)
    >>> inference = LinearRegression().fit(X, y).inference()
    >>> inference.names[3], round(float(inference.tvalues[3]), 2)
    ('x2', 7.81)
    >>> inference.conf_int()[3].round()
    array([389., 651.])

    References
    ----------
    Rudi & Şimşekli §1.4.3; Douc & Le Corff §6.2.2.
    """

    params: Array
    names: tuple[str, ...]
    normalized_cov_params: Array
    noise_variance: Any
    nobs: float
    total_ss: Any
    has_intercept: bool
    covariance_type: str = "classical"
    robust_covariance: Array | None = None
    certificates: Certificates = field(default_factory=Certificates)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """Under which the laws behind p-values and intervals hold."""
        return ASSUMPTIONS["classical" if self.robust_covariance is None else "robust"]

    @property
    def n_targets(self) -> int:
        """Number of targets."""
        return 1 if self.params.ndim == 1 else self.params.shape[1]

    @property
    def df_model(self) -> int:
        """Number of slopes: parameters without the intercept."""
        return len(self.names) - self.has_intercept

    @cached_property
    def covariance(self) -> Array:
        """Estimated covariance of the parameters, (p, p) or (p, p, n_targets)."""
        if self.robust_covariance is not None:
            return self.robust_covariance
        return np.multiply.outer(self.normalized_cov_params, self.noise_variance)

    @cached_property
    def bse(self) -> Array:
        """Standard error of each parameter."""
        if self.robust_covariance is not None:
            return np.sqrt(np.einsum("ii...->i...", self.robust_covariance))
        unit = np.diagonal(self.normalized_cov_params)
        return np.sqrt(np.multiply.outer(unit, self.noise_variance), dtype=np.float64)

    def noise_variance_interval(self, level: float = 0.95) -> Array:
        """Interval of the noise variance σ² from the law χ²(n − p) of (n − p)σ̂²/σ².

        Needs Gaussian errors of one variance, whatever the `covariance_type`.

        Returns
        -------
        interval : array of shape (2,) or (2, n_targets)
        """
        check_level("Inference.noise_variance_interval", "level", level)
        tails = special.chdtri(self.df_resid, np.array([(1 - level) / 2, (1 + level) / 2]))
        return np.multiply.outer(self.df_resid / tails, self.noise_variance)

    def wald_test(self, L: Any, r: Any = 0.0) -> WaldTest:
        """Fisher's test of the linear hypothesis Lβ = r.

        F = (Lβ̂ − r)ᵀ (L V Lᵀ)⁻¹ (Lβ̂ − r)/q, with V the covariance of the parameters and q the rows of L, has
        the law F(q, n − p) under the hypothesis.

        Parameters
        ----------
        L : array-like of shape (q, p) or (p,), name, or list of names
            Rows of full rank, columns in the order of `names`; names stand for the rows that pick these
            parameters.
        r : float or array-like of shape (q,), default=0.0

        Examples
        --------
        >>> from assay.datasets import diabetes
        >>> from assay.linear import LinearRegression
        >>> X, y = diabetes(return_X_y=True)
        >>> test = LinearRegression().fit(X, y).inference().wald_test(["x4", "x5", "x6"])
        >>> test.df_num, test.df_denom, round(test.fvalue, 3), round(test.pvalue, 6)
        (3, 431.0, 7.612, 5.7e-05)
        """
        matrix = hypothesis("Inference.wald_test", L, self.names)
        try:
            target = np.broadcast_to(np.asarray(r, dtype=np.float64), matrix.shape[:1])
        except ValueError as error:
            raise ValueError(
                f"The 'r' parameter of Inference.wald_test must be a number or {matrix.shape[0]} numbers, "
                f"one per row of L. Got shape {np.shape(r)} instead."
            ) from error
        gap = matrix @ self.params.reshape(len(self.names), -1) - target[:, None]
        if self.robust_covariance is None:
            unit = matrix @ self.normalized_cov_params @ matrix.T
            with np.errstate(divide="ignore", invalid="ignore"):
                squares = quadratic_form(unit, gap) / self.noise_variance
        else:
            each = self.robust_covariance.reshape(*self.normalized_cov_params.shape, -1)
            squares = np.array(
                [
                    quadratic_form(matrix @ each[:, :, k] @ matrix.T, gap[:, [k]])[0]
                    for k in range(self.n_targets)
                ]
            )
        q = matrix.shape[0]
        fvalue = squares / q
        pvalue = np.where(np.isinf(fvalue), 0.0, special.fdtrc(q, self.df_resid, fvalue))
        return WaldTest(self._shaped(fvalue), self._shaped(pvalue), q, self.df_resid)

    @cached_property
    def rsquared(self) -> Any:
        """Share 1 − Σ s (y − ŷ)²/total_ss of the variation that the fit explains."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return 1 - np.divide(self.noise_variance * self.df_resid, self.total_ss)

    @property
    def rsquared_adj(self) -> Any:
        """1 − σ̂² (n − 1)/total_ss (n instead of n − 1 without an intercept)."""
        return 1 - (self.nobs - self.has_intercept) / self.df_resid * (1 - self.rsquared)

    @cached_property
    def overall_test(self) -> WaldTest:
        """Fisher's test that all slopes vanish."""
        return self.wald_test(self.names[self.has_intercept :])

    @property
    def fvalue(self) -> Any:
        """Statistic of the test that all slopes vanish."""
        return self.overall_test.fvalue

    @property
    def f_pvalue(self) -> Any:
        """p-value of the test that all slopes vanish."""
        return self.overall_test.pvalue

    @property
    def llf(self) -> Any:
        """Gaussian log-likelihood at the maximum-likelihood variance Σ s (y − ŷ)²/n."""
        with np.errstate(divide="ignore"):
            biased = np.log(2 * np.pi * np.asarray(self.noise_variance) * self.df_resid / self.nobs)
        return -self.nobs / 2 * (biased + 1)

    @property
    def excess_risk(self) -> Any:
        """Plug-in estimate σ̂² p/n of the excess risk E‖ŷ − Xβ‖²/n on the rows of the fit."""
        return self.noise_variance * len(self.names) / self.nobs

    def target(self, index: int) -> Inference:
        """The inference of one target of several."""
        if self.params.ndim == 1:
            raise ValueError("This fit has a vector target: the inference is already of one target.")
        robust = self.robust_covariance
        return replace(
            self,
            params=self.params[:, index],
            noise_variance=float(self.noise_variance[index]),
            total_ss=float(self.total_ss[index]),
            robust_covariance=None if robust is None else robust[:, :, index],
        )

    def _each(self) -> Sequence[Inference]:
        return [self] if self.params.ndim == 1 else [self.target(k) for k in range(self.n_targets)]

    def _shaped(self, values: Array) -> Any:
        return float(values[0]) if self.params.ndim == 1 else values

    def _facts(self) -> list[tuple[str, str]]:
        return [
            ("rows", f"{self.nobs:g}"),
            ("parameters", f"{len(self.names)}"),
            ("residual degrees of freedom", f"{self.df_resid:g}"),
            ("noise variance", f"{self.noise_variance:.6g}"),
            ("R²", f"{self.rsquared:.4f} (adjusted {self.rsquared_adj:.4f})"),
            (f"F({self.df_model}, {self.df_resid:g})", f"{self.fvalue:.4g} (p = {self.f_pvalue:.3g})"),
            ("AIC, BIC", f"{self.aic:.6g}, {self.bic:.6g}"),
            ("covariance", self.covariance_type),
        ]


def shaped(values: Array, vector: bool) -> Any:
    """A number for a vector target, one per column for a matrix."""
    return float(values[0]) if vector else values
