"""A tree of numbers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.certificates import Certificates
from assay.parameters import LARGEST, SMALLEST, Domain
from assay.rows import MemoryRows
from assay.suitability import Suitability
from assay.trees.decision.base import GROWTH_DOMAINS, DecisionTree, number_of_rows
from assay.trees.decision.solver import NUMBER_CRITERIA
from assay.trees.describing import GROWTH, NUMBERS, described, keep_parameters
from assay.trees.outputs import NumberOutputs


@described(GROWTH | NUMBERS)
class DecisionTreeRegressor(NumberOutputs, DecisionTree):
    """A tree of numbers, grown greedily until its leaves are pure and pruned by cost-complexity.

    Finds at each node the column j and the threshold s that minimise

        W_L Q(L) + W_R Q(R),        x_j ≤ s in L, x_j > s in R,

    over all distinct values of all columns, W the weight of a side and Q its variance, its mean distance
    to its median, or half its mean Poisson deviance, and divides the sides in turn; a leaf predicts its
    mean, or median. Friedman's gain W_L W_R / (W_L + W_R) (ȳ_L − ȳ_R)² is what a split lowers the squared
    error by: maximising it gives the same tree. With several outputs Q is the mean of theirs. Columns are
    sorted once; statistics are summed as integers about the mean of the node, so that neither the order
    of the rows nor the number of threads changes a bit of the tree.

    Assumes: nothing about the law of the rows; "poisson" takes targets of at least 0. A full tree fits any
    table of distinct rows, so its training error says nothing: prune it (`select`).

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
        The nodes as arrays: columns, thresholds, children, values, impurities, gains, weights.
    feature_importances_ : array of shape (n_features_in_,)
        Share of each column in what the splits gain.
    n_outputs_ : int
    max_features_ : int
    is_categorical_ : bool array of shape (n_features_in_,)
    levels_ : dict
        Names of the levels of columns of categories that are not numbers.
    certificates_ : Certificates

    Examples
    --------
    >>> from assay.datasets import diabetes
    >>> from assay.trees import DecisionTreeRegressor
    >>> X, y = diabetes(return_X_y=True)
    >>> model = DecisionTreeRegressor(max_leaf_nodes=8).fit(X, y)
    >>> model.get_n_leaves(), round(model.score(X, y), 2), model.certificates_.holds
    (8, 0.51, True)

    References
    ----------
    Sangnier §1.6.2; Wei §8.1; Breiman, Friedman, Olshen & Stone (1984).
    """

    _suits: ClassVar[Suitability | None] = Suitability(
        complexity=2,
        max_numbers=2_000_000,
        select={"rule": "min"},
        encoding="codes",
        summary="One tree of yes-or-no questions, pruned to the size that predicts best.",
    )
    _domains: ClassVar[Mapping[str, Domain]] = {
        "criterion": parameters.one_of(*NUMBER_CRITERIA),
        **GROWTH_DOMAINS,
    }

    def __init__(
        self,
        *,
        criterion: str = "squared_error",
        splitter: str = "best",
        max_depth: int | None = None,
        min_samples_split: float = 2,
        min_samples_leaf: float = 1,
        min_weight_fraction_leaf: float = 0.0,
        max_features: Any = None,
        random_state: Any = None,
        max_leaf_nodes: int | None = None,
        min_impurity_decrease: float = 0.0,
        ccp_alpha: float = 0.0,
        monotonic_cst: Any = None,
        interaction_cst: Any = None,
        categorical_features: Any = "from_dtype",
    ) -> None:
        keep_parameters(self, locals())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.criterion == "poisson"
        return tags

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow and prune the tree.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix (made dense) or frame
            NaN is a missing value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or names of columns
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
        data: Any = self._open_new_vector(X, y, sample_weight)
        return self._certify(*self._rows_of(data))

    def _opened(self, X: Any, y: Any, sample_weight: Any) -> tuple[NDArray, NDArray, NDArray, int, Any]:
        self._require_memory(X)
        data: Any = self._open_vector(X, y, sample_weight)
        self._mark_categories()
        return self._rows_of(data)

    def _verdict(self, value: NDArray, decimals: int) -> str:
        return " and ".join(f"{float(number):.{decimals}f}" for number in value)

    def _rows_of(self, data: MemoryRows) -> tuple[NDArray, NDArray, NDArray, int, Any]:
        """Rows, targets in a range that sums of squares can bear, weights and criterion."""
        assert data.y is not None
        target = data.y.astype(np.float64)
        weight = np.ones(len(target)) if data.weight is None else data.weight.astype(np.float64)
        require_targets(self, target[weight > 0])
        return self._dense(data), target, weight, 0, self._form(NUMBER_CRITERIA[self.criterion])

    def predict(self, X: Any) -> Any:
        """The value of the leaf of each row: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        walk = self.tree_.walk(data.shape[0])
        return data.map(number_of_rows, walk, self.columns_, dtype=data.dtype, **self._answer)


def require_targets(model: Any, target: NDArray) -> None:
    """Refuse targets that a criterion cannot take, output by output."""
    for column in target.reshape(len(target), -1).T:
        require_range(model, column)
        if model.criterion == "poisson" and (column.min() < 0 or column.sum() <= 0):
            raise ValueError(
                f"{type(model).__name__} with criterion='poisson' takes targets of at least 0, not all of "
                f"them 0. The smallest is {column.min():g}, the sum {column.sum():g}."
            )


def require_range(model: Any, target: NDArray) -> None:
    """Refuse targets whose squares are no numbers."""
    low, high = float(target.min()), float(target.max())
    spread, size = high / 2 - low / 2, max(abs(low), abs(high))
    if size > LARGEST or 0 < spread < SMALLEST:
        raise ValueError(
            f"{type(model).__name__} squares the target, so y must be at most {LARGEST:g} in size and "
            f"vary by at least {SMALLEST:g}. It runs from {low:g} to {high:g}; scale it first."
        )
