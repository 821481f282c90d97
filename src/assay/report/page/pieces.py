"""The pieces that every section of the page is made of: tables, figures, badges."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import NamedTuple

from assay.report.page.pictures import Picture
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.wording import shown


class Heading(NamedTuple):
    """The head of a column."""

    name: str
    numeric: bool = False  # set to the right and sorted as numbers
    great_first: bool = False  # the first click sorts from the greatest down
    sorted: str = ""  # as the page opens: "ascending", "descending" or not
    html: str = ""  # in place of the name


class Cell(NamedTuple):
    """The HTML of a cell and the number by which it is sorted."""

    html: str
    value: float


class Row(NamedTuple):
    """Cells that are HTML already, the first names the row; a marked row stands out."""

    cells: Sequence[str | Cell]
    marked: bool = False


def table(
    caption: str,
    headings: Sequence[Heading],
    rows: Iterable[Row],
    *,
    sortable: bool = False,
    stacked: bool = False,
) -> str:
    """A table that scrolls sideways where it must.

    Examples
    --------
    >>> text = table("Ages.", [Heading("Name"), Heading("Age", numeric=True)], [Row(["Ada", "36"])])
    >>> '<th scope="row">Ada</th><td class="number">36</td>' in text
    True
    """
    head = "".join(_heading(heading, sortable) for heading in headings)
    body = "".join(_row(row, headings, stacked) for row in rows)
    names = " ".join(name for name, there in (("sortable", sortable), ("stacked", stacked)) if there)
    kind = f' class="{names}"' if names else ""
    # A stacked table is no table to the browser any more: it must be told that it still is one.
    role = ' role="table"' if stacked else ""
    return scrolling(
        caption,
        f'<table{kind}{role}><caption class="aloud">{escape(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>",
    )


def scrolling(label: str, html: str) -> str:
    """A frame that scrolls sideways where its content is too wide, and then says so at its edge."""
    return (
        f'<div class="frame"><div class="scroll" role="group" tabindex="0" aria-label="{escape(label)}">'
        f"{html}</div></div>"
    )


def _heading(heading: Heading, sortable: bool) -> str:
    marks = ' class="number"' if heading.numeric else ""
    if sortable:
        marks += ' data-first="descending"' if heading.great_first else ""
        marks += f' aria-sort="{heading.sorted}"' if heading.sorted else ""
    name = heading.html or escape(heading.name) or '<span class="aloud">Name</span>'
    return f'<th scope="col"{marks}>{name}</th>'


def _row(row: Row, headings: Sequence[Heading], stacked: bool) -> str:
    cells = []
    for index, (cell, heading) in enumerate(zip(row.cells, headings, strict=True)):
        marks = ' class="number"' if heading.numeric else ""
        if isinstance(cell, Cell):
            marks += f' data-value="{cell.value:.12g}"'
        if stacked:
            role = "cell" if index else "rowheader"
            marks += f' data-label="{escape(heading.name)}" role="{role}"'
        html = cell.html if isinstance(cell, Cell) else cell
        cells.append(f"<td{marks}>{html}</td>" if index else f'<th scope="row"{marks}>{html}</th>')
    mark = ' class="best"' if row.marked else ""
    role = ' role="row"' if stacked else ""
    return f"<tr{mark}{role}>{''.join(cells)}</tr>"


def section(place: str, title: str, body: str) -> str:
    """A part of the page with its title."""
    return (
        f'<section id="{place}" aria-labelledby="{place}-title"><h2 id="{place}-title">{title}</h2>'
        f"{body}</section>"
    )


def figure(picture: Picture, *, wide: bool = False) -> str:
    """A picture and the sentence below it, which begins with the rows that the picture shows."""
    kinds = " ".join(name for name, there in (("wide", wide), ("high", picture.high)) if there)
    mark = f' class="{kinds}"' if kinds else ""
    basis = f'<b class="basis">{escape(picture.basis)}.</b> ' if picture.basis else ""
    words = f"{basis}{escape(picture.caption)}"
    below = f"<figcaption>{words}</figcaption>" if words else ""
    return f"<figure{mark}>{picture.svg}{below}</figure>"


# Where a name of several words may go on in the next line: after a mark between them, or before a capital.
BETWEEN_WORDS = re.compile(r"(?<=[_./:;,|])(?=[^\W_])|(?<=[a-z])(?=[A-Z])")


def breakable(name: str) -> str:
    """A name as HTML that breaks between its words and never inside one.

    Examples
    --------
    >>> breakable("distance_to_<centre>")
    'distance_<wbr/>to_&lt;centre&gt;'
    """
    return "<wbr/>".join(escape(part) for part in BETWEEN_WORDS.split(name))


IN_NAMES = re.compile(r"(?<=[a-z])(?=[A-Z])")


def headed(sentence: str) -> str:
    """A sentence as HTML in which the name of a method may break between its words, and no number does.

    Examples
    --------
    >>> headed("KernelRidge predicts y best: R² 0.8 ± 0.1")
    'Kernel<wbr/>Ridge predicts y best: R² <span class="figure">0.8 ± 0.1</span>'
    """
    whole = "<wbr/>".join(escape(part) for part in IN_NAMES.split(sentence))
    return FIGURE.sub(r'<span class="figure">\g<0></span>', whole)


FIGURE = re.compile(r"−?[\d.,]*\d (?:%|± [\d.,]*\d)|--[a-z][a-z-]*(?: [a-z0-9-]+)?")
"""A number that is not to be parted from its error or its per cent sign; an option with its value."""


def kept_together(sentence: str) -> str:
    """A sentence as HTML in which no line ends inside a figure.

    Examples
    --------
    >>> kept_together("It gains 0.7 ± 0.2, or 5 %.")
    'It gains <span class="figure">0.7 ± 0.2</span>, or <span class="figure">5 %</span>.'
    """
    return FIGURE.sub(r'<span class="figure">\g<0></span>', escape(sentence))


def badge(candidate: Candidate) -> str:
    """The certificates of a candidate in a few words."""
    if not candidate.certificates:
        return "—"
    verdict = "holds" if candidate.certificates.holds else "fails"
    return f'<span class="{verdict}">{candidate.verdict}</span>'


def tag(comparison: Comparison, candidate: Candidate) -> str:
    """The mark of the recommended candidate; nothing for the others."""
    return ' <span class="tag">recommended</span>' if candidate is comparison.recommended else ""


def notes(sentences: Iterable[str]) -> str:
    """Sentences, each a small paragraph."""
    return "".join(f'<p class="note">{kept_together(sentence)}</p>' for sentence in sentences)


def parameters(candidate: Candidate) -> list[str]:
    """The chosen parameters as one writes them: "alpha = 0.91"."""
    return [
        f"{name} = {shown(float(value), 3)}" if isinstance(value, int | float) else f"{name} = {value}"
        for name, value in candidate.parameters.items()
    ]


def duration(seconds: float) -> str:
    """A time to three digits.

    Examples
    --------
    >>> duration(0.0123), duration(2.5)
    ('12.3 ms', '2.5 s')
    """
    return f"{1000 * seconds:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def anchor(rank: int) -> str:
    """The name of a model's section, by its place on the leaderboard."""
    return f"model-{rank + 1}"
