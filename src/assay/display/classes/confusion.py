"""The confusion matrix of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import confusion_matrix

from assay.display.base import Display
from assay.display.classes.scores import labels_of
from assay.display.columns import plain, shortened
from assay.display.style import FAINT_PAPER_INK, PAPER_INK, write_beside

MAX_WRITTEN_CLASSES = 20
MAX_SHARES = 8
"""Classes up to which a cell has room for the share below the count."""


@dataclass
class ConfusionDisplay(Display, needs=("X", "y")):
    """Counts of the predicted classes for each observed one, shaded by their share of it.

    Parameters
    ----------
    counts : array of shape (n_classes, n_classes)
        Rows of each observed class (down) by predicted class (across).
    names : sequence of str
        Names of the classes.

    Examples
    --------
    >>> from assay.display import ConfusionDisplay
    >>> ConfusionDisplay.from_predictions(["a", "a", "b"], ["a", "b", "b"]).counts
    array([[1, 1],
           [0, 1]])
    """

    counts: NDArray
    names: Sequence[str]

    @classmethod
    def from_predictions(
        cls,
        observed: ArrayLike,
        predicted: ArrayLike,
        *,
        classes: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        ax: Any = None,
    ) -> Self:
        """Count given predictions, for example out of fold, and draw the counts.

        Parameters
        ----------
        observed, predicted : array-like of shape (n_rows,)
            The classes, and what was said.
        classes : array-like of shape (n_classes,), optional
            The labels in the order of the picture; all that occur, sorted, by default.
        names : sequence of str, optional
            What to call them.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : ConfusionDisplay
        """
        return cls._count(np.asarray(observed), np.asarray(predicted), classes, names).plot(ax=ax)

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        observed, predicted = labels_of(X, y), np.asarray(estimator.predict(X))
        return cls._count(observed, predicted, np.union1d(estimator.classes_, observed), None)

    @classmethod
    def _count(cls, observed: NDArray, predicted: NDArray, classes: Any, names: Any) -> Self:
        classes = np.union1d(observed, predicted) if classes is None else np.asarray(classes)
        words = [plain(str(label)) for label in (classes if names is None else names)]
        return cls(confusion_matrix(observed, predicted, labels=classes), words)

    def _draw(self, ax: Any) -> None:
        n_classes = len(self.counts)
        shares = self.counts / np.maximum(self.counts.sum(axis=1, keepdims=True), 1)
        ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.25, aspect="equal" if n_classes > 2 else "auto")
        if n_classes <= MAX_WRITTEN_CLASSES:
            _write_cells(self.counts, shares, ax)
        words = [shortened(name, 14) for name in self.names]
        tilted = sum(map(len, words)) > 50
        few = n_classes <= 2 * MAX_WRITTEN_CLASSES
        ax.set_xticks(
            np.arange(n_classes) if few else [],
            words if few else [],
            rotation=40 if tilted else 0,
            ha="right" if tilted else "center",
        )
        ax.set_yticks(np.arange(n_classes) if few else [], words if few else [])
        ax.grid(visible=False)
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        right, all_rows = int(np.trace(self.counts)), int(self.counts.sum())
        title = f"{right} of {all_rows} rows right ({right / max(all_rows, 1):.1%})"
        ax.set(xlabel="predicted", ylabel="observed", title=title)


def _write_cells(counts: NDArray, shares: NDArray, ax: Any) -> None:
    roomy = len(counts) <= MAX_SHARES
    size = 10.5 if len(counts) <= 4 else 9.5 if len(counts) <= 10 else 7.0
    for (row, column), count in np.ndenumerate(counts):
        if count == 0 and not roomy:
            continue
        share = shares[row, column]
        color = "white" if share > 0.6 else PAPER_INK if count else FAINT_PAPER_INK
        lines = ((str(count), size, "bold", 7), (f"{share:.0%}", 8.5, "normal", -8)) if roomy else ()
        for text, points, weight, rise in lines or ((str(count), size, "bold", 0),):
            write_beside(
                text,
                (column, row),
                ax,
                by=(0, rise),
                ha="center",
                color=color,
                fontsize=points,
                fontweight=weight,
            )
