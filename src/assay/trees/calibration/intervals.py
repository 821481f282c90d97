"""Prediction intervals of boosted trees: conformal, of constant width or around quantiles."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement
from assay.losses import LogLinkLoss
from assay.models.conformal import conformal_quantile, cross_conformal_ends, interval_scores, moved_intervals
from assay.trees.boosting.gathering import Opened
from assay.trees.calibration.aside import SOURCE, KeepsAside, held_claim


class HasIntervals(KeepsAside):
    """`predict_interval` of regressors that keep rows aside, or fit by folds."""

    def _keep_scores(self, data: Opened, target: NDArray, weight: NDArray | None) -> None:
        """Score the rows kept aside, where there are some, and add the coverage to the certificates."""
        if "calibration_rows_" in vars(self):
            self.calibration_weight_ = self._counted(weight)
            self.calibration_scores_ = self._aside_scores(data, target)
        if self._judges:
            model: Any = self
            model.certificates_ = Certificates([*model.certificates_, self._coverage_of("Intervals")])

    def _aside_scores(self, data: Opened, target: NDArray) -> NDArray[np.float64]:
        ends = self._ends(self._kept_scores(data))
        return interval_scores(ends[:, 0], ends[:, -1], target[self.calibration_rows_])

    def _ends(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Predictions of scores as a matrix: the first and the last column are ends before they are moved."""
        model: Any = self
        said = model._from_scores(scores)
        return said[:, np.newaxis] if said.ndim == 1 else said

    def _claims_aside(self, data: Opened, target: NDArray, weight: NDArray | None) -> list[Certificate]:
        """That the scores kept are those of the rows, and the coverage that they show."""
        if not self._judges:
            return []
        coverage = self._coverage_of("Intervals")
        if "calibration_rows_" not in vars(self):
            return [coverage]
        claim = "The scores of the rows kept aside are those of the rows and the trees."
        pairs = {
            "calibration_scores_": (self.calibration_scores_, self._aside_scores(data, target)),
            "calibration_weight_": (self.calibration_weight_, self._counted(weight)),
        }
        return [agreement(claim, pairs, SOURCE, rtol=1e-9), coverage]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Intervals that hold the target of a new row with a given probability.

        With a share of the rows kept aside (`calibration=0.2`), split conformal: the prediction ± the
        ⌈(m + 1)·coverage⌉-th least |residual| of these m rows. With several quantiles, the lowest and the
        highest, both moved outwards by the same rank of max(lower − y, y − upper), so that the width follows
        the rows. The probability is over the rows kept aside and the new one, and at least the coverage for
        any law of exchangeable rows.

        With folds (`calibration=5`), CV+: the ends are the same ranks of μ(x) ± |residual|, each row with the
        model μ that lacks its fold. No row is lost to the fit; at least 2·coverage − 1 is proven, less what
        `assay.models.conformal.proven_coverage` says, and about the coverage is held by models that
        change little with the fold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        intervals : array of shape (n_samples, 2)
        """
        known = self._require_scores("predict_interval", coverage)
        model: Any = self
        data = model._open_new_rows(X)
        each = [judge._ends(judge._row_scores(data)) for judge in self._judges]
        if "fold_models_" in vars(self):
            lower, upper = (np.column_stack([ends[:, place] for ends in each]) for place in (0, -1))
            intervals = cross_conformal_ends(lower, upper, known.scores, known.folds, coverage, known.weight)
        else:
            quantile = conformal_quantile(known.scores, coverage, known.weight)
            intervals = moved_intervals(each[0][:, 0], each[0][:, -1], quantile)
        if isinstance(model._losses(np.empty(0))[0], LogLinkLoss):
            intervals = np.maximum(intervals, 0.0)  # no target is below 0
        return intervals

    def certify_interval(self, X: Any, y: Any, coverage: float = 0.9) -> Certificates:
        """Measure the coverage of the intervals on rows that the fit has not seen.

        Parameters
        ----------
        X, y
            New rows. Where they follow another law than those of the fit, the certificate fails.
        coverage : float, default=0.9
        """
        ends, target = self.predict_interval(X, coverage), np.asarray(y, dtype=np.float64)
        held = (ends[:, 0] <= target) & (target <= ends[:, 1])
        return Certificates([held_claim(held, coverage, self._known, "Intervals")])
