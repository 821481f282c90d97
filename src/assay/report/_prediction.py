"""Predictions of a saved model for the rows of a table, a block at a time."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from assay.report._encoder import TableEncoder
from assay.report._errors import ReportError
from assay.report._reading import (
    CSV_ENDINGS,
    PARQUET_ENDINGS,
    STANDARD_INPUT,
    read_table,
    sniff,
    sniffed_opening,
)

BLOCK_ROWS = 65_536


class Predicted(NamedTuple):
    """What was written: the number of rows, and categories that the model has never seen, by column."""

    n_rows: int
    unseen: dict[str, list[str]]


def predict_table(
    model: Any,
    source: str | Path,
    output: str | Path | None = None,
    *,
    interval: float | None = None,
) -> Predicted:
    """Predict every row of a table and write the predictions as CSV, or Parquet by the ending of the file.

    Large CSV and Parquet files are read and written a block at a time. The file appears whole or not at all.

    Parameters
    ----------
    model : Pipeline
        A model that `assay compare` saved.
    source : path
        As in `read_table`.
    output : path, optional
        Where to write; standard output by default.
    interval : float, optional
        Coverage of prediction intervals, for a model that has them.

    Returns
    -------
    predicted : Predicted
    """
    encoder = _encoder(model)
    if interval is not None:
        _check_interval(model, interval)
    n_rows, unseen = 0, dict[str, list[str]]()
    with _writer(output) as write:
        for block in _blocks(source):
            encoder.require_columns(block)
            for name, levels in encoder.unseen_levels(block).items():
                unseen.setdefault(name, levels)
            write(predictions(model, block, interval))
            n_rows += len(block)
    return Predicted(n_rows, unseen)


def predictions(model: Pipeline, frame: pd.DataFrame, interval: float | None = None) -> pd.DataFrame:
    """Prediction of each row, with its interval if asked, or the probabilities of the classes."""
    features = model[:-1].transform(frame)
    last = model[-1]
    found = {"prediction": np.asarray(last.predict(features))}
    if interval is not None:
        try:
            ends = np.asarray(last.predict_interval(features, coverage=interval))
        except ValueError as error:  # columns that repeat each other leave no standard errors
            raise ReportError(f"There are no prediction intervals: {error}") from error
        found["lower"], found["upper"] = ends[:, 0], ends[:, 1]
    if hasattr(last, "predict_proba"):
        probabilities = last.predict_proba(features)
        for place, label in enumerate(last.classes_):
            found[f"probability of {label}"] = probabilities[:, place]
    return pd.DataFrame(found)


def _encoder(model: Any) -> TableEncoder:
    if not isinstance(model, Pipeline) or not isinstance(model[0], TableEncoder):
        raise ReportError(
            "This model was not saved by assay compare: load it with assay.load and call its predict."
        )
    return model[0]


def _check_interval(model: Pipeline, interval: float) -> None:
    if not 0 < interval < 1:
        raise ReportError(f"The interval must be a coverage between 0 and 1. Got {interval:g} instead.")
    if not hasattr(model[-1], "predict_interval"):
        raise ReportError(f"{type(model[-1]).__name__} has no prediction intervals; leave out --interval.")


def _blocks(source: str | Path) -> Iterator[pd.DataFrame]:
    """The table in blocks of rows; what cannot be read so comes whole."""
    path = Path(source)
    name = path.name.lower()
    if str(source) == STANDARD_INPUT or not path.is_file():
        yield read_table(source).frame
    elif name.endswith(PARQUET_ENDINGS):
        yield from _parquet_blocks(path)
    elif name.endswith(CSV_ENDINGS):
        yield from _csv_blocks(path)
    else:
        yield read_table(source).frame


def _csv_blocks(path: Path) -> Iterator[pd.DataFrame]:
    try:
        dialect = sniff(sniffed_opening(path), path.name)
        with pd.read_csv(
            path,
            sep=dialect.separator,
            decimal=dialect.decimal,
            encoding=dialect.encoding,
            skipinitialspace=True,
            chunksize=BLOCK_ROWS,
        ) as reader:
            yield from reader
    except (pd.errors.ParserError, UnicodeDecodeError, OSError, EOFError) as error:
        reason = str(error).removeprefix("Error tokenizing data. C error: ").strip().rstrip(".")
        raise ReportError(f"{path.name} cannot be read as CSV: {reason}.") from error


def _parquet_blocks(path: Path) -> Iterator[pd.DataFrame]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(path) as file:
            for batch in file.iter_batches(BLOCK_ROWS):
                yield batch.to_pandas()
    except (pa.ArrowException, OSError) as error:
        raise ReportError(
            f"{path.name} is not a whole Parquet file (cut short, or another format)."
        ) from error


@contextlib.contextmanager
def _writer(output: str | Path | None) -> Iterator[Any]:
    """A function that writes blocks; the file takes its place at the end."""
    if output is None:
        yield _CsvWriter(sys.stdout)
        return
    target = Path(output)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ReportError(
            f"The predictions cannot be written to {target}: name a file in a folder that exists."
        )
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        if target.name.lower().endswith(PARQUET_ENDINGS):
            with _ParquetWriter(draft) as parquet:
                yield parquet
        else:
            with open(draft, "w", encoding="utf-8", newline="") as file:
                yield _CsvWriter(file)
        os.replace(draft, target)
    except OSError as error:
        raise ReportError(
            f"The predictions cannot be written to {target}: {error.strerror or error}."
        ) from error
    finally:
        draft.unlink(missing_ok=True)


class _CsvWriter:
    """Writes blocks as CSV, the names of the columns once."""

    def __init__(self, file: Any) -> None:
        self._file, self._begun = file, False

    def __call__(self, block: pd.DataFrame) -> None:
        block.to_csv(self._file, index=False, header=not self._begun)
        self._begun = True


class _ParquetWriter:
    """Writes blocks as row groups of a Parquet file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None

    def __enter__(self) -> _ParquetWriter:
        return self

    def __call__(self, block: pd.DataFrame) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.Table.from_pandas(block, preserve_index=False)
        if self._writer is None:
            self._writer = pq.ParquetWriter(self._path, table.schema)
        self._writer.write_table(table)

    def __exit__(self, *error: object) -> None:
        if self._writer is not None:
            self._writer.close()
