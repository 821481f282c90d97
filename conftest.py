"""Settings of the tests and of the examples in docstrings alike."""

from __future__ import annotations

import gc
import inspect
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib
import pytest

matplotlib.use("Agg")

ESTIMATORS = ("estimator", "model", "kind")
"""Parameters of tests that may be an estimator or its class."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option of those who work in one room."""
    parser.addoption("--room", help="of the checks of every estimator, only those of this room")


def pytest_sessionstart() -> None:
    """Hear Ctrl-C: a run in the background inherits it as ignored, and hands that on to its processes."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Group the tests by room: each compiled loop is compiled in one process."""
    wanted = config.getoption("room")
    kept, left = [], []
    for item in items:
        room, of_one_estimator = _room(item)
        if config.pluginmanager.hasplugin("xdist"):
            item.add_marker(pytest.mark.xdist_group(room))
        (left if wanted and of_one_estimator and room != wanted else kept).append(item)
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def pytest_collection_finish() -> None:
    """Leave what was collected out of every search for cycles to come: it stays to the end."""
    gc.freeze()


def _room(item: pytest.Item) -> tuple[str, bool]:
    """The room a test belongs to, and whether that is because of its parameter."""
    for name, value in getattr(getattr(item, "callspec", None), "params", {}).items():
        kind = value if inspect.isclass(value) else type(value)
        if name in ESTIMATORS and kind.__module__.startswith("assay.") and hasattr(kind, "fit"):
            return kind.__module__.split(".")[1], True
    folders = Path(item.path).relative_to(item.config.rootpath).parts
    place = folders[2:] if folders[:2] == ("src", "assay") else folders[1:]
    return (place[0] if len(place) > 1 else "house"), False


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[Any]:
    yield
    import matplotlib.pyplot as plt

    plt.close("all")
