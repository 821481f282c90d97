"""What a comparison tells about itself while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

State = Literal["waiting", "running", "done", "left out"]


class Event(NamedTuple):
    """Where one method of a comparison stands.

    All methods are announced as "waiting" before the first begins; each then becomes "running", once for
    every fit that begins, and ends as "done" or "left out".

    Attributes
    ----------
    method : str
    state : {"waiting", "running", "done", "left out"}
    done, total : int
        Fits that are finished, and that there are in all.
    note : str
        The score of a method that is done, or why it was left out.
    """

    method: str
    state: State
    done: int = 0
    total: int = 0
    note: str = ""


Progress = Callable[[Event], None]
"""Told every event, on the thread that called `compare`."""


def nobody(event: Event) -> None:
    """Listens to nothing."""
