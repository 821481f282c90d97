"""Boosted trees: engine against brute force, rounds against formulas, proofs against damage."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.datasets import make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier as TheirClassifier
from sklearn.ensemble import HistGradientBoostingRegressor as TheirRegressor

from assay.loops import compiled, lean
from assay.losses import Absolute, CrossEntropy, Exponential, Huber, Quantile, Savage, Squared
from assay.rows import threads
from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from assay.trees.boosting import table as tables
from assay.trees.boosting.table import best_constant
from assay.trees.growing.binned.histograms import divide_on_shard, fill_histogram, make_shard, take_out
from assay.trees.growing.binned.scan import Sides, best_newton_cut
from assay.trees.growing.bins import bin_columns
from assay.trees.growing.criteria import NumberCost
from assay.trees.growing.cuts import Rule, best_cut


@pytest.fixture(scope="module")
def numbers():
    X, y = make_friedman1(600, 6, noise=0.5, random_state=0)
    return np.round(X, 2), y


@pytest.fixture(scope="module")
def two_classes(numbers):
    X, y = numbers
    return X, (y > np.median(y)).astype(int)


# The engine. Loops that only loops call are asked through one.


@lean
def subtract_rows(shard, node, stride, sums):
    take_out(shard, node, stride, sums)


@lean
def cut_of_newton(form, tally, first, n_codes, node, missing, unit, sides, work, places):
    return best_newton_cut(form, tally, first, n_codes, node, missing, unit, sides, work, places)


@pytest.mark.parametrize("width", [2, 3])
def test_histograms_are_the_sums_of_the_rows(width):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 11, (500, 70)).astype(np.uint8)
    statistics = rng.integers(1, 2**30, (500, width)).astype(np.int32)
    statistics[:, 0] -= 2**29
    shard = make_shard(codes, statistics, 11, 3)
    shard.rows[:] = rng.permutation(500)
    sums = np.zeros((70 * 11, 3), dtype=np.int64)
    shard.bounds[1] = (100, 400)
    fill_histogram(shard, 1, 11, sums)
    rows = shard.rows[100:400]
    weight = np.ones(300) if width == 2 else statistics[rows, 2]
    for j in (0, 33, 69):
        for k, values in enumerate((weight, statistics[rows, 0], statistics[rows, 1])):
            expected = np.zeros(11, dtype=np.int64)
            np.add.at(expected, codes[rows, j], values.astype(np.int64))
            assert np.array_equal(sums[j * 11 : (j + 1) * 11, k], expected)
    subtract_rows(shard, 1, 11, sums)
    assert not sums.any()


def test_rows_are_divided_stably_and_missing_ones_follow_their_side():
    rng = np.random.default_rng(1)
    codes = rng.integers(0, 6, (200, 3)).astype(np.uint8)
    shard = make_shard(codes, np.ones((200, 2), dtype=np.int32), 6, 3)
    shard.bounds[0] = (0, 200)
    sides, (sums, more) = np.zeros(256, dtype=np.uint8), np.zeros((2, 18, 3), dtype=np.int64)
    sides[[0, 1, 2, 5]] = 1
    divide_on_shard(shard, 0, 1, 1, sides, 6, 2, sums, -1, more)
    left = (codes[:, 1] <= 2) | (codes[:, 1] == 5)
    assert np.array_equal(shard.rows, np.concatenate([np.flatnonzero(left), np.flatnonzero(~left)]))
    assert shard.bounds[1].tolist() == [0, left.sum()]
    assert np.array_equal(sums[6:12, 0], np.bincount(codes[~left, 1], minlength=6))
    assert not more.any()


@compiled
def general_search(form, tally, n_codes, node, missing, unit, rule, work):
    return best_cut(form, tally, n_codes, node, missing, unit, rule, work)


@pytest.mark.parametrize("sign", [0, 1, -1])
@pytest.mark.parametrize("seed", range(20))
def test_the_vector_scan_finds_the_cut_of_the_general_search(seed, sign):
    rng = np.random.default_rng(seed)
    n_codes = int(rng.integers(2, 40))
    tally = rng.integers(1, 50, (n_codes + 1, 3))
    tally[:, 1] -= 25
    tally[rng.random(n_codes + 1) < 0.4] = 0
    missing = tally[-1] if seed % 2 else np.zeros(3, dtype=np.int64)
    node = tally[:-1].sum(axis=0) + missing
    form, unit = NumberCost(0.5), np.array([1.0, 0.25, 0.5])
    low, high = (-np.inf, np.inf) if seed % 3 else (-0.02, 0.02)
    sides, room = Sides(3, 0, sign, low, high), (np.empty((3, 257)), np.empty(257, dtype=np.int64))
    above = np.vstack([tally[:1], tally[:-1]])  # the first row is not of the column
    scanned = cut_of_newton(form, above, 1, n_codes, node, missing, unit, sides, *room)
    rule, present = Rule(3, sign, low, high, True), np.flatnonzero(tally[:-1, 0])
    general = general_search(form, tally[present], len(present), node, missing, unit, rule, np.empty((4, 3)))
    assert scanned.place == (present[general.place] if general.place >= 0 else -1)
    if general.place >= 0:
        assert scanned.gain == pytest.approx(general.gain, rel=1e-12)
        assert scanned.missing_left == general.missing_left


def test_codes_are_places_among_the_cuts():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((3000, 3))
    X[:, 1], X[::9, 2], X[4, 0], X[5, 0] = rng.integers(0, 7, 3000), np.nan, np.inf, -np.inf
    columns = bin_columns(X, None, np.array([False, True, False]))
    codes = columns.encode(X, by_column=False)
    assert np.array_equal(columns.encode(X, by_column=True), codes.T)
    for j in (0, 2):
        cuts = columns.cuts[columns.offsets[j] : columns.offsets[j + 1] - 1]
        expected = np.where(np.isnan(X[:, j]), columns.n_codes[j], np.searchsorted(cuts, X[:, j]))
        assert np.array_equal(codes[:, j], expected)
    assert np.array_equal(codes[:, 1], X[:, 1])
    assert columns.encode(np.array([[0.0, 99.0, 0.0]]), by_column=False)[0, 1] == 7


# The rounds.


@pytest.mark.spec("wei/M8.8")
@pytest.mark.parametrize(
    "loss", [Squared(), Absolute(), Huber(2.0), Quantile(0.7)], ids=lambda loss: type(loss).__name__
)
def test_each_round_adds_the_best_constant_of_each_leaf_of_a_tree_on_the_slopes(numbers, loss):
    """G_0 minimises Σ L(y, γ), and each leaf adds ν argmin_b Σ L(y, G + b) over its rows."""
    X, y = numbers
    model = HistGradientBoostingRegressor(loss, max_iter=6, max_leaf_nodes=7, min_samples_leaf=5).fit(X, y)
    score = np.full(len(y), float(loss.constant_minimiser(y)))
    leaves = model.trees_.leaves(X, model.columns_)
    for number, predicted in enumerate(model.staged_predict(X)):
        for leaf in np.unique(leaves[:, number]):
            rows = leaves[:, number] == leaf
            score[rows] += 0.1 * best_by_search(loss, y[rows] - score[rows])
        assert predicted == pytest.approx(score, abs=1e-5 * np.ptp(y))
    assert len(np.unique(leaves[:, 0])) == 7


def best_by_search(loss, residuals):
    """argmin of a convex sum: ternary search, then the middle of its flat part."""
    grid = np.sort(residuals)
    if loss == Squared():
        return residuals.mean()
    if isinstance(loss, Huber):
        low, high = grid[0], grid[-1]
        for _ in range(200):
            a, b = low + (high - low) / 3, high - (high - low) / 3
            if (
                loss.value(residuals, np.full(len(grid), a)).sum()
                < loss.value(residuals, np.full(len(grid), b)).sum()
            ):
                high = b
            else:
                low = a
        return (low + high) / 2
    risks = np.array([loss.value(residuals, np.full(len(grid), c)).sum() for c in grid])
    flat = grid[risks <= risks.min() + 1e-9 * abs(risks.min())]
    return (flat[0] + flat[-1]) / 2


@pytest.mark.spec("wei/M8.8")
@pytest.mark.parametrize(("loss", "label"), [("log_loss", (0, 1)), (Exponential(), (-1, 1))])
def test_a_line_search_in_each_leaf_leaves_no_slope(two_classes, loss, label):
    X, y = two_classes
    model = HistGradientBoostingClassifier(loss, max_iter=5, line_search="leaf", l2_regularization=1.0).fit(
        X, y
    )
    target = np.where(y == 1, label[1], label[0]).astype(float)
    formula = CrossEntropy() if loss == "log_loss" else loss
    leaves, score = model.trees_.leaves(X, model.columns_), np.full(len(y), model.trees_.baseline[0])
    for number in range(5):
        values = model.trees_.value[model.trees_.tree(number)][leaves[:, number]] / 0.1
        slope = formula.gradient(target, score + values)
        for leaf in np.unique(leaves[:, number]):
            rows = leaves[:, number] == leaf
            assert abs(slope[rows].sum() + values[rows][0]) < 1e-5 * rows.sum()
        score += 0.1 * values


def test_trees_are_those_of_scikit_learn_where_bins_are_the_same(numbers, two_classes):
    """Columns of few values of many rows have the same bins in both: predictions agree to rounding."""
    X, y = np.round(numbers[0], 1), numbers[1]
    shape = {"max_iter": 20, "max_leaf_nodes": 8, "early_stopping": False}
    ours, theirs = (
        HistGradientBoostingRegressor(**shape).fit(X, y),
        TheirRegressor(**shape, random_state=0).fit(X, y),
    )
    assert ours.predict(X) == pytest.approx(theirs.predict(X), abs=1e-4 * np.ptp(y))
    y = two_classes[1]
    mine, other = (
        HistGradientBoostingClassifier(**shape).fit(X, y),
        TheirClassifier(**shape, random_state=0).fit(X, y),
    )
    assert mine.predict_proba(X) == pytest.approx(other.predict_proba(X), abs=1e-3)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.6}, {"max_features": 0.5}, {"early_stopping": True}])
def test_the_number_of_threads_changes_no_bit(numbers, monkeypatch, options):
    X, y = numbers
    monkeypatch.setattr(tables, "SMALL", 100)
    fitted = []
    for count in (1, 2, 3):
        with threads(count):
            model = HistGradientBoostingRegressor(max_iter=8, random_state=3, **options).fit(X, y)
        fitted.append(model)
    assert fitted[0].trees_ == fitted[1].trees_ == fitted[2].trees_
    assert np.array_equal(fitted[0].train_score_, fitted[2].train_score_)


@pytest.mark.parametrize("options", [{}, {"subsample": 0.6, "line_search": "leaf"}, {"early_stopping": True}])
def test_trees_of_several_classes_may_grow_at_the_same_time(numbers, monkeypatch, options):
    X, y = numbers[0], np.digitize(numbers[1], [11.0, 16.0])
    weight = np.random.default_rng(0).random(len(y))
    models = {}
    for count in (1, 2, 5):
        monkeypatch.setattr(tables, "SMALL", 100)
        with threads(count):
            model = HistGradientBoostingClassifier(max_iter=5, random_state=3, **options)
            models[count] = model.fit(X, y, sample_weight=weight)
    assert models[1].trees_ == models[2].trees_ == models[5].trees_
    assert models[5].certify(X, y, sample_weight=weight).holds


def test_many_nodes_without_room_for_their_histograms_give_the_same_tree(numbers, monkeypatch):
    X, y = numbers
    fit = HistGradientBoostingRegressor(max_iter=3, max_leaf_nodes=None, min_samples_leaf=2).fit
    whole = fit(X, y).trees_
    monkeypatch.setattr("assay.trees.growing.binned.searching.POOL_BYTES", 1)
    assert fit(X, y).trees_ == whole


def test_weights_are_repetitions(two_classes):
    X, y = two_classes
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = HistGradientBoostingClassifier(max_iter=10).fit(X, y, sample_weight=weight)
    repeated = HistGradientBoostingClassifier(max_iter=10).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.trees_ == repeated.trees_


# Prediction.


def test_look_ups_lead_to_the_leaf_that_thresholds_lead_to(numbers):
    X, y = numbers
    X = X.copy()
    X[::5, 0], X[:, 1] = np.nan, np.round(9 * X[:, 1])
    model = HistGradientBoostingRegressor(
        max_iter=5, categorical_features=[1], max_leaf_nodes=40, min_samples_leaf=3
    )
    model.fit(X, y)
    trees, new = model.trees_, np.vstack([X, X + 0.003])
    new[:, 1] = np.random.default_rng(0).integers(0, 12, len(new))
    for row, score in zip(new[::7], model.predict(new[::7]), strict=True):
        total = trees.baseline[0]
        for place in range(trees.n_trees):
            total += walked(trees, place, row, model.columns_)
        assert score == pytest.approx(total, rel=1e-12)


def walked(trees, place, row, columns):
    node = start = int(trees.starts[place])
    while trees.feature[node] >= 0:
        j = trees.feature[node]
        levels = columns.low[columns.offsets[j] : columns.offsets[j + 1]]
        if np.isnan(row[j]) or (trees.levels[node] >= 0 and row[j] not in levels):
            left = trees.missing_go_to_left[node]
        elif trees.levels[node] >= 0:
            code = int(np.flatnonzero(levels == row[j])[0])
            left = bool(trees.bits[trees.levels[node], code // 32] >> (code % 32) & 1)
        else:
            left = row[j] <= trees.threshold[node]
        node = start + (trees.children_left[node] if left else trees.children_right[node])
    return trees.value[node]


def test_trees_of_many_leaves_predict_too(numbers):
    X, y = numbers
    model = HistGradientBoostingRegressor(
        max_iter=2, max_leaf_nodes=200, min_samples_leaf=1, learning_rate=1.0
    )
    model.fit(X, y)
    assert np.diff(model.trees_.starts).max() > 2 * 64
    assert float(np.mean((y - model.predict(X)) ** 2)) == pytest.approx(-2 * model.train_score_[-1], rel=1e-9)


def test_several_quantiles_never_cross_and_cover(numbers):
    X, y = numbers
    model = HistGradientBoostingRegressor(loss="quantile", quantile=[0.1, 0.5, 0.9], max_iter=30).fit(X, y)
    predicted = model.predict(X)
    assert predicted.shape == (len(y), 3)
    assert np.all(np.diff(predicted, axis=1) >= 0)
    assert np.all(np.diff(model.predict(np.random.default_rng(0).random((200, 6))), axis=1) >= 0)
    shares = np.mean(y[:, np.newaxis] <= predicted, axis=0)
    assert shares == pytest.approx([0.1, 0.5, 0.9], abs=3 * np.sqrt(0.25 / len(y)))


@pytest.mark.parametrize("level", [0.1, 0.5, 0.9, 1 / 3])
def test_the_quick_quantile_is_the_minimiser_of_the_loss(level):
    rng = np.random.default_rng(0)
    for n in (*range(1, 30), 64, 65, 90, 100, 101):
        values = rng.integers(0, 40, n).astype(float)
        loss = Quantile(level)
        assert best_constant(loss, values, None) == loss.constant_minimiser(values)


# Where cuts and bins are.


def test_a_cut_is_in_the_middle_of_the_values_that_its_node_lacks():
    # Where z is 0, x has no value from 10 to 89, and rows of z = 1 say nothing about where to cut there.
    x = np.concatenate([np.arange(10), np.arange(90, 100), np.arange(10, 90)]).repeat(3).astype(float)
    z = (np.arange(100) >= 20).repeat(3).astype(float)
    y = np.where(z == 1, 50.0, np.where(x < 50, 0.0, 10.0))
    model = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, min_samples_leaf=5)
    model.fit(np.column_stack([z, x]), y)
    asked = np.array([5.0, 45.0, 55.0, 95.0])
    said = model.predict(np.column_stack([np.zeros(4), asked]))
    assert said == pytest.approx([0.0, 0.0, 10.0, 10.0], abs=1e-6)
    assert model.certify(np.column_stack([z, x]), y).holds


def test_every_value_is_on_the_other_side_where_missing_ones_are_alone():
    x = np.concatenate([np.arange(10.0).repeat(2), np.full(20, np.nan), np.arange(10.0, 50.0)])
    z = np.concatenate([np.zeros(40), np.ones(40)])
    y = np.where(z == 1, 50.0, np.where(np.isnan(x), 10.0, 0.0))
    model = HistGradientBoostingRegressor(max_iter=1, learning_rate=1.0, min_samples_leaf=5)
    model.fit(np.column_stack([z, x]), y)
    said = model.predict(np.column_stack([np.zeros(4), [5.0, 30.0, 1e6, np.nan]]))
    assert said == pytest.approx([0.0, 0.0, 0.0, 10.0], abs=1e-6)


@pytest.mark.parametrize("max_bins", [255, 40])
def test_bins_have_three_rows_where_leaves_have_many(max_bins):
    rng = np.random.default_rng(0)
    x = np.round(rng.standard_normal((400, 1)), 1)
    ordered = np.array([False])
    columns = bin_columns(x, None, ordered, max_bins, 3)
    counts = np.bincount(columns.encode(x, by_column=False)[:, 0])
    assert counts.min() >= 3
    assert len(counts) <= max_bins
    # A weight is a repetition, and weights that are shares of the table still leave bins.
    values, repeats = np.unique(x, return_counts=True)
    weighted = bin_columns(values[:, np.newaxis], repeats.astype(float), ordered, max_bins, 3)
    assert weighted == columns
    shares = bin_columns(values[:, np.newaxis], repeats / 400, ordered, max_bins, 3)
    assert len(shares.low) >= min(len(columns.low), 20)
    # Small leaves keep every value apart.
    alone = HistGradientBoostingRegressor(min_samples_leaf=10, max_iter=1).fit(x, x[:, 0])
    assert len(alone.columns_.low) == len(values)
    assert len(HistGradientBoostingRegressor(max_iter=1).fit(x, x[:, 0]).columns_.low) < len(values)


@pytest.mark.parametrize("n_classes", [2, 5])
def test_both_sides_of_a_cut_have_the_curvature_of_four_undecided_rows(numbers, n_classes):
    X, y = numbers
    y = np.searchsorted(np.quantile(y, np.arange(1, n_classes) / n_classes), y)
    model = HistGradientBoostingClassifier(learning_rate=0.5, max_iter=12, min_samples_leaf=1).fit(X, y)
    shares = np.bincount(y) / len(y)
    chances = [np.tile(shares, (len(y), 1)), *model.staged_predict_proba(X)][:-1]
    factor = n_classes / (n_classes - 1) if n_classes > 2 else 1.0
    leaves, least = model.trees_.leaves(X, model.columns_), []
    n_outputs = 1 if n_classes == 2 else n_classes
    for place in range(model.n_iter_ * n_outputs):
        p = chances[place // n_outputs][:, place % n_outputs + (n_outputs == 1)]
        sizes = np.bincount(leaves[:, place], weights=factor * p * (1 - p))
        if np.count_nonzero(sizes) > 1:
            least.append(sizes[sizes > 0].min())
    limit = 1.0 if n_classes == 2 else 4 / n_classes
    assert limit - 1e-6 < min(least) < 1.2 * limit
    # A loss without probabilities has no such limit.
    other = HistGradientBoostingClassifier("exponential", learning_rate=0.5, max_iter=12, min_samples_leaf=1)
    assert other.fit(X, y > 0).trees_.weight.min() < 4


# Options.


def test_early_stopping_ends_when_held_out_rows_no_longer_gain(two_classes):
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((400, 3)), rng.integers(0, 2, 400)
    model = HistGradientBoostingClassifier(early_stopping=True, n_iter_no_change=3, random_state=0).fit(X, y)
    assert model.n_iter_ < 100
    assert model.converged_
    assert len(model.validation_score_) == model.n_iter_
    X, y = two_classes
    model = HistGradientBoostingClassifier(early_stopping=True, max_iter=7).fit(
        X[:400], y[:400], X_val=X[400:], y_val=y[400:]
    )
    staged = [-np.mean(np.log(p[np.arange(200), y[400:]])) for p in model.staged_predict_proba(X[400:])]
    assert -model.validation_score_ == pytest.approx(staged, rel=1e-9)


@pytest.mark.parametrize("scale", [2.0**-30, 2.0**10, 2.0**40])
@pytest.mark.parametrize("held", [0.2, None])
def test_early_stopping_does_not_depend_on_the_unit_of_the_target(numbers, scale, held):
    X, y = numbers
    shape = {"max_iter": 60, "n_iter_no_change": 3, "validation_fraction": held, "tol": 5e-3}

    def fitted(target):
        return HistGradientBoostingRegressor(early_stopping=True, random_state=0, **shape).fit(X, target)

    model, scaled = fitted(y), fitted(scale * y)
    assert 10 < model.n_iter_ < 60
    assert scaled.n_iter_ == model.n_iter_
    assert scaled.validation_score_ / scale**2 == pytest.approx(model.validation_score_, rel=1e-9)


def test_constraints_hold_everywhere(numbers):
    X, y = numbers
    signs = [1, 0, -1, 0, 0, 0]
    model = HistGradientBoostingRegressor(
        monotonic_cst=signs, interaction_cst=[[0, 1], [2, 3, 4, 5]], max_iter=20
    )
    model.fit(X, y)
    assert model.certificates_.holds
    grid = np.tile(np.random.default_rng(0).random((50, 1, 6)), (1, 40, 1))
    for j, sign in enumerate(signs):
        if sign:
            moved = grid.copy()
            moved[:, :, j] = np.linspace(0, 1, 40)
            steps = np.diff(model.predict(moved.reshape(-1, 6)).reshape(50, 40), axis=1)
            assert np.all(sign * steps >= -1e-12)
    # Columns of two groups add up: a mixed difference is 0.
    a, b = np.random.default_rng(1).random((2, 6))
    both, first, second = b.copy(), a.copy(), a.copy()
    first[:2], second[2:] = b[:2], b[2:]
    f = model.predict(np.vstack([a, both, first, second]))
    assert f[0] + f[1] == pytest.approx(f[2] + f[3], abs=1e-9)
    value = model.trees_.value.copy()
    value[np.flatnonzero(value)[3]] += 10.0
    model.trees_ = dataclasses.replace(model.trees_, value=value)
    assert not model.certify(X, y).holds


def test_missing_values_and_categories_carry_information():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 2))
    X[:, 1] = rng.integers(0, 20, 500)
    effects = rng.standard_normal(20)
    missing = rng.random(500) < 0.3
    y = effects[X[:, 1].astype(int)] + 3.0 * missing
    X[missing, 0] = np.nan
    model = HistGradientBoostingRegressor(categorical_features=[1], max_iter=60, min_samples_leaf=5).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.certify(X, y).holds
    unseen = model.predict(np.array([[0.0, 77.0], [0.0, np.nan]]))
    assert unseen[0] == unseen[1]


# Sources.


def test_memory_parquet_and_dask_give_the_same_arrays(two_classes, tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    da = pytest.importorskip("dask.array")
    X, y = two_classes
    X = X.copy()
    X[::11, 2] = np.nan
    names = [f"x{j}" for j in range(6)]
    frame = pa.table({**dict(zip(names, X.T, strict=True)), "y": y.astype(float)})
    pq.write_table(frame, tmp_path / "rows.parquet", row_group_size=70)
    options = {"max_iter": 6, "subsample": 0.7, "random_state": 0}
    memory = HistGradientBoostingClassifier(**options).fit(X, y)
    disk = HistGradientBoostingClassifier(**options).fit(tmp_path / "rows.parquet", "y")
    cluster = HistGradientBoostingClassifier(**options).fit(
        da.from_array(X, chunks=(130, 6)), da.from_array(y, chunks=130)
    )
    assert memory.trees_ == disk.trees_ == cluster.trees_
    assert memory.columns_ == disk.columns_ == cluster.columns_
    lazy = cluster.predict_proba(da.from_array(X, chunks=(130, 6)))
    assert np.array_equal(lazy.compute(), memory.predict_proba(X))


# Proofs.


@pytest.mark.parametrize("name", ["value", "threshold", "gain", "weight", "baseline"])
def test_damage_to_the_trees_is_seen(two_classes, name):
    X, y = two_classes[0][:-9], two_classes[1][:-9]
    model = HistGradientBoostingClassifier(max_iter=5).fit(X, y)
    assert model.certify(X, y).holds
    values = getattr(model.trees_, name).copy()
    values[np.nanargmax(np.abs(values))] *= 1.01
    model.trees_ = dataclasses.replace(model.trees_, **{name: values})
    assert not model.certify(X, y).holds


def test_a_round_that_would_raise_the_risk_is_halved():
    """Newton steps of a loss that is not convex overshoot at a learning rate of 1."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((300, 2))
    y = np.where(rng.random(300) < 0.3, X[:, 0] > 0, X[:, 0] <= 0).astype(int)
    model = HistGradientBoostingClassifier(Savage(), learning_rate=1.0, max_iter=30, min_samples_leaf=2).fit(
        X, y
    )
    assert np.all(np.diff(-model.train_score_) <= 1e-9)
    assert model.certificates_.holds


# Bad input.


def test_bad_input_is_told_in_one_sentence(numbers):
    X, y = numbers
    with pytest.raises(ValueError, match="takes as target"):
        HistGradientBoostingRegressor("poisson").fit(X, y - 100)
    with pytest.raises(ValueError, match="'quantile' parameter"):
        HistGradientBoostingRegressor("quantile").fit(X, y)
    with pytest.raises(ValueError, match="monotonic_cst"):
        HistGradientBoostingRegressor(monotonic_cst=[1]).fit(X, y)
    with pytest.raises(ValueError, match="more than two classes"):
        HistGradientBoostingClassifier("exponential").fit(X, np.arange(len(y)) % 3)


@pytest.mark.parametrize(
    "make",
    [
        lambda X, y: (np.full_like(X, np.nan), y),
        lambda X, y: (np.ones_like(X), y),
        lambda X, y: (X, np.full_like(y, 3.0)),
        lambda X, y: (X[:3], y[:3]),
        lambda X, y: (1e8 * X, 1e8 * y),
        lambda X, y: (X, np.where(np.arange(len(y)) == 5, 1e12, y)),
    ],
    ids=["all missing", "constant columns", "constant target", "few rows", "large", "outlier"],
)
def test_odd_tables_give_finite_predictions(numbers, make):
    X, y = make(*numbers)
    model = HistGradientBoostingRegressor(max_iter=5).fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    assert model.certificates_.holds


@pytest.mark.spec("wei/M8.8")
def test_several_classes_take_friedmans_newton_step_in_each_leaf(numbers):
    """b = (K − 1)/K Σ (y − p) / Σ p (1 − p) over the rows of a leaf, at the scores of the round."""
    X, y = numbers[0], np.digitize(numbers[1], [11.0, 16.0])
    model = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5).fit(X, y)
    assert model.certify(X, y).holds
    leaves, scores = (
        model.trees_.leaves(X, model.columns_),
        np.tile(np.log(np.bincount(y) / len(y)), (len(y), 1)),
    )
    for number, staged in enumerate(model.staged_decision_function(X)):
        chances = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
        for k in range(3):
            for leaf in np.unique(leaves[:, 3 * number + k]):
                rows = leaves[:, 3 * number + k] == leaf
                p = chances[rows, k]
                scores[rows, k] += 0.1 * 2 / 3 * np.sum((y[rows] == k) - p) / np.sum(p * (1 - p))
        assert staged == pytest.approx(scores, abs=1e-6)
