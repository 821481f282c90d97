"""Pictures of densities: the geometry that they show."""

from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from assay import display, theory
from assay.density import (
    BinnedKernelDensity,
    EmpiricalDistribution,
    HistogramDensity,
    KernelDensity,
    MovingWindowDensity,
)

mpl.use("Agg")
X = np.random.default_rng(0).standard_normal((150, 1))


def line(ax, label):
    return next(each for each in ax.get_lines() if each.get_label() == label)


@pytest.mark.parametrize(
    "model",
    [KernelDensity(bandwidth=0.15), MovingWindowDensity(), HistogramDensity(bins=9), BinnedKernelDensity()],
    ids=lambda model: type(model).__name__,
)
def test_the_curve_has_its_band_and_a_rug(model):
    ax = model.fit(X).plot(X)
    x, y = line(ax, "density").get_data()
    assert_allclose(y, model.pdf(np.asarray(x)[:, None]))
    assert np.all(np.isin(X[:, 0], line(ax, "rows").get_xdata()))
    assert line(ax, "rows").get_ydata()[0] < 0  # below the axis
    if hasattr(model, "pdf_interval"):
        (band,) = ax.collections
        corners = band.get_paths()[0].vertices
        interval = model.pdf_interval(np.asarray(x)[:, None])
        assert_allclose(corners[:, 1].max(), interval.high.max())
        assert "95% interval" in [text.get_text() for text in ax.get_legend().get_texts()]
    assert ax.get_xlabel() == "x0"


def test_the_criterion_stands_beside_the_truth():
    model = KernelDensity(bandwidth="ucv").fit(X)
    truth = theory.unbiased_criterion(
        stats.norm(), "gaussian", 150, model.bandwidths_[::7], repeats=2, interval=(-9, 9), random_state=0
    ).truth
    shown = display.BandwidthCriterionDisplay.from_estimator(
        model, truth=np.interp(model.bandwidths_, model.bandwidths_[::7], truth)
    )
    ax = shown.ax_
    assert_allclose(line(ax, "J, unbiased from the rows").get_ydata(), model.criterion_)
    assert line(ax, "true error less ∫p²").get_ydata().shape == model.criterion_.shape
    (mark,) = [each for each in ax.get_lines() if len(each.get_xdata()) == 2]
    assert_allclose(mark.get_xdata(), model.bandwidth_)
    low, high = ax.get_ylim()
    assert low < model.criterion_.min() < high
    # The valley fills the picture: from its least point the curve rises by half of the height on both sides.
    _, y = line(ax, "J, unbiased from the rows").get_data()
    least = int(np.argmin(y))
    assert min(y[:least].max(), y[least:].max()) - y[least] > 0.3 * (high - low)
    with pytest.raises(ValueError, match="needs a choice by 'ucv'"):
        KernelDensity().fit(X).plot(kind="criterion")


def test_what_is_no_row_and_what_is_no_bias_is_said():
    wide = KernelDensity(bandwidth=1.0).fit(X).plot()
    assert "95% interval, bias not included" in [text.get_text() for text in wide.get_legend().get_texts()]
    drawn = BinnedKernelDensity().fit(X).plot()
    assert line(drawn, "drawn from the model").get_ydata()[0] < 0


def test_steps_rise_at_the_values_within_their_band():
    model = EmpiricalDistribution().fit(X)
    ax = model.plot()
    steps = line(ax, "share of the rows up to here")
    assert steps.get_drawstyle() == "steps-post"
    assert_allclose(steps.get_ydata()[1:-1], np.arange(1, 151) / 150)
    corners = ax.collections[0].get_paths()[0].vertices[:, 1]
    assert corners.min() >= 0
    assert corners.max() <= 1


def test_ranks_are_sorted_densities_of_several_columns():
    table = np.random.default_rng(1).standard_normal((60, 3))
    ax = KernelDensity().fit(table).plot(table)
    values = ax.get_lines()[0].get_ydata()
    assert len(values) == 60
    assert np.all(np.diff(values) >= 0)
    with pytest.raises(ValueError, match="needs one column"):
        KernelDensity().fit(table).plot(table, kind="curve")


def test_rates_are_lines_of_the_slope_of_the_theorem():
    result = theory.density_rate(
        stats.norm(),
        "gaussian",
        [10**4, 10**6, 10**8],
        0.0,
        lambda n: theory.mse_bound("gaussian", n, [1.0], sup=0.4, curvature=0.4),
    )
    ax = display.plot_density_rate(result)
    assert (ax.get_xscale(), ax.get_yscale()) == ("log", "log")
    x, y = line(ax, "slope −0.80").get_data()
    assert_allclose(np.diff(np.log(y)) / np.diff(np.log(x)), -0.8)
    assert np.all(line(ax, "bound").get_ydata() >= line(ax, "exact error").get_ydata())
