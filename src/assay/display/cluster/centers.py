"""Pictures of centres: a table of them, shaded maps, memberships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import ConvexClustering, FuzzyCMeans, SphericalKMeans
from assay.cluster.quantizer.base import RepresenterModel
from assay.display.base import Display
from assay.display.cluster.map import (
    MapGround,
    centers_among,
    degrees_at,
    ground_of,
    named_rows,
    title_of,
)
from assay.display.columns import column_names, dense, shortened
from assay.display.flat_map import Plane, rows_at, shown_rows
from assay.display.style import colors

MAX_WRITTEN_CELLS = 80
MAX_NAMED_FEATURES = 24
MAX_SHARED_CLUSTERS = 20
"""Convex clustering may leave many clusters of one row: only the largest are shown."""


@dataclass
class CentersDisplay(Display):
    """One line per cluster, one column per feature, in colours from the least to the greatest centre.

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


GRID = 220
"""Points per side of the plane at which regions of two features are asked for."""


@title_of.register(RepresenterModel)
def _(model: Any) -> str:
    what = "medoids" if hasattr(model, "medoid_indices_") else "clusters"
    cost = model.objective_ if isinstance(model, FuzzyCMeans) else model.inertia_
    return f"{model.n_clusters} {what}, cost {cost:.4g}"


@centers_among.register(SphericalKMeans)
def _(model: Any, points: NDArray) -> NDArray | None:
    """Directions, drawn out to the usual length of their rows; one feature has no place for them."""
    if points.shape[1] == 1:
        return None
    centers, lengths = dense(model.cluster_centers_), np.sqrt((points**2).sum(axis=1))
    nearest = (points @ centers.T).argmax(axis=1)
    own = [lengths[nearest == cluster] for cluster in range(len(centers))]
    usual = [np.median(part if part.size else lengths) for part in own]
    return centers * np.array(usual)[:, np.newaxis]


@degrees_at.register(FuzzyCMeans)
def _(model: FuzzyCMeans, X: Any, places: NDArray) -> NDArray:
    return np.asarray(model.memberships(named_rows(model, rows_at(X, places))), dtype=float)


@ground_of.register(RepresenterModel)
def _(model: Any, plane: Plane, limits: tuple[NDArray, NDArray]) -> MapGround:
    """The clusters, or degrees, that rows of two features would be given; more features have no one plane."""
    if plane.origin.size != 2 or getattr(model, "_is_precomputed", False):
        return MapGround()
    (left, bottom), (right, top) = limits
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    grid = named_rows(model, np.column_stack([values.ravel() for values in np.meshgrid(across, up)]))
    if isinstance(model, FuzzyCMeans):
        return MapGround(shades=np.asarray(model.memberships(grid), dtype=float).reshape(GRID, GRID, -1))
    return MapGround(shades=np.asarray(model.predict(grid)).reshape(GRID, GRID).astype(int))


@dataclass
class MembershipsDisplay(Display, needs=("X",)):
    """Stacked degrees of every row, the rows ordered by cluster and by how clearly they belong to it.

    Parameters
    ----------
    degrees : array of shape (n_rows, n_clusters)
        In the order of the rows.
    title : str

    Examples
    --------
    >>> from assay.cluster import FuzzyCMeans
    >>> from assay.datasets import iris
    >>> from assay.display import MembershipsDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> MembershipsDisplay.from_estimator(FuzzyCMeans(3, random_state=0).fit(X), X).degrees.shape
    (150, 3)
    """

    degrees: NDArray
    title: str = "memberships"

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        _, shown = shown_rows(X)
        degrees = np.asarray(degrees_at(estimator, X, shown))
        return cls(degrees, f"memberships, fuzzifier {estimator.fuzzifier:g}")

    def _draw(self, ax: Any) -> None:
        labels, n_clusters = self.degrees.argmax(axis=1), self.degrees.shape[1]
        order = np.lexsort((-self.degrees.max(axis=1), labels))
        ax.stackplot(
            np.arange(len(order)),
            self.degrees[order].T,
            colors=colors(n_clusters),
            step="mid",
            linewidth=0.0,
        )
        borders = np.cumsum(np.bincount(labels, minlength=n_clusters))
        for border in borders[:-1]:
            ax.axvline(border - 0.5, color="white", linewidth=1.2)
        middles = (np.concatenate([[0], borders[:-1]]) + borders) / 2
        filled = np.diff(np.concatenate([[0], borders])) > 0
        ax.set_xticks(middles[filled], [str(k) for k in np.flatnonzero(filled)])
        ax.grid(visible=False)
        ax.set(
            xlim=(-0.5, len(order) - 0.5),
            ylim=(0.0, 1.0),
            xlabel="rows by cluster, the clearest first",
            ylabel="membership",
            title=self.title,
        )
