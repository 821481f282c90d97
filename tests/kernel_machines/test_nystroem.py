"""Nyström features: against scikit-learn and the whole kernel matrix, in memory and outside."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.kernel_approximation
from numpy.testing import assert_allclose
from scipy import sparse

from assay.kernel_machines import Nystroem
from assay.kernel_machines.features import landmarks
from assay.kernel_machines.features.landmarks import pivoted_cholesky
from assay.kernels import Gaussian, Linear, Polynomial
from assay.linear import LinearSVC, Ridge

SCHEMES = ("uniform", "k-means++", "pivoted_cholesky")


@pytest.fixture(scope="module")
def X():
    return np.random.default_rng(0).normal(size=(300, 3))


def gram_of(X, gamma):
    return np.exp(-gamma * ((X[:, None] - X) ** 2).sum(axis=2))


def scikit_learn_map(model, **options):
    """scikit-learn's map with our landmarks: what it would have made of them."""
    peer = sklearn.kernel_approximation.Nystroem(
        n_components=len(model.components_), random_state=0, **options
    ).fit(model.components_)
    peer.normalization_ = peer.normalization_[np.argsort(peer.component_indices_)][
        :, np.argsort(peer.component_indices_)
    ]
    peer.components_ = model.components_
    return peer


@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 0.4},
        {"kernel": "polynomial", "degree": 2, "coef0": 0.5, "gamma": 0.1},
        {"kernel": "linear"},
    ],
    ids=lambda options: options["kernel"],
)
def test_features_are_those_of_scikit_learn_on_the_same_landmarks(X, options):
    model = Nystroem(n_components=12 if options["kernel"] == "rbf" else 3, random_state=0, **options).fit(X)
    peer = scikit_learn_map(model, **options)
    assert_allclose(model.normalization_, peer.normalization_, atol=1e-8)
    assert_allclose(model.transform(X), peer.transform(X), atol=1e-8)
    assert model.components_.shape == peer.components_.shape
    assert model.component_indices_.shape == (len(model.components_),)
    assert np.array_equal(model.components_, X[model.component_indices_])


def test_every_parameter_of_scikit_learn_is_accepted():
    theirs = sklearn.kernel_approximation.Nystroem().get_params()
    ours = Nystroem().get_params()
    assert {name: ours[name] for name in theirs} == theirs


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_trace_bounds_the_norms_of_what_is_lost(X, scheme, small_blocks):
    K = gram_of(X, 0.3)
    model = Nystroem(gamma=0.3, n_components=25, landmarks=scheme, random_state=1).fit(X)
    features = model.transform(X)
    left = K - features @ features.T
    trace = np.trace(left)
    assert np.linalg.eigvalsh(left)[0] > -1e-9
    assert trace >= np.linalg.norm(left) >= np.linalg.norm(left, 2) > 0
    shown = model.certify(X).named("share of the trace that is lost")
    assert_allclose(shown.value, trace / np.trace(K), rtol=1e-8)
    assert_allclose(model.trace_error_, shown.value, rtol=1e-8)  # 300 rows: all are measured at the fit
    chosen = model.component_indices_
    assert np.abs(left[np.ix_(chosen, chosen)]).max() < 1e-10
    # The projection onto the landmarks is what the pseudo-inverse gives.
    best = K[:, chosen] @ np.linalg.pinv(K[np.ix_(chosen, chosen)], rcond=1e-12, hermitian=True) @ K[chosen]
    assert_allclose(features @ features.T, best, atol=1e-8)


def test_as_many_landmarks_as_rows_lose_nothing(X):
    model = Nystroem(gamma=2.0, n_components=1000, random_state=0).fit(X)
    features = model.transform(X)
    assert features.shape == (300, 300)
    assert_allclose(features @ features.T, gram_of(X, 2.0), atol=1e-9)
    assert model.trace_error_ == 0.0
    assert model.get_feature_names_out()[-1] == "nystroem299"


def test_greedy_landmarks_are_the_pivots_of_brute_force():
    X = np.random.default_rng(2).normal(size=(60, 2))
    K = gram_of(X, 0.5) * np.outer(1 + X[:, 0] ** 2, 1 + X[:, 0] ** 2)
    scale = Polynomial(1, 1.0, 0.0)  # any kernel: only its values are asked for

    class Given(type(scale)):
        def diagonal(self, rows):
            return K.diagonal().copy()

        def columns(self, rows):
            return lambda j: K[:, j].copy()

    pivots, trace = pivoted_cholesky(Given(1, 1.0, 0.0), X, 10)
    for step in range(10):
        before = pivots[:step]
        left = K.diagonal().copy()
        if step:
            left -= np.einsum("ij,ji->i", K[:, before] @ np.linalg.inv(K[np.ix_(before, before)]), K[before])
        assert_allclose(trace[step], left.sum(), rtol=1e-8)
        assert pivots[step] == np.argmax(left)


def test_greedy_landmarks_end_at_the_rank_of_the_kernel(X):
    model = Nystroem("linear", n_components=50, landmarks="pivoted_cholesky").fit(X)
    assert len(model.components_) == model.rank_ == 3
    features = model.transform(X)
    assert_allclose(features @ features.T, X @ X.T, atol=1e-10)
    drawn = Nystroem("linear", n_components=50, random_state=0).fit(X)
    assert (len(drawn.components_), drawn.rank_) == (50, 3)
    assert_allclose(drawn.transform(X) @ drawn.transform(X).T, X @ X.T, atol=1e-8)


def test_plus_plus_draws_a_row_of_each_kind_before_copies():
    rows = np.repeat(np.random.default_rng(3).normal(size=(8, 2)), 40, axis=0)
    for seed in range(5):
        model = Nystroem(gamma=0.5, n_components=20, landmarks="k-means++", random_state=seed).fit(rows)
        assert len(np.unique(model.components_, axis=0)) == len(model.components_) == 8
        assert model.trace_error_ == 0.0


def test_plus_plus_draws_by_squared_distance():
    # Two rows: the first landmark is either; then the other for sure. Three on a line: by their distances.
    rows = np.array([[0.0], [1.0], [3.0]])
    second = np.zeros(3)
    rng = np.random.default_rng(0)
    for _ in range(3000):
        chosen, _ = landmarks.plus_plus(_memory(rows), Linear(), 2, rng)
        if chosen[0] == 0:
            second[chosen[1]] += 1
    shares = second / second.sum()
    assert_allclose(shares, [0.0, 0.1, 0.9], atol=4 * np.sqrt(0.09 / second.sum()))


def _memory(rows):
    from assay.rows import MemoryRows

    return MemoryRows(rows)


@pytest.mark.parametrize("scheme", ["uniform", "k-means++"])
def test_files_give_the_landmarks_of_memory(X, tmp_path, scheme, small_blocks, monkeypatch):
    pd = pytest.importorskip("pandas")
    monkeypatch.setattr(landmarks, "POOL_ROWS", 100)  # what k-means++ draws among is drawn itself
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["label"] = (X[:, 0] > 0).astype(float)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    options = {"gamma": "scale", "n_components": 20, "landmarks": scheme, "random_state": 4}
    outside, inside = Nystroem(**options).fit(path, "label"), Nystroem(**options).fit(frame[["a", "b", "c"]])
    assert np.array_equal(outside.component_indices_, inside.component_indices_)
    assert np.array_equal(outside.components_, inside.components_)
    assert_allclose(outside.kernel_.gamma, 1 / (3 * X.var()))
    assert_allclose(outside.transform(path), inside.transform(frame[["a", "b", "c"]]), atol=1e-12)
    assert outside.certify(path).holds


def test_greedy_landmarks_refuse_rows_outside_memory(X, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match=r"pivoted_cholesky.*outside memory: take landmarks='k-means\+\+'"):
        Nystroem(landmarks="pivoted_cholesky").fit(str(tmp_path / "rows.npy"))


def test_a_linear_model_walks_features_that_are_never_in_memory(X, tmp_path, small_blocks):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["label"] = np.where(X[:, 0] ** 2 + X[:, 1] > 0.5, 1.0, 0.0)
    path = tmp_path / "rows.parquet"
    frame.to_parquet(path)
    model = Nystroem(gamma=0.3, n_components=15, random_state=0).fit(path, "label")
    table, labels = model.transform(path), frame["label"].to_numpy()
    streamed = LinearSVC(C=0.5).fit(model.features(path, "label"))
    direct = LinearSVC(C=0.5).fit(table, labels)
    assert_allclose(streamed.coef_, direct.coef_, atol=1e-7)
    assert np.array_equal(streamed.predict(model.features(path)), direct.predict(table))
    assert streamed.certify(model.features(path, "label")).holds
    ridge = Ridge(alpha=0.1).fit(model.features(path, "label"), None)
    assert_allclose(ridge.coef_, Ridge(alpha=0.1).fit(table, labels).coef_, atol=1e-7)
    with pytest.raises(ValueError, match="hold their target"):
        LinearSVC().fit(model.features(path, "label"), labels)
    with pytest.raises(ValueError, match="LinearSVC requires y"):
        LinearSVC().fit(model.features(path))


def test_sparse_rows_give_the_features_of_dense_ones():
    dense = np.where(np.random.default_rng(5).random((80, 6)) < 0.4, 1.0, 0.0)
    for scheme in SCHEMES:
        options = {"gamma": "scale", "n_components": 9, "landmarks": scheme, "random_state": 0}
        ours, theirs = Nystroem(**options).fit(sparse.csr_array(dense)), Nystroem(**options).fit(dense)
        assert_allclose(ours.transform(sparse.csr_array(dense)), theirs.transform(dense), atol=1e-8)


def test_any_number_of_jobs_gives_the_same_features(X):
    first = Nystroem(n_components=20, random_state=0, n_jobs=1).fit(X)
    second = Nystroem(n_components=20, random_state=0, n_jobs=3).fit(X)
    assert np.array_equal(first.transform(X), second.transform(X))


@pytest.mark.parametrize(
    ("options", "X", "words"),
    [
        ({"kernel": "precomputed"}, np.eye(4), "'kernel' parameter of Nystroem must be"),
        ({"kernel": "exponential", "gamma": 1.0}, 1e3 * np.eye(4), "overflows on these rows"),
        ({"kernel": "sigmoid", "gamma": 1.0}, np.array([[0.0], [1.0], [5.0]]), "positive semi-definite"),
        ({"n_components": 0}, np.eye(4), "'n_components' parameter of Nystroem must be"),
        ({"landmarks": "best"}, np.eye(4), "'landmarks' parameter of Nystroem must be"),
    ],
)
def test_what_cannot_be_is_refused(options, X, words):
    with pytest.raises(ValueError, match=words) as refusal:
        Nystroem(random_state=0, **options).fit(X)
    assert "\n" not in str(refusal.value)


def test_a_function_and_a_kernel_give_the_features_of_the_name(X):
    named = Nystroem(gamma=0.3, n_components=10, random_state=0).fit(X)
    given = Nystroem(Gaussian(0.3), n_components=10, random_state=0).fit(X)
    called = Nystroem(
        lambda x, z, width: np.exp(-width * np.sum((x - z) ** 2)),
        kernel_params={"width": 0.3},
        n_components=10,
        random_state=0,
    ).fit(X)
    assert np.array_equal(named.transform(X), given.transform(X))
    assert_allclose(called.transform(X), named.transform(X), atol=1e-9)


def test_a_row_that_is_no_landmark_is_seen(X):
    model = Nystroem(gamma=0.3, n_components=10, random_state=0).fit(X)
    model.component_indices_ = np.roll(model.component_indices_, 1)
    assert not model.certify(X).holds
    model = Nystroem(gamma=0.3, n_components=10, random_state=0).fit(X)
    model.components_[1], model.component_indices_[1] = model.components_[0], model.component_indices_[0]
    assert "landmarks that repeat" in {item.quantity for item in model.certify(X).failed}
