"""Gradient boosting of trees: loss × best-first trees × value of each leaf × shrinkage.

    G_0 = argmin_γ Σ w_i ℓ(y_i, γ),    G_m = G_{m−1} + ν Σ_j b_jm 1{x ∈ R_jm},

where the regions R_jm are the leaves of a tree grown on the slopes −∂ℓ(y_i, G_{m−1}(x_i)) and curvatures, and
b_jm is the value of a leaf: a Newton step, or the minimiser of Σ w_i ℓ(y_i, G_{m−1}(x_i) + b) over its rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from assay.losses import CrossEntropy, Loss, Multinomial, Poisson
from assay.losses.residual import SidedLoss
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.parts import Totals, constant_curvature
from assay.trees.boosting.rounds import Judge, Sampling
from assay.trees.boosting.table import Grown
from assay.trees.growing.binned.leafwise import Growth, Plan, make_growth
from assay.trees.growing.binned.searching import LEAST_CURVATURE
from assay.trees.growing.columns import Columns
from assay.trees.growing.nodes import LEAF
from assay.trees.growing.statistics import unit_of_largest

FARTHEST = 10.0
"""How far a step or a line search moves the score of a leaf: without curvature it would not end."""

UNDECIDED = 4.0
"""Rows of equal chances whose curvature each side of a split of probabilities has at least."""

STEPS = 50
HALVINGS = 30


class Settings(NamedTuple):
    """How trees are boosted.

    `line_search` says whether the values of leaves minimise the loss ("leaf") or are one Newton step towards
    it ("newton"). `first` rounds were there before. `bounded` says whether constraints bound the values of
    leaves.
    """

    loss: Loss
    n_rounds: int
    learning_rate: float
    l2: float
    line_search: str
    sampling: Sampling
    seed: int
    first: int = 0
    bounded: bool = True


class Boosted(NamedTuple):
    """Result of `boost`: trees and values of leaves, round by round, and what was measured on the way.

    `risk` is the mean loss of the training rows before each round and after the last, `held_out` that of the
    rows held out; `units` the unit of slopes of each tree; `halvings` how often a round was halved.
    """

    trees: list[Grown]
    values: list[NDArray[np.float64]]
    risk: list[float]
    held_out: list[float]
    units: list[float]
    stopped: bool
    halvings: int


class Units:
    """Units of the statistics of each output: powers of two that the largest of them fits."""

    def __init__(self, table: Any, loss: Loss, weight_unit: float, loss_scale: float, n_outputs: int) -> None:
        self._table, self._loss, self._constant = table, loss, constant_curvature(loss)
        self.units = np.tile([weight_unit, 1.0, 1.0], (n_outputs, 1))
        if self._constant >= 0:
            self.units[:, 2] = self._constant * (1.0 if table.whole else weight_unit)
        self.loss_scale = loss_scale
        self._scales = self._invert()

    def _invert(self) -> NDArray[np.float64]:
        """One over the units, that of the loss last."""
        return np.column_stack([1.0 / self.units, np.full(len(self.units), self.loss_scale)])

    def begin_round(self) -> Totals:
        """Statistics of all rows, once more where another unit fits the largest.

        Units depend on the scores alone, not on the rounds before: a fit may be interrupted anywhere.
        """
        totals: Totals = self._table.begin_round(self._loss, self._scales)
        if self._refit(totals):
            self._scales = self._invert()
            totals = self._table.begin_round(self._loss, self._scales)
        return totals

    def _refit(self, totals: Totals) -> bool:
        changed = False
        for k in range(len(self.units)):
            for place, top in ((1, totals.slope[k]), (2, totals.curvature[k])):
                if place == 2 and self._constant >= 0:
                    continue
                unit = unit_of_largest(float(top))
                if top > 0 and unit != self.units[k, place]:
                    self.units[k, place] = unit
                    changed = True
        return changed


def boost(
    table: Any,
    settings: Settings,
    plan: Plan,
    units: Units,
    judge: Judge | None,
    watch: Callable[[int], bool] = lambda n_rounds: False,
) -> Boosted:
    """Add rounds of trees until their number, the held-out loss or a callback ends it."""
    growth = make_growth(plan, node_capacity(plan, table.n_rows, weighted=table.weighted))
    table.prepare(plan, growth)
    n_outputs = len(units.units)
    done = Boosted([], [], [], [] if judge is None else judge.seen, [], stopped=False, halvings=0)
    totals = units.begin_round()
    losses = [totals.loss]
    stopped, halvings = judge is not None and judge.settled(done.held_out), 0
    for number in range(settings.n_rounds if stopped else settings.first, settings.n_rounds):
        add = partial(add_tree, settings=settings, units=units, number=number)
        trees, values = (list(kind) for kind in zip(*table.each_output(add, n_outputs), strict=True))
        done.units.extend(units.units[:, 1].tolist())
        totals = units.begin_round()
        tried = 0
        while settings.sampling.rows >= 1.0 and totals.loss > losses[-1] + table.n_rows and tried < HALVINGS:
            # A Newton step went too far: half of it, in all leaves.
            halvings, tried = halvings + 1, tried + 1
            for k in range(n_outputs):
                values[k] = 0.5 * values[k]
                table.walk(k, trees[k], -values[k])
            totals = units.begin_round()
        losses.append(totals.loss)
        done.trees.extend(trees)
        done.values.extend(values)
        if judge is not None:
            mean = losses[-1] / units.loss_scale / table.total_weight
            held = mean if judge.score is None else judge.score(trees, values)
            done.held_out.append(held)
            stopped = judge.settled(done.held_out)
        if watch(number + 1) or stopped:
            break
    table.finish()
    return done._replace(
        risk=[loss / units.loss_scale for loss in losses], stopped=stopped, halvings=halvings
    )


def add_tree(
    table: Any, plan: Plan, output: int, *, settings: Settings, units: Units, number: int
) -> tuple[Grown, NDArray[np.float64]]:
    """Grow the tree of one output and move its scores; the statistics of the other outputs stay."""
    sampling, state = settings.sampling, state_of(settings.seed, number, output, len(units.units))
    plan.unit[:] = units.units[output]
    if sampling.columns < 1.0:
        plan.drawn[:] = sampling.draw_columns(len(plan.drawn), state)
    tree = table.grow(output, sampling.rows, state, state >> 1)
    value = settings.learning_rate * leaf_values(table, tree, settings, output)
    table.move(output, tree, value, sampling.rows)
    return tree, value


def state_of(seed: int, number: int, output: int, n_outputs: int) -> int:
    """What the draws of a tree begin with."""
    return (seed + 0x632BE59BD9B4E019 * (number * n_outputs + output + 1)) & (2**64 - 1)


def node_capacity(plan: Plan, n_rows: int, *, weighted: bool) -> int:
    """Most nodes that a tree can have."""
    leaves = n_rows if weighted else n_rows // max(1, min(plan.limits.min_leaf, n_rows)) + 1
    if plan.limits.max_leaves > 0:
        leaves = min(leaves, plan.limits.max_leaves)
    if plan.limits.max_depth < 30:
        leaves = min(leaves, 2**plan.limits.max_depth)
    return 2 * max(leaves, 1) + 1


def leaf_values(table: Any, tree: Grown, settings: Settings, output: int) -> NDArray[np.float64]:
    """The value of each leaf before shrinkage, within the bounds that constraints leave."""
    leaves, loss = tree.leaves, settings.loss
    if searches_residuals(loss):
        values = table.leaf_minimisers(loss, output, tree)
    else:
        _, slope, size = tree.sums[leaves].T
        size = size + settings.l2
        values = np.divide(slope, size, out=np.zeros(len(leaves)), where=size > 0)
        values = within(values, -farthest(loss), farthest(loss))
        if settings.line_search == "leaf" and loss.strong_convexity == 0 and loss.n_scores == 1:
            values = newton_steps(table, tree, settings, output, values)
    if not settings.bounded:
        return values
    bounds = (within(bound[leaves], -farthest(loss), farthest(loss)) for bound in (tree.low, tree.high))
    return within(values, *bounds)


def within(values: NDArray, low: Any, high: Any) -> NDArray[np.float64]:
    """Values no lower than one bound and no higher than the other (`np.clip`, without its preparations)."""
    inside: NDArray[np.float64] = np.minimum(np.maximum(values, low), high)
    return inside


def farthest(loss: Loss) -> float:
    """How far one step moves a score: without a curvature that is known everywhere a parabola misleads."""
    return math.inf if constant_curvature(loss) >= 0 else FARTHEST


def least_curvature(loss: Loss) -> float:
    """Curvature of each side of a split at least: for probabilities that of a few undecided rows.

    Sides of rows whose class is all but certain have next to none, and a Newton step there is a guess that
    later rows pay for. At equal chances of K classes a row has 1/K (see `class_curvature`), of two a quarter.
    """
    if isinstance(loss, Multinomial):
        return UNDECIDED / loss.n_scores
    return UNDECIDED / 4 if isinstance(loss, CrossEntropy) else LEAST_CURVATURE


def noise_per_curvature(loss: Loss) -> float:
    """Variance of the slope of a row per unit of its curvature, 0 for losses that do not tell.

    Of a likelihood both are Fisher's information; that of K classes, whose curvature is K/(K − 1) of it
    (see `class_curvature`), has the rest.
    """
    if isinstance(loss, Multinomial):
        return (loss.n_scores - 1) / loss.n_scores
    return 1.0 if isinstance(loss, (CrossEntropy, Poisson)) else 0.0


def searches_residuals(loss: Loss) -> bool:
    """Whether the best constant of a leaf is found from its residuals alone."""
    return isinstance(loss, SidedLoss) and loss.strong_convexity == 0 and not loss.row_form.labelled


def newton_steps(
    table: Any, tree: Grown, settings: Settings, output: int, values: NDArray
) -> NDArray[np.float64]:
    """Minimise the loss of each leaf, from a Newton step on; no score moves farther than `FARTHEST`."""
    values, unit = np.clip(values, -FARTHEST, FARTHEST), tree.units[tree.leaves, 1:]
    for _ in range(STEPS):
        sums = table.leaf_sums(settings.loss, output, tree, values, 1.0 / unit) * unit
        slope, size = sums[:, 0] - settings.l2 * values, sums[:, 1] + settings.l2
        step = np.divide(slope, size, out=np.sign(slope), where=size > 0)
        moved = np.clip(values + np.clip(step, -1.0, 1.0), -FARTHEST, FARTHEST)
        settled_now = np.abs(moved - values) <= 1e-9 * (1 + np.abs(values))
        values = moved
        if settled_now.all():
            break
    return values


def loss_scale_of(largest: float, n_rows: int) -> float:
    """One over the unit of losses, such that the sum of losses up to the largest takes 60 bits at most."""
    if not 0 < largest < math.inf:
        largest = 1.0
    return math.ldexp(1.0, min(58 - math.frexp(largest)[1] - math.ceil(math.log2(n_rows + 1)), 1000))


FAR = 36.0
"""Score that stands for an infinite one: its probability is that of a float next to 0 or 1."""


def best_constants(loss: Loss, target: NDArray, weight: NDArray | None) -> NDArray[np.float64]:
    """The constant of least loss for each score; a large number where a class is alone and it is infinite."""
    best = np.atleast_1d(np.asarray(loss.constant_minimiser(target, weight), dtype=np.float64))
    lacking = loss.n_scores - len(best)  # the last classes are not among the rows
    return np.nan_to_num(np.append(best, np.full(lacking, -np.inf)), posinf=FAR, neginf=-FAR)


def assembled(boosted: Boosted, columns: Columns, baseline: NDArray) -> BoostedTrees:
    """All trees as flat arrays, with thresholds in place of codes."""
    trees = boosted.trees
    sizes = [len(tree.feature) for tree in trees]
    n_bits = np.cumsum([0, *(len(tree.bits) for tree in trees)])
    joined = {
        name: np.concatenate([getattr(tree, name) for tree in trees])
        for name in ("feature", "cut", "children_left", "children_right", "missing_go_to_left", "gain")
    }
    levels = [
        np.where(tree.levels >= 0, tree.levels + first, -1)
        for tree, first in zip(trees, n_bits, strict=False)
    ]
    value = np.zeros(sum(sizes))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    for place, tree in enumerate(trees):
        value[starts[place] + tree.leaves] = boosted.values[place]
    feature, cut = joined["feature"], joined["cut"]
    threshold = np.full(len(feature), np.nan)
    ordered = (feature != LEAF) & ~columns.categorical[feature]
    begin, last = columns.offsets[feature[ordered]], columns.offsets[feature[ordered] + 1] - 1
    place_of_cut = begin + cut[ordered]
    threshold[ordered] = np.where(place_of_cut < last, columns.cuts[np.minimum(place_of_cut, last)], np.inf)
    return BoostedTrees(
        starts=starts,
        threshold=threshold,
        levels=np.concatenate(levels).astype(np.int32),
        bits=np.concatenate([tree.bits for tree in trees]),
        value=value,
        weight=np.concatenate([tree.sums[:, 0] for tree in trees]),
        slope=np.concatenate([tree.sums[:, 1] for tree in trees]),
        curvature=np.concatenate([tree.sums[:, 2] for tree in trees]),
        baseline=baseline,
        n_codes=columns.n_codes,
        **joined,
    )


def joined(first: BoostedTrees, second: BoostedTrees) -> BoostedTrees:
    """The trees of one ensemble, then those of another with the same constant."""
    shifted = np.where(second.levels >= 0, second.levels + len(first.bits), -1).astype(np.int32)
    own = {"levels": shifted, "starts": second.starts + first.starts[-1]}
    both = {}
    for field in fields(BoostedTrees):
        one, other = getattr(first, field.name), own.get(field.name, getattr(second, field.name))
        skipped = 1 if field.name == "starts" else 0
        both[field.name] = (
            one if field.name in ("baseline", "n_codes") else np.concatenate([one, other[skipped:]])
        )
    return BoostedTrees(**both)


def side_by_side(runs: list[tuple[Boosted, NDArray]]) -> tuple[Boosted, NDArray]:
    """Runs of one output each as outputs of one ensemble; shorter ones end with trees of one leaf of 0."""
    most = max(len(run.trees) for run, _ in runs)
    trees, values = [], []
    for number in range(most):
        for run, _ in runs:
            there = number < len(run.trees)
            trees.append(run.trees[number] if there else _stub(run.trees[0]))
            values.append(run.values[number] if there else np.zeros(1))
    risks = [run.risk + [run.risk[-1]] * (most + 1 - len(run.risk)) for run, _ in runs]
    helds = [run.held_out for run, _ in runs]
    held = np.mean([h + [h[-1]] * (most - len(h)) for h in helds], axis=0).tolist() if helds[0] else []
    return (
        Boosted(
            trees,
            values,
            np.mean(risks, axis=0).tolist(),
            held,
            [unit for run, _ in runs for unit in run.units],
            stopped=all(run.stopped for run, _ in runs),
            halvings=sum(run.halvings for run, _ in runs),
        ),
        np.concatenate([baseline for _, baseline in runs]),
    )


def _stub(tree: Grown) -> Grown:
    """A tree of one leaf."""
    parts: Any = (values[:1].copy() for values in tree)
    one = Grown(*parts)
    one.feature[0] = one.children_left[0] = one.children_right[0] = one.cut[0] = one.levels[0] = -1
    one.gain[0] = 0.0
    one.missing_go_to_left[0] = False
    return one._replace(bits=tree.bits[:0], leaves=np.zeros(1, dtype=np.int64))


__all__ = [
    "Boosted",
    "Growth",
    "Settings",
    "Units",
    "assembled",
    "boost",
    "joined",
    "loss_scale_of",
    "side_by_side",
]
