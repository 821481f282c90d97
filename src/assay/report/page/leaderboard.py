"""The leaderboard of a report: every method, its score and how surely it differs from the best."""

from __future__ import annotations

from html import escape

from assay.report.page.clusters import CLUSTER_MEASURES, beside_the_leaderboard
from assay.report.page.pictures import overview
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
    table,
    tag,
)
from assay.report.trials.comparison import Candidate, Comparison
from assay.report.trials.wording import plus_minus, shown_measure

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
        Heading(_capital(score), numeric=True, great_first=True, sorted="descending"),
        *([Heading("Against the best", numeric=True, great_first=True)] if paired else []),
        Heading("Certificates"),
        *(Heading(_capital(name), numeric=True, great_first=name in GREAT_IS_GOOD) for name in measures),
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
    return (
        '<section id="leaderboard" aria-labelledby="leaderboard-title">'
        f'<h2 id="leaderboard-title">Leaderboard</h2>{figure(overview(comparison), wide=True)}'
        f"{table(caption, headings, rows, sortable=True)}{notes(comparison.skipped)}"
        f"{beside_the_leaderboard(comparison)}</section>"
    )


def measure_names(comparison: Comparison) -> list[str]:
    """The measures that some method has: those of the task first, then any other, in order."""
    there = dict.fromkeys(name for candidate in comparison.candidates for name in candidate.measures)
    first = [name for name in MEASURES[comparison.task] if name in there]
    return first + [name for name in there if name not in first]


def _capital(name: str) -> str:
    return name[0].upper() + name[1:]


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
