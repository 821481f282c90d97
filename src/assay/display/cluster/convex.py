"""Pictures of convex clustering: rows and their centroids, the clusterpath, the tree of fusions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import ConvexClustering
from assay.display.base import Display
from assay.display.cluster.hierarchy import JoinTree
from assay.display.cluster.map import tints, title_of
from assay.display.columns import column_names, dense, sampled
from assay.display.flat_map import limits_around, principal_plane, rgb
from assay.display.style import ACCENT, FAINT_INK, colors

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


@dataclass
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
    >>> from assay.cluster import ConvexClustering
    >>> from assay.display import CentroidMapDisplay
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    >>> model = ConvexClustering(n_neighbors=2).fit(X)
    >>> CentroidMapDisplay.from_estimator(model, X).centroids.shape
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
        words = plane.labels(names)
        return cls(plane.flatten(points), plane.flatten(centroids), labels, title=title, **words)

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


@dataclass
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
    >>> from assay.cluster import ConvexClustering
    >>> from assay.display import ClusterPathDisplay
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    >>> model = ConvexClustering(n_neighbors=2).fit(X)
    >>> ClusterPathDisplay.from_estimator(model, X).ways.shape[::2]
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
        return cls(ways, labels, plane.flatten(points[shown]), **plane.labels(names))

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


@dataclass
class FusionTreeDisplay(JoinTree, needs=("X",)):
    """The tree of fusions of a clusterpath; its heights are the penalties at which they happen.

    The fields are those of `DendrogramDisplay`.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.cluster import ConvexClustering
    >>> from assay.display import FusionTreeDisplay
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [10.0, 0.0], [11.0, 0.0]])
    >>> model = ConvexClustering(n_neighbors=2).fit(X)
    >>> FusionTreeDisplay.from_estimator(model, X).brackets.shape
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
        none = np.zeros(n_leaves, dtype=bool)
        return cls(
            brackets=np.stack([x, heights], axis=2),
            clusters=clusters,
            n_clusters=int(owner.max()) + 1,
            cut=max(float(estimator.penalty_), lowest),
            xlabel=f"{n_leaves} rows",
            ylabel="penalty λ of the fusion",
            title=f"tree of fusions, {title_of(estimator)}",
            branch_heights=np.zeros(n_leaves),
            branch_clusters=owner[np.array(drawn["leaves"])],
            branch_alone=none,
            names=[],
            limits=(lowest, 1.5 * float(path.penalties[-1])),
            scale="log",
        )
