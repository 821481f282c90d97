"""The map of a classifier: the regions or probabilities of the classes in a plane, and the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import (
    GRID,
    both_scores,
    class_colors,
    draw_points,
    draw_shades,
    labels_of,
    quietly,
    share_right,
    shares_on_grid,
    write,
)
from assay.display.plane import (
    column_names,
    limits_around,
    line_in_view,
    principal_plane,
    regions,
    rows_at,
    shortened,
    shown_rows,
    side_of,
)
from assay.display.style import GROUND, INK

LEAST_ROOM = 0.02
"""Share of the frame below which a region is too small for the name of its class."""


def name_classes(
    parts: Sequence[NDArray],
    flat: NDArray,
    limits: tuple[NDArray, NDArray],
    classes: NDArray,
    palette: NDArray,
    ax: Any,
) -> None:
    """Write each class into its region where there is most room; in a legend if one has too little."""
    ax.set(xlim=(limits[0][0], limits[1][0]), ylim=(limits[0][1], limits[1][1]))
    size = limits[1] - limits[0]
    words = [shortened(str(label), 18) for label in classes]
    if min(area(part) for part in parts) >= LEAST_ROOM * size.prod() and len(classes) <= 12:
        taken = (flat - limits[0]) / size
        for part, word, color in zip(parts, words, palette, strict=True):
            place = _emptiest((part - limits[0]) / size, taken, len(word))
            taken = np.vstack([taken, place])
            write(ax, word, limits[0] + place * size, color)
    else:
        for word, color in zip(words, palette, strict=True):
            ax.plot([], [], "o", color=color, label=word)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handletextpad=0.2)


def area(polygon: NDArray) -> float:
    """Area of a polygon by its corners."""
    if len(polygon) < 3:
        return 0.0
    x, y = (polygon - polygon[0]).T
    return abs(float(x @ np.roll(y, -1) - y @ np.roll(x, -1))) / 2


def _emptiest(part: NDArray, taken: NDArray, length: int) -> NDArray:
    """The place in a region of the unit square farthest from the points, for a word of that many letters."""
    from matplotlib.path import Path

    half = min(0.013 * length, 0.3)
    x, y = np.meshgrid(np.linspace(0.02 + half, 0.98 - half, 41), np.linspace(0.06, 0.94, 41))
    places = np.column_stack([x.ravel(), y.ravel()])
    corners = [np.array([side * half, rise]) for side in (-1, 1) for rise in (-0.03, 0.03)]
    fits = np.all([Path(part).contains_points(places + corner) for corner in corners], axis=0)
    if not fits.any():
        return part.mean(axis=0)
    places = places[fits]
    sideways = np.array([half, 0.0])
    ends = np.concatenate([places - sideways, places, places + sideways])
    gaps = np.sqrt(((ends[:, None] - taken) ** 2).sum(axis=2).min(axis=1)).reshape(3, -1).min(axis=0)
    # Far enough from the points is enough; then rather well inside the region than beside its border.
    return places[np.argmax(np.minimum(gaps, 0.1) + 0.5 * np.minimum(_depth(part, places), 0.15))]


def _depth(part: NDArray, places: NDArray) -> NDArray:
    """Distance of places inside a convex polygon to its border."""
    sides = np.roll(part, -1, axis=0) - part
    long = np.hypot(*sides.T) > 0
    normals = np.column_stack([-sides[long, 1], sides[long, 0]]) / np.hypot(*sides[long].T)[:, None]
    return np.abs(np.einsum("kd,ikd->ik", normals, places[:, None] - part[long])).min(axis=1)


class ClassMapDisplay(Display, needs=("X",)):
    """The classes of a linear classifier in a plane: two features, or the first two principal axes of more.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        The rows in the plane.
    observed, predicted : arrays of shape (n_rows,)
        Their classes, and what the model says; rows where they differ are ringed.
    classes : array of shape (n_classes,)
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    regions : sequence of arrays of shape (n_corners, 2)
        Corners of the part of the frame of each class.
    probabilities : array of shape (side, side, n_classes) or None
        Probabilities of the classes at the cells of the frame, where the model has them.
    levels : mapping of float to array of shape (2, 2)
        Two points of the line where the second of two classes has that probability.
    axis_names : pair of str
    title : str
    sliced : bool, default=False
        Whether the plane is a slice of more than two features.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.display import ClassMapDisplay
    >>> from assay.linear import LogisticRegression
    >>> X, y = iris(return_X_y=True)
    >>> ClassMapDisplay.from_estimator(LogisticRegression().fit(X, y), X, y).probabilities.shape
    (240, 240, 3)
    """

    points: NDArray
    observed: NDArray
    predicted: NDArray
    classes: NDArray
    limits: NDArray
    regions: Sequence[NDArray]
    probabilities: NDArray | None
    levels: Mapping[float, NDArray]
    axis_names: tuple[str, str]
    title: str
    sliced: bool = False

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows, shown = shown_rows(X)
        if rows.shape[1] == 1:
            raise ValueError("A plane needs two features; draw ClassLineDisplay of one.")
        names = column_names(estimator, X, feature_names, rows.shape[1])
        predicted = quietly(estimator.predict, rows_at(X, shown))
        observed = predicted if y is None else labels_of(X, y)[shown]
        plane = principal_plane(rows)
        points = plane.flatten(rows)
        limits = limits_around(points)
        coef, intercept = both_scores(estimator)
        slopes = coef @ plane.axes
        heights = coef @ plane.lift((limits[0] + limits[1]) / 2) + intercept
        shares, levels = None, {}
        if hasattr(estimator, "predict_proba"):
            say = partial(plane.ask, partial(quietly, estimator.predict_proba))
            shares = shares_on_grid(say, limits, side_of(len(names), GRID))
            if len(slopes) == 2:
                levels = _level_lines(slopes[1] - slopes[0], heights[1] - heights[0], limits)
        title = share_right(estimator, observed, None if y is None else predicted, ringed=True)
        parts, classes = regions(limits, slopes, heights), np.asarray(estimator.classes_)
        frame, words, sliced = np.array(limits), plane.labels(names), len(names) > 2
        return cls(points, observed, predicted, classes, frame, parts, shares, levels, words, title, sliced)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        limits = (self.limits[0], self.limits[1])
        if self.probabilities is not None:
            draw_shades(self.probabilities, limits, palette, ax)
        for part, color in zip(self.regions, palette, strict=True):
            if len(part) > 2:
                face = (*color, 0.18) if self.probabilities is None else "none"
                ax.fill(*part.T, facecolor=face, edgecolor=INK, linewidth=1.1, zorder=1, clip_on=True)
        for level, line in self.levels.items():
            ax.plot(*line.T, color=INK, linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
            _write_level(f"{level}", line, limits, ax)
        draw_points(self.points, self.observed, self.predicted, self.classes, palette, ax, ring=INK)
        name_classes(self.regions, self.points, limits, self.classes, palette, ax)
        # The rows are projected on the plane; what is shaded are the scores in it.
        below = "\nshaded: the plane through the mean" if self.sliced else ""
        ax.set(xlabel=self.axis_names[0] + below, ylabel=self.axis_names[1], title=self.title)


def _level_lines(slope: NDArray, height: float, limits: tuple[NDArray, NDArray]) -> dict[float, NDArray]:
    """Where the second of two classes has probability 0.1 and 0.9."""
    if not np.any(slope):
        return {}
    middle = (limits[0] + limits[1]) / 2
    offsets = {level: np.log(level / (1 - level)) - height + slope @ middle for level in (0.1, 0.9)}
    return {level: line_in_view(slope, offset, *limits) for level, offset in offsets.items()}


def _write_level(word: str, line: NDArray, limits: tuple[NDArray, NDArray], ax: Any) -> None:
    """The probability on its line, where the line leaves the frame."""
    along = line[0] + np.linspace(0, 1, 2001)[:, None] * (line[1] - line[0])
    depth = np.minimum(along - limits[0], limits[1] - along) / (limits[1] - limits[0])
    inside = along[np.all(depth > 0.035, axis=1)]
    if len(inside):
        box = {"boxstyle": "round,pad=0.15", "facecolor": GROUND, "edgecolor": "none", "alpha": 0.8}
        look = {"fontsize": 8.5, "color": INK, "ha": "center", "va": "center", "zorder": 5}
        ax.text(*inside[0], word, bbox=box, **look)
