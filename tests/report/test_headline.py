"""Sentences of a verdict that must not contradict its figures, and scores of folds that tell little."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

from assay.report import RawTable, choose_data, compare
from assay.report.trials.scoring.metrics import R2, Judged


@pytest.fixture(scope="module")
def compared():
    """Four models with scores of fifteen splits, and an ensemble of them as the last line."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    frame = pd.DataFrame(X, columns=["a", "b"]).assign(y=np.sin(2 * X[:, 0]) + X[:, 1] + rng.normal(size=60))
    methods = ("LinearRegression", "Ridge", "KernelRidge", "KNeighborsRegressor", "Ensemble")
    return compare(choose_data(RawTable("t", frame), target="y"), methods=methods)


def with_scores(compared, **scores):
    """The comparison with other scores and no ensemble unless it has some; the baseline scores 0."""
    told = {"Baseline": np.zeros(15), **scores}
    candidates = [
        dataclasses.replace(item, scores=told[item.name], score=float(told[item.name].mean()))
        for item in compared.candidates
        if item.name in told
    ]
    candidates.sort(key=lambda item: (item.is_ensemble, -item.score))
    return dataclasses.replace(compared, candidates=tuple(candidates), explanation=None)


def waves(seed, mean, spread):
    noise = np.random.default_rng(seed).normal(size=15)
    return mean + spread * (noise - noise.mean()) / noise.std(ddof=1)


def test_best_is_not_said_below_an_ensemble_that_scores_more(compared):
    line, other = waves(1, 0.6, 0.03), waves(2, 0.2, 0.03)
    alone = with_scores(compared, LinearRegression=line, Ridge=other)
    assert alone.headline.startswith("LinearRegression predicts y best: ")
    above = with_scores(compared, LinearRegression=line, Ridge=other, Ensemble=line + waves(3, 0.01, 0.04))
    assert above.headline.startswith("LinearRegression predicts y as well as any: ")


def test_as_well_as_any_is_not_said_beside_a_model_that_is_clearly_better(compared):
    """The best is erratic, and does not beat the line for sure; the second best does."""
    line = waves(1, 0.5, 0.1)
    second, best = line + waves(2, 0.05, 0.02), line + waves(3, 0.06, 0.14)
    found = with_scores(compared, LinearRegression=line, KNeighborsRegressor=second, KernelRidge=best)
    assert found.recommended.name == "LinearRegression"
    assert found.against_best(found.recommended).p_value > 0.05
    assert found.headline.startswith("LinearRegression predicts y: ")


def test_as_well_as_any_is_not_said_beside_a_surer_ensemble_whose_proof_fails(compared):
    line = waves(1, 0.5, 0.1)
    found = with_scores(
        compared, LinearRegression=line, Ridge=line - 0.3, Ensemble=line + waves(2, 0.05, 0.01)
    )
    claim = next(iter(found.candidates[-1].certificates))
    broken = type(found.candidates[-1].certificates)(
        [dataclasses.replace(claim, value=10 * abs(claim.bound) + 1, relation="<=")]
    )
    last = dataclasses.replace(found.candidates[-1], certificates=broken)
    found = dataclasses.replace(found, candidates=(*found.candidates[:-1], last))
    assert found.recommended.name == "LinearRegression"
    assert found.headline.startswith("LinearRegression predicts y: ")


def test_the_simplest_is_not_said_beside_a_simpler_one_that_is_called_as_good(compared):
    """The line is below the baseline: it is neither recommended nor called as good."""
    near = waves(1, 0.05, 0.3)
    below = near - waves(2, 0.1, 0.5)
    found = with_scores(compared, KernelRidge=near + waves(3, 0.01, 0.2), Ridge=near, LinearRegression=below)
    assert found.recommended.name == "Ridge"
    assert found.remarks[2].endswith("; Ridge is the simplest model that close.")
    assert not any("LinearRegression" in remark for remark in found.remarks)


def test_a_gain_of_nothing_is_no_luck(compared):
    found = with_scores(compared, LinearRegression=np.zeros(15), Ridge=waves(1, -0.2, 0.1))
    assert "Against always answering the mean it gains nothing in R²." in found.remarks


def test_a_fold_of_one_value_explains_nothing():
    rows = Judged(np.full(5, 3.0), np.full(5, 3.0), None, None)
    assert R2.score(rows) == R2.score(rows._replace(predictions=np.arange(5.0))) == 0.0


def test_a_target_of_one_value_but_once_is_not_predicted(rng):
    """Whoever names the constant is right wherever there is nothing to tell."""
    frame = pd.DataFrame(rng.normal(size=(40, 2)), columns=["a", "b"]).assign(y=3.0)
    frame.loc[7, "y"] = 9.0
    methods = ("LinearRegression", "KNeighborsRegressor", "DecisionTreeRegressor")
    found = compare(choose_data(RawTable("t", frame), target="y", task="regression"), methods=methods)
    assert found.headline.startswith("No model predicts y clearly better than its mean")
    assert found.best.score < 0.05


@pytest.mark.parametrize(("n_rows", "folds"), [(9, 2), (12, 2), (16, 3), (24, 4), (25, 5)])
def test_a_fold_of_numbers_has_five_rows(n_rows, folds, rng):
    frame = pd.DataFrame(rng.normal(size=(n_rows, 2)), columns=["a", "y"])
    found = compare(choose_data(RawTable("t", frame), target="y"), methods=["LinearRegression"])
    assert found.folds == folds
    assert found.best.scores.size == 3 * folds


def test_few_rows_of_a_clear_law_are_predicted_better_than_by_their_mean(rng):
    """In folds of two or three rows the mean explodes, and hides that it is worse."""
    clear = 0
    for _ in range(10):
        x = rng.normal(size=16)
        frame = pd.DataFrame({"x": x, "y": 3 * x + 0.5 * rng.normal(size=16)})
        found = compare(choose_data(RawTable("t", frame), target="y"), methods=["LinearRegression"])
        clear += any(found.verdict.beating)
    assert clear >= 7
