"""The tokens of a formula that is written in Unicode, as in the documentation of the estimators."""

from __future__ import annotations

import re
import unicodedata
from typing import Literal, NamedTuple

Kind = Literal["number", "letter", "word", "text", "symbol", "above", "below", "superscript", "subscript"]

SUPERSCRIPTS = dict(
    zip(
        "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁼⁽⁾ⁿⁱᵀᵃᵇᶜᵈᵉᶠᵍʰʲᵏˡᵐᵒᵖʳˢᵗᵘᵛʷˣʸᶻ",
        "0123456789+−=()niTabcdefghjklmoprstuvwxyz",
        strict=True,
    )
)
SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋₌₍₎ₐₑₕᵢⱼₖₗₘₙₒₚᵣₛₜᵤᵥₓ", "0123456789+−=()aehijklmnoprstuvx", strict=True))
ACCENTS = {"\u0302": "^", "\u0303": "~", "\u0304": "¯", "\u0305": "¯", "\u0307": "˙", "\u20d7": "→"}
"""Marks that stand above a letter, and how they are written by themselves."""

FRACTIONS = {"½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅛": (1, 8)}

SHORT_WORDS = frozenset(
    [
        "an",
        "as",
        "at",
        "be",
        "by",
        "do",
        "if",
        "in",
        "is",
        "it",
        "ln",
        "no",
        "of",
        "on",
        "or",
        "so",
        "to",
        "tr",
        "up",
        "we",
    ]
)
"""Words and functions of two letters; other two letters side by side are a product."""

SCRIPTS = "".join((*SUPERSCRIPTS, *SUBSCRIPTS))

PATTERN = re.compile(
    r"(?P<space>\s+)"
    r"|(?P<code>`[^`]*`(?:-\w+)?)"
    r'|(?P<quoted>"[^"]*")'
    r"|(?P<number>\d+(?:\.\d+)?(?:e[+-]\d+)?)"
    rf"|(?P<symbol>[{''.join(FRACTIONS)}])"
    rf"|(?P<below>_(?:(?![{SCRIPTS}])[^\W_]|[·*'′∞⊥])+)"
    r"|(?P<open_below>_)"
    r"|(?P<above>\^)"
    rf"|(?P<superscript>[{''.join(SUPERSCRIPTS)}]+)"
    rf"|(?P<subscript>[{''.join(SUBSCRIPTS)}]+)"
    r"|(?P<latin>[A-Za-z]{2,}(?:-[a-z]{2,})*(?![\u0302-\u0307]))"
    rf"|(?P<letter>[^\W\d_][{''.join(ACCENTS)}]?)"
    r"|(?P<other>.)"
)


class Token(NamedTuple):
    """A piece of a formula: what it is, as it is written, and whether a blank stands before it."""

    kind: Kind
    text: str
    spaced: bool


def tokens(formula: str) -> list[Token]:
    """Cut a line of a formula into tokens.

    A run of two Latin letters with a capital is a product (LH, Xv), longer runs and the short words of
    English are words; everything after an underscore, up to a blank, a sign or a bracket, is one subscript.

    Examples
    --------
    >>> from assay.report.formulas._tokens import tokens
    >>> [token.text for token in tokens("x_iᵀw of Xv")]
    ['x', 'i', 'T', 'w', 'of', 'X', 'v']
    >>> [token.kind for token in tokens("x_iᵀw of")]
    ['letter', 'below', 'superscript', 'letter', 'word']
    """
    found: list[Token] = []
    spaced = False
    for mark in PATTERN.finditer(formula):
        kind, text = mark.lastgroup, mark.group()
        if kind == "space":
            spaced = True
            continue
        found += [
            piece._replace(spaced=spaced and place == 0)
            for place, piece in enumerate(_pieces(str(kind), text))
        ]
        spaced = False
    return [_article(found, place) for place in range(len(found))]


def _article(found: list[Token], place: int) -> Token:
    """The token at a place; an "a" between words is a word and no letter of the formula."""
    token, after = found[place], found[place + 1 : place + 2]
    if (
        token.text != "a"
        or token.kind != "letter"
        or not place
        or found[place - 1].kind != "word"
        or not after
    ):
        return token
    follows = after[0].kind == "word" and after[0].spaced and after[0].text not in ("and", "or")
    return token._replace(kind="word") if follows else token


def _pieces(kind: str, text: str) -> list[Token]:
    if kind == "latin":
        product = len(text) == 2 and text not in SHORT_WORDS
        return (
            [Token("letter", letter, False) for letter in text] if product else [Token("word", text, False)]
        )
    if kind in ("code", "quoted"):
        return [Token("text", text.replace("`", ""), False)]
    if kind == "below":
        return [Token("below", text[1:], False)]
    if kind == "open_below":
        return [Token("below", "", False)]
    if kind == "superscript":
        return [Token("superscript", "".join(SUPERSCRIPTS[letter] for letter in text), False)]
    if kind == "subscript":
        return [Token("subscript", "".join(SUBSCRIPTS[letter] for letter in text), False)]
    if kind == "letter":
        # A letter that carries its accent in one code point (ŷ) is told as the two it is made of.
        apart = unicodedata.normalize("NFD", text)
        return [Token("letter", apart if apart[1:] in ACCENTS else text, False)]
    return [Token("number" if kind == "number" else "above" if kind == "above" else "symbol", text, False)]
