"""Best-first trees on histograms: the leaf that gains most is divided next, on all shards at once.

One division is three stages of tasks: divide the rows of the leaf and sum up its smaller child, on every
shard; add up the histograms of shards and subtract to get the other child; find the best splits of both
children. One compiled loop, `grow`, takes them all where the shards are in one memory, on any number of
threads (see `team`), and all but the first where rows are divided on a cluster: the search of splits, which
takes longest to compile, is compiled once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from assay.loops import lean, lean_inner, part
from assay.rows import ordered_map
from assay.trees.growing.binned.children import (
    N_FREE,
    N_NODES,
    N_OPEN,
    begin,
    begin_children,
    bound_children,
    can_divide,
    choose,
    end_leaf,
    hand_on,
    release,
    subtract,
    sum_root,
    summed_children,
)
from assay.trees.growing.binned.searching import (
    SPARE,
    Growth,
    Plan,
    make_growth,
    make_plan,
    search,
    sum_left,
    write_sides,
)
from assay.trees.growing.binned.team import (
    DONE,
    ENDED,
    FIRST,
    KIND,
    NODE,
    NONE,
    ONE_BY_ONE,
    OTHER_CHILD,
    SMALL_CHILD,
    SPREAD,
    Team,
    await_done,
    await_tasks,
    claim_task,
    clear,
    count_up,
    divide_task,
    is_blind,
    merge_task,
    post,
)
from assay.trees.growing.nodes import COLUMN, LEAF, LEFT, push

ALONE = 2**14
"""Work of a division, in updates of sums, below which one thread takes all shards."""

ALL_HERE, ROOT, HELP = -2, -3, -4
"""In place of a node: the best leaf, and so on until the tree is finished, where all rows are here; a
tree to begin; nothing but the tasks of another thread."""

DIVIDE, MERGE, SEARCH = range(3)
"""Kinds of tasks."""


@lean
def grow(team, growth, plan, last, small, following):  # type: ignore[no-untyped-def]
    """Settle one division and begin another; where all rows are here divide them too, and go on.

    Parameters
    ----------
    team : Team
        Without rows where they are divided by others.
    last, small : int
        The node that was divided last and its child that was summed up, `NONE` where nothing is to be
        settled. After `ROOT` a tree begins: its seed is in `growth.paths`, and unless all rows are
        here its histogram is in the last place of the pool.
    following : int
        The node to divide: a number, `ALL_HERE` or `NONE`; `HELP` takes the tasks of another thread until the
        tree is finished.

    Returns
    -------
    node : int
        The node that is to be divided as `growth.sides` says, `NONE` where there is none. Where all rows are
        here, a node that was divided and has a child that needs finer units before its splits are searched.
    small, other : int
        The children to be summed up, or `NONE`; the lighter one first.
    """
    tree, sums, _, slots, pool, free, heap, paths, counts, units, _ = growth
    task, signals, n_shards = team.task, team.signals, team.starts.shape[0] - 1
    n_tasks, other = np.int64(0), np.int64(NONE)
    if following != HELP:
        task[FIRST] = tree.whole[max(last, 0), LEFT]
        if last == ROOT:
            begin(tree, slots, free, paths, counts, units, plan.unit)
            begin_root(following == ALL_HERE, task, pool[slots[0]])
            n_tasks, small = np.int64(1), np.int64(0)
            post(DIVIDE if following == ALL_HERE else MERGE, n_shards, task, signals)
        else:
            subtract(last, small, tree.whole, slots, pool)
            n_tasks = np.int64(2 if small >= 0 else 0)
            post(SEARCH, n_tasks, task, signals)
    while True:
        take_tasks(team, growth, plan)
        if following == HELP:
            if not await_tasks(signals):
                return np.int64(NONE), np.int64(NONE), np.int64(NONE)
            continue
        await_done(signals)
        if task[KIND] == DIVIDE and small >= 0 and task[ONE_BY_ONE] == 0:
            post(MERGE, n_shards, task, signals)
            continue
        if task[KIND] != SEARCH:
            if last == ROOT:
                sum_root(pool[slots[0]], plan.stride, sums)
            else:
                hand_on(last, small, tree.whole, slots)
                if is_blind(task[FIRST], team, n_shards) or is_blind(task[FIRST] + 1, team, n_shards):
                    return last, small, other
            if small >= 0:
                post(SEARCH, n_tasks, task, signals)
                continue
            n_tasks = np.int64(0)
        open_nodes(task[FIRST], n_tasks, tree, slots, free, heap, counts)
        last = (
            choose(tree, sums, heap, counts, units, plan.limits) if following < NONE else np.int64(following)
        )
        if last < 0:
            return np.int64(NONE), np.int64(NONE), np.int64(NONE)
        small, other = begin_division(last, following == ALL_HERE, task, growth, plan)
        if following != ALL_HERE:
            return last, small, other
        n_tasks = np.int64(2)
        post(DIVIDE, n_shards if task[SPREAD] else 1, task, signals)


@lean_inner
def begin_division(node, all_here, task, growth, plan):  # type: ignore[no-untyped-def]
    """Begin the children of a node; gives those to be summed up."""
    tree, sums, left, slots, pool, free, _, paths, counts, units, sides = growth
    begin_children(node, tree, sums, left, slots, paths, counts, units)
    first, column = tree.whole[node, LEFT], tree.whole[node, COLUMN]
    bound_children(node, first, tree, np.int64(plan.columns.signs[column]), plan.form)
    # A row takes as long to subtract as a bin of each column; one thread subtracts those of all shards.
    few = np.int64(plan.stride) if all_here and sums[node, 0] < ALONE else np.int64(0)
    small, other, one_by_one = summed_children(
        node, tree.whole, sums, slots, pool, free, counts, plan.limits, few
    )
    write_sides(node, np.int64(plan.n_codes[column]), tree, sides)
    task[NODE], task[FIRST], task[SMALL_CHILD], task[OTHER_CHILD] = node, first, small, other
    work = sums[node, 0] + plan.n_codes.shape[0] * sums[max(small, 0), 0]
    task[ONE_BY_ONE], task[SPREAD] = one_by_one, work >= ALONE and not one_by_one
    return small, other


@lean_inner
def take_tasks(team, growth, plan):  # type: ignore[no-untyped-def]
    """Take tasks of the stage until none is left."""
    tree, sums, left, slots, pool, _, _, paths, _, units, sides = growth
    task, signals = team.task, team.signals
    number = claim_task(signals)
    while number >= 0:
        node, first, kind = task[NODE], task[FIRST], task[KIND]
        if kind == DIVIDE:
            column = tree.whole[max(node, 0), COLUMN]
            divide_task(number, team, node, first, column, sides, plan.stride, slots, pool)
        elif kind == MERGE:
            merge_task(number, np.int64(team.starts.shape[0] - 1), team.own, task, slots, pool)
        else:
            search_task(first + number, number, tree, sums, left, slots, pool, paths, units, plan)
        count_up(signals, DONE)
        number = claim_task(signals)


@lean_inner
def open_nodes(first, n_new, tree, slots, free, heap, counts):  # type: ignore[no-untyped-def]
    """Let new nodes that have a split be divided later; the others give back their histograms."""
    for child in range(first, first + n_new):
        is_leaf = tree.whole[child, COLUMN] == LEAF
        if not is_leaf:
            push(heap, counts[N_OPEN], child, tree)
            counts[N_OPEN] += 1
        if is_leaf or counts[N_FREE] < SPARE:
            release(child, slots, free, counts)


@part
def begin_root(all_here, task, histogram):  # type: ignore[no-untyped-def]
    """Tasks of the root: it follows from no division, and where all rows are here they are summed up."""
    task[NODE], task[FIRST], task[SMALL_CHILD], task[OTHER_CHILD] = NONE, 0, 0, NONE
    task[ONE_BY_ONE], task[SPREAD] = 0, all_here
    if all_here:
        clear(histogram)


@lean_inner
def search_task(child, turn, tree, sums, left, slots, pool, paths, units, plan):  # type: ignore[no-untyped-def]
    """Find the best split of a node and sum up its left side."""
    end_leaf(child, tree, sums, units)
    if can_divide(child, tree.whole, sums, plan.limits):
        search(child, turn, pool[slots[child]], tree, sums, units, paths[child], plan)
    column = tree.whole[child, COLUMN]
    if column != LEAF:
        absent, sides = np.int64(plan.n_codes[column]), plan.memory.sides[turn]
        write_sides(child, absent, tree, sides)
        sum_left(child, pool[slots[child]], column * plan.stride, absent, sides, left)


def grow_on_team(
    team: Team, growth: Growth, plan: Plan, seed: int, refine: Callable[[int], None] = lambda node: None
) -> int:
    """Grow a tree on the shards of a team, each on a thread; gives the number of nodes.

    `refine` counts a node in finer units, its sums and, where it has one, its histogram included.
    """
    n_shards = len(team.starts) - 1

    def lead(number: int) -> None:
        if number > 0:
            grow(team, growth, plan, NONE, NONE, HELP)
            return
        node, small = ROOT, NONE
        try:
            while True:
                node, small, _ = grow(team, growth, plan, node, small, ALL_HERE)
                if node < 0:
                    break
                first = int(growth.tree.whole[node, LEFT])
                for child in (first, first + 1):
                    if is_blind.py_func(child, team, n_shards):  # type: ignore[attr-defined]
                        refine(child)
                        end_leaf(child, growth.tree, growth.sums, growth.units)
        finally:
            team.signals[ENDED] = 1

    growth.paths[0] = seed
    team.signals[:] = 0
    if n_shards == 1:
        lead(0)
    else:
        deque(ordered_map(lead, range(n_shards)), maxlen=0)
    return int(growth.counts[N_NODES])


__all__ = ["Growth", "Plan", "grow_on_team", "make_growth", "make_plan"]
