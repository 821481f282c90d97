"""Families and links: derivatives, deviances, likelihoods."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, optimize

from assay import families, losses
from assay.families import FAMILIES, LINKS, LinkedFamily, NegativeBinomial, Tweedie, link
from assay.parameters import ParameterError

PAIRS = [(name, other) for name, kind in FAMILIES.items() for other in kind.links]
SCORES = np.array([0.3, 0.8, 1.4])
TARGETS = {"binomial": np.array([0.0, 1.0, 0.4]), "default": np.array([1.0, 3.0, 2.0])}


def targets(name):
    return TARGETS.get(name, TARGETS["default"])


def scores_of(name, other):
    if name == "binomial" and other in ("log", "identity"):
        return np.array([-0.9, -0.5, -0.2]) if other == "log" else np.array([0.2, 0.5, 0.8])
    return SCORES


@pytest.mark.parametrize("name", LINKS)
@pytest.mark.spec("sangnier/M-1.2.1-e")
def test_a_link_and_its_mean_are_inverse_and_the_slope_is_the_derivative(name):
    found = link(name)
    means = found.mean(SCORES)
    assert_allclose(found.score(means), SCORES, rtol=1e-10)
    numeric = (found.mean(SCORES + 1e-6) - found.mean(SCORES - 1e-6)) / 2e-6
    assert_allclose(found.slope(SCORES), numeric, rtol=1e-6)
    assert pickle.loads(pickle.dumps(found)) is found


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_slopes_are_derivatives_of_half_the_deviance(name, other):
    law = LinkedFamily(FAMILIES[name](), link(other))
    y, scores = targets(name), scores_of(name, other)
    losses, slopes, curvatures = law.score_terms(y, scores)
    above, below = law.score_terms(y, scores + 1e-6)[0], law.score_terms(y, scores - 1e-6)[0]
    assert_allclose(slopes, (above - below) / 2e-6, rtol=1e-5, atol=1e-7)
    assert np.all(losses >= -1e-12)
    assert np.all(curvatures > 0)
    # At the mean itself the loss vanishes, and expected and observed curvature agree.
    mean = law.mean(scores)
    if name in ("gaussian", "gamma", "inverse_gaussian", "quasi_poisson", "tweedie"):
        at, slope, expected = law.score_terms(mean, scores)
        assert_allclose(at, 0, atol=1e-12)
        assert_allclose(slope, 0, atol=1e-12)
        step = 1e-4
        second = law.score_terms(mean, scores + step)[0] + law.score_terms(mean, scores - step)[0] - 2 * at
        assert_allclose(second / step**2, expected, rtol=1e-4)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("tweedie", "quasi_poisson")])
def test_the_deviance_is_twice_the_loss_of_likelihood(name):
    family = FAMILIES[name]()
    y, mean, dispersion = targets(name), np.full(3, 0.6), 1.0 if not FAMILIES[name].dispersed else 0.7
    with np.errstate(divide="ignore", invalid="ignore"):
        best = family.log_likelihood(y, y, dispersion)
    lost = best - family.log_likelihood(y, mean, dispersion)
    assert_allclose(2 * dispersion * lost, family.unit_deviance(y, mean), rtol=1e-10)


@pytest.mark.parametrize("name", [name for name in FAMILIES if name not in ("tweedie", "quasi_poisson")])
def test_a_law_has_the_density_mean_and_variance_of_the_family(name):
    family, mean = FAMILIES[name](), np.array([0.6])
    dispersion = 0.5 if family.dispersed else 1.0
    law = family.law(mean, dispersion)
    assert_allclose(law.mean(), mean, rtol=1e-8)
    assert_allclose(law.var(), dispersion * family.variance(mean), rtol=1e-6)
    y = np.array([1.0])
    density = (
        law.logpdf(y)
        if hasattr(law.dist, "pdf") and name in ("gaussian", "gamma", "inverse_gaussian")
        else law.logpmf(y)
    )
    assert_allclose(density, family.log_likelihood(y, mean, dispersion), rtol=1e-8)


def test_the_variance_function_rules_the_deviance():
    """d(y, μ) = 2 ∫_μ^y (y − t)/V(t) dt for every family."""
    for kind in (*FAMILIES.values(),):
        family = kind()
        y, mean = (0.3, 0.6) if family.name == "binomial" else (3.0, 1.2)
        area, _ = integrate.quad(
            lambda t, f=family, y=y: (y - t) / float(f.variance(np.array([t]))[0]), mean, y
        )
        assert_allclose(family.unit_deviance(np.array([y]), np.array([mean])), 2 * area, rtol=1e-8)


def test_the_parameters_of_the_families_count():
    y = np.array([2.0])
    assert_allclose(
        NegativeBinomial(1e-9).unit_deviance(y, y / 2),
        FAMILIES["poisson"]().unit_deviance(y, y / 2),
        rtol=1e-6,
    )
    near_gamma = Tweedie(1.999999).unit_deviance(y, y / 2)
    assert_allclose(near_gamma, FAMILIES["gamma"]().unit_deviance(y, y / 2), rtol=1e-4)


@pytest.mark.parametrize(("name", "other"), PAIRS)
def test_a_family_with_a_link_is_a_loss_with_a_conjugate_where_it_is_convex(name, other):
    law = LinkedFamily(FAMILIES[name](), link(other))
    assert isinstance(law, losses.Loss)
    y, scores = targets(name), scores_of(name, other)
    value, slope, curvature = law.score_terms(y, scores)
    assert_allclose(law.value(y, scores), value)
    assert_allclose(law.gradient(y, scores), slope)
    assert_allclose(law.curvature(y, scores), curvature)
    assert_allclose(law.constant_minimiser(y), law.link.score(np.array([y.mean()]))[0])
    if law.convex:  # Fenchel and Young: the conjugate at a slope is reached at its score
        assert_allclose(law.conjugate(y, slope), slope * scores - value, rtol=1e-9, atol=1e-10)
    else:
        with pytest.raises(ParameterError, match="to have a conjugate"):
            law.conjugate(y, slope)
    same = law.compiled.value(y, scores) - law.compiled.smallest(y)
    assert_allclose(same, value, rtol=1e-9, atol=1e-12)


def test_a_family_and_its_loss_are_one_object():
    for name in ("Family", "Poisson", "QuasiPoisson", "NegativeBinomial", "Gamma", "Tweedie"):
        assert getattr(families, name) is getattr(losses, name)
        assert getattr(families, name).__module__ == "assay.losses"
    y, mean = np.array([0.0, 2.0, 5.0]), np.array([0.5, 1.5, 4.0])
    assert_allclose(losses.Poisson().deviance(y, np.log(mean)), families.Poisson().unit_deviance(y, mean))


def test_a_score_without_a_mean_has_an_infinite_loss():
    law = LinkedFamily(FAMILIES["gamma"](), link("inverse"))
    losses, slopes, curvatures = law.score_terms(np.array([1.0, 1.0]), np.array([-1.0, 2.0]))
    assert losses[0] == np.inf
    assert slopes[0] == curvatures[0] == 0
    assert np.isfinite(losses[1])


def test_the_constant_score_of_the_mean_target_is_the_best_one():
    rng = np.random.default_rng(0)
    y = rng.gamma(2.0, size=50)
    for name in ("gaussian", "gamma", "inverse_gaussian", "quasi_poisson", "tweedie"):
        law = LinkedFamily(FAMILIES[name](), link("log"))
        best = optimize.minimize_scalar(
            lambda f, law=law: law.score_terms(y, np.full(50, f))[0].sum(),
            bounds=(-3, 3),
            method="bounded",
            options={"xatol": 1e-10},
        ).x
        assert_allclose(np.exp(best), y.mean(), rtol=1e-5)
