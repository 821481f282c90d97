"""Positive semi-definiteness, measured."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import sparse

from assay.kernels import (
    Custom,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    asymmetry,
    check_kernel,
    check_psd,
    is_psd,
    mirror_upper,
    search_refutation,
)


@pytest.mark.spec("wei/M6.2", "peyre/M10")
@pytest.mark.parametrize(
    "kernel",
    [Linear(), Gaussian(0.5), Laplacian(0.5), Polynomial(3), Polynomial(2, 1.0, 0.0), Exponential(0.1)],
)
def test_every_kernel_with_a_theorem_is_psd_on_data(kernel, rng):
    X = rng.standard_normal((60, 4))
    found = check_psd(kernel, X)
    assert kernel.positive_definite
    assert found
    assert found.min_eigenvalue >= -found.tolerance
    assert np.isclose(found.max_eigenvalue, np.linalg.eigvalsh(kernel.gram(X))[-1])


@pytest.mark.spec("wei/M6.2", "peyre/M10")
def test_what_is_not_psd_is_found_with_a_direction(rng):
    X = rng.standard_normal((30, 2))
    for kernel in (Sigmoid(1.0, -1.0), Custom(lambda x, z: -float(x @ z))):
        found = check_psd(kernel, X)
        assert not found
        direction = found.direction
        K = kernel.gram(X)
        assert np.isclose(direction @ K @ direction, found.min_eigenvalue)
        assert found.min_eigenvalue < 0


@pytest.mark.spec("peyre/M10")
def test_a_fractional_power_is_not_a_kernel():
    """(1 + xz)^{1.5} has a negative coefficient in its power series: the degree must be whole."""
    x = np.linspace(-0.9, 0.9, 6)
    assert not is_psd((1 + np.outer(x, x)) ** 1.5)
    assert is_psd((1 + np.outer(x, x)) ** 2)


@pytest.mark.spec("sangnier/T-1.4.2-a", "rudi/M4.5", "wei/T6.1", "douc/T8.10")
def test_the_points_and_the_vector_refute_by_themselves(rng):
    """cᵀKc < 0, summed by hand from the function on the points that are handed back."""

    def function(x, z):
        return float(np.abs(x - z).sum())

    X = rng.standard_normal((40, 2))
    for kernel, one in (
        (Custom(function), function),
        (Sigmoid(1.0, -1.0), lambda x, z: math.tanh(x @ z - 1.0)),
        (Custom(lambda x, z: float((1.0 + x @ z) ** 3 - 5.0)), lambda x, z: (1.0 + x @ z) ** 3 - 5.0),
    ):
        found = check_kernel(kernel, X)
        assert not found
        assert not found.definite
        c, points = found.vector, found.points
        total = sum(c[i] * c[j] * one(x, z) for i, x in enumerate(points) for j, z in enumerate(points))
        assert total == pytest.approx(found.value)
        assert total < -found.tolerance
        assert np.linalg.norm(c) == pytest.approx(1.0)
        rows = {tuple(row) for row in X}
        assert all(tuple(point) in rows for point in points)
    # k(x, x) = 0 and k(x, z) > 0: two points are enough.
    assert len(check_kernel(Custom(function), X).points) == 2
    assert check_kernel is check_psd


def test_no_more_points_refute_than_must(rng):
    # Every two rows are in order; the one direction of a negative value is that of three rows of forty.
    bad = [7, 19, 33]

    def function(x, z):
        i, j = int(x[0]), int(z[0])
        return 1.0 if i == j else -0.6 if i in bad and j in bad else 0.0

    found = check_kernel(Custom(function), np.arange(40.0)[:, None])
    assert found.points.ravel().tolist() == bad
    assert found.value == pytest.approx(-0.2)


@pytest.mark.spec("sangnier/T-1.4.2-a")
def test_positive_definite_on_distinct_points_is_told_from_semi_definite(rng):
    X = rng.standard_normal((12, 2))
    twice = np.vstack([X, X[:3]])
    gaussian, linear = check_psd(Gaussian(1.0), twice), check_psd(Linear(), X)
    assert gaussian
    assert gaussian.definite
    assert linear
    assert not linear.definite
    assert gaussian.points is None
    assert gaussian.vector is None
    assert check_psd(Linear(), X[:2]).definite
    assert check_psd(Gaussian(1.0), sparse.csr_array(twice)).definite


@pytest.mark.spec("sangnier/T-1.4.2-a")
def test_an_asymmetric_function_is_refuted_by_two_rows(rng):
    X = rng.standard_normal((8, 2))
    found = check_psd(Custom(lambda x, z: float(x[0] * z[1])), X)
    x, z = found.points
    assert found.value == pytest.approx(x[0] * z[1] - z[0] * x[1])
    assert abs(found.value) == pytest.approx(found.asymmetry)
    assert found.vector is None


@pytest.mark.spec("rudi/M4.5")
def test_random_sets_of_points_refute_what_is_no_kernel_and_nothing_else():
    for kernel in (
        Gaussian(1.0),
        Polynomial(3),
        Laplacian(1.0),
        Gaussian(1.0) * Linear() + Exponential(0.01),
    ):
        assert search_refutation(kernel, 2, n_sets=10, random_state=0) is None
    for kernel in (
        Sigmoid(1.0),
        Custom(lambda x, z: -float(x @ z)),
        Custom(lambda x, z: float(np.cos(x @ z))),
    ):
        found = search_refutation(kernel, 2, random_state=0)
        K = kernel.cross(found.points, found.points)
        assert found.vector @ K @ found.vector == pytest.approx(found.value)
        assert found.value < 0
    with pytest.raises(ValueError, match="'n_sets' parameter of search_refutation must be"):
        search_refutation(Linear(), 2, n_sets=0)


def test_an_asymmetric_function_is_not_a_kernel(rng):
    X = rng.standard_normal((10, 2))
    found = check_psd(Custom(lambda x, z: float(x[0] * z[1])), X)
    assert not found
    assert found.asymmetry > 0.1


def test_tolerance_and_shapes():
    assert is_psd(np.diag([1.0, -1e-3]), tolerance=1e-2)
    assert not is_psd(np.diag([1.0, -1e-3]))
    assert is_psd(np.ones((3, 3), dtype=int))
    assert is_psd(np.eye(3, dtype=np.float32))
    for bad in (np.ones((2, 3)), np.ones(3), np.ones((0, 0))):
        with pytest.raises(ValueError, match="square matrix"):
            is_psd(bad)


def test_a_kernel_that_overflows_is_told_and_not_called_indefinite():
    with pytest.raises(ValueError, match=r"finite numbers\. The matrix holds NaN or infinity"):
        check_psd(Exponential(1.0), [[1e3], [1.0]])


def test_mirror_and_asymmetry_across_blocks(rng):
    A = rng.standard_normal((700, 700))
    expected = np.triu(A) + np.triu(A, 1).T
    assert np.isclose(asymmetry(A), np.abs(A - A.T).max())
    mirror_upper(A)
    assert np.array_equal(A, expected)
    assert asymmetry(A) == 0.0
