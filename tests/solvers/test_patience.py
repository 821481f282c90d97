"""Rows far out make every Newton step short: the solver goes on by quasi-Newton steps."""

from __future__ import annotations

import numpy as np
import pytest

from assay.linear import GeneralizedLinear
from assay.solvers.smooth.fit import PATIENCE


def test_rows_far_out_do_not_make_a_fit_long():
    rng = np.random.default_rng(0)
    size = np.exp(rng.normal(-0.4, 0.6, 2000))
    length = 6.4 * np.cbrt(size)
    x, width, depth = (length * share + 0.05 * rng.normal(size=2000) for share in (1.0, 1.0, 0.62))
    width[[3, 70]], depth[5], x[rng.integers(2000, size=8)] = (58.9, 31.8), 31.8, 0.0  # slips of the pen
    X = np.column_stack([size, x, width, depth, rng.normal(size=(2000, 10))])
    y = np.exp(7.8 + 1.7 * np.log(size) + 0.1 * rng.normal(size=2000))
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    options = {"family": "gamma", "link": "log", "alpha": 1e-3}
    plain = GeneralizedLinear(**options, solver="newton", max_iter=2000).fit(X, y)
    quick = GeneralizedLinear(**options, history=True).fit(X, y)
    assert plain.n_iter_ > 4 * PATIENCE > 2 * PATIENCE > quick.n_iter_ > PATIENCE
    assert quick.solver_ == "quasi_newton"
    assert quick.converged_
    np.testing.assert_allclose(quick.coef_, plain.coef_, rtol=1e-4)
    assert quick.certify(X, y).holds
    assert np.all(np.diff(quick.history_) <= 1e-9)
    assert len(quick.history_) == pytest.approx(quick.n_iter_, abs=2)
