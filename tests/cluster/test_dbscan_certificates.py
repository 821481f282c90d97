"""Certificates of DBSCAN fail on a fit that is wrong, each for its own reason; bad input is refused."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

from assay.cluster import DBSCAN
from assay.cluster.density.base import rows_to_measure


@pytest.fixture
def table():
    rng = np.random.default_rng(3)
    return np.vstack([make_moons(200, noise=0.06, random_state=0)[0], rng.uniform(-2, 3, size=(40, 2))])


@pytest.fixture
def model(table):
    return DBSCAN(0.2, min_samples=5).fit(table)


def failed(model, X):
    return {item.quantity for item in model.certify(X).failed}


def test_a_good_fit_holds(model, table):
    assert model.certificates_.holds
    assert len(model.certify(table)) == 11
    assert failed(model, table) == set()


def test_a_core_row_too_many_or_too_few_is_seen(model, table):
    border = np.flatnonzero(model.point_types_ == 1)[0]
    model.core_sample_indices_ = np.sort(np.append(model.core_sample_indices_, border))
    model.components_ = table[model.core_sample_indices_]
    assert "rows misjudged as core" in failed(model, table)
    model.core_sample_indices_ = model.core_sample_indices_[2:]
    model.components_ = table[model.core_sample_indices_]
    assert "rows misjudged as core" in failed(model, table)


def test_a_cluster_cut_in_two_is_seen(model, table):
    half = (model.labels_ == 0) & (table[:, 0] > 0.0)
    model.labels_ = np.where(half, model.n_clusters_, model.labels_).astype(np.int32)
    model.n_clusters_ += 1
    assert {"core rows cut off"} <= failed(model, table)


def test_two_clusters_made_one_are_seen(model, table):
    assert model.n_clusters_ >= 2
    last = model.n_clusters_ - 1
    model.labels_ = np.where(model.labels_ == last, 0, model.labels_).astype(np.int32)
    model.label_weights_ = np.delete(model.label_weights_, last)
    model.label_weights_[0] = np.count_nonzero(model.labels_ == 0)
    model.n_clusters_ -= 1
    assert failed(model, table) == {"components of core rows"}


def test_noise_given_to_a_cluster_is_seen(model, table):
    noise = np.flatnonzero(model.labels_ < 0)[0]
    model.labels_[noise] = 0
    model.label_weights_[[0, -1]] += [1, -1]
    assert failed(model, table) == {"borders astray"}


def test_a_border_called_noise_is_seen(model, table):
    border = np.flatnonzero(model.point_types_ == 1)[0]
    model.label_weights_[[model.labels_[border], -1]] += [-1, 1]
    model.labels_[border] = -1
    assert failed(model, table) == {"noise rows within reach"}


def test_wrong_weights_and_wrong_core_rows_are_seen(model, table):
    model.label_weights_[0] += 1.0
    assert failed(model, table) == {"discrepancy of weights"}
    model.label_weights_[0] -= 1.0
    model.components_ = model.components_ + 1e-3
    assert failed(model, table) == {"discrepancy of core rows"}


def test_the_wrong_eps_is_seen(model, table):
    model.eps_ = 0.17
    assert "rows misjudged as core" in failed(model, table)


def test_ties_at_eps_are_not_held_against_the_fit():
    X = 0.1 * np.array([[i, j] for i in range(20) for j in range(20)], dtype=float)
    for eps in (0.1, 0.2, 0.3):
        assert DBSCAN(eps, min_samples=5).fit(X).certify(X).holds


def test_a_large_fit_measures_evenly_spaced_rows_and_says_so():
    X = np.random.default_rng(0).uniform(size=(4000, 2))
    model = DBSCAN(0.05).fit(X)
    assert "of 4000 rows" in model.certificates_[0].assumptions[0]
    assert model.certify(X)[0].assumptions == ()
    assert_array_equal(rows_to_measure(3), [0, 1, 2])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"eps": 0}, "'eps' parameter of DBSCAN must be a finite number above 0 or 'auto'. Got 0"),
        ({"eps": -1.0}, "above 0"),
        ({"eps": np.nan}, "finite"),
        ({"eps": "elbow"}, "'auto'"),
        ({"min_samples": 0}, "at least 1"),
        ({"min_samples": 2.5}, "an int"),
        ({"metric": "hamming distance"}, "'metric' parameter of DBSCAN"),
    ],
)
def test_bad_parameters_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        DBSCAN(**options).fit(np.eye(4))


def test_bad_dissimilarities_are_refused(table):
    D = cdist(table, table)
    model = DBSCAN(metric="precomputed")
    with pytest.raises(ValueError, match="square"):
        model.fit(D[:, :-1])
    with pytest.raises(ValueError, match="egative"):
        model.fit(D - 1.0)
    with pytest.raises(ValueError, match="symmetric"):
        model.fit(D + np.triu(np.ones_like(D), 1))
    with pytest.raises(ValueError, match=r"'min_samples'.*precomputed"):
        DBSCAN(metric="precomputed", min_samples="auto").fit(D)


def test_bad_rows_and_weights_are_refused(table, model):
    with pytest.raises(ValueError, match="NaN"):
        DBSCAN().fit(np.where(np.arange(480).reshape(240, 2) == 7, np.nan, table))
    with pytest.raises(ValueError, match="pairs"):
        DBSCAN().fit("rows.npy")
    with pytest.raises(ValueError, match="240"):
        DBSCAN().fit(table, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="fitted on 240"):
        model.certify(table[:5])
    with pytest.raises(ValueError, match="features"):
        model.predict(np.ones((2, 5)))
    with pytest.raises(ValueError, match="1 sample"):
        DBSCAN("auto").fit([[1.0, 2.0]])
    with pytest.raises(ValueError, match="All k-distances are 0"):
        DBSCAN("auto").fit(np.ones((20, 2)))


def test_one_row_too_few_rows_and_all_noise_are_fits():
    one = DBSCAN().fit([[1.0, 2.0]])
    assert_array_equal(one.labels_, [-1])
    assert one.n_clusters_ == 0
    assert_array_equal(DBSCAN(min_samples=1).fit([[1.0, 2.0]]).labels_, [0])
    X = np.random.default_rng(0).normal(size=(10, 2))
    few = DBSCAN(1e9, min_samples=11).fit(X)
    assert_array_equal(few.labels_, np.full(10, -1))
    assert_array_equal(few.predict(X), np.full(10, -1))
    assert few.components_.shape == (0, 2)
    assert few.certify(X).holds
    assert_array_equal(DBSCAN(1e9, min_samples=10).fit(X).labels_, np.zeros(10))


def test_rows_that_are_all_the_same_are_one_cluster():
    X = np.full((5000, 3), 7.0)
    model = DBSCAN(1e-3, min_samples=100).fit(X)
    assert model.n_clusters_ == 1
    assert model.core_sample_indices_.size == 5000
    assert_array_equal(DBSCAN(1e-3, min_samples=5001).fit(X).labels_, np.full(5000, -1))
