"""What a generalised linear model offers beside its fit: paths, selection, inference, intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificate
from assay.families import FAMILIES
from assay.linear.likelihood.base import LikelihoodModel, LikelihoodPath, likelihood_path, strength_grid
from assay.linear.likelihood.certificates import FINEST, score_rounding, stored_numbers
from assay.linear.likelihood.generalized_fit import (
    first_point,
    fit_generalized,
    likelihoods,
    over_targets,
    target_summary,
)
from assay.linear.likelihood.inference import information_root
from assay.linear.predictor import affine
from assay.models.inference import check_level
from assay.models.selection import FoldTable, Said
from assay.rows import Block, MemoryRows, Rows
from assay.solvers import RowMeasure, RowRisk, SmoothFit, shifted_columns

# Intervals of a linear score from the information of a fit.


Array = NDArray[np.float64]


def interval_rows(
    block: Block, coef: NDArray, intercept: NDArray, center: Array, root: Array, fit_intercept: bool
) -> Array:
    """Score ± the norm of aᵀR for the rows of one block."""
    score = affine(block, coef, intercept).astype(np.float64)
    half = np.linalg.norm(shifted_columns(block, center, fit_intercept) @ root, axis=1)
    return np.column_stack([score - half, score + half])


class GeneralizedResults(LikelihoodModel):
    """Methods of `GeneralizedLinear` that need its parameters, its problem, or its fitted attributes."""

    _law: Any
    _owner: Any
    _problem: Any
    predict: Any
    family: str
    alpha: Any
    dispersion_: float | None
    deviance_: float
    null_deviance_: float
    rank_: int

    def _path_of(self, data: Rows, alphas: Any, *, evidence: bool = True, **size: Any) -> LikelihoodPath:
        law = self._law()
        weight, total = over_targets(data, target_summary, law.family, self._owner())
        self.total_weight_, mean = float(weight), float(total / weight)
        risk = self._problem(data, law, False)
        null = first_point(risk, law, mean)
        grid, first = strength_grid(risk, null, alphas, "GeneralizedLinear.path", **size)

        def solve(risk: RowRisk, l1: NDArray, start: NDArray | None) -> SmoothFit:
            return fit_generalized(risk, law, mean, start=start, **self._stop)

        return likelihood_path(risk, grid, solve, first, evidence=evidence)

    def _fold_path(self, table: FoldTable, strengths: Any, evidence: bool = True) -> LikelihoodPath:
        rows = MemoryRows(table.X, table.y, table.weight)
        return self._fold(evidence)._path_of(rows, strengths, evidence=evidence)

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> NDArray:
        score = predictions[:, :, 0]
        return self._law().value(np.broadcast_to(y[:, None], score.shape), score)

    def _said(self, predictions: NDArray) -> Said:
        """Means of the target from the scores of each model of a path."""
        return Said(np.asarray(self._law().mean(predictions[:, :, 0])))

    def _check_rule(self, owner: str, rule: str, theory: dict[str, Any]) -> float | None:
        self._check_parameters()
        if rule in ("aic", "bic") and self._law().family.dispersed:
            must_be = f"'min' or 'one_se' for family={self.family!r}, whose dispersion is free"
            raise parameters.refusal(owner, "rule", must_be, rule)
        return super()._check_rule(owner, rule, theory)

    @property
    def _has_free_dispersion(self) -> bool:
        return FAMILIES[self.family].dispersed

    def _fitted_scores(self) -> tuple[Array, Array]:
        return self.coef_.astype(np.float64)[:, None], np.array([float(self.intercept_)])

    def _require_plain(self) -> None:
        if np.any(np.asarray(self.alpha) > 0):
            raise ValueError("Standard errors are of an unpenalised fit; fit with alpha=0 first.")
        if self.information_ is None:
            raise ValueError("The solver of this fit formed no Hessian; fit with solver='newton'.")
        if self.dispersion_ is None:
            raise ValueError(
                f"Standard errors need more rows than parameters: a weight of {self.total_weight_:g} for "
                f"{self.rank_} of them leaves nothing to estimate the dispersion from."
            )

    def _deviances(self) -> tuple[float, float]:
        return self.deviance_, self.null_deviance_

    def _stored(self, risk: RowRisk, point: NDArray, measured: RowMeasure) -> Certificate:
        """That the numbers behind inference are those of the rows."""
        law = self._law()
        weight, total = over_targets(risk.source, target_summary, law.family, self._owner())
        fresh = likelihoods(risk, law, point, measured, float(total / weight), float(weight) - self.rank_)
        # What is left of a difference has the rounding of its terms; φ that of squared scores.
        room = score_rounding(risk, point, measured)
        share = max(1e-5, min(room / FINEST, 1.0))
        terms = share * (abs(risk.weight * measured.risk) + fresh.deviance)
        likelihood = abs(fresh.saturated) + fresh.null_deviance / (2 * fresh.scale or 1.0)
        known = not law.family.dispersed or fresh.scale > room * room  # else φ is rounding, and its logarithm
        numbers = {
            "total_weight_": (self.total_weight_, float(weight), 0.0),
            "dispersion_": (self.dispersion_, fresh.dispersion, room * room),
            "deviance_": (self.deviance_, fresh.deviance, terms),
            "null_deviance_": (self.null_deviance_, fresh.null_deviance, terms),
        }
        if known:
            values = fresh.log_likelihood, fresh.null_log_likelihood
            numbers["log_likelihood_"] = self.log_likelihood_, values[0], likelihood
            numbers["null_log_likelihood_"] = self.null_log_likelihood_, values[1], likelihood
        return stored_numbers(risk, point, measured, (self.information_, self.center_), numbers)

    def residuals(self, X: Any, y: Any, kind: str = "deviance", *, offset: Any = None) -> NDArray:
        """Residual of each row.

        Parameters
        ----------
        X, y, offset
            Data as in `fit`.
        kind : {"deviance", "pearson", "response"}, default="deviance"
            sign(y − μ)√d, (y − μ)/√V(μ), or y − μ.
        """
        kinds = "deviance", "pearson", "response"
        parameters.require("GeneralizedLinear.residuals", parameters.one_of(*kinds), kind=kind)
        y, law = np.asarray(y, dtype=np.float64), self._law()
        scores = np.asarray(self._scores(X), dtype=np.float64)
        scores = scores if offset is None else scores + np.asarray(offset, dtype=np.float64)
        if kind == "response":
            return y - law.mean(scores)
        # From the score: the mean of a share may round to 0 or 1, where the variance is 0.
        losses, slopes, curvatures = law.score_terms(y, scores)
        side = -np.sign(slopes) * np.sign(law.link.slope(scores))
        if kind == "deviance":
            return side * np.sqrt(np.maximum(2 * losses, 0))
        root = np.sqrt(curvatures)
        return side * np.divide(np.abs(slopes), root, out=np.zeros_like(root), where=root > 0)

    def predict_interval(
        self, X: Any, coverage: float = 0.9, *, kind: str = "prediction", offset: Any = None
    ) -> NDArray:
        """Interval of the target, or of its mean, at each row.

        The interval of the mean is g⁻¹ of the score ± z standard errors. That of a new target holds between
        the quantiles of the law at the two ends of the first, at half the error each (Bonferroni): it covers
        at least as often as asked, in the limit of many rows.

        Parameters
        ----------
        X : array-like, CSR matrix, frame, path, Arrow dataset, Dask array or dataframe
        coverage : float, default=0.9
            Probability, for each row by itself.
        kind : {"prediction", "mean"}, default="prediction"
        offset : array-like of shape (n_samples,), optional

        Returns
        -------
        interval : array of shape (n_samples, 2)
        """
        check_is_fitted(self)
        owner = "GeneralizedLinear.predict_interval"
        check_level(owner, "coverage", coverage)
        parameters.require(owner, parameters.one_of("prediction", "mean"), kind=kind)
        self._require_plain()
        assert self.information_ is not None
        assert self.dispersion_ is not None
        law, error = self._law(), 1 - coverage
        if kind == "prediction":
            if law.family.law(np.ones(1), 1.0) is None:
                raise ValueError(
                    f"The family {self.family!r} has no quantiles in closed form; use kind='mean'."
                )
            error = error / 2
        tail = 1 - error / 2
        free = self.total_weight_ - self.rank_
        z = special.stdtrit(free, tail) if law.family.dispersed else special.ndtri(tail)
        # ‖aᵀR‖ is the standard error of the score of a row a
        root = information_root(self.information_).T * np.sqrt(self.dispersion_ / self.total_weight_) * z
        data = self._open_new_rows(X)
        state = self.coef_, self.intercept_, self.center_, root, self.fit_intercept
        ends = data.map(interval_rows, *state, dtype=np.float64, width=2)
        if offset is not None:
            ends = ends + np.asarray(offset, dtype=np.float64)[:, None]
        means = np.sort(law.mean(np.asarray(ends)), axis=1)
        if kind == "mean":
            return means
        low = law.family.law(means[:, 0], self.dispersion_).ppf(error / 2)
        high = law.family.law(means[:, 1], self.dispersion_).ppf(1 - error / 2)
        return np.column_stack([low, high])
