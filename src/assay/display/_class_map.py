"""Maps of classifiers: the regions or probabilities of the classes in a plane, or along one feature."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._class_line import draw_line
from assay.display._class_scores import both_scores, labels_of, quietly, write
from assay.display._columns import column_names, shortened
from assay.display._flat_map import limits_around, principal_plane, regions, rgb, rows_at, shown_rows
from assay.display._plane import line_in_view
from assay.display._registry import require_data
from assay.display._style import FAINT_INK, INK, colors

GRID = 240
"""Points a side of the picture of the probabilities."""

PALEST, STRONGEST = 0.05, 0.38
"""Strength of a colour where all classes are as probable, and where one is certain."""

LEAST_ROOM = 0.02
"""Share of the frame below which a region is too small for the name of its class."""


def draw_map(model: Any, X: Any, y: Any, *, ax: Any, feature_names: Any) -> None:
    """The classes in the plane of the first two principal axes, or along one feature."""
    require_data(model, "map", X=X)
    points, shown = shown_rows(X)
    names = column_names(model, X, feature_names, points.shape[1])
    predicted = quietly(model.predict, rows_at(X, shown))
    observed = predicted if y is None else labels_of(X, y)[shown]
    palette = np.array([rgb(color) for color in colors(len(model.classes_))])
    if points.shape[1] == 1:
        draw_line(model, points[:, 0], observed, palette, names[0], ax)
    else:
        plane = principal_plane(points)
        flat = plane.flatten(points)
        limits = limits_around(flat)
        middle = plane.lift((limits[0] + limits[1]) / 2)
        coef, intercept = both_scores(model)
        slopes, heights = coef @ plane.axes, coef @ middle + intercept
        if hasattr(model, "predict_proba"):
            draw_shades(lambda z: quietly(model.predict_proba, plane.lift(z)), limits, palette, ax)
        parts = regions(limits, slopes, heights)
        _draw_regions(parts, palette, ax, filled=not hasattr(model, "predict_proba"))
        if len(palette) == 2:
            _draw_levels(model, slopes[1] - slopes[0], heights[1] - heights[0], limits, ax)
        draw_points(flat, observed, predicted, model.classes_, palette, ax)
        name_classes(parts, flat, limits, model.classes_, palette, ax)
        ax.set(**plane.labels(names))
        if len(names) > 2:
            _say_slice(ax)
    ax.set_title(_title(model, observed, predicted, y is not None))


def _say_slice(ax: Any) -> None:
    """The rows are projected on the plane; what is shaded are the scores in it."""
    ax.text(
        0.993,
        0.01,
        "shaded: the plane through the mean",
        transform=ax.transAxes,
        ha="right",
        va="bottom",
        fontsize=7.5,
        color=FAINT_INK,
        zorder=6,
    )


def draw_shades(probabilities: Any, limits: tuple[NDArray, NDArray], palette: NDArray, ax: Any) -> NDArray:
    """Mix the colours of the classes by their probabilities, paler where none stands out."""
    (left, bottom), (right, top) = limits
    # Centres of the cells of the image, so that a shade stands where it was computed.
    columns, rows = (
        low + (np.arange(GRID) + 0.5) / GRID * (high - low) for low, high in zip(*limits, strict=True)
    )
    points = np.column_stack([grid.ravel() for grid in np.meshgrid(columns, rows)])
    shares = np.asarray(probabilities(points), dtype=float)
    certainty = (shares.max(axis=1) - 1 / len(palette)) / (1 - 1 / len(palette))
    strength = PALEST + (STRONGEST - PALEST) * certainty[:, None]
    picture = 1 - strength * (1 - shares @ palette)
    ax.imshow(
        np.clip(picture, 0, 1).reshape(GRID, GRID, 3),
        extent=(left, right, bottom, top),
        origin="lower",
        aspect="auto",
        interpolation="bilinear",
        zorder=0,
    )
    return shares.reshape(GRID, GRID, -1)


def _draw_regions(parts: list[NDArray], palette: NDArray, ax: Any, *, filled: bool) -> None:
    for part, color in zip(parts, palette, strict=True):
        if len(part) > 2:
            ax.fill(
                *part.T,
                facecolor=(*color, 0.18) if filled else "none",
                edgecolor=INK,
                linewidth=1.1,
                zorder=1,
                clip_on=True,
            )


def _draw_levels(model: Any, slope: NDArray, height: float, limits: tuple[NDArray, NDArray], ax: Any) -> None:
    """Dashes where the second of two classes has probability 0.1 and 0.9, in view."""
    if not hasattr(model, "predict_proba") or not np.any(slope):
        return
    middle = (limits[0] + limits[1]) / 2
    for level in (0.1, 0.9):
        offset = np.log(level / (1 - level)) - height + slope @ middle
        line = line_in_view(slope, offset, *limits)
        ax.plot(*line.T, color=INK, linewidth=0.9, linestyle=(0, (2, 3)), zorder=1)
        _write_level(f"{level}", line, limits, ax)


def _write_level(word: str, line: NDArray, limits: tuple[NDArray, NDArray], ax: Any) -> None:
    """The probability on its line, where the line leaves the frame."""
    along = line[0] + np.linspace(0, 1, 2001)[:, None] * (line[1] - line[0])
    depth = np.minimum(along - limits[0], limits[1] - along) / (limits[1] - limits[0])
    inside = along[np.all(depth > 0.035, axis=1)]
    if len(inside):
        ax.text(
            *inside[0],
            word,
            fontsize=8,
            ha="center",
            va="center",
            zorder=5,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none", "alpha": 0.8},
        )


def draw_points(
    flat: NDArray, observed: NDArray, predicted: NDArray, classes: NDArray, palette: NDArray, ax: Any
) -> None:
    """The rows in the colours of their classes, those that the model mistakes ringed."""
    crowded = len(flat) > 500
    wrong = observed != predicted
    colored = point_colors(observed, classes, palette)
    for rows, edge, width, order in ((~wrong, "white", 0.0 if crowded else 0.4, 3), (wrong, INK, 0.9, 4)):
        if rows.any():
            ax.scatter(
                *flat[rows].T,
                c=colored[rows],
                s=11 if crowded else 24,
                alpha=0.65 if crowded else 0.9,
                edgecolors=edge,
                linewidths=width,
                rasterized=len(flat) > 1000,
                zorder=order,
            )
    ax.grid(visible=False)


def point_colors(observed: NDArray, classes: NDArray, palette: NDArray) -> NDArray:
    """Colour of each row; faint ink for a class that the model has never seen."""
    places = np.searchsorted(classes, observed).clip(0, len(classes) - 1)
    known = classes[places] == observed
    return np.where(known[:, None], palette[places], np.array(rgb(FAINT_INK)))


def name_classes(
    parts: list[NDArray],
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
    fits = np.all(
        [
            Path(part).contains_points(places + np.array([side * half, rise]))
            for side in (-1, 1)
            for rise in (-0.03, 0.03)
        ],
        axis=0,
    )
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


def _title(model: Any, observed: NDArray, predicted: NDArray, known: bool) -> str:
    if not known:
        return f"{len(model.classes_)} classes of {type(model).__name__}"
    right = float(np.mean(observed == predicted))
    ringed = " (mistakes ringed)" if right < 1 and model.n_features_in_ > 1 else ""
    return f"{right:.1%} of the rows right{ringed}"
