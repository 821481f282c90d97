"""Cells of rows: a binary tree of boxes that stops where rows are few or all the same."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled

CELL_ROWS = 16


class Cells(NamedTuple):
    """Nodes of the tree, the root first; a node without children is a cell.

    Attributes
    ----------
    order : array of int of shape (n_samples,)
        Rows in the order of the cells: a node holds `order[starts[node]:stops[node]]`.
    columns : array of shape (n_features, n_samples)
        Their coordinates in that order, one line a feature.
    mass : array of shape (n_samples,)
        Their weights in that order.
    starts, stops, left, right : arrays of int of shape (n_nodes,)
        Rows and children of each node; no children is −1.
    lower, upper : arrays of shape (n_nodes, n_features)
        Tight boxes.
    weights : array of shape (n_nodes,)
        Weight of the rows of each node.
    leaves : array of int of shape (n_cells,)
        The nodes that are cells, from left to right.
    """

    order: NDArray
    columns: NDArray
    mass: NDArray
    starts: NDArray
    stops: NDArray
    left: NDArray
    right: NDArray
    lower: NDArray
    upper: NDArray
    weights: NDArray
    leaves: NDArray


def make_cells(X: NDArray, mass: NDArray) -> Cells:
    """Halve the rows along the widest side of their box until they are few or all the same."""
    points = np.ascontiguousarray(X, dtype=np.float64)
    n_rows, n_features = points.shape
    order = np.arange(n_rows)
    # A node of more than CELL_ROWS rows is halved: no cell has fewer than half of that.
    n_nodes = 2 * (n_rows // (CELL_ROWS // 2) + 1)
    spans = np.full((n_nodes, 4), -1)
    lower, upper = np.empty((n_nodes, n_features)), np.empty((n_nodes, n_features))
    used = halve_rows(points, order, np.empty(n_rows), CELL_ROWS, spans, lower, upper)
    starts, stops, left, right = (np.ascontiguousarray(column) for column in spans[:used].T)
    before = np.concatenate([[0.0], np.cumsum(mass[order])])
    leaves = np.flatnonzero(left < 0)
    return Cells(
        order,
        np.ascontiguousarray(points[order].T),
        mass[order],
        starts,
        stops,
        left,
        right,
        lower[:used],
        upper[:used],
        before[stops] - before[starts],
        leaves[np.argsort(starts[leaves])],
    )


@compiled
def select(keys, order, start, stop, rank):  # type: ignore[no-untyped-def]
    """Move the keys, and the order with them, until the one of that rank parts the lower from the higher."""
    low, high = start, stop - 1
    while high > low:
        first, middle, last = keys[low], keys[(low + high) // 2], keys[high]
        pivot = max(min(first, middle), min(max(first, middle), last))
        i, j = low, high
        while i <= j:
            while keys[i] < pivot:
                i += 1
            while keys[j] > pivot:
                j -= 1
            if i <= j:
                keys[i], keys[j] = keys[j], keys[i]
                order[i], order[j] = order[j], order[i]
                i += 1
                j -= 1
        if rank <= j:
            high = j
        elif rank >= i:
            low = i
        else:
            return


@compiled
def halve_rows(points, order, keys, cell_rows, spans, lower, upper):  # type: ignore[no-untyped-def]
    """Write start, stop and both children of each node into `spans`, its box beside; returns their number."""
    n_features = points.shape[1]
    waiting = np.empty(128, dtype=np.int64)
    spans[0, 0], spans[0, 1] = 0, points.shape[0]
    waiting[0] = 0
    n_waiting, used = 1, 1
    while n_waiting > 0:
        n_waiting -= 1
        node = waiting[n_waiting]
        start, stop = spans[node, 0], spans[node, 1]
        for f in range(n_features):
            lower[node, f] = upper[node, f] = points[order[start], f]
        for position in range(start + 1, stop):
            row = order[position]
            for f in range(n_features):
                lower[node, f] = min(lower[node, f], points[row, f])
                upper[node, f] = max(upper[node, f], points[row, f])
        widest, width = 0, 0.0
        for f in range(n_features):
            side = upper[node, f] - lower[node, f]
            if side > width:
                widest, width = f, side
        if stop - start <= cell_rows or width == 0.0:
            continue
        for position in range(start, stop):
            keys[position] = points[order[position], widest]
        middle = (start + stop) // 2
        select(keys, order, start, stop, middle)
        spans[node, 2], spans[node, 3] = used, used + 1
        spans[used, 0], spans[used, 1] = start, middle
        spans[used + 1, 0], spans[used + 1, 1] = middle, stop
        waiting[n_waiting], waiting[n_waiting + 1] = used + 1, used
        n_waiting += 2
        used += 2
    return used
