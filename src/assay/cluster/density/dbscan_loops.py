"""Compiled passes of DBSCAN over cells (see `dbscan_solver`): core rows, unions, border rows.

A pair is near when the sum of its squared differences, in float64, is at most `limit`, the squared radius.
Boxes decide with a margin of ROOM on the safe side, so that every pair in doubt is measured itself. `cells`
is the `Cells` of the solver: passes name what they read of it.
"""

from __future__ import annotations

import numpy as np

from assay.distances.spanning import find_root
from assay.loops import compiled, inner

# Compiled distances of rows and of boxes around them, for the passes of DBSCAN over cells.


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


@inner
def is_point(lower, upper, node):  # type: ignore[no-untyped-def]
    """Whether all rows of a node are the same."""
    width = 0.0
    for f in range(lower.shape[1]):
        width = max(width, upper[node, f] - lower[node, f])
    return width == 0.0


ROOM = 1e-12
DEPTH = 128  # of the stack of a walk: more than the depth of a tree of 2^63 rows
CHUNK = 64  # rows measured at once; more than a cell of different rows holds


@compiled
def unite(parent, i, j):  # type: ignore[no-untyped-def]
    """Join the sets of i and j under the lower of their roots."""
    i, j = find_root(parent, i), find_root(parent, j)
    if i < j:
        parent[j] = i
    elif j < i:
        parent[i] = j


@inner
def near_cells(leaf, cells, limit, enough, listed):  # type: ignore[no-untyped-def]
    """Cells that may hold neighbours of a cell, nearest first, itself before all.

    Nodes that are near as a whole are not listed: their weight is returned. The list ends when that weight
    is `enough`. Returns the number of cells listed and the weight.
    """
    left, right, lower, upper, starts = cells.left, cells.right, cells.lower, cells.upper, cells.starts
    stack = np.empty(DEPTH, dtype=np.int64)
    stack[0] = 0
    n_stack, n_listed, sure = 1, 0, 0.0
    while n_stack > 0 and sure < enough:
        n_stack -= 1
        node = stack[n_stack]
        if most_between(lower, upper, leaf, node) <= limit * (1.0 - ROOM):
            sure += cells.weights[node]
            continue
        if left[node] < 0:
            listed[n_listed] = node
            n_listed += 1
            continue
        a, b = left[node], right[node]
        to_a, to_b = least_between(lower, upper, leaf, a), least_between(lower, upper, leaf, b)
        # Of two boxes that touch the cell, the one that holds it comes first.
        if to_b < to_a or (to_b == to_a and starts[b] <= starts[leaf]):
            a, b, to_a, to_b = b, a, to_b, to_a
        if to_b <= limit * (1.0 + ROOM):
            stack[n_stack] = b
            n_stack += 1
        if to_a <= limit * (1.0 + ROOM):
            stack[n_stack] = a
            n_stack += 1
    return n_listed, sure


@inner
def weight_near(columns, mass, i, start, stop, limit, squares):  # type: ignore[no-untyped-def]
    """Weight of the rows from start to stop that are near row i."""
    total = 0.0
    for begin in range(start, stop, CHUNK):
        end = min(begin + CHUNK, stop)
        squares_to(columns, i, begin, end, squares)
        for j in range(begin, end):
            total += mass[j] if squares[j - begin] <= limit else 0.0
    return total


@compiled
def mark_core(cells, leaves, limit, enough, core):  # type: ignore[no-untyped-def]
    """Mark the rows of some cells that have a weight of `enough` within the radius; counting stops there.

    Rows of weight 0 are absent: they are not core.
    """
    columns, mass, starts, stops = cells.columns, cells.mass, cells.starts, cells.stops
    lower, upper = cells.lower, cells.upper
    listed = np.empty(starts.shape[0], dtype=np.int64)
    squares = np.empty(CHUNK)
    for leaf in leaves:
        n_listed, sure = near_cells(leaf, cells, limit, enough, listed)
        alike = is_point(lower, upper, leaf)
        reached = sure >= enough
        for i in range(starts[leaf], stops[leaf]):
            if sure < enough and not (alike and i > starts[leaf]):
                total = sure
                for c in range(n_listed):
                    if total >= enough:
                        break
                    cell = listed[c]
                    if least_to(columns, i, lower, upper, cell) <= limit * (1.0 + ROOM):
                        total += weight_near(columns, mass, i, starts[cell], stops[cell], limit, squares)
                reached = total >= enough
            core[i] = reached and mass[i] > 0.0


@compiled
def core_spans(cells, core, spans):  # type: ignore[no-untyped-def]
    """First core row of each node (−1 without any), and where to stop looking for more: children come later.

    Of a cell whose rows are all the same, the first core row stands for all.
    """
    starts, stops, left, right = cells.starts, cells.stops, cells.left, cells.right
    for node in range(starts.shape[0] - 1, -1, -1):
        spans[node, 0], spans[node, 1] = -1, -1
        if left[node] >= 0:
            first = spans[left[node], 0]
            spans[node, 0] = first if first >= 0 else spans[right[node], 0]
            spans[node, 1] = stops[node]
            continue
        for i in range(starts[node], stops[node]):
            if core[i]:
                spans[node, 0] = i
                spans[node, 1] = i + 1 if is_point(cells.lower, cells.upper, node) else stops[node]
                break


@compiled
def unite_small_nodes(cells, inside, limit, core, parent, single):  # type: ignore[no-untyped-def]
    """Join the core rows of nodes `inside` whose diameter is at most the radius; such a node is `single`."""
    starts, stops, left, right = cells.starts, cells.stops, cells.left, cells.right
    for node in range(starts.shape[0]):  # parents come before their children
        if (
            inside[node]
            and not single[node]
            and most_between(cells.lower, cells.upper, node, node) <= limit * (1.0 - ROOM)
        ):
            single[node] = True
            first = -1
            for i in range(starts[node], stops[node]):
                if core[i]:
                    first = i if first < 0 else first
                    parent[i] = first
        if single[node] and left[node] >= 0:
            single[left[node]] = single[right[node]] = True


@inner
def is_joined(left, right, node, core, spans, parent, single):  # type: ignore[no-untyped-def]
    """Whether the core rows of a node are known to be in one set; the answer is kept in `single`."""
    if single[node]:
        return True
    first, stop = spans[node]
    if left[node] >= 0:
        a, b = left[node], right[node]
        joined = single[a] and single[b]
        if joined and spans[a, 0] >= 0 and spans[b, 0] >= 0:
            joined = find_root(parent, spans[a, 0]) == find_root(parent, spans[b, 0])
    else:
        joined = True
        for i in range(first, stop):
            if core[i] and find_root(parent, i) != find_root(parent, first):
                joined = False
                break
    single[node] = joined
    return joined


@compiled
def unite_within(columns, leaves, limit, core, spans, parent):  # type: ignore[no-untyped-def]
    """Join near core rows inside each of some cells."""
    squares = np.empty(CHUNK)
    for leaf in leaves:
        first, stop = spans[leaf]
        for i in range(first, stop):
            if first >= 0 and core[i]:
                squares_to(columns, i, i + 1, stop, squares)
                for j in range(i + 1, stop):
                    if core[j] and squares[j - i - 1] <= limit:
                        unite(parent, i, j)


@inner
def unite_cells(columns, a, b, limit, core, spans, both_single, parent, squares):  # type: ignore[no-untyped-def]
    """Join near core rows of two cells; of two single ones, the first near pair is enough."""
    first, stop = spans[b]
    for i in range(spans[a, 0], spans[a, 1]):
        if core[i]:
            squares_to(columns, i, first, stop, squares)
            for j in range(first, stop):
                if core[j] and squares[j - first] <= limit:
                    unite(parent, i, j)
                    if both_single:
                        return


@compiled
def unite_between(cells, leaves, begin, end, limit, core, spans, single, parent):  # type: ignore[no-untyped-def]
    """Join near core rows of some cells and of those to the right of them, from row begin to row end.

    `single` is written for nodes between the first of the cells and `end`, and for no others.
    """
    starts, stops, left, right = cells.starts, cells.stops, cells.left, cells.right
    stack = np.empty(DEPTH, dtype=np.int64)
    squares = np.empty(CHUNK)
    for leaf in leaves:
        if spans[leaf, 0] < 0:
            continue
        after = max(begin, stops[leaf])
        stack[0] = 0
        n_stack = 1
        while n_stack > 0:
            n_stack -= 1
            node = stack[n_stack]
            if stops[node] <= after or starts[node] >= end or spans[node, 0] < 0:
                continue
            whole = starts[node] >= starts[leaves[0]] and stops[node] <= end
            both_single = (
                whole
                and is_joined(left, right, node, core, spans, parent, single)
                and is_joined(left, right, leaf, core, spans, parent, single)
            )
            if both_single and find_root(parent, spans[leaf, 0]) == find_root(parent, spans[node, 0]):
                continue
            if least_between(cells.lower, cells.upper, leaf, node) > limit * (1.0 + ROOM):
                continue
            if left[node] >= 0:
                stack[n_stack], stack[n_stack + 1] = right[node], left[node]
                n_stack += 2
            else:
                unite_cells(cells.columns, leaf, node, limit, core, spans, both_single, parent, squares)


@compiled
def merge_unions(parent, other):  # type: ignore[no-untyped-def]
    """Join in `parent` what is joined in `other`."""
    for i in range(other.shape[0]):
        if other[i] != i:
            unite(parent, i, other[i])


@compiled
def number_clusters(parent, core, place, labels):  # type: ignore[no-untyped-def]
    """Labels of core rows, numbered by their first rows; `place` is where each row stands in `parent`."""
    number = np.full(parent.shape[0], -1, dtype=np.int32)
    n_clusters = 0
    for row in range(place.shape[0]):
        i = place[row]
        if core[i]:
            root = find_root(parent, i)
            if number[root] < 0:
                number[root] = n_clusters
                n_clusters += 1
            labels[i] = number[root]
    return n_clusters


@compiled
def claim_borders(cells, leaves, limit, core, spans, labels, both):  # type: ignore[no-untyped-def]
    """Give each row of some cells that is not core the lowest label near it; `both` where there are two."""
    columns, starts, stops, left, right = cells.columns, cells.starts, cells.stops, cells.left, cells.right
    stack = np.empty(DEPTH, dtype=np.int64)
    squares = np.empty(CHUNK)
    for leaf in leaves:
        for i in range(starts[leaf], stops[leaf]):
            if core[i]:
                continue
            lowest = highest = -1
            stack[0] = 0
            n_stack = 1
            while n_stack > 0:
                n_stack -= 1
                node = stack[n_stack]
                if spans[node, 0] < 0 or least_to(columns, i, cells.lower, cells.upper, node) > limit * (
                    1.0 + ROOM
                ):
                    continue
                if left[node] >= 0:
                    stack[n_stack], stack[n_stack + 1] = right[node], left[node]
                    n_stack += 2
                    continue
                start, stop = spans[node]
                squares_to(columns, i, start, stop, squares)
                for j in range(start, stop):
                    if core[j] and squares[j - start] <= limit:
                        lowest = labels[j] if lowest < 0 else min(lowest, labels[j])
                        highest = max(highest, labels[j])
            labels[i] = lowest
            both[i] = lowest != highest


@compiled
def unite_lists(rows, indptr, indices, core, parent):  # type: ignore[no-untyped-def]
    """Join core rows with the core rows of their lists."""
    for q in range(rows.shape[0]):
        for position in range(indptr[q], indptr[q + 1]):
            if core[indices[position]]:
                unite(parent, rows[q], indices[position])


@compiled
def claim_from_lists(rows, indptr, indices, core, labels, ambiguous):  # type: ignore[no-untyped-def]
    """Give each row the lowest label among the core rows of its list."""
    for q in range(rows.shape[0]):
        lowest = highest = -1
        for position in range(indptr[q], indptr[q + 1]):
            j = indices[position]
            if core[j]:
                lowest = labels[j] if lowest < 0 else min(lowest, labels[j])
                highest = max(highest, labels[j])
        labels[rows[q]] = lowest
        ambiguous[rows[q]] = lowest != highest
