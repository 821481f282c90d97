"""Ctrl-C: the first ends a run with what is finished, the second stops at once."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any


class Interruption:
    """Notes Ctrl-C while it is entered, and lets it interrupt as it always does.

    A comparison that is interrupted returns the methods it has finished: only who noted the signal can tell
    that from a comparison that came to its end.

    Parameters
    ----------
    tell : callable
        Called at the first Ctrl-C.
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
