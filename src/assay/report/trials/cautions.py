"""How far the scores of a comparison can be trusted, in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from assay.report.trials.candidate import final_step
from assay.report.trials.scoring.noisy_labels import contradicting_rows
from assay.report.trials.scoring.resampling import OWN
from assay.report.wording import joined, quoted, short, shown, shown_measure

if TYPE_CHECKING:
    from assay.report.tables.data import Data
    from assay.report.trials.comparison import Comparison

FEW_ROWS = 100
"""Below so many rows the ranking is said to be uncertain."""

FLATTERING = 0.8
"""A class with a greater share of the rows makes any accuracy look good."""


NAMED_ROWS = 5
"""Rows of labels that look wrong that a sentence names."""

TOO_GOOD = {"R²": 0.999, "accuracy": 0.9995}
"""Scores above these are told to be rare."""


ROUNDING = 1e-10
"""An error of a smaller share of the greatest target is that of rounding."""


def too_good(comparison: Comparison) -> Iterator[str]:
    """A word on a score that leaves nothing to err about, which real tables hardly give."""
    limit, score = TOO_GOOD.get(comparison.score_name), comparison.recommended.score
    if limit is not None and score > limit and len(comparison.data.X) >= FEW_ROWS:
        yield (
            f"So good a score ({comparison.score_name} {score:.3f}) is rare outside of exercises: make sure "
            f"that no column is only known after {short(str(comparison.data.target))}."
        )


def is_rounding(error: float, data: Data) -> bool:
    """Whether an error is so small beside the target that it comes from rounding alone."""
    assert data.y is not None
    return error < ROUNDING * float(np.abs(data.y).max())


def of_intervals(comparison: Comparison) -> Iterator[str]:
    """How often the prediction intervals held rows that no fit had seen."""
    chosen = comparison.recommended
    intervals = chosen.intervals
    if intervals is None or is_rounding(chosen.measures["RMSE"], comparison.data):
        return
    meant = f"{intervals.coverage:.0%}"
    held = f"held {100 * intervals.held:.1f}% of unseen rows"
    noise = 2 * np.sqrt(intervals.coverage * (1 - intervals.coverage) / len(comparison.data.X))
    if abs(intervals.held - intervals.coverage) > noise:
        fewer = intervals.held < intervals.coverage
        held += ", fewer than they promise" if fewer else ", more than they need to"
    width = f"{shown(intervals.width, 3)} wide on average"
    where = "" if intervals.source == OWN else f", {intervals.source},"
    yield f"Its {meant} intervals{where} {held}; they are {width}."


def of_classes(comparison: Comparison) -> Iterator[str]:
    """How true the probabilities are, and whether one class makes the accuracy look good."""
    chosen, data = comparison.recommended, comparison.data
    error = chosen.measures.get("calibration error")
    if error is None:
        yield f"{chosen.name} names classes without a probability."
    else:
        shares = [item.measures.get("log-loss") for item in comparison.candidates if item.is_baseline]
        loss = ""
        if shares and shares[0] is not None:
            own = chosen.measures["log-loss"]
            said = [shown_measure("log-loss", value) for value in (own, shares[0])]
            loss = f"; their log-loss is {said[0]}, {said[1]} for the shares of the classes"
        yield (
            f"Its probabilities miss how often it is right by {100 * error:.1f} percentage points on "
            f"average, out of fold{loss}."
        )
    assert data.y is not None
    labels, counts = np.unique(data.y, return_counts=True)
    share = counts.max() / counts.sum()
    if share > FLATTERING:
        balanced = chosen.measures["balanced accuracy"]
        commonest = short((data.classes or labels)[counts.argmax()])
        yield (
            f"{100 * share:.0f}% of the rows are {commonest!r}, which flatters the accuracy: averaged over "
            f"the classes, it is right in {100 * balanced:.0f}% of cases{_other_metric(comparison)}."
        )


def _other_metric(comparison: Comparison) -> str:
    """What lets every class count the same, where the user has named no measure."""
    return "" if comparison.metric else "; --metric balanced-accuracy lets each class count the same"


def of_costs(metric: str | None, data: Data) -> Iterator[str]:
    """A word on costs that are learnt from too: an amount may be known beforehand, a loss is not."""
    column = (metric or "").partition("cost:")[2].strip()
    if column in data.X.columns:
        yield (
            f"The costs {short(column)!r} are learnt from too: unless they are known before {data.target}, "
            f"--drop {quoted(column)} keeps them for the costs alone."
        )


def of_labels(comparison: Comparison) -> Iterator[str]:
    """A word on labels that look noisy, with the weight that AdaBoost puts on the rows in question.

    Rows in the order of the time are not judged: there the law may have changed, and not the labels be wrong.
    """
    data = comparison.data
    voting = next(
        (item for item in comparison.candidates if hasattr(final_step(item.model), "row_weights")), None
    )
    judge = next(
        (
            item
            for item in (comparison.recommended, comparison.best, *comparison.candidates)
            if item.probabilities is not None and not item.is_baseline
        ),
        None,
    )
    if voting is None or judge is None or data.y is None or data.whole is not None:
        return
    shares = np.mean([said.probabilities for said in judge.repeats], axis=0)
    rows = contradicting_rows(data.y, shares, data.labels)
    if not rows.size:
        return
    weights = final_step(voting.model).row_weights(voting.model[0].transform(data.X), data.y)
    heaviest = np.sort(rows[np.argsort(-weights[rows], kind="stable")[:NAMED_ROWS]])
    names = joined([short(str(data.row_names[row])) if data.row_names else f"{row + 1}" for row in heaviest])
    yield (
        f"Labels look noisy: of the half of the rows that {judge.name} is surest of, "
        f"{100 * rows.size / (2 * (len(data.y) // 4)):.1f}% have another class, hardly fewer where it is "
        f"surest. {voting.name} puts {100 * weights[rows].sum():.0f}% of its weight on these {rows.size:,} "
        f"of {len(data.y):,} rows, most on {'' if data.row_names else 'rows '}{names}."
    )
