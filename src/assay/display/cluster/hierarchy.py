"""Pictures of hierarchical clusterings: the tree, and what each number of clusters costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import AgglomerativeClustering, DivisiveClustering, MergeTree
from assay.display.base import Display
from assay.display.cluster.map import title_of
from assay.display.plane import rgb
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, colors, whole_numbers

MAX_LEAVES = 50
"""Trees up to this size are shown whole, larger ones cut into `TRUNCATED_LEAVES` branches."""
TRUNCATED_LEAVES = MAX_NAMED_LEAVES = 30


class JoinTree(Display):
    """A tree of joins; `DendrogramDisplay` says what its fields are."""

    brackets: NDArray
    clusters: NDArray
    n_clusters: int
    cut: float
    xlabel: str
    ylabel: str
    title: str
    branch_heights: NDArray
    branch_clusters: NDArray
    branch_alone: NDArray
    names: Sequence[str]
    limits: tuple[float, float]
    scale: str = "linear"

    def _draw(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        palette = np.array([*(rgb(color) for color in colors(max(self.n_clusters, 1))), rgb(FAINT_INK)])
        # Joins above the cut, in grey, lie over those below it.
        lines = LineCollection(
            list(self.brackets), colors=palette[self.clusters], linewidths=1.4, capstyle="round"
        )
        ax.add_collection(lines)
        ink, x = palette[self.branch_clusters], np.arange(len(self.branch_heights))
        several = self.branch_heights > 0
        if several.any():
            shades = [(*color, 0.35) for color in ink[several]]
            ax.bar(x[several], self.branch_heights[several], width=0.55, color=shades, linewidth=0)
        if self.branch_alone.any():
            alone = x[self.branch_alone]
            dots = ink[self.branch_alone]
            ax.scatter(alone, np.full(alone.size, self.limits[0]), c=dots, s=22, clip_on=False, zorder=4)
        ax.axhline(self.cut, color=ACCENT, linewidth=1.0, linestyle=DASHES, zorder=1)
        ax.set_yscale(self.scale)
        ax.set_xlim(-0.8, len(x) - 0.2)
        ax.set_ylim(*self.limits)
        ax.grid(visible=False, axis="x")
        upright = len(self.names) > 14
        ax.set_xticks(np.arange(len(self.names)), self.names, rotation=90 if upright else 0)
        ax.tick_params(axis="x", length=0, labelsize=8.5 if upright else 9)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


class DendrogramDisplay(JoinTree):
    """A tree of joins, in the colours of the clusters that it is cut into.

    Large trees are cut into branches: a bar as high as the highest join of a branch stands for its leaves.

    Parameters
    ----------
    brackets : array of shape (n_joins, 4, 2)
        The corners of the lines of each join, from the foot of the left branch to that of the right.
    clusters : array of int of shape (n_joins,)
        The cluster that each join lies in; −1 above the cut.
    n_clusters : int
    cut : float
        Height of the cut.
    xlabel, ylabel, title : str
    branch_heights : array of shape (n_branches,)
        Height of each branch at the bottom, from left to right; 0 for single leaves.
    branch_clusters : array of int of shape (n_branches,)
        The cluster of each branch; −1 for clusters without a colour of their own.
    branch_alone : array of bool of shape (n_branches,)
        Single leaves that are clusters of their own, and thus have no join in their colour.
    names : sequence of str
        Names of the branches; none are written where it is empty.
    limits : pair of floats
        Lower and upper end of the axis of heights.
    scale : {"linear", "log"}, default="linear"

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> model = cluster.AgglomerativeClustering(4).fit(datasets.us_arrests().X)
    >>> display.DendrogramDisplay.from_estimator(model).brackets.shape
    (49, 4, 2)
    """

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, max_leaves: int | None = None, feature_names: Any = None
    ) -> Self:
        tree: MergeTree = estimator.tree_
        n, n_clusters = tree.n_leaves, estimator.n_clusters_
        if max_leaves is None:
            max_leaves = MAX_LEAVES if n <= MAX_LEAVES else TRUNCATED_LEAVES
        nodes, places, joins = _branches(tree, max(2, n_clusters, max_leaves))
        heights = np.concatenate([np.zeros(n), tree.heights.astype(float)])
        ceiling = float(heights.max()) or 1.0
        # The cluster that each node lies in; −1 for joins of clusters.
        cluster = tree.cut(n_clusters)[tree.spans.order[tree.spans.start]].astype(int)
        cluster[2 * n - n_clusters :] = -1
        foot = heights.copy()
        foot[nodes] = 0.0
        left, right = tree.children[joins].astype(int).T
        x, top = places[np.stack([left, left, right, right], axis=1)], heights[n + joins]
        brackets = np.stack([x, np.stack([foot[left], top, top, foot[right]], axis=1)], axis=2)
        sizes = tree.spans.sizes[nodes]
        names, xlabel = _branch_names(estimator, nodes, sizes, n)
        ylabel = "diameter" if isinstance(estimator, DivisiveClustering) else "height"
        cut, words = _cut_height(estimator, tree, ceiling), (xlabel, ylabel, title_of(estimator))
        alone = np.isin(nodes, tree.nodes_at(n_clusters)) & (sizes == 1)
        ends, limits = (heights[nodes], cluster[nodes], alone), (0.0, 1.05 * ceiling)
        return cls(brackets, cluster[n + joins], n_clusters, cut, *words, *ends, names, limits)


def _branches(tree: MergeTree, max_leaves: int) -> tuple[NDArray, NDArray, NDArray]:
    """The nodes of the tree cut into at most `max_leaves`, the places of all nodes, and the joins above."""
    n = tree.n_leaves
    n_shown = min(n, max_leaves)
    nodes = tree.nodes_at(n_shown)
    nodes = nodes[np.argsort(tree.spans.start[nodes])]
    x = np.full(2 * n - 1, np.nan)
    x[nodes] = np.arange(n_shown)
    joins = np.arange(n - n_shown, n - 1)
    for join in joins:
        x[n + join] = x[tree.children[join]].mean()
    return nodes, x, joins


def _cut_height(model: Any, tree: MergeTree, ceiling: float) -> float:
    """Between the last join made and the first not made, or the threshold."""
    n_made = tree.n_leaves - model.n_clusters_
    below = float(tree.heights[n_made - 1]) if n_made > 0 else 0.0
    above = float(tree.heights[n_made]) if n_made < tree.n_leaves - 1 else 1.02 * ceiling
    threshold = getattr(model, "distance_threshold_", None) or model.distance_threshold
    return (below + above) / 2 if threshold is None else min(float(threshold), 1.03 * ceiling)


def _branch_names(model: Any, nodes: NDArray, sizes: NDArray, n_leaves: int) -> tuple[list[str], str]:
    """Rows by their numbers and branches by their sizes, unless there are too many; and what they are."""
    every = sizes.max() == 1
    if len(nodes) > MAX_NAMED_LEAVES and every:
        return [], f"{n_leaves} rows"
    names = [
        str(model.leaf_rows_[node]) if size == 1 else f"({size})"
        for node, size in zip(nodes, sizes, strict=True)
    ]
    return names, "row" if every else "row, or (number of rows) of a branch"


MAX_LEVELS = 30


@title_of.register(AgglomerativeClustering)
@title_of.register(DivisiveClustering)
def _(model: Any) -> str:
    name = model.linkage.capitalize() if hasattr(model, "linkage") else "Divisive"
    tail = " linkage" if hasattr(model, "linkage") and model.linkage != "ward" else ""
    plural = "clusters" if model.n_clusters_ > 1 else "cluster"
    return f"{name}{tail}: {model.n_clusters_} {plural}"


class _Levels(Display):
    """A value for each number of clusters, the one chosen marked; the fields are in `HeightsDisplay`."""

    n_clusters: NDArray
    values: NDArray
    chosen: int
    ylabel: str
    title: str

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_clusters, self.values, "o-", color=PALETTE[0], markersize=4.5)
        here = self.n_clusters == self.chosen
        if here.any():
            ax.plot(self.n_clusters[here], self.values[here], "o", color=ACCENT, markersize=9)
        whole_numbers(ax)
        ax.set_ylim(bottom=min(0.0, float(self.values.min(initial=0.0))))
        ax.set(xlabel="clusters", ylabel=self.ylabel, title=self.title)


class HeightsDisplay(_Levels):
    """Height of the join that would leave one cluster fewer: a good cut stands before a steep rise.

    Parameters
    ----------
    n_clusters : array of int of shape (n_levels,)
    values : array of shape (n_levels,)
        The heights.
    chosen : int
        The number of clusters of the model.
    ylabel, title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> model = cluster.AgglomerativeClustering(4).fit(datasets.us_arrests().X)
    >>> display.HeightsDisplay.from_estimator(model).n_clusters[:3]
    array([2, 3, 4])
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        heights = np.asarray(estimator.distances_, dtype=float)[::-1][: MAX_LEVELS - 1]
        divisive = isinstance(estimator, DivisiveClustering)
        what = "diameter of the widest cluster of one fewer" if divisive else "height of the next join"
        levels = np.arange(2, heights.size + 2)
        return cls(levels, heights, estimator.n_clusters_, what, title_of(estimator))


class InertiaDisplay(_Levels):
    """Inertia within the clusters of every cut of a tree of Ward.

    The fields are those of `HeightsDisplay`; the values are the inertias.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> model = cluster.AgglomerativeClustering(4).fit(datasets.us_arrests().X)
    >>> display.InertiaDisplay.from_estimator(model).values[0].round()
    np.float64(355808.0)
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        curve = np.asarray(estimator.inertia_curve_, dtype=float)[:MAX_LEVELS]
        levels = np.arange(1, curve.size + 1)
        return cls(levels, curve, estimator.n_clusters_, "inertia", title_of(estimator))
