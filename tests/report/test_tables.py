"""Tables: what is read, and one sentence for each thing that is wrong."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.report import RawTable, Reading, ReportError, choose_data, choose_task, read_table
from assay.report.tables.encoding.cells import days_of
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.tables.files import byte_streams


@pytest.fixture
def frame(rng):
    return pd.DataFrame({"a": rng.normal(size=30), "b": rng.normal(size=30), "y": rng.normal(size=30)})


def written(path, text: str):
    path.write_text(text, encoding="utf-8")
    return path


def test_csv_and_parquet_give_the_same_table(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    one, other = read_table(tmp_path / "t.csv"), read_table(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(one.frame, other.frame)
    assert one.row_names is None


def test_target_is_parted_from_the_features(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    data = choose_data(read_table(tmp_path / "t.csv"), target="y", drop=("b",))
    assert data.task == "regression"
    assert data.feature_names == ["a"]
    np.testing.assert_allclose(data.y, frame["y"])
    assert "Left out by request: b." in data.notes


def test_semicolons_tabs_decimal_commas_and_byte_order_marks_are_understood(tmp_path):
    european = written(tmp_path / "e.csv", "﻿a;b\n1,5;2\n2,5;3\n")
    tabbed = written(tmp_path / "t.tsv", "a\tb\n1.5\t2\n2.5\t3\n")
    with gzip.open(tmp_path / "z.csv.gz", "wt", encoding="utf-8") as file:
        file.write("a,b\n1.5,2\n2.5,3\n")
    for path in (european, tabbed, tmp_path / "z.csv.gz"):
        table = read_table(path).frame
        assert list(table.columns) == ["a", "b"]
        np.testing.assert_allclose(table["a"], [1.5, 2.5])


def test_a_first_column_without_name_holds_the_names_of_the_rows(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0]}, index=["Alabama", "Alaska"])
    frame.to_csv(tmp_path / "t.csv")
    frame.to_parquet(tmp_path / "t.parquet")
    written(tmp_path / "r.csv", "a\nAlabama,1\nAlaska,2\n")
    for name in ("t.csv", "t.parquet", "r.csv"):
        table = read_table(tmp_path / name)
        assert table.row_names == ("Alabama", "Alaska")
        assert list(table.frame.columns) == ["a"]


def test_embedded_tables_are_read_by_name():
    assert read_table("diabetes").target == "progression"
    arrests = read_table("us_arrests")
    assert arrests.row_names[0] == "Alabama"
    assert arrests.target is None


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("empty.csv", "", r"empty\.csv is empty\."),
        ("blank.csv", "\n \n", r"blank\.csv is empty\."),
        ("header.csv", "a,b\n", r"header\.csv has no rows\."),
        ("one.csv", "a,b\n1,2\n", r"one\.csv has one row only"),
        ("twice.csv", "a,a,b\n1,2,3\n4,5,6\n", r"more than one column named 'a'; give each its own name"),
        (
            "ragged.csv",
            "a,b\n1,2\n1,2,3,4\n",
            r"cannot be read as CSV: Expected 2 fields in line 3, saw 4; put",
        ),
        ("long.csv", "a,b\n1,2,3,4\n4,5,6,7\n", r"more fields than its header has names"),
        ("table.doc", "a,b\n1,2\n", r"ending of table\.doc does not tell what it is"),
        ("table.xlsx", "a,b\n1,2\n", r"table\.xlsx is not a whole Excel file"),
    ],
)
def test_bad_files_get_one_sentence(tmp_path, name, text, sentence):
    with pytest.raises(ReportError, match=sentence):
        read_table(written(tmp_path / name, text))


def test_missing_file_names_the_embedded_tables(tmp_path):
    with pytest.raises(
        ReportError, match=r"There is no file .*nowhere\.csv, and no embedded table .*diabetes"
    ):
        read_table(tmp_path / "nowhere.csv")


def test_an_embedded_table_stands_behind_no_folder_of_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "iris").mkdir()
    assert read_table("iris").classes


def test_feather_and_standard_input_give_the_table_of_csv(tmp_path, frame, monkeypatch):
    frame.to_feather(tmp_path / "t.feather")
    frame.to_csv(tmp_path / "t.csv", index=False)
    frame.to_parquet(tmp_path / "t.parquet")
    expected = read_table(tmp_path / "t.csv").frame
    pd.testing.assert_frame_equal(read_table(tmp_path / "t.feather").frame, expected)
    for name in ("t.csv", "t.parquet", "t.feather"):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO((tmp_path / name).read_bytes())))
        table = read_table("-")
        assert table.name == "standard input"
        pd.testing.assert_frame_equal(table.frame, expected)


def test_a_target_without_values_or_with_one_is_refused(tmp_path):
    table = read_table(written(tmp_path / "t.csv", "a,y,z\n1,,7\n2,,7\n3,,7\n"))
    with pytest.raises(ReportError, match=r"The target 'y' has no value in any row\."):
        choose_data(table, target="y")
    with pytest.raises(ReportError, match=r"The target 'z' is 7 in every row; there is nothing to predict\."):
        choose_data(table, target="z")


def test_rows_without_a_target_are_left_out_and_said(tmp_path):
    lines = "a,y\n" + "".join(f"{row / 7},{'' if row % 5 == 0 else row * 1.5}\n" for row in range(30))
    data = choose_data(read_table(written(tmp_path / "t.csv", lines)), target="y")
    assert data.X.shape == (24, 1)
    assert len(data.y) == 24
    assert "6 rows have no value of 'y': left out." in data.notes


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(ReportError, match="is a folder"):
        read_table(tmp_path)


def test_western_european_and_utf16_text_is_understood_and_said(tmp_path):
    text = "nom,âge\nZoé,3\nLéa,4\n"
    for encoding in ("latin-1", "utf-16"):
        (tmp_path / "t.csv").write_bytes(text.encode(encoding))
        table = read_table(tmp_path / "t.csv")
        assert list(table.frame["nom"]) == ["Zoé", "Léa"]
        assert list(table.frame["âge"]) == [3, 4]
        assert any("Windows-1252" in note for note in table.notes) == (encoding == "latin-1")


@pytest.mark.parametrize("content", [b"\x00\x01\x02PK", bytes(range(1, 32)) * 9 + b"\xe9\xff"])
def test_what_is_no_text_is_refused(tmp_path, content):
    (tmp_path / "binary.csv").write_bytes(content)
    with pytest.raises(ReportError, match=r"binary\.csv is not text"):
        read_table(tmp_path / "binary.csv")


def test_a_line_without_end_is_refused_before_it_is_read(tmp_path):
    (tmp_path / "line.csv").write_bytes(b"1," * 2**20)
    with pytest.raises(ReportError, match=r"no end of line in its first 1048576 bytes; it is no table"):
        read_table(tmp_path / "line.csv")


def test_a_table_without_names_has_numbered_columns(tmp_path):
    table = read_table(written(tmp_path / "t.csv", "1.5,2\n2.5,3\n"))
    assert list(table.frame.columns) == ["column 1", "column 2"]
    assert table.frame.shape == (2, 2)
    assert "The first line holds numbers, not names: the columns were numbered." in table.notes


def test_text_that_turns_undecodable_far_inside_is_refused(tmp_path):
    lines = b"a,b\n" + b"1,2\n" * 300_000 + b"\xe9,2\n"
    (tmp_path / "late.csv").write_bytes(lines)
    with pytest.raises(ReportError, match=r"is not UTF-8 text"):
        read_table(tmp_path / "late.csv")


def test_cut_short_parquet_is_refused(tmp_path, frame):
    frame.to_parquet(tmp_path / "t.parquet")
    whole = (tmp_path / "t.parquet").read_bytes()
    for length in (0, 3, len(whole) // 2, len(whole) - 5):
        (tmp_path / "cut.parquet").write_bytes(whole[:length])
        with pytest.raises(ReportError, match=r"cut\.parquet is not a whole Parquet file"):
            read_table(tmp_path / "cut.parquet")


def test_parquet_with_duplicate_names_is_refused(tmp_path):
    table = pa.table([pa.array([1, 2]), pa.array([3, 4])], names=["a", "a"])
    pq.write_table(table, tmp_path / "t.parquet")
    with pytest.raises(ReportError, match="more than one column named 'a'"):
        read_table(tmp_path / "t.parquet")


def test_cut_short_gzip_is_refused(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    (tmp_path / "t.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReportError, match="cannot be read"):
        read_table(tmp_path / "t.csv.gz")


@pytest.fixture
def mixed(tmp_path):
    text = "town,my text,a,b,y\nParis,u,1,1,1\nLyon,v,2,,2\nNice,w,3,inf,3\n"
    return read_table(written(tmp_path / "mixed.csv", text))


def test_unknown_columns_are_refused_with_the_list(mixed):
    with pytest.raises(ReportError, match=r"mixed.csv has no column 'z'; its columns are 'town', "):
        choose_data(mixed, target="z")
    with pytest.raises(ReportError, match=r"has no column 'w'"):
        choose_data(mixed, target="y", drop=("w",))
    with pytest.raises(ReportError, match=r"'y' is both the target and dropped"):
        choose_data(mixed, target="y", drop=("y",))
    with pytest.raises(ReportError, match=r"No column of mixed.csv is left"):
        choose_data(mixed, target="y", task="regression", drop=("town", "my text", "a", "b"))


def test_task_follows_the_target(tmp_path, frame):
    frame["few"] = np.arange(30) % 3
    frame["text"] = ["no", "yes"] * 15
    frame["truth"] = frame["a"] > 0
    frame["half"] = (np.arange(30) % 3) / 2
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    assert choose_task(table) == ("clustering", None)
    assert choose_task(table, target="y") == ("regression", "y")
    assert choose_task(table, target="half") == ("regression", "half")
    assert choose_task(table, target="few", task="regression") == ("regression", "few")
    for name in ("few", "text", "truth"):
        assert choose_task(table, target=name) == ("classification", name)
    data = choose_data(table, target="few")
    assert data.classes == ("0", "1", "2")
    assert data.y.dtype.kind == "i"
    assert any("were taken for classes; --task regression" in note for note in data.notes)
    data = choose_data(table, target="text")
    assert data.classes == ("no", "yes")


def test_a_class_of_one_row_and_too_many_classes_are_refused(frame):
    frame["name"] = ["a"] * 29 + ["b"]
    with pytest.raises(ReportError, match=r"The class 'b' of 'name' has one row only"):
        choose_data(RawTable("t", frame), target="name")
    many = pd.DataFrame({"x": np.linspace(0, 1, 400), "word": [f"w{row // 2}" for row in range(400)]})
    with pytest.raises(ReportError, match=r"'word' has 200 different values, too many for classes"):
        choose_data(RawTable("t", many), target="word")


def test_tasks_that_do_not_fit_are_refused(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    table = read_table(tmp_path / "t.csv")
    with pytest.raises(ReportError, match="Clustering has no target"):
        choose_task(table, target="y", task="clustering")
    with pytest.raises(ReportError, match="Regression needs a target; name its column with --target"):
        choose_task(table, task="regression")
    with pytest.raises(ReportError, match=r"must be auto, regression, .*\. Got 'sorting'"):
        choose_task(table, task="sorting")


def test_regression_on_text_is_refused(mixed):
    with pytest.raises(
        ReportError, match=r"target 'town' must hold numbers for a regression; it holds 'Paris'"
    ):
        choose_data(mixed, target="town", task="regression", drop=("my text", "b"))


def test_clusters_of_an_embedded_table_do_not_see_its_classes():
    data = choose_data(read_table("iris"), task="clustering")
    assert data.task == "clustering"
    assert "species" not in data.feature_names
    assert data.X.shape == (150, 4)
    data = choose_data(read_table("iris"))
    assert (data.task, data.classes) == ("classification", ("setosa", "versicolor", "virginica"))
    data = choose_data(read_table("diabetes"), drop=("progression",))
    assert data.task == "clustering"
    assert "progression" not in data.feature_names


# Packed files, folders, strange texts


def packed(path, text: bytes, kind: str):
    if kind == "zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("inside.csv", text)
        return path
    path.write_bytes({"gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}[kind](text))
    return path


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
def test_packed_text_gives_the_table_from_a_file_and_from_a_pipe(tmp_path, kind, monkeypatch):
    text = b"a,b\n1,x\n2,y\n"
    named = packed(tmp_path / f"t.csv.{kind}", text, kind)
    unnamed = packed(tmp_path / "u.csv", text, kind)
    expected = pd.DataFrame({"a": [1, 2], "b": ["x", "y"]})
    pd.testing.assert_frame_equal(read_table(named).frame, expected)
    pd.testing.assert_frame_equal(read_table(unnamed).frame, expected)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(named.read_bytes())))
    pd.testing.assert_frame_equal(read_table("-").frame, expected)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz", "zip"])
def test_a_packed_file_cut_short_is_refused(tmp_path, kind, rng):
    text = b"a,b\n" + b"".join(b"%f,%f\n" % tuple(row) for row in rng.normal(size=(2000, 2)))
    whole = packed(tmp_path / f"t.csv.{kind}", text, kind).read_bytes()
    (tmp_path / f"t.csv.{kind}").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReportError, match=rf"t\.csv\.{kind} cannot be read: ") as caught:
        read_table(tmp_path / f"t.csv.{kind}")
    assert "\n" not in str(caught.value)


def test_a_zip_of_several_files_is_refused(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        archive.writestr("a.csv", "a\n1\n2\n")
        archive.writestr("b.csv", "a\n1\n2\n")
    with pytest.raises(ReportError, match=r"t\.csv\.zip holds 2 files; a packed table must hold one"):
        read_table(tmp_path / "t.csv.zip")


def test_a_folder_of_parquet_files_is_one_table(tmp_path, frame):
    (tmp_path / "data" / "part=b").mkdir(parents=True)
    (tmp_path / "data" / "part=a").mkdir()
    frame[:10].to_parquet(tmp_path / "data" / "part=a" / "0.parquet")
    frame[10:].reset_index(drop=True).to_parquet(tmp_path / "data" / "part=b" / "0.parquet")
    (tmp_path / "data" / "_SUCCESS").write_text("")
    table = read_table(tmp_path / "data")
    assert table.name == "data"
    assert list(table.frame.columns) == ["a", "b", "y", "part"]
    np.testing.assert_array_equal(table.frame["a"], frame["a"])
    assert list(table.frame["part"]) == ["a"] * 10 + ["b"] * 20


def test_files_of_a_folder_that_do_not_go_together_are_refused(tmp_path, frame):
    frame.to_parquet(tmp_path / "0.parquet")
    (tmp_path / "1.parquet").write_bytes(b"PAR1 no")
    with pytest.raises(ReportError, match=r"The Parquet files of .* cannot be read together"):
        read_table(tmp_path)


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-8-sig", "utf-16"])
def test_wide_letters_and_byte_order_marks_are_understood(tmp_path, encoding):
    text = "town,age\n" + "".join(f"Nice {row},{row}\n" for row in range(9))
    (tmp_path / "t.csv").write_bytes(text.encode(encoding))
    table = read_table(tmp_path / "t.csv").frame
    assert list(table.columns) == ["town", "age"]
    assert table["age"].tolist() == list(range(9))


def test_a_quote_that_is_never_closed_is_told(tmp_path):
    with pytest.raises(
        ReportError, match=r"q\.csv cannot be read as CSV: a quote is opened and never closed"
    ):
        read_table(written(tmp_path / "q.csv", 'a,b\n1,"x\n' + "2,y\n" * 50))


def test_a_line_without_end_far_inside_is_refused_before_it_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(byte_streams, "MAX_LINE_BYTES", 2**21)
    sizes = []
    read = byte_streams.Joined.readinto

    def watched(self, buffer):
        sizes.append(read(self, buffer))
        return sizes[-1]

    monkeypatch.setattr(byte_streams.Joined, "readinto", watched)
    (tmp_path / "line.csv").write_bytes(b"a,b\n1,2\n" + b"x" * 2**24)
    with pytest.raises(ReportError, match=r"line\.csv has a line of more than 2097152 bytes; it is no table"):
        read_table(tmp_path / "line.csv")
    assert sum(sizes) < 2**23


def test_grouped_thousands_are_numbers_and_said(tmp_path):
    english = written(tmp_path / "e.csv", 'a,b\n"1,250.5",x\n"2,000,000",y\n900,z\n')
    german = written(tmp_path / "g.csv", "a;b\n1.250,5;x\n2.000.000;y\n900;z\n")
    french = written(tmp_path / "f.csv", "a;b\n1\u202f250,5;x\n2 000 000;y\n900;z\n")
    for path in (english, german, french):
        table = read_table(path)
        assert table.frame["a"].tolist() == [1250.5, 2_000_000.0, 900.0]
        assert "Column 'a' groups thousands: its texts were read as numbers." in table.notes


def test_words_for_missing_and_infinite_numbers_are_understood_and_said(tmp_path):
    text = "a,b,c\n1.5,?,x\n?,inf,?\n2.5,-inf,y\n3.5,NaN,z\n"
    table = read_table(written(tmp_path / "t.csv", text))
    np.testing.assert_array_equal(table.frame["a"], [1.5, np.nan, 2.5, 3.5])
    np.testing.assert_array_equal(table.frame["b"], [np.nan, np.inf, -np.inf, np.nan])
    assert table.frame["c"].tolist() == ["x", "?", "y", "z"]
    assert "Column 'a' holds numbers and '?', which was taken for a missing value." in table.notes


def test_a_column_of_numbers_and_words_stays_words(tmp_path):
    table = read_table(written(tmp_path / "t.csv", "a,b\n1,x\n2,x\nmany,y\n1,y\n"))
    assert table.frame["a"].tolist() == ["1", "2", "many", "1"]
    data = choose_data(table)
    assert [column.kind for column in data.columns] == ["categorical", "categorical"]


@pytest.mark.parametrize(
    ("texts", "expected", "day_first"),
    [
        (["03/04/2021", "13/04/2021", "01/12/2021"], ["2021-04-03", "2021-04-13", "2021-12-01"], True),
        (["03.04.2021", "04.04.2021", "01.12.2021"], ["2021-04-03", "2021-04-04", "2021-12-01"], True),
        (["04/13/2021", "03/04/2021", "12/01/2021"], ["2021-04-13", "2021-03-04", "2021-12-01"], False),
        (["03/04/2021", "05/04/2021", "12/01/2021"], ["2021-03-04", "2021-05-04", "2021-12-01"], False),
        (["2021-04-03", "2021/04/13", "13/05/2021"], ["2021-04-03", "2021-04-13", "2021-05-13"], True),
        (
            ["2021-04-03 10:30", "2021-04-13", "2021-12-01"],
            ["2021-04-03 10:30", "2021-04-13", "2021-12-01"],
            False,
        ),
    ],
)
def test_dates_of_a_column_name_day_and_month_in_one_order(texts, expected, day_first):
    frame = pd.DataFrame({"day": texts * 10, "x": np.arange(30.0) ** 2})
    data = choose_data(RawTable("t", frame))
    column = data.columns[0]
    assert (column.kind, column.day_first) == ("date", day_first)
    days = (pd.to_datetime(pd.Series(expected * 10), format="mixed") - pd.Timestamp(0)) / pd.Timedelta(days=1)
    np.testing.assert_allclose(days_of(frame["day"], day_first=day_first), days)
    np.testing.assert_allclose(days_of(data.X["day"], day_first=day_first), days)
    told = "The dates of 'day' were read with the day before the month." in data.notes
    assert told == day_first


def test_empty_and_constant_columns_are_left_out_and_said(tmp_path):
    table = read_table(written(tmp_path / "t.csv", "a,b,c,x\n,7,1.5,p\n,7,2.5,q\n,7,9.5,p\n"))
    data = choose_data(table)
    assert data.feature_names == ["c", "x"]
    assert "Column 'a' is left out: it has no value." in data.notes
    assert "Column 'b' is left out: every value is '7'." in data.notes


def test_one_column_leaves_nothing_to_learn_from(tmp_path):
    table = read_table(written(tmp_path / "t.csv", "y\n" + "".join(f"{row / 7}\n" for row in range(30))))
    with pytest.raises(ReportError, match=r"No column of t\.csv is left to learn from\."):
        choose_data(table, target="y")


def test_equal_steps_that_may_be_a_measure_name_the_way_to_learn_from_them(tmp_path):
    text = "dose,effect\n" + "".join(f"{row},{row * 1.9 + row % 3}\n" for row in range(1, 13))
    path = written(tmp_path / "t.csv", text)
    with pytest.raises(ReportError, match=r"it numbers the rows\. --numeric dose takes it for numbers\."):
        choose_data(read_table(path), target="effect")
    table = read_table(path, reading=Reading(numeric=("dose",)))
    assert choose_data(table, target="effect").feature_names == ["dose"]


def test_ten_thousand_categories_become_a_few_features(rng):
    frame = pd.DataFrame({"code": [f"k{number}" for number in rng.integers(0, 10_000, 30_000)]})
    frame["y"] = rng.normal(size=30_000)
    data = choose_data(RawTable("t", frame), target="y")
    encoder = TableEncoder(data.columns).fit(data.X)
    assert data.columns[0].kind == "categorical"
    assert encoder.transform(data.X).shape == (30_000, 30)


def test_columns_that_are_dropped_stay_on_the_disk(tmp_path):
    frame = pd.DataFrame(
        {"a": np.sqrt(np.arange(20.0)), "b": np.arange(20.0) ** 2, "y": np.arange(20) % 7 + 0.5}
    )
    frame.to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "parts").mkdir()
    frame.to_parquet(tmp_path / "parts" / "one.parquet")
    for source in (tmp_path / "rows.parquet", tmp_path / "parts"):
        table = read_table(source, without=("b", "z"))
        assert list(table.frame.columns) == ["a", "y"]
        assert table.unread == ("b",)
        data = choose_data(table, target="y", drop=("b",))
        assert (data.task, data.feature_names, data.dropped) == ("regression", ["a"], ("b",))
        assert "Left out by request: b." in data.notes
        with pytest.raises(ReportError, match="has no column 'z'"):
            choose_data(table, target="y", drop=("z",))
        with pytest.raises(ReportError, match="both the target and dropped"):
            choose_data(table, target="b", drop=("b",))


def test_text_of_very_many_columns_is_read(tmp_path):
    """Its lines are too long for one field of the csv module, as they would be with another separator."""
    n_columns = 30_000
    header = ";".join(f"x{place}" for place in range(n_columns))
    lines = [";".join(f"{row},{place}" for place in range(n_columns)) for row in range(3)]
    (tmp_path / "wide.csv").write_text("\n".join([header, *lines]) + "\n")
    frame = read_table(tmp_path / "wide.csv").frame
    assert frame.shape == (3, n_columns)
    assert frame.iloc[2, 25] == 2.25
    (tmp_path / "one.csv").write_text("a\n" + "b" * 140_000 + "\n")
    with pytest.raises(ReportError, match=r"one.csv cannot be read as CSV: field larger than field limit"):
        read_table(tmp_path / "one.csv")
