"""What the pictures of classes share: scores, colours, shades and points; and the picture of a law."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import get_tags

from assay.datasets import ClassificationLaw
from assay.display.base import drawn_by, itself
from assay.display.optimize.sets import ConvexPicture
from assay.display.plane import limits_around, plain, rgb, shortened, shown_rows
from assay.display.style import FAINT_INK, GROUND, INK, colors
from assay.parameters import refusal


def quietly(method: Any, rows: Any) -> NDArray:
    """What a method says of plain rows, also after a fit to columns with names.

    A model of counts or levels is asked at 0 for what a picture shows below.
    """
    owner = getattr(method, "__self__", None)
    if isinstance(rows, np.ndarray) and owner is not None and get_tags(owner).input_tags.positive_only:
        rows = np.maximum(rows, 0.0)
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
    """A word in a darker shade of its colour, on a patch of the ground.

    With a rim in place of the patch its letters would be shapes, which a dark page cannot make lighter.
    """
    patch = {"boxstyle": "round,pad=0.1", "facecolor": GROUND, "edgecolor": "none", "alpha": 0.7}
    look = {"ha": "center", "va": "center", "fontsize": 11, "fontweight": "bold", "zorder": 7} | alignment
    ax.text(*place, word, color=np.asarray(color) * 0.62, bbox=patch, **look)


GRID = 240
"""Points per side of the picture of the probabilities."""

PALEST, STRONGEST = 0.05, 0.38
"""Strength of a colour where all classes are as probable, and where one is certain."""


def cell_centers(limits: tuple[NDArray, NDArray], side: int = GRID) -> tuple[NDArray, NDArray]:
    """Abscissas and ordinates of the centres of the cells, so that a shade stands where it was computed."""
    columns, rows = (
        low + (np.arange(side) + 0.5) / side * (high - low) for low, high in zip(*limits, strict=True)
    )
    return columns, rows


def cell_points(limits: tuple[NDArray, NDArray], side: int) -> NDArray:
    """The centres of the cells, shape (side², 2)."""
    return np.column_stack([grid.ravel() for grid in np.meshgrid(*cell_centers(limits, side))])


def shares_on_grid(
    probabilities: Callable[[NDArray], Any], limits: tuple[NDArray, NDArray], side: int = GRID
) -> NDArray:
    """Probabilities of the classes at the cells of a frame, shape (side, side, n_classes)."""
    return np.asarray(probabilities(cell_points(limits, side)), dtype=float).reshape(side, side, -1)


def draw_shades(shares: NDArray, limits: tuple[NDArray, NDArray], palette: NDArray, ax: Any) -> None:
    """Mix the colours of the classes by their probabilities, paler where none stands out."""
    (left, bottom), (right, top) = limits
    certainty = (shares.max(axis=2) - 1 / len(palette)) / (1 - 1 / len(palette))
    strength = PALEST + (STRONGEST - PALEST) * certainty[:, :, None]
    image = np.clip(np.concatenate([shares @ palette, strength], axis=2), 0, 1)
    frame = {"extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto"}
    ax.imshow(image, interpolation="bilinear", zorder=0, **frame)


def draw_points(
    flat: NDArray,
    observed: NDArray,
    predicted: NDArray,
    classes: NDArray,
    palette: NDArray,
    ax: Any,
    *,
    ring: str,
) -> None:
    """The rows in the colours of their classes, those that the model mistakes ringed."""
    crowded = len(flat) > 500
    wrong = observed != predicted
    colored = point_colors(observed, classes, palette)
    for rows, edge, width, order in ((~wrong, GROUND, 0.0 if crowded else 0.4, 3), (wrong, ring, 0.9, 4)):
        if rows.any():
            look: dict[str, Any] = {"s": 11, "alpha": 0.65} if crowded else {"s": 24, "alpha": 0.9}
            look |= {"edgecolors": edge, "linewidths": width, "rasterized": len(flat) > 1000, "zorder": order}
            ax.scatter(*flat[rows].T, c=colored[rows], **look)
    ax.grid(visible=False)


def point_colors(observed: NDArray, classes: NDArray, palette: NDArray) -> NDArray:
    """Colour of each row; faint ink for a class that the model has never seen."""
    order = np.argsort(classes)  # classes called by their names are not in the order of the alphabet
    places = order[np.searchsorted(classes, observed, sorter=order).clip(0, len(classes) - 1)]
    known = classes[places] == observed
    return np.where(known[:, None], palette[places], np.array(rgb(FAINT_INK)))


class PosteriorDisplay(ConvexPicture):
    """Probabilities of the classes given two features, with the Bayes boundary and a sample.

    Parameters
    ----------
    probabilities : array of shape (side, side, n_classes)
        Probabilities at the cells of the frame.
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    points : array of shape (n_rows, 2)
        Rows drawn from the law.
    observed, best : arrays of shape (n_rows,)
        Their classes, and what the Bayes rule says; rows where they differ are ringed.
    classes : array of shape (n_classes,)
    title : str

    Examples
    --------
    >>> from assay import datasets, display
    >>> law = datasets.TwoMoons(noise_std=0.3)
    >>> display.PosteriorDisplay.from_law(law, *law.sample(200, random_state=0)).points.shape
    (200, 2)
    >>> display.plot_posterior(law, *law.sample(200, random_state=0)).ax_.get_title()
    'posterior of TwoMoons, Bayes risk 0.085'
    """

    probabilities: NDArray
    limits: NDArray
    points: NDArray
    observed: NDArray
    best: NDArray
    classes: NDArray
    title: str

    @classmethod
    def from_law(cls, law: ClassificationLaw, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Draw the probabilities of the classes given two features, with the Bayes boundary and a sample.

        Parameters
        ----------
        law : ClassificationLaw
            A law of two features.
        X, y : array-like
            Rows drawn from it; those that the Bayes rule mistakes are ringed.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        if law.n_features != 2:
            raise refusal("plot_posterior", "law", "a law of two features", f"one of {law.n_features}")
        points, shown = shown_rows(X)
        limits = limits_around(points)
        risk = law.bayes_risk(random_state=0).value
        title = f"posterior of {type(law).__name__}, Bayes risk {risk:.3f}"
        shares, best = shares_on_grid(law.posterior, limits), np.asarray(law.bayes_rule(points))
        observed, classes = np.asarray(y)[shown], np.asarray(law.classes)
        return cls(shares, np.array(limits), points, observed, best, classes, title).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        limits = (self.limits[0], self.limits[1])
        draw_shades(self.probabilities, limits, palette, ax)
        # Where the two most probable classes are as probable.
        shares, n_classes = self.probabilities, len(self.classes)
        cells = cell_centers(limits, len(shares))
        for chosen in range(n_classes if n_classes > 2 else 1):
            lead = shares[:, :, chosen] - np.delete(shares, chosen, axis=2).max(axis=2)
            if lead.min() < 0 < lead.max():
                ax.contour(*cells, lead, levels=[0.0], colors=[INK], linewidths=1.1, zorder=1)
        draw_points(self.points, self.observed, self.best, self.classes, palette, ax, ring=INK)
        for label, color in zip(self.classes, palette, strict=True):
            ax.plot([], [], "o", color=color, label=plain(shortened(str(label), 18)))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handletextpad=0.2)
        ax.set(xlabel="x₁", ylabel="x₂", title=self.title)


plot_posterior = drawn_by(PosteriorDisplay.from_law, "plot_posterior", itself)
