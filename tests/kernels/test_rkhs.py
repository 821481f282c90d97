"""Functions of a reproducing kernel Hilbert space, and feature maps of given rows."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from assay.kernel_machines import KernelRidge
from assay.kernels import (
    ArcCosine,
    BernoulliSpline,
    Custom,
    EmpiricalFeatureMap,
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    RKHSFunction,
    Sigmoid,
    empirical_feature_map,
    minimum_norm_weights,
)

KERNELS = [
    Gaussian(0.6),
    Laplacian(0.6),
    Matern(2.5, 0.6),
    Polynomial(2, 0.5),
    Linear() + Gaussian(1.0),
    ArcCosine(1),
]
each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


@pytest.fixture
def X(rng):
    return rng.standard_normal((12, 2))


@pytest.mark.spec("sangnier/M-1.4.2-d", "wei/T6.5", "douc/M8.13")
@each_kernel
def test_values_sums_inner_products_and_norms_are_their_sums(kernel, X, rng):
    Z, points = rng.standard_normal((7, 2)), rng.standard_normal((5, 2))
    alpha, beta = rng.standard_normal(12), rng.standard_normal(7)
    f, g = RKHSFunction(alpha, X, kernel), RKHSFunction(beta, Z, kernel)

    def value(coef, rows, x):
        return sum(c * kernel.cross(row[None], x[None]).item() for c, row in zip(coef, rows, strict=True))

    at_f = np.array([value(alpha, X, x) for x in points])
    at_g = np.array([value(beta, Z, x) for x in points])
    assert np.allclose(f(points), at_f)
    assert np.allclose((f + g)(points), at_f + at_g)
    assert np.allclose((f - 2 * g)(points), at_f - 2 * at_g)
    assert np.allclose((-f / 4)(points), -at_f / 4)
    assert np.allclose((f + f)(points), 2 * at_f)
    assert (f + f).alpha.size == 12
    inner = sum(
        a * b * kernel.cross(x[None], z[None]).item()
        for a, x in zip(alpha, X, strict=True)
        for b, z in zip(beta, Z, strict=True)
    )
    assert f.inner(g) == pytest.approx(inner)
    assert g.inner(f) == pytest.approx(inner)
    assert f.norm_squared() == pytest.approx(alpha @ kernel.gram(X) @ alpha)
    assert f.norm() == pytest.approx(math.sqrt(alpha @ kernel.gram(X) @ alpha))
    assert f.distance(g) ** 2 == pytest.approx(f.norm() ** 2 - 2 * inner + g.norm() ** 2)
    assert abs(inner) <= f.norm() * g.norm() * (1 + 1e-12)  # Cauchy–Schwarz


@pytest.mark.spec("wei/T6.5", "sangnier/M-1.4.2-d", "sangnier/M-1.4.2-c", "wei/T6.1")
@each_kernel
def test_inner_products_with_canonical_features_are_values(kernel, X, rng):
    """⟨f, k(·, x)⟩ = f(x), and ⟨k(·, x), k(·, z)⟩ = k(x, z)."""
    f = RKHSFunction(rng.standard_normal(12), X, kernel)
    x, z = rng.standard_normal((2, 2))
    assert f.inner(kernel.at(x)) == pytest.approx(f(x[None]).item())
    assert kernel.at(x).inner(kernel.at(z)) == pytest.approx(kernel.cross(x[None], z[None]).item())
    assert kernel.at(x).norm_squared() == pytest.approx(kernel.diagonal(x[None]).item())
    assert kernel.at(x).distance(kernel.at(z)) == pytest.approx(kernel.distance(x[None], z[None]).item())


@pytest.mark.spec("sangnier/T-1.4.2-c", "douc/T8.10")
@each_kernel
def test_values_and_differences_are_bounded_by_the_norm(kernel, X, rng):
    f, points = RKHSFunction(rng.standard_normal(12), X, kernel), rng.standard_normal((30, 2))
    value, change = f.evaluation_bound(points), f.variation_bound(points, X)
    norm = math.sqrt(f.alpha @ kernel.gram(X) @ f.alpha)
    assert np.allclose(value.left, np.abs(kernel.cross(points, X) @ f.alpha))
    assert np.allclose(value.right, norm * np.sqrt(np.diag(kernel.gram(points))))
    distances = np.sqrt(
        np.maximum(kernel.diagonal(points)[:, None] - 2 * kernel.cross(points, X) + kernel.diagonal(X), 0)
    )
    assert np.allclose(change.right, norm * distances, atol=1e-7)
    assert np.allclose(change.left, np.abs(f(points)[:, None] - f(X)))
    assert value
    assert change
    assert f.certify(points).holds
    # Reached by f = k(·, x) at x: the bound cannot be made smaller.
    one = kernel.at(points[0]).evaluation_bound(points[:1])
    assert one.left == pytest.approx(one.right)
    # Where the kernel is not positive semi-definite there is no space, and the bound fails.
    false = Custom(lambda x, z: float(-((x @ z) ** 2) + np.exp(-np.square(x - z).sum())))
    assert not RKHSFunction(np.ones(12), X, false).evaluation_bound(3 * points)


@pytest.mark.spec("sangnier/T-1.4.2-c")
def test_convergence_in_norm_is_convergence_of_values(X, rng):
    f, step = (RKHSFunction(rng.standard_normal(12), X, Gaussian(0.5)) for _ in range(2))
    points = rng.standard_normal((20, 2))
    for n in (1, 10, 1000):
        near = f + step / n
        assert near.distance(f) == pytest.approx(step.norm() / n)
        assert np.all(np.abs(near(points) - f(points)) <= near.distance(f) + 1e-12)  # κ = 1


@pytest.mark.spec("sangnier/T-1.4.2-d")
def test_the_space_of_the_linear_kernel_is_the_linear_functions_with_the_norm_of_the_slope(X, rng):
    alpha, points = rng.standard_normal(12), rng.standard_normal((9, 2))
    f, w = RKHSFunction(alpha, X, Linear()), X.T @ alpha
    assert np.allclose(f(points), points @ w)
    assert f.norm() == pytest.approx(np.linalg.norm(w))
    # Any slope is reached, by a row equal to it: one function, whichever rows write it.
    other = RKHSFunction([1.0], w[None], Linear())
    assert np.allclose(other(points), f(points))
    assert other.norm() == pytest.approx(f.norm())
    assert f.distance(other) == pytest.approx(0.0, abs=1e-6)


@pytest.mark.spec("sangnier/T-1.4.2-d", "douc/T8.10")
def test_the_kernel_of_a_space_is_unique(X):
    """With an orthonormal basis e of the space, k(x, z) = Σ e_j(x) e_j(z), whichever basis it is."""
    kernel = Polynomial(2, 0.7)
    rng = np.random.default_rng(5)
    for _ in range(2):
        rows = rng.standard_normal((6, 2))  # six monomials: the whole space
        inverse_root = np.linalg.inv(np.linalg.cholesky(kernel.gram(rows)))
        basis = [RKHSFunction(row, rows, kernel) for row in inverse_root]
        table = np.array([[e.inner(other) for other in basis] for e in basis])
        assert np.allclose(table, np.eye(6), atol=1e-8)
        values = np.array([e(X) for e in basis])
        assert np.allclose(values.T @ values, kernel.gram(X), atol=1e-7)


@pytest.mark.spec("sangnier/T-1.4.2-f", "rudi/T4.2", "sangnier/M-1.4.2-c")
def test_the_norm_is_that_of_the_shortest_weights_for_any_feature_map(X, rng):
    kernel, alpha = Polynomial(2, 0.5), rng.standard_normal(12)
    f = RKHSFunction(alpha, X, kernel)
    features = kernel.feature_map

    def redundant(X):
        return np.hstack([features(X), features(X)]) / math.sqrt(2)

    def turned(X):
        return features(X) @ np.linalg.qr(np.random.default_rng(1).standard_normal((6, 6)))[0]

    norm = math.sqrt(alpha @ kernel.gram(X) @ alpha)
    for one in (features, redundant, turned, empirical_feature_map(kernel, X)):
        weights, length = minimum_norm_weights(f, one)
        assert length == pytest.approx(norm)
        assert np.allclose(one(X) @ weights, f(X))
    points = rng.standard_normal((4, 2))
    assert np.allclose(features(points) @ minimum_norm_weights(f, features).weights, f(points))
    # The representer weights Σ α_i φ(x_i) are the shortest; others of the redundant map are longer.
    w = redundant(X).T @ alpha
    assert np.linalg.norm(w) == pytest.approx(norm)
    longer = w + np.concatenate([np.ones(6), -np.ones(6)])
    assert np.allclose(redundant(points) @ longer, f(points))
    assert np.linalg.norm(longer) > norm + 0.1
    with pytest.raises(ValueError, match="its inner products differ from the kernel by up to"):
        minimum_norm_weights(f, Linear().feature_map)
    with pytest.raises(ValueError, match="one row of features per row"):
        minimum_norm_weights(f, lambda X: X[:2])


@pytest.mark.spec("rudi/T4.2")
def test_weights_and_coefficients_give_the_same_values_and_norm(X, rng):
    """φ(x_i)ᵀw = (Kα)_i and ‖w‖² = αᵀKα for w = Σ α_i φ(x_i)."""
    kernel, alpha = Polynomial(3, 0.3), rng.standard_normal(12)
    features, f = kernel.feature_map(X), RKHSFunction(alpha, X, kernel)
    w = features.T @ alpha
    assert np.allclose(features @ w, f(X))
    assert w @ w == pytest.approx(f.norm_squared())


@pytest.mark.spec("rudi/M4.6", "wei/T6.1")
@pytest.mark.parametrize(
    "kernel", [Gaussian(0.5), Linear(), BernoulliSpline(2), Laplacian(1.0) * Linear()], ids=repr
)
def test_eigenvectors_of_the_gram_matrix_are_features(kernel, X, rng):
    X[3] = X[1]
    mapped = empirical_feature_map(kernel, X)
    K = kernel.gram(X)
    assert isinstance(mapped, EmpiricalFeatureMap)
    assert np.allclose(mapped.features @ mapped.features.T, K, atol=1e-9)
    assert mapped.n_features_out(2) == mapped.features.shape[1] == np.linalg.matrix_rank(K, tol=1e-10)
    assert np.allclose(mapped(X), mapped.features, atol=1e-6)
    assert np.all(np.diff(mapped.eigenvalues) <= 0)
    # New rows: products with the old ones are exact, and what is lost is the distance from their span.
    Z = rng.standard_normal((5, 2))
    assert np.allclose(mapped(Z) @ mapped.features.T, kernel.cross(Z, X), atol=1e-6)
    lost = kernel.diagonal(Z) - np.square(mapped(Z)).sum(axis=1)
    span = kernel.diagonal(Z) - np.einsum(
        "ij,ji->i", kernel.cross(Z, X), np.linalg.pinv(K, rcond=1e-11) @ kernel.cross(X, Z)
    )
    assert np.all(lost >= -1e-8)
    assert np.allclose(lost, span, atol=1e-6)


def test_an_indefinite_kernel_has_no_empirical_features(X):
    with pytest.raises(ValueError, match=r"Got smallest eigenvalue -.* instead: see check_psd"):
        empirical_feature_map(Sigmoid(1.0, -1.0), X)


@pytest.mark.spec("douc/T8.10")
def test_a_fitted_machine_is_a_function_of_the_space(X):
    model = KernelRidge(0.1, kernel="rbf").fit(X, X[:, 0] * X[:, 1])
    h = RKHSFunction.of(model)
    assert np.allclose(h(X), model.predict(X))
    assert h.norm() == pytest.approx(model.rkhs_norm_)
    assert h.certify(X).holds
    damaged = RKHSFunction(h.alpha, h.X, Custom(lambda x, z: 1.0 - 0.1 * float(np.square(x - z).sum())))
    assert not damaged.certify(5 * X).holds
    with pytest.raises(
        ValueError, match=r"'model' parameter of RKHSFunction\.of must be a fitted kernel machine"
    ):
        RKHSFunction.of(KernelRidge())


def test_functions_of_two_spaces_do_not_mix(X):
    f = RKHSFunction(np.ones(12), X, Gaussian())
    g = RKHSFunction(np.ones(12), X, Gaussian(0.25))
    assert f.inner(RKHSFunction(np.ones(12), X, Gaussian(0.5))) > 0  # γ = 1/2 columns is the default
    for call in (lambda: f + g, lambda: f.inner(g), lambda: f.distance(g)):
        with pytest.raises(ValueError, match="a function of the space of Gaussian"):
            call()
    with pytest.raises(TypeError):
        f + 1.0
    with pytest.raises(ValueError, match="'factor' parameter of a multiple of an RKHSFunction"):
        "2" * f
    with pytest.raises(
        ValueError, match="'alpha' parameter of RKHSFunction must be one finite number per row"
    ):
        RKHSFunction([1.0], X, Gaussian())
    with pytest.raises(ValueError, match="'kernel' parameter of RKHSFunction"):
        RKHSFunction(np.ones(12), X, "rbf")


def test_sparse_rows_serve_as_well(X):
    f = RKHSFunction(np.ones(12), sparse.csr_array(X), Gaussian(0.5))
    g = RKHSFunction(np.ones(12), X, Gaussian(0.5))
    assert f.distance(g) == pytest.approx(0.0, abs=1e-6)
    assert f.certify(sparse.csr_array(X)).holds
