"""Pictures of support vector classifiers: frontier and margins in a plane, for several costs, and by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display, drawn_by, itself
from assay.display.classes.pictures import ConfusionDisplay
from assay.display.classes.scores import (
    cell_centers,
    cell_points,
    class_colors,
    draw_points,
    draw_shades,
    labels_of,
    point_colors,
    quietly,
)
from assay.display.plane import (
    column_names,
    dense,
    limits_around,
    n_rows,
    plain,
    principal_plane,
    rows_at,
    sampled,
    shortened,
    shown_rows,
    side_of,
)
from assay.display.registry import declare
from assay.display.style import DASHES, FAINT_INK, INK, caption
from assay.display.support_paths import (
    DualTraceDisplay,
    DualWeightsDisplay,
    GapTimeDisplay,
    SupportPathDisplay,
)
from assay.display.support_sets import (
    LOOKS,
    as_fitted,
    carriers,
    is_on_features,
    is_precomputed,
    kernel_name,
    sets_of_fit,
    sets_of_rows,
)
from assay.kernel_machines import SVC, HardMarginSVC, NuSVC

SIDE = 240
SHADE = 0.6
WIDEST = 2.5
"""Frames whose sides differ by no more than this factor show both axes at one scale: angles are right."""


class MarginDisplay(Display, needs=("X",)):
    """Frontier f = 0 and margins f = ±1 of a machine in a plane, with its support vectors.

    Margins are drawn of two classes and two columns. The plane of more columns is that of their first two
    principal axes: its points are rows, on which the frontier is drawn; other rows are projected.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
    observed : array of shape (n_rows,)
        Their classes; what the model says when none are known.
    classes : array of shape (n_classes,)
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    said : array of shape (side, side)
        Place of the class that is said at each cell.
    values : array of shape (side, side) or None
        f at each cell; None of more than two classes.
    support : array of shape (n_support, 2)
        The support vectors in the plane.
    sets : array of shape (n_support,)
        1 on the margin, 2 at the bound, 3 where the loss has no bound.
    has_margins : bool
    axis_names : pair of str
    title : str

    Examples
    --------
    >>> from assay.display import MarginDisplay
    >>> from assay.kernel_machines import HardMarginSVC
    >>> X, y = [[0.0, 0.0], [0.0, 1.0], [2.0, 0.0], [2.0, 1.0]], [0, 0, 1, 1]
    >>> shown = MarginDisplay.from_estimator(HardMarginSVC(kernel="linear").fit(X, y), X, y)
    >>> shown.ax_.get_title()
    'linear kernel: margin 1/‖h‖ = 1'
    """

    points: NDArray
    observed: NDArray
    classes: NDArray
    limits: NDArray
    said: NDArray
    values: NDArray | None
    support: NDArray
    sets: NDArray
    has_margins: bool
    axis_names: tuple[str, str]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if is_precomputed(estimator) or estimator.n_features_in_ == 1:
            raise ValueError(
                f"The 'margin' picture of {type(estimator).__name__} needs two columns or more, not a "
                "precomputed kernel: draw kind='values'."
            )
        rows, shown = shown_rows(X)
        names = column_names(estimator, X, feature_names, rows.shape[1])
        plane = principal_plane(rows)
        points = plane.flatten(rows)
        limits = limits_around(points)
        classes, side = np.asarray(estimator.classes_), side_of(rows.shape[1], SIDE)
        two = len(classes) == 2
        say = estimator.decision_function if two else estimator.predict
        told = plane.ask(lambda z: quietly(say, as_fitted(z, estimator)), cell_points(limits, side))
        values = told.astype(float).reshape(side, side) if two else None
        said = _places(told, classes).reshape(side, side) if values is None else (values > 0).astype(int)
        observed = labels_of(X, y)[shown] if y is not None else quietly(estimator.predict, rows_at(X, shown))
        support, sets = np.empty((0, 2)), np.empty(0, dtype=int)
        if not is_on_features(estimator):
            support = plane.flatten(dense(estimator.support_vectors_).reshape(-1, rows.shape[1]))
            sets = sets_of_fit(estimator)[np.asarray(estimator.support_)]
        return cls(
            points,
            observed,
            classes,
            np.array(limits),
            said,
            values,
            support,
            sets,
            two and rows.shape[1] == 2,
            plane.labels(names),
            _title(estimator, flat=rows.shape[1] == 2),
        )

    def _draw(self, ax: Any) -> None:
        palette, limits = class_colors(len(self.classes)), (self.limits[0], self.limits[1])
        # Paler than a class that is certain: rows are on their own colour.
        shares = SHADE * np.eye(len(self.classes))[self.said] + (1 - SHADE) / len(self.classes)
        draw_shades(shares, limits, palette, ax)
        cells = cell_centers(limits, len(self.said))
        _frontiers(ax, cells, self.said if self.values is None else self.values, self.values is not None)
        if self.has_margins and self.values is not None:
            _line(ax, cells, self.values, -1.0, linewidths=1.1, linestyles=[DASHES])
            _line(ax, cells, self.values, 1.0, linewidths=1.1, linestyles=[DASHES])
        draw_points(self.points, self.observed, self.observed, self.classes, palette, ax, ring=INK)
        for label, color in zip(self.classes, palette, strict=True):
            ax.plot([], [], "o", color=color, label=plain(shortened(str(label), 18)))
        ax.plot([], [], color=INK, linewidth=1.8, label="frontier")
        if self.has_margins:
            ax.plot([], [], color=INK, linewidth=1.1, linestyle=DASHES, label="margins f = ±1")
        for place, (marker, size, name) in LOOKS.items():
            inside = self.sets == place
            if inside.any():
                look: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.1}
                label = f"{name} ({np.count_nonzero(inside)})"
                ax.scatter(*self.support[inside].T, s=size, marker=marker, zorder=5, label=label, **look)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        width, height = self.limits[1] - self.limits[0]
        ax.set(xlim=self.limits[:, 0], ylim=self.limits[:, 1])
        ax.set_aspect("equal" if max(width / height, height / width) <= WIDEST else "auto")
        caption(ax, *self.axis_names, self.title)


def _title(model: Any, *, flat: bool = True) -> str:
    head = f"{kernel_name(model)} kernel"
    if not isinstance(model, HardMarginSVC):
        head += f", ν = {model.nu:g}" if isinstance(model, NuSVC) else f", C = {model.C_:.3g}"
    if not flat:
        return f"{head}: on the principal plane"
    several = len(model.classes_) > 2
    return (
        f"{head}: {carriers(model)}" if several else f"{head}: margin 1/‖h‖ = {float(model.margin_[0]):.3g}"
    )


def _places(labels: NDArray, classes: NDArray) -> NDArray:
    order = np.argsort(classes)
    return np.asarray(order[np.searchsorted(classes, labels, sorter=order)])


def _line(ax: Any, cells: tuple[NDArray, NDArray], heights: NDArray, level: float, **look: Any) -> None:
    if heights.min() < level < heights.max():
        ax.contour(*cells, heights, levels=[level], colors=[INK], zorder=2, **look)


def _frontiers(ax: Any, cells: tuple[NDArray, NDArray], heights: NDArray, two: bool) -> None:
    """Where f = 0, or around the cells of each class but the last."""
    if two:
        _line(ax, cells, heights, 0.0, linewidths=1.8)
        return
    for place in np.unique(heights)[:-1]:
        _line(ax, cells, (heights == place).astype(float), 0.5, linewidths=1.4)


class CostPanelsDisplay(Display):
    """Frontier, margins and support vectors of machines for several costs C, side by side.

    Parameters
    ----------
    panels : sequence of sequences of MarginDisplay
        A line of panels for each model, a panel for each cost.
    Cs : array of shape (n_costs,)
    names : sequence of str
        What each line shows, such as its kernel.

    Examples
    --------
    >>> from assay import display, theory
    >>> from assay.kernel_machines import SVC
    >>> X, y = theory.circles(20, random_state=0)
    >>> models = [SVC(kernel="linear"), SVC(kernel="polynomial", degree=2)]
    >>> shown = display.CostPanelsDisplay.from_models(models, X, y, Cs=[0.1, 10.0])
    >>> len(shown.panels), shown.names
    (2, ['linear', 'polynomial'])
    >>> display.plot_costs(models[1], X, y, Cs=[1.0]).names
    ['polynomial']
    """

    panels: Sequence[Sequence[MarginDisplay]]
    Cs: NDArray
    names: Sequence[str]

    @classmethod
    def from_models(
        cls, models: Any, X: Any, y: Any, Cs: Any = (0.1, 1.0, 10.0), *, names: Any = None, ax: Any = None
    ) -> Self:
        """Fit machines of two columns for several costs, and draw each.

        Parameters
        ----------
        models : SVC or sequence of SVC
            A line of panels each; they need no fit, and stay as they are.
        X, y : array-like
            Rows of two columns, and their classes.
        Cs : sequence of float, default=(0.1, 1, 10)
        names : sequence of str, optional
            Of the lines; the kernels by default.
        ax : matplotlib Axes, optional
        """
        lines = list(models) if isinstance(models, (list, tuple)) else [models]
        paths = [model.path(X, y, Cs) for model in lines]
        panels = [[MarginDisplay._collect(model, X, y) for model in path.models] for path in paths]
        names = [kernel_name(path.models[0]) for path in paths] if names is None else list(names)
        return cls(panels, paths[0].Cs, names).plot(ax=ax)

    def _new_axes(self, ax: Any) -> Any:
        if ax is not None:
            return ax
        import matplotlib.pyplot as plt

        size = (1.2 + 2.6 * len(self.Cs), 0.9 + 2.4 * len(self.panels))
        return plt.subplots(figsize=size, layout="constrained")[1]

    def _draw(self, ax: Any) -> None:
        ax.axis("off")
        width, height = 1 / len(self.Cs), 0.88 / len(self.panels)
        handles: dict[str, Any] = {}
        for line, (panels, name) in enumerate(zip(self.panels, self.names, strict=True)):
            for column, (panel, cost) in enumerate(zip(panels, self.Cs, strict=True)):
                corner = (column * width, 1 - (line + 1) * height)
                inset = ax.inset_axes((*corner, 0.93 * width, 0.8 * height))
                panel._draw(inset)
                for handle, label in zip(*inset.get_legend_handles_labels(), strict=True):
                    handles.setdefault(label.partition(" (")[0], handle)
                inset.get_legend().remove()
                inset.set_title(
                    f"{name}, C = {cost:g}: {len(panel.sets)} support vectors",
                    fontsize=9,
                    fontweight="normal",
                )
                inset.set(xlabel="", ylabel="", xticks=[], yticks=[])
        look = {"loc": "lower center", "ncols": min(len(handles), 3 if len(self.Cs) < 3 else 6)}
        ax.legend(handles.values(), handles.keys(), bbox_to_anchor=(0.5, 0.0), **look)


plot_costs = drawn_by(CostPanelsDisplay.from_models, "plot_costs", itself)


class MachineValuesDisplay(Display, needs=("X",)):
    """Value f of every row for a machine of two classes, beside the frontier 0 and the margins ±1.

    It needs no plane: rows of any number of columns, sparse ones, or a precomputed kernel.

    Parameters
    ----------
    values : array of shape (n_rows,)
    observed : array of shape (n_rows,)
        Their classes; what the model says when none are known.
    classes : array of shape (2,)
    sets : array of shape (n_rows,) or None
        0 outside the margins, 1 on the margin, 2 at the bound, 3 where the loss has no bound; None of rows
        that the model was not fitted on.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import MachineValuesDisplay
    >>> values = np.array([-2.0, -1.0, 0.5, 1.0])
    >>> sets = np.array([0, 1, 2, 1])
    >>> shown = MachineValuesDisplay(values, np.array([0, 0, 1, 1]), np.array([0, 1]), sets, "four rows")
    >>> shown.plot().ax_.get_title()
    'four rows'
    """

    values: NDArray
    observed: NDArray
    classes: NDArray
    sets: NDArray | None
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        classes = np.asarray(estimator.classes_)
        if len(classes) != 2:
            raise ValueError(
                f"The 'values' picture of {type(estimator).__name__} needs two classes; the model has "
                f"{len(classes)}: draw kind='confusion'."
            )
        shown = sampled(n_rows(X))
        table = rows_at(X, shown)
        values = quietly(estimator.decision_function, table).astype(float)
        predicted = quietly(estimator.predict, table)
        observed = predicted if y is None else labels_of(X, y)[shown]
        sets = sets_of_rows(estimator, X)
        return cls(values, observed, classes, None if sets is None else sets[shown], _title(estimator))

    def _draw(self, ax: Any) -> None:
        palette = class_colors(2)
        # A spread that fills the strip evenly, and does not depend on chance.
        heights = (np.arange(len(self.values)) * 0.618033988749895) % 1.0
        strip = (self.observed == self.classes[1]).astype(float) + 0.7 * (heights - 0.5)
        ax.axvspan(-1.0, 1.0, color=FAINT_INK, alpha=0.1, linewidth=0)
        ax.axvline(0.0, color=INK, linewidth=1.8, zorder=1, label="frontier")
        for level, name in ((-1.0, "margins f = ±1"), (1.0, None)):
            ax.axvline(level, color=INK, linewidth=1.1, linestyle=DASHES, zorder=1, label=name)
        colored = point_colors(self.observed, self.classes, palette)
        many = len(self.values) > 1000
        ax.scatter(self.values, strip, c=colored, s=18, alpha=0.8, linewidths=0, zorder=3, rasterized=many)
        if self.sets is not None:
            for place, (marker, size, name) in LOOKS.items():
                of_set = self.sets == place
                if of_set.any():
                    look = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.9, "zorder": 4}
                    label = f"{name} ({np.count_nonzero(of_set)})"
                    ax.scatter(
                        self.values[of_set], strip[of_set], s=0.7 * size, marker=marker, label=label, **look
                    )
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        ax.set(yticks=[0, 1], yticklabels=[plain(shortened(str(label), 14)) for label in self.classes])
        ax.set_ylim(-0.5, 1.5)
        ax.grid(visible=False)
        caption(ax, "value f of the machine", "class", self.title)


def _default(model: Any, X: Any, y: Any) -> str:
    """The margins of two columns; values of two classes; else the confusion; weights without data."""
    if X is None:
        return "weights"
    if not is_precomputed(model) and model.n_features_in_ == 2:
        return "margin"
    if len(model.classes_) == 2:
        return "values"
    return "weights" if y is None else "confusion"


declare(
    SVC,
    default=_default,
    margin=MarginDisplay,
    values=MachineValuesDisplay,
    confusion=ConfusionDisplay,
    path=SupportPathDisplay,
    gap=GapTimeDisplay,
    weights=DualWeightsDisplay,
    history=DualTraceDisplay,
)
declare(
    HardMarginSVC,
    NuSVC,
    default=_default,
    margin=MarginDisplay,
    values=MachineValuesDisplay,
    confusion=ConfusionDisplay,
    weights=DualWeightsDisplay,
)
