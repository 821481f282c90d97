"""What forests of classes and forests of numbers do."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificates
from assay.models.capabilities import Regressor
from assay.models.classes import Classifier, class_factors, class_of
from assay.rows import Block, Rows
from assay.trees.decision.solver import CLASS_CRITERIA, NUMBER_CRITERIA
from assay.trees.forest.base import ForestModel, mean_of_rows, number_of_rows
from assay.trees.forest.certificates import certify_forest, fit_certificates
from assay.trees.forest.solver import Forest
from assay.trees.forest.trees import Trees
from assay.trees.growing.columns import Columns


class ForestClassifier(Classifier, ForestModel):
    """Base of forests of classes."""

    criterion: str
    class_weight: Any

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix, frame, path, Dask array or dataframe
            NaN is a missing value. Rows outside memory are kept as codes of one byte per value.
        y : array-like of shape (n_samples,) or column name
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data, _ = self._open_classes(X, y, sample_weight)
        self.n_classes_ = len(self.classes_)
        self._grow(self._opened_forest(data))
        self.certificates_ = fit_certificates(self.trees_)
        return self

    def _opened_forest(self, data: Rows) -> Forest:
        table = self._read(data)
        table = table._replace(target=table.target.astype(np.int64))
        factors, n_classes = None, len(self.classes_)
        if self.class_weight is not None and self.class_weight != "balanced_subsample":
            weights = np.bincount(table.target, table.weight, minlength=n_classes)
            factors = class_factors(self.class_weight, self.classes_, weights)
        return self._forest(table, CLASS_CRITERIA[self.criterion], n_classes, factors)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Prove the forest again from the rows: every node of every tree, and the votes out of bag.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        return certify_forest(self, data, self._opened_forest(data))

    def predict(self, X: Any) -> Any:
        """The class of the largest mean share: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        how = (self.trees_, self.columns_, self.classes_)
        return data.map(class_of_rows, *how, dtype=self.classes_.dtype)

    def predict_proba(self, X: Any) -> Any:
        """Mean over the trees of the share of each class in the leaf of each row."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": len(self.classes_)}
        return data.map(mean_of_rows, self.trees_, self.columns_, **how)

    def predict_log_proba(self, X: Any) -> Any:
        """Logarithm of `predict_proba`; −∞ for classes that no tree votes for."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))


class ForestRegressor(Regressor, ForestModel):
    """Base of forests of numbers."""

    criterion: str

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix, frame, path, Dask array or dataframe
            NaN is a missing value. Rows outside memory are kept as codes of one byte per value.
        y : array-like of shape (n_samples,) or column name
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data = self._open_vector(X, y, sample_weight)
        self._grow(self._opened_forest(data))
        self.certificates_ = fit_certificates(self.trees_)
        return self

    def _opened_forest(self, data: Rows) -> Forest:
        table = self._read(data)
        table = table._replace(target=table.target.astype(np.float64))
        if self.criterion == "poisson" and (table.target.min() < 0 or not np.any(table.target > 0)):
            raise ValueError("The criterion 'poisson' takes targets of at least 0, not all of them 0.")
        return self._forest(table, NUMBER_CRITERIA[self.criterion], 0, None)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Prove the forest again from the rows: every node of every tree, and the means out of bag.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_vector(X, y, sample_weight)
        return certify_forest(self, data, self._opened_forest(data))

    def predict(self, X: Any) -> Any:
        """Mean over the trees of what their leaves predict: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(number_of_rows, self.trees_, self.columns_, dtype=data.dtype)


def class_of_rows(block: Block, trees: Trees, columns: Columns, classes: NDArray) -> NDArray:
    """The class that each row of a block is predicted."""
    return class_of(mean_of_rows(block, trees, columns), classes)
