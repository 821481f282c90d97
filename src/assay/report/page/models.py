"""The leaderboard, and a section on each model."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from assay.report.page.about import about
from assay.report.page.explanations import relies_on
from assay.report.page.groups import agreement, groups_of, numbers_of_groups
from assay.report.page.pictures import pictures
from assay.report.page.pieces import (
    Cell,
    Heading,
    Row,
    anchor,
    badge,
    duration,
    figure,
    headed,
    kept_together,
    notes,
    parameters,
    scrolling,
    section,
    table,
    tag,
)
from assay.report.page.proofs import certificates_of_model
from assay.report.page.strips import Scale, ruler, scale_notes, scale_of, strip
from assay.report.trials.candidate import Candidate
from assay.report.trials.clusters.comparison import ClusteringComparison
from assay.report.trials.comparison import Comparison
from assay.report.wording import (
    BELOW,
    FLOOR,
    capital,
    joined,
    shown,
    shown_difference,
    told_together,
)

MEASURES = {
    "regression": ("RMSE", "MAE"),
    "classification": ("balanced accuracy", "ROC AUC", "log-loss"),
    "clustering": ("groups", "explained", "stability", "noise"),
}
"""Measures beside the score, in the order of the columns; further ones follow where there is room."""

GREAT_IS_GOOD = {"balanced accuracy", "ROC AUC", "explained", "stability", "coverage"}

ROOM = 101
"""Letters of a line of the leaderboard on a screen of 1280 pixels, beside the strips."""

FIXED, PAIRED = 30, 16
"""Letters of the columns that are always there: certificates and the time; what is lost to the best."""


def leaderboard(comparison: Comparison) -> str:
    """The section: a table that can be sorted, with the scores of every method on one scale."""
    measures = measures_shown(comparison)
    paired = comparison.task != "clustering"
    score, scale = comparison.score_name, scale_of(comparison.candidates)
    headings = [
        Heading("Method"),
        Heading(capital(score), numeric=True, great_first=True, sorted="descending"),
        Heading(
            f"{capital(score)}, drawn",
            html=f'<span class="aloud">{escape(score)}, drawn</span>{ruler(scale)}',
        ),
        *([Heading("Against the best", numeric=True, great_first=True)] if paired else []),
        Heading("Certificates"),
        *(Heading(capital(name), numeric=True, great_first=name in GREAT_IS_GOOD) for name in measures),
        Heading("Fit time", numeric=True),
    ]
    rows = [
        Row(_cells(comparison, item, rank, scale, measures), item is comparison.recommended)
        for rank, item in enumerate(comparison.candidates)
    ]
    caption, beside = f"Methods by {score}; ± is one standard error.", ""
    if isinstance(comparison, ClusteringComparison):  # what the methods say about each other
        beside = numbers_of_groups(comparison) + agreement(comparison)
    return section(
        "leaderboard",
        "Leaderboard",
        f"{table(caption, headings, rows, sortable=True)}"
        f"{notes([scale_notes(comparison, scale), *told_together(comparison.skipped)])}{beside}",
    )


def measures_shown(comparison: Comparison) -> list[str]:
    """The measures that have a column: those of the task, then any other for which there is room."""
    there = dict.fromkeys(name for item in comparison.candidates for name in item.measures)
    own = [name for name in MEASURES[comparison.task] if name in there]
    # What stands in brackets may go on in a second line.
    names = max(len(part) for item in comparison.candidates for part in item.name.split(" ("))
    scores = max(len(comparison.shown_score(item)) for item in comparison.candidates)
    room: float = ROOM - FIXED - names - scores - PAIRED * (comparison.task != "clustering")
    kept: list[str] = []
    for name in (*own, *(name for name in there if name not in own)):
        said = [item for item in comparison.candidates if name in item.measures]
        letters = max(len(comparison.shown_measure(item, name)) for item in said)
        room -= max(letters, 2 + max(map(len, name.split()))) + 1.4
        if room >= 0 or not kept:
            kept.append(name)
    return kept


def _cells(
    comparison: Comparison, candidate: Candidate, rank: int, scale: Scale, measures: Sequence[str]
) -> list[str | Cell]:
    paired, score = comparison.task != "clustering", candidate.score
    chosen = candidate is comparison.recommended
    drawn = strip(
        scale,
        candidate,
        chosen=chosen,
        words=f"{comparison.score_name} {comparison.shown_score(candidate)}",
        splits=paired,
    )
    return [
        f'<a href="#{anchor(rank)}" class="name">{headed(candidate.name)}</a>{tag(comparison, candidate)}',
        Cell(escape(comparison.shown_score(candidate)), score),
        Cell(drawn, score),
        *([_loss(comparison, candidate)] if paired else []),
        badge(candidate),
        *(
            "—"
            if (value := candidate.measures.get(name)) is None
            else Cell(f'<span class="measure">{comparison.shown_measure(candidate, name)}</span>', value)
            for name in measures
        ),
        Cell(duration(candidate.fit_seconds), candidate.fit_seconds),
    ]


def _loss(comparison: Comparison, candidate: Candidate) -> Cell:
    """What a candidate loses against the best, and how surely."""
    if candidate is comparison.best:
        return Cell("best", 0.0)
    loss = comparison.against_best(candidate)
    chance = "p < 0.001" if loss.p_value < 0.001 else f"p = {loss.p_value:.3f}"
    if candidate.sign > 0 and not loss.mean < -FLOOR:
        return Cell(BELOW, -loss.mean)
    size = shown_difference(-candidate.sign * loss.mean)
    return Cell(f'{size}<span class="chosen">{chance}</span>', -loss.mean)


def models(comparison: Comparison) -> str:
    """All models, in the order of the leaderboard; the recommended one is open."""
    parts = "".join(_model(comparison, item, rank) for rank, item in enumerate(comparison.candidates))
    return (
        '<div class="models" id="models"><div class="above"><h2>The models, one by one</h2>'
        '<p class="note">All about a method, with its sources: <code>assay explain NAME</code></p>'
        f'<button type="button" class="unfold" hidden>Open all</button></div>{parts}</div>'
    )


def _model(comparison: Comparison, candidate: Candidate, rank: int) -> str:
    chosen_one = candidate is comparison.recommended
    name = anchor(rank)
    drawn = list(pictures(comparison, candidate, f"m{rank}"))
    figures = "".join(figure(picture) for picture in drawn if not picture.wide)
    row = " row" if sum(not picture.wide for picture in drawn) > 2 else ""
    figures = f'<div class="figures">{figures}</div>' if figures else ""
    figures += "".join(
        scrolling(picture.caption, figure(picture, wide=True)) for picture in drawn if picture.wide
    )
    score = f"{comparison.score_name} {comparison.shown_score(candidate)}"
    proof = f'<span class="proof">{badge(candidate) if candidate.certificates else ""}</span>'
    family = f'<span class="family">{escape(candidate.family)}</span>' if candidate.family else ""
    body = (
        f'<div class="words">{_words(comparison, candidate)}{about(candidate, whole=chosen_one)}'
        f"{certificates_of_model(candidate)}{notes(candidate.notes)}</div>{figures}"
    )
    return (
        f'<section class="model" id="{name}" aria-labelledby="{name}-title">'
        f"<details{' open' if chosen_one else ''}><summary>"
        f'<h3 id="{name}-title">{escape(candidate.name)}</h3>{tag(comparison, candidate)}{family}'
        f'<span class="score">{escape(score)}</span>{proof}</summary>'
        f'<div class="{"whole" if chosen_one else f"brief{row}"}">{body}</div>'
        f"{groups_of(comparison, candidate) if chosen_one else ''}</details></section>"
    )


def _words(comparison: Comparison, candidate: Candidate) -> str:
    """What the model does, what was chosen for it, and the measures that have no column of their own."""
    chosen = ", ".join(f'<code class="whole">{escape(part)}</code>' for part in parameters(candidate))
    sentences = [f"{kept_together(candidate.summary)}{f' Chosen: {chosen}.' if chosen else ''}"]
    recommended = candidate is comparison.recommended
    if not recommended:  # of which it is told on top
        sentences.append(relies_on(candidate))
    columns, intervals = measures_shown(comparison), candidate.intervals
    if intervals is not None:
        share, held = (
            f"{intervals.coverage:.0%}",
            f"{100 * intervals.held:.1f}%",
        )
        width = shown(intervals.width, 3)
        told_of = (
            f"Its {share} prediction intervals ({intervals.source}) held {held} of the rows that the models "
            f"had not seen; they are {width} wide on average."
            if recommended
            else f"{share} intervals held {held} of unseen rows, {width} wide."
        )
        sentences.append(kept_together(told_of))
    told = [
        f"{name} {comparison.shown_measure(candidate, name)}"
        for name in candidate.measures
        if name not in columns and not (intervals is not None and name in ("coverage", "interval width"))
    ]
    if told:
        sentences.append(f"Besides: {escape(joined(told))}.")
    return f"<p>{' '.join(filter(None, sentences))}</p>"
