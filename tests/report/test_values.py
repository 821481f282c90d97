"""Values are read as a person means them; what was decided is told, with the option for otherwise."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from assay.report import RawTable, Reading, ReportError, choose_data, predict_table, read_table
from assay.report.fitting import fit_table
from assay.report.prediction import certify_table
from assay.report.tables.checks.doubts import doubts, mistyped, sentinel
from assay.report.tables.checks.leakage import alarms
from assay.report.tables.dates import dates
from assay.report.tables.files.amounts import amount
from assay.report.tables.files.totals import without_totals
from assay.report.tables.files.values import numbers_from_texts
from assay.report.tables.schema import describe_columns


def written(path, text: str):
    path.write_text(text, encoding="utf-8")
    return path


def chosen(table, **options):
    return choose_data(table, **options)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$7,440", 7440),
        ("$ 7,440.50", 7440.5),
        ("-$12", -12),
        ("$-12", -12),
        ("($1,200)", -1200),
        ("(12)", -12),
        ("−3.5", -3.5),
        ("60%", 60),
        ("60 %", 60),
        ("1 234", 1234),
        ("1\u202f234\u00a0€", 1234),
        ("EUR 12", 12),
        ("12 USD", 12),
        ("US$5", 5),
        ("1e3", 1000),
        ("1'234'567", 1234567),
        ("+7", 7),
    ],
)
def test_numbers_as_people_write_them(text, value):
    assert amount(text).value == value


@pytest.mark.parametrize(
    "text",
    [
        "(12",
        "12)",
        "--5",
        "$5$",
        "-(5)",
        "12 apples and pears",
        "007A",
        "4th",
        "1,23,4",
        "2021-04-03",
        "1.2.3",
        "A5",
        "5%%",
    ],
)
def test_what_only_resembles_a_number_is_none(text):
    assert amount(text) is None


def test_decimal_commas_and_marks_of_missing_numbers():
    assert amount("1.234,5 €", ",").value == 1234.5
    assert amount("12,5%", ",").value == 12.5
    assert all(np.isnan(amount(text).value) for text in ("", "?", "n/a", "None", "-", "unknown"))


def prices(n=40, **more):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(50, 9, n).round(2), **more})
    frame["price"] = [f"${value:,.0f}" for value in 3000 * frame["size"] + rng.normal(size=n)]
    frame["discount"] = [f"{value:.0f}%" for value in rng.uniform(0, 30, n)]
    frame["balance"] = [f"({-v:.0f})" if v < 0 else f"{v:.0f}" for v in rng.normal(0, 50, n).round()]
    return frame


def test_money_per_cents_and_brackets_are_numbers_and_said(tmp_path):
    prices().to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    data = choose_data(table, target="price")
    assert data.task == "regression"
    assert {column.name: column.kind for column in data.columns} == dict.fromkeys(
        ("size", "discount", "balance"), "numeric"
    )
    assert [column.unit for column in data.columns] == ["", "%", ""]
    assert data.X["balance"].min() < 0
    assert data.y.min() > 50_000
    notes = " ".join(data.notes)
    assert "Column 'price' holds amounts of money ($): they were read as numbers." in notes
    assert "Column 'discount' is in per cent: 60% is read as 60." in notes
    assert "Column 'balance' has numbers in brackets: they were read as negative." in notes


@pytest.mark.parametrize("kind", ["parquet", "xlsx", "jsonl", "feather"])
def test_every_format_reads_money_as_csv_does(tmp_path, kind):
    frame = prices()
    frame.to_csv(tmp_path / "t.csv", index=False)
    save(frame, tmp_path / f"t.{kind}")
    pd.testing.assert_frame_equal(
        read_table(tmp_path / f"t.{kind}").frame, read_table(tmp_path / "t.csv").frame, check_dtype=False
    )


def save(frame, path):
    writers = {
        ".parquet": lambda: frame.to_parquet(path),
        ".xlsx": lambda: frame.to_excel(path, index=False),
        ".jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        ".feather": lambda: frame.to_feather(path),
        ".csv": lambda: frame.to_csv(path, index=False),
    }
    writers[path.suffix]()


def test_digits_in_a_typed_file_stay_the_words_they_are(tmp_path):
    frame = pd.DataFrame({"code": [f"0{number % 4}1" for number in range(40)], "x": np.arange(40.0) ** 2})
    frame.to_parquet(tmp_path / "t.parquet")
    assert read_table(tmp_path / "t.parquet").frame["code"].iloc[0] == "001"


def test_plain_numbers_among_per_cents_are_not_guessed_at():
    mixed = pd.Series([f"{value}%" for value in range(10, 30)] + ["0.6", "0.7"] * 5)
    assert numbers_from_texts(mixed) is None
    few = numbers_from_texts(pd.Series([f"{value}%" for value in range(10, 60)] + ["0.6"]))
    assert few.strays == ("0.6",)
    assert np.isnan(few.values.iloc[-1])


def test_a_total_below_numbers_leaves_them_numbers_and_is_no_leak(tmp_path, rng):
    n = 30
    frame = pd.DataFrame({"year": [str(year) for year in range(1990, 1990 + n)], "rain": rng.gamma(3, 20, n)})
    frame["yield"] = rng.normal(50, 5, n)
    stray = pd.DataFrame({"year": ["Total"], "rain": [rng.gamma(3, 20)], "yield": [50.0]})
    pd.concat([frame, stray]).to_csv(tmp_path / "t.csv", index=False)
    data = chosen(read_table(tmp_path / "t.csv"), target="yield")
    year = data.columns[0]
    assert year.kind == "numeric"
    assert year.n_missing == 1
    assert (
        "Column 'year' holds numbers but for 1 cell ('Total'), taken for missing; --categorical year takes "
        "all of them for words." in data.notes
    )
    assert alarms(data, "regression") == ()
    words = read_table(tmp_path / "t.csv", reading=Reading(categorical=("year",)))
    assert words.frame["year"].iloc[-1] == "Total"


def test_a_row_that_is_the_sum_of_those_above_is_left_out_and_said(tmp_path):
    text = "town,units,price\nLyon,3,$1.5\nNice,4,$2.5\nBrest,5,$3.5\nMetz,6,$1.0\nTotal,18,\nSource: us,,\n"
    table = read_table(written(tmp_path / "t.csv", text))
    assert table.frame["town"].tolist() == ["Lyon", "Nice", "Brest", "Metz"]
    assert table.frame["units"].tolist() == [3, 4, 5, 6]
    assert table.frame["price"].tolist() == [1.5, 2.5, 3.5, 1.0]
    assert "The last row ('Total') is the sum of those above: left out." in table.notes
    assert "The last row holds a note and no values: left out." in table.notes
    named = written(
        tmp_path / "n.csv", text.replace("Source: us", "Brest")
    )  # a row of which nothing is known
    assert read_table(named).frame["town"].iloc[-1] == "Brest"
    odd = pd.DataFrame({"town": ["Lyon", "Nice", "Brest", "Total"], "units": [3.0, 4.0, 5.0, 11.0]})
    assert without_totals(odd, None)[2] == ()  # the word alone proves nothing
    sums = pd.DataFrame({"town": ["Lyon", "Nice", "Brest", "Metz"], "units": [3.0, 4.0, 5.0, 12.0]})
    assert without_totals(sums, None)[2] == ()  # nor does the sum


def test_few_numbers_or_many_words_make_no_column_of_numbers():
    codes = pd.Series(["1", "2", "3", "3+"] * 20)
    assert numbers_from_texts(codes) is None
    tickets = pd.Series([str(number) for number in range(70)] + [f"A/{number}" for number in range(30)])
    assert numbers_from_texts(tickets) is None
    assert numbers_from_texts(tickets, forced=True).n_strays == 30
    stations = pd.Series([str(number) for number in range(1000, 1100)] + ["c168"])
    assert numbers_from_texts(stations) is None
    censored = pd.Series([str(number) for number in range(1000, 1100)] + ["<5", "1200*"])
    assert numbers_from_texts(censored).n_strays == 2


def test_none_is_a_level_among_words_and_missing_among_numbers_and_truths(tmp_path):
    rows = "".join(
        f"{'None' if row % 3 else 'Gravel'},{'None' if row % 5 == 0 else row * 1.5},"
        f"{'None' if row % 7 == 0 else row % 2 == 0},{row}\n"
        for row in range(1, 41)
    )
    path = written(tmp_path / "t.csv", "alley,width,paved,y\n" + rows)
    data = chosen(read_table(path), target="y")
    kinds = {column.name: (column.kind, column.n_missing) for column in data.columns}
    assert kinds == {"alley": ("categorical", 0), "width": ("numeric", 8), "paved": ("boolean", 5)}
    assert set(data.columns[0].levels) == {"None", "Gravel"}
    assert "'None' is a level of 'alley' (27 rows); --na alley=None takes it for missing." in data.notes
    asked = chosen(read_table(path, reading=Reading(na=("alley=None",))), target="y")
    assert asked.columns[0].n_missing == 27


def test_a_mark_of_nothing_among_words_is_a_level_and_said_and_missing_among_truths(tmp_path):
    rows = "".join(
        f"{'?' if row % 4 else 'Paris'},{'-' if row % 6 == 0 else 'yes' if row % 2 else 'no'},{row}\n"
        for row in range(1, 41)
    )
    path = written(tmp_path / "t.csv", "town,paid,y\n" + rows)
    data = chosen(read_table(path), target="y")
    kinds = {column.name: (column.kind, column.n_missing) for column in data.columns}
    assert kinds == {"town": ("categorical", 0), "paid": ("boolean", 6)}
    assert "'?' is a level of 'town' (30 rows); --na 'town=?' takes it for missing." in data.notes


def test_sentinels_are_told_with_the_option_that_acts_and_it_does(tmp_path, rng):
    frame = pd.DataFrame({"degrees": rng.normal(12, 6, 60).round(1), "age": rng.integers(18, 80, 60)})
    frame.loc[::15, "degrees"] = -999
    frame.loc[::20, "age"] = 999
    frame["y"] = rng.normal(size=60)
    frame.to_csv(tmp_path / "t.csv", index=False)
    notes = chosen(read_table(tmp_path / "t.csv"), target="y").notes
    told = [note for note in notes if "if that means missing" in note]
    assert len(told) == 2
    assert told[0].startswith("'degrees' is −999 in 4 rows and ")
    assert told[0].endswith("use --na degrees=-999.")
    reading = Reading(na=("degrees=-999", "age=999"))
    data = chosen(read_table(tmp_path / "t.csv", reading=reading), target="y")
    assert data.X["degrees"].min() > -40
    assert [column.n_missing for column in data.columns] == [4, 3]
    assert "7 cells were taken for missing by request (degrees=-999, age=999)." in data.notes
    assert not any("if that means missing" in note for note in data.notes)


def test_several_codes_of_one_column_are_told_together(rng):
    values = rng.integers(0, 100, 80).astype(float)
    values[::9], values[1::11], values[2] = -999, -888, 99
    frame = pd.DataFrame({"v": values})
    n_rows = int((values < 0).sum())
    assert doubts(frame, describe_columns(frame)) == (
        f"'v' is −999 or −888 in {n_rows} rows and {values[values >= 0].min():.0f} to 99 in the others: if "
        "that means missing, use --na v=-999 --na v=-888.",
    )
    for code in (999.9, -32768, 2**31 - 1):
        assert sentinel(np.r_[rng.normal(12, 4, 60).round(1), code, code]).value == code


@pytest.mark.parametrize(
    "values",
    [
        np.r_[np.linspace(0, 1200, 200), 999, 999],  # inside the range
        np.r_[np.arange(1.0, 100.0), 99, 99],  # ages
        np.r_[np.linspace(20, 80, 60), 99],  # one row
        np.r_[np.linspace(0, 500, 60), 999, 999],  # as far away as the others are from each other
        np.r_[np.linspace(0, 4000, 60), 9999, 9999],  # less than two such ranges away
        np.repeat([-1.0, 0.0, 1.0], 20),  # votes
        np.r_[np.linspace(-30, 30, 60), -1, -1],
    ],
)
def test_numbers_that_only_look_like_sentinels_are_not_told(values):
    assert sentinel(values) is None


def test_a_mistyped_digit_is_told_in_a_column_and_in_the_target(rng):
    price = rng.lognormal(5, 0.4, 150).round(2)
    price[17] = 150_000.0
    frame = pd.DataFrame({"size": rng.normal(100, 10, 150), "price": price})
    data = choose_data(RawTable("t", frame), target="price")
    (told,) = [note for note in data.notes if "mistyped" in note]
    assert told.startswith("'price' is ")
    assert "use --na price=150000." in told
    frame.loc[3, "size"] = 1000.0
    notes = doubts(frame[["size"]], describe_columns(frame[["size"]]))
    assert len(notes) == 1
    assert "'size' is 1000 in one row" in notes[0]


@pytest.mark.parametrize("slip", [420.0, -31.0 * 10])
@pytest.mark.parametrize("digits", ["ages", "grades", "halves"])
def test_a_mistyped_digit_is_told_among_numbers_that_tie(rng, slip, digits):
    draws = {
        "ages": rng.integers(20, 70, 80),
        "grades": 1 + np.arange(80) % 5,
        "halves": np.arange(80) % 13 / 2,
    }
    values = draws[digits].astype(float)
    assert mistyped(values) is None
    values[7] = slip
    assert mistyped(values).value == slip


def test_what_may_make_every_number_wrong_is_told_before_how_texts_were_read(tmp_path, rng):
    price = rng.integers(2_000, 20_000, 150)
    lines = [f'"${value:,}","{km:,}",{km % 7}' for value, km in zip(price, 9 * price, strict=True)]
    lines[5] = '"$12,345,678","40,000",3'
    (tmp_path / "cars.csv").write_text("price,km,seats\n" + "\n".join(lines))
    data = choose_data(read_table(tmp_path / "cars.csv"), target="price")
    assert data.notes[0].startswith(f"'price' is 12,345,678 in one row and {np.delete(price, 5).min()} to ")
    assert f" to {np.delete(price, 5).max():,} in the others" in data.notes[0]
    assert any("amounts of money" in note for note in data.notes[1:])


@pytest.mark.parametrize(
    "law", ["normal", "lognormal", "pareto", "exponential", "poisson", "student", "rounded", "counts"]
)
def test_heavy_tails_are_rarely_called_mistyped(law):
    rng = np.random.default_rng(1)
    draws = {
        "normal": lambda: rng.normal(size=300),
        "lognormal": lambda: rng.lognormal(0, 1.5, 300),
        "pareto": lambda: rng.pareto(1.0, 300),
        "exponential": lambda: rng.exponential(size=300),
        "poisson": lambda: rng.poisson(2.0, 300).astype(float),
        "student": lambda: rng.standard_t(2, 300),
        "rounded": lambda: (10 * rng.pareto(1.0, 300)).round(),
        "counts": lambda: rng.negative_binomial(0.5, 0.1, 300).astype(float),
    }
    told = sum(mistyped(draws[law]()) is not None for _ in range(2000))
    assert told <= 8  # a thousandth of 2000 is 2, and four standard errors


def test_columns_that_others_give_are_told_and_independent_ones_are_not(rng):
    frame = pd.DataFrame(rng.normal(size=(80, 3)), columns=["a", "b", "c"])
    assert doubts(frame, describe_columns(frame)) == ()
    frame["sum"], frame["double"] = frame["a"] + frame["b"], 2 * frame["c"] + 1
    assert doubts(frame, describe_columns(frame)) == (
        "'sum' is a + b: it adds nothing to them; --drop sum leaves it out.",
        "'double' is linear in 'c': it adds nothing to them; --drop double leaves it out.",
    )


def test_categorical_and_numeric_decide_against_the_looks(tmp_path):
    rows = "".join(f"{row % 3}1,{row},{'abc'[row % 3] if row % 2 else row},{row % 4}\n" for row in range(40))
    path = written(tmp_path / "t.csv", "zip,row,mixed,y\n" + rows)
    plain = chosen(read_table(path), target="y")
    assert {column.name: column.kind for column in plain.columns} == {
        "zip": "numeric",
        "row": "identifier",
        "mixed": "categorical",
    }
    reading = Reading(categorical=("zip", "y"), numeric=("row", "mixed"))
    data = choose_data(read_table(path, reading=reading), target="y")
    assert data.task == "classification"
    assert {column.name: column.kind for column in data.columns} == {
        "zip": "categorical",
        "row": "numeric",
        "mixed": "numeric",
    }
    assert set(data.columns[0].levels) == {"01", "11", "21"}
    assert data.columns[2].n_missing == 20


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (Reading(categorical=("zpi",)), r"has no column 'zpi'\. Did you mean 'zip'\?"),
        (Reading(na=("zpi=3",)), r"has no column 'zpi'\. Did you mean 'zip'\?"),
        (Reading(numeric=("town",)), r"Column 'town' holds no numbers but 'Lyon'; leave out --numeric town"),
        (Reading(numeric=("zip",), categorical=("zip",)), r"'zip' is both categorical and numeric"),
        (Reading(skip=99), r"has no line below the 99 that --skip leaves out"),
        (Reading(separator="||"), r"The separator must be one character, or tab\. Got '\|\|' instead"),
    ],
)
def test_wishes_that_cannot_be_met_are_one_sentence(tmp_path, reading, sentence):
    path = written(tmp_path / "t.csv", "zip,town\n" + "1,Lyon\n2,Nice\n" * 5)
    with pytest.raises(ReportError, match=sentence):
        read_table(path, reading=reading)


TITLES = "Sales of 2024,,,\nFrom: the office,,,\n\n"
PAIRS = [f"Lyon,{row},{row * 2.5},a\nNice,{row + 1},{row},b\n" for row in range(9)]
LINES = "town,units,price,kind\n" + "".join(PAIRS)


def test_titles_above_the_header_are_found_and_said(tmp_path):
    expected = read_table(written(tmp_path / "plain.csv", LINES))
    table = read_table(written(tmp_path / "t.csv", TITLES + LINES))
    pd.testing.assert_frame_equal(table.frame, expected.frame)
    assert "The first 3 lines were taken for titles above the header; --skip tells otherwise." in table.notes
    assert not any("title" in note for note in expected.notes)
    semicolons = "Ventes, hors taxes\n" + LINES.replace(",", ";").replace(".", ",")
    table = read_table(written(tmp_path / "s.csv", semicolons))
    pd.testing.assert_frame_equal(table.frame, expected.frame)
    years = "Rain by year\ntown,2019,2020\n" + "".join(f"Lyon,{row},{row + 2.5}\n" for row in range(9))
    assert list(read_table(written(tmp_path / "y.csv", years)).frame.columns) == ["town", "2019", "2020"]


def test_skip_and_separator_decide_themselves(tmp_path):
    table = read_table(written(tmp_path / "t.csv", TITLES + LINES), reading=Reading(skip=4))
    assert table.frame.columns[0] == "Lyon"
    odd = "a:b\n" + "".join(f"{row}:{row / 2}\n" for row in range(5))
    table = read_table(written(tmp_path / "o.csv", odd), reading=Reading(separator=":"))
    assert table.frame.shape == (5, 2)
    spaced = odd.replace(":", "\t")
    assert read_table(written(tmp_path / "t.txt", spaced), reading=Reading(separator="tab")).frame.shape == (
        5,
        2,
    )


def test_digits_that_begin_with_zeros_are_codes(tmp_path):
    """A French post code is no number; 07 may be a month, and a zero among other lengths is a number."""
    zips = ["01000", "06000", "75001", ""] * 5
    lines = ""
    for row, code in enumerate(zips):
        lines += f"{code},{row % 12 + 1:02d},{row % 11:03d},{10 ** (row % 4)},{row % 9}\n"
    path = written(tmp_path / "t.csv", "zip,month,line,power,y\n" + lines)
    table = read_table(path)
    kinds = {column.name: column.kind for column in describe_columns(table.frame)}
    assert kinds == {"zip": "categorical", "month": "numeric", "line": "categorical"} | dict.fromkeys(
        ("power", "y"), "numeric"
    )
    assert table.frame["zip"].dropna().unique().tolist() == ["01000", "06000", "75001"]
    told = (
        "Column 'zip' holds digits that begin with zeros, such as 01000: taken for codes; --numeric zip takes"
    )
    assert any(note.startswith(told) for note in table.notes)
    asked = read_table(path, reading=Reading(numeric=("zip",)))
    assert asked.frame["zip"].dropna().unique().tolist() == [1000, 6000, 75001]
    fit_table("Ridge", path, target="y", output=tmp_path / "m.skops")
    predicted = predict_table(tmp_path / "m.skops", path, tmp_path / "out.csv")
    assert not predicted.notes


def test_a_separator_that_the_file_has_not_is_named_and_not_a_line_of_it(tmp_path):
    table = read_table(written(tmp_path / "t.csv", "a,b\n1,2\n3,4\n5,6\n"), reading=Reading(separator=";"))
    with pytest.raises(ReportError, match=r"its lines are one column, 'a,b', where ';' separates"):
        choose_data(table, target="b")


def test_the_model_reads_new_values_as_its_fit_did(tmp_path, rng):
    frame = prices(80, town=["None", "Lyon", "Nice", "unknown"] * 20)
    frame["degrees"] = np.where(np.arange(80) % 9 == 0, -999.0, rng.normal(size=80).round(2))
    frame["y"] = rng.normal(size=80)
    frame.to_csv(tmp_path / "t.csv", index=False)
    reading = Reading(na=("degrees=-999", "town=unknown"))
    fitted = fit_table("Ridge", tmp_path / "t.csv", target="y", output=tmp_path / "m.skops", reading=reading)
    meant = read_table(tmp_path / "t.csv", reading=reading).frame
    expected = fitted.model.predict(meant)
    for ending in ("csv", "xlsx", "jsonl", "parquet"):
        save(frame, tmp_path / f"new.{ending}")
        predicted = predict_table(tmp_path / "m.skops", tmp_path / f"new.{ending}", tmp_path / "out.csv")
        assert predicted.unseen == {}
        np.testing.assert_allclose(pd.read_csv(tmp_path / "out.csv")["prediction"], expected)
    # A frame given in Python is read so too: the sign of the money, the code of the missing number.
    np.testing.assert_allclose(fitted.model.predict(frame), expected)
    moved = fitted.model.predict(meant.assign(degrees=meant["degrees"].fillna(5.0)))
    assert np.abs(moved - expected).max() > 1e-3
    assert certify_table(tmp_path / "m.skops", tmp_path / "t.csv").holds
    with pytest.raises(ReportError, match=r"Column 'price' must hold numbers\. Got 'much' instead"):
        fitted.model.predict(frame.assign(price="much"))


def test_rows_that_differ_in_a_column_that_is_left_out_do_not_repeat_each_other(tmp_path):
    rows = "".join(f"id{row},{row % 2},{row % 3}\n" for row in range(60))
    data = chosen(read_table(written(tmp_path / "t.csv", "id,a,y\n" + rows)), target="y")
    assert data.feature_names == ["a"]
    assert data.n_repeating == 0
    rows = "".join(f"{row % 2},{row % 3}\n" for row in range(60))
    data = chosen(read_table(written(tmp_path / "u.csv", "a,y\n" + rows)), target="y")
    assert data.n_repeating == 54


@pytest.mark.parametrize(
    ("reading", "sentence"),
    [
        (Reading(sheet="2"), "--sheet changes nothing: it is for workbooks."),
        (Reading(skip=0), ""),
        (Reading(separator=","), ""),
    ],
)
def test_options_that_a_text_has_no_use_for_are_told(tmp_path, reading, sentence):
    (tmp_path / "t.csv").write_text("a,b\n1,2\n3,4\n", encoding="utf-8")
    notes = read_table(tmp_path / "t.csv", reading=reading).notes
    assert [note for note in notes if "changes nothing" in note] == ([sentence] if sentence else [])


def test_options_of_texts_are_told_where_a_typed_file_is_read(tmp_path):
    pd.DataFrame({"a": [1, 2], "b": [3, 4]}).to_parquet(tmp_path / "t.parquet")
    notes = read_table(tmp_path / "t.parquet", reading=Reading(skip=1, separator=";", sheet="1")).notes
    assert [note.partition(" ")[0] for note in notes] == ["--skip", "--separator", "--sheet"]


def test_commas_that_group_thousands_beside_decimal_points_are_no_decimals(tmp_path):
    text = "town\tpeople\tarea\nA\t1,234\t12.5\nB\t2,345\t11.25\nC\t13,456\t255.8394\n"
    (tmp_path / "t.tsv").write_text(text, encoding="utf-8")
    table = read_table(tmp_path / "t.tsv")
    assert table.frame["people"].tolist() == [1234, 2345, 13456]
    assert table.frame["area"].tolist() == [12.5, 11.25, 255.8394]
    assert "Column 'people' groups thousands: its texts were read as numbers." in table.notes
    (tmp_path / "t.tsv").write_text(
        text.replace(",", ";").replace(".", ",").replace(";", "."), encoding="utf-8"
    )
    again = read_table(tmp_path / "t.tsv")
    pd.testing.assert_frame_equal(again.frame, table.frame, check_dtype=False)
    (tmp_path / "t.tsv").write_text(text.replace("12.5", "12,5"), encoding="utf-8")
    assert "Decimal commas were read as decimal points." in read_table(tmp_path / "t.tsv").notes


@pytest.mark.parametrize("text", ["(" + 50_000 * " " + "x", 50_000 * "1" + "!", "$" + 50_000 * " " + "!"])
def test_a_very_long_text_is_no_number_and_no_date_and_that_is_seen_at_once(text):
    """Patterns that try every way to part blanks or digits would not end: a cell must not stop a server."""
    assert amount(text) is None
    assert dates(pd.Series([text, "feb 6, 2024 12:30" + 50_000 * " " + "!"])).isna().all()
