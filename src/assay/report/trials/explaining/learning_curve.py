"""Whether more rows would help: the score after learning from a quarter, a half and all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.report.trials.explaining.explanation import LearningCurve
from assay.report.trials.scoring.resampling import compare_scores, corrected_error
from assay.report.trials.tuning import Tuning

SHARES = (0.25, 0.5)
FEWEST_ROWS = 20

Rows = tuple[NDArray, NDArray, NDArray]
"""Features and target to learn from, features to predict."""


def learning_curve(
    fit: Callable[[int, NDArray], Any],
    splits: Sequence[Rows],
    full: NDArray,
    *,
    judge: Callable[[Any, int], float],
    score_name: str,
    sign: int = 1,
    seed: int,
    share: float,
    classes: NDArray | None = None,
    tunings: Sequence[Tuning] | None = None,
) -> LearningCurve | None:
    """Score by the number of rows learnt from, on the same unseen rows for every number.

    Smaller sets of rows lie inside larger ones: the latest ones of a table in the order of a time, whole
    groups of one with groups, else any. None where the rows are too few for a half of them.

    Parameters
    ----------
    fit : callable
        Gives a model fitted to some of the rows that the split of a number learns from.
    splits : sequence of (train, target, test)
    full : array of shape (n_splits,)
        Scores after learning from all rows, which are known.
    judge : callable
        Score of a model on the rows that the split of a number predicts; the greater the better.
    score_name : str
    sign : int, default=1
        −1 where the score is an error turned around.
    seed : int
    share : float
        Share of the rows that a split predicts.
    classes : array, optional
        All classes; a set of rows without one of them is not learnt from.
    tunings : sequence of Tuning, optional
        For each split, the times or groups of the rows that it learns from.
    """
    sizes, scores = [], []
    tunings = tunings or [Tuning()] * len(splits)
    n_rows = [len(train) for train, *_ in splits]
    for part in SHARES:
        if int(part * min(n_rows)) < FEWEST_ROWS:
            continue
        line, n_learnt = [], []
        for number, (train, target, _) in enumerate(splits):
            size, rng = int(part * len(train)), np.random.default_rng([seed, number])
            rows = _first(tunings[number], len(train), size, rng)
            n_learnt.append(len(rows))
            if classes is not None and np.unique(target[rows]).size < classes.size:
                break
            if np.unique(target[rows]).size < 2:
                break
            line.append(judge(fit(number, rows), number))
        if len(line) == len(splits):
            sizes.append(round(np.mean(n_learnt)))
            scores.append(line)
    if not sizes or len(line) < len(splits):
        return None
    table = np.array([*scores, full])
    errors = np.array([corrected_error(line, share) for line in table])
    gain = compare_scores(table[-1], table[-2], share)
    counts = np.array([*sizes, round(np.mean(n_rows))])
    return LearningCurve(counts, sign * table.mean(axis=1), errors, gain, score_name, sign)


def _first(tuning: Tuning, n_rows: int, size: int, rng: np.random.Generator) -> NDArray:
    """About so many rows: the latest, those of some groups, or any."""
    if tuning.times is not None:
        return np.sort(np.argsort(tuning.times, kind="stable")[n_rows - size :])
    if tuning.groups is None:
        return rng.permutation(n_rows)[:size]
    names, counts = np.unique(tuning.groups, return_counts=True)
    order = rng.permutation(len(names))
    n_names = max(1, int(np.searchsorted(np.cumsum(counts[order]), size, side="right")))
    return np.flatnonzero(np.isin(tuning.groups, names[order[:n_names]]))
