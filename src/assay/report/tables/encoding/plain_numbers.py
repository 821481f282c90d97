"""Columns that are numbers already, read and learnt from all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.encoding.cells import cells, read_numbers, words_in
from assay.report.tables.schema import Column


class PlainNumbers(NamedTuple):
    """The columns that are numbers already, all at once: a table may have thousands of them."""

    places: list[int]  # among the columns that are learnt from
    values: NDArray  # (n_rows, n_places), NaN where there is none

    @staticmethod
    def of(X: pd.DataFrame, used: Sequence[Column]) -> PlainNumbers:
        """Those of a table."""
        kinds = dict(zip(X.columns, X.dtypes, strict=True))
        places = [
            place
            for place, column in enumerate(used)
            if column.kind in ("numeric", "boolean")
            and not column.missing
            and isinstance(kind := kinds[column.name], np.dtype)
            and kind.kind in "fiub"
        ]
        values = X[[used[place].name for place in places]].to_numpy(dtype=np.float64)
        return PlainNumbers(places, np.where(np.isfinite(values), values, np.nan))

    def learn(self) -> dict[int, tuple[float, bool]]:
        """What is learnt of each column, by its place: the median, and whether a value is missing."""
        if not len(self.values):
            return {}
        missing = np.isnan(self.values).any(axis=0)
        fills = np.zeros(len(self.places))
        fills[~missing] = np.median(self.values[:, ~missing], axis=0)
        for number in np.flatnonzero(missing):
            present = self.values[~np.isnan(self.values[:, number]), number]
            fills[number] = np.median(present) if present.size else 0.0
        return dict(zip(self.places, zip(fills.tolist(), missing.tolist(), strict=True), strict=True))

    def encode(self, codes: Sequence[Any], ends: NDArray, features: NDArray) -> None:
        """Write the features of these columns to their places."""
        missing = np.isnan(self.values)
        first = ends[self.places] if self.places else np.empty(0, dtype=np.intp)
        features[:, first] = np.where(missing, [codes[place].fill for place in self.places], self.values)
        marked = np.array([codes[place].marked for place in self.places], dtype=bool)
        features[:, first[marked] + 1] = missing[:, marked]


def read_once(X: pd.DataFrame, columns: Sequence[Column]) -> pd.DataFrame:
    """A table with its numbers as floats and its words as texts: a cell says the same in every split."""
    used = [item for item in columns if item.learnable]
    numeric = [item for item in used if item.kind in ("numeric", "boolean")]
    worded = [item for item in used if item.kind in ("categorical", "ordinal")]
    numbers = np.empty((len(X), len(numeric)))
    for place, column in enumerate(numeric):
        numbers[:, place] = read_numbers(cells(X, column), column)
    words = np.empty((len(X), len(worded)), dtype=object)
    for place, column in enumerate(worded):
        words[:, place] = words_in(cells(X, column))
    read = {column.name for column in (*numeric, *worded)}
    return pd.concat(
        [
            pd.DataFrame(numbers, index=X.index, columns=[column.name for column in numeric]),
            pd.DataFrame(words, index=X.index, columns=[column.name for column in worded], dtype=object),
            X[[name for name in X.columns if name not in read]],
        ],
        axis=1,
    )
