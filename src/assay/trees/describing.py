"""Parameters of trees and their ensembles, described once: docstrings and constructors share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from textwrap import indent
from typing import Any, TypeVar

Kind = TypeVar("Kind", bound=type)

HERE = "    …\n"
"""What stands in a docstring for the descriptions of the parameters of the constructor."""


def described(texts: Mapping[str, str], **own: str) -> Callable[[Kind], Kind]:
    """Write the descriptions of parameters into the docstring of a class, in the order of its constructor.

    Parameters
    ----------
    texts : mapping
        For each name what follows it: type and default on one line, the sentences on those below.
    **own : str
        Descriptions that only this class has.
    """

    def write(kind: Kind) -> Kind:
        lines = []
        for name, parameter in inspect.signature(kind).parameters.items():
            default = repr(parameter.default).replace("'", '"')
            lines.append(f"{name} : {own.get(name, texts.get(name, ''))}".replace("DEFAULT", default))
        if kind.__doc__:
            kind.__doc__ = kind.__doc__.replace(HERE, indent("\n".join(lines), "    ") + "\n")
        return kind

    return write


def keep_parameters(model: Any, given: Mapping[str, Any]) -> None:
    """Set the parameters of a constructor, which hands over its `locals()`."""
    for name, value in given.items():
        if name != "self":
            setattr(model, name, value)


GROWTH = {
    "splitter": """{"best", "random"}, default=DEFAULT
    "random" tries one threshold per column, drawn between its smallest and largest value in the node.""",
    "max_depth": """int, optional
    Depth of the deepest leaf; no limit by default.""",
    "min_samples_split": """int or float, default=DEFAULT
    Weight of a node that may be divided (a share of the total as a float); 2 forbids nothing.""",
    "min_samples_leaf": """int or float, default=DEFAULT
    Weight of each side of a split; 1 forbids nothing.""",
    "min_weight_fraction_leaf": """float, default=DEFAULT
    The same as a share of the total weight.""",
    "max_features": """int, float, {"sqrt", "log2"} or None, default=DEFAULT
    Columns drawn at each node, among those that are not constant there; None: all.""",
    "random_state": """int, Generator, SeedSequence, RandomState or None
    For drawn columns and thresholds; without them the tree is the same for every seed.""",
    "max_leaf_nodes": """int, optional
    Grow best-first, the node of the largest gain before the others, up to so many leaves.""",
    "min_impurity_decrease": """float, default=DEFAULT
    Least gain of a split as a share of the total weight: (W Q − W_L Q_L − W_R Q_R) / W_root.""",
    "class_weight": """dict, "balanced", a list of those (one per output) or None
    Factor of the weights of each class.""",
    "ccp_alpha": """float, default=DEFAULT
    Penalty α per leaf on the cost Σ (W_m / W) Q_m: the smallest subtree that minimises the sum is kept.
    With the cost Σ n_m Q_m of the course it is α W.""",
    "monotonic_cst": """list of {-1, 0, 1} or dict, optional
    Columns along which predictions (of two classes, the probability of the second) must not fall (1) or
    rise (−1).""",
    "interaction_cst": """list of groups, {"pairwise", "no_interactions"} or None
    Groups of columns that may meet on one path; columns in no group form one.""",
    "categorical_features": """"from_dtype", list of names, places or a mask, or None, default=DEFAULT
    Columns whose levels are divided into two groups instead of cut at a threshold: in the order of their
    mean target or share of the second class, which is optimal for squared errors and two classes; all
    groupings of up to 8 levels with more classes. By default the columns of frames that have the dtype of
    categories.""",
}

CLASSES = {
    "criterion": """{"gini", "entropy", "log_loss", "misclassification"}, default=DEFAULT
    Impurity Q of a node; "log_loss" is "entropy".""",
}

NUMBERS = {
    "criterion": """{"squared_error", "friedman_mse", "absolute_error", "poisson"}, default=DEFAULT
    Impurity Q of a node: its variance, the mean distance to its median (which it then predicts), or half its
    mean Poisson deviance.""",
}

DRAWN = {
    "n_estimators": """int, default=DEFAULT
    Number of trees. More trees never overfit: the error settles.""",
    "bootstrap": """bool, default=DEFAULT
    Whether each tree gets as many rows as there are, drawn with replacement; else all rows.""",
    "oob_score": """bool or callable, default=DEFAULT
    Whether to keep what the trees say about rows they have not seen; a function score(y, predicted)
    replaces accuracy or R².""",
    "n_jobs": """int, optional
    Threads of the fit (−1: all); as `assay.rows.threads` says by default. Never changes a tree.""",
    "random_state": """int, Generator, SeedSequence, RandomState or None
    Gives each tree a seed of its own; the first k trees are those of a forest of k trees.""",
    "verbose": """int, default=DEFAULT
    Above 0, each tree is reported through `logging`.""",
    "warm_start": """bool, default=DEFAULT
    Keep the trees that are there and add the missing ones.""",
    "class_weight": """dict, "balanced", "balanced_subsample", a list of dicts (one per output) or None
    Factor of the weights of each class; "balanced_subsample" balances the bag of each tree.""",
    "max_samples": """int or float, optional
    Rows drawn for each tree, or their share; all by default.""",
    "oob_tol": """float, optional
    Stop adding trees once the out-of-bag error has moved by no more than this over the last 20 trees.""",
    "keep_rows": """bool or int, default=DEFAULT
    Keep the leaf of every row of the fit, or of so many at equal distances, in every tree:
    `predict_quantile` and `predict_interval` of forests of numbers need it.""",
    "calibration_method": """{"sigmoid", "isotonic", "temperature"} or None, default=DEFAULT
    How votes are brought to the shares observed out of bag (needs `bootstrap`); the class predicted is
    then the one of the largest probability so found.""",
}

BAGGED = {
    "estimator": """estimator, optional
    What is bagged; a full tree by default.""",
    "n_estimators": """int, default=DEFAULT
    Number of members.""",
    "max_samples": """int or float, default=DEFAULT
    Rows drawn for each member, or their share.""",
    "max_features": """int or float, default=DEFAULT
    Columns drawn for each member, or their share.""",
    "bootstrap": """bool, default=DEFAULT
    Whether rows are drawn with replacement; else each member sees all rows.""",
    "bootstrap_features": """bool, default=DEFAULT
    Whether columns are drawn with replacement.""",
    "oob_score": """bool or callable, default=DEFAULT
    Whether to keep what members say about rows they have not seen; a function score(y, predicted)
    replaces accuracy or R².""",
    "warm_start": """bool, default=DEFAULT
    Keep the members that are there and add the missing ones.""",
    "n_jobs": """int, optional
    Threads of the fit (−1: all); as `assay.rows.threads` says by default. Never changes a member.""",
    "random_state": """int, Generator, SeedSequence, RandomState or None
    Gives each member a seed of its own.""",
    "verbose": """int, default=DEFAULT
    Accepted; members report through `logging` themselves.""",
}

FOREST_OF_CLASSES = GROWTH | CLASSES | DRAWN
FOREST_OF_NUMBERS = GROWTH | NUMBERS | DRAWN
