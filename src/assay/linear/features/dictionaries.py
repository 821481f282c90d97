"""Dictionaries of functions: Fourier, histogram, and any list of functions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.linear.features.base import Array, Expansion, FeatureMap, column_quantiles, column_ranges
from assay.linear.features.splines import distinct
from assay.parameters import Domain, refusal
from assay.rows import Block, Rows

POSITIVE = parameters.real(above=0, squared=True) | parameters.array(
    "an array of positive numbers, one per column",
    lambda values: values.ndim == 1 and bool(np.all(values > 0)),
)


class FourierMap(FeatureMap):
    """Sines and cosines of each column.

    Minimises nothing: it maps each column x to √2 cos(2πkx/T) and √2 sin(2πkx/T) for k = 1, …,
    n_frequencies, orthonormal functions over a period T. Columns are made one block of rows at a time.

    Assumes: a period T that is given or spans the rows of the fit; columns act one by one.

    Certificates: `certify(X)` measures the condition number of the features on rows.

    Parameters
    ----------
    n_frequencies : int, default=3
        Number of harmonics of each column.
    period : float or array of shape (n_features,), optional
        T; the range of each column by default.

    Attributes
    ----------
    period_, origin_ : arrays of shape (n_features,)
        T, and the point from which x is counted: 0 when the period is given, else the least value.
    n_features_out_ : int

    Examples
    --------
    >>> from assay.linear import FourierMap
    >>> FourierMap(1, period=4.0).fit_transform([[0.0], [1.0]]).round(3) + 0.0
    array([[1.414, 0.   ],
           [0.   , 1.414]])

    References
    ----------
    Rudi & Şimşekli §1.3.4, §4.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_frequencies": parameters.integer(at_least=1),
        "period": parameters.nothing | POSITIVE,
    }

    def __init__(self, n_frequencies: int = 3, *, period: Any = None) -> None:
        self.n_frequencies = n_frequencies
        self.period = period

    def _learn(self, data: Rows) -> None:
        d = data.shape[1]
        self._require_width("n_frequencies", 2 * self.n_frequencies * d, d)
        if self.period is None:
            ranges = column_ranges(data)
            self.origin_, self.period_ = ranges.low, ranges.spread
        else:
            given = np.asarray(self.period, dtype=np.float64)
            if given.ndim and len(given) != d:
                raise self._refuse("period", f"one number, or {d} of them, one per column")
            self.origin_, self.period_ = np.zeros(d), np.broadcast_to(given, (d,)).copy()

    def _expansion(self) -> FourierExpansion:
        width = 2 * self.n_frequencies * len(self.period_)
        return FourierExpansion(width, self.n_frequencies, self.origin_, self.period_)

    def _names(self, columns: list[str]) -> list[str]:
        orders = range(1, self.n_frequencies + 1)
        return [f"{wave}{k}({name})" for name in columns for k in orders for wave in ("cos", "sin")]


class FourierExpansion(NamedTuple):
    """Sines and cosines, as a pure function of rows."""

    width: int
    n_frequencies: int
    origin: Array
    period: Array

    def __call__(self, X: NDArray) -> Array:
        """The features of rows."""
        turns = (X.astype(np.float64) - self.origin) / self.period
        angle = 2 * np.pi * np.multiply.outer(turns - np.floor(turns), np.arange(1, self.n_frequencies + 1))
        features = np.stack([np.cos(angle), np.sin(angle)], axis=-1)
        return np.sqrt(2.0) * features.reshape(len(X), self.width)


class HistogramMap(FeatureMap):
    """Indicators of the bins of each column.

    Minimises nothing: it maps each column to 1 for the bin that holds it and 0 for the others, so that a
    linear model on the features is a piecewise constant function. Values beyond the outermost edges belong
    to the outermost bins.

    Assumes: that what is learnt from the features is nearly constant inside a bin; columns act one by one.

    Certificates: `certify(X)` measures the condition number of the features on rows.

    Parameters
    ----------
    n_bins : int, default=5
        Bins of each column.
    edges : {"uniform", "quantile"}, default="uniform"
        Bins of one width, or with one number of rows (fewer bins where values repeat).
    include_bias : bool, default=False
        Whether all bins of each column are kept, which sum to 1; otherwise the last of each is dropped, as
        a model with an intercept wants it.

    Attributes
    ----------
    inner_edges_ : array of shape (n_bins − 1, n_features)
        Edges between bins; a value on an edge belongs to the bin above. Infinite where there are fewer.
    n_features_out_ : int

    Examples
    --------
    >>> from assay.linear import HistogramMap
    >>> HistogramMap(2, include_bias=True).fit_transform([[0.0], [1.0], [4.0]])
    array([[1., 0.],
           [1., 0.],
           [0., 1.]])

    References
    ----------
    Rudi & Şimşekli §1.3.4.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_bins": parameters.integer(at_least=2),
        "edges": parameters.one_of("uniform", "quantile"),
        "include_bias": parameters.boolean,
    }

    def __init__(self, n_bins: int = 5, *, edges: str = "uniform", include_bias: bool = False) -> None:
        self.n_bins = n_bins
        self.edges = edges
        self.include_bias = include_bias

    def _learn(self, data: Rows) -> None:
        self._require_width("n_bins", self.n_bins * data.shape[1], data.shape[1])
        levels = np.linspace(0, 1, self.n_bins + 1)
        self.inner_edges_ = np.full((self.n_bins - 1, data.shape[1]), np.inf)
        if self.edges == "uniform":
            ranges = column_ranges(data)
            self.inner_edges_[:] = ranges.low + np.multiply.outer(levels[1:-1], ranges.spread)
        else:
            for j, column in enumerate(column_quantiles(data, levels).T):
                inner = distinct(column)[1:-1]
                self.inner_edges_[: len(inner), j] = inner

    def _expansion(self) -> HistogramExpansion:
        n_kept = self.n_bins if self.include_bias else self.n_bins - 1
        return HistogramExpansion(n_kept * self.inner_edges_.shape[1], n_kept, self.inner_edges_)

    def _names(self, columns: list[str]) -> list[str]:
        n_kept = self.n_bins if self.include_bias else self.n_bins - 1
        return [f"{name}_bin{k}" for name in columns for k in range(n_kept)]


class HistogramExpansion(NamedTuple):
    """Indicators of bins, as a pure function of rows."""

    width: int
    n_kept: int
    inner_edges: Array

    def __call__(self, X: NDArray) -> Array:
        """The features of rows."""
        features = np.zeros((X.shape[0], self.width))
        rows = np.arange(X.shape[0])
        for j in range(X.shape[1]):
            bins = np.searchsorted(self.inner_edges[:, j], X[:, j], side="right")
            kept = bins < self.n_kept
            features[rows[kept], j * self.n_kept + bins[kept]] = 1.0
        return features


Functions = Domain(
    "a list of functions from rows to one or more columns",
    lambda value: isinstance(value, (list, tuple)) and len(value) > 0 and all(callable(f) for f in value),
)


class FunctionMap(FeatureMap):
    """Any functions of the rows.

    Minimises nothing: it maps the rows X of shape (n, d) to the columns φ_1(X), …, φ_r(X) that functions
    give, each of shape (n,) or (n, k). The functions see one block of rows at a time and so must treat every
    row by itself.

    Assumes: functions that treat every row by itself, and give finite numbers.

    Certificates: `certify(X)` measures the condition number of the features on rows.

    Parameters
    ----------
    functions : list of callables, optional
        φ_1, …, φ_r; the columns themselves by default.

    Attributes
    ----------
    n_features_out_ : int
    widths_ : list of int
        Number of columns of each function.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.linear import FunctionMap
    >>> FunctionMap([np.square, lambda X: X[:, 0] * X[:, 1]]).fit_transform([[2.0, 3.0]])
    array([[4., 9., 6.]])

    References
    ----------
    Rudi & Şimşekli §1.3.4, §4.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {"functions": parameters.nothing | Functions}

    def __init__(self, functions: Any = None) -> None:
        self.functions = functions

    def _learn(self, data: Rows) -> None:
        if self.functions is None:
            self.widths_ = [data.shape[1]]
        else:
            self.widths_ = data.head(8, _widths, tuple(self.functions))

    def _expansion(self) -> Expansion:
        functions = (_columns,) if self.functions is None else tuple(self.functions)
        return FunctionExpansion(sum(self.widths_), functions)

    def _names(self, columns: list[str]) -> list[str]:
        if self.functions is None:
            return columns
        names = []
        for index, (function, width) in enumerate(zip(self.functions, self.widths_, strict=True)):
            name = getattr(function, "__name__", "function")
            name = f"{'function' if name == '<lambda>' else name}{index}"
            names += [name] if width == 1 else [f"{name}_{k}" for k in range(width)]
        return names


def _columns(X: NDArray) -> NDArray:
    return X


def _widths(block: Block, functions: tuple[Callable[[NDArray], Any], ...]) -> list[int]:
    return [values_of(function, block.X).shape[1] for function in functions]


def values_of(function: Callable[[NDArray], Any], X: NDArray) -> Array:
    """What a function gives for rows, as columns; refused when it is not one row a row."""
    values = np.asarray(function(X), dtype=np.float64)
    if values.ndim not in (1, 2) or values.shape[0] != X.shape[0]:
        name = getattr(function, "__name__", repr(function))
        must_be = f"functions from ({X.shape[0]}, d) rows to ({X.shape[0]},) or ({X.shape[0]}, k) values"
        raise refusal("FunctionMap", "functions", must_be, f"{name}: shape {values.shape}")
    return values.reshape(X.shape[0], -1)


class FunctionExpansion(NamedTuple):
    """The columns of several functions side by side."""

    width: int
    functions: tuple[Callable[[NDArray], Any], ...]

    def __call__(self, X: NDArray) -> Array:
        """The features of rows."""
        features = np.hstack([values_of(function, X) for function in self.functions])
        if features.shape[1] != self.width:
            raise refusal(
                "FunctionMap", "functions", f"functions with {self.width} columns in all", features.shape[1]
            )
        return features
