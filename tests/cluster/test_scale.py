"""Clusterings around centres at extreme scales: the same partition, or a sentence."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from assay.cluster import (
    BisectingKMeans,
    CentroidClustering,
    FuzzyCMeans,
    KCoordinateMedian,
    KernelKMeans,
    KGeometricMedian,
    KMeans,
    KMedian,
    KMedoids,
    MiniBatchKMeans,
    SphericalKMeans,
)

START = [0, 1, 2, 3]


def fitted(kind, X, **data):
    if kind in (KMedoids, KMedian):
        return kind(4).fit(X, **data)
    if kind is BisectingKMeans:
        return kind(4, random_state=0).fit(X, **data)
    if kind is KernelKMeans:
        return kind(4, kernel="linear", init=START).fit(X, **data)
    options = {"random_state": 0} if kind is MiniBatchKMeans else {}
    start = X[START].toarray() if sparse.issparse(X) else X[START]
    return kind(4, init=start, **options).fit(X, **data)


KINDS = [
    BisectingKMeans, CentroidClustering, FuzzyCMeans, KCoordinateMedian, KernelKMeans, KGeometricMedian,
    KMeans, KMedian, KMedoids, MiniBatchKMeans, SphericalKMeans,
]  # fmt: skip


@pytest.fixture(scope="module")
def groups():
    random = np.random.default_rng(0)
    return np.concatenate([random.normal(c, 1.0, (60, 3)) for c in (0.0, 4.0, 9.0, -6.0)])[
        random.permutation(240)
    ]


@pytest.mark.parametrize("power", [66, -66, 400, -400])
@pytest.mark.parametrize("kind", KINDS)
def test_a_table_times_a_power_of_two_has_the_same_clusters(kind, power, groups):
    X = groups * 2.0**power
    model = fitted(kind, X)
    assert_array_equal(model.labels_, fitted(kind, groups).labels_)
    assert_array_equal(model.predict(X), model.labels_)
    assert model.certificates_.holds
    assert model.certify(X).holds


@pytest.mark.parametrize("bounded", [False, True])
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "csr"])
@pytest.mark.parametrize("power", [66, -66, 100, -100])
def test_kmeans_of_many_rows_does_not_depend_on_the_scale(power, make, bounded):
    random = np.random.default_rng(1)
    n_rows = 9000 if bounded else 400
    X = random.normal(size=(n_rows, 8)) + 3.0 * random.integers(0, 6, size=(n_rows, 1))
    plain = KMeans(12, init=X[:12], tol=0).fit(make(X))
    scaled = X * 2.0**power
    model = KMeans(12, init=scaled[:12], tol=0).fit(make(scaled))
    assert_array_equal(model.labels_, plain.labels_)
    assert_array_equal(model.predict(make(scaled)), plain.labels_)
    assert_allclose(model.inertia_ * 4.0**-power, plain.inertia_, rtol=1e-12)
    assert model.certify(make(scaled)).holds


@pytest.mark.parametrize("huge", [1e15, 1e20, 1e100, 1e140])
def test_one_huge_value_makes_a_cluster_of_its_own(huge, groups):
    X = groups.copy()
    X[7, 1] = huge
    model = KMeans(4, random_state=0).fit(X)
    assert_array_equal(model.predict(X), model.labels_)
    assert np.count_nonzero(model.labels_ == model.labels_[7]) == 1
    assert model.certify(X).holds


@pytest.mark.parametrize("factor", [1e155, 1e200, 1e300, 1e-160, 1e-300])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not SphericalKMeans])
def test_squares_that_overflow_or_vanish_are_refused_in_a_sentence(kind, factor, groups):
    words = r"overflow. Divide X" if factor > 1.0 else "vanish. Multiply X"
    with pytest.raises(ValueError, match=words):
        fitted(kind, groups * factor)


@pytest.mark.parametrize("kind", KINDS)
def test_one_value_whose_square_overflows_is_refused_or_clustered(kind, groups):
    X = groups.copy()
    X[7, 1] = 1e160
    if kind is SphericalKMeans:
        assert fitted(kind, X).certify(X).holds
        return
    with pytest.raises(ValueError, match=r"X reaches 1e\+160, so that sums of squared distances, or of"):
        fitted(kind, X)


@pytest.mark.parametrize("weight", [1e-310, 1e-200, 1e-140, 1e140, 1e200, 1e300, 5e-324])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind is not SphericalKMeans])
def test_weights_without_digits_are_refused_or_harmless(kind, weight, groups):
    try:
        model = fitted(kind, groups, sample_weight=np.full(240, weight))
    except ValueError as refusal:
        assert "weights" in str(refusal)
    else:
        assert_array_equal(model.labels_, fitted(kind, groups).labels_)
        assert model.certify(groups, sample_weight=np.full(240, weight)).holds


def test_rows_outside_memory_that_overflow_are_refused(tmp_path, groups):
    np.save(tmp_path / "rows.npy", groups * 1e160)
    with pytest.raises(ValueError, match=r"overflow. Divide X"):
        KMeans(4, random_state=0).fit(str(tmp_path / "rows.npy"))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        with pytest.raises(ValueError, match=r"overflow. Divide X"):
            KMeans(4, init=groups[:4] * 1e160).fit(str(tmp_path / "rows.npy"))


@pytest.mark.parametrize("kind", KINDS)
def test_labels_of_no_cluster_are_refused_before_a_loop_trusts_them(kind, groups):
    model = fitted(kind, groups)
    model.labels_ = model.labels_.copy()
    model.labels_[5] = 10**6
    with pytest.raises(ValueError, match=r"labels_ of .* must be from 0 to 3\. Got 0 to 1000000 instead"):
        model.certify(groups)


@pytest.mark.parametrize("wrong", [240, -1, 10**9])
def test_medoids_that_are_no_rows_are_refused_before_a_loop_trusts_them(wrong, groups):
    model = fitted(KMedoids, groups)
    model.medoid_indices_[2] = wrong
    with pytest.raises(ValueError, match=r"medoid_indices_ of KMedoids must be rows, from 0 to 239"):
        model.certify(groups)


def test_a_tree_that_leads_nowhere_is_refused(groups):
    model = fitted(BisectingKMeans, groups)
    for wrong in (10**6, 0):
        model.tree_.children[0, 1] = wrong
        with pytest.raises(ValueError, match="children after their parents"):
            model.predict(groups)


def test_the_certificate_of_assignments_does_not_trust_the_loop_it_checks(groups, monkeypatch):
    model = fitted(KMeans, groups)
    from assay.cluster.kmeans import centers

    def wrong(features, layout, visited):
        nearest = np.zeros(len(visited), dtype=np.int32)
        norms = np.square(features[0] - layout[0]).sum(axis=1)
        return nearest, np.zeros(len(visited)), np.zeros(len(visited)), norms

    monkeypatch.setattr(centers, "find_nearest", wrong)
    model.labels_ = np.zeros(240, dtype=np.int32)
    assert not model.certify(groups).named("assignment excess").holds
