"""k-means against the algorithm of Hartigan and Wong as R has it, on R's own tables.

The tables, the script that made the numbers and the numbers lie in tests/reference; R is not needed here.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from assay.cluster import KMeans

REFERENCE = Path(__file__).parents[1] / "reference"
CASES = json.loads((REFERENCE / "kmeans.json").read_text(encoding="utf-8"))
MADE_WITH = CASES.pop("made_with")


def rows_of(case):
    """The table as R had it, with columns of unit variance where the case asks for them."""
    X = np.loadtxt(REFERENCE / f"{case['table']}.csv", delimiter=",", skiprows=1)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1) if case["unit"] else X


def excess(case, algorithm):
    """How far the best of 100 restarts is above the best of R's 1000, relative to that."""
    model = KMeans(case["clusters"], n_init=100, algorithm=algorithm, random_state=0).fit(rows_of(case))
    return model.inertia_ / case["inertia"] - 1.0


@pytest.mark.parametrize("name", CASES)
def test_a_hundred_restarts_reach_what_a_thousand_of_hartigan_and_wong_do(name):
    assert excess(CASES[name], "hartigan-wong") <= 1e-9


def test_lloyds_iteration_alone_does_not_reach_it():
    above = [excess(case, "lloyd") for case in CASES.values()]
    assert min(above) >= -1e-9
    assert sum(value > 1e-5 for value in above) >= 4


def test_the_reference_says_what_made_it():
    assert {"R"} < set(MADE_WITH)
