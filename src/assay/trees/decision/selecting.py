"""Pruning as a verb of trees: the path of a fitted tree, and the choice of the penalty."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.models.selection import FoldTable, Selection, folds
from assay.rows import ordered_map
from assay.trees.decision.pruning import (
    HeldOut,
    PruningPath,
    chosen_penalty,
    held_out_losses,
    pruning_path,
    standard_errors,
)
from assay.trees.decision.solver import Growth, grow_exact
from assay.trees.tree import Tree


class HasPruning:
    """What trees that can be pruned share."""

    tree_: Tree

    @abstractmethod
    def _opened(self, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray, NDArray, NDArray, int, Any]:
        """Rows, target, weights, number of classes and criterion of a fit."""

    @abstractmethod
    def _growth(self, form: Any, total: float) -> Growth:
        """The rules that the parameters set, for rows of a total weight."""

    def pruning_path(self) -> PruningPath:
        """The nested subtrees of the grown tree that are best for some penalty; see `PruningPath`."""
        check_is_fitted(self, "tree_")
        return pruning_path(getattr(self, "unpruned_tree_", self.tree_))

    def cost_complexity_pruning_path(self, X: Any, y: Any, sample_weight: Any = None) -> PruningPath:
        """The pruning path of a tree grown on these rows, as in scikit-learn."""
        whole: PruningPath = clone(self).set_params(ccp_alpha=0.0).fit(X, y, sample_weight).pruning_path()
        return whole

    def select(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        rule: str = "one_se",
        cv: Any = 10,
        random_state: Any = 0,
    ) -> Selection:
        """Choose `ccp_alpha` by cross-validation, as rpart does.

        The path of all rows gives the intervals of the penalty; each fold grows a tree of its own, prunes it
        at the geometric middle of every interval and predicts the rows that it has not seen.

        Parameters
        ----------
        X, y, sample_weight
            The table.
        rule : {"min", "one_se"}, default="one_se"
            The least loss (mistakes, or squared errors), or the smallest tree whose loss is within one
            standard error of it.
        cv : int or splitter, default=10
        random_state : int, Generator, SeedSequence, RandomState or None
            Shuffles the rows into folds; None keeps their order.

        Returns
        -------
        selection : Selection
            Penalties decrease; `model` is the tree of all rows, pruned at the choice.
        """
        if rule not in ("min", "one_se"):
            raise parameters.refusal("select", "rule", "'min' or 'one_se'", rule)
        whole = clone(self).set_params(ccp_alpha=0.0)
        table, target, weight, n_classes, form = whole._opened(X, y, sample_weight)
        path = whole.fit(X, y, sample_weight).pruning_path()
        alphas = path.middles[::-1].copy()
        tried = np.append(np.inf, alphas[1:])  # the root alone comes first, also where a fold would keep more
        pairs = folds("select", cv, FoldTable(table, target, weight), random_state)

        def one(pair: tuple[NDArray, NDArray]) -> HeldOut:
            growth = whole._growth(form, float(weight[pair[0]].sum()))
            return held_out(pair, table, target, weight, n_classes, growth, tried)

        parts = list(ordered_map(one, pairs))
        mean, error = standard_errors(parts)
        index, simplest = (chosen_penalty(mean, error, which) for which in (rule, "one_se"))
        best = float(alphas[index])
        measured = {"ccp_alpha": alphas, "validation loss": mean, "standard_error": error}
        grown = {"n_leaves": path.n_leaves[::-1], "training_impurity": path.impurities[::-1]}
        return Selection(
            parameter="ccp_alpha",
            values=alphas,
            criterion="validation loss",
            curve=mean,
            standard_error=error,
            index=index,
            rule=rule,
            best=best,
            model=clone(self).set_params(ccp_alpha=best).fit(X, y, sample_weight),
            fold_scores=np.stack([part.sums / part.weight for part in parts]),
            one_se_index=simplest,
            table=measured | grown,
        )


def held_out(
    pair: tuple[NDArray, NDArray],
    table: NDArray,
    target: NDArray,
    weight: NDArray,
    n_classes: int,
    growth: Growth,
    penalties: NDArray,
) -> HeldOut:
    """Losses of the rows of one fold by a tree grown on the others, pruned at each penalty."""
    train, test = (rows[weight[rows] > 0] for rows in pair)
    grown = grow_exact(table[train], target[train], weight[train], n_classes, growth)
    rest = grown.columns.levels_as_codes(table[test])
    return held_out_losses(grown.tree, rest, target[test], weight[test], penalties, is_class=n_classes > 0)
