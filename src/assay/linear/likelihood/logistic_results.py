"""What a logistic regression says of rows and of its coefficients once it is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.linear.classifier import LinearClassifier
from assay.linear.likelihood.base import LikelihoodModel
from assay.linear.likelihood.logistic_fit import of_scores, probabilities
from assay.models.inference import parameter_names

ONE_SCORE = "An offset is a part of the score of two classes; y has more."


class LogisticResults(LikelihoodModel, LinearClassifier):
    """Methods of `LogisticRegression` that read its parameters and its fitted attributes."""

    _measure: Any
    reference_class: Any
    penalty_strength_: float

    def _reference(self) -> int | None:
        if self.reference_class is None or len(self.classes_) == 2:
            return None
        places = np.flatnonzero(self.classes_ == self.reference_class)
        if places.size != 1:
            shown = ", ".join(repr(label) for label in self.classes_[:10].tolist())
            raise self._refuse("reference_class", f"one of the labels of y ({shown})")
        return int(places[0])

    def decision_function(self, X: Any, *, offset: Any = None) -> Any:
        """Scores: of the second of two classes, shape (n_samples,), else one per class."""
        scores = super().decision_function(X)
        if offset is not None and len(self.classes_) > 2:
            raise ValueError(ONE_SCORE)
        return scores if offset is None else scores + np.asarray(offset, dtype=scores.dtype)

    def predict_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Probability of each class: an array, or a lazy Dask array for Dask input."""
        return self._probabilities(X, offset, log=False)

    def predict_log_proba(self, X: Any, *, offset: Any = None) -> Any:
        """Logarithm of the probability of each class, finite where the probability rounds to 0."""
        return self._probabilities(X, offset, log=True)

    def _probabilities(self, X: Any, offset: Any, *, log: bool) -> Any:
        if offset is not None:
            return of_scores(self.decision_function(X, offset=offset)[:, None], log=log)
        data, width, dtype = self._open_new_rows(X), len(self.classes_), self.coef_.dtype
        return data.map(probabilities, self.coef_.T, self.intercept_, log, dtype=dtype, width=width)

    def gradient(self, X: Any, y: Any, sample_weight: Any = None) -> NDArray:
        """Gradient of the penalised risk at the coefficients, in the shape of `coef_`, by one walk.

        With an l1 penalty, of its smooth part.
        """
        risk, _, measured = self._measure(X, y, sample_weight, None)
        slope = measured.gradient[: risk.data.shape[1]]
        if self.fit_intercept:
            slope = slope + np.outer(risk.center, measured.gradient[-1])
        reference = self._reference()
        return (slope if reference is None else np.insert(slope, reference, 0.0, axis=1)).T

    def _require_plain(self) -> None:
        if self.penalty_strength_ > 0:
            raise ValueError("Standard errors are of an unpenalised fit; fit with C=float('inf') first.")
        if len(self.classes_) > 2 and self._reference() is None:
            raise ValueError(
                "Softmax scores are known up to a common shift only; fit with reference_class to have errors."
            )

    def _fitted_scores(self) -> tuple[NDArray, NDArray]:
        """Coefficients and intercepts without those of the reference."""
        coef, intercept = self.coef_.T.astype(np.float64), self.intercept_.astype(np.float64)
        reference = self._reference()
        if reference is not None:
            coef, intercept = np.delete(coef, reference, axis=1), np.delete(intercept, reference)
        return coef, intercept

    def _parameter_names(self) -> tuple[str, ...]:
        each = parameter_names(self)
        reference = self._reference()
        if reference is None:
            return each
        others = np.delete(self.classes_, reference).tolist()
        return tuple(f"{label}: {name}" for label in others for name in each)
