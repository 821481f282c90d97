"""Pictures of convex clustering: rows and their centroids, the clusterpath, the tree of fusions, the gap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import ConvexClustering
from assay.display._columns import column_names, dense, sampled, shortened
from assay.display._flat_map import principal_plane, rgb
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors

MAX_PATHS = 400
"""The path of at most this many rows is drawn."""


@draw.register(ConvexClustering)
def draw_convex_clustering(
    model: ConvexClustering,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw rows and centroids, or the centres."""
    pictures = {
        "map": _map,
        "centers": _centers,
        "path": _path,
        "dendrogram": _dendrogram,
        "convergence": _convergence,
    }
    kind = kind or ("centers" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


def _ink(labels: NDArray) -> NDArray:
    """A colour for each row: clusters of one row are grey, so that the others stand out."""
    counts = np.bincount(labels)
    shared = np.flatnonzero(counts > 1)
    palette = np.tile(rgb(FAINT_INK), (len(counts), 1))
    palette[shared] = [rgb(color) for color in colors(len(shared))]
    return palette[labels]


def _rows_of(model: Any, kind: str, X: Any) -> NDArray:
    require_data(model, kind, X=X)
    points = dense(X)
    if len(points) != len(model.labels_):
        raise ValueError(
            f"The {kind!r} picture of ConvexClustering shows the rows of the fit ({len(model.labels_)}). "
            f"Got {len(points)} rows instead."
        )
    return points


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Each row with a line to its centroid."""
    from matplotlib.collections import LineCollection

    points, centroids = _rows_of(model, "map", X), dense(model.centroids_)
    shown = sampled(len(points))
    points, centroids, ink = points[shown], centroids[shown], _ink(model.labels_)[shown]
    names = column_names(model, X, feature_names, points.shape[1])
    title = _title(model)
    if points.shape[1] == 1:
        ax.scatter(points[:, 0], centroids[:, 0], c=ink, s=22)
        ax.axline((float(points.mean()), float(points.mean())), slope=1.0, color=FAINT_INK, linewidth=0.8)
        ax.set(xlabel=names[0], ylabel="centroid", title=title)
        return
    plane = principal_plane(points)
    flat, ends = plane.flatten(points), plane.flatten(centroids)
    lines = np.stack([flat, ends], axis=1)
    ax.add_collection(LineCollection(list(lines), colors=ink, linewidths=0.7, alpha=0.45, zorder=1))
    crowded = len(shown) > 500
    ax.scatter(*flat.T, c=ink, s=9 if crowded else 20, alpha=0.75, linewidths=0.0, zorder=2)
    ax.scatter(*ends.T, c=ink, s=55, edgecolors="white", linewidths=0.9, zorder=3)
    ax.grid(visible=False)
    ax.set(title=title, **plane.labels(names))


def _title(model: Any) -> str:
    sizes = np.bincount(model.labels_)
    alone = int((sizes == 1).sum())
    words = f"{len(sizes)} cluster{'s' if len(sizes) != 1 else ''}"
    return (
        words + (f", {alone} of one row" if 0 < alone < len(sizes) else "") + f" (λ = {model.penalty_:.3g})"
    )


def _centers(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """A heat map of the centres of the largest clusters, in units of the spread of each feature."""
    sizes = np.bincount(model.labels_)
    largest = np.sort(np.argsort(-sizes, kind="stable")[:20])
    centers = dense(model.cluster_centers_)[largest]
    names = column_names(model, X, feature_names, centers.shape[1])
    low, high = centers.min(axis=0), centers.max(axis=0)
    level = (centers - low) / np.where(high > low, high - low, 1.0)
    ax.imshow(level, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.15)
    few = len(names) <= 16
    if few and centers.size <= 100:
        for (row, column), value in np.ndenumerate(centers):
            ink = "white" if level[row, column] > 0.6 else "#24292e"
            ax.annotate(f"{value:.3g}", (column, row), ha="center", va="center", fontsize=8.5, color=ink)
    ax.set_xticks(np.arange(len(names)) if few else [], [shortened(n, 12) for n in names] if few else [])
    ax.set_yticks(
        np.arange(len(largest)),
        [f"{label} ({size})" for label, size in zip(largest, sizes[largest], strict=True)],
    )
    ax.grid(visible=False)
    part = f"the {len(largest)} largest of " if len(largest) < len(sizes) else ""
    ax.set(
        xlabel="feature" if few else f"{len(names)} features",
        ylabel="cluster (rows)",
        title=f"centres of {part}{len(sizes)} cluster{'s' if len(sizes) != 1 else ''}",
    )


def _path(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The clusterpath: where the centroid of each row goes as the penalty grows."""
    from matplotlib.collections import LineCollection

    points = _rows_of(model, "path", X)
    path = model.path(X)
    names = column_names(model, X, feature_names, points.shape[1])
    shown = sampled(len(points), MAX_PATHS)
    ink = _ink(model.labels_)[shown]
    if points.shape[1] == 1:
        scale = np.maximum(path.penalties, path.penalties[1] / 2)
        ways = [np.column_stack([scale, path.centroids[:, row, 0]]) for row in shown]
        ax.set_xscale("log")
        words = {"xlabel": "penalty λ", "ylabel": f"centroid ({names[0]})"}
        ends = None
    else:
        plane = principal_plane(points)
        ways = [plane.flatten(path.centroids[:, row]) for row in shown]
        words, ends = plane.labels(names), plane.flatten(points[shown])
    ax.add_collection(LineCollection(ways, colors=ink, linewidths=1.0, alpha=0.7))
    if ends is not None:
        ax.scatter(*ends.T, c=ink, s=18, linewidths=0.0, zorder=3)
        ax.plot(*plane.flatten(path.centroids[-1, :1])[0], "o", color=ACCENT, markersize=8, zorder=4)
    ax.autoscale_view()
    ax.grid(visible=False)
    ax.set(title="clusterpath: centroids from the rows to their mean", **words)


def _dendrogram(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The tree of fusions; its heights are the penalties at which they happen."""
    from matplotlib.collections import LineCollection
    from scipy.cluster.hierarchy import dendrogram

    points = _rows_of(model, "dendrogram", X)
    path = model.path(X)
    tree = path.linkage()
    ink = _ink(model.labels_)
    # A join is drawn in the colour of the cluster that holds all rows below it.
    owner = np.concatenate([model.labels_, np.full(len(tree), -1)])
    for join, (first, second) in enumerate(tree[:, :2].astype(int)):
        owner[len(points) + join] = owner[first] if owner[first] == owner[second] else -1
    first_row = np.unique(model.labels_, return_index=True)[1]
    drawn = dendrogram(tree, no_plot=True, link_color_func=lambda node: str(owner[node]))
    lowest = float(path.penalties[path.penalties > 0].min()) / 2
    lines = [
        np.column_stack([x, np.maximum(heights, lowest)])
        for x, heights in zip(drawn["icoord"], drawn["dcoord"], strict=True)
    ]
    inks = [ink[first_row[int(code)]] if int(code) >= 0 else rgb(FAINT_INK) for code in drawn["color_list"]]
    ax.add_collection(LineCollection(lines, colors=inks, linewidths=1.2))
    ax.axhline(max(model.penalty_, lowest), color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.set_yscale("log")
    ax.set_xlim(0, 10 * len(points))
    ax.set_ylim(lowest, 1.5 * float(path.penalties[-1]))
    ax.set_xticks([])
    ax.grid(visible=False, axis="x")
    ax.set(
        xlabel=f"{len(points)} rows",
        ylabel="penalty λ of the fusion",
        title=f"tree of fusions, {_title(model)}",
    )


def _convergence(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    gaps = np.maximum(np.asarray(model.gap_trace_, dtype=float), 1e-17)
    ax.semilogy(np.arange(len(gaps)), gaps, "o-", color=PALETTE[0], markersize=4)
    ax.axhline(model.tol, color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)))
    ax.annotate("tol", (0.0, model.tol), xytext=(2, 4), textcoords="offset points", color=ACCENT, fontsize=9)
    ax.set(xlabel="measurement", ylabel="relative duality gap", title=f"{model.n_iter_} iterations")
