"""What Huber's loss is certified from, against plain sums."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from assay.losses import Huber
from assay.rows import MemoryRows
from assay.solvers.piecewise.gap import huber_step


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_the_evidence_loop_adds_what_numpy_adds(make, dtype, rng):
    X, y, weight = rng.normal(size=(80, 3)).astype(dtype), rng.normal(size=80), np.linspace(0, 2, 80)
    coef, intercept, sigma, epsilon = np.array([0.5, -1.0, 0.2]), 0.1, 0.7, 1.2
    found = MemoryRows(make(X), y, weight).reduce(huber_step, Huber(epsilon), coef, intercept, sigma)
    residual = y - X @ coef - intercept
    z = residual / sigma
    nu = weight * 2 * np.clip(z, -epsilon, epsilon)
    loss = np.where(np.abs(z) <= epsilon, z**2, 2 * epsilon * np.abs(z) - epsilon**2)
    assert found.weight == pytest.approx(weight.sum())
    assert found.loss == pytest.approx(sigma * weight @ (1 + loss))
    assert_allclose(loss / 2, Huber(epsilon).value(z, np.zeros(80)))
    still = y / sigma
    at_zero = np.where(np.abs(still) <= epsilon, still**2, 2 * epsilon * np.abs(still) - epsilon**2)
    assert found.loss_at_zero == pytest.approx(sigma * weight @ (1 + at_zero))
    for side, part in enumerate((np.maximum(nu, 0), np.minimum(nu, 0))):
        assert found.slack[side] == pytest.approx(part @ residual)
        assert found.mass[side] == pytest.approx(np.abs(part).sum())
        assert found.squares[side] == pytest.approx(np.sum(part[1:] ** 2 / (4 * weight[1:])))
        assert_allclose(found.pulls[side], part @ X, atol=1e-5)
