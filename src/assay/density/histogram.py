"""Histograms as densities: counts of cells, chosen by exact cross-validation or by the truth."""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy import integrate

from assay.certificates import Certificates, agreement, at_least, at_most
from assay.density.base import Array, PdfInterval, RoomDensity, check_spread, check_volume, log_of
from assay.density.cells import (
    Cells,
    Extent,
    cells_of_block,
    in_cells,
    join_cells,
    join_extents,
    line_masses,
    places_among,
    range_of_block,
)
from assay.density.risk import histogram_risk, histogram_ucv
from assay.parameters import Domain, array, integer, nothing, one_of
from assay.rows import Block, Rows

SOURCE = "Douc & Le Corff §2.1"

MOST_BINS = {"bins": 2**24, "max_bins": 2**14}

BORDER = 1e-6
"""Share of the range beyond the outermost rows: the same rows in single precision are inside."""

SUPPORT = nothing | array(
    "a pair (low, high), or one for each column",
    lambda values: (
        values.shape[-1:] == (2,) and values.ndim <= 2 and bool(np.all(values[..., 0] < values[..., 1]))
    ),
)


class HistogramDensity(RoomDensity):
    """Density that is constant on the cells of a regular grid.

    Finds the shares of the rows in the m cells of a box [a, b), m for each column, of width h = (b − a)/m:

        p̂(x) = (1/(n v)) Σ_i Σ_j 1[X_i ∈ A_j] 1[x ∈ A_j],        v the volume of a cell.

    With `bins="ucv"` m minimises J(m) = 2/((n − 1)v) − (n + 1)/((n − 1)v) Σ_j (Z_j/n)², which is unbiased for
    the integrated squared error up to a constant. Of several columns only occupied cells are kept. One walk
    over the rows where the support is given, which counts for all m that are tried; without a support, one
    before it for the range of the rows; in memory, on disk or on a cluster.

    Assumes: rows independent of one law, whose density vanishes outside the support.

    Certificates: the heights integrate to 1; counts, edges and the criterion are those of the data; the least
    point of J is inside the grid.

    Parameters
    ----------
    bins : int, "ucv" or "oracle", default="ucv"
        Cells of each column; chosen by cross-validation, or by the exact risk under `truth` (one column).
    support : pair or array of shape (n_features, 2), optional
        Box of the density; the range of the rows and a millionth of it by default. Rows outside are refused.
    max_bins : int, optional
        Largest number tried; 4 n^{1/(d+2)} by default.
    truth : object with `pdf` and `cdf`, optional
        The law for `bins="oracle"`, such as a frozen distribution of SciPy.

    Attributes
    ----------
    bins_ : int
        m.
    support_ : array of shape (n_features, 2)
    cells_ : array of shape (n_cells, n_features)
        Places of the cells, all of them for one column, else those with rows.
    counts_ : array of shape (n_cells,)
        Z_j, the weight in each.
    n_samples_ : float
        Sum of the weights.
    candidates_, criterion_ : arrays
        Numbers of bins tried and the criterion of each; empty where `bins` is a number.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.density import HistogramDensity
    >>> X = np.array([[0.1], [0.2], [0.6], [0.9]])
    >>> model = HistogramDensity(bins=2, support=(0, 1)).fit(X)
    >>> model.counts_, model.pdf([[0.3], [0.7]]), model.pdf_variance([[0.3]])
    (array([2., 2.]), array([1., 1.]), array([0.25]))

    References
    ----------
    Douc & Le Corff §2.1, Proposition 2.1, whose integrated risk is printed with 1/(mn) in place of 1/(nh).
    """

    _domains: ClassVar = {
        "bins": integer(at_least=1) | one_of("ucv", "oracle"),
        "support": SUPPORT,
        "max_bins": nothing | integer(at_least=1),
        "truth": nothing
        | Domain("an object with pdf and cdf", lambda law: hasattr(law, "pdf") and hasattr(law, "cdf")),
    }

    def __init__(
        self, bins: Any = "ucv", *, support: Any = None, max_bins: Any = None, truth: Any = None
    ) -> None:
        self.bins = bins
        self.support = support
        self.max_bins = max_bins
        self.truth = truth

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Count the rows in the cells.

        Parameters
        ----------
        X : array, frame, path, Arrow or Dask of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,) or column name, optional
            A weight of 2 counts a row twice.
        """
        data = self._open_rows(X, None, sample_weight)
        counted = self._count(data)
        self.bins_, self.support_, self.n_samples_ = counted.bins, counted.support, counted.n_samples
        self.cells_, self.counts_ = counted.cells, counted.counts
        self.candidates_, self.criterion_ = counted.candidates, counted.criterion
        self.certificates_ = Certificates([self._integral(), *self._choice()])
        return self

    @property
    def widths_(self) -> Array:
        """Width of a cell in each column."""
        return (self.support_[:, 1] - self.support_[:, 0]) / self.bins_

    @property
    def volume_(self) -> float:
        """Volume of a cell."""
        return float(np.prod(self.widths_))

    @property
    def edges_(self) -> Array:
        """Borders of the cells, shape (n_features, m + 1)."""
        return np.linspace(self.support_[:, 0], self.support_[:, 1], self.bins_ + 1, axis=1)

    @property
    def heights_(self) -> Array:
        """p̂ on each of `cells_`."""
        return self.counts_ / (self.n_samples_ * self.volume_)

    def pdf_variance(self, X: Any) -> Array:
        """Estimated variance of p̂ at each row, p̂_j(1 − p̂_j)/(n v²) with p̂_j the share of its cell."""
        shares = np.asarray(self.pdf(X), dtype=np.float64) * self.volume_
        return shares * (1.0 - shares) / (self.n_samples_ * self.volume_**2)

    def pdf_interval(self, X: Any, coverage: float = 0.95) -> PdfInterval:
        """Interval for the mean height p_j/v of the cell of each row, by the binomial limit theorem."""
        z = self._quantile_of(coverage)
        pdf = np.asarray(self.pdf(X), dtype=np.float64)
        half = z * np.sqrt(self.pdf_variance(X))
        return PdfInterval(pdf, np.maximum(pdf - half, 0.0), pdf + half)

    def cdf(self, X: Any) -> Array:
        """Distribution function of the estimate at each row, of one column."""
        self._need_one_column("cdf")
        rows = np.asarray(self._open_new_rows(X).take(np.arange(len(X))), dtype=np.float64)[:, 0]
        reached = np.concatenate([[0.0], np.cumsum(self.counts_)]) / self.n_samples_
        return np.interp(rows, self.edges_[0], reached)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """See `Model.certify`."""
        data = self._open_new_rows(X, None, sample_weight)
        fresh = self._count(data)
        names = ("bins", "support", "cells", "counts", "n_samples", "candidates", "criterion")
        pairs = {name: (getattr(self, f"{name}_"), getattr(fresh, name)) for name in names}
        claim = "Cells, counts and criterion are those of the rows."
        return Certificates([self._integral(), *self._choice(), agreement(claim, pairs, SOURCE)])

    def _count(self, data: Rows) -> Counted:
        """One walk where the support is given, else one for the range of the rows before it."""
        n_features, is_choice = data.shape[1], isinstance(self.bins, str)
        if self.bins == "oracle" and (self.truth is None or n_features > 1):
            raise self._refuse("bins", "an int or 'ucv' without the 'truth' of one column")
        # How many bins are tried depends on the weight of the rows.
        needs_range = self.support is None or (is_choice and data.has_weight)
        extent: Extent | None = None
        if needs_range:
            extent = data.reduce(range_of_block, combine=join_extents)
            check_spread(self, extent.low, extent.high)
        support = self._box(extent, n_features)
        tried = self._tried(float(data.shape[0]) if extent is None else extent.weight, n_features)
        for m in (1, len(tried)) if is_choice else (self.bins, self.bins):
            check_volume(self, (support[:, 1] - support[:, 0]) / m)
        if self.bins == "oracle":
            n_rows = data.shape[0] if extent is None else extent.weight
            criterion = np.array([imse(self.truth, n_rows, int(m), tuple(support[0])) for m in tried])
            counted = tried[[int(np.argmin(criterion))]]
        else:
            counted = tried if is_choice else np.array([self.bins])
        walked: Walked = data.reduce(_walk, support, counted, extent is None, combine=_join_walked)
        if extent is None:
            assert walked.extent is not None
            extent = walked.extent
            self._check_inside(extent, support)
        if n_features == 1:
            walked = walked._replace(cells=_apart(walked.cells, counted))
        if self.bins != "oracle":
            criterion = _criteria(walked.cells, support, tried, extent.weight) if is_choice else np.empty(0)
        place = int(np.argmin(criterion)) if self.bins == "ucv" else 0
        bins, cells = int(counted[place]), walked.cells[place]
        places, counts = cells.places, cells.mass
        candidates = tried if len(criterion) else np.empty(0, dtype=np.int64)
        return Counted(bins, support, places, counts, extent.weight, candidates, criterion)

    def _tried(self, n_samples: float, n_features: int) -> NDArray[np.int64]:
        for name, given in (("bins", self.bins), ("max_bins", self.max_bins)):
            if not isinstance(given, str) and (given or 0) > MOST_BINS[name]:
                raise self._refuse(name, f"at most {MOST_BINS[name]}")
        most = self.max_bins or int(np.ceil(4.0 * max(n_samples, 1.0) ** (1.0 / (n_features + 2))))
        return np.arange(1, most + 1)

    def _box(self, extent: Extent | None, n_features: int) -> Array:
        """The box asked for, or the range of the rows; a constant column has a cell of its size around it."""
        if self.support is None:
            assert extent is not None
            size = BORDER * (extent.high - extent.low)
            size = np.where(size > 0.0, size, np.maximum(np.abs(extent.low), 1.0) * 0.5)
            return np.stack([extent.low - size, extent.high + size], axis=1)
        box = np.broadcast_to(np.asarray(self.support, dtype=np.float64), (n_features, 2)).copy()
        if extent is not None:
            self._check_inside(extent, box)
        return box

    def _check_inside(self, extent: Extent, box: Array) -> None:
        outside = (extent.low < box[:, 0]) | (extent.high > box[:, 1])
        if np.any(outside):
            low, high = (float(ends[np.argmax(outside)]) for ends in (extent.low, extent.high))
            raise self._refuse("support", f"a box of all rows, which go from {low:g} to {high:g}")

    def _integral(self) -> Any:
        widths = (self.support_[:, 1] - self.support_[:, 0]) / self.bins_
        total = float(np.sum(self.heights_) * np.prod(widths))
        claim = "The heights times the volumes of the cells sum to 1."
        return at_most(claim, "|∫p̂ − 1|", abs(total - 1.0), 1e-9, SOURCE)

    def _choice(self) -> list[Any]:
        if len(self.criterion_) < 2:
            return []
        least = int(np.argmin(self.criterion_))
        agreed = abs(int(self.candidates_[least]) - self.bins_)
        chosen = at_most(
            "The bins are those of the least criterion.", "bins off the minimum", agreed, 0, SOURCE
        )
        inside = len(self.criterion_) - 1 - least
        claim = "The least criterion is below the largest number of bins tried: more would not be better."
        return [chosen, at_least(claim, "numbers of bins tried beyond the best", inside, 1, SOURCE)]

    def _evaluator(self) -> HistogramHeights:
        return HistogramHeights(self.support_, self.bins_, self.cells_, self.heights_)

    def _draw(self, n_samples: int, rng: np.random.Generator) -> Array:
        chosen = rng.choice(len(self.counts_), n_samples, p=self.counts_ / self.counts_.sum())
        places = self.cells_[chosen] + rng.random((n_samples, self.cells_.shape[1]))
        return self.support_[:, 0] + places * self.widths_

    def _need_one_column(self, method: str) -> None:
        if self.n_features_in_ != 1:
            raise ValueError(
                f"{type(self).__name__}.{method} is of one column; the fit has {self.n_features_in_}."
            )


class Counted(NamedTuple):
    """What a walk gives `HistogramDensity`."""

    bins: int
    support: Array
    cells: NDArray
    counts: Array
    n_samples: float
    candidates: NDArray
    criterion: Array


class HistogramHeights(NamedTuple):
    """Heights of cells, looked up for rows."""

    support: Array
    bins: int
    cells: NDArray
    heights: Array

    def pdf(self, rows: Array) -> Array:
        """Height of the cell of each row, 0 outside."""
        low, high = self.support.T
        inside = np.all((rows >= low) & (rows <= high), axis=1)
        scaled = np.where(inside[:, np.newaxis], in_cells(rows, low, (high - low) / self.bins), 0.0)
        places = np.minimum(np.floor(scaled).astype(np.int64), self.bins - 1)
        found = places_among(self.cells, places)
        return np.where(inside & (found >= 0), self.heights[found], 0.0)

    def log_pdf(self, rows: Array) -> Array:
        """Logarithm of the height."""
        return log_of(self.pdf(rows))


class Walked(NamedTuple):
    """Range of the rows, where it was asked for, and their cells for each number of bins.

    Of one column the weights of all cells, one number of bins after the other.
    """

    extent: Extent | None
    cells: Any


def _walk(block: Block, support: Array, tried: NDArray[np.int64], with_range: bool) -> Walked:
    low, size = support[:, 0], support[:, 1] - support[:, 0]
    with np.errstate(invalid="ignore"):  # rows far outside the support, which the range then tells of
        if len(low) == 1:
            cells: Any = line_masses(block, float(low[0]), float(size[0]), tried)
        else:
            cells = tuple(cells_of_block(block, low, size / m, np.full(len(low), m), False) for m in tried)
    return Walked(range_of_block(block) if with_range else None, cells)


def _join_walked(left: Walked, right: Walked) -> Walked:
    ranges = left.extent, right.extent
    extent = None if ranges[0] is None or ranges[1] is None else join_extents(ranges[0], ranges[1])
    if isinstance(left.cells, tuple):
        return Walked(extent, tuple(map(join_cells, left.cells, right.cells)))
    return Walked(extent, left.cells + right.cells)


def _apart(masses: Array, counted: NDArray[np.int64]) -> tuple[Cells, ...]:
    """The cells of one column for each number of bins, empty ones too."""
    nothing = np.empty((0, 0))
    parts = np.split(masses, np.cumsum(counted)[:-1])
    return tuple(Cells(np.arange(len(part))[:, np.newaxis], part, nothing, nothing) for part in parts)


def _criteria(cells: tuple[Cells, ...], support: Array, tried: NDArray[np.int64], n_samples: float) -> Array:
    """J for each number of bins."""
    if n_samples < 2:
        return np.zeros(len(tried))
    volumes = np.prod(support[:, 1] - support[:, 0]) / tried.astype(float) ** len(support)
    return np.array([histogram_ucv(each.mass, n_samples, v) for each, v in zip(cells, volumes, strict=True)])


def imse(law: Any, n_samples: float, bins: int, support: tuple[float, float]) -> float:
    """Exact integrated squared error of a histogram under a law on a support."""
    low, high = (float(end) for end in support)
    edges = np.linspace(low, high, bins + 1)
    probabilities = np.diff(law.cdf(edges))
    square = integrate.quad(lambda x: float(law.pdf(x)) ** 2, low, high, limit=500)[0]
    return histogram_risk(probabilities, square, n_samples, (high - low) / bins)
