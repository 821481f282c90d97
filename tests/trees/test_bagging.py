"""Bagging of any estimator."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from assay.linear import Ridge
from assay.theory import vote_accuracy, vote_disagreement
from assay.trees import BaggingClassifier, BaggingRegressor


@pytest.fixture(scope="module")
def iris():
    return load_iris(return_X_y=True)


@pytest.mark.spec("sangnier/M-1.6.3-a", "wei/M8.3")
@pytest.mark.parametrize(
    "estimator", [None, KNeighborsClassifier(3), LogisticRegression(max_iter=500)], ids=repr
)
def test_members_are_fitted_on_bags_and_vote(estimator, iris):
    X, y = iris
    model = BaggingClassifier(estimator, 15, voting="hard", oob_score=True, random_state=0).fit(X, y)
    votes = np.array([member.predict(X) for member in model.estimators_]).astype(int)
    shares = np.stack([(votes == k).mean(axis=0) for k in range(3)], axis=1)
    assert_allclose(model.predict_proba(X), shares)
    assert np.array_equal(model.predict(X), shares.argmax(axis=1))
    bag = model._bag(model._open_new_classes(X, y), y.astype(np.int64))
    # Out of bag: only members that have not seen a row, majority over those.
    counts = np.array([bag.counts(int(seed)) for seed in model.seeds_])
    for member, times in list(zip(model.estimators_, counts, strict=True))[:4]:
        places = np.repeat(np.arange(len(X)), times)  # drawn with replacement: some rows twice, others not
        again = clone(member).fit(X[places], y[places])
        assert np.array_equal(again.predict(X), member.predict(X))
    outside = counts == 0
    assert 0.3 < outside.mean() < 0.45
    heard = np.stack([((votes == k) & outside).sum(axis=0) for k in range(3)], axis=1)
    there = outside.any(axis=0)
    assert_allclose(model.oob_decision_function_[there], heard[there] / outside.sum(axis=0)[there, None])
    assert model.oob_score_ == pytest.approx(np.mean(heard[there].argmax(axis=1) == y[there]))
    assert model.certify(X, y).holds


def test_two_classes_follow_the_sign_of_the_mean():
    random = np.random.default_rng(0)
    X = random.normal(size=(150, 2))
    y = np.where(X[:, 0] + 0.5 * random.normal(size=150) > 0, 1, -1)
    model = BaggingClassifier(n_estimators=11, voting="hard", random_state=0).fit(X, y)
    signs = np.array([2 * member.predict(X) - 1 for member in model.estimators_])
    assert np.array_equal(model.predict(X), np.sign(signs.mean(axis=0)).astype(int))


def test_numbers_are_averaged_and_bagging_lowers_the_variance_not_the_bias():
    X, y = load_diabetes(return_X_y=True)
    model = BaggingRegressor(Ridge(), 12, random_state=0).fit(X, y)
    assert_allclose(model.predict(X), np.mean([m.predict(X) for m in model.estimators_], axis=0))
    random = np.random.default_rng(0)
    points, single, bagged = np.linspace(-1.8, 1.8, 19).reshape(-1, 1), [], []
    for _ in range(30):
        x = random.uniform(-2, 2, (60, 1))
        t = np.sin(2 * x[:, 0]) + 0.5 * random.normal(size=60)
        model = BaggingRegressor(n_estimators=15, random_state=1).fit(x, t)
        single.append(model.estimators_[0].predict(points))
        bagged.append(model.predict(points))
    assert np.var(bagged, axis=0).mean() < 0.8 * np.var(single, axis=0).mean()
    gap = np.subtract(bagged, single)  # of the same training sets
    score = gap.mean(axis=0) / (gap.std(axis=0, ddof=1) / np.sqrt(30))
    assert np.mean(score**2) < 2.5  # 1 on average where both have the same mean


def test_columns_and_rows_are_drawn_as_asked(iris):
    X, y = iris
    model = BaggingClassifier(n_estimators=8, max_features=2, max_samples=30, random_state=0).fit(X, y)
    assert {len(features) for features in model.estimators_features_} == {2}
    bag = model._bag(model._open_new_classes(X, y), y.astype(np.int64))
    assert all(bag.counts(int(seed)).sum() == 30 for seed in model.seeds_)
    pasted = BaggingClassifier(n_estimators=8, bootstrap=False, max_samples=0.4, random_state=0).fit(X, y)
    bag = pasted._bag(pasted._open_new_classes(X, y), y.astype(np.int64))
    counts = np.array([bag.counts(int(seed)) for seed in pasted.seeds_])
    assert counts.max() == 1
    assert set(counts.sum(axis=1)) == {60}
    assert len({row.tobytes() for row in counts}) == 8
    assert pasted.certify(X, y).holds


def test_damage_to_a_member_is_seen(iris):
    X, y = iris
    model = BaggingClassifier(KNeighborsClassifier(3), 4, random_state=0).fit(X, y)
    model.estimators_[2] = KNeighborsClassifier(3).fit(X[::2], y[::2])
    assert "largest relative difference of predictions" in [c.quantity for c in model.certify(X, y).failed]


def test_whole_weights_are_repetitions_for_estimators_without_weights(iris):
    X, y = iris
    weight = np.tile([1, 2, 0], 50)
    keep = np.repeat(np.arange(150), weight)
    one = BaggingRegressor(KNeighborsRegressor(), 5, random_state=0).fit(X, y.astype(float), weight)
    other = BaggingRegressor(KNeighborsRegressor(), 5, random_state=0).fit(X[keep], y[keep].astype(float))
    assert_allclose(one.predict(X), other.predict(X))
    with pytest.raises(ValueError, match="whole numbers"):
        BaggingRegressor(KNeighborsRegressor(), 2, bootstrap=False).fit(X, y, 0.5 * np.ones(150) + 0.25)


@pytest.mark.spec("sangnier/T-1.6.3-a")
def test_votes_of_independent_members_get_better_and_real_ones_less_so():
    assert vote_accuracy(0.6, 11) == pytest.approx(0.7535, abs=5e-5)
    assert vote_accuracy(0.6, 101) == pytest.approx(0.979, abs=5e-4)
    T, p = 7, 0.3
    from math import comb

    assert vote_accuracy(p, T) == pytest.approx(
        sum(comb(T, k) * p**k * (1 - p) ** (T - k) for k in (4, 5, 6, 7))
    )
    assert vote_accuracy(0.5, 10) == pytest.approx(0.5)
    assert np.all(np.diff(vote_accuracy(0.6, np.arange(1, 200, 2))) > 0)
    assert np.all(np.diff(vote_accuracy(0.4, np.arange(1, 200, 2))) < 0)
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 20_000)
    said = np.where(random.random((11, y.size)) < 0.6, y, 1 - y)
    free = vote_disagreement(said, y)
    assert free.vote == pytest.approx(free.ideal, abs=4 * 0.5 / np.sqrt(y.size))
    assert abs(free.correlation) < 0.01
    assert free.disagreement == pytest.approx(2 * 0.6 * 0.4, abs=0.01)
    # Members of a bag make the same mistakes: their vote is behind the ideal.
    X = random.normal(size=(600, 4))
    t = (X[:, 0] + 1.5 * random.normal(size=600) > 0).astype(int)
    model = BaggingClassifier(n_estimators=11, random_state=0).fit(X[:300], t[:300])
    real = vote_disagreement([m.predict(X[300:]) for m in model.estimators_], t[300:])
    assert real.correlation > 0.05
    assert real.vote < real.ideal


def test_bad_arguments_of_the_theory_are_refused():
    with pytest.raises(ValueError, match="'p' parameter of vote_accuracy"):
        vote_accuracy(1.2, 3)
    with pytest.raises(ValueError, match="'n_members' parameter of vote_accuracy"):
        vote_accuracy(0.5, 0)
