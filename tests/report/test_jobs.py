"""Fits at the same time: the same results, notes with their method, and an end that can be forced."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import subprocess
import sys
import time
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest

from assay.linear import Lasso
from assay.loops import is_compiling
from assay.report import Data, ReportError, compare
from assay.report.tables.schema import describe_columns
from assay.report.trials import engine, supervised
from assay.report.trials.engine import attempted, carry_out
from assay.report.trials.scoring.resampling import splits
from assay.report.trials.trial import Encodings
from assay.rows import n_threads

SCRIPT = """
import numpy as np
import pandas as pd
from assay.report import Data, compare
print("begun")
frame = pd.DataFrame(np.random.default_rng(0).normal(size=(40, 2)), columns=["a", "b"])
data = Data.from_frame(frame, frame["a"].to_numpy() + frame["b"].to_numpy())
print(compare(data, folds=2, repeats=1, methods=("Ridge",), jobs=2).best.name)
"""


def mixed_table(rng, n=160) -> Data:
    town = rng.choice(["Lyon", "Nice", "Paris"], n)
    size = np.where(rng.uniform(size=n) < 0.1, np.nan, rng.normal(size=n))
    frame = pd.DataFrame({"town": town, "size": size, "age": rng.normal(size=n)})
    y = frame["age"].to_numpy() + (town == "Nice") + 0.5 * rng.normal(size=n)
    return Data.from_frame(frame, y, name="made")


def told(comparison):
    """Everything a reader is told of each candidate but the times."""
    return [
        (
            candidate.name,
            candidate.scores.tolist(),
            candidate.predictions.tolist(),
            None if candidate.probabilities is None else candidate.probabilities.tolist(),
            dict(candidate.measures),
            dict(candidate.parameters),
            candidate.notes,
            [(item.claim, item.value, item.verdict) for item in candidate.certificates],
        )
        for candidate in comparison.candidates
    ]


def test_two_jobs_give_the_results_of_one_bit_for_bit(rng):
    data = mixed_table(rng)
    options = {"folds": 2, "repeats": 2, "methods": ("LinearRegression", "Ridge")}
    events = []
    one = compare(data, jobs=1, **options)
    two = compare(data, jobs=2, progress=events.append, **options)
    assert told(one) == told(two)
    np.testing.assert_array_equal(one.best.model.predict(data.X), two.best.model.predict(data.X))
    done = [event.method for event in events if event.state == "done"]
    assert sorted(done) == sorted(candidate.name for candidate in two.candidates)
    for method in done:
        own = [event.done for event in events if event.method == method]
        assert own == sorted(own)
        assert own[-1] == 5


@pytest.mark.usefixtures("as_if_elsewhere")
def test_classes_of_words_reach_the_other_processes(rng):
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, "large", "small").astype(object)
    data = Data.from_frame(pd.DataFrame(X, columns=["a", "b"]), y)
    options = {"folds": 2, "repeats": 1, "methods": ("LogisticRegression",)}
    one, two = (compare(data, jobs=jobs, **options) for jobs in (1, 2))
    assert told(one) == told(two)


class Carried(NamedTuple):
    """What came of tasks of several kinds that two processes carried out, and what became of these."""

    futures: dict
    most_at_once: int
    workers: set
    compiling: dict  # whether a loop was compiled anywhere when the result of a task came


@pytest.fixture(scope="module")
def carried_out():
    """One task never ends; the work is given up when it alone is left."""
    works = {"endless": partial(time.sleep, 10**6)}
    works |= {number: partial(pow, number, 2) for number in (0, 1, 2, 4, 5)}
    works |= {
        3: None,
        "threads": n_threads,
        "signal": partial(signal.getsignal, signal.SIGINT),
        "error": partial(int, "x"),
        "begins": partial(exec, "from assay.loops import _compilations; _compilations.on_start(None)"),
        "ends": partial(exec, "from assay.loops import _compilations; _compilations.on_end(None)"),
        "begins again": partial(exec, "from assay.loops import _compilations; _compilations.on_start(None)"),
    }
    under_way, most, futures, compiling = set(), 0, {}, {}
    others = set(multiprocessing.active_children())

    def prepare(task):
        if works[task] is not None:
            under_way.add(task)
        return works[task]

    tasks = carry_out(works, prepare, jobs=2)
    for task, future in tasks:
        most = max(most, len(under_way))
        under_way.remove(task)
        futures[task], compiling[task] = future, is_compiling()
        if len(futures) == len(works) - 2:
            break
    workers = set(multiprocessing.active_children()) - others
    tasks.close()
    compiling["at the end"] = is_compiling()
    return Carried(futures, most, workers, compiling)


@pytest.fixture
def as_if_elsewhere(monkeypatch):
    """Work for other processes is pickled and carried out by this one."""
    real = engine.carry_out

    def carry_out_here(tasks, prepare, *, jobs):
        def pickled(task):
            work = prepare(task)
            return work if work is None else pickle.loads(pickle.dumps(work))

        return real(tasks, pickled, jobs=1)

    monkeypatch.setattr(engine, "carry_out", carry_out_here)


def test_workers_share_the_cores(carried_out):
    assert carried_out.futures["threads"].result() == max(1, n_threads() // 2)


def test_signals_are_left_to_the_parent(carried_out):
    assert carried_out.futures["signal"].result() is signal.SIG_IGN


def test_at_most_so_many_tasks_are_under_way_and_all_are_given_back(carried_out):
    futures = carried_out.futures
    assert carried_out.most_at_once == 2
    assert {0, 1, 2, 4, 5, "threads", "signal", "error"} < set(futures)
    assert all(futures[number].result() == number**2 for number in (0, 1, 2, 4, 5))


def test_compilation_in_another_process_is_known_here_until_its_end(carried_out):
    told = carried_out.compiling
    assert [told[task] for task in ("error", "begins", "ends", "begins again")] == [False, True, False, True]
    assert not told["at the end"]  # although that process was killed before it ended


def test_an_error_in_another_process_is_that_of_its_task(carried_out):
    future = carried_out.futures["error"]
    assert isinstance(future, Future)
    with pytest.raises(ValueError, match="invalid literal"):
        future.result()


@pytest.mark.usefixtures("as_if_elsewhere")
def test_a_failed_fit_in_another_process_is_left_out_with_a_sentence(rng, monkeypatch):
    def fail(self, *rest, **options):
        raise np.linalg.LinAlgError("It cannot be.")

    monkeypatch.setattr(Lasso, "select", fail)
    data = mixed_table(rng, 30)
    data.y[:] = -np.abs(data.y) - 0.5
    methods = ("Ridge", "GeneralizedLinear", "Lasso")
    comparison = compare(data, folds=2, repeats=1, jobs=2, methods=methods)
    assert comparison.best.name == "Ridge"
    assert comparison.skipped == (
        "GeneralizedLinear was left out: it is for a target of counts (whole numbers from zero or a few up) "
        "or numbers above zero.",
        "Lasso was left out: its fit failed (It cannot be).",
    )


def test_what_a_table_cannot_give_is_left_out_and_logged_and_other_errors_are_raised(caplog):
    caplog.set_level("INFO", logger="assay")
    with attempted("The learning curve"):
        raise np.linalg.LinAlgError("It cannot be.")
    assert caplog.messages == ["The learning curve was left out."]
    assert "It cannot be." in caplog.text
    with pytest.raises(KeyError), attempted("The learning curve"):
        raise KeyError("a slip of ours")


@pytest.mark.usefixtures("as_if_elsewhere")
def test_a_spent_budget_stops_new_work_for_any_number_of_jobs(rng, monkeypatch):
    clock = iter(range(10_000))
    monkeypatch.setattr(engine, "monotonic", lambda: float(next(clock)))
    options = {"folds": 2, "repeats": 1, "methods": ("HuberRegressor", "LinearRegression")}
    comparison = compare(mixed_table(rng, 40), budget=4.5, jobs=2, **options)
    # The simple ones are tried first.
    assert {candidate.name for candidate in comparison.candidates} == {"Baseline", "LinearRegression"}
    spent = "the 4.5 s of --budget were spent."
    assert comparison.skipped == (
        f"HuberRegressor was left out: {spent}",
        f"There was no time left for a closer look at the columns: {spent}",
    )


@pytest.mark.parametrize("jobs", [0, -2])
def test_jobs_must_be_positive(jobs, rng):
    with pytest.raises(ReportError, match=f"The number of jobs must be at least 1. Got {jobs} instead"):
        compare(mixed_table(rng, 30), jobs=jobs)


def test_small_tables_stay_in_this_process_and_large_ones_use_every_core():
    assert supervised._check_jobs(None, 10_000) == 1
    assert supervised._check_jobs(None, supervised.PARALLEL_NUMBERS) == n_threads()
    assert supervised._check_jobs(3, 10) == 3


def test_encodings_are_learnt_from_the_training_rows_and_made_once(rng):
    frame = pd.DataFrame({"size": rng.normal(size=30), "town": np.repeat(["a", "b", "c"], 10)})
    frame.loc[frame.index >= 20, "size"] = 1e6
    parts = [*splits(30, folds=3, repeats=1, seed=0)]
    rare = parts[0]._replace(train=np.arange(20), test=np.arange(20, 30))
    with Encodings(frame, np.arange(30.0), describe_columns(frame), [rare]) as encodings:
        found = encodings[0]
        assert encodings[0] is found
        assert found.encoder is encodings.encoder(0)
        # Neither the level nor the values of the test rows are known to the encoder.
        assert found.encoder.feature_names_out_ == ["size", "town = b"]
        assert abs(found.encoder.mean_[0]) < 2
        np.testing.assert_allclose(found.train.mean(axis=0), 0, atol=1e-12)
        assert found.test[:, 0].min() > 1000
        np.testing.assert_array_equal(found.target, np.arange(20))
        train, target, test = encodings.stored(0).open()
        np.testing.assert_array_equal(train, found.train)
        np.testing.assert_array_equal(target, found.target)
        np.testing.assert_array_equal(test, found.test)
        assert not isinstance(train, np.memmap)
        folder = encodings.stored(0).train.parent
        assert encodings[1].train.shape == (30, 3)
        assert encodings[1].test.shape == (0, 3)
    assert not folder.exists()


def test_encodings_beyond_the_memory_are_made_again(rng, monkeypatch):
    monkeypatch.setattr("assay.report.trials.trial.MEMORY", 100)
    frame = pd.DataFrame({"size": rng.normal(size=30)})
    parts = splits(30, folds=3, repeats=1, seed=0)
    with Encodings(frame, np.arange(30.0), describe_columns(frame), parts) as it:
        assert it[0] is not it[0]
        np.testing.assert_array_equal(it[0].train, it[0].train)


def test_an_interruption_keeps_what_is_finished_and_ends_the_processes(rng):
    finished, workers, others = [], set(), set(multiprocessing.active_children())

    def listen(event):
        finished.extend([event.method] if event.state == "done" else [])
        workers.update(set(multiprocessing.active_children()) - others)
        if len(finished) == 2:  # the baseline and a method, whichever was quicker
            raise KeyboardInterrupt

    methods = ("LinearRegression", "Ridge")
    comparison = compare(mixed_table(rng), jobs=2, folds=2, repeats=4, methods=methods, progress=listen)
    assert "Baseline" in finished
    assert {candidate.name for candidate in comparison.candidates} == set(finished)
    (left,) = set(methods) - set(finished)
    assert comparison.skipped == (f"Interrupted before the end: {left} left out.",)
    assert len(workers) == 2
    assert not any(worker.is_alive() for worker in workers)


def test_work_that_is_given_up_is_stopped_and_not_waited_for(carried_out):
    assert len(carried_out.workers) == 2
    assert not any(worker.is_alive() for worker in carried_out.workers)


def test_a_process_that_is_killed_is_one_sentence(rng):
    def listen(event):
        if event.done:
            for worker in set(multiprocessing.active_children()) - others:
                worker.kill()

    others = set(multiprocessing.active_children())
    with pytest.raises(ReportError, match=r"ended from outside, most likely .*: use --jobs 1"):
        compare(mixed_table(rng), folds=2, jobs=2, methods=("Ridge",), progress=listen)


def test_a_script_that_compares_is_not_run_again_by_the_processes_that_fit(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    result = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (result.stdout, result.stderr) == ("begun\nRidge\n", "")
