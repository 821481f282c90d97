"""Kernel densities: values, scikit-learn's interface, supports, samples, intervals, certificates."""

from __future__ import annotations

import copy
import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate, stats
from sklearn.base import clone
from sklearn.neighbors import KernelDensity as Peer

from assay.density import BinnedKernelDensity, KernelDensity
from assay.kernel_sums import SmoothingKernel, legendre_kernel, smoothing_kernel

R = json.loads((Path(__file__).parent.parent / "reference" / "density.json").read_text())
RNG = np.random.default_rng(0)
X1, X3 = RNG.normal(size=(150, 1)), RNG.normal(size=(150, 3))


@pytest.mark.spec("douc/M2.4")
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "triangular", legendre_kernel(2)])
def test_the_estimate_is_the_mean_of_kernels_and_integrates_to_one(kernel):
    h, Q = 0.4, np.linspace(-2, 2, 9)
    model = KernelDensity(kernel=kernel, bandwidth=h).fit(X1)
    k = smoothing_kernel(kernel)
    expected = [np.mean(k((X1[:, 0] - x) / h)) / h for x in Q]
    assert_allclose(model.pdf(Q[:, None]), expected, rtol=1e-10)
    grid = np.linspace(-8, 8, 160_001)
    values = model.pdf(grid[:, None])
    assert_allclose(integrate.trapezoid(values, grid), 1.0, atol=1e-4)
    reached = integrate.cumulative_trapezoid(values, grid, initial=0.0)
    assert_allclose(model.cdf(grid[::20_000, None]), reached[::20_000], atol=1e-4)
    if not k.is_nonnegative:
        assert values.min() < 0
        for ask in (lambda: model.score_samples(X1), lambda: model.sample(3)):
            with pytest.raises(ValueError, match="has negative values: take pdf, or another kernel"):
                ask()
        told = model.certificates_.named("least value of the kernel")
        assert_allclose(told.value, 9 / 8 - 15 / 8, rtol=1e-2)
        assert told.informative
        assert "negative values" in told.claim
    assert model.certify(X1).holds


@pytest.mark.parametrize("kernel", ["gaussian", "tophat", "epanechnikov", "exponential", "linear"])
@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "chebyshev"])
def test_a_call_of_scikit_learn_gives_the_same_numbers(kernel, metric):
    options = {
        "bandwidth": 1.3,
        "kernel": kernel,
        "metric": metric,
        "leaf_size": 20,
        "algorithm": "ball_tree",
    }
    ours, theirs = KernelDensity(**options).fit(X3), Peer(**options).fit(X3)
    Q = 1.5 * X3[:40] + 0.1
    assert_allclose(ours.score(X3), theirs.score(X3), rtol=1e-9)
    weight = np.arange(1.0, 151.0)
    for given in (None, weight):
        first, second = (model.fit(X3, sample_weight=given).score_samples(Q) for model in (ours, theirs))
        seen = np.isfinite(first)
        assert_allclose(first[seen], second[seen], rtol=1e-9)
        # Where no kernel reaches, the peer's sums over nodes leave what its rounding makes of zero.
        assert np.all(np.exp(second[~seen]) < 1e-15)


@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("minkowski", {"p": 3}),
        ("minkowski", {"p": 2}),
        ("infinity", None),
        ("seuclidean", {"V": np.array([1.0, 4.0])}),
        ("haversine", None),
        ("canberra", None),
    ],
)
def test_names_of_metrics_are_those_of_scikit_learn(metric, options):
    given = {"bandwidth": 0.7, "metric": metric, "metric_params": options, "kernel": "exponential"}
    X, Q = X3[:, :2] / 2, X3[:30, 1:] / 2
    ours, theirs = KernelDensity(**given).fit(X), Peer(**given).fit(X)
    assert_allclose(ours.score_samples(Q), theirs.score_samples(Q), rtol=1e-9)
    assert ours.certify(X).holds
    doubled = KernelDensity(
        bandwidth=0.7, metric=lambda a, b, by: by * abs(a - b).sum(), metric_params={"by": 2}
    )
    plain = KernelDensity(bandwidth=0.35, metric="manhattan").fit(X)
    assert_allclose(doubled.fit(X).pdf(Q[:3]), plain.pdf(Q[:3]) / 4)


def test_the_cosine_of_several_columns_integrates_to_one_where_that_of_scikit_learn_does_not():
    one = np.zeros((1, 2))
    grid = np.linspace(-1, 1, 401)
    plane = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    totals = [
        np.exp(kind(kernel="cosine").fit(one).score_samples(plane)).sum() * (grid[1] - grid[0]) ** 2
        for kind in (KernelDensity, Peer)
    ]
    assert_allclose(totals[0], 1.0, atol=1e-3)
    assert abs(totals[1] - 1.0) > 0.1


def test_r_agrees_on_binned_sums_and_on_matrices_of_bandwidths():
    x, XY, Q = np.array(R["x"])[:, None], np.array(R["XY"]), np.array(R["Q"])
    points = np.array(R["bkde_points"])[:, None]
    assert_allclose(KernelDensity(bandwidth=0.3).fit(x).pdf(points), R["bkde"], atol=5e-5)
    H = np.linalg.cholesky(np.array(R["H"]))
    assert_allclose(KernelDensity(bandwidth=H).fit(XY).pdf(Q), R["kde"], rtol=1e-8)
    weighted = KernelDensity(bandwidth=H).fit(XY, sample_weight=R["weights"])
    assert_allclose(weighted.pdf(Q), R["kde_weighted"], rtol=1e-8)


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential"])
@pytest.mark.parametrize("support", [(0.0, np.inf), (0.0, 1.0), (-np.inf, 1.0)])
def test_mirrors_at_the_borders_keep_the_mass_inside(kernel, support):
    x = stats.beta(1, 2).rvs(300, random_state=1)[:, None]
    model = KernelDensity(kernel=kernel, bandwidth=0.15, support=support).fit(x)
    low, high = max(support[0], -9.0), min(support[1], 9.0)
    grid = np.linspace(low, high, 20_001)
    values = model.pdf(grid[:, None])
    assert_allclose(integrate.trapezoid(values, grid), 1.0, atol=1e-4)
    assert_allclose(model.cdf([[low], [high]]), [0.0, 1.0], atol=1e-6)
    middle = 0.5 * (max(low, 0) + min(high, 1))
    assert_allclose(
        model.cdf([[middle]]), integrate.trapezoid(values[grid <= middle], grid[grid <= middle]), atol=1e-3
    )
    outside = [[low - 0.01]] if np.isfinite(support[0]) else [[high + 0.01]]
    assert model.pdf(outside)[0] == 0
    if np.isfinite(support[0]):  # without mirrors, half of the height is lost at the border
        plain = KernelDensity(kernel=kernel, bandwidth=0.15).fit(x)
        assert model.pdf([[0.0]])[0] > 1.7 * plain.pdf([[0.0]])[0]
    drawn = model.sample(3000, random_state=2)
    assert support[0] <= drawn.min()
    assert drawn.max() <= support[1]
    assert stats.kstest(drawn[:, 0], lambda t: model.cdf(np.asarray(t)[:, None])).pvalue > 0.01
    with pytest.raises(ValueError, match="'support' parameter of KernelDensity must be a box of all rows"):
        KernelDensity(support=(0.2, 0.5)).fit(x)


def test_mirrors_of_two_columns_integrate_to_one():
    X = np.random.default_rng(3).random((80, 2))
    model = KernelDensity(bandwidth=0.3, support=[(0, 1), (0, np.inf)]).fit(X)
    a, b = np.linspace(0, 1, 201), np.linspace(0, 3, 601)
    values = model.pdf(np.stack(np.meshgrid(a, b, indexing="ij"), -1).reshape(-1, 2)).reshape(201, 601)
    assert_allclose(integrate.trapezoid(integrate.trapezoid(values, b), a), 1.0, atol=1e-4)


@pytest.mark.parametrize("kernel", ["gaussian", "uniform", "biweight"])
@pytest.mark.parametrize("form", ["radial", "product"])
def test_draws_follow_the_estimate(kernel, form):
    model = KernelDensity(kernel=kernel, bandwidth=[0.5, 2.0], form=form).fit(X3[:, :2])
    drawn = model.sample(4000, random_state=0)
    spread = np.array([0.5, 2.0]) ** 2 * smoothing_kernel(kernel).moment(2)
    if form == "radial" and kernel != "gaussian":
        r = np.linspace(0, 1, 4001)
        k = smoothing_kernel(kernel)(r)
        spread = (
            np.array([0.5, 2.0]) ** 2 * integrate.trapezoid(k * r**3, r) / integrate.trapezoid(k * r, r) / 2
        )
    expected = X3[:, :2].var(axis=0) + spread
    assert_allclose(drawn.var(axis=0), expected, rtol=0.1)


def test_intervals_cover_and_warn_of_too_large_a_bandwidth():
    rng, hits = np.random.default_rng(4), []
    for _ in range(300):
        model = KernelDensity(bandwidth=1000**-0.3).fit(rng.standard_normal((1000, 1)))
        _, low, high = model.pdf_interval([[0.5]], 0.9)
        hits.append(low[0] <= stats.norm.pdf(0.5) <= high[0])
    assert abs(np.mean(hits) - 0.9) < 4 * 0.3 / np.sqrt(300)
    with pytest.warns(UserWarning, match="too large for an unbiased interval"):
        KernelDensity(bandwidth=1.0).fit(X1).pdf_interval([[0.0]])


@pytest.mark.parametrize("form", ["radial", "product"])
@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential"])
def test_intervals_have_the_square_integral_of_the_kernel_of_several_columns(kernel, form):
    options = {"kernel": kernel, "form": form}
    far = {"gaussian": 6.0, "epanechnikov": 1.0, "exponential": 22.0}[kernel]
    grid = np.linspace(-far, far, 801)
    plane = np.stack(np.meshgrid(grid, grid), -1).reshape(-1, 2)
    square = np.sum(KernelDensity(**options).fit(np.zeros((1, 2))).pdf(plane) ** 2) * (grid[1] - grid[0]) ** 2
    h = np.array([0.05, 0.09])
    model = KernelDensity(bandwidth=h, **options).fit(X3[:, :2])
    pdf, _low, high = model.pdf_interval(X3[:9, :2], 0.9)
    assert_allclose(high - pdf, stats.norm.ppf(0.95) * np.sqrt(pdf * square / (150 * np.prod(h))), rtol=2e-2)


def test_the_warning_of_a_biased_interval_is_at_n_h_to_the_d_plus_4():
    x = X1 / X1.std(ddof=1)
    KernelDensity(bandwidth=(0.9 / 150) ** 0.2).fit(x).pdf_interval([[0.0]])  # warnings are errors
    with pytest.warns(UserWarning, match=r"n h\^\(d\+4\) is 1.1"):
        KernelDensity(bandwidth=(1.1 / 150) ** 0.2).fit(x).pdf_interval([[0.0]])


def test_mirrors_are_as_many_as_a_wide_kernel_reaches():
    """A bandwidth of the size of the support: the images of images count."""
    x = np.array([[0.1], [0.4], [0.5]])
    model = KernelDensity(bandwidth=1.5, support=(0.0, 1.0)).fit(x)
    grid = np.linspace(0, 1, 2001)
    assert_allclose(integrate.trapezoid(model.pdf(grid[:, None]), grid), 1.0, atol=1e-6)
    # The heat equation on an interval: Σ over cosines of exp(−(kπh)²/2).
    terms = [
        np.exp(-((k * np.pi * 1.5) ** 2) / 2) * np.cos(k * np.pi * x) * np.cos(k * np.pi * grid)
        for k in (1, 2)
    ]
    assert_allclose(model.pdf(grid[:, None]), 1 + 2 * np.sum(terms, axis=0).mean(axis=0), atol=1e-8)


def test_anomaly_scores_leave_each_training_row_out():
    x = X1[:20]
    model = KernelDensity(bandwidth=0.3).fit(x)
    others = [KernelDensity(bandwidth=0.3).fit(np.delete(x, i, 0)).pdf(x[i : i + 1])[0] for i in range(20)]
    asked = np.linspace(-3, 3, 40)[:, None]
    expected = [(np.array(others) > value).sum() / 21 for value in model.pdf(asked)]
    assert_allclose(model.anomaly_score(asked), expected)


@pytest.mark.parametrize("n_features", [1, 2])
def test_the_bound_of_bins_is_half_the_scatter_times_the_largest_curvature(n_features):
    X, h = X3[:, :n_features], 0.6
    model = BinnedKernelDensity(bandwidth=h, cells_per_bandwidth=3).fit(X)
    _, cells = np.unique(np.floor(X / (h / 3)), axis=0, return_inverse=True)
    cells = cells.ravel()
    means = np.stack([X[cells == cell].mean(axis=0) for cell in range(cells.max() + 1)])
    assert_allclose(np.sort(model.means_[:, 0]), np.sort(means[:, 0]), rtol=1e-12)
    scatter = ((X - means[cells]) ** 2).sum(axis=1).mean() / h**2
    assert_allclose(model.error_bound_, scatter / 2 / (2 * np.pi) ** (n_features / 2) / h**n_features)
    # The cells do not hang on the first row: one without weight is as if it were not there.
    absent = clone(model).fit(X, sample_weight=np.r_[0, np.ones(len(X) - 1)])
    assert_allclose(absent.pdf(X), clone(model).fit(X[1:]).pdf(X), rtol=1e-12)


def test_anomaly_scores_are_uniform_for_rows_of_the_law_and_near_one_for_others():
    rng = np.random.default_rng(5)
    model = KernelDensity(bandwidth="scott").fit(rng.standard_normal((400, 2)))
    scores = model.anomaly_score(rng.standard_normal((500, 2)))
    assert stats.kstest(scores, "uniform").pvalue > 0.001
    assert model.anomaly_score([[9.0, 9.0]])[0] > 0.99


def test_a_grid_is_the_estimate_within_its_error():
    x = np.random.default_rng(6).normal(size=(2000, 1))
    for kernel in ("gaussian", "epanechnikov"):
        model = KernelDensity(kernel=kernel, bandwidth=0.1).fit(x)
        points, values, error = model.on_grid(256)
        assert_allclose(values, model.pdf(points[:, None]), atol=max(error, 1e-12))
        assert error <= 1e-6 * values.max()


def test_certificates_see_a_broken_tolerance_and_a_moved_row():
    X = np.random.default_rng(7).normal(size=(1500, 2))
    model = KernelDensity(bandwidth=0.4, rtol=1e-3).fit(X)
    assert model.certify(X).holds
    promised = copy.deepcopy(model).set_params(rtol=1e-12)
    assert promised.certify(X).holds
    # An evaluation looser than its promise.
    evaluator = model._evaluator()
    loose = copy.deepcopy(model)
    loose._evaluator = lambda: evaluator._replace(rtol=0.5)
    loose.rtol = 1e-6
    assert not loose.certify(X).holds
    moved = copy.deepcopy(model)
    moved.rows_kept_[0] += 0.5
    assert not moved.certify(X).holds


def test_certificates_of_the_kernel_and_of_the_grid_can_fail():
    fooled = dataclasses.replace(smoothing_kernel("epanechnikov"))
    vars(fooled)["order"] = 3  # it is 1: the second moment is 1/5
    model = KernelDensity(kernel=fooled, bandwidth=0.4).fit(X1)
    proof = model.certificates_.named("largest vanishing moment")
    assert not proof.holds
    assert_allclose(proof.value, 0.2)
    half = SmoothingKernel("half", "polynomial", (0.25,))
    assert not KernelDensity(kernel=half, bandwidth=0.4).fit(X1).certificates_.named("|∫p̂ − 1|").holds
    good = KernelDensity(bandwidth=0.4).fit(X1)
    assert good.certify(X1).named("error on a grid").holds
    moved = good.on_grid(32)
    good.on_grid = lambda n_points: moved._replace(sums=moved.sums + 1e-5)
    assert not good.certify(X1).named("error on a grid").holds
    bins = BinnedKernelDensity(bandwidth=0.4).fit(X1)
    bins.masses_ = bins.masses_ * 1.01
    assert not bins.certify(X1).named("|∫p̂ − 1|").holds


def test_bins_are_within_their_bound_in_memory_on_disk_and_on_a_cluster(tmp_path):
    pd, da = pytest.importorskip("pandas"), pytest.importorskip("dask.array")
    X = np.random.default_rng(8).normal(size=(6000, 2)) + 1e6
    for cells in (4, 16):
        model = BinnedKernelDensity(bandwidth=0.3, cells_per_bandwidth=cells).fit(X)
        error = np.abs(model.pdf(X[:200]) - KernelDensity(bandwidth=0.3).fit(X).pdf(X[:200])).max()
        assert 0 < error <= model.error_bound_
    assert len(model.means_) < 6000
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(tmp_path / "rows.parquet")
    for source in (str(tmp_path / "rows.parquet"), da.from_array(X, chunks=(1100, 1))):
        other = BinnedKernelDensity(bandwidth=0.3, cells_per_bandwidth=16).fit(source)
        assert_allclose(other.masses_, model.masses_)
        assert_allclose(other.means_, model.means_, rtol=1e-12)
        assert other.certify(source).holds
    with pytest.raises(
        ValueError, match="keeps its rows and does not take rows outside memory: take BinnedKernelDensity"
    ):
        KernelDensity().fit(str(tmp_path / "rows.parquet"))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bandwidth": 0.0}, "'bandwidth' parameter of KernelDensity must be"),
        ({"bandwidth": [1.0, 2.0]}, "3 positive numbers or an invertible matrix"),
        ({"bandwidth": np.zeros((3, 3))}, "3 positive numbers or an invertible matrix"),
        ({"bandwidth": "oracle"}, "a number or another rule for several columns"),
        ({"bandwidth": "ucv", "kernel": "biweight"}, "'gaussian'"),
        ({"kernel": lambda u: 1.0 + 0 * u}, "integral 1"),
        ({"metric": "miles"}, "the name of a metric or a callable"),
        ({"metric": "manhattan", "support": (-9, 9)}, "'euclidean' with several bandwidths"),
    ],
)
def test_bad_parameters_are_told_in_a_sentence(options, words):
    with pytest.raises(ValueError, match=words) as refusal:
        KernelDensity(**options).fit(X3)
    assert "\n" not in str(refusal.value)
