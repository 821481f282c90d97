"""Huber regression."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.linear.least_squares.engine import Array
from assay.linear.margin.base import OneTarget, Report, gap_claim
from assay.losses import Absolute, Huber
from assay.models.convergence import warn
from assay.models.path import HasPenaltyPath
from assay.parameters import Domain
from assay.rows import Block, Rows
from assay.solvers.in_memory import steadily
from assay.solvers.piecewise.frame import frame_of, row_targets
from assay.solvers.piecewise.gap import huber_gap, huber_step, largest_ratio
from assay.solvers.piecewise.newton import HuberFit, huber_newton
from assay.suitability import Suitability

SOURCE = "Huber & Ronchetti (2009) §7.7–7.8; Owen (2007)"


class HuberRegressor(HasPenaltyPath, OneTarget):
    """Linear regression that outliers cannot pull far: squares near, absolute values beyond.

    Minimises over (w, b) and the scale σ > 0

        Σ_i s_i (σ + σ H((y_i − x_iᵀw − b)/σ)) + α ‖w‖²,    H(z) = z² if |z| ≤ ε, 2ε|z| − ε² beyond,

    b not penalised; with `scale` given, over (w, b) alone. Newton steps on walks over the rows: residuals
    beyond εσ enter the gradient and not the Hessian, and the last step ends on the minimiser.

    Assumes: a mean of y that is linear in the columns for most rows, with errors that are symmetric around
    it; the other rows may have any target, but not any features.

    Certificates: relative duality gap from a feasible dual point, gradient of the objective in w, b and σ.

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
        Most Newton steps.
    history : bool, default=False
        Whether to keep the objective of every step in `history_`.

    Attributes
    ----------
    coef_ : array of shape (n_features,)
    intercept_ : float
    scale_ : float
        σ.
    outliers_ : array of shape (n_samples,)
        Which rows have a residual beyond εσ.
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
        "alpha": parameters.real(at_least=0),
        "scale": parameters.nothing | parameters.real(above=0),
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

        def fit(report: Report) -> HuberFit:
            settings["report"] = lambda point, scale: report(*frame.outside(point), scale_=scale)
            return steadily(data, lambda: huber_newton(data, frame, penalty, loss=self._loss(), **settings))

        (result,) = self._run(X, y, "newton", [fit])
        coef, intercept = frame.outside(result.point)
        self.__dict__.update(self._shaped([coef], [intercept], data.dtype))
        self.scale_ = result.scale
        far = data.map(is_outlier, coef, intercept, float(self.epsilon) * result.scale, dtype=np.bool_)
        self.outliers_ = np.asarray(far)
        self.n_iter_, self.converged_ = result.n_iter, result.converged
        if self.history:
            self.history_ = result.values
        self.certificates_ = self._measure(data)
        self.dual_gap_, self.optimality_ = (item.value for item in self.certificates_)
        if not self.converged_:
            warn(
                f"HuberRegressor stopped after {self.n_iter_} Newton steps with a relative duality gap of "
                f"{self.dual_gap_:.2g}. Increase max_iter, or divide the columns by their scale."
            )

    def _measure(self, data: Rows) -> Certificates:
        """Certificates from the attributes and the rows, by one walk."""
        coef, alpha, fixed = self.coef_.astype(np.float64), float(self.alpha), self.scale is not None
        sigma = float(self.scale_)
        evidence = data.reduce(huber_step, self._loss(), coef, float(self.intercept_), sigma)
        gap = huber_gap(evidence, coef, sigma, alpha=alpha, fit_intercept=self.fit_intercept, fixed=fixed)
        left = 2 * alpha * coef - evidence.pulls.sum(axis=0)
        gradient = largest_ratio(left, 2 * alpha * np.abs(coef) + evidence.sizes)
        if self.fit_intercept:
            gradient = max(gradient, evidence.imbalance)
        perfect = evidence.mass.sum() == 0
        if not fixed and not perfect:
            gradient = max(gradient, abs(evidence.squares.sum() - evidence.weight) / evidence.weight)
        single = self.coef_.dtype == np.float32
        assumptions = () if alpha > 0 else ("Xᵀν = 0, as the gradient measures",)
        bound = 1e-3 if single else max(float(np.sqrt(self.tol)), 1e-7)
        claim = "The gradient of the objective vanishes."
        near = gap_claim(gap.relative, 0.0 if single else self.tol, single, SOURCE, assumptions)
        return Certificates([near, at_most(claim, "relative gradient", gradient, bound, source=SOURCE)])


def is_outlier(block: Block, coef: Array, intercept: float, limit: float) -> NDArray:
    """Whether each residual of one block is beyond the limit."""
    residual = row_targets(block) - np.asarray(block.X @ coef, dtype=np.float64) - intercept
    return np.abs(residual) > limit
