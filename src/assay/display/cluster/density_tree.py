"""The condensed tree of HDBSCAN: clusters that grow thin as the density rises."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import CondensedTree
from assay.display.base import Display
from assay.display.cluster.clusterers import title_of
from assay.display.cluster.map import NOISE
from assay.display.style import FAINT_INK, colors

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
                ax.annotate(
                    str(cluster),
                    (middle, max(densities[0], 0.0)),
                    xytext=(0, 3),
                    textcoords="offset points",
                    ha="center",
                    fontsize=8.5,
                    fontweight="bold",
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
