"""Generalised linear models against statsmodels, scikit-learn and closed forms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose
from scipy import optimize, stats
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import GammaRegressor, PoissonRegressor

from assay.families import FAMILIES, LINKS
from assay.linear import GeneralizedLinear, LinearRegression, LogisticRegression

STATSMODELS = {
    ("gaussian", "identity"): sm.families.Gaussian(),
    ("gaussian", "log"): sm.families.Gaussian(sm.families.links.Log()),
    ("binomial", "logit"): sm.families.Binomial(),
    ("binomial", "probit"): sm.families.Binomial(sm.families.links.Probit()),
    ("binomial", "cloglog"): sm.families.Binomial(sm.families.links.CLogLog()),
    ("binomial", "loglog"): sm.families.Binomial(sm.families.links.LogLog()),
    ("binomial", "cauchit"): sm.families.Binomial(sm.families.links.Cauchy()),
    ("poisson", "log"): sm.families.Poisson(),
    ("poisson", "identity"): sm.families.Poisson(sm.families.links.Identity()),
    ("poisson", "sqrt"): sm.families.Poisson(sm.families.links.Sqrt()),
    ("negative_binomial", "log"): sm.families.NegativeBinomial(alpha=0.7),
    ("gamma", "log"): sm.families.Gamma(sm.families.links.Log()),
    ("gamma", "inverse"): sm.families.Gamma(),
    ("inverse_gaussian", "log"): sm.families.InverseGaussian(sm.families.links.Log()),
    ("inverse_gaussian", "inverse_squared"): sm.families.InverseGaussian(),
    ("tweedie", "log"): sm.families.Tweedie(sm.families.links.Log(), var_power=1.5),
}


def drawn(family: str, link: str, n: int = 400, seed: int = 0):
    """Targets of the family at means of the link, with every mean well inside its domain."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, 3))
    score = X @ [0.5, -0.3, 0.2]
    level = {"identity": 4.0, "sqrt": 2.0, "inverse": 2.0, "inverse_squared": 2.0, "log": 0.5}.get(link, 0.2)
    if family in ("binomial",):
        level = -0.3
    if family == "gaussian":
        level = 1.0
    mean = LINKS[link].mean(score + level)
    draw = {
        "gaussian": lambda: mean + 0.3 * rng.normal(size=n),
        "binomial": lambda: rng.binomial(1, mean).astype(float),
        "poisson": lambda: rng.poisson(mean).astype(float),
        "negative_binomial": lambda: rng.negative_binomial(1 / 0.7, 1 / (1 + 0.7 * mean)).astype(float),
        "gamma": lambda: rng.gamma(4.0, mean / 4),
        "inverse_gaussian": lambda: rng.wald(mean, 5.0),
        "tweedie": lambda: rng.poisson(mean) * rng.gamma(2.0, 0.5, size=n),
    }
    return X, draw[family]()


def fitted(family, link, X, y, **options):
    model = GeneralizedLinear(family, link=link, power=1.5, overdispersion=0.7)
    return model.fit(X, y, **options)


@pytest.mark.parametrize(("family", "link"), STATSMODELS, ids=lambda pair: pair)
@pytest.mark.filterwarnings("ignore:The .* link function does not respect the domain")
@pytest.mark.spec("sangnier/M-1.2.1-e", "wei/M7.6")
def test_every_family_and_link_agrees_with_statsmodels(family, link):
    X, y = drawn(family, link)
    ours = fitted(family, link, X, y)
    theirs = sm.GLM(y, sm.add_constant(X), family=STATSMODELS[family, link]).fit(tol=1e-12, maxiter=200)
    found = ours.inference()
    assert_allclose(found.params, theirs.params, rtol=1e-6, atol=1e-7)
    assert_allclose(found.bse, theirs.bse, rtol=1e-5)
    assert_allclose(ours.deviance_, theirs.deviance, rtol=1e-8)
    assert_allclose(ours.null_deviance_, theirs.null_deviance, rtol=1e-6)
    assert_allclose(ours.dispersion_, theirs.scale, rtol=1e-6)
    if family not in ("tweedie", "gaussian"):
        assert_allclose(ours.log_likelihood_, theirs.llf, rtol=1e-8)
    ours.certificates_.require()
    ours.certify(X, y).require()


@pytest.mark.parametrize("family", ["poisson", "gamma", "binomial"])
def test_sandwich_covariances_agree_with_statsmodels(family):
    link = FAMILIES[family].usual
    X, y = drawn(family, link)
    theirs = sm.GLM(y, sm.add_constant(X), family=STATSMODELS[family, link]).fit(tol=1e-12, cov_type="HC0")
    model = fitted(family, link, X, y)
    ours = model.inference(X, y, covariance="HC0")
    # At a link that is not canonical statsmodels takes the observed information in place of the expected.
    assert_allclose(ours.bse, theirs.bse, rtol=1e-5 if FAMILIES[family].canonical == link else 0.05)
    assert_allclose(model.inference(X, y, covariance="HC1").bse, ours.bse * np.sqrt(400 / 396))


def test_a_gaussian_fit_with_the_identity_is_least_squares():
    X, y = drawn("gaussian", "identity")
    ours, least_squares = GeneralizedLinear().fit(X, y), LinearRegression().fit(X, y)
    assert_allclose(ours.coef_, least_squares.coef_, rtol=1e-9)
    assert_allclose(ours.inference().bse, least_squares.inference().bse, rtol=1e-9)
    assert_allclose(ours.inference().pvalues, least_squares.inference().pvalues, rtol=1e-6, atol=1e-300)
    assert_allclose(ours.log_likelihood_, least_squares.log_likelihood_, rtol=1e-9)
    assert ours.n_iter_ == 1


def test_a_binomial_fit_is_a_logistic_regression():
    X, y = drawn("binomial", "logit")
    ours, logistic = GeneralizedLinear("binomial").fit(X, y), LogisticRegression(C=np.inf).fit(X, y)
    assert_allclose(ours.coef_, logistic.coef_[0], rtol=1e-8)
    assert_allclose(ours.inference().bse, logistic.inference().bse, rtol=1e-8)
    assert_allclose(ours.predict(X), logistic.predict_proba(X)[:, 1], rtol=1e-8)


def test_shares_weighted_by_trials_are_the_trials_themselves():
    rng = np.random.default_rng(2)
    X, trials = rng.normal(size=(60, 2)), rng.integers(1, 8, size=60)
    successes = rng.binomial(trials, 1 / (1 + np.exp(-X[:, 0])))
    grouped = GeneralizedLinear("binomial").fit(X, successes / trials, sample_weight=trials)
    rows = np.repeat(np.arange(60), trials)
    y = np.concatenate([np.arange(t) < s for t, s in zip(trials, successes, strict=True)]).astype(float)
    single = GeneralizedLinear("binomial").fit(X[rows], y)
    assert_allclose(grouped.coef_, single.coef_, rtol=1e-9)
    assert_allclose(grouped.inference().bse, single.inference().bse, rtol=1e-8)


@pytest.mark.parametrize(("family", "peer"), [("quasi_poisson", PoissonRegressor), ("gamma", GammaRegressor)])
def test_the_penalised_objective_is_that_of_scikit_learn(family, peer):
    X, y = drawn("gamma", "log")
    theirs = peer(alpha=0.1, tol=1e-10, max_iter=10_000).fit(X, y)
    assert_allclose(GeneralizedLinear(family, alpha=0.1).fit(X, y).coef_, theirs.coef_, atol=1e-6)


def test_each_feature_can_have_its_own_penalty():
    X, y = drawn("poisson", "log")
    alpha = np.array([0.0, 0.3, 1e9])
    model = GeneralizedLinear("poisson", alpha=alpha).fit(X, y)

    def objective(point):
        score = X[:, :2] @ point[:2] + point[2]
        return np.mean(np.exp(score) - y * score) + 0.15 * point[1] ** 2

    best = optimize.minimize(objective, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    assert_allclose(model.coef_, [*best[:2], 0.0], atol=1e-6)
    model.certificates_.require()


def test_the_duality_gap_of_a_penalised_poisson_fit_bounds_what_a_longer_fit_gains():
    X, y = drawn("poisson", "log")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        early = GeneralizedLinear("poisson", alpha=0.1, max_iter=1).fit(X, y)
    late = GeneralizedLinear("poisson", alpha=0.1).fit(X, y)

    def objective(model):
        mean = model.predict(X)
        return np.mean(mean - y * np.log(mean)) + 0.05 * model.coef_ @ model.coef_

    gap = early.dual_gap_ * abs(objective(early))
    assert gap >= objective(early) - objective(late) > 0
    assert not early.certificates_.holds
    assert late.dual_gap_ < 1e-12


@pytest.mark.parametrize("family", ["poisson", "gamma"])
def test_an_offset_and_an_exposure_shift_the_score(family):
    rng = np.random.default_rng(5)
    X, y = drawn("poisson", "log")
    y = y + (family == "gamma")
    exposure = rng.uniform(0.5, 3.0, size=len(y))
    ours = GeneralizedLinear(family).fit(X, y, exposure=exposure)
    peer = STATSMODELS[family, "log"]
    theirs = sm.GLM(y, sm.add_constant(X), family=peer, offset=np.log(exposure)).fit(tol=1e-12)
    assert_allclose(ours.inference().params, theirs.params, rtol=1e-6, atol=1e-8)
    assert_allclose(ours.null_deviance_, theirs.null_deviance, rtol=1e-8)
    assert_allclose(ours.predict(X, exposure=exposure), theirs.fittedvalues, rtol=1e-6)
    same = GeneralizedLinear(family).fit(X, y, offset=np.log(exposure))
    assert_allclose(same.coef_, ours.coef_, rtol=1e-10)
    ours.certify(X, y, exposure=exposure).require()
    assert not ours.certify(X, y).holds, "without the exposure it is not the maximum"


def test_residuals_add_up_to_the_deviance_and_to_pearsons_statistic():
    X, y = drawn("gamma", "log")
    model = GeneralizedLinear("gamma").fit(X, y)
    assert_allclose(np.sum(model.residuals(X, y) ** 2), model.deviance_, rtol=1e-9)
    pearson = np.sum(model.residuals(X, y, "pearson") ** 2)
    assert_allclose(pearson / (len(y) - 4), model.dispersion_, rtol=1e-9)
    with pytest.raises(ValueError, match=r"'kind' parameter of GeneralizedLinear.residuals"):
        model.residuals(X, y, "raw")


def test_likelihood_ratio_and_wald_tests_of_a_group_of_columns():
    X, y = drawn("poisson", "log")
    large, small = GeneralizedLinear("poisson").fit(X, y), GeneralizedLinear("poisson").fit(X[:, :1], y)
    ratio = large.inference().likelihood_ratio_test(small.inference())
    assert ratio.df == 2
    assert_allclose(ratio.statistic, small.deviance_ - large.deviance_, rtol=1e-8)
    assert_allclose(ratio.pvalue, stats.chi2.sf(ratio.statistic, 2))
    wald = large.inference().wald_test(["x1", "x2"])
    theirs = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit(tol=1e-12)
    assert_allclose(wald.statistic, theirs.wald_test("x2 = 0, x3 = 0", scalar=True).statistic, rtol=1e-5)
    with pytest.raises(ValueError, match="fewer parameters"):
        small.inference().likelihood_ratio_test(large.inference())


def test_intervals_of_means_and_of_new_counts_cover():
    rng = np.random.default_rng(8)
    X, y = drawn("poisson", "log", n=2000)
    model = GeneralizedLinear("poisson").fit(X, y)
    new = rng.uniform(-1, 1, size=(4000, 3))
    truth = np.exp(new @ [0.5, -0.3, 0.2] + 0.5)
    low, high = model.predict_interval(new, 0.95, kind="mean").T
    assert np.mean((low <= truth) & (truth <= high)) > 0.9
    low, high = model.predict_interval(new, 0.9).T
    covered = np.mean((rng.poisson(truth) >= low) & (rng.poisson(truth) <= high))
    assert covered >= 0.9 - 3 * np.sqrt(0.09 / 4000)
    peer = sm.GLM(y, sm.add_constant(X), family=sm.families.Poisson()).fit(tol=1e-12)
    frame = peer.get_prediction(sm.add_constant(new)).summary_frame(alpha=0.05)
    ends = model.predict_interval(new, 0.95, kind="mean")
    assert_allclose(ends[:, 0], frame["mean_ci_lower"], rtol=1e-5)
    assert_allclose(ends[:, 1], frame["mean_ci_upper"], rtol=1e-5)


def test_memory_parquet_and_dask_agree(tmp_path):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    da = pytest.importorskip("dask.array")
    X, y = drawn("poisson", "log", n=3000)
    exposure = np.random.default_rng(0).uniform(0.5, 2, size=len(y))
    table = {f"x{j}": X[:, j] for j in range(3)} | {"count": y, "level": np.log(exposure)}
    pq.write_table(pa.table(table), tmp_path / "rows.parquet", row_group_size=700)
    memory = GeneralizedLinear("poisson").fit(X, y, exposure=exposure)
    disk = GeneralizedLinear("poisson").fit(str(tmp_path / "rows.parquet"), "count", offset="level")
    lazy = GeneralizedLinear("poisson").fit(
        da.from_array(X, chunks=(800, 3)), da.from_array(y, chunks=800), offset=np.log(exposure)
    )
    for other in (disk, lazy):
        assert_allclose(other.coef_, memory.coef_, atol=1e-9)
        assert_allclose(other.inference().bse, memory.inference().bse, rtol=1e-9)
        assert_allclose(other.deviance_, memory.deviance_, rtol=1e-9)


def test_many_rows_take_quasi_newton_steps_to_the_same_maximum():
    X, y = drawn("poisson", "log", n=120_000)
    quick, full = (
        GeneralizedLinear("poisson").fit(X, y),
        GeneralizedLinear("poisson", solver="newton").fit(X, y),
    )
    assert (quick.solver_, full.solver_) == ("quasi_newton", "newton")
    assert_allclose(quick.coef_, full.coef_, atol=1e-9)
    assert_allclose(quick.inference().bse, full.inference().bse, rtol=1e-7)


@pytest.mark.parametrize(
    ("family", "target", "words"),
    [
        ("poisson", [1.0, -2.0, 3.0, 0.0], "a count"),
        ("poisson", [1.0, 2.5, 3.0, 0.0], "quasi_poisson"),
        ("negative_binomial", [1.0, 2.5, 3.0, 0.0], "a count"),
        ("gamma", [1.0, 0.0, 3.0, 2.0], "above 0"),
        ("inverse_gaussian", [1.0, -1.0, 3.0, 2.0], "above 0"),
        ("binomial", [0.0, 1.5, 1.0, 0.0], "between 0 and 1"),
        ("tweedie", [0.0, -1.5, 1.0, 0.0], "at least 0"),
    ],
)
def test_targets_that_a_family_cannot_give_are_refused_in_one_sentence(family, target, words):
    with pytest.raises(ValueError, match=words) as refusal:
        GeneralizedLinear(family).fit(np.arange(4.0)[:, None], target)
    assert "\n" not in str(refusal.value)
    assert "Got" in str(refusal.value)


def test_other_bad_input_is_refused_in_one_sentence():
    X, y = drawn("poisson", "log", n=50)
    model = GeneralizedLinear("poisson")
    for options, words in (
        ({"offset": np.zeros(49)}, r"offset must be one-dimensional with 50 entries"),
        ({"offset": np.full(50, np.nan)}, r"offset holds NaN or infinity"),
        ({"exposure": np.zeros(50)}, r"exposure must hold finite numbers above 0"),
        ({"exposure": ["a"] * 50}, r"exposure must hold numbers above 0"),
        ({"sample_weight": np.zeros(50)}, r"All sample weights are zero"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, y, **options)
    with pytest.raises(
        ValueError, match="'link' parameter of GeneralizedLinear must be one that gives means"
    ):
        GeneralizedLinear("poisson", link="logit").fit(X, y)
    with pytest.raises(ValueError, match="needs link='log'"):
        GeneralizedLinear("poisson", link="sqrt").fit(X, y, exposure=np.ones(50))
    with pytest.raises(ValueError, match="'alpha' parameter"):
        GeneralizedLinear("poisson", alpha=[0.1, 0.2]).fit(X, y)
    with pytest.raises(ValueError, match="unpenalised"):
        GeneralizedLinear("poisson", alpha=0.1).fit(X, y).inference()
    with pytest.raises(ValueError, match="no quantiles in closed form"):
        GeneralizedLinear("quasi_poisson").fit(X, y).predict_interval(X)
    with pytest.raises(ValueError, match="give the data of the fit"):
        model.fit(X, y).inference(covariance="HC0")


def test_counts_that_are_all_zero_give_an_honest_answer():
    X = np.random.default_rng(0).normal(size=(30, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = GeneralizedLinear("poisson").fit(X, np.zeros(30))
    assert np.all(np.isfinite(model.coef_))
    assert np.all(model.predict(X) < 1e-6)


def test_collinear_columns_share_one_prediction():
    X, y = drawn("poisson", "log")
    doubled = np.column_stack([X, X[:, 0]])
    model = GeneralizedLinear("poisson").fit(doubled, y)
    assert model.rank_ == 4
    assert_allclose(model.predict(doubled), GeneralizedLinear("poisson").fit(X, y).predict(X), rtol=1e-8)
    with pytest.raises(ValueError, match="linearly independent columns"):
        model.inference()


def test_a_path_of_penalties_holds_the_fits_and_selection_finds_a_good_one():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(150, 20))
    y = rng.poisson(np.exp(0.3 * X[:, 0] + 0.2)).astype(float)
    path = GeneralizedLinear("poisson").path(X, y, [0.5, 0.05])
    for row, alpha in enumerate([0.5, 0.05]):
        single = GeneralizedLinear("poisson", alpha=alpha).fit(X, y)
        assert_allclose(path.coef[row, 0], single.coef_, atol=1e-8)
    assert np.all(path.dual_gap < 1e-8)
    assert np.all(np.diff(path.degrees_of_freedom) > 0)
    chosen = GeneralizedLinear("poisson").select(X, y, rule="one_se", random_state=0)
    best = GeneralizedLinear("poisson").select(X, y, random_state=0)
    assert chosen.alpha >= best.alpha == best.best_alpha
    new = rng.normal(size=(5000, 20))
    truth = np.exp(0.3 * new[:, 0] + 0.2)
    plain = GeneralizedLinear("poisson").fit(X, y)

    def error(model):
        return np.mean((model.predict(new) - truth) ** 2)

    assert error(best.model) < error(plain)
    criterion = GeneralizedLinear("poisson").select(X, y, rule="aic", alphas=[0.5, 0.05])
    expected = [-2 * _log_likelihood(path, row, X, y) + 2 * path.degrees_of_freedom[row] for row in range(2)]
    assert_allclose(np.diff(criterion.curve), np.diff(expected), rtol=1e-8)
    with pytest.raises(ValueError, match="'rule' parameter of GeneralizedLinear"):
        GeneralizedLinear("gamma").select(X, y + 1, rule="bic")


def _log_likelihood(path, row, X, y):
    return stats.poisson(np.exp(path.scores(X)[:, row, 0])).logpmf(y).sum()


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_separated_labels_have_no_unpenalised_fit(link):
    X = np.random.default_rng(0).normal(size=(100, 2))
    y = (X.sum(axis=1) > 0).astype(float)
    with pytest.raises(ValueError, match=r"A hyperplane separates the classes.*use alpha above 0"):
        GeneralizedLinear("binomial", link=link).fit(X, y)
    GeneralizedLinear("binomial", link=link, alpha=0.1).fit(X, y).certificates_.require()
