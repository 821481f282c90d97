"""Pictures of centres: tables, shaded maps, memberships, and the centroids of convex clustering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import ConvexClustering, FuzzyCMeans, SphericalKMeans
from assay.cluster.quantizer.base import RepresenterModel
from assay.display.base import Display
from assay.display.cluster.hierarchy import JoinTree
from assay.display.cluster.map import (
    MapGround,
    centers_among,
    degrees_at,
    ground_of,
    named_rows,
    tints,
    title_of,
)
from assay.display.plane import (
    Plane,
    column_names,
    dense,
    limits_around,
    principal_plane,
    rgb,
    rows_at,
    sampled,
    shortened,
    shown_rows,
)
from assay.display.style import ACCENT, FAINT_INK, caption, colors

MAX_WRITTEN_CELLS = 80
MAX_NAMED_FEATURES = 24
MAX_SHARED_CLUSTERS = 20
"""Convex clustering may leave many clusters of one row: only the largest are shown."""


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
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.CentersDisplay.from_estimator(cluster.KMeans(3, random_state=0).fit(X)).centers.shape
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
    words = [shortened(name, 18) for name in names] if few else []
    style = {"rotation": 35, "ha": "right", "rotation_mode": "anchor"} if tilted else {}
    ax.set_xticks(range(len(words)), words, **style)
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
            np.arange(len(order)), self.degrees[order].T, colors=colors(n_clusters), step="mid", linewidth=0.0
        )
        borders = np.cumsum(np.bincount(labels, minlength=n_clusters))
        for border in borders[:-1]:
            ax.axvline(border - 0.5, color="white", linewidth=1.2)
        middles = (np.concatenate([[0], borders[:-1]]) + borders) / 2
        filled = np.diff(np.concatenate([[0], borders])) > 0
        ax.set_xticks(middles[filled], [str(k) for k in np.flatnonzero(filled)])
        ax.grid(visible=False)
        ax.set(xlim=(-0.5, len(order) - 0.5), ylim=(0.0, 1.0))
        caption(ax, "rows by cluster, the clearest first", "membership", self.title)


MAX_PATHS = 400
"""The path of at most this many rows is drawn."""


@title_of.register(ConvexClustering)
def _(model: ConvexClustering) -> str:
    sizes = np.bincount(model.labels_)
    alone = int((sizes == 1).sum())
    words = f"{len(sizes)} cluster{'s' if len(sizes) != 1 else ''}"
    return (
        words + (f", {alone} of one row" if 0 < alone < len(sizes) else "") + f" (λ = {model.penalty_:.3g})"
    )


def _shared_labels(labels: NDArray) -> NDArray:
    """Clusters of several rows numbered 0, 1, …; −1, which is grey, for those of one row."""
    shared = np.bincount(labels) > 1
    return np.where(shared, np.cumsum(shared) - 1, -1)[labels]


def _ink(labels: NDArray) -> NDArray:
    """A colour for each row; clusters of one row are grey, so that the others stand out."""
    palette = np.array([rgb(color) for color in colors(max(int(labels.max(initial=-1)) + 1, 1))])
    return tints(labels, None, palette)


def _rows_of(model: Any, kind: str, X: Any) -> NDArray:
    points = dense(X)
    if len(points) != len(model.labels_):
        raise ValueError(
            f"The {kind!r} picture of ConvexClustering shows the rows of the fit ({len(model.labels_)}). "
            f"Got {len(points)} rows instead."
        )
    return points


class CentroidMapDisplay(Display, needs=("X",)):
    """Each row with a line to its centroid; of one feature, centroids against rows.

    Parameters
    ----------
    points, centroids : arrays of shape (n_rows, 2) or (n_rows, 1)
    labels : array of int of shape (n_rows,)
        Clusters of several rows; −1 for clusters of one row.
    xlabel, ylabel, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import cluster, display
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    >>> model = cluster.ConvexClustering(n_neighbors=2).fit(X)
    >>> display.CentroidMapDisplay.from_estimator(model, X).centroids.shape
    (4, 2)
    """

    points: NDArray
    centroids: NDArray
    labels: NDArray
    xlabel: str
    ylabel: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        points, centroids = _rows_of(estimator, "map", X), dense(estimator.centroids_)
        shown = sampled(len(points))
        points, centroids = points[shown], centroids[shown]
        labels, title = _shared_labels(estimator.labels_)[shown], title_of(estimator)
        names = column_names(estimator, X, feature_names, points.shape[1])
        if points.shape[1] == 1:
            return cls(points, centroids, labels, names[0], "centroid", title)
        plane = principal_plane(points)
        words = *plane.labels(names), title
        return cls(plane.flatten(points), plane.flatten(centroids), labels, *words)

    def _draw(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        ink = _ink(self.labels)
        if self.points.shape[1] == 1:
            ax.scatter(self.points[:, 0], self.centroids[:, 0], c=ink, s=22)
            (low,), (high,) = limits_around(self.points)
            ax.plot([low, high], [low, high], color=FAINT_INK, linewidth=0.8, zorder=1)
            ax.set(xlim=(low, high), ylim=(low, high))
        else:
            lines = np.stack([self.points, self.centroids], axis=1)
            ax.add_collection(LineCollection(list(lines), colors=ink, linewidths=0.7, alpha=0.45, zorder=1))
            crowded = len(self.points) > 500
            ax.scatter(*self.points.T, c=ink, s=9 if crowded else 20, alpha=0.75, linewidths=0.0, zorder=2)
            ax.scatter(*self.centroids.T, c=ink, s=55, edgecolors="white", linewidths=0.9, zorder=3)
            ax.grid(visible=False)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


class ClusterPathDisplay(Display, needs=("X",)):
    """The clusterpath: where the centroid of each row goes as the penalty grows.

    Parameters
    ----------
    ways : array of shape (n_rows, n_penalties, 2)
        Places of the centroids in the plane; of one feature, the penalty and the centroid.
    labels : array of int of shape (n_rows,)
        Clusters of several rows; −1 for clusters of one row.
    points : array of shape (n_rows, 2) or None
        The rows, where the ways begin; None for one feature.
    xlabel, ylabel : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay import cluster, display
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    >>> model = cluster.ConvexClustering(n_neighbors=2).fit(X)
    >>> display.ClusterPathDisplay.from_estimator(model, X).ways.shape[::2]
    (4, 2)
    """

    ways: NDArray
    labels: NDArray
    points: NDArray | None
    xlabel: str
    ylabel: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        points = _rows_of(estimator, "path", X)
        path = estimator.path(X)
        names = column_names(estimator, X, feature_names, points.shape[1])
        shown = sampled(len(points), MAX_PATHS)
        labels = _shared_labels(estimator.labels_)[shown]
        if points.shape[1] == 1:
            # A logarithmic axis has no zero: the first penalty stands at half the second.
            scale = np.maximum(path.penalties, path.penalties[1] / 2)
            ways = np.stack([np.column_stack([scale, path.centroids[:, row, 0]]) for row in shown])
            return cls(ways, labels, None, "penalty λ", f"centroid ({names[0]})")
        plane = principal_plane(points)
        ways = plane.flatten(path.centroids[:, shown]).transpose(1, 0, 2)
        return cls(ways, labels, plane.flatten(points[shown]), *plane.labels(names))

    def _draw(self, ax: Any) -> None:
        from matplotlib.collections import LineCollection

        ink = _ink(self.labels)
        if self.points is None:
            ax.set_xscale("log")
        ax.add_collection(LineCollection(list(self.ways), colors=ink, linewidths=1.0, alpha=0.7))
        if self.points is not None:
            ax.scatter(*self.points.T, c=ink, s=18, linewidths=0.0, zorder=3)
            ax.plot(*self.ways[0, -1], "o", color=ACCENT, markersize=8, zorder=4)
        ax.autoscale_view()
        ax.grid(visible=False)
        title = "clusterpath: centroids from the rows to their mean"
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=title)


class FusionTreeDisplay(JoinTree, needs=("X",)):
    """The tree of fusions of a clusterpath; its heights are the penalties at which they happen.

    The fields are those of `DendrogramDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay import cluster, display
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    >>> model = cluster.ConvexClustering(n_neighbors=2).fit(X)
    >>> display.FusionTreeDisplay.from_estimator(model, X).brackets.shape
    (3, 4, 2)
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        from scipy.cluster.hierarchy import dendrogram

        n_leaves = len(_rows_of(estimator, "dendrogram", X))
        path = estimator.path(X)
        tree = path.linkage()
        # A join is drawn in the colour of the cluster that holds all rows below it.
        owner = np.concatenate([_shared_labels(estimator.labels_), np.full(len(tree), -1)])
        for join, (first, second) in enumerate(tree[:, :2].astype(int)):
            owner[n_leaves + join] = owner[first] if owner[first] == owner[second] else -1
        drawn = dendrogram(tree, no_plot=True, link_color_func=lambda node: str(owner[node]))
        lowest = float(path.penalties[path.penalties > 0].min()) / 2
        # SciPy sets leaves at 5, 15, 25, …
        x = (np.array(drawn["icoord"]) - 5.0) / 10.0
        heights = np.maximum(np.array(drawn["dcoord"]), lowest)
        clusters = np.array([int(code) for code in drawn["color_list"]])
        brackets, n_clusters = np.stack([x, heights], axis=2), int(owner.max()) + 1
        cut, top = max(float(estimator.penalty_), lowest), 1.5 * float(path.penalties[-1])
        words = f"{n_leaves} rows", "penalty λ of the fusion", f"tree of fusions, {title_of(estimator)}"
        branches = np.zeros(n_leaves), owner[np.array(drawn["leaves"])], np.zeros(n_leaves, dtype=bool)
        return cls(brackets, clusters, n_clusters, cut, *words, *branches, [], (lowest, top), "log")
