"""Positive semi-definiteness, measured."""

from __future__ import annotations

import numpy as np
import pytest

from assay.kernels import (
    Custom,
    Exponential,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    Sigmoid,
    asymmetry,
    check_psd,
    is_psd,
    mirror_upper,
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


def test_mirror_and_asymmetry_across_blocks(rng):
    A = rng.standard_normal((700, 700))
    expected = np.triu(A) + np.triu(A, 1).T
    assert np.isclose(asymmetry(A), np.abs(A - A.T).max())
    mirror_upper(A)
    assert np.array_equal(A, expected)
    assert asymmetry(A) == 0.0
