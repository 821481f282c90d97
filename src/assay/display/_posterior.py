"""The picture of a law of classes: what the best classifier knows."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.datasets import ClassificationLaw
from assay.display._class_map import draw_points, draw_shades
from assay.display._columns import shortened
from assay.display._convex import ConvexPicture
from assay.display._flat_map import limits_around, rgb, shown_rows
from assay.display._style import INK, colors, house_style, new_axes
from assay.parameters import refusal


def plot_posterior(law: ClassificationLaw, X: Any, y: Any, *, ax: Any = None) -> ConvexPicture:
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
    picture : ConvexPicture
        `ax_`, and in `data` the drawn `probabilities` of shape (side, side, n_classes) with their `limits`.

    Examples
    --------
    >>> from assay.datasets import TwoMoons
    >>> from assay.display import plot_posterior
    >>> law = TwoMoons(noise_std=0.3)
    >>> plot_posterior(law, *law.sample(200, random_state=0)).ax_.get_title()
    'posterior of TwoMoons, Bayes risk 0.085'
    """
    if law.n_features != 2:
        raise refusal("plot_posterior", "law", "a law of two features", f"one of {law.n_features}")
    points, shown = shown_rows(X)
    observed = np.asarray(y)[shown]
    limits = limits_around(points)
    palette = np.array([rgb(color) for color in colors(len(law.classes))])
    with house_style():
        axes = new_axes(ax)
        shares = draw_shades(law.posterior, limits, palette, axes)
        _draw_boundary(shares, limits, axes)
        draw_points(points, observed, law.bayes_rule(points), law.classes, palette, axes)
        for label, color in zip(law.classes, palette, strict=True):
            axes.plot([], [], "o", color=color, label=shortened(str(label), 18))
        axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handletextpad=0.2)
        title = f"posterior of {type(law).__name__}, Bayes risk {law.bayes_risk(random_state=0).value:.3f}"
        axes.set(xlabel="x₁", ylabel="x₂", title=title)
    return ConvexPicture(axes, {"probabilities": shares, "limits": limits})


def _draw_boundary(shares: NDArray, limits: tuple[NDArray, NDArray], ax: Any) -> None:
    """Where the two most probable classes are as probable."""
    side = shares.shape[0]
    columns, rows = (
        low + (np.arange(side) + 0.5) / side * (high - low) for low, high in zip(*limits, strict=True)
    )
    for chosen in range(shares.shape[2] if shares.shape[2] > 2 else 1):
        lead = shares[:, :, chosen] - np.delete(shares, chosen, axis=2).max(axis=2)
        if lead.min() < 0 < lead.max():
            ax.contour(columns, rows, lead, levels=[0.0], colors=[INK], linewidths=1.1, zorder=1)
