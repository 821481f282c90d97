"""What a picture shows, in words, for those who do not see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from assay.report.trials.wording import shown

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
    sentences = [title, *_images(ax), *_bars(ax), *_lines(ax), *_points(ax), *_words(ax)]
    named = bool(_named_ticks(ax.yaxis)), bool(_named_ticks(ax.xaxis))
    if not named[1]:
        sentences.append(_axis("Horizontal", ax.get_xlabel(), ax.get_xlim()))
    if not named[0]:
        sentences.append(_axis("Vertical", ax.get_ylabel(), ax.get_ylim()))
    return " ".join(f"{_plain(sentence).rstrip('.')}." for sentence in sentences if sentence)


def _plain(text: str) -> str:
    """Words without line breaks and without the escape of a dollar sign."""
    return " ".join(text.replace(r"\$", "$").split())


def _axis(side: str, label: str, limits: tuple[float, float]) -> str:
    low, high = (shown(float(limit), 3) for limit in limits)
    return f"{side} axis{': ' + label + ',' if label else ''} from {low} to {high}"


def _named_ticks(axis: Any) -> dict[float, str]:
    """Names of the ticks that stand for things, not for numbers, by place."""
    from matplotlib.category import StrCategoryFormatter
    from matplotlib.ticker import FixedFormatter, FuncFormatter

    formatter = axis.get_major_formatter()
    if not isinstance(formatter, FixedFormatter | FuncFormatter | StrCategoryFormatter):
        return {}
    places = axis.get_majorticklocs()
    names = formatter.format_ticks(places)
    if all(_is_number(name) for name in names):
        return {}
    return {float(place): name for place, name in zip(places, names, strict=True) if name}


def _is_number(name: str) -> bool:
    try:
        float(name.replace("−", "-").replace(",", "") or "0")
    except ValueError:
        return False
    return True


def _images(ax: Any) -> Iterator[str]:
    for image in ax.get_images():
        rows, columns = image.get_array().shape[:2]
        if rows * columns <= 400:
            yield f"A grid of {rows} by {columns} cells"
        else:
            yield "Coloured areas"


def _bars(ax: Any) -> Iterator[str]:
    for container in ax.containers:
        bars = getattr(container, "patches", ())
        if not bars:
            continue
        upright = container.orientation == "vertical"
        names = _named_ticks(ax.xaxis if upright else ax.yaxis)
        values = [float(bar.get_height() if upright else bar.get_width()) for bar in bars]
        middles = [
            bar.get_x() + bar.get_width() / 2 if upright else bar.get_y() + bar.get_height() / 2
            for bar in bars
        ]
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
    clouds += [
        np.size(line.get_xdata())
        for line in ax.get_lines()
        if line.get_linestyle() in ("None", "", " ") and line.get_marker() not in ("None", "", " ", None)
    ]
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
