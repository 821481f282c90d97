"""The comparison: honest scores, no leakage, certificates, sentences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Peer
from sklearn.metrics import r2_score
from sklearn.model_selection import RepeatedKFold, cross_val_score

from assay.certificates import Certificate, Certificates
from assay.linear import Ridge
from assay.report import Data, ReportError, certificates_of, compare, plus_minus, render
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.trials import engine
from assay.report.trials.roster import entries, roster
from assay.report.trials.trial import Recipe
from sentences import Audit


def table(X, y=None, **options) -> Data:
    frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(X.shape[1])])
    return Data.from_frame(frame, y, name="made", **options)


def by_name(comparison):
    return {candidate.name: candidate for candidate in comparison.candidates}


def test_leaderboard_of_diabetes(regression):
    found = by_name(regression)
    expected = {entry.name for entry in entries() if entry.task == "regression"}
    expected -= {"GeneralizedLinear", "NystroemRidge"}  # landmarks are for more rows
    expected |= {"GeneralizedLinear (gamma, log link)"}
    assert set(found) == {"Baseline", "Ensemble", *expected} >= {"LinearRegression", "Ridge", "KernelRidge"}
    assert 11 <= len(expected) <= 16
    *scores, _ = [candidate.score for candidate in regression.candidates]
    assert scores == sorted(scores, reverse=True)
    assert regression.candidates[-1].is_ensemble, "the ensemble is the last line"
    assert not regression.best.is_baseline
    assert found["Ridge"].score > 0.4 > 0.1 > found["Baseline"].score


def test_scores_are_those_of_scikit_learn_on_the_same_folds(regression):
    data = regression.data
    found = compare(data, methods=("LinearRegression",))
    folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0)
    expected = cross_val_score(Peer(), data.X, data.y, cv=folds, scoring="r2")
    ours = by_name(found)["LinearRegression"]
    np.testing.assert_allclose(ours.scores, expected, rtol=1e-6)
    np.testing.assert_array_equal(by_name(regression)["LinearRegression"].scores, ours.scores[:5])
    assert ours.standard_error == pytest.approx(np.sqrt((1 / 15 + 1 / 4) * expected.var(ddof=1)))


def test_out_of_fold_predictions_give_the_scores(regression):
    data = regression.data
    for candidate in regression.candidates:
        folds = RepeatedKFold(n_splits=5, n_repeats=3, random_state=0).split(data.X)
        for score, (_, test) in zip(candidate.scores[:5], folds, strict=False):
            assert score == pytest.approx(r2_score(data.y[test], candidate.predictions[test]))


def test_final_models_carry_certificates_that_hold(regression, clustering):
    for candidate in (*regression.candidates, *clustering.candidates):
        if candidate.is_baseline:
            assert candidate.verdict == "none"
            continue
        assert candidate.certificates is certificates_of(candidate.model)
        assert candidate.certificates.holds
        counted = len(candidate.certificates.decisive)
        assert candidate.verdict.startswith(f"{counted}/{counted} hold")


def test_a_penalty_is_the_one_that_the_estimator_selects_on_all_rows(regression):
    ridge = by_name(regression)["Ridge"]
    data = regression.data
    Z = ridge.model[:-1].transform(data.X)
    chosen = Ridge().select(Z, data.y, random_state=0)
    assert ridge.parameters == {"alpha": chosen.alpha}
    assert ridge.model[-1].alpha == chosen.alpha


def test_test_rows_change_nothing_in_the_fits_they_are_left_out_of(monkeypatch, rng):
    """No leakage: encoders and models see the training rows of a fold and nothing else."""
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    names = ("LinearRegression", "Ridge", "KernelRidge")
    learnt, fits = [], []

    def spy_encoder(self, frame):
        learnt.append(frame.index.to_numpy())
        return learn(self, frame)

    def spy_fit(self, features, target, seed):
        fits.append((self.name, features.copy(), target))
        return fit(self, features, target, seed)

    learn, fit = TableEncoder._learn, Recipe.fit
    monkeypatch.setattr(TableEncoder, "_learn", spy_encoder)
    monkeypatch.setattr(Recipe, "fit", spy_fit)
    data = table(X, y)
    compare(data, folds=4, repeats=1, methods=names)
    folds = [train for train, _ in RepeatedKFold(n_splits=4, n_repeats=1, random_state=0).split(X)]
    # The first is a look at the number of features, the last one at what goes together in the effects;
    # between them one for each fold, shared by all methods.
    for rows, train in zip(learnt[1:-1], [*folds, np.arange(40)], strict=True):
        np.testing.assert_array_equal(rows, train)
    for name in ("Baseline", *names):
        own = [(features, target) for who, features, target in fits if who == name]
        for (features, target), train in zip(own, [*folds, np.arange(40)], strict=True):
            np.testing.assert_array_equal(target, y[train])
            expected = (X[train] - X[train].mean(axis=0)) / X[train].std(axis=0)
            np.testing.assert_allclose(features, expected, rtol=1e-9, atol=1e-12)


def test_same_seed_same_result(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    options = {"folds": 3, "repeats": 1, "seed": 7, "methods": ("Ridge", "KernelRidge")}
    one, other = (compare(table(X, y), **options) for _ in range(2))
    assert [candidate.score for candidate in one.candidates] == [
        candidate.score for candidate in other.candidates
    ]


def test_headline_names_the_winner_and_its_score(regression):
    chosen = regression.recommended
    score = plus_minus(chosen.score, chosen.standard_error)
    words = "best" if regression.verdict.is_best else "as well as any"
    assert regression.headline == f"{chosen.name} predicts progression {words}: R² {score}"
    assert any("root mean square" in remark for remark in regression.remarks)


def test_noise_is_called_noise(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    comparison = compare(table(X, y), methods=("LinearRegression", "Ridge"))
    assert comparison.headline.startswith("No model predicts y clearly better than its mean")
    assert not comparison.best.is_baseline
    # A gain that is not clear beside the number of methods is not told as if it were one.
    floor = comparison.baseline.scores
    lucky = floor + 0.1 + np.resize([0.3, -0.3], floor.size)
    candidates = [
        item if item.is_baseline else dataclasses.replace(item, scores=lucky, score=lucky.mean())
        for item in comparison.candidates
    ]
    told = dataclasses.replace(comparison, candidates=tuple(candidates))
    assert not told.recommended.is_baseline
    assert told.headline.startswith("No model predicts y clearly better")
    (gain,) = [words for words in told.remarks if words.startswith("Against always answering the mean")]
    assert gain.endswith(" in R², which may be luck among 2 methods.")


def test_a_non_linear_law_is_won_by_the_kernel(rng):
    X = rng.uniform(-3, 3, size=(150, 1))
    y = np.sin(2 * X[:, 0]) + 5.0 + 0.1 * rng.normal(size=150)
    comparison = compare(table(X, y), methods=("LinearRegression", "Ridge", "KernelRidge"))
    assert comparison.best.name == comparison.recommended.name == "KernelRidge"
    assert comparison.best.score > 0.9
    np.testing.assert_allclose(comparison.best.model.predict(comparison.data.X).mean(), y.mean(), atol=0.05)


def test_more_columns_than_rows(rng):
    X = rng.normal(size=(24, 60))
    y = X[:, 0] + 0.1 * rng.normal(size=24)
    comparison = compare(table(X, y), folds=3, repeats=1)
    assert {"LinearRegression", "Ridge", "Lasso", "KernelRidge"} <= set(by_name(comparison))


def test_large_tables_leave_the_kernel_out_with_a_sentence(rng):
    X = rng.normal(size=(5200, 2))
    kept = ("LinearRegression", "KernelRidge")
    others = [entry.name for entry in entries() if entry.task == "regression" and entry.name not in kept]
    comparison = compare(table(X, X[:, 0] + rng.normal(size=5200)), folds=2, exclude=others)
    assert "KernelRidge" not in by_name(comparison)
    assert comparison.repeats == 1
    assert comparison.skipped == (
        "KernelRidge was left out: it takes too long beyond 5,000 rows; --methods KernelRidge tries it all "
        "the same.",
    )


def test_a_candidate_that_fails_is_left_out_with_a_sentence(monkeypatch, rng):
    def fail(self, *rest, **options):
        raise np.linalg.LinAlgError("Matrix is singular.")

    monkeypatch.setattr(Ridge, "select", fail)
    X = rng.normal(size=(30, 2))
    y = X[:, 0] + rng.normal(size=30)
    comparison = compare(table(X, y), methods=("LinearRegression", "Ridge"))
    assert comparison.skipped == ("Ridge was left out: its fit failed (Matrix is singular).",)
    assert comparison.best.name == "LinearRegression"


def test_progress_counts_up_to_the_end(rng):
    X = rng.normal(size=(20, 2))
    for y in (X[:, 0] + rng.normal(size=20), None):
        events = []
        names = () if y is None else ("Ridge",)
        compare(table(X, y), folds=2, methods=names, progress=events.append)
        announced = [event.method for event in events if event.state == "waiting"]
        assert [event.state for event in events[: len(announced)]] == ["waiting"] * len(announced)
        assert [event.method for event in events if event.state == "done"] == announced
        for method in announced:
            own = [event for event in events if event.method == method]
            done = [event.done for event in own]
            assert done == sorted(done)
            assert own[-1].done == own[-1].total
            assert len({event.total for event in own}) == 1


@pytest.mark.parametrize(
    ("n_rows", "folds", "sentence"),
    [
        (3, 2, "2 folds need at least 4 rows, two per fold; made has 3: more rows are needed"),
        (20, 1, "The number of folds must be at least 2. Got 1 instead"),
    ],
)
def test_too_few_rows_for_the_folds(n_rows, folds, sentence, rng):
    with pytest.raises(ReportError, match=sentence):
        compare(table(rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)), folds=folds)


def test_a_constant_target_is_refused(rng):
    X = rng.normal(size=(20, 2))
    with pytest.raises(ReportError, match=r"The target 'y' is 3\.0 in every row; there is nothing"):
        compare(table(X, np.full(20, 3.0)))
    with pytest.raises(ReportError, match="The target 'y' is a in every row; there is nothing to predict"):
        compare(table(X, np.full(20, "a")))


def test_constant_and_duplicate_columns_do_no_harm(rng):
    X = rng.normal(size=(40, 2))
    X = np.column_stack([X, X[:, 0], np.ones(40)])
    comparison = compare(table(X, X[:, 0] + 0.1 * rng.normal(size=40)), folds=3, repeats=1)
    assert comparison.best.score > 0.9
    assert not comparison.skipped


def test_results_are_frozen(regression):
    with pytest.raises(dataclasses.FrozenInstanceError):
        regression.seed = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        regression.best.score = 1.0


@pytest.mark.parametrize(
    ("value", "error", "shown"),
    [
        (0.48311, 0.0213, "0.48 ± 0.02"),
        (0.48311, 0.00213, "0.483 ± 0.002"),
        (-0.5, 0.0, "−0.50 ± 0.00"),
        (-12345.0, 300.0, "−12,300 ± 300"),
        (0.5, float("nan"), "0.50"),
    ],
)
def test_plus_minus(value, error, shown):
    assert plus_minus(value, error) == shown


def test_classes_are_compared_on_stratified_folds(classification):
    found = by_name(classification)
    expected = {entry.name for entry in roster("classification", 150, 4)[0]}
    kinds = ("DecisionTree", "ExtraTrees", "HistGradientBoosting", "RandomForest")
    trees = {f"{kind}Classifier" for kind in kinds}
    assert {*found, "Ensemble"} == {"Baseline", "Ensemble", *expected}
    assert ("Ensemble" in found) != any("Ensemble was left out" in words for words in classification.skipped)
    assert expected == {
        "AdaBoostClassifier",
        "KNeighborsClassifier",
        "KernelLogisticRegression",
        "LinearDiscriminantAnalysis",
        "LinearSVC",
        "LogisticRegression",
        "NaiveBayes",
        "QuadraticDiscriminantAnalysis",
        "SVC",
        *trees,
    }
    logistic = found["LogisticRegression"]
    assert logistic.score > 0.9 > 0.5 > found["Baseline"].score
    assert logistic.measures["ROC AUC"] > 0.95
    np.testing.assert_allclose(logistic.probabilities.sum(axis=1), 1)
    assert found["LinearSVC"].probabilities is None
    accuracy = np.mean(classification.recommended.predictions == classification.data.y)
    assert f"wrong class in {1 - accuracy:.1%} of cases" in " ".join(classification.remarks)


def test_words_missing_values_and_dates_are_learnt_from(rng):
    n = 120
    town = rng.choice(["Lyon", "Nice", "Paris"], n)
    frame = pd.DataFrame(
        {
            "town": town,
            "age": np.where(rng.uniform(size=n) < 0.2, np.nan, rng.normal(40, 10, n)),
            "since": pd.date_range("2021-01-01", periods=n, freq="9D"),
        }
    )
    y = 3.0 * (town == "Nice") + 0.01 * np.arange(n) + 0.3 * rng.normal(size=n)
    comparison = compare(Data.from_frame(frame, y), methods=("LinearRegression",), repeats=1)
    assert comparison.best.score > 0.8
    coefficients = dict(
        zip(comparison.best.model[0].feature_names_out_, comparison.best.model[-1].coef_, strict=True)
    )
    assert max(coefficients, key=lambda name: abs(coefficients[name])) == "town = Nice"


def test_the_simplest_model_within_the_noise_is_recommended_and_saved(rng):
    X = rng.normal(size=(80, 3))
    comparison = compare(table(X, X[:, 0] + rng.normal(size=80)), folds=3, repeats=1)
    assert comparison.recommended.complexity <= comparison.best.complexity
    loss = comparison.against_best(comparison.recommended)
    assert loss.mean <= max(loss.standard_error, 0)


def test_a_spent_budget_reports_what_was_done(rng, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(engine, "monotonic", lambda: float(next(clock)))
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    options = {"folds": 2, "repeats": 1, "methods": ("HuberRegressor", "LinearRegression")}
    comparison = compare(table(X, y), budget=4.5, **options)
    # The simplest comes first, whatever the order of the names.
    assert set(by_name(comparison)) == {"Baseline", "LinearRegression"}
    spent = "the 4.5 s of --budget were spent."
    assert comparison.skipped == (
        f"HuberRegressor was left out: {spent}",
        f"There was no time left for a closer look at the columns: {spent}",
    )
    with pytest.raises(ReportError, match="fitted: LinearRegression and HuberRegressor were left out"):
        compare(table(X, y), budget=0.5, **options)


def test_an_interruption_keeps_what_is_finished(rng, monkeypatch):
    def stop(self, *rest, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(Ridge, "select", stop)
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    comparison = compare(table(X, y), methods=("LinearRegression", "Ridge"))
    assert set(by_name(comparison)) == {"Baseline", "LinearRegression"}
    assert comparison.skipped == ("Interrupted before the end: Ridge left out.",)
    with pytest.raises(KeyboardInterrupt):
        compare(table(X, y), methods=("Ridge",))


def test_a_rare_class_limits_the_folds(rng):
    X = rng.normal(size=(40, 2))
    y = np.repeat(["a", "b"], [37, 3])
    comparison = compare(table(X, y), methods=("LinearSVC",), repeats=1)
    assert comparison.folds == 3


def test_unknown_methods_are_refused_with_the_list(rng):
    X = rng.normal(size=(40, 2))
    with pytest.raises(ReportError, match=r"There is no method 'Zebra' for regression\. There are Decision"):
        compare(table(X, X[:, 0]), methods=("Zebra",))
    with pytest.raises(ReportError, match="No method for regression is left to try"):
        compare(table(X, X[:, 0]), methods=("Ridge",), exclude=("ridge",))


def test_differences_that_vanish_are_told_in_words_and_have_no_sign(rng):
    X = rng.normal(size=(300, 3))
    y = X @ [3.0, -2.0, 1.0] + 0.01 * rng.normal(size=300)
    found = compare(table(X, y), methods=["LinearRegression", "Ridge", "Lasso", "ElasticNet"], repeats=1)
    losses = [
        found.against_best(item) for item in found.candidates if item not in (found.best, found.baseline)
    ]
    assert max(loss.mean for loss in losses) < 5e-4
    Audit(found).check()
    told = [text for text in found.remarks if "within the noise" in text]
    assert told
    assert all("below 0.001" in text or "less than 0.001" in text for text in told)
    page = render(found)
    assert "+0.000" not in page
    assert "−0.000<" not in page


def test_models_of_the_same_score_are_not_said_to_score_more(regression):
    """Equal scores are no gain "of less than 0.001", whether a failing certificate or simplicity decides."""
    line = by_name(regression)["LinearRegression"]
    broken = Certificates([Certificate("The claim is broken.", "gap", 2.0, "<=", 1.0)])
    for changes, reason in (
        ({"complexity": 9}, "the same; LinearRegression is the simplest model that close."),
        (
            {"certificates": broken},
            "the same, but is not recommended: a certificate of its fit does not hold.",
        ),
    ):
        other = dataclasses.replace(line, name="Other", **changes)
        tied = dataclasses.replace(regression, candidates=(other, line, regression.baseline))
        assert tied.recommended.name == "LinearRegression"
        assert f"Other scores {reason}" in tied.remarks


def test_that_all_models_are_worse_is_said_of_the_score_that_decides(regression):
    """Scores per fold may all be below the baseline while the errors of the rows are not."""
    poor = [
        dataclasses.replace(item, score=item.score - 2, scores=item.scores - 2)
        for item in regression.candidates
        if not item.is_baseline
    ]
    found = dataclasses.replace(regression, candidates=(regression.baseline, *poor))
    assert found.recommended.is_baseline
    assert any(text.startswith("By R², every model is worse than the baseline, ") for text in found.remarks)


def test_the_errors_of_a_model_that_explodes_do_not_widen_the_leaderboard(regression):
    """One prediction of 1e11 on one row is told by a bound; every other error by its digits."""
    floor = regression.baseline.measures["RMSE"]
    wild = dataclasses.replace(regression.best, name="Wild", measures={"RMSE": 1.454e11, "MAE": 90 * floor})
    found = dataclasses.replace(regression, candidates=(*regression.candidates, wild))
    limit = float(f"{100 * floor:.2g}")
    assert found.shown_measure(wild, "RMSE") == f"over {limit:,.0f}"
    assert found.shown_measure(regression.best, "RMSE") == f"{regression.best.measures['RMSE']:.2f}"
    assert "145,4" not in render(found).partition('id="models"')[0]
