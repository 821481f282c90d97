"""The centres of clusters as a table in colours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import ConvexClustering
from assay.display.base import Display
from assay.display.columns import column_names, dense, shortened

MAX_WRITTEN_CELLS = 80
MAX_NAMED_FEATURES = 24
MAX_SHARED_CLUSTERS = 20
"""Convex clustering may leave many clusters of one row: only the largest are shown."""


@dataclass
class CentersDisplay(Display):
    """One line a cluster, one column a feature, in colours from the least to the greatest centre.

    Parameters
    ----------
    centers : array of shape (n_clusters, n_features)
    names : sequence of str
        Names of the features.
    clusters : sequence of str
        Names of the clusters.
    ylabel, title : str

    Examples
    --------
    >>> from assay.cluster import KMeans
    >>> from assay.datasets import iris
    >>> from assay.display import CentersDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> CentersDisplay.from_estimator(KMeans(3, random_state=0).fit(X)).centers.shape
    (3, 4)
    """

    centers: NDArray
    names: Sequence[str]
    clusters: Sequence[str]
    ylabel: str = "cluster"
    title: str = "centres of the clusters"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        centers = dense(estimator.cluster_centers_)
        names = column_names(estimator, X, feature_names, centers.shape[1])
        if not isinstance(estimator, ConvexClustering):
            return cls(centers, names, [str(cluster) for cluster in range(len(centers))])
        sizes = np.bincount(estimator.labels_)
        largest = np.sort(np.argsort(-sizes, kind="stable")[:MAX_SHARED_CLUSTERS])
        clusters = [f"{cluster} ({sizes[cluster]})" for cluster in largest]
        part = f"the {len(largest)} largest of " if len(largest) < len(sizes) else ""
        title = f"centres of {part}{len(sizes)} cluster{'s' if len(sizes) != 1 else ''}"
        return cls(centers[largest], names, clusters, "cluster (rows)", title)

    def _draw(self, ax: Any) -> None:
        low, high = self.centers.min(axis=0), self.centers.max(axis=0)
        level = (self.centers - low) / np.where(high > low, high - low, 1.0)
        ax.imshow(level, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.15)
        if self.centers.size <= MAX_WRITTEN_CELLS:
            for (row, column), value in np.ndenumerate(self.centers):
                ink = "white" if level[row, column] > 0.6 else "#24292e"
                text = f"{value:.3g}".replace("-", "−")
                ax.annotate(text, (column, row), ha="center", va="center", fontsize=9, color=ink)
        few = write_column_names(self.names, ax)
        step = max(1, len(self.clusters) // 25)
        ax.set_yticks(np.arange(0, len(self.clusters), step), self.clusters[::step])
        ax.grid(visible=False)
        xlabel = "" if few else f"{len(self.names)} features"
        ax.set(ylabel=self.ylabel, title=self.title, xlabel=xlabel)


def write_column_names(names: Sequence[str], ax: Any) -> bool:
    """Write names below the columns of a table, tilted where they are long; say whether there was room."""
    few = len(names) <= MAX_NAMED_FEATURES
    tilted = few and max(map(len, names)) * len(names) > 60
    ax.set_xticks(
        np.arange(len(names)) if few else [],
        [shortened(name, 18) for name in names] if few else [],
        rotation=35 if tilted else 0,
        ha="right" if tilted else "center",
        rotation_mode="anchor" if tilted else "default",
    )
    return few
