"""The rows of a boosted vote, wherever they are: in memory, or read once per some members."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.rows import MemoryRows, Rows
from assay.trees.boosting.gathering import Opened, SurveyedRows, survey

Array = NDArray[np.float64]


class SourceRows(NamedTuple):
    """Rows outside memory, of which some count; see `Committee.places`."""

    data: Rows
    there: NDArray[np.bool_]

    @property
    def shape(self) -> tuple[int, int]:
        """Rows that count, and columns."""
        return int(self.there.sum()), int(self.data.shape[1])


class FitRows(NamedTuple):
    """Rows of a fit that weigh something.

    Attributes
    ----------
    X : array, sparse matrix or SourceRows
    labels : int64 array
        Places of the classes.
    weight : float64 array
    there : bool array
        Which of the rows that were given these are.
    """

    X: Any
    labels: NDArray[np.int64]
    weight: Array
    there: NDArray[np.bool_]


def surveyed(data: Rows, *, dense: bool) -> Opened:
    """Opened rows with their targets in memory, and the rows themselves where they are not too many."""
    if isinstance(data, MemoryRows) and data.is_sparse and dense:
        return MemoryRows(data.X.toarray(), data.y, data.weight)
    return survey(data)


def labels_of(opened: Opened) -> tuple[NDArray[np.int64], Array | None]:
    """Places of the classes of all rows, and their weights."""
    target = opened.target if isinstance(opened, SurveyedRows) else opened.y
    assert target is not None
    labels = target.reshape(len(target), -1)[:, 0].astype(np.int64)
    return labels, None if opened.weight is None else opened.weight.astype(np.float64)


def fit_rows(opened: Opened, labels: NDArray[np.int64], weight: Array | None) -> FitRows:
    """The rows that weigh something."""
    every = weight is None or bool(np.all(weight > 0))
    there = np.ones(len(labels), dtype=np.bool_) if every or weight is None else weight > 0
    X: Any
    if isinstance(opened, SurveyedRows) and len(opened.sample) < len(labels):
        X = SourceRows(opened.data, there)
    else:
        X = opened.sample if isinstance(opened, SurveyedRows) else opened.X
        X = X if every else X[there]
    if weight is None:
        return FitRows(X, labels, np.ones(len(labels)), there)
    return FitRows(X, labels, weight, there) if every else FitRows(X, labels[there], weight[there], there)
