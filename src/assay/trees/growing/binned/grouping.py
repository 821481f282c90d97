"""Levels of a category in a node of boosted trees: what is expected of each, and their division in two."""

from __future__ import annotations

import numpy as np

from assay.loops import lean_inner
from assay.trees.growing.levels import set_bit, sort_places
from assay.trees.growing.nodes import PLACE_OF_BITS, WORDS, keep_split


@lean_inner
def list_levels(histogram, first, n_levels, unit, noise, levels, means, order, out):  # type: ignore[no-untyped-def]
    """Write the sums of the levels of a category that occur in the order of their mean step; gives how many.

    The best grouping is a cut in this order (Fisher 1958). With noise the slopes are those expected of other
    rows, and no levels are given where chance explains them all, unless values are missing.
    """
    count = np.int64(0)
    for code in range(n_levels):
        if histogram[first + code, 0] > 0:
            size = histogram[first + code, 2]
            means[count] = histogram[first + code, 1] / size if size > 0 else 0.0
            levels[count] = code
            count += 1
    expects = noise > 0.0 and count > 1
    if expects:
        is_more = expect_steps(histogram, first, levels, count, unit, noise, means)
        if not is_more and histogram[first + n_levels, 0] == 0:
            return np.int64(0)
    sort_places(means, count, order)
    for p in range(count):
        for k in range(3):
            out[p, k] = histogram[first + levels[order[p]], k]
        if expects:
            out[p, 1] = np.int64(np.rint(means[order[p]] * (out[p, 2] * unit[2]) / unit[1]))
    return count


@lean_inner
def expect_steps(histogram, first, levels, count, unit, noise, means):  # type: ignore[no-untyped-def]
    """Replace the mean steps of levels by those expected of other rows; whether more than noise is in them.

    The step S_k/H_k of level k has the variance φ/H_k about its own mean, φ the noise, and the means vary by
    τ² about a common one: Q = Σ H_k (S_k/H_k − S/H)² is φ (K − 1) + τ² (H − Σ H_k²/H) in the mean. What is
    expected is μ + (S_k/H_k − μ) τ² H_k/(τ² H_k + φ), nothing of chance alone, of which the best of 2^(K−1)
    groupings else gains most (DerSimonian & Laird 1986; Efron & Morris 1975).
    """
    slope, size, squares = 0.0, 0.0, 0.0
    for p in range(count):
        curvature = histogram[first + levels[p], 2] * unit[2]
        slope += histogram[first + levels[p], 1] * unit[1]
        size += curvature
        squares += curvature * curvature
    if not size > 0.0:
        return False
    mean, spread = slope / size, 0.0
    for p in range(count):
        curvature = histogram[first + levels[p], 2] * unit[2]
        if curvature > 0.0:
            off = histogram[first + levels[p], 1] * unit[1] - mean * curvature
            spread += off * off / curvature
    most = size - squares / size
    between = max(spread - noise * (count - 1), 0.0) / most if most > 0.0 else 0.0
    slope, size = 0.0, 0.0
    for p in range(count):
        curvature = histogram[first + levels[p], 2] * unit[2]
        slope += histogram[first + levels[p], 1] * unit[1] / (between * curvature + noise)
        size += curvature / (between * curvature + noise)
    mean = slope / size
    for p in range(count):
        curvature = histogram[first + levels[p], 2] * unit[2]
        off = histogram[first + levels[p], 1] * unit[1] - mean * curvature
        means[p] = mean + between * off / (between * curvature + noise)
    return between > 0.0


@lean_inner
def gain_of_levels(form, histogram, first, levels, order, cut, whole, missing, unit):  # type: ignore[no-untyped-def]
    """What a grouping of levels gains: those up to a place of their order against the others."""
    slope, size = np.int64(0), np.int64(0)
    if cut.missing_left:
        slope, size = slope + missing[1], size + missing[2]
    for p in range(cut.place + 1):
        slope += histogram[first + levels[order[p]], 1]
        size += histogram[first + levels[order[p]], 2]
    gain = 0.0
    for side in range(3):
        total, curvature = (slope, size) if side == 0 else (whole[1] - slope, whole[2] - size)
        if side == 2:
            total, curvature = whole[1], whole[2]
        moved, bent = total * unit[1] - form.shift, curvature * unit[2] + form.l2
        if bent > 0.0:
            gain += (-1.0 if side == 2 else 1.0) * moved * moved / bent
    return gain


@lean_inner
def keep_levels(node, j, cut, tally, n_codes, levels, order, n_levels, tree, sums):  # type: ignore[no-untyped-def]
    """Write a split of levels into the tree: those up to a place of their order go left.

    Later missing values go where most rows went, and levels that are not in the node with them.
    """
    bits, weight = tree.bits[node], np.int64(0)
    for p in range(cut.place + 1):
        weight += tally[p, 0]
    missing_left = cut.missing_left if sums[1, 0] > 0 else 2 * weight >= sums[0, 0]
    for word in range(WORDS):
        bits[word] = 0
    for p in range(cut.place + 1):
        set_bit(bits, levels[order[p]])
    place = np.int64(0)
    for code in range(n_levels):
        is_here = place < n_codes and levels[place] == code
        place += is_here
        if missing_left and not is_here:
            set_bit(bits, code)
    keep_split(node, j, np.int64(0), np.int64(0), missing_left, cut.gain, tree)
    tree.whole[node, PLACE_OF_BITS] = node
