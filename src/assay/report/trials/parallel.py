"""Fits at the same time: each in a process of its own, with its share of the cores."""

from __future__ import annotations

import signal
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from typing import Any, TypeVar

from assay.rows import n_threads, threads

Task = TypeVar("Task")
Work = Callable[[], Any]


def carry_out(
    tasks: Iterable[Task], prepare: Callable[[Task], Work | None], *, jobs: int
) -> Generator[tuple[Task, Future[Any]], None, None]:
    """Carry out tasks, at most `jobs` at the same time, and give each back when it is done.

    Everything but the work itself happens on the calling thread. An exception there, such as Ctrl-C, or the
    end of the iteration before the last task, stops the work that has begun.

    Parameters
    ----------
    tasks : iterable
        In the order in which they begin.
    prepare : callable
        Asked about each task when it is about to begin: gives its work, or None to leave it out. Work for
        other processes must survive pickling.
    jobs : int
        1 for no process but this one.

    Yields
    ------
    task, future
        A finished task and what came of it; with one job in the order of the tasks.
    """
    if jobs == 1:
        yield from _one_by_one(tasks, prepare)
        return
    from joblib.externals.loky import get_reusable_executor  # type: ignore[import-untyped]

    share = max(1, n_threads() // jobs)
    executor = get_reusable_executor(
        max_workers=jobs, timeout=30, initializer=_leave_interrupts_to_the_parent, env=_limits(share)
    )
    waiting, running = deque(tasks), dict[Future[Any], Task]()
    finished = False
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.popleft()
                work = prepare(task)
                if work is not None:
                    running[executor.submit(_with_threads, share, work)] = task
            if running:
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in [future for future in running if future in done]:
                    yield running.pop(future), future
        finished = True
    finally:
        if not finished:
            executor.shutdown(wait=True, kill_workers=True)


def _one_by_one(
    tasks: Iterable[Task], prepare: Callable[[Task], Work | None]
) -> Iterator[tuple[Task, Future[Any]]]:
    for task in tasks:
        work = prepare(task)
        if work is None:
            continue
        future: Future[Any] = Future()
        try:
            future.set_result(work())
        except Exception as error:
            future.set_exception(error)
        yield task, future


def _with_threads(count: int, work: Work) -> Any:
    with threads(count):
        return work()


def _leave_interrupts_to_the_parent() -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _limits(count: int) -> dict[str, str]:
    """Threads of the libraries below NumPy in a worker."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    return {name: str(count) for name in names}
