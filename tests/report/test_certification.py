"""Certificates measured afresh: on the table of the fit, from the file alone, and able to fail."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import pytest

import assay
from assay import persistence
from assay.linear import Ridge
from assay.report import ReportError, certify_table, choose_data, compare, fit_table, read_table, write
from assay.report.results import fingerprint, fingerprint_of


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame(
        {
            "age": rng.integers(20, 60, 80).astype(float),
            "town": rng.choice(["Lyon", "Nice", "01"], 80),
            "since": pd.date_range("2020-01-01", periods=80, freq="D").strftime("%Y-%m-%d"),
            "member": rng.choice([True, False], 80),
        }
    )
    frame["spend"] = 2 * frame["age"] + frame["member"] + rng.normal(size=80)
    frame.loc[5, "age"] = np.nan
    frame.loc[9, "spend"] = np.nan
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory, table):
    folder = tmp_path_factory.mktemp("certify")
    table.to_csv(folder / "t.csv", index=False)
    fit_table("Ridge", folder / "t.csv", target="spend", output=folder / "m.skops")
    return folder


def test_the_certificates_of_a_fit_come_out_again(folder):
    found = certify_table(folder / "m.skops", folder / "t.csv")
    saved = assay.load(folder / "m.skops")[-1].certificates_
    assert found.holds
    assert {item.claim for item in saved} <= {item.claim for item in found}


def test_the_format_of_the_table_does_not_matter(folder, table):
    table["since"] = pd.to_datetime(table["since"])
    table.astype({"town": "category", "age": np.float32}).to_parquet(folder / "t.parquet")
    assert certify_table(folder / "m.skops", folder / "t.parquet").holds


@pytest.mark.parametrize(
    ("name", "method"), [("diabetes", "Ridge"), ("iris", "LogisticRegression"), ("us_arrests", "KMeans")]
)
def test_the_model_of_a_comparison_is_certified(tmp_path, name, method, monkeypatch):
    data = choose_data(read_table(name))
    comparison = compare(data, repeats=1, folds=2, methods=(method,))
    monkeypatch.setattr("assay.report.writing.render", lambda comparison, model_path: "<p></p>")
    model = write(comparison, tmp_path).model
    found = certify_table(model, name)
    assert found.holds
    assert found.holds == comparison.recommended.certificates.holds
    assert len(found) >= len(comparison.recommended.certificates)


def test_a_damaged_model_fails(folder, tmp_path):
    model, about = assay.load(folder / "m.skops"), persistence.about(folder / "m.skops")
    model[-1].coef_ = model[-1].coef_ + 0.1
    assay.save(model, tmp_path / "bent.skops", about=about)
    assert not certify_table(tmp_path / "bent.skops", folder / "t.csv").holds


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.iloc[::-1],
        lambda frame: frame.assign(age=frame["age"] + 1e-9),
        lambda frame: frame.assign(town=frame["town"].replace("01", "1")),
        lambda frame: frame.assign(spend=frame["spend"] * 2),
        lambda frame: frame.iloc[:-1],
    ],
)
def test_another_table_is_refused(folder, table, tmp_path, change):
    change(table).to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(ReportError, match=r"other\.csv is not the table .* about the rows of the fit"):
        certify_table(folder / "m.skops", tmp_path / "other.csv")


def test_a_table_without_the_target_or_a_column_is_refused(folder, table, tmp_path):
    table.drop(columns="spend").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ReportError, match=r"t\.csv lacks the target 'spend'"):
        certify_table(folder / "m.skops", tmp_path / "t.csv")
    table.drop(columns="age").to_csv(tmp_path / "t.csv", index=False)
    with pytest.raises(ReportError, match="lacks the column 'age'"):
        certify_table(folder / "m.skops", tmp_path / "t.csv")


def test_a_model_that_does_not_tell_its_table_is_refused(tmp_path):
    assay.save(Ridge().fit(np.eye(3), np.arange(3.0)), tmp_path / "m")
    with pytest.raises(ReportError, match=r"was not saved by assay compare or assay fit .* call its certify"):
        certify_table(tmp_path / "m", "diabetes")


def test_the_fingerprint_is_of_values_not_of_formats():
    data = choose_data(read_table("diabetes"))
    X, y, columns = data.X, data.y, data.columns
    assert fingerprint(data) == fingerprint_of(X.astype(object), y, columns)
    assert fingerprint(data) == fingerprint_of(X.assign(more=1.0), y, columns)
    other = tuple(dataclasses.replace(column, name=column.name + "x") for column in columns)
    assert fingerprint(data) != fingerprint_of(X.rename(columns=lambda name: name + "x"), y, other)
    first, second = list(X.columns[:2])
    swapped = X.assign(**{first: X[second], second: X[first]})
    assert fingerprint(data) != fingerprint_of(swapped, y, columns)
