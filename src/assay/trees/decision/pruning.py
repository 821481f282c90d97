"""Cost-complexity pruning: the nested subtrees that minimise cost + α · leaves, and the choice of α.

With R(t) the cost of node t as a leaf and R(T_t), |T_t| cost and leaves of what grows from it, t is worth
keeping up to α = (R(t) − R(T_t)) / (|T_t| − 1). Cutting the node where this is least, again and again, passes
through all minimisers (Breiman et al.). Each inner node is given the α at which it is cut or vanishes; a row
then finds its leaf in the subtree of any α by walking down to the first node whose α is no larger.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled, inner
from assay.trees.tree import LEAF, NO_THRESHOLD, Tree

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class PruningPath:
    """The nested subtrees that minimise Σ (W_m / W) Q_m + α · leaves, one for each interval of α.

    Attributes
    ----------
    ccp_alphas : array of shape (n_subtrees,)
        Where each interval begins, increasing; the first is 0, the last the root alone.
    impurities : array of shape (n_subtrees,)
        Σ (W_m / W) Q_m over the leaves of each subtree.
    n_leaves : int array of shape (n_subtrees,)
    total_weight : float
        W: with the cost Σ n_m Q_m of the course, α is `ccp_alphas * total_weight`.
    """

    ccp_alphas: Array
    impurities: Array
    n_leaves: NDArray[np.int64]
    total_weight: float

    @property
    def middles(self) -> Array:
        """A penalty inside each interval: the geometric mean of its ends, 0 for the whole tree."""
        return np.append(np.sqrt(self.ccp_alphas[:-1] * self.ccp_alphas[1:]), self.ccp_alphas[-1])


def node_costs(tree: Tree) -> Array:
    """Share of the weight of each node times its impurity."""
    return tree.weighted_n_node_samples / tree.weighted_n_node_samples[0] * tree.impurity


def cut_alphas(tree: Tree) -> Array:
    """For each node the penalty at which it becomes a leaf or vanishes; −1 in leaves."""
    cost, alphas = node_costs(tree), np.where(tree.is_leaf, -1.0, np.inf)
    weakest_links(tree.children_left, tree.children_right, cost, tree.parents, alphas)
    for node in np.flatnonzero(~tree.is_leaf):  # what grows from a node goes with it
        for child in (tree.children_left[node], tree.children_right[node]):
            alphas[child] = min(alphas[child], alphas[node])
    return alphas


@compiled
def weakest_links(left, right, cost, parents, alphas):  # type: ignore[no-untyped-def]
    """Cut the weakest link until the root is left, writing the penalty of each cut.

    Invariant: `least[t]` is the smallest worth of an inner node in what grows from t, infinite in leaves, so
    that the weakest link is found by walking down and a cut changes its ancestors alone.
    """
    n = left.shape[0]
    below, leaves, worth, least = cost.copy(), np.ones(n), np.full(n, np.inf), np.full(n, np.inf)
    for node in range(n - 1, -1, -1):
        if left[node] >= 0:
            update_link(node, left, right, cost, below, leaves, worth, least)
    alpha = 0.0
    while least[0] < np.inf:
        node = 0
        while worth[node] > least[0]:
            node = left[node] if least[left[node]] <= least[right[node]] else right[node]
        alpha = max(alpha, worth[node])
        alphas[node] = alpha
        below[node], leaves[node], worth[node], least[node] = cost[node], 1.0, np.inf, np.inf
        node = parents[node]
        while node >= 0:
            update_link(node, left, right, cost, below, leaves, worth, least)
            node = parents[node]


@inner
def update_link(node, left, right, cost, below, leaves, worth, least):  # type: ignore[no-untyped-def]
    """Cost, leaves and weakest link of what grows from a node, from its children."""
    one, other = left[node], right[node]
    below[node] = below[one] + below[other]
    leaves[node] = leaves[one] + leaves[other]
    worth[node] = max(cost[node] - below[node], 0.0) / (leaves[node] - 1.0)
    least[node] = min(worth[node], least[one], least[other])


def pruning_path(tree: Tree) -> PruningPath:
    """All subtrees that are best for some penalty."""
    cut, cost = cut_alphas(tree), node_costs(tree)
    inner = ~tree.is_leaf
    alphas = np.unique(np.concatenate([[0.0], cut[inner]]))
    # A node is a leaf of the subtree of α while its own penalty is at most α and that of its parent is above.
    above = np.append(cut, np.inf)[tree.parents]
    first, last = np.searchsorted(alphas, cut), np.searchsorted(alphas, above)
    sizes, costs = np.zeros(len(alphas) + 1), np.zeros(len(alphas) + 1)
    for sums, amount in ((sizes, np.ones(tree.node_count)), (costs, cost)):
        np.add.at(sums, first, amount)
        np.add.at(sums, last, -amount)
    n_leaves = np.rint(np.cumsum(sizes)[:-1]).astype(np.int64)
    total = float(tree.weighted_n_node_samples[0])
    return PruningPath(alphas, np.cumsum(costs)[:-1], n_leaves, total)


def pruned(tree: Tree, alpha: float) -> Tree:
    """The smallest subtree that minimises cost + α · leaves."""
    cut = cut_alphas(tree)
    return tree if tree.is_leaf[0] else with_leaves(tree, (cut <= alpha) & ~tree.is_leaf)


def with_leaves(tree: Tree, cut: NDArray[np.bool_]) -> Tree:
    """The tree with some inner nodes made leaves, and nothing below them."""
    kept = np.ones(tree.node_count, dtype=np.bool_)
    for node in np.flatnonzero(~tree.is_leaf):
        if cut[node] or not kept[node]:
            kept[tree.children_left[node]] = kept[tree.children_right[node]] = False
    place = np.append(np.cumsum(kept) - 1, -1)
    nodes = np.flatnonzero(kept)
    inner = ~tree.is_leaf[nodes] & ~cut[nodes]
    levels = np.where(inner, tree.levels[nodes], -1)
    used = levels >= 0
    return replace(
        tree,
        children_left=np.where(inner, place[tree.children_left[nodes]], -1).astype(np.int32),
        children_right=np.where(inner, place[tree.children_right[nodes]], -1).astype(np.int32),
        feature=np.where(inner, tree.feature[nodes], LEAF).astype(np.int32),
        threshold=np.where(inner, tree.threshold[nodes], NO_THRESHOLD),
        missing_go_to_left=tree.missing_go_to_left[nodes] & inner,
        levels=np.where(used, np.cumsum(used) - 1, -1).astype(np.int32),
        bits=tree.bits[levels[used]],
        value=tree.value[nodes],
        impurity=tree.impurity[nodes],
        gain=np.where(inner, tree.gain[nodes], 0.0),
        weighted_n_node_samples=tree.weighted_n_node_samples[nodes],
        n_node_samples=tree.n_node_samples[nodes],
        cut=np.where(inner, tree.cut[nodes], -1),
    )


def least_penalised_cost(tree: Tree, alpha: float) -> float:
    """The least cost + α · leaves over all prunings, by dynamic programming from the leaves up."""
    best = node_costs(tree) + alpha
    for node in np.flatnonzero(~tree.is_leaf)[::-1]:  # children come after their parents
        best[node] = min(best[node], best[tree.children_left[node]] + best[tree.children_right[node]])
    return float(best[0])


class HeldOut(NamedTuple):
    """Losses of held-out rows along the penalties: their weight, weighted sums and sums of squares."""

    weight: float
    sums: Array
    squares: Array


def held_out_losses(
    tree: Tree, X: NDArray, target: NDArray, weight: NDArray, alphas: Array, *, is_class: bool
) -> HeldOut:
    """Losses of rows under the subtrees of decreasing penalties: mistakes, or squared errors."""
    said = tree.value.argmax(axis=1).astype(np.float64) if is_class else tree.value[:, 0].copy()
    leaves, parents = tree.apply(X), tree.parents
    sums, squares = np.zeros(len(alphas)), np.zeros(len(alphas))
    how = (leaves, parents, cut_alphas(tree), said, target.astype(np.float64), weight)
    add_losses(*how, alphas, is_class, sums, squares)
    return HeldOut(float(weight.sum()), sums, squares)


@compiled
def add_losses(  # type: ignore[no-untyped-def]
    leaves, parents, cut, said, target, weight, alphas, is_class, sums, squares
):
    """Add the loss of each row at each penalty: from its leaf up while the penalty rises."""
    for i in range(leaves.shape[0]):
        node = leaves[i]
        for k in range(alphas.shape[0] - 1, -1, -1):
            while parents[node] >= 0 and cut[parents[node]] <= alphas[k]:
                node = parents[node]
            if is_class:
                loss = 1.0 if said[node] != target[i] else 0.0
            else:
                loss = (said[node] - target[i]) ** 2
            sums[k] += weight[i] * loss
            squares[k] += weight[i] * loss * loss


def nodes_along(tree: Tree, X: NDArray, alphas: Array) -> NDArray[np.intp]:
    """The leaf of each row in the subtrees of decreasing penalties: from its leaf up as the penalty rises."""
    node, parents, cut = tree.apply(X).astype(np.intp), tree.parents, np.append(cut_alphas(tree), np.inf)
    nodes = np.empty((len(node), len(alphas)), dtype=np.intp)
    for place in range(len(alphas) - 1, -1, -1):
        while (rises := (parents[node] >= 0) & (cut[parents[node]] <= alphas[place])).any():
            node = np.where(rises, parents[node], node)
        nodes[:, place] = node
    return nodes


def standard_errors(parts: list[HeldOut]) -> tuple[Array, Array]:
    """Mean loss of all held-out rows, and its standard error over the rows (that of rpart)."""
    weight = sum(part.weight for part in parts)
    mean = np.sum([part.sums for part in parts], axis=0) / weight
    squares = np.sum([part.squares for part in parts], axis=0)
    return mean, np.sqrt(np.maximum(squares - weight * mean**2, 0.0)) / weight


def chosen_penalty(mean: Array, error: Array, rule: str) -> int:
    """Place of the least loss, or of the largest penalty whose loss is within one error of it."""
    best = int(np.argmin(mean))  # penalties decrease: the simplest of equal trees comes first
    if rule == "min":
        return best
    return int(np.argmax(mean <= mean[best] + error[best]))
