"""Shards in one memory, and threads that take their tasks inside compiled loops.

A division of a node takes microseconds, less than handing it to a pool of threads would. So the threads enter
one compiled loop per tree: one of them leads, posts the tasks of each stage and takes tasks itself, the
others take what is left. A task is claimed by counting up a ticket that holds the number of the stage too:
nobody waits for a thread that has not claimed anything, be it late or never there. Tasks of a stage write to
different places and sums are integers, so that it does not matter who takes which.
"""

from __future__ import annotations

import sys
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import types
from numba.extending import intrinsic
from numpy.typing import NDArray

from assay.loops import lean, lean_inner, part
from assay.trees.growing.binned.histograms import Shard, divide_shard, make_shard, share_of, take_out

NONE = -1
"""In place of a node or child."""

TICKET, DONE, ENDED = 0, 8, 16
"""Places of `Team.signals`, each in a cache line of its own."""

STAGE, TASKS = 2**32, 2**16
"""Parts of the ticket: the number of the stage, its number of tasks, and how many of them are claimed.

All three are in one number: with a claim comes the stage that it belongs to.
"""

PATIENCE = 2000
"""Looks at a signal before a waiting thread lets others run: beyond it, whoever is waited for may need it."""

NODE, FIRST, SMALL_CHILD, OTHER_CHILD, KIND, SPREAD, ONE_BY_ONE = range(7)
"""Places of `Team.task`."""


class Team(NamedTuple):
    """Shards of one table.

    Attributes
    ----------
    shard : Shard
        All rows; `bounds`, `ranges` and `packed` of each shard one after the other.
    starts : int64 array of shape (n_shards + 1,)
        The first row of each shard.
    own : int64 array of shape (n_shards − 1, 2, n_bins, 3)
        Histograms of the shards but the first, which adds to those of the pool.
    task : int64 array of shape (7,)
        What the tasks of the stage are about; `SPREAD`: whether each shard is one task; `ONE_BY_ONE`:
        whether rows of the child are subtracted from the histogram of the node.
    signals : int64 array of shape (24,)
        The ticket, how many tasks of the stage are done, and whether the tree is finished.
    share, state : float and uint64
        The share of the rows that are drawn for a tree, and what the draws begin with; see `draw_rows`.
    """

    shard: Shard
    starts: NDArray[np.int64]
    own: NDArray[np.int64]
    task: NDArray[np.int64]
    signals: NDArray[np.int64]
    share: float = 1.0
    state: np.uint64 = np.uint64(0)

    def shards(self) -> list[Shard]:
        """Each of the shards."""
        share: Any = share_of
        return [
            share.py_func(self.shard, int(start), int(stop), place, len(self.starts) - 1)
            for place, (start, stop) in enumerate(pairwise(self.starts))
        ]


def make_team(
    codes: NDArray[np.uint8],
    statistics: NDArray[np.int32],
    starts: NDArray[np.int64],
    stride: int,
    capacity: int,
    *,
    whole: bool = False,
    flat: NDArray[np.uint8] | None = None,
) -> Team:
    """Shards of consecutive rows, in order, with room for so many nodes; `flat` is that of another team."""
    n_shards = len(starts) - 1
    shard = make_shard(codes, statistics, stride, capacity, whole=whole, starts=starts, flat=flat)
    own = np.empty((n_shards - 1, 2, codes.shape[1] * stride, 3), dtype=np.int64)
    return Team(shard, starts, own, np.zeros(7, dtype=np.int64), np.zeros(24, dtype=np.int64))


def _pointer(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
    values = target.make_array(signature.args[0])(target, builder, arguments[0])
    return builder.gep(values.data, [arguments[1]])


def _load(context, array, place):  # type: ignore[no-untyped-def]
    """Read a signal, and after it what was written before it was set."""

    def generate(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        return builder.load_atomic(_pointer(target, builder, signature, arguments), "acquire", 8)

    return types.int64(array, types.int64), generate


def _store(context, array, place, value):  # type: ignore[no-untyped-def]
    """Set a signal after all that was written before."""

    def generate(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        builder.store_atomic(arguments[2], _pointer(target, builder, signature, arguments), "release", 8)
        return target.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate


def _count_up(context, array, place):  # type: ignore[no-untyped-def]
    """Add one to a signal; gives what it was."""

    def generate(target, builder, signature, arguments):  # type: ignore[no-untyped-def]
        pointer = _pointer(target, builder, signature, arguments)
        return builder.atomic_rmw("add", pointer, ir.IntType(64)(1), "acq_rel")

    return types.int64(array, types.int64), generate


load: Any = intrinsic(_load)
store: Any = intrinsic(_store)
count_up: Any = intrinsic(_count_up)

let_others_run: Any = types.ExternalFunction(
    "SwitchToThread" if sys.platform == "win32" else "sched_yield", types.int32()
)


@part
def post(kind, n_tasks, task, signals):  # type: ignore[no-untyped-def]
    """Begin a stage of so many tasks of a kind; those of the last stage are all done."""
    task[KIND] = kind
    store(signals, DONE, np.int64(0))
    store(signals, TICKET, (load(signals, TICKET) // STAGE + 1) * STAGE + np.int64(n_tasks) * TASKS)


@part
def is_left(ticket):  # type: ignore[no-untyped-def]
    """Whether a task is left to claim."""
    return ticket % TASKS < ticket // TASKS % TASKS


@part
def claim_task(signals):  # type: ignore[no-untyped-def]
    """The number of a task that nobody else takes, −1 where none is left."""
    if not is_left(load(signals, TICKET)):
        return np.int64(-1)
    ticket = count_up(signals, TICKET)
    return ticket % TASKS if is_left(ticket) else np.int64(-1)


@part
def await_done(signals):  # type: ignore[no-untyped-def]
    """Wait until all tasks of the stage, none of which is left to claim, are done."""
    n_tasks, looks = load(signals, TICKET) // TASKS % TASKS, np.int64(0)
    while load(signals, DONE) < n_tasks:
        looks += 1
        if looks > PATIENCE:
            let_others_run()


@part
def await_tasks(signals):  # type: ignore[no-untyped-def]
    """Wait until there are tasks to claim; whether there are, or the tree is finished."""
    looks = np.int64(0)
    while not is_left(load(signals, TICKET)):
        if load(signals, ENDED) != 0:
            return False
        looks += 1
        if looks > PATIENCE:
            let_others_run()
    return True


@lean_inner
def divide_task(number, team, node, first, column, sides, stride, slots, pool):  # type: ignore[no-untyped-def]
    """Divide a node on one shard, or on all; the first adds to the pool, spread ones to their own histograms.

    Where a tree begins there is no node yet (`NONE`): the rows of the root are drawn.
    """
    task, n_shards = team.task, team.starts.shape[0] - 1
    small, other = task[SMALL_CHILD], task[OTHER_CHILD]
    gone, rest = small if task[ONE_BY_ONE] else np.int64(NONE), pool[slots[max(node, 0)]]
    if gone >= 0 and slots[gone] < 0:
        small = np.int64(NONE)
    for place in range(number, number + 1 if task[SPREAD] else n_shards):
        sums, more = pool[slots[max(small, 0)]], pool[slots[max(other, 0)]]
        if task[SPREAD] and place > 0:
            sums, more = team.own[place - 1, 0], team.own[place - 1, 1]
            if small >= 0:
                clear(sums)
            if other >= 0:
                clear(more)
        shard = share_of(team.shard, team.starts[place], team.starts[place + 1], place, n_shards)
        if node < 0:
            shard.bounds[0, 0] = 0
            shard.bounds[0, 1] = draw_rows(shard.rows, team.starts[place], team.share, team.state)
        divide_shard(shard, node, first, column, sides, stride, small, sums, other, more)
        if gone >= 0:
            take_out(shard, gone, stride, rest)


@lean_inner
def merge_task(number, n_tasks, own, task, slots, pool):  # type: ignore[no-untyped-def]
    """Add up the histograms of all shards in a part of the bins; subtract them where a child follows so."""
    node, small, other = task[NODE], task[SMALL_CHILD], task[OTHER_CHILD]
    begin, end = pool.shape[1] * number // n_tasks, pool.shape[1] * (number + 1) // n_tasks
    for k in range(own.shape[0] if task[SPREAD] else 0):
        add_bins(own[k, 0], begin, end, pool[slots[small]])
        if other >= 0:
            add_bins(own[k, 1], begin, end, pool[slots[other]])
    if node >= 0 and slots[node] >= 0:
        subtract_bins(pool[slots[small]], begin, end, pool[slots[node]])


@part
def is_blind(node, team, n_shards):  # type: ignore[no-untyped-def]
    """Whether the units of a node are too coarse for its rows on all shards together."""
    ranges, capacity = team.shard.ranges, team.shard.ranges.shape[0] // n_shards
    low, high, bend = ranges[node, 0], ranges[node, 1], ranges[node, 2]
    for k in range(1, n_shards):
        own = k * capacity + node
        low, high = min(low, ranges[own, 0]), max(high, ranges[own, 1])
        bend = max(bend, ranges[own, 2])
    return high - low < team.shard.narrow or bend < team.shard.curved


@part
def clear(sums):  # type: ignore[no-untyped-def]
    """Empty a histogram."""
    for b in range(sums.shape[0]):
        for k in range(3):
            sums[b, k] = 0


@part
def add_bins(own, begin, end, sums):  # type: ignore[no-untyped-def]
    """Add some bins of a histogram to another."""
    for b in range(begin, end):
        for k in range(3):
            sums[b, k] += own[b, k]


@part
def subtract_bins(gone, begin, end, sums):  # type: ignore[no-untyped-def]
    """Subtract some bins of a histogram from another."""
    for b in range(begin, end):
        for k in range(3):
            sums[b, k] -= gone[b, k]


@lean
def draw_rows(rows, first, share, state):  # type: ignore[no-untyped-def]
    """List the rows that a hash of their number draws; gives how many there are, all for a share of 1.

    What is drawn depends on the number of the row in the table, not on the shard that it is in.
    """
    count = np.int64(0)
    if share >= 1.0:
        for i in range(rows.shape[0]):
            rows[i] = i
        return np.int64(rows.shape[0])
    for i in range(rows.shape[0]):
        z = state + np.uint64(first + i) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
        rows[count] = i
        count += np.int64(np.float64(z >> np.uint64(11)) * (1.0 / 9007199254740992.0) < share)
    return count
