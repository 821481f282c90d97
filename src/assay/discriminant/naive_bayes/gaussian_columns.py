"""Gaussian columns of naive Bayes: a mean and a variance of each class and column."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.discriminant.naive_bayes.columns import Array, ColumnFamily, ColumnLaws, Share, relative
from assay.discriminant.naive_bayes.loops import add_moments, gaussian_log_density
from assay.rows import Block, Rows
from assay.solvers.least_squares.moments import LARGEST_SQUARE, PILOT_ROWS, too_large

LOST = 1e-6
"""Share of a sum of squares below which what is left of it after centring is measured again."""


EPS = float(np.finfo(np.float64).eps)


class GaussianLaws(ColumnLaws):
    """x_j | Y = k ~ N(μ_kj, σ²_kj)."""

    log_odds = "quadratic"

    def __init__(self, means: Array, variances: Array) -> None:
        self.means, self.variances, self.n_classes = means, variances, len(means)

    @property
    def numbers(self) -> dict[str, Any]:
        """What the laws are built from."""
        return {"means": self.means, "variances": self.variances}

    def log_density(self, X: Array) -> NDArray:
        """−½ Σ_j log 2πσ²_kj + (x_j − μ_kj)²/σ²_kj."""
        out = np.empty((len(X), self.n_classes))
        constants = -0.5 * np.log(2 * np.pi * self.variances)
        means, halves, constants = _whole(self.means, 0.5 / self.variances, constants)
        gaussian_log_density(X, means, halves, constants, out)
        return out

    def draw(self, codes: NDArray[np.intp], rng: np.random.Generator) -> NDArray:
        """One row of each of the classes with these places."""
        noise = rng.standard_normal((len(codes), self.means.shape[1]))
        return np.asarray(self.means[codes] + np.sqrt(self.variances)[codes] * noise)

    @property
    def center(self) -> Array:
        """The point about which the linear form is written: amid the means."""
        return np.asarray(self.means.mean(axis=0))

    def linear_terms(self) -> tuple[Array, Array]:
        """Coefficients and constants of the linear form."""
        offset = self.means - self.center
        slopes, curvatures = offset / self.variances, -0.5 / self.variances
        constants = -0.5 * (np.log(2 * np.pi * self.variances) + offset**2 / self.variances)
        return np.hstack([slopes, curvatures]), constants.sum(axis=1)

    def linear_features(self, X: Array) -> Array:
        """Features of the linear form."""
        centred = X - self.center
        return np.hstack([centred, centred**2])

    def linear_names(self, names: list[str]) -> list[str]:
        """Names of the features."""
        pairs = zip(names, self.center, strict=True)
        written = [f"({name} − {center:.4g})" if center else name for name, center in pairs]
        return written + [f"{name}²" for name in written]


def _whole(*tables: Array) -> list[Array]:
    return [np.ascontiguousarray(table, dtype=np.float64) for table in tables]


class Moments(NamedTuple):
    """Σ s, Σ s (x − p) and Σ s (x − p)² of each class and column, p being the shift."""

    counts: Array
    sums: Array
    squares: Array


class Spread(NamedTuple):
    """Weights, means and sums of squares about the means of classes; the variances of whole columns."""

    counts: Array
    means: Array
    scatter: Array
    total: Array


class FlatColumnError(ValueError):
    """A column does not vary within a class: the places of the class and of the column in its group."""


class GaussianFamily(ColumnFamily):
    """Means and variances of classes; a share of the largest variance of a column is added to each."""

    name = "gaussian"
    statistics = Moments

    def __init__(self, var_smoothing: float = 1e-9) -> None:
        self.var_smoothing = var_smoothing

    def prepare(self, data: Rows, columns: NDArray[np.intp], n_classes: int) -> Array:
        """A rough mean of each column, to subtract before anything is squared."""
        shift = data.head(PILOT_ROWS, rough_means, columns)
        return np.ascontiguousarray(np.broadcast_to(shift, (n_classes, len(columns))))

    def gather(self, share: Share, state: Array) -> Moments:
        """Statistics of one block."""
        counts, sums, squares = (np.zeros(state.shape) for _ in range(3))
        add_moments(share.X, share.codes, share.weights, state, counts, sums, squares)
        return Moments(counts, sums, squares)

    def join(
        self, first: Moments, first_state: Array, second: Moments, second_state: Array
    ) -> tuple[Moments, Array]:
        """Moments about the means of all rows, from those about the means of each part."""
        parts = [self.spread(first, first_state), self.spread(second, second_state)]
        counts = first.counts + second.counts
        heavy = np.where(counts > 0, counts, 1.0)
        shares = [part.counts / heavy for part in parts]
        # A weighted mean written from the first, so that equal means stay as they are.
        means = np.where(shares[0] > 0, parts[0].means, parts[1].means)
        means = means + np.where(shares[0] > 0, shares[1] * (parts[1].means - means), 0.0)
        steps = [np.where(part.counts > 0, part.means - means, 0.0) for part in parts]
        sums = sum(part.counts * step for part, step in zip(parts, steps, strict=True))
        squares = sum(part.scatter + part.counts * step**2 for part, step in zip(parts, steps, strict=True))
        return Moments(counts, np.asarray(sums), np.asarray(squares)), means

    def again(self, statistics: Moments, state: Array) -> Array | None:
        """The means of the classes, where little is left of the sums of squares about them."""
        if not np.isfinite(statistics.squares).all() or statistics.squares.max(initial=0.0) > LARGEST_SQUARE:
            raise too_large("X")
        spread = self.spread(statistics, state)
        lost = (spread.scatter < LOST * statistics.squares) & (statistics.counts > 0)
        moved = np.where(statistics.counts > 0, spread.means, state)
        return moved if lost.any() and not np.array_equal(moved, state) else None

    def spread(self, statistics: Moments, state: Array) -> Spread:
        """Moments about the means of the classes."""
        counts, sums, squares = statistics
        heavy = np.where(counts > 0, counts, 1.0)
        offset = sums / heavy
        scatter = np.maximum(squares - counts * offset**2, 0.0)
        means, weight = state + offset, np.maximum(counts.sum(axis=0), 1e-300)
        center = np.einsum("kj,kj->j", counts, means) / weight
        means = np.where(counts > 0, means, center)  # the mean of no row is that of all rows
        total = (scatter.sum(axis=0) + np.einsum("kj,kj->j", counts, (means - center) ** 2)) / weight
        return Spread(counts, means, scatter, total)

    def epsilon(self, statistics: Moments, state: Array) -> float:
        """What is added to each variance; a table of constant columns is taken for one of variance 1."""
        largest = float(self.spread(statistics, state).total.max(initial=0.0))
        return self.var_smoothing * (largest or 1.0)

    def estimate(self, statistics: Moments, state: Array) -> GaussianLaws:
        """The laws of the columns."""
        spread, epsilon = self.spread(statistics, state), self.epsilon(statistics, state)
        heavy = np.where(spread.counts > 0, spread.counts, 1.0)
        own = np.where(spread.counts > 0, spread.scatter / heavy, spread.total)
        variances = own + epsilon
        if np.any(variances <= 0):
            raise FlatColumnError(*np.argwhere(variances <= 0)[0].tolist())
        return GaussianLaws(spread.means, variances)

    def gradient(self, laws: GaussianLaws, statistics: Moments, state: Array) -> float:
        """Of the mean, Σ s (x − μ)/(n σ), and of the variance, (Σ s (x − μ)² − n (σ² − ε))/(n σ²)."""
        counts, sums, squares = statistics
        step = laws.means - state
        slope = _beyond(sums - counts * step, 4 * EPS * counts * np.abs(laws.means)) / np.sqrt(laws.variances)
        about = squares - 2 * step * sums + counts * step**2
        bend = (about - counts * (laws.variances - self.epsilon(statistics, state))) / laws.variances
        # Squares are known to the rounding of what was added up, beside a variance that may be far smaller.
        bend = _beyond(bend, 64 * EPS * squares / laws.variances)
        return max(relative(slope, counts), relative(bend, counts))


def _beyond(values: Array, rounding: Array) -> Array:
    """What of the values is more than rounding."""
    return np.asarray(np.sign(values) * np.maximum(np.abs(values) - rounding, 0.0))


def rough_means(block: Block, columns: NDArray[np.intp]) -> Array:
    """Means of the values of some columns that are not missing, 0 without any."""
    X = block.dense[:, columns].astype(np.float64)
    there = ~np.isnan(X)
    with np.errstate(over="ignore"):
        means = np.where(there, X, 0.0).sum(axis=0) / np.maximum(there.sum(axis=0), 1)
    return np.where(np.isfinite(means), means, 0.0)
