"""Pictures of spectral clustering show what the fit holds."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

from assay.cluster import SpectralClustering
from assay.datasets import TwoMoons
from assay.graphs import eigengap


@pytest.fixture(scope="module")
def moons():
    return TwoMoons(noise_std=0.15).sample(240, random_state=0).X


@pytest.fixture(scope="module")
def model(moons):
    return SpectralClustering(2, random_state=0).fit(moons)


@pytest.mark.spec("sangnier/SG-F1", "sangnier/SG-F2")
def test_the_map_shows_the_rows_in_the_colours_of_their_clusters(model, moons):
    ax = model.plot(moons)
    points = ax.collections[0]
    assert_allclose(points.get_offsets(), moons)
    colors = points.get_facecolors()[:, :3]
    for cluster in range(2):
        assert len(np.unique(colors[model.labels_ == cluster], axis=0)) == 1
    assert "NormCut" in ax.get_title()
    assert model.plot(moons[:50]).collections[0].get_offsets().shape == (50, 2)  # new rows are predicted


@pytest.mark.spec("sangnier/SG-F3")
def test_the_spectrum_shows_the_eigenvalues_and_the_gap(model):
    ax = model.plot(kind="spectrum")
    shown = np.concatenate([line.get_ydata() for line in ax.lines])
    expected = eigengap(model.affinity_matrix_, k_max=9)
    assert_allclose(shown, expected.values, atol=1e-6)
    assert_allclose(shown[:2], model.eigenvalues_, atol=1e-6)
    assert f"speaks for {expected.n_clusters} clusters" in ax.get_title()


def test_the_graph_shows_which_edges_are_cut(model):
    W = np.triu(model.affinity_matrix_.toarray(), 1)
    first, second = np.nonzero(W)
    n_cut = int((model.labels_[first] != model.labels_[second]).sum())
    ax = model.plot(kind="graph")
    assert f"{n_cut} of {first.size} edges" in ax.get_title()
    assert len(ax.collections[1].get_segments()) == n_cut


def test_the_embedding_shows_the_rows_and_their_centres(moons):
    model = SpectralClustering(3, random_state=0).fit(moons)
    assert model.n_components_ == 1  # the first coordinate is constant
    ax = model.plot(kind="embedding")
    assert_allclose(ax.collections[0].get_offsets(), model.embedding_[:, 1:])
    assert_allclose(ax.collections[1].get_offsets(), model.embedding_centers_[:, 1:])


def test_two_clusters_show_their_score_and_the_border(model, moons):
    sweep = SpectralClustering(2, rounding="sweep", random_state=0).fit(moons)
    for fitted in (model, sweep):
        ax = fitted.plot(kind="embedding")
        assert_allclose(ax.collections[0].get_offsets()[:, 1], np.sort(fitted.embedding_[:, -1]))
        assert_allclose(ax.lines[0].get_ydata()[0], fitted.embedding_centers_[:, -1].mean())


@pytest.mark.spec("sangnier/SG-F4")
def test_eigenvectors_of_one_feature_are_curves_over_it():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(center, 0.3, size=40) for center in (0, 2, 4, 6)])[:, np.newaxis]
    model = SpectralClustering(4, affinity="rbf", random_state=0).fit(X)
    ax = model.plot(kind="eigenvectors")
    assert len(ax.lines) == 4
    assert_allclose(ax.lines[0].get_xdata(), np.sort(X[:, 0]))
    heights = [patch.get_height() for patch in model.plot(X).patches]  # the histogram
    assert sum(heights) == 160
    assert model.plot(kind="graph").has_data()


def test_without_coordinates_the_vertices_are_placed_by_eigenvectors(moons):
    W = np.exp(-4.0 * ((moons[:, np.newaxis] - moons) ** 2).sum(axis=2))
    model = SpectralClustering(2, affinity="precomputed", random_state=0).fit(W)
    for kind in ("map", "graph", "embedding", "spectrum", "eigenvectors"):
        ax = model.plot(W, kind=kind)
        assert ax.has_data()
        assert ax.get_xlabel()
    with pytest.raises(ValueError, match="The 'kind' parameter of the picture of SpectralClustering"):
        model.plot(kind="tree")
