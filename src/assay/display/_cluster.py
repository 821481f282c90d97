"""Pictures of k-means: the map of the clusters, their centres, the restarts and the descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import KMeans
from assay.display._columns import column_names, dense, shortened
from assay.display._flat_map import Plane, limits_around, principal_plane, regions, rgb, shown_rows
from assay.display._registry import choose, draw, require_data
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors

MAX_NUMBERED_CENTERS = 30
MAX_WRITTEN_CELLS = 80


@draw.register(KMeans)
def draw_kmeans(
    model: KMeans,
    X: Any = None,
    y: Any = None,
    *,
    ax: Any,
    kind: str | None = None,
    feature_names: Any = None,
) -> None:
    """Draw the clusters of data, or the centres."""
    pictures = {"map": _map, "centers": _centers, "restarts": _restarts, "convergence": _convergence}
    kind = kind or ("centers" if X is None else "map")
    choose(model, kind, pictures)(model, X, ax=ax, feature_names=feature_names)


def _map(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    require_data(model, "map", X=X)
    points, shown = shown_rows(X)
    centers = dense(model.cluster_centers_)
    labels = _nearest(points, centers)
    names = column_names(model, X, feature_names, centers.shape[1])
    if centers.shape[1] == 1:
        _histogram(points[:, 0], centers[:, 0], labels, names[0], ax)
        return
    plane = principal_plane(points)
    flat, flat_centers = plane.flatten(points), plane.flatten(centers)
    palette = np.array([rgb(color) for color in colors(centers.shape[0])])
    _draw_cells(plane, limits_around(np.vstack([flat, flat_centers])), centers, palette, ax)
    crowded = shown.size > 500
    ax.scatter(
        *flat.T,
        c=palette[labels],
        s=9 if crowded else 22,
        alpha=0.6 if crowded else 0.85,
        edgecolors="white",
        linewidths=0.0 if crowded else 0.3,
        rasterized=shown.size > 1000,
    )
    _mark_centers(flat_centers, palette, ax)
    ax.grid(visible=False)
    ax.set(title=f"{centers.shape[0]} clusters", **plane.labels(names))


def _draw_cells(
    plane: Plane, limits: tuple[NDArray, NDArray], centers: NDArray, palette: NDArray, ax: Any
) -> None:
    """Fill the part of the plane nearest to each centre, also where centres lie off the plane."""
    apart = centers - plane.lift((limits[0] + limits[1]) / 2)
    cells = regions(limits, apart @ plane.axes, -(apart**2).sum(axis=1) / 2)
    for color, cell in zip(palette, cells, strict=True):
        if cell.shape[0] > 2:
            ax.fill(*cell.T, facecolor=(*color, 0.16), edgecolor=FAINT_INK, linewidth=0.6, zorder=0)
    (left, bottom), (right, top) = limits
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _mark_centers(flat_centers: NDArray, palette: NDArray, ax: Any) -> None:
    numbered = flat_centers.shape[0] <= MAX_NUMBERED_CENTERS
    ax.scatter(
        *flat_centers.T, s=190 if numbered else 40, c="white", edgecolors=palette, linewidths=2.2, zorder=5
    )
    if numbered:
        for cluster, (x, y) in enumerate(flat_centers):
            ax.annotate(
                str(cluster),
                (x, y),
                ha="center",
                va="center_baseline",
                fontsize=8.5,
                fontweight="bold",
                color="black",
                zorder=6,
            )


def _histogram(values: NDArray, centers: NDArray, labels: NDArray, name: str, ax: Any) -> None:
    palette = colors(centers.size)
    edges = np.histogram_bin_edges(values, bins=30 if values.size < 2000 else 60)
    parts = [values[labels == cluster] for cluster in range(centers.size)]
    ax.hist(parts, bins=edges, stacked=True, color=palette, alpha=0.75)
    for color, center in zip(palette, centers, strict=True):
        ax.axvline(center, color=color, linewidth=2.0)
    borders = np.sort(centers)
    for border in (borders[:-1] + borders[1:]) / 2:
        ax.axvline(border, color=FAINT_INK, linewidth=0.9, linestyle=(0, (4, 3)))
    ax.set(xlabel=name, ylabel="rows", title=f"{centers.size} clusters")


def _centers(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """A heat map: one line a cluster, one column a feature, colours from the least to the greatest centre."""
    centers = dense(model.cluster_centers_)
    names = column_names(model, X, feature_names, centers.shape[1])
    low, high = centers.min(axis=0), centers.max(axis=0)
    level = (centers - low) / np.where(high > low, high - low, 1.0)
    ax.imshow(level, aspect="auto", cmap="Blues", vmin=-0.15, vmax=1.15)
    if centers.size <= MAX_WRITTEN_CELLS:
        for (row, column), value in np.ndenumerate(centers):
            ink = "white" if level[row, column] > 0.6 else "#24292e"
            ax.annotate(f"{value:.3g}", (column, row), ha="center", va="center", fontsize=9, color=ink)
    few = centers.shape[1] <= 24
    tilted = few and max(map(len, names)) * len(names) > 60
    ax.set_xticks(
        np.arange(centers.shape[1]) if few else [],
        [shortened(name, 18) for name in names] if few else [],
        rotation=35 if tilted else 0,
        ha="right" if tilted else "center",
    )
    ax.set_yticks(np.arange(centers.shape[0]))
    ax.grid(visible=False)
    ax.set(ylabel="cluster", title="centres of the clusters", xlabel="" if few else f"{len(names)} features")


def _restarts(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    values = np.asarray(model.restart_inertias_, dtype=float)
    best = int(np.argmin(values))
    numbers = np.arange(1, values.size + 1)
    ax.vlines(numbers, values.min(), values, color=PALETTE[0], linewidth=1.2, alpha=0.5)
    ax.plot(numbers, values, "o", color=PALETTE[0], markersize=6)
    ax.plot(numbers[best], values[best], "o", color=ACCENT, markersize=9)
    ax.axhline(values.min(), color=ACCENT, linewidth=1.0, linestyle=(0, (4, 3)), zorder=1)
    # Restarts that agree but for rounding must look equal: the axis shows at least a few percent.
    room = max(0.06 * np.ptp(values), 0.02 * values.max(), 1e-12)
    ax.set_ylim(values.min() - room, values.max() + room)
    reached = int(np.sum(values <= values.min() * (1 + 1e-6)))
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(
        xlabel="restart",
        ylabel="inertia",
        title=f"{reached} of {values.size} restarts reach the least inertia, {values.min():.4g}",
    )


def _convergence(model: Any, X: Any, *, ax: Any, feature_names: Any) -> None:
    """Inertia after every half-step: assignments at whole numbers, updates of the centres between them."""
    values = np.asarray(model.inertia_trace_, dtype=float)
    half_steps = np.arange(values.size) / 2
    ax.plot(half_steps, values, color=PALETTE[0])
    ax.plot(half_steps[::2], values[::2], "o", color=PALETTE[0], markersize=5, label="rows assigned")
    ax.plot(half_steps[1::2], values[1::2], "o", color=ACCENT, markersize=5, label="centres updated")
    ax.legend()
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="iteration", ylabel="inertia", title=f"inertia falls to {values[-1]:.4g}")


def _nearest(points: NDArray, centers: NDArray) -> NDArray:
    return np.argmin((centers**2).sum(axis=1) - 2.0 * points @ centers.T, axis=1)
