"""Pictures of a half-space that holds all but a share of the rows: its edge, and the values of rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import cell_centers, cell_points, quietly
from assay.display.plane import (
    column_names,
    dense,
    limits_around,
    n_rows,
    principal_plane,
    rows_at,
    sampled,
    shown_rows,
    side_of,
)
from assay.display.registry import declare
from assay.display.style import ACCENT, FAINT_INK, INK, PALETTE, caption
from assay.display.support_paths import DualTraceDisplay, DualWeightsDisplay
from assay.display.support_sets import (
    LOOKS,
    as_fitted,
    is_on_features,
    is_precomputed,
    kernel_name,
    sets_of_fit,
)
from assay.kernel_machines import OneClassSVM

SIDE = 200


class LevelMapDisplay(Display, needs=("X",)):
    """The edge h(x) = ρ of a half-space in a plane, with rows inside, outliers and support vectors.

    The plane of more than two columns is that of their first two principal axes: its points are rows, on
    which the edge is drawn; other rows are projected.

    Parameters
    ----------
    points : array of shape (n_rows, 2)
    inside : array of bool of shape (n_rows,)
    limits : array of shape (2, 2)
        Lower left and upper right corner of the frame.
    values : array of shape (side, side)
        h − ρ at each cell.
    support : array of shape (n_support, 2)
    sets : array of shape (n_support,)
        1 on the level, 2 beyond it.
    axis_names : pair of str
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import LevelMapDisplay
    >>> from assay.kernel_machines import OneClassSVM
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> shown = LevelMapDisplay.from_estimator(OneClassSVM(nu=0.2).fit(X), X)
    >>> bool(np.mean(~shown.inside) <= 0.2 + 1e-9)
    True
    """

    points: NDArray
    inside: NDArray
    limits: NDArray
    values: NDArray
    support: NDArray
    sets: NDArray
    axis_names: tuple[str, str]
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        if is_precomputed(estimator) or estimator.n_features_in_ == 1:
            raise ValueError(
                f"The 'level' picture of {type(estimator).__name__} needs two columns or more, not a "
                "precomputed kernel: draw kind='values'."
            )
        rows, shown = shown_rows(X)
        plane = principal_plane(rows)
        points = plane.flatten(rows)
        limits = limits_around(points)
        side = side_of(rows.shape[1], SIDE)

        def say(cells: Any) -> NDArray:
            return quietly(estimator.decision_function, as_fitted(cells, estimator))

        values = plane.ask(say, cell_points(limits, side)).astype(float).reshape(side, side)
        told = quietly(estimator.decision_function, rows_at(X, shown)).astype(float)
        names = plane.labels(column_names(estimator, X, feature_names, rows.shape[1]))
        support, sets = np.empty((0, 2)), np.empty(0, dtype=int)
        if not is_on_features(estimator):
            support = plane.flatten(dense(estimator.support_vectors_).reshape(-1, rows.shape[1]))
            sets = sets_of_fit(estimator)[np.asarray(estimator.support_)]
        inside = told > -_rounding(told)
        return cls(points, inside, np.array(limits), values, support, sets, names, _title(estimator))

    def _draw(self, ax: Any) -> None:
        cells = cell_centers((self.limits[0], self.limits[1]), len(self.values))
        if self.values.min() < 0 < self.values.max():
            levels = [0.0, float(self.values.max())]
            ax.contourf(*cells, self.values, levels=levels, colors=[PALETTE[0]], alpha=0.12)
            ax.contour(*cells, self.values, levels=[0.0], colors=[INK], linewidths=1.8)
        ax.plot([], [], color=INK, linewidth=1.8, label="edge h(x) = ρ")
        _mark(ax, self.points.T, self.inside)
        for place, (marker, size, _) in LOOKS.items():
            members = self.sets == place
            if members.any():
                look: dict[str, Any] = {"facecolors": "none", "edgecolors": INK, "linewidths": 0.9}
                label = f"{'on the edge' if place == 1 else 'beyond it'} ({np.count_nonzero(members)})"
                ax.scatter(*self.support[members].T, s=0.7 * size, marker=marker, label=label, **look)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        ax.set(xlim=self.limits[:, 0], ylim=self.limits[:, 1])
        caption(ax, *self.axis_names, self.title)


class LevelValuesDisplay(Display, needs=("X",)):
    """Value h(x) − ρ of every row in order: below 0 are the outliers.

    It needs no plane: rows of any number of columns, or a precomputed kernel.

    Parameters
    ----------
    values : array of shape (n_rows,)
        Smallest first.
    title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import LevelValuesDisplay
    >>> shown = LevelValuesDisplay(np.array([-0.2, 0.1, 0.4]), "three rows")
    >>> shown.plot().ax_.get_title()
    'three rows'
    """

    values: NDArray
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        shown = sampled(n_rows(X))
        values = quietly(estimator.decision_function, rows_at(X, shown)).astype(float)
        return cls(np.sort(values), _title(estimator))

    def _draw(self, ax: Any) -> None:
        ranks = np.arange(1, len(self.values) + 1) / len(self.values)
        inside = self.values > -_rounding(self.values)
        _mark(ax, (ranks, self.values), inside)
        ax.axhline(0.0, color=FAINT_INK, linewidth=1.1, zorder=1)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        caption(ax, "share of the rows", "value h(x) − ρ", self.title)


def _rounding(values: NDArray) -> float:
    """Distance from the edge up to which a row is on it."""
    return 1e-5 * float(np.abs(values).max(initial=0.0))


def _mark(ax: Any, places: Any, inside: NDArray) -> None:
    """Points of rows inside, and of outliers."""
    many = len(inside) > 1000
    for rows, color, name in ((inside, PALETTE[0], "inside"), (~inside, ACCENT, "outliers")):
        if rows.any():
            label = f"{name} ({np.count_nonzero(rows)})"
            x, y = (axis[rows] for axis in places)
            ax.scatter(x, y, s=18, color=color, alpha=0.8, linewidths=0, label=label, rasterized=many)


def _title(model: Any) -> str:
    share = float(model.error_share_[0])
    return f"{kernel_name(model)} kernel, ν = {model.nu:g}: {share:.1%} of the fit beyond the edge"


def _default(model: Any, X: Any, y: Any) -> str:
    """The edge in a plane of two columns, else the values; weights without data."""
    if X is None:
        return "weights"
    return "level" if not is_precomputed(model) and model.n_features_in_ == 2 else "values"


declare(
    OneClassSVM,
    default=_default,
    level=LevelMapDisplay,
    values=LevelValuesDisplay,
    weights=DualWeightsDisplay,
    history=DualTraceDisplay,
)
