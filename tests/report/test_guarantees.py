"""Every saved model has intervals or class sets, and they hold as often as they say."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.models.conformal import class_sets
from assay.persistence import about, save
from assay.report import Data, ReportError, compare, entries, fit_table, predict_table
from assay.report.answers import Answerer
from assay.report.results import about_model
from assay.report.trials.scoring.guarantees import (
    COVERAGES,
    confused_shares,
    kept_for_classes,
    quantile_for,
)

N_FIT, N_NEW = 400, 3000


def draw(rng, n):
    frame = pd.DataFrame(
        {"x": rng.normal(size=n), "z": rng.normal(size=n), "town": rng.choice(["A", "B"], n)}
    )
    mean = 3 * frame["x"] - frame["z"] + 2 * (frame["town"] == "B")
    return frame, mean.to_numpy()


def tolerance(coverage):
    """Two standard errors: of the quantile of the fit's rows, and of the share of the new ones."""
    return 2 * np.sqrt(coverage * (1 - coverage) * (1 / N_FIT + 1 / N_NEW)) + 1 / N_FIT


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """A table with errors of heavy tails, and new rows of the same law."""
    rng = np.random.default_rng(11)
    folder = tmp_path_factory.mktemp("numbers")
    for name, n in (("fit", N_FIT), ("new", N_NEW)):
        frame, mean = draw(rng, n)
        frame.assign(y=mean + rng.standard_t(4, size=n)).to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    rng = np.random.default_rng(14)
    folder = tmp_path_factory.mktemp("classes")
    for name, n in (("fit", N_FIT), ("new", N_NEW)):
        frame, mean = draw(rng, n)
        label = np.digitize(mean + rng.logistic(size=n), [-1.0, 2.0])
        frame.assign(y=np.array(["low", "middle", "high"])[label]).to_csv(folder / f"{name}.csv", index=False)
    return folder


REGRESSIONS = sorted(
    {entry.name for entry in entries() if entry.task == "regression"} - {"GeneralizedLinear"}
)
CLASSIFICATIONS = sorted(entry.name for entry in entries() if entry.task == "classification")


LAWS = {
    "counts that vary more than a Poisson law": (
        "GeneralizedLinear",
        lambda rng, mean: rng.poisson(np.exp(0.2 * mean + 1) * rng.gamma(0.7, 1 / 0.7, size=len(mean))),
    ),
    "a rare jump": ("LinearRegression", lambda rng, mean: mean + 5 * (rng.random(len(mean)) < 0.15)),
    "two heaps": ("LinearRegression", lambda rng, mean: mean + rng.choice([-3, 3], len(mean))),
}


@pytest.mark.parametrize("coverage", [0.5, 0.9])
@pytest.mark.parametrize("law", LAWS)
def test_intervals_of_a_model_whose_law_is_wrong_hold_as_often_as_asked(law, coverage, tmp_path):
    rng, (method, target) = np.random.default_rng(7), LAWS[law]
    for name, n in (("fit", N_FIT), ("new", N_NEW)):
        frame, mean = draw(rng, n)
        frame.assign(y=target(rng, mean) + 0.0).to_csv(tmp_path / f"{name}.csv", index=False)
    options = {"parameters": {"family": "poisson"}} if method == "GeneralizedLinear" else {}
    fit_table(method, tmp_path / "fit.csv", target="y", task="regression", output=tmp_path / "m", **options)
    predict_table(tmp_path / "m", tmp_path / "new.csv", tmp_path / "out.csv", interval=coverage)
    told, y = pd.read_csv(tmp_path / "out.csv"), pd.read_csv(tmp_path / "new.csv")["y"]
    held = ((told["lower"] <= y) & (y <= told["upper"])).mean()
    assert held >= coverage - tolerance(coverage)
    assert told["upper"].sub(told["lower"]).nunique() > 1  # its own: they widen away from the rows


@pytest.mark.parametrize("method", REGRESSIONS)
def test_every_regression_that_is_fitted_has_intervals_that_hold(method, numbers, tmp_path):
    model = fit_table(method, numbers / "fit.csv", target="y", output=tmp_path / "m.skops").path
    predict_table(model, numbers / "new.csv", tmp_path / "out.csv", interval=0.9)
    told = pd.read_csv(tmp_path / "out.csv")
    y = pd.read_csv(numbers / "new.csv")["y"]
    held = ((told["lower"] <= y) & (y <= told["upper"])).mean()
    assert abs(held - 0.9) <= tolerance(0.9)


@pytest.mark.parametrize("method", CLASSIFICATIONS)
def test_every_classification_that_is_fitted_has_sets_that_hold(method, classes, tmp_path):
    model = fit_table(method, classes / "fit.csv", target="y", output=tmp_path / "m.skops").path
    said = predict_table(model, classes / "new.csv", tmp_path / "out.csv", interval=0.9)
    told = pd.read_csv(tmp_path / "out.csv")
    y = pd.read_csv(classes / "new.csv")["y"]
    sets = [set(words.split(" | ")) for words in told["classes"]]
    held = np.mean([true in members for true, members in zip(y, sets, strict=True)])
    # Sets grow by whole classes: they hold at least what they say, and are not all classes. Of methods that
    # share the rows that were drawn, those of trees are given three standard errors.
    linear = method in ("LogisticRegression", "LinearSVC", "SGDClassifier")
    assert held >= 0.9 - (1.0 if linear else 1.5) * tolerance(0.9)
    if method != "DecisionTreeClassifier":  # of an unpruned tree, whose leaves know one class only, they are
        assert np.mean([len(members) for members in sets]) < 2.5
    assert all(named in members for named, members in zip(told["prediction"], sets, strict=True))
    assert said.notes == (
        "The sets in 'classes' hold the true class of 90.0% of new rows like those of the fit.",
    )


def test_the_model_of_a_comparison_keeps_them_too(classes, tmp_path):
    frame = pd.read_csv(classes / "fit.csv")
    data = Data.from_frame(frame[["x", "z", "town"]], frame["y"].to_numpy(dtype=str))
    for method in ("LogisticRegression", "LinearSVC"):
        found = compare(data, repeats=1, methods=[method])
        save(found.recommended.model, tmp_path / "m.skops", about=about_model(found))
        predict_table(tmp_path / "m.skops", classes / "new.csv", tmp_path / "out.csv", interval=0.8)
        y = pd.read_csv(classes / "new.csv")["y"]
        sets = pd.read_csv(tmp_path / "out.csv")["classes"].str.split(" | ", regex=False)
        held = np.mean([true in members for true, members in zip(y, sets, strict=True)])
        assert held >= 0.8 - tolerance(0.8)


def test_a_model_whose_own_intervals_fail_falls_back_on_the_residuals(numbers, tmp_path):
    frame = pd.read_csv(numbers / "fit.csv")
    data = Data.from_frame(frame.drop(columns="y").assign(again=2 * frame["x"]), frame["y"].to_numpy())
    found = compare(data, repeats=1, methods=["LinearRegression"])
    answer = Answerer.for_model(found.recommended.model, about_model(found), interval=0.9)
    assert answer.half_width > 0
    assert answer.notes[0].startswith("LinearRegression cannot tell its own prediction intervals (")
    with pytest.raises(ReportError, match="There are no prediction intervals: Inference needs"):
        Answerer.for_model(found.recommended.model, {}, interval=0.9)


def test_nothing_kept_is_a_sentence(classes, tmp_path):
    model = fit_table("LinearSVC", classes / "fit.csv", target="y", output=tmp_path / "m.skops").model
    with pytest.raises(ReportError, match="Nothing was kept beside this LinearSVC"):
        Answerer.for_model(model, {}, interval=0.9)


def test_the_next_greater_coverage_serves():
    kept = {"0.80": 1.0, "0.90": 2.0}
    assert [quantile_for(kept, coverage) for coverage in (0.5, 0.8, 0.81, 0.95)] == [1.0, 1.0, 2.0, None]
    assert COVERAGES[0] == "0.01"
    assert COVERAGES[-1] == "0.999"


def test_shares_by_the_name_given_are_counts_of_the_true_classes():
    y, named = np.array(list("aabbb")), np.array(list("aaabb"))
    expected = np.array([[3, 2], [1, 3]]) / [[5], [4]]
    np.testing.assert_allclose(confused_shares(y, named, np.array(["a", "b"])), expected)


def test_sets_of_many_classes_without_probabilities_hold_as_often_as_they_say():
    """The shares that stand for probabilities are counted on the rows that are scored: not on their own."""
    rng, labels, held = np.random.default_rng(5), np.arange(9), []

    def law(n):
        true = rng.integers(0, 9, n)
        return true, np.clip(true + rng.integers(-2, 3, n), 0, 8)

    for _ in range(60):
        y, named = law(150)
        kept = kept_for_classes(y, [(named, None)], labels)
        true, told = law(2000)
        members = class_sets(np.array(kept["class_shares"])[told], kept["class_quantiles"]["0.90"])
        held.append(members[np.arange(2000), true].mean())
    assert np.mean(held) >= 0.9 - 2 * np.std(held) / np.sqrt(60)


@pytest.fixture(scope="module")
def rare(tmp_path_factory):
    """A rare class, a comparison of it, and the saved model."""
    rng = np.random.default_rng(4)
    folder, n = tmp_path_factory.mktemp("rare"), 600
    yes = rng.random(n) < 0.1
    frame = pd.DataFrame({"x": rng.normal(size=n) + 2 * yes})
    found = compare(
        Data.from_frame(frame, np.where(yes, "yes", "no")),
        repeats=1,
        methods=["LogisticRegression"],
    )
    save(found.recommended.model, folder / "m.skops", about=about_model(found))
    frame.to_csv(folder / "new.csv", index=False)
    return folder, found, yes


def test_the_chosen_threshold_is_kept_and_names_the_rarer_class(rare, tmp_path):
    folder, found, yes = rare
    chosen = found.explanation.threshold
    assert about(folder / "m.skops")["threshold"] == {"class": "yes", "probability": chosen.value}
    out = tmp_path / "out.csv"
    predict_table(folder / "m.skops", folder / "new.csv", out, threshold="chosen")
    told = pd.read_csv(out)
    assert ((told["prediction"] == "yes") == (told["probability of yes"] >= chosen.value)).all()
    caught = (told["prediction"] == "yes")[yes].mean()
    predict_table(folder / "m.skops", folder / "new.csv", out)
    assert caught > (pd.read_csv(out)["prediction"] == "yes")[yes].mean() + 0.2
    predict_table(folder / "m.skops", folder / "new.csv", out, threshold="0.9")
    told = pd.read_csv(out)
    assert ((told["prediction"] == "yes") == (told["probability of yes"] >= 0.9)).all()


@pytest.mark.parametrize("threshold", ["many", "1.5", 0.0, "nan"])
def test_a_threshold_that_is_no_probability_is_refused(rare, threshold):
    folder, _, _ = rare
    with pytest.raises(ReportError, match="must be 'chosen' or a probability"):
        predict_table(folder / "m.skops", folder / "new.csv", threshold=threshold)


def test_a_threshold_needs_two_classes_and_one_that_was_chosen(classes, numbers, tmp_path):
    many = fit_table("LogisticRegression", classes / "fit.csv", target="y", output=tmp_path / "a.skops").path
    with pytest.raises(ReportError, match="two classes"):
        predict_table(many, classes / "new.csv", threshold="0.3")
    frame = pd.read_csv(numbers / "fit.csv").assign(y=lambda frame: frame["y"] > 0)
    frame.to_csv(tmp_path / "two.csv", index=False)
    two = fit_table("LogisticRegression", tmp_path / "two.csv", target="y", output=tmp_path / "b.skops").path
    with pytest.raises(ReportError, match="No threshold was chosen"):
        predict_table(two, tmp_path / "two.csv", threshold="chosen")
