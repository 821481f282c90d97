"""Classes along a line: one feature, or the distance to the border of two classes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import both_scores, class_colors, labels_of, quietly, share_right, write
from assay.display.plane import column_names, limits_around, rgb, rows_at, sampled, shortened, shown_rows
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, caption

N_POINTS = 601


class ClassLineDisplay(Display, needs=("X",)):
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
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.iris(return_X_y=True)
    >>> model = linear.LogisticRegression().fit(X[:, 2:3], y)
    >>> display.ClassLineDisplay.from_estimator(model, X[:, 2:3], y).turns.round(1)
    array([2.7, 4.9])
    """

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
        middles, classes = (grid[turns] + grid[turns + 1]) / 2, np.asarray(estimator.classes_)
        (name,) = column_names(estimator, X, feature_names, 1)
        title = share_right(estimator, observed, None if y is None else predicted, ringed=False)
        return cls(grid, curves, middles, rows[:, 0], observed, classes, name, title, certain)

    def _draw(self, ax: Any) -> None:
        palette = class_colors(len(self.classes))
        two = len(self.classes) == 2
        if two and not self.certain:
            ax.axhline(0.0, color=FAINT_INK, linewidth=0.9)
        shown = self.curves[:, 1:] if two else self.curves
        for curve, color in zip(shown.T, palette[1:] if two else palette, strict=True):
            ax.plot(self.grid, curve, color=color)
        for turn in self.turns:
            ax.axvline(turn, color=INK, linewidth=1.1, linestyle=DASHES, zorder=1)
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
        """Ticks of the rows, a line per class below the curves; of two classes the second above them."""
        height = span[1] - span[0]
        for place, (label, color) in enumerate(zip(self.classes, palette, strict=True)):
            above = len(self.classes) == 2 and place == 1
            level = span[1] + 0.07 * height if above else span[0] - (0.07 + 0.05 * place) * height
            mine = self.values[self.observed == label]
            levels = np.full(mine.size, level)
            ax.plot(mine, levels, "|", color=color, markersize=9, alpha=0.55, markeredgewidth=1.1)
        lines = 1 if len(self.classes) == 2 else len(self.classes)
        ax.set_ylim(span[0] - (0.09 + 0.05 * lines) * height, span[1] + 0.14 * height)


N_GROUPS = 10
LEAST_IN_GROUP = 15


class ClassProbabilityDisplay(Display):
    """The curve 1/(1 + e^{−‖w‖d}) with its tangent of slope ‖w‖/4 at the hyperplane, and the rows.

    Parameters
    ----------
    grid, probability : arrays of shape (n_points,)
        Signed distances to the hyperplane, and the probability of the second class there.
    norm : float
        ‖w‖.
    classes : array of shape (2,)
    distance : array of shape (n_rows,) or None
        Signed distances of the rows.
    positive : array of bool of shape (n_rows,) or None
        Which of them are of the second class.
    groups : array of shape (3, n_groups), optional
        Mean distance of groups of about as many rows, observed share of the second class, its standard error.

    Examples
    --------
    >>> from assay import datasets, display, linear
    >>> X, y = datasets.breast_cancer(return_X_y=True)
    >>> model = linear.LogisticRegression().fit(X, y)
    >>> display.ClassProbabilityDisplay.from_estimator(model, X, y).groups.shape
    (3, 10)
    """

    grid: NDArray
    probability: NDArray
    norm: float
    classes: NDArray
    distance: NDArray | None = None
    positive: NDArray | None = None
    groups: NDArray | None = None

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        coef, intercept = _score(estimator)
        norm = float(np.linalg.norm(coef))
        distance = positive = groups = None
        if X is not None:
            shown = sampled(X.shape[0] if hasattr(X, "shape") else len(X))
            distance = quietly(estimator.decision_function, rows_at(X, shown)).astype(float) / norm
            if y is not None:
                positive = labels_of(X, y)[shown] == estimator.classes_[1]
                groups = _in_groups(distance, positive)
        reach = 8.0 / norm if distance is None else max(float(np.abs(distance).max()) * 1.06, 4.0 / norm)
        grid = np.linspace(-reach, reach, 801)
        rows = np.multiply.outer(grid - intercept / norm, coef / norm)
        curve = quietly(estimator.predict_proba, rows)[:, 1]
        return cls(grid, curve, norm, np.asarray(estimator.classes_), distance, positive, groups)

    def _draw(self, ax: Any) -> None:
        reach = self.grid[-1]
        ax.axhline(0.5, color=FAINT_INK, linewidth=0.7, linestyle=(0, (1, 3)), zorder=1)
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9, zorder=1)
        ax.plot(self.grid, self.probability, color=INK, linewidth=2.2, zorder=4)
        ends = np.array([-2.0, 2.0]) / self.norm
        tangent = 0.5 + ends * self.norm / 4
        ax.plot(ends, tangent, color=ACCENT, linewidth=1.6, linestyle=DASHES, zorder=5)
        # Right of the hyperplane and below one half there is nothing but this line.
        words = f"slope ‖w‖/4 = {self.norm / 4:.3g}\nat the hyperplane"
        ax.text(0.03 * reach, 0.32, words, color=ACCENT, fontsize=9.5)
        if self.distance is not None and self.positive is not None:
            alpha = 0.45 if self.distance.size < 600 else 0.15
            for second, level, color in ((False, -0.06, PALETTE[0]), (True, 1.06, PALETTE[1])):
                place = self.distance[self.positive == second]
                ax.plot(place, np.full(place.size, level), "|", color=color, markersize=8, alpha=alpha)
        if self.groups is not None:
            look = {"fmt": "o", "color": PALETTE[2], "markersize": 5, "linewidth": 1.2, "zorder": 5}
            words = "observed share\n± standard error"
            ax.errorbar(*self.groups[:2], yerr=self.groups[2], label=words, **look)
            ax.legend(loc="center left", bbox_to_anchor=(0.0, 0.68))
        names = [shortened(str(label), 18) for label in self.classes]
        for place, (level, color) in enumerate(zip((-0.13, 1.13), PALETTE, strict=False)):
            side = ("left", "right")[place]
            write(ax, names[place], np.array([(-0.98, 0.98)[place] * reach, level]), rgb(color), ha=side)
        title = "nearly linear beside the hyperplane, certain far from it"
        ax.set(xlim=(-reach, reach), ylim=(-0.2, 1.2))
        caption(ax, "signed distance to the hyperplane", f"probability of {names[1]}", title)
        ax.set_yticks(np.linspace(0, 1, 5))


def _score(model: Any) -> tuple[NDArray, float]:
    """The normal and the intercept of the hyperplane of two classes with probabilities, or a refusal."""
    name = type(model).__name__
    if not hasattr(model, "predict_proba"):
        raise ValueError(
            f"The 'probability' picture needs predict_proba, which {name} lacks; use kind='map'."
        )
    if len(model.classes_) != 2:
        raise ValueError(
            f"The 'probability' picture is of two classes; this {name} has {len(model.classes_)}. "
            "Use kind='map' or kind='confusion'."
        )
    coef = np.asarray(model.coef_, dtype=float)[0]
    if not np.any(coef):
        raise ValueError(f"All coefficients of this {name} are zero: there is no hyperplane to draw.")
    return coef, float(np.ravel(model.intercept_)[0])


def _in_groups(distance: NDArray, positive: NDArray) -> NDArray | None:
    """Mean distance, share of the class and its standard error in groups of about equal size."""
    n_groups = min(N_GROUPS, distance.size // LEAST_IN_GROUP)
    if n_groups < 3:
        return None
    groups = np.array_split(np.argsort(distance, kind="stable"), n_groups)
    middle = np.array([distance[group].mean() for group in groups])
    share = np.array([positive[group].mean() for group in groups])
    error = np.sqrt(share * (1 - share) / np.array([group.size for group in groups]))
    return np.array([middle, share, error])
