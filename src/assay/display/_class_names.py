"""Where the name of a class stands on a map: in its region, away from the points."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._class_scores import write
from assay.display._columns import shortened

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
