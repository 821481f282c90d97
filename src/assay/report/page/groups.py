"""Groups of rows: what they are like, who is in them, and what the methods say about each other."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from assay.report.page.pieces import Heading, Row, breakable, notes, table
from assay.report.trials.candidate import Candidate
from assay.report.trials.clusters.comparison import CRITERIA, ClusteringComparison
from assay.report.trials.comparison import Comparison
from assay.report.wording import capital, joined, shown, signed

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
    "There are none either where k-means splits the table, or up to 500 of its rows, no better than the best "
    "of 19 tables without groups, whose columns have one hump, tails like those here and the same "
    "correlations of ranks, and whose words go with nothing; nor where all groups but one are single rows.",
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
        lines = [[breakable(name), *cells] for name, *cells in zip(names, *columns, strict=True)][1:]
        text = _table(caption, ["", *(f"Cluster {column[0]}" for column in columns)], lines)
    else:
        left = [name for name in data.feature_names if kinds[str(name)] != "numeric"]
        text = _table(caption, names, columns, left)
    return f"<h4>{caption}</h4>{text}{_members(data.row_names or (), labels)}"


def numbers_of_groups(comparison: ClusteringComparison) -> str:
    """The number of groups that each criterion chooses, method by method."""
    lines = []
    for item in comparison.clusterings:
        said = [item.scan.choice_of(name) for name in CRITERIA]
        cells = ["—" if number is None else str(number or "none") for number in said]
        lines.append([escape(item.name), *cells])
    names = ["Method", *map(capital, CRITERIA.values())]
    text = _table("Number of groups by method and criterion", names, lines)
    chosen = {cell for _, *cells in lines for cell in cells}
    if len(chosen) == 1 and len(lines) > 1:  # a table of one number says no more
        criteria = capital(joined([*CRITERIA.values()]))
        text = f"<p>{criteria} choose {chosen.pop()} for each of the {len(lines)} methods.</p>"
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


def agreement(comparison: ClusteringComparison) -> str:
    """Adjusted Rand index of every two methods."""
    clusterings = comparison.clusterings
    if len(clusterings) < 2:
        return ""
    lines = [
        [escape(item.name), *map(signed, line)]
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


def _table(
    caption: str, names: Sequence[str], lines: Sequence[Sequence[str]], words: Sequence[str] = ()
) -> str:
    """A table of numbers, but for its first column and those of words."""
    headings = [
        Heading(name, numeric=index > 0 and name not in words, html=breakable(name))
        for index, name in enumerate(names)
    ]
    return table(f"{caption}.", headings, [Row(cells) for cells in lines])
