"""Pictures of convexity: separation, loss curves, sets, chords, constrained problems, paths of descent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._plane import (
    hull_outline,
    label,
    level_lines,
    line_in_view,
    on_grid,
    outline_of,
    plane_points,
    view_of,
)
from assay.display._style import ACCENT, FAINT_INK, INK, PALETTE, house_style, new_axes
from assay.losses import Hinge, Logistic, ZeroOne
from assay.parameters import refusal
from assay.penalties import ConvexSet
from assay.solvers import ConvexProgram, Smooth, separating_hyperplane, solve_program

DASHES = (0, (4, 3))


@dataclass(frozen=True, slots=True, eq=False)
class ConvexPicture:
    """A picture and what it shows: `ax_`, `figure_`, and the drawn numbers by name in `data`."""

    ax_: Any
    data: Mapping[str, Any]

    @property
    def figure_(self) -> Any:
        """The figure of the axes."""
        return self.ax_.figure


def plot_separability(X: Any, y: Any, *, ax: Any = None) -> ConvexPicture:
    """Draw labelled points of the plane with the hyperplane between them, or a common point of their hulls.

    Examples
    --------
    >>> from assay.display import plot_separability
    >>> picture = plot_separability([[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1])
    >>> picture.ax_.get_title(), picture.data["margin"]
    ('separable, with a margin of 2', 2.0)
    """
    points, labels = plane_points("plot_separability", "X", X), np.asarray(y)
    kinds = np.unique(labels)
    if labels.shape != points.shape[:1] or len(kinds) != 2:
        raise refusal("plot_separability", "y", f"two labels on {len(points)} rows", y)
    groups = [points[labels == kind] for kind in kinds]
    found = separating_hyperplane(groups[1], groups[0])
    with house_style():
        axes = new_axes(ax)
        for group, kind, color, marker in zip(groups, kinds, PALETTE, "os", strict=False):
            axes.plot(*group.T, marker, color=color, markersize=5.5, alpha=0.85, label=f"label {kind}")
            hull = hull_outline(group)
            axes.fill(*hull.T, facecolor=color, alpha=0.08, linewidth=0)
            axes.plot(*np.vstack([hull, hull[:1]]).T, color=color, linewidth=0.8, alpha=0.6)
        low, high = view_of(points)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x₁", ylabel="x₂")
        line = None
        if found.separated and found.normal is not None and found.offset is not None:
            line = line_in_view(found.normal, found.offset, low, high)
            axes.plot(*line.T, color=ACCENT, linewidth=2)
            for side in (-0.5, 0.5):
                edge = line_in_view(found.normal, found.offset + side * found.margin, low, high)
                axes.plot(*edge.T, color=ACCENT, linewidth=1, linestyle=DASHES)
            pair = np.array([found.first_point, found.second_point])
            axes.plot(*pair.T, color=INK, linewidth=1, marker=".", markersize=7)
            axes.set_title(f"separable, with a margin of {found.margin:.3g}")
        else:
            axes.plot(*found.first_point, "X", color=ACCENT, markersize=11, markeredgecolor="white")
            label(axes, "in both hulls", found.first_point, ACCENT)
            axes.set_title("not separable: the hulls have a common point")
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.13), ncols=2)
        axes.set_aspect("equal", adjustable="box")
    return ConvexPicture(
        axes,
        {
            "separated": found.separated,
            "margin": found.margin,
            "line": line,
            "nearest": (found.first_point, found.second_point),
        },
    )


def plot_loss_curves(losses: Sequence[Any] | None = None, *, ax: Any = None) -> ConvexPicture:
    """Draw losses as functions of the prediction for the label +1: 0-1, hinge and logistic by default.

    Examples
    --------
    >>> from assay.display import plot_loss_curves
    >>> sorted(plot_loss_curves().data)
    ['Hinge', 'Logistic', 'ZeroOne', 'margin']
    """
    chosen = [ZeroOne(), Hinge(), Logistic(base=2)] if losses is None else list(losses)
    margin = np.linspace(-2.0, 3.0, 1001)
    data: dict[str, Any] = {"margin": margin}
    with house_style():
        axes = new_axes(ax)
        for loss, color in zip(chosen, (INK, *PALETTE), strict=False):
            name = type(loss).__name__
            values = np.asarray(loss.value(np.ones_like(margin), margin), dtype=float)
            data[name] = values
            jumps = np.flatnonzero(np.abs(np.diff(values)) > 0.5) + 1
            drawn = np.insert(values, jumps, np.nan)
            axes.plot(np.insert(margin, jumps, np.nan), drawn, color=color, linewidth=2.2)
        for name, place, height in _label_places(data):
            index = list(data).index(name) - 1
            axes.annotate(
                _words(name),
                (margin[place], height),
                xytext=(6, 4),
                textcoords="offset points",
                color=(INK, *PALETTE)[index],
                fontsize=10,
            )
        axes.set(
            xlabel="prediction f, for the label +1",
            ylabel="loss",
            title="losses of the label +1",
            ylim=(-0.1, min(3.4, max(1.5, *(float(v.max()) for k, v in data.items() if k != "margin")))),
        )
    return ConvexPicture(axes, data)


def plot_convex_set(
    convex_set: ConvexSet, points: Any = None, *, view: float = 3.0, ax: Any = None
) -> ConvexPicture:
    """Draw a convex set of the plane, and the projections of some points on it.

    Examples
    --------
    >>> from assay.display import plot_convex_set
    >>> from assay.penalties import HalfSpace
    >>> picture = plot_convex_set(HalfSpace([1.0, 1.0], 1.0), [[-1.0, -1.0]])
    >>> picture.data["projections"]
    array([[0.5, 0.5]])
    """
    if not isinstance(convex_set, ConvexSet):
        raise refusal("plot_convex_set", "convex_set", "a ConvexSet of the plane", convex_set)
    outside = np.empty((0, 2)) if points is None else plane_points("plot_convex_set", "points", points)
    outline = outline_of(convex_set, view)
    images = np.array([convex_set.project(point) for point in outside]).reshape(-1, 2)
    with house_style():
        axes = new_axes(ax)
        thin = len(outline) <= 2
        if thin:
            marker = "o" if len(outline) == 1 else ""
            axes.plot(*outline.T, marker=marker, color=PALETTE[0], linewidth=2.4, clip_on=True)
        else:
            axes.fill(*outline.T, facecolor=PALETTE[0], alpha=0.16, linewidth=0)
            axes.plot(*np.vstack([outline, outline[:1]]).T, color=PALETTE[0], linewidth=2)
        for point, image in zip(outside, images, strict=True):
            if np.linalg.norm(point - image) > 1e-12:
                axes.annotate("", image, point, arrowprops={"arrowstyle": "->", "color": ACCENT, "lw": 1.4})
        if len(outside):
            axes.plot(*outside.T, "o", color=ACCENT, markersize=5.5)
            axes.plot(*images.T, "o", markerfacecolor="white", markeredgecolor=ACCENT, markersize=5.5)
        normal = getattr(convex_set, "normal", None)
        if normal is not None:
            _draw_normal(axes, np.asarray(normal, dtype=float), convex_set.project(np.zeros(2)))
        axes.set(
            xlim=(-view, view), ylim=(-view, view), xlabel="x₁", ylabel="x₂", title=_words(_kind(convex_set))
        )
        axes.set_aspect("equal", adjustable="box")
    return ConvexPicture(axes, {"outline": outline, "points": outside, "projections": images})


def plot_chord(value: Callable[[float], float], x: float, y: float, *, ax: Any = None) -> ConvexPicture:
    """Draw a function of one variable with a chord, and how far the graph is below it half-way.

    Examples
    --------
    >>> from assay.display import plot_chord
    >>> plot_chord(lambda t: t**2, -1.0, 2.0).data["largest_excess"] <= 0
    True
    """
    if not np.isfinite([x, y]).all() or x == y:
        raise refusal("plot_chord", "y", "a finite number other than x", y)
    left, right = min(x, y), max(x, y)
    pad = 0.35 * (right - left)
    grid = np.linspace(left - pad, right + pad, 601)
    heights = np.array([float(value(t)) for t in grid])
    ends = np.array([float(value(left)), float(value(right))])
    inside = np.linspace(left, right, 401)
    share = (inside - left) / (right - left)
    chord = (1 - share) * ends[0] + share * ends[1]
    graph = np.array([float(value(t)) for t in inside])
    excess = float(np.max(graph - chord))
    middle = len(inside) // 2 if excess <= 1e-12 else int(np.argmax(graph - chord))
    with house_style():
        axes = new_axes(ax)
        axes.plot(grid, heights, color=PALETTE[0], linewidth=2.4)
        axes.plot([left, right], ends, color=ACCENT, linewidth=1.8, marker="o")
        axes.fill_between(inside, graph, chord, where=graph <= chord, color=PALETTE[0], alpha=0.10)
        axes.fill_between(inside, graph, chord, where=graph > chord, color=ACCENT, alpha=0.18)
        bar = [graph[middle], chord[middle]]
        axes.plot([inside[middle]] * 2, bar, color=FAINT_INK, linewidth=1.2, linestyle=DASHES)
        names = ("chord", "graph")
        for name, height, color in zip(
            names, (chord[middle], graph[middle]), (ACCENT, PALETTE[0]), strict=True
        ):
            axes.plot(inside[middle], height, "o", color=color, markersize=6)
            upper = (name == "chord") == bool(chord[middle] >= graph[middle])
            axes.annotate(
                name,
                (inside[middle], height),
                xytext=(0, 9 if upper else -9),
                textcoords="offset points",
                color=color,
                ha="center",
                va="bottom" if upper else "top",
            )
        below = excess <= 1e-9 * max(1.0, float(np.abs(graph).max()))
        where = "below its chord" if below else "above its chord somewhere"
        axes.set(xlabel="x", ylabel="f(x)", title=f"the graph is {where}")
    return ConvexPicture(
        axes, {"x": inside, "graph": graph, "chord": chord, "largest_excess": excess, "ends": ends}
    )


def plot_program(program: ConvexProgram, *, view: float | None = None, ax: Any = None) -> ConvexPicture:
    """Draw a constrained problem of the plane: level lines, feasible set, solution and multipliers.

    At the solution −∇f is the sum of the gradients of the constraints times their multipliers.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import plot_program
    >>> from assay.penalties import Quadratic
    >>> from assay.solvers import ConvexProgram
    >>> nearest = ConvexProgram(Quadratic(2 * np.eye(2), [-4.0, -2.0], 5.0),
    ...                         [Quadratic(2 * np.eye(2), [0.0, 0.0], -1.0)], start=[0.0, 0.0])
    >>> plot_program(nearest).data["point"].round(3)
    array([0.894, 0.447])
    """
    if not isinstance(program, ConvexProgram) or program.n_variables != 2:
        raise refusal("plot_program", "program", "a ConvexProgram of two variables", program)
    found = solve_program(program)
    reach = view or 2 * max(1.0, float(np.abs(found.point).max()))
    grid = np.linspace(-reach, reach, 241)
    heights = on_grid(program.objective.value, grid, grid)
    worst = on_grid(lambda z: max((g.value(z) for g in program.inequalities), default=-1.0), grid, grid)
    pull = -np.asarray(program.objective.gradient(found.point), dtype=float)
    with house_style():
        axes = new_axes(ax)
        axes.grid(visible=False)
        level_lines(axes, grid, grid, heights)
        if program.inequalities:
            axes.contourf(grid, grid, worst, levels=[-np.inf, 0], colors=[PALETTE[0]], alpha=0.18)
            axes.contour(grid, grid, worst, levels=[0], colors=[PALETTE[0]], linewidths=2)
        for h in program.equalities:
            level = on_grid(h.value, grid, grid)
            axes.contour(grid, grid, level, levels=[0], colors=[PALETTE[2]], linewidths=2)
        axes.plot(*found.point, "o", color=ACCENT, markersize=8, zorder=5)
        length = float(np.linalg.norm(pull))
        if length > 1e-6:
            tip = found.point + 0.35 * reach * pull / length
            axes.annotate("", tip, found.point, arrowprops={"arrowstyle": "->", "color": ACCENT, "lw": 1.8})
            terms = [*["Σ μ∇g"] * bool(program.inequalities), *["Σ ν∇h"] * bool(program.equalities)]
            label(axes, f"−∇f = {' + '.join(terms)}", tip, ACCENT)
        shown = ", ".join(f"{m:.3g}" for m in (*found.multipliers, *found.equality_multipliers))
        axes.set(
            xlabel="x₁",
            ylabel="x₂",
            xlim=(-reach, reach),
            ylim=(-reach, reach),
            title=f"minimum {found.value:.3g}{', multipliers ' + shown if shown else ''}".replace("-", "−"),
        )
        axes.set_aspect("equal", adjustable="box")
    return ConvexPicture(
        axes,
        {
            "point": found.point,
            "multipliers": found.multipliers,
            "value": found.value,
            "status": found.status,
            "feasible": worst <= 0,
            "pull": pull,
        },
    )


def plot_descent(objective: Smooth, path: Any, *, surface: bool = False, ax: Any = None) -> ConvexPicture:
    """Draw the points of a descent in the plane over level lines, or on the surface of the function.

    `path` is an array of points or a trace that kept them.

    Examples
    --------
    >>> from assay.display import plot_descent
    >>> from assay.solvers import gradient_descent, quadratic
    >>> f = quadratic([[1.0, 0.0], [0.0, 6.0]], [0.0, 0.0])
    >>> run = gradient_descent(f, [3.0, 1.0], step=0.28, max_iter=30, keep_points=True)
    >>> float(plot_descent(f, run.trace).data["values"][0])
    7.5
    """
    points = plane_points("plot_descent", "path", getattr(path, "points", path))
    values = np.array([float(objective.value(point)) for point in points])
    low, high = view_of(points, 0.5, slimmest=0.7)
    columns, rows = np.linspace(low[0], high[0], 161), np.linspace(low[1], high[1], 161)
    heights = on_grid(objective.value, columns, rows)
    with house_style():
        axes = _surface_axes(ax) if surface else new_axes(ax)
        if surface:
            axes.plot_surface(*np.meshgrid(columns, rows), heights, cmap="Blues_r", alpha=0.75, linewidth=0)
            lift = 0.02 * float(np.ptp(heights))
            axes.plot(*points.T, values + lift, color=ACCENT, marker="o", markersize=3.5, zorder=10)
            axes.set_zlabel("f(x)")
        else:
            axes.grid(visible=False)
            level_lines(axes, columns, rows, heights)
            axes.plot(*points.T, color=ACCENT, marker="o", markersize=4, linewidth=1.6)
            label(axes, "start", points[0], INK)
            label(axes, f"after {len(points) - 1} steps", points[-1], INK, below=True)
        rises = bool(np.any(np.diff(values) > 1e-12 * max(1.0, float(np.abs(values).max()))))
        word = "not always down" if rises else "always down"
        title = f"f from {values[0]:.3g} to {values[-1]:.3g}, {word}".replace("-", "−")
        axes.set(xlabel="x₁", ylabel="x₂", title=title)
    return ConvexPicture(axes, {"points": points, "values": values, "heights": heights})


def _surface_axes(ax: Any) -> Any:
    if ax is not None:
        return ax
    import matplotlib.pyplot as plt

    return plt.subplots(layout="constrained", subplot_kw={"projection": "3d"})[1]


def _draw_normal(axes: Any, normal: NDArray, foot: NDArray) -> None:
    tip = foot + 0.8 * normal / np.linalg.norm(normal)
    axes.annotate("", tip, foot, arrowprops={"arrowstyle": "->", "color": INK, "lw": 1.4})
    label(axes, "normal", tip, INK)


def _label_places(data: Mapping[str, NDArray]) -> list[tuple[str, int, float]]:
    """Where each curve is named: at different margins, left of zero, where the curves are apart."""
    names = [name for name in data if name != "margin"]
    share = np.linspace(0.02, 0.3, len(names))
    size = len(data["margin"])
    return [
        (name, int(at * size), float(data[name][int(at * size)]))
        for name, at in zip(names, share, strict=True)
    ]


def _kind(convex_set: ConvexSet) -> str:
    return type(convex_set).__name__


def _words(name: str) -> str:
    """A class name as words: "HalfSpace" is "half space"."""
    spaced = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip()
    return {"zero one": "0-1", "logistic": "logistic (base 2)"}.get(spaced, spaced)
