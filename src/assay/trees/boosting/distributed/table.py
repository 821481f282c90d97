"""Boosting on a cluster: codes, scores and leaves stay with their partition, integer sums travel.

A partition is a task's result that Dask keeps: codes, targets and weights. What a fit makes of them (scores,
statistics, the rows of each node) is remembered beside them and sent nowhere. Every request says which state
it builds on; a partition that does not have it, because a worker was lost, moved or spilled its memory, says
so and is asked again with all that was done so far. What requests give back are sums of integers, so that the
trees are those of a table in memory, whichever workers live or die.
"""

from __future__ import annotations

import functools
import importlib
import uuid
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from dask.base import annotate, compute, persist
from dask.delayed import Delayed, delayed
from numpy.typing import NDArray

from assay.losses import Loss
from assay.rows import Block, alone
from assay.rows._dask import FAN_IN, cluster_client, computed_unless_stuck
from assay.trees.boosting.distributed.steps import (
    BeginRound,
    BeginTree,
    Divide,
    LargestLoss,
    LeafResiduals,
    LeafSums,
    LossSum,
    Measure,
    Move,
    Prepare,
    Refine,
    Resume,
    Step,
    Walk,
)
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import CodedRows, SurveyedRows
from assay.trees.boosting.parts import Part, Totals, blind_below
from assay.trees.boosting.table import Grown, best_constant, choose_units, grown_tree, is_whole
from assay.trees.growing.binned.frontier import Divided, Division, grow_by_frontiers, room_for_frontier
from assay.trees.growing.binned.leafwise import Growth, Plan, make_growth
from assay.trees.growing.columns import Columns


class Partition:
    """Coded rows of a partition that weigh something, and the part of a fit that they are.

    `state` names what has been done with the part; neither of the two goes along where the rows are sent.
    """

    def __init__(self, codes: NDArray[np.uint8], target: NDArray, weight: NDArray | None) -> None:
        self.codes, self.target, self.weight = codes, target, weight
        self.part: Part | None = None
        self.state: Any = None

    def __len__(self) -> int:
        return len(self.codes)

    def __reduce__(self) -> Any:
        return Partition, (self.codes, self.target, self.weight)

    def __sizeof__(self) -> int:
        """Bytes, those of scores, statistics and lists of rows included: a cluster plans with them."""
        return self.codes.nbytes + 48 * len(self)


class Setup(NamedTuple):
    """What the parts of a table begin with."""

    baseline: NDArray[np.float64]
    weighted: bool
    whole: bool


class Answer(NamedTuple):
    """Sums over some partitions, and the numbers of those that did not have the state asked for."""

    value: Any
    lost: tuple[int, ...]


class Request(NamedTuple):
    """Steps to take after the state `before` (None: from the start), which lead to the state `after`."""

    setup: Setup
    before: Any
    after: Any
    steps: list[Step]


class ClusterRows:
    """Coded rows of a cluster, their targets and weights also in this process; see `CodedRows`."""

    def __init__(
        self, partitions: list[Delayed], sizes: Sequence[int], target: NDArray, weight: NDArray | None
    ) -> None:
        self.partitions, self.target, self.weight = partitions, target, weight
        self.bounds = np.cumsum([0, *sizes])

    def divide(self, held: NDArray[np.bool_]) -> tuple[ClusterRows, ClusterRows]:
        """The other rows and the held ones, each where they are."""
        return self._some(~held), self._some(held)

    def _some(self, mask: NDArray[np.bool_]) -> ClusterRows:
        pieces = [mask[first:last] for first, last in zip(self.bounds, self.bounds[1:], strict=False)]
        chosen = [
            delayed(_chosen)(partition, np.packbits(piece))
            for partition, piece in zip(self.partitions, pieces, strict=True)
        ]
        sizes = [int(np.count_nonzero(piece)) for piece in pieces]
        weight = None if self.weight is None else self.weight[mask]
        return ClusterRows(list(persist(*chosen)), sizes, self.target[mask], weight)

    def take(self, places: NDArray) -> CodedRows:
        """Some of the rows (in increasing order), brought here."""
        cuts = np.searchsorted(places, self.bounds)
        pieces = [
            delayed(_codes_of)(partition, places[cuts[number] : cuts[number + 1]] - self.bounds[number])
            for number, partition in enumerate(self.partitions)
        ]
        weight = None if self.weight is None else self.weight[places]
        return CodedRows(np.concatenate(compute(*pieces)), self.target[places], weight, True)

    def table(self, baseline: NDArray[np.float64], n_codes: NDArray[np.int32]) -> ClusterTable:
        """The rows as boosting takes them."""
        return ClusterTable(self, baseline, n_codes)


def keep_rows(
    data: SurveyedRows, target: NDArray[np.float64], weight: NDArray[np.float64] | None, columns: Columns
) -> ClusterRows:
    """Code the rows that weigh something where they are."""
    partitions = data.data.keep(_coded, columns)
    sizes = compute(*(delayed(len)(partition) for partition in partitions))
    if weight is not None:
        there = weight > 0
        target, weight = (target, weight) if there.all() else (target[there], weight[there])
        weight = None if np.all(weight == 1.0) else weight
    return ClusterRows(partitions, sizes, target, weight)


def _coded(block: Block, columns: Columns) -> Partition:
    assert block.y is not None
    codes = np.empty(block.X.shape, dtype=np.uint8)
    columns.encode_into(np.ascontiguousarray(block.X), codes)
    target = (block.y if block.y.ndim == 1 else block.y[:, 0]).astype(np.float64)
    if block.weight is None:
        return Partition(codes, target, None)
    there = block.weight > 0
    return Partition(codes[there], target[there], block.weight[there].astype(np.float64))


def _chosen(partition: Partition, bits: NDArray[np.uint8]) -> Partition:
    mask = np.unpackbits(bits, count=len(partition)).astype(np.bool_)
    weight = None if partition.weight is None else partition.weight[mask]
    return Partition(partition.codes[mask], partition.target[mask], weight)


def _codes_of(partition: Partition, places: NDArray) -> NDArray[np.uint8]:
    return partition.codes[places]


def answer(partition: Partition, number: int, start: int, request: Request) -> Answer:
    """Take the steps of a request on a partition whose first row has the number `start` in the table."""
    setup = request.setup
    if request.before is None:
        scores = np.repeat(setup.baseline[:, np.newaxis], len(partition), axis=1)
        weight = partition.weight if setup.weighted else None
        own = partition.codes, partition.target, weight
        partition.part = Part(*own, start, scores, whole=setup.whole)
    elif partition.state != request.before:
        return Answer(None, (number,))
    assert partition.part is not None
    partition.state, value = None, None  # unknown until all steps are taken
    for step in request.steps:
        value = step.take(partition.part, number)
    partition.state = request.after
    return Answer(value, ())


def together(one: Answer, other: Answer) -> Answer:
    """Two answers as one."""
    if one.value is None or other.value is None:
        value = other.value if one.value is None else one.value
    else:
        value = one.value + other.value
    return Answer(value, one.lost + other.lost)


class TreeRows:
    """The rows of a tree that is grown on a cluster; see `frontier.Spread`."""

    def __init__(self, table: ClusterTable, output: int) -> None:
        self.narrow, self.curved = blind_below(table.loss)
        self._table, self._output = table, output

    def _step(self, divisions: list[Division]) -> Divide:
        table = self._table
        return Divide(divisions, table.plan.stride, table.growth.pool.shape[1])

    def divide(self, divisions: list[Division]) -> Divided:
        """See `Spread.divide`."""
        divided: Divided = self._table.ask(self._step(divisions))
        return divided

    def divide_later(self, divisions: list[Division]) -> None:
        """See `Spread.divide_later`."""
        self._table.waiting.append(self._step(divisions))

    def refine(self, nodes: list[int]) -> None:
        """See `Spread.refine`: a request for the largest statistics, one for sums in units that fit them."""
        table, growth = self._table, self._table.growth

        def measure(nodes: list[int], centers: list[float]) -> Any:
            return table.ask(Measure(self._output, nodes, centers)).value

        finer = choose_units(growth, nodes, measure, curved=self.curved > 0)
        if not finer:
            return
        nodes, centers = [*finer], [*finer.values()]
        summed = [bool(growth.slots[node] >= 0) for node in nodes]
        given = table.ask(
            Refine(self._output, nodes, centers, growth.units[nodes], summed, growth.pool.shape[1])
        )
        for place, node in enumerate(nodes):
            growth.sums[node] = given.sums[place]
            if summed[place]:
                growth.pool[growth.slots[node]] = given.histograms[place]


class ClusterTable:
    """Partitions of a cluster, with the methods of `LocalTable`.

    Steps that give nothing back wait for the next that does, so that a tree costs a request for the units of
    its round, one for its root and one for each frontier.
    """

    def __init__(self, rows: ClusterRows, baseline: NDArray, n_codes: NDArray[np.int32]) -> None:
        weight = rows.weight
        self.n_rows, self.n_codes, self.weighted = len(rows.target), n_codes, weight is not None
        self.total_weight = float(self.n_rows) if weight is None else float(weight.sum())
        self.whole = weight is not None and is_whole(weight)
        self.n_requests = 0
        self.loss: Loss | None = None
        self._rows = rows
        self._setup = Setup(baseline, self.weighted, self.whole)
        self._name = uuid.uuid4().hex
        self._known: dict[int, str] = {}
        self._done: list[Step] = []
        self.waiting: list[Step] = []

    def prepare(self, plan: Plan, growth: Growth) -> None:
        """Make room for the trees of a plan, and for the nodes looked at on the way."""
        self.plan, self._capacity = plan, growth.tree.whole.shape[0]
        room = room_for_frontier(plan, self._capacity)
        self.growth = growth if room == self._capacity else make_growth(plan, room)
        self.waiting.append(Prepare(plan.stride, room))

    def ask(self, step: Step) -> Any:
        """What all partitions give for a step, after those that wait."""
        steps = [*self.waiting, step]
        before = (self._name, self.n_requests) if self.n_requests else None
        self.n_requests += 1
        after = (self._name, self.n_requests)
        given = self._request(range(len(self._rows.partitions)), Request(self._setup, before, after, steps))
        if given.lost:
            again = Request(self._setup, None, after, [*self._done, *steps])
            given = together(given._replace(lost=()), self._request(given.lost, again))
        self.waiting = []
        for taken in steps:
            self._done = taken.after(self._done)
        return given.value

    def _request(self, numbers: Sequence[int], request: Request) -> Answer:
        given = computed_unless_stuck(self._asked(numbers, request, self._homes()))
        if given is None:
            self._known = {}
            given = compute(self._asked(numbers, request, {}))[0]
        return Answer(*given)

    def _asked(self, numbers: Sequence[int], request: Request, homes: dict[int, str]) -> Delayed:
        """The task of a request to some partitions, each at its home if it has one."""
        shared = delayed(request, traverse=False)
        bounds, partitions = self._rows.bounds, self._rows.partitions
        layer = []
        for number in numbers:
            where = {"workers": [homes[number]], "allow_other_workers": True} if number in homes else {}
            with annotate(**where):
                layer.append(delayed(alone)(answer, partitions[number], number, int(bounds[number]), shared))
        while len(layer) > 1:
            groups = (layer[first : first + FAN_IN] for first in range(0, len(layer), FAN_IN))
            layer = [delayed(functools.reduce)(together, group) for group in groups]
        return layer[0]

    def _homes(self) -> dict[int, str]:
        """The workers that the partitions were last asked on, where they still are: they remember.

        Without this, tasks on partitions that are cheap to move would go to whichever worker is idle.
        """
        client = cluster_client()
        if client is None:
            return {}
        if not self._known:
            importlib.import_module("distributed").wait(client.futures_of(self._rows.partitions))
        holders = client.who_has(self._rows.partitions)
        for number, partition in enumerate(self._rows.partitions):
            there = holders.get(partition.key, ())
            if there and self._known.get(number) not in there:
                self._known[number] = sorted(there)[0]
            elif not there:
                self._known.pop(number, None)
        return self._known

    def begin_round(self, loss: Loss, scales: NDArray) -> Totals:
        """See `LocalTable.begin_round`."""
        self.loss = loss
        totals: Totals = self.ask(BeginRound(loss, scales))
        return totals

    def each_output(self, add: Callable[[Any, Plan, int], Any], n_outputs: int) -> list[Any]:
        """What `add` gives for this table, its plan and each output; see `LocalTable.each_output`."""
        return [add(self, self.plan, output) for output in range(n_outputs)]

    def grow(self, output: int, share: float, state: int, seed: int) -> Grown:
        """See `LocalTable.grow`."""
        plan, growth = self.plan, self.growth
        begun = BeginTree(output, share, state, plan.stride, growth.pool.shape[1])
        growth.pool[-1] = self.ask(begun)
        places, left = grow_by_frontiers(growth, plan, seed, self._capacity, TreeRows(self, output))
        self._places = places
        return grown_tree(growth, places, left)

    def move(self, output: int, tree: Grown, values: NDArray, share: float) -> None:
        """See `LocalTable.move`."""
        nodes = self._places[tree.leaves]
        self.waiting.append(Move(output, tree, values, self.n_codes, nodes, share < 1.0))

    def walk(self, output: int, tree: Grown, values: NDArray) -> None:
        """See `LocalTable.walk`."""
        self.waiting.append(Walk(output, tree, values, self.n_codes))

    def resume(self, trees: BoostedTrees) -> None:
        """See `LocalTable.resume`."""
        self.waiting.append(Resume(trees))

    def leaf_sums(
        self, loss: Loss, output: int, tree: Grown, values: NDArray, scales: NDArray
    ) -> NDArray[np.int64]:
        """See `LocalTable.leaf_sums`."""
        scales = np.vstack([scales, np.full(2, 4e18 / max(self.total_weight, self.n_rows))])
        sums: NDArray[np.int64] = self.ask(LeafSums(loss, output, self._places[tree.leaves], values, scales))
        return sums

    def leaf_minimisers(self, loss: Loss, output: int, tree: Grown) -> NDArray[np.float64]:
        """See `LocalTable.leaf_minimisers`; the residuals of all rows travel here."""
        given = self.ask(LeafResiduals(output, self._places[tree.leaves]))
        parts = [pieces for _, pieces in sorted(given, key=lambda numbered: numbered[0])]
        best = []
        for leaf in range(len(tree.leaves)):
            residuals = np.concatenate([pieces[leaf][0] for pieces in parts])
            weights = [pieces[leaf][1] for pieces in parts if pieces[leaf][1] is not None]
            best.append(best_constant(loss, residuals, np.concatenate(weights) if weights else None))
        return np.array(best)

    def largest_loss(self, loss: Loss) -> float:
        """See `LocalTable.largest_loss`."""
        return float(self.ask(LargestLoss(loss)).value)

    def loss_sum(self, loss: Loss, scale: float) -> int:
        """See `LocalTable.loss_sum`."""
        return int(self.ask(LossSum(loss, scale)))

    def finish(self) -> None:
        """Nothing is kept elsewhere: what partitions remember goes with them."""
