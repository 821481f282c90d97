"""Pictures of silhouettes: sorted bars by cluster, and several partitions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.cluster import Silhouette, silhouette
from assay.display._columns import column_names
from assay.display._flat_map import principal_plane, rgb, shown_rows
from assay.display._style import ACCENT, FAINT_INK, colors, house_style, new_axes
from assay.parameters import refusal

MAX_BARS = 4000
SPACE = 0.02
"""Empty room between two clusters, as a share of all rows."""


def plot_silhouette(found: Silhouette, *, ax: Any = None) -> Any:
    """Draw the silhouettes of a partition: one bar a row, sorted inside each cluster, and their mean.

    Parameters
    ----------
    found : Silhouette
        Result of `assay.cluster.silhouette`.
    ax : matplotlib Axes, optional

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay.cluster import silhouette
    >>> from assay.display import plot_silhouette
    >>> plot_silhouette(silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])).get_xlabel()
    'silhouette'
    """
    with house_style():
        axes = new_axes(ax)
        _bars(found, axes)
        return axes


def plot_silhouettes(models: Sequence[Any], X: Any, *, metric: Any = "euclidean") -> Any:
    """Draw the silhouettes of several fits, one line each, beside the maps of their clusters.

    Parameters
    ----------
    models : list of fitted clusterers
        With `labels_`, such as `ClusterSelection.models`; those with a single cluster are left out.
    X : array-like of shape (n_samples, n_features)
        The rows that they were fitted to.
    metric : str or callable, default="euclidean"

    Returns
    -------
    axes : array of matplotlib Axes of shape (n_models, 2)

    Examples
    --------
    >>> from assay.cluster import KMeans
    >>> from assay.datasets import iris
    >>> from assay.display import plot_silhouettes
    >>> X, _ = iris(return_X_y=True)
    >>> plot_silhouettes([KMeans(k, random_state=0).fit(X) for k in (2, 3)], X).shape
    (2, 2)
    """
    shown = [model for model in models if len(np.unique(np.asarray(model.labels_)[model.labels_ != -1])) > 1]
    if not shown:
        raise refusal("plot_silhouettes", "models", "fits with at least two clusters each", models)
    with house_style():
        import matplotlib.pyplot as plt

        size = (9.0, 2.9 * len(shown))
        axes = plt.subplots(len(shown), 2, figsize=size, layout="constrained", squeeze=False)[1]
        for (left, right), model in zip(axes, shown, strict=True):
            found = silhouette(X, model.labels_, metric=metric)
            _bars(found, left)
            _map(found, X, right)
        limits = [left.get_xlim()[0] for left in axes[:, 0]]
        for left in axes[:, 0]:
            left.set_xlim(min(limits), 1.0)  # one scale for all: the widths are to be compared
        return axes


def _bars(found: Silhouette, ax: Any) -> None:
    room = max(1.0, SPACE * found.cluster_weights.sum())
    start, ticks = 0.0, []
    for place, color in enumerate(colors(len(found.clusters))):
        values = np.sort(found.values[found.labels == place])
        heights = start + np.linspace(0.0, found.cluster_weights[place], values.size + 1)
        if values.size > MAX_BARS:
            kept = np.linspace(0, values.size - 1, MAX_BARS).astype(int)
            values, heights = values[kept], np.append(heights[kept], heights[-1])
        ax.stairs(values, heights, orientation="horizontal", fill=True, color=color, alpha=0.85, linewidth=0)
        ticks.append((heights[0] + heights[-1]) / 2)
        start = heights[-1] + room
    ax.axvline(0.0, color=FAINT_INK, linewidth=0.8)
    ax.axvline(found.mean, color=ACCENT, linewidth=1.4, linestyle=(0, (4, 3)))
    ax.set_yticks(ticks, [str(cluster) for cluster in found.clusters])
    ax.grid(visible=False, axis="y")
    least = float(np.nanmin(found.values))
    ax.set_xlim(min(-0.1, least - 0.05), 1.0)
    left_out = f", {found.n_left_out} rows left out" if found.n_left_out else ""
    ax.set(
        xlabel="silhouette",
        ylabel="cluster",
        title=f"{len(found.clusters)} clusters, mean silhouette {found.mean:.3f}{left_out}",
    )


def _map(found: Silhouette, X: Any, ax: Any) -> None:
    points, shown = shown_rows(X)
    names = column_names(None, X, None, points.shape[1])
    palette = np.array([*(rgb(color) for color in colors(len(found.clusters))), rgb(FAINT_INK)])
    if points.shape[1] == 1:
        flat = np.column_stack([points[:, 0], found.values[shown]])
        ax.set(xlabel=names[0], ylabel="silhouette")
    else:
        plane = principal_plane(points)
        flat = plane.flatten(points)
        ax.set(**plane.labels(names))
    inside: NDArray = found.labels[shown]
    ax.scatter(*flat.T, c=palette[inside], s=13, alpha=0.8, linewidths=0, rasterized=shown.size > 1000)
    ax.grid(visible=False)
    ax.set_title(f"{len(found.clusters)} clusters")
