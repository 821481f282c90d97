"""What linear classifiers share once they have coefficients."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from assay.linear.predictor import LinearPredictor, affine
from assay.models.classes import Classifier, class_of
from assay.rows import Block


class LinearClassifier(Classifier, LinearPredictor):
    """Classes told by linear scores: by the sign of one score, or by the largest of several.

    With two classes `coef_` has shape (1, n_features) and the score speaks for the second class, which a row
    is given to when it is above 0. With more there is a row of `coef_` for each class.
    """

    def decision_function(self, X: Any) -> Any:
        """Scores: of the second of two classes, shape (n_samples,), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if len(self.classes_) == 2 else scores

    def predict(self, X: Any) -> Any:
        """Class of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(
            nearest_class, self.coef_.T, self.intercept_, self.classes_, dtype=self.classes_.dtype
        )


def nearest_class(block: Block, coef: NDArray, intercept: NDArray, classes: NDArray) -> NDArray:
    """The class with the largest score, by the rule of all classifiers."""
    scores = affine(block, coef, intercept)
    return class_of(scores[:, 0] if len(classes) == 2 else scores, classes)
