"""The picture of kernel ridge regressions at several widths and penalties."""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
import pytest

from assay.display import plot_curves
from assay.kernel_machines import KernelRidge
from assay.kernels import Gaussian


@pytest.fixture
def waves():
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(0, 6, size=40))[:, None]
    yield x, np.sin(2 * x[:, 0]) + 0.3 * rng.normal(size=40)
    plt.close("all")


@pytest.mark.spec("peyre/X9")
def test_curves_go_from_too_smooth_to_too_local_and_the_least_error_left_out_is_framed(waves):
    X, y = waves
    gammas, alphas = [0.01, 1.0, 500.0], [1e-3, 0.3, 100.0]
    shown = plot_curves(KernelRidge(kernel="rbf"), X, y, gammas=gammas, alphas=alphas)
    insets = shown.ax_.child_axes
    assert len(insets) == 9
    for place, (line, column) in enumerate(np.ndindex(3, 3)):
        kernel = Gaussian(gammas[line])
        system = kernel.gram(X) + alphas[column] * np.eye(40)
        coef = np.linalg.solve(system, y)
        (curve,) = insets[place].lines
        at, values = curve.get_data()
        np.testing.assert_allclose(values, kernel.cross(at[:, None], X) @ coef, atol=1e-6)
        assert shown.training[line, column] == pytest.approx(np.mean((y - kernel.gram(X) @ coef) ** 2))
        # y − f without the row is the coefficient over the diagonal of the inverse.
        left_out = np.mean((coef / np.diag(np.linalg.inv(system))) ** 2)
        assert shown.leave_one_out[line, column] == pytest.approx(left_out, rel=1e-6)
        assert f"γ = {gammas[line]:g}, penalty {alphas[column]:g}" in insets[place].get_title()
    framed = [each.spines["top"].get_visible() for each in insets]
    assert framed.index(True) == np.argmin(shown.leave_one_out)
    assert sum(framed) == 1
    best = shown.leave_one_out.min()
    # Too smooth: both errors large. Too local: no error of training, and beside the rows the function is 0.
    assert shown.training[0, 2] > 3 * best
    assert shown.leave_one_out[0, 2] > 3 * best
    assert shown.training[2, 0] < 0.01 * best
    assert shown.leave_one_out[2, 0] > 3 * best
    local = shown.panels[2][0]
    far = np.abs(local.grid[:, None] - X[:, 0]).min(axis=1) > 0.15
    assert far.any()
    assert np.abs(local.fitted[far]).max() < 1e-3
