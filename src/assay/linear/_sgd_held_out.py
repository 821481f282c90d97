"""Rows held out of a stochastic descent: when to stop, and what the fit is worth on them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.linear._engine import Array
from assay.losses import Loss
from assay.rows import MemoryRows, Rows
from assay.solvers._in_memory import targets_and_weights
from assay.solvers._sgd_steps import coded_target


class HeldOut(NamedTuple):
    """Features, targets (numbers or class numbers) and weights of the rows held out."""

    X: NDArray
    y: NDArray
    weight: Array

    def mean_loss(self, loss: Loss, coef: Array, intercept: float, positive: int | None) -> float:
        """Mean loss of a linear score."""
        target = coded_target(self.y, positive)
        return float(np.average(loss.value(target, self.X @ coef + intercept), weights=self.weight))

    def constant_loss(self, loss: Loss, positive: int | None) -> float:
        """Mean loss of the constant that is best on these rows themselves."""
        target = coded_target(self.y, positive)
        best = loss.constant_minimiser(target, self.weight)
        # One class only among the rows: the best constant of a margin loss is infinite, its loss zero.
        if not np.isfinite(best):
            return 0.0
        return float(np.average(loss.value(target, np.full(len(target), best)), weights=self.weight))


class Patience:
    """Remembers the least loss on the rows held out, and where it was."""

    def __init__(self, tol: float, n_iter_no_change: int) -> None:
        self.tol, self.most = tol, n_iter_no_change
        self.losses: list[float] = []
        self.best, self.point, self.waited = np.inf, np.zeros(0), 0

    def tired(self, loss: float, point: Array) -> bool:
        """Whether the loss has not fallen by the share `tol` for so many passes."""
        self.losses.append(loss)
        self.waited = 0 if loss < self.best * (1 - self.tol) else self.waited + 1
        if loss < self.best:
            self.best, self.point = loss, point.copy()
        return self.waited >= self.most


def choose_rows(data: Rows, fraction: float, rng: np.random.Generator, *, by_class: bool) -> NDArray:
    """Row numbers to hold out, at random; of every class its share if `by_class`."""
    order = rng.permutation(data.shape[0])
    if by_class:
        y, _ = targets_and_weights(data)
        order = order[np.argsort(y[order], kind="stable")]
    count = int(np.clip(round(fraction * len(order)), 1, len(order) - 1))
    places = ((np.arange(count) + 0.5) * len(order) / count).astype(np.intp)
    return np.sort(order[places])


def divide(data: MemoryRows, chosen: NDArray) -> tuple[MemoryRows, HeldOut]:
    """The table with the chosen rows weighing nothing, and those rows."""
    assert data.y is not None
    weight = np.ones(data.shape[0], dtype=data.dtype) if data.weight is None else data.weight
    masked = weight.copy()
    masked[chosen] = 0.0
    held = HeldOut(data.take(chosen), data.y.reshape(-1)[chosen], weight[chosen].astype(np.float64))
    return MemoryRows(data.X, data.y, masked), held
