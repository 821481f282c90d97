"""`assay fit`: one method, by name and with parameters of one's own, fitted on a table and saved."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import AsJson, Debug, Drop, Force, MethodArgument, Seed, TableArgument, Target, Task
from assay.cli.sentences import FAILED_CERTIFICATE


def fit(
    method: Annotated[str, MethodArgument],
    table: Annotated[str, TableArgument],
    target: Target = None,
    parameter: Annotated[
        list[str] | None,
        typer.Option(
            "--parameter", "-p", metavar="NAME=VALUE", help="Parameter of the method; may be repeated."
        ),
    ] = None,
    drop: Drop = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="File for the model.")] = Path("model.skops"),
    task: Task = "auto",
    force: Force = False,
    seed: Seed = 0,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Fit one method on a table and save the model.

    Values of parameters are numbers, true, false, none, words, or lists such as [1, 2, 3]. Prints the
    certificates of the fit; the exit code is 1 if one of them fails.
    """
    from assay.cli.terminal import open_console, say, show_certificates, show_verdict
    from assay.report import fit_table

    found = fit_table(
        method,
        table,
        target=target,
        task=task,
        parameters=parameters(parameter or ()),
        drop=tuple(dict.fromkeys(drop or ())),
        output=output,
        force=force,
        seed=seed,
    )
    console = open_console()
    if as_json:
        say(console, found.certificates.to_json(indent=2), wrapped=False)
    else:
        for note in found.notes:
            say(console, note)
        if found.certificates:
            show_certificates(console, found.certificates)
            show_verdict(console, found.certificates)
        say(console, f"{'model':8}{found.path}", wrapped=False)
    if not found.certificates.holds:
        raise typer.Exit(FAILED_CERTIFICATE)


def parameters(given: Sequence[str]) -> dict[str, str]:
    """Names and texts of parameters written as name=value.

    Examples
    --------
    >>> parameters(["alpha=0.1", "solver=newton"])
    {'alpha': '0.1', 'solver': 'newton'}
    """
    from assay.report import ReportError

    found: dict[str, str] = {}
    for item in given:
        name, equals, value = item.partition("=")
        name = name.strip()
        if not equals or not name.isidentifier():
            raise ReportError(
                f"A parameter must be written name=value, such as -p alpha=0.1. Got {item!r} instead."
            )
        if name in found:
            raise ReportError(f"The parameter {name!r} was given twice; give it once.")
        found[name] = value.strip()
    return found
