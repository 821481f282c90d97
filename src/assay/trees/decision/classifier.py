"""A tree of classes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.parameters import Domain
from assay.randomness import generator
from assay.rows import Block, MemoryRows
from assay.suitability import Suitability
from assay.trees.decision.base import GROWTH_DOMAINS, DecisionTree, value_of_rows
from assay.trees.decision.solver import CLASS_CRITERIA
from assay.trees.describing import CLASSES, GROWTH, described, keep_parameters
from assay.trees.growing.columns import Columns
from assay.trees.outputs import (
    CLASS_WEIGHTS,
    ClassOutputs,
    classes_of_shares,
    refuse_several,
    share_weights,
)
from assay.trees.walking import Walk


@described(GROWTH | CLASSES)
class DecisionTreeClassifier(ClassOutputs, DecisionTree):
    """A tree of classes, grown greedily until its leaves are pure and pruned by cost-complexity.

    Finds at each node the column j and the threshold s that minimise

        W_L Q(L) + W_R Q(R),        x_j ≤ s in L, x_j > s in R,

    over all distinct values of all columns, W the weight of a side and Q its impurity: Gini Σ p_k(1 − p_k),
    entropy −Σ p_k log p_k or misclassification 1 − max p_k, and divides the sides in turn. Columns are
    sorted once; class weights are summed as integers, so that neither the order of the rows nor the number of
    threads changes a bit of the tree. Missing values go to the side where they cost less. With several
    outputs Q is the mean of theirs.

    Assumes: nothing about the law of the rows. A full tree fits any table of distinct rows, so its training
    error says nothing: prune it (`select`).

    Certificates: the gains of the splits telescope from the root to the leaves, weights recounted by walking
    the rows are those of the leaves, rounding of integer sums is harmless; `certify` adds that no admissible
    split is better at any node, that the leaves are disjoint boxes, that the pruned tree minimises the
    penalised cost over all prunings, and that constraints hold everywhere.

    Parameters
    ----------
    …

    Attributes
    ----------
    tree_ : Tree
        The nodes as arrays: columns, thresholds, children, shares of the classes, impurities, gains, weights.
    classes_ : array of shape (n_classes,), or a list of them for several outputs
    n_classes_ : int, or a list of them
    n_outputs_ : int
    feature_importances_ : array of shape (n_features_in_,)
        Share of each column in what the splits gain.
    max_features_ : int
    is_categorical_ : bool array of shape (n_features_in_,)
    levels_ : dict
        Names of the levels of columns of categories that are not numbers.
    certificates_ : Certificates

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from assay.trees import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2), model.certificates_.holds
    (3, 0.96, True)

    References
    ----------
    Wei §8.1; Sangnier §1.6.2; Breiman, Friedman, Olshen & Stone (1984).
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=2,
        max_numbers=5_000_000,
        select={"rule": "min"},
        encoding="codes",
        summary="One tree of yes-or-no questions, pruned to the size that predicts best.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "criterion": parameters.one_of(*CLASS_CRITERIA),
        "class_weight": CLASS_WEIGHTS,
        **GROWTH_DOMAINS,
    }

    def __init__(
        self,
        *,
        criterion: str = "gini",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        class_weight: Any = None,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix (made dense) or frame
            NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or names of columns
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        self._grow(*self._opened(X, y, sample_weight))
        return self

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Prove the tree again from the rows themselves, every split of every node.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        self._require_memory(X)
        data: Any = self._open_new_classes(X, y, sample_weight)
        return self._certify(*self._rows_of(data))

    def _opened(self, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray, NDArray, NDArray, int, Any]:
        self._require_memory(X)
        data: Any
        data, _ = self._open_classes(X, y, sample_weight)
        self._mark_categories()
        return self._rows_of(data)

    def _rows_of(self, data: MemoryRows) -> tuple[NDArray, NDArray, NDArray, int, Any]:
        """Rows, places of the labels, weights times the factors of the classes, and the criterion."""
        assert data.y is not None
        labels = data.y.astype(np.int64)
        if not self._several:
            labels = labels.reshape(len(labels), -1)[:, 0]
        weight = np.ones(len(labels)) if data.weight is None else data.weight.astype(np.float64)
        n_shares = int(self._ends[-1])
        if self.class_weight is not None:
            factors = self._class_factors(share_weights(labels, weight, n_shares))[labels]
            weight = weight * factors.reshape(len(labels), -1).prod(axis=1)
        return self._dense(data), labels, weight, n_shares, self._form(CLASS_CRITERIA[self.criterion])

    def _verdict(self, value: NDArray, decimals: int) -> str:
        each = self._each(value[np.newaxis])
        return " and ".join(f"{own[part.argmax()]} ({part.max():.{decimals}f})" for own, part in each)

    def predict(self, X: Any) -> Any:
        """The commonest class of the leaf of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        how = (self.tree_.walk(data.shape[0]), self.columns_, self.classes_)
        return data.map(class_of_rows, *how, **self._answer)

    def predict_proba(self, X: Any) -> Any:
        """Share of each class in the leaf of each row; a list of arrays for several outputs."""
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": self.tree_.value.shape[1]}
        return self._apart(data.map(value_of_rows, self.tree_.walk(data.shape[0]), self.columns_, **how))

    def predict_random(self, X: Any, random_state: Any = None) -> NDArray:
        """A label drawn from the shares of the leaf of each row.

        Its error within a leaf is the Gini index of the leaf (2p(1 − p) for two classes).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        random_state : int, Generator, SeedSequence, RandomState or None
        """
        refuse_several(self, "predict_random")
        upto = np.cumsum(np.asarray(self.predict_proba(X), dtype=np.float64), axis=1)
        drawn = generator(random_state).random(len(upto))
        places = np.sum(drawn[:, np.newaxis] * upto[:, -1:] >= upto, axis=1)
        return self.classes_[np.minimum(places, len(self.classes_) - 1)]

    def log_odds(self, X: Any) -> NDArray[np.float64]:
        """The form of the tree that is added up in boosting: log P(k|x) − log P(first class|x).

        Returns
        -------
        log_odds : array of shape (n_samples,) for two classes, else (n_samples, n_classes)
            ±∞ in leaves that lack a class; NaN between two classes that a leaf lacks both.
        """
        refuse_several(self, "log_odds")
        logs = np.asarray(self.predict_log_proba(X), dtype=np.float64)
        with np.errstate(invalid="ignore"):
            odds = logs - logs[:, :1]
        return odds[:, 1] if odds.shape[1] == 2 else odds


def class_of_rows(block: Block, walk: Walk, columns: Columns, classes: Any) -> NDArray:
    """The class that each row of a block is predicted."""
    return classes_of_shares(value_of_rows(block, walk, columns), classes)
