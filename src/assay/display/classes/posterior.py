"""The picture of a law of classes: what the best classifier knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.datasets import ClassificationLaw
from assay.display.classes.scores import cell_centers, class_colors, draw_points, draw_shades, shares_on_grid
from assay.display.columns import plain, shortened
from assay.display.flat_map import limits_around, shown_rows
from assay.display.optimize.sets import ConvexPicture
from assay.display.style import PAPER_INK
from assay.parameters import refusal


@dataclass
class PosteriorDisplay(ConvexPicture):
    """Probabilities of the classes given two features, with the Bayes boundary and a sample.

    Parameters
    ----------
    probabilities : array of shape (side, side, n_classes)
        Probabilities at the cells of the frame.
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    points : array of shape (n_rows, 2)
        Rows drawn from the law.
    observed, best : arrays of shape (n_rows,)
        Their classes, and what the Bayes rule says; rows where they differ are ringed.
    classes : array of shape (n_classes,)
    title : str

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.display import PosteriorDisplay
    >>> law = TwoMoons(noise_std=0.3)
    >>> PosteriorDisplay.from_law(law, *law.sample(200, random_state=0)).points.shape
    (200, 2)
    """

    probabilities: NDArray
    limits: NDArray
    points: NDArray
    observed: NDArray
    best: NDArray
    classes: NDArray
    title: str

    @classmethod
    def from_law(cls, law: ClassificationLaw, X: Any, y: Any, *, ax: Any = None) -> Self:
        """Evaluate the law around rows drawn from it, and draw both."""
        if law.n_features != 2:
            raise refusal("plot_posterior", "law", "a law of two features", f"one of {law.n_features}")
        points, shown = shown_rows(X)
        limits = limits_around(points)
        risk = law.bayes_risk(random_state=0).value
        return cls(
            shares_on_grid(law.posterior, limits),
            np.array(limits),
            points,
            np.asarray(y)[shown],
            np.asarray(law.bayes_rule(points)),
            np.asarray(law.classes),
            f"posterior of {type(law).__name__}, Bayes risk {risk:.3f}",
        ).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        limits = (self.limits[0], self.limits[1])
        draw_shades(self.probabilities, limits, palette, ax)
        _draw_boundary(self.probabilities, limits, ax)
        draw_points(self.points, self.observed, self.best, self.classes, palette, ax, ring=PAPER_INK)
        for label, color in zip(self.classes, palette, strict=True):
            ax.plot([], [], "o", color=color, label=plain(shortened(str(label), 18)))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handletextpad=0.2)
        ax.set(xlabel="x₁", ylabel="x₂", title=self.title)


def plot_posterior(law: ClassificationLaw, X: Any, y: Any, *, ax: Any = None) -> PosteriorDisplay:
    """Draw the probabilities of the classes given two features, with the Bayes boundary and a sample.

    Parameters
    ----------
    law : ClassificationLaw
        A law of two features.
    X, y : array-like
        Rows drawn from it; those that the Bayes rule mistakes are ringed.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    picture : PosteriorDisplay
        `ax_`, and in `data` the drawn `probabilities` of shape (side, side, n_classes) with their `limits`.

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.display import plot_posterior
    >>> law = TwoMoons(noise_std=0.3)
    >>> plot_posterior(law, *law.sample(200, random_state=0)).ax_.get_title()
    'posterior of TwoMoons, Bayes risk 0.085'
    """
    return PosteriorDisplay.from_law(law, X, y, ax=ax)


def _draw_boundary(shares: NDArray, limits: tuple[NDArray, NDArray], ax: Any) -> None:
    """Where the two most probable classes are as probable."""
    columns, rows = cell_centers(limits, shares.shape[0])
    for chosen in range(shares.shape[2] if shares.shape[2] > 2 else 1):
        lead = shares[:, :, chosen] - np.delete(shares, chosen, axis=2).max(axis=2)
        if lead.min() < 0 < lead.max():
            ax.contour(columns, rows, lead, levels=[0.0], colors=[PAPER_INK], linewidths=1.1, zorder=1)
