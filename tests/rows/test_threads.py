"""The thread pool: order, errors, nesting, contexts, forks."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from assay.rows import MemoryRows, n_threads, one_blas_thread, threads
from assay.rows._threads import ordered_map, read_ahead


def blas_threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two_blas_threads():
    """Something to be restored, whatever the machine and its settings."""
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        yield


def test_results_come_in_the_order_of_the_items():
    def slow_first(item):
        time.sleep(0.02 if item == 0 else 0.0)
        return item

    with threads(4):
        assert list(ordered_map(slow_first, range(50))) == list(range(50))


def test_threads_holds_inside_the_block_and_nests():
    outside = n_threads()
    with threads(3):
        assert n_threads() == 3
        with threads(1):
            assert n_threads() == 1
        assert n_threads() == 3
    assert n_threads() == outside


def test_threads_of_another_thread_are_its_own():
    seen = []
    with threads(7):
        other = threading.Thread(target=lambda: seen.append(n_threads()))
        other.start()
        other.join()
        assert n_threads() == 7
    assert seen != [7]


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_a_bad_count_of_threads_is_one_sentence(count):
    with (
        pytest.raises(ValueError, match="The 'count' parameter of threads must be an int at least 1"),
        threads(count),
    ):
        pass


def test_the_environment_sets_the_threads(monkeypatch):
    monkeypatch.setenv("ASSAY_NUM_THREADS", "5")
    assert n_threads() == 5
    with threads(2):
        assert n_threads() == 2


@pytest.mark.parametrize("count", [1, 2])
def test_an_error_in_a_step_stops_the_walk(count):
    begun = []

    def step(item):
        begun.append(item)
        if item == 3:
            raise KeyError("three")
        return item

    with threads(count), pytest.raises(KeyError, match="three"):
        list(ordered_map(step, range(10_000)))
    assert len(begun) < 20


def test_nothing_runs_any_more_when_an_error_comes_out():
    running = set()

    def step(item):
        running.add(item)
        time.sleep(0.05 if item else 0.0)
        running.discard(item)
        if item == 0:
            raise ValueError("first")

    with threads(2), pytest.raises(ValueError, match="first"):
        list(ordered_map(step, range(100)))
    assert not running


def test_an_interrupt_while_waiting_cancels_the_rest():
    begun = []

    def items():
        yield from range(3)
        raise KeyboardInterrupt

    with threads(2), pytest.raises(KeyboardInterrupt):
        list(ordered_map(begun.append, items()))
    assert len(begun) <= 3
    with threads(2):
        assert list(ordered_map(abs, [-1, -2])) == [1, 2]


def test_the_keyboard_stops_a_walk():
    timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    begun = []

    def step(item):
        begun.append(item)
        time.sleep(0.01)

    with threads(2), pytest.raises(KeyboardInterrupt):
        list(ordered_map(step, range(10_000)))
    timer.join()
    assert len(begun) < 5_000


def test_a_walk_inside_a_walk_stays_on_its_thread():
    X = np.ones((50_000, 20))

    def inner(block):
        return threading.get_ident(), block.X.sum()

    def outer(block):
        here = threading.get_ident()
        found = MemoryRows(X).reduce(lambda block: [inner(block)])
        assert {thread for thread, _ in found} == {here}
        return sum(total for _, total in found)

    with threads(2):
        assert MemoryRows(X).reduce(outer) == pytest.approx(X.sum() * -(-50_000 // 13_107))


def test_steps_see_the_context_of_the_caller():
    with threads(2), np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        list(ordered_map(lambda item: np.float64(item) / np.zeros(1), range(1, 5)))
    with threads(2):
        assert set(ordered_map(lambda _: n_threads(), range(8))) == {2}


@pytest.mark.parametrize("count", [1, 2])
def test_blas_is_single_threaded_inside_a_walk_and_as_before_afterwards(count, two_blas_threads):
    before = blas_threads()
    with threads(count):
        assert all(found == {1} for found in ordered_map(lambda _: blas_threads(), range(3)))
    assert blas_threads() == before


def test_overlapping_walks_of_two_threads_restore_blas(two_blas_threads):
    before = blas_threads()
    first, second = (ordered_map(abs, range(10)) for _ in range(2))
    next(first), next(second)
    first.close()
    assert blas_threads() == {1}
    second.close()
    assert blas_threads() == before


def test_blas_is_restored_by_whichever_thread_leaves_last(two_blas_threads):
    with ThreadPoolExecutor(1) as first, ThreadPoolExecutor(1) as second:
        first.submit(one_blas_thread().__enter__).result()
        second.submit(one_blas_thread().__enter__).result()
        first.submit(one_blas_thread().__exit__, None, None, None).result()
        assert blas_threads() == {1}
        second.submit(one_blas_thread().__exit__, None, None, None).result()
        assert blas_threads() == {2}
        with threadpool_limits(1, user_api="blas"):  # while both threads live
            assert blas_threads() == {1}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_makes_its_own_pool():
    with threads(2):
        list(ordered_map(abs, range(4)))
        child = os.fork()
        if child == 0:  # pragma: no cover
            os._exit(0 if list(ordered_map(abs, [-3, -4, -5])) == [3, 4, 5] else 1)
        _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 0


def test_reading_ahead_gives_every_item_in_order():
    assert list(read_ahead(iter(range(20)))) == list(range(20))
    assert list(read_ahead([])) == []


def test_the_reader_sees_the_context_of_the_caller():
    with threads(7):
        assert list(read_ahead(n_threads() for _ in range(3))) == [7, 7, 7]


def test_reading_ahead_reads_no_further_than_its_depth():
    read = []

    def items():
        for item in range(100):
            read.append(item)
            yield item

    ahead = read_ahead(items(), depth=2)
    assert next(ahead) == 0
    time.sleep(0.05)
    assert len(read) <= 3
    ahead.close()
    assert len(read) <= 3


def test_an_error_of_the_reader_comes_out_after_the_items_before_it():
    def items():
        yield 1
        raise OSError("disk")

    ahead = read_ahead(items())
    assert next(ahead) == 1
    with pytest.raises(OSError, match="disk"):
        next(ahead)


def test_closing_the_reader_closes_the_source():
    closed = threading.Event()

    def items():
        try:
            yield from range(100)
        finally:
            closed.set()

    ahead = read_ahead(items())
    next(ahead)
    ahead.close()
    assert closed.is_set()
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("assay-reader")]
