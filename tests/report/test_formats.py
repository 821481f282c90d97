"""Workbooks, lines of JSON and packed files give the table that CSV gives."""

from __future__ import annotations

import datetime
import io
import json
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.report import Reading, ReportError, choose_data, read_table
from assay.report.tables.files import arrow_files
from assay.report.tables.files.arrow_files import arrow_blocks
from assay.report.tables.files.reading import table_blocks
from assay.report.tables.schema import describe_columns


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame({"a": rng.normal(size=30).round(4), "n": rng.integers(0, 9, 30)})
    return frame.assign(town=["Lyon", "Nice", None] * 10)


@pytest.fixture
def plain(tmp_path, frame):
    frame.to_csv(tmp_path / "t.csv", index=False)
    return read_table(tmp_path / "t.csv").frame


def workbook(path, **sheets):
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_a_workbook_gives_the_table_of_csv(tmp_path, frame, plain):
    frame.to_excel(tmp_path / "t.xlsx", index=False)
    table = read_table(tmp_path / "t.xlsx")
    pd.testing.assert_frame_equal(table.frame, plain, check_dtype=False)
    assert table.notes == ()


def test_titles_and_empty_rows_of_a_sheet_are_passed_over_and_dates_are_dates(tmp_path):
    day = datetime.datetime(2024, 5, 1)
    rows = [
        ["Sales of 2024"],
        [],
        ["day", "units", None, "price"],
        *([day + datetime.timedelta(days=row), row, None, f"${row},000"] for row in range(1, 20)),
    ]
    table = read_table(workbook(tmp_path / "t.xlsx", Sales=rows, Notes=[["nothing"]]))
    assert list(table.frame.columns) == ["day", "units", "price"]
    assert table.frame["units"].tolist() == list(range(1, 20))
    assert table.frame["price"].tolist() == [1000.0 * row for row in range(1, 20)]
    assert describe_columns(table.frame)[0].kind == "date"
    assert "The first 2 rows were taken for titles above the header; --skip tells otherwise." in table.notes
    assert "Of 2 sheets, 'Sales' was read; --sheet names another ('Notes')." in table.notes


def test_the_sheet_is_the_one_asked_for_by_name_or_number(tmp_path):
    path = workbook(
        tmp_path / "t.xlsx",
        Cover=[["Our numbers"]],
        One=[["a", "b"], [1, 2.5], [3, 4.5]],
        Two=[["c", "d"], [5, 6.5], [7, 8.5]],
    )
    assert list(read_table(path).frame.columns) == ["a", "b"]  # the first sheet holds a title alone
    for asked in ("Two", "3"):
        assert list(read_table(path, reading=Reading(sheet=asked)).frame.columns) == ["c", "d"]
    with pytest.raises(ReportError, match=r"has no sheet 'Tow'\. Did you mean 'Two'\?"):
        read_table(path, reading=Reading(sheet="Tow"))
    with pytest.raises(ReportError, match=r"has no sheet 'zzz'\. There are 'Cover', 'One', 'Two'\."):
        read_table(path, reading=Reading(sheet="zzz"))
    (tmp_path / "cut.xlsx").write_bytes(path.read_bytes()[:500])
    with pytest.raises(ReportError, match=r"cut\.xlsx is not a whole Excel file"):
        read_table(tmp_path / "cut.xlsx")


def test_stray_words_in_a_column_of_a_sheet_are_told(tmp_path):
    rows = [["year", "rain"], *([1990 + row, row**0.5] for row in range(25)), ["no data", 3.0]]
    table = read_table(workbook(tmp_path / "t.xlsx", Rain=rows))
    assert table.frame["year"].iloc[0] == 1990
    assert any("holds numbers but for 1 cell ('no data')" in note for note in table.notes)


def lines(frame) -> str:
    return "".join(json.dumps(row) + "\n" for row in frame.replace({np.nan: None}).to_dict("records"))


def test_lines_of_json_and_a_list_of_objects_give_the_table_of_csv(tmp_path, frame, plain):
    (tmp_path / "t.jsonl").write_text(lines(frame))
    (tmp_path / "t.json").write_text("[" + ",\n".join(lines(frame).splitlines()) + "]")
    for name in ("t.jsonl", "t.json"):
        pd.testing.assert_frame_equal(read_table(tmp_path / name).frame, plain, check_dtype=False)


def test_objects_inside_objects_become_columns_and_missing_keys_missing_values(tmp_path):
    rows = [{"a": row, "b": {"c": row / 2, "d": "x"}, "tags": [1, 2]} for row in range(5)] + [{"a": 9}]
    (tmp_path / "t.ndjson").write_text("\n".join(map(json.dumps, rows)))
    frame = read_table(tmp_path / "t.ndjson").frame
    assert list(frame.columns) == ["a", "b.c", "b.d", "tags"]
    assert frame["b.c"].isna().tolist() == [False] * 5 + [True]


def test_every_packing_gives_the_table_from_a_file_and_from_a_pipe(tmp_path, frame, plain, monkeypatch):
    text = (tmp_path / "t.csv").read_bytes()
    packed = {"t.csv.zst": pa.compress(text, codec="zstd", asbytes=True), "t.zst": None, "t.zip": None}
    packed["t.zst"] = pa.compress(lines(frame).encode(), codec="zstd", asbytes=True)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("inside.csv", text)
    packed["t.zip"] = buffer.getvalue()
    for name, content in packed.items():
        (tmp_path / name).write_bytes(content)
        pd.testing.assert_frame_equal(read_table(tmp_path / name).frame, plain, check_dtype=False)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))
        pd.testing.assert_frame_equal(read_table("-").frame, plain, check_dtype=False)


def test_a_packed_file_that_is_cut_short_or_a_workbook_is_one_sentence(tmp_path, frame):
    whole = pa.compress(b"a,b\n" + b"1,2\n" * 100_000, codec="zstd", asbytes=True)
    (tmp_path / "t.csv.zst").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReportError, match=r"t\.csv\.zst cannot be read"):
        read_table(tmp_path / "t.csv.zst")
    frame.to_excel(tmp_path / "t.xlsx")
    (tmp_path / "t.zip").write_bytes((tmp_path / "t.xlsx").read_bytes())
    with pytest.raises(
        ReportError, match=r"t\.zip is a workbook; save it to a file whose name ends in \.xlsx"
    ):
        read_table(tmp_path / "t.zip")


def test_blocks_of_json_and_workbooks_are_those_of_the_table(tmp_path, frame, monkeypatch):
    monkeypatch.setattr("assay.report.tables.files.reading.BLOCK_VALUES", 1)  # blocks of 256 rows
    long = pd.concat([frame] * 20, ignore_index=True)
    (tmp_path / "t.jsonl").write_text(lines(long))
    long.to_excel(tmp_path / "t.xlsx", index=False)
    data = choose_data(read_table(tmp_path / "t.jsonl"))
    for name in ("t.jsonl", "t.xlsx"):
        blocks = list(table_blocks(tmp_path / name, data.columns))
        whole = pd.concat(blocks, ignore_index=True)
        pd.testing.assert_frame_equal(whole, long[["a", "n", "town"]], check_dtype=False)
    assert len(list(table_blocks(tmp_path / "t.jsonl", data.columns))) == 3


def test_a_parquet_file_is_read_some_columns_at_a_time(tmp_path, monkeypatch):
    """With all columns of a very wide file at once, what pyarrow holds besides grows with their square."""
    frame = pd.DataFrame({f"x{place}": np.arange(6.0) + place for place in range(7)}, index=list("abcdef"))
    frame["word"] = pd.Categorical(["u", "v"] * 3)
    frame["day"] = pd.date_range("2024-01-01", periods=6).to_numpy()
    frame.to_parquet(tmp_path / "t.parquet")
    whole, few = read_table(tmp_path / "t.parquet"), read_table(tmp_path / "t.parquet", without=("x1", "day"))
    parts = []
    monkeypatch.setattr(arrow_files, "COLUMNS_AT_ONCE", 2)
    real = pq.ParquetFile.read
    monkeypatch.setattr(
        pq.ParquetFile, "read", lambda self, columns: parts.append(columns) or real(self, columns=columns)
    )
    for expected, without in ((whole, ()), (few, ("x1", "day"))):
        found = read_table(tmp_path / "t.parquet", without=without)
        pd.testing.assert_frame_equal(found.frame, expected.frame)
        assert found.row_names == expected.row_names == tuple("abcdef")
    assert max(map(len, parts)) == 2
    monkeypatch.setattr(arrow_files, "WIDEST_BLOCK", 3)
    blocks = [*arrow_blocks(tmp_path / "t.parquet", "t", "Parquet", ["x0", "x3", "x5", "word"], 4)]
    assert [len(block) for block in blocks] == [0, 4, 2]
    joined = pd.concat(blocks[1:], ignore_index=True)
    assert joined["x3"].tolist() == frame["x3"].tolist()
    assert list(joined.columns) == ["x0", "x3", "x5", "word"]


@pytest.mark.parametrize("notes", [["Source"], ["Source", "the office"], [["made by", "me"], ["in", 2024]]])
def test_a_sheet_of_notes_before_the_table_is_passed_over(tmp_path, notes):
    with pd.ExcelWriter(tmp_path / "t.xlsx") as book:
        pd.DataFrame(notes).to_excel(book, sheet_name="about", index=False, header=False)
        pd.DataFrame({"a": range(9), "b": range(9)}).to_excel(book, sheet_name="data", index=False)
    table = read_table(tmp_path / "t.xlsx")
    assert table.frame.shape == (9, 2)
    assert "Of 2 sheets, 'data' was read; --sheet names another ('about')." in table.notes
