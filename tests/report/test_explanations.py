"""What a model is said to have learnt, against laws that are known."""

from __future__ import annotations

import json
from copy import copy
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose

from assay.report import Data, RawTable, TableEncoder, choose_data, compare, describe_columns
from assay.report.page.effects import draw_effect
from assay.report.page.explanations import explanations, relies_on, weights_in_words
from assay.report.page.model_pictures import model_kinds, of_the_model
from assay.report.results import about_model, to_json
from assay.report.trials import comparison, supervised
from assay.report.trials.explaining import following
from assay.report.trials.explaining.effects import Tracing, partner_of, traced_columns
from assay.report.trials.explaining.explanation import (
    Effect,
    Explanation,
    LearningCurve,
    below_zero,
    weight_of_columns,
)
from assay.report.trials.explaining.importance import Examination, Importances, loss_of
from assay.report.trials.explaining.learning_curve import learning_curve
from assay.report.trials.explaining.thresholds import (
    best_threshold,
    choose_threshold,
    counts_along,
    named_out_of_fold,
    scores_along,
)
from assay.report.trials.scoring.metrics import ACCURACY, BALANCED, Judged, metric_of
from assay.report.trials.scoring.resampling import Difference
from assay.report.trials.stacking import EnsembleRecipe
from assay.report.trials.trial import Outputs, Recipe
from assay.report.trials.tuning import Tuning

SLOPE, TOWNS = 4.0, {"Lyon": 0.0, "Nice": 3.0, "Brest": -2.0}


@pytest.fixture(scope="module")
def law():
    """y = 4·size + effect of the town + noise; `copy` goes with `size`, `noise` with nothing."""
    rng = np.random.default_rng(3)
    n = 500
    size = 10 + 2 * rng.normal(size=n)
    frame = pd.DataFrame(
        {
            "size": size,
            "copy": size + 0.5 * rng.normal(size=n),
            "town": rng.choice(list(TOWNS), size=n),
            "noise": rng.normal(size=n),
            "grade": rng.choice(["low", "medium", "high"], size=n),
            "flag": rng.random(n) < 0.5,
            "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, size=n), unit="D"),
        }
    )
    y = SLOPE * size + frame["town"].map(TOWNS).to_numpy() + rng.normal(size=n)
    return frame, y


@pytest.fixture(scope="module")
def explained(law):
    frame, y = law
    return compare(Data.from_frame(frame, y), repeats=1, methods=["LinearRegression", "Ridge"])


def by_column(comparison):
    return {effect.column: effect for effect in comparison.explanation.effects}


def test_importances_are_of_columns_as_they_are_in_the_table_ranked_and_for_every_model(law, explained):
    frame, _ = law
    for candidate in explained.candidates:
        if candidate.is_baseline:
            assert candidate.importances is None
            continue
        found = candidate.importances
        assert set(found.columns) == set(frame.columns)
        assert np.all(np.diff(found.means) <= 0)
        assert found.columns[:2] == ("size", "town")
        assert "noise" not in found.matters


def test_importances_of_a_linear_law_are_twice_the_variance_of_the_term(law):
    frame, y = law
    data = Data.from_frame(frame[["size", "town", "noise"]], y)
    found = compare(data, repeats=1, methods=["LinearRegression"]).recommended.importances
    mean, error = (dict(zip(found.columns, part, strict=True)) for part in (found.means, found.errors))
    for name, term in (("size", SLOPE * frame["size"]), ("town", frame["town"].map(TOWNS))):
        assert abs(mean[name] - 2 * term.var() / y.var()) <= 4 * error[name] + 0.05 * mean[name]
    assert abs(mean["noise"]) <= 3 * error["noise"] + 1e-3


def test_effects_are_in_the_units_of_the_table(law):
    frame, y = law
    data = Data.from_frame(frame[["size", "town", "grade", "flag", "day"]], y)
    effects = by_column(compare(data, repeats=1, methods=["LinearRegression"]))
    size, town = effects["size"], effects["town"]
    assert size.positions[0] == frame["size"].min()
    assert size.positions[-1] == frame["size"].max()
    slope = np.ptp(size.curves) / np.ptp(size.positions)
    assert slope == pytest.approx(SLOPE, abs=0.15)
    assert not size.is_local
    level = dict(zip(town.names, town.curves[:, 0], strict=True))
    for name, value in TOWNS.items():
        assert level[name] - level["Lyon"] == pytest.approx(value, abs=0.5)
    assert effects["flag"].names == ("no", "yes")
    assert effects["grade"].names == ("low", "medium", "high")
    assert effects["day"].kind == "date"


def test_effects_of_every_model_are_measured_out_of_fold(law):
    """Of a linear law, every model that is none worse than a line has the slope of the law and its levels."""
    frame, y = law
    data = Data.from_frame(frame[["size", "town", "noise"]], y)
    methods = ["LinearRegression", "Ridge", "KernelRidge", "HistGradientBoostingRegressor"]
    found = compare(data, repeats=1, methods=methods)
    for candidate in found.candidates:
        if candidate.is_baseline:
            assert candidate.effects == ()
            continue
        effects = {effect.column: effect for effect in candidate.effects}
        assert next(iter(effects)) == candidate.importances.columns[0] == "size"
        size, town = effects["size"], effects["town"]
        middle = slice(1, -1)  # a sum of trees is flat beyond its last cut
        slope = np.ptp(size.curves[middle]) / np.ptp(size.positions[middle])
        assert slope == pytest.approx(SLOPE, rel=0.2)
        level = dict(zip(town.names, town.curves[:, 0], strict=True))
        assert level["Nice"] - level["Brest"] == pytest.approx(5.0, abs=1.0)
        assert abs(size.curves.mean()) < 1e-9 * np.ptp(size.curves)  # around 0, whatever the target's level
        assert np.isfinite(size.errors).all()
        assert (size.errors < 2).all()
    assert found.recommended.effects == found.explanation.effects
    other = next(item for item in found.candidates if item.effects and item is not found.recommended)
    assert len(found.recommended.effects[0].positions) > len(other.effects[0].positions)
    told = json.loads(to_json(found))["candidates"]
    by_name = {item["name"]: item for item in told}
    assert by_name["KernelRidge"]["effects"][0]["column"] == "size"
    assert by_name["Baseline"]["effects"] == []


def test_effects_of_classes_follow_the_probability_in_every_model(rng):
    x = rng.normal(size=(240, 2))
    y = np.where(x[:, 0] + 0.3 * rng.normal(size=240) > 0, "yes", "no")
    data = Data.from_frame(pd.DataFrame(x, columns=["a", "b"]), y)
    found = compare(data, repeats=1, methods=["LogisticRegression", "DecisionTreeClassifier", "LinearSVC"])
    for candidate in found.candidates:
        if not candidate.is_baseline:
            effect = candidate.effects[0]
            assert (effect.column, effect.outputs) == ("a", ("yes",))
            assert effect.curves[-1, 0] - effect.curves[0, 0] == pytest.approx(1.0, abs=0.2)


def test_tables_of_very_many_columns_have_effects_of_the_recommended_model_alone(rng):
    X = pd.DataFrame(rng.normal(size=(80, 70)), columns=[f"x{index}" for index in range(70)])
    found = compare(Data.from_frame(X, X["x0"].to_numpy()), repeats=1, methods=["Ridge", "Lasso"])
    others = [item for item in found.candidates if item is not found.recommended]
    assert len(found.recommended.effects) == 8
    assert all(item.effects == () for item in others)


class Product:
    """Predicts the product of two standardised columns: the effect of one is the mean of the other."""

    def predict(self, features):
        return features[:, 0] * features[:, 1]


def test_effects_of_a_sorted_table_are_those_of_all_its_rows(rng):
    frame = pd.DataFrame({"a": rng.normal(size=400), "b": np.sort(rng.normal(size=400)), "c": 0.0})
    columns = describe_columns(frame)
    encoder = TableEncoder(columns).fit(frame)
    traced = traced_columns(frame, columns, TableEncoder)
    for repeats in (1, 8):
        curve, _ = Tracing.of(traced, encoder, frame, None, repeats)(Product(), encoder.transform(frame))
        assert np.ptp(curve) < 0.3  # of the first quarter of the rows alone it would be more than 6


def test_every_figure_of_an_explanation_comes_from_all_repetitions(law, monkeypatch):
    import assay.report.trials.explaining.following as following
    import assay.report.trials.supervised as supervised

    frame, y = law
    counts, plain = [], following.summarise

    def counted(examined, *arguments, **options):
        counts.append(len(examined))
        return plain(examined, *arguments, **options)

    for module in (following, supervised):
        monkeypatch.setattr(module, "summarise", counted)
    data = Data.from_frame(frame[["size", "town"]], y)
    found = compare(data, repeats=2, folds=3, methods=["LinearRegression"])
    assert set(counts) == {6}
    chosen = found.recommended
    assert found.explanation.n_splits is None
    learning = found.explanation.learning
    assert learning.n_splits == 3
    assert learning.scores[-1] == pytest.approx(chosen.scores[:3].mean())
    page = explanations(found)
    assert page.count("Out of fold, 3 of 6 splits.") == 1  # the learning curve takes a choice of parameters
    assert page.count("Out of fold.") == page.count("<figure>") - 1


def test_of_a_large_table_it_is_said_that_some_splits_explain_it(law, monkeypatch):
    monkeypatch.setattr("assay.report.trials.explaining.following.LARGE_TABLE", 100)
    frame, y = law
    found = compare(Data.from_frame(frame[["size"]], y), folds=3, repeats=1, methods=["LinearRegression"])
    assert found.explanation.n_splits == 2
    assert "Out of fold, 2 of 3 splits" in explanations(found)


def test_a_column_that_goes_with_another_gets_local_effects_and_it_is_said(law, explained):
    size = by_column(explained)["size"]
    assert size.is_local
    assert size.partner == "copy"
    assert size.correlation == pytest.approx(law[0]["size"].corr(law[0]["copy"]), abs=0.02)
    assert np.ptp(size.curves) / np.ptp(size.positions) == pytest.approx(SLOPE, rel=0.15)
    page = explanations(explained)
    assert "Goes with copy (0.9" in page
    assert "accumulated from steps of rows near each value" in page
    assert not by_column(explained)["noise"].is_local


def test_effects_of_another_model_are_drawn_in_place_of_its_coefficients(explained):
    other = next(item for item in explained.candidates[:-1] if item is not explained.recommended)
    told = copy(other)
    object.__setattr__(told, "effects", ())
    assert "moves" not in {part.name for part in of_the_model(explained, told)}
    object.__setattr__(told, "effects", explained.explanation.effects)
    (drawing,) = of_the_model(explained, told)
    assert drawing.name == "moves"
    assert drawing.basis == "Out of fold"
    ax = Figure().subplots()
    drawing.on_axes(ax)
    lines = {line.get_label(): line.get_ydata() for line in ax.get_lines() if line.get_label()[0] != "_"}
    assert set(lines) == set(other.importances.matters) == {"size", "town"}
    for name, values in lines.items():
        assert_allclose(values, by_column(explained)[name].curves[:, 0])
    assert [one for one in of_the_model(explained, explained.recommended) if one.name == "moves"] == []


def test_at_most_eight_columns_those_that_matter(rng):
    X = pd.DataFrame(rng.normal(size=(200, 15)), columns=[f"x{index}" for index in range(15)])
    y = X.to_numpy() @ np.arange(15.0) + rng.normal(size=200)
    found = compare(Data.from_frame(X, y), repeats=1, methods=["LinearRegression"])
    names = [effect.column for effect in found.explanation.effects]
    assert len(names) == 8
    assert set(names[:4]) == {"x14", "x13", "x12", "x11"}
    assert "x0" not in names


def test_a_wide_table_is_examined_on_the_columns_that_move_its_predictions(rng):
    X = pd.DataFrame(rng.normal(size=(80, 300)), columns=[f"x{index}" for index in range(300)])
    y = 5 * X["x250"] - 4 * X["x290"] + 0.5 * rng.normal(size=80)
    found = compare(Data.from_frame(X, y.to_numpy()), repeats=1, methods=["Lasso"])
    assert found.recommended.importances.columns[:2] == ("x250", "x290")
    assert len(found.recommended.importances.columns) == 200
    assert {"x250", "x290"} <= {effect.column for effect in found.explanation.effects}


def test_classes_have_effects_on_their_probabilities(rng):
    x = rng.normal(size=300)
    y = np.where(x + 0.5 * rng.normal(size=300) > 0, "yes", "no")
    data = Data.from_frame(pd.DataFrame({"x": x, "other": rng.normal(size=300)}), y)
    found = compare(data, repeats=1, methods=["LogisticRegression", "LinearSVC"])
    for candidate in found.candidates:
        if not candidate.is_baseline:
            assert candidate.importances.columns[0] == "x"
    measures = {item.name: item.importances.measure for item in found.candidates if item.importances}
    assert measures == {"LogisticRegression": "Brier score", "LinearSVC": "share of wrong classes"}
    effect = by_column(found)["x"]
    assert effect.outputs == ("yes",)
    assert effect.curves[-1, 0] - effect.curves[0, 0] > 0.7


class Certain:
    """Says with probability 0 or 1 which side of zero the first feature is on."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.column_stack([X[:, 0] <= 0, X[:, 0] > 0]).astype(float)


class Naming:
    """Names the same class without a probability."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


def test_the_error_of_classes_is_the_brier_score_or_the_share_of_wrong_ones(rng):
    y, labels = np.array([0, 1]), np.array([0, 1])
    brier, wrong = loss_of(Certain(), labels), loss_of(Naming(), labels)
    assert brier(y, np.array([[0.8, 0.2], [0.6, 0.4]])).tolist() == pytest.approx([0.08, 0.72])
    # Certainty that is wrong has a Brier score of 2, whatever the probabilities of the other rows are.
    certain = np.array([[1.0, 0.0], [1.0, 0.0]])
    assert brier(y, certain).tolist() == [0.0, 2.0]
    assert wrong(y, certain).tolist() == [0.0, 1.0]
    X = rng.normal(size=(60, 2))
    groups = [np.array([0]), np.array([1])]
    ask = Examination((X[:, 0] > 0).astype(int), groups, labels, seed=0)
    cost = ask(Certain(), X)
    assert cost[0] == pytest.approx(2 * ask(Naming(), X)[0])
    assert cost[0] > 0.5
    assert cost[1] == 0.0


def test_three_classes_are_all_followed(classification):
    effect = classification.explanation.effects[0]
    assert effect.outputs == ("setosa", "versicolor", "virginica")
    assert_allclose(effect.curves.sum(axis=1), 0.0, atol=1e-9)


def test_of_many_classes_the_commonest_are_followed_and_it_is_said(rng):
    y = rng.permutation(np.repeat(["a", "b", "c", "d", "e", "f"], [40, 10, 30, 20, 9, 25]))
    X = rng.normal(size=(len(y), 2)) + 2 * (y == "a")[:, None]
    data = Data.from_frame(pd.DataFrame(X, columns=["size", "age"]), y)
    found = compare(data, folds=3, repeats=1, methods=("LinearDiscriminantAnalysis",))
    assert found.explanation.effects[0].outputs == ("a", "c", "d", "f")
    assert "How the probabilities of the 4 commonest of 6 classes move around" in explanations(found)


def test_the_page_shows_the_section_and_every_model_says_what_it_relies_on(explained):
    page = explanations(explained)
    assert page.count('<div class="figures small">') == 1
    # Beside importances and learning curve those columns whose importance is clear, and no level lines.
    assert page.count("<figure>") == 2 + len(explained.explanation.importances.matters) == 4
    other = next(item for item in explained.candidates if item not in (explained.recommended,))
    assert "relies most on size and town" in relies_on(other)


@pytest.mark.parametrize(
    ("n_columns", "repeats", "examined"), [(250, 1, True), (251, 1, False), (200, 3, True), (251, 3, False)]
)
def test_the_rows_for_a_column_are_those_of_all_repetitions(rng, n_columns, repeats, examined):
    """Of 5,000 predictions a column gets twenty rows, which the repetitions of the folds share."""
    features, groups = rng.normal(size=(60, 3)), [np.array([0])] * n_columns
    model = Counting(features, None)
    found = Examination(np.zeros(60), groups, None, 0, repeats=repeats)(model, features)
    assert (found is not None) == examined


def test_the_remarks_tell_importances_and_more_rows(explained):
    told = " ".join(explained.remarks)
    assert "It relies most on size and town: shuffling one of them takes" in told
    assert "ore rows would" in told


def test_no_column_that_matters_is_said_so():
    nothing = Importances("R²", ("a", "b"), np.array([0.01, -0.02]), np.array([0.02, 0.02]))
    assert weight_of_columns(nothing).startswith("No single column matters")
    between = Importances("R²", ("a", "b", "c"), np.array([0.3, 0.2, 0.1]), np.array([0.02, 0.15, 0.01]))
    assert weight_of_columns(between) == (
        "It relies most on a and c: shuffling one of them takes 0.30 ± 0.02 and 0.10 ± 0.01 from the R², in "
        "turn."
    )
    one = Importances("Brier score", ("a", "b"), np.array([0.3, 0.0]), np.array([0.02, 0.02]))
    assert weight_of_columns(one) == (
        "It relies most on a: shuffling it adds 0.30 ± 0.02 to the Brier score."
    )


@pytest.mark.parametrize(
    ("gain", "words"),
    [
        (Difference(0.05, 0.01, 0.01), "More rows would help"),
        (Difference(0.001, 0.001, 0.4), "More rows would hardly help"),
        (Difference(0.005, 0.004, 0.2), "Whether more rows would help is not clear"),
        (Difference(0.03, 0.02, 0.2), "Whether more rows would help is not clear"),
    ],
)
def test_the_sentence_on_more_rows(gain, words):
    curve = LearningCurve(np.array([50, 100]), np.array([0.5, 0.5]), np.array([0.1, 0.1]), gain, "R²")
    assert curve.sentence.startswith(f"{words}: from 50 to 100 rows it gained")


class Counting:
    """Predicts the number of rows that it has learnt from."""

    def __init__(self, features, target):
        self.n_rows, self.rows = len(features), {tuple(row) for row in features}

    def predict(self, X):
        return np.full(len(X), float(self.n_rows))


def test_the_learning_curve_learns_from_a_quarter_and_a_half_inside_each_other(rng):
    seen: list[Counting] = []

    def fit(number, some):
        seen.append(Counting(rows[0][some], rows[1][some]))
        return seen[-1]

    def judge(model, number):
        return float(model.n_rows)

    rows = (rng.normal(size=(400, 2)), rng.normal(size=400), np.zeros((3, 2)))
    options = {"judge": judge, "score_name": "R²", "seed": 0, "share": 0.5}
    curve = learning_curve(fit, [rows, rows], np.array([400.0, 400.0]), **options)
    assert curve.sizes.tolist() == [100, 200, 400]
    assert curve.scores.tolist() == [100, 200, 400]
    assert curve.gain.mean == 200  # from a half of the rows to all of them
    assert seen[0].rows < seen[2].rows
    few = tuple(part[:30] for part in rows)
    assert learning_curve(fit, [few], np.array([0.0]), **options) is None


@pytest.mark.parametrize("kind", ["times", "groups"])
def test_the_learning_curve_learns_from_the_latest_rows_and_from_whole_groups(rng, kind):
    learnt: list[np.ndarray] = []
    rows = (np.zeros((400, 1)), rng.normal(size=400), np.zeros((3, 1)))
    known = rng.permutation(400).astype(float) if kind == "times" else rng.integers(0, 40, 400)
    learning_curve(
        lambda number, some: learnt.append(some),
        [rows],
        np.array([1.0]),
        judge=lambda model, number: 0.0,
        score_name="R²",
        seed=0,
        share=0.5,
        tunings=[Tuning(**{kind: known})],
    )
    assert len(learnt) == 2
    for some, n_rows in zip(learnt, (100, 200), strict=True):
        if kind == "times":
            assert sorted(known[some]) == list(range(400 - n_rows, 400))
        else:
            assert n_rows - 30 < len(some) <= n_rows
            assert not set(known[some]) & set(np.delete(known, some))


@pytest.mark.parametrize("metric", ["log-loss", "auc", "f1"])
def test_the_learning_curve_is_of_the_metric(rng, metric):
    x = rng.normal(size=240)
    y = np.where(x + rng.normal(size=240) > 0, "yes", "no")
    data = Data.from_frame(pd.DataFrame({"x": x}), y)
    found = compare(data, folds=2, repeats=1, methods=["LogisticRegression"], metric=metric)
    curve = found.explanation.learning
    assert curve.score_name == found.score_name
    assert curve.scores[-1] == pytest.approx(curve.sign * found.recommended.score)
    assert (curve.scores > 0).all()


def test_the_sentence_of_an_error_tells_that_it_falls():
    gain = Difference(2.0, 0.5, 0.01)
    curve = LearningCurve(np.array([50, 100]), np.array([9.0, 7.0]), np.array([1.0, 1.0]), gain, "RMSE", -1)
    assert curve.sentence == "More rows would help: from 50 to 100 rows its RMSE fell by 2.00 ± 0.50."
    worse = curve._replace(gain=Difference(-0.2, 0.05, 0.1))
    assert worse.sentence == (
        "More rows would hardly help: from 50 to 100 rows its RMSE rose by 0.20 ± 0.05."
    )


def test_the_sentence_on_the_error_of_a_member_says_whose_it_is():
    gain, errors = Difference(2.0, 0.5, 0.01), np.array([1.0, 1.0])
    curve = LearningCurve(np.array([50, 100]), np.array([9.0, 7.0]), errors, gain, "RMSE", -1, member="Ridge")
    told = "More rows would help: from 50 to 100 rows the RMSE of Ridge, its strongest member, fell by"
    assert curve.sentence == f"{told} 2.00 ± 0.50."


def test_more_rows_help_a_law_that_is_barely_learnt(rng):
    X = rng.normal(size=(130, 60))
    y = X @ rng.normal(size=60) + 0.5 * rng.normal(size=130)
    frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(60)])
    found = compare(Data.from_frame(frame, y), repeats=1, methods=["Ridge"])
    assert found.explanation.learning.sentence.startswith("More rows would help")


def test_balanced_accuracies_are_those_of_counting(rng):
    rare, shares = rng.random(100) < 0.2, rng.random(100)
    thresholds = np.array([0.1, 0.35, 0.8])
    expected = [((shares[rare] >= cut).mean() + (shares[~rare] < cut).mean()) / 2 for cut in thresholds]
    assert_allclose(scores_along(rare, shares, thresholds, BALANCED), expected)
    best = best_threshold(rare, shares)
    assert scores_along(rare, shares, np.array([best]), BALANCED)[0] == pytest.approx(
        max(scores_along(rare, shares, np.append(shares, [0.0, 1.1]), BALANCED)), abs=0.02
    )


@pytest.mark.parametrize("wish", ["accuracy", "balanced-accuracy", "f1", "cost:loss"])
def test_a_measure_from_counts_is_that_of_the_rows(rng, wish):
    rare, shares, costs = rng.random(80) < 0.2, rng.random(80), rng.uniform(0, 9, 80)
    frame = pd.DataFrame({"loss": costs})
    metric = metric_of(wish, "classification", Data.from_frame(frame, np.where(rare, "b", "a")))
    labels = np.array([False, True])
    thresholds = np.array([0.0, 0.2, 0.5, 1.1])
    known = costs if wish == "cost:loss" else None
    own = metric.of_counts(counts_along(rare, shares, thresholds, known))
    rows = [metric.measure(Judged(rare, shares >= cut, None, labels, costs)) for cut in thresholds]
    assert_allclose(own, rows)


def outputs(y, shares, folds):
    """What a model of these probabilities says, in one repetition."""
    labels = np.unique(y)
    return Outputs(labels[(shares[:, 1] > 0.5).astype(int)], shares, None, folds)


def rare_law(rng, n=2000):
    """Share 0.1 of the rows is rare, at N(1.5, 1) against N(0, 1); true probabilities."""
    rare = rng.random(n) < 0.1
    x = rng.normal(size=n) + 1.5 * rare
    odds = 0.1 / 0.9 * np.exp(1.5 * x - 1.125)
    share = odds / (1 + odds)
    return rare, np.column_stack([1 - share, share])


def test_the_threshold_of_true_probabilities_is_the_share_of_the_class(rng):
    """Balanced accuracy is greatest where the likelihoods are equal: at the prior probability."""
    rare, shares = rare_law(rng, 20_000)
    y = np.where(rare, "yes", "no")
    folds = np.arange(y.size) % 5
    options = {"labels": np.array(["no", "yes"]), "names": ("no", "yes")}
    found = choose_threshold(y, [outputs(y, shares, folds)], **options)
    assert found.label == "yes"
    assert found.place == 1
    assert found.value == pytest.approx(0.1, abs=0.03)
    assert found.after > found.before + 0.1
    assert found.helps
    assert found.sentence.startswith(f"Named from a probability of {found.value:.2f} on")
    # Accuracy asks for one half of true probabilities: there is nothing to gain.
    plain = choose_threshold(y, [outputs(y, shares, folds)], metric=ACCURACY, **options)
    assert plain.value == pytest.approx(0.5, abs=0.15)
    assert plain.measure == "accuracy"
    assert plain.sentence.startswith(
        "No other threshold than the likelier class would name 'yes' better: acc"
    )


def test_the_middle_of_equally_good_thresholds_is_chosen():
    rare, shares = np.array([False, False, True, True]), np.array([0.1, 0.2, 0.8, 0.9])
    assert best_threshold(rare, shares) == pytest.approx(0.5, abs=0.01)


def test_the_threshold_of_a_fold_is_chosen_on_the_others(rng):
    """Labels of one fold turned around leave what is named in it as it was, and change the others."""
    rare, shares = rare_law(rng, 600)
    folds = np.arange(600) % 3
    before = named_out_of_fold(rare, shares[:, 1], folds)
    turned = np.where(folds == 0, ~rare, rare)
    after = named_out_of_fold(turned, shares[:, 1], folds)
    np.testing.assert_array_equal(before[folds == 0], after[folds == 0])
    assert np.any(before != after)


def test_the_threshold_of_a_later_time_is_chosen_on_the_times_before(rng):
    rare, shares = rare_law(rng, 600)
    folds, shares = np.repeat([0, 1, 2], 200), shares[:, 1]
    before = named_out_of_fold(rare, shares, folds, in_order=True)
    np.testing.assert_array_equal(before[folds == 0], shares[folds == 0] > 0.5)
    turned = np.where(folds == 2, ~rare, rare)
    np.testing.assert_array_equal(named_out_of_fold(turned, shares, folds, in_order=True), before)
    turned = np.where(folds == 0, ~rare, rare)
    after = named_out_of_fold(turned, shares, folds, in_order=True)
    assert np.any(before[folds == 1] != after[folds == 1])


def test_balanced_or_many_classes_need_no_threshold(rng):
    y = np.arange(90) % 3
    shares = rng.dirichlet(np.ones(3), size=90)
    folds = np.arange(90) % 5
    said = [Outputs(y, shares, None, folds)]
    assert choose_threshold(y, said, labels=np.arange(3), names=("a", "b", "c")) is None
    two = y == 0
    half = np.arange(90) % 2 == 0
    options = {"labels": np.array([False, True]), "names": ("a", "b")}
    assert choose_threshold(half, [outputs(half, shares[:, :2], folds)], **options) is None
    assert choose_threshold(two, [outputs(two, shares[:, :2], folds)], **options) is None  # a third is many


def test_a_comparison_of_a_rare_class_tells_its_threshold(rng):
    rare, _ = rare_law(rng, 500)
    x = rng.normal(size=500) + 2.0 * rare
    data = Data.from_frame(pd.DataFrame({"x": x}), np.where(rare, "yes", "no"))
    found = compare(data, repeats=1, methods=["LogisticRegression"])
    assert found.explanation.threshold.label == "yes"
    assert any(remark.startswith("Named from a probability of 0.") for remark in found.remarks)


@pytest.mark.parametrize("wish", [None, "accuracy", "f1", "cost:loss", "auc"])
def test_the_threshold_follows_the_metric_and_its_figures_are_those_of_the_table(rng, wish):
    """Before: the mean over all splits of all repeats that the leaderboard shows. After: out of fold."""
    rare, _ = rare_law(rng, 300)
    frame = pd.DataFrame({"x": rng.normal(size=300) + 1.5 * rare, "loss": np.where(rare, 9.0, 1.0)})
    frame["loss"] += rng.uniform(0, 1, 300)
    data = Data.from_frame(
        frame[["x", "loss"]] if wish == "cost:loss" else frame[["x"]], np.where(rare, "b", "a")
    )
    found = compare(data, folds=3, repeats=2, methods=["LogisticRegression"], metric=wish)
    chosen = next(item for item in found.candidates if item.name == "LogisticRegression")
    threshold = found.explanation.threshold
    measure = {"accuracy": "accuracy", "f1": "F1", "cost:loss": "share of loss lost"}
    assert threshold.measure == measure.get(wish, "balanced accuracy")
    table = chosen.measures | {found.score_name: chosen.sign * chosen.score}
    assert threshold.before == pytest.approx(table[threshold.measure])
    metric = metric_of(wish or "balanced-accuracy", "classification", data)
    metric = BALANCED if metric.of_probabilities else metric
    scores = []
    for said in chosen.repeats:
        for fold in np.unique(said.folds):
            inside, shares = said.folds == fold, said.probabilities[:, 1]
            costs = None if metric.costs is None else metric.costs[~inside]
            cut = best_threshold(rare[~inside], shares[~inside], metric, costs)
            told = np.where(shares[inside] >= cut, "b", "a")
            known = None if metric.costs is None else metric.costs[inside]
            scores.append(metric.measure(Judged(data.y[inside], told, None, data.labels, known)))
    assert threshold.after == pytest.approx(np.mean(scores))
    assert json.loads(to_json(found))["explanation"]["threshold"]["measure"] == threshold.measure


def test_where_the_commonest_class_is_not_beaten_a_threshold_is_still_told():
    rng = np.random.default_rng(1)  # of a law that is too hard for the accuracy
    rare = rng.random(600) < 0.1
    data = Data.from_frame(pd.DataFrame({"x": rng.normal(size=600) + rare}), np.where(rare, "yes", "no"))
    found = compare(data, repeats=1, methods=["LogisticRegression"])
    assert found.recommended.is_baseline
    assert found.explanation.threshold.method == "LogisticRegression"
    assert found.remarks[-1].startswith("With LogisticRegression, named from a probability of 0.")
    assert "threshold" not in about_model(found)
    assert "What LogisticRegression has learnt" in explanations(found)


def test_folds_in_the_order_of_the_time_are_explained_on_the_rows_that_they_predict(rng):
    rare, _ = rare_law(rng, 400)
    frame = pd.DataFrame({"x": rng.normal(size=400) + 2.0 * rare, "when": np.arange(400.0)})
    frame["y"] = np.where(rare, "yes", "no")
    data = choose_data(RawTable("made", frame), target="y", time="when")
    found = compare(data, folds=3, methods=["LogisticRegression"])
    chosen = found.recommended
    assert len(chosen.probabilities) == len(found.data.y) < 400
    threshold = found.explanation.threshold
    rare, shares = found.data.y == "yes", chosen.probabilities[:, 1]
    assert_allclose(threshold.curve, scores_along(rare, shares, threshold.grid, BALANCED))
    assert found.explanation.effects[0].column == "x"


def test_predictions_below_zero_of_a_target_that_never_is_are_told():
    y = np.array([0.0, 1.0, 5.0, 9.0])
    told = list(below_zero(y, np.array([-1.0, 1.0, 5.0, 9.0]), "price"))
    assert told == [
        "25.0% of its predictions of unseen rows are below zero, where price never is: read them as zero, or "
        "take a method for such targets."
    ]
    assert not list(below_zero(y, y, "price"))
    assert not list(below_zero(y - 1, -y, "price"))


def test_an_explanation_of_nothing_says_nothing():
    assert Explanation().sentences == ()


@pytest.mark.parametrize(("limit", "n_splits"), [("LARGE_TABLE", 2), ("LARGE_NUMBERS", 2), (None, 5)])
def test_two_splits_explain_a_model_of_many_rows_or_numbers(rng, monkeypatch, limit, n_splits):
    refits, real = [], Recipe.refit
    monkeypatch.setattr(Recipe, "refit", lambda self, *rest: refits.append(rest) or real(self, *rest))
    monkeypatch.setattr(supervised, "KEPT_ROWS", 0)
    if limit is not None:
        monkeypatch.setattr(following, limit, 50)
    X = rng.normal(size=(60, 2))
    data = Data.from_frame(pd.DataFrame(X, columns=["a", "b"]), X[:, 0] + 0.1 * rng.normal(size=60))
    told = compare(data, methods=("LinearRegression",), repeats=1).explanation
    assert len(refits) == n_splits
    assert told.effects


@pytest.mark.parametrize(("limit", "n_kept"), [(50, 2), (10**6, 10)])
def test_models_that_explain_nothing_are_let_go(rng, monkeypatch, limit, n_kept):
    """Of a wide table, the models of all splits would fill the memory."""
    kept, real = [], supervised.ValidatedMethod.conclude

    def conclude(method, results):
        if method.entry is not None:
            kept.append([said.model is not None for said in results[:-1]])
        return real(method, results)

    monkeypatch.setattr(supervised.ValidatedMethod, "conclude", conclude)
    monkeypatch.setattr(following, "LARGE_NUMBERS", limit)
    X = rng.normal(size=(60, 2))
    data = Data.from_frame(pd.DataFrame(X, columns=["a", "b"]), X[:, 0] + 0.1 * rng.normal(size=60))
    assert compare(data, methods=("Ridge",), repeats=2).explanation.effects
    assert kept == [[True] * n_kept + [False] * (10 - n_kept)]


def test_the_models_of_the_splits_explain_an_ensemble_of_few_rows_as_others_fitted_alike_would(
    rng, monkeypatch
):
    """Methods that choose nothing: fitted again on a split they are the same models."""
    monkeypatch.setattr(comparison, "clear_ensemble", lambda found: found.candidates[-1])
    X = rng.normal(size=(80, 2))
    y = 2 * X[:, 0] + 2 * np.abs(X[:, 1]) + 0.5 * rng.normal(size=80)
    data = Data.from_frame(pd.DataFrame(X, columns=["a", "b"]), y)
    asked = {"methods": ("LinearRegression", "RandomForestRegressor", "Ensemble"), "repeats": 1, "folds": 2}
    refits = []
    monkeypatch.setattr(EnsembleRecipe, "refit", lambda self, *rest: refits.append(rest))
    kept = compare(data, **asked)
    assert kept.recommended.is_ensemble
    assert not refits
    monkeypatch.undo()
    monkeypatch.setattr(comparison, "clear_ensemble", lambda found: found.candidates[-1])
    monkeypatch.setattr(supervised, "KEPT_ROWS", 0)
    again = compare(data, **asked)
    assert_allclose(kept.explanation.importances.means, again.explanation.importances.means)
    for one, other in zip(kept.explanation.effects, again.explanation.effects, strict=True):
        assert_allclose(one.curves, other.curves)


def test_one_repetition_explains_an_ensemble_and_all_a_single_model():
    encodings = SimpleNamespace(target=np.zeros(60), parts=range(6))
    asked = SimpleNamespace(settings=SimpleNamespace(encodings=encodings, folds=3))
    for kind, n_splits in ((EnsembleRecipe, 3), (Recipe, 6)):
        trial = SimpleNamespace(
            encodings=[SimpleNamespace(train=np.zeros((40, 2)))], recipe=kind.__new__(kind)
        )
        assert following.Afterwards._n_splits(asked, trial) == n_splits


def test_the_learning_curve_of_an_ensemble_is_that_of_its_strongest_member(rng, monkeypatch):
    monkeypatch.setattr(comparison, "clear_ensemble", lambda found: found.candidates[-1])
    X = pd.DataFrame(rng.normal(size=(250, 3)), columns=list("abc"))
    y = 2 * X["a"] + 3 * np.sin(2.5 * X["c"]) + 0.5 * rng.normal(size=250)
    asked = ["Ridge", "KernelRidge", "Ensemble"]
    found = compare(Data.from_frame(X, y.to_numpy()), folds=3, repeats=1, methods=asked)
    assert found.recommended.is_ensemble
    weights = found.recommended.weights
    strongest = max(weights, key=weights.get)
    member = next(item for item in found.candidates if item.name == strongest)
    learning = found.explanation.learning
    assert learning.scores[-1] == pytest.approx(member.scores.mean())
    assert f"rows {strongest}, its strongest member, gained" in learning.sentence
    assert f"Of {strongest}, the strongest member." in explanations(found)
    assert json.loads(to_json(found))["explanation"]["learning_curve_of"] == strongest
    # Its first point takes no fit of the other member.
    fits, real = [], Recipe.fit
    monkeypatch.setattr(Recipe, "fit", lambda self, *rest: fits.append(self.name) or real(self, *rest))
    compare(Data.from_frame(X, y.to_numpy()), folds=3, repeats=1, methods=asked)
    assert fits.count(strongest) == 4 + 2 * 3
    assert {fits.count(name) for name in weights if name != strongest} == {4}


def test_every_picture_of_a_recommended_forest_can_be_drawn(rng):
    """Trees that are grown on all rows have none left to measure the importance of columns by."""
    X = pd.DataFrame(rng.normal(size=(60, 2)), columns=["a", "b"])
    data = Data.from_frame(X, np.where(X["a"] * X["b"] > 0, "same", "other"))
    for name, shown in (("ExtraTreesClassifier", False), ("RandomForestClassifier", True)):
        found = compare(data, methods=[name], repeats=1, folds=2)
        drawings = list(of_the_model(found, found.candidates[0]))
        assert ("importance" in model_kinds(found.candidates[0].model, 60)) == shown
        for drawing in drawings:
            drawing.on_axes(Figure().subplots())


def test_a_gain_that_no_decimal_shows_is_no_reason_for_more_rows():
    gain = Difference(0.0002, 0.00001, 0.0001)
    told = np.array([50, 100]), np.array([0.9997, 0.9999]), np.array([1e-5, 1e-5]), gain
    sentence = LearningCurve(*told, "R²").sentence
    assert sentence == "More rows would hardly help: from 50 to 100 rows it gained less than 0.001 in R²."
    error = LearningCurve(
        np.array([50, 100]), np.array([0.0009, 0.0007]), np.array([1e-5, 1e-5]), gain, "MAE", -1
    )
    assert error.sentence.startswith("More rows would help")  # an error has a unit, and may be small


def test_the_partner_of_a_column_is_found_beside_missing_values_whichever_features_are_whose():
    rng = np.random.default_rng(0)
    size, other = rng.normal(size=(2, 200))
    features = np.column_stack([size, other, -other, size + 0.1 * other])  # two ways of each of two columns
    features[::7, 0] = features[3::11, 3] = np.nan
    columns = tuple(SimpleNamespace(name=name, learnable=True) for name in ("size", "other", "empty", "copy"))
    groups = [np.array([0]), np.array([1, 2]), np.array([], dtype=np.intp), np.array([3])]
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):  # the second puts the features of a column apart
        places = np.argsort(order)
        encoder = SimpleNamespace(columns=columns, groups=lambda p=places: [p[group] for group in groups])
        whole = SimpleNamespace(encoder=encoder, features=features[:, order])
        name, strength = partner_of(whole, "size")
        assert name == "copy"
        assert strength > 0.8
        assert partner_of(whole, "other")[1] < 0.3


@pytest.mark.parametrize("n_days", [30, 300, 3000])
def test_dates_below_a_small_picture_stand_apart(rng, n_days):
    """The first, the middle and the last day, each as coarse as the span allows."""
    days = np.linspace(19000, 19000 + n_days, 12)
    curve = np.zeros((12, 1))
    effect = Effect("day", "date", days, (), curve, curve + 0.1)
    ax = Figure(figsize=(2.3, 1.7), layout="constrained").subplots()
    draw_effect(effect, (-1.0, 1.0), ax)
    ax.figure.draw_without_rendering()
    boxes = [text.get_window_extent() for text in ax.get_xticklabels()]
    assert len(boxes) == 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_gain_of_an_ensemble_that_no_decimal_shows_is_told_in_words(explained):
    ensemble = replace(explained.best, weights={"a": 0.5, "b": 0.5})
    assert "gains less than 0.001 in R² against the best single one" in weights_in_words(explained, ensemble)
