"""Where a comparison stands: what runs, what is done, what is left, and how long that may take."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import quantiles
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from assay.report import Event

ENDED = ("done", "left out")


@dataclass(frozen=True)
class Line:
    """One method: its last event, and when it began, was last heard of and ended."""

    event: Event
    began: float | None = None
    heard: float = 0.0

    @property
    def seconds(self) -> float:
        """From its first fit to its last event."""
        return 0.0 if self.began is None else self.heard - self.began

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come of it."""
        return self.event.state in ENDED


class Remaining(NamedTuple):
    """Seconds that the rest may take, at least and at most."""

    low: float
    high: float


class Board:
    """The methods of a comparison as their events tell them; drawn by whoever looks at it.

    Events come on one thread and the picture is drawn on another: a line is replaced, never changed.

    Examples
    --------
    >>> from assay.report import Event
    >>> board = Board(clock=iter(range(100)).__next__)
    >>> board.hear(Event("Ridge", "waiting", 0, 6)).has_ended
    False
    >>> board.hear(Event("Ridge", "running", 2, 6)).began
    2
    >>> board.fits
    (2, 6)
    """

    def __init__(self, *, clock: Callable[[], float] = monotonic, budget: float | None = None) -> None:
        self.clock = clock
        self.began = clock()
        self.budget = budget
        self.title = ""
        self.stage = ""
        self._lines: dict[str, Line] = {}

    def hear(self, event: Event) -> Line:
        """Take an event in; the line of its method."""
        now = self.clock()
        line = self._lines.get(event.method, Line(event))
        began = now if line.began is None and event.state == "running" else line.began
        self._lines[event.method] = line = replace(line, event=event, began=began, heard=now)
        return line

    @property
    def lines(self) -> tuple[Line, ...]:
        """The methods, in the order in which they were announced."""
        return tuple(self._lines.values())

    @property
    def fits(self) -> tuple[int, int]:
        """Fits that need no more waiting for, and that there are in all."""
        events = [line.event for line in self.lines]
        done = sum(event.total if event.state in ENDED else event.done for event in events)
        return done, sum(event.total for event in events)

    @property
    def elapsed(self) -> float:
        """Seconds since the board was made."""
        return self.clock() - self.began

    def remaining(self) -> Remaining | None:
        """How long the rest may take; None as long as nothing can honestly be said.

        A method that runs is taken to go on at its own pace. One that waits may be as quick as the quicker
        half of those before it, or as slow as the slower half: hence two numbers. Methods that run at the
        same time share the clock.
        """
        lines, now = self.lines, self.clock()
        left = [line for line in lines if not line.has_ended]
        if not left:
            return None
        paces = [pace for line in lines if line.event.state != "left out" and (pace := _pace(line))]
        strangers = [line for line in left if _pace(line) is None]
        if not paces or (strangers and len(paces) < 2):
            return None
        quick, _, slow = quantiles(paces, n=4, method="inclusive") if len(paces) > 1 else 3 * paces
        low = high = 0.0
        for line in left:
            pace = _pace(line)
            waited = 0.0 if line.began is None else now - line.heard
            fits = line.event.total - line.event.done
            low += _rest(fits, pace or quick, waited, overdue=0.0)
            high += _rest(fits, pace or slow, waited, overdue=waited)
        together = self._at_the_same_time(lines, now)
        low, high = low / together, high / together
        if self.budget is not None:
            rest = max(self.budget - self.elapsed, 0.0)
            low, high = min(low, rest), min(high, rest)
        return Remaining(low, high)

    def _at_the_same_time(self, lines: Sequence[Line], now: float) -> float:
        """How many methods have run at once, on the average."""
        begun = [
            (line.began, line.heard if line.has_ended else now) for line in lines if line.began is not None
        ]
        span = now - min(began for began, _ in begun)
        return max(sum(end - began for began, end in begun) / span, 1.0) if span > 0 else 1.0


def _pace(line: Line) -> float | None:
    """Seconds per fit, once there was one."""
    if line.began is None or line.event.done == 0:
        return None
    return line.seconds / line.event.done


def _rest(fits: int, pace: float, waited: float, *, overdue: float) -> float:
    """Seconds that some fits take, the first of which has run for a while.

    A fit that should have ended by now shows that the pace was wrong: those after it take as long at least,
    and it may itself need as long again (`overdue`).
    """
    first = pace - waited if pace > waited else overdue
    return first + (fits - 1) * max(pace, waited) if fits > 0 else 0.0


def duration(seconds: float) -> str:
    """A length of time as one says it.

    Examples
    --------
    >>> duration(0.26), duration(8.4), duration(75), duration(3725)
    ('0.3 s', '8.4 s', '1 min 15 s', '1 h 2 min')
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def in_words(remaining: Remaining | None) -> str:
    """How long the rest may take, no more exact than it is known.

    Examples
    --------
    >>> in_words(Remaining(11, 14)), in_words(Remaining(11, 95)), in_words(None)
    ('about 15 s left', '10 s to 1 min 30 s left', 'time left not known yet')
    """
    if remaining is None:
        return "time left not known yet"
    if remaining.high < 3:
        return "a few seconds left"
    low, high = _coarse(remaining.low), _coarse(remaining.high)
    if high <= 1.5 * low:
        return f"about {_coarse_words(high)} left"
    if low < 3:
        return f"up to {_coarse_words(high)} left"
    return f"{_coarse_words(low)} to {_coarse_words(high)} left"


def _coarse(seconds: float) -> int:
    step = 1 if seconds < 5 else 5 if seconds < 60 else 30 if seconds < 600 else 60
    return round(seconds / step) * step


def _coarse_words(seconds: int) -> str:
    return f"{seconds} s" if seconds < 60 else duration(seconds).removesuffix(" 0 s").removesuffix(" 0 min")
