"""Over- and under-fitting, and what one far point does."""

from __future__ import annotations

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

from assay.datasets import GaussianClasses
from assay.theory import outlier_sensitivity, polynomial_overfitting


def wave(x):
    return np.sin(4 * x)


@pytest.mark.spec("rudi/F1.1")
def test_training_risk_falls_and_true_risk_falls_and_rises():
    degrees = np.arange(16)
    found = polynomial_overfitting(wave, degrees, n_samples=20, noise_std=0.3, n_draws=60, random_state=0)
    assert np.all(np.diff(found.train_risk) < 0)  # nested spaces: more can only fit better
    best = found.best_degree
    assert 3 <= best <= 8
    assert found.true_risk[0] > 3 * found.true_risk[best]  # under-fitting
    assert found.true_risk[-1] > 3 * found.true_risk[best]  # over-fitting
    assert np.all(found.true_risk >= found.noise_variance)
    assert found.train_risk[-1] < found.noise_variance < found.true_risk[best]


@pytest.mark.spec("rudi/F1.1")
def test_enough_parameters_learn_the_noise_by_heart():
    found = polynomial_overfitting(wave, [19], n_samples=20, random_state=3)
    assert found.train_risk[0] < 1e-12
    assert found.true_risk[0] > 100 * found.noise_variance


def test_the_true_risk_is_the_mean_over_new_points(rng):
    found = polynomial_overfitting(wave, [5], n_samples=30, noise_std=0.2, random_state=1)
    x = rng.uniform(-1, 1, 200_000)
    errors = (
        wave(x) + 0.2 * rng.standard_normal(len(x)) - np.polynomial.legendre.legval(x, found.coef[0])
    ) ** 2
    assert abs(errors.mean() - found.true_risk[0]) < 4 * errors.std() / np.sqrt(len(x))
    fit = np.polynomial.Polynomial.fit(found.x, found.y, 5)
    assert_allclose(np.polynomial.legendre.legval(found.x, found.coef[0]), fit(found.x), atol=1e-9)


def test_without_noise_the_right_degree_has_no_risk():
    found = polynomial_overfitting(lambda x: x**3 - x, [2, 3, 6], noise_std=0.0, random_state=0)
    assert found.true_risk[0] > 1e-3
    assert_allclose(found.true_risk[1:], 0, atol=1e-20)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"degrees": [-1]}, "degrees"),
        ({"degrees": [500]}, "degrees"),
        ({"degrees": [1], "n_samples": 0}, "n_samples"),
        ({"degrees": [1], "noise_std": -1.0}, "noise_std"),
    ],
)
def test_bad_arguments_are_refused(arguments, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of polynomial_overfitting"):
        polynomial_overfitting(wave, **arguments)


@pytest.fixture
def classes():
    X, y = GaussianClasses([[-0.8, 0.0], [0.8, 0.0]]).sample(300, random_state=5)
    return X, (y > 0).astype(int)


@pytest.mark.spec("sangnier/P-1.2")
def test_a_far_point_turns_a_rule_of_moments_and_not_logistic_regression(classes):
    X, y = classes
    found = outlier_sensitivity(X, y, [1.0, 1.0], [3.0, 10.0, 100.0, 1000.0])
    assert found.logistic_weight[0] > found.logistic_weight[1] > found.logistic_weight[2]
    assert found.logistic_weight[-1] < 1e-12  # p(1 − p): a far point on its right side weighs nothing
    for label, place in ((1, 0), (0, 1)):
        near = outlier_sensitivity(X, y, [1.0, 1.0], [1.0, 3.0], label=label)
        point = X.mean(axis=0) + near.distances[place] * np.array([1.0, 1.0]) / np.sqrt(2)
        more, labels = np.vstack([X, point]), np.append(y, label)
        fits = [
            sm.Logit(k, sm.add_constant(Z)).fit(disp=False, tol=1e-12) for Z, k in ((more, labels), (X, y))
        ]
        chance = float(fits[0].predict(np.append(1.0, point)[None])[0])
        assert near.logistic_weight[place] == pytest.approx(chance * (1 - chance), rel=1e-6)
        wrong = (fits[0].predict(sm.add_constant(X)) > 0.5) != (y == 1)
        assert near.logistic_error[place] == pytest.approx(wrong.mean())
        slopes = [fit.params[1:] / np.linalg.norm(fit.params[1:]) for fit in fits]
        angle = np.degrees(np.arccos(slopes[0] @ slopes[1]))
        assert near.logistic_angle[place] == pytest.approx(angle, abs=1e-4)
    assert found.logistic_angle[-1] < 0.1
    assert found.moment_angle[-1] > 30
    assert found.moment_error[-1] > found.logistic_error[-1] + 0.05
    clean = outlier_sensitivity(X, y, [1.0, 0.0], [0.8])  # a point like the others moves neither
    assert clean.moment_angle[0] < 1
    assert clean.logistic_angle[0] < 1


@pytest.mark.spec("sangnier/P-1.2")
def test_the_rule_of_moments_depends_on_second_moments_without_bound(classes):
    X, y = classes
    found = outlier_sensitivity(X, y, [0.0, 1.0], np.geomspace(10, 1e4, 4))
    # One point among 300 at distance t has a part t²/300 in the covariance: the slope along it vanishes.
    far = np.vstack([X, X.mean(axis=0) + [0.0, 1e4]])
    labels = np.append(y, 1)
    scatter = sum(np.cov(far[labels == k].T, bias=True) * np.sum(labels == k) for k in (0, 1)) / 301
    gap = far[labels == 1].mean(axis=0) - far[labels == 0].mean(axis=0)
    slope = np.linalg.solve(scatter, gap)
    plain = np.linalg.solve(
        sum(np.cov(X[y == k].T, bias=True) * np.sum(y == k) for k in (0, 1)) / 300,
        X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0),
    )
    cosine = slope @ plain / np.linalg.norm(slope) / np.linalg.norm(plain)
    assert found.moment_angle[-1] == pytest.approx(np.degrees(np.arccos(cosine)), abs=1e-5)
    middle = (far[labels == 1].mean(axis=0) + far[labels == 0].mean(axis=0)) / 2
    scores = (X - middle) @ slope + np.log(labels.sum() / (301 - labels.sum()))
    assert found.moment_error[-1] == pytest.approx(np.mean((scores > 0) != (y == 1)))


def test_bad_arguments_of_the_outlier_are_refused(classes):
    X, y = classes
    for arguments, name in (
        ((X, y + 1, [1.0, 0.0], [1.0]), "y"),
        ((X, y, [1.0], [1.0]), "direction"),
        ((X, y, [0.0, 0.0], [1.0]), "direction"),
        ((X, y, [1.0, 0.0], [-1.0]), "distances"),
    ):
        with pytest.raises(ValueError, match=f"The '{name}' parameter of outlier_sensitivity"):
            outlier_sensitivity(*arguments)
    with pytest.raises(ValueError, match="'label'"):
        outlier_sensitivity(X, y, [1.0, 0.0], [1.0], label=2)
