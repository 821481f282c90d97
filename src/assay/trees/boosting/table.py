"""The rows of a fit in memory, in parts of about equal size, one per thread."""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.rows import n_threads, ordered_map
from assay.trees.boosting.ensemble import BoostedTrees, walk_rows
from assay.trees.boosting.loops import middle_of_each
from assay.trees.boosting.parts import Part, Totals
from assay.trees.growing.binned.leafwise import Growth, Plan, grow_on_team, make_growth
from assay.trees.growing.binned.team import Team, make_team
from assay.trees.growing.nodes import CENTER, COLUMN, CUT, GAIN, HIGH, LEAF, LEFT, PLACE_OF_BITS, WORDS
from assay.trees.growing.statistics import unit_of

SMALL = 2**18
"""Values up to which one thread is fastest."""

ROUNDING = 1e-12
"""Share of a centre that slopes about it must exceed to be more than rounding."""


class Grown(NamedTuple):
    """One grown tree, its leaves without values yet; see `BoostedTrees`."""

    feature: NDArray[np.int32]
    cut: NDArray[np.int32]
    children_left: NDArray[np.int32]
    children_right: NDArray[np.int32]
    missing_go_to_left: NDArray[np.bool_]
    levels: NDArray[np.int32]
    bits: NDArray[np.uint32]
    gain: NDArray[np.float64]
    sums: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]
    units: NDArray[np.float64]  # of weight, slope and curvature, for each node
    leaves: NDArray[np.int64]  # the nodes that are leaves


WHOLE_FIELDS, REAL_FIELDS = slice(COLUMN, CUT + 1), slice(GAIN, HIGH + 1)
"""What is copied of the nodes of a growing tree: column and cut; gain and bounds."""

NO_BITS = np.empty((0, WORDS), dtype=np.uint32)


def grown_tree(growth: Growth, places: Any, left: NDArray[np.int64]) -> Grown:
    """A copy of the nodes at some places; `left` numbers their left children in that order, −1 for leaves."""
    tree, inside = growth.tree, left >= 0
    leaves = (~inside).nonzero()[0]
    whole, real, missing_left = tree.whole[places], tree.real[places], tree.missing_left[places] & inside
    # What a leaf would have been divided by is forgotten.
    feature, cut = np.where(inside, whole[:, WHOLE_FIELDS].T, LEAF).astype(np.int32)
    gain, low, high = real[:, REAL_FIELDS].T.copy()
    gain *= inside
    left_child, right_child = left.astype(np.int32), (left + inside).astype(np.int32)
    levels, bits = np.empty(len(left), dtype=np.int32), NO_BITS
    levels.fill(-1)
    if len(tree.bits):
        grouped = inside & (whole[:, PLACE_OF_BITS] >= 0)
        levels[grouped] = np.arange(grouped.sum())
        bits = tree.bits[places][grouped]
    units, sums = growth.units[places].copy(), tree.sums[places].copy()
    units[:, 1] += np.abs(real[:, CENTER]) * units[:, 2]  # that fit the slopes, not those about the centre
    nodes = (feature, cut, left_child, right_child, missing_left, levels, bits)
    return Grown(*nodes, gain, sums, low, high, units, leaves)


def choose_units(
    growth: Growth, nodes: list[int], measure: Callable[[list[int], list[float]], Any], *, curved: bool
) -> dict[int, float]:
    """Take finer units for nodes whose slopes lie close together; gives those it was done for, with centres.

    Slopes are counted from the mean step of the node; `measure` gives the largest about a centre, and the
    largest curvature. Where slopes differ by the rounding of floats alone the centre stays, and units are
    taken for the curvatures, if `curved` says that they differ.
    """
    real, centers, tops = growth.tree.real, {}, {}
    for node in nodes:
        sums, unit = growth.sums[node], growth.units[node]
        size = float(sums[2] * unit[2])
        centers[node] = float(real[node, CENTER]) + (float(sums[1] * unit[1]) / size if size > 0 else 0.0)
    tops = dict(zip(nodes, measure(nodes, [*centers.values()]), strict=True))
    flat = [node for node in nodes if tops[node][0] <= ROUNDING * abs(centers[node]) * tops[node][1]]
    for node in flat:
        if not curved:
            del centers[node]
    if curved and flat:
        centers |= {node: float(real[node, CENTER]) for node in flat}
        tops |= zip(flat, measure(flat, [centers[node] for node in flat]), strict=True)
    for node, center in centers.items():
        real[node, CENTER] = center
        growth.units[node, 1] = unit_of(tops[node][:1])
        if curved and tops[node][1] > 0:
            growth.units[node, 2] = unit_of(tops[node][1:])
    return centers


class LocalTable:
    """Rows in memory.

    Parameters
    ----------
    codes : uint8 array of shape (n_rows, n_columns)
    target : float64 array of shape (n_rows,)
    weight : float64 array of shape (n_rows,), optional
        None where all are 1.
    baseline : float64 array of shape (n_outputs,)
        Where the scores start.
    n_codes : int32 array of shape (n_columns,)
    """

    def __init__(
        self,
        codes: NDArray[np.uint8],
        target: NDArray[np.float64],
        weight: NDArray[np.float64] | None,
        baseline: NDArray[np.float64],
        n_codes: NDArray[np.int32],
    ) -> None:
        self.n_rows, self.n_codes, self.weighted = len(codes), n_codes, weight is not None
        self.total_weight = float(len(codes)) if weight is None else float(weight.sum())
        self.scores = np.repeat(baseline[:, np.newaxis], len(codes), axis=1)
        n_parts = 1 if codes.size <= SMALL else n_threads()
        self._starts = np.array([len(codes) * part // n_parts for part in range(n_parts + 1)])
        self._rows = (codes, target, weight)
        self._workers: SimpleQueue[LocalTable] | None = None
        self._team: Team | None = None
        self._waiting: Callable[[Part], None] | None = None
        self.whole = whole = weight is not None and is_whole(weight)
        width = 2 if weight is None else 3
        self._statistics = np.empty((len(baseline), len(codes), width), dtype=np.int32)
        self.parts = []
        for start, stop in pairwise(self._starts.tolist()):
            rows = slice(start, stop)
            own = None if weight is None else weight[rows]
            both = self.scores[:, rows], self._statistics[:, rows]
            self.parts.append(Part(codes[rows], target[rows], own, start, *both, whole=whole))

    def prepare(self, plan: Plan, growth: Growth) -> None:
        """Make room for the trees of a plan."""
        self._plan, self._growth = plan, growth
        capacity = growth.tree.whole.shape[0]
        if len(self.scores) > 1 and len(self.parts) > 1:
            self._share_outputs(capacity)
            return
        self._make_team(plan, capacity)

    def _make_team(self, plan: Plan, capacity: int, flat: NDArray | None = None) -> None:
        own = self._rows[0], self._statistics[0], self._starts
        self._team = make_team(*own, plan.stride, capacity, whole=self.whole, flat=flat)
        for part, shard in zip(self.parts, self._team.shards(), strict=True):
            part.shard = shard

    def _share_outputs(self, capacity: int) -> None:
        """Make a table per thread that grows trees on all rows: those of several outputs at the same time."""
        plan, (codes, target, weight) = self._plan, self._rows
        self._workers = SimpleQueue()
        flat = None
        for _ in range(n_threads()):
            own = copy.copy(self)
            own._starts, own._workers, own._plan = np.array([0, self.n_rows]), None, plan.for_thread()
            own.parts = [Part(codes, target, weight, 0, self.scores, self._statistics, whole=self.whole)]
            own._growth = make_growth(plan, capacity)
            own._make_team(plan, capacity, flat)
            assert own._team is not None
            flat = own._team.shard.flat
            self._workers.put(own)

    def each_output(self, add: Callable[[LocalTable, Plan, int], Any], n_outputs: int) -> list[Any]:
        """What `add` gives for a table, its plan and each output."""
        workers = self._workers
        if workers is None:
            return [add(self, self._plan, output) for output in range(n_outputs)]

        def task(output: int) -> Any:
            own = workers.get()
            try:
                return add(own, own._plan, output)
            finally:
                workers.put(own)

        return list(ordered_map(task, range(n_outputs)))

    def _each(self, task: Callable[[Part], Any]) -> list[Any]:
        if len(self.parts) == 1:
            return [task(self.parts[0])]
        waiting, self._waiting = self._waiting, None

        def both(part: Part) -> Any:
            if waiting is not None:
                waiting(part)
            return task(part)

        return list(ordered_map(both, self.parts))

    def begin_round(self, loss: Loss, scales: NDArray) -> Totals:
        """Statistics of all rows; see `Part.begin_round`."""
        first, *others = self._each(lambda part: part.begin_round(loss, scales))
        for totals in others:
            first = first + totals
        return first

    def grow(self, output: int, share: float, state: int, seed: int) -> Grown:
        """Grow a tree on a drawn share of the rows."""
        assert self._team is not None
        plan, growth = self._plan, self._growth
        for part in self.parts:
            shard = part.turn_to(output)
        whole = self._team.shard._replace(
            statistics=self._statistics[output], narrow=shard.narrow, curved=shard.curved
        )
        team = self._team._replace(shard=whole, share=float(share), state=np.uint64(state))
        every = slice(grow_on_team(team, growth, plan, seed, partial(self._refine, output)))
        return grown_tree(growth, every, growth.tree.whole[every, LEFT])

    def _refine(self, output: int, node: int) -> None:
        """Count a node whose slopes lie close together from their mean step, in units that fit them."""
        growth, curved = self._growth, self.parts[0].shard.curved > 0  # type: ignore[union-attr]

        def measure(nodes: list[int], centers: list[float]) -> list[NDArray]:
            return [np.max(self._each(lambda part: part.measure_node(output, nodes[0], centers[0])), axis=0)]

        if not choose_units(growth, [node], measure, curved=curved):
            return
        sums = growth.sums[node]
        sums[:] = 0
        histogram = growth.pool[growth.slots[node]] if growth.slots[node] >= 0 else None
        if histogram is not None:
            histogram[:] = 0
        for part in self.parts:
            part.refine_node(node, growth.units[node], sums, histogram)

    def move(self, output: int, tree: Grown, values: NDArray, share: float) -> None:
        """Add the values of the leaves of the last tree to the scores, rows that it did not draw included."""
        leaves = tree.leaves

        def move_part(part: Part) -> None:
            part.move(output, leaves, values)
            if share < 1.0:
                walk_part(part, output, tree, values, self.n_codes, part.left_out())

        if len(self.parts) == 1:
            move_part(self.parts[0])
        else:  # with what the threads are asked next
            self._waiting = move_part

    def walk(self, output: int, tree: Grown, values: NDArray) -> None:
        """The same for any tree, by walking it."""
        self._each(lambda part: walk_part(part, output, tree, values, self.n_codes))

    def resume(self, trees: BoostedTrees) -> None:
        """Add the values of fitted trees to the scores, in their order."""

        def task(part: Part) -> None:
            rows = np.arange(len(part.codes), dtype=np.int32)
            for place in range(trees.n_trees):
                walk_rows(part.codes, rows, trees.one_tree(place), part.scores[place % trees.n_outputs])

        self._each(task)

    def leaf_sums(
        self, loss: Loss, output: int, tree: Grown, values: NDArray, scales: NDArray
    ) -> NDArray[np.int64]:
        """Slopes and curvatures of each leaf at moved scores; see `Part.leaf_sums`."""
        scales = np.vstack([scales, np.full(2, 4e18 / max(self.total_weight, self.n_rows))])
        return sum(self._each(lambda part: part.leaf_sums(loss, output, tree.leaves, values, scales)))

    def leaf_minimisers(self, loss: Loss, output: int, tree: Grown) -> NDArray[np.float64]:
        """For a loss of the residual, the constant that fits the residuals of each leaf best."""
        leaves = tree.leaves
        if self.weighted or not is_of_quantile(loss):
            pieces = [[part.leaf_residuals(output, leaf) for part in self.parts] for leaf in leaves]
            return np.array([best_constant(loss, *joined_pieces(own)) for own in pieces])
        # The residuals of a leaf one after the other, those of the first part first.
        counts = np.array([part.leaf_sizes(leaves) for part in self.parts])
        ends = np.cumsum(counts.T.ravel()).reshape(counts.T.shape)
        starts, values, out = ends - counts.T, np.empty(int(ends[-1, -1])), np.empty(len(leaves))
        bounds = np.append(starts[:, 0], len(values))
        first, second = quantile_ranks(level_of(loss), np.diff(bounds))

        def choose(some: slice) -> None:
            for place, part in enumerate(self.parts):
                part.write_residuals(output, leaves[some], starts[some, place].copy(), values)
            middle_of_each(values, bounds[some.start : some.stop + 1], first[some], second[some], out[some])

        n_groups = len(self.parts)
        cuts = np.searchsorted(bounds[:-1], len(values) * np.arange(1, n_groups) / n_groups)
        groups = [slice(*pair) for pair in pairwise([0, *cuts.tolist(), len(leaves)])]
        deque(map(choose, groups) if n_groups == 1 else ordered_map(choose, groups), maxlen=0)
        return out

    def largest_loss(self, loss: Loss) -> float:
        """Largest loss of a row, times its weight."""
        return float(max(self._each(lambda part: part.largest_loss(loss))))

    def loss_sum(self, loss: Loss, scale: float) -> int:
        """Loss of all rows, in units."""
        return int(sum(self._each(lambda part: part.loss_sum(loss, scale))))

    def finish(self) -> None:
        """Take what waits; nothing is kept elsewhere."""
        if self._waiting is not None:
            self._each(lambda part: None)


def is_whole(weight: NDArray) -> bool:
    """Whether weights are whole numbers whose products with statistics can be summed in 64 bits."""
    return bool(weight.sum() < 2**31 and np.all(weight == np.rint(weight)))


def walk_part(
    part: Part,
    output: int,
    tree: Grown,
    values: NDArray,
    n_codes: NDArray[np.int32],
    rows: NDArray[np.int32] | None = None,
) -> None:
    """Add the values of the leaves of a tree to the scores of some rows of a part, or of all."""
    value = np.zeros(len(tree.feature))
    value[tree.leaves] = values
    rows = np.arange(len(part.codes), dtype=np.int32) if rows is None else rows
    walk_rows(part.codes, rows, nodes_of(tree, value, n_codes), part.scores[output])


def nodes_of(tree: Grown, value: NDArray, n_codes: NDArray) -> tuple[NDArray, ...]:
    """One tree as the loops of `ensemble` take several."""
    starts = np.array([0, len(tree.feature)], dtype=np.int64)
    return (starts, *tree[:7], value, n_codes)


def is_of_quantile(loss: Loss) -> bool:
    """Whether the best constant of rows of weight 1 is a quantile of their residuals."""
    form: Any = loss.row_form
    return loss.cornered and form.epsilon == 0 and not form.labelled


def level_of(loss: Loss) -> float:
    """The level of the quantile."""
    form: Any = loss.row_form
    return float(form.upper / (form.upper + form.lower))


def quantile_ranks(level: float, n: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Ranks of the two order statistics that a quantile of each of several numbers of rows is between.

    As `weighted_quantile` finds them: the first share of at least, or more than, the level.
    """
    begin = np.maximum((level * n).astype(np.int64) - 2, 0)
    near, rounding = begin[:, np.newaxis] + np.arange(5), 8 * np.finfo(float).eps
    share = (near + 1) / n[:, np.newaxis] - level
    ranks = (begin + np.count_nonzero(share < edge, axis=1) for edge in (-rounding, rounding))
    first, second = (np.minimum(rank, n - 1) for rank in ranks)
    return first, second


def joined_pieces(pieces: list[tuple[NDArray, NDArray | None]]) -> tuple[NDArray, NDArray | None]:
    """Residuals and weights of a leaf from those of each part."""
    weights = [weight for _, weight in pieces if weight is not None]
    return np.concatenate([values for values, _ in pieces]), np.concatenate(weights) if weights else None


def best_constant(loss: Loss, residuals: NDArray, weight: NDArray | None) -> float:
    """argmin_c Σ w ℓ(r, c); the quantile of residuals of weight 1 without sorting them all."""
    if weight is not None or not is_of_quantile(loss):
        return float(loss.constant_minimiser(residuals, weight))
    first, second = (int(rank[0]) for rank in quantile_ranks(level_of(loss), np.array([len(residuals)])))
    ordered = np.partition(residuals, [first, second])
    return float(ordered[first] + ordered[second]) / 2
