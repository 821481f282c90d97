"""Random Fourier features: unbiased for the kernel, of the promised spread, with the law of the kernel."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.kernel_approximation
from numpy.testing import assert_allclose
from scipy import stats

from assay.kernel_machines import RandomFourierFeatures
from assay.kernel_machines.features.spectral_laws import draw_frequencies, largest_step, mean_error_bound
from assay.kernels import Gaussian, Laplacian

KERNELS = {
    "rbf": lambda distance, gamma: np.exp(-gamma * distance**2),
    "laplacian": lambda distance, gamma: np.exp(-gamma * distance),
}


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(40, 3))


def exact(X, kernel, gamma):
    return KERNELS[kernel](np.linalg.norm(X[:, None] - X, axis=2), gamma)


@pytest.mark.parametrize("orthogonal", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
def test_inner_products_of_features_tend_to_the_kernel(X, kernel, orthogonal):
    options = {"kernel": kernel, "gamma": 0.4, "orthogonal": orthogonal, "random_state": 0}
    model = RandomFourierFeatures(n_components=30_000, **options).fit(X)
    features = model.transform(X)
    # Standard deviations of the means are at most √(3/2)/√D; five of them.
    assert np.abs(features @ features.T - exact(X, kernel, 0.4)).max() < 5 * np.sqrt(1.5 / 30_000)
    assert model.certify(X).holds


def test_the_parameters_of_the_sampler_of_scikit_learn_are_accepted(X):
    theirs = sklearn.kernel_approximation.RBFSampler(gamma="scale", n_components=30, random_state=0).fit(X)
    model = RandomFourierFeatures(**theirs.get_params()).fit(X)
    assert model.random_weights_.shape == theirs.random_weights_.shape
    assert model.random_offset_.shape == theirs.random_offset_.shape
    assert_allclose(model.kernel_.gamma, 1 / (3 * X.var()))
    model.random_weights_, model.random_offset_ = theirs.random_weights_, theirs.random_offset_
    assert_allclose(model.transform(X), theirs.transform(X), atol=1e-12)


def test_frequencies_have_the_law_of_the_kernel():
    gaussian = draw_frequencies(Gaussian(0.7), 3, 4000, orthogonal=False, seed=1).weights
    assert stats.kstest(gaussian.ravel(), stats.norm(scale=np.sqrt(1.4)).cdf).pvalue > 1e-3
    cauchy = draw_frequencies(Laplacian(0.7), 3, 4000, orthogonal=False, seed=1).weights
    for direction in np.eye(3):  # every projection of the law is Cauchy with scale γ
        assert stats.kstest(direction @ cauchy, stats.cauchy(scale=0.7).cdf).pvalue > 1e-3
    for kernel, law in (
        (Gaussian(0.7), stats.norm(scale=np.sqrt(1.4))),
        (Laplacian(0.7), stats.cauchy(0, 0.7)),
    ):
        one = draw_frequencies(kernel, 3, 4000, orthogonal=True, seed=2).weights
        assert stats.kstest(one[1], law.cdf).pvalue > 1e-3
        group = one[:, 3:6]
        lengths = np.linalg.norm(group, axis=0)
        assert np.abs(group.T @ group - np.diag(lengths**2)).max() < 1e-9 * lengths.max() ** 2


def test_orthogonal_frequencies_vary_less(X):
    errors = {}
    for orthogonal in (False, True):
        squares = []
        for seed in range(60):
            options = {"gamma": 0.1, "n_components": 60, "orthogonal": orthogonal}
            features = RandomFourierFeatures(random_state=seed, **options).fit(X).transform(X)
            squares.append(np.mean((features @ features.T - exact(X, "rbf", 0.1)) ** 2))
        errors[orthogonal] = np.mean(squares)
    assert errors[True] < errors[False]


def test_errors_keep_the_promise_with_the_promised_probability():
    # One pair, few frequencies: the bound at δ = 0.2 must hold in 80 % of the draws, and not be far from it.
    x = np.array([[0.0, 0.0], [0.6, -0.3]])
    at = np.array([exact(x, "rbf", 1.0)[0, 1]])
    twice = np.array([exact(2 * x, "rbf", 1.0)[0, 1]])
    allowed = mean_error_bound(at, twice, 1, 50, delta=0.2)[0]
    above, small = 0, 0
    for seed in range(400):
        weights, offset = draw_frequencies(Gaussian(1.0), 2, 50, orthogonal=False, seed=seed)
        features = np.sqrt(2 / 50) * np.cos(x @ weights + offset)
        error = abs(features[0] @ features[1] - at[0])
        above += error > allowed
        small += error > allowed / 2.5
    assert above / 400 <= 0.2
    assert small / 400 > 0.2
    assert allowed <= np.sqrt(8 * np.log(2 / 0.2) / 50)


def test_the_variance_in_the_promise_is_that_of_the_terms():
    x, z = np.array([0.3, -0.2]), np.array([-0.4, 0.5])
    weights, offset = draw_frequencies(Gaussian(0.8), 2, 200_000, orthogonal=False, seed=0)
    terms = 2 * np.cos(x @ weights + offset) * np.cos(z @ weights + offset)
    step = np.sum((x - z) ** 2)
    at, twice = np.exp(-0.8 * step), np.exp(-0.8 * 4 * step)
    assert_allclose(terms.var(), 0.5 + (1 + twice) / 2 - at**2, rtol=0.01)
    assert_allclose(terms.mean(), at, atol=5 * terms.std() / np.sqrt(200_000))


def test_largest_step_is_the_distance_of_kolmogorov():
    values = np.random.default_rng(0).random(50)
    assert_allclose(largest_step(values), stats.kstest(values, "uniform").statistic)


def test_weights_of_another_law_are_seen(X):
    model = RandomFourierFeatures(gamma=0.4, n_components=2000, random_state=0).fit(X)
    model.random_weights_ = 1.5 * model.random_weights_
    failed = {item.quantity for item in model.certify(X).failed}
    assert "largest step between their distribution functions" in failed
    assert "kernel error where it is nearest to its bound" in failed


def test_the_same_frequencies_come_from_any_source(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    model = RandomFourierFeatures(gamma="scale", random_state=3).fit(str(tmp_path / "rows.npy"))
    assert_allclose(
        model.transform(str(tmp_path / "rows.npy")),
        RandomFourierFeatures(gamma="scale", random_state=3).fit(X).transform(X),
        atol=1e-12,
    )


def test_a_table_without_spread_has_scale_one():
    model = RandomFourierFeatures(gamma="scale", n_components=5, random_state=0).fit(np.ones((4, 2)))
    assert model.kernel_.gamma == 1.0
