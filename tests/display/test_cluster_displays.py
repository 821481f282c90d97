"""The displays of clusterings keep what the model says, and draw it again from that alone."""

from __future__ import annotations

import pickle

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay import display
from assay.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    BisectingKMeans,
    ConvexClustering,
    DivisiveClustering,
    FuzzyCMeans,
    KernelKMeans,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    SpectralClustering,
    SphericalKMeans,
    compare_inits,
    compare_partitions,
    k_distance_curve,
    select_k,
    silhouette,
)


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def points():
    return make_blobs(90, centers=[[0, 0], [7, 0], [0, 7]], cluster_std=0.9, random_state=0)[0]


@pytest.fixture(scope="module")
def wide():
    return make_blobs(90, 4, centers=3, cluster_std=1.0, random_state=1)[0]


def drawn_again(shown):
    """A copy that never met the model, drawn on axes that are handed to it."""
    ax = Figure().subplots()
    copy = pickle.loads(pickle.dumps(shown))
    assert copy.plot(ax=ax).ax_ is ax
    return ax


# Maps


def test_the_map_keeps_rows_labels_and_centres(points):
    model = KMeans(3, n_init=3, random_state=0).fit(points)
    shown = display.ClusterMapDisplay.from_estimator(model, points)
    assert_array_equal(shown.points, points)
    assert_array_equal(shown.labels, model.labels_)
    assert_allclose(shown.centers, model.cluster_centers_)
    assert (shown.n_clusters, shown.title) == (3, "3 clusters")
    ax = drawn_again(shown)
    assert_array_equal(ax.collections[0].get_offsets(), points)
    assert len(ax.patches) == 3


def test_more_than_two_features_lie_in_the_plane_of_most_variance(wide):
    model = AgglomerativeClustering(3, linkage="average").fit(wide)
    shown = display.ClusterMapDisplay.from_estimator(model, wide)
    spread = np.linalg.svd(wide - wide.mean(axis=0), compute_uv=False) ** 2 / len(wide)
    assert_allclose(shown.points.var(axis=0), spread[:2])
    assert_array_equal(shown.labels, model.labels_)
    assert not len(shown.cells)
    assert shown.shades is None


def test_clusters_without_centres_carry_their_numbers_where_their_rows_are(points):
    model = AgglomerativeClustering(3, linkage="single").fit(points)
    ax = model.plot(points)
    assert {text.get_text() for text in ax.texts} == {"0", "1", "2"}
    for text in ax.texts:
        row = np.flatnonzero((points == text.xy).all(axis=1))
        assert model.labels_[row] == int(text.get_text())


def test_the_shades_of_the_plane_are_those_of_predict(points):
    model = KernelKMeans(3, random_state=0).fit(points)
    shown = display.ClusterMapDisplay.from_estimator(model, points)
    (left, bottom), (right, top) = shown.limits
    n_up, n_across = shown.shades.shape
    grid = np.column_stack([np.linspace(left, right, n_across), np.full(n_across, bottom)])
    assert_array_equal(shown.shades[0], model.predict(grid))
    grid = np.column_stack([np.full(n_up, right), np.linspace(bottom, top, n_up)])
    assert_array_equal(shown.shades[:, -1], model.predict(grid))


def test_rows_between_fuzzy_clusters_have_mixed_colours(points):
    model = FuzzyCMeans(3, random_state=0).fit(points)
    shown = display.ClusterMapDisplay.from_estimator(model, points)
    assert_allclose(shown.degrees, model.memberships(points))
    assert shown.shades.shape[2] == 3
    assert_allclose(shown.shades.sum(axis=2), 1.0)
    assert len(np.unique(drawn_again(shown).collections[0].get_facecolor(), axis=0)) > 10


def test_directions_are_marked_among_their_rows(wide):
    X = np.abs(wide)
    model = SphericalKMeans(3, random_state=0).fit(X)
    shown = display.ClusterMapDisplay.from_estimator(model, X)
    for cluster, center in enumerate(shown.centers):
        own = shown.points[model.labels_ == cluster]
        assert np.all((own.min(axis=0) <= center) & (center <= own.max(axis=0)))


@pytest.mark.parametrize("estimator", [KMeans, MiniBatchKMeans, BisectingKMeans])
def test_borders_of_one_feature_are_where_the_cluster_changes(estimator):
    X = np.random.default_rng(0).gamma(2.0, size=(200, 1))
    model = estimator(5, random_state=0).fit(X)
    shown = display.ClusterMapDisplay.from_estimator(model, X)
    assert len(shown.borders) == 4
    sides = np.stack([shown.borders - 1e-6, shown.borders + 1e-6])
    left, right = model.predict(sides.reshape(-1, 1)).reshape(2, 4)
    assert np.all(left != right)


def test_planar_dissimilarities_give_the_places_of_their_rows_back(points):
    D = squareform(pdist(points))
    for model in (
        KMedoids(3, metric="precomputed").fit(D),
        AgglomerativeClustering(3, linkage="average", metric="precomputed").fit(D),
        DBSCAN(1.5, metric="precomputed").fit(D),
    ):
        ax = model.plot(D, kind="map")
        assert ax.get_xlabel() == "first principal coordinate"
        rows = display.pictures(model).displays["map"].from_estimator(model, D).points
        assert_allclose(squareform(pdist(rows)), D, atol=1e-8)


def test_a_given_kernel_is_drawn_along_its_principal_axes(points):
    centered = points - points.mean(axis=0)
    model = KernelKMeans(3, kernel="precomputed", random_state=0).fit(centered @ centered.T)
    shown = display.ClusterMapDisplay.from_estimator(model, centered @ centered.T)
    assert_allclose(pdist(shown.points), pdist(points), atol=1e-8)
    assert "silhouette" not in display.kinds(model)


def test_many_dissimilarities_are_laid_out_without_the_global_random_state():
    X = make_blobs(700, centers=[[0, 0], [9, 0]], random_state=0)[0]
    D = squareform(pdist(X))
    model = DBSCAN(2.0, metric="precomputed").fit(D)
    assert_allclose(pdist(display.DensityMapDisplay.from_estimator(model, D).points), pdist(X), atol=1e-6)


def test_plain_rows_of_a_model_that_knows_names_are_drawn_under_them(points):
    frame = pd.DataFrame(points, columns=["length", "width"])
    for model in (KMeans(3, random_state=0), KMedoids(3), FuzzyCMeans(3, random_state=0)):
        ax = model.fit(frame).plot(points)
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")


def test_polars_frames_and_dask_arrays_are_drawn_as_their_rows(points):
    pl = pytest.importorskip("polars")
    da = pytest.importorskip("dask.array")
    model = KMeans(3, random_state=0).fit(points)
    lazy = da.from_array(points, chunks=(30, 2))
    for table in (pl.DataFrame({"x0": points[:, 0], "x1": points[:, 1]}), lazy):
        shown = display.ClusterMapDisplay.from_estimator(model, table)
        assert_array_equal(shown.points, points)
        assert_array_equal(shown.labels, model.labels_)


# Silhouettes

FITS = [
    KMeans(3, random_state=0),
    MiniBatchKMeans(3, random_state=0),
    BisectingKMeans(3, random_state=0),
    KMedoids(3),
    FuzzyCMeans(3, random_state=0),
    KernelKMeans(3, random_state=0),
    AgglomerativeClustering(3),
    DivisiveClustering(3),
    SpectralClustering(3, random_state=0),
    DBSCAN(1.0),
    OPTICS(min_samples=8, xi=0.1),
    HDBSCAN(8),
]


@pytest.mark.parametrize("model", FITS, ids=lambda model: type(model).__name__)
def test_every_clusterer_shows_the_silhouettes_of_its_rows(model, points):
    model.fit(points)
    expected = silhouette(points, model.labels_)
    shown = display.SilhouetteDisplay.from_estimator(model, points)
    assert_allclose(shown.values, expected.values)
    assert_allclose(shown.cluster_weights, expected.cluster_weights)
    assert (shown.mean, shown.n_left_out) == (pytest.approx(expected.mean), (model.labels_ < 0).sum())
    assert f"mean silhouette {expected.mean:.3f}" in model.plot(points, kind="silhouette").get_title()
    assert len(drawn_again(shown).patches) == len(expected.clusters)


def test_silhouettes_are_measured_as_the_model_measures(points):
    model = KMedoids(3, metric="cityblock").fit(points)
    shown = display.SilhouetteDisplay.from_estimator(model, points)
    assert shown.mean == pytest.approx(silhouette(points, model.labels_, metric="cityblock").mean)
    assert shown.ax_.get_xlabel() == "silhouette (cityblock)"
    usual = display.SilhouetteDisplay.from_estimator(model, points, metric="euclidean")
    assert usual.mean == pytest.approx(silhouette(points, model.labels_).mean)
    given = AgglomerativeClustering(3, linkage="average", metric="precomputed").fit(cdist(points, points))
    found = display.SilhouetteDisplay.from_estimator(given, cdist(points, points))
    assert found.mean == pytest.approx(silhouette(points, given.labels_).mean)


def test_new_rows_are_given_clusters_before_their_silhouettes(points):
    model = AgglomerativeClustering(3).fit(points)
    shown = display.SilhouetteDisplay.from_estimator(model, points[::2])
    assert shown.mean == pytest.approx(silhouette(points[::2], model.predict(points[::2])).mean)


def test_beyond_two_thousand_rows_a_sample_is_measured_and_said():
    X = make_blobs(2200, centers=[[0, 0], [9, 0]], random_state=0)[0]
    model = KMeans(2, random_state=0).fit(X)
    shown = display.SilhouetteDisplay.from_estimator(model, X)
    assert shown.values.shape == (2000,)
    assert shown.ax_.get_title().endswith(" of 2000 of 2200 rows")
    assert shown.mean == pytest.approx(silhouette(X, model.labels_).mean, abs=0.02)
    given = AgglomerativeClustering(2, linkage="single", metric="precomputed").fit(D := cdist(X, X))
    assert display.SilhouetteDisplay.from_estimator(given, D).values.shape == (2000,)


def test_one_cluster_or_one_a_row_has_no_silhouette(points):
    for model in (KMeans(1).fit(points), DBSCAN(1e-9).fit(points), KMedoids(4).fit(points[:4])):
        X = points if len(model.labels_) > 4 else points[:4]
        with pytest.raises(ValueError, match=r"'silhouette' picture of \w+ needs at least two clusters"):
            model.plot(X, kind="silhouette")
    with pytest.raises(ValueError, match="The 'silhouette' picture of KMeans needs X"):
        KMeans(3).fit(points).plot(kind="silhouette")
    assert plt.get_fignums() == []


def test_a_pipeline_is_measured_as_its_last_step_sees_the_rows(wide):
    scaled = StandardScaler().fit_transform(wide)
    model = make_pipeline(StandardScaler(), KMeans(3, random_state=0)).fit(wide)
    shown = display.SilhouetteDisplay.from_estimator(model, wide)
    assert shown.mean == pytest.approx(silhouette(scaled, model[-1].labels_).mean)


# How the fit went


def test_traces_and_restarts_are_those_of_the_fit(points):
    model = KMeans(3, init="random", n_init=4, random_state=0).fit(points)
    trace = display.ConvergenceDisplay.from_estimator(model)
    assert_allclose(trace.values, model.inertia_trace_)
    assert_allclose(np.diff(trace.steps), 0.5)
    assert_allclose(display.RestartsDisplay.from_estimator(model).values, model.restart_inertias_)
    alone = display.RestartsDisplay.from_estimator(KMeans(3, n_init=1, random_state=0).fit(points))
    assert alone.ax_.get_title().startswith("the only start reaches inertia")
    convex = ConvexClustering(n_neighbors=5).fit(points[:30])
    gaps = display.ConvergenceDisplay.from_estimator(convex)
    assert gaps.tol == convex.tol
    assert drawn_again(gaps).get_yscale() == "log"


def test_batches_are_shown_with_their_running_mean(points):
    model = MiniBatchKMeans(3, batch_size=16, random_state=0).fit(points)
    shown = display.BatchesDisplay.from_estimator(model)
    assert_allclose(shown.values, model.batch_inertias_)
    assert_allclose(shown.smooth[0], shown.values[: shown.width].mean())
    assert_allclose(shown.smooth[-1], shown.values[-shown.width :].mean())


def test_the_centres_are_those_of_the_model_and_large_tables_are_not_written(wide):
    model = KMeans(3, random_state=0).fit(wide)
    shown = display.CentersDisplay.from_estimator(model, feature_names=list("abcd"))
    assert_allclose(shown.centers, model.cluster_centers_)
    ax = drawn_again(shown)
    assert [text.get_text().replace("−", "-") for text in ax.texts][:4] == [
        f"{value:.3g}" for value in model.cluster_centers_[0]
    ]
    many = KMeans(2, random_state=0).fit(np.random.default_rng(0).normal(size=(30, 60)))
    ax = many.plot(kind="centers")
    assert not ax.texts
    assert ax.get_xlabel() == "60 features"


def test_the_tree_of_splits_keeps_inertias_and_parts_no_branches(points):
    model = BisectingKMeans(5, random_state=0).fit(points)
    shown = display.SplitTreeDisplay.from_estimator(model)
    assert_array_equal(shown.inertias, model.tree_.inertias)
    for node, left, right in shown.forks:
        assert shown.places[left] < shown.places[node] < shown.places[right]
        assert shown.inertias[node] >= max(shown.inertias[left], shown.inertias[right])
    assert sorted(shown.labels) == list(range(5))


# Trees and densities


def test_dendrograms_keep_their_joins_and_their_cut(points):
    model = AgglomerativeClustering(3).fit(points[:40])
    shown = display.DendrogramDisplay.from_estimator(model)
    assert_allclose(np.sort(shown.brackets[:, 1, 1]), np.sort(model.distances_))
    assert model.distances_[-3] < shown.cut < model.distances_[-2]
    assert np.count_nonzero(shown.clusters < 0) == 2
    small = display.DendrogramDisplay.from_estimator(model, max_leaves=10)
    assert len(small.brackets) == 9
    assert len(drawn_again(small).patches) == np.count_nonzero(small.branch_heights)


def test_the_tree_of_fusions_is_coloured_by_the_clusters_of_the_fit(points):
    model = ConvexClustering(n_neighbors=6).fit(points[:40])
    shown = display.FusionTreeDisplay.from_estimator(model, points[:40])
    assert shown.brackets.shape == (39, 4, 2)
    sizes = np.bincount(model.labels_)
    for cluster, size in enumerate(sizes[sizes > 1]):
        assert np.count_nonzero(shown.clusters == cluster) == size - 1
        assert np.all(shown.brackets[shown.clusters == cluster, 1, 1] <= shown.cut * (1 + 1e-9))


def test_heights_and_inertias_of_all_cuts(points):
    model = AgglomerativeClustering(3).fit(points)
    heights = display.HeightsDisplay.from_estimator(model)
    assert_allclose(heights.values, model.distances_[::-1][:29])
    assert heights.chosen == 3
    inertia = display.InertiaDisplay.from_estimator(model)
    assert_allclose(inertia.values, model.inertia_curve_[:30])
    assert_array_equal(inertia.n_clusters, np.arange(1, 31))


def test_density_maps_tell_how_firmly_rows_belong(points):
    model = HDBSCAN(8).fit(points)
    shown = display.DensityMapDisplay.from_estimator(model, points)
    assert_allclose(shown.strength, model.probabilities_)
    assert shown.counts == [("noise", int((model.labels_ < 0).sum()))]
    ax = drawn_again(shown)
    inside = np.count_nonzero(model.labels_ >= 0)
    assert ax.collections[1].get_offsets().shape == (inside, 2)
    assert len(np.unique(ax.collections[1].get_sizes())) > 2


def test_sizes_count_every_row_once(points):
    model = DBSCAN(0.8).fit(points)
    shown = display.ClusterSizesDisplay.from_estimator(model)
    assert shown.sizes.sum() + shown.noise == len(points)
    assert np.all(np.diff(shown.sizes) <= 0)
    assert_allclose(shown.sizes, np.bincount(model.labels_[model.labels_ >= 0])[shown.clusters])


def test_k_distances_and_reachabilities_are_kept(points):
    dbscan = DBSCAN(0.8, min_samples=4).fit(points)
    shown = display.KDistanceDisplay.from_estimator(dbscan, points)
    assert_allclose(shown.distances, k_distance_curve(points, 4))
    assert shown.ax_.get_ylabel() == "distance to the 3rd other row"
    optics = OPTICS(min_samples=8, xi=0.1).fit(points)
    dents = display.ReachabilityDisplay.from_estimator(optics)
    assert_array_equal(dents.heights, optics.reachability_[optics.ordering_])
    assert_array_equal(dents.spans, optics.cluster_hierarchy_)
    ax = drawn_again(dents)
    assert min(ax.get_yticks()) >= 0.0


def test_icicles_are_as_wide_as_their_clusters_have_rows(points):
    model = HDBSCAN(8).fit(points)
    shown = display.CondensedTreeDisplay.from_estimator(model)
    tree = model.condensed_tree_
    assert [sizes[0] for _, sizes in shown.profiles] == tree.size[tree.size > 1].tolist()
    assert all(np.all(np.diff(sizes) <= 0) for _, sizes in shown.profiles)
    assert_array_equal(np.flatnonzero(shown.clusters >= 0), np.sort(model.selected_))


# Spectra


def test_the_spectral_displays_keep_what_the_fit_found(points):
    model = SpectralClustering(3, random_state=0).fit(points)
    spectrum = display.SpectrumDisplay.from_estimator(model)
    assert_allclose(spectrum.eigenvalues[:3], model.eigenvalues_, atol=1e-6)
    graph = display.GraphDisplay.from_estimator(model)
    assert_allclose(graph.weights, model.affinity_matrix_.toarray()[tuple(graph.edges.T)])
    cut = np.count_nonzero(graph.labels[graph.edges[:, 0]] != graph.labels[graph.edges[:, 1]])
    assert graph.ax_.get_title().startswith(f"{cut} of {len(graph.edges)} edges")
    curves = display.EigenvectorsDisplay.from_estimator(model)
    assert_allclose(np.abs(curves.vectors).max(axis=0), 1.0)
    assert len(drawn_again(curves).lines) == 3


# The choice of k, and the functions that draw it


def test_the_displays_of_a_selection_keep_its_curve(points):
    kmeans = KMeans(n_init=2, random_state=0)
    gap = select_k(kmeans, points, range(1, 6), criterion="gap", n_references=3, random_state=0)
    curve = display.SelectionOfKDisplay.from_selection(gap)
    assert_allclose(curve.curve, gap.curve)
    assert_allclose(curve.standard_error, gap.standard_error)
    assert drawn_again(curve).get_title() == gap.plot().get_title()
    references = display.ReferenceInertiasDisplay.from_selection(gap)
    assert_allclose(references.expected - references.log_within, gap.curve)
    elbow = display.ElbowDisplay.from_selection(select_k(kmeans, points, range(1, 8), criterion="elbow"))
    assert elbow.elbow == 3
    path = select_k(kmeans, points, range(1, 7), criterion="penalised")
    steps = display.BreakpointsDisplay.from_selection(path)
    mark = drawn_again(steps).lines[-1].get_xdata()
    place = int(np.flatnonzero(path.details.values == path.best)[0])
    inner = path.details.breakpoints
    assert mark[0] == inner[place]
    assert mark[1] == inner[place - 1]


def test_the_functions_draw_the_displays_on_the_axes_they_are_given(points):
    kmeans = KMeans(3, random_state=0).fit(points)
    ax = Figure().subplots()
    found = silhouette(points, kmeans.labels_)
    assert display.plot_silhouette(found, ax=ax) is ax
    assert ax.get_title() == drawn_again(display.SilhouetteDisplay.from_silhouette(found)).get_title()
    comparison = compare_partitions(kmeans.labels_, np.arange(90) % 2)
    assert display.plot_partition(comparison, ax=(ax := Figure().subplots())) is ax
    shown = display.PartitionDisplay.from_comparison(comparison)
    assert_array_equal(shown.contingency, comparison.contingency)
    assert len(drawn_again(shown).patches) == 6
    inits = display.InitsDisplay.from_comparison(compare_inits(points, 3, n_seeds=4, random_state=0))
    assert inits.excess.min() == 0.0
    assert drawn_again(inits).get_title() == "where k-means ends, 4 seeds each"


def test_classes_in_the_clusters_of_a_model(points):
    classes = np.repeat(["a", "b", "c"], 30)
    model = AgglomerativeClustering(3).fit(points)
    shown = display.PartitionDisplay.from_estimator(model, points, classes)
    expected = compare_partitions(classes, model.labels_)
    assert_array_equal(shown.contingency, expected.contingency)
    assert shown.adjusted_rand == expected.adjusted_rand
    with pytest.raises(ValueError, match="PartitionDisplay of AgglomerativeClustering needs X and y"):
        display.PartitionDisplay.from_estimator(model, points)


def test_kinds_are_known_before_the_fit_and_do_not_change_with_it(points):
    for model in (KMedoids(3), KernelKMeans(3, random_state=0), SpectralClustering(3), DBSCAN(1.0)):
        before = display.kinds(model)
        assert before == display.kinds(model.fit(points))
        assert before[0] == "map"
        assert before[-1] == "silhouette"
