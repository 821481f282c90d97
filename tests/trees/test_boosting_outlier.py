"""One target of 10¹² among ones: nodes without it are counted in finer units, and the rest is learnt."""

from __future__ import annotations

import numpy as np
import pytest

from assay.rows import threads
from assay.trees import HistGradientBoostingRegressor
from assay.trees.boosting import parts
from assay.trees.boosting import table as tables

PLACE = 5


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.random((600, 4))
    y = 0.5 + 5 * X[:, 0] + 3 * (X[:, 1] > 0.5) + 0.1 * np.abs(rng.standard_normal(600))
    X[PLACE, 2], y[PLACE] = 2.0, 1e12
    return X, y


CASES = [
    {"loss": "squared_error", "max_iter": 3, "learning_rate": 1.0},
    {"loss": "squared_error", "max_iter": 3, "learning_rate": 1.0, "monotonic_cst": [1, 0, 0, 0]},
    {"loss": "squared_error", "max_iter": 400, "l2_regularization": 1.0, "learning_rate": 1.0},
    {"loss": "poisson", "max_iter": 60, "learning_rate": 0.5},
    {"loss": "poisson", "max_iter": 60, "learning_rate": 0.5, "line_search": "leaf"},
]


def unexplained(options, rows, keep):
    """Share of the variance of the rows without the outlier that is left."""
    X, y = rows
    model = HistGradientBoostingRegressor(min_samples_leaf=1, **options).fit(X[keep], y[keep])
    others = np.arange(len(y)) != PLACE
    return np.var(y[others] - model.predict(X[others])) / np.var(y[others])


@pytest.mark.parametrize("options", CASES, ids=str)
def test_an_outlier_does_not_blind_the_rest(rows, options, monkeypatch):
    every, others = np.ones(600, bool), np.arange(600) != PLACE
    alone = unexplained(options, rows, others)
    assert alone < 0.01
    assert unexplained(options, rows, every) < alone + 0.002
    if options["max_iter"] == 3:  # the units are why one tree is enough
        assert unexplained({**options, "max_iter": 1}, rows, every) < 0.05
        monkeypatch.setattr(parts, "blind_below", lambda loss: (0, 0))
        assert unexplained({**options, "max_iter": 1}, rows, every) > 0.9


@pytest.mark.parametrize("options", CASES, ids=str)
def test_finer_units_depend_on_no_thread(rows, options, monkeypatch):
    X, y = rows
    options = {**options, "max_iter": 3, "min_samples_leaf": 1}
    whole = HistGradientBoostingRegressor(**options).fit(X, y).trees_
    monkeypatch.setattr(tables, "SMALL", 100)
    for count in (2, 3, 7):
        with threads(count):
            assert HistGradientBoostingRegressor(**options).fit(X, y).trees_ == whole


@pytest.mark.parametrize("options", CASES, ids=str)
def test_weights_are_repetitions_beside_an_outlier(rows, options):
    X, y = rows
    options = {**options, "max_iter": 3, "min_samples_leaf": 1}
    weight = np.random.default_rng(1).integers(0, 3, 600)
    weight[PLACE] = 1
    weighted = HistGradientBoostingRegressor(**options).fit(X, y, sample_weight=weight)
    repeated = HistGradientBoostingRegressor(**options).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    assert weighted.trees_ == repeated.trees_
