"""What a partition of a cluster is asked to do, as small objects that travel; see `cluster`.

A step acts on a `Part` and may give something back that adds up over partitions. `after` says what must be
done again, given what had to be done before it, to bring a part that was lost back to where it was.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.trees.boosting.ensemble import BoostedTrees, walk_rows
from assay.trees.boosting.parts import Part, Totals
from assay.trees.boosting.table import Grown, walk_part
from assay.trees.growing.binned.frontier import Divided, Division
from assay.trees.growing.binned.histograms import divide_on_shard


class Step(Protocol):
    """One thing that is done to a part."""

    def take(self, part: Part, number: int) -> Any:
        """Do it to the partition of this number; gives what is asked for."""

    def after(self, done: list[Step]) -> list[Step]:
        """The steps that lead to where a part is after this one."""


class Largest(NamedTuple):
    """Numbers of which the largest are kept where others are added."""

    value: NDArray[np.float64]

    def __add__(self, other: Any) -> Largest:
        return Largest(np.maximum(self.value, other.value))


class Summed(NamedTuple):
    """Sums and histograms of nodes."""

    sums: NDArray[np.int64]
    histograms: NDArray[np.int64]

    def __add__(self, other: Any) -> Summed:
        return Summed(self.sums + other.sums, self.histograms + other.histograms)


class Prepare(NamedTuple):
    """Make room for trees of so many nodes."""

    stride: int
    capacity: int

    def take(self, part: Part, number: int) -> None:
        """See `Step.take`."""
        part.prepare(self.stride, self.capacity)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self]


class BeginRound(NamedTuple):
    """Write the statistics of all rows."""

    loss: Loss
    scales: NDArray[np.float64]

    def take(self, part: Part, number: int) -> Totals:
        """See `Step.take`."""
        return part.begin_round(self.loss, self.scales)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; what the last tree was grown with is no longer needed."""
        return [*without(done, BeginRound, BeginTree, Divide, Refine), self]


class BeginTree(NamedTuple):
    """List the rows of a tree; gives the histogram of its root."""

    output: int
    share: float
    state: int
    stride: int
    n_bins: int

    def take(self, part: Part, number: int) -> NDArray[np.int64]:
        """See `Step.take`."""
        sums = np.zeros((self.n_bins, 3), dtype=np.int64)
        part.begin_tree(self.output, self.share, self.state, self.stride, sums)
        return sums

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*without(done, BeginTree, Divide, Refine), self]


class Divide(NamedTuple):
    """Divide nodes; gives the histograms of the children that are to be summed up, in their order."""

    divisions: list[Division]
    stride: int
    n_bins: int

    def take(self, part: Part, number: int) -> Divided:
        """See `Step.take`."""
        shard = part.shard
        assert shard is not None
        children = [child for division in self.divisions for child in (division.first, division.first + 1)]
        n_summed = sum((division.small >= 0) + (division.other >= 0) for division in self.divisions)
        sums, place = np.zeros((max(n_summed, 1), self.n_bins, 3), dtype=np.int64), 0
        for node, first, column, sides, small, other in self.divisions:
            after = place + (small >= 0)
            own, more = sums[min(place, n_summed - 1)], sums[min(after, n_summed - 1)]
            divide_on_shard(shard, node, first, column, sides, self.stride, small, own, other, more)
            place = after + (other >= 0)
        sums = sums[:n_summed]
        return Divided(sums, shard.ranges[children])

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self]


class Measure(NamedTuple):
    """Largest slope about a centre and largest curvature of nodes."""

    output: int
    nodes: list[int]
    centers: list[float]

    def take(self, part: Part, number: int) -> Largest:
        """See `Step.take`."""
        both = zip(self.nodes, self.centers, strict=True)
        return Largest(np.array([part.measure_node(self.output, node, center) for node, center in both]))

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


class Refine(NamedTuple):
    """Count nodes in finer units; gives their sums and histograms, of 0 where `summed` asks for none."""

    output: int
    nodes: list[int]
    centers: list[float]
    units: NDArray[np.float64]
    summed: list[bool]
    n_bins: int

    def take(self, part: Part, number: int) -> Summed:
        """See `Step.take`."""
        sums = np.zeros((len(self.nodes), 3), dtype=np.int64)
        histograms = np.zeros((len(self.nodes), self.n_bins, 3), dtype=np.int64)
        for place, (node, center) in enumerate(zip(self.nodes, self.centers, strict=True)):
            part.measure_node(self.output, node, center)
            histogram = histograms[place] if self.summed[place] else None
            part.refine_node(node, self.units[place], sums[place], histogram)
        return Summed(sums, histograms)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self]


class Walk(NamedTuple):
    """Add the values of the leaves of a tree to the scores."""

    output: int
    tree: Grown
    values: NDArray[np.float64]
    n_codes: NDArray[np.int32]

    def take(self, part: Part, number: int) -> None:
        """See `Step.take`."""
        walk_part(part, self.output, self.tree, self.values, self.n_codes)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self]


class Move(NamedTuple):
    """The same for the tree that was grown last, whose leaves are at `nodes`."""

    output: int
    tree: Grown
    values: NDArray[np.float64]
    n_codes: NDArray[np.int32]
    nodes: NDArray[np.int64]
    sampled: bool

    def take(self, part: Part, number: int) -> None:
        """See `Step.take`."""
        part.move(self.output, self.nodes, self.values)
        if self.sampled:
            walk_part(part, self.output, self.tree, self.values, self.n_codes, part.left_out())

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; a walk comes to the same without the rows of the tree."""
        return [*done, Walk(*self[:4])]


class Resume(NamedTuple):
    """Add the values of fitted trees to the scores."""

    trees: BoostedTrees

    def take(self, part: Part, number: int) -> None:
        """See `Step.take`."""
        rows, trees = np.arange(len(part.codes), dtype=np.int32), self.trees
        for place in range(trees.n_trees):
            walk_rows(part.codes, rows, trees.one_tree(place), part.scores[place % trees.n_outputs])

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`."""
        return [*done, self]


class LeafSums(NamedTuple):
    """Slopes and curvatures of leaves, were their values added to the scores."""

    loss: Loss
    output: int
    nodes: NDArray[np.int64]
    values: NDArray[np.float64]
    scales: NDArray[np.float64]

    def take(self, part: Part, number: int) -> NDArray[np.int64]:
        """See `Step.take`."""
        return part.leaf_sums(self.loss, self.output, self.nodes, self.values, self.scales)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


class LeafResiduals(NamedTuple):
    """Residuals and weights of leaves, in a list with the number of the partition."""

    output: int
    nodes: NDArray[np.int64]

    def take(self, part: Part, number: int) -> list[tuple[int, list[tuple[NDArray, NDArray | None]]]]:
        """See `Step.take`."""
        return [(number, [part.leaf_residuals(self.output, int(node)) for node in self.nodes])]

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


class LargestLoss(NamedTuple):
    """Largest loss of a row, times its weight."""

    loss: Loss

    def take(self, part: Part, number: int) -> Largest:
        """See `Step.take`."""
        return Largest(np.array(part.largest_loss(self.loss)))

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


class LossSum(NamedTuple):
    """Loss of all rows, in units."""

    loss: Loss
    scale: float

    def take(self, part: Part, number: int) -> int:
        """See `Step.take`."""
        return part.loss_sum(self.loss, self.scale)

    def after(self, done: list[Step]) -> list[Step]:
        """See `Step.after`; nothing changes."""
        return done


def without(steps: list[Step], *kinds: type) -> list[Step]:
    """The steps of other kinds."""
    return [step for step in steps if not isinstance(step, kinds)]
