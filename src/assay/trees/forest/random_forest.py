"""Random forests: bootstrap samples, and a few columns per node."""

from __future__ import annotations

from typing import ClassVar

from assay.suitability import Suitability
from assay.trees.describing import FOREST_OF_CLASSES, FOREST_OF_NUMBERS, described
from assay.trees.forest.kinds import ForestClassifier, ForestRegressor


@described(FOREST_OF_CLASSES)
class RandomForestClassifier(ForestClassifier):
    """Many trees on bootstrap samples that look at few columns per node, and vote.

    Finds T trees g_t, each on as many rows drawn with replacement and each node divided by the best of a few
    columns drawn anew, and predicts the class of the largest mean share

        arg max over k of (1/T) Σ_t p_k(leaf of x in g_t),

    which is the majority vote where leaves are pure. Averaging lowers the variance ρσ² + (1 − ρ)σ²/T; drawn
    columns lower the correlation ρ of the trees.

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
    >>> from assay.trees import RandomForestClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RandomForestClassifier(50, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 2), model.certify(X, y).holds
    (0.95, True)

    References
    ----------
    Wei §§8.2–8.4; Sangnier §§1.6.3–1.6.4; Breiman (2001), Random forests.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=6,
        max_numbers=1_000_000,
        encoding="codes",
        summary="The votes of a hundred trees, each grown on rows and columns drawn at random.",
    )


@described(FOREST_OF_NUMBERS)
class RandomForestRegressor(ForestRegressor):
    """Many trees of numbers on bootstrap samples, averaged.

    Finds T trees g_t, each on as many rows drawn with replacement and each node divided by the best cut of
    some columns drawn anew, and predicts their mean

        (1/T) Σ_t g_t(x).

    Averaging lowers the variance ρσ² + (1 − ρ)σ²/T and leaves the bias; drawn columns lower the correlation ρ
    of the trees.

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
    >>> from assay.trees import RandomForestRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = RandomForestRegressor(50, max_features=3, oob_score=True, random_state=0).fit(X, y)
    >>> round(model.oob_score_, 1), model.certify(X, y).holds
    (0.4, True)

    References
    ----------
    Wei §§8.2–8.4; Sangnier §§1.6.3–1.6.4; Breiman (2001), Random forests.
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=6,
        max_numbers=500_000,
        encoding="codes",
        settings={"keep_rows": 500, "max_features": 0.5, "min_samples_split": 5},
        summary="The mean of a hundred trees, each grown on rows and columns drawn at random.",
    )
