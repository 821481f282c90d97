"""Which rows each tree is grown on: a bootstrap sample that its seed alone decides."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.loops import compiled
from assay.randomness import generator
from assay.trees.growing.nodes import mixed, uniform

WHOLE = 2.0**31
"""Sums of whole weights up to which a draw can count as one row."""

SEEDS = 2**16
"""Seeds drawn at a time: a billion trees begin at once and may be stopped."""


def seeds_of(random_state: Any, n_trees: int, n_kept: int = 0) -> Iterator[int]:
    """The seed of each tree, but for those that are there already."""
    random, done = generator(random_state), 0
    while done < n_trees:
        some = random.integers(2**62, size=min(n_trees - done, SEEDS))
        yield from some[max(n_kept - done, 0) :].tolist()
        done += len(some)


class Bag(NamedTuple):
    """How the rows of a tree are drawn.

    Attributes
    ----------
    weight : float64 array of shape (n_rows,)
        Weight of each row. Whole weights are rows that occur so often: the sum of them is drawn.
    order : int64 array of shape (n_rows,)
        Rows in an order that depends on their values alone, so that shuffled rows give the same trees.
    upto : int64 or float64 array of shape (n_rows,)
        Weight of the rows up to each, in that order; empty where every row weighs 1.
    n_draws : int
        Rows drawn, each with a chance in proportion to its weight; 0: all rows as they are.
    worth : float
        Weight of a row that is drawn once; 0 where each keeps its own.
    replaces : bool
        Whether a row that was drawn may be drawn again.
    """

    weight: NDArray[np.float64]
    order: NDArray[np.int64]
    upto: NDArray
    n_draws: int
    worth: float
    replaces: bool = True

    def counts(self, seed: int) -> NDArray[np.int32]:
        """How often each row is drawn; ones where all rows are taken."""
        counts = np.zeros(len(self.weight), dtype=np.int32)
        if self.n_draws == 0:
            counts[self.weight > 0] = 1
        elif not self.replaces:
            times = self.weight if self.worth else (self.weight > 0).astype(np.float64)
            draw_apart(np.uint64(seed), self.n_draws, self.order, times[self.order].astype(np.int64), counts)
        elif len(self.upto) == 0:
            draw_rows(np.uint64(seed), self.n_draws, self.order, counts)
        else:
            draw_weighted(np.uint64(seed), self.n_draws, self.order, self.upto, counts)
        return counts

    def weights(self, counts: NDArray[np.int32]) -> NDArray[np.float64]:
        """Weight of each row in the tree."""
        if self.n_draws == 0:
            return self.weight
        return np.asarray(counts * (self.worth or self.weight), dtype=np.float64)


def make_bag(
    codes: NDArray[np.uint8],
    target: NDArray,
    weight: NDArray[np.float64],
    bootstrap: bool,
    share: float | int | None,
) -> Bag:
    """The bag of a table.

    Parameters
    ----------
    codes : uint8 array of shape (n_columns, n_rows)
    target : array of shape (n_rows,) or (n_rows, n_outputs)
    weight : array of shape (n_rows,)
    bootstrap : bool
        Whether rows are drawn with replacement; without, `share` of them are drawn, or all taken.
    share : float, int or None
        Draws as a share of the rows, or their number; as many as there are rows by default.
    """
    weight, nothing = weight.astype(np.float64), np.empty(0, dtype=np.int64)
    if not bootstrap and share is None:
        return Bag(weight, nothing, nothing, 0, 1.0)
    columns = target.reshape(len(target), -1).T
    marks = single_bits(columns[0]).astype(np.uint64)
    for column in columns[1:]:
        marks = marks * np.uint64(0x9E3779B97F4A7C15) + single_bits(column)
    mix_rows(codes, marks)
    order = np.argsort(marks, kind="stable")
    total = float(weight.sum())
    whole = total < WHOLE and bool(np.all(weight == np.rint(weight)))
    n_rows = int(total) if whole else int(np.count_nonzero(weight))
    n_draws = n_rows if share is None else share if isinstance(share, int) else max(round(n_rows * share), 1)
    if not bootstrap:
        return Bag(weight, order, nothing, min(n_draws, n_rows), float(whole), replaces=False)
    if whole and bool(np.all(weight == 1.0)):
        return Bag(weight, order, nothing, n_draws, 1.0)
    ordered = weight[order]
    upto = np.cumsum(ordered.astype(np.int64)) if whole else np.cumsum(ordered)
    # A draw of real weights is worth their mean, so that the tree weighs what its rows do.
    return Bag(weight, order, upto, n_draws, 1.0 if whole else total / n_rows)


def single_bits(values: NDArray) -> NDArray[np.uint32]:
    """The bits of values in single precision, so that a table of either precision has the same bags."""
    with np.errstate(over="ignore"):
        return (values.astype(np.float32) + np.float32(0.0)).view(np.uint32)  # −0 and 0 are one value


@compiled
def mix_rows(codes, marks):  # type: ignore[no-untyped-def]
    """Mix the codes of each row into its mark: equal rows have equal marks, others hardly ever."""
    for j in range(codes.shape[0]):
        for i in range(codes.shape[1]):
            marks[i] = mixed(marks[i] ^ (np.uint64(codes[j, i]) << np.uint64(17)))


@compiled
def draw_rows(seed, n_draws, order, counts):  # type: ignore[no-untyped-def]
    """Draw rows of equal chance."""
    n_rows = counts.shape[0]
    state = mixed(seed)
    for _ in range(n_draws):
        state = mixed(state)
        counts[order[np.int64(uniform(state) * n_rows)]] += 1


@compiled
def draw_weighted(seed, n_draws, order, upto, counts):  # type: ignore[no-untyped-def]
    """Draw places of the total weight, and count the rows that they fall on."""
    n_rows = counts.shape[0]
    state = mixed(seed)
    total = upto[n_rows - 1]
    for _ in range(n_draws):
        state = mixed(state)
        # The same product as for rows of equal chance, so that weight k draws what k rows would.
        place = uniform(state) * total
        first, last = 0, n_rows - 1
        while first < last:
            middle = (first + last) >> 1
            if place < upto[middle]:
                last = middle
            else:
                first = middle + 1
        counts[order[first]] += 1


@compiled
def draw_apart(seed, n_draws, order, times, counts):  # type: ignore[no-untyped-def]
    """Draw without replacement from rows that occur so many times, every set of places alike."""
    state, wanted, left = mixed(seed), n_draws, times.sum()
    for place in range(order.shape[0]):
        for _ in range(times[place]):
            state = mixed(state)
            if uniform(state) * left < wanted:
                counts[order[place]] += 1
                wanted -= 1
            left -= 1
