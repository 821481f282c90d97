"""Bad input of hierarchical clustering: one sentence each, and no wrong tree."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist, squareform
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from assay.cluster import AgglomerativeClustering, DivisiveClustering, MergeTree, ward_distance

LINKAGES = ("ward", "single", "complete", "average", "weighted", "centroid", "median")
PAIRWISE = ("single", "complete", "average", "weighted")
MODELS = [AgglomerativeClustering(linkage=linkage) for linkage in LINKAGES] + [DivisiveClustering()]
GIVEN = [AgglomerativeClustering(linkage=linkage, metric="precomputed") for linkage in PAIRWISE]
GIVEN.append(DivisiveClustering(metric="precomputed"))
each_model = pytest.mark.parametrize("model", MODELS, ids=repr)
each_given = pytest.mark.parametrize("model", GIVEN, ids=repr)


def one_sentence(error):
    return "\n" not in str(error.value)


@each_model
def test_more_clusters_than_rows_are_refused(model, iris):
    with pytest.raises(ValueError, match=r"'n_clusters' parameter .* at most the number of rows \(5\)"):
        type(model)(**{**model.get_params(), "n_clusters": 6}).fit(iris[:5])


@pytest.mark.parametrize("linkage", LINKAGES)
def test_more_clusters_than_distinct_rows_split_equal_rows_and_say_so(linkage):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="3 clusters of 2 distinct rows"):
        model = AgglomerativeClustering(3, linkage=linkage).fit(X)
    assert len(np.unique(model.labels_)) == 3
    assert model.certificates_.holds


@each_model
def test_one_row_is_one_cluster_or_refused(model):
    X = np.array([[1.0, 2.0]])
    with pytest.raises(ValueError, match="1 sample"):
        model.fit(X)
    alone = type(model)(**{**model.get_params(), "n_clusters": 1}).fit(X)
    assert_array_equal(alone.labels_, [0])
    assert alone.n_leaves_ == 1
    assert alone.certificates_.holds
    assert alone.certify(X).holds
    assert_array_equal(alone.predict([[5.0, 5.0]]), [0])
    assert np.isnan(alone.cophenetic_correlation(X))


@each_model
def test_equal_rows_everywhere_are_joined_at_zero(model):
    X = np.full((30, 3), 7.0)
    one = type(model)(**{**model.get_params(), "n_clusters": 1}).fit(X)
    assert_array_equal(one.distances_, np.zeros(29))
    assert_array_equal(one.labels_, np.zeros(30))
    assert one.certify(X).holds


@each_model
def test_two_rows(model):
    X = np.array([[0.0], [3.0]])
    fitted = model.fit(X)
    assert_allclose(fitted.distances_, [3.0])
    assert_array_equal(np.sort(fitted.labels_), [0, 1])
    assert fitted.certify(X).holds


@each_model
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(model, value, iris):
    X = iris.copy()
    X[3, 1] = value
    with pytest.raises(ValueError, match=r"NaN|infinity") as error:
        model.fit(X)
    assert one_sentence(error)


@each_model
def test_empty_and_wrong_tables_are_refused(model, iris):
    for X in (np.empty((0, 3)), np.empty((3, 0)), iris[:, 0], "no such file.npy", [["a"], ["b"]]):
        with pytest.raises((ValueError, OSError)):
            model.fit(X)


@each_model
@pytest.mark.parametrize(("scale", "shift"), [(1e8, 0.0), (1e-8, 0.0), (1.0, 1e8)])
def test_far_and_huge_coordinates_give_the_same_clusters(model, scale, shift, rng):
    X = np.round(rng.normal(size=(80, 3)), 3)
    moved = X * scale + shift
    expected = type(model)(**model.get_params()).fit(X)
    fitted = type(model)(**model.get_params()).fit(moved)
    tolerance = 1e-9 if shift == 0.0 else 1e-6
    assert_allclose(fitted.distances_, expected.distances_ * scale, rtol=tolerance, atol=tolerance * scale)
    assert_array_equal(fitted.labels_, expected.labels_)
    fitted.certify(moved).require()


@each_model
def test_constant_columns_change_nothing(model, iris):
    expected = type(model)(**model.get_params()).fit(iris[:60])
    wide = np.column_stack([iris[:60], np.full(60, 1e6)])
    assert_array_equal(type(model)(**model.get_params()).fit(wide).labels_, expected.labels_)


def peak_memory(model, X):
    """The most that a fit holds beside its data, as a share of a square matrix of all pairs in float64."""
    model.fit(X)  # compiles
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak / (8 * len(X) ** 2)


@pytest.mark.spec("sangnier/HC-P2")
def test_memory_is_the_triangle_of_all_pairs_or_linear(rng):
    X = rng.normal(size=(1800, 3))
    for linkage in ("complete", "average", "weighted"):
        assert 0.4 < peak_memory(AgglomerativeClustering(linkage=linkage), X) < 0.9
    for linkage in ("single", "ward", "centroid", "median"):
        assert peak_memory(AgglomerativeClustering(linkage=linkage), X) < 0.1
    # Given dissimilarities are not copied whole.
    given = AgglomerativeClustering(linkage="average", metric="precomputed")
    assert peak_memory(given, squareform(pdist(X))) < 0.6


@each_given
@pytest.mark.spec("sangnier/HC-P2")
def test_matrices_that_are_not_dissimilarities_are_refused(model, iris):
    D = squareform(pdist(iris[:10]))
    asymmetric, negative, diagonal, missing = D.copy(), D.copy(), D.copy(), D.copy()
    asymmetric[2, 3] += 0.5
    negative[2, 3] = negative[3, 2] = -1.0
    np.fill_diagonal(diagonal, 1.0)
    missing[2, 3] = missing[3, 2] = np.nan
    for wrong in (asymmetric, negative, diagonal, missing, D[:, :7]):
        with pytest.raises(ValueError) as error:
            model.fit(wrong)
        assert one_sentence(error)


@each_given
def test_predict_on_dissimilarities_takes_one_column_a_row_of_the_fit(model, iris):
    fitted = model.fit(squareform(pdist(iris[:20])))
    with pytest.raises(ValueError, match="features"):
        fitted.predict(np.ones((3, 7)))


@pytest.mark.parametrize("linkage", ["ward", "centroid", "median"])
def test_linkages_between_centres_are_about_euclidean_distances(linkage, iris):
    for metric in ("manhattan", "precomputed", pdist):
        with pytest.raises(ValueError, match=r"'metric' parameter .* must be 'euclidean' with linkage="):
            AgglomerativeClustering(linkage=linkage, metric=metric).fit(iris[:4])
    assert AgglomerativeClustering(linkage=linkage, metric="l2").fit(iris).n_clusters_ == 2


@pytest.mark.parametrize("linkage", LINKAGES)
def test_weights_are_checked_and_zero_means_absent(linkage, iris):
    model = AgglomerativeClustering(2, linkage=linkage)
    for weight in (np.ones(3), -np.ones(150), np.full(150, np.nan), np.zeros(150), "heavy"):
        with pytest.raises(ValueError):
            model.fit(iris, sample_weight=weight)
    few = np.zeros(150)
    few[[0, 50, 100]] = 1.0
    fitted = model.fit(iris, sample_weight=few)
    assert fitted.n_leaves_ == 3
    assert fitted.labels_.shape == (150,)
    assert set(np.unique(fitted.labels_)) == {0, 1}
    few[[50, 100]] = 0.0
    with pytest.raises(ValueError, match="at most the number of rows"):
        model.fit(iris, sample_weight=few)


@pytest.mark.parametrize("linkage", LINKAGES)
def test_frames_have_names_and_their_absent_rows_labels(linkage, iris):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(iris, columns=list("abcd"))
    weight = np.tile([1.0, 0.0, 2.0], 50)
    named = AgglomerativeClustering(3, linkage=linkage).fit(frame, sample_weight=weight)
    plain = AgglomerativeClustering(3, linkage=linkage).fit(iris, sample_weight=weight)
    assert list(named.feature_names_in_) == list("abcd")
    assert_array_equal(named.labels_, plain.labels_)
    assert named.certify(frame, sample_weight=weight).holds


def test_a_precomputed_matrix_with_absent_rows_predicts_by_those_that_are_there(iris):
    D = squareform(pdist(iris))
    weight = np.tile([1.0, 0.0, 2.0], 50)
    given = AgglomerativeClustering(3, linkage="average", metric="precomputed").fit(D, sample_weight=weight)
    direct = AgglomerativeClustering(3, linkage="average").fit(iris, sample_weight=weight)
    assert_array_equal(given.labels_, direct.labels_)
    assert given.certify(D, sample_weight=weight).holds


@each_model
def test_cut_is_refused_in_one_sentence(model, iris):
    with pytest.raises(NotFittedError):
        type(model)().cut(2)
    fitted = model.fit(iris)
    for wrong in (0, 151, 2.0, "two", True):
        with pytest.raises(ValueError, match=r"'n_clusters' parameter of .*cut must be an int from 1 to"):
            fitted.cut(wrong)
    with pytest.raises(ValueError, match=r"cut takes one of 'n_clusters' and 'height'"):
        fitted.cut()
    with pytest.raises(ValueError, match=r"cut takes one of 'n_clusters' and 'height'"):
        fitted.cut(2, height=1.0)
    with pytest.raises(ValueError, match="'height' parameter"):
        fitted.cut(height="high")
    assert len(np.unique(fitted.cut(height=-1.0))) == 150
    assert len(np.unique(fitted.cut(height=np.inf))) == 1


@each_model
def test_rows_outside_memory_are_refused_with_the_way_out(model, tmp_path, iris):
    np.save(tmp_path / "rows.npy", iris)
    with pytest.raises(ValueError, match=r"compares all pairs of rows .* KMeans"):
        model.fit(str(tmp_path / "rows.npy"))


def test_ward_distance_refuses_what_is_not_two_groups_of_rows():
    for A, B in (
        ([1.0], [[2.0]]),
        ([[1.0]], [[1.0, 2.0]]),
        (np.empty((0, 1)), [[1.0]]),
        ([[np.nan]], [[1.0]]),
    ):
        with pytest.raises(ValueError, match="ward_distance"):
            ward_distance(A, B)
    for weight in ([1.0, 1.0], [-1.0], [0.0], [np.inf]):
        with pytest.raises(ValueError, match="'weight_a' parameter of ward_distance"):
            ward_distance([[1.0]], [[2.0]], weight_a=weight)


def test_a_tree_refuses_a_cut_it_does_not_have():
    tree = MergeTree(np.array([[0, 1]]), np.array([1.0]), np.ones(2))
    with pytest.raises(ValueError, match="'n_clusters' parameter of cut"):
        tree.cut(3)
