"""Feature maps: x ↦ φ(x), block by block, so that the table of features never stands in memory whole."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.linear.least_squares.certificates import LARGEST_CONDITION, beside
from assay.linear.least_squares.engine import stack
from assay.models.capabilities import Transformer
from assay.rows import Block, MappedRows, Rows
from assay.solvers.least_squares.direct import merge_triangles

Array = NDArray[np.float64]

MAX_QUANTILE_ROWS = 2**17
"""Quantiles are those of all rows up to this many, and of evenly spaced rows beyond."""

LARGEST_WIDTH = 2**16
"""Products of columns beyond which a table of features is taken for a mistake."""

MOST_FEATURES = 2**20
"""Features of single columns beyond which it is."""


INDEPENDENT = (
    "The features are linearly independent on these rows: a linear model on them has one solution, to at "
    "least four digits."
)


LEARNED = "Ranges, knots and edges of the map are those that the rows give again."


class Expansion(Protocol):
    """A fitted map as a pure function: what travels to threads and workers."""

    @property
    def width(self) -> int:
        """Number of features."""

    def __call__(self, X: NDArray) -> Array:
        """The features of rows, shape (n, width), in float64."""


def expanded_rows(data: Rows, expansion: Expansion) -> Rows:
    """The rows of a table under a feature map: every block is expanded where it is walked."""
    return MappedRows(data, _expanded, expansion, width=expansion.width)


def _expanded(block: Block, expansion: Expansion) -> Block:
    return block._replace(X=expansion(block.X))


class FeatureMap(Transformer):
    """Base of feature maps: a subclass reads what it needs of the rows, and gives a pure `Expansion`."""

    _accepts_sparse: ClassVar[bool] = False
    n_features_out_: int

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> FeatureMap:
        """Read what the map needs of the rows: ranges, quantiles, the number of columns.

        Parameters
        ----------
        X : array-like, frame, path, Arrow dataset, Dask array or dataframe
        y : ignored
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice, a weight of 0 that it is absent.
        """
        data = self._open_rows(X, sample_weight=sample_weight)
        self._learn(data)
        self.n_features_out_ = self._expansion().width
        return self

    def transform(self, X: Any) -> Any:
        """The features of each row: an array, or a lazy Dask array for Dask input.

        Parameters
        ----------
        X : array-like, frame, path, Arrow dataset, Dask array or dataframe

        Returns
        -------
        features : array of shape (n_samples, n_features_out_)
        """
        data = self._open_new_rows(X)
        expansion = self._expansion()
        return data.map(_features_of, expansion, dtype=data.dtype, width=expansion.width)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Measure, by one walk, whether the features determine the coefficients of a linear model on rows.

        Parameters
        ----------
        X, sample_weight
            Rows to measure on, for example those of the fit.
        y : ignored

        Returns
        -------
        certificates : Certificates
            Condition number of the features of unit norm, together with the constant where they do not
            span it already; and whether ranges, knots and edges are those that the rows of the fit give.
        """
        raw = self._open_new_rows(X, sample_weight=sample_weight)
        data = expanded_rows(raw, self._expansion())
        ones = not getattr(self, "include_bias", False)
        with np.errstate(over="ignore", invalid="ignore"):
            triangle = data.reduce(_triangle, ones, combine=merge_triangles)
        if not np.isfinite(triangle).all():  # features that overflow determine nothing
            triangle = np.zeros_like(triangle)
        norms = np.linalg.norm(triangle, axis=0)
        values = np.linalg.svd(triangle / np.where(norms > 0, norms, 1.0), compute_uv=False)
        short = triangle.shape[0] < triangle.shape[1] or values[-1] == 0
        condition = np.inf if short else float(values[0] / values[-1])
        name, source = "condition number of the features", "Rudi & Şimşekli §1.3.1, §1.5.1"
        independent = at_most(INDEPENDENT, name, condition, LARGEST_CONDITION, source=source)
        return Certificates([independent, *self._learned_certificates(raw)])

    def _learned_certificates(self, raw: Rows) -> list[Certificate]:
        """What the map has read of the rows against what it reads in them again; none if it reads nothing."""
        again = clone(self)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(again, name, getattr(self, name))
        again._learn(raw)
        fresh = {name: value for name, value in vars(again).items() if name in self._learned_arrays()}
        pairs = {name: beside(getattr(self, name), value, np.abs(value)) for name, value in fresh.items()}
        return [agreement(LEARNED, pairs, "Rudi & Şimşekli §1.3.4")] if pairs else []

    def _learned_arrays(self) -> list[str]:
        return [
            name
            for name, value in vars(self).items()
            if name.endswith("_") and name != "feature_names_in_" and isinstance(value, np.ndarray)
        ]

    def _require_width(self, name: str, width: int, n_columns: int) -> None:
        """Refuse more features than fit anywhere, before any of them is made."""
        if width > MOST_FEATURES:
            raise self._refuse(name, f"smaller: {n_columns} columns would make {width} features")

    @abstractmethod
    def _learn(self, data: Rows) -> None:
        """Set the fitted attributes from raw rows."""

    @abstractmethod
    def _expansion(self) -> Expansion:
        """The fitted map as a pure function."""


def _features_of(block: Block, expansion: Expansion) -> Array:
    return expansion(block.X)


def _triangle(block: Block, ones: bool) -> Array:
    table = np.column_stack([block.X, np.ones(len(block.X))]) if ones else block.X
    if block.weight is not None:
        table = table * np.sqrt(block.weight.astype(np.float64))[:, None]
    return np.asarray(np.linalg.qr(table, mode="r"))


SMALLEST_SPREAD = 1e-280
"""Ranges below which quotients of differences overflow."""


class Ranges(NamedTuple):
    """Least and greatest value of each column, over the rows that count."""

    low: Array
    high: Array

    @property
    def spread(self) -> Array:
        """Length of the range."""
        with np.errstate(over="ignore"):
            spread = np.asarray(self.top - self.low)
        if not (np.isfinite(spread).all() and spread.min(initial=1.0) > SMALLEST_SPREAD):
            verb = "overflows" if not np.isfinite(spread).all() else "underflows"
            raise ValueError(f"The range of a column of X {verb}. Divide the columns by their scale first.")
        return spread

    @property
    def top(self) -> Array:
        """The greatest value; above the least one even for a constant column."""
        return np.where(self.high > self.low, self.high, self.low + np.maximum(1.0, np.abs(self.low)))


def column_ranges(data: Rows) -> Ranges:
    """The range of each column, by one walk."""
    return data.reduce(_block_ranges, combine=_wider)


def _block_ranges(block: Block) -> Ranges:
    X = block.X if block.weight is None else block.X[block.weight > 0]
    if not len(X):
        d = block.X.shape[1]
        return Ranges(np.full(d, np.inf), np.full(d, -np.inf))
    return Ranges(X.min(axis=0).astype(np.float64), X.max(axis=0).astype(np.float64))


def _wider(first: Ranges, second: Ranges) -> Ranges:
    return Ranges(np.minimum(first.low, second.low), np.maximum(first.high, second.high))


def column_quantiles(data: Rows, levels: Array) -> Array:
    """Quantiles of each column with weights as repetitions, shape (n_levels, d), by one walk.

    Tables of more than `MAX_QUANTILE_ROWS` rows are read at evenly spaced rows.
    """
    stride = -(-data.shape[0] // MAX_QUANTILE_ROWS)
    table = data.reduce(_every, stride, combine=stack)
    weight, result = table[:, -1], np.empty((len(levels), table.shape[1] - 1))
    for j in range(result.shape[1]):
        order = np.argsort(table[:, j], kind="stable")
        reached = np.cumsum(weight[order])
        place = levels * max(reached[-1] - 1, 0.0)
        below, above = (
            table[order[np.minimum(np.searchsorted(reached, at, side="right"), len(order) - 1)], j]
            for at in (np.floor(place), np.ceil(place))
        )
        result[:, j] = below + (place - np.floor(place)) * (above - below)
    return result


def _every(block: Block, stride: int) -> Array:
    first = -block.start % stride
    X = block.X[first::stride].astype(np.float64)
    weight = np.ones(len(X)) if block.weight is None else block.weight[first::stride].astype(np.float64)
    keep = weight > 0
    return np.column_stack([X, weight])[keep]
