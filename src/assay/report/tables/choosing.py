"""From a table as read to one ready for learning: task and target chosen, what cannot serve left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.report.errors import ReportError
from assay.report.tables.checks.doubles import as_codes, n_repeating
from assay.report.tables.checks.doubts import doubts
from assay.report.tables.data import SAMPLE_ROWS, TASKS, Data, Task, sampled
from assay.report.tables.dates import dates, day_order
from assay.report.tables.encoding.cells import days_of, finite
from assay.report.tables.encoding.marks import MAX_LEVELS, n_marked_levels
from assay.report.tables.files.reading import RawTable, require_column
from assay.report.tables.schema import (
    NUMBERS_ROWS,
    Column,
    describe_column,
    describe_columns,
    left_out,
    truth,
    without_missing,
)
from assay.report.wording import listed, quoted

FEW_VALUES = 10
"""An integer target with at most this many values is taken for classes."""

MAX_CLASSES = 100


def choose_task(table: RawTable, *, target: str | None = None, task: str = "auto") -> tuple[Task, str | None]:
    """Choose the task and the target.

    Without target the task is clustering; a target of words, truth values or few whole numbers asks for
    classes, any other of numbers for a regression.

    Parameters
    ----------
    table : RawTable
        The table as read.
    target : str, optional
        Column to predict; the one the table declares by default.
    task : {"auto", "regression", "classification", "clustering"}
        The task, or "auto" to choose it.

    Examples
    --------
    >>> from assay.report import choose_task, read_table
    >>> choose_task(read_table("diabetes"))
    ('regression', 'progression')
    >>> choose_task(read_table("iris"))
    ('classification', 'species')
    >>> choose_task(read_table("us_arrests"))
    ('clustering', None)
    """
    if task not in ("auto", *TASKS):
        raise ReportError(f"The task must be auto, {', '.join(TASKS)}. Got {task!r} instead.")
    if task == "clustering":
        if target is not None:
            raise ReportError(
                f"Clustering has no target; leave out --target, and --drop {target} if the groups "
                "shall not see it."
            )
        return "clustering", None
    target = target if target is not None else table.target
    if target is None:
        if task != "auto":
            raise ReportError(f"{task.capitalize()} needs a target; name its column with --target.")
        return "clustering", None
    # From here on there is a target, which decides unless the user does.
    require_column(table, target)
    if task == "auto":
        task = _task_of(table, target)
    return ("regression" if task == "regression" else "classification"), target


def choose_data(
    table: RawTable,
    *,
    target: str | None = None,
    task: str = "auto",
    drop: Sequence[str] = (),
    time: str | None = None,
    group: str | None = None,
    keep_rare: bool = False,
) -> Data:
    """Choose the task and give the columns it works on, checked.

    Parameters
    ----------
    table : RawTable
    target, task
        As in `choose_task`.
    drop : sequence of str
        Columns that the user sets aside; each must be there.
    time : str, optional
        Column of dates or numbers by which later rows are predicted from earlier ones.
    group : str, optional
        Column whose values name groups of rows, each predicted from the others; it is not learnt from.
    keep_rare : bool, default=False
        Whether a class of one row only is refused; it is set aside by default.
    """
    read = [name for name in drop if name not in table.unread]
    for name in (*read, *filter(None, (time, group))):
        require_column(table, name)
    if target in drop:
        raise ReportError(f"Column {target!r} is both the target and dropped; leave out one of the two.")
    declared = None if target is None and table.target in drop else table.target
    chosen, target = choose_task(replace(table, target=declared), target=target, task=task)
    kept, y, classes = np.ones(len(table.frame), dtype=bool), None, None
    notes = [*table.notes, *([f"Left out by request: {', '.join(drop)}."] if drop else [])]
    if target is not None:
        kept, y, classes, decided = open_target(table, target, chosen, keep_rare=keep_rare)
        notes += decided
    order = _order(table, chosen, target, time, group)
    # From here on only the rows with a target and a time are kept.
    if order.times is not None and np.isnan(order.times[kept]).any():
        lacking = kept & np.isnan(order.times)
        notes.append(f"{lacking.sum():,} rows have no value of {time!r}, the time: left out.")
        y = None if y is None else y[~np.isnan(order.times[kept])]
        kept &= ~lacking
    # The classes that an embedded table declares are the answer, not a measure: clusters do not see them.
    unlearnt = dict.fromkeys([*read, *filter(None, (target or declared, group))])
    whole = table.frame if kept.all() else table.frame.loc[kept].reset_index(drop=True)
    frame, columns, decided = _described(table, whole.drop(columns=[*unlearnt]), chosen)
    return Data(
        table.name,
        frame[[column.name for column in columns if column.learnable]],
        columns,
        y,
        target,
        classes,
        None if table.row_names is None else tuple(np.array(table.row_names, dtype=object)[kept]),
        description=table.description,
        source=table.source,
        notes=(*doubts(frame, columns, y, target), *notes, *decided),  # first what a terminal must show
        dropped=tuple(drop),
        time=time,
        group=group,
        times=None if order.times is None else order.times[kept],
        groups=None if order.groups is None else order.groups[kept],
        reading=table.reading,
        n_repeating=_n_repeating(whole, table.row_names),
        aside=whole[[*dict.fromkeys(read)]] if read else None,
    )


def _described(
    table: RawTable, frame: pd.DataFrame, task: Task
) -> tuple[pd.DataFrame, tuple[Column, ...], list[str]]:
    """What the columns are, their dates read, and what was decided; refuses a table without any to learn."""
    reading = table.reading
    columns = tuple(
        replace(
            column,
            missing=tuple(table.missing.get(column.name, ())),
            unit=table.units.get(column.name, ""),
            decimal=table.decimals.get(column.name, ""),
        )
        for column in describe_columns(frame, categorical=reading.categorical, numeric=reading.numeric)
    )
    notes = [*left_out(columns), *_few_marks(task, len(frame), columns)]
    if all(not column.learnable for column in columns):
        counting = [column.name for column in columns if column.reason == NUMBERS_ROWS]
        way = [f"--numeric {quoted(name)} takes it for numbers." for name in counting[:1]]
        raise ReportError(" ".join([f"No column of {table.name} is left to learn from.", *notes, *way]))
    for column in columns:
        if column.kind == "date":
            notes += _of_days(column.name, frame[column.name])
        if column.day_first:  # read as dates here, once: a text does not tell the day from the month
            frame = frame.assign(**{column.name: dates(frame[column.name], day_first=True)})
    return frame, columns, notes


def _of_days(name: str, values: pd.Series) -> list[str]:
    """A sentence on which of day and month comes first in a column of dates, where a reader may err."""
    order = day_order(values)
    if order.day_first:
        return [f"The dates of {name!r} were read with the day before the month."]
    if order.both is not None:
        day, month = order.both
        return [
            f"The dates of {name!r} begin with the day ({day}) and with the month ({month}): what can be "
            "read both ways was read with the month first; write the year first, as in 2024-12-31."
        ]
    if order.either:
        return [
            f"The dates of {name!r} may begin with the day or the month ({order.either}): they were read "
            "with the month first; if that is wrong, write the year first, as in 2024-12-31."
        ]
    return []


def _few_marks(task: Task, n_rows: int, columns: tuple[Column, ...]) -> list[str]:
    """A sentence where there are so many columns of words that fewer levels than usual are told apart."""
    used = [column for column in columns if column.learnable]
    most = n_marked_levels(n_rows, used, distances=task == "clustering")
    concerned = sum(column.kind == "categorical" and len(column.levels) > most for column in used)
    if most == MAX_LEVELS or not concerned:
        return []
    methods = "Distances between rows" if task == "clustering" else "Methods other than trees"
    return [
        f"{methods} tell only the {most} most frequent values of each of {concerned:,} "
        "columns of words apart, as more would take too long; --drop the columns that cannot matter."
    ]


class Order(NamedTuple):
    """When the rows were, and which group they belong to; None where nobody asks."""

    times: NDArray | None
    groups: NDArray | None


def _order(table: RawTable, task: Task, target: str | None, time: str | None, group: str | None) -> Order:
    """The values of the columns that the folds go by."""
    for option, name in (("time", time), ("group", group)):
        if name is not None and (task == "clustering" or name == target):
            why = (
                "is the target"
                if name == target
                else "is for predictions; name what to predict with --target"
            )
            raise ReportError(f"The column {name!r} of --{option} {why}.")
    if time is not None and group is not None:
        raise ReportError("Folds go by a time or by groups, not both; leave out --time or --group.")
    times = groups = None
    if time is not None:
        column = describe_column(table.frame[time])
        if column.kind == "date":
            times = days_of(table.frame[time], day_first=column.day_first)
        elif pd.api.types.is_numeric_dtype(table.frame[time].dtype):
            times = finite(table.frame[time])
        else:
            first = str(next(iter(without_missing(table.frame[time])), "nothing"))
            raise ReportError(f"The time {time!r} must hold dates or numbers. Got {first!r} instead.")
    if group is not None:
        groups = as_codes(table.frame[group])
        alone = groups < 0  # a row without a group is one of its own
        groups = np.where(alone, len(groups) + np.arange(len(groups)), groups)
    return Order(times, groups)


def _n_repeating(frame: pd.DataFrame, row_names: Sequence[str] | None) -> int:
    """Rows that repeat an earlier one in every column, of all rows or of those that are looked at."""
    if row_names is not None and len(set(row_names)) == len(row_names):
        return 0
    return n_repeating(frame if len(frame) <= SAMPLE_ROWS else frame.iloc[sampled(len(frame))])


def _task_of(table: RawTable, target: str) -> Task:
    column = describe_column(table.frame[target])
    if column.kind in ("categorical", "boolean", "ordinal"):
        return "classification"
    if column.kind == "identifier" and not pd.api.types.is_numeric_dtype(table.frame[target].dtype):
        return "classification"  # refused as below
    if column.kind not in ("numeric", "identifier"):
        return "regression"  # refused with the better sentence when the target is opened
    if table.classes is not None and target == table.target:
        return "classification"
    values = np.unique(without_missing(table.frame[target]).to_numpy(dtype=np.float64))
    few = values.size <= FEW_VALUES and bool(np.all(values == np.round(values)))
    return "classification" if few else "regression"


def open_target(
    table: RawTable, name: str, task: Task, *, keep_rare: bool = False
) -> tuple[NDArray, NDArray, tuple[str, ...] | None, list[str]]:
    """Part the target from a table: floats for a regression, labels for a classification.

    Gives the rows that have one, their targets, the names of the classes, and what was decided. A class of
    one row can be learnt or judged, not both: it is set aside, or refused where it is to be kept.
    """
    column, values = describe_column(table.frame[name]), table.frame[name]
    notes: list[str] = []
    if column.kind == "empty":
        raise ReportError(f"The target {name!r} has no value in any row.")
    if column.kind == "constant":
        only = without_missing(values).iloc[0]
        raise ReportError(f"The target {name!r} is {only!s} in every row; there is nothing to predict.")
    if column.kind in ("date", "text"):
        what = "dates: name a number of days" if column.kind == "date" else "prose: name another column"
        raise ReportError(f"The target {name!r} must hold numbers or classes; it holds {what} with --target.")
    kept = values.index.isin(without_missing(values).index)
    if column.n_missing:
        rows = "row has" if column.n_missing == 1 else "rows have"
        endless = pd.api.types.is_float_dtype(values.dtype) and bool(np.isinf(values.dropna()).any())
        what = "no finite value" if endless else "no value"
        notes.append(f"{column.n_missing:,} {rows} {what} of {name!r}: left out.")
    present = values[kept]
    if task == "regression":
        if column.kind == "boolean":
            present = truth(present)
        if not pd.api.types.is_numeric_dtype(present.dtype):
            only = str(present.iloc[0])
            raise ReportError(f"The target {name!r} must hold numbers for a regression; it holds {only!r}.")
        return kept, present.to_numpy(dtype=np.float64), None, notes
    if column.kind == "identifier" and not pd.api.types.is_numeric_dtype(present.dtype):
        raise ReportError(
            f"The target {name!r} names the rows: nearly every value differs, and no model can learn it; "
            "name another column with --target."
        )
    y, names = _labels(table, present, column, name, notes)
    repeated, names = _repeated_classes(y, names, name, notes, keep_rare=keep_rare)
    kept[np.flatnonzero(kept)[~repeated]] = False
    return kept, y[repeated], names, notes


def _repeated_classes(
    y: NDArray, names: tuple[str, ...], target: str, notes: list[str], *, keep_rare: bool
) -> tuple[NDArray, tuple[str, ...]]:
    """The rows whose class has another row, and the names of such classes; others are noted or refused."""
    labels, counts = np.unique(y, return_counts=True)
    single = [known for known, count in zip(names, counts, strict=True) if count < 2]
    if not single:
        return np.ones(len(y), dtype=bool), names
    if keep_rare or (counts > 1).sum() < 2:
        subject = "class {} of {!r} has" if len(single) == 1 else "classes {} of {!r} have"
        raise ReportError(
            f"The {subject.format(listed(single, 3), target)} one row only; every class needs two or more: "
            f"leave {'out --keep-rare' if keep_rare else 'such rows out'}, or join classes."
        )
    notes.append(
        f"{'The class' if len(single) == 1 else 'The classes'} {listed(single, 3)} of {target!r} with one "
        "row only: set aside, as a row cannot be learnt from and predicted; --keep-rare refuses instead."
    )
    often = counts > 1
    return np.isin(y, labels[often]), tuple(np.array(names, dtype=object)[often])


def _labels(
    table: RawTable, values: pd.Series, column: Column, name: str, notes: list[str]
) -> tuple[NDArray, tuple[str, ...]]:
    if column.n_distinct > MAX_CLASSES:
        raise ReportError(
            f"The target {name!r} has {column.n_distinct} different values, too many for classes (at most "
            f"{MAX_CLASSES}); with --task regression numbers are predicted as numbers."
        )
    if pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype):
        numbers = values.to_numpy(dtype=np.float64)
        whole = np.array_equal(numbers, np.round(numbers)) and np.abs(numbers).max() < 2**53
        y = numbers.astype(np.int64) if whole else numbers
        declared = table.classes is not None and name == table.target
        if not declared:
            notes.append(
                f"The {column.n_distinct} values of {name!r} were taken for classes; --task regression "
                "predicts them as numbers."
            )
        known = table.classes if declared else None
        labels = np.unique(y)
        names = tuple(known[label] if known else f"{label:g}" for label in labels)
    else:
        y = np.array([str(value).strip() for value in values])
        names = tuple(str(label) for label in np.unique(y))
    return y, names
