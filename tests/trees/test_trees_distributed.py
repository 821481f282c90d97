"""Trees on worker processes, one of them killed in the middle of a fit."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time

import numpy as np
import pytest

from assay.trees import (
    AdaBoostClassifier,
    ExtraTreesRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
)
from assay.trees.boosting.distributed import table as on_cluster
from assay.trees.forest import workers
from assay.trees.stagewise import adaboost
from assay.trees.stagewise.votes import coded

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = [
    pytest.mark.distributed,
    # Sockets and loops that distributed itself leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:Sending large graph:UserWarning"),
]


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set(
            {
                "distributed.scheduler.work-stealing": False,  # which would move partitions
                # So long after a worker died it is given up for good if it is just being replaced again.
                "distributed.deploy.lost-worker-timeout": "1 hour",
            }
        ),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address=":0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        logging.getLogger("distributed").setLevel(logging.CRITICAL)
        yield client


@pytest.fixture(scope="module")
def problem():
    random = np.random.default_rng(0)
    X = random.standard_normal((1200, 5))
    X[::9, 1] = np.nan
    y = np.digitize(2 * X[:, 0] + X[:, 2] ** 2 + random.standard_normal(1200), [0.0, 2.0]).astype(float)
    return X, y, random.integers(0, 3, 1200).astype(float)


def chunks(*arrays):
    return [da.from_array(values, chunks=(200, *values.shape[1:])) for values in arrays]


@pytest.fixture
def lost(monkeypatch):
    """Numbers of the partitions that were asked for a state that they did not have."""
    numbers = []
    request = on_cluster.ClusterTable._request

    def counted(self, *given):
        answer = request(self, *given)
        numbers.extend(answer.lost)
        return answer

    monkeypatch.setattr(on_cluster.ClusterTable, "_request", counted)
    return numbers


def test_boosted_trees_of_a_cluster_are_those_of_memory_and_partitions_remember(cluster, problem, lost):
    options = {"max_leaf_nodes": 6, "early_stopping": True, "subsample": 0.8}
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0, **options)
    kept = model.fit(*problem)
    trees, scores = kept.trees_, kept.validation_score_
    model.fit(*chunks(*problem))
    assert model.trees_ == trees
    np.testing.assert_array_equal(model.validation_score_, scores)
    assert lost == []  # codes and scores stayed where they were
    assert model.certificates_.holds


def dies_once(flag):
    """A function that kills the first worker that calls it and writes down which; pickled as it is."""

    def die():
        try:
            file = os.open(flag, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
        except FileExistsError:  # another worker was first, perhaps by a moment
            return
        os.write(file, str(os.getpid()).encode())
        os.kill(os.getpid(), signal.SIGKILL)

    return die


def test_a_worker_that_dies_within_a_tree_changes_no_bit(cluster, problem, lost, tmp_path, monkeypatch):
    X, y, weight = problem
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0, max_leaf_nodes=8)
    trees = model.fit(X, y, weight).trees_
    flag = str(tmp_path / "worker")
    die = dies_once(flag)

    class Deadly(on_cluster.Divide):
        def take(self, part, number):
            if len(self.divisions) > 2:
                die()
            return super().take(part, number)

    monkeypatch.setattr(on_cluster, "Divide", Deadly)
    model.fit(*chunks(X, y, weight))
    with open(flag) as file:
        assert int(file.read()) not in {os.getpid(), *cluster.run(os.getpid).values()}
    assert lost
    assert model.trees_ == trees


def test_a_worker_that_dies_between_rounds_changes_no_bit(cluster, problem, lost, monkeypatch):
    X, _, weight = problem
    y = np.nan_to_num(X[:, 1]) + X[:, 0]
    model = HistGradientBoostingRegressor("absolute_error", max_iter=4, max_leaf_nodes=8)
    trees = model.fit(X, y, weight).trees_
    pids = set(cluster.run(os.getpid).values())
    killed, begin = [], on_cluster.ClusterTable.begin_round

    def begin_round(self, loss, scales):
        if self.n_requests > 10 and not killed:
            killed.append(sorted(pids)[0])
            os.kill(killed[0], signal.SIGKILL)
            while killed[0] in cluster.run(os.getpid, on_error="ignore").values():
                time.sleep(0.05)
        return begin(self, loss, scales)

    monkeypatch.setattr(on_cluster.ClusterTable, "begin_round", begin_round)
    model.fit(*chunks(X, y, weight))
    assert killed
    assert lost
    assert model.trees_ == trees


def test_forests_of_a_cluster_are_those_of_memory_and_their_trees_are_grown_there(
    cluster, problem, monkeypatch
):
    X, y, weight = problem
    forest = RandomForestClassifier(6, oob_score=True, random_state=0)
    with pytest.warns(UserWarning, match="Some rows are in the bag of every tree"):
        trees = forest.fit(X, y, weight).trees_
    votes = forest.oob_decision_function_
    extra = ExtraTreesRegressor(4, random_state=0, max_leaf_nodes=12)
    others = extra.fit(X, X[:, 0], weight).trees_
    monkeypatch.setattr(
        "assay.trees.forest.solver.rows.ordered_map", lambda *given: pytest.fail("grown here")
    )
    with pytest.warns(UserWarning, match="Some rows are in the bag of every tree"):
        forest.fit(*chunks(X, y, weight))
    assert forest.trees_ == trees
    np.testing.assert_array_equal(forest.oob_decision_function_, votes)
    assert extra.fit(*chunks(X, X[:, 0], weight)).trees_ == others


def test_a_worker_that_dies_with_a_forest_changes_no_bit(cluster, problem, tmp_path, monkeypatch):
    X, y, weight = problem
    forest = RandomForestClassifier(6, random_state=0)
    trees = forest.fit(X, y, weight).trees_
    flag = str(tmp_path / "worker")

    die = dies_once(flag)

    def grow(codes, seed):
        die()
        return codes.grow(seed)

    monkeypatch.setattr(workers, "_grow", grow)
    forest.fit(*chunks(X, y, weight))
    assert os.path.exists(flag)
    assert forest.trees_ == trees


@pytest.mark.parametrize("step", ["Weigh", "Move"])
def test_a_worker_that_dies_in_a_round_of_adaboost_changes_no_bit(
    cluster, problem, lost, tmp_path, monkeypatch, step
):
    """Killed while rows are weighed, or while their scores are moved: D_t is made again from the stumps."""
    X, y, weight = problem
    monkeypatch.setattr(adaboost, "EXACT_ROWS", 100)
    model = AdaBoostClassifier(n_estimators=5)
    kept = model.fit(X, y, weight)
    history, concentration = kept.history_, kept.weight_concentration_
    flag, original, rounds = str(tmp_path / "worker"), getattr(coded, step), []

    die = dies_once(flag)

    class Deadly(original):
        def take(self, part, number):
            die()
            return super().take(part, number)

    def made(*given):
        rounds.append(given)
        return (Deadly if len(rounds) == 4 else original)(*given)

    monkeypatch.setattr(coded, step, made)
    model.fit(*chunks(X, y, weight))
    with open(flag) as file:
        assert int(file.read()) not in {os.getpid(), *cluster.run(os.getpid).values()}
    assert lost
    assert model.history_ == history
    assert model.weight_concentration_ == concentration
    assert model.certify(X, y, weight).holds


def test_a_fit_goes_on_when_all_workers_were_lost_at_once(problem, monkeypatch):
    """Dask lets tasks that asked for a lost worker wait for ever if there was no other at that moment."""
    monkeypatch.setattr("assay.rows._dask.PATIENCE", 0.1)
    X, y, weight = problem
    model = HistGradientBoostingClassifier(max_iter=2, random_state=0, max_leaf_nodes=6)
    trees = model.fit(X, y, weight).trees_
    turns, homes = [], on_cluster.ClusterTable._homes
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):

        def homes_then_lost(self):
            known = dict(homes(self))
            turns.append(known)
            if len(turns) == 4:
                assert known
                cluster.scale(0)
                while client.nthreads():
                    time.sleep(0.01)
                threading.Timer(0.3, cluster.scale, [1]).start()
            return known

        monkeypatch.setattr(on_cluster.ClusterTable, "_homes", homes_then_lost)
        model.fit(*chunks(X, y, weight))
    assert len(turns) > 4
    assert model.trees_ == trees
