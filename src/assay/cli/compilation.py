"""The first use of a fresh installation: its loops are compiled, by two processes where that saves time."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import assay


@contextmanager
def compiling_ahead(task: str) -> Iterator[None]:
    """On a fresh installation, let another process compile the loops of a demonstration in the meantime.

    What it compiles it leaves on the disk, where this process finds it; whatever else it does is thrown away.
    """
    if not is_fresh() or _n_cores() < 2:
        yield
        return
    with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as folder:
        words = ["compare", "--demo", task, "--quiet", "--output", str(Path(folder, task))]
        process = subprocess.Popen(
            [sys.executable, "-m", "assay.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the comparison that the user sees
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()


def is_fresh() -> bool:
    """Whether no loop of this installation has been compiled yet."""
    place = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(place) if place else Path(assay.__file__).parent
    return next(folder.rglob("*.nbi"), None) is None


def _n_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
