"""The perceptron: Novikoff's bound where a plane separates, an honest word where none does."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from assay.linear import LinearSVC, Perceptron

NORMAL = np.array([0.6, -0.8])


def separable(rng, gap, n=80):
    X = rng.standard_normal((n, 2))
    side = np.where(X @ NORMAL > 0, 1.0, -1.0)
    return X + gap * side[:, None] * NORMAL, side > 0


@pytest.mark.parametrize("gap", [0.5, 0.1])
@pytest.mark.parametrize("batch_size", [None, 1, 16])
def test_updates_stay_below_the_squared_ratio_of_radius_to_margin(rng, gap, batch_size):
    X, y = separable(rng, gap)
    model = Perceptron(batch_size=batch_size, max_iter=5000).fit(X, y)
    assert model.converged_
    assert model.score(X, y) == 1
    radius = np.max(np.sum(X**2, axis=1)) + 1
    truth = np.min(np.where(y, 1, -1) * (X @ NORMAL))  # the margin of a plane known to separate
    best = LinearSVC(1e8, loss="hinge").fit(X, y)
    size = np.linalg.norm(np.append(best.coef_[0], best.intercept_))
    widest = np.min(np.where(y, 1, -1) * best.decision_function(X)) / size
    for margin in (truth, widest):
        assert model.n_updates_[0] <= radius / margin**2
    own = np.min(np.where(y, 1, -1) * model.decision_function(X))
    own /= np.linalg.norm(np.append(model.coef_[0], model.intercept_))
    assert model.mistake_bound_[0] == pytest.approx(radius / own**2)
    assert model.certify(X, y).holds


def test_one_row_at_a_time_is_rosenblatts_rule(rng):
    X, y = separable(rng, 0.3, n=30)
    model = Perceptron(batch_size=1, fit_intercept=False).fit(X, y)
    w, n_updates = np.zeros(2), 0
    label = np.where(y, 1, -1)
    while np.any(label * (X @ w) <= 0):
        for x, t in zip(X, label, strict=True):
            if t * (x @ w) <= 0:
                w, n_updates = w + t * x, n_updates + 1
    assert_allclose(model.coef_[0], w)
    assert model.n_updates_[0] == n_updates
    assert model.intercept_[0] == 0


def test_overlapping_classes_are_said_to_be_so_and_the_fewest_mistakes_kept(rng):
    X = rng.standard_normal((100, 2))
    y = X @ NORMAL + rng.standard_normal(100) > 0
    with pytest.warns(ConvergenceWarning, match="may not be separable"):
        model = Perceptron(max_iter=50, history=True).fit(X, y)
    assert not model.converged_
    assert not model.certificates_.holds
    assert model.certificates_.named("number of updates").vacuous
    margin = np.where(y, 1, -1) * model.decision_function(X)
    assert np.sum(margin <= 0) == min(model.history_[0])


def test_the_average_is_that_of_the_points_visited(rng):
    X, y = separable(rng, 0.5)
    last = Perceptron(batch_size=1, fit_intercept=False).fit(X, y)
    averaged = Perceptron(batch_size=1, fit_intercept=False, average=True).fit(X, y)
    w, points = np.zeros(2), []
    for _ in range(last.n_iter_):
        for x, t in zip(X, np.where(y, 1, -1), strict=True):
            w = w + t * x if t * (x @ w) <= 0 else w
            points.append(w)
    assert_allclose(averaged.coef_[0], np.mean(points, axis=0))
    assert_allclose(last.coef_[0], w)


def test_the_order_of_the_rows_does_not_matter_for_one_batch(rng):
    X, y = separable(rng, 0.3)
    order = rng.permutation(len(X))
    assert_allclose(Perceptron().fit(X[order], y[order]).coef_, Perceptron().fit(X, y).coef_, atol=1e-9)


def test_sparse_rows_seeds_and_classes(rng):
    X, y = separable(rng, 0.3)
    for batch_size in (None, 4):
        dense, csr = (
            Perceptron(batch_size=batch_size, shuffle=True, random_state=0).fit(table, y)
            for table in (X, sparse.csr_array(X))
        )
        assert_allclose(csr.coef_, dense.coef_, atol=1e-9)
    corners = np.vstack([0.3 * rng.standard_normal((20, 2)) + c for c in ([5, 0], [-5, 0], [0, 6])])
    model = Perceptron().fit(corners, np.repeat(list("abc"), 20))
    assert model.score(corners, np.repeat(list("abc"), 20)) == 1
    assert model.n_updates_.shape == (3,)


def test_bad_input_is_refused_in_one_sentence(rng):
    X, y = separable(rng, 0.3)
    with pytest.raises(ValueError, match="'batch_size' parameter of Perceptron must be None or an int"):
        Perceptron(batch_size=0).fit(X, y)
    with pytest.raises(ValueError, match="at least two classes"):
        Perceptron().fit(X, np.ones(len(X)))
    with pytest.raises(ValueError, match="NaN"):
        Perceptron().fit(np.where(X > 2, np.nan, X * np.nan), y)


@pytest.mark.parametrize("batch_size", [None, 1])
def test_a_hundred_classes_that_no_plane_separates_end_soon_and_say_why(rng, batch_size):
    X, y = rng.standard_normal((300, 4)), np.arange(300) % 100
    with pytest.warns(ConvergenceWarning, match=r"no plane separates the classes\. More passes do not help"):
        model = Perceptron(batch_size=batch_size, max_iter=10**9).fit(X, y)
    assert model.n_iter_ < 2000
    assert not model.certificates_.holds
    assert model.coef_.shape == (100, 4)


def test_a_theorem_about_updates_is_not_counted_and_its_bound_is_certified(rng):
    X, y = separable(rng, 0.3)
    model = Perceptron().fit(X, y)
    assert model.certificates_.named("number of updates").informative
    assert model.certify(X, y).holds
    model.mistake_bound_ = 1.01 * model.mistake_bound_
    assert not model.certify(X, y).holds


@pytest.mark.parametrize("batch_size", [None, 1])
def test_rows_too_large_for_their_squares_are_refused_in_a_sentence(rng, batch_size):
    X, y = separable(rng, 0.3)
    X[3] *= 1e200
    with pytest.raises(ValueError, match="squares of a row of X are too large"):
        Perceptron(batch_size=batch_size).fit(X, y)
