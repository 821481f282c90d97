"""The best cut of a column under the Newton criterion, as vector code.

What `cuts.best_cut` finds for any criterion, this finds about three times as fast for the one that boosting
asks for again and again: sums of the left side first, then all gains at once.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from assay.loops import lean_inner, part
from assay.trees.growing.cuts import NO_CUT, Cut

LINES = 3
"""Lines of `work`: statistic and curvature of the left side, and the gain, of the cut after each code."""


class Sides(NamedTuple):
    """What each side of a cut must have: weight and curvature in units, and an order of what they predict.

    `sign` is 1 (−1) where the prediction must not fall (rise) from the left side to the right one;
    predictions stay between `low` and `high`, which are what the constraints further up have left.
    """

    lightest: Any
    flattest: Any
    sign: Any
    low: float
    high: float


@lean_inner
def best_newton_cut(form, tally, first, n_codes, node, missing, unit, sides, work, places):  # type: ignore[no-untyped-def]
    """See `cuts.best_cut`, for a `NumberCost` that is not of Poisson.

    Parameters
    ----------
    tally : int64 array of shape (at least first + n_codes, 3)
        The sums of the first code are in row `first`.
    sides : Sides
    work : float64 array of shape (3, at least n_codes + 1)
    places : int64 array of shape (at least n_codes + 1,)
        Both overwritten.
    """
    column = tally[first : first + n_codes]  # places from 0 on: no sign to look at
    best, place, best_left = -np.inf, NO_CUT, False
    slope, curvature = node[1] * unit[1], node[2] * unit[2]
    for missing_left in range(2 if missing[0] > 0 else 1):
        end = n_codes if (missing_left == 0 and missing[0] > 0) else n_codes - 1
        count = list_cuts(column, end, node, missing, missing_left == 1, unit, sides, work, places)
        gain_of_cuts(form, slope, curvature, count, work)
        if sides.sign != 0:
            forbid_cuts(slope, curvature, count, sides, work)
        gains, top = work[2], -np.inf
        for p in range(count):
            top = max(top, gains[p])
        if top > best:
            best, best_left = top, missing_left == 1
            for p in range(count):
                if gains[p] == top:
                    place = places[p]
                    break
    total, size = slope - form.shift, curvature + form.l2
    return Cut(best - (total * total / size if size > 0.0 else 0.0), place, best_left)


@part
def list_cuts(tally, end, node, missing, missing_left, unit, sides, work, places):  # type: ignore[no-untyped-def]
    """Sums of the left side of every cut that leaves enough on both sides; gives their number."""
    weight, slope, curvature = np.int64(0), np.int64(0), np.int64(0)
    if missing_left:
        weight, slope, curvature = missing[0], missing[1], missing[2]
    count, start = np.int64(0), np.int64(0)
    heaviest, steepest = node[0] - sides.lightest, node[2] - sides.flattest
    # Weights and curvatures only grow: no cut is before the first that leaves enough, nor after the last.
    while start < end and (
        weight + tally[start, 0] < sides.lightest or curvature + tally[start, 2] < sides.flattest
    ):
        weight += tally[start, 0]
        slope += tally[start, 1]
        curvature += tally[start, 2]
        start += 1
    for p in range(start, end):
        inside = tally[p, 0]
        weight += inside
        slope += tally[p, 1]
        curvature += tally[p, 2]
        if (weight > heaviest) | (curvature > steepest):
            break
        work[0, count] = slope
        work[1, count] = curvature
        places[count] = p
        count += np.int64(inside > 0)  # a code that does not occur cuts where the one before it does
    for p in range(count):
        work[0, p] *= unit[1]
        work[1, p] *= unit[2]
    return count


@part
def gain_of_cuts(form, slope, curvature, count, work):  # type: ignore[no-untyped-def]
    """(S − shift)²/(H + λ) of both sides of each cut, added up."""
    sums, size, gains = work[0], work[1], work[2]
    l2, shift = form.l2, form.shift
    whole = slope - shift
    for p in range(count):
        left, right, rest = sums[p] - shift, whole - sums[p], curvature - size[p] + l2
        own = size[p] + l2
        # A side without curvature gains nothing.
        one = left * left / own if own > 0.0 else 0.0
        two = right * right / rest if rest > 0.0 else 0.0
        gains[p] = one + two


@part
def forbid_cuts(slope, curvature, count, sides, work):  # type: ignore[no-untyped-def]
    """Let cuts whose sides predict in the wrong order gain nothing; S/H is what a side predicts."""
    sums, size, gains = work[0], work[1], work[2]
    for p in range(count):
        rest = curvature - size[p]
        left = sums[p] / size[p] if size[p] > 0.0 else 0.0
        right = (slope - sums[p]) / rest if rest > 0.0 else 0.0
        left, right = min(max(left, sides.low), sides.high), min(max(right, sides.low), sides.high)
        if not sides.sign * (right - left) >= 0.0:
            gains[p] = -np.inf
