"""Pictures of silhouettes: sorted bars by cluster, and several partitions side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import PartitionComparison, Silhouette, compare_partitions, silhouette
from assay.display.base import Display, axes_of, drawn_by
from assay.display.cluster.map import ClusterMapDisplay, labels_at
from assay.display.plane import column_names, dense, n_rows, principal_plane, rows_at, sampled, shown_rows
from assay.display.style import ACCENT, DASHES, FAINT_INK, caption, colors, house_style
from assay.parameters import refusal

MAX_ROWS = 2000
"""Of larger tables a sample is measured: the time grows with the square of the number of rows."""

MAX_BARS = 4000
SPACE = 0.02
"""Empty room between two clusters, as a share of all rows."""


class SilhouetteDisplay(Display, needs=("X",)):
    """Silhouettes of a partition: one bar per row, sorted inside each cluster, and their mean.

    The picture of a fitted clusterer measures its rows with its own metric; of more than 2000 rows a fixed
    sample is taken, and said.

    Parameters
    ----------
    values : array of shape (n_rows,)
        NaN for rows left out.
    labels : array of int of shape (n_rows,)
        Place of each row's cluster in `clusters`; −1 for rows left out.
    clusters : array of shape (n_clusters,)
        The labels.
    cluster_weights : array of shape (n_clusters,)
        Rows, or weight, of each cluster.
    mean : float
    n_left_out : int, default=0
        Rows of noise, which have no silhouette.
    metric : str, default="euclidean"
    n_rows : int, optional
        Rows of the whole table, where those measured are a sample.

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> shown = display.SilhouetteDisplay.from_estimator(cluster.KMeans(3, random_state=0).fit(X), X)
    >>> shown.ax_.get_title()
    '3 clusters, mean silhouette 0.551'
    >>> display.plot_silhouette(cluster.silhouette([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])).get_xlabel()
    'silhouette'
    """

    values: NDArray
    labels: NDArray
    clusters: NDArray
    cluster_weights: NDArray
    mean: float
    n_left_out: int = 0
    metric: str = "euclidean"
    n_rows: int | None = None

    @classmethod
    def from_silhouette(cls, widths: Silhouette, *, ax: Any = None) -> Self:
        """Draw the silhouettes of a partition: one bar per row, sorted inside each cluster, and their mean.

        Parameters
        ----------
        widths : Silhouette
            Result of `assay.cluster.silhouette`.
        ax : matplotlib Axes, optional
        """
        return cls._read(widths).plot(ax=ax)

    @classmethod
    def _read(cls, widths: Silhouette, n_rows: int | None = None) -> Self:
        name = widths.metric if isinstance(widths.metric, str) else "a metric of one's own"
        return cls._read_off(widths, metric=name, n_rows=n_rows)

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, metric: Any = None, feature_names: Any = None
    ) -> Self:
        total = n_rows(X)
        shown = sampled(total, MAX_ROWS)
        labels = labels_at(estimator, X, shown)
        if metric is None:  # that of the clusterer; squares are compared by their roots
            own = getattr(estimator, "metric", "euclidean")
            metric = "euclidean" if isinstance(own, str) and own == "sqeuclidean" else own
        n_clusters = np.unique(labels[labels >= 0]).size
        if n_clusters < 2 or n_clusters >= np.count_nonzero(labels >= 0):
            raise ValueError(
                f"The 'silhouette' picture of {type(estimator).__name__} needs at least two clusters, and "
                f"fewer than rows. There are {n_clusters} clusters of "
                f"{np.count_nonzero(labels >= 0)} rows instead."
            )
        rows = rows_at(X, shown)
        if isinstance(metric, str) and metric == "precomputed":
            rows = dense(rows)[:, shown]
        return cls._read(silhouette(rows, labels, metric=metric), total if total > shown.size else None)

    def _draw(self, ax: Any) -> None:
        room = max(1.0, SPACE * self.cluster_weights.sum())
        start, ticks = 0.0, []
        for place, color in enumerate(colors(len(self.clusters))):
            values = np.sort(self.values[self.labels == place])
            heights = start + np.linspace(0.0, self.cluster_weights[place], values.size + 1)
            if values.size > MAX_BARS:
                kept = np.linspace(0, values.size - 1, MAX_BARS).astype(int)
                values, heights = values[kept], np.append(heights[kept], heights[-1])
            ax.stairs(
                values, heights, orientation="horizontal", fill=True, color=color, alpha=0.85, linewidth=0
            )
            ticks.append((heights[0] + heights[-1]) / 2)
            start = heights[-1] + room
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.8)
        ax.axvline(self.mean, color=ACCENT, linewidth=1.4, linestyle=DASHES)
        ax.set_yticks(ticks, [str(cluster) for cluster in self.clusters])
        ax.grid(visible=False, axis="y")
        ax.set_xlim(min(-0.1, float(np.nanmin(self.values)) - 0.05), 1.0)
        usual = self.metric in ("euclidean", "l2", "precomputed")
        xlabel = "silhouette" if usual else f"silhouette ({self.metric})"
        left_out = f", {self.n_left_out} rows left out" if self.n_left_out else ""
        sample = "" if self.n_rows is None else f" of {self.labels.size} of {self.n_rows} rows"
        title = f"{len(self.clusters)} clusters, mean silhouette {self.mean:.3f}{sample}{left_out}"
        caption(ax, xlabel, "cluster", title)


plot_silhouette = drawn_by(SilhouetteDisplay.from_silhouette, "plot_silhouette", axes_of)


def plot_silhouettes(models: Sequence[Any], X: Any, *, metric: Any = "euclidean") -> Any:
    """Draw the silhouettes of several fits, one line each, beside the maps of their clusters.

    Parameters
    ----------
    models : list of fitted clusterers
        With `labels_`, such as `Selection.models`; those with a single cluster are left out.
    X : array-like of shape (n_samples, n_features)
        The rows that they were fitted to.
    metric : str or callable, default="euclidean"

    Returns
    -------
    axes : array of matplotlib Axes of shape (n_models, 2)

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.plot_silhouettes([cluster.KMeans(k, random_state=0).fit(X) for k in (2, 3)], X).shape
    (2, 2)
    """
    shown = [model for model in models if len(np.unique(np.asarray(model.labels_)[model.labels_ != -1])) > 1]
    if not shown:
        raise refusal("plot_silhouettes", "models", "fits with at least two clusters each", models)
    measured = [silhouette(X, model.labels_, metric=metric) for model in shown]
    with house_style():
        import matplotlib.pyplot as plt

        size = (9.0, 2.9 * len(shown))
        axes = plt.subplots(len(shown), 2, figsize=size, layout="constrained", squeeze=False)[1]
    for (left, right), one in zip(axes, measured, strict=True):
        SilhouetteDisplay.from_silhouette(one, ax=left)
        _map(one, X).plot(ax=right)
    lowest = min(left.get_xlim()[0] for left in axes[:, 0])
    for left in axes[:, 0]:
        left.set_xlim(lowest, 1.0)  # one scale for all: the widths are to be compared
    return axes


def _map(widths: Silhouette, X: Any) -> ClusterMapDisplay:
    """The rows in the colours of the bars; of one feature, against their silhouettes."""
    points, shown = shown_rows(X)
    names = column_names(None, X, None, points.shape[1])
    if points.shape[1] == 1:
        flat = np.column_stack([points[:, 0], widths.values[shown]])
        xlabel, ylabel = names[0], "silhouette"
    else:
        plane = principal_plane(points)
        flat = plane.flatten(points)
        xlabel, ylabel = plane.labels(names)
    count = len(widths.clusters)
    return ClusterMapDisplay(flat, widths.labels[shown], count, xlabel, ylabel, f"{count} clusters")


MAX_BESIDE = 6
"""Classes whose bars stand beside each other; more are stacked."""

MAX_NAMED = 12


class PartitionDisplay(Display, needs=("X", "y")):
    """The histogram of the true classes inside each cluster, stacked where there are many classes.

    `from_estimator(model, X, y)` compares the clusters that a model gives rows with their classes.

    Parameters
    ----------
    contingency : array of int of shape (n_classes, n_clusters)
        Rows of each class in each cluster.
    classes, clusters : arrays
        The labels.
    matched_accuracy, adjusted_rand : float

    Examples
    --------
    >>> from assay.cluster import compare_partitions
    >>> from assay.display import PartitionDisplay, plot_partition
    >>> PartitionDisplay.from_comparison(compare_partitions([0, 0, 1, 1], [1, 1, 0, 1])).contingency
    array([[0, 2],
           [1, 1]])
    >>> plot_partition(compare_partitions([0, 0, 1, 1], [1, 1, 0, 1])).get_ylabel()
    'rows'
    """

    contingency: NDArray
    classes: NDArray
    clusters: NDArray
    matched_accuracy: float
    adjusted_rand: float

    @classmethod
    def from_comparison(cls, comparison: PartitionComparison, *, ax: Any = None) -> Self:
        """Draw the histogram of the true classes inside each cluster, stacked where there are many classes.

        Parameters
        ----------
        comparison : PartitionComparison
            Result of `assay.cluster.compare_partitions`.
        ax : matplotlib Axes, optional
        """
        return cls._read_off(comparison).plot(ax=ax)

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        labels = labels_at(estimator, X, np.arange(n_rows(X)))
        return cls._read_off(compare_partitions(np.asarray(y), labels))

    def _draw(self, ax: Any) -> None:
        n_classes, n_clusters = self.contingency.shape
        stacked = n_classes > MAX_BESIDE
        places, bottom = np.arange(n_clusters), np.zeros(n_clusters)
        width = 0.8 if stacked else 0.8 / n_classes
        for order, (name, color) in enumerate(zip(self.classes, colors(n_classes), strict=True)):
            middle = places if stacked else places - 0.4 + (order + 0.5) * width
            counts = self.contingency[order]
            ax.bar(middle, counts, 0.92 * width, bottom=bottom, color=color, label=f"class {name}")
            bottom = bottom + counts if stacked else bottom
        ax.set_xticks(np.arange(n_clusters), [str(name) for name in self.clusters])
        ax.grid(visible=False, axis="x")
        if n_classes <= MAX_NAMED:
            ax.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        scores = f"matched accuracy {self.matched_accuracy:.3f}, adjusted Rand {self.adjusted_rand:.3f}"
        caption(ax, "cluster", "rows", f"classes in each cluster: {scores}")


plot_partition = drawn_by(PartitionDisplay.from_comparison, "plot_partition", axes_of)
