"""Files as people have them: odd ends of lines, titles, blanks between fields, merged cells, wraps."""

from __future__ import annotations

import json
import zipfile
from decimal import Decimal

import numpy as np
import openpyxl
import pandas as pd
import pytest

from assay.report import ReportError, choose_data, read_table

ROWS = [("Lyon", 3, 1.5), ("Nice", 14, 2.25), ("Brest", 15, -0.5), ("Metz", 92, 6.5)] * 5
HEADER = ("town", "units", "y")


def lines(separator=",", end="", header=HEADER):
    rows = [header, *ROWS]
    return "".join(separator.join(map(str, row)) + end + "\n" for row in rows)


def read(tmp_path, content, name="t.csv", encoding="utf-8"):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode(encoding))
    return read_table(tmp_path / name)


def is_the_table(table):
    expected = pd.DataFrame(ROWS, columns=HEADER)
    frame = table.frame[[*HEADER]]
    pd.testing.assert_frame_equal(frame, expected, check_dtype=False)
    return True


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (lines(end=",").replace("y,", "y"), ""),  # a separator at the end of each line but the first
        (lines(header=(" town", "units ", " y ")), ""),
        (lines(" "), "Columns are separated by blanks."),
        (lines("   "), "Columns are separated by blanks."),
        ("Sales of 2024, all towns\n\n" + lines(), "The first 2 lines were taken for titles"),
        ("# made by me, in 2024\n" + lines(), "The first line was taken for titles"),
    ],
)
def test_untidy_text_gives_the_table(tmp_path, text, told):
    table = read(tmp_path, text)
    assert is_the_table(table)
    assert any(note.startswith(told) for note in table.notes) if told else not table.notes


def test_names_of_rows_before_fields_between_blanks_are_names(tmp_path):
    rows = "".join(f'"{place}" "{town}" {units} {y}\n' for place, (town, units, y) in enumerate(ROWS, 1))
    table = read(tmp_path, '"town" "units" "y"\n' + rows, "t.txt")
    assert is_the_table(table)
    assert table.row_names[:2] == ("1", "2")
    prose = read(tmp_path, "remark\n" + "good and cheap\nbad\nnot so bad at all\n" * 5)
    assert list(prose.frame.columns) == ["remark"]
    people = read(tmp_path, "name\n" + "".join(f"person {row}\n" for row in range(9)))
    assert people.frame["name"][0] == "person 0"
    assert list(read(tmp_path, "full name\n" + "Ada Byron\nAlan Turing\n" * 5).frame.columns) == ["full name"]


def test_wide_letters_of_four_bytes_are_understood(tmp_path):
    assert is_the_table(read(tmp_path, lines(), encoding="utf-32"))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "<!DOCTYPE html>\n<html><body>Not found, sorry</body></html>\n",
            "is a web page, not a table: download",
        ),
        (lines() + "La, Rochelle,3,1\n", "saw 4; put a text that holds the separator in double quotes"),
    ],
)
def test_what_is_no_table_names_the_way_out(tmp_path, text, sentence):
    with pytest.raises(ReportError, match=sentence):
        read(tmp_path, text)


def test_objects_in_files_with_other_endings_and_in_wraps_are_rows(tmp_path):
    objects = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
    columns = {
        name: {str(place): row[at] for place, row in enumerate(ROWS)} for at, name in enumerate(HEADER)
    }
    for name, text in {
        "lines.txt": "\n".join(map(json.dumps, objects)),
        "list.csv": json.dumps(objects),
        "wrap.json": json.dumps({"status": "ok", "data": objects}),
        "pretty.json": json.dumps({"data": objects}, indent=2),
        "pandas.json": json.dumps(columns),
        "lists.json": json.dumps({name: list(cells.values()) for name, cells in columns.items()}, indent=1),
    }.items():
        assert is_the_table(read(tmp_path, text, name))
    with pytest.raises(ReportError, match="has one row only"):
        read(tmp_path, json.dumps({"a": {"b": 1}, "y": 2}), "one.json")


def test_files_that_a_mac_adds_to_a_zip_are_passed_over(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("t.csv", lines())
        archive.writestr("__MACOSX/._t.csv", "x")
        archive.writestr(".DS_Store", "x")
    assert is_the_table(read_table(tmp_path / "t.zip"))


def test_cells_merged_over_rows_stand_in_each_of_them(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    for row in [
        ("All sales", None),
        ("town", "units"),
        ("Lyon", 3),
        (None, 4),
        (None, 7),
        ("Nice", 6),
        (None, 9),
    ]:
        sheet.append(row)
    for cells in ("A1:B1", "A3:A5", "A6:A7"):
        sheet.merge_cells(cells)
    book.save(tmp_path / "t.xlsx")
    frame = read_table(tmp_path / "t.xlsx").frame
    assert frame["town"].tolist() == ["Lyon"] * 3 + ["Nice"] * 2
    assert frame["units"].tolist() == [3, 4, 7, 6, 9]


def test_exact_decimals_and_durations_of_typed_files_are_numbers(tmp_path):
    prices = [Decimal(place) / 4 if place % 5 else None for place in range(40)]
    frame = pd.DataFrame({"price": prices, "took": pd.to_timedelta(np.arange(40) ** 2 % 17, unit="h")})
    frame.to_parquet(tmp_path / "t.parquet")
    read_back = read_table(tmp_path / "t.parquet").frame
    assert read_back["price"].tolist()[1:3] == [0.25, 0.5]
    assert read_back["price"].isna().sum() == 8
    assert read_back["took"].tolist()[:3] == [0, 3600, 4 * 3600]


def test_huge_and_endless_targets_are_what_they_are(rng):
    from assay.report import RawTable

    frame = pd.DataFrame({"x": rng.normal(size=40), "y": np.repeat([1e200, 2e200, 4e200, 8e200], 10)})
    assert choose_data(RawTable("t", frame), target="y").classes == ("1e+200", "2e+200", "4e+200", "8e+200")
    frame["y"] = [*rng.normal(size=38), np.inf, np.nan]
    assert (
        "2 rows have no finite value of 'y': left out." in choose_data(RawTable("t", frame), target="y").notes
    )


def test_totals_of_groups_and_averages_are_left_out_and_said(tmp_path):
    text, number = "town,units,y\n", 0
    for town in ("Lyon", "Nice"):
        rows = [(town, 3 + 7 * place % 5, place) for place in range(6)]
        text += "".join(f"{a},{b},{c}\n" for a, b, c in rows)
        number += sum(b for _, b, _ in rows)
        text += f"{town} Total,{sum(b for _, b, _ in rows)},\n"
    table = read(tmp_path, text + f"Grand total,{number},\n")
    assert table.frame["town"].tolist() == ["Lyon"] * 6 + ["Nice"] * 6
    assert table.notes == ("3 rows ('Grand total' and the like) sum up those above: left out.",)
    average = read(tmp_path, text + f"Average,{number / 12:.1f},2.5\n")
    assert len(average.frame) == 12
    wrong = read(tmp_path, lines() + "Average,50,2.5\n")
    assert len(wrong.frame) == len(ROWS) + 1
    words = read(tmp_path, lines() + "Total War,99,2.5\nSubtotal,1000,3\n" + lines().partition("\n")[2])
    assert len(words.frame) == 2 * len(ROWS) + 2
