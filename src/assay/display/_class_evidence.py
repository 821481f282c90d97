"""How good given probabilities of classes are: ROC and precision–recall curves, calibration, confusion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_curve

from assay.display._columns import shortened
from assay.display._confusion import draw_counts
from assay.display._style import FAINT_INK, PALETTE, colors, house_style, new_axes

MAX_CURVES = 8
"""Classes with a curve of their own; of more, the most frequent ones are drawn."""

N_BINS = 10


class Curve(NamedTuple):
    """One curve and the words beside it."""

    x: NDArray
    y: NDArray
    label: str


@dataclass(frozen=True)
class ClassEvidence:
    """Observed classes, predicted ones and their probabilities: what the pictures of a classifier show.

    Parameters
    ----------
    observed : array of shape (n_rows,)
        The classes.
    predicted : array of shape (n_rows,)
        What was said, for example out of fold.
    probabilities : array of shape (n_rows, n_classes) or None
        Probabilities of the classes, in the order of `classes`.
    classes : array of shape (n_classes,)
        The labels, sorted.
    names : sequence of str, optional
        What to call them.

    Examples
    --------
    >>> from assay.display import ClassEvidence
    >>> from assay.datasets import iris
    >>> from assay.linear import LogisticRegression
    >>> X, y = iris(return_X_y=True)
    >>> evidence = ClassEvidence.from_estimator(LogisticRegression().fit(X, y), X, y)
    >>> evidence.plot(kind="roc").get_xlabel()
    'false positive rate'
    """

    observed: NDArray
    predicted: NDArray
    probabilities: NDArray | None
    classes: NDArray
    names: Sequence[str] | None = None

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any) -> ClassEvidence:
        """Evidence of a fitted classifier on given rows."""
        probabilities = model.predict_proba(X) if hasattr(model, "predict_proba") else None
        return cls(np.asarray(y), np.asarray(model.predict(X)), probabilities, np.asarray(model.classes_))

    def plot(self, kind: str = "confusion", *, ax: Any = None) -> Any:
        """Draw "confusion", "roc", "precision_recall" or "calibration".

        Returns
        -------
        ax : matplotlib Axes
        """
        pictures = {
            "confusion": self._confusion,
            "roc": self._roc,
            "precision_recall": self._precision_recall,
            "calibration": self._calibration,
        }
        if kind not in pictures:
            known = ", ".join(repr(name) for name in pictures)
            raise ValueError(f"The 'kind' of the picture must be one of {known}. Got {kind!r} instead.")
        if kind != "confusion" and self.probabilities is None:
            raise ValueError(f"The {kind!r} picture needs probabilities; this classifier has none.")
        with house_style():
            axes = new_axes(ax)
            pictures[kind](axes)
            return axes

    def _shown(self) -> Iterator[tuple[str, NDArray, NDArray]]:
        """Name, truth and probability of each class that has a curve; of two classes, the second."""
        assert self.probabilities is not None
        names = [str(label) for label in (self.classes if self.names is None else self.names)]
        if len(self.classes) == 2:
            shown = np.array([1])
        else:
            counts = np.array([np.count_nonzero(self.observed == label) for label in self.classes])
            shown = np.sort(np.argsort(-counts, kind="stable")[:MAX_CURVES])
        for index in shown:
            yield (
                shortened(names[index], 16),
                self.observed == self.classes[index],
                self.probabilities[:, index],
            )

    def _confusion(self, ax: Any) -> None:
        draw_counts(self.observed, self.predicted, self.classes, ax, self.names)

    def _roc(self, ax: Any) -> None:
        curves = []
        for name, truth, probability in self._shown():
            false_rate, true_rate, _ = roc_curve(truth, probability)
            curves.append(Curve(false_rate, true_rate, f"{name}: {auc(false_rate, true_rate):.3f}"))
        ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        _draw(curves, ax, "area under the curve", loc="lower right")
        ax.set(xlabel="false positive rate", ylabel="true positive rate", title="ROC")

    def _precision_recall(self, ax: Any) -> None:
        curves, shares = [], []
        for name, truth, probability in self._shown():
            precision, recall, _ = precision_recall_curve(truth, probability)
            mean = average_precision_score(truth, probability)
            curves.append(Curve(recall, precision, f"{name}: {mean:.3f}"))
            shares.append(float(truth.mean()))
        for share, color in zip(shares, colors(len(shares)), strict=True):
            ax.axhline(share, color=color, linewidth=1.0, linestyle=(0, (4, 3)), alpha=0.6, zorder=1)
        _draw(curves, ax, "average precision", loc="lower left")
        ax.set(xlabel="recall", ylabel="precision", ylim=(-0.02, 1.03), title="Precision and recall")

    def _calibration(self, ax: Any) -> None:
        """Observed share of a class against its probability, in bins of equal numbers of rows."""
        curves, errors = [], []
        for name, truth, probability in self._shown():
            x, y, size = calibration_curve(truth, probability)
            errors.append(float(size @ np.abs(x - y) / size.sum()))
            curves.append(Curve(x, y, f"{name}: {errors[-1]:.3f}"))
        ax.plot([0, 1], [0, 1], color=FAINT_INK, linewidth=1.2, linestyle=(0, (4, 3)), zorder=1)
        _draw(curves, ax, "calibration error", loc="upper left", marker="o")
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
    """Mean probability, observed share and number of rows in bins of about equal numbers of rows."""
    edges = np.unique(np.quantile(probability, np.linspace(0, 1, n_bins + 1)))
    place = np.clip(np.searchsorted(edges, probability, side="right") - 1, 0, max(edges.size - 2, 0))
    size = np.bincount(place)
    kept = size > 0
    mean = np.bincount(place, probability)[kept] / size[kept]
    share = np.bincount(place, truth.astype(np.float64))[kept] / size[kept]
    return mean, share, size[kept].astype(np.float64)


def _draw(curves: list[Curve], ax: Any, title: str, *, loc: str, marker: str = "") -> None:
    palette = colors(len(curves)) if len(curves) > 1 else [PALETTE[0]]
    for curve, color in zip(curves, palette, strict=True):
        ax.plot(curve.x, curve.y, color=color, label=curve.label, marker=marker, markersize=4)
    ax.legend(title=title, loc=loc)
