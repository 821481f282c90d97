"""A classifier along one feature: curves of its probabilities or scores, over the rows as ticks."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display._class_scores import both_scores, quietly, write
from assay.display._columns import shortened
from assay.display._flat_map import limits_around
from assay.display._style import FAINT_INK, INK


def draw_line(model: Any, values: NDArray, observed: NDArray, palette: NDArray, name: str, ax: Any) -> None:
    """Probabilities (or scores) of the classes along one feature, the rows below."""
    low, high = limits_around(values[:, None], 0.08)
    grid = np.linspace(low[0], high[0], 601)
    certain = hasattr(model, "predict_proba")
    if certain:
        curves = quietly(model.predict_proba, grid[:, None])
    else:
        coef, intercept = both_scores(model)
        curves = grid[:, None] @ coef.T + intercept
        if len(palette) == 2:
            ax.axhline(0.0, color=FAINT_INK, linewidth=0.9)
    two = len(palette) == 2
    first = 1 if two else 0
    for label, curve, color in zip(model.classes_[first:], curves.T[first:], palette[first:], strict=True):
        ax.plot(grid, curve, color=color)
        if not two:
            place = int(np.argmax(curve))
            side = "left" if place < 100 else "right" if place > 500 else "center"
            write(
                ax,
                shortened(str(label), 18),
                np.array([grid[place], curve[place]]),
                color,
                ha=side,
                va="bottom",
            )
    chosen = quietly(model.predict, grid[:, None])
    for turn in np.flatnonzero(chosen[1:] != chosen[:-1]):
        ax.axvline(grid[turn : turn + 2].mean(), color=INK, linewidth=1.1, linestyle=(0, (4, 3)), zorder=1)
    bottom, top = float(curves[:, first:].min()), float(curves[:, first:].max())
    bottom, top = (0.0, 1.0) if certain else (bottom, top if top > bottom else bottom + 1.0)
    ax.set(xlim=(low[0], high[0]), xlabel=name)
    _rugs(values, observed, model.classes_, palette, (bottom, top), ax)
    if two:
        _name_rugs(model, palette, (bottom, top), ax)
    if certain:
        ax.set_yticks(np.linspace(0, 1, 6))
    whose = f" of {shortened(str(model.classes_[1]), 18)}" if two else ""
    ax.set_ylabel(("probability" if certain else "score") + whose)


def _name_rugs(model: Any, palette: NDArray, span: tuple[float, float], ax: Any) -> None:
    """Names of two classes beside their ticks, at the end where they are scarce."""
    left, right = ax.get_xlim()
    rising = float(np.ravel(model.coef_)[0]) >= 0
    for place, level in enumerate(
        (span[0] - 0.07 * (span[1] - span[0]), span[1] + 0.07 * (span[1] - span[0]))
    ):
        at_left = rising == (place == 1)
        x = left + 0.01 * (right - left) if at_left else right - 0.01 * (right - left)
        word = shortened(str(model.classes_[place]), 18)
        write(ax, word, np.array([x, level]), palette[place], ha="left" if at_left else "right")


def _rugs(
    values: NDArray,
    observed: NDArray,
    classes: NDArray,
    palette: NDArray,
    span: tuple[float, float],
    ax: Any,
) -> None:
    """Ticks of the rows, a line a class below the curves; of two classes the second above them."""
    height = span[1] - span[0]
    for place, (label, color) in enumerate(zip(classes, palette, strict=True)):
        above = len(classes) == 2 and place == 1
        level = span[1] + 0.07 * height if above else span[0] - (0.07 + 0.05 * place) * height
        mine = values[observed == label]
        ax.plot(
            mine, np.full(mine.size, level), "|", color=color, markersize=9, alpha=0.55, markeredgewidth=1.1
        )
    lines = 1 if len(classes) == 2 else len(classes)
    ax.set_ylim(span[0] - (0.09 + 0.05 * lines) * height, span[1] + 0.14 * height)
