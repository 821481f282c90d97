"""Columns are told apart by their values, and become numbers by what the fit has seen alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import assay
from assay.report import ReportError, describe_columns
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.tables.schema import left_out

N = 60


def kind_of(values, name="column"):
    (found,) = describe_columns(pd.DataFrame({name: values}))
    return found.kind


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        (np.linspace(0, 1, N), "numeric"),
        ([1, 2] * 30, "numeric"),
        ([True, False] * 30, "boolean"),
        (["yes", "No"] * 30, "boolean"),
        (["red", "green", "blue"] * 20, "categorical"),
        (["low", "High", "medium"] * 20, "ordinal"),
        (pd.Categorical(["b", "a"] * 30, categories=["b", "a"], ordered=True), "ordinal"),
        (pd.date_range("2024-01-01", periods=N), "date"),
        ([f"2024-02-{day % 28 + 1:02d}" for day in range(N)], "date"),
        ([f"person {number}" for number in range(N)], "identifier"),
        (np.arange(1, N + 1), "identifier"),
        ([f"this is the long and winding remark number {number}" for number in range(N)], "text"),
        (["same"] * N, "constant"),
        ([None] * N, "empty"),
        ([np.nan] * N, "empty"),
        ([np.inf] * N, "empty"),
        (["a", 1, 2.5] * 20, "categorical"),
        ([[1], [2], [1]] * 20, "categorical"),
    ],
)
def test_the_kind_of_a_column_is_told_from_its_values(values, kind):
    assert kind_of(values) == kind


def test_a_name_makes_different_numbers_an_identifier_and_measures_stay_numbers():
    shuffled = np.random.default_rng(0).permutation(10 * N)[:N]
    assert kind_of(shuffled, "customer_id") == "identifier"
    twice = np.concatenate([shuffled[2:], shuffled[2:4]])  # two rows stand there a second time
    assert kind_of(twice, "customer_id") == "identifier"
    assert kind_of(np.repeat(shuffled[: N // 2], 2), "customer_id") == "numeric"
    assert kind_of(shuffled, "income") == "numeric"
    assert kind_of(np.arange(5, N + 5), "age") == "numeric"


def test_every_column_that_is_left_out_is_said_with_the_reason():
    frame = pd.DataFrame({"row": range(1, 41), "same": 7, "x": np.linspace(0, 1, 40)})
    assert left_out(describe_columns(frame)) == (
        "Column 'row' is left out: it numbers the rows.",
        "Column 'same' is left out: every value is '7'.",
    )


@pytest.fixture
def table():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 10, N),
            "town": rng.choice(["Lyon", "Nice", "Paris"], N, p=[0.2, 0.3, 0.5]),
            "size": rng.choice(["small", "medium", "large"], N),
            "member": rng.choice(["yes", "no"], N),
            "since": pd.date_range("2020-01-01", periods=N, freq="37D"),
        }
    )
    frame.loc[::7, "age"] = np.nan
    frame.loc[::9, "town"] = None
    return frame


def test_features_are_standardised_and_named(table):
    encoder = TableEncoder(describe_columns(table)).fit(table)
    Z = encoder.transform(table)
    assert encoder.feature_names_out_[:5] == [
        "age",
        "age missing",
        "town = Nice",
        "town = Lyon",
        "town = missing",
    ]
    assert Z.shape == (N, len(encoder.feature_names_out_)) == (N, 11)
    assert_allclose(Z.mean(axis=0), 0, atol=1e-12)
    assert_allclose(Z.std(axis=0), 1, atol=1e-12)
    raw = Z * encoder.scale_ + encoder.mean_
    known = table["age"].notna().to_numpy()
    assert_allclose(raw[known, 0], table["age"][known])
    assert_allclose(raw[~known, 0], table["age"].median())
    assert_allclose(raw[:, 1], ~known, atol=1e-12)
    assert_allclose(raw[:, 2], table["town"] == "Nice", atol=1e-12)
    order = {"small": 0, "medium": 1, "large": 2}
    assert_allclose(raw[:, 5], table["size"].map(order), atol=1e-12)
    assert_allclose(raw[:, 6], table["member"] == "yes", atol=1e-12)
    assert_allclose(raw[:, -1], table["since"].dt.day_of_week >= 5, atol=1e-12)


def test_rows_outside_the_fit_teach_nothing(table):
    columns = describe_columns(table)
    half = table.iloc[:30]
    alone = TableEncoder(columns).fit(half).transform(half)
    changed = table.copy()
    changed.loc[30:, "age"] = 1e6
    changed.loc[30:, "town"] = "Brest"
    assert_allclose(TableEncoder(describe_columns(changed)).fit(changed.iloc[:30]).transform(half), alone)


def test_unseen_levels_are_told_and_encoded_as_the_reference(table):
    encoder = TableEncoder(describe_columns(table)).fit(table)
    new = table.head(2).assign(town=["Brest", "Paris"], size=["huge", "small"])
    assert encoder.unseen_levels(new) == {"town": ["Brest"], "size": ["huge"]}
    Z = encoder.transform(new)
    towns = slice(2, 5)
    assert_allclose(Z[0, towns], Z[1, towns])


def test_rare_levels_share_a_mark():
    words = [f"level {number}" for number in range(40)]
    frame = pd.DataFrame({"word": [word for number, word in enumerate(words) for _ in range(50 - number)]})
    encoder = TableEncoder(describe_columns(frame)).fit(frame)
    assert encoder.feature_names_out_[-1] == "word = other"
    assert len(encoder.feature_names_out_) == 30
    Z = encoder.transform(pd.DataFrame({"word": ["level 35", "never seen"]}))
    assert_allclose(Z[0], Z[1])
    gaps = pd.DataFrame({"word": [*frame["word"], None]})
    encoder = TableEncoder(describe_columns(gaps)).fit(gaps)
    assert encoder.feature_names_out_[-2:] == ["word = other", "word = missing"]
    raw = encoder.transform(gaps.tail(1)) * encoder.scale_ + encoder.mean_
    assert_allclose(raw[0], np.arange(31) == 30, atol=1e-12)  # what is missing is no rare level


def test_a_column_that_varies_by_rounding_alone_in_a_fold_is_not_blown_up():
    frame = pd.DataFrame({"x": [0.1, 0.1, 0.1, 0.2, 0.3], "z": np.arange(5.0) ** 2})
    assert frame["x"].head(3).to_numpy().std() > 0
    encoder = TableEncoder(describe_columns(frame)).fit(frame.head(3))
    assert_allclose(encoder.transform(frame)[:, 0], [0, 0, 0, 0.1, 0.2], atol=1e-12)


def test_a_missing_column_and_a_word_among_numbers_are_one_sentence(table):
    encoder = TableEncoder(describe_columns(table)).fit(table)
    with pytest.raises(ReportError, match=r"^The table lacks the column 'age' that the model was"):
        encoder.transform(table.drop(columns="age"))
    with pytest.raises(ReportError, match=r"^Column 'age' must hold numbers\. Got 'old' instead\.$"):
        encoder.transform(table.assign(age=["old"] * N))
    with pytest.raises(ReportError, match="'member' must hold truth values"):
        encoder.transform(table.assign(member=["perhaps"] * N))


def test_the_encoder_is_saved_with_what_it_learnt(table, tmp_path):
    encoder = TableEncoder(describe_columns(table)).fit(table)
    assay.save(encoder, tmp_path / "encoder.assay")
    loaded = assay.load(tmp_path / "encoder.assay")
    assert_allclose(loaded.transform(table), encoder.transform(table))
    assert loaded.columns == encoder.columns


def test_time_zones_and_texts_give_the_features_of_plain_dates(table):
    encoder = TableEncoder(describe_columns(table)).fit(table)
    zoned = table.assign(since=table["since"].dt.tz_localize("UTC"))
    texts = table.assign(since=table["since"].dt.strftime("%Y-%m-%d"))
    assert_allclose(encoder.transform(zoned), encoder.transform(table))
    assert_allclose(encoder.transform(texts), encoder.transform(table))
