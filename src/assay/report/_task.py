"""Which question a table asks: predict a number, or find groups."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, get_args

import numpy as np

from assay.report._errors import ReportError
from assay.report._tables import Data, RawTable, is_number, require_column, select

Task = Literal["regression", "clustering"]

FEW_VALUES = 10
"""An integer target with at most this many values is taken for classes."""


def choose_task(table: RawTable, *, target: str | None = None, task: str = "auto") -> tuple[Task, str | None]:
    """Choose the task and the target.

    Without target the task is clustering; with a numeric target of many values, regression.

    Parameters
    ----------
    table : RawTable
        The table as read.
    target : str, optional
        Column to predict; the one the table declares by default.
    task : {"auto", "regression", "clustering"}
        The task, or "auto" to choose it.

    Examples
    --------
    >>> from assay.report import choose_task, read_table
    >>> choose_task(read_table("diabetes"))
    ('regression', 'progression')
    >>> choose_task(read_table("us_arrests"))
    ('clustering', None)
    """
    if task not in ("auto", *get_args(Task)):
        raise ReportError(f"The task must be auto, regression or clustering. Got {task!r} instead.")
    if task == "clustering":
        if target is not None:
            raise ReportError(
                f"Clustering has no target; leave out --target, and --drop {target} if the groups "
                "shall not see it."
            )
        return "clustering", None
    target = target if target is not None else table.target
    if target is None:
        if task == "regression":
            raise ReportError("Regression needs a target; name its column with --target.")
        return "clustering", None
    require_column(table, target)
    if task == "auto":
        _refuse_classes(table, target)
    return "regression", target


def choose_data(
    table: RawTable, *, target: str | None = None, task: str = "auto", drop: tuple[str, ...] = ()
) -> tuple[Task, Data]:
    """Choose the task and give the columns it works on, checked."""
    if target is None and table.target in drop:
        table = replace(table, target=None)
    chosen, name = choose_task(table, target=target, task=task)
    # The classes that an embedded table declares are the answer, not a measure: clusters do not see them.
    aside = () if name is not None or table.target is None else (table.target,)
    return chosen, select(table, target=name, drop=drop, set_aside=aside)


def _refuse_classes(table: RawTable, target: str) -> None:
    column = table.frame[target]
    numeric = is_number(column) and column.dtype.kind != "b"
    values = column.dropna().unique()
    if len(values) == 0:  # the check of the numbers has the better sentence
        return
    if len(values) == 1:
        raise ReportError(
            f"The target {target!r} is {values[0]!s} in every row; there is nothing to predict."
        )
    if numeric and not (table.classes and target == table.target):
        finite = np.asarray(values, dtype=float)
        finite = finite[np.isfinite(finite)]
        if finite.size > FEW_VALUES or not np.all(finite == np.round(finite)):
            return
    way_out = " With --task regression its values are predicted as numbers." if numeric else ""
    raise ReportError(
        f"The target {target!r} names {len(values)} classes, and compare has no classifiers yet.{way_out}"
    )
