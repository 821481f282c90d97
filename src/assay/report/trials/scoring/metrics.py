"""What predictions are judged by: each measure once, on the rows of a split, for tables and verdicts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import (
    accuracy_score,
    f1_score,
    log_loss,
    r2_score,
    recall_score,
    roc_auc_score,
)

from assay.report.errors import ReportError
from assay.report.tables.data import Data
from assay.report.tables.schema import describe_column
from assay.report.trials.scoring.resampling import brier_score
from assay.report.wording import suggestion


class Judged(NamedTuple):
    """The truth of some rows, and what a model says of them.

    Attributes
    ----------
    y, predictions : ndarray
    probabilities : ndarray of shape (n_rows, n_classes) or None
    labels : ndarray or None
        All classes, sorted, for a classification.
    costs : ndarray or None
        What an error in each row costs, where the user has said so.
    """

    y: NDArray
    predictions: NDArray
    probabilities: NDArray | None = None
    labels: NDArray | None = None
    costs: NDArray | None = None


class Counts(NamedTuple):
    """Rows of two classes, or their costs, by what is named; each an array over thresholds.

    Attributes
    ----------
    caught, missed : ndarray
        Rows of the class that are named, and that are not.
    wrongly_named, spared : ndarray
        Rows of the other class.
    """

    caught: NDArray
    missed: NDArray
    wrongly_named: NDArray
    spared: NDArray


@dataclass(frozen=True)
class Metric:
    """A number that says how well rows are predicted.

    Attributes
    ----------
    key : str
        Its name on the command line.
    name : str
        Its name in sentences and tables.
    measure : callable
        The number for some rows; NaN where they do not tell.
    greater_is_better : bool
    of_probabilities : bool
        Whether it judges probabilities, which not every method has.
    costs : ndarray or None
        Cost of an error in each row of the table.
    of_counts : callable or None
        The number from the `Counts` of two classes, where they tell it: the same as that of the rows.
    """

    key: str
    name: str
    measure: Callable[[Judged], float]
    greater_is_better: bool = True
    of_probabilities: bool = False
    costs: NDArray | None = None
    of_counts: Callable[[Counts], NDArray] | None = None

    @property
    def sign(self) -> int:
        """1, or −1 for an error: sign times the number is the greater the better."""
        return 1 if self.greater_is_better else -1

    def score(self, judged: Judged) -> float:
        """The number, turned so that the greater is the better."""
        return self.sign * self.measure(judged)


def _r2(rows: Judged) -> float:
    if np.ptp(rows.y) == 0:
        return 0.0  # there is nothing to explain, and who names the constant explains nothing
    return float(r2_score(rows.y, rows.predictions))


def _rmse(rows: Judged) -> float:
    return float(np.sqrt(np.mean((rows.y - rows.predictions) ** 2)))


def _mae(rows: Judged) -> float:
    return float(np.mean(np.abs(rows.y - rows.predictions)))


def _accuracy(rows: Judged) -> float:
    return float(accuracy_score(rows.y, rows.predictions))


def _balanced_accuracy(rows: Judged) -> float:
    """Mean over the classes that are there of the share that is named right."""
    there = np.unique(rows.y)
    return float(recall_score(rows.y, rows.predictions, labels=there, average="macro"))


def _f1(rows: Judged) -> float:
    """Mean over the classes of 2 · precision · recall / (precision + recall)."""
    return float(f1_score(rows.y, rows.predictions, labels=rows.labels, average="macro", zero_division=0.0))


def _auc(rows: Judged) -> float:
    labels, chances = rows.labels, rows.probabilities
    assert labels is not None
    assert chances is not None
    if len(np.unique(rows.y)) < len(labels):
        return float("nan")  # a class that is not there is neither above nor below the others
    shown = chances[:, 1] if len(labels) == 2 else chances / chances.sum(axis=1, keepdims=True)
    return float(roc_auc_score(rows.y, shown, multi_class="ovr", labels=labels))


def _log_loss(rows: Judged) -> float:
    return float(log_loss(rows.y, rows.probabilities, labels=rows.labels))


def _brier(rows: Judged) -> float:
    assert rows.probabilities is not None
    assert rows.labels is not None
    return brier_score(rows.y, rows.probabilities, rows.labels)


def _accuracy_of(counts: Counts) -> NDArray:
    return (counts.caught + counts.spared) / np.maximum(sum(counts), 1.0)


def _balanced_of(counts: Counts) -> NDArray:
    """Mean of the shares of both classes that are named right; a class without rows does not count."""
    rare, other = counts.caught + counts.missed, counts.wrongly_named + counts.spared
    shares = counts.caught / np.maximum(rare, 1.0) + counts.spared / np.maximum(other, 1.0)
    return shares / np.maximum((rare > 0) * 1.0 + (other > 0), 1.0)


def _f1_of(counts: Counts) -> NDArray:
    wrong = counts.missed + counts.wrongly_named
    both = (2 * right / np.maximum(2 * right + wrong, 1.0) for right in (counts.caught, counts.spared))
    return sum(both, np.zeros_like(wrong)) / 2


def _cost_of(counts: Counts) -> NDArray:
    tiny = np.finfo(float).tiny
    return (counts.missed + counts.wrongly_named) / np.maximum(sum(counts), tiny)


R2 = Metric("r2", "R²", _r2)
RMSE = Metric("rmse", "RMSE", _rmse, greater_is_better=False)
MAE = Metric("mae", "MAE", _mae, greater_is_better=False)
ACCURACY = Metric("accuracy", "accuracy", _accuracy, of_counts=_accuracy_of)
BALANCED = Metric("balanced-accuracy", "balanced accuracy", _balanced_accuracy, of_counts=_balanced_of)
F1 = Metric("f1", "F1", _f1, of_counts=_f1_of)
AUC = Metric("auc", "ROC AUC", _auc, of_probabilities=True)
LOG_LOSS = Metric("log-loss", "log-loss", _log_loss, greater_is_better=False, of_probabilities=True)
BRIER = Metric("brier", "Brier score", _brier, greater_is_better=False, of_probabilities=True)

KNOWN = {
    "regression": (R2, RMSE, MAE),
    "classification": (ACCURACY, BALANCED, F1, AUC, LOG_LOSS, BRIER),
}
"""Metrics that need no further word; the first of a task is its own."""

OF_PROBABILITIES = {metric.name for metric in (AUC, LOG_LOSS, BRIER)}
"""Names of the scores that judge probabilities."""

SHOWN = {"regression": (RMSE, MAE), "classification": (BALANCED, AUC, LOG_LOSS, BRIER)}
"""Measures beside the score, in this order."""


def pinball(quantile: float) -> Metric:
    """The loss whose best prediction is a quantile: q per unit too low, 1 − q per unit too high."""
    measure = partial(_pinball, quantile=quantile)
    return Metric(f"pinball:{quantile:g}", f"pinball loss at {quantile:g}", measure, greater_is_better=False)


def _pinball(rows: Judged, quantile: float) -> float:
    short = rows.y - rows.predictions
    return float(np.mean(np.maximum(quantile * short, (quantile - 1) * short)))


def _cost_of_classes(rows: Judged) -> float:
    """Share of all costs that the rows of a wrong class make up."""
    assert rows.costs is not None
    return float(rows.costs @ (rows.y != rows.predictions) / max(rows.costs.sum(), np.finfo(float).tiny))


def _cost_of_errors(rows: Judged) -> float:
    """Mean absolute error, each row weighted by its cost."""
    assert rows.costs is not None
    return float(rows.costs @ np.abs(rows.y - rows.predictions) / max(rows.costs.sum(), np.finfo(float).tiny))


def metric_of(wish: str | None, task: str, data: Data) -> Metric:
    """The metric that a user names, or that of the task.

    Parameters
    ----------
    wish : str or None
        "r2", "rmse", "mae", "pinball:0.9", "accuracy", "balanced-accuracy", "f1", "auc", "log-loss", "brier",
        or "cost:COLUMN" for a column of numbers from zero up, what an error in each row costs.
    task : {"regression", "classification"}
    data : Data
        The table, for its column of costs.
    """
    if wish is None:
        return KNOWN[task][0]
    word, _, rest = wish.partition(":")
    key = word.strip().lower().replace("_", "-").replace("²", "2")
    if key == "cost" and rest:
        return _of_costs(rest.strip(), task, data)
    if key == "pinball" and task == "regression":
        return _pinball_of(rest)
    names = {"roc-auc": "auc", "logloss": "log-loss", "balanced": "balanced-accuracy"}
    there = {metric.key: metric for metric in KNOWN[task]}
    chosen = there.get(names.get(key, key))
    if chosen is None or rest:
        further = ["pinball:0.9"] if task == "regression" else []
        listed = ", ".join([*there, *further, "cost:COLUMN"])
        raise ReportError(f"The metric of a {task} must be one of {listed}. Got {wish!r} instead.")
    return chosen


def _pinball_of(text: str) -> Metric:
    try:
        quantile = float(text or 0.5)
    except ValueError:
        quantile = np.nan
    if not 0 < quantile < 1:
        raise ReportError(
            f"The quantile of --metric pinball:Q must be between 0 and 1. Got {text!r} instead."
        )
    return pinball(quantile)


def _of_costs(column: str, task: str, data: Data) -> Metric:
    places = [frame for frame in (data.X, data.aside) if frame is not None and column in frame.columns]
    if not places:
        known = [*data.X.columns, *(() if data.aside is None else data.aside.columns)]
        way = (
            suggestion(column, known) or " Name a column that is learnt from, or one that --drop sets aside."
        )
        raise ReportError(f"There is no column {column!r} of costs in {data.name}.{way}")
    values = places[0][column]
    costs = None
    if (
        describe_column(values).kind in ("numeric", "boolean", "identifier")
        and values.dtype.kind not in "OSU"
    ):
        costs = values.to_numpy(dtype=np.float64, na_value=np.nan, copy=True)
    if costs is None or not np.isfinite(costs).all() or costs.min() < 0 or costs.max() == 0:
        raise ReportError(
            f"The costs {column!r} must be numbers from zero up in every row, and not all of them zero."
        )
    measure = _cost_of_errors if task == "regression" else _cost_of_classes
    name = f"mean error by {column}" if task == "regression" else f"share of {column} lost"
    of_counts = None if task == "regression" else _cost_of
    return Metric(f"cost:{column}", name, measure, greater_is_better=False, costs=costs, of_counts=of_counts)
