"""One contest: a case run by one library, with its time, the quality it reached and its peak memory."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

MEBIBYTE = 2**20


def peer(module: str, name: str) -> Any:
    """A class of a peer, or skip the contest when the peer is not installed."""
    return getattr(pytest.importorskip(module, reason=f"{module} is not installed"), name)


class Contest:
    """Runs a case under pytest-benchmark and keeps quality and memory beside the time."""

    def __init__(self, benchmark: Any) -> None:
        self.benchmark = benchmark

    def run(
        self,
        case: str,
        library: str,
        fit: Callable[[], Any],
        quality: Callable[[Any], float],
        *,
        rounds: int = 3,
        iterations: int = 1,
    ) -> Any:
        """Time `fit`, after one run that warms caches and compiles; then measure one run's memory.

        Parameters
        ----------
        case : str
            Name of the line in the table; contests with the same case are compared.
        library : str
            Who runs it; "assay" is the one the others are divided by.
        fit : callable
        quality : callable
            A number from the result of `fit`, shown beside the time: equal quality is for the reader to see.
        """
        self.benchmark.group = case
        result, peak = peak_memory(fit)
        self.benchmark.extra_info.update(
            library=library, quality=float(quality(result)), peak_mebibytes=peak / MEBIBYTE
        )
        del result
        gc.collect()
        # The run for the memory has compiled and warmed; long cases run no further time for nothing.
        warmup = 1 if rounds > 1 else 0
        return self.benchmark.pedantic(fit, rounds=rounds, iterations=iterations, warmup_rounds=warmup)


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
