"""The columns of a table as trees take them: a number each, with what is missing left missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone
from sklearn.utils.metaestimators import available_if

from assay.report.tables.encoding.cells import level_places, words_in
from assay.report.tables.encoding.encoder import (
    Code,
    DateCode,
    LevelCode,
    NumericCode,
    OrderCode,
    PlainEncoder,
    TableEncoder,
)
from assay.report.tables.encoding.marks import Levels
from assay.report.tables.encoding.plain_numbers import PlainNumbers
from assay.report.tables.schema import Column
from assay.report.tables.texts import frequencies

LEAST_ROWS = 3
"""Rows of a level that has a place of its own, as of a bin of numbers: the mean of fewer is their noise."""


@dataclass(frozen=True)
class PlaceOfLevel(LevelCode):
    """A category: the place of its level among those of the fit, NaN where it is missing.

    Levels of fewer than three rows share the last place, and levels that the fit has not seen are there too;
    without any that are rare, these are NaN.
    """

    @staticmethod
    def learn(values: pd.Series[Any], column: Column) -> PlaceOfLevel:
        """Learn the levels, the most frequent first."""
        counts = frequencies(words_in(values))
        every, n_frequent = tuple(counts), sum(count >= LEAST_ROWS for count in counts.values())
        return PlaceOfLevel(every[:n_frequent], every[n_frequent:], marked=False)

    def limited(self, most: int) -> PlaceOfLevel:
        """The same: it is one number, however many levels there are."""
        return self

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [column.name]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The feature, one column."""
        return level_places(words_in(values), self.levels, others=bool(self.rare))[:, np.newaxis]


def learn_plainly(values: pd.Series[Any], column: Column) -> Code:
    """What is learnt of a column whose missing values stay missing."""
    if column.kind == "categorical":
        return PlaceOfLevel.learn(values, column)
    if column.kind == "ordinal":
        return OrderCode(column.levels, np.nan)
    if column.kind == "date":
        return DateCode(DateCode.learn(values, column).first, np.nan)
    return NumericCode(np.nan, marked=False)


class CodeEncoder(PlainEncoder):
    """Turns columns into numbers for trees: nothing is filled, marked, centred or divided.

    Numbers stay as they are, levels of a category become their places (`places_of_categories` says which
    features are such; levels of one or two rows share a place), and what is missing is NaN, which trees send
    to the better side.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Examples
    --------
    >>> import pandas as pd
    >>> from assay.report import describe_columns
    >>> from assay.report.tables.encoding.code_encoder import CodeEncoder
    >>> frame = pd.DataFrame({"age": [20.0, None, 40.0, 50.0], "town": ["Lyon", "Lyon", "Nice", "Lyon"]})
    >>> CodeEncoder(describe_columns(frame)).fit_transform(frame).tolist()
    [[20.0, 0.0], [nan, 0.0], [40.0, 1.0], [50.0, 0.0]]
    """

    def _learnt(self, values: pd.Series[Any], column: Column) -> Code:
        return learn_plainly(values, column)

    def _plain(self, X: pd.DataFrame) -> PlainNumbers:
        return PlainNumbers.of(X, ())


def places_of_categories(columns: Sequence[Column]) -> list[int]:
    """The features of a `CodeEncoder` that are places of levels without an order."""
    kinds = [column.kind for column in columns if column.learnable]
    pairs = zip(_starts(columns), kinds, strict=False)
    return [int(start) for start, kind in pairs if kind == "categorical"]


def n_plain_features(columns: Sequence[Column]) -> int:
    """The number of features of a `CodeEncoder`."""
    return int(_starts(columns)[-1])


def _starts(columns: Sequence[Column]) -> NDArray[np.intp]:
    used = [column for column in columns if column.learnable]
    widths = [len(DateCode(0.0, 0.0).names(column)) if column.kind == "date" else 1 for column in used]
    return np.cumsum([0, *widths])


@dataclass(frozen=True)
class BothCodes:
    """A column in both ways: the features of a `CodeEncoder`, then those of a `TableEncoder`."""

    plain: Code
    numbers: Code

    @property
    def known_levels(self) -> tuple[str, ...]:
        """Every level of the fit of a category, which both ways know."""
        assert isinstance(self.plain, Levels)
        return self.plain.known_levels

    def names(self, column: Column) -> list[str]:
        """Names of the features."""
        return [*self.plain.names(column), *self.numbers.names(column)]

    def encode(self, values: pd.Series[Any], column: Column) -> NDArray:
        """The features, one column each."""
        return np.column_stack([self.plain.encode(values, column), self.numbers.encode(values, column)])


class BothEncoder(TableEncoder):
    """Turns columns into numbers in both ways, for ensembles whose members take them in different ways.

    The features of a `CodeEncoder` come first: their number depends on the columns alone, so that a member
    finds its features in every part of a table.

    Parameters
    ----------
    columns : sequence of Column
        As in `TableEncoder`.

    Attributes
    ----------
    plain_, numbers_ : CodeEncoder and TableEncoder
        The two ways.
    """

    def _learn(self, X: pd.DataFrame) -> NDArray:
        self.plain_, self.numbers_ = CodeEncoder(self.columns), TableEncoder(self.columns)
        features = np.column_stack([self.plain_._learn(X), self.numbers_._learn(X)])
        pairs = zip(self.plain_.codes_, self.numbers_.codes_, strict=True)
        codes: Any = [BothCodes(*pair) for pair in pairs]
        self.codes_ = codes
        self.feature_names_out_ = self.plain_.feature_names_out_ + self.numbers_.feature_names_out_
        self.mean_ = np.concatenate([self.plain_.mean_, self.numbers_.mean_])
        self.scale_ = np.concatenate([self.plain_.scale_, self.numbers_.scale_])
        return features

    def _encode(self, X: pd.DataFrame, plain: PlainNumbers | None = None) -> NDArray:
        return np.column_stack([self.plain_._encode(X), self.numbers_._encode(X)])

    def groups(self) -> list[NDArray[np.intp]]:
        """Places of the features of each column."""
        width = len(self.plain_.feature_names_out_)
        pairs = zip(self.plain_.groups(), self.numbers_.groups(), strict=True)
        return [np.concatenate([first, width + second]) for first, second in pairs]

    def unseen_levels(self, X: pd.DataFrame) -> dict[str, list[str]]:
        """Categories of each column that the fit has not seen, at most five per column."""
        return self.plain_.unseen_levels(X)


def _has_probabilities(model: OnColumns) -> bool:
    return hasattr(model.estimator, "predict_proba")


class OnColumns(BaseEstimator):
    """A model that takes some of the features and knows nothing of the others.

    Parameters
    ----------
    estimator : estimator
    first : int
        The first feature that it takes.
    end : int, optional
        The first feature after it that it does not take; it takes all that follow by default.

    Attributes
    ----------
    estimator_ : estimator
        Fitted.
    n_features_in_ : int
        Features up to the last that it takes.
    """

    def __init__(self, estimator: Any = None, first: int = 0, end: int | None = None) -> None:
        self.estimator = estimator
        self.first = first
        self.end = end

    @classmethod
    def from_fitted(cls, estimator: Any, first: int, end: int | None) -> OnColumns:
        """A model that is fitted already."""
        return cls(clone(estimator), first, end)._take(estimator)

    def _take(self, fitted: Any) -> OnColumns:
        self.estimator_ = fitted
        self.n_features_in_ = self.first + fitted.n_features_in_  # it looks no further
        self.certificates_ = getattr(getattr(fitted, "regressor_", fitted), "certificates_", ())
        if hasattr(fitted, "classes_"):
            self.classes_ = fitted.classes_
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if self.estimator is not None:
            inner = self.estimator.__sklearn_tags__()
            tags.estimator_type = inner.estimator_type
            tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        return tags

    def fit(self, X: Any, y: Any, **options: Any) -> OnColumns:
        """Fit the model to its features; it is handed whatever options there are."""
        return self._take(clone(self.estimator).fit(self._own(X), y, **options))

    def _own(self, X: Any) -> Any:
        return X[:, self.first : self.end]

    def predict(self, X: Any) -> NDArray:
        """What the model predicts."""
        return np.asarray(self.estimator_.predict(self._own(X)))

    @available_if(_has_probabilities)
    def predict_proba(self, X: Any) -> NDArray:
        """The probabilities of the model."""
        return np.asarray(self.estimator_.predict_proba(self._own(X)))

    def certify(self, X: Any, y: Any) -> Any:
        """Certificates of the model, measured afresh."""
        return self.estimator_.certify(self._own(X), y)
