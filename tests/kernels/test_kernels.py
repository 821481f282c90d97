"""Kernels against their definitions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import laplacian_kernel, polynomial_kernel, rbf_kernel, sigmoid_kernel

from assay.kernels import (
    ArcCosine,
    BernoulliSpline,
    Bilinear,
    Constant,
    CosineSeries,
    Custom,
    Exponential,
    ExpSineSquared,
    Gaussian,
    Geometric,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Precomputed,
    Sigmoid,
    kernel,
)
from assay.kernels.tiles import squared_distances_of
from assay.parameters import ParameterError
from assay.rows import threads

CATALOGUE = [
    (Linear(), lambda x, z: x @ z),
    (Polynomial(3, 0.5, 1.0), lambda x, z: (1 + 0.5 * x @ z) ** 3),
    (Polynomial(2, 1.0, 0.0), lambda x, z: (x @ z) ** 2),
    (Exponential(0.3), lambda x, z: np.exp(0.3 * x @ z)),
    (Laplacian(0.7), lambda x, z: np.exp(-0.7 * np.linalg.norm(x - z))),
    (Gaussian(0.7), lambda x, z: np.exp(-0.7 * np.linalg.norm(x - z) ** 2)),
    (Bilinear(np.diag([1.0, 0.0, 2.0])), lambda x, z: x @ np.diag([1.0, 0.0, 2.0]) @ z),
    (Sigmoid(0.2, 0.1), lambda x, z: np.tanh(0.2 * x @ z + 0.1)),
    (Matern(0.5, 0.7), lambda x, z: np.exp(-0.7 * np.linalg.norm(x - z))),
    (Matern(2.5, 0.7), lambda x, z: matern_five_halves(0.7 * np.linalg.norm(x - z))),
    (BernoulliSpline(1), lambda x, z: np.prod(1 + bernoulli_two(x - z) / 2)),
    (BernoulliSpline(2, 3.0), lambda x, z: np.prod(1 - bernoulli_four((x - z) / 3.0) / 24)),
    (CosineSeries([0.5, 0.0, 0.2]), lambda x, z: np.prod(0.5 + 0.2 * np.cos(4 * np.pi * (x - z)))),
    (ExpSineSquared(1.3, 2.0), lambda x, z: np.exp(-2 * np.sum(np.sin(np.pi * (x - z) / 2) ** 2) / 1.69)),
    (Constant(2.0), lambda x, z: 2.0),
]


def matern_five_halves(distance):
    t = math.sqrt(5) * distance
    return (1 + t + t**2 / 3) * math.exp(-t)


def bernoulli_two(u):
    u = u - np.floor(u)
    return u**2 - u + 1 / 6


def bernoulli_four(u):
    u = u - np.floor(u)
    return u**4 - 2 * u**3 + u**2 - 1 / 30


IDS = [type(one).__name__ for one, _ in CATALOGUE]


@pytest.fixture
def X(rng):
    return rng.standard_normal((40, 3))


@pytest.mark.spec("sangnier/M-1.4.2-a", "wei/M6.2", "peyre/M10", "rudi/M4.3")
@pytest.mark.parametrize(("one", "definition"), CATALOGUE, ids=IDS)
def test_every_kernel_is_its_definition(one: Kernel, definition, X, rng):
    Z = rng.standard_normal((7, 3))
    gram = np.array([[definition(x, z) for z in X] for x in X])
    cross = np.array([[definition(x, z) for z in Z] for x in X])
    assert np.allclose(one.gram(X), gram, rtol=1e-13, atol=1e-14)
    assert np.allclose(one.cross(X, Z), cross, rtol=1e-12, atol=1e-13)
    assert np.allclose(one.diagonal(X), np.diag(gram), rtol=1e-13)
    coef = rng.standard_normal((7, 2))
    assert np.allclose(one.apply(X, Z, coef), cross @ coef)
    assert np.array_equal(one(X), one.gram(X))
    assert np.array_equal(one(X, Z), one.cross(X, Z))


@pytest.mark.parametrize(("one", "definition"), CATALOGUE, ids=IDS)
def test_float32_stays_float32_and_csr_equals_dense(one: Kernel, definition, X):
    single = one.gram(X.astype(np.float32))
    assert single.dtype == np.float32
    assert np.allclose(single, one.gram(X), rtol=1e-4, atol=1e-5)
    X = np.where(X > 0.5, X, 0.0)
    for convert in (sparse.csr_matrix, sparse.csr_array, sparse.csc_matrix):
        assert np.allclose(one.gram(convert(X)), one.gram(X), atol=1e-12)
        assert np.allclose(one.cross(convert(X[:9]), X), one.cross(X[:9], X), atol=1e-12)
        assert np.allclose(one.cross(X[:9], convert(X)), one.cross(X[:9], X), atol=1e-12)


@pytest.mark.parametrize("n_samples", [1, 255, 256, 257, 513, 900])
def test_tiles_on_threads_fill_a_symmetric_matrix(rng, n_samples):
    X = rng.standard_normal((n_samples, 5))
    out = np.full((n_samples, n_samples), np.nan)
    K = Gaussian(0.1).gram(X, out=out)
    assert K is out
    assert np.array_equal(K, K.T)
    assert np.allclose(K, np.exp(-0.1 * cdist(X, X, "sqeuclidean")), rtol=1e-13)
    with threads(1):
        assert np.array_equal(Gaussian(0.1).gram(X), K)
    Z = rng.standard_normal((n_samples + 300, 5))
    cross = np.exp(-0.1 * cdist(X, Z))
    assert np.allclose(Laplacian(0.1).cross(X, Z), cross, rtol=1e-12)
    coef = rng.standard_normal(len(Z))
    assert np.allclose(Laplacian(0.1).apply(X, Z, coef), cross @ coef)


def test_scikit_learn_agrees_where_the_kernel_is_the_same(X):
    assert np.allclose(kernel("rbf").gram(X), rbf_kernel(X))
    assert np.allclose(kernel("poly").gram(X), polynomial_kernel(X))
    assert np.allclose(kernel("sigmoid").gram(X), sigmoid_kernel(X))
    column = X[:, :1]
    assert np.allclose(kernel("laplacian").gram(column), laplacian_kernel(column))


@pytest.mark.spec("sangnier/M-1.4.2-a")
def test_the_laplacian_takes_the_euclidean_norm(X):
    K = Laplacian(0.5).gram(X)
    assert np.allclose(K, np.exp(-0.5 * cdist(X, X)))
    assert not np.allclose(K, laplacian_kernel(X, gamma=0.5))


@pytest.mark.spec("wei/M6.2", "peyre/M10", "rudi/M4.3")
def test_conventions_of_scale_are_explicit(X):
    squared, sigma = cdist(X, X, "sqeuclidean"), 1.7
    assert np.allclose(Gaussian.from_scale(sigma).gram(X), np.exp(-squared / sigma**2))
    assert np.allclose(Gaussian.from_bandwidth(sigma).gram(X), np.exp(-squared / (2 * sigma**2)))
    # Printed with the squared norm, which would be a Gaussian.
    assert np.allclose(Laplacian.from_scale(sigma).gram(X), np.exp(-np.sqrt(squared) / sigma))
    assert not np.allclose(Laplacian.from_scale(sigma).gram(X), np.exp(-squared / sigma))


@pytest.mark.spec("wei/M6.2")
def test_polynomial_feature_map_of_two_features_and_degree_two():
    x = np.array([[1.5, -2.0]])
    a, b = x[0]
    root = math.sqrt(2)
    expected = [1, root * a, root * b, a**2, b**2, root * a * b]
    assert np.allclose(Polynomial(2, gamma=1.0).feature_map(x), [expected])


@pytest.mark.spec("wei/M6.2", "sangnier/M-1.4.2-a")
@pytest.mark.parametrize(
    "one",
    [
        Linear(),
        Polynomial(3, 0.4, 0.7),
        Polynomial(4, None, 0.0),
        Polynomial(1),
        Bilinear([[2.0, 1.0, 0.0], [1.0, 2.0, 0.0], [0.0, 0.0, 0.0]]),
    ],
)
def test_explicit_features_have_the_kernel_as_inner_product(one, X):
    features = one.feature_map(X)
    assert np.allclose(features @ features.T, one.gram(X))
    from_csr = one.feature_map(sparse.csr_matrix(X))
    assert np.allclose(from_csr.toarray() if sparse.issparse(from_csr) else from_csr, features)


def test_the_homogeneous_kernel_has_only_monomials_of_full_degree(X):
    assert Polynomial(2, 1.0, 0.0).feature_map(X).shape[1] == 6
    assert Polynomial(2, 1.0, 1.0).feature_map(X).shape[1] == 10


@pytest.mark.spec("wei/M6.2")
def test_taylor_features_of_the_gaussian_converge_within_their_remainder(X):
    gamma, order = 0.3, 6
    X = 0.6 * X
    one = Gaussian(gamma)
    features = one.taylor_features(X, order)
    t = np.abs(2 * gamma * X @ X.T)
    norms = np.square(X).sum(axis=1)
    bound = np.exp(t - gamma * (norms[:, None] + norms)) * t ** (order + 1) / math.factorial(order + 1)
    assert np.all(np.abs(features @ features.T - one.gram(X)) <= bound + 1e-14)
    # With the sign printed in the course, exp(−2⟨x, z⟩/σ²), the product is not the kernel.
    wrong = np.exp(-gamma * (norms[:, None] + norms)) * np.exp(-2 * gamma * X @ X.T)
    assert np.abs(wrong - one.gram(X)).max() > 0.1
    terms = Exponential(gamma).taylor_features(X, 12)
    assert np.allclose(terms @ terms.T, Exponential(gamma).gram(X))


def test_close_rows_far_from_the_origin_keep_their_distance():
    """‖x‖² + ‖z‖² − 2⟨x, z⟩ alone would leave no digit here."""
    offset = np.array([1e8, -1e8])
    near = np.array([[0.0, 0.0], [1e-3, 0.0], [0.0, 2e-3]])
    X = np.vstack([near + offset, near - offset])
    expected = np.exp(-1e5 * cdist(X, X, "sqeuclidean"))
    assert np.allclose(Gaussian(1e5).gram(X), expected, atol=1e-12)
    X = X.astype(np.float32) * np.float32(1e-6)
    assert np.allclose(
        Gaussian(1.0).gram(X), np.exp(-cdist(X.astype(float), X.astype(float), "sqeuclidean")), atol=1e-6
    )


def test_an_exponential_that_overflows_is_infinite_and_the_others_exact():
    K = Exponential(2.0).gram([[30.0], [1.0], [-30.0]])
    assert K[0, 0] == K[2, 2] == np.inf
    assert np.allclose(K[1], np.exp([60.0, 2.0, -60.0]), rtol=1e-13)
    assert K[0, 2] == 0.0
    assert Exponential(1.0).gram(np.array([[10.0]], dtype=np.float32))[0, 0] == np.inf


def test_duplicates_have_kernel_exactly_one(rng):
    X = np.repeat(rng.standard_normal((10, 4)) * 1e3 + 1e6, 3, axis=0)
    K = Gaussian(1.0).gram(X)
    assert np.all(K[np.kron(np.eye(10, dtype=bool), np.ones((3, 3), dtype=bool))] == 1.0)


@settings(max_examples=20, deadline=None)
@given(arrays(np.float64, (6, 2), elements=st.floats(-100, 100)), st.floats(1e-3, 10))
def test_gaussian_and_laplacian_are_between_zero_and_one(X, gamma):
    for one in (Gaussian(gamma), Laplacian(gamma)):
        K = one.gram(X)
        assert np.all((K >= 0) & (K <= 1))
        assert np.all(np.diag(K) == 1)
        assert np.array_equal(K, K.T)


def test_names_and_objects_resolve():
    assert kernel("rbf", gamma=2.0) == kernel("gaussian", gamma=2.0) == Gaussian(2.0)
    assert kernel("poly", degree=2) == kernel("polynomial", degree=2) == Polynomial(2)
    assert kernel("linear", gamma=3.0) == Linear()
    assert kernel("exponential") == Exponential()
    assert kernel("precomputed") == Precomputed()
    assert kernel("matern", gamma=2.0) == Matern(1.5, 2.0)
    assert kernel("geometric") == Geometric()
    assert kernel("arc_cosine") == ArcCosine(1)
    assert kernel("bernoulli_spline") == BernoulliSpline(1)
    assert kernel("exp_sine_squared") == ExpSineSquared()
    one = Gaussian(1.0)
    assert kernel(one) is one
    wrapped = kernel(lambda x, z, power: (x @ z) ** power, function_parameters={"power": 2})
    assert np.allclose(wrapped.gram([[1.0, 2.0]]), [[25.0]])
    assert Gaussian().for_features(4) == Gaussian(0.25)
    assert Bilinear(np.eye(2)) == Bilinear(np.eye(2))
    assert hash(Bilinear(np.eye(2))) == hash(Bilinear(np.eye(2)))


def test_functions_of_rows_and_of_tables_agree(X):
    rows = Custom(lambda x, z: float(np.minimum(x, z).sum()))
    tables = Custom(lambda X, Z: np.minimum(X[:, None], Z).sum(axis=2), on_tables=True)
    assert np.allclose(rows.gram(X), tables.gram(X))
    assert np.allclose(rows.diagonal(X), X.sum(axis=1))
    assert np.allclose(rows.gram(sparse.csr_matrix(X)), rows.gram(X))


@pytest.mark.spec("rudi/M4.3")
def test_precomputed_hands_the_table_through(X, rng):
    K = X @ X.T
    assert np.allclose(Precomputed().gram(K), K)
    assert np.allclose(Precomputed().gram(sparse.csr_matrix(K)), K)
    assert np.allclose(Precomputed().diagonal(K), np.diag(K))
    coef = rng.standard_normal(40)
    assert np.allclose(Precomputed().apply(K[:5], K, coef), K[:5] @ coef)
    with pytest.raises(ValueError, match="square"):
        Precomputed().gram(X)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Gaussian(0.0), "'gamma' parameter of Gaussian must be .* Got 0.0 instead"),
        (lambda: Laplacian(-1.0), "'gamma' parameter of Laplacian"),
        (lambda: Exponential(np.inf), "'gamma' parameter of Exponential"),
        (lambda: Polynomial(2.5), "'degree' parameter of Polynomial must be an int at least 1"),
        (lambda: Polynomial(0), "'degree' parameter of Polynomial must be an int at least 1"),
        (
            lambda: Polynomial(2, 1.0, -1.0),
            "'coef0' parameter of Polynomial must be a finite number at least 0",
        ),
        (lambda: Gaussian.from_scale(0.0), "'sigma' parameter of Gaussian"),
        (lambda: Laplacian.from_scale(-2.0), "'sigma' parameter of Laplacian"),
        (lambda: kernel("cubic"), "must be a Kernel, a callable or one of 'linear'"),
        (lambda: Gaussian(1.0).taylor_features([[1.0]], -1), "'order' parameter of the Taylor expansion"),
    ],
)
def test_bad_parameters_are_refused_in_one_sentence(make, words):
    with pytest.raises(ParameterError, match=words):
        make()


def test_bad_tables_are_refused_in_one_sentence(X):
    with pytest.raises(ValueError, match="two-dimensional"):
        Linear().gram([1.0, 2.0])
    with pytest.raises(ValueError, match="3 features but Z has 2"):
        Linear().cross(X, X[:, :2])
    with pytest.raises(ValueError, match="'out' must have shape"):
        Linear().gram(X, out=np.empty((2, 2)))
    with pytest.raises(ValueError, match="3 features, but the 'matrix' of Bilinear"):
        Bilinear(np.eye(2)).gram(X)
    with pytest.raises(ValueError, match="must be square"):
        Bilinear(np.ones((2, 3)))
    with pytest.raises(ValueError, match="symmetric positive semi-definite"):
        Bilinear([[0.0, 1.0], [-1.0, 0.0]])
    with pytest.raises(ValueError, match="symmetric positive semi-definite"):
        Bilinear([[1.0, 2.0], [2.0, 1.0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sparse_rows", [False, True])
@pytest.mark.parametrize("make", [Gaussian, Laplacian, Matern, lambda gamma: Matern(np.inf, gamma=gamma)])
def test_kernels_of_distances_do_not_overflow_with_the_unit_of_the_rows(make, dtype, sparse_rows):
    rows = np.random.default_rng(0).normal(size=(7, 3)).astype(dtype)
    as_given = sparse.csr_array if sparse_rows else np.asarray
    # Distances of a sparse table are not summed afresh where digits cancel, and roots double what is lost.
    tolerance = (2e-3 if dtype == np.float32 else 1e-7) if sparse_rows else 0.0
    plain = make(gamma=1.0).cross(as_given(rows), as_given(rows[:4]))
    for exponent in (-118, -70, 70, 118) if dtype == np.float32 else (-500, 500):
        unit = 2.0**exponent
        gamma = unit ** (-2 if make is Gaussian else -1)
        made = make(gamma=gamma).cross(as_given(rows * dtype(unit)), as_given(rows[:4] * dtype(unit)))
        assert np.isfinite(made).all()
        # A power of two is exact: in another unit the kernel differs by the rounding of the scale.
        np.testing.assert_allclose(made, plain, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=tolerance)
    limit = 118 if dtype == np.float32 else 1010
    far = make(gamma=1.0).gram(as_given(rows * dtype(2.0**limit)))
    np.testing.assert_allclose(far, np.eye(7), atol=1.0 if sparse_rows else 1e-30)
    assert np.isfinite(far).all()
    near = make(gamma=1.0).gram(as_given(rows * dtype(2.0**-limit)))
    np.testing.assert_array_equal(near, np.ones((7, 7)))


@pytest.mark.parametrize("kind", [Gaussian, Laplacian])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_squared_distances_serve_every_scale(kind, dtype):
    X = np.random.default_rng(0).normal(size=(150, 3)).astype(dtype)
    squared = squared_distances_of(X)
    for gamma in (1e-3, 0.5, 20.0):
        made, whole = kind(gamma).gram_of_distances(squared), kind(gamma).gram(X)
        assert made.dtype == dtype
        np.testing.assert_allclose(made, whole, atol=1e-6 if dtype == np.float32 else 1e-13)
        np.testing.assert_array_equal(made, made.T)
    assert not kind(1.0).leaves_range(X)
    assert kind(1.0).leaves_range(np.array([[1e200], [2e200]]))
