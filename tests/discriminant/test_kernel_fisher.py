"""Kernel Fisher discriminant: corrected scatter, the linear kernel, the span argument."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from assay.datasets import GaussianClasses
from assay.discriminant import FisherDiscriminant, KernelFisherDiscriminant
from assay.discriminant.fisher.kernel_solver import kernel_quotient, kernel_scatter


@pytest.fixture
def unbalanced():
    """Unequal covariances and sizes: there the missing 1/n_k matters."""
    law = GaussianClasses(
        [[0.0, 0.0], [1.5, -1.5]], [np.diag([6.0, 0.2]), np.diag([0.2, 6.0])], [0.3, 0.7], classes=[-1, 1]
    )
    return law.sample(90, random_state=4)


def cosine(first, second):
    return first @ second / np.linalg.norm(first) / np.linalg.norm(second)


@pytest.mark.spec("sangnier/M-1.1.4-a")
def test_the_matrices_are_those_of_the_course_with_the_missing_factor(unbalanced):
    X, y = unbalanced
    K = np.exp(-0.5 * ((X[:, None] - X) ** 2).sum(axis=2))
    codes = (y > 0).astype(int)
    scatter = kernel_scatter(K, codes, np.ones(len(y)), as_printed=False)
    step, within = np.zeros(len(y)), np.zeros((len(y), len(y)))
    for k, sign in ((0, -1), (1, 1)):
        own = np.flatnonzero(codes == k)
        H = np.eye(len(own)) - 1 / len(own)
        within += len(own) / len(y) * K[:, own] @ H @ K[:, own].T / len(own)
        step += sign * K[own].mean(axis=0)
    assert_allclose(scatter.within, within, atol=1e-12)
    assert_allclose(scatter.step, step, atol=1e-12)
    assert np.linalg.matrix_rank(within, hermitian=True) <= len(y) - 2  # the printed inverse never exists
    model = KernelFisherDiscriminant(gamma=0.5, reg=1e-3, regulariser="identity").fit(X, y)
    assert_allclose(model.dual_coef_, np.linalg.solve(within + 1e-3 * np.eye(len(y)), step), rtol=1e-6)
    ridge = KernelFisherDiscriminant(gamma=0.5, reg=0.1).fit(X, y)
    h = K @ ridge.dual_coef_
    # As a function: (C_w + μ) h = m₁ − m₀ in the Hilbert space, tested against every k(x_j, ·).
    assert_allclose(within @ ridge.dual_coef_ + 0.1 * h, step, atol=1e-8)
    assert_allclose(ridge.projections_, h, atol=1e-10)
    assert_allclose(ridge.decision_function(X), h + ridge.intercept_, atol=1e-10)
    assert ridge.condition_number_ > 1
    shares = np.bincount(codes) / len(y)
    variances = [h[codes == k].var() for k in (0, 1)]
    centers = np.array([h[codes == k].mean() for k in (0, 1)])
    quotient = shares @ (centers - shares @ centers) ** 2 / (shares @ variances)
    assert_allclose(ridge.rayleigh_quotient_, quotient)
    assert_allclose(ridge.intercept_, -centers.mean())


@pytest.mark.spec("sangnier/T-1.1.4-a")
def test_the_linear_kernel_gives_fishers_direction_back(unbalanced):
    X, y = unbalanced
    w = X.T @ KernelFisherDiscriminant("linear", reg=0.0).fit(X, y).dual_coef_
    assert_allclose(cosine(w, FisherDiscriminant().fit(X, y).components_[0]), 1.0, atol=1e-9)


@pytest.mark.spec("sangnier/M-1.1.4-a")
def test_the_printed_scatter_is_not_fisher_on_unbalanced_classes(unbalanced):
    X, y = unbalanced
    w = X.T @ KernelFisherDiscriminant("linear", reg=0.0, scatter="as_printed").fit(X, y).dual_coef_
    assert cosine(w, FisherDiscriminant().fit(X, y).components_[0]) < 0.999


@pytest.mark.spec("sangnier/T-1.1.4-b")
def test_a_component_outside_the_span_of_the_rows_adds_nothing():
    """φ of the quadratic kernel in four dimensions, rows that span three of them."""
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=40), np.ones(40)])
    X[:20, 0] += 1.0
    y = np.repeat([0, 1], 20)
    phi = np.column_stack([X[:, 0] ** 2, X[:, 1] ** 2, X[:, 0] * X[:, 1], X[:, 0] * X[:, 1]])
    means = np.array([phi[y == k].mean(0) for k in (0, 1)])
    within = 0.5 * sum(np.cov(phi[y == k].T, bias=True) for k in (0, 1))

    def quotient(w):
        return 0.25 * (w @ (means[1] - means[0])) ** 2 / (w @ within @ w)

    outside = np.array([0.0, 0.0, 1.0, -1.0])
    assert_allclose(phi @ outside, 0.0, atol=1e-12)  # orthogonal to every φ(X_i)
    alpha = random.normal(size=40)
    inside = phi.T @ alpha
    assert_allclose(quotient(inside + 3 * outside), quotient(inside))
    assert outside @ (means[1] - means[0]) == pytest.approx(0.0)  # its own numerator is 0
    K = phi @ phi.T
    assert_allclose(
        kernel_quotient(alpha, kernel_scatter(K, y, np.ones(40), as_printed=False)), quotient(inside)
    )


def test_moons_are_told_apart_and_the_cut_is_the_best():
    X, y = make_moons(200, noise=0.15, random_state=0)
    model = KernelFisherDiscriminant(gamma=2.0, rule="optimal_threshold").fit(X, y)
    assert model.score(X, y) > 0.97
    h = model.projections_
    best = min(np.mean((h > t) != y) for t in np.concatenate([h - 1e-9, h + 1e-9]))
    assert_allclose(np.mean(model.predict(X) != y), best)
    assert model.certify(X, y).holds
    moved = model.certify(X, np.roll(y, 1))
    assert not moved.holds


def test_a_precomputed_kernel_gives_the_same_scores():
    X, y = make_moons(60, noise=0.15, random_state=0)
    K = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    given = KernelFisherDiscriminant("precomputed").fit(K, y)
    made = KernelFisherDiscriminant(gamma=1.0).fit(X, y)
    assert_allclose(given.decision_function(K), made.decision_function(X), atol=1e-8)


def test_more_than_two_classes_are_refused():
    with pytest.raises(ValueError, match="Only binary classification"):
        KernelFisherDiscriminant().fit(np.eye(6), [0, 0, 1, 1, 2, 2])
