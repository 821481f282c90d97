"""What the rows say to a smooth fit: the loss of their scores with its derivatives, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay.solvers.smooth.row_loss_loops import LOGISTIC, POISSON, logistic_rows, poisson_rows, softmax_rows


class RowTerms(NamedTuple):
    """Loss and derivatives of the rows of one block.

    `losses` has shape (n,); `residual`, the slope in each score, has the shape of the scores; `curvature` is
    the second derivative of one score, shape (n,), or the probabilities p of several, shape (n, k): their
    second derivatives are diag(p) − p pᵀ.
    """

    losses: NDArray
    residual: NDArray
    curvature: NDArray


class RowLoss(Protocol):
    """A smooth loss of one score, shape (n,), or of `n_scores` of them, shape (n, n_scores).

    `symmetric` says that a common shift of all scores of a row changes nothing, `n_groups` into how many
    groups the rows are told apart by `groups`, 0 for a loss that need not be convex.
    """

    @property
    def n_scores(self) -> int:
        """Number of scores a row."""

    @property
    def symmetric(self) -> bool:
        """Whether the scores count up to a common shift only."""

    @property
    def n_groups(self) -> int:
        """Groups of rows whose slopes, group by group, point in opposite directions."""

    @property
    def fused(self) -> int | None:
        """Which loss of `fused_sums` it is; None for the others."""

    @property
    def rests_at_zero(self) -> bool:
        """Whether the infimum of the loss of a row is always 0."""

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """Loss and derivatives of each row; `scores` may be overwritten."""

    def groups(self, y: NDArray, residual: NDArray) -> NDArray:
        """Group of each row, an integer below `n_groups`."""

    def smallest(self, y: NDArray) -> NDArray | None:
        """Infimum of the loss of each row over its scores; None where it is 0."""

    def mistakes(self, terms: RowTerms, y: NDArray) -> NDArray | None:
        """Which rows are on the wrong side; None for a loss that does not classify."""


@dataclass(frozen=True)
class LogisticRows:
    """log(1 + e^f) − y f, classes 0 and 1, or `shares` between them."""

    shares: bool = False
    n_scores: int = 1
    symmetric: bool = False
    n_groups: int = 2
    fused: int | None = LOGISTIC

    @property
    def rests_at_zero(self) -> bool:
        """For classes."""
        return not self.shares

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """See `RowLoss.terms`."""
        residual, curvature = np.empty_like(scores), np.empty_like(scores)
        logistic_rows(y, scores, residual, curvature)
        return RowTerms(scores, residual, curvature)

    def groups(self, y: NDArray, residual: NDArray) -> NDArray:
        """The class."""
        return y.astype(np.intp)

    def smallest(self, y: NDArray) -> NDArray | None:
        """The entropy of a share, 0 for a class."""
        return special.entr(y) + special.entr(1 - y) if self.shares else None

    def mistakes(self, terms: RowTerms, y: NDArray) -> NDArray:
        """Rows whose class has probability below ½."""
        return np.abs(terms.residual) > 0.5


@dataclass(frozen=True)
class PoissonRows:
    """e^f − y f, counts or rates."""

    n_scores: int = 1
    symmetric: bool = False
    n_groups: int = 2
    fused: int | None = POISSON
    rests_at_zero: bool = False

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """See `RowLoss.terms`."""
        residual, curvature = np.empty_like(scores), np.empty_like(scores)
        poisson_rows(y, scores, residual, curvature)
        return RowTerms(scores, residual, curvature)

    def groups(self, y: NDArray, residual: NDArray) -> NDArray:
        """Whether the mean is above the target."""
        return (residual > 0).astype(np.intp)

    def smallest(self, y: NDArray) -> NDArray:
        """The value y − y log y at f = log y."""
        return y - special.xlogy(y, y)

    def mistakes(self, terms: RowTerms, y: NDArray) -> None:
        """A count is not a class."""


@dataclass(frozen=True)
class SoftmaxRows:
    """log Σ_j e^{f_j} − f_y over `n_classes` classes; the class `reference`, if any, has score 0."""

    n_classes: int
    reference: int | None = None
    fused: int | None = None
    rests_at_zero: bool = True

    @property
    def n_scores(self) -> int:
        """One a class, without the reference."""
        return self.n_classes - (self.reference is not None)

    @property
    def symmetric(self) -> bool:
        """Without a reference."""
        return self.reference is None

    @property
    def n_groups(self) -> int:
        """One a class."""
        return self.n_classes

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """See `RowLoss.terms`."""
        n = scores.shape[0]
        if self.reference is not None:
            scores = np.insert(scores, self.reference, 0, axis=1)
        losses, probabilities = np.empty(n, dtype=scores.dtype), np.empty_like(scores)
        softmax_rows(y, scores, losses, probabilities)
        residual = probabilities.copy()
        residual[np.arange(n), y.astype(np.intp)] -= 1
        if self.reference is not None:
            residual = np.delete(residual, self.reference, axis=1)
            probabilities = np.delete(probabilities, self.reference, axis=1)
        return RowTerms(losses, residual, probabilities)

    def groups(self, y: NDArray, residual: NDArray) -> NDArray:
        """The class."""
        return y.astype(np.intp)

    def _probabilities(self, y: NDArray, slope: NDArray) -> NDArray:
        if self.reference is not None:
            slope = np.insert(slope, self.reference, -slope.sum(axis=1), axis=1)
        p = slope.astype(np.float64)
        p[np.arange(len(p)), y.astype(np.intp)] += 1
        return np.maximum(p, 0.0)

    def smallest(self, y: NDArray) -> None:
        """0: all the probability on the class."""

    def mistakes(self, terms: RowTerms, y: NDArray) -> NDArray:
        """Rows of which another class is more probable."""
        p = self._probabilities(y, terms.residual)
        return p.max(axis=1) > p[np.arange(len(p)), y.astype(np.intp)]


@dataclass(frozen=True)
class LikelihoodRows:
    """The negative log-likelihood of one score, for a law with a `score_terms(y, scores)` method."""

    law: Any
    n_scores: int = 1
    symmetric: bool = False
    n_groups: int = 0
    fused: int | None = None
    rests_at_zero: bool = True

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """See `RowLoss.terms`; the curvature is the expected one, never negative."""
        return RowTerms(*self.law.score_terms(y, scores))

    def groups(self, y: NDArray, residual: NDArray) -> NDArray:
        """One group."""
        return np.zeros(len(y), dtype=np.intp)

    def smallest(self, y: NDArray) -> None:
        """0: half a deviance."""

    def mistakes(self, terms: RowTerms, y: NDArray) -> None:
        """A likelihood is not a rule."""
