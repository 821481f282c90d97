"""The comparison: honest scores, no leakage, certificates, sentences."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression as Peer
from sklearn.metrics import r2_score
from sklearn.model_selection import KFold, cross_val_score

from assay.report import Data, ReportError, certificates_of, compare, plus_minus
from assay.report import _regression as regression_module


def table(X, y=None, **options) -> Data:
    frame = pd.DataFrame(X, columns=[f"x{index}" for index in range(X.shape[1])])
    return Data(name="made", X=frame, y=y, target=None if y is None else "y", **options)


def by_name(comparison):
    return {candidate.name: candidate for candidate in comparison.candidates}


def test_leaderboard_of_diabetes(regression):
    found = by_name(regression)
    assert set(found) == {"Baseline", "LinearRegression", "Ridge", "KernelRidge"}
    scores = [candidate.score for candidate in regression.candidates]
    assert scores == sorted(scores, reverse=True)
    assert not regression.best.is_baseline
    assert found["Ridge"].score > 0.4 > 0.1 > found["Baseline"].score


def test_scores_are_those_of_scikit_learn_on_the_same_folds(regression):
    data = regression.data
    folds = KFold(5, shuffle=True, random_state=0)
    expected = cross_val_score(Peer(), data.X, data.y, cv=folds, scoring="r2")
    ours = by_name(regression)["LinearRegression"]
    np.testing.assert_allclose(ours.scores, expected, rtol=1e-6)
    assert ours.standard_error == pytest.approx(expected.std(ddof=1) / np.sqrt(5))


def test_out_of_fold_predictions_give_the_scores(regression):
    data = regression.data
    for candidate in regression.candidates:
        for score, (_, test) in zip(
            candidate.scores, KFold(5, shuffle=True, random_state=0).split(data.X), strict=True
        ):
            assert score == pytest.approx(r2_score(data.y[test], candidate.predictions[test]))


def test_final_models_carry_certificates_that_hold(regression, clustering):
    for candidate in (*regression.candidates, *clustering.candidates):
        if candidate.is_baseline:
            assert candidate.verdict == "none"
            continue
        assert candidate.certificates is certificates_of(candidate.model)
        assert candidate.certificates.holds
        assert candidate.verdict.startswith(
            f"{len(candidate.certificates)}/{len(candidate.certificates)} hold"
        )


def test_ridge_chooses_the_penalty_of_least_leave_one_out_error(regression):
    ridge = by_name(regression)["Ridge"]
    data = regression.data
    Z = ridge.model[:-1].transform(data.X)
    alpha = ridge.parameters["alpha"]
    errors = ridge.model[-1].path(Z, data.y, alphas=[alpha / 3, alpha, alpha * 3]).leave_one_out_error
    assert np.argmin(errors) == 1
    assert ridge.model[-1].alpha == alpha


def test_test_rows_change_nothing_in_the_fits_they_are_left_out_of(monkeypatch, rng):
    """No leakage: what a recipe sees of a fold is the training rows and nothing else."""
    X, y = rng.normal(size=(40, 3)), rng.normal(size=40)
    seen = []

    def spy(recipe):
        def fit(rows, target, seed):
            seen.append((recipe.name, rows.index.to_numpy(), target))
            return recipe.fit(rows, target, seed)

        return dataclasses.replace(recipe, fit=fit)

    monkeypatch.setattr(regression_module, "RECIPES", tuple(map(spy, regression_module.RECIPES)))
    compare(table(X, y), "regression", folds=4)
    folds = list(KFold(4, shuffle=True, random_state=0).split(X))
    for name in ("Baseline", "LinearRegression", "Ridge", "KernelRidge"):
        fits = [(rows, target) for who, rows, target in seen if who == name]
        assert len(fits) == 5
        for (rows, target), (train, _) in zip(fits, folds, strict=False):
            np.testing.assert_array_equal(rows, train)
            np.testing.assert_array_equal(target, y[train])


def test_same_seed_same_result(rng):
    X = rng.normal(size=(40, 2))
    y = X[:, 0] + rng.normal(size=40)
    one, other = (compare(table(X, y), "regression", folds=3, seed=7) for _ in range(2))
    assert [candidate.score for candidate in one.candidates] == [
        candidate.score for candidate in other.candidates
    ]


def test_headline_names_the_winner_and_its_score(regression):
    best = regression.best
    expected = f"{best.name} predicts progression best: R² {plus_minus(best.score, best.standard_error)}"
    assert regression.headline == expected
    assert any("root mean square" in remark for remark in regression.remarks)


def test_noise_is_called_noise(rng):
    X, y = rng.normal(size=(60, 3)), rng.normal(size=60)
    comparison = compare(table(X, y), "regression")
    assert comparison.headline.startswith("No model predicts y clearly better than its mean")
    assert not comparison.best.is_baseline


def test_a_non_linear_law_is_won_by_the_kernel(rng):
    X = rng.uniform(-3, 3, size=(150, 1))
    y = np.sin(2 * X[:, 0]) + 5.0 + 0.1 * rng.normal(size=150)
    comparison = compare(table(X, y), "regression")
    assert comparison.best.name == "KernelRidge"
    assert comparison.best.score > 0.9
    np.testing.assert_allclose(comparison.best.model.predict(comparison.data.X).mean(), y.mean(), atol=0.05)


def test_more_columns_than_rows(rng):
    X = rng.normal(size=(24, 60))
    y = X[:, 0] + 0.1 * rng.normal(size=24)
    comparison = compare(table(X, y), "regression", folds=3)
    assert {"LinearRegression", "Ridge", "KernelRidge"} <= set(by_name(comparison))


def test_large_tables_leave_the_kernel_out_with_a_sentence(rng):
    X = rng.normal(size=(5200, 2))
    comparison = compare(table(X, X[:, 0] + rng.normal(size=5200)), "regression", folds=2)
    assert "KernelRidge" not in by_name(comparison)
    assert comparison.skipped[0].startswith("KernelRidge was left out: it compares all pairs of rows")


def test_kernel_tuning_on_a_sample_scales_the_penalty(monkeypatch, rng):
    monkeypatch.setattr(regression_module, "TUNING_ROWS", 50)
    X = rng.uniform(-3, 3, size=(200, 1))
    y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=200)
    fitted = regression_module.fit_kernel_ridge(pd.DataFrame(X, columns=["x"]), y, 0)
    assert r2_score(np.sin(X[:, 0]), fitted.model.predict(pd.DataFrame(X, columns=["x"]))) > 0.97


def test_a_candidate_that_fails_is_left_out_with_a_sentence(monkeypatch, rng):
    def fail(X, y, seed):
        raise np.linalg.LinAlgError("Matrix is singular.")

    broken = dataclasses.replace(regression_module.RECIPES[2], fit=fail)
    monkeypatch.setattr(regression_module, "RECIPES", (*regression_module.RECIPES[:2], broken))
    X = rng.normal(size=(30, 2))
    comparison = compare(table(X, X[:, 0] + rng.normal(size=30)), "regression")
    assert comparison.skipped == ("Ridge was left out: its fit failed (Matrix is singular).",)
    assert comparison.best.name == "LinearRegression"


def test_progress_counts_up_to_the_end(rng):
    X = rng.normal(size=(20, 2))
    for task, y in (("regression", X[:, 0] + rng.normal(size=20)), ("clustering", None)):
        calls = []
        compare(table(X, y), task, folds=2, progress=lambda *call: calls.append(call))  # noqa: B023
        done = [call[0] for call in calls]
        assert done == sorted(done)
        assert calls[-1][0] == calls[-1][1]
        assert len({call[1] for call in calls}) == 1


@pytest.mark.parametrize(
    ("n_rows", "folds", "sentence"),
    [
        (9, 5, "5 folds need at least 10 rows, two a fold; made has 9: use --folds 4"),
        (3, 2, "2 folds need at least 4 rows, two a fold; made has 3: more rows are needed"),
        (20, 1, "The number of folds must be at least 2. Got 1 instead"),
    ],
)
def test_too_few_rows_for_the_folds(n_rows, folds, sentence, rng):
    with pytest.raises(ReportError, match=sentence):
        compare(table(rng.normal(size=(n_rows, 2)), rng.normal(size=n_rows)), "regression", folds=folds)


def test_a_constant_target_is_refused(rng):
    with pytest.raises(ReportError, match="The target 'y' is 3 in every row; there is nothing to predict"):
        compare(table(rng.normal(size=(20, 2)), np.full(20, 3.0)), "regression")


def test_constant_and_duplicate_columns_do_no_harm(rng):
    X = rng.normal(size=(40, 2))
    X = np.column_stack([X, X[:, 0], np.ones(40)])
    comparison = compare(table(X, X[:, 0] + 0.1 * rng.normal(size=40)), "regression")
    assert comparison.best.score > 0.9
    assert len(comparison.candidates) == 4


def test_clusters_of_us_arrests(clustering):
    assert clustering.best.parameters["n_clusters"] == 2
    assert clustering.headline == "us_arrests falls best into 2 groups: silhouette 0.41"
    explained = sorted(
        (candidate.parameters["n_clusters"], candidate.measures["explained"])
        for candidate in clustering.candidates
    )
    assert [size for size, _ in explained] == list(range(2, 9))
    assert np.all(np.diff([share for _, share in explained]) > 0)


def test_separate_groups_are_found(rng):
    centers = np.array([[0, 0], [9, 0], [0, 9], [9, 9]])
    X = np.repeat(centers, 15, axis=0) + rng.normal(size=(60, 2))
    comparison = compare(table(X), "clustering")
    assert comparison.best.parameters["n_clusters"] == 4
    assert "strong structure" in " ".join(comparison.remarks)
    assert np.bincount(comparison.best.predictions).tolist() == [15, 15, 15, 15]


def test_few_distinct_rows_limit_the_number_of_groups():
    X = np.repeat(np.array([[0.0, 0.0], [1.0, 5.0], [4.0, 1.0]]), 4, axis=0)
    comparison = compare(table(X), "clustering")
    assert [candidate.parameters["n_clusters"] for candidate in comparison.candidates] == [2]
    with pytest.raises(ReportError, match="made has 2 distinct rows; groups need at least 3"):
        compare(table(X[:8]), "clustering")


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
        (-12345.0, 300.0, "−1.23e+04 ± 3e+02"),
        (0.5, float("nan"), "0.50"),
    ],
)
def test_plus_minus(value, error, shown):
    assert plus_minus(value, error) == shown
