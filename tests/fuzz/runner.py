"""Run cases in processes that may die or hang, and tell what became of each."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import Any

from fuzz.cases import Case

LIMIT, MUCH_LIMIT, LAST_LIMIT = 60.0, 3.0, 300.0
"""Seconds of a case, of one that asks for much (Ctrl-C then must stop it), of one tried again alone."""

GRACE = 60.0
"""Seconds that an interrupted case has to stop: a compiled loop hears Ctrl-C when it ends."""


class Worker:
    """A process of `fuzz.worker`, started when it is first needed and again after it was lost."""

    def __init__(self, environment: dict[str, str]) -> None:
        self._environment = environment
        self._process: subprocess.Popen[str] | None = None
        self._lines: queue.Queue[str] = queue.Queue()

    def try_case(self, case: Case, seconds: float) -> str:
        """The verdict of one case; the process is given up if it dies, hangs or was interrupted."""
        if self._process is None:
            self._start()
        assert self._process is not None
        try:
            self._process.stdin.write(json.dumps([*case, seconds]) + "\n")  # type: ignore[union-attr]
            self._process.stdin.flush()  # type: ignore[union-attr]
        except BrokenPipeError:
            pass
        try:
            line = self._lines.get(timeout=seconds + GRACE)
        except queue.Empty:
            self.stop()
            return "deaf"
        if line:
            verdict = json.loads(line)
            if verdict == "interrupted":
                self.stop()
            return verdict
        code = self._process.wait()
        self.stop()
        return f"killed the interpreter ({signal.Signals(-code).name if code < 0 else f'exit {code}'})"

    def _start(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzz.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=self._environment,
        )
        self._lines = queue.Queue()
        self._reader = threading.Thread(
            target=_forward, args=(self._process.stdout, self._lines), daemon=True
        )
        self._reader.start()
        if self._lines.get() != "ready\n":
            raise RuntimeError("the worker did not start")

    def stop(self) -> None:
        """End the process, if there is one."""
        if self._process is None:
            return
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()  # type: ignore[union-attr]
        self._process = None


def _forward(stream: Any, lines: queue.Queue[str]) -> None:
    for line in stream:
        lines.put(line)
    lines.put("")  # the end of the process


def run(
    cases: Iterable[Case],
    *,
    n_workers: int = 1,
    warm: bool = True,
    report: Callable[[Case, str, float], None] | None = None,
) -> dict[Case, str]:
    """What became of each case. One over its limit is tried again alone, with a longer one.

    `warm` fits each model to good data first, so that compiling its loops is on nobody's time.
    """
    waiting: queue.Queue[list[Case]] = queue.Queue()
    for group in grouped(cases):
        waiting.put(group)
    verdicts: dict[Case, str] = {}

    def work() -> None:
        worker = Worker(_environment())
        try:
            while True:
                group = waiting.get_nowait()
                for kind in ("good", "good of float32") if warm else ():
                    worker.try_case(Case(group[0].model, kind), LAST_LIMIT)
                for case in group:
                    began = time.monotonic()
                    verdicts[case] = judged(case, worker.try_case(case, limit_of(case)))
                    if report:
                        report(case, verdicts[case], time.monotonic() - began)
        except queue.Empty:
            worker.stop()

    threads = [threading.Thread(target=work) for _ in range(n_workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = Worker(_environment())
    for case in [case for case, verdict in verdicts.items() if verdict in ("interrupted", "deaf")]:
        verdict = alone.try_case(case, LAST_LIMIT)
        verdicts[case] = "endless" if verdict in ("interrupted", "deaf") else verdict
    alone.stop()
    return verdicts


def limit_of(case: Case) -> float:
    return MUCH_LIMIT if case.asks_for_much else LIMIT


def judged(case: Case, verdict: str) -> str:
    """Who asks for much gets an answer by Ctrl-C."""
    return "answer" if verdict == "interrupted" and case.asks_for_much else verdict


def grouped(cases: Iterable[Case]) -> list[list[Case]]:
    """The cases of each model, in the order of their first."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        groups.setdefault(case.model, []).append(case)
    return list(groups.values())


def _environment() -> dict[str, str]:
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    paths = [here, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
