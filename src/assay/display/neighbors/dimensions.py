"""High dimensions: balls that vanish in their cubes, and mass that lies near the surface."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display, drawn_by, itself
from assay.display.style import PALETTE, caption, whole_numbers
from assay.parameters import integer, real, require
from assay.theory import ball_share_of_cube, inner_share


class DimensionDisplay(Display):
    """Shares of volumes as the dimension grows.

    Parameters
    ----------
    dimensions : int array of shape (n_values,)
    ball : array of shape (n_values,)
        Volume of the ball over that of the cube around it.
    inside : array of shape (n_values,)
        Share of a ball, or a cube, that is not in its outer layer.
    epsilon : float
        Thickness of the layer.

    Examples
    --------
    >>> from assay.display import plot_dimensions
    >>> plot_dimensions(20).ball[1].round(3)
    np.float64(0.785)
    """

    dimensions: NDArray
    ball: NDArray
    inside: NDArray
    epsilon: float

    @classmethod
    def from_dimensions(cls, most: int = 30, *, epsilon: float = 0.1, ax: Any = None) -> Self:
        """Draw the share of the ball in its cube, and of what is not near the surface, for 1, 2, … features.

        Parameters
        ----------
        most : int, default=30
            The largest dimension.
        epsilon : float, default=0.1
            Thickness of the layer below the surface, for a radius of 1.
        ax : matplotlib Axes, optional
        """
        require("plot_dimensions", integer(at_least=2), most=most)
        require("plot_dimensions", real(above=0.0, at_most=1.0), epsilon=epsilon)
        dimensions = np.arange(1, most + 1)
        ball = np.array([ball_share_of_cube(int(d)) for d in dimensions])
        inside = np.array([inner_share(epsilon, int(d)) for d in dimensions])
        return cls(dimensions, ball, inside, float(epsilon)).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        marks = {"marker": "o", "markersize": 3.5}
        ax.plot(self.dimensions, self.ball, color=PALETTE[0], label="ball in its cube", **marks)
        words = f"deeper than {self.epsilon:g} below the surface"
        ax.plot(self.dimensions, self.inside, color=PALETTE[1], label=words, **marks)
        ax.legend()
        ax.set_ylim(0.0, 1.02)
        whole_numbers(ax)
        caption(
            ax, "number of features d", "share of the volume", "volume moves to the corners and the surface"
        )


plot_dimensions = drawn_by(DimensionDisplay.from_dimensions, "plot_dimensions", itself)
