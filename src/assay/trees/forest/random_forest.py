"""Random forests: bootstrap samples, and a few columns per node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from assay import parameters
from assay.models.classes import CLASS_WEIGHT
from assay.parameters import Domain
from assay.suitability import Suitability
from assay.trees.calibration.probabilities import CALIBRATION_METHOD
from assay.trees.decision.solver import CLASS_CRITERIA, NUMBER_CRITERIA
from assay.trees.forest.base import FOREST_DOMAINS
from assay.trees.forest.kinds import ForestClassifier, ForestRegressor


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
    n_estimators : int, default=100
        Number of trees. More trees never overfit: the error settles.
    criterion : {"gini", "entropy", "log_loss", "misclassification"}, default="gini"
        Impurity of a node; "log_loss" is "entropy".
    max_depth : int, optional
        Depth of the deepest leaf; no limit by default.
    min_samples_split : int or float, default=2
        Weight of a node that may be divided (a share of the total as a float); 2 forbids nothing.
    min_samples_leaf : int or float, default=1
        Weight of each side of a split; 1 forbids nothing.
    min_weight_fraction_leaf : float, default=0.0
        The same as a share of the total weight.
    max_features : int, float, {"sqrt", "log2"} or None, default="sqrt"
        Columns drawn at each node, among those that are not constant there; None: all.
    max_leaf_nodes : int, optional
        Grow best-first, the node of the largest gain before the others, up to so many leaves.
    min_impurity_decrease : float, default=0.0
        Least gain of a split as a share of the total weight.
    bootstrap : bool, default=True
        Whether each tree gets as many rows as there are, drawn with replacement; else all rows.
    oob_score : bool or callable, default=False
        Whether to keep what the trees say about rows they have not seen; a function score(y, predicted)
        replaces accuracy or R².
    n_jobs : int, optional
        Threads of the fit (−1: all); as `assay.rows.threads` says by default. Never changes a tree.
    random_state : int, Generator, SeedSequence, RandomState or None
        Gives each tree a seed of its own; the first k trees are those of a forest of k trees.
    verbose : int, default=0
        Above 0, each tree is reported through `logging`.
    warm_start : bool, default=False
        Keep the trees that are there and add the missing ones.
    class_weight : dict, "balanced", "balanced_subsample" or None
        Factor of the weights of each class; "balanced_subsample" balances the bag of each tree.
    ccp_alpha : float, default=0.0
        Penalty per leaf by which each tree is pruned.
    max_samples : int or float, optional
        Rows drawn for each tree, or their share; all by default.
    monotonic_cst : list of {-1, 0, 1} or dict, optional
        Columns along which predictions (of two classes, the probability of the second) must not fall (1) or
        rise (−1).
    interaction_cst : list of groups, {"pairwise", "no_interactions"} or None
        Groups of columns that may meet on one path; columns in no group form one.
    categorical_features : "from_dtype", list of names, places or a mask, or None, default="from_dtype"
        Columns whose levels are divided into two groups instead of cut at a threshold.
    oob_tol : float, optional
        Stop adding trees once the out-of-bag error has moved by no more than this over the last 20 trees.
    keep_rows : bool or int, default=False
        Keep the leaf of every row of the fit, or of so many at equal distances, in every tree:
        `predict_quantile` and `predict_interval` of forests of numbers need it.
    calibration_method : {"sigmoid", "isotonic", "temperature"} or None, default=None
        How votes are brought to the shares observed out of bag (needs `bootstrap`); the class predicted is
        then the one of the largest probability so found.

    Attributes
    ----------
    trees_ : Trees
        The nodes of all trees as flat arrays; `trees_[k]` is one of them.
    estimators_ : list of DecisionTreeClassifier
        The same as estimators of their own, made when asked for.
    classes_ : array of shape (n_classes,)
    n_classes_ : int
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
    _domains: ClassVar[Mapping[str, Domain]] = {
        **FOREST_DOMAINS,
        "criterion": parameters.one_of(*CLASS_CRITERIA),
        "class_weight": CLASS_WEIGHT | parameters.one_of("balanced_subsample"),
        "calibration_method": CALIBRATION_METHOD,
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "gini",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = "sqrt",
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = "from_dtype",
        oob_tol: float | None = None,
        keep_rows: bool | int = False,
        calibration_method: str | None = None,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.categorical_features = categorical_features
        self.oob_tol = oob_tol
        self.keep_rows = keep_rows
        self.calibration_method = calibration_method


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
    n_estimators : int, default=100
        Number of trees. More trees never overfit: the error settles.
    criterion : {"squared_error", "friedman_mse", "absolute_error", "poisson"}, default="squared_error"
        Impurity of a node: variance, or half the mean Poisson deviance.
    max_depth : int, optional
        Depth of the deepest leaf; no limit by default.
    min_samples_split : int or float, default=2
        Weight of a node that may be divided (a share of the total as a float); 2 forbids nothing.
    min_samples_leaf : int or float, default=1
        Weight of each side of a split; 1 forbids nothing.
    min_weight_fraction_leaf : float, default=0.0
        The same as a share of the total weight.
    max_features : int, float, {"sqrt", "log2"} or None, default=1.0
        Columns drawn at each node, among those that are not constant there; None: all.
    max_leaf_nodes : int, optional
        Grow best-first, the node of the largest gain before the others, up to so many leaves.
    min_impurity_decrease : float, default=0.0
        Least gain of a split as a share of the total weight.
    bootstrap : bool, default=True
        Whether each tree gets as many rows as there are, drawn with replacement; else all rows.
    oob_score : bool or callable, default=False
        Whether to keep what the trees say about rows they have not seen; a function score(y, predicted)
        replaces accuracy or R².
    n_jobs : int, optional
        Threads of the fit (−1: all); as `assay.rows.threads` says by default. Never changes a tree.
    random_state : int, Generator, SeedSequence, RandomState or None
        Gives each tree a seed of its own; the first k trees are those of a forest of k trees.
    verbose : int, default=0
        Above 0, each tree is reported through `logging`.
    warm_start : bool, default=False
        Keep the trees that are there and add the missing ones.
    ccp_alpha : float, default=0.0
        Penalty per leaf by which each tree is pruned.
    max_samples : int or float, optional
        Rows drawn for each tree, or their share; all by default.
    monotonic_cst : list of {-1, 0, 1} or dict, optional
        Columns along which predictions (of two classes, the probability of the second) must not fall (1) or
        rise (−1).
    interaction_cst : list of groups, {"pairwise", "no_interactions"} or None
        Groups of columns that may meet on one path; columns in no group form one.
    categorical_features : "from_dtype", list of names, places or a mask, or None, default="from_dtype"
        Columns whose levels are divided into two groups instead of cut at a threshold.
    oob_tol : float, optional
        Stop adding trees once the out-of-bag error has moved by no more than this over the last 20 trees.
    keep_rows : bool or int, default=False
        Keep the leaf of every row of the fit, or of so many at equal distances, in every tree:
        `predict_quantile` and `predict_interval` of forests of numbers need it.

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
        settings={"keep_rows": 500, "max_features": 0.5},
        summary="The mean of a hundred trees, each grown on rows and columns drawn at random.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        **FOREST_DOMAINS,
        "criterion": parameters.one_of(*NUMBER_CRITERIA),
    }

    def __init__(
        self,
        n_estimators: int = 100,
        *,
        criterion: str = "squared_error",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = 1.0,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        bootstrap: bool = True,
        oob_score: Any = False,
        n_jobs: int | None = None,
        random_state: Any = None,
        verbose: int = 0,
        warm_start: bool = False,
        ccp_alpha: float = 0.0,
        max_samples: Any = None,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = "from_dtype",
        oob_tol: float | None = None,
        keep_rows: bool | int = False,
    ) -> None:
        self.n_estimators = n_estimators
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.max_features = max_features
        self.max_leaf_nodes = max_leaf_nodes
        self.min_impurity_decrease = min_impurity_decrease
        self.bootstrap = bootstrap
        self.oob_score = oob_score
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose
        self.warm_start = warm_start
        self.ccp_alpha = ccp_alpha
        self.max_samples = max_samples
        self.monotonic_cst = monotonic_cst
        self.interaction_cst = interaction_cst
        self.categorical_features = categorical_features
        self.oob_tol = oob_tol
        self.keep_rows = keep_rows
