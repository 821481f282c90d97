"""Joins of clusters as they are found, and their order as a tree."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Linkage(NamedTuple):
    """A binary tree over leaves 0, …, n − 1: join t makes node n + t of the two nodes children[t].

    `height` holds the linkage of the two; for Ward it is the increase of the inertia.
    """

    children: NDArray
    height: NDArray


class Merges:
    """Joins of clusters, found in any order that makes nodes before they are used."""

    def __init__(self, n_leaves: int) -> None:
        self.n_leaves, self.n_found = n_leaves, 0
        self._parts: list[tuple[NDArray, NDArray, NDArray]] = []

    @property
    def next_node(self) -> int:
        """The node that the next join makes."""
        return self.n_leaves + self.n_found

    def add(self, left: NDArray, right: NDArray, height: NDArray) -> None:
        """Record joins in the order of the nodes they make."""
        self._parts.append((left, right, height))
        self.n_found += len(height)

    def sorted(self) -> Linkage:
        """The joins by increasing height, nodes numbered anew.

        Rounding can put a join a hair below those it stands on: it is lifted to them.
        """
        left, right, height = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        n = self.n_leaves
        height = lifted(n, left, right, height)
        order = np.argsort(height, kind="stable")
        number = np.arange(2 * n - 1)
        number[n + order] = np.arange(n, 2 * n - 1)
        children = np.sort(np.column_stack([number[left], number[right]])[order], axis=1)
        return Linkage(children, height[order])


def lifted(n_leaves: int, left: NDArray, right: NDArray, height: NDArray) -> NDArray:
    """Heights, none below those of the two nodes it stands on."""
    height = height.copy()
    while True:
        of_node = np.concatenate([np.zeros(n_leaves), height])
        below = np.maximum(of_node[left], of_node[right])
        if (below <= height).all():
            return height
        np.maximum(height, below, out=height)
