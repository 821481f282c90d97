"""The choice of a number of clusters: the criterion at each value, the elbow, and what criteria compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.cluster import find_elbow
from assay.display.base import axes_of, drawn_by
from assay.display.linear.pictures import OfSelection, SelectionDisplay
from assay.display.neighbors.paths import NeighborPathDisplay
from assay.display.registry import choose
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, write_beside
from assay.display.trees.pruning import PruningSelectionDisplay
from assay.models import Selection

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


class SelectionOfKDisplay(OfSelection):
    """The curve of a criterion, with its errors, and the value chosen.

    Parameters
    ----------
    values : sequence
        The values that were tried, numbers of clusters as a rule.
    curve : array of shape (n_values,)
        The criterion at each; NaN where it has none.
    index : int
        Place of the value chosen.
    standard_error : array of shape (n_values,) or None
    threshold : float or None
        Decreases below it count as small.
    xlabel, ylabel, title : str

    Examples
    --------
    >>> from assay import cluster, datasets, display
    >>> chosen = cluster.select_k(cluster.KMeans, datasets.iris().X, range(2, 6), random_state=0)
    >>> display.SelectionOfKDisplay.from_selection(chosen).curve.shape
    (4,)
    """

    values: Sequence[Any]
    curve: NDArray
    index: int
    standard_error: NDArray | None
    threshold: float | None
    xlabel: str
    ylabel: str
    title: str

    @classmethod
    def _read(cls, selection: Selection) -> Self:
        small = float(selection.details) if selection.criterion == "elbow_decrease" else None
        words = parameter_words(selection), WORDS[selection.criterion], verdict(selection)
        error = selection.standard_error
        return cls(list(selection.values), selection.curve, selection.index, error, small, *words)

    def _draw(self, ax: Any) -> None:
        numeric = all(isinstance(value, (int, float, np.integer, np.floating)) for value in self.values)
        x = np.array(self.values if numeric else range(len(self.values)), dtype=float)
        if self.standard_error is None:
            ax.plot(x, self.curve, "o-", color=PALETTE[0], markersize=5)
        else:
            ax.errorbar(
                x, self.curve, self.standard_error, fmt="o-", color=PALETTE[0], markersize=5, capsize=3
            )
        at = self.index
        if np.isfinite(self.curve[at]):
            ax.plot(x[at], self.curve[at], "o", color=ACCENT, markersize=9, zorder=5)
        ax.axvline(x[at], color=ACCENT, linewidth=1.1, linestyle=(0, (1, 2)), zorder=1)
        if self.threshold is not None:
            ax.axhline(self.threshold, color=FAINT_INK, linewidth=1.0, linestyle=DASHES, label="threshold")
            ax.set_ylim(bottom=min(0.0, float(np.nanmin(self.curve))))
            ax.legend()
        if not numeric:
            ax.set_xticks(x, [str(value) for value in self.values])
        elif np.all(x == np.round(x)):
            ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


class ElbowDisplay(OfSelection):
    """A falling curve with its chord, the point farthest below it, and the verdict.

    Parameters
    ----------
    values, curve : arrays of shape (n_values,)
    elbow : float
        The value where the curve is farthest below its chord.
    bend : float
        The value where it bends most.
    ambiguous : bool
        Whether the curve leaves the choice in doubt.

    Examples
    --------
    >>> from assay.display import ElbowDisplay, plot_elbow
    >>> ElbowDisplay.from_curve([1, 2, 3, 4, 5], [100.0, 60.0, 20.0, 16.0, 13.0]).elbow
    3.0
    >>> plot_elbow([1, 2, 3, 4, 5], [100.0, 60.0, 20.0, 16.0, 13.0]).get_title()
    'elbow at 3'
    """

    values: NDArray
    curve: NDArray
    elbow: float
    bend: float
    ambiguous: bool

    @classmethod
    def from_curve(cls, values: ArrayLike, curve: ArrayLike, *, ax: Any = None) -> Self:
        """Draw a falling curve with its chord, the point farthest below it, and the verdict.

        Parameters
        ----------
        values, curve : arrays of shape (n_values,)
            As in `assay.cluster.find_elbow`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        """
        return cls._of_curve(values, curve).plot(ax=ax)

    @classmethod
    def _of_curve(cls, values: ArrayLike, curve: ArrayLike) -> Self:
        elbow = find_elbow(values, curve)
        x, y = np.asarray(values, dtype=float), np.asarray(curve, dtype=float)
        return cls(x, y, float(elbow.value), float(elbow.bend), bool(elbow.ambiguous))

    @classmethod
    def _read(cls, selection: Selection) -> Self:
        return cls._of_curve(np.array(selection.values, dtype=float), selection.curve)

    def _draw(self, ax: Any) -> None:
        x, y = self.values, self.curve
        place = int(np.flatnonzero(x == self.elbow)[0])
        ax.plot(x, y, "o-", color=PALETTE[0], markersize=5)
        ax.plot(x[[0, -1]], y[[0, -1]], color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
        foot = y[0] + (y[-1] - y[0]) * (self.elbow - x[0]) / (x[-1] - x[0])
        ax.vlines(self.elbow, y[place], foot, color=ACCENT, linewidth=1.2, linestyle=(0, (1, 2)))
        ax.plot(self.elbow, y[place], "o", color=ACCENT, markersize=9)
        if self.ambiguous and self.bend != self.elbow:
            bend = int(np.flatnonzero(x == self.bend)[0])
            ax.plot(x[bend], y[bend], "o", markersize=11, markerfacecolor="none", markeredgecolor=ACCENT)
            write_beside("sharpest bend", (x[bend], y[bend]), ax, by=(9, 9), color=ACCENT, va="baseline")
        ax.set_ylim(bottom=min(0.0, y.min()))
        ax.xaxis.get_major_locator().set_params(integer=True)
        doubt = "? (no clear one)" if self.ambiguous else ""
        ax.set(xlabel="number of clusters", ylabel=WORDS["elbow"], title=f"elbow at {self.elbow:g}{doubt}")


def parameter_words(selection: Selection) -> str:
    """What was varied."""
    counts = selection.parameter.rpartition("__")[2] == "n_clusters"
    return "number of clusters" if counts else selection.parameter


def verdict(selection: Selection) -> str:
    """What the criterion chose, with a question mark where it is in doubt."""
    doubt = "?" if selection.ambiguous else ""
    return f"{selection.criterion.replace('_', ' ')} chooses {selection.best}{doubt}"


class ReferenceInertiasDisplay(OfSelection):
    """Log inertia of the rows against that of tables without clusters: the gap statistic is their distance.

    Parameters
    ----------
    values : sequence of int
        Numbers of clusters.
    log_within, expected, standard_error : arrays of shape (n_values,)
        Of the rows, the mean of the references, and its standard error.
    n_references : int
    index : int
        Place of the value chosen.
    xlabel, title : str

    Examples
    --------
    >>> from assay.cluster import KMeans, select_k
    >>> from assay.datasets import iris
    >>> from assay.display import ReferenceInertiasDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> chosen = select_k(KMeans, X, range(1, 5), criterion="gap", n_references=3, random_state=0)
    >>> ReferenceInertiasDisplay.from_selection(chosen).n_references
    3
    """

    values: Sequence[Any]
    log_within: NDArray
    expected: NDArray
    standard_error: NDArray
    n_references: int
    index: int
    xlabel: str
    title: str

    @classmethod
    def _read(cls, selection: Selection) -> Self:
        gap, words = selection.details, (parameter_words(selection), verdict(selection))
        curves = gap.log_within, gap.expected, gap.standard_error
        counts = len(gap.reference_log_within), selection.index
        return cls(list(selection.values), *curves, *counts, *words)

    def _draw(self, ax: Any) -> None:
        ax.plot(self.values, self.log_within, "o-", color=PALETTE[0], markersize=5, label="rows")
        name = f"mean of {self.n_references} references"
        look = {"fmt": "o-", "color": PALETTE[1], "markersize": 5, "capsize": 3, "label": name}
        ax.errorbar(self.values, self.expected, self.standard_error, **look)
        at = self.index
        ends = [self.log_within[at], self.expected[at]]
        ax.plot([self.values[at]] * 2, ends, color=ACCENT, linewidth=1.6, linestyle=(0, (1, 2)), label="gap")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
        ax.set(xlabel=self.xlabel, ylabel="log inertia within clusters", title=self.title)


class EigengapDisplay(OfSelection):
    """The spectrum of a graph, and its largest gap.

    Parameters
    ----------
    eigenvalues : array of shape (n_eigenvalues,)
        In increasing order.
    n_clusters : int
        Number of eigenvalues before the gap.

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import EigengapDisplay
    >>> EigengapDisplay(np.array([0.0, 0.01, 0.6, 0.7]), 2).plot().ax_.get_title()
    'largest gap after eigenvalue 2'
    """

    eigenvalues: NDArray
    n_clusters: int

    @classmethod
    def _read(cls, selection: Selection) -> Self:
        return cls(np.asarray(selection.details.values), int(selection.best))

    def _draw(self, ax: Any) -> None:
        values, k = self.eigenvalues, self.n_clusters
        ax.plot(np.arange(1, values.size + 1), values, "o", color=PALETTE[0], markersize=6)
        ax.vlines(k + 0.5, values[k - 1], values[k], color=ACCENT, linewidth=2.0)
        ax.plot([k, k + 1], values[k - 1 : k + 1], "o", color=ACCENT, markersize=7)
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="rank", ylabel="eigenvalue", title=f"largest gap after eigenvalue {k}")


class BreakpointsDisplay(OfSelection):
    """The number of clusters that minimises J(K) + λK as a staircase in λ, the one chosen marked.

    Parameters
    ----------
    values : array of shape (n_steps,)
        The numbers that some λ chooses, in increasing order.
    breakpoints : array of shape (n_steps − 1,)
        The λ between them, in decreasing order.
    chosen : float

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import BreakpointsDisplay
    >>> display = BreakpointsDisplay(np.array([1.0, 3.0, 4.0]), np.array([50.0, 2.0]), 3)
    >>> display.plot().ax_.get_title()
    'J(K) + λK chooses 3 over the marked range'
    """

    values: NDArray
    breakpoints: NDArray
    chosen: float

    @classmethod
    def _read(cls, selection: Selection) -> Self:
        return cls(selection.details.values, selection.details.breakpoints, selection.best)

    def _draw(self, ax: Any) -> None:
        if not self.breakpoints.size:
            ax.axhline(self.values[0], color=PALETTE[0])
        else:
            ends = np.array([self.breakpoints[-1] / 4, self.breakpoints[0] * 4])
            edges = np.concatenate([ends[:1], self.breakpoints[::-1], ends[1:]])
            ax.stairs(self.values[::-1], edges, baseline=None, color=PALETTE[0], linewidth=1.8)
            # Steps run from the largest number of clusters, at the least λ, to the smallest.
            place = len(self.values) - 1 - int(np.flatnonzero(self.values == float(self.chosen))[0])
            step = edges[place : place + 2], [self.chosen] * 2
            ax.plot(*step, color=ACCENT, linewidth=4.0, solid_capstyle="butt")
            ax.set_xscale("log")
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="penalty λ", ylabel="number of clusters")
        ax.set_title(f"J(K) + λK chooses {self.chosen} over the marked range")


SPECIAL: dict[str, dict[str, Any]] = {
    "penalised": {"breakpoints": BreakpointsDisplay},
    "gap": {"inertias": ReferenceInertiasDisplay},
    "eigengap": {"eigenvalues": EigengapDisplay},
}
"""What a criterion compares, beside its curve."""


def plot_selection(selection: Selection, *, kind: str | None = None, ax: Any = None) -> Any:
    """Draw the curve of a selection, its choice, and what the criterion compares.

    Parameters
    ----------
    selection : Selection
        Result of `assay.cluster.select_k`, or of the `select` of a model with a penalty.
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
    >>> from assay import cluster, datasets, display
    >>> X, _ = datasets.iris(return_X_y=True)
    >>> display.plot_selection(cluster.select_k(cluster.KMeans, X, range(2, 6), random_state=0)).get_ylabel()
    'mean silhouette'
    """
    criterion = selection.criterion
    curve: Any = SelectionOfKDisplay if criterion in WORDS else SelectionDisplay
    if selection.parameter == "ccp_alpha":
        curve = PruningSelectionDisplay
    elif selection.parameter == "n_neighbors":
        curve = NeighborPathDisplay
    displays = {"curve": ElbowDisplay if criterion == "elbow" else curve} | SPECIAL.get(criterion, {})
    kind = kind or ("breakpoints" if criterion == "penalised" else "curve")
    return choose(selection, kind, displays).from_selection(selection, ax=ax).ax_


plot_elbow = drawn_by(ElbowDisplay.from_curve, "plot_elbow", axes_of)
