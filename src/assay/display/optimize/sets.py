"""Pictures of convexity: labels and their hyperplane, sets and projections, losses, chords."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display, drawn_by, itself
from assay.display.plane import hull_outline, label, line_in_view, outline_of, plane_points, view_of
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, caption, write_beside
from assay.losses import Hinge, Logistic, ZeroOne
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
        return {each.name: getattr(self, each.name) for each in fields(self)}


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
    >>> from assay.display import SeparabilityDisplay, plot_separability
    >>> SeparabilityDisplay.from_points([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0]], [0, 0, 1]).margin
    2.0
    >>> picture = plot_separability([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1])
    >>> picture.ax_.get_title(), picture.data["margin"]
    ('separable, with a margin of 2', 2.0)
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
        """Draw labelled points of the plane with their hyperplane, or a common point of their hulls."""
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


plot_separability = drawn_by(SeparabilityDisplay.from_points, "plot_separability", itself)


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
    >>> from assay import display, penalties
    >>> display.ConvexSetDisplay.from_set(penalties.HalfSpace([1.0, 1.0], 1.0), [[-1.0, -1.0]]).projections
    array([[0.5, 0.5]])
    >>> display.plot_convex_set(penalties.HalfSpace([1.0, 1.0], 1.0), [[-1.0, -1.0]]).data["projections"]
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
        """Draw a convex set of the plane, and the projections of some points on it.

        The picture reaches from −view to view.
        """
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


plot_convex_set = drawn_by(ConvexSetDisplay.from_set, "plot_convex_set", itself)


def in_words(name: str) -> str:
    """A class name as words: "HalfSpace" is "half space"."""
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()


class LossCurvesDisplay(ConvexPicture):
    """Losses as functions of the prediction, for the label +1.

    Parameters
    ----------
    margin : array of shape (n_points,)
        Predictions.
    losses : mapping of str to array of shape (n_points,)
        Values of each loss, by its name.

    Examples
    --------
    >>> from assay.display import LossCurvesDisplay, plot_loss_curves
    >>> list(LossCurvesDisplay.from_losses().losses)
    ['ZeroOne', 'Hinge', 'Logistic']
    >>> sorted(plot_loss_curves().data)
    ['Hinge', 'Logistic', 'ZeroOne', 'margin']
    """

    margin: NDArray
    losses: Mapping[str, NDArray]

    @classmethod
    def from_losses(cls, losses: Sequence[Any] | None = None, *, ax: Any = None) -> Self:
        """Draw losses as functions of the prediction for the label +1: 0-1, hinge and logistic by default."""
        chosen = [ZeroOne(), Hinge(), Logistic(base=2)] if losses is None else list(losses)
        margin = np.linspace(-2.0, 3.0, 1001)
        values = {
            type(loss).__name__: np.asarray(loss.value(np.ones_like(margin), margin), dtype=float)
            for loss in chosen
        }
        return cls(margin, values).plot(ax=ax)

    @property
    def data(self) -> Mapping[str, Any]:
        """The predictions as "margin", and the values of each loss by its name."""
        return {"margin": self.margin, **self.losses}

    def _draw(self, ax: Any) -> None:
        # Each curve is named left of zero, where they are apart, at a place of its own.
        places = (np.linspace(0.02, 0.3, len(self.losses)) * len(self.margin)).astype(int)
        for (name, values), color, place in zip(self.losses.items(), (INK, *PALETTE), places, strict=False):
            jumps = np.flatnonzero(np.abs(np.diff(values)) > 0.5) + 1
            drawn = np.insert(values, jumps, np.nan)
            ax.plot(np.insert(self.margin, jumps, np.nan), drawn, color=color, linewidth=2.2)
            word = {"ZeroOne": "0-1", "Logistic": "logistic (base 2)"}.get(name, in_words(name))
            look = {"color": color, "fontsize": 10, "va": "baseline"}
            write_beside(word, (self.margin[place], values[place]), ax, by=(6, 4), **look)
        top = min(3.4, max(1.5, *(float(values.max()) for values in self.losses.values())))
        caption(ax, "prediction f, for the label +1", "loss", "losses of the label +1", ylim=(-0.1, top))


plot_loss_curves = drawn_by(LossCurvesDisplay.from_losses, "plot_loss_curves", itself)


class ChordDisplay(ConvexPicture):
    """A function of one variable with a chord, and how far the graph is below it half-way.

    Parameters
    ----------
    grid, heights : arrays of shape (n_points,)
        Where the function is drawn, and its values.
    x, graph, chord : arrays of shape (n_inside,)
        Abscissas between the ends of the chord, and the values of the function and of the chord there.
    ends : array of shape (2,)
        Values at the ends of the chord.
    largest_excess : float
        Largest value of the function less the chord.

    Examples
    --------
    >>> from assay.display import ChordDisplay, plot_chord
    >>> ChordDisplay.from_function(lambda t: t**2, -1.0, 2.0).largest_excess <= 0
    True
    >>> plot_chord(lambda t: t**2, -1.0, 2.0).data["largest_excess"] <= 0
    True
    """

    grid: NDArray
    heights: NDArray
    x: NDArray
    graph: NDArray
    chord: NDArray
    ends: NDArray
    largest_excess: float

    @classmethod
    def from_function(cls, value: Callable[[float], float], x: float, y: float, *, ax: Any = None) -> Self:
        """Draw a function of one variable with a chord, and how far the graph is below it half-way."""
        if not np.isfinite([x, y]).all() or x == y:
            raise refusal("plot_chord", "y", "a finite number other than x", y)
        left, right = min(x, y), max(x, y)
        pad = 0.35 * (right - left)
        grid = np.linspace(left - pad, right + pad, 601)
        ends = np.array([float(value(left)), float(value(right))])
        inside = np.linspace(left, right, 401)
        share = (inside - left) / (right - left)
        chord = (1 - share) * ends[0] + share * ends[1]
        graph = np.array([float(value(t)) for t in inside])
        heights = np.array([float(value(t)) for t in grid])
        return cls(grid, heights, inside, graph, chord, ends, float(np.max(graph - chord))).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        x, graph, chord = self.x, self.graph, self.chord
        middle = len(x) // 2 if self.largest_excess <= 1e-12 else int(np.argmax(graph - chord))
        ax.margins(y=0.12)  # room for the two names
        ax.plot(self.grid, self.heights, color=PALETTE[0], linewidth=2.4)
        ax.plot([x[0], x[-1]], self.ends, color=ACCENT, linewidth=1.8, marker="o")
        ax.fill_between(x, graph, chord, where=graph <= chord, color=PALETTE[0], alpha=0.10)
        ax.fill_between(x, graph, chord, where=graph > chord, color=ACCENT, alpha=0.18)
        bar = [graph[middle], chord[middle]]
        ax.plot([x[middle]] * 2, bar, color=FAINT_INK, linewidth=1.2, linestyle=DASHES)
        for name, height, color in (("chord", chord[middle], ACCENT), ("graph", graph[middle], PALETTE[0])):
            ax.plot(x[middle], height, "o", color=color, markersize=6)
            upper = (name == "chord") == bool(chord[middle] >= graph[middle])
            look: dict[str, Any] = {"color": color, "ha": "center", "fontsize": None}
            look |= {"by": (0, 9), "va": "bottom"} if upper else {"by": (0, -9), "va": "top"}
            write_beside(name, (x[middle], height), ax, **look)
        below = self.largest_excess <= 1e-9 * max(1.0, float(np.abs(graph).max()))
        where = "below its chord" if below else "above its chord somewhere"
        ax.set(xlabel="x", ylabel="f(x)", title=f"the graph is {where}")


plot_chord = drawn_by(ChordDisplay.from_function, "plot_chord", itself)
