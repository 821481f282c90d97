"""Pictures of linear classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._class_map import draw_map
from assay.display._class_probability import draw_probability
from assay.display._columns import column_names, shortened
from assay.display._confusion import draw_confusion
from assay.display._images import checked_shape, draw_sheet
from assay.display._registry import choose, draw
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors
from assay.linear import LinearSVC, LogisticRegression, Perceptron
from assay.linear._classifier import LinearClassifier

MAX_COEFFICIENTS = 20
MAX_BARS = 60
"""Bars of all classes together, above which fewer features are shown."""


@draw.register(LinearClassifier)
def draw_linear_classifier(
    model: LinearClassifier,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
    image_shape: Any = None,
) -> None:
    """Draw the classes on data, their confusion or probability, the coefficients, or the descent."""
    kind = kind or ("coefficients" if X is None or image_shape is not None else "map")
    pictures = {
        "map": draw_map,
        "confusion": draw_confusion,
        "probability": draw_probability,
        "coefficients": lambda *data, **rest: _coefficients(*data, image_shape=image_shape, **rest),
        "history": _history,
    }
    choose(model, kind, pictures)(model, X, y, ax=ax, feature_names=feature_names)


def _coefficients(model: Any, X: Any, y: Any, *, ax: Any, feature_names: Any, image_shape: Any) -> None:
    coef = np.asarray(model.coef_, dtype=float)
    if image_shape is not None:
        _images(model, coef, image_shape, ax)
    else:
        _bars(model, coef, column_names(model, X, feature_names, coef.shape[1]), ax)


def _bars(model: Any, coef: NDArray, names: list[str], ax: Any) -> None:
    """The largest coefficients, a bar a class."""
    most = min(MAX_COEFFICIENTS, max(3, MAX_BARS // len(coef)))
    order = np.argsort(-np.abs(coef).max(axis=0), kind="stable")[:most][::-1]
    places, height = np.arange(order.size), 0.78 / len(coef)
    one = len(coef) == 1
    shades = [PALETTE[0]] if one else colors(len(coef))
    for row, (values, color) in enumerate(zip(coef, shades, strict=True)):
        shift = (row - (len(coef) - 1) / 2) * height
        word = shortened(str(model.classes_[1 if one else row]), 18)
        ax.barh(places - shift, values[order], height=height, color=color, label=word)
    ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
    ax.set_yticks(places, [shortened(names[j]) for j in order], fontsize=9 if order.size <= 14 else 7.5)
    ax.grid(axis="y", visible=False)
    middle, half = (order.size - 1) / 2, max(order.size, 4) / 2
    ax.set_ylim(middle - half, middle + half)  # a few bars are not to fill the frame
    if not one:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.0)
    title = (
        "coefficients"
        if order.size == coef.shape[1]
        else f"the {order.size} largest of {coef.shape[1]} coefficients"
    )
    side = (
        f"coefficient (positive speaks for {shortened(str(model.classes_[1]), 18)})" if one else "coefficient"
    )
    ax.set(xlabel=side, title=title)


def _images(model: Any, coef: NDArray, image_shape: Any, ax: Any) -> None:
    """The coefficients of each class as an image, side by side, all on one scale about zero."""
    from matplotlib.colors import LinearSegmentedColormap

    shape = checked_shape(f"the picture of {type(model).__name__}", image_shape, coef.shape[1])
    words = [str(label) for label in (model.classes_[1:] if len(coef) == 1 else model.classes_)]
    reach = float(np.abs(coef).max()) or 1.0
    shades = LinearSegmentedColormap.from_list("house", [ACCENT, "#f6f8fa", PALETTE[0]])
    picture = draw_sheet(coef, words, shape, ax, n_columns=5, cmap=shades, vmin=-reach, vmax=reach)
    bar = ax.figure.colorbar(picture, ax=ax, fraction=0.04, pad=0.02, shrink=0.8)
    bar.outline.set_visible(False)
    bar.set_label("coefficient")
    ax.set_title(f"coefficients as {shape[0]} × {shape[1]} images")


def _history(model: Any, X: Any, y: Any, *, ax: Any, feature_names: Any) -> None:
    """What the fit kept of its iterations: a curve, or one a class."""
    if not hasattr(model, "history_"):
        raise ValueError(
            f"The 'history' picture of {type(model).__name__} needs it kept: fit with history=True."
        )
    history = model.history_ if np.ndim(model.history_[0]) else [model.history_]
    curves = [np.asarray(curve, dtype=float) for curve in history]
    one = len(curves) == 1
    longest = max(curves, key=len)
    # Some methods look at every iteration, before the first or not, others only now and then.
    first = {model.n_iter_ + 1: 0, model.n_iter_: 1}.get(longest.size)
    for curve, color, label in zip(
        curves,
        [PALETTE[0]] if one else colors(len(curves)),
        [""] if one else model.classes_,
        strict=True,
    ):
        places = np.arange(curve.size) + (1 if first is None else first)
        mark = "o" if longest.size <= 40 else ""
        ax.plot(places, curve, color=color, marker=mark, markersize=4, label=shortened(str(label), 18))
    if not one:
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.0)
    seen = np.concatenate(curves)
    if seen.min() > 0 and seen.max() > 100 * seen.min():
        ax.set_yscale("log")
    ax.xaxis.get_major_locator().set_params(integer=True)
    what = _kept(model)
    ax.set(
        xlabel="iteration" if first is not None else "measurement",
        ylabel=what,
        title=f"{what} {max(curve[-1] for curve in curves):.4g} after {model.n_iter_} iterations",
    )


def _kept(model: Any) -> str:
    """What the numbers of `history_` are."""
    if isinstance(model, Perceptron):
        return "weight of mistakes"
    newton = isinstance(model, LinearSVC) and model.loss == "squared_hinge" and model.solver_ == "newton"
    if isinstance(model, LogisticRegression) or newton:
        return "objective"
    return "relative duality gap" if np.isfinite(model.dual_gap_) else "relative gradient"
