"""Landmarks: some rows that stand for all of them, drawn or chosen one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.kernels import Kernel
from assay.rows import MemoryRows, Rows

Array = NDArray[np.float64]

POOL_ROWS = 2**16
"""Rows, drawn uniformly, among which "k-means++" draws where there are more."""


class Pool(NamedTuple):
    """Rows to choose among, in float64, and their places in the table."""

    X: Any
    indices: NDArray[np.intp]


def open_pool(data: Rows, rng: np.random.Generator, *, most: int | None) -> Pool:
    """All rows of a table, or `most` of them drawn uniformly, by one walk where they are not in memory."""
    n_rows = data.shape[0]
    indices = np.arange(n_rows)
    if most is not None and n_rows > most:
        indices = np.sort(rng.choice(n_rows, most, replace=False, shuffle=False))
    if isinstance(data, MemoryRows):
        X = data.X if len(indices) == n_rows else data.X[indices]
    else:
        X = data.take(indices)
    return Pool(X.astype(np.float64, copy=False), indices)


def uniform(
    data: Rows, kernel: Kernel, n_landmarks: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray]:
    """Row numbers drawn uniformly without repetition, increasing; and those rows."""
    chosen = np.sort(rng.choice(data.shape[0], n_landmarks, replace=False, shuffle=False))
    return chosen, data.take(chosen)


def plus_plus(
    data: Rows, kernel: Kernel, n_landmarks: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray]:
    """k-means++ in the RKHS: each row with probability ∝ its squared distance to the nearest landmark.

    ‖φ(x) − φ(z)‖² = k(x, x) + k(z, z) − 2k(x, z): one column of the kernel matrix per landmark. Ends early
    where every row is a landmark or a copy of one.
    """
    pool = open_pool(data, rng, most=POOL_ROWS)
    diagonal, column = kernel.diagonal(pool.X).astype(np.float64), kernel.columns(pool.X)
    shares = rng.random(n_landmarks)
    chosen = [min(int(shares[0] * len(diagonal)), len(diagonal) - 1)]
    closest = np.full(len(diagonal), np.inf)
    for share in shares[1:]:
        last = chosen[-1]
        scale = diagonal + diagonal[last]
        distance = scale - 2.0 * column(last)
        # What is left of two equal numbers after rounding is no distance.
        distance[distance <= ROUNDING * np.abs(scale)] = 0.0
        closest = np.minimum(closest, distance)
        closest[last] = 0.0
        total = np.cumsum(closest)
        if not total[-1] > 0.0:
            break
        place = np.searchsorted(total, share * total[-1], side="right")
        chosen.append(int(min(place, np.searchsorted(total, total[-1], side="left"))))
    return _taken(data, pool.indices[chosen])


ROUNDING = 64 * float(np.finfo(np.float64).eps)


class Pivots(NamedTuple):
    """Result of `pivoted_cholesky`.

    Attributes
    ----------
    pivots : int array of shape (rank,)
        Rows in the order in which they were chosen.
    trace : array of shape (rank + 1,)
        tr(K − K̃) before the first and after each of them.
    """

    pivots: NDArray[np.intp]
    trace: Array


def pivoted_cholesky(kernel: Kernel, X: Any, n_landmarks: int) -> Pivots:
    """Greedy landmarks: always the row with the largest k(x, x) − k̃(x, x), from one column of K each.

    Each step is one column of a Cholesky factorisation with pivots; n_rows × n_landmarks numbers are in
    memory, the matrix K never is. Ends early where what remains is rounding.
    """
    remaining, column = kernel.diagonal(X).astype(np.float64), kernel.columns(X)
    n_rows, chosen, trace = len(remaining), [], [float(remaining.sum())]
    factor = np.empty((n_landmarks, n_rows))
    least = ROUNDING * n_landmarks * float(remaining.max(initial=0.0))
    for j in range(n_landmarks):
        pivot = int(np.argmax(remaining))
        if not remaining[pivot] > least:
            break
        left = column(pivot).astype(np.float64)
        left -= factor[:j, pivot] @ factor[:j]
        factor[j] = left / np.sqrt(remaining[pivot])
        remaining -= factor[j] ** 2
        np.maximum(remaining, 0.0, out=remaining)
        remaining[pivot] = 0.0
        chosen.append(pivot)
        trace.append(float(remaining.sum()))
    if not chosen:  # a kernel that is zero on all rows: any of them stands for the others
        chosen, trace = [0], trace * 2
    return Pivots(np.array(chosen, dtype=np.intp), np.array(trace))


def greedy(
    data: Rows, kernel: Kernel, n_landmarks: int, rng: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray]:
    """The pivots of a Cholesky factorisation, in their order, and those rows; needs the rows in memory."""
    pool = open_pool(data, rng, most=None)
    return _taken(data, pivoted_cholesky(kernel, pool.X, n_landmarks).pivots)


def _taken(data: Rows, chosen: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray]:
    """The rows of these indices in this order; a table is read from its beginning to its end."""
    order = np.argsort(chosen, kind="stable")
    found = data.take(chosen[order])
    taken = np.empty_like(found)
    taken[order] = found
    return chosen, taken


SCHEMES: Mapping[
    str, Callable[[Rows, Kernel, int, np.random.Generator], tuple[NDArray[np.intp], NDArray]]
] = {"uniform": uniform, "k-means++": plus_plus, "pivoted_cholesky": greedy}
