"""Kernel logistic regression on features of its kernel, for rows anywhere."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement
from assay.kernel_machines.approximation.base import ApproximatesKernel, only_features, watched
from assay.kernel_machines.approximation.risks import FeatureStanding, SmoothRisk, standing_claims
from assay.kernel_machines.likelihood.certificates import SOURCE
from assay.losses import CrossEntropy, Multinomial
from assay.models.classes import class_factors
from assay.models.convergence import warn_of_gap
from assay.rows import Block, Rows

ABSENT = np.exp(-50.0)
"""Share of a class whose rows weigh nothing."""


class LogisticOnFeatures(ApproximatesKernel):
    """Gives kernel logistic regression a fit on features of its kernel."""

    _refuse: Any
    _strengths: Any
    _require_penalty: Any
    penalty: str
    fit_intercept: bool
    class_weight: Any
    tol: float
    max_iter: int
    classes_: NDArray
    class_weight_: NDArray
    C_: float
    penalty_strength_: float

    def _fit_on_features(self, X: Any, y: Any, data: Rows, weights: NDArray) -> None:
        """Fit features, then the model on them, and measure it on the rows."""
        if self.penalty != "rkhs":
            raise self._refuse(
                "penalty",
                "'rkhs' with 'approximation', as the coefficients of rows are not there to penalise: for few "
                "features fit LogisticRegression with an l1 penalty on those of Nystroem",
            )
        self.class_weight_ = class_factors(self.class_weight, self.classes_, weights)
        weights = self.class_weight_ * weights
        self.C_, self.penalty_strength_ = self._strengths(float(weights.sum()))
        self._require_penalty(None, data.shape[0])
        risk = self._feature_risk(self._fit_features(data), weights)
        watch = self._watch_fit(X, y, n_runs=1, max_iter=self.max_iter)
        with watch.run("newton"):
            limits: dict[str, Any] = {"tol": float(self.tol), "max_iter": int(self.max_iter)}
            found = risk.fit(self.C_, None, report=watched(watch), **limits)
        watch.finish()
        coef, intercept = found.coef, found.intercept
        if len(self.classes_) > 2:  # scores that all move together say nothing
            intercept = intercept - intercept.mean()
        self.feature_coef_, self.intercept_ = coef.astype(data.dtype), intercept.astype(data.dtype)
        standing = self._feature_standing(risk)
        self.n_iter_, self.dual_gap_ = found.n_iter, standing.relative_gap
        self.optimality_ = standing.residual
        self.__dict__.update(self._feature_numbers(standing, risk.weight))
        claims = self._feature_claims(standing)
        self.certificates_ = Certificates([*claims, *self.features_.certificates_])
        # Coefficients of single precision are as good as it tells.
        self.converged_ = bool(found.converged and claims[0].holds)
        if not self.converged_:
            warn_of_gap(self, int(self.n_iter_), int(self.max_iter), self.dual_gap_)

    def _feature_risk(self, mapped: Rows, weights: NDArray) -> SmoothRisk:
        n_classes = len(self.classes_)
        loss: Any = CrossEntropy(shares=False) if n_classes == 2 else Multinomial(n_classes)
        odds = np.log(np.maximum(weights, ABSENT * weights.sum()))
        level = odds[1:] - odds[:1] if n_classes == 2 else odds - odds.mean()
        factors = None if self.class_weight is None else self.class_weight_
        return SmoothRisk(mapped, loss, fit_intercept=self.fit_intercept, class_weight=factors, level=level)

    def _feature_standing(self, risk: SmoothRisk) -> FeatureStanding:
        coef, intercept = self.feature_coef_.astype(np.float64), self.intercept_.astype(np.float64)
        return risk.stand(self.C_, coef, intercept, None)

    def _feature_numbers(self, standing: FeatureStanding, weight: float) -> dict[str, Any]:
        norms = standing.norms
        return {
            "rkhs_norm_": float(norms[0]) if len(norms) == 1 else norms,
            "empirical_risk_": standing.loss / (self.C_ * weight),
            "objective_": standing.primal,
            "dual_objective_": standing.primal - standing.gap,
        }

    def _feature_claims(self, standing: FeatureStanding) -> list[Certificate]:
        single = self.feature_coef_.dtype == np.float32
        return standing_claims(standing, float(self.tol), SOURCE, single=single)

    def _certify_on_features(self, data: Rows) -> Certificates:
        """Every certificate afresh, and what is stored beside what the rows give again."""
        weights = data.reduce(weights_of_classes, len(self.classes_))
        factors = class_factors(self.class_weight, self.classes_, weights)
        risk = self._feature_risk(self._featured(data), factors * weights)
        standing = self._feature_standing(risk)
        again = self._feature_numbers(standing, risk.weight)
        pairs = {name: (getattr(self, name), value) for name, value in again.items()}
        cost, strength = self._strengths(risk.weight)
        pairs |= {
            "C_": (self.C_, cost),
            "penalty_strength_": (self.penalty_strength_, strength),
            "class_weight_": (self.class_weight_, factors),
        }
        rtol = 1e-3 if self.feature_coef_.dtype == np.float32 else 1e-5
        stored = agreement("Norms, risks and penalties are those of the rows.", pairs, SOURCE, rtol=rtol)
        return Certificates(
            [*self._feature_claims(standing), stored, *self.features_.certify(only_features(data))]
        )


def weights_of_classes(block: Block, n_classes: int) -> NDArray:
    """Weight of each class in a block."""
    assert block.y is not None
    places = block.y.reshape(-1).astype(np.intp)
    return np.bincount(places, block.weights, minlength=n_classes).astype(np.float64)
