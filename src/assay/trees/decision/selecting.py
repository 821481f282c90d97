"""Pruning as a verb of trees: the path of a fitted tree, and the choice of the penalty."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from assay import parameters
from assay.models.selection import (
    Criterion,
    FoldTable,
    Said,
    Selection,
    criterion_losses,
    folds,
    over_folds,
)
from assay.rows import ordered_map
from assay.trees.decision.pruning import (
    PruningPath,
    chosen_penalty,
    held_out_losses,
    nodes_along,
    pruning_path,
    standard_errors,
)
from assay.trees.decision.solver import Growth, grow_exact
from assay.trees.outputs import refuse_several
from assay.trees.tree import Tree

MOST_JUDGED = 50
"""Penalties that a criterion judges, of as many as there are subtrees."""


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
        criterion: Criterion | None = None,
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
        criterion : assay.models.Criterion, optional
            What is to be least in place of mistakes or squared errors, among at most 50 penalties.
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
        refuse_several(whole, "select")
        path = whole.fit(X, y, sample_weight).pruning_path()
        alphas = path.middles[::-1].copy()
        most = len(alphas) if criterion is None else min(MOST_JUDGED, len(alphas))
        kept = np.unique(np.linspace(0, len(alphas) - 1, most).astype(np.intp))
        alphas = alphas[kept]
        # The first is the root alone, also in a fold that would keep more.
        tried = np.append(np.inf, alphas[1:])
        pairs = folds("select", cv, FoldTable(table, target, weight), random_state)
        name, mean, error, by_fold = judged(
            whole, (table, target, weight, n_classes, form), pairs, tried, criterion
        )
        index, simplest = (chosen_penalty(mean, error, which) for which in (rule, "one_se"))
        best = float(alphas[index])
        measured = {"ccp_alpha": alphas, name: mean, "standard_error": error}
        grown = {"n_leaves": path.n_leaves[::-1][kept], "training_impurity": path.impurities[::-1][kept]}
        return Selection(
            parameter="ccp_alpha",
            values=alphas,
            criterion=name,
            curve=mean,
            standard_error=error,
            index=index,
            rule=rule,
            best=best,
            model=clone(self).set_params(ccp_alpha=best).fit(X, y, sample_weight),
            fold_scores=by_fold,
            one_se_index=simplest,
            table=measured | grown,
        )


def judged(
    whole: HasPruning,
    opened: tuple[NDArray, NDArray, NDArray, int, Any],
    pairs: list[tuple[NDArray, NDArray]],
    penalties: NDArray,
    criterion: Criterion | None,
) -> tuple[str, NDArray, NDArray, NDArray]:
    """What the penalties are judged by, its mean and standard error for each, and its value by fold.

    Every fold is predicted by a tree that is grown on the other rows and pruned at each penalty.
    """
    table, target, weight, n_classes, form = opened

    def one(pair: tuple[NDArray, NDArray]) -> Any:
        train, test = (rows[weight[rows] > 0] for rows in pair)
        growth = whole._growth(form, float(weight[train].sum()))
        grown = grow_exact(table[train], target[train], weight[train], n_classes, growth)
        rest, is_class = grown.columns.levels_as_codes(table[test]), n_classes > 0
        if criterion is not None:
            said = _said(grown.tree, rest, penalties, is_class)
            return criterion_losses(criterion, whole, target[test], said, test)
        return held_out_losses(grown.tree, rest, target[test], weight[test], penalties, is_class=is_class)

    parts = list(ordered_map(one, pairs))
    if criterion is None:
        return "validation loss", *standard_errors(parts), np.stack([p.sums / p.weight for p in parts])
    sizes = np.array([float(len(test)) for _, test in pairs])
    mean, error, _, by_fold = over_folds(np.stack(parts), sizes, criterion.name)
    return criterion.name, mean, error, by_fold


def _said(tree: Tree, X: NDArray, alphas: NDArray, is_class: bool) -> Said:
    """What the subtrees of decreasing penalties say of rows."""
    value = tree.value[nodes_along(tree, X, alphas)]
    if not is_class:
        return Said(value[:, :, 0])
    return Said(value.argmax(axis=2), value / value.sum(axis=2, keepdims=True))
