"""A call that works in scikit-learn works here: graphs of distances, names of metrics, several labels."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.neighbors as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

import assay.neighbors as ours
from assay.models.class_columns import share_weights


@pytest.fixture
def table(rng):
    X = rng.normal(size=(90, 3))
    return X, rng.integers(0, 3, size=90), rng.normal(size=(25, 3))


@pytest.fixture
def graph(table):
    """Distances to the 12 nearest rows, the row itself among them, and those of the queries."""
    X, _, queries = table
    search = peers.NearestNeighbors(n_neighbors=12).fit(X)
    # Sorted by row values, as scikit-learn wants it.
    return search.kneighbors_graph(X, mode="distance"), search.kneighbors_graph(queries, mode="distance")


@pytest.mark.filterwarnings("ignore:Precomputed sparse input was not sorted")
def test_a_sparse_graph_of_distances_is_searched_where_it_has_entries(table, graph):
    _, y, _ = table
    rows, queries = graph
    for asked in (None, queries):
        one, other = (
            kind(n_neighbors=4, radius=0.9, metric="precomputed").fit(rows)
            for kind in (ours.NearestNeighbors, peers.NearestNeighbors)
        )
        for mine, theirs in zip(one.kneighbors(asked), other.kneighbors(asked), strict=True):
            assert_allclose(mine, theirs)
        lists = (model.radius_neighbors(asked, sort_results=True)[1] for model in (one, other))
        for mine, theirs in zip(*lists, strict=True):
            assert_array_equal(mine, theirs)
        for name in ("KNeighborsClassifier", "KNeighborsRegressor"):
            options = {"n_neighbors": 4, "weights": "distance", "metric": "precomputed"}
            mine, theirs = (getattr(room, name)(**options).fit(rows, y) for room in (ours, peers))
            assert_allclose(mine.predict(asked), theirs.predict(asked))
            assert mine.certify(rows, y).holds
            assert not mine.certify(rows * 1.01, y).holds
    assert one.certify(rows).holds
    # A given matrix may be asked about the other way: dense rows, sparse queries, and back.
    dense = ours.NearestNeighbors(n_neighbors=4, metric="precomputed").fit(rows.toarray())
    assert_allclose(dense.kneighbors(queries)[0], one.kneighbors(queries, 4)[0])
    full = 9.0 + np.abs(queries.toarray())
    assert_allclose(one.kneighbors(full, 3)[0], np.sort(full, axis=1)[:, :3])
    assert [len(part) for part in one.radius_neighbors(full, 9.0)[1]] == (full <= 9.0).sum(axis=1).tolist()
    weight = np.tile([1.0, 0.0, 2.0], 30)
    weighted = ours.KNeighborsClassifier(3, metric="precomputed").fit(rows, y, sample_weight=weight)
    assert weighted.certify(rows, y, weight).holds
    with pytest.raises(ValueError, match=r"30 neighbors are required .* row 0 .* has only 12"):
        ours.KNeighborsClassifier(30, metric="precomputed").fit(rows, y).predict(queries)


@pytest.mark.filterwarnings("ignore:Parameter p is found in metric_params")
@pytest.mark.parametrize(
    ("metric", "options"),
    [
        ("infinity", {}),
        ("p", {"p": 3}),
        ("minkowski", {"p": 3, "w": np.array([1.0, 2.0, 3.0])}),
        ("seuclidean", {"V": np.array([1.0, 4.0, 0.5])}),
        ("mahalanobis", {"VI": np.diag([1.0, 4.0, 0.5])}),
        ("hamming", {}),
    ],
)
def test_names_of_metrics_are_those_of_scikit_learn(table, metric, options):
    X, _, queries = (np.rint(part) if metric == "hamming" else part for part in table)
    settings = {"n_neighbors": 5, "metric": metric, "metric_params": options or None}
    one, other = (room.NearestNeighbors(**settings).fit(X) for room in (ours, peers))
    assert_allclose(one.kneighbors(queries)[0], other.kneighbors(queries)[0], rtol=1e-9)
    assert one.certify(X).holds


def test_marks_that_agree_are_near(table):
    X = table[0] > 0.3
    one = ours.NearestNeighbors(n_neighbors=89, metric="sokalmichener").fit(X)
    differ = (X[:1] != X).sum(axis=1)
    expected = np.sort(2 * differ / (3 - differ + 2 * differ))  # 2R/(S + 2R), S features agree and R do not
    assert_allclose(one.kneighbors(X[:1])[0][0], expected[:89], atol=1e-12)


def test_rows_and_queries_may_be_sparse_or_not_each_by_itself(table):
    X, y, queries = table
    plain = ours.KNeighborsClassifier(5).fit(X, y).predict_proba(queries)
    for metric in ("minkowski", "canberra"):
        expected = ours.KNeighborsClassifier(5, metric=metric).fit(X, y).predict_proba(queries)
        asked = (
            ours.KNeighborsClassifier(5, metric=metric).fit(X, y).predict_proba(sparse.csr_matrix(queries))
        )
        assert_allclose(asked, expected)
    assert_allclose(ours.KNeighborsClassifier(5).fit(sparse.csc_matrix(X), y).predict_proba(queries), plain)


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_several_columns_of_labels_are_voted_on_each_by_itself(table, weights):
    X, y, queries = table
    labels = np.column_stack([y, np.arange(90) % 2 + 5])
    for name, options in (
        ("KNeighborsClassifier", {"n_neighbors": 5}),
        ("RadiusNeighborsClassifier", {"radius": 0.8, "outlier_label": "most_frequent"}),
        ("RadiusNeighborsClassifier", {"radius": 0.8, "outlier_label": [2, 6]}),
    ):
        one, other = (
            getattr(room, name)(weights=weights, **options).fit(X, labels) for room in (ours, peers)
        )
        assert_array_equal(one.predict(queries), other.predict(queries))
        for mine, theirs in zip(one.predict_proba(queries), other.predict_proba(queries), strict=True):
            assert_allclose(mine, theirs, atol=1e-12)
        for mine, theirs in zip(one.classes_, other.classes_, strict=True):
            assert_array_equal(mine, theirs)
        assert one.outputs_2d_
        assert getattr(one, "outlier_label_", None) == getattr(other, "outlier_label_", None)
        assert one.certify(X, labels).holds
        assert not one.certify(X, labels[::-1]).holds
    # A tie goes to the nearest in each column.
    ties = ours.KNeighborsClassifier(2, ties="nearest").fit([[0.0], [1.0], [9.0]], [[1, 7], [0, 8], [0, 8]])
    assert_array_equal(ties.predict([[0.4], [0.6]]), [[1, 7], [0, 8]])
    abstains = ours.RadiusNeighborsClassifier(0.5, outlier_label="abstain").fit(X, labels)
    assert np.ma.getmaskarray(abstains.predict([[40.0, 0.0, 0.0]])).tolist() == [[True, True]]
    for refused in (lambda: ours.KNeighborsClassifier().select(X, labels), lambda: ties.vote_path([[0.0]])):
        with pytest.raises(ValueError, match="is of one output; this model has 2"):
            refused()
    with pytest.raises(ValueError, match="'outlier_label' parameter"):
        ours.RadiusNeighborsClassifier(outlier_label=[1, 2, 3]).fit(X, labels)
    assert_array_equal(share_weights(np.array([[0, 2], [1, 2]]), np.array([1.0, 3.0]), 3), [1, 3, 4])


def test_an_infinite_weight_decides_alone_where_there_is_one(table):
    """One over a distance of zero, for some queries and not for others."""
    X, y, queries = table

    def inverse(distances):
        with np.errstate(divide="ignore"):
            return 1.0 / distances

    asked = np.vstack([X[:3], queries])
    one = ours.KNeighborsClassifier(4, weights=inverse).fit(X, y).predict_proba(asked)
    assert_allclose(one, peers.KNeighborsClassifier(4, weights="distance").fit(X, y).predict_proba(asked))
