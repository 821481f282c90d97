"""How predictions move with the columns, drawn: one column on its own, or those that matter together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.display.plane import shortened_apart
from assay.display.style import FAINT_INK, PALETTE
from assay.numbers import are_years
from assay.report.trials.explaining.explanation import Effect
from assay.report.trials.explaining.importance import Importances
from assay.report.wording import shown

LONGEST_NAME, LONGEST_LEVEL = 24, 12

WITHOUT_WEIGHT = 4
"""Effects that are shown of a model that needs no single column."""

LEVEL_LINE = 0.01
"""An effect that goes less far than this share of the farthest is a level line."""

TOGETHER, LONGEST_LABEL = 5, 14
"""Columns whose effects stand in one picture, and letters of their names."""


def effects_that_matter(effects: Sequence[Effect], importances: Importances | None) -> tuple[Effect, ...]:
    """Effects of the columns whose importance is clear; the first ones where that of none is.

    A column that does not matter has a level line.
    """
    matters = importances.matters if importances is not None else ()
    kept = tuple(effect for effect in effects if effect.column in matters)
    moving = [effect for effect in effects if np.ptp(effect.curves) > LEVEL_LINE * size_of(effects)]
    return kept or tuple(moving[:WITHOUT_WEIGHT])


def size_of(effects: Sequence[Effect]) -> float:
    """How far the farthest of the effects goes."""
    return max((float(np.ptp(effect.curves)) for effect in effects), default=0.0)


def errors_of(effect: Effect) -> Any:
    """Standard errors, 0 where they are not known."""
    return np.nan_to_num(effect.errors)


def effect_in_words(effect: Effect) -> str:
    """The effect for those who do not see the picture."""
    kind = "Accumulated local effects" if effect.is_local else "Partial dependence"
    parts = []
    for place, name in enumerate(effect.outputs or ("",)):
        first, last = (shown(float(value), 3) for value in effect.curves[[0, -1], place])
        ends = [_value(effect, index) for index in (0, -1)]
        parts.append(f"{f'{name}: ' if name else ''}{first} at {ends[0]} to {last} at {ends[1]}")
    return f"{kind} of {effect.column}: {'; '.join(parts)}."


def _value(effect: Effect, index: int) -> str:
    if effect.kind == "level":
        return effect.names[index]
    if effect.kind == "date":
        return f"{_moment(effect.positions[index]):%Y-%m-%d}"
    return shown(float(effect.positions[index]), 3)


def _moment(days: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(days=float(days))


def shortened(name: str, most: int = LONGEST_NAME) -> str:
    """A name of at most so many letters, without the dollar sign that begins a formula."""
    name = name if len(name) <= most else f"{name[: most - 1]}…"
    return name.replace("$", r"\$")


def fitting(names: Sequence[str], most: int) -> list[str]:
    """Names of at most so many letters beside an axis; what tells them apart is kept.

    Examples
    --------
    >>> fitting(["Lyon", "Nice"], 12), fitting([f"level-of-{k} and so on" for k in (3, 14)], 8)
    (['Lyon', 'Nice'], ['level…3…', 'leve…14…'])
    """
    cut = [shortened(name, most) for name in names]
    if len({*cut}) == len({*names}):
        return cut
    return [name.replace("$", r"\$") for name in shortened_apart(names, most)]


def draw_effect(effect: Effect, limits: tuple[float, float], ax: Any) -> None:
    """One column on its own: a curve, or a point for each level."""
    levels = effect.kind == "level"
    positions: Any = effect.positions
    if effect.kind == "date":
        positions = [_moment(days) for days in effect.positions]
    for place in range(effect.curves.shape[1]):
        mean, error = effect.curves[:, place], 2 * errors_of(effect)[:, place]
        color = PALETTE[place % len(PALETTE)]
        label = effect.outputs[place] if len(effect.outputs) > 1 else None
        if levels:
            shift = 0.16 * (place - (effect.curves.shape[1] - 1) / 2)
            ax.errorbar(mean, positions + shift, xerr=error, fmt="o", color=color, capsize=2, label=label)
        else:
            ax.plot(positions, mean, color=color, linewidth=1.8, label=label)
            ax.fill_between(positions, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
    if levels:
        ax.set_yticks(positions, fitting(effect.names, LONGEST_LEVEL))
        ax.locator_params(axis="x", nbins=3)
        ax.set_ylim(len(positions) - 0.5, -0.5)
        ax.set_xlim(*limits)
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.8)
    else:
        ax.set_ylim(*limits)
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.8)
        _tick_sparsely(effect, positions, ax)
    ax.set_title(shortened(effect.column))


def _tick_sparsely(effect: Effect, positions: Sequence[Any], ax: Any) -> None:
    """A few numbers below a small picture; of dates the first, the middle and the last."""
    if effect.kind == "number":
        ax.locator_params(axis="x", nbins=3)
        if are_years(effect.positions[[0, -1]]):
            ax.xaxis.set_major_formatter("{x:.0f}")
        return
    first, last = positions[0], positions[-1]
    shown_days = [first, last] if last == first else [first, first + (last - first) / 2, last]
    within = "%Y" if (last - first).days > 2 * 365 else "%Y-%m" if (last - first).days > 60 else "%m-%d"
    ax.set_xticks(shown_days, [day.strftime(within) for day in shown_days])


def draw_effects(effects: Sequence[Effect], ax: Any) -> None:
    """The effects of the columns that matter most in one picture, each from its least to its greatest value.

    Of several classes the first one is shown.
    """
    for place, effect in enumerate(effects[:TOGETHER]):
        along = _shares(effect)
        mean, error = effect.curves[:, 0], 2 * errors_of(effect)[:, 0]
        color, marks = PALETTE[place % len(PALETTE)], "o-" if effect.kind == "level" else "-"
        ax.plot(along, mean, marks, color=color, markersize=3, label=shortened(effect.column, LONGEST_LABEL))
        ax.fill_between(along, mean - error, mean + error, color=color, alpha=0.15, linewidth=0)
    ax.axhline(0.0, color=FAINT_INK, linewidth=0.8, zorder=1)
    ax.set_xticks([0, 1], ["least", "greatest"])
    ax.legend(
        loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0, handlelength=1.0, frameon=False
    )
    outputs = effects[0].outputs
    ax.set_ylabel("prediction" if not outputs else "probability")
    ax.set_title(f"effect on {shortened(outputs[0], LONGEST_NAME)}" if outputs else "effect of each column")


def _shares(effect: Effect) -> NDArray:
    """Values of a column between 0 and 1, the least and the greatest."""
    positions = np.asarray(effect.positions, dtype=np.float64)
    return (positions - positions[0]) / (np.ptp(positions) or 1.0)
