"""Pictures of how a clustering was found: the descent, the batches, the restarts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.cluster import BlockBiclustering, ConvexBiclustering, ConvexClustering, KMeans
from assay.display.base import Display
from assay.display.style import ACCENT, DASHES, PALETTE, whole_numbers, write_beside

LEAST_GAP = 1e-17
"""A logarithmic axis has no zero."""

MAX_NUMBERED = 20
"""Beyond so many restarts not each one has its number."""


@dataclass
class ConvergenceDisplay(Display):
    """The objective of a fit, or its duality gap, step by step.

    Parameters
    ----------
    steps, values : arrays of shape (n_steps,)
    xlabel, ylabel, title : str
    tol : float, optional
        Where the fit may stop. Values that have such a bound are duality gaps, on a logarithmic axis.
    half_steps : bool, default=False
        Whether whole steps assign rows and the steps between them update centres.

    Examples
    --------
    >>> from assay.cluster import KMeans
    >>> from assay.datasets import iris
    >>> from assay.display import ConvergenceDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> display = ConvergenceDisplay.from_estimator(KMeans(3, random_state=0).fit(X))
    >>> display.xlabel, display.title
    ('iteration', 'inertia falls to 78.86')
    """

    steps: NDArray
    values: NDArray
    xlabel: str
    ylabel: str
    title: str
    tol: float | None = None
    half_steps: bool = False

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if isinstance(estimator, (ConvexClustering, ConvexBiclustering)):
            gaps = np.maximum(np.asarray(estimator.gap_trace_, dtype=float), LEAST_GAP)
            unit, total = (
                ("measurement", "iterations")
                if isinstance(estimator, ConvexClustering)
                else ("pass", "passes")
            )
            title = f"{estimator.n_iter_} {total}"
            return cls(np.arange(len(gaps)), gaps, unit, "relative duality gap", title, float(estimator.tol))
        if isinstance(estimator, BlockBiclustering):
            values = np.asarray(estimator.objective_trace_, dtype=float)
            title = f"objective falls to {values[-1]:.4g}"
            return cls(np.arange(len(values)) / 2, values, "pass", "objective", title)
        values = np.asarray(estimator.inertia_trace_, dtype=float)
        if isinstance(estimator, KMeans):
            title = f"inertia falls to {values[-1]:.4g}"
            steps = np.arange(values.size) / 2
            return cls(steps, values, "iteration", "inertia", title, half_steps=True)
        swaps = hasattr(estimator, "medoid_indices_") and getattr(estimator, "method", "") != "alternate"
        title = f"the cost falls to {values[-1]:.4g}"
        return cls(np.arange(values.size), values, "swaps" if swaps else "iteration", "cost", title)

    def _draw(self, ax: Any) -> None:
        ax.plot(
            self.steps,
            self.values,
            "-" if self.half_steps else "o-",
            color=PALETTE[0],
            markersize=4,
        )
        if self.half_steps:
            for start, color, name in ((0, PALETTE[0], "rows assigned"), (1, ACCENT, "centres updated")):
                chosen = slice(start, None, 2)
                ax.plot(self.steps[chosen], self.values[chosen], "o", color=color, markersize=5, label=name)
            ax.legend()
        elif self.tol is None:
            ax.plot(self.steps[-1], self.values[-1], "o", color=ACCENT, markersize=8)
        else:
            ax.set_yscale("log")
            ax.axhline(self.tol, color=ACCENT, linewidth=1.0, linestyle=DASHES)
            write_beside(
                "tol",
                (0.0, self.tol),
                ax,
                by=(3, 4),
                xycoords=("axes fraction", "data"),
                color=ACCENT,
                va="baseline",
            )
        whole_numbers(ax)
        ax.set(xlabel=self.xlabel, ylabel=self.ylabel, title=self.title)


@dataclass
class BatchesDisplay(Display):
    """Mean squared distance of every batch to the centres it met, and its running mean.

    Parameters
    ----------
    values : array of shape (n_batches,)
    smooth : array of shape (n_batches − width + 1,)
        Means of `width` batches, from the first such mean on.
    width : int

    Examples
    --------
    >>> from assay.cluster import MiniBatchKMeans
    >>> from assay.datasets import iris
    >>> from assay.display import BatchesDisplay
    >>> X, _ = iris(return_X_y=True)
    >>> model = MiniBatchKMeans(3, random_state=0).fit(X)
    >>> len(BatchesDisplay.from_estimator(model).values) == len(model.batch_inertias_)
    True
    """

    values: NDArray
    smooth: NDArray
    width: int

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        values = np.asarray(estimator.batch_inertias_, dtype=float)
        width = max(3, values.size // 20) if values.size >= 3 else 1
        return cls(values, np.convolve(values, np.ones(width) / width, mode="valid"), width)

    def _draw(self, ax: Any) -> None:
        steps = np.arange(1, self.values.size + 1)
        ax.plot(steps, self.values, ".", color=PALETTE[0], markersize=4, alpha=0.6, label="batches")
        if self.width > 1:
            ax.plot(steps[self.width - 1 :], self.smooth, color=ACCENT, label=f"mean of {self.width}")
            ax.legend()
        whole_numbers(ax)
        title = f"{self.values.size} batches of rows"
        ax.set(xlabel="step", ylabel="mean squared distance", title=title)


@dataclass
class RestartsDisplay(Display):
    """What every restart reached, and how many reached the least.

    Parameters
    ----------
    values : array of shape (n_restarts,)

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import RestartsDisplay
    >>> RestartsDisplay(np.array([78.9, 78.9, 142.8])).plot().ax_.get_title()
    '2 of 3 restarts reach the least inertia, 78.9'
    """

    values: NDArray

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(np.asarray(estimator.restart_inertias_, dtype=float))

    def _draw(self, ax: Any) -> None:
        values, least = self.values, float(self.values.min())
        best, numbers = int(np.argmin(values)), np.arange(1, values.size + 1)
        ax.vlines(numbers, least, values, color=PALETTE[0], linewidth=1.2, alpha=0.5)
        ax.plot(numbers, values, "o", color=PALETTE[0], markersize=6)
        ax.plot(numbers[best], values[best], "o", color=ACCENT, markersize=9)
        ax.axhline(least, color=ACCENT, linewidth=1.0, linestyle=DASHES, zorder=1)
        # Restarts that agree but for rounding must look equal: the axis shows at least a few percent.
        room = max(0.06 * np.ptp(values), 0.02 * values.max(), 1e-12)
        ax.set_ylim(least - room, values.max() + room)
        reached = int(np.sum(values <= least * (1 + 1e-6)))
        ax.set_xlim(0.5, values.size + 0.5)
        if values.size <= MAX_NUMBERED:
            ax.set_xticks(numbers)
        title = f"{reached} of {values.size} restarts reach the least inertia, {least:.4g}"
        if values.size == 1:
            title = f"the only start reaches inertia {least:.4g}"
        ax.set(xlabel="restart", ylabel="inertia", title=title)
