"""A table ready for learning: the target apart, the columns described, what cannot serve left out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.files.options import Reading
from assay.report.tables.files.reading import AS_IT_IS
from assay.report.tables.schema import (
    Column,
    describe_columns,
)

Task = Literal["regression", "classification", "clustering"]
TASKS: tuple[Task, ...] = ("regression", "classification", "clustering")


@dataclass(frozen=True)
class Data:
    """A table ready for learning.

    Attributes
    ----------
    name, description, source, row_names
        As in `RawTable`.
    X : DataFrame
        The columns to learn from, as they were read.
    columns : tuple of Column
        What every column of the table is but the target, those that are left out included.
    y : ndarray or None
        The target: floats for a regression, labels for a classification.
    target : str or None
        Name of the target.
    classes : tuple of str or None
        Names of the classes, in the order of the sorted labels.
    notes : tuple of str
        What was decided about the table.
    dropped : tuple of str
        Columns that the user set aside.
    time, group : str or None
        Columns that the folds go by: later rows are predicted from earlier ones, rows of a group together.
    times, groups : ndarray or None
        Their values: numbers that grow with the time, and one code per group.
    reading : Reading
        What the user said about how to read the table.
    n_repeating : int or None
        Rows, of those that are looked at, that repeat an earlier one in every column of the table.
    aside : DataFrame or None
        The columns of `dropped` that were read all the same: what errors cost may be among them.
    whole : Data or None
        The table with all rows, where these are only those that a comparison predicts.
    """

    name: str
    X: pd.DataFrame
    columns: tuple[Column, ...]
    y: NDArray | None = None
    target: str | None = None
    classes: tuple[str, ...] | None = None
    row_names: tuple[str, ...] | None = None
    description: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    time: str | None = None
    group: str | None = None
    times: NDArray | None = None
    groups: NDArray | None = None
    reading: Reading = AS_IT_IS
    n_repeating: int | None = None
    aside: pd.DataFrame | None = None
    whole: Data | None = None

    @classmethod
    def from_frame(
        cls, X: pd.DataFrame, y: NDArray | None = None, *, name: str = "table", target: str = "y", **rest: Any
    ) -> Data:
        """A frame and, for a prediction, its target; what the columns are is told from their values."""
        columns = describe_columns(X)
        used = X[[column.name for column in columns if column.learnable]]
        classes = None
        if y is not None and np.asarray(y).dtype.kind != "f":
            classes = tuple(str(label) for label in np.unique(y))
        return cls(name, used, columns, y, None if y is None else target, classes, **rest)

    def at(self, rows: NDArray) -> Data:
        """These rows of the table, which is kept as a whole beside them."""

        def some(values: NDArray | None) -> NDArray | None:
            return None if values is None else values[rows]

        names = None if self.row_names is None else tuple(np.array(self.row_names, dtype=object)[rows])
        return replace(
            self,
            X=self.X.iloc[rows].reset_index(drop=True),
            y=some(self.y),
            times=some(self.times),
            groups=some(self.groups),
            row_names=names,
            aside=None if self.aside is None else self.aside.iloc[rows].reset_index(drop=True),
            whole=self,
        )

    @property
    def task(self) -> Task:
        """The question: groups without a target, classes where there are some, numbers otherwise."""
        if self.y is None:
            return "clustering"
        return "regression" if self.classes is None else "classification"

    @property
    def feature_names(self) -> list[str]:
        """Names of the columns that are learnt from."""
        return [str(name) for name in self.X.columns]

    @property
    def labels(self) -> NDArray:
        """The different labels of a classification, sorted."""
        assert self.y is not None
        return np.unique(self.y)


def rarer_class(y: NDArray, labels: NDArray) -> int:
    """Place of the class of two that pictures and effects are about: the rarer; the second of equal ones.

    Examples
    --------
    >>> rarer_class(np.array(["fraud", "no", "no"]), np.array(["fraud", "no"]))
    0
    """
    first, second = (np.count_nonzero(y == label) for label in labels)
    return 0 if first < second else 1


SAMPLE_ROWS = 100_000
"""Beyond so many rows, what only describes the table is measured on that many, drawn at random."""


def sampled(n_rows: int, limit: int = SAMPLE_ROWS) -> NDArray:
    """Places of rows drawn at random, always the same ones."""
    return np.sort(np.random.default_rng(0).choice(n_rows, limit, replace=False))
