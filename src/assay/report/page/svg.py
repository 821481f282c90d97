"""Making an SVG file a part of a page: small, with ids of its own, in the colours and letters of the page."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby

from assay.display._style import ACCENT, FAINT_INK, GRID, INK, PALETTE

DECIMALS = 2
"""Of a point of the picture, which is less than a pixel wide."""

PAGE_COLORS = ((INK, "--ink"), (FAINT_INK, "--faint"), (GRID, "--grid"))
"""Colours of the house that the page gives, light or dark."""

NUMBER = re.compile(r"-?\d+\.\d+")
USE = re.compile(r'<use xlink:href="#([^"]*)" x="([^"]*)" y="([^"]*)"(?: style="([^"]*)")?/>\s*')
USES = re.compile(rf"(?:{USE.pattern}){{2,}}")


def embed(svg: str, label: str, key: str) -> str:
    """Make an SVG file of matplotlib a part of a page.

    Parameters
    ----------
    svg : str
        The file, with texts kept as texts.
    label : str
        What the picture shows, for those who do not see it.
    key : str
        Makes the ids of the picture different from all others on the page.

    Returns
    -------
    part : str
        An `<svg>` element without prologue, metadata, outside names or fonts.

    Examples
    --------
    >>> embed('<?xml version="1.0"?><svg viewBox="0 0 9 9"><g id="a"/></svg>', "A dot.", "m1")
    '<svg viewBox="0 0 9 9" role="img" aria-label="A dot."><g/></svg>'
    """
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg, flags=re.DOTALL)
    # A style element would hold for the whole page; the page's own says the same of pictures.
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = USES.sub(_shared, svg)
    svg = _own_ids(svg, key)
    svg = re.sub(r' transform="rotate\(-?0 [^"]*"', "", svg)
    svg = re.sub(r' (d|x|y|width|height)="([^"]*)"', _short, svg)
    svg = re.sub(r"\s*font-family: [^;\"]*;?", "", svg)
    view = re.search(r'viewBox="[^"]*"', svg)
    attributes = f'{view.group() if view else ""} role="img" aria-label="{escape(label)}"'
    svg = re.sub(r"<svg[^>]*>", lambda _: f"<svg {attributes}>", svg, count=1)
    svg = re.sub(r"<(text|tspan)\b[^>]*>", _readable, svg)
    for color, variable in PAGE_COLORS:
        svg = svg.replace(color, f"var({variable})")
    return re.sub(r">\s*\n\s*<", "><", svg).strip()


def _shared(run: re.Match[str]) -> str:
    """A run of marks that look the same: how they look is said once, around them."""
    marks = [match.groups() for match in USE.finditer(run.group())]
    return "".join(
        (f'<g style="{style}">' if style else "<g>")
        + "".join(f'<use xlink:href="#{mark}" x="{x}" y="{y}"/>' for mark, x, y, _ in group)
        + "</g>"
        for style, group in groupby(marks, key=lambda mark: mark[3])
    )


def _own_ids(svg: str, key: str) -> str:
    """Ids that something refers to, made unique on the page; the others are dropped."""
    used = set(re.findall(r'(?:xlink:href="#|url\(#)([^")]*)', svg))
    short = {name: f"{key}-{number}" for number, name in enumerate(sorted(used))}
    svg = re.sub(
        r'\sid="([^"]*)"',
        lambda match: f' id="{short[match.group(1)]}"' if match.group(1) in used else "",
        svg,
    )
    svg = re.sub(r'xlink:href="#([^"]*)"', lambda match: f'href="#{short[match.group(1)]}"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", lambda match: f"url(#{short[match.group(1)]})", svg)
    return svg.replace("xlink:href=", "href=")


def _short(attribute: re.Match[str]) -> str:
    """Coordinates to the decimals that can be seen, without needless blanks."""
    name, text = attribute.groups()
    text = NUMBER.sub(lambda number: f"{float(number.group()):.{DECIMALS}f}".rstrip("0").rstrip("."), text)
    text = re.sub(r"\s*([A-Za-z])\s*", r"\1", text) if name == "d" else text
    return f' {name}="{text.replace("-0 ", "0 ").strip()}"'


def _readable(element: re.Match[str]) -> str:
    """Words in the colour of a line are mixed with ink: a line may be paler than letters can be."""
    text = element.group()
    for color in (*PALETTE, ACCENT):
        text = text.replace(f"fill: {color}", f"fill: color-mix(in srgb, {color} 50%, var(--ink))")
    return text
