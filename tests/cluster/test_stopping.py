"""Fits that would never end can be stopped, between restarts and between iterations."""

from __future__ import annotations

import signal

import numpy as np
import pytest
from sklearn.callback import FitCallback

from assay.cluster import (
    BisectingKMeans,
    CentroidClustering,
    FuzzyCMeans,
    KernelKMeans,
    KGeometricMedian,
    KMeans,
    KMedoids,
    MiniBatchKMeans,
    OverlappingClustering,
    SphericalKMeans,
)

FOREVER = 10**9


class StopAfterRestarts(FitCallback):
    """Ask to stop after so many restarts."""

    def __init__(self, n_restarts):
        self.n_restarts, self.n_seen = n_restarts, 0

    def setup(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context, **options):
        pass

    def on_fit_task_end(self, estimator, context, **options):
        if context.task_name != "restart":
            return False
        self.n_seen += 1
        return self.n_seen >= self.n_restarts

    def teardown(self, estimator, context):
        pass


def restarting(kind):
    if kind is KMedoids:
        return kind(3, init="random", n_init=FOREVER, random_state=0)
    return kind(3, n_init=FOREVER, random_state=0)


KINDS = [KMeans, KMedoids, FuzzyCMeans, SphericalKMeans, CentroidClustering, KernelKMeans, KGeometricMedian]


@pytest.mark.parametrize("kind", KINDS)
def test_a_callback_ends_a_billion_restarts(kind):
    X = np.random.default_rng(0).normal(size=(60, 3))
    model, callback = restarting(kind), StopAfterRestarts(4)
    model.set_callbacks(callback)
    model.fit(X)
    assert callback.n_seen == 4
    assert model.restart_inertias_.shape == (4,)
    assert np.isfinite(model.inertia_)


def test_a_callback_ends_the_restarts_of_a_split():
    X = np.random.default_rng(0).normal(size=(60, 3))
    callback = StopAfterRestarts(1)
    model = BisectingKMeans(2, n_init=FOREVER, random_state=0)
    model.set_callbacks(callback)
    model.fit(X)
    assert callback.n_seen == 1


@pytest.mark.parametrize("algorithm", ["lloyd", "hartigan-wong"])
@pytest.mark.parametrize("n_rows", [60, 30_000])
def test_ctrl_c_ends_a_billion_restarts(n_rows, algorithm):
    X = np.random.default_rng(0).normal(size=(n_rows, 3))
    KMeans(3, n_init=2, random_state=0, algorithm=algorithm).fit(X)  # compiled before the clock runs

    def interrupt(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(KeyboardInterrupt):
            KMeans(3, n_init=FOREVER, random_state=0, algorithm=algorithm).fit(X)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_restarts_are_the_same_whether_their_number_is_known_or_not():
    X = np.random.default_rng(0).normal(size=(60, 3))
    endless = KMeans(3, init="random", n_init=FOREVER, random_state=0)
    endless.set_callbacks(StopAfterRestarts(5))
    endless.fit(X)
    few = KMeans(3, init="random", n_init=5, random_state=0).fit(X)
    np.testing.assert_allclose(endless.restart_inertias_, few.restart_inertias_, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:MiniBatchKMeans did not converge")
def test_batches_of_more_rows_than_memory_holds_are_shorter():
    X = np.concatenate([np.random.default_rng(0).normal(c, 1.0, (100, 3)) for c in (0.0, 9.0)])
    model = MiniBatchKMeans(2, batch_size=10**12, max_iter=2, random_state=0).fit(X)
    assert model.certify(X).holds


def test_overlapping_clustering_takes_far_more_columns_than_rows():
    random = np.random.default_rng(0)
    factors = random.normal(size=(12, 3))
    X = np.repeat(factors, 400, axis=1) + 0.1 * random.normal(size=(12, 1200))
    model = OverlappingClustering(n_splits=1, random_state=0).fit(X)
    assert model.certify(X).holds
    with pytest.raises(ValueError, match=r"at most 8192 of them\. Got 8193; choose some columns first"):
        OverlappingClustering().fit(np.zeros((3, 8193)))


@pytest.mark.parametrize("name", ["mean_", "covariance_", "factor_covariance_", "noise_variance_"])
def test_what_overlapping_clustering_transforms_by_is_certified(name):
    random = np.random.default_rng(0)
    loadings = np.array([[1, 0], [1, 0], [-1, 0], [0, 1], [0, 1], [0.5, 0.5]])
    for offset, scale in ((0.0, 1.0), (5.0, 1e8), (0.0, 1e-8)):
        X = 3 * random.normal(size=(500, 2)) @ loadings.T + 0.3 * random.normal(size=(500, 6)) + offset
        X = (X - (offset == 0.0) * X.mean(axis=0)) * scale
        model = OverlappingClustering(random_state=0).fit(X)
        assert model.certify(X).holds
        setattr(model, name, getattr(model, name) * 1.01 + (0.01 * 3 * scale if name == "mean_" else 0.0))
        assert not model.certify(X).holds
