"""What a forest proves about itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import rows
from assay.certificates import Certificate, Certificates, agreement, at_most
from assay.rows import Rows
from assay.trees.decision.certificates import FIXED_POINT
from assay.trees.decision.recounting import TreeRows
from assay.trees.decision.search import medians_of_nodes
from assay.trees.forest.base import leaves_of_rows
from assay.trees.forest.intervals import KeptRows, keep_rows
from assay.trees.forest.outside import Outside, OutsideVotes, outside_error, outside_score, row_losses
from assay.trees.forest.proofs.averages import variance_certificate
from assay.trees.forest.proofs.splits import excess_of_tree
from assay.trees.forest.solver import Forest
from assay.trees.forest.trees import Trees
from assay.trees.growing.criteria import AbsoluteError
from assay.trees.outputs import numbers_of_values
from assay.trees.tree import Tree

BREIMAN = "Breiman (2001), Random forests, §§2.2, 11"
WEI, SANGNIER = "Wei §8.2", "Sangnier §1.6.4"

ROUNDING = 1e-8
"""Relative room for the rounding of sums."""

AT_ONCE = 2**26
"""Leaves held in memory at a time, one per row and tree."""

Z = 1.959963984540054
"""The 0.975 quantile of the normal law."""


def fit_certificates(trees: Trees) -> Certificates:
    """What can be seen from the nodes alone."""
    return Certificates([telescope(trees)])


def telescope(trees: Trees) -> Certificate:
    """In each tree: impurity of the root = that of the leaves + gains of the splits."""
    nodes, starts = trees.nodes, trees.starts[:-1]
    cost = nodes.weighted_n_node_samples * nodes.impurity
    below = np.where(nodes.is_leaf, cost, nodes.gain)
    rest = cost[starts] - np.add.reduceat(below, starts)
    size = np.where(cost[starts] > 0, cost[starts], 1.0)
    return at_most(
        "In each tree, what the splits gain is what the leaves cost less than the root.",
        "relative difference of root, leaves and gains",
        np.abs(rest / size).max(),
        FIXED_POINT,
        WEI,
    )


class Recount(NamedTuple):
    """A tree seen from the rows: how far its numbers are off, and the leaves of the rows outside its bag.

    `excess` is what a split that was tried and not taken gains more, as a share of the cost of the root.
    """

    weight: float
    value: float
    excess: float
    outside: NDArray[np.int64]
    leaves: NDArray[np.int32]


def recount(tree: Tree, leaves: NDArray[np.int32], seed: int, forest: Forest, scale: float) -> Recount:
    """Weights and values of the nodes of a tree from the rows of its bag, drawn again."""
    counts, weight = forest.weights(seed)
    target = forest.table.target
    weights = tree.add_up(sums_of(leaves, weight, tree))
    off_value = 0.0
    if forest.growth.signs is None:  # constraints move the values of leaves
        off_value = float(np.abs(values_of(tree, leaves, target, weight, forest) - tree.value).max()) / scale
    outside = np.flatnonzero((counts == 0) & (forest.table.weight > 0))
    off_weight = float(np.abs(weights - tree.weighted_n_node_samples).max() / weights[0])
    excess = excess_of_tree(tree, leaves, seed, forest)
    return Recount(off_weight, off_value, excess, outside, leaves[outside])


def values_of(
    tree: Tree, leaves: NDArray[np.int32], target: NDArray, weight: NDArray, forest: Forest
) -> NDArray[np.float64]:
    """Shares of the classes, means or medians of the rows of each node."""
    inside = weight > 0
    if isinstance(forest.growth.form, AbsoluteError):
        return medians_of_nodes(tree, leaves[inside], target[inside], weight[inside])[0][:, np.newaxis]
    terms = TreeRows(target, target, weight, forest.n_classes).terms(0.0)
    weights = tree.add_up(sums_of(leaves, weight, tree))
    sums = [tree.add_up(sums_of(leaves, part, tree)) for part in terms.T]
    return np.column_stack(sums) / np.where(weights > 0, weights, 1.0)[:, np.newaxis]


def sums_of(leaves: NDArray[np.int32], numbers: NDArray, tree: Tree) -> NDArray[np.float64]:
    """Sums of numbers of rows over the leaves of a tree."""
    return np.bincount(leaves, numbers, minlength=tree.node_count).astype(np.float64)


def recounted(
    trees: Trees, data: Rows, model: Any, forest: Forest
) -> tuple[Certificates, Outside, NDArray[np.float64]]:
    """Every tree counted again by walking the rows, what is said out of bag, and the mean of the trees."""
    target, weight = forest.table.target, forest.table.weight
    scale = 1.0 if forest.n_classes else float(np.abs(target).max(initial=0.0)) or 1.0
    votes = OutsideVotes(target, weight, forest.n_classes, forest.ends)
    off_weight = off_value = excess = 0.0
    total = np.zeros((len(target), trees.nodes.value.shape[1]))
    step = max(AT_ONCE // max(data.shape[0], 1), 1)
    for first in range(0, len(trees), step):
        some = Trees.together(trees[first : first + step])
        how: Any = {"dtype": np.int32, "width": len(some)}
        leaves = np.asarray(data.map(leaves_of_rows, some.walk(data.shape[0]), model.columns_, **how))

        def count(place: int, first: int = first, leaves: NDArray = leaves) -> Recount:
            return recount(
                trees[first + place], leaves[:, place], int(model.seeds_[first + place]), forest, scale
            )

        for place, each in enumerate(rows.ordered_map(count, range(len(some)))):
            off_weight, off_value = max(off_weight, each.weight), max(off_value, each.value)
            excess = max(excess, each.excess)
            total += trees[first + place].value[leaves[:, place]]
            votes.add(trees[first + place].value, each.outside, each.leaves)
    source = SANGNIER
    certificates = Certificates(
        [
            at_most(
                "Each node has the weight of the rows of its bag that walk through it.",
                "largest relative difference of weights",
                off_weight,
                ROUNDING,
                source,
            ),
            at_most(
                "Each node has the shares of the classes, or the mean, of the rows of its bag.",
                "largest relative difference of values",
                off_value,
                ROUNDING,
                source,
            ),
            at_most(
                "No split that a node tried gains more than the one taken, and no leaf has one left.",
                "largest excess of a gain",
                excess,
                FIXED_POINT,
                source,
            ),
            at_most(
                "Trees are drawn apart: no two share a seed.",
                "seeds that occur twice",
                len(model.seeds_) - len(np.unique(model.seeds_)),
                0,
                source,
            ),
        ]
    )
    return certificates, votes.result(), total / len(trees)


def certify_forest(model: Any, data: Rows, forest: Forest) -> Certificates:
    """Every certificate, from the rows and the fitted attributes alone."""
    trees, n_classes = model.trees_, forest.n_classes
    counted, outside, mean = recounted(trees, data, model, forest)
    certificates = [telescope(trees), *counted]
    certificates.append(variance_certificate(trees, mean, model.seeds_, forest, WEI))
    if hasattr(model, "kept_"):
        fresh_rows = keep_rows(forest, trees, model.seeds_, model.keep_rows)
        certificates.append(kept_certificate(model.kept_, fresh_rows))
    if not model.bootstrap:
        return Certificates(certificates)
    target, weight = forest.table.target, forest.table.weight
    if hasattr(model, "oob_score_"):
        said = model.oob_decision_function_ if n_classes else model.oob_prediction_
        score = outside_score(model, outside, target, weight, n_classes)
        fresh = outside.mean if n_classes else numbers_of_values(outside.mean)
        certificates.append(
            agreement(
                "Out-of-bag votes, error and score are what the trees say about rows they have not seen.",
                {
                    "votes": (said, fresh),
                    "error": (model.oob_errors_, outside.errors),
                    "score": (model.oob_score_, score),
                },
                BREIMAN,
                rtol=ROUNDING,
            )
        )
    if np.any((outside.counts > 0) & (weight > 0)):
        error, spread = outside_error(outside, target, weight, n_classes, forest.ends)
        certificates.append(error_interval(error, spread, target, weight, forest))
        if n_classes and forest.ends is None:
            certificates.append(margin_bound(outside, target, weight, error))
    return Certificates(certificates)


def kept_certificate(kept: KeptRows, fresh: KeptRows) -> Certificate:
    """The kept leaves and weights are those of the rows."""
    names = ("leaves", "weights", "target", "weight")
    pairs = {name: (getattr(kept, name), getattr(fresh, name)) for name in names}
    return agreement(
        "The rows kept for quantiles and intervals are those of the fit.", pairs, WEI, rtol=1e-12
    )


def error_interval(
    error: float, spread: float, target: NDArray, weight: NDArray, forest: Forest
) -> Certificate:
    """The out-of-bag error with the upper end of its interval; trivial is the best constant."""
    share, n_classes = weight / weight.sum(), forest.n_classes
    best = share @ TreeRows(target, target, np.ones(len(target)), n_classes).terms(0.0)
    constant = np.tile(best, (len(target), 1))
    trivial = float(np.dot(share, row_losses(constant, target, n_classes, forest.ends)))
    return at_most(
        "The error on new rows is at most the out-of-bag error plus 1.96 standard errors.",
        "out-of-bag error" if n_classes else "out-of-bag mean squared error",
        error,
        error + Z * spread,
        BREIMAN,
        assumptions=("rows drawn independently from one law", "95 % confidence, two-sided"),
        trivial=trivial,
        informative=True,
    )


class Margins(NamedTuple):
    """Strength s of the trees, mean correlation ρ̄ of their margins, and Breiman's bound ρ̄ (1 − s²) / s²."""

    strength: float
    correlation: float
    bound: float


def margins(outside: Outside, target: NDArray, weight: NDArray) -> Margins:
    """Strength and correlation from out-of-bag votes.

    The margin of a row is the share of votes for its class less that for the best other class; the strength
    is its mean, and var(margin) = ρ̄ (mean standard deviation of the margin of a tree)². By Chebyshev's
    inequality the error is at most var(margin)/s² ≤ ρ̄ (1 − s²)/s².
    """
    there = (outside.counts > 0) & (weight > 0)
    shares, labels = outside.mean[there].copy(), target[there]
    own = shares[np.arange(len(labels)), labels]
    shares[np.arange(len(labels)), labels] = -1.0
    other = np.maximum(shares.max(axis=1), 0.0)
    share = weight[there] / weight[there].sum()
    margin = own - other
    strength = float(np.dot(share, margin))
    variance = float(np.dot(share, (margin - strength) ** 2))
    # Of one tree: 1 with the chance of the own class, −1 with that of the best other one.
    first, second = float(np.dot(share, own)), float(np.dot(share, other))
    deviation = first + second - (first - second) ** 2
    correlation = min(variance / deviation, 1.0) if deviation > 0 else 0.0
    bound = correlation * (1.0 - strength**2) / strength**2 if strength > 0 else np.inf
    return Margins(strength, correlation, bound)


def margin_bound(outside: Outside, target: NDArray, weight: NDArray, error: float) -> Certificate:
    """Breiman's bound beside the out-of-bag error."""
    measured = margins(outside, target, weight)
    return at_most(
        f"The error is at most ρ̄(1 − s²)/s² with strength s = {measured.strength:.3g} and mean correlation "
        f"ρ̄ = {measured.correlation:.3g} of the trees, out of bag.",
        "out-of-bag error, Breiman's bound",
        error,
        measured.bound,
        BREIMAN,
        assumptions=("strength and correlation are those of infinitely many trees",),
        trivial=1.0,
        informative=True,
    )
