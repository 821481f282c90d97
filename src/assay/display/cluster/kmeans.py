"""Pictures of k-means and its tree of splits, and of how a clustering was found."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import (
    BisectingKMeans,
    BlockBiclustering,
    ConvexBiclustering,
    ConvexClustering,
    KMeans,
    MiniBatchKMeans,
)
from assay.display.base import Display
from assay.display.cluster.map import MapGround, borders_of, draw_cells, draw_rows, ground_of
from assay.display.plane import Plane, cut, dense, limits_around, principal_plane, regions, rgb, shown_rows
from assay.display.style import (
    ACCENT,
    DASHES,
    FAINT_INK,
    INK,
    PALETTE,
    colors,
    whole_numbers,
    write_beside,
)
from assay.numbers import shown

MAX_PANELS = 6


@ground_of.register(KMeans)
@ground_of.register(MiniBatchKMeans)
def _(model: Any, plane: Plane, limits: tuple[NDArray, NDArray]) -> MapGround:
    return MapGround(_cells(plane, limits, dense(model.cluster_centers_)))


@ground_of.register(BisectingKMeans)
def _(model: Any, plane: Plane, limits: tuple[NDArray, NDArray]) -> MapGround:
    """The part of the plane that goes to each leaf of the tree of splits: one cut after the other."""
    (left, bottom), (right, top) = limits
    tree, places, middle = model.tree_, _node_centers(model), (limits[0] + limits[1]) / 2
    parts = {0: np.array([(left, bottom), (right, bottom), (right, top), (left, top)]) - middle}
    for node in tree.split_nodes:
        first, second = tree.children[node]
        apart = places[[first, second]] - plane.lift(middle)
        slopes, heights = apart @ plane.axes, -(apart**2).sum(axis=1) / 2
        for own, other, child in ((0, 1, first), (1, 0, second)):
            parts[child] = cut(parts[node], slopes[other] - slopes[own], heights[own] - heights[other])
    return MapGround([parts[leaf] + middle for leaf in tree.leaves])


@borders_of.register(KMeans)
@borders_of.register(MiniBatchKMeans)
def _(model: Any) -> NDArray:
    centers = np.sort(dense(model.cluster_centers_)[:, 0])
    return (centers[:-1] + centers[1:]) / 2


@borders_of.register(BisectingKMeans)
def _(model: Any) -> NDArray:
    places = _node_centers(model)[:, 0]
    return np.sort([places[model.tree_.children[node]].mean() for node in model.tree_.split_nodes])


def _cells(plane: Plane, limits: tuple[NDArray, NDArray], centers: NDArray) -> list[NDArray]:
    """The part of the plane nearest to each centre, also where centres lie off the plane."""
    apart = centers - plane.lift((limits[0] + limits[1]) / 2)
    return regions(limits, apart @ plane.axes, -(apart**2).sum(axis=1) / 2)


def _node_centers(model: Any) -> NDArray:
    """Centres of all nodes of a tree of splits; those of the leaves were improved after the splits."""
    places = model.tree_.centers.astype(float)
    places[model.tree_.leaves] = model.cluster_centers_
    return places


class IterationsDisplay(Display, needs=("X",)):
    """Cells and centres before several of the iterations of k-means, with the way of the centres so far.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        The rows in the plane of two features, or of the first two principal axes.
    steps : array of int of shape (n_steps,)
        The iterations shown.
    labels : array of int of shape (n_steps, n_rows)
        Nearest centre of each row.
    ways : array of shape (n_iterations, n_clusters, 2)
        The centres in the plane.
    cells : sequence of sequences of arrays of shape (n_corners, 2)
        The part of the plane nearest to each centre, at each of the steps.
    inertias : array of shape (n_steps,)
    limits : pair of arrays of shape (2,)
        Lower left and upper right corner of the plane.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> model = cluster.KMeans(3, init=X[[0, 1, 2]], history=True).fit(X)
    >>> len(display.IterationsDisplay.from_estimator(model, X).steps)
    6
    """

    points: NDArray
    steps: NDArray
    labels: NDArray
    ways: NDArray
    cells: list[list[NDArray]]
    inertias: NDArray
    limits: tuple[NDArray, NDArray]

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if not hasattr(estimator, "history_"):
            raise ValueError("The 'iterations' picture of KMeans needs history: fit with history=True.")
        centers = np.asarray(estimator.history_.centers, dtype=float)
        if centers.shape[2] < 2:
            raise ValueError(
                "The 'iterations' picture of KMeans needs two features or more. There is 1 instead."
            )
        points, _ = shown_rows(X)
        plane = principal_plane(points)
        flat, ways = plane.flatten(points), plane.flatten(centers)
        limits = limits_around(np.vstack([flat, *ways]))
        steps = np.unique(np.round(np.geomspace(1, len(ways), min(MAX_PANELS, len(ways)))).astype(int) - 1)
        apart = (points[:, np.newaxis] - centers[steps][:, np.newaxis]) ** 2
        labels = apart.sum(axis=3).argmin(axis=2)
        cells = [_cells(plane, limits, centers[step]) for step in steps]
        inertias = np.asarray(estimator.history_.inertia)[2 * steps]
        return cls(flat, steps, labels, ways, cells, inertias, limits)

    def _draw(self, ax: Any) -> None:
        palette = np.array([rgb(color) for color in colors(self.ways.shape[1])])
        n_columns = min(3, len(self.steps))
        n_lines = -(-len(self.steps) // n_columns)
        (left, bottom), (right, top) = self.limits
        for place, step in enumerate(self.steps):
            line, column = divmod(place, n_columns)
            corner = (column / n_columns, 1.0 - (line + 1) / n_lines)
            panel = ax.inset_axes((*corner, 0.96 / n_columns, 0.88 / n_lines))
            draw_cells(self.cells[place], palette, panel)
            draw_rows(self.points, palette[self.labels[place]], panel, crowded=True)
            for cluster, color in enumerate(palette):
                way = self.ways[: step + 1, cluster]
                panel.plot(*way.T, color=INK, linewidth=0.9, zorder=4)
                panel.plot(*way[-1], "o", color=color, markeredgecolor=INK, markersize=7, zorder=5)
            panel.set(xticks=[], yticks=[], xlim=(left, right), ylim=(bottom, top))
            panel.grid(visible=False)
            title = f"iteration {step + 1}: inertia {self.inertias[place]:.4g}"
            panel.set_title(title, fontsize=8.5, pad=3)
        ax.set_axis_off()


class SplitTreeDisplay(Display):
    """The tree of splits: each fork stands at the inertia of the rows that it parts.

    Parameters
    ----------
    forks : array of int of shape (n_splits, 3)
        A node and its two children.
    places : array of shape (n_nodes,)
        Where each node stands, from left to right.
    inertias, weights : arrays of shape (n_nodes,)
    leaves : array of int of shape (n_leaves,)
        The leaves from left to right.
    labels : array of int of shape (n_leaves,)
        Their clusters.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.SplitTreeDisplay.from_estimator(cluster.BisectingKMeans(3, random_state=0).fit(X)).forks.shape
    (2, 3)
    """

    forks: NDArray
    places: NDArray
    inertias: NDArray
    weights: NDArray
    leaves: NDArray
    labels: NDArray

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        tree = estimator.tree_
        leaves = _leaf_order(tree.children)
        places = np.empty(len(tree.children))
        places[leaves] = np.arange(len(leaves))
        for node in tree.split_nodes[::-1]:
            places[node] = places[tree.children[node]].mean()
        forks = np.column_stack([tree.split_nodes, tree.children[tree.split_nodes]]).astype(int)
        inertias, weights = np.asarray(tree.inertias, dtype=float), np.asarray(tree.weights, dtype=float)
        return cls(forks.reshape(-1, 3), places, inertias, weights, leaves, tree.labels[leaves])

    def _draw(self, ax: Any) -> None:
        palette = colors(len(self.leaves))
        ink = dict(zip(self.leaves.tolist(), (palette[label] for label in self.labels), strict=True))
        for node, *children in self.forks.tolist():
            height = self.inertias[node]
            ax.plot(self.places[children], [height, height], color=FAINT_INK, linewidth=1.4)
            for child in children:
                ends = [self.inertias[child], height]
                ax.plot([self.places[child]] * 2, ends, color=ink.get(child, FAINT_INK), linewidth=1.8)
        sizes = 30.0 + 250.0 * self.weights[self.leaves] / self.weights[0]
        tips = self.places[self.leaves], self.inertias[self.leaves]
        ax.scatter(*tips, s=sizes, c=list(ink.values()), zorder=3, clip_on=False)
        ax.set_xticks(np.arange(len(self.leaves)), [str(label) for label in self.labels])
        ax.set_ylim(bottom=0.0)
        ax.grid(visible=False, axis="x")
        ax.set(
            xlabel="cluster", ylabel="inertia", title=f"{len(self.forks)} split{'s' * (len(self.forks) != 1)}"
        )


def _leaf_order(children: NDArray) -> NDArray:
    """The leaves from left to right, so that no two branches cross."""
    leaves, waiting = [], [0]
    while waiting:
        node = waiting.pop()
        if children[node, 0] < 0:
            leaves.append(node)
        else:
            waiting += [int(children[node, 1]), int(children[node, 0])]
    return np.array(leaves)


LEAST_GAP = 1e-17
"""A logarithmic axis has no zero."""

MAX_NUMBERED = 20
"""Beyond so many restarts not each one has its number."""


class ConvergenceDisplay(Display):
    """The objective of a fit, or its duality gap, step by step.

    Parameters
    ----------
    steps, values : arrays of shape (n_steps,)
    xlabel, ylabel, title : str
    tol : float, optional
        Where the fit may stop. Values that have such a bound are duality gaps, on a logarithmic axis.
    half_steps : bool, default=False
        Whether whole steps assign rows and the steps between them update centres.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> shown = display.ConvergenceDisplay.from_estimator(cluster.KMeans(3, random_state=0).fit(X))
    >>> shown.xlabel, shown.title
    ('iteration', 'inertia falls to 78.86')
    """

    steps: NDArray
    values: NDArray
    xlabel: str
    ylabel: str
    title: str
    tol: float | None = None
    half_steps: bool = False

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if isinstance(estimator, (ConvexClustering, ConvexBiclustering)):
            gaps = np.maximum(np.asarray(estimator.gap_trace_, dtype=float), LEAST_GAP)
            convex = isinstance(estimator, ConvexClustering)
            unit, total = ("measurement", "iterations") if convex else ("pass", "passes")
            title = f"{estimator.n_iter_} {total}"
            return cls(np.arange(len(gaps)), gaps, unit, "relative duality gap", title, float(estimator.tol))
        if isinstance(estimator, BlockBiclustering):
            values = np.asarray(estimator.objective_trace_, dtype=float)
            title = f"objective falls to {values[-1]:.4g}"
            return cls(np.arange(len(values)) / 2, values, "pass", "objective", title)
        values = np.asarray(estimator.inertia_trace_, dtype=float)
        if isinstance(estimator, KMeans):
            title = f"inertia falls to {values[-1]:.4g}"
            steps = np.arange(values.size) / 2
            return cls(steps, values, "iteration", "inertia", title, half_steps=True)
        swaps = hasattr(estimator, "medoid_indices_") and getattr(estimator, "method", "") != "alternate"
        title = f"the cost falls to {values[-1]:.4g}"
        return cls(np.arange(values.size), values, "swaps" if swaps else "iteration", "cost", title)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.steps, self.values, "-" if self.half_steps else "o-", color=PALETTE[0], markersize=4)
        if self.half_steps:
            for start, color, name in ((0, PALETTE[0], "rows assigned"), (1, ACCENT, "centres updated")):
                chosen = slice(start, None, 2)
                ax.plot(self.steps[chosen], self.values[chosen], "o", color=color, markersize=5, label=name)
            ax.legend()
        elif self.tol is None:
            ax.plot(self.steps[-1], self.values[-1], "o", color=ACCENT, markersize=8)
        else:
            ax.set_yscale("log")
            ax.axhline(self.tol, color=ACCENT, linewidth=1.0, linestyle=DASHES)
            where = {"xycoords": ("axes fraction", "data"), "va": "baseline"}
            write_beside("tol", (0.0, self.tol), ax, by=(3, 4), color=ACCENT, **where)
        whole_numbers(ax)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


class BatchesDisplay(Display):
    """Mean squared distance of every batch to the centres it met, and its running mean.

    Parameters
    ----------
    values : array of shape (n_batches,)
    smooth : array of shape (n_batches − width + 1,)
        Means of `width` batches, from the first such mean on.
    width : int

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> model = cluster.MiniBatchKMeans(3, random_state=0).fit(datasets.iris().X)
    >>> len(display.BatchesDisplay.from_estimator(model).values) == len(model.batch_inertias_)
    True
    """

    values: NDArray
    smooth: NDArray
    width: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        values = np.asarray(estimator.batch_inertias_, dtype=float)
        width = max(3, values.size // 20) if values.size >= 3 else 1
        return cls(values, np.convolve(values, np.ones(width) / width, mode="valid"), width)

    def _draw(self, ax: Any) -> None:
        steps = np.arange(1, self.values.size + 1)
        ax.plot(steps, self.values, ".", color=PALETTE[0], markersize=4, alpha=0.6, label="batches")
        if self.width > 1:
            ax.plot(steps[self.width - 1 :], self.smooth, color=ACCENT, label=f"mean of {self.width}")
            ax.legend()
        whole_numbers(ax)
        title = f"{self.values.size} batches of rows"
        ax.set(xlabel="step", ylabel="mean squared distance", title=title)


class RestartsDisplay(Display):
    """What every restart reached, and how many reached the least.

    Parameters
    ----------
    values : array of shape (n_restarts,)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import RestartsDisplay
    >>> RestartsDisplay(np.array([78.9, 78.9, 142.8])).plot().ax_.get_title()
    '2 of 3 restarts reach the least inertia, 78.9'
    """

    values: NDArray

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(np.asarray(estimator.restart_inertias_, dtype=float))

    def _draw(self, ax: Any) -> None:
        values, least = self.values, float(self.values.min())
        best, numbers = int(np.argmin(values)), np.arange(1, values.size + 1)
        ax.vlines(numbers, least, values, color=PALETTE[0], linewidth=1.2, alpha=0.5)
        ax.plot(numbers, values, "o", color=PALETTE[0], markersize=6)
        ax.plot(numbers[best], values[best], "o", color=ACCENT, markersize=9)
        ax.axhline(least, color=ACCENT, linewidth=1.0, linestyle=DASHES, zorder=1)
        # Restarts that agree but for rounding must look equal: the axis shows at least a few percent.
        room = max(0.06 * np.ptp(values), 0.02 * values.max(), 1e-12)
        ax.set_ylim(least - room, values.max() + room)
        reached = int(np.sum(values <= least * (1 + 1e-6)))
        ax.set_xlim(0.5, values.size + 0.5)
        if values.size <= MAX_NUMBERED:
            ax.set_xticks(numbers)
        title = f"{reached} of {values.size} restarts reach the least inertia, {shown(least, 4)}"
        if values.size == 1:
            title = f"the only start reaches inertia {least:.4g}"
        ax.set(xlabel="restart", ylabel="inertia", title=title)
