"""Pictures of spectral clustering show what the fit holds."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import eigh

from assay.cluster import SpectralClustering
from assay.datasets import TwoMoons
from assay.display.plane import dense
from assay.display.style import PALETTE
from assay.graphs import eigengap, laplacian, norm_cut


@pytest.fixture(scope="module")
def moons():
    return TwoMoons(noise_std=0.15).sample(240, random_state=0).X


@pytest.fixture(scope="module")
def model(moons):
    return SpectralClustering(2, random_state=0).fit(moons)


@pytest.mark.spec("sangnier/SG-F1", "sangnier/SG-F2")
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
def test_the_map_shows_the_rows_in_the_colours_of_their_clusters(affinity, moons):
    model = SpectralClustering(2, affinity=affinity, random_state=0).fit(moons)
    ax = model.plot(moons)
    points = ax.collections[0]
    assert_allclose(points.get_offsets(), moons)
    assert_allclose(points.get_facecolors()[:, :3], [to_rgb(PALETTE[label]) for label in model.labels_])
    bound = np.linalg.eigvalsh(laplacian(dense(model.affinity_matrix_), "symmetric"))[:2].sum()
    value = norm_cut(model.affinity_matrix_, model.labels_).value
    assert ax.get_title() == f"2 clusters, NormCut {value:.3g} (at least {bound:.3g})"
    assert model.plot(moons[:50]).collections[0].get_offsets().shape == (50, 2)  # new rows are predicted


@pytest.mark.spec("sangnier/SG-F3")
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
@pytest.mark.parametrize("kind", ["random_walk", "unnormalized"])
def test_the_spectrum_shows_the_eigenvalues_and_the_gap(affinity, kind, moons):
    model = SpectralClustering(2, affinity=affinity, laplacian=kind, random_state=0).fit(moons)
    ax = model.plot(kind="spectrum")
    L = laplacian(dense(model.affinity_matrix_), "symmetric" if kind == "random_walk" else kind)
    expected = np.linalg.eigvalsh(L)[:10]
    used, unused = (line.get_xydata() for line in ax.lines)
    assert_array_equal(np.concatenate([used, unused])[:, 0], np.arange(1, 11))
    room = 1e-6 * max(1.0, np.abs(L).max())
    assert_allclose(used[:, 1], expected[:2], atol=room)
    assert_allclose(unused[:, 1], expected[2:], atol=room)
    # The band is the gap after the number of clusters that was asked for.
    (band,) = ax.patches
    assert_allclose([band.get_y(), band.get_y() + band.get_height()], expected[1:3], atol=room)
    best = int(eigengap(model.affinity_matrix_, laplacian=kind, k_max=9).n_clusters)
    assert ax.get_title() == f"the gap speaks for {best} clusters; 2 were asked for"


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
@pytest.mark.parametrize("affinity", ["nearest_neighbors", "rbf"])
@pytest.mark.parametrize("kind", ["random_walk", "unnormalized"])
def test_eigenvectors_of_one_feature_are_curves_over_it(affinity, kind):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(center, 0.3, size=40) for center in (0, 2, 4, 6)])[:, np.newaxis]
    options = {"gamma": 2.0} if affinity == "rbf" else {"n_neighbors": 45}
    model = SpectralClustering(4, affinity=affinity, laplacian=kind, random_state=0, **options).fit(X)
    ax = model.plot(kind="eigenvectors")
    W = dense(model.affinity_matrix_)
    weight = np.diag(W.sum(axis=1)) if kind == "random_walk" else None
    values, vectors = eigh(laplacian(W), weight)
    vectors = vectors[np.argsort(X[:, 0])]
    assert len(ax.lines) == 4
    for place, line in enumerate(ax.lines):
        curve = vectors[:, place] / np.abs(vectors[:, place]).max()
        assert_allclose(line.get_xdata(), np.sort(X[:, 0]))
        drawn = line.get_ydata()
        assert_allclose(drawn * np.sign(drawn @ curve), curve, atol=2e-4)
        number, _, value = line.get_label().rstrip(")").partition(" (λ = ")
        assert int(number) == place + 1
        assert float(value) == pytest.approx(values[place], rel=0.06, abs=1e-8)
    # The histogram of the sample, in the colours of the clusters.
    bars = model.plot(X).patches
    left = np.array([bar.get_x() for bar in bars])
    right = left + [bar.get_width() for bar in bars]
    for label in range(4):
        mine = np.array([to_rgb(bar.get_facecolor()) == to_rgb(PALETTE[label]) for bar in bars])
        rows = X[model.labels_ == label, 0]
        inside = (rows[:, None] >= left[mine] - 1e-12) & (rows[:, None] <= right[mine] + 1e-12)
        counts = np.array([bar.get_height() for bar, own in zip(bars, mine, strict=True) if own])
        assert_array_equal(counts, inside.sum(axis=0))
        assert counts.sum() == len(rows) > 0
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
