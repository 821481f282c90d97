"""What forests of classes and forests of numbers do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from assay import parameters, rows
from assay.certificates import Certificates
from assay.models.calibration import Calibrator
from assay.parameters import Domain
from assay.rows import Block, Rows
from assay.trees.calibration.probabilities import CALIBRATION_METHOD, CalibratesVotes
from assay.trees.decision.classifier import DecisionTreeClassifier
from assay.trees.decision.regressor import DecisionTreeRegressor, require_targets
from assay.trees.decision.solver import CLASS_CRITERIA, NUMBER_CRITERIA
from assay.trees.describing import keep_parameters
from assay.trees.forest.base import FOREST_DOMAINS, ForestModel, mean_of_rows, number_of_rows
from assay.trees.forest.intervals import KeptRows
from assay.trees.forest.proofs.certificates import certify_forest, fit_certificates
from assay.trees.forest.solver import Forest
from assay.trees.growing.columns import Columns
from assay.trees.outputs import CLASS_WEIGHTS, ClassOutputs, NumberOutputs, classes_of_shares, share_weights
from assay.trees.walking import Walk


class ForestClassifier(CalibratesVotes, ClassOutputs, ForestModel):
    """Base of forests of classes."""

    _domains: ClassVar[Mapping[str, Domain]] = {
        **FOREST_DOMAINS,
        "criterion": parameters.one_of(*CLASS_CRITERIA),
        "class_weight": CLASS_WEIGHTS | parameters.one_of("balanced_subsample"),
        "calibration_method": CALIBRATION_METHOD,
    }
    _single: ClassVar[type] = DecisionTreeClassifier
    criterion: str

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
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix, frame, path, Dask array or dataframe
            NaN is a missing value. Rows outside memory are kept as codes of one byte per value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or names of columns
            Labels of any kind.
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data, _ = self._open_classes(X, y, sample_weight)
        forest = self._opened_forest(data)
        self._grow(forest)
        proofs = fit_certificates(self.trees_)
        honest = self._calibrate_votes(forest.table.target, forest.table.weight)
        self.certificates_ = Certificates([*proofs, *honest])
        return self

    def _opened_forest(self, data: Rows) -> Forest:
        table = self._read(data)
        table = table._replace(target=table.target.astype(np.int64))
        factors, n_shares = None, int(self._ends[-1])
        if self.class_weight is not None and self.class_weight != "balanced_subsample":
            factors = self._class_factors(share_weights(table.target, table.weight, n_shares))
        return self._forest(table, self._form(CLASS_CRITERIA[self.criterion]), n_shares, factors)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Prove the forest again from the rows: every node of every tree, and the votes out of bag.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_classes(X, y, sample_weight)
        forest = self._opened_forest(data)
        proofs = certify_forest(self, data, forest)
        return Certificates([*proofs, *self._vote_claims(forest.table.target, forest.table.weight)])

    def _opened_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Forest]:
        require_rows_in_memory(self, X)
        data = self._open_new_classes(X, y, sample_weight)
        return data, self._opened_forest(data)

    def predict(self, X: Any) -> Any:
        """The class of the largest mean share: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        walk = self.trees_.walk(data.shape[0])
        how = (walk, self.columns_, self.classes_, getattr(self, "calibrator_", None))
        return data.map(class_of_rows, *how, **self._answer)

    def predict_proba(self, X: Any) -> Any:
        """Mean over the trees of the share of each class in the leaf of each row.

        With `calibration_method`, what the votes out of bag have taught to make of it. A list of arrays for
        several outputs.
        """
        data = self._open_new_rows(X)
        how: Any = {"dtype": data.dtype, "width": int(self._ends[-1])}
        calibrator = getattr(self, "calibrator_", None)
        walk = self.trees_.walk(data.shape[0])
        return self._apart(data.map(chances_of_rows, walk, self.columns_, calibrator, **how))


class ForestRegressor(NumberOutputs, ForestModel):
    """Base of forests of numbers."""

    _domains: ClassVar[Mapping[str, Domain]] = {
        **FOREST_DOMAINS,
        "criterion": parameters.one_of(*NUMBER_CRITERIA),
    }
    _single: ClassVar[type] = DecisionTreeRegressor
    criterion: str

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
        keep_parameters(self, locals())

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Grow the trees.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), CSR matrix, frame, path, Dask array or dataframe
            NaN is a missing value. Rows outside memory are kept as codes of one byte per value.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or names of columns
        sample_weight : array-like of shape (n_samples,) or column name, optional
            A weight of 2 means the row counts twice.
        """
        data = self._open_vector(X, y, sample_weight)
        self._grow(self._opened_forest(data))
        self.certificates_ = fit_certificates(self.trees_)
        return self

    def _opened_forest(self, data: Rows) -> Forest:
        table = self._read(data)
        table = table._replace(target=table.target.astype(np.float64))
        require_targets(self, table.target[table.weight > 0])
        return self._forest(table, self._form(NUMBER_CRITERIA[self.criterion]), 0, None)

    def certify(self, X: Any, y: Any = None, sample_weight: Any = None) -> Certificates:
        """Prove the forest again from the rows: every node of every tree, and the means out of bag.

        Parameters
        ----------
        X, y, sample_weight
            The data of the fit.
        """
        data = self._open_new_vector(X, y, sample_weight)
        return certify_forest(self, data, self._opened_forest(data))

    def _opened_again(self, X: Any, y: Any, sample_weight: Any) -> tuple[Any, Forest]:
        require_rows_in_memory(self, X)
        data = self._open_new_vector(X, y, sample_weight)
        return data, self._opened_forest(data)

    def _kept(self, method: str) -> KeptRows:
        check_is_fitted(self, "trees_")
        if not hasattr(self, "kept_"):
            raise ValueError(
                f"{type(self).__name__}.{method} needs the leaves of the rows of the fit: fit with "
                "keep_rows=True."
            )
        return self.kept_

    def predict_quantile(self, X: Any, quantile: Any = 0.5) -> NDArray[np.float64]:
        """Quantiles of the targets of the rows that share leaves with new ones (Meinshausen 2006).

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        quantile : float or list of floats, default=0.5
            Levels in [0, 1].

        Returns
        -------
        quantiles : array of shape (n_samples,), or (n_samples, n_levels) for a list
            They never cross: each is a quantile of one law.
        """
        kept = self._kept("predict_quantile")
        levels = np.asarray(quantile, dtype=np.float64)
        if levels.size == 0 or not np.all((levels >= 0) & (levels <= 1)):
            raise parameters.refusal("predict_quantile", "quantile", "levels between 0 and 1", quantile)
        quantiles = kept.quantiles(np.asarray(self.apply(X)), np.atleast_1d(levels))
        return quantiles if levels.ndim else quantiles[:, 0]

    def predict_interval(self, X: Any, coverage: float = 0.9) -> NDArray[np.float64]:
        """Intervals that hold the target of a new row about so often: jackknife+ after bootstrap.

        Each row of the fit lends its out-of-bag residual to the trees that have not seen it. The coverage is
        at least 1 − 2(1 − coverage) whatever the law of the rows, and about `coverage` in practice.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        coverage : float, default=0.9

        Returns
        -------
        intervals : array of shape (n_samples, 2)
            Lower and upper ends; infinite where there are too few rows for the coverage.
        """
        kept = self._kept("predict_interval")
        if not parameters.real(above=0.0).contains(coverage) or not coverage < 1:
            raise parameters.refusal("predict_interval", "coverage", "a number above 0 and below 1", coverage)
        if not self.bootstrap:
            raise ValueError("predict_interval needs rows outside the bags: fit with bootstrap=True.")
        trees = self.trees_
        values = [tree.value[:, 0] for tree in trees]
        leaves = np.asarray(self.apply(X))
        said = np.column_stack([value[leaves[:, place]] for place, value in enumerate(values)])
        on_rows = np.array([value[kept.leaves[place]] for place, value in enumerate(values)])
        return kept.intervals(said, on_rows, coverage)

    def predict(self, X: Any) -> Any:
        """Mean over the trees of what their leaves predict: an array, or a lazy Dask array for Dask input."""
        data = self._open_new_rows(X)
        walk = self.trees_.walk(data.shape[0])
        return data.map(number_of_rows, walk, self.columns_, dtype=data.dtype, **self._answer)


def require_rows_in_memory(model: Any, X: Any) -> None:
    """Refuse rows outside memory to what looks at the same rows again and again."""
    if rows.is_external(X):
        raise ValueError(f"{type(model).__name__}.importance takes rows in memory: hand it a sample of them.")


def class_of_rows(
    block: Block, walk: Walk, columns: Columns, classes: Any, calibrator: Calibrator | None
) -> NDArray:
    """The class that each row of a block is predicted."""
    return classes_of_shares(chances_of_rows(block, walk, columns, calibrator), classes)


def chances_of_rows(block: Block, walk: Walk, columns: Columns, calibrator: Calibrator | None) -> NDArray:
    """Probabilities of the classes of the rows of a block."""
    said = mean_of_rows(block, walk, columns)
    return said if calibrator is None else calibrator.apply(said)
