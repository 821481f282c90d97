"""What a maximum-likelihood fit says about the true coefficients: standard errors, tests, regions."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, special

from assay import parameters
from assay.models.inference import ParameterInference, hypothesis, quadratic_form
from assay.rows import Block
from assay.solvers import LinearScore, RowRisk, block_terms, row_weights, shifted_columns

Array = NDArray[np.float64]
COVARIANCES = ("classical", "HC0", "HC1")


@dataclass(frozen=True)
class LikelihoodTest:
    """A Wald or likelihood-ratio test.

    Attributes
    ----------
    statistic, pvalue : float
        Statistic and its p-value, under χ²(df), or under F(df, df_denom) of statistic/df where the dispersion
        is estimated.
    df : int
    df_denom : float
        inf where the dispersion is known.
    """

    statistic: float
    pvalue: float
    df: int
    df_denom: float = np.inf


@dataclass(frozen=True, eq=False, repr=False)
class LikelihoodInference(ParameterInference):
    """Inference from a maximum-likelihood fit; made by `LogisticRegression` and `GeneralizedLinear`.

    In the limit of many rows β̂ − β is Gaussian with the inverse information as covariance. Names are those of
    statsmodels; the first parameter is the intercept, if there is one.

    Attributes
    ----------
    params : array of shape (p,)
    names : tuple of str
    covariance : array of shape (p, p)
        Estimated covariance of the parameters.
    covariance_type : {"classical", "HC0", "HC1"}
    nobs : float
        n = Σ s.
    dispersion : float
        φ, 1 where the family knows it.
    estimated_dispersion : bool
        Whether tests use Student's and Fisher's laws in place of the Gaussian and χ² ones.
    llf, llnull : float
        Log-likelihood of the fit and of a constant.
    has_intercept : bool

    Examples
    --------
    >>> from assay.datasets import breast_cancer
    >>> from assay.linear import LogisticRegression
    >>> X, y = breast_cancer(return_X_y=True)
    >>> inference = LogisticRegression(C=float("inf")).fit(X[:, :2], y).inference()
    >>> inference.conf_int().round(2)[1]
    array([-1.26, -0.86])

    References
    ----------
    Douc & Le Corff §8.6; Wei §7.3.3.
    """

    params: Array
    names: tuple[str, ...]
    covariance: Array
    covariance_type: str
    nobs: float
    dispersion: float
    estimated_dispersion: bool
    llf: float
    llnull: float
    has_intercept: bool

    statistic: ClassVar[str] = "zvalues"

    @property
    def has_student_law(self) -> bool:
        """Whether the dispersion is estimated."""
        return self.estimated_dispersion

    @property
    def zvalues(self) -> Array:
        """β̂_j/bse_j, also under the name `tvalues`."""
        return self.tvalues

    def wald_test(self, L: Any, r: Any = 0.0) -> LikelihoodTest:
        """Wald's test of Lβ = r: (Lβ̂ − r)ᵀ(L V Lᵀ)⁻¹(Lβ̂ − r) under χ²(q), or over q under F(q, n − p).

        Parameters
        ----------
        L : array-like of shape (q, p) or (p,), name, or list of names
        r : float or array-like of shape (q,), default=0.0
        """
        matrix = hypothesis("LikelihoodInference.wald_test", L, self.names)
        gap = matrix @ self.params - np.broadcast_to(np.asarray(r, dtype=np.float64), matrix.shape[:1])
        statistic = float(quadratic_form(matrix @ self.covariance @ matrix.T, gap[:, None])[0])
        return self._test(statistic, matrix.shape[0])

    def likelihood_ratio_test(self, smaller: LikelihoodInference) -> LikelihoodTest:
        """Test of a model nested in this one: twice the difference of log-likelihoods.

        Parameters
        ----------
        smaller : LikelihoodInference
            Of the model with some parameters fixed at 0, fitted to the same rows.
        """
        df = len(self.names) - len(smaller.names)
        if df <= 0:
            raise ValueError(
                f"The 'smaller' model must have fewer parameters than {len(self.names)}. "
                f"Got {len(smaller.names)} instead."
            )
        return self._test(max(2 * (self.llf - smaller.llf), 0.0), df)

    @cached_property
    def overall_test(self) -> LikelihoodTest:
        """Likelihood-ratio test that all slopes vanish."""
        return self._test(max(2 * (self.llf - self.llnull), 0.0), len(self.names) - self._n_intercepts)

    @property
    def _n_intercepts(self) -> int:
        return (
            sum(name.rpartition(": ")[2] == "intercept" for name in self.names) if self.has_intercept else 0
        )

    def _test(self, statistic: float, df: int) -> LikelihoodTest:
        if self.estimated_dispersion:
            return LikelihoodTest(
                statistic, float(special.fdtrc(df, self.df_resid, statistic / df)), df, self.df_resid
            )
        return LikelihoodTest(statistic, float(special.chdtrc(df, statistic)), df)

    @property
    def pseudo_rsquared(self) -> float:
        """McFadden's 1 − llf/llnull."""
        return 1 - self.llf / self.llnull

    def _facts(self) -> list[tuple[str, str]]:
        test = self.overall_test
        ratio = f"likelihood ratio {test.statistic:.5g} on {test.df} (p = {test.pvalue:.3g})"
        return [
            ("rows", f"{self.nobs:g}"),
            ("parameters", f"{len(self.names)}"),
            ("covariance", self.covariance_type),
            ("dispersion", f"{self.dispersion:.5g}"),
            ("log-likelihood", f"{self.llf:.8g} (constant only {self.llnull:.8g})"),
            ("AIC, BIC", f"{self.aic:.6g}, {self.bic:.6g}"),
            ("all slopes zero", ratio),
        ]


def likelihood_inference(model: Any, risk: RowRisk | None, covariance: str) -> LikelihoodInference:
    """Inference from the attributes of a fit, and the rows themselves where they are given."""
    owner = f"{type(model).__name__}.inference"
    parameters.require(owner, parameters.one_of(*COVARIANCES), covariance=covariance)
    if covariance != "classical" and risk is None:
        raise ValueError(
            f"The covariance {covariance!r} is made of the scores of the rows: give the data of the fit, "
            f"inference(X, y, covariance={covariance!r})."
        )
    (coef, intercept), names = model._fitted_scores(), model._parameter_names()
    center, information = model.center_, model.information_
    weight, fit_intercept = model.total_weight_, model.fit_intercept
    if risk is not None:  # the information of the rows themselves, about their own centre
        center = risk.center
        point = risk.join_point(coef, intercept)
        information = risk.measure(point, hessian=True).hessian
    else:
        point = np.vstack([coef, intercept + center @ coef]) if fit_intercept else coef
    if information is None:
        raise ValueError(
            "The solver of this fit formed no Hessian: give the data of the fit, inference(X, y)."
        )
    root, dispersion = information_root(information), getattr(model, "dispersion_", 1.0)
    unit = root.T @ root
    inner = unit * dispersion / weight
    if covariance != "classical":
        assert risk is not None
        inner = unit @ risk.data.reduce(score_step, risk.at(point)) @ unit / weight**2
        if covariance == "HC1":
            inner = inner * weight / (weight - len(names))
    k, turn = point.shape[1], _turn(center, fit_intercept)
    params, turns = (turn @ point).T.ravel(), np.kron(np.eye(k), turn)
    likelihoods = model.log_likelihood_, model.null_log_likelihood_
    scale = dispersion, getattr(model, "_has_free_dispersion", False)
    spread = turns @ inner @ turns.T
    return LikelihoodInference(
        params, names, spread, covariance, weight, *scale, *likelihoods, has_intercept=fit_intercept
    )


def _turn(center: Array, fit_intercept: bool) -> Array:
    """From (w, b + center·w) to (b, w)."""
    d = len(center)
    if not fit_intercept:
        return np.eye(d)
    turn = np.zeros((d + 1, d + 1))
    turn[0, :d], turn[0, d] = -center, 1.0
    turn[1:, :d] = np.eye(d)
    return turn


def information_root(information: Array) -> Array:
    """R with RᵀR the inverse of the information."""
    scale = np.sqrt(np.maximum(np.diagonal(information), np.finfo(float).tiny))
    try:
        factor = linalg.cholesky(information / scale[:, None] / scale, lower=True)
    except linalg.LinAlgError:
        factor = None
    if factor is None or np.diagonal(factor).min() ** 2 < len(scale) * 1e-14:
        raise ValueError("Inference needs linearly independent columns; drop some or use a penalised model.")
    return linalg.solve_triangular(factor, np.eye(len(scale)), lower=True) / scale


def score_step(block: Block, model: LinearScore) -> Array:
    """Σ s g gᵀ of one block, g the gradient of the loss of one row (a weight of 2 is two rows)."""
    terms, _ = block_terms(block, model)
    weight = row_weights(block, model.class_weight)
    columns = shifted_columns(block, model.center, model.fit_intercept)
    slope = terms.slope.reshape(len(columns), -1).astype(np.float64)
    scores = np.concatenate([columns * slope[:, j : j + 1] for j in range(slope.shape[1])], axis=1)
    weighted = scores if weight is None else scores * weight[:, None]
    return np.asarray(scores.T @ weighted)
