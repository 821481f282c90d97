"""The one error of the reports: a sentence for the person at the keyboard."""

from __future__ import annotations


class ReportError(ValueError):
    """A table, a column or an option that a comparison cannot work with, said in one sentence."""


def words_of(error: BaseException) -> str:
    r"""What an error says, as a part of a sentence.

    Examples
    --------
    >>> words_of(ValueError("too few rows:\n  got 3."))
    'too few rows: got 3'
    """
    return " ".join(str(error).split()).rstrip(".")
