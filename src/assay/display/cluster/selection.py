"""Curves that a number of clusters is chosen on: the criterion at each value, and the elbow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from assay.cluster import find_elbow
from assay.display.base import Display
from assay.display.style import ACCENT, FAINT_INK, PALETTE
from assay.models import Selection

DASHES = (0, (4, 3))

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


class OfSelection(Display):
    """What the pictures of a selection share: they are read off it."""

    @classmethod
    def from_selection(cls, selection: Selection, *, ax: Any = None) -> Self:
        """Read the data of the picture off a selection, and draw it.

        Parameters
        ----------
        selection : Selection
            Result of `assay.cluster.select_k`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : Display
        """
        return cls._read(selection).plot(ax=ax)

    @classmethod
    def _read(cls, selection: Selection) -> Self:
        raise NotImplementedError


@dataclass
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
    >>> from assay.cluster import KMeans, select_k
    >>> from assay.datasets import iris
    >>> from assay.display import SelectionOfKDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> chosen = select_k(KMeans, X, range(2, 6), random_state=0)
    >>> SelectionOfKDisplay.from_selection(chosen).curve.shape
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
        return cls(
            list(selection.values),
            selection.curve,
            selection.index,
            selection.standard_error,
            small,
            parameter_words(selection),
            WORDS[selection.criterion],
            verdict(selection),
        )

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


@dataclass
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
    >>> from assay.display import ElbowDisplay
    >>> ElbowDisplay.from_curve([1, 2, 3, 4, 5], [100.0, 60.0, 20.0, 16.0, 13.0]).elbow
    3.0
    """

    values: NDArray
    curve: NDArray
    elbow: float
    bend: float
    ambiguous: bool

    @classmethod
    def from_curve(cls, values: ArrayLike, curve: ArrayLike, *, ax: Any = None) -> Self:
        """Find the elbow of a curve, and draw it.

        Parameters
        ----------
        values, curve : arrays of shape (n_values,)
            As in `assay.cluster.find_elbow`.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        display : ElbowDisplay
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
            ax.annotate(
                "sharpest bend",
                (x[bend], y[bend]),
                xytext=(9, 9),
                textcoords="offset points",
                fontsize=9,
                color=ACCENT,
            )
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
