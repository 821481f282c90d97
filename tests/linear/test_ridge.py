"""Ridge: both forms, both scales, the path, the certificates."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn import linear_model
from sklearn.model_selection import LeaveOneOut, cross_val_predict

from assay.datasets import diabetes
from assay.linear import LinearRegression, Ridge
from assay.linear.least_squares.ridge import ridge_solutions, solutions_along
from assay.rows import rows


@pytest.fixture
def table(rng):
    X = rng.standard_normal((60, 4)) + [0, 5, -3, 1]
    return X, X @ [1.0, -1.0, 2.0, 0.0] + rng.standard_normal(60)


@pytest.mark.spec("rudi/M1.14", "wei/M6.4", "peyre/M8", "douc/M6.5")
def test_coefficients_are_the_closed_form_on_both_scales(table):
    X, y = table
    closed = np.linalg.solve(X.T @ X + 3.0 * np.eye(4), X.T @ y)
    by_sum = Ridge(alpha=3.0, fit_intercept=False).fit(X, y)
    by_mean = Ridge(penalty_strength=3.0 / 60, fit_intercept=False).fit(X, y)
    assert_allclose(by_sum.coef_, closed)
    assert_allclose(by_mean.coef_, closed)
    assert by_mean.alpha_ == pytest.approx(3.0)
    assert by_sum.penalty_strength_ == pytest.approx(0.05)


@pytest.mark.spec("wei/M6.4", "peyre/M8", "peyre/T4")
@pytest.mark.parametrize("shape", [(60, 4), (6, 40)])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_primal_and_dual_forms_agree(rng, shape, fit_intercept):
    X, y = rng.standard_normal(shape), rng.standard_normal(shape[0])
    primal = Ridge(0.7, solver="cholesky", fit_intercept=fit_intercept).fit(X, y)
    dual = Ridge(0.7, solver="dual", fit_intercept=fit_intercept).fit(X, y)
    chosen = Ridge(0.7, fit_intercept=fit_intercept).fit(X, y)
    assert_allclose(primal.coef_, dual.coef_, atol=1e-10)
    assert_allclose(primal.intercept_, dual.intercept_, atol=1e-10)
    assert chosen.solver_ == ("cholesky" if shape[0] > shape[1] else "dual")
    if not fit_intercept:
        woodbury = X.T @ np.linalg.solve(X @ X.T + 0.7 * np.eye(shape[0]), y)
        assert_allclose(dual.coef_, woodbury, atol=1e-10)
        x = rng.standard_normal(shape[1])  # prediction yᵀ(XXᵀ + αI)⁻¹Xx
        prediction = y @ np.linalg.solve(X @ X.T + 0.7 * np.eye(shape[0]), X @ x)
        assert dual.predict(x[None])[0] == pytest.approx(prediction)


@pytest.mark.parametrize(
    "solver", ["auto", "cholesky", "qr", "dual", "gradient_descent", "conjugate_gradient"]
)
def test_every_solver_gives_scikit_learns_coefficients(table, solver):
    X, y = table
    weight = np.linspace(0, 2, 60)
    ours = Ridge(2.0, solver=solver, tol=1e-13).fit(X, y, sample_weight=weight)
    theirs = linear_model.Ridge(2.0).fit(X, y, sample_weight=weight)
    assert_allclose(ours.coef_, theirs.coef_, atol=1e-8)
    assert ours.intercept_ == pytest.approx(theirs.intercept_)
    assert ours.certificates_.holds
    assert ours.certify(X, y, sample_weight=weight).holds


@pytest.mark.spec("wei/M6.4")
def test_duality_gap_is_zero_at_the_solution_and_grows_with_damage(table):
    X, y = table
    model = Ridge(2.0, fit_intercept=False).fit(X, y)
    assert 0 <= model.dual_gap_ < 1e-12
    for size in (1e-3, 1e-2, 1e-1):
        damaged = Ridge(2.0, fit_intercept=False).fit(X, y)
        damaged.coef_ = damaged.coef_ + size
        found = damaged.certify(X, y).named("relative duality gap")
        assert not found.holds
        residual = y - X @ damaged.coef_
        primal = residual @ residual / 2 + damaged.coef_ @ damaged.coef_
        dual = -residual @ residual / 2 + residual @ y - np.sum((X.T @ residual) ** 2) / 4
        assert found.value == pytest.approx((primal - dual) / primal, rel=1e-6)
        best = model.coef_
        minimum = np.sum((y - X @ best) ** 2) / 2 + best @ best
        assert primal - minimum <= primal - dual + 1e-9  # the gap bounds the true suboptimality


@pytest.mark.spec("rudi/M1.14", "douc/M6.5")
def test_path_from_one_decomposition_is_the_sequence_of_fits(table):
    X, y = table
    weight = np.linspace(0.5, 2, 60)
    alphas = np.geomspace(0.01, 100, 7)
    path = Ridge().path(X, y, alphas, sample_weight=weight)
    for index, alpha in enumerate(alphas):
        model = Ridge(alpha).fit(X, y, sample_weight=weight)
        assert_allclose(path.coef[index, 0], model.coef_, atol=1e-9)
        assert_allclose(path.intercept[index, 0], model.intercept_, atol=1e-9)
        assert path.effective_degrees_of_freedom[index] == pytest.approx(model.leverage(X, weight).sum())
    mean = np.average(X, axis=0, weights=weight)
    eigenvalues = np.linalg.eigvalsh((X - mean).T @ ((X - mean) * weight[:, None]))[::-1]
    assert_allclose(path.spectrum, eigenvalues)
    # Along each eigenvector least squares is shrunk by γ/(γ + α).
    vectors = np.linalg.eigh((X - mean).T @ ((X - mean) * weight[:, None]))[1][:, ::-1]
    free = LinearRegression().fit(X, y, sample_weight=weight).coef_ @ vectors
    shares = path.spectrum / (path.spectrum + alphas[:, None])
    assert_allclose(path.coef[:, 0] @ vectors, shares * free, atol=1e-9)
    expected = 1 + np.sum(eigenvalues / (eigenvalues + alphas[:, None]), axis=1)
    assert_allclose(path.effective_degrees_of_freedom, expected)
    assert_allclose(path.penalty_strengths * weight.sum(), alphas)


def test_leave_one_out_error_of_the_path_is_that_of_refitting(table):
    X, y = table
    path = Ridge().path(X, y, [0.1, 10.0])
    for index, alpha in enumerate(path.alphas):
        predicted = cross_val_predict(Ridge(alpha), X, y, cv=LeaveOneOut())
        assert path.leave_one_out_error[index] == pytest.approx(np.mean((y - predicted) ** 2))
    assert path.best_alpha == path.alphas[np.argmin(path.leave_one_out_error)]
    reference = linear_model.RidgeCV(alphas=path.alphas).fit(X, y)
    assert path.best_alpha == reference.alpha_


def test_default_grid_finds_an_inner_minimum_on_diabetes():
    X, y = diabetes(return_X_y=True)
    path = Ridge().path(X, y)
    assert path.alphas[0] < path.best_alpha < path.alphas[-1]


@pytest.mark.spec("rudi/T1.10")
def test_vanishing_penalty_tends_to_least_squares_of_least_norm(rng):
    X = rng.standard_normal((40, 3))
    y = rng.standard_normal(40)
    assert_allclose(Ridge(1e-9).fit(X, y).coef_, LinearRegression().fit(X, y).coef_, atol=1e-9)
    collinear = np.column_stack([X, X[:, 0]])
    least_norm = LinearRegression().fit(collinear, y)
    assert least_norm.rank_ == 3
    for alpha in (1e-4, 1e-6):
        assert_allclose(Ridge(alpha).fit(collinear, y).coef_, least_norm.coef_, atol=10 * alpha)
    at_zero = Ridge(0.0).fit(collinear, y)
    assert_allclose(at_zero.coef_, least_norm.coef_, atol=1e-10)
    assert "rank 3 of 4" in at_zero.certificates_[1].claim


def test_one_penalty_a_target(table, rng):
    X, y = table
    Y = np.column_stack([y, rng.standard_normal(60)])
    model = Ridge([0.1, 10.0]).fit(X, Y)
    assert_allclose(model.coef_, linear_model.Ridge([0.1, 10.0]).fit(X, Y).coef_)
    assert_allclose(model.alpha_, [0.1, 10.0])
    with pytest.raises(ValueError, match="array of 2 numbers"):
        Ridge([0.1, 1.0, 10.0]).fit(X, Y)


def test_smoother_matrix_shrinks_between_nothing_and_projection(table):
    X, y = table
    model = Ridge(5.0).fit(X, y)
    hat = model.hat_matrix(X)
    assert_allclose(hat @ y, model.predict(X), atol=1e-9)
    values = np.linalg.eigvalsh(hat)
    assert values.min() > -1e-12
    assert values.max() < 1 + 1e-12


@pytest.mark.parametrize("alpha", [-1.0, np.nan, "much", None, [1.0, -2.0]])
def test_bad_penalties_are_refused(table, alpha):
    with pytest.raises(ValueError, match="'alpha' parameter of Ridge must be a finite number at least 0"):
        Ridge(alpha).fit(*table)


def test_the_dual_form_needs_a_penalty(table):
    with pytest.raises(ValueError, match="above 0 with solver='dual'"):
        Ridge(0.0, solver="dual").fit(*table)
    with pytest.raises(ValueError, match=r"'alphas' parameter of Ridge\.path must be"):
        Ridge().path(*table, alphas=[0.0])


def test_descent_keeps_the_objective_when_asked(table):
    X, y = table
    model = Ridge(5.0, solver="gradient_descent", fit_intercept=False, history=True).fit(X, y)
    assert np.all(np.diff(model.history_) <= 1e-12)
    objective = np.mean((y - X @ model.coef_) ** 2) + 5.0 / len(X) * model.coef_ @ model.coef_
    assert model.history_[-1] == pytest.approx(objective)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("strengths", [None, [1e-3, 2.0], [1e-12]], ids=["own grid", "given", "no squares"])
def test_solutions_of_a_wide_table_are_those_of_its_decomposition(rng, fit_intercept, strengths):
    """Products of rows serve where the penalties leave them their digits; scikit-learn solves each alone."""
    X, weight = rng.normal(size=(20, 45)) * np.geomspace(1, 1e-3, 45), rng.uniform(0.5, 2, 20)
    X[10:] = X[:10] + 1e-6 * X[10:]  # whose squares are lost beside those of the sums
    Y = rng.normal(size=(20, 2)) + 3
    data = rows(X, Y, weight)
    quick = solutions_along(data, strengths, fit_intercept=fit_intercept)
    exact = ridge_solutions(data, strengths, fit_intercept=fit_intercept)[0]
    assert_allclose(quick.alphas, exact.alphas, rtol=1e-12)
    assert_allclose(quick.coef, exact.coef, atol=1e-9 * np.abs(exact.coef).max())
    assert_allclose(quick.intercept, exact.intercept, atol=1e-9 * np.abs(exact.coef).max())
    peer = linear_model.Ridge(quick.alphas[-1], fit_intercept=fit_intercept, solver="svd").fit(X, Y, weight)
    assert_allclose(quick.coef[-1], peer.coef_, atol=1e-6 * np.abs(peer.coef_).max())
