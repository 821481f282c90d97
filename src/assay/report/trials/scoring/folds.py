"""Folds for rows that are not all alike: later ones predicted from earlier ones, groups kept together."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import StratifiedGroupKFold

from assay.report.errors import ReportError
from assay.report.tables.data import Data
from assay.report.trials.scoring.resampling import FoldSplit, splits

GAP = 0.01
"""Share of the rows, at least the last time, that is left out before those predicted."""


def folds_of(data: Data, *, folds: int, repeats: int, seed: int, classes: NDArray | None) -> list[FoldSplit]:
    """The folds that suit a table: in the order of its times, by its groups, else at random."""
    assert data.y is not None
    if data.times is not None:
        return ordered_splits(data.times, data, folds=folds, classes=classes)
    if data.groups is not None:
        return grouped_splits(data.groups, data, folds=folds, repeats=repeats, seed=seed, classes=classes)
    return splits(data.y.size, folds=folds, repeats=repeats, seed=seed, classes=classes)


def repeats_of(data: Data, asked: int | None, default: int) -> int:
    """How often the folds are drawn: once where the time leaves no choice."""
    if data.times is not None:
        if asked is not None and asked > 1:
            raise ReportError(
                "Folds in the order of the time can be drawn in one way only; leave out --repeats."
            )
        return 1
    return default if asked is None else asked


def ordered_splits(
    times: NDArray, data: Data, *, folds: int, classes: NDArray | None = None
) -> list[FoldSplit]:
    """Folds that learn from the past alone; see `forward_splits`."""
    n_moments = len(np.unique(times))
    if n_moments < 2 * (folds + 1):
        raise ReportError(
            f"{folds} folds in the order of {data.time!r} need at least {2 * (folds + 1)} different times; "
            f"{data.name} has {n_moments}: use fewer with --folds."
        )
    parts = forward_splits(times, folds)
    for part in parts:
        _require_classes(classes, *part, data)
    return parts


def forward_splits(times: NDArray, folds: int) -> list[FoldSplit]:
    """Rows cut into folds + 1 stretches of time, each but the first predicted from those before it.

    Rows of one time stay together, and the last ones before a stretch (a hundredth of the rows, at least one
    time) are not learnt from: what is near in time is alike, and would be known too late to be used. There
    must be two different times for each stretch.
    """
    place = np.unique(times, return_inverse=True)[1]
    # Stretches of about equally many rows, which end where a time ends.
    passed = np.cumsum(np.bincount(place)) / len(times)
    stretch = np.minimum((passed * (folds + 1) - 1e-9).astype(int), folds)
    stretch = _filled(stretch, folds + 1)
    parts = []
    for number in range(1, folds + 1):
        begin = int(np.searchsorted(stretch, number))  # the first time that is predicted
        before = passed[:begin]
        gap = int(np.searchsorted(before, before[-1] - GAP))  # begins at the last time before, or earlier
        train = np.flatnonzero(place < max(gap, 1))
        test = np.flatnonzero(stretch[place] == number)
        parts.append(FoldSplit(train, test))
    return parts


def _filled(stretch: NDArray, count: int) -> NDArray:
    """Stretches of times, none of them empty: a time with very many rows may have swallowed some."""
    if len(np.unique(stretch)) == count:
        return stretch
    return np.minimum(np.arange(len(stretch)) * count // len(stretch), count - 1)


def grouped_splits(
    groups: NDArray,
    data: Data,
    *,
    folds: int,
    repeats: int = 1,
    seed: int = 0,
    classes: NDArray | None = None,
) -> list[FoldSplit]:
    """Folds that keep the rows of a group on one side, with about equal shares of rows and of every class."""
    n_groups = len(np.unique(groups))
    if n_groups < folds:
        raise ReportError(
            f"{folds} folds need at least {folds} groups; {data.group!r} has {n_groups}: use fewer with "
            "--folds."
        )
    parts = []
    for repeat in range(repeats):
        parts += group_splits(groups, folds, seed + repeat, classes)
    for part in parts:
        _require_classes(classes, *part, data)
    return parts


def group_splits(groups: NDArray, folds: int, seed: int, classes: NDArray | None = None) -> list[FoldSplit]:
    """Folds of whole groups, once, with about equal shares of rows and of every class."""
    labels = np.zeros(len(groups)) if classes is None else classes
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # a class of fewer rows than folds: those that lack it are judged later
        drawn = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        return [FoldSplit(train, test) for train, test in drawn.split(groups, labels, groups)]


def _require_classes(classes: NDArray | None, train: NDArray, test: NDArray, data: Data) -> None:
    """Refuse folds that would predict a class that they have not seen, or learn from one alone."""
    if classes is None:
        return
    seen = np.unique(classes[train])
    unseen = [str(label) for label in np.unique(classes[test]) if label not in seen]
    if unseen or len(seen) < 2:
        by = data.time if data.times is not None else data.group
        what = repr(unseen[0]) if unseen else "a second one"
        raise ReportError(
            f"Folds by {by!r} would have to predict a class of {data.target!r} that the rows they learn from "
            f"lack ({what}); use fewer with --folds, or leave that class out."
        )


def judged_rows(parts: Sequence[FoldSplit], n_rows: int) -> NDArray | None:
    """Rows that some fold predicts; None where all of them are."""
    seen = np.zeros(n_rows, dtype=bool)
    for part in parts:
        seen[part.test] = True
    return None if seen.all() else np.flatnonzero(seen)


def predicted_share(data: Data, parts: Sequence[FoldSplit], folds: int) -> float:
    """The share of rows that a split predicts: share / (1 − share) is their ratio to those learnt from."""
    if data.times is None and data.groups is None:
        return 1 / folds
    ratio = float(np.mean([len(part.test) / len(part.train) for part in parts]))
    return ratio / (1 + ratio)
