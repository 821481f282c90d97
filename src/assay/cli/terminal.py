"""Printing: the console, the leaderboard, tables of certificates, and text exactly as it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.cli.sentences import ReaderLeftError

if TYPE_CHECKING:
    from assay.certificates import Certificates
    from assay.report import Candidate, Comparison

WIDTH_OF_FILES = 110
NARROWEST_TABLE = 72
RULE_IN_ASCII = box.Box("\n".join(["    ", "    ", " -- "] + 5 * ["    "]) + "\n", ascii=True)
"""What Rich would replace by a full frame."""

COLORS = {"holds": "green", "fails": "red", "vacuous": "yellow", "bound": "dim"}


class Terminal(Console):
    """A console that ends quietly when nobody reads it any more."""

    def on_broken_pipe(self) -> None:
        """Leave the choice of the exit code to the command."""
        self.quiet = True
        raise ReaderLeftError


def open_console() -> Console:
    """Standard output: as wide as the terminal is, or of one width for files and pipes."""
    console = Terminal()
    return console if console.is_terminal else Terminal(width=WIDTH_OF_FILES)


def say(console: Console, text: str, *, wrapped: bool = True, style: str | None = None) -> None:
    """Print text as it is: no markup, no colours of its own; unwrapped for paths and for machines."""
    no_wrap = None if wrapped else True
    console.print(text, style=style, markup=False, highlight=False, soft_wrap=not wrapped, no_wrap=no_wrap)


def plain_table(console: Console) -> Table:
    """A table of the house: one rule under the header, two blanks between columns."""
    rule = RULE_IN_ASCII if console.options.ascii_only else box.SIMPLE_HEAD
    return Table(box=rule, pad_edge=False, padding=(0, 0, 0, 1))


def fits(console: Console, table: Table) -> bool:
    """Whether a table is shown whole, no cell of it wrapped."""
    return bool(
        console.measure(table, options=console.options.update(max_width=10_000)).maximum <= console.width
    )


def show_certificates(console: Console, certificates: Certificates) -> None:
    """Print certificates as a table; where there is no room for their claims, as paragraphs."""
    from assay.certificates import SYMBOLS

    if console.width < NARROWEST_TABLE:
        for item in certificates:
            measured = f"{item.value:.3g} {SYMBOLS[item.relation]} {item.bound:.3g}"
            verdict = f"[{COLORS[item.verdict]}]{item.verdict}[/]"
            console.print(f"{verdict}: {escape(item.quantity)}, {measured}", highlight=False)
            say(console, f"{item.claim}\n", style="dim")
        return
    table: Any = plain_table(console)
    table.add_column("verdict", no_wrap=True)
    # As wide as its longest word, which a narrow column would break.
    table.add_column("quantity", min_width=max(longest_word(item.quantity) for item in certificates))
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    table.add_column("claim")
    for item in certificates:
        verdict = f"[{COLORS[item.verdict]}]{item.verdict}[/]"
        bound = f"{SYMBOLS[item.relation]} {item.bound:.3g}"
        table.add_row(verdict, escape(item.quantity), f"{item.value:.3g}", bound, escape(item.claim))
    console.print(table)


def longest_word(text: str) -> int:
    """Letters of the longest word.

    Examples
    --------
    >>> longest_word("relative duality gap")
    8
    """
    return max(map(len, text.split()), default=0)


def show_verdict(console: Console, certificates: Certificates) -> None:
    """Sum certificates up in a sentence."""
    failed = [item.quantity for item in certificates.failed]
    if failed:
        words = f"{len(failed)} of {len(certificates)} certificates fail: {', '.join(failed)}."
        say(console, words, style="red")
    elif len(certificates.decisive) == 1:
        say(console, "The certificate holds.", style="green")
    else:
        say(console, f"All {len(certificates.decisive)} certificates hold.", style="green")


MEASURES = {
    "regression": ("RMSE", "MAE"),
    "classification": ("balanced accuracy", "ROC AUC"),
    "clustering": ("groups", "explained", "stability"),
}
"""Measures that are shown beside the score, the more telling first."""

MOST_NOTES = 5
"""What was decided about the table is told in so many sentences."""

RECOMMENDED = "★"
RECOMMENDED_IN_ASCII = "*"


class BoardColumn(NamedTuple):
    """A column of the leaderboard; those of the greatest importance stay in a narrow terminal."""

    title: str
    importance: int
    cell: Callable[[Candidate], str]
    justify: str = "right"


def show_comparison(console: Console, comparison: Comparison) -> None:
    """Print the leaderboard, the verdict and what one must know beside it."""
    from assay.report.wording import told_together

    star = RECOMMENDED_IN_ASCII if console.options.ascii_only else RECOMMENDED
    console.print(leaderboard(console, comparison, star))
    for sentence in comparison.alarms:
        say(console, sentence, style="yellow")
    say(console, f"{star} {comparison.headline}.", style="bold")
    for sentence in (*comparison.remarks, *told_together(comparison.skipped)):
        say(console, sentence)
    notes = comparison.data.notes
    for sentence in notes[:MOST_NOTES]:
        say(console, sentence, style="dim")
    if len(notes) > MOST_NOTES:
        more = len(notes) - MOST_NOTES
        told = "1 more note on the table is" if more == 1 else f"{more} more notes on the table are"
        say(console, f"{told} in the report.", style="dim")
    console.print()


def leaderboard(console: Console, comparison: Comparison, star: str) -> Table:
    """The candidates, best first, in as many columns as the console has room for."""
    columns = _columns(comparison, star)
    for least in range(max(column.importance for column in columns) + 1):
        kept = [column for column in columns if column.importance >= least]
        table = _table(console, comparison, kept)
        if fits(console, table):
            break
    return table


def _columns(comparison: Comparison, star: str) -> list[BoardColumn]:
    def name(candidate: Candidate) -> str:
        return f"{star if candidate is comparison.recommended else ' '} {escape(candidate.name)}"

    def measure(title: str) -> Callable[[Candidate], str]:
        return lambda item: comparison.shown_measure(item, title) if title in item.measures else "—"

    listed = [
        title
        for title in MEASURES[comparison.task]
        if any(title in candidate.measures for candidate in comparison.candidates)
    ]
    return [
        BoardColumn("  method", 9, name, "left"),
        BoardColumn(comparison.score_name, 9, comparison.shown_score),
        *(BoardColumn(title, 3 - place, measure(title)) for place, title in enumerate(listed)),
        BoardColumn("fit time", 1, lambda candidate: f"{candidate.fit_seconds:.3f} s"),
        BoardColumn("certificates", 8, _verdict, "left"),
    ]


def _table(console: Console, comparison: Comparison, columns: Sequence[BoardColumn]) -> Table:
    table: Any = plain_table(console)
    for column in columns:
        table.add_column(column.title, justify=column.justify, no_wrap=True, overflow="ellipsis")
    for candidate in comparison.candidates:
        style = "bold" if candidate is comparison.recommended else "dim" if candidate.is_baseline else None
        table.add_row(*(column.cell(candidate) for column in columns), style=style)
    return table


def _verdict(candidate: Candidate) -> str:
    if not candidate.certificates:
        return ""
    failed = not candidate.certificates.holds
    kind = "fails" if failed else "vacuous" if "vacuous" in candidate.verdict else "holds"
    return f"[{COLORS[kind]}]{candidate.verdict}[/]"
