"""Settings of the tests and of the examples in docstrings alike."""

from __future__ import annotations

import gc
import json
import signal
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

from schedule import GroupScheduling, ordered_groups, room_of

matplotlib.use("Agg")

GROUPS = pytest.StashKey[Path]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of those who work in one room."""
    parser.addoption("--room", help="of the checks of every estimator, only those of this room")


def pytest_sessionstart() -> None:
    """Hear Ctrl-C: a run in the background inherits it as ignored, and hands that on to its processes."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[Any]:
    """Look through folders from either end where two processes do: each test file is prepared by one."""
    report = yield
    worker = getattr(collector.config, "workerinput", {}).get("workerid", "gw0")
    if isinstance(collector, pytest.Directory) and int(worker[2:]) % 2 == 1:
        report.result.reverse()
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Bring the tests into the order in which their groups are run, without those of other rooms."""
    wanted = config.getoption("room")
    kept, left = [], []
    for item in sorted(items, key=lambda item: ("src" in item.path.parts, item.path)):
        room, of_one_estimator = room_of(item)
        (left if wanted and of_one_estimator and room != wanted else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
    groups = ordered_groups(kept, config.rootpath)
    items[:] = [item for group in groups.values() for item in group]
    told = getattr(config, "workerinput", {})
    if told.get("workerid") == "gw0" and "groups" in told:
        named = {item.nodeid: name for name, group in groups.items() for item in group}
        Path(told["groups"]).write_text(json.dumps(named), encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tell each process of a run where the groups are written."""
    if node.config.getoption("dist") == "loadgroup":
        name = f"assay-groups-{node.workerinput['testrunuid']}.json"
        path = node.config.stash.setdefault(GROUPS, Path(tempfile.gettempdir()) / name)
        node.workerinput["groups"] = str(path)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Hand out whole groups where that is asked for."""
    if config.getoption("dist") != "loadgroup":
        return None
    return GroupScheduling(config, log, config.stash[GROUPS])


def pytest_collection_finish() -> None:
    """Leave what was collected out of every search for cycles to come: it stays to the end."""
    gc.freeze()


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[Any]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
