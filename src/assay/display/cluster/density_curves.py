"""Curves and trees of density clusterings: sorted k-distances, reachabilities, the condensed tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import CondensedTree
from assay.cluster.density.choice import k_distances
from assay.display.base import Display
from assay.display.cluster.map import NOISE, title_of
from assay.display.columns import dense
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, colors, write_beside


@dataclass
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
    >>> from assay.cluster import DBSCAN
    >>> from assay.datasets import iris
    >>> from assay.display import KDistanceDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> KDistanceDisplay.from_estimator(DBSCAN(0.5).fit(X), X).ax_.get_title()
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
        ax.set(
            xlabel="share of the rows, by k-distance",
            ylabel=f"distance to the {_ordinal(max(self.k, 2) - 1)} other row",
            title=f"{n_core} of {curve.size} rows are core at eps",
        )


def _ordinal(number: int) -> str:
    """A number as a place: 1st, 2nd, 3rd, 4th, … 11th."""
    if number == 1:
        return "nearest"
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else tail}"


@dataclass
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
    >>> from assay.cluster import OPTICS
    >>> from assay.datasets import iris
    >>> from assay.display import ReachabilityDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> ReachabilityDisplay.from_estimator(OPTICS(min_samples=10).fit(X)).heights.shape
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
        return cls(
            heights=np.asarray(estimator.reachability_[estimator.ordering_], dtype=float),
            labels=labels,
            spans=spans,
            depths=np.array([_nesting(spans, *span) for span in spans], dtype=int),
            eps=float(estimator.eps_) if cut else None,
            title=f"{title_of(estimator)}, {np.count_nonzero(labels < 0)} rows of noise",
        )

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


MAX_NAMED = 30
MAX_DRAWN = 2000


@dataclass
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
    >>> from assay.cluster import HDBSCAN
    >>> from assay.datasets import iris
    >>> from assay.display import CondensedTreeDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> CondensedTreeDisplay.from_estimator(HDBSCAN(10).fit(X)).ax_.get_title()
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
        return cls(
            middles=middle[drawn],
            profiles=[_profile(tree, int(node), ends) for node in drawn],
            clusters=number[drawn],
            forks=np.array(forks, dtype=float).reshape(-1, 3),
            n_rows=int(tree.size[0]),
            n_clusters=estimator.n_clusters_,
            end=float(ends.max()),
            title=f"{title_of(estimator)} chosen of {tree.parent.size - 1}",
        )

    def _draw(self, ax: Any) -> None:
        palette = colors(max(self.n_clusters, 1))
        for middle, (densities, sizes), cluster in zip(
            self.middles, self.profiles, self.clusters, strict=True
        ):
            chosen = cluster >= 0
            ax.fill_betweenx(
                densities,
                middle - sizes / 2.0,
                middle + sizes / 2.0,
                step="post",
                color=palette[cluster] if chosen else NOISE,
                alpha=0.95 if chosen else 0.55,
                linewidth=0.0,
            )
            if chosen and self.n_clusters <= MAX_NAMED:
                write_beside(
                    str(cluster),
                    (middle, max(densities[0], 0.0)),
                    ax,
                    by=(0, 3),
                    ha="center",
                    fontsize=8.5,
                    fontweight="bold",
                    va="baseline",
                )
        for density, left, right in self.forks:
            ax.hlines(density, left, right, color=FAINT_INK, linewidth=0.8)
        ax.set_ylim(self.end * 1.03, 0.0)
        ax.set_xlim(-0.02 * self.n_rows, 1.02 * self.n_rows)
        ax.set_xticks([])
        ax.grid(visible=False, axis="x")
        ax.set(
            xlabel="clusters, as wide as they have rows",
            ylabel="density λ = 1/distance",
            title=self.title,
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
