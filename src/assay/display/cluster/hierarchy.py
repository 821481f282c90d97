"""Pictures of hierarchical clusterings: which there are, and what each number of clusters costs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import AgglomerativeClustering, DivisiveClustering
from assay.display.base import Display
from assay.display.cluster.clusterers import title_of
from assay.display.cluster.dendrogram import DendrogramDisplay
from assay.display.cluster.map import ClusterMapDisplay
from assay.display.cluster.silhouette import SilhouetteDisplay
from assay.display.registry import Pictures, pictures
from assay.display.style import ACCENT, PALETTE

MAX_LEVELS = 30


@pictures.register(AgglomerativeClustering)
@pictures.register(DivisiveClustering)
def pictures_of_hierarchy(model: Any) -> Pictures:
    """The clusters of data, or the tree."""
    displays: dict[str, type[Display]] = {
        "map": ClusterMapDisplay,
        "dendrogram": DendrogramDisplay,
        "heights": HeightsDisplay,
    }
    if getattr(model, "linkage", "") == "ward":
        displays["inertia"] = InertiaDisplay
    displays["silhouette"] = SilhouetteDisplay
    flat = not model._is_precomputed
    return Pictures(displays, lambda model, X, y: "map" if flat and X is not None else "dendrogram")


@title_of.register(AgglomerativeClustering)
@title_of.register(DivisiveClustering)
def _(model: Any) -> str:
    name = model.linkage.capitalize() if hasattr(model, "linkage") else "Divisive"
    tail = " linkage" if hasattr(model, "linkage") and model.linkage != "ward" else ""
    plural = "clusters" if model.n_clusters_ > 1 else "cluster"
    return f"{name}{tail}: {model.n_clusters_} {plural}"


@dataclass
class _Levels(Display):
    """A value for each number of clusters, the one chosen marked.

    Parameters
    ----------
    n_clusters : array of int of shape (n_levels,)
    values : array of shape (n_levels,)
    chosen : int
        The number of clusters of the model.
    ylabel, title : str
    """

    n_clusters: NDArray
    values: NDArray
    chosen: int
    ylabel: str
    title: str

    def _draw(self, ax: Any) -> None:
        ax.plot(self.n_clusters, self.values, "o-", color=PALETTE[0], markersize=4.5)
        here = self.n_clusters == self.chosen
        if here.any():
            ax.plot(self.n_clusters[here], self.values[here], "o", color=ACCENT, markersize=9)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set_ylim(bottom=min(0.0, float(self.values.min(initial=0.0))))
        ax.set(xlabel="clusters", ylabel=self.ylabel, title=self.title)


@dataclass
class HeightsDisplay(_Levels):
    """Height of the join that would leave one cluster fewer: a good cut stands before a steep rise.

    Parameters
    ----------
    n_clusters : array of int of shape (n_levels,)
    values : array of shape (n_levels,)
        The heights.
    chosen : int
        The number of clusters of the model.
    ylabel, title : str

    Examples
    --------
    >>> from assay.cluster import AgglomerativeClustering
    >>> from assay.datasets import us_arrests
    >>> from assay.display import HeightsDisplay
    >>> model = AgglomerativeClustering(4).fit(us_arrests().X)
    >>> HeightsDisplay.from_estimator(model).n_clusters[:3]
    array([2, 3, 4])
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        heights = np.asarray(estimator.distances_, dtype=float)[::-1][: MAX_LEVELS - 1]
        divisive = isinstance(estimator, DivisiveClustering)
        what = "diameter of the widest cluster of one fewer" if divisive else "height of the next join"
        levels = np.arange(2, heights.size + 2)
        return cls(levels, heights, estimator.n_clusters_, what, title_of(estimator))


@dataclass
class InertiaDisplay(_Levels):
    """Inertia within the clusters of every cut of a tree of Ward.

    Parameters
    ----------
    n_clusters : array of int of shape (n_levels,)
    values : array of shape (n_levels,)
        The inertias.
    chosen : int
        The number of clusters of the model.
    ylabel, title : str

    Examples
    --------
    >>> from assay.cluster import AgglomerativeClustering
    >>> from assay.datasets import us_arrests
    >>> from assay.display import InertiaDisplay
    >>> model = AgglomerativeClustering(4).fit(us_arrests().X)
    >>> InertiaDisplay.from_estimator(model).values[0].round()
    np.float64(355808.0)
    """

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        curve = np.asarray(estimator.inertia_curve_, dtype=float)[:MAX_LEVELS]
        levels = np.arange(1, curve.size + 1)
        return cls(levels, curve, estimator.n_clusters_, "inertia", title_of(estimator))
