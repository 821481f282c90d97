"""`assay compare` on a table of a hundred thousand rows and fifty columns, and on the tables of `make demo`.

A child process runs the command; its time, the processor time of it and its workers (in the column of
quality) and the peak of their resident memory are told. The limits are five minutes and four gibibytes on two
cores for the large table, and ninety seconds for the three demonstrations together.
"""

from __future__ import annotations

import contextlib
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from benchmarks.conftest import rows
from benchmarks.contest import Contest

GIBIBYTE = 2**30
N_NUMBERS, N_WORDS, GAPS = 40, 10, 0.05


def large_table(n_rows: int) -> Any:
    """Forty columns of numbers and ten of words with gaps, a number to predict and a class to predict."""
    import pandas as pd

    rng = np.random.default_rng(0)
    numbers = rng.normal(size=(n_rows, N_NUMBERS))
    numbers[:, 1:] += 0.4 * numbers[:, :-1]
    score = 0.4 * numbers[:, :10] @ rng.normal(size=10) + 0.5 * np.sin(2 * numbers[:, 0])
    columns: dict[str, Any] = {}
    for place in range(N_NUMBERS):
        gone = rng.uniform(size=n_rows) < GAPS
        columns[f"x{place}"] = np.where(gone, np.nan, numbers[:, place].round(4))
    for place in range(N_WORDS):
        n_levels = 3 + place
        code = rng.integers(n_levels, size=n_rows)
        score += 0.3 * rng.normal(size=n_levels)[code]
        words = pd.Series(np.array([f"level {level}" for level in range(n_levels)])[code])
        columns[f"c{place}"] = words.where(rng.uniform(size=n_rows) >= GAPS, None)
    columns["amount"] = (score + rng.normal(size=n_rows)).round(4)
    columns["answer"] = np.where(score + rng.logistic(size=n_rows) > 0, "yes", "no")
    return pd.DataFrame(columns)


class Used(NamedTuple):
    """What a run of the command used, its workers included."""

    processor_seconds: float
    peak: int


def run_command(*arguments: str) -> Used:
    """Run `assay compare` in a process of its own, and watch its memory."""
    command = [sys.executable, "-m", "assay.cli", "compare", *arguments, "--quiet"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    child = subprocess.Popen(command)
    peak, code = 0, None
    while code is None:
        peak = max(peak, resident(child.pid))
        time.sleep(0.5)
        code = child.poll()
    assert code == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return Used(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, peak)


def resident(process: int) -> int:
    """Bytes in memory of a process and those it started; what they share counts once (0 if not told)."""
    total, folder = 0, Path("/proc") / str(process)
    with contextlib.suppress(OSError):
        for line in (folder / "smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                total += int(line.split()[1]) * 1024
        children = (folder / "task" / str(process) / "children").read_text().split()
        total += sum(resident(int(child)) for child in children)
    return total


@pytest.fixture(scope="session")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    large_table(rows(100_000)).to_parquet(path)
    return path


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_large_table(contest: Contest, table: Path, task: str) -> None:
    """Regression on `amount`, classification on `answer`."""
    target, other = ("amount", "answer") if task == "regression" else ("answer", "amount")
    output = str(table.parent / target)
    arguments = (str(table), "--target", target, "--drop", other, "--output", output, "--force")
    used = measured(contest, f"{task} n={rows(100_000):.0e} d=50", *arguments)
    assert used.peak < 4 * GIBIBYTE


def test_demonstrations(contest: Contest, tmp_path: Path) -> None:
    """The three tables of `make demo`."""
    measured(contest, "three demonstrations", "--output", str(tmp_path), "--force")


def measured(contest: Contest, data: str, *arguments: str) -> Used:
    """Time the command once; the column of quality shows seconds of the processor."""
    return contest.run(
        "assay compare, whole command (quality: processor seconds)",
        data,
        "assay",
        lambda: run_command(*arguments),
        lambda used: used.processor_seconds,
        rounds=1,
        child_peak=lambda used: used.peak,
    )
