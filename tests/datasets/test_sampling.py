import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

SEEDS = {
    "None": lambda: None,
    "int": lambda: 3,
    "Generator": lambda: np.random.default_rng(3),
    "SeedSequence": lambda: np.random.SeedSequence(3),
    "RandomState": lambda: np.random.RandomState(3),
}


@pytest.mark.parametrize("seed", SEEDS.values(), ids=SEEDS.keys())
def test_every_kind_of_random_state_is_accepted_and_the_global_state_untouched(law, seed):
    before = np.random.get_state()[1].copy()
    X, y = law.sample(40, random_state=seed())
    assert X.shape == (40, law.n_features)
    assert y.shape == (40,)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


@pytest.mark.parametrize("kind", ["int", "Generator", "SeedSequence", "RandomState"])
def test_same_seed_same_sample(law, kind):
    first, second = (law.sample(40, random_state=SEEDS[kind]()) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    np.testing.assert_array_equal(first.y, second.y)


def test_a_generator_advances_from_one_sample_to_the_next(law):
    rng = np.random.default_rng(0)
    assert not np.array_equal(law.sample(40, rng).y, law.sample(40, rng).y)


def test_a_law_is_frozen_and_survives_pickling(law):
    with pytest.raises(FrozenInstanceError):
        law.n_features = 7
    again = pickle.loads(pickle.dumps(law))
    np.testing.assert_array_equal(again.sample(40, 0).X, law.sample(40, 0).X)


def test_changing_a_sample_leaves_the_law_as_it_was(law):
    X, y = law.sample(40, random_state=0)
    kept = X.copy()
    X[:] = 0.0
    y[:] = 0
    np.testing.assert_array_equal(law.sample(40, random_state=0).X, kept)


def test_classes_come_with_the_stated_probabilities(classification_law):
    n_samples = 20_000
    y = classification_law.sample(n_samples, random_state=0).y
    priors = classification_law.priors
    frequencies = (y[:, np.newaxis] == classification_law.classes).mean(axis=0)
    assert np.all(np.abs(frequencies - priors) < 4 * np.sqrt(priors * (1 - priors) / n_samples))


def test_gaussian_components_have_the_stated_means_and_covariances(gaussian_law):
    X, y = gaussian_law.sample(40_000, random_state=1)
    for label, mean, covariance in zip(
        gaussian_law.classes, gaussian_law.means, gaussian_law.covariances, strict=True
    ):
        rows = X[y == label]
        variances = np.diag(covariance)
        assert np.all(np.abs(rows.mean(axis=0) - mean) < 5 * np.sqrt(variances / len(rows)))
        # Var(ŝ_jk) = (C_jj C_kk + C_jk²)/n for Gaussian rows.
        error = np.sqrt((np.outer(variances, variances) + covariance**2) / len(rows))
        assert np.all(np.abs(np.cov(rows.T) - covariance) < 5 * error)


def test_noise_around_the_regression_function_is_centred_with_the_stated_variance(regression_law):
    rng = np.random.default_rng(0)
    samples = [regression_law.sample(40, rng) for _ in range(500)]
    residuals = np.concatenate([y - regression_law.regression_function(X) for X, y in samples])
    variance = regression_law.noise_variance
    assert abs(residuals.mean()) < 4 * np.sqrt(variance / residuals.size)
    assert abs(residuals.var() - variance) < 4 * variance * np.sqrt(2 / residuals.size)
