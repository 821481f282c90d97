"""Names of the metrics, the domain of a `metric` parameter, and the scale on which each is searched."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Real
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.kernels import asymmetry
from assay.parameters import Domain

Metric: TypeAlias = str | Callable[[NDArray, NDArray], float]
"""A name of `METRICS`, "precomputed" where a method says so, or d(x, z) for two rows."""

METRICS = ("euclidean", "sqeuclidean", "manhattan", "cityblock", "l1", "l2", "chebyshev", "cosine")
"""Names of metrics; "manhattan", "cityblock" and "l1" are the same, as are "euclidean" and "l2"."""

SAME = {"l2": "euclidean", "l1": "cityblock", "manhattan": "cityblock"}


def metric_domain(*, precomputed: bool = True, function: bool = True) -> Domain:
    """The domain of a `metric` parameter: a name, "precomputed", or a function of two rows."""
    names = (*METRICS, "precomputed") if precomputed else METRICS
    words = "one of " + ", ".join(repr(name) for name in names)
    # The names are not offered as options: a metric changes the numbers, not the method.
    domain = Domain(words, lambda value: isinstance(value, str) and value in names)
    return domain | parameters.function if function else domain


def check_metric(metric: Metric) -> Metric:
    """The metric under its first name; a sentence where there is none of that name."""
    if isinstance(metric, str):
        if metric not in METRICS:
            known = ", ".join(repr(name) for name in METRICS)
            raise ValueError(f"The 'metric' must be one of {known} or a function. Got {metric!r} instead.")
        return SAME.get(metric, metric)
    if not callable(metric):
        raise ValueError(f"The 'metric' must be the name of one or a function. Got {metric!r} instead.")
    return metric


def check_table(X: Any, name: str = "X") -> NDArray:
    """A table of finite floats with at least one row and one column; float32 and float64 are kept."""
    table = np.asarray(X)
    if table.ndim != 2 or 0 in table.shape:
        raise ValueError(f"Distances need {name} as a table of rows and columns. Got shape {table.shape}.")
    if table.dtype not in (np.float32, np.float64):
        table = table.astype(np.float64)
    # A sum that is finite proves that all are; one that is not may have overflowed.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(table.sum())) or bool(np.isfinite(table).all())
    if not finite:
        raise ValueError(f"Distances need finite values. {name} contains NaN or infinity.")
    return table


class Scale(NamedTuple):
    """How a named metric is searched: the power that is compared, and the way back to distances.

    The power is 2 for Σ (x − z)², 1 for Σ |x − z|, 0 for max |x − z|; the distance is its `root`, or `factor`
    times it. `unit` rows are scaled to length 1 first: 1 − cos(x, z) = ½ ‖x/‖x‖ − z/‖z‖ ‖².
    """

    power: int
    root: bool = False
    factor: float = 1.0
    unit: bool = False

    def prepare(self, table: NDArray) -> NDArray:
        """The rows as they are compared, in the one layout that loops are compiled for."""
        return np.require(unit_rows(table) if self.unit else table, requirements=["C", "W"])

    def limit(self, radius: float, dtype: np.dtype) -> float:
        """The largest power whose distance, as computed, is at most the radius."""
        greatest = float(np.finfo(dtype).max)
        length: Any = dtype.type(min(radius, greatest))
        if not self.root:
            return min(float(length) / self.factor, greatest)
        with np.errstate(over="ignore", under="ignore"):
            square = np.minimum(length * length, np.finfo(dtype).max)
            while np.sqrt(square) > length:
                square = np.nextafter(square, dtype.type(0))
            while square < greatest and np.sqrt(np.nextafter(square, dtype.type(np.inf))) <= length:
                square = np.nextafter(square, dtype.type(np.inf))
        return float(square)

    def distances(self, powers: NDArray) -> NDArray:
        """Distances of powers, in place."""
        if self.root:
            return np.sqrt(powers, out=powers)
        if self.factor != 1.0:
            powers *= powers.dtype.type(self.factor)
        return powers


SCALES = {
    "euclidean": Scale(2, root=True),
    "sqeuclidean": Scale(2),
    "cityblock": Scale(1),
    "chebyshev": Scale(0),
    "cosine": Scale(2, factor=0.5, unit=True),
}

LEAST_WEIGHT = 1e-30
"""Weights of rows, other than 0, that products with distances are safe with, and one over it."""


def unit_rows(table: NDArray) -> NDArray:
    """Rows of length 1; a row of zeros has no direction and is refused.

    Lengths are those of the rows over their largest entry, which neither overflow nor vanish.
    """
    largest = np.abs(table).max(axis=1, keepdims=True)
    if not largest.all():
        row = int(np.argmin(largest))
        raise ValueError(
            f"The cosine distance needs rows that are not zero, and row {row} is; "
            "leave such rows out or take another metric."
        )
    scaled = table / largest
    scaled /= np.sqrt(np.einsum("ij,ij->i", scaled, scaled))[:, None]
    return scaled


def is_proper_radius(radius: Any) -> bool:
    """Whether a radius is a number at least 0 (infinity is one)."""
    return isinstance(radius, Real) and not isinstance(radius, bool) and float(radius) >= 0.0


SYMMETRIC_DIGITS = 0.5
"""Entries may differ from their mirror images by eps to this power, relative to the largest entry."""


def check_dissimilarity(D: Any, owner: str, *, metric_like: bool = True) -> NDArray:
    """A given matrix of dissimilarities: square, finite, not negative, symmetric, zero on the diagonal.

    float32 and float64 are kept, and a matrix that passes is returned as it is; where two mirror images
    differ by rounding, their mean is taken. Without `metric_like` symmetry and diagonal are not looked at.

    Examples
    --------
    >>> from assay.distances import check_dissimilarity
    >>> check_dissimilarity([[0, 2], [2, 0]], "KMedoids")
    array([[0., 2.],
           [2., 0.]])
    """
    D = np.asarray(D)
    if D.ndim != 2 or D.shape[0] != D.shape[1] or D.shape[0] == 0:
        raise ValueError(f"{owner} with metric='precomputed' needs a square matrix. Got shape {D.shape}.")
    if D.dtype not in (np.float32, np.float64):
        D = D.astype(np.float64)
    least, greatest = float(D.min()), float(D.max())
    if not np.isfinite(least) or not np.isfinite(greatest):
        raise ValueError(f"{owner} with metric='precomputed' needs finite values. Got NaN or infinity.")
    room = LEAST_WEIGHT if D.dtype == np.float64 else 0.25
    least_size = float(np.finfo(D.dtype).tiny) / float(np.finfo(D.dtype).eps)
    if greatest > float(np.finfo(D.dtype).max) * room / len(D) or 0.0 < greatest < least_size:
        verb = "lose their digits" if greatest < 1.0 else "overflow"
        raise ValueError(
            f"Sums of dissimilarities of size {greatest:.3g} {verb} in {owner}. "
            "Divide the matrix by one number, e.g. its largest entry."
        )
    if least < 0:
        raise ValueError(
            f"Negative values in data passed to {owner}: dissimilarities must be at least 0. Got {least:g}."
        )
    if not metric_like:
        return D
    tolerance = float(np.finfo(D.dtype).eps) ** SYMMETRIC_DIGITS * greatest
    if float(D.diagonal().max()) > tolerance:
        raise ValueError(
            f"{owner} with metric='precomputed' needs dissimilarities that are 0 on the diagonal. Got "
            f"{float(D.diagonal().max()):g}; similarities must be turned into dissimilarities first."
        )
    difference = asymmetry(D)
    if difference > tolerance:
        raise ValueError(
            f"{owner} with metric='precomputed' needs a symmetric matrix. Got entries that differ from their "
            f"mirror images by up to {difference:g}; take (D + D.T) / 2 if that is meant."
        )
    if difference > 0 or D.diagonal().any():
        D = (D + D.T) / 2
        np.fill_diagonal(D, 0.0)
    return D
