"""What decides a comparison: each metric by hand, its direction, and that it moves the recommendation."""

from __future__ import annotations

import dataclasses
import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_pinball_loss

from assay.report import Data, RawTable, ReportError, choose_data, compare, render
from assay.report.page.explanations import weights_in_words
from assay.report.page.strips import scale_notes, scale_of
from assay.report.results import to_json
from assay.report.trials.scoring.metrics import KNOWN, Judged, metric_of, pinball
from assay.report.trials.supervised import measures_of

LABELS = np.array([0, 1])
SOME = Judged(
    np.array([0, 0, 1, 1, 1]),
    np.array([0, 1, 1, 1, 1]),
    np.array([[0.9, 0.1], [0.4, 0.6], [0.2, 0.8], [0.3, 0.7], [0.45, 0.55]]),
    LABELS,
)
BY_HAND = {
    "accuracy": 4 / 5,
    "balanced-accuracy": (1 / 2 + 1) / 2,
    "f1": (2 / 3 + 6 / 7) / 2,
    "auc": 5 / 6,  # of six pairs of a one and a zero, one stands the wrong way round
    "log-loss": -np.log([0.9, 0.4, 0.8, 0.7, 0.55]).mean(),
    "brier": 2 * np.mean(np.array([0.1, 0.6, 0.2, 0.3, 0.45]) ** 2),
}


@pytest.mark.parametrize("metric", KNOWN["classification"], ids=lambda metric: metric.key)
def test_metrics_of_classes_are_those_computed_by_hand(metric):
    assert metric.measure(SOME) == pytest.approx(BY_HAND[metric.key])
    assert metric.score(SOME) == pytest.approx(metric.sign * BY_HAND[metric.key])


def test_metrics_of_numbers_are_those_computed_by_hand(rng):
    y, said = rng.normal(size=(2, 50))
    rows = Judged(y, said)
    own = {metric.key: metric.measure(rows) for metric in KNOWN["regression"]}
    assert own["r2"] == pytest.approx(1 - np.sum((y - said) ** 2) / np.sum((y - y.mean()) ** 2))
    assert own["rmse"] == pytest.approx(np.sqrt(np.mean((y - said) ** 2)))
    assert own["mae"] == pytest.approx(np.mean(np.abs(y - said)))
    assert pinball(0.9).measure(rows) == pytest.approx(mean_pinball_loss(y, said, alpha=0.9))


def test_an_area_is_not_measured_where_a_class_is_missing():
    metric = metric_of("auc", "classification", None)
    lacking = Judged(SOME.y[2:], SOME.predictions[2:], SOME.probabilities[2:], LABELS)
    assert np.isnan(metric.measure(lacking))
    told = measures_of([SOME, lacking], KNOWN["classification"][0])
    assert told["ROC AUC"] == pytest.approx(5 / 6)  # that of the splits which tell it
    assert told["balanced accuracy"] == pytest.approx((3 / 4 + 1) / 2)
    assert "ROC AUC" not in measures_of([lacking], KNOWN["classification"][0])


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["size"] = rng.uniform(1, 5, 90)
    return Data.from_frame(frame, X[:, 0] + 0.5 * rng.standard_t(2, size=90), name="made")


@pytest.fixture(scope="module")
def classes():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(120, 3))
    y = np.where(X[:, 0] + rng.normal(size=120) > 1.2, "rare", "usual")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["loss"] = rng.uniform(0, 9, 120)
    return Data.from_frame(frame, y, name="made")


def by_name(comparison):
    return {item.name: item for item in comparison.candidates}


@pytest.mark.parametrize("wish", ["rmse", "MAE", "pinball:0.8", "cost:size"])
def test_errors_decide_and_are_told_as_errors(numbers, wish):
    methods = ("LinearRegression", "HuberRegressor")
    found = compare(numbers, repeats=1, methods=methods, metric=wish)
    metric = metric_of(wish, "regression", numbers)
    assert found.score_name == metric.name
    means = [item.score for item in found.candidates if not item.is_ensemble]
    assert means == sorted(means, reverse=True)
    assert all(item.score < 0 for item in found.candidates)
    best = found.best
    assert not best.shown_score.startswith("−")
    assert f"{metric.name} {found.shown_score(found.recommended)}" in found.headline
    told = json.loads(to_json(found))
    assert told["greater_is_better"] is False
    assert told["candidates"][0]["score"] == pytest.approx(-best.score)
    if wish.lower() in ("rmse", "mae"):
        assert best.measures[metric.name] == pytest.approx(-best.score)


def test_costs_are_those_of_the_rows_in_error(classes):
    found = compare(classes, repeats=1, methods=("LogisticRegression",), metric="cost:loss")
    own = by_name(found)["LogisticRegression"]
    costs = classes.X["loss"].to_numpy()
    from sklearn.model_selection import RepeatedStratifiedKFold

    parts = RepeatedStratifiedKFold(n_splits=5, n_repeats=1, random_state=0).split(classes.X, classes.y)
    wrong = own.predictions != classes.y
    shares = [costs[test] @ wrong[test] / costs[test].sum() for _, test in parts]
    np.testing.assert_allclose(-own.scores, shares)


def test_costs_that_are_set_aside_judge_and_are_not_learnt_from(classes):
    frame = classes.X.assign(y=classes.y)
    aside = choose_data(RawTable("made", frame), target="y", drop=("loss",))
    assert aside.feature_names == ["a", "b", "c"]
    asked = {"repeats": 1, "folds": 3, "methods": ("LinearDiscriminantAnalysis",), "metric": "cost:loss"}
    found, learnt = compare(aside, **asked), compare(classes, **asked)
    told = "The costs 'loss' are learnt from too: unless they are known before y, --drop loss keeps them"
    assert [any(text.startswith(told) for text in item.remarks) for item in (found, learnt)] == [False, True]
    own, costs = by_name(found)["LinearDiscriminantAnalysis"], classes.X["loss"].to_numpy()
    folds = own.repeats[0].folds
    wrong = own.predictions != aside.y
    shares = [costs[folds == fold] @ wrong[folds == fold] / costs[folds == fold].sum() for fold in range(3)]
    np.testing.assert_allclose(-own.scores, shares)
    assert found.data.at(np.arange(5)).aside["loss"].tolist() == costs[:5].tolist()


@pytest.mark.parametrize("wish", ["auc", "log-loss", "brier"])
def test_metrics_of_probabilities_leave_out_methods_without_any(classes, wish):
    methods = ("LogisticRegression", "LinearSVC")
    found = compare(classes, folds=3, repeats=1, methods=methods, metric=wish)
    assert "LinearSVC" not in by_name(found)
    name = metric_of(wish, "classification", classes).name
    assert any(
        f"LinearSVC was left out: it has no probabilities for {name}" in item for item in found.skipped
    )
    if wish == "auc":
        assert by_name(found)["Baseline"].score == 0.5


def test_the_measures_are_means_over_all_splits_of_all_repeats(classes):
    """Figures beside the score come from the same rows and repeats as the score itself."""
    method = "RandomForestClassifier"  # which has no parameter to choose by the metric
    found = compare(classes, folds=3, repeats=2, methods=(method,))
    again = {
        wish: compare(classes, folds=3, repeats=2, methods=(method,), metric=wish)
        for wish in ("balanced-accuracy", "auc", "log-loss", "brier")
    }
    own = by_name(found)[method]
    assert len(own.scores) == 6
    for wish, other in again.items():
        metric = metric_of(wish, "classification", classes)
        score = by_name(other)[method].score
        assert own.measures[metric.name] == pytest.approx(metric.sign * score)
        assert by_name(other)[method].measures["accuracy"] == pytest.approx(own.score)
    assert f"wrong class in {1 - found.recommended.score:.1%} of cases" in " ".join(found.remarks)
    assert by_name(found)["Baseline"].measures["ROC AUC"] == 0.5


@pytest.mark.parametrize(
    ("wish", "does", "perfect"),
    [
        ("accuracy", "naming the commonest class", "1 is perfect; the baseline always names the commonest"),
        ("balanced-accuracy", "naming the commonest class", "1 is perfect; the baseline always names"),
        ("auc", "giving the shares of the classes", "1 is perfect; the baseline always gives the shares of"),
        (
            "log-loss",
            "giving the shares of the classes",
            "0 is perfect; the baseline always gives the shares",
        ),
        ("cost:loss", "naming the commonest class", "0 is perfect; the baseline always names the commonest"),
    ],
)
def test_what_the_baseline_does_is_told_as_the_metric_sees_it(classes, wish, does, perfect):
    """Its log-loss is that of the shares: a class that is named for sure would have an infinite one."""
    methods = ("LogisticRegression", "LinearDiscriminantAnalysis")
    found = compare(classes, folds=3, repeats=1, methods=methods, metric=wish)
    said = [*found.remarks, found.headline]
    assert any(f"gainst always {does} it " in text for text in said)
    assert perfect in scale_notes(found, scale_of(found.candidates))
    assert not any("Against always" in text and does not in text for text in said)
    definition = "share of all costs that lie in the rows whose class is named wrong"
    assert (definition in render(found)) == (wish == "cost:loss")


@pytest.mark.parametrize(
    ("wish", "words"), [("r2", "0 no better than the mean"), ("mae", "0 is perfect; the")]
)
def test_what_is_perfect_is_told_of_the_metric(numbers, wish, words):
    found = compare(numbers, folds=3, repeats=1, methods=("LinearRegression", "Ridge"), metric=wish)
    assert words in scale_notes(found, scale_of(found.candidates))


def test_an_ensemble_lowers_an_error_and_gains_in_a_score(numbers):
    for wish, words in (("r2", r"(gains|loses) .* in R²"), ("mae", r"(lowers|raises) the MAE by .*")):
        found = compare(numbers, folds=3, repeats=1, methods=("LinearRegression", "Ridge"), metric=wish)
        ensemble = dataclasses.replace(found.best, weights={"LinearRegression": 0.5, "Ridge": 0.5})
        assert re.search(f"{words} against the best single one", weights_in_words(found, ensemble))


def test_the_metric_moves_the_recommendation():
    """Where errors are skewed, a robust line is nearer to the median and least squares to the mean."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 2))
    y = X[:, 0] + rng.gamma(0.4, 4.0, size=400)
    data = Data.from_frame(pd.DataFrame(X, columns=["a", "b"]), y)
    options = {"repeats": 1, "methods": ("LinearRegression", "HuberRegressor")}
    assert compare(data, metric="mae", **options).recommended.name == "HuberRegressor"
    assert compare(data, metric="rmse", **options).best.name == "LinearRegression"


@pytest.mark.parametrize(
    ("task", "wish", "sentence"),
    [
        (
            "regression",
            "auc",
            "The metric of a regression must be one of r2, rmse, mae, pinball:0.9, cost:COLUMN",
        ),
        (
            "classification",
            "rmse",
            "The metric of a classification must be one of accuracy, balanced-accuracy",
        ),
        ("regression", "pinball:2", "The quantile of --metric pinball:Q must be between 0 and 1. Got '2'"),
        ("regression", "cost:nothing", "There is no column 'nothing' of costs"),
        ("regression", "cost:a", "The costs 'a' must be numbers from zero up"),
    ],
)
def test_bad_metrics_get_one_sentence(numbers, classes, task, wish, sentence):
    data = numbers if task == "regression" else classes
    with pytest.raises(ReportError) as caught:
        compare(data, metric=wish)
    assert sentence in str(caught.value)


def test_clusterings_have_no_other_metric(numbers):
    with pytest.raises(ReportError, match="judged by their silhouette"):
        compare(Data.from_frame(numbers.X), metric="r2")
