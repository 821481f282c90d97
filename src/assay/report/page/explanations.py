"""The section on what the recommended model has learnt: columns that matter, their effects, more rows."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from html import escape
from typing import Any

import numpy as np

from assay.display.style import ACCENT, FAINT_INK, PALETTE
from assay.report.page.pictures import Picture, draw
from assay.report.page.pieces import figure, notes, section
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.trials.explaining.explanation import Effect, LearningCurve, Threshold, weight_of_columns
from assay.report.trials.explaining.importance import Importances
from assay.report.wording import capital, joined, plus_minus, shown

MAX_BARS = 12
"""Columns in the picture of importances."""

LONGEST_NAME, LONGEST_LEVEL = 24, 14

UNSEEN = "Out of fold"
IMPORTANCE_CAPTION = (
    "What shuffling each column of the table costs; the line reaches two standard errors to each side."
)
TOGETHER_NOTE = (
    "Columns that go together stand in for each other: the model may need one of them and not care which."
)
EFFECTS_NOTE = (
    "The columns that matter most, in the units of the table, and the prediction around its mean; shaded: "
    "two standard errors over the models of the folds, each on rows it had not seen. All columns have "
    "the same scale."
)
SIZE_OF_EFFECT = (2.9, 2.2)


def explanations(comparison: Comparison) -> str:
    """The section as HTML; empty where nothing was explained."""
    explained = comparison.explanation
    if explained is None:
        return ""
    above = "".join(figure(picture) for picture in _overviews(comparison))
    body = f'<div class="figures">{above}</div>' if above else ""
    if explained.effects:
        small = "".join(figure(picture) for picture in effect_pictures(explained.effects, comparison))
        local = [
            f"{escape(effect.column)} (with {escape(effect.partner)}, {effect.correlation:.2f})"
            for effect in explained.effects
            if effect.is_local
        ]
        words = f'<p>{escape(EFFECTS_NOTE)}</p><div class="figures small">{small}</div>'
        if local:
            words += (
                f'<p class="note">Accumulated from steps of rows near each value, as other columns go '
                f"together with it and other rows would be none that there are: {joined(local)}.</p>"
            )
        body += f"<h3>How the prediction moves</h3>{words}"
    said = [*_beside(comparison)]
    name = comparison.recommended.name
    if explained.threshold is not None and explained.threshold.method:
        name = explained.threshold.method
    return section("explained", f"What {escape(name)} has learnt", body + notes(said))


def _overviews(comparison: Comparison) -> Iterator[Picture]:
    """Importances, learning curve, threshold."""
    explained = comparison.explanation
    assert explained is not None
    if explained.importances is not None:
        count = min(MAX_BARS, len(explained.importances.columns))
        size = (3.6, max(2.3, 0.7 + 0.2 * count))
        on_axes = partial(_draw_importances, explained.importances)
        yield draw(on_axes, IMPORTANCE_CAPTION, "importances", size=size, basis=UNSEEN)
    if explained.learning is not None:
        caption = f"{explained.learning.sentence} Lines: two standard errors."
        yield draw(partial(_draw_learning, explained.learning), caption, "learning", basis=UNSEEN)
    if explained.threshold is not None:
        on_axes, caption = partial(_draw_threshold, explained.threshold), explained.threshold.sentence
        yield draw(on_axes, caption, "threshold", basis=UNSEEN)


def _beside(comparison: Comparison) -> Iterator[str]:
    explained = comparison.explanation
    if explained is not None and any(effect.is_local for effect in explained.effects):
        yield TOGETHER_NOTE
    for candidate in comparison.candidates:
        if candidate.weights is not None:
            yield weights_in_words(comparison, candidate)


def weights_in_words(comparison: Comparison, candidate: Candidate) -> str:
    """What an ensemble is made of, and whether it is worth it."""
    assert candidate.weights is not None
    parts = [f"{name} {weight:.0%}" for name, weight in candidate.weights.items()]
    loss = comparison.against_best(candidate)
    verb = "gains" if loss.mean <= 0 else "loses"
    size = plus_minus(abs(loss.mean), loss.standard_error)
    against = f"{verb} {size} in {comparison.score_name} against the best single one, out of fold"
    verdict = "it is recommended" if candidate is comparison.recommended else "it is not recommended"
    return f"A weighted mean of methods ({joined(parts)}) {against}: {verdict}."


def relies_on(candidate: Candidate) -> str:
    """The columns that a model relies on, as a paragraph; nothing where it is not known."""
    if candidate.importances is None or len(candidate.importances.columns) < 2:
        return ""
    return f"<p>{escape(weight_of_columns(candidate.importances))}</p>"


def effect_pictures(effects: tuple[Effect, ...], comparison: Comparison) -> Iterator[Picture]:
    """One small picture per column, all on the same scale."""
    low = min(float(np.min(effect.curves - 2 * _errors(effect))) for effect in effects)
    high = max(float(np.max(effect.curves + 2 * _errors(effect))) for effect in effects)
    room = 0.04 * (high - low) or 1.0
    limits = (low - room, high + room)
    what = "prediction" if not effects[0].outputs else "probability"
    for number, effect in enumerate(effects):
        on_axes = partial(_draw_effect, effect, limits, what)
        words = _effect_in_words(effect)
        yield draw(on_axes, "", f"effect{number}", size=SIZE_OF_EFFECT, words=words)


def _errors(effect: Effect) -> Any:
    return np.nan_to_num(effect.errors)


def _effect_in_words(effect: Effect) -> str:
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


def _short(name: str, most: int = LONGEST_NAME) -> str:
    name = name if len(name) <= most else f"{name[: most - 1]}…"
    return name.replace("$", r"\$")


def _draw_effect(effect: Effect, limits: tuple[float, float], what: str, ax: Any) -> None:
    levels = effect.kind == "level"
    positions: Any = effect.positions
    if effect.kind == "date":
        positions = [_moment(days) for days in effect.positions]
    for place in range(effect.curves.shape[1]):
        mean, error = effect.curves[:, place], 2 * _errors(effect)[:, place]
        color = PALETTE[place % len(PALETTE)]
        label = effect.outputs[place] if len(effect.outputs) > 1 else None
        if levels:
            shift = 0.16 * (place - (effect.curves.shape[1] - 1) / 2)
            ax.errorbar(mean, positions + shift, xerr=error, fmt="o", color=color, capsize=2, label=label)
        else:
            ax.plot(positions, mean, color=color, linewidth=1.8, label=label)
            ax.fill_between(positions, mean - error, mean + error, color=color, alpha=0.18, linewidth=0)
    if levels:
        ax.set_yticks(positions, [_short(name, LONGEST_LEVEL) for name in effect.names])
        ax.locator_params(axis="x", nbins=4)
        ax.set_ylim(len(positions) - 0.5, -0.5)
        ax.set_xlim(*limits)
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.8)
    else:
        ax.set_ylim(*limits)
        ax.axhline(0.0, color=FAINT_INK, linewidth=0.8)
        ax.locator_params(axis="x", nbins=4) if effect.kind == "number" else ax.tick_params("x", rotation=30)
    if len(effect.outputs) > 1:
        ax.legend(fontsize=8.5, frameon=False, handlelength=1.2, labelspacing=0.2)
    ax.set_title(_short(effect.column))


def _draw_importances(importances: Importances, ax: Any) -> None:
    names = [_short(name) for name in importances.columns[:MAX_BARS]][::-1]
    means, errors = (np.nan_to_num(item[:MAX_BARS][::-1]) for item in (importances.means, importances.errors))
    places = np.arange(len(names))
    ax.barh(places, means, color=PALETTE[0], height=0.6)
    ax.errorbar(means, places, xerr=2 * errors, fmt="none", ecolor=FAINT_INK, capsize=2)
    ax.set_yticks(places, names)
    ax.grid(axis="y", visible=False)
    lost = importances.measure == "R²"
    ax.set_xlabel("R² lost when shuffled" if lost else f"{importances.measure} added when shuffled")
    rest = len(importances.columns) - len(names)
    ax.set_title(f"the {len(names)} of {len(importances.columns)} columns that matter most" if rest else "")


def _draw_learning(learning: LearningCurve, ax: Any) -> None:
    errors = 2 * np.nan_to_num(learning.errors)
    ax.errorbar(learning.sizes, learning.scores, errors, fmt="o-", color=PALETTE[0], capsize=3)
    ax.set_xscale("log", base=2)
    ax.set_xticks(learning.sizes, [f"{size:,}" for size in learning.sizes])
    ax.minorticks_off()
    ax.set_xlabel("rows learnt from")
    ax.set_ylabel(capital(learning.score_name))


def _draw_threshold(threshold: Threshold, ax: Any) -> None:
    ax.plot(threshold.grid, threshold.curve, color=PALETTE[0])
    ax.axvline(threshold.value, color=ACCENT, linewidth=1.4)
    ax.axvline(0.5, color=FAINT_INK, linestyle="--", linewidth=1.0)
    ax.set_xlabel(f"probability from which on {_short(threshold.label)} is named")
    ax.set_ylabel("Balanced accuracy")
