"""The sizes up to which methods are tried follow from what their fits were measured to cost."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import pytest
from benchmarks import cost_page
from benchmarks.cost_page import Cost, suitability

from assay.suitability import FIT_SECONDS

ROOT = Path(__file__).resolve().parents[2]
STORED = json.loads((ROOT / "docs" / "method_costs.json").read_text(encoding="utf-8"))
COSTS = [Cost(**item) for item in STORED["costs"]]
METHODS = sorted({cost.method for cost in COSTS})

NOISE = 1.2
"""The same fit takes so many times longer on a machine that does other things too."""

FITS = 6
"""Fits of a method in a comparison of a large table: five folds, and all rows."""

SECONDS, SHARE_OF_FITS = 600, 0.5
"""Five minutes of two cores; the other half is for variants, the ensemble and what the best has learnt."""


def is_tried(cost: Cost) -> bool:
    return suitability(cost.method).admits(cost.rows, cost.columns, max(cost.classes, 2))


@pytest.mark.parametrize("method", METHODS)
def test_no_fit_that_is_tried_takes_longer_than_it_may(method):
    tried = [cost for cost in COSTS if cost.method == method and is_tried(cost)]
    assert tried
    slow = [cost for cost in tried if cost.at_least > NOISE * FIT_SECONDS]
    assert not slow


@pytest.mark.parametrize("method", METHODS)
def test_a_method_is_only_left_out_where_a_fit_was_seen_to_take_long(method):
    """Beyond the limits some fit took more than half of what it may, or could not be made at all."""
    beyond = [cost for cost in COSTS if cost.method == method and not is_tried(cost)]
    suits = suitability(method)
    if suits.limits:
        assert max((cost.at_least for cost in beyond), default=0.0) > FIT_SECONDS / 2
    else:
        assert not beyond


def test_all_methods_of_a_table_of_ten_million_numbers_end_within_five_minutes_of_two_cores():
    spent = defaultdict(float)
    for cost in COSTS:
        if is_tried(cost) and cost.rows * cost.columns <= 10_000_000:
            spent[cost.task, cost.classes, cost.rows, cost.columns] += FITS * cost.at_least
    assert sum(rows * columns > 9_000_000 for *_, rows, columns in spent) >= 8
    assert max(spent.values()) <= SHARE_OF_FITS * SECONDS, spent


def test_the_page_says_what_was_measured():
    written = (ROOT / "docs" / "method_costs.md").read_text(encoding="utf-8")
    assert written == cost_page.page(COSTS, STORED["run"])
