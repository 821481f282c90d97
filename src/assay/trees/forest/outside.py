"""Out of bag: what the trees that have not seen a row say about it, as trees are added."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import parameters
from assay.trees.outputs import numbers_of_values, wrong_outputs

SETTLED = 20
"""Trees over which the error must not have moved for it to have settled."""


class Outside(NamedTuple):
    """What the trees outside whose bag a row is say about it.

    Attributes
    ----------
    mean : array of shape (n_rows, n_outputs)
        Mean over those trees; 0 where there are none.
    counts : int array of shape (n_rows,)
        Number of those trees.
    errors : array of shape (n_trees,)
        Error with the trees up to each: share of weight with the wrong class, or mean squared error. Rows
        that are in every bag so far are left out.
    """

    mean: NDArray[np.float64]
    counts: NDArray[np.int64]
    errors: NDArray[np.float64]


class OutsideVotes:
    """Adds up trees in their order; each brings the error up to date on the rows it has not seen."""

    def __init__(
        self, target: NDArray, weight: NDArray[np.float64], n_classes: int, ends: NDArray | None = None
    ) -> None:
        self._target, self._weight, self._n_classes, self._ends = target, weight, n_classes, ends
        self._sums = np.zeros((len(target), n_classes or target.reshape(len(target), -1).shape[1]))
        self._counts = np.zeros(len(target), dtype=np.int64)
        self._losses = np.zeros(len(target))
        self._seen = self._lost = 0.0
        self.errors: list[float] = []

    def add(self, value: NDArray[np.float64], rows: NDArray[np.int64], leaves: NDArray[np.int32]) -> None:
        """Add a tree: the values of its nodes, and the leaves of the rows outside its bag."""
        self._sums[rows] += value[leaves]
        self._seen += float(self._weight[rows][self._counts[rows] == 0].sum())
        self._counts[rows] += 1
        means = self._sums[rows] / self._counts[rows][:, np.newaxis]
        losses = row_losses(means, self._target[rows], self._n_classes, self._ends)
        self._lost += float(np.dot(self._weight[rows], losses - self._losses[rows]))
        self._losses[rows] = losses
        self.errors.append(max(self._lost, 0.0) / self._seen if self._seen > 0 else 1.0)

    def has_settled(self, tolerance: float) -> bool:
        """Whether the error has moved by no more than the tolerance over the last trees."""
        last = self.errors[-SETTLED:]
        is_complete = bool(np.all(self._counts[self._weight > 0] > 0))
        return is_complete and len(last) == SETTLED and max(last) - min(last) <= tolerance

    def result(self) -> Outside:
        """Means, counts and errors of the trees so far."""
        mean = self._sums / np.maximum(self._counts, 1)[:, np.newaxis]
        return Outside(mean, self._counts, np.array(self.errors))


def outside_error(
    outside: Outside, target: NDArray, weight: NDArray, n_classes: int, ends: NDArray | None = None
) -> tuple[float, float]:
    """Error on the rows that some tree has not seen, and its standard error."""
    there = (outside.counts > 0) & (weight > 0)
    if not there.any():
        return float("nan"), float("nan")
    losses = row_losses(outside.mean[there], target[there], n_classes, ends)
    share = weight[there] / weight[there].sum()
    error = float(np.dot(share, losses))
    return error, float(np.sqrt(np.dot(share**2, (losses - error) ** 2)))


def row_losses(
    mean: NDArray, target: NDArray, n_classes: int, ends: NDArray | None = None
) -> NDArray[np.float64]:
    """1 for a wrong class, or the squared error, of each row; the mean over several outputs."""
    if n_classes:
        return wrong_outputs(mean, target, ends)
    return np.asarray(np.mean((mean - target.reshape(mean.shape)) ** 2, axis=1))


def outside_score(model: Any, outside: Outside, target: NDArray, weight: NDArray, n_classes: int) -> float:
    """Accuracy or R² on the rows that some tree has not seen, or what a function of the user says."""
    there = (outside.counts > 0) & (weight > 0)
    if not there.any():
        return 0.0
    if callable(model.oob_score):
        if n_classes:
            said, true = np.argmax(outside.mean[there], axis=1), target[there].astype(np.int64)
            score = model.oob_score(model.classes_[true], model.classes_[said])
        else:
            score = model.oob_score(target[there], numbers_of_values(outside.mean[there]))
        if not parameters.real().contains(score):
            words = "a function that gives a finite number"
            raise parameters.refusal(type(model).__name__, "oob_score", words, score)
        return float(score)
    if n_classes:
        return 1.0 - outside_error(outside, target, weight, n_classes)[0]
    share, values = weight[there] / weight[there].sum(), target[there].reshape(int(there.sum()), -1)
    error = share @ (outside.mean[there] - values) ** 2
    spread = share @ (values - share @ values) ** 2
    rest = np.divide(error, spread, out=(error != 0).astype(np.float64), where=spread > 0)
    return float(np.mean(1.0 - rest))
