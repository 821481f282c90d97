"""Pictures of the choice of k: elbows, gaps, penalties, score curves; and of clusters against classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from assay.cluster import ClusterSelection, PartitionComparison, find_elbow
from assay.display._registry import choose
from assay.display._style import ACCENT, FAINT_INK, PALETTE, colors, house_style, new_axes

DASHES = (0, (4, 3))
MAX_BESIDE = 6
"""Classes whose bars stand beside each other; more are stacked."""

WORDS = {
    "elbow": "inertia within clusters",
    "elbow_decrease": "decrease of the inertia to the next",
    "gap": "gap",
    "silhouette": "mean silhouette",
    "calinski_harabasz": "Calinski–Harabasz index",
    "davies_bouldin": "Davies–Bouldin index",
    "eigengap": "gap to the next eigenvalue",
    "penalised": "penalised inertia",
    "stability": "agreement with resamples",
    "bic": "BIC",
    "aic": "AIC",
}


def plot_selection(selection: ClusterSelection, *, kind: str | None = None, ax: Any = None) -> Any:
    """Draw the curve of a selection, its choice, and what the criterion compares.

    Parameters
    ----------
    selection : ClusterSelection
        Result of `assay.cluster.select_k`.
    kind : {"curve", "breakpoints", "inertias", "eigenvalues"}, optional
        "curve" (default) shows the criterion, with error bars where it has standard errors; "breakpoints" (of
        "penalised", its default) the choice against λ; "inertias" (of "gap") log W with its expectation;
        "eigenvalues" (of "eigengap") the spectrum.
    ax : matplotlib Axes, optional

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from assay.cluster import KMeans, select_k
    >>> from assay.datasets import iris
    >>> from assay.display import plot_selection
    >>> X, _ = iris(return_X_y=True)
    >>> plot_selection(select_k(KMeans, X, range(2, 6), random_state=0)).get_ylabel()
    'mean silhouette'
    """
    pictures = {"curve": _elbow if selection.criterion == "elbow" else _curve}
    special = {
        "penalised": ("breakpoints", _breakpoints),
        "gap": ("inertias", _inertias),
        "eigengap": ("eigenvalues", _eigenvalues),
    }
    if selection.criterion in special:
        name, picture = special[selection.criterion]
        pictures[name] = picture
    kind = kind or ("breakpoints" if selection.criterion == "penalised" else "curve")
    picture = choose(selection, kind, pictures)
    with house_style():
        axes = new_axes(ax)
        picture(selection, axes)
        return axes


def plot_elbow(values: ArrayLike, curve: ArrayLike, *, ax: Any = None) -> Any:
    """Draw a falling curve with its chord, the point farthest below it, and the verdict.

    Parameters
    ----------
    values, curve : arrays of shape (n_values,)
        As in `assay.cluster.find_elbow`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.display import plot_elbow
    >>> plot_elbow([1, 2, 3, 4, 5], [100.0, 60.0, 20.0, 16.0, 13.0]).get_title()
    'elbow at 3'
    """
    found = find_elbow(values, curve)
    x, y = np.asarray(values, dtype=float), np.asarray(curve, dtype=float)
    with house_style():
        axes = new_axes(ax)
        axes.plot(x, y, "o-", color=PALETTE[0], markersize=5)
        axes.plot(x[[0, -1]], y[[0, -1]], color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
        foot = y[0] + (y[-1] - y[0]) * (found.value - x[0]) / (x[-1] - x[0])
        axes.vlines(found.value, y[found.place], foot, color=ACCENT, linewidth=1.2, linestyle=(0, (1, 2)))
        axes.plot(found.value, y[found.place], "o", color=ACCENT, markersize=9)
        if found.ambiguous and found.bend != found.value:
            bend = int(np.flatnonzero(x == found.bend)[0])
            axes.plot(x[bend], y[bend], "o", markersize=11, markerfacecolor="none", markeredgecolor=ACCENT)
            axes.annotate(
                "sharpest bend",
                (x[bend], y[bend]),
                xytext=(9, 9),
                textcoords="offset points",
                fontsize=9,
                color=ACCENT,
            )
        axes.set_ylim(bottom=min(0.0, y.min()))
        axes.xaxis.get_major_locator().set_params(integer=True)
        doubt = "? (no clear one)" if found.ambiguous else ""
        axes.set(
            xlabel="number of clusters",
            ylabel=WORDS["elbow"],
            title=f"elbow at {found.value:g}{doubt}",
        )
        return axes


def plot_partition(comparison: PartitionComparison, *, ax: Any = None) -> Any:
    """Draw the histogram of the true classes inside each cluster, stacked where there are many classes.

    Parameters
    ----------
    comparison : PartitionComparison
        Result of `assay.cluster.compare_partitions`.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.cluster import compare_partitions
    >>> from assay.display import plot_partition
    >>> plot_partition(compare_partitions([0, 0, 1, 1], [1, 1, 0, 1])).get_ylabel()
    'rows'
    """
    with house_style():
        axes = new_axes(ax)
        n_classes, n_clusters = comparison.contingency.shape
        stacked = n_classes > MAX_BESIDE
        places, bottom = np.arange(n_clusters), np.zeros(n_clusters)
        width = 0.8 if stacked else 0.8 / n_classes
        for order, (name, color) in enumerate(zip(comparison.classes, colors(n_classes), strict=True)):
            middle = places if stacked else places - 0.4 + (order + 0.5) * width
            counts = comparison.contingency[order]
            axes.bar(middle, counts, 0.92 * width, bottom=bottom, color=color, label=f"class {name}")
            bottom = bottom + counts if stacked else bottom
        axes.set_xticks(np.arange(n_clusters), [str(name) for name in comparison.clusters])
        axes.grid(visible=False, axis="x")
        if n_classes <= 12:
            axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
        axes.set(
            xlabel="cluster",
            ylabel="rows",
            title=f"classes in each cluster: matched accuracy {comparison.matched_accuracy:.3f}, "
            f"adjusted Rand {comparison.adjusted_rand:.3f}",
        )
        return axes


def _elbow(selection: ClusterSelection, ax: Any) -> None:
    plot_elbow(np.array(selection.values, dtype=float), selection.curve, ax=ax)


def _curve(selection: ClusterSelection, ax: Any) -> None:
    numeric = all(isinstance(value, (int, float)) for value in selection.values)
    x = np.array(selection.values, dtype=float) if numeric else np.arange(len(selection.values), dtype=float)
    if selection.standard_error is None:
        ax.plot(x, selection.curve, "o-", color=PALETTE[0], markersize=5)
    else:
        ax.errorbar(
            x, selection.curve, selection.standard_error, fmt="o-", color=PALETTE[0], markersize=5, capsize=3
        )
    at = selection.index
    if np.isfinite(selection.curve[at]):
        ax.plot(x[at], selection.curve[at], "o", color=ACCENT, markersize=9, zorder=5)
    ax.axvline(x[at], color=ACCENT, linewidth=1.1, linestyle=(0, (1, 2)), zorder=1)
    if selection.criterion == "elbow_decrease":
        ax.axhline(selection.details, color=FAINT_INK, linewidth=1.0, linestyle=DASHES, label="threshold")
        ax.set_ylim(bottom=min(0.0, float(np.nanmin(selection.curve))))
        ax.legend()
    if not numeric:
        ax.set_xticks(x, [str(value) for value in selection.values])
    elif np.all(x == np.round(x)):
        ax.xaxis.get_major_locator().set_params(integer=True)
    _name(selection, ax, WORDS[selection.criterion])


def _inertias(selection: ClusterSelection, ax: Any) -> None:
    found = selection.details
    ax.plot(selection.values, found.log_within, "o-", color=PALETTE[0], markersize=5, label="rows")
    ax.errorbar(
        selection.values,
        found.expected,
        found.standard_error,
        fmt="o-",
        color=PALETTE[1],
        markersize=5,
        capsize=3,
        label=f"mean of {len(found.reference_log_within)} references",
    )
    at = selection.index
    ends = [found.log_within[at], found.expected[at]]
    ax.plot([selection.best] * 2, ends, color=ACCENT, linewidth=1.6, linestyle=(0, (1, 2)), label="gap")
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.legend()
    _name(selection, ax, "log inertia within clusters")


def _eigenvalues(selection: ClusterSelection, ax: Any) -> None:
    values = selection.details.values
    ax.plot(np.arange(1, values.size + 1), values, "o", color=PALETTE[0], markersize=6)
    k = int(selection.best)
    ax.vlines(k + 0.5, values[k - 1], values[k], color=ACCENT, linewidth=2.0)
    ax.plot([k, k + 1], values[k - 1 : k + 1], "o", color=ACCENT, markersize=7)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="rank", ylabel="eigenvalue", title=f"largest gap after eigenvalue {k}")


def _breakpoints(selection: ClusterSelection, ax: Any) -> None:
    """The chosen number of clusters as a staircase in λ."""
    path = selection.details
    if not path.breakpoints.size:
        ax.axhline(path.values[0], color=PALETTE[0])
    else:
        ends = np.array([path.breakpoints[-1] / 4, path.breakpoints[0] * 4])
        edges = np.concatenate([ends[:1], path.breakpoints[::-1], ends[1:]])
        ax.stairs(path.values[::-1], edges, baseline=None, color=PALETTE[0], linewidth=1.8)
        place = int(np.flatnonzero(path.values == float(selection.best))[0])
        low, high = max(path.lower[place], ends[0]), min(path.upper[place], ends[1])
        ax.plot([low, high], [selection.best] * 2, color=ACCENT, linewidth=4.0, solid_capstyle="butt")
        ax.set_xscale("log")
    ax.yaxis.get_major_locator().set_params(integer=True)
    ax.set(xlabel="penalty λ", ylabel="number of clusters")
    ax.set_title(f"J(K) + λK chooses {selection.best} over the marked range")


def _name(selection: ClusterSelection, ax: Any, quantity: str) -> None:
    counts = selection.parameter.rpartition("__")[2] == "n_clusters"
    doubt = "?" if selection.ambiguous else ""
    ax.set(
        xlabel="number of clusters" if counts else selection.parameter,
        ylabel=quantity,
        title=f"{selection.criterion.replace('_', ' ')} chooses {selection.best}{doubt}",
    )
