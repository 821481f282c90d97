"""What is done with a saved model: predicting the rows of a table, and measuring its certificates afresh."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, repeat
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.certificates import Certificates
from assay.report.answers import Answerer
from assay.report.errors import ReportError, words_of
from assay.report.results import fingerprint_of
from assay.report.tables.choosing import open_target
from assay.report.tables.data import TASKS
from assay.report.tables.encoding.encoder import TableEncoder
from assay.report.tables.files.options import Reading
from assay.report.tables.files.reading import PARQUET_ENDINGS, RawTable, read_table, table_blocks


class Predicted(NamedTuple):
    """What was written: how many rows, categories that the model has never seen, by column, and notes."""

    n_rows: int
    unseen: dict[str, list[str]]
    notes: tuple[str, ...] = ()


def predict_table(
    model: Any,
    source: str | Path,
    output: str | Path | None = None,
    *,
    interval: float | None = None,
    keep: Sequence[str] = (),
    reading: Reading | None = None,
    threshold: float | str | None = None,
) -> Predicted:
    """Predict every row of a table and write the predictions as CSV, or Parquet by the ending of the file.

    Tables are read and written a block at a time, whatever their format. The file appears whole or not at
    all.

    Parameters
    ----------
    model : path or Pipeline
        A file that `assay compare` or `assay fit` saved, or the model in it.
    source : path
        As in `read_table`.
    output : path, optional
        Where to write; standard output by default.
    interval : float, optional
        Coverage of prediction intervals, or of sets of classes. Where a regression has no intervals of its
        own, those that the residuals of the folds give.
    keep : sequence of str
        Columns of the table to write before the predictions, such as the one that names the rows.
    reading : Reading, optional
        Where the table stands in its file; what its values mean the model knows.
    threshold : float or "chosen", optional
        Probability from which on the rarer of two classes is named, in place of the likelier class; "chosen"
        for the one that the comparison chose.

    Returns
    -------
    predicted : Predicted
    """
    about: dict[str, Any] = {}
    if isinstance(model, (str, Path)):
        from assay import persistence

        model, about = persistence.load(model), persistence.about(model)
    encoder = _encoder(model)
    answer = Answerer.for_model(model, about, interval=interval, threshold=threshold)
    written = answer.columns
    twice = [name for name in keep if name in written or list(keep).count(name) > 1]
    if twice:
        raise ReportError(
            f"The column {twice[0]!r} cannot be kept: another of that name is written; leave it out."
        )
    # Whatever can be refused is refused above: the file is opened for a table that can be predicted.
    n_rows, unseen = 0, dict[str, list[str]]()
    n_features = len(encoder.feature_names_out_)
    with _writer(output) as write:
        for block in table_blocks(source, encoder.columns, keep=keep, n_features=n_features, reading=reading):
            for name, levels in encoder.unseen_levels(block).items():
                unseen.setdefault(name, levels)
            answers = answer(block)
            for place, name in enumerate(keep):
                answers.insert(place, name, block[name].to_numpy())
            write(answers)
            n_rows += len(block)
    return Predicted(n_rows, unseen, answer.notes)


def _encoder(model: Any) -> TableEncoder:
    if not isinstance(model, Pipeline) or not isinstance(model[0], TableEncoder):
        raise ReportError(
            "This model was not saved by assay compare or assay fit: load it with assay.load and call its "
            "predict."
        )
    require_prediction(model)
    return model[0]


def require_prediction(model: Pipeline) -> None:
    """Refuse a model that has nothing to say about other rows than those of its fit."""
    if not hasattr(model[-1], "predict"):
        raise ReportError(
            f"{type(model[-1]).__name__} groups the rows of the table of its fit and predicts no others."
        )


@contextlib.contextmanager
def _writer(output: str | Path | None) -> Iterator[Any]:
    """A function that writes blocks; the file takes its place at the end."""
    if output is None:
        yield _csv_writer(sys.stdout)
        return
    target = Path(output)
    if target.is_dir() or not target.absolute().parent.is_dir():
        raise ReportError(
            f"The predictions cannot be written to {target}: name a file in a folder that exists."
        )
    draft = target.with_name(f".{target.name}.{secrets.token_hex(6)}")
    try:
        if target.name.lower().endswith(PARQUET_ENDINGS):
            with _parquet_writer(draft) as parquet:
                yield parquet
        else:
            with open(draft, "w", encoding="utf-8", newline="") as file:
                yield _csv_writer(file)
        os.replace(draft, target)
    except OSError as error:
        raise ReportError(
            f"The predictions cannot be written to {target}: {error.strerror or error}."
        ) from error
    finally:
        draft.unlink(missing_ok=True)


def _csv_writer(file: Any) -> Callable[[pd.DataFrame], None]:
    """Writes blocks as CSV, the names of the columns once."""
    headers = chain([True], repeat(False))
    return lambda block: block.to_csv(file, index=False, header=next(headers))


@contextlib.contextmanager
def _parquet_writer(path: Path) -> Iterator[Callable[[pd.DataFrame], None]]:
    """Writes blocks as row groups of a Parquet file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    with contextlib.ExitStack() as stack:
        writers: list[Any] = []

        def write(block: pd.DataFrame) -> None:
            table = pa.Table.from_pandas(block, preserve_index=False)
            if not writers:
                writers.append(stack.enter_context(pq.ParquetWriter(path, table.schema)))
            writers[0].write_table(table)

        yield write


def certify_table(path: str | Path, source: str | Path) -> Certificates:
    """Measure every certificate of a saved model on its table, expensive ones included.

    Nothing that the fit measured is taken over: the table is encoded again and the fitted attributes are
    held against it. The table must be that of the fit, row by row; its file and its format may be others.

    Parameters
    ----------
    path : path
        A model that `assay compare` or `assay fit` saved.
    source : path
        As in `read_table`.

    Returns
    -------
    certificates : Certificates

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from assay.report import certify_table, fit_table
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     place = fit_table("Ridge", "diabetes", output=Path(folder, "ridge.skops")).path
    ...     certify_table(place, "diabetes").holds
    True
    """
    model, about = open_fitted(path)
    encoder, final = model[0], model[-1]
    if not hasattr(final, "certify"):
        raise ReportError(f"{type(final).__name__} carries no certificates; there is nothing to measure.")
    table = read_table(source, reading=Reading.from_dict(about.get("reading")))
    X, y = _rows_of_the_fit(table, encoder, about)
    # Nothing is measured on rows that are not those of the fit.
    if fingerprint_of(X, y, encoder.columns) != about["fingerprint"]:
        raise ReportError(
            f"{table.name} is not the table that the model was fitted on ({about.get('table', 'another')}, "
            f"{about.get('n_rows', 'other')} rows): certificates are about the rows of the fit; name that "
            "table."
        )
    features = encoder.transform(X)
    try:
        return final.certify(features) if y is None else final.certify(features, y)
    except NotImplementedError as error:
        raise ReportError(
            f"{type(final).__name__} measures its certificates at the fit only; leave out the table."
        ) from error
    except ValueError as error:
        raise ReportError(
            f"The certificates of {type(final).__name__} cannot be measured: {words_of(error)}."
        ) from error


def open_fitted(path: str | Path) -> tuple[Pipeline, dict[str, Any]]:
    """A model with what `compare` and `fit` keep beside it; a sentence for one that another way saved."""
    from assay.persistence import about, load

    model, kept = load(path), about(path)
    known = isinstance(model, Pipeline) and isinstance(model[0], TableEncoder)
    if not known or not isinstance(kept.get("fingerprint"), str) or kept.get("task") not in TASKS:
        raise ReportError(
            f"{path} was not saved by assay compare or assay fit and does not tell its table: load it with "
            "assay.load and call its certify."
        )
    return model, kept


def _rows_of_the_fit(
    table: RawTable, encoder: TableEncoder, about: dict[str, Any]
) -> tuple[pd.DataFrame, NDArray | None]:
    """The columns of the fit and the target, without the rows that have none."""
    encoder.require_columns(table.frame)
    used = table.frame[[column.name for column in encoder.columns if column.learnable]]
    target = about.get("target")
    if target is None:
        return used, None
    if target not in table.frame.columns:
        raise ReportError(
            f"{table.name} lacks the target {target!r}; certificates compare the model with it: "
            "name the table of the fit."
        )
    kept, y, _, _ = open_target(table, target, about["task"])
    return used.loc[kept].reset_index(drop=True), y
