"""The page that sets the defaults of boosted trees and forests beside those of other libraries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import mean
from typing import Any, NamedTuple

import numpy as np

from benchmarks.page import table

N_FOLDS = 5
LEAST_CHANCE = 0.005
"""Least probability that a forest is charged with: half a vote of a hundred trees."""

OURS = "Assay"


class Contest(NamedTuple):
    """Libraries that do the same, and what they do."""

    title: str
    most_rows: int  # larger tables are sampled
    libraries: tuple[str, ...]


CONTESTS = {
    "boosting": Contest("HistGradientBoosting", 20_000, (OURS, "LightGBM", "XGBoost", "scikit-learn")),
    "forest": Contest("RandomForest", 5_000, (OURS, "scikit-learn", "ranger")),
    "extra": Contest("ExtraTrees", 5_000, (OURS, "scikit-learn")),
}

HEAD = f"""\
# Trees with their defaults beside other libraries

`python -m benchmarks.quality_trees` (extra `bench`; `--page` writes the page alone) writes this page and
`quality_trees.json` from what it measures, on tables that installed packages bring along; nothing is
downloaded. Every library learns with its default settings on one thread from four fifths of the rows and is
judged on the fifth that it has not seen, on the same {N_FOLDS} folds: by the root mean squared error for
numbers, by the mean log-loss for classes, the smaller the better. Tables of more than
{CONTESTS["boosting"].most_rows:,} rows, for forests {CONTESTS["forest"].most_rows:,}, are sampled.

Words are categories where a library has them (scikit-learn's forests get the places of the levels), missing
values stay missing (ranger gets medians, or a level of their own). A forest is charged with a probability of
at least {LEAST_CHANCE}, half a vote of a hundred trees, because a leaf of one row says 0 or 1; ranger grows
500 trees and keeps ten rows in a leaf of probabilities.

Beside the mean of each other library stands what ours is worse (+) or better (−) by, with the standard error
of the difference over the folds. **Bold** is worse by more than that error, which between two equal libraries
happens about once in five lines ({N_FOLDS} folds, one side).

How many rows a bin has and how much curvature a side of a cut were settled on the smaller tables of boosting
below, among some twenty settings tried: on tables that nobody has looked at ours may do less well.
"""


@dataclass(frozen=True)
class Measured:
    """The losses of one library on one table, fold by fold."""

    table: str
    package: str
    task: str
    shape: Sequence[int]
    contest: str
    library: str
    losses: Sequence[float]
    failure: str = ""


class Difference(NamedTuple):
    """Our loss less that of another library: mean over the folds, its standard error, the mean as a share."""

    mean: float
    error: float
    share: float

    @property
    def is_worse(self) -> bool:
        """Whether ours is larger by more than the standard error."""
        return self.mean > self.error

    @property
    def is_better(self) -> bool:
        """Whether ours is smaller by more than the standard error."""
        return self.mean < -self.error


def difference(ours: Measured, other: Measured) -> Difference:
    """The paired difference of two libraries on the folds of a table."""
    gaps = np.asarray(ours.losses) - np.asarray(other.losses)
    error = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return Difference(float(gaps.mean()), error, float(gaps.mean() / np.mean(other.losses)))


def page(measured: Sequence[Measured], run: dict[str, Any]) -> str:
    """The whole page in Markdown."""
    parts = [HEAD]
    if run:
        versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
        parts.append(f"Measured on {run['date']}, {run['machine']}; {versions}.\n")
    for key, contest in CONTESTS.items():
        chosen = [item for item in measured if item.contest == key]
        if chosen:
            parts += [f"## {contest.title}\n", standing(chosen, contest.libraries)]
            for task, title in (("regression", "Numbers: RMSE"), ("classification", "Classes: log-loss")):
                some = [item for item in chosen if item.task == task]
                parts += [f"### {title}\n", _table(some, contest.libraries)] if some else []
    return "\n".join(parts)


def standing(measured: Sequence[Measured], libraries: Sequence[str]) -> str:
    """A sentence for each other library: where ours is worse, and by how much over all tables."""
    lines = []
    for library in libraries:
        pairs = [
            (name, difference(items[OURS], items[library]))
            for name, items in by_table(measured)
            if library != OURS and all(one in items and items[one].losses for one in (OURS, library))
        ]
        if not pairs:
            continue
        worse = [f"{name} ({gap.share:+.1%})" for name, gap in pairs if gap.is_worse]
        better = sum(gap.is_better for _, gap in pairs)
        shares = np.array([gap.share for _, gap in pairs])
        error = shares.std(ddof=1) / np.sqrt(len(shares)) if len(shares) > 1 else np.nan
        middle = f"{float(np.median(shares)):+.1%}".replace("-", "−")
        lines.append(
            f"- **{library}**, {len(pairs)} tables: ours is better by more than a standard error on "
            f"{better}, level on {len(pairs) - better - len(worse)}, **worse on {len(worse)}**"
            f"{': ' + ', '.join(worse) if worse else ''}. Over all tables our loss is "
            f"{abs(shares.mean()):.1%} {'above' if shares.mean() > 0 else 'below'} theirs "
            f"(standard error {error:.1%}, middle table {middle})."
        )
    return "\n".join(lines) + "\n"


def _table(measured: Sequence[Measured], libraries: Sequence[str]) -> str:
    lines = []
    for name, items in by_table(measured):
        first = next(iter(items.values()))
        rows, columns = first.shape
        losses = [_cell(items.get(library), items.get(OURS)) for library in libraries]
        lines.append((f"{name} ({first.package})", f"{rows:,} × {columns}", *losses))
    return table(("table", "rows × columns", *libraries), lines)


def _cell(item: Measured | None, ours: Measured | None) -> str:
    if item is None or not item.losses:
        return "—" if item is None else f"none: {item.failure}"
    text = f"{mean(item.losses):.4g}"
    if item.library == OURS or ours is None or not ours.losses:
        return text
    gap = difference(ours, item)
    words = f"{gap.mean:+.2g} ± {gap.error:.1g}".replace("-", "−")
    return f"{text} (**{words}**)" if gap.is_worse else f"{text} ({words})"


def by_table(measured: Sequence[Measured]) -> list[tuple[str, dict[str, Measured]]]:
    """The measurements of each table by library, small tables first."""
    ordered = sorted(measured, key=lambda item: (item.shape[0] * item.shape[1], item.table))
    return [
        (name, {item.library: item for item in group})
        for name, group in groupby(ordered, key=lambda item: item.table)
    ]
