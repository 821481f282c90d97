"""The page that sets `assay compare` beside other tools, from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import mean, stdev
from typing import Any, NamedTuple

from benchmarks.page import table

HEAD = """\
# `assay compare` beside other tools

`python -m benchmarks.compare_tools` (extra `bench`) writes this page and `compare.json` from what it
measures, on tables that installed packages bring along; nothing is downloaded. Every tool learns from the
same three quarters of the rows and is judged on the quarter that it has not seen: R² for numbers, accuracy
for classes. Where a table was cut in several ways the mean is shown, in brackets the least and the greatest.
Beside it stands the processor time of one such run in seconds, on one thread, the start of the program
included.

*Assay* is the command with its defaults: every method that suits the table, five folds up to three times
over, the report with its pictures, then `assay predict` with the model that it recommends, which is the
simplest one within the noise and not always the best; *Assay, best* is the line of its leaderboard with the
greatest score out of fold, be it a method or the ensemble. *FLAML* and *mljar* are told to search for
{seconds} seconds of the clock (mljar in its default mode, without explanations), whatever else the machine
does: on a busy one they search for less, as their seconds show. *LightGBM*, *XGBoost* and *random forest*
(scikit-learn's) are one fit with their defaults, no choice of anything. A tool is stopped after {patience}
minutes unless a shorter time is told; a dash is not measured.

Few rows are judged on many of these tables: a score in bold is the greatest of its line, but one that is
lower by less than {margin} counts as equal below, and a difference of a few hundredths may be chance. A line
shows the cuts that all its tools have answered; the last section has all cuts of Assay's best and of the
single fits.
"""
MARGIN = 0.02
"""Scores of one table that differ by less are called equal."""


@dataclass(frozen=True)
class Measured:
    """What one tool reached on one table: a score and seconds for each way of cutting it."""

    table: str
    package: str
    task: str
    shape: Sequence[int]
    tool: str
    scores: Sequence[float]
    seconds: Sequence[float]
    failure: str = ""


BEST = "assay, best"
"""The best model of Assay's leaderboard, which need not be the recommended one."""

TOOLS = ("assay", BEST, "FLAML", "mljar", "LightGBM", "XGBoost", "random forest")
NAMES = {"assay": "Assay", BEST: "Assay, best"}
SINGLE = ("LightGBM", "XGBoost", "random forest")
"""Tools that are one fit with its defaults."""

SECONDS = 20
"""What the tools that search until they are stopped are given, for each fit."""

PATIENCE = 1800
"""Seconds after which a tool is stopped and said to have had no answer."""


def page(measured: Sequence[Measured], run: dict[str, Any]) -> str:
    """The whole page in Markdown."""
    parts = [HEAD.format(seconds=SECONDS, patience=PATIENCE // 60, margin=MARGIN)]
    if run:
        versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
        parts.append(f"Measured on {run['date']}, {run['machine']}; {versions}.\n")
    tools = [tool for tool in TOOLS if any(item.tool == tool for item in measured)]
    earlier = [name for name, items in _by_table(measured) if "assay" in items and BEST not in items]
    if earlier:
        parts.append(f"Measured before the leaderboard had trees: {', '.join(earlier)}.\n")
    absent = [tool for tool in TOOLS if tool not in tools]
    if absent:
        parts.append(f"Not measured, for it could not be installed: {', '.join(absent)}.\n")
    for task, title in (("regression", "Numbers: R²"), ("classification", "Classes: accuracy")):
        chosen = [item for item in measured if item.task == task]
        if chosen:
            parts += [f"## {title}\n", _table(chosen, tools)]
    parts += ["## Where Assay stands\n", standing(measured, tools) + against_defaults(measured)]
    return "\n".join(parts)


def _table(measured: Sequence[Measured], tools: Sequence[str]) -> str:
    lines = []
    for name, items in _by_table(measured):
        best = max((mean(item.scores) for item in items.values() if item.scores), default=0.0)
        first = next(iter(items.values()))
        rows, columns = first.shape
        cells = [f"{name} ({first.package})", f"{rows:,} × {columns}"]
        for tool in tools:
            cells += _cells(items.get(tool), best)[: 1 if tool == BEST else 2]
        lines.append(tuple(cells))
    heads = [
        word for tool in tools for word in ((NAMES.get(tool, tool), "s") if tool != BEST else (NAMES[tool],))
    ]
    return table(("table", "rows × columns", *heads), lines)


def _cells(item: Measured | None, best: float) -> tuple[str, str]:
    if item is None or not item.scores:
        return ("—" if item is None else f"none: {item.failure}", "")
    score = mean(item.scores)
    text = f"{score:.3f}" if score > -10 else f"{score:.2g}"
    text = f"**{text}**" if score == best else text
    spread = f" ({min(item.scores):.2f} to {max(item.scores):.2f})" if len(item.scores) > 1 else ""
    stopped = f" (another cut: {item.failure})" if item.failure else ""
    return f"{text}{spread}{stopped}".replace("-", "−"), f"{mean(item.seconds):.0f}"


def _by_table(measured: Sequence[Measured]) -> list[tuple[str, dict[str, Measured]]]:
    """The tools of each table, on the ways of cutting it that all of them have answered."""
    ordered = sorted(measured, key=lambda item: (item.shape[0] * item.shape[1], item.table))
    tables = []
    for name, group in groupby(ordered, key=lambda item: item.table):
        items = list(group)
        n_cuts = min((len(item.scores) for item in items if item.scores), default=0)
        tables.append((name, {item.tool: _first(item, n_cuts) for item in items}))
    return tables


def _first(item: Measured, n_cuts: int) -> Measured:
    return replace(item, scores=item.scores[:n_cuts], seconds=item.seconds[:n_cuts])


class Beside(NamedTuple):
    """The leaderboard's best of a table beside the best of the single fits, cut by cut."""

    table: str
    scores: dict[str, list[float]]
    rival: str  # the single fit of the greatest mean score

    @property
    def gains(self) -> list[float]:
        """What Assay's best has above that fit on each cut."""
        return [own - other for own, other in zip(self.scores[BEST], self.scores[self.rival], strict=True)]

    @property
    def error(self) -> float | None:
        """Standard error of the mean gain over the cuts; None for a single cut."""
        return stdev(self.gains) / len(self.gains) ** 0.5 if len(self.gains) > 1 else None

    @property
    def is_level(self) -> bool:
        """Whether the mean gain is not below zero by more than its error (the margin, of a single cut)."""
        return mean(self.gains) >= -(MARGIN if self.error is None else self.error)

    @property
    def shown_gain(self) -> str:
        """The mean gain with its error."""
        error = "" if self.error is None else f" ± {self.error:.3f}"
        return f"{mean(self.gains):+.3f}{error}".replace("-", "−")


def beside_defaults(measured: Sequence[Measured]) -> list[Beside]:
    """Each table on which the leaderboard's best and all single fits were measured, on their common cuts."""
    lines = []
    wanted = [item for item in measured if item.tool in (BEST, *SINGLE) and item.scores]
    for name, items in _by_table(wanted):
        if len(items) == 1 + len(SINGLE):
            scores = {tool: list(item.scores) for tool, item in items.items()}
            rival = max(SINGLE, key=lambda tool: mean(scores[tool]))
            lines.append(Beside(name, scores, rival))
    return lines


def against_defaults(measured: Sequence[Measured]) -> str:
    """A table and a sentence: where the leaderboard's best reaches the best of the single fits."""
    lines = beside_defaults(measured)
    if not lines:
        return ""
    rows = []
    for line in lines:
        means = [f"{mean(line.scores[tool]):.3f}".replace("-", "−") for tool in (BEST, *SINGLE)]
        gain = line.shown_gain if line.is_level else f"**{line.shown_gain}**"
        rows.append((line.table, str(len(line.gains)), *means, f"{gain} ({line.rival})"))
    behind = [f"{line.table} ({line.shown_gain})" for line in lines if not line.is_level]
    n_level = len(lines) - len(behind)
    return "\n".join(
        [
            "\n## The leaderboard's best beside single fits\n",
            "The difference is to the single fit of the greatest mean, which is chosen after the fact, with\n"
            "its standard error over the cuts. **Bold** is behind by more than that error, which between\n"
            f"equals happens about once in five tables; where there is one cut, by more than {MARGIN}.\n",
            table(("table", "cuts", NAMES[BEST], *SINGLE, "difference"), rows),
            f"The best of Assay's leaderboard is at least level with the best of {', '.join(SINGLE)} on "
            f"{n_level} of {len(lines)} tables{'; behind on ' + ', '.join(behind) if behind else ''}.\n",
        ]
    )


def standing(measured: Sequence[Measured], tools: Sequence[str]) -> str:
    """A sentence for each tool: where Assay's model was better, where it was worse, and by how much."""
    lines = []
    for tool in tools:
        if tool in ("assay", BEST):
            continue
        better, worse, equal, cost = [], [], 0, []
        for name, items in _by_table(measured):
            if not all(one in items and items[one].scores for one in ("assay", tool)):
                continue
            gain = mean(items["assay"].scores) - mean(items[tool].scores)
            cost.append(mean(items["assay"].seconds) / mean(items[tool].seconds))
            if abs(gain) < MARGIN:
                equal += 1
            else:
                (better if gain > 0 else worse).append(f"{name} ({gain:+.2f})".replace("-", "−"))
        total = len(better) + len(worse) + equal
        if not total:
            continue
        lines.append(
            f"- **{tool}**, {total} tables: Assay's model is better on {len(better)}"
            f"{': ' + ', '.join(better) if better else ''}; as good on {equal}; **worse on {len(worse)}"
            f"**{': ' + ', '.join(worse) if worse else ''}. It takes {_middle(cost):.2g} times the processor "
            "time (the middle of the tables)."
        )
    return "\n".join(lines) + "\n"


def _middle(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
