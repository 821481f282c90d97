"""Where in a sheet the table begins, below lines of titles, and what parts the fields of a line."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

from assay.report.errors import ReportError

SEPARATORS = (",", ";", "\t", "|")
NUMBER = re.compile(r"[-+]?(\d+([.,]\d*)?|[.,]\d+)([eE][-+]?\d+)?")
YEAR = re.compile(r"(19|20)\d\d")
MOST_TITLES = 30
"""Titles are looked for in so many lines."""


NAMED_SEPARATORS = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}


def separator_of(asked: str) -> str:
    r"""A separator as one types it: itself, or its name.

    Examples
    --------
    >>> separator_of("tab"), separator_of(";")
    ('\t', ';')
    """
    mark = NAMED_SEPARATORS.get(asked.strip().lower(), asked)
    if len(mark) != 1 or mark in '\r\n"':
        raise ReportError(f"The separator must be one character, or tab. Got {asked!r} instead.")
    return mark


def filled(cells: Sequence[Any]) -> int:
    """How many cells of a line hold something."""
    return sum(cell is not None and cell == cell and str(cell).strip() != "" for cell in cells)


def n_titles(lines: Sequence[Sequence[Any]]) -> int:
    """Lines above the header: those at the beginning with one cell, or two, where the table has more.

    Examples
    --------
    >>> n_titles([["Sales of 2024"], [], ["town", "units", "price"], ["Lyon", 3, 4.5], ["Nice", 2, 4.0]])
    2
    >>> n_titles([["", "a", "b"], ["Alabama", 1, 2], ["Alaska", 3, 4]])
    0
    """
    counts = [filled(line) for line in lines]
    widths = Counter(count for count in counts if count > 1)
    if not widths:
        return 0
    width = max(widths, key=lambda count: (widths[count], count))
    if widths[width] < 2:  # nothing repeats: there is no table to tell a title from
        return 0
    most = 2 if width >= 4 else 1
    for place, line in enumerate(lines[:MOST_TITLES]):
        above_gap = counts[place] < width and place + 1 < len(lines) and counts[place + 1] == 0
        if above_gap or (counts[place] != width and str(next(iter(line), "")).startswith("#")):
            continue  # a title with a comma in it, or a comment
        if counts[place] > most or (counts[place] and not filled(line[:1])):
            return place if place == 0 or _is_header(line) else 0
    return 0


def _is_header(cells: Sequence[Any]) -> bool:
    """Whether cells are names: words, and no numbers but years."""
    words = [str(cell).strip() for cell in cells if filled([cell])]
    numbers = [word for word in words if NUMBER.fullmatch(word)]
    years = all(YEAR.fullmatch(word) for word in numbers)
    return len(words) > len(numbers) and years


def _are_blanks_between(lines: Sequence[str]) -> bool:
    """Whether blanks part the fields: as many in all lines, one less in the header where rows have names.

    Some column must hold numbers: words are parted by blanks, too.
    """
    filled_lines = [line.strip() for line in lines if line.strip()]
    header, *rows = [*csv.reader(filled_lines, delimiter=" ", skipinitialspace=True)] or [[]]
    if len(rows) < 3 or len(header) < 2 or {len(row) - len(header) for row in rows} not in ({0}, {1}):
        return False
    return any(all(NUMBER.fullmatch(cell) for cell in column) for column in zip(*rows, strict=True))


def tell_separator(lines: Sequence[str]) -> tuple[str, int]:
    """The separator of lines of text and the number of titles above the header.

    The separator is one that gives lines of several fields with the fewest titles, then the one that stands
    in the header most often: decimal commas part fields too, but not those of the header.
    """
    tried, failure = [], None
    for order, mark in enumerate(SEPARATORS):
        try:
            fields = list(csv.reader(lines, delimiter=mark, skipinitialspace=True))
        except csv.Error as error:  # a line of very many columns is too long for one field
            failure = error
            continue
        widths = [len(line) for line in fields if line]
        if 2 * sum(width > 1 for width in widths) <= len(widths):
            continue
        titles = n_titles(fields)
        tried.append((titles, -len(fields[titles]), order, mark))
    if not tried:
        if failure is not None:
            raise failure
        if _are_blanks_between(lines):
            return " ", 0
        first = next((line for line in lines if line.strip()), "")
        return max(SEPARATORS, key=first.count), 0
    titles, _, _, mark = min(tried)
    return mark, titles
