"""What averaging is worth: the variance of the mean of B trees against that of independent ones."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.trees.forest.solver import Forest, grow_each
from assay.trees.forest.trees import Trees, leaves_of_codes
from assay.trees.tree import Tree

FRESH = 16
"""Trees grown anew to compare with."""

DEVIATIONS = 5.0
"""Standard deviations that the variance may be above what is expected of it."""

MOST = 64
"""Trees of the forest that are put to the second test."""

SHUFFLES = 999
"""Divisions of old and new trees in the second test."""


class Averaging(NamedTuple):
    """How the mean of a forest differs from that of fresh trees, per row and unit of weight.

    Attributes
    ----------
    observed : float
        Mean squared difference of both means.
    expected : float
        What independent trees would give: V (1/B + 1/m), V = (1 − ρ)σ² the variance of a tree at a row.
    variance, correlation : float
        σ² of the predictions of a tree over rows and seeds, and ρ between two trees.
    spread : float
        Standard deviation of observed / expected.
    fresh : array of shape (FRESH, n_rows · n_columns of the values)
        What the fresh trees say, see `said_by`.
    """

    observed: float
    expected: float
    variance: float
    correlation: float
    spread: float
    fresh: NDArray[np.float64]


def averaging(mean: NDArray[np.float64], n_trees: int, seeds: NDArray, forest: Forest) -> Averaging:
    """Compare the mean of a forest over its rows with trees that new seeds grow."""
    new = np.random.default_rng(seeds).integers(2**62, size=FRESH).tolist()
    grown = [each.tree for each in grow_each(forest._replace(with_outside=False), new)]
    fresh, root = said_by(grown, forest), root_of(forest)
    own = np.mean(fresh, axis=0)
    inside = float(np.sum((fresh - own) ** 2)) / (FRESH - 1)
    # Differences of disjoint pairs are independent: their cosines tell how many directions trees vary in.
    apart = fresh[::2] - fresh[1::2]
    products = apart @ apart.T
    norms = np.sqrt(np.outer(np.diag(products), np.diag(products)))
    off = ~np.eye(len(apart), dtype=bool)
    cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)[off]
    middle = root.ravel() @ own.reshape(len(root), -1)
    total = float(np.sum((fresh - np.outer(np.ones(FRESH), np.outer(root, middle).ravel())) ** 2)) / FRESH
    return Averaging(
        float(np.sum((root * mean - own.reshape(len(root), -1)) ** 2)),
        inside * (1.0 / n_trees + 1.0 / FRESH),
        total,
        1.0 - inside / total if total > 0 else 1.0,
        float(np.sqrt(2.0 * np.mean(cosines**2))),
        fresh,
    )


def root_of(forest: Forest) -> NDArray[np.float64]:
    """Square root of the share of each row in the weight, by which squares of rows are summed."""
    weight = forest.table.weight
    return np.asarray(np.sqrt(weight / weight.sum())[:, np.newaxis])


def said_by(trees: Iterable[Tree], forest: Forest) -> NDArray[np.float64]:
    """What each tree says of all rows, times the root of their share."""
    table, root = forest.table, root_of(forest)
    places, leaves = np.arange(len(root)), np.empty(len(root), dtype=np.int32)
    said = []
    for tree in trees:
        leaves_of_codes(tree._splits(), tree.cut, table.codes, table.columns.n_codes, places, leaves)
        said.append((root * tree.value[leaves]).ravel())
    return np.array(said)


def widest_by_chance(own: NDArray[np.float64], fresh: NDArray[np.float64], n_trees: int) -> float:
    """The largest squared distance of both means when trees of the forest and fresh ones are shuffled.

    Drawn independently they might change places, whatever their law: trees of a rare kind, which the fresh
    ones lack, are as rare in every division. Copies of a tree are together in the forest alone.
    """
    both = np.concatenate([own, fresh])
    products, random = both @ both.T, np.random.default_rng(0)
    sides = np.concatenate([np.full(len(own), 1.0 / len(own)), np.full(len(fresh), -1.0 / len(fresh))])
    shuffled = np.array([random.permutation(sides) for _ in range(SHUFFLES)])
    widest = float(np.max(np.sum((shuffled @ products) * shuffled, axis=1)))
    # The mean of all trees varies less than that of those that are shuffled.
    return widest * (1.0 / n_trees + 1.0 / len(fresh)) / (1.0 / len(own) + 1.0 / len(fresh))


def variance_certificate(
    trees: Trees, mean: NDArray[np.float64], seeds: NDArray, forest: Forest, source: str
) -> Certificate:
    """The mean varies as that of B independent trees does: copies of a tree would be worth one.

    Where it is farther from the mean of fresh trees than deviations of a normal law allow, both kinds are
    shuffled: trees of few kinds have no such law.
    """
    n_trees = len(trees)
    result = averaging(mean, n_trees, seeds, forest)
    few = np.sqrt(max(1.0, FRESH / n_trees))  # the square of a few trees has longer tails than that of many
    rounding = (64 * np.finfo(np.float32).eps * float(np.abs(mean).max(initial=0.0))) ** 2
    bound = result.expected * (1.0 + few * DEVIATIONS * result.spread) + rounding
    if result.observed > bound:
        bound = max(bound, widest_by_chance(said_by(trees[:MOST], forest), result.fresh, n_trees))
    return at_most(
        f"The mean of {n_trees} trees varies by ρσ² + (1 − ρ)σ²/{n_trees}, as of independent ones, with "
        f"σ² = {result.variance:.3g} and ρ = {result.correlation:.3g}.",
        "squared distance to the mean of fresh trees, ρσ² taken away",
        result.observed,
        bound,
        source,
        assumptions=(
            "trees drawn independently given the rows",
            "five standard deviations, or more than in 999 divisions of old and fresh trees",
        ),
    )
