"""Empirical distribution functions and their bands."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from assay.density import BinnedKernelDensity, EmpiricalDistribution, HistogramDensity
from blocks import small_blocks


@pytest.mark.spec("douc/M2.2")
def test_steps_are_shares_of_the_rows_unbiased_and_within_their_bands():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 9, (60, 2)).astype(float)
    model = EmpiricalDistribution().fit(X)
    at = np.array([-1.0, 0.0, 3.5, 8.0, 20.0])
    for column in (0, 1):
        assert_allclose(model.cdf(at, column), [(X[:, column] <= x).mean() for x in at])
        theirs = stats.ecdf(X[:, column]).cdf
        part = slice(model.offsets_[column], model.offsets_[column + 1])
        assert_allclose(model.jumps_[part], theirs.quantiles)
        assert_allclose(model.heights_[part], theirs.probabilities)
    assert_allclose(model.transform(X)[:, 1], model.cdf(X[:, 1], 1))
    # Unbiased at a point; Hoeffding's band covers there, that of Dvoretzky, Kiefer and Wolfowitz everywhere.
    n, truth, points = 40, stats.norm.cdf(0.3), np.linspace(-4, 4, 801)
    values, at_point, everywhere = [], [], []
    for _ in range(500):
        x = rng.standard_normal(n)
        one = EmpiricalDistribution(coverage=0.9, band="hoeffding").fit(x[:, None])
        values.append(one.cdf(0.3))
        _cdf, low, high = one.confidence_band(0.3)
        at_point.append(low <= truth <= high)
        jumps = np.sort(x)
        gap = np.maximum(
            np.abs(one.cdf(jumps) - stats.norm.cdf(jumps)),
            np.abs(one.cdf(jumps) - 1 / n - stats.norm.cdf(jumps)),
        )
        everywhere.append(gap.max() <= EmpiricalDistribution(coverage=0.9).fit(x[:, None]).half_width_)
    assert abs(np.mean(values) - truth) < 4 * np.std(values) / np.sqrt(500)
    assert_allclose(one.half_width_, np.sqrt(np.log(2 / 0.1) / (2 * n)))
    assert np.mean(at_point) >= 0.9
    assert 0.9 - 4 * 0.3 / np.sqrt(500) < np.mean(everywhere) < 0.99  # nearly exact: it bites
    assert np.all(np.diff(one.cdf(points)) >= 0)


def test_quantiles_are_the_least_values_that_reach_a_share():
    model = EmpiricalDistribution().fit(np.array([[1.0], [2.0], [2.0], [5.0]]))
    assert_allclose(model.quantile([0.0, 0.25, 0.26, 0.75, 0.76, 1.0]), [1, 1, 2, 2, 5, 5])
    with pytest.raises(ValueError, match="'share' parameter"):
        model.quantile(1.1)
    with pytest.raises(ValueError, match="'column' parameter"):
        model.cdf(0.0, column=1)


def test_memory_parquet_and_dask_agree_for_every_density_that_walks(tmp_path):
    pd, da = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    rng = np.random.default_rng(5)
    X, weight = rng.normal(size=(3000, 2)) * [1.0, 50.0] + 1e4, rng.integers(0, 4, 3000).astype(float)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "w": weight})
    frame.to_parquet(tmp_path / "rows.parquet", row_group_size=700)
    lazy = da.from_array(X, chunks=(800, 2)), da.from_array(weight, chunks=800)
    models = (
        EmpiricalDistribution(),
        HistogramDensity(bins=6),
        HistogramDensity(max_bins=12),
        BinnedKernelDensity(),
        BinnedKernelDensity(0.5, cells_per_bandwidth=4),
    )
    for model in models:
        ask = model.transform if isinstance(model, EmpiricalDistribution) else model.pdf
        expected = ask_after(model, ask, (X, weight), X[:200])
        with small_blocks():
            for source in ((str(tmp_path / "rows.parquet"), "w"), lazy):
                found = ask_after(model, ask, source, X[:200])
                assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())


def ask_after(model, ask, source, rows):
    rows_of, weight = source
    model.fit(rows_of, sample_weight=weight)
    names = ("offsets_", "half_width_", "bins_", "counts_", "masses_", "error_bound_")
    fitted = [np.ravel(getattr(model, name)) for name in names if hasattr(model, name)]
    if isinstance(rows_of, str):  # columns have names there
        rows = pd_frame(rows)
    return np.concatenate([np.ravel(np.asarray(ask(rows))), *fitted])


def pd_frame(rows):
    import pandas as pd

    return pd.DataFrame(rows, columns=["a", "b"])
