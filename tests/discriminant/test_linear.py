"""Linear discriminant analysis against closed forms, scikit-learn, R, and brute force."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import expit, ndtr
from scipy.stats import chi2, multivariate_normal
from sklearn.covariance import OAS, LedoitWolf
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis as TheirLinear

from assay.datasets import GaussianClasses, iris
from assay.discriminant import LinearDiscriminantAnalysis
from assay.discriminant.gaussian.assumptions import box_m
from assay.discriminant.gaussian.moments import class_moments
from assay.linear import LogisticRegression
from assay.rows import MemoryRows

R_NUMBERS = json.loads(
    (Path(__file__).parents[1] / "reference" / "discriminant.json").read_text(encoding="utf-8")
)
SHARED = np.array([[2.0, 0.6], [0.6, 0.5]])


@pytest.fixture
def flowers():
    return iris(return_X_y=True)


@pytest.fixture
def two():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5]], SHARED, [0.3, 0.7], classes=[-1, 1])
    return law.sample(300, random_state=4)


def pooled_scatter(X, y):
    return sum((X[y == k] - X[y == k].mean(0)).T @ (X[y == k] - X[y == k].mean(0)) for k in np.unique(y))


@pytest.mark.spec("sangnier/M-1.1.2-c", "sangnier/E-1.3", "wei/M7.2", "douc/M3.3")
@pytest.mark.parametrize(("covariance", "lost"), [("within", 0), ("unbiased", 2)])
def test_two_classes_are_the_closed_form_in_both_forms_of_the_intercept(two, covariance, lost):
    X, y = two
    model = LinearDiscriminantAnalysis(covariance=covariance).fit(X, y)
    means = np.array([X[y == -1].mean(0), X[y == 1].mean(0)])
    sigma = pooled_scatter(X, y) / (len(X) - lost)
    inverse = np.linalg.inv(sigma)
    w = inverse @ (means[1] - means[0])
    prior = np.log((y == 1).sum() / (y == -1).sum())
    first = 0.5 * (means[0] + means[1]) @ inverse @ (means[0] - means[1]) + prior
    second = 0.5 * (means[0] @ inverse @ means[0] - means[1] @ inverse @ means[1]) + prior
    assert_allclose(first, second)
    assert_allclose(model.coef_[0], w)
    assert_allclose(model.intercept_[0], first)
    assert_allclose(model.covariance_, sigma)
    assert_allclose(model.priors_, [(y == -1).mean(), (y == 1).mean()])
    plane = model.hyperplane()
    assert_allclose(plane.normal, w)
    assert_allclose([plane.offset, plane.prior_offset], [first, prior])
    assert_allclose(plane.separation**2, (means[1] - means[0]) @ w)
    assert_allclose(model.predict_proba(X)[:, 1], expit(X @ w + first))
    assert np.array_equal(model.predict(X), np.where(X @ w + first > 0, 1, -1))


@pytest.mark.spec("wei/M7.2", "sangnier/M-1.1.2-a")
def test_many_classes_have_the_scores_of_the_course_and_log_odds_of_any_pair(flowers):
    X, y = flowers
    model = LinearDiscriminantAnalysis().fit(X, y)
    inverse = np.linalg.inv(pooled_scatter(X, y) / len(X))
    means = np.array([X[y == k].mean(0) for k in range(3)])
    delta = X @ inverse @ means.T - 0.5 * np.einsum("ij,jk,ik->i", means, inverse, means) + np.log(1 / 3)
    assert np.array_equal(model.predict(X), delta.argmax(axis=1))
    assert_allclose(model.log_odds(X, 0, 2), delta[:, 2] - delta[:, 0], atol=1e-8)
    assert_allclose(model.log_odds(X, 2, 1), delta[:, 1] - delta[:, 2], atol=1e-8)
    shares = np.exp(delta - delta.max(axis=1, keepdims=True))
    assert_allclose(model.predict_proba(X), shares / shares.sum(axis=1, keepdims=True), atol=1e-10)
    joint = np.column_stack(
        [multivariate_normal(mean, np.linalg.inv(inverse)).logpdf(X) + np.log(1 / 3) for mean in means]
    )
    assert_allclose(model.predict_joint_log_proba(X), joint, atol=1e-8)


OPTIONS = [
    {},
    {"solver": "lsqr"},
    {"solver": "eigen"},
    {"priors": [0.2, 0.3, 0.5]},
    {"solver": "lsqr", "priors": [0.2, 0.3, 0.5]},
    {"solver": "lsqr", "shrinkage": "auto"},
    {"solver": "eigen", "shrinkage": 0.3},
    {"solver": "lsqr", "covariance_estimator": LedoitWolf()},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_probabilities_are_those_of_scikit_learn(flowers, options):
    X, y = flowers
    ours, theirs = LinearDiscriminantAnalysis(**options).fit(X, y), TheirLinear(**options).fit(X, y)
    assert_allclose(ours.predict_proba(X), theirs.predict_proba(X), atol=1e-10)
    assert_allclose(ours.coef_ - ours.coef_[0], theirs.coef_ - theirs.coef_[0], atol=1e-8)
    assert ours.intercept_.shape == theirs.intercept_.shape


def test_axes_are_those_of_scikit_learn_but_for_their_sign(flowers):
    X, y = flowers
    ours, theirs = LinearDiscriminantAnalysis().fit(X, y), TheirLinear().fit(X, y)
    assert_allclose(np.abs(ours.transform(X)), np.abs(theirs.transform(X)), atol=1e-9)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    assert LinearDiscriminantAnalysis(n_components=1).fit_transform(X, y).shape == (150, 1)


def test_oas_is_that_of_standardised_columns(flowers):
    X, y = flowers
    model = LinearDiscriminantAnalysis(shrinkage="oas").fit(X, y)
    wanted = np.zeros((4, 4))
    for k in range(3):
        own = X[y == k]
        scale = own.std(axis=0)
        wanted += OAS().fit((own - own.mean(0)) / scale).covariance_ * np.outer(scale, scale) / 3
    assert_allclose(model.covariance_, wanted)


@pytest.mark.spec("wei/T7.3")
def test_numbers_are_those_of_r(flowers):
    X, y = flowers
    rows = np.array(R_NUMBERS["rows"]) - 1
    model = LinearDiscriminantAnalysis(covariance="unbiased").fit(X, y)
    assert_allclose(model.predict_proba(X[rows]), R_NUMBERS["lda"]["posterior"], atol=1e-9)
    given = LinearDiscriminantAnalysis(covariance="unbiased", priors=[0.2, 0.3, 0.5]).fit(X, y)
    assert_allclose(given.predict_proba(X[rows]), R_NUMBERS["lda_priors"]["posterior"], atol=1e-9)
    assert_allclose(np.abs(model.scalings_), np.abs(R_NUMBERS["lda"]["scaling"]), atol=1e-9)
    box = box_m(class_moments(MemoryRows(X, y.astype(float)), 3, apart=True))
    assert_allclose(box.statistic, R_NUMBERS["box_m"]["statistic"])
    assert box.degrees_of_freedom == R_NUMBERS["box_m"]["degrees"]
    assert_allclose(np.log(box.pvalue), R_NUMBERS["box_m"]["log_pvalue"], rtol=1e-8)
    wrong = np.mean(np.array(R_NUMBERS["lda_leave_one_out"]["class"]) - 1 != y)
    assert_allclose(model.error_rates(X, y).leave_one_out, wrong)


@pytest.mark.parametrize("covariance", ["within", "unbiased"])
@pytest.mark.parametrize("priors", [None, "uniform"])
def test_leave_one_out_is_that_of_as_many_fits(covariance, priors):
    law = GaussianClasses([[0, 0, 0], [1.0, 0, 0], [0, 1.2, 0]], priors=[0.5, 0.3, 0.2])
    X, y = law.sample(70, random_state=2)
    model = LinearDiscriminantAnalysis(covariance=covariance, priors=priors).fit(X, y)
    wrong = np.zeros(len(X))
    for i in range(len(X)):
        keep = np.arange(len(X)) != i
        wrong[i] = model.fit(X[keep], y[keep]).predict(X[i : i + 1])[0] != y[i]
    model.fit(X, y)
    by_class = [wrong[y == k].mean() for k in range(3)]
    assert 0 < wrong.mean() < 0.6
    assert_allclose(model.error_rates(X, y).leave_one_out, model.priors_ @ by_class)
    training = [np.mean(model.predict(X[y == k]) != k) for k in range(3)]
    assert_allclose(model.error_rates(X, y).training, model.priors_ @ training)


@pytest.mark.spec("sangnier/T-1.1.2-a", "sangnier/M-1.1.2-d")
def test_the_total_covariance_gives_the_same_hyperplane_for_equal_priors(two):
    X, y = two
    within = LinearDiscriminantAnalysis(priors="uniform").fit(X, y)
    total = LinearDiscriminantAnalysis(priors="uniform", covariance="total").fit(X, y)
    assert_allclose(total.covariance_, np.cov(X.T, bias=True))
    assert_allclose(within.hyperplane().unit(), total.hyperplane().unit(), atol=1e-12)
    shares = within.class_count_ / within.class_count_.sum()
    shrink = 1 + shares.prod() * within.hyperplane().separation ** 2
    assert_allclose(total.coef_, within.coef_ / shrink)
    assert within.hyperplane().prior_offset == 0.0
    assert np.array_equal(within.predict(X), total.predict(X))
    assert_allclose(within.hyperplane_equivalence_, 0.0, atol=1e-12)
    unequal = LinearDiscriminantAnalysis(covariance="total").fit(X, y)
    assert_allclose(unequal.coef_, within.coef_ / shrink)  # the direction is the same for any priors


@pytest.mark.spec("sangnier/T-1.1.2-a")
def test_the_difference_of_hyperplanes_is_that_of_three_classes(flowers):
    """Of more than two classes the total covariance turns the hyperplanes, and the number says how far."""
    X, y = flowers
    model = LinearDiscriminantAnalysis().fit(X, y)
    planes = []
    for sigma in (pooled_scatter(X, y) / len(X), np.cov(X.T, bias=True)):
        first, last = X[y == 0].mean(0), X[y == 2].mean(0)
        w = np.linalg.solve(sigma, last - first)
        planes.append(np.append(w, -w @ (first + last) / 2) / np.linalg.norm(w))
    gap = np.abs(planes[0] - planes[1]).max()
    assert gap > 1e-3
    assert_allclose(model.hyperplane_equivalence_, gap, rtol=1e-6)


@pytest.mark.spec("sangnier/T-1.1.2-b", "sangnier/M-1.1.2-g")
def test_hyperplane_mahalanobis_and_whitened_distance_agree_on_every_point(two):
    X, y = two
    model = LinearDiscriminantAnalysis(priors="uniform").fit(X, y)
    grid = np.random.default_rng(0).uniform(-6, 6, (2000, 2))
    inverse = np.linalg.inv(model.covariance_)
    steps = grid[:, None] - model.means_
    metric = model.classes_[np.einsum("ikj,jl,ikl->ik", steps, inverse, steps).argmin(axis=1)]
    values, vectors = np.linalg.eigh(model.covariance_)
    root = (vectors / np.sqrt(values)) @ vectors.T
    white = model.classes_[np.linalg.norm(steps @ root, axis=2).argmin(axis=1)]
    assert np.array_equal(model.predict(grid), metric)
    assert np.array_equal(model.predict(grid), white)
    euclid = model.classes_[np.linalg.norm(steps, axis=2).argmin(axis=1)]
    assert np.mean(euclid != metric) > 0.05  # the metric matters here


@pytest.mark.spec("sangnier/M-1.2.1-c", "douc/T3.2", "wei/T7.3")
def test_the_logistic_form_is_the_posterior_and_near_the_logistic_fit(flowers):
    X, y = flowers
    model = LinearDiscriminantAnalysis().fit(X, y)
    form = model.to_logistic()
    inverse = np.linalg.inv(model.covariance_)
    assert_allclose(form.coef, (model.means_[:2] - model.means_[2]) @ inverse)
    quadratic = np.einsum("ij,jk,ik->i", model.means_, inverse, model.means_)
    assert_allclose(form.intercept, 0.5 * (quadratic[2] - quadratic[:2]), atol=1e-8)
    assert_allclose(form.predict_proba(X), model.predict_proba(X), atol=1e-9)
    law = GaussianClasses([[0.0, 0.0], [1.2, 0.4]], SHARED, [0.4, 0.6])
    X, y = law.sample(20_000, random_state=0)
    lda = LinearDiscriminantAnalysis().fit(X, y)
    logistic = LogisticRegression(C=float("inf")).fit(X, y)
    errors = logistic.inference().bse
    assert_allclose(lda.coef_[0], logistic.coef_[0], atol=4 * errors[-2:].max())
    truth = np.linalg.solve(SHARED, [1.2, 0.4])
    assert_allclose(lda.coef_[0], truth, atol=4 * errors[-2:].max())
    # orthogonal to the frontier: points of it differ by vectors orthogonal to Σ⁻¹(μ₁ − μ₀)
    plane = lda.hyperplane()
    along = np.array([-plane.normal[1], plane.normal[0]])
    start = -plane.offset * plane.normal / (plane.normal @ plane.normal)
    line = start + np.linspace(-3, 3, 7)[:, None] * along
    assert_allclose(lda.predict_proba(line), 0.5, atol=1e-9)


@pytest.mark.spec("douc/M3.3")
def test_the_likelihood_is_the_formula_and_stationary(two):
    X, y = two
    model = LinearDiscriminantAnalysis().fit(X, y)
    full = model.likelihoods(X, y).full

    def likelihood(priors, means, sigma):
        codes = (y > 0).astype(int)
        logs = [multivariate_normal(means[k], sigma).logpdf(X) + np.log(priors[k]) for k in (0, 1)]
        return np.where(codes == 1, logs[1], logs[0]).sum()

    assert_allclose(full, likelihood(model.priors_, model.means_, model.covariance_))
    random = np.random.default_rng(0)
    for _ in range(30):  # full(LDA) ≥ full at any other (π, μ, Σ)
        share = np.clip(model.priors_[0] + 0.05 * random.normal(), 0.01, 0.99)
        noise = 0.05 * random.normal(size=(2, 2))
        other = model.covariance_ + 0.1 * noise @ noise.T
        moved = model.means_ + 0.05 * random.normal(size=(2, 2))
        assert likelihood([share, 1 - share], moved, other) < full
    step, gradient = 1e-6, []
    for i in range(2):
        for j in range(2):
            plus, minus = model.means_.copy(), model.means_.copy()
            plus[i, j] += step
            minus[i, j] -= step
            gradient.append(
                likelihood(model.priors_, plus, model.covariance_)
                - likelihood(model.priors_, minus, model.covariance_)
            )
    assert_allclose(np.array(gradient) / (2 * step), 0.0, atol=1e-2)
    assert model.certificates_.named("gradient per row").value < 1e-12


@pytest.mark.spec("douc/M8.5")
def test_the_plug_in_error_is_the_bayes_error_of_the_fitted_law(two):
    X, y = two
    model = LinearDiscriminantAnalysis(priors="uniform").fit(X, y)
    delta = model.mahalanobis()[0, 1]
    assert_allclose(model.error_rates(X, y).plug_in, ndtr(-delta / 2))
    law = GaussianClasses(model.means_, model.covariance_, classes=[-1, 1])
    assert_allclose(law.bayes_risk().value, ndtr(-delta / 2))


@pytest.mark.spec("douc/M3.6")
def test_the_oracle_is_the_bayes_rule_of_the_law():
    law = GaussianClasses([[0.0, 0.0], [1.5, -0.5], [0.0, 2.0]], SHARED, [0.2, 0.5, 0.3])
    oracle = LinearDiscriminantAnalysis.from_parameters(law.means, SHARED, law.priors)
    X = law.sample(500, random_state=0).X
    assert np.array_equal(oracle.predict(X), law.bayes_rule(X))
    assert_allclose(oracle.predict_joint_log_proba(X), law.log_joint(X), atol=1e-9)
    assert oracle.certificates_.holds
    rows = oracle.sample(60_000, random_state=1)
    assert_allclose(np.bincount(rows.y) / 60_000, law.priors, atol=4 * 0.5 / np.sqrt(60_000))
    own = rows.X[rows.y == 1]
    assert_allclose(own.mean(0), law.means[1], atol=4 * np.sqrt(2.0 / len(own)))
    assert_allclose(np.cov(own.T), SHARED, atol=0.08)


def test_unequal_covariances_and_other_laws_are_told():
    law = GaussianClasses([[0, 0], [2, 0]], [np.eye(2), 6 * np.eye(2)])
    X, y = law.sample(400, random_state=0)
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert not model.certify(X, y).named("p-value of Box's M").holds
    random = np.random.default_rng(0)
    X = random.standard_t(1.5, size=(600, 2))
    y = random.integers(0, 2, 600)
    model = LinearDiscriminantAnalysis().fit(X, y)
    quantity = "largest gap of shares within normal quantiles, over its limit"
    assert not model.certify(X, y).named(quantity).holds


@pytest.mark.parametrize(
    ("attribute", "factor", "quantity"),
    [
        ("means_", 1.01, "gradient per row"),
        ("covariance_", 1.01, "gradient per row"),
        ("priors_", 1.01, "gradient per row"),
        ("coef_", 1.01, "‖Σw − δ‖, whitened and relative"),
        ("intercept_", 1.01, "largest error of an intercept"),
        ("scalings_", 1.01, "generalised eigenvalue residual"),
        ("scalings_", 0.0, "largest quotient less that of the first axis, relative"),
        ("covariance_", [[1.0, -0.9], [-0.9, 1.0]], "rows of which the three disagree"),
        ("covariance_", 1.01, "Huygens defect"),
    ],
)
def test_each_certificate_sees_the_damage_that_it_is_there_for(two, attribute, factor, quantity):
    X, y = two
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert model.certify(X, y).named(quantity).holds
    damage = getattr(model, attribute) * np.array(factor)
    setattr(model, attribute, damage if attribute != "priors_" else damage - [0.005, 0.005])
    assert not model.certify(X, y).named(quantity).holds


@pytest.mark.parametrize("seed", range(6))
def test_the_error_certificate_holds_for_rare_classes_and_for_classes_that_nothing_tells_apart(seed):
    for law in (
        GaussianClasses([[0.0, 0.0], [2.0, 1.0]], priors=[0.05, 0.95]),
        GaussianClasses([[0.0, 0.0], [0.05, 0.0]]),
    ):
        X, y = law.sample(60, random_state=seed)
        proofs = LinearDiscriminantAnalysis(priors="uniform").fit(X, y).certify(X, y)
        assert next(item for item in proofs if item.quantity.startswith("difference of")).holds


def test_permuted_labels_break_the_error_certificate(two):
    X, y = two
    model = LinearDiscriminantAnalysis().fit(X, y)
    assert model.certify(X, y).holds
    shuffled = np.random.default_rng(0).permutation(y)
    broken = [item for item in model.certify(X, shuffled) if item.quantity.startswith("difference of")]
    assert len(broken) == 1
    assert not broken[0].holds


@pytest.mark.spec("wei/T7.3")
def test_box_m_has_its_level():
    """The p-value is near uniform when the covariances are equal."""
    law, random = GaussianClasses(np.zeros((3, 3)), np.eye(3)), np.random.default_rng(0)
    small = 0
    for _ in range(200):
        X, y = law.sample(150, random)
        small += box_m(class_moments(MemoryRows(X, y.astype(float)), 3, apart=True)).pvalue < 0.1
    assert abs(small / 200 - 0.1) < 4 * np.sqrt(0.09 / 200)
    assert chi2.sf(0, 3) == 1.0


def test_directions_without_variance_are_left_out_and_told_when_they_matter(two):
    X, y = two
    doubled = np.column_stack([X, X[:, 0], np.full(len(X), 3.0)])
    model = LinearDiscriminantAnalysis().fit(doubled, y)
    plain = LinearDiscriminantAnalysis().fit(X, y)
    assert_allclose(model.predict_proba(doubled), plain.predict_proba(X), atol=1e-9)
    assert model.certificates_.holds
    telling = np.column_stack([X, (y > 0).astype(float)])  # constant within each class: it tells them apart
    told = LinearDiscriminantAnalysis().fit(telling, y).certificates_
    assert not told.named("difference of means left out, relative").holds


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"priors": [0.5, 0.5, 0.5]}, "one number per class"),
        ({"n_components": 2}, "n_components"),
        ({"covariance": "total", "shrinkage": "auto"}, "covariance"),
        ({"shrinkage": 0.5, "covariance_estimator": OAS()}, "shrinkage"),
        ({"priors": [-1.0, 2.0]}, "priors"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_in_one_sentence(two, options, words):
    with pytest.raises(ValueError, match=words) as refusal:
        LinearDiscriminantAnalysis(**options).fit(*two)
    assert "\n" not in str(refusal.value)


def test_priors_that_do_not_sum_to_one_are_divided_by_their_sum_and_told(two):
    with pytest.warns(UserWarning, match="do not sum to 1"):
        model = LinearDiscriminantAnalysis(priors=[1.0, 3.0]).fit(*two)
    assert_allclose(model.priors_, [0.25, 0.75])


def test_a_class_without_weight_is_never_said(two):
    X, y = two
    labels = np.where(np.arange(len(y)) < 20, 5, y)
    weight = (labels != 5).astype(float)
    model = LinearDiscriminantAnalysis().fit(X, labels, sample_weight=weight)
    assert list(model.classes_) == [-1, 1, 5]
    assert 5 not in model.predict(X)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    assert_allclose(model.predict_proba(X)[:, 2], 0.0)
    assert model.certify(X, labels, weight).holds


def test_offsets_of_a_hundred_million_change_nothing(two):
    X, y = two
    far = LinearDiscriminantAnalysis().fit(X + 1e8, y)
    near = LinearDiscriminantAnalysis().fit((X + 1e8) - 1e8, y)
    assert_allclose(far.coef_, near.coef_, rtol=1e-6)
    assert np.mean(far.predict(X + 1e8) != near.predict(X)) == 0
    assert far.certify(X + 1e8, y).holds


@pytest.mark.parametrize("place", [0.0, 0.1, 1.1, 1e3])
def test_the_training_error_is_that_of_the_predictions_at_ties_up_to_rounding(place):
    """Half of the rows lie midway between the centres, six of the first class and two of the second."""
    cross = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    X = place + 0.3 * np.vstack([cross + [1, 0], cross - [0.6, 0], np.zeros((8, 2))])
    y = np.repeat([0, 1, 0, 1], [4, 4, 6, 2])
    model = LinearDiscriminantAnalysis(priors="uniform").fit(X, y)
    assert np.abs(model.decision_function(X[8:])).max() < 1e-9
    wrong = model.predict(X) != y
    by_class = 0.5 * (wrong[y == 0].mean() + wrong[y == 1].mean())
    assert model.error_rates(X, y).training == pytest.approx(by_class)
