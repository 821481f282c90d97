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
from assay.trees.growing.binned.leafwise import Growth, Plan, grow_on_shards, make_growth
from assay.trees.growing.nodes import CENTER, COLUMN, CUT, GAIN, HIGH, LEAF, LEFT, LOW, PLACE_OF_BITS
from assay.trees.growing.statistics import unit_of

SMALL = 2**20
"""Values up to which one part, and with it a whole tree in one compiled call, is fastest."""

ROUNDING = 1e-12
"""Share of a centre that slopes about it must exceed to be more than rounding."""

MANY = 10**5
"""Rows from which on the best constants of leaves are worth threads."""


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

    @property
    def leaves(self) -> NDArray[np.int64]:
        """The nodes that are leaves."""
        return np.flatnonzero(self.feature == LEAF)


def grown_tree(growth: Growth, places: Any, left: NDArray[np.int64]) -> Grown:
    """A copy of the nodes at some places; `left` numbers their left children in that order, −1 for leaves."""
    tree = growth.tree
    whole, real, inner = tree.whole[places], tree.real[places], left >= 0
    levels = np.full(len(left), -1, dtype=np.int32)
    bits = np.empty((0, 8), dtype=np.uint32)
    if len(tree.bits):
        grouped = inner & (whole[:, PLACE_OF_BITS] >= 0)
        levels[grouped] = np.arange(grouped.sum())
        bits = tree.bits[places][grouped]
    return Grown(
        np.where(inner, whole[:, COLUMN], LEAF).astype(np.int32),
        np.where(inner, whole[:, CUT], -1).astype(np.int32),
        left.astype(np.int32),
        np.where(inner, left + 1, -1).astype(np.int32),
        tree.missing_left[places] & inner,
        levels,
        bits,
        np.where(inner, real[:, GAIN], 0.0),
        tree.sums[places].copy(),
        real[:, LOW].copy(),
        real[:, HIGH].copy(),
        whole_units(growth.units[places], real[:, CENTER]),
    )


def whole_units(units: NDArray, center: NDArray) -> NDArray[np.float64]:
    """Units that fit the slopes themselves, not those about the centre of a node."""
    return np.column_stack([units[:, 0], units[:, 1] + np.abs(center) * units[:, 2], units[:, 2]])


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
        bounds = [len(codes) * part // n_parts for part in range(n_parts + 1)]
        self._rows = (codes, target, weight)
        self._workers: SimpleQueue[LocalTable] | None = None
        self.whole = whole = weight is not None and is_whole(weight)
        self.parts = []
        for start, stop in pairwise(bounds):
            rows = slice(start, stop)
            own = None if weight is None else weight[rows]
            scores = self.scores[:, rows]
            self.parts.append(Part(codes[rows], target[rows], own, start, scores, whole=whole))

    def prepare(self, plan: Plan, growth: Growth) -> None:
        """Make room for the trees of a plan."""
        self._plan, self._growth = plan, growth
        capacity = growth.tree.whole.shape[0]
        if len(self.scores) > 1 and len(self.parts) > 1:
            self._share_outputs(capacity)
            return
        for part in self.parts:
            part.prepare(plan.stride, capacity)

    def _share_outputs(self, capacity: int) -> None:
        """Make a table per thread that grows trees on all rows: those of several outputs at the same time."""
        first, plan = self.parts[0], self._plan
        width, n_outputs = first.statistics.shape[2], len(self.scores)
        statistics = np.empty((n_outputs, self.n_rows, width), dtype=np.int32)
        for part in self.parts:
            part.statistics = statistics[:, part.start : part.start + len(part.codes)]
        codes, target, weight = self._rows
        self._workers = SimpleQueue()
        flat = None
        for _ in range(n_threads()):
            own, part = copy.copy(self), Part(codes, target, weight, 0, self.scores, whole=self.whole)
            part.statistics = statistics
            part.prepare(plan.stride, capacity)
            assert part.shard is not None
            flat = part.shard.flat if flat is None else flat
            part.shard = part.shard._replace(flat=flat)
            own.parts, own._workers, own._plan = [part], None, plan.for_thread()
            own._growth = make_growth(plan, capacity)
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
        return list(ordered_map(task, self.parts))

    def begin_round(self, loss: Loss, scales: NDArray) -> Totals:
        """Statistics of all rows; see `Part.begin_round`."""
        first, *others = self._each(lambda part: part.begin_round(loss, scales))
        for totals in others:
            first = first + totals
        return first

    def grow(self, output: int, share: float, state: int, seed: int) -> Grown:
        """Grow a tree on a drawn share of the rows."""
        plan, growth = self._plan, self._growth
        root = growth.pool[-1]
        others = np.zeros((len(self.parts) - 1, *root.shape), dtype=np.int64)
        root[:] = 0
        sums = [root, *others]
        places = {id(part): place for place, part in enumerate(self.parts)}
        self._each(lambda part: part.begin_tree(output, share, state, plan.stride, sums[places[id(part)]]))
        for more in others:
            root += more
        shards = [part.shard for part in self.parts if part.shard is not None]
        refine = partial(self._refine, output)
        every = slice(grow_on_shards(shards, growth, plan, seed, refine))
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

        def task(part: Part) -> None:
            part.move(output, leaves, values)
            if share < 1.0:
                walk_part(part, output, tree, values, self.n_codes, part.left_out())

        self._each(task)

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
        own = {id(part): starts[:, place].copy() for place, part in enumerate(self.parts)}
        self._each(lambda part: part.write_residuals(output, leaves, own[id(part)], values))
        bounds = np.append(starts[:, 0], len(values))
        first, second = quantile_ranks(level_of(loss), np.diff(bounds))

        def choose(some: slice) -> None:
            middle_of_each(values, bounds[some.start : some.stop + 1], first[some], second[some], out[some])

        n_groups = 1 if self.n_rows < MANY else n_threads()
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
        """Nothing is kept elsewhere."""


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
