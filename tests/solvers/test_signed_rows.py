"""The vectors of margins, never formed, agree with those formed one by one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from assay.solvers.signed_rows import signed_rows


@pytest.fixture(params=[(2, True), (2, False), (4, True), (4, False)], ids=str)
def rows(request, rng):
    K, intercept = request.param
    X = rng.standard_normal((9000, 3)) * [1.0, 100.0, 1e-3] + [0.0, 50.0, 1.0]
    y = rng.integers(0, K, 9000)
    weight = (rng.uniform(size=9000) < 0.9).astype(float)
    return X, y, weight, intercept


def test_products_are_those_of_the_dense_vectors(rows, rng):
    X, y, weight, intercept = rows
    signed = signed_rows("test", X, y, intercept, weight)
    Z = signed.vectors(np.arange(signed.n_margins))
    assert Z.shape == (int(weight.sum()) * (len(np.unique(y)) - 1), signed.size)
    w, share = rng.standard_normal(signed.size), rng.uniform(size=signed.n_margins)
    assert_allclose(signed.margins(w), Z @ w, atol=1e-9)
    assert_allclose(signed.adjoint(share), Z.T @ share, atol=1e-8)
    assert_allclose(signed.gram(share), (Z.T * share) @ Z, rtol=1e-9, atol=1e-7)
    corrected = share * (1 - Z @ signed.correction(share))
    assert_allclose(corrected @ Z, 0, atol=1e-7)
    assert_allclose(signed.margins(signed.coefficients(Z @ w)), Z @ w, atol=1e-8)


def test_margins_are_those_of_the_features_as_they_came(rows, rng):
    X, y, weight, intercept = rows
    signed = signed_rows("test", X, y, intercept, weight)
    w = rng.standard_normal(signed.size)
    direction, offset = signed.original(w)
    scores = X @ np.atleast_2d(direction).T + offset
    scores = np.column_stack([np.zeros(len(X)), scores]) if scores.shape[1] == 1 else scores
    kept = np.flatnonzero(weight)
    own = scores[kept, y[kept]]
    by_hand = np.array([own[i] - np.delete(scores[k], y[k]) for i, k in enumerate(kept)]).ravel()
    assert_allclose(signed.margins(w), by_hand, atol=1e-8)
    if intercept:
        assert_allclose(signed.standardised(direction, offset), w, atol=1e-8)
    share = rng.uniform(size=signed.n_margins)
    assert_allclose(signed.compressed(signed.expanded(share)), share)


def test_few_rows_absorb_a_small_imbalance_exactly(rows, rng):
    X, y, weight, intercept = rows
    signed = signed_rows("test", X, y, intercept, weight)
    Z = signed.vectors(np.arange(signed.n_margins))
    share = rng.uniform(0.5, 1.5, signed.n_margins)
    share *= 1 - Z @ signed.correction(share)  # balanced, and then disturbed a little
    share[:50] *= 1 + 1e-4
    few, relative = signed.correction_of_few(share)
    assert np.abs(relative).max() < 0.1
    share[few] *= 1 - relative
    assert_allclose(share @ Z, 0, atol=1e-7)


def test_sparse_rows_give_the_same_products(rows, rng):
    X, y, weight, intercept = rows
    X = np.where(rng.uniform(size=X.shape) < 0.5, 0.0, X)
    signed = signed_rows("test", sparse.csr_array(X), y, intercept, weight)
    Z = signed.vectors(np.arange(signed.n_margins))
    w, share = rng.standard_normal(signed.size), rng.uniform(size=signed.n_margins)
    assert_allclose(signed.margins(w), Z @ w, atol=1e-9)
    assert_allclose(signed.gram(share), (Z.T * share) @ Z, rtol=1e-9, atol=1e-7)
