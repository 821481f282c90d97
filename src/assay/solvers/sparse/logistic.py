"""The logistic loss on a working set: proximal Newton steps, their model solved coordinate by coordinate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from assay.losses import CrossEntropy, RowTerms
from assay.solvers.sparse.design import Array, DenseDesign, Design, by_blocks
from assay.solvers.sparse.loops import fenchel_young, penalty_value, quadratic_gap
from assay.solvers.sparse.subproblem import (
    LARGEST_WORKING_SET,
    Point,
    Profile,
    Subproblem,
    WorkingSetTooLargeError,
    products,
    solve_gram,
)

FEWEST_HESSIAN_ROWS = 8192
ROWS_A_COLUMN = 20
"""A Hessian of m columns is estimated from this many rows a column, where the table is taller."""

COLUMNS_A_BLOCK = 2**13
LOSS = CrossEntropy(shares=False)
SMALLEST_STEP = 2.0**-20
MODEL_EPOCHS = 1000
ROUNDING = 8 * float(np.finfo(np.float64).eps)


class LogisticSubproblem(Subproblem):
    """Mean of `LOSS` over the rows, labels 0 and 1, on a working set of columns."""

    strong_concavity = 1 / LOSS.smoothness
    design: Any

    def __init__(self, design: Design, free: NDArray) -> None:
        self._dense = isinstance(design, DenseDesign)
        n = design.shape[0]
        self._table: Any = np.empty((0, n)) if self._dense else sparse.csr_array((0, n))
        self._share = design.root**2
        # The labels 0 and 1, read back from the centred target.
        self._labels = np.round(design.target / np.where(design.root > 0, design.root, 1.0) + design.mean_y)
        self._level = 0.0
        super().__init__(design, free)
        if design.center:
            inside = np.clip(design.mean_y, 1e-300, 1 - 1e-16)
            self._level = LOSS.constant_minimiser(np.array([inside]))
        self.null = self._mean_loss(np.full(n, self._level))

    def _enter(self, new: NDArray) -> None:
        m, k = self.which.size, new.size
        if m + k > LARGEST_WORKING_SET:
            raise WorkingSetTooLargeError
        if not self._dense:
            columns = self.design.matrix[:, new].T.tocsr()
            self._table = sparse.vstack([self._table, columns], format="csr")
            return
        if m + k > self._table.shape[0]:
            table = np.empty((max(64, 2 * (m + k)), self.design.shape[0]))
            table[:m] = self._table[:m]
            self._table = table
        self._table[m : m + k] = self.design.raw_columns(new)

    def _correlations(self, size: int, pull: Array) -> Array:
        table = self._table[:size]
        return products(pull[None], table)[0] if self._dense else np.asarray(table @ pull)

    def _terms(self, prediction: Array) -> RowTerms:
        return LOSS.terms(self._labels, prediction.copy())

    def _mean_loss(self, prediction: Array) -> float:
        return float(self._share @ self._terms(prediction).value)

    def _predictions(self, coef: Array) -> Array:
        """Predictions without the intercept."""
        support = np.flatnonzero(coef)
        if not support.size:
            return np.zeros(self.design.shape[0])
        if self._dense and 3 * support.size > coef.size:  # a few zeros cost less than a copy
            return combined(coef, self._table[: coef.size])
        rows = self._table[support]
        return combined(coef[support], rows) if self._dense else np.asarray(coef[support] @ rows)

    def _intercepted(self, prediction: Array, level: float) -> float:
        """The best intercept for given predictions, by Newton's method in one variable, kept in a bracket."""
        if not self.design.center:
            return 0.0
        low, high = -np.inf, np.inf
        for _ in range(200):
            terms = LOSS.terms(self._labels, prediction + level)
            slope = float(self._share @ terms.slope)
            if abs(slope) <= 1e-15:
                break
            low, high = (low, level) if slope > 0 else (level, high)
            curvature = float(self._share @ terms.curvature)
            step = level - slope / curvature if curvature > 1e-300 else np.nan
            if not low < step < high:
                step = (low + high) / 2 if np.isfinite(low + high) else level - np.sign(slope)
            if step == level:
                break
            level = step
        return level

    def point(self, coef: Array) -> Point:
        """Labels less probabilities, at the best intercept, orthogonal to the unpenalised columns.

        The projection is in the metric of p(1 − p), in which rows that are nearly certain hardly move.
        """
        prediction = self._predictions(coef)
        self._level = self._intercepted(prediction, self._level)
        prediction += self._level
        terms = self._terms(prediction)
        miss = -terms.slope
        if self.free.size:
            columns = self._table[: self.free.size]
            columns = columns if self._dense else columns.toarray()
            if self.design.center:
                columns = np.vstack([np.ones(columns.shape[1]), columns])
            metric = terms.curvature
            hessian = (columns * (metric * self._share)) @ columns.T
            step = np.linalg.pinv(hessian, hermitian=True) @ (columns @ (self._share * miss))
            miss = miss - metric * (step @ columns)
        return Point(self.design.root * miss, float(self._share @ terms.value), prediction)

    def gap(self, point: Point, coef: Array, corr: Array, profile: Profile) -> tuple[float, float]:
        """Mean Kullback–Leibler divergence of t − κ(t − p) from p, plus the penalty's Fenchel–Young terms."""
        _, scale = quadratic_gap(1.0, 1.0, coef, corr, profile)
        best = np.inf, 0.0
        straight = (profile.curvature == 0) & (profile.slope > 0)
        bent = bool(np.any(profile.curvature > 0)) and not np.any(straight)
        for factor in {min(float(scale), 1.0), 1.0 if bent else min(float(scale), 1.0)}:
            gap = self._divergence(point, factor) + float(fenchel_young(coef, corr, profile, factor))
            if gap < best[0]:
                best = gap, factor
        return best

    def _divergence(self, point: Point, scale: float) -> float:
        """Mean Fenchel–Young loss ℓ(f) + ℓ*(u) − u f of the slopes u, scaled, at the predictions f."""
        dual = self._labels - scale * point.residual / np.where(self.design.root > 0, self.design.root, 1.0)
        if np.any((dual < -1e-12) | (dual > 1 + 1e-12)):
            return np.inf
        slope = np.clip(dual, 0.0, 1.0) - self._labels
        terms = self._terms(point.rows).value + LOSS.conjugate(self._labels, slope) - slope * point.rows
        return float(self._share @ np.maximum(terms, 0.0))

    def intercept(self, coef: Array) -> float:
        """The intercept that belongs to coefficients of the working set."""
        return self._intercepted(self._predictions(coef), self._level)

    def solve(
        self, coef: Array, profile: Profile, target: float, max_epochs: int, trace: Array
    ) -> tuple[int, float]:
        """Proximal Newton steps with a line search; one step counts as one epoch."""
        prediction = self._predictions(coef)
        level = self._intercepted(prediction, self._level)
        hessian: tuple[Array, Array, float] | None = None
        measure = np.inf
        wanted = max(FEWEST_HESSIAN_ROWS, ROWS_A_COLUMN * coef.size)
        stride = max(1, self.design.shape[0] // wanted) if self._dense else 1
        for epoch in range(max_epochs):
            level = self._level = self._intercepted(prediction, level)
            terms = self._terms(prediction + level)
            corr = self._correlations(coef.size, -self._share * terms.slope)
            before, measure = measure, self._inner_gap(prediction + level, terms.slope, coef, corr, profile)
            if epoch < trace.size:
                trace[epoch] = self._value(prediction + level, coef, profile)
            if measure <= target:
                return epoch + 1, measure
            if hessian is None or measure > 0.2 * before:
                # A model of some rows that no longer makes headway is replaced by one of more rows.
                stride = stride if hessian is None else max(1, stride // 4)
                hessian = self._hessian(self._share * terms.curvature, coef.size, stride)
            trial = self._model_minimiser(hessian, coef, corr, profile, target)
            move = self._predictions(trial - coef)
            shift = -float(hessian[1] @ (trial - coef)) if self.design.center else 0.0
            step, value_now = 1.0, self._value(prediction + level, coef, profile)
            while step >= SMALLEST_STEP:
                reached = coef + step * (trial - coef)
                value = self._value(prediction + step * move + level + step * shift, reached, profile)
                if value <= value_now * (1 + ROUNDING):
                    break
                step /= 2
            else:
                if stride == 1:
                    return epoch + 1, measure  # nothing is left but rounding
                hessian, stride = None, 1
                continue
            coef[:] = trial if step == 1.0 else reached
            prediction += step * move
            level += step * shift
        return max_epochs, measure

    def _value(self, prediction: Array, coef: Array, profile: Profile) -> float:
        return self._mean_loss(prediction) + float(penalty_value(coef, profile))

    def _inner_gap(
        self, prediction: Array, slope: Array, coef: Array, corr: Array, profile: Profile
    ) -> float:
        gap, _ = self.gap(Point(-self.design.root * slope, 0.0, prediction), coef, corr, profile)
        # Unpenalised columns have no Fenchel–Young term: their correlations must vanish.
        pull = np.abs(corr[: self.free.size])
        return gap + float(pull @ (np.abs(coef[: self.free.size]) + 1e-3))

    def _hessian(self, curvature: Array, size: int, stride: int) -> tuple[Array, Array, float]:
        """Weighted Gram matrix of the columns about their weighted means, those means, the total weight."""
        metric = curvature[::stride]
        total = float(metric.sum())
        table = self._table[:size]
        if self._dense:
            part = table[:, ::stride]
            weighted = part * np.sqrt(metric)
            gram = products(weighted, weighted)
            mean = part @ metric / total if total > 0 else np.zeros(size)
        else:
            gram = (table.multiply(metric[None]) @ table.T).toarray()
            mean = np.asarray(table @ metric) / total if total > 0 else np.zeros(size)
        factor = float(curvature.sum()) / total if stride > 1 and total > 0 else 1.0
        if self.design.center:
            gram -= total * np.outer(mean, mean)
        else:
            mean = np.zeros(size)
        return gram * factor, mean, total * factor

    def _model_minimiser(
        self, hessian: tuple[Array, Array, float], coef: Array, corr: Array, profile: Profile, target: float
    ) -> Array:
        gram, trial = hessian[0], coef.copy()
        linear = corr + gram @ coef
        square = float(coef @ (linear + corr)) + float(corr @ corr) / max(float(np.trace(gram)), 1e-300) + 1.0
        solve_gram(gram, linear, square, trial, profile, 0.1 * target, MODEL_EPOCHS, np.empty(0))
        return trial


def combined(coef: Array, table: Array) -> Array:
    """Combination of rows, by blocks of columns on threads, each with one BLAS thread."""
    out = np.empty(table.shape[1])
    by_blocks(lambda part: np.matmul(coef, table[:, part], out=out[part]), out.size, COLUMNS_A_BLOCK)
    return out
