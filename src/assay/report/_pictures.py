"""The pictures of a report, as SVG that follows the colours of the page."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.display import ClassEvidence, PredictionsDisplay, ResidualsDisplay, house_style, plot
from assay.display._style import ACCENT, FAINT_INK, GRID, INK, PALETTE
from assay.report._comparison import Candidate, Comparison

PATH_ROWS = 2000
"""Paths of kernel machines need all pairs of rows: drawn up to this many rows only."""


@dataclass(frozen=True)
class Picture:
    """A picture and the sentence below it."""

    svg: str
    caption: str


def overview(comparison: Comparison) -> Picture:
    """The leaderboard as a picture."""
    if comparison.task == "clustering":
        caption = (
            "Silhouette (the choice goes by it) and explained share of the variance, by number of clusters."
        )
        return _picture(lambda ax: _draw_sizes(comparison, ax), caption, "overview", size=(6.4, 2.7))
    shown = len(comparison.candidates)
    meaning = (
        "1 is perfect, 0 no better than the mean."
        if comparison.task == "regression"
        else "1 is perfect; the baseline always names the commonest class."
    )
    caption = (
        f"Mean {comparison.score_name} over the splits; the bar reaches two standard errors to each side, "
        f"faint dots are the splits. {meaning}"
    )
    return _picture(
        lambda ax: _draw_scores(comparison, ax), caption, "overview", size=(6.4, 0.8 + 0.42 * shown)
    )


def pictures(comparison: Comparison, candidate: Candidate, key: str) -> Iterator[Picture]:
    """The pictures of one candidate; `key` makes the names inside the SVG unique on the page."""
    draw = {"clustering": _of_clusters, "regression": _of_regression, "classification": _of_classes}
    for name, caption, on_axes in draw[comparison.task](comparison, candidate):
        yield _picture(on_axes, caption, f"{key}-{name}")


OnAxes = Callable[[Any], Any]
Drawn = Iterator[tuple[str, str, OnAxes]]
"""Name, caption and drawing of each picture."""


def _of_clusters(comparison: Comparison, candidate: Candidate) -> Drawn:
    data = comparison.data
    yield (
        "map",
        "The rows in the plane that shows most of their spread; shading: the nearest centre there.",
        lambda ax: plot(candidate.model, data.X, ax=ax),
    )
    if candidate is comparison.best:
        yield (
            "restarts",
            "Each restart of the algorithm ends in a local minimum; the lowest is kept.",
            lambda ax: plot(candidate.model, ax=ax, kind="restarts"),
        )


def _of_regression(comparison: Comparison, candidate: Candidate) -> Drawn:
    data = comparison.data
    assert data.y is not None
    yield (
        "predictions",
        "Each row predicted by a model that has not seen it; on the dashed line the prediction is right. "
        "R² here is over all rows at once.",
        PredictionsDisplay(data.y, candidate.predictions, "predicted, out of fold").plot,
    )
    if not candidate.is_baseline:
        yield (
            "residuals",
            "What the out-of-fold predictions miss; a pattern here is something the model does not see.",
            ResidualsDisplay(data.y, candidate.predictions).plot,
        )
    yield from _of_the_model(comparison, candidate)


def _of_classes(comparison: Comparison, candidate: Candidate) -> Drawn:
    data = comparison.data
    assert data.y is not None
    evidence = ClassEvidence(
        data.y, candidate.predictions, candidate.probabilities, data.labels, data.classes
    )
    yield (
        "confusion",
        "Each row classified by a model that has not seen it: the diagonal is right.",
        lambda ax: evidence.plot("confusion", ax=ax),
    )
    if candidate.is_baseline:
        return
    if candidate.probabilities is not None:
        for kind, caption in PROBABILITY_PICTURES.items():
            yield kind, caption, _evidence(evidence, kind)
    yield from _of_the_model(comparison, candidate)


def _evidence(evidence: ClassEvidence, kind: str) -> OnAxes:
    return lambda ax: evidence.plot(kind, ax=ax)


PROBABILITY_PICTURES = {
    "roc": "True against false alarms as the threshold moves, out of fold; the dashed line is guessing.",
    "precision_recall": "How many of the rows named are right, against how many of the right rows are named; "
    "dashed: naming at random.",
    "calibration": "Whether rows given a probability turn out that often, out of fold; dashed: they do.",
}

MODEL_PICTURES = {
    "map": "The rows in the plane of their first two principal axes, and the class the model names there.",
    "curve": "The fitted function of the standardised column, and the rows.",
    "path": "Coefficients as the penalty grows; the dashed line is the choice.",
    "effects": "What each column adds to the prediction.",
    "leave_one_out": "Error of predicting each row from all others, by penalty.",
    "coefficients": "Change for one standard deviation more in each column.",
}

KINDS: dict[str, tuple[str, ...]] = {
    "LinearRegression": ("coefficients",),
    "Ridge": ("path", "leave_one_out", "coefficients"),
    "Lasso": ("path", "coefficients"),
    "HuberRegressor": ("coefficients",),
    "SplineRegression": ("effects",),
    "LogisticRegression": ("map", "coefficients"),
    "LinearSVC": ("map", "coefficients"),
}


def _of_the_model(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Pictures of the model that was fitted on all rows."""
    data = comparison.data
    kinds = list(KINDS.get(candidate.name, ()))
    if candidate.name == "KernelRidge":
        kinds += ["curve"] if len(candidate.model[0].feature_names_out_) == 1 else []
        kinds += ["leave_one_out"] if len(data.X) <= PATH_ROWS else []
    for kind in kinds:
        yield kind, MODEL_PICTURES[kind], _on_axes(candidate.model, data.X, data.y, kind)


def _on_axes(model: Any, X: Any, y: Any, kind: str) -> OnAxes:
    return lambda ax: plot(model, X, y, ax=ax, kind=kind)


def _draw_scores(comparison: Comparison, ax: Any) -> None:
    candidates = comparison.candidates[::-1]
    for place, candidate in enumerate(candidates):
        color = ACCENT if candidate is comparison.recommended else PALETTE[0]
        ax.plot(
            candidate.scores,
            np.full(candidate.scores.size, place),
            "o",
            color=color,
            alpha=0.3,
            markersize=4.5,
        )
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
    ax.set_yticks(range(len(candidates)), [candidate.name for candidate in candidates])
    ax.set_ylim(-0.6, len(candidates) - 0.4)
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(comparison.score_name)


def _draw_sizes(comparison: Comparison, ax: Any) -> None:
    ordered = sorted(comparison.candidates, key=lambda candidate: candidate.parameters["n_clusters"])
    sizes = [candidate.parameters["n_clusters"] for candidate in ordered]
    explained = [candidate.measures["explained"] for candidate in ordered]
    ax.plot(sizes, explained, "o-", color=PALETTE[2], markersize=4)
    ax.errorbar(
        sizes,
        [candidate.score for candidate in ordered],
        yerr=[2 * candidate.standard_error for candidate in ordered],
        fmt="o-",
        color=PALETTE[0],
        capsize=3,
        markersize=5,
    )
    best = comparison.best
    ax.plot(best.parameters["n_clusters"], best.score, "o", color=ACCENT, markersize=9, zorder=5)
    for name, value, color in (
        ("explained share", explained[-1], PALETTE[2]),
        ("silhouette", ordered[-1].score, PALETTE[0]),
    ):
        ax.annotate(
            name,
            (sizes[-1], value),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontsize=9,
        )
    ax.set_xticks(sizes)
    ax.set_xlabel("number of clusters")


def _picture(
    draw: Callable[[Any], Any], caption: str, key: str, size: tuple[float, float] = (5.6, 3.9)
) -> Picture:
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with house_style(), warnings.catch_warnings():
        # A letter that the font lacks shows as a box; that is no reason to speak on the error stream.
        warnings.filterwarnings("ignore", message="Glyph .* missing", category=UserWarning)
        layout = ConstrainedLayoutEngine()
        figure = Figure(figsize=size, layout=layout)
        FigureCanvasSVG(figure)
        ax = figure.subplots()
        draw(ax)
        title = ax.get_title()
        ax.set_title("")
        ax.set_title(title, loc="left")
        # Laid out once: saving with the layout engine on would draw everything twice.
        layout.execute(figure)
        figure.set_layout_engine("none")
        text = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(text, format="svg", dpi=110, transparent=True, metadata=nothing)
    return Picture(_embed(text.getvalue(), caption, key), caption)


def _embed(svg: str, label: str, key: str) -> str:
    """Make an SVG file a part of a page: no prologue, unique ids, the colours of the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\sxmlns(:\w+)?="[^"]*"', "", svg)
    svg = re.sub(r'\b(id="|xlink:href="#|url\(#)', rf"\g<1>{key}-", svg)
    view = re.search(r'viewBox="[^"]*"', svg)
    attributes = f'{view.group() if view else ""} role="img" aria-label="{label.replace(chr(34), chr(39))}"'
    svg = re.sub(r"<svg[^>]*>", f"<svg {attributes}>", svg, count=1)
    for color, variable in ((INK, "--ink"), (FAINT_INK, "--faint"), (GRID, "--grid")):
        svg = svg.replace(color, f"var({variable})")
    return re.sub(r"\n\s*", "\n", svg)
