"""Watching a comparison: a table that changes in a terminal, one line per method anywhere else."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions
from rich.live import Live
from rich.segment import Segment

from assay.cli.board import Board, Line, duration, in_words

if TYPE_CHECKING:
    from assay.report import Event

REFRESHES_PER_SECOND = 4
MARKS = {
    "done": ("✓", "green"),
    "running": ("▸", "cyan"),
    "waiting": ("·", "dim"),
    "left out": ("–", "yellow"),
}
PLAIN_MARKS = {"done": "+", "running": ">", "waiting": ".", "left out": "-"}
BAR = ("━", "─")
PLAIN_BAR = ("#", "-")
LONGEST_BAR = 40
SHORTEST_NOTE = 16
SOON = 1.0
"""Seconds that nobody asks about."""

COMPILING = "compiling loops"
AT_FIRST_USE = f"{COMPILING}, which the first use of a method waits for"

Row = list[tuple[str, str]]
"""Pieces of text with their styles."""


class ComparisonWatch:
    """What is told while a comparison runs; this one says nothing."""

    def __init__(self, board: Board) -> None:
        self.board = board

    def __call__(self, event: Event) -> None:
        """Take an event of the comparison."""
        self.board.hear(event)

    def begin(self, title: str) -> None:
        """Say what is compared on which table."""
        self.board.title = title

    def stage(self, words: str) -> None:
        """Say what is going on beside the fits."""
        self.board.stage = words


class EndedLines(ComparisonWatch):
    """Prints a line for every method that ends, and one when loops are compiled."""

    def __init__(self, board: Board, console: Console) -> None:
        super().__init__(board)
        self._console = console

    def __call__(self, event: Event) -> None:
        """Take an event; print the title at the first, and a line if the method has ended."""
        if not self.board.lines and self.board.title:
            self._print(self.board.title, style="bold")
        line = self.board.hear(event)
        if not line.has_ended:
            return
        lines = self.board.lines
        ended = sum(item.has_ended for item in lines)
        names = max(len(item.event.method) for item in lines)
        count = f"[{ended:{len(str(len(lines)))}}/{len(lines)}]"
        words = f"{count} {event.method:{names}}  {_said(line)}"
        if event.state == "done":
            words = f"{words:{names + 32}} {duration(line.seconds):>8}"
        self._print(words)

    @contextmanager
    def looking(self, seconds: float = SOON) -> Iterator[None]:
        """Look every so many seconds, on a thread of its own, whether loops are compiled; say so once."""
        over = threading.Event()

        def look() -> None:
            while not over.wait(seconds):
                if is_compiling():
                    self._print(AT_FIRST_USE)
                    return

        thread = threading.Thread(target=look, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _print(self, words: str, style: str | None = None) -> None:
        self._console.print(words, style=style, markup=False, highlight=False, soft_wrap=True)


class Screen(ComparisonWatch):
    """Draws the board; Rich asks for it a few times a second, on a thread of its own."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Segment]:
        # Segments, not tables or texts: this runs beside the fits and must cost them nothing to speak of.
        for row in self._rows(options.max_width, console.size.height, plain=options.ascii_only):
            yield from _cut(row, options.max_width, console)
            yield Segment.line()

    def _rows(self, width: int, height: int, *, plain: bool) -> Iterator[Row]:
        board = self.board
        if board.title:
            yield [(board.title, "bold")]
        lines = board.lines
        if lines:
            said = [len(line.event.note) for line in lines if line.event.state == "done"]
            notes = max([SHORTEST_NOTE, *said])
            names = min(max(len(line.event.method) for line in lines), max(width - notes - 20, 12))
            now = board.clock()
            for item in window(lines, max(height - 4, 3)):
                yield _row(item, names, notes, now, plain=plain)
            yield _bar(board, width, plain=plain)
        if board.stage:
            yield [(board.stage, "dim")]


@contextmanager
def watching(console: Console, *, quiet: bool, budget: float | None = None) -> Iterator[ComparisonWatch]:
    """A watch for the time of a comparison; nothing but the title stays on the screen."""
    board = Board(budget=budget)
    if quiet:
        yield ComparisonWatch(board)
    elif not console.is_terminal or console.is_dumb_terminal:
        lines = EndedLines(board, console)
        with lines.looking():
            yield lines
    else:
        screen: Any = Screen(board)
        live = Live(screen, console=console, refresh_per_second=REFRESHES_PER_SECOND, transient=True)
        with unechoed_controls(), live:
            yield screen
        console.print(board.title, style="bold", markup=False, highlight=False)


@contextmanager
def unechoed_controls() -> Iterator[None]:
    """Let the terminal not write ^C where Ctrl-C is pressed.

    Two letters more on a full line begin a new one: the live table would then be erased from its second line
    on, and its title would stay and be printed again.
    """
    try:
        import termios

        place = sys.stdin.fileno()
        before = termios.tcgetattr(place)
    except (ImportError, AttributeError, OSError, ValueError, TypeError):  # no such system, or no terminal
        yield
        return
    quiet = [*before]
    quiet[3] = before[3] & ~termios.ECHOCTL
    termios.tcsetattr(place, termios.TCSANOW, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(place, termios.TCSANOW, before)


def window(lines: tuple[Line, ...], room: int) -> Iterator[Line | str]:
    """The lines that there is room for, around those that run, and what is above and below in words.

    Examples
    --------
    >>> from assay.report import Event
    >>> lines = tuple(Line(Event(name, "waiting", 0, 1)) for name in "abcdefgh")
    >>> [item if isinstance(item, str) else item.event.method for item in window(lines, 4)]
    ['a', 'b', 'c', '5 more below']
    """
    if len(lines) <= room:
        yield from lines
        return
    running = next((place for place, line in enumerate(lines) if not line.has_ended), len(lines))
    shown = room - 2
    start = min(max(running - shown // 2, 0), len(lines) - shown)
    if start <= 1:
        start, shown = 0, room - 1
    elif start + shown >= len(lines) - 1:
        start, shown = len(lines) - room + 1, room - 1
    if start:
        yield f"{start} more above"
    yield from lines[start : start + shown]
    below = len(lines) - start - shown
    if below:
        yield f"{below} more below"


def _row(item: Line | str, names: int, notes: int, now: float, *, plain: bool) -> Row:
    if isinstance(item, str):
        return [(f"  {item}", "dim")]
    event = item.event
    mark, style = MARKS[event.state]
    name = event.method if len(event.method) <= names else event.method[: names - 1] + "…"
    row = [
        (PLAIN_MARKS[event.state] if plain else mark, style),
        (f" {name:{names}}", "dim" if event.state == "waiting" else "none"),
    ]
    if event.state == "waiting":
        return row
    if event.state == "left out":
        return [*row, (f"  {_said(item)}", "yellow")]
    fits = f"{event.done}/{event.total}"
    began = item.heard if item.began is None else item.began
    seconds = item.seconds if item.has_ended else now - began
    note = event.note or ("" if item.has_ended else _under_way(seconds))
    return [*row, (f"  {fits:>7}  ", "dim"), (f"{note:{notes}}", "none"), (f" {duration(seconds):>6}", "dim")]


def _under_way(seconds: float) -> str:
    """What a method that runs is doing: the first use of a loop compiles it, which may take long."""
    return COMPILING if seconds > SOON and is_compiling() else "running"


def is_compiling() -> bool:
    """Whether loops are compiled at this moment, in this process or in those that fit for it."""
    loops = sys.modules.get("assay.loops")  # imported with the first method, and not before
    return loops is not None and loops.is_compiling()


def _bar(board: Board, width: int, *, plain: bool) -> Row:
    done, total = board.fits
    words = f" {done}/{total} fits · {duration(board.elapsed)}"
    if done < total:
        words += f" · {in_words(board.remaining())}"
    if plain:
        words = words.replace("·", "|")
    length = min(max(width - len(words) - 1, 6), LONGEST_BAR)
    filled = length * done // max(total, 1)
    full, empty = PLAIN_BAR if plain else BAR
    return [(full * filled, "cyan"), (empty * (length - filled), "dim"), (words, "none")]


def _said(line: Line) -> str:
    event = line.event
    return f"left out: {event.note}" if event.state == "left out" else event.note


def _cut(row: Row, width: int, console: Console) -> Iterator[Segment]:
    """The pieces of a row that fit into a width; the last is cut short."""
    room = width
    for text, style in row:
        if cell_len(text) > room:
            yield Segment(ended_early(text, room), console.get_style(style))
            return
        room -= cell_len(text)
        yield Segment(text, console.get_style(style))


def ended_early(text: str, room: int) -> str:
    """Words that fit into so many cells and a sign that there were more; a word is not cut if another fits.

    Examples
    --------
    >>> ended_early("left out: too many columns", 20), ended_early("LinearRegression", 8)
    ('left out: too many…', 'LinearR…')
    """
    fitting = set_cell_size(text, max(room - 1, 0))
    whole = text[len(fitting) : len(fitting) + 1].isspace()
    words = fitting if whole else fitting.rpartition(" ")[0]
    return (words if words.strip() else fitting).rstrip() + "…"
