"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

TableArgument = typer.Argument(
    metavar="TABLE", help="A CSV, Parquet or Arrow file, - for standard input, or an embedded table."
)
ModelArgument = typer.Argument(metavar="MODEL", help="A model file, saved by compare, fit or assay.save.")
MethodArgument = typer.Argument(metavar="METHOD", help="Name of a method, such as Ridge; see assay methods.")

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are already there.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of folds and restarts.")]
Target = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column to predict; none to look for groups.")
]
Task = Annotated[str, typer.Option(metavar="TASK", help="auto, regression, classification or clustering.")]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
]
