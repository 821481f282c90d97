"""results.json: every field is documented, every documented field is there, and the numbers come back."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from assay.report import Data, choose_data, compare, read_table
from assay.report.results import FORMAT, results, to_json
from assay.report.trials.scoring.guarantees import residual_quantiles

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "results.md"
BY_NAME = (
    "candidates[].measures",
    "candidates[].parameters",
    "candidates[].weights",
    "explanation.threshold",
    "versions",
)
"""Objects whose keys are names of things, not fields."""


@pytest.fixture(
    scope="module", params=[("diabetes", "Lasso"), ("iris", "LogisticRegression"), ("us_arrests", "KMeans")]
)
def comparison(request):
    name, method = request.param
    data = choose_data(read_table(name))
    return compare(data, methods=(method,), folds=2, repeats=1)


def fields(value, place=""):
    if isinstance(value, dict) and place not in BY_NAME:
        for key, inner in value.items():
            path = f"{place}.{key}" if place else key
            yield path
            yield from fields(inner, path)
    elif isinstance(value, list):
        for inner in value:
            yield from fields(inner, f"{place}[]")


def documented():
    return set(re.findall(r"^\| `([^`]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE))


def test_the_document_tells_every_field_and_no_other(comparison):
    found = set(fields(results(comparison)))
    if comparison.task == "regression":  # has every field
        assert found == documented()
    assert found <= documented()


def test_the_numbers_come_back(comparison):
    found = json.loads(to_json(comparison))
    assert found == results(comparison)
    assert found["format"] == FORMAT
    assert [item["name"] for item in found["candidates"]] == [item.name for item in comparison.candidates]
    for item, candidate in zip(found["candidates"], comparison.candidates, strict=True):
        assert item["measures"] == pytest.approx(dict(candidate.measures), nan_ok=True)
        assert [told["holds"] for told in item["certificates"]] == [
            kept.holds for kept in candidate.certificates
        ]
        if comparison.task != "clustering":
            np.testing.assert_array_equal(item["scores"], candidate.scores)


def test_predictions_of_rows_are_not_in_the_file(comparison):
    def longest(value):
        if isinstance(value, dict):
            return max(map(longest, value.values()), default=0)
        return max([len(value), *map(longest, value)]) if isinstance(value, list) else 0

    assert longest(results(comparison)) < len(comparison.data.X) / 2


def test_measures_that_are_not_finite_are_null(rng):
    data = Data.from_frame(*_small(rng))
    found = compare(data, methods=("Ridge",), folds=2, repeats=1)
    best = found.candidates[0]
    best.measures["odd"] = np.inf
    best.measures["count"] = np.int64(3)
    told = json.loads(to_json(found))["candidates"][0]["measures"]
    assert told["odd"] is None
    assert told["count"] == 3


def test_half_widths_of_intervals_grow_and_stop_where_rows_are_too_few(rng):
    found = residual_quantiles(rng.normal(size=30))
    assert list(found.values()) == sorted(found.values())
    assert max(map(float, found)) == pytest.approx(0.96)
    assert len(residual_quantiles(rng.normal(size=500))) == 99 + 8


def _small(rng):
    import pandas as pd

    frame = pd.DataFrame({"a": rng.normal(size=40), "b": rng.normal(size=40)})
    return frame, frame["a"].to_numpy() + rng.normal(size=40)
