"""Pictures of density clusterings: maps with noise, k-distances, reachabilities, condensed trees."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import DBSCAN, HDBSCAN, OPTICS, CondensedTree
from assay.cluster._dbscan_choice import k_distances
from assay.display._columns import column_names, dense
from assay.display._flat_map import limits_around, principal_plane, rgb, shown_rows
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors

NOISE = "#aab2ba"
MAX_NAMED = 30


@draw.register(DBSCAN)
def draw_dbscan(
    model: DBSCAN,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the rows as core, border and noise, or the sizes of the clusters."""
    kind = kind or ("sizes" if X is None else "map")
    pictures = {"map": _map, "k_distance": _k_distance, "sizes": _sizes}
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


@draw.register(OPTICS)
def draw_optics(
    model: OPTICS,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the reachability plot, or the clusters of rows."""
    kind = kind or ("reachability" if X is None else "map")
    choose(model, kind, {"map": _map, "reachability": _reachability, "sizes": _sizes})(
        model, X, ax=ax, feature_names=feature_names
    )


@draw.register(HDBSCAN)
def draw_hdbscan(
    model: HDBSCAN,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the condensed tree, or the clusters of rows."""
    kind = kind or ("condensed_tree" if X is None else "map")
    choose(model, kind, {"map": _map, "condensed_tree": _condensed_tree, "sizes": _sizes})(
        model, X, ax=ax, feature_names=feature_names
    )


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Rows of the fit: core rows large, others of a cluster small, noise as grey crosses."""
    require_data(model, "map", X=X)
    points, shown = shown_rows(X)
    n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
    if n_rows != len(model.labels_):
        raise ValueError(
            f"The 'map' picture of {type(model).__name__} shows the {len(model.labels_)} rows of the fit; "
            f"X has {n_rows}."
        )
    labels, strength = model.labels_[shown], _strength(model)[shown]
    names = column_names(model, X, feature_names, points.shape[1])
    if points.shape[1] == 1:
        flat = np.column_stack([points[:, 0], _spread(points.shape[0])])
        axes = {"xlabel": names[0], "ylabel": "rows, spread out"}
    else:
        plane = principal_plane(points)
        flat, axes = plane.flatten(points), plane.labels(names)
    crowd = 0.55 if shown.size > 500 else 1.0
    raster = shown.size > 1000
    noise = labels < 0
    ax.scatter(
        *flat[noise].T,
        marker="x",
        s=22 * crowd,
        c=NOISE,
        linewidths=0.9,
        label=f"noise ({np.count_nonzero(model.labels_ < 0)})",
        rasterized=raster,
    )
    palette = np.array([rgb(color) for color in colors(max(model.n_clusters_, 1))])
    for level, size, name in ((0.5, 9.0, "border"), (1.0, 30.0, "core")):
        chosen = ~noise & (strength == level) if isinstance(model, DBSCAN) else ~noise & (level == 1.0)
        if chosen.any():
            ax.scatter(
                *flat[chosen].T,
                s=size * crowd if isinstance(model, DBSCAN) else crowd * (6.0 + 24.0 * strength[chosen]),
                c=palette[labels[chosen]],
                edgecolors="white",
                linewidths=0.3 * crowd,
                rasterized=raster,
            )
            if isinstance(model, DBSCAN):
                count = np.count_nonzero(model.point_types_ == (2 if name == "core" else 1))
                ax.scatter([], [], s=size, c=FAINT_INK, label=f"{name} ({count})")
    low, high = limits_around(flat)
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
    ax.grid(visible=False)
    ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2)
    ax.set(title=_title(model), **axes)


def _strength(model: Any) -> NDArray:
    """How firmly each row belongs to its cluster, from 0 to 1."""
    if isinstance(model, DBSCAN):
        return np.asarray(model.point_types_ / 2.0)
    if isinstance(model, HDBSCAN):
        return np.asarray(model.probabilities_)
    return np.full(len(model.labels_), 0.7)


def _spread(n_rows: int) -> NDArray:
    """Heights that set rows of one feature apart, the same every time."""
    return np.asarray((np.arange(n_rows) * 0.6180339887498949) % 1.0)


def _title(model: Any) -> str:
    return f"{model.n_clusters_} cluster{'' if model.n_clusters_ == 1 else 's'}"


def _sizes(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """A bar for each cluster, the largest on top, and one for noise at the bottom."""
    counts = np.bincount(model.labels_ + 1, minlength=model.n_clusters_ + 1).astype(float)
    if isinstance(model, DBSCAN):
        counts = np.append(model.label_weights_[-1], model.label_weights_[:-1])
    order = 1 + np.argsort(-counts[1:], kind="stable")
    palette = colors(max(model.n_clusters_, 1))
    shown = order[:MAX_NAMED]
    places = np.arange(shown.size + 1)
    heights = np.append(counts[shown], counts[0])
    shades = [*(palette[cluster - 1] for cluster in shown), NOISE]
    ax.barh(places, heights, color=shades, height=0.72)
    for place, height in zip(places, heights, strict=True):
        ax.annotate(
            f"{height:g}", (height, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=9
        )
    ax.set_yticks(places, [*(f"cluster {cluster - 1}" for cluster in shown), "noise"])
    ax.set_ylim(places[-1] + 0.7, -0.7)
    ax.margins(x=0.12)
    ax.grid(visible=False, axis="y")
    left_out = f", the largest {MAX_NAMED} shown" if order.size > MAX_NAMED else ""
    ax.set(xlabel="rows", title=f"{_title(model)}{left_out}")


def _k_distance(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """The sorted k-distances, and how many rows eps makes core."""
    require_data(model, "k_distance", X=X)
    values = k_distances(dense(X), max(model.min_samples_, 2), model.metric, None)
    curve = np.sort(values)
    share = np.arange(1, curve.size + 1) / curve.size
    n_core = int(np.searchsorted(curve, model.eps_, side="right"))
    ax.plot(share, curve, color=PALETTE[0])
    ax.fill_between(share[:n_core], 0.0, curve[:n_core], color=PALETTE[0], alpha=0.15, linewidth=0.0)
    ax.axhline(model.eps_, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
    ax.annotate(
        f"eps = {model.eps_:.3g}",
        (0.0, model.eps_),
        xytext=(4, 4),
        textcoords="offset points",
        color=ACCENT,
        fontsize=9,
    )
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, max(1.05 * curve[-1], 1.15 * model.eps_))
    ax.set(
        xlabel="share of the rows, by k-distance",
        ylabel=f"distance to the {model.min_samples_ - 1}th other row",
        title=f"{n_core} of {curve.size} rows are core at eps",
    )


def _reachability(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """A bar for each row in the order of the fit: dents are clusters."""
    heights = np.asarray(model.reachability_[model.ordering_], dtype=float)
    labels = model.labels_[model.ordering_]
    finite = np.isfinite(heights)
    top = heights[finite].max(initial=0.0) or 1.0
    heights = np.where(finite, heights, 1.08 * top)
    edges = np.arange(heights.size + 1)
    palette = colors(max(model.n_clusters_, 1))
    ax.stairs(heights, edges, fill=True, color=NOISE, alpha=0.8)
    for cluster in range(model.n_clusters_):
        inside = np.flatnonzero(labels == cluster)
        run = slice(inside[0], inside[-1] + 1)
        ax.stairs(heights[run], edges[inside[0] : inside[-1] + 2], fill=True, color=palette[cluster])
    if model.cluster_method == "dbscan" and np.isfinite(model.eps_):
        ax.axhline(model.eps_, color=ACCENT, linewidth=1.2, linestyle=(0, (4, 3)))
    for start, end in model.cluster_hierarchy_:
        depth = -0.025 * top * (1 + _nesting(model.cluster_hierarchy_, start, end))
        ax.plot([start, end + 1], [depth, depth], color=FAINT_INK, linewidth=1.6, solid_capstyle="butt")
    ax.set_xlim(0, heights.size)
    ax.grid(visible=False, axis="x")
    ax.set(
        xlabel="rows, in the order of the fit",
        ylabel="reachability",
        title=f"{_title(model)}, {np.count_nonzero(labels < 0)} rows of noise",
    )


def _nesting(spans: NDArray, start: int, end: int) -> int:
    """How many other spans lie within this one, one inside the other: its height above the innermost."""
    inside = [span for span in spans if start <= span[0] and span[1] <= end and tuple(span) != (start, end)]
    return max((1 + _nesting(np.array(inside), *span) for span in inside), default=0)


def _condensed_tree(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Clusters as icicles that grow thin where rows leave them; those chosen are coloured."""
    tree: CondensedTree = model.condensed_tree_
    middle, ends = _positions(tree)
    number = {int(node): cluster for cluster, node in enumerate(model.selected_)}
    palette = colors(max(model.n_clusters_, 1))
    drawn = np.flatnonzero(tree.size > 1)
    for node in drawn[:2000]:
        densities, sizes = _profile(tree, int(node), ends)
        half = sizes / 2.0
        chosen = int(node) in number
        ax.fill_betweenx(
            densities,
            middle[node] - half,
            middle[node] + half,
            step="post",
            color=palette[number[int(node)]] if chosen else NOISE,
            alpha=0.95 if chosen else 0.55,
            linewidth=0.0,
        )
        children = np.flatnonzero(tree.parent == node)
        if children.size:
            ax.hlines(
                tree.birth[children[0]],
                middle[children].min(),
                middle[children].max(),
                color=FAINT_INK,
                linewidth=0.8,
            )
        if chosen and model.n_clusters_ <= MAX_NAMED:
            ax.annotate(
                str(number[int(node)]),
                (middle[node], max(densities[0], 0.0)),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=8.5,
                fontweight="bold",
            )
    ax.set_ylim(ends.max() * 1.03, 0.0)
    ax.set_xlim(-0.02 * tree.size[0], 1.02 * tree.size[0])
    ax.set_xticks([])
    ax.grid(visible=False, axis="x")
    ax.set(
        xlabel="clusters, as wide as they have rows",
        ylabel="density λ = 1/distance",
        title=f"{_title(model)} chosen of {tree.parent.size - 1}",
    )


def _positions(tree: CondensedTree) -> tuple[NDArray, NDArray]:
    """Middle of each cluster, children side by side below their parent, and where its picture ends.

    Infinite densities, of rows that are the same, end a little below the greatest finite one.
    """
    finite = tree.row_density[np.isfinite(tree.row_density)]
    last = 1.1 * finite.max(initial=0.0) or 1.0
    ends = np.where(np.isfinite(tree.death), tree.death, last)
    left, middle = np.zeros(tree.parent.size), np.zeros(tree.parent.size)
    middle[0] = tree.size[0] / 2.0
    for node in range(tree.parent.size):
        children = np.flatnonzero(tree.parent == node)
        free = tree.size[node] - tree.size[children].sum()
        start = left[node] + free / (children.size + 1)
        for child in children:
            left[child], middle[child] = start, start + tree.size[child] / 2.0
            start += tree.size[child] + free / (children.size + 1)
    return middle, ends


def _profile(tree: CondensedTree, node: int, ends: NDArray) -> tuple[NDArray, NDArray]:
    """Densities and the number of rows left in a cluster from each on."""
    leaving = np.sort(np.minimum(tree.row_density[tree.row_cluster == node], ends[node]))
    children = np.flatnonzero(tree.parent == node)
    remaining = tree.size[node] - np.arange(leaving.size + 1)
    end = tree.birth[children[0]] if children.size else ends[node]
    densities = np.concatenate([[tree.birth[node]], leaving, [end]])
    return densities, np.append(remaining, remaining[-1]).astype(float)
