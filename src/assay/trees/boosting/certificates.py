"""What boosted trees prove about themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.losses import Loss
from assay.trees.boosting.boost import FARTHEST, searches_residuals
from assay.trees.boosting.ensemble import LEAF, BoostedTrees
from assay.trees.boosting.gathering import CodedRows
from assay.trees.boosting.replay import Turn, add_up, mean_loss, replay, weights_of
from assay.trees.constraints import groups_of, signs_of
from assay.trees.growing.columns import Columns

WEI = "Wei §8.4; Friedman (2001)"
ROUNDING = 1e-12
FIXED_POINT = 2.0**-24
"""Room for the rounding of statistics to units: the largest of them has at least 2²⁴."""


def fit_certificates(model: Any) -> Certificates:
    """What is seen without walking the rows again."""
    claims = [risk_claim(model, -model.train_score_)] if model.subsample >= 1.0 else []
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


def constraint_claims(model: Any) -> list[Certificate]:
    """Constraints hold everywhere, by the order of the leaves and the columns of the paths."""
    claims, trees = [], model.trees_
    signs, groups = signs_of(model, model.is_categorical_), groups_of(model)
    if signs is not None:
        claims.append(
            at_most(
                "Along each constrained column the prediction is monotone everywhere.",
                "largest step of a tree against its constraint",
                monotone_violation(trees, signs),
                0.0,
                WEI,
            )
        )
    if groups is not None:
        claims.append(
            at_most(
                "The columns of every path are in one group.",
                "paths that leave all groups",
                paths_outside(trees, groups),
                0,
                WEI,
            )
        )
    return claims


def monotone_violation(trees: BoostedTrees, signs: NDArray) -> float:
    """Largest amount by which a leaf beyond a constrained split is on the wrong side of one before it.

    Leaves below both sides of a split in one column are compared where their boxes overlap in the others,
    which is more than what is asked where none of the later splits is on that column.
    """
    worst = 0.0
    for place in range(trees.n_trees):
        nodes = trees.tree(place)
        feature, value = trees.feature[nodes], trees.value[nodes]
        left, right = trees.children_left[nodes], trees.children_right[nodes]
        low, high = value.copy(), value.copy()
        for node in range(len(feature) - 1, -1, -1):  # children come after their parents
            if feature[node] == LEAF:
                continue
            a, b = left[node], right[node]
            low[node], high[node] = min(low[a], low[b]), max(high[a], high[b])
            sign = signs[feature[node]]
            if sign > 0:
                worst = max(worst, high[a] - low[b])
            elif sign < 0:
                worst = max(worst, high[b] - low[a])
    return float(worst)


def paths_outside(trees: BoostedTrees, groups: NDArray[np.bool_]) -> int:
    """Leaves whose path has columns of no common group."""
    outside = 0
    for place in range(trees.n_trees):
        nodes = trees.tree(place)
        feature, left, right = trees.feature[nodes], trees.children_left[nodes], trees.children_right[nodes]
        fits = np.ones((len(feature), len(groups)), dtype=bool)
        for node in range(len(feature)):
            if feature[node] == LEAF:
                outside += not fits[node].any()
                continue
            for child in (left[node], right[node]):
                fits[child] = fits[node] & groups[:, feature[node]]
    return outside


def certify_boosting(model: Any, coded: CodedRows, fresh: Columns, losses: list[Loss]) -> Certificates:
    """Every certificate, from the rows and the fitted attributes alone."""
    trees: BoostedTrees = model.trees_
    seen = walk_rounds(model, coded, losses)
    inner = trees.feature != LEAF
    thresholds = np.full(len(inner), np.nan)
    ordered = inner & ~fresh.categorical[trees.feature]
    columns = trees.feature[ordered]
    last = fresh.offsets[columns + 1] - 1
    place = fresh.offsets[columns] + trees.cut[ordered]
    thresholds[ordered] = np.where(place < last, fresh.cuts[np.minimum(place, last)], np.inf)
    whole = not model.do_early_stopping_ and model.subsample >= 1.0
    claims = [
        agreement(
            "The bins are those of the rows, and the thresholds the ends of bins.",
            {
                "low": (model.columns_.low, fresh.low),
                "high": (model.columns_.high, fresh.high),
                "offsets": (model.columns_.offsets, fresh.offsets),
                "codes of levels": (model.columns_.shared, fresh.shared),
                "thresholds": (trees.threshold, thresholds),
                "n_codes": (trees.n_codes, fresh.n_codes),
            },
            WEI,
            rtol=1e-9,
        ),
        *constraint_claims(model),
    ]
    if not whole:  # the rows held out or not drawn are not known any more
        return Certificates(claims)
    claims += [
        risk_claim(model, seen["risk"]),
        agreement(
            "The risk of each round is what its trees give on the rows.",
            {"train_score_": (-model.train_score_, seen["risk"])},
            WEI,
            rtol=1e-7,
        ),
        agreement(
            "Each node has the weight of the rows that walk through it.",
            {"weight": (trees.weight, seen["weight"])},
            WEI,
        ),
        at_most(
            "The value of every leaf is stationary: the slopes of its rows balance.",
            "largest relative imbalance of a leaf",
            seen["imbalance"],
            1e-5,
            WEI,
        ),
        at_most(
            "Every split gains what the slopes and curvatures of its sides say.",
            "largest relative difference of gains",
            seen["gain"],
            1e-5,
            WEI,
        ),
        agreement(
            "The scores start from the best constant.",
            {"baseline": (trees.baseline, seen["baseline"])},
            WEI,
            rtol=1e-7,
        ),
    ]
    return Certificates(claims)


def walk_rounds(model: Any, coded: CodedRows, losses: list[Loss]) -> dict[str, Any]:
    """Go through the rounds again, in floats and on the rows of the fit."""
    trees: BoostedTrees = model.trees_
    weight, scores = weights_of(coded), np.tile(trees.baseline, (len(coded.target), 1))
    risk = [mean_loss(losses, coded, scores)]
    counted, imbalance, gain_gap = np.zeros(len(trees.feature)), 0.0, 0.0
    rate = float(model.learning_rate)
    for turn in replay(trees, coded, losses):
        k, nodes, leaf = turn.output, turn.nodes, turn.leaf
        value = trees.value[nodes]
        if k == 0:
            scores = turn.scores.copy()
        scores[:, k] += value[leaf]
        sums = _node_sums(trees, turn, weight)
        counted[nodes] = sums[:, 0]
        loss = losses[k if len(losses) > 1 else 0]
        rows = (coded.target, weight, turn.scores[:, k])
        imbalance = max(imbalance, _imbalance(model, loss, rows, leaf, value, sums, rate))
        gain_gap = max(gain_gap, _gain_gap(trees, nodes, sums, float(model.l2_regularization)))
        if k == trees.n_outputs - 1:
            risk.append(mean_loss(losses, coded, scores))
    return {
        "risk": np.array(risk),
        "weight": counted,
        "imbalance": imbalance,
        "gain": gain_gap,
        "baseline": model._baseline(losses, coded.target, coded.weight),
    }


def _node_sums(trees: BoostedTrees, turn: Turn, weight: NDArray) -> NDArray[np.float64]:
    """Weight, negative slope, curvature, size of slopes and their rounding, of each node."""
    count = turn.nodes.stop - turn.nodes.start
    kinds = [weight, weight * turn.slope, weight * turn.curvature, weight * np.abs(turn.slope)]
    unit = FIXED_POINT * max(float(kinds[3].max()), float(kinds[2].max()))
    kinds.append(np.full(len(weight), unit))
    sums = np.column_stack([np.bincount(turn.leaf, kind, minlength=count) for kind in kinds]).astype(float)
    return add_up(trees, turn.nodes, sums)


def _gain_gap(trees: BoostedTrees, nodes: slice, sums: NDArray, l2: float) -> float:
    size = sums[:, 2] + l2
    cost = np.divide(sums[:, 1] ** 2, size, out=np.zeros(len(size)), where=size > 0)
    inner = trees.feature[nodes] != LEAF
    left, right = trees.children_left[nodes][inner], trees.children_right[nodes][inner]
    expected = cost[left] + cost[right] - cost[inner]
    step = np.divide(np.abs(sums[:, 1]), size, out=np.zeros(len(size)), where=size > 0)
    # What the rounding of statistics to units, and of these sums, may change.
    room = 2 * sums[:, 4] * (step + step**2) + ROUNDING * cost
    room = room[left] + room[right] + room[inner]
    gap = np.maximum(np.abs(trees.gain[nodes][inner] - expected) - room, 0.0) / np.maximum(expected, 1e-300)
    return float(gap.max(initial=0.0))


def _imbalance(
    model: Any, loss: Loss, rows: tuple[NDArray, NDArray, NDArray], leaf: NDArray, value: NDArray,
    sums: NDArray, rate: float,
) -> float:  # fmt: skip
    """How far the values of the leaves are from what their rows ask for, relative to the largest value.

    A halved round has half the values: the factor of the round is read from its largest leaf.
    """
    y, weight, score = rows
    ends = np.flatnonzero(sums[:, 0] > 0)
    ends = ends[np.isin(ends, np.unique(leaf))]
    l2 = float(model.l2_regularization)
    if searches_residuals(loss):
        wanted = np.array(
            [loss.constant_minimiser((y - score)[leaf == node], weight[leaf == node]) for node in ends]
        )
    else:
        size = sums[ends, 2] + l2
        wanted = np.divide(sums[ends, 1], size, out=np.zeros(len(ends)), where=size > 0)
        if model.line_search == "leaf" and loss.strong_convexity == 0 and loss.n_scores == 1:
            return _slope_left(loss, rows, leaf, ends, value / rate, sums, l2)
    if model.monotonic_cst is not None:  # bounds of constraints: each value lies between 0 and its own
        return 0.0
    wanted = rate * wanted
    largest = float(np.abs(wanted).max(initial=0.0))
    if largest == 0.0:
        return float(np.abs(value[ends]).max(initial=0.0))
    top = int(np.argmax(np.abs(wanted)))
    halved = np.log2(max(abs(wanted[top]), 1e-300) / max(abs(value[ends][top]), 1e-300))
    factor = 2.0 ** -max(round(float(halved)), 0) if model.halvings_ > 0 else 1.0
    return float(np.abs(value[ends] - factor * wanted).max() / largest)


def _slope_left(
    loss: Loss, rows: tuple[NDArray, NDArray, NDArray], leaf: NDArray, ends: NDArray, value: NDArray,
    sums: NDArray, l2: float,
) -> float:  # fmt: skip
    """Slope that is left in each leaf at its value, relative to the size of the slopes at 0."""
    y, weight, score = rows
    slope = loss.terms(y, score + value[leaf]).slope
    rest = np.bincount(leaf, weight * slope, minlength=len(sums))[ends] + l2 * value[ends]
    bound = np.abs(value[ends]) >= FARTHEST * (1 - 1e-9)
    size = np.maximum(sums[ends, 3], 1e-300)
    left = np.maximum(np.abs(rest) - sums[ends, 4], 0.0)
    return float(np.max(np.where(bound, 0.0, left / size), initial=0.0))
