"""How much each column matters to boosted trees, tree by tree.

The mean over the trees is the importance in the ensemble, whose trees add up: what a tree has is multiplied
by their number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.trees.boosting.ensemble import LEAF, BoostedTrees
from assay.trees.boosting.gathering import CodedRows
from assay.trees.boosting.holding import divided
from assay.trees.boosting.proofs.replay import Turn, add_up, drawn, leaves_of, mean_loss, replay, weights_of


def gained(trees: BoostedTrees, n_columns: int) -> NDArray[np.float64]:
    """What the splits of each tree gain, in shares of what all trees gain."""
    inner = trees.feature != LEAF
    owner = np.repeat(np.arange(trees.n_trees), np.diff(trees.starts))
    place = owner[inner] * n_columns + trees.feature[inner]
    gains = np.bincount(place, trees.gain[inner], minlength=trees.n_trees * n_columns)
    total = gains.sum()
    return gains.reshape(trees.n_trees, n_columns) * (trees.n_trees / total if total > 0 else 0.0)


def unbiased(model: Any, coded: CodedRows, losses: list[Loss], n_columns: int) -> NDArray[np.float64]:
    """What the splits of each tree gain per row, with rows that it was not grown on in one factor of squares.

    A node of slopes S and curvatures H adds S²/H to the gain; here it adds S q, q = S′/H′ of other rows in
    it. On its own rows that is what the splits gain without penalty. For a column that says nothing q is the
    same on both sides in the first round, however many values the column has, and the mean is 0 (Zhou &
    Hooker 2021, for Newton steps); later it is below 0, for the trees before have fitted noise. The
    other rows are those held out for early stopping, else those that the tree did not draw.
    """
    trees, n_held = model.trees_, int(model.n_held_out_)
    train, held = divided(len(coded.target), n_held, model.seed_)
    other = coded.take(held) if n_held > 0 else coded
    each = np.zeros((trees.n_trees, n_columns))
    for turn in replay(trees, other, losses):
        rows = np.ones(n_held, bool) if n_held > 0 else ~drawn(model, turn.place, len(train))
        each[turn.place] = _gain_of_others(trees, turn, weights_of(other) * rows, n_columns)
    return each * trees.n_trees


def _gain_of_others(trees: BoostedTrees, turn: Turn, weight: NDArray, n_columns: int) -> NDArray[np.float64]:
    nodes, count = turn.nodes, turn.nodes.stop - turn.nodes.start
    sums = [
        add_up(trees, nodes, np.bincount(turn.leaf, weight * kind, minlength=count))
        for kind in (turn.slope, turn.curvature)
    ]
    step = np.divide(sums[0], sums[1], out=np.zeros(count), where=sums[1] > 0)
    worth = trees.slope[nodes] * step
    inner = np.flatnonzero(trees.feature[nodes] != LEAF)
    left, right = trees.children_left[nodes][inner], trees.children_right[nodes][inner]
    both = (sums[1][left] > 0) & (sums[1][right] > 0)  # without other rows on one side nothing is known
    inner, left, right = inner[both], left[both], right[both]
    gains = worth[left] + worth[right] - worth[inner]
    total = trees.weight[nodes.start]
    return np.bincount(trees.feature[nodes][inner], gains / total, minlength=n_columns).astype(np.float64)


def permuted(
    model: Any, coded: CodedRows, losses: list[Loss], random: np.random.Generator
) -> NDArray[np.float64]:
    """How much the mean loss of rows rises when a column is shuffled among them.

    The trees get the shuffled column one after the other; what each adds to the loss, summed up, is the rise
    of the loss of the ensemble.
    """
    trees: BoostedTrees = model.trees_
    codes = np.ascontiguousarray(coded.codes.T)
    each = np.zeros((trees.n_trees, len(codes)))
    scores = np.tile(trees.baseline, (len(coded.target), 1))
    trees.add_scores(codes, scores, range(trees.n_trees))
    base = mean_loss(losses, coded, scores)
    for j in np.unique(trees.feature[trees.feature >= 0]):
        shuffled, moved, before = codes.copy(), scores.copy(), base
        shuffled[j] = random.permutation(codes[j])
        for place in range(trees.n_trees):
            nodes = trees.tree(place)
            if j not in trees.feature[nodes]:
                continue
            value = trees.value[nodes]
            step = value[leaves_of(trees, place, shuffled)] - value[leaves_of(trees, place, codes)]
            moved[:, place % trees.n_outputs] += step
            after = mean_loss(losses, coded, moved)
            each[place, j], before = after - before, after
    return each * trees.n_trees
