"""Empirical distribution functions, with bands around them."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from assay.certificates import Certificates, agreement, at_least, at_most
from assay.density.base import Array
from assay.models import Transformer
from assay.parameters import integer, one_of, real, refusal, require
from assay.rows import Block, Rows

SOURCE = "Douc & Le Corff §2.2"


class Band(NamedTuple):
    """A distribution function with a lower and an upper border."""

    cdf: Array
    low: Array
    high: Array


class EmpiricalDistribution(Transformer):
    """Distribution function of the rows, of each column by itself.

    Finds the shares of rows up to each value,

        F_n(x) = (1/n) Σ_i 1[X_i ≤ x],

    unbiased for F(x) and uniformly consistent. Keeps the distinct values of each column, in one walk over
    rows in memory, on disk or on a cluster. `transform` gives F_n of each entry, a number in [0, 1].

    Assumes: rows independent of one law, for the bands.

    Certificates: the steps are those of the rows and rise to 1; the width of the band of Dvoretzky,
    Kiefer and Wolfowitz, which holds for any law.

    Parameters
    ----------
    coverage : float, default=0.95
        Of the bands.
    band : {"dkw", "hoeffding"}, default="dkw"
        Around the whole function at once, or at one point. Both have half-width √(log(2/δ)/(2n)), δ = 1 −
        coverage; the theorem of Dvoretzky, Kiefer and Wolfowitz with Massart's constant says that what
        Hoeffding's inequality gives at a point holds everywhere at once.

    Attributes
    ----------
    jumps_ : array
        Distinct values of the first column in order, then those of the second, and so on.
    heights_ : array
        F_n at each of them.
    offsets_ : array of shape (n_features + 1,)
        Where the columns begin among the jumps.
    n_samples_ : float
        Sum of the weights.
    half_width_ : float
        Of the band.
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.density import EmpiricalDistribution
    >>> model = EmpiricalDistribution().fit(np.array([[3.0], [1.0], [1.0], [2.0]]))
    >>> model.cdf([0.0, 1.0, 2.5]), model.quantile([0.5, 0.75])
    (array([0.  , 0.5 , 0.75]), array([1., 2.]))

    References
    ----------
    Douc & Le Corff §2.2, §7.1.
    """

    _accepts_sparse = False
    _domains: ClassVar = {
        "coverage": real(above=0.0, at_most=1.0 - 1e-15),
        "band": one_of("dkw", "hoeffding"),
    }

    def __init__(self, *, coverage: float = 0.95, band: str = "dkw") -> None:
        self.coverage = coverage
        self.band = band

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Collect the distinct values.

        Parameters
        ----------
        X : array, frame, path, Arrow or Dask of shape (n_samples, n_features)
        y : ignored
        sample_weight : array of shape (n_samples,) or column name, optional
            A weight of 2 counts a row twice.
        """
        data = self._open_rows(X, None, sample_weight)
        steps = _steps(data)
        self.jumps_, self.heights_, self.offsets_, self.n_samples_ = steps
        self.half_width_ = self._half_width(steps.n_samples)
        self.certificates_ = Certificates([*self._shape(), self._width()])
        return self

    def cdf(self, x: ArrayLike, column: int = 0) -> Array:
        """F_n of a column at numbers of any shape."""
        values, heights = self._column(column)
        at = np.asarray(x, dtype=np.float64)
        return np.concatenate([[0.0], heights])[np.searchsorted(values, at, side="right")]

    def quantile(self, share: ArrayLike, column: int = 0) -> Array:
        """The least value x of a column with F_n(x) at least a share."""
        values, heights = self._column(column)
        asked = np.asarray(share, dtype=np.float64)
        if not np.all((asked >= 0) & (asked <= 1)):
            raise refusal(type(self).__name__, "share", "numbers from 0 to 1", share)
        return values[np.minimum(np.searchsorted(heights, asked - 1e-12), len(values) - 1)]

    def confidence_band(self, x: ArrayLike, column: int = 0) -> Band:
        """F_n at numbers, with the band that holds F with probability `coverage`."""
        cdf = self.cdf(x, column)
        return Band(cdf, np.maximum(cdf - self.half_width_, 0.0), np.minimum(cdf + self.half_width_, 1.0))

    def transform(self, X: Any) -> Any:
        """F_n of each entry in its column."""
        check_is_fitted(self)
        data = self._open_new_rows(X)
        state = self.jumps_, self.heights_, self.offsets_
        return data.map(_heights_of_block, *state, dtype=data.dtype, width=data.shape[1])

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """See `Model.certify`."""
        fresh = _steps(self._open_new_rows(X, None, sample_weight))
        pairs = {name: (getattr(self, f"{name}_"), getattr(fresh, name)) for name in fresh._fields}
        pairs["half width"] = (self.half_width_, self._half_width(fresh.n_samples))
        steps = agreement("The steps are those of the rows.", pairs, SOURCE)
        return Certificates([*self._shape(), self._width(), steps])

    def _names(self, columns: list[str]) -> list[str]:
        return columns

    def _column(self, column: int) -> tuple[Array, Array]:
        check_is_fitted(self)
        require(type(self).__name__, integer(at_least=0), column=column)
        if column >= len(self.offsets_) - 1:
            raise refusal(type(self).__name__, "column", f"below {len(self.offsets_) - 1}", column)
        part = slice(self.offsets_[column], self.offsets_[column + 1])
        return self.jumps_[part], self.heights_[part]

    def _half_width(self, n_samples: float) -> float:
        return math.sqrt(math.log(2.0 / (1.0 - self.coverage)) / (2.0 * n_samples))

    def _shape(self) -> list[Any]:
        least, off = np.inf, 0.0
        for column in range(len(self.offsets_) - 1):
            values, heights = self._column(column)
            least = min(
                least, float(np.diff(heights, prepend=0.0).min()), float(np.diff(values).min(initial=np.inf))
            )
            off = max(off, abs(float(heights[-1]) - 1.0))
        rises = at_least("F_n rises at each value, and values rise.", "least step", least, 0.0, SOURCE)
        return [rises, at_most("F_n ends at 1.", "|F_n(∞) − 1|", off, 1e-12, SOURCE)]

    def _width(self) -> Any:
        where = "everywhere at once" if self.band == "dkw" else "at a point"
        claim = f"F lies within the half-width of F_n {where} with probability {self.coverage:g}."
        source = "Massart 1990" if self.band == "dkw" else "Douc & Le Corff §7.1"
        assumed = ("rows independent of one law",)
        details: Any = {"assumptions": assumed, "trivial": 1.0, "informative": True}
        return at_most(claim, "half-width of the band", self.half_width_, self.half_width_, source, **details)


class Steps(NamedTuple):
    """What a walk gives `EmpiricalDistribution`."""

    jumps: Array
    heights: Array
    offsets: NDArray[np.int64]
    n_samples: float


def _steps(data: Rows) -> Steps:
    columns = data.reduce(_values_of_block, combine=_join_values)
    jumps = np.concatenate([values for values, _ in columns])
    heights = np.concatenate([np.cumsum(mass) / mass.sum() for _, mass in columns])
    offsets = np.concatenate([[0], np.cumsum([len(values) for values, _ in columns])])
    return Steps(jumps, heights, offsets.astype(np.int64), float(columns[0][1].sum()))


def _values_of_block(block: Block) -> list[tuple[NDArray, Array]]:
    """Distinct values of each column and the weight of each."""
    weight = block.weights
    rows, weight = np.asarray(block.X)[weight > 0], weight[weight > 0]
    return [_collect(column, weight) for column in rows.T]


def _collect(values: NDArray, mass: Array) -> tuple[NDArray, Array]:
    unique, inverse = np.unique(values, return_inverse=True)
    return unique, np.bincount(inverse, mass, len(unique)).astype(np.float64)


def _join_values(left: list[Any], right: list[Any]) -> list[tuple[NDArray, Array]]:
    return [_collect(*map(np.concatenate, zip(a, b, strict=True))) for a, b in zip(left, right, strict=True)]


def _heights_of_block(block: Block, jumps: Array, heights: Array, offsets: NDArray) -> Array:
    table = np.asarray(block.X)
    out = np.empty(table.shape)
    for column in range(table.shape[1]):
        part = slice(offsets[column], offsets[column + 1])
        reached = np.concatenate([[0.0], heights[part]])
        out[:, column] = reached[np.searchsorted(jumps[part], table[:, column], side="right")]
    return out
