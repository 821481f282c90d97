"""Numbers with units, currencies and other marks of decimals; what is told of texts that are half numbers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.report import Reading, ReportError, choose_data, predict_table, read_table
from assay.report.fitting import fit_table
from assay.report.tables.files.amounts import amount
from assay.report.tables.files.values import numbers_from_texts


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("12 kg", 12, "kg"),
        ("1,250.5kg", 1250.5, "kg"),
        ("-5°C", -5, "°C"),
        ("120 km/h", 120, "km/h"),
        ("80 m²", 80, "m²"),
        ("12 sq ft", 12, "sq ft"),
        ("5 m", 5, "m"),
        ("7‰", 7, "‰"),
        ("300 円", 300, "円"),
        ("$1.2M", 1.2e6, "$"),
        ("€565K", 565e3, "€"),
        ("$ (1,200)", -1200, "$"),
        ("$ -", 0, "$"),
        ("CHF 1'250.—", 1250, "CHF"),
        ("1’250.50 Fr.", 1250.5, "Fr."),
        ("Rs. 1,23,456", 123456, "Rs."),
        ("1\u2009234", 1234, ""),
        ("1,250-", -1250, ""),
        ("–5", -5, ""),
        ("%48", 48, "%"),
        ("12:30", 12.5, ":"),
        ("1:15 PM", 13.25, ":"),
    ],
)
def test_amounts_of_many_countries_and_units(text, value, unit):
    found = amount(text)
    assert found.value == pytest.approx(value)
    assert found.unit == unit


def column_of(tmp_path, texts, **options):
    frame = pd.DataFrame(
        {"v": texts, "x": np.arange(len(texts)) ** 2 % 17, "y": np.arange(len(texts)) ** 3 % 29}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    return choose_data(read_table(tmp_path / "t.csv", reading=Reading(**options)), target="y")


def test_a_unit_of_all_cells_makes_numbers_and_is_told(tmp_path):
    data = column_of(
        tmp_path, [f"{7 * row % 41} kg" if row % 5 else f"{7 * row % 41}" for row in range(1, 41)]
    )
    assert data.columns[0].kind == "numeric"
    assert data.columns[0].unit == "kg"
    assert data.X["v"].tolist() == [7 * row % 41 for row in range(1, 41)]
    assert "Column 'v' is in kg: 12 kg is read as 12; --categorical v takes them for words." in data.notes
    words = column_of(tmp_path, [f"{row % 9} kg" for row in range(1, 41)], categorical=("v",))
    assert words.X["v"][0] == "1 kg"
    years = numbers_from_texts(pd.Series(["1 year", "2 years", "3 Years", "?"]))
    assert years.values.tolist()[:3] == [1, 2, 3]


@pytest.mark.parametrize(
    "texts",
    [
        ["2WD", "4WD"],  # words with a digit
        ["12 kg", "300 g", "15 kg", "450 g"],  # 12 kg are more than 300 g
        ["1st", "2nd", "3rd", "4th"],
        ["001A", "002A", "003A"],
        ["12a", "12b", "14a", "16"],  # numbers of houses
        ["9 am", "10 am", "11 am"],
        ["5-10 kg", "10-20 kg", "20-50 kg"],
    ],
)
def test_digits_in_words_and_in_unlike_units_stay_words(texts):
    assert numbers_from_texts(pd.Series(texts * 10)) is None


def test_decimal_commas_within_a_file_of_commas_are_read_and_kept_by_the_model(tmp_path, rng):
    size = rng.normal(50, 9, 60).round(2)
    frame = pd.DataFrame(
        {"size": [f"{value:.2f}".replace(".", ",") for value in size], "x": rng.normal(size=60)}
    )
    frame["y"] = 3 * size + rng.normal(size=60)
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = choose_data(read_table(tmp_path / "t.csv"), target="y")
    assert data.X["size"].tolist() == size.tolist()
    assert "Column 'size' writes decimals with a comma: they were read so." in data.notes
    fitted = fit_table("Ridge", tmp_path / "t.csv", target="y", output=tmp_path / "m.skops")
    new = frame.iloc[:1].assign(size="51,125")  # which alone would be thousands
    new.to_csv(tmp_path / "new.csv", index=False)
    predict_table(tmp_path / "m.skops", tmp_path / "new.csv", tmp_path / "out.csv")
    assert abs(pd.read_csv(tmp_path / "out.csv")["prediction"][0] - 3 * 51.125) < 5
    assert abs(fitted.model.predict(new)[0] - 3 * 51.125) < 5


def test_another_unit_than_that_of_the_fit_is_refused(tmp_path):
    frame = pd.DataFrame(
        {"v": [f"{7 * row % 41} kg" for row in range(1, 41)], "y": np.arange(40) * 1.5 + 0.1}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    fitted = fit_table("Ridge", tmp_path / "t.csv", target="y", output=tmp_path / "m.skops")
    frame.assign(v="12 lb").to_csv(tmp_path / "new.csv", index=False)
    with pytest.raises(ReportError, match=r"Column 'v' must hold numbers\. Got '12 lb' instead"):
        predict_table(tmp_path / "m.skops", tmp_path / "new.csv", tmp_path / "out.csv")
    with pytest.raises(ReportError, match=r"Got '12 lb' instead"):
        fitted.model.predict(frame.assign(v="12 lb"))
    assert fitted.model.predict(frame.assign(v="12 kg"))[0] == fitted.model.predict(frame.assign(v=12))[0]


def test_errors_of_spreadsheets_are_missing_and_half_numbers_are_told(tmp_path):
    numbers = [f"{row * 1.5}" for row in range(60)]
    errors = column_of(tmp_path, [*numbers[:40], *["#DIV/0!"] * 15, "#REF!", "########"])
    assert (errors.columns[0].kind, errors.columns[0].n_missing) == ("numeric", 17)
    assert any("'#DIV/0!', '#REF!', which was taken for a missing value" in note for note in errors.notes)
    censored = column_of(tmp_path, [*numbers, *["<5", "<10"] * 5])
    assert censored.columns[0].kind != "numeric"
    assert censored.notes[0].startswith("Column 'v' holds numbers and 10 other cells ('<")
    assert censored.notes[0].endswith(": taken for words; --numeric v takes these cells for missing.")
    asked = column_of(tmp_path, [*numbers, *["<5", "<10"] * 5], numeric=("v",))
    assert (asked.columns[0].kind, asked.columns[0].n_missing) == ("numeric", 10)
