"""Pictures of support vector regression: the fit with its tube, and quantiles between rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from assay.display.base import Display
from assay.display.classes.scores import quietly
from assay.display.linear.predictions import ResidualsDisplay
from assay.display.plane import column_names, dense, n_rows, rows_at, sampled
from assay.display.registry import declare
from assay.display.style import ACCENT, DASHES, FAINT_INK, INK, PALETTE, caption
from assay.display.support_paths import (
    DualTraceDisplay,
    DualWeightsDisplay,
    GapTimeDisplay,
    SupportPathDisplay,
)
from assay.display.support_sets import (
    BOUND,
    CURVED,
    MARGIN,
    as_fitted,
    carriers,
    is_precomputed,
    kernel_name,
    sets_of_rows,
)
from assay.kernel_machines import SVR, KernelQuantileRegressor, NuSVR

N_POINTS = 400
NAMES = {MARGIN: "on the edge", BOUND: "at the bound", CURVED: "support vectors"}
MARKERS = {MARGIN: "o", BOUND: "s", CURVED: "o"}


class TubeDisplay(Display, needs=("X", "y")):
    """The fit of a machine with its tube of half-width ε, and the rows that carry it.

    With one column the fit is a curve of it; with more, or a precomputed kernel, what was observed is drawn
    against what was predicted, so that the tube is around the diagonal. A quantile has no tube: rows above it
    and below are coloured and counted.

    Parameters
    ----------
    x, observed : arrays of shape (n_rows,)
        The rows shown: the column or the prediction, and the target.
    residuals : array of shape (n_rows,)
        What was observed less what was predicted.
    grid, fitted : arrays of shape (n_points,)
        The curve, or the diagonal.
    epsilon : float
        Half the width of the tube; 0 of a quantile.
    sets : array of shape (n_rows,) or None
        0 inside the tube, 1 on its edge, 2 at the bound, 3 where the loss has no bound; None of rows that the
        model was not fitted on.
    quantile : float or None
    name, title : str

    Examples
    --------
    >>> import numpy as np
    >>> from assay.display import TubeDisplay
    >>> from assay.kernel_machines import SVR
    >>> x = np.linspace(0, 6, 40)[:, None]
    >>> shown = TubeDisplay.from_estimator(SVR(epsilon=0.2).fit(x, np.sin(x[:, 0])), x, np.sin(x[:, 0]))
    >>> shown.epsilon, shown.grid.shape
    (0.2, (400,))
    """

    x: NDArray
    observed: NDArray
    residuals: NDArray
    grid: NDArray
    fitted: NDArray
    epsilon: float
    sets: NDArray | None
    quantile: float | None
    name: str
    title: str

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        shown = sampled(n_rows(X))
        table = rows_at(X, shown)
        observed = np.asarray(y, dtype=float)[shown]
        predicted = quietly(estimator.predict, table).astype(float)
        if estimator.n_features_in_ == 1 and not is_precomputed(estimator):
            x = dense(table)[:, 0]
            room = 0.03 * (np.ptp(x) or 1.0)
            grid = np.linspace(x.min() - room, x.max() + room, N_POINTS)
            cells = as_fitted(grid.reshape(-1, 1), estimator)
            fitted = quietly(estimator.predict, cells).astype(float)
            (name,) = column_names(estimator, X, feature_names, 1)
        else:
            x, name = predicted, "predicted"
            room = 0.05 * (np.ptp(x) or 1.0)
            grid = fitted = np.array([x.min() - room, x.max() + room])
        sets = sets_of_rows(estimator, X)
        return cls(
            x,
            observed,
            observed - predicted,
            grid,
            fitted,
            float(getattr(estimator, "epsilon_", getattr(estimator, "epsilon", 0.0))),
            None if sets is None else sets[shown],
            getattr(estimator, "quantile", None),
            name,
            _title(estimator),
        )

    def _draw(self, ax: Any) -> None:
        if self.quantile is None:
            self._draw_tube(ax)
        else:
            self._draw_sides(ax)
        label = "fit" if self.quantile is None else f"quantile {self.quantile:g}"
        ax.plot(self.grid, self.fitted, color=INK, linewidth=1.8, zorder=3, label=label)
        ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)
        caption(ax, self.name, "observed", self.title)

    def _draw_tube(self, ax: Any) -> None:
        lower, upper = self.fitted - self.epsilon, self.fitted + self.epsilon
        name = f"tube, ε = {self.epsilon:.4g}"
        ax.fill_between(self.grid, lower, upper, color=PALETTE[0], alpha=0.15, linewidth=0, label=name)
        for edge in (lower, upper):
            ax.plot(self.grid, edge, color=PALETTE[0], linewidth=1.1, linestyle=DASHES, zorder=2)
        carries = np.zeros(len(self.x), dtype=int) if self.sets is None else self.sets
        many = len(self.x) > 1000
        ax.scatter(
            self.x, self.observed, s=18, color="#8c959f", alpha=0.75, linewidths=0, zorder=4, rasterized=many
        )
        for place, words in NAMES.items():
            of_set = carries == place
            if of_set.any():
                look = {"s": 60, "marker": MARKERS[place], "facecolors": "none", "zorder": 5}
                color = ACCENT if place == BOUND else INK
                label = f"{words} ({np.count_nonzero(of_set)})"
                ax.scatter(self.x[of_set], self.observed[of_set], edgecolors=color, label=label, **look)

    def _draw_sides(self, ax: Any) -> None:
        """Rows above the curve, on it and below; a row inside its box is on the curve."""
        on = np.zeros(len(self.x), dtype=bool) if self.sets is None else self.sets == MARGIN
        above, below = (self.residuals > 0) & ~on, (self.residuals <= 0) & ~on
        for rows, color, word in (
            (above, PALETTE[1], "above"),
            (on, FAINT_INK, "on the curve"),
            (below, PALETTE[0], "below"),
        ):
            if rows.any():
                label = f"{word} ({np.mean(rows):.0%} of the rows)"
                look = {
                    "s": 22,
                    "alpha": 0.85,
                    "linewidths": 0,
                    "zorder": 4,
                    "rasterized": len(self.x) > 1000,
                }
                ax.scatter(self.x[rows], self.observed[rows], color=color, label=label, **look)


def _title(model: Any) -> str:
    return f"{kernel_name(model)} kernel, C = {model.C_:.3g}: {carriers(model)}"


def _default(model: Any, X: Any, y: Any) -> str:
    """The fit with its tube on data, else weights."""
    return "weights" if X is None or y is None else "tube"


declare(
    SVR,
    KernelQuantileRegressor,
    default=_default,
    tube=TubeDisplay,
    residuals=ResidualsDisplay,
    path=SupportPathDisplay,
    gap=GapTimeDisplay,
    weights=DualWeightsDisplay,
    history=DualTraceDisplay,
)
declare(
    NuSVR,
    default=_default,
    tube=TubeDisplay,
    residuals=ResidualsDisplay,
    weights=DualWeightsDisplay,
)
