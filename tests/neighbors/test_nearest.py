"""Votes and means of the nearest rows: against brute force written out, scikit-learn, and by hand."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.neighbors as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.model_selection import KFold, train_test_split

from assay.datasets import GaussianClasses
from assay.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
)
from assay.neighbors.counting import automatic_neighbors
from assay.rows import threads
from blocks import small_blocks


@pytest.fixture
def classes(rng):
    X = rng.normal(size=(160, 3))
    return X, rng.integers(0, 3, size=160), rng.normal(size=(40, 3))


def sorted_labels(X, y, queries):
    """Labels of all rows, nearest first, by a full sort of SciPy's distances; ties by row."""
    return y[np.argsort(cdist(queries, X), axis=1, kind="stable")]


@pytest.mark.spec("sangnier/M-1.6.1-a", "rudi/M6.3")
@pytest.mark.parametrize("k", [1, 4, 9])
def test_posteriors_are_shares_of_the_nearest_and_the_class_is_their_majority(classes, k):
    X, y, queries = classes
    model = KNeighborsClassifier(k).fit(X, y)
    nearest = sorted_labels(X, y, queries)[:, :k]
    shares = np.stack([(nearest == label).mean(axis=1) for label in range(3)], axis=1)
    assert_allclose(model.predict_proba(queries), shares, atol=1e-15)
    assert_array_equal(model.predict(queries), shares.argmax(axis=1))
    distances, indices = model.kneighbors(queries)
    assert_array_equal(y[indices], nearest)
    assert_allclose(distances, np.sort(cdist(queries, X), axis=1)[:, :k], rtol=1e-12)
    # The mean of 0 and 1 is the share of class 1: η̂ is the regression of the mark.
    mark = (y == 1).astype(float)
    assert_allclose(KNeighborsRegressor(k).fit(X, mark).predict(queries), shares[:, 1], atol=1e-15)


@pytest.mark.spec("rudi/M6.3", "sangnier/M-1.6.1-a", "peyre/M2")
def test_a_tie_of_votes_goes_where_the_rule_says():
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array(["b", "a", "a", "b"])
    query = [[0.4]]  # nearest: b, a, a, b
    answers = {
        ties: KNeighborsClassifier(2, ties=ties).fit(X, y).predict(query)[0]
        for ties in ("first", "positive", "nearest")
    }
    assert answers == {"first": "a", "positive": "b", "nearest": "b"}
    other = KNeighborsClassifier(2, ties="nearest").fit(X, y).predict([[2.6]])  # nearest: b, then a
    assert other[0] == "b"
    assert KNeighborsClassifier(4, ties="nearest").fit(X, y).predict([[1.2]])[0] == "a"
    # Rows at the same distance come by their number.
    assert_array_equal(KNeighborsClassifier(1).fit(X, y).kneighbors([[0.5]])[1], [[0]])
    # η̂ ≥ ½ is class 1: the rule of the notes for labels 0 and 1.
    even = KNeighborsClassifier(2, ties="positive").fit(X, np.array([0, 1, 0, 1]))
    assert_array_equal(even.predict([[0.4], [1.6], [2.4]]), [1, 1, 1])
    assert_allclose(even.predict_proba([[0.4]]), [[0.5, 0.5]])


@pytest.mark.spec("sangnier/M-1.6.1-b")
@pytest.mark.parametrize("k", [5, 160])
def test_gaussian_weights_are_exponentials_of_squared_norms(classes, k):
    X, y, queries = classes
    gamma = 0.7
    squares = cdist(queries, X, "sqeuclidean")
    kept = np.argsort(squares, axis=1, kind="stable")[:, :k]
    weights = np.exp(-gamma * np.take_along_axis(squares, kept, axis=1))
    votes = np.stack([((y[kept] == label) * weights).sum(axis=1) for label in range(3)], axis=1)
    model = KNeighborsClassifier(k, weights="gaussian", gamma=gamma).fit(X, y)
    assert_allclose(model.predict_proba(queries), votes / votes.sum(axis=1, keepdims=True), rtol=1e-10)
    assert_array_equal(model.predict(queries), votes.argmax(axis=1))
    # The printed exponent lost its norm bars; a plain difference would not be a weight of a distance.
    printed = np.exp(-gamma * (X[kept] - queries[:, None]).sum(axis=2) ** 2)
    wrong = np.stack([((y[kept] == label) * printed).sum(axis=1) for label in range(3)], axis=1)
    assert np.abs(wrong / wrong.sum(axis=1, keepdims=True) - model.predict_proba(queries)).max() > 0.05


def test_the_width_of_gaussian_weights_is_one_over_the_number_of_features_by_default(classes):
    X, y, queries = classes
    plain, given = (
        KNeighborsClassifier(5, weights="gaussian", gamma=gamma).fit(X, y) for gamma in (None, 1 / 3)
    )
    assert plain.gamma_ == 1 / 3
    assert_array_equal(plain.predict_proba(queries), given.predict_proba(queries))


def test_gaussian_weights_of_far_queries_do_not_vanish_together(classes):
    X, y, _ = classes
    model = KNeighborsClassifier(7, weights="gaussian", gamma=3.0).fit(X, y)
    far = model.predict_proba(np.array([[60.0, 0.0, 0.0]]))
    assert_allclose(far.sum(axis=1), 1.0)
    assert far.max() > 0.99  # all but the nearest weigh e^−60 and less


@pytest.mark.parametrize("weights", ["uniform", "distance", lambda d: 1 / (1 + d)])
@pytest.mark.parametrize("metric", [{"p": 1}, {"p": 3}, {"metric": "cosine"}, {"metric": "canberra"}])
def test_answers_are_those_of_scikit_learn(classes, weights, metric):
    X, y, queries = classes
    target = np.column_stack([X[:, 0], y])
    options = {"n_neighbors": 6, "weights": weights, **metric}
    ours, theirs = KNeighborsClassifier(**options).fit(X, y), peers.KNeighborsClassifier(**options).fit(X, y)
    assert_allclose(ours.predict_proba(queries), theirs.predict_proba(queries), atol=1e-9)
    assert_array_equal(ours.predict(queries), theirs.predict(queries))
    ours, theirs = KNeighborsRegressor(**options), peers.KNeighborsRegressor(**options)
    assert_allclose(ours.fit(X, target).predict(queries), theirs.fit(X, target).predict(queries), atol=1e-9)
    assert ours.effective_metric_ == theirs.effective_metric_
    assert ours.effective_metric_params_ == {
        name: value for name, value in theirs.effective_metric_params_.items() if name != "w"
    }


@pytest.mark.parametrize("X", ["dense", "sparse", "precomputed", "nan_euclidean"])
def test_kinds_of_rows_and_graphs_are_those_of_scikit_learn(classes, X):
    rows, _, queries = classes
    options = {"n_neighbors": 4, "radius": 1.5}
    if X == "sparse":
        rows, queries = (
            sparse.csr_matrix(np.where((rows > 0) | (np.arange(3) == 0), rows, 0)),
            sparse.csr_matrix(queries),
        )
    elif X == "precomputed":
        options["metric"] = "precomputed"
        rows, queries = cdist(rows, rows), cdist(queries, rows)
    elif X == "nan_euclidean":
        options["metric"] = "nan_euclidean"
        rows = np.where(rows > 1.5, np.nan, rows)
    ours, theirs = NearestNeighbors(**options).fit(rows), peers.NearestNeighbors(**options).fit(rows)
    for asked in (None, queries):
        for mine, yours in zip(ours.kneighbors(asked), theirs.kneighbors(asked), strict=True):
            assert_allclose(mine, yours, atol=1e-7)
        graph, other = (m.kneighbors_graph(asked, mode="distance") for m in (ours, theirs))
        assert_allclose(graph.toarray(), other.toarray(), atol=1e-7)
        lists, others = (m.radius_neighbors(asked, sort_results=True) for m in (ours, theirs))
        for mine, yours in zip((*lists[0], *lists[1]), (*others[0], *others[1]), strict=True):
            assert_allclose(mine, yours, atol=1e-7)
        near, far = (m.radius_neighbors_graph(asked, mode="distance") for m in (ours, theirs))
        assert_allclose(near.toarray(), far.toarray(), atol=1e-7)
    assert ours.certify(rows).holds


@pytest.mark.spec("rudi/M6.4")
def test_the_automatic_number_grows_is_odd_and_its_share_vanishes():
    sizes = [10, 100, 1000, 10**4, 10**6]
    counts = [automatic_neighbors(n) for n in sizes]
    assert counts == [5, 11, 33, 101, 1001]
    for exponent in (0.2, 0.5, 0.8):
        grown = np.array([automatic_neighbors(n, exponent) for n in sizes])
        assert (grown % 2 == 1).all()
        assert (np.diff(grown) >= 0).all()
        assert (np.diff(grown / sizes) < 0).all()
        assert (np.abs(grown - np.array(sizes, float) ** exponent) <= 2).all()
    X, y = GaussianClasses([[0.0], [1.0]]).sample(400, random_state=0)
    assert KNeighborsClassifier("auto").fit(X, y).n_neighbors_ == 21
    assert KNeighborsClassifier(lambda n: n // 10).fit(X, y).n_neighbors_ == 40
    with pytest.raises(ValueError, match="a rule that gives an int at least 1"):
        KNeighborsClassifier(lambda n: 0).fit(X, y)


def test_rows_on_disk_and_on_a_cluster_give_the_bits_of_memory(classes, tmp_path):
    da = pytest.importorskip("dask.array")
    X, y, queries = classes
    X = np.rint(X)  # many ties, which go by the number of the row
    np.save(tmp_path / "rows.npy", X)
    lazy = da.from_array(X, chunks=(70, 3)), da.from_array(y, chunks=70)
    options = {"n_neighbors": 7, "weights": "distance"}
    whole = KNeighborsClassifier(**options).fit(X, y)
    with small_blocks():
        for source, labels in ((str(tmp_path / "rows.npy"), y), lazy):
            for count in (1, 3):
                with threads(count):
                    walked = KNeighborsClassifier(**options).fit(source, labels)
                    assert_array_equal(walked.predict_proba(queries), whole.predict_proba(queries))
                    for mine, other in zip(
                        walked.kneighbors(queries), whole.kneighbors(queries), strict=True
                    ):
                        assert_array_equal(mine, other)
            assert walked.certify(source, labels).holds
            with pytest.raises(ValueError, match="in memory"):
                walked.predict(source)
            with pytest.raises(ValueError, match="memory"):
                walked.score_path()


def test_a_row_on_disk_that_weighs_nothing_is_no_neighbour(classes, tmp_path):
    X, y, queries = classes
    weight = np.where(np.arange(160) % 3 == 0, 0.0, 1.0)
    np.save(tmp_path / "rows.npy", X)
    whole = KNeighborsClassifier(7).fit(X, y, sample_weight=weight)
    with small_blocks():
        walked = KNeighborsClassifier(7).fit(str(tmp_path / "rows.npy"), y, sample_weight=weight)
        assert_array_equal(walked.predict_proba(queries), whole.predict_proba(queries))
        assert (walked.kneighbors(queries)[1] % 3 > 0).all()
        radius = RadiusNeighborsClassifier(1.0, outlier_label=0)
        on_disk = radius.fit(str(tmp_path / "rows.npy"), y, sample_weight=weight).predict_proba(queries)
    assert_allclose(on_disk, radius.fit(X, y, sample_weight=weight).predict_proba(queries), atol=1e-14)


@pytest.mark.parametrize("metric", ["euclidean", "canberra", "precomputed"])
def test_a_row_at_the_radius_is_within_it(metric):
    rows = np.array([[1.0], [2.0], [4.0]])
    if metric == "precomputed":
        model = NearestNeighbors(radius=2.0, metric=metric).fit(cdist(rows, rows))
        lists = model.radius_neighbors(cdist([[2.0]], rows))[1]
    else:
        lists = NearestNeighbors(radius=1 / 3 if metric == "canberra" else 2.0, metric=metric).fit(rows)
        lists = lists.radius_neighbors([[2.0]])[1]
    # |1 − 2|/(1 + 2) = |4 − 2|/(4 + 2) = ⅓; the distances are 1, 0 and 2.
    assert lists[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_a_row_of_weight_three_is_three_neighbours(classes, weights):
    X, y, queries = classes
    weight = np.tile([0, 1, 3, 2], 40)
    rows = np.repeat(np.arange(160), weight)
    options = {"n_neighbors": 8, "weights": weights}
    weighted = KNeighborsClassifier(**options).fit(X, y, sample_weight=weight)
    repeated = KNeighborsClassifier(**options).fit(X[rows], y[rows])
    assert_allclose(weighted.predict_proba(queries), repeated.predict_proba(queries), atol=1e-14)
    first, second = weighted.score_path(max_neighbors=30), repeated.score_path(max_neighbors=30)
    assert_allclose(first.error, second.error, atol=1e-12)
    assert first.n_rows == second.n_rows
    assert weighted.certify(X, y, weight).holds
    # Weights that are no numbers of repetitions: the mass of the neighbourhood is k.
    fraction = KNeighborsClassifier(**options).fit(X, y, sample_weight=weight / 2.0)
    again = KNeighborsClassifier(**{**options, "n_neighbors": 16}).fit(X, y, sample_weight=weight)
    assert_allclose(fraction.predict_proba(queries), again.predict_proba(queries), atol=1e-14)


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
def test_a_row_that_is_left_out_does_not_set_the_scale_of_the_weights(classes, weights):
    X, y, _ = classes
    weight = np.tile([1, 1, 3, 2], 40)
    rows = np.repeat(np.arange(160), weight)
    first = np.searchsorted(rows, np.arange(160))
    options = {"n_neighbors": 8, "weights": weights}
    weighted = KNeighborsClassifier(**options).fit(X, y, sample_weight=weight).predict_proba(None)
    repeated = KNeighborsClassifier(**options).fit(X[rows], y[rows]).predict_proba(None)[first]
    assert_allclose(weighted, repeated, atol=1e-14)


def test_predictions_without_rows_leave_each_one_out(classes):
    X, y, _ = classes
    model = KNeighborsClassifier(5).fit(X, y)
    each = [
        KNeighborsClassifier(5).fit(np.delete(X, i, 0), np.delete(y, i)).predict(X[i : i + 1])[0]
        for i in range(len(X))
    ]
    assert_array_equal(model.predict(None), each)
    assert_allclose(model.score_path(max_neighbors=5).error[-1], np.mean(each != y), rtol=1e-12)


@pytest.mark.spec("peyre/M3")
def test_rows_are_split_by_seed_and_by_class_before_they_are_judged():
    X, y = GaussianClasses([[0.0, 0.0], [2.0, 0.0]], priors=[0.9, 0.1]).sample(300, random_state=0)
    parts = [train_test_split(X, y, test_size=0.3, stratify=y, random_state=seed) for seed in (4, 4, 5)]
    for one, same in zip(parts[0], parts[1], strict=True):
        assert_array_equal(one, same)
    assert not np.array_equal(parts[0][1], parts[2][1])
    train, test, y_train, y_test = parts[0]
    assert abs(np.mean(y_train == 1) - np.mean(y_test == 1)) < 0.01
    model = KNeighborsClassifier(1).fit(train, y_train)
    # On the rows of the fit one neighbour makes no mistake; that is why they are split.
    assert model.score(train, y_train) == 1.0
    assert model.score(test, y_test) < 1.0
    assert model.certify_error(test, y_test).holds
    # `select` itself splits by seed, in any folds of scikit-learn's.
    choices = [KNeighborsClassifier().select(X, y, cv=5, random_state=seed).curve for seed in (0, 0, 1)]
    assert_array_equal(choices[0], choices[1])
    assert not np.array_equal(choices[0], choices[2])
    folds = KFold(4, shuffle=True, random_state=3)
    assert KNeighborsClassifier().select(X, y, cv=folds).fold_scores.shape[0] == 4


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda X, y: KNeighborsClassifier(200).fit(X, y).predict(X),
            "n_neighbors = 200, n_samples_fit = 160",
        ),
        (lambda X, y: KNeighborsClassifier(metric="miles").fit(X, y), "The 'metric' parameter"),
        (lambda X, y: KNeighborsClassifier(weights=lambda d: -d).fit(X, y).predict(X), "at least 0"),
        (lambda X, y: KNeighborsClassifier(weights=lambda d: 0 * d).fit(X, y).predict(X), "weight 0"),
        (lambda X, y: KNeighborsClassifier(metric="precomputed").fit(X, y), "square matrix"),
        (lambda X, y: KNeighborsClassifier().fit(X, y).score_path(max_neighbors=160), "from 1 to 159"),
        (lambda X, y: KNeighborsClassifier().fit(X, np.zeros(160)), "at least two classes"),
        (
            lambda X, y: KNeighborsClassifier().fit(X, y).score_path(X, np.full(160, 7)),
            "not among the classes",
        ),
    ],
)
def test_bad_input_is_met_by_one_sentence(classes, make, sentence):
    with pytest.raises(ValueError, match=sentence) as refusal:
        make(*classes[:2])
    assert "\n" not in str(refusal.value)


def test_all_distances_tied_and_duplicates_in_the_way():
    X, y = np.zeros((20, 3)), np.arange(20) % 2
    model = KNeighborsClassifier(3).fit(X, y)
    assert_array_equal(model.kneighbors(X[:1])[1], [[0, 1, 2]])
    assert model.certify(X, y).holds
    assert KNeighborsClassifier(3, weights="distance").fit(X, y).predict(X[:1])[0] == 0


@pytest.mark.parametrize("offset", [0.0, 1e8])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_certificates_raise_no_false_alarm_far_from_zero_or_in_single_precision(rng, offset, dtype):
    X = (rng.normal(size=(300, 30)) * (1.0 if offset == 0 else 100.0) + offset).astype(dtype)
    y = rng.integers(0, 2, size=300)
    for weights in ("uniform", "distance", "gaussian"):
        model = KNeighborsClassifier(4, weights=weights).fit(np.vstack([X, X[:50]]), np.append(y, y[:50]))
        assert model.certify(np.vstack([X, X[:50]]), np.append(y, y[:50])).holds


def test_certificates_of_a_frame_do_not_complain_of_names(classes):
    pd = pytest.importorskip("pandas")
    X, y, _ = classes
    frame = pd.DataFrame(X, columns=[f"column {j}" for j in range(X.shape[1])])
    for kind in (KNeighborsClassifier, KNeighborsRegressor):
        assert kind().fit(frame, y).certify(frame, y).holds  # warnings are errors
