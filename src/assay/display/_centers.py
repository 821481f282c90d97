"""Pictures of clusters around medoids, medians, directions and degrees: maps, memberships, the descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import (
    CentroidClustering,
    FuzzyCMeans,
    KCoordinateMedian,
    KernelKMeans,
    KGeometricMedian,
    KMedian,
    KMedoids,
    SphericalKMeans,
)
from assay.display import _cluster
from assay.display._columns import column_names, dense
from assay.display._flat_map import limits_around, principal_plane, rgb, rows_at, shown_rows
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors

GRID = 220
"""Points a side of the plane at which regions of two features are asked for."""


@draw.register(CentroidClustering)
@draw.register(KCoordinateMedian)
@draw.register(KGeometricMedian)
@draw.register(KMedian)
@draw.register(KMedoids)
@draw.register(KernelKMeans)
@draw.register(SphericalKMeans)
def draw_centers(
    model: Any,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the clusters of data, the centres, or the descent."""
    pictures = {"map": _map, "convergence": _convergence, "restarts": _cluster._restarts}
    if hasattr(model, "cluster_centers_"):
        pictures["centers"] = _cluster._centers
    precomputed = getattr(model, "_is_precomputed", False)
    kind = kind or ("map" if X is not None and not precomputed else _default(model))
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


@draw.register(FuzzyCMeans)
def draw_fuzzy(
    model: FuzzyCMeans,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the degrees to which rows belong to clusters."""
    pictures = {
        "map": _map,
        "memberships": _memberships,
        "centers": _cluster._centers,
        "convergence": _convergence,
        "restarts": _cluster._restarts,
    }
    kind = kind or ("centers" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


def _default(model: Any) -> str:
    return "centers" if hasattr(model, "cluster_centers_") else "convergence"


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Rows in the plane, coloured by cluster, or by a mixture of the colours of fuzzy clusters."""
    require_data(model, "map", X=X)
    points, shown = shown_rows(X)
    table = rows_at(X, shown)
    palette = np.array([rgb(color) for color in colors(model.n_clusters)])
    names = column_names(model, X, feature_names, points.shape[1])
    if points.shape[1] == 1:
        _line(model, points[:, 0], np.asarray(model.predict(table)), names[0], ax)
        return
    plane = principal_plane(points)
    flat = plane.flatten(points)
    centers = dense(model.cluster_centers_) if hasattr(model, "cluster_centers_") else None
    on_sphere = isinstance(model, SphericalKMeans)
    if points.shape[1] == 2:
        limits = limits_around(flat if centers is None or on_sphere else np.vstack([flat, centers]))
        _shade(model, limits, palette, ax)
    crowded = shown.size > 500
    ax.scatter(
        *flat.T,
        c=_mixtures(model, table, palette),
        s=9 if crowded else 22,
        alpha=0.6 if crowded else 0.85,
        edgecolors="white",
        linewidths=0.0 if crowded else 0.3,
        rasterized=shown.size > 1000,
    )
    if centers is not None:
        if on_sphere:
            centers = centers * np.median(np.sqrt((points**2).sum(axis=1)))
        _cluster._mark_centers(plane.flatten(centers), palette, ax)
    ax.grid(visible=False)
    ax.set(title=_title(model), **plane.labels(names))


def _line(model: Any, values: NDArray, labels: NDArray, name: str, ax: Any) -> None:
    """One feature: how many rows lie where, by cluster, and the centres."""
    palette = colors(model.n_clusters)
    edges = np.histogram_bin_edges(values, bins=30 if values.size < 2000 else 60)
    parts = [values[labels == cluster] for cluster in range(model.n_clusters)]
    ax.hist(parts, bins=edges, stacked=True, color=palette, alpha=0.75)
    if hasattr(model, "cluster_centers_") and not isinstance(model, SphericalKMeans):
        for color, center in zip(palette, dense(model.cluster_centers_)[:, 0], strict=True):
            ax.axvline(center, color=color, linewidth=2.0)
    ax.set(xlabel=name, ylabel="rows", title=_title(model))


def _shade(model: Any, limits: tuple[NDArray, NDArray], palette: NDArray, ax: Any) -> None:
    """Colour the plane of two features by the cluster a row there would be given."""
    (left, bottom), (right, top) = limits
    across, up = np.linspace(left, right, GRID), np.linspace(bottom, top, GRID)
    grid = np.column_stack([values.ravel() for values in np.meshgrid(across, up)])
    if hasattr(model, "feature_names_in_"):
        import pandas as pd

        tints = _mixtures(model, pd.DataFrame(grid, columns=model.feature_names_in_), palette)
    else:
        tints = _mixtures(model, grid, palette)
    image = 1.0 - 0.18 * (1.0 - tints.reshape(GRID, GRID, 3))
    ax.imshow(image, origin="lower", extent=(left, right, bottom, top), aspect="auto", zorder=0)
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _mixtures(model: Any, rows: Any, palette: NDArray) -> NDArray:
    """A colour a row: that of its cluster, grey for none, a mixture for degrees of membership."""
    if isinstance(model, FuzzyCMeans):
        return np.clip(np.asarray(model.memberships(rows), dtype=float) @ palette, 0.0, 1.0)
    labels = np.asarray(model.predict(rows))
    tints = palette[np.maximum(labels, 0)]
    tints[labels < 0] = rgb(FAINT_INK)
    return tints


def _memberships(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Stacked degrees of every row, the rows ordered by cluster and by how clearly they belong to it."""
    require_data(model, "memberships", X=X)
    _, shown = shown_rows(X)
    degrees = np.asarray(model.memberships(rows_at(X, shown)), dtype=float)
    labels = degrees.argmax(axis=1)
    order = np.lexsort((-degrees.max(axis=1), labels))
    palette = colors(model.n_clusters)
    ax.stackplot(np.arange(len(order)), degrees[order].T, colors=palette, step="mid", linewidth=0.0)
    borders = np.cumsum(np.bincount(labels, minlength=model.n_clusters))
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
        title=f"memberships, fuzzifier {model.fuzzifier:g}",
    )


def _convergence(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    values = np.asarray(model.inertia_trace_, dtype=float)
    ax.plot(np.arange(values.size), values, "o-", color=PALETTE[0], markersize=4)
    ax.plot(values.size - 1, values[-1], "o", color=ACCENT, markersize=8)
    swaps = hasattr(model, "medoid_indices_") and getattr(model, "method", "") != "alternate"
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(
        xlabel="swaps" if swaps else "iteration",
        ylabel="cost",
        title=f"the cost falls to {values[-1]:.4g}",
    )


def _title(model: Any) -> str:
    what = "medoids" if hasattr(model, "medoid_indices_") else "clusters"
    cost = model.objective_ if isinstance(model, FuzzyCMeans) else model.inertia_
    return f"{model.n_clusters} {what}, cost {cost:.4g}"
