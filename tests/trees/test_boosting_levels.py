"""Levels of categories under a likelihood: what is expected of each; noise is left alone."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.loops import lean
from assay.trees import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from assay.trees.boosting.boost import noise_per_curvature
from assay.trees.boosting.proofs.splits import expected_of
from assay.trees.growing.binned.grouping import expect_steps
from boosted import claim, damaged
from damage import holds


@lean
def expected_steps(histogram, first, levels, count, unit, noise, means):
    """`expect_steps` is for loops alone."""
    return expect_steps(histogram, first, levels, count, unit, noise, means)


def random_effects(random, n_levels, spread, noise=1.0):
    """Sums of levels whose means are drawn from one law: slopes, curvatures, true means."""
    size = random.uniform(5.0, 60.0, n_levels)
    truth = spread * random.standard_normal(n_levels)
    return size * truth + np.sqrt(noise * size) * random.standard_normal(n_levels), size, truth


def steps_in_the_loop(slope, size, noise):
    """What the loop expects of each level, from sums in units of 2⁻²⁰."""
    unit = np.array([1.0, 2.0**-20, 2.0**-20])
    histogram = np.rint(np.column_stack([np.ones(len(size)), slope / unit[1], size / unit[2]])).astype(
        np.int64
    )
    steps = slope / size
    differ = expected_steps(histogram, 0, np.arange(len(size)), len(size), unit, noise, steps)
    return steps, differ


def test_what_is_expected_of_levels_is_the_best_linear_prediction_of_random_effects():
    random = np.random.default_rng(0)
    slope, size, _ = random_effects(random, 40, 0.4)
    steps, differ = steps_in_the_loop(slope, size, 1.0)
    # The moments of DerSimonian & Laird, then generalised least squares with the full matrices.
    weights = np.diag(size) - np.outer(size, size) / size.sum()
    observed = slope / size
    between = (observed @ weights @ observed - (len(size) - 1)) / np.trace(weights)
    covariance = np.diag(between + 1.0 / size)
    ones = np.ones(len(size))
    solved = np.linalg.solve(covariance, np.column_stack([observed, ones]))
    mean = ones @ solved[:, 0] / (ones @ solved[:, 1])
    expected = mean + between * np.linalg.solve(covariance, observed - mean)
    assert differ
    assert_allclose(steps, expected, rtol=1e-4, atol=1e-6)
    levels = np.vstack([ones, slope, size, 0 * ones, 0 * ones])
    assert_allclose(expected_of(levels, 1.0)[1] / size, expected, rtol=1e-9)


def test_expected_steps_are_nearer_to_the_truth_and_noise_leaves_nothing():
    random, errors, differ = np.random.default_rng(1), [], 0
    for _ in range(200):
        slope, size, truth = random_effects(random, 30, 0.2)
        steps, _ = steps_in_the_loop(slope, size, 1.0)
        errors.append([np.mean((steps - truth) ** 2), np.mean((slope / size - truth) ** 2)])
        slope, size, _ = random_effects(random, 30, 0.0)
        steps, found = steps_in_the_loop(slope, size, 1.0)
        differ += found
        assert found or np.ptp(steps) < 1e-12
    shrunk, raw = np.mean(errors, axis=0)
    assert shrunk < 0.75 * raw
    assert differ < 120  # Q is above its mean about every other time, and then little is left


def test_the_noise_of_a_likelihood_is_its_slope_per_curvature():
    random = np.random.default_rng(2)
    from assay.losses import CrossEntropy, Multinomial, Poisson
    from assay.trees.boosting.parts import class_curvature

    score = random.standard_normal(200_000)
    y = (random.random(len(score)) < 1 / (1 + np.exp(-score))).astype(float)
    count = random.poisson(np.exp(score)).astype(float)
    for loss, target in ((CrossEntropy(shares=False), y), (Poisson(), count)):
        terms = loss.terms(target, score.copy())
        ratio = np.mean(terms.slope**2) / np.mean(terms.curvature)
        assert ratio == pytest.approx(noise_per_curvature(loss), rel=0.03)
    scores = random.standard_normal((100_000, 3))
    places = (scores + random.gumbel(size=scores.shape)).argmax(axis=1).astype(float)
    loss = Multinomial(n_classes=3)
    terms = loss.terms(places, scores.copy())
    for k in range(3):
        ratio = np.mean(terms.slope[:, k] ** 2) / np.mean(class_curvature(terms.curvature, k))
        assert ratio == pytest.approx(noise_per_curvature(loss), rel=0.03)


@pytest.fixture(scope="module")
def noisy():
    """Four columns of forty levels that say nothing, and a number that does."""
    random = np.random.default_rng(3)
    X = random.integers(0, 40, (3000, 5)).astype(float)
    X[:, 4] = random.standard_normal(3000)
    return X, (X[:, 4] + random.logistic(size=3000) > 0).astype(int)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_of_levels_that_say_nothing_are_left_alone(noisy, n_classes):
    X, y = noisy
    if n_classes == 3:
        y = y + ((X[:, 4] > 1) & (y == 1))
    model = HistGradientBoostingClassifier(categorical_features=[0, 1, 2, 3], max_iter=10).fit(X, y)
    assert model.feature_importances_[:4].sum() < 0.35
    assert model.feature_importances_[4] > 0.65


def test_levels_that_matter_are_grouped_and_other_rows_are_told_better():
    random, gaps = np.random.default_rng(4), []
    for _ in range(4):
        X = random.integers(0, 40, (4000, 6)).astype(float)
        effects = random.standard_normal((2, 40))
        chances = effects[0, X[:, 0].astype(int)] + effects[1, X[:, 1].astype(int)]
        y = (chances + random.logistic(size=4000) > 0).astype(int)
        model = HistGradientBoostingClassifier(categorical_features=list(range(6)), max_iter=60)
        model.fit(X[:2000], y[:2000])
        assert model.feature_importances_[:2].sum() > 0.8
        # With squared errors of the same labels no noise is known: groupings compete by all that they gain.
        plain = HistGradientBoostingRegressor(categorical_features=list(range(6)), max_iter=60)
        plain.fit(X[:2000], y[:2000].astype(float))
        brier = np.mean((model.predict_proba(X[2000:])[:, 1] - y[2000:]) ** 2)
        gaps.append(np.mean((plain.predict(X[2000:]) - y[2000:]) ** 2) - brier)
    assert np.mean(gaps) > 3 * np.std(gaps, ddof=1) / 2


@pytest.fixture(scope="module")
def levels():
    """Two columns of levels, one with values missing, and a number; classes that depend on all."""
    random = np.random.default_rng(5)
    X = np.column_stack(
        [random.integers(0, 12, 400), random.integers(0, 25, 400), random.standard_normal(400)]
    )
    X[random.random(400) < 0.15, 1] = np.nan
    chances = np.sin(X[:, 0]) + np.where(np.isnan(X[:, 1]), 1.0, X[:, 1] % 3 - 1) + X[:, 2]
    return X, (chances + random.logistic(size=400) > 0).astype(int)


@pytest.mark.parametrize(
    "options",
    [{}, {"l2_regularization": 3.0}, {"max_features": 0.5, "random_state": 0}, {"line_search": "leaf"}],
    ids=str,
)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_groupings_are_proved_and_damage_to_them_is_seen(levels, options, n_classes):
    X, y = levels
    if n_classes == 3:
        y = y + ((X[:, 2] > 0.5) & (y == 1))
    model = HistGradientBoostingClassifier(
        max_iter=6, max_leaf_nodes=8, categorical_features=[0, 1], min_samples_leaf=5, **options
    ).fit(X, y)
    model.certify(X, y).require()
    assert (model.trees_.levels >= 0).any()
    for what, other in damaged(model):
        assert not holds(other, X, y), f"nothing sees a damaged {what}"


def test_groupings_that_compete_by_all_they_gain_are_seen(noisy, monkeypatch):
    from assay.trees.boosting import base

    X, y = noisy
    monkeypatch.setattr(base, "noise_per_curvature", lambda loss: 0.0)
    model = HistGradientBoostingClassifier(categorical_features=[0, 1, 2, 3], max_iter=3).fit(X, y)
    assert not claim(model, (X, y), "No admissible split").holds


def test_groupings_that_are_not_charged_for_being_the_best_of_many_are_seen(levels, monkeypatch):
    """The loop charges each side `CAUTION`; a proof that charges nothing, or more, finds better splits."""
    X, y = levels
    model = HistGradientBoostingClassifier(categorical_features=[0, 1], max_iter=6, min_samples_leaf=5).fit(
        X, y
    )
    assert claim(model, (X, y), "No admissible split").holds
    for caution in (0.0, 100.0):
        monkeypatch.setattr("assay.trees.boosting.proofs.splits.CAUTION", caution)
        assert not claim(model, (X, y), "No admissible split").holds


@pytest.mark.parametrize("seed", range(6))
def test_no_false_alarms_with_many_levels_and_weights(seed):
    random = np.random.default_rng(seed)
    X = random.integers(0, 60, (500, 4)).astype(float)
    X[:, 3] = random.standard_normal(500)
    y = (np.sin(X[:, 0]) + X[:, 3] + random.logistic(size=500) > 0).astype(int)
    weight = random.integers(1, 4, 500).astype(float) if seed % 2 else random.uniform(0.2, 2.0, 500)
    model = HistGradientBoostingClassifier(categorical_features=[0, 1, 2], max_iter=12, min_samples_leaf=4)
    model.fit(X, y, weight).certify(X, y, weight).require()
