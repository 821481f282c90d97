"""Weights of an ensemble are the best convex ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from assay.models.stacking import convex_weights


def loss(weights, predictions, y):
    return np.sum((y - predictions @ weights) ** 2)


@pytest.mark.parametrize("seed", range(6))
def test_weights_minimise_the_squared_error_over_the_simplex(seed):
    rng = np.random.default_rng(seed)
    y = rng.normal(size=80)
    predictions = y[:, None] * rng.uniform(0.2, 1.2, size=5) + rng.normal(size=(80, 5))
    weights = convex_weights(predictions, y)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)
    found = minimize(
        loss,
        np.full(5, 0.2),
        args=(predictions, y),
        method="SLSQP",
        bounds=[(0, 1)] * 5,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1},
        options={"ftol": 1e-12},
    )
    assert loss(weights, predictions, y) <= found.fun * (1 + 1e-9)
    # Optimality: the gradient is the same for all members that have a weight, and no smaller for the others.
    gradient = 2 * predictions.T @ (predictions @ weights - y)
    least = gradient[weights > 1e-9].mean()
    assert_allclose(gradient[weights > 1e-9], least, atol=1e-8 * np.abs(gradient).max())
    assert np.all(gradient >= least - 1e-8 * np.abs(gradient).max())


def test_units_do_not_matter(rng):
    y = rng.normal(size=50)
    predictions = y[:, None] + rng.normal(size=(50, 3))
    weights = convex_weights(predictions, y)
    assert_allclose(convex_weights(1e9 * predictions, 1e9 * y), weights, atol=1e-9)
    assert_allclose(convex_weights(1e-9 * predictions, 1e-9 * y), weights, atol=1e-9)


def test_a_member_that_is_right_has_all_the_weight(rng):
    y = rng.normal(size=30)
    assert_allclose(convex_weights(np.column_stack([y, y + rng.normal(size=30)]), y), [1, 0], atol=1e-9)
    assert_allclose(convex_weights(np.column_stack([y, y]), y), [0.5, 0.5])


def test_outputs_share_the_weights(rng):
    truth = np.eye(3)[rng.integers(0, 3, size=60)]
    said = np.stack([rng.dirichlet(np.ones(3), size=60) for _ in range(2)], axis=-1)
    flat = convex_weights(said.reshape(-1, 2), truth.reshape(-1))
    assert_allclose(convex_weights(said, truth), flat)


def test_predictions_that_are_no_numbers_are_refused():
    with pytest.raises(ValueError, match="finite"):
        convex_weights([[1.0, np.inf]], [1.0])
