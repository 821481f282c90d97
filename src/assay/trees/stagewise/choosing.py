"""The number of rounds and the shrinkage as a path, and the choice of the rounds."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from assay.base import Model
from assay.models.selection import (
    FoldTable,
    Selection,
    folds,
    one_standard_error,
    open_table,
    validation_curve,
)
from assay.parameters import refusal

Array = NDArray[np.float64]

RATES = (0.05, 0.2, 0.5, 1.0)
"""Shrinkages of a path when none are given."""


@dataclass(frozen=True, eq=False)
class BoostingPath:
    """Boosted models at several shrinkages, each of which holds all smaller numbers of rounds.

    Attributes
    ----------
    rates : tuple of float
        Shrinkages ν.
    models : tuple of estimators
        Fitted with as many rounds as asked.
    measure : str
        What `risks` measures.
    """

    rates: tuple[float, ...]
    models: tuple[Any, ...]
    measure: str

    def risks(self, X: Any, y: Any) -> Array:
        """Mean loss on rows at every shrinkage (a row) and number of rounds (a column)."""
        return np.array([model._risks(X, y) for model in self.models])


class HasRounds(Model):
    """Gives a boosted model `path` and `select` over the number of rounds."""

    n_estimators: int
    _measure: str = "mean loss"

    @abstractmethod
    def _staged_answers(self, X: Any) -> Iterator[NDArray]:
        """What is compared with the target, after each round."""

    @abstractmethod
    def _row_loss(self, y: NDArray, answers: NDArray) -> Array:
        """Loss of each row, of targets as the fit codes them."""

    def _coded(self, y: Any) -> NDArray:
        """Targets as `_row_loss` takes them."""
        return np.asarray(y, dtype=np.float64)

    def _risks(self, X: Any, y: Any) -> Array:
        target = self._coded(y)
        risks = [float(np.mean(self._row_loss(target, answers))) for answers in self._staged_answers(X)]
        return np.array(risks + risks[-1:] * (self.n_estimators - len(risks)))

    def path(
        self, X: Any, y: Any = None, learning_rates: Sequence[float] = RATES, sample_weight: Any = None
    ) -> BoostingPath:
        """Models at several shrinkages; each tells the risk after every number of rounds.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`; needs no earlier fit, and leaves this model as it is.
        learning_rates : sequence of floats in (0, 1]
        """
        rates = tuple(float(rate) for rate in learning_rates)
        models = tuple(clone(self).set_params(learning_rate=rate).fit(X, y, sample_weight) for rate in rates)
        return BoostingPath(rates, models, self._measure)

    def select(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        rule: str = "min",
        cv: Any = 5,
        random_state: Any = 0,
    ) -> Selection:
        """Choose the number of rounds, up to `n_estimators`, by cross-validation or on rows held out.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`, in memory; needs no earlier fit.
        rule : {"min", "one_se"}, default="min"
            Least validation loss, or the fewest rounds within one paired standard error of it.
        cv : int, "split" or splitter, default=5
            Number of folds, one split that holds out a quarter, or a scikit-learn splitter.
        random_state : int, Generator, SeedSequence, RandomState or None
            Shuffles the rows into folds; None keeps their order.

        Returns
        -------
        selection : Selection
            `selection.best` is the number of rounds, `selection.model` the model of so many on all rows.
        """
        owner = f"{type(self).__name__}.select"
        if rule not in ("min", "one_se"):
            raise refusal(owner, "rule", "'min' or 'one_se'", rule)
        self._check_parameters()
        probe: Any = clone(self)
        table = open_table(owner, X, y, sample_weight, code=probe._code if is_classifier(self) else None)
        values = np.arange(1, self.n_estimators + 1)
        curve = validation_curve(self, table, values, folds(owner, cv, table, random_state))
        simplest = one_standard_error(curve)
        index = simplest if rule == "one_se" else int(np.argmin(curve.mean))
        best = int(values[index])
        model = clone(self).set_params(n_estimators=best).fit(X, y, sample_weight)
        measured = curve.mean, curve.standard_error, index, rule, best, model, curve.paired_error, curve.folds
        return Selection("n_estimators", values, "validation loss", *measured, simplest)

    def _along(self, table: FoldTable, values: NDArray, share: float) -> Callable[[Any], Array]:
        """Answers after every number of rounds of a fit on a fold; the last ones where it stopped early."""
        model = clone(self).fit(table.X, table.y, table.weight)

        def answers(X: Any) -> Array:
            staged = [said.copy() for said in model._staged_answers(X)]
            return np.column_stack(staged + staged[-1:] * (len(values) - len(staged)))

        return answers

    def _validation_loss(self, y: NDArray, predictions: Array) -> Array:
        target, parts = self._coded(y), np.split(predictions, self.n_estimators, axis=1)
        answers = [part[:, 0] if part.shape[1] == 1 else part for part in parts]
        return np.column_stack([self._row_loss(target, part) for part in answers])
