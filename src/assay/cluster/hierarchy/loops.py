"""Compiled loops of linkage on a triangle of dissimilarities: nearest neighbours, joins, and the chain.

The triangle is stored row by row: D(i, j) with j < i stands at i(i − 1)/2 + j. Dissimilarities are at least
0, so that their bits as integers have the same order: `bits` is the same memory seen as int64, whose least
entry is sought in vector lanes.
"""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, inner

COMPLETE, AVERAGE, WEIGHTED, WARD = 0, 1, 2, 3
LARGEST = np.iinfo(np.int64).max


@compiled
def joined(linkage, d_a, d_b, d_ab, w_a, w_b, w_x):  # type: ignore[no-untyped-def]
    """D(A ∪ B, X) from D(A, X), D(B, X), D(A, B) and the weights (Lance and Williams)."""
    if linkage == COMPLETE:
        return d_a if d_a > d_b else d_b
    if linkage == AVERAGE:
        return (w_a * d_a + w_b * d_b) / (w_a + w_b)
    if linkage == WEIGHTED:
        return 0.5 * (d_a + d_b)
    return max(((w_a + w_x) * d_a + (w_b + w_x) * d_b - w_x * d_ab) / (w_a + w_b + w_x), 0.0)


@compiled
def ward_costs(squares, weights, first, rows):  # type: ignore[no-untyped-def]
    """Turn squared distances of rows `first`, `first` + 1, … to the first ones into costs of joining them."""
    for r in range(rows):
        w = weights[first + r]
        for x in range(squares.shape[1]):
            squares[r, x] *= w * weights[x] / (w + weights[x])


@compiled
def copy_rows(block, start, stop, triangle):  # type: ignore[no-untyped-def]
    """Write rows start, …, stop − 1 of a matrix into the triangle."""
    for i in range(start, stop):
        offset = i * (i - 1) // 2
        for j in range(i):
            triangle[offset + j] = block[i - start, j]


@compiled
def least(bits):  # type: ignore[no-untyped-def]
    """First position of the least entry, and that entry."""
    low = LARGEST
    for j in range(bits.shape[0]):
        low = bits[j] if bits[j] < low else low
    for j in range(bits.shape[0]):
        if bits[j] == low:
            return j, low
    return -1, low


@compiled
def nearest_in_rows(triangle, bits, start, stop, distance, nearest):  # type: ignore[no-untyped-def]
    """Improve the nearest neighbours by the entries of rows start, …, stop − 1; ties to the lowest index."""
    for i in range(start, stop):
        offset = i * (i - 1) // 2
        row = triangle[offset : offset + i]
        for j in range(i):
            closer = row[j] < distance[j]
            nearest[j] = i if closer else nearest[j]
            distance[j] = row[j] if closer else distance[j]
        j, _ = least(bits[offset : offset + i])
        if j >= 0 and row[j] < distance[i]:
            distance[i], nearest[i] = row[j], j


@inner
def join_columns(linkage, row, w_row, first, second, joint, weights, out):  # type: ignore[no-untyped-def]
    """Entries of one new row from its dissimilarities to the old clusters."""
    for k in range(out.shape[0]):
        c, d = first[k], second[k]
        out[k] = row[d]
        if c >= 0:
            out[k] = joined(linkage, row[c], row[d], joint[k], weights[c], weights[d], w_row)


@compiled
def gather_rows(triangle, first, second, start, stop, out):  # type: ignore[no-untyped-def]
    """Dissimilarities of the clusters first[p], in increasing order, to all before second[p].

    Those to later clusters stand in a column: several columns are read together, eight rows at a time, so
    that memory is walked along its rows.
    """
    last = 0
    for p in range(start, stop):
        a = first[p]
        from_a = a * (a - 1) // 2
        for x in range(a):
            out[p, x] = triangle[from_a + x]
        out[p, a] = 0.0
        last = max(last, second[p])
    for top in range(first[start] + 1, last, 8):
        end = min(top + 8, last)
        for p in range(start, stop):
            a = first[p]
            if a + 1 >= end:
                break
            for x in range(max(top, a + 1), min(end, second[p])):
                out[p, x] = triangle[x * (x - 1) // 2 + a]


@compiled
def join_rows(triangle, linkage, pairs, weights, gathered, slot, start, stop, out):  # type: ignore[no-untyped-def]
    """Rows start, …, stop − 1 of the triangle after joins, one after the other.

    New cluster k is made of the old ones first[k] < second[k] that stood at joint[k], or of second[k] alone
    when first[k] is −1; new clusters are ordered by `second`, so that row k needs only earlier entries.
    gathered[slot[k]] holds the dissimilarities of first[k].
    """
    first, second, joint = pairs
    row = np.empty(weights.shape[0])
    base = start * (start - 1) // 2
    for k in range(start, stop):
        a, b = first[k], second[k]
        w_b = weights[b]
        w_row, from_b = w_b, triangle[b * (b - 1) // 2 : b * (b + 1) // 2]
        if a < 0:
            for x in range(b):
                row[x] = from_b[x]
        else:
            from_a, w_a, d_ab = gathered[slot[k]], weights[a], joint[k]
            w_row += w_a
            for x in range(b):
                row[x] = joined(linkage, from_a[x], from_b[x], d_ab, w_a, w_b, weights[x])
        offset = k * (k - 1) // 2 - base
        join_columns(linkage, row, w_row, first, second, joint, weights, out[offset : offset + k])


@compiled
def join_block(block, linkage, first, second, joint, weights, start, stop, new):  # type: ignore[no-untyped-def]
    """Rows start, …, stop − 1 of the triangle after joins of neighbours: first[k] = second[k] − 1.

    `block` holds the dissimilarities of the old clusters of these rows, in order, to all before the last.
    """
    row = np.empty(block.shape[1])
    top = first[start] if first[start] >= 0 else second[start]
    for k in range(start, stop):
        a, b = first[k], second[k]
        w_row = weights[b]
        from_b = block[b - top]
        if a < 0:
            for x in range(b):
                row[x] = from_b[x]
        else:
            w_a, w_b, d_ab = weights[a], weights[b], joint[k]
            w_row += w_a
            from_a = block[a - top]
            for x in range(a):
                row[x] = joined(linkage, from_a[x], from_b[x], d_ab, w_a, w_b, weights[x])
        offset = k * (k - 1) // 2
        join_columns(linkage, row, w_row, first, second, joint, weights, new[offset : offset + k])


@compiled
def nearest_of(triangle, active, place):  # type: ignore[no-untyped-def]
    """The cluster nearest to that at `place` in `active`, the lowest index in case of ties, and how near."""
    i = active[place]
    offset = i * (i - 1) // 2
    low, nearby = np.inf, active[0] if place > 0 else active[1]
    for p in range(place):
        value = triangle[offset + active[p]]
        if value < low:
            low, nearby = value, active[p]
    for p in range(place + 1, active.shape[0]):
        k = active[p]
        value = triangle[k * (k - 1) // 2 + i]
        if value < low:
            low, nearby = value, k
    return nearby, low


@inner
def join_in_place(triangle, linkage, active, place_a, place_b, weights):  # type: ignore[no-untyped-def]
    """Put A ∪ B into the place of B, the later of the two; gives the cluster nearest to it, and how near."""
    a, b = active[place_a], active[place_b]
    from_a, from_b, w_a, w_b = a * (a - 1) // 2, b * (b - 1) // 2, weights[a], weights[b]
    d_ab = triangle[from_b + a]
    low, nearby = np.inf, b
    for p in range(place_b):
        x = active[p]
        if x == a:
            continue
        d_a = triangle[from_a + x] if x < a else triangle[x * (x - 1) // 2 + a]
        value = joined(linkage, d_a, triangle[from_b + x], d_ab, w_a, w_b, weights[x])
        triangle[from_b + x] = value
        if value < low:
            low, nearby = value, x
    for p in range(place_b + 1, active.shape[0]):
        x = active[p]
        from_x = x * (x - 1) // 2
        value = joined(linkage, triangle[from_x + a], triangle[from_x + b], d_ab, w_a, w_b, weights[x])
        triangle[from_x + b] = value
        if value < low:
            low, nearby = value, x
    weights[b] = w_a + w_b
    return nearby, low


@compiled
def chain(  # type: ignore[no-untyped-def]
    triangle, linkage, weights, nodes, next_node, distance, nearest, left, right, height
):  # fmt: skip
    """Join all clusters along nearest-neighbour chains; writes the two nodes and the height of every join.

    A chain goes from a cluster to its nearest, and so on; dissimilarities fall along it, so that it ends in
    two clusters that are nearest to each other, which are joined. What is left of the chain stays one for
    linkages that bring no cluster nearer by a join. For the same reason the nearest cluster that is known
    (`nearest`, at `distance`) stays the nearest until it is joined itself: `age` counts the joins of each.
    """
    n = weights.shape[0]
    active, place_of = np.arange(n), np.arange(n)
    age, known_age = np.zeros(n, np.int64), np.zeros(n, np.int64)
    links = np.empty(n, np.int64)
    length = 0
    for t in range(n - 1):
        m = n - t
        if length == 0:
            links[0], length = active[0], 1
        while True:
            i = links[length - 1]
            if age[nearest[i]] != known_age[i]:
                nearest[i], distance[i] = nearest_of(triangle, active[:m], place_of[i])
                known_age[i] = age[nearest[i]]
            nearby = nearest[i]
            if length > 1:
                p, q = max(i, links[length - 2]), min(i, links[length - 2])
                if triangle[p * (p - 1) // 2 + q] <= distance[i]:
                    nearby = links[length - 2]
                    break
            links[length] = nearby
            length += 1
        length -= 2
        a, b = min(i, nearby), max(i, nearby)
        left[t], right[t], height[t] = nodes[a], nodes[b], triangle[b * (b - 1) // 2 + a]
        nearest[b], distance[b] = join_in_place(
            triangle, linkage, active[:m], place_of[a], place_of[b], weights
        )
        age[a] += 1
        age[b] += 1
        known_age[b] = age[nearest[b]]
        nodes[b] = next_node + t
        for p in range(place_of[a], m - 1):
            active[p] = active[p + 1]
            place_of[active[p]] = p
