"""Which tests run in one process, and in which order.

The tests of a room are one group: its loops are compiled in one process. Rooms come first, the largest before
the others; surfaces, which use the loops of all rooms, come last and find them compiled. Their groups are
small, so that no process is left alone with the end.
"""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

import pytest

try:
    from xdist.scheduler import LoadScopeScheduling
except ImportError:  # one process
    LoadScopeScheduling = object

ESTIMATORS = ("estimator", "model", "kind")
"""Parameters of tests that may be an estimator or its class."""

SURFACES = ("report", "cli", "fuzz", "display", "models", "house")
"""Folders whose tests use the loops of every room; those whose tests take long come first."""

SHARED = ({"browser"}, {"regression", "classification", "clustering", "small_comparisons", "small_pages"})
"""Fixtures that are made once in a process and take seconds: tests of those of a set run in one process."""


def room_of(item: pytest.Item) -> tuple[str, bool]:
    """The room a test belongs to, and whether that is because of its parameter."""
    for name, value in getattr(getattr(item, "callspec", None), "params", {}).items():
        kind = value if inspect.isclass(value) else type(value)
        if name in ESTIMATORS and kind.__module__.startswith("assay.") and hasattr(kind, "fit"):
            return kind.__module__.split(".")[1], True
    folders = Path(item.path).relative_to(item.config.rootpath).parts
    place = folders[2:] if folders[:2] == ("src", "assay") else folders[1:]
    return (place[0] if len(place) > 1 else "house"), False


def ordered_groups(items: list[pytest.Item], root: Path) -> dict[str, list[pytest.Item]]:
    """The tests of each group, in the order in which the groups are begun."""
    groups: dict[str, list[pytest.Item]] = {}
    rooms = set()
    for item in items:
        room, of_one_estimator = room_of(item)
        rooms |= {room} if of_one_estimator else set()
        groups.setdefault(room if of_one_estimator else _group(item, room), []).append(item)

    def turn(name: str) -> tuple[int, int, int, str]:
        folder = name.split("-")[0]
        place = 0 if name in rooms else 2 + SURFACES.index(folder) if folder in SURFACES else 1
        return place, -_size(root / "src" / "assay" / name), -len(groups[name]), name

    return {name: groups[name] for name in sorted(groups, key=turn)}


def _group(item: pytest.Item, room: str) -> str:
    """The room; of a surface the file, unless tests of several files look at the same comparisons."""
    if room not in SURFACES:
        return room
    for fixtures in SHARED:
        if not fixtures.isdisjoint(getattr(item, "fixturenames", ())):
            return f"{room}-{min(fixtures)}"
    return f"{room}-{Path(item.path).stem}"


def _size(folder: Path) -> int:
    """Bytes of the code of a folder: the more there is, the more must be compiled."""
    return sum(path.stat().st_size for path in folder.rglob("*.py"))


class GroupScheduling(LoadScopeScheduling):
    """Hands whole groups to the processes, in the order of the tests.

    Groups of xdist are read from the names of the tests, where it cannot write them since pytest 9.2: every
    test would be a group of its own, and each loop compiled in every process. Here the first process writes
    the group of each test into a file.
    """

    def __init__(self, config: pytest.Config, log: Any, path: Path) -> None:
        config.option.loadscopereorder = False
        super().__init__(config, log)
        self._path, self._groups, self._places = path, None, {}

    def _split_scope(self, nodeid: str) -> str:
        if self._groups is None:
            self._groups = json.loads(self._path.read_text(encoding="utf-8"))
            self._path.unlink()
        return self._groups[nodeid]

    def _assign_work_unit(self, node: Any) -> None:
        if node not in self._places:
            self._places[node] = {name: at for at, name in enumerate(self.registered_collections[node])}
        group, tests = self.workqueue.popitem(last=False)
        self.assigned_work.setdefault(node, {})[group] = tests
        node.send_runtest_some([self._places[node][name] for name in tests])

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        """Forget a test that has been run: those that are left are counted after each."""
        name = self.registered_collections[node][item_index]
        del self.assigned_work[node][self._split_scope(name)][name]
        self._reschedule(node)
