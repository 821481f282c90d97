"""How parameters are chosen inside the rows to learn from: in their order, by their groups, by the metric."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from assay.report import Data, choose_data, compare, read_table
from assay.report.reproduction import script
from assay.report.trials import rounds
from assay.report.trials.explaining.learning_curve import _first
from assay.report.trials.roster import entries
from assay.report.trials.rounds import choose_rounds, parts_of_rounds
from assay.report.trials.scoring.folds import GAP
from assay.report.trials.scoring.metrics import KNOWN, metric_of, pinball
from assay.report.trials.stacking import stacked_answers
from assay.report.trials.trial import Answers, Recipe
from assay.report.trials.tuning import PAIRED_ROWS, ClassFolds, GivenFolds, Tuning

CHOOSING = [entry for entry in entries() if entry.task != "clustering" and entry.suits.select is not None]


@pytest.fixture
def rows(rng):
    """Rows of thirty groups and of as many times, in no order."""
    who = rng.permutation(np.repeat(np.arange(30), 8))
    X = rng.normal(size=(240, 3))
    return X, X[:, 0] + rng.normal(size=30)[who] + 0.1 * rng.normal(size=240), who


def options_of(entry, tuning, y):
    model = entry.make(0)
    return tuning.options(entry, model.select, 1000, y)


@pytest.mark.parametrize("entry", CHOOSING, ids=lambda entry: entry.name)
def test_every_method_that_chooses_keeps_groups_together_and_looks_forward_in_time(entry, rows):
    X, y, who = rows
    labels = np.array(["a", "b"]) if entry.task == "classification" else None
    y = y if labels is None else labels[(y > 0).astype(int)]
    grouped = options_of(entry, Tuning(groups=who, labels=labels), y)["cv"]
    parts = list(grouped.split(X, y))
    assert len(parts) == 5
    assert_array_equal(np.sort(np.concatenate([test for _, test in parts])), np.arange(240))
    for train, test in parts:
        assert not set(who[train]) & set(who[test])
    ordered = options_of(entry, Tuning(times=who, labels=labels), y)["cv"]
    for train, test in ordered.split(X, y):
        assert who[train].max() + 1 < who[test].min()  # a time at least lies between
    usual = inspect.signature(entry.make(0).select).parameters["cv"].default
    alone = options_of(entry, Tuning(labels=labels), y).get("cv", usual)
    assert labels is not None or alone in (None, 5)  # None leaves out one row at a time


def test_the_gap_of_inner_folds_is_that_of_the_outer_ones():
    times = np.arange(1000.0)
    for train, test in Tuning(times=times).parts(times):
        assert times[test].min() - times[train].max() >= GAP * len(times) * 0.9
    last = Tuning(times=times).parts(times, large=True)
    assert len(last) == 1
    assert last[0].test.max() == 999


def test_a_fold_without_a_class_to_learn_from_is_left_out_and_none_at_all_is_told():
    times = np.arange(60.0)
    y = np.where(np.arange(60) < 20, "a", np.where(np.arange(60) % 2, "b", "a"))
    tuning = Tuning(times=times, labels=np.array(["a", "b"]))
    parts = tuning.parts(y)
    assert 0 < len(parts) < 5
    assert all(len(np.unique(y[part.train])) == 2 for part in parts)
    late = np.where(np.arange(60) < 59, "a", "b")
    with pytest.warns(UserWarning, match="chosen on shuffled rows: too few times to keep their order"):
        assert tuning.parts(late) == []
    with pytest.warns(UserWarning, match="too few groups to keep them together"):
        assert Tuning(groups=np.zeros(60)).parts(times) == []


@pytest.mark.parametrize(
    ("n_rows", "n_classes", "n_used"), [(400, 19, 1), (400, 9, 5), (400, 2, 5), (200, 19, 5)]
)
def test_many_coefficients_of_classes_are_chosen_on_one_split(n_rows, n_classes, n_used):
    logistic = next(entry for entry in entries() if entry.name == "LogisticRegression")
    y = np.arange(n_rows) % n_classes
    told = Tuning(labels=np.unique(y)).options(logistic, logistic.make(0).select, 40 * n_rows, y)
    assert told["cv"].n_used == n_used


BOOSTING = {
    entry.task: entry for entry in entries() if entry.name.startswith("HistGradientBoosting")
}  # by the task


def losses_by_hand(leaf, X, y, parts, power=2):
    """Mean loss of the rows not learnt from after each round, a fold that stopped going on as it stopped."""
    curves, model = [], BOOSTING["regression"].make(0)
    model.set_params(min_samples_leaf=leaf, learning_rate=0.2, max_iter=250, max_bins=63, tol=2e-4)
    for learn, held in parts:
        probe = clone(model).fit(X[learn], y[learn], X_val=X[held], y_val=y[held])
        curves.append([np.mean(np.abs(y[held] - said) ** power) for said in probe.staged_predict(X[held])])
    longest = max(map(len, curves))
    table = [curve + curve[-1:] * (longest - len(curve)) for curve in curves]
    return np.average(table, axis=0, weights=[len(part.test) for part in parts])


def test_boosting_takes_the_rounds_and_leaves_that_rows_not_learnt_from_ask_for(rows):
    X, y, who = rows
    entry = BOOSTING["regression"]
    by_mistakes = Tuning(metric=KNOWN["regression"][2])
    for tuning in (Tuning(), Tuning(groups=who), Tuning(times=who), by_mistakes):
        parts = parts_of_rounds(y, tuning)
        assert len(parts) == 3
        for part in parts:
            if tuning.groups is not None:
                assert not set(who[part.train]) & set(who[part.test])
            elif tuning.times is not None:
                assert who[part.train].max() + 1 < who[part.test].min()
        if tuning.times is None:
            assert_array_equal(np.sort(np.concatenate([part.test for part in parts])), np.arange(240))
        power = 1 if tuning.metric else 2
        leaf = min((20, 5), key=lambda leaf: losses_by_hand(leaf, X, y, parts[:1], power).min())
        n_rounds = 2 * (np.argmin(losses_by_hand(leaf, X, y, parts, power)) + 1)
        fitted = Recipe(entry).fit(X, y, tuning)
        model = fitted.model
        assert (model.min_samples_leaf, model.n_iter_) == (leaf, n_rounds)
        assert fitted.parameters["max_iter"] == model.n_iter_
        again = clone(model).fit(X, y)  # on all rows, so that its parameters give it again
        assert_allclose(again.predict(X), model.predict(X))


def test_what_has_no_noise_gets_small_leaves_and_what_has_much_gets_large_ones(rng):
    X = rng.uniform(size=(150, 2))
    steps = np.floor(8 * X[:, 0]) ** 2
    entry = BOOSTING["regression"]
    assert Recipe(entry).fit(X, steps, Tuning()).model.min_samples_leaf == 5
    noisy = X[:, 0] + 2 * rng.normal(size=150)
    assert Recipe(entry).fit(X, noisy, Tuning()).model.min_samples_leaf == 20


def test_every_fold_of_rounds_learns_from_all_classes(rng):
    y = np.repeat(["a", "b", "c"], [40, 18, 2])
    X, tuning = rng.normal(size=(60, 2)), Tuning(labels=np.unique(y))
    for part in parts_of_rounds(y, tuning):
        assert len(np.unique(y[part.train])) == 3
    model = Recipe(BOOSTING["classification"]).fit(X, y, tuning).model
    assert list(model.classes_) == ["a", "b", "c"]


def test_a_larger_table_holds_out_a_tenth_and_a_large_one_stops_by_itself(rng, monkeypatch):
    monkeypatch.setattr(rounds, "SMALL_TABLE", 100)
    monkeypatch.setattr(rounds, "MANY_ROWS", 300)
    X, who = rng.normal(size=(400, 2)), np.repeat(np.arange(40), 10)
    y = X[:, 0] + 0.1 * rng.normal(size=400)
    (part,) = parts_of_rounds(y[:250], Tuning())
    assert len(part.test) == 25
    (last,) = parts_of_rounds(y, Tuning(times=who))
    assert who[last.test].max() == 39
    entry = BOOSTING["regression"]
    assert choose_rounds(entry.make(0), X, y, Tuning()) is None
    assert Recipe(entry).fit(X, y, Tuning()).model.n_held_out_ == 40
    assert choose_rounds(entry.make(0), X, y, Tuning(groups=who)).n_held_out_ == 0


def test_what_groups_remember_is_not_taken_for_knowledge(rng):
    """Columns that only tell a group apart: shuffled folds ask for a rich model, grouped ones for none."""
    who = np.repeat(np.arange(40), 6)
    X = rng.normal(size=(40, 5))[who] + 0.01 * rng.normal(size=(240, 5))
    y = rng.normal(size=40)[who] + 0.3 * rng.normal(size=240)
    entry = next(item for item in entries() if item.name == "DecisionTreeRegressor")
    shuffled = Recipe(entry).fit(X, y, Tuning()).model
    grouped = Recipe(entry).fit(X, y, Tuning(groups=who)).model
    assert shuffled.get_n_leaves() > 20
    assert grouped.get_n_leaves() <= 3


def test_weights_of_an_ensemble_in_time_come_from_the_past_alone(rng):
    y = rng.normal(size=90)
    parts = Tuning(times=np.arange(90.0)).parts(y, folds=3)[::-1]
    said = [[Answers(y[part.test] + shift, None, None, 0.0, ()) for part in parts] for shift in (1.0, -3.0)]
    options = {"folds": 3, "classes": None, "in_order": True}
    before, _ = stacked_answers(said, parts, y, **options)
    assert_allclose(before[0].predictions, y[parts[0].test] - 1.0)  # nothing before: equal weights
    assert_allclose(before[1].predictions, y[parts[1].test], atol=1e-6)  # three quarters and one
    moved = y.copy()
    moved[parts[2].test] += 100
    after, _ = stacked_answers(said, parts, moved, **options)
    for one, other in zip(before[:2], after[:2], strict=True):
        assert_allclose(one.predictions, other.predictions)


def test_fewer_rows_of_a_learning_curve_are_the_latest_or_whole_groups(rng):
    times = rng.permutation(100).astype(float)
    latest = _first(Tuning(times=times), 100, 25, rng)
    assert sorted(times[latest]) == list(range(75, 100))
    who = rng.permutation(np.repeat(np.arange(20), 5))
    some = _first(Tuning(groups=who), 100, 25, rng)
    assert len(some) == 25
    assert all((who[some] == name).sum() == 5 for name in np.unique(who[some]))


@pytest.mark.parametrize("entry", CHOOSING, ids=lambda entry: entry.name)
def test_the_metric_of_the_user_is_what_every_method_chooses_by(entry, rows):
    y = rows[1]
    labels = np.array(["a", "b"]) if entry.task == "classification" else None
    metric = KNOWN[entry.task][1 if labels is not None else 2]
    told = options_of(entry, Tuning(labels=labels, metric=metric), y)
    assert told["criterion"].name == ("1 − balanced accuracy" if labels is not None else "MAE")
    assert "criterion" not in options_of(entry, Tuning(labels=labels), y)


def test_the_least_criterion_is_the_best_measure():
    y, rows = np.array(["a", "a", "b", "b"]), np.arange(4)
    labels, accuracy = np.unique(y), KNOWN["classification"][0]
    told = Tuning(labels=labels, metric=accuracy).criterion
    assert told.name == "1 − accuracy"
    assert [told.loss(y, said, None, rows) for said in (y, np.array(["a", "a", "a", "b"]))] == [0.0, 0.25]
    error = Tuning(metric=KNOWN["regression"][2]).criterion
    assert error.loss(np.zeros(2), np.array([1.0, -3.0]), None, rows[:2]) == 2.0
    # On the scale of the fit both are logarithms: the measure sees them brought back.
    back = Tuning(metric=KNOWN["regression"][2]).on_scale(np.exp).criterion
    assert back.loss(np.log([2.0, 5.0]), np.log([3.0, 2.0]), None, rows[:2]) == pytest.approx(2.0)


def test_folds_of_classes_predict_every_row_but_the_only_one_of_its_class():
    y = np.repeat(["many", "two", "one"], [12, 2, 1])
    predicted = np.concatenate([test for _, test in ClassFolds(seed=3).split(None, y)])
    assert sorted(predicted) == list(range(14))


def test_where_one_split_chooses_it_learns_from_most_of_the_past(rows):
    _, y, who = rows
    every, one = (Tuning(times=who).parts(y, large=large) for large in (False, True))
    assert len(every) == 5
    assert len(one) == 1
    assert len(one[0].train) == max(len(part.train) for part in every)
    assert len(Tuning(groups=who).parts(y, large=True)) == 1


def test_a_method_that_cannot_be_told_says_so_on_its_line(rows):
    class Deaf:
        def select(self, X, y):
            raise NotImplementedError

    entry = next(item for item in CHOOSING if item.name == "Ridge")
    with pytest.warns(UserWarning, match="chosen by its own loss, not by MAE"):
        Tuning(metric=KNOWN["regression"][2]).options(entry, Deaf().select, 10, rows[1])
    with pytest.warns(UserWarning, match="without regard to the time or the groups"):
        Tuning(groups=rows[2]).options(entry, Deaf().select, 10, rows[1])


def test_the_choice_by_the_metric_is_the_best_of_the_path_by_that_metric(rng):
    """Half of the outliers lie in one direction: squares and absolute errors ask for other penalties."""
    X = rng.normal(size=(80, 20))
    y = X[:, 0] + rng.standard_t(1.2, size=80)
    entry = next(item for item in entries() if item.name == "Lasso")
    own, told = (Recipe(entry).fit(X, y, Tuning(metric=item)) for item in (None, KNOWN["regression"][2]))
    assert own.selection.criterion == "validation loss"
    assert told.selection.criterion == "MAE"
    assert told.parameters != own.parameters
    scores = told.selection.curve
    assert told.selection.best == told.selection.values[int(np.argmin(scores))]


def test_costs_follow_their_rows(rng):
    frame = pd.DataFrame({"x": rng.normal(size=40), "price": np.arange(40.0) % 7 + 0.5})
    data = Data.from_frame(frame, rng.normal(size=40))
    tuning = Tuning(metric=metric_of("cost:price", "regression", data)).at(np.arange(30, 40))
    y, said = rng.normal(size=(2, 10))
    rows = np.array([2, 5])
    expected = (4.5 * abs(y[2] - said[2]) + 0.5 * abs(y[5] - said[5])) / 5  # rows 32 and 35
    assert tuning.criterion.loss(y[rows], said[rows], None, rows) == pytest.approx(expected)


def test_a_tuning_survives_the_way_to_another_process():
    metric = pinball(0.3)
    again = pickle.loads(pickle.dumps(Tuning(seed=3, groups=np.arange(4), metric=metric)))
    y, said = np.arange(4.0), np.ones(4)
    assert again.criterion.loss(y, said, None, np.arange(4)) == Tuning(metric=metric).criterion.loss(
        y, said, None, np.arange(4)
    )


def test_a_comparison_chooses_inside_each_fold_by_its_groups(rows, monkeypatch):
    """All folds that any method was given, outside and inside, keep the groups apart."""
    X, y, who = rows
    seen = []
    split = GivenFolds.split

    def watched(self, features, target=None):
        seen.append(len(target))
        return split(self, features, target)

    monkeypatch.setattr(GivenFolds, "split", watched)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    data = Data.from_frame(frame, np.exp(3 * y), group="who", groups=who)
    methods = ("Ridge", "KernelRidge", "DecisionTreeRegressor", "Ridge (log target)")
    found = compare(data, repeats=1, methods=methods)
    # Every split and the whole table, for each method that chooses; the variant chooses once more.
    assert seen.count(240) == 4
    assert len(seen) >= 4 * 6
    assert {"Ridge (log target)", "KernelRidge"} <= {item.name for item in found.candidates}
    assert all("shuffled" not in note for item in found.candidates for note in item.notes)


def test_the_script_of_a_smeared_model_is_told_of_the_groups(rows, tmp_path):
    X, _, who = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).round(3)
    noise = np.random.default_rng(0).normal(size=30)[who]
    frame["who"], frame["price"] = [f"p{name}" for name in who], np.exp(2 * X[:, 0] + 0.5 * noise).round(3)
    frame.to_csv(tmp_path / "sales.csv", index=False)
    data = choose_data(read_table(tmp_path / "sales.csv"), target="price", group="who")
    found = compare(data, repeats=1, methods=("Ridge", "Ridge (log target)"))
    assert found.recommended.name == "Ridge (log target)"
    text = script(found)
    assert "smearedtarget__tuning=Tuning(groups=data.groups)" in text
    names: dict = {}
    exec(text, names)
    assert_allclose(names["model"].predict(data.X), found.recommended.model.predict(data.X))
    apart = names["model"][-1].residuals_
    shuffled = clone(names["model"]).fit(data.X, data.y)[-1].residuals_
    assert np.std(apart) != pytest.approx(np.std(shuffled), rel=1e-6)


@pytest.mark.parametrize("name", ["KNeighborsRegressor", "KNeighborsClassifier"])
def test_one_split_chooses_for_methods_of_all_pairs_on_many_rows(name):
    entry = next(entry for entry in CHOOSING if entry.name == name)
    labels = np.array([0, 1]) if entry.task == "classification" else None
    few, many = (np.arange(n_rows) % 2 for n_rows in (PAIRED_ROWS, PAIRED_ROWS + 1))
    options = [options_of(entry, Tuning(labels=labels), y) for y in (few, many)]
    if labels is None:
        assert [item.get("cv") for item in options] == [None, "split"]
    else:
        assert [item["cv"].n_used for item in options] == [5, 1]
    line = next(entry for entry in CHOOSING if entry.name == "Lasso")
    assert options_of(line, Tuning(), many.astype(float)).get("cv", 5) == 5
