"""Sheets of workbooks: Excel and OpenDocument."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas as pd

from assay.report.errors import ReportError
from assay.report.tables.files.csv_files import NOTHING, check_names
from assay.report.tables.files.layout import NUMBER, filled, n_titles
from assay.report.tables.files.options import Reading
from assay.report.tables.files.places import not_whole
from assay.report.wording import listed, suggestion


def read_workbook(place: Path, name: str, reading: Reading) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The sheet that is asked for, or the first with a table, as a frame, and what was decided."""
    rows, notes = _rows(place, name, reading)
    skip = n_titles(rows[:200]) if reading.skip is None else reading.skip
    if skip >= len(rows):
        raise ReportError(f"{name} has no row below the {skip} that --skip leaves out.")
    if reading.skip is None and any(filled(row) for row in rows[:skip]):
        many = f"first {skip} rows were" if skip > 1 else "first row was"
        notes.append(f"The {many} taken for titles above the header; --skip tells otherwise.")
    header, body = rows[skip], [row for row in rows[skip + 1 :] if filled(row)]
    places = [place for place in range(len(header)) if any(_is_there(row[place]) for row in (header, *body))]
    names = [str(header[place]).strip() if _is_there(header[place]) else "" for place in places]
    if names and all(NUMBER.fullmatch(title) for title in names):
        notes.append("The first line holds numbers, not names: the columns were numbered.")
        names, body = [f"column {number}" for number in range(1, len(names) + 1)], rows[skip:]
    check_names([title for title in names if title], name)
    titles = [title or f"Unnamed: {place}" for place, title in enumerate(names)]
    cells = {title: [_cell(row[at]) for row in body] for title, at in zip(titles, places, strict=True)}
    return pd.DataFrame(cells), tuple(notes)


def _rows(place: Path, name: str, reading: Reading) -> tuple[list[list[Any]], list[str]]:
    """The cells of the sheet, row by row, all rows equally long."""
    try:
        import python_calamine as calamine
    except ImportError as error:  # pragma: no cover
        raise ReportError(
            "Workbooks need python-calamine: install it with pip install 'assay[cli]'."
        ) from error
    try:
        book = calamine.CalamineWorkbook.from_path(str(place))
        sheets = book.sheet_names
        chosen = _sheet(sheets, name, reading.sheet)
        tried = [chosen] if chosen is not None else sheets
        sizes = []
        for sheet in tried:
            rows = _cells(book.get_sheet_by_name(sheet))
            counts = [filled(row) for row in rows]
            sizes.append((sum(count > 1 for count in counts), sum(count > 0 for count in counts)))
            if sizes[-1][0] > 2:  # notes fill one cell per row, and few rows
                break
        else:  # none is much of a table: the one that is most
            sheet = tried[max(range(len(tried)), key=sizes.__getitem__)]
            rows = _cells(book.get_sheet_by_name(sheet))
    except calamine.PasswordError as error:
        raise ReportError(f"{name} is locked with a password; save it without one.") from error
    except (calamine.CalamineError, OSError) as error:
        raise not_whole(name, "Excel") from error
    if not any(filled(row) for row in rows):
        raise ReportError(f"The sheet {sheet!r} of {name} is empty.")
    notes = []
    if reading.sheet is None and len(sheets) > 1:
        others = listed([other for other in sheets if other != sheet], 3)
        notes.append(f"Of {len(sheets)} sheets, {sheet!r} was read; --sheet names another ({others}).")
    return rows, notes


def _cells(sheet: Any) -> list[list[Any]]:
    """The cells of a sheet, row by row; what is merged down some rows stands in each of them."""
    rows: list[list[Any]] = sheet.to_python(skip_empty_area=False)
    for (top, left), (bottom, _) in sheet.merged_cell_ranges or ():
        for row in rows[top + 1 : bottom + 1]:
            row[left] = rows[top][left]
    return rows


def _sheet(sheets: list[str], name: str, asked: str | None) -> str | None:
    """The sheet of that name, or of that number from 1; None where none is asked for."""
    if asked is None or asked in sheets:
        return asked
    if asked.isdigit() and 1 <= int(asked) <= len(sheets):
        return sheets[int(asked) - 1]
    way = suggestion(asked, sheets) or f" There are {listed(sheets)}."
    raise ReportError(f"{name} has no sheet {asked!r}.{way}")


def _is_there(cell: Any) -> bool:
    return cell is not None and str(cell).strip() != ""


def _cell(cell: Any) -> Any:
    """A cell as a value: whole numbers whole, days as dates, nothing for an empty one."""
    if isinstance(cell, str):
        return None if not cell.strip() or cell.strip() in NOTHING else cell
    if isinstance(cell, float) and cell.is_integer():
        return int(cell)
    if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        return datetime.datetime(cell.year, cell.month, cell.day)
    if isinstance(cell, datetime.timedelta):
        return cell.total_seconds()
    return cell.isoformat() if isinstance(cell, datetime.time) else cell
