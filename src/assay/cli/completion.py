"""What a shell offers when the Tab key is pressed: names of methods, of embedded tables and of tasks."""

from __future__ import annotations

from collections.abc import Iterable

TASKS = ("auto", "regression", "classification", "clustering")


def beginning(start: str, names: Iterable[str]) -> list[str]:
    """The names that begin so, capital letters or not.

    Examples
    --------
    >>> beginning("r", ["Ridge", "Lasso"])
    ['Ridge']
    """
    return [name for name in names if name.lower().startswith(start.lower())]


def methods(incomplete: str) -> list[str]:
    """Names of methods."""
    from assay.cli.method_names import NAMES

    return beginning(incomplete, NAMES)


def several_methods(incomplete: str) -> list[str]:
    """Names of methods after those that are already there, separated by commas."""
    given, comma, last = incomplete.rpartition(",")
    taken = set(given.split(","))
    return [given + comma + name for name in methods(last) if name not in taken]


def tasks(incomplete: str) -> list[str]:
    """Names of tasks."""
    return beginning(incomplete, TASKS)


def demonstrations(incomplete: str) -> list[str]:
    """Tasks of which there is a demonstration."""
    return beginning(incomplete, TASKS[1:])
