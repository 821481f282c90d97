"""`assay methods` and `assay explain`: the catalogue, and one page of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from assay.cli.options import AsJson, Debug, MethodArgument

if TYPE_CHECKING:
    from rich.console import Console

    from assay.report import Method

JSON: dict[str, Any] = {"indent": 2, "ensure_ascii": False}


def methods(
    task: Annotated[
        str | None,
        typer.Option(metavar="TASK", help="Only those for regression, classification, clustering, ..."),
    ] = None,
    family: Annotated[
        str | None, typer.Option(metavar="FAMILY", help="Only those of a family, such as linear or cluster.")
    ] = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """List every method of the library.

    By family: name, task, course and section, what it is, and what a fit certifies.
    """
    from assay.cli.terminal import open_console, say
    from assay.report import catalogue

    listed = chosen(catalogue(), task, family)
    console = open_console()
    if as_json:
        say(console, json.dumps([record(method) for method in listed], **JSON), wrapped=False)
        return
    for name in dict.fromkeys(method.family for method in listed):
        show_family(console, name, [method for method in listed if method.family == name])


def explain(method: Annotated[str, MethodArgument], as_json: AsJson = False, debug: Debug = False) -> None:
    """Tell what a method computes, what it certifies and where to read about it."""
    from assay.cli.terminal import open_console, say
    from assay.report import find_method

    told = find_method(method)
    console = open_console()
    if as_json:
        say(console, json.dumps(record(told), **JSON), wrapped=False)
        return
    places = dict.fromkeys((readable(told.family), told.task))
    say(console, f"{told.name} ({', '.join(places)})", style="bold")
    for text in (told.summary, told.objective, told.algorithm):
        show_section(console, "", text)
    sections = {"Assumes": told.assumptions, "Certificates": told.certificates, "Notes": told.notes}
    for title, text in sections.items():
        show_section(console, title, text)
    if told.parameters:
        say(console, "\nParameters", style="bold")
        show_parameters(console, told)
    show_section(console, "References", told.references)


def chosen(listed: Sequence[Method], task: str | None, family: str | None) -> list[Method]:
    """The methods for a task and of a family; a sentence when there is no such task or family."""
    from assay.report import ReportError

    if task is not None and task not in (known := {method.task for method in listed}):
        raise ReportError(f"The task must be one of {', '.join(sorted(known))}. Got {task!r} instead.")
    if family is not None:
        families = sorted({method.family for method in listed})
        asked = family.strip().lower().replace(" ", "_").replace("-", "_")
        match = [name for name in families if asked in (name, readable(name).replace(" ", "_"))]
        if not match:
            raise ReportError(f"The family must be one of {', '.join(families)}. Got {family!r} instead.")
        listed = [method for method in listed if method.family in match]
    matching = [method for method in listed if task is None or method.task == task]
    if not matching:
        raise ReportError(f"No method of the family {family!r} is for {task}; leave out one of the two.")
    return matching


def readable(family: str) -> str:
    """The name of a family for readers."""
    from assay.registry import title_of

    return title_of(family)


def record(method: Method) -> dict[str, Any]:
    """A method as plain values."""
    import dataclasses

    fields = dataclasses.asdict(method)
    fields["parameters"] = [parameter._asdict() for parameter in method.parameters]
    return fields


def show_family(console: Console, family: str, listed: Sequence[Method]) -> None:
    """Print the methods of a family, three lines each, none of them longer than the console is wide."""
    from rich.text import Text

    names = max(len(method.name) for method in listed)
    tasks = max(len(method.task) for method in listed)
    count = f"{len(listed)} methods" if len(listed) > 1 else "1 method"
    console.print(Text(f"{readable(family)} ({count})".upper(), style="bold cyan"))
    console.print()
    for method in listed:
        courses = "; ".join(method.courses)
        first = Text.assemble(
            (f"{method.name:{names}}", "bold"), f"  {method.task:{tasks}}", (f"  {courses}", "dim")
        )
        for line in (first, Text(f"  {method.summary}"), Text(f"  certifies {method.certificates}", "dim")):
            line.truncate(console.width, overflow="ellipsis")
            console.print(line, no_wrap=True, highlight=False)
    console.print()


def show_section(console: Console, title: str, text: str) -> None:
    """Print a title and its paragraphs; formulas keep their lines."""
    from assay.cli.terminal import say

    if title and text:
        say(console, f"\n{title}", style="bold")
    for number, (paragraph, formula) in enumerate(paragraphs(text)):
        if number or not title:
            say(console, "")
        say(console, paragraph, wrapped=not formula)


def paragraphs(text: str) -> Iterator[tuple[str, bool]]:
    """The paragraphs of a text, and whether each is a formula, which stands indented."""
    for paragraph in text.split("\n\n"):
        formula = paragraph.startswith("    ")
        if paragraph.strip():
            yield (paragraph if formula else " ".join(paragraph.split())), formula


def show_parameters(console: Console, method: Method) -> None:
    """Print the parameters with their defaults."""
    from rich.markup import escape
    from rich.table import Table

    table: Any = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column()
    for parameter in method.parameters:
        default = f"={parameter.default}" if parameter.default else ""
        table.add_row(f"[bold]{escape(parameter.name)}[/]{escape(default)}", escape(parameter.summary))
    console.print(table, highlight=False)
