"""Multivariate linear regression: several responses with correlated errors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.linear.least_squares.certificates import FLOAT32, target_scale
from assay.linear.least_squares.engine import Array, FitEvidence
from assay.linear.least_squares.linear_regression import LinearRegression
from assay.models.inference import hypothesis
from assay.parameters import Domain
from assay.rows import Block, Rows

NOTHING = 1e-24
"""Share of a variance that is nothing but rounding."""


class MultivariateRegression(LinearRegression):
    """Maximum likelihood for several responses with correlated Gaussian errors.

    Minimises over B of shape (n_features, n_targets), b and Σ the negative log-likelihood

        (n/2) log |2πΣ| + ½ Σ_i s_i (y_i − Bᵀx_i − b)ᵀ Σ⁻¹ (y_i − Bᵀx_i − b),

    which least squares on each response does, B̂ = (XᵀX)⁻¹XᵀY, with Σ̂ = (1/n)(Y − XB̂)ᵀ(Y − XB̂): one walk
    for B̂ as in `LinearRegression`, one for the products of the residuals.

    Assumes: means that are linear in the columns, and independent rows of Gaussian errors with one covariance
    Σ.

    Certificates: those of `LinearRegression`, and the noise covariance against the residuals.

    Parameters
    ----------
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.

    Attributes
    ----------
    coef_ : array of shape (n_targets, n_features) or (n_features,)
        B̂ᵀ, scikit-learn's orientation.
    intercept_ : float or array of shape (n_targets,)
    noise_covariance_ : array of shape (n_targets, n_targets)
        Σ̂ of maximum likelihood.
    unbiased_noise_covariance_ : array of shape (n_targets, n_targets)
        Σ̂ n/(n − p), p counting the intercept; None if n ≤ p: no degrees of freedom are left.
    joint_log_likelihood_ : float
        At the maximum, of all responses together; infinite if Σ̂ is singular.
    empirical_risk_, noise_variance_, log_likelihood_, rank_, condition_number_, total_weight_
        Of each response by itself, as in `LinearRegression`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        1, True, and the relative normal-equation residual.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import MultivariateRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 3))
    >>> noise = rng.standard_normal((200, 2)) @ [[1.0, 0.8], [0.0, 0.6]]
    >>> model = MultivariateRegression().fit(X, X @ [[1.0, 0.0], [2.0, -1.0], [0.0, 0.0]] + noise)
    >>> test = model.multivariate_test(["x2"])
    >>> test.wilks > 0.98, test.pvalue > 0.05, model.certificates_.holds
    (True, True, True)

    References
    ----------
    Wei §1.4.3.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {"fit_intercept": parameters.boolean}
    solver = "auto"
    tol = 1e-10
    max_iter = 10_000
    history = False

    def __init__(self, *, fit_intercept: bool = True) -> None:
        self.fit_intercept = fit_intercept

    def _fit_rows(self, X: Any, y: Any, data: Rows) -> None:
        evidence = self._fit_columns(X, y, data)
        n, t = self.total_weight_, data.n_targets
        products, _ = data.reduce(residual_products, *self._columns())
        self.noise_covariance_, free = products / n, self._residual_freedom()
        self.unbiased_noise_covariance_ = None if free is None else products / free
        self.joint_log_likelihood_ = self._joint_log_likelihood(n, t)
        # At the fit the diagonal is held against the sums of squares of the moments, found another way.
        risk = np.atleast_1d(self.empirical_risk_)
        same = self._noise_certificate(np.diag(risk), evidence)
        self.certificates_ = Certificates([*self.certificates_, same])

    def _joint_log_likelihood(self, n: float, t: int) -> float:
        """At the maximum, infinite where Σ̂ is singular."""
        if self._noise_root() is None:
            return float(np.inf)
        logarithm = np.linalg.slogdet(self.noise_covariance_)[1]
        return float(-n / 2 * (t * np.log(2 * np.pi) + logarithm + t))

    def _noise_root(self) -> Array | None:
        """Σ̂^−½, None if it is singular."""
        return covariance_root(self.noise_covariance_, -0.5, np.atleast_1d(self.target_variance_))

    def _noise_certificate(self, measured: Array, evidence: FitEvidence) -> Certificate:
        dtype = self.coef_.dtype
        stored, scale = self.noise_covariance_, target_scale(evidence, dtype) / np.sqrt(evidence.weight)
        where = measured != 0
        scales = np.outer(scale, scale)
        gap = np.divide(np.abs(stored - measured), scales, out=np.zeros_like(stored), where=scales > 0)
        return at_most(
            "The noise covariance is the mean of the products of the residuals.",
            "relative difference of the noise covariance",
            gap[where].max(initial=0.0),
            1e-4 if dtype == FLOAT32 else 1e-8,
            source="Wei §1.4.3",
        )

    def _certify_rows(self, data: Rows) -> Certificates:
        certificates = super()._certify_rows(data)
        evidence = self._evidence(data)
        products, _ = data.reduce(residual_products, *self._columns())
        n, free, stored = evidence.weight, self._residual_freedom(), self.noise_covariance_
        joint = self._joint_log_likelihood(n, data.n_targets)
        unbiased = None if free is None else stored * n / free
        pairs = {
            "unbiased_noise_covariance_": (self.unbiased_noise_covariance_, unbiased),
            "joint_log_likelihood_": (self.joint_log_likelihood_, joint),
        }
        claim = "The unbiased covariance and the likelihood are those of the noise covariance."
        same = self._noise_certificate(products / n, evidence)
        return Certificates([*certificates, same, agreement(claim, pairs, "Wei §1.4.3")])

    def multivariate_test(self, L: Any) -> MultivariateTest:
        """Likelihood-ratio test that Lβ = 0 for all responses at once, for example that predictors matter.

        With E = nΣ̂ and H the products that the hypothesis adds to E, Wilks' Λ = |E|/|E + H| is the ratio of
        the likelihoods to the power 2/n. Needs no data: the fit stored all of it.

        Parameters
        ----------
        L : array-like of shape (g, p) or (p,), name, or list of names
            As in `Inference.wald_test`: names stand for the rows that pick these parameters.

        Returns
        -------
        test : MultivariateTest
        """
        inference = self.inference()
        owner = "MultivariateRegression.multivariate_test"
        matrix = hypothesis(owner, L, inference.names)
        gap = matrix @ inference.params.reshape(len(inference.names), -1)
        explained = gap.T @ np.linalg.solve(matrix @ inference.normalized_cov_params @ matrix.T, gap)
        inverse = self._noise_root()
        if inverse is None:
            raise ValueError(
                f"{owner} needs a noise covariance that is not singular; drop responses that are "
                "combinations of the others, or add rows."
            )
        values = np.maximum(np.linalg.eigvalsh(inverse @ explained @ inverse), 0.0)[::-1]
        values = values / self.total_weight_
        return MultivariateTest.of(values, len(inverse), matrix.shape[0], inference.df_resid, inference.nobs)


@dataclass(frozen=True, eq=False)
class MultivariateTest:
    """Test of Lβ = 0 in a multivariate regression.

    Attributes
    ----------
    wilks : float
        Λ = |E|/|E + H| = Π 1/(1 + λ_i), λ_i the eigenvalues of E⁻¹H.
    pillai, hotelling_lawley, roy : float
        Σ λ_i/(1 + λ_i), Σ λ_i and the largest λ_i.
    likelihood_ratio : float
        −n log Λ, twice the difference of the log-likelihoods.
    fvalue, df_num, df_denom : float
        Rao's approximation of the law of Λ by Fisher's, exact for one response or one row of L (or two).
    pvalue : float
        Of `fvalue`.
    eigenvalues : array
        λ_i, largest first.
    """

    wilks: float
    pillai: float
    hotelling_lawley: float
    roy: float
    likelihood_ratio: float
    fvalue: float
    df_num: float
    df_denom: float
    pvalue: float
    eigenvalues: NDArray[np.float64]

    @classmethod
    def of(cls, values: Array, t: int, g: int, df_resid: float, n: float) -> MultivariateTest:
        """From the eigenvalues of E⁻¹H, responses t, rows g of L, residual degrees of freedom and rows n."""
        wilks = float(np.exp(-np.sum(np.log1p(values))))
        squares = t**2 + g**2 - 5
        root = np.sqrt((t**2 * g**2 - 4) / squares) if squares > 0 else 1.0
        df_num = float(t * g)
        df_denom = float((df_resid - (t - g + 1) / 2) * root - (t * g - 2) / 2)
        power = wilks ** (1 / root)
        fvalue = (1 - power) / power * df_denom / df_num if power > 0 else np.inf
        sums = float(np.sum(values / (1 + values))), float(values.sum()), float(values.max())
        ratio = float(n * np.sum(np.log1p(values)))
        pvalue = float(special.fdtrc(df_num, df_denom, fvalue)) if df_denom > 0 else np.nan
        return cls(wilks, *sums, ratio, fvalue, df_num, df_denom, pvalue, values)


def residual_products(block: Block, coef: Array, intercept: Array) -> tuple[Array, Array]:
    """Σ s r rᵀ and Σ s r of the residuals of one block."""
    assert block.y is not None
    target = block.y.reshape(block.X.shape[0], -1).astype(np.float64)
    residual = target - np.asarray(block.X @ coef) - intercept
    weighted = residual * block.weights[:, None]
    return residual.T @ weighted, weighted.sum(axis=0)


def covariance_root(matrix: Array, power: float, total: Array) -> Array | None:
    """The power of a covariance matrix; None if it is singular up to rounding, whatever the units.

    `total` are the variances from which it was left over: what is below their rounding is nothing.
    """
    variances = np.diagonal(matrix)
    if np.any(variances <= NOTHING * total) or not np.all(variances > 0):
        return None
    scale = np.sqrt(variances)
    if np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] < 1e-12:
        return None
    values, vectors = np.linalg.eigh(matrix)
    if values[0] <= 0:
        return None
    return (vectors * values**power) @ vectors.T
