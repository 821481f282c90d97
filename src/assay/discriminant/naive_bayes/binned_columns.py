"""Columns counted in levels or bins: categories, histograms, and kernel densities on a grid."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.naive_bayes.columns import (
    Array,
    ColumnFamily,
    ColumnLaws,
    Share,
    chosen_columns,
    relative,
)
from assay.discriminant.naive_bayes.loops import (
    count_bins,
    count_levels,
    level_log_density,
    raise_to_highest,
    widen_ranges,
)
from assay.parameters import LARGEST, SMALLEST
from assay.rows import Block, Rows
from assay.solvers.least_squares.moments import too_large

MOST_LEVELS = 2**20
"""Levels of a column beyond which it is an index, not a category."""


class LevelCounts(NamedTuple):
    """Counts of each column, of shape (n_classes, n_levels), levels as far as any row goes."""

    counts: tuple[Array, ...]


class CategoricalLaws(ColumnLaws):
    """P(x_j = l) = p_kjl; a level that the fit has not seen has the probability of one with no count.

    Attributes
    ----------
    log_probabilities : sequence of arrays of shape (K, L_j)
    log_unseen : array of shape (d, K)
        Of levels that the fit has not seen; 0 where nothing is smoothed, so that the factor is left out.
    """

    log_odds = "affine"

    def __init__(self, log_probabilities: Sequence[Array], log_unseen: Array) -> None:
        self.log_probabilities, self.log_unseen = tuple(log_probabilities), log_unseen
        self.n_classes = log_unseen.shape[1]
        self.sizes = np.array([table.shape[1] for table in self.log_probabilities], dtype=np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.sizes + 1)[:-1]]).astype(np.int64)
        parts = zip(self.log_probabilities, log_unseen, strict=True)
        self.table = np.ascontiguousarray(np.vstack([np.vstack([own.T, new[None]]) for own, new in parts]))

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"log_probabilities": list(self.log_probabilities), "log_unseen": self.log_unseen}

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers to compare with those of other laws."""
        return {"probabilities": np.exp(self.table)}

    def log_density(self, X: Array) -> NDArray:
        """Σ_j log p_kj(x_j)."""
        out = np.empty((len(X), self.n_classes))
        level_log_density(X, self.starts, self.sizes, self.table, out)
        return out

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""
        X = np.empty((len(codes), len(self.sizes)))
        for j, table in enumerate(self.log_probabilities):
            steps = np.cumsum(np.exp(table), axis=1)
            steps /= steps[:, -1:]
            X[:, j] = np.sum(rng.random(len(codes))[:, None] >= steps[codes, :-1], axis=1)
        return X

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients and constants of the linear form."""
        return np.hstack(self.log_probabilities), np.zeros(self.n_classes)

    def linear_features(self, X: Array) -> Array:
        """Features of the linear form."""
        levels = np.trunc(X)  # numbers that are not whole are cut, as when they are counted
        pieces = [(levels[:, [j]] == np.arange(size)).astype(np.float64) for j, size in enumerate(self.sizes)]
        return np.hstack(pieces)

    def linear_names(self, names: list[str]) -> list[str]:
        """Names of the features."""
        pairs = zip(names, self.sizes, strict=True)
        return [f"{name} = {level}" for name, size in pairs for level in range(size)]


class CategoricalFamily(ColumnFamily):
    """Levels 0, 1, …: p_kjl = (c_kjl + α)/(Σ_l c_kjl + α L_j)."""

    name = "categorical"
    statistics = LevelCounts

    def __init__(self, alpha: float = 1.0, least_levels: Any = 0, *, whole: bool = True) -> None:
        self.alpha, self.least_levels, self.whole = alpha, least_levels, whole

    def gather(self, share: Share, state: Any) -> LevelCounts:
        """Statistics of one block."""
        if not share.weights.all():  # levels of rows that do not count are none
            there = share.weights > 0
            share = Share(frozen(share.X[there]), share.codes[there], share.weights[there], share.n_classes)
        highest = np.full(share.X.shape[1], -1.0)
        raise_to_highest(share.X, highest)
        if highest.max(initial=0.0) >= MOST_LEVELS:
            raise ValueError(
                f"A column of the family 'categorical' must hold levels below {MOST_LEVELS}. Got "
                f"{highest.max():g}; bin it or give it another family."
            )
        sizes = highest.astype(np.int64) + 1
        k = share.n_classes
        starts = np.concatenate([[0], np.cumsum(sizes * k)]).astype(np.int64)
        flat = np.zeros(starts[-1])
        wrong = count_levels(share.X, share.codes, share.weights, starts, k, self.whole, flat)
        if wrong >= 0:
            raise ValueError(
                f"Negative values in data passed to CategoricalNB (input X), or numbers that are not whole: "
                f"column {wrong} must hold levels 0, 1, …; encode its categories, or pass a frame with text."
            )
        pieces = (flat[start:stop].reshape(-1, k).T for start, stop in itertools.pairwise(starts))
        return LevelCounts(tuple(np.ascontiguousarray(piece) for piece in pieces))

    def merge(self, left: LevelCounts, right: LevelCounts) -> LevelCounts:
        """Statistics of two blocks together."""
        pairs = zip(left.counts, right.counts, strict=True)
        return LevelCounts(tuple(_sum_of_ragged(first, second) for first, second in pairs))

    def estimate(self, statistics: LevelCounts, state: Any) -> CategoricalLaws:
        """The laws of the columns."""
        counts = self.padded(statistics)
        tables = []
        unseen = np.zeros((len(counts), len(counts[0]) if counts else 0))
        for j, own in enumerate(counts):
            alpha = self.alpha
            totals = (own + alpha).sum(axis=1, keepdims=True)
            safe = np.where(totals > 0, totals, 1.0)
            with np.errstate(divide="ignore"):
                tables.append(np.where(totals > 0, np.log(own + alpha) - np.log(safe), -np.log(own.shape[1])))
            if alpha > 0:
                unseen[j] = np.log(alpha) - np.log(totals[:, 0])
        return CategoricalLaws(tables, unseen)

    def padded(self, statistics: LevelCounts) -> list[Array]:
        """Counts with as many levels as were asked for at least, and one at least."""
        least = np.broadcast_to(np.asarray(self.least_levels, dtype=int), (len(statistics.counts),))
        return [
            _sum_of_ragged(own, np.zeros((len(own), max(int(size), 1))))
            for own, size in zip(statistics.counts, least, strict=True)
        ]

    def gradient(self, laws: CategoricalLaws, statistics: LevelCounts, state: Any) -> float:
        """(c_l + α) − p_l Σ_m(c_m + α), over that sum."""
        worst = 0.0
        for own, logs in zip(self.padded(statistics), laws.log_probabilities, strict=True):
            if own.shape != logs.shape:
                return float("inf")
            smoothed = own + self.alpha
            totals = np.broadcast_to(smoothed.sum(axis=1, keepdims=True), own.shape)
            shares = np.where(totals > 0, smoothed - np.exp(logs) * totals, 0.0)
            worst = float(np.maximum(worst, relative(shares, totals)))  # NaN stays NaN
        return worst


def frozen(X: Array) -> Array:
    """The array, read-only: one compiled loop serves all."""
    X.flags.writeable = False
    return X


def _sum_of_ragged(left: Array, right: Array) -> Array:
    if left.shape[1] == right.shape[1]:
        return left + right
    long, short = (left, right) if left.shape[1] > right.shape[1] else (right, left)
    total = long.copy()
    total[:, : short.shape[1]] += short
    return total


# Numbers in bins.


class Bins(NamedTuple):
    """Edges of the bins of each column, all of the same number of bins."""

    edges: Array  # (d, n_bins + 1)


class HistogramLaws(ColumnLaws):
    """A density that is constant on each bin, and beyond the outermost edges that of the outermost bins.

    Attributes
    ----------
    edges : array of shape (d, B + 1)
    log_heights : array of shape (K, d, B)
    """

    def __init__(self, edges: Array, log_heights: Array) -> None:
        self.edges, self.log_heights, self.n_classes = edges, log_heights, len(log_heights)

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"edges": self.edges, "log_heights": self.log_heights}

    @property
    def parameters(self) -> dict[str, Any]:
        """Numbers to compare with those of other laws."""
        return {"edges": self.edges, "heights": np.exp(self.log_heights)}

    def log_density(self, X: Array) -> NDArray:
        """Σ_j log height of the bin of x_j."""
        total = np.zeros((len(X), self.n_classes))
        for j, edges in enumerate(self.edges):
            there = ~np.isnan(X[:, j])
            places = bins_of(X[there, j], edges)
            total[there] += self.log_heights[:, j, places].T
        return total

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""
        X = np.empty((len(codes), len(self.edges)))
        for j, edges in enumerate(self.edges):
            steps = np.cumsum(np.exp(self.log_heights[:, j]) * np.diff(edges), axis=1)
            steps /= steps[:, -1:]
            places = np.sum(rng.random(len(codes))[:, None] >= steps[codes, :-1], axis=1)
            X[:, j] = edges[places] + rng.random(len(codes)) * np.diff(edges)[places]
        return X

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients and constants of the linear form."""
        return self.log_heights.reshape(self.n_classes, -1), np.zeros(self.n_classes)

    def linear_features(self, X: Array) -> Array:
        """Features of the linear form."""
        n_bins = self.edges.shape[1] - 1
        columns = [
            bins_of(X[:, j], edges)[:, None] == np.arange(n_bins) for j, edges in enumerate(self.edges)
        ]
        return np.hstack(columns).astype(np.float64)

    def linear_names(self, names: list[str]) -> list[str]:
        """Names of the features."""
        pairs = zip(names, self.edges, strict=True)
        return [
            f"{name} in [{low:.4g}, {high:.4g})"
            for name, edges in pairs
            for low, high in itertools.pairwise(edges)
        ]


def bins_of(values: Array, edges: Array) -> NDArray[np.intp]:
    """Place of the bin of each value; the outermost bins take what is beyond them."""
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


class BinCounts(NamedTuple):
    """Counts by class, column and bin."""

    counts: Array  # (K, d, B)


class HistogramFamily(ColumnFamily):
    """Equal bins over the range of each column: heights (c + α)/((Σ c + αB)·width)."""

    name = "histogram"
    statistics = BinCounts

    def __init__(self, alpha: float = 1.0, n_bins: int = 20) -> None:
        self.alpha, self.n_bins = alpha, n_bins

    def prepare(self, data: Rows, columns: NDArray[np.intp], n_classes: int) -> Bins:
        """Ends of the columns, by a walk of their own."""
        low, high = data.reduce(column_ranges, columns, combine=merge_ranges)
        return Bins(np.linspace(*open_ranges(low, high), self.n_bins + 1, axis=1))

    def gather(self, share: Share, state: Bins) -> BinCounts:
        """Statistics of one block."""
        counts = np.zeros((share.n_classes, len(state.edges), state.edges.shape[1] - 1))
        count_bins(share.X, share.codes, share.weights, state.edges, counts)
        return BinCounts(counts)

    def estimate(self, statistics: BinCounts, state: Bins) -> HistogramLaws:
        """The laws of the columns."""
        smoothed = statistics.counts + self.alpha
        totals = smoothed.sum(axis=2, keepdims=True)
        smoothed = np.where(totals > 0, smoothed, 1.0)
        with np.errstate(divide="ignore"):
            logs = np.log(smoothed) - np.log(smoothed.sum(axis=2, keepdims=True))
        return HistogramLaws(state.edges, logs - np.log(np.diff(state.edges, axis=1)))

    def gradient(self, laws: HistogramLaws, statistics: BinCounts, state: Bins) -> float:
        """(c + α) − height·width·Σ(c + α), over that sum."""
        smoothed = statistics.counts + self.alpha
        totals = np.broadcast_to(smoothed.sum(axis=2, keepdims=True), smoothed.shape)
        masses = np.exp(laws.log_heights) * np.diff(laws.edges, axis=1)
        return relative(np.where(totals > 0, smoothed - masses * totals, 0.0), totals)


def column_ranges(block: Block, columns: NDArray[np.intp]) -> tuple[Array, Array]:
    """Smallest and largest value of some columns among the rows that count; ±infinity without any."""
    X = chosen_columns(block.dense, columns)
    X = X if block.weight is None else frozen(X[block.weight > 0])
    low, high = np.full(len(columns), np.inf), np.full(len(columns), -np.inf)
    widen_ranges(X, low, high)
    return low, high


def merge_ranges(left: tuple[Array, Array], right: tuple[Array, Array]) -> tuple[Array, Array]:
    """Ranges of two blocks together."""
    return np.fmin(left[0], right[0]), np.fmax(left[1], right[1])


def open_ranges(low: Array, high: Array) -> tuple[Array, Array]:
    """Ranges of positive width: a column of one value gets half a unit, or half its size, on either side."""
    known = np.isfinite(low) & np.isfinite(high)
    if np.any(np.maximum(np.abs(low), np.abs(high))[known] > LARGEST):
        raise too_large("X")
    low, high = np.where(known, low, 0.0), np.where(known, high, 1.0)
    size = np.maximum(np.abs(low), np.abs(high))
    wide = high - low > np.maximum(1e-12 * size, SMALLEST)
    room = np.where(wide, 0.0, 0.5 * np.maximum(size, 1.0))
    return low - room, high + room
