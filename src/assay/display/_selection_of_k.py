"""Pictures of the choice of k: elbows, gaps, penalties, score curves."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from assay.cluster import ClusterSelection
from assay.display._registry import choose
from assay.display._selection_curves import ElbowDisplay, OfSelection, SelectionOfKDisplay
from assay.display._selection_evidence import BreakpointsDisplay, EigengapDisplay, ReferenceInertiasDisplay


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
    displays: dict[str, type[OfSelection]] = {"curve": SelectionOfKDisplay}
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
