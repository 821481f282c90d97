"""What a newcomer waits for: the import, and the first fit, before which nothing is compiled.

Each run is a Python process of its own, started with an empty cache of compiled loops.
"""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.contest import Contest

PEAK = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)"
FIT = """
from sklearn.datasets import load_iris
from assay.{room} import {name}
{name}().fit(*load_iris(return_X_y=True))
"""
FIRST = (
    "LinearRegression",
    "Lasso",
    "LogisticRegression",
    "LinearSVC",
    "KMeans",
    "DBSCAN",
    "AgglomerativeClustering",
)


def room_of(name: str) -> str:
    """The room of an estimator; a source tree without a registry (`--against`) is asked room by room."""
    try:
        from assay.registry import estimators
    except ModuleNotFoundError:
        return next(room for room in ("linear", "cluster") if hasattr(import_module(f"assay.{room}"), name))
    return next(entry.room for entry in estimators() if entry.name == name)


def run_fresh(code: str, cache: Path) -> int:
    """Run code in a new process that finds nothing compiled in `cache`; return its peak memory in bytes."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    command = [sys.executable, "-W", "ignore", "-c", code + "\n" + PEAK]
    return int(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)


@pytest.mark.parametrize("module", ["assay", "assay.linear", "assay.cluster"])
def test_import(contest: Contest, tmp_path: Path, module: str) -> None:
    contest.run(
        f"import {module}",
        "a new process",
        "assay",
        lambda: run_fresh(f"import {module}", tmp_path),
        lambda peak: None,
        rounds=9,
        child_peak=int,
    )


@pytest.mark.parametrize("name", FIRST)
def test_first_fit(contest: Contest, tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    room = room_of(name)
    contest.run(
        f"first fit of {name}, compilation included",
        "iris, a new process",
        "assay",
        lambda: run_fresh(FIT.format(room=room, name=name), tmp_path_factory.mktemp("cache")),
        lambda peak: None,
        rounds=1,
        child_peak=int,
    )
