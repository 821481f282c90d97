"""The documents tell the truth: what they name exists."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


@pytest.mark.spec("sangnier/P-0.3")
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


def test_the_readme_names_rooms_that_exist():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for name in set(re.findall(r"`(assay\.\w+)`", text)):
        importlib.import_module(name)
