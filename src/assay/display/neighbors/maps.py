"""Decision maps of several numbers of neighbours, in the plane of two features or of the principal axes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from assay.display.base import Display
from assay.display.classes.scores import cell_centers, class_colors, draw_points, labels_of
from assay.display.plane import (
    column_names,
    dense,
    limits_around,
    principal_plane,
    sampled,
    shortened,
)
from assay.display.style import INK, caption, require_matplotlib

SIDE = 140
"""Cells per side of a map."""

DRAWN = 1500
"""Most rows that are drawn."""


class NeighborMapDisplay(Display, needs=("X", "y")):
    """Regions of the classes for one number of neighbours, or side by side for several.

    Rows of more than two features are projected on their first two principal axes, and the model shown is
    fitted to the projections.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
    observed : array of shape (n_rows,)
    predicted : mapping of int to array of shape (n_rows,)
        Number of neighbours → classes that the model gives the rows, each of them left out.
    regions : mapping of int to int array of shape (side, side)
        Number of neighbours → place of the class at each cell of the frame, from the lower left.
    classes : array of shape (n_classes,)
    limits : array of shape (2, 2)
    axis_names : pair of str

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.display import NeighborMapDisplay
    >>> from assay.neighbors import KNeighborsClassifier
    >>> X, y = iris(return_X_y=True)
    >>> shown = NeighborMapDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X, y, n_neighbors=[1, 25])
    >>> sorted(shown.regions)
    [1, 25]
    """

    points: NDArray
    observed: NDArray
    predicted: Mapping[int, NDArray]
    regions: Mapping[int, NDArray]
    classes: NDArray
    limits: NDArray
    axis_names: tuple[str, str]

    @classmethod
    def _collect(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_neighbors: Sequence[int] | None = None,
        feature_names: Any = None,
    ) -> Self:
        rows, labels = dense(X), labels_of(X, y)
        if rows.shape[1] == 1:
            raise ValueError("A map needs two features; draw kind='path' of one.")
        names = column_names(estimator, X, feature_names, rows.shape[1])
        plane = principal_plane(rows)
        points = plane.flatten(rows)
        counts = [estimator.n_neighbors_] if n_neighbors is None else [int(k) for k in n_neighbors]
        limits = np.array(limits_around(points))
        cells = np.column_stack([part.ravel() for part in np.meshgrid(*cell_centers(tuple(limits), SIDE))])
        shown = sampled(len(rows), DRAWN)
        regions, predicted = {}, {}
        for k in counts:
            model = clone(estimator).set_params(n_neighbors=k).fit(points, labels)
            places = np.searchsorted(model.classes_, model.predict(cells))
            regions[k] = places.reshape(SIDE, SIDE)
            # Each row left out: of one neighbour, the row itself would always be right.
            predicted[k] = np.asarray(model.predict(None if k < len(points) else points))[shown]
        classes, observed = np.asarray(estimator.classes_), labels[shown]
        return cls(points[shown], observed, predicted, regions, classes, limits, plane.labels(names))

    def _draw(self, ax: Any) -> None:
        counts = list(self.regions)
        if len(counts) == 1:
            self._draw_map(ax, counts[0])
            caption(ax, *self.axis_names, self._title(counts[0], digits=1))
            return
        # Maps stand side by side in the room of one: insets, so that a caller's axes hold them all.
        ax.set(xticks=[], yticks=[])
        for side in ax.spines.values():
            side.set_visible(False)
        width, gap = 1.0 / len(counts), 0.03
        for place, k in enumerate(counts):
            room = [place * width + gap / 2, 0.0, width - gap, 1.0]
            inner = ax.inset_axes(room)
            self._draw_map(inner, k, legend=place == len(counts) - 1)
            inner.set_title(self._title(k), fontsize=10)
            if place:
                inner.set_yticklabels([])
        ax.set_xlabel(self.axis_names[0], labelpad=18)
        ax.set_ylabel(self.axis_names[1], labelpad=26)

    def _title(self, k: int, digits: int = 0) -> str:
        right = float(np.mean(self.predicted[k] == self.observed))
        words = "right, each row left out" if len(self.regions) == 1 else "right, left out"
        return f"k = {k}: {right:.{digits}%} {words}"

    def _new_axes(self, ax: Any) -> Any:
        if ax is not None or len(self.regions) == 1:
            return super()._new_axes(ax)
        require_matplotlib()
        import matplotlib.pyplot as plt

        return plt.subplots(figsize=(3.1 * len(self.regions) + 1.2, 3.4), layout="constrained")[1]

    def _draw_map(self, ax: Any, k: int, *, legend: bool = True) -> None:
        palette = class_colors(len(self.classes))
        x, z = cell_centers((self.limits[0], self.limits[1]), SIDE)
        (left, bottom), (right, top) = self.limits
        image = np.concatenate([palette[self.regions[k]], np.full((SIDE, SIDE, 1), 0.25)], axis=2)
        frame = {"extent": (left, right, bottom, top), "origin": "lower", "aspect": "auto"}
        ax.imshow(image, interpolation="nearest", zorder=0, **frame)
        for place in range(len(self.classes)):
            mask = (self.regions[k] == place).astype(float)
            if 0 < mask.mean() < 1:
                ax.contour(x, z, mask, levels=[0.5], colors=[INK], linewidths=0.8)
        draw_points(self.points, self.observed, self.predicted[k], self.classes, palette, ax, ring=INK)
        if legend:
            for label, color in zip(self.classes, palette, strict=True):
                ax.plot([], [], "o", color=color, label=shortened(str(label), 14))
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handletextpad=0.2)
        ax.set(xlim=self.limits[:, 0], ylim=self.limits[:, 1])
        ax.grid(False)
