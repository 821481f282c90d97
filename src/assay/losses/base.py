"""What a loss is: a function of a target and a raw prediction, with its derivatives and constants."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import special

from assay import parameters
from assay.losses.row_form import fill_row_terms, row_terms_of_arrays
from assay.parameters import Domain


class RowTerms(NamedTuple):
    """Loss of the rows of one block, its slope in each score, and its second derivative.

    For several scores `curvature` has the probabilities p of shape (n, k) instead, of which the second
    derivatives are diag(p) − p pᵀ.
    """

    value: NDArray
    slope: NDArray
    curvature: NDArray


class Loss(ABC):
    """Base of all losses ℓ(y, f): small immutable objects, compared by value.

    A loss writes its formula once: as the compiled terms of its row form, from which value, derivative and
    second derivative of arrays follow; or, where it needs special functions that compiled loops do not have,
    as the three methods `value`, `gradient` and `curvature`, or as `terms`, which it overrides.

    All methods work entry by entry on arrays that broadcast together (row by row for losses of several
    scores), keep float32, and do not look at whether `y` is a legal target: that is for the estimator.
    Values beyond the largest float are inf, without a warning.

    The constants are the best ones over all targets and predictions: `smoothness` bounds |ℓ''| (inf when
    there is no bound or no derivative), `strong_convexity` is the smallest ℓ'' (0 when it is not positive),
    `lipschitz` bounds |ℓ'| (inf when there is no bound).
    """

    __slots__ = ()

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether f ↦ ℓ(y, f) is convex for every y."""

    @property
    def smoothness(self) -> float:
        """Lipschitz constant of the derivative in f, inf when there is none."""
        return math.inf

    @property
    def strong_convexity(self) -> float:
        """Largest μ ≥ 0 such that ℓ(y, f) − μf²/2 is convex in f; 0 when ℓ is not convex itself."""
        return 0.0

    @property
    def lipschitz(self) -> float:
        """Lipschitz constant in f, inf when there is none."""
        return math.inf

    @property
    def row_form(self) -> tuple[Any, ...] | None:
        """What compiled loops take in place of the loss; None for a loss that they do not take."""
        return None

    def value(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Loss of each row."""
        return self._array_terms(y, prediction)[0]

    def gradient(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Derivative in the prediction, or the subgradient that the class names."""
        return self._array_terms(y, prediction)[1]

    def curvature(self, y: NDArray, prediction: NDArray) -> NDArray:
        """Second derivative in the prediction, where there is one."""
        return self._array_terms(y, prediction)[2]

    def _array_terms(self, y: NDArray, prediction: NDArray) -> tuple[NDArray, NDArray, NDArray]:
        form = self.row_form
        return self.terms(y, prediction.copy()) if form is None else row_terms_of_arrays(form, y, prediction)

    def terms(self, y: NDArray, scores: NDArray) -> RowTerms:
        """Value, derivative and second derivative of each row in one pass; `scores` may be overwritten."""
        form = self.row_form
        if form is None:
            return RowTerms(self.value(y, scores), self.gradient(y, scores), self.curvature(y, scores))
        slope, curvature = np.empty_like(scores), np.empty_like(scores)
        fill_row_terms(form, y, scores, slope, curvature)
        return RowTerms(scores, slope, curvature)

    @property
    def cornered(self) -> bool:
        """Whether the derivative jumps somewhere: the slopes are bounded, but their changes are not."""
        return math.isinf(self.smoothness) and math.isfinite(self.lipschitz)

    @property
    def n_scores(self) -> int:
        """Number of scores per row."""
        return 1

    @property
    def symmetric(self) -> bool:
        """Whether a common shift of all scores of a row changes nothing."""
        return False

    @property
    def wrong_slope(self) -> float:
        """Slope above which a row is on the wrong side, and minus which it is at or below it.

        The slope at a score of 0, which goes to the first class (`assay.losses.chosen`); inf for a loss that
        does not classify.
        """
        return math.inf

    def mistakes(self, y: NDArray, terms: RowTerms) -> NDArray | None:
        """Which rows are on the wrong side; None for a loss that does not classify."""
        wrong = self.wrong_slope
        return (terms.slope > wrong) | (terms.slope <= -wrong) if wrong < math.inf else None

    @property
    def takes_shares(self) -> bool:
        """Whether a target in [0, 1] is the share of rows of target 1 among rows of targets 1 and 0."""
        return False

    @property
    def n_groups(self) -> int:
        """Groups of rows whose slopes point in opposite directions; 0 for a loss without a dual problem."""
        return 2 if self.convex else 0

    def groups(self, y: NDArray, slope: NDArray) -> NDArray:
        """Group of each row, an integer below `n_groups`: the sign of its slope."""
        return (slope > 0).astype(np.intp)

    @property
    def reaches_zero(self) -> bool:
        """Whether the infimum of the loss of every row is 0."""
        return False

    def smallest(self, y: NDArray) -> NDArray:
        """Infimum of the loss of each row over its scores."""
        return np.zeros(len(y)) if self.reaches_zero else -self.conjugate(y, np.zeros_like(y))

    @abstractmethod
    def conjugate(self, y: NDArray, slope: NDArray) -> NDArray:
        """ℓ*(y, u) = sup_f u f − ℓ(y, f), inf outside its domain."""

    @abstractmethod
    def constant_minimiser(self, y: NDArray, sample_weight: NDArray | None = None) -> Any:
        """argmin_c Σ_i s_i ℓ(y_i, c); with weights that are probabilities, the population minimiser.

        Where the minimisers form an interval, its middle.
        """


def require(owner: object, name: str, domain: Domain) -> None:
    """Raise one sentence if a field of a loss is outside its domain."""
    value: Any = getattr(owner, name)
    if not domain.contains(value):
        raise parameters.refusal(type(owner).__name__, name, domain.words, value)


# Constants that minimise a sum of losses: weighted means, quantiles and roots of piecewise linear slopes.


def weights_of(y: NDArray, sample_weight: NDArray | None) -> NDArray:
    """The weights as floats, ones when there are none."""
    return np.ones(len(y)) if sample_weight is None else np.asarray(sample_weight, dtype=float)


def weighted_mean(y: NDArray, sample_weight: NDArray | None) -> float:
    """Σ s_i y_i / Σ s_i."""
    return float(np.average(np.asarray(y, dtype=float), weights=sample_weight))


def weighted_quantile(y: NDArray, sample_weight: NDArray | None, level: float) -> float:
    """Middle of the set with at most `level` of the weight below and at most 1 − `level` above."""
    values, weight = np.asarray(y, dtype=float), weights_of(y, sample_weight)
    values, weight = values[weight > 0], weight[weight > 0]
    order = np.argsort(values, kind="stable")
    values, below = values[order], np.cumsum(weight[order])
    share, rounding = below / below[-1] - level, 8 * np.finfo(float).eps
    ends = np.searchsorted(share, [-rounding, rounding])
    return float(values[np.minimum(ends, len(values) - 1)].sum()) / 2


def piecewise_linear_root(slope: Callable[[float], float], breakpoints: NDArray) -> float:
    """Middle of the set of zeros of a non-decreasing function that is linear between sorted breakpoints.

    The function is at most 0 at the first breakpoint and at least 0 at the last.
    """

    def crossing(reached: Callable[[float], bool]) -> float:
        low, high = -1, len(breakpoints) - 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if reached(slope(breakpoints[middle])) else (middle, high)
        if low < 0:
            return float(breakpoints[0])
        left, right = slope(breakpoints[low]), slope(breakpoints[high])
        if left >= right:
            return float(breakpoints[high])
        share = np.clip(-left / (right - left), 0.0, 1.0)
        return float(breakpoints[low] + share * (breakpoints[high] - breakpoints[low]))

    return (crossing(lambda value: value >= 0) + crossing(lambda value: value > 0)) / 2


# Elementary functions that neither overflow loudly nor lose digits.


def exponential(x: NDArray) -> NDArray:
    """e^x, inf without a warning beyond the largest float."""
    with np.errstate(over="ignore"):
        return np.exp(x)


def negative_entropy(p: NDArray) -> NDArray:
    """Give p log p + (1 − p) log(1 − p) on [0, 1] (up to rounding of p), inf outside."""
    p = np.asarray(p)
    inside = np.clip(p, 0, 1)
    rounding = 4 * np.finfo(inside.dtype).eps if inside.dtype.kind == "f" else 0.0
    value = special.xlogy(inside, inside) + special.xlog1py(1 - inside, -inside)
    return np.where(np.abs(p - inside) <= rounding, value, np.inf)


def increasing_root(
    function: Callable[[NDArray], NDArray], target: NDArray, low: NDArray, high: NDArray
) -> NDArray:
    """Point between `low` and `high` where an increasing function is `target`, by bisection."""
    for _ in range(1200):  # enough for the whole range of floats; a bracket of ordinary size takes about 60
        middle = (low + high) / 2
        if np.all((middle == low) | (middle == high)):
            break
        below = function(middle) < target
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2
