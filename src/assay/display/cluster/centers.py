"""Pictures of clusters around medoids, medians, directions and degrees: shaded maps, memberships."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import FuzzyCMeans, KernelKMeans, SphericalKMeans
from assay.cluster.quantizer.base import RepresenterModel
from assay.display.base import Display
from assay.display.cluster.center_table import CentersDisplay
from assay.display.cluster.clusterers import (
    Ground,
    centers_among,
    degrees_at,
    ground_of,
    named_rows,
    title_of,
)
from assay.display.cluster.map import ClusterMapDisplay
from assay.display.cluster.silhouette import SilhouetteDisplay
from assay.display.cluster.traces import ConvergenceDisplay, RestartsDisplay
from assay.display.columns import dense
from assay.display.flat_map import Plane, rows_at, shown_rows
from assay.display.registry import Pictures, pictures
from assay.display.style import colors

GRID = 220
"""Points a side of the plane at which regions of two features are asked for."""


@pictures.register(RepresenterModel)
def pictures_of_centers(model: Any) -> Pictures:
    """The clusters of data, the centres, or the descent."""
    displays: dict[str, type[Display]] = {
        "map": ClusterMapDisplay,
        "convergence": ConvergenceDisplay,
        "restarts": RestartsDisplay,
    }
    precomputed = getattr(model, "_is_precomputed", False)
    if not precomputed and not isinstance(model, KernelKMeans):
        displays["centers"] = CentersDisplay
    # Of a precomputed kernel there are no dissimilarities.
    if not (precomputed and isinstance(model, KernelKMeans)):
        displays["silhouette"] = SilhouetteDisplay
    without_data = "centers" if "centers" in displays else "convergence"
    return Pictures(displays, lambda model, X, y: without_data if X is None or precomputed else "map")


@pictures.register(FuzzyCMeans)
def pictures_of_fuzzy(model: FuzzyCMeans) -> Pictures:
    """The clusters of data, or the centres."""
    displays = {
        "map": ClusterMapDisplay,
        "memberships": MembershipsDisplay,
        "centers": CentersDisplay,
        "convergence": ConvergenceDisplay,
        "restarts": RestartsDisplay,
        "silhouette": SilhouetteDisplay,
    }
    return Pictures(displays, lambda model, X, y: "centers" if X is None else "map")


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
def _(model: Any, plane: Plane, limits: tuple[NDArray, NDArray]) -> Ground:
    """The clusters, or degrees, that rows of two features would be given; more features have no one plane."""
    if plane.origin.size != 2 or getattr(model, "_is_precomputed", False):
        return Ground()
    (left, bottom), (right, top) = limits
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    grid = named_rows(model, np.column_stack([values.ravel() for values in np.meshgrid(across, up)]))
    if isinstance(model, FuzzyCMeans):
        return Ground(shades=np.asarray(model.memberships(grid), dtype=float).reshape(GRID, GRID, -1))
    return Ground(shades=np.asarray(model.predict(grid)).reshape(GRID, GRID).astype(int))


@dataclass
class MembershipsDisplay(Display):
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

    needs: ClassVar[tuple[str, ...]] = ("X",)
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
