"""The pictures of one model: how its predictions fare out of fold, what it has learnt, its groups."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from assay.display import (
    CalibrationDisplay,
    ConfusionDisplay,
    PrecisionRecallDisplay,
    PredictionsDisplay,
    PruningSelectionDisplay,
    ResidualsDisplay,
    RocCurveDisplay,
    SelectionDisplay,
    kinds,
    plot,
    plot_selection,
    plot_silhouette,
)
from assay.display.classes.curves import MAX_CURVES
from assay.display.classes.pictures import MOST_NAMED, are_turned
from assay.display.style import ACCENT, FAINT_INK, GRID, PALETTE, write_beside
from assay.report.page.effects import draw_effects, effects_that_matter
from assay.report.page.patterns import patterns
from assay.report.tables.data import Data, rarer_class
from assay.report.trials.candidate import Candidate, final_step
from assay.report.trials.clusters.comparison import CRITERIA, Clustering, ClusteringComparison
from assay.report.trials.comparison import Comparison
from assay.report.trials.explaining.explanation import Effect
from assay.report.trials.landmarks import OnLandmarks
from assay.report.trials.stacking import WeightedEnsemble
from assay.report.wording import shown

ALL_PAIRS_ROWS = 2000
"""Pictures of methods that need all pairs of rows fit them again and again: drawn up to so many rows."""

WALKED_ROWS = 20_000
"""Up to so many rows walk through every tree of a forest once more, for a picture of it."""

OnAxes = Callable[[Any], Any]

OUT_OF_FOLD = "Out of fold"
LEFT_OUT = "Rows left out in turn"
TRAINING = "Fitted on all rows"
"""Which rows a picture shows: those that the model had not seen, or those that it was fitted on."""


class Drawing(NamedTuple):
    """Name, caption and drawing of a picture, and the rows that it shows."""

    name: str
    caption: str
    on_axes: OnAxes
    basis: str
    high: float = 0.0  # inches, where it needs more room than others: many classes, long names
    wide: bool = False  # whether it needs the whole width: a tree


Drawn = Iterator[Drawing]

FEW_CLASSES = 6
"""Classes that a picture of the usual height has room for."""

WIDTH, HIGH, TOP, LINE = 3.6, 3.3, 1.6, 0.17
"""Inches across a picture and down one with many lines; of the names around a matrix, and of its lines."""

MOST_COLORS = 8
"""A map of more classes would need colours that nobody tells apart."""

FLAT = 1e-3
"""A curve whose values differ by a smaller share of their size shows nothing."""

PROBABILITY_PICTURES = {
    "roc": (
        RocCurveDisplay,
        "True against false alarms as the threshold moves; dashed: guessing. Areas are those of all rows "
        "together, not means over the splits.",
    ),
    "precision_recall": (
        PrecisionRecallDisplay,
        "How many of the rows named are right, against how many of the right rows are named; dashed: naming "
        "at random.",
    ),
    "calibration": (
        CalibrationDisplay,
        "Whether rows given a probability turn out that often; on the dashed line they do.",
    ),
}

SELECTION = "Error by penalty; dashed: the choice; diamond: the strongest penalty within one standard error."

PRUNING = "Error by the leaves that pruning keeps; shaded: one standard error."

MODEL_PICTURES = {
    "curve": "The fitted function of the standardised column, and the rows.",
    "effects": "What each column adds to the prediction.",
    "coefficients": "Change for one standard deviation more in each column.",
    "shap": "By how much each column moves the score of a row: the mean size of its Shapley values.",
    "waterfall": "Why the first row gets its score: what each of its values adds, the largest on top.",
    "map": "The rows in the plane of their first two principal axes, and the class the model names there.",
    "tree": "The questions from the root down: yes goes left, no goes right.",
    "importance": "What the splits on each column gain on the rows that a tree was not grown on.",
    "risk": "Mean loss after each round, of the rows learnt from and of those set aside to choose by, "
    "if there are any (dashed).",
    "path": "Coefficients as the penalty grows; the dashed line is the choice.",
    "leave_one_out": "Error of predicting each row from all others, by penalty.",
}
"""Kinds of pictures of a fitted model that the page shows, the most telling first, with their captions."""

RIGHT, RIGHT_IN_FULL = "Right on the dashed line.", "On the dashed line a prediction is right."
MOVES, MOVES_A_LITTLE = "Of the columns that matter.", "No column matters by itself."
"""Of a model that is not recommended a few words are enough: the same is told of the one that is."""

TELLING = {"curve", "effects", "coefficients", "map", "shap", "importance", "risk"}
"""Those that say what a model has learnt; the first one stands for a model that is not recommended."""


def of_regression(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Predictions out of fold and what the model has learnt; of the recommended one more.

    Of a baseline there is nothing to see.
    """
    data = comparison.data
    assert data.y is not None
    if candidate.is_baseline:
        return
    basis = _out_of_fold(comparison)
    score = f"{comparison.score_name} {comparison.shown_score(candidate)}"
    remarks = " ".join(patterns(data.y, candidate.predictions))
    if candidate is not comparison.recommended:  # what that means is told of the recommended one
        remarks = " ".join(f"{said.partition(':')[0]}." for said in patterns(data.y, candidate.predictions))
    yield Drawing(
        "predictions",
        f"{RIGHT if candidate is not comparison.recommended else RIGHT_IN_FULL} {remarks}".strip(),
        PredictionsDisplay(data.y, candidate.predictions, "predicted", score).plot,
        basis,
    )
    there = {*model_kinds(candidate.model, len(data.X))} & TELLING
    if candidate is comparison.recommended or not (there or _effects(candidate)):
        spread = f"root mean square {shown(candidate.measures['RMSE'], 3)}"
        yield Drawing(
            "residuals",
            "What the predictions miss; a pattern here is something the model does not see.",
            ResidualsDisplay(data.y, candidate.predictions, spread).plot,
            basis,
        )
    yield from of_the_model(comparison, candidate)


def of_classes(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Confusions out of fold and what the model has learnt; of the recommended one more."""
    data = comparison.data
    if candidate.is_baseline:
        return
    basis = _out_of_fold(comparison)

    assert data.y is not None
    labels, names = data.labels, data.classes or tuple(str(label) for label in data.labels)
    # Pictures of two classes are about the second: that is to be the rarer one.
    turn = -1 if len(labels) == 2 and rarer_class(data.y, labels) == 0 else 1

    def draw(display: Any, said: NDArray) -> OnAxes:
        return _on(
            partial(display.from_predictions, data.y, said, classes=labels[::turn], names=names[::turn])
        )

    caption = "The diagonal is right."
    high = HIGH if len(labels) > FEW_CLASSES else 0.0
    some = f" Of {len(labels)} classes the {MAX_CURVES} commonest." if len(labels) > MAX_CURVES else ""
    # Names that are turned to stand below take their room from the cells.
    named = HIGH if are_turned(names, WIDTH) else 0.0
    confusion = partial(ConfusionDisplay.from_predictions, data.y, candidate.predictions)
    drawn = _on(partial(confusion, classes=labels, names=names))
    lines = TOP + LINE * min(len(labels), MOST_NAMED) if high else 0.0
    yield Drawing("confusion", caption, drawn, basis, max(lines, high, named))
    if candidate.probabilities is not None:
        kinds_shown = PROBABILITY_PICTURES if candidate is comparison.recommended else ("calibration",)
        for kind in kinds_shown:
            display, caption = PROBABILITY_PICTURES[kind]
            drawn = draw(display, candidate.probabilities[:, ::turn])
            told = caption if candidate is comparison.recommended else RIGHT
            yield Drawing(kind, told + some, drawn, basis, high)
    yield from of_the_model(comparison, candidate)


def _out_of_fold(comparison: Comparison) -> str:
    repeats = comparison.repeats or 1
    return OUT_OF_FOLD if repeats == 1 else f"{OUT_OF_FOLD}, the first of {repeats} repetitions"


def of_the_model(comparison: Comparison, candidate: Candidate) -> Drawn:
    """Pictures of the model that was fitted on all rows, and of the choice of its parameter.

    Of a model that is not recommended, how its predictions move out of fold where that is known, else the
    most telling one.
    """
    data, selection = comparison.data, candidate.selection
    model, y = with_names(candidate.model, data)
    chosen = candidate is comparison.recommended
    if chosen and selection is not None and not is_flat(np.asarray(selection.curve)):
        pruned = "n_leaves" in selection.table
        display: Any = PruningSelectionDisplay if pruned else SelectionDisplay
        drawn = _on(partial(display.from_selection, selection))
        yield Drawing("selection", PRUNING if pruned else SELECTION, drawn, LEFT_OUT)
    listed = model_kinds(model, len(data.X))
    effects = () if chosen else _effects(candidate)
    if effects:
        matters = candidate.importances is not None and candidate.importances.matters
        caption = MOVES if matters else MOVES_A_LITTLE
        yield Drawing("moves", caption, partial(draw_effects, effects), OUT_OF_FOLD)
        return
    for kind in listed if chosen else [kind for kind in listed if kind in TELLING][:1]:
        options: dict[str, Any] = {}
        if kind == "path" and selection is not None:
            options = {"alphas": selection.alphas}
        elif kind == "importance":  # a column of noise beside the others would take a second forest
            options = {"measure": "unbiased", "with_noise": False}
        elif kind == "tree":
            options = {"max_depth": 4}
        elif kind == "waterfall":
            options = {"values": data.X.iloc[0].to_dict()}
        drawn = _on(partial(plot, model, data.X, y, kind=kind, **options))
        basis = LEFT_OUT if kind == "leave_one_out" else TRAINING
        crowded = kind == "coefficients" and len(data.classes or ()) > 2
        below_each_other = kind == "path" and hasattr(final_step(model), "n_support_")
        high = HIGH if crowded or below_each_other else 0.0
        yield Drawing(kind, MODEL_PICTURES[kind], drawn, basis, high, wide=kind == "tree")


def _effects(candidate: Candidate) -> tuple[Effect, ...]:
    """Effects of the columns that matter to a model, where they are known."""
    return effects_that_matter(candidate.effects, candidate.importances)


def is_flat(values: NDArray) -> bool:
    """Whether a curve is a level line, and its picture shows nothing."""
    values = values[np.isfinite(values)]
    return values.size < 2 or float(np.ptp(values)) <= FLAT * float(np.abs(values).max())


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
    if inside is not model[-1] or isinstance(inside, WeightedEnsemble | OnLandmarks):
        return ()  # pictures on another scale of the target, or of parts of a model, would mislead
    there = kinds(inside)
    kept = [kind for kind in MODEL_PICTURES if kind in there]
    # The function itself where it can be drawn, else the effect of each column; coefficients of the functions
    # behind an effect say nothing.
    unseen = {"effects" if "curve" in kept and inside.n_features_in_ == 1 else "curve"}
    if "effects" in kept:
        unseen.add("coefficients")
    kept = [kind for kind in kept if kind not in unseen]
    if len(getattr(inside, "classes_", ())) > MOST_COLORS:
        kept = [kind for kind in kept if kind != "map"]
    # Trees that are grown on all rows have none left to measure importances by.
    if n_rows > WALKED_ROWS or not getattr(inside, "bootstrap", True):
        kept = [kind for kind in kept if kind != "importance"]
    suits = getattr(inside, "_suits", None)
    if suits is not None and suits.max_rows is not None and n_rows > ALL_PAIRS_ROWS:
        kept = [kind for kind in kept if kind not in ("path", "leave_one_out")]
    return tuple(kept)


MAX_LEAVES = 24
"""Branches of a tree that can be named below a picture."""

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

ALL_ROWS = "All rows"
"""What the pictures of groups show: there are none that were left out."""


def of_clusters(comparison: Comparison, candidate: Candidate) -> Drawn:
    """The pictures of a candidate; most of the recommended one."""
    assert isinstance(comparison, ClusteringComparison)
    assert isinstance(candidate, Clustering)
    if candidate.is_baseline and comparison.gap is not None:
        yield Drawing(
            "gap",
            "Whether there is more than one group: how far the inertia of k-means lies below that of rows "
            "drawn without groups. The first number that the next does not clearly exceed is chosen.",
            _on(partial(plot_selection, comparison.gap)),
            ALL_ROWS,
        )
        return
    model, X = candidate.model, comparison.data.X
    noise = " Grey marks are in no group." if candidate.n_noise else ""
    told = MAP_CAPTION if candidate is comparison.recommended else "In the colours of their groups."
    yield Drawing("map", told + noise, _on(partial(plot, model, X, kind="map")), ALL_ROWS)
    if candidate is comparison.recommended and candidate.widths is not None:
        yield Drawing(
            "silhouette",
            "One bar per row: how much nearer it is to its own group than to the next. Below 0 it is nearer "
            "to another; the dashed line is the mean.",
            _on(partial(plot_silhouette, candidate.widths)),
            ALL_ROWS,
        )
    if candidate is comparison.recommended and len(candidate.scan.values) > 1:
        caption = CHOICE_CAPTIONS[candidate.scan.parameter]
        yield Drawing("choice", caption, partial(draw_choice, comparison, candidate), ALL_ROWS, HIGH)
    inside = final_step(model)
    there = set(kinds(inside))
    # Restarts that all end alike are told in the certificates; their picture is a level line.
    if is_flat(np.asarray(getattr(inside, "restart_inertias_", ()), dtype=float)):
        there.discard("restarts")
    for kind in (kind for kind in CLUSTER_PICTURES if kind in there):
        rows = None if kind == "restarts" else X
        options = {"max_leaves": MAX_LEAVES} if kind == "dendrogram" else {}
        drawn = _on(partial(plot, model, rows, kind=kind, **options))
        yield Drawing(kind, CLUSTER_PICTURES[kind], drawn, ALL_ROWS)
    if hasattr(inside, "eigenvalues_") and comparison.eigengap is not None:
        yield Drawing(
            "eigengap",
            "Least eigenvalues of the Laplacian of the graph of neighbours: as many as there are groups stay "
            "near 0; the widest gap is marked.",
            _on(partial(plot_selection, comparison.eigengap, kind="eigenvalues")),
            ALL_ROWS,
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
