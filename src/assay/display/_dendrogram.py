"""Pictures of hierarchical clusterings: the dendrogram, the map of the clusters, and the heights."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.cluster import AgglomerativeClustering, DivisiveClustering, MergeTree
from assay.display._columns import column_names
from assay.display._flat_map import principal_plane, rgb, shown_rows
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors

MAX_LEAVES = 50
"""Trees up to this size are shown whole, larger ones cut into `TRUNCATED_LEAVES` branches."""
TRUNCATED_LEAVES = MAX_NAMED_LEAVES = 30
MAX_LEVELS = 30


@draw.register(AgglomerativeClustering)
@draw.register(DivisiveClustering)
def draw_hierarchy(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
    max_leaves: int | None = None,
) -> None:
    """Draw the tree, the clusters of data, or the heights of the joins."""
    pictures = {"dendrogram": _dendrogram, "map": _map, "heights": _heights}
    if getattr(model, "linkage", "") == "ward":
        pictures["inertia"] = _inertia
    flat = X is not None and not (isinstance(model.metric, str) and model.metric == "precomputed")
    kind = kind or ("map" if flat else "dendrogram")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names, max_leaves=max_leaves)


class _Branches(NamedTuple):
    """The upper part of a tree as it is drawn: branches at the bottom, and for each join its three lines."""

    nodes: NDArray
    x: NDArray
    joins: NDArray


def _dendrogram(model: Any, X: Any, *, ax: Any, feature_names: Any, max_leaves: int | None) -> None:
    from matplotlib.collections import LineCollection

    tree: MergeTree = model.tree_
    if max_leaves is None:
        max_leaves = MAX_LEAVES if tree.n_leaves <= MAX_LEAVES else TRUNCATED_LEAVES
    branches = _branches(tree, max(2, model.n_clusters_, max_leaves))
    heights = np.concatenate([np.zeros(tree.n_leaves), tree.heights.astype(float)])
    cluster = _cluster_of_node(tree, model.n_clusters_)
    palette = [rgb(color) for color in colors(model.n_clusters_)]
    bottom = heights.copy()
    bottom[branches.nodes] = 0.0
    lines, ink = [], []
    for join in branches.joins:
        left, right = tree.children[join]
        top = heights[tree.n_leaves + join]
        x = branches.x[[left, left, right, right]]
        lines.append(np.column_stack([x, [bottom[left], top, top, bottom[right]]]))
        label = cluster[tree.n_leaves + join]
        ink.append(palette[label] if label >= 0 else rgb(FAINT_INK))
    # Joins above the cut lie over those below it.
    ax.add_collection(LineCollection(lines, colors=ink, linewidths=1.4, capstyle="round"))
    _mark_alone(model, tree, branches, heights, palette, ax)
    ceiling = float(heights.max()) or 1.0
    _draw_cut(model, tree, ceiling, ax)
    ax.set_xlim(-0.8, len(branches.nodes) - 0.2)
    ax.set_ylim(0.0, 1.05 * ceiling)
    ax.grid(visible=False, axis="x")
    _name_branches(model, tree, branches, ax)
    what = "diameter" if isinstance(model, DivisiveClustering) else "height"
    ax.set(ylabel=what, title=_title(model))


def _branches(tree: MergeTree, max_leaves: int) -> _Branches:
    """The nodes left of the tree cut into at most `max_leaves`, from left to right, and the joins above."""
    n = tree.n_leaves
    n_shown = min(n, max_leaves)
    nodes = tree.nodes_at(n_shown)
    nodes = nodes[np.argsort(tree.spans.start[nodes])]
    x = np.full(2 * n - 1, np.nan)
    x[nodes] = np.arange(n_shown)
    joins = np.arange(n - n_shown, n - 1)
    for join in joins:
        x[n + join] = x[tree.children[join]].mean()
    return _Branches(nodes, x, joins)


def _cluster_of_node(tree: MergeTree, n_clusters: int) -> NDArray:
    """The cluster that each node lies in; −1 for joins of clusters."""
    n = tree.n_leaves
    labels = tree.cut(n_clusters)
    cluster = labels[tree.spans.order[tree.spans.start]].astype(int)
    cluster[2 * n - n_clusters :] = -1
    return cluster


def _mark_alone(
    model: Any, tree: MergeTree, branches: _Branches, heights: NDArray, palette: list[Any], ax: Any
) -> None:
    """Branches that stand for several leaves, as bars from their own height down; single clusters as dots."""
    cluster = _cluster_of_node(tree, model.n_clusters_)
    several = tree.spans.sizes[branches.nodes] > 1
    x = branches.x[branches.nodes]
    ink = [palette[cluster[node]] for node in branches.nodes]
    for place in np.flatnonzero(several):
        ax.bar(x[place], heights[branches.nodes[place]], width=0.55, color=(*ink[place], 0.35), linewidth=0)
    tops = tree.nodes_at(model.n_clusters_)
    alone = np.isin(branches.nodes, tops) & ~several
    if alone.any():
        ax.scatter(x[alone], np.zeros(alone.sum()), c=np.array(ink)[alone], s=22, clip_on=False, zorder=4)


def _draw_cut(model: Any, tree: MergeTree, ceiling: float, ax: Any) -> None:
    """A line between the last join made and the first not made, or at the threshold."""
    n_made = tree.n_leaves - model.n_clusters_
    below = float(tree.heights[n_made - 1]) if n_made > 0 else 0.0
    above = float(tree.heights[n_made]) if n_made < tree.n_leaves - 1 else 1.02 * ceiling
    threshold = getattr(model, "distance_threshold_", None) or model.distance_threshold
    level = (below + above) / 2 if threshold is None else min(float(threshold), 1.03 * ceiling)
    ax.axhline(level, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)


def _name_branches(model: Any, tree: MergeTree, branches: _Branches, ax: Any) -> None:
    counts = tree.spans.sizes[branches.nodes]
    names = [
        str(model.leaf_rows_[node]) if count == 1 else f"({count})"
        for node, count in zip(branches.nodes, counts, strict=True)
    ]
    every = counts.max() == 1
    if len(names) > MAX_NAMED_LEAVES and every:
        ax.set_xticks([])
        ax.set_xlabel(f"{tree.n_leaves} rows")
        return
    upright = len(names) > 14
    ax.set_xticks(np.arange(len(names)), names, rotation=90 if upright else 0)
    ax.tick_params(axis="x", length=0, labelsize=7.5 if upright else 9)
    ax.set_xlabel("row" if every else "row, or (number of rows) of a branch")


def _title(model: Any) -> str:
    name = model.linkage.capitalize() if hasattr(model, "linkage") else "Divisive"
    tail = " linkage" if hasattr(model, "linkage") and model.linkage != "ward" else ""
    plural = "clusters" if model.n_clusters_ > 1 else "cluster"
    return f"{name}{tail}: {model.n_clusters_} {plural}"


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any, max_leaves: int | None) -> None:
    require_data(model, "map", X=X)
    points, shown = shown_rows(X)
    same = len(model.labels_) == (X.shape[0] if hasattr(X, "shape") else len(X))
    labels = model.labels_[shown] if same else np.asarray(model.predict(X))[shown]
    names = column_names(model, X, feature_names, points.shape[1])
    palette = np.array([rgb(color) for color in colors(model.n_clusters_)])
    if points.shape[1] == 1:
        parts = [points[labels == label, 0] for label in range(model.n_clusters_)]
        edges = np.histogram_bin_edges(points[:, 0], bins=30 if shown.size < 2000 else 60)
        ax.hist(parts, bins=edges, stacked=True, color=palette, alpha=0.75)
        ax.set(xlabel=names[0], ylabel="rows", title=_title(model))
        return
    plane = principal_plane(points)
    flat = plane.flatten(points)
    crowded = shown.size > 500
    ax.scatter(
        *flat.T,
        c=palette[labels],
        s=9 if crowded else 24,
        alpha=0.7 if crowded else 0.9,
        edgecolors="white",
        linewidths=0.0 if crowded else 0.3,
        rasterized=shown.size > 1000,
    )
    ax.grid(visible=False)
    ax.set(title=_title(model), **plane.labels(names))


def _heights(model: Any, X: Any, *, ax: Any, feature_names: Any, max_leaves: int | None) -> None:
    """Height of the join that would leave one cluster fewer: a good cut stands before a steep rise."""
    heights = np.asarray(model.distances_, dtype=float)[::-1][: MAX_LEVELS - 1]
    n_clusters = np.arange(2, heights.size + 2)
    ax.plot(n_clusters, heights, "o-", color=PALETTE[0], markersize=4.5)
    if 2 <= model.n_clusters_ <= heights.size + 1:
        ax.plot(model.n_clusters_, heights[model.n_clusters_ - 2], "o", color=ACCENT, markersize=9)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=min(0.0, float(heights.min(initial=0.0))))
    what = (
        "diameter of the widest cluster of one fewer"
        if isinstance(model, DivisiveClustering)
        else ("height of the next join")
    )
    ax.set(xlabel="clusters", ylabel=what, title=_title(model))


def _inertia(model: Any, X: Any, *, ax: Any, feature_names: Any, max_leaves: int | None) -> None:
    curve = model.inertia_curve_[:MAX_LEVELS]
    n_clusters = np.arange(1, curve.size + 1)
    ax.plot(n_clusters, curve, "o-", color=PALETTE[0], markersize=4.5)
    if model.n_clusters_ <= curve.size:
        ax.plot(model.n_clusters_, curve[model.n_clusters_ - 1], "o", color=ACCENT, markersize=9)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylim(bottom=0.0)
    ax.set(xlabel="clusters", ylabel="inertia", title=_title(model))
