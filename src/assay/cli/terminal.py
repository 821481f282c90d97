"""Printing: the console, tables of certificates, and text exactly as it is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from assay.cli.sentences import ReaderLeftError

if TYPE_CHECKING:
    from assay.certificates import Certificates

WIDTH_OF_FILES = 110
NARROWEST_TABLE = 72
RULE_IN_ASCII = box.Box("\n".join(["    ", "    ", " -- "] + 5 * ["    "]) + "\n", ascii=True)
"""What Rich would replace by a full frame."""

COLORS = {"holds": "green", "fails": "red", "vacuous": "yellow"}


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
    console.print(
        text,
        style=style,
        markup=False,
        highlight=False,
        soft_wrap=not wrapped,
        no_wrap=None if wrapped else True,
    )


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
    table.add_column("quantity")
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("bound", justify="right", no_wrap=True)
    table.add_column("claim")
    for item in certificates:
        table.add_row(
            f"[{COLORS[item.verdict]}]{item.verdict}[/]",
            escape(item.quantity),
            f"{item.value:.3g}",
            f"{SYMBOLS[item.relation]} {item.bound:.3g}",
            escape(item.claim),
        )
    console.print(table)


def show_verdict(console: Console, certificates: Certificates) -> None:
    """Sum certificates up in a sentence."""
    failed = [item.quantity for item in certificates.failed]
    if failed:
        say(
            console,
            f"{len(failed)} of {len(certificates)} certificates fail: {', '.join(failed)}.",
            style="red",
        )
    elif len(certificates) == 1:
        say(console, "The certificate holds.", style="green")
    else:
        say(console, f"All {len(certificates)} certificates hold.", style="green")
