"""k-medians in the l1 norm: centres of medians, selected exactly wherever the rows are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.optimize import linprog
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KCoordinateMedian, optimal_clustering_1d
from assay.cluster.quantizer.coordinate_median import count_digits, select_medians, sortable_key
from assay.rows import rows


@pytest.fixture(scope="module")
def points():
    return make_blobs(500, 3, centers=5, cluster_std=2.5, random_state=2)[0]


def lower_median(values, weight):
    order = np.argsort(values, kind="stable")
    cumulative = np.cumsum(weight[order])
    return values[order][np.searchsorted(cumulative, cumulative[-1] / 2)]


def plain(X, centers, weight=None):
    """The alternation as it is written."""
    weight = np.ones(len(X)) if weight is None else weight
    trace = []
    while True:
        apart = np.abs(X[:, np.newaxis] - centers).sum(axis=2)
        labels = apart.argmin(axis=1)
        trace.append(weight @ apart.min(axis=1))
        new = np.array(
            [
                [lower_median(X[labels == k, f], weight[labels == k]) for f in range(X.shape[1])]
                for k in range(len(centers))
            ]
        )
        if np.array_equal(new, centers):
            return centers, labels, trace
        centers = new


@pytest.mark.spec("sangnier/KM-M5", "sangnier/KM-T2")
@pytest.mark.parametrize("weighted", [False, True])
def test_iteration_is_medians_and_nearest_centres(points, weighted):
    weight = np.random.default_rng(0).integers(1, 4, len(points)).astype(float) if weighted else None
    centers, labels, trace = plain(points, points[:5].copy(), weight)
    model = KCoordinateMedian(5, init=points[:5]).fit(points, sample_weight=weight)
    assert_array_equal(model.cluster_centers_, centers)
    assert_array_equal(model.labels_, labels)
    # The iteration may see one step earlier that the medians are optimal, though not the lower ones.
    assert_allclose(model.inertia_trace_, trace[: len(model.inertia_trace_)])
    assert np.all(np.diff(model.inertia_trace_) <= 0)
    assert model.optimality_ == 0.0


@pytest.mark.spec("sangnier/KM-M5")
def test_centres_solve_the_linear_programme_of_their_cluster(points):
    model = KCoordinateMedian(3, random_state=0).fit(points[:60])
    for k, center in enumerate(model.cluster_centers_):
        members = points[:60][model.labels_ == k]
        n, d = members.shape
        # min Σ t_if  with  t_if ≥ ±(x_if − c_f)
        blocks = np.tile(np.eye(d), (n, 1))
        above = np.hstack([-blocks, -np.eye(n * d)])
        below = np.hstack([blocks, -np.eye(n * d)])
        found = linprog(
            np.r_[np.zeros(d), np.ones(n * d)],
            A_ub=np.vstack([above, below]),
            b_ub=np.r_[-members.ravel(), members.ravel()],
            bounds=[(None, None)] * d + [(0, None)] * (n * d),
        )
        assert_allclose(np.abs(members - center).sum(), found.fun)


def test_one_feature_is_bounded_by_the_exact_optimum():
    x = np.random.default_rng(5).exponential(size=(200, 1))
    best = optimal_clustering_1d(x, 4, criterion="absolute")
    model = KCoordinateMedian(4, n_init=10, random_state=0).fit(x)
    assert best.cost * (1 - 1e-12) <= model.inertia_ <= 1.1 * best.cost
    from_there = KCoordinateMedian(4, init=best.centers[:, np.newaxis]).fit(x)
    assert_allclose(from_there.inertia_, best.cost)


@settings(max_examples=40, deadline=None)
@given(
    arrays(np.float64, (13, 2), elements=st.floats(-1e6, 1e6)),
    st.sampled_from(["float64", "float32"]),
    st.integers(0, 100),
)
def test_selection_is_sorting(values, dtype, seed):
    X = values.astype(dtype)
    rng = np.random.default_rng(seed)
    weight, labels = rng.integers(0, 3, 13).astype(float), rng.integers(0, 2, 13).astype(np.int32)
    weight[:4], labels[:4] = 1.0, [0, 1, 0, 1]
    data = rows(X, sample_weight=weight)
    found = select_medians(data, None, np.zeros((2, 2)), np.bincount(labels, weight), labels)
    for k in range(2):
        for f in range(2):
            inside = (labels == k) & (weight > 0)
            assert found[k, f] == lower_median(X[inside, f].astype(float), weight[inside])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_keys_are_in_the_order_of_the_numbers(dtype):
    values = np.array([-np.inf, -3.5, -1e-300, -0.0, 0.0, 1e-40, 2.0, 1e30], dtype=dtype)
    bits, n_bits = (values.view(np.uint64), 64) if dtype == "float64" else (values.view(np.uint32), 32)
    keys = np.array([sortable_key(word, np.uint64(1) << np.uint64(n_bits - 1)) for word in bits])
    assert keys.max() < 2**n_bits
    assert_array_equal(np.sign(np.diff(keys.astype(object))), np.sign(np.diff(values)))


def test_digits_are_counted_like_numpy(rng):
    keys = rng.integers(0, 2**12, size=(50, 2)).astype(np.uint64)  # of positive numbers: bits | sign
    labels, weight = rng.integers(0, 3, 50).astype(np.int32), rng.random(50)
    prefix = np.full((3, 2), 5 | 1 << 55, dtype=np.uint64)
    counts = np.zeros((3, 2, 16))
    count_digits(keys, labels, weight, prefix, 64, 8, 4, counts)
    expected = np.zeros_like(counts)
    for i in range(50):
        for f in range(2):
            if int(keys[i, f]) >> 8 == 5:
                expected[labels[i], f, (int(keys[i, f]) >> 4) & 15] += weight[i]
    assert_allclose(counts, expected)
    assert counts.sum() > 0


def test_certificates_see_a_centre_that_is_no_median(points):
    model = KCoordinateMedian(5, random_state=0).fit(points)
    assert model.certify(points).holds
    model.cluster_centers_[0, 0] += 1.0
    assert not model.certify(points).named("share beyond one half").holds


def test_the_far_half_does_not_move_a_median():
    X = np.r_[np.zeros((6, 1)), np.full((5, 1), 1e9)]
    assert KCoordinateMedian(1).fit(X).cluster_centers_[0, 0] == 0.0


def test_bad_input_is_refused_or_said(points):
    with pytest.raises(ValueError, match=r"'n_clusters' parameter of KCoordinateMedian must be at most"):
        KCoordinateMedian(5).fit(points[:3])
    with pytest.raises(ValueError, match=r"'init' parameter .* of shape .*= \(5, 3\)"):
        KCoordinateMedian(5, init=points[:4]).fit(points)
    with pytest.raises(ValueError, match="NaN"):
        KCoordinateMedian(2).fit([[np.nan], [1.0], [2.0]])
    with pytest.raises(TypeError, match="Sparse"):
        KCoordinateMedian(2).fit(sparse.csr_array(np.eye(4)))
    with pytest.warns(ConvergenceWarning, match="Only 2 of the 3 clusters"):
        model = KCoordinateMedian(3, random_state=0).fit(np.repeat([[1.0, 2.0], [3.0, 4.0]], 5, axis=0))
    assert model.inertia_ == 0.0
    single = KCoordinateMedian(1).fit([[4.0, 5.0]])
    assert_array_equal(single.cluster_centers_, [[4.0, 5.0]])


@pytest.mark.parametrize("offset", [0.0, 1e8])
def test_an_offset_moves_the_centres_with_the_rows(points, offset):
    plain_fit = KCoordinateMedian(5, init=points[:5]).fit(points)
    moved = KCoordinateMedian(5, init=points[:5] + offset).fit(points + offset)
    assert_array_equal(plain_fit.labels_, moved.labels_)
    assert moved.certify(points + offset).holds
