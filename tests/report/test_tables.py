"""Tables: what is read, and one sentence for each thing that is wrong."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.report import RawTable, ReportError, choose_data, choose_task, read_table


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
    task, data = choose_data(read_table(tmp_path / "t.csv"), target="y", drop=("b",))
    assert task == "regression"
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
        ("ragged.csv", "a,b\n1,2\n1,2,3,4\n", r"cannot be read as CSV: Expected 2 fields in line 3, saw 4\."),
        ("long.csv", "a,b\n1,2,3,4\n4,5,6,7\n", r"more fields than its header has names"),
        ("table.xlsx", "a,b\n1,2\n", r"ending of table\.xlsx does not tell what it is"),
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
    _, data = choose_data(read_table(written(tmp_path / "t.csv", lines)), target="y")
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
    _, data = choose_data(table, target="few")
    assert data.classes == ("0", "1", "2")
    assert data.y.dtype.kind == "i"
    assert any("were taken for classes; --task regression" in note for note in data.notes)
    _, data = choose_data(table, target="text")
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
    task, data = choose_data(read_table("iris"), task="clustering")
    assert task == "clustering"
    assert "species" not in data.feature_names
    assert data.X.shape == (150, 4)
    task, data = choose_data(read_table("iris"))
    assert (task, data.classes) == ("classification", ("setosa", "versicolor", "virginica"))
    task, data = choose_data(read_table("diabetes"), drop=("progression",))
    assert task == "clustering"
    assert "progression" not in data.feature_names
