"""Curves of density clusterings: sorted k-distances, and reachabilities in the order of the fit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster.density.choice import k_distances
from assay.display.base import Display
from assay.display.cluster.clusterers import title_of
from assay.display.cluster.map import NOISE
from assay.display.columns import dense
from assay.display.style import ACCENT, FAINT_INK, PALETTE, colors

DASHES = (0, (4, 3))


@dataclass
class KDistanceDisplay(Display):
    """The sorted distances of rows to their k-th neighbours, and how many rows eps makes core.

    Parameters
    ----------
    distances : array of shape (n_rows,)
        In increasing order.
    eps : float
    k : int
        The row itself is counted.

    Examples
    --------
    >>> from assay.cluster import DBSCAN
    >>> from assay.datasets import iris
    >>> from assay.display import KDistanceDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> KDistanceDisplay.from_estimator(DBSCAN(0.5).fit(X), X).ax_.get_title()
    '117 of 150 rows are core at eps'
    """

    needs: ClassVar[tuple[str, ...]] = ("X",)
    distances: NDArray
    eps: float
    k: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        values = k_distances(dense(X), max(estimator.min_samples_, 2), estimator.metric, None)
        return cls(np.sort(values), float(estimator.eps_), int(estimator.min_samples_))

    def _draw(self, ax: Any) -> None:
        curve = self.distances
        share = np.arange(1, curve.size + 1) / curve.size
        n_core = int(np.searchsorted(curve, self.eps, side="right"))
        ax.plot(share, curve, color=PALETTE[0])
        ax.fill_between(share[:n_core], 0.0, curve[:n_core], color=PALETTE[0], alpha=0.15, linewidth=0.0)
        ax.axhline(self.eps, color=ACCENT, linewidth=1.2, linestyle=DASHES)
        ax.annotate(
            f"eps = {self.eps:.3g}",
            (0.0, self.eps),
            xytext=(4, 4),
            textcoords="offset points",
            color=ACCENT,
            fontsize=9,
        )
        ax.set_xlim(0.0, 1.0)
        ax.set_ylim(0.0, max(1.05 * curve[-1], 1.15 * self.eps))
        ax.set(
            xlabel="share of the rows, by k-distance",
            ylabel=f"distance to the {_ordinal(max(self.k, 2) - 1)} other row",
            title=f"{n_core} of {curve.size} rows are core at eps",
        )


def _ordinal(number: int) -> str:
    """A number as a place: 1st, 2nd, 3rd, 4th, … 11th."""
    if number == 1:
        return "nearest"
    tail = {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{'th' if number % 100 in (11, 12, 13) else tail}"


@dataclass
class ReachabilityDisplay(Display):
    """A bar for each row in the order of the fit: dents are clusters.

    Parameters
    ----------
    heights : array of shape (n_rows,)
        Reachabilities in that order; infinite where nothing reaches a row.
    labels : array of int of shape (n_rows,)
        Clusters in that order; −1 for noise.
    spans : array of int of shape (n_dents, 2)
        First and last place of every dent, also of those that lie in others.
    depths : array of int of shape (n_dents,)
        How many dents lie within each, one inside the other.
    eps : float or None
        Where the plot was cut, if it was.
    title : str

    Examples
    --------
    >>> from assay.cluster import OPTICS
    >>> from assay.datasets import iris
    >>> from assay.display import ReachabilityDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> ReachabilityDisplay.from_estimator(OPTICS(min_samples=10).fit(X)).heights.shape
    (150,)
    """

    heights: NDArray
    labels: NDArray
    spans: NDArray
    depths: NDArray
    eps: float | None
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        labels = np.asarray(estimator.labels_)[estimator.ordering_]
        spans = np.asarray(estimator.cluster_hierarchy_, dtype=int).reshape(-1, 2)
        cut = estimator.cluster_method == "dbscan" and np.isfinite(estimator.eps_)
        return cls(
            heights=np.asarray(estimator.reachability_[estimator.ordering_], dtype=float),
            labels=labels,
            spans=spans,
            depths=np.array([_nesting(spans, *span) for span in spans], dtype=int),
            eps=float(estimator.eps_) if cut else None,
            title=f"{title_of(estimator)}, {np.count_nonzero(labels < 0)} rows of noise",
        )

    def _draw(self, ax: Any) -> None:
        finite = np.isfinite(self.heights)
        top = float(self.heights[finite].max(initial=0.0)) or 1.0
        heights = np.where(finite, self.heights, 1.08 * top)
        edges = np.arange(heights.size + 1)
        n_clusters = int(self.labels.max(initial=-1)) + 1
        ax.stairs(heights, edges, fill=True, color=NOISE, alpha=0.8)
        for cluster, color in zip(range(n_clusters), colors(max(n_clusters, 1)), strict=False):
            inside = np.flatnonzero(self.labels == cluster)
            run = slice(inside[0], inside[-1] + 1)
            ax.stairs(heights[run], edges[inside[0] : inside[-1] + 2], fill=True, color=color)
        if self.eps is not None:
            ax.axhline(self.eps, color=ACCENT, linewidth=1.2, linestyle=DASHES)
        for (start, end), depth in zip(self.spans, self.depths, strict=True):
            level = -0.025 * top * (1 + depth)
            ax.plot([start, end + 1], [level, level], color=FAINT_INK, linewidth=1.6, solid_capstyle="butt")
        ax.set_xlim(0, heights.size)
        ax.grid(visible=False, axis="x")
        # Below zero there are only the dents, which have no height.
        low, high = ax.get_ylim()
        ax.set_yticks([tick for tick in ax.get_yticks() if 0.0 <= tick <= high])
        ax.set_ylim(low, high)
        ax.set(xlabel="rows, in the order of the fit", ylabel="reachability", title=self.title)


def _nesting(spans: NDArray, start: int, end: int) -> int:
    """How many other spans lie within this one, one inside the other: its height above the innermost."""
    inside = [span for span in spans if start <= span[0] and span[1] <= end and tuple(span) != (start, end)]
    return max((1 + _nesting(np.array(inside), *span) for span in inside), default=0)
