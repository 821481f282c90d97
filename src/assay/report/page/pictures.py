"""The pictures of a report: SVG that follows the colours of the page, and what it shows in words."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from html import escape
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from assay.display import house_style
from assay.display.style import ACCENT, FAINT_INK, GRID, INK, PALETTE, write_beside
from assay.report.page.model_pictures import of_classes, of_clusters, of_regression
from assay.report.trials.clustering import Clustering
from assay.report.trials.comparison import Candidate, Comparison
from assay.report.trials.wording import capital, plus_minus, shown

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


class Picture(NamedTuple):
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
    chosen = comparison.recommended
    names = [f"{item.name} (recommended)" if item is chosen else item.name for item in candidates]
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
    svg = re.sub(r'\sid="([^"]*)"', lambda mark: f' id="{short[mark[1]]}"' if mark[1] in used else "", svg)
    svg = re.sub(r'xlink:href="#([^"]*)"', lambda mark: f'href="#{short[mark[1]]}"', svg)
    svg = re.sub(r"url\(#([^)]*)\)", lambda mark: f"url(#{short[mark[1]]})", svg)
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


MAX_NAMED = 12
"""Bars, lines and words that are named one by one; more are counted."""


def describe(ax: Any) -> str:
    """Tell what is drawn on axes: the title, the marks with their values, and the axes with their range.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> ax = Figure().subplots()
    >>> _ = ax.barh(["bmi", "age"], [3.0, -1.5])
    >>> _ = ax.set(xlim=(-2, 4), xlabel="coefficient")
    >>> describe(ax)
    'Bars: bmi 3, age −1.5. Horizontal axis: coefficient, from −2 to 4.'
    """
    title = ax.get_title("left") or ax.get_title()
    images = [image.get_array().shape for image in ax.get_images()]
    sentences = [
        title,
        *(f"A grid of {n} by {m} cells" if n * m <= 400 else "Coloured areas" for n, m, *_ in images),
        *_bars(ax),
        *_lines(ax),
        *_points(ax),
        *_words(ax),
    ]
    for side, axis, limits in (
        ("Horizontal", ax.xaxis, ax.get_xlim()),
        ("Vertical", ax.yaxis, ax.get_ylim()),
    ):
        if not _named_ticks(axis):
            label, low, high = axis.get_label_text(), *(shown(float(limit), 3) for limit in limits)
            sentences.append(f"{side} axis{f': {label},' if label else ''} from {low} to {high}")
    return " ".join(f"{_plain(sentence).rstrip('.')}." for sentence in sentences if sentence)


def _plain(text: str) -> str:
    """Words without line breaks and without the escape of a dollar sign."""
    return " ".join(text.replace(r"\$", "$").split())


def _named_ticks(axis: Any) -> dict[float, str]:
    """Names of the ticks that stand for things, not for numbers, by place."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    formatter = axis.get_major_formatter()
    if not isinstance(formatter, FixedFormatter | FuncFormatter | StrCategoryFormatter):
        return {}
    places = axis.get_majorticklocs()
    names = formatter.format_ticks(places)
    with suppress(ValueError):
        for name in names:
            float(name.replace("−", "-").replace(",", "") or "0")
        return {}
    return {float(place): name for place, name in zip(places, names, strict=True) if name}


def _bars(ax: Any) -> Iterator[str]:
    for container in ax.containers:
        bars = getattr(container, "patches", ())
        if not bars:
            continue
        upright = container.orientation == "vertical"
        names = _named_ticks(ax.xaxis if upright else ax.yaxis)
        values = [float(bar.get_height() if upright else bar.get_width()) for bar in bars]
        middles = [bar.get_center()[0 if upright else 1] for bar in bars]
        told = [names.get(round(float(middle), 6), "") for middle in middles]
        if len(bars) <= MAX_NAMED and all(told):
            listed = (f"{name} {shown(value, 3)}" for name, value in zip(told, values, strict=True))
            yield f"Bars: {', '.join(listed)}"
        else:
            yield f"{len(bars)} bars, from {shown(min(values), 3)} to {shown(max(values), 3)}"


def _lines(ax: Any) -> Iterator[str]:
    """Curves: where each begins and ends; straight helping lines of two points are left out."""
    curves = []
    for line in ax.get_lines():
        heights = np.asarray(line.get_ydata(), dtype=float)
        heights = heights[np.isfinite(heights)]
        if line.get_linestyle() in ("None", "", " ") or heights.size < 3:
            continue
        label = str(line.get_label())
        name = "" if label.startswith("_") else f"{label} "
        curves.append(f"{name}from {shown(heights[0], 3)} to {shown(heights[-1], 3)}")
    if 0 < len(curves) <= MAX_NAMED:
        yield f"{'Curve' if len(curves) == 1 else 'Curves'}, left to right: {'; '.join(curves)}"
    elif curves:
        yield f"{len(curves)} curves"


def _points(ax: Any) -> Iterator[str]:
    from matplotlib.collections import PathCollection

    scattered = [part for part in ax.collections if isinstance(part, PathCollection)]
    clouds = [len(np.asarray(part.get_offsets())) for part in scattered]
    unseen = ("None", "", " ", None)
    dots = [line for line in ax.get_lines() if line.get_linestyle() in unseen]
    clouds += [np.size(line.get_xdata()) for line in dots if line.get_marker() not in unseen]
    if sum(clouds) > 1:
        groups = f" in {len(clouds)} groups" if 1 < len(clouds) <= MAX_NAMED else ""
        yield f"{sum(clouds):,} points{groups}"


def _words(ax: Any) -> Iterator[str]:
    """Labels beside the marks, and the legend."""
    words = [text.get_text() for text in ax.texts if text.get_text().strip()]
    legend = ax.get_legend()
    if legend is not None:
        words += [text.get_text() for text in legend.get_texts()]
    if 0 < len(words) <= 2 * MAX_NAMED:
        yield f"Labels: {', '.join(_plain(word) for word in words)}"
