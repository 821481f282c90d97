"""Pictures of k-means: the map of the clusters, its centres and restarts, the descent, the tree of splits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from assay.display.base import Display
from assay.display.cluster.map import MapGround, borders_of, draw_cells, draw_rows, ground_of
from assay.display.columns import dense
from assay.display.flat_map import Plane, cut, limits_around, principal_plane, regions, rgb, shown_rows
from assay.display.style import FAINT_INK, INK, colors

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


@dataclass
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
    >>> from assay.cluster import KMeans
    >>> from assay.datasets import iris
    >>> from assay.display import IterationsDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> model = KMeans(3, init=X[[0, 1, 2]], history=True).fit(X)
    >>> len(IterationsDisplay.from_estimator(model, X).steps)
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
        return cls(
            points=flat,
            steps=steps,
            labels=np.array([_nearest(points, centers[step]) for step in steps]),
            ways=ways,
            cells=[_cells(plane, limits, centers[step]) for step in steps],
            inertias=np.asarray(estimator.history_.inertia)[2 * steps],
            limits=limits,
        )

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


@dataclass
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
    >>> from assay.cluster import BisectingKMeans
    >>> from assay.datasets import iris
    >>> from assay.display import SplitTreeDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> SplitTreeDisplay.from_estimator(BisectingKMeans(3, random_state=0).fit(X)).forks.shape
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
        ax.scatter(
            self.places[self.leaves],
            self.inertias[self.leaves],
            s=sizes,
            c=list(ink.values()),
            zorder=3,
            clip_on=False,
        )
        ax.set_xticks(np.arange(len(self.leaves)), [str(label) for label in self.labels])
        ax.set_ylim(bottom=0.0)
        ax.grid(visible=False, axis="x")
        ax.set(xlabel="cluster", ylabel="inertia", title=f"{len(self.forks)} splits")


def _nearest(points: NDArray, centers: NDArray) -> NDArray:
    return np.asarray(((points[:, np.newaxis] - centers) ** 2).sum(axis=2).argmin(axis=1))


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
