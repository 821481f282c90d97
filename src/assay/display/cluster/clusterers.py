"""What the pictures ask of a clusterer: questions that a family answers in its own way by registering."""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch
from typing import Any, NamedTuple

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
from assay.display.columns import dense
from assay.display.flat_map import Plane, n_rows, rows_at
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
    """What lies under the rows of a map.

    Attributes
    ----------
    cells : sequence of arrays of shape (n_corners, 2)
        The corners of the part of the plane that belongs to each cluster, where these parts are polygons.
    shades : array of shape (n_up, n_across) or (n_up, n_across, n_clusters), or None
        Else the clusters, or the degrees of membership, of a grid of points.
    """

    cells: Sequence[NDArray] = ()
    shades: NDArray | None = None


class RowPlaces(NamedTuple):
    """Places of rows that have no coordinates of their own, and what the two directions are."""

    points: NDArray
    xlabel: str
    ylabel: str


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
    return RowPlaces(points, "first principal coordinate", "second principal coordinate")
