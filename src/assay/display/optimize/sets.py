"""Pictures of convexity: labels and the hyperplane between them, convex sets and projections on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.plane import hull_outline, label, line_in_view, outline_of, plane_points, view_of
from assay.display.style import ACCENT, DASHES, INK, PALETTE
from assay.optimize import separating_hyperplane
from assay.parameters import refusal
from assay.penalties import ConvexSet


class ConvexPicture(Display):
    """Base of the pictures of theory: what they show, by name, is in `data` too.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
    data : mapping of str to array
        The drawn numbers by name.
    """

    @property
    def data(self) -> Mapping[str, Any]:
        """The drawn numbers by name."""
        return {each.name: getattr(self, each.name) for each in fields(self)}  # type: ignore[arg-type]


@dataclass
class SeparabilityDisplay(ConvexPicture):
    """Labelled points of the plane with the hyperplane between them, or a common point of their hulls.

    Parameters
    ----------
    groups : pair of arrays of shape (n_rows, 2)
        The points of each label.
    labels : pair of str
    separated : bool
    margin : float
        Distance of the hulls; 0 if they meet.
    line : array of shape (2, 2) or None
        Two points of the line between the labels.
    edges : sequence of arrays of shape (2, 2)
        Two points of each edge of the margin.
    nearest : pair of arrays of shape (2,)
        The points of the hulls that are nearest to each other.

    Examples
    --------
    >>> from assay.display import SeparabilityDisplay
    >>> SeparabilityDisplay.from_points([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]], [0, 0, 1]).margin
    2.0
    """

    groups: Sequence[NDArray]
    labels: Sequence[str]
    separated: bool
    margin: float
    line: NDArray | None
    edges: Sequence[NDArray]
    nearest: tuple[NDArray, NDArray]

    @classmethod
    def from_points(cls, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Separate points of two labels, and draw them."""
        points, labels = plane_points("plot_separability", "X", X), np.asarray(y)
        kinds = np.unique(labels)
        if labels.shape != points.shape[:1] or len(kinds) != 2:
            raise refusal("plot_separability", "y", f"two labels on {len(points)} rows", y)
        groups = [points[labels == kind] for kind in kinds]
        between = separating_hyperplane(groups[1], groups[0])
        line, edges = None, []
        if between.separated and between.normal is not None and between.offset is not None:
            view = view_of(points)
            line = line_in_view(between.normal, between.offset, *view)
            offsets = [between.offset + side * between.margin for side in (-0.5, 0.5)]
            edges = [line_in_view(between.normal, offset, *view) for offset in offsets]
        nearest = (between.first_point, between.second_point)
        names = [str(kind) for kind in kinds]
        return cls(groups, names, between.separated, between.margin, line, edges, nearest).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        for group, name, color, marker in zip(self.groups, self.labels, PALETTE, "os", strict=False):
            ax.plot(*group.T, marker, color=color, markersize=5.5, alpha=0.85, label=f"label {name}")
            hull = hull_outline(group)
            ax.fill(*hull.T, facecolor=color, alpha=0.08, linewidth=0)
            ax.plot(*np.vstack([hull, hull[:1]]).T, color=color, linewidth=0.8, alpha=0.6)
        low, high = view_of(np.vstack(self.groups))
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x₁", ylabel="x₂")
        if self.line is not None:
            ax.plot(*self.line.T, color=ACCENT, linewidth=2)
            for edge in self.edges:
                ax.plot(*edge.T, color=ACCENT, linewidth=1, linestyle=DASHES)
            ax.plot(*np.array(self.nearest).T, color=INK, linewidth=1, marker=".", markersize=7)
            ax.set_title(f"separable, with a margin of {self.margin:.3g}")
        else:
            ax.plot(*self.nearest[0], "X", color=ACCENT, markersize=11, markeredgecolor="white")
            label(ax, "in both hulls", self.nearest[0], ACCENT)
            ax.set_title("not separable: the hulls have a common point")
        ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
        ax.set_aspect("equal", adjustable="box")


def plot_separability(X: Any, y: Any, *, ax: Any = None) -> SeparabilityDisplay:
    """Draw labelled points of the plane with the hyperplane between them, or a common point of their hulls.

    Examples
    --------
    >>> from assay.display import plot_separability
    >>> picture = plot_separability([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1])
    >>> picture.ax_.get_title(), picture.data["margin"]
    ('separable, with a margin of 2', 2.0)
    """
    return SeparabilityDisplay.from_points(X, y, ax=ax)


@dataclass
class ConvexSetDisplay(ConvexPicture):
    """A convex set of the plane, and the projections of some points on it.

    Parameters
    ----------
    outline : array of shape (n_corners, 2)
        Corners of the part of the set in view: a point, the two ends of a line, or a polygon.
    points, projections : arrays of shape (n_points, 2)
        Points, and where they are projected.
    normal : array of shape (2, 2) or None
        Foot and tip of the normal, where the set has one.
    view : float
        The picture reaches from −view to view.
    title : str

    Examples
    --------
    >>> from assay.display import ConvexSetDisplay
    >>> from assay.penalties import HalfSpace
    >>> ConvexSetDisplay.from_set(HalfSpace([1.0, 1.0], 1.0), [[-1.0, -1.0]]).projections
    array([[0.5, 0.5]])
    """

    outline: NDArray
    points: NDArray
    projections: NDArray
    normal: NDArray | None
    view: float
    title: str

    @classmethod
    def from_set(
        cls, convex_set: ConvexSet, points: Any = None, *, view: float = 3.0, ax: Any = None
    ) -> Self:
        """Outline a set, project the points, and draw them."""
        if not isinstance(convex_set, ConvexSet):
            raise refusal("plot_convex_set", "convex_set", "a ConvexSet of the plane", convex_set)
        outside = np.empty((0, 2)) if points is None else plane_points("plot_convex_set", "points", points)
        images = np.array([convex_set.project(point) for point in outside]).reshape(-1, 2)
        arrow, normal = None, getattr(convex_set, "normal", None)
        if normal is not None:
            direction, foot = np.asarray(normal, dtype=float), convex_set.project(np.zeros(2))
            arrow = np.array([foot, foot + 0.8 * direction / np.linalg.norm(direction)])
        outline = outline_of(convex_set, view)
        return cls(outline, outside, images, arrow, view, in_words(type(convex_set).__name__)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        if len(self.outline) <= 2:
            marker = "o" if len(self.outline) == 1 else ""
            ax.plot(*self.outline.T, marker=marker, color=PALETTE[0], linewidth=2.4, clip_on=True)
        else:
            ax.fill(*self.outline.T, facecolor=PALETTE[0], alpha=0.16, linewidth=0)
            ax.plot(*np.vstack([self.outline, self.outline[:1]]).T, color=PALETTE[0], linewidth=2)
        for point, image in zip(self.points, self.projections, strict=True):
            if np.linalg.norm(point - image) > 1e-12:
                ax.annotate("", image, point, arrowprops={"arrowstyle": "->", "color": ACCENT, "lw": 1.4})
        if len(self.points):
            ax.plot(*self.points.T, "o", color=ACCENT, markersize=5.5)
            ax.plot(*self.projections.T, "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=5.5)
        if self.normal is not None:
            foot, tip = self.normal
            ax.annotate("", tip, foot, arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.4})
            label(ax, "normal", tip, INK)
        frame = (-self.view, self.view)
        ax.set(xlim=frame, ylim=frame, xlabel="x₁", ylabel="x₂", title=self.title)
        ax.set_aspect("equal", adjustable="box")


def plot_convex_set(
    convex_set: ConvexSet, points: Any = None, *, view: float = 3.0, ax: Any = None
) -> ConvexSetDisplay:
    """Draw a convex set of the plane, and the projections of some points on it.

    Examples
    --------
    >>> from assay.display import plot_convex_set
    >>> from assay.penalties import HalfSpace
    >>> picture = plot_convex_set(HalfSpace([1.0, 1.0], 1.0), [[-1.0, -1.0]])
    >>> picture.data["projections"]
    array([[0.5, 0.5]])
    """
    return ConvexSetDisplay.from_set(convex_set, points, view=view, ax=ax)


def in_words(name: str) -> str:
    """A class name as words: "HalfSpace" is "half space"."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
