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
            str | None,
            typer.Argument(help="A CSV, Parquet or Arrow file, - for standard input, or an embedded table."),
        ] = None,
        demo: Annotated[
            str | None, typer.Option(help="Embedded data: regression, classification or clustering.")
        ] = None,
        target: Annotated[
            str | None, typer.Option(help="Column to predict; none to look for groups.")
        ] = None,
        task: Annotated[str, typer.Option(help="auto, regression, classification or clustering.")] = "auto",
        drop: Annotated[list[str] | None, typer.Option(help="Column to leave out; may be repeated.")] = None,
        output: Annotated[Path, typer.Option(help="Folder for the report and the model.")] = Path(
            "assay-report"
        ),
        folds: Annotated[int, typer.Option(min=2, help="Folds of the cross-validation.")] = 5,
        repeats: Annotated[
            int | None, typer.Option(min=1, help="Times it is repeated; 3 for up to 2000 rows, else 1.")
        ] = None,
        methods: Annotated[
            str | None, typer.Option(help="Names of the methods to try, separated by commas.")
        ] = None,
        exclude: Annotated[
            str | None, typer.Option(help="Names of methods not to try, separated by commas.")
        ] = None,
        budget: Annotated[
            str | None, typer.Option(help="Time after which no fit is begun: 60s, 5m, 1h.")
        ] = None,
        force: Annotated[
            bool, typer.Option("--force", help="Replace the report that is in the folder.")
        ] = False,
        seed: Annotated[int, typer.Option(min=0, help="Seed of folds and restarts.")] = 0,
        quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and say nothing.")] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        """Find the method that serves a table best.

        Prints a leaderboard with the verdicts of the certificates and writes report.html, the recommended
        model (model.assay) and results.json. Without TABLE it runs on three embedded tables, one a task, each
        with a folder of its own in the output.
        """
        for name, folder in _tables_to_compare(table, demo, output, force=force):
            run_compare(
                name,
                target=target,
                task=task,
                drop=tuple(dict.fromkeys(drop or ())),
                output=folder,
                folds=folds,
                repeats=repeats,
                methods=_names(methods),
                exclude=_names(exclude),
                budget=_seconds(budget),
                force=force,
                seed=seed,
                quiet=quiet,
            )

    @app.command()
    def predict(
        model: Annotated[Path, typer.Argument(help="A model saved by compare.")],
        table: Annotated[str, typer.Argument(help="A CSV, Parquet or Arrow file, or - for standard input.")],
        output: Annotated[
            Path | None, typer.Option(help="CSV or Parquet file to write; standard output by default.")
        ] = None,
        interval: Annotated[
            float | None, typer.Option(help="Coverage of prediction intervals, such as 0.9.")
        ] = None,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        """Predict the rows of a table with a saved model.

        The columns are checked against those of the fit; categories that it has not seen are told on the
        error stream. Large files are read and written a block at a time.
        """
        run_predict(model, table, output=output, interval=interval)

    @app.command()
    def methods(
        task: Annotated[
            str | None, typer.Option(help="Only those for regression, classification, clustering, ...")
        ] = None,
        as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        """List every method of the library."""
        run_methods(task, as_json=as_json)

    @app.command()
    def explain(
        method: Annotated[str, typer.Argument(help="Name of a method, such as Ridge.")],
        debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    ) -> None:
        """Tell what a method computes, what it certifies and where to read about it."""
        run_explain(method)

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
    repeats: int | None,
    methods: tuple[str, ...],
    exclude: tuple[str, ...],
    budget: float | None,
    force: bool,
    seed: int,
    quiet: bool,
) -> None:
    """Compare, print the leaderboard and write the files."""
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    from assay import display, report

    console = _console()
    display.require_matplotlib()
    report.check_folder(output, force=force)
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

        stands: dict[str, report.Event] = {}

        def progress(event: report.Event) -> None:
            stands[event.method] = event
            done = sum(item.total if item.state == "left out" else item.done for item in stands.values())
            total = sum(item.total for item in stands.values())
            bar.update(line, completed=done, total=total, description=event.method)

        comparison = report.compare(
            data,
            chosen,
            folds=folds,
            repeats=repeats,
            seed=seed,
            methods=methods,
            exclude=exclude,
            budget=budget,
            progress=progress,
        )
        bar.update(line, description="writing the report")
        written = report.write(comparison, output, force=force)
    if not quiet:
        _show_comparison(console, comparison)
        for what, place in zip(("report", "model", "results"), written, strict=True):
            console.print(f"{what:8}{place}", markup=False, highlight=False, soft_wrap=True)


def run_predict(path: Path, table: str, *, output: Path | None, interval: float | None) -> None:
    """Predict a table and say what the model has never seen."""
    import typer

    from assay.persistence import load
    from assay.report import predict_table

    found = predict_table(load(path), table, output, interval=interval)
    for name, levels in found.unseen.items():
        words = ", ".join(repr(level) for level in levels)
        typer.echo(f"assay: column {name!r} has values that the model has not seen: {words}.", err=True)
    if output is not None:
        typer.echo(f"assay: {found.n_rows} predictions in {output}.", err=True)


def run_methods(task: str | None, *, as_json: bool) -> None:
    """Print the catalogue."""
    import dataclasses
    import json

    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from assay.report import ReportError, catalogue

    found = [method for method in catalogue() if task is None or method.task == task]
    if not found:
        known = ", ".join(sorted({method.task for method in catalogue()}))
        raise ReportError(f"The task must be one of {known}. Got {task!r} instead.")
    console = _console()
    if as_json:
        text = json.dumps([dataclasses.asdict(method) for method in found], indent=2, ensure_ascii=False)
        console.print(text, markup=False, highlight=False, soft_wrap=True, no_wrap=True)
        return
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for name in ("method", "family", "task", "what it is"):
        table.add_column(name, no_wrap=name != "what it is")
    for method in found:
        table.add_row(escape(method.name), method.family, method.task, escape(method.summary))
    console.print(table)


def run_explain(name: str) -> None:
    """Print what a method computes and certifies."""
    from assay.report import find_method

    method = find_method(name)
    console = _console()

    def say(text: str, **style: Any) -> None:
        console.print(text, markup=False, highlight=False, **style)

    say(f"{method.name} · {method.family} · {method.task}", style="bold")
    for title, text in (
        ("", method.summary),
        ("", method.objective),
        ("Certificates", method.certificates),
        ("References", method.references),
    ):
        if text:
            say("")
            if title:
                say(title, style="bold")
            say(text)


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


DEMONSTRATIONS = {"regression": "diabetes", "classification": "breast_cancer", "clustering": "us_arrests"}
"""Embedded tables that show each task."""


def _tables_to_compare(
    table: str | None, demo: str | None, output: Path, *, force: bool
) -> list[tuple[str, Path]]:
    """Tables to run on and the folder of each: the one given, the demonstration asked for, or all of them."""
    if table is not None and demo is None:
        return [(table, output)]
    from assay.report import ReportError, check_folder

    if table is not None:
        raise ReportError("Give a table or --demo, not both.")
    if demo is None:
        places = [(name, output / task) for task, name in DEMONSTRATIONS.items()]
        for _, folder in places:
            check_folder(folder, force=force)
        return places
    if demo not in DEMONSTRATIONS:
        raise ReportError(f"The demo must be one of {', '.join(DEMONSTRATIONS)}. Got {demo!r} instead.")
    return [(DEMONSTRATIONS[demo], output)]


TERMINAL_MEASURES = {
    "regression": ("RMSE", "MAE"),
    "classification": ("balanced accuracy", "ROC AUC"),
    "clustering": ("explained", "inertia"),
}


def _names(listed: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in (listed or "").split(",") if name.strip())


def _seconds(budget: str | None) -> float | None:
    """Seconds of a time such as "90", "60s", "5m" or "1h"."""
    if budget is None:
        return None
    units = {"s": 1, "m": 60, "h": 3600}
    text = budget.strip().lower()
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        seconds = float(number) * unit
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        from assay.report import ReportError

        raise ReportError(f"The budget must be a time such as 60s, 5m or 1h. Got {budget!r} instead.")
    return seconds


def _show_comparison(console: Any, comparison: "Comparison") -> None:
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from assay.report import plus_minus, shown

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("method")
    measures = TERMINAL_MEASURES[comparison.task]
    for name in (comparison.score_name, *measures, "fit time"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("certificates", no_wrap=True)
    for candidate in comparison.candidates:
        best = candidate is comparison.recommended
        color = "green" if candidate.certificates.holds else "red"
        table.add_row(
            escape(candidate.name),
            plus_minus(candidate.score, candidate.standard_error),
            *(shown(candidate.measures[name]) if name in candidate.measures else "—" for name in measures),
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
