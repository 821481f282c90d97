"""What single criteria compare to choose a number of clusters: references, eigenvalues, penalties."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.display.cluster.selection import (
    WORDS,
    ElbowDisplay,
    OfSelection,
    SelectionOfKDisplay,
    parameter_words,
    verdict,
)
from assay.display.linear.pictures import SelectionDisplay
from assay.display.registry import choose
from assay.display.style import ACCENT, PALETTE
from assay.models import Selection


@dataclass
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
        gap = selection.details
        return cls(
            list(selection.values),
            gap.log_within,
            gap.expected,
            gap.standard_error,
            len(gap.reference_log_within),
            selection.index,
            parameter_words(selection),
            verdict(selection),
        )

    def _draw(self, ax: Any) -> None:
        ax.plot(self.values, self.log_within, "o-", color=PALETTE[0], markersize=5, label="rows")
        ax.errorbar(
            self.values,
            self.expected,
            self.standard_error,
            fmt="o-",
            color=PALETTE[1],
            markersize=5,
            capsize=3,
            label=f"mean of {self.n_references} references",
        )
        at = self.index
        ends = [self.log_within[at], self.expected[at]]
        ax.plot([self.values[at]] * 2, ends, color=ACCENT, linewidth=1.6, linestyle=(0, (1, 2)), label="gap")
        ax.xaxis.get_major_locator().set_params(integer=True)
        ax.legend()
        ax.set(xlabel=self.xlabel, ylabel="log inertia within clusters", title=self.title)


@dataclass
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


@dataclass
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
            ax.plot(
                edges[place : place + 2],
                [self.chosen] * 2,
                color=ACCENT,
                linewidth=4.0,
                solid_capstyle="butt",
            )
            ax.set_xscale("log")
        ax.yaxis.get_major_locator().set_params(integer=True)
        ax.set(xlabel="penalty λ", ylabel="number of clusters")
        ax.set_title(f"J(K) + λK chooses {self.chosen} over the marked range")


# Pictures of the choice of k: elbows, gaps, penalties, score curves.


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
    >>> from assay.cluster import KMeans, select_k
    >>> from assay.datasets import iris
    >>> from assay.display import plot_selection
    >>> X, _ = iris(return_X_y=True)
    >>> plot_selection(select_k(KMeans, X, range(2, 6), random_state=0)).get_ylabel()
    'mean silhouette'
    """
    displays: dict[str, Any] = {
        "curve": SelectionOfKDisplay if selection.criterion in WORDS else SelectionDisplay
    }
    if selection.criterion == "elbow":
        displays["curve"] = ElbowDisplay
    special: dict[str, tuple[str, type[OfSelection]]] = {
        "penalised": ("breakpoints", BreakpointsDisplay),
        "gap": ("inertias", ReferenceInertiasDisplay),
        "eigengap": ("eigenvalues", EigengapDisplay),
    }
    if selection.criterion in special:
        name, display = special[selection.criterion]
        displays[name] = display
    kind = kind or ("breakpoints" if selection.criterion == "penalised" else "curve")
    return choose(selection, kind, displays).from_selection(selection, ax=ax).ax_


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
    return ElbowDisplay.from_curve(values, curve, ax=ax).ax_
