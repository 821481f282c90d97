"""Neighbours under a metric given as a function of two rows."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from heapq import heappushpop
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LEAF_ROWS = 8
GREATEST = 1e270
"""Sums of many distances, weighted or not, stay finite up to here."""


class FunctionBall(NamedTuple):
    """Rows, by their distances to one of them, the centre: the nearer half and the farther.

    A leaf has `rows`; any other node has two children and the least and greatest distance from the centre to
    the rows of each.
    """

    rows: NDArray
    center: int = -1
    near: FunctionBall | None = None
    far: FunctionBall | None = None
    near_range: tuple[float, float] = (0.0, 0.0)
    far_range: tuple[float, float] = (0.0, 0.0)


class FunctionSearch:
    """Searches the rows `X` for neighbours of queries; `queries=None` stands for the rows themselves.

    With `tree`, rows stand in a tree of balls and the triangle inequality d(q, z) ≥ |d(q, c) − d(c, z)|
    passes over those that cannot count: right for a metric, wrong for a function that is none. Without it,
    the function is called for every query and row.
    """

    def __init__(self, X: NDArray, function: Callable[[NDArray, NDArray], float], *, tree: bool) -> None:
        self.X, self.function = X, function
        self.root = self._build(np.arange(len(X))) if tree else None

    def nearest(self, n_neighbors: int, queries: NDArray | None) -> tuple[NDArray, NDArray]:
        """Distances and numbers of the nearest rows."""
        own, queries = queries is None, self.X if queries is None else queries
        distances = np.empty((len(queries), n_neighbors), dtype=self.X.dtype)
        indices = np.empty((len(queries), n_neighbors), dtype=np.intp)
        for q, query in enumerate(queries):
            # A heap of negated pairs: its root is the worst of the best, which the next better one replaces.
            best = [(-math.inf, -math.inf)] * n_neighbors
            for distance, row in self._visit(query, partial(_worst, best)):
                if not (own and row == q):
                    heappushpop(best, (-distance, -row))
            best.sort(reverse=True)
            distances[q], indices[q] = [-pair[0] for pair in best], [-int(pair[1]) for pair in best]
        return distances, indices

    def count(self, limit: float, queries: NDArray | None, weight: NDArray | None) -> NDArray:
        """Number, or weight, of the rows within the limit."""
        indptr, indices, _ = self.within(limit, queries, keep_distances=False)
        if weight is None:
            return np.diff(indptr)
        total = np.concatenate([[0.0], np.cumsum(np.asarray(weight, dtype=np.float64)[indices])])
        return total[indptr[1:]] - total[indptr[:-1]]

    def within(
        self, limit: float, queries: NDArray | None, *, keep_distances: bool
    ) -> tuple[NDArray, NDArray, NDArray]:
        """Starts, numbers and distances of the rows within the limit."""
        queries = self.X if queries is None else queries
        indptr = np.zeros(len(queries) + 1, dtype=np.intp)
        indices, distances = list[NDArray](), list[NDArray]()
        for q, query in enumerate(queries):
            near = sorted((row, d) for d, row in self._visit(query, lambda: limit) if d <= limit)
            indptr[q + 1] = indptr[q] + len(near)
            indices.append(np.array([row for row, _ in near], dtype=np.intp))
            distances.append(np.array([d for _, d in near] if keep_distances else [], dtype=self.X.dtype))
        return indptr, np.concatenate(indices), np.concatenate(distances)

    def _visit(self, query: NDArray, limit: Callable[[], float]) -> Iterator[tuple[float, int]]:
        """Distances and numbers of rows, at least of all those within a limit that may shrink."""
        if self.root is None:
            for row, z in enumerate(self.X):
                yield self._distance(query, z), row
            return
        slack = 16.0 * float(np.finfo(self.X.dtype).eps)
        stack: list[tuple[float, FunctionBall]] = [(0.0, self.root)]
        while stack:
            bound, ball = stack.pop()
            if bound > limit():
                continue
            if ball.near is None or ball.far is None:
                for row in ball.rows.tolist():
                    yield self._distance(query, self.X[row]), row
                continue
            distance = self._distance(query, self.X[ball.center])
            yield distance, ball.center
            children = [(ball.near, *ball.near_range), (ball.far, *ball.far_range)]
            if distance < ball.far_range[0]:
                children.reverse()  # what is put on the stack last is visited first
            for child, least, greatest in children:
                bound = max(least - distance, distance - greatest) - slack * (distance + greatest)
                stack.append((bound, child))

    def _build(self, rows: NDArray) -> FunctionBall:
        if len(rows) <= LEAF_ROWS:
            return FunctionBall(rows)
        center, others = int(rows[0]), rows[1:]
        distances = np.array([self._distance(self.X[center], self.X[row]) for row in others.tolist()])
        order = np.argsort(distances, kind="stable")
        others, distances, half = others[order], distances[order], len(others) // 2
        children = self._build(others[:half]), self._build(others[half:])
        near_range, far_range = (distances[0], distances[half - 1]), (distances[half], distances[-1])
        return FunctionBall(rows[:0], center, *children, near_range, far_range)

    def _distance(self, x: NDArray, z: NDArray) -> float:
        return check_distance(self.function(x, z))


def _worst(best: list[tuple[float, float]]) -> float:
    return -best[0][0]


def check_distance(value: Any) -> float:
    """What a function of two rows returned, if it is a distance."""
    try:
        distance = float(value)
    except (TypeError, ValueError, OverflowError):
        distance = math.nan
    if not 0.0 <= distance <= GREATEST:
        words = f"a finite number at least 0 and at most {GREATEST:g}"
        raise ValueError(f"A function given as 'metric' must return {words}. Got {value!r}.")
    return distance
