"""Histograms: counts, heights, exact risk, cross-validation, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats

from assay.density import BinnedKernelDensity, EmpiricalDistribution, HistogramDensity
from assay.rows import MemoryRows
from assay.theory import histogram_imse, histogram_mse

BETA = stats.beta(2, 3)


@pytest.mark.spec("douc/M2.1")
def test_heights_are_shares_over_widths_on_any_support():
    x = np.array([0.05, 0.1, 0.26, 0.49, 0.5, 0.99])
    model = HistogramDensity(bins=4, support=(0, 1)).fit(x[:, None])
    assert_allclose(model.counts_, [2, 2, 1, 1])  # 0.5 is in [0.5, 0.75)
    assert_allclose(model.edges_[0], [0, 0.25, 0.5, 0.75, 1])
    assert_allclose(model.pdf([[0.0], [0.3], [0.5], [1.0]]), np.array([2, 2, 1, 1]) / (6 * 0.25))
    p = np.array([2, 1]) / 6
    assert_allclose(model.pdf_variance([[0.1], [0.6]]), p * (1 - p) / (6 * 0.25**2))
    # On [a, b): the same heights over b − a.
    wide = HistogramDensity(bins=4, support=(2, 12)).fit(2 + 10 * x[:, None])
    assert_allclose(wide.pdf(2 + 10 * np.array([[0.3], [0.6]])), model.pdf([[0.3], [0.6]]) / 10)
    assert wide.pdf([[1.9], [12.1]]).tolist() == [0, 0]
    grid = np.linspace(2, 12, 4001)[:-1] + 10 / 8000
    assert_allclose(wide.pdf(grid[:, None]).mean() * 10, 1.0, rtol=1e-12)
    assert_allclose(wide.cdf([[2.0], [4.5], [12.0]]), [0, 2 / 6, 1], atol=1e-12)
    counted, _ = np.histogram(x, bins=4, range=(0, 1))
    assert_allclose(model.counts_, counted)


def test_cells_of_two_columns_are_those_of_numpy():
    X = np.random.default_rng(0).random((300, 2))
    X[:2] = [[1.0, 1.0], [0.0, 1.0]]  # the upper border belongs to the last cell
    model = HistogramDensity(bins=5, support=(0, 1)).fit(X)
    assert model.cells_.max() == 4
    expected, _, _ = np.histogram2d(*X.T, bins=5, range=[(0, 1), (0, 1)])
    middle = (np.stack(np.meshgrid(*[np.arange(5)] * 2, indexing="ij"), -1).reshape(-1, 2) + 0.5) / 5
    assert_allclose(model.pdf(middle), expected.ravel() / (300 / 25))
    drawn = model.sample(2000, random_state=1)
    again, _, _ = np.histogram2d(*drawn.T, bins=5, range=[(0, 1), (0, 1)])
    assert stats.chisquare(again.ravel(), expected.ravel() / 300 * 2000).pvalue > 0.01


@pytest.mark.spec("douc/T2.1")
def test_the_exact_risk_is_the_simulated_one_and_the_printed_one_is_not():
    n, m, rng = 50, 8, np.random.default_rng(0)
    exact = histogram_imse(BETA, n, [m], support=(0, 1)).risk[0]
    assert_allclose(exact, 0.1573, atol=5e-5)
    grid = (np.arange(4000) + 0.5) / 4000
    truth, errors = BETA.pdf(grid), []
    for _ in range(400):
        counts = np.histogram(BETA.rvs(n, random_state=rng), bins=m, range=(0, 1))[0]
        errors.append(np.mean((np.repeat(counts * m / n, 4000 // m) - truth) ** 2))
    assert abs(np.mean(errors) - exact) < 4 * np.std(errors) / 20
    p = np.diff(BETA.cdf(np.linspace(0, 1, m + 1)))
    square = integrate.quad(lambda x: BETA.pdf(x) ** 2, 0, 1)[0]
    printed = square + np.sum(p * (1 - p)) / (m * n) - m * np.sum(p**2)
    assert_allclose(printed, 0.0263, atol=5e-5)
    # The error at points integrates to it.
    assert_allclose(histogram_mse(BETA, n, m, grid, support=(0, 1)).mean(), exact, rtol=1e-5)
    curve = histogram_imse(BETA, n, np.arange(1, 31), support=(0, 1))
    assert curve.best == 1 + np.argmin(curve.risk)
    assert 1 < curve.best < 8
    model = HistogramDensity(bins="oracle", truth=BETA, support=(0, 1)).fit(
        BETA.rvs(n, random_state=rng)[:, None]
    )
    assert model.bins_ == curve.best


@pytest.mark.spec("douc/M2.9")
def test_cross_validation_is_unbiased_for_the_risk_and_chooses_its_least_point():
    n, rng, tried = 40, np.random.default_rng(1), np.arange(1, 13)
    square = integrate.quad(lambda x: BETA.pdf(x) ** 2, 0, 1)[0]
    drawn = []
    for _ in range(300):
        X = BETA.rvs(n, random_state=rng)[:, None]
        model = HistogramDensity(bins="ucv", support=(0, 1), max_bins=12).fit(X)
        drawn.append(model.criterion_)
        assert model.bins_ == tried[np.argmin(model.criterion_)]
    drawn = np.array(drawn)
    truth = histogram_imse(BETA, n, tried, support=(0, 1)).risk - square
    assert np.all(np.abs(drawn.mean(axis=0) - truth) < 4.5 * drawn.std(axis=0) / np.sqrt(300) + 1e-12)
    # By its definition: ∫p̂² − (2/n) Σ p̂_{−i}(X_i), for one sample.
    for m, value in zip(tried, model.criterion_, strict=True):
        places = np.minimum((X[:, 0] * m).astype(int), m - 1)
        counts = np.bincount(places, minlength=m)
        left_out = (counts[places] - 1) * m / (n - 1)
        assert_allclose(value, np.sum((counts / n) ** 2) * m - 2 * left_out.mean(), rtol=1e-12)


def test_all_numbers_of_bins_are_counted_by_one_sort():
    """Numbers on a lattice lie on borders of many cells; each is where it will be looked up."""
    rng = np.random.default_rng(4)
    X, weight = rng.integers(0, 25, (300, 1)) / 24.0, rng.integers(0, 4, 300)
    model = HistogramDensity(bins="ucv", support=(0, 1), max_bins=40).fit(X, sample_weight=weight)
    n = weight.sum()
    for m, value in zip(model.candidates_, model.criterion_, strict=True):
        one = HistogramDensity(bins=int(m), support=(0, 1)).fit(X, sample_weight=weight)
        places = np.minimum(np.floor(X[:, 0] / (1 / m)).astype(int), m - 1)
        assert_allclose(one.counts_, np.bincount(places, weight, minlength=m))
        assert_allclose(value, (2 - (n + 1) * np.sum((one.counts_ / n) ** 2)) * m / (n - 1), rtol=1e-11)
    assert_allclose(model.counts_.sum(), n)
    chosen = HistogramDensity(bins=model.bins_, support=(0, 1)).fit(X, sample_weight=weight)
    assert_allclose(model.counts_, chosen.counts_)
    outside = X.copy()
    outside[7] = 1e300
    for bins in (5, "ucv"):
        with pytest.raises(ValueError, match=r"a box of all rows, which go from 0 to 1e\+300"):
            HistogramDensity(bins=bins, support=(0, 1)).fit(outside)


@pytest.mark.parametrize("n_features", [1, 2])
def test_a_row_is_looked_up_in_the_cell_that_counts_it(n_features):
    """0.3 / 0.1 is below 3 and 0.3 · 10 is not: one formula must place rows for both."""
    X = np.round(np.random.default_rng(6).random((400, n_features)), 2)
    model = HistogramDensity(bins=10, support=(0, 1)).fit(X)
    rows_beside = model.pdf(X) * len(X) * model.volume_
    assert np.all(rows_beside > 0.5)
    # Each occupied cell has one row's worth of these shares.
    assert_allclose(np.sum(1 / rows_beside), np.count_nonzero(model.counts_), rtol=1e-9)


def test_the_end_of_the_grid_is_seen():
    X = BETA.rvs(400, random_state=0)[:, None]
    assert len(HistogramDensity(support=(0, 1)).fit(X).candidates_) == np.ceil(4 * 400 ** (1 / 3))
    assert len(HistogramDensity().fit(np.hstack([X, X[::-1]])).candidates_) == np.ceil(4 * 400 ** (1 / 4))
    short = HistogramDensity(bins="ucv", support=(0, 1), max_bins=3).fit(X)
    assert not short.certificates_.holds
    assert HistogramDensity(bins="ucv", support=(0, 1)).fit(X).certificates_.holds


@pytest.mark.spec("douc/T8.1")
def test_intervals_of_heights_cover_the_mean_height():
    rng, hits = np.random.default_rng(2), []
    height = 5 * np.diff(BETA.cdf([0.2, 0.4]))[0]
    for _ in range(600):
        model = HistogramDensity(bins=5, support=(0, 1)).fit(BETA.rvs(200, random_state=rng)[:, None])
        _, low, high = model.pdf_interval([[0.3]], coverage=0.9)
        hits.append(low[0] <= height <= high[0])
    assert abs(np.mean(hits) - 0.9) < 4 * 0.3 / np.sqrt(600)


def test_bad_input_is_told_in_a_sentence():
    X = np.array([[0.1], [0.5], [2.0]])
    with pytest.raises(ValueError, match="'support' parameter of HistogramDensity must be a box of all rows"):
        HistogramDensity(bins=3, support=(0, 1)).fit(X)
    with pytest.raises(ValueError, match="'bins' parameter of HistogramDensity"):
        HistogramDensity(bins="oracle").fit(X)
    constant = HistogramDensity(bins=3).fit(np.full((5, 1), 1e8))
    assert constant.certificates_.holds
    assert np.isfinite(constant.score_samples([[1e8]])).all()


def test_parquet_and_dask_give_the_counts_of_memory(tmp_path):
    pd, da = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    X = np.random.default_rng(3).normal(size=(5000, 1))
    pd.DataFrame(X, columns=["x"]).to_parquet(tmp_path / "rows.parquet")
    model = HistogramDensity(bins="ucv").fit(X)
    for source in (str(tmp_path / "rows.parquet"), da.from_array(X, chunks=(900, 1))):
        other = HistogramDensity(bins="ucv").fit(source)
        assert_allclose(other.counts_, model.counts_)
        assert_allclose(other.criterion_, model.criterion_)


def test_one_walk_counts_where_the_support_is_given(tmp_path):
    """Without it the range comes first; what is tried costs no walk."""
    X = np.random.default_rng(3).normal(size=(500, 2))
    walks = []

    def counting(self, step, *state, **options):
        walks.append(step.__name__)
        return reduce_rows(self, step, *state, **options)

    reduce_rows = MemoryRows.reduce
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MemoryRows, "reduce", counting)
        for table in (X, X[:, :1]):
            for options, n_walks in (({"support": (-9, 9)}, 1), ({}, 2)):
                for bins in (4, "ucv"):
                    walks.clear()
                    HistogramDensity(bins=bins, **options).fit(table)
                    assert len(walks) == n_walks, walks
            walks.clear()
            BinnedKernelDensity(bandwidth=0.5).fit(table)
            EmpiricalDistribution().fit(table)
            assert len(walks) == 2, walks
