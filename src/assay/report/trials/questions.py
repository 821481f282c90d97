"""What is measured of an answer: the score that ranks methods, and further measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.metrics import (
    accuracy_score,
    balanced_accuracy_score,
    log_loss,
    r2_score,
    roc_auc_score,
)

from assay.report.trials.coverage import Intervals, brier_score, calibration_error, measure_intervals
from assay.report.trials.trial import Outputs

HELD, WIDTH = "coverage", "interval width"
"""Measures of the 90 % prediction intervals: the share of unseen rows they held, and their mean width."""


@dataclass(frozen=True)
class Question:
    """How the answers to a task are scored.

    Attributes
    ----------
    score_name : str
    score : callable
        Of (truth, predictions).
    baseline : type
        What any model must beat.
    baseline_summary : str
    """

    score_name: str
    score: Callable[[NDArray, NDArray], float]
    baseline: type
    baseline_summary: str


QUESTIONS: dict[str, Question] = {
    "regression": Question(
        "R²",
        r2_score,
        DummyRegressor,
        "Always answers the mean of the target; what any model must beat.",
    ),
    "classification": Question(
        "accuracy",
        accuracy_score,
        DummyClassifier,
        "Always names the commonest class; what any model must beat.",
    ),
}


def regression_measures(y: NDArray, outputs: Outputs) -> tuple[dict[str, float], Intervals | None]:
    """Errors of the predictions, and how the prediction intervals fared."""
    residuals = y - outputs.predictions
    found = {"RMSE": float(np.sqrt(np.mean(residuals**2))), "MAE": float(np.mean(np.abs(residuals)))}
    intervals = measure_intervals(y, outputs.predictions, outputs.folds, outputs.bounds)
    if intervals is not None:
        found |= {HELD: intervals.held, WIDTH: intervals.width}
    return found, intervals


def classification_measures(y: NDArray, outputs: Outputs, labels: NDArray) -> dict[str, float]:
    """Balanced accuracy and, where there are probabilities, how well they rank and how true they are."""
    found = {"balanced accuracy": float(balanced_accuracy_score(y, outputs.predictions))}
    probabilities = outputs.probabilities
    if probabilities is not None:
        shown = probabilities[:, 1] if len(labels) == 2 else probabilities
        found["ROC AUC"] = float(roc_auc_score(y, shown, multi_class="ovr", labels=labels))
        found["log-loss"] = float(log_loss(y, probabilities, labels=labels))
        found["Brier score"] = brier_score(y, probabilities, labels)
        found["calibration error"] = calibration_error(y, probabilities, labels)
    return found
