"""A classifier along one feature: curves of its probabilities or scores, over the rows as ticks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import both_scores, class_colors, labels_of, quietly, share_right, write
from assay.display.columns import column_names, shortened
from assay.display.flat_map import limits_around, rows_at, shown_rows
from assay.display.style import FAINT_INK, INK

N_POINTS = 601


@dataclass
class ClassLineDisplay(Display):
    """Probabilities, or scores, of the classes along one feature, and the rows as ticks.

    Of two classes the curve of the second is drawn, with the rows of the first below it and its own above.

    Parameters
    ----------
    grid : array of shape (n_points,)
    curves : array of shape (n_points, n_classes)
    turns : array of shape (n_turns,)
        Where the predicted class changes.
    values, observed : arrays of shape (n_rows,)
        The feature of the rows, and their classes.
    classes : array of shape (n_classes,)
    name, title : str
        Name of the feature, and the title.
    certain : bool
        Whether the curves are probabilities.

    Examples
    --------
    >>> from assay.datasets import iris
    >>> from assay.display import ClassLineDisplay
    >>> from assay.linear import LogisticRegression
    >>> X, y = iris(return_X_y=True)
    >>> model = LogisticRegression().fit(X[:, 2:3], y)
    >>> ClassLineDisplay.from_estimator(model, X[:, 2:3], y).turns.round(1)
    array([2.7, 4.9])
    """

    needs: ClassVar[tuple[str, ...]] = ("X",)
    grid: NDArray
    curves: NDArray
    turns: NDArray
    values: NDArray
    observed: NDArray
    classes: NDArray
    name: str
    title: str
    certain: bool

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        rows, shown = shown_rows(X)
        # Predicting first: a table of other columns is refused in the words of the model.
        predicted = quietly(estimator.predict, rows_at(X, shown))
        if rows.shape[1] != 1:
            raise ValueError(f"A line needs one feature, not {rows.shape[1]}; draw ClassMapDisplay of more.")
        observed = predicted if y is None else labels_of(X, y)[shown]
        low, high = limits_around(rows, 0.08)
        grid = np.linspace(low[0], high[0], N_POINTS)
        certain = hasattr(estimator, "predict_proba")
        if certain:
            curves = quietly(estimator.predict_proba, grid[:, None])
        else:
            coef, intercept = both_scores(estimator)
            curves = grid[:, None] @ coef.T + intercept
        chosen = quietly(estimator.predict, grid[:, None])
        turns = np.flatnonzero(chosen[1:] != chosen[:-1])
        return cls(
            grid,
            curves,
            (grid[turns] + grid[turns + 1]) / 2,
            rows[:, 0],
            observed,
            np.asarray(estimator.classes_),
            column_names(estimator, X, feature_names, 1)[0],
            share_right(estimator, observed, None if y is None else predicted, ringed=False),
            certain,
        )

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        two = len(self.classes) == 2
        if two and not self.certain:
            ax.axhline(0.0, color=FAINT_INK, linewidth=0.9)
        shown = self.curves[:, 1:] if two else self.curves
        for curve, color in zip(shown.T, palette[1:] if two else palette, strict=True):
            ax.plot(self.grid, curve, color=color)
        for turn in self.turns:
            ax.axvline(turn, color=INK, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1)
        bottom, top = (0.0, 1.0) if self.certain else (float(shown.min()), float(shown.max()))
        span = (bottom, top if top > bottom else bottom + 1.0)
        ax.set(xlim=(self.grid[0], self.grid[-1]), xlabel=self.name, title=self.title)
        self._draw_ticks(ax, palette, span)
        if two:
            self._name_ticks(ax, palette, span)
        else:
            self._name_curves(ax, palette)
        if self.certain:
            ax.set_yticks(np.linspace(0, 1, 6))
        whose = f" of {shortened(str(self.classes[1]), 18)}" if two else ""
        ax.set_ylabel(("probability" if self.certain else "score") + whose)

    def _name_curves(self, ax: Any, palette: NDArray) -> None:
        """Each class at the summit of its curve."""
        edge = len(self.grid) // 6
        for label, curve, color in zip(self.classes, self.curves.T, palette, strict=True):
            place = int(np.argmax(curve))
            side = "left" if place < edge else "right" if place >= len(curve) - edge else "center"
            summit = np.array([self.grid[place], curve[place]])
            write(ax, shortened(str(label), 18), summit, color, ha=side, va="bottom")

    def _name_ticks(self, ax: Any, palette: NDArray, span: tuple[float, float]) -> None:
        """Names of two classes beside their ticks, at the end where they are scarce."""
        left, right = self.grid[0], self.grid[-1]
        rising = self.curves[-1, 1] >= self.curves[0, 1]
        away = 0.07 * (span[1] - span[0])
        for place, level in enumerate((span[0] - away, span[1] + away)):
            at_left = rising == (place == 1)
            x = left + 0.01 * (right - left) if at_left else right - 0.01 * (right - left)
            word = shortened(str(self.classes[place]), 18)
            write(ax, word, np.array([x, level]), palette[place], ha="left" if at_left else "right")

    def _draw_ticks(self, ax: Any, palette: NDArray, span: tuple[float, float]) -> None:
        """Ticks of the rows, a line a class below the curves; of two classes the second above them."""
        height = span[1] - span[0]
        for place, (label, color) in enumerate(zip(self.classes, palette, strict=True)):
            above = len(self.classes) == 2 and place == 1
            level = span[1] + 0.07 * height if above else span[0] - (0.07 + 0.05 * place) * height
            mine = self.values[self.observed == label]
            ax.plot(
                mine,
                np.full(mine.size, level),
                "|",
                color=color,
                markersize=9,
                alpha=0.55,
                markeredgewidth=1.1,
            )
        lines = 1 if len(self.classes) == 2 else len(self.classes)
        ax.set_ylim(span[0] - (0.09 + 0.05 * lines) * height, span[1] + 0.14 * height)
