"""What a shell is offered when the Tab key is pressed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from assay.cli.completion import several_methods
from assay.cli.method_names import NAMES, write_names
from assay.report import catalogue


def offered(line: str) -> list[str]:
    """What bash is told may stand in the place of the last word of a line."""
    words = line.split(" ")
    asking = {"_ASSAY_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
    done = subprocess.run(
        [sys.executable, "-m", "assay.cli"],
        env={**os.environ, **asking},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("assay com", ["compare"]),
        ("assay explain Hub", ["HuberRegressor"]),
        ("assay compare --demo cl", ["classification", "clustering"]),
        ("assay compare --met", ["--methods", "--metric"]),
        ("assay compare --task reg", ["regression"]),
    ],
)
def test_commands_options_methods_and_tasks_are_completed(line, words):
    assert offered(line) == words


def test_a_list_of_methods_goes_on_and_names_none_twice():
    assert several_methods("Ridge,Huber") == ["Ridge,HuberRegressor"]
    assert several_methods("Ridge,Ridge") == []
    assert {name.split(",")[1] for name in several_methods("Ridge,")} == set(NAMES) - {"Ridge"}


def test_the_names_that_are_offered_are_those_of_all_methods():
    names = tuple(sorted(method.name for method in catalogue()))
    assert names == NAMES, "python -m assay.cli.method_names writes them again"


def test_the_names_are_written_as_they_are_read(tmp_path):
    place = tmp_path / "method_names.py"
    place.write_text('"""Names."""\n\nNAMES = (\n    "Gone",\n)\n\nlast = 1\n')
    write_names(place)
    listed = "".join(f'    "{name}",\n' for name in NAMES)
    assert place.read_text() == f'"""Names."""\n\nNAMES = (\n{listed})\n\nlast = 1\n'


def test_names_are_offered_without_a_look_at_the_rooms():
    """What a key press waits for: the rooms take seconds."""
    probe = (
        "import sys; from assay.cli.completion import several_methods; assert several_methods('Ridge,Hub'); "
        "sys.exit(any(name in sys.modules for name in ('numpy', 'sklearn', 'assay.linear')))"
    )
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
