"""Rows along one direction: densities of the projected classes, and where the rule cuts them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import class_colors, labels_of, quietly
from assay.display.plane import dense
from assay.display.style import DASHES, INK, caption

N_BINS, N_POINTS = 30, 241


class ProjectedDensitiesDisplay(Display, needs=("X", "y")):
    """Histograms of the classes along the direction of largest Rayleigh quotient, and normal curves of them.

    Parameters
    ----------
    edges : array of shape (n_bins + 1,)
    heights : array of shape (n_classes, n_bins)
        Densities: the area of each class is 1.
    grid : array of shape (n_points,)
    curves : array of shape (n_classes, n_points)
        The normal densities of the same mean and variance.
    classes : array of shape (n_classes,)
    cut : float or None
        Where a rule of two classes changes its mind.
    quotient : float
        Variance between the classes over that within them.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.discriminant import FisherDiscriminant
    >>> from assay.display import ProjectedDensitiesDisplay
    >>> X, y = iris(return_X_y=True)
    >>> ProjectedDensitiesDisplay.from_estimator(FisherDiscriminant().fit(X, y), X, y).heights.shape
    (3, 30)
    """

    edges: NDArray
    heights: NDArray
    grid: NDArray
    curves: NDArray
    classes: NDArray
    cut: float | None
    quotient: float

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        observed, classes = labels_of(X, y), np.asarray(estimator.classes_)
        along = projected(estimator, X)
        low, high = float(along.min()), float(along.max())
        margin = 0.05 * ((high - low) or 1.0)
        edges = np.linspace(low - margin, high + margin, N_BINS + 1)
        grid = np.linspace(edges[0], edges[-1], N_POINTS)
        heights, curves = np.zeros((len(classes), N_BINS)), np.zeros((len(classes), N_POINTS))
        means, spreads, shares = np.zeros((3, len(classes)))
        for k, label in enumerate(classes):
            own = along[observed == label]
            if own.size:
                heights[k] = np.histogram(own, edges, density=True)[0]
                means[k], spreads[k], shares[k] = own.mean(), own.std(), own.size / along.size
                if spreads[k] > 0:
                    standard = (grid - means[k]) / spreads[k]
                    curves[k] = np.exp(-(standard**2) / 2) / (np.sqrt(2 * np.pi) * spreads[k])
        between, within = float(shares @ (means - shares @ means) ** 2), float(shares @ spreads**2)
        said = quietly(estimator.predict, X)
        cut = _cut(along, said, classes)
        return cls(edges, heights, grid, curves, classes, cut, between / within if within > 0 else np.inf)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        middles, width = (self.edges[1:] + self.edges[:-1]) / 2, float(np.diff(self.edges)[0])
        for label, bars, curve, color in zip(self.classes, self.heights, self.curves, palette, strict=True):
            ax.bar(middles, bars, width=0.96 * width, color=color, alpha=0.35, linewidth=0)
            ax.plot(self.grid, curve, color=color, label=str(label))
        if self.cut is not None:
            ax.axvline(self.cut, color=INK, linewidth=1.1, linestyle=DASHES, label="cut of the rule")
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        title = f"Rayleigh quotient {self.quotient:.3g}\n(curves: the normal law of each class)"
        caption(ax, "projection h(x)", "density", title)


def projected(model: Any, X: Any) -> NDArray:
    """First coordinate of the rows: of `transform`, else the score of the second of two classes."""
    if hasattr(model, "transform"):
        rows = quietly(model.transform, X)
        if rows.shape[1]:
            return np.asarray(rows[:, 0], dtype=float)
    table = dense(X)
    if table.shape[1] == 1:
        return np.asarray(table[:, 0], dtype=float)
    scores = quietly(model.decision_function, X)
    return np.asarray(scores if scores.ndim == 1 else scores[:, -1] - scores[:, 0], dtype=float)


def _cut(along: NDArray, said: NDArray, classes: NDArray) -> float | None:
    """The middle between the rows given to one class and those given to the other, where they do not mix."""
    if len(classes) != 2:
        return None
    first, second = along[said == classes[0]], along[said == classes[1]]
    if not first.size or not second.size or first.max() > second.min():
        return None
    return float(first.max() + second.min()) / 2
