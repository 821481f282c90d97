"""Pictures of how sure an ensemble is: intervals against the truth, reliability before and after."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.plane import n_rows, rows_at, sampled
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption
from assay.display.trees.shapley import extend
from assay.models.calibration import calibration_curve
from assay.numbers import shown
from assay.trees import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from assay.trees.calibration.aside import row_scores

MOST_INTERVALS = 120


class IntervalsDisplay(Display, needs=("X", "y")):
    """Prediction intervals of rows, in the order of their predictions, and the targets.

    Parameters
    ----------
    intervals : array of shape (n_shown, 2)
    predictions, targets : arrays of shape (n_shown,)
    coverage, held : float
        What the intervals promise, and the share of all rows that they hold.
    n_rows : int

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import diabetes
    >>> X, y = diabetes(return_X_y=True)
    >>> model = trees.HistGradientBoostingRegressor(max_iter=20, calibration=0.3, random_state=0).fit(X, y)
    >>> display.IntervalsDisplay.from_estimator(model, X, y, coverage=0.8).intervals.shape
    (120, 2)
    """

    intervals: NDArray
    predictions: NDArray
    targets: NDArray
    coverage: float
    held: float
    n_rows: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, coverage: float = 0.9) -> Self:
        intervals, targets = estimator.predict_interval(X, coverage=coverage), np.asarray(y, dtype=float)
        held = float(np.mean((intervals[:, 0] <= targets) & (targets <= intervals[:, 1])))
        places = sampled(n_rows(X), MOST_INTERVALS)
        middle = np.asarray(estimator.predict(rows_at(X, places)), dtype=float)
        middle = middle if middle.ndim == 1 else middle.mean(axis=1)
        order = np.argsort(middle, kind="stable")
        chosen = places[order]
        return cls(intervals[chosen], middle[order], targets[chosen], coverage, held, n_rows(X))

    def _draw(self, ax: Any) -> None:
        places = np.arange(len(self.targets))
        inside = (self.intervals[:, 0] <= self.targets) & (self.targets <= self.intervals[:, 1])
        ax.vlines(places, *self.intervals.T, color=PALETTE[4], linewidth=1.6, alpha=0.75, label="interval")
        ax.plot(places, self.predictions, color=PALETTE[0], linewidth=1.2, label="prediction")
        ax.plot(
            places[inside], self.targets[inside], "o", color="#24292f", markersize=3, label="target inside"
        )
        ax.plot(
            places[~inside], self.targets[~inside], "o", color=ACCENT, markersize=4.5, label="target outside"
        )
        ax.set_xticks([])
        ax.grid(visible=False, axis="x")
        ax.legend(loc="upper left", ncols=2)
        ax.margins(y=0.14)
        title = f"{self.held:.1%} of {self.n_rows} rows inside, {self.coverage:.0%} promised"
        caption(ax, "rows, by prediction", "target", title)


class ReliabilityDisplay(Display, needs=("X", "y")):
    """Observed shares against probabilities, before and after the map of `calibration_method`.

    Parameters
    ----------
    before, after : tuples of arrays of shape (n_bins,)
        Mean probability of the class that is named, the share of rows where it is right, rows per bin.
    errors : array of shape (2,)
        Mean gap, before and after.
    method : str

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from assay import display, trees
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = trees.RandomForestClassifier(20, calibration_method="sigmoid", random_state=0).fit(X, y)
    >>> display.ReliabilityDisplay.from_estimator(model, X, y).errors.shape
    (2,)
    """

    before: tuple[NDArray, ...]
    after: tuple[NDArray, ...]
    errors: NDArray
    method: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any) -> Self:
        calibrator = getattr(estimator, "calibrator_", None)
        if calibrator is None:
            raise ValueError(
                f"The 'reliability' picture of {type(estimator).__name__} needs a fit with "
                "calibration_method."
            )
        data, keeps = estimator._open_new_rows(X), hasattr(estimator, "_row_scores")
        said = estimator._row_scores(data) if keeps else row_scores(estimator, data)
        said = estimator._chances(said) if hasattr(estimator, "_chances") else said
        curves = []
        for chances in (said, calibrator.apply(said)):
            named = chances.argmax(axis=1)
            right = estimator.classes_[named] == np.asarray(y)
            curves.append(calibration_curve(right, chances[np.arange(len(named)), named]))
        errors = np.array([size @ np.abs(mean - share) / size.sum() for mean, share, size in curves])
        return cls(curves[0], curves[1], errors, calibrator.method)

    def _draw(self, ax: Any) -> None:
        least = min(float(np.min(part)) for curve in (self.before, self.after) for part in curve[:2])
        low = max(0.0, least - 0.04)
        ax.plot([low, 1], [low, 1], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        told = ("before", self.before, PALETTE[1]), (f"after ({self.method})", self.after, PALETTE[0])
        for (name, (mean, share, _), color), error in zip(told, self.errors, strict=True):
            ax.plot(mean, share, "o-", color=color, markersize=5, label=f"{name}: mean gap {shown(error, 2)}")
        ax.legend(loc="upper left")
        ax.set(xlim=(low, 1.02), ylim=(low, 1.02))
        caption(ax, "probability of the class named", "share of rows where it is right", "Reliability")


extend(HistGradientBoostingRegressor, RandomForestRegressor, ExtraTreesRegressor, intervals=IntervalsDisplay)
extend(
    AdaBoostClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    ExtraTreesClassifier,
    reliability=ReliabilityDisplay,
)
