"""Huber regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.margin.base import OneTarget, require_rows_of_the_fit, warn_unfinished
from assay.losses import Absolute, Huber
from assay.models.path import HasPenaltyPath
from assay.parameters import Domain
from assay.rows import Block, Rows
from assay.solvers.in_memory import in_memory, steadily
from assay.solvers.piecewise.frame import frame_of, row_targets
from assay.solvers.piecewise.gap import MachineGap, huber_gap, huber_step, largest_ratio
from assay.solvers.piecewise.huber import HuberFit, huber_regression
from assay.solvers.piecewise.machine import Report, gap_claim
from assay.suitability import Suitability

SOURCE = "Huber & Ronchetti (2009) §7.7–7.8; Owen (2007)"


class HuberRegressor(HasPenaltyPath, OneTarget):
    """Linear regression that outliers cannot pull far: squares near, absolute values beyond.

    Minimises over (w, b) and the scale σ > 0

        Σ_i s_i (σ + σ H((y_i − x_iᵀw − b)/σ)) + α ‖w‖²,    H(z) = z² if |z| ≤ ε, 2ε|z| − ε² beyond,

    b not penalised; with `scale` given, over (w, b) alone. Newton steps on walks over the rows: residuals
    beyond εσ enter the gradient and not the Hessian, and the last step ends on the minimiser. Where they
    stall, as they do towards σ = 0 (most rows fitted exactly), an interior point takes their place.

    Assumes: a mean of y that is linear in the columns for most rows, with errors that are symmetric around
    it; the other rows may have any target, but not any features.

    Certificates: relative duality gap from a feasible dual point, gradient of the objective in w, b and σ,
    marks of the outliers.

    Parameters
    ----------
    epsilon : float, default=1.35
        ε > 1, the size of residuals, in units of σ, from which they are outliers; at 1 σ would vanish.
    alpha : float, default=0.0001
        Penalty on the scale of the sum, as in scikit-learn.
    scale : float, optional
        A given σ; without, it is fitted with the coefficients.
    fit_intercept : bool, default=True
        Whether b is fitted; otherwise it is 0.
    tol : float, default=1e-10
        What the quadratic model still promises to gain, relative to the objective, at which to stop.
    max_iter : int, default=100
        Most steps: half of them of Newton, the others, if needed, of the interior point.
    history : bool, default=False
        Whether to keep the objective of every step in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    scale_ : float
        σ; 0 where the objective is least in the limit σ → 0. The coefficients then minimise that limit,
        2ε Σ s|r| + α‖w‖²: least absolute deviations with a ridge penalty.
    outliers_ : array of shape (n_samples,)
        Which rows have a residual beyond εσ; with σ = 0, one that is not zero.
    dual_coef_ : array of shape (n_samples,) or None
        ν with 2αw = Σ ν x, where the residuals do not tell it (σ near 0); else it is 2s r/σ, cut at ±2εs.
    dual_gap_ : float
        Relative duality gap, never negative.
    history_ : list of float
        With `history=True`.
    certificates_ : Certificates
    n_iter_, converged_, optimality_
        Steps, whether they ended by `tol`, and the relative gradient.

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.linear import HuberRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> y[:5] += 10_000
    >>> model = HuberRegressor().fit(X, y)
    >>> bool(model.outliers_[:5].all()), model.certificates_.holds
    (True, True)

    References
    ----------
    Huber & Ronchetti (2009) §7.7–7.8; Owen (2007); Sangnier §1.4.1.
    """

    _suits: ClassVar[Suitability | None] = Suitability(complexity=2, max_features=1000)
    _domains: ClassVar[Mapping[str, Domain]] = {
        "epsilon": parameters.real(above=1),
        "alpha": parameters.real(at_least=0, squared=True),
        "scale": parameters.nothing | parameters.real(above=0, squared=True),
        "fit_intercept": parameters.boolean,
        "tol": parameters.real(above=0),
        "max_iter": parameters.integer(at_least=1),
        "history": parameters.boolean,
    }

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        """Absolute errors, which outliers do not rule."""
        return Absolute().value(y[:, None], predictions)

    def __init__(
        self,
        epsilon: float = 1.35,
        *,
        alpha: float = 0.0001,
        scale: float | None = None,
        fit_intercept: bool = True,
        tol: float = 1e-10,
        max_iter: int = 100,
        history: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.alpha = alpha
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.max_iter = max_iter
        self.history = history

    def _loss(self) -> Huber:
        return Huber(float(self.epsilon))

    def _fit_rows(self, X: Any, y: Any, data: Rows, weights: NDArray | None) -> None:
        frame = frame_of(data, intercept=self.fit_intercept, shift=self.fit_intercept)
        penalty = np.zeros(data.shape[1] + self.fit_intercept)
        penalty[: data.shape[1]] = self.alpha / frame.scale**2
        settings: dict[str, Any] = {"scale": self.scale, "tol": self.tol, "max_iter": self.max_iter}

        def judge(here: Rows, point: Array, scale: float, dual: Array | None) -> tuple[MachineGap, float]:
            return self._judged(here, *frame.outside(point), scale, dual)

        def fit(report: Report) -> HuberFit:
            settings["report"] = lambda point, scale: report(*frame.outside(point), scale_=scale)
            settings.update(loss=self._loss(), judge=judge)
            return steadily(data, lambda: huber_regression(data, frame, penalty, **settings))

        (result,) = self._run(X, y, "newton", [fit])
        coef, intercept = frame.outside(result.point)
        self.__dict__.update(self._shaped([coef], [intercept], data.dtype))
        self.scale_ = result.scale
        self.dual_coef_ = None if result.dual is None else result.dual.astype(data.dtype)
        self.outliers_ = self._excess(data) > self._threshold()
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        if self.history:
            self.history_ = result.values
        self.certificates_ = self._measure(data)
        self.dual_gap_, self.optimality_ = (item.value for item in self.certificates_[:2])
        self.converged_ = self.converged_ or self.certificates_.holds
        if not self.converged_:
            warn_unfinished(self, "Newton steps")

    def _judged(
        self, data: Rows, coef: Array, intercept: float, sigma: float, dual: Array | None
    ) -> tuple[MachineGap, float]:
        """Duality gap and relative gradient at a point, by one walk."""
        rowwise, alpha = () if dual is None else (dual,), float(self.alpha)
        evidence = data.reduce(huber_step, self._loss(), coef, intercept, sigma, rowwise=rowwise)
        rules: dict[str, bool] = {"fit_intercept": self.fit_intercept, "fixed": self.scale is not None}
        left = 2 * alpha * coef - evidence.pulls.sum(axis=0)
        gradient = largest_ratio(left, 2 * alpha * np.abs(coef) + evidence.sizes)
        if self.fit_intercept:
            gradient = max(gradient, evidence.imbalance)
        if self.scale is None:
            beyond = float(evidence.squares.sum() / evidence.weight) - 1
            gradient = max(gradient, beyond if sigma == 0 else abs(beyond))
        return huber_gap(evidence, coef, sigma, alpha=alpha, **rules), gradient

    def _measure(self, data: Rows) -> Certificates:
        """Certificates from the attributes and the rows, by two walks."""
        coef, alpha, sigma = self.coef_.astype(np.float64), float(self.alpha), float(self.scale_)
        if self.dual_coef_ is not None:
            require_rows_of_the_fit(data, self.dual_coef_)
            data = data if data.local else in_memory(data, type(self).__name__, "certify fewer of them")
        gap, gradient = self._judged(data, coef, float(self.intercept_), sigma, self.dual_coef_)
        single = self.coef_.dtype == np.float32
        assumptions = () if alpha > 0 else ("Xᵀν = 0, as the gradient measures",)
        bound = 1e-3 if single else max(float(np.sqrt(self.tol)), 1e-7)
        claim = "The gradient of the objective vanishes."
        excess, least = self._excess(data), self._threshold()
        wrong = (self.outliers_ != (excess > least)) & (np.abs(excess - least) > 1)
        marked = "The rows marked as outliers are those with a residual beyond εσ."
        return Certificates(
            [
                gap_claim(gap.relative, 0.0 if single else self.tol, single, SOURCE, assumptions),
                at_most(claim, "relative gradient", gradient, bound, source=SOURCE),
                at_most(marked, "rows with a wrong mark", np.count_nonzero(wrong), 0, source=SOURCE),
            ]
        )

    def _excess(self, data: Rows) -> NDArray:
        """How far each residual is beyond εσ, in units of its rounding."""
        coef, limit = self.coef_.astype(np.float64), float(self.epsilon) * float(self.scale_)
        excess = data.map(row_excess, coef, float(self.intercept_), limit, dtype=np.float64)
        return np.asarray(excess)

    def _threshold(self) -> float:
        """Excess from which a row is an outlier: with σ = 0, a residual above its rounding."""
        return 0.0 if self.scale_ > 0 else 1.0


def row_excess(block: Block, coef: Array, intercept: float, limit: float) -> NDArray:
    """|r| less the limit for the rows of one block, in units of their rounding."""
    digits = 1e-9 if block.X.dtype == np.float64 else 1e-4
    target, score = row_targets(block), np.asarray(block.X @ coef, dtype=np.float64)
    unit = digits * (np.abs(target) + np.abs(score) + abs(intercept))
    return (np.abs(target - score - intercept) - limit) / np.where(unit > 0, unit, 1.0)
