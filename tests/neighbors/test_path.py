"""One search serves every number of neighbours: errors along all of them, the choice, and the proofs."""

from __future__ import annotations

import copy

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.stats import binomtest

from assay.datasets import GaussianClasses, iris
from assay.models import Criterion
from assay.neighbors import KNeighborsClassifier, KNeighborsRegressor
from assay.neighbors.certificates import error_interval, least_bayes_risk


@pytest.fixture(scope="module")
def overlapping():
    law = GaussianClasses([[0.0, 0.0], [1.5, 0.0], [0.0, 1.5]])
    return (*law.sample(180, random_state=1), *law.sample(120, random_state=2))


@pytest.mark.spec("peyre/M2")
@pytest.mark.parametrize("weights", ["uniform", "distance"])
@pytest.mark.parametrize("ties", ["first", "positive", "nearest"])
def test_one_sort_gives_what_each_number_of_neighbours_gives_by_itself(overlapping, ties, weights):
    X, y, new, truth = overlapping
    whole = KNeighborsClassifier(1, ties=ties, weights=weights).fit(X, y)
    left_out, held_out = whole.score_path(max_neighbors=40), whole.score_path(new, truth, max_neighbors=40)
    shares = whole.vote_path(new, max_neighbors=40)
    for k in (1, 2, 7, 12, 40):
        model = KNeighborsClassifier(k, ties=ties, weights=weights).fit(X, y)
        assert_allclose(left_out.error[k - 1], np.mean(model.predict(None) != y), rtol=1e-12)
        assert_allclose(held_out.error[k - 1], np.mean(model.predict(new) != truth), rtol=1e-12)
        assert_allclose(shares[:, k - 1], model.predict_proba(new), atol=1e-14)
    assert left_out.certificates.holds
    assert held_out.held_out


@pytest.mark.spec("peyre/M2")
def test_the_histogram_counts_rows_of_the_class_among_the_nearest(overlapping):
    X, y, new, _ = overlapping
    order = np.argsort(cdist(new, X), axis=1, kind="stable")
    model = KNeighborsClassifier(180).fit(X, y)
    distances, indices = model.kneighbors(new)
    assert_array_equal(indices, order)  # the whole permutation σ
    assert (np.diff(distances, axis=1) >= 0).all()
    shares = model.vote_path(new)
    for r in (1, 10, 180):
        counts = np.stack([(y[order[:, :r]] == label).sum(axis=1) for label in range(3)], axis=1)
        assert_allclose(shares[:, r - 1], counts / r, atol=1e-14)
    # As printed, without the condition on the class, h would be 1 for every class; shares sum to 1.
    assert_allclose(shares.sum(axis=2), 1.0)
    assert_allclose(shares[:, -1], np.tile(np.bincount(y) / 180, (120, 1)))


@pytest.mark.spec("peyre/M2")
def test_more_neighbours_give_smoother_borders_and_bear_more_noise():
    X, y = GaussianClasses([[-1.5, 0.0], [1.5, 0.0]]).sample(400, random_state=0)
    rng = np.random.default_rng(0)
    noisy = np.where(rng.uniform(size=400) < 0.15, -y, y)
    grid = np.stack(np.meshgrid(np.linspace(-4, 4, 80), np.linspace(-3, 3, 80)), axis=-1).reshape(-1, 2)

    def changes(labels, k):
        marks = KNeighborsClassifier(k).fit(X, labels).predict(grid).reshape(80, 80)
        return np.count_nonzero(np.diff(marks, axis=0)) + np.count_nonzero(np.diff(marks, axis=1))

    assert changes(noisy, 1) > 1.5 * changes(noisy, 9) > 1.5 * changes(noisy, 51)
    fits = {k: KNeighborsClassifier(k).fit(X, noisy).predict(grid) for k in (1, 51)}
    clean = {k: KNeighborsClassifier(k).fit(X, y).predict(grid) for k in (1, 51)}
    assert np.mean(fits[51] != clean[51]) < 0.5 * np.mean(fits[1] != clean[1])


@pytest.mark.spec("peyre/X3")
def test_the_score_over_all_numbers_of_neighbours_and_the_best_by_validation(overlapping):
    X, y, new, truth = overlapping
    path = KNeighborsClassifier().fit(X, y).score_path(new, truth, max_neighbors=60)
    right = [int((KNeighborsClassifier(k).fit(X, y).predict(new) == truth).sum()) for k in range(1, 61)]
    assert_array_equal(np.rint((1 - path.error) * 120), right)
    assert path.best == 1 + int(np.argmax(right))
    chosen = KNeighborsClassifier().select(X, y, cv=5, max_neighbors=60, random_state=0)
    assert chosen.model.n_neighbors == chosen.best == chosen.values[np.argmin(chosen.curve)]
    assert abs(path.error[chosen.best - 1] - path.error.min()) < 2 * path.standard_error.max()
    assert path.error[0] > path.error[chosen.best - 1]


def test_select_gives_the_curve_of_separate_fits_in_each_fold(overlapping):
    X, y, _, _ = overlapping
    chosen = KNeighborsClassifier().select(X, y, cv=4, max_neighbors=15)
    parts = np.array_split(np.arange(180), 4)
    for fold, test in enumerate(parts):
        train = np.setdiff1d(np.arange(180), test)
        for k in (1, 6, 15):
            error = np.mean(KNeighborsClassifier(k).fit(X[train], y[train]).predict(X[test]) != y[test])
            assert_allclose(chosen.fold_scores[fold, k - 1], error, atol=1e-14)
    left_out = KNeighborsClassifier().select(X, y, rule="one_se")
    path = KNeighborsClassifier().fit(X, y).score_path()
    assert_allclose(left_out.curve, path.error)
    assert left_out.best >= path.best
    excess = path.error[left_out.best - 1] - path.error.min()
    assert excess <= path.paired_error[left_out.best - 1] + 1e-15


def test_select_follows_a_criterion_of_the_user(overlapping):
    X, y, _, _ = overlapping

    def brier(truth, predictions, chances, rows):
        assert_array_equal(np.sort(np.unique(predictions)), np.intersect1d(predictions, y))
        assert_array_equal(truth, y[rows])
        return float(((chances - np.eye(3)[truth]) ** 2).sum(axis=1).mean())

    chosen = KNeighborsClassifier().select(
        X, y, cv=5, criterion=Criterion("Brier score", brier), max_neighbors=20
    )
    assert chosen.criterion == "Brier score"
    assert chosen.best > 3


def test_the_path_of_a_regressor_is_that_of_separate_means(rng):
    X, y = rng.normal(size=(120, 2)), rng.normal(size=(120, 2))
    for target in (y[:, 0], y):
        path = KNeighborsRegressor(weights="distance").fit(X, target).score_path(max_neighbors=20)
        for k in (1, 5, 20):
            said = KNeighborsRegressor(k, weights="distance").fit(X, target).predict(None)
            gaps = ((said - target) ** 2).reshape(120, -1).sum(axis=1)
            assert_allclose(path.error[k - 1], gaps.mean(), rtol=1e-12)
            assert_allclose(path.standard_error[k - 1], gaps.std(ddof=1) / np.sqrt(120), rtol=1e-10)
        assert path.certificates.holds


def test_errors_of_targets_far_from_zero_keep_their_digits(rng):
    X, y = rng.normal(size=(120, 2)), rng.normal(size=120)
    for weights in ("uniform", "distance"):
        near, far = (KNeighborsRegressor(4, weights=weights).fit(X, y + offset) for offset in (0.0, 1e8))
        assert_allclose(far.score_path().error, near.score_path().error, rtol=1e-6)
        assert far.certify(X, y + 1e8).holds


def test_intervals_are_those_of_clopper_and_pearson():
    for wrong, n_rows in ((0, 30), (7, 30), (30, 30)):
        exact = binomtest(wrong, n_rows).proportion_ci(0.999, method="exact")
        assert_allclose(error_interval(wrong, n_rows), (exact.low, exact.high), atol=1e-12)
    for risk, n_classes in ((0.1, 2), (0.2, 4)):  # R₁ of the worst law with the Bayes risk R*
        first = risk * (2 - n_classes / (n_classes - 1) * risk)
        assert_allclose(least_bayes_risk(first, n_classes), risk)


@pytest.mark.spec("rudi/T6.4")
def test_an_error_measured_on_the_rows_of_the_fit_is_called_a_leak():
    law = GaussianClasses([[0.0, 0.0], [1.0, 0.0]])
    X, y = law.sample(800, random_state=0)
    new, truth = law.sample(800, random_state=1)
    for k in (1, 15):
        model = KNeighborsClassifier(k).fit(X, y)
        assert model.certify(X, y).holds
        assert model.certify_error(new, truth).holds
    leak = KNeighborsClassifier(1).fit(X, y).certify_error(X, y)
    assert not leak.holds
    assert not KNeighborsClassifier(25, weights="distance").fit(X, y).certify_error(X, y).holds
    # Both errors stand with their limits: the held-out one with the upper, that of one neighbour with the
    # lower one, so that chance raises no alarm.
    honest = model.certify_error(new, truth)[0]
    wrong, first = (model.predict(new) != truth).sum(), (KNeighborsClassifier(1).fit(X, y).predict(None) != y)
    upper = binomtest(int(wrong), 800).proportion_ci(0.999, method="exact").high
    lower = binomtest(int(first.sum()), 800).proportion_ci(0.999, method="exact").low
    assert_allclose([honest.value, honest.bound], [upper, (1 - np.sqrt(1 - 2 * lower)) / 2], rtol=1e-9)
    bound = leak[0].bound
    assert 0.15 < bound < law.bayes_risk().value  # a lower bound of the Bayes risk, 0.309


def test_rows_that_are_entered_twice_are_told_of_where_one_neighbour_is_asked():
    X, y = GaussianClasses([[0.0, 0.0], [1.0, 0.0]]).sample(200, random_state=0)
    twice, both = np.vstack([X, X[:50]]), np.append(y, y[:50])
    for model, data, share in (
        (KNeighborsClassifier(3).fit(X, y), (X, y), None),
        (KNeighborsClassifier(3).fit(twice, both), (twice, both), "0.4"),
        (KNeighborsClassifier(3).fit(X, y, np.tile([1, 2], 100)), (X, y, np.tile([1, 2], 100)), "0.5"),
    ):
        proof = model.certify(*data).named("upper limit of the error")
        told = [words for words in proof.assumptions if "copy at distance 0" in words]
        assert told == (
            []
            if share is None
            else [f"{share} of the rows have a copy at distance 0, which is their neighbour"]
        )
    # The copies know the answer, and the error of one neighbour is too small.
    errors = [KNeighborsClassifier().fit(*rows).score_path().error[0] for rows in ((X, y), (twice, both))]
    assert errors[1] < errors[0]


def test_paired_errors_are_those_of_the_differences_row_by_row(overlapping):
    X, y, new, truth = overlapping
    path = KNeighborsClassifier().fit(X, y).score_path(new, truth, max_neighbors=12)
    losses = np.stack([KNeighborsClassifier(k).fit(X, y).predict(new) != truth for k in range(1, 13)], axis=1)
    gaps = losses.astype(float) - losses[:, [path.best - 1]]
    assert_allclose(path.paired_error, gaps.std(axis=0) / np.sqrt(len(new) - 1), atol=1e-12)
    assert path.paired_error.max() > 0


@pytest.mark.parametrize("damage", ["index", "row", "label", "weight"])
def test_an_edited_index_row_label_or_weight_is_seen(damage):
    X, y = iris(return_X_y=True)
    weight = np.tile([1.0, 2.0], 75)
    model = KNeighborsClassifier(5).fit(X, y, weight)
    assert model.certify(X, y, weight).holds
    hurt = copy.deepcopy(model)
    if damage == "index":
        order = hurt._searching()._engine.tree.order
        order[3], order[90] = order[90], order[3]
    elif damage == "row":
        hurt._fit_X = hurt._fit_X * 1.01
    elif damage == "label":
        hurt._y = np.roll(hurt._y, 1)
    else:
        hurt._weight = hurt._weight * 1.01
    assert not hurt.certify(X, y, weight).holds


def test_the_path_certificate_sees_a_wrong_loss(overlapping):
    X, y, _, _ = overlapping
    model = KNeighborsClassifier().fit(X, y)
    near = model._sorted(None, None, 9)
    losses = model._path_losses(near)
    assert model._path_certificate(near, losses).holds
    losses[0, 8] = 1 - losses[0, 8]
    assert not model._path_certificate(near, losses).holds
