"""The map of a clustering, and what its pictures ask of a clusterer: a family answers by registering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import eigsh

from assay.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    ConvexClustering,
    DivisiveClustering,
    KernelKMeans,
    SpectralClustering,
)
from assay.display.base import Display
from assay.display.plane import (
    Plane,
    column_names,
    dense,
    limits_around,
    n_rows,
    principal_plane,
    rgb,
    rows_at,
    shown_rows,
)
from assay.display.style import DASHES, FAINT_INK, GROUND, INK, colors
from assay.models.clusterer import PairwiseClusterer

LABELS_OF_THE_FIT = (
    AgglomerativeClustering,
    ConvexClustering,
    DBSCAN,
    DivisiveClustering,
    HDBSCAN,
    OPTICS,
    SpectralClustering,
)
"""Models whose rule for new rows need not give the rows of the fit back their own labels."""

MAX_DENSE = 500
"""Up to so many rows all eigenvectors of a matrix are found at once."""


class MapGround(NamedTuple):
    """What lies under the rows of a map: a polygon per cluster, or clusters or degrees on a grid."""

    cells: Sequence[NDArray] = ()
    shades: NDArray | None = None


RowPlaces = tuple[NDArray, tuple[str, str]]
"""Places of rows that have no coordinates of their own, and what the two directions are."""


def labels_at(model: Any, X: Any, places: NDArray) -> NDArray:
    """Clusters of some rows of a table: those of the fit where it is the table of the fit, else predicted."""
    if isinstance(model, LABELS_OF_THE_FIT) and len(model.labels_) == n_rows(X):
        return np.asarray(model.labels_)[places].astype(int)
    return np.asarray(model.predict(named_rows(model, rows_at(X, places)))).astype(int)


def named_rows(model: Any, rows: Any) -> Any:
    """Rows as the model knows them: with the names of the columns of the fit, or without any."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return dense(rows) if hasattr(rows, "columns") else rows
    if hasattr(rows, "columns") or len(names) != rows.shape[1]:
        return rows
    import pandas as pd

    return pd.DataFrame(dense(rows), columns=names)


def count_clusters(model: Any) -> int:
    """Number of clusters of a fit."""
    for name in ("cluster_centers_", "embedding_centers_"):
        if hasattr(model, name):
            return int(getattr(model, name).shape[0])
    return int(model.n_clusters_ if hasattr(model, "n_clusters_") else model.n_clusters)


@singledispatch
def title_of(model: Any) -> str:
    """What stands above the pictures of a clustering."""
    count = count_clusters(model)
    return f"{count} cluster{'' if count == 1 else 's'}"


@singledispatch
def centers_among(model: Any, points: NDArray) -> NDArray | None:
    """The centres to mark among rows, if the model has any."""
    return dense(model.cluster_centers_) if hasattr(model, "cluster_centers_") else None


@singledispatch
def ground_of(model: Any, plane: Plane, limits: tuple[NDArray, NDArray]) -> MapGround:
    """What the rule of the model makes of a plane; by default nothing is drawn."""
    return MapGround()


@singledispatch
def borders_of(model: Any) -> NDArray | None:
    """Where clusters of one feature meet, if the rule of the model says so in closed form."""
    return None


@singledispatch
def degrees_at(model: Any, X: Any, places: NDArray) -> NDArray | None:
    """Degrees to which some rows belong to each cluster, if the model has any."""
    return None


@singledispatch
def layout_of(model: Any, X: Any, places: NDArray) -> RowPlaces | None:
    """Places in the plane of rows that have no coordinates, if the model knows any."""
    return None


@layout_of.register(PairwiseClusterer)
def _(model: PairwiseClusterer, X: Any, places: NDArray) -> RowPlaces | None:
    """Of given dissimilarities: classical scaling."""
    if not model._is_precomputed or len(set(np.shape(X))) > 1:
        return None
    return _principal_coordinates(-0.5 * dense(rows_at(X, places))[:, places] ** 2)


@layout_of.register(KernelKMeans)
def _(model: KernelKMeans, X: Any, places: NDArray) -> RowPlaces | None:
    """Of a given kernel: its first two principal axes."""
    if not model._is_precomputed or len(set(np.shape(X))) > 1:
        return None
    return _principal_coordinates(dense(rows_at(X, places))[:, places])


def _principal_coordinates(products: NDArray) -> RowPlaces:
    """The two coordinates that give inner products back best, once those are taken about their mean."""
    centered = products - products.mean(axis=0) - products.mean(axis=1)[:, np.newaxis] + products.mean()
    n = len(centered)
    if n <= MAX_DENSE:
        values, vectors = eigh(centered, subset_by_index=[max(n - 2, 0), n - 1])
    else:
        # A start of its own: the search must not draw from the global random state.
        values, vectors = eigsh(centered, k=2, which="LA", v0=np.linspace(-1.0, 1.0, n))
    points = (vectors * np.sqrt(np.maximum(values, 0.0)))[:, ::-1]
    points = points * np.where(points[np.abs(points).argmax(axis=0), range(points.shape[1])] < 0, -1.0, 1.0)
    if points.shape[1] < 2:
        points = np.column_stack([points, np.zeros(n)])
    return points, ("first principal coordinate", "second principal coordinate")


NOISE = "#aab2ba"
CROWDED = 500
"""Beyond so many rows they are drawn small."""

MAX_NUMBERED = 30
"""Beyond so many clusters they are not numbered."""


class ClusterMapDisplay(Display, needs=("X",)):
    """Rows in the colours of their clusters: in the plane of two features, or of two principal axes of more.

    One feature is shown as a histogram. Where the model has centres they are marked, and where its rule can
    be drawn, the plane is coloured by the cluster that a row there would be given.

    Parameters
    ----------
    points : array of shape (n_rows, 2) or (n_rows, 1)
        Places of the rows that are shown.
    labels : array of int of shape (n_rows,)
        Their clusters; −1 for none.
    n_clusters : int
    xlabel, ylabel, title : str
    centers : array of shape (n_clusters, 2) or (n_clusters, 1), optional
    cells : sequence of arrays of shape (n_corners, 2), optional
        Corners of the part of the plane of each cluster.
    shades : array of shape (n_up, n_across) or (n_up, n_across, n_clusters), optional
        Clusters, or degrees of membership, of a grid of points of the plane.
    limits : pair of arrays of shape (2,), optional
        Lower left and upper right corner of the plane.
    borders : array, optional
        Where clusters of one feature meet.
    degrees : array of shape (n_rows, n_clusters), optional
        Degrees of membership: rows get a mixture of the colours.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> shown = display.ClusterMapDisplay.from_estimator(cluster.KMeans(3, random_state=0).fit(X), X)
    >>> shown.points.shape, shown.centers.shape, len(shown.cells)
    ((150, 2), (3, 2), 3)
    """

    points: NDArray
    labels: NDArray
    n_clusters: int
    xlabel: str
    ylabel: str
    title: str
    centers: NDArray | None = None
    cells: Sequence[NDArray] = ()
    shades: NDArray | None = None
    limits: tuple[NDArray, NDArray] | None = None
    borders: NDArray | None = None
    degrees: NDArray | None = None

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        points, shown = shown_rows(X)
        labels = labels_at(estimator, X, shown)
        n_clusters = max(count_clusters(estimator), int(labels.max(initial=-1)) + 1)
        title, degrees = title_of(estimator), degrees_at(estimator, X, shown)
        layout = layout_of(estimator, X, shown)
        if layout is not None:
            return cls(layout[0], labels, n_clusters, *layout[1], title)
        names = column_names(estimator, X, feature_names, points.shape[1])
        centers = centers_among(estimator, points)
        if points.shape[1] == 1:
            borders = borders_of(estimator)
            return cls(
                points, labels, n_clusters, names[0], "rows", title, centers, borders=borders, degrees=degrees
            )
        plane = principal_plane(points)
        flat = plane.flatten(points)
        flat_centers = None if centers is None else plane.flatten(centers)
        limits = limits_around(flat if flat_centers is None else np.vstack([flat, flat_centers]))
        ground = ground_of(estimator, plane, limits)
        words = *plane.labels(names), title
        return cls(flat, labels, n_clusters, *words, flat_centers, *ground, limits, degrees=degrees)

    def _draw(self, ax: Any) -> None:
        palette = np.array([rgb(color) for color in colors(max(self.n_clusters, 1))])
        if self.points.shape[1] == 1:
            self._draw_histogram(palette, ax)
        else:
            self._draw_shades(palette, ax)
            draw_cells(self.cells, palette, ax)
            draw_rows(self.points, tints(self.labels, self.degrees, palette), ax)
            if self.centers is not None:
                mark_centers(self.centers, palette, ax)
            else:
                number_clusters(self.points, self.labels, ax)
            if self.limits is not None:
                (left, bottom), (right, top) = self.limits
                ax.set(xlim=(left, right), ylim=(bottom, top))
            ax.grid(visible=False)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)

    def _draw_shades(self, palette: NDArray, ax: Any) -> None:
        if self.shades is None or self.limits is None:
            return
        graded = self.shades.ndim == 3
        flat = self.shades.reshape(-1, self.shades.shape[2]) if graded else self.shades.ravel()
        ink = tints(flat, flat, palette) if graded else tints(flat, None, palette)
        (left, bottom), (right, top) = self.limits
        image = 1.0 - 0.18 * (1.0 - ink.reshape(*self.shades.shape[:2], 3))
        ax.imshow(image, origin="lower", extent=(left, right, bottom, top), aspect="auto", zorder=0)

    def _draw_histogram(self, palette: NDArray, ax: Any) -> None:
        values = self.points[:, 0]
        edges = np.histogram_bin_edges(values, bins=30 if values.size < 2000 else 60)
        parts = [values[self.labels == cluster] for cluster in range(self.n_clusters)]
        ink = list(palette)
        if (self.labels < 0).any():
            parts, ink = [*parts, values[self.labels < 0]], [*ink, rgb(FAINT_INK)]
        ax.hist(parts, bins=edges, stacked=True, color=ink, alpha=0.75)
        ax.yaxis.get_major_locator().set_params(integer=True)
        if self.centers is not None:
            for color, center in zip(palette, self.centers[:, 0], strict=True):
                ax.axvline(center, color=color, linewidth=2.0)
        for border in () if self.borders is None else self.borders:
            ax.axvline(border, color=FAINT_INK, linewidth=0.9, linestyle=DASHES)


def draw_rows(points: NDArray, ink: NDArray, ax: Any, *, crowded: bool | None = None) -> None:
    """Dots, small and faint where there are many."""
    crowded = len(points) > CROWDED if crowded is None else crowded
    look = (
        {"s": 9, "alpha": 0.6, "linewidths": 0.0} if crowded else {"s": 22, "alpha": 0.85, "linewidths": 0.3}
    )
    ax.scatter(*points.T, c=ink, edgecolors=GROUND, rasterized=len(points) > 1000, zorder=3, **look)


def draw_cells(cells: Sequence[NDArray], palette: NDArray, ax: Any) -> None:
    """The part of the plane of each cluster, in a light shade of its colour."""
    for color, cell in zip(palette, cells, strict=False):
        if cell.shape[0] > 2:
            ax.fill(*cell.T, facecolor=(*color, 0.16), edgecolor=FAINT_INK, linewidth=0.6, zorder=0)


def mark_centers(centers: NDArray, palette: NDArray, ax: Any) -> None:
    """Centres as rings, with the numbers of their clusters where these are few."""
    numbered = centers.shape[0] <= MAX_NUMBERED
    ax.scatter(*centers.T, s=190 if numbered else 40, c=GROUND, edgecolors=palette, linewidths=2.2, zorder=5)
    for cluster, place in enumerate(centers if numbered else ()):
        _write(str(cluster), place, ax, fontsize=8.5)


def number_clusters(points: NDArray, labels: NDArray, ax: Any) -> None:
    """The number of each cluster above a row in its midst, also where the cluster is not convex."""
    from matplotlib.patheffects import withStroke

    present = np.unique(labels[labels >= 0])
    if not 0 < present.size <= MAX_NUMBERED:
        return
    reach = np.maximum(np.ptp(points[labels >= 0], axis=0), 1e-300)
    halo = [withStroke(linewidth=3.0, foreground=GROUND)]
    for cluster in present:
        inside = points[labels == cluster]
        middle = np.argmin((((inside - np.median(inside, axis=0)) / reach) ** 2).sum(axis=1))
        above = {"xytext": (0, 8), "textcoords": "offset points"}
        _write(str(cluster), inside[middle], ax, fontsize=10, path_effects=halo, **above)


def _write(text: str, place: NDArray, ax: Any, **style: Any) -> None:
    style |= {"ha": "center", "va": "center_baseline", "fontweight": "bold", "color": INK, "zorder": 6}
    ax.annotate(text, tuple(place), **style)


def tints(labels: NDArray, degrees: NDArray | None, palette: NDArray) -> NDArray:
    """A colour per row: that of its cluster, grey for none, a mixture for degrees of membership."""
    if degrees is not None:
        return np.clip(degrees @ palette, 0.0, 1.0)
    ink = palette[np.maximum(labels, 0)]
    ink[labels < 0] = rgb(FAINT_INK)
    return ink
