"""One search serves every number of neighbours: errors along all of them, and the choice of one."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone, is_classifier

from assay import parameters
from assay.certificates import Certificates, at_most
from assay.models.class_columns import refuse_several
from assay.models.selection import (
    Criterion,
    Said,
    Selection,
    ValidationCurve,
    criterion_losses,
    folds,
    one_standard_error,
    open_table,
    over_folds,
)
from assay.neighbors.asking import HasNearest
from assay.neighbors.rule import NeighborRule, Sorted, sorted_neighbors
from assay.neighbors.voting import Array, means_along, mistakes_along, votes, winners
from assay.rows import Block, MemoryRows

MOST_PLAIN, ROOTS, MOST = 50, 4, 2000
"""Neighbours tried by default: the larger of 50 and four times the root of the number of rows, up to 2000."""

LOOKED_AT = 32
"""Rows whose losses are computed again, one number of neighbours at a time."""


@dataclass(frozen=True, eq=False)
class NeighborPath:
    """The error of 1, 2, …, K neighbours, all from one search.

    Attributes
    ----------
    n_neighbors : int array of shape (K,)
    error : array of shape (K,)
        Share of wrong classes, or mean squared error.
    standard_error, paired_error : arrays of shape (K,)
        Of the error, and of its difference to the least one, row by row.
    held_out : bool
        Whether the rows are others than those of the fit, where each was left out in turn.
    n_rows : float
        Rows that were predicted, repetitions included.
    certificates : Certificates
    """

    n_neighbors: NDArray
    error: Array
    standard_error: Array
    paired_error: Array
    held_out: bool
    n_rows: float
    certificates: Certificates

    @property
    def best(self) -> int:
        """The number of neighbours of the least error, the least of several."""
        return int(self.n_neighbors[np.argmin(self.error)])

    def plot(self, *, ax: Any = None) -> Any:
        """Draw the errors; see `assay.display.NeighborPathDisplay`."""
        return importlib.import_module("assay.display").NeighborPathDisplay.from_path(self, ax=ax).ax_

    def __repr__(self) -> str:
        where = "held out" if self.held_out else "leave-one-out"
        return f"NeighborPath(1 to {self.n_neighbors[-1]} neighbours, least {where} error at {self.best})"


class HasPath(HasNearest):
    """Models whose number of neighbours can be chosen."""

    n_neighbors_: int
    _y: NDArray
    _path_rule: Callable[[int], NeighborRule]
    _open_labelled: Callable[[Any, Any], MemoryRows]

    def _path_losses(self, near: Sorted) -> Array:
        raise NotImplementedError

    def _said_along(self, near: Sorted, counts: NDArray) -> Said:
        raise NotImplementedError

    def score_path(self, X: Any = None, y: Any = None, *, max_neighbors: int | None = None) -> NeighborPath:
        """Errors of every number of neighbours, from one search and one sort.

        Parameters
        ----------
        X, y : array-like, optional
            Rows that the fit has not seen; without them each row of the fit is left out in turn.
        max_neighbors : int, optional
            The most neighbours K; by default the larger of 50 and 4√n, at most 2000.

        Returns
        -------
        path : NeighborPath
        """
        near = self._sorted(X, y, max_neighbors)
        losses = self._path_losses(near)
        curve = _curve_of_rows(losses, near.mass)
        counts = np.arange(1, losses.shape[1] + 1)
        proof = Certificates([self._path_certificate(near, losses)])
        total = float(near.mass.sum())
        return NeighborPath(counts, *curve[:3], X is not None, total, proof)

    def _path_certificate(self, near: Sorted, losses: Array) -> Any:
        """Losses of some rows, for three numbers of neighbours, each computed by itself."""
        rows = np.unique(np.linspace(0, len(losses) - 1, LOOKED_AT).astype(np.intp))
        some = Sorted(near.targets[rows], _rows(near.weights, rows), near.truth[rows], near.mass[rows])
        worst, scale = 0.0, float(np.abs(losses[rows]).max(initial=0.0)) or 1.0
        for k in sorted({1, (losses.shape[1] + 1) // 2, losses.shape[1]}):
            alone = self._losses_of(some, k)
            worst = max(worst, float(np.abs(alone - losses[rows, k - 1]).max(initial=0.0)) / scale)
        claim = "The errors along the path are those of each number of neighbours by itself."
        return at_most(claim, "largest deviation of a loss", worst, 1e-9, "Peyré, nearest neighbours")

    def _losses_of(self, near: Sorted, k: int) -> Array:
        raise NotImplementedError

    def _sorted(self, X: Any, y: Any, max_neighbors: int | None) -> Sorted:
        """The nearest rows of queries as far as the path goes, repetitions written out."""
        if is_classifier(self):
            refuse_several(self, "score_path")
        n_rows = int(self._mass)
        most = n_rows - 1 if X is None else n_rows
        usual = usual_neighbors(n_rows, most)
        k = usual if max_neighbors is None else max_neighbors
        if not parameters.integer(at_least=1).contains(k) or k > most:
            words = f"an int from 1 to {most}, the number of rows to choose from"
            raise parameters.refusal("score_path", "max_neighbors", words, k)
        rule = self._path_rule(int(k))
        if X is None:
            self._leave_out_in_memory()
            queries: Any = None
            truth: Any = self._y
            mass = np.ones(len(truth)) if self._weight is None else self._weight
        else:
            data = self._open_labelled(X, y)
            truth, queries = data.y, rule.queries(Block(data.X, None, None, 0))
            mass = np.ones(data.shape[0]) if data.weight is None else data.weight.astype(np.float64)
        return sorted_neighbors(rule, queries, truth, mass)

    def select(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        rule: str = "min",
        max_neighbors: int | None = None,
        cv: Any = None,
        criterion: Criterion | None = None,
        random_state: Any = None,
    ) -> Selection:
        """Choose the number of neighbours, all from one search per fold, and refit.

        Parameters
        ----------
        X, y, sample_weight
            Data as in `fit`, in memory; weights are whole numbers.
        rule : {"min", "one_se"}, default="min"
            The least error (wrong classes, or squared error), or the most neighbours within one paired
            standard error of it.
        max_neighbors : int, optional
            The most neighbours tried; by default the larger of 50 and 4√n, at most 2000.
        cv : int, "split" or splitter, optional
            Folds; by default each row is left out in turn.
        criterion : assay.models.Criterion, optional
            What is to be least in place of the error.
        random_state : None, int, Generator, SeedSequence or RandomState, default=None
            Shuffles the rows before they are cut into folds.

        Returns
        -------
        selection : Selection
        """
        owner = f"{type(self).__name__}.select"
        parameters.require(owner, parameters.one_of("min", "one_se"), rule=rule)
        whole = clone(self).set_params(n_neighbors=1).fit(X, y, sample_weight)
        if is_classifier(self):
            refuse_several(whole, "select")
        if cv is None:
            parts = [(whole._sorted(None, None, max_neighbors), np.arange(len(whole._y)))]
        else:
            parts = whole._sorted_folds(owner, (X, y, sample_weight), max_neighbors, cv, random_state)
        most = min(part.targets.shape[1] for part, _ in parts)
        counts = np.arange(1, most + 1)
        curve = _validation(whole, parts, counts, criterion)
        backwards = ValidationCurve(*(side[..., ::-1] for side in curve))
        simplest = most - 1 - one_standard_error(backwards)
        index = simplest if rule == "one_se" else int(np.argmin(curve.mean))
        best = int(counts[index])
        name = "validation loss" if cv is not None else "leave-one-out error"
        return Selection(
            parameter="n_neighbors",
            values=counts,
            criterion=name if criterion is None else criterion.name,
            curve=curve.mean,
            standard_error=curve.standard_error,
            index=index,
            rule=rule,
            best=best,
            model=clone(self).set_params(n_neighbors=best).fit(X, y, sample_weight),
            paired_error=curve.paired_error,
            fold_scores=curve.folds,
            one_se_index=simplest,
        )

    def _sorted_folds(
        self, owner: str, data: tuple[Any, Any, Any], max_neighbors: int | None, cv: Any, random_state: Any
    ) -> list[tuple[Sorted, NDArray]]:
        """Sorted neighbours of the rows of each fold among the others."""
        X, y, sample_weight = data
        code = self._code if is_classifier(self) else None
        table = open_table(owner, X, y, sample_weight, code=code)
        pairs = folds(owner, cv, table, random_state)
        parts = []
        for train, test in pairs:
            fitted = clone(self).set_params(n_neighbors=1)
            part = table.take(train)
            fitted._fit_part(part.X, part.y, part.weight, self)
            most = int(fitted._mass)
            usual = usual_neighbors(most, most)
            rule = fitted._path_rule(usual if max_neighbors is None else min(int(max_neighbors), most))
            some = table.take(test)
            mass = np.ones(len(test)) if some.weight is None else some.weight.astype(np.float64)
            parts.append((sorted_neighbors(rule, some.X, some.y.astype(self._y.dtype), mass), test))
        return parts


def usual_neighbors(n_rows: int, most: int) -> int:
    """The most neighbours of a path unless told."""
    return min(most, max(MOST_PLAIN, min(MOST, math.ceil(ROOTS * math.sqrt(n_rows)))))


def _curve_of_rows(losses: Array, mass: Array) -> ValidationCurve:
    """Means over rows, their errors, and those of the differences to the least."""
    share = mass / mass.sum()
    mean = share @ losses
    count = max(float(mass.sum()) - 1.0, 1.0)
    best = losses[:, [int(np.argmin(mean))]]
    error = np.sqrt(share @ (losses - mean) ** 2 / count)
    gaps = losses - best
    paired = np.sqrt(np.maximum(share @ gaps**2 - (share @ gaps) ** 2, 0.0) / count)
    return ValidationCurve(mean, error, paired, mean[None])


def _validation(
    model: HasPath, parts: list[tuple[Sorted, NDArray]], counts: NDArray, criterion: Criterion | None
) -> ValidationCurve:
    """The curve over the numbers of neighbours: row by row for one part, fold by fold for several."""
    short = [
        (Sorted(near.targets[:, : len(counts)], _cut(near.weights, len(counts)), near.truth, near.mass), test)
        for near, test in parts
    ]
    if criterion is None:
        losses = [model._path_losses(near) for near, _ in short]
        if len(losses) == 1:
            return _curve_of_rows(losses[0], short[0][0].mass)
        scores = np.stack(
            [near.mass @ loss / near.mass.sum() for loss, (near, _) in zip(losses, short, strict=True)]
        )
        return over_folds(scores, np.array([near.mass.sum() for near, _ in short]))
    scores = np.stack(
        [
            criterion_losses(criterion, model, near.truth, model._said_along(near, counts), test)
            for near, test in short
        ]
    )
    return over_folds(scores, np.array([float(len(test)) for _, test in short]), criterion.name)


def _rows(weights: Array | None, rows: NDArray) -> Array | None:
    return None if weights is None else weights[rows]


def _cut(weights: Array | None, k: int) -> Array | None:
    return None if weights is None else weights[:, :k]


class ClassPath(HasPath):
    """Paths of classifiers: wrong classes."""

    classes_: Any
    ties: str

    def _path_losses(self, near: Sorted) -> Array:
        n_classes = len(self.classes_)
        return mistakes_along(near.targets, near.weights, near.truth, n_classes, self.ties).astype(np.float64)

    def _losses_of(self, near: Sorted, k: int) -> Array:
        labels = near.targets[:, :k]
        counts = votes(labels, _cut(near.weights, k), len(self.classes_))
        return (winners(counts, self.ties, labels) != near.truth).astype(np.float64)

    def _said_along(self, near: Sorted, counts: NDArray) -> Said:
        predictions, chances = [], []
        for k in counts.tolist():
            labels = near.targets[:, :k]
            each = votes(labels, _cut(near.weights, k), len(self.classes_))
            predictions.append(winners(each, self.ties, labels))
            chances.append(each / each.sum(axis=1, keepdims=True))
        return Said(np.stack(predictions, axis=1), np.stack(chances, axis=1))


class MeanPath(HasPath):
    """Paths of regressors: squared errors, summed over the targets where there are several."""

    def _path_losses(self, near: Sorted) -> Array:
        # Means of differences, not differences of means: targets far from 0 keep their digits.
        apart = near.targets.astype(np.float64) - near.truth.astype(np.float64)[:, None]
        gaps = means_along(apart, near.weights) ** 2
        return gaps if gaps.ndim == 2 else gaps.sum(axis=2)

    def _losses_of(self, near: Sorted, k: int) -> Array:
        apart = near.targets[:, :k].astype(np.float64) - near.truth.astype(np.float64)[:, None]
        weights = np.ones(apart.shape[:2]) if near.weights is None else near.weights[:, :k]
        gaps = np.einsum("qk,qk...->q...", weights / weights.sum(axis=1, keepdims=True), apart) ** 2
        return gaps if gaps.ndim == 1 else gaps.sum(axis=1)

    def _said_along(self, near: Sorted, counts: NDArray) -> Said:
        return Said(means_along(near.targets, near.weights)[:, counts - 1])
