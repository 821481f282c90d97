"""How good scores or probabilities of classes are: ROC curves, precision and recall, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from assay.display._scored_classes import ScoredClassesDisplay, draw_curves, one_against_rest
from assay.display._style import FAINT_INK, colors

N_BINS = 10
DASHES = (0, (4, 3))


@dataclass
class RocCurveDisplay(ScoredClassesDisplay):
    """True against false alarms as the threshold of a class moves: a curve a class, the second of two.

    Parameters
    ----------
    false_positive_rates, true_positive_rates : sequences of arrays
        One for each curve.
    areas : array of shape (n_curves,)
        Areas under the curves.
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> from assay.display import RocCurveDisplay
    >>> RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8]).areas
    array([0.75])
    """

    false_positive_rates: Sequence[NDArray]
    true_positive_rates: Sequence[NDArray]
    areas: NDArray
    names: Sequence[str]

    @classmethod
    def _read(cls, observed: NDArray, scores: NDArray, classes: NDArray, names: Any) -> Self:
        seen = list(one_against_rest(observed, scores, classes, names))
        curves = [roc_curve(one.truth, one.score)[:2] for one in seen]
        areas = np.array([auc(*curve) for curve in curves])
        false, true = ([curve[side] for curve in curves] for side in (0, 1))
        return cls(false, true, areas, [one.name for one in seen])

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        curves = zip(self.false_positive_rates, self.true_positive_rates, strict=True)
        draw_curves(ax, curves, self.names, self.areas, "area under the curve", loc="lower right")
        ax.set(
            xlabel="false positive rate",
            ylabel="true positive rate",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.03),
            title="ROC",
        )


@dataclass
class PrecisionRecallDisplay(ScoredClassesDisplay):
    """How many of the rows named are right, against how many of the right rows are named.

    Parameters
    ----------
    recalls, precisions : sequences of arrays
        One for each curve.
    average_precisions : array of shape (n_curves,)
    shares : array of shape (n_curves,)
        Shares of the classes: the precision of naming at random, dashed.
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> from assay.display import PrecisionRecallDisplay
    >>> shown = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> shown.average_precisions.round(3)
    array([0.833])
    """

    recalls: Sequence[NDArray]
    precisions: Sequence[NDArray]
    average_precisions: NDArray
    shares: NDArray
    names: Sequence[str]

    @classmethod
    def _read(cls, observed: NDArray, scores: NDArray, classes: NDArray, names: Any) -> Self:
        seen = list(one_against_rest(observed, scores, classes, names))
        curves = [precision_recall_curve(one.truth, one.score, drop_intermediate=True) for one in seen]
        return cls(
            [recall for _, recall, _ in curves],
            [precision for precision, _, _ in curves],
            np.array([average_precision_score(one.truth, one.score) for one in seen]),
            np.array([one.truth.mean() for one in seen]),
            [one.name for one in seen],
        )

    def _draw(self, ax: Any) -> None:
        for share, color in zip(self.shares, colors(len(self.shares)), strict=True):
            ax.axhline(share, color=color, linewidth=1.0, linestyle=DASHES, alpha=0.6, zorder=1)
        curves = zip(self.recalls, self.precisions, strict=True)
        draw_curves(ax, curves, self.names, self.average_precisions, "average precision", loc="lower left")
        ax.set(
            xlabel="recall",
            ylabel="precision",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.03),
            title="Precision and recall",
        )


@dataclass
class CalibrationDisplay(ScoredClassesDisplay):
    """Observed share of a class against its probability, in bins of about equal numbers of rows.

    Parameters
    ----------
    probabilities, shares, sizes : sequences of arrays
        Mean probability, observed share and number of rows of each bin, one array for each curve.
    errors : array of shape (n_curves,)
        Mean of |probability − share| over the rows.
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import CalibrationDisplay
    >>> rng = np.random.default_rng(0)
    >>> probability = rng.uniform(size=5000)
    >>> shown = CalibrationDisplay.from_predictions(rng.uniform(size=5000) < probability, probability)
    >>> bool(shown.errors[0] < 0.03)
    True
    """

    probabilities: Sequence[NDArray]
    shares: Sequence[NDArray]
    sizes: Sequence[NDArray]
    errors: NDArray
    names: Sequence[str]

    @classmethod
    def _read(cls, observed: NDArray, scores: NDArray, classes: NDArray, names: Any) -> Self:
        if scores.size and not (scores.min() >= 0 and scores.max() <= 1):
            raise ValueError(
                "The scores of CalibrationDisplay must be probabilities, from 0 to 1. Got scores from "
                f"{scores.min():.3g} to {scores.max():.3g} instead; draw RocCurveDisplay of scores."
            )
        seen = list(one_against_rest(observed, scores, classes, names))
        bins = [calibration_curve(one.truth, one.score) for one in seen]
        errors = [size @ np.abs(mean - share) / size.sum() for mean, share, size in bins]
        mean, share, size = ([one[part] for one in bins] for part in range(3))
        return cls(mean, share, size, np.array(errors), [one.name for one in seen])

    @classmethod
    def _scores(cls, estimator: Any, X: Any) -> NDArray:
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(
                f"The 'calibration' picture needs predict_proba, which {type(estimator).__name__} lacks; "
                "use kind='roc'."
            )
        return np.asarray(estimator.predict_proba(X), dtype=float)

    def _draw(self, ax: Any) -> None:
        ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        curves = zip(self.probabilities, self.shares, strict=True)
        draw_curves(ax, curves, self.names, self.errors, "mean gap", loc="upper left", marker="o")
        ax.set(
            xlabel="probability",
            ylabel="observed share",
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            title="Calibration",
        )


def calibration_curve(
    truth: NDArray, probability: NDArray, n_bins: int = N_BINS
) -> tuple[NDArray, NDArray, NDArray]:
    """Mean probability, observed share and number of rows in bins of about equal numbers of rows.

    Rows of one probability stay together: the order among them would be that of the table.
    """
    _, value, counts = np.unique(probability, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    place = (middle * n_bins / probability.size).astype(np.intp)[value]
    size = np.bincount(place)
    kept = size > 0
    mean = np.bincount(place, probability)[kept] / size[kept]
    share = np.bincount(place, truth.astype(np.float64))[kept] / size[kept]
    return mean, share, size[kept].astype(np.float64)
