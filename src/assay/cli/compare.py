"""`assay compare`: which method serves a table best."""

from __future__ import annotations

import os
import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

import assay
from assay.cli import completion
from assay.cli.options import (
    Categorical,
    Debug,
    Drop,
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
from assay.cli.sentences import InterruptedRunError

if TYPE_CHECKING:
    from assay.report import Comparison, Data

DEMONSTRATIONS = {"regression": "diabetes", "classification": "breast_cancer", "clustering": "us_arrests"}
"""Embedded tables that show each task."""


class CompareOptions(NamedTuple):
    """What `assay compare` is told."""

    table: Annotated[str | None, TableArgument] = None
    demo: Annotated[
        str | None,
        typer.Option(
            metavar="TASK",
            help="Embedded data: regression, classification or clustering.",
            autocompletion=completion.demonstrations,
        ),
    ] = None
    target: Target = None
    task: Task = "auto"
    drop: Drop = None
    time: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of times: later rows are predicted from earlier ones."),
    ] = None
    group: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of groups: each is predicted from the others."),
    ] = None
    categorical: Categorical = None
    numeric: Numeric = None
    na: Na = None
    skip: Skip = None
    separator: Separator = None
    sheet: Sheet = None
    output: Annotated[Path, typer.Option(metavar="FOLDER", help="Folder for the report and the model.")] = (
        Path("assay-report")
    )
    folds: Annotated[
        int, typer.Option(min=2, metavar="N", help="Folds, at most: each has five rows, and every class.")
    ] = 5
    repeats: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Times it is repeated; 3 for up to 1000 rows, else 1."),
    ] = None
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Names of the methods to try, separated by commas.",
            autocompletion=completion.several_methods,
        ),
    ] = None
    exclude: Annotated[
        str | None, typer.Option(metavar="NAMES", help="Names of methods not to try, separated by commas.")
    ] = None
    budget: Annotated[
        str | None, typer.Option(metavar="TIME", help="Time after which no fit is begun: 60s, 5m, 1h.")
    ] = None
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What decides: r2, rmse, mae, pinball:Q; accuracy, balanced-accuracy, f1, auc, log-loss, "
            "brier; cost:COLUMN.",
        ),
    ] = None
    keep_rare: Annotated[
        bool, typer.Option("--keep-rare", help="Refuse a class of one row in place of setting it aside.")
    ] = False
    jobs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Fits at the same time, same results; by default one, or one per core for a large table.",
        ),
    ] = None
    force: Annotated[bool, typer.Option("--force", help="Replace the report that is in the folder.")] = False
    seed: Seed = 0
    quiet: Annotated[bool, typer.Option("--quiet", help="Write the files and say nothing.")] = False
    debug: Debug = False


@takes(CompareOptions)
def compare(options: CompareOptions) -> None:
    """Find the method that serves a table best.

    Prints a leaderboard with the verdicts of the certificates and writes report.html, the recommended
    model (model.skops), results.json, and reproduce.py and notebook.ipynb that fit it again. Without
    TABLE it runs on three embedded tables, one per task, each with a folder of its own in the output.
    Ctrl-C ends with the methods that are finished; twice stops at once.
    """
    places = tables_to_compare(options.table, options.demo, options.output, force=options.force)
    with compiling_ahead("clustering") if len(places) > 1 else nullcontext():
        for name, folder in places:
            run_compare(name, folder, options)


def run_compare(table: str, output: Path, options: CompareOptions) -> None:
    """Compare the methods on one table, print the leaderboard and write the files to a folder."""
    from assay import report
    from assay.cli.live import watching
    from assay.cli.terminal import open_console, say, show_comparison

    console, budget = open_console(), seconds(options.budget)
    drop = tuple(dict.fromkeys(options.drop or ()))
    require_pictures()
    report.check_folder(output, force=options.force)
    with (
        watching(console, quiet=options.quiet, budget=budget) as watch,
        Interruption(lambda: watch.stage("interrupted: ending with what is finished")) as interruption,
    ):
        watch.stage(f"reading {table}")
        # Costs are read where they are dropped, too.
        judged_by = (options.metric or "").partition(":")[2].strip()
        unread = tuple(name for name in drop if name != judged_by)
        raw = report.read_table(table, without=unread, reading=reading_of(options))
        by: dict[str, Any] = {"time": options.time, "group": options.group, "keep_rare": options.keep_rare}
        data = report.choose_data(raw, target=options.target, task=options.task, drop=drop, **by)
        watch.begin(title(data.task, data))
        watch.stage("")
        comparison = report.compare(
            data,
            folds=options.folds,
            repeats=options.repeats,
            seed=options.seed,
            methods=names(options.methods),
            exclude=names(options.exclude),
            budget=budget,
            jobs=options.jobs,
            metric=options.metric,
            progress=watch,
        )
        watch.stage("drawing the pictures and writing the report")
        written = report.write(comparison, output, force=options.force)
    if not options.quiet:
        show_comparison(console, comparison)
        for what, place in zip(("report", "model", "results", "script", "notebook"), written, strict=True):
            say(console, f"{what:9}{place}", wrapped=False)
    if interruption.happened:
        raise InterruptedRunError(what_is_finished(comparison, output))


def require_pictures() -> None:
    """Say how to install what draws where it is missing, before any fit; it is imported when it draws."""
    if find_spec("matplotlib") is None:
        from assay.display import require_matplotlib

        require_matplotlib()


def title(task: str, data: Data) -> str:
    """What is compared on which table, in a line."""
    n_rows, n_columns = data.X.shape
    question = f"{task} of {data.target}" if data.target is not None else task
    return f"{data.name}: {question}, {n_rows:,} rows × {n_columns:,} column{'s' * (n_columns != 1)}"


def what_is_finished(comparison: Comparison, output: Path) -> str:
    """What an interrupted comparison leaves."""
    count = sum(not candidate.is_baseline for candidate in comparison.candidates)
    methods = "method that was" if count == 1 else f"{count} methods that were"
    return f"interrupted; the report in {output} holds the {methods} finished."


def tables_to_compare(
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


def names(listed: str | None) -> tuple[str, ...]:
    """Names that are separated by commas; one inside brackets belongs to a name.

    Examples
    --------
    >>> names("Ridge, GeneralizedLinear (Poisson, log link),")
    ('Ridge', 'GeneralizedLinear (Poisson, log link)')
    """
    return tuple(name.strip() for name in re.split(r",(?![^(]*\))", listed or "") if name.strip())


def seconds(budget: str | None) -> float | None:
    """Seconds of a time such as "90", "60s", "5m" or "1h".

    Examples
    --------
    >>> seconds("90"), seconds("5m"), seconds(None)
    (90.0, 300.0, None)
    """
    if budget is None:
        return None
    units = {"s": 1, "m": 60, "h": 3600}
    text = budget.strip().lower()
    number, unit = (text[:-1], units[text[-1]]) if text[-1:] in units else (text, 1)
    try:
        length = float(number) * unit
    except ValueError:
        length = -1.0
    if not 0 < length < float("inf"):
        from assay.report import ReportError

        raise ReportError(f"The budget must be a time such as 60s, 5m or 1h. Got {budget!r} instead.")
    return length


@contextmanager
def compiling_ahead(task: str) -> Iterator[None]:
    """On a fresh installation, let another process compile the loops of a demonstration in the meantime.

    What it compiles it leaves on the disk, where this process finds it; whatever else it does is thrown away.
    """
    n_cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else (os.cpu_count() or 1)
    if not is_fresh() or n_cores < 2:
        yield
        return
    import subprocess
    import tempfile

    with tempfile.TemporaryDirectory(prefix="assay-", ignore_cleanup_errors=True) as folder:
        words = ["compare", "--demo", task, "--quiet", "--output", str(Path(folder, task))]
        process = subprocess.Popen(
            [sys.executable, "-m", "assay.cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C is for the comparison that the user sees
        )
        try:
            yield
        finally:
            process.kill()
            process.wait()


def is_fresh() -> bool:
    """Whether no loop of this installation has been compiled yet."""
    place = os.environ.get("NUMBA_CACHE_DIR")
    folder = Path(place) if place else Path(assay.__file__).parent
    return next(folder.rglob("*.nbi"), None) is None


class Interruption:
    """Notes Ctrl-C while it is entered, and lets it interrupt as it always does.

    A comparison that is interrupted returns the methods it has finished: only who noted the signal can tell
    that from a comparison that came to its end. `tell` is called at the first Ctrl-C.
    """

    def __init__(self, tell: Callable[[], None]) -> None:
        self.happened = False
        self._tell = tell
        self._before: Any = None

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _note(self, number: int, frame: FrameType | None) -> None:
        if not self.happened:
            self.happened = True
            self._tell()
        raise KeyboardInterrupt
