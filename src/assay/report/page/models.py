"""The leaderboard, the certificates of all models, and a section on each model."""

from __future__ import annotations

from collections import Counter
from html import escape

from assay.certificates import SYMBOLS, Certificate, Certificates
from assay.report.page.clusters import CLUSTER_MEASURES, beside_the_leaderboard, groups_of
from assay.report.page.pictures import overview, pictures
from assay.report.page.pieces import (
    Cell,
    Heading,
    Row,
    anchor,
    badge,
    duration,
    figure,
    notes,
    parameters,
    section,
    table,
    tag,
)
from assay.report.trials.comparison import Candidate, Comparison
from assay.report.trials.wording import capital, plus_minus, shown, shown_measure

MEASURES = {
    "regression": ("RMSE", "MAE"),
    "classification": ("balanced accuracy", "ROC AUC", "log-loss"),
    "clustering": CLUSTER_MEASURES,
}
"""Measures beside the score, in the order of the columns; further ones follow."""

GREAT_IS_GOOD = {"balanced accuracy", "ROC AUC", "explained", "stability", "coverage"}


def leaderboard(comparison: Comparison) -> str:
    """The section: the scores as a picture, then as a table that can be sorted."""
    measures = measure_names(comparison)
    paired = comparison.task != "clustering"
    score = comparison.score_name
    headings = [
        Heading("Method"),
        Heading(capital(score), numeric=True, great_first=True, sorted="descending"),
        *([Heading("Against the best", numeric=True, great_first=True)] if paired else []),
        Heading("Certificates"),
        *(Heading(capital(name), numeric=True, great_first=name in GREAT_IS_GOOD) for name in measures),
        Heading("Fit time", numeric=True),
    ]
    rows = []
    for rank, candidate in enumerate(comparison.candidates):
        cells = [
            _name(comparison, candidate, rank),
            Cell(escape(plus_minus(candidate.score, candidate.standard_error)), candidate.score),
            *([_loss(comparison, candidate)] if paired else []),
            badge(candidate),
            *(_measure(candidate, name) for name in measures),
            Cell(duration(candidate.fit_seconds), candidate.fit_seconds),
        ]
        rows.append(Row(cells, candidate is comparison.recommended))
    caption = f"Methods by {score}; ± is one standard error."
    return section(
        "leaderboard",
        "Leaderboard",
        f"{figure(overview(comparison), wide=True)}{table(caption, headings, rows, sortable=True)}"
        f"{notes(comparison.skipped)}{beside_the_leaderboard(comparison)}",
    )


def measure_names(comparison: Comparison) -> list[str]:
    """The measures that some method has: those of the task first, then any other, in order."""
    there = dict.fromkeys(name for candidate in comparison.candidates for name in candidate.measures)
    first = [name for name in MEASURES[comparison.task] if name in there]
    return first + [name for name in there if name not in first]


def _name(comparison: Comparison, candidate: Candidate, rank: int) -> str:
    chosen = "".join(f'<span class="chosen">{escape(part)}</span>' for part in parameters(candidate))
    return f'<a href="#{anchor(rank)}">{escape(candidate.name)}</a>{tag(comparison, candidate)}{chosen}'


def _measure(candidate: Candidate, name: str) -> str | Cell:
    if name not in candidate.measures:
        return "—"
    value = candidate.measures[name]
    return Cell(shown_measure(name, value), value)


def _loss(comparison: Comparison, candidate: Candidate) -> Cell:
    """What a candidate loses against the best, and how surely."""
    if candidate is comparison.best:
        return Cell("best", 0.0)
    loss = comparison.against_best(candidate)
    chance = "p < 0.001" if loss.p_value < 0.001 else f"p = {loss.p_value:.3f}"
    size = f"{-loss.mean:+z.3f}".replace("-", "−")
    return Cell(f'{size}<span class="chosen">{escape(chance)}</span>', -loss.mean)


CERTIFICATES_NOTE = (
    "A certificate is a claim about a fit that was measured and could have failed. It holds, it fails, or "
    "it is vacuous: true, but no more than is known anyway. A claim that is a theorem needs what it assumes."
)
VERDICTS = ("holds", "vacuous", "fails")


def certificates_overview(comparison: Comparison) -> str:
    """The section: for every model how many certificates hold, and what they rest on."""
    headings = [
        Heading("Model"),
        Heading("Verdict"),
        *(Heading(verdict.capitalize(), numeric=True, great_first=True) for verdict in VERDICTS),
        Heading("The assumption that matters most"),
    ]
    rows = [
        Row(_line(comparison, candidate, rank), candidate is comparison.recommended)
        for rank, candidate in enumerate(comparison.candidates)
        if candidate.certificates
    ]
    caption = "Certificates of every model: how many hold, are vacuous or fail, and what they assume."
    body = f"<p>{CERTIFICATES_NOTE}</p>{table(caption, headings, rows, sortable=True)}"
    return section("certificates", "Certificates", body)


def _line(comparison: Comparison, candidate: Candidate, rank: int) -> list[str | Cell]:
    counts = Counter(item.verdict for item in candidate.certificates)
    worst = next(verdict for verdict in ("fails", "vacuous", "holds") if counts[verdict])
    verdict = {"holds": "all hold", "vacuous": "hold, some vacuous", "fails": "some fail"}[worst]
    return [
        f'<a href="#{anchor(rank)}">{escape(candidate.name)}</a>{tag(comparison, candidate)}',
        f'<span class="{worst}">{verdict}</span>{_named(candidate.certificates)}',
        *(Cell(str(counts[name]), counts[name]) for name in VERDICTS),
        escape(assumption_that_matters(candidate.certificates)),
    ]


def _named(certificates: Certificates) -> str:
    """The quantities whose certificates fail or are vacuous, below the verdict."""
    odd = [item for item in certificates if item.verdict != "holds"]
    words = ", ".join(f"{item.quantity} ({item.verdict})" for item in odd)
    return f'<span class="chosen">{escape(words)}</span>' if odd else ""


def assumption_that_matters(certificates: Certificates) -> str:
    """The assumption that most certificates rest on; those that fail count before those that hold.

    Examples
    --------
    >>> gap = Certificate("It is close.", "gap", 0.0, "<=", 1.0, assumptions=("the kernel is positive",))
    >>> assumption_that_matters(Certificates([gap]))
    'the kernel is positive'
    >>> assumption_that_matters(Certificates([Certificate("It is close.", "gap", 0.0, "<=", 1.0)]))
    'none: every claim is measured on the fit itself'
    """
    resting = [item for item in certificates if item.assumptions]
    if not resting:
        return "none: every claim is measured on the fit itself"
    counted = [item for item in resting if not item.holds] or resting
    (most, _), *_ = Counter(words for item in counted for words in item.assumptions).most_common(1)
    return most


def certificates_of_model(candidate: Candidate) -> str:
    """Every certificate of one model, with the numbers that decide it."""
    if not candidate.certificates:
        return '<p class="note">There is nothing to certify in a baseline.</p>'
    names = ("Quantity", "Verdict", "Value", "Bound", "Claim", "Assumptions", "Source")
    headings = [Heading(name, numeric=name in ("Value", "Bound")) for name in names]
    rows = [Row(_certificate(item)) for item in candidate.certificates]
    caption = f"Certificates of {candidate.name}."
    return f"<h4>Certificates</h4>{table(caption, headings, rows, stacked=True)}"


def _certificate(item: Certificate) -> list[str | Cell]:
    return [
        escape(item.quantity),
        f'<span class="{item.verdict}">{item.verdict}</span>',
        f"{item.value:.3g}",
        f"{SYMBOLS[item.relation]} {item.bound:.3g}",
        escape(item.claim),
        escape("; ".join(item.assumptions) or "none"),
        escape(item.source),
    ]


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
    intervals = candidate.intervals
    if intervals is None:
        return ""
    return (
        f"<p>Its {intervals.coverage:.0%} prediction intervals ({escape(intervals.source)}) held "
        f"{intervals.held:.1%} of the rows that the models had not seen; they are "
        f"{shown(intervals.width, 3)} wide on average.</p>"
    )
