"""What the pictures of classifiers share: scores, answers on plain rows, and names written in colour."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display.flat_map import rgb
from assay.display.style import colors


def quietly(method: Any, rows: Any) -> NDArray:
    """What a method says of plain rows, also after a fit to columns with names."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return np.asarray(method(rows))


def both_scores(model: Any) -> tuple[NDArray, NDArray]:
    """Coefficients and intercepts of a score for each class, that of the first of two being 0."""
    coef = np.asarray(model.coef_, dtype=float)
    intercept = np.broadcast_to(np.asarray(model.intercept_, dtype=float), coef.shape[:1])
    if len(model.classes_) == 2:
        return np.vstack([np.zeros_like(coef), coef]), np.append(0.0, intercept)
    return coef, intercept


def labels_of(X: Any, y: Any) -> NDArray:
    """The labels, one for each row of X."""
    labels = np.asarray(y)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if labels.shape != (n_rows,):
        raise ValueError(
            f"y must have one label for each of the {n_rows} rows of X. Got shape {labels.shape}."
        )
    return labels


def class_colors(n_classes: int) -> NDArray:
    """A colour for each class, shape (n_classes, 3)."""
    return np.array([rgb(color) for color in colors(n_classes)])


def share_right(model: Any, observed: NDArray, predicted: NDArray | None, *, ringed: bool) -> str:
    """The title of a map: how many of the rows shown are right, or what is shown without their classes."""
    if predicted is None:
        return f"{len(model.classes_)} classes of {type(model).__name__}"
    right = float(np.mean(observed == predicted))
    return f"{right:.1%} of the rows right{' (mistakes ringed)' if ringed and right < 1 else ''}"


def write(ax: Any, word: str, place: NDArray, color: Any, **alignment: Any) -> None:
    """A word in a darker shade of its colour, on a white rim."""
    from matplotlib.patheffects import withStroke

    ax.text(
        *place,
        word,
        color=np.asarray(color) * 0.62,
        **{"ha": "center", "va": "center"} | alignment,
        fontsize=11,
        fontweight="bold",
        zorder=7,
        path_effects=[withStroke(linewidth=3.0, foreground="white", alpha=0.85)],
    )
