"""Pictures of medoids, medians, directions and memberships."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from assay.cluster import (
    CentroidClustering,
    FuzzyCMeans,
    KCoordinateMedian,
    KernelKMeans,
    KGeometricMedian,
    KMedian,
    KMedoids,
    SphericalKMeans,
)

KINDS = [
    CentroidClustering,
    FuzzyCMeans,
    KCoordinateMedian,
    KernelKMeans,
    KGeometricMedian,
    KMedian,
    KMedoids,
    SphericalKMeans,
]


@pytest.fixture(scope="module")
def points():
    return make_blobs(120, 3, centers=3, cluster_std=1.5, random_state=0)[0]


@pytest.mark.parametrize(
    ("kind", "n_features"),
    [*((kind, 2) for kind in KINDS), (KMedoids, 1), (KMedoids, 3), (KernelKMeans, 1), (SphericalKMeans, 1)],
)
def test_the_map_shows_every_row(points, kind, n_features):
    X = points[:, :n_features]
    # One feature has two directions: plus and minus.
    model = kind(2 if n_features == 1 else 3, random_state=0).fit(X)
    ax = model.plot(X)
    if n_features > 1:
        offsets = np.vstack([np.asarray(part.get_offsets()) for part in ax.collections])
        assert len(offsets) >= len(X)
        assert len(ax.images) == (1 if n_features == 2 else 0)
    else:
        assert ax.get_ylabel() == "rows"
    assert "cost" in ax.get_title()


def test_medoids_are_marked_where_they_are(points):
    X = points[:, :2]
    model = KMedoids(3).fit(X)
    marks = np.asarray(model.plot(X).collections[-1].get_offsets())
    assert_allclose(marks, X[model.medoid_indices_])


def test_the_plane_is_coloured_by_predict(points):
    X = points[:, :2]
    model = KMedoids(3).fit(X)
    image = model.plot(X).images[0]
    left, right, bottom, top = image.get_extent()
    colours = np.asarray(image.get_array())
    place = model.predict([[left, bottom], [right, top]])
    assert (place[0] == place[1]) == np.allclose(colours[0, 0], colours[-1, -1])


def test_memberships_are_stacked_to_one(points):
    model = FuzzyCMeans(3, random_state=0).fit(points)
    ax = model.plot(points, kind="memberships")
    tops = max(path.vertices[:, 1].max() for part in ax.collections for path in part.get_paths())
    assert_allclose(tops, 1.0)
    assert ax.get_ylabel() == "membership"
    with pytest.raises(ValueError, match="needs X"):
        model.plot(kind="memberships")


def test_the_descent_and_the_restarts_are_those_of_the_fit(points):
    model = KMedoids(3, init="random", n_init=4, random_state=0).fit(points)
    ax = model.plot(kind="convergence")
    assert_allclose(ax.lines[0].get_ydata(), model.inertia_trace_)
    assert ax.get_xlabel() == "swaps"
    assert "of 4 restarts" in model.plot(kind="restarts").get_title()
    other = KMedoids(3, method="alternate").fit(points)
    assert other.plot(kind="convergence").get_xlabel() == "iteration"


def test_precomputed_dissimilarities_have_a_descent(points):
    D = cdist(points, points)
    model = KMedoids(3, metric="precomputed").fit(D)
    assert model.plot(D).get_ylabel() == "cost"
    with pytest.raises(ValueError, match=r"'kind' parameter .* must be one of 'map', 'convergence'"):
        model.plot(kind="centers")


def test_names_of_columns_are_kept(points):
    frame = pd.DataFrame(points[:, :2], columns=["length", "width"])
    ax = KGeometricMedian(3, random_state=0).fit(frame).plot(frame)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("length", "width")
