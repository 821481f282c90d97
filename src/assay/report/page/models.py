"""The leaderboard, the certificates of all models, and a section on each model and on groups of rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from assay.certificates import SYMBOLS, Certificates
from assay.report.page.explanations import relies_on
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
from assay.report.trials.clustering import CRITERIA, ClusteringComparison
from assay.report.trials.comparison import Candidate, Comparison
from assay.report.trials.wording import capital, plus_minus, shown, shown_measure

MEASURES = {
    "regression": ("RMSE", "MAE"),
    "classification": ("balanced accuracy", "ROC AUC", "log-loss"),
    "clustering": ("groups", "explained", "stability", "noise"),
}
"""Measures beside the score, in the order of the columns; further ones follow."""

GREAT_IS_GOOD = {"balanced accuracy", "ROC AUC", "explained", "stability", "coverage"}


def leaderboard(comparison: Comparison) -> str:
    """The section: the scores as a picture, then as a table that can be sorted."""
    # The measures that some method has: those of the task first, then any other, in order.
    there = dict.fromkeys(name for candidate in comparison.candidates for name in candidate.measures)
    measures = [name for name in MEASURES[comparison.task] if name in there]
    measures += [name for name in there if name not in measures]
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
            _name(comparison, candidate, rank) + "".join(map(_small, parameters(candidate))),
            Cell(escape(plus_minus(candidate.score, candidate.standard_error)), candidate.score),
            *([_loss(comparison, candidate)] if paired else []),
            badge(candidate),
            *(
                "—"
                if (value := candidate.measures.get(name)) is None
                else Cell(shown_measure(name, value), value)
                for name in measures
            ),
            Cell(duration(candidate.fit_seconds), candidate.fit_seconds),
        ]
        rows.append(Row(cells, candidate is comparison.recommended))
    caption, beside = f"Methods by {score}; ± is one standard error.", ""
    if isinstance(comparison, ClusteringComparison):  # what the methods say about each other
        beside = _numbers(comparison) + _agreement(comparison)
    return section(
        "leaderboard",
        "Leaderboard",
        f"{figure(overview(comparison), wide=True)}{table(caption, headings, rows, sortable=True)}"
        f"{notes(comparison.skipped)}{beside}",
    )


def _name(comparison: Comparison, candidate: Candidate, rank: int) -> str:
    return f'<a href="#{anchor(rank)}">{escape(candidate.name)}</a>{tag(comparison, candidate)}'


def _small(words: str) -> str:
    return f'<span class="chosen">{escape(words)}</span>'


def _loss(comparison: Comparison, candidate: Candidate) -> Cell:
    """What a candidate loses against the best, and how surely."""
    if candidate is comparison.best:
        return Cell("best", 0.0)
    loss = comparison.against_best(candidate)
    chance = "p < 0.001" if loss.p_value < 0.001 else f"p = {loss.p_value:.3f}"
    return Cell(f"{-loss.mean:+z.3f}".replace("-", "−") + _small(chance), -loss.mean)


CERTIFICATES_NOTE = (
    "A certificate is a claim about a fit that was measured and could have failed. It holds, it fails, or "
    "it is vacuous: true, but no more than is known anyway. A claim that is a theorem needs what it assumes. "
    "A bound is a theorem that holds for any fit: worth reading, not counted."
)
VERDICTS = ("holds", "vacuous", "fails", "bound")
WORDS = {"fails": "some fail", "vacuous": "hold, some vacuous", "holds": "all hold", "bound": "bounds only"}
"""What is said of a model, by the worst verdict among its certificates."""


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
    caption = "Certificates of every model: how many hold, are vacuous, fail or are bounds; what they assume."
    body = f"<p>{CERTIFICATES_NOTE}</p>{table(caption, headings, rows, sortable=True)}"
    return section("certificates", "Certificates", body)


def _line(comparison: Comparison, candidate: Candidate, rank: int) -> list[str | Cell]:
    counts = Counter(item.verdict for item in candidate.certificates)
    worst = next(verdict for verdict in WORDS if counts[verdict])
    # The quantities whose certificates fail or are vacuous stand below the verdict.
    odd = [
        f"{item.quantity} ({item.verdict})"
        for item in candidate.certificates
        if item.verdict in ("fails", "vacuous")
    ]
    return [
        _name(comparison, candidate, rank),
        f'<span class="{worst}">{WORDS[worst]}</span>{_small(", ".join(odd)) if odd else ""}',
        *(Cell(str(counts[name]), counts[name]) for name in VERDICTS),
        escape(assumption_that_matters(candidate.certificates)),
    ]


def assumption_that_matters(certificates: Certificates) -> str:
    """The assumption that most certificates rest on; those that fail count before those that hold.

    Examples
    --------
    >>> from assay.certificates import Certificate
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
    rows = []
    for item in candidate.certificates:
        verdict = f'<span class="{item.verdict}">{item.verdict}</span>'
        bound = f"{SYMBOLS[item.relation]} {item.bound:.3g}"
        words = (item.claim, "; ".join(item.assumptions) or "none", item.source)
        rows.append(Row([escape(item.quantity), verdict, f"{item.value:.3g}", bound, *map(escape, words)]))
    caption = f"Certificates of {candidate.name}."
    return f"<h4>Certificates</h4>{table(caption, headings, rows, stacked=True)}"


def models(comparison: Comparison) -> str:
    """All models, in the order of the leaderboard; the recommended one is open."""
    parts = "".join(_model(comparison, item, rank) for rank, item in enumerate(comparison.candidates))
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
    if (intervals := candidate.intervals) is not None:
        words += (
            f"<p>Its {intervals.coverage:.0%} prediction intervals ({escape(intervals.source)}) held "
            f"{intervals.held:.1%} of the rows that the models had not seen; they are "
            f"{shown(intervals.width, 3)} wide on average.</p>"
        )
    words += "" if chosen_one else relies_on(candidate)  # told of the chosen one on top
    groups = groups_of(comparison, candidate) if chosen_one else ""
    score = f"{comparison.score_name} {plus_minus(candidate.score, candidate.standard_error)}"
    proof = f'<span class="proof">{badge(candidate) if candidate.certificates else ""}</span>'
    family = f'<span class="family">{escape(candidate.family)}</span>' if candidate.family else ""
    return (
        f'<section class="model" id="{name}" aria-labelledby="{name}-title">'
        f"<details{' open' if chosen_one else ''}><summary>"
        f'<h3 id="{name}-title">{escape(candidate.name)}</h3>{tag(comparison, candidate)}{family}'
        f'<span class="score">{escape(score)}</span>{proof}</summary>'
        f'{words}<div class="figures">{figures}</div>{groups}'
        f"{certificates_of_model(candidate)}{notes(candidate.notes)}</details></section>"
    )


MAX_MEMBERS = 120
MAX_GROUP_COLUMNS = 9

HOW_CLUSTERING = (
    "Every column is centred and scaled to standard deviation 1, so that units do not matter; the marks of a "
    "category or of a missing value are 2 apart, so that rare ones make no groups by themselves.",
    "Each method is fitted for 2 to 8 groups, or for several least sizes of a group where it finds their "
    "number by itself (seed {seed}); the fit of the greatest mean silhouette is kept.",
    "The silhouette of a row compares its mean distance to its own cluster (a) with that to the next one "
    "(b): (b − a) / max(a, b). It is averaged over the rows, or over 2000 of them drawn at random when "
    "there are more; a row in no group counts 0, and so does every row of a single group.",
    "± is the standard error of that mean. The method recommended is the simplest one that loses to the "
    "best, row by row, by no more than one standard error of their difference.",
    "Explained is the share of the variance of the columns that knowing the group takes away; rows in no "
    "group leave theirs. Stability is the mean adjusted Rand index of the groups with those that the method "
    "finds in half of the rows, five times over: 1 for the same groups, 0 for an agreement by chance.",
    "The gap statistic compares the inertia of k-means with that of tables drawn without groups; the "
    "eigengap looks at the graph of 10 neighbours of each row. Both see up to 1000 rows. Where the gap "
    "statistic speaks for one group without doubt, the page says that there are no clear groups.",
)


def groups_of(comparison: Comparison, candidate: Candidate) -> str:
    """Size, mean of each column and members of every cluster, in the units of the table, as HTML."""
    if not isinstance(comparison, ClusteringComparison):
        return ""
    data, labels = comparison.data, candidate.predictions
    names = ["Cluster", "Rows", *data.feature_names]
    kinds = {column.name: column.kind for column in data.columns}
    columns = []
    for cluster in np.unique(labels):
        inside = data.X.loc[labels == cluster]
        typical = [_typical(inside[name], kinds[str(name)]) for name in inside.columns]
        columns.append(["none" if cluster < 0 else str(cluster), str(len(inside)), *typical])
    caption = "Typical values of the clusters, in the units of the table"
    if len(names) > MAX_GROUP_COLUMNS:  # many columns read better downwards
        lines = [[escape(name), *cells] for name, *cells in zip(names, *columns, strict=True)][1:]
        text = _table(caption, ["", *(f"Cluster {column[0]}" for column in columns)], lines)
    else:
        text = _table(caption, names, columns)
    return f"<h4>{caption}</h4>{text}{_members(data.row_names or (), labels)}"


def _numbers(comparison: ClusteringComparison) -> str:
    """The number of groups that each criterion chooses, method by method."""
    lines = []
    for item in comparison.clusterings:
        said = [item.scan.choice_of(name) for name in CRITERIA]
        cells = ["—" if number is None else str(number or "none") for number in said]
        lines.append([escape(item.name), *cells])
    names = ["Method", *map(capital, CRITERIA.values())]
    text = _table("Number of groups by method and criterion", names, lines)
    selections = {
        "The gap statistic of k-means, which can also say that there is one group,": comparison.gap,
        "The eigengap of the graph of neighbours": comparison.eigengap,
    }
    words = [
        f"{name} chooses {selection.best}{' (in doubt)' if selection.ambiguous else ''}: {selection.reason}."
        for name, selection in selections.items()
        if selection is not None
    ]
    return f"<h3>How many groups? What each criterion chooses</h3>{text}{notes(words)}"


def _agreement(comparison: ClusteringComparison) -> str:
    """Adjusted Rand index of every two methods."""
    clusterings = comparison.clusterings
    if len(clusterings) < 2:
        return ""
    lines = [
        [escape(item.name), *(f"{value:.2f}".replace("-", "−") for value in line)]
        for item, line in zip(clusterings, comparison.agreement, strict=True)
    ]
    caption = "Do the methods agree? Adjusted Rand index of their groups"
    note = "1 for the same groups, 0 for an agreement by chance; rows in no group count as one."
    text = _table(caption, ["", *(item.name for item in clusterings)], lines)
    return f"<h3>{caption}</h3>{text}{notes([note])}"


def _members(row_names: Sequence[str], labels: Any) -> str:
    if not 0 < len(row_names) <= MAX_MEMBERS:
        return ""
    named = np.asarray(row_names, dtype=object)
    return "".join(
        f'<p class="note"><b>{"In no cluster" if cluster < 0 else f"Cluster {cluster}"}:</b> '
        f"{escape(', '.join(named[labels == cluster]))}</p>"
        for cluster in np.unique(labels)
    )


def _typical(values: Any, kind: str) -> str:
    """Mean of a numeric column, commonest value of another."""
    if kind == "numeric":
        mean = float(values.mean())
        return shown(mean) if np.isfinite(mean) else "—"
    common = values.mode()
    return escape(str(common.iloc[0])) if len(common) else "—"


def _table(caption: str, names: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    headings = [Heading(name, numeric=index > 0) for index, name in enumerate(names)]
    return table(f"{caption}.", headings, [Row(cells) for cells in lines])
