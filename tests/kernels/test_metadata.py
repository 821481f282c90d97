"""What kernels know of themselves: bounds, universality, how many features, and when those are too many."""

from __future__ import annotations

import math

import numpy as np
import pytest

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
    Laplacian,
    Linear,
    Matern,
    Monomials,
    Polynomial,
    Sigmoid,
    cheaper_side,
    n_monomials,
)
from assay.linear import Ridge


@pytest.mark.parametrize(
    ("kernel", "radius"),
    [
        (Linear(), 2.0),
        (Polynomial(3, 0.5, 1.5), 2.0),
        (Exponential(0.3), 2.0),
        (Geometric(), 0.8),
        (Gaussian(1.0), 2.0),
        (Laplacian(1.0), 2.0),
        (Matern(), 2.0),
        (ArcCosine(0), 2.0),
        (ArcCosine(1), 2.0),
        (ArcCosine(2), 2.0),
        (Bilinear(np.diag([3.0, 1.0])), 2.0),
        (Sigmoid(0.5, -1.0), 2.0),
        (BernoulliSpline(1).for_features(2), 2.0),
        (CosineSeries([1.0, 2.0]).for_features(2), 2.0),
        (ExpSineSquared(), 2.0),
        (Constant(1.5), 2.0),
        (2.0 * Linear(), 2.0),
        (Gaussian(1.0) * Exponential(0.3) + Linear(), 2.0),
        ((0.2 * Linear()).exp(), 2.0),
        (Linear().polynomial([1.0, 0.0, 2.0]), 2.0),
        (Linear().of([[3.0, 0.0], [0.0, 1.0]]), 2.0),
        (Linear().normalized(), 2.0),
    ],
    ids=repr,
)
def test_the_supremum_is_the_largest_value_on_the_ball(kernel, radius, rng):
    directions = rng.standard_normal((200, 2))
    directions[0] = [1.0, 0.0]
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    edge, inner = radius * directions, radius * directions * rng.uniform(0, 1, (200, 1))
    bound = kernel.supremum(radius)
    values = np.concatenate([kernel.diagonal(edge), kernel.diagonal(inner)])
    assert np.all(values <= bound * (1 + 1e-12))
    assert values.max() == pytest.approx(bound, rel=1e-9)
    assert kernel.kappa(edge) == pytest.approx(math.sqrt(bound), rel=1e-9)
    assert kernel.kappa(radius=radius) == pytest.approx(math.sqrt(bound))


def test_without_a_bound_the_supremum_is_infinite():
    for kernel in (
        Linear(),
        Polynomial(2, 1.0),
        Exponential(1.0),
        Geometric(),
        ArcCosine(),
        Linear() * Gaussian(),
    ):
        assert kernel.supremum() == math.inf
        assert kernel.kappa() == math.inf
    assert Custom(lambda x, z: 1.0).supremum(1.0) == math.inf
    assert (Sigmoid(1.0) * Sigmoid(1.0)).supremum() == math.inf
    assert BernoulliSpline().supremum() == math.inf
    for kernel in (Gaussian(), Laplacian(), Matern(), ExpSineSquared(), ArcCosine(0), Gaussian() * Matern()):
        assert 0 < kernel.supremum() <= 1.0
    assert (0 * Linear()).supremum() == 0.0
    assert Gaussian().kappa() == 1.0
    assert Custom(lambda x, z: float(x @ z)).kappa([[3.0], [4.0]]) == 4.0
    # Over the rows of a table, defaults that wait for its columns are filled in.
    assert Exponential().kappa([[0.0, 2.0]]) == pytest.approx(math.e)


@pytest.mark.spec("sangnier/T-1.4.2-g")
def test_universality_is_told_with_its_domain():
    for kernel in (
        Gaussian(),
        Exponential(),
        Laplacian(),
        Matern(),
        Linear().exp(),
        2 * Gaussian() + Linear(),
    ):
        assert kernel.universal
        assert kernel.universal_on == "compact sets"
    assert Geometric().universal_on == "compact sets in the open unit ball"
    assert (
        BernoulliSpline().universal_on
        == ExpSineSquared().universal_on
        == "compact sets shorter than a period"
    )
    finite = (
        Linear(),
        Polynomial(9),
        Bilinear(np.eye(2)),
        Linear() ** 3 + 1,
        CosineSeries([1.0, 1.0]),
        Constant(),
    )
    for kernel in (*finite, ArcCosine(0), ArcCosine(1), Sigmoid(), 0 * Gaussian(), Gaussian() * Linear()):
        assert not kernel.universal
        assert kernel.universal_on == ""
    # The exponential of a kernel that does not tell points apart is not universal: xz ↦ exp((xz)²) is even.
    assert not (Linear() ** 2).exp().universal
    assert not Polynomial(2, 1.0, 0.0).exp().universal
    assert Polynomial(2, 1.0, 1.0).exp().universal
    assert not Bilinear(np.diag([1.0, 0.0])).exp().universal
    assert ArcCosine(1).exp().universal
    assert not ArcCosine(0).exp().universal
    assert Gaussian().of(np.eye(2)).universal
    assert not Gaussian().of([[1.0, 0.0]]).universal
    assert (Gaussian() ** 2 + 1).universal
    assert Exponential().normalized().universal
    # A universal kernel has functions that tell any two points apart: d_k > 0.
    assert np.all(Gaussian().distance([[0.0], [1.0]], [[2.0], [-1.0]]) > 0)
    assert (Linear() ** 2).distance([[1.0]], [[-1.0]])[0, 0] == 0.0


@pytest.mark.spec("rudi/T4.3", "rudi/M4.1")
@pytest.mark.parametrize(("n_features", "degree"), [(1, 4), (2, 3), (3, 2), (4, 5)])
def test_monomials_of_a_degree_are_counted_and_weighted_by_the_multinomial(n_features, degree, rng):
    """(xᵀz)^r = Σ_α r!/(α₁! ⋯ α_d!) x^α z^α."""
    X = rng.standard_normal((10, n_features))
    kernel = Polynomial(degree, 1.0, 0.0)
    features = kernel.feature_map(X)
    count = math.comb(n_features + degree - 1, degree)
    assert features.shape[1] == count == kernel.n_features_out(n_features) == n_monomials(n_features, degree)
    assert np.allclose(features @ features.T, (X @ X.T) ** degree)
    plain = Monomials(degree)(X)
    assert plain.shape[1] == count
    # Each weighted monomial is √(r!/∏α!) times a plain one: same columns up to order and scale.
    weights = np.linalg.norm(features, axis=0)[:, None] / np.linalg.norm(plain, axis=0)
    matches = np.isclose(features[:, :, None], plain[:, None] * weights, rtol=1e-9).all(axis=0)
    squares = np.square(weights)[matches]
    assert matches.sum() == count
    assert squares.sum() == pytest.approx(n_features**degree)  # Σ_α r!/∏α! = d^r
    mixed = Monomials(degree, exact=False)
    assert mixed(X).shape[1] == mixed.n_features_out(n_features) == math.comb(n_features + degree, degree)


@pytest.mark.spec("rudi/M4.1", "sangnier/M-1.4.2-c")
def test_feature_maps_of_the_courses(rng):
    x = rng.standard_normal((6, 1))
    assert np.array_equal(Linear().feature_map(x), x)
    assert np.allclose(Monomials(3, exact=False)(x), np.hstack([x**0, x, x**2, x**3]))
    fourier = Functions([lambda X, m=m: np.cos(m * X[:, 0]) for m in (0, 2, 5)])
    assert np.allclose(fourier(x), np.cos(x * [0, 2, 5]))
    kernel = Linear().of(fourier)
    assert kernel.n_features_out(1) == 3
    assert np.allclose(kernel.gram(x), np.cos(x * [0, 2, 5]) @ np.cos(x * [0, 2, 5]).T)
    # (x₁², x₂², √2 x₁x₂), and two maps of the linear kernel.
    X = rng.standard_normal((6, 2))
    a, b = X.T
    assert np.allclose(
        Polynomial(2, 1.0, 0.0).feature_map(X), np.column_stack([a**2, b**2, math.sqrt(2) * a * b])
    )
    twice = np.hstack([X, X]) / math.sqrt(2)
    assert np.allclose(twice @ twice.T, Linear().gram(X))


@pytest.mark.spec("sangnier/M-1.4.2-c")
def test_the_gaussian_has_a_feature_map_into_square_integrable_functions():
    """∫ φ_x φ_z = k(x, z), by the trapezoidal rule, in one and two dimensions."""
    kernel = Gaussian(0.7)
    t = np.linspace(-12, 12, 4001)[:, None]
    phi = [kernel.square_integrable_feature(x)(t) for x in (-0.4, 1.1)]
    assert phi[0] == pytest.approx(
        math.sqrt(2) * (0.7 / math.pi) ** 0.25 * np.exp(-1.4 * (t[:, 0] + 0.4) ** 2)
    )
    assert np.trapezoid(phi[0] * phi[1], t[:, 0]) == pytest.approx(
        kernel.gram([[-0.4], [1.1]])[0, 1], rel=1e-10
    )
    s = np.linspace(-6, 6, 241)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(s, s)])
    x, z = np.array([0.2, -0.5]), np.array([1.0, 0.3])
    product = kernel.square_integrable_feature(x)(grid) * kernel.square_integrable_feature(z)(grid)
    assert product.sum() * (s[1] - s[0]) ** 2 == pytest.approx(kernel.gram([x, z])[0, 1], rel=1e-10)


@pytest.mark.spec("rudi/M4.1")
def test_features_are_counted_before_they_explode():
    X = np.ones((3, 200))
    assert Polynomial(6).n_features_out(200) == math.comb(206, 6)
    for call in (
        lambda: Polynomial(6).feature_map(X),
        lambda: Monomials(6)(X),
        lambda: Exponential(0.1).taylor_features(X, 6),
        lambda: Gaussian(0.1).taylor_features(X, 6),
        lambda: Geometric().taylor_features(X / 1000, 6),
        lambda: (Linear() ** 6).feature_map(X),
        lambda: Linear().of(Monomials(6)).feature_map(X),
        lambda: (Polynomial(2) * Polynomial(2)).feature_map(X),
        lambda: BernoulliSpline().fourier_features(X, 1),
    ):
        with pytest.raises(ValueError, match="at most 100,000 features"):
            call()
    assert Polynomial(3).n_features_out(100) == 176_851
    with pytest.raises(ValueError, match="would be 176,851 for each of 1 rows"):
        Polynomial(3).feature_map(np.ones((1, 100)))
    for call in (
        lambda: Exponential(1.0).truncated(10**9),
        lambda: Geometric().truncated(10**9),
        lambda: BernoulliSpline().truncated(10**9),
        lambda: ExpSineSquared().truncation_error(10**9),
        lambda: CosineSeries([1.0, 1.0]).feature_map(np.ones((1, 3000))),
    ):
        with pytest.raises(ValueError, match=r"would be (1,000,000,001|more than 10¹⁵)"):
            call()
    with pytest.raises(ValueError, match="134,217,728 values"):
        Polynomial(2).feature_map(np.broadcast_to(1.0, (2_000_000, 20)))
    assert Gaussian().n_features_out(3) == math.inf
    for kernel in (Gaussian(), Laplacian(), Gaussian() + Linear(), Linear().exp(), 2 * Matern()):
        with pytest.raises(ValueError, match="has no finite feature map"):
            kernel.feature_map(np.ones((2, 2)))


@pytest.mark.spec("rudi/T4.7")
def test_the_cheaper_problem_is_that_of_the_smaller_side():
    """ℝ^d for more rows than columns, ℝ^n for more columns than rows, as Ridge does."""
    for n, d in ((10, 3), (3, 10), (7, 7), (1000, 999), (999, 1000)):
        chosen = cheaper_side(Linear(), n, d)
        assert chosen.side == ("primal" if d <= n else "dual")
        assert chosen.n_unknowns == min(n, d)
        assert (chosen.primal_cost <= chosen.dual_cost) == (d <= n)
    assert cheaper_side(Gaussian(), 10**6, 2).side == "dual"
    assert cheaper_side(Gaussian(), 10, 2).primal_cost == math.inf
    assert cheaper_side(Polynomial(2), 10**5, 5).side == "primal"
    assert cheaper_side(Polynomial(8), 1000, 50).side == "dual"


@pytest.mark.spec("rudi/T4.7", "rudi/T4.2")
@pytest.mark.parametrize("n", [8, 60])
def test_both_problems_have_one_solution(n, rng):
    """w = Φᵀα from (K + λI)α = y is the w of (ΦᵀΦ + λI)w = Φᵀy; Ridge takes the side that is named."""
    X, kernel = rng.standard_normal((n, 3)), Polynomial(2, 1.0)
    y, features = rng.standard_normal(n), kernel.feature_map(X)
    alpha = np.linalg.solve(kernel.gram(X) + 0.5 * np.eye(n), y)
    w = np.linalg.solve(features.T @ features + 0.5 * np.eye(10), features.T @ y)
    assert np.allclose(features.T @ alpha, w)
    assert np.allclose(features @ w, kernel.gram(X) @ alpha)
    assert w @ w == pytest.approx(alpha @ kernel.gram(X) @ alpha)
    model = Ridge(alpha=0.5, fit_intercept=False).fit(features, y)
    assert np.allclose(model.coef_, w)
    assert cheaper_side(Linear(), *features.shape).side == ("dual" if n < 10 else "primal")
