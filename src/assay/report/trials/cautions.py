"""What one must know before trusting a prediction: intervals and probabilities, leaks, rarity, few rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from assay.report.tables.associations import leaks, short
from assay.report.trials.coverage import OWN, Intervals

if TYPE_CHECKING:
    from assay.report.trials.comparison import Candidate, Comparison

FEW_ROWS = 100
"""Below so many rows the ranking is said to be uncertain."""

FLATTERING = 0.8
"""A class with a greater share of the rows makes any accuracy look good."""


def cautions(comparison: Comparison) -> tuple[str, ...]:
    """Sentences on how far the recommended model can be trusted."""
    if comparison.task == "regression":
        own = of_intervals(comparison)
    else:
        own = of_classes(comparison)
    return (*own, *few_rows(comparison), *leaks(comparison.data, comparison.task))


def of_intervals(comparison: Comparison) -> Iterator[str]:
    """How often the prediction intervals held rows that no fit had seen."""
    from assay.report.trials.comparison import shown

    found = comparison.recommended.intervals
    if found is None:
        return
    n_rows, meant = len(comparison.data.X), f"{found.coverage:.0%}".replace("%", " %")
    held = f"{100 * found.held:.1f} % of unseen rows"
    width = shown(found.width, 3)
    if found.source == OWN:
        yield f"Its {meant} intervals held {held}{_verdict(found, n_rows)}; they are {width} wide on average."
    else:
        yield (
            f"It has no intervals of its own: those of {meant} {found.source} are {width} wide on average "
            f"and held {held}{_verdict(found, n_rows)}."
        )


def _verdict(found: Intervals, n_rows: int) -> str:
    noise = 2 * np.sqrt(found.coverage * (1 - found.coverage) / n_rows)
    if found.held < found.coverage - noise:
        return ", fewer than they promise"
    return ", more than they need to" if found.held > found.coverage + noise else ""


def of_classes(comparison: Comparison) -> Iterator[str]:
    """How true the probabilities are, and whether one class makes the accuracy look good."""
    chosen, data = comparison.recommended, comparison.data
    error = chosen.measures.get("calibration error")
    if error is None:
        yield f"{chosen.name} names classes without a probability."
    else:
        yield (
            f"Its probabilities miss how often it is right by {100 * error:.1f} percentage points on "
            f"average, out of fold{_log_loss(comparison, chosen)}."
        )
    assert data.y is not None
    labels, counts = np.unique(data.y, return_counts=True)
    share = counts.max() / counts.sum()
    if share > FLATTERING:
        balanced = chosen.measures["balanced accuracy"]
        commonest = short((data.classes or labels)[counts.argmax()])
        yield (
            f"{100 * share:.0f} % of the rows are {commonest!r}, which flatters the accuracy: averaged over "
            f"the classes, it is right in {100 * balanced:.0f} % of cases."
        )


def _log_loss(comparison: Comparison, chosen: Candidate) -> str:
    own = chosen.measures["log-loss"]
    shares = [item.measures.get("log-loss") for item in comparison.candidates if item.is_baseline]
    if not shares or shares[0] is None:
        return ""
    return f"; their log-loss is {own:.2f}, {shares[0]:.2f} for the shares of the classes"


def few_rows(comparison: Comparison) -> Iterator[str]:
    """A word on small samples."""
    n_rows = len(comparison.data.X)
    if n_rows < FEW_ROWS:
        yield f"With {n_rows} rows, another sample could well rank the methods otherwise."
