"""How many rounds boosting has and how small its leaves may be: what rows not learnt from ask for."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import KFold

from assay.report.trials.scoring.resampling import SMALL_TABLE, FoldSplit, for_all_classes
from assay.report.trials.tuning import ClassFolds, Tuning

FOLDS = 3
"""Folds of a small table, so that each row is judged by once."""

MANY_ROWS = 5_000
"""Beyond so many rows a fit stops by a tenth that it holds out: it hardly misses them, another fit costs."""

LEAST_LEAF = 5
"""The smaller of the leaves that are tried: small leaves follow what has little noise, large ones do not
follow the noise."""

FASTER, LEAST_FALL = 2, 2e-4
"""Trials learn at so many times the rate, in as many times fewer rounds: what trees have learnt goes by the
product of both. They end once the loss falls by less, as a share of that of the mean, in ten rounds."""

FEWER_BINS = 63
"""Bins of a column in trials: a quarter of the cuts to look at, which says the same of rounds and leaves."""


class Trial(NamedTuple):
    """Mean loss of the rows that were not learnt from at its least round, and that round."""

    loss: float
    n_rounds: int


def choose_rounds(model: Any, features: NDArray, target: NDArray, tuning: Tuning) -> Any | None:
    """Boosting of the rounds and leaves that rows which it has not learnt from ask for, fitted on all rows.

    A small table is cut into folds, of a larger one a tenth is held out; both follow the time and the groups.
    The first part says how small leaves are, all of them together how many rounds there are; a part whose
    loss has stopped falling keeps its last loss in the mean over the parts.

    None where a fit had better stop by itself, or no rows can be held out.
    """
    plain = tuning.is_shuffled and tuning.metric is None
    parts = [] if plain and len(target) > MANY_ROWS else parts_of_rounds(target, tuning)
    if not parts:
        return None
    first, tried = parts[0], {}
    for size in sorted({int(model.min_samples_leaf), LEAST_LEAF}, reverse=True):
        faster = {"learning_rate": min(1.0, FASTER * model.learning_rate), "tol": LEAST_FALL}
        faster |= {"max_iter": max(1, model.max_iter // FASTER), "max_bins": min(model.max_bins, FEWER_BINS)}
        tried[size] = clone(model).set_params(min_samples_leaf=size, **faster)
    curves = {size: held_out_losses(probe, features, target, first, tuning) for size, probe in tried.items()}
    leaf = min(curves, key=lambda size: least([curves[size]], [1]).loss)  # the larger where both are level
    rest = [held_out_losses(tried[leaf], features, target, part, tuning) for part in parts[1:]]
    best = least([curves[leaf], *rest], [len(part.test) for part in parts])
    rate = tried[leaf].learning_rate / model.learning_rate
    chosen = {"max_iter": round(rate * best.n_rounds), "min_samples_leaf": leaf}
    return clone(model).set_params(early_stopping=False, **chosen).fit(features, target)


def parts_of_rounds(target: NDArray, tuning: Tuning) -> list[FoldSplit]:
    """Rows to learn from and rows to judge by; none where rows of a class would be lacking to learn from."""
    if len(target) > SMALL_TABLE:
        part = tuning.held_out(target)
        return [] if part is None else [part]
    if not tuning.is_shuffled:
        return tuning.parts(target, folds=FOLDS)
    rows = np.empty((len(target), 1))
    if tuning.labels is not None:
        folds = ClassFolds(tuning.seed, FOLDS, FOLDS).split(rows, target)
        return [FoldSplit(*part) for part in folds]
    if len(target) < 2 * FOLDS:
        return []
    shuffled = KFold(FOLDS, shuffle=True, random_state=tuning.seed)
    return [FoldSplit(*part) for part in shuffled.split(rows)]


def held_out_losses(
    model: Any, features: NDArray, target: NDArray, part: FoldSplit, tuning: Tuning
) -> NDArray[np.float64]:
    """Loss of the rows to judge by after each round: that of the model, or what the user judges by."""
    (learn, held), labels, criterion = part, tuning.labels, tuning.criterion
    probe = clone(model).fit(features[learn], target[learn], X_val=features[held], y_val=target[held])
    if criterion is None:
        return -np.asarray(probe.validation_score_, dtype=np.float64)
    stages = probe.staged_predict if labels is None else probe.staged_predict_proba
    said = (_staged(probe, stage, labels) for stage in stages(features[held]))
    return np.array([criterion.loss(target[held], *answers, held) for answers in said])


def least(curves: list[NDArray[np.float64]], weights: list[int]) -> Trial:
    """Where the mean of curves is least; a curve that has ended goes on as it ended."""
    longest = max(map(len, curves))
    table = np.array([np.append(curve, np.full(longest - len(curve), curve[-1])) for curve in curves])
    mean = np.average(table, axis=0, weights=weights)
    known = np.flatnonzero(np.isfinite(mean))
    if not known.size:  # the measure is never defined: all rounds
        return Trial(np.inf, longest)
    best = int(known[np.argmin(mean[known])])
    return Trial(float(mean[best]), best + 1)


def _staged(model: Any, stage: NDArray, labels: NDArray | None) -> tuple[NDArray, NDArray | None]:
    """Predictions after a round, and probabilities of all classes for a classification."""
    if labels is None:
        return stage, None
    chances = for_all_classes(stage, model.classes_, labels)
    return labels[chances.argmax(axis=1)], chances
