"""B-spline features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.linear.features.base import Array, FeatureMap, column_quantiles, column_ranges
from assay.loops import compiled, read_only
from assay.parameters import Domain
from assay.rows import Rows

# B-splines of a block of rows: the values that do not vanish, by the triangle of de Boor and Cox.


CONSTANT, LINEAR, CONTINUE = 0, 1, 2


@compiled
def spline_block(X, knots, first_knot, first_column, degree, cyclic, mode, features):  # type: ignore[no-untyped-def]
    """Add the B-splines of each column of `X` to `features`, which holds zeros.

    Column j has the knots `knots[first_knot[j]:first_knot[j + 1]]`, with its boundary at positions `degree`
    and −1 − `degree` of them, and the features from `first_column[j]` on; the splines of a cyclic column
    wrap around. Features past `features.shape[1]` or past the column's own are left out; `mode` is what a
    column that is not cyclic does outside its boundary.
    """
    values = np.empty(degree + 1)
    left, right = np.empty(degree + 1), np.empty(degree + 1)
    for j in range(X.shape[1]):
        t = knots[first_knot[j] : first_knot[j + 1]]
        width = first_column[j + 1] - first_column[j]
        start = first_column[j]
        last = t.shape[0] - degree - 1  # position of the upper boundary
        low, high = t[degree], t[last]
        n_splines = last - degree if cyclic[j] else last
        for i in range(X.shape[0]):
            x = np.float64(X[i, j])
            outside = 0.0
            if cyclic[j]:
                period = high - low
                x = low + (x - low) - period * np.floor((x - low) / period)
                x = low if x >= high else max(x, low)
            elif x < low or x > high:
                edge = low if x < low else high
                if mode == LINEAR:
                    outside = x - edge
                if mode != CONTINUE:
                    x = edge
            below, above = degree, last
            while above - below > 1:
                middle = (below + above) // 2
                if t[middle] <= x:
                    below = middle
                else:
                    above = middle
            values[0] = 1.0
            for k in range(1, degree + 1):
                left[k], right[k] = x - t[below + 1 - k], t[below + k] - x
                saved = 0.0
                for r in range(k):
                    gap = right[r + 1] + left[k - r]
                    share = values[r] / gap if gap > 0 else 0.0
                    values[r] = saved + right[r + 1] * share
                    saved = left[k - r] * share
                values[k] = saved
            for r in range(degree + 1):
                column = below - degree + r
                if cyclic[j]:
                    column %= n_splines
                if column < width:
                    features[i, start + column] += values[r]
            if outside != 0.0 and degree > 0:
                # At a boundary of full multiplicity only the two outermost splines have a slope.
                outer = 0 if outside < 0 else n_splines - 1
                inner = 1 if outside < 0 else n_splines - 2
                reach = t[degree + 1] - low if outside < 0 else high - t[last - 1]
                slope = degree * outside / reach if reach > 0 else 0.0
                if outside < 0:
                    slope = -slope
                if outer < width:
                    features[i, start + outer] += slope
                if inner < width:
                    features[i, start + inner] -= slope


EXTRAPOLATIONS = {"constant": CONSTANT, "linear": LINEAR, "continue": CONTINUE}

KNOTS = parameters.one_of("uniform", "quantile") | parameters.array(
    "an array of shape (n_knots,) or (n_knots, n_features), each column increasing",
    lambda values: values.ndim in (1, 2) and len(values) > 1 and bool(np.all(np.diff(values, axis=0) > 0)),
)


def _is_columns(value: Any) -> bool:
    if not isinstance(value, (list, tuple, np.ndarray)) or not np.iterable(value):
        return False
    return all(isinstance(item, (str, int, np.integer)) and not isinstance(item, bool) for item in value)


CYCLIC = parameters.boolean | Domain("a list of columns (positions or names)", _is_columns)
PERIOD = (
    parameters.nothing
    | parameters.real(above=0)
    | parameters.array(
        "a list of positive numbers, one per cyclic column",
        lambda values: values.ndim == 1 and bool(np.all(values > 0)),
    )
)


class SplineMap(FeatureMap):
    """Piecewise polynomials that join smoothly at knots, as B-splines of each column.

    Minimises nothing: it maps each column to its B-splines, non-negative piecewise polynomials of a degree
    with sum 1, at most degree + 1 of them not zero, by the recurrence of de Boor and Cox in one compiled
    loop. The splines of a cyclic column (an hour, a weekday, an angle) join at the ends of the period too.

    Assumes: that what is learnt from the features is smooth between the knots; columns act one by one.

    Certificates: `certify(X)` measures the condition number of the features on rows.

    Parameters
    ----------
    n_knots : int, default=5
        Knots of each column, both boundaries counted.
    degree : int, default=3
        Degree of the pieces.
    knots : {"uniform", "quantile"} or array of shape (n_knots,) or (n_knots, n_features), default="uniform"
        Evenly spaced over the range, at the quantiles of the rows, or given.
    continuity : int, optional
        Derivatives that are continuous at an inner knot: degree − 1 by default, which is the most; 0 for
        pieces that only meet, −1 for pieces that do not.
    extrapolation : {"constant", "linear", "continue"}, default="constant"
        Beyond the boundary knots: the value there, the tangent there, or the outermost polynomial.
    cyclic : bool or list of columns, default=False
        Columns that are cyclic, by position or name; True for all.
    period : float or list of floats, optional
        Period of the cyclic columns, all or one each, counted from the first knot; the range of the column
        by default. Uniform knots of a cyclic column start at 0 when its period is given.
    include_bias : bool, default=False
        Whether all splines of each column are kept, which sum to 1; otherwise the last of each is dropped,
        as a model with an intercept wants it.

    Attributes
    ----------
    knots_ : array
        Knot vectors of all columns one after the other, with multiplicities.
    first_knot_ : array of shape (n_features + 1,)
        Where the knots of each column begin in `knots_`.
    first_column_ : array of shape (n_features + 1,)
        Where the features of each column begin.
    cyclic_ : boolean array of shape (n_features,)
    n_features_out_ : int

    Examples
    --------
    >>> from assay.linear import SplineMap
    >>> SplineMap(n_knots=3, degree=1, include_bias=True).fit_transform([[0.0], [0.25], [1.0]])
    array([[1. , 0. , 0. ],
           [0.5, 0.5, 0. ],
           [0. , 0. , 1. ]])
    >>> hours = SplineMap(n_knots=5, cyclic=True, period=24.0).fit([[0.0], [6.0], [23.0]])
    >>> bool((abs(hours.transform([[1.0]]) - hours.transform([[25.0]])) < 1e-12).all())
    True

    References
    ----------
    Rudi & Şimşekli §1.3.4.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "n_knots": parameters.integer(at_least=2),
        "degree": parameters.integer(at_least=0),
        "knots": KNOTS,
        "continuity": parameters.nothing | parameters.integer(at_least=-1),
        "extrapolation": parameters.one_of(*EXTRAPOLATIONS),
        "cyclic": CYCLIC,
        "period": PERIOD,
        "include_bias": parameters.boolean,
    }

    def __init__(
        self,
        n_knots: int = 5,
        degree: int = 3,
        *,
        knots: Any = "uniform",
        continuity: int | None = None,
        extrapolation: str = "constant",
        cyclic: Any = False,
        period: Any = None,
        include_bias: bool = False,
    ) -> None:
        self.n_knots = n_knots
        self.degree = degree
        self.knots = knots
        self.continuity = continuity
        self.extrapolation = extrapolation
        self.cyclic = cyclic
        self.period = period
        self.include_bias = include_bias

    def _learn(self, data: Rows) -> None:
        d = data.shape[1]
        if isinstance(self.knots, str):
            _ = column_ranges(data).spread  # refused where it is no number
        if self.continuity is not None and self.continuity > self.degree - 1:
            raise self._refuse("continuity", f"at most degree − 1 = {self.degree - 1}")
        multiplicity = 1 if self.continuity is None else self.degree - self.continuity
        self._require_width("degree", (self.degree + 1) * multiplicity * d, d)
        if isinstance(self.knots, str):
            self._require_width("n_knots", (multiplicity * self.n_knots + self.degree) * d, d)
        self.cyclic_ = self._cyclic_columns(d)
        vectors, widths = [], []
        for j, distinct in enumerate(self._distinct_knots(data)):
            if self.cyclic_[j]:
                vector = cyclic_knots(distinct, self.degree, multiplicity)
                width = multiplicity * (len(distinct) - 1)
            else:
                vector = clamped_knots(distinct, self.degree, multiplicity)
                width = len(vector) - self.degree - 1
            vectors.append(vector)
            widths.append(width if self.include_bias else width - 1)
        if not sum(widths):
            raise self._refuse("n_knots", "larger, or include_bias=True: no spline is left otherwise")
        self.knots_ = np.concatenate(vectors)
        self.first_knot_ = np.cumsum([0, *map(len, vectors)])
        self.first_column_ = np.cumsum([0, *widths])

    def _cyclic_columns(self, d: int) -> NDArray[np.bool_]:
        if isinstance(self.cyclic, (bool, np.bool_)):
            return np.full(d, bool(self.cyclic))
        chosen = np.zeros(d, dtype=bool)
        for column in self.cyclic:
            chosen[self._position(column, d)] = True
        return chosen

    def _position(self, column: Any, d: int) -> int:
        names = list(getattr(self, "feature_names_in_", ()))
        if isinstance(column, str):
            if column not in names:
                raise self._refuse(
                    "cyclic", f"columns of the table ({', '.join(names) or 'it has no names'})"
                )
            return names.index(column)
        if not -d <= column < d:
            raise self._refuse("cyclic", f"positions below {d}, the number of columns")
        return int(column) % d

    def _periods(self, d: int) -> dict[int, float]:
        """Given periods, by column."""
        if self.period is None:
            return {}
        columns = np.flatnonzero(self.cyclic_)
        if not columns.size:
            raise self._refuse("period", "None when no column is cyclic")
        given = np.asarray(self.period, dtype=np.float64)
        if given.ndim == 0:
            return dict.fromkeys(columns.tolist(), float(given))
        named = columns if isinstance(self.cyclic, (bool, np.bool_)) else self.cyclic
        if len(given) != len(named):
            raise self._refuse("period", f"one number, or {len(named)} of them, one per cyclic column")
        return {self._position(column, d): float(value) for column, value in zip(named, given, strict=True)}

    def _distinct_knots(self, data: Rows) -> list[Array]:
        """Increasing knots of each column; the last one of a cyclic column closes its period."""
        d = data.shape[1]
        periods = self._periods(d)
        if not isinstance(self.knots, str):
            table = np.asarray(self.knots, dtype=np.float64)
            if table.ndim == 2 and table.shape[1] != d:
                raise self._refuse("knots", f"of shape (n_knots,) or (n_knots, {d})")
            columns = [table if table.ndim == 1 else table[:, j] for j in range(d)]
        elif self.knots == "quantile":
            table = column_quantiles(data, np.linspace(0, 1, self.n_knots))
            columns = [distinct(table[:, j]) for j in range(d)]
        else:
            ranges = column_ranges(data)
            columns = [
                np.linspace(0.0, periods[j], self.n_knots)
                if j in periods
                else np.linspace(ranges.low[j], ranges.top[j], self.n_knots)
                for j in range(d)
            ]
        for j, period in periods.items():
            inner = columns[j][columns[j] < columns[j][0] + period * (1 - 1e-9)]
            columns[j] = np.append(inner, columns[j][0] + period)
        return columns

    def _expansion(self) -> SplineExpansion:
        places = self.knots_, self.first_knot_, self.first_column_
        width, degree = int(self.first_column_[-1]), self.degree
        return SplineExpansion(width, *places, degree, self.cyclic_, self.extrapolation)

    def _names(self, columns: list[str]) -> list[str]:
        widths = np.diff(self.first_column_)
        return [f"{name}_sp{k}" for name, width in zip(columns, widths, strict=True) for k in range(width)]


def distinct(values: Array) -> Array:
    """Increasing values without repetition, at least two."""
    unique = np.unique(values)
    return unique if len(unique) > 1 else np.array([unique[0], unique[0] + max(1.0, abs(unique[0]))])


def clamped_knots(knots: Array, degree: int, multiplicity: int) -> Array:
    """The knot vector of an interval: boundaries degree + 1 times, inner knots as their multiplicity says."""
    return np.concatenate(
        [
            np.repeat(knots[0], degree + 1),
            np.repeat(knots[1:-1], multiplicity),
            np.repeat(knots[-1], degree + 1),
        ]
    )


def cyclic_knots(knots: Array, degree: int, multiplicity: int) -> Array:
    """The knot vector of a circle: the knots of one period and `degree` more on either side, wrapped."""
    base = np.repeat(knots[:-1], multiplicity)
    period, m = knots[-1] - knots[0], len(base)
    # The period starts at the last of equal first knots, so that it has positive length.
    index = np.arange(-degree, m + degree + 1) + multiplicity - 1
    return base[index % m] + period * (index // m)


class SplineExpansion(NamedTuple):
    """B-splines of every column, as a pure function of rows."""

    width: int
    knots: Array
    first_knot: NDArray[np.int64]
    first_column: NDArray[np.int64]
    degree: int
    cyclic: NDArray[np.bool_]
    extrapolation: str

    def __call__(self, X: NDArray) -> Array:
        """The features of rows."""
        features = np.zeros((X.shape[0], self.width))
        spline_block(read_only(X), *self[1:6], EXTRAPOLATIONS[self.extrapolation], features)
        return features
