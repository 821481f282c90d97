"""What forests share: parameters, growing on the thread pool, out-of-bag votes, reading of the trees."""

from __future__ import annotations

import contextlib
import inspect
from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from assay import parameters, rows
from assay.base import logger
from assay.models import convergence
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, Rows
from assay.trees.decision.base import GROWTH_DOMAINS, SHARE, growth_of, n_features_tried
from assay.trees.decision.solver import Growth
from assay.trees.forest.bag import make_bag, seeds_of
from assay.trees.forest.importance import (
    KINDS,
    Importance,
    impurity_importance,
    measured_importance,
    summarised,
)
from assay.trees.forest.intervals import KeptRows, keep_rows
from assay.trees.forest.outside import OutsideVotes, outside_score
from assay.trees.forest.solver import MAX_CODES, Forest, Table, grow_each, read_table
from assay.trees.forest.trees import Gathering, Trees
from assay.trees.growing.columns import Columns
from assay.trees.growing.criteria import Several
from assay.trees.opening import TreeModel
from assay.trees.outputs import numbers_of_values
from assay.trees.tree import Tree
from assay.trees.walking import Walk

FOREST_DOMAINS: Mapping[str, Domain] = {
    **{name: domain for name, domain in GROWTH_DOMAINS.items() if name != "splitter"},
    "n_estimators": parameters.integer(at_least=1),
    "bootstrap": parameters.boolean,
    "oob_score": parameters.boolean | parameters.function,
    "oob_tol": parameters.nothing | parameters.real(at_least=0.0),
    "keep_rows": parameters.boolean | parameters.integer(at_least=1),
    "max_samples": parameters.nothing | parameters.integer(at_least=1) | SHARE,
    "warm_start": parameters.boolean,
    "n_jobs": parameters.nothing
    | Domain("-1", lambda value: isinstance(value, (int, np.integer)) and value == -1)
    | parameters.integer(at_least=1),
    "verbose": parameters.boolean | parameters.integer(at_least=0),
}


class ForestModel(TreeModel):
    """Base of forests: trees on bootstrap samples, some columns per node, averaged."""

    _accepts_sparse: ClassVar[bool] = True
    _random_cuts: ClassVar[bool] = False
    _single: ClassVar[type]
    n_estimators: int
    max_depth: int | None
    min_samples_split: float
    min_samples_leaf: float
    min_weight_fraction_leaf: float
    max_features: Any
    max_leaf_nodes: int | None
    min_impurity_decrease: float
    bootstrap: bool
    oob_score: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    warm_start: bool
    ccp_alpha: float
    max_samples: Any
    monotonic_cst: Any
    interaction_cst: Any
    oob_tol: float | None
    keep_rows: bool | int
    trees_: Trees
    seeds_: NDArray[np.int64]
    columns_: Columns
    max_features_: int
    oob_errors_: NDArray[np.float64]
    kept_: KeptRows

    def _check_settings(self, data: Rows) -> None:
        """Refuse settings that do not go together, and tables that do not fit in memory as codes."""
        if not self.bootstrap:
            for name, asked in (
                ("oob_score", self.oob_score),
                ("oob_tol", self.oob_tol is not None),
                ("max_samples", self.max_samples is not None),
                ("calibration_method", getattr(self, "calibration_method", None) is not None),
            ):
                if asked:
                    unset = "None" if name != "oob_score" else "False"
                    raise self._refuse(name, f"{unset} without bootstrap: every tree sees every row")
        if data.shape[0] * data.shape[1] > MAX_CODES:
            size = f"{data.shape[0]} rows of {data.shape[1]} columns"
            raise ValueError(
                f"{type(self).__name__} keeps one byte per value in memory, up to {MAX_CODES // 2**30} GiB; "
                f"got {size}: fit on a sample of the rows, or boost trees (HistGradientBoosting…), which "
                "keeps the codes where the rows are."
            )

    def _growth(self, form: Any, total: float) -> Growth:
        """The rules that the parameters set, for rows of a total weight."""
        self.max_features_ = n_features_tried(self.max_features, self.n_features_in_)
        n_tried = self.max_features_ if self.max_features_ < self.n_features_in_ else 0
        return growth_of(self, form, total, n_tried, self._random_cuts, 0)

    def _forest(self, table: Table, form: Any, n_classes: int, factors: NDArray | None) -> Forest:
        """The trees to be: what they are grown on and by which rules."""
        if isinstance(self.max_samples, (int, np.integer)) and self.max_samples > len(table.target):
            raise self._refuse("max_samples", f"at most the number of rows ({len(table.target)})")
        bag = make_bag(table.codes, table.target, table.weight, self.bootstrap, self.max_samples)
        total = bag.n_draws * bag.worth if bag.n_draws else float(table.weight.sum())
        calibrates = getattr(self, "calibration_method", None) is not None
        with_outside = bool(self.oob_score) or self.oob_tol is not None or calibrates
        balances = isinstance(self._class_weight, str) and self._class_weight == "balanced_subsample"
        growth = self._growth(form, total)
        if isinstance(form, Several):
            names = ("keep_rows", "calibration_method", *(("oob_score", "oob_tol") if form.classes else ()))
            for name in names:
                if getattr(self, name, None):
                    kind = "several outputs of classes" if form.classes else "several outputs"
                    raise self._refuse(name, f"unset with {kind}")
        return Forest(table, bag, growth, n_classes, factors, balances, with_outside, self.ccp_alpha)

    @property
    def _class_weight(self) -> Any:
        return getattr(self, "class_weight", None)

    def _read(self, data: Rows) -> Table:
        self._check_settings(data)
        self._mark_categories()
        return read_table(data, self.is_categorical_)

    def _grow(self, forest: Forest) -> None:
        """Grow the trees, hear what they say about rows outside their bags, stop when that settles."""
        kept = self.trees_ if self.warm_start and hasattr(self, "trees_") else None
        if kept is not None and len(kept) > self.n_estimators:
            raise self._refuse("n_estimators", f"at least the {len(kept)} trees of the warm start")
        table, n_kept = forest.table, 0 if kept is None else len(kept)
        seeds: list[int] = [] if kept is None else self.seeds_.tolist()
        votes = OutsideVotes(table.target, table.weight, forest.n_classes, forest.ends)
        trees = Gathering(self.n_estimators)
        for tree in kept or ():
            trees.add(tree)
        with rows.threads(self._n_threads()) if self.n_jobs is not None else contextlib.nullcontext():
            if kept is not None and forest.with_outside:
                for tree, grown in zip(kept, grow_each(forest, seeds), strict=True):
                    votes.add(tree.value, grown.outside, grown.leaves)
            for grown in grow_each(forest, seeds_of(self.random_state, self.n_estimators, n_kept)):
                trees.add(grown.tree)
                seeds.append(grown.seed)
                if self.verbose:
                    logger.info("%s: tree %d of %d", type(self).__name__, len(trees), self.n_estimators)
                if forest.with_outside:
                    votes.add(grown.tree.value, grown.outside, grown.leaves)
                    if self.oob_tol is not None and votes.has_settled(self.oob_tol):
                        break
        self.trees_ = trees.finish()
        self.seeds_ = np.array(seeds)
        self.columns_ = table.columns.of_categories()
        self._keep_outside(forest, votes)
        self.__dict__.pop("kept_", None)
        if self.keep_rows:
            self.kept_ = keep_rows(forest, self.trees_, self.seeds_, self.keep_rows)

    def _n_threads(self) -> int:
        return rows.n_threads() if self.n_jobs == -1 else int(self.n_jobs or 1)

    def _keep_outside(self, forest: Forest, votes: OutsideVotes) -> None:
        for name in ("oob_score_", "oob_decision_function_", "oob_prediction_", "oob_errors_"):
            self.__dict__.pop(name, None)
        if not forest.with_outside:
            return
        table, outside = forest.table, votes.result()
        self.oob_errors_ = outside.errors
        if np.any((outside.counts == 0) & (table.weight > 0)):
            convergence.warn(
                "Some rows are in the bag of every tree: they have no out-of-bag prediction (0 is kept for "
                "them) and are left out of the score; grow more trees.",
                UserWarning,
            )
        self.oob_score_ = outside_score(self, outside, table.target, table.weight, forest.n_classes)
        if forest.n_classes:
            self.oob_decision_function_ = outside.mean
        else:
            self.oob_prediction_ = numbers_of_values(outside.mean)

    def apply(self, X: Any) -> Any:
        """The leaf of each row in each tree: shape (n_samples, n_estimators)."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": np.int32, "width": len(self.trees_)}
        return data.map(leaves_of_rows, self.trees_.walk(data.shape[0]), self.columns_, **how)

    def decision_path(self, X: Any) -> tuple[sparse.csr_matrix, NDArray[np.int64]]:
        """The nodes that each row passes in all trees, and the first column of each tree in the matrix."""
        leaves = np.asarray(self.apply(X))
        parts = [_paths(tree, leaves[:, place]) for place, tree in enumerate(self.trees_)]
        return sparse.hstack(parts).tocsr(), self.trees_.starts.copy()

    @property
    def feature_importances_(self) -> NDArray[np.float64]:
        """Mean over the trees of the share of each column in what the splits gain (`importance` for more)."""
        check_is_fitted(self, "trees_")
        d = self.n_features_in_
        shares = np.mean(
            [tree.importances(d) for tree in self.trees_ if tree.node_count > 1] or [np.zeros(d)], 0
        )
        total = float(shares.sum())
        return shares / total if total > 0 else shares

    def importance(
        self,
        kind: str = "impurity",
        X: Any = None,
        y: Any = None,
        sample_weight: Any = None,
        *,
        random_state: Any = None,
    ) -> Importance:
        """How much each column matters, with standard errors over the trees.

        Parameters
        ----------
        kind : {"impurity", "unbiased", "permutation"}, default="impurity"
            "impurity": share in what the splits gain on the rows of the bags, which favours columns of many
            values. "unbiased": the gain per row with rows outside the bags in the place of half of each
            square, which is 0 on average for a column that says nothing. "permutation": how much the error
            on rows outside the bags rises when the column is shuffled among them.
        X, y, sample_weight
            The data of the fit; "impurity" needs none.
        random_state : int, Generator, SeedSequence, RandomState or None
            For "permutation".

        Returns
        -------
        importance : Importance
        """
        check_is_fitted(self, "trees_")
        if kind not in KINDS:
            raise parameters.refusal("importance", "kind", parameters.one_of(*KINDS).words, kind)
        names = getattr(self, "feature_names_in_", None)
        names = [f"x{j}" for j in range(self.n_features_in_)] if names is None else [str(n) for n in names]
        if kind == "impurity":
            return summarised(kind, names, impurity_importance(self.trees_, self.n_features_in_))
        if X is None or y is None:
            raise ValueError(f"The importance of kind {kind!r} needs X and y, the data of the fit.")
        if not self.bootstrap:
            raise ValueError(
                f"The importance of kind {kind!r} needs rows outside the bags: fit with bootstrap=True."
            )
        data, forest = self._opened_again(X, y, sample_weight)
        each = measured_importance(self, data, forest, kind, generator(random_state))
        return summarised(kind, names, each)

    @abstractmethod
    def _opened_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Forest]:
        """The data of the fit in memory, and what the trees have in common."""

    @property
    def estimators_(self) -> list[Any]:
        """The trees as estimators of their own."""
        check_is_fitted(self, "trees_")
        return [
            self._tree_estimator(tree, int(seed)) for tree, seed in zip(self.trees_, self.seeds_, strict=True)
        ]

    def _tree_estimator(self, tree: Tree, seed: int) -> Any:
        known = self.get_params(deep=False)
        names = inspect.signature(self._single).parameters
        single = self._single(**{name: known[name] for name in names if name in known})
        single.random_state = seed
        for name in ("n_features_in_", "feature_names_in_", "is_categorical_", "levels_", "columns_",
                     "max_features_", "classes_", "n_classes_", "n_outputs_"):  # fmt: skip
            if hasattr(self, name):
                setattr(single, name, getattr(self, name))
        single.tree_ = tree
        return single


def leaves_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray[np.int32]:
    """The leaf of each row of a block in each tree."""
    return walk.leaves(columns.levels_as_codes(block.dense))


def mean_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray:
    """The mean over the trees of the values of the leaf of each row of a block."""
    return walk.mean(columns.levels_as_codes(block.dense)).astype(block.X.dtype, copy=False)


def number_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray:
    """The mean over the trees of the number, or numbers, that each row of a block is predicted."""
    return numbers_of_values(mean_of_rows(block, walk, columns))


def _paths(tree: Tree, leaves: NDArray) -> sparse.csr_matrix:
    paths = tree.paths
    lengths = np.array([len(path) for path in paths])[leaves]
    indices = np.concatenate([paths[leaf] for leaf in leaves])
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    shape = (len(leaves), tree.node_count)
    return sparse.csr_matrix((np.ones(len(indices), dtype=np.int64), indices, indptr), shape=shape)
