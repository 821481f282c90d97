"""A fitted forest: the nodes of all trees in one set of flat arrays."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.trees.tree import Tree
from assay.trees.walking import Walk, make_walk

TREES_AHEAD = 1000
"""Trees that room is made for at once, at least, if so many are to come."""


@dataclass(frozen=True, eq=False)
class Trees(Sequence[Tree]):
    """Many trees: the arrays of `Tree` one after the other, children counted from the start of their tree.

    Attributes
    ----------
    starts : int64 array of shape (n_trees + 1,)
        The first node of each tree.
    bit_starts : int64 array of shape (n_trees + 1,)
        The first row of `bits` of each tree.
    nodes : Tree
        The arrays.
    """

    starts: NDArray[np.int64]
    bit_starts: NDArray[np.int64]
    nodes: Tree

    @classmethod
    def together(cls, trees: Collection[Tree]) -> Trees:
        """One structure for some trees."""
        gathering = Gathering(len(trees))
        for tree in trees:
            gathering.add(tree)
        return gathering.finish()

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, place: Any) -> Any:
        if isinstance(place, slice):
            return [self[index] for index in range(*place.indices(len(self)))]
        if not -len(self) <= place < len(self):
            raise IndexError(f"There are {len(self)} trees. Got {place} instead.")
        place = int(place) % len(self)
        nodes = slice(self.starts[place], self.starts[place + 1])
        bits = slice(self.bit_starts[place], self.bit_starts[place + 1])
        parts = {
            field.name: getattr(self.nodes, field.name)[bits if field.name == "bits" else nodes]
            for field in fields(Tree)
        }
        return Tree(**parts)

    def __iter__(self) -> Iterator[Tree]:
        return (self[place] for place in range(len(self)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trees):
            return NotImplemented
        return np.array_equal(self.starts, other.starts) and self.nodes == other.nodes

    __hash__ = None  # type: ignore[assignment]

    @property
    def tree_of_node(self) -> NDArray[np.int64]:
        """Which tree each node belongs to."""
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    def apply(self, X: NDArray) -> NDArray[np.int32]:
        """The leaf of each row in each tree, counted from the start of the tree: shape (n_rows, n_trees)."""
        return self.walk(len(X)).leaves(X)

    def mean(self, X: NDArray) -> NDArray[np.float64]:
        """Mean over the trees of the values of the leaves of each row: shape (n_rows, n_outputs)."""
        return self.walk(len(X)).mean(X)

    def walk(self, n_rows: int) -> Walk:
        """The nodes as so many rows meet them."""
        return make_walk(self.nodes, self.starts, self.bit_starts, n_rows)


class Gathering:
    """Trees put one after the other as they are grown, so that none is there twice.

    Room is made for as many as are to come, a tenth larger than those so far: memory that is never written to
    is never taken, and what is left over is given back at the end.
    """

    def __init__(self, n_trees: int) -> None:
        self._n_trees = n_trees
        self._starts, self._bit_starts = [0], [0]
        self._arrays: dict[str, NDArray] = {}

    def __len__(self) -> int:
        return len(self._starts) - 1

    def add(self, tree: Tree) -> None:
        """Put a tree after the others."""
        for field in fields(Tree):
            part = getattr(tree, field.name)
            begin = (self._bit_starts if field.name == "bits" else self._starts)[-1]
            array = self._arrays.get(field.name)
            if array is None or begin + len(part) > len(array):
                longer = np.empty((self._room(begin + len(part)), *part.shape[1:]), dtype=part.dtype)
                longer[:begin] = part[:0] if array is None else array[:begin]
                array = self._arrays[field.name] = longer
            array[begin : begin + len(part)] = part
        self._starts.append(self._starts[-1] + tree.node_count)
        self._bit_starts.append(self._bit_starts[-1] + len(tree.bits))

    def _room(self, needed: int) -> int:
        """Length of an array that needs so much for one tree more than there are."""
        number = len(self) + 1
        expected = min(self._n_trees, max(2 * number, TREES_AHEAD))
        return needed if expected <= number else int(1.1 * needed / number * expected) + 1

    def finish(self) -> Trees:
        """The trees; nothing can be added any more."""
        for name, array in self._arrays.items():
            length = (self._bit_starts if name == "bits" else self._starts)[-1]
            array.resize((length, *array.shape[1:]), refcheck=False)  # in place
        starts = np.array(self._starts, dtype=np.int64), np.array(self._bit_starts, dtype=np.int64)
        return Trees(*starts, Tree(**self._arrays))


@compiled
def leaves_of_codes(splits, cut, codes, n_codes, rows, out):  # type: ignore[no-untyped-def]
    """Leaf in one tree of some rows of a table of codes, one row of the table per column."""
    feature, _, left, right, missing_left, levels, bits = splits
    for p in range(rows.shape[0]):
        i = np.uint64(rows[p])
        node = 0
        while feature[node] >= 0:
            j = feature[node]
            code = np.int64(codes[j, i])
            if code == n_codes[j]:
                goes_left = missing_left[node]
            elif levels[node] >= 0:
                word = bits[levels[node], code >> 5]
                goes_left = (word >> np.uint32(code & 31)) & np.uint32(1) == np.uint32(1)
            else:
                goes_left = code <= cut[node]
            node = left[node] if goes_left else right[node]
        out[p] = node


@compiled
def spread_thresholds(shares, feature, levels, low, high, offsets, cuts, threshold, cut):  # type: ignore[no-untyped-def]
    """Move the thresholds of random cuts from the middle of the gap that a cut falls in to anywhere in it.

    A value drawn between the ends of a column is uniform in the gap, too, and trees that differ there have a
    smooth mean. `shares` are drawn from 0 to 1; the first code right of the gap stays there.
    """
    for node in range(feature.shape[0]):
        j = feature[node]
        if j < 0 or levels[node] >= 0 or threshold[node] == np.inf:
            continue
        begin = high[offsets[j] + cut[node]]
        half = threshold[node] - begin
        right = offsets[j] + cut[node] + 1
        while right + 1 < offsets[j + 1] and low[right] < begin + (2.0 - 1e-9) * half:
            right += 1
        threshold[node] = min(begin + 2.0 * shares[node] * half, cuts[right - 1])


@compiled
def snap_thresholds(feature, levels, cuts, offsets, threshold, cut):  # type: ignore[no-untyped-def]
    """Move each threshold to the nearest edge of a bin, so that codes and values go the same way.

    Of two edges as near the upper one: a bin of one value that is the threshold goes left, as values do.

    The rows of a node leave a gap between two codes, with the threshold in its middle, which may be inside
    the bin of rows that are not in the bag.
    """
    for node in range(feature.shape[0]):
        j = feature[node]
        if j < 0 or levels[node] >= 0:
            continue
        if threshold[node] == np.inf:  # all values go left, also those of rows that are not in the bag
            cut[node] = offsets[j + 1] - offsets[j] - 1
            continue
        first, last = cut[node], offsets[j + 1] - offsets[j] - 2
        value = threshold[node]
        while first < last and cuts[offsets[j] + first + 1] <= value:
            first += 1
        if first < last:
            below, above = cuts[offsets[j] + first], cuts[offsets[j] + first + 1]
            if above - value <= value - below:
                first += 1
        cut[node], threshold[node] = first, cuts[offsets[j] + first]
