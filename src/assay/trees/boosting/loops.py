"""Hot loops of a round: slopes and curvatures as integers, and scores moved by the leaves."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled, lean
from assay.losses.row_form import fill_row_terms
from assay.order_statistics import select

LARGEST = 2147483647.0


@compiled
def round_terms(value, slope, curvature, weight, scales, constant, whole, out):  # type: ignore[no-untyped-def]
    """Write negative slope, curvature and weight of each row in units; give the largest of both and the loss.

    Parameters
    ----------
    value, slope, curvature : float arrays of shape (n_rows,)
    weight : float64 array of shape (n_rows,) or (0,)
        Empty where all weights are 1.
    scales : float64 array of shape (4,)
        One over the units of weight, slope, curvature and loss.
    constant : float
        Curvature of all rows, or a negative number where it differs.
    whole : bool
        Whether slope and curvature are those of a row of weight 1; see `Shard.whole`.
    out : int32 array of shape (n_rows, 2) or (n_rows, 3)

    Returns
    -------
    largest_slope, largest_curvature : float
    loss : int
        Sum of the losses in units.
    """
    top, bend, loss = 0.0, 0.0, np.int64(0)
    weighted = out.shape[1] == 3
    for i in range(slope.shape[0]):
        share = weight[i] if weighted else 1.0
        factor = 1.0 if whole else share
        first = -slope[i] * factor
        second = max((constant if constant >= 0.0 else curvature[i]) * factor, 0.0)
        top = max(top, abs(first))
        bend = max(bend, second)
        out[i, 0] = np.int32(min(max(np.rint(first * scales[1]), -LARGEST), LARGEST))
        # A row that is curved at all has a unit: beside one of 10¹² the others would have none together.
        out[i, 1] = np.int32(min(max(np.rint(second * scales[2]), np.float64(second > 0.0)), LARGEST))
        if weighted:
            out[i, 2] = np.int32(np.rint(share * scales[0]))
        loss += np.int64(np.rint(min(max(value[i] * share * scales[3], -1e18), 1e18)))
    return top, bend, loss


@lean
def round_rows(form, target, scores, weight, scales, constant, whole, out, room):  # type: ignore[no-untyped-def]
    """Terms of a loss as `round_terms` writes them, from targets and scores, few rows at a time.

    Parameters
    ----------
    form : NamedTuple
        The row form of the loss.
    target, scores : float64 arrays of shape (n_rows,)
    room : float64 array of shape (3, n_rows_at_once)
        Overwritten.
    """
    top, bend, loss, at_once = 0.0, 0.0, np.int64(0), room.shape[1]
    for start in range(0, scores.shape[0], at_once):
        end = min(start + at_once, scores.shape[0])
        value, slope, curvature = room[0, : end - start], room[1, : end - start], room[2, : end - start]
        for i in range(end - start):
            value[i] = scores[start + i]
        fill_row_terms(form, target[start:end], value, slope, curvature)
        share, own_out = weight[min(start, weight.shape[0]) : end], out[start:end]
        own, own_bend, lost = round_terms(value, slope, curvature, share, scales, constant, whole, own_out)
        top, bend, loss = max(top, own), max(bend, own_bend), loss + lost
    return top, bend, loss


@compiled
def sum_losses(value, weight, scale):  # type: ignore[no-untyped-def]
    """Sum of losses in units."""
    loss = np.int64(0)
    for i in range(value.shape[0]):
        share = weight[i] if weight.shape[0] > 0 else 1.0
        loss += np.int64(np.rint(min(max(value[i] * share * scale, -1e18), 1e18)))
    return loss


@compiled
def move_scores(rows, bounds, leaves, values, scores):  # type: ignore[no-untyped-def]
    """Add the value of its leaf to the score of each row of the tree."""
    for leaf in range(leaves.shape[0]):
        value = values[leaf]
        for p in range(bounds[leaves[leaf], 0], bounds[leaves[leaf], 1]):
            scores[rows[p]] += value


@compiled
def sum_leaves(slope, curvature, weight, scales, whole, leaves, out):  # type: ignore[no-untyped-def]
    """Add negative slopes and curvatures of rows to the sums of the leaf of each, in units of the leaf.

    Parameters
    ----------
    slope, curvature : float64 arrays of shape (n_rows,)
    weight : float64 array of shape (n_rows,) or (0,)
        Empty where all weights are 1.
    scales : float64 array of shape (n_leaves + 1, 2)
        One over the units of each leaf; last the most units that a row may have: away from the scores of the
        round it may need more than 32 bits.
    whole : bool
        Whether a row of weight k counts as k rows to the last bit.
    leaves : int64 array of shape (n_rows,)
    out : int64 array of shape (n_leaves, 2)
    """
    most, weighted = scales[out.shape[0], 0], weight.shape[0] > 0
    for p in range(slope.shape[0]):
        leaf = leaves[p]
        share = weight[p] if weighted else 1.0
        factor = 1.0 if whole else share
        times = np.int64(share) if whole else np.int64(1)
        first = np.rint(-slope[p] * factor * scales[leaf, 0])
        second = np.rint(max(curvature[p] * factor, 0.0) * scales[leaf, 1])
        out[leaf, 0] += times * np.int64(min(max(first, -most), most))
        out[leaf, 1] += times * np.int64(min(second, most))


@lean
def gather_residuals(rows, bounds, leaves, target, scores, starts, out):  # type: ignore[no-untyped-def]
    """Write target less score of the rows of each leaf from its start on."""
    for k in range(leaves.shape[0]):
        place = starts[k]
        for p in range(bounds[leaves[k], 0], bounds[leaves[k], 1]):
            out[place] = target[rows[p]] - scores[rows[p]]
            place += 1


@lean
def middle_of_each(values, starts, first, second, out):  # type: ignore[no-untyped-def]
    """The middle between two order statistics of each group of values, which are rearranged.

    Parameters
    ----------
    values : float64 array
        Those of group k are the places `starts[k]` to `starts[k + 1]`.
    first, second : int64 arrays of shape (n_groups,)
        Ranks in the group, the second not before the first.
    out : float64 array of shape (n_groups,)
    """
    nothing = starts[:0]
    for k in range(out.shape[0]):
        low, last = starts[k] + first[k], starts[k + 1] - 1
        select(values, nothing, starts[k], last, low)
        high = starts[k] + second[k]
        if high > low:
            select(values, nothing, low + 1, last, high)
        out[k] = (values[low] + values[high]) / 2
