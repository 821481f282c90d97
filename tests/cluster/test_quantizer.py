"""Clustering around any representers, the loss of any dissimilarity, and dissimilarities of mixed types."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import (
    CentroidClustering,
    KCoordinateMedian,
    KMeans,
    KMedoids,
    mixed_dissimilarity,
    within_dissimilarity,
)
from assay.cluster.quantizer.base import Step, alternate
from assay.theory import stuck_rectangle


@pytest.fixture(scope="module")
def points():
    return make_blobs(250, 3, centers=5, cluster_std=2.0, random_state=12)[0]


def mean(rows, weights):
    return np.average(rows, axis=0, weights=weights)


class Unwatched:
    def iteration(self, attributes):
        return False


@pytest.mark.spec("sangnier/KM-M1")
@pytest.mark.parametrize("weighted", [False, True])
def test_squared_distances_with_means_are_k_means(points, weighted):
    weight = np.random.default_rng(0).integers(1, 4, len(points)).astype(float) if weighted else None
    generic = CentroidClustering(5, metric="sqeuclidean", representer=mean, init=points[:5])
    generic.fit(points, sample_weight=weight)
    special = KMeans(5, init=points[:5], tol=0).fit(points, sample_weight=weight)
    assert_array_equal(generic.labels_, special.labels_)
    assert_allclose(generic.cluster_centers_, special.cluster_centers_)
    assert_allclose(generic.inertia_, special.inertia_)


@pytest.mark.spec("sangnier/KM-M1")
def test_medoids_are_k_medoids(points):
    generic = CentroidClustering(5, metric="manhattan", representer="medoid", init=points[:5]).fit(points)
    special = KMedoids(5, metric="manhattan", method="alternate", init=range(5)).fit(points)
    assert_array_equal(generic.labels_, special.labels_)
    assert_array_equal(generic.cluster_centers_, special.cluster_centers_)
    assert_allclose(generic.inertia_, special.inertia_)


@pytest.mark.spec("sangnier/KM-M1")
def test_absolute_distances_with_medians_are_coordinate_medians(points):
    def median(rows, weights):
        return np.sort(rows, axis=0)[(len(rows) - 1) // 2]

    generic = CentroidClustering(5, metric="cityblock", representer=median, init=points[:5]).fit(points)
    special = KCoordinateMedian(5, init=points[:5]).fit(points)
    assert_array_equal(generic.labels_, special.labels_)
    assert_allclose(generic.inertia_, special.inertia_)


@pytest.mark.spec("sangnier/KM-M1", "sangnier/KM-T2")
def test_the_distortion_is_the_quantisation_error(points):
    def robust(x, z):
        return float(np.log1p(np.abs(x - z)).sum())  # a dissimilarity that nobody wrote a method for

    model = CentroidClustering(4, metric=robust, random_state=0).fit(points[:90])
    quantized = model.quantize(points[:90])
    error = sum(robust(x, q) for x, q in zip(points[:90], quantized, strict=True))
    assert_allclose(model.inertia_, error)
    assert_allclose(model.distortion(points[:90]), error)
    assert {tuple(row) for row in quantized} == {tuple(row) for row in model.cluster_centers_}
    assert np.all(np.diff(model.inertia_trace_) <= 0)
    assert model.certify(points[:90]).holds
    assert_allclose(model.quantize(quantized), quantized)  # a quantizer is idempotent: d(x, x) = 0


@pytest.mark.spec("sangnier/KM-T2")
def test_the_distortion_never_rises_but_need_not_fall():
    trap = stuck_rectangle(5.0)
    centers, distortions = trap.init, []
    for _ in range(3):
        labels = cdist(trap.X, centers).argmin(axis=1)
        centers = np.array([trap.X[labels == k].mean(axis=0) for k in range(2)])
        distortions.append(((trap.X - centers[labels]) ** 2).sum())
    assert_allclose(distortions, trap.stuck_inertia)  # the same for ever, and not the least
    model = CentroidClustering(2, representer=mean, init=trap.init).fit(trap.X)
    assert_allclose(model.inertia_trace_, [trap.stuck_inertia])
    assert model.converged_
    assert trap.optimal_inertia < trap.stuck_inertia


def test_a_representer_that_would_cost_more_is_not_taken(points):
    def worst(rows, weights):
        return rows[np.argmax(((rows - rows.mean(axis=0)) ** 2).sum(axis=1))]

    model = CentroidClustering(5, representer=worst, init=points[:5]).fit(points)
    assert np.all(np.diff(model.inertia_trace_) <= 0)
    assert model.certificates_.holds
    assert not model.certify(points).named("gain of the best rows").holds  # but it is told on


def test_the_engine_alternates_until_nothing_is_gained():
    def step(value):
        return Step(float(value), value, value // 2, float(value - value // 2))

    found = alternate(step, 13, tol=0.0, max_iter=100, watch=Unwatched(), report=None)
    assert found.trace == [13.0, 6.0, 3.0, 1.0, 0.0]
    assert (found.representers, found.n_iter, found.converged) == (0, 4, True)
    short = alternate(step, 13, tol=0.0, max_iter=2, watch=Unwatched(), report=None)
    assert (short.representers, short.n_iter, short.converged) == (3, 2, False)


def test_bad_input_is_refused_or_said(points, tmp_path):
    with pytest.raises(ValueError, match="'representer' of CentroidClustering must give 3 finite numbers"):
        CentroidClustering(2, representer=lambda rows, weights: 1.0, random_state=0).fit(points)
    with pytest.raises(ValueError, match="at least 0"):
        CentroidClustering(2, metric=lambda x, z: -1.0, random_state=0).fit(points[:10])
    with pytest.raises(ValueError, match="'init' parameter of CentroidClustering"):
        CentroidClustering(2, init=points[:3]).fit(points)
    with pytest.raises(ValueError, match="'n_clusters' parameter"):
        CentroidClustering(5).fit(points[:2])
    with pytest.warns(ConvergenceWarning, match="Only 1 of the 2"):
        CentroidClustering(2, random_state=0).fit(np.ones((4, 2)))
    np.save(tmp_path / "rows.npy", points)
    with pytest.raises(ValueError, match="pairs"):
        CentroidClustering(2).fit(str(tmp_path / "rows.npy"))


@pytest.mark.spec("wei/M10.1")
def test_the_loss_of_euclidean_distances_is_the_inertia():
    X = load_iris().data
    model = KMeans(3, random_state=0, tol=0).fit(X)
    assert_allclose(within_dissimilarity(model.labels_, cdist(X, X)), model.inertia_)
    weight = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    weighted = KMeans(3, random_state=0, tol=0).fit(X, sample_weight=weight)
    assert_allclose(within_dissimilarity(weighted.labels_, cdist(X, X), weight), weighted.inertia_)


@pytest.mark.spec("wei/M10.1")
def test_the_loss_is_half_the_mean_of_squares_over_ordered_pairs(rng):
    D = rng.random((9, 9))
    labels = np.array([0, 1, 1, 2, 0, 2, 2, 1, -1])
    total = 0.0
    for k in range(3):
        inside = [i for i in range(9) if labels[i] == k]
        total += 0.5 / len(inside) * sum(D[i, j] ** 2 for i in inside for j in inside)
    assert_allclose(within_dissimilarity(labels, D), total)


@pytest.mark.spec("wei/M10.1")
def test_mixed_dissimilarity_is_a_weighted_sum_over_variables():
    frame = pd.DataFrame(
        {"age": [20.0, 30.0, 60.0], "colour": ["red", "blue", "red"], "size": ["1:S", "2:M", "3:L"]}
    )
    weights = [2.0, 1.0, 3.0]
    D = mixed_dissimilarity(frame, weights, kinds=["numeric", "categorical", "ordinal"])
    expected = [
        2.0 * abs(a - b) / 40.0 + 1.0 * (c != d) + 3.0 * abs(s - t) / 2.0
        for a, c, s in zip(frame["age"], frame["colour"], range(3), strict=True)
        for b, d, t in zip(frame["age"], frame["colour"], range(3), strict=True)
    ]
    assert_allclose(D.ravel(), expected)
    guessed = mixed_dissimilarity(frame)
    assert_allclose(guessed[0, 1], (0.25 + 1.0 + 1.0) / 3)  # text is categorical unless said otherwise
    model = KMedoids(2, metric="precomputed").fit(D)
    assert model.certificates_.holds
    assert within_dissimilarity(model.labels_, D) < within_dissimilarity([0, 0, 0], D)


def test_numbers_alone_give_the_scaled_city_block(rng):
    X = rng.normal(size=(12, 3))
    scaled = X / np.ptp(X, axis=0)
    assert_allclose(mixed_dissimilarity(X), cdist(scaled, scaled, "cityblock") / 3)
    constant = mixed_dissimilarity(np.column_stack([X, np.ones(12)]), [1, 1, 1, 5])
    assert_allclose(constant, 3 * mixed_dissimilarity(X))


def test_bad_tables_and_matrices_are_refused():
    with pytest.raises(ValueError, match="'kinds' parameter of mixed_dissimilarity"):
        mixed_dissimilarity([[1.0, 2.0]], kinds=["numeric"])
    with pytest.raises(ValueError, match="'weights' parameter of mixed_dissimilarity"):
        mixed_dissimilarity([[1.0, 2.0]], [1.0, -1.0])
    with pytest.raises(ValueError, match="NaN"):
        mixed_dissimilarity([[1.0], [np.nan]])
    with pytest.raises(ValueError, match="must hold numbers"):
        mixed_dissimilarity([["a"], ["b"]], kinds=["numeric"])
    with pytest.raises(ValueError, match="two-dimensional"):
        mixed_dissimilarity([1.0, 2.0])
    with pytest.raises(ValueError, match="square matrix"):
        within_dissimilarity([0, 1], np.zeros((2, 3)))
    with pytest.raises(ValueError, match="at least 0"):
        within_dissimilarity([0, 1], -np.ones((2, 2)))
    with pytest.raises(ValueError, match="sample_weight"):
        within_dissimilarity([0, 1], np.zeros((2, 2)), [1.0])
