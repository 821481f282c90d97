"""The compiled pass of the perceptron over batches of rows, dense or CSR."""

from __future__ import annotations

import numpy as np

from assay.loops import compiled


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
