"""The commands put together, with one way of telling errors."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import assay
from assay.cli.compare import compare
from assay.cli.methods import explain, methods
from assay.cli.models import certify, fit, predict
from assay.cli.options import Debug
from assay.cli.sentences import READER_LEFT, InterruptedRunError, ReaderLeftError, sentence_of, silence
from assay.cli.serve import serve

EXIT_CODES = """Exit codes:

\b
0    done
1    a certificate does not hold (certify, fit)
2    the command or its input cannot be used: one sentence says why
130  interrupted; the report holds the methods that were finished, if any
141  whoever read the output stopped reading
"""


class Sentences(TyperGroup):
    """Says every error in one sentence on the error stream, without traceback."""

    def invoke(self, ctx: Any) -> Any:
        """Run a command; a pipe that nobody reads any more is no error of the output's."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise ReaderLeftError from error
        except KeyboardInterrupt as error:  # which Typer would turn into an exit code without a word
            raise InterruptedRunError("interrupted.") from error

    def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
        """Run the command line and end the process with its exit code."""
        arguments = (sys.argv[1:] if args is None else list(args)) or ["--help"]
        code: Any
        if is_completing():  # a shell asks what may come next: its answer is no output of a command
            return super().main(arguments, *rest, **{**options, "prog_name": "assay"})
        try:
            code = super().main(
                arguments, *rest, **{**options, "prog_name": "assay", "standalone_mode": False}
            )
            sys.stdout.flush()
        except (ReaderLeftError, BrokenPipeError, SystemExit):  # Typer exits for a pipe that is closed
            silence(sys.stdout)
            raise SystemExit(READER_LEFT) from None
        except Exception as error:
            if "--debug" in arguments:
                traceback.print_exc()
            if isinstance(error, OSError):  # what could not be written must not be tried again at the end
                silence(sys.stdout)
            sentence, code = sentence_of(error)
            if sentence:
                typer.echo(f"assay: {sentence}", err=True)
        raise SystemExit(code if isinstance(code, int) else 0)


def is_completing() -> bool:
    """Whether a shell has called the command to complete a line, and not a person to run it."""
    return "_ASSAY_COMPLETE" in os.environ


def build() -> typer.Typer:
    """The Typer application."""
    app = typer.Typer(
        cls=Sentences,
        name="assay",
        help="Statistical learning in which every fit carries its proof.",
        epilog=EXIT_CODES,
        add_completion=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_options)
    for command in (compare, predict, serve, fit, certify, methods, explain):
        app.command()(command)
    return app


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"assay {assay.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    debug: Debug = False,
) -> None:
    pass
