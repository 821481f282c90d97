"""Rules from probabilities: the Bayes rule of a law, plug-in rules, chance, and densities of classes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import norm
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity

from assay.datasets import (
    Blobs,
    GaussianBernoulli,
    GaussianClasses,
    GaussianUniform,
    LabelNoise,
    Rings,
    TwoMoons,
    two_gaussians_law,
)
from assay.discriminant import (
    BayesClassifier,
    GaussianNB,
    GenerativeClassifier,
    LinearDiscriminantAnalysis,
    MixedDiscriminant,
    NaiveBayes,
    PlugInClassifier,
    QuadraticDiscriminantAnalysis,
    RandomClassifier,
)
from assay.linear import LogisticRegression, Ridge
from assay.theory import regret, risk_estimates

LAWS = {
    "gaussian": GaussianClasses([[-1.0, 0.0], [1.0, 0.5]], priors=[0.3, 0.7]),
    "moons": TwoMoons(0.3),
    "rings": Rings([1.0, 2.0, 3.0], 0.4, [0.2, 0.3, 0.5]),
    "blobs": Blobs(4, random_state=0, center_box=(-3.0, 3.0)),
    "mixed": GaussianBernoulli([[-0.5], [0.5]], [[0.2, 0.4], [0.7, 0.6]]),
    "uniform": GaussianUniform(),
    "noise": LabelNoise(two_gaussians_law(), 0.2),
}


@pytest.mark.spec("wei/T7.1", "rudi/M6.1", "douc/M3.1")
@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_the_bayes_classifier_is_the_rule_of_the_law_and_tells_its_risk(law):
    X, y = law.sample(400, random_state=0)
    model = BayesClassifier(law).fit(X, y)
    assert np.array_equal(model.predict(X), law.bayes_rule(X))
    order = np.argsort(law.classes)
    assert_allclose(model.predict_proba(X), law.posterior(X)[:, order], atol=1e-12)
    assert model.certificates_.holds
    assert model.certify(*law.sample(400, random_state=1)).holds
    fresh, labels = law.sample(40_000, random_state=2)
    wrong = model.predict(fresh) != labels  # an independent count on drawn labels
    assert abs(wrong.mean() - model.bayes_risk_) < 4 * wrong.std() / 200 + 3e-3
    assert regret(model, law, 2000, random_state=3).regret == pytest.approx(0, abs=1e-12)


@pytest.mark.spec("rudi/M6.1", "douc/M3.1")
def test_a_posterior_or_densities_make_the_bayes_classifier_too():
    law = GaussianClasses([[-1.0], [1.0]], priors=[0.4, 0.6])
    X, y = law.sample(500, random_state=0)

    def eta(rows):
        first, second = 0.4 * norm.pdf(rows[:, 0], -1), 0.6 * norm.pdf(rows[:, 0], 1)
        return second / (first + second)  # p₁f₁/(p₀f₀ + p₁f₁)

    model = BayesClassifier(eta).fit(X, y)
    assert np.array_equal(model.predict(X), law.bayes_rule(X))
    assert model.bayes_risk_ == pytest.approx(np.mean(np.minimum(eta(X), 1 - eta(X))))
    assert abs(model.bayes_risk_ - law.bayes_risk().value) < 4 * 0.5 / np.sqrt(500)
    half = BayesClassifier(lambda rows: np.full(len(rows), 0.5)).fit(X, y)
    assert set(half.predict(X)) == {-1}  # η > ½ fails at a tie
    assert set(half.set_params(ties="last").fit(X, y).predict(X)) == {1}  # η ≥ ½ holds


@pytest.mark.spec("wei/M7.1")
def test_costs_move_the_bayes_rule_to_least_expected_cost():
    law = GaussianClasses([[-1.0], [1.0]])
    X, y = law.sample(2000, random_state=0)
    costs = np.array([[0.0, 1.0], [4.0, 0.0]])
    model = BayesClassifier(law, costs=costs).fit(X, y)
    # 4η > 1 − η where 2x > log(1/4).
    assert np.array_equal(model.predict(X) == 1, X[:, 0] > np.log(0.25) / 2)
    spent = [costs[int(t > 0), int(s > 0)] for t, s in zip(y, model.predict(X), strict=True)]
    plain = [costs[int(t > 0), int(s > 0)] for t, s in zip(y, law.bayes_rule(X), strict=True)]
    assert np.mean(spent) < np.mean(plain)
    exact = 0.5 * norm.sf(np.log(0.25) / 2, -1) + 0.5 * 4 * norm.cdf(np.log(0.25) / 2, 1)
    assert model.bayes_risk_ == pytest.approx(exact, abs=4 * np.std(spent) / np.sqrt(2000))
    eta = law.posterior(X)[:, 1]
    assert model.bayes_risk_ == pytest.approx(np.mean(np.minimum(4 * eta, 1 - eta)))


def test_labels_of_another_law_fail_the_certificates():
    law = two_gaussians_law(omega=2.0)
    X, y = law.sample(400, random_state=0)
    model = BayesClassifier(law).fit(X, y)
    shuffled = np.random.default_rng(0).permutation(y)
    assert not model.certify(X, shuffled).holds
    assert not BayesClassifier(law).fit(X + [1.0, 0.0], y).certificates_.holds
    model.bayes_risk_ *= 1.01
    assert not model.certify(X, y).holds
    with pytest.raises(ValueError, match="a law of 3 features"):
        BayesClassifier(law).fit(np.zeros((4, 3)), [1, -1, 1, -1])
    with pytest.raises(ValueError, match="has the class 2 of the rows"):
        BayesClassifier(law).fit(np.zeros((4, 2)), [1, -1, 2, -1])
    with pytest.raises(ValueError, match="one column per class"):
        BayesClassifier(lambda rows: np.ones((len(rows), 3)) / 3).fit(X, y)


@pytest.mark.spec("rudi/M6.2", "douc/M3.2")
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        GaussianNB(),
        LinearDiscriminantAnalysis(),
        Ridge(alpha=1.0),
        GenerativeClassifier(KernelDensity(bandwidth=0.4)),
        NaiveBayes("histogram"),
    ],
    ids=lambda each: type(each).__name__,
)
def test_a_plug_in_rule_thresholds_any_estimate(estimator):
    law = GaussianClasses([[-1.0, 0.0], [1.0, 0.5]], priors=[0.4, 0.6])
    X, y = law.sample(300, random_state=0)
    model = PlugInClassifier(estimator).fit(X, y)
    if hasattr(estimator, "predict_proba"):
        estimate = estimator.fit(X, y).predict_proba(X)[:, 1]
    else:
        estimate = np.clip(estimator.fit(X, (y > 0).astype(float)).predict(X), 0, 1)
    assert_allclose(model.predict_proba(X)[:, 1], estimate, atol=1e-10)
    assert np.array_equal(model.predict(X), np.where(estimate > 0.5, 1, -1))
    careful = PlugInClassifier(estimator, threshold=0.3).fit(X, y)
    assert np.array_equal(careful.predict(X), np.where(estimate > 0.3, 1, -1))
    assert careful.threshold_ == pytest.approx(0.3)
    found = regret(model, law, 2000, random_state=1)
    assert 0 <= found.regret <= found.on_disagreement <= found.l1 <= found.l2


@pytest.mark.spec("wei/T7.2", "rudi/T6.3")
@pytest.mark.parametrize("model", [LinearDiscriminantAnalysis(), LogisticRegression(), GaussianNB()])
def test_the_regret_of_a_plug_in_rule_falls_faster_than_its_bound(model):
    law = GaussianClasses([[-0.7, 0.0], [0.7, 0.4]], priors=[0.4, 0.6])
    small, large = (
        [regret(model.fit(*law.sample(n, random_state=seed)), law, 4000, 99) for seed in range(5)]
        for n in (30, 1000)
    )
    for found in (*small, *large):
        assert -1e-12 <= found.regret <= found.on_disagreement + 1e-12
        assert found.on_disagreement <= found.l1 <= found.l2
    gap = [np.mean([each.regret for each in runs]) for runs in (small, large)]
    bound = [np.mean([each.l1 for each in runs]) for runs in (small, large)]
    assert gap[1] < gap[0]
    assert gap[1] / gap[0] < bound[1] / bound[0]


@pytest.mark.spec("wei/M7.1")
def test_a_plug_in_rule_takes_costs_of_many_classes(rng):
    law = Blobs(3, random_state=1, center_box=(-2.0, 2.0))
    X, y = law.sample(300, random_state=0)
    costs = [[0, 1, 5], [2, 0, 1], [1, 7, 0]]
    model = PlugInClassifier(GaussianNB(), costs=costs).fit(X, y)
    shares = GaussianNB().fit(X, y).predict_proba(X)
    assert np.array_equal(model.predict(X), (shares @ np.array(costs, float)).argmin(axis=1))
    assert not hasattr(model, "threshold_")
    for bad, words in (
        ({"costs": np.ones((2, 2))}, "'costs' parameter of PlugInClassifier must be a matrix of 3 rows"),
        ({"threshold": 0.3}, "'threshold' parameter of PlugInClassifier must be None"),
        ({"estimator": Ridge()}, "'estimator' parameter of PlugInClassifier must be one with"),
    ):
        with pytest.raises(ValueError, match=words):
            PlugInClassifier(**bad).fit(X, y)


def test_the_certificates_of_a_plug_in_rule_see_a_wrong_estimate():
    X, y = two_gaussians_law().sample(400, random_state=0)

    class Shifted(GaussianNB):
        def predict_proba(self, X):
            shares = super().predict_proba(X)
            second = np.clip(shares[:, 1] + 0.2, 0, 1)
            return np.column_stack([1 - second, second])

    assert PlugInClassifier(GaussianNB()).fit(X, y).certificates_.holds
    failed = PlugInClassifier(Shifted()).fit(X, y).certificates_.failed
    assert [item.quantity for item in failed] == ["largest deviation of a count in standard deviations"]

    class Torn(GaussianNB):
        def predict_proba(self, X):
            return 1.02 * super().predict_proba(X)

    assert "deviation of sums from 1" in [
        i.quantity for i in PlugInClassifier(Torn()).fit(X, y).certificates_.failed
    ]


@pytest.mark.spec("rudi/M6.5")
def test_a_random_classifier_has_risk_one_half_whatever_the_law():
    for law in (two_gaussians_law(omega=4.0), TwoMoons(0.2, [0.3, 0.7])):
        X, y = law.sample(500, random_state=0)
        model = RandomClassifier(random_state=3).fit(X, y)
        assert model.risk_ == pytest.approx(0.5)
        found = risk_estimates(model, law, 20_000, random_state=1)
        assert abs(found.conditional.value - 0.5) < 4 * found.conditional.standard_error
        fresh, labels = law.sample(20_000, random_state=2)
        wrong = model.predict(fresh) != labels
        assert abs(wrong.mean() - 0.5) < 4 * 0.5 / np.sqrt(20_000)
        # Given x, the answer is a coin: no column is related to it, and other seeds give other answers.
        answers = np.array([RandomClassifier(random_state=s).fit(X, y).predict(X) for s in range(60)])
        assert np.abs((answers == 1).mean(axis=0) - 0.5).max() < 5 * 0.5 / np.sqrt(60)
        assert np.abs(np.corrcoef(answers)[np.triu_indices(60, 1)]).max() < 6 / np.sqrt(500)
    three = RandomClassifier(strategy="prior").fit(
        *Rings([1.0, 2.0, 3.0], priors=[0.5, 0.3, 0.2]).sample(3000, 0)
    )
    assert three.risk_ == pytest.approx(1 - np.sum(three.class_prior_**2))
    shares = [np.mean(three.predict(np.random.default_rng(1).normal(size=(9000, 2))) == k) for k in range(3)]
    assert_allclose(shares, three.class_prior_, atol=4 * 0.5 / np.sqrt(9000))


def test_the_certificates_of_chance_see_skill_and_bear_duplicates():
    law = two_gaussians_law(omega=4.0)
    X, y = law.sample(400, random_state=0)
    model = RandomClassifier().fit(X, y)
    assert model.certify(X, y).holds
    assert not model.certify(X, model.predict(X)).holds  # labels that it knows
    repeated = np.repeat(X[:10], 40, axis=0)
    labels = np.resize(y[:10], 400)
    assert RandomClassifier().fit(repeated, labels).certify(repeated, labels).holds
    same = np.zeros((300, 2))
    assert RandomClassifier().fit(same, y[:300]).certify(same, y[:300]).holds


@pytest.mark.spec("wei/M7.4", "douc/M3.2")
@pytest.mark.parametrize(
    "density",
    [None, KernelDensity(bandwidth=0.3), GaussianMixture(3, random_state=0)],
    ids=["normal", "kernel", "mixture"],
)
def test_a_generative_classifier_takes_any_density(density):
    law = TwoMoons(0.25, [0.35, 0.65])
    X, y = law.sample(500, random_state=0)
    model = GenerativeClassifier(density).fit(X, y)
    parts = [X[y == label] for label in (-1, 1)]
    if density is None:
        logs = [QuadraticDiscriminantAnalysis(covariance="within").fit(X, y).predict_log_proba(X)]
        assert_allclose(model.predict_log_proba(X), logs[0], atol=1e-3)
    else:
        logs = [type(density)(**density.get_params()).fit(part).score_samples(X) for part in parts]
        joint = np.log([len(part) / 500 for part in parts]) + np.column_stack(logs)
        assert_allclose(model.predict_joint_log_proba(X), joint, atol=1e-9)
        assert regret(model, law, 2000, random_state=1).regret < 0.03
    assert model.certify(X, y).holds
    if density is None or hasattr(density, "sample"):
        drawn, labels = model.sample(2000, random_state=0)
        assert abs(np.mean(labels == 1) - np.mean(y == 1)) < 0.04
        assert_allclose(drawn[labels == 1].mean(axis=0), parts[1].mean(axis=0), atol=0.1)
    swapped = GenerativeClassifier(density).fit(X, y)
    swapped.densities_ = swapped.densities_[::-1]
    assert not swapped.certify(X, y).holds


def test_a_naive_density_of_kernels_is_naive_bayes_of_kernels(rng):
    with pytest.raises(ValueError, match="takes no weights, so that sample_weight must be whole numbers"):
        GenerativeClassifier(GaussianMixture()).fit(
            rng.normal(size=(20, 2)), np.arange(20) % 2, np.full(20, 0.5)
        )
    with pytest.raises(ValueError, match="'density' parameter of GenerativeClassifier must be"):
        GenerativeClassifier(3).fit(np.eye(2), [0, 1])


@pytest.fixture
def mixed():
    law = GaussianBernoulli(
        [[0.0, 0.5], [1.0, -0.5]],
        [[0.2, 0.5, 0.8], [0.6, 0.4, 0.9]],
        [np.eye(2), [[2.0, 0.3], [0.3, 0.5]]],
        [0.35, 0.65],
    )
    return law, *law.sample(600, random_state=0)


@pytest.mark.spec("sangnier/X22-1")
def test_a_mixed_discriminant_is_of_maximum_likelihood_and_of_the_form_of_the_exam(mixed):
    law, X, y = mixed
    model = MixedDiscriminant(var_smoothing=0).fit(X, y)
    U, V = X[:, :2], X[:, 2:]
    assert model.binary_ == [2, 3, 4]
    minus, plus = y == -1, y == 1
    assert_allclose(model.priors_, [minus.mean(), plus.mean()])
    assert_allclose(model.means_, [U[minus].mean(axis=0), U[plus].mean(axis=0)])
    covariances = np.array([np.cov(U[part].T, bias=True) for part in (minus, plus)])
    assert_allclose(model.covariance_, covariances, atol=1e-12)
    q, p = V[minus].mean(axis=0), V[plus].mean(axis=0)
    assert_allclose(model.probabilities_, [q, p], atol=1e-9)
    inverse, form = np.linalg.inv(covariances), model.form()
    assert_allclose(form.Q, inverse[0] - inverse[1], atol=1e-9)
    assert_allclose(form.alpha, inverse[1] @ model.means_[1] - inverse[0] @ model.means_[0], atol=1e-9)
    assert_allclose(form.beta, np.log(p * (1 - q) / (q * (1 - p))), atol=1e-8)
    b = np.log(plus.mean() / minus.mean()) + 0.5 * np.log(
        np.linalg.det(covariances[0]) / np.linalg.det(covariances[1])
    )
    b += 0.5 * (
        model.means_[0] @ inverse[0] @ model.means_[0] - model.means_[1] @ inverse[1] @ model.means_[1]
    )
    assert form.b == pytest.approx(b + np.log((1 - p) / (1 - q)).sum(), abs=1e-8)
    score = 0.5 * np.einsum("ij,jk,ik->i", U, form.Q, U) + U @ form.alpha + V @ form.beta + form.b
    assert_allclose(model.decision_function(X), score, atol=1e-9)
    assert np.array_equal(model.predict(X), np.where(score > 0, 1, -1))  # sign(0) = −1
    assert model.certify(X, y).holds
    oracle = MixedDiscriminant.from_parameters(
        law.gaussian.means, law.gaussian.covariances, law.probabilities, law.priors, law.classes
    )
    assert_allclose(oracle.predict_proba(X), law.posterior(X), atol=1e-10)
    assert np.array_equal(oracle.predict(X), law.bayes_rule(X))
    risks = [law.risk(rule, 20_000, random_state=1).value for rule in (oracle, model)]
    assert risks[0] <= risks[1] < risks[0] + 0.03


@pytest.mark.spec("sangnier/X22-1")
def test_options_of_a_mixed_discriminant(mixed, rng):
    _, X, y = mixed
    shared = MixedDiscriminant(covariance="shared", var_smoothing=0).fit(X, y)
    pooled = sum(np.cov(X[y == k, :2].T, bias=True) * np.sum(y == k) for k in (-1, 1)) / len(y)
    assert_allclose(shared.covariance_, [pooled, pooled], atol=1e-12)
    assert_allclose(shared.form().Q, 0, atol=1e-12)  # a linear rule
    # Smoothing, and frequencies of exactly 0 or 1.
    sure = X.copy()
    sure[:, 2] = y == 1
    bare, smooth = MixedDiscriminant().fit(sure, y), MixedDiscriminant(alpha=1.0).fit(sure, y)
    assert np.isfinite(bare.predict_joint_log_proba(sure)).all()
    n = np.sum(y == -1)
    assert smooth.probabilities_[0, 0] == pytest.approx(1 / (n + 2))
    assert bare.score(sure, y) == 1.0
    # Columns by name, mask and place; three classes.
    import pandas as pd

    frame = pd.DataFrame(X, columns=list("abcde"))
    by_name = MixedDiscriminant(["c", "d", "e"]).fit(frame, y)
    by_mask = MixedDiscriminant([False, False, True, True, True]).fit(X, y)
    assert_allclose(by_name.predict_proba(frame), by_mask.predict_proba(X))
    three = rng.integers(0, 3, 600)
    model = MixedDiscriminant([2, 3, 4]).fit(X + 0.0, three)
    assert model.predict_proba(X).shape == (600, 3)
    assert model.certify(X, three).holds
    for bad in (["z"], [9], [True, False]):
        with pytest.raises(ValueError, match="'binary_features' parameter of MixedDiscriminant"):
            MixedDiscriminant(bad).fit(X, y)
    with pytest.raises(ValueError, match="must hold 0 and 1 alone"):
        MixedDiscriminant([0]).fit(X, y)
    few = np.where(np.arange(600) < 2, 5, y)  # two rows of two Gaussian columns
    with pytest.raises(ValueError, match=r"class 5 is singular \(2 rows, 2 columns\): set 'var_smoothing'"):
        MixedDiscriminant([2, 3, 4], var_smoothing=0).fit(X, few)
    assert MixedDiscriminant([2, 3, 4], covariance="shared").fit(X, few).certify(X, few).holds
    with pytest.raises(ValueError, match="class -1 is singular"):
        MixedDiscriminant(var_smoothing=0).fit(np.column_stack([X, X[:, 0]]), y)
