"""Pictures of k-means: the map of the clusters, their centres, the restarts and the descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from assay.display._columns import column_names, dense, shortened
from assay.display._flat_map import (
    Plane,
    limits_around,
    principal_plane,
    regions,
    rgb,
    shown_rows,
)
from assay.display._flat_map import _cut as cut
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, INK, PALETTE, colors

MAX_NUMBERED_CENTERS = 30
MAX_WRITTEN_CELLS = 80


@draw.register(KMeans)
def draw_kmeans(
    model: KMeans,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the clusters of data, or the centres."""
    pictures = {
        "map": _map,
        "centers": _centers,
        "restarts": _restarts,
        "convergence": _convergence,
        "iterations": _iterations,
    }
    kind = kind or ("centers" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


@draw.register(MiniBatchKMeans)
def draw_minibatch(
    model: MiniBatchKMeans,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the clusters of data, or the centres."""
    pictures = {"map": _map, "centers": _centers, "convergence": _batches}
    kind = kind or ("centers" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


@draw.register(BisectingKMeans)
def draw_bisecting(
    model: BisectingKMeans,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the clusters of data, or the tree of splits."""
    pictures = {"map": _map, "tree": _tree, "centers": _centers}
    kind = kind or ("tree" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    require_data(model, "map", X=X)
    points, shown = shown_rows(X)
    centers = dense(model.cluster_centers_)
    labels = _down_the_tree(model, points) if hasattr(model, "tree_") else _nearest(points, centers)
    names = column_names(model, X, feature_names, centers.shape[1])
    if centers.shape[1] == 1:
        _histogram(points[:, 0], centers[:, 0], labels, names[0], ax)
        return
    plane = principal_plane(points)
    limits = limits_around(np.vstack([plane.flatten(points), plane.flatten(centers)]))
    palette = np.array([rgb(color) for color in colors(centers.shape[0])])
    cells = _tree_cells(model, plane, limits) if hasattr(model, "tree_") else _cells(plane, limits, centers)
    _draw_cells(cells, limits, palette, ax)
    _draw_rows(plane.flatten(points), palette[labels], ax, crowded=shown.size > 500)
    _mark_centers(plane.flatten(centers), palette, ax)
    ax.set(title=f"{centers.shape[0]} clusters", **plane.labels(names))


def _draw_rows(flat: NDArray, ink: NDArray, ax: Any, *, crowded: bool) -> None:
    ax.scatter(
        *flat.T,
        c=ink,
        s=9 if crowded else 22,
        alpha=0.6 if crowded else 0.85,
        edgecolors="white",
        linewidths=0.0 if crowded else 0.3,
        rasterized=len(flat) > 1000,
    )
    ax.grid(visible=False)


def _cells(plane: Plane, limits: tuple[NDArray, NDArray], centers: NDArray) -> list[NDArray]:
    """The part of the plane nearest to each centre, also where centres lie off the plane."""
    apart = centers - plane.lift((limits[0] + limits[1]) / 2)
    return regions(limits, apart @ plane.axes, -(apart**2).sum(axis=1) / 2)


def _tree_cells(model: Any, plane: Plane, limits: tuple[NDArray, NDArray]) -> list[NDArray]:
    """The part of the plane that goes to each leaf of a tree of splits: one cut after the other."""
    (left, bottom), (right, top) = limits
    tree, places = model.tree_, model.tree_.centers.astype(float)
    places[tree.leaves] = model.cluster_centers_
    middle = (limits[0] + limits[1]) / 2
    parts = {0: np.array([(left, bottom), (right, bottom), (right, top), (left, top)]) - middle}
    for node in tree.split_nodes:
        first, second = tree.children[node]
        apart = places[[first, second]] - plane.lift(middle)
        slopes, heights = apart @ plane.axes, -(apart**2).sum(axis=1) / 2
        for own, other, child in ((0, 1, first), (1, 0, second)):
            parts[child] = cut(parts[node], slopes[other] - slopes[own], heights[own] - heights[other])
    return [parts[leaf] + middle for leaf in tree.leaves]


def _draw_cells(cells: list[NDArray], limits: tuple[NDArray, NDArray], palette: NDArray, ax: Any) -> None:
    for color, cell in zip(palette, cells, strict=True):
        if cell.shape[0] > 2:
            ax.fill(*cell.T, facecolor=(*color, 0.16), edgecolor=FAINT_INK, linewidth=0.6, zorder=0)
    (left, bottom), (right, top) = limits
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _mark_centers(flat_centers: NDArray, palette: NDArray, ax: Any) -> None:
    numbered = flat_centers.shape[0] <= MAX_NUMBERED_CENTERS
    ax.scatter(
        *flat_centers.T, s=190 if numbered else 40, c="white", edgecolors=palette, linewidths=2.2, zorder=5
    )
    if numbered:
        for cluster, (x, y) in enumerate(flat_centers):
            ax.annotate(
                str(cluster),
                (x, y),
                ha="center",
                va="center_baseline",
                fontsize=8.5,
                fontweight="bold",
                color="black",
                zorder=6,
            )


def _histogram(values: NDArray, centers: NDArray, labels: NDArray, name: str, ax: Any) -> None:
    palette = colors(centers.size)
    edges = np.histogram_bin_edges(values, bins=30 if values.size < 2000 else 60)
    parts = [values[labels == cluster] for cluster in range(centers.size)]
    ax.hist(parts, bins=edges, stacked=True, color=palette, alpha=0.75)
    for color, center in zip(palette, centers, strict=True):
        ax.axvline(center, color=color, linewidth=2.0)
    borders = np.sort(centers)
    for border in (borders[:-1] + borders[1:]) / 2:
        ax.axvline(border, color=FAINT_INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set(xlabel=name, ylabel="rows", title=f"{centers.size} clusters")


def _centers(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """A heat map: one line a cluster, one column a feature, colours from the least to the greatest centre."""
    centers = dense(model.cluster_centers_)
    names = column_names(model, X, feature_names, centers.shape[1])
    low, high = centers.min(axis=0), centers.max(axis=0)
    level = (centers - low) / np.where(high > low, high - low, 1.0)
    ax.imshow(level, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.15)
    if centers.size <= MAX_WRITTEN_CELLS:
        for (row, column), value in np.ndenumerate(centers):
            ink = "white" if level[row, column] > 0.6 else "#24292e"
            ax.annotate(f"{value:.3g}", (column, row), ha="center", va="center", fontsize=9, color=ink)
    few = centers.shape[1] <= 24
    tilted = few and max(map(len, names)) * len(names) > 60
    ax.set_xticks(
        np.arange(centers.shape[1]) if few else [],
        [shortened(name, 18) for name in names] if few else [],
        rotation=35 if tilted else 0,
        ha="right" if tilted else "center",
    )
    ax.set_yticks(np.arange(centers.shape[0]))
    ax.grid(visible=False)
    ax.set(ylabel="cluster", title="centres of the clusters", xlabel="" if few else f"{len(names)} features")


def _restarts(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    values = np.asarray(model.restart_inertias_, dtype=float)
    best = int(np.argmin(values))
    numbers = np.arange(1, values.size + 1)
    ax.vlines(numbers, values.min(), values, color=PALETTE[0], linewidth=1.2, alpha=0.5)
    ax.plot(numbers, values, "o", color=PALETTE[0], markersize=6)
    ax.plot(numbers[best], values[best], "o", color=ACCENT, markersize=9)
    ax.axhline(values.min(), color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    # Restarts that agree but for rounding must look equal: the axis shows at least a few percent.
    room = max(0.06 * np.ptp(values), 0.02 * values.max(), 1e-12)
    ax.set_ylim(values.min() - room, values.max() + room)
    reached = int(np.sum(values <= values.min() * (1 + 1e-6)))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(
        xlabel="restart",
        ylabel="inertia",
        title=f"{reached} of {values.size} restarts reach the least inertia, {values.min():.4g}",
    )


def _convergence(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Inertia after every half-step: assignments at whole numbers, updates of the centres between them."""
    values = np.asarray(model.inertia_trace_, dtype=float)
    half_steps = np.arange(values.size) / 2
    ax.plot(half_steps, values, color=PALETTE[0])
    ax.plot(half_steps[::2], values[::2], "o", color=PALETTE[0], markersize=5, label="rows assigned")
    ax.plot(half_steps[1::2], values[1::2], "o", color=ACCENT, markersize=5, label="centres updated")
    ax.legend()
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration", ylabel="inertia", title=f"inertia falls to {values[-1]:.4g}")


def _iterations(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Cells and centres before several of the iterations, with the way of the centres so far."""
    require_data(model, "iterations", X=X)
    if not hasattr(model, "history_"):
        raise ValueError("The 'iterations' picture of KMeans needs history: fit with history=True.")
    points, _ = shown_rows(X)
    ways = np.asarray(model.history_.centers, dtype=float)
    if ways.shape[2] < 2:
        raise ValueError("The 'iterations' picture of KMeans needs two features or more. There is 1 instead.")
    plane = principal_plane(points)
    limits = limits_around(np.vstack([plane.flatten(points), *(plane.flatten(step) for step in ways)]))
    palette = np.array([rgb(color) for color in colors(ways.shape[1])])
    steps = np.unique(np.round(np.geomspace(1, len(ways), min(6, len(ways)))).astype(int) - 1)
    n_columns = min(3, len(steps))
    n_lines = -(-len(steps) // n_columns)
    for place, step in enumerate(steps):
        line, column = divmod(place, n_columns)
        corner = (column / n_columns, 1.0 - (line + 1) / n_lines)
        panel = ax.inset_axes((*corner, 0.96 / n_columns, 0.88 / n_lines))
        labels = ((points[:, np.newaxis] - ways[step]) ** 2).sum(axis=2).argmin(axis=1)
        _draw_cells(_cells(plane, limits, ways[step]), limits, palette, panel)
        _draw_rows(plane.flatten(points), palette[labels], panel, crowded=True)
        for cluster, color in enumerate(palette):
            way = plane.flatten(ways[: step + 1, cluster])
            panel.plot(*way.T, color=INK, linewidth=0.9, zorder=4)
            panel.plot(*way[-1], "o", color=color, markeredgecolor=INK, markersize=7, zorder=5)
        panel.set(xticks=[], yticks=[])
        inertia = model.history_.inertia[2 * step]
        panel.set_title(f"iteration {step + 1}: inertia {inertia:.4g}", fontsize=8.5, pad=3)
    ax.set_axis_off()


def _batches(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Mean squared distance of every batch to the centres it met, and its running mean."""
    values = np.asarray(model.batch_inertias_, dtype=float)
    steps = np.arange(1, values.size + 1)
    width = max(1, values.size // 20)
    ax.plot(steps, values, ".", color=PALETTE[0], markersize=4, alpha=0.6, label="batches")
    smooth = np.convolve(values, np.ones(width) / width, mode="valid")
    ax.plot(steps[width - 1 :], smooth, color=ACCENT, label=f"mean of {width}")
    ax.legend()
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="step", ylabel="mean squared distance", title=f"{values.size} batches of rows")


def _tree(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The tree of splits: each fork stands at the inertia of the rows that it parts."""
    tree = model.tree_
    palette = colors(tree.n_leaves)
    order = _leaf_order(tree.children)
    position = np.empty(len(tree.children))
    position[order] = np.arange(len(order))
    for node in tree.split_nodes[::-1]:
        position[node] = position[tree.children[node]].mean()
    for node in tree.split_nodes:
        left, right = tree.children[node]
        height = tree.inertias[node]
        ax.plot(position[[left, right]], [height, height], color=FAINT_INK, linewidth=1.4)
        for child in (left, right):
            leaf = tree.children[child, 0] < 0
            ink = palette[tree.labels[child]] if leaf else FAINT_INK
            ax.plot([position[child]] * 2, [tree.inertias[child], height], color=ink, linewidth=1.8)
    sizes = 30.0 + 250.0 * tree.weights[order] / tree.weights[0]
    ax.scatter(
        position[order], tree.inertias[order], s=sizes, c=[palette[k] for k in tree.labels[order]], zorder=3
    )
    ax.set_xticks(np.arange(len(order)), [str(label) for label in tree.labels[order]])
    ax.set_ylim(bottom=0.0)
    ax.grid(visible=False, axis="x")
    ax.set(xlabel="cluster", ylabel="inertia", title=f"{len(tree.split_nodes)} splits")


def _nearest(points: NDArray, centers: NDArray) -> NDArray:
    return np.argmin((centers**2).sum(axis=1) - 2.0 * points @ centers.T, axis=1)


def _down_the_tree(model: Any, points: NDArray) -> NDArray:
    """Labels of the leaves that points reach; parents are split before their children."""
    tree, places = model.tree_, model.tree_.centers.astype(float)
    places[tree.leaves] = model.cluster_centers_
    node = np.zeros(len(points), dtype=int)
    for parent in tree.split_nodes:
        here = np.flatnonzero(node == parent)
        node[here] = tree.children[parent][_nearest(points[here], places[tree.children[parent]])]
    return np.asarray(tree.labels[node])


def _leaf_order(children: NDArray) -> NDArray:
    """The leaves from left to right, so that no two branches cross."""
    found, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if children[node, 0] < 0:
            found.append(node)
        else:
            waiting += [int(children[node, 1]), int(children[node, 0])]
    return np.array(found)
