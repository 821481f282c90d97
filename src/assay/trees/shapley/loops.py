"""Shapley values of trees by quadrature, several rows side by side.

For one leaf of value v, let o_j say whether the row passes the edges of column j (0 or 1) and z_j be their
share of weight. The game S ↦ v Π_{j∈S} o_j Π_{j∉S} z_j has the Shapley values

    φ_j = v (o_j − z_j) ∫₀¹ Π_{i≠j} (o_i t + z_i (1 − t)) dt,

because |S|! (k − 1 − |S|)! / k! = ∫ t^|S| (1 − t)^(k−1−|S|) dt. The integrand has degree k − 1, so a Gauss
rule of ⌈k/2⌉ points gives the integral exactly. All leaves below an edge share its factor: products go down
the tree, sums of them come back up, and an edge adds its part of φ_j once. The edge of a column that was on
the path before takes back what that one said about the leaves below.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import inner, lean

LANES = 128
"""Most rows that go down a tree side by side."""


class Rule(NamedTuple):
    """Gauss rules on [0, 1]: row m has the m points and weights of the rule of m points."""

    points: NDArray[np.float64]
    weights: NDArray[np.float64]


class Scratch(NamedTuple):
    """What is known at each depth of the path: see `descend`."""

    path: NDArray[np.int64]
    goes_left: NDArray[np.float64]
    passes: NDArray[np.float64]
    product: NDArray[np.float64]
    slope: NDArray[np.float64]
    inverse: NDArray[np.float64]
    sums: NDArray[np.float64]
    part: NDArray[np.float64]
    last: NDArray[np.int64]


def gauss_rules(most: int) -> Rule:
    """The rules of 1 to `most` points."""
    points, weights = np.zeros((most + 1, most)), np.zeros((most + 1, most))
    for m in range(1, most + 1):
        x, w = np.polynomial.legendre.leggauss(m)
        points[m, :m], weights[m, :m] = 0.5 * (x + 1), 0.5 * w
    return Rule(points, weights)


def make_scratch(most_depth: int, n_points: int, n_values: int, lanes: int) -> Scratch:
    """Memory for paths of a depth."""
    n = most_depth + 1
    return Scratch(
        np.zeros(n, dtype=np.int64),
        np.zeros((n, lanes)),
        np.zeros((n, lanes)),
        np.zeros((n, n_points, lanes)),
        np.zeros((n, n_points)),
        np.zeros((n, n_points)),
        np.zeros((n, n_values, n_points, lanes)),
        np.zeros((n_points, lanes)),
        np.zeros(n, dtype=np.int64),
    )


@inner
def turn(columns, begin, splits, p, out):  # type: ignore[no-untyped-def]
    """1 for the rows that a node sends left, 0 for the others."""
    j, level, missing_left = splits.feature[p], splits.levels[p], splits.missing_left[p]
    threshold, lanes = splits.threshold[p], out.shape[0]
    if level < 0:
        for r in range(lanes):
            value = columns[j, begin + r]
            out[r] = 1.0 if value <= threshold or (value != value and missing_left) else 0.0
        return
    for r in range(lanes):
        value = columns[j, begin + r]
        code = np.int64(value) if value >= 0.0 and value < 256.0 else np.int64(-1)
        goes = missing_left
        if code >= 0:
            goes = (splits.bits[level, code >> 5] >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)
        out[r] = 1.0 if goes else 0.0


@inner
def descend(p, m, splits, rule, scratch):  # type: ignore[no-untyped-def]
    """Follow the edge into a node: who passes its column, and the product of the factors of the path.

    `slope` at a depth is (1 − z)/(t + z(1 − t)) + 1/(1 − t): by how much (o − z)/(o t + z(1 − t)) rises from
    o = 0 to o = 1.
    """
    here = np.int64(splits.depth[p])
    b, z, left = np.int64(splits.before[p]), splits.share[p], splits.is_left[p]
    passes, goes, product = scratch.passes, scratch.goes_left, scratch.product
    lanes = passes.shape[1]
    for r in range(lanes):
        passes[here, r] = goes[here - 1, r] if left else 1.0 - goes[here - 1, r]
    away = 0.0
    if b > 0:
        for r in range(lanes):
            passes[here, r] *= passes[b, r]
        known = splits.share[scratch.path[b]]
        away = z / known if known > 0.0 else 0.0
    for q in range(m):
        t = rule.points[m, q]
        stay = z * (1.0 - t)
        inverse = 1.0 / (t + stay)
        scratch.inverse[here, q] = inverse
        scratch.slope[here, q] = (1.0 - z) * inverse + 1.0 / (1.0 - t)
        if b == 0:
            for r in range(lanes):
                product[here, q, r] = product[here - 1, q, r] * (stay + passes[here, r] * t)
        else:
            divided = scratch.inverse[b, q]
            for r in range(lanes):
                factor = (stay + passes[here, r] * t) * divided
                product[here, q, r] = product[here - 1, q, r] * (away + passes[b, r] * (factor - away))


@inner
def ascend(here, m, begin, k0, splits, rule, scratch, out):  # type: ignore[no-untyped-def]
    """Add what the edge into a node says about the leaves below it, and hand their sum to the node above."""
    p = scratch.path[here]
    b, j = np.int64(splits.before[p]), splits.edge[p]
    passes, sums, part = scratch.passes, scratch.sums, scratch.part
    lanes = passes.shape[1]
    for q in range(m):
        slope = scratch.slope[here, q]
        if b == 0:
            least = -1.0 / (1.0 - rule.points[m, q])
            for r in range(lanes):
                part[q, r] = least + passes[here, r] * slope
        else:
            taken = scratch.slope[b, q]
            for r in range(lanes):
                part[q, r] = passes[here, r] * slope - passes[b, r] * taken
    for k in range(sums.shape[1]):
        for q in range(m):
            for r in range(lanes):
                below = sums[here, k, q, r]
                out[j, k0 + k, begin + r] += part[q, r] * below
                sums[here - 1, k, q, r] += below


@inner
def start_tree(m, rule, scratch):  # type: ignore[no-untyped-def]
    """At the root nothing is known, and every point of the rule has its weight."""
    for q in range(m):
        for r in range(scratch.product.shape[2]):
            scratch.product[0, q, r] = rule.weights[m, q]


@lean
def add_shap(columns, splits, rule, scratch, out):  # type: ignore[no-untyped-def]
    """Add the Shapley values of all trees to `out`, (n_columns, n_outputs, n_rows); lanes divide the rows."""
    starts, depth, sums, product = splits.starts, splits.depth, scratch.sums, scratch.product
    lanes = product.shape[2]
    for t in range(starts.shape[0] - 1):
        m, k0 = (splits.n_unique[t] + 1) // 2, splits.output[t]
        for begin in range(0, columns.shape[1], lanes):
            if m == 0:
                continue
            start_tree(m, rule, scratch)
            for p in range(starts[t], starts[t + 1]):
                here = np.int64(depth[p])
                scratch.path[here] = p
                if here > 0:
                    descend(p, m, splits, rule, scratch)
                if splits.feature[p] >= 0:
                    turn(columns, begin, splits, p, scratch.goes_left[here])
                    for k in range(sums.shape[1]):
                        for q in range(m):
                            for r in range(lanes):
                                sums[here, k, q, r] = 0.0
                    continue
                for k in range(sums.shape[1]):
                    for q in range(m):
                        for r in range(lanes):
                            sums[here, k, q, r] = product[here, q, r] * splits.value[p, k]
                after = np.int64(depth[p + 1]) if p + 1 < starts[t + 1] else np.int64(1)
                for level in range(here, after - 1, -1):
                    ascend(level, m, begin, k0, splits, rule, scratch, out)


@lean
def add_interactions(columns, splits, rule, scratch, out):  # type: ignore[no-untyped-def]
    """Add half the interaction of each pair of columns; `out` is (n_columns, n_columns, n_outputs, n_rows).

    φ_ij = (v/2) (o_i − z_i)(o_j − z_j) ∫ Π_{l≠i,j} (o_l t + z_l (1 − t)) dt,        i ≠ j.
    """
    starts, depth, product, passes = splits.starts, splits.depth, scratch.product, scratch.passes
    lanes, last = product.shape[2], scratch.last
    for t in range(starts.shape[0] - 1):
        m, k0 = (splits.n_unique[t] + 1) // 2, splits.output[t]
        for begin in range(0, columns.shape[1], lanes):
            if m == 0:
                continue
            start_tree(m, rule, scratch)
            for p in range(starts[t], starts[t + 1]):
                here = np.int64(depth[p])
                scratch.path[here] = p
                if here > 0:
                    descend(p, m, splits, rule, scratch)
                if splits.feature[p] >= 0:
                    turn(columns, begin, splits, p, scratch.goes_left[here])
                    continue
                n_last = last_edges(here, splits, scratch.path, last)
                for first in range(n_last):
                    for second in range(first):
                        a, b = last[first], last[second]
                        i, j = splits.edge[scratch.path[a]], splits.edge[scratch.path[b]]
                        for q in range(m):
                            least = -1.0 / (1.0 - rule.points[m, q])
                            rise, other = scratch.slope[a, q], scratch.slope[b, q]
                            for k in range(splits.value.shape[1]):
                                half = 0.5 * splits.value[p, k]
                                for r in range(lanes):
                                    both = (least + passes[a, r] * rise) * (least + passes[b, r] * other)
                                    both *= half * product[here, q, r]
                                    out[i, j, k0 + k, begin + r] += both
                                    out[j, i, k0 + k, begin + r] += both


@inner
def last_edges(here, splits, path, last):  # type: ignore[no-untyped-def]
    """Depths of the last edge of each column of a path; gives their number."""
    count = 0
    for level in range(1, here + 1):
        is_last = True
        for deeper in range(level + 1, here + 1):
            is_last = is_last and splits.edge[path[deeper]] != splits.edge[path[level]]
        if is_last:
            last[count] = level
            count += 1
    return count
