"""Numbers from the columns of a table: what is learnt from rows is learnt from those of the fit alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from assay.report.errors import ReportError
from assay.report.tables.encoding.cells import cells, days_of, level_places, read_days, read_numbers, words_in
from assay.report.tables.encoding.gower import NOMINAL, ShareCode, gower_scales
from assay.report.tables.encoding.marks import MAX_LEVELS, Levels, n_marked_levels
from assay.report.tables.encoding.packing import packed, unpacked
from assay.report.tables.encoding.plain_numbers import PlainNumbers
from assay.report.tables.schema import Column
from assay.report.tables.texts import frequencies

DAYS_OF_YEAR = 365.2425


@dataclass(frozen=True)
class NumericCode:
    """A number: as it is, the median of the fit where it is missing, and a mark there if the fit had any."""

    fill: float
    marked: bool

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> NumericCode:
        """Learn the median and whether any value is missing."""
        numbers = read_numbers(values, column)
        missing = np.isnan(numbers)
        fill = 0.0 if missing.all() else float(np.median(numbers[~missing]))
        return NumericCode(fill, bool(missing.any()))

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [column.name, f"{column.name} missing"] if self.marked else [column.name]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        numbers = read_numbers(values, column)
        missing = np.isnan(numbers)
        filled = np.where(missing, self.fill, numbers)
        return np.column_stack([filled, missing]) if self.marked else filled[:, np.newaxis]


@dataclass(frozen=True)
class LevelCode(Levels):
    """A category: one mark for each level of the fit but the reference, the most frequent one.

    Levels beyond the thirty most frequent (fewer in a table of very many categories) share a mark, as do
    missing values if the fit had any. A level that the fit has not seen has the mark of the rare ones if
    there is one, else none: it counts as the reference.
    """

    levels: tuple[str, ...]
    rare: tuple[str, ...]
    marked: bool

    def limited(self, most: int) -> LevelCode:
        """The same with marks for fewer levels."""
        return replace(self, levels=self.levels[:most], rare=self.levels[most:] + self.rare)

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> LevelCode:
        """Learn the levels, the most frequent first."""
        words = words_in(values)
        levels = tuple(frequencies(words))
        return LevelCode(levels[:MAX_LEVELS], levels[MAX_LEVELS:], None in words)

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        others = ["other"] if self.rare else []
        missing = ["missing"] if self.marked else []
        return [f"{column.name} = {level}" for level in (*self.levels[1:], *others, *missing)]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        words = words_in(values)
        places = level_places(words, self.levels, others=bool(self.rare))
        marks = np.zeros((len(values), len(self.names(column))))
        known = np.flatnonzero(places > 0)
        marks[known, places[known].astype(np.intp) - 1] = 1.0
        if self.marked:
            marks[:, -1] = [word is None for word in words]
        return marks


@dataclass(frozen=True)
class OrderCode(Levels):
    """An ordered category: the place of its level, the middle of the fit where it is missing or unknown."""

    levels: tuple[str, ...]
    fill: float
    rare: ClassVar[tuple[str, ...]] = ()  # type: ignore[misc]  # an order has none, and no field for them

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> OrderCode:
        """Learn the median place."""
        places = OrderCode(column.levels, np.nan).encode(values, column)[:, 0]
        known = places[~np.isnan(places)]
        return OrderCode(column.levels, float(np.median(known)) if known.size else 0.0)

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [column.name]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        places = level_places(words_in(values), self.levels)
        return np.where(np.isnan(places), self.fill, places)[:, np.newaxis]


@dataclass(frozen=True)
class DateCode:
    """A date: years since the first of the fit, and where in the year and in the week it stands."""

    first: float
    fill: float

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> DateCode:
        """Learn the first and the median date."""
        days = days_of(values, day_first=column.day_first)
        known = days[~np.isnan(days)]
        return DateCode(float(known.min()), float(np.median(known))) if known.size else DateCode(0.0, 0.0)

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        parts = ("years", "season (cosine)", "season (sine)", "weekend")
        return [f"{column.name}: {part}" for part in parts]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        days = read_days(values, column)
        days = np.where(np.isnan(days), self.fill, days)
        angle = 2 * np.pi * days / DAYS_OF_YEAR
        # Day 0 is a Thursday.
        weekend = (np.floor(days) + 3) % 7 >= 5
        return np.column_stack([(days - self.first) / DAYS_OF_YEAR, np.cos(angle), np.sin(angle), weekend])


Code: TypeAlias = NumericCode | LevelCode | OrderCode | DateCode | ShareCode

CODES: dict[str, type[Code]] = {
    "numeric": NumericCode,
    "boolean": NumericCode,
    "categorical": LevelCode,
    "ordinal": OrderCode,
    "date": DateCode,
}

PACKED: dict[str, type] = {"columns": tuple, "codes_": list, "feature_names_out_": list}
"""What encoders have for each column is one text in a file."""


class TableEncoder(TransformerMixin, BaseEstimator):
    """Turns the columns of a table into standardised numbers.

    Numbers keep their value, missing ones get the median and a mark; categories become marks of their levels;
    ordered categories their place; dates the years since the first, the season and the weekend. Then every
    feature is centred and divided by its standard deviation. Medians, levels, means and deviations are those
    of the rows that `fit` sees.

    Parameters
    ----------
    columns : sequence of Column
        What the columns are, from `describe_columns`; those that are not learnable are left out.

    Attributes
    ----------
    codes_ : list
        What was learnt of each column.
    mean_, scale_ : arrays of shape (n_features_out,)
        Centre and standard deviation of each feature.
    feature_names_out_ : list of str

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.encoding.encoder import TableEncoder
    >>> frame = pd.DataFrame({"age": [20.0, None, 40.0], "town": ["Lyon", "Nice", "Lyon"]})
    >>> encoder = TableEncoder(describe_columns(frame)).fit(frame)
    >>> encoder.feature_names_out_
    ['age', 'age missing', 'town = Nice']
    """

    _distances: ClassVar[bool] = False  # whether the marks of words are for distances between rows

    def __init__(self, columns: Sequence[Column] = ()) -> None:
        self.columns = columns

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        for name, kind in PACKED.items():
            if type(state.get(name)) is kind:
                state[name] = packed(state[name])
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        texts = {name: state[name] for name in PACKED if isinstance(state.get(name), str)}
        super().__setstate__(state | {name: PACKED[name](unpacked(text)) for name, text in texts.items()})

    def fit(self, X: pd.DataFrame, y: Any = None) -> TableEncoder:
        """Learn medians, levels, means and deviations from these rows."""
        self._learn(X)
        return self

    def fit_transform(self, X: pd.DataFrame, y: Any = None) -> NDArray:
        """Learn from rows and give their features, reading them once."""
        return self._standardise(self._learn(X))

    def _learn(self, X: pd.DataFrame) -> NDArray:
        """Learn from rows; gives their features before they are standardised."""
        self.require_columns(X)
        used, plain = self._used(), self._plain(X)
        known = {place: NumericCode(*facts) for place, facts in plain.learn().items()}
        self.codes_ = [
            known.get(place) or self._learnt(cells(X, column), column) for place, column in enumerate(used)
        ]
        most = n_marked_levels(len(X), used, distances=self._distances)
        if most < MAX_LEVELS:
            marked = (LevelCode, ShareCode)
            self.codes_ = [code.limited(most) if isinstance(code, marked) else code for code in self.codes_]
        self.feature_names_out_ = [
            name for column, code in zip(used, self.codes_, strict=True) for name in code.names(column)
        ]
        features = self._encode(X, plain)
        self.mean_ = features.mean(axis=0)
        spread = features.std(axis=0)
        self.scale_ = np.where(spread > 1e-12 * np.abs(self.mean_), spread, 1.0)
        return features

    def _learnt(self, values: pd.Series[Any], column: Column) -> Code:
        """What is learnt of one column."""
        return CODES[column.kind].learn(values, column)

    def _plain(self, X: pd.DataFrame) -> PlainNumbers:
        """The columns that are read and learnt all at once."""
        return PlainNumbers.of(X, self._used())

    def _standardise(self, features: NDArray) -> NDArray:
        features -= self.mean_
        features /= self.scale_
        return features

    def transform(self, X: pd.DataFrame) -> NDArray:
        """The features of rows, of shape (n_rows, n_features_out)."""
        check_is_fitted(self)
        self.require_columns(X)
        return self._standardise(self._encode(X))

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the features."""
        return np.array(self.feature_names_out_, dtype=object)

    def unseen_levels(self, X: pd.DataFrame) -> dict[str, list[str]]:
        """Categories of each column that the fit has not seen, at most five a column."""
        check_is_fitted(self)
        unseen = {}
        for column, code in zip(self._used(), self.codes_, strict=True):
            if isinstance(code, Levels) and column.kind != "boolean":
                words = frequencies(words_in(cells(X, column)))
                new = sorted(set(words).difference(code.known_levels))
                if new:
                    unseen[column.name] = new[:5]
        return unseen

    def groups(self) -> list[NDArray[np.intp]]:
        """Places of the features of each column, in the order of the columns that are learnt from."""
        widths = [len(code.names(column)) for column, code in zip(self._used(), self.codes_, strict=True)]
        ends = np.cumsum([0, *widths])
        return [np.arange(start, end) for start, end in pairwise(ends)]

    def require_columns(self, X: pd.DataFrame) -> None:
        """Refuse a table that lacks a column, naming it."""
        if missing := [column.name for column in self._used() if column.name not in X.columns]:
            names = ", ".join(map(repr, missing))
            plural = "s" if len(missing) > 1 else ""
            raise ReportError(f"The table lacks the column{plural} {names} that the model was fitted on.")

    def _used(self) -> list[Column]:
        return [column for column in self.columns if column.learnable]

    def _encode(self, X: pd.DataFrame, plain: PlainNumbers | None = None) -> NDArray:
        used = self._used()
        plain = self._plain(X) if plain is None else plain
        ends = np.cumsum([0, *(len(code.names(item)) for item, code in zip(used, self.codes_, strict=True))])
        features = np.empty((len(X), ends[-1]))
        plain.encode(self.codes_, ends, features)
        done = set(plain.places)
        for place, (column, code) in enumerate(zip(used, self.codes_, strict=True)):
            if place not in done:
                features[:, ends[place] : ends[place + 1]] = code.encode(cells(X, column), column)
        return features


class ClusterEncoder(TableEncoder):
    """Turns columns into numbers whose distances make sense: standardised, or in Gower's way beside words.

    A table of numbers and dates is standardised as by `TableEncoder`, Euclidean distances are meant
    (`metric_`). With words or truth values among them, the sum of absolute differences is Gower's distance:
    numbers differ by their difference over the mean difference of two rows, words by one or nothing, which
    counts half as much on average as a number does and never more than between two halves of the rows.
    Otherwise the gaps between words would make all the groups (Hennig and Liao 2013). What is missing has
    no mark: a number counts as the median, a word as the average of all.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Attributes
    ----------
    metric_ : {"euclidean", "cityblock"}

    Examples
    --------
    >>> import numpy as np
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.encoding.encoder import ClusterEncoder
    >>> frame = pd.DataFrame({"town": ["Lyon", "Nice"] * 10, "age": np.arange(20.0) ** 2})
    >>> encoder = ClusterEncoder(describe_columns(frame)).fit(frame)
    >>> Z = encoder.transform(frame)
    >>> encoder.metric_, float(np.abs(Z[0, :2] - Z[1, :2]).sum())  # two towns
    ('cityblock', 1.0)
    """

    _distances = True

    def _learn(self, X: pd.DataFrame) -> NDArray:
        words = any(column.kind in NOMINAL for column in self._used())
        self.metric_ = "cityblock" if words else "euclidean"
        features = super()._learn(X)
        if words:
            self.scale_ = gower_scales(features, self._used(), self.codes_)
        return features

    def _plain(self, X: pd.DataFrame) -> PlainNumbers:
        return PlainNumbers([], np.empty((len(X), 0)))  # gaps have no marks here: each column is asked

    def _learnt(self, values: pd.Series[Any], column: Column) -> Code:
        if column.kind in NOMINAL:
            return ShareCode.learn(values, column)
        code = super()._learnt(values, column)
        return replace(code, marked=False) if isinstance(code, NumericCode) else code


class PlainEncoder(TableEncoder):
    """Turns columns into numbers as `TableEncoder` does, and neither centres nor divides them.

    For methods that take a table of counts or similarities as it is and know no negative entry.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.encoding.encoder import PlainEncoder
    >>> frame = pd.DataFrame({"apples": [3, 0, 7], "pears": [1, 5, 2]})
    >>> PlainEncoder(describe_columns(frame)).fit_transform(frame).tolist()
    [[3.0, 1.0], [0.0, 5.0], [7.0, 2.0]]
    """

    def _learn(self, X: pd.DataFrame) -> NDArray:
        features = super()._learn(X)
        self.mean_, self.scale_ = np.zeros_like(self.mean_), np.ones_like(self.scale_)
        return features
