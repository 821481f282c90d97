from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.stats import multivariate_normal, norm, rice

from assay.datasets import Blobs, GaussianClasses, Rings, TwoMoons


def errors_on_drawn_labels(law, rules, n_samples=40_000, seed=11):
    """0–1 losses of rules on one labelled sample, an estimate that never asks for the posterior."""
    X, y = law.sample(n_samples, random_state=seed)
    return [(rule(X) != y).astype(float) for rule in rules]


def standard_error(losses):
    return losses.std() / np.sqrt(losses.size)


def plug_in(law, n_samples, seed):
    X, y = law.sample(n_samples, random_state=seed)
    rows = [X[y == label] for label in law.classes]
    return GaussianClasses(
        [block.mean(axis=0) for block in rows],
        [np.cov(block.T, bias=True) for block in rows],
        [len(block) / n_samples for block in rows],
    )


def test_the_plug_in_rule_never_beats_its_oracle_and_tends_to_it():
    oracle = GaussianClasses([[-1.0, 0.0], [1.0, 0.5]], [np.eye(2), [[2.0, 0.8], [0.8, 1.0]]], [0.4, 0.6])
    best = oracle.risk(oracle.bayes_rule, random_state=0)
    gaps = []
    for n_samples in (20, 200, 20_000):
        twin = plug_in(oracle, n_samples, seed=4)
        twin_losses, oracle_losses = errors_on_drawn_labels(oracle, [twin.bayes_rule, oracle.bayes_rule])
        difference = twin_losses - oracle_losses
        assert difference.mean() > -4 * standard_error(difference)
        gaps.append(oracle.risk(twin.bayes_rule, random_state=0).value - best.value)
    assert gaps[0] > gaps[1] > gaps[2] >= 0.0
    assert gaps[2] < 1e-3


def test_the_empirical_twin_of_the_risk_tends_to_the_risk(classification_law):
    (losses,) = errors_on_drawn_labels(classification_law, [classification_law.bayes_rule])
    population = classification_law.risk(classification_law.bayes_rule, random_state=1)
    error = np.hypot(standard_error(losses), population.standard_error)
    assert abs(losses.mean() - population.value) < 4 * error


def test_the_sign_of_zero_is_minus_one():
    law = GaussianClasses([[-1.0, 0.0], [1.0, 0.0]])
    ties = np.array([[0.0, -2.0], [0.0, 0.0], [0.0, 5.0]])
    np.testing.assert_array_equal(law.posterior(ties), 0.5)
    np.testing.assert_array_equal(law.bayes_rule(ties), -1)
    assert law.bayes_rule([[1e-9, 0.0]]).tolist() == [1]


def test_ties_of_several_classes_go_to_the_lowest_index():
    law = GaussianClasses([[-1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, -1.0]], classes=["d", "c", "b", "a"])
    assert law.bayes_rule([[0.0, 0.0]]).tolist() == ["d"]


@pytest.mark.spec("sangnier/P-0.4")
@pytest.mark.parametrize("distance", [0.5, 1.0, 3.0])
def test_bayes_risk_of_two_equal_gaussians_is_phi_of_minus_half_the_distance(distance):
    law = GaussianClasses([[0.0, 0.0, 0.0], [distance, 0.0, 0.0]])
    estimate = law.bayes_risk()
    assert estimate.exact
    assert estimate.value == pytest.approx(norm.cdf(-distance / 2))


@pytest.mark.spec("sangnier/P-0.4")
def test_bayes_risk_with_unequal_priors_agrees_with_quadrature_and_the_error_of_the_threshold():
    covariance = np.array([[1.0, 0.6], [0.6, 2.0]])
    law = GaussianClasses([[-1.0, 0.0], [1.0, 0.5]], covariance, [0.2, 0.8])
    direction = np.linalg.solve(covariance, [2.0, 0.5])
    threshold = direction @ [0.0, 0.25] + np.log(0.2 / 0.8)
    spread = np.sqrt(direction @ covariance @ direction)
    lower, upper = norm(direction @ [-1.0, 0.0], spread), norm(direction @ [1.0, 0.5], spread)
    by_threshold = 0.2 * lower.sf(threshold) + 0.8 * upper.cdf(threshold)
    quadrature = law.bayes_risk(method="quadrature")
    assert law.bayes_risk().value == pytest.approx(by_threshold, rel=1e-12)
    assert abs(quadrature.value - by_threshold) <= quadrature.standard_error < 1e-4


@pytest.mark.spec("sangnier/P-0.4")
def test_bayes_risk_of_two_widths_agrees_with_the_roots_of_the_log_odds():
    law = GaussianClasses([[0.0], [0.0]], [[[1.0]], [[9.0]]])
    root = np.sqrt(2.0 * np.log(3.0) * 9.0 / 8.0)
    exact = 0.5 * 2.0 * norm.sf(root) + 0.5 * (1.0 - 2.0 * norm.sf(root / 3.0))
    estimate = law.bayes_risk()
    assert not estimate.exact
    assert abs(estimate.value - exact) <= estimate.standard_error < 1e-5


@pytest.mark.spec("sangnier/P-0.4")
def test_bayes_risk_of_rings_agrees_with_the_rice_distribution_of_the_radius():
    inner, outer = rice(1.0 / 0.4, scale=0.4), rice(2.0 / 0.4, scale=0.4)
    threshold = brentq(lambda radius: inner.pdf(radius) - outer.pdf(radius), 1.0, 2.0)
    exact = 0.5 * inner.sf(threshold) + 0.5 * outer.cdf(threshold)
    estimate = Rings([1.0, 2.0], 0.4).bayes_risk()
    assert abs(estimate.value - exact) < 1e-6


@pytest.mark.spec("sangnier/P-0.4")
def test_bayes_risk_agrees_with_monte_carlo_and_with_errors_on_drawn_labels(classification_law):
    estimate = classification_law.bayes_risk(random_state=0)
    drawn = classification_law.bayes_risk(method="monte_carlo", n_samples=20_000, random_state=1)
    error = np.hypot(drawn.standard_error, estimate.standard_error)
    assert abs(drawn.value - estimate.value) < 4 * error
    (losses,) = errors_on_drawn_labels(classification_law, [classification_law.bayes_rule])
    assert abs(losses.mean() - estimate.value) < 4 * np.hypot(standard_error(losses), estimate.standard_error)


@pytest.mark.spec("sangnier/P-0.4")
def test_no_perturbed_rule_beats_the_bayes_rule(classification_law):
    classes = classification_law.classes
    rng = np.random.default_rng(6)
    shift = 0.2 * rng.normal(size=classification_law.n_features)
    tilt = 0.7 * rng.normal(size=len(classes))
    perturbed = [
        lambda X: classification_law.bayes_rule(X + shift),
        lambda X: classification_law.bayes_rule(1.2 * X),
        lambda X: classes[np.argmax(classification_law.log_joint(X) + tilt, axis=1)],
        lambda X: np.repeat(classes[-1], len(X)),
    ]
    best, *others = errors_on_drawn_labels(classification_law, [classification_law.bayes_rule, *perturbed])
    for losses in others:
        difference = losses - best
        assert difference.mean() > -4 * standard_error(difference)
    risks = [classification_law.risk(rule, 5000, 0).value for rule in perturbed]
    assert min(risks) >= classification_law.risk(classification_law.bayes_rule, 5000, 0).value


def test_posteriors_are_calibrated_on_drawn_labels(classification_law):
    X, y = classification_law.sample(40_000, random_state=8)
    posterior = classification_law.posterior(X)
    np.testing.assert_allclose(posterior.sum(axis=1), 1.0)
    hits = y[:, np.newaxis] == classification_law.classes
    for low in np.arange(0.0, 1.0, 0.2):
        chosen = (posterior > low) & (posterior <= low + 0.2)
        stated = posterior[chosen]
        error = np.sqrt(np.sum(stated * (1 - stated)))
        # Cells of one row are dependent, at worst as many times as there are classes.
        assert (
            abs(hits[chosen].sum() - stated.sum()) < 4 * np.sqrt(len(classification_law.classes)) * error + 1
        )


def test_a_density_on_the_plane_has_mass_one(plane_law):
    axis = np.linspace(-12.0, 12.0, 301)
    grid = np.column_stack([part.ravel() for part in np.meshgrid(axis, axis)])
    mass = np.exp(plane_law.log_density(grid)).sum() * (axis[1] - axis[0]) ** 2
    assert mass == pytest.approx(1.0, abs=1e-8)


def test_gaussian_densities_agree_with_scipy():
    law = GaussianClasses([[0.0, 0.0], [1.0, 0.5]], [np.eye(2), [[1.0, 0.6], [0.6, 2.0]]], [0.3, 0.7])
    X = np.random.default_rng(0).normal(size=(20, 2))
    parts = [
        np.log(prior) + multivariate_normal(mean, covariance).logpdf(X)
        for prior, mean, covariance in zip(law.priors, law.means, law.covariances, strict=True)
    ]
    np.testing.assert_allclose(law.log_joint(X), np.column_stack(parts))


@pytest.mark.parametrize("noise_std", [0.05, 0.3, 1.0])
def test_moon_densities_agree_with_an_adaptive_integral_along_the_curve(noise_std):
    curves = [lambda t: (np.cos(t), np.sin(t)), lambda t: (1 - np.cos(t), 0.5 - np.sin(t))]
    X = np.array([[0.3, 0.8], [0.9, -0.4], [0.5, 0.25], [-1.1, 0.1]])
    joint = TwoMoons(noise_std, [0.25, 0.75]).log_joint(X)
    for column, (prior, curve) in enumerate(zip([0.25, 0.75], curves, strict=True)):
        for row, point in enumerate(X):

            def bump(t, curve=curve, point=point):
                squared = np.sum((point - np.array(curve(t))) ** 2)
                return np.exp(-squared / (2 * noise_std**2)) / (2 * np.pi * noise_std**2)

            nodes = np.linspace(0.0, np.pi, 33)
            integral = sum(quad(bump, a, b)[0] for a, b in pairwise(nodes))
            assert np.exp(joint[row, column]) == pytest.approx(prior * integral / np.pi, rel=1e-7)


def test_ring_densities_agree_with_the_rice_distribution_of_the_radius():
    law = Rings([1.0, 2.0, 3.0], 0.3, [0.2, 0.3, 0.5])
    radius = np.linspace(0.1, 4.0, 20)
    joint = np.exp(law.log_joint(np.column_stack([radius * np.cos(radius), radius * np.sin(radius)])))
    for k, (prior, circle) in enumerate(zip(law.priors, law.radii, strict=True)):
        stated = prior * rice(circle / 0.3, scale=0.3).pdf(radius) / (2 * np.pi * radius)
        np.testing.assert_allclose(joint[:, k], stated, rtol=1e-8)


def test_the_truth_is_finite_far_from_the_data(classification_law):
    far = np.full((2, classification_law.n_features), [[1e3], [-1e3]])
    assert np.all(np.isfinite(classification_law.log_density(far)))
    np.testing.assert_allclose(classification_law.posterior(far).sum(axis=1), 1.0)


def test_equal_classes_have_the_smallest_prior_as_bayes_risk():
    law = GaussianClasses([[1.0, 1.0], [1.0, 1.0]], priors=[0.3, 0.7])
    assert law.bayes_risk() == (0.3, 0.0, True)


def test_a_label_the_law_does_not_have_is_always_an_error():
    law = TwoMoons()
    assert law.risk(lambda X: np.zeros(len(X)), 100, 0).value == 1.0
    assert law.risk(lambda X: np.ones(len(X)), 5000, 0).value == pytest.approx(0.5, abs=0.03)


def test_blobs_know_their_centres_and_labels():
    law = Blobs(
        centers=[[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]], cluster_std=[0.5, 1.0, 2.0], weights=[0.2, 0.3, 0.5]
    )
    np.testing.assert_array_equal(law.true_centers, [[0.0, 0.0], [5.0, 0.0], [0.0, 5.0]])
    np.testing.assert_allclose(law.covariances, np.array([0.25, 1.0, 4.0])[:, None, None] * np.eye(2))
    assert law.classes.tolist() == [0, 1, 2]
    assert set(law.sample(100, 0).y) == {0, 1, 2}
    assert law.posterior([[5.0, 0.0]]).argmax() == 1


def test_drawn_blob_centres_come_from_the_seed_and_lie_in_the_box():
    law = Blobs(6, 4, center_box=(-2.0, 3.0), random_state=0)
    assert law.n_clusters == 6
    assert law.true_centers.min() >= -2.0
    assert law.true_centers.max() <= 3.0
    np.testing.assert_array_equal(Blobs(6, 4, center_box=(-2.0, 3.0), random_state=0).centers, law.centers)


def test_a_law_can_be_replaced_with_one_parameter_changed():
    assert replace(TwoMoons(), noise_std=0.5).noise_std == 0.5
    assert replace(Rings(), radii=[2.0, 4.0]).radii.tolist() == [2.0, 4.0]
    blobs = Blobs(2, random_state=0)
    np.testing.assert_array_equal(replace(blobs, weights=[0.1, 0.9]).centers, blobs.centers)
    assert replace(GaussianClasses([[0.0], [1.0]]), priors=[0.1, 0.9]).priors.tolist() == [0.1, 0.9]
