"""Parameters of trees and their ensembles, described once: docstrings and constructors share them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from textwrap import indent
from types import FunctionType
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


def with_defaults(constructor: Any, **defaults: Any) -> Callable[..., None]:
    """The same constructor with other defaults of keywords; nothing is called in between."""
    own = FunctionType(constructor.__code__, constructor.__globals__, constructor.__name__)
    own.__annotations__, own.__module__ = constructor.__annotations__, constructor.__module__
    own.__defaults__, own.__kwdefaults__ = (
        constructor.__defaults__,
        {**constructor.__kwdefaults__, **defaults},
    )
    return own


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

BOOSTED = {
    "quantile": """float or list of float, optional
    The level of loss="quantile"; several give predictions of shape (n_samples, n_levels).""",
    "learning_rate": """float, default=DEFAULT
    Shrinkage ν of every round.""",
    "max_iter": """int, default=DEFAULT
    Most rounds.""",
    "max_leaf_nodes": """int or None, default=DEFAULT
    Leaves of a tree; the leaf that gains most is divided next.""",
    "max_depth": """int or None, default=DEFAULT
    Depth of a tree.""",
    "min_samples_leaf": """int, default=DEFAULT
    Least weight of a leaf, so that a row of weight 2 counts as two; 1 forbids nothing.""",
    "l2_regularization": """float, default=DEFAULT
    λ in the values of leaves and the gains.""",
    "max_features": """float, default=DEFAULT
    Share of the columns drawn at each node.""",
    "max_bins": """int, default=DEFAULT
    Most bins of a column, besides that of missing values. Bins have three rows at least where leaves have
    eighteen or more; with smaller leaves each of few values has its own.""",
    "categorical_features": """"from_dtype", list of names, places or a mask, or None, default=DEFAULT
    Columns whose levels are divided into two groups, in the order of their mean steps. Under a likelihood
    of classes or counts these are shrunk as random effects are, so that levels of few rows, and columns of
    many levels that say nothing, are not taken for more than they are.""",
    "monotonic_cst": """list of {-1, 0, 1} or dict, optional
    Columns along which the score must not fall (1) or rise (−1).""",
    "interaction_cst": GROWTH["interaction_cst"],
    "warm_start": """bool, default=DEFAULT
    Whether a fit goes on from the trees of the last one on the same rows, up to `max_iter` rounds in all:
    the trees are those of one uninterrupted fit.""",
    "early_stopping": """bool, "auto" or Stopping, default=DEFAULT
    Whether rounds end when the held-out loss no longer falls; "auto": above 10,000 rows. A `Stopping` says
    when, in place of the four parameters that follow.""",
    "scoring": """str, callable or None, default=DEFAULT
    What the rows held out are judged by after each round: the loss, or a scorer of scikit-learn.""",
    "validation_fraction": """float or None, default=DEFAULT
    Share of the rows held out for early stopping; None: the training loss decides.""",
    "n_iter_no_change": """int, default=DEFAULT
    Rounds without progress that end the fit.""",
    "tol": """float, default=DEFAULT
    Least fall of the loss that counts as progress, as a share of the loss of the constant that boosting
    starts from; of a score by `scoring`, its least rise.""",
    "verbose": """int, default=DEFAULT
    Accepted; progress is told to callbacks.""",
    "random_state": """int, Generator, SeedSequence, RandomState or None
    For rows held out, drawn rows and drawn columns.""",
    "class_weight": """dict, "balanced" or None
    Factors of the weights of classes.""",
    "line_search": """{"newton", "leaf"}, default=DEFAULT
    Whether the value of a leaf is one Newton step or the minimiser of the loss over its rows.""",
    "subsample": """float or Sampling, default=DEFAULT
    Share of the rows drawn for each tree; a `Sampling` also draws columns for each tree.""",
    "calibration": """float, int or None, default=DEFAULT
    Share of the rows kept aside, which neither bins nor trees nor early stopping see: `predict_interval`
    is made of how far the predictions are off there. Or a number K ≥ 2 of folds: no row is lost, and K
    more fits, each without a fold, say how far predictions are off.""",
    "calibration_method": """{"sigmoid", "isotonic", "temperature"} or None, default=DEFAULT
    How probabilities are brought to the shares observed on the rows kept aside; the class predicted is
    then the one of the largest probability so found.""",
}
"""Boosting on histograms."""

OF_TREES = """float or int, default=DEFAULT
    Of the default trees, as in `DecisionTreeRegressor`."""

ADDED = dict.fromkeys(
    (
        "min_samples_split",
        "min_samples_leaf",
        "min_weight_fraction_leaf",
        "max_depth",
        "min_impurity_decrease",
        "max_features",
        "max_leaf_nodes",
        "ccp_alpha",
    ),
    OF_TREES,
) | {
    "learning_rate": """float, default=DEFAULT
    Shrinkage ν in (0, 1]: small steps need many rounds and predict better.""",
    "n_estimators": """int, default=DEFAULT
    Rounds T.""",
    "subsample": """float, default=DEFAULT
    Share of the rows, drawn anew in each round, that a learner is fitted to; its step sees all of them.""",
    "criterion": """{"deprecated", "friedman_mse", "squared_error"}, default=DEFAULT
    Accepted; both are the squared error.""",
    "init": """None, "zero" or an estimator, default=DEFAULT
    f_0: the best constant, 0, or what the estimator says after a fit to the same rows.""",
    "random_state": """int, Generator, SeedSequence, RandomState or None
    For drawn rows and columns.""",
    "alpha": """float, default=DEFAULT
    Level of the quantile.""",
    "verbose": """int, default=DEFAULT
    Accepted; learners report through `logging` themselves.""",
    "warm_start": """bool, default=DEFAULT
    Whether a fit with more `n_estimators` goes on from the rounds of the last one, on the same rows. The
    result is that of all rounds at once, bit for bit.""",
    "validation_fraction": """float, default=DEFAULT
    Share of the rows that is held out with `n_iter_no_change`.""",
    "n_iter_no_change": """int or None, default=DEFAULT
    The rounds end where the risk of the rows held out has not fallen by `tol` in so many.""",
    "tol": """float, default=DEFAULT
    Least fall of that risk that counts.""",
    "estimator": """regressor, optional
    The learner: any regressor, linear, spline, kernel or tree; a tree of depth 3 by default, which cuts
    between any two values of up to 20,000 rows and between 255 bins per column of more. A
    `DecisionTreeRegressor` given here cuts between any two values always.""",
    "line_search": """{"global", "leaf"} or None, default=DEFAULT
    One step for the whole learner (Algorithm 3), or one per leaf of a tree; by default leaves of trees.""",
    "direction": """{"least_squares", "correlation"}, default=DEFAULT
    The learner nearest to the pseudo-residuals, or the ±1 classifier most correlated with them (an exact
    stump by default), the oracle of conditional gradients.""",
}
"""Boosting of any learner."""
