"""Frontiers of classifiers in a plane: of one beside its oracle, or of several side by side."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import (
    cell_centers,
    cell_points,
    class_colors,
    draw_points,
    draw_shades,
    labels_of,
    quietly,
    share_right,
)
from assay.display.plane import (
    column_names,
    limits_around,
    principal_plane,
    rows_at,
    shown_rows,
    side_of,
)
from assay.display.style import ACCENT, DASHES, INK, caption

SIDE = 240
"""Cells per side, of rows of so many features that these are no burden."""


def class_scores(model: Any, rows: NDArray) -> NDArray:
    """One column per class: scores whose largest decides, those of two classes about 0."""
    if hasattr(model, "decision_function"):
        scores = quietly(model.decision_function, rows)
        return np.column_stack([-scores / 2, scores / 2]) if scores.ndim == 1 else scores
    said = quietly(model.predict, rows)
    return (said[:, None] == np.asarray(model.classes_)).astype(float)


def margins(scores: NDArray) -> NDArray:
    """Of each class, its score less the largest of the others: zero on the frontier."""
    ordered = np.sort(scores, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    return scores - np.where(scores == best, second, best)


class FrontierDisplay(Display, needs=("X",)):
    """Regions and frontiers of a classifier in a plane, rows upon them, and the frontier of an oracle.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
        The rows in the plane of two features, or of the first two principal axes of more.
    observed, predicted : arrays of shape (n_rows,)
        Their classes, and what the model says; rows where they differ are ringed.
    classes : array of shape (n_classes,)
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    margins : array of shape (side, side, n_classes)
        Of each class at each cell, its score less the largest of the others: the frontier is where it is 0.
    shares : array of shape (side, side, n_classes)
        Probabilities, or 1 for the class that is said, at each cell.
    oracle_margins : array or None
        The same as `margins` of the oracle.
    axis_names : pair of str
    title : str
    shape : str or None, default=None
        What curve the frontier of a quadratic rule of two classes in the plane is: an ellipse, a hyperbola.

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import LinearDiscriminantAnalysis
    >>> from assay.display import FrontierDisplay
    >>> law = two_gaussians_law()
    >>> X, y = law.sample(60, random_state=0)
    >>> known = law.means, law.covariances[0], law.priors, law.classes
    >>> oracle = LinearDiscriminantAnalysis.from_parameters(*known)
    >>> model = LinearDiscriminantAnalysis().fit(X, y)
    >>> FrontierDisplay.from_estimator(model, X, y, oracle=oracle).margins.shape
    (240, 240, 2)
    """

    points: NDArray
    observed: NDArray
    predicted: NDArray
    classes: NDArray
    limits: NDArray
    margins: NDArray
    shares: NDArray
    oracle_margins: NDArray | None
    axis_names: tuple[str, str]
    title: str
    shape: str | None = None

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, oracle: Any = None, feature_names: Any = None
    ) -> Self:
        rows, shown = shown_rows(X)
        if rows.shape[1] == 1:
            raise ValueError(
                f"The 'frontier' picture of {type(estimator).__name__} needs two features or more: draw "
                "kind='projections' of one."
            )
        names = column_names(estimator, X, feature_names, rows.shape[1])
        predicted = quietly(estimator.predict, rows_at(X, shown))
        observed = predicted if y is None else labels_of(X, y)[shown]
        plane = principal_plane(rows)
        points = plane.flatten(rows)
        limits = limits_around(points)
        cells = cell_points(limits, side_of(rows.shape[1], SIDE))
        scores = plane.ask(partial(class_scores, estimator), cells)
        classes = np.asarray(estimator.classes_)
        if hasattr(estimator, "predict_proba"):
            shares = plane.ask(partial(quietly, estimator.predict_proba), cells)
        else:
            shares = (scores == scores.max(axis=1, keepdims=True)).astype(float)
        truth = None
        if oracle is not None:
            truth = _square(margins(plane.ask(partial(class_scores, oracle), cells)))
        title = share_right(estimator, observed, None if y is None else predicted, ringed=True)
        return cls(
            points,
            observed,
            predicted,
            classes,
            np.array(limits),
            _square(margins(scores)),
            _square(shares),
            truth,
            plane.labels(names),
            title,
            _shape(estimator),
        )

    def _draw(self, ax: Any) -> None:
        palette, limits = class_colors(len(self.classes)), (self.limits[0], self.limits[1])
        draw_shades(self.shares, limits, palette, ax)
        columns, rows = cell_centers(limits, len(self.shares))
        _contours(ax, columns, rows, self.margins, color=INK, linewidths=1.6)
        if self.oracle_margins is not None:
            _contours(
                ax, columns, rows, self.oracle_margins, color=ACCENT, linewidths=1.6, linestyles=[DASHES]
            )
            ax.plot([], [], color=ACCENT, linestyle=DASHES, label="oracle")
        if self.oracle_margins is not None or self.shape is not None:
            ax.plot([], [], color=INK, label="fitted" if self.shape is None else f"fitted: {self.shape}")
        draw_points(self.points, self.observed, self.predicted, self.classes, palette, ax, ring=INK)
        for label, color in zip(self.classes, palette, strict=True):
            ax.plot([], [], "o", color=color, label=str(label))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        ax.set(xlim=self.limits[:, 0], ylim=self.limits[:, 1])
        caption(ax, *self.axis_names, self.title)


def _shape(estimator: Any) -> str | None:
    """The kind of curve of the frontier, where a rule of two classes in the plane tells it."""
    if not hasattr(estimator, "quadric") or estimator.n_features_in_ != 2 or len(estimator.classes_) != 2:
        return None
    return str(estimator.quadric().kind)


def _square(values: NDArray) -> NDArray:
    side = math.isqrt(len(values))
    return np.asarray(values, dtype=float).reshape(side, side, -1)


def _contours(ax: Any, columns: NDArray, rows: NDArray, margin: NDArray, **look: Any) -> None:
    """The lines on which a class is level with another; with two classes one margin has them all."""
    color = look.pop("color")
    for k in range(1 if margin.shape[2] == 2 else margin.shape[2]):
        heights = margin[:, :, k]
        if heights.min() < 0 < heights.max():
            ax.contour(columns, rows, heights, levels=[0.0], colors=[color], zorder=2, **look)


class FrontierPanelsDisplay(Display):
    """Several frontiers side by side: a fit and its oracle, LDA and QDA, with an outlier and without.

    Parameters
    ----------
    panels : sequence of FrontierDisplay
    names : sequence of str
        What each panel shows, above it.
    n_columns : int, default=2

    Examples
    --------
    >>> from assay.datasets import two_gaussians_law
    >>> from assay.discriminant import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
    >>> from assay.display import FrontierPanelsDisplay
    >>> X, y = two_gaussians_law().sample(80, random_state=0)
    >>> models = [LinearDiscriminantAnalysis().fit(X, y), QuadraticDiscriminantAnalysis().fit(X, y)]
    >>> len(FrontierPanelsDisplay.from_models(models, X, y, names=["LDA", "QDA"]).panels)
    2
    """

    panels: Sequence[FrontierDisplay]
    names: Sequence[str]
    n_columns: int = 2

    @classmethod
    def from_models(
        cls,
        models: Sequence[Any],
        X: Any,
        y: Any,
        *,
        names: Sequence[str],
        ax: Any = None,
        n_columns: int = 2,
    ) -> Self:
        """Read the panels off fitted models on one table, or on a table each (lists of X and y).

        Parameters
        ----------
        models : sequence of fitted classifiers
        X, y : array-like, or lists of one per model
        names : sequence of str
        ax : matplotlib Axes, optional
        n_columns : int, default=2
        """
        tables = X if isinstance(X, list) else [X] * len(models)
        labels = y if isinstance(y, list) else [y] * len(models)
        panels = [
            FrontierDisplay._collect(model, table, label)
            for model, table, label in zip(models, tables, labels, strict=True)
        ]
        return cls(panels, list(names), n_columns).plot(ax=ax)

    def _draw(self, ax: Any) -> None:
        ax.axis("off")
        n_lines = -(-len(self.panels) // self.n_columns)
        width, height = 1 / self.n_columns, 1 / n_lines
        for place, (panel, name) in enumerate(zip(self.panels, self.names, strict=True)):
            line, column = divmod(place, self.n_columns)
            corner = (column * width, 1 - (line + 1) * height)
            inset = ax.inset_axes((*corner, 0.92 * width, 0.74 * height))
            panel._draw(inset)
            inset.get_legend().remove()
            inset.set_title(f"{name}: {_errors(panel)}", fontsize=9.5)
            inset.tick_params(labelsize=7)
            inset.set(xlabel="", ylabel="")


def _errors(panel: FrontierDisplay) -> str:
    return f"{np.mean(panel.observed != panel.predicted):.1%} wrong"
