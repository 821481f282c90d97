"""How well kernel ridge regression predicts at each of some widths and penalties."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.models.selection import Criterion, FoldTable, validation_curve

FIRST_ROWS, KEPT_WIDTHS = 500, 2
"""Rows that tell which widths are worth an eigendecomposition of all, and how many are kept."""


def search_widths(machines: list[Any], X: Any, y: NDArray, strengths: NDArray) -> NDArray:
    """Leave-one-out errors of the machines, NaN for those whose width loses on a part of many rows."""
    if len(y) <= FIRST_ROWS or len(machines) <= KEPT_WIDTHS or any(item._is_precomputed for item in machines):
        return leave_one_out_table(machines, X, y, strengths)
    first = leave_one_out_table(machines, X[:FIRST_ROWS], y[:FIRST_ROWS], strengths)
    kept = np.sort(np.argsort(first.min(axis=1), kind="stable")[:KEPT_WIDTHS])
    errors = np.full(first.shape, np.nan)
    errors[kept] = leave_one_out_table([machines[place] for place in kept], X, y, strengths)
    return errors


def fold_widths(
    machines: list[Any], table: FoldTable, strengths: NDArray, pairs: Any, criterion: Criterion | None
) -> NDArray:
    """Validation losses of every machine at every penalty on the mean of squares."""
    alphas = strengths * len(table.y)
    return np.array([validation_curve(item, table, alphas, pairs, criterion).mean for item in machines])


def within(pairs: Any, shown: NDArray) -> list[tuple[NDArray, NDArray]]:
    """The rows of folds that are among those shown."""
    kept = [(np.intersect1d(train, shown), np.intersect1d(test, shown)) for train, test in pairs]
    return [(train, test) for train, test in kept if len(train) and len(test)]


def leave_one_out_table(machines: list[Any], X: Any, y: NDArray, strengths: NDArray) -> NDArray:
    """Leave-one-out errors of every machine (one per width) at every penalty on the mean of squares."""
    rows = [machine.path(X, y, alphas=strengths * len(y)).leave_one_out_error for machine in machines]
    errors = np.array(rows, dtype=np.float64)
    return np.where(np.isnan(errors), np.inf, errors)
