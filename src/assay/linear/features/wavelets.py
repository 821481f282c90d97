"""Wavelet features."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.linear.features.base import Array, FeatureMap, column_ranges
from assay.parameters import Domain
from assay.rows import Rows

ROOT3, ROOT2 = np.sqrt(3.0), np.sqrt(2.0)

FILTERS: Mapping[str, tuple[float, ...]] = {
    "haar": (1.0, 1.0),
    "daubechies": ((1 + ROOT3) / 4, (3 + ROOT3) / 4, (3 - ROOT3) / 4, (1 - ROOT3) / 4),
}
"""Coefficients h of φ(x) = Σ h_k φ(2x − k), with sum 2."""

FINENESS = 12
"""Daubechies wavelets are tabulated at the multiples of 2^−FINENESS, where they are exact."""


class WaveletMap(FeatureMap):
    """Wavelets of each column.

    Minimises nothing: it maps each column, scaled to u in [0, 1) over a range, to the periodised wavelets
    ψ_{jk}(u) = 2^{j/2} Σ_m ψ(2^j (u + m) − k), j < n_levels, 0 ≤ k < 2^j, which are orthonormal over the
    range, and orthogonal to constants. Values outside the range are those at its ends.

    Assumes: columns inside the range; values beyond it count as its ends. Columns act one by one.

    Certificates: `certify(X)` measures the condition number of the features on rows.

    Parameters
    ----------
    n_levels : int, default=4
        Scales: 2^n_levels − 1 features of each column.
    wavelet : {"haar", "daubechies"}, default="haar"
        Steps, or Daubechies' continuous wavelet with two vanishing moments (tabulated, linear in between).
    bounds : array of shape (2,) or (2, n_features), optional
        Lower and upper ends of the range; that of the rows by default.

    Attributes
    ----------
    low_, spread_ : arrays of shape (n_features,)
        u = (x − low)/spread.
    n_features_out_ : int

    Examples
    --------
    >>> from assay.linear import WaveletMap
    >>> WaveletMap(2, bounds=[0.0, 1.0]).fit_transform([[0.1], [0.6]]).round(3)
    array([[ 1.   ,  1.414,  0.   ],
           [-1.   ,  0.   ,  1.414]])

    References
    ----------
    Rudi & Şimşekli §1.3.4, §4.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_levels": parameters.integer(at_least=1),
        "wavelet": parameters.one_of(*FILTERS),
        "bounds": parameters.nothing
        | parameters.array(
            "an array of shape (2,) or (2, n_features), the second row above the first",
            lambda values: values.ndim in (1, 2) and len(values) == 2 and bool(np.all(values[0] < values[1])),
        ),
    }

    def __init__(self, n_levels: int = 4, *, wavelet: str = "haar", bounds: Any = None) -> None:
        self.n_levels = n_levels
        self.wavelet = wavelet
        self.bounds = bounds

    def _learn(self, data: Rows) -> None:
        d = data.shape[1]
        if self.n_levels > 16:
            raise self._refuse("n_levels", "at most 16")
        self._require_width("n_levels", (2**self.n_levels - 1) * d, d)
        if self.bounds is None:
            ranges = column_ranges(data)
            self.low_, self.spread_ = ranges.low, ranges.spread
            return
        given = np.asarray(self.bounds, dtype=np.float64)
        if given.ndim == 2 and given.shape[1] != d:
            raise self._refuse("bounds", f"of shape (2,) or (2, {d})")
        self.low_ = np.broadcast_to(given[0], (d,)).copy()
        self.spread_ = np.broadcast_to(given[1], (d,)) - self.low_

    def _expansion(self) -> WaveletExpansion:
        width = len(self.low_) * (2**self.n_levels - 1)
        return WaveletExpansion(width, self.n_levels, self.wavelet, self.low_, self.spread_)

    def _names(self, columns: list[str]) -> list[str]:
        return [
            f"{name}_w{level},{shift}"
            for name in columns
            for level in range(self.n_levels)
            for shift in range(2**level)
        ]


class WaveletExpansion(NamedTuple):
    """Periodised wavelets, as a pure function of rows."""

    width: int
    n_levels: int
    wavelet: str
    low: Array
    spread: Array

    def __call__(self, X: NDArray) -> Array:
        """The features of rows."""
        u = np.clip((X - self.low) / self.spread, 0.0, 1.0 - 2.0**-52).astype(np.float64)
        features = np.zeros((X.shape[0], self.width))
        table = mother(self.wavelet)
        support = len(FILTERS[self.wavelet]) - 1
        rows, column = np.arange(X.shape[0]), 0
        for j in range(X.shape[1]):
            for level in range(self.n_levels):
                count = 2**level
                place = count * u[:, j]
                whole = np.floor(place)
                # Only the shifts k = ⌊2^j u⌋ − m, m < support, reach u; they wrap around the period.
                for m in range(support):
                    shift = (whole.astype(np.int64) - m) % count
                    value = look_up(table, place - whole + m, exact=self.wavelet == "haar")
                    np.add.at(features, (rows, column + shift), np.sqrt(count) * value)
                column += count
        return features


def look_up(table: Array, x: Array, *, exact: bool) -> Array:
    """Values of a tabulated function at x ≥ 0: the step below x, or linear in between."""
    place = x * 2**FINENESS
    below = np.minimum(place.astype(np.int64), len(table) - 2)
    if exact:
        return table[below]
    return table[below] + (place - below) * (table[below + 1] - table[below])


@lru_cache(maxsize=4)
def mother(name: str) -> Array:
    """The mother wavelet ψ(x) = Σ_k (−1)^k h_{N−1−k} φ(2x − k) at the multiples of 2^−FINENESS."""
    h = np.array(FILTERS[name])
    support, fine = len(h) - 1, 2**FINENESS
    size = support * fine + 1
    father = np.zeros(size)
    if name == "haar":
        father[:fine] = 1.0
    else:
        father[::fine] = _at_integers(h)
        for level in range(1, FINENESS + 1):  # from the multiples of 2^(1−level) to those of 2^−level
            step = fine >> level
            places = np.arange(step, size, 2 * step)
            father[places] = _refine(father, h, places, fine)
    sign = np.where(np.arange(len(h)) % 2 == 0, 1.0, -1.0)
    return _refine(father, sign * h[::-1], np.arange(size), fine)


def _refine(father: Array, h: Array, places: NDArray[np.int64], fine: int) -> Array:
    """Σ_k h_k φ(2x − k) at x = places/fine."""
    result = np.zeros(len(places))
    for k, coefficient in enumerate(h):
        at = 2 * places - k * fine
        inside = (at >= 0) & (at < len(father))
        result[inside] += coefficient * father[at[inside]]
    return result


def _at_integers(h: Array) -> Array:
    """φ(0), …, φ(N − 1): the eigenvector of eigenvalue 1 of the refinement equation, with sum 1."""
    n = len(h)
    matrix = np.array([[h[2 * i - j] if 0 <= 2 * i - j < n else 0.0 for j in range(n)] for i in range(n)])
    values, vectors = np.linalg.eig(matrix)
    vector = np.real(vectors[:, np.argmin(np.abs(values - 1))])
    return vector / vector.sum()
