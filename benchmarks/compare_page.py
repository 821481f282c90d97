"""The page that sets `assay compare` beside other tools, from what was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import mean
from typing import Any

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
simplest one within the noise and not always the best; *Assay, best* is the first of its leaderboard. *FLAML*
and *mljar* are told to search for {seconds} seconds of the clock (mljar in its default mode, without
explanations), whatever else the machine does: on a busy one they search for less, as their seconds show.
*LightGBM*, *XGBoost* and *random forest* (scikit-learn's) are one fit with their defaults, no choice of
anything. A tool is stopped after {patience} minutes unless a shorter time is told; a dash is not measured.

Few rows are judged on many of these tables: a score in bold is the greatest of its line, but one that is
lower by less than {margin} counts as equal below, and a difference of a few hundredths may be chance.
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


def against_defaults(measured: Sequence[Measured]) -> str:
    """A sentence: on how many tables the leaderboard's best reaches the best of the single fits."""
    level, behind = 0, []
    for name, items in _by_table(measured):
        others = [mean(items[tool].scores) for tool in SINGLE if tool in items and items[tool].scores]
        if BEST not in items or not items[BEST].scores or len(others) < len(SINGLE):
            continue
        gain = mean(items[BEST].scores) - max(others)
        if gain > -MARGIN:
            level += 1
        else:
            behind.append(f"{name} ({gain:+.2f})".replace("-", "−"))
    if not level + len(behind):
        return ""
    return (
        f"- The first of Assay's leaderboard is at least level with the best of {', '.join(SINGLE)} on "
        f"{level} of {level + len(behind)} tables{'; behind on ' + ', '.join(behind) if behind else ''}.\n"
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
