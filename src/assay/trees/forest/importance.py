"""How much each column matters to a forest, with standard errors over its trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay import rows
from assay.loops import compiled
from assay.rows import MemoryRows
from assay.trees.forest.outside import row_losses
from assay.trees.forest.solver import Forest
from assay.trees.forest.trees import Trees
from assay.trees.tree import Tree

KINDS = ("impurity", "unbiased", "permutation")


@dataclass(frozen=True, eq=False)
class Importance:
    """Importance of each column.

    Attributes
    ----------
    kind : {"impurity", "unbiased", "permutation"}
    names : list of str
        The columns.
    importances : array of shape (n_columns,)
        Mean over the trees.
    standard_errors : array of shape (n_columns,)
        Of that mean, from the spread over the trees.
    each : array of shape (n_trees, n_columns)
        Tree by tree.
    """

    kind: str
    names: list[str]
    importances: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    each: NDArray[np.float64]

    def conf_int(self, level: float = 0.95) -> NDArray[np.float64]:
        """Ends of normal intervals, one row per column."""
        from scipy.stats import norm

        reach = norm.ppf(0.5 + level / 2) * self.standard_errors
        return np.column_stack([self.importances - reach, self.importances + reach])

    def __str__(self) -> str:
        order = np.argsort(-self.importances, kind="stable")
        width = max(map(len, self.names))
        lines = [
            f"{self.names[j]:<{width}}  {self.importances[j]:>10.4g}  ± {self.standard_errors[j]:.2g}"
            for j in order
        ]
        return "\n".join(
            [f"{self.kind} importance, mean over {len(self.each)} trees ± standard error", *lines]
        )


def summarised(kind: str, names: list[str], each: NDArray[np.float64]) -> Importance:
    """Mean and standard error over the trees."""
    n_trees = len(each)
    spread = each.std(axis=0, ddof=1) if n_trees > 1 else np.zeros(each.shape[1])
    return Importance(kind, names, each.mean(axis=0), spread / np.sqrt(n_trees), each)


def impurity_importance(trees: Trees, n_columns: int) -> NDArray[np.float64]:
    """Share of each column in what the splits of each tree gain."""
    return np.array([tree.importances(n_columns) for tree in trees])


def measured_importance(
    model: Any, data: MemoryRows, forest: Forest, kind: str, random: np.random.Generator
) -> NDArray[np.float64]:
    """Importance of each column in each tree on the rows outside its bag."""
    X = np.ascontiguousarray(data.X.toarray() if data.is_sparse else data.X)
    X = model.columns_.levels_as_codes(X)
    weight = forest.table.weight
    seeds = random.integers(2**62, size=len(model.trees_))

    def measure(place: int) -> NDArray[np.float64]:
        tree: Tree = model.trees_[place]
        outside = np.flatnonzero((forest.bag.counts(int(model.seeds_[place])) == 0) & (weight > 0))
        if len(outside) == 0:
            return np.zeros(X.shape[1])
        there = (X[outside], forest.table.target[outside], weight[outside])
        if kind == "unbiased":
            return decrease_of_rows(tree, *there, forest.n_classes) / weight[outside].sum()
        return permuted(tree, *there, forest.n_classes, np.random.default_rng(seeds[place]))

    return np.array(list(rows.ordered_map(measure, range(len(model.trees_)))))


def decrease_of_rows(
    tree: Tree, X: NDArray, target: NDArray, weight: NDArray, n_classes: int
) -> NDArray[np.float64]:
    """How much the splits of each column bring rows nearer to their targets: Σ_i w_i y_i·(child − node).

    On the rows that a tree was grown on this is what the splits gain in Gini index or squared error. On other
    rows its mean is 0 for a column that says nothing, however many values it has (Li et al. 2019).
    """
    out = np.zeros(X.shape[1])
    if n_classes:
        add_paths(tree._splits(), tree.value, X, target.astype(np.int64), weight, out)
    else:
        # About the mean of the root, which changes nothing on the rows of the tree and less on others.
        values = tree.value - tree.value[0]
        add_paths(tree._splits(), values, X, np.zeros(len(X), dtype=np.int64),
                  weight * (target - tree.value[0, 0]), out)  # fmt: skip
    return out


@compiled
def add_paths(splits, value, X, place, weight, out):  # type: ignore[no-untyped-def]
    """Add weight × (value of the child − value of the node) to the column of every split on a row's path."""
    feature, threshold, left, right, missing_left, levels, bits = splits
    for i in range(X.shape[0]):
        node = 0
        while feature[node] >= 0:
            j = feature[node]
            x = X[i, j]
            if levels[node] >= 0:
                code = np.int64(x) if x >= 0.0 and x < 256.0 else -1
                if code < 0:
                    goes_left = missing_left[node]
                else:
                    word = bits[levels[node], code >> 5]
                    goes_left = (word >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)
            elif x != x:
                goes_left = missing_left[node]
            else:
                goes_left = x <= threshold[node]
            child = left[node] if goes_left else right[node]
            out[j] += weight[i] * (value[child, place[i]] - value[node, place[i]])
            node = child


def permuted(
    tree: Tree,
    X: NDArray,
    target: NDArray,
    weight: NDArray,
    n_classes: int,
    random: np.random.Generator,
) -> NDArray[np.float64]:
    """Rise of the error of a tree on rows outside its bag when a column is shuffled among them."""
    out, share = np.zeros(X.shape[1]), weight / weight.sum()

    def error(table: NDArray) -> float:
        return float(np.dot(share, row_losses(tree.value[tree.apply(table)], target, n_classes)))

    base, shuffled = error(X), X.copy()
    for j in np.unique(tree.feature[tree.feature >= 0]):
        shuffled[:, j] = random.permutation(X[:, j])
        out[j] = error(shuffled) - base
        shuffled[:, j] = X[:, j]
    return out
