"""Pictures of hierarchical clusterings: the dendrogram, the map, the heights."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.collections import LineCollection, PathCollection
from matplotlib.colors import to_rgb
from numpy.testing import assert_allclose
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist, squareform
from sklearn.datasets import load_iris

from assay.cluster import AgglomerativeClustering, DivisiveClustering
from assay.datasets import us_arrests
from assay.display.style import FAINT_INK, PALETTE
from dendrograms import read_dendrogram


@pytest.fixture(scope="module")
def arrests():
    return us_arrests(as_frame=True).X


@pytest.fixture(scope="module")
def model(arrests):
    return AgglomerativeClustering(4).fit(arrests)


def lines(ax):
    return next(item for item in ax.collections if isinstance(item, LineCollection))


@pytest.mark.spec("wei/M10.6")
def test_every_bracket_stands_on_the_two_it_joins(model):
    """The drawn tree is the fitted one: leaves in their order, each join over the middle of its two parts."""
    brackets = lines(model.plot(max_leaves=1000)).get_segments()
    place = {int(leaf): float(k) for k, leaf in enumerate(model.leaf_order_)}
    bases = sorted({float(b[i, 0]) for b in brackets for i in (0, 3) if b[i, 1] == 0})
    assert len(bases) == 50
    width = bases[1] - bases[0]
    assert_allclose(np.diff(bases), width)
    top = dict.fromkeys(range(50), 0.0)
    expected = []
    for join, (a, b) in enumerate(model.children_):
        node, height = 50 + join, float(model.distances_[join])
        left, right = sorted((int(a), int(b)), key=place.get)
        place[node], top[node] = (place[left] + place[right]) / 2, height
        feet = [bases[0] + width * place[part] for part in (left, right)]
        expected.append([feet[0], top[left], height, feet[1], top[right]])
    found = [[b[0, 0], b[0, 1], b[1, 1], b[3, 0], b[3, 1]] for b in brackets]
    assert_allclose(sorted(found), sorted(expected), atol=1e-9)


@pytest.mark.spec("sangnier/HC-M3")
def test_the_dendrogram_tells_at_which_height_any_two_rows_are_joined(model, arrests):
    ax = model.plot()
    assert ax.get_title() == "Ward: 4 clusters"
    assert ax.get_ylabel() == "height"
    drawn, order = read_dendrogram(ax), model.leaf_order_
    assert sorted(order) == list(range(50))
    expected = squareform(hierarchy.cophenet(hierarchy.linkage(arrests, "ward")))
    assert_allclose(drawn.cophenetic, expected[np.ix_(order, order)], rtol=1e-9)
    bottom, top = ax.get_ylim()
    assert bottom == 0.0
    assert drawn.cophenetic.max() < top


@pytest.mark.spec("sangnier/HC-M3")
def test_joins_below_the_cut_have_the_colour_of_their_cluster(model):
    ax = model.plot()
    colors = [tuple(color[:3]) for color in lines(ax).get_colors()]
    assert colors.count(to_rgb(FAINT_INK)) == 3
    tops = np.array([bracket[1, 1] for bracket in lines(ax).get_segments()])
    drawn = read_dendrogram(ax)
    assert [color == to_rgb(FAINT_INK) for color in colors] == (tops > drawn.cut).tolist()
    assert model.distances_[-4] < drawn.cut < model.distances_[-3]
    labels = model.labels_[model.leaf_order_]
    assert drawn.colors == [to_rgb(PALETTE[label]) for label in labels]


@pytest.mark.spec("sangnier/HC-M3")
def test_leaves_have_the_numbers_of_their_rows(arrests):
    X = arrests.to_numpy()[:25]
    ax = AgglomerativeClustering(3, linkage="average").fit(X).plot()
    order = [int(tick.get_text()) for tick in ax.get_xticklabels()]
    expected = squareform(hierarchy.cophenet(hierarchy.linkage(X, "average")))
    assert_allclose(read_dendrogram(ax).cophenetic, expected[np.ix_(order, order)], rtol=1e-9)


def test_a_large_tree_is_truncated_to_branches_with_their_numbers_of_rows():
    X = load_iris().data
    model = AgglomerativeClustering(3, linkage="average").fit(X)
    ax = model.plot()
    names = [tick.get_text() for tick in ax.get_xticklabels()]
    assert len(names) == 30
    counts = [int(name.strip("()")) if name.startswith("(") else 1 for name in names]
    assert sum(counts) == 150
    assert len(lines(model.plot(kind="dendrogram", max_leaves=12)).get_segments()) == 11
    assert len(lines(model.plot(kind="dendrogram", max_leaves=1000)).get_segments()) == 149


def test_the_map_colours_rows_by_cluster(model, arrests):
    ax = model.plot(arrests)
    points = next(item for item in ax.collections if isinstance(item, PathCollection))
    assert len(points.get_offsets()) == 50
    assert len(np.unique(points.get_facecolors(), axis=0)) == 4
    assert "principal axis" in ax.get_xlabel()
    column = AgglomerativeClustering(2).fit(arrests.to_numpy()[:, :1])
    assert column.plot(arrests.to_numpy()[:, :1]).get_ylabel() == "rows"
    assert model.plot(arrests.iloc[:7]).has_data()


def test_heights_and_inertia_are_those_of_the_model(model):
    heights = model.plot(kind="heights")
    assert_allclose(heights.lines[0].get_ydata()[0], model.distances_[-1])
    assert heights.lines[1].get_xdata()[0] == 4
    inertia = model.plot(kind="inertia")
    assert_allclose(inertia.lines[0].get_ydata(), model.inertia_curve_[:30])
    with pytest.raises(ValueError, match="'kind' parameter"):
        AgglomerativeClustering(linkage="single").fit(np.eye(4)).plot(kind="inertia")
    with pytest.raises(ValueError, match="needs X"):
        model.plot(kind="map")


def test_precomputed_dissimilarities_are_drawn_as_a_dendrogram(arrests):
    D = squareform(pdist(arrests))
    model = AgglomerativeClustering(3, linkage="single", metric="precomputed").fit(D)
    assert len(lines(model.plot(D)).get_segments()) == 49


def test_divisive_trees_are_drawn_with_diameters(arrests):
    model = DivisiveClustering(None, distance_threshold=100.0).fit(arrests)
    ax = model.plot()
    assert ax.get_ylabel() == "diameter"
    assert ax.lines[-1].get_ydata()[0] == 100.0
    assert model.plot(kind="heights").get_ylabel().startswith("diameter")


@pytest.mark.parametrize("n_clusters", [1, 50])
def test_the_extreme_cuts_are_drawn(n_clusters, arrests):
    model = AgglomerativeClustering(n_clusters, linkage="centroid").fit(arrests)
    for kind in ("dendrogram", "heights"):
        assert model.plot(kind=kind).has_data()
    assert AgglomerativeClustering(1).fit(np.zeros((1, 2))).plot() is not None
