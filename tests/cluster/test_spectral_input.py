"""Spectral clustering on input that is bad, hard or degenerate."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score as agreement

from assay.cluster import SpectralClustering
from assay.datasets import Blobs, TwoMoons


@pytest.fixture
def X():
    return Blobs(centers=[[0.0, 0.0], [6.0, 0.0]], cluster_std=1.0).sample(60, random_state=0).X


@pytest.fixture
def crowd():
    """One group of rows, all near each other."""
    return np.random.default_rng(0).uniform(size=(24, 2))


def refused(words, X, **options):
    options = {"n_clusters": 2, **options}
    with pytest.raises(ValueError, match=words) as refusal:
        SpectralClustering(**options).fit(X)
    assert "\n" not in str(refusal.value)


@pytest.mark.spec("sangnier/SG-P2")
def test_components_are_returned_and_said_to_be_components(crowd):
    apart = np.vstack([crowd[:20], crowd[:20] + 100.0, crowd[:20] + 200.0])
    with pytest.warns(UserWarning, match="3 components for n_clusters=3: the clusters are whole components"):
        model = SpectralClustering(3, n_neighbors=5).fit(apart)
    assert_array_equal(model.labels_, np.repeat([0, 1, 2], 20))
    assert model.norm_cut_ == model.cut_bound_ == model.cut_gap_ == 0.0
    assert model.certify(apart).holds


@pytest.mark.spec("sangnier/SG-P2")
@pytest.mark.parametrize("laplacian", ["random_walk", "symmetric", "unnormalized"])
@pytest.mark.parametrize("rounding", ["kmeans", "weighted_kmeans", "sign", "sweep"])
def test_fewer_clusters_than_components_packs_them_evenly(crowd, laplacian, rounding):
    apart = np.vstack([crowd, crowd[:12] + 100.0, crowd[12:] + 200.0])
    with pytest.warns(UserWarning, match="3 components for n_clusters=2"):
        model = SpectralClustering(2, n_neighbors=4, laplacian=laplacian, rounding=rounding).fit(apart)
    assert_array_equal(model.labels_, np.repeat([0, 1], 24))  # 24 against 12 + 12
    assert model.n_components_ == 3
    assert model.cut_ == 0.0
    assert model.certify(apart).holds


@pytest.mark.spec("sangnier/SG-P2", "sangnier/SG-M17")
def test_automatic_neighbours_grow_while_there_are_too_many_components(crowd):
    apart = np.vstack([crowd[:10], crowd[:10] + 100.0, crowd[:10] + 200.0])
    model = SpectralClustering(2, random_state=0).fit(apart)
    assert model.n_neighbors_ >= 10  # a neighbour outside the ten
    assert model.n_components_ <= 2


def test_isolated_vertices_are_said_and_get_a_loop():
    W = np.kron(np.eye(2), np.ones((5, 5)))
    W = np.pad(W, (0, 1))  # a vertex of degree 0
    for given in (W, sparse.csr_array(W)):
        with pytest.warns(UserWarning, match="1 vertices of degree 0 were given a loop"):
            model = SpectralClustering(3, affinity="precomputed").fit(given)
        assert_array_equal(model.labels_, [0] * 5 + [1] * 5 + [2])
        assert model.affinity_matrix_.diagonal()[-1] == 1.0
        assert model.certify(given).holds
    W[10, 10] = 1.0
    with pytest.warns(UserWarning, match="1 isolated vertices"):
        SpectralClustering(4, affinity="precomputed", random_state=0).fit(W)


def test_a_new_row_without_affinity_has_no_cluster(X):
    W = np.exp(-((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(W)
    assert_array_equal(model.predict(np.vstack([np.zeros(60), W[0]])), [-1, model.labels_[0]])


@pytest.mark.parametrize("affinity", ["nearest_neighbors", "mutual_nearest_neighbors", "epsilon", "rbf"])
def test_equal_rows_everywhere_are_survived_and_said(affinity):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 15, axis=0)
    model = SpectralClustering(2, affinity=affinity, random_state=0).fit(X)
    if affinity != "epsilon":  # two points are joined by the ε that joins all
        assert agreement(np.repeat([0, 1], 15), model.labels_) == 1.0
    with pytest.warns(ConvergenceWarning, match="only 2 distinct rows for n_clusters=3"):
        SpectralClustering(3, affinity=affinity, random_state=0).fit(X)
    with pytest.warns(ConvergenceWarning, match="only 1 distinct rows"):
        SpectralClustering(2, affinity=affinity, random_state=0).fit(np.ones((30, 2)))


@pytest.mark.parametrize("scale", [1e8, 1e-8])
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "epsilon", "rbf"])
def test_the_scale_of_the_rows_does_not_matter(scale, affinity):
    X = TwoMoons(noise_std=0.05).sample(200, random_state=0).X
    model = SpectralClustering(2, affinity=affinity, random_state=0).fit(X)
    scaled = SpectralClustering(2, affinity=affinity, random_state=0).fit(scale * X)
    assert agreement(model.labels_, scaled.labels_) == 1.0
    assert scaled.certify(scale * X).holds
    shifted = SpectralClustering(2, affinity=affinity, random_state=0).fit(X + 1e5)
    assert agreement(model.labels_, shifted.labels_) == 1.0


def test_what_cannot_be_done_is_refused_in_one_sentence(X):
    refused("at most the number of distinct rows", X, n_clusters=61)
    refused("1 sample", X[:1], n_clusters=1)
    refused("The 'n_clusters' parameter .* must be 2 for rounding='sign'", X, n_clusters=3, rounding="sign")
    refused("The 'n_neighbors' parameter .* at most the number of other rows \\(59\\)", X, n_neighbors=60)
    refused("The 'eps' parameter .* above 0", X, affinity="epsilon", eps=0.0)
    refused("The 'gamma' parameter", X, affinity="rbf", gamma=-1.0)
    refused("The 'affinity' parameter", X, affinity="laplace")
    refused("The 'n_landmarks' parameter", X, n_clusters=5, n_landmarks=3)
    refused("The 'n_landmarks' parameter", np.eye(6), affinity="precomputed", n_landmarks=3)
    refused("NaN", np.where(np.arange(120).reshape(60, 2) == 3, np.nan, X))
    refused("square", X, affinity="precomputed")
    refused("square", X, metric="precomputed")
    refused("symmetric", np.triu(np.ones((4, 4))), affinity="precomputed")
    refused("at least 0", -np.ones((4, 4)), affinity="precomputed")
    refused("[Nn]egative", -np.ones((4, 4)), metric="precomputed")
    refused("symmetric", X, affinity=lambda x, z: float(np.exp(x[0] - z[0])))
    refused("positive at equal rows", X, affinity=lambda x, z: float(np.abs(x - z).sum()))
    with pytest.raises(TypeError):
        SpectralClustering(2).fit(sparse.csr_array(X))


def test_all_pairs_of_many_rows_are_refused_with_the_way_out():
    X = np.zeros((20_001, 1))
    refused("all pairs.*n_landmarks", X, affinity="rbf")


def test_rows_outside_memory_are_refused_with_the_way_out(tmp_path, X):
    np.save(tmp_path / "rows.npy", X)
    refused("pairs.*fit on a sample", str(tmp_path / "rows.npy"))
    model = SpectralClustering(2, random_state=0).fit(X)
    assert_array_equal(model.predict(str(tmp_path / "rows.npy")), model.predict(X))


def test_float32_rows_give_the_clusters_of_float64():
    X = TwoMoons(noise_std=0.05).sample(200, random_state=0).X
    for affinity in ("nearest_neighbors", "epsilon", "rbf"):
        a = SpectralClustering(2, affinity=affinity, random_state=0).fit(X)
        b = SpectralClustering(2, affinity=affinity, random_state=0).fit(X.astype(np.float32))
        assert agreement(a.labels_, b.labels_) == 1.0
        assert b.certify(X.astype(np.float32)).holds
