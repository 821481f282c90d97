"""What every classifier stands on: labels of any kind, coded 0, 1, … on the way to the solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from assay import parameters, rows
from assay.base import LARGE, Model, _is_plain, _validated
from assay.losses import chosen
from assay.parameters import Domain
from assay.rows import MemoryRows, Rows, coded_rows

CLASS_WEIGHT = (
    parameters.nothing
    | parameters.one_of("balanced")
    | Domain("a dict of labels and weights", lambda value: isinstance(value, Mapping))
)


class Classifier(ClassifierMixin, Model):
    """Base of classifiers: opens rows with labels and keeps their classes.

    A tie goes to the first class (`class_of`): a score of exactly 0, a probability of one half. What predicts
    and what counts errors follow this one convention, which is scikit-learn's.

    A label whose rows weigh nothing is a class all the same, of weight 0, as in scikit-learn: a resample that
    draws no row of it has the classes of the table.
    """

    classes_: NDArray

    def _open_classes(
        self, X: Any, y: Any = None, sample_weight: Any = None, *, offset: Any = None
    ) -> tuple[Rows, NDArray]:
        """Validate parameters and training data; set `classes_`; the rows and the weight of each class.

        The target is the place of each label among the classes, beside the offset when there is one.
        """
        self._check_parameters()
        if rows.is_external(X):
            return self._open_external_classes(X, y, sample_weight, offset)
        X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=True)
        if _is_plain(X, finite=self._finite_check) and type(y) is np.ndarray and y.shape == X.shape[:1]:
            self.n_features_in_ = X.shape[1]
            self.__dict__.pop("feature_names_in_", None)
        else:
            X, y = _validated(self, X, y, **self._feature_options)
        weight = rows.fit_weights(sample_weight, X.shape[0], X.dtype)
        codes, weights = self._code(y, weight)
        target = rows.beside(codes.astype(X.dtype), offset)
        return MemoryRows(X, target, weight), weights

    def _open_external_classes(self, X: Any, y: Any, sample_weight: Any, offset: Any) -> tuple[Rows, NDArray]:
        if not rows.is_name(y) and not hasattr(y, "dask") and y is not None:
            labels = np.asarray(y)
            in_memory = sample_weight is not None and not isinstance(sample_weight, str)
            weight = rows.check_weights(sample_weight, len(labels), np.float64) if in_memory else None
            codes, weights = self._code(labels, weight)
            target = rows.beside(codes.astype(np.float64), offset)
            return self._open_external(X, target, sample_weight), weights
        data = self._open_external(X, rows.beside(y, offset), sample_weight)
        if not data.n_targets:  # open rows may bring their own
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give the name of "
                "the column of labels."
            )
        alone = rows.open_labels(X, y, sample_weight, data)
        weights = alone.reduce(rows.class_weights, data.dtype, combine=rows.merge_weights)
        self._set_classes(np.array(sorted(weights)))
        return coded_rows(data, self.classes_), np.array([weights[label] for label in self.classes_.tolist()])

    def _open_new_classes(self, X: Any, y: Any, sample_weight: Any = None, *, offset: Any = None) -> Rows:
        """Validate labelled data given after the fit; labels are coded by the classes of the fit."""
        check_is_fitted(self)
        if not rows.is_external(X):
            X, y, sample_weight = self._split_table(X, y, sample_weight, fitting=False)
        elif rows.is_name(y) or hasattr(y, "dask") or isinstance(X, Rows):
            data = self._open_new_rows(X, rows.beside(y, offset), sample_weight, with_target=True)
            return coded_rows(data, self.classes_)
        labels = np.asarray(y)
        labels = labels[:, 0] if labels.ndim == 2 and labels.shape[1] == 1 else labels
        weight = None if sample_weight is None else np.asarray(sample_weight)
        target = rows.beside(rows.code(labels, self.classes_, weight).astype(np.float64), offset)
        return self._open_new_rows(X, target, sample_weight, with_target=True)

    def _code(self, labels: NDArray, weight: NDArray | None) -> tuple[NDArray, NDArray]:
        """Places of labels among the classes, which become `classes_`, and the weight of each class."""
        if labels.dtype.kind in "iu" and labels.size > LARGE:
            low, high = int(labels.min()), int(labels.max())
            if high - low < LARGE:  # few small numbers are counted, not sorted
                places = labels.astype(np.intp) - low
                return self._keep(np.arange(low, high + 1).astype(labels.dtype), places, weight)
        if labels.dtype.kind == "f":
            assert_all_finite(labels, input_name="y")
        try:
            if not _are_whole(labels):
                check_classification_targets(labels)
            present, places = np.unique(labels, return_inverse=True)
        except TypeError:  # text and numbers have no order
            raise ValueError("y must hold labels of one kind: all text or all numbers.") from None
        return self._keep(present, places, weight)

    def _keep(self, labels: NDArray, places: NDArray, weight: NDArray | None) -> tuple[NDArray, NDArray]:
        present = np.bincount(places, minlength=len(labels)) > 0
        weights = np.bincount(places, weight, minlength=len(labels)).astype(np.float64)
        self._set_classes(labels[present])
        if not present.all():
            places = (np.cumsum(present) - 1)[places]
        return places, weights[present]

    def _set_classes(self, classes: NDArray) -> None:
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs rows of at least two classes. "
                f"Got one class only: {classes.tolist()[0]!r}."
            )
        self.classes_ = classes


def _are_whole(labels: NDArray) -> bool:
    """Whether labels are whole numbers, one per row: such are labels without a further look."""
    if labels.ndim != 1:
        return False
    return labels.dtype.kind in "biu" or (
        labels.dtype.kind == "f" and bool((labels == np.rint(labels)).all())
    )


def class_of(scores: NDArray, classes: NDArray) -> NDArray:
    """The class that the scores of each row decide for, by the rule of `assay.losses.chosen`.

    Parameters
    ----------
    scores : array of shape (n_samples,) or (n_samples, n_classes)
        Those of the second of two classes, or one column per class.
    classes : array of shape (n_classes,)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.models.classes import class_of
    >>> class_of(np.array([0.0, 0.2]), np.array(["no", "yes"]))
    array(['no', 'yes'], dtype='<U3')
    """
    return classes[chosen(scores)]


def class_factors(class_weight: Any, classes: NDArray, weights: NDArray) -> NDArray:
    """Factor of the weight of each class; "balanced" gives n/(K n_k), so that classes weigh the same."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str):
        heavy = np.where(weights > 0, weights, weights.sum() / len(classes))  # no factor moves a weight of 0
        return np.asarray(weights.sum() / (len(classes) * heavy))
    for label, factor in class_weight.items():
        if not parameters.real(above=0).contains(factor):
            raise ValueError(
                f"The 'class_weight' of {label!r} must be a finite number above 0. Got {factor!r} instead."
            )
    return np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
