"""Reading a table from a CSV or Parquet file or by the name of an embedded one, and checking its columns."""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from assay.report._errors import ReportError

try:
    import pandas as pd
except ImportError as error:  # pragma: no cover
    raise ImportError("Reports need pandas: install it with pip install 'assay[cli]'.") from error

CSV_ENDINGS = (".csv", ".tsv", ".txt", ".csv.gz", ".tsv.gz")
PARQUET_ENDINGS = (".parquet", ".pq")
UNNAMED = "Unnamed: 0"
"""What pandas calls a first column that has no name."""


@dataclass(frozen=True)
class RawTable:
    """A table as it was read.

    Attributes
    ----------
    name : str
        Name of the table, for titles.
    frame : DataFrame
        All columns.
    target : str or None
        The target that the table itself declares (embedded tables only).
    row_names : tuple of str or None
        Names of the rows.
    classes : bool
        Whether the declared target numbers classes.
    description : str
        What the table is about.
    source : str
        Where it was read from.
    notes : tuple of str
        What was decided while reading.
    """

    name: str
    frame: pd.DataFrame
    target: str | None = None
    row_names: tuple[str, ...] | None = None
    classes: bool = False
    description: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Data:
    """A table ready for learning: finite numbers, and the target apart.

    Attributes
    ----------
    name, description, source, row_names, notes
        As in `RawTable`.
    X : DataFrame of float64
        The features.
    y : ndarray or None
        The target.
    target : str or None
        Name of the target.
    dropped : tuple of str
        Columns set aside by request.
    """

    name: str
    X: pd.DataFrame
    y: NDArray | None
    target: str | None
    row_names: tuple[str, ...] | None = None
    description: str = ""
    source: str = ""
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = field(default=())

    @property
    def feature_names(self) -> list[str]:
        """Names of the features."""
        return [str(name) for name in self.X.columns]


def read_table(source: str | Path) -> RawTable:
    """Read a CSV or Parquet file, or an embedded table by its name.

    Examples
    --------
    >>> from assay.report import read_table
    >>> read_table("us_arrests").frame.shape
    (50, 4)
    """
    path = Path(source)
    if not path.is_file():
        return _embedded(str(source), path)
    ending = path.name.lower()
    if ending.endswith(PARQUET_ENDINGS):
        table = _read_parquet(path)
    elif ending.endswith(CSV_ENDINGS):
        table = _read_csv(path)
    else:
        known = ", ".join((*CSV_ENDINGS, *PARQUET_ENDINGS))
        raise ReportError(f"The ending of {path.name} does not tell what it is; it must be one of {known}.")
    _check_size(table.frame, str(path))
    return table


def select(
    table: RawTable, *, target: str | None = None, drop: Sequence[str] = (), set_aside: Sequence[str] = ()
) -> Data:
    """Set columns aside, part the target from the features and check that all are finite numbers.

    Parameters
    ----------
    table : RawTable
        The table as read.
    target : str, optional
        Column to predict.
    drop : sequence of str
        Columns that the user sets aside; each must be there.
    set_aside : sequence of str
        Columns that are set aside without a word, such as the classes of an embedded table.
    """
    frame = table.frame
    for name in (*([target] if target is not None else []), *drop):
        require_column(table, name)
    if target is not None and target in drop:
        raise ReportError(f"Column {target!r} is both the target and dropped; leave out one of the two.")
    frame = frame.drop(columns=[*drop, *(name for name in set_aside if name in frame.columns)])
    features = frame if target is None else frame.drop(columns=[target])
    if features.shape[1] == 0:
        raise ReportError(f"No column of {table.name} is left to learn from.")
    _check_numbers(features, table.name)
    if target is not None:
        _check_target(frame[target], target)
        _check_numbers(frame[[target]], table.name, role="target ")
    return Data(
        name=table.name,
        X=features.astype(np.float64),
        y=None if target is None else frame[target].to_numpy(dtype=np.float64),
        target=target,
        row_names=table.row_names,
        description=table.description,
        source=table.source,
        notes=table.notes,
        dropped=tuple(drop),
    )


def require_column(table: RawTable, name: str) -> None:
    """Refuse a name that is no column, listing those there are."""
    if name not in table.frame.columns:
        raise ReportError(
            f"{table.name} has no column {name!r}; its columns are {_listed(table.frame.columns)}."
        )


def _embedded(name: str, path: Path) -> RawTable:
    from assay import datasets

    if name not in datasets.available():
        if path.is_dir():
            raise ReportError(f"{name} is a folder; give one CSV or Parquet file.")
        known = ", ".join(sorted(datasets.available()))
        raise ReportError(f"There is no file {name}, and no embedded table of that name (there are {known}).")
    table = datasets.load(name)
    return RawTable(
        name=name,
        frame=table.frame.reset_index(drop=True),
        target=table.target_name,
        row_names=table.row_names,
        classes=table.target_names is not None,
        description=table.description,
        source=table.source,
    )


def _read_csv(path: Path) -> RawTable:
    try:
        head = _opening(path)
        if not head.strip():
            raise ReportError(f"{path} is empty.")
        separator = _separator(head)
        lines = csv.reader(io.StringIO(head), delimiter=separator)
        names, first = next(lines), next(lines, [])
        _check_names(names, path)
        decimal = "," if separator == ";" and re.search(r"\d,\d", head) else "."
        frame = pd.read_csv(
            path,
            sep=separator,
            decimal=decimal,
            encoding="utf-8-sig",
            low_memory=False,
            skipinitialspace=True,
        )
    except UnicodeDecodeError as error:
        raise ReportError(
            f"{path} is not UTF-8 text (byte {error.object[error.start]:#04x} at position {error.start}); "
            "save it as UTF-8."
        ) from error
    except (pd.errors.ParserError, csv.Error) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
        raise ReportError(f"{path} cannot be read as CSV: {reason}.") from error
    except (OSError, EOFError) as error:
        raise ReportError(f"{path} cannot be read: {_reason(error)}.") from error
    if len(first) > len(names):  # pandas takes the fields before those the header names for the index
        frame = _with_unnamed_first(frame, path)
    return _with_row_names(path, frame)


def _opening(path: Path, n_characters: int = 65536) -> str:
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8-sig", newline="") as file:
        return str(file.read(n_characters))


def _separator(head: str) -> str:
    header = head.lstrip().splitlines()[0]
    return max((",", ";", "\t"), key=header.count)


def _read_parquet(path: Path) -> RawTable:
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:  # pragma: no cover
        raise ReportError("Parquet files need pyarrow: install it with pip install 'assay[cli]'.") from error
    try:
        _check_names(pq.read_schema(path).names, path)
        frame = pq.read_table(path).to_pandas()
    except PermissionError as error:
        raise ReportError(f"{path} cannot be read: {_reason(error)}.") from error
    except (pa.ArrowException, OSError) as error:
        raise ReportError(f"{path} is not a whole Parquet file (cut short, or another format).") from error
    frame.columns = frame.columns.map(str)
    if isinstance(frame.index, pd.RangeIndex):
        return RawTable(name=path.name, frame=frame, source=str(path))
    names = tuple(str(name) for name in frame.index)
    return RawTable(name=path.name, frame=frame.reset_index(drop=True), row_names=names, source=str(path))


def _with_unnamed_first(frame: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Make a column of the one field that the header does not name, as R's write.table leaves it."""
    if frame.index.nlevels > 1:
        raise ReportError(f"The rows of {path} have more fields than its header has names.")
    frame.insert(0, UNNAMED, frame.index)
    return frame.reset_index(drop=True)


def _with_row_names(path: Path, frame: pd.DataFrame) -> RawTable:
    """Take a first column without a name, as pandas and R write it, for the names of the rows."""
    if frame.shape[1] > 1 and str(frame.columns[0]) == UNNAMED:
        names = tuple(str(name) for name in frame.iloc[:, 0])
        note = "The first column has no name: it was taken for the names of the rows."
        return RawTable(path.name, frame.iloc[:, 1:], row_names=names, source=str(path), notes=(note,))
    return RawTable(path.name, frame, source=str(path))


def _check_names(names: Sequence[Any], path: Path) -> None:
    twice = [str(name) for name, count in Counter(names).items() if count > 1]
    if twice:
        raise ReportError(f"{path} has more than one column named {_listed(twice)}; give each its own name.")


def _check_size(frame: pd.DataFrame, source: str) -> None:
    if frame.shape[0] == 0 or frame.shape[1] == 0:
        raise ReportError(f"{source} has no rows.")
    if frame.shape[0] == 1:
        raise ReportError(f"{source} has one row only; there is nothing to compare on.")


def _check_target(column: Any, name: str) -> None:
    if not is_number(column):
        example = _example(column)
        raise ReportError(f"The target {name!r} must hold numbers for a regression; it holds {example}.")


def _check_numbers(frame: pd.DataFrame, source: str, role: str = "") -> None:
    text = [str(name) for name in frame.columns if not is_number(frame[name])]
    if text:
        example = _example(frame[text[0]])
        ways = " ".join(f"--drop {_quoted(name)}" for name in text)
        plural = "Columns" if len(text) > 1 else "Column"
        raise ReportError(
            f"{plural} {_listed(text)} of {source} must hold numbers; {text[0]!r} holds {example}: "
            f"recode or leave out with {ways}."
        )
    for name in frame.columns:
        wrong = ~np.isfinite(frame[name].to_numpy(dtype=np.float64, na_value=np.nan))
        if wrong.any():
            count = int(wrong.sum())
            rows = "1 row" if count == 1 else f"{count} rows"
            way = (
                "fill or remove these rows"
                if role
                else f"fill them, or leave it out with --drop {_quoted(name)}"
            )
            raise ReportError(
                f"The {role}column {str(name)!r} of {source} is missing or infinite in {rows} of "
                f"{wrong.size}; {way}."
            )


def is_number(column: Any) -> bool:
    """Whether a column holds real numbers or truth values."""
    kind = column.dtype
    return bool(pd.api.types.is_numeric_dtype(kind) and not pd.api.types.is_complex_dtype(kind))


def _example(column: Any) -> str:
    values = column.dropna()
    return repr(str(values.iloc[0])) if len(values) else "nothing"


def _quoted(name: Any) -> str:
    return str(name) if re.fullmatch(r"[\w.-]+", str(name)) else f"'{name}'"


def _listed(names: Any, limit: int = 12) -> str:
    names = [repr(str(name)) for name in names]
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(names[:limit]) + more


def _reason(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error).rstrip(".").lower()
