"""The schedule of a test run: rooms before surfaces, and each group in one process."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from assay.cluster import KMeans
from assay.trees import DecisionTreeClassifier
from schedule import SURFACES, GroupScheduling, ordered_groups

pytest.importorskip("xdist", reason="Tests run in one process without it.")


def item(config, path, fixtures=(), **parameters):
    """A test as pytest would have collected it."""
    return SimpleNamespace(
        config=config,
        path=config.rootpath / path,
        fixturenames=fixtures,
        callspec=SimpleNamespace(params=parameters),
    )


@pytest.fixture
def groups(pytestconfig):
    made = (
        item(pytestconfig, "tests/test_storeys.py"),
        item(pytestconfig, "tests/report/test_jobs.py"),
        item(pytestconfig, "tests/report/test_layout.py", fixtures=("browser", "small_pages")),
        item(pytestconfig, "tests/report/test_browser.py", fixtures=("browser",)),
        item(pytestconfig, "tests/losses/test_named.py"),
        item(pytestconfig, "tests/display/test_plot.py", kind=KMeans),
        item(pytestconfig, "tests/test_common_checks.py", estimator=DecisionTreeClassifier()),
        item(pytestconfig, "tests/models/test_classes.py", estimator="balanced"),
        item(pytestconfig, "src/assay/trees/tree.py"),
    )
    return ordered_groups(list(made), pytestconfig.rootpath)


def test_rooms_come_first_and_the_surfaces_last_file_by_file(groups):
    expected = ["trees", "cluster", "losses", "report-browser", "report-test_jobs"]
    assert list(groups) == [*expected, "models-test_classes", "house-test_storeys"]
    assert [len(group) for group in groups.values()] == [2, 1, 1, 2, 1, 1, 1]


def test_every_folder_of_tests_is_a_room_a_storey_or_a_surface(pytestconfig):
    """A folder that is none of them would have no size, and come at a turn that nobody chose."""
    folders = {path.parent.name for path in (pytestconfig.rootpath / "tests").glob("*/test_*.py")}
    packages = {path.parent.name for path in (pytestconfig.rootpath / "src" / "assay").glob("*/__init__.py")}
    assert folders - packages <= set(SURFACES)


class Process:
    """What the scheduler asks of a process."""

    shutting_down = False

    def __init__(self):
        self.places, self.gateway = [], SimpleNamespace(id="gw")

    def send_runtest_some(self, places):
        self.places.extend(places)

    def shutdown(self):
        self.shutting_down = True


def test_a_group_is_run_in_one_process_and_the_next_goes_to_the_first_that_is_free(tmp_path):
    sizes = {"trees": 7, "cluster": 4, "losses": 3, "report-browser": 2, "house-test_storeys": 1}
    named = {f"test_{name}[{place}]": name for name, size in sizes.items() for place in range(size)}
    path = tmp_path / "groups.json"
    path.write_text(json.dumps(named))
    options = SimpleNamespace(loadscopereorder=True, tx=["2*popen"], maxprocesses=None)
    config = SimpleNamespace(option=options, getvalue=lambda name: getattr(options, name))
    scheduler = GroupScheduling(config, None, Path(path))
    one, two = Process(), Process()
    for process in (one, two):
        scheduler.add_node(process)
        scheduler.add_node_collection(process, list(named))
    scheduler.schedule()
    done = {one: 0, two: 0}
    while scheduler.has_pending:  # the second process is twice as fast
        for process in (two, one, two):
            if done[process] < len(process.places):
                done[process] += 1
                scheduler.mark_test_complete(process, process.places[done[process] - 1])
    told = [[list(named.values())[place] for place in process.places] for process in (one, two)]
    assert sorted(told[0] + told[1]) == sorted(named.values())
    assert list(dict.fromkeys(told[0])) == ["trees"]
    assert list(dict.fromkeys(told[1])) == ["cluster", "losses", "report-browser", "house-test_storeys"]
    assert scheduler.tests_finished
