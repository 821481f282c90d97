"""A budget that binds: no fit begins after it, what is finished makes a whole report, the rest is told."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from assay.report import Data, ReportError, compare, write
from assay.report.trials import engine
from assay.report.trials.trial import Recipe

SPENT = "the {} s of --budget were spent"


@pytest.fixture
def fits(monkeypatch):
    """When fits began, on a clock that each fit moves on by a second."""
    begun: list[int] = []
    monkeypatch.setattr(engine, "monotonic", lambda: float(len(begun)))
    for name in ("fit", "refit"):
        before = getattr(Recipe, name)

        def after(self, *given, before=before):
            begun.append(len(begun))
            return before(self, *given)

        monkeypatch.setattr(Recipe, name, after)
    return begun


def sales(rng, n=120):
    frame = pd.DataFrame(rng.normal(size=(n, 2)), columns=["a", "b"]).assign(town=rng.choice(["x", "y"], n))
    return frame, np.exp(frame["a"] + 0.3 * rng.normal(size=n)).to_numpy()


def rare(rng, n=150):
    frame, _ = sales(rng, n)
    return frame, np.where(frame["a"] + rng.normal(size=n) > 1.5, "yes", "no")


OPTIONS = {"folds": 2, "repeats": 1}
FITS = 3  # two folds and the whole table, for each method and the baseline


@pytest.mark.parametrize("budget", range(FITS, 3 * FITS + 10))
def test_no_fit_begins_after_it_whatever_is_done_then(rng, fits, budget):
    methods = ("LogisticRegression", "DecisionTreeClassifier")
    found = compare(Data.from_frame(*rare(rng)), methods=methods, budget=budget + FITS, **OPTIONS)
    assert max(fits) <= budget + FITS
    explained = found.explanation
    assert explained is not None
    assert explained.importances is not None
    assert explained.threshold is not None  # needs no fit
    late = [sentence for sentence in found.skipped if sentence.startswith("There was no time left for ")]
    assert (explained.learning is None) == bool(late)
    if late:
        assert late[0].endswith(f"the learning curve: {SPENT.format(budget + FITS)}.")


def test_what_there_was_no_time_for_is_told_and_the_page_is_written(rng, fits, tmp_path):
    data = Data.from_frame(*sales(rng))
    budget = 2 * FITS + 1
    found = compare(data, exclude=("GeneralizedLinear",), budget=budget, **OPTIONS)
    assert [item.name for item in found.candidates if not item.is_baseline] == ["LinearRegression"]
    left_out = [sentence.partition(" was left out: ")[0] for sentence in found.skipped]
    assert {"Ridge", "RandomForestRegressor", "LinearRegression (log target)"} <= {*left_out}
    assert any("below zero" in caution for caution in found.explanation.cautions)
    page = re.sub(r"<[^>]*>", "", write(found, tmp_path / "out")[0].read_text())
    assert page.count(SPENT.format(budget)) >= 1
    assert "LinearRegression (log target)" in page
    assert "There was no time left for a closer look at the columns and the learning curve" in page


def test_nothing_finished_is_one_sentence(rng, fits):
    data = Data.from_frame(*sales(rng))
    with pytest.raises(ReportError) as refused:
        compare(data, methods=("Ridge", "LinearRegression"), budget=1, **OPTIONS)
    assert str(refused.value) == (
        f"No model could be fitted: LinearRegression and Ridge were left out: {SPENT.format(1)}."
    )
