"""Bad input, extreme input, and rows that live elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from assay.cluster import KMeans
from assay.cluster.kmeans import seeding


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_infinity_are_refused(bad):
    with pytest.raises(ValueError, match="contains"):
        KMeans(2).fit([[0.0], [bad], [1.0]])


def test_no_rows_are_refused():
    with pytest.raises(ValueError, match="0 sample"):
        KMeans(2).fit(np.empty((0, 3)))


def test_one_row_makes_one_cluster():
    model = KMeans(1).fit([[3.0, 4.0]])
    assert_array_equal(model.cluster_centers_, [[3.0, 4.0]])
    assert model.inertia_ == 0.0
    assert model.certificates_.holds
    with pytest.raises(ValueError, match=r"at most the number of distinct rows \(1 sample\)\. Got 2 instead"):
        KMeans(2).fit([[3.0, 4.0]])


def test_more_clusters_than_rows_are_refused():
    message = (
        r"^The 'n_clusters' parameter of KMeans must be at most the number of distinct rows \(3\)\. "
        r"Got 8 instead\.$"
    )
    with pytest.raises(ValueError, match=message):
        KMeans().fit([[0.0], [1.0], [2.0]])
    with pytest.raises(ValueError, match=message):
        KMeans().fit([[0.0], [1.0], [2.0], [2.0]])
    with pytest.raises(ValueError, match=message):
        KMeans().fit(np.arange(9.0)[:, np.newaxis], sample_weight=np.arange(9) < 3)


@pytest.mark.parametrize("init", ["k-means++", "farthest", "random", "given"])
@pytest.mark.parametrize("empty_clusters", ["reseed", "error"])
def test_fewer_distinct_rows_than_clusters_leave_clusters_empty(init, empty_clusters):
    X = np.repeat([[0.1, 0.7], [1.3, 0.2], [2.9, 3.3]], 5, axis=0)
    start = X[:8] if init == "given" else init
    with pytest.warns(ConvergenceWarning, match="Only 3 of the 8 clusters"):
        model = KMeans(8, init=start, empty_clusters=empty_clusters, random_state=0, n_init=1).fit(X)
    assert_allclose(model.inertia_, 0.0, atol=1e-28)
    assert np.count_nonzero(model.cluster_weights_) == 3
    assert model.certificates_.holds


def test_constant_columns_and_equal_rows():
    X = np.column_stack([np.arange(20.0), np.full(20, 7.0)])
    model = KMeans(2, random_state=0).fit(X)
    assert_allclose(model.cluster_centers_[:, 1], 7.0)
    assert model.certify(X).holds
    equal = KMeans(1).fit(np.full((10, 2), 0.1))
    assert equal.anova_.explained == 1.0
    assert equal.certificates_.holds


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("scale", [1e-8, 1.0, 1e8])
def test_scales_and_offsets(blobs, scale, offset):
    X = blobs * scale
    X = X + offset * scale
    model = KMeans(12, init=X[:12], tol=0).fit(X)
    plain = KMeans(12, init=blobs[:12], tol=0).fit(blobs)
    assert np.mean(model.labels_ == plain.labels_) > (0.999 if offset else 1 - 1e-12)
    assert_allclose(model.inertia_, plain.inertia_ * scale**2, rtol=1e-6)
    assert model.certificates_.holds


def test_bad_weights_are_refused(iris):
    with pytest.raises(ValueError, match="sample_weight must be at least 0"):
        KMeans(2).fit(iris, sample_weight=np.r_[-1.0, np.ones(149)])
    with pytest.raises(ValueError, match="above 0 for at least one row"):
        KMeans(2).fit(iris, sample_weight=np.zeros(150))
    with pytest.raises(ValueError, match="one-dimensional with 150 entries"):
        KMeans(2).fit(iris, sample_weight=np.ones(3))


def test_rows_of_weight_zero_get_a_label(iris):
    weight = np.ones(150)
    weight[::2] = 0.0
    model = KMeans(3, random_state=0).fit(iris, sample_weight=weight)
    assert_array_equal(model.labels_, model.predict(iris))
    assert model.cluster_weights_.sum() == 75
    assert_allclose(model.inertia_, KMeans(3, random_state=0).fit(iris[1::2]).inertia_)


def test_initial_centres_of_the_wrong_shape_are_refused(iris):
    with pytest.raises(ValueError, match=r"shape \(n_clusters, n_features\) = \(3, 4\)\. Got shape \(2, 4\)"):
        KMeans(3, init=iris[:2]).fit(iris)
    with pytest.raises(ValueError, match=r"Got shape \(3, 2\) instead"):
        KMeans(3, init=lambda X, n_clusters, random_state: X[:3, :2]).fit(iris)
    with pytest.raises(ValueError, match="Got NaN or infinity instead"):
        KMeans(3, init=lambda X, n_clusters, random_state: X[:3] * np.nan).fit(iris)


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("n_clusters", 0),
        ("n_clusters", 2.5),
        ("init", "best"),
        ("init", [[np.nan]]),
        ("n_init", 0),
        ("max_iter", 0),
        ("tol", -1.0),
        ("empty_clusters", "drop"),
        ("history", "yes"),
        ("random_state", -1),
    ],
)
def test_parameters_outside_their_domain_are_refused(iris, parameter, value):
    with pytest.raises(ValueError, match=f"^The '{parameter}' parameter of KMeans must be"):
        KMeans(**{parameter: value}).fit(iris)


def test_other_layouts_give_the_same_fit(iris):
    pd = pytest.importorskip("pandas")
    plain = KMeans(3, random_state=0).fit(iris)
    read_only = iris.copy()
    read_only.flags.writeable = False
    for X in (np.asfortranarray(iris), read_only, iris.tolist(), np.repeat(iris, 2, axis=1)[:, ::2]):
        assert_array_equal(KMeans(3, random_state=0).fit(X).labels_, plain.labels_)
    frame = pd.DataFrame(iris, columns=list("abcd")).assign(w=1.0)
    named = KMeans(3, random_state=0).fit(frame, sample_weight="w")
    assert_array_equal(named.labels_, plain.labels_)
    assert list(named.feature_names_in_) == list("abcd")


def test_a_file_gives_the_fit_of_memory(blobs, tmp_path):
    np.save(tmp_path / "rows.npy", blobs)
    for options in ({"init": blobs[:12]}, {"random_state": 3}):
        memory = KMeans(12, **options).fit(blobs)
        disk = KMeans(12, **options).fit(tmp_path / "rows.npy")
        assert_allclose(disk.cluster_centers_, memory.cluster_centers_, atol=1e-9)
        assert_array_equal(disk.labels_, memory.labels_)
        assert disk.certify(tmp_path / "rows.npy").holds


def test_dask_gives_the_fit_of_memory_and_stays_lazy(blobs, rng):
    da = pytest.importorskip("dask.array")
    lazy = da.from_array(blobs, chunks=(300, 5))
    weight = rng.uniform(size=len(blobs))
    for options in ({"init": blobs[:12]}, {"random_state": 3}, {"init": np.repeat(blobs[:1], 12, axis=0)}):
        memory = KMeans(12, **options).fit(blobs, sample_weight=weight)
        remote = KMeans(12, **options).fit(lazy, sample_weight=da.from_array(weight, chunks=300))
        assert_allclose(remote.cluster_centers_, memory.cluster_centers_, atol=1e-9)
        assert_allclose(remote.inertia_, memory.inertia_, rtol=1e-9)
        assert isinstance(remote.labels_, da.Array)
        assert_array_equal(remote.labels_.compute(), memory.labels_)
        assert remote.certificates_.holds
    assert remote.certify(lazy, sample_weight=weight).holds
    assert_allclose(remote.transform(lazy).compute(), memory.transform(blobs), atol=1e-8)
    assert_allclose(remote.score(lazy), memory.score(blobs))
    assert KMeans(3, random_state=0, history=True).fit(lazy).history_.labels is None


def test_large_sources_are_seeded_from_a_sample(blobs, tmp_path, monkeypatch):
    monkeypatch.setattr(seeding, "SAMPLE_ROWS", 500)
    np.save(tmp_path / "rows.npy", blobs)
    model = KMeans(12, random_state=0).fit(tmp_path / "rows.npy")
    assert model.certificates_.holds
