"""What single trees share: parameters, growing and pruning, and the ways to read a tree."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.certificates import Certificates
from assay.models.capabilities import require_memory
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, MemoryRows
from assay.trees.constraints import groups_of, signs_of
from assay.trees.decision.certificates import TreeRows, certify_tree, fit_certificates
from assay.trees.decision.pruning import pruned
from assay.trees.decision.reading import Box, boxes_of, conditions
from assay.trees.decision.selecting import HasPruning
from assay.trees.decision.solver import Growth, grow_exact
from assay.trees.growing.columns import Columns
from assay.trees.growing.criteria import AbsoluteError, Several
from assay.trees.opening import CATEGORICAL_FEATURES, TreeModel
from assay.trees.outputs import numbers_of_values
from assay.trees.tree import Tree
from assay.trees.walking import Walk

EPS = float(np.finfo(np.float64).eps)

SHARE = parameters.real(above=0.0, at_most=1.0)

INSTEAD = "a histogram-boosted tree reads them block by block"

GROWTH_DOMAINS: Mapping[str, Domain] = {
    "splitter": parameters.one_of("best", "random"),
    "max_depth": parameters.nothing | parameters.integer(at_least=1),
    "min_samples_split": parameters.integer(at_least=2) | SHARE,
    "min_samples_leaf": parameters.integer(at_least=1) | SHARE,
    "min_weight_fraction_leaf": parameters.real(at_least=0.0, at_most=0.5),
    "max_features": parameters.nothing
    | parameters.integer(at_least=1)
    | SHARE
    | parameters.one_of("sqrt", "log2"),
    "random_state": parameters.random_state,
    "max_leaf_nodes": parameters.nothing | parameters.integer(at_least=2),
    "min_impurity_decrease": parameters.real(at_least=0.0),
    "ccp_alpha": parameters.real(at_least=0.0),
    "monotonic_cst": parameters.nothing
    | Domain("a list of -1, 0 and 1, one per column, or a dict of names", lambda value: _is_listed(value)),
    "interaction_cst": parameters.nothing
    | parameters.one_of("pairwise", "no_interactions")
    | Domain("a list of groups of columns", lambda value: _is_listed(value)),
    "categorical_features": CATEGORICAL_FEATURES,
}


def _is_listed(value: Any) -> bool:
    return isinstance(value, (list, tuple, set, frozenset, dict)) or (
        isinstance(value, np.ndarray) and value.ndim > 0
    )


class DecisionTree(HasPruning, TreeModel):
    """Base of single trees."""

    _domains: ClassVar[Mapping[str, Domain]] = GROWTH_DOMAINS
    _memory_reason: ClassVar[str] = "sorts the values of each column"
    criterion: str
    splitter: str
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Any
    random_state: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    ccp_alpha: float
    monotonic_cst: Any
    interaction_cst: Any
    classes_: NDArray
    tree_: Tree
    unpruned_tree_: Tree
    columns_: Columns
    max_features_: int

    def _require_memory(self, X: Any) -> None:
        require_memory(self, X, instead=INSTEAD)

    def _growth(self, form: Any, total: float) -> Growth:
        """The rules that the parameters set, for rows of a total weight."""
        self.max_features_ = n_features_tried(self.max_features, self.n_features_in_)
        draws = self.splitter == "random" or self.max_features_ < self.n_features_in_
        seed = int(generator(self.random_state).integers(2**63)) if draws else 0
        return growth_of(self, form, total, self.max_features_, self.splitter == "random", seed)

    def _grow(self, X: NDArray, target: NDArray, weight: NDArray, n_classes: int, form: Any) -> None:
        """Grow the tree on the rows that weigh something, prune it, and certify what is seen at once."""
        there = weight > 0
        growth = self._growth(form, float(weight.sum()))
        if not there.all():
            X, target, weight = X[there], target[there], weight[there]
        grown = grow_exact(X, target, weight, n_classes, growth)
        self.tree_, self.columns_ = grown.tree, grown.columns
        self.__dict__.pop("unpruned_tree_", None)
        if self.ccp_alpha > 0:
            self.unpruned_tree_, self.tree_ = grown.tree, pruned(grown.tree, self.ccp_alpha)
        rows = TreeRows(grown.columns.levels_as_codes(X), target, weight, n_classes)
        self.certificates_ = fit_certificates(self.tree_, rows, form, bounded=growth.signs is not None)

    def _certify(
        self, X: NDArray, target: NDArray, weight: NDArray, n_classes: int, form: Any
    ) -> Certificates:
        there, growth = weight > 0, self._growth(form, float(weight.sum()))
        rows = TreeRows(self.columns_.levels_as_codes(X[there]), target[there], weight[there], n_classes)
        unpruned = getattr(self, "unpruned_tree_", None)
        return certify_tree(self.tree_, unpruned, rows, self.columns_, growth, self.ccp_alpha)

    def _dense(self, data: MemoryRows) -> NDArray:
        return np.ascontiguousarray(data.X.toarray() if data.is_sparse else data.X)

    def apply(self, X: Any) -> Any:
        """The leaf of each row, as a node of `tree_`: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        return data.map(leaf_of_rows, self.tree_.walk(data.shape[0]), self.columns_, dtype=np.int64)

    def decision_path(self, X: Any) -> sparse.csr_matrix:
        """Which nodes each row passes: a sparse matrix of ones of shape (n_samples, node_count)."""
        leaves = np.asarray(self.apply(X))
        paths = self.tree_.paths
        lengths = np.array([len(path) for path in paths])[leaves]
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        indices = np.concatenate([paths[leaf] for leaf in leaves]) if len(leaves) else np.empty(0, dtype=int)
        shape = (len(leaves), self.tree_.node_count)
        return sparse.csr_matrix((np.ones(len(indices), dtype=np.int64), indices, indptr), shape=shape)

    def get_depth(self) -> int:
        """Depth of the deepest leaf."""
        self._open_fitted()
        return self.tree_.max_depth

    def get_n_leaves(self) -> int:
        """Number of leaves."""
        self._open_fitted()
        return self.tree_.n_leaves

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Share of each column in what the splits of the tree gain."""
        self._open_fitted()
        return self.tree_.importances(self.n_features_in_)

    def boxes(self) -> list[Box]:
        """The leaves as regions of the space, from left to right; see `Box`."""
        self._open_fitted()
        return boxes_of(self.tree_, self.n_features_in_, self.columns_.n_codes)

    def rules(self, decimals: int = 3) -> list[str]:
        """The leaves as sentences: conditions, what is predicted, and the weight of the training rows.

        Parameters
        ----------
        decimals : int, default=3
            Decimals of what is predicted.
        """
        names = self._column_names()
        texts = []
        for box in self.boxes():
            words = " and ".join(conditions(box, names, self.columns_, self.levels_)) or "always"
            texts.append(f"{words} → {self._verdict(box.value, decimals)}, weight {box.weight:g}")
        return texts

    def _column_names(self) -> list[str]:
        self._open_fitted()
        seen = getattr(self, "feature_names_in_", None)
        return [f"x{j}" for j in range(self.n_features_in_)] if seen is None else [str(name) for name in seen]

    @abstractmethod
    def _verdict(self, value: NDArray, decimals: int) -> str:
        """What a leaf of this value predicts, in words."""

    def _open_fitted(self) -> None:
        check_is_fitted(self, "tree_")


def growth_of(model: Any, form: Any, total: float, n_tried: int, random_cuts: bool, seed: int) -> Growth:
    """The rules that the parameters of a tree or forest set, for rows of a total weight."""
    signs = signs_of(model, model.is_categorical_)
    if signs is not None and isinstance(form, (AbsoluteError, Several)):
        which = "several outputs" if isinstance(form, Several) else "the criterion 'absolute_error'"
        raise model._refuse("monotonic_cst", f"None with {which}")
    if signs is not None and form.classes and len(model.classes_) > 2:
        raise model._refuse("monotonic_cst", "None where there are more than two classes")
    leaf = _in_weight(model.min_samples_leaf, total, 1)
    return Growth(
        form,
        model.max_depth,
        _in_weight(model.min_samples_split, total, 2),
        max(leaf, model.min_weight_fraction_leaf * total),
        # Splits that gain nothing are made where nothing is asked: two of them may gain together.
        (model.min_impurity_decrease - EPS) * total if model.min_impurity_decrease > 0 else -np.inf,
        model.max_leaf_nodes,
        n_tried,
        random_cuts,
        seed,
        model.is_categorical_,
        signs,
        groups_of(model),
    )


def _in_weight(asked: float, total: float, least: int) -> float:
    """A minimum of rows as weight; the smallest that can be asked for forbids nothing."""
    if isinstance(asked, (int, np.integer)):
        return 0.0 if asked <= least else float(asked)
    return float(asked) * total


def n_features_tried(asked: Any, n_columns: int) -> int:
    """Columns that a node looks at, from the parameter `max_features`."""
    if asked is None:
        return n_columns
    if isinstance(asked, str):
        return max(1, int(np.sqrt(n_columns) if asked == "sqrt" else np.log2(n_columns)))
    if isinstance(asked, (int, np.integer)):
        return min(int(asked), n_columns)
    return max(1, int(asked * n_columns))


def leaf_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray:
    """The leaf of each row of a block."""
    return walk.leaves(columns.levels_as_codes(block.dense))[:, 0]


def value_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray:
    """The value of the leaf of each row of a block."""
    return walk.mean(columns.levels_as_codes(block.dense))


def number_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray:
    """The number, or numbers, that each row of a block is predicted."""
    return numbers_of_values(value_of_rows(block, walk, columns))
