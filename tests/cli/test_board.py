"""Where a comparison stands, told from its events: counts, an honest estimate, what there is room for."""

from __future__ import annotations

import io
import queue

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from assay.cli import live
from assay.cli.board import Board, Line, Remaining, in_words
from assay.cli.live import EndedLines, Screen, watching, window
from assay.report import Event

TOTAL = 6


class Clock:
    """Time that passes when it is told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def play(board: Board, clock: Clock, name: str, pace: float, fits: int = TOTAL) -> None:
    """Let a method begin and finish some of its fits."""
    for done in range(fits):
        board.hear(Event(name, "running", done, TOTAL))
        clock.now += pace
    if fits == TOTAL:
        board.hear(Event(name, "done", TOTAL, TOTAL, "R² 0.50 ± 0.04"))
    else:
        board.hear(Event(name, "running", fits, TOTAL))


def announced(clock: Clock, *names: str, budget: float | None = None) -> Board:
    board = Board(clock=clock, budget=budget)
    for name in names:
        board.hear(Event(name, "waiting", 0, TOTAL))
    return board


def test_fits_are_counted_and_those_of_a_method_left_out_need_no_waiting(clock):
    board = announced(clock, "a", "b", "c")
    play(board, clock, "a", 1.0)
    play(board, clock, "b", 1.0, fits=2)
    assert board.fits == (TOTAL + 2, 3 * TOTAL)
    board.hear(Event("b", "left out", 0, TOTAL, "out of time"))
    assert board.fits == (2 * TOTAL, 3 * TOTAL)
    assert [line.event.method for line in board.lines] == ["a", "b", "c"]


def test_nothing_is_said_of_methods_that_nobody_has_seen_run(clock):
    board = announced(clock, "a", "b", "c")
    assert board.remaining() is None
    play(board, clock, "a", 1.0)
    assert board.remaining() is None
    assert in_words(board.remaining()) == "time left not known yet"
    play(board, clock, "b", 1.0)
    assert board.remaining() is not None


def test_the_rest_of_equal_methods_is_told_exactly(clock):
    board = announced(clock, "a", "b", "c", "d")
    play(board, clock, "a", 2.0)
    play(board, clock, "b", 2.0)
    play(board, clock, "c", 2.0, fits=2)
    assert board.remaining() == pytest.approx((20.0, 20.0))
    clock.now += 1.5  # the fit that runs has been under way for so long
    assert board.remaining() == pytest.approx((18.5, 18.5))


def test_methods_of_unequal_pace_leave_two_numbers(clock):
    board = announced(clock, "a", "b", "c", "d")
    for name, pace in (("a", 1.0), ("b", 2.0), ("c", 5.0)):
        play(board, clock, name, pace)
    assert board.remaining() == pytest.approx((TOTAL * 1.5, TOTAL * 3.5))


def test_a_method_that_runs_goes_on_at_its_own_pace(clock):
    board = announced(clock, "a", "b")
    play(board, clock, "a", 1.0)
    play(board, clock, "b", 10.0, fits=3)
    assert board.remaining() == pytest.approx((30.0, 30.0))


def test_a_fit_that_takes_longer_than_those_before_is_not_called_nearly_done(clock):
    board = announced(clock, "a", "b", "c")
    play(board, clock, "a", 0.1)
    play(board, clock, "b", 0.1)
    board.hear(Event("c", "running", 0, TOTAL))
    clock.now += 20.0
    assert board.remaining() == pytest.approx((5 * 20.0, 6 * 20.0))
    assert in_words(board.remaining()) == "about 2 min left"


def test_methods_that_run_at_the_same_time_share_the_clock(clock):
    board = announced(clock, "a", "b", "c", "d")
    for done in range(TOTAL):
        for name in ("a", "b"):
            board.hear(Event(name, "running", done, TOTAL))
        clock.now += 2.0
    for name in ("a", "b"):
        board.hear(Event(name, "done", TOTAL, TOTAL))
    assert board.remaining() == pytest.approx((TOTAL * 2.0, TOTAL * 2.0))


def test_a_budget_bounds_the_estimate(clock):
    board = announced(clock, "a", "b", "c", budget=30.0)
    play(board, clock, "a", 2.0)
    play(board, clock, "b", 2.0)
    assert board.remaining() == pytest.approx((6.0, 6.0))


def test_nothing_is_left_at_the_end(clock):
    board = announced(clock, "a")
    play(board, clock, "a", 1.0)
    assert board.remaining() is None
    assert board.fits == (TOTAL, TOTAL)


@pytest.mark.parametrize(
    ("remaining", "words"),
    [
        (Remaining(0.2, 2.0), "a few seconds left"),
        (Remaining(1.0, 14.0), "up to 15 s left"),
        (Remaining(40.0, 43.0), "about 45 s left"),
        (Remaining(100.0, 400.0), "1 min 30 s to 6 min 30 s left"),
        (Remaining(7200.0, 7250.0), "about 2 h 1 min left"),
    ],
)
def test_an_estimate_is_no_more_exact_than_it_is_known(remaining, words):
    assert in_words(remaining) == words


@given(count=st.integers(1, 60), ended=st.integers(0, 60), room=st.integers(3, 40))
def test_what_runs_is_always_to_be_seen(count, ended, room):
    states = ["done"] * min(ended, count - 1) + ["running"] + ["waiting"] * count
    lines = tuple(Line(Event(str(place), state, 0, 1)) for place, state in enumerate(states[:count]))
    shown = list(window(lines, room))
    assert len(shown) <= room
    seen = [item for item in shown if isinstance(item, Line)]
    assert lines[min(ended, count - 1)] in seen
    hidden = sum(int(item.split()[0]) for item in shown if isinstance(item, str))
    assert len(seen) + hidden == count
    assert seen == list(lines[lines.index(seen[0]) : lines.index(seen[-1]) + 1])


@given(width=st.integers(20, 140), height=st.integers(5, 40), encoding=st.sampled_from(["utf-8", "ascii"]))
def test_no_line_is_wider_than_the_terminal(width, height, encoding):
    clock = Clock()
    board = announced(
        clock, "Baseline", "A method of a very long name, 12 clusters", "Ridge", "Lasso", "x" * 90
    )
    board.title, board.stage = "表" * 60, "reading " * 30
    play(board, clock, "Baseline", 2.0)
    play(board, clock, "Lasso", 300.0, fits=3)
    board.hear(Event("Ridge", "left out", 0, TOTAL, "its fit failed for a reason that takes " + "long " * 30))
    file = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="replace")
    console = Console(file=file, width=width, height=height, force_terminal=True, color_system=None)
    lines = console.render_lines(Screen(board), pad=False)
    assert len(lines) <= max(height, 8)
    for line in lines:
        assert sum(segment.cell_length for segment in line) <= width


def test_elsewhere_each_method_that_ends_is_a_line(clock):
    file = io.StringIO()
    board = announced(clock, "Baseline", "Ridge", "KernelRidge")
    tell = EndedLines(board, Console(file=file, width=110))
    for done in range(TOTAL):
        tell(Event("Ridge", "running", done, TOTAL))
        clock.now += 0.25
    assert file.getvalue() == ""
    tell(Event("Ridge", "done", TOTAL, TOTAL, "R² 0.50 ± 0.04"))
    tell(Event("KernelRidge", "left out", 0, TOTAL, "out of time"))
    assert file.getvalue().splitlines() == [
        "[1/3] Ridge        R² 0.50 ± 0.04              1.5 s",
        "[2/3] KernelRidge  left out: out of time",
    ]


def test_elsewhere_a_compilation_is_told_once(clock, monkeypatch):
    file, looks = io.StringIO(), queue.Queue()
    answers = iter([False, True])  # asked no more once it has been told
    monkeypatch.setattr(live, "is_compiling", lambda: looks.put(answer := next(answers)) or answer)
    with EndedLines(announced(clock, "Ridge"), Console(file=file, width=110)).looking(seconds=0.001):
        assert [looks.get(timeout=60), looks.get(timeout=60)] == [False, True]
    assert file.getvalue() == f"{live.AT_FIRST_USE}\n"


def test_a_quiet_watch_writes_nothing():
    file = io.StringIO()
    with watching(Console(file=file, force_terminal=True), quiet=True) as watch:
        watch.stage("reading")
        watch(Event("Ridge", "done", 1, 1, "R² 0.50"))
    assert file.getvalue() == ""
