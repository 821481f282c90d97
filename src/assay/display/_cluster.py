"""Pictures of k-means: the map of the clusters, their centres, the restarts and the descent."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import KMeans
from assay.display._columns import MAX_POINTS, column_names, dense, sampled, shortened
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
    shown = sampled(X.shape[0] if hasattr(X, "shape") else len(X), MAX_POINTS)
    points = dense(
        X.iloc[shown] if hasattr(X, "iloc") else (X if hasattr(X, "toarray") else np.asarray(X))[shown]
    )
    centers = dense(model.cluster_centers_)
    labels = _nearest(points, centers)
    names = column_names(model, X, feature_names, centers.shape[1])
    if centers.shape[1] == 1:
        _histogram(points[:, 0], centers[:, 0], labels, names[0], ax)
        return
    origin, axes, share = _plane(points)
    flat, flat_centers = (points - origin) @ axes, (centers - origin) @ axes
    both = np.vstack([flat, flat_centers])
    low, high = both.min(axis=0), both.max(axis=0)
    margin = 0.06 * np.where(high > low, high - low, 1.0)
    limits = low - margin, high + margin
    palette = np.array([_rgb(color) for color in colors(centers.shape[0])])
    _draw_cells(origin, axes, centers, limits, palette, ax)
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
    title = f"{centers.shape[0]} clusters"
    if centers.shape[1] == 2:
        ax.set(xlabel=names[0], ylabel=names[1], title=title)
    else:
        ax.set(
            xlabel=f"first principal axis ({share[0]:.0%} of the variance)",
            ylabel=f"second principal axis ({share[1]:.0%})",
            title=title,
        )


def _draw_cells(
    origin: NDArray,
    axes: NDArray,
    centers: NDArray,
    limits: tuple[NDArray, NDArray],
    palette: NDArray,
    ax: Any,
) -> None:
    """Fill the part of the plane nearest to each centre."""
    (left, bottom), (right, top) = limits
    frame = np.array([(left, bottom), (right, bottom), (right, top), (left, top)])
    for cluster in range(centers.shape[0]):
        cell = _cell(frame, origin, axes, centers, cluster)
        if cell.shape[0] > 2:
            ax.fill(
                *cell.T, facecolor=(*palette[cluster], 0.16), edgecolor=FAINT_INK, linewidth=0.6, zorder=0
            )
    ax.set(xlim=(left, right), ylim=(bottom, top))


def _cell(frame: NDArray, origin: NDArray, axes: NDArray, centers: NDArray, cluster: int) -> NDArray:
    """Corners of the cell of a centre: the frame cut by the half-plane of each other centre.

    A point p = origin + axes z of the plane is nearer to c than to d when (d − c)ᵀp ≤ (‖d‖² − ‖c‖²)/2, which
    is linear in z also when the centres lie off the plane.
    """
    cell = frame
    for other in range(centers.shape[0]):
        if other == cluster:
            continue
        towards = centers[other] - centers[cluster]
        level = towards @ ((centers[other] + centers[cluster]) / 2 - origin)
        cell = _cut(cell, axes.T @ towards, level)
    return cell


def _cut(polygon: NDArray, normal: NDArray, level: float) -> NDArray:
    """The part of a convex polygon where normal·z ≤ level."""
    excess = polygon @ normal - level
    corners = []
    for (start, end), (before, after) in zip(
        zip(polygon, np.roll(polygon, -1, axis=0), strict=True),
        zip(excess, np.roll(excess, -1), strict=True),
        strict=True,
    ):
        if before <= 0:
            corners.append(start)
        if (before <= 0) != (after <= 0):
            corners.append(start + (end - start) * before / (before - after))
    return np.array(corners).reshape(-1, 2)


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


def _plane(points: NDArray) -> tuple[NDArray, NDArray, NDArray]:
    """Origin, two axes and their shares of the variance: the coordinates, or the first principal axes."""
    if points.shape[1] == 2:
        return np.zeros(2), np.eye(2), np.ones(2)
    origin = points.mean(axis=0)
    variances, axes = np.linalg.eigh(np.atleast_2d(np.cov(points - origin, rowvar=False, bias=True)))
    first_two = axes[:, ::-1][:, :2]
    # Signs of eigenvectors are arbitrary: make the largest entry positive, so that pictures do not flip.
    first_two = first_two * np.sign(first_two[np.abs(first_two).argmax(axis=0), [0, 1]])
    total = variances.sum()
    return origin, first_two, variances[::-1][:2] / (total if total > 0 else 1.0)


def _rgb(color: Any) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    return to_rgb(color)
