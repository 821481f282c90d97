"""What a single tree proves about itself."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.certificates import Certificate, Certificates, at_most
from assay.trees.tree import Tree

BREIMAN = "Breiman, Friedman, Olshen & Stone (1984), §§2.4, 3.3, 10.2"
WEI, SANGNIER = "Wei §8.1", "Sangnier §1.6.2"

ROUNDING = 1e-9
"""Relative room for the rounding of sums of floats."""


def fit_certificates(tree: Tree, X: NDArray, weight: NDArray) -> Certificates:
    """What can be seen at little cost: the rows by one walk down the tree."""
    return Certificates([telescope(tree), recount(tree, X, weight)])


def telescope(tree: Tree) -> Certificate:
    """Impurity of the root = that of the leaves + gains of the splits."""
    cost = tree.weighted_n_node_samples * tree.impurity
    leaves, size = tree.is_leaf, float(cost[0]) or 1.0
    rest = cost[0] - cost[leaves].sum() - tree.gain[~leaves].sum()
    return at_most(
        "What the splits gain is what the leaves cost less than the root.",
        "relative difference of root, leaves and gains",
        abs(rest) / size,
        ROUNDING,
        WEI,
    )


def recount(tree: Tree, X: NDArray, weight: NDArray) -> Certificate:
    """Weights of the nodes, counted again by walking the rows."""
    counted = tree.add_up(np.bincount(tree.apply(X), weight, minlength=tree.node_count).astype(float))
    deviation = np.abs(counted - tree.weighted_n_node_samples).max() / counted[0]
    return at_most(
        "Each node has the weight of the rows that walk through it.",
        "largest relative difference of weights",
        deviation,
        ROUNDING,
        WEI,
    )


def certify_tree(
    model: Any, X: NDArray, target: NDArray, weight: NDArray, form: Any, n_classes: int
) -> Certificates:
    """Every certificate, from the rows and the fitted attributes alone."""
    return fit_certificates(model.tree_, X, weight)
