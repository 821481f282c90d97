"""Any convex risk on features of a kernel, for rows anywhere."""

from __future__ import annotations

from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement
from assay.kernel_machines.approximation.base import ApproximatesKernel, only_features, watched
from assay.kernel_machines.approximation.risks import (
    FeatureRisk,
    FeatureSolution,
    FeatureStanding,
    SidedRisk,
    SmoothRisk,
    standing_claims,
)
from assay.kernel_machines.risk.solver import SMALLEST_GAP, SOURCE, OverBall, ball_certificates
from assay.kernel_machines.risk.targets import require_targets
from assay.losses import Loss, SidedLoss
from assay.models.convergence import warn, warn_of_gap
from assay.rows import Block, Rows
from assay.solvers.rkhs.constraint import OnPath, strength_of_radius
from assay.solvers.rkhs.problem import RKHSProblem

LOOSE = 1e-6
"""Relative gap of the penalty that stands for a ball that does not bind."""


class RiskOnFeatures(ApproximatesKernel):
    """Gives any convex risk a fit on features of its kernel."""

    _cost: Any
    constraint: str
    radius: float
    fit_intercept: bool
    tol: float
    max_iter: int
    loss_: Loss
    C_: float
    penalty_strength_: float
    constraint_active_: bool
    feature_dual_: NDArray | None

    def _fit_on_features(self, X: Any, y: Any, data: Rows) -> None:
        """Fit features, then the model on them, and measure it on the rows."""
        require_targets(type(self).__name__, gathered(data, self.loss_, bool(self.fit_intercept)))
        risk = self._feature_risk(self._fit_features(data))
        self.constraint_active_, self.C_ = True, self._cost(risk.weight)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        with watch.run("solver"):
            found = self._in_ball(risk, watch) if self.constraint == "ball" else self._penalised(risk, watch)
        watch.finish()
        self.penalty_strength_ = 1 / (2 * self.C_ * risk.weight)
        self.feature_coef_ = found.coef.astype(data.dtype)
        self.feature_dual_ = None if found.dual is None else found.dual.astype(data.dtype)
        self.intercept_ = float(found.intercept[0])
        standing = self._feature_standing(risk)
        self.__dict__.update(self._feature_numbers(standing, risk.weight))
        self.dual_gap_, self.optimality_ = standing.relative_gap, standing.residual
        self.n_iter_ = max(found.n_iter, 1)
        claims = self._feature_claims(standing)
        self.certificates_ = Certificates([*claims, *self.features_.certificates_])
        self._end(said=found.converged, in_ball=all(claim.holds for claim in claims))

    def _end(self, *, said: bool, in_ball: bool) -> None:
        """Set and tell whether the fit converged: its gap decides, and the ball where it does not bind."""
        self.converged_ = bool(said and self.certificates_[0].holds)
        if not self.constraint_active_ and not in_ball:
            self.converged_ = False
            warn(
                f"No penalty above {self.penalty_strength_:.2g} has a solution of the norm {self.radius:g}: "
                "the one of that penalty is kept; give a smaller 'radius'."
            )
        elif not self.converged_:
            warn_of_gap(self, int(self.n_iter_), int(self.max_iter), self.dual_gap_)

    def _penalised(self, risk: FeatureRisk, watch: Any) -> FeatureSolution:
        limits: dict[str, Any] = {"tol": float(self.tol), "max_iter": int(self.max_iter)}
        return risk.fit(self.C_, None, report=watched(watch), **limits)

    def _in_ball(self, risk: FeatureRisk, watch: Any) -> FeatureSolution:
        """The solution of the penalty whose norm is the radius."""
        # A norm is as exact as the root of the gap.
        limits: dict[str, Any] = {
            "tol": max(1e-4 * float(self.tol), SMALLEST_GAP),
            "max_iter": int(self.max_iter),
        }

        def solve(cost: float, start: Any) -> tuple[float, float, FeatureSolution]:
            found = risk.fit(cost, start, report=watched(watch), **limits)
            standing = risk.stand(cost, found.coef, found.intercept, found.dual)
            return float(np.linalg.norm(standing.norms)), standing.loss / cost, found

        first = 1.0 / (100.0 * risk.weight)
        point: OnPath = strength_of_radius(
            solve, float(self.radius), first=first, tol=1e-9, solved=lambda found: bool(found.converged)
        )
        self.C_, self.constraint_active_ = point.cost, point.active
        found: FeatureSolution = point.solution
        gap = risk.stand(self.C_, found.coef, found.intercept, found.dual).relative_gap
        return found._replace(converged=found.converged or gap <= self.tol)

    def _feature_risk(self, mapped: Rows) -> FeatureRisk:
        loss = self.loss_
        if isinstance(loss, SidedLoss):
            return SidedRisk(mapped, loss, fit_intercept=self.fit_intercept, owner=type(self).__name__)
        return SmoothRisk(mapped, loss, fit_intercept=self.fit_intercept)

    def _feature_standing(self, risk: FeatureRisk) -> FeatureStanding:
        intercept = np.array([float(self.intercept_)])
        return risk.stand(self.C_, self.feature_coef_.astype(np.float64), intercept, self.feature_dual_)

    def _feature_numbers(self, standing: FeatureStanding, weight: float) -> dict[str, Any]:
        return {
            "rkhs_norm_": float(standing.norms[0]),
            "empirical_risk_": standing.loss / (self.C_ * weight),
            "objective_": standing.primal,
            "dual_objective_": standing.primal - standing.gap,
        }

    def _feature_claims(self, standing: FeatureStanding) -> list[Certificate]:
        single = self.feature_coef_.dtype == np.float32
        # The penalty of a ball that does not bind is only a way to its minimum, and next to nothing.
        tol = float(self.tol) if self.constraint_active_ else max(float(self.tol), LOOSE)
        claims = standing_claims(standing, tol, SOURCE, single=single)
        if self.constraint == "ball":
            over = OverBall(standing.gap, standing.loss, standing.loss_at_zero, float(standing.norms[0]))
            active = bool(self.constraint_active_)
            claims += ball_certificates(over, float(self.radius), active=active, tol=self.tol, single=single)
        return claims

    def _certify_on_features(self, data: Rows) -> Certificates:
        """Every certificate afresh, and what is stored beside what the rows give again."""
        if self.feature_dual_ is not None and self.feature_dual_.shape[1] != data.shape[0]:
            raise ValueError(f"certify needs the rows of the fit: {self.feature_dual_.shape[1]} of them.")
        risk = self._feature_risk(self._featured(data))
        standing = self._feature_standing(risk)
        again = self._feature_numbers(standing, risk.weight)
        pairs = {name: (getattr(self, name), value) for name, value in again.items()}
        pairs["penalty_strength_"] = (self.penalty_strength_, 1 / (2 * self.C_ * risk.weight))
        if self.constraint == "penalty":
            pairs["C_"] = (self.C_, self._cost(risk.weight))
        rtol = 1e-3 if self.feature_coef_.dtype == np.float32 else 1e-5
        stored = agreement("Norms, risks and penalties are those of the rows.", pairs, SOURCE, rtol=rtol)
        return Certificates(
            [*self._feature_claims(standing), stored, *self.features_.certify(only_features(data))]
        )


def gathered(data: Rows, loss: Loss, fit_intercept: bool) -> RKHSProblem[Loss]:
    """The targets and weights of all rows in memory, a number each, to see whether there is a solution."""
    parts: list[tuple[NDArray, NDArray]] = data.reduce(targets_of, combine=add)
    target, weight = (np.concatenate(each) for each in zip(*parts, strict=True))
    there = weight > 0
    return RKHSProblem(loss, target[there], weight[there], fit_intercept)


def targets_of(block: Block) -> list[tuple[NDArray, NDArray]]:
    """Targets and weights of a block."""
    assert block.y is not None
    return [(block.y.reshape(-1).astype(np.float64), np.asarray(block.weights, dtype=np.float64))]
