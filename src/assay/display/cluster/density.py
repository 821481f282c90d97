"""Pictures of density clusterings: maps of core, border and noise, and the sizes of the clusters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import DBSCAN, HDBSCAN
from assay.display.base import Display
from assay.display.cluster.map import NOISE, RowPlaces, layout_of, number_clusters, title_of
from assay.display.columns import column_names
from assay.display.flat_map import limits_around, n_rows, principal_plane, rgb, shown_rows
from assay.display.style import FAINT_INK, colors, write_beside

MAX_NAMED = 30
TYPES = ("noise", "border", "core")


@dataclass
class DensityMapDisplay(Display, needs=("X",)):
    """The rows of a fit by how firmly they belong to their clusters; noise as grey crosses.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        Places of the rows that are shown, in two features or two principal axes; rows of one feature are
        spread out upwards.
    labels : array of int of shape (n_rows,)
        Their clusters; −1 for noise.
    strength : array of shape (n_rows,)
        How firmly each belongs to its cluster, from 0 to 1: dots grow with it.
    n_clusters : int
    counts : sequence of pairs (str, int)
        What the legend tells: how many rows of the fit are noise, and where the model knows, border and core.
    xlabel, ylabel, title : str

    Examples
    --------
    >>> from assay.cluster import DBSCAN
    >>> from assay.datasets import iris
    >>> from assay.display import DensityMapDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> DensityMapDisplay.from_estimator(DBSCAN(0.5).fit(X), X).counts
    [('noise', 17), ('border', 16), ('core', 117)]
    """

    points: NDArray
    labels: NDArray
    strength: NDArray
    n_clusters: int
    counts: Sequence[tuple[str, int]]
    xlabel: str
    ylabel: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if n_rows(X) != len(estimator.labels_):
            raise ValueError(
                f"The 'map' picture of {type(estimator).__name__} shows the {len(estimator.labels_)} rows of "
                f"the fit; X has {n_rows(X)}."
            )
        points, shown = shown_rows(X)
        names = column_names(estimator, X, feature_names, points.shape[1])
        layout = layout_of(estimator, X, shown)
        if layout is None and points.shape[1] == 1:
            flat = np.column_stack([points[:, 0], _spread(points.shape[0])])
            layout = RowPlaces(flat, names[0], "rows, spread out")
        elif layout is None:
            plane = principal_plane(points)
            layout = RowPlaces(plane.flatten(points), **plane.labels(names))
        counts = [("noise", int(np.count_nonzero(estimator.labels_ < 0)))]
        if isinstance(estimator, DBSCAN):
            types = np.bincount(estimator.point_types_, minlength=len(TYPES))
            counts = [(name, int(count)) for name, count in zip(TYPES, types, strict=True)]
        return cls(
            points=layout.points,
            labels=np.asarray(estimator.labels_)[shown],
            strength=_strength(estimator)[shown],
            n_clusters=estimator.n_clusters_,
            counts=counts,
            xlabel=layout.xlabel,
            ylabel=layout.ylabel,
            title=title_of(estimator),
        )

    def _draw(self, ax: Any) -> None:
        crowd = 0.55 if len(self.points) > 500 else 1.0
        noise = self.labels < 0
        style: dict[str, Any] = {"rasterized": len(self.points) > 1000}
        ax.scatter(*self.points[noise].T, marker="x", s=22 * crowd, c=NOISE, linewidths=0.9, **style)
        palette = np.array([rgb(color) for color in colors(max(self.n_clusters, 1))])
        # Rows of the least strength first, so that core rows lie on top.
        order = np.flatnonzero(~noise)[np.argsort(self.strength[~noise], kind="stable")]
        if order.size:
            ax.scatter(
                *self.points[order].T,
                s=crowd * (4.0 + 26.0 * self.strength[order] ** 2),
                c=palette[self.labels[order]],
                edgecolors="white",
                linewidths=0.3 * crowd,
                **style,
            )
        number_clusters(self.points, self.labels, ax)
        for name, count in self.counts:
            dot = {"s": 22, "c": NOISE, "marker": "x", "linewidths": 0.9}
            if name != "noise":
                dot = {"s": 30 if name == "core" else 10.5, "c": FAINT_INK}
            ax.scatter([], [], label=f"{name} ({count})", **dot)
        low, high = limits_around(self.points)
        ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]))
        ax.grid(visible=False)
        ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.2, handletextpad=0.2)
        ax.set(title=self.title, xlabel=self.xlabel, ylabel=self.ylabel)


def _strength(model: Any) -> NDArray:
    """How firmly each row belongs to its cluster, from 0 to 1."""
    if isinstance(model, DBSCAN):
        return np.asarray(model.point_types_ / 2.0)
    if isinstance(model, HDBSCAN):
        return np.asarray(model.probabilities_, dtype=float)
    return np.full(len(model.labels_), 0.8)


def _spread(n_rows: int) -> NDArray:
    """Heights that set rows of one feature apart, the same every time."""
    return np.asarray((np.arange(n_rows) * 0.6180339887498949) % 1.0)


@dataclass
class ClusterSizesDisplay(Display):
    """A bar for each cluster, the largest on top, and one for noise at the bottom.

    Parameters
    ----------
    clusters : array of int of shape (n_shown,)
        The clusters shown, the largest first.
    sizes : array of shape (n_shown,)
        Their rows, or weights.
    noise : float
        Rows, or weight, of none.
    n_clusters : int
        Number of all clusters.
    title : str

    Examples
    --------
    >>> from assay.cluster import DBSCAN
    >>> from assay.datasets import iris
    >>> from assay.display import ClusterSizesDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> display = ClusterSizesDisplay.from_estimator(DBSCAN(0.5).fit(X))
    >>> display.clusters, display.sizes, display.noise
    (array([1, 0]), array([84., 49.]), 17.0)
    """

    clusters: NDArray
    sizes: NDArray
    noise: float
    n_clusters: int
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        counts = np.bincount(estimator.labels_ + 1, minlength=estimator.n_clusters_ + 1).astype(float)
        if isinstance(estimator, DBSCAN):
            counts = np.append(estimator.label_weights_[-1], estimator.label_weights_[:-1])
        order = np.argsort(-counts[1:], kind="stable")
        left_out = f", the largest {MAX_NAMED} shown" if order.size > MAX_NAMED else ""
        shown = order[:MAX_NAMED]
        title = f"{title_of(estimator)}{left_out}"
        return cls(shown, counts[1:][shown], float(counts[0]), estimator.n_clusters_, title)

    def _draw(self, ax: Any) -> None:
        palette = colors(max(self.n_clusters, 1))
        places, widths = np.arange(self.clusters.size + 1), np.append(self.sizes, self.noise)
        shades = [*(palette[cluster] for cluster in self.clusters), NOISE]
        ax.barh(places, widths, color=shades, height=0.72)
        for place, width in zip(places, widths, strict=True):
            write_beside(f"{width:g}", (width, place), ax, by=(4, 0))
        ax.set_yticks(places, [*(f"cluster {cluster}" for cluster in self.clusters), "noise"])
        ax.set_ylim(places[-1] + 0.7, -0.7)
        ax.margins(x=0.12)
        ax.grid(visible=False, axis="y")
        ax.set(xlabel="rows", title=self.title)
