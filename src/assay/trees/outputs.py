"""Targets of several columns: trees that predict several classes or numbers at once.

The values of a leaf are the shares of the classes of one output after the other, or one number per output;
`ends` says where each output ends among them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from assay import rows
from assay.base import _validated
from assay.models.capabilities import Regressor, vector_target
from assay.models.classes import CLASS_WEIGHT, Classifier, class_factors, class_of
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows
from assay.trees.growing.criteria import Several

CLASS_WEIGHTS = CLASS_WEIGHT | Domain(
    "a list of those, one per output",
    lambda value: isinstance(value, list) and all(CLASS_WEIGHT.contains(item) for item in value),
)


class ClassOutputs(Classifier):
    """Base of classifiers whose target may have several columns: `classes_` is then a list of arrays."""

    _takes_several: ClassVar[bool] = True
    classes_: Any
    class_weight: Any
    n_outputs_: int
    n_classes_: Any

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

    def _form(self, form: Any) -> Any:
        """The criterion, of each output where there are several."""
        return Several(form, self._ends, True) if self._several else form

    def _open_classes(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None
    ) -> tuple[Rows, NDArray]:
        if rows.is_external(X) or not (self._takes_several and _has_columns(X, y)):
            opened = super()._open_classes(X, y, sample_weight, offset=offset)
            self.n_outputs_, self.n_classes_ = 1, len(self.classes_)
            return opened
        self._check_parameters()
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=True)
        X, y = _validated(self, X, y, multi_output=True, **self._feature_options)
        weight = rows.fit_weights(sample_weight, X.shape[0], X.dtype)
        check_classification_targets(y)
        each = [np.unique(column, return_inverse=True) for column in y.T]
        self.classes_, self.n_outputs_ = [own for own, _ in each], len(each)
        self.n_classes_ = [len(own) for own, _ in each]
        target = self._joined([places for _, places in each], X.dtype)
        return MemoryRows(X, target, weight), share_weights(target, weight, int(self._ends[-1]))

    def _open_new_classes(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Rows:
        if "classes_" not in vars(self) or not self._several:
            return super()._open_new_classes(X, y, sample_weight, offset=offset)
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=False)
        labels = np.asarray(y)
        if labels.ndim != 2 or labels.shape[1] != self.n_outputs_:
            raise ValueError(f"y must have {self.n_outputs_} columns, as at the fit.")
        weight = None if sample_weight is None else np.asarray(sample_weight)
        places = [rows.code(column, own, weight) for column, own in zip(labels.T, self.classes_, strict=True)]
        return self._open_new_rows(X, self._joined(places, np.float64), sample_weight, with_target=True)

    def _joined(self, places: list[NDArray], dtype: Any) -> NDArray:
        return (np.column_stack(places) + np.append(0, self._ends[:-1])).astype(dtype)

    def _class_factors(self, weights: NDArray) -> NDArray:
        """Factor of the weight of each class of each output, from the weights of the classes."""
        lists, given = self.classes_ if self._several else [self.classes_], self.class_weight
        listed = given if isinstance(given, list) else [given] * len(lists)
        if len(listed) != len(lists) or isinstance(given, list if len(lists) == 1 else dict):
            words = (
                "no list with one output" if len(lists) == 1 else f"a list of {len(lists)}, one per output"
            )
            raise self._refuse("class_weight", words)
        given, parts = listed, np.split(weights, self._ends[:-1])
        return np.concatenate([class_factors(*each) for each in zip(given, lists, parts, strict=True)])

    def _each(self, shares: Any) -> list[tuple[NDArray, Any]]:
        """The classes of each output with their shares."""
        lists, parts = (self.classes_, self._apart(shares)) if self._several else ([self.classes_], [shares])
        return list(zip(lists, parts, strict=True))

    def _apart(self, shares: Any) -> Any:
        """Shares of the classes of each output: an array, or a list of them for several outputs."""
        if not self._several:
            return shares
        return [shares[:, begin:end] for begin, end in pairwise([0, *self._ends.tolist()])]

    @property
    def _answer(self) -> dict[str, Any]:
        """Type and width of what is predicted."""
        if not self._several:
            return {"dtype": self.classes_.dtype}
        return {"dtype": np.result_type(*self.classes_), "width": self.n_outputs_}

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`; −∞ for classes that no leaf of the row has seen."""
        with np.errstate(divide="ignore"):
            said = self.predict_proba(X)
            return [np.log(part) for part in said] if self._several else np.log(said)


class NumberOutputs(Regressor):
    """Base of regressors whose target may have several columns."""

    n_outputs_: int

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _form(self, form: Any) -> Any:
        """The criterion, of each output where there are several."""
        if self.n_outputs_ == 1:
            return form
        if self.criterion == "absolute_error":
            raise self._refuse("criterion", "another than 'absolute_error' with several outputs")
        return Several(form, np.arange(1, self.n_outputs_ + 1), False)

    def _open_vector(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        data = self._open_rows(X, y, sample_weight, with_target=True)
        self.n_outputs_ = max(data.n_targets, 1)
        return data if data.n_targets > 1 else vector_target(data, self)

    def _open_new_vector(self, X: Any, y: Any, sample_weight: Any = None) -> Rows:
        data = self._open_new_rows(X, y, sample_weight, with_target=True)
        if max(data.n_targets, 1) != self.n_outputs_:
            raise ValueError(f"y must have {self.n_outputs_} columns, as at the fit.")
        return data if data.n_targets > 1 else vector_target(data, self)

    @property
    def _answer(self) -> dict[str, Any]:
        """Width of what is predicted."""
        return {} if self.n_outputs_ == 1 else {"width": self.n_outputs_}


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


def classes_of_shares(shares: NDArray, classes: Any) -> NDArray:
    """The class that the shares of each row decide for, in each output."""
    if not isinstance(classes, list):
        return class_of(shares, classes)
    ends = np.cumsum([len(own) for own in classes])
    parts = np.split(shares, ends[:-1], axis=1)
    return np.column_stack([own[part.argmax(axis=1)] for part, own in zip(parts, classes, strict=True)])


def share_weights(target: NDArray, weight: NDArray | None, n_shares: int) -> NDArray[np.float64]:
    """Weight of the rows of each class of each output."""
    places = target.reshape(len(target), -1).astype(np.intp)
    each = None if weight is None else np.repeat(weight, places.shape[1])
    return np.bincount(places.ravel(), each, minlength=n_shares).astype(np.float64)


def numbers_of_values(values: NDArray) -> NDArray:
    """A vector of numbers, or a column per output where there are several."""
    return values[:, 0] if values.shape[1] == 1 else values


def wrong_outputs(shares: NDArray, target: NDArray, ends: NDArray | None) -> NDArray[np.float64]:
    """Share of the outputs of each row whose likeliest class is not its own."""
    if ends is None:
        return np.asarray(np.argmax(shares, axis=1) != target, dtype=np.float64)
    wrong = [
        np.argmax(shares[:, begin:end], axis=1) + begin != target[:, place]
        for place, (begin, end) in enumerate(pairwise([0, *ends.tolist()]))
    ]
    return np.asarray(np.mean(wrong, axis=0))


def refuse_several(model: Any, what: str) -> None:
    """Raise one sentence where a model of several outputs is asked for what is told of one alone."""
    if getattr(model, "n_outputs_", 1) > 1:
        raise ValueError(
            f"{type(model).__name__}.{what} is of one output; this model has {model.n_outputs_}: fit one "
            "model per output."
        )
