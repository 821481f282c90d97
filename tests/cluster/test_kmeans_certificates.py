"""Certificates of k-means hold on good fits and fail on damaged ones."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from assay.cluster import KMeans
from assay.theory import optimal_partition

QUANTITIES = [
    "largest rise of the inertia",
    "assignment excess",
    "movement of the centres",
    "Huygens residual",
]


@pytest.fixture
def fitted(blobs):
    return KMeans(12, init=blobs[:12], tol=0).fit(blobs)


@pytest.mark.spec("rudi/T7.1", "rudi/T7.2", "sangnier/KM-T2", "sangnier/KM-T3", "peyre/T2", "douc/T8.6")
def test_a_good_fit_carries_its_proof(blobs, fitted):
    assert [item.quantity for item in fitted.certificates_] == QUANTITIES
    fitted.certificates_.require()
    fitted.certify(blobs).require()
    assert fitted.optimality_ < 1e-25


@pytest.mark.spec("rudi/T7.1", "sangnier/KM-T2", "wei/T10.1")
def test_inertia_never_rises_on_any_data(noise, rng):
    for weight in (None, rng.uniform(size=len(noise))):
        model = KMeans(20, init="random", n_init=2, random_state=0).fit(noise, sample_weight=weight)
        assert np.all(np.diff(model.inertia_trace_) <= 1e-11 * model.anova_.total)
        assert model.certificates_.named("largest rise of the inertia").holds


@pytest.mark.spec("rudi/T7.2", "sangnier/KM-T1")
def test_no_other_partition_is_better_for_these_centres(blobs, fitted, rng):
    squares = ((blobs[:, np.newaxis] - fitted.cluster_centers_) ** 2).sum(axis=2)
    every = np.arange(len(blobs))
    assert_array_equal(fitted.labels_, squares.argmin(axis=1))
    assert_allclose(squares[every, fitted.labels_].sum(), fitted.inertia_)
    for share in (1.0, 0.1, 1 / len(blobs)):  # all labels drawn anew, a tenth of them, a single one
        for _ in range(20):
            drawn = rng.integers(1, 12, len(blobs)) * (rng.uniform(size=len(blobs)) <= share)
            drawn[rng.integers(len(blobs))] = 1
            labels = (fitted.labels_ + drawn) % 12
            assert squares[every, labels].sum() > fitted.inertia_


@pytest.mark.spec("rudi/T7.2", "sangnier/KM-T4")
def test_gradient_vanishes_at_the_fixed_point(blobs, fitted):
    for k in range(12):
        gradient = -2 * (blobs[fitted.labels_ == k] - fitted.cluster_centers_[k]).sum(axis=0)
        assert_allclose(gradient, 0.0, atol=1e-9)


def test_perturbed_centres_are_found_out(blobs, fitted):
    fitted.cluster_centers_ = fitted.cluster_centers_ + 1e-3
    failed = {item.quantity for item in fitted.certify(blobs).failed}
    assert {"movement of the centres", "Huygens residual"} <= failed


def test_one_swapped_label_is_found_out(blobs, fitted):
    fitted.labels_[7] = (fitted.labels_[7] + 1) % 12
    failed = {item.quantity for item in fitted.certify(blobs).failed}
    assert {"assignment excess", "movement of the centres"} <= failed


def test_a_claimed_inertia_is_found_out(blobs, fitted):
    fitted.inertia_ *= 1 - 1e-6
    assert [item.quantity for item in fitted.certify(blobs).failed] == ["Huygens residual"]


def test_a_rise_in_the_trace_is_found_out(blobs, fitted):
    fitted.inertia_trace_[3] *= 0.5
    assert [item.quantity for item in fitted.certify(blobs).failed] == ["largest rise of the inertia"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_a_stopped_solver_is_found_out(noise, max_iter):
    model = KMeans(20, init=noise[:20], tol=1e-6, max_iter=max_iter).fit(noise)
    assert [item.quantity for item in model.certificates_.failed] == ["movement of the centres"]
    assert model.optimality_ > model.tol


@pytest.mark.parametrize("tol", [1e-5, 1e-4, 1e-3, 1e-2, 0.1])
def test_a_fit_stopped_by_tol_is_within_tol(noise, tol):
    model = KMeans(20, init=noise[:20], tol=tol).fit(noise)
    assert model.converged_
    assert model.optimality_ <= tol
    model.certificates_.require()


def test_eigenvalues_bound_every_partition_from_below(rng):
    X = np.vstack([rng.normal(size=(5, 2)), rng.normal(size=(5, 2)) + [8.0, 0.0]])
    model = KMeans(2, n_init=5, random_state=0).fit(X)
    bound = model.certify(X).named("inertia")
    best = optimal_partition(X, 2).inertia
    assert 0 < bound.bound <= best <= model.inertia_ * (1 + 1e-12)
    assert bound.holds
    assert not bound.vacuous
    assert KMeans(4, random_state=0).fit(X).certify(X).named("inertia").vacuous


def test_weighted_eigenvalue_bound_is_that_of_repeated_rows(rng):
    X, weight = rng.normal(size=(40, 3)), rng.integers(0, 4, size=40)
    weighted = KMeans(2, random_state=0).fit(X, sample_weight=weight)
    repeated = np.repeat(X, weight, axis=0)
    again = KMeans(2, random_state=0).fit(repeated)
    assert_allclose(
        weighted.certify(X, sample_weight=weight).named("inertia").bound,
        again.certify(repeated).named("inertia").bound,
    )


def test_certify_wants_the_rows_of_the_fit(blobs, fitted):
    with pytest.raises(ValueError, match="X has 10 rows but the model was fitted on 2000"):
        fitted.certify(blobs[:10])
