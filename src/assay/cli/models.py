"""`assay fit`, `certify` and `predict`: one model fitted and saved, its certificates, its predictions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from assay.cli.options import (
    AsJson,
    Categorical,
    Debug,
    Drop,
    Force,
    MethodArgument,
    ModelArgument,
    Na,
    Numeric,
    Seed,
    Separator,
    Sheet,
    Skip,
    TableArgument,
    Target,
    Task,
    reading_of,
    takes,
)
from assay.cli.sentences import FAILED_CERTIFICATE


class FitOptions(NamedTuple):
    """What `assay fit` is told."""

    method: Annotated[str, MethodArgument]
    table: Annotated[str, TableArgument]
    target: Target = None
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the method; may be repeated."
        ),
    ] = None
    drop: Drop = None
    categorical: Categorical = None
    numeric: Numeric = None
    na: Na = None
    skip: Skip = None
    separator: Separator = None
    sheet: Sheet = None
    output: Annotated[Path, typer.Option(metavar="FILE", help="File for the model.")] = Path("model.skops")
    task: Task = "auto"
    force: Force = False
    seed: Seed = 0
    as_json: AsJson = False
    debug: Debug = False


@takes(FitOptions)
def fit(options: FitOptions) -> None:
    """Fit one method on a table and save the model.

    Values of parameters are numbers, true, false, none, words, or lists such as [1, 2, 3]. Prints the
    certificates of the fit; the exit code is 1 if one of them fails.
    """
    from assay.cli.terminal import open_console, say, show_certificates, show_verdict
    from assay.report import fit_table

    fitted = fit_table(
        options.method,
        options.table,
        target=options.target,
        task=options.task,
        parameters=parameters(options.parameter or ()),
        drop=tuple(dict.fromkeys(options.drop or ())),
        output=options.output,
        force=options.force,
        seed=options.seed,
        reading=reading_of(options),
    )
    console = open_console()
    if options.as_json:
        say(console, fitted.certificates.to_json(indent=2), wrapped=False)
    else:
        for note in fitted.notes:
            say(console, note)
        if fitted.certificates:
            show_certificates(console, fitted.certificates)
            show_verdict(console, fitted.certificates)
        say(console, f"{'model':8}{fitted.path}", wrapped=False)
    if not fitted.certificates.holds:
        raise typer.Exit(FAILED_CERTIFICATE)


def parameters(given: Sequence[str]) -> dict[str, str]:
    """Names and texts of parameters written as name=value.

    Examples
    --------
    >>> parameters(["alpha=0.1", "solver=newton"])
    {'alpha': '0.1', 'solver': 'newton'}
    """
    from assay.report import ReportError

    texts: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise ReportError(
                f"A parameter must be written name=value, such as -p alpha=0.1. Got {item!r} instead."
            )
        if name in texts:
            raise ReportError(f"The parameter {name!r} was given twice; give it once.")
        texts[name] = value.strip()
    return texts


def certify(
    model: Annotated[Path, ModelArgument],
    table: Annotated[
        str | None,
        typer.Argument(
            metavar="TABLE", help="The table it was fitted on, to measure every certificate afresh."
        ),
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Show the certificates of a saved model.

    Without TABLE, those that were saved with it; with the table of the fit, all of them measured again. The
    exit code is 1 if one of them fails.
    """
    from assay.cli.terminal import open_console, say, show_certificates, show_verdict
    from assay.persistence import load
    from assay.report import ReportError, certificates_of, certify_table

    if not model.exists():
        raise ReportError(f"There is no file {model}.")
    certificates = certificates_of(load(model)) if table is None else certify_table(model, table)
    if not certificates:
        raise ReportError(f"The model in {model} carries no certificates.")
    console = open_console()
    if as_json:
        say(console, certificates.to_json(indent=2), wrapped=False)
    else:
        show_certificates(console, certificates)
        show_verdict(console, certificates)
    if not certificates.holds:
        raise typer.Exit(FAILED_CERTIFICATE)


def predict(
    model: Annotated[Path, ModelArgument],
    table: Annotated[str, TableArgument],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="CSV or Parquet file to write; standard output by default."),
    ] = None,
    interval: Annotated[
        float | None,
        typer.Option(metavar="COVERAGE", help="Coverage of prediction intervals or class sets, such as 0.9."),
    ] = None,
    threshold: Annotated[
        str | None,
        typer.Option(
            metavar="PROBABILITY",
            help="Name the rarer of two classes from this probability on; chosen for the one of compare.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="Column to write before the predictions; may be repeated."),
    ] = None,
    skip: Skip = None,
    separator: Separator = None,
    sheet: Sheet = None,
    debug: Debug = False,
) -> None:
    """Predict the rows of a table with a saved model.

    The columns are checked against those of the fit; categories that it has not seen are told on the
    error stream. Values are read as the fit read them. Large files are read and written a block at a time.
    """
    from assay.report import Reading, predict_table

    columns, reading = tuple(dict.fromkeys(keep or ())), Reading(skip, separator, sheet)
    options: dict[str, Any] = {"interval": interval, "keep": columns, "threshold": threshold}
    predicted = predict_table(model, table, output, **options, reading=reading)
    for name, levels in predicted.unseen.items():
        words = ", ".join(repr(level) for level in levels)
        typer.echo(f"assay: column {name!r} has values that the model has not seen: {words}.", err=True)
    for note in predicted.notes:
        typer.echo(f"assay: {note}", err=True)
    if output is not None:
        typer.echo(f"assay: {predicted.n_rows:,} predictions in {output}.", err=True)
