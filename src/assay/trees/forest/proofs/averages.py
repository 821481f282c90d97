"""What averaging is worth: the variance of the mean of B trees against that of independent ones."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, at_most
from assay.trees.forest.solver import Forest, grow_each
from assay.trees.forest.trees import leaves_of_codes

FRESH = 16
"""Trees grown anew to compare with."""

DEVIATIONS = 5.0
"""Standard deviations that the variance may be above what is expected of it."""


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
    """

    observed: float
    expected: float
    variance: float
    correlation: float
    spread: float


def averaging(mean: NDArray[np.float64], n_trees: int, seeds: NDArray, forest: Forest) -> Averaging:
    """Compare the mean of a forest over its rows with trees that new seeds grow."""
    weight = forest.table.weight
    root = np.sqrt(weight / weight.sum())[:, np.newaxis]
    new = np.random.default_rng(seeds).integers(2**62, size=FRESH).tolist()
    places, leaves = np.arange(len(weight)), np.empty(len(weight), dtype=np.int32)
    said = []
    for grown in grow_each(forest._replace(with_outside=False), new):
        tree, table = grown.tree, forest.table
        leaves_of_codes(tree._splits(), tree.cut, table.codes, table.columns.n_codes, places, leaves)
        said.append((root * tree.value[leaves]).ravel())
    fresh = np.array(said)
    own = np.mean(fresh, axis=0)
    inside = float(np.sum((fresh - own) ** 2)) / (FRESH - 1)
    # Differences of disjoint pairs are independent: their cosines tell how many directions trees vary in.
    apart = fresh[::2] - fresh[1::2]
    products = apart @ apart.T
    norms = np.sqrt(np.outer(np.diag(products), np.diag(products)))
    off = ~np.eye(len(apart), dtype=bool)
    cosines = np.divide(products, norms, out=np.zeros_like(products), where=norms > 0)[off]
    middle = root.ravel() @ own.reshape(len(weight), -1)
    total = float(np.sum((fresh - np.outer(np.ones(FRESH), np.outer(root, middle).ravel())) ** 2)) / FRESH
    return Averaging(
        float(np.sum((root * mean - own.reshape(len(weight), -1)) ** 2)),
        inside * (1.0 / n_trees + 1.0 / FRESH),
        total,
        1.0 - inside / total if total > 0 else 1.0,
        float(np.sqrt(2.0 * np.mean(cosines**2))),
    )


def variance_certificate(
    mean: NDArray[np.float64], n_trees: int, seeds: NDArray, forest: Forest, source: str
) -> Certificate:
    """The mean varies as that of B independent trees does: copies of a tree would be worth one."""
    result = averaging(mean, n_trees, seeds, forest)
    few = np.sqrt(max(1.0, FRESH / n_trees))  # the square of a few trees has longer tails than that of many
    rounding = (64 * np.finfo(np.float32).eps * float(np.abs(mean).max(initial=0.0))) ** 2
    return at_most(
        f"The mean of {n_trees} trees varies by ρσ² + (1 − ρ)σ²/{n_trees}, as of independent ones, with "
        f"σ² = {result.variance:.3g} and ρ = {result.correlation:.3g}.",
        "squared distance to the mean of fresh trees, ρσ² taken away",
        result.observed,
        result.expected * (1.0 + few * DEVIATIONS * result.spread) + rounding,
        source,
        assumptions=(
            "trees drawn independently given the rows",
            "five standard deviations",
        ),
    )
