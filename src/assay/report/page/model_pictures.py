"""The pictures of one model: how its predictions fare out of fold, what it has learnt, its groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.display import (
    CalibrationDisplay,
    ConfusionDisplay,
    PrecisionRecallDisplay,
    PredictionsDisplay,
    ResidualsDisplay,
    RocCurveDisplay,
    SelectionDisplay,
    kinds,
    plot,
    plot_selection,
    plot_silhouette,
)
from assay.display.style import ACCENT, FAINT_INK, GRID, PALETTE, write_beside
from assay.report.tables.data import Data
from assay.report.trials.clustering import CRITERIA, Clustering, ClusteringComparison
from assay.report.trials.comparison import Candidate, Comparison, final_step
from assay.report.trials.stacking import WeightedEnsemble

ALL_PAIRS_ROWS = 2000
"""Pictures of methods that need all pairs of rows fit them again and again: drawn up to so many rows."""

OnAxes = Callable[[Any], Any]
Drawn = Iterator[tuple[str, str, OnAxes]]
"""Name, caption and drawing of each picture."""

PROBABILITY_PICTURES = {
    "roc": (
        RocCurveDisplay,
        "True against false alarms as the threshold moves, out of fold; the dashed line is guessing.",
    ),
    "precision_recall": (
        PrecisionRecallDisplay,
        "How many of the rows named are right, against how many of the right rows are named; dashed: naming "
        "at random.",
    ),
    "calibration": (
        CalibrationDisplay,
        "Whether rows given a probability turn out that often, out of fold; dashed: they do.",
    ),
}

SELECTION = (
    "Error on rows left out of the fit, by penalty; the dashed line is the choice, the diamond the strongest "
    "penalty within one standard error."
)

MODEL_PICTURES = {
    "map": "The rows in the plane of their first two principal axes, and the class the model names there.",
    "curve": "The fitted function of the standardised column, and the rows.",
    "path": "Coefficients as the penalty grows; the dashed line is the choice.",
    "leave_one_out": "Error of predicting each row from all others, by penalty.",
    "effects": "What each column adds to the prediction.",
    "coefficients": "Change for one standard deviation more in each column.",
}
"""Kinds of pictures of a fitted model that the page shows, in this order, with their captions."""


def of_regression(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Predictions and residuals out of fold, then what the model has learnt."""
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
        yield from of_the_model(comparison, candidate)


def of_classes(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Confusions and probabilities out of fold, then what the model has learnt."""
    data = comparison.data

    def draw(display: Any, said: NDArray) -> OnAxes:
        return _on(partial(display.from_predictions, data.y, said, classes=data.labels, names=data.classes))

    caption = "Each row classified by a model that has not seen it: the diagonal is right."
    yield "confusion", caption, draw(ConfusionDisplay, candidate.predictions)
    if candidate.is_baseline:
        return
    if candidate.probabilities is not None:
        for kind, (display, caption) in PROBABILITY_PICTURES.items():
            yield kind, caption, draw(display, candidate.probabilities)
    yield from of_the_model(comparison, candidate)


def of_the_model(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Pictures of the model that was fitted on all rows, and of the choice of its parameter."""
    data, selection = comparison.data, candidate.selection
    model, y = with_names(candidate.model, data)
    if selection is not None:
        yield "selection", SELECTION, _on(partial(SelectionDisplay.from_selection, selection))
    for kind in model_kinds(model, len(data.X)):
        options = {"alphas": selection.alphas} if kind == "path" and selection is not None else {}
        yield kind, MODEL_PICTURES[kind], _on(partial(plot, model, data.X, y, kind=kind, **options))


def _on(draw: Any) -> OnAxes:
    return lambda ax: draw(ax=ax)


def with_names(model: Any, data: Data) -> tuple[Any, Any]:
    """A classifier and the target with the names of the classes in place of their labels."""
    if data.y is None or data.classes is None or not hasattr(final_step(model), "classes_"):
        return model, data.y
    names = np.array(data.classes)
    inside = copy(final_step(model))
    inside.classes_ = names[np.searchsorted(data.labels, inside.classes_)]
    return Pipeline([*model.steps[:-1], ("model", inside)]), names[np.searchsorted(data.labels, data.y)]


def model_kinds(model: Any, n_rows: int) -> tuple[str, ...]:
    """The kinds of pictures of a fitted model that a page shows, of those that there are."""
    inside = final_step(model)
    if inside is not model[-1] or isinstance(inside, WeightedEnsemble):
        return ()  # pictures on another scale of the target, or of no single model, would mislead
    there = kinds(inside)
    kept = [kind for kind in MODEL_PICTURES if kind in there]
    # The function itself where it can be drawn, else the effect of each column; coefficients of the functions
    # behind an effect say nothing.
    unseen = {"effects" if "curve" in kept and inside.n_features_in_ == 1 else "curve"}
    if "effects" in kept:
        unseen.add("coefficients")
    kept = [kind for kind in kept if kind not in unseen]
    suits = getattr(inside, "_suits", None)
    if suits is not None and suits.max_rows is not None and n_rows > ALL_PAIRS_ROWS:
        kept = [kind for kind in kept if kind not in ("path", "leave_one_out")]
    return tuple(kept)


CLUSTER_PICTURES = {
    "dendrogram": "Which groups were joined, and how far apart they were; colours: the groups of the cut.",
    "tree": "How the rows were split, one group after the other, and what inertia each part has.",
    "condensed_tree": "Groups of rows as the density that is asked for grows; those marked are kept.",
    "restarts": "Each restart of the algorithm ends in a local minimum; the lowest is kept.",
}
"""Kinds of pictures of a fitted clusterer that the page shows beside its map, with their captions."""

MAP_CAPTION = "The rows in the plane that shows most of their spread, in the colours of their groups."


CHOICE_CAPTIONS = {
    "min_cluster_size": "Silhouette, by which the least size of a group is chosen, and share of rows in no "
    "group.",
    "n_clusters": "Silhouette, by which the number of groups is chosen, and explained share of the variance. "
    "Below: what other criteria choose.",
}


def of_clusters(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Name, caption and drawing of each picture of a candidate; most of the recommended one."""
    assert isinstance(comparison, ClusteringComparison)
    assert isinstance(candidate, Clustering)
    if candidate.is_baseline and comparison.gap is not None:
        yield (
            "gap",
            "Whether there is more than one group: how far the inertia of k-means lies below that of rows "
            "drawn without groups. The first number that the next does not clearly exceed is chosen.",
            _on(partial(plot_selection, comparison.gap)),
        )
        return
    model, X = candidate.model, comparison.data.X
    noise = " Grey marks are in no group." if candidate.n_noise else ""
    yield "map", MAP_CAPTION + noise, _on(partial(plot, model, X, kind="map"))
    if candidate is comparison.recommended and candidate.widths is not None:
        yield (
            "silhouette",
            "One bar per row: how much nearer it is to its own group than to the next. Below 0 it is nearer "
            "to another; the dashed line is the mean.",
            _on(partial(plot_silhouette, candidate.widths)),
        )
    if candidate is comparison.recommended and len(candidate.scan.values) > 1:
        caption = CHOICE_CAPTIONS[candidate.scan.parameter]
        yield "choice", caption, partial(draw_choice, comparison, candidate)
    inside = final_step(model)
    there = set(kinds(inside))
    if len(getattr(inside, "restart_inertias_", ())) < 2:
        there.discard("restarts")
    for kind in (kind for kind in CLUSTER_PICTURES if kind in there):
        rows = None if kind == "restarts" else X
        yield kind, CLUSTER_PICTURES[kind], _on(partial(plot, model, rows, kind=kind))
    if hasattr(inside, "eigenvalues_") and comparison.eigengap is not None:
        yield (
            "eigengap",
            "Least eigenvalues of the Laplacian of the graph of neighbours: as many as there are groups stay "
            "near 0; the widest gap is marked.",
            _on(partial(plot_selection, comparison.eigengap, kind="eigenvalues")),
        )


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
    name = "rows in no group" if sizes else "explained share"
    write_beside(name, (scan.values[-1], second[-1]), ax, color=PALETTE[2])
    write_beside("silhouette", (scan.values[-1], silhouettes[-1]), ax, color=PALETTE[0])
    if sizes:
        ax.set_xscale("log", base=2)
        ax.minorticks_off()
    else:
        _draw_votes(comparison, candidate, ax)
    ax.set_xticks(scan.values, [str(value) for value in scan.values])
    ax.set_xlabel("least rows of a group" if sizes else "number of groups")
    ax.set_title(f"the silhouette chooses {scan.values[at]}")


def _draw_votes(comparison: ClusteringComparison, candidate: Clustering, ax: Any) -> None:
    """The further criteria below the curves: a line each, with a mark at the number that it chooses."""
    numbers = {
        words: candidate.scan.choice_of(name) for name, words in CRITERIA.items() if name != "silhouette"
    }
    for words, selection in (("gap", comparison.gap), ("eigengap", comparison.eigengap)):
        numbers[words] = None if selection is None else int(selection.best)
    chosen = {words: number for words, number in numbers.items() if number is not None}
    low, high = ax.get_ylim()
    room = 0.085 * (high - low)
    last = candidate.scan.values[-1]
    for line, (name, number) in enumerate(chosen.items(), start=1):
        height = low - line * room
        ax.plot([min(2, *chosen.values()), last], [height] * 2, color=GRID, linewidth=0.8, zorder=1)
        ax.plot(number, height, "D", color=FAINT_INK, markersize=4.5)
        write_beside(name, (last, height), ax, color=FAINT_INK)
    ax.set_ylim(low - (len(chosen) + 0.7) * room, high)
    ax.set_yticks([tick for tick in ax.get_yticks() if low <= tick <= high])
