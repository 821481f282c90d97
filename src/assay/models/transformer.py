"""What transformers share: rows in, rows of features out, and the names of the features."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin
from sklearn.utils.validation import check_is_fitted

from assay.base import Model


class Transformer(TransformerMixin, Model):
    """Base of transformers: the precision of the rows is kept, and features are named after the columns.

    A subclass gives `transform` and, from the names of the columns, those of the features (`_names`).
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def get_feature_names_out(self, input_features: Any = None) -> NDArray:
        """Names of the features, made of the names of the columns.

        Parameters
        ----------
        input_features : array-like of str, optional
            Names of the columns; those seen at fit, or x0, x1, … by default.
        """
        check_is_fitted(self)
        seen = getattr(self, "feature_names_in_", None)
        if input_features is None:
            names = [f"x{j}" for j in range(self.n_features_in_)] if seen is None else list(seen)
        else:
            names = [str(name) for name in input_features]
            if seen is not None and names != list(seen):
                raise ValueError("input_features is not equal to feature_names_in_")
            if len(names) != self.n_features_in_:
                raise ValueError(
                    f"input_features should have length equal to number of features ({self.n_features_in_}), "
                    f"got {len(names)}"
                )
        return np.array(self._names([str(name) for name in names]), dtype=object)

    @abstractmethod
    def _names(self, columns: list[str]) -> list[str]:
        """Names of the features, from those of the columns."""
