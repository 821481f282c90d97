"""Risks on features of a kernel: any convex loss, from which its minimiser and what proves it.

    min over (w, b)   ½‖w‖² + C Σ s ℓ(y, wᵀφ(x) + b)

is a linear model with a squared norm for its penalty: smooth losses of one score or several are minimised by
Newton or quasi-Newton walks over the rows, those with sides by the solvers of linear machines.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.losses import Loss, SidedLoss
from assay.rows import Rows
from assay.solvers import RowRisk, fit_smooth, row_duality_gap
from assay.solvers.piecewise.frame import MachineLoss
from assay.solvers.piecewise.gap import MachineProblem
from assay.solvers.piecewise.machine import fit_machine, judge, local_rows
from assay.solvers.rkhs.problem import PERFECT, Array

PRECISE = 1e-11
MOST_LOOKS = 6
Report = Callable[..., bool]


class FeatureSolution(NamedTuple):
    """A minimiser: w of each score, intercepts, ν of each row where it does not follow, and how it ended."""

    coef: Array
    intercept: Array
    dual: Array | None
    n_iter: int
    converged: bool


class FeatureStanding(NamedTuple):
    """A point measured on the rows: C Σ s ℓ there and at 0, the gap, what it is relative to, ‖w‖."""

    loss: float
    loss_at_zero: float
    gap: float
    scale: float
    norms: Array
    residual: float
    """How far w is from the combination of rows that the slopes say, relative to a size of it."""
    imbalance: float
    """Sum of the slopes, relative to their sizes; 0 without an intercept."""
    outside: float
    """How far ν is out of its box, relative to its width."""

    @property
    def primal(self) -> float:
        """½‖w‖² + C Σ s ℓ."""
        return self.loss + 0.5 * float(self.norms @ self.norms)

    @property
    def relative_gap(self) -> float:
        """The gap over its scale."""
        return self.gap / self.scale if self.scale > 0 else 0.0


class FeatureRisk(Protocol):
    """A risk at any cost C."""

    weight: float
    """Σ s."""

    def fit(
        self, cost: float, start: FeatureSolution | None, *, tol: float, max_iter: int, report: Report
    ) -> FeatureSolution:
        """The minimiser, to a relative gap of `tol`."""

    def stand(self, cost: float, coef: Array, intercept: Array, dual: NDArray | None) -> FeatureStanding:
        """A point measured."""


class SmoothRisk:
    """The risk of a smooth loss of one score or several."""

    def __init__(
        self,
        data: Rows,
        loss: Loss,
        *,
        fit_intercept: bool,
        class_weight: Array | None = None,
        level: Array | None = None,
    ) -> None:
        alpha, free = np.ones(data.shape[1]), bool(fit_intercept)
        self._risk = RowRisk(data, loss, alpha, fit_intercept=free, class_weight=class_weight)
        self.weight, self._level = float(self._risk.weight), level

    def _at(self, cost: float) -> RowRisk:
        return self._risk.with_alpha(np.full_like(self._risk.alpha, 1 / (cost * self.weight)))

    def fit(
        self, cost: float, start: FeatureSolution | None, *, tol: float, max_iter: int, report: Report
    ) -> FeatureSolution:
        """See `FeatureRisk`: steps go on until the gap, not their own measure, says that it is enough."""
        risk, point = self._at(cost), np.zeros(self._risk.shape)
        if start is not None:
            point = risk.join_point(start.coef.T, start.intercept)
        elif self._level is not None and risk.fit_intercept:
            point[-1] = self._level
        first, n_iter, looks = max(risk.measure(point).value, 1e-300), 0, 0
        length = 0.1 * np.sqrt(2 * tol * first)
        while True:
            most = max(max_iter - n_iter, 1)
            fit = fit_smooth(risk, point, tol=length, max_iter=most, report=report)
            point, n_iter, looks = fit.point, n_iter + fit.n_iter, looks + 1
            coef, intercept = risk.split_point(point)
            found = FeatureSolution(coef.T, intercept, None, max(n_iter, 1), False)
            gap = self.stand(cost, found.coef, found.intercept, None).relative_gap
            enough = gap <= max(tol, 8 * risk.rounding)  # more the precision of the rows cannot tell
            if enough or looks >= MOST_LOOKS or n_iter >= max_iter:
                return found._replace(converged=enough)
            length = max(1e-2 * length, np.finfo(np.float64).tiny)

    def stand(self, cost: float, coef: Array, intercept: Array, dual: NDArray | None) -> FeatureStanding:
        """See `FeatureRisk`."""
        risk = self._at(cost)
        point, total = risk.join_point(coef.T, intercept), cost * self.weight
        here = risk.measure(point, split=True)
        at_zero = risk.measure(np.zeros_like(point)).risk
        gap, d = row_duality_gap(risk, point, here), coef.shape[1]
        value = max(here.value, PERFECT * at_zero)
        slope = float(np.abs(here.gradient[:d]).max(initial=0.0))
        imbalance = 0.0
        if risk.fit_intercept and here.split is not None:
            sizes = np.abs(here.split.total).sum(axis=0).max() / self.weight
            imbalance = float(np.abs(here.gradient[-1]).max() / max(sizes, 1e-300))
        return FeatureStanding(
            total * here.risk,
            total * at_zero,
            total * gap,
            total * value,
            np.linalg.norm(coef, axis=1),
            slope / float(np.sqrt(2 * value / total)),
            imbalance,
            0.0,
        )


class SidedRisk:
    """The risk of a loss with sides, corners or not."""

    def __init__(self, data: Rows, loss: SidedLoss, *, fit_intercept: bool, owner: str) -> None:
        self._problem = MachineProblem(MachineLoss(loss), bool(fit_intercept), 0.0)
        self._data = local_rows(data, "newton", self._problem, owner)
        self.weight = float(data.total_weight)

    def _at(self, cost: float) -> MachineProblem:
        return self._problem._replace(machine=self._problem.machine._replace(factor=cost))

    def fit(
        self, cost: float, start: FeatureSolution | None, *, tol: float, max_iter: int, report: Report
    ) -> FeatureSolution:
        """See `FeatureRisk`; every fit begins anew."""
        how: Any = {"solver": "newton", "tol": min(tol, PRECISE), "max_iter": max_iter}
        ended = fit_machine(self._data, self._at(cost), np.random.default_rng(0), report, **how)
        dual = None if ended.dual is None else ended.dual[None]
        found = FeatureSolution(ended.coef[None], np.array([ended.intercept]), dual, ended.n_iter, False)
        gap = self.stand(cost, *found[:3]).relative_gap
        return found._replace(converged=ended.converged or gap <= tol)

    def stand(self, cost: float, coef: Array, intercept: Array, dual: NDArray | None) -> FeatureStanding:
        """See `FeatureRisk`."""
        (judged,) = judge(self._data, [self._at(cost)], coef, intercept, dual)
        evidence, free = judged.evidence, self._problem.fit_intercept
        return FeatureStanding(
            evidence.loss,
            evidence.loss_at_zero,
            judged.gap.gap,
            judged.gap.scale,
            np.linalg.norm(coef, axis=1),
            judged.residual,
            evidence.imbalance if free and dual is not None else 0.0,
            judged.outside,
        )


def standing_claims(standing: FeatureStanding, tol: float, source: str, *, single: bool) -> list[Certificate]:
    """The duality gap, stationarity and balance, and that the dual point is one."""
    near = max(10 * np.sqrt(tol), 2e-3 if single else 1e-4)
    return [
        at_most(
            "The objective is this close to its minimum over the functions of the features.",
            "relative duality gap",
            standing.relative_gap,
            max(1.01 * tol, 1e-4 if single else 1e-8),
            source,
        ),
        at_most(
            "The coefficients are the combination of rows that the slopes of the loss say.",
            "KKT residual",
            standing.residual,
            near,
            source,
        ),
        at_most(
            "The slopes of the loss sum to zero where the intercept is free.",
            "relative sum of slopes",
            standing.imbalance,
            near,
            source,
        ),
        at_most(
            "The dual point is inside its box.",
            "box violation",
            standing.outside,
            1e-5 if single else 1e-9,
            source,
        ),
    ]
