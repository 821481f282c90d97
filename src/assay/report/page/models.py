"""The sections of a report on one model each: pictures, what was chosen, certificates."""

from __future__ import annotations

from html import escape

from assay.report.page.certificates import certificates_of_model
from assay.report.page.clusters import groups_of
from assay.report.page.pictures import pictures
from assay.report.page.pieces import anchor, badge, figure, notes, parameters, tag
from assay.report.trials.comparison import Candidate, Comparison, plus_minus, shown


def models(comparison: Comparison) -> str:
    """All models, in the order of the leaderboard; the recommended one is open."""
    parts = "".join(
        _model(comparison, candidate, rank) for rank, candidate in enumerate(comparison.candidates)
    )
    return (
        '<div class="models" id="models"><div class="above"><h2>The models, one by one</h2>'
        f'<button type="button" class="unfold" hidden>Open all</button></div>{parts}</div>'
    )


def _model(comparison: Comparison, candidate: Candidate, rank: int) -> str:
    chosen_one = candidate is comparison.recommended
    name = anchor(rank)
    figures = "".join(figure(picture) for picture in pictures(comparison, candidate, f"m{rank}"))
    chosen = ", ".join(f'<code class="whole">{escape(part)}</code>' for part in parameters(candidate))
    words = f"<p>{escape(candidate.summary)}{f' Chosen: {chosen}.' if chosen else ''}</p>"
    groups = groups_of(comparison, candidate) if chosen_one else ""
    score = f"{comparison.score_name} {plus_minus(candidate.score, candidate.standard_error)}"
    proof = f'<span class="proof">{badge(candidate) if candidate.certificates else ""}</span>'
    family = f'<span class="family">{escape(candidate.family)}</span>' if candidate.family else ""
    return (
        f'<section class="model" id="{name}" aria-labelledby="{name}-title">'
        f"<details{' open' if chosen_one else ''}><summary>"
        f'<h3 id="{name}-title">{escape(candidate.name)}</h3>{tag(comparison, candidate)}{family}'
        f'<span class="score">{escape(score)}</span>{proof}</summary>'
        f'{words}{_intervals(candidate)}<div class="figures">{figures}</div>{groups}'
        f"{certificates_of_model(candidate)}{notes(candidate.notes)}</details></section>"
    )


def _intervals(candidate: Candidate) -> str:
    """How the prediction intervals fared on rows that no fit had seen."""
    found = candidate.intervals
    if found is None:
        return ""
    return (
        f"<p>Its {found.coverage:.0%} prediction intervals ({escape(found.source)}) held {found.held:.1%} of "
        f"the rows that the models had not seen; they are {shown(found.width, 3)} wide on average.</p>"
    )
