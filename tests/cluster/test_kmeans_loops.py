"""The compiled loops against their NumPy twins."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KMeans
from assay.cluster.kmeans import loops
from assay.cluster.kmeans import small_loops as center_loops
from assay.cluster.kmeans import solver as _lloyd
from assay.cluster.kmeans.centers import inspect, place, table
from assay.cluster.kmeans.solver import _assign as assign_rows
from assay.cluster.kmeans.solver import new_bounds
from assay.rows import Block, rows

CASES = pytest.mark.parametrize("kind", ["float64", "float32", "csr"])


def problem(kind, n_samples=700, n_features=6, n_clusters=9, seed=0):
    random = np.random.default_rng(seed)
    X = random.normal(size=(n_samples, n_features)) * (random.uniform(size=(n_samples, n_features)) < 0.7)
    X = X.astype(np.float32 if kind == "float32" else np.float64)
    centers = place(
        X[:n_clusters].copy(),
        np.zeros(n_features) if kind == "csr" else X.mean(axis=0, dtype=float),
        n_features,
    )
    return (sparse.csr_array(X) if kind == "csr" else X), X.astype(float), centers


def all_squares(X, centers):
    return ((X[:, np.newaxis] - centers.centers) ** 2).sum(axis=2)


def test_two_smallest_of_every_column():
    random = np.random.default_rng(0)
    products = random.integers(-9, 9, size=(12, 128)).astype(np.float32)
    half = random.integers(0, 3, size=12).astype(np.float32)
    nearest = np.empty(128, dtype=np.int32)
    first, second = np.empty(128, dtype=np.float32), np.empty(128, dtype=np.float32)
    loops.two_smallest(products, half, nearest, first, second)
    scores = products + half[:, np.newaxis]
    assert_array_equal(nearest, scores.argmin(axis=0))
    assert_array_equal([first, second], np.sort(scores, axis=0)[:2])


@CASES
def test_inspection_measures_what_it_says(kind):
    X, dense, centers = problem(kind)
    squares = all_squares(dense, centers)
    labels = np.full(len(dense), -1, dtype=np.int32)
    found = inspect(rows(X), centers, labels)
    assert_array_equal(labels, squares.argmin(axis=1))
    assert_allclose(found.inertia, squares.min(axis=1).sum(), rtol=1e-12)
    assert_allclose(found.counts, np.bincount(labels, minlength=9))
    assert_allclose(found.scatter, ((dense - centers.shift) ** 2).sum(), rtol=1e-12)
    sums = np.array([(dense[labels == k] - centers.shift).sum(axis=0) for k in range(9)])
    assert_allclose(found.sums, sums, atol=1e-10)
    assert found.excess == 0.0
    labels[3] = (labels[3] + 4) % 9
    norms = ((dense[3] - centers.shift) ** 2).sum() + centers.norms[labels[3]]
    assert_allclose(
        inspect(rows(X), centers, labels).excess,
        (squares[3, labels[3]] - squares[3].min()) / norms,
        rtol=1e-9,
    )


@CASES
def test_assignment_moves_rows_and_bounds_are_bounds(kind):
    X, dense, centers = problem(kind)
    data, bounds = rows(X), new_bounds(rows(X), 9)
    moves = assign_rows(data, centers, bounds)
    distances = np.sqrt(all_squares(dense, centers))
    labels = distances.argmin(axis=1)
    assert_array_equal(bounds.labels, labels)
    assert moves.n_changed == len(dense)
    own, others = np.sort(distances, axis=1)[:, :2].T
    assert np.all(bounds.lower <= others)
    assert np.all(bounds.slack <= others - own)
    assert np.all(bounds.slack >= others - own - 1e-2)
    again = assign_rows(data, centers, bounds)
    assert again.n_changed == 0
    assert_allclose(again.sums, 0.0)


def test_float32_scores_that_cannot_decide_are_decided_exactly():
    # Two far groups, and structure inside each that float32 products cannot see.
    random = np.random.default_rng(1)
    X = random.normal(size=(600, 3)) * 1e-3 + np.repeat([[0.0], [1e3]], 300, axis=0)
    centers = place(X[::50].copy(), X.mean(axis=0), 3)
    labels = np.full(600, -1, dtype=np.int32)
    inspect(rows(X), centers, labels)
    assert_array_equal(labels, all_squares(X, centers).argmin(axis=1))


@CASES
def test_seeding_pass_keeps_the_closest_seed(kind):
    X, dense, _ = problem(kind)
    random = np.random.default_rng(2)
    weight = random.uniform(size=len(dense)).astype(X.dtype)
    bucket = random.integers(0, 5, size=len(dense)).astype(np.int32)
    closest, nearest = np.full(len(dense), np.inf), np.zeros(len(dense), dtype=np.int32)
    seeds = dense[[4, 100, 200, 300]]
    norms = (seeds**2).sum(axis=1)
    features = table(Block(X, None, weight, 0))
    for new in range(4):
        gaps = 0.25 * ((seeds[: new + 1] - seeds[new]) ** 2).sum(axis=1)[np.newaxis]
        gaps[0, new] = -1.0
        masses, one = np.zeros(5), slice(new, new + 1)
        center_loops.approach(features, seeds[one], norms[one], new, gaps, bucket, closest, nearest, masses)
    squares = ((dense[:, np.newaxis] - seeds) ** 2).sum(axis=2)
    assert_allclose(closest, squares.min(axis=1), atol=1e-12)
    assert_array_equal(nearest, squares.argmin(axis=1))
    assert_allclose(masses, np.bincount(bucket, weight * squares.min(axis=1), minlength=5))
    assert closest[4] == 0.0


@CASES
def test_candidates_are_tried_without_becoming_seeds(kind):
    X, dense, _ = problem(kind)
    weight = np.random.default_rng(3).uniform(size=len(dense)).astype(X.dtype)
    seed, candidates = dense[7], dense[[50, 150, 250]]
    closest, nearest = ((dense - seed) ** 2).sum(axis=1), np.zeros(len(dense), dtype=np.int32)
    before = closest.copy()
    gaps = 0.25 * ((candidates - seed) ** 2).sum(axis=1)[:, np.newaxis]
    features = table(Block(X, None, weight, 0))
    masses = np.zeros(3)
    norms = (candidates**2).sum(axis=1)
    center_loops.approach(features, candidates, norms, -1, gaps, nearest, closest, nearest, masses)
    squares = ((dense[:, np.newaxis] - candidates) ** 2).sum(axis=2)
    assert_allclose(masses, weight @ np.minimum(squares, before[:, np.newaxis]))
    assert_array_equal(closest, before)
    assert not nearest.any()


@pytest.mark.parametrize("scale", [1.0, 1e-24, 1e18])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_bounds_in_the_dtype_of_the_rows_change_no_label(dtype, scale):
    X = (np.random.default_rng(4).normal(size=(3000, 7)) * scale).astype(dtype)
    centers = X[:12].astype(float)
    bounds, data = new_bounds(rows(X), 12), rows(X)
    for _ in range(6):
        placed = place(centers.astype(dtype), X.mean(axis=0, dtype=float), 7)
        assign_rows(data, placed, bounds)
        squares = ((X.astype(float)[:, np.newaxis] - placed.centers) ** 2).sum(axis=2)
        assert_array_equal(bounds.labels, squares.argmin(axis=1))
        centers = np.array([X[bounds.labels == k].mean(axis=0, dtype=float) for k in range(12)])
        moved = place(centers.astype(dtype), placed.shift, 7)
        center_loops.widen(placed.points, moved.points, 1.0 + 1e-9, bounds.thresholds, bounds.decay)


def test_rows_and_others_have_one_squared_distance():
    random = np.random.default_rng(0)
    A, B = random.normal(size=(5, 6)), random.normal(size=(4, 6))
    assert_allclose(loops.squared_gap(A, B, 3, 2), ((A[3] - B[2]) ** 2).sum())
    single = loops.squared_gap(A.astype(np.float32), B.astype(np.float32), 3, 2)
    assert_allclose(single, ((A[3] - B[2]) ** 2).sum(), rtol=1e-5)


def test_loops_over_centres_are_those_of_numpy():
    random = np.random.default_rng(0)
    before, after = random.normal(size=(9, 4)), random.normal(size=(9, 4))
    gaps = np.empty(9)
    center_loops.nearest_gaps(before, gaps)
    squares = ((before[:, np.newaxis] - before) ** 2).sum(axis=2)
    np.fill_diagonal(squares, np.inf)
    assert_allclose(gaps, np.sqrt(squares.min(axis=1)))
    drift = np.sqrt(((after - before) ** 2).sum(axis=1))
    thresholds, decay = np.ones(9), np.full(9, 2.0)
    center_loops.widen(before, after, 1.0, thresholds, decay)
    others = np.array([np.delete(drift, j).max() for j in range(9)])
    assert_allclose(decay, 2.0 + others)
    assert_allclose(thresholds, 1.0 + others + drift)
    shift = random.normal(size=4)
    placed = place(before, shift, 4)
    assert_allclose(placed.points, before - shift)
    assert_allclose(placed.norms, (placed.points**2).sum(axis=1))
    assert_allclose(placed.negated[:9], -placed.points, rtol=1e-6)
    assert_array_equal(placed.transposed, placed.negated.T)
    assert_array_equal(placed.negated[9:], 0.0)
    assert np.all(np.isinf(placed.half[9:]))
    assert_allclose(placed.half[:9], (0.5 - placed.rounding) * placed.norms, rtol=1e-6)
    many = place(random.normal(size=(80, 4)), shift, 4)
    center_loops.nearest_gaps(many.points, exact := np.empty(80))
    assert_allclose(many.gaps(), exact, rtol=1e-6)
    assert np.all(many.gaps() <= exact)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [True, False])
@pytest.mark.parametrize("offset", [0.0, 1e6])
@pytest.mark.parametrize("tol", [0.0, 1e-2])
def test_the_loop_of_small_tables_is_the_iteration(monkeypatch, rng, dtype, weighted, offset, tol):
    X = (rng.normal(size=(400, 3)) + offset).astype(dtype)
    X[200:220] = X[:20]
    weight = rng.integers(0, 3, size=400) if weighted else None
    options = {"init": X[:7].copy(), "tol": tol, "max_iter": 200}
    small = KMeans(7, **options).fit(X, sample_weight=weight)
    monkeypatch.setattr(_lloyd, "SMALL_WORK", 0)
    walked = KMeans(7, **options).fit(X, sample_weight=weight)
    assert small.n_iter_ == walked.n_iter_
    assert_array_equal(small.labels_, walked.labels_)
    assert_allclose(small.cluster_centers_, walked.cluster_centers_, rtol=1e-6)
    assert_allclose(small.inertia_trace_, walked.inertia_trace_, rtol=1e-5)
    assert small.certificates_.holds


def test_a_small_table_whose_cluster_empties_is_left_to_the_walks():
    X = np.array([[0.0], [0.1], [10.0], [10.1]])
    model = KMeans(3, init=np.array([[0.0], [10.0], [99.0]])).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert model.certificates_.holds


def test_a_small_table_stops_where_it_is_told_to(rng):
    X = rng.normal(size=(300, 2))
    with pytest.warns(ConvergenceWarning, match="max_iter=2"):
        model = KMeans(6, init=X[:6].copy(), tol=0.0, max_iter=2).fit(X)
    assert model.n_iter_ == 2
    assert len(model.inertia_trace_) == 5
