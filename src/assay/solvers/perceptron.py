"""Rosenblatt's perceptron, by batches, with the best point kept aside and Novikoff's bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from assay.loops import compiled
from assay.rows import Block, MemoryRows, Rows
from assay.solvers.in_memory import add_row, loop_rows, row_product
from assay.solvers.least_squares.direct import Array
from assay.solvers.separation import separability

PATIENCE = 64
"""Passes after which it is asked whether a plane separates the rows, and that a better one may take then."""

LARGEST_QUESTION = 10**6
"""Numbers in a table up to which it is asked."""


@compiled
def perceptron_pass(rows, label, weight, order, batch_size, bias, coef, total):  # type: ignore[no-untyped-def]
    """One pass along `order`: after each batch, add the mean of its mistaken rows.

    `coef` ends with the intercept, moved when `bias` is 1; `total` grows by `coef` after each batch. Returns
    the number of updates.
    """
    d, n_updates = coef.shape[0] - 1, 0
    move = np.zeros(d + 1)
    for first in range(0, order.shape[0], batch_size):
        move[:] = 0.0
        mass = 0.0
        for place in range(first, min(first + batch_size, order.shape[0])):
            i = order[place]
            if weight[i] == 0.0 or label[i] * (coef[d] + row_product(rows, i, coef)) > 0.0:
                continue
            push = weight[i] * label[i]
            mass += weight[i]
            move[d] += push * bias
            add_row(rows, i, push, move)
        if mass > 0.0:
            n_updates += 1
            for j in range(d + 1):
                coef[j] += move[j] / mass
        for j in range(d + 1):
            total[j] += coef[j]
    return n_updates


class PlaneEvidence(NamedTuple):
    """A linear rule on labelled rows: weight of its mistakes, smallest margin tf, largest ‖(x, 1)‖²."""

    mistakes: float
    margin: float
    radius: float
    move: Array


class PerceptronFit(NamedTuple):
    """Result of `perceptron`; `mistakes` are the weights of the mistaken rows before each pass.

    `hopeless` says that no plane separates the rows, as was proven on the way.
    """

    coef: Array
    intercept: float
    n_updates: int
    n_iter: int
    converged: bool
    hopeless: bool
    mistakes: list[float]


def perceptron(
    data: Rows,
    positive: int,
    rng: np.random.Generator,
    report: Callable[[Array, float], bool] = lambda coef, intercept: False,
    *,
    fit_intercept: bool,
    batch_size: int | None,
    shuffle: bool,
    average: bool,
    max_iter: int,
) -> PerceptronFit:
    """Move w by the mean of the mistaken rows t(x, 1) of each batch until no row has tf ≤ 0.

    Whatever the batches, w gains γ at each update along a unit vector of margin γ, while ‖w‖² grows by at
    most R²: there are at most (R/γ)² updates. On rows that no plane separates the point with the least
    weight of mistakes at the end of a pass is kept. After 64 passes a table that is not too large is asked
    whether a plane separates it; where none does, 64 passes without a better point end the search.

    Rows are in memory unless `batch_size` is None, which takes all rows as one batch, wherever they are.
    `positive` is the class number whose label is +1; `rng` gives the orders of the rows; `report` is told w
    and b after each pass, and true asks to stop. The rest is as in `assay.linear.Perceptron`.
    """
    d = data.shape[1]
    point, total = np.zeros(d + 1), np.zeros(d + 1)
    best, least = point.copy(), np.inf
    n_updates, n_batches, iteration, stale, hopeless = 0, 0, 0, 0, False
    history: list[float] = []
    order = np.arange(data.shape[0])
    if batch_size is not None:
        assert isinstance(data, MemoryRows)
        assert data.y is not None
        label = np.where(data.y == positive, 1.0, -1.0)
        weight = np.ones(len(label)) if data.weight is None else data.weight.astype(np.float64)
        rows, bias = loop_rows(data.X), float(fit_intercept)
    # `best` is a point after whole passes, and `least` the weight of its mistakes on all rows.
    while True:
        seen = separation(data, positive, point)
        if not np.isfinite(seen.radius):
            raise ValueError(
                "The squares of a row of X are too large for floating point. Divide the columns by their "
                "scale."
            )
        history.append(seen.mistakes)
        stale += 1
        if seen.mistakes < least:
            best, least, stale = point.copy(), seen.mistakes, 0
        if iteration == PATIENCE and seen.mistakes > 0:
            hopeless = no_plane_separates(data, positive, fit_intercept=fit_intercept)
        if seen.mistakes == 0 or iteration == max_iter or (hopeless and stale >= PATIENCE):
            break
        iteration += 1
        if batch_size is None:
            step = seen.move / seen.mistakes
            point = point + step if fit_intercept else point + np.append(step[:-1], 0.0)
            total, n_updates, n_batches = total + point, n_updates + 1, n_batches + 1
        else:
            if shuffle:
                rng.shuffle(order)
            n_updates += int(perceptron_pass(rows, label, weight, order, batch_size, bias, point, total))
            n_batches += -(-len(order) // batch_size)
        if report(point[:d], float(point[d])):
            break
    answer = total / max(n_batches, 1) if average else best
    ended = max(iteration, 1), least == 0, hopeless
    return PerceptronFit(answer[:d], float(answer[d]), n_updates, *ended, history)


def no_plane_separates(data: Rows, positive: int, *, fit_intercept: bool) -> bool:
    """Whether it is proven that no plane separates one class from the rest; not asked of large tables."""
    if not isinstance(data, MemoryRows) or data.shape[0] * data.shape[1] > LARGEST_QUESTION:
        return False
    assert data.y is not None
    label, weight = data.y.reshape(-1) == positive, data.weight
    try:
        known = separability(data.X, label, fit_intercept=fit_intercept, sample_weight=weight)
    except ValueError:  # one label only among the rows that weigh something
        return False
    return known.status != "separable" and known.certificates.holds


def separation(data: Rows, positive: int, point: Array) -> PlaneEvidence:
    """How a plane separates the rows, by one walk."""
    return data.reduce(separation_step, positive, point, combine=_join)


def separation_step(block: Block, positive: int, point: Array) -> PlaneEvidence:
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
    return PlaneEvidence(
        float(np.abs(push).sum()),
        float(np.min(margin, where=there, initial=np.inf)),
        float(np.max(squares.astype(np.float64) + 1, where=there, initial=0.0)),
        np.append(np.asarray(block.X.T @ push, dtype=np.float64), push.sum()),
    )


def _join(left: PlaneEvidence, right: PlaneEvidence) -> PlaneEvidence:
    margin, radius = min(left.margin, right.margin), max(left.radius, right.radius)
    return PlaneEvidence(left.mistakes + right.mistakes, margin, radius, left.move + right.move)
