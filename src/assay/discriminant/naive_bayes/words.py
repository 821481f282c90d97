"""Columns that are the words of one bag: naive Bayes of counts whose total tells nothing."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.naive_bayes.columns import (
    Array,
    ColumnFamily,
    ColumnLaws,
    Share,
    Totals,
    class_totals,
    relative,
)
from assay.solvers.least_squares.moments import too_large

MOST_WORDS = 1e30
"""Counts beyond which scores overflow in single precision."""


class MultinomialLaws(ColumnLaws):
    """One bag of words: the counts of a row are drawn with probabilities p_kj, whatever their total."""

    log_odds = "affine"
    takes_sparse: ClassVar[Any] = True

    def __init__(self, log_probabilities: Array, row_total: float) -> None:
        self.log_probabilities, self.row_total = log_probabilities, row_total
        self.n_classes = len(log_probabilities)

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"log_probabilities": self.log_probabilities, "row_total": self.row_total}

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers to compare with those of other laws."""
        return {"probabilities": np.exp(self.log_probabilities), "row_total": [self.row_total]}

    def log_density(self, X: Any) -> NDArray:
        """Σ_j x_j log p_kj: the number of orders of the words, alike in all classes, is left out."""
        if not isinstance(X, np.ndarray):
            return np.asarray(X @ self.log_probabilities.T)
        counts = np.where(np.isnan(X), 0.0, X)
        finite = np.isfinite(self.log_probabilities)
        if finite.all():
            return np.asarray(counts @ self.log_probabilities.T)
        total = counts @ np.where(finite, self.log_probabilities, 0.0).T
        total[(counts @ (~finite).T.astype(np.float64)) > 0] = -np.inf
        return np.asarray(total)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""
        chances = np.exp(self.log_probabilities)
        totals = rng.poisson(self.row_total, len(codes))
        chances /= chances.sum(axis=1, keepdims=True)
        return rng.multinomial(totals, chances[codes]).astype(np.float64)

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients and constants of the linear form."""
        return self.log_probabilities, np.zeros(self.n_classes)

    def linear_features(self, X: Array) -> Array:
        """Features of the linear form."""
        return X


class MultinomialFamily(ColumnFamily):
    """One bag of words over all columns of the group: p_kj = (Σ s x_j + α_j)/Σ_l(Σ s x_l + α_l)."""

    name = "multinomial"
    statistics = Totals
    takes_sparse: ClassVar[Any] = True

    def __init__(self, alpha: Any = 1.0) -> None:
        self.alpha = alpha

    def gather(self, share: Share, state: Any) -> Totals:
        """Statistics of one block."""
        values = share.X if isinstance(share.X, np.ndarray) else share.X.data
        if np.any(values < 0):
            raise ValueError(
                "Negative values in data passed to MultinomialNB (input X): a column of the family "
                f"'multinomial' must hold counts at least 0. Got {np.nanmin(values):g} instead."
            )
        if values.max(initial=0.0) > MOST_WORDS:
            raise too_large("X")
        return class_totals(share)

    def estimate(self, statistics: Totals, state: Any) -> MultinomialLaws:
        """The laws of the columns."""
        smoothed = statistics.sums + self.alpha
        totals = smoothed.sum(axis=1, keepdims=True)
        smoothed, totals = (
            np.where(totals > 0, smoothed, 1.0),
            np.where(totals > 0, totals, smoothed.shape[1]),
        )
        with np.errstate(divide="ignore"):
            logs = np.log(smoothed) - np.log(totals)
        weight = statistics.counts.max(axis=1, initial=0.0).sum()
        return MultinomialLaws(logs, float(statistics.sums.sum() / weight) if weight > 0 else 0.0)

    def gradient(self, laws: MultinomialLaws, statistics: Totals, state: Any) -> float:
        """(c_j + α_j) − p_j Σ_l(c_l + α_l), over that sum."""
        smoothed = statistics.sums + self.alpha
        totals = smoothed.sum(axis=1, keepdims=True)
        return relative(
            smoothed - np.exp(laws.log_probabilities) * totals, np.broadcast_to(totals, smoothed.shape)
        )
