"""Read a drawn dendrogram back: the joins that its brackets tell, without asking the model."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from matplotlib.collections import LineCollection


class Drawn(NamedTuple):
    """What a picture of a tree shows.

    `cophenetic` is the height at which the leaves at two places are joined, `colors` the colour of the lowest
    bracket above each place, `cut` the height of the line across.
    """

    cophenetic: np.ndarray
    colors: list[tuple[float, ...]]
    cut: float

    def groups(self) -> np.ndarray:
        """The places that are joined below the line: the number of the first one of each group."""
        return (self.cophenetic < self.cut).argmax(axis=1)


def read_dendrogram(ax) -> Drawn:
    """Follow the brackets of a whole tree from the leaves, at 0, 1, 2, …, up to the root."""
    lines = next(item for item in ax.collections if isinstance(item, LineCollection))
    brackets = np.array(lines.get_segments())
    colors = [tuple(color[:3]) for color in lines.get_colors()]
    n = len(brackets) + 1
    open_nodes = {(float(place), 0.0): [place] for place in range(n)}
    cophenetic, tints = np.zeros((n, n)), [()] * n
    for join in np.argsort(brackets[:, 1, 1], kind="stable"):
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = brackets[join]
        assert x0 == x1 < x2 == x3, "two upright sides, the left one first"
        assert y1 == y2 >= max(y0, y3), "and a level top above both feet"
        left, right = open_nodes.pop((x0, y0)), open_nodes.pop((x3, y3))
        assert max(left) + 1 == min(right), "branches stand side by side, so that no two cross"
        cophenetic[np.ix_(left, right)] = cophenetic[np.ix_(right, left)] = y1
        for place in (*left, *right):
            tints[place] = tints[place] or colors[join]
        open_nodes[(x0 + x3) / 2, y1] = left + right
    assert len(open_nodes) == 1, "one root"
    return Drawn(cophenetic, tints, float(ax.lines[-1].get_ydata()[0]))
