"""Matrices of distances against SciPy, and the check of a given one."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist

from assay.distances import (
    METRICS,
    NeighborSearch,
    check_dissimilarity,
    condensed_distances,
    distance_matrix,
    metric_domain,
)
from assay.distances.brute import PART_FEATURES
from assay.rows import threads

SCIPY = {"manhattan": "cityblock", "l1": "cityblock", "l2": "euclidean"}


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_features", [1, 6, 40])
def test_matrices_are_those_of_scipy(rng, metric, n_features):
    X, Z = rng.standard_normal((300, n_features)), rng.standard_normal((70, n_features))
    name = SCIPY.get(metric, metric)
    square = distance_matrix(X, metric=metric)
    assert_allclose(square, cdist(X, X, name), rtol=1e-10, atol=1e-14)
    assert_allclose(distance_matrix(X, Z, metric=metric), cdist(X, Z, name), rtol=1e-10, atol=1e-14)
    assert_allclose(condensed_distances(X, metric=metric), pdist(X, name), rtol=1e-10, atol=1e-14)
    assert_array_equal(square, square.T)
    assert not square.diagonal().any()


@pytest.mark.parametrize("n_rows", [1, 2, 127, 128, 129, 1_100])
def test_the_condensed_form_is_the_upper_triangle(rng, n_rows):
    X = rng.standard_normal((n_rows, 3))
    assert_array_equal(condensed_distances(X), distance_matrix(X)[np.triu_indices(n_rows, 1)])


@pytest.mark.parametrize("metric", ["euclidean", "sqeuclidean", "manhattan", "chebyshev"])
@pytest.mark.parametrize("n_features", [3, 40])
def test_an_offset_of_1e8_does_not_cancel(rng, metric, n_features):
    steps = rng.integers(-20, 20, size=(200, n_features)).astype(float)
    near, far = distance_matrix(steps, metric=metric), distance_matrix(steps + 1e8, metric=metric)
    assert_allclose(far, near, rtol=1e-10)
    coarse = (steps * 16).astype(np.float32)  # what float32 resolves at 1e8
    offset = distance_matrix(coarse + np.float32(2**27), metric=metric)
    assert_allclose(offset, distance_matrix(coarse, metric=metric), rtol=1e-4)


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("n_features", [PART_FEATURES - 1, PART_FEATURES, 2 * PART_FEATURES + 3])
def test_wide_rows_are_summed_part_by_part(rng, metric, n_features):
    X = rng.standard_normal((70, n_features))
    expected = cdist(X, X, SCIPY.get(metric, metric))
    assert_allclose(distance_matrix(X, metric=metric), expected, rtol=1e-12, atol=1e-7)
    assert_allclose(distance_matrix(X, X[:9], metric=metric), expected[:, :9], rtol=1e-12, atol=1e-7)
    near = NeighborSearch(X, metric=metric).nearest(3).distances
    assert_allclose(near, np.sort(expected, axis=1)[:, 1:4], rtol=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_float32_stays_float32(rng, metric):
    X = rng.standard_normal((100, 5)).astype(np.float32)
    for found in (distance_matrix(X, metric=metric), distance_matrix(X, X[:3], metric=metric)):
        assert found.dtype == np.float32
    assert condensed_distances(X, metric=metric).dtype == np.float32
    expected = cdist(X.astype(float), X[:3].astype(float), SCIPY.get(metric, metric))
    assert_allclose(distance_matrix(X, X[:3], metric=metric), expected, rtol=2e-6, atol=1e-6)


def test_few_features_have_the_distances_of_the_search(rng):
    X = rng.standard_normal((400, 5))
    nearest = NeighborSearch(X).nearest(1)
    square = distance_matrix(X)
    assert_array_equal(square[np.arange(400), nearest.indices[:, 0]], nearest.distances[:, 0])


def test_a_function_is_called_once_a_pair(rng):
    X, calls = rng.standard_normal((12, 2)), []

    def counted(x, z):
        calls.append(1)
        return float(np.abs(x - z).max())

    square = distance_matrix(X, metric=counted)
    assert len(calls) == 66
    assert_allclose(square, cdist(X, X, "chebyshev"))
    assert_allclose(condensed_distances(X, metric=counted), pdist(X, "chebyshev"))
    assert_allclose(distance_matrix(X, X[:4], metric=counted), cdist(X, X[:4], "chebyshev"))


def test_matrices_do_not_depend_on_threads(rng):
    for X in (rng.standard_normal((900, 3)), rng.standard_normal((900, 50))):
        with threads(1):
            one = distance_matrix(X), condensed_distances(X)
        with threads(3):
            other = distance_matrix(X), condensed_distances(X)
        for mine, yours in zip(one, other, strict=True):
            assert_array_equal(mine, yours)


def test_cosine_distances_of_large_and_small_rows_are_those_of_their_directions(rng):
    X = rng.standard_normal((30, 3))
    scale = 10.0 ** rng.integers(-150, 150, size=(30, 1))
    expected = cdist(X, X, "cosine")
    assert_allclose(distance_matrix(X * scale, metric="cosine"), expected, atol=1e-14)
    assert_allclose(distance_matrix(X, 3.0 * X, metric="cosine").diagonal(), 0.0, atol=1e-30)


def test_bad_tables_are_refused_in_one_sentence():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="Z has 3 columns but X has 2"):
        distance_matrix(X, np.ones((2, 3)))
    with pytest.raises(ValueError, match="Z contains NaN"):
        distance_matrix(X, np.full((2, 2), np.nan))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        condensed_distances(np.array([[np.inf], [-np.inf]]))
    with pytest.raises(ValueError, match="must be one of 'euclidean'"):
        distance_matrix(X, metric="hamming")
    with pytest.raises(ValueError, match="name of one or a function"):
        distance_matrix(X, metric=3)
    with pytest.raises(ValueError, match="needs rows that are not zero, and row 0 is"):
        distance_matrix(np.zeros((2, 2)), metric="cosine")
    with pytest.raises(ValueError, match="must return a finite number at least 0"):
        distance_matrix(X, metric=lambda x, z: "far")
    assert distance_matrix(np.full((2, 2), 1e300), metric="chebyshev").max() == 0.0


def test_the_domain_of_a_metric_takes_names_and_functions():
    domain = metric_domain()
    assert all(domain.contains(name) for name in (*METRICS, "precomputed", len))
    assert not domain.contains("taxicab")
    assert not metric_domain(precomputed=False).contains("precomputed")
    assert not metric_domain(function=False).contains(len)


def test_a_given_matrix_is_returned_as_it_is(rng):
    D = distance_matrix(rng.standard_normal((20, 3)))
    assert check_dissimilarity(D, "KMedoids") is D
    assert check_dissimilarity(D.astype(np.float32), "KMedoids").dtype == np.float32
    assert check_dissimilarity([[0, 1], [1, 0]], "KMedoids").dtype == np.float64


def test_rounding_of_mirror_images_is_evened_out(rng):
    D = distance_matrix(rng.standard_normal((20, 3)))
    noisy = D * (1 + 1e-12 * rng.standard_normal(D.shape))
    noisy[3, 3] = 1e-12
    found = check_dissimilarity(noisy, "KMedoids")
    assert_array_equal(found, found.T)
    assert found[3, 3] == 0.0
    assert_allclose(found, D, rtol=1e-10)


@pytest.mark.parametrize(
    ("D", "words"),
    [
        (np.ones((2, 3)), "needs a square matrix. Got shape \\(2, 3\\)"),
        (np.ones(4), "needs a square matrix"),
        (np.empty((0, 0)), "needs a square matrix"),
        ([[0.0, np.nan], [np.nan, 0.0]], "needs finite values"),
        ([[0.0, np.inf], [np.inf, 0.0]], "needs finite values"),
        ([[0.0, -1.0], [-1.0, 0.0]], "Negative values in data passed to KMedoids"),
        ([[0.0, 1.0], [2.0, 0.0]], "needs a symmetric matrix. Got entries .* by up to 1;"),
        ([[1.0, 0.2], [0.2, 1.0]], "0 on the diagonal. Got 1; similarities"),
    ],
)
def test_a_matrix_that_is_none_of_dissimilarities_is_refused(D, words):
    with pytest.raises(ValueError, match=words):
        check_dissimilarity(D, "KMedoids")


def test_symmetry_is_not_asked_of_what_need_not_be_metric():
    D = np.array([[0.0, 1.0], [2.0, 0.5]])
    assert check_dissimilarity(D, "KMedoids", metric_like=False) is D
    with pytest.raises(ValueError, match="Negative values in data passed to KMedoids"):
        check_dissimilarity(-D, "KMedoids", metric_like=False)
