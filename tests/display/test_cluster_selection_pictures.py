"""Pictures of the choice of k, of silhouettes, and of clusters against classes."""

from __future__ import annotations

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.metrics import silhouette_samples

from assay.cluster import DBSCAN, KMeans, compare_partitions, select_k, silhouette
from assay.cluster.selection.criteria import CRITERIA
from assay.datasets import iris
from assay.display import plot_elbow, plot_partition, plot_selection, plot_silhouette, plot_silhouettes
from assay.display.style import PALETTE


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def X():
    return make_blobs(120, 2, centers=[[0, 0], [7, 0], [0, 7], [8, 8]], cluster_std=0.8, random_state=0)[0]


@pytest.fixture(scope="module")
def kmeans():
    return KMeans(n_init=3, random_state=0)


@pytest.mark.spec("sangnier/EV-F1")
def test_the_ideal_elbow_is_marked_on_its_curve():
    curve = np.array([100.0, 62.0, 30.0, 8.0, 7.0, 6.2, 5.5])
    ax = plot_elbow(np.arange(1, 8), curve)
    assert ax.get_title() == "elbow at 4"
    assert_allclose(ax.lines[0].get_ydata(), curve)
    chord, mark = ax.lines[1], ax.lines[2]
    assert_allclose(chord.get_xydata(), [[1.0, 100.0], [7.0, 5.5]])
    assert_allclose(mark.get_xydata(), [[4.0, 8.0]])
    assert ax.get_ylim()[0] == 0.0


@pytest.mark.spec("sangnier/EV-F2")
def test_a_real_elbow_is_drawn_with_its_doubt(kmeans):
    noise = np.random.default_rng(0).normal(size=(300, 4))
    found = select_k(kmeans, noise, range(1, 11), criterion="elbow")
    ax = found.plot()
    assert ax.get_title().endswith("? (no clear one)")
    assert_allclose(ax.lines[0].get_ydata(), found.curve)
    flowers = select_k(kmeans, iris(return_X_y=True)[0], range(1, 9), criterion="elbow")
    ax = flowers.plot()
    assert ax.get_ylabel() == "inertia within clusters"
    rows = iris(return_X_y=True)[0]
    inertias = []
    for model in flowers.models:
        parts = [rows[model.labels_ == label] for label in np.unique(model.labels_)]
        inertias.append(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))
    assert_allclose(ax.lines[0].get_xydata(), np.column_stack([range(1, 9), inertias]))
    assert_allclose(ax.lines[1].get_xydata(), [[1, inertias[0]], [8, inertias[-1]]])
    assert_allclose(ax.lines[2].get_xydata(), [[flowers.k, inertias[flowers.k - 1]]])


@pytest.mark.spec("sangnier/EV-F3")
def test_silhouettes_of_two_to_six_clusters_side_by_side(X, kmeans):
    found = select_k(kmeans, X, range(1, 7), criterion="silhouette")
    axes = plot_silhouettes(found.models, X)
    assert axes.shape == (5, 2), "one cluster has no silhouette"
    for k, (left, right) in zip(range(2, 7), axes, strict=True):
        expected = silhouette(X, found.models[k - 1].labels_)
        assert left.get_title() == f"{k} clusters, mean silhouette {expected.mean:.3f}"
        labels = found.models[k - 1].labels_
        assert len(left.patches) == k
        for cluster, bars in enumerate(left.patches):
            assert_allclose(bars.get_data()[0], np.sort(silhouette_samples(X, labels)[labels == cluster]))
            assert to_rgb(bars.get_facecolor()) == to_rgb(PALETTE[cluster])
        assert_allclose(left.lines[1].get_xdata(), silhouette_samples(X, labels).mean())
        assert_allclose(right.collections[0].get_offsets(), X)
        shades = right.collections[0].get_facecolor()[:, :3]
        assert_allclose(shades, [to_rgb(PALETTE[cluster]) for cluster in labels])
    assert len({ax.get_xlim() for ax in axes[:, 0]}) == 1, "widths are compared on one scale"


@pytest.mark.spec("sangnier/EV-M3")
def test_bars_are_the_sorted_values_of_each_cluster(X, kmeans):
    found = silhouette(X, kmeans.set_params(n_clusters=3).fit(X).labels_)
    ax, top = found.plot(), -1.0
    for place, patch in enumerate(ax.patches):
        values, edges, _ = patch.get_data()
        assert_allclose(values, np.sort(found.values[found.labels == place]))
        assert_allclose(np.ptp(edges), found.cluster_weights[place])
        assert edges[0] > top, "no two clusters overlap"
        assert edges[0] < ax.get_yticks()[place] < edges[-1]
        top = edges[-1]
    assert_allclose(ax.lines[1].get_xdata(), found.mean)
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["0", "1", "2"]


def test_noise_is_said_and_drawn_apart(X):
    labels = DBSCAN(eps=0.6).fit(X).labels_
    assert (labels == -1).any()
    assert "rows left out" in plot_silhouette(silhouette(X, labels)).get_title()
    axes = plot_silhouettes([DBSCAN(eps=0.6).fit(X)], X)
    assert axes.shape == (1, 2)


def test_silhouettes_of_one_feature_and_of_many_rows(kmeans):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(60, 1)) + 9 * rng.integers(0, 2, size=(60, 1))
    axes = plot_silhouettes([kmeans.set_params(n_clusters=2).fit(rows)], rows)
    assert axes[0, 1].get_ylabel() == "silhouette"
    many = silhouette(rng.normal(size=(9000, 1)), rng.integers(0, 2, size=9000))
    assert max(len(patch.get_data()[0]) for patch in many.plot().patches) <= 4000


def test_silhouettes_need_two_clusters(X):
    with pytest.raises(ValueError, match="'models' parameter of plot_silhouettes"):
        plot_silhouettes([KMeans(1).fit(X)], X)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_selection_has_its_picture(X, kmeans, criterion):
    options = {"n_references": 3} if criterion == "gap" else {}
    options |= {"n_resamples": 3} if criterion == "stability" else {}
    found = select_k(kmeans, X, range(1, 7), criterion=criterion, random_state=0, **options)
    figure, ax = plt.subplots()
    assert found.plot(ax=ax) is ax
    assert "4" in ax.get_title()
    figure.canvas.draw()
    if criterion not in ("elbow", "penalised"):
        assert_allclose(ax.lines[0].get_ydata(), found.curve)


def accented(line):
    from assay.display.style import ACCENT

    return mpl.colors.to_hex(line.get_color()) == ACCENT


@pytest.mark.spec("wei/M10.4")
def test_gap_has_error_bars_and_shows_both_inertias(X, kmeans):
    found = select_k(kmeans, X, range(1, 6), criterion="gap", n_references=4, random_state=0)
    ax = plot_selection(found)
    low, high = np.array(ax.collections[0].get_segments()).transpose(1, 0, 2)[:, :, 1]
    assert_allclose(high, found.curve + found.standard_error)
    assert_allclose(low, found.curve - found.standard_error)
    assert_allclose(ax.lines[0].get_xdata(), range(1, 6))
    assert_allclose(ax.lines[0].get_ydata(), found.curve)
    both = plot_selection(found, kind="inertias")
    assert_allclose(both.lines[0].get_ydata(), found.details.log_within)
    expected = found.details.reference_log_within.mean(axis=0)
    assert any(len(line.get_ydata()) == 5 and np.allclose(line.get_ydata(), expected) for line in both.lines)
    gap = next(line for line in both.lines if line.get_label() == "gap")
    assert_allclose(gap.get_xdata(), found.k)
    assert np.ptp(gap.get_ydata()) == pytest.approx(found.curve[found.index])
    assert [text.get_text() for text in both.get_legend().get_texts()][-1] == "mean of 4 references"


@pytest.mark.spec("wei/M10.3")
def test_decreases_are_drawn_against_their_threshold(X, kmeans):
    found = select_k(kmeans, X, range(1, 7), criterion="elbow_decrease")
    ax = found.plot()
    threshold = next(line for line in ax.lines if line.get_label() == "threshold")
    assert_allclose(threshold.get_ydata(), 0.05 * found.table["within"][0])
    within = found.table["within"]
    assert_allclose(ax.lines[0].get_xdata(), range(1, 7))
    assert_allclose(np.asarray(ax.lines[0].get_ydata())[:-1], within[:-1] - within[1:])
    chosen = next(line for line in ax.lines if accented(line))
    first = 1 + np.flatnonzero(within[:-1] - within[1:] <= 0.05 * within[0])[0]
    assert (chosen.get_xdata()[0], found.k) == (first, first)


@pytest.mark.spec("rudi/M7.4")
def test_breakpoints_are_a_staircase_in_the_penalty(X, kmeans):
    found = select_k(kmeans, X, range(1, 7), criterion="penalised")
    ax = plot_selection(found)
    steps, edges, _ = ax.patches[0].get_data()
    assert_allclose(steps, found.details.values[::-1])
    assert_allclose(edges[1:-1], found.details.breakpoints[::-1])
    assert ax.get_xscale() == "log"
    (chosen,) = (line for line in ax.lines if accented(line))
    assert_allclose(chosen.get_ydata(), found.k)
    left, right = chosen.get_xdata()
    place = list(found.details.values).index(found.k)
    assert left == pytest.approx(found.details.lower[place] or edges[0])
    assert right == pytest.approx(min(found.details.upper[place], edges[-1]))


def test_the_spectrum_of_an_eigengap(X, kmeans):
    found = select_k(kmeans, X, range(1, 7), criterion="eigengap")
    ax = plot_selection(found, kind="eigenvalues")
    assert_allclose(ax.lines[0].get_ydata(), found.details.values)
    assert ax.get_title() == "largest gap after eigenvalue 4"


def test_values_that_are_no_numbers_are_named(X):
    found = select_k(
        KMeans(4, random_state=0), X, parameter="init", values=["random", "farthest"], criterion="silhouette"
    )
    ax = found.plot()
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["random", "farthest"]
    assert ax.get_xlabel() == "init"


def test_unknown_kinds_are_listed(X, kmeans):
    found = select_k(kmeans, X, range(2, 5))
    with pytest.raises(ValueError, match=r"must be one of 'curve'\. Got 'pie'"):
        found.plot(kind="pie")


@pytest.mark.spec("peyre/X6")
def test_the_histogram_of_classes_in_each_cluster():
    rows, species = iris(return_X_y=True)
    found = compare_partitions(species, KMeans(3, n_init=5, random_state=0).fit(rows).labels_)
    ax = plot_partition(found)
    labels = KMeans(3, n_init=5, random_state=0).fit(rows).labels_
    names = [tick.get_text() for tick in ax.get_xticklabels()]
    drawn = np.zeros((3, 3))
    for bar in ax.patches:
        middle = bar.get_x() + bar.get_width() / 2
        cluster = int(names[np.argmin(np.abs(ax.get_xticks() - middle))])
        order = [to_rgb(color) for color in PALETTE].index(to_rgb(bar.get_facecolor()))
        assert bar.get_y() == 0.0
        drawn[order, cluster] += bar.get_height()
    expected = [[np.sum(labels[species == name] == cluster) for cluster in range(3)] for name in range(3)]
    assert_allclose(drawn, expected)
    assert not np.array_equal(drawn, drawn.T)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["class 0", "class 1", "class 2"]
    assert f"{found.matched_accuracy:.3f}" in ax.get_title()
    assert len(ax.get_legend().get_texts()) == 3


def test_many_classes_are_stacked():
    truth = np.arange(80) % 8
    found = compare_partitions(truth, np.arange(80) // 40)
    tops = np.array([bar.get_y() + bar.get_height() for bar in plot_partition(found).patches]).reshape(8, 2)
    assert_allclose(tops, np.cumsum(found.contingency, axis=0))
