"""The command `assay`: compare methods on a table, and read the certificates of a saved model."""

import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import assay

# Typer, Rich and scikit-learn are imported where they are used: `assay --help` answers at once, and a missing
# package is said in a sentence. Annotations are evaluated for the same reason (no `from __future__`): Typer
# reads them.
if TYPE_CHECKING:
    from assay.certificates import Certificates
    from assay.report import Comparison

USAGE_ERROR = 2
FAILED_CERTIFICATE = 1
INTERRUPTED = 130
WIDTH_OF_FILES = 110


def main() -> None:
    """Run the command; the entry point of the package."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError:
        sys.stderr.write(
            "assay: the command needs typer and rich: install them with pip install 'assay[cli]'.\n"
        )
        raise SystemExit(USAGE_ERROR) from None
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")
    application()()


def application() -> Any:
    """Build the Typer application."""
    import typer
    from typer.core import TyperGroup

    class Sentences(TyperGroup):
        """Says every error in one sentence on the error stream, without traceback."""

        def main(self, args: Sequence[str] | None = None, *rest: Any, **options: Any) -> Any:
            arguments = sys.argv[1:] if args is None else list(args)
            try:
                code = super().main(arguments, *rest, **{**options, "standalone_mode": False})
            except Exception as error:
                if "--debug" in arguments:
                    traceback.print_exc()
                sentence, code = _sentence(error)
                if sentence:
                    typer.echo(f"assay: {sentence}", err=True)
            except KeyboardInterrupt:
                code = INTERRUPTED
            if code == INTERRUPTED:
                typer.echo("assay: interrupted.", err=True)
            raise SystemExit(code if isinstance(code, int) else 0)

    app = typer.Typer(
        cls=Sentences,
        name="assay",
        help="Statistical learning in which every fit carries its proof.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            typer.echo(f"assay {assay.__version__}")
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool, typer.Option("--version", callback=show_version, is_eager=True, help="Show the version.")
        ] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        pass

    @app.command()
    def compare(
        table: Annotated[
            str, typer.Argument(help="A CSV or Parquet file, or the name of an embedded table.")
        ] = "diabetes",
        target: Annotated[
            str | None, typer.Option(help="Column to predict; none to look for groups.")
        ] = None,
        task: Annotated[str, typer.Option(help="auto, regression or clustering.")] = "auto",
        drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
        output: Annotated[Path, typer.Option(help="Folder for the report and the model.")] = Path(
            "assay-report"
        ),
        folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
        seed: Annotated[int, typer.Option(min=0, help="Seed of folds and restarts.")] = 0,
        quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and say nothing.")] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        """Find the method that serves a table best.

        Prints a leaderboard with the verdicts of the certificates and writes report.html and model.assay.
        Without TABLE it runs on the embedded diabetes table.
        """
        run_compare(
            table,
            target=target,
            task=task,
            drop=tuple(dict.fromkeys(drop or ())),
            output=output,
            folds=folds,
            seed=seed,
            quiet=quiet,
        )

    @app.command()
    def certify(
        model: Annotated[Path, typer.Argument(help="A model saved by compare or assay.save.")],
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        """Show the certificates of a saved model.

        The exit code is 1 if one of them fails.
        """
        if not run_certify(model, as_json=as_json):
            raise typer.Exit(FAILED_CERTIFICATE)

    return app


def run_compare(
    table: str,
    *,
    target: str | None,
    task: str,
    drop: tuple[str, ...],
    output: Path,
    folds: int,
    seed: int,
    quiet: bool,
) -> None:
    """Compare, print the leaderboard and write the files."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from assay import display, report

    console = _console()
    display.require_matplotlib()
    report.check_folder(output)
    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    ) as bar:
        line = bar.add_task("reading", total=None)
        chosen, data = report.choose_data(report.read_table(table), target=target, task=task, drop=drop)

        def progress(done: int, total: int, doing: str) -> None:
            bar.update(line, completed=done, total=total, description=doing)

        comparison = report.compare(data, chosen, folds=folds, seed=seed, progress=progress)
        bar.update(line, description="writing the report")
        written = report.write(comparison, output)
    if not quiet:
        _show_comparison(console, comparison)
        console.print(f"report  {written.report}", markup=False, highlight=False, soft_wrap=True)
        console.print(f"model   {written.model}", markup=False, highlight=False, soft_wrap=True)


def run_certify(path: Path, *, as_json: bool) -> bool:
    """Print the certificates of a saved model; true when they all hold."""
    from assay.persistence import load
    from assay.report import ReportError, certificates_of

    if not path.exists():
        raise ReportError(f"There is no file {path}.")
    certificates = certificates_of(load(path))
    if not certificates:
        raise ReportError(f"The model in {path} carries no certificates.")
    console = _console()
    if as_json:
        console.print(
            certificates.to_json(indent=2), markup=False, highlight=False, soft_wrap=True, no_wrap=True
        )
    else:
        _show_certificates(console, certificates)
    return certificates.holds


def _show_comparison(console: Any, comparison: "Comparison") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from assay.report import plus_minus, shown

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    measures = ("RMSE", "MAE") if comparison.task == "regression" else ("explained", "inertia")
    for name in (comparison.score_name, *measures, "fit time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("certificates", no_wrap=True)
    for candidate in comparison.candidates:
        best = candidate is comparison.best
        color = "green" if candidate.certificates.holds else "red"
        table.add_row(
            escape(candidate.name),
            plus_minus(candidate.score, candidate.standard_error),
            *(shown(candidate.measures[name]) for name in measures),
            f"{candidate.fit_seconds:.3f} s",
            f"[{color}]{candidate.verdict}[/]" if candidate.certificates else "",
            style="bold" if best else None,
        )
    console.print(table)
    console.print(comparison.headline + ".", style="bold", markup=False, highlight=False)
    for sentence in (*comparison.remarks, *comparison.skipped):
        console.print(sentence, markup=False, highlight=False)
    console.print()


def _show_certificates(console: Any, certificates: "Certificates") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from assay.certificates import SYMBOLS

    colors = {"holds": "green", "fails": "red", "vacuous": "yellow"}
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("verdict", no_wrap=True)
    table.add_column("quantity")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    table.add_column("claim")
    for item in certificates:
        table.add_row(
            f"[{colors[item.verdict]}]{item.verdict}[/]",
            escape(item.quantity),
            f"{item.value:.3g}",
            f"{SYMBOLS[item.relation]} {item.bound:.3g}",
            escape(item.claim),
        )
    console.print(table)


def _console() -> Any:
    from rich.console import Console

    console = Console()
    return console if console.is_terminal else Console(width=WIDTH_OF_FILES)


def _sentence(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit code."""
    import typer

    if isinstance(error, typer.Exit):
        return "", error.exit_code
    if isinstance(error, typer.Abort):
        return "", INTERRUPTED
    if hasattr(error, "format_message"):  # a wrong option or argument, in Typer's words
        return f"{_ended(error.format_message())[:-1]}; see assay --help.", USAGE_ERROR
    if _is_expected(error):
        return _ended(str(error)), USAGE_ERROR
    words = " ".join(str(error).split()) or "no message"
    return (
        f"an unexpected error stopped the command ({type(error).__name__}: {_ended(words)[:-1]}); "
        "run it again with --debug to see where.",
        USAGE_ERROR,
    )


def _is_expected(error: Exception) -> bool:
    """Whether an error is one of those that are written for the user."""
    if isinstance(error, ImportError):
        return "pip install" in str(error)
    from assay.persistence import ModelFileError
    from assay.report import ReportError

    return isinstance(error, (ReportError, ModelFileError))


def _ended(sentence: str) -> str:
    sentence = " ".join(sentence.split())
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."


if __name__ == "__main__":
    main()
