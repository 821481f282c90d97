"""Pictures of boosting, round by round: errors, the chain of bounds, margins, frontiers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.classes.scores import class_colors, draw_points, labels_of, quietly
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.plane import (
    column_names,
    limits_around,
    principal_plane,
    rows_at,
    shown_rows,
    side_of,
)
from assay.display.registry import Default, declare
from assay.display.style import (
    DASHES,
    FAINT_INK,
    INK,
    PALETTE,
    caption,
    whole_numbers,
)
from assay.numbers import shown
from assay.trees import (
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    StagewiseAdditive,
)

SIDE = 160
"""Cells of a side of the plane that frontiers are drawn on."""


def spread_rounds(n_rounds: int, count: int) -> list[int]:
    """Rounds from the first to the last, spread on a log scale."""
    return np.unique(np.geomspace(1, n_rounds, count).round().astype(int)).tolist()


class RoundErrorsDisplay(Display):
    """Weighted error of the learner of each round, which tends to that of chance as rows get hard.

    Parameters
    ----------
    error, training_error : arrays of shape (n_rounds,)
        ε_t under D_t, and the share of rows that the vote gets wrong.
    chance : float
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> model = trees.AdaBoostClassifier(n_estimators=15).fit(X, y)
    >>> display.RoundErrorsDisplay.from_estimator(model).error.shape
    (15,)
    """

    error: NDArray
    training_error: NDArray
    chance: float
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any) -> Self:
        history = estimator.history_
        words = f"{len(history.error)} rounds, training error {shown(history.training_error[-1], 3)}"
        return cls(history.error, history.training_error, history.chance, words)

    def _draw(self, ax: Any) -> None:
        rounds = np.arange(1, len(self.error) + 1)
        ax.axhline(self.chance, color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
        ax.annotate(
            "chance", (1.0, self.chance), xycoords=("axes fraction", "data"), xytext=(-2, -4),
            textcoords="offset points", ha="right", va="top", fontsize=9, color=FAINT_INK,
        )  # fmt: skip
        ax.plot(rounds, self.error, "o-", color=PALETTE[0], markersize=3.5, label="learner, reweighted rows")
        ax.plot(rounds, self.training_error, color=PALETTE[1], label="vote, training rows")
        ax.set_ylim(bottom=0.0, top=1.12 * self.chance)
        ax.legend(loc="center right")
        whole_numbers(ax)
        caption(ax, "round", "error", self.title)


class BoundChainDisplay(Display):
    """Training error below the product of normalisers below its bounds, on a log axis.

    Parameters
    ----------
    curves : mapping of str to array of shape (n_rounds,)
        Name → values, from the smallest to the loosest.
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> model = trees.AdaBoostClassifier(n_estimators=15).fit(X[50:], y[50:])
    >>> len(display.BoundChainDisplay.from_estimator(model).curves)
    4
    """

    curves: Mapping[str, NDArray]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any) -> Self:
        history = estimator.history_
        curves = {"training error": history.training_error, "Π Z": history.product}
        if history.exact and history.n_classes == 2:
            curves |= {"exp(−2 Σ γ²)": history.squared_edges, "exp(−2 t min γ²)": history.smallest_edge}
        words = f"after {len(history.error)} rounds the error is {shown(history.training_error[-1], 2)}, "
        return cls(curves, f"{words}at most {shown(history.product[-1], 2)}")

    def _draw(self, ax: Any) -> None:
        for place, (name, values) in enumerate(self.curves.items()):
            rounds = np.arange(1, len(values) + 1)
            shown = np.where(values > 0, values, np.nan)  # no error has no place on a log axis
            ax.plot(rounds, shown, color=PALETTE[place], label=name)
            gone = np.flatnonzero(values <= 0)
            if len(gone):
                ax.axvline(gone[0] + 1, color=PALETTE[place], linewidth=1.0, linestyle=DASHES)
                ax.annotate(
                    "no mistake", (gone[0] + 1, 0.0), xycoords=("data", "axes fraction"), xytext=(4, 6),
                    textcoords="offset points", fontsize=9, color=PALETTE[place],
                )  # fmt: skip
        ax.set_yscale("log")
        ax.legend(loc="best")
        whole_numbers(ax)
        caption(ax, "round", "share of the weight", self.title)


class MarginsDisplay(Display, needs=("X", "y")):
    """Distribution of the margins y f(x)/‖w‖₁ after some rounds: boosting moves the small ones up.

    Parameters
    ----------
    margins : mapping of int to array
        Round → sorted margins of the rows.
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> model = trees.AdaBoostClassifier(n_estimators=15).fit(X[50:], y[50:])
    >>> sorted(display.MarginsDisplay.from_estimator(model, X[50:], y[50:]).margins)
    [1, 4, 15]
    """

    margins: Mapping[int, NDArray]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, rounds: Sequence[int] | None = None) -> Self:
        chosen = spread_rounds(len(estimator.estimators_), 3) if rounds is None else list(rounds)
        margins = {t: np.sort(estimator.margins(X, y, t)) for t in chosen}
        last = margins[max(margins)]
        return cls(margins, f"smallest margin {last[0]:.2f}, median {np.median(last):.2f}")

    def _draw(self, ax: Any) -> None:
        ax.axvline(0.0, color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
        for place, (count, values) in enumerate(self.margins.items()):
            steps = np.arange(1, len(values) + 1) / len(values)
            name = "1 round" if count == 1 else f"{count} rounds"
            ax.step(values, steps, where="post", color=PALETTE[place % len(PALETTE)], label=name)
        ax.set(xlim=(-1.02, 1.02), ylim=(0, 1.02))
        ax.legend(loc="upper left")
        caption(ax, "margin", "share of rows up to it", self.title)


class RoundFrontiersDisplay(Display, needs=("X",)):
    """Where a vote of two classes changes its mind, after some rounds, in a plane.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
    observed, predicted, classes : arrays
        Classes of the rows, observed and predicted in the end.
    limits : array of shape (2, 2)
    scores : mapping of int to array of shape (side, side)
        Round → scores over the frame; the frontier is where they are 0.
    axis_names : pair of str
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> model = trees.AdaBoostClassifier(n_estimators=15).fit(X[50:, :2], y[50:])
    >>> sorted(display.RoundFrontiersDisplay.from_estimator(model, X[50:, :2], y[50:]).scores)
    [1, 4, 15]
    """

    points: NDArray
    observed: NDArray
    predicted: NDArray
    classes: NDArray
    limits: NDArray
    scores: Mapping[int, NDArray]
    axis_names: tuple[str, str]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if len(estimator.classes_) != 2:
            raise ValueError("A frontier is drawn between two classes; there are more.")
        rows, shown = shown_rows(X)
        if rows.shape[1] == 1:
            raise ValueError("A plane needs two features; there is one.")
        names = column_names(estimator, X, feature_names, rows.shape[1])
        plane = principal_plane(rows)
        points = plane.flatten(rows)
        limits = np.array(limits_around(points))
        side = side_of(rows.shape[1], SIDE)
        x, z = (np.linspace(limits[0][k], limits[1][k], side) for k in range(2))
        cells = np.column_stack([part.ravel() for part in np.meshgrid(x, z)])
        chosen = spread_rounds(len(estimator.estimators_), 3)

        def say(rows: NDArray) -> NDArray:
            stages = enumerate(estimator.staged_decision_function(rows), start=1)
            return np.column_stack([values for t, values in stages if t in chosen])

        said = plane.ask(say, cells)
        scores = {t: values.reshape(side, side) for t, values in zip(chosen, said.T, strict=True)}
        predicted = quietly(estimator.predict, rows_at(X, shown))
        observed = predicted if y is None else labels_of(X, y)[shown]
        words = f"frontier after {', '.join(map(str, chosen))} rounds"
        if y is not None:
            words += f"; {np.mean(predicted == observed):.0%} right in the end"
        classes = np.asarray(estimator.classes_)
        return cls(points, observed, predicted, classes, limits, scores, plane.labels(names), words)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(2)
        last = self.scores[max(self.scores)]
        x, z = (np.linspace(self.limits[0][k], self.limits[1][k], len(last)) for k in range(2))
        colors = [(*palette[0], 0.13), (*palette[1], 0.13)]
        ax.contourf(x, z, last, levels=[-np.inf, 0.0, np.inf], colors=colors, zorder=0)
        styles = [(0, (1, 2)), DASHES, "-", "-."]
        for place, (count, values) in enumerate(self.scores.items()):
            if values.min() < 0 < values.max():
                ax.contour(
                    x, z, values, levels=[0.0], colors=[INK], linewidths=1.4, linestyles=[styles[place % 4]]
                )
            name = "1 round" if count == 1 else f"{count} rounds"
            ax.plot([], [], color=INK, linewidth=1.4, linestyle=styles[place % 4], label=name)
        draw_points(self.points, self.observed, self.predicted, self.classes, palette, ax, ring=INK)
        for label, color in zip(self.classes, palette, strict=True):
            ax.plot([], [], "o", color=color, label=str(label))
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        caption(ax, *self.axis_names, self.title)
        ax.set(xlim=self.limits[:, 0], ylim=self.limits[:, 1])


class RoundRiskDisplay(Display):
    """Mean loss after each round, from the constant on, and the edges of the learners.

    Parameters
    ----------
    risk : array of shape (n_rounds + 1,)
    agreement : array of shape (n_rounds,) or (0,)
        Squared cosine between learner and pseudo-residuals.
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import diabetes
    >>> X, y = diabetes(return_X_y=True)
    >>> model = trees.GradientBoostingRegressor(n_estimators=10).fit(X, y)
    >>> display.RoundRiskDisplay.from_estimator(model).risk.shape
    (11,)
    """

    risk: NDArray
    agreement: NDArray
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any) -> Self:
        history = getattr(estimator, "history_", None)
        risk = estimator.risks_ if history is None else history.risk
        agreement = np.empty(0) if history is None else history.agreement
        words = f"risk {shown(risk[0], 3)} → {shown(risk[-1], 3)} in {len(risk) - 1} rounds"
        return cls(risk, agreement, words)

    def _draw(self, ax: Any) -> None:
        ax.plot(np.arange(len(self.risk)), self.risk, color=PALETTE[0], label="risk")
        if len(self.agreement):
            sizes = self.risk[:-1] * self.agreement
            rounds = np.arange(1, len(sizes) + 1)
            name = "part that the learner explains"
            ax.plot(rounds, sizes, ".", color=PALETTE[1], markersize=4, label=name)
            ax.legend(loc="best")
        ax.set_ylim(bottom=min(0.0, float(self.risk.min())))
        whole_numbers(ax)
        caption(ax, "round", "mean loss, training rows", self.title)


declare(
    AdaBoostClassifier,
    default=Default("margins", "bounds", target=True),
    bounds=BoundChainDisplay,
    errors=RoundErrorsDisplay,
    margins=MarginsDisplay,
    frontiers=RoundFrontiersDisplay,
    confusion=ConfusionDisplay,
)
declare(
    GradientBoostingClassifier,
    default=Default("risk", "risk"),
    risk=RoundRiskDisplay,
    frontiers=RoundFrontiersDisplay,
    confusion=ConfusionDisplay,
)
declare(
    GradientBoostingRegressor,
    default=Default("risk", "risk"),
    risk=RoundRiskDisplay,
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
)
declare(
    StagewiseAdditive,
    default=Default("risk", "risk"),
    risk=RoundRiskDisplay,
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
)
