"""CSV in any common dialect: told from the opening of a file, read whole or a block of rows at a time."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from itertools import islice, zip_longest
from typing import Any, NamedTuple

from assay.report.errors import ReportError
from assay.report.tables.files.byte_streams import BROKEN, OPENING_BYTES, LineReader, reason_of
from assay.report.tables.files.layout import NUMBER, filled, n_titles, separator_of, tell_separator
from assay.report.tables.files.options import Reading
from assay.report.tables.schema import Column
from assay.report.wording import listed

try:
    import pandas as pd
except ImportError as error:  # pragma: no cover
    raise ImportError("Reports need pandas: install it with pip install 'assay[cli]'.") from error

from assay.report.tables.files.values import are_codes, is_text, masked, numbers_from_texts

UNNAMED = "Unnamed: 0"
"""What pandas calls a first column that has no name."""

DECIMAL_COMMA = re.compile(r"^\s*[-+]?(\d+|\d{1,3}([.\u00a0\u202f '’]\d{3})+),\d+\s*$")
THOUSANDS = re.compile(r"^\s*[-+]?[1-9]\d{0,2}(,\d{3})+\s*$")
DECIMAL_POINT = re.compile(r"^\s*[-+]?(?!\d{1,3}(\.\d{3})+\s*$)\d+\.\d+\s*$")
"""Of a number whose point does not group thousands."""

NOTHING = (
    *("NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>", "NULL", "null", "NaN", "nan", "-NaN", "-nan"),
    *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN"),
)
"""What is a missing value in any column of text; None is not, as it may be a level."""

GLANCE = 200
"""Lines that tell which columns hold codes."""

WEB_PAGE = re.compile(r"\s*<(!doctype|html|\?xml|head)\b", re.IGNORECASE)

FAILURES = (pd.errors.ParserError, csv.Error, UnicodeDecodeError, *BROKEN)


class Dialect(NamedTuple):
    """How a CSV file is written."""

    encoding: str
    separator: str
    decimal: str
    header: bool
    notes: tuple[str, ...]
    skip: int = 0  # lines above the header
    names: tuple[str, ...] = ()
    has_row_names: bool = False  # whether lines begin with a field more than the header names
    codes: tuple[str, ...] = ()  # columns of digits with zeros before them, which numbers would lose


class RawText(NamedTuple):
    """A table of text before its values are interpreted, its decimal mark, and what was decided."""

    frame: pd.DataFrame
    decimal: str
    notes: tuple[str, ...]


def read_csv(
    lines: LineReader, name: str, reading: Reading | None = None, words: Sequence[str] = ()
) -> RawText:
    """The whole table; the columns of words keep their texts as they are."""
    dialect = lay_out(lines.opening, name, reading)
    try:
        frame = pd.read_csv(
            io.BufferedReader(lines), **_options(dialect), dtype=_kinds(dialect, (*words, *dialect.codes))
        )
    except FAILURES as error:
        raise ReportError(sentence(error, name)) from error
    return RawText(_named(frame, dialect, name), dialect.decimal, dialect.notes)


def csv_blocks(
    lines: LineReader,
    name: str,
    *,
    n_rows: int,
    words: Sequence[str],
    reading: Reading | None = None,
    columns: Sequence[Column] = (),
) -> Iterator[pd.DataFrame]:
    """The table in blocks of rows, every column of the same kind in all of them.

    What stands for a missing value, the unit and the decimal mark are those that the fit took for such.
    """
    dialect = lay_out(lines.opening, name, reading)
    try:
        with pd.read_csv(
            io.BufferedReader(lines), **_options(dialect), dtype=_kinds(dialect, words), chunksize=n_rows
        ) as reader:
            for block in reader:
                yield _settled(_named(block, dialect, name), frozenset(words), dialect.decimal, columns)
    except FAILURES as error:
        raise ReportError(sentence(error, name)) from error


def _kinds(dialect: Dialect, words: Sequence[str]) -> dict[Any, type]:
    """The columns whose texts stay texts."""
    # pandas calls columns without a header by their number until they are named.
    places: Sequence[Any] = dialect.names if dialect.header else range(len(dialect.names))
    wanted = frozenset(words)
    return {place: str for place, title in zip(places, dialect.names, strict=True) if title in wanted}


def lay_out(opening: bytes, name: str, reading: Reading | None = None) -> Dialect:
    """Tell the dialect, the names and the place of row names from the opening of a file."""
    try:
        dialect = sniff(opening, name, reading)
        text = opening.decode(dialect.encoding, errors="ignore")
        below = "\n".join(text.splitlines()[dialect.skip :])
        rows = csv.reader(io.StringIO(below), delimiter=dialect.separator, skipinitialspace=True)
        names, first = _next_filled(rows), _next_filled(rows)
        few = [first, *_glance(rows)]
    except FAILURES as error:
        raise ReportError(sentence(error, name)) from error
    if not dialect.header:
        return dialect._replace(names=tuple(f"column {number}" for number in range(1, len(names) + 1)))
    names = [title.strip() for title in names]
    check_names([title for title in names if title], name)
    more = len(first) - len(names)
    if more > 0 and not any(filled(row[len(names) :]) for row in few):  # separators at the ends of lines
        names += more * [""]
        more = 0
    titles = tuple(title or f"Unnamed: {place}" for place, title in enumerate(names))
    columns = zip_longest(*few, fillvalue="")
    cells = dict(zip(titles, islice(columns, max(more, 0), None), strict=False))
    codes = tuple(title for title, said in cells.items() if are_codes({*said} - {*NOTHING}))
    return dialect._replace(names=titles, has_row_names=more > 0, codes=codes)


def sniff(head: bytes, name: str, reading: Reading | None = None) -> Dialect:
    r"""Tell encoding, separator, decimal mark, titles and header from the opening of a file.

    Examples
    --------
    >>> sniff("prix;âge\n1,5;30\n".encode("cp1252"), "t.csv")[:4]
    ('cp1252', ';', ',', True)
    """
    if not head.strip():
        raise ReportError(f"{name} is empty.")
    notes: list[str] = []
    encoding = _encoding(head, name, notes)
    text = head.decode(encoding, errors="ignore")
    if not text.strip("\ufeff\0 \t\r\n"):
        raise ReportError(f"{name} is empty.")
    if WEB_PAGE.match(text):
        raise ReportError(f"{name} is a web page, not a table: download the file that the page shows.")
    if len(head) >= OPENING_BYTES and "\n" not in text and "\r" not in text:
        raise ReportError(f"{name} has no end of line in its first {OPENING_BYTES} bytes; it is no table.")
    lines = text.splitlines()
    lines = lines[:-1] if len(head) >= OPENING_BYTES and len(lines) > 1 else lines
    separator, skip = _parted(lines[:200], reading or Reading(), name, notes)
    fields = [line for line in csv.reader(lines[skip : skip + 200], delimiter=separator) if line] or [[]]
    cells = [cell for line in fields[1:] for cell in line]
    commas = separator != "," and _has_decimal_commas(cells)
    header = not fields[0] or not all(NUMBER.fullmatch(field.strip()) for field in fields[0])
    if not header:
        notes.append("The first line holds numbers, not names: the columns were numbered.")
    if separator not in (",", "\t"):
        notes.append(f"Columns are separated by {'blanks' if separator == ' ' else repr(separator)}.")
    if commas:
        notes.append("Decimal commas were read as decimal points.")
    return Dialect(encoding, separator, "," if commas else ".", header, tuple(notes), skip)


def _has_decimal_commas(cells: Sequence[str]) -> bool:
    """Whether a comma begins the decimals: not where it groups thousands beside decimal points."""
    with_comma = [cell for cell in cells if DECIMAL_COMMA.match(cell)]
    if not all(THOUSANDS.match(cell) for cell in with_comma):
        return True
    return bool(with_comma) and not any(DECIMAL_POINT.match(cell) for cell in cells)


def _parted(lines: Sequence[str], reading: Reading, name: str, notes: list[str]) -> tuple[str, int]:
    """The separator and the lines above the header: those asked for, else what the lines tell."""
    separator, skip = tell_separator(lines)
    if reading.separator is not None:
        separator = separator_of(reading.separator)
        skip = n_titles(list(csv.reader(lines, delimiter=separator, skipinitialspace=True)))
    if reading.skip is not None:
        if reading.skip >= len(lines):
            raise ReportError(f"{name} has no line below the {reading.skip} that --skip leaves out.")
        skip = reading.skip
        if reading.separator is None:
            separator, _ = tell_separator(lines[skip:])
    elif skip and any(line.strip() for line in lines[:skip]):
        many = f"first {skip} lines were" if skip > 1 else "first line was"
        notes.append(f"The {many} taken for titles above the header; --skip tells otherwise.")
    return separator, skip


def check_names(names: Sequence[Any], where: str) -> None:
    """Refuse a name that two columns have."""
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ReportError(f"{where} has more than one column named {listed(twice)}; give each its own name.")


def sentence(error: BaseException, name: str) -> str:
    """What is wrong with a file, from what the reader says."""
    if isinstance(error, UnicodeDecodeError):
        wrong = f"byte {error.object[error.start]:#04x} at position {error.start}"
        return f"{name} is not UTF-8 text ({wrong}); save it as UTF-8."
    if isinstance(error, (pd.errors.ParserError, csv.Error)):
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
        if "EOF inside string" in reason:
            reason = reason.replace("EOF inside string starting at", "a quote is opened and never closed in")
        if "Expected" in reason:
            reason += "; put a text that holds the separator in double quotes"
        return f"{name} cannot be read as CSV: {reason}."
    return f"{name} cannot be read: {reason_of(error)}."


def _options(dialect: Dialect) -> dict[str, Any]:
    return {
        "sep": dialect.separator,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding,
        "header": 0 if dialect.header else None,
        "names": list(dialect.names) if dialect.header else None,
        "skiprows": dialect.skip,
        "low_memory": False,
        "skipinitialspace": True,
        "keep_default_na": False,
        "na_values": ["", *NOTHING],
    }


def _named(frame: pd.DataFrame, dialect: Dialect, name: str) -> pd.DataFrame:
    """The frame with the names of its columns, one for the field that the header does not name."""
    if not dialect.header:
        frame.columns = pd.Index([f"column {number}" for number in range(1, frame.shape[1] + 1)])
    elif dialect.has_row_names:  # pandas takes the fields before those the header names for the index
        if frame.index.nlevels > 1:
            raise ReportError(f"The rows of {name} have more fields than its header has names.")
        frame.insert(0, UNNAMED, frame.index)
        frame = frame.reset_index(drop=True)
    return frame


def _settled(
    block: pd.DataFrame, words: Collection[str], decimal: str, columns: Sequence[Column]
) -> pd.DataFrame:
    """A block whose columns of numbers look as they would in the whole table."""
    known = {column.name: column for column in columns}
    for name in block.columns:
        column = known.get(name, Column(name, "numeric", 0, 0))
        values = masked(block[name], column.missing)
        if name not in words:
            if pd.api.types.is_bool_dtype(values.dtype):  # words that happen to be all True or False here
                values = values.astype(str)
            elif is_text(values):
                mark, unit = column.decimal or decimal, column.unit or None
                numbers = numbers_from_texts(values, mark, strict=True, unit=unit)
                values = values if numbers is None else numbers.values
        block[name] = values
    return block


def _next_filled(rows: Iterator[list[str]]) -> list[str]:
    """The next line that is not blank, as pandas skips those that are."""
    return next((fields for fields in rows if any(field.strip() for field in fields) or len(fields) > 1), [])


def _glance(rows: Iterator[list[str]]) -> Iterator[list[str]]:
    """Some lines more, as far as they can be read: what is wrong with a later one the reader says."""
    with suppress(csv.Error):
        yield from islice(rows, GLANCE)


def _encoding(head: bytes, name: str, notes: list[str]) -> str:
    if head.startswith((b"\xff\xfe\x00\x00", b"\x00\x00\xfe\xff")):
        return "utf-32"
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if b"\x00" in head:
        for encoding, zeros, letters in (
            ("utf-16-le", head[1::2], head[::2]),
            ("utf-16-be", head[::2], head[1::2]),
        ):
            if zeros.count(0) > 0.8 * len(zeros) and 0 not in letters and not _is_binary(letters):
                return encoding
        raise ReportError(f"{name} is not text: it holds zero bytes; export it as CSV or Parquet.")
    cut = head if len(head) < OPENING_BYTES else head[: head.rfind(b"\n") + 1] or head
    try:
        cut.decode("utf-8-sig")
    except UnicodeDecodeError:
        if _is_binary(head):
            raise ReportError(f"{name} is not text; export it as CSV or Parquet.") from None
        notes.append("The text is not UTF-8; it was read as Windows-1252 (Western European).")
        return "cp1252"
    return "utf-8-sig"


def _is_binary(head: bytes) -> bool:
    """Whether more bytes are control characters than any text has."""
    return sum(byte < 32 and byte not in (9, 10, 12, 13) for byte in head) > len(head) / 100
