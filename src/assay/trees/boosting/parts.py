"""A part of the table that trees are boosted on: codes, targets, scores, and what a round does with them.

A part is a range of rows that one thread walks, or a partition of a cluster. What parts give back are integer
sums and maxima, so that neither their number nor their order changes a bit of the trees.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import Loss
from assay.losses.residual import SidedLoss
from assay.trees.boosting.loops import (
    gather_residuals,
    move_scores,
    round_rows,
    round_terms,
    sum_leaves,
    sum_losses,
)
from assay.trees.growing.binned.histograms import Shard, fill_histogram, make_shard, sum_rows
from assay.trees.growing.binned.team import draw_rows
from assay.trees.growing.statistics import SMALL

BLOCK = 8192
"""Rows whose slopes and curvatures are computed at once: they stay in the second cache."""

NEAR_ROWS = 1024
"""The same inside one compiled call: they stay in the first cache."""

LEAF_BLOCK = 2**16
"""Rows of a tree that are looked at once: they are far apart in memory."""

NO_WEIGHT = np.empty(0)


class Totals(NamedTuple):
    """What a round begins with: the largest slope and curvature of each output, and the loss in units."""

    slope: NDArray[np.float64]
    curvature: NDArray[np.float64]
    loss: int

    def __add__(self, other: Any) -> Totals:
        return Totals(
            np.maximum(self.slope, other.slope),
            np.maximum(self.curvature, other.curvature),
            self.loss + other.loss,
        )


def constant_curvature(loss: Loss) -> float:
    """Curvature that is taken for all rows; −1 where each row has its own.

    Losses in pieces have none where they are linear: that of the steepest parabola above them, which is the
    right one for squares, or 1 for a loss with corners.
    """
    if not isinstance(loss, SidedLoss):
        return 1.0 if loss.cornered else -1.0
    return 1.0 if loss.cornered else float(loss.smoothness)


def class_curvature(chances: NDArray, k: int) -> NDArray:
    """Curvature in one of K scores, K/(K − 1) p(1 − p): the others fall as it rises (Friedman 2001, §4.6)."""
    n_classes, chance = chances.shape[1], chances[:, k]
    return n_classes / (n_classes - 1) * chance * (1 - chance)


def blind_below(loss: Loss | None) -> tuple[int, int]:
    """How narrow the slopes and how small the curvatures of a node become before its units are refined.

    Slopes of losses with corners have two values, those of classes lie between −1 and 1: both need no other
    units, nor does a curvature that is the same for all rows.
    """
    if loss is None or loss.cornered or loss.n_scores > 1:
        return 0, 0
    return SMALL, 0 if constant_curvature(loss) >= 0 else SMALL


class Part:
    """A range of rows of a fit.

    Parameters
    ----------
    codes : uint8 array of shape (n_rows, n_columns)
    target : float64 array of shape (n_rows,)
    weight : float64 array of shape (n_rows,), optional
    start : int
        Number of the first row in the table.
    scores : float64 array of shape (n_outputs, n_rows)
        Moved by the trees as they come.
    statistics : int32 array of shape (n_outputs, n_rows, 2 or 3), optional
        Overwritten; see `Shard`.
    whole : bool
        Whether the weights are whole numbers of which a unit is 1.
    """

    def __init__(
        self,
        codes: NDArray,
        target: NDArray,
        weight: NDArray | None,
        start: int,
        scores: NDArray,
        statistics: NDArray[np.int32] | None = None,
        *,
        whole: bool = False,
    ) -> None:
        self.codes, self.target, self.weight, self.start = codes, target, weight, start
        self.scores, self.whole = scores, whole
        width = 2 if weight is None else 3
        if statistics is None:
            statistics = np.empty((len(scores), len(codes), width), dtype=np.int32)
        self.statistics = statistics
        self.shard: Shard | None = None
        self._loss: Loss | None = None
        self._raw: tuple[NDArray, NDArray] | None = None

    def prepare(self, stride: int, capacity: int) -> None:
        """Make room for trees of so many nodes."""
        self.shard = make_shard(self.codes, self.statistics[0], stride, capacity, whole=self.whole)

    def _terms(self, loss: Loss, rows: slice) -> Any:
        scores = self.scores[:, rows]
        if len(scores) > 1:
            return loss.terms(self.target[rows], scores.T.copy())
        return loss.terms(self.target[rows], scores[0].copy())

    def begin_round(self, loss: Loss, scales: NDArray) -> Totals:
        """Write the statistics of all rows in units, one over which are `scales` (one row per output)."""
        self._loss = loss
        constant = constant_curvature(loss)
        n_outputs, n_rows = self.scores.shape
        tops, bends, total = np.zeros(n_outputs), np.zeros(n_outputs), 0
        weight = NO_WEIGHT if self.weight is None else self.weight
        if n_outputs == 1 and loss.row_form is not None:
            how = constant, self.whole, self.statistics[0], np.empty((3, NEAR_ROWS))
            totals = round_rows(loss.row_form, self.target, self.scores[0], weight, scales[0], *how)
            return Totals(np.array(totals[:1]), np.array(totals[1:2]), int(totals[2]))
        for start in range(0, n_rows, BLOCK):
            rows = slice(start, min(start + BLOCK, n_rows))
            terms = self._terms(loss, rows)
            value = np.ascontiguousarray(terms.value, dtype=np.float64)
            share = weight[rows]
            for k in range(n_outputs):
                slope, curvature = terms.slope, terms.curvature
                if n_outputs > 1:
                    slope, curvature = slope[:, k].copy(), class_curvature(curvature, k)
                top, bend, lost = round_terms(
                    value, slope, curvature, share, scales[k], constant, self.whole, self.statistics[k, rows]
                )
                tops[k], bends[k] = max(tops[k], top), max(bends[k], bend)
                total += lost if k == 0 else 0
        return Totals(tops, bends, int(total))

    def begin_tree(self, output: int, share: float, state: int, stride: int, sums: NDArray) -> None:
        """List the rows of a tree, all or a drawn share, and add them to the histogram of its root."""
        shard = self.turn_to(output)
        shard.bounds[0] = (0, draw_rows(shard.rows, self.start, share, np.uint64(state)))
        fill_histogram(shard, 0, stride, sums)

    def turn_to(self, output: int) -> Shard:
        """The shard with the statistics of an output."""
        assert self.shard is not None
        narrow, curved = blind_below(self._loss)
        own = self.statistics[output]
        self.shard = self.shard._replace(statistics=own, narrow=narrow, curved=curved)
        return self.shard

    def measure_node(self, output: int, node: int, center: float) -> tuple[float, float]:
        """The largest slope about a centre and the largest curvature of a node; both are kept for a while."""
        assert self.shard is not None
        assert self._loss is not None
        rows = self.shard.rows[slice(*self.shard.bounds[node])]
        terms = self._loss.terms(self.target[rows], self.scores[output][rows])
        constant = constant_curvature(self._loss)
        bend = np.full(len(rows), constant) if constant >= 0 else np.maximum(terms.curvature, 0.0)
        factor = self.weight[rows] if self.weight is not None and not self.whole else 1.0
        self._raw = ((-terms.slope - center * bend) * factor, bend * factor)
        return tuple(float(np.abs(kind).max(initial=0.0)) for kind in self._raw)  # type: ignore[return-value]

    def refine_node(self, node: int, unit: NDArray, sums: NDArray, histogram: NDArray | None) -> None:
        """Write the measured statistics of a node in finer units; add its rows to sums and a histogram."""
        assert self.shard is not None
        assert self._raw is not None
        start, end = self.shard.bounds[node]
        rows = self.shard.rows[start:end]
        for place in (1, 2):
            self.shard.statistics[rows, place - 1] = np.rint(self._raw[place - 1] / unit[place])
        self._raw = None
        sum_rows(self.shard, node, sums)
        if histogram is not None:
            fill_histogram(self.shard, node, len(histogram) // self.codes.shape[1], histogram)

    def move(self, output: int, leaves: NDArray, values: NDArray) -> None:
        """Add the values of its leaves to the scores of the rows of the last tree."""
        assert self.shard is not None
        move_scores(self.shard.rows, self.shard.bounds, leaves, values, self.scores[output])

    def left_out(self) -> NDArray[np.int32]:
        """Rows that the last tree did not draw."""
        assert self.shard is not None
        outside = np.ones(len(self.codes), dtype=bool)
        outside[self.shard.rows[: self.shard.bounds[0, 1]]] = False
        return np.flatnonzero(outside).astype(np.int32)

    def leaf_sums(
        self, loss: Loss, output: int, leaves: NDArray, values: NDArray, scales: NDArray
    ) -> NDArray[np.int64]:
        """Negative slopes and curvatures of each leaf, in units of its own, were its value added."""
        assert self.shard is not None
        order = np.argsort(self.shard.bounds[leaves, 0], kind="stable")
        begin, end = self.shard.bounds[leaves[order]].T
        count = int(self.shard.bounds[0, 1])
        sums = np.zeros((len(leaves), 2), dtype=np.int64)
        for start in range(0, count, LEAF_BLOCK):
            stop = min(start + LEAF_BLOCK, count)
            leaf = np.repeat(order, np.clip(end, start, stop) - np.clip(begin, start, stop))
            rows = self.shard.rows[start:stop]
            terms = loss.terms(self.target[rows], self.scores[output][rows] + values[leaf])
            weight = NO_WEIGHT if self.weight is None else self.weight[rows]
            sum_leaves(terms.slope, terms.curvature, weight, scales, self.whole, leaf, sums)
        return sums

    def leaf_residuals(self, output: int, leaf: int) -> tuple[NDArray, NDArray | None]:
        """Target less score of the rows of a leaf, and their weights."""
        assert self.shard is not None
        start, end = self.shard.bounds[leaf]
        rows = self.shard.rows[start:end]
        weight = None if self.weight is None else self.weight[rows]
        return self.target[rows] - self.scores[output][rows], weight

    def leaf_sizes(self, leaves: NDArray) -> NDArray[np.int64]:
        """Rows of each of several leaves."""
        assert self.shard is not None
        return self.shard.bounds[leaves, 1] - self.shard.bounds[leaves, 0]

    def write_residuals(self, output: int, leaves: NDArray, starts: NDArray, out: NDArray) -> None:
        """Write the residuals of several leaves, each from its start on."""
        assert self.shard is not None
        scores, shard = self.scores[output], self.shard
        gather_residuals(shard.rows, shard.bounds, leaves, self.target, scores, starts, out)

    def largest_loss(self, loss: Loss) -> float:
        """Largest loss of a row, times its weight."""
        largest = 0.0
        for start in range(0, len(self.codes), BLOCK):
            rows = slice(start, start + BLOCK)
            sizes = np.abs(self._terms(loss, rows).value)
            sizes = sizes if self.weight is None else sizes * self.weight[rows]
            largest = max(largest, float(np.max(sizes, initial=0.0)))
        return largest

    def loss_sum(self, loss: Loss, scale: float) -> int:
        """Loss of all rows in units."""
        total, weight = 0, NO_WEIGHT if self.weight is None else self.weight
        for start in range(0, len(self.codes), BLOCK):
            rows = slice(start, start + BLOCK)
            value = np.ascontiguousarray(self._terms(loss, rows).value, dtype=np.float64)
            total += int(sum_losses(value, weight[rows], scale))
        return total
