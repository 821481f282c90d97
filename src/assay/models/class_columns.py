"""Targets of several columns of classes: each column has classes of its own.

The classes of all columns are counted on from one to the next; `ends` says where each column ends among them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from assay import rows
from assay.base import _validated
from assay.models.classes import Classifier
from assay.rows import MemoryRows, Rows


class ClassColumns(Classifier):
    """Base of classifiers whose target may have several columns: `classes_` is then a list of arrays."""

    _takes_several: ClassVar[bool] = True
    classes_: Any

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._takes_several
        return tags

    @property
    def _several(self) -> bool:
        return isinstance(self.classes_, list)

    @property
    def _ends(self) -> NDArray[np.int64]:
        """One past the last of the classes of each output, counted on from one to the next."""
        lists = self.classes_ if self._several else [self.classes_]
        return np.cumsum([len(classes) for classes in lists])

    def _open_classes(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None
    ) -> tuple[Rows, NDArray]:
        if rows.is_external(X) or not (self._takes_several and _has_columns(X, y)):
            return super()._open_classes(X, y, sample_weight, offset=offset)
        self._check_parameters()
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=True)
        X, y = _validated(self, X, y, multi_output=True, **self._feature_options)
        weight = rows.fit_weights(sample_weight, X.shape[0], X.dtype)
        check_classification_targets(y)
        each = [np.unique(column, return_inverse=True) for column in y.T]
        self.classes_ = [own for own, _ in each]
        target = self._joined([places for _, places in each], X.dtype)
        return MemoryRows(X, target, weight), share_weights(target, weight, int(self._ends[-1]))

    def _open_new_classes(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Rows:
        if "classes_" not in vars(self) or not self._several:
            return super()._open_new_classes(X, y, sample_weight, offset=offset)
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=False)
        labels = np.asarray(y)
        if labels.ndim != 2 or labels.shape[1] != len(self.classes_):
            raise ValueError(f"y must have {len(self.classes_)} columns, as at the fit.")
        weight = None if sample_weight is None else np.asarray(sample_weight)
        places = [rows.code(column, own, weight) for column, own in zip(labels.T, self.classes_, strict=True)]
        return self._open_new_rows(X, self._joined(places, np.float64), sample_weight, with_target=True)

    def _joined(self, places: list[NDArray], dtype: Any) -> NDArray:
        return (np.column_stack(places) + np.append(0, self._ends[:-1])).astype(dtype)

    @property
    def _answer_type(self) -> dict[str, Any]:
        """Type and width of what is predicted."""
        if not self._several:
            return {"dtype": self.classes_.dtype}
        return {"dtype": np.result_type(*self.classes_), "width": len(self.classes_)}

    def _apart(self, shares: Any) -> Any:
        """Shares of the classes of each output: an array, or a list of them for several outputs."""
        if not self._several:
            return shares
        return [shares[:, begin:end] for begin, end in pairwise([0, *self._ends.tolist()])]


def _has_columns(X: Any, y: Any) -> bool:
    """Whether a target in memory has several columns, or names several of a frame."""
    if rows.is_name(y):
        named = set(getattr(X, "columns", ()))
        return not isinstance(y, str) and len(y) > 1 and set(y) <= named
    shape = getattr(y, "shape", None)
    if shape is None and isinstance(y, (list, tuple)) and len(y) > 0:
        try:
            shape = np.shape(y[0])
        except ValueError:  # rows of unequal length
            return False
        return len(shape) == 1 and shape[0] > 1
    return shape is not None and len(shape) == 2 and shape[1] > 1


def share_weights(target: NDArray, weight: NDArray | None, n_shares: int) -> NDArray[np.float64]:
    """Weight of the rows of each class of each output."""
    places = target.reshape(len(target), -1).astype(np.intp)
    each = None if weight is None else np.repeat(weight, places.shape[1])
    return np.bincount(places.ravel(), each, minlength=n_shares).astype(np.float64)


def refuse_several(model: Any, what: str) -> None:
    """Raise one sentence where a model of several outputs is asked for what is told of one alone."""
    several = getattr(model, "classes_", None)
    n_outputs = len(several) if isinstance(several, list) else getattr(model, "n_outputs_", 1)
    if n_outputs > 1:
        raise ValueError(
            f"{type(model).__name__}.{what} is of one output; this model has {n_outputs}: fit one "
            "model per output."
        )
