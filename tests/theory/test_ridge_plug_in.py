"""The risk curves of ridge with estimates in place of the truth."""

from __future__ import annotations

import numpy as np
import pytest

from assay.linear import LinearRegression
from assay.theory import ridge_error, ridge_risk


@pytest.mark.spec("rudi/T1.8", "douc/T6.8")
def test_the_plug_in_curves_exceed_the_true_ones_by_the_noise_of_the_estimate(rng):
    """Estimates in place of θ* and σ: E⟨θ̂, v_j⟩² = ⟨θ*, v_j⟩² + σ²/(nλ_j), and E σ̂² = σ²."""
    X, truth = rng.standard_normal((30, 4)) * [3, 1, 0.5, 0.1], np.array([1.0, -1.0, 2.0, 3.0])
    n, sigma, strengths = 30, 0.7, np.array([0.05, 0.4])
    targets = (X @ truth)[:, None] + sigma * rng.standard_normal((n, 1500))
    fit = LinearRegression(fit_intercept=False).fit(X, targets)
    deviations = np.sqrt(fit.noise_variance_)
    pairs = list(zip(fit.coef_, deviations, strict=True))
    risks = np.array([ridge_risk(X, coef, noise, strengths)[1:3] for coef, noise in pairs])
    errors = np.array([ridge_error(X, coef, noise, n * strengths)[1:3] for coef, noise in pairs])
    spectrum = np.linalg.eigvalsh(X.T @ X / n)
    kept = (strengths[:, None] / (spectrum + strengths[:, None])) ** 2
    exact, error = ridge_risk(X, truth, sigma, strengths), ridge_error(X, truth, sigma, n * strengths)
    for drawn, expected in (
        (risks[:, 0], exact.bias + sigma**2 / n * kept.sum(axis=1)),
        (risks[:, 1], exact.variance),
        (errors[:, 0], error.bias + sigma**2 / n * (kept / spectrum).sum(axis=1)),
        (errors[:, 1], error.variance),
    ):
        assert np.all(np.abs(drawn.mean(axis=0) - expected) < 4 * drawn.std(axis=0) / np.sqrt(1500))
