"""Grow a forest on codes: the table is coded once, then each tree is one task of the thread pool."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay import rows
from assay.rows import Block, MemoryRows, Rows
from assay.trees.decision.pruning import pruned
from assay.trees.decision.solver import Growth
from assay.trees.forest.bag import Bag
from assay.trees.forest.trees import leaves_of_codes, snap_thresholds, spread_thresholds
from assay.trees.forest.workers import grow_on_workers
from assay.trees.growing.bins import bin_columns
from assay.trees.growing.build import column_rules, count_rows, grow_tree
from assay.trees.growing.columns import Columns
from assay.trees.growing.table import BinnedTable
from assay.trees.outputs import share_weights
from assay.trees.tree import Tree

EDGE_ROWS = 200_000
"""Rows that the edges of the bins are taken from: all up to here, else as many at equal distances."""

MAX_CODES = 2**32
"""Bytes of codes up to which rows outside memory are brought in."""


class Table(NamedTuple):
    """A table as forests take it: codes (one row per column), target and weights.

    `from_cluster` says that the rows came from a cluster, whose workers then grow the trees.
    """

    columns: Columns
    codes: NDArray[np.uint8]
    target: NDArray
    weight: NDArray[np.float64]
    from_cluster: bool = False


class Grown(NamedTuple):
    """A tree, its seed, and the leaves of the rows that it was not grown on, if they were asked for."""

    tree: Tree
    seed: int
    outside: NDArray[np.int64]
    leaves: NDArray[np.int32]


def read_table(data: Rows, categorical: NDArray[np.bool_]) -> Table:
    """Code the rows of any source, block by block, in their order."""
    n_rows = data.shape[0]
    some = n_rows > EDGE_ROWS
    chosen = np.unique(np.linspace(0, n_rows - 1, EDGE_ROWS).astype(np.int64)) if some else np.arange(n_rows)
    sample, sample_weight = sampled(data, chosen)
    columns = bin_columns(sample, sample_weight, categorical, spread=True)
    parts = data.reduce(block_codes, columns, combine=appended)
    codes, targets, weights = zip(*parts, strict=True)
    codes_of_all = np.concatenate(codes, axis=1)
    return Table(columns, codes_of_all, gathered(targets), gathered(weights), not data.local)


def sampled(data: Rows, chosen: NDArray[np.int64]) -> tuple[NDArray, NDArray[np.float64] | None]:
    """The chosen rows that weigh something, and their weights; rows outside memory are walked once."""
    if isinstance(data, MemoryRows):
        sample = data.take(chosen)
        weight = None if data.weight is None else data.weight[chosen].astype(np.float64)
    else:
        parts = data.reduce(block_sample, chosen, combine=appended)
        sample, weights = (gathered(values) for values in zip(*parts, strict=True))
        weight = weights if data.has_weight else None
    if weight is None:
        return sample, None
    return sample[weight > 0], weight[weight > 0]


def appended(first: list[Any], second: list[Any]) -> list[Any]:
    """Results of neighbouring blocks, in order."""
    return [*first, *second]


def gathered(parts: Any) -> NDArray:
    """The parts of a vector in one."""
    return np.concatenate(list(parts))


def block_sample(block: Block, chosen: NDArray[np.int64]) -> list[tuple[NDArray, NDArray]]:
    """The chosen rows of a block, and their weights."""
    first, last = np.searchsorted(chosen, [block.start, block.start + block.X.shape[0]])
    places = chosen[first:last] - block.start
    return [(np.ascontiguousarray(block.dense[places]), block.weights[places])]


def block_codes(block: Block, columns: Columns) -> list[tuple[NDArray, NDArray, NDArray]]:
    """Codes, target and weights of a block."""
    assert block.y is not None
    codes = columns.encode(np.ascontiguousarray(block.dense), by_column=True)
    return [(codes, block.y, block.weights)]


class Forest(NamedTuple):
    """What the trees of a forest have in common.

    `factors` multiply the weights of the classes, "balanced_subsample" ones tree by tree; `n_classes` is that
    of all outputs, 0 without classes.
    """

    table: Table
    bag: Bag
    growth: Growth
    n_classes: int
    factors: NDArray[np.float64] | None
    balances: bool
    with_outside: bool
    ccp_alpha: float

    def weights(self, seed: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """How often the tree of a seed draws each row, and the weight that each has in it."""
        counts = self.bag.counts(seed)
        return counts, self.weighted(counts)

    def weighted(self, counts: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weight of each row in a tree that draws the rows so often."""
        how = (self.factors, self.balances, self.n_classes, self.ends)
        return tree_weights(self.bag, counts, self.table.target, *how)

    @property
    def ends(self) -> NDArray | None:
        """Where each of several outputs ends among the values; None for one."""
        return getattr(self.growth.form, "ends", None)

    def grow(self, seed: int) -> Grown:
        """The tree of a seed."""
        counts, weight = self.weights(seed)
        table, growth = self.table, self.growth
        inside = np.flatnonzero(weight > 0).astype(np.int32)
        counted = count_rows(growth.form, table.target, weight, self.n_classes, inside, table.weight)
        rules = column_rules(table.columns, growth.signs, growth.groups)
        tree, leaves = grow_tree(
            BinnedTable(table.codes, inside, table.columns.n_codes),
            counted.rows,
            counted.units,
            growth.form,
            growth._replace(seed=seed).limits(counted.units[0]),
            table.columns,
            rules,
        )
        columns = table.columns
        if growth.random_cuts:
            shares = np.random.default_rng(seed).random(tree.node_count)
            spread_thresholds(shares, tree.feature, tree.levels, columns.low, columns.high, columns.offsets,
                              columns.cuts, tree.threshold, tree.cut)  # fmt: skip
        snap_thresholds(tree.feature, tree.levels, columns.cuts, columns.offsets, tree.threshold, tree.cut)
        tree = counted.finish(tree, leaves[inside], table.target[inside], weight[inside], growth.form)
        if self.ccp_alpha > 0:
            tree = pruned(tree, self.ccp_alpha)
        return Grown(tree, seed, *self._outside(tree, counts))

    def _outside(self, tree: Tree, counts: NDArray) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        if not self.with_outside:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int32)
        outside = np.flatnonzero((counts == 0) & (self.table.weight > 0))
        leaves = np.empty(len(outside), dtype=np.int32)
        leaves_of_codes(
            tree._splits(), tree.cut, self.table.codes, self.table.columns.n_codes, outside, leaves
        )
        return outside, leaves


def tree_weights(
    bag: Bag,
    counts: NDArray[np.int32],
    target: NDArray,
    factors: NDArray[np.float64] | None,
    balances: bool,
    n_classes: int,
    ends: NDArray | None,
) -> NDArray[np.float64]:
    """Weight of each row in a tree: as drawn, times the factor of its class."""
    weight = bag.weights(counts)
    if balances:
        inside = share_weights(target, weight, n_classes)
        parts = np.split(inside, [] if ends is None else ends[:-1])
        factors = np.concatenate([balanced(part) for part in parts])
    if factors is None:
        return weight
    return weight * short(factors)[target].reshape(len(target), -1).prod(axis=1)


def balanced(inside: NDArray[np.float64]) -> NDArray[np.float64]:
    """Factors by which the classes that are there weigh the same."""
    there = inside > 0
    return np.where(there, inside.sum() / (there.sum() * np.where(there, inside, 1.0)), 1.0)


def short(factors: NDArray[np.float64]) -> NDArray[np.float64]:
    """The factors with 15 binary digits: a row of weight k then adds what k rows would, to the last bit."""
    mantissa, exponent = np.frexp(factors)
    return np.asarray(np.ldexp(np.rint(mantissa * 2**15), exponent - 15))


def grow_each(forest: Forest, seeds: Iterable[int]) -> Iterator[Grown]:
    """The trees in the order of their seeds, grown on the thread pool or by the workers of a cluster."""
    if forest.table.from_cluster:
        from assay.rows._dask import cluster_client  # needs Dask

        client = cluster_client()
        if client is not None:
            return grow_on_workers(client, forest, seeds)
    return rows.ordered_map(forest.grow, seeds)
