"""The pictures of a report: SVG that follows the colours of the page, and what it shows in words."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import suppress
from html import escape
from itertools import groupby
from textwrap import fill
from typing import Any, NamedTuple

import numpy as np

from assay.display import house_style
from assay.display.style import FAINT_INK, GRID, GROUND, INK
from assay.report.page.model_pictures import WIDTH, OnAxes, of_classes, of_clusters, of_regression
from assay.report.trials.candidate import Candidate
from assay.report.trials.comparison import Comparison
from assay.report.wording import shown

RASTER_DPI = 110
"""Of what is drawn as points of colour: clouds of many rows, shaded maps."""


class Picture(NamedTuple):
    """A picture and the sentence below it; what it shows is told inside, in words."""

    svg: str
    caption: str
    basis: str = ""  # which rows it shows: "Out of fold", "Training rows"
    wide: bool = False  # whether it has the whole width for itself
    high: bool = False  # whether it reaches beside two pictures below each other


def pictures(comparison: Comparison, candidate: Candidate, key: str) -> Iterator[Picture]:
    """The pictures of one candidate; `key` makes the names inside the SVG unique on the page."""
    parts = {"clustering": of_clusters, "regression": of_regression, "classification": of_classes}
    for part in parts[comparison.task](comparison, candidate):
        size = WIDE if part.wide else (WIDTH, part.high) if part.high else SIZE
        picture = draw(part.on_axes, part.caption, f"{key}-{part.name}", size=size, basis=part.basis)
        yield picture._replace(wide=part.wide, high=bool(part.high))


SIZE, WIDE = (WIDTH, 2.15), (11.0, 3.4)
"""Inches of a picture, and of one with the width of the page.

The first is so narrow that its letters are read on a phone.
"""

LETTERS_PER_INCH = 12.5
"""Of a title: longer ones go on in a second line."""


def _letters(size: tuple[float, float]) -> int:
    """Letters that stand above a picture."""
    return int(LETTERS_PER_INCH * size[0])


LETTERS: Any = {
    "font.size": 9.0, "axes.titlesize": 9.5, "axes.labelsize": 9.0, "xtick.labelsize": 8.8,
    "ytick.labelsize": 8.8, "legend.fontsize": 8.8, "legend.title_fontsize": 8.5, "axes.titlepad": 7.0,
}  # fmt: skip
"""Sizes of the letters of a small picture."""


def draw(
    on_axes: OnAxes,
    caption: str,
    key: str,
    *,
    size: tuple[float, float] = SIZE,
    words: str = "",
    basis: str = "",
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
    with house_style(LETTERS), matplotlib.rc_context(letters), warnings.catch_warnings():
        # A letter that matplotlib's font lacks is measured as a box; the page shows the letter.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=size, layout=layout, dpi=RASTER_DPI)
        canvas = FigureCanvasSVG(figure)
        ax = figure.subplots()
        on_axes(ax)
        for axis in (ax.xaxis, ax.yaxis):
            write_plainly(axis)
        told = words or describe(ax)
        # The title stands at the left edge of the picture, in lines that it has room for.
        title = fill(ax.get_title(), _letters(size))
        ax.set_title("")
        look: Any = {"x": 0.01, "ha": "left", "fontweight": "bold", "fontsize": LETTERS["axes.titlesize"]}
        figure.suptitle(title, **look)
        for ground in (figure.patch, *(part.patch for part in figure.axes)):
            ground.set_visible(False)
        # Laid out once, drawn once: `savefig` would draw everything twice.
        layout.execute(figure)
        below = ax.xaxis.label.get_window_extent()
        if below.x0 < 0 or below.x1 > figure.bbox.x1:  # too long for one line
            ax.set_xlabel(fill(ax.get_xlabel(), int(0.7 * _letters(size))))
            layout.execute(figure)
        figure.set_layout_engine("none")
        text = io.StringIO()
        canvas.print_svg(text, metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    return Picture(embed(text.getvalue(), told or caption, key), caption, basis)


def write_plainly(axis: Any) -> None:
    """Let the numbers along an axis be few, and written as everywhere on the page: "200,000", not 2."""
    from matplotlib.ticker import AutoLocator, FixedLocator, FuncFormatter, LogLocator, ScalarFormatter

    numbers, locator = axis.get_major_formatter(), axis.get_major_locator()
    if isinstance(locator, LogLocator) and (ticks := _ticks_of_powers(*axis.get_view_interval())):
        axis.set_major_locator(FixedLocator(_few(ticks, axis)))
        axis.set_minor_locator(FixedLocator([]))
    elif not isinstance(numbers, ScalarFormatter) or axis.get_scale() != "linear":
        return
    elif isinstance(locator, AutoLocator):
        locator.set_params(nbins=_room_for(axis, axis.get_view_interval()))
    axis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))


def _tick(value: float) -> str:
    return shown(0.0 if abs(value) < SMALLEST else value)


SMALLEST = 1e-200
"""A number nearer to zero on an axis is zero."""

TICK_LETTERS, MOST_TICKS = 11.0, 4
"""Letters of numbers below an inch of a picture, the blanks between them included; steps between ticks."""


def _room_for(axis: Any, values: Any) -> int:
    """How many steps there may be between the numbers of an axis, so that these keep apart."""
    if axis.axis_name != "x":
        return MOST_TICKS
    widest = max(len(_tick(float(value))) for value in values)
    room = TICK_LETTERS * (axis.get_figure(root=True).get_figwidth() - 0.9)
    return int(np.clip(room / (widest + 2), 2, MOST_TICKS))


def _ticks_of_powers(low: float, high: float) -> list[float]:
    """Ones, twos and fives of powers of ten on an axis of two or fewer powers; none of a longer one."""
    if not 0 < low < high < 300 * low:
        return []
    powers = range(int(np.floor(np.log10(low))), int(np.ceil(np.log10(high))) + 1)
    ticks = [digit * 10.0**power for power in powers for digit in (1, 2, 5)]
    return [tick for tick in ticks if low <= tick <= high]


def _few(ticks: Sequence[float], axis: Any) -> list[float]:
    """Every so many of them."""
    step = -(-len(ticks) // (_room_for(axis, ticks) + 1))
    return [*ticks[step // 2 :: step]]


DECIMALS = 2
"""Of a point of the picture, which is less than a pixel wide."""

PAGE_COLORS = ((INK, "--ink"), (FAINT_INK, "--faint"), (GRID, "--grid"), (GROUND, "--card"))
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


# Colours of letters, but for those that the page itself gives.
FILL = re.compile(rf"fill: (#(?!{INK[1:]}|{FAINT_INK[1:]}|{GRID[1:]}|{GROUND[1:]})[0-9a-f]{{6}})")


def _readable(element: re.Match[str]) -> str:
    """Words in the colour of a line are mixed with ink: a line may be paler than letters can be."""
    return FILL.sub(r"fill: color-mix(in srgb, \1 50%, var(--ink))", element.group())


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
