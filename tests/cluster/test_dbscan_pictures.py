"""Pictures of density clusterings say what the fit says."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_moons

from assay.cluster import DBSCAN, HDBSCAN, OPTICS, k_distance_curve


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return np.vstack([make_moons(200, noise=0.06, random_state=0)[0], rng.uniform(-2, 3, size=(30, 2))])


@pytest.mark.parametrize("kind", ["map", "k_distance", "sizes"])
def test_dbscan_is_drawn(table, kind):
    ax = DBSCAN(0.2).fit(table).plot(table, kind=kind)
    assert ax.has_data()
    assert ax.get_title()


def test_the_map_counts_core_border_and_noise(table):
    model = DBSCAN(0.2).fit(table)
    ax = model.plot(table)
    shown = {text.get_text() for text in ax.get_legend().get_texts()}
    counts = np.bincount(model.point_types_, minlength=3)
    assert shown == {f"noise ({counts[0]})", f"border ({counts[1]})", f"core ({counts[2]})"}
    assert ax.get_title() == f"{model.n_clusters_} clusters"


def test_the_k_distance_picture_is_the_curve(table):
    model = DBSCAN(0.2).fit(table)
    ax = model.plot(table, kind="k_distance")
    assert_allclose(ax.lines[0].get_ydata(), k_distance_curve(table, 5))
    assert ax.get_title() == f"{model.core_sample_indices_.size} of 230 rows are core at eps"


def test_one_feature_dissimilarities_and_all_noise_are_drawn(table):
    assert DBSCAN(0.05).fit(table[:, :1]).plot(table[:, :1]).has_data()
    assert DBSCAN(1e-9).fit(table).plot(table).get_title() == "0 clusters"
    with pytest.raises(ValueError, match="230 rows of the fit"):
        DBSCAN(0.2).fit(table).plot(table[:10])
    with pytest.raises(ValueError, match="'map', 'k_distance', 'sizes'"):
        DBSCAN(0.2).fit(table).plot(table, kind="tree")


@pytest.mark.parametrize("method", ["xi", "dbscan"])
def test_the_reachability_picture_has_a_bar_a_row(table, method):
    model = OPTICS(min_samples=8, cluster_method=method).fit(table)
    ax = model.plot(kind="reachability")
    heights = model.reachability_[model.ordering_]
    drawn = ax.patches[0].get_data().values
    assert_allclose(drawn[np.isfinite(heights)], heights[np.isfinite(heights)])
    assert len(ax.patches) == 1 + model.n_clusters_
    assert model.plot(table).has_data()


def test_the_condensed_tree_shows_every_cluster_and_names_the_chosen(table):
    model = HDBSCAN(8).fit(table)
    ax = model.plot(kind="condensed_tree")
    assert (
        len([item for item in ax.collections if hasattr(item, "get_paths")])
        >= model.condensed_tree_.size.size
    )
    assert {text.get_text() for text in ax.texts} == {str(k) for k in range(model.n_clusters_)}
    assert model.plot(table).has_data()
    same = np.repeat(table[:4], 12, axis=0)
    assert HDBSCAN(6).fit(same).plot().has_data()
