"""Quantile regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificate, Certificates, at_most
from assay.linear.margin.base import (
    LEVEL,
    OneTarget,
    require_rows_of_the_fit,
    warn_unfinished,
)
from assay.losses import Quantile, SidedLoss
from assay.models.path import HasPenaltyPath
from assay.parameters import Domain
from assay.rows import Rows
from assay.solvers.in_memory import in_memory, steadily
from assay.solvers.piecewise.frame import MachineLoss, frame_of
from assay.solvers.piecewise.gap import SidedEvidence, gather_sided, largest_ratio
from assay.solvers.piecewise.interior import Interior, interior_point
from assay.solvers.piecewise.machine import Report, box_claim, gap_claim

SOURCE = "Sangnier §1.4.1 (pinball loss); Koenker & Bassett (1978); Portnoy & Koenker (1997)"


class QuantileRegressor(HasPenaltyPath, OneTarget):
    """Linear regression of a quantile: pinball loss, with an l1 penalty if wanted.

    Minimises over (w, b)

        (1/n) Σ_i s_i [q (r_i)₊ + (1 − q) (−r_i)₊] + α ‖w‖₁,        r = y − xᵀw − b, n = Σ s,

    by an interior point (Frisch–Newton) with one matrix of size n_features per iteration. It ends at a
    vertex, by solving for the rows with residual zero and the coefficients that are zero: the ones are so up
    to the rounding of a prediction, the others exactly. Where several points are minima, a vertex of them is
    taken (up to 200 columns). A few numbers are kept for each row.

    Assumes: a quantile of y that is linear in the columns, and independent rows; errors may have any law, of
    unequal spread.

    Certificates: relative duality gap, dual point inside its box [(q − 1)s, qs] and Xᵀ-feasible, share of
    residuals below zero (at most q, at least q with those at zero).

    Parameters
    ----------
    quantile : float, default=0.5
        The level q; 0.5 is least absolute deviations.
    alpha : float, default=0.0
        Penalty on the scale of the mean, as in scikit-learn.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    tol : float, default=1e-8
        Relative duality gap at which to stop.
    max_iter : int, default=200
        Most interior-point iterations.
    history : bool, default=False
        Whether to keep the relative gap of every iteration in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    dual_coef_ : array of shape (n_samples,)
        ν, the slope of the loss of each row: qs above, (q − 1)s below, between them for residuals of zero.
    dual_gap_ : float
        Relative duality gap, never negative.
    history_ : list of float
        With `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Iterations, whether they ended by `tol`, and the Xᵀ-infeasibility of the dual point.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import QuantileRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> model = QuantileRegressor(0.9).fit(X, y)
    >>> model.certificates_.holds
    True
    >>> round(float((y < model.predict(X) - 1e-6).mean()), 2)
    0.89

    References
    ----------
    Sangnier §1.4.1; Koenker & Bassett (1978); Portnoy & Koenker (1997).
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "quantile": LEVEL,
        "alpha": parameters.real(at_least=0, squared=True),
        "fit_intercept": parameters.boolean,
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        """The pinball loss of the quantile."""
        return self._machine().loss.value(y[:, None], predictions)

    def __init__(
        self,
        quantile: float = 0.5,
        *,
        alpha: float = 0.0,
        fit_intercept: bool = True,
        tol: float = 1e-8,
        max_iter: int = 200,
        history: bool = False,
    ) -> None:
        self.quantile = quantile
        self.alpha = alpha
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _machine(self) -> MachineLoss[SidedLoss]:
        return MachineLoss(Quantile(float(self.quantile)))

    def _fit_rows(self, X: Any, y: Any, data: Rows, weights: NDArray | None) -> None:
        data = self._local(data)
        frame = frame_of(data, intercept=self.fit_intercept, shift=self.fit_intercept)
        free, l1 = np.zeros((2, data.shape[1] + self.fit_intercept))
        l1[: data.shape[1]] = self.alpha * data.total_weight / frame.scale
        settings: dict[str, Any] = {"tol": self.tol, "max_iter": self.max_iter}

        def fit(report: Report) -> Interior:
            settings["report"] = lambda point: report(*frame.outside(point))
            return steadily(data, lambda: interior_point(data, self._machine(), frame, free, l1, **settings))

        (result,) = self._run(X, y, "interior_point", [fit])
        coef, intercept = frame.outside(result.point)
        self.__dict__.update(self._shaped([coef], [intercept], data.dtype))
        evidence, _ = gather_sided(data, self._machine(), coef, intercept, result.dual)
        # Where every residual is rounding, any small ν would do, and zero is feasible.
        objective = evidence.loss + float(self.alpha) * evidence.weight * float(np.abs(coef).sum())
        self.dual_coef_ = ((objective > 1e-8 * evidence.floor) * result.dual).astype(data.dtype)
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        if self.history:
            self.history_ = result.gaps
        self.certificates_ = self._measure(data)
        self.dual_gap_, self.optimality_ = (item.value for item in self.certificates_[:2])
        self.converged_ = self.converged_ or self.certificates_.holds
        if not self.converged_:
            warn_unfinished(self, "iterations")

    def _local(self, data: Rows) -> Rows:
        """Rows in this process: a few numbers are kept for each."""
        if data.local:
            return data
        return in_memory(data, type(self).__name__, "write them to Parquet files and fit on their path")

    def _measure(self, data: Rows) -> Certificates:
        """Certificates from the attributes and the rows, by one walk."""
        require_rows_of_the_fit(data, self.dual_coef_)
        coef, intercept = self.coef_.astype(np.float64), float(self.intercept_)
        evidence, outside = gather_sided(self._local(data), self._machine(), coef, intercept, self.dual_coef_)
        strength = float(self.alpha) * evidence.weight
        pull, balance = evidence.pulls.sum(axis=0), evidence.mass @ [1.0, -1.0]
        objective = evidence.loss + strength * float(np.abs(coef).sum())
        gap = objective - evidence.slack.sum() - coef @ pull - intercept * balance * (not self.fit_intercept)
        violation = largest_ratio(np.maximum(np.abs(pull) - strength, 0), evidence.sizes + strength)
        if self.fit_intercept:
            violation = max(violation, evidence.imbalance)
        scale = max(objective, evidence.floor)
        relative = max(gap, 0.0) / scale if scale > 0 else 0.0
        return Certificates(self._claims(evidence, relative, violation, outside))

    def _claims(
        self, evidence: SidedEvidence, gap: float, violation: float, outside: float
    ) -> list[Certificate]:
        single = self.coef_.dtype == np.float32
        feasible = ("the dual point is feasible, as the next two certificates measure",)
        claim = "No column, nor the constant, pulls on the dual point more than its penalty holds."
        bound = 1e-4 if single else 1e-8
        held = at_most(claim, "Xᵀ-infeasibility", violation, bound, source=SOURCE)
        near = gap_claim(gap, self.tol, single, SOURCE, feasible)
        claims = [near, held, box_claim(outside, single, SOURCE)]
        if self.fit_intercept:
            level = float(self.quantile) * evidence.weight
            _, at, below = evidence.signs
            excess = max(below - level, level - below - at, 0.0) / evidence.weight
            claim = "At most a share q of residuals is below zero, at least q with those at zero."
            claims.append(at_most(claim, "excess share of residuals", excess, 1e-9, source=SOURCE))
        return claims
