"""The plane of a picture: its view, outlines of sets, level lines and labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.columns import dense, sampled
from assay.display.style import PALETTE
from assay.parameters import array, refusal
from assay.penalties import AffineSubspace, ConvexSet, HalfSpace, Hyperplane, Polytope


def level_lines(axes: Any, columns: NDArray, rows: NDArray, heights: NDArray) -> None:
    """Lines at equal shares of the points: they show a flat valley and a steep wall at once."""
    finite = heights[np.isfinite(heights)]
    levels = np.unique(np.quantile(finite, np.linspace(0.005, 0.98, 14)))
    if len(levels) > 1:
        axes.contour(columns, rows, heights, levels=levels, cmap="Blues_r", linewidths=1.0)


def on_grid(value: Callable[[NDArray], float], columns: NDArray, rows: NDArray) -> NDArray:
    """Values on a grid, one row for each ordinate."""
    return np.array([[float(value(np.array([a, b]))) for a in columns] for b in rows])


def outline_of(convex_set: ConvexSet, view: float) -> NDArray:
    """Corners of the part of a set that is in view: a point, the two ends of a line, or a polygon."""
    square = view * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    if isinstance(convex_set, HalfSpace):
        return _clipped(square, np.atleast_2d(convex_set.normal), np.array([convex_set.offset]))
    if isinstance(convex_set, Polytope):
        return _clipped(square, convex_set.matrix, convex_set.offset)
    if isinstance(convex_set, (Hyperplane, AffineSubspace)):
        feet = np.array([convex_set.project(corner) for corner in 2 * square])
        first = feet[np.argmax(np.linalg.norm(feet - feet[0], axis=1))]
        last = feet[np.argmax(np.linalg.norm(feet - first, axis=1))]
        return first[None, :] if np.allclose(first, last) else np.array([first, last])
    angles = np.linspace(0, 2 * np.pi, 721)[:-1]
    circle = 1e3 * view * np.column_stack([np.cos(angles), np.sin(angles)])
    return np.array([convex_set.project(point) for point in circle])


def _clipped(polygon: NDArray, normals: NDArray, offsets: NDArray) -> NDArray:
    """The part of a polygon with ⟨a, x⟩ ≥ b for each row: one cut after the other."""
    for normal, offset in zip(normals, offsets, strict=True):
        kept: list[NDArray] = []
        for here, there in zip(polygon, np.roll(polygon, -1, axis=0), strict=True):
            before, after = here @ normal - offset, there @ normal - offset
            if before >= 0:
                kept.append(here)
            if before * after < 0:
                kept.append(here + before / (before - after) * (there - here))
        polygon = np.array(kept).reshape(-1, 2)
    return polygon


def hull_outline(points: NDArray) -> NDArray:
    """Corners of the convex hull, in order."""
    angles = np.linspace(0, 2 * np.pi, 361)
    corners = points[np.argmax(points @ np.array([np.cos(angles), np.sin(angles)]), axis=0)]
    keep = np.append(True, np.any(np.diff(corners, axis=0) != 0, axis=1))
    return corners[keep]


def line_in_view(normal: NDArray, offset: float, low: NDArray, high: NDArray) -> NDArray:
    """Two points of a line, far enough apart to cross the view."""
    foot = normal * (offset - normal @ (low + high) / 2) / (normal @ normal) + (low + high) / 2
    along = np.array([-normal[1], normal[0]]) / np.linalg.norm(normal)
    reach = float(np.linalg.norm(high - low))
    return np.array([foot - reach * along, foot + reach * along])


def label(axes: Any, text: str, place: Any, color: str, *, below: bool = False) -> None:
    """Direct label beside a point, readable on lines."""
    from matplotlib.patheffects import withStroke

    axes.annotate(
        text,
        tuple(place),
        xytext=(7, -8 if below else 6),
        textcoords="offset points",
        va="top" if below else "bottom",
        color=color,
        fontsize=9.5,
        zorder=6,
        path_effects=[withStroke(linewidth=2.5, foreground="white")],
    )


def view_of(points: NDArray, pad: float = 0.12, slimmest: float = 0.25) -> tuple[NDArray, NDArray]:
    """Corners of a rectangle around the points, its sides no less than a share of one another."""
    low, high = points.min(axis=0), points.max(axis=0)
    width = np.maximum(high - low, slimmest * max(float((high - low).max()), 1e-9))
    middle = (low + high) / 2
    return middle - (0.5 + pad) * width, middle + (0.5 + pad) * width


def plane_points(owner: str, name: str, points: Any) -> NDArray:
    """Points of the plane, or a refusal by name."""
    if not array("", lambda values: values.ndim == 2 and values.shape[1] == 2 and len(values) > 0).contains(
        points
    ):
        raise refusal(owner, name, "points of the plane: finite numbers in two columns", points)
    return np.asarray(points, dtype=float)


# Rows in the plane of the first two principal components of their standardised columns.


@dataclass
class PrincipalPlaneDisplay(Display):
    """Rows in the plane of the first two principal components of their standardised columns.

    Parameters
    ----------
    scores : array of shape (n_rows, 2)
        The rows shown.
    share : array of shape (2,)
        Shares of the variance of the two components.
    values : array of shape (n_rows,) or None
        Shown by colour.
    value_name : str, default="target"

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import PrincipalPlaneDisplay
    >>> PrincipalPlaneDisplay.from_rows(diabetes().X).share.round(2)
    array([0.4 , 0.15])
    """

    scores: NDArray
    share: NDArray
    values: NDArray | None = None
    value_name: str = "target"

    @classmethod
    def from_rows(cls, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Find the plane of the rows, and draw them."""
        rows = dense(X)
        rows = rows - rows.mean(axis=0)
        spread = rows.std(axis=0)
        if np.count_nonzero(spread) < 2:
            raise ValueError("A principal plane needs at least two columns that vary.")
        left, lengths, _ = np.linalg.svd(rows[:, spread > 0] / spread[spread > 0], full_matrices=False)
        share = lengths**2 / np.sum(lengths**2)
        shown = sampled(len(rows))
        values = None if y is None else np.asarray(y, dtype=float)[shown]
        name = str(getattr(y, "name", None) or "target")
        return cls((left[:, :2] * lengths[:2])[shown], share[:2], values, name).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        shade: dict[str, Any] = {"color": PALETTE[0]}
        if self.values is not None:
            shade = {"c": self.values, "cmap": "viridis"}
        points = ax.scatter(*self.scores.T, s=18, alpha=0.75, linewidths=0, **shade)
        if self.values is not None:
            bar = ax.figure.colorbar(points, ax=ax, label=self.value_name)
            bar.outline.set_visible(False)
        ax.set(
            xlabel=f"first component ({self.share[0]:.0%} of the variance)".replace("%", " %"),
            ylabel=f"second component ({self.share[1]:.0%})".replace("%", " %"),
            title="rows in their principal plane",
        )


def plot_principal_plane(X: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw rows in the plane of the first two principal components of their standardised columns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least two columns that vary.
    y : array-like of shape (n_samples,), optional
        Shown by colour.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import plot_principal_plane
    >>> plot_principal_plane(*diabetes(return_X_y=True)).get_xlabel()
    'first component (40 % of the variance)'
    """
    return PrincipalPlaneDisplay.from_rows(X, y, ax=ax).ax_
