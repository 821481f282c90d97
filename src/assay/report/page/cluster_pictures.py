"""The pictures of a clustering: the map, the silhouettes, the choice of the number of groups, the tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from assay.display import kinds, plot, plot_selection, plot_silhouette
from assay.display.style import ACCENT, FAINT_INK, GRID, PALETTE
from assay.report.trials.cluster_comparison import CRITERIA, Clustering, ClusteringComparison
from assay.report.trials.comparison import Candidate, Comparison, final_step

OnAxes = Callable[[Any], Any]

OVERVIEW_CAPTION = (
    "Mean silhouette of the rows; the bar reaches two standard errors to each side. 1 means groups far "
    "apart, 0 groups that touch; one group has 0 by convention."
)

MODEL_PICTURES = {
    "dendrogram": "Which groups were joined, and how far apart they were; colours: the groups of the cut.",
    "tree": "How the rows were split, one group after the other, and what inertia each part has.",
    "condensed_tree": "Groups of rows as the density that is asked for grows; those marked are kept.",
    "restarts": "Each restart of the algorithm ends in a local minimum; the lowest is kept.",
}
"""Kinds of pictures of a fitted clusterer that the page shows beside its map, with their captions."""

MAP_CAPTION = "The rows in the plane that shows most of their spread, in the colours of their groups."


def overview_size(comparison: Comparison) -> tuple[float, float]:
    """Width and height of the picture of the leaderboard, in inches."""
    return 6.0, 0.8 + 0.36 * len(comparison.candidates)


def draw_overview(comparison: Comparison, ax: Any) -> None:
    """The leaderboard as a picture: silhouettes with their errors, and the number of groups."""
    candidates = comparison.candidates[::-1]
    for place, candidate in enumerate(candidates):
        color = ACCENT if candidate is comparison.recommended else PALETTE[0]
        error = 2 * candidate.standard_error
        ax.errorbar(candidate.score, place, xerr=error, fmt="o", color=color, capsize=3, markersize=7)
        if isinstance(candidate, Clustering):
            ax.annotate(
                _groups(candidate.n_groups),
                (candidate.score + error, place),
                xytext=(9, 0),
                textcoords="offset points",
                va="center",
                fontsize=9,
                color=FAINT_INK,
            )
    names = [
        f"{candidate.name} (recommended)" if candidate is comparison.recommended else candidate.name
        for candidate in candidates
    ]
    ax.set_yticks(range(len(candidates)), names)
    ax.set_ylim(-0.6, len(candidates) - 0.4)
    low, high = ax.get_xlim()
    ax.set_xlim(low, high + 0.14 * (high - low))
    ax.grid(axis="y", visible=False)
    ax.set_xlabel(comparison.score_name)


def of_clusters(comparison: Comparison, candidate: Candidate) -> Iterator[tuple[str, str, OnAxes]]:
    """Name, caption and drawing of each picture of a candidate; most of the recommended one."""
    assert isinstance(comparison, ClusteringComparison)
    assert isinstance(candidate, Clustering)
    if candidate.is_baseline and comparison.gap is not None:
        yield (
            "gap",
            "Whether there is more than one group: how far the inertia of k-means lies below that of rows "
            "drawn without groups. The first number that the next does not clearly exceed is chosen.",
            partial(_selection, comparison.gap, None),
        )
        return
    noise = " Grey marks are in no group." if candidate.n_noise else ""
    yield "map", MAP_CAPTION + noise, partial(_draw, candidate.model, comparison.data.X, "map")
    if candidate is comparison.recommended and candidate.widths is not None:
        yield (
            "silhouette",
            "One bar per row: how much nearer it is to its own group than to the next. Below 0 it is nearer "
            "to another; the dashed line is the mean.",
            partial(_widths, candidate),
        )
    if candidate is comparison.recommended and len(candidate.scan.values) > 1:
        yield "choice", _choice_caption(candidate), partial(draw_choice, comparison, candidate)
    for kind in model_kinds(candidate.model):
        yield kind, MODEL_PICTURES[kind], partial(_draw, candidate.model, comparison.data.X, kind)
    if hasattr(final_step(candidate.model), "eigenvalues_") and comparison.eigengap is not None:
        yield (
            "eigengap",
            "Least eigenvalues of the Laplacian of the graph of neighbours: as many as there are groups stay "
            "near 0; the widest gap is marked.",
            partial(_selection, comparison.eigengap, "eigenvalues"),
        )


def model_kinds(model: Any) -> tuple[str, ...]:
    """The kinds of pictures of a fitted clusterer that a page shows beside its map."""
    inside = final_step(model)
    there = set(kinds(inside))
    if len(getattr(inside, "restart_inertias_", ())) < 2:
        there.discard("restarts")
    return tuple(kind for kind in MODEL_PICTURES if kind in there)


def draw_choice(comparison: ClusteringComparison, candidate: Clustering, ax: Any) -> None:
    """The silhouette by the values of the main parameter, with a second measure and other choices."""
    scan, at = candidate.scan, candidate.scan.place
    sizes = scan.parameter == "min_cluster_size"
    second = scan.curve("n_noise") / len(candidate.predictions) if sizes else scan.curve("explained")
    silhouettes = scan.curve("silhouette")
    ax.plot(scan.values, second, "o-", color=PALETTE[2], markersize=4)
    error = 2 * scan.curve("standard_error")
    ax.errorbar(scan.values, silhouettes, error, fmt="o-", color=PALETTE[0], capsize=3, markersize=5)
    ax.plot(scan.values[at], silhouettes[at], "o", color=ACCENT, markersize=9, zorder=5)
    for name, value, color in (
        ("rows in no group" if sizes else "explained share", second[-1], PALETTE[2]),
        ("silhouette", silhouettes[-1], PALETTE[0]),
    ):
        ax.annotate(
            name,
            (scan.values[-1], value),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=color,
            fontsize=9,
        )
    if sizes:
        ax.set_xscale("log", base=2)
        ax.minorticks_off()
    else:
        _draw_votes(comparison, candidate, ax)
    ax.set_xticks(scan.values, [str(value) for value in scan.values])
    ax.set(
        xlabel="least rows of a group" if sizes else "number of groups",
        title=f"the silhouette chooses {scan.values[at]}",
    )


def votes(comparison: ClusteringComparison, candidate: Clustering) -> dict[str, int]:
    """Number of groups that each further criterion chooses, by its name."""
    chosen = {
        words: candidate.scan.choice_of(name) for name, words in CRITERIA.items() if name != "silhouette"
    }
    for words, selection in (("gap", comparison.gap), ("eigengap", comparison.eigengap)):
        chosen[words] = None if selection is None else int(selection.best)
    return {words: number for words, number in chosen.items() if number is not None}


def _draw_votes(comparison: ClusteringComparison, candidate: Clustering, ax: Any) -> None:
    """The further criteria below the curves: a line each, with a mark at the number that it chooses."""
    chosen = votes(comparison, candidate)
    low, high = ax.get_ylim()
    room = 0.085 * (high - low)
    last = candidate.scan.values[-1]
    for line, (name, number) in enumerate(chosen.items(), start=1):
        height = low - line * room
        ax.plot([min(2, *chosen.values()), last], [height] * 2, color=GRID, linewidth=0.8, zorder=1)
        ax.plot(number, height, "D", color=FAINT_INK, markersize=4.5)
        ax.annotate(
            name,
            (last, height),
            xytext=(9, 0),
            textcoords="offset points",
            va="center",
            color=FAINT_INK,
            fontsize=9,
        )
    ax.set_ylim(low - (len(chosen) + 0.7) * room, high)
    ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])


def _choice_caption(candidate: Clustering) -> str:
    if candidate.scan.parameter == "min_cluster_size":
        return "Silhouette, by which the least size of a group is chosen, and share of rows in no group."
    return (
        "Silhouette, by which the number of groups is chosen, and explained share of the variance. Below: "
        "what other criteria choose."
    )


def _draw(model: Any, X: Any, kind: str, ax: Any) -> None:
    plot(model, None if kind == "restarts" else X, ax=ax, kind=kind)


def _selection(selection: Any, kind: str | None, ax: Any) -> None:
    plot_selection(selection, kind=kind, ax=ax)


def _widths(candidate: Clustering, ax: Any) -> None:
    assert candidate.widths is not None
    plot_silhouette(candidate.widths, ax=ax)


def _groups(number: int) -> str:
    return "no groups" if number == 0 else ("1 group" if number == 1 else f"{number} groups")
