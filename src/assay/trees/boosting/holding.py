"""Rows held out of boosting, and what is measured on them after each round."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from assay.losses import Loss
from assay.rows import MemoryRows
from assay.trees.boosting.boost import Boosted, assembled, joined, loss_scale_of
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import CodedRows, Opened, train_rows
from assay.trees.boosting.rounds import Judge, Stopping
from assay.trees.boosting.table import Grown

MOST_SCORED = 10_000
"""Training rows that a scorer sees where none are held out, as in scikit-learn."""


class HeldOut(NamedTuple):
    """Rows that rounds are judged by: their codes, and the rows themselves where a scorer asks for them.

    `coded` is None where the loss of the training rows decides.
    """

    coded: CodedRows | None
    X: Any


class Earlier(NamedTuple):
    """What a fit that goes on has behind it.

    `risk` is the mean loss before each round and after the last, `held_out` that of the rows held out.
    """

    trees: BoostedTrees
    risk: list[float]
    held_out: list[float]
    halvings: int

    def run(self, outputs: range) -> Earlier:
        """What one of several runs side by side has behind it; of their losses a mean alone is known."""
        if len(outputs) == self.trees.n_outputs:
            return self
        return self._replace(trees=self.trees.of_outputs(outputs), held_out=[])


def n_held_out(n_rows: int, share: float | None) -> int:
    """How many rows are held out; at least one stays."""
    return 0 if share is None else min(max(1, round(share * n_rows)), n_rows - 1)


def drawn(n_rows: int, n_held: int, seed: int) -> NDArray[np.bool_]:
    """Which rows are held out, drawn by a seed."""
    held = np.zeros(n_rows, dtype=np.bool_)
    held[np.random.default_rng(seed).permutation(n_rows)[:n_held]] = True
    return held


def divided(n_rows: int, n_held: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows held out: both in order."""
    held = drawn(n_rows, n_held, seed)
    return np.flatnonzero(~held), np.flatnonzero(held)


def divide_rows(
    model: Any, data: Opened, weight: NDArray | None, coded: CodedRows, given: Any
) -> tuple[CodedRows, HeldOut | None]:
    """Training rows, and rows held out where early stopping is on; `given` are those handed to the fit."""
    model.n_held_out_ = 0
    if not model.do_early_stopping_:
        return coded, None
    stopping = model._stopping
    if given is not None:
        other, target, weight = given
        every = np.arange(len(target) if weight is None else np.count_nonzero(weight))
        X = _rows_of(other, weight, every) if stopping.by_scorer else None
        return coded, HeldOut(train_rows(other, target, weight, model.columns_), X)
    n_rows = len(coded.target)
    model.n_held_out_ = n_held_out(n_rows, stopping.validation_fraction)
    if model.n_held_out_ == 0 and not stopping.by_scorer:
        return coded, HeldOut(None, None)
    held = drawn(n_rows, model.n_held_out_ or min(n_rows, MOST_SCORED), model.seed_)
    X = _rows_of(data, weight, np.flatnonzero(held)) if stopping.by_scorer else None
    if model.n_held_out_ == 0:
        return coded, HeldOut(coded.take(np.flatnonzero(held)), X)
    train, rest = coded.divide(held)  # writes to the weights of a survey
    return train, HeldOut(rest, X)


def _rows_of(data: Opened, weight: NDArray | None, places: NDArray) -> Any:
    """Some of the rows that weigh something, as an array."""
    places = places if weight is None else np.flatnonzero(weight > 0)[places]
    return data.take(places) if isinstance(data, MemoryRows) else data.data.take(places)


def judge_of(
    model: Any,
    loss: Loss,
    baseline: NDArray,
    held: HeldOut,
    start: float,
    before: Earlier | None,
) -> Judge:
    """When the rounds of one loss end; falls of it are measured against that of the constant, `start`."""
    stopping: Stopping = model._stopping
    patience, tol = int(stopping.n_iter_no_change), float(stopping.tol)
    seen = [] if before is None else list(before.held_out)
    if held.coded is None:
        return Judge(patience, tol * start, None, seen)
    if stopping.by_scorer:
        return Judge(patience, tol, _scorer(model, held, baseline, before), seen)
    coded = held.coded
    table = coded.table(baseline, model.columns_.n_codes)
    weight = float(len(coded.target)) if coded.weight is None else float(coded.weight.sum())

    def score(trees: list[Grown], values: list[NDArray]) -> float:
        for k, (tree, value) in enumerate(zip(trees, values, strict=True)):
            table.walk(k, tree, value)
        # Losses of rows that no tree has seen can grow: each round is summed in a unit of its own.
        scale = loss_scale_of(table.largest_loss(loss), len(coded.target))
        return float(table.loss_sum(loss, scale) / scale / weight)

    tol *= abs(score([], []))
    if before is not None:
        table.resume(before.trees)
    return Judge(patience, tol, score, seen)


def _scorer(
    model: Any, held: HeldOut, baseline: NDArray, before: Earlier | None
) -> Callable[[list[Grown], list[NDArray]], float]:
    """Minus the score of the rows by a scorer of scikit-learn."""
    assert held.coded is not None
    scorer, judged = check_scoring(model, model._stopping.scoring), copy.copy(model)
    vars(judged).pop("feature_names_in_", None)  # rows taken from the table have lost the names
    target: Any = model._labels(held.coded.target)
    options = {} if held.coded.weight is None else {"sample_weight": held.coded.weight}
    done = Boosted([], [], [], [], [], stopped=False, halvings=0)

    def score(trees: list[Grown], values: list[NDArray]) -> float:
        done.trees.extend(trees)
        done.values.extend(values)
        new = assembled(done, model.columns_, baseline)
        judged.trees_ = new if before is None else joined(before.trees, new)
        return -float(scorer(judged, held.X, target, **options))

    return score
