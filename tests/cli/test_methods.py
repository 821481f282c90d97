"""`assay methods` and `assay explain`: the catalogue, for people and for machines."""

from __future__ import annotations

import json
import re

import pytest
from rich.cells import cell_len

from assay.cli import terminal
from assay.report import catalogue


@pytest.fixture
def narrow(monkeypatch):
    """Output as on a terminal of 80 columns."""
    monkeypatch.setattr(terminal, "WIDTH_OF_FILES", 80)


def test_the_catalogue_and_the_explanations_are_printed(run):
    words = run("methods").stdout
    assert "KMeans" in words
    assert "LogisticRegression" in words
    chosen = json.loads(run("methods", "--task", "clustering", "--json").stdout)
    assert {item["task"] for item in chosen} == {"clustering"}
    assert "The task must be one of" in run("methods", "--task", "cooking").stderr
    told = run("explain", "lasso").stdout
    for word in ("Lasso", "Minimises", "Certificates", "References"):
        assert word in told
    assert "Did you mean Ridge?" in run("explain", "rigde").stderr


@pytest.mark.usefixtures("narrow")
def test_every_method_is_listed_with_its_task_course_and_certificates_in_80_columns(run):
    lines = run("methods").stdout.splitlines()
    assert max(map(len, lines)) <= 80
    for method in catalogue():
        place = next(number for number, line in enumerate(lines) if re.match(rf"{method.name}\b", line))
        head, what, certified = lines[place : place + 3]
        assert method.task in head
        assert method.courses[0][:20] in head
        assert what[2:40] == method.summary[:38]
        assert certified[2:40] == f"certifies {method.certificates}"[:38]


def test_a_family_can_be_asked_for_in_either_name(run):
    for name in ("kernel_machines", "kernel machines", "Kernel-Machines"):
        result = run("methods", "--family", name, "--json")
        assert result.exit_code == 0, result.output
        assert {item["family"] for item in json.loads(result.stdout)} == {"kernel_machines"}
    for arguments, sentence in (
        (("--family", "cooking"), "The family must be one of"),
        (
            ("--family", "linear", "--task", "clustering"),
            "No method of the family 'linear' is for clustering",
        ),
    ):
        result = run("methods", *arguments)
        assert (result.exit_code, result.stdout) == (2, "")
        assert sentence in result.stderr


def test_the_catalogue_for_machines_is_whole(run):
    listed = json.loads(run("methods", "--json").stdout)
    assert [item["name"] for item in listed] == [method.name for method in catalogue()]
    ridge = next(item for item in listed if item["name"] == "Ridge")
    assert ridge["parameters"][0]["name"] == "alpha"
    assert set(ridge) >= {
        "family",
        "task",
        "objective",
        "assumptions",
        "certificates",
        "references",
        "courses",
    }
    assert json.loads(run("explain", "ridge", "--json").stdout) == ridge


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize("method", catalogue(), ids=lambda method: method.name)
def test_every_method_is_explained_in_full(run, method):
    told = run("explain", method.name)
    assert (told.exit_code, told.stderr) == (0, "")
    words = " ".join(told.stdout.split())
    for text in (
        method.summary,
        method.objective,
        method.assumptions,
        method.certificates,
        method.references,
    ):
        assert " ".join(text.split()) in words
    for parameter in method.parameters:
        assert f"{parameter.name}={parameter.default}" in words
    prose = [line for line in told.stdout.splitlines() if not line.startswith("    ")]
    assert max(map(cell_len, prose)) <= 80
