"""Options and fixtures of the benchmarks."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.contest import Contest, Turns

SCALE = float(os.environ.get("ASSAY_BENCH_SCALE", "1"))
"""Fraction of the full number of rows, for a quick look."""

TURNS = pytest.StashKey[Turns]()


def rows(full: int) -> int:
    """Number of rows at the chosen scale."""
    return max(1000, int(full * SCALE))


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("benchmarks")
    group.addoption("--measurements", type=Path, help="file that gets a line of JSON for each measurement")
    group.addoption("--only", help="the one library that runs")
    group.addoption("--tree", type=Path, help="folder that the package must come from")
    group.addoption("--turns", type=int, default=1, help="turns that the rounds of a case are shared out to")
    group.addoption("--pipes", help="descriptors of the pipes to wait on and to hand over by: 5,8")


def pytest_configure(config: pytest.Config) -> None:
    pipes = config.getoption("--pipes")
    first, second = map(int, pipes.split(",")) if pipes else (None, None)
    turns = Turns(config.getoption("--turns"), None if first is None else (first, second))
    turns.wait()
    config.stash[TURNS] = turns
    tree = config.getoption("--tree")
    if tree is not None:
        import assay

        if not Path(assay.__file__).resolve().is_relative_to(tree.resolve()):
            raise pytest.UsageError(f"assay comes from {assay.__file__}, not from {tree}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the peers before their data is made."""
    only = config.getoption("--only")
    if only is None:
        return
    kept = [item for item in items if library_of(item) in (only, None)]
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = kept


def library_of(item: pytest.Item) -> str | None:
    """The library that an item is written for, if its parameters tell."""
    call = getattr(item, "callspec", None)
    return call.params.get("library") if call is not None else None


@pytest.fixture
def contest(pytestconfig: pytest.Config) -> Contest:
    file = pytestconfig.getoption("--measurements")

    def keep(measurement: dict[str, Any]) -> None:
        if file is not None:
            with file.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps(measurement) + "\n")
        sys.stderr.write("{case}, {data}, {library}: {seconds}\n".format(**measurement))

    return Contest(keep, pytestconfig.getoption("--only"), pytestconfig.stash[TURNS])


@pytest.fixture(scope="session")
def tall() -> tuple[np.ndarray, np.ndarray]:
    """A million rows of a hundred columns with a linear target."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((rows(1_000_000), 100))
    y = X @ rng.standard_normal(100) + 3 + rng.standard_normal(len(X))
    return X, y


@pytest.fixture(scope="session")
def small() -> tuple[np.ndarray, np.ndarray]:
    """Iris, with its species as a number."""
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return X, y.astype(float)
