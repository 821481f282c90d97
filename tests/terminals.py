"""The command as a user runs it: in a shell, or in a terminal whose screen can be read."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import termios
from pathlib import Path
from time import monotonic

COMMAND = [sys.executable, "-m", "assay.cli"]
CONTROL = re.compile(r"\x1b\[(?P<numbers>[?\d;]*)(?P<letter>[A-Za-z])")
COLOR = re.compile(r"\x1b\[[\d;]*(3[0-7]|9[0-7])[\d;]*m")
PATIENCE = 240
"""Seconds after which something that never comes is given up; what comes may be as slow as it likes."""

HEARS_CTRL_C = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)"
"""A process that the shell started in the background inherits SIGINT as ignored."""


def in_shell(*arguments: str, **options):
    """Run the command to its end; output and errors apart."""
    command = [*COMMAND, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False, **options)


class Screen:
    """What is to be seen after some output: the few control codes that a live table needs."""

    def __init__(self) -> None:
        self.lines = [""]
        self.row = self.column = 0
        self.cursor_is_shown = True

    def feed(self, text: str) -> None:
        place = 0
        while place < len(text):
            code = CONTROL.match(text, place)
            if code is not None:
                self._obey(code["letter"], code["numbers"])
                place = code.end()
                continue
            self._type(text[place])
            place += 1

    @property
    def text(self) -> str:
        return "\n".join(line.rstrip() for line in self.lines).rstrip()

    def _type(self, mark: str) -> None:
        if mark == "\r":
            self.column = 0
        elif mark == "\x03":  # a control sign that is echoed as it is takes no room
            return
        elif mark == "\n":
            self.row += 1
            while self.row >= len(self.lines):
                self.lines.append("")
        else:
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + mark + line[self.column + 1 :]
            self.column += 1

    def _obey(self, letter: str, numbers: str) -> None:
        if letter == "A":
            self.row = max(self.row - int(numbers or 1), 0)
        elif letter == "K":
            assert numbers == "2", f"an unknown way to erase: {numbers}"
            self.lines[self.row] = ""
        elif letter in "hl":
            self.cursor_is_shown = letter == "h"
        else:
            assert letter == "m", f"an unknown control code: {numbers}{letter}"


class Terminal:
    """The command in a pseudo-terminal of some width, in a session of its own.

    `before` is Python that runs first, to hold what would be over too soon to be seen.
    """

    def __init__(
        self,
        *arguments: str,
        folder: Path,
        width: int,
        height: int = 30,
        before: str = "",
        **environment: str,
    ) -> None:
        self.output = ""
        self._master, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))
        settings = {**os.environ, "TERM": "xterm-256color", "PYTHONUTF8": "1", **environment}
        for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"):
            if name not in environment:
                settings.pop(name, None)
        program = f"{HEARS_CTRL_C}\n{before}\nfrom assay.cli import main\nmain()"
        self._process = subprocess.Popen(
            [sys.executable, "-c", program, *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            cwd=folder,
            env=settings,
            start_new_session=True,
        )
        os.close(child)

    def read_until(self, words: str) -> None:
        """Read on until some words have been written."""
        end = monotonic() + PATIENCE
        while words not in CONTROL.sub("", self.output):
            assert monotonic() < end, f"never written: {words!r}; only\n{self.output}"
            assert self._read_some(), f"ended without writing {words!r}; only\n{self.output}"

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        os.close(self._master)

    def interrupt(self) -> None:
        """What the terminal does when Ctrl-C is pressed: every process in it gets the signal."""
        os.killpg(self._process.pid, signal.SIGINT)

    def press_ctrl_c(self) -> None:
        """What a person does: the terminal writes what it echoes, and every process gets the signal."""
        os.write(self._master, b"\x03")
        self.interrupt()

    def finish(self) -> int:
        """Read to the end; the exit code."""
        while self._read_some():
            pass
        return self._process.wait(PATIENCE)

    @property
    def screen(self) -> Screen:
        """What is to be seen now."""
        screen = Screen()
        screen.feed(self.output)
        return screen

    @property
    def widest(self) -> int:
        """The longest line that was ever written."""
        bare = CONTROL.sub("", self.output)
        return max(len(line) for line in re.split(r"[\r\n]+", bare))

    def _read_some(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], PATIENCE)
        if not ready:
            return False
        try:
            self.output += os.read(self._master, 65536).decode("utf-8", errors="replace")
        except OSError:  # the last process in the terminal has ended
            return False
        return True
