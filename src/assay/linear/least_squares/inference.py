"""What a least-squares fit says about the true coefficients: standard errors, tests, regions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from assay.certificates import Certificates
from assay.linear.least_squares.confidence import (
    ConfidenceRegion,
    WaldTest,
    check_level,
    hypothesis,
    quadratic_form,
)
from assay.linear.least_squares.engine import Array
from assay.linear.least_squares.summary import html_summary, text_summary

if TYPE_CHECKING:
    import pandas

COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3")

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
class Inference:
    """Inference from a least-squares fit; made by `LinearRegression.inference`.

    Names are those of statsmodels. The first parameter is the intercept, if there is one. After a fit to a
    matrix of targets every quantity has one more axis, the last, with an entry a target, and `target(k)`
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
        n = Σ s: a weight of 2 means that the row stands there twice.
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
    >>> found = LinearRegression().fit(X, y).inference()
    >>> found.names[3], round(float(found.tvalues[3]), 2)
    ('x2', 7.81)
    >>> found.conf_int()[3].round()
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

    @property
    def df_resid(self) -> float:
        """Degrees of freedom n − p of the residual."""
        return self.nobs - len(self.names)

    @cached_property
    def covariance(self) -> Array:
        """Estimated covariance of the parameters, (p, p) or (p, p, n_targets)."""
        if self.robust_covariance is not None:
            return self.robust_covariance
        return np.multiply.outer(self.normalized_cov_params, self.noise_variance)

    @cached_property
    def bse(self) -> Array:
        """Standard error of each parameter."""
        if self.robust_covariance is None:
            unit = np.diagonal(self.normalized_cov_params)
            return np.sqrt(np.multiply.outer(unit, self.noise_variance), dtype=np.float64)
        return np.sqrt(np.einsum("ii...->i...", self.robust_covariance))

    @cached_property
    def tvalues(self) -> Array:
        """Student's statistic β̂_j/bse_j of the hypothesis β_j = 0."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return self.params / self.bse

    @cached_property
    def pvalues(self) -> Array:
        """Two-sided p-value of each statistic under Student's law with n − p degrees of freedom.

        Robust covariances use that law too (statsmodels: `use_t=True`); it is the cautious choice.
        """
        return 2 * np.asarray(special.stdtr(self.df_resid, -np.abs(self.tvalues)), dtype=np.float64)

    def conf_int(self, level: float = 0.95) -> Array:
        """Student interval β̂_j ± t_{n−p, (1+level)/2} bse_j of each parameter.

        Parameters
        ----------
        level : float, default=0.95
            Probability that the interval covers β_j (1 − alpha of statsmodels).

        Returns
        -------
        interval : array of shape (p, 2) or (p, 2, n_targets)
        """
        check_level("Inference.conf_int", "level", level)
        half = special.stdtrit(self.df_resid, (1 + level) / 2) * self.bse
        return np.stack([self.params - half, self.params + half], axis=1)

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
                f"one a row of L. Got shape {np.shape(r)} instead."
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

    def confidence_region(self, L: Any = None, level: float = 0.95) -> ConfidenceRegion:
        """Fisher's ellipsoid that covers Lβ with probability `level`.

        {b : (b − Lβ̂)ᵀ (L V Lᵀ)⁻¹ (b − Lβ̂) ≤ q f_{q, n−p, level}}, V the covariance of the parameters.

        Parameters
        ----------
        L : array-like of shape (q, p) or (p,), name, or list of names, optional
            As in `wald_test`; all parameters by default.
        level : float, default=0.95
        """
        check_level("Inference.confidence_region", "level", level)
        if self.params.ndim != 1:
            raise ValueError("A confidence region is of one target; take inference.target(k) first.")
        matrix = hypothesis("Inference.confidence_region", self.names if L is None else L, self.names)
        q = matrix.shape[0]
        return ConfidenceRegion(
            center=matrix @ self.params,
            shape=matrix @ self.covariance @ matrix.T,
            radius=float(np.sqrt(q * special.fdtri(q, self.df_resid, level))),
            level=float(level),
        )

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
    def aic(self) -> Any:
        """Akaike's criterion −2 llf + 2p; as in statsmodels p does not count the variance (R counts it)."""
        return -2 * self.llf + 2 * len(self.names)

    @property
    def bic(self) -> Any:
        """Schwarz' criterion −2 llf + p log n; as in statsmodels p does not count the variance."""
        return -2 * self.llf + np.log(self.nobs) * len(self.names)

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

    def summary(self, level: float = 0.95) -> str:
        """Everything as a plain-text table, one after the other for several targets.

        Parameters
        ----------
        level : float, default=0.95
            Level of the intervals shown.
        """
        check_level("Inference.summary", "level", level)
        if self.params.ndim == 1:
            return text_summary(self, level)
        return "\n\n".join(f"target {k}\n{text_summary(one, level)}" for k, one in enumerate(self._each()))

    def to_frame(self, level: float = 0.95) -> pandas.DataFrame:
        """The table of one target as a pandas frame, one row a parameter."""
        if self.params.ndim != 1:
            raise ValueError("A frame is of one target; take inference.target(k) first.")
        import pandas as pd

        low, high = self.conf_int(level).T
        columns = {"params": self.params, "bse": self.bse, "tvalues": self.tvalues, "pvalues": self.pvalues}
        return pd.DataFrame(columns | {"lower": low, "upper": high}, index=pd.Index(self.names))

    def _each(self) -> Sequence[Inference]:
        return [self] if self.params.ndim == 1 else [self.target(k) for k in range(self.n_targets)]

    def _shaped(self, values: Array) -> Any:
        return float(values[0]) if self.params.ndim == 1 else values

    def __str__(self) -> str:
        return self.summary()

    def __repr__(self) -> str:
        shown = f"{len(self.names)} parameters, {self.nobs:g} rows, covariance={self.covariance_type!r}"
        return f"Inference({shown})" if self.n_targets > 1 else f"Inference({shown})\n{self.summary()}"

    def _repr_html_(self) -> str:
        return "".join(html_summary(one) for one in self._each())
