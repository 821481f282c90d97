"""Pictures of convex clustering, biclusterings and loadings say what they show."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from assay.cluster import (
    BlockBiclustering,
    ConvexBiclustering,
    ConvexClustering,
    OverlappingClustering,
    SparseSVDBiclustering,
    SpectralBiclustering,
    SpectralCoclustering,
)


@pytest.fixture(scope="module")
def points():
    return make_blobs(40, centers=[[0, 0], [8, 0], [0, 8]], cluster_std=0.6, random_state=0)[0]


@pytest.fixture(scope="module")
def convex(points):
    return ConvexClustering(n_neighbors=6).fit(points)


@pytest.fixture(scope="module")
def matrix():
    rng = np.random.default_rng(0)
    rows, columns = rng.permutation(20) % 2, rng.permutation(10) % 2
    return np.array([[1.0, 7.0], [6.0, 2.0]])[rows][:, columns] + 0.2 * rng.uniform(size=(20, 10))


def test_the_map_draws_each_row_to_its_centroid(convex, points):
    ax = convex.plot(points, feature_names=["a", "b"])
    ends = np.array([path.vertices for path in ax.collections[0].get_paths()])
    np.testing.assert_allclose(ends[:, 0], points)
    np.testing.assert_allclose(ends[:, 1], convex.centroids_)
    assert ax.get_title().startswith(f"{convex.labels_.max() + 1} clusters")
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("a", "b")


def test_the_path_goes_from_the_rows_to_their_mean(convex, points):
    ways = convex.plot(points, kind="path").collections[0].get_paths()
    assert len(ways) == len(points)
    np.testing.assert_allclose([way.vertices[0] for way in ways], points, rtol=1e-12)
    np.testing.assert_allclose(ways[3].vertices[-1], points.mean(axis=0), atol=1e-8)


def test_the_dendrogram_has_a_join_less_than_rows_and_marks_the_penalty(convex, points):
    ax = convex.plot(points, kind="dendrogram")
    assert len(ax.collections[0].get_paths()) == len(points) - 1
    assert ax.lines[0].get_ydata()[0] == convex.penalty_
    assert ax.get_yscale() == "log"


def test_one_feature_and_no_data_have_pictures_too(convex, points):
    alone = ConvexClustering(n_neighbors=6).fit(points[:, :1])
    assert alone.plot(points[:, :1]).get_ylabel() == "centroid"
    assert alone.plot(points[:, :1], kind="path").get_xscale() == "log"
    assert "centres" in convex.plot().get_title()
    gaps = convex.plot(kind="convergence").lines[0].get_ydata()
    np.testing.assert_allclose(gaps, np.maximum(convex.gap_trace_, 1e-17))
    with pytest.raises(ValueError, match="shows the rows of the fit"):
        convex.plot(points[:5])
    with pytest.raises(ValueError, match="needs X"):
        convex.plot(kind="path")


@pytest.mark.parametrize(
    "model",
    [
        BlockBiclustering(random_state=0),
        ConvexBiclustering(n_neighbors=4),
        SpectralBiclustering(random_state=0),
        SpectralCoclustering(2, random_state=0),
        SparseSVDBiclustering(2),
    ],
    ids=lambda model: type(model).__name__,
)
def test_the_matrix_is_drawn_in_the_order_of_its_biclusters(model, matrix):
    model.fit(matrix)
    ax = model.plot(matrix)
    shown = np.asarray(ax.images[0].get_array())
    assert sorted(shown.ravel()) == sorted(matrix.ravel())
    if hasattr(model, "row_labels_"):
        order = np.argsort(model.row_labels_, kind="stable"), np.argsort(model.column_labels_, kind="stable")
        np.testing.assert_array_equal(shown, matrix[np.ix_(*order)])
        assert len(ax.lines) == model.row_labels_.max() + model.column_labels_.max()
    assert model.plot().get_title()
    with pytest.raises(ValueError, match="shows the matrix of the fit"):
        model.plot(matrix[:4])
    with pytest.raises(ValueError, match="must be one of"):
        model.plot(matrix, kind="spider")


def test_further_pictures_of_biclusterings(matrix):
    block = BlockBiclustering(random_state=0).fit(matrix)
    np.testing.assert_allclose(block.plot(kind="convergence").lines[0].get_ydata(), block.objective_trace_)
    convex = ConvexBiclustering(n_neighbors=4).fit(matrix)
    assert convex.plot(kind="convergence").get_yscale() == "log"
    fitted = np.asarray(convex.plot(kind="fitted").images[0].get_array())
    assert sorted(fitted.ravel()) == sorted(convex.fitted_.ravel())
    values = SparseSVDBiclustering(2).fit(matrix).plot(kind="singular_values")
    assert len(values.patches) == 2


def test_loadings_frame_pure_variables_and_name_rows():
    rng = np.random.default_rng(0)
    A = np.array([[1, 0], [1, 0], [0, 1], [0, -1], [0.5, 0.5]])
    X = 2 * rng.normal(size=(400, 2)) @ A.T + 0.3 * rng.normal(size=(400, 5))
    model = OverlappingClustering(random_state=0).fit(X)
    ax = model.plot(feature_names=list("abcde"))
    assert [label.get_text() for label in ax.get_yticklabels()] == list("abcde")
    assert len(ax.patches) == 2
    np.testing.assert_allclose(ax.images[0].get_array(), model.loadings_)
    assert model.plot(kind="cross_validation").get_xlabel() == "δ"
    with pytest.raises(ValueError, match="leave delta=None"):
        OverlappingClustering(delta=0.1).fit(X).plot(kind="cross_validation")
