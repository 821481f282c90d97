"""Picture of rows lifted by a kernel: what no line separates in the plane, a plane separates in space."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display, axes_of, drawn_by
from assay.display.style import ACCENT, PALETTE
from assay.theory import Lift

N_GRID = 25


class LiftDisplay(Display):
    """Three features of rows of two classes, with the plane that separates them.

    Parameters
    ----------
    features : array of shape (n_rows, 3)
    labels : array of shape (n_rows,)
    weights : array of shape (3,) or None
        Normal of the plane.
    intercept : float
    names : sequence of str
        Of the three axes.
    title : str

    Examples
    --------
    >>> from assay import display, theory
    >>> result = theory.lift(*theory.circles(30, random_state=0))
    >>> display.LiftDisplay.from_result(result).features.shape
    (60, 3)
    >>> display.plot_lift(result).get_zlabel()
    '√2 x₁x₂'
    """

    features: NDArray
    labels: NDArray
    weights: NDArray | None
    intercept: float
    names: tuple[str, str, str]
    title: str

    @classmethod
    def from_result(cls, result: Lift, *, names: Any = None, ax: Any = None) -> Self:
        """Draw what `assay.theory.lift` returned, where the kernel has three features.

        Parameters
        ----------
        result : Lift
        names : sequence of str, optional
            Of the three features; x₁², x₂² and √2 x₁x₂ by default.
        ax : matplotlib Axes with projection "3d", optional
        """
        if result.features.shape[1] != 3:
            count = result.features.shape[1]
            raise ValueError(f"The lift is drawn where the kernel has three features. It has {count}.")
        labels = ("x₁²", "x₂²", "√2 x₁x₂") if names is None else tuple(names)
        title = f"in the plane {result.before}, lifted {result.after}"
        plane = result.weights, result.intercept
        return cls(result.features, result.y, *plane, labels, title).plot(ax=ax)

    def _new_axes(self, ax: Any) -> Any:
        if ax is not None:
            return ax
        import matplotlib.pyplot as plt

        return plt.subplots(layout="constrained", subplot_kw={"projection": "3d"})[1]

    def _draw(self, ax: Any) -> None:
        for color, label in zip(PALETTE, np.unique(self.labels), strict=False):
            of_class = self.features[self.labels == label]
            ax.scatter(*of_class.T, s=22, color=color, label=str(label), linewidths=0, depthshade=False)
        if self.weights is not None:
            look = {"color": ACCENT, "alpha": 0.25, "linewidth": 0}
            ax.plot_surface(*plane_in_box(self.weights, self.intercept, self.features), **look)
        ax.legend(title="class")
        ax.set(xlabel=self.names[0], ylabel=self.names[1], zlabel=self.names[2], title=self.title)


def plane_in_box(weights: NDArray, intercept: float, points: NDArray) -> list[NDArray]:
    """Corners of the plane ⟨w, p⟩ + b = 0 inside the box of the points, as three tables; NaN outside."""
    # It is a function of the two axes that its normal is not nearest to.
    upright = int(np.argmax(np.abs(weights)))
    others = [axis for axis in range(3) if axis != upright]
    low, high = points.min(axis=0), points.max(axis=0)
    sides = list(np.meshgrid(*(np.linspace(low[axis], high[axis], N_GRID) for axis in others)))
    height = -(weights[others[0]] * sides[0] + weights[others[1]] * sides[1] + intercept) / weights[upright]
    height = np.where((height >= low[upright]) & (height <= high[upright]), height, np.nan)
    sides.insert(upright, height)
    return sides


plot_lift = drawn_by(LiftDisplay.from_result, "plot_lift", axes_of)
