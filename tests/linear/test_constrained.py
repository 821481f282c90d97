"""Explicit control of complexity: coefficients in a subspace, and columns left out."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import linalg

from assay.linear import (
    ColumnDroppingRegression,
    ConstrainedRegression,
    LinearRegression,
    PolynomialMap,
    PolynomialRegression,
)


@pytest.fixture
def table(rng):
    X = rng.standard_normal((80, 4)) + [0, 3, 0, 1]
    return X, X @ [1.0, 2.0, -1.0, 0.5] + 2 + 0.3 * rng.standard_normal(80)


@pytest.fixture
def collinear(table):
    X, y = table
    return np.column_stack([X, X[:, 0] + X[:, 1], 2 * X[:, 2]]), y


# Coefficients in a subspace


@pytest.mark.spec("rudi/M1.13")
def test_coefficients_in_a_subspace_are_least_squares_on_xb(table, rng):
    X, y = table
    basis = rng.standard_normal((4, 2))
    model = ConstrainedRegression(basis).fit(X, y)
    plain = LinearRegression().fit(X @ basis, y)
    assert_allclose(model.coef_, basis @ plain.coef_, atol=1e-10)
    assert model.intercept_ == pytest.approx(plain.intercept_)
    assert model.restricts_
    assert model.rank_ == 2
    assert_allclose(model.basis_.T @ model.basis_, np.eye(2), atol=1e-12)
    weight = np.linspace(0, 2, 80)
    weighted = ConstrainedRegression(basis).fit(X, y, sample_weight=weight)
    expected = basis @ LinearRegression().fit(X @ basis, y, sample_weight=weight).coef_
    assert_allclose(weighted.coef_, expected, atol=1e-10)
    assert weighted.certify(X, y, sample_weight=weight).holds


@pytest.mark.spec("rudi/M1.13")
def test_without_a_constraint_it_is_the_solution_of_least_norm(collinear):
    X, y = collinear
    model = ConstrainedRegression(fit_intercept=False).fit(X, y)
    assert_allclose(model.coef_, np.linalg.pinv(X) @ y, atol=1e-10)
    assert not model.restricts_
    assert model.rank_ == 4
    kernel = linalg.null_space(X)
    assert_allclose(kernel.T @ model.basis_, 0, atol=1e-10)  # V = ker(X)^⊥


@pytest.mark.spec("rudi/M1.13")
def test_an_identifying_subspace_reaches_the_fit_of_least_squares(collinear):
    X, y = collinear
    identify = ConstrainedRegression(np.eye(6)[:, [0, 2, 3, 4]]).fit(X, y)  # columns 1 and 5 are left to zero
    assert not identify.restricts_
    assert_allclose(identify.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-9)
    assert_allclose(identify.coef_[[1, 5]], 0, atol=1e-12)


@pytest.mark.spec("rudi/M1.13")
def test_a_subspace_with_two_antecedents_is_refused_naming_the_direction(collinear):
    X, y = collinear
    with pytest.raises(
        ValueError, match=r"'basis' parameter .* X is injective .* direction \+1·x2 -0\.5·x5 to zero"
    ):
        ConstrainedRegression(np.eye(6)[:, [1, 2, 3, 5]]).fit(X, y)
    with pytest.raises(ValueError, match=r"'constraint_matrix' parameter .* sends its direction"):
        ConstrainedRegression(constraint_matrix=[[1.0, 0, 0, 0, 0, 0]]).fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_equations_are_solved_by_the_kkt_system(table, fit_intercept):
    X, y = table
    A, c = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, -1.0, 3.0]]), np.array([1.0, -2.0])
    model = ConstrainedRegression(constraint_matrix=A, constraint_value=c, fit_intercept=fit_intercept)
    model.fit(X, y)
    Z = np.column_stack([X, np.ones(80)]) if fit_intercept else X
    G = np.column_stack([A, np.zeros(2)]) if fit_intercept else A
    kkt = np.block([[Z.T @ Z, G.T], [G, np.zeros((2, 2))]])
    solution = np.linalg.solve(kkt, np.concatenate([Z.T @ y, c]))
    assert_allclose(model.coef_, solution[:4], atol=1e-9)
    assert_allclose(A @ model.coef_, c, atol=1e-10)
    if fit_intercept:
        assert model.intercept_ == pytest.approx(solution[4])
    assert model.certificates_.holds


def test_redundant_equations_are_fine_and_contradictions_are_refused(table):
    X, y = table
    twice = ConstrainedRegression(constraint_matrix=[[1.0, 1, 0, 0], [2.0, 2, 0, 0]]).fit(X, y)
    assert_allclose(twice.coef_, ConstrainedRegression(constraint_matrix=[[1.0, 1, 0, 0]]).fit(X, y).coef_)
    with pytest.raises(ValueError, match=r"'constraint_value' parameter .* reachable"):
        ConstrainedRegression(
            constraint_matrix=[[1.0, 1, 0, 0], [2.0, 2, 0, 0]], constraint_value=[1.0, 3.0]
        ).fit(X, y)


def test_equations_that_fix_everything_leave_the_intercept(table):
    X, y = table
    model = ConstrainedRegression(constraint_matrix=np.eye(4), constraint_value=[1.0, 2.0, -1.0, 0.5]).fit(
        X, y
    )
    assert_allclose(model.coef_, [1.0, 2.0, -1.0, 0.5])
    assert model.intercept_ == pytest.approx(np.mean(y - X @ model.coef_))
    assert model.certificates_.holds


def test_leverage_is_of_the_projection_on_xv(table):
    X, y = table
    basis = np.eye(4)[:, :2]
    model = ConstrainedRegression(basis).fit(X, y)
    assert_allclose(model.leverage(X), LinearRegression().fit(X[:, :2], y).leverage(X[:, :2]), atol=1e-10)
    assert_allclose(model.hat_matrix(X) @ y, model.predict(X), atol=1e-9)


@pytest.mark.parametrize("damage", ["coef_", "intercept_"])
def test_certificates_name_what_is_wrong(table, damage):
    X, y = table
    model = ConstrainedRegression(np.eye(4)[:, :2]).fit(X, y)
    setattr(model, damage, getattr(model, damage) + 0.1)
    failed = {certificate.quantity for certificate in model.certify(X, y).failed}
    assert "relative gradient along the subspace" in failed
    assert ("relative distance from the constraint" in failed) == (damage == "coef_")


@pytest.mark.parametrize(
    ("parameters", "name"),
    [
        ({"basis": np.eye(3)}, "basis"),
        ({"basis": [1.0, 2.0]}, "basis"),
        ({"basis": [[np.nan]] * 4}, "basis"),
        ({"basis": np.eye(4), "constraint_matrix": np.eye(4)}, "basis"),
        ({"constraint_matrix": np.eye(3)}, "constraint_matrix"),
        ({"constraint_value": [1.0]}, "constraint_value"),
        ({"constraint_matrix": [[1.0, 0, 0, 0]], "constraint_value": [1.0, 2.0]}, "constraint_value"),
    ],
)
def test_constraints_of_the_wrong_shape_are_refused(table, parameters, name):
    with pytest.raises(ValueError, match=f"The '{name}' parameter of ConstrainedRegression must be"):
        ConstrainedRegression(**parameters).fit(*table)


def test_several_targets_share_the_subspace(table, rng):
    X, y = table
    Y = np.column_stack([y, rng.standard_normal(80)])
    both = ConstrainedRegression(np.eye(4)[:, :3]).fit(X, Y)
    for k in range(2):
        alone = ConstrainedRegression(np.eye(4)[:, :3]).fit(X, Y[:, k])
        assert_allclose(both.coef_[k], alone.coef_, atol=1e-12)


# Columns left out


@pytest.mark.spec("rudi/M1.12")
@pytest.mark.parametrize("keep", ["pivot", "first"])
def test_dropping_columns_keeps_the_fitted_values_of_least_norm(collinear, keep):
    X, y = collinear
    model = ColumnDroppingRegression(keep).fit(X, y)
    assert model.rank_ == 4 == np.linalg.matrix_rank(X - X.mean(axis=0))
    assert_allclose(model.predict(X), LinearRegression().fit(X, y).predict(X), atol=1e-9)
    assert np.all(model.coef_[model.dropped_] == 0)
    assert sorted([*model.kept_, *model.dropped_]) == list(range(6))
    centred = X - X.mean(axis=0)
    assert_allclose(centred[:, model.kept_] @ model.combinations_.T, centred[:, model.dropped_], atol=1e-9)
    alone = LinearRegression().fit(X[:, model.kept_], y)
    assert_allclose(model.coef_[model.kept_], alone.coef_, atol=1e-9)


@pytest.mark.spec("rudi/M1.12")
def test_the_first_columns_stay_when_asked(collinear):
    X, y = collinear
    assert ColumnDroppingRegression("first").fit(X, y).kept_.tolist() == [0, 1, 2, 3]
    assert ColumnDroppingRegression("first").fit(X[:, ::-1], y).kept_.tolist() == [0, 1, 2, 4]


def test_an_independent_table_loses_nothing_and_a_constant_column_only_with_an_intercept(table):
    X, y = table
    full = ColumnDroppingRegression().fit(X, y)
    assert full.dropped_.size == 0
    assert_allclose(full.coef_, LinearRegression().fit(X, y).coef_, atol=1e-10)
    ones = np.column_stack([X, np.full(80, 7.0)])
    assert ColumnDroppingRegression().fit(ones, y).dropped_.tolist() == [4]
    without = ColumnDroppingRegression(fit_intercept=False).fit(ones, y)
    assert without.dropped_.size == 0
    assert 7 * without.coef_[4] == pytest.approx(full.intercept_)


@pytest.mark.spec("rudi/M1.12")
def test_reducing_the_degree_makes_polynomials_injective(rng):
    x = np.repeat(rng.uniform(-1, 1, 8), 5)[:, None]  # eight distinct points determine degree 7
    y = np.sin(3 * x[:, 0]) + 0.1 * rng.standard_normal(40)
    powers = PolynomialMap(12).fit_transform(x)
    dropped = ColumnDroppingRegression("first", tol=1e-8).fit(powers, y)
    assert dropped.kept_.tolist() == list(range(7))
    reduced = PolynomialRegression(7).fit(x, y)
    assert_allclose(dropped.predict(powers), reduced.predict(x), atol=1e-6)
    assert reduced.rank_ == 7


def test_a_dropped_column_that_was_needed_fails_its_certificate(table):
    X, y = table
    model = ColumnDroppingRegression().fit(X, y)
    model.kept_, model.dropped_ = np.array([0, 1, 2]), np.array([3])
    model.combinations_ = np.zeros((1, 3))
    found = model.certify(X, y)
    assert not found.named("largest relative distance of a dropped column").holds
    careless = ColumnDroppingRegression(tol=0.999).fit(X, y)  # takes nearly everything for dependent
    assert careless.rank_ < 4
    assert not careless.certificates_.holds


def test_more_columns_than_rows_keep_at_most_the_rows(rng):
    X, y = rng.standard_normal((6, 20)), rng.standard_normal(6)
    for keep in ("pivot", "first"):
        model = ColumnDroppingRegression(keep, fit_intercept=False).fit(X, y)
        assert model.rank_ == 6
        assert_allclose(model.predict(X), y, atol=1e-9)
        assert model.certificates_.holds


@pytest.mark.parametrize("kind", [ConstrainedRegression, ColumnDroppingRegression])
def test_scales_and_constants_are_survived(kind, table):
    X, y = table
    scales = np.array([1e8, 1e-8, 1.0, 1e3])
    assert_allclose(kind().fit(X * scales, y).predict(X * scales), kind().fit(X, y).predict(X), atol=1e-7)
    constant = kind().fit(np.ones((10, 3)), y[:10])
    assert_allclose(constant.predict(np.ones((2, 3))), y[:10].mean())
    assert kind().fit(X[:1], y[:1]).predict(X[:1])[0] == pytest.approx(y[0])
    with pytest.raises(ValueError, match="weight"):
        kind().fit(X, y, sample_weight=np.zeros(80))
    with pytest.raises(ValueError, match="0 sample"):
        kind().fit(X[:0], y[:0])
