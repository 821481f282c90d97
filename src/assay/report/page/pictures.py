"""The pictures of a report, as SVG that follows the colours of the page."""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.display import house_style
from assay.display._style import ACCENT, FAINT_INK, PALETTE
from assay.report.page.alternative import describe
from assay.report.page.cluster_pictures import OVERVIEW_CAPTION, draw_overview, of_clusters, overview_size
from assay.report.page.prediction_pictures import of_classes, of_regression
from assay.report.page.svg import embed
from assay.report.trials.comparison import Candidate, Comparison, plus_minus

OnAxes = Callable[[Any], Any]

RASTER_DPI = 110
"""Of what is drawn as points of colour: clouds of many rows, shaded maps."""


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
    words = f"{comparison.score_name[0].upper()}{comparison.score_name[1:]} of each method: {scores}."
    if comparison.task == "clustering":
        size = overview_size(comparison)
        return draw(
            lambda ax: draw_overview(comparison, ax), OVERVIEW_CAPTION, "overview", size=size, words=words
        )
    meaning = (
        "1 is perfect, 0 no better than the mean."
        if comparison.task == "regression"
        else "1 is perfect; the baseline always names the commonest class."
    )
    caption = (
        f"Mean {comparison.score_name} over the splits; the bar reaches two standard errors to each side, "
        f"faint dots are the splits. {meaning}"
    )
    size = (6.0, 0.8 + 0.36 * len(comparison.candidates))
    return draw(lambda ax: _draw_scores(comparison, ax), caption, "overview", size=size, words=words)


def pictures(comparison: Comparison, candidate: Candidate, key: str) -> Iterator[Picture]:
    """The pictures of one candidate; `key` makes the names inside the SVG unique on the page."""
    parts = {"clustering": of_clusters, "regression": of_regression, "classification": of_classes}
    for name, caption, on_axes in parts[comparison.task](comparison, candidate):
        yield draw(on_axes, caption, f"{key}-{name}")


def draw(
    on_axes: OnAxes,
    caption: str,
    key: str,
    *,
    size: tuple[float, float] = (5.6, 3.9),
    words: str = "",
) -> Picture:
    """Draw a picture for the page.

    Parameters
    ----------
    on_axes : callable
        Draws on the axes that it is given.
    caption : str
        The sentence below.
    key : str
        Makes the ids inside different from those of other pictures on the page.
    size : pair of float, default=(5.6, 3.9)
        Width and height in inches.
    words : str, optional
        What the picture shows; told from what is drawn by default.

    Examples
    --------
    >>> from assay.report.page.pictures import draw
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
        splits = np.full(candidate.scores.size, place)
        ax.plot(candidate.scores, splits, "o", color=color, alpha=0.3, markersize=4.5)
        ax.errorbar(
            candidate.score,
            place,
            xerr=2 * candidate.standard_error,
            fmt="o",
            color=color,
            capsize=3,
            markersize=7,
        )
    if comparison.task == "regression":
        ax.axvline(0.0, color=FAINT_INK, linewidth=0.9)
    names = [
        f"{candidate.name} (recommended)" if candidate is comparison.recommended else candidate.name
        for candidate in candidates
    ]
    ax.set_yticks(range(len(candidates)), names)
    ax.set_ylim(-0.6, len(candidates) - 0.4)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(comparison.score_name)
