"""Intervals and probabilities are measured on rows that no fit has seen."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import assay
from assay.models.calibration import calibration_error
from assay.models.conformal import conformal_quantile, conformal_width
from assay.report import Data, compare
from assay.report.results import about_model
from assay.report.trials.cautions import of_intervals
from assay.report.trials.scoring.guarantees import hand_scores
from assay.report.trials.scoring.resampling import (
    COVERAGE,
    OWN,
    RESIDUALS,
    brier_score,
    measure_intervals,
    residual_bounds,
    splits,
    stretched_bounds,
)
from sentences import Audit


def table(X, y, **options) -> Data:
    frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(X.shape[1])])
    return Data.from_frame(frame, y, name="made", **options)


def by_name(comparison):
    return {candidate.name: candidate for candidate in comparison.candidates}


def test_the_width_of_a_row_does_not_depend_on_the_residuals_of_its_own_fold(rng):
    y, predictions = rng.normal(size=60), np.zeros(60)
    folds = np.repeat(np.arange(3), 20)
    before = residual_bounds(y, predictions, folds)
    y[folds == 1] *= 1000
    after = residual_bounds(y, predictions, folds)
    np.testing.assert_array_equal(before[folds == 1], after[folds == 1])
    assert np.all(after[folds == 0, 1] > before[folds == 0, 1])


def test_conformal_widths_hold_a_new_residual_as_often_as_they_say(rng):
    """Exactly ⌈(n + 1) c⌉/(n + 1) for exchangeable residuals without ties."""
    n, runs = 25, 4000
    residuals = rng.standard_cauchy(size=(runs, n + 1))
    held = np.mean([abs(row[-1]) <= conformal_width(row[:-1], 0.8) for row in residuals])
    exact = np.ceil(0.8 * (n + 1)) / (n + 1)
    assert held == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / runs))
    assert exact >= 0.8


def test_too_few_rows_for_a_width_give_no_intervals():
    y, folds = np.arange(12.0), np.repeat([0, 1, 2], 4)
    assert measure_intervals(y, [(np.zeros(12), folds, None)]) is None


def test_own_intervals_of_few_rows_are_measured_as_they_are():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    bounds = np.column_stack([y - 1, y + 1])
    bounds[3] = [5.0, 9.0]
    folds = np.array([0, 0, 1, 1])
    found = measure_intervals(y, [(y, folds, bounds)])
    assert (found.held, found.width, found.source, found.coverage) == (0.75, 2.5, OWN, COVERAGE)
    wide = np.column_stack([y - 2, y + 2])
    both = measure_intervals(y, [(y, folds, bounds), (y, folds, wide)])
    assert (both.held, both.width) == (0.875, 3.25)


def test_own_intervals_are_stretched_as_the_other_folds_ask_and_keep_their_shape(rng):
    """Those of a law that is wrong by a factor become right, each as wide beside the others as it was."""
    n = 3000
    spread, folds = np.exp(rng.normal(size=n)), np.arange(n) % 3
    y = spread * rng.standard_t(3, size=n)
    ends = 0.4 * np.column_stack([-spread, spread])
    found = measure_intervals(y, [(np.zeros(n), folds, ends)])
    assert found.held == pytest.approx(0.9, abs=3 * np.sqrt(0.09 * (1 / n + 1.5 / n)))
    one = stretched_bounds(y, np.zeros(n), folds, ends)
    assert one[folds == 1, 1] / spread[folds == 1] == pytest.approx(np.full(n // 3, one[1, 1] / spread[1]))
    y[folds == 1] *= 1000  # no row helps to stretch its own interval
    np.testing.assert_array_equal(one[folds == 1], stretched_bounds(y, np.zeros(n), folds, ends)[folds == 1])
    first = stretched_bounds(y, np.zeros(n), folds, ends, in_order=True)[folds == 0]
    assert np.isnan(first).all()


def test_widths_in_the_order_of_the_time_come_from_earlier_folds(rng):
    y, predictions, folds = rng.normal(size=90), np.zeros(90), np.repeat(np.arange(3), 30)
    before = residual_bounds(y, predictions, folds, in_order=True)
    assert np.isnan(before[:30]).all()
    y[60:] *= 100
    np.testing.assert_array_equal(before[30:60], residual_bounds(y, predictions, folds, in_order=True)[30:60])
    found = measure_intervals(y, [(predictions, folds, None)], in_order=True)
    bounds = residual_bounds(y, predictions, folds, in_order=True)[30:]
    assert found.held == np.mean(np.abs(y[30:]) <= bounds[:, 1])


def test_coverage_and_saved_widths_are_those_of_all_repeats(rng):
    """Worked out anew from the predictions of every repetition, for a method without its own intervals."""
    X = rng.normal(size=(80, 2))
    found = compare(table(X, X[:, 0] + rng.normal(size=80)), methods=("Ridge",), repeats=3)
    chosen = next(item for item in found.candidates if item.name == "Ridge")
    y, held, widths, kept = found.data.y, [], [], []
    assert len(chosen.repeats) == 3
    for said in chosen.repeats:
        for fold in np.unique(said.folds):
            inside = said.folds == fold
            half = conformal_width((y - said.predictions)[~inside], COVERAGE)
            held.append(np.abs(y - said.predictions)[inside] <= half)
            widths.append(np.full(inside.sum(), 2 * half))
        kept.append(conformal_width(y - said.predictions, 0.9))
    assert chosen.intervals.held == pytest.approx(np.concatenate(held).mean())
    assert chosen.intervals.width == pytest.approx(np.concatenate(widths).mean())
    assert len(np.unique(kept)) > 1
    if found.recommended is chosen:
        assert about_model(found)["residual_quantiles"]["0.90"] == pytest.approx(np.mean(kept))


def test_linear_models_bring_their_own_intervals_and_others_get_those_of_the_folds(regression):
    found = by_name(regression)
    assert found["LinearRegression"].intervals.source == OWN
    assert found["KernelRidge"].intervals.source == RESIDUALS
    room = 4 * np.sqrt(0.9 * 0.1 / len(regression.data.y))
    for candidate in regression.candidates:
        assert candidate.intervals.held == pytest.approx(0.9, abs=room)
        assert candidate.measures["coverage"] == candidate.intervals.held
        assert candidate.measures["interval width"] == candidate.intervals.width
    assert found["Ridge"].intervals.width < 0.85 * found["Baseline"].intervals.width


def test_boosting_keeps_what_its_folds_were_off_and_makes_its_own_intervals_of_it(rng, tmp_path):
    X = rng.normal(size=(120, 2))
    y = X[:, 0] ** 2 + rng.normal(size=120)
    comparison = compare(table(X, y), methods=("HistGradientBoostingRegressor",), repeats=2)
    chosen = by_name(comparison)["HistGradientBoostingRegressor"]
    assert chosen.intervals.source == OWN
    off = [np.abs(y - said.predictions) for said in chosen.repeats]
    assay.save(chosen.model, tmp_path / "model.skops")
    model = assay.load(tmp_path / "model.skops")
    half = conformal_quantile(np.concatenate(off), 0.9, np.full(240, 0.5))
    ends = model[-1].predict_interval(model[:-1].transform(comparison.data.X), coverage=0.9)
    expected = model.predict(comparison.data.X)[:, None] + np.array([-half, half])
    np.testing.assert_allclose(ends, expected, rtol=1e-12)
    assert half == pytest.approx(np.mean([conformal_quantile(one, 0.9) for one in off]), rel=0.1)
    assert comparison.recommended is chosen
    Audit(comparison).check()
    chosen.model[-1].keep_scores(2 * np.concatenate(off))  # other rows than the sentence is about
    with pytest.raises(AssertionError, match="whose intervals they are"):
        Audit(comparison).check()


def test_boosting_keeps_what_its_folds_thought_of_the_true_classes(rng):
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] + rng.normal(size=120) > 0, "yes", "no")
    methods = ("HistGradientBoostingClassifier", "AdaBoostClassifier")
    found = by_name(compare(table(X, y), methods=methods, repeats=1))
    for name in methods:
        model, (said,) = found[name].model, found[name].repeats
        own = said.probabilities[np.arange(120), (y == "yes").astype(int)]
        features = model[:-1].transform(pd.DataFrame(X, columns=["x0", "x1"]))
        chances = model[-1].predict_proba(features)
        members = 1 - chances <= np.sort(1 - own)[int(np.ceil(121 * 0.9)) - 1] + 1e-12
        members[np.arange(120), chances.argmax(axis=1)] = True
        np.testing.assert_array_equal(model[-1].predict_sets(features, coverage=0.9), members)


def test_many_scores_are_counted_in_groups_by_their_largest(rng):
    class Model:
        calibration = None

        def keep_scores(self, scores, weight):
            self.scores, self.weight = scores, weight

    model, scores = Model(), rng.normal(size=(3, 25_001))
    scores[0, :5] = np.nan
    assert hand_scores(model, list(scores))
    assert len(model.scores) <= 10_000
    assert model.weight.sum() == pytest.approx(75_003 / 3 - 5 / 3)
    for coverage in (0.5, 0.9, 0.99):
        handed = conformal_quantile(model.scores, coverage, model.weight)
        exact = conformal_quantile(scores[~np.isnan(scores)], coverage, np.full(74_998, 1 / 3))
        above = np.sum((scores > exact) & (scores <= handed))
        assert handed >= exact
        assert above <= 8
    assert not hand_scores(object(), list(scores))
    model.calibration = 0.2
    assert not hand_scores(model, list(scores))


def test_the_coverage_of_a_linear_model_is_that_of_fits_on_the_other_folds(regression):
    """Worked out anew, fold by fold: the interval of a row comes from a fit without it."""
    data = regression.data
    model = by_name(compare(data, methods=("LinearRegression",)))["LinearRegression"]
    y, held = data.y, []
    parts = list(splits(len(y), folds=5, repeats=3, seed=0))
    for start in range(0, 15, 5):
        away, half = np.empty(len(y)), np.empty(len(y))
        for train, test in parts[start : start + 5]:
            fitted = type(model.model[-1])().fit(data.X.to_numpy()[train], y[train])
            low, high = fitted.predict_interval(data.X.to_numpy()[test], coverage=0.9).T
            away[test], half[test] = np.abs(y[test] - (low + high) / 2), (high - low) / 2
        for train, test in parts[start : start + 5]:
            factor = np.sort((away / half)[train])[int(np.ceil(0.9 * (len(train) + 1))) - 1]
            held.append(away[test] <= factor * half[test])
    assert model.intervals.held == pytest.approx(np.concatenate(held).mean())


def test_intervals_that_break_their_promise_are_told(rng):
    """Noise that grows with a column no linear model sees: the remark says what was measured."""
    X = rng.normal(size=(300, 2))
    y = X[:, 0] + rng.normal(size=300)
    comparison = compare(table(X, y), methods=("LinearRegression",), repeats=1)
    chosen = comparison.recommended
    said = f"Its 90% intervals held {100 * chosen.intervals.held:.1f}% of unseen rows"
    assert any(remark.startswith(said) for remark in comparison.remarks)
    # Two standard errors of a share of 300 rows are 3.5 %.
    for held in (0.86, 0.87, 0.93, 0.94):
        measured = replace(chosen, intervals=chosen.intervals._replace(held=held))
        others = [item for item in comparison.candidates if item is not chosen]
        (remark,) = of_intervals(replace(comparison, candidates=(measured, *others)))
        assert f"held {100 * held:.1f}% of unseen rows" in remark
        assert ("fewer than they promise" in remark) == (held == 0.86)
        assert ("more than they need to" in remark) == (held == 0.94)
    other = compare(table(X, y), methods=("Ridge",), repeats=1)
    assert any("from the residuals of the folds" in remark for remark in other.remarks)


def test_brier_score_is_that_of_scikit_learn(rng):
    from sklearn.metrics import brier_score_loss

    probabilities = rng.dirichlet(np.ones(3), size=80)
    y, labels = rng.choice(["a", "b", "c"], 80), np.array(["a", "b", "c"])
    assert brier_score(y, probabilities, labels) == pytest.approx(
        brier_score_loss(y, probabilities, labels=labels)
    )


def test_calibration_error_is_small_for_true_probabilities_and_the_gap_for_overconfident_ones(rng):
    n = 20_000
    labels, truth = np.array([0, 1]), rng.uniform(size=n)
    y = (rng.uniform(size=n) < truth).astype(int)
    true = np.column_stack([1 - truth, truth])
    # Ten groups of 2000 rows: each gap has a standard error below 0.5/√2000.
    assert calibration_error(y, true, labels) < 3 * 0.5 / np.sqrt(n / 10)
    sure = np.where(true >= 0.5, 0.99, 0.01)
    right = np.mean((truth >= 0.5) == y)
    assert calibration_error(y, sure, labels) == pytest.approx(0.99 - right)


def test_calibration_error_does_not_depend_on_the_order_of_the_rows(rng):
    labels = np.array(["a", "b"])
    confidence = rng.choice([0.6, 0.7, 0.9], 100)
    probabilities, y = np.column_stack([confidence, 1 - confidence]), rng.choice(labels, 100)
    order = rng.permutation(100)
    assert calibration_error(y, probabilities, labels) == pytest.approx(
        calibration_error(y[order], probabilities[order], labels)
    )


def test_classifiers_with_probabilities_have_them_judged_out_of_fold(classification):
    found, data = by_name(classification), classification.data
    logistic = found["LogisticRegression"]
    assert logistic.measures["Brier score"] == pytest.approx(
        brier_score(data.y, logistic.probabilities, data.labels), rel=1e-12
    )
    assert logistic.measures["log-loss"] < found["Baseline"].measures["log-loss"]
    assert 0 <= logistic.measures["calibration error"] < 0.1
    assert "calibration error" not in found["LinearSVC"].measures
    assert any("Its probabilities miss how often it is right" in remark for remark in classification.remarks)
