"""Kernels made of kernels: values, definiteness, features, refusals, how they are written and saved."""

from __future__ import annotations

import copy
import math
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

import assay
from assay.kernel_machines import KernelRidge
from assay.kernels import (
    ArcCosine,
    BernoulliSpline,
    Bilinear,
    Constant,
    CosineSeries,
    Custom,
    Exponential,
    ExpSineSquared,
    Functions,
    Gaussian,
    Geometric,
    Kernel,
    Laplacian,
    Linear,
    LinearMap,
    Matern,
    Monomials,
    Polynomial,
    Precomputed,
    Sigmoid,
    Sum,
    check_psd,
    is_psd,
)

A = np.array([[1.0, -2.0, 0.0], [0.5, 0.0, 3.0]])
B = A.T @ A


def size(X):
    return 1.0 + np.abs(np.asarray(X)[:, 0])


def features(X):
    return np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]])


g = Gaussian(0.4)
CONSTRUCTIONS = {
    "c k": (3.5 * g, lambda X, Z: 3.5 * gauss(X, Z)),
    "f k f": (g.reweighted(size), lambda X, Z: size(X)[:, None] * gauss(X, Z) * size(Z)),
    "exp k": (g.exp(), lambda X, Z: np.exp(gauss(X, Z))),
    "k + l": (g + Linear(), lambda X, Z: gauss(X, Z) + X @ Z.T),
    "k l": (g * Linear(), lambda X, Z: gauss(X, Z) * (X @ Z.T)),
    "p(k)": (g.polynomial([0.5, 0, 2]), lambda X, Z: 0.5 + 2 * gauss(X, Z) ** 2),
    "k(phi)": (g.of(features), lambda X, Z: gauss(features(X), features(Z))),
    "x'Az": (Bilinear(B), lambda X, Z: X @ B @ Z.T),
    "gaussian": (Gaussian(1.0), lambda X, Z: np.exp(-((X[:, None] - Z) ** 2).sum(axis=2))),
    "k(Ax)": (g.of(A), lambda X, Z: gauss(X @ A.T, Z @ A.T)),
    "k + c": (g + 2.0, lambda X, Z: gauss(X, Z) + 2),
    "k ** 3": (Linear() ** 3, lambda X, Z: (X @ Z.T) ** 3),
    "cosine": (Linear().normalized(), lambda X, Z: unit(X) @ unit(Z).T),
    "nested": (
        (0.5 * (Linear() + 1) ** 2 + g * Laplacian(0.3)).exp(),
        lambda X, Z: np.exp(0.5 * (X @ Z.T + 1) ** 2 + gauss(X, Z) * np.exp(-0.3 * apart(X, Z))),
    ),
}


def apart(X, Z):
    return np.sqrt(np.square(X[:, None] - Z).sum(axis=2))


def gauss(X, Z):
    return np.exp(-0.4 * apart(X, Z) ** 2)


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture
def X(rng):
    return 0.7 * rng.standard_normal((25, 3))


@pytest.mark.spec("sangnier/M-1.4.2-b", "sangnier/E-1.11", "rudi/M4.4", "rudi/T4.5")
@pytest.mark.parametrize("name", CONSTRUCTIONS)
def test_every_construction_is_its_formula_and_positive_semi_definite(name, X, rng):
    kernel, formula = CONSTRUCTIONS[name]
    Z = 0.7 * rng.standard_normal((9, 3))
    assert np.allclose(kernel.gram(X), formula(X, X), rtol=1e-12, atol=1e-13)
    assert np.allclose(kernel.cross(X, Z), formula(X, Z), rtol=1e-12, atol=1e-13)
    assert np.allclose(kernel.diagonal(X), np.diag(formula(X, X)), rtol=1e-12)
    coef = rng.standard_normal((9, 2))
    assert np.allclose(kernel.apply(X, Z, coef), formula(X, Z) @ coef)
    assert kernel.positive_definite
    found = check_psd(kernel, X)
    assert found
    assert np.linalg.eigvalsh(formula(X, X))[0] >= -1e-9 * found.max_eigenvalue
    single = kernel.gram(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, formula(X, X), rtol=2e-3)


@pytest.mark.spec("rudi/T4.5", "rudi/M4.4")
@settings(max_examples=15, deadline=None)
@given(arrays(np.float64, (7, 2), elements=st.floats(-3, 3)), st.integers(0, 4), st.integers(0, 4))
def test_sums_and_products_of_kernels_are_kernels(X, one, two):
    catalogue = [Linear(), Polynomial(2, 1.0), Gaussian(0.5), Laplacian(1.0), BernoulliSpline(1)]
    left, right = catalogue[one], catalogue[two]
    for kernel in (left + right, left * right, 0.3 * left + right * right):
        assert kernel.positive_definite
        assert check_psd(kernel, X)


@pytest.mark.parametrize(
    "kernel",
    [
        Linear() + Polynomial(2, 0.5),
        Linear() * Polynomial(2, 0.5),
        2.5 * Linear() + 1.0,
        (Linear() + Linear()).polynomial([0.3, 0.0, 2.0]),
        Linear().polynomial([0.3, 1.0, 2.0]),
        Linear().of(A).polynomial([1.0, 1.0]),
        Polynomial(2).of(A),
        Linear().reweighted(size),
        (Linear() ** 2).normalized(),
        Linear().of(Monomials(2)),
        CosineSeries([1.0, 0.5]) * Linear(),
        Constant(0.0) + Linear(),
    ],
    ids=repr,
)
def test_features_of_a_combination_have_it_as_inner_product(kernel, X):
    phi = kernel.feature_map(X)
    assert phi.shape == (25, kernel.n_features_out(3))
    assert np.allclose(phi @ phi.T, kernel.gram(X))


@pytest.mark.parametrize(
    "kernel", [Linear() + Sigmoid(), 2 * Sigmoid(), Sigmoid().exp(), Linear() * Sigmoid()]
)
def test_what_is_made_of_no_kernel_says_so(kernel):
    assert not kernel.positive_definite
    assert not kernel.of(A).positive_definite
    assert not Custom(lambda x, z: 1.0).polynomial([1, 1]).positive_definite


@pytest.mark.spec("sangnier/M-1.4.2-b")
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: -1.0 * Linear(),
            "'factor' parameter of a multiple of a kernel must be a finite number at least 0",
        ),
        (lambda: Linear() * np.nan, "'factor' parameter of a multiple of a kernel"),
        (lambda: Linear() * "2", "'factor' parameter of a multiple of a kernel"),
        (lambda: Linear() - Gaussian(), "A difference of kernels is not positive semi-definite in general"),
        (lambda: 1 - Gaussian(), "A difference of kernels"),
        (lambda: -Gaussian(), "A kernel with the opposite sign"),
        (lambda: Linear() / Gaussian(), "A quotient of kernels"),
        (lambda: 1 / Gaussian(), "A quotient of kernels"),
        (lambda: Linear() / -2.0, "'divisor' parameter of a kernel divided by a number"),
        (lambda: Linear() / 0, "'divisor' parameter"),
        (lambda: Linear() + -1.0, "'term' parameter of a sum of kernels must be a kernel or a finite number"),
        (lambda: Linear() + "k", "'term' parameter of a sum of kernels"),
        (
            lambda: Linear() ** 1.5,
            "'exponent' parameter of a power of a kernel must be an int from 1 to 1000",
        ),
        (lambda: Linear() ** -1, "'exponent' parameter"),
        (
            lambda: Linear().polynomial([1, -1]),
            "'coefficients' parameter of a polynomial of a kernel must be",
        ),
        (lambda: Linear().polynomial([]), "'coefficients' parameter of a polynomial of a kernel"),
        (lambda: Constant(-1.0), "'value' parameter of Constant must be a finite number at least 0"),
        (lambda: Linear().of("A"), "'map' parameter of a composed kernel must be a callable or a matrix"),
        (lambda: Linear().reweighted(2.0), "'function' parameter of Reweighted must be a callable"),
        (lambda: Precomputed() + Linear(), "Precomputed reads a matrix and not rows"),
        (lambda: Precomputed().exp(), "Precomputed reads a matrix and not rows"),
        (lambda: Sum(()), "A Sum of kernels needs at least one"),
        (lambda: Sum((1.0,)), "'kernel' parameter of Sum must be a Kernel"),
        (lambda: LinearMap([1.0]), "'matrix' parameter of LinearMap"),
        (lambda: Functions([]), "'functions' parameter of Functions"),
    ],
)
def test_what_would_lose_definiteness_is_refused_in_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()


def test_functions_of_the_wrong_shape_are_refused(X):
    with pytest.raises(ValueError, match="must return one number per row"):
        Linear().reweighted(lambda X: X).gram(X)
    with pytest.raises(ValueError, match="must return a table of 25 rows"):
        Linear().of(lambda X: X[:3]).gram(X)
    with pytest.raises(ValueError, match="3 features, but the 'matrix' of LinearMap"):
        Linear().of(np.eye(2)).gram(X)
    with pytest.raises(ValueError, match="one number per row"):
        Linear().of(Functions([lambda X: X])).gram(X)
    with pytest.raises(ValueError, match=r"needs finite k\(x, x\) at least 0"):
        Sigmoid(1.0, -5.0).normalized().gram(X)


def test_minus_a_kernel_is_refused_because_its_matrix_is_not_definite(X):
    assert not is_psd(-Gaussian().gram(X))
    assert not is_psd(Linear().gram(X) - Gaussian().gram(X))


def test_combinations_are_compared_by_value_and_written_as_they_are_typed():
    k = (2.0 * Gaussian(1.0) + Linear()) * Polynomial(2) + 1
    same = Constant(1.0) + Polynomial(2) * (Linear() + 2.0 * Gaussian(1.0))
    assert k == same
    assert hash(k) == hash(same)
    assert k != k + 1
    assert Linear() + Linear() != Linear()
    assert Linear() * Linear() != Linear() + Linear()
    product = "(2.0 * Gaussian(gamma=1.0) + Linear()) * Polynomial(degree=2, gamma=None, coef0=1.0)"
    assert repr(k) == product + " + Constant(value=1.0)"
    written = [
        k,
        (Linear() ** 2).exp(),
        3 * Linear() ** 2,
        Linear().polynomial([1, 2]),
        Matern().of([[1.0, 2.0]]),
    ]
    names = {name: getattr(assay.kernels, name) for name in assay.kernels.__all__}
    for one in [
        *written,
        (Linear() + 1).normalized(),
        ExpSineSquared() * ArcCosine(0),
        (2 * Linear()) * Gaussian(),
    ]:
        again = eval(repr(one), names)
        assert again == one
        assert hash(again) == hash(one)
        assert copy.deepcopy(one) == one
    assert repr(Linear().reweighted(size)) == "Linear().reweighted(size)"
    assert 2 * (3 * Linear()) == 6 * Linear()
    assert sum([Linear(), Gaussian()]) == Linear() + Gaussian()
    assert np.float64(2.0) * Linear() == 2 * Linear()
    assert np.exp(Linear()) == Linear().exp()
    assert (Linear() + Gaussian()).for_features(4) == Linear() + Gaussian(0.25)
    assert (2 * Gaussian()).exp().for_features(2) == (2 * Gaussian(0.5)).exp()


def test_defaults_that_depend_on_columns_are_filled_in_everywhere(X):
    filled = Gaussian(1 / 3)
    for make in (
        lambda k: k + Linear(),
        lambda k: k * k,
        lambda k: 2 * k,
        lambda k: k.exp(),
        lambda k: k.polynomial([1, 1]),
        lambda k: k.reweighted(size),
        lambda k: k.normalized(),
    ):
        assert np.array_equal(make(Gaussian()).gram(X), make(filled).gram(X))
        assert np.array_equal(make(Gaussian()).diagonal(X), make(filled).diagonal(X))
    # After a map, the columns are those of its result.
    assert Gaussian().of(A).for_features(3) == Gaussian(0.5).of(A)
    assert Gaussian().of(features).for_features(3) == Gaussian().of(features)
    assert np.array_equal(Gaussian().of(features).gram(X), Gaussian(0.5).of(features).gram(X))
    assert np.array_equal(Gaussian().of(A).gram(X), Gaussian(0.5).of(A).gram(X))
    assert np.allclose(Polynomial(2).of(A).gram(X), Polynomial(2, 0.5).of(A).gram(X))


def test_the_normalized_exponential_is_the_gaussian(X):
    assert np.allclose(Exponential(2.0).normalized().gram(X), Gaussian(1.0).gram(X), rtol=1e-12)
    X[3] = 0.0
    K = Linear().normalized().gram(X)
    assert np.all(K[3] == 0.0)
    assert Linear().normalized().diagonal(X)[3] == 0.0


def test_combinations_take_sparse_tables(X):
    X = np.where(X > 0.2, X, 0.0)
    for kernel in (Linear() + Gaussian(), 2 * Linear() * Laplacian(), Gaussian().of(A), Linear().exp()):
        assert np.allclose(kernel.gram(sparse.csr_array(X)), kernel.gram(X), atol=1e-12)


def test_nothing_of_the_size_of_the_matrix_is_made(rng):
    """Beside `out`, 32 MB, a nested combination needs a few tiles of 1 MB."""
    X, out = rng.standard_normal((2000, 3)), np.empty((2000, 2000))
    kernel = (Gaussian() * Laplacian() + 0.5 * Linear() ** 2).normalized() + Matern().of(A) * ArcCosine()
    kernel.gram(X[:300])
    tracemalloc.start()
    kernel.gram(X, out=out)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    few = kernel.gram(X[[5, 1500]])
    assert peak < 0.8 * out.nbytes
    assert np.allclose(out[np.ix_([5, 1500], [5, 1500])], few)
    assert np.array_equal(out, out.T)


SAVED = [
    Linear() + 2.0 * Gaussian(0.3),
    Polynomial(2) * Laplacian(),
    (0.1 * Linear()).exp(),
    Linear().polynomial([1, 0.5, 0.25]),
    Gaussian().of(A),
    Linear().of(Monomials(2)),
    Exponential(0.1).normalized(),
    Matern(2.5),
    Matern(0.8),
    Geometric().of(0.1 * np.eye(3)),
    BernoulliSpline(2, 5.0),
    CosineSeries([1.0, 0.5], 6.0),
    ExpSineSquared(1.0, 4.0),
    ArcCosine(0),
    Linear() + 1.0,
]


@pytest.mark.parametrize("kernel", SAVED, ids=repr)
def test_a_model_with_such_a_kernel_is_fitted_saved_and_loaded(kernel: Kernel, X, tmp_path):
    y = X[:, 0] ** 2 + X[:, 1]
    model = KernelRidge(0.1, kernel=kernel).fit(X, y)
    assert model.certificates_.holds
    K = kernel.gram(X)
    assert np.allclose(model.predict(X), K @ np.linalg.solve(K + 0.1 * np.eye(25), y))
    assay.save(model, tmp_path / "model.skops")
    again = assay.load(tmp_path / "model.skops")
    assert again.kernel == kernel
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_function_of_ones_own_cannot_be_saved(X, tmp_path):
    model = KernelRidge(0.1, kernel=Linear().reweighted(size)).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r"which could not be loaded again|cannot be saved"):
        assay.save(model, tmp_path / "model.skops")


def test_powers_and_exponentials_that_overflow_are_infinite_without_a_warning():
    X = np.array([[1e3]])
    assert Linear().exp().gram(X)[0, 0] == math.inf
    assert (Linear() ** 60).gram(X)[0, 0] == math.inf
    assert Linear().exp().diagonal(X)[0] == math.inf
