"""Formulas of the documentation as MathML, for the page."""

from __future__ import annotations

import re
from html import escape
from typing import NamedTuple

from assay.report.formulas._parser import FormulaError, parse

GAP = re.compile(r" {2,}")
AS_WRITTEN = '<mtext class="as-written">'
"""How a piece begins that could not be read, and stands as it is written."""

# Characters that XML does not allow, in whatever way they are written.
FORBIDDEN = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Piece(NamedTuple):
    """A part of a line, and the column at which it begins."""

    start: int
    text: str


def to_mathml(formula: str) -> str:
    """A formula in Unicode as one block of presentation MathML.

    Parts of a line that two blanks or more separate stand apart; the parts of several lines are aligned as
    they are in the text. What cannot be read stands as it is written: nothing is refused.

    Parameters
    ----------
    formula : str
        One line or several, such as "(1/n) Σ_i s_i (y_i − x_iᵀw − b)² + λ ‖w‖²,    b not penalised".

    Returns
    -------
    markup : str
        A math element, whose label is the formula as written.

    Examples
    --------
    >>> from assay.report.formulas._mathml import to_mathml
    >>> to_mathml("‖w‖²").count("<msup>")
    1
    >>> to_mathml("a ) b")
    '<math display="block" alttext="a ) b" aria-label="a ) b"><mtext class="as-written">a ) b</mtext></math>'
    """
    formula = FORBIDDEN.sub("\ufffd", formula.expandtabs())
    lines = [line.rstrip() for line in formula.splitlines() if line.strip()]
    label = escape(" ".join(formula.split()))
    body = _table(lines) if len(lines) > 1 else _line(_pieces(lines[0]) if lines else [])
    return f'<math display="block" alttext="{label}" aria-label="{label}">{body}</math>'


def _pieces(line: str) -> list[Piece]:
    """The parts of a line; a gap inside brackets does not cut."""
    found: list[Piece] = []
    for text in GAP.split(line.strip()):
        start = line.index(text, found[-1].start + len(found[-1].text) if found else 0)
        if found and _depth(found[-1].text) > 0:
            before = found.pop()
            found.append(Piece(before.start, f"{before.text} {text}"))
        else:
            found.append(Piece(start, text))
    return found


def _line(pieces: list[Piece]) -> str:
    return '<mspace width="2em"/>'.join(_markup(piece.text) for piece in pieces)


def _markup(text: str) -> str:
    try:
        return parse(text)
    except FormulaError:
        return f"{AS_WRITTEN}{escape(text)}</mtext>"


def _table(lines: list[str]) -> str:
    """Lines below each other; a part that begins where one above or below does, begins there too."""
    rows = [_pieces(line) for line in lines]
    goes_on = [piece.start for row in rows for piece in row if piece.text.startswith(("+", "−", "="))]
    rows = [[part for piece in row for part in _cut(piece, goes_on)] for row in rows]
    starts = sorted({piece.start for row in rows for piece in row})
    body = "".join(_row(row, starts) for row in rows)
    return f'<mtable displaystyle="true">{body}</mtable>'


def _cut(piece: Piece, starts: list[int]) -> list[Piece]:
    """A part in two where another line goes on below the middle of it, as after a sign of equality."""
    for start in starts:
        place = start - piece.start
        if not 0 < place < len(piece.text):
            continue
        head, tail = piece.text[:place], piece.text[place:]
        if head.endswith(("= ", "≤ ", "≥ ")) and _depth(head) == 0 and _depth(tail) == 0:
            return [Piece(piece.start, head.rstrip()), Piece(start, tail)]
    return [piece]


def _row(pieces: list[Piece], starts: list[int]) -> str:
    """Cells of one line: empty ones before a part that begins later, wide ones where nothing else begins."""
    cells, place = "", 0
    for number, piece in enumerate(pieces):
        column = starts.index(piece.start)
        cells += "<mtd></mtd>" * (column - place)
        after = pieces[number + 1].start if number + 1 < len(pieces) else None
        end = len(starts) if after is None else starts.index(after)
        span = f' columnspan="{end - column}"' if end - column > 1 else ""
        cells += f"<mtd{span}>{_markup(piece.text)}</mtd>"
        place = end
    return f"<mtr>{cells}</mtr>"


def _depth(text: str) -> int:
    """Brackets that open and do not close."""
    return sum(text.count(sign) for sign in "([{⟨") - sum(text.count(sign) for sign in ")]}⟩")
