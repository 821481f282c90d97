"""The page that tells what a fit of each method costs, and from which size on a comparison leaves it out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from assay.report.trials.roster import entries, limits_in_words
from assay.suitability import FIT_SECONDS, Suitability
from benchmarks.page import table

HEAD = f"""\
# What a fit costs

`python -m benchmarks.method_costs` writes this page and `method_costs.json` from what it measures: processor
seconds of one fit of each method that `assay compare` tries, its choice of a parameter included, on one
thread. Columns go together, ten of them matter. A comparison fits every method six times at least, on five
folds and on all rows.

Numbers in brackets are those of sizes at which a comparison leaves the method out unless it is asked for by
name: one fit may take {FIT_SECONDS} seconds, and the limits in the last column are sizes at which about so
much or less was measured. "ended" took more than the measurement waits for; a dash is not measured.
"""

ENDED = -1.0
"""Stands for a fit that was ended by the limit, in the file."""


@dataclass(frozen=True)
class Cost:
    """Processor seconds of one fit of a method to a table of a size."""

    task: str
    method: str
    rows: int
    columns: int
    classes: int
    seconds: float | None = None  # ENDED where the limit ended it, None where it failed

    @property
    def place(self) -> tuple[Any, ...]:
        """What was measured."""
        return self.task, self.classes, self.method, self.rows * self.columns, self.rows, self.columns

    @property
    def words(self) -> str:
        """The seconds as they are shown."""
        if self.seconds is None:
            return "failed"
        return "ended" if self.seconds == ENDED else f"{self.seconds:.2g}"

    @property
    def at_least(self) -> float:
        """Seconds that it takes at least."""
        return math.inf if self.seconds == ENDED or self.seconds is None else self.seconds


def limited(seconds: float) -> float | None:
    """Seconds as a file holds them: `ENDED` for infinite ones, None for a failure."""
    if math.isnan(seconds):
        return None
    return ENDED if math.isinf(seconds) else round(seconds, 3)


def suitability(method: str) -> Suitability:
    """What a method declares of itself."""
    return next(entry.suits for entry in entries() if entry.name == method)


def page(costs: Sequence[Cost], run: dict[str, Any]) -> str:
    """The whole page in Markdown."""
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    parts = [HEAD, f"Measured on {run['date']}, {run['machine']}; {versions}.\n"]
    for task, classes in sorted({(cost.task, cost.classes) for cost in costs}, reverse=True):
        chosen = [cost for cost in costs if (cost.task, cost.classes) == (task, classes)]
        title = "Numbers" if task == "regression" else f"{classes} classes"
        parts += [f"## {title}\n", _table(chosen)]
    return "\n".join(parts)


def _table(costs: Sequence[Cost]) -> str:
    shapes = sorted({(cost.rows, cost.columns) for cost in costs}, key=lambda size: (size[0] * size[1], size))
    measured = {(cost.method, cost.rows, cost.columns): cost for cost in costs}
    lines = []
    for method in dict.fromkeys(cost.method for cost in costs):
        suits = suitability(method)
        cells = [method]
        for shape in shapes:
            cost = measured.get((method, *shape))
            words = "—" if cost is None else cost.words
            tried = cost is None or suits.admits(*shape, max(cost.classes, 2))
            cells.append(words if tried else f"({words})")
        lines.append((*cells, limits_in_words(suits) or "none"))
    heads = [f"{rows:,} × {columns:,}" for rows, columns in shapes]
    return table(("method", *heads, "tried up to"), lines)
