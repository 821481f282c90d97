"""The documents tell the truth: what they name exists."""

from __future__ import annotations

import contextlib
import importlib
import io
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def test_every_numbered_algorithm_is_placed_and_every_place_exists():
    text = (ROOT / "docs" / "algorithms.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|$", text, re.MULTILINE)
    assert [int(number) for number, _, _ in rows] == list(range(1, 18))
    for _, name, place in rows:
        if place == "to come":
            continue
        module, _, attribute = place.strip("`").rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name
    placed = {int(number): place for number, _, place in rows}
    assert placed[9] == placed[10] == "`assay.cluster.KMeans`"


def test_every_erratum_names_a_test_that_exists():
    text = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
    tests = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text)
    assert len(tests) >= 6
    assert len(tests) == text.count("\n|") - 2, "every entry has its test"
    for path, name in tests:
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), name


@pytest.mark.parametrize("page", ["README.md", "docs/methods.md"])
def test_a_page_names_rooms_that_exist(page):
    names = set(re.findall(r"`(assay\.\w+)`", (ROOT / page).read_text(encoding="utf-8")))
    assert len(names) >= 10
    for name in names:
        importlib.import_module(name)


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{path.name}" for path in ROOT.glob("docs/*.md"))])
def test_every_link_to_a_file_leads_to_one(page):
    source = ROOT / page
    for target in re.findall(r"\]\((?!https?:)([^)#]+)\)", source.read_text(encoding="utf-8")):
        assert (source.parent / target).is_file(), target


def test_contributing_names_files_and_rooms_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    house = re.search(r"```\nsrc/assay/\n(.*?)```", text, re.DOTALL)[1]
    named = {*re.findall(r"`([a-z_]+/[\w./]*)`", text), *re.findall(r"\b([a-z_]+(?:/|\.py))(?=\s)", house)}
    assert len(named) > 15
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "src" / "assay" / name).exists(), name


def test_the_example_of_the_readme_prints_what_the_readme_shows():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    code, shown = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()
    damage, holds = re.search(r"```python\n(model\.coef_.*?)  # (\w+)\n```", text, re.DOTALL).groups()
    namespace, printed = {}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)
    # The last digits of residuals depend on the machine.
    assert without_numbers(printed.getvalue()) == without_numbers(shown)
    assert holds == "False"
    with contextlib.redirect_stdout(printed := io.StringIO()):
        exec(damage, namespace)
    assert printed.getvalue().split() == [holds]


def without_numbers(text):
    return re.sub(r"\d[\d.]*(e[+-]\d+)?", "number", text).split()


def test_the_readme_names_the_command_that_must_pass():
    assert "\nmake test" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "\nmake test " in (ROOT / "README.md").read_text(encoding="utf-8")
