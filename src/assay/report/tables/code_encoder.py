"""The columns of a table as trees take them: a number each, with what is missing left missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoder import (
    CODES,
    DateCode,
    OrderCode,
    TableEncoder,
    days_of,
    read_numbers,
    read_words,
)
from assay.report.tables.schema import Column, by_frequency, without_missing


@dataclass(frozen=True)
class NumberAsIs:
    """A number as it is, NaN where it is missing."""

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> NumberAsIs:
        """Nothing is learnt."""
        return NumberAsIs()

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [column.name]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The feature, one column."""
        return read_numbers(values, column)[:, np.newaxis]


@dataclass(frozen=True)
class PlaceOfLevel:
    """A category: the place of its level among those of the fit, NaN where it is missing or unknown."""

    levels: tuple[str, ...]

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> PlaceOfLevel:
        """Learn the levels, the most frequent first."""
        return PlaceOfLevel(by_frequency(without_missing(values).astype(str).str.strip()))

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [column.name]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The feature, one column."""
        places = {level: float(number) for number, level in enumerate(self.levels)}
        return read_words(values).map(places).to_numpy(dtype=np.float64)[:, np.newaxis]


@dataclass(frozen=True)
class PlaceInOrder:
    """An ordered category: the place of its level, NaN where it is missing or unknown."""

    levels: tuple[str, ...]

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> PlaceInOrder:
        """The order is that of the column."""
        return PlaceInOrder(column.levels)

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [column.name]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The feature, one column."""
        return OrderCode(self.levels, np.nan).encode(values, column)


@dataclass(frozen=True)
class PartsOfDate(DateCode):
    """A date: the parts that `DateCode` makes of it, NaN where it is missing."""

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> PartsOfDate:
        """Learn the first date."""
        return PartsOfDate(DateCode.learn(values, column).first, np.nan)

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        parts = super().encode(values, column)
        parts[np.isnan(days_of(values, day_first=column.day_first))] = np.nan
        return parts


PLAIN_CODES: dict[str, Any] = {
    **dict.fromkeys(CODES, NumberAsIs),
    "categorical": PlaceOfLevel,
    "ordinal": PlaceInOrder,
    "date": PartsOfDate,
}


class CodeEncoder(TableEncoder):
    """Turns columns into numbers for trees: nothing is filled, marked, centred or divided.

    Numbers stay as they are, levels of a category become their places (`categorical_features_` says which
    features are such), and what is missing is NaN, which trees send to the better side.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Attributes
    ----------
    categorical_features_ : list of int
        Features whose numbers are places of levels without an order.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.code_encoder import CodeEncoder
    >>> frame = pd.DataFrame({"age": [20.0, None, 40.0], "town": ["Lyon", "Nice", "Lyon"]})
    >>> encoder = CodeEncoder(describe_columns(frame)).fit(frame)
    >>> encoder.transform(frame).tolist(), encoder.categorical_features_
    ([[20.0, 0.0], [nan, 1.0], [40.0, 0.0]], [1])
    """

    def _learn(self, X: pd.DataFrame) -> NDArray:
        self.require_columns(X)
        used = self._used()
        self.codes_ = [PLAIN_CODES[column.kind].learn(X[column.name], column) for column in used]
        names = [code.names(column) for column, code in zip(used, self.codes_, strict=True)]
        self.feature_names_out_ = [name for part in names for name in part]
        starts = np.cumsum([0, *map(len, names)])
        kinds = zip(starts, self.codes_, strict=False)
        self.categorical_features_ = [int(start) for start, code in kinds if isinstance(code, PlaceOfLevel)]
        return self._encode(X)

    def _standardise(self, features: NDArray) -> NDArray:
        return features

    def unseen_levels(self, X: pd.DataFrame) -> dict[str, list[str]]:
        """Categories of each column that the fit has not seen, at most five per column."""
        unseen = {}
        for column, code in zip(self._used(), self.codes_, strict=True):
            if isinstance(code, (PlaceOfLevel, PlaceInOrder)):
                words = read_words(X[column.name]).dropna()
                new = sorted(set(words.unique()) - set(code.levels))
                if new:
                    unseen[column.name] = new[:5]
        return unseen
