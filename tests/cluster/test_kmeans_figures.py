"""What k-means can and cannot show: frontiers, shapes, colours, initialisations, and their pictures."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_sample_image
from sklearn.metrics import adjusted_rand_score

from assay.cluster import KMeans, compare_inits, quantize_colors
from assay.datasets import Blobs, Rings, TwoMoons
from assay.display import plot_cluster_frontiers, plot_color_quantization, plot_inits
from assay.theory import plus_plus_factor


@pytest.fixture(scope="module")
def unequal():
    """Two Gaussian clusters of unequal spread: the best frontier is a circle."""
    return Blobs(centers=[[0.0, 0.0], [4.0, 0.0]], cluster_std=[0.5, 2.0])


@pytest.mark.spec("sangnier/KM-F1")
def test_frontiers_are_straight_where_the_best_ones_are_round(unequal):
    X, _ = unequal.sample(3000, random_state=0)
    model = KMeans(2, n_init=3, random_state=0).fit(X)
    first, second = model.cluster_centers_
    grid = np.stack(np.meshgrid(np.linspace(-6, 10, 160), np.linspace(-7, 7, 140)), -1).reshape(-1, 2)
    # The frontier is the perpendicular bisector of the centres.
    side = (grid - (first + second) / 2) @ (second - first) > 0
    assert_array_equal(model.predict(grid) == 1, side)
    # The best region of the narrow cluster is a disc, which no line bounds.
    narrow, wide, far = 0.25, 4.0, np.array([4.0, 0.0])
    curvature = 1 / narrow - 1 / wide
    center = -far / (wide * curvature)
    radius = np.sqrt((2 * np.log(wide / narrow) + far @ far / wide) / curvature + center @ center)
    assert_array_equal(unequal.bayes_rule(grid) == 0, ((grid - center) ** 2).sum(axis=1) < radius**2)
    own = model.predict([[0.0, 0.0]])[0]
    straight = unequal.risk(lambda rows: (model.predict(rows) != own).astype(int), 20_000, 1)
    assert straight.value - 4 * straight.standard_error > unequal.bayes_risk().value


@pytest.mark.spec("sangnier/KM-P1")
def test_cells_are_convex(rng):
    X = rng.normal(size=(400, 3))
    model = KMeans(7, random_state=0).fit(X)
    a, b, share = rng.normal(size=(3000, 3)), rng.normal(size=(3000, 3)), rng.uniform(size=(3000, 1))
    same = model.predict(a) == model.predict(b)
    assert same.sum() > 200
    assert_array_equal(model.predict(share * a + (1 - share) * b)[same], model.predict(a)[same])


@pytest.mark.spec("sangnier/KM-P1", "sangnier/KM-F2")
@pytest.mark.parametrize("law", [TwoMoons(noise_std=0.05), Rings(radii=(1.0, 3.0), noise_std=0.1)])
def test_clusters_that_are_not_convex_are_cut_through(law):
    X, y = law.sample(600, random_state=0)
    model = KMeans(2, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(law.bayes_rule(X), y) > 0.98  # the law parts them
    assert adjusted_rand_score(model.labels_, y) < 0.6
    # It is the criterion that fails, not the search: the true partition has a larger inertia.
    true = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum() for c in np.unique(y))
    assert model.inertia_ < true


@pytest.mark.spec("sangnier/KM-F2")
def test_elongated_clusters_are_cut_across():
    law = Blobs(centers=[[0.0, 0.0], [0.0, 3.0]], covariances=np.diag([25.0, 0.1]))
    X, y = law.sample(600, random_state=0)
    assert adjusted_rand_score(KMeans(2, n_init=5, random_state=0).fit(X).labels_, y) < 0.1


@pytest.fixture(scope="module")
def china():
    pytest.importorskip("PIL", reason="the sample image needs pillow")
    return load_sample_image("china.jpg")[::12, ::12]


@pytest.mark.spec("sangnier/KM-P3")
def test_quantisation_replaces_rows_by_their_centres(iris):
    model = KMeans(5, random_state=0).fit(iris)
    codes = model.quantize(iris)
    assert_array_equal(codes, model.cluster_centers_[model.labels_])
    assert_allclose(((iris - codes) ** 2).sum(), model.inertia_)
    assert_array_equal(model.quantize(codes), codes)
    da = pytest.importorskip("dask.array")
    lazy = model.quantize(da.from_array(iris, chunks=(40, 4)))
    assert isinstance(lazy, da.Array)
    assert lazy.shape == iris.shape
    assert_array_equal(lazy.compute(), codes)


@pytest.mark.spec("sangnier/KM-P3")
def test_an_image_in_few_colours(china):
    counts = (1, 2, 4, 8, 16)
    found = [quantize_colors(china, count, random_state=0) for count in counts]
    distortions = [one.distortion for one in found]
    assert np.all(np.diff(distortions) < 0)
    pixels = china / 255.0
    assert_allclose(distortions[0], pixels.reshape(-1, 3).var(axis=0).sum())
    for count, one in zip(counts, found, strict=True):
        assert len(np.unique(one.image.reshape(-1, 3), axis=0)) == count
        assert_allclose(one.distortion, ((pixels - one.image) ** 2).sum(axis=2).mean())
        assert one.bits == np.log2(count)
    with pytest.raises(ValueError, match=r"shape \(height, width, n_channels\)\. Got shape \(5, 5\) instead"):
        quantize_colors(np.zeros((5, 5)), 2)


@pytest.mark.spec("sangnier/KM-P4", "peyre/X7")
def test_three_initialisations_over_many_seeds():
    X, _ = Blobs(9, 2, random_state=1).sample(400, random_state=1)
    found = compare_inits(X, 9, n_seeds=30, random_state=0)
    assert found.inits == ("random", "k-means++", "farthest")
    assert found.inertias.shape == found.n_iter.shape == (3, 30)
    random, plus_plus, _ = found.inertias
    assert np.ptp(random) > 0  # seeds end at different local minima: hence restarts
    assert plus_plus.mean() < random.mean()
    assert found.n_iter[1].mean() < found.n_iter[0].mean()
    assert plus_plus.mean() <= plus_plus_factor(9) * found.inertias.min()
    assert_allclose(found.excess.min(), 0.0)
    assert np.all(found.success(1e9) == 1.0)
    # What the defaults do: restarts where one start is not enough, the greedy k-means++ where it is.
    assert len(KMeans(9, init="random", random_state=0).fit(X).restart_inertias_) == 10
    default = KMeans(9, random_state=0)
    assert default.init == "greedy-k-means++"
    assert default.fit(X).inertia_ < np.median(random)


def test_comparison_refuses_what_it_does_not_know(iris):
    with pytest.raises(ValueError, match="'inits' parameter of compare_inits must be some of"):
        compare_inits(iris, 3, inits=("lucky",))
    with pytest.raises(ValueError, match="'n_seeds' parameter of compare_inits must be an int at least 1"):
        compare_inits(iris, 3, n_seeds=0)


@pytest.mark.spec("peyre/X5")
def test_iterations_are_drawn_in_the_plane_of_the_principal_axes(iris):
    model = KMeans(3, init=iris[[0, 1, 2]], history=True).fit(iris)
    panels = model.plot(iris, kind="iterations").child_axes
    assert len(panels) == 6
    titles = [panel.get_title() for panel in panels]
    assert titles[0] == f"iteration 1: inertia {model.history_.inertia[0]:.4g}"
    assert titles[-1] == f"iteration {len(model.history_.centers)}: inertia {model.inertia_:.4g}"
    centered = iris - iris.mean(axis=0)
    axes = np.linalg.svd(centered, full_matrices=False)[2][:2]
    for panel, step in ((panels[0], 0), (panels[-1], -1)):
        cells = [patch.get_path() for patch in panel.patches]
        assert len(cells) == 3
        # A point of the plane is in the cell of the centre that is nearest to it in all four features.
        drawn = [line.get_xydata()[-1] for line in panel.lines if line.get_marker() == "o"]
        flat = (model.history_.centers[step] - iris.mean(axis=0)) @ axes.T
        assert_allclose(np.abs(drawn), np.abs(flat), atol=1e-9)
    with pytest.raises(ValueError, match="fit with history=True"):
        KMeans(3, random_state=0).fit(iris).plot(iris, kind="iterations")


@pytest.mark.spec("sangnier/KM-F1", "peyre/X7", "sangnier/KM-P3")
def test_figures_are_drawn(unequal, iris):
    X, y = unequal.sample(300, random_state=0)
    ax = plot_cluster_frontiers(KMeans(2, random_state=0).fit(X), unequal, X, y)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["best rule, knowing the law", "KMeans"]
    with pytest.raises(ValueError, match=r"rows of 2 features\. X has 4 instead"):
        plot_cluster_frontiers(KMeans(2, random_state=0).fit(iris), unequal, iris)
    found = compare_inits(iris, 3, n_seeds=4, random_state=0)
    ax = plot_inits(found)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == list(found.inits)
    assert_allclose(ax.collections[1].get_offsets()[:, 0], 100 * found.excess[1])
    image = np.random.default_rng(0).uniform(size=(12, 15, 3))
    ax = plot_color_quantization(image, (2, 4, 8))
    assert np.all(np.diff(ax.lines[0].get_ydata()) < 0)
    assert [inset.get_title() for inset in ax.child_axes] == ["original", "2 colours", "4 colours"]


def test_a_tree_is_drawn_with_its_cells():
    from assay.cluster import BisectingKMeans

    X = Blobs(5, 2, random_state=0).sample(300, random_state=0).X
    model = BisectingKMeans(5, random_state=0).fit(X)
    ax = model.plot(X)
    inside = np.array([patch.get_path().contains_points(X) for patch in ax.patches])
    assert_array_equal(inside.sum(axis=0), 1)
    assert_array_equal(inside.argmax(axis=0), model.labels_)
    ax = model.plot(kind="tree")
    assert ax.get_title() == "4 splits"
    assert sorted(tick.get_text() for tick in ax.get_xticklabels()) == list("01234")
