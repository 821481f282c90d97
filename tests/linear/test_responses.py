"""Binary targets with any response: means that round to 0 or 1, and distribution functions of one's own."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import optimize, special, stats
from sklearn.base import clone

from assay.families import Binomial, Link, LinkedFamily, ShareLoss, link
from assay.linear import GeneralizedLinear
from assay.losses import CumulativeResponse

X_FAR, SHARES, TRIALS = (
    np.array([[0.0], [1.0], [2.0], [6.0]]),
    np.array([5, 13, 22, 25]) / 25,
    np.full(4, 25.0),
)
RESPONSES = ("probit", "cloglog", "loglog", "cauchit")


def softsign(score):
    """A response with heavy tails, known by its values alone."""
    return 0.5 + score / (2 * (1 + np.abs(score)))


@pytest.mark.parametrize("name", RESPONSES)
def test_a_mean_that_rounds_to_one_does_not_stop_the_fit(name):
    model = GeneralizedLinear("binomial", link=name).fit(X_FAR, SHARES, TRIALS)
    loss = CumulativeResponse(
        {"probit": "normal", "cauchit": "cauchy"}.get(name)
        or {"cloglog": "gumbel_l", "loglog": "gumbel_r"}[name]
    )

    def objective(point):
        score = X_FAR[:, 0] * point[0] + point[1]
        one, none = np.ones(4), -np.ones(4)
        return TRIALS @ (SHARES * loss.value(one, score) + (1 - SHARES) * loss.value(none, score))

    best = optimize.minimize(
        objective, [0.5, -0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12, "maxiter": 4000}
    ).x
    assert_allclose([model.coef_[0], model.intercept_], best, atol=1e-5)
    assert model.converged_
    model.certificates_.require()
    model.certify(X_FAR, SHARES, TRIALS).require()
    for kind in ("deviance", "pearson", "response"):
        assert np.isfinite(model.residuals(X_FAR, SHARES, kind)).all()
    if name == "cloglog":
        assert model.coef_[0] == pytest.approx(1.1112, abs=5e-5)
        assert model.predict(X_FAR)[-1] == 1


@pytest.mark.parametrize("name", [*RESPONSES, "logit", "log"])
def test_losses_of_shares_keep_their_digits_in_the_tails(name):
    loss = ShareLoss(link(name))
    far = np.array([-30.0, -8.0, -1e-3]) if name == "log" else np.array([-8.0, -0.3, 0.4, 3.0, 8.0])
    for y in (0.0, 0.3, 1.0):
        value, slope, curvature = loss.terms(np.full(len(far), y), far.copy())
        assert np.isfinite(value).all()
        step = 1e-5 * np.maximum(np.abs(far), 1e-9)
        above, below = (loss.value(np.full(len(far), y), far + sign * step) for sign in (1, -1))
        assert_allclose((above - below) / (2 * step), slope, rtol=1e-5, atol=1e-9)
        assert np.all(curvature >= 0)
    law = LinkedFamily(Binomial(), link(name))
    assert_allclose(law.value(np.full(len(far), 0.3), far), loss.value(np.full(len(far), 0.3), far)
                    - special.entr(0.3) - special.entr(0.7), rtol=1e-12)  # fmt: skip


def labels(rng, law, n=400):
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < law(0.3 + X @ [0.9, -0.6])).astype(float)


@pytest.mark.spec("sangnier/M-1.2.1-e")
@pytest.mark.parametrize(
    ("source", "cdf"),
    [(stats.t(4), stats.t(4).cdf), (stats.norm(0, 2), stats.norm(0, 2).cdf), (softsign, softsign)],
    ids=["t", "norm", "softsign"],
)
def test_any_distribution_function_is_a_response(rng, source, cdf):
    X, y = labels(rng, cdf)
    model = GeneralizedLinear("binomial", link=source).fit(X, y)
    table = np.column_stack([X, np.ones(len(y))])
    sign = 2 * y - 1

    def objective(point):  # −log P(y): both sides by the symmetry of these laws
        return -np.log(cdf(sign * (table @ point))).sum()

    best = optimize.minimize(objective, np.zeros(3), method="Nelder-Mead",
                             options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 5000}).x  # fmt: skip
    assert_allclose([*model.coef_, model.intercept_], best, atol=2e-5)
    assert_allclose(model.predict(X), cdf(table @ best), atol=1e-5)
    assert_allclose(model.log_likelihood_, -objective(best), rtol=1e-8)
    model.certificates_.require()
    model.certify(X, y).require()
    scores = table @ [*model.coef_, model.intercept_]
    density = (cdf(scores + 1e-5) - cdf(scores - 1e-5)) / 2e-5
    weight = density**2 / (cdf(scores) * (1 - cdf(scores)))
    errors = np.sqrt(np.diagonal(np.linalg.inv(table.T @ (table * weight[:, None]))))
    assert_allclose(model.inference().bse, errors[[2, 0, 1]], rtol=1e-5)
    damaged = clone(model).fit(X, y)
    damaged.coef_ = damaged.coef_ * 1.01
    assert not damaged.certify(X, y).holds
    again = pickle.loads(pickle.dumps(model))
    assert_allclose(again.predict(X), model.predict(X))


@pytest.mark.spec("sangnier/M-1.2.1-e")
def test_named_links_are_their_laws_and_a_link_of_ones_own_suits_any_family(rng):
    X, y = labels(rng, stats.norm.cdf)
    named, law = (GeneralizedLinear("binomial", link=name).fit(X, y) for name in ("probit", stats.norm()))
    assert_allclose(law.coef_, named.coef_, rtol=1e-7)
    assert (named.link_, law.link_) == ("probit", "norm")
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Binomial(sm.families.links.Probit()))
    assert_allclose(law.coef_, theirs.fit(tol=1e-12).params[1:], rtol=1e-6)
    cube = Link("cube root", np.cbrt, lambda score: score**3, lambda score: 3 * score**2, low=0.0)
    target = (2 + 0.3 * X[:, 0]) ** 3 + rng.normal(size=len(X))
    own = GeneralizedLinear(link=cube).fit(X, target)
    assert_allclose(own.coef_, [0.3, 0.0], atol=0.05)
    own.certify(X, target).require()

    def logit(score):  # a name that is taken says nothing of the function
        return stats.norm.cdf(score)

    assert_allclose(GeneralizedLinear("binomial", link=logit).fit(X, y).coef_, named.coef_, rtol=1e-5)


@pytest.mark.spec("sangnier/M-1.2.1-e")
def test_separated_labels_have_no_fit_under_any_response(rng):
    X = rng.normal(size=(60, 2))
    with pytest.raises(ValueError, match="A hyperplane separates the classes"):
        GeneralizedLinear("binomial", link=stats.t(3)).fit(X, (X[:, 0] > 0).astype(float))


@pytest.mark.parametrize(
    "source", [3.0, np.cos, lambda score: 2 * softsign(score), stats.poisson(3), "spline"]
)
def test_what_is_no_response_is_refused_in_one_sentence(rng, source):
    X, y = labels(rng, stats.norm.cdf, n=40)
    with pytest.raises(ValueError, match=r"The 'link' parameter of GeneralizedLinear must be") as refusal:
        GeneralizedLinear("binomial", link=source).fit(X, y)
    assert "\n" not in str(refusal.value)
    with pytest.raises(ValueError, match="one that gives means of family='poisson'"):
        GeneralizedLinear("poisson", link=stats.t(3)).fit(X, y)
