"""A process that tries the cases that it reads, one per line, and writes what became of them.

It may die or hang in any of them; `runner` knows which one it was.
"""

from __future__ import annotations

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

MEMORY = 6 * 2**30
"""Bytes that a worker may ask for beyond what it starts with: more is a MemoryError, not a slow machine."""


def limit_memory() -> None:
    statm = Path("/proc/self/statm")
    pages = int(statm.read_text().split()[0]) if statm.exists() else 0
    most = pages * resource.getpagesize() + MEMORY
    resource.setrlimit(resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))


class Alarm:
    """Interrupts a case like Ctrl-C when its time is up, and remembers that it did.

    What a case gives after that counts for nothing: an interrupt may be swallowed, or spoil a compiler.
    """

    def __init__(self) -> None:
        self.rang = False
        signal.signal(signal.SIGALRM, self._ring)

    def _ring(self, *_: Any) -> None:
        self.rang = True
        raise KeyboardInterrupt

    def verdict(self, case: Any, outcome: Any, seconds: float) -> str:
        """What becomes of a case within its time."""
        self.rang = False
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            verdict: str = outcome(case)
            signal.setitimer(signal.ITIMER_REAL, 0)
        except KeyboardInterrupt:
            return "interrupted"
        return "interrupted" if self.rang else verdict


def main() -> None:
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what a library prints is no verdict
    alarm = Alarm()
    from fuzz.cases import Case, outcome

    limit_memory()
    out.write("ready\n")
    for line in sys.stdin:
        model, kind, seconds = json.loads(line)
        out.write(json.dumps(alarm.verdict(Case(model, kind), outcome, seconds)) + "\n")


if __name__ == "__main__":
    main()
