"""Best-first trees by reductions: all nodes that may be divided are, at once, and their order is replayed.

A table that is spread over a cluster is asked rarely and for much. One question divides every open node that
the best-first order can still reach with the leaves that it has left; the histograms that come back tell of
their children. A node whose turn comes is always among them, so that a tree takes about as many questions as
it is deep. Histograms are integers and what a node draws depends on its path alone: the tree is that of
`leafwise.grow_on_team`, to the last bit.
"""

from __future__ import annotations

import heapq
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.trees.growing.binned.children import N_FREE, N_NODES, end_leaf, subtract
from assay.trees.growing.binned.leafwise import ROOT, grow
from assay.trees.growing.binned.searching import Growth, Plan
from assay.trees.growing.binned.team import NONE, Team, make_team
from assay.trees.growing.nodes import COLUMN, GAIN, LEAF, LEFT

ROOM = 8
"""Nodes that are looked at, at most, for every leaf of a tree."""


class Division(NamedTuple):
    """A node to be divided: its first child, its split, and the children to be summed up (−1: none).

    `sides` has 1 for every code of the column that goes left.
    """

    node: int
    first: int
    column: int
    sides: NDArray[np.uint8]
    small: int
    other: int


class Divided(NamedTuple):
    """What divisions bring: the histograms that they ask for and the ranges of both children, in their order.

    Ranges are smallest and largest slope and largest curvature in units; see `Shard.ranges`.
    """

    sums: NDArray[np.int64]
    ranges: NDArray[np.int64]

    def __add__(self, other: Any) -> Divided:
        low, high, bend = (0, np.minimum), (1, np.maximum), (2, np.maximum)
        both = [f(self.ranges[:, place], other.ranges[:, place]) for place, f in (low, high, bend)]
        return Divided(self.sums + other.sums, np.column_stack(both))


class Spread(Protocol):
    """The rows of a tree, wherever they are.

    Nodes whose slopes lie within `narrow` units, or whose curvatures have fewer than `curved`, are refined.
    """

    narrow: int
    curved: int

    def divide(self, divisions: list[Division]) -> Divided:
        """Divide rows; gives the sums over all of them."""

    def divide_later(self, divisions: list[Division]) -> None:
        """Divide rows before anything else is asked of them."""

    def refine(self, nodes: list[int]) -> None:
        """Count nodes in finer units, their sums and, where they have them, their histograms in `growth`."""


def room_for_frontier(plan: Plan, capacity: int) -> int:
    """Nodes that a tree of at most `capacity` nodes may look at."""
    return max(capacity, ROOM * plan.limits.max_leaves + 1) if plan.limits.max_leaves > 0 else capacity


def grow_by_frontiers(
    growth: Growth, plan: Plan, seed: int, capacity: int, rows: Spread
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Grow a tree whose histogram of all rows is in the last place of the pool.

    Parameters
    ----------
    growth : Growth
        With room for more nodes than the tree will have; see `room_for_frontier`.
    capacity : int
        Most nodes of the tree.
    rows : Spread

    Returns
    -------
    places : int64 array
        The nodes of the tree in best-first order, as places in `growth`.
    children : int64 array of the same length
        The number in that order of the left child of each, −1 for leaves; the right one follows it.
    """
    open_plan = plan._replace(limits=plan.limits._replace(max_leaves=0))  # no leaf is the last of a question
    nothing = np.empty((0, len(plan.n_codes)), dtype=np.uint8), np.empty((0, 2), dtype=np.int32)
    elsewhere = make_team(
        *nothing, np.zeros(2, dtype=np.int64), plan.stride, 1
    )  # the rows are divided by others
    limited = plan.limits.max_leaves > 0
    most = plan.limits.max_leaves if limited else capacity
    growth.paths[0] = seed
    grow(elsewhere, growth, open_plan, ROOT, NONE, NONE)
    while True:
        places, children, wanted = replay(growth, most, capacity)
        if not wanted:
            return np.array(places), np.array(children)
        n_leaves = sum(child < 0 for child in children)
        if n_leaves + 1 >= most:  # the last division: its children stay leaves
            last = [_division(wanted[0], growth, plan, elsewhere)]
            if rows.narrow > 0 or rows.curved > 0:
                _refine(last, rows.divide(last), growth, rows)
            else:
                rows.divide_later(last)
            continue
        # The first of the nodes is one of the tree; the others must leave room for those that may follow.
        spare = (growth.tree.whole.shape[0] - int(growth.counts[N_NODES])) // 2
        spare -= most - n_leaves if limited else 0
        _expand(wanted[: max(1, spare)], growth, open_plan, rows, elsewhere)


def _expand(nodes: list[int], growth: Growth, plan: Plan, rows: Spread, elsewhere: Team) -> None:
    """Divide nodes and find the splits of their children."""
    divisions = []
    for node in nodes:
        if growth.counts[N_FREE] < 2:  # the others with the next question
            break
        divisions.append(_division(node, growth, plan, elsewhere))
    divided, place = rows.divide(divisions), 0
    for division in divisions:
        for child in (division.small, division.other):
            if child >= 0:
                growth.pool[growth.slots[child]] = divided.sums[place]
                place += 1
        subtract(division.node, division.small, growth.tree.whole, growth.slots, growth.pool)
    _refine(divisions, divided, growth, rows)
    for division in divisions:
        grow(elsewhere, growth, plan, division.node, division.small, NONE)


def _refine(divisions: list[Division], divided: Divided, growth: Growth, rows: Spread) -> None:
    """Count children whose units are too coarse in finer ones, their histograms included."""
    children = [child for division in divisions for child in (division.first, division.first + 1)]
    blind = [
        child
        for child, (low, high, bend) in zip(children, divided.ranges.tolist(), strict=True)
        if high - low < rows.narrow or bend < rows.curved
    ]
    if blind:
        rows.refine(blind)
        for child in blind:
            end_leaf(child, growth.tree, growth.sums, growth.units)


def _division(node: int, growth: Growth, plan: Plan, elsewhere: Team) -> Division:
    """Begin the children of a node."""
    _, small, other = grow(elsewhere, growth, plan, NONE, NONE, node)
    whole = growth.tree.whole[node]
    return Division(node, int(whole[LEFT]), int(whole[COLUMN]), growth.sides.copy(), small, other)


def replay(growth: Growth, most: int, capacity: int) -> tuple[list[int], list[int], list[int]]:
    """The best-first order as far as it is known, and the nodes that it may divide next.

    A node without children yet ends the order. What comes after it is guessed as if it had none that gain
    more: with r leaves left, no node but those that the guess divides can be among the next r.
    """
    tree = growth.tree
    gain, column, left = tree.real[:, GAIN], tree.whole[:, COLUMN], tree.whole[:, LEFT]
    places, children, wanted = [0], [-1], []
    heap = [(-gain[0], 0)] if column[0] != LEAF else []
    n_leaves, known, numbers = 1, True, [0]  # numbers: the places of all that the guess has seen
    while heap and n_leaves < most and 2 * n_leaves + 1 <= capacity:
        number = heapq.heappop(heap)[1]
        node, n_leaves = numbers[number], n_leaves + 1
        if left[node] < 0:
            known = False
            wanted.append(node)
            continue
        if known:
            children[number] = len(places)
            children += [-1, -1]
        for child in (int(left[node]), int(left[node]) + 1):
            if known:
                places.append(child)
            numbers.append(child)
            if column[child] != LEAF:
                heapq.heappush(heap, (-gain[child], len(numbers) - 1))
    return places, children, wanted
