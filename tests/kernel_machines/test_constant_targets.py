"""Targets that are all equal, in any unit: the constant is the fit, and rounding is no gap."""

from __future__ import annotations

import numpy as np
import pytest

from assay.kernel_machines import SVC, SVR, KernelERM, KernelQuantileRegressor, NuSVR

REGRESSORS = [
    SVR(),
    SVR(loss="squared_epsilon_insensitive"),
    KernelQuantileRegressor(quantile=0.3),
    NuSVR(),
    NuSVR(nu=1.0),
    KernelERM(loss="absolute"),
]
ROWS = np.random.default_rng(0).normal(size=(40, 3))


@pytest.mark.parametrize("model", REGRESSORS, ids=repr)
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("target", [0.0, 1.0, -3.3, 1e-8, 1e8])
@pytest.mark.parametrize("rows", [ROWS, 1e-8 * ROWS, np.full_like(ROWS, 1.3)], ids=["1", "1e-8", "equal"])
def test_a_constant_target_is_fitted_and_proved(model, kernel, target, rows):
    y = np.full(len(rows), target)
    fitted = model.set_params(kernel=kernel).fit(rows, y)
    fitted.certificates_.require()
    fitted.certify(rows, y).require()
    np.testing.assert_allclose(fitted.predict(rows), y, rtol=1e-9)


@pytest.mark.parametrize("model", [SVR(C=3.0), KernelQuantileRegressor(), NuSVR(nu=0.3)], ids=repr)
def test_an_intercept_takes_what_is_added_to_targets(model):
    y = np.sin(ROWS[:, 0])
    plain = model.fit(ROWS, y)
    expected, support = plain.predict(ROWS), plain.support_
    far = model.fit(ROWS, y + 1e6)
    np.testing.assert_allclose(far.predict(ROWS) - 1e6, expected, atol=1e-7)
    np.testing.assert_array_equal(far.support_, support)
    far.certify(ROWS, y + 1e6).require()


@pytest.mark.parametrize("cost", [1.0, 1e3])
def test_classes_of_equal_rows_have_a_norm_that_is_rounding(cost):
    rows, y = np.full((40, 3), 1.3), np.arange(40) % 3 == 0
    model = SVC(loss="squared_hinge", C=cost).fit(rows, y)
    model.certificates_.require()
    model.certify(rows, y).require()
