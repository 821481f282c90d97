"""Votes within a radius, which abstain where there is no row, and votes of all rows by a kernel."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn.neighbors as peers
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import norm
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

from assay.kernel_sums import smoothing_kernel
from assay.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NadarayaWatsonClassifier,
    NadarayaWatsonRegressor,
    RadiusNeighborsClassifier,
    RadiusNeighborsRegressor,
)
from assay.trees import DecisionTreeClassifier


@pytest.fixture
def rows(rng):
    return rng.normal(size=(150, 2)), rng.integers(0, 3, size=150), 0.8 * rng.normal(size=(40, 2))


@pytest.mark.spec("sangnier/M-1.6.1-c")
def test_the_vote_of_a_ball_is_that_of_its_rows_and_nothing_where_it_is_empty(rows):
    X, y, queries = rows
    queries = np.vstack([queries, [[30.0, 0.0]]])
    near = cdist(queries, X) <= 0.5
    model = RadiusNeighborsClassifier(0.5, outlier_label="abstain").fit(X, y)
    defined = near.any(axis=1)
    assert_array_equal(model.is_defined(queries), defined)
    assert not defined[-1]
    assert 0 < defined.sum() < len(queries)
    shares = np.stack([(near & (y == label)).sum(axis=1) for label in range(3)], axis=1)[defined]
    said = model.predict(queries)
    assert_array_equal(np.ma.getmaskarray(said), ~defined)
    assert_array_equal(said[defined].data, shares.argmax(axis=1))
    chances = model.predict_proba(queries)
    assert np.isnan(chances[~defined]).all()
    assert_allclose(chances[defined], shares / shares.sum(axis=1, keepdims=True))
    with pytest.raises(ValueError, match=r"No neighbors found .* no row of the fit is within the radius"):
        RadiusNeighborsClassifier(0.5).fit(X, y).predict(queries)
    # The k nearest always exist.
    assert KNeighborsClassifier(3).fit(X, y).predict(queries[-1:]).shape == (1,)


@pytest.mark.parametrize("weights", ["uniform", "distance", "gaussian"])
def test_the_weight_of_a_row_in_a_ball_is_how_often_it_is_there(rows, weights):
    X, y, queries = rows
    weight = np.random.default_rng(3).integers(0, 4, size=len(X))
    near = cdist(queries, X) <= 0.9
    queries = queries[(near & (weight > 0)).any(axis=1)]
    again = np.repeat(np.arange(len(X)), weight)
    for kind, answer in (
        (RadiusNeighborsClassifier, "predict_proba"),
        (RadiusNeighborsRegressor, "predict"),
    ):
        weighted = kind(0.9, weights=weights).fit(X, y, sample_weight=weight)
        repeated = kind(0.9, weights=weights).fit(X[again], y[again])
        said = getattr(weighted, answer)(queries)
        assert_allclose(said, getattr(repeated, answer)(queries), rtol=1e-12)
        assert np.abs(said - getattr(kind(0.9, weights=weights).fit(X, y), answer)(queries)).max() > 0.05
        assert weighted.certify(X, y, weight).holds
        assert not weighted.certify(X, y, weight + 1).holds
        # A row of weight 0 that nothing is near is not asked about.
        far, none = np.vstack([X, [[30.0, 0.0]]]), np.append(weight, 0)
        assert kind(0.9).fit(far, np.append(y, 0), none).certify(far, np.append(y, 0), none).holds
    frequent = RadiusNeighborsClassifier(0.9, outlier_label="most_frequent")
    heavy = frequent.fit(X, y, sample_weight=np.where(y == 2, 5.0, 1.0))
    assert heavy.predict([[30.0, 0.0]]) == 2


def test_a_row_that_is_there_twice_is_in_its_own_ball_once(rows):
    X, y, _ = rows
    weight = np.tile([1, 3, 2], 50)
    again = np.repeat(np.arange(len(X)), weight)
    first = np.searchsorted(again, np.arange(len(X)))
    options = {"radius": 0.6, "outlier_label": 0}
    weighted = RadiusNeighborsClassifier(**options).fit(X, y, sample_weight=weight).predict_proba(None)
    repeated = RadiusNeighborsClassifier(**options).fit(X[again], y[again]).predict_proba(None)[first]
    assert_allclose(weighted, repeated, atol=1e-14)


@pytest.mark.parametrize("radius", [1.0, 2.2, 4.0])
def test_weights_pass_the_check_of_scikit_learn_where_every_ball_has_an_answer(radius):
    model = RadiusNeighborsClassifier(radius, outlier_label="most_frequent")
    check_sample_weight_equivalence_on_dense_data("RadiusNeighborsClassifier", model)
    check_sample_weight_equivalence_on_sparse_data("RadiusNeighborsClassifier", model)


@pytest.mark.spec("sangnier/M-1.6.1-c")
def test_the_cells_of_a_tree_are_neighbourhoods_of_a_third_kind(rows):
    X, y, queries = rows
    tree = DecisionTreeClassifier(max_leaf_nodes=6, random_state=0).fit(X, y)
    cells, asked = tree.apply(X), tree.apply(queries)
    assert len(np.unique(cells)) == 6
    shares = np.stack([[np.mean(y[cells == cell] == label) for label in range(3)] for cell in asked])
    assert_allclose(tree.predict_proba(queries), shares)  # a partition: no cell is ever empty
    assert np.isin(asked, cells).all()


@pytest.mark.parametrize("label", ["most_frequent", 2, 7])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_labels_of_outliers_are_those_of_scikit_learn(rows, label, weights):
    X, y, queries = rows
    queries = np.vstack([queries, [[30.0, 0.0]]])
    options = {"radius": 0.4, "outlier_label": label, "weights": weights, "algorithm": "kd_tree"}
    ours, theirs = (
        kind(**options).fit(X, y) for kind in (RadiusNeighborsClassifier, peers.RadiusNeighborsClassifier)
    )
    assert_array_equal(ours.predict(queries[:-1]), theirs.predict(queries[:-1])) if label != 7 else None
    assert ours.outlier_label_ == theirs.outlier_label_
    assert ours.predict(queries)[-1] == theirs.outlier_label_[0]
    if label != 7:
        assert_allclose(ours.predict_proba(queries), theirs.predict_proba(queries), atol=1e-12)
    else:
        assert_array_equal(ours.predict_proba(queries)[-1], 0.0)
    with pytest.raises(TypeError, match="dtype"):
        RadiusNeighborsClassifier(outlier_label="x").fit(X, y)


def test_means_within_a_radius_are_those_of_scikit_learn_and_nan_beyond(rows):
    X, y, queries = rows
    target = np.column_stack([X[:, 0], y])
    for weights in ("uniform", "distance"):
        ours = RadiusNeighborsRegressor(0.9, weights=weights).fit(X, target)
        theirs = peers.RadiusNeighborsRegressor(0.9, weights=weights).fit(X, target)
        inside = (cdist(queries, X) <= 0.9).any(axis=1)
        assert_allclose(ours.predict(queries[inside]), theirs.predict(queries[inside]), atol=1e-12)
        with pytest.warns(UserWarning, match="no neighbors"):
            assert np.isnan(ours.predict([[50.0, 0.0]])).all()
        assert ours.certify(X, target).holds


@pytest.mark.spec("sangnier/M-1.6.1-b")
def test_all_rows_with_gaussian_weights_are_the_kernel_rule(rows):
    X, y, queries = rows
    h = 0.6
    kernel = KNeighborsClassifier(len(X), weights="gaussian", gamma=1 / (2 * h**2)).fit(X, y)
    rule = NadarayaWatsonClassifier(h).fit(X, y)
    weights = np.exp(-((cdist(queries, X) / h) ** 2) / 2)
    shares = np.stack([weights @ (y == label) for label in range(3)], axis=1) / weights.sum(axis=1)[:, None]
    assert_allclose(rule.predict_proba(queries), shares, rtol=1e-9)
    assert_allclose(kernel.predict_proba(queries), shares, rtol=1e-9)
    assert_array_equal(rule.predict(queries), kernel.predict(queries))
    means = weights @ X[:, 0] / weights.sum(axis=1)
    assert_allclose(NadarayaWatsonRegressor(h).fit(X, X[:, 0]).predict(queries), means, rtol=1e-9)
    nearest = KNeighborsRegressor(len(X), weights="gaussian", gamma=1 / (2 * h**2)).fit(X, X[:, 0])
    assert_allclose(nearest.predict(queries), means, rtol=1e-9)


@pytest.mark.spec("sangnier/M-1.6.1-b")
def test_the_smooth_mark_replaces_that_of_the_ball(rows):
    """1{‖u‖ ≤ ε} smoothed is e^{−‖u‖²/2}: the uniform kernel is the ball itself."""
    X, y, queries = rows
    inside = (cdist(queries, X) <= 0.9).any(axis=1)
    ball = RadiusNeighborsClassifier(0.9).fit(X, y).predict_proba(queries[inside])
    window = NadarayaWatsonClassifier(0.9, kernel="uniform").fit(X, y).predict_proba(queries[inside])
    assert_allclose(window, ball, atol=1e-12)
    # Where no row is inside, the nearest answers.
    far = np.array([[9.0, 9.0]])
    nearest = y[np.argmin(cdist(far, X))]
    assert NadarayaWatsonClassifier(0.9, kernel="uniform").fit(X, y).predict(far)[0] == nearest
    gaussian = NadarayaWatsonClassifier(0.1).fit(X, y).predict_proba(far)  # e^{−4000} and less
    assert_allclose(gaussian.max(), 1.0, atol=1e-6)
    assert gaussian.argmax() == nearest


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "biweight", "exponential"])
def test_the_bandwidth_is_that_of_the_least_loss_with_each_row_left_out(rng, kernel):
    X = np.sort(rng.uniform(0, 6, size=90))[:, None]
    y = np.sin(X[:, 0]) + 0.3 * rng.normal(size=90)
    model = NadarayaWatsonRegressor(kernel=kernel).fit(X, y)
    shape = smoothing_kernel(kernel)
    losses = []
    for h in model.bandwidths_:
        weights = shape(np.abs(X - X[:, 0]) / h)
        np.fill_diagonal(weights, 0.0)
        total = weights.sum(axis=1)
        means = np.where(total > 1e-13 * shape(0.0), weights @ y / np.where(total > 0, total, 1), y.mean())
        losses.append(np.mean((y - means) ** 2))
    assert_allclose(model.leave_one_out_losses_, losses, rtol=1e-6)
    assert model.bandwidth_ == model.bandwidths_[np.argmin(losses)]
    assert 0 < np.argmin(losses) < len(losses) - 1
    assert model.certify(X, y).holds
    # Better than bandwidths far away, on the truth.
    truth = np.sin(X[:, 0])
    error = np.mean((model.predict(X) - truth) ** 2)
    for factor in (0.1, 8.0):
        other = NadarayaWatsonRegressor(model.bandwidth_ * factor, kernel=kernel).fit(X, y)
        assert np.mean((other.predict(X) - truth) ** 2) > error


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov"])
def test_the_losses_of_weights_are_those_of_repetitions_one_of_which_is_left_out(rng, kernel):
    X, weight = np.append(rng.normal(size=60), 9.0)[:, None], np.append(np.tile([1, 3, 2], 20), 1)
    y = np.append(np.sin(2 * X[:-1, 0]) + 0.2 * rng.normal(size=60), 5.0)
    again = np.repeat(np.arange(61), weight)
    for kind, target in ((NadarayaWatsonRegressor, y), (NadarayaWatsonClassifier, (y > 0).astype(int))):
        weighted = kind(kernel=kernel).fit(X, target, sample_weight=weight)
        repeated = kind(kernel=kernel).fit(X[again], target[again])
        assert_allclose(weighted.bandwidths_, repeated.bandwidths_, rtol=1e-9)
        assert_allclose(weighted.leave_one_out_losses_, repeated.leave_one_out_losses_, rtol=1e-6)
        assert weighted.certify(X, target, weight).holds


def test_the_bandwidth_of_a_classifier_makes_the_left_out_log_loss_least(rng):
    X = rng.normal(size=(120, 1))
    y = (rng.uniform(size=120) < norm.cdf(2 * X[:, 0])).astype(int)
    model = NadarayaWatsonClassifier().fit(X, y)
    losses = []
    for h in model.bandwidths_:
        weights = np.exp(-((X - X[:, 0]) ** 2) / (2 * h**2))
        np.fill_diagonal(weights, 0.0)
        share = (weights * (y[:, None] == y)).sum(axis=1) / weights.sum(axis=1)
        losses.append(-np.log(np.clip(share, 1e-12, 1)).mean())
    inner = model.bandwidths_ > 0.05  # below, sums of left-out rows lose their digits
    assert_allclose(model.leave_one_out_losses_[inner], np.array(losses)[inner], rtol=1e-5)
    assert model.bandwidth_ == model.bandwidths_[np.argmin(model.leave_one_out_losses_)]


def test_kernel_means_refuse_rows_outside_memory_and_name_what_walks_them(tmp_path, rows):
    np.save(tmp_path / "rows.npy", rows[0])
    with pytest.raises(ValueError, match="KNeighborsClassifier or KNeighborsRegressor"):
        NadarayaWatsonClassifier().fit(str(tmp_path / "rows.npy"), rows[1])
    with pytest.raises(ValueError, match="'bandwidth' parameter"):
        NadarayaWatsonRegressor(0.0).fit(*rows[:2])
