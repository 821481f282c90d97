"""Pictures of functions of one variable: losses of a label, a graph and its chord."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.optimize.sets import ConvexPicture, in_words
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, write_beside
from assay.losses import Hinge, Logistic, ZeroOne
from assay.parameters import refusal


@dataclass
class LossCurvesDisplay(ConvexPicture):
    """Losses as functions of the prediction, for the label +1.

    Parameters
    ----------
    margin : array of shape (n_points,)
        Predictions.
    losses : mapping of str to array of shape (n_points,)
        Values of each loss, by its name.

    Examples
    --------
    >>> from assay.display import LossCurvesDisplay
    >>> list(LossCurvesDisplay.from_losses().losses)
    ['ZeroOne', 'Hinge', 'Logistic']
    """

    margin: NDArray
    losses: Mapping[str, NDArray]

    @classmethod
    def from_losses(cls, losses: Sequence[Any] | None = None, *, ax: Any = None) -> Self:
        """Evaluate losses, 0-1, hinge and logistic by default, and draw them."""
        chosen = [ZeroOne(), Hinge(), Logistic(base=2)] if losses is None else list(losses)
        margin = np.linspace(-2.0, 3.0, 1001)
        values = {
            type(loss).__name__: np.asarray(loss.value(np.ones_like(margin), margin), dtype=float)
            for loss in chosen
        }
        return cls(margin, values).plot(ax=ax)

    @property
    def data(self) -> Mapping[str, Any]:
        """The predictions as "margin", and the values of each loss by its name."""
        return {"margin": self.margin, **self.losses}

    def _draw(self, ax: Any) -> None:
        # Each curve is named left of zero, where they are apart, at a place of its own.
        places = (np.linspace(0.02, 0.3, len(self.losses)) * len(self.margin)).astype(int)
        for (name, values), color, place in zip(self.losses.items(), (INK, *PALETTE), places, strict=False):
            jumps = np.flatnonzero(np.abs(np.diff(values)) > 0.5) + 1
            drawn = np.insert(values, jumps, np.nan)
            ax.plot(np.insert(self.margin, jumps, np.nan), drawn, color=color, linewidth=2.2)
            write_beside(
                {"ZeroOne": "0-1", "Logistic": "logistic (base 2)"}.get(name, in_words(name)),
                (self.margin[place], values[place]),
                ax,
                by=(6, 4),
                color=color,
                fontsize=10,
                va="baseline",
            )
        top = min(3.4, max(1.5, *(float(values.max()) for values in self.losses.values())))
        ax.set(
            xlabel="prediction f, for the label +1",
            ylabel="loss",
            title="losses of the label +1",
            ylim=(-0.1, top),
        )


def plot_loss_curves(losses: Sequence[Any] | None = None, *, ax: Any = None) -> LossCurvesDisplay:
    """Draw losses as functions of the prediction for the label +1: 0-1, hinge and logistic by default.

    Examples
    --------
    >>> from assay.display import plot_loss_curves
    >>> sorted(plot_loss_curves().data)
    ['Hinge', 'Logistic', 'ZeroOne', 'margin']
    """
    return LossCurvesDisplay.from_losses(losses, ax=ax)


@dataclass
class ChordDisplay(ConvexPicture):
    """A function of one variable with a chord, and how far the graph is below it half-way.

    Parameters
    ----------
    grid, heights : arrays of shape (n_points,)
        Where the function is drawn, and its values.
    x, graph, chord : arrays of shape (n_inside,)
        Abscissas between the ends of the chord, and the values of the function and of the chord there.
    ends : array of shape (2,)
        Values at the ends of the chord.
    largest_excess : float
        Largest value of the function less the chord.

    Examples
    --------
    >>> from assay.display import ChordDisplay
    >>> ChordDisplay.from_function(lambda t: t**2, -1.0, 2.0).largest_excess <= 0
    True
    """

    grid: NDArray
    heights: NDArray
    x: NDArray
    graph: NDArray
    chord: NDArray
    ends: NDArray
    largest_excess: float

    @classmethod
    def from_function(cls, value: Callable[[float], float], x: float, y: float, *, ax: Any = None) -> Self:
        """Evaluate a function and its chord from x to y, and draw them."""
        if not np.isfinite([x, y]).all() or x == y:
            raise refusal("plot_chord", "y", "a finite number other than x", y)
        left, right = min(x, y), max(x, y)
        pad = 0.35 * (right - left)
        grid = np.linspace(left - pad, right + pad, 601)
        ends = np.array([float(value(left)), float(value(right))])
        inside = np.linspace(left, right, 401)
        share = (inside - left) / (right - left)
        chord = (1 - share) * ends[0] + share * ends[1]
        graph = np.array([float(value(t)) for t in inside])
        heights = np.array([float(value(t)) for t in grid])
        return cls(grid, heights, inside, graph, chord, ends, float(np.max(graph - chord))).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        x, graph, chord = self.x, self.graph, self.chord
        middle = len(x) // 2 if self.largest_excess <= 1e-12 else int(np.argmax(graph - chord))
        ax.margins(y=0.12)  # room for the two names
        ax.plot(self.grid, self.heights, color=PALETTE[0], linewidth=2.4)
        ax.plot([x[0], x[-1]], self.ends, color=ACCENT, linewidth=1.8, marker="o")
        ax.fill_between(x, graph, chord, where=graph <= chord, color=PALETTE[0], alpha=0.10)
        ax.fill_between(x, graph, chord, where=graph > chord, color=ACCENT, alpha=0.18)
        bar = [graph[middle], chord[middle]]
        ax.plot([x[middle]] * 2, bar, color=FAINT_INK, linewidth=1.2, linestyle=DASHES)
        for name, height, color in (
            ("chord", chord[middle], ACCENT),
            ("graph", graph[middle], PALETTE[0]),
        ):
            ax.plot(x[middle], height, "o", color=color, markersize=6)
            upper = (name == "chord") == bool(chord[middle] >= graph[middle])
            write_beside(
                name,
                (x[middle], height),
                ax,
                by=(0, 9 if upper else -9),
                color=color,
                ha="center",
                va="bottom" if upper else "top",
                fontsize=None,
            )
        below = self.largest_excess <= 1e-9 * max(1.0, float(np.abs(graph).max()))
        where = "below its chord" if below else "above its chord somewhere"
        ax.set(xlabel="x", ylabel="f(x)", title=f"the graph is {where}")


def plot_chord(value: Callable[[float], float], x: float, y: float, *, ax: Any = None) -> ChordDisplay:
    """Draw a function of one variable with a chord, and how far the graph is below it half-way.

    Examples
    --------
    >>> from assay.display import plot_chord
    >>> plot_chord(lambda t: t**2, -1.0, 2.0).data["largest_excess"] <= 0
    True
    """
    return ChordDisplay.from_function(value, x, y, ax=ax)
