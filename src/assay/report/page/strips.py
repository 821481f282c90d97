"""The leaderboard as a picture: in every row of the table the scores of a method, all on one scale."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import NamedTuple

import numpy as np

from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.wording import FLOOR, shown

WIDTH, HEIGHT, MARGIN = 190, 24, 11
"""Pixels of a strip, and those at either end that are kept for the marks of what lies beyond the scale."""

OF_SPLITS = "Dots: mean {score}, with two standard errors to each side; faint dots: the splits, out of fold."
OF_ROWS = (
    "Dots: mean silhouette of the rows, with two standard errors to each side. 1 means groups far apart, 0 "
    "groups that touch; one group has 0 by convention."
)
"""What the strips show of predictions, and of groups."""

BEYOND = "An arrow at the edge: the score lies beyond the scale, which is that of the methods that do better."


class Scale(NamedTuple):
    """Scores at the left and at the right end of every strip, and that of the baseline, which is marked."""

    low: float
    high: float
    baseline: float | None
    sign: int = 1  # −1 where scores are minus errors, which are written without the minus

    def place(self, score: float) -> float:
        """Where a score stands, in pixels; at an end where it lies beyond."""
        share = (score - self.low) / (self.high - self.low)
        return float(MARGIN + np.clip(share, 0.0, 1.0) * (WIDTH - 2 * MARGIN))

    def holds(self, score: float) -> bool:
        """Whether a score is on the scale."""
        return bool(self.low <= score <= self.high)


def scale_of(candidates: Sequence[Candidate]) -> Scale:
    """The scale of the methods that are of use.

    A method that is further below the baseline than the best one is above it, or than the best one is unsure
    of itself, has no say in it: one that explodes would make all others look the same. A baseline that
    explodes has none either, and an error that goes far beyond all scores is cut at the edge.
    """
    finite = [item for item in candidates if np.isfinite(item.score) and not _explodes(item)]
    if not finite:
        return Scale(0.0, 1.0, None)
    best = max(finite, key=lambda item: item.score)
    floor = next((item.score for item in finite if item.is_baseline), None)
    ground = float(np.median([item.score for item in finite])) if floor is None else floor
    reach = max(best.score - ground, 2 * _error(best), 0.02)
    useful = [item for item in finite if item.score >= ground - reach]
    lowest = min(ground, *(item.score for item in useful))
    ends = [
        ends for item in useful for ends in (item.score - 2 * _error(item), item.score + 2 * _error(item))
    ]
    low = max(min(*ends, lowest), lowest - BEYOND_SCORES * reach)
    high = min(max(ends), best.score + BEYOND_SCORES * reach)
    room = 0.04 * (high - low) or 0.01
    return Scale(low - room, high + room, floor, best.sign)


BEYOND_SCORES = 0.5
"""How far errors may widen a scale, by what the best method is above the baseline."""


def _explodes(candidate: Candidate) -> bool:
    """Whether the digits of a score say no more, and it is told as "below −1,000"."""
    return candidate.sign > 0 and candidate.score < FLOOR


def _error(candidate: Candidate) -> float:
    return float(candidate.standard_error) if np.isfinite(candidate.standard_error) else 0.0


def strip(scale: Scale, candidate: Candidate, *, chosen: bool, words: str, splits: bool) -> str:
    """The scores of a candidate on the scale, as SVG."""
    score, error = candidate.score, _error(candidate)
    middle, told = HEIGHT / 2, words
    parts = [f'<path class="base" d="M{MARGIN} {middle}H{WIDTH - MARGIN}"/>']
    if scale.baseline is not None:
        parts.append(f'<path class="none" d="M{scale.place(scale.baseline):.1f} 0V{HEIGHT}"/>')
    if np.isfinite(score) and scale.holds(score):
        if splits:
            dots = [scale.place(value) for value in candidate.scores if scale.holds(value)]
            parts += [f'<circle class="split" cx="{x:.1f}" cy="{middle}" r="3"/>' for x in dots]
        left, right = (scale.place(score + side * 2 * error) for side in (-1, 1))
        parts.append(f'<path class="bar" d="M{left:.1f} {middle}H{right:.1f}"/>')
        parts.append(f'<circle class="mean" cx="{scale.place(score):.1f}" cy="{middle}" r="4.5"/>')
    else:
        above = bool(score > scale.high)
        tip, back = (WIDTH - 1, WIDTH - 9) if above else (1, 9)
        parts.append(f'<path class="mean" d="M{tip} {middle}L{back} {middle - 6}V{middle + 6}Z"/>')
        told += ", beyond the scale"
    mark = " picked" if chosen else ""
    return (
        f'<svg class="strip{mark}" width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'role="img" aria-label="{escape(told)}">{"".join(parts)}</svg>'
    )


def ruler(scale: Scale) -> str:
    """The head of the column: numbers along the scale, as SVG."""
    from matplotlib.ticker import MaxNLocator

    ticks = [
        tick for tick in MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(*scale[:2]) if scale.holds(tick)
    ]
    step = np.min(np.diff(ticks)) if len(ticks) > 1 else 1.0
    places = (
        (scale.place(tick), shown(0.0 if abs(tick) < 0.01 * step else scale.sign * float(tick), 3))
        for tick in ticks
    )
    marks = "".join(
        f'<text x="{place:.1f}" y="11">{number}</text><path d="M{place:.1f} 15V19"/>'
        for place, number in places
    )
    size = f'width="{WIDTH}" height="19" viewBox="0 0 {WIDTH} 19"'
    return f'<svg class="ruler" {size} aria-hidden="true">{marks}</svg>'


def scale_notes(comparison: Comparison, scale: Scale) -> str:
    """What the strips show, in a sentence or two."""
    words = OF_ROWS
    if comparison.task != "clustering":
        perfect = 1 if comparison.best.sign > 0 else 0
        worse = f"; the baseline always {comparison.baseline_answer[1]}"
        worse = ", 0 no better than the mean" if comparison.score_name == "R²" else worse
        words = f"{OF_SPLITS.format(score=comparison.score_name)} {perfect} is perfect{worse}."
    if any(not (np.isfinite(item.score) and scale.holds(item.score)) for item in comparison.candidates):
        words = f"{words} {BEYOND}"
    return words
