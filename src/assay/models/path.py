"""Paths and selection for models that are fitted anew at each penalty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from assay.models.selection import (
    Candidates,
    FoldTable,
    Selection,
    checked_alphas,
    select_parameter,
    squared_row_loss,
)

Array = NDArray[np.float64]
GRID = np.geomspace(10.0, 1e-5, 25)
"""Penalties on the scale of the mean when none are given."""


@dataclass(frozen=True, eq=False)
class PenaltyPath:
    """Linear models along a grid of penalties; every kind of path is one, with what that kind knows besides.

    Attributes
    ----------
    alphas : array of shape (n_alphas,)
        Values of the model's penalty parameter, decreasing unless the model says otherwise.
    coef : array or CSR array of shape (n_alphas, n_features) or (n_alphas, n_targets, n_features)
    intercept : array of shape (n_alphas,) or (n_alphas, n_targets)
    """

    alphas: Any
    coef: Any
    intercept: NDArray

    @property
    def n_nonzero(self) -> NDArray:
        """Features with a coefficient that is not zero, for each penalty."""
        used = self.coef if self.coef.ndim == 2 else np.any(self.coef != 0, axis=1)
        return np.count_nonzero(used, axis=1) if isinstance(used, np.ndarray) else np.diff(used.indptr)

    def predict(self, X: Any) -> NDArray:
        """Predictions of every model, shape (n_samples, n_alphas) or (n_samples, n_alphas, n_targets)."""
        coef = self.coef if isinstance(self.coef, np.ndarray) else self.coef.toarray()
        flat = np.asarray(X @ coef.reshape(-1, coef.shape[-1]).T)
        return flat.reshape(-1, *coef.shape[:-1]) + self.intercept


@dataclass(frozen=True, eq=False)
class FittedPath(PenaltyPath):
    """A path of models that are fitted one by one.

    Attributes
    ----------
    alphas, coef, intercept
        As in `PenaltyPath`; those of each model along a first axis.
    dual_gap : array of shape (n_alphas,)
        Relative duality gaps; NaN where the model has none.
    n_iter, converged : arrays of shape (n_alphas,)
    models : tuple of estimators
        The fitted models.
    """

    dual_gap: Array
    n_iter: NDArray
    converged: NDArray
    models: tuple[Any, ...]

    def predict(self, X: Any) -> NDArray:
        """Predictions of every model, classes of a classifier, shape (n_samples, n_alphas)."""
        return np.column_stack([np.asarray(model.predict(X)).reshape(-1) for model in self.models])


class HasPenaltyPath:
    """Gives a model `path` and `select` over the parameter named by `_penalty_name`."""

    _penalty_name: ClassVar[str] = "alpha"

    def _validation_loss(self, y: NDArray, predictions: NDArray) -> Array:
        """Loss of each row under each model: wrong classes, or squared errors."""
        if is_classifier(self):
            return (predictions != y[:, None]).astype(np.float64)
        return squared_row_loss(y, predictions)

    def path(self, X: Any, y: Any = None, alphas: Any = None, sample_weight: Any = None) -> FittedPath:
        """Fit the model at every penalty of a grid.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`; needs no earlier fit.
        alphas : array-like of positive numbers, optional
            Values of the penalty parameter; 25 from 10 down to 1e-5 by default.

        Returns
        -------
        path : FittedPath
        """
        owner = f"{type(self).__name__}.path"
        grid = GRID if alphas is None else checked_alphas(alphas, owner)
        models = tuple(self._at(alpha).fit(X, y, sample_weight) for alpha in grid)
        return FittedPath(
            grid,
            np.array([model.coef_ for model in models]),
            np.array([model.intercept_ for model in models]),
            np.array([float(getattr(model, "dual_gap_", np.nan)) for model in models]),
            np.array([model.n_iter_ for model in models]),
            np.array([model.converged_ for model in models]),
            models,
        )

    def _along(self, table: FoldTable, grid: Array) -> Callable[[Any], Array]:
        """Predictions of the models of a path, for the choice among them."""
        return self.path(table.X, table.y, grid, table.weight).predict

    def _at(self, alpha: float) -> Any:
        return clone(self).set_params(**{self._penalty_name: float(alpha)})

    def select(
        self,
        X: Any,
        y: Any,
        *,
        rule: str = "min",
        alphas: Any = None,
        cv: Any = 5,
        sample_weight: Any = None,
        random_state: Any = None,
    ) -> Selection:
        """Choose the penalty by cross-validation, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory.
        rule : {"min", "one_se"}, default="min"
            The least validation loss, or the strongest penalty within one standard error of it.
        alphas : array-like of positive numbers, optional
            The grid of `path` by default.
        cv : int, "split" or splitter, default=5
            Folds; drawn at random with a `random_state`, else in the order of the rows.
        random_state : None, int, Generator, SeedSequence or RandomState

        Returns
        -------
        selection : Selection
        """
        target = np.unique(np.asarray(y), return_inverse=True)[1] if is_classifier(self) else y

        def predictor(table: FoldTable, grid: Array, share: float) -> Callable[[Any], Array]:
            return self._along(table, grid)

        def refit(alpha: float) -> Any:
            return self._at(alpha).fit(X, y, sample_weight)

        candidates = Candidates(
            lambda table: GRID, predictor, self._validation_loss, refit, parameter=self._penalty_name
        )
        return select_parameter(
            self,
            X,
            target,
            candidates,
            rule=rule,
            values=alphas,
            cv=cv,
            sample_weight=sample_weight,
            random_state=random_state,
        )
