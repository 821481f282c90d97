"""What boosted trees prove of themselves, in every variant, and what damage the proofs see."""

from __future__ import annotations

import math

import numpy as np
import pytest

from assay.losses import Savage
from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor, Sampling
from assay.trees.boosting import boost
from assay.trees.boosting import table as tables
from assay.trees.boosting.proofs import splits
from boosted import claim, damaged
from damage import holds

OPTIONS = {
    "plain": {},
    "drawn rows": {"subsample": 0.6, "random_state": 0},
    "drawn columns": {"max_features": 0.5, "random_state": 0},
    "columns drawn for each tree": {"subsample": Sampling(columns=0.75), "random_state": 0},
    "held out": {"early_stopping": True, "random_state": 0},
    "monotone": {"monotonic_cst": [1, -1, 0, 0]},
    "all": {
        "monotonic_cst": [1, -1, 0, 0],
        "early_stopping": True,
        "subsample": 0.7,
        "l2_regularization": 1.0,
        "random_state": 0,
        "interaction_cst": [[0, 1], [2, 3]],
    },
}


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((300, 4))
    X[:, 3] = rng.integers(0, 12, 300)
    X[rng.random(300) < 0.1, 2] = np.nan
    return X, X[:, 0] - X[:, 1] ** 3 + 3 * np.sin(X[:, 3]) + rng.standard_normal(300)


def fitted(rows, options, **more):
    X, y = rows
    return HistGradientBoostingRegressor(
        max_iter=4, max_leaf_nodes=8, categorical_features=[3], min_samples_leaf=5, **options, **more
    ).fit(X, y)


@pytest.mark.parametrize("name", OPTIONS)
def test_damage_to_whatever_is_read_is_seen_in_every_variant(rows, name):
    model = fitted(rows, OPTIONS[name])
    model.certify(*rows).require()
    for what, other in damaged(model):
        assert not holds(other, *rows), f"nothing sees a damaged {what}"


@pytest.mark.parametrize("name", OPTIONS)
def test_the_trace_and_the_rows_drawn_are_proved(rows, name):
    model = fitted(rows, OPTIONS[name])
    for attribute in ("train_score_", "validation_score_"):
        values = getattr(model, attribute)
        if len(values):
            values[-1] *= 1.001
            assert not model.certify(*rows).holds
            values[-1] /= 1.001
    assert model.certify(*rows).holds
    if model.subsample != 1.0 or model.n_held_out_ > 0:
        model.seed_ += 1
        assert not model.certify(*rows).holds


@pytest.mark.parametrize("loss", ["squared_error", "poisson"])
def test_fixed_point_is_harmless_unless_the_scale_is_wrong(rows, loss, monkeypatch):
    X, y = rows[0], np.exp(0.3 * rows[1])
    good = fitted((X, y), {}, loss=loss)
    assert 0 < claim(good, (X, y), "Fixed point").value <= 1
    right = boost.unit_of_largest
    monkeypatch.setattr(boost, "unit_of_largest", lambda largest: 2.0**9 * right(largest))
    coarse = fitted((X, y), {}, loss=loss)
    assert not claim(coarse, (X, y), "Fixed point").holds


def test_a_worse_split_is_seen(rows, monkeypatch):
    """The gain of each split is right, but one column was never looked at."""
    X, y = rows
    model = fitted(rows, {})
    blind = HistGradientBoostingRegressor(
        max_iter=1, max_leaf_nodes=8, min_samples_leaf=5, interaction_cst=[[1], [2], [3], [0]]
    ).fit(X, y)
    assert blind.certify(X, y).holds
    blind.interaction_cst = None  # the trees of single columns miss gains where all may meet
    assert [one.claim[:19] for one in blind.certify(X, y) if not one.holds] == ["No admissible split"]
    assert claim(model, rows, "No admissible").value == 0.0


def test_the_order_of_division_is_proved(rows):
    model = fitted(rows, {})
    model.max_leaf_nodes = 9  # one leaf more could have been divided
    assert not claim(model, rows, "No admissible").holds


def test_leaves_at_the_bounds_of_constraints_are_optimal_within_them(rows):
    """Some leaves are clipped; without the bounds they would not be stationary."""
    rows = (rows[0], rows[1] + 3 * rows[0][:, 0] ** 2)
    model = fitted(rows, OPTIONS["monotone"])
    assert claim(model, rows, "The value of every leaf").value < 1e-9
    model.monotonic_cst = None
    assert not claim(model, rows, "The value of every leaf").holds


@pytest.mark.parametrize("loss", ["log_loss", "exponential"])
def test_a_line_search_pushes_against_the_bounds(rows, loss):
    X, y = rows[0], (rows[1] + 3 * rows[0][:, 0] ** 2 > 1).astype(int)
    model = HistGradientBoostingClassifier(
        loss, max_iter=5, line_search="leaf", monotonic_cst=[1, -1, 0, 0], min_samples_leaf=3
    ).fit(X, y)
    model.certify(X, y).require()
    model.monotonic_cst = None
    assert not claim(model, (X, y), "The value of every leaf").holds


def test_the_best_gain_by_sorting_is_that_of_all_splits():
    """Against every cut of every column, one at a time, missing values on both sides."""
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((60, 3)), 1)
    X[rng.random((60, 3)) < 0.1] = np.nan
    y = rng.standard_normal(60)
    model = HistGradientBoostingRegressor(max_iter=1, max_leaf_nodes=2, min_samples_leaf=4).fit(X, y)
    slope, best = y - y.mean(), -math.inf
    for j in range(3):
        for cut in np.unique(X[~np.isnan(X[:, j]), j]):
            for missing in (True, False):
                left = np.where(np.isnan(X[:, j]), missing, X[:, j] <= cut)
                if 4 <= left.sum() <= 56:
                    gain = slope[left].sum() ** 2 / left.sum() + slope[~left].sum() ** 2 / (~left).sum()
                    best = max(best, gain)
    assert model.trees_.gain[0] == pytest.approx(best, rel=1e-7)
    trees, rules = model.trees_, splits.rules_of(model, None, None, 1e-3, 0.0)
    codes = model.columns_.encode(X, by_column=True)
    leaf = trees.leaves(X, model.columns_)[:, 0]
    kinds = np.vstack([np.ones(60), slope, np.ones(60), np.zeros(60), np.zeros(60)])
    by_leaf = splits.rows_by_leaf(trees, trees.tree(0), leaf, codes, kinds)
    bounds = np.array([-np.inf, np.inf])
    again = splits.best_split(by_leaf, 0, bounds, np.arange(3), rules)
    assert again.gain == pytest.approx(best, rel=1e-9)


def test_a_halved_round_is_proved_too():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.where(rng.random(300) < 0.3, X[:, 0] > 0, X[:, 0] <= 0).astype(int)
    model = HistGradientBoostingClassifier(Savage(), learning_rate=1.0, max_iter=30, min_samples_leaf=2)
    model.fit(X, y).certify(X, y).require()


@pytest.mark.parametrize("seed", range(3))
def test_no_false_alarms(seed, rows):
    rng = np.random.default_rng(seed)
    X, y = rows
    weights = [None, rng.integers(0, 4, len(y)).astype(float), rng.random(len(y))]
    for options in OPTIONS.values():
        for loss in ("squared_error", "absolute_error", "huber", "gamma"):
            weight, target = weights[rng.integers(3)], np.exp(0.3 * y)
            if rng.random() < 0.3:
                target[5] = 1e12
            model = HistGradientBoostingRegressor(
                loss,
                max_iter=3,
                categorical_features=[3],
                min_samples_leaf=1 + 4 * seed,
                **options,
            )
            model.fit(X, target, sample_weight=weight).certify(X, target, sample_weight=weight).require()


def test_parts_of_a_table_share_one_proof(rows, monkeypatch):
    monkeypatch.setattr(tables, "SMALL", 100)
    fitted(rows, OPTIONS["all"]).certify(*rows).require()
