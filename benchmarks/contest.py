"""One contest: a case run by one library, with its time, the quality it reached and its peak memory."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import pytest

MEBIBYTE = 2**20
OURS = "assay"


def peer(module: str, name: str) -> Any:
    """A class of a peer, or skip the contest when the peer is not installed."""
    return getattr(pytest.importorskip(module, reason=f"{module} is not installed"), name)


@dataclass(frozen=True)
class Measurement:
    """What one library needed for one case; `seconds` has a median for each turn."""

    case: str
    data: str
    library: str
    seconds: list[float]
    quality: float | None
    peak_mebibytes: float


class Turns:
    """Turns of two processes that never compute at the same time: whoever holds the token runs.

    Without a partner there is one turn and nobody to wait for. When the partner ends, its pipe closes and
    this process goes on alone.
    """

    def __init__(self, n_turns: int = 1, pipes: tuple[int, int] | None = None) -> None:
        self.n_turns = n_turns
        self._pipes = pipes
        for pipe in pipes or ():
            os.set_inheritable(pipe, False)

    def wait(self) -> None:
        """Wait for the token."""
        if self._pipes is not None:
            os.read(self._pipes[0], 1)

    def hand_over(self) -> None:
        """Give the token to the partner."""
        if self._pipes is not None:
            try:
                os.write(self._pipes[1], b".")
            except BrokenPipeError:
                self._pipes = None


class Contest:
    """Times a case and keeps quality and memory beside the time.

    Parameters
    ----------
    keep : callable
        Takes each measurement.
    only : str, optional
        The one library that runs; the others are skipped.
    turns : Turns
    """

    def __init__(self, keep: Callable[[dict[str, Any]], None], only: str | None, turns: Turns) -> None:
        self.keep = keep
        self.only = only
        self.turns = turns

    def run(
        self,
        case: str,
        data: str,
        library: str,
        fit: Callable[[], Any],
        quality: Callable[[Any], float | None],
        *,
        rounds: int = 3,
        iterations: int = 1,
        child_peak: Callable[[Any], int] | None = None,
    ) -> Any:
        """Time `fit`, after one run that warms caches, compiles and tells the memory; return its result.

        Parameters
        ----------
        case, data : str
            What is computed, and on what; contests with the same case and data are compared.
        library : str
            Who runs it; "assay" is the one the others are divided by.
        fit : callable
        quality : callable
            A number from the result of `fit`, shown beside the time: equal quality is for the reader to see.
        rounds, iterations : int
            Times that are measured, and runs within each; with several turns the rounds are shared out.
        child_peak : callable, optional
            For work that a process of its own does: peak memory in bytes from the result. Such work starts
            cold every time, so that nothing is run before the clock.
        """
        if self.only is not None and library != self.only:
            pytest.skip(f"only {self.only} is measured")
        if child_peak is None:
            result, peak = peak_memory(fit)
            reached = quality(result)
            del result
            gc.collect()
        seconds = []
        for turn in range(self.turns.n_turns):
            if turn > 0:
                self.turns.hand_over()
                self.turns.wait()
            if child_peak is None and rounds > 1:
                fit()
            times, result = timed(fit, -(-rounds // self.turns.n_turns), iterations)
            seconds.append(median(times))
        if child_peak is not None:
            reached, peak = quality(result), child_peak(result)
        self.keep(asdict(Measurement(case, data, library, seconds, reached, peak / MEBIBYTE)))
        self.turns.hand_over()
        self.turns.wait()
        return result


def timed(fit: Callable[[], Any], rounds: int, iterations: int) -> tuple[list[float], Any]:
    """Seconds that one run takes in each round, and the last result."""
    times, result = [], None
    for _ in range(rounds):
        start = perf_counter()
        for _ in range(iterations):
            result = fit()
        times.append((perf_counter() - start) / iterations)
    return times, result


def peak_memory(run: Callable[[], Any]) -> tuple[Any, int]:
    """Result of a run and the most resident memory it added, in bytes (0 where the system does not tell)."""
    gc.collect()
    status, clear = Path("/proc/self/status"), Path("/proc/self/clear_refs")
    if not clear.exists():
        return run(), 0
    clear.write_text("5")  # resets the high-water mark
    before = _kibibytes(status, "VmRSS")
    result = run()
    return result, max(0, _kibibytes(status, "VmHWM") - before) * 1024


def _kibibytes(status: Path, field: str) -> int:
    for line in status.read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1])
    return 0
