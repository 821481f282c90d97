"""What boosted trees prove about themselves."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.losses import Loss
from assay.trees.boosting.boost import (
    FARTHEST,
    HALVINGS,
    farthest,
    least_curvature,
    noise_per_curvature,
    searches_residuals,
)
from assay.trees.boosting.ensemble import LEAF, BoostedTrees
from assay.trees.boosting.gathering import CodedRows
from assay.trees.boosting.holding import divided
from assay.trees.boosting.proofs.constraints import WEI, constraint_claims
from assay.trees.boosting.proofs.replay import (
    Turn,
    add_up,
    drawn,
    drawn_columns,
    mean_loss,
    replay,
    weights_of,
)
from assay.trees.boosting.proofs.splits import (
    missed_gain,
    room_of,
    rows_by_leaf,
    rules_of,
    value_bounds,
    worth_of,
    wrong_sides,
)
from assay.trees.boosting.table import is_whole
from assay.trees.constraints import groups_of, signs_of
from assay.trees.growing.columns import Columns

HALF_UNIT = 2.0**-31
"""Largest half unit of fixed point, in shares of the largest statistic."""


def fit_certificates(model: Any) -> Certificates:
    """What is seen without walking the rows again."""
    claims = [risk_claim(model, -model.train_score_)] if model._sampling.rows >= 1.0 else []
    return Certificates([*claims, *constraint_claims(model)])


def risk_claim(model: Any, risk: NDArray) -> Certificate:
    """The training risk never rises."""
    rises = np.diff(risk).max(initial=-np.inf)
    size = max(float(np.abs(risk).max()), np.finfo(float).tiny)
    return at_most(
        "No round raises the training risk.",
        "largest rise of the risk in a round",
        max(float(rises), -size),
        1e-7 * size,
        WEI,
        assumptions=("every tree is grown on all rows",),
    )


def certify_boosting(model: Any, coded: CodedRows, fresh: Columns, losses: list[Loss]) -> Certificates:
    """Every certificate, from the rows and the fitted attributes alone."""
    trees: BoostedTrees = model.trees_
    train, held = divided(len(coded.target), int(model.n_held_out_), int(model.seed_))
    seen = walk_rounds(model, coded.take(train) if len(held) else coded, losses)
    return Certificates(
        [
            agreement(
                "The bins are those of the rows, and the thresholds the ends of bins.",
                {
                    "low": (model.columns_.low, fresh.low),
                    "high": (model.columns_.high, fresh.high),
                    "offsets": (model.columns_.offsets, fresh.offsets),
                    "codes of levels": (model.columns_.shared, fresh.shared),
                    "thresholds": (trees.threshold, thresholds_of(trees, fresh)),
                    "n_codes": (trees.n_codes, fresh.n_codes),
                },
                WEI,
                rtol=1e-9,
            ),
            *constraint_claims(model),
            *([risk_claim(model, seen.risk)] if model._sampling.rows >= 1.0 else []),
            *trace_claims(model, seen.risk, coded.take(held), losses),
            *round_claims(model, seen),
        ]
    )


def thresholds_of(trees: BoostedTrees, columns: Columns) -> NDArray[np.float64]:
    """The largest value on the left of each split, from codes and bins; NaN where there is none."""
    thresholds = np.full(len(trees.feature), np.nan)
    ordered = (trees.feature != LEAF) & ~columns.categorical[trees.feature]
    last = columns.offsets[trees.feature[ordered] + 1] - 1
    place = columns.offsets[trees.feature[ordered]] + trees.cut[ordered]
    thresholds[ordered] = np.where(place < last, columns.cuts[np.minimum(place, last)], np.inf)
    return thresholds


def trace_claims(model: Any, risk: NDArray, held: CodedRows, losses: list[Loss]) -> list[Certificate]:
    """The losses that the fit has written down are those of its rows."""
    pairs = {"train_score_": (-model.train_score_, risk)}
    if model.do_early_stopping_ and not model._stopping.by_scorer:
        if len(held.target) > 0:
            pairs["validation_score_"] = (-model.validation_score_, losses_of(model.trees_, held, losses)[1:])
        elif model._stopping.validation_fraction is None and len(model.validation_score_) == model.n_iter_:
            pairs["validation_score_"] = (-model.validation_score_, risk[1:])
    return [agreement("The losses of each round are what its trees give on the rows.", pairs, WEI, rtol=1e-7)]


def round_claims(model: Any, seen: Rounds) -> list[Certificate]:
    """Weights, sums, leaves and splits of every tree."""
    trees: BoostedTrees = model.trees_
    return [
        agreement(
            "Each node has the weight of the rows that walk through it.",
            {"weight": (trees.weight, seen.weight)},
            WEI,
        ),
        at_most(
            "Fixed point is harmless: a sum of n slopes or curvatures errs by n 2⁻³¹ of the largest.",
            "largest rounding of a sum, in shares of its bound",
            seen.rounding,
            1.0,
            WEI,
        ),
        at_most(
            "The value of every leaf is stationary: the slopes of its rows balance, or push against the "
            "bound that a constraint has left.",
            "largest relative imbalance of a leaf",
            seen.imbalance,
            1e-5,
            WEI,
        ),
        at_most(
            "Every split gains what the slopes and curvatures of its sides say.",
            "largest relative difference of gains",
            seen.gain,
            1e-5,
            WEI,
        ),
        at_most(
            "No admissible split of a node gains more than the one taken (of a grouping of levels the share "
            "beyond noise counts), and the node that gains most was divided next.",
            "largest gain missed, relative to the largest of the tree",
            seen.missed,
            1e-6,
            WEI,
            assumptions=() if model.max_features >= 1.0 else ("in the column that was taken",),
        ),
        at_most(
            "Missing values and levels that a node has not seen go to its heavier side.",
            "splits of a tree that send them to the other",
            seen.sides,
            0.0,
            WEI,
        ),
        agreement(
            "The scores start from the best constant.",
            {"baseline": (trees.baseline, seen.baseline)},
            WEI,
            rtol=1e-7,
        ),
    ]


class Rounds(NamedTuple):
    """What the rounds of a fit show when they are gone through again."""

    risk: NDArray[np.float64]
    weight: NDArray[np.float64]
    rounding: float
    imbalance: float
    gain: float
    missed: float
    sides: float
    baseline: NDArray[np.float64]


def losses_of(trees: BoostedTrees, coded: CodedRows, losses: list[Loss]) -> NDArray[np.float64]:
    """The mean loss of rows before each round and after the last."""
    turns = replay(trees, coded, losses)
    before = [mean_loss(losses, coded, turn.scores) for turn in turns if turn.output == 0]
    scores = np.tile(trees.baseline, (len(coded.target), 1))
    trees.add_scores(np.ascontiguousarray(coded.codes.T), scores, range(trees.n_trees))
    return np.array([*before, mean_loss(losses, coded, scores)])


def walk_rounds(model: Any, coded: CodedRows, losses: list[Loss]) -> Rounds:
    """Go through the rounds again, in floats and on the rows of the fit."""
    trees: BoostedTrees = model.trees_
    signs, groups = signs_of(model, model.is_categorical_), groups_of(model)
    limits = least_curvature(losses[0]), noise_per_curvature(losses[0])
    rules = rules_of(model, signs, groups, *limits)
    codes = np.ascontiguousarray(coded.codes.T)
    counted, worst = np.zeros(len(trees.feature)), np.zeros(5)
    for turn in replay(trees, coded, losses):
        nodes, inside = turn.nodes, drawn(model, turn.place, len(coded.target))
        kinds, leaf = statistics_of(turn, coded)[:, inside], turn.leaf[inside]
        count = nodes.stop - nodes.start
        at_leaves = np.column_stack([np.bincount(leaf, kind, minlength=count) for kind in kinds])
        sums = add_up(trees, nodes, at_leaves)
        counted[nodes] = sums[:, 0]
        bounds = value_bounds(trees, nodes, sums, signs)
        loss = losses[turn.output if len(losses) > 1 else 0]
        rows = (coded.target[inside], kinds[0], turn.scores[inside, turn.output])
        by_leaf = rows_by_leaf(trees, nodes, leaf, codes[:, inside], kinds)
        found = (
            _rounding(trees, nodes, sums),
            _imbalance(model, loss, rows, leaf, trees.value[nodes], sums, bounds),
            _gain_gap(trees, nodes, sums, rules.l2),
            missed_gain(trees, nodes, by_leaf, sums, bounds, rules, drawn_columns(model, turn.place)),
            wrong_sides(trees, nodes, by_leaf, sums, model.columns_),
        )
        worst = np.maximum(worst, np.nan_to_num(found, nan=np.inf))
    baseline = model._baseline(losses, coded.target, coded.weight)
    rounding, imbalance, gain, missed, sides = worst.tolist()
    risk = losses_of(trees, coded, losses)
    return Rounds(risk, counted, rounding, imbalance, gain, missed, sides, baseline)


def statistics_of(turn: Turn, coded: CodedRows) -> NDArray[np.float64]:
    """Weight, slope and curvature of each row, and how far fixed point may be from the last two.

    The largest statistic has 2³⁰ units at least, so that half a unit is 2⁻³¹ of it at most; a row that is
    curved at all has one unit. Whole weights multiply the units of a row of weight 1.
    """
    weight = weights_of(coded)
    slope, bend = weight * turn.slope, weight * turn.curvature
    if is_whole(weight):
        off, bent = (weight * np.abs(kind).max(initial=0.0) for kind in (turn.slope, turn.curvature))
    else:
        off, bent = (np.full(len(weight), np.abs(kind).max(initial=0.0)) for kind in (slope, bend))
    return np.vstack([weight, slope, bend, HALF_UNIT * off, 2 * HALF_UNIT * bent])


def _rounding(trees: BoostedTrees, nodes: slice, sums: NDArray) -> float:
    """How far the sums of the fit are from those of floats, in shares of what fixed point may do.

    Slopes may be counted from a centre c, the mean step of a node above: S = S′ + c H is off by c times what
    the curvature is off.
    """
    center = np.divide(np.abs(sums[:, 1]), sums[:, 2], out=np.zeros(len(sums)), where=sums[:, 2] > 0)
    for node in np.flatnonzero(trees.feature[nodes] != LEAF):
        for child in (trees.children_left[nodes][node], trees.children_right[nodes][node]):
            center[child] = max(center[child], center[node])
    bounds = (sums[:, 3] + center * sums[:, 4], sums[:, 4])
    worst = 0.0
    for stored, place, bound in ((trees.slope, 1, bounds[0]), (trees.curvature, 2, bounds[1])):
        off = np.abs(stored[nodes] - sums[:, place])
        bound = bound * (1 + 1e-6)  # which leaves room for the rounding of the floats themselves
        worst = max(worst, float(np.max(np.divide(off, bound, out=np.zeros_like(off), where=off > 0))))
    return worst


def _gain_gap(trees: BoostedTrees, nodes: slice, sums: NDArray, l2: float) -> float:
    """Largest relative difference of the gain of a split from that of the sums, beyond rounding."""
    worth, room = worth_of(sums[:, 1], sums[:, 2], l2), room_of(sums[:, 1:], l2)
    inner = trees.feature[nodes] != LEAF
    left, right = trees.children_left[nodes][inner], trees.children_right[nodes][inner]
    expected = worth[left] + worth[right] - worth[inner]
    room = room[left] + room[right] + room[inner]
    gap = np.maximum(np.abs(trees.gain[nodes][inner] - expected) - room, 0.0) / np.maximum(expected, 1e-300)
    return float(gap.max(initial=0.0))


def _imbalance(
    model: Any, loss: Loss, rows: tuple[NDArray, NDArray, NDArray], leaf: NDArray, value: NDArray,
    sums: NDArray, bounds: NDArray,
) -> float:  # fmt: skip
    """How far the values of the leaves are from what their rows ask for, relative to the largest value.

    Within the bounds of constraints that is the clipped optimum: the slope that is left pushes outwards.
    """
    y, weight, score = rows
    bounds = np.clip(bounds, -farthest(loss), farthest(loss))
    ends, rate, l2 = np.unique(leaf), float(model.learning_rate), float(model.l2_regularization)
    halvings, room = range(HALVINGS + 1) if model.halvings_ > 0 else range(1), np.zeros(len(ends))
    if searches_residuals(loss):
        wanted = np.array(
            [loss.constant_minimiser((y - score)[leaf == node], weight[leaf == node]) for node in ends]
        )
    elif model.line_search == "leaf" and loss.strong_convexity == 0 and loss.n_scores == 1:
        tried = (2.0**k * value / rate for k in halvings)
        return min(_slope_left(loss, rows, leaf, ends, one, sums, bounds, l2) for one in tried)
    else:
        size = sums[ends, 2] + l2
        wanted = np.divide(sums[ends, 1], size, out=np.zeros(len(ends)), where=size > 0)
        room = np.divide(sums[ends, 3] + np.abs(wanted) * sums[ends, 4], size, out=room, where=size > 0)
        wanted = np.clip(wanted, -farthest(loss), farthest(loss))
    wanted = rate * np.clip(wanted, *bounds[ends].T)
    largest = max(float(np.abs(wanted).max(initial=0.0)), np.finfo(float).tiny)
    # A round that was halved has half the values, all of them.
    off = (np.abs(value[ends] - 2.0**-k * wanted) - rate * room for k in halvings)
    return max(min(float(gap.max(initial=0.0)) for gap in off), 0.0) / largest


def _slope_left(
    loss: Loss, rows: tuple[NDArray, NDArray, NDArray], leaf: NDArray, ends: NDArray, value: NDArray,
    sums: NDArray, bounds: NDArray, l2: float,
) -> float:  # fmt: skip
    """Slope that is left in each leaf at its value, relative to the size of the slopes at 0.

    At a bound the slope may be anything that pushes outwards (Karush, Kuhn & Tucker).
    """
    y, weight, score = rows
    slope = loss.terms(y, score + value[leaf]).slope
    rest = np.bincount(leaf, weight * slope, minlength=len(sums))[ends] + l2 * value[ends]
    low, high = np.maximum(bounds[ends, 0], -FARTHEST), np.minimum(bounds[ends, 1], FARTHEST)
    near = 1e-6 * np.maximum(np.abs(value[ends]), 1e-6)
    inwards = np.where(value[ends] <= low + near, np.minimum(rest, 0.0), rest)
    inwards = np.where(value[ends] >= high - near, np.maximum(inwards, 0.0), inwards)
    beyond = (value[ends] < low - near) | (value[ends] > high + near)
    size = np.bincount(leaf, weight * np.abs(loss.terms(y, score.copy()).slope), minlength=len(sums))[ends]
    left = np.maximum(np.abs(inwards) - 4 * sums[ends, 3], 0.0) / np.maximum(size, 1e-300)
    return float(np.max(np.where(beyond, np.inf, left), initial=0.0))
