"""All fits of all methods: what begins when, at the same time or one by one, what is left out and why."""

from __future__ import annotations

import logging
import math
import multiprocessing
import os
import signal
import sys
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import monotonic
from types import ModuleType
from typing import Any, Literal, NamedTuple, TypeVar

from threadpoolctl import threadpool_limits

from assay.loops import share_compilations
from assay.registry import Entry
from assay.report.errors import ReportError, words_of
from assay.report.trials.candidate import Candidate
from assay.report.wording import joined
from assay.rows import n_threads

FAILURES = (ValueError, ArithmeticError, MemoryError)
"""What a fit may raise on a table that it cannot serve; errors of linear algebra are among the first."""


@contextmanager
def attempted(what: str) -> Iterator[None]:
    """Go on without what a table cannot give; why it cannot is logged, with the place in the code."""
    try:
        yield
    except FAILURES:
        logging.getLogger("assay").info("%s was left out.", what, exc_info=True)


State = Literal["waiting", "running", "done", "left out"]
Task = TypeVar("Task")
Work = Callable[[], Any]


class Event(NamedTuple):
    """Where one method of a comparison stands.

    All methods are announced as "waiting" before the first begins; each then becomes "running", once for
    every fit that begins, and ends as "done" or "left out".

    Attributes
    ----------
    method : str
    state : {"waiting", "running", "done", "left out"}
    done, total : int
        Fits that are finished, and that there are in all.
    note : str
        The score of a method that is done, or why it was left out.
    """

    method: str
    state: State
    done: int = 0
    total: int = 0
    note: str = ""


Progress = Callable[[Event], None]
"""Told every event, on the thread that called `compare`."""


class Contender(ABC):
    """A method that takes part in a comparison: some fits, and a candidate made of their results."""

    entry: Entry | None  # None for the baseline, which a spent budget does not stop
    baseline_summary: str
    score_name: str
    n_fits: int

    @property
    def headings(self) -> dict[str, Any]:
        """What a candidate has from its method alone."""
        entry = self.entry
        if entry is None:
            return {"name": "Baseline", "summary": self.baseline_summary, "complexity": 0}
        words = {"name": entry.name, "summary": entry.summary, "family": entry.family}
        return {**words, "complexity": entry.suits.complexity}

    @abstractmethod
    def work(self, fit: int, results: Sequence[Any]) -> Work:
        """What the fit of that number does; one by one, the results of the fits before it are there."""

    @abstractmethod
    def conclude(self, results: Sequence[Any]) -> Candidate:
        """The candidate, once every fit is finished."""

    def note(self, candidate: Candidate) -> str:
        """The score in words."""
        return f"{self.score_name} {candidate.shown_score}"


@dataclass
class Standing:
    """What is known of a method so far: the results of its fits, what came of them, why it was left out."""

    contender: Contender
    results: list[Any] = field(default_factory=list)
    n_done: int = 0
    candidate: Candidate | None = None
    left_out: str = ""

    def __post_init__(self) -> None:
        self.name, self.results = self.contender.headings["name"], [None] * self.contender.n_fits


@dataclass
class Engine:
    """Carries out the fits of a comparison within a budget, and keeps what is finished when interrupted."""

    progress: Progress
    budget: float | None = None  # seconds from now after which no fit begins
    skipped: list[str] = field(default_factory=list)  # sentences on methods that were left out
    interrupted: bool = False

    def __post_init__(self) -> None:
        self._deadline = math.inf if self.budget is None else monotonic() + self.budget

    @property
    def has_time(self) -> bool:
        """Whether further work may begin."""
        return not self.interrupted and (self.budget is None or monotonic() <= self._deadline)

    @property
    def spent(self) -> str:
        """That there is no time left, in words."""
        return f"the {self.budget:g} s of --budget were spent"

    def no_time_for(self, what: Sequence[str]) -> tuple[str, ...]:
        """A sentence on what was not begun for lack of time; none where there is nothing."""
        return (f"There was no time left for {joined([*what])}: {self.spent}.",) if what else ()

    def run(self, contenders: Sequence[Contender], *, jobs: int = 1) -> list[Candidate]:
        """Carry out all fits; gives the candidates of the methods that were finished.

        An interruption ends the work; what is finished is kept if there is a method beside the baseline.
        """
        standings = [Standing(contender) for contender in contenders]
        for known in standings:
            self._tell(known, "waiting")
        tasks = ((known, fit) for known in standings for fit in range(known.contender.n_fits))
        steps = carry_out(tasks, lambda task: self._begin(*task), jobs=jobs)
        try:
            for (known, fit), future in steps:
                self._receive(known, fit, future)
        except BrokenExecutor:
            raise ReportError(
                "A process that fitted models was ended from outside, most likely for lack of memory: use "
                "--jobs 1."
            ) from None
        except KeyboardInterrupt:
            steps.close()
            self.interrupted = True
            methods = [item for item in standings if item.contender.entry]
            baselines = [item for item in standings if not item.contender.entry]
            if not any(item.candidate for item in methods) or not all(item.candidate for item in baselines):
                raise
            left = [item.name for item in standings if not item.candidate and not item.left_out]
            if left:
                self.skipped.append(f"Interrupted before the end: {', '.join(left)} left out.")
        return [known.candidate for known in standings if known.candidate is not None]

    def _tell(self, known: Standing, state: State, note: str = "") -> None:
        done = 0 if state == "left out" else known.n_done
        self.progress(Event(known.name, state, done, known.contender.n_fits, note))

    def _begin(self, known: Standing, fit: int) -> Work | None:
        if known.left_out:
            return None
        if known.contender.entry and not self.has_time:
            self._leave_out(known, self.spent, "out of time")
            return None
        self._tell(known, "running")
        return known.contender.work(fit, known.results)

    def _receive(self, known: Standing, fit: int, future: Future[Any]) -> None:
        if known.left_out:
            return
        contender = known.contender
        try:
            known.results[fit] = future.result()
            known.n_done += 1
            if known.n_done < contender.n_fits:
                return
            known.candidate = contender.conclude(known.results)
        except FAILURES as error:
            self._leave_out(known, f"its fit failed ({words_of(error)})", "its fit failed")
            return
        known.results.clear()
        self._tell(known, "done", contender.note(known.candidate))

    def _leave_out(self, known: Standing, why: str, note: str) -> None:
        known.left_out = why
        self.skipped.append(f"{known.name} was left out: {why}.")
        self._tell(known, "left out", note)


def carry_out(
    tasks: Iterable[Task], prepare: Callable[[Task], Work | None], *, jobs: int
) -> Generator[tuple[Task, Future[Any]], None, None]:
    """Carry out tasks, at most `jobs` at the same time, and give each back when it is done.

    `prepare` is asked about each task when it is about to begin: it gives its work, which must survive
    pickling where there are several jobs, or None to leave it out. With one job tasks end in their order.
    Everything but the work itself happens on the calling thread. An exception there, such as Ctrl-C, or the
    end of the iteration before the last task, stops the work that has begun.
    """
    if jobs == 1:
        yield from _one_by_one(tasks, prepare)
        return
    share = max(1, n_threads() // jobs)
    others = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    compilations = context.Value("i", 0)
    given = share, compilations
    executor = ProcessPoolExecutor(jobs, context, initializer=_prepare_worker, initargs=given)
    waiting, running = deque(tasks), dict[Future[Any], Task]()
    share_compilations(compilations)
    try:
        # Whatever ends this loop before its end leaves work under way that nobody waits for any more.
        while waiting or running:
            while waiting and len(running) < jobs:
                task = waiting.popleft()
                work = prepare(task)
                if work is not None:
                    running[_submit(executor, work)] = task
            if running:
                done = wait(running, return_when=FIRST_COMPLETED).done
                for future in [future for future in running if future in done]:
                    yield running.pop(future), future
    finally:
        if waiting or running:
            for process in set(multiprocessing.active_children()) - others:
                process.kill()
        share_compilations(None)
        executor.shutdown(wait=True, cancel_futures=True)


def _submit(executor: ProcessPoolExecutor, work: Work) -> Future[Any]:
    try:
        with _apart():
            return executor.submit(work)
    except OSError as error:  # a process that began while another was killed, or that could not begin
        raise BrokenExecutor from error


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


def _prepare_worker(count: int, compilations: Any) -> None:
    # Ctrl-C reaches every process of a terminal; the parent ends the others.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ["ASSAY_NUM_THREADS"] = str(count)
    threadpool_limits(count)
    share_compilations(compilations)


@contextmanager
def _apart() -> Iterator[None]:
    """Let processes that begin inside run no script of the caller's, and hear no Ctrl-C from the first.

    A process that is spawned imports the main module of its parent: a script that compares without
    `if __name__ == "__main__"` would begin anew in each. It inherits the signals that are blocked.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT}) if sys.platform != "win32" else None
    try:
        yield
    finally:
        sys.modules["__main__"] = main
        if blocked is not None:
            signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
