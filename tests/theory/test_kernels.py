"""Spaces of kernels at work: universality, density, evaluation, membership, circles lifted to a plane."""

from __future__ import annotations

import numpy as np
import pytest

from assay.kernels import Exponential, Gaussian, Geometric, Laplacian, Linear, Polynomial, RKHSFunction
from assay.theory import (
    circles,
    density_errors,
    interpolation_errors,
    lift,
    membership_sums,
    power_sequence,
    ridge_by_side,
)

SIZES = [4, 8, 16, 32]


@pytest.mark.spec("sangnier/T-1.4.2-g")
@pytest.mark.parametrize(
    ("kernel", "reached"),
    [(Gaussian(10.0), 0.04), (Exponential(10.0), 0.04), (Laplacian(1.0), 0.05)],
    ids=["gaussian", "exponential", "laplacian"],
)
def test_interpolation_by_a_universal_kernel_approaches_a_continuous_function(kernel, reached):
    found = interpolation_errors(kernel, np.abs, SIZES)
    assert found.universal_on == "compact sets"
    assert np.all(np.diff(found.error) < 0)
    assert found.error[-1] < reached
    # A smooth function far faster, to the last digits of an ill-conditioned matrix.
    smooth = interpolation_errors(kernel, lambda x: np.sin(5 * x), [64])
    assert smooth.error[-1] < (0.01 if isinstance(kernel, Laplacian) else 1e-6)


@pytest.mark.spec("sangnier/T-1.4.2-g")
def test_interpolation_by_a_polynomial_kernel_stalls_at_the_best_polynomial():
    """No cubic is nearer to |x| on [−1, 1] than 1/8 (Chebyshev): more points do not help."""
    found = interpolation_errors(Polynomial(3, 1.0), np.abs, [*SIZES, 256])
    assert found.universal_on == ""
    assert np.all(found.error > 1 / 8)
    assert np.array_equal(found.rank, [4] * 5)
    assert found.error[-1] > 0.95 * found.error[-2]
    linear = interpolation_errors(Linear(), np.abs, SIZES)
    assert np.allclose(linear.error, 1.0, atol=1e-9)  # odd functions alone
    # Least squares over the Chebyshev points tends to |x| projected on T₀ and T₂: 2/π + 4T₂/(3π).
    x = np.linspace(-1, 1, 2001)
    limit = np.abs(2 / np.pi + 4 / (3 * np.pi) * (2 * x**2 - 1) - np.abs(x)).max()
    assert found.error[-1] == pytest.approx(limit, abs=1e-3)


def test_the_interpolant_goes_through_the_points():
    """Where the matrix has full rank: an independent solve gives the same error."""
    x = np.cos(np.pi * (np.arange(8) + 0.5) / 8)
    grid = np.linspace(-1, 1, 2001)

    def gaussian(a, b):
        return np.exp(-10.0 * (a[:, None] - b) ** 2)

    values = gaussian(grid, x) @ np.linalg.solve(gaussian(x, x), np.abs(x))
    found = interpolation_errors(Gaussian(10.0), np.abs, [8])
    assert found.error[0] == pytest.approx(np.abs(values - np.abs(grid)).max())
    assert found.rank[0] == 8


@pytest.mark.spec("rudi/T4.6")
def test_analytic_functions_come_as_near_to_the_absolute_value_as_one_likes():
    penalties = 10.0 ** -np.arange(0, 15, 2)
    for kernel in (Geometric(), Exponential(5.0)):
        found = density_errors(kernel, np.abs, penalties)
        assert np.all(np.diff(found.error) < 0)
        assert found.error[-1] < 0.04
        assert found.error[0] > 0.2
        # |x| is not in the space: its norm grows for ever, and faster and faster.
        assert np.all(np.diff(found.norm) > 0)
        assert found.norm[-1] > 100 * found.norm[2]
    stalled = density_errors(Polynomial(3, 1.0), np.abs, penalties)
    assert stalled.error[-1] > 0.95 / 8
    assert stalled.norm[-1] == pytest.approx(stalled.norm[-2], rel=1e-3)


@pytest.mark.spec("rudi/T4.6")
def test_the_fits_are_those_of_kernel_ridge():
    """At a large penalty, where the system is well conditioned: (K + nλI)α = y and αᵀKα."""
    found = density_errors(Geometric(), np.abs, [0.1], n_points=30)
    x = 0.95 * np.cos(np.pi * (np.arange(30) + 0.5) / 30)
    K = 1 / (1 - np.outer(x, x))
    alpha = np.linalg.solve(K + 3.0 * np.eye(30), np.abs(x))
    grid = np.linspace(-0.95, 0.95, 2001)
    error = np.abs(1 / (1 - np.outer(grid, x)) @ alpha - np.abs(grid)).max()
    assert found.error[0] == pytest.approx(error)
    assert found.norm[0] == pytest.approx(np.sqrt(alpha @ K @ alpha))


@pytest.mark.spec("sangnier/T-1.4.2-c")
def test_powers_vanish_in_the_mean_and_not_at_one():
    found = power_sequence([1, 10, 1000])
    x = np.linspace(0, 1, 200_001)
    assert np.allclose(found.l1_norm, [np.trapezoid(x**n, x) for n in (1, 10, 1000)], rtol=1e-4)
    assert np.array_equal(found.value_at_one, [1.0] * 3)
    # In a space with a kernel the value would be at most ‖f‖ √k(1, 1).
    f = RKHSFunction([1.0], [[0.5]], Gaussian(1.0))
    assert abs((f / 1000)([[1.0]]).item()) <= f.norm() / 1000


@pytest.mark.spec("sangnier/T-1.4.2-e")
def test_the_printed_criterion_of_membership_is_neither_sufficient_nor_necessary():
    n = 800
    i = np.arange(1, n + 1)
    point = np.zeros((n, 1))
    # α_i = 1/i at one point: Σ α² converges, the series (Σ 1/i) k(·, x) does not.
    diverges = membership_sums(Gaussian(1.0), point, 1.0 / i)
    assert diverges.diagonal[-1] < np.pi**2 / 6
    assert diverges.squared_norm[-1] == pytest.approx((1.0 / i).sum() ** 2)
    assert diverges.squared_norm[-1] > 2.0 * diverges.squared_norm[n // 10]
    assert diverges.last_step[n // 10] == pytest.approx((1.0 / i[n // 10 + 1 :]).sum(), rel=1e-6)
    # α_i = (−1)^i/√i: Σ α² diverges, the series converges.
    converges = membership_sums(Gaussian(1.0), point, (-1.0) ** i / np.sqrt(i))
    assert converges.diagonal[-1] == pytest.approx((1.0 / i).sum())
    assert converges.last_step[-2] == pytest.approx(1 / np.sqrt(n))
    assert converges.last_step[n // 2] < 0.05
    # Far points: features almost orthogonal, and the two sums agree, as the print has it.
    far = membership_sums(Gaussian(1.0), 10.0 * i[:50, None], 1.0 / i[:50])
    assert np.allclose(far.squared_norm, far.diagonal)


@pytest.mark.spec("rudi/T4.7", "rudi/T4.2")
@pytest.mark.parametrize(("n", "d"), [(40, 3), (3, 40), (9, 4)])
def test_the_cheaper_problem_is_solved_and_both_have_one_solution(n, d):
    rng = np.random.default_rng(n)
    X, y = rng.standard_normal((n, d)), rng.standard_normal(n)
    for kernel, size in ((Linear(), d), (Polynomial(2, 0.3), (d + 1) * (d + 2) // 2)):
        auto, primal, dual = (
            ridge_by_side(kernel, X, y, 0.7, side=side) for side in ("auto", "primal", "dual")
        )
        assert primal.weights.size == size
        assert np.allclose(primal.fitted, dual.fitted)
        assert primal.squared_norm == pytest.approx(dual.squared_norm)
        assert np.allclose(kernel.feature_map(X).T @ dual.function.alpha, primal.weights)
        cheaper = "primal" if n * size**2 + size**3 / 3 <= n**2 * d + n**3 / 3 else "dual"
        assert auto.solved == auto.costs.side == cheaper
        if kernel == Linear():
            assert auto.solved == ("primal" if d <= n else "dual")
        # Stationary in any direction: the gradient of Σ (y − f)² + α‖f‖² along φ is zero.
        residual = y - primal.fitted
        assert np.allclose(kernel.feature_map(X).T @ residual, 0.7 * primal.weights)
    assert ridge_by_side(Gaussian(), X, y, 0.7).solved == "dual"


@pytest.mark.spec("rudi/F4.1", "sangnier/M-1.4.2-c")
def test_circles_are_separated_by_a_plane_in_the_space_of_their_squares():
    X, y = circles(60, random_state=3)
    found = lift(X, y)
    a, b = X.T
    assert np.allclose(found.features, np.column_stack([a**2, b**2, np.sqrt(2) * a * b]))
    assert np.allclose(found.features @ found.features.T, (X @ X.T) ** 2)
    assert (found.before, found.after) == ("overlapping", "separable")
    # By hand: no line has all rows on its side, as the centre of the outer circle is inside the inner one;
    # the plane φ₁ + φ₂ = 0.75² does.
    outer, inner = np.square(X).sum(axis=1)[y == 1], np.square(X).sum(axis=1)[y == 0]
    assert outer.min() > 0.5625 > inner.max()
    scores = found.features @ found.weights + found.intercept
    assert np.array_equal(scores > 0, y == 1)
    assert np.allclose(np.abs(scores) / np.linalg.norm(found.weights), found.margins)
    assert np.all(found.margins > 0)
    # The same function with kernel evaluations alone.
    new = np.random.default_rng(0).standard_normal((5, 2))
    features = np.column_stack([new[:, 0] ** 2, new[:, 1] ** 2, np.sqrt(2) * new[:, 0] * new[:, 1]])
    assert np.allclose(found.function(new), features @ found.weights)


def test_a_lift_that_does_not_separate_says_so():
    X, y = circles(30, radii=(1.0, 1.0), random_state=0)
    found = lift(X, y)
    assert found.after == "overlapping"
    assert found.weights is None
    with pytest.raises(ValueError, match="No plane separates the features"):
        found.function
    assert lift(*circles(20, random_state=0), Linear()).after == "overlapping"


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: circles(0), "'n_samples' parameter of circles"),
        (lambda: circles(5, radii=(1.0,)), "'radii' parameter of circles must be two numbers above 0"),
        (lambda: circles(5, noise=-1.0), "'noise' parameter of circles"),
        (lambda: lift([[0.0], [1.0]], [1, 1]), "'y' parameter of lift must be labels of two kinds"),
        (lambda: lift([[0.0], [1.0]], [0, 1], Gaussian()), "has no finite feature map"),
        (lambda: interpolation_errors(Linear(), np.abs, [0]), "'n_points' parameter of interpolation_errors"),
        (lambda: interpolation_errors(Linear(), np.abs, [3], interval=(1, 0)), "the smaller one first"),
        (
            lambda: density_errors(Linear(), np.abs, [0.0]),
            "'penalties' parameter of density_errors must be numbers",
        ),
        (lambda: ridge_by_side(Linear(), [[1.0]], [1.0], 0.0), "'alpha' parameter of ridge_by_side"),
        (lambda: ridge_by_side(Linear(), [[1.0]], [1.0], 1.0, side="x"), "'side' parameter of ridge_by_side"),
        (lambda: ridge_by_side(Linear(), [[1.0]], [1.0, 2.0], 1.0), "'y' parameter of ridge_by_side"),
        (lambda: density_errors(Geometric(), np.abs, [1.0], interval=(-2, 2)), "needs rows of norm below 1"),
        (
            lambda: membership_sums(Linear(), [[1.0]], [1.0, 2.0]),
            "'coefficients' parameter of membership_sums",
        ),
    ],
)
def test_bad_arguments_are_refused_in_one_sentence(make, words):
    with pytest.raises(ValueError, match=words):
        make()
