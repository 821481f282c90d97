"""Kernel density of bins: one walk over rows wherever they live, with a certified error."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates, agreement, at_most
from assay.density.bandwidths import rule_factor
from assay.density.base import Array, RoomDensity, check_spread, check_volume
from assay.density.cells import (
    Cells,
    Extent,
    cells_of_block,
    extent_of_block,
    first_row,
    join_cells,
    join_extents,
)
from assay.density.kernel.certificates import integral_of, sampled_rows
from assay.density.kernel.evaluator import KernelEstimate, estimate_of
from assay.kernel_sums import KernelSums, smoothing_kernel
from assay.parameters import integer, one_of, real
from assay.rows import Block, Rows

SOURCE = "Douc & Le Corff §2.2"

MOST_PLACES = 2.0**62
"""Cells of a column that a place of 64 bits can count."""


class BinnedKernelDensity(RoomDensity):
    """Gaussian kernel density of the mean rows of small cells.

    Finds p̂(x) = (1/n) Σ_c w_c K_h(x − m_c), with m_c the mean and w_c the weight of the rows in a cell whose
    sides are a fraction of the bandwidth. Means make the error of second order: with s² the mean squared
    distance of the rows from their means, in bandwidths,

        |p̂(x) − (1/n) Σ_i K_h(x − X_i)| ≤ (s²/2) sup|K″|/Π h.

    Cells are found in one walk over rows in memory, on disk or on a cluster, for a number as bandwidth; a
    rule walks once before for the deviations of the columns. Only occupied cells are kept, so that it is for
    few columns or much data.

    Assumes: rows independent of one law.

    Certificates: the integral is 1; the evaluation error at sampled rows, against sums over all rows, is at
    most the bound; cells are those of the data.

    Parameters
    ----------
    bandwidth : float, "scott" or "silverman", default="scott"
        h of each column, or a rule that multiplies its deviation.
    cells_per_bandwidth : int, default=16
        Cells that a bandwidth spans.
    rtol : float, default=0
        Relative error of the sums over the cells that is allowed beside.

    Attributes
    ----------
    bandwidth_ : array of shape (n_features,)
    means_ : array of shape (n_cells, n_features)
    masses_ : array of shape (n_cells,)
    error_bound_ : float
        How far the estimate may be from that of the rows, anywhere.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.density import BinnedKernelDensity, KernelDensity
    >>> X = np.random.default_rng(0).standard_normal((1000, 1))
    >>> model = BinnedKernelDensity(bandwidth=0.3).fit(X)
    >>> exact = KernelDensity(bandwidth=0.3).fit(X)
    >>> len(model.means_) < 350, bool(np.abs(model.pdf(X) - exact.pdf(X)).max() <= model.error_bound_ < 4e-4)
    (True, True)

    References
    ----------
    Douc & Le Corff §2.2.1, §8.2.
    """

    _domains: ClassVar = {
        "bandwidth": real(above=0.0, squared=True) | one_of("scott", "silverman"),
        "cells_per_bandwidth": integer(at_least=1),
        "rtol": real(at_least=0.0),
    }

    def __init__(self, bandwidth: Any = "scott", *, cells_per_bandwidth: int = 16, rtol: float = 0) -> None:
        self.bandwidth = bandwidth
        self.cells_per_bandwidth = cells_per_bandwidth
        self.rtol = rtol

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Gather the rows into cells.

        Parameters
        ----------
        X : array, frame, path, Arrow or Dask of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,) or column name, optional
            A weight of 2 counts a row twice.
        """
        data = self._open_rows(X, None, sample_weight)
        found = self._gather(data)
        self.bandwidth_, self.means_, self.masses_, self.error_bound_ = found
        self.certificates_ = Certificates([self._integral(data.total_weight)])
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """See `Model.certify`."""
        data = self._open_new_rows(X, None, sample_weight)
        fresh = self._gather(data)
        names = ("bandwidth", "means", "masses", "error_bound")
        pairs = {name: (getattr(self, f"{name}_"), value) for name, value in zip(names, fresh, strict=True)}
        asked = sampled_rows(fresh.means)
        exact = data.reduce(_sums_of_block, fresh.bandwidth, asked)
        error = float(np.abs(self._evaluator().pdf(asked) - exact.sums / exact.weight).max())
        allowed = self.error_bound_ + (self.rtol + 1e-9) * float((exact.sums / exact.weight).max())
        claim = f"At {len(asked)} points the estimate is within the bound of the one over all rows."
        evaluated = at_most(claim, "evaluation error", error, allowed, SOURCE)
        same = agreement("Cells and bandwidth are those of the rows.", pairs, SOURCE)
        return Certificates([self._integral(data.total_weight), evaluated, same])

    def _gather(self, data: Rows) -> Gathered:
        center = data.head(1, first_row)
        bandwidth = self._bandwidths(data, center)
        check_volume(self, bandwidth)
        width = bandwidth / self.cells_per_bandwidth
        with np.errstate(over="ignore", invalid="ignore"):
            lattice = np.round(center / width) * width  # the same cells whichever row is the first
        center = np.where(np.isfinite(lattice), lattice, center)
        cells: Cells = data.reduce(cells_of_block, center, width, None, True, combine=join_cells)
        if float(np.abs(cells.places).max()) >= MOST_PLACES:
            raise self._refuse("bandwidth", "larger: the cells of the rows are beyond 64 bits")
        inside = cells.sums / cells.mass[:, np.newaxis]
        means = center + (cells.places + inside) * width
        scatter = np.maximum(cells.squares.sum(axis=0) - np.sum(cells.sums * inside, axis=0), 0.0)
        square = float(np.sum(scatter)) / float(cells.mass.sum()) / self.cells_per_bandwidth**2
        # The Hessian of exp(−‖u‖²/2)/(2π)^{d/2} is nowhere larger than at 0.
        peak = (2.0 * math.pi) ** (-data.shape[1] / 2) / float(np.prod(bandwidth))
        return Gathered(bandwidth, means, cells.mass, 0.5 * square * peak)

    def _bandwidths(self, data: Rows, center: Array) -> Array:
        if not isinstance(self.bandwidth, str):
            return np.full(data.shape[1], float(self.bandwidth))
        extent: Extent = data.reduce(extent_of_block, center, combine=join_extents)
        check_spread(self, extent.low, extent.high)
        n = extent.weight
        variances = np.maximum(extent.squares - extent.sums**2 / n, 0.0) / max(n - 1.0, 1.0)
        is_constant = extent.high <= extent.low
        if is_constant.all():
            raise self._refuse(
                "bandwidth", "a number where all rows are equal, as one sample is: they have no scale"
            )
        scales = np.sqrt(np.where(is_constant, 0.0, variances))
        scales = np.where(is_constant, scales[~is_constant].mean(), scales)
        return rule_factor(self.bandwidth, n, data.shape[1]) * scales

    def _integral(self, n_samples: float) -> Any:
        """The kernel integrates to 1 by quadrature, and the cells hold the weight of all rows."""
        kernel = integral_of(smoothing_kernel("gaussian"), self.n_features_in_, is_product=False)
        total = kernel * float(self.masses_.sum()) / n_samples
        claim = "The estimate is a mean of densities over all rows."
        return at_most(claim, "|∫p̂ − 1|", abs(total - 1.0), 1e-6, SOURCE)

    def _evaluator(self) -> KernelEstimate:
        kernel, tolerance = smoothing_kernel("gaussian"), (float(self.rtol), 0.0)
        options: Any = {"form": "radial", "support": None, "tolerance": tolerance}
        return estimate_of(self.means_, self.masses_, kernel, self.bandwidth_, **options)

    def _draw(self, n_samples: int, rng: np.random.Generator) -> Array:
        chosen = rng.choice(len(self.masses_), n_samples, p=self.masses_ / self.masses_.sum())
        return self.means_[chosen] + self.bandwidth_ * rng.standard_normal((n_samples, self.n_features_in_))


class Gathered(NamedTuple):
    """What a walk gives `BinnedKernelDensity`."""

    bandwidth: Array
    means: NDArray
    masses: Array
    error_bound: float


class BlockSums(NamedTuple):
    """Kernel sums of a block at some points, and its weight."""

    sums: Array
    weight: float


def _sums_of_block(block: Block, bandwidth: Array, asked: Array) -> BlockSums:
    weights = block.weights
    sums = KernelSums(np.asarray(block.X, dtype=np.float64), "gaussian", bandwidth, values=weights)
    return BlockSums(sums.directly(asked), float(weights.sum()))
