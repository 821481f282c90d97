"""One sentence for whatever goes wrong, and the exit code that goes with it."""

from __future__ import annotations

import errno
import os
import sys
from difflib import get_close_matches
from typing import IO, Any

import typer

FAILED_CERTIFICATE = 1
USAGE_ERROR = 2
INTERRUPTED = 130
READER_LEFT = 141

NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG)
"""What a disk says that takes no more."""

EXPECTED = (("assay.report", "ReportError"), ("assay.persistence", "ModelFileError"))
"""Errors that are written for the person at the keyboard."""


class ReaderLeftError(Exception):
    """Nobody reads the output any more, as in `assay methods | head -1`."""


class InterruptedRunError(Exception):
    """The user stopped a run; the sentence says what was finished."""


def sentence_of(error: Exception) -> tuple[str, int]:
    """What to say about an error, and the exit code.

    Examples
    --------
    >>> from assay.report import ReportError
    >>> sentence_of(ReportError("There is no file sales.csv"))
    ('There is no file sales.csv.', 2)
    >>> sentence_of(ZeroDivisionError("division by zero"))[0]
    'an unexpected error stopped the command (ZeroDivisionError: division by zero); run it ...'
    """
    if isinstance(error, typer.Exit):
        return "", error.exit_code
    if isinstance(error, typer.Abort):
        return "interrupted.", INTERRUPTED
    if isinstance(error, InterruptedRunError):
        return str(error), INTERRUPTED
    if hasattr(error, "format_message"):  # a wrong option or argument, in Typer's words
        return _usage(error), USAGE_ERROR
    if isinstance(error, OSError) and error.errno in NO_ROOM:
        return f"the output cannot be written: {error.strerror}.", USAGE_ERROR
    if _is_expected(error):
        return _ended(str(error)), USAGE_ERROR
    words = " ".join(str(error).split()) or "no message"
    return (
        f"an unexpected error stopped the command ({type(error).__name__}: {_ended(words)[:-1]}); "
        "run it again with --debug to see where.",
        USAGE_ERROR,
    )


def _usage(error: Any) -> str:
    """What is wrong with an option or an argument; the nearest option where there is none of its name."""
    words = _ended(error.format_message())
    wrong, known = getattr(error, "option_name", None), getattr(error, "possibilities", None)
    if wrong and known:
        near = get_close_matches(wrong, known, n=1)
        hint = f" Did you mean {near[0]}?" if near else ""
        return f"There is no option {wrong}.{hint} See assay --help."
    if words == ".":
        return ""
    return f"{words} See assay --help." if words.endswith("?") else f"{words[:-1]}; see assay --help."


def silence(stream: IO[str]) -> None:
    """Let what is still to be written to a closed pipe go nowhere, also when the interpreter ends."""
    try:
        place = stream.fileno()
    except (OSError, ValueError):
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, place)
    os.close(nowhere)


def _is_expected(error: Exception) -> bool:
    """Whether an error is one of those that are written for the user."""
    if isinstance(error, ImportError):
        return "pip install" in str(error)
    # Looked up, not imported: an error of ours cannot come before its module, and an import may be at fault.
    kinds = (getattr(sys.modules.get(module), name, None) for module, name in EXPECTED)
    return any(kind is not None and isinstance(error, kind) for kind in kinds)


def _ended(sentence: str) -> str:
    sentence = " ".join(sentence.split())
    return sentence if sentence.endswith((".", "!", "?")) else f"{sentence}."
