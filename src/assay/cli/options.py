"""Options that several commands share, and commands that take theirs as one value."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from assay.cli import completion

TableArgument = typer.Argument(
    metavar="TABLE", help="A CSV, Parquet or Arrow file, - for standard input, or an embedded table."
)
ModelArgument = typer.Argument(metavar="MODEL", help="A model file, saved by compare, fit or assay.save.")
MethodArgument = typer.Argument(
    metavar="METHOD",
    help="Name of a method, such as Ridge; see assay methods.",
    autocompletion=completion.methods,
)

Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Replace files that are already there.")]
Seed = Annotated[int, typer.Option(min=0, metavar="N", help="Seed of folds and restarts.")]
Target = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column to predict; none to look for groups.")
]
Task = Annotated[
    str,
    typer.Option(
        metavar="TASK",
        help="auto, regression, classification or clustering.",
        autocompletion=completion.tasks,
    ),
]
Drop = Annotated[
    list[str] | None, typer.Option(metavar="COLUMN", help="Column to leave out; may be repeated.")
]


def takes(options: Any) -> Callable[[Callable[[Any], None]], Callable[..., None]]:
    """Make a command of a function of one NamedTuple: each field is an option or an argument.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> class Wish(NamedTuple):
    ...     number: int = 2
    >>> @takes(Wish)
    ... def double(wish: Wish) -> None:
    ...     print(2 * wish.number)
    >>> double(number=4)
    8
    """
    types = get_type_hints(options, include_extras=True)
    kind, defaults = inspect.Parameter.KEYWORD_ONLY, options._field_defaults
    blank = inspect.Parameter.empty
    fields = [
        inspect.Parameter(name, kind, default=defaults.get(name, blank), annotation=types[name])
        for name in options._fields
    ]

    def decorate(command: Callable[[Any], None]) -> Callable[..., None]:
        @wraps(command)
        def run(**given: Any) -> None:
            command(options(**given))

        # What Typer reads in place of the one argument.
        run.__signature__ = inspect.Signature(fields)  # type: ignore[attr-defined]
        run.__annotations__ = types
        return run

    return decorate
