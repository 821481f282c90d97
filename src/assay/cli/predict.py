"""`assay predict`: the rows of a table through a saved model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Debug, ModelArgument, TableArgument


def predict(
    model: Annotated[Path, ModelArgument],
    table: Annotated[str, TableArgument],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV or Parquet file to write; standard output by default."),
    ] = None,
    interval: Annotated[
        float | None, typer.Option(metavar="COVERAGE", help="Coverage of prediction intervals, such as 0.9.")
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to write before the predictions; may be repeated."),
    ] = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table with a saved model.

    The columns are checked against those of the fit; categories that it has not seen are told on the
    error stream. Large files are read and written a block at a time.
    """
    from assay.report import predict_table

    columns = tuple(dict.fromkeys(keep or ()))
    found = predict_table(model, table, output, interval=interval, keep=columns)
    for name, levels in found.unseen.items():
        words = ", ".join(repr(level) for level in levels)
        typer.echo(f"assay: column {name!r} has values that the model has not seen: {words}.", err=True)
    for note in found.notes:
        typer.echo(f"assay: {note}", err=True)
    if output is not None:
        typer.echo(f"assay: {found.n_rows} predictions in {output}.", err=True)
