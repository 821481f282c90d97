"""Rows in the plane of the first two principal components of their standardised columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display._columns import dense, sampled
from assay.display._display import Display
from assay.display._style import PALETTE


@dataclass
class PrincipalPlaneDisplay(Display):
    """Rows in the plane of the first two principal components of their standardised columns.

    Parameters
    ----------
    scores : array of shape (n_rows, 2)
        The rows shown.
    share : array of shape (2,)
        Shares of the variance of the two components.
    values : array of shape (n_rows,) or None
        Shown by colour.
    value_name : str, default="target"

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import PrincipalPlaneDisplay
    >>> PrincipalPlaneDisplay.from_rows(diabetes().X).share.round(2)
    array([0.4 , 0.15])
    """

    scores: NDArray
    share: NDArray
    values: NDArray | None = None
    value_name: str = "target"

    @classmethod
    def from_rows(cls, X: Any, y: Any = None, *, ax: Any = None) -> Self:
        """Find the plane of the rows, and draw them."""
        rows = dense(X)
        rows = rows - rows.mean(axis=0)
        spread = rows.std(axis=0)
        if np.count_nonzero(spread) < 2:
            raise ValueError("A principal plane needs at least two columns that vary.")
        left, lengths, _ = np.linalg.svd(rows[:, spread > 0] / spread[spread > 0], full_matrices=False)
        share = lengths**2 / np.sum(lengths**2)
        shown = sampled(len(rows))
        values = None if y is None else np.asarray(y, dtype=float)[shown]
        name = str(getattr(y, "name", None) or "target")
        return cls((left[:, :2] * lengths[:2])[shown], share[:2], values, name).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        shade: dict[str, Any] = {"color": PALETTE[0]}
        if self.values is not None:
            shade = {"c": self.values, "cmap": "viridis"}
        points = ax.scatter(*self.scores.T, s=18, alpha=0.75, linewidths=0, **shade)
        if self.values is not None:
            bar = ax.figure.colorbar(points, ax=ax, label=self.value_name)
            bar.outline.set_visible(False)
        ax.set(
            xlabel=f"first component ({self.share[0]:.0%} of the variance)".replace("%", " %"),
            ylabel=f"second component ({self.share[1]:.0%})".replace("%", " %"),
            title="rows in their principal plane",
        )


def plot_principal_plane(X: Any, y: Any = None, *, ax: Any = None) -> Any:
    """Draw rows in the plane of the first two principal components of their standardised columns.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        At least two columns that vary.
    y : array-like of shape (n_samples,), optional
        Shown by colour.
    ax : matplotlib Axes, optional

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.display import plot_principal_plane
    >>> plot_principal_plane(*diabetes(return_X_y=True)).get_xlabel()
    'first component (40 % of the variance)'
    """
    return PrincipalPlaneDisplay.from_rows(X, y, ax=ax).ax_
