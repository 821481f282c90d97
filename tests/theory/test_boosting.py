"""Rademacher complexity, margin bounds, and the parts of the error, on laws with a known truth."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.datasets import GaussianClasses
from assay.theory import KernelBall, error_decomposition, flipped_weight, margin_bound, rademacher_complexity
from assay.trees import AdaBoostClassifier

LAW = GaussianClasses([[0.8, 0.8], [-0.8, -0.8]])


@pytest.mark.spec("sangnier/M-1.3.1-d")
def test_the_complexity_of_stumps_is_that_of_all_their_sign_vectors():
    random = np.random.default_rng(3)
    X = random.normal(size=(30, 2))
    answers = [np.ones(30)]
    for column in X.T:
        answers += [np.where(column <= cut, 1.0, -1.0) for cut in np.sort(column)[:-1]]
    listed = rademacher_complexity(np.array(answers), n_draws=100, random_state=5)
    stumps = rademacher_complexity("stumps", X, n_draws=100, random_state=5)
    assert_allclose(stumps.draws, listed.draws)  # the same signs, two ways to the supremum
    assert stumps.value <= stumps.bound
    assert listed.value <= listed.bound
    assert_allclose(stumps.bound, np.sqrt(2 * np.log(4 * 31) / 30))
    assert_allclose(stumps.standard_error, stumps.draws.std(ddof=1) / 10)


@pytest.mark.spec("sangnier/M-1.3.1-d")
def test_the_complexity_of_a_ball_is_below_the_root_of_the_trace():
    X = np.random.default_rng(0).normal(size=(50, 3))
    measured = rademacher_complexity(KernelBall(X @ X.T, 2.0), n_draws=400, random_state=0)
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 50)
    assert_allclose(measured.draws[0], 2 * np.linalg.norm(X.T @ signs) / 50)  # sup of ⟨w, Σσx⟩ over ‖w‖ ≤ 2
    assert_allclose(measured.bound, 2 / 50 * np.sqrt(np.sum(X**2)))
    assert measured.value - 3 * measured.standard_error <= measured.bound
    with pytest.raises(ValueError, match="'functions' parameter"):
        rademacher_complexity("trees", X)


@pytest.mark.spec("sangnier/T-1.3.1-d", "sangnier/T-1.3.1-f")
def test_margin_bounds_hold_on_fresh_rows_and_say_when_they_are_vacuous():
    X, y = LAW.sample(400, random_state=0)
    model = AdaBoostClassifier(n_estimators=30).fit(X, y)
    bound = margin_bound(model, X, y, 0.3)
    share = np.mean(model.margins(X, y) < 0.3)
    rest = 4 / 0.3 * np.sqrt(2 * np.log(2 * 2 * 401) / 400) + np.sqrt(np.log(1 / 0.05) / 800)
    assert_allclose(bound.measured, share + rest)
    assert_allclose(bound.predicted, model.margin_history(X, y, 0.3).lemma[-1] + rest)
    assert bound.vacuous
    fresh, labels = LAW.sample(5000, random_state=1)
    assert np.mean(model.predict(fresh) != labels) <= bound.value
    # A grid costs confidence: δ is divided among its margins.
    grid = margin_bound(model, X, y, [0.2, 0.3])
    assert_allclose(grid.confidence, np.sqrt(np.log(2 / 0.05) / 800))
    with pytest.raises(ValueError, match="fixed before the data were seen"):
        margin_bound(model, X, y, "best")
    # One learner of margin ±1 on very many rows: no longer vacuous.
    rows, classes = GaussianClasses([[3.0], [-3.0]]).sample(60_000, random_state=0)
    rows = rows.round(1)
    sure = margin_bound(AdaBoostClassifier(n_estimators=1).fit(rows, classes), rows, classes, 0.9)
    assert sure.value < 0.2
    assert not sure.vacuous


@pytest.mark.spec("sangnier/X-Fig1.8")
def test_approximation_error_falls_and_estimation_error_grows_with_the_rounds():
    model = AdaBoostClassifier(n_estimators=80)
    parts = error_decomposition(model, LAW, 60, n_repeats=8, n_population=8000, n_test=8000, random_state=0)
    assert_allclose(parts.fit, parts.bayes + parts.approximation + parts.estimation)
    assert_allclose(parts.bayes, 0.1289, atol=1e-3)  # Φ(−0.8√2)
    assert parts.approximation[0] > 0.05
    assert parts.approximation[-1] < 0.02
    assert parts.estimation[-1] > parts.estimation[0] + 2 * parts.standard_error[-1]
    assert np.all(parts.fit > parts.bayes - 3 * parts.standard_error)


@pytest.mark.spec("sangnier/X-1.3.2-noise")
def test_flipped_labels_hold_far_more_than_their_share_of_the_weight():
    law = GaussianClasses([[1.5, 1.5], [-1.5, -1.5]])
    shown = flipped_weight(AdaBoostClassifier(n_estimators=40), law, (0.0, 0.05, 0.2), random_state=0)
    assert shown.weight[0] == 0.0
    assert shown.weight[1] > 5 * 0.05
    assert shown.weight[2] > 2 * 0.2
    assert shown.accuracy[0] > shown.accuracy[2] + 0.02


def test_as_many_labels_are_flipped_as_asked():
    """Where all rows weigh alike, the weight on flipped rows is their share."""

    class Fair(AdaBoostClassifier):
        def row_weights(self, X, y, sample_weight=None):
            return np.full(len(X), 1 / len(X))

    law = GaussianClasses([[2.0, 2.0], [-2.0, -2.0]])
    rates = (0.0, 0.1, 0.4)
    shown = flipped_weight(Fair(n_estimators=1), law, rates, n_samples=2000, n_test=100, random_state=0)
    for rate, weight in zip(rates, shown.weight, strict=True):
        assert abs(weight - rate) <= 3 * np.sqrt(rate * (1 - rate) / 2000)


def test_the_bound_of_a_finite_class_counts_each_function_and_its_negative():
    """One function alone: E|Σσ|/n = √(2/(πn)), which √(2 log 1/n) = 0 would not bound."""
    alone = rademacher_complexity(np.ones((1, 200)), n_draws=400, random_state=0)
    assert_allclose(alone.bound, np.sqrt(2 * np.log(2) / 200))
    assert abs(alone.value - np.sqrt(2 / (np.pi * 200))) <= 3 * alone.standard_error
    assert alone.value <= alone.bound
