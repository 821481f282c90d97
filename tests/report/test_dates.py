"""Dates are read in the forms in which people write them, and what is open about them is told."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.report import Reading, ReportError, choose_data, predict_table, read_table
from assay.report.fitting import fit_table
from assay.report.tables.checks.leakage import alarms
from assay.report.tables.dates import day_order, not_dates
from assay.report.tables.encoding.cells import days_of

MOMENTS = pd.Series(pd.date_range("2023-11-17 13:05", periods=40, freq="9D"))
DAYS = (MOMENTS - pd.Timestamp(0)).dt.days.to_numpy()


def chosen(tmp_path, texts, rng, **options):
    frame = pd.DataFrame({"day": texts, "x": rng.normal(size=len(texts)), "y": rng.normal(size=len(texts))})
    frame.to_csv(tmp_path / "t.csv", index=False)
    reading = Reading(na=options.pop("na", ()))
    return choose_data(read_table(tmp_path / "t.csv", reading=reading), target="y", **options)


@pytest.mark.parametrize(
    "form",
    [
        *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%Y%m%d", "%d/%m/%Y", "%m/%d/%Y", "%d.%m.%y", "%m/%d/%y"),
        *("%d %b %Y", "%d-%b-%y", "%b %d, %Y", "%A, %B %d, %Y", "%Y-%b-%d"),
        *("%Y-%m-%dT%H:%M:%SZ", "%m/%d/%Y %I:%M %p", "%d.%m.%Y, %H:%M", "%a, %d %b %Y %H:%M:%S GMT"),
        *("%a %b %d %H:%M:%S %Y", "%d/%b/%Y:%H:%M:%S +0000", "%Y-%m-%d %H:%M:%S.%f+01:00"),
    ],
)
def test_every_usual_form_of_a_date_is_read(tmp_path, form, rng):
    data = chosen(tmp_path, MOMENTS.dt.strftime(form), rng)
    column = data.columns[0]
    assert (column.kind, column.n_missing) == ("date", 0)
    days = days_of(data.X["day"], day_first=column.day_first)
    np.testing.assert_array_equal(np.floor(days), DAYS)
    if "%M" in form:
        np.testing.assert_allclose((days - DAYS) * 24, 13 + 5 / 60, rtol=1e-5)


@pytest.mark.parametrize(
    ("texts", "first"),
    [
        (["2024-02", "2024-03", "2023-11"], "2024-02-01"),
        (["02/2024", "03/2024", "11/2023"], "2024-02-01"),
        (["Feb 2024", "March 2024", "Nov 2023"], "2024-02-01"),
        (["2024Q2", "2024-Q1", "Q3 2023"], "2024-04-01"),
    ],
)
def test_months_and_quarters_begin_with_their_first_day(texts, first):
    assert not_dates(pd.Series(texts)) == ()
    assert days_of(pd.Series(texts))[0] == (pd.Timestamp(first) - pd.Timestamp(0)).days


@pytest.mark.parametrize(
    "texts",
    [
        ["2009-10", "2010-11", "2011-12"],  # school years
        ["1.0.15", "1.12.3", "2.0.11"],  # versions
        ["12", "13", "14"],
        ["10-19", "20-29", "30-39"],
        ["Jan", "Feb", "May"],
        ["Summer 2024", "Winter 2023", "1 May"],
    ],
)
def test_what_only_resembles_dates_is_none(texts):
    assert not_dates(pd.Series(texts)) is None


def test_hours_of_summer_and_winter_are_those_of_the_clock(rng, tmp_path):
    zones = np.where(MOMENTS.dt.month.isin([11, 12, 1, 2, 3]), "+01:00", "+02:00")
    data = chosen(tmp_path, MOMENTS.dt.strftime("%Y-%m-%dT%H:%M:%S") + zones, rng)
    np.testing.assert_allclose((days_of(data.X["day"]) - DAYS) * 24, 13 + 5 / 60)


@pytest.mark.parametrize("year", [1506, 2506, 9999])
def test_days_of_all_centuries_are_days(tmp_path, year, rng):
    days = [f"{year}-{1 + row % 12:02d}-{1 + row % 28:02d}" for row in range(40)]
    data = chosen(tmp_path, days, rng)
    assert data.columns[0].kind == "date"
    assert np.floor(days_of(data.X["day"])[0]) == np.datetime64(days[0]).astype(int)
    assert alarms(data, "regression") == ()


def test_marks_of_missing_dates_and_days_of_no_calendar_are_told(tmp_path, rng):
    texts = MOMENTS.dt.strftime("%d.%m.%Y")
    texts[3], texts[9], texts[20] = "-", "unknown", "31.02.2024"
    data = chosen(tmp_path, texts, rng)
    assert (data.columns[0].kind, data.columns[0].n_missing) == ("date", 3)
    assert "Column 'day' holds dates and '-', 'unknown', which was taken for a missing value." in data.notes
    assert any(
        note.startswith("Column 'day' holds dates but for 1 cell ('31.02.2024')") for note in data.notes
    )
    many = MOMENTS.dt.strftime("%Y-%m-%d")
    many[::3] = "see file"
    assert not_dates(many) is None


def test_dates_that_do_not_tell_the_day_from_the_month_are_told(tmp_path, rng):
    either = chosen(
        tmp_path, [f"{1 + (row + 2) % 12:02d}/{1 + (row + 1) % 7:02d}/2024" for row in range(40)], rng
    )
    assert (
        "The dates of 'day' may begin with the day or the month (03/02/2024): they were read with the month "
        "first; if that is wrong, write the year first, as in 2024-12-31." in either.notes
    )
    both = chosen(
        tmp_path, MOMENTS.dt.strftime("%d/%m/%Y").where(DAYS % 2 == 0, MOMENTS.dt.strftime("%m/%d/%Y")), rng
    )
    assert any("begin with the day (" in note and "and with the month (" in note for note in both.notes)
    clear = chosen(tmp_path, MOMENTS.dt.strftime("%m/%d/%Y"), rng)
    assert clear.notes == ()
    firsts = pd.Series([f"01/{1 + row % 12:02d}/2024" for row in range(40)])
    assert day_order(firsts).day_first  # the first day of each month


def test_a_day_that_stands_for_none_is_told_and_the_option_acts(tmp_path, rng):
    texts = MOMENTS.dt.strftime("%Y-%m-%d")
    texts[::9] = "9999-12-31"
    data = chosen(tmp_path, texts, rng)
    (told,) = [note for note in data.notes if "if that means missing" in note]
    assert told.startswith("'day' is 9999-12-31 in 5 rows and 2023-11-26 to ")
    assert told.endswith("use --na day=9999-12-31.")
    asked = chosen(tmp_path, texts, rng, na=("day=9999-12-31",))
    assert asked.columns[0].n_missing == 5
    assert not any("if that means missing" in note for note in asked.notes)
    pd.DataFrame({"day": pd.to_datetime(texts), "x": rng.normal(size=40)}).to_parquet(tmp_path / "t.parquet")
    typed = read_table(tmp_path / "t.parquet", reading=Reading(na=("day=9999-12-31",)))
    assert typed.frame["day"].isna().sum() == 5


def test_whole_numbers_that_are_days_are_dates_unless_asked(tmp_path, rng):
    frame = pd.DataFrame({"day": MOMENTS.dt.strftime("%Y%m%d").astype(int), "y": rng.normal(size=40)})
    frame["y"] += DAYS / 50
    frame["amount"] = 20_000_000 + rng.integers(0, 200_000, 40)
    for name in ("t.csv", "t.parquet"):
        getattr(frame, "to_" + name[2:])(tmp_path / name, index=False)
        data = choose_data(read_table(tmp_path / name), target="y")
        assert [column.kind for column in data.columns] == ["date", "numeric"]
        first = frame["day"][0]
        assert (
            f"Column 'day' holds dates such as {first}; --numeric day takes them for numbers." in data.notes
        )
    numbers = read_table(tmp_path / "t.csv", reading=Reading(numeric=("day",)))
    assert pd.api.types.is_numeric_dtype(numbers.frame["day"])
    fit_table("Ridge", tmp_path / "t.csv", target="y", output=tmp_path / "m.skops")
    predictions = []
    for name in ("t.csv", "t.parquet"):
        predict_table(tmp_path / "m.skops", tmp_path / name, tmp_path / f"{name}.out.csv")
        predictions.append(pd.read_csv(tmp_path / f"{name}.out.csv")["prediction"])
    np.testing.assert_allclose(*predictions)
    assert np.corrcoef(predictions[0], frame["y"])[0, 1] > 0.5


@pytest.mark.parametrize("task", ["auto", "regression", "classification"])
def test_a_target_of_dates_or_prose_is_refused_with_the_way_out(tmp_path, task, rng):
    prose = [f"the {row} words of a sentence are here" for row in range(40)]
    frame = pd.DataFrame({"day": MOMENTS.dt.strftime("%Y-%m-%d"), "remark": prose, "x": rng.normal(size=40)})
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    for target, sentence in {
        "day": "dates: name a number of days",
        "remark": "prose: name another column",
    }.items():
        with pytest.raises(
            ReportError, match=f"must hold numbers or classes; it holds {sentence} with --target"
        ):
            choose_data(table, target=target, task=task)
