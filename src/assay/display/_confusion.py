"""The confusion matrix of a classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import confusion_matrix

from assay.display._class_scores import labels_of
from assay.display._columns import shortened
from assay.display._registry import require_data
from assay.display._style import INK

MAX_WRITTEN_CLASSES = 20
MAX_SHARES = 8
"""Classes up to which a cell has room for the share below the count."""


def draw_confusion(model: Any, X: Any, y: Any, *, ax: Any, feature_names: Any) -> None:
    """Counts of the predicted classes for each observed one, shaded by their share of it."""
    require_data(model, "confusion", X=X, y=y)
    observed, predicted = labels_of(X, y), np.asarray(model.predict(X))
    draw_counts(observed, predicted, np.union1d(model.classes_, observed), ax)


def draw_counts(observed: Any, predicted: Any, labels: Any, ax: Any, names: Any = None) -> None:
    """The confusion matrix of given predictions, with `names` of the labels if they have any."""
    counts = confusion_matrix(observed, predicted, labels=labels)
    totals = counts.sum(axis=1, keepdims=True)
    shares = counts / np.maximum(totals, 1)
    ax.imshow(shares, cmap="Blues", vmin=0.0, vmax=1.25, aspect="equal" if len(labels) > 2 else "auto")
    if len(labels) <= MAX_WRITTEN_CLASSES:
        _write_cells(counts, shares, ax)
    words = [shortened(str(label), 14) for label in (labels if names is None else names)]
    tilted = sum(map(len, words)) > 50
    few = len(labels) <= 2 * MAX_WRITTEN_CLASSES
    ax.set_xticks(
        np.arange(len(labels)) if few else [],
        words if few else [],
        rotation=40 if tilted else 0,
        ha="right" if tilted else "center",
    )
    ax.set_yticks(np.arange(len(labels)) if few else [], words if few else [])
    ax.grid(visible=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    right = int(np.trace(counts))
    title = f"{right} of {counts.sum()} rows right ({right / counts.sum():.1%})"
    ax.set(xlabel="predicted", ylabel="observed", title=title)


def _write_cells(counts: Any, shares: Any, ax: Any) -> None:
    roomy = len(counts) <= MAX_SHARES
    size = 10.5 if len(counts) <= 4 else 9.5 if len(counts) <= 10 else 7.0
    for (row, column), count in np.ndenumerate(counts):
        if count == 0 and not roomy:
            continue
        share = shares[row, column]
        color = "white" if share > 0.6 else INK if count else "#b1b8c0"
        lines = ((str(count), size, "bold", 7), (f"{share:.0%}", 8.5, "normal", -8)) if roomy else ()
        for text, points, weight, rise in lines or ((str(count), size, "bold", 0),):
            ax.annotate(
                text,
                (column, row),
                xytext=(0, rise),
                textcoords="offset points",
                ha="center",
                va="center",
                color=color,
                fontsize=points,
                fontweight=weight,
            )
