"""The simplest tree: one split, chosen for the fewest weighted mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from assay.models.classes import CLASS_WEIGHT
from assay.parameters import Domain
from assay.rows import Block
from assay.trees.decision.base import GROWTH_DOMAINS, value_of_rows
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.growing.columns import Columns
from assay.trees.opening import CATEGORICAL_FEATURES
from assay.trees.walking import Walk


class DecisionStump(DecisionTreeClassifier):
    """One split with the fewest weighted mistakes: the weak learner of boosting.

    Minimises over columns j, thresholds s and polarities the weighted share of mistakes

        Σ_i w_i [h(x_i) ≠ y_i] / Σ_i w_i,        h(x) = ± sign(x_j − s),

    exactly, constant answers included (both sides then say the same), by one walk along each sorted column.
    With more than two classes each side answers its commonest class.

    Assumes: nothing about the law of the rows.

    Certificates: those of `DecisionTreeClassifier`; `certify` compares the stump with every other one.

    Parameters
    ----------
    min_weight_fraction_leaf : float, default=0.0
        Least share of the weight on each side.
    class_weight : dict, "balanced" or None
        Factor of the weights of each class.
    categorical_features : "from_dtype", list of names, places or a mask, or None, default="from_dtype"
        Columns whose levels are divided into two groups instead of cut at a threshold.

    Attributes
    ----------
    feature_ : int
        The column of the split, −1 where the rows cannot be divided.
    threshold_ : float
        Values up to it go left; infinite for a split of categories or none.
    polarity_ : {-1, 0, 1}
        1 where the right side answers a later class than the left one, −1 an earlier one, 0 the same.
    error_ : float
        Weighted share of mistakes on the rows of the fit.
    tree_ : Tree
    classes_ : array of shape (n_classes,)
    certificates_ : Certificates

    Examples
    --------
    >>> import numpy as np
    >>> from assay.trees import DecisionStump
    >>> stump = DecisionStump().fit([[0.0], [1.0], [2.0], [3.0]], [1, 1, 0, 1])
    >>> stump.threshold_, stump.error_
    (0.5, 0.25)

    References
    ----------
    Sangnier §1.6.2; Wei §8.1.
    """

    _domains: ClassVar[Mapping[str, Domain]] = {
        "min_weight_fraction_leaf": GROWTH_DOMAINS["min_weight_fraction_leaf"],
        "class_weight": CLASS_WEIGHT,
        "categorical_features": CATEGORICAL_FEATURES,
    }
    _takes_several: ClassVar[bool] = False
    criterion = "misclassification"
    splitter = "best"
    max_depth = 1
    min_samples_split = 2
    min_samples_leaf = 1
    max_features = None
    random_state = None
    max_leaf_nodes = None
    min_impurity_decrease = 0.0
    ccp_alpha = 0.0
    monotonic_cst = None
    interaction_cst = None

    def __init__(
        self,
        *,
        min_weight_fraction_leaf: float = 0.0,
        class_weight: Any = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        self.min_weight_fraction_leaf = min_weight_fraction_leaf
        self.class_weight = class_weight
        self.categorical_features = categorical_features

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # two answers do not suit three classes
        return tags

    @property
    def feature_(self) -> int:
        """The column of the split, −1 where the rows cannot be divided."""
        self._open_fitted()
        return int(self.tree_.feature[0])

    @property
    def threshold_(self) -> float:
        """Values up to it go left; infinite for a split of categories or none."""
        self._open_fitted()
        is_ordered = self.feature_ >= 0 and self.tree_.levels[0] < 0
        return float(self.tree_.threshold[0]) if is_ordered else np.inf

    @property
    def polarity_(self) -> int:
        """1 where the right side answers a later class than the left one, −1 an earlier one, 0 the same."""
        if self.feature_ < 0:
            return 0
        said = self.tree_.value.argmax(axis=1)
        return int(np.sign(said[self.tree_.children_right[0]] - said[self.tree_.children_left[0]]))

    @property
    def error_(self) -> float:
        """Weighted share of mistakes on the rows of the fit."""
        self._open_fitted()
        costs = self.tree_.weighted_n_node_samples * self.tree_.impurity
        return float(costs[self.tree_.is_leaf].sum() / self.tree_.weighted_n_node_samples[0])

    def decision_function(self, X: Any) -> Any:
        """h(x): 1 for the second of two classes, −1 for the first; with more classes a column each."""
        data = self._open_new_rows(X)
        width = None if len(self.classes_) == 2 else len(self.classes_)
        walk = self.tree_.walk(data.shape[0])
        return data.map(sides_of_rows, walk, self.columns_, dtype=data.dtype, width=width)


def sides_of_rows(block: Block, walk: Walk, columns: Columns) -> NDArray:
    """±1 for each row of a block: whether each class, or the second of two, is the answer."""
    said = value_of_rows(block, walk, columns).argmax(axis=1)
    if walk.value.shape[1] == 2:
        return 2.0 * said - 1.0
    return np.where(said[:, np.newaxis] == np.arange(walk.value.shape[1]), 1.0, -1.0)
