"""Targets of several columns: trees that predict several classes or numbers at once.

The values of a leaf are the shares of the classes of one output after the other, or one number per output;
`ends` says where each output ends among them.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.capabilities import Regressor, vector_target
from assay.models.class_columns import ClassColumns, refuse_several, share_weights
from assay.models.classes import CLASS_WEIGHT, class_factors, class_of
from assay.parameters import Domain
from assay.rows import Rows
from assay.trees.growing.criteria import Several

__all__ = [
    "CLASS_WEIGHTS",
    "ClassOutputs",
    "NumberOutputs",
    "classes_of_shares",
    "numbers_of_values",
    "refuse_several",
    "share_weights",
    "wrong_outputs",
]

CLASS_WEIGHTS = CLASS_WEIGHT | Domain(
    "a list of those, one per output",
    lambda value: isinstance(value, list) and all(CLASS_WEIGHT.contains(item) for item in value),
)


class ClassOutputs(ClassColumns):
    """Base of trees whose target may have several columns: `classes_` is then a list of arrays."""

    class_weight: Any
    n_outputs_: int
    n_classes_: Any

    def _open_classes(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None
    ) -> tuple[Rows, NDArray]:
        opened = super()._open_classes(X, y, sample_weight, offset=offset)
        self.n_outputs_, self.n_classes_ = 1, len(self.classes_)
        if self._several:
            self.n_outputs_, self.n_classes_ = len(self.classes_), [len(own) for own in self.classes_]
        return opened

    def _form(self, form: Any) -> Any:
        """The criterion, of each output where there are several."""
        return Several(form, self._ends, True) if self._several else form

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

    @property
    def _answer(self) -> dict[str, Any]:
        """Type and width of what is predicted."""
        return self._answer_type

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


def classes_of_shares(shares: NDArray, classes: Any) -> NDArray:
    """The class that the shares of each row decide for, in each output."""
    if not isinstance(classes, list):
        return class_of(shares, classes)
    ends = np.cumsum([len(own) for own in classes])
    parts = np.split(shares, ends[:-1], axis=1)
    return np.column_stack([own[part.argmax(axis=1)] for part, own in zip(parts, classes, strict=True)])


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
