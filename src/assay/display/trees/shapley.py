"""Pictures of Shapley values: which columns matter, how, and why one row got its score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.linear.coefficients import ROWS_PER_INCH
from assay.display.plane import column_names, n_rows, plain, rows_at, sampled, shortened, shortened_apart
from assay.display.registry import Pictures, pictures
from assay.display.style import ACCENT, DASHES, FAINT_INK, PALETTE, caption, require_matplotlib
from assay.display.trees import boosting, forest, single, stagewise
from assay.numbers import shown
from assay.trees import (
    AdaBoostClassifier,
    DecisionStump,
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    ShapValues,
)

DECLARED = (boosting, forest, single, stagewise)
"""Modules whose pictures are extended here: they must be there before."""

MOST_BARS, MOST_ROWS, MOST_STEPS, MOST_STACKED = 15, 1000, 9, 4


def explained(
    estimator: Any, X: Any, feature_names: Any, most: int = MOST_ROWS
) -> tuple[ShapValues, list[str]]:
    """Shapley values of some of the rows, and the names of the columns."""
    places = sampled(n_rows(X), most)
    result = estimator.shap_values(rows_at(X, places))
    names = column_names(estimator, X, feature_names, result.values.shape[1])
    return result, shortened_apart(names)


def what_is_explained(estimator: Any, output: Any) -> str:
    """What the values add up to, in words."""
    if hasattr(estimator, "classes_"):
        summed = (AdaBoostClassifier, GradientBoostingClassifier, HistGradientBoostingClassifier)
        odds = isinstance(estimator, HistGradientBoostingClassifier)
        kind = "log-odds" if odds else "score" if isinstance(estimator, summed) else "probability"
        single = isinstance(estimator, summed) and len(estimator.classes_) == 2
        name = estimator.classes_[-1] if single or output is None else output
        return f"{kind} of {name}"
    if getattr(estimator, "_is_logarithm", False):
        return "logarithm of the prediction"
    return "prediction" if output is None else f"quantile {output:g}"


class ShapBarsDisplay(Display, needs=("X",)):
    """How much each column moves the scores: the mean size of its Shapley values.

    A few classes are stacked, more of them added up. As many columns as there is room for are drawn.

    Parameters
    ----------
    names : list of str
        Columns, the most telling first.
    importances : array of shape (n_columns, n_outputs)
    outputs : list of str
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import diabetes
    >>> X, y = diabetes(return_X_y=True)
    >>> model = trees.HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> display.ShapBarsDisplay.from_estimator(model, X).names[:1]
    ['x8']
    """

    names: list[str]
    importances: NDArray
    outputs: list[str]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        result, names = explained(estimator, X, feature_names)
        sizes = np.atleast_3d(result.importance.reshape(len(names), -1))[..., 0]
        outputs = [str(output) for output in result.outputs or [""]]
        if hasattr(estimator, "classes_") and sizes.shape[1] == 2:
            sizes, outputs = sizes[:, 1:], [""]  # the values of two classes are of the same size
        order = np.argsort(-sizes.sum(axis=1), kind="stable")
        order = order[sizes[order].sum(axis=1) > 0][:MOST_BARS]
        order = order if len(order) else np.arange(min(len(names), MOST_BARS))
        what = (
            what_is_explained(estimator, None)
            if len(outputs) == 1
            else "score of each class"
            if hasattr(estimator, "classes_")
            else "quantiles"
        )
        return cls([names[j] for j in order], sizes[order], outputs, f"What moves the {what}")

    def _draw(self, ax: Any) -> None:
        n_shown = min(len(self.names), max(4, int(ROWS_PER_INCH * (ax.figure.get_figheight() - 0.7))))
        names, parts, title = self.names[:n_shown], self.importances[:n_shown], self.title
        if parts.shape[1] > MOST_STACKED:
            parts = parts.sum(axis=1, keepdims=True)
            title = title.replace("each class", f"the {len(self.outputs)} classes, added up")
        places, left = np.arange(n_shown)[::-1], np.zeros(n_shown)
        for k, sizes in enumerate(parts.T):
            ax.barh(places, sizes, left=left, height=0.65, color=PALETTE[k], label=self.outputs[k])
            left = left + sizes
        if parts.shape[1] == 1:
            for place, size in zip(places, left, strict=True):
                ax.annotate(shown(size, 2), (size, place), (4, 0), textcoords="offset points", va="center",
                            fontsize=9)  # fmt: skip
            ax.margins(x=0.12)
        else:
            ax.legend(loc="lower right")
        ax.set_yticks(places, names)
        ax.grid(visible=False, axis="y")
        caption(ax, "mean |Shapley value|", "", title)


class ShapBeeswarmDisplay(Display, needs=("X",)):
    """The Shapley values of all rows, column by column, coloured by the value of the column.

    Parameters
    ----------
    names : list of str
        Columns, the most telling first.
    values : array of shape (n_rows, n_columns)
        Shapley values.
    levels : array of shape (n_rows, n_columns)
        Rank of each value of the column in [0, 1], NaN where it is missing.
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import diabetes
    >>> X, y = diabetes(return_X_y=True)
    >>> model = trees.RandomForestRegressor(10, random_state=0).fit(X, y)
    >>> display.ShapBeeswarmDisplay.from_estimator(model, X).values.shape
    (442, 10)
    """

    names: list[str]
    values: NDArray
    levels: NDArray
    title: str

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, output: Any = None, feature_names: Any = None
    ) -> Self:
        result, names = explained(estimator, X, feature_names)
        several, result = result.outputs, result.of_output(output)
        order = np.argsort(-result.importance, kind="stable")[:MOST_BARS]
        rows = (
            result.values[:, order] if result.data is None else np.asarray(result.data, dtype=float)[:, order]
        )
        named = several[-1] if several is not None and output is None else output
        title = f"Shapley values of the {what_is_explained(estimator, named)}"
        return cls(
            [names[j] for j in order], result.values[:, order], np.apply_along_axis(ranks, 0, rows), title
        )

    def _draw(self, ax: Any) -> None:
        colors = require_matplotlib().colors.LinearSegmentedColormap.from_list(
            "levels", [PALETTE[0], "#b9a6c9", ACCENT]
        )
        places = np.arange(len(self.names))[::-1]
        span = float(np.ptp(self.values)) or 1.0
        for j, place in enumerate(places):
            known = ~np.isnan(self.levels[:, j])
            heights = place + swarm(self.values[:, j], span)
            style: Any = {"s": 11, "linewidths": 0, "rasterized": True, "zorder": 3}
            ax.scatter(self.values[~known, j], heights[~known], color=FAINT_INK, **style)
            shades = colors(self.levels[known, j])
            ax.scatter(self.values[known, j], heights[known], color=shades, **style)
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
        ax.set_yticks(places, self.names)
        ax.set_ylim(-0.6, len(self.names) - 0.4)
        ax.grid(visible=False, axis="y")
        shades = {"high value of the column": ACCENT, "low value": PALETTE[0]}
        if np.isnan(self.levels).any():
            shades["missing"] = FAINT_INK
        for word, shade in shades.items():
            ax.scatter([], [], s=22, color=shade, label=word)
        ax.legend(loc="lower right")
        caption(ax, "Shapley value", "", self.title)


class ShapWaterfallDisplay(Display, needs=("X",)):
    """Why one row got its score: from the base value, column by column.

    Parameters
    ----------
    names : list of str
        Steps from the base value on, the largest last; small ones are put together.
    steps : array of shape (n_steps,)
    base_value, score : float
    title, measure : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import diabetes
    >>> X, y = diabetes(return_X_y=True)
    >>> model = trees.HistGradientBoostingRegressor(max_iter=20).fit(X, y)
    >>> shown = display.ShapWaterfallDisplay.from_estimator(model, X, row=3)
    >>> bool(abs(shown.base_value + shown.steps.sum() - shown.score) < 1e-9)
    True
    """

    names: list[str]
    steps: NDArray
    base_value: float
    score: float
    title: str
    measure: str

    @classmethod
    def _collect(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        row: int = 0,
        output: Any = None,
        values: Mapping[Any, Any] | None = None,
        feature_names: Any = None,
    ) -> Self:
        total = n_rows(X)
        if not -total <= row < total:
            raise ValueError(f"The 'row' of a waterfall must be one of {total} rows. Got {row} instead.")
        result = estimator.shap_values(rows_at(X, np.array([row % total])))
        names = column_names(estimator, X, feature_names, result.values.shape[1])
        several = result.outputs
        if several is not None and output is None and hasattr(estimator, "classes_"):
            output = several[int(np.argmax(result.scores[0]))]  # the class that the row is given
        result = result.of_output(output)
        steps = result.values[0]
        told = with_values(names, result.data, getattr(estimator, "levels_", {}), values or {})
        order = np.argsort(np.abs(steps), kind="stable")
        order = order[steps[order] != 0]
        n_named = MOST_STEPS if len(order) > MOST_STEPS + 1 else len(order)  # a single other one is named
        rest, kept = order[: len(order) - n_named], order[len(order) - n_named :]
        drawn, moves = [told[j] for j in kept], steps[kept]
        if len(rest):
            drawn, moves = [f"{len(rest)} others", *drawn], np.append(steps[rest].sum(), moves)
        title = f"Row {row}: {shown(float(result.scores[0]), 3)} instead of {shown(result.base_value, 3)}"
        measure = what_is_explained(estimator, output)
        return cls(drawn, moves, result.base_value, float(result.scores[0]), title, measure)

    def _draw(self, ax: Any) -> None:
        ends = self.base_value + np.cumsum(self.steps)
        starts = np.append(self.base_value, ends[:-1]) if len(ends) else ends
        places = np.arange(len(self.names))
        span = float(np.ptp(np.append(ends, self.base_value))) or 1.0  # nothing moves the score
        for place, start, end in zip(places, starts, ends, strict=True):
            color = ACCENT if end >= start else PALETTE[0]
            ax.barh(place, end - start, left=start, height=0.62, color=color)
            if place + 1 < len(places):
                ax.plot([end, end], [place, place + 1], color=FAINT_INK, linewidth=0.8, zorder=1)
            words = ("+" if end >= start else "") + shown(float(end - start), 2)
            far = max(start, end)
            ax.annotate(words, (far, place), (4, 0), textcoords="offset points", va="center", fontsize=9)
        ax.axvline(self.base_value, color=FAINT_INK, linewidth=1.0, linestyle=DASHES)
        reached = np.append(ends, self.base_value)
        ax.set_xlim(reached.min() - 0.06 * span, reached.max() + 0.16 * span)
        ax.set_yticks(places, self.names)
        ax.grid(visible=False, axis="y")
        caption(ax, f"{self.measure}; dashed: the base value", "", self.title)


def with_values(
    names: list[str], data: NDArray | None, levels: Mapping[int, list[Any]], values: Mapping[Any, Any]
) -> list[str]:
    """The columns with the values of the one row: those handed in by name, names of levels, or numbers."""
    known, told = {plain(str(name)): value for name, value in values.items()}, []
    for j, name in enumerate(names):
        value: Any = known.get(name, None if data is None else float(data[0, j]))
        if name not in known and j in levels and value is not None and 0 <= value < len(levels[j]):
            value = levels[j][int(value)]
        is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
        if value is None and name not in known:
            told.append(shortened(name))
        elif value is None or value != value:
            told.append(f"{shortened(name)} = missing")
        else:
            text = shown(float(value), 3) if is_number else plain(shortened(str(value)))
            told.append(f"{shortened(name)} = {text}")
    return told


def ranks(values: NDArray) -> NDArray:
    """Ranks of numbers in [0, 1], ties at their middle, NaN where missing."""
    known = ~np.isnan(values)
    out = np.full(len(values), np.nan)
    _, place, counts = np.unique(values[known], return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - 0.5 * counts
    low, high = (middle[0], middle[-1]) if len(middle) else (0.0, 1.0)
    out[known] = (middle[place] - low) / (high - low) if high > low else 0.5
    return out


def swarm(values: NDArray, span: float, width: float = 0.38, n_bins: int = 90) -> NDArray:
    """Heights that spread points of like value apart, evenly up and down, the densest bin to the width."""
    bins = np.clip(((values - values.min()) / span * n_bins).astype(int), 0, n_bins)
    counts = np.bincount(bins)
    within = np.empty(len(values))
    for bin_ in np.flatnonzero(counts):
        inside = np.flatnonzero(bins == bin_)
        place = np.arange(len(inside))
        within[inside] = (place + 1) // 2 * np.where(place % 2, 1.0, -1.0)
    largest = np.abs(within).max(initial=0.0)
    return within * (width / max(largest, 6.0))


def extend(*models: type, **displays: type[Display]) -> None:
    """Give classes further pictures after those that they have."""
    for kind in models:
        known = pictures.dispatch(kind)(None)
        both = Pictures({**known.displays, **displays}, known.default)
        pictures.register(kind, lambda model, both=both: both)


extend(
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    DecisionStump,
    RandomForestClassifier,
    RandomForestRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    AdaBoostClassifier,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    shap=ShapBarsDisplay,
    beeswarm=ShapBeeswarmDisplay,
    waterfall=ShapWaterfallDisplay,
)
