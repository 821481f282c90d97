"""Ordinary least squares: what it computes, what it certifies, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse, stats
from sklearn import linear_model
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.datasets import diabetes
from assay.linear import LinearRegression, Ridge
from assay.rows import threads

SOLVERS = ("cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient")


@pytest.fixture
def table(rng):
    X = rng.standard_normal((80, 5)) + [0, 1, -2, 10, 100]
    y = X @ [1.0, -2.0, 0.5, 0.0, 3.0] + 7 + 0.3 * rng.standard_normal(80)
    return X, y


@pytest.mark.spec("rudi/M1.1", "rudi/M1.3", "peyre/M7", "douc/M6.2")
def test_coefficients_are_the_closed_form(table):
    X, y = table
    model = LinearRegression(fit_intercept=False).fit(X, y)
    closed = np.linalg.solve(X.T @ X, X.T @ y)
    assert_allclose(model.coef_, closed, rtol=1e-9)
    assert_allclose(model.coef_, np.linalg.pinv(X) @ y, rtol=1e-9)
    assert_allclose(model.predict(X), X @ closed, rtol=1e-9)
    assert_allclose(model.residuals(X, y), y - X @ closed, atol=1e-9)
    assert model.empirical_risk_ == pytest.approx(np.mean((y - X @ closed) ** 2))
    assert model.rank_ == 5
    assert_allclose(model.gradient(X, y), 2 / 80 * (X.T @ (X @ closed) - X.T @ y), atol=1e-9)
    assert_allclose(model.hessian(), 2 / 80 * X.T @ X, rtol=1e-12)
    unit = X / np.linalg.norm(X, axis=0)
    assert np.sqrt(np.linalg.cond(model.hessian())) == pytest.approx(np.linalg.cond(X))
    # The normal equations and QR, by name, give the same.
    for solver in ("cholesky", "qr"):
        other = LinearRegression(fit_intercept=False, solver=solver).fit(X, y)
        assert other.solver_ == solver
        assert other.condition_number_ == pytest.approx(np.linalg.cond(unit))
        assert_allclose(other.coef_, closed, rtol=1e-8)
    theta = closed + np.arange(5)
    other.coef_ = theta
    assert_allclose(other.gradient(X, y), 2 / 80 * (X.T @ X @ theta - X.T @ y), rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("d", [4, 40, 200])
@pytest.mark.parametrize("apart", [1.0, 1e-2])
@pytest.mark.parametrize("kind", [LinearRegression, Ridge])
def test_the_condition_number_has_one_meaning_for_every_solver(fit_intercept, d, apart, kind):
    rng = np.random.default_rng(d)
    X = rng.standard_normal((3 * d, d)) * 10.0 ** rng.integers(-3, 4, d) + 1.0
    X[:, 0] = X[:, 1] + apart * X[:, 0]
    y, weight = rng.standard_normal(3 * d), rng.integers(0, 3, 3 * d).astype(float)
    mean = np.average(X, axis=0, weights=weight) if fit_intercept else 0.0
    table = np.sqrt(weight)[:, None] * (X - mean)
    if kind is Ridge:
        table = np.vstack([table, np.sqrt(2.0) * np.eye(d)])
    known = np.linalg.cond(table / np.linalg.norm(table, axis=0))
    options = {"alpha": 2.0} if kind is Ridge else {}
    for solver in ("auto", "cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient"):
        model = kind(solver=solver, fit_intercept=fit_intercept, tol=0.1, **options)
        model.fit(X, y, sample_weight=weight)
        if solver in ("auto", "cholesky", "qr") or (solver == "dual" and kind is LinearRegression):
            assert model.condition_number_ == pytest.approx(known, rel=2e-3), solver
        else:
            assert model.condition_number_ is None, solver


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_solver_gives_scikit_learns_coefficients(table, solver, fit_intercept):
    X, y = table
    X = StandardScaler().fit_transform(X)
    ours = LinearRegression(solver=solver, fit_intercept=fit_intercept, tol=1e-12).fit(X, y)
    theirs = linear_model.LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert_allclose(ours.intercept_, theirs.intercept_, atol=1e-8)
    assert ours.certificates_.holds
    assert ours.converged_
    assert ours.certify(X, y).holds


@pytest.mark.spec("rudi/M1.2", "douc/M6.2")
def test_hat_matrix_is_the_orthogonal_projection(table):
    X, y = table
    model = LinearRegression(fit_intercept=False).fit(X, y)
    hat = model.hat_matrix(X)
    assert_allclose(hat, X @ np.linalg.solve(X.T @ X, X.T), atol=1e-9)
    assert_allclose(hat @ hat, hat, atol=1e-10)
    assert_allclose(hat, hat.T, atol=1e-12)
    assert np.trace(hat) == pytest.approx(5)
    assert_allclose(model.leverage(X), np.diagonal(hat))
    assert_allclose(hat @ y, model.predict(X), rtol=1e-8)
    assert_allclose(X.T @ (y - hat @ y), 0, atol=1e-6)
    assert LinearRegression().fit(X, y).leverage(X).sum() == pytest.approx(6)


@pytest.mark.spec("rudi/M1.4", "rudi/T1.2")
def test_qr_keeps_the_digits_that_squaring_loses(rng):
    u, _ = np.linalg.qr(rng.standard_normal((200, 6)))
    v, _ = np.linalg.qr(rng.standard_normal((6, 6)))
    X = (u * np.geomspace(1, 1e-7, 6)) @ v.T
    truth = np.ones(6)
    y = X @ truth
    by_qr = LinearRegression(fit_intercept=False, solver="qr").fit(X, y)
    by_default = LinearRegression(fit_intercept=False).fit(X, y)
    squared = np.linalg.solve(X.T @ X, X.T @ y)
    assert np.linalg.norm(by_qr.coef_ - truth) < 1e-7
    assert by_default.solver_ == "qr"  # "auto" saw that the normal equations are not safe
    assert_allclose(by_default.coef_, by_qr.coef_)
    assert np.linalg.norm(squared - truth) > 100 * np.linalg.norm(by_qr.coef_ - truth)


@pytest.mark.spec("rudi/M1.5")
def test_gradient_descent_takes_constant_steps_from_zero(table):
    X, y = table
    X = StandardScaler().fit_transform(X)
    model = LinearRegression(fit_intercept=False, solver="gradient_descent", history=True, tol=1e-9).fit(X, y)
    theta, trace = np.zeros(5), []
    step = 1 / (2 * np.linalg.eigvalsh(X.T @ X)[-1] / len(X))
    for _ in range(model.n_iter_):
        trace.append(np.mean((y - X @ theta) ** 2))
        theta = theta - step * 2 / len(X) * (X.T @ X @ theta - X.T @ y)
    assert_allclose(model.history_, trace, rtol=1e-9)
    assert np.all(np.diff(model.history_) <= 1e-12)
    assert_allclose(model.coef_, np.linalg.lstsq(X, y, rcond=None)[0], atol=1e-6)


class Watcher:
    """Keeps the score of the model at every iteration, and stops after `patience` of them."""

    def __init__(self, patience):
        self.patience, self.scores = patience, []

    def setup(self, estimator, context):
        self.scores.clear()

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if fitted_estimator is not None:
            self.scores.append(fitted_estimator.score(X, y))
        return len(self.scores) >= self.patience


def test_callbacks_see_the_model_of_every_iteration_and_can_stop_it(table):
    X, y = table
    watcher = Watcher(patience=4)
    model = LinearRegression(solver="gradient_descent").set_callbacks(watcher)
    with pytest.warns(ConvergenceWarning):
        model.fit(X, y)
    assert model.n_iter_ == 4
    assert np.all(np.diff(watcher.scores) > 0)
    assert watcher.scores[-1] == pytest.approx(model.score(X, y))


def test_a_stopped_descent_warns_and_its_certificate_fails(table):
    X, y = table
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        model = LinearRegression(solver="gradient_descent", max_iter=3).fit(X, y)
    assert not model.converged_
    assert not model.certificates_.holds


@pytest.mark.spec("rudi/M1.10", "douc/M6.2")
def test_gaussian_likelihood_and_both_variance_estimates(table):
    import statsmodels.api as sm

    X, y = table
    model = LinearRegression().fit(X, y)
    reference = sm.OLS(y, sm.add_constant(X)).fit()
    assert model.log_likelihood_ == pytest.approx(reference.llf)
    assert model.noise_variance_ == pytest.approx(reference.mse_resid)
    assert model.empirical_risk_ == pytest.approx(reference.ssr / 80)  # the biased maximum-likelihood one
    assert_allclose(model.covariance(), reference.cov_params()[1:, 1:], rtol=1e-7)
    residuals = y - model.predict(X)
    direct = stats.norm.logpdf(residuals, scale=np.sqrt(model.empirical_risk_)).sum()
    assert model.log_likelihood_ == pytest.approx(direct)


@pytest.mark.spec("rudi/T1.1")
def test_the_gradient_vanishes_and_a_damaged_fit_is_found_out(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    assert_allclose(model.gradient(X, y), 0, atol=1e-9)
    assert np.linalg.eigvalsh(model.hessian())[0] > 0
    assert model.certify(X, y).holds
    model.coef_ = model.coef_ + [0, 1e-3, 0, 0, 0]
    damaged = model.certify(X, y)
    assert not damaged.holds
    assert not damaged.named("normal-equation residual").holds
    with pytest.raises(ValueError, match="normal-equation residual"):
        damaged.require()


def test_a_damaged_intercept_is_found_out(table):
    X, y = table
    model = LinearRegression().fit(X, y)
    model.intercept_ += 0.1
    assert not model.certify(X, y).named("normal-equation residual").holds


@pytest.mark.spec("rudi/T1.1", "peyre/M7")
def test_collinear_columns_give_the_least_norm_and_say_so(table):
    X, y = table
    X = np.column_stack([X, X[:, 0] + X[:, 1], X[:, 2]])
    model = LinearRegression().fit(X, y)
    assert model.rank_ == 5
    centred = X - X.mean(axis=0)
    assert_allclose(model.coef_, np.linalg.pinv(centred) @ (y - y.mean()), atol=1e-8)
    claim = model.certificates_.named("component outside the row space")
    assert "rank 5 of 7" in claim.claim
    curvature = np.linalg.eigvalsh(model.hessian())  # not positive definite: two directions are flat
    assert np.sum(curvature < 1e-10 * curvature[-1]) == 2
    assert claim.holds
    # Moving along the null space keeps the fit and loses the least norm: only that certificate notices.
    null = np.linalg.svd(centred)[2][-1]
    model.coef_ = model.coef_ + null
    model.intercept_ = model.intercept_ - X.mean(axis=0) @ null
    moved = model.certify(X, y)
    assert moved.named("normal-equation residual").holds
    assert not moved.named("component outside the row space").holds


def test_hessian_is_singular_exactly_when_the_rank_is_short(table):
    X, y = table
    X = np.column_stack([X, X[:, 0]])
    assert np.linalg.eigvalsh(LinearRegression().fit(X, y).hessian())[0] == pytest.approx(0, abs=1e-9)


def test_more_columns_than_rows_gives_the_pseudo_inverse(rng):
    X, y = rng.standard_normal((10, 30)), rng.standard_normal(10)
    model = LinearRegression(fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_, np.linalg.pinv(X) @ y, atol=1e-10)
    assert model.rank_ == 10
    assert model.certificates_.holds


@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_units_of_the_columns_do_not_matter(table, scale):
    X, y = table
    factors = np.array([1, scale, 1, 1 / scale, 1])
    plain, scaled = LinearRegression().fit(X, y), LinearRegression().fit(X * factors, y)
    assert_allclose(scaled.coef_ * factors, plain.coef_, rtol=1e-6)
    assert scaled.rank_ == 5


def test_large_means_keep_their_digits(rng):
    X = rng.standard_normal((300, 3)) + 1e8
    y = (X - 1e8) @ [1.0, 2.0, 3.0] + 1e6
    model = LinearRegression().fit(X, y)
    assert_allclose(model.coef_, [1, 2, 3], rtol=1e-6)
    assert model.empirical_risk_ < 1e-6


def test_weights_are_repetitions(table, rng):
    X, y = table
    weight = rng.integers(0, 4, size=len(X))
    weighted = LinearRegression().fit(X, y, sample_weight=weight)
    repeated = LinearRegression().fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.coef_, repeated.coef_, rtol=1e-8)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_)
    assert weighted.log_likelihood_ == pytest.approx(repeated.log_likelihood_)


def test_several_targets_are_fitted_at_once(table, rng):
    X, y = table
    Y = np.column_stack([y, rng.standard_normal(80)])
    model = LinearRegression().fit(X, Y)
    for column in range(2):
        assert_allclose(model.coef_[column], LinearRegression().fit(X, Y[:, column]).coef_)
    assert model.predict(X).shape == (80, 2)
    assert model.covariance().shape == (5, 5, 2)
    assert LinearRegression().fit(X, y[:, None]).predict(X).shape == (80, 1)


def test_sparse_rows_give_the_dense_result(rng):
    X = sparse.random(300, 8, density=0.3, random_state=np.random.RandomState(0), format="csr")
    y = rng.standard_normal(300)
    for solver in ("auto", "qr", "conjugate_gradient"):
        sparse_fit = LinearRegression(solver=solver, tol=1e-13).fit(X, y)
        dense_fit = LinearRegression().fit(X.toarray(), y)
        assert_allclose(sparse_fit.coef_, dense_fit.coef_, atol=1e-9)
        assert_allclose(sparse_fit.predict(X), dense_fit.predict(X.toarray()), atol=1e-9)
        assert sparse_fit.certify(X, y).holds


def test_float32_stays_float32(table):
    X, y = table
    model = LinearRegression().fit(X.astype(np.float32), y.astype(np.float32))
    assert model.coef_.dtype == np.float32
    assert model.predict(X.astype(np.float32)).dtype == np.float32
    assert model.certify(X.astype(np.float32), y.astype(np.float32)).holds
    assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_, atol=1e-3)


def test_result_does_not_depend_on_threads(rng):
    X, y = rng.standard_normal((20_000, 12)), rng.standard_normal(20_000)
    with threads(1):
        one = LinearRegression().fit(X, y)
    with threads(3):
        three = LinearRegression().fit(X, y)
    assert np.array_equal(one.coef_, three.coef_)
    assert one.intercept_ == three.intercept_


def test_columns_by_name(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcde")).assign(price=y, copies=1.0)
    model = LinearRegression().fit(frame, "price", sample_weight="copies")
    assert list(model.feature_names_in_) == list("abcde")
    assert_allclose(model.coef_, LinearRegression().fit(X, y).coef_)
    assert model.score(frame[list("abcde")], y) > 0.99
    with pytest.raises(ValueError, match="no column 'cost'"):
        LinearRegression().fit(frame, "cost")


def test_it_lives_inside_scikit_learn():
    X, y = diabetes(return_X_y=True)
    scores = cross_val_score(make_pipeline(StandardScaler(), LinearRegression()), X, y, cv=5)
    assert scores.mean() == pytest.approx(0.4823, abs=1e-3)


@settings(max_examples=25, deadline=None)
@given(st.integers(1, 40), st.integers(1, 6), st.booleans(), st.integers(0, 2**32 - 1))
def test_any_small_table_is_certified(n, d, fit_intercept, seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(-3, 4, size=(n, d)).astype(float)
    y = rng.integers(-9, 10, size=n).astype(float)
    model = LinearRegression(fit_intercept=fit_intercept).fit(X, y)
    assert model.certificates_.holds
    assert model.certify(X, y).holds
    reference = np.linalg.lstsq(np.column_stack([X, np.full(n, float(fit_intercept))]), y, rcond=None)[0]
    fitted = X @ reference[:-1] + reference[-1] * fit_intercept
    assert_allclose(model.predict(X), fitted, atol=1e-7)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda X, y: (np.where(X > 100.5, np.nan, X), y), "NaN"),
        (lambda X, y: (np.where(X > 100.5, np.inf, X), y), "infinity"),
        (lambda X, y: (X, np.where(y > y.mean(), np.nan, y)), "NaN"),
        (lambda X, y: (X[:0], y[:0]), "0 sample"),
        (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
        (lambda X, y: (X[:, 0], y), "Expected 2D array"),
        (lambda X, y: (np.full(X.shape, "red"), y), "could not convert string to float"),
        (lambda X, y: (X * 1e200, y), "too large"),
    ],
)
def test_bad_tables_are_refused_in_one_sentence(table, change, sentence):
    X, y = change(*table)
    with pytest.raises(ValueError, match=sentence) as refusal:
        LinearRegression().fit(X, y)
    if "2D array" not in sentence:  # scikit-learn's own words, which its checks ask for
        assert "\n" not in str(refusal.value)


def test_nan_in_a_large_table_is_found_by_the_walk_itself(rng):
    X, y = rng.standard_normal((60_000, 6)), rng.standard_normal(60_000)
    X[41_000, 2] = np.nan
    with pytest.raises(ValueError, match=r"Input X contains NaN \(1 values\)"):
        LinearRegression().fit(X, y)
    X[41_000, 2], y[3] = 0.0, np.inf
    with pytest.raises(ValueError, match="Input y contains infinity"):
        LinearRegression().fit(X, y)


@pytest.mark.parametrize("weighted", [False, True])
def test_nan_on_disk_is_found_whoever_looks(rng, tmp_path, weighted):
    X = rng.standard_normal((500, 3))
    X[3, 1] = np.nan
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="X contains NaN"):
        LinearRegression().fit(
            tmp_path / "rows.npy", X[:, 0], sample_weight=np.ones(500) if weighted else None
        )


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (-1.0, "at least 0"),
        (np.nan, "NaN"),
        ([1.0], "one-dimensional with 80 entries"),
        (0.0, "All sample weights are zero"),
    ],
)
def test_bad_weights_are_refused(table, weight, sentence):
    X, y = table
    weights = np.full(80, weight) if np.isscalar(weight) else weight
    with pytest.raises(ValueError, match=sentence):
        LinearRegression().fit(X, y, sample_weight=weights)


def test_one_row_and_constant_columns_are_no_accident():
    one = LinearRegression().fit([[1.0, 2.0]], [3.0])
    assert one.predict([[5.0, 5.0]]) == pytest.approx(3.0)
    assert one.noise_variance_ is None
    X = np.column_stack([np.arange(10.0), np.full(10, 1e8 / 3)])
    constant = LinearRegression().fit(X, 2 * np.arange(10.0))
    assert_allclose(constant.coef_, [2, 0], atol=1e-9)
    assert constant.rank_ == 1


def test_unknown_solver_is_refused(table):
    with pytest.raises(
        ValueError, match=r"'solver' parameter of LinearRegression must be one of 'auto'.*Got 'magic'"
    ):
        LinearRegression(solver="magic").fit(*table)
