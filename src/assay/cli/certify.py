"""`assay certify`: the certificates of a saved model, as they were saved or measured afresh."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import AsJson, Debug, ModelArgument
from assay.cli.sentences import FAILED_CERTIFICATE


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
