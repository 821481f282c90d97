"""Predictions against what was observed, and what they miss, in a frame that a few far values do not set."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score

from assay.display.base import Display
from assay.display.plane import sampled
from assay.display.style import ACCENT, DASHES, FAINT_INK
from assay.numbers import shown


class PredictionsDisplay(Display, needs=("X", "y")):
    """Predictions against what was observed, with the line where both agree.

    The frame is that of the values in the midst: a few that lie far out are marked at its edge and counted.

    Parameters
    ----------
    observed, predicted : array-like of shape (n_samples,) or (n_samples, n_targets)
        The target and its predictions, for example out of fold.
    name : str, default="predicted"
        Label of the vertical axis.
    title : str, optional
        What stands above; R² by default.

    Examples
    --------
    >>> from assay.display import PredictionsDisplay
    >>> PredictionsDisplay([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]).plot().ax_.get_title()
    'R² = 0.99'
    """

    observed: ArrayLike
    predicted: ArrayLike
    name: str = "predicted"
    title: str | None = None

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(np.asarray(y), np.asarray(estimator.predict(X)))

    def _draw(self, ax: Any) -> None:
        observed, predicted = as_columns(self.observed), as_columns(self.predicted)
        scale = "log" if is_lopsided(observed) else "linear"
        low, high = window = frame_of(observed, predicted, logarithmic=scale == "log")
        for target in range(observed.shape[1]):
            label = f"target {target}"
            _cloud(ax, observed[:, target], predicted[:, target], label=label, frame=(window, window))
        ax.plot([low, high], [low, high], color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        ax.set(xscale=scale, yscale=scale, xlim=window, ylim=window)
        if observed.shape[1] > 1:
            ax.legend()
        title = self.title
        if title is None:
            title = f"R² = {r2_score(observed, predicted):z.2f}" if observed.shape[0] > 1 else ""
        ax.set(xlabel="observed", ylabel=self.name, title=title.replace("-", "−"))


class ResidualsDisplay(Display, needs=("X", "y")):
    """What predictions miss, against the predictions: a pattern here is something the model does not see.

    A few values that lie far out are marked at the edge of the frame and counted.

    Parameters
    ----------
    observed, predicted : array-like of shape (n_samples,) or (n_samples, n_targets)
        The target and its predictions, for example out of fold.
    title : str, optional
        What stands above; the root mean square by default.

    Examples
    --------
    >>> from assay.display import ResidualsDisplay
    >>> ResidualsDisplay([1.0, 2.0, 3.0], [1.1, 1.9, 3.0]).plot().ax_.get_title()
    'root mean square = 0.0816'
    """

    observed: ArrayLike
    predicted: ArrayLike
    title: str | None = None

    @classmethod
    def _collect(cls, estimator: Any, X: Any, y: Any, *, feature_names: Any = None) -> Self:
        return cls(np.asarray(y), np.asarray(estimator.predict(X)))

    def _draw(self, ax: Any) -> None:
        observed, predicted = as_columns(self.observed), as_columns(self.predicted)
        frame = frame_of(predicted), frame_of(observed - predicted)
        for target in range(observed.shape[1]):
            residuals = observed[:, target] - predicted[:, target]
            _cloud(ax, predicted[:, target], residuals, label=f"target {target}", frame=frame)
        ax.axhline(0.0, color=FAINT_INK, linewidth=1.2, linestyle=DASHES, zorder=1)
        ax.set(xlim=frame[0], ylim=frame[1])
        if observed.shape[1] > 1:
            ax.legend()
        title = self.title
        if title is None:
            with np.errstate(over="ignore"):
                title = f"root mean square = {shown(float(np.sqrt(np.mean((observed - predicted) ** 2))), 3)}"
        ax.set(xlabel="predicted", ylabel="observed − predicted", title=title)


TAIL = 0.01
"""Share of the values on either side that may lie beyond a frame, if they lie far out."""

FAR = 4.0
"""Values lie far out when all of them span so many times what those in the midst do."""

LOPSIDED = 0.05
"""Positive numbers whose middle is below this share of the greatest are shown on a logarithmic scale."""


def is_lopsided(observed: NDArray) -> bool:
    """Whether most values would share a corner of a frame that holds all of them."""
    known = observed[np.isfinite(observed)]
    return known.size > 0 and bool(known.min() > 0 and np.median(known) < LOPSIDED * known.max())


def frame_of(
    values: NDArray, others: NDArray | None = None, *, logarithmic: bool = False
) -> tuple[float, float]:
    """Ends of an axis around the values, but for those few that lie far out, with some room.

    The `others` widen it by no more than a quarter on either side.

    Examples
    --------
    >>> import numpy as np
    >>> frame_of(np.append(np.linspace(0, 1, 200), 1e9))[1] < 2
    True
    """
    known = values[np.isfinite(values)]
    if not known.size:
        return 0.0, 1.0
    known = np.log(known) if logarithmic else known
    low, high = float(known.min()), float(known.max())
    inner = np.quantile(known, [TAIL, 1 - TAIL])
    reach = float(inner[1] - inner[0])
    if 0.0 < FAR * reach < high - low:
        low, high = max(low, float(inner[0]) - 0.5 * reach), min(high, float(inner[1]) + 0.5 * reach)
    span = (high - low) or abs(high) or 1.0
    if others is not None:
        there = others[np.isfinite(others) & (others > 0)] if logarithmic else others[np.isfinite(others)]
        there = np.log(there) if logarithmic else there
        if there.size:
            low = min(low, max(float(there.min()), low - 0.25 * span))
            high = max(high, min(float(there.max()), high + 0.25 * span))
    room = 0.04 * span
    ends = low - room, high + room
    return (float(np.exp(ends[0])), float(np.exp(ends[1]))) if logarithmic else ends


Frame = tuple[tuple[float, float], tuple[float, float]]


def _cloud(ax: Any, x: NDArray, y: NDArray, *, label: str, frame: Frame) -> None:
    """Points; those beyond the frame as triangles at its edge, with their number."""
    shown = sampled(x.shape[0])
    transparency = float(np.clip(12.0 / np.sqrt(shown.size), 0.25, 0.8))
    inside = np.ones(len(x), dtype=bool)
    for values, (low, high) in zip((x, y), frame, strict=True):
        inside &= (values >= low) & (values <= high)
    seen = shown[inside[shown]]
    look = {"s": 20, "alpha": transparency, "linewidths": 0, "rasterized": shown.size > 1000, "label": label}
    ax.scatter(x[seen], y[seen], **look)
    beyond = np.flatnonzero(~inside)
    if not beyond.size:
        return
    held = [np.clip(np.nan_to_num(values[beyond]), *ends) for values, ends in zip((x, y), frame, strict=True)]
    sides = {"^": y[beyond] > frame[1][1], "v": ~(y[beyond] >= frame[1][0])}
    sides["<"] = (x[beyond] < frame[0][0]) & ~sides["^"] & ~sides["v"]
    sides[">"] = (x[beyond] > frame[0][1]) & ~sides["^"] & ~sides["v"]
    for marker, rows in sides.items():
        if rows.any():
            ax.scatter(
                held[0][rows], held[1][rows], marker=marker, s=26, color=ACCENT, clip_on=False, zorder=4
            )
    count = "1 row" if beyond.size == 1 else f"{beyond.size:,} rows"
    corner = {"transform": ax.transAxes, "ha": "left", "va": "top", "fontsize": 8.5, "color": ACCENT}
    ax.text(0.02, 0.98, f"{count} beyond the frame", **corner)


def as_columns(values: Any) -> NDArray:
    """A target as a table with a column for each."""
    values = np.asarray(values, dtype=float)
    return values.reshape(values.shape[0], -1)
