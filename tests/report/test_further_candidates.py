"""The ensemble and the methods on another scale of the target: scored like the others, saved like them."""

from __future__ import annotations

import dataclasses
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import assay
from assay.linear import LinearRegression, LogisticRegression, Ridge
from assay.models.stacking import convex_weights
from assay.report import Data, SmearedTarget, WeightedEnsemble, certificates_of, compare
from assay.report.trials.roster import entries
from assay.report.trials.scoring.resampling import FoldSplit, compare_scores
from assay.report.trials.stacking import can_join, heavy_members, stacked_answers
from assay.report.trials.target_transform import TransformedRecipe, transformed_recipes
from assay.report.trials.trial import Answers
from assay.report.trials.tuning import Tuning


@pytest.fixture(scope="module")
def mixed():
    """A straight term and a wavy one: neither method alone sees both well."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.normal(size=(250, 4)), columns=list("abcd"))
    y = 2 * X["a"] + X["b"] + 3 * np.sin(2.5 * X["c"]) + 0.5 * rng.normal(size=250)
    return Data.from_frame(X, y.to_numpy())


@pytest.fixture(scope="module")
def compared(mixed):
    return compare(mixed, repeats=2, methods=["Ridge", "KernelRidge", "Ensemble"])


def made_answers(rng, n=60, folds=3, members=2):
    parts = [
        FoldSplit(np.flatnonzero(np.arange(n) % folds != k), np.arange(n)[k::folds]) for k in range(folds)
    ]
    y = rng.normal(size=n)
    said = [
        [Answers(y[part.test] + rng.normal(size=len(part.test)), None, None, 0.1, ()) for part in parts]
        for _ in range(members)
    ]
    return parts, y, said


def test_a_split_is_weighed_by_the_others_of_its_repetition(rng):
    parts, y, said = made_answers(rng)
    answers, weights = stacked_answers(said, parts, y, folds=3, classes=None)
    others = np.concatenate([parts[1].test, parts[2].test])
    table = np.column_stack([np.concatenate([member[k].predictions for k in (1, 2)]) for member in said])
    expected = convex_weights(table, y[others])
    own = np.column_stack([member[0].predictions for member in said])
    assert_allclose(answers[0].predictions, own @ expected)
    every = np.column_stack([np.concatenate([item.predictions for item in member]) for member in said])
    order = np.concatenate([part.test for part in parts])
    assert_allclose(weights, convex_weights(every, y[order]))


def test_the_target_of_a_split_does_not_change_its_own_prediction(rng):
    parts, y, said = made_answers(rng)
    before, _ = stacked_answers(said, parts, y, folds=3, classes=None)
    y = y.copy()
    y[parts[0].test] += 100 * rng.normal(size=len(parts[0].test))
    after, _ = stacked_answers(said, parts, y, folds=3, classes=None)
    assert_allclose(after[0].predictions, before[0].predictions)
    assert not np.allclose(after[1].predictions, before[1].predictions)


def test_splits_that_follow_in_time_are_weighed_by_those_before(rng):
    parts, y, said = made_answers(rng)
    answers, _ = stacked_answers(said, parts, y, folds=3, classes=None, in_order=True)
    own = [np.column_stack([member[split].predictions for member in said]) for split in range(3)]
    assert_allclose(answers[0].predictions, own[0].mean(axis=1))
    assert_allclose(answers[1].predictions, own[1] @ convex_weights(own[0], y[parts[0].test]))
    known = np.concatenate([parts[0].test, parts[1].test])
    assert_allclose(answers[2].predictions, own[2] @ convex_weights(np.vstack(own[:2]), y[known]))


def test_members_of_classes_are_weighed_by_the_squared_error_of_their_probabilities(rng):
    parts, _, _ = made_answers(rng)
    classes, y = np.array(["a", "b"]), np.where(np.arange(60) % 7 < 3, "a", "b")
    truth = (y[:, None] == classes) * 1.0
    said = [
        [Answers(y[part.test], shares[part.test], None, 0.1, ()) for part in parts]
        for shares in (0.25 + 0.5 * truth, 0.5 + 0 * truth)
    ]
    answers, weights = stacked_answers(said, parts, y, folds=3, classes=classes)
    assert_allclose(weights, [1.0, 0.0], atol=1e-9)
    assert_allclose(answers[0].probabilities, 0.25 + 0.5 * truth[parts[0].test], atol=1e-9)
    assert (answers[0].predictions == y[parts[0].test]).all()


def test_light_members_are_left_out():
    kept, weights = heavy_members(np.array([0.6, 0.005, 0.395]))
    assert kept.tolist() == [0, 2]
    assert weights.sum() == pytest.approx(1)


def test_a_method_without_probabilities_cannot_join_an_ensemble_of_classes():
    said = [Answers(np.array([0, 1]), None, None, 0.0, ())]
    assert not can_join(said, classes=np.array([0, 1]))
    assert can_join([Answers(np.array([0.5]), None, None, 0.0, ())], classes=None)
    assert not can_join([Answers(np.array([np.nan]), None, None, 0.0, ())], classes=None)


def test_the_ensemble_is_the_last_line_with_its_weights(compared):
    last = compared.candidates[-1]
    assert last.name == "Ensemble"
    assert last.is_ensemble
    assert sum(last.weights.values()) == pytest.approx(1)
    assert set(last.weights) <= {"Ridge", "KernelRidge"}
    assert last.complexity > max(item.complexity for item in compared.candidates[:-1])
    assert last.scores.shape == compared.best.scores.shape
    assert "KernelRidge" in last.summary
    assert compared.best.name != "Ensemble"


def test_the_ensemble_predicts_the_weighted_mean_and_is_saved(compared, tmp_path):
    last, found = compared.candidates[-1], {item.name: item for item in compared.candidates}
    X = compared.data.X
    expected = sum(weight * found[name].model.predict(X) for name, weight in last.weights.items())
    assert_allclose(last.model.predict(X), expected)
    assay.save(last.model, tmp_path / "m.skops")
    assert_allclose(assay.load(tmp_path / "m.skops").predict(X), expected)
    assert certificates_of(last.model) == last.certificates
    assert len(last.certificates) == sum(len(found[name].certificates) for name in last.weights)
    assert last.model[-1].certify(last.model[0].transform(X), compared.data.y).holds


def with_scores(comparison, gain, noise):
    """The comparison with an ensemble that gains so much on the best, split by split."""
    rng = np.random.default_rng(0)
    scores = comparison.best.scores + gain + noise * rng.normal(size=comparison.best.scores.size)
    last = dataclasses.replace(comparison.candidates[-1], scores=scores, score=float(scores.mean()))
    return dataclasses.replace(comparison, candidates=(*comparison.candidates[:-1], last))


def test_the_ensemble_is_recommended_only_when_it_is_clearly_better(compared):
    assert with_scores(compared, 0.1, 0.01).recommended.name == "Ensemble"
    assert with_scores(compared, 0.01, 0.05).recommended.name != "Ensemble"
    for gain, spread in ((0.02, 0.05), (0.02, 0.06), (0.03, 0.08)):  # more, but by no clear test
        found = with_scores(compared, gain, spread)
        chance = compare_scores(found.candidates[-1].scores, found.best.scores, found.test_share).p_value
        assert (found.recommended.name == "Ensemble") == (chance < 0.05)
        assert 0.05 < chance < 0.5
    assert with_scores(compared, -0.1, 0.01).recommended.name != "Ensemble"


def test_an_ensemble_that_is_surely_better_by_next_to_nothing_is_not_recommended(compared):
    assert compared.best.score > 0.3
    found = with_scores(compared, 0.001, 1e-5)
    assert found.recommended.name != "Ensemble"
    assert not re.search("best|as well as any", found.headline)
    assert with_scores(compared, 0.02, 1e-5).recommended.name == "Ensemble"


def test_one_method_makes_no_ensemble(mixed):
    found = compare(mixed, repeats=1, methods=["Ridge", "Ensemble"])
    assert [item.name for item in found.candidates] == ["Ridge", "Baseline"]


def test_an_ensemble_of_which_one_method_has_all_the_weight_is_left_out_and_said(mixed, monkeypatch):
    def first(table, target):
        return np.eye(table.shape[-1])[0]

    monkeypatch.setattr("assay.report.trials.stacking.convex_weights", first)
    found = compare(mixed, repeats=1, methods=["Ridge", "LinearRegression", "Ensemble"])
    assert {item.name for item in found.candidates} == {"Ridge", "LinearRegression", "Baseline"}
    (told,) = found.skipped
    assert told in {
        f"Ensemble was left out: all of its weight would be on {name}."
        for name in ("Ridge", "LinearRegression")
    }


def test_methods_that_were_named_are_tried_without_company(mixed):
    found = compare(mixed, repeats=1, methods=["Ridge", "Lasso"])
    assert {item.name for item in found.candidates} == {"Ridge", "Lasso", "Baseline"}


def test_an_ensemble_of_classifiers_averages_probabilities(rng):
    X = rng.normal(size=(80, 2))
    y = np.where(X[:, 0] > 0, "b", "a")
    members = [LogisticRegression(C=0.1), LogisticRegression(C=10.0)]
    ensemble = WeightedEnsemble(members, [0.25, 0.75]).fit(X, y)
    parts = [member.predict_proba(X) for member in ensemble.estimators_]
    assert_allclose(ensemble.predict_proba(X), 0.25 * parts[0] + 0.75 * parts[1])
    assert (ensemble.predict(X) == ensemble.classes_[ensemble.predict_proba(X).argmax(axis=1)]).all()


def test_an_ensemble_needs_a_weight_for_each_member():
    with pytest.raises(ValueError, match="one number per estimator"):
        WeightedEnsemble([Ridge()], []).fit([[0.0], [1.0]], [0.0, 1.0])


def skewed(rng, n, noise=0.7):
    x = rng.normal(size=(n, 2))
    return x, np.exp(1.0 + x[:, 0] - 0.5 * x[:, 1] + noise * rng.normal(size=n))


def test_predictions_on_the_log_scale_come_back_without_bias(rng):
    """E[y | x] = exp(1 + x₁ − x₂/2 + σ²/2); the plain way back is too low by exp(−σ²/2) = 0.78."""
    X, y = skewed(rng, 3000)
    model = SmearedTarget(LinearRegression(), "log").fit(X, y)
    new, _ = skewed(rng, 4000)
    exact = np.exp(1.0 + new[:, 0] - 0.5 * new[:, 1] + 0.7**2 / 2)
    ratio = np.mean(model.predict(new) / exact)
    # The estimate of log E exp(ε) has variance (exp(σ²) − 1)/n, that of the line 3 σ²/n.
    error = np.sqrt((np.exp(0.49) - 1 + 3 * 0.49) / 3000)
    assert abs(ratio - 1) <= 3 * error
    plain = np.mean(model.scale_.back(model.regressor_.predict(new)) / exact)
    assert plain < 0.85


def test_few_rows_of_a_steep_law_come_back_nearly_without_bias(rng):
    """What new rows are beyond the known ones is most of the mean: it is hardly held back."""
    off, held = [], []
    for _ in range(80):
        model = SmearedTarget(LinearRegression(), "log").fit(*skewed(rng, 25, noise=0.1))
        new, truth = skewed(rng, 2000, noise=0.1)
        off.append(np.mean(model.predict(new)) / np.mean(truth) - 1)
        ends = model.predict_interval(new, coverage=0.99)
        held.append(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))
    assert abs(np.mean(off)) <= 0.04 + 2 * np.std(off) / np.sqrt(80)
    assert np.mean(held) >= 0.99 - 2 * np.std(held) / np.sqrt(80)


def test_intervals_of_the_log_scale_come_back_with_their_coverage(rng):
    X, y = skewed(rng, 1000)
    model = SmearedTarget(LinearRegression(), "log").fit(X, y)
    new, truth = skewed(rng, 4000)
    ends = model.predict_interval(new, coverage=0.9)
    held = np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1]))
    assert abs(held - 0.9) <= 2 * np.sqrt(0.09 * (1 / 1000 + 1 / 4000)) + 0.005
    assert not hasattr(SmearedTarget(Ridge(), "log"), "predict_interval")


@pytest.fixture(scope="module")
def prices():
    X, y = skewed(np.random.default_rng(1), 400)
    return Data.from_frame(pd.DataFrame(X, columns=["size", "age"]), y, target="price")


def test_a_skewed_target_is_tried_on_its_logarithm_and_that_helps(prices, tmp_path):
    methods = ["LinearRegression", "Ridge", "LinearRegression (log target)"]
    found = compare(prices, repeats=1, methods=methods)
    by_name = {item.name: item for item in found.candidates}
    logarithm = by_name["LinearRegression (log target)"]
    assert logarithm.score > by_name["LinearRegression"].score + 0.02
    assert logarithm.complexity == by_name["LinearRegression"].complexity + 1
    assert "logarithm of the target" in logarithm.summary
    assert (logarithm.predictions > 0).all()
    assert logarithm.certificates.holds
    assay.save(logarithm.model, tmp_path / "m.skops")
    assert_allclose(assay.load(tmp_path / "m.skops").predict(prices.X), logarithm.model.predict(prices.X))
    step = logarithm.model[-1]
    assert step.certify(logarithm.model[0].transform(prices.X), prices.y).holds


def test_another_scale_adds_nothing_to_understand_where_a_model_is_asked_and_not_read(prices):
    known = {entry.name: entry for entry in entries() if entry.task == "regression"}
    added = {}
    for name in ("LinearRegression", "SplineRegression", "KernelRidge", "HistGradientBoostingRegressor"):
        tried = [SimpleNamespace(name=name, score=1.0)]
        (recipe,) = transformed_recipes(tried, [known[name]], prices.y)
        added[name] = recipe.entry.suits.complexity - known[name].suits.complexity
    assert list(added.values()) == [1, 1, 0, 0]


def test_the_best_of_two_families_are_tried_where_no_method_is_named(prices):
    found = compare(prices, repeats=1, folds=3)
    tried = [item for item in found.candidates if "target)" in item.name]
    assert len(tried) == len({item.family for item in tried}) == 2
    plain = [item for item in found.candidates if item.name in {other.name.split(" (")[0] for other in tried}]
    for item in plain:  # the first of its family
        kin = [other for other in found.candidates if other.family == item.family and other not in tried]
        assert item.score == max(other.score for other in kin if "link" not in other.name)
    assert found.candidates[-1].name == "Ensemble"
    plain = next(item for item in found.candidates if item.name == "LinearRegression")
    assert (plain.predictions < 0).any()
    linear = dataclasses.replace(found)
    assert linear.explanation is not None


def test_the_second_best_of_a_family_is_not_tried_on_another_scale(prices):
    scores = {"LinearRegression": 0.9, "Ridge": 0.89, "Lasso": 0.88, "KernelRidge": 0.5}
    candidates = [SimpleNamespace(name=name, score=score) for name, score in scores.items()]
    listed = [entry for entry in entries() if entry.name in scores]
    recipes = transformed_recipes(candidates, listed, prices.y)
    assert [recipe.name for recipe in recipes] == [
        "LinearRegression (log target)",
        "KernelRidge (log target)",
    ]


def test_a_target_that_is_not_skewed_stays_as_it_is(mixed):
    found = compare(mixed, repeats=1, folds=3, exclude=["KernelRidge", "SparseRegressor"])
    assert not [item.name for item in found.candidates if "target)" in item.name]


def test_a_positive_target_predicted_below_zero_is_told(prices):
    found = compare(prices, repeats=1, methods=["LinearRegression"])
    assert any("below zero, where price never is" in remark for remark in found.remarks)


def test_an_interruption_among_the_variants_keeps_the_methods(prices, monkeypatch):
    def interrupted(self, features, target, seed):
        raise KeyboardInterrupt

    monkeypatch.setattr(TransformedRecipe, "fit", interrupted)
    methods = ["LinearRegression", "Ridge", "Ridge (log target)", "Ensemble"]
    found = compare(prices, repeats=1, methods=methods)
    assert {item.name for item in found.candidates} == {"LinearRegression", "Ridge", "Baseline"}
    assert any(words.startswith("Ensemble was left out: all of its weight") for words in found.skipped)
    assert found.explanation is None


def test_an_interruption_of_the_explanation_keeps_the_comparison(prices, monkeypatch):
    def interrupted(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr("assay.report.trials.explaining.following.learning_curve", interrupted)
    found = compare(prices, repeats=1, methods=["Ridge"])
    assert found.explanation is None
    assert found.recommended.name == "Ridge"


def test_residuals_of_many_rows_are_the_middles_of_their_hundredths(rng):
    X, y = skewed(rng, 2000)
    model = SmearedTarget(LinearRegression(), "log").fit(X, y)
    logs = model.scale_.forward(y)
    train, test = Tuning().plain_folds(logs, 5)[0]
    off = np.sort(logs[test] - LinearRegression().fit(X[train], logs[train]).predict(X[test]))
    shares = np.searchsorted(off, model.residuals_) / off.size
    np.testing.assert_allclose(shares, (np.arange(100) + 0.5) / 100, atol=1 / off.size)


@pytest.mark.parametrize(("n_rows", "n_fits"), [(100, 6), (2000, 2)])
def test_no_more_folds_are_fitted_for_residuals_than_they_need(rng, monkeypatch, n_rows, n_fits):
    X = rng.normal(size=(n_rows, 2))
    y = np.exp(X[:, 0] + 0.5 * rng.normal(size=n_rows))
    fits, plain = [], LinearRegression.fit
    monkeypatch.setattr(LinearRegression, "fit", lambda self, *rows: fits.append(self) or plain(self, *rows))
    model = SmearedTarget(LinearRegression(), "log").fit(X, y)
    assert len(fits) == n_fits
    # The quantiles are those of the noise: its standard deviation to four standard errors of a fifth of them.
    assert model.residuals_.std() == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(2 * min(n_rows, n_rows / 5)))
