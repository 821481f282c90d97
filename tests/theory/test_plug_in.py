"""Regret of classifiers: identities, bounds of plug-in rules, and the low-variance estimate of a risk."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.stats import norm

from assay.datasets import Blobs, GaussianClasses, Rings, TwoMoons, two_gaussians_law
from assay.kernel_machines import KernelLogisticRegression
from assay.linear import LogisticRegression
from assay.losses.costs import bayes_classifier, least_cost
from assay.parameters import ParameterError
from assay.theory import (
    conditional_error,
    easier_decision,
    empirical_risk,
    misclassification,
    plug_in_regret,
    regret,
    risk_estimates,
)

LINE = GaussianClasses(
    [[-1.0], [1.0]], priors=[0.4, 0.6]
)  # η known, every threshold rule has a closed-form risk


def threshold_risk(cut):
    """Risk of 1{x > cut} on LINE, from normal tails."""
    return 0.4 * norm.sf(cut, -1.0) + 0.6 * norm.cdf(cut, 1.0)


def eta(x):
    first, second = 0.4 * norm.pdf(x, -1.0), 0.6 * norm.pdf(x, 1.0)
    return second / (first + second)


def density(x):
    return 0.4 * norm.pdf(x, -1.0) + 0.6 * norm.pdf(x, 1.0)


@pytest.mark.spec("rudi/T6.1", "douc/T8.5")
def test_the_conditional_error_has_both_forms_and_is_the_frequency_of_mistakes(rng):
    share = rng.random(50)
    decisions = rng.random(50) < 0.5
    first = share * ~decisions + (1 - share) * decisions
    second = (2 * share - 1) * ~decisions + 1 - share
    assert_allclose(conditional_error(share, decisions), first, atol=1e-15)
    assert_allclose(conditional_error(share, decisions), second, atol=1e-15)
    labels = rng.random((40_000, 50)) < share
    frequency = (labels != decisions).mean(axis=0)
    assert np.all(np.abs(frequency - first) < 4.5 * np.sqrt(share * (1 - share) / 40_000) + 1e-12)


@pytest.mark.spec("rudi/T6.1")
@pytest.mark.parametrize("cut", [-0.3, 0.5])
def test_the_risk_from_the_posterior_is_unbiased_and_varies_less(cut):
    def rule(X):
        return np.where(X[:, 0] > cut, 1, -1)

    truth = threshold_risk(cut)
    found = risk_estimates(rule, LINE, 20_000, random_state=0)
    assert abs(found.conditional.value - truth) < 4 * found.conditional.standard_error
    assert abs(found.drawn.value - truth) < 4 * found.drawn.standard_error
    # Var 1{Y ≠ h} = Var E[1{Y ≠ h} | X] + E Var(1{Y ≠ h} | X): the second part is what is spared.
    spared = quad(lambda x: density(x) * eta(x) * (1 - eta(x)), -9, 9)[0]
    assert found.label_variance == pytest.approx(spared, rel=0.03)
    conditional = truth * (1 - truth) - spared
    assert found.variance_ratio == pytest.approx(truth * (1 - truth) / conditional, rel=0.06)
    means = [risk_estimates(rule, LINE, 100, random_state=seed) for seed in range(200)]
    spread = np.std([(each.conditional.value, each.drawn.value) for each in means], axis=0)
    assert spread[0] < 0.8 * spread[1]


@pytest.mark.spec("rudi/T6.2", "wei/T7.2", "douc/T8.5", "wei/T7.1")
@pytest.mark.parametrize("cut", [-1.0, -0.2, 0.7])
def test_the_regret_of_a_threshold_is_that_of_normal_tails(cut):
    def rule(X):
        return np.where(X[:, 0] > cut, 1, -1)

    found = regret(rule, LINE, 50_000, random_state=1)
    best = np.log(0.4 / 0.6) / 2  # where 0.4 φ(x + 1) = 0.6 φ(x − 1)
    truth = threshold_risk(cut) - threshold_risk(best)
    by_identity = 2 * quad(lambda x: density(x) * abs(eta(x) - 0.5), *sorted((cut, best)))[0]
    assert truth == pytest.approx(by_identity, rel=1e-8)
    assert abs(found.regret - truth) < 4 * found.standard_error
    assert found.identity == pytest.approx(found.regret, abs=1e-12)
    assert abs(found.bayes_risk - threshold_risk(best)) < 4 * 0.5 / np.sqrt(50_000)
    assert found.on_disagreement is None
    assert all(proof.holds for proof in found.certificates)


@pytest.mark.spec("wei/T7.2", "rudi/T6.3", "douc/T8.5")
def test_quadrature_weights_give_the_exact_chain_of_bounds():
    nodes = np.linspace(-9, 9, 20_001)
    mass = density(nodes)
    truth, guess = eta(nodes), norm.cdf(1.4 * nodes - 0.5)
    found = plug_in_regret(truth, guess, weights=mass)
    cut, best = 0.5 / 1.4, np.log(0.4 / 0.6) / 2

    def integral(values, low=-9.0, high=9.0):
        return quad(lambda x: density(x) * values(x), low, high, limit=200)[0]

    def error(x):
        return abs(norm.cdf(1.4 * x - 0.5) - eta(x))

    assert found.regret == pytest.approx(threshold_risk(cut) - threshold_risk(best), abs=2e-4)
    assert found.on_disagreement == pytest.approx(2 * integral(error, best, cut), abs=2e-4)
    assert found.l1 == pytest.approx(2 * integral(error), abs=2e-4)
    assert found.l2 == pytest.approx(2 * np.sqrt(integral(lambda x: error(x) ** 2)), abs=2e-4)
    assert 0 < found.regret < found.on_disagreement < found.l1 < found.l2
    names = [proof.quantity for proof in found.certificates if proof.holds]
    assert names == ["regret", "regret", "error where the rules differ", "mean error of the estimate"]


@pytest.mark.spec("wei/T7.2", "wei/T7.1")
@pytest.mark.parametrize(
    "law",
    [two_gaussians_law(2, 1.5), TwoMoons(0.4), Rings([1.0, 2.0, 3.0], 0.5), Blobs(4, random_state=0)],
    ids=["lines", "moons", "three rings", "four blobs"],
)
def test_regret_is_between_zero_and_the_bounds_for_fitted_models(law):
    X, y = law.sample(60, random_state=2)
    model = LogisticRegression(C=0.5).fit(X, y)
    found = regret(model, law, 4000, random_state=3)
    assert 0 <= found.regret <= found.on_disagreement <= found.l1 <= found.l2
    # An independent count of mistakes on drawn labels.
    fresh, labels = law.sample(60_000, random_state=4)
    difference = (model.predict(fresh) != labels).astype(float) - (law.bayes_rule(fresh) != labels)
    error = np.hypot(difference.std() / np.sqrt(60_000), found.standard_error)
    assert abs(difference.mean() - found.regret) < 4 * error


@pytest.mark.spec("wei/T7.2")
def test_kernel_logistic_regression_pays_less_than_its_bound_and_less_with_more_rows():
    law = TwoMoons(0.4)
    few, many = (
        regret(
            KernelLogisticRegression(kernel="rbf", C=1.0).fit(*law.sample(n, random_state=5)), law, 4000, 6
        )
        for n in (60, 600)
    )
    for found in (few, many):
        assert 0 < found.regret < found.on_disagreement < found.l1 < found.l2
    assert many.regret < few.regret
    assert many.l1 < few.l1
    # The two sides of the identity, from the law alone: the risk of each rule and the width of η from ½.
    model = KernelLogisticRegression(kernel="rbf", C=1.0).fit(*law.sample(60, random_state=5))
    fresh = law.sample(4000, random_state=6).X
    eta_of_law, estimate = law.posterior(fresh)[:, 1], model.predict_proba(fresh)[:, 1]
    assert_allclose(model.predict(fresh) == law.classes[1], estimate > 0.5)
    wrong = (estimate > 0.5) != (eta_of_law > 0.5)
    found = plug_in_regret(eta_of_law, estimate)
    assert found.regret == pytest.approx(2 * np.mean(wrong * np.abs(eta_of_law - 0.5)), abs=1e-12)
    assert found.l1 == pytest.approx(2 * np.mean(np.abs(eta_of_law - estimate)), abs=1e-12)


def test_a_wrong_identity_and_a_broken_chain_are_seen():
    found = plug_in_regret([0.9, 0.6, 0.2], [0.7, 0.4, 0.1])
    assert not found._replace(risk=found.risk * 1.01).certificates[0].holds
    assert not found._replace(on_disagreement=found.identity * 0.99).certificates[1].holds
    assert not found._replace(l1=found.on_disagreement * 0.99).certificates[2].holds
    assert not found._replace(l2=found.l1 * 0.99).certificates[3].holds


def test_several_classes_have_the_bounds_of_two_where_there_are_two(rng):
    share, guess = rng.random(200), rng.random(200)
    found = plug_in_regret(share, guess)
    wrong = (guess > 0.5) != (share > 0.5)
    assert found.identity == pytest.approx(2 * np.mean(np.abs(share - 0.5) * wrong))
    assert found.on_disagreement == pytest.approx(2 * np.mean(np.abs(share - guess) * wrong))
    assert found.l1 == pytest.approx(2 * np.mean(np.abs(share - guess)))
    assert found.l2 == pytest.approx(2 * np.sqrt(np.mean((share - guess) ** 2)))
    truth, estimate = rng.dirichlet(np.ones(5), 300), rng.dirichlet(np.ones(5), 300)
    many = plug_in_regret(truth, estimate)
    brute = np.mean([p.max() - p[q.argmax()] for p, q in zip(truth, estimate, strict=True)])
    assert many.regret == pytest.approx(brute, abs=1e-12)
    assert many.regret <= many.on_disagreement <= many.l1 <= many.l2


def test_decisions_that_no_estimate_makes_have_no_bound():
    assert plug_in_regret([0.9, 0.6], [0.8, 0.7], decisions=[0, 1]).l1 is None


@pytest.mark.spec("douc/T3.1")
def test_misclassification_is_half_of_one_less_the_mean_product(rng):
    law = two_gaussians_law(3, 1.0)
    X, y = law.sample(500, random_state=0)
    weight = rng.integers(0, 4, 500)
    best = misclassification(y, law.bayes_rule(X), sample_weight=weight)
    assert best.error == pytest.approx(np.average(y != law.bayes_rule(X), weights=weight))
    assert best.identity == pytest.approx(best.error, abs=1e-14)
    # h* is never beaten: the exact risk of two hundred other rules is above its own.
    least = law.bayes_risk().value
    directions = rng.standard_normal((200, 3))
    offsets = rng.normal(scale=0.5, size=200)
    from_tails = [
        0.5 * norm.sf(-(d @ law.means[0] + b) / np.linalg.norm(d))
        + 0.5 * norm.cdf(-(d @ law.means[1] + b) / np.linalg.norm(d))
        for d, b in zip(directions, offsets, strict=True)
    ]
    assert min(from_tails) > least
    for d, b in zip(directions[:20], offsets[:20], strict=True):
        assert regret(lambda X, d=d, b=b: np.where(X @ d + b > 0, 1, -1), law, 500, 0).regret > 0
    with pytest.raises(ParameterError, match="−1 and"):
        misclassification([0, 1], [1, 1])


@pytest.mark.spec("wei/M7.1", "wei/T7.1", "rudi/M6.1")
def test_costs_decide_by_least_expected_cost(rng):
    posterior = rng.dirichlet(np.ones(3), 200)
    costs = np.array([[0.0, 1.0, 4.0], [2.0, 0.0, 1.0], [9.0, 3.0, 0.0]])
    brute = [min(range(3), key=lambda k: sum(costs[c, k] * p[c] for c in range(3))) for p in posterior]
    rule = bayes_classifier(lambda X: X, costs, classes=["a", "b", "c"])
    assert np.array_equal(rule(posterior), np.array(["a", "b", "c"])[brute])
    assert np.array_equal(least_cost(posterior), posterior.argmax(axis=1))
    # On labels drawn from the posterior no constant change of one decision costs less.
    labels = np.array([rng.choice(3, p=p) for p in np.repeat(posterior, 30, axis=0)])
    said = np.repeat(brute, 30)
    mean_cost = empirical_risk(labels, said, costs, classes=[0, 1, 2])
    assert mean_cost == pytest.approx(costs[labels, said].mean())
    assert mean_cost < empirical_risk(labels, np.repeat(posterior.argmax(axis=1), 30), costs)
    assert empirical_risk([1, 1, 0], [1, 0, 0], sample_weight=[1, 2, 1]) == 0.5
    with pytest.raises(ParameterError, match="'costs'"):
        empirical_risk([1, 0], [1, 0], np.ones((3, 3)))


@pytest.mark.spec("rudi/M6.1", "rudi/M6.2", "douc/M3.1")
def test_a_tie_goes_to_the_class_that_was_asked_for():
    assert least_cost(np.array([[0.5, 0.5]]))[0] == 0  # sign(0) = −1
    assert least_cost(np.array([[0.5, 0.5]]), ties="last")[0] == 1  # 1{η ≥ ½}
    assert bayes_classifier(lambda X: np.array([0.5, 0.51]), ties="last")(None).tolist() == [1, 1]
    costs = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert least_cost(np.array([[0.5, 0.5]]), costs, ties="last")[0] == 1


@pytest.mark.spec("rudi/T6.7")
def test_a_bad_estimate_of_eta_may_decide_without_regret():
    law = GaussianClasses([[-0.5], [0.5]])
    found = easier_decision(law, [0.01, 1.0, 100.0], 4000, random_state=0)
    assert np.all(found.regret == 0)
    assert found.l1[1] < 1e-12
    X = law.sample(4000, np.random.default_rng(0)).X
    share = law.posterior(X)[:, 1]
    assert found.l1[0] == pytest.approx(np.mean(np.abs(share - 0.5)), abs=5e-3)  # t → 0: a coin
    # t → ∞: the error of the estimate is the Bayes risk itself.
    assert found.l1[2] == pytest.approx(np.mean(np.minimum(share, 1 - share)), abs=5e-3)
    assert found.largest[2] > 0.48
    assert_allclose(found.bound, 2 * found.l1)
    # A small error of η may decide wrongly everywhere it matters, and costs little.
    flat = plug_in_regret(np.full(10, 0.51), np.full(10, 0.49))
    assert flat.disagreement == pytest.approx(1)
    assert flat.regret == pytest.approx(0.02)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: plug_in_regret([0.5, 1.2], [0.5, 0.5]), "'posterior' parameter of plug_in_regret"),
        (lambda: plug_in_regret([0.5], [0.5, 0.5]), "'estimate' parameter of plug_in_regret"),
        (lambda: plug_in_regret([0.5], [0.5], weights=[-1]), "'weights' parameter of plug_in_regret"),
        (lambda: regret(LINE.bayes_rule, LINE, 1), "'n_samples' parameter of regret"),
        (lambda: regret(lambda X: np.zeros(len(X)), LINE, 10), "labels that the law does not have"),
        (lambda: easier_decision(LINE, [0.0]), "'sharpness' parameter of easier_decision"),
        (lambda: easier_decision(Blobs(3)), "'law' parameter of easier_decision"),
        (lambda: conditional_error([2.0], [True]), "'eta' parameter of conditional_error"),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(call, message):
    with pytest.raises(ParameterError, match=message) as refusal:
        call()
    assert "\n" not in str(refusal.value)
