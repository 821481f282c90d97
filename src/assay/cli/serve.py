"""`assay serve`: a saved model behind a local page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from assay.cli.options import Debug, ModelArgument


def serve(
    model: Annotated[Path, ModelArgument],
    port: Annotated[
        int, typer.Option(min=0, max=65535, metavar="PORT", help="Port of 127.0.0.1; 0 for a free one.")
    ] = 8000,
    interval: Annotated[
        float, typer.Option(metavar="COVERAGE", help="Coverage of prediction intervals or class sets.")
    ] = 0.9,
    debug: Debug = False,
) -> None:
    """Serve a saved model on this machine: a page with a form, and a JSON endpoint.

    Only this machine can reach it. POST {"rows": [{"column": value, ...}]} to /predict for predictions; GET
    /model tells the columns. Ctrl-C ends it.
    """
    from assay.report import ReportError
    from assay.report.serving import ModelServer, ServedModel

    served = ServedModel(model, interval=interval)
    try:
        server = ModelServer(served, port)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise ReportError(
            f"Port {port} cannot be listened on ({reason}); name another with --port, or 0 for a free one."
        ) from error
    with server:
        typer.echo(f"{served.name} at {server.address} (Ctrl-C ends)")
        try:
            server.serve_forever()
        except KeyboardInterrupt:  # the way to end it
            typer.echo("ended.", err=True)
