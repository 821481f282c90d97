"""Associations: those of the definitions, zero by chance, and a column that gives the target away is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chi2_contingency, f_oneway

from assay.report import Data
from assay.report.tables.checks.associations import (
    as_codes,
    correlation_ratio,
    correlations,
    cramers_v,
    leaking,
    of_leaks,
    repeats,
    sample,
    with_target,
)


def leaks(data, task):
    return of_leaks(data, leaking(data, task))


def test_correlations_are_those_of_the_rows_known_of_both(rng):
    table = rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))
    table[rng.random(table.shape) < 0.3] = np.nan
    np.testing.assert_allclose(correlations(table), pd.DataFrame(table).corr().to_numpy(), atol=1e-12)


@pytest.mark.parametrize("scale", [1e-300, 1.0, 1e300])
def test_correlations_do_not_depend_on_units(scale, rng):
    table = rng.normal(size=(50, 3))
    np.testing.assert_allclose(correlations(scale * table), np.corrcoef(table.T), atol=1e-12)


def test_columns_that_do_not_vary_or_are_hardly_known_have_no_correlation(rng):
    table = rng.normal(size=(50, 3))
    table[:, 1] = 1e6 + 0.1  # the mean of it is not exact
    table[9:, 2] = np.nan
    found = correlations(table)
    assert np.isnan(found[0, 1])
    assert np.isnan(found[0, 2])
    assert found[0, 0] == pytest.approx(1.0)


def test_the_correlation_ratio_is_the_root_of_the_adjusted_share_of_variance(rng):
    groups = rng.integers(4, size=200)
    values = rng.normal(size=200) + groups
    statistic = f_oneway(*(values[groups == group] for group in range(4))).statistic
    share = statistic * 3 / (statistic * 3 + 196)  # between over total
    assert correlation_ratio(values, groups) == pytest.approx(np.sqrt(1 - (1 - share) * 199 / 196))
    assert correlation_ratio(np.where(groups == 0, np.nan, values), groups) < 1


def test_a_level_for_every_other_row_explains_nothing(rng):
    values = rng.normal(size=400)
    assert correlation_ratio(values, np.arange(400) // 2) < 0.4
    assert correlation_ratio(values, np.arange(400)) == 0.0
    assert cramers_v(np.arange(400), rng.integers(2, size=400)) < 0.2


def test_cramers_v_is_that_of_the_chi_square_without_its_bias(rng):
    first = rng.integers(3, size=500)
    second = (first + rng.integers(3, size=500)) % 4
    counts = np.zeros((3, 4))
    np.add.at(counts, (first, second), 1)
    square = chi2_contingency(counts).statistic / 500 - 2 * 3 / 499
    most = min(3 - 4 / 499, 4 - 9 / 499) - 1
    assert cramers_v(first, second) == pytest.approx(np.sqrt(square / most))
    assert cramers_v(first, first) == pytest.approx(1.0)
    assert cramers_v(np.where(first == 0, -1, first), np.zeros(500, dtype=int)) == 0.0


def test_codes_are_the_same_for_texts_that_differ_in_blanks_and_missing_is_none():
    codes = as_codes(pd.Series(["a", " a ", None, "b", ""], dtype=object))
    assert codes.tolist() == [0, 0, -1, 1, -1]
    assert len(set(as_codes(pd.Series([[1], [2], [1]])).tolist())) == 2


def test_columns_are_ranked_by_what_they_tell_about_the_target(rng):
    x = rng.normal(size=300)
    frame = pd.DataFrame(
        {
            "noise": rng.normal(size=300),
            "against": -x,
            "group": np.where(x > 0, "up", "down"),
            "size": pd.Categorical(np.where(x > 1, "large", "small"), ["small", "large"], ordered=True),
        }
    )
    found = with_target(Data.from_frame(frame, 2 * x + 0.5 * rng.normal(size=300)), "regression")
    assert [item.name for item in found] == ["against", "group", "size", "noise"]
    assert found[0].strength == pytest.approx(-0.97, abs=0.02)
    assert [item.measure for item in found[:3]] == ["correlation", "correlation ratio", "correlation"]
    classes = with_target(Data.from_frame(frame, np.where(x > 0, "p", "q")), "classification")
    assert (classes[0].name, classes[0].measure) == ("group", "Cramér's V")
    assert classes[0].strength == pytest.approx(1.0)
    assert with_target(Data.from_frame(frame), "clustering") == []


def test_a_column_that_gives_the_target_away_is_told_and_no_other(rng):
    y = rng.normal(size=200)
    town = rng.choice(["Lyon", "Nice"], 200)
    frame = pd.DataFrame(
        {
            "copy": 3 - 2 * y,
            "logarithm": np.exp(3 * y),
            "good": y + 0.5 * rng.normal(size=200),
            "name": [f"row {index}" for index in range(200)],
            "town": town,
        }
    )
    told = leaks(Data.from_frame(frame, y, target="price"), "regression")
    assert len(told) == 2
    assert told[0].startswith("'copy' alone gives price away (correlation −1.00)")
    assert told[1].startswith("'logarithm' alone gives price away (rank correlation 1.00)")
    told = leaks(Data.from_frame(frame, town, target="place"), "classification")
    assert [sentence.split()[0] for sentence in told] == ["'town'"]
    assert leaks(Data.from_frame(frame), "clustering") == ()


class WalkedColumns(tuple):
    """Columns that count how often they are walked."""

    walks = 0

    def __iter__(self):
        type(self).walks += 1
        return super().__iter__()


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_columns_of_a_wide_table_are_not_walked_for_each_of_them(task, rng):
    if task == "regression":  # the order alone gives it away
        y = rng.normal(size=60)
        frame = pd.DataFrame({f"x{place}": (1 + place) * np.exp(2 * y) for place in range(40)})
    else:
        y = np.repeat(["down", "up"], 30)
        frame = pd.DataFrame((y == "up")[:, None] + 0.01 * rng.normal(size=(60, 40))).add_prefix("x")
    data = Data.from_frame(frame, y)
    data = replace(data, columns=WalkedColumns(data.columns))
    WalkedColumns.walks = 0
    assert len(leaking(data, task)) == 40
    assert WalkedColumns.walks <= 3


def test_a_column_that_the_class_decides_but_that_does_not_decide_the_class_is_no_leak(rng):
    kind = rng.choice(["bird", "fish", "insect", "mammal"], 120)
    frame = pd.DataFrame({"milk": kind == "mammal", "feathers": np.where(kind == "bird", "yes", "some")})
    frame["legs"] = pd.Series(kind).map({"bird": 2.0, "fish": 0.0, "insect": 6.0, "mammal": 4.0})
    frame["weight"] = frame["legs"] * 10 + rng.uniform(size=120)
    told = leaks(Data.from_frame(frame, kind, target="kind"), "classification")
    assert [sentence.split()[0] for sentence in told] == ["'legs'", "'weight'"]


def test_a_number_that_is_the_code_of_the_class_is_told(rng):
    labels = rng.choice(["a", "b", "c"], 90)
    frame = pd.DataFrame({"code": np.searchsorted(["a", "b", "c"], labels) + 1.0, "x": rng.normal(size=90)})
    assert len(leaks(Data.from_frame(frame, labels), "classification")) == 1


def test_pairs_come_strongest_first_and_once():
    matrix = np.array([[1.0, 0.5, -0.9], [0.5, 1.0, np.nan], [-0.9, np.nan, 1.0]])
    found = repeats(["a", "b", "c"], matrix, 0.3)
    assert found == [("a", "c", -0.9), ("a", "b", 0.5)]


def test_many_rows_are_sampled_always_the_same(rng):
    data = Data.from_frame(pd.DataFrame({"x": rng.normal(size=1000)}), rng.normal(size=1000))
    frame, y = sample(data, 100)
    again, _ = sample(data, 100)
    assert len(frame) == len(y) == 100
    pd.testing.assert_frame_equal(frame, again)
    np.testing.assert_array_equal(y, data.y[frame.index])
    assert sample(data)[0] is data.X
