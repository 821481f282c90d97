"""The pictures of a report, as SVG that follows the colours of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

import numpy as np

from assay.display import house_style
from assay.display.style import ACCENT, FAINT_INK, GRID, INK, PALETTE, write_beside
from assay.report.page.alternative import describe
from assay.report.page.model_pictures import of_classes, of_clusters, of_regression
from assay.report.trials.clustering import Clustering
from assay.report.trials.comparison import Candidate, Comparison
from assay.report.trials.wording import capital, plus_minus

OnAxes = Callable[[Any], Any]

RASTER_DPI = 110
"""Of what is drawn as points of colour: clouds of many rows, shaded maps."""


SPLITS = (
    "Mean {score} over the splits; the bar reaches two standard errors to each side, faint dots are the "
    "splits. "
)
OVERVIEW = {
    "regression": f"{SPLITS}1 is perfect, 0 no better than the mean.",
    "classification": f"{SPLITS}1 is perfect; the baseline always names the commonest class.",
    "clustering": "Mean silhouette of the rows; the bar reaches two standard errors to each side. 1 means "
    "groups far apart, 0 groups that touch; one group has 0 by convention.",
}
"""What is said below the leaderboard as a picture, by task."""


@dataclass(frozen=True)
class Picture:
    """A picture and the sentence below it; what it shows is told inside, in words."""

    svg: str
    caption: str


def overview(comparison: Comparison) -> Picture:
    """The leaderboard as a picture."""
    scores = "; ".join(
        f"{candidate.name} {plus_minus(candidate.score, candidate.standard_error)}"
        for candidate in comparison.candidates
    )
    words = f"{capital(comparison.score_name)} of each method: {scores}."
    caption = OVERVIEW[comparison.task].format(score=comparison.score_name)
    size = (6.0, 0.8 + 0.36 * len(comparison.candidates))
    return draw(lambda ax: _draw_scores(comparison, ax), caption, "overview", size=size, words=words)


def pictures(comparison: Comparison, candidate: Candidate, key: str) -> Iterator[Picture]:
    """The pictures of one candidate; `key` makes the names inside the SVG unique on the page."""
    parts = {"clustering": of_clusters, "regression": of_regression, "classification": of_classes}
    for name, caption, on_axes in parts[comparison.task](comparison, candidate):
        yield draw(on_axes, caption, f"{key}-{name}")


def draw(
    on_axes: OnAxes, caption: str, key: str, *, size: tuple[float, float] = (5.6, 3.9), words: str = ""
) -> Picture:
    """Draw a picture for the page.

    Examples
    --------
    >>> picture = draw(lambda ax: ax.plot([0, 1, 2], [0, 1, 4]), "Squares.", "squares")
    >>> 'aria-label="Curve, left to right: from 0 to 4. ' in picture.svg
    True
    """
    import matplotlib
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    # Texts stay texts: in the letters of the page, which has those of every language, and to be searched.
    letters: Any = {"svg.fonttype": "none", "svg.hashsalt": key}
    with house_style(), matplotlib.rc_context(letters), warnings.catch_warnings():
        # A letter that matplotlib's font lacks is measured as a box; the page shows the letter.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=size, layout=layout, dpi=RASTER_DPI)
        canvas = FigureCanvasSVG(figure)
        ax = figure.subplots()
        on_axes(ax)
        title = ax.get_title()
        ax.set_title("")
        ax.set_title(title, loc="left")
        for ground in (figure.patch, *(part.patch for part in figure.axes)):
            ground.set_visible(False)
        # Laid out once, drawn once: `savefig` would draw everything twice.
        layout.execute(figure)
        figure.set_layout_engine("none")
        text = io.StringIO()
        canvas.print_svg(text, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
        told = words or describe(ax)
    return Picture(embed(text.getvalue(), told or caption, key), caption)


def _draw_scores(comparison: Comparison, ax: Any) -> None:
    candidates = comparison.candidates[::-1]
    for place, candidate in enumerate(candidates):
        color = ACCENT if candidate is comparison.recommended else PALETTE[0]
        error = 2 * candidate.standard_error
        if comparison.task != "clustering":
            splits = np.full(candidate.scores.size, place)
            ax.plot(candidate.scores, splits, "o", color=color, alpha=0.3, markersize=4.5)
        ax.errorbar(candidate.score, place, xerr=error, fmt="o", color=color, capsize=3, markersize=7)
        if isinstance(candidate, Clustering):
            count = candidate.n_groups
            words = "no groups" if count == 0 else "1 group" if count == 1 else f"{count} groups"
            write_beside(words, (candidate.score + error, place), ax, color=FAINT_INK)
    if comparison.task == "regression":
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
    names = [
        f"{candidate.name} (recommended)" if candidate is comparison.recommended else candidate.name
        for candidate in candidates
    ]
    ax.set_yticks(range(len(candidates)), names)
    ax.set_ylim(-0.6, len(candidates) - 0.4)
    if comparison.task == "clustering":
        low, high = ax.get_xlim()
        ax.set_xlim(low, high + 0.14 * (high - low))
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(comparison.score_name)


DECIMALS = 2
"""Of a point of the picture, which is less than a pixel wide."""

PAGE_COLORS = ((INK, "--ink"), (FAINT_INK, "--faint"), (GRID, "--grid"))
"""Colours of the house that the page gives, light or dark."""

NUMBER = re.compile(r"-?\d+\.\d+")
USE = re.compile(r'<use xlink:href="#([^"]*)" x="([^"]*)" y="([^"]*)"(?: style="([^"]*)")?/>\s*')
USES = re.compile(rf"(?:{USE.pattern}){{2,}}")


def embed(svg: str, label: str, key: str) -> str:
    """Make an SVG file of matplotlib a part of a page.

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
