"""Whether more rows would help: the score after learning from a quarter, a half and all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.report.trials.explaining.explanation import LearningCurve
from assay.report.trials.scoring.resampling import compare_scores, corrected_error

SHARES = (0.25, 0.5)
FEWEST_ROWS = 20

Rows = tuple[NDArray, NDArray, NDArray]
"""Features and target to learn from, features to predict."""


def learning_curve(
    fit: Callable[[NDArray, NDArray], Any],
    splits: Sequence[Rows],
    full: NDArray,
    *,
    judge: Callable[[Any, int], float],
    score_name: str,
    sign: int = 1,
    seed: int,
    share: float,
    classes: NDArray | None = None,
) -> LearningCurve | None:
    """Score by the number of rows learnt from, on the same unseen rows for every number.

    Smaller sets of rows lie inside larger ones. None where the rows are too few for a half of them.

    Parameters
    ----------
    fit : callable
        Gives a fitted model for features and a target.
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
    """
    sizes, scores = [], []
    n_rows = min(len(train) for train, *_ in splits)
    for part in SHARES:
        size = int(part * n_rows)
        if size < FEWEST_ROWS:
            continue
        line = []
        for number, (train, target, _) in enumerate(splits):
            rows = np.random.default_rng([seed, number]).permutation(len(train))[:size]
            if classes is not None and np.unique(target[rows]).size < classes.size:
                break
            if np.unique(target[rows]).size < 2:
                break
            line.append(judge(fit(train[rows], target[rows]), number))
        if len(line) == len(splits):
            sizes.append(size)
            scores.append(line)
    if not sizes or sizes[-1] < 0.5 * n_rows - 1:
        return None
    table = np.array([*scores, full])
    errors = np.array([corrected_error(line, share) for line in table])
    gain = compare_scores(table[-1], table[-2], share)
    counts = np.array([*sizes, n_rows])
    return LearningCurve(counts, sign * table.mean(axis=1), errors, gain, score_name, sign)
