"""Rows held out of boosting, and what is measured on them after each round."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import check_scoring

from assay.losses import Loss
from assay.rows import Rows
from assay.trees.boosting.boost import Boosted, Stopping, assembled, joined, loss_scale_of
from assay.trees.boosting.ensemble import BoostedTrees
from assay.trees.boosting.gathering import CodedRows, code_rows
from assay.trees.boosting.table import Grown, LocalTable

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


def divided(n_rows: int, n_held: int, seed: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows to train on and rows held out, drawn by a seed: both in order."""
    order = np.random.default_rng(seed).permutation(n_rows)
    return np.sort(order[n_held:]), np.sort(order[:n_held])


def divide_rows(
    model: Any, data: Rows, weight: NDArray | None, coded: CodedRows, given: Any
) -> tuple[CodedRows, HeldOut | None]:
    """Training rows, and rows held out where early stopping is on; `given` are those handed to the fit."""
    model.n_held_out_ = 0
    if not model.do_early_stopping_:
        return coded, None
    by_scorer = model.scoring not in (None, "loss")
    if given is not None:
        X, target, weight = given
        data = model._open_new_rows(X)
        held_out = code_rows(data, target, weight, model.columns_)
        every = np.arange(len(held_out.target))
        return coded, HeldOut(held_out, _rows_of(data, weight, every) if by_scorer else None)
    n_rows = len(coded.target)
    model.n_held_out_ = n_held_out(n_rows, model.validation_fraction)
    if model.n_held_out_ == 0 and not by_scorer:
        return coded, HeldOut(None, None)
    train, held = divided(n_rows, model.n_held_out_, model.seed_)
    if model.n_held_out_ == 0:
        _, held = divided(n_rows, min(n_rows, MOST_SCORED), model.seed_)
    X = _rows_of(data, weight, held) if by_scorer else None
    return coded if len(train) == n_rows else coded.take(train), HeldOut(coded.take(held), X)


def _rows_of(data: Rows, weight: NDArray | None, places: NDArray) -> Any:
    """Some of the rows that weigh something, as an array."""
    return data.take(places if weight is None else np.flatnonzero(weight > 0)[places])


def stopping_of(
    model: Any, loss: Loss, baseline: NDArray, held: HeldOut, total: float, before: Earlier | None
) -> Stopping:
    """When the rounds of one loss end."""
    patience, tol = int(model.n_iter_no_change), float(model.tol)
    seen = [] if before is None else list(before.held_out)
    if held.coded is None:
        return Stopping(patience, tol, None, seen)
    if model.scoring not in (None, "loss"):
        return Stopping(patience, tol, _scorer(model, held, baseline, before), seen)
    coded = held.coded
    table = LocalTable(coded.codes, coded.target, coded.weight, baseline, model.columns_.n_codes)
    scores = table.scores[0] if len(baseline) == 1 else table.scores.T
    scale = loss_scale_of(loss.value(coded.target, scores.copy()), coded.weight) / 64
    if before is not None:
        table.resume(before.trees)
    weight = float(len(coded.target)) if coded.weight is None else float(coded.weight.sum())

    def score(trees: list[Grown], values: list[NDArray]) -> float:
        for k, (tree, value) in enumerate(zip(trees, values, strict=True)):
            table.walk(k, tree, value)
        return table.loss_sum(loss, scale) / scale / weight

    return Stopping(patience, tol, score, seen)


def _scorer(
    model: Any, held: HeldOut, baseline: NDArray, before: Earlier | None
) -> Callable[[list[Grown], list[NDArray]], float]:
    """Minus the score of the rows by a scorer of scikit-learn."""
    assert held.coded is not None
    scorer, judged = check_scoring(model, model.scoring), copy.copy(model)
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
