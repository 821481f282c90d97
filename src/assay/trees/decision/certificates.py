"""What a single tree proves about itself, from the rows and its arrays alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.trees.decision.pruning import cut_alphas, least_penalised_cost, node_costs, with_leaves
from assay.trees.decision.recounting import Recomputed, TreeRows, at_nodes, recompute
from assay.trees.decision.search import Admissible, best_gain, last_nodes, row_statistics
from assay.trees.decision.solver import Growth
from assay.trees.growing.columns import Columns, midpoints
from assay.trees.growing.criteria import AbsoluteError, is_of_counts
from assay.trees.tree import EVERY_VALUE, Tree

Array = NDArray[np.float64]

BREIMAN = "Breiman, Friedman, Olshen & Stone (1984), §3.3"
WEI, SANGNIER = "Wei §8.1", "Sangnier §1.6.2"

ROUNDING = 1e-9
"""Relative room for the rounding of sums of floats."""

FIXED_POINT = 1e-7
"""Relative room for gains, which are differences of squares of sums in fixed point."""


def fit_certificates(tree: Tree, data: TreeRows, form: Any, *, bounded: bool) -> Certificates:
    """What can be seen at little cost: by one walk of the rows down the tree."""
    leaves = tree.apply(data.X)
    items = [telescope(tree), recount(tree, leaves, data)]
    if isinstance(form, AbsoluteError):
        items.append(stationary(tree, leaves, data))
    elif not bounded:  # constraints move the values of leaves away from their means
        items.append(fixed_point(tree, leaves, data))
    return Certificates(items)


def telescope(tree: Tree) -> Certificate:
    """Impurity of the root = that of the leaves + gains of the splits."""
    costs = tree.weighted_n_node_samples * tree.impurity
    leaves, size = tree.is_leaf, float(costs[0]) or 1.0
    rest = costs[0] - costs[leaves].sum() - tree.gain[~leaves].sum()
    return at_most(
        "What the splits gain is what the leaves cost less than the root.",
        "relative difference of root, leaves and gains",
        abs(rest) / size,
        FIXED_POINT,
        WEI,
    )


def recount(tree: Tree, leaves: NDArray, data: TreeRows) -> Certificate:
    """Weights of the nodes, counted again by walking the rows."""
    counted = tree.add_up(np.bincount(leaves, data.weight, minlength=tree.node_count).astype(float))
    deviation = np.abs(counted - tree.weighted_n_node_samples).max() / counted[0]
    return at_most(
        "Each node has the weight of the rows that walk through it.",
        "largest relative difference of weights",
        deviation,
        ROUNDING,
        WEI,
    )


def fixed_point(tree: Tree, leaves: NDArray, data: TreeRows) -> Certificate:
    """Sums that the values imply against sums of floats: off by no more than integers of 32 bits may be."""
    center = data.center
    columns = data.terms(center)
    sums = np.column_stack([at_nodes(tree, leaves, column) for column in columns.T])
    weight = at_nodes(tree, leaves, data.weight)
    implied = weight[:, np.newaxis] * (tree.value - center)
    largest = float(np.abs(columns).max(initial=0.0))
    size = float(np.abs(center).max()) + float(np.abs(tree.value).max())
    floats = 8 * np.finfo(float).eps * float(weight[0]) * size  # of the comparison itself
    return at_most(
        "Sums of integers are the sums of the rows but for n·2⁻³² of the largest statistic.",
        "largest error of a sum",
        np.abs(implied - sums).max(),
        len(leaves) * 2.0**-32 * 2 * largest + floats,
        "fixed-point summation",
    )


def stationary(tree: Tree, leaves: NDArray, data: TreeRows) -> Certificate:
    """0 is a slope of Σ w |y − value| in each leaf: neither side outweighs the other and the value itself."""
    value = tree.value[leaves, 0]
    sides = [
        np.bincount(leaves, data.weight * chosen, minlength=tree.node_count)
        for chosen in (data.target < value, data.target == value, data.target > value)
    ]
    excess = np.abs(sides[0] - sides[2]) - sides[1]
    return at_most(
        "Each leaf predicts a median of its rows.",
        "largest slope of the absolute error that is left, as a share of the weight",
        max(float(excess.max()), 0.0) / float(data.weight.sum()),
        ROUNDING,
        "0 is among the subgradients",
    )


def certify_tree(
    tree: Tree, unpruned: Tree | None, data: TreeRows, columns: Columns, growth: Growth, alpha: float
) -> Certificates:
    """Every certificate, from the rows and the fitted attributes alone."""
    partition = is_partition(tree, data.X.shape[1])
    if not partition.holds:  # nothing can walk down such a tree
        return Certificates([partition])
    leaves = tree.apply(data.X)
    seen = recompute(tree, leaves, data, growth)
    items = [partition, *fit_certificates(tree, data, growth.form, bounded=growth.signs is not None)]
    items.append(
        agreement(
            "Values, impurities, gains and counts of the nodes are those of the rows.",
            {
                "value": (tree.value, seen.value),
                "impurity": (tree.impurity, seen.impurity),
                "gain": (tree.gain, seen.gain),
                "counts": (tree.n_node_samples, seen.counts),
            },
            WEI,
        )
    )
    items += split_certificates(tree, leaves, data, columns, growth, seen, is_whole=unpruned is None)
    items += constraint_certificates(tree, growth)
    if unpruned is not None:
        items.append(pruning_certificate(tree, unpruned, alpha))
    return Certificates(items)


def is_partition(tree: Tree, n_columns: int) -> Certificate:
    """Each node but the root is the child of one node, and each threshold lies inside the box it divides."""
    inner = np.flatnonzero(~tree.is_leaf)
    children = np.concatenate([tree.children_left[inner], tree.children_right[inner]])
    wrong = int(tree.node_count != 2 * len(inner) + 1)
    wrong += int(not np.array_equal(np.sort(children), np.arange(1, tree.node_count)))
    wrong += int(np.sum(tree.children_left[inner] <= inner) + np.sum(tree.children_right[inner] <= inner))
    wrong += int(np.sum((tree.feature[inner] < 0) | (tree.feature[inner] >= n_columns)))
    if wrong == 0:
        lower = np.full((tree.node_count, n_columns), -np.inf) if tree.node_count < 4096 else None
        wrong += _crossed(tree, lower) if lower is not None else 0
    claim = "The leaves are disjoint boxes that cover the space."
    return at_most(claim, "nodes that break the partition", wrong, 0, WEI)


def _crossed(tree: Tree, lower: Array) -> int:
    """Splits whose threshold lies outside the box of their node."""
    upper, wrong = np.full_like(lower, np.inf), 0
    for node in np.flatnonzero(~tree.is_leaf):
        j, threshold = tree.feature[node], tree.threshold[node]
        left, right = tree.children_left[node], tree.children_right[node]
        for child in (left, right):
            lower[child], upper[child] = lower[node], upper[node]
        if tree.levels[node] >= 0:
            continue
        # The largest threshold of all divides rows with a value from those without.
        inside = lower[node, j] < threshold <= upper[node, j] or threshold >= EVERY_VALUE
        wrong += int(not inside)
        upper[left, j] = min(upper[left, j], threshold)
        lower[right, j] = threshold
    return wrong


def split_certificates(
    tree: Tree,
    leaves: NDArray,
    data: TreeRows,
    columns: Columns,
    growth: Growth,
    seen: Recomputed,
    *,
    is_whole: bool,
) -> list[Certificate]:
    """No admissible split of a node is better; thresholds are midway; missing values go where they should."""
    order, ends = np.argsort(leaves, kind="stable"), last_nodes(tree)
    ranked = leaves[order]
    excess, off, misplaced, depths = 0.0, 0.0, 0, tree.depths
    exhaustive = not growth.random_cuts and (growth.n_tried == 0 or growth.n_tried >= data.X.shape[1])
    # A leaf of a tree that was neither pruned nor stopped by a number of leaves must have no split at all.
    closed = exhaustive and is_whole and growth.max_leaves is None
    size = float(seen.weight[0] * seen.impurity[0]) or 1.0
    paths = tree.paths
    for node in range(tree.node_count):
        rows = order[np.searchsorted(ranked, node) : np.searchsorted(ranked, ends[node])]
        if not tree.is_leaf[node]:
            gap, wrong = division(tree, node, rows, leaves, data, columns)
            off, misplaced = max(off, gap), misplaced + wrong
        elif not closed or not may_divide(node, rows, data, growth, depths, seen):
            continue
        if exhaustive:
            best = gain_of_rows(rows, data, growth, paths[node], tree, seen, node)
            taken = seen.gain[node] if not tree.is_leaf[node] else max(growth.min_gain, -size)
            excess = max(excess, (best - taken) / size)
    items = [
        at_most(
            "Thresholds lie midway between the values that they divide.",
            "largest relative distance from the middle",
            off,
            ROUNDING,
            SANGNIER,
        ),
        at_most(
            "Values and levels that the rows of a node do not have go to the heavier side.",
            "splits that send them elsewhere",
            misplaced,
            0,
            SANGNIER,
        ),
    ]
    if exhaustive:
        claim = "No admissible split of a node gains more than the one taken, and no leaf has one left."
        items.insert(0, at_most(claim, "largest excess of a gain", excess, FIXED_POINT, WEI))
    return items


def division(
    tree: Tree, node: int, rows: NDArray, leaves: NDArray, data: TreeRows, columns: Columns
) -> tuple[float, int]:
    """How far the threshold is from the middle of its gap, and whether what is absent goes elsewhere."""
    j = int(tree.feature[node])
    x, goes_left = data.X[rows, j].astype(float), leaves[rows] < tree.children_right[node]
    known = ~np.isnan(x)
    weight = data.weight[rows]
    wrong = 0
    if known.all():
        heavier = 2 * weight[goes_left].sum() >= weight.sum() * (1 - ROUNDING)
        tie = np.isclose(2 * weight[goes_left].sum(), weight.sum(), rtol=ROUNDING)
        wrong += int(tree.missing_go_to_left[node] != heavier and not tie)
    if tree.levels[node] >= 0:
        absent = np.setdiff1d(np.arange(columns.n_codes[j]), x[known].astype(int))
        sides = tree.left_codes(node, int(columns.n_codes[j]))[absent]
        return 0.0, wrong + int(np.any(sides != tree.missing_go_to_left[node]))
    left, right = x[known & goes_left], x[known & ~goes_left]
    if not len(left):
        return np.inf, wrong
    if not len(right):
        return (0.0 if tree.threshold[node] >= EVERY_VALUE else np.inf), wrong
    middle = float(midpoints(left.max(), right.min()))
    scale = max(abs(left.max()), abs(right.min()), np.finfo(float).tiny)
    return abs(tree.threshold[node] / scale - middle / scale), wrong


def may_divide(
    node: int, rows: NDArray, data: TreeRows, growth: Growth, depths: NDArray, seen: Recomputed
) -> bool:
    """Whether a leaf is one for want of a split alone: not by depth, weight or purity."""
    target, weight = data.target[rows], seen.weight[node]
    deep = growth.max_depth is not None and depths[node] >= growth.max_depth
    light = weight < max(growth.min_split, 2 * growth.min_leaf) * (1 + 1e-12)
    return not deep and not light and bool(np.any(target != target[0]))


def gain_of_rows(
    rows: NDArray,
    data: TreeRows,
    growth: Growth,
    path: NDArray,
    tree: Tree,
    seen: Recomputed,
    node: int,
) -> float:
    """The best gain of a node, by sorting its rows column by column."""
    is_poisson = is_of_counts(growth.form)
    center: Any = 0.0 if data.n_classes or is_poisson else seen.mean[node]
    stats = row_statistics(growth.form, data.target[rows], data.weight[rows], data.n_classes, center)
    allowed = np.arange(data.X.shape[1])
    if growth.groups is not None:
        above = tree.feature[path[:-1]]
        fits = growth.groups[:, above].all(axis=1)
        allowed = np.flatnonzero(growth.groups[fits].any(axis=0))
    signs = np.zeros(data.X.shape[1]) if growth.signs is None else growth.signs
    shift = float(np.ravel(center)[0])
    limits = (seen.low[node] - shift, seen.high[node] - shift)
    rules = [Admissible(float(growth.min_leaf), float(sign), *limits) for sign in signs]
    return best_gain(growth.form, data.X[rows], stats, allowed, growth.categorical, rules)


def constraint_certificates(tree: Tree, growth: Growth) -> list[Certificate]:
    """Constraints hold everywhere in space, not just on the rows."""
    items = []
    inner = np.flatnonzero(~tree.is_leaf)
    if growth.signs is not None:
        least, most = tree.value[:, -1].copy(), tree.value[:, -1].copy()
        worst = 0.0
        for node in inner[::-1]:
            left, right = tree.children_left[node], tree.children_right[node]
            sign = growth.signs[tree.feature[node]]
            if sign != 0:
                lower, upper = (left, right) if sign > 0 else (right, left)
                worst = max(worst, most[lower] - least[upper])
            least[node], most[node] = min(least[left], least[right]), max(most[left], most[right])
        claim = "On one side of a constrained split no leaf predicts more than any leaf on the other."
        items.append(at_most(claim, "largest step against a constraint", worst, 0.0, SANGNIER))
    if growth.groups is not None:
        paths = tree.paths
        broken = sum(
            not growth.groups[:, tree.feature[paths[leaf][:-1]]].all(axis=1).any()
            for leaf in np.flatnonzero(tree.is_leaf)
        )
        claim = "The columns of each path lie in one group."
        items.append(at_most(claim, "paths that leave their group", broken, 0, SANGNIER))
    return items


def pruning_certificate(tree: Tree, unpruned: Tree, alpha: float) -> Certificate:
    """The pruned tree reaches the least penalised cost of all prunings, and is the smallest that does."""
    same = with_leaves(unpruned, (cut_alphas(unpruned) <= alpha) & ~unpruned.is_leaf) == tree
    costs = node_costs(tree)
    reached = float(costs[tree.is_leaf].sum()) + alpha * tree.n_leaves
    best = least_penalised_cost(unpruned, alpha)
    scale = float(node_costs(unpruned)[0]) + alpha
    excess = abs(reached - best) / (scale or 1.0) if same else np.inf
    claim = "The tree minimises cost + α · leaves over all prunings of the grown one."
    return at_most(claim, "relative excess over the optimum", excess, ROUNDING, f"Wei §8.1.2; {BREIMAN}")


__all__ = ["TreeRows", "certify_tree", "fit_certificates"]
