"""What makes a score too good to be true: columns that know the target, times and groups that folds mix."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.tables.checks.associations import (
    Association,
    as_codes,
    correlation_ratio,
    leaking,
    of_leaks,
    sample,
)
from assay.report.tables.checks.pairs import DecidingPair, deciding_column, deciding_gap, deciding_pair
from assay.report.tables.checks.relations import Relation, numbers_of, together
from assay.report.tables.data import Data, Task
from assay.report.tables.encoding.cells import days_of, finite
from assay.report.tables.schema import Column
from assay.report.wording import capital, quoted, short, signed

YEAR_NAME = re.compile(r"(^|[_\W])(year|yr|jahr|annee|année|año|anno)$", re.IGNORECASE)
GROUP_NAME = re.compile(
    r"(^|[_\W])(id|subject|patient|person|user|customer|client|household|participant|animal|player|student)"
    r"s?([_\W]?(id|no|nr|num|number|code|name))?$",
    re.IGNORECASE,
)
"""Names of columns whose values name someone, who may have several rows."""

BIRTH_NAME = re.compile(r"birth|born|dob|naissance|geburt|nacimiento|nascita", re.IGNORECASE)
"""Names of dates that tell an age, not when a row was observed."""

FEWEST_TIMES = 20
ALIKE = 0.2
"""Neighbours in time, and rows of one group, with a greater correlation than this are said to be alike."""

MOST_NAMED = 3


def alarms(data: Data, task: Task, known: Sequence[Association] | None = None) -> tuple[str, ...]:
    """Sentences on what may make every score of a prediction too good; empty where nothing speaks for it.

    `known` are the columns that give the target away by themselves, where these have been looked for.

    Examples
    --------
    >>> casual, registered = np.random.default_rng(0).gamma(2.0, 50.0, (2, 80)).round()
    >>> frame = pd.DataFrame({"casual": casual, "registered": registered})
    >>> print(*alarms(Data.from_frame(frame, casual + registered, target="count"), "regression"))
    count is casual + registered: together they give it away; unless they are known beforehand, --drop them.
    """
    if data.y is None:
        return ()
    followed, mixed = followed_time(data), mixed_groups(data)
    # A time that the target follows, and names of groups, are told as such: to drop them would not help.
    otherwise = {item.name for item in (followed, mixed) if item is not None}
    single = leaking(data, task) if known is None else known
    alone = [item for item in single if item.name not in otherwise]
    relation = None
    if task == "regression":
        relation = together(numbers_of(data.X, data.columns, data.y), str(data.target))
    if relation is not None and alone and not relation.formula:
        relation = None  # a single one is enough
    several: tuple[str, ...] = () if relation is None else (_told(relation, data),)
    if task == "classification" and not alone:
        several = _deciding(data)
    in_time = () if followed is None else (_of_time(data, followed),)
    by_groups = () if mixed is None else (_of_groups(data, mixed),)
    return (*of_leaks(data, alone), *several, *in_time, *by_groups)


def _told(relation: Relation, data: Data) -> str:
    target, names = short(str(data.target)), [short(name) for name, _ in relation.terms]
    if relation.formula:
        few = relation.n_otherwise
        but = f" in all but {few} row{'s' * (few > 1)}" if few else ""
        them = f"{target} is {relation.formula}{but}: together they give it away"
    else:
        more = len(names) - MOST_NAMED
        listed = ", ".join(map(repr, names[: MOST_NAMED if more > 0 else -1]))
        last = f"{more} more" if more > 0 else repr(names[-1])
        law = "a product of powers" if relation.product else "a sum of multiples"
        them = f"{listed} and {last} together give {target} away: it is nearly {law} of them"
    return f"{them}; unless they are known beforehand, --drop them."


def _deciding(data: Data) -> tuple[str, ...]:
    """A sentence on a column whose gaps or ranges are the classes, else on two that decide them."""
    if (gap := deciding_gap(data)) is not None:
        what = f"whether {short(gap)!r} is missing decides {short(str(data.target))} in every row"
        return (f"{capital(what)}: it gives it away; unless it is known beforehand, --drop it.",)
    if (column := deciding_column(data)) is not None:
        told = column._replace(name=short(column.name)).told(short(str(data.target)))
        return (f"{capital(told)}: it gives it away; unless it is known beforehand, --drop it.",)
    return () if (pair := deciding_pair(data)) is None else (_decided(pair, data),)


def _decided(pair: DecidingPair, data: Data) -> str:
    names = short(pair.names[0]), short(pair.names[1])
    told = pair._replace(names=names).told(short(str(data.target)))
    return f"{capital(told)}: together they give it away; unless they are known beforehand, --drop them."


class Followed(NamedTuple):
    """A time that the target follows, and how alike its neighbours are."""

    name: str
    likeness: float


def followed_time(data: Data) -> Followed | None:
    """The first column of times that the target follows while the folds are drawn from all times alike."""
    if data.time is not None:
        return None
    frame, y = sample(data)
    assert y is not None
    for column in data.columns:
        moments = moments_of(frame[column.name], column) if column.name in frame else None
        if moments is not None and (likeness := likeness_in_time(moments, y)) > ALIKE:
            return Followed(column.name, likeness)
    return None


def _of_time(data: Data, followed: Followed) -> str:
    return (
        f"Rows that are near in {short(followed.name)!r} have similar {short(str(data.target))} (correlation "
        f"of neighbours {signed(followed.likeness)}), and shuffled folds let a model learn from the future "
        f"of the rows it predicts: if it will predict later rows, use --time {quoted(followed.name)}."
    )


def moments_of(values: pd.Series[Any], column: Column) -> NDArray | None:
    """The times of a column of dates, in days, or of years; None for any other column and for births."""
    if column.kind == "date" and not BIRTH_NAME.search(column.name):
        return days_of(values, day_first=column.day_first)
    if column.kind == "numeric" and YEAR_NAME.search(column.name):
        years = finite(values)
        known = years[~np.isnan(years)]
        if known.size and ((known >= 1500) & (known <= 2500) & (known == np.round(known))).all():
            return years
    return None


def likeness_in_time(moments: NDArray, y: NDArray) -> float:
    """Correlation between the target and that of the time before, 0 where chance may explain it.

    Rows of the same time are averaged first; classes are looked at one by one, and the likest counts.

    Examples
    --------
    >>> days, noise = np.arange(200.0), np.random.default_rng(0).normal(size=200)
    >>> likeness_in_time(days, noise), bool(likeness_in_time(days, np.cumsum(noise)) > 0.9)
    (0.0, True)
    """
    known = ~np.isnan(moments)
    times, place = np.unique(moments[known], return_inverse=True)
    if len(times) < FEWEST_TIMES:
        return 0.0
    counts, strengths = np.bincount(place), []
    targets = _indicators(y[known])
    for target in targets:
        means = np.bincount(place, weights=target) / counts
        if np.ptp(means) > 0:
            strengths.append(float(np.corrcoef(means[1:], means[:-1])[0, 1]))
    # Of so many classes, one may look alike by chance: the bound is that of all of them together.
    chance = np.sqrt(2 * np.log(2 * len(targets) / 0.001) / len(times))
    strongest = max(strengths, default=0.0)
    return strongest if strongest > chance else 0.0


def _indicators(y: NDArray) -> list[NDArray]:
    """A number target as it is; one mark per class for the five commonest classes."""
    if y.dtype.kind == "f":
        size = float(np.abs(y).max(initial=0.0)) or 1.0
        return [y / size]
    labels, counts = np.unique(y, return_counts=True)
    return [(y == label).astype(np.float64) for label in labels[np.argsort(-counts)[:5]]]


class Mixed(NamedTuple):
    """A column that names groups of rows, which shuffled folds put on both sides."""

    name: str
    n_groups: int


def mixed_groups(data: Data) -> Mixed | None:
    """The first column that names someone with several rows, whose targets are alike."""
    if data.group is not None:
        return None
    frame, y = sample(data)
    assert y is not None
    for column in data.columns:
        if not GROUP_NAME.search(column.name) or column.name not in frame:
            continue
        codes = as_codes(frame[column.name])
        n_groups = int(codes.max(initial=-1)) + 1
        if not FEWEST_TIMES <= n_groups <= len(codes) / 2:
            continue
        if max(correlation_ratio(target, codes) ** 2 for target in _indicators(y)) > ALIKE:
            return Mixed(column.name, n_groups)
    return None


def _of_groups(data: Data, mixed: Mixed) -> str:
    return (
        f"Rows with the same {short(mixed.name)!r} have similar {short(str(data.target))}, and shuffled "
        "folds put some of them on both sides: if the model will predict others than these "
        f"{mixed.n_groups}, use --group {quoted(mixed.name)}."
    )
