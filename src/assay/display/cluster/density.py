"""Pictures of density clusterings: maps, sizes, k-distances, reachabilities, the condensed tree."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import DBSCAN, HDBSCAN, CondensedTree
from assay.cluster.density.choice import k_distances
from assay.display.base import Display
from assay.display.cluster.map import NOISE, layout_of, number_clusters, title_of
from assay.display.plane import column_names, dense, limits_around, n_rows, principal_plane, rgb, shown_rows
from assay.display.style import ACCENT, DASHES, FAINT_INK, GROUND, PALETTE, caption, colors, write_beside

MAX_NAMED = 30
TYPES = ("noise", "border", "core")


class DensityMapDisplay(Display, needs=("X",)):
    """The rows of a fit by how firmly they belong to their clusters; noise as grey crosses.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        Places of the rows that are shown, in two features or two principal axes; rows of one feature are
        spread out upwards.
    labels : array of int of shape (n_rows,)
        Their clusters; −1 for noise.
    strength : array of shape (n_rows,)
        How firmly each belongs to its cluster, from 0 to 1: dots grow with it.
    n_clusters : int
    counts : sequence of pairs (str, int)
        What the legend tells: how many rows of the fit are noise, and where the model knows, border and core.
    xlabel, ylabel, title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.DensityMapDisplay.from_estimator(cluster.DBSCAN(0.5).fit(X), X).counts
    [('noise', 17), ('border', 16), ('core', 117)]
    """

    points: NDArray
    labels: NDArray
    strength: NDArray
    n_clusters: int
    counts: Sequence[tuple[str, int]]
    xlabel: str
    ylabel: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if n_rows(X) != len(estimator.labels_):
            raise ValueError(
                f"The 'map' picture of {type(estimator).__name__} shows the {len(estimator.labels_)} rows of "
                f"the fit; X has {n_rows(X)}."
            )
        points, shown = shown_rows(X)
        names = column_names(estimator, X, feature_names, points.shape[1])
        layout = layout_of(estimator, X, shown)
        if layout is None and points.shape[1] == 1:
            spread = (np.arange(len(points)) * 0.6180339887498949) % 1.0  # the same every time
            layout = np.column_stack([points[:, 0], spread]), (names[0], "rows, spread out")
        elif layout is None:
            plane = principal_plane(points)
            layout = plane.flatten(points), plane.labels(names)
        counts = [("noise", int(np.count_nonzero(estimator.labels_ < 0)))]
        if isinstance(estimator, DBSCAN):
            types = np.bincount(estimator.point_types_, minlength=len(TYPES))
            counts = [(name, int(count)) for name, count in zip(TYPES, types, strict=True)]
        labels, strength = np.asarray(estimator.labels_)[shown], _strength(estimator)[shown]
        places, words = layout
        return cls(places, labels, strength, estimator.n_clusters_, counts, *words, title_of(estimator))

    def _draw(self, ax: Any) -> None:
        crowd = 0.55 if len(self.points) > 500 else 1.0
        noise = self.labels < 0
        style: dict[str, Any] = {"rasterized": len(self.points) > 1000}
        ax.scatter(*self.points[noise].T, marker="x", s=22 * crowd, c=NOISE, linewidths=0.9, **style)
        palette = np.array([rgb(color) for color in colors(max(self.n_clusters, 1))])
        # Rows of the least strength first, so that core rows lie on top.
        order = np.flatnonzero(~noise)[np.argsort(self.strength[~noise], kind="stable")]
        if order.size:
            style |= {"c": palette[self.labels[order]], "edgecolors": GROUND, "linewidths": 0.3 * crowd}
            ax.scatter(*self.points[order].T, s=crowd * (4.0 + 26.0 * self.strength[order] ** 2), **style)
        number_clusters(self.points, self.labels, ax)
        for name, count in self.counts:
            dot = {"s": 22, "c": NOISE, "marker": "x", "linewidths": 0.9}
            if name != "noise":
                dot = {"s": 30 if name == "core" else 10.5, "c": FAINT_INK}
            ax.scatter([], [], label=f"{name} ({count})", **dot)
        low, high = limits_around(self.points)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        ax.grid(visible=False)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handletextpad=0.2)
        ax.set(title=self.title, xlabel=self.xlabel, ylabel=self.ylabel)


def _strength(model: Any) -> NDArray:
    """How firmly each row belongs to its cluster, from 0 to 1."""
    if isinstance(model, DBSCAN):
        return np.asarray(model.point_types_ / 2.0)
    if isinstance(model, HDBSCAN):
        return np.asarray(model.probabilities_, dtype=float)
    return np.full(len(model.labels_), 0.8)


class ClusterSizesDisplay(Display):
    """A bar for each cluster, the largest on top, and one for noise at the bottom.

    Parameters
    ----------
    clusters : array of int of shape (n_shown,)
        The clusters shown, the largest first.
    sizes : array of shape (n_shown,)
        Their rows, or weights.
    noise : float
        Rows, or weight, of none.
    n_clusters : int
        Number of all clusters.
    title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> shown = display.ClusterSizesDisplay.from_estimator(cluster.DBSCAN(0.5).fit(datasets.iris().X))
    >>> shown.clusters, shown.sizes, shown.noise
    (array([1, 0]), array([84., 49.]), 17.0)
    """

    clusters: NDArray
    sizes: NDArray
    noise: float
    n_clusters: int
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        counts = np.bincount(estimator.labels_ + 1, minlength=estimator.n_clusters_ + 1).astype(float)
        if isinstance(estimator, DBSCAN):
            counts = np.append(estimator.label_weights_[-1], estimator.label_weights_[:-1])
        order = np.argsort(-counts[1:], kind="stable")
        left_out = f", the largest {MAX_NAMED} shown" if order.size > MAX_NAMED else ""
        shown = order[:MAX_NAMED]
        title = f"{title_of(estimator)}{left_out}"
        return cls(shown, counts[1:][shown], float(counts[0]), estimator.n_clusters_, title)

    def _draw(self, ax: Any) -> None:
        palette = colors(max(self.n_clusters, 1))
        places, widths = np.arange(self.clusters.size + 1), np.append(self.sizes, self.noise)
        shades = [*(palette[cluster] for cluster in self.clusters), NOISE]
        ax.barh(places, widths, color=shades, height=0.72)
        for place, width in zip(places, widths, strict=True):
            write_beside(f"{width:g}", (width, place), ax, by=(4, 0))
        ax.set_yticks(places, [*(f"cluster {cluster}" for cluster in self.clusters), "noise"])
        ax.set_ylim(places[-1] + 0.7, -0.7)
        ax.margins(x=0.12)
        ax.grid(visible=False, axis="y")
        ax.set(xlabel="rows", title=self.title)


class KDistanceDisplay(Display, needs=("X",)):
    """The sorted distances of rows to their k-th neighbours, and how many rows eps makes core.

    Parameters
    ----------
    distances : array of shape (n_rows,)
        In increasing order.
    eps : float
    k : int
        The row itself is counted.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.KDistanceDisplay.from_estimator(cluster.DBSCAN(0.5).fit(X), X).ax_.get_title()
    '117 of 150 rows are core at eps'
    """

    distances: NDArray
    eps: float
    k: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        values = k_distances(dense(X), max(estimator.min_samples_, 2), estimator.metric, None)
        return cls(np.sort(values), float(estimator.eps_), int(estimator.min_samples_))

    def _draw(self, ax: Any) -> None:
        curve = self.distances
        share = np.arange(1, curve.size + 1) / curve.size
        n_core = int(np.searchsorted(curve, self.eps, side="right"))
        ax.plot(share, curve, color=PALETTE[0])
        ax.fill_between(share[:n_core], 0.0, curve[:n_core], color=PALETTE[0], alpha=0.15, linewidth=0.0)
        ax.axhline(self.eps, color=ACCENT, linewidth=1.2, linestyle=DASHES)
        write_beside(f"eps = {self.eps:.3g}", (0.0, self.eps), ax, by=(4, 4), color=ACCENT, va="baseline")
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, max(1.05 * curve[-1], 1.15 * self.eps))
        ylabel = f"distance to the {_ordinal(max(self.k, 2) - 1)} other row"
        title = f"{n_core} of {curve.size} rows are core at eps"
        caption(ax, "share of the rows, by k-distance", ylabel, title)


def _ordinal(number: int) -> str:
    """A number as a place: 1st, 2nd, 3rd, 4th, … 11th."""
    if number == 1:
        return "nearest"
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else tail}"


class ReachabilityDisplay(Display):
    """A bar for each row in the order of the fit: dents are clusters.

    Parameters
    ----------
    heights : array of shape (n_rows,)
        Reachabilities in that order; infinite where nothing reaches a row.
    labels : array of int of shape (n_rows,)
        Clusters in that order; −1 for noise.
    spans : array of int of shape (n_dents, 2)
        First and last place of every dent, also of those that lie in others.
    depths : array of int of shape (n_dents,)
        How many dents lie within each, one inside the other.
    eps : float or None
        Where the plot was cut, if it was.
    title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.ReachabilityDisplay.from_estimator(cluster.OPTICS(min_samples=10).fit(X)).heights.shape
    (150,)
    """

    heights: NDArray
    labels: NDArray
    spans: NDArray
    depths: NDArray
    eps: float | None
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        labels = np.asarray(estimator.labels_)[estimator.ordering_]
        spans = np.asarray(estimator.cluster_hierarchy_, dtype=int).reshape(-1, 2)
        cut = estimator.cluster_method == "dbscan" and np.isfinite(estimator.eps_)
        heights = np.asarray(estimator.reachability_[estimator.ordering_], dtype=float)
        depths = np.array([_nesting(spans, *span) for span in spans], dtype=int)
        title = f"{title_of(estimator)}, {np.count_nonzero(labels < 0)} rows of noise"
        return cls(heights, labels, spans, depths, float(estimator.eps_) if cut else None, title)

    def _draw(self, ax: Any) -> None:
        finite = np.isfinite(self.heights)
        top = float(self.heights[finite].max(initial=0.0)) or 1.0
        heights = np.where(finite, self.heights, 1.08 * top)
        edges = np.arange(heights.size + 1)
        n_clusters = int(self.labels.max(initial=-1)) + 1
        ax.stairs(heights, edges, fill=True, color=NOISE, alpha=0.8)
        for cluster, color in zip(range(n_clusters), colors(max(n_clusters, 1)), strict=False):
            inside = np.flatnonzero(self.labels == cluster)
            run = slice(inside[0], inside[-1] + 1)
            ax.stairs(heights[run], edges[inside[0] : inside[-1] + 2], fill=True, color=color)
        if self.eps is not None:
            ax.axhline(self.eps, color=ACCENT, linewidth=1.2, linestyle=DASHES)
        for (start, end), depth in zip(self.spans, self.depths, strict=True):
            level = -0.025 * top * (1 + depth)
            ax.plot([start, end + 1], [level, level], color=FAINT_INK, linewidth=1.6, solid_capstyle="butt")
        ax.set_xlim(0, heights.size)
        ax.grid(visible=False, axis="x")
        # Below zero there are only the dents, which have no height.
        low, high = ax.get_ylim()
        ax.set_yticks([tick for tick in ax.get_yticks() if 0.0 <= tick <= high])
        ax.set_ylim(low, high)
        ax.set(xlabel="rows, in the order of the fit", ylabel="reachability", title=self.title)


def _nesting(spans: NDArray, start: int, end: int) -> int:
    """How many other spans lie within this one, one inside the other: its height above the innermost."""
    inside = [span for span in spans if start <= span[0] and span[1] <= end and tuple(span) != (start, end)]
    return max((1 + _nesting(np.array(inside), *span) for span in inside), default=0)


MAX_DRAWN = 2000


class CondensedTreeDisplay(Display):
    """Clusters as icicles that grow thin where rows leave them; those chosen are coloured.

    Parameters
    ----------
    middles : array of shape (n_nodes,)
        Where each node of the tree stands, from left to right; its children lie side by side below it.
    profiles : sequence of pairs of arrays
        Of each node, densities and the number of rows left from each on.
    clusters : array of int of shape (n_nodes,)
        The number of each node among the clusters; −1 where it was not chosen.
    forks : array of shape (n_forks, 3)
        Density at which a node splits, and where the leftmost and the rightmost of its children stand.
    n_rows : int
    n_clusters : int
    end : float
        Density at which the picture ends.
    title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.CondensedTreeDisplay.from_estimator(cluster.HDBSCAN(10).fit(X)).ax_.get_title()
    '2 clusters chosen of 2'
    """

    middles: NDArray
    profiles: Sequence[tuple[NDArray, NDArray]]
    clusters: NDArray
    forks: NDArray
    n_rows: int
    n_clusters: int
    end: float
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        tree: CondensedTree = estimator.condensed_tree_
        middle, ends = _positions(tree)
        number = np.full(tree.parent.size, -1)
        number[np.asarray(estimator.selected_, dtype=int)] = np.arange(len(estimator.selected_))
        drawn = np.flatnonzero(tree.size > 1)[:MAX_DRAWN]
        forks = []
        for node in drawn:
            children = np.flatnonzero(tree.parent == node)
            if children.size:
                forks.append((tree.birth[children[0]], middle[children].min(), middle[children].max()))
        profiles = [_profile(tree, int(node), ends) for node in drawn]
        places, n_rows = np.array(forks, dtype=float).reshape(-1, 3), int(tree.size[0])
        n_clusters, end = estimator.n_clusters_, float(ends.max())
        title = f"{title_of(estimator)} chosen of {tree.parent.size - 1}"
        return cls(middle[drawn], profiles, number[drawn], places, n_rows, n_clusters, end, title)

    def _draw(self, ax: Any) -> None:
        palette = colors(max(self.n_clusters, 1))
        for middle, (densities, sizes), cluster in zip(
            self.middles, self.profiles, self.clusters, strict=True
        ):
            chosen = cluster >= 0
            ink, alpha = (palette[cluster], 0.95) if chosen else (NOISE, 0.55)
            sides = middle - sizes / 2.0, middle + sizes / 2.0
            ax.fill_betweenx(densities, *sides, step="post", color=ink, alpha=alpha, linewidth=0.0)
            if chosen and self.n_clusters <= MAX_NAMED:
                look = {"ha": "center", "va": "baseline", "fontsize": 8.5, "fontweight": "bold"}
                write_beside(str(cluster), (middle, max(densities[0], 0.0)), ax, by=(0, 3), **look)
        for density, left, right in self.forks:
            ax.hlines(density, left, right, color=FAINT_INK, linewidth=0.8)
        ax.set_ylim(self.end * 1.03, 0.0)
        ax.set_xlim(-0.02 * self.n_rows, 1.02 * self.n_rows)
        ax.set_xticks([])
        ax.grid(visible=False, axis="x")
        ax.set(
            xlabel="clusters, as wide as they have rows", ylabel="density λ = 1/distance", title=self.title
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
