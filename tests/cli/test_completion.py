"""What a shell is offered when the Tab key is pressed."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from assay.cli.completion import several_methods
from assay.registry import estimators


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
    assert {name.split(",")[1] for name in several_methods("Ridge,")} == {
        entry.name for entry in estimators()
    } - {"Ridge"}
