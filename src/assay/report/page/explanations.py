"""The section on what the recommended model has learnt: columns that matter, their effects, more rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from html import escape
from typing import Any

import numpy as np

from assay.display.style import ACCENT, FAINT_INK, PALETTE
from assay.report.page.effects import (
    LONGEST_NAME,
    draw_effect,
    effect_in_words,
    effects_that_matter,
    errors_of,
    fitting,
    shortened,
)
from assay.report.page.model_pictures import OUT_OF_FOLD, OnAxes
from assay.report.page.pictures import Picture, draw
from assay.report.page.pieces import figure, kept_together, notes, section
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.trials.explaining.explanation import (
    Effect,
    LearningCurve,
    Threshold,
    weight_of_columns,
)
from assay.report.trials.explaining.importance import Importances
from assay.report.wording import NOTHING, capital, joined, plus_minus, short

MAX_BARS = 6
"""Columns in the picture of importances."""

LONGEST_BAR = 16

IMPORTANCE_CAPTION = "What shuffling a column costs; lines: two standard errors."
TOGETHER_NOTE = (
    "Columns that go together stand in for each other: the model may need one of them and not care which. "
    "Their effects are accumulated from steps of rows near each value, as other rows would be none that "
    "there are."
)
EFFECTS_NOTE = (
    "How {what} with {which}, in the units of the table; shaded: two standard errors over "
    "the models of the folds. All columns have the same scale."
)
SIZE_OF_SMALL = (2.3, 1.7)
"""Inches of a picture of which five stand side by side."""


def explanations(comparison: Comparison) -> str:
    """The section as HTML; empty where nothing was explained."""
    explained = comparison.explanation
    if explained is None:
        return ""
    effects = effects_that_matter(explained.effects, explained.importances)
    drawn = [*_overviews(comparison), *effect_pictures(effects, _basis(comparison, explained.n_splits))]
    body = f"<p>{escape(_effects_note(comparison, effects))}{_key(effects[0].outputs)}</p>" if effects else ""
    if drawn:
        body += f'<div class="figures small">{"".join(figure(picture) for picture in drawn)}</div>'
    name = comparison.recommended.name
    if explained.threshold is not None and explained.threshold.method:
        name = explained.threshold.method
    said = [*_beside(comparison, effects)]
    return section("explained", f"What {escape(name)} has learnt", body + notes(said))


def _effects_note(comparison: Comparison, effects: Sequence[Effect]) -> str:
    """What the pictures of the effects show: of which class, and with columns that matter or any."""
    explained, outputs = comparison.explanation, effects[0].outputs
    n_classes = len(comparison.data.labels) if outputs else 0
    what = "the prediction moves around its mean"
    if outputs:
        which = "each probability" if len(outputs) > 1 else f"the probability of {outputs[0]}"
        what = f"{which} moves around its mean"
        if 1 < len(outputs) < n_classes:
            some = f"the {len(outputs)} commonest of {n_classes} classes"
            what = f"the probabilities of {some} move around their means"
    matters = explained is not None and explained.importances is not None and explained.importances.matters
    which = "the columns that matter" if matters else "the first columns, none of which matters by itself"
    return EFFECTS_NOTE.format(what=what, which=which)


def _key(outputs: Sequence[str]) -> str:
    """The colours of the classes, where there are several."""
    if len(outputs) < 2:
        return ""
    names = (
        f'<span class="key" style="--key:{PALETTE[place % len(PALETTE)]}">{escape(name)}</span>'
        for place, name in enumerate(outputs)
    )
    return f" Classes: {' '.join(names)}"


def _basis(comparison: Comparison, n_splits: int | None) -> str:
    """Which rows a picture shows, and of how many splits where those are not all."""
    if n_splits is None:
        return OUT_OF_FOLD
    n_all = (comparison.folds or 0) * (comparison.repeats or 1)
    return f"{OUT_OF_FOLD}, {n_splits} of {n_all} splits"


def _importance_caption(importances: Importances) -> str:
    """What the picture shows, and of which columns where not all were shuffled."""
    if importances.n_columns is None:
        return IMPORTANCE_CAPTION
    n_shuffled = f"{len(importances.columns)} of the {importances.n_columns:,} columns"
    return f"{IMPORTANCE_CAPTION} Shuffled were the {n_shuffled} that move predictions of a few rows most."


def _overviews(comparison: Comparison) -> Iterator[Picture]:
    """Importances, learning curve, threshold."""
    explained = comparison.explanation
    assert explained is not None
    if explained.importances is not None:
        on_axes = partial(_draw_importances, explained.importances)
        basis = _basis(comparison, explained.n_splits)
        yield _small(on_axes, _importance_caption(explained.importances), "importances", basis=basis)
    if explained.learning is not None:
        on_axes = partial(_draw_learning, explained.learning)
        whose = explained.learning.member
        whose = f" Of {whose}, the strongest member." if whose else ""
        caption = f"{explained.learning.verdict}{whose} Lines: two standard errors."
        basis = _basis(comparison, explained.learning.n_splits)
        yield _small(on_axes, caption, "learning", basis=basis)
    if explained.threshold is not None:
        on_axes = partial(_draw_threshold, explained.threshold)
        yield _small(on_axes, "Orange: the threshold chosen; dashed: the likelier class.", "threshold")


def _small(on_axes: OnAxes, caption: str, key: str, words: str = "", *, basis: str = OUT_OF_FOLD) -> Picture:
    return draw(on_axes, caption, key, size=SIZE_OF_SMALL, basis=basis, words=words)


def _beside(comparison: Comparison, effects: Sequence[Effect]) -> Iterator[str]:
    if any(effect.is_local for effect in effects):
        yield TOGETHER_NOTE
    for candidate in comparison.candidates:
        if candidate.weights is not None:
            yield weights_in_words(comparison, candidate)


def weights_in_words(comparison: Comparison, candidate: Candidate) -> str:
    """What an ensemble is made of, and whether it is worth it."""
    assert candidate.weights is not None
    parts = [f"{name} {weight:.0%}" for name, weight in candidate.weights.items()]
    loss = comparison.against_best(candidate)
    small = max(abs(loss.mean), loss.standard_error) < NOTHING
    size = "less than 0.001" if small else plus_minus(abs(loss.mean), loss.standard_error)
    change = f"{'gains' if loss.mean <= 0 else 'loses'} {size} in {comparison.score_name}"
    if candidate.sign < 0:
        change = f"{'lowers' if loss.mean <= 0 else 'raises'} the {comparison.score_name} by {size}"
    against = f"{change} against the best single one, out of fold"
    verdict = "it is recommended" if candidate is comparison.recommended else "it is not recommended"
    return f"A weighted mean of methods ({joined(parts)}) {against}: {verdict}."


def relies_on(candidate: Candidate) -> str:
    """The columns that a model relies on, as a sentence in HTML; empty where it is not known."""
    if candidate.importances is None or len(candidate.importances.columns) < 2:
        return ""
    return kept_together(weight_of_columns(candidate.importances))


def effect_pictures(effects: Sequence[Effect], basis: str = OUT_OF_FOLD) -> Iterator[Picture]:
    """One small picture per column, all on the same scale."""
    if not effects:
        return
    low = min(float(np.min(effect.curves - 2 * errors_of(effect))) for effect in effects)
    high = max(float(np.max(effect.curves + 2 * errors_of(effect))) for effect in effects)
    room = 0.04 * (high - low) or 1.0
    limits = (low - room, high + room)
    for number, effect in enumerate(effects):
        on_axes = partial(draw_effect, effect, limits)
        partner = (
            f"Goes with {short(effect.partner, LONGEST_NAME)} ({effect.correlation:.2f})."
            if effect.is_local
            else ""
        )
        yield _small(on_axes, partner, f"effect{number}", effect_in_words(effect), basis=basis)


def _draw_importances(importances: Importances, ax: Any) -> None:
    from matplotlib.ticker import MaxNLocator

    names = fitting(importances.columns[:MAX_BARS], LONGEST_BAR)[::-1]
    means, errors = (np.nan_to_num(item[:MAX_BARS][::-1]) for item in (importances.means, importances.errors))
    places = np.arange(len(names))
    ax.barh(places, means, color=PALETTE[0], height=0.6)
    ax.errorbar(means, places, xerr=2 * errors, fmt="none", ecolor=FAINT_INK, capsize=2)
    ax.set_yticks(places, names)
    ax.grid(axis="y", visible=False)
    ax.xaxis.set_major_locator(MaxNLocator(2))
    lost = importances.measure == "R²"
    ax.set_xlabel("R² lost" if lost else f"{importances.measure} added")
    rest = len(importances.columns) - len(names)
    ax.set_title(f"first {len(names)} of {len(importances.columns):,} columns" if rest else "importance")


def _draw_learning(learning: LearningCurve, ax: Any) -> None:
    errors = 2 * np.nan_to_num(learning.errors)
    ax.errorbar(learning.sizes, learning.scores, errors, fmt="o-", color=PALETTE[0], capsize=3)
    ax.set_xscale("log", base=2)
    ax.set_xticks(learning.sizes, [f"{size:,}" for size in learning.sizes])
    ax.minorticks_off()
    ax.set_xlabel("rows learnt from")
    ax.set_title(capital(learning.score_name))


def _draw_threshold(threshold: Threshold, ax: Any) -> None:
    ax.plot(threshold.grid, threshold.curve, color=PALETTE[0])
    ax.axvline(threshold.value, color=ACCENT, linewidth=1.4)
    ax.axvline(0.5, color=FAINT_INK, linestyle="--", linewidth=1.0)
    ax.set_xlabel(f"{shortened(threshold.label, LONGEST_BAR)} named from")
    ax.set_title(capital(threshold.measure))
