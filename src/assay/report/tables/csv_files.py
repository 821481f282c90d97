"""CSV in any common dialect: told from the opening of a file, read whole or a block of rows at a time."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from assay.report.errors import ReportError
from assay.report.tables.byte_streams import BROKEN, OPENING_BYTES, LineReader, reason_of

try:
    import pandas as pd
except ImportError as error:  # pragma: no cover
    raise ImportError("Reports need pandas: install it with pip install 'assay[cli]'.") from error

SEPARATORS = (",", ";", "\t", "|")
UNNAMED = "Unnamed: 0"
"""What pandas calls a first column that has no name."""

NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
DECIMAL_COMMA = re.compile(r"^\s*[-+]?(\d+|\d{1,3}([.\u00a0\u202f '’]\d{3})+),\d+\s*$")
FAILURES = (pd.errors.ParserError, csv.Error, UnicodeDecodeError, *BROKEN)


class Dialect(NamedTuple):
    """How a CSV file is written."""

    encoding: str
    separator: str
    decimal: str
    header: bool
    notes: tuple[str, ...]
    names: tuple[str, ...] = ()
    has_row_names: bool = False  # whether lines begin with a field more than the header names


def read_csv(lines: LineReader, name: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """The whole table, and what was decided while reading."""
    dialect = lay_out(lines.opening, name)
    try:
        frame = pd.read_csv(io.BufferedReader(lines), **_options(dialect))
    except FAILURES as error:
        raise ReportError(sentence(error, name)) from error
    frame = _named(frame, dialect, name)
    frame, notes = tidy_numbers(frame, dialect.decimal)
    return frame, (*dialect.notes, *notes)


def csv_blocks(lines: LineReader, name: str, *, n_rows: int, words: Sequence[str]) -> Iterator[pd.DataFrame]:
    """The table in blocks of rows, every column of the same kind in all of them."""
    dialect = lay_out(lines.opening, name)
    # pandas calls columns without a header by their number until they are named.
    places = dialect.names if dialect.header else range(len(dialect.names))
    kinds = {place: str for place, title in zip(places, dialect.names, strict=True) if title in words}
    try:
        with pd.read_csv(
            io.BufferedReader(lines), **_options(dialect), dtype=kinds, chunksize=n_rows
        ) as reader:
            for block in reader:
                yield _settled(_named(block, dialect, name), words, dialect.decimal)
    except FAILURES as error:
        raise ReportError(sentence(error, name)) from error


def lay_out(opening: bytes, name: str) -> Dialect:
    """Tell the dialect, the names and the place of row names from the opening of a file."""
    try:
        dialect = sniff(opening, name)
        text = opening.decode(dialect.encoding, errors="ignore")
        rows = csv.reader(io.StringIO(text), delimiter=dialect.separator, skipinitialspace=True)
        names, first = _next_filled(rows), _next_filled(rows)
    except FAILURES as error:
        raise ReportError(sentence(error, name)) from error
    if not dialect.header:
        return dialect._replace(names=tuple(f"column {number}" for number in range(1, len(names) + 1)))
    check_names([title for title in names if title], name)
    titles = tuple(title or f"Unnamed: {place}" for place, title in enumerate(names))
    return dialect._replace(names=titles, has_row_names=len(first) > len(names))


def sniff(head: bytes, name: str) -> Dialect:
    r"""Tell encoding, separator, decimal mark and header from the opening of a file.

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
    if len(head) >= OPENING_BYTES and "\n" not in text and "\r" not in text:
        raise ReportError(f"{name} has no end of line in its first {OPENING_BYTES} bytes; it is no table.")
    lines = [line for line in text.splitlines() if line.strip()]
    whole = lines[:-1] if len(head) >= OPENING_BYTES and len(lines) > 1 else lines
    separator = max(SEPARATORS, key=lambda mark: whole[0].count(mark))
    fields = list(csv.reader(whole[:200], delimiter=separator))
    cells = [cell for line in fields[1:] for cell in line]
    commas = separator != "," and any(DECIMAL_COMMA.match(cell) for cell in cells)
    header = not fields[0] or not all(NUMBER.fullmatch(field.strip()) for field in fields[0])
    if not header:
        notes.append("The first line holds numbers, not names: the columns were numbered.")
    if separator not in (",", "\t"):
        notes.append(f"Columns are separated by {separator!r}.")
    if commas:
        notes.append("Decimal commas were read as decimal points.")
    return Dialect(encoding, separator, "," if commas else ".", header, tuple(notes))


def check_names(names: Sequence[Any], where: str) -> None:
    """Refuse a name that two columns have."""
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ReportError(f"{where} has more than one column named {listed(twice)}; give each its own name.")


def listed(names: Any, limit: int = 12) -> str:
    """Names in quotes, the first dozen of them."""
    names = [repr(str(name)) for name in names]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def sentence(error: BaseException, name: str) -> str:
    """What is wrong with a file, from what the reader says."""
    if isinstance(error, UnicodeDecodeError):
        wrong = f"byte {error.object[error.start]:#04x} at position {error.start}"
        return f"{name} is not UTF-8 text ({wrong}); save it as UTF-8."
    if isinstance(error, (pd.errors.ParserError, csv.Error)):
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
        if "EOF inside string" in reason:
            reason = reason.replace("EOF inside string starting at", "a quote is opened and never closed in")
        return f"{name} cannot be read as CSV: {reason}."
    return f"{name} cannot be read: {reason_of(error)}."


def _options(dialect: Dialect) -> dict[str, Any]:
    return {
        "sep": dialect.separator,
        "decimal": dialect.decimal,
        "encoding": dialect.encoding,
        "header": 0 if dialect.header else None,
        "low_memory": False,
        "skipinitialspace": True,
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


def _settled(block: pd.DataFrame, words: Sequence[str], decimal: str) -> pd.DataFrame:
    """A block whose columns of numbers look as they would in the whole table."""
    for name in block.columns:
        if name in words:
            continue
        values = block[name]
        if pd.api.types.is_bool_dtype(values.dtype):  # words that happen to be all True or False here
            block[name] = values.astype(str)
        elif is_text(values):
            numbers = numbers_from_texts(values, decimal)
            if numbers is not None:
                block[name] = numbers.values
    return block


def _next_filled(rows: Iterator[list[str]]) -> list[str]:
    """The next line that is not blank, as pandas skips those that are."""
    return next((fields for fields in rows if any(field.strip() for field in fields) or len(fields) > 1), [])


def _encoding(head: bytes, name: str, notes: list[str]) -> str:
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


MISSING_MARKS = frozenset(
    {"?", "-", "--", "–", "—", ".", "..", "na", "n.a.", "n.a", "nil", "missing", "unknown", "not available"}
)
"""Words that stand for a missing number in a column of numbers."""

PLAIN = {
    ".": re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?|nan", re.IGNORECASE),
    ",": re.compile(r"[-+]?(\d+,?\d*|,\d+)([eE][-+]?\d+)?|[-+]?inf(inity)?|nan", re.IGNORECASE),
}
GROUPED = {
    ".": re.compile(r"[-+]?\d{1,3}([,\u00a0\u202f '’])\d{3}(\1\d{3})*(\.\d+)?"),
    ",": re.compile(r"[-+]?\d{1,3}([.\u00a0\u202f '’])\d{3}(\1\d{3})*(,\d+)?"),
}
"""By the decimal mark: numbers, and numbers whose thousands are grouped."""

GLANCE = 50


class Numbers(NamedTuple):
    """Texts read as numbers, the marks that stood for missing ones, and whether thousands were grouped."""

    values: pd.Series[Any]
    marks: tuple[str, ...]
    grouped: bool


def numbers_from_texts(texts: pd.Series[Any], decimal: str = ".") -> Numbers | None:
    """Read a column of texts as numbers, or tell by None that it holds something else.

    Examples
    --------
    >>> numbers_from_texts(pd.Series(["1,250", "?", "900"])).values.tolist()
    [1250.0, nan, 900.0]
    >>> numbers_from_texts(pd.Series(["1,250", "many"])) is None
    True
    """
    distinct = texts.dropna().unique()
    for some in (distinct[:GLANCE], distinct):
        values_by_text = {text: _number(str(text).strip(), decimal) for text in some}
        if any(value is None for value in values_by_text.values()):
            return None
    marks = [text for text in values_by_text if str(text).strip().lower() in MISSING_MARKS]
    if len(marks) == len(values_by_text):
        return None
    grouped = any(GROUPED[decimal].fullmatch(str(text).strip()) for text in values_by_text)
    values = texts.map(values_by_text).astype(np.float64)
    return Numbers(values, tuple(sorted(map(str, marks))), grouped)


def tidy_numbers(frame: pd.DataFrame, decimal: str) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """A frame whose columns of texts that are numbers hold numbers, and what was decided."""
    notes = []
    for name in frame.columns:
        numbers = numbers_from_texts(frame[name], decimal) if is_text(frame[name]) else None
        if numbers is None:
            continue
        frame = frame.assign(**{name: numbers.values}) if isinstance(name, str) else frame
        if numbers.grouped:
            notes.append(f"Column {name!r} groups thousands: its texts were read as numbers.")
        if numbers.marks:
            words = ", ".join(map(repr, numbers.marks))
            notes.append(f"Column {name!r} holds numbers and {words}, which was taken for a missing value.")
    return frame, tuple(notes)


def is_text(values: pd.Series[Any]) -> bool:
    """Whether a column holds texts, or things of several kinds."""
    return values.dtype == object or isinstance(values.dtype, pd.StringDtype)


def _number(text: str, decimal: str) -> float | None:
    """A number, NaN for a mark of a missing one, None for anything else."""
    if text.lower() in MISSING_MARKS or not text:
        return np.nan
    if not PLAIN[decimal].fullmatch(text):
        grouped = GROUPED[decimal].fullmatch(text)
        if grouped is None:
            return None
        text = text.replace(grouped[1], "")
    return float(text.replace(",", ".") if decimal == "," else text)
