"""Kernel machines in comparisons, and linear models of landmarks where there are too many rows for them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.kernel_machines import SVR, KernelLogisticRegression, Nystroem
from assay.linear import Ridge
from assay.models import Criterion
from assay.report import Data, NystroemLogistic, NystroemRidge, compare, predict_table, render, roster, write
from assay.report.trials import landmarks
from assay.report.trials.scoring.resampling import FoldSplit
from assay.report.trials.tuning import GivenFolds


@pytest.fixture(scope="module")
def wave():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=500)


@pytest.mark.parametrize("n_rows", [60, 3000, 5000, 5001, 200_000, 3_000_000])
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_kernel_method_is_on_every_leaderboard(task, n_rows):
    chosen, _ = roster(task, n_rows, 20, target=np.array([-1.0, 1.5]) if task == "regression" else None)
    kernel = {entry.name for entry in chosen if entry.room == "kernel_machines"}
    assert kernel
    assert bool(kernel & {"NystroemRidge", "NystroemLogistic"}) == (n_rows > 5000)


def test_the_choice_of_a_tube_is_the_same_in_any_unit(wave):
    X, y = wave[0][:150], wave[1][:150]
    options = {"Cs": [1.0, 10.0], "gammas": [0.1, 1.0], "standardise": True, "random_state": 0}
    small, large = (SVR().select(X, unit * y, **options) for unit in (1.0, 1e5))
    assert small.index == large.index
    np.testing.assert_allclose(large.curve, 1e10 * small.curve, rtol=1e-2)
    np.testing.assert_allclose(large.model.predict(X), 1e5 * small.model.predict(X), atol=1e5 * 1e-4)
    assert large.model.epsilon == pytest.approx(0.1 * 1e5 * y.std())


def test_landmarks_are_ridge_on_the_features_of_nystroem(wave):
    X, y = wave
    model = NystroemRidge(Ridge(alpha=0.3), gamma=0.7, n_components=40, random_state=3).fit(X, y)
    features = Nystroem(gamma=0.7, n_components=40, random_state=3).fit(X)
    alone = Ridge(alpha=0.3).fit(features.transform(X), y)
    np.testing.assert_allclose(model.predict(X[:9]), alone.predict(features.transform(X[:9])))
    assert model.certify(X, y).holds
    model.linear_.coef_ = model.linear_.coef_ * 1.01
    assert not model.certify(X, y).holds


@pytest.mark.parametrize("kind", [NystroemRidge, NystroemLogistic])
def test_features_made_anew_give_the_same_model(wave, kind, monkeypatch):
    X, y = wave
    y = y if kind is NystroemRidge else y > 0
    held = kind(gamma=0.7, n_components=30, random_state=0).fit(X, y)
    monkeypatch.setattr(landmarks, "HELD_ROWS", 100)
    walked = kind(gamma=0.7, n_components=30, random_state=0).fit(X, y)
    np.testing.assert_allclose(walked.linear_.coef_, held.linear_.coef_, rtol=1e-5, atol=1e-6)


def test_the_scale_and_the_penalty_suit_the_function(wave):
    X, y = wave
    chosen = NystroemRidge(n_components=60, random_state=0).select(X[:400], y[:400], random_state=0)
    assert chosen.model.score(X[400:], y[400:]) > 0.9
    assert chosen.best["gamma"] == chosen.model.gamma in (0.15, 0.5)
    sharp = NystroemLogistic(n_components=60, random_state=0).select(X[:400], y[:400] > 0, random_state=0)
    assert sharp.model.score(X[400:], y[400:] > 0) > 0.9
    assert sharp.model.predict_proba(X).shape == (500, 2)


@pytest.mark.parametrize("kind", [NystroemRidge, NystroemLogistic])
def test_penalties_on_the_mean_of_the_loss_are_chosen_on_a_sample_and_kept_on_all_rows(
    wave, kind, monkeypatch
):
    monkeypatch.setattr(landmarks, "SEARCH_ROWS", 120)
    X, y = wave
    y = y if kind is NystroemRidge else y > 0
    model = kind(n_components=20, random_state=0).select(X, y, random_state=0).model
    assert np.isclose(model.linear_.penalty_strength, landmarks.PENALTIES, rtol=1e-9).any()


def test_a_search_on_a_sample_follows_given_folds_and_the_costs_of_its_rows(wave, monkeypatch):
    """Rows to learn from are the first half, rows to judge by the second: also in the sample."""
    X, y = wave
    rows, seen = np.arange(500), []

    def loss(truth, said, chances, places):
        seen.append(places)
        return float(np.mean(said != truth))

    cv = GivenFolds([FoldSplit(rows[:250], rows[250:])])
    options = {"cv": cv, "criterion": Criterion("own", loss), "random_state": 0}
    KernelLogisticRegression().select(X, y > 0, Cs=[1.0], gammas=[1.0], max_rows=100, **options)
    monkeypatch.setattr(landmarks, "SEARCH_ROWS", 100)
    NystroemLogistic(n_components=20, random_state=0).select(X, y > 0, **options)
    assert len(seen) > 2
    for places in seen:
        assert places.min() >= 250
        assert 20 < places.size < 80
        assert places.max() > 400


@pytest.mark.parametrize("kind", [NystroemRidge, NystroemLogistic])
def test_landmarks_that_are_recommended_have_a_page_and_a_model(wave, kind, tmp_path):
    X, y = wave[0][:200], wave[1][:200]
    target = y if kind is NystroemRidge else np.where(y > 0, "up", "down")
    data = Data.from_frame(pd.DataFrame(X, columns=["a", "b"]), target)
    found = compare(data, methods=[kind.__name__], folds=3, repeats=1)
    assert found.recommended.name == kind.__name__
    page = render(found)
    assert "landmarks L drawn from the rows" in page  # what it computes
    write(found, tmp_path)
    table = tmp_path / "new.csv"
    data.X.head(5).to_csv(table, index=False)
    predict_table(tmp_path / "model.skops", table, tmp_path / "said.csv")
    said = pd.read_csv(tmp_path / "said.csv")["prediction"]
    expected = found.recommended.model.predict(data.X.head(5))
    if kind is NystroemRidge:
        np.testing.assert_allclose(said, expected)
    else:
        assert said.tolist() == np.asarray(expected).tolist()
