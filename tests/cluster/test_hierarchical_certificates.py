"""Certificates of hierarchical clustering: they hold on a tree of the definition, and fail on any other."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.cluster.hierarchy import linkage as scipy_linkage
from scipy.spatial.distance import cdist, pdist, squareform

from assay.cluster import AgglomerativeClustering, DivisiveClustering
from assay.cluster.hierarchy import certificates as _linkage_certificates
from assay.cluster.hierarchy import evidence as _linkage_evidence
from assay.theory import optimal_partition

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
each_linkage = pytest.mark.parametrize("linkage", LINKAGES)
ERROR, CLOSER, FALL = "largest error of a height", "closer pair passed over", "largest fall of the heights"
CUT = "rows outside their cluster of the tree"


def fitted(linkage, X, n_clusters=3):
    return AgglomerativeClustering(n_clusters, linkage=linkage).fit(X)


def give(model, Z):
    """Put another tree into a fitted model."""
    model.children_, model.distances_ = np.sort(Z[:, :2], axis=1).astype(np.int64), Z[:, 2].copy()
    model.labels_ = model.tree_.cut(model.n_clusters_)
    return model


@each_linkage
def test_they_hold_on_the_tree_of_scipy(linkage, noise):
    X = noise[:300]
    give(fitted(linkage, X), scipy_linkage(X, linkage)).certify(X).require()


@each_linkage
@pytest.mark.parametrize("n_rows", [150, 600])
def test_a_wrong_height_is_found(linkage, n_rows, noise):
    X = noise[:n_rows]
    model = fitted(linkage, X)
    for join in (0, n_rows // 2, n_rows - 2):
        damaged = fitted(linkage, X)
        damaged.distances_[join] *= 1 + 1e-5
        assert not damaged.certify(X).named(ERROR).holds
    assert model.certify(X).holds


@each_linkage
def test_the_tree_of_another_linkage_is_found(linkage, noise):
    X = noise[:200]
    for other in set(LINKAGES) - {linkage}:
        proof = give(fitted(linkage, X), scipy_linkage(X, other)).certify(X)
        assert not proof.named(ERROR).holds


@each_linkage
@pytest.mark.parametrize("matrix_leaves", [512, 4])
def test_a_join_of_clusters_that_are_not_the_closest_is_found(linkage, matrix_leaves, monkeypatch):
    monkeypatch.setattr(_linkage_evidence, "MATRIX_LEAVES_OF_CERTIFY", matrix_leaves)
    X = np.array([[0.0], [1.0], [3.5], [4.0], [9.0], [9.2], [15.0], [15.1]])
    model = fitted(linkage, X, 2)
    model.certify(X).require()
    # Heights are the linkages of what is joined; only a closer pair tells that 15 and 15.1 were passed over.
    model.children_ = np.array([[4, 5], [2, 3], [0, 1], [9, 10], [6, 8], [11, 12], [7, 13]])
    model.distances_ = model._evidence(X, np.ones(8), thorough=True).heights(np.arange(7))
    proof = model.certify(X)
    assert proof.named(ERROR).holds
    assert not proof.named(CLOSER).holds


@each_linkage
def test_a_swapped_label_is_found(linkage, iris):
    model = fitted(linkage, iris)
    first, other = 0, int(np.flatnonzero(model.labels_ != model.labels_[0])[0])
    model.labels_[first] = model.labels_[other]
    assert not model.certify(iris).named(CUT).holds
    assert model.certify(iris).named(CUT).value >= 1
    model = fitted(linkage, iris)
    model.labels_ = np.array([2, 0, 1])[model.labels_]  # other numbers, the same clusters
    assert model.certify(iris).named(CUT).holds


def test_falling_heights_are_found_where_the_linkage_forbids_them(iris):
    for linkage in ("ward", "single", "complete", "average", "weighted"):
        model = fitted(linkage, iris)
        model.distances_[-1] = model.distances_[-2] * (1 - 1e-9)
        assert not model.certify(iris).named(FALL).holds
    with pytest.raises(KeyError):
        fitted("centroid", iris).certificates_.named(FALL)


@pytest.mark.spec("sangnier/HC-T3")
def test_ward_costs_telescope_to_the_inertia_or_the_certificate_fails(iris):
    model = fitted("ward", iris)
    assert model.certificates_.named("telescoping residual").value < 1e-12
    model.distances_ *= 1 + 1e-6
    assert not model.certify(iris).named("telescoping residual").holds


def test_a_cut_off_the_threshold_is_found(iris):
    model = AgglomerativeClustering(None, linkage="average", distance_threshold=2.0).fit(iris)
    model.n_clusters_ += 1
    model.labels_ = model.cut(model.n_clusters_)
    assert not model.certify(iris).named("number of clusters").holds


def test_ward_is_bounded_by_the_eigenvalues_and_by_the_optimum(rng):
    X = rng.normal(size=(9, 2))
    model = fitted("ward", X)
    bound = model.certify(X).named("inertia")
    assert_allclose(bound.value, model.inertia_curve_[2])
    assert bound.bound <= optimal_partition(X, 3).inertia <= bound.value * (1 + 1e-12)


def test_complete_linkage_is_bounded_by_rows_that_are_far_apart(iris):
    model = fitted("complete", iris)
    bound = model.certify(iris).named("largest diameter")
    diameters = [pdist(iris[model.labels_ == k]).max() for k in range(3)]
    assert_allclose(bound.value, max(diameters))
    assert 0.0 < bound.bound <= bound.value
    # Brute force: no partition of few rows into 2 has a smaller diameter than the bound.
    X = iris[::19]
    D = cdist(X, X)
    lower = fitted("complete", X, 2).certify(X).named("largest diameter").bound
    for code in range(1, 2 ** (len(X) - 1)):
        side = np.array([(code >> i) & 1 for i in range(len(X))], dtype=bool)
        assert max(D[np.ix_(side, side)].max(), D[np.ix_(~side, ~side)].max()) >= lower - 1e-12


@pytest.mark.spec("sangnier/HC-T1")
def test_single_linkage_keeps_clusters_as_far_apart_as_any_partition_can(rng):
    X = rng.normal(size=(9, 2))
    model = fitted("single", X, 2)
    bound = model.certify(X).named("least distance between clusters")
    D = cdist(X, X)
    best = 0.0
    for code in range(1, 2**8):
        side = np.array([(code >> i) & 1 for i in range(9)], dtype=bool)
        best = max(best, D[np.ix_(side, ~side)].min())
    assert_allclose([bound.value, bound.bound], best)
    model.labels_[:] = 0
    model.labels_[:4] = 1
    assert not model.certify(X).holds


def test_samples_of_joins_and_clusters_are_checked_when_all_are_too_many(noise, monkeypatch):
    X = noise[:1500]
    monkeypatch.setattr(_linkage_certificates, "CERTIFY_PAIRS", 2**18)
    monkeypatch.setattr(_linkage_evidence, "MATRIX_LEAVES_OF_CERTIFY", 512)
    for linkage in LINKAGES:
        model = fitted(linkage, X)
        proof = model.certify(X)
        proof.require()
        if linkage in ("single", "complete", "average", "weighted"):
            assert "joins of 1499" in proof.named(ERROR).claim
        model.distances_ *= 1 + 1e-6
        assert not model.certify(X).named(ERROR).holds


def test_certify_takes_the_rows_of_the_fit(iris):
    model = fitted("average", iris)
    with pytest.raises(ValueError, match="certify takes the rows of the fit"):
        model.certify(iris[:100])
    weight = np.ones(150)
    weight[3] = 0
    with pytest.raises(ValueError, match="rows and weights of the fit"):
        model.certify(iris, sample_weight=weight)
    assert not model.certify(iris[::-1] * 2.0).holds


def test_divisive_certificates_fail_on_damage(iris):
    model = DivisiveClustering(3).fit(iris)
    assert model.certify(iris).holds
    model.distances_[-5] *= 1 + 1e-6
    assert not model.certify(iris).named("largest error of a diameter").holds
    model = DivisiveClustering(3).fit(iris)
    model.labels_[0] = (model.labels_[0] + 1) % 3
    assert not model.certify(iris).named(CUT).holds
    # The joins of complete linkage have diameters as heights, but its parts are not those of DIANA.
    Z = scipy_linkage(iris + 1e-7 * np.random.default_rng(0).normal(size=iris.shape), "complete")
    model = give(DivisiveClustering(3).fit(iris), Z)
    assert not model.certify(iris).named("largest gain of a further move").holds


def test_precomputed_dissimilarities_are_certified(iris):
    D = squareform(pdist(iris, "cityblock"))
    model = AgglomerativeClustering(3, linkage="average", metric="precomputed").fit(D)
    assert model.certify(D).holds
    model.distances_[100] *= 1.01
    assert not model.certify(D).holds
