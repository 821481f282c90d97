"""Rosenblatt's perceptron, by batches, with the best point kept aside and Novikoff's bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.rows import Block, MemoryRows, Rows
from assay.solvers.least_squares.direct import Array

# The compiled pass of the perceptron over batches of rows, dense or CSR.


@compiled
def perceptron_pass(  # type: ignore[no-untyped-def]
    dense, values, columns, starts, label, weight, order, batch_size, bias, coef, total, move
):
    """One pass along `order`: after each batch, add the mean of its mistaken rows.

    `coef` ends with the intercept, moved when `bias` is 1; `total` grows by `coef` after each batch; `move`
    is memory of the same size. Returns the number of updates.
    """
    d, n_updates = coef.shape[0] - 1, 0
    for first in range(0, order.shape[0], batch_size):
        move[:] = 0.0
        mass = 0.0
        for place in range(first, min(first + batch_size, order.shape[0])):
            i = order[place]
            if weight[i] == 0.0:
                continue
            score = coef[d]
            if dense is not None:
                for j in range(d):
                    score += np.float64(dense[i, j]) * coef[j]
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    score += np.float64(values[position]) * coef[columns[position]]
            if label[i] * score > 0.0:
                continue
            push = weight[i] * label[i]
            mass += weight[i]
            move[d] += push * bias
            if dense is not None:
                for j in range(d):
                    move[j] += push * np.float64(dense[i, j])
            if values is not None:
                for position in range(starts[i], starts[i + 1]):
                    move[columns[position]] += push * np.float64(values[position])
        if mass > 0.0:
            n_updates += 1
            for j in range(d + 1):
                coef[j] += move[j] / mass
        for j in range(d + 1):
            total[j] += coef[j]
    return n_updates


class Separation(NamedTuple):
    """A linear rule on labelled rows: weight of its mistakes, smallest margin tf, largest ‖(x, 1)‖²."""

    mistakes: float
    margin: float
    radius: float
    move: Array


class PerceptronFit(NamedTuple):
    """Result of `perceptron`; `mistakes` are the weights of the mistaken rows before each pass."""

    coef: Array
    intercept: float
    n_updates: int
    n_iter: int
    converged: bool
    mistakes: list[float]


def perceptron(
    data: Rows,
    positive: int,
    *,
    fit_intercept: bool,
    batch_size: int | None,
    shuffle: bool,
    average: bool,
    max_iter: int,
    rng: np.random.Generator,
    report: Callable[[Array, float], bool] = lambda coef, intercept: False,
) -> PerceptronFit:
    """Move w by the mean of the mistaken rows t(x, 1) of each batch until no row has tf ≤ 0.

    Whatever the batches, w gains γ at each update along a unit vector of margin γ, while ‖w‖² grows by at
    most R²: there are at most (R/γ)² updates. On rows that no plane separates the point with the least
    weight of mistakes at the end of a pass is kept.

    Parameters
    ----------
    data : Rows
        In memory unless `batch_size` is None, which takes all rows as one batch, wherever they are.
    positive : int
        Class number whose label is +1.
    fit_intercept, batch_size, shuffle, average, max_iter
        As in `assay.linear.Perceptron`.
    rng : Generator
        Orders of the rows.
    report : callable
        Told w and b after each pass; true asks to stop.
    """
    d = data.shape[1]
    point, total, move = np.zeros(d + 1), np.zeros(d + 1), np.zeros(d + 1)
    best, least = point.copy(), np.inf
    n_updates, n_batches, iteration = 0, 0, 0
    history: list[float] = []
    order = np.arange(data.shape[0])
    while True:
        seen = separation(data, positive, point)
        history.append(seen.mistakes)
        if seen.mistakes < least:
            best, least = point.copy(), seen.mistakes
        if seen.mistakes == 0 or iteration == max_iter:
            break
        iteration += 1
        if batch_size is None:
            step = seen.move / seen.mistakes
            point = point + step if fit_intercept else point + np.append(step[:-1], 0.0)
            total, n_updates, n_batches = total + point, n_updates + 1, n_batches + 1
        else:
            assert isinstance(data, MemoryRows)
            if shuffle:
                rng.shuffle(order)
            n_updates += _pass(data, positive, order, batch_size, fit_intercept, point, total, move)
            n_batches += -(-len(order) // batch_size)
        if report(point[:d], float(point[d])):
            break
    found = total / max(n_batches, 1) if average else best
    return PerceptronFit(found[:d], float(found[d]), n_updates, max(iteration, 1), least == 0, history)


def _pass(
    data: MemoryRows,
    positive: int,
    order: NDArray,
    batch_size: int,
    fit_intercept: bool,
    point: Array,
    total: Array,
    move: Array,
) -> int:
    """One compiled pass; `point` and `total` are changed."""
    assert data.y is not None
    label = np.where(data.y == positive, 1.0, -1.0)
    weight = np.ones(len(label)) if data.weight is None else data.weight.astype(np.float64)
    dense, values, columns, starts = data.X, None, None, None
    if data.is_sparse:
        dense, values, columns, starts = None, data.X.data, data.X.indices, data.X.indptr
    bias = float(fit_intercept)
    n_updates = perceptron_pass(
        dense, values, columns, starts, label, weight, order, batch_size, bias, point, total, move
    )
    return int(n_updates)


def separation(data: Rows, positive: int, point: Array) -> Separation:
    """How a plane separates the rows, by one walk."""
    return data.reduce(separation_step, positive, point, combine=_join)


def separation_step(block: Block, positive: int, point: Array) -> Separation:
    """Mistakes, margin and radius of one block, and the sum of its mistaken rows t(x, 1)."""
    assert block.y is not None
    label = np.where(block.y == positive, 1.0, -1.0)
    weight = block.weights
    there = weight > 0
    margin = label * (np.asarray(block.X @ point[:-1], dtype=np.float64) + point[-1])
    push = label * weight * (margin <= 0)
    if block.is_sparse:
        squares = np.asarray(block.X.multiply(block.X).sum(axis=1)).ravel()
    else:
        squares = np.einsum("ij,ij->i", block.X, block.X)
    return Separation(
        float(np.abs(push).sum()),
        float(np.min(margin, where=there, initial=np.inf)),
        float(np.max(squares.astype(np.float64) + 1, where=there, initial=0.0)),
        np.append(np.asarray(block.X.T @ push, dtype=np.float64), push.sum()),
    )


def _join(left: Separation, right: Separation) -> Separation:
    return Separation(
        left.mistakes + right.mistakes,
        min(left.margin, right.margin),
        max(left.radius, right.radius),
        left.move + right.move,
    )
