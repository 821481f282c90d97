"""Extremely random trees: cuts drawn instead of searched."""

from __future__ import annotations

from typing import ClassVar

from assay.suitability import Suitability
from assay.trees.describing import FOREST_OF_CLASSES, FOREST_OF_NUMBERS, described, with_defaults
from assay.trees.forest.kinds import ForestClassifier, ForestRegressor


@described(FOREST_OF_CLASSES)
class ExtraTreesClassifier(ForestClassifier):
    """Many trees whose cuts are drawn at random, and vote.

    Finds T trees g_t, each node divided by the best of a few cuts, one per drawn column, at a value drawn
    between the smallest and the largest of the node, and predicts the class of the largest mean share

        arg max over k of (1/T) Σ_t p_k(leaf of x in g_t).

    No column is searched: random cuts lower the correlation of the trees further, for a little bias.

    Columns become at most 255 bins each (every value its own where there are no more), a byte per value, once
    for all trees. Bags, columns and statistics depend on seeds and integers alone: the same trees bit for bit
    on any number of threads.

    Assumes: rows drawn independently from one law, for the out-of-bag error to be that of new rows.

    Certificates: the gains of the splits of each tree telescope from the root to the leaves; `certify` draws
    the bags again from the seeds and adds that weights and class shares of every node are those of the rows
    that walk through it, that no split that a node tried gains more than the one taken, that the mean of the
    trees varies as that of independent ones does, that out-of-bag votes are what they say, and shows the
    out-of-bag error with its interval and Breiman's bound ρ̄(1 − s²)/s².

    Parameters
    ----------
    …

    Attributes
    ----------
    trees_ : Trees
        The nodes of all trees as flat arrays; `trees_[k]` is one of them.
    estimators_ : list of DecisionTreeClassifier
        The same as estimators of their own, made when asked for.
    classes_ : array of shape (n_classes,), or a list of them for several outputs
    n_classes_ : int, or a list of them
    n_outputs_ : int
    seeds_ : int array of shape (n_estimators,)
        The seed of each tree, from which its bag is drawn again.
    feature_importances_ : array of shape (n_features_in_,)
        Mean share of each column in what the splits gain; see `importance`.
    oob_score_, oob_decision_function_, oob_errors_ : float and arrays
        With `oob_score` or `oob_tol`: score, votes, and the error as trees are added.
    calibrator_, calibration_errors_ : Calibrator and array of shape (2,)
        With `calibration_method`: the map of the votes, and the calibration error out of bag before it and,
        on halves that it has not seen, after it.
    max_features_ : int
    is_categorical_ : bool array of shape (n_features_in_,)
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from assay.trees import ExtraTreesClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = ExtraTreesClassifier(50, random_state=0).fit(X, y)
    >>> model.score(X, y), model.certify(X, y).holds
    (1.0, True)

    References
    ----------
    Wei §8.3; Sangnier §1.6.4; Geurts, Ernst & Wehenkel (2006), Extremely randomized trees.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=6,
        max_numbers=1_000_000,
        encoding="codes",
        summary="The votes of a hundred trees, each with cuts drawn at random, the best of a few at a time.",
    )
    _random_cuts: ClassVar[bool] = True
    __init__ = with_defaults(ForestClassifier.__init__, bootstrap=False)


@described(FOREST_OF_NUMBERS)
class ExtraTreesRegressor(ForestRegressor):
    """Many trees of numbers whose cuts are drawn at random, averaged.

    Finds T trees g_t, each node divided by the best of a few cuts, one per drawn column, at a value drawn
    between the smallest and the largest of the node, and predicts their mean

        (1/T) Σ_t g_t(x).

    No column is searched: random cuts lower the correlation of the trees further, for a little bias.

    Columns become at most 255 bins each (every value its own where there are no more), a byte per value, once
    for all trees. Bags, columns and statistics depend on seeds and integers alone: the same trees bit for bit
    on any number of threads.

    Assumes: rows drawn independently from one law, for the out-of-bag error to be that of new rows.

    Certificates: the gains of the splits of each tree telescope from the root to the leaves; `certify` draws
    the bags again from the seeds and adds that weights and means of every node are those of the rows that
    walk through it, that no split that a node tried gains more than the one taken, that the mean of the trees
    varies as that of independent ones does, that out-of-bag means are what they say, and shows the out-of-bag
    error with its interval.

    Parameters
    ----------
    …

    Attributes
    ----------
    trees_ : Trees
        The nodes of all trees as flat arrays; `trees_[k]` is one of them.
    estimators_ : list of DecisionTreeRegressor
        The same as estimators of their own, made when asked for.
    seeds_ : int array of shape (n_estimators,)
        The seed of each tree, from which its bag is drawn again.
    feature_importances_ : array of shape (n_features_in_,)
        Mean share of each column in what the splits gain; see `importance`.
    oob_score_, oob_prediction_, oob_errors_ : float and arrays
        With `oob_score` or `oob_tol`: R², means, and the mean squared error as trees are added.
    max_features_ : int
    is_categorical_ : bool array of shape (n_features_in_,)
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from assay.trees import ExtraTreesRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = ExtraTreesRegressor(50, random_state=0).fit(X, y)
    >>> round(model.score(X, y), 2), model.certify(X, y).holds
    (1.0, True)

    References
    ----------
    Wei §8.3; Sangnier §1.6.4; Geurts, Ernst & Wehenkel (2006), Extremely randomized trees.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=6,
        max_numbers=500_000,
        encoding="codes",
        settings={"min_samples_split": 5},  # as their authors advise for numbers
        summary="The mean of a hundred trees, each with cuts drawn at random, the best of a few at a time.",
    )
    _random_cuts: ClassVar[bool] = True
    __init__ = with_defaults(ForestRegressor.__init__, bootstrap=False)
