"""What k-means can and cannot show: frontiers, shapes, colours, initialisations, and their pictures."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_sample_image
from sklearn.metrics import adjusted_rand_score

from assay.cluster import KMeans, compare_inits, quantize_colors
from assay.datasets import Blobs, Rings, TwoMoons
from assay.display import plot_cluster_frontiers, plot_color_quantization, plot_inits
from assay.display.style import PALETTE
from assay.theory import plus_plus_factor


@pytest.fixture(scope="module")
def unequal():
    """Two Gaussian clusters of unequal spread: the best frontier is a circle."""
    return Blobs(centers=[[0.0, 0.0], [4.0, 0.0]], cluster_std=[0.5, 2.0])


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


@pytest.mark.spec("sangnier/KM-P1")
@pytest.mark.parametrize("law", [TwoMoons(noise_std=0.05), Rings(radii=(1.0, 3.0), noise_std=0.1)])
def test_clusters_that_are_not_convex_are_cut_through(law):
    X, y = law.sample(600, random_state=0)
    model = KMeans(2, n_init=5, random_state=0).fit(X)
    assert adjusted_rand_score(law.bayes_rule(X), y) > 0.98  # the law parts them
    assert adjusted_rand_score(model.labels_, y) < 0.6
    # It is the criterion that fails, not the search: the true partition has a larger inertia.
    true = sum(((X[y == c] - X[y == c].mean(axis=0)) ** 2).sum() for c in np.unique(y))
    assert model.inertia_ < true


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
    # Rows that are each the farthest from those before: one in each cluster, where clusters are far apart.
    centers = 12.0 * np.stack(np.meshgrid(range(4), range(4)), -1).reshape(-1, 2)
    apart = compare_inits(
        Blobs(centers=centers).sample(320, random_state=1).X, 16, n_seeds=15, random_state=0
    )
    assert apart.success()[2] == 1.0
    assert np.all(apart.success()[:2] < 0.7)
    assert_allclose(apart.success(), (apart.inertias <= 1.001 * apart.inertias.min()).mean(axis=1))
    # What the defaults do: restarts where one start is not enough, the greedy k-means++ where it is.
    assert len(KMeans(9, init="random", random_state=0).fit(X).restart_inertias_) == 10
    default = KMeans(9, random_state=0)
    assert default.init == "greedy-k-means++"
    assert default.fit(X).inertia_ < np.median(random)


@pytest.mark.spec("peyre/X7")
def test_the_comparison_counts_weights_and_iterations(iris):
    """One centre ends at the weighted mean from any start, after as many iterations from each."""
    weight = np.arange(150) % 4
    found = compare_inits(iris, 1, n_seeds=3, random_state=0, sample_weight=weight)
    mean = np.average(iris, axis=0, weights=weight)
    assert_allclose(found.inertias, weight @ ((iris - mean) ** 2).sum(axis=1))
    assert_array_equal(found.n_iter, KMeans(1, init=iris[:1]).fit(iris, sample_weight=weight).n_iter_)


def test_comparison_refuses_what_it_does_not_know(iris):
    with pytest.raises(ValueError, match="'inits' parameter of compare_inits must be some of"):
        compare_inits(iris, 3, inits=("lucky",))
    with pytest.raises(ValueError, match="'n_seeds' parameter of compare_inits must be an int at least 1"):
        compare_inits(iris, 3, n_seeds=0)


@pytest.mark.spec("peyre/X5")
def test_iterations_are_drawn_in_the_plane_of_the_principal_axes(iris):
    model = KMeans(3, init=iris[[0, 1, 2]], history=True).fit(iris)
    panels = model.plot(iris, kind="iterations").child_axes
    centers = np.asarray(model.history_.centers)
    steps = [int(panel.get_title().split()[1].rstrip(":")) - 1 for panel in panels]
    assert len(steps) == 6
    assert (steps[0], steps[-1]) == (0, len(centers) - 1)
    assert np.all(np.diff(steps) > 0)
    middle = iris.mean(axis=0)
    axes = np.linalg.svd(iris - middle, full_matrices=False)[2][:2]
    drawn = np.array([line.get_xydata()[-1] for line in panels[0].lines if line.get_marker() == "o"])
    flat = (centers[0] - middle) @ axes.T
    axes *= np.sign(np.sum(drawn * flat, axis=0))[:, None]  # an axis has no sign of its own
    rows, ways = (iris - middle) @ axes.T, (centers - middle) @ axes.T
    palette = np.array([to_rgb(color) for color in PALETTE[:3]])
    for panel, step in zip(panels, steps, strict=True):
        apart = ((iris[:, None] - centers[step]) ** 2).sum(axis=2)
        assert panel.get_title() == f"iteration {step + 1}: inertia {apart.min(axis=1).sum():.4g}"
        # Each row at its place, in the colour of the centre nearest to it in all four features.
        (points,) = panel.collections
        assert_allclose(points.get_offsets(), rows, atol=1e-9)
        assert_allclose(points.get_facecolors()[:, :3], palette[apart.argmin(axis=1)])
        # The way of each centre from the first iteration to this one.
        trails, dots = panel.lines[0::2], panel.lines[1::2]
        for cluster, (trail, dot) in enumerate(zip(trails, dots, strict=True)):
            assert_allclose(trail.get_xydata(), ways[: step + 1, cluster], atol=1e-9)
            assert_allclose(dot.get_xydata(), ways[step : step + 1, cluster], atol=1e-9)
            assert_allclose(to_rgb(dot.get_color()), palette[cluster])
        # The segmentation: a point of the plane is in the cell of the centre nearest in all four features.
        (left, right), (bottom, top) = panel.get_xlim(), panel.get_ylim()
        mesh = np.stack(np.meshgrid(np.linspace(left, right, 43), np.linspace(bottom, top, 37)), -1)
        mesh = mesh[1:-1, 1:-1].reshape(-1, 2)
        apart = ((middle + mesh @ axes)[:, None] - centers[step]) ** 2
        distances = np.sqrt(apart.sum(axis=2))
        first, second = np.sort(distances, axis=1)[:, :2].T
        inner = second - first > 1e-6
        inside = np.array([patch.get_path().contains_points(mesh) for patch in panel.patches])
        colors = np.array([patch.get_facecolor()[:3] for patch in panel.patches])
        assert_array_equal(inside.sum(axis=0)[inner], 1)
        assert_allclose(colors[inside.argmax(axis=0)][inner], palette[distances.argmin(axis=1)][inner])
    with pytest.raises(ValueError, match="fit with history=True"):
        KMeans(3, random_state=0).fit(iris).plot(iris, kind="iterations")


def test_frontiers_are_drawn_where_the_labels_change(unequal, iris):
    X, y = unequal.sample(300, random_state=0)
    model = KMeans(2, random_state=0).fit(X)
    ax = plot_cluster_frontiers(model, unequal, X, y)
    words = [text.get_text() for text in ax.get_legend().get_texts()]
    assert words == ["best rule, knowing the law", "KMeans"]
    points, round_line, straight_line = ax.collections
    assert_allclose(points.get_offsets(), X)
    assert_allclose(points.get_facecolors()[:, :3], [to_rgb(PALETTE[label]) for label in y])
    step = max(np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())) / 300
    # On the line of k-means two centres are equally near, on the dashed one two densities are equal.
    first, second = model.cluster_centers_
    corners = np.vstack([path.vertices for path in straight_line.get_paths()])
    offsets = (corners - (first + second) / 2) @ (second - first) / np.linalg.norm(second - first)
    assert np.abs(offsets).max() <= step
    assert len(corners) > 250
    corners = np.vstack([path.vertices for path in round_line.get_paths()])
    narrow, wide, far = 0.25, 4.0, np.array([4.0, 0.0])
    center = -far / (wide * (1 / narrow - 1 / wide))
    radius = np.sqrt(
        (2 * np.log(wide / narrow) + far @ far / wide) / (1 / narrow - 1 / wide) + center @ center
    )
    assert_allclose(np.linalg.norm(corners - center, axis=1), radius, atol=step)
    assert len(corners) > 100
    with pytest.raises(ValueError, match=r"rows of 2 features\. X has 4 instead"):
        plot_cluster_frontiers(KMeans(2, random_state=0).fit(iris), unequal, iris)


@pytest.mark.spec("peyre/X7")
def test_where_initialisations_end_is_drawn():
    X, _ = Blobs(9, 2, random_state=1).sample(200, random_state=1)
    found = compare_inits(X, 9, n_seeds=12, random_state=0)
    excess = 100 * (found.inertias / found.inertias.min() - 1)
    ax = plot_inits(found)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["random", "k-means++", "farthest"]
    assert len(ax.collections) == len(ax.lines) == len(ax.texts) == 3
    for line in range(3):
        dots = np.asarray(ax.collections[line].get_offsets())
        assert_allclose(dots[:, 0], excess[line], atol=1e-12)
        assert np.all(np.abs(dots[:, 1] - ax.get_yticks()[line]) < 0.3)
        bar = ax.lines[line].get_xydata()
        assert_allclose(bar[:, 0], np.median(excess[line]), atol=1e-12)
        assert bar[0, 1] < ax.get_yticks()[line] < bar[1, 1]
        share, steps = np.mean(excess[line] <= 0.1), found.n_iter[line].mean()
        assert ax.texts[line].get_text() == f"{share:.0%} within 0.1%, {steps:.1f} iterations"
    low, high = sorted(ax.get_xlim())
    assert low <= 0.0 <= excess.max() <= high


@pytest.mark.spec("sangnier/KM-P3")
def test_distortion_is_drawn_against_the_number_of_colours():
    image = np.random.default_rng(0).uniform(size=(12, 15, 3))
    ax = plot_color_quantization(image, (2, 4, 8))
    found = [quantize_colors(image, count, random_state=0) for count in (2, 4, 8)]
    assert_allclose(ax.lines[0].get_xdata(), [2, 4, 8])
    errors = [((image - one.image) ** 2).sum(axis=2).mean() for one in found]
    assert_allclose(ax.lines[0].get_ydata(), errors)
    assert np.all(np.diff(errors) < 0)
    titles = [inset.get_title() for inset in ax.child_axes]
    assert titles == ["original", "2 colours", "4 colours"]
    for inset, shown in zip(ax.child_axes, (image, found[0].image, found[1].image), strict=True):
        assert_allclose(inset.images[0].get_array(), shown)


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
