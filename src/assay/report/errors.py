"""The one error of the reports: a sentence for the person at the keyboard."""

from __future__ import annotations


class ReportError(ValueError):
    """A table, a column or an option that a comparison cannot work with, said in one sentence."""
