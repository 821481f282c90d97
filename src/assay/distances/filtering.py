"""The nearest rows by a filter in single precision: rows it cannot exclude get their exact distances.

With rows moved to their mean and scaled to length at most 1, in float32,

    ‖q − x‖² = ‖q‖² + (‖x‖² − 2 qᵀx),

and the bracket is one matrix product with a column more. Its rounding is at most ρ(‖q‖² + ‖x‖²): a row
whose bracket, less ρ‖x‖², exceeds (worst of the best) − (1 − ρ)‖q‖² is not among the nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.distances.loops import insert, squared_distance
from assay.loops import _exact, compiled

TILE_ROWS = 256
PILOT_QUERIES, PILOT_NEIGHBORS = 8, 8
MOST_DOUBT = 0.05
"""The filter serves where its rounding is at most this part of the distances that decide."""

FARTHEST = 1e12
"""Squared length, over that of the farthest row, up to which queries are filtered."""

NOTHING = 1e-30
"""More than products of single precision lose below their least number."""


class SingleFilter:
    """Rows in single precision, ready to exclude most of them from the neighbours of queries."""

    def __init__(self, X: NDArray, center: NDArray, norms: NDArray) -> None:
        self.X, self.center = X, center
        self.rounding = (2 * X.shape[1] + 16) * float(np.finfo(np.float32).eps)
        # A power of two, so that scaling rounds nothing.
        self.scale = 2.0 ** -np.ceil(0.5 * np.log2(float(norms.max()))) if norms.max() > 0 else 1.0
        self.rows = np.empty((len(X), X.shape[1] + 1), dtype=np.float32)
        np.multiply(X - center, self.scale, out=self.rows[:, :-1], casting="same_kind")
        self.rows[:, -1] = (1.0 - self.rounding) * self.scale**2 * norms.astype(np.float64)

    def serves(self, nearest: Callable[[int, NDArray], tuple[NDArray, NDArray]]) -> bool:
        """Whether the rounding is small beside the distances of a few rows to their neighbours."""
        n_rows = len(self.X)
        sample = self.X[:: -(-n_rows // PILOT_QUERIES)]
        powers, _ = nearest(min(PILOT_NEIGHBORS, n_rows), sample)
        decisive = float(np.median(powers[:, -1])) * self.scale**2
        return 2.0 * self.rounding * float(np.median(self.rows[:, -1])) <= MOST_DOUBT * decisive

    def lengths(self, queries: NDArray) -> tuple[NDArray, NDArray] | None:
        """Queries as the product takes them and their squared lengths; None where one is too far away."""
        moved = (queries - self.center) * self.scale
        norms = np.einsum("ij,ij->i", moved, moved, dtype=np.float64)
        if norms.max(initial=0.0) > FARTHEST:
            return None
        ready = np.ones((len(queries), moved.shape[1] + 1), dtype=np.float32)
        np.multiply(moved, -2.0, out=ready[:, :-1], casting="same_kind")
        return ready, norms

    def absorb(self, queries: NDArray, own: int, best: NDArray, numbers: NDArray) -> bool:
        """Bring the best of a block of queries up to date with all rows; false where it cannot."""
        opened = self.lengths(queries)
        if opened is None:
            return False
        ready, norms = opened
        room: Any = np.empty(len(queries) * min(TILE_ROWS, len(self.X)), dtype=np.float32)
        for first in range(0, len(self.X), TILE_ROWS):
            last = min(first + TILE_ROWS, len(self.X))
            tile = room[: len(queries) * (last - first)].reshape(len(queries), last - first)
            np.matmul(ready, self.rows[first:last].T, out=tile)
            absorb_filtered(
                tile, norms, self.rounding, self.scale**2, queries, self.X, first, own, best, numbers
            )
        return True


@_exact
def filter_limit(worst, norm, rounding, square):  # type: ignore[no-untyped-def]
    """The largest bracket of a row that may be nearer than the worst, rounded up."""
    limit = worst * square - (1.0 - rounding) * norm
    return np.float32(limit + 2e-7 * abs(limit) + NOTHING)


@compiled
def absorb_filtered(tile, norms, rounding, square, queries, X, first, own, best, numbers):  # type: ignore[no-untyped-def]
    """Bring the best of each query up to date with the rows of a tile that the filter lets pass.

    `own` is the number of the first query among the rows, or less than −n_queries when they are not rows.
    """
    last = best.shape[1] - 1
    for i in range(tile.shape[0]):
        limit = filter_limit(best[i, last], norms[i], rounding, square)
        brackets = tile[i]
        near, one, zero = np.float32(0.0), np.float32(1.0), np.float32(0.0)
        for j in range(brackets.shape[0]):  # counted in the type of the brackets, which vectorises best
            near += one if brackets[j] <= limit else zero
        if near == zero:
            continue
        for j in range(brackets.shape[0]):
            if brackets[j] <= limit and first + j != own + i:
                distance = squared_distance(queries, i, X, first + j)
                # Rows come by increasing number: one that ties with the worst stays out.
                if distance < best[i, last]:
                    insert(distance, first + j, best[i], numbers[i])
                    limit = filter_limit(best[i, last], norms[i], rounding, square)
