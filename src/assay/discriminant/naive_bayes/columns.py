"""Families of columns: what is added up over rows, what is estimated from it, and the laws of one column.

A *column family* serves a group of columns at once. Its statistics are named tuples of arrays that add (or,
with `merge`, combine) over blocks; its laws are class laws of those columns alone. NaN is a missing value:
the factor of that column is left out.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, xlogy

from assay.discriminant.generative import ClassLaws
from assay.rows import Rows, add

Array = NDArray[np.float64]

SMALLEST_ALPHA = 1e-10
"""Pseudo-count below which a probability of a level never seen would be none."""

MOST_ALPHA = 1e100
"""Pseudo-count beyond which rows tell nothing beside it."""


class Share(NamedTuple):
    """Rows of a block as a family sees them: its columns in float64 or CSR, codes and weights."""

    X: Any
    codes: NDArray[np.intp]
    weights: Array
    n_classes: int

    @property
    def marks(self) -> Array:
        """One row per class: the weight of each row of that class."""
        marks = np.zeros((self.n_classes, len(self.codes)))
        marks[self.codes, np.arange(len(self.codes))] = self.weights
        return marks


def chosen_columns(X: NDArray, columns: NDArray[np.intp]) -> Array:
    """Some columns of an array in float64 and C order; read-only, so that one compiled loop serves all."""
    part = X if len(columns) == X.shape[1] else X[:, columns]
    whole = np.ascontiguousarray(part, dtype=np.float64).view()
    whole.flags.writeable = False
    return whole


class ColumnLaws(ClassLaws):
    """Laws of a group of columns, one per class, with a linear form where there is one."""

    @property
    @abstractmethod
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from, by the names of their constructor: arrays, lists and numbers."""

    @property
    def parameters(self) -> dict[str, Any]:
        """The same for comparison with other laws: arrays, probabilities rather than their logarithms."""
        return self.numbers

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients (K, m) of `linear_features` and constants (K,) of the log-density, if it is linear."""
        raise NotImplementedError

    def linear_features(self, X: Array) -> Array:
        """Features in which the log-density is linear, of shape (n, m)."""
        raise NotImplementedError

    def linear_names(self, names: list[str]) -> list[str]:
        """Names of the features, from those of the columns."""
        return names


class ColumnFamily(ABC):
    """What is added up over the rows of some columns, and the laws that are estimated from it."""

    name: ClassVar[str]
    statistics: ClassVar[Any]  # the named tuple of what is added up
    takes_sparse: ClassVar[bool] = False

    def prepare(self, data: Rows, columns: NDArray[np.intp], n_classes: int) -> Any:
        """What a walk needs to know before it begins: a shift, the bins."""
        return None

    @abstractmethod
    def gather(self, share: Share, state: Any) -> Any:
        """Statistics of one block."""

    def merge(self, left: Any, right: Any) -> Any:
        """Statistics of two blocks together."""
        return add(left, right)

    def join(self, first: Any, first_state: Any, second: Any, second_state: Any) -> tuple[Any, Any]:
        """Statistics of two walks that began with different states, and the state that they then have."""
        return self.merge(first, second), first_state

    def again(self, statistics: Any, state: Any) -> Any:
        """What to walk again with, where the first walk lost digits; else None."""
        return None

    @abstractmethod
    def estimate(self, statistics: Any, state: Any) -> ColumnLaws:
        """The laws of the columns."""

    @abstractmethod
    def gradient(self, laws: Any, statistics: Any, state: Any) -> float:
        """Largest component of the gradient of the (penalised) log-likelihood at the laws, over its scale."""


def relative(values: Array, scale: Array) -> float:
    """The largest |value|/scale, 0 where there is nothing to scale by."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(scale > 0, np.abs(values) / scale, np.abs(values))
    return float(np.max(shares, initial=0.0)) if not np.isnan(shares).any() else float("nan")


# Counts: yes or no, numbers of events, and words of one bag.


class Totals(NamedTuple):
    """Σ s and Σ s x of each class and column."""

    counts: Array
    sums: Array


def class_totals(share: Share) -> Totals:
    """Weights and weighted sums of the values that are not missing, by class."""
    marks = share.marks
    if not isinstance(share.X, np.ndarray):
        sums = np.asarray((share.X.T @ marks.T).T)
        return Totals(np.repeat(marks.sum(axis=1)[:, None], sums.shape[1], axis=1), sums)
    missing = np.isnan(share.X)
    if not missing.any():
        counts = np.repeat(marks.sum(axis=1)[:, None], share.X.shape[1], axis=1)
        return Totals(counts, marks @ share.X)
    return Totals(marks @ ~missing, marks @ np.where(missing, 0.0, share.X))


class BernoulliLaws(ColumnLaws):
    """P(x_j = 1) = p_kj, from log p and log(1 − p)."""

    log_odds = "affine"
    takes_sparse: ClassVar[Any] = True

    def __init__(self, log_ones: Array, binarize: float | None = None) -> None:
        self.log_ones, self.binarize = log_ones, binarize
        with np.errstate(divide="ignore"):
            self.log_zeros = np.log(-np.expm1(log_ones))
        self.n_classes = len(log_ones)

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"log_ones": self.log_ones, "binarize": self.binarize}

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers to compare with those of other laws."""
        return {"probabilities": np.exp(self.log_ones)}

    def marked(self, X: Any) -> Any:
        """The rows as zeros and ones, where a threshold makes them so."""
        return marked(X, self.binarize)

    def log_density(self, X: Any) -> NDArray:
        """Σ_j x_j log p_kj + (1 − x_j) log(1 − p_kj)."""
        rows = self.marked(X)
        if not isinstance(rows, np.ndarray):
            slopes, constants = self.linear_terms()
            return np.asarray(rows @ slopes.T + constants)
        missing = np.isnan(rows)
        finite = np.isfinite(self.log_ones).all() and np.isfinite(self.log_zeros).all()
        if finite and not missing.any():
            slopes, constants = self.linear_terms()
            return np.asarray(rows @ slopes.T + constants)
        ones, zeros = (rows == 1.0).astype(np.float64), (rows == 0.0).astype(np.float64)
        return _masked_product(ones, self.log_ones) + _masked_product(zeros, self.log_zeros)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""
        chances = np.exp(self.log_ones)[codes]
        return (rng.random(chances.shape) < chances).astype(np.float64)

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients and constants of the linear form."""
        return self.log_ones - self.log_zeros, self.log_zeros.sum(axis=1)

    def linear_features(self, X: Array) -> Array:
        """Features of the linear form."""
        return np.asarray(self.marked(X))


def marked(X: Any, binarize: float | None) -> Any:
    """Zeros and ones: 1 for values above the threshold; missing values stay missing."""
    if binarize is None:
        return X
    if not isinstance(X, np.ndarray):
        if binarize < 0:
            return marked(X.toarray(), binarize)
        marks = X.copy()
        marks.data = (X.data > binarize).astype(np.float64)
        return marks
    return np.where(np.isnan(X), np.nan, (binarize < X).astype(np.float64))


def require_marks(values: NDArray) -> None:
    """Raise one sentence unless yes-no columns hold 0, 1 and missing values alone."""
    if not np.all((values == 0) | (values == 1) | np.isnan(values)):
        raise ValueError(
            "A column of the family 'bernoulli' must hold 0 and 1 alone; give it another family, or "
            "a threshold by BernoulliNB(binarize=...)."
        )


def _masked_product(marks: Array, logs: Array) -> Array:
    """Σ_j m_j log p_kj with 0·(−∞) = 0."""
    finite = np.isfinite(logs)
    total = marks @ np.where(finite, logs, 0.0).T
    if not finite.all():
        total[(marks @ (~finite).T.astype(np.float64)) > 0] = -np.inf
    return np.asarray(total)


class BernoulliFamily(ColumnFamily):
    """Yes-no columns: p_kj = (Σ s x + α)/(Σ s + 2α)."""

    name = "bernoulli"
    statistics = Totals
    takes_sparse: ClassVar[Any] = True

    def __init__(self, alpha: Any = 1.0, binarize: float | None = None) -> None:
        self.alpha, self.binarize = alpha, binarize

    def gather(self, share: Share, state: Any) -> Totals:
        """Statistics of one block."""
        X = marked(share.X, self.binarize)
        if self.binarize is None:
            require_marks(X if isinstance(X, np.ndarray) else X.data)
        return class_totals(share._replace(X=X))

    def estimate(self, statistics: Totals, state: Any) -> BernoulliLaws:
        """The laws of the columns."""
        alpha = self.alpha
        with np.errstate(divide="ignore", invalid="ignore"):
            ones = np.log(statistics.sums + alpha) - np.log(statistics.counts + 2 * np.asarray(alpha))
        empty = statistics.counts + 2 * np.asarray(alpha) == 0
        return BernoulliLaws(np.where(empty, np.log(0.5), ones), self.binarize)

    def gradient(self, laws: BernoulliLaws, statistics: Totals, state: Any) -> float:
        """(Σ s x + α)(1 − p) − (Σ s − Σ s x + α) p, over Σ s + 2α."""
        alpha, p = np.asarray(self.alpha), np.exp(laws.log_ones)
        ones, zeros = statistics.sums + alpha, statistics.counts - statistics.sums + alpha
        return relative(ones * (1 - p) - zeros * p, ones + zeros)


class PoissonLaws(ColumnLaws):
    """P(x_j = m) = e^{−λ} λ^m/m!, with λ_kj."""

    log_odds = "affine"

    def __init__(self, rates: Array) -> None:
        self.rates, self.n_classes = rates, len(rates)

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"rates": self.rates}

    def log_density(self, X: Array) -> NDArray:
        """Σ_j x_j log λ_kj − λ_kj − log x_j!, a column without events in any class telling nothing."""
        there = ~np.isnan(X)
        counts = np.where(there, X, 0.0)
        total = np.column_stack(
            [(xlogy(counts, rates) - rates * there).sum(axis=1) for rates in self._known_rates()]
        )
        return np.asarray(total - gammaln(counts + 1).sum(axis=1)[:, None])

    def _known_rates(self) -> Array:
        return np.where(self.rates.max(axis=0) > 0, self.rates, 1.0)

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""
        return rng.poisson(self.rates[codes]).astype(np.float64)

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients and constants of the linear form."""
        rates = self._known_rates()
        with np.errstate(divide="ignore"):
            return np.log(rates), -rates.sum(axis=1)

    def linear_features(self, X: Array) -> Array:
        """Features of the linear form."""
        return X


class PoissonFamily(ColumnFamily):
    """Counts: λ_kj = (Σ s x + α m_j)/(Σ s + α), drawn by α rows towards the mean m_j of the column."""

    name = "poisson"
    statistics = Totals

    def __init__(self, alpha: float = 1.0) -> None:
        self.alpha = alpha

    def gather(self, share: Share, state: Any) -> Totals:
        """Statistics of one block."""
        values = np.asarray(share.X)
        if np.any(values < 0):
            raise ValueError(
                "A column of the family 'poisson' must hold counts at least 0. Got "
                f"{np.nanmin(values):g}; give it the family 'gaussian'."
            )
        return class_totals(share)

    def estimate(self, statistics: Totals, state: Any) -> PoissonLaws:
        """The laws of the columns."""
        total, weight = statistics.sums.sum(axis=0), statistics.counts.sum(axis=0)
        mean = total / np.where(weight > 0, weight, 1.0)
        heavy = statistics.counts + self.alpha
        return PoissonLaws(
            np.where(heavy > 0, (statistics.sums + self.alpha * mean) / np.maximum(heavy, 1e-300), mean)
        )

    def gradient(self, laws: PoissonLaws, statistics: Totals, state: Any) -> float:
        """Σ s x + α m − λ (Σ s + α), over Σ s x + α m."""
        mean = statistics.sums.sum(axis=0) / np.maximum(statistics.counts.sum(axis=0), 1e-300)
        events = statistics.sums + self.alpha * mean
        return relative(events - laws.rates * (statistics.counts + self.alpha), events)
