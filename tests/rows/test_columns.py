"""Columns that are no numbers are named, and weights and targets beyond floats refused."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest

from assay.linear import LinearRegression, Ridge
from assay.rows import fit_weights, rows

N = 12
DATES = pd.date_range("2020-01-01", periods=N)
BAD = {
    "dates": DATES,
    "zoned": DATES.tz_localize("UTC"),
    "lasting": DATES - DATES[0],
    "months": DATES.to_period("M"),
    "words": ["red", "blue"] * 6,
    "labels": pd.Categorical(["a", "b"] * 6),
    "complex": np.ones(N) + 1j,
    "things": [object()] * N,
    "lists": [[1, 2]] * N,
}


def frame(**columns) -> pd.DataFrame:
    return pd.DataFrame({"a": np.arange(N) * 1.0, "b": np.cos(np.arange(N)), **columns})


@pytest.mark.parametrize("name", BAD)
def test_a_column_of_a_frame_that_holds_no_numbers_is_named(name):
    sentence = rf"^The column '{name}' of the table has type .* where numbers are needed; .*\.$"
    bad = frame(**{name: BAD[name]})
    with pytest.raises(ValueError, match=sentence):
        LinearRegression().fit(bad, np.arange(N))
    with pytest.raises(ValueError, match=sentence):
        rows(bad)
    with pytest.raises(ValueError, match=sentence):
        LinearRegression().fit(bad, "a")


@pytest.mark.parametrize("values", [DATES.to_numpy(), ["red", "blue"] * 6])
def test_a_column_of_a_polars_frame_is_named(values):
    bad = pl.DataFrame({"a": np.arange(N) * 1.0, "other": values})
    with pytest.raises(ValueError, match="The column 'other' of the table has type"):
        LinearRegression().fit(bad, np.arange(N))


def test_a_name_twice_is_refused_at_the_fit_and_afterwards():
    twice = frame().set_axis(["a", "a"], axis=1)
    model = LinearRegression().fit(frame(), np.arange(N))
    for call in (lambda: LinearRegression().fit(twice, np.arange(N)), lambda: model.predict(twice)):
        with pytest.raises(ValueError, match=r"^the table has more than one column 'a'; names must be"):
            call()


@pytest.mark.parametrize(
    "column", [pd.array([1, 2, 3] * 4, dtype="Int64"), np.arange(N).astype(object), [True, False] * 6]
)
def test_columns_that_become_numbers_are_taken(column):
    assert LinearRegression().fit(frame(c=column), np.arange(N)).n_features_in_ == 3


def test_the_target_may_be_a_column_of_another_kind_among_the_features():
    assert rows(frame(), y="a").shape == (N, 1)


@pytest.mark.parametrize(
    ("weight", "sentence"),
    [
        (np.full(N, 5e-324), "largest weight between 7e-151 and 1e+150. Got 4.94066e-324 instead"),
        (np.full(N, 1e308), "largest weight between 7e-151 and 1e+150. Got 1e+308 instead"),
        ([10**400] * N, "sample_weight holds a number beyond the range of float64; scale it down first."),
        (np.ones(N) + 1j, "sample_weight must hold numbers, one per row."),
        (DATES.to_numpy(), "sample_weight must hold numbers, one per row."),
    ],
)
def test_weights_at_the_ends_of_the_floats_are_refused(weight, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        fit_weights(weight, N, np.float64)


def test_small_weights_beside_a_common_one_are_taken():
    weight = np.where(np.arange(N) == 0, 1e-300, 1.0)
    assert np.array_equal(fit_weights(weight, N, np.float64), weight)


@pytest.mark.parametrize(
    ("y", "sentence"),
    [
        (np.array(["yes", "no"] * 6), "y must hold numbers, one per row."),
        (np.array([10**400] * N, dtype=object), "X or y holds a number beyond the range of float64"),
        (np.array([None, *range(N - 1)], dtype=object), "y contains NaN; drop or fill those rows first."),
    ],
)
def test_targets_that_no_float_can_be_are_refused(y, sentence):
    X = np.random.default_rng(0).normal(size=(N, 2))
    with pytest.raises(ValueError, match=re.escape(sentence)):
        Ridge().fit(X, y)


def test_a_target_beyond_the_precision_of_the_features_is_refused():
    X = np.random.default_rng(0).normal(size=(N, 2)).astype(np.float32)
    with pytest.raises(ValueError, match="y holds a number beyond the range of float32"):
        Ridge().fit(X, np.full(N, 1e300))
