"""Pictures of one tree: its nodes, its cells in a plane, and its pruning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.linear.predictions import PredictionsDisplay, ResidualsDisplay
from assay.display.plane import column_names, rows_at, sampled, shortened
from assay.display.registry import declare
from assay.display.style import (
    FAINT_INK,
    GRID,
    GROUND,
    INK,
    PALETTE,
    caption,
    colors,
    require_matplotlib,
)
from assay.display.trees.pruning import PruningDisplay, PruningSelectionDisplay
from assay.trees import DecisionStump, DecisionTreeClassifier, DecisionTreeRegressor
from assay.trees.decision.reading import levels_of
from assay.trees.tree import EVERY_VALUE

MOST_NODES = 24
"""Nodes that a drawing shows; deeper ones are counted in their last ancestor that is."""

LETTERS_ACROSS = 9.5
"""Size of the letters of one leaf on a picture of an inch."""

MIDDLE = 0.55
"""Share of white in the colour of a cell."""


class TreeDisplay(Display):
    """The nodes of a tree from the root down: questions inside, answers at the leaves.

    A branch goes left where the answer is yes. The colour of a node is its class, fainter where it is mixed,
    or what it predicts on a scale.

    Parameters
    ----------
    places : array of shape (n_nodes, 2)
        Across and depth of each node.
    parents : int array of shape (n_nodes,)
        −1 for the root.
    words : sequence of str
        What is written into each node.
    shades : array of shape (n_nodes, 4)
        Colours, red, green, blue and how much they cover.
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> model = trees.DecisionTreeClassifier(max_depth=2).fit(*iris(return_X_y=True))
    >>> display.TreeDisplay.from_estimator(model).words[0].splitlines()[0]
    'x2 ≤ 2.45'
    """

    places: NDArray
    parents: NDArray
    words: Sequence[str]
    shades: NDArray
    title: str

    @classmethod
    def _collect(
        cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None, max_depth: int = 4
    ) -> Self:
        tree = estimator.tree_
        names = column_names(estimator, X, feature_names, estimator.n_features_in_)
        depths = tree.depths
        limit = max_depth
        while np.sum(depths <= limit) > MOST_NODES and limit > 1:
            limit -= 1
        shown = np.flatnonzero(depths <= limit)
        ends = shown[tree.is_leaf[shown] | (depths[shown] == limit)]
        across = np.full(tree.node_count, np.nan)
        across[ends] = np.arange(len(ends))
        for node in shown[::-1]:
            if np.isnan(across[node]):
                across[node] = across[[tree.children_left[node], tree.children_right[node]]].mean()
        number = np.append(np.cumsum(depths <= limit) - 1, -1)
        parents = number[tree.parents[shown]]
        words = [_words(estimator, node, names, is_last=depths[node] == limit) for node in shown]
        places = np.column_stack([across[shown], depths[shown]])
        title = f"{tree.n_leaves} leaves, depth {tree.max_depth}"
        title += "" if limit >= tree.max_depth else f" (drawn to depth {limit})"
        return cls(places, parents, words, _shades(estimator)[shown], title)

    def _draw(self, ax: Any) -> None:
        patches = require_matplotlib().patches
        crowd = max(1.0, np.ptp(self.places[:, 0]) + 1)
        size = float(np.clip(LETTERS_ACROSS * ax.figure.get_figwidth() / crowd, 4.0, 9.0))
        boxes = []
        for place, word, shade in zip(self.places, self.words, self.shades, strict=True):
            frame = {"boxstyle": "round,pad=0.35", "facecolor": shade, "edgecolor": GRID, "linewidth": 0.8}
            style: Any = {"ha": "center", "va": "center", "fontsize": size, "color": INK}
            boxes.append(ax.text(*place, word, bbox=frame, zorder=2, **style).get_bbox_patch())
        # After the words, when their boxes have their places: a branch ends where the boxes begin.
        branch: Any = {"arrowstyle": "-", "shrinkA": 0, "shrinkB": 0, "color": FAINT_INK, "linewidth": 1.1}
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                ends = {"patchA": boxes[parent], "patchB": boxes[node]}
                line = patches.FancyArrowPatch(*self.places[[parent, node]], zorder=3, **ends, **branch)
                ax.add_patch(line)
        depth = self.places[:, 1].max()
        ax.set_xlim(self.places[:, 0].min() - 0.7, self.places[:, 0].max() + 0.7)
        ax.set_ylim(depth + 0.5, -0.5)
        ax.set_xticks([])
        ax.set_yticks(np.arange(depth + 1))
        ax.grid(visible=False)
        caption(ax, "yes: left, no: right", "depth", self.title)


def _words(model: Any, node: Any, names: list[str], *, is_last: bool) -> str:
    tree, weight = model.tree_, model.tree_.weighted_n_node_samples[node]
    lines = []
    if not tree.is_leaf[node]:
        name = shortened(names[tree.feature[node]], 18)
        lines.append(f"{name} {_question(model, node)}" if not is_last else f"{name} …")
    if hasattr(model, "classes_"):
        share = tree.value[node].max()
        lines.append(f"{shortened(str(model.classes_[tree.value[node].argmax()]), 14)} {share:.0%}")
    else:
        lines.append(f"{tree.value[node, 0]:.4g}".replace("-", "−"))
    return "\n".join([*lines, f"n = {weight:.4g}"])


def _question(model: Any, node: int) -> str:
    tree, j = model.tree_, int(model.tree_.feature[node])
    if tree.levels[node] >= 0:
        goes_left = tree.left_codes(node, int(model.columns_.n_codes[j]))
        levels = [str(level) for level in levels_of(model.columns_, model.levels_, j, goes_left)]
        return shortened("in {" + ", ".join(levels) + "}", 24)
    return (
        "has a value"
        if tree.threshold[node] >= EVERY_VALUE
        else f"≤ {tree.threshold[node]:.4g}".replace("-", "−")
    )


def _shades(model: Any) -> NDArray:
    """Colour of each node: that of its class, fainter where it is mixed, or of its number on a scale."""
    matplotlib, value = require_matplotlib(), model.tree_.value
    if hasattr(model, "classes_"):
        palette = np.array([matplotlib.colors.to_rgb(color) for color in colors(value.shape[1])])
        least = 1.0 / value.shape[1]
        purity = (value.max(axis=1) - least) / (1 - least)
        return np.column_stack([palette[value.argmax(axis=1)], 0.12 + (1 - MIDDLE) * purity])
    numbers = value[:, 0]
    share = (numbers - numbers.min()) / (np.ptp(numbers) or 1.0)
    blue = np.tile(matplotlib.colors.to_rgb(PALETTE[0]), (len(numbers), 1))
    return np.column_stack([blue, 0.06 + 0.5 * share])


class TreePartitionDisplay(Display, needs=("X",)):
    """The cells of a tree in the plane of two columns, with the rows.

    With more than two columns these are the two that gain most, and the cells are those that the slice at the
    median of the others meets.

    Parameters
    ----------
    lower, upper : arrays of shape (n_cells, 2)
        Corners of the cells, cut off at the frame.
    shades : array of shape (n_cells, 4)
        Colours, red, green, blue and how much they cover.
    points : array of shape (n_rows, 2)
    point_colors : array of shape (n_rows, 3)
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    axis_names : pair of str
    legend : sequence of pairs of str and colour
        Classes; empty for numbers.
    title : str

    Examples
    --------
    >>> from assay import display, trees
    >>> from assay.datasets import iris
    >>> X, y = iris(return_X_y=True)
    >>> model = trees.DecisionTreeClassifier(max_depth=2).fit(X[:, 2:], y)
    >>> len(display.TreePartitionDisplay.from_estimator(model, X[:, 2:], y).lower)
    3
    """

    lower: NDArray
    upper: NDArray
    shades: NDArray
    points: NDArray
    point_colors: NDArray
    limits: NDArray
    axis_names: tuple[str, str]
    legend: Sequence[tuple[str, Any]]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if estimator.n_features_in_ < 2:
            raise ValueError("The 'partition' picture needs two columns: draw kind='tree' instead.")
        shown = sampled(len(X))
        part = rows_at(X, shown)
        table = np.asarray(estimator._open_new_rows(part).X, dtype=float)
        table = estimator.columns_.levels_as_codes(table)
        names = column_names(estimator, X, feature_names, estimator.n_features_in_)
        first, second = np.sort(np.argsort(-estimator.feature_importances_, kind="stable")[:2])
        points = table[:, [first, second]]
        middle = np.zeros(table.shape[1])
        for j in range(table.shape[1]):
            known = table[~np.isnan(table[:, j]), j]
            middle[j] = np.median(known) if len(known) else np.nan
        boxes = [box for box in estimator.boxes() if _meets(box, middle, (first, second))]
        seen = points[~np.isnan(points).any(axis=1)]
        margin = 0.04 * np.where(np.ptp(seen, axis=0) > 0, np.ptp(seen, axis=0), 1.0)
        limits = np.array([seen.min(axis=0) - margin, seen.max(axis=0) + margin])
        lower, upper = (
            np.clip([side(box)[[first, second]] for box in boxes], *limits)
            for side in (lambda box: box.lower, lambda box: box.upper)
        )
        leaves = [box.leaf for box in boxes]
        target = None if y is None else np.asarray(y)[shown]
        dots, legend = _dots(estimator, part, target)
        rest = "" if table.shape[1] == 2 else ", others at their medians"
        title = f"{len(boxes)} cells{rest}"
        axis_names = (names[first], names[second])
        return cls(lower, upper, _shades(estimator)[leaves], points, dots, limits, axis_names, legend, title)

    def _draw(self, ax: Any) -> None:
        patches = require_matplotlib().patches
        for low, high, shade in zip(self.lower, self.upper, self.shades, strict=True):
            cell = patches.Rectangle(low, *(high - low), facecolor=shade, edgecolor=GROUND, linewidth=1.2)
            ax.add_patch(cell)
        look: Any = {"s": 16, "linewidths": 0.5, "edgecolors": GROUND, "zorder": 3}
        ax.scatter(*self.points.T, c=self.point_colors, **look)
        ax.set_xlim(self.limits[:, 0])
        ax.set_ylim(self.limits[:, 1])
        ax.grid(visible=False)
        for word, color in self.legend:
            ax.plot([], [], "o", color=color, label=shortened(word, 18))
        if self.legend:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handletextpad=0.2)
        caption(ax, *self.axis_names, self.title)


def _meets(box: Any, middle: NDArray, free: tuple[int, int]) -> bool:
    """Whether a box meets the plane through a point along two columns."""
    row = middle.copy()
    for j in free:
        if j in box.codes:
            inside = np.flatnonzero(box.codes[j])
            row[j] = inside[0] if len(inside) else np.nan
        else:
            row[j] = box.upper[j] if np.isfinite(box.upper[j]) else np.nextafter(box.lower[j], np.inf)
            row[j] = 0.0 if not np.isfinite(row[j]) else row[j]
    return bool(box.contains(row[np.newaxis])[0])


def _dots(model: Any, X: Any, y: Any) -> tuple[NDArray, list[tuple[str, Any]]]:
    """Colours of the rows, by observed class or number, and the legend."""
    matplotlib = require_matplotlib()
    if hasattr(model, "classes_"):
        palette = np.array([matplotlib.colors.to_rgb(color) for color in colors(len(model.classes_))])
        labels = model.predict(X) if y is None else y
        places = np.searchsorted(model.classes_, labels)
        return palette[places], list(zip(map(str, model.classes_), palette, strict=True))
    numbers = np.asarray(model.predict(X) if y is None else y, dtype=float)
    value = model.tree_.value[:, 0]
    share = np.clip((numbers - value.min()) / (np.ptp(value) or 1.0), 0, 1)
    return np.asarray(matplotlib.colormaps["Blues"](0.25 + 0.75 * share))[:, :3], []


def _default(model: Any, X: Any, y: Any) -> str:
    """The partition of two columns with data, else the nodes."""
    return "partition" if X is not None and model.n_features_in_ == 2 else "tree"


SINGLE: dict[str, type[Display]] = {
    "tree": TreeDisplay,
    "partition": TreePartitionDisplay,
    "pruning": PruningDisplay,
    "selection": PruningSelectionDisplay,
}

declare(DecisionTreeClassifier, default=_default, **SINGLE, confusion=ConfusionDisplay)
declare(
    DecisionStump,
    default=_default,
    tree=TreeDisplay,
    partition=TreePartitionDisplay,
    confusion=ConfusionDisplay,
)
declare(
    DecisionTreeRegressor,
    default=_default,
    **SINGLE,
    predictions=PredictionsDisplay,
    residuals=ResidualsDisplay,
)
