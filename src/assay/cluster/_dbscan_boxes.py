"""Compiled distances of rows and of boxes around them, for the passes of DBSCAN over cells."""

from __future__ import annotations

from assay.loops import compiled


@compiled
def least_between(lower, upper, a, b):  # type: ignore[no-untyped-def]
    """Least squared distance between the boxes of two nodes."""
    total = 0.0
    for f in range(lower.shape[1]):
        gap = max(lower[a, f] - upper[b, f], lower[b, f] - upper[a, f], 0.0)
        total += gap * gap
    return total


@compiled
def most_between(lower, upper, a, b):  # type: ignore[no-untyped-def]
    """Greatest squared distance between the boxes of two nodes."""
    total = 0.0
    for f in range(lower.shape[1]):
        reach = max(upper[a, f] - lower[b, f], upper[b, f] - lower[a, f])
        total += reach * reach
    return total


@compiled
def least_to(columns, i, lower, upper, b):  # type: ignore[no-untyped-def]
    """Least squared distance of a row to the box of a node."""
    total = 0.0
    for f in range(lower.shape[1]):
        gap = max(lower[b, f] - columns[f, i], columns[f, i] - upper[b, f], 0.0)
        total += gap * gap
    return total


@compiled
def squares_to(columns, i, start, stop, squares):  # type: ignore[no-untyped-def]
    """Squared distances of row i to the rows from start to stop."""
    value = columns[0, i]
    for j in range(start, stop):
        squares[j - start] = (columns[0, j] - value) ** 2
    for f in range(1, columns.shape[0]):
        value = columns[f, i]
        for j in range(start, stop):
            squares[j - start] += (columns[f, j] - value) ** 2


@compiled
def is_point(lower, upper, node):  # type: ignore[no-untyped-def]
    """Whether all rows of a node are the same."""
    width = 0.0
    for f in range(lower.shape[1]):
        width = max(width, upper[node, f] - lower[node, f])
    return width == 0.0
