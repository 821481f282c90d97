"""Bad input, machine by machine: an answer that is right, or one sentence that says what is wrong."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.exceptions import ConvergenceWarning

from assay.kernel_machines import (
    SVC,
    SVR,
    HardMarginSVC,
    KernelERM,
    KernelLogisticRegression,
    KernelQuantileRegressor,
    KernelRidge,
)
from assay.kernels import Exponential, Gaussian, Geometric, Sigmoid, check_psd

CLASSIFIERS = [SVC, HardMarginSVC, KernelLogisticRegression]
REGRESSORS = [SVR, KernelQuantileRegressor, KernelERM, KernelRidge]
MACHINES = CLASSIFIERS + REGRESSORS
WITH_COST = [kind for kind in MACHINES if "C" in kind().get_params()]
each_machine = pytest.mark.parametrize("kind", MACHINES, ids=lambda kind: kind.__name__)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 2))
    return X, (X[:, 0] + 0.5 * rng.normal(size=40) > 0).astype(int), np.sin(2 * X[:, 0])


def target_of(kind, table):
    return table[1] if is_classifier(kind()) else table[2]


@each_machine
def test_an_indefinite_kernel_is_refused_and_check_psd_gives_what_refutes_it(kind, table):
    X, y = table[0], target_of(kind, table)
    sigmoid = Sigmoid(gamma=1.0, coef0=-1.0)
    with pytest.raises(ValueError, match=r"not positive semi-definite: vᵀKv = -.*check_psd"):
        kind(kernel=sigmoid).fit(X, y)
    matrix = X @ X.T - 5 * np.eye(40)
    with pytest.raises(ValueError, match="precomputed kernel is not positive semi-definite"):
        kind(kernel="precomputed").fit(matrix, y)
    verdict = check_psd(sigmoid, X)
    assert not verdict
    v, points = verdict.vector, verdict.points
    assert v @ sigmoid.gram(points) @ v < -1e-3


@each_machine
def test_precomputed_matrices_must_be_square_symmetric_and_as_wide_as_the_rows_of_the_fit(kind, table):
    X, y = table[0], target_of(kind, table)
    gram = Gaussian(20.0).gram(X)
    skew = gram.copy()
    skew[0, 1] += 0.5
    with pytest.raises(ValueError, match="precomputed kernel is not symmetric"):
        kind(kernel="precomputed").fit(skew, y)
    with pytest.raises(ValueError, match="must be a square matrix"):
        kind(kernel="precomputed").fit(gram[:, :30], y)
    model = kind(kernel="precomputed").fit(gram, y)
    with pytest.raises(ValueError, match="X has 30 features"):
        model.predict(gram[:3, :30])
    assert model.predict(gram[:3]).shape == (3,)


@pytest.mark.parametrize("kind", CLASSIFIERS, ids=lambda kind: kind.__name__)
def test_one_class_is_refused_and_equal_rows_of_both_have_no_hard_margin(kind, table):
    X, _, _ = table
    with pytest.raises(ValueError, match="at least two classes"):
        kind().fit(X, np.ones(40))
    rows, labels = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 1.0]]), [0, 1, 1]
    if kind is HardMarginSVC:
        with pytest.raises(ValueError, match="no hyperplane has a margin above 0"):
            kind().fit(rows, labels)
    else:
        assert kind().fit(rows, labels).certify(rows, labels).holds


@pytest.mark.parametrize("kind", WITH_COST, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize("C", [0.0, np.inf, -1.0, np.nan])
def test_costs_that_are_no_costs_are_refused(kind, C, table):
    with pytest.raises(ValueError, match=f"'C' parameter of {kind.__name__} must be a finite number above 0"):
        kind(C=C).fit(table[0], target_of(kind, table))


def fitted(model, X, y):
    """The fit, whose gap tells how close its minimum is known to be."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model.fit(X, y)
    assert model.certificates_[0].holds == (model.dual_gap_ <= model.certificates_[0].bound)
    return model


def test_a_cost_of_a_million_million_is_the_hard_margin(table):
    # Slacks of the last digit times the cost are no gap that rounding can close: its certificate may fail.
    X, y, target = table
    soft, hard = fitted(SVC(C=1e12, gamma=1.0), X, y), HardMarginSVC(gamma=1.0).fit(X, y)
    assert soft.rkhs_norm_ == pytest.approx(hard.rkhs_norm_, rel=1e-6)
    np.testing.assert_allclose(soft.decision_function(X), hard.decision_function(X), atol=1e-5)
    inside = fitted(SVR(C=1e12, gamma=1.0, epsilon=0.1), X, target)
    assert np.abs(inside.predict(X) - target).max() <= 0.1 * (1 + 1e-6)
    logistic = KernelLogisticRegression(C=1e12, gamma=1.0).fit(X, y)
    assert logistic.certify(X, y).holds
    assert logistic.score(X, y) == 1.0
    for model in (KernelERM(C=1e12), KernelQuantileRegressor(C=1e12)):
        np.testing.assert_allclose(fitted(model, X, target).predict(X), target, atol=0.05)


def test_where_all_rows_are_at_their_bound_the_intercept_has_an_interval(table):
    X, y = table[0][:20], np.repeat([0, 1], 10)
    model = SVC(C=1e-3, gamma=1.0).fit(X, y)
    np.testing.assert_array_equal(np.abs(model.dual_coef_), 1e-3)
    low, high = model.intercept_interval_[0]
    assert high - low > 1.9
    assert model.certify(X, y).holds
    signs, values = 2 * y - 1, model.decision_function(X) - model.intercept_

    def loss(b):
        return np.maximum(0, 1 - signs * (values + b)).sum()

    inside, least = np.linspace(low, high, 7), loss(model.intercept_)
    np.testing.assert_allclose([loss(b) for b in inside], least, atol=1e-9)
    assert min(loss(low - 0.01), loss(high + 0.01)) > least + 1e-3


@each_machine
def test_two_rows_and_constant_columns(kind, table):
    X = table[0][:2]
    model = kind().fit(X, [0, 1])
    assert model.certify(X, [0, 1]).holds
    if is_classifier(model):
        np.testing.assert_array_equal(model.predict(X), [0, 1])
    same, y = np.ones((40, 3)), target_of(kind, table)
    if kind is HardMarginSVC:
        with pytest.raises(ValueError, match="no hyperplane has a margin above 0"):
            kind().fit(same, y)
        return
    scale = {} if kind is KernelRidge else {"gamma": "scale"}  # 1/(d · 0): taken as 1
    model = kind(**scale).fit(same, y)
    assert model.certify(same, y).holds
    assert len(np.unique(model.predict(same))) == 1
    if scale:
        assert model.kernel_ == Gaussian(1.0)


def test_a_tube_wider_than_the_targets_holds_no_support_vector(table):
    X, _, y = table
    model = SVR(epsilon=100.0).fit(X, y)
    assert len(model.support_) == 0
    assert model.rkhs_norm_ == 0
    np.testing.assert_allclose(model.intercept_interval_[0], [y.max() - 100, y.min() + 100], atol=1e-12)
    assert model.certify(X, y).holds


@each_machine
def test_kernels_outside_their_domain_and_beyond_floats_are_refused(kind, table):
    X, y = table[0], target_of(kind, table)
    with pytest.raises(ValueError, match="Geometric kernel needs rows of norm below 1"):
        kind(kernel=Geometric()).fit(X, y)
    inside = kind(kernel=Geometric() + 1e-3 * Gaussian(30.0)).fit(X / 10, y)
    with pytest.raises(ValueError, match="Geometric kernel needs rows of norm below 1"):
        inside.predict(X)
    with pytest.raises(ValueError, match="Exponential overflows"):
        kind(kernel=Exponential(1.0)).fit(100 * X, y)
    with pytest.raises(ValueError, match="Polynomial overflows"):
        kind(kernel="polynomial", degree=500, gamma=1.0).fit(100 * X, y)
    with pytest.raises(ValueError, match="Linear overflows"):
        kind(kernel="linear").fit(X.astype(np.float32) * np.float32(1e25), y)


@pytest.mark.parametrize(
    "kind", [SVC, SVR, HardMarginSVC, KernelQuantileRegressor], ids=lambda kind: kind.__name__
)
@pytest.mark.parametrize("n", [40, 900])
def test_a_cache_smaller_than_a_row_changes_no_result(kind, n):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(n, 2))
    y = (X[:, 0] > 0.1).astype(int) if is_classifier(kind()) else np.sin(X[:, 0])
    options = {"gamma": 1.0} if n == 40 else {"gamma": 0.3, "C": 0.5}
    options = {name: value for name, value in options.items() if name in kind().get_params()}
    tight, roomy = kind(cache_size=1e-6, **options).fit(X, y), kind(**options).fit(X, y)
    np.testing.assert_allclose(tight.predict(X), roomy.predict(X), atol=1e-3)
    assert tight.certificates_.holds


@each_machine
def test_rows_of_weight_zero_are_absent_and_some_weight_is_needed(kind, table):
    X, y = table[0], target_of(kind, table)
    weight = np.ones(40)
    weight[::2] = 0
    with_zeros, without = kind().fit(X, y, sample_weight=weight), kind().fit(X[1::2], y[1::2])
    np.testing.assert_allclose(with_zeros.predict(X), without.predict(X), atol=1e-9)
    with pytest.raises(ValueError, match="sample_weight must be above 0 for at least one row"):
        kind().fit(X, y, sample_weight=np.zeros(40))


@each_machine
def test_sparse_rows_are_the_same_rows(kind, table):
    X, y = table[0] * (np.abs(table[0]) > 0.3), target_of(kind, table)
    if kind is HardMarginSVC:  # rows without an entry are equal
        keep = X.any(axis=1)
        X, y = X[keep], y[keep]
    dense, thin = kind().fit(X, y), kind().fit(sparse.csr_array(X), y)
    assert thin.certify(sparse.csr_array(X), y).holds
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-6)


def test_rows_too_large_for_coefficients_are_refused(table):
    with pytest.raises(ValueError, match="Coefficients leave the range of floats: the cost of a row"):
        KernelERM(kernel="linear").fit(1e100 * table[0], table[2])
    with pytest.raises(ValueError, match="sum of the Huber losses of y overflows"):
        KernelERM().fit(table[0][:2], [1e308, -1e308])


@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("penalty", ["rkhs", "l2", "l1"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_class_whose_rows_weigh_nothing_leaves_the_others_their_probabilities(
    n_classes, penalty, fit_intercept, table
):
    if penalty == "l1" and n_classes > 2:
        pytest.skip("l1 is for two classes")
    X, y = table[0], np.arange(40) % n_classes
    weight = (y != 1).astype(float)
    model = KernelLogisticRegression(C=3.0, penalty=penalty, fit_intercept=fit_intercept, gamma=1.0)
    model.fit(X, y, sample_weight=weight)
    assert model.classes_.tolist() == list(range(n_classes))
    assert model.certify(X, y, sample_weight=weight).holds
    chance = model.predict_proba(X)
    assert not (model.predict(X) == 1).any()
    if fit_intercept:
        assert chance[:, 1].max() < 1e-20
    if fit_intercept and n_classes == 4:  # of three classes there is the same softmax
        there = y != 1
        alone = KernelLogisticRegression(C=3.0, penalty=penalty, gamma=1.0).fit(X[there], y[there])
        np.testing.assert_allclose(np.delete(chance, 1, axis=1), alone.predict_proba(X), atol=1e-6)
    model.intercept_ = model.intercept_ - (60.0 if n_classes == 2 else np.arange(n_classes))
    assert not model.certify(X, y, sample_weight=weight).holds


def test_a_cost_without_limit_is_that_of_the_hard_margin(table):
    with pytest.raises(ValueError, match=r"above 0 .*; HardMarginSVC is that of C = ∞. Got inf instead"):
        SVC(C=np.inf).fit(table[0], table[1])
