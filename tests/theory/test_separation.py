"""Separable classes: the likelihood runs away along a direction, the rule of moments stays."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.parameters import ParameterError
from assay.theory import separation_curve


@pytest.fixture
def separable(rng):
    X = rng.standard_normal((40, 2))
    score = X @ [1.0, -2.0] + 0.3
    return X[np.abs(score) > 0.1], np.where(score > 0, "right", "left")[np.abs(score) > 0.1]


@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_the_risk_along_the_direction_falls_strictly_to_zero(separable):
    X, y = separable
    lengths = np.concatenate([[0.0], np.geomspace(0.1, 1e3, 40)])
    found = separation_curve(X, y, lengths)
    margins = np.where(y == "right", 1, -1) * (X @ found.direction + found.intercept)
    assert margins.min() > 0
    assert_allclose(found.risk, [np.log1p(np.exp(-t * margins)).mean() for t in lengths], rtol=1e-12)
    assert found.risk[0] == pytest.approx(np.log(2))
    assert np.all(np.diff(found.risk[found.risk > 0]) < 0)
    assert np.all(found.risk <= np.exp(-lengths * margins.min()))  # log(1 + e^{−u}) ≤ e^{−u}
    assert separation_curve(X, y, 60 / margins.min()).risk[0] < 1e-20


@pytest.mark.spec("sangnier/T-1.2.2-b")
def test_the_rule_of_moments_stays_defined(separable):
    X, y = separable
    slope, intercept = np.split(separation_curve(X, y, [1.0]).discriminant, [2])
    parts = [X[y == "left"], X[y == "right"]]
    means = [part.mean(axis=0) for part in parts]
    pooled = sum(np.cov(part.T, bias=True) * len(part) for part in parts) / len(X)
    assert_allclose(pooled @ slope, means[1] - means[0], rtol=1e-9)
    odds = np.log(len(parts[1]) / len(parts[0]))
    assert_allclose(intercept, odds - slope @ (means[0] + means[1]) / 2)
    assert np.mean((X @ slope + intercept > 0) == (y == "right")) > 0.9


def test_classes_that_overlap_have_no_curve(rng):
    X = rng.standard_normal((50, 2))
    for labels, status in ((rng.integers(0, 2, 50), "overlapping"), (X[:, 0] > X[0, 0], None)):
        if status:
            with pytest.raises(ParameterError, match=f"a hyperplane separates strictly. Got '{status}'"):
                separation_curve(X, labels, [1.0])
        else:
            assert separation_curve(X, labels, [1.0]).risk.shape == (1,)
    with pytest.raises(ParameterError, match="'lengths' parameter of separation_curve"):
        separation_curve([[0.0], [1.0]], [0, 1], [-1.0])
    with pytest.raises(
        ParameterError, match="'y' parameter of separation_curve must be labels of exactly two"
    ):
        separation_curve([[0.0], [1.0], [2.0]], [0, 1, 2], [1.0])
