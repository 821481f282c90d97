"""The pieces of MathML that formulas are made of, and how they stand beside each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from typing import Literal

from assay.report.formulas._tokens import ACCENTS

THIN, COMMA = '<mspace width="0.17em"/>', '<mspace width="0.3em"/>'


@dataclass(frozen=True)
class Node:
    """A piece of MathML.

    Attributes
    ----------
    markup : str
    role : {"value", "operator", "text", "limits"}
        A value; a sign between values; words; an operator with a range, which stands below it.
    inside : str
        The markup without the parentheses around it, where there are any.
    tall : bool
        Whether it holds a fraction, so that brackets around it must grow.
    fraction : bool
        Whether it is one fraction and nothing else.
    """

    markup: str
    role: Literal["value", "operator", "text", "limits"] = "value"
    inside: str = ""
    tall: bool = False
    fraction: bool = False


def joined(nodes: Sequence[Node], gaps: Sequence[bool], *, commas_apart: bool) -> str:
    """Nodes side by side: a thin gap between values that a blank separates, words with blanks around them."""
    markup = ""
    for place, (node, spaced) in enumerate(zip(nodes, gaps, strict=True)):
        before = nodes[place - 1] if place else None
        if before is not None and spaced:
            if "text" in (node.role, before.role):
                markup += "<mtext>\u00a0</mtext>"
            elif before.markup == "<mo>,</mo>" and commas_apart:
                markup += COMMA
            elif "operator" not in (node.role, before.role):
                markup += THIN
        markup += node.markup
    # Words that follow each other are one text.
    return markup.replace("</mtext><mtext>", "")


def with_scripts(base: Node, below: list[str], above: list[str]) -> Node:
    """A value with what stands below and above it; the range of an operator goes under it."""
    low, high = row(below), row(above)
    if base.role == "limits":
        kinds = ("munderover", "munder", "mover")
    else:
        kinds = ("msubsup", "msub", "msup")
    if low and high:
        markup = f"<{kinds[0]}>{base.markup}{low}{high}</{kinds[0]}>"
    else:
        kind = kinds[1] if low else kinds[2]
        markup = f"<{kind}>{base.markup}{low or high}</{kind}>"
    return Node(markup, base.role, tall=base.tall)


def row(parts: Sequence[str]) -> str:
    """Parts as one: the only one as it is, several in a row, none as nothing."""
    return parts[0] if len(parts) == 1 else f"<mrow>{''.join(parts)}</mrow>" if parts else ""


def script(text: str) -> str:
    """A subscript or superscript without brackets: letters one by one, a word as a word."""
    if text.isascii() and text.isalpha() and len(text) > 2:
        return f"<mtext>{text}</mtext>"
    parts: list[str] = []
    for sign in text:
        if sign.isdigit() and parts and parts[-1].startswith("<mn>"):
            parts[-1] = f"{parts[-1][:-5]}{sign}</mn>"
        elif sign.isdigit():
            parts.append(f"<mn>{sign}</mn>")
        elif sign == "T":
            parts.append('<mi mathvariant="normal">T</mi>')
        elif sign.isalpha():
            parts.append(f"<mi>{sign}</mi>")
        else:
            parts.append(f"<mo>{escape(sign.replace(chr(39), '′'))}</mo>")
    return row(parts)


def letter(text: str) -> str:
    """A letter, with its accent above it where it has one."""
    base = f"<mi>{escape(text[0])}</mi>"
    if len(text) == 1:
        return base
    return f'<mover accent="true">{base}<mo stretchy="false">{ACCENTS[text[1]]}</mo></mover>'
