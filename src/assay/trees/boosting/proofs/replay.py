"""The rounds of a fit again, in floats and from the fitted trees: what proofs and importances look at."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.trees.boosting.boost import state_of
from assay.trees.boosting.ensemble import LEAF, BoostedTrees, find_leaves
from assay.trees.boosting.gathering import CodedRows
from assay.trees.boosting.parts import class_curvature, constant_curvature
from assay.trees.growing.binned.team import draw_rows


class Turn(NamedTuple):
    """One tree on the rows.

    Attributes
    ----------
    place : int
        Of the tree in the ensemble.
    output : int
        The score that it adds to.
    nodes : slice
        Its nodes in the arrays of the ensemble.
    leaf : int32 array of shape (n_rows,)
        Counted from its first node.
    scores : float64 array of shape (n_rows, n_outputs)
        Before its round.
    slope, curvature : float64 arrays of shape (n_rows,)
        Negative slope and curvature of each row at those scores, of weight 1.
    """

    place: int
    output: int
    nodes: slice
    leaf: NDArray[np.int32]
    scores: NDArray[np.float64]
    slope: NDArray[np.float64]
    curvature: NDArray[np.float64]


def replay(trees: BoostedTrees, coded: CodedRows, losses: list[Loss]) -> Iterator[Turn]:
    """Every tree on the rows, round by round."""
    codes, y = np.ascontiguousarray(coded.codes.T), coded.target
    n_outputs = trees.n_outputs
    scores = np.tile(trees.baseline, (len(y), 1))
    for number in range(trees.n_rounds):
        moved = scores.copy()
        for k in range(n_outputs):
            place = number * n_outputs + k
            leaf = leaves_of(trees, place, codes)
            moved[:, k] += trees.value[trees.tree(place)][leaf]
            yield Turn(place, k, trees.tree(place), leaf, scores, *slopes(losses, y, scores, k))
        scores = moved


def leaves_of(trees: BoostedTrees, place: int, codes: NDArray[np.uint8]) -> NDArray[np.int32]:
    """The leaf of each row in one tree; codes have a row per column."""
    leaf = np.empty((codes.shape[1], 1), dtype=np.int32)
    find_leaves(codes, trees.one_tree(place), leaf)
    return leaf[:, 0]


def mean_loss(losses: list[Loss], coded: CodedRows, scores: NDArray) -> float:
    """Mean loss of the rows, over several losses averaged."""
    y, weight = coded.target, weights_of(coded)
    if len(losses) == 1:
        held = scores.copy() if losses[0].n_scores > 1 else scores[:, 0].copy()
        return float(weight @ np.asarray(losses[0].value(y, held))) / float(weight.sum())
    each = [float(weight @ np.asarray(one.value(y, scores[:, k].copy()))) for k, one in enumerate(losses)]
    return float(np.mean(each)) / float(weight.sum())


def weights_of(coded: CodedRows) -> NDArray[np.float64]:
    """The weight of each row."""
    return np.ones(len(coded.target)) if coded.weight is None else coded.weight


def slopes(losses: list[Loss], y: NDArray, scores: NDArray, k: int) -> tuple[NDArray, NDArray]:
    """Negative slope and curvature of each row in one score."""
    loss = losses[k if len(losses) > 1 else 0]
    if loss.n_scores > 1:
        terms = loss.terms(y, scores.copy())
        return -terms.slope[:, k], class_curvature(terms.curvature, k)
    terms = loss.terms(y, scores[:, k].copy())
    constant = constant_curvature(loss)
    bend = np.full(len(y), constant) if constant >= 0 else np.maximum(terms.curvature, 0.0)
    return -terms.slope, bend


def state_of_tree(model: Any, place: int) -> int:
    """What the draws of a tree began with; runs side by side draw the same."""
    n_outputs = model.trees_.n_outputs
    number, output = divmod(place, n_outputs)
    several = model.n_runs_ > 1
    return state_of(int(model.seed_), number, 0 if several else output, 1 if several else n_outputs)


def drawn_columns(model: Any, place: int) -> NDArray[np.bool_]:
    """Which columns a tree could be divided by."""
    return model._sampling.draw_columns(model.n_features_in_, state_of_tree(model, place))


def drawn(model: Any, place: int, n_rows: int) -> NDArray[np.bool_]:
    """Which training rows a tree was grown on."""
    share = float(model._sampling.rows)
    if share >= 1.0:
        return np.ones(n_rows, dtype=np.bool_)
    rows = np.empty(n_rows, dtype=np.int32)
    count = draw_rows(rows, 0, share, np.uint64(state_of_tree(model, place)))
    inside = np.zeros(n_rows, dtype=np.bool_)
    inside[rows[:count]] = True
    return inside


def add_up(trees: BoostedTrees, nodes: slice, at_leaves: NDArray) -> NDArray[np.float64]:
    """Sums of each node from those of the leaves; children come after their parents."""
    feature, left, right = trees.feature[nodes], trees.children_left[nodes], trees.children_right[nodes]
    sums = np.array(at_leaves, dtype=np.float64)
    for node in range(len(feature) - 1, -1, -1):
        if feature[node] != LEAF:
            sums[node] = sums[left[node]] + sums[right[node]]
    return sums
